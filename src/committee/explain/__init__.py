"""What a fitted ensemble says about the data it was fitted on."""

from __future__ import annotations

from committee.explain.boosting_evidence import BoostingEvidence, boosting_evidence
from committee.explain.importances import (
    Importances,
    PermutationImportances,
    permutation_importances,
    tree_importances,
)
from committee.explain.partial_dependence import PartialDependence, partial_dependence
from committee.explain.shap import ShapValues, shap_interaction_values, shap_values
from committee.explain.suspicious_rows import SuspiciousRows, suspicious_rows

__all__ = [
    "BoostingEvidence",
    "Importances",
    "PartialDependence",
    "PermutationImportances",
    "ShapValues",
    "SuspiciousRows",
    "boosting_evidence",
    "partial_dependence",
    "permutation_importances",
    "shap_interaction_values",
    "shap_values",
    "suspicious_rows",
    "tree_importances",
]
