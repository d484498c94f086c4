"""What a fitted ensemble says about the data it was fitted on."""

from __future__ import annotations

from committee.explain._member_predictions import MemberAnswers, member_answers
from committee.explain.boosting_diagnostics import BoostingEvidence, boosting_evidence
from committee.explain.diversity import EnsembleDiversity, ensemble_diversity
from committee.explain.forest_diagnostics import ForestEvidence, forest_evidence
from committee.explain.forest_importances import ForestImportance, ForestImportances, forest_importances
from committee.explain.importances import (
    Importances,
    PermutationImportances,
    permutation_importances,
    tree_importances,
)
from committee.explain.label_issues import SuspiciousRows, suspicious_rows
from committee.explain.mixture_diagnostics import (
    ExpertEvidence,
    RowAnswers,
    expert_coefficients,
    expert_evidence,
    row_answers,
)
from committee.explain.partial_dependence import PartialDependence, partial_dependence
from committee.explain.proximities import Neighbours, neighbours, outlier_measure, proximities, proximity_blocks
from committee.explain.shap import ShapValues, shap_interaction_values, shap_values

__all__ = [
    "BoostingEvidence",
    "EnsembleDiversity",
    "ExpertEvidence",
    "ForestEvidence",
    "ForestImportance",
    "ForestImportances",
    "Importances",
    "MemberAnswers",
    "Neighbours",
    "PartialDependence",
    "PermutationImportances",
    "RowAnswers",
    "ShapValues",
    "SuspiciousRows",
    "boosting_evidence",
    "ensemble_diversity",
    "expert_coefficients",
    "expert_evidence",
    "forest_evidence",
    "forest_importances",
    "member_answers",
    "neighbours",
    "outlier_measure",
    "partial_dependence",
    "permutation_importances",
    "proximities",
    "proximity_blocks",
    "row_answers",
    "shap_interaction_values",
    "shap_values",
    "suspicious_rows",
    "tree_importances",
]
