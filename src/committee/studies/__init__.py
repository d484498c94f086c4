"""What refits estimators: the experiments of the documents, done again."""

from __future__ import annotations

from committee.studies.bagging_simulation import BaggingSimulation, bagging_simulation, reproduce_c7
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
from committee.studies.spam import SpamExperiment, reproduce_d8, spam_experiment, spam_models

__all__ = [
    "BaggingSimulation",
    "BoostingExperiment",
    "MarginMaximisation",
    "RareClassImportances",
    "SpamExperiment",
    "ValidationChoice",
    "bagging_simulation",
    "boosting_experiment",
    "make_rare_class",
    "margin_maximisation",
    "margin_maximisers",
    "rare_class_importances",
    "reproduce_c7",
    "reproduce_d8",
    "reproduce_e13",
    "reproduce_f2",
    "reproduce_f6",
    "spam_experiment",
    "spam_models",
    "validation_choice",
]
