"""Losses of regression targets.

    name             L(y, s), r = y - s                               s at the minimum       y
    squared_error    r^2 / 2                                          mean
    absolute_error   |r|                                              median
    huber            r^2 / 2 for |r| <= p, else p (|r| - p / 2)       between the two
    quantile         p r for r > 0, else (p - 1) r                    quantile p
    expectile        p r^2 for r > 0, else (1 - p) r^2                expectile p
    poisson          e^s - y s                                        ln mean                y >= 0
    gamma            s + y e^(-s)                                     ln mean                y > 0
    tweedie          e^((2-p) s) / (2-p) - y e^((1-p) s) / (1-p)      ln mean                y >= 0, 1 < p < 2

p is the loss's `parameter`. For the Huber loss it is a quantile level of the absolute residuals, from which delta is
computed at the current scores (`at_scores`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.stats import weighted_quantile
from committee.kernels.boosting import derivatives as d
from committee.losses.loss import Loss

_UNIT = Loss("squared_error", d.SQUARED, start="mean", curvature_bound=0.0)
_LOG = Loss("poisson", d.POISSON, target="non_negative", start="log_mean", link="exp", curvature_bound=1.0)

REGRESSION_LOSSES: dict[str, Loss] = {
    loss.name: loss
    for loss in (
        _UNIT,
        _UNIT._replace(name="absolute_error", code=d.ABSOLUTE, parameter=0.5, start="median", leaf="quantile"),
        _UNIT._replace(name="huber", code=d.HUBER, parameter=0.9, start="median", leaf="huber"),
        _UNIT._replace(name="quantile", code=d.QUANTILE, parameter=0.5, start="quantile", leaf="quantile"),
        Loss("expectile", d.EXPECTILE, 0.5, start="scaled_search"),
        _LOG,
        _LOG._replace(name="gamma", code=d.GAMMA, target="positive"),
        _LOG._replace(name="tweedie", code=d.TWEEDIE, parameter=1.5),
    )
}


def at_scores(losses: tuple[Loss, ...], y: NDArray[Any], weight: Floats, score: Floats) -> tuple[Loss, ...]:
    """The losses of scores [outputs, n]: Huber's fraction is replaced by that quantile of the absolute residuals.

    Losses of rounds are compared at the delta of the first scores: delta decreases with the training residuals, and a
    smaller delta decreases the validation loss without better predictions.
    """
    return tuple(
        loss._replace(parameter=huber_delta(np.abs(y - score[k]), weight, loss.parameter))
        if loss.code == d.HUBER
        else loss
        for k, loss in enumerate(losses)
    )


def huber_delta(size: Floats, weight: Floats, fraction: float) -> float:
    """The weighted quantile of the absolute residuals at this level, above zero."""
    return max(float(weighted_quantile(size, weight, fraction)), 1e-300)
