"""Evaluation by refitting: comparisons, the bootstrap, bias and variance, coverage."""

from __future__ import annotations

from committee.evaluation.bias_variance import BiasVariance, bias_variance
from committee.evaluation.bootstrap import Bootstrap, bootstrap
from committee.evaluation.bootstrap_interval import (
    PredictionInterval,
    bootstrap_interval,
    normal_interval,
    polynomial_regression,
)
from committee.evaluation.compare_bias_variance import BiasVarianceComparison, compare_bias_variance
from committee.evaluation.comparison import Comparison, ComparisonStep, LearningCurve, MethodResult, compare
from committee.evaluation.coverage import Coverage, measure_coverage

__all__ = [
    "BiasVariance",
    "BiasVarianceComparison",
    "Bootstrap",
    "Comparison",
    "ComparisonStep",
    "Coverage",
    "LearningCurve",
    "MethodResult",
    "PredictionInterval",
    "bias_variance",
    "bootstrap",
    "bootstrap_interval",
    "compare",
    "compare_bias_variance",
    "measure_coverage",
    "normal_interval",
    "polynomial_regression",
]
