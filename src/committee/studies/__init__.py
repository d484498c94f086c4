"""What refits estimators: the experiments of the documents, done again."""

from __future__ import annotations

from committee.studies.boosting_experiment import BoostingExperiment, boosting_experiment, reproduce_e13
from committee.studies.margin_maximisation import (
    MarginMaximisation,
    ValidationChoice,
    margin_maximisation,
    margin_maximisers,
    reproduce_f2,
    reproduce_f6,
    validation_choice,
)
from committee.studies.rare_class_importances import RareClassImportances, make_rare_class, rare_class_importances

__all__ = [
    "BoostingExperiment",
    "MarginMaximisation",
    "RareClassImportances",
    "ValidationChoice",
    "boosting_experiment",
    "make_rare_class",
    "margin_maximisation",
    "margin_maximisers",
    "rare_class_importances",
    "reproduce_e13",
    "reproduce_f2",
    "reproduce_f6",
    "validation_choice",
]
