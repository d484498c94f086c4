"""Reproductions of published experiments; `committee reproduce` runs them."""

from __future__ import annotations

from committee_reproductions.bagging_simulation import BaggingSimulation, bagging_simulation, reproduce_c7
from committee_reproductions.boosting_experiment import BoostingExperiment, boosting_experiment, reproduce_e13
from committee_reproductions.margin_maximisation import (
    MarginMaximisation,
    ValidationChoice,
    margin_maximisation,
    margin_maximisers,
    reproduce_f2,
    reproduce_f6,
    validation_choice,
)
from committee_reproductions.rare_class_importances import RareClassImportances, make_rare_class, rare_class_importances
from committee_reproductions.spam import SpamExperiment, reproduce_d8, spam_experiment, spam_models
from committee_reproductions.why_combine import (
    ComputationalReason,
    RepresentationalReason,
    SelectOrCombine,
    StatisticalReason,
    computational_reason,
    representational_reason,
    reproduce_b8,
    select_or_combine,
    statistical_reason,
)

__all__ = [
    "BaggingSimulation",
    "BoostingExperiment",
    "ComputationalReason",
    "MarginMaximisation",
    "RareClassImportances",
    "RepresentationalReason",
    "SelectOrCombine",
    "SpamExperiment",
    "StatisticalReason",
    "ValidationChoice",
    "bagging_simulation",
    "boosting_experiment",
    "computational_reason",
    "make_rare_class",
    "margin_maximisation",
    "margin_maximisers",
    "rare_class_importances",
    "representational_reason",
    "reproduce_b8",
    "reproduce_c7",
    "reproduce_d8",
    "reproduce_e13",
    "reproduce_f2",
    "reproduce_f6",
    "select_or_combine",
    "spam_experiment",
    "spam_models",
    "statistical_reason",
    "validation_choice",
]
