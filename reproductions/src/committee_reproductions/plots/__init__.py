"""Pictures of the reproductions."""

from __future__ import annotations

from committee_reproductions.plots.bagging_studies import BaggingSimulationDisplay, SpamExperimentDisplay
from committee_reproductions.plots.boosting_experiment import (
    ExperimentErrorsDisplay,
    ExperimentMarginsDisplay,
    MarginMaximisationDisplay,
)
from committee_reproductions.plots.exclusive_or import XorDisplay
from committee_reproductions.plots.why_combine import (
    RepresentationalReasonDisplay,
    SelectOrCombineDisplay,
    StatisticalReasonDisplay,
)

__all__ = [
    "BaggingSimulationDisplay",
    "ExperimentErrorsDisplay",
    "ExperimentMarginsDisplay",
    "MarginMaximisationDisplay",
    "RepresentationalReasonDisplay",
    "SelectOrCombineDisplay",
    "SpamExperimentDisplay",
    "StatisticalReasonDisplay",
    "XorDisplay",
]
