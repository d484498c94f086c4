"""Explanations and diagnostics of fitted ensembles."""

from __future__ import annotations

from committee.explain._member_predictions import MemberPredictions, member_predictions
from committee.explain.boosting_diagnostics import BoostingDiagnostics, boosting_diagnostics
from committee.explain.diversity import EnsembleDiversity, ensemble_diversity
from committee.explain.forest_diagnostics import ForestDiagnostics, forest_diagnostics
from committee.explain.forest_importances import ForestImportance, ForestImportances, forest_importances
from committee.explain.importances import (
    Importances,
    PermutationImportances,
    permutation_importances,
    tree_importances,
)
from committee.explain.label_issues import LabelIssues, find_label_issues
from committee.explain.mixture_diagnostics import (
    ExpertPredictions,
    MixtureDiagnostics,
    expert_coefficients,
    expert_predictions,
    mixture_diagnostics,
)
from committee.explain.partial_dependence import PartialDependence, partial_dependence
from committee.explain.proximities import Neighbours, neighbours, outlier_measure, proximities, proximity_blocks
from committee.explain.shap import ShapValues, shap_interaction_values, shap_values

__all__ = [
    "BoostingDiagnostics",
    "EnsembleDiversity",
    "ExpertPredictions",
    "ForestDiagnostics",
    "ForestImportance",
    "ForestImportances",
    "Importances",
    "LabelIssues",
    "MemberPredictions",
    "MixtureDiagnostics",
    "Neighbours",
    "PartialDependence",
    "PermutationImportances",
    "ShapValues",
    "boosting_diagnostics",
    "ensemble_diversity",
    "expert_coefficients",
    "expert_predictions",
    "find_label_issues",
    "forest_diagnostics",
    "forest_importances",
    "member_predictions",
    "mixture_diagnostics",
    "neighbours",
    "outlier_measure",
    "partial_dependence",
    "permutation_importances",
    "proximities",
    "proximity_blocks",
    "shap_interaction_values",
    "shap_values",
    "tree_importances",
]
