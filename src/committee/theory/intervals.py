"""Confidence intervals from the replicates of a bootstrap.

T is the statistic on the sample, T* on the resamples, q_a the a-quantile of T*, 1 - 2 alpha the level:

    normal       T - bias -+ z_alpha se*
    percentile   [q_alpha, q_(1 - alpha)]
    basic        [2 T - q_(1 - alpha), 2 T - q_alpha]
    BCa          percentiles at Phi(z0 + (z0 + z) / (1 - a (z0 + z))), z = z_alpha and z_(1 - alpha), with
                 z0 = Phi^-1(fraction of T* below T) for the bias of the median, and the acceleration a of the jackknife
    studentised  [T - t_(1 - alpha) se, T - t_alpha se], t the quantiles of (T* - T) / se(resample)

Replicates are [R, ...], one statistic or an array of them. Intervals that scipy.stats.bootstrap has too are equal to
its own.

Efron and Tibshirani, An introduction to the bootstrap, 1993; DiCiccio and Efron, Bootstrap confidence intervals, 1996.
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
    """An interval for each statistic.

    Attributes
    ----------
    low : ndarray
        Lower ends, in the shape of the statistic.
    high : ndarray
        Upper ends.
    """

    low: Floats
    high: Floats

    @property
    def width(self) -> Floats:
        return self.high - self.low

    def contains(self, truth: Numbers | float) -> np.ndarray:
        """Whether the truth lies inside."""
        return (self.low <= truth) & (truth <= self.high)


def normal_interval(replicates: Floats, value: Floats, level: float = 0.95) -> Interval:
    """Compute T less its bias, plus and minus z standard errors.

    Parameters
    ----------
    replicates : ndarray of shape (n_resamples, ...)
        The statistic on the resamples.
    value : ndarray
        The statistic on the sample.
    level : float, default=0.95
        Confidence level.

    Returns
    -------
    Interval
        The interval.

    Examples
    --------
    >>> normal_interval(np.array([1.0, 2.0, 3.0]), np.array(2.0), 0.9).width.round(3)
    np.float64(3.29)
    """
    centre, half = 2.0 * value - replicates.mean(axis=0), _z(level) * replicates.std(axis=0, ddof=1)
    return Interval(centre - half, centre + half)


def percentile_interval(replicates: Floats, level: float = 0.95) -> Interval:
    """Compute quantiles of the replicates.

    Parameters
    ----------
    replicates : ndarray of shape (n_resamples, ...)
        The statistic on the resamples.
    level : float, default=0.95
        Confidence level.

    Returns
    -------
    Interval
        The interval.

    Examples
    --------
    >>> percentile_interval(np.arange(101.0), 0.5)
    Interval(low=np.float64(25.0), high=np.float64(75.0))
    """
    low, high = np.quantile(replicates, _tails(level), axis=0)
    return Interval(low, high)


def basic_interval(replicates: Floats, value: Floats, level: float = 0.95) -> Interval:
    """Compute the percentile interval mirrored at T: T* deviates from T as T does from the true value.

    Parameters
    ----------
    replicates : ndarray of shape (n_resamples, ...)
        The statistic on the resamples.
    value : ndarray
        The statistic on the sample.
    level : float, default=0.95
        Confidence level.

    Returns
    -------
    Interval
        The interval.

    Examples
    --------
    >>> basic_interval(np.arange(101.0), np.array(40.0), 0.5)
    Interval(low=np.float64(5.0), high=np.float64(55.0))
    """
    low, high = percentile_interval(replicates, level)
    return Interval(2.0 * value - high, 2.0 * value - low)


def bca_interval(replicates: Floats, value: Floats, jackknife: Sequence[Floats], level: float = 0.95) -> Interval:
    """Compute percentiles corrected for bias and acceleration; nan if all replicates lie on one side of T.

    Parameters
    ----------
    replicates : ndarray of shape (n_resamples, ...)
        The statistic on the resamples.
    value : ndarray
        The statistic on the sample.
    jackknife : sequence of ndarray of shape (n_samples, ...)
        For every sample the statistic without one of its rows.
    level : float, default=0.95
        Confidence level.

    Returns
    -------
    Interval
        The interval.

    Examples
    --------
    >>> rows = np.arange(10.0) ** 2
    >>> means = rows[np.random.default_rng(0).integers(0, 10, (2000, 10))].mean(axis=1)
    >>> interval = bca_interval(means, rows.mean(), [(rows.sum() - rows) / 9.0], 0.9)
    >>> interval.low.round(1), interval.high.round(1)
    (np.float64(15.9), np.float64(44.2))
    """
    z0 = ndtri((np.mean(replicates < value, axis=0) + np.mean(replicates <= value, axis=0)) / 2.0)
    a = acceleration(jackknife)
    with np.errstate(invalid="ignore"):  # inf - inf where z0 is infinite
        fractions = [ndtr(z0 + (z0 + z) / (1.0 - a * (z0 + z))) for z in (-_z(level), _z(level))]
    low, high = (_quantile_of_each(replicates, fraction) for fraction in fractions)
    return Interval(low, high)


def studentised_interval(
    replicates: Floats, value: Floats, stderrs: Floats, stderr: Floats, level: float = 0.95
) -> Interval:
    """Compute the interval from the ratios (T* - T) / se*.

    Parameters
    ----------
    replicates : ndarray of shape (n_resamples, ...)
        The statistic on the resamples.
    value : ndarray
        The statistic on the sample.
    stderrs : ndarray of shape (n_resamples, ...)
        Standard errors of the statistic on the resamples.
    stderr : ndarray
        Standard error on the sample.
    level : float, default=0.95
        Confidence level.

    Returns
    -------
    Interval
        The interval.

    Examples
    --------
    >>> studentised_interval(np.arange(101.0), np.array(50.0), np.full(101, 10.0), np.array(20.0), 0.5)
    Interval(low=np.float64(0.0), high=np.float64(100.0))
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        t = (replicates - value) / stderrs
    low, high = np.quantile(np.where(np.isnan(t), 0.0, t), _tails(level), axis=0)  # 0 / 0: no resample differs
    return Interval(value - high * stderr, value - low * stderr)


def acceleration(jackknife: Sequence[Floats]) -> Floats:
    """Compute a = sum U^3 / (6 (sum U^2)^(3/2)) with U = (n - 1) (mean - T without row i) / n, sums over all samples.

    Parameters
    ----------
    jackknife : sequence of ndarray of shape (n_samples, ...)
        For every sample the statistic without one of its rows.

    Returns
    -------
    ndarray
        The acceleration, 0 where the statistic is constant.

    Examples
    --------
    >>> acceleration([np.array([1.0, 2.0, 6.0])]).round(3)
    np.float64(-0.057)
    """
    cubes, squares = np.zeros(np.shape(jackknife[0])[1:]), np.zeros(np.shape(jackknife[0])[1:])
    for values in jackknife:
        n = len(values)
        u = (n - 1) / n * (values.mean(axis=0) - values)
        cubes, squares = cubes + np.sum(u**3, axis=0), squares + np.sum(u**2, axis=0)
    return np.divide(cubes, 6.0 * squares**1.5, out=np.zeros_like(cubes), where=squares > 0.0)


def _quantile_of_each(replicates: Floats, fraction: Floats) -> Floats:
    """Quantile of each statistic at its own level; nan for the level nan."""
    columns = replicates.reshape(len(replicates), -1)
    fractions = np.broadcast_to(fraction, replicates.shape[1:]).ravel()
    result = [np.quantile(c, s) if np.isfinite(s) else np.nan for c, s in zip(columns.T, fractions, strict=True)]
    return np.array(result).reshape(replicates.shape[1:])[()]


def _tails(level: float) -> list[float]:
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie between 0 and 1, as 0.95; got {level}.")
    return [(1.0 - level) / 2.0, (1.0 + level) / 2.0]


def _z(level: float) -> float:
    return float(ndtri(_tails(level)[1]))
