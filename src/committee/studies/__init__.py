"""What refits estimators: the experiments of the documents, done again."""

from __future__ import annotations

from committee.studies.bagging_simulation import BaggingSimulation, bagging_simulation, reproduce_c7
from committee.studies.bias_variance import BiasVariance, bias_variance
from committee.studies.boosting_experiment import BoostingExperiment, boosting_experiment, reproduce_e13
from committee.studies.bootstrap import Bootstrap, bootstrap
from committee.studies.bootstrap_interval import (
    PredictionInterval,
    bootstrap_interval,
    normal_interval,
    polynomial_regression,
)
from committee.studies.compare_bias_variance import BiasVarianceComparison, compare_bias_variance
from committee.studies.comparison import Comparison, MethodResult, compare
from committee.studies.coverage import Coverage, measure_coverage
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
from committee.studies.why_combine import (
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
    "BiasVariance",
    "BiasVarianceComparison",
    "BoostingExperiment",
    "Bootstrap",
    "Comparison",
    "ComputationalReason",
    "Coverage",
    "MarginMaximisation",
    "MethodResult",
    "PredictionInterval",
    "RareClassImportances",
    "RepresentationalReason",
    "SelectOrCombine",
    "SpamExperiment",
    "StatisticalReason",
    "ValidationChoice",
    "bagging_simulation",
    "bias_variance",
    "boosting_experiment",
    "bootstrap",
    "bootstrap_interval",
    "compare",
    "compare_bias_variance",
    "computational_reason",
    "make_rare_class",
    "margin_maximisation",
    "margin_maximisers",
    "measure_coverage",
    "normal_interval",
    "polynomial_regression",
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
