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

__all__ = [
    "BoostingExperiment",
    "MarginMaximisation",
    "ValidationChoice",
    "boosting_experiment",
    "margin_maximisation",
    "margin_maximisers",
    "reproduce_e13",
    "reproduce_f2",
    "reproduce_f6",
    "validation_choice",
]
