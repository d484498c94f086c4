"""Targets and weights of a tree as fixed-point integers, with the criterion of the splits."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.dtypes import SUM
from committee.kernels.trees import criteria as scores
from committee.records.growth import Goal

SUM_BITS = 61
"""Sums of |g| stay below 2**61: room for one subtraction without overflow."""

WEIGHT_BITS = 51
"""Sums of weights are exact when a kernel converts them to float64."""

_TWO_CLASSES = {"gini": scores.SQUARED, "entropy": scores.ENTROPY, "edge": scores.EDGE, "z": scores.CONFIDENCE}
_MANY_CLASSES = {"gini": scores.CLASS_GINI, "entropy": scores.CLASS_ENTROPY, "edge": scores.CLASS_ERROR}


class Response(NamedTuple):
    """Targets, weights and criterion. `stat` has two integers for each row; `centre` was subtracted from the target."""

    criterion: str
    goal: Goal
    stat: NDArray[np.int64]  # [n, 2]
    target: NDArray[np.float64]  # [n]
    weight: NDArray[np.float64]  # [n]
    centre: float
    ranked_target: NDArray[np.float64]
    unit_weights: bool


PACKED_WEIGHT_BITS = 30
"""Sums of weights fit half a word, so that a histogram adds two of them at once. For weights that change every round,
where a relative error of 1e-8 in the gain is harmless."""


def fixed_point_weights(weight: NDArray[np.float64], bits: int = WEIGHT_BITS) -> tuple[NDArray[np.int64], float]:
    """Weights as multiples of a unit, which is 1 for integers."""
    total = float(weight.sum())
    is_whole = float(weight[0]).is_integer() and np.array_equal(
        weight, np.rint(weight)
    )  # the first weight decides in most cases
    if total < 2.0**WEIGHT_BITS and is_whole:
        return weight.astype(SUM), 1.0
    shift = bits - 1 - math.ceil(math.log2(total))
    whole = np.rint(np.ldexp(weight, shift)).astype(SUM)
    return np.where(weight > 0, np.maximum(whole, 1), 0), math.ldexp(1.0, -shift)


def fixed_point_targets(
    target: NDArray[np.float64], weight: NDArray[np.float64], whole: NDArray[np.int64], unit: float
) -> tuple[NDArray[np.int64], float]:
    """Weighted targets as integers and their unit, the smallest power of two that the sums allow.

    With integer weights the target is rounded before the multiplication: exactly as for repeated rows.
    """
    target = np.where(weight > 0, target, 0.0)
    largest = float(np.abs(target).max(initial=0.0))
    if largest == 0.0:
        return np.zeros(target.size, SUM), 1.0
    shift = SUM_BITS - math.ceil(math.log2(largest)) - math.ceil(math.log2(max(float(weight.sum()), 1e-300))) - 1
    if unit == 1.0:
        return np.rint(np.ldexp(target, shift)).astype(SUM) * whole, math.ldexp(1.0, -shift)
    return np.rint(np.ldexp(target * weight, shift)).astype(SUM), math.ldexp(1.0, -shift)


def class_response(
    classes: NDArray[np.int64],
    n_classes: int,
    weight: NDArray[np.float64],
    criterion: str,
    weight_bits: int = WEIGHT_BITS,
) -> Response:
    """The response of a classification: targets -1 and +1 for two classes, else class codes."""
    total = float(weight.sum())
    name = "entropy" if criterion == "log_loss" else criterion
    whole, unit = fixed_point_weights(weight, weight_bits)
    stat = np.empty((classes.size, 2), SUM)
    stat[:, 1] = whole
    if n_classes <= 2:
        stat[:, 0] = np.where(classes == 1, whole, -whole)
        gain_unit = 0.5 if name in ("gini", "edge") else 1.0
        goal = Goal(_TWO_CLASSES[name], n_classes, unit, unit, 0.0, 0.0, gain_unit, total)
    else:
        stat[:, 0] = classes
        goal = Goal(_MANY_CLASSES[name], n_classes, unit, unit, 0.0, 0.0, unit, total)
    return Response(
        name, goal, stat, classes.astype(np.float64), weight, 0.0, np.empty(0), bool(unit == 1.0 and np.all(whole <= 1))
    )


def value_response(target: NDArray[np.float64], weight: NDArray[np.float64], criterion: str) -> Response:
    """The response of a regression with squared error, absolute error or Poisson deviance."""
    total = float(weight.sum())
    target = np.ascontiguousarray(target, np.float64)
    whole, unit = fixed_point_weights(weight)
    unit_weights = bool(unit == 1.0 and np.all(whole <= 1))
    stat = np.empty((target.size, 2), SUM)
    stat[:, 1] = whole
    if criterion == "absolute_error":
        ranked, stat[:, 0] = np.unique(target, return_inverse=True)
        goal = Goal(scores.ABSOLUTE, 1, 1.0, unit, 0.0, 0.0, 1.0, total)
        return Response(criterion, goal, stat, target, weight, 0.0, ranked, unit_weights)
    code = scores.POISSON if criterion == "poisson" else scores.SQUARED
    counted = target[weight > 0]
    # The middle of the range keeps the most bits and does not depend on the order of the rows.
    centre = 0.0 if criterion == "poisson" else float(0.5 * counted.min() + 0.5 * counted.max())
    stat[:, 0], g_unit = fixed_point_targets(target - centre, weight, whole, unit)
    goal = Goal(code, 1, g_unit, unit, 0.0, 0.0, 1.0, total)
    return Response(criterion, goal, stat, target, weight, centre, np.empty(0), unit_weights)
