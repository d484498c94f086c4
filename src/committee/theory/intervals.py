"""Confidence intervals from the replicates of a bootstrap (C-1; Efron and Tibshirani, An introduction to the bootstrap,
1993; DiCiccio and Efron, Bootstrap confidence intervals, 1996).

T is the statistic on the sample, T* on the resamples, q_a the a-quantile of T*, 1 - 2 alpha the level:

    normal       T - bias -+ z_alpha se*
    percentile   [q_alpha, q_(1 - alpha)]
    basic        [2 T - q_(1 - alpha), 2 T - q_alpha]
    BCa          percentiles at Phi(z0 + (z0 + z) / (1 - a (z0 + z))), z = z_alpha and z_(1 - alpha), with
                 z0 = Phi^-1(share of T* below T) for the bias of the median, and the acceleration a from the jackknife
    studentised  [T - t_(1 - alpha) se, T - t_alpha se], t the quantiles of (T* - T) / se(resample)

Replicates are [R, ...], one statistic or an array of them. Where scipy.stats.bootstrap has the interval it is the
same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from committee.base.array_types import Floats
from committee.theory.margins import Numbers

__all__ = [
    "Interval", "acceleration", "basic_interval", "bca_interval", "normal_interval", "percentile_interval",
    "studentised_interval",
]  # fmt: skip


class Interval(NamedTuple):
    """From low to high, numbers or arrays as the statistic is."""

    low: Floats
    high: Floats

    @property
    def width(self) -> Floats:
        return self.high - self.low

    def holds(self, truth: Numbers | float) -> np.ndarray:
        """Whether the truth lies inside."""
        return (self.low <= truth) & (truth <= self.high)


def normal_interval(replicates: Floats, value: Floats, level: float = 0.95) -> Interval:
    """T less its bias, more or less z standard errors."""
    centre, half = 2.0 * value - replicates.mean(axis=0), _z(level) * replicates.std(axis=0, ddof=1)
    return Interval(centre - half, centre + half)


def percentile_interval(replicates: Floats, level: float = 0.95) -> Interval:
    """Quantiles of the replicates.

    >>> percentile_interval(np.arange(101.0), 0.5)
    Interval(low=np.float64(25.0), high=np.float64(75.0))
    """
    low, high = np.quantile(replicates, _tails(level), axis=0)
    return Interval(low, high)


def basic_interval(replicates: Floats, value: Floats, level: float = 0.95) -> Interval:
    """The percentiles, mirrored at T: T* is to T as T is to the truth."""
    low, high = percentile_interval(replicates, level)
    return Interval(2.0 * value - high, 2.0 * value - low)


def bca_interval(replicates: Floats, value: Floats, jackknife: Sequence[Floats], level: float = 0.95) -> Interval:
    """Percentiles corrected for bias and acceleration; nan where all replicates lie on one side of T.

    `jackknife` holds for every sample the statistic without one of its rows, [n, ...].
    """
    z0 = ndtri((np.mean(replicates < value, axis=0) + np.mean(replicates <= value, axis=0)) / 2.0)
    a = acceleration(jackknife)
    with np.errstate(invalid="ignore"):  # inf - inf where z0 is infinite
        shares = [ndtr(z0 + (z0 + z) / (1.0 - a * (z0 + z))) for z in (-_z(level), _z(level))]
    low, high = (_quantile_of_each(replicates, share) for share in shares)
    return Interval(low, high)


def studentised_interval(
    replicates: Floats, value: Floats, stderrs: Floats, stderr: Floats, level: float = 0.95
) -> Interval:
    """From the ratios (T* - T) / se*, `stderrs` [R, ...] the standard errors of the resamples, `stderr` that of T."""
    with np.errstate(divide="ignore", invalid="ignore"):
        t = (replicates - value) / stderrs
    low, high = np.quantile(np.where(np.isnan(t), 0.0, t), _tails(level), axis=0)  # 0 / 0: no resample differs
    return Interval(value - high * stderr, value - low * stderr)


def acceleration(jackknife: Sequence[Floats]) -> Floats:
    """a = sum U^3 / (6 (sum U^2)^(3/2)) with U = (n - 1) (mean - T without row i) / n, sums over all samples."""
    cubes, squares = np.zeros(np.shape(jackknife[0])[1:]), np.zeros(np.shape(jackknife[0])[1:])
    for values in jackknife:
        n = len(values)
        u = (n - 1) / n * (values.mean(axis=0) - values)
        cubes, squares = cubes + np.sum(u**3, axis=0), squares + np.sum(u**2, axis=0)
    return np.divide(cubes, 6.0 * squares**1.5, out=np.zeros_like(cubes), where=squares > 0.0)


def _quantile_of_each(replicates: Floats, share: Floats) -> Floats:
    """Quantiles at a share of its own for every statistic; nan for the share nan."""
    columns = replicates.reshape(len(replicates), -1)
    shares = np.broadcast_to(share, replicates.shape[1:]).ravel()
    result = [np.quantile(c, s) if np.isfinite(s) else np.nan for c, s in zip(columns.T, shares, strict=True)]
    return np.array(result).reshape(replicates.shape[1:])[()]


def _tails(level: float) -> list[float]:
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie between 0 and 1, as 0.95; got {level}.")
    return [(1.0 - level) / 2.0, (1.0 + level) / 2.0]


def _z(level: float) -> float:
    return float(ndtri(_tails(level)[1]))
