"""The bootstrap interval of a polynomial regression beside that of normal theory (C-2; S2).

    x uniform on [0, 1],  y = 1 - 8 x + 20 x^2 - 12 x^3 + 0.5 e,  40 rows;  a polynomial of degree 3 by least squares

Claims: the bootstrap finds intervals for a prediction without assuming that the noise is normal; where it is normal,
they are those of normal theory.

Measured, for normal noise and for skewed noise (exponential, centred): the 90 % prediction interval of either method on
one sample; and over many samples how often it holds a new y, and on which side it misses: one that takes skewed noise
for normal misses above far more often than below, though its coverage may be right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from committee.base.array_types import Floats
from committee.datasets import Simulation, curve
from committee.evaluation._folds import Mean
from committee.evaluation.bootstrap_interval import (
    PredictionInterval,
    bootstrap_interval,
    normal_interval,
    polynomial_regression,
)
from committee.evaluation.coverage import Coverage, measure_coverage

LEVEL, DEGREE, NOISE, N_NEW = 0.9, 3, 0.5, 50
METHODS = ("normal theory", "bootstrap")
COEFFICIENTS = (1.0, -8.0, 20.0, -12.0)


class PolynomialInterval(NamedTuple):
    """Intervals on one sample, and coverages over many, by noise and method."""

    X: Mapping[str, Floats]  # noise -> the one sample
    y: Mapping[str, Floats]
    intervals: Mapping[str, Mapping[str, PredictionInterval]]  # noise -> method -> on a grid
    coverage: Mapping[str, Mapping[str, Coverage]]  # noise -> method -> of new values of y

    def lopsided(self, noise: str, method: str) -> Mean:
        """Share of new values above the interval minus that below it: 0 if it misses on both sides alike."""
        found = self.coverage[noise][method]
        gap = found.above - found.below
        return Mean(float(gap.mean()), float(gap.std(ddof=1) / np.sqrt(gap.size)))

    def width_ratio(self, noise: str) -> Mean:
        """Width of the bootstrap interval over that of normal theory, mean over the samples."""
        widths = [self.coverage[noise][method].width for method in reversed(METHODS)]
        ratio = widths[0] / widths[1]
        return Mean(float(ratio.mean()), float(ratio.std(ddof=1) / np.sqrt(ratio.size)))


def truth(X: Floats) -> Floats:
    """A polynomial of degree 3.

    >>> truth(np.array([[0.0], [1.0]]))
    array([1., 1.])
    """
    return np.asarray(np.polynomial.polynomial.polyval(X[:, 0], COEFFICIENTS), np.float64)


def simulations() -> dict[str, Simulation]:
    """The same curve with normal and with skewed noise."""
    return {
        "normal noise": curve(truth, noise=NOISE),
        "skewed noise": curve(truth, noise=NOISE, sample_errors=lambda n, rng: rng.exponential(size=n) - 1.0),
    }


def polynomial_interval(
    *, n_rows: int = 40, n_repeats: int = 400, n_resamples: int = 500, random_state: int = 0, verbose: int = 0
) -> PolynomialInterval:
    """Both intervals, on one sample and their coverage over many.

    Parameters
    ----------
    n_rows : rows to learn from
    n_repeats : samples to measure the coverage on, each with 50 new rows
    n_resamples : of the bootstrap
    random_state : of the samples and of the resamples
    verbose : 1 shows progress bars

    Examples
    --------
    >>> found = polynomial_interval(n_repeats=20, n_resamples=100)
    >>> found.lopsided("skewed noise", "normal theory").value > 0.02
    True
    """
    methods: dict[str, Callable[..., tuple[Floats, Floats]]] = {
        "normal theory": _by_theory,
        "bootstrap": partial(_by_bootstrap, n_resamples=n_resamples),
    }
    X, y, intervals, coverage = dict[str, Floats](), dict[str, Floats](), dict[str, Any](), dict[str, Any]()
    grid = np.linspace(0.0, 1.0, 101)[:, np.newaxis]
    for name, simulation in simulations().items():
        rows = simulation.draw(n_rows, np.random.default_rng(random_state))
        X[name], y[name] = rows.X, rows.y
        model = polynomial_regression(DEGREE)
        resampled = bootstrap_interval(
            model, rows.X, rows.y, grid, n_resamples=4 * n_resamples, level=LEVEL, random_state=random_state
        )
        intervals[name] = dict(
            zip(METHODS, (normal_interval(model, rows.X, rows.y, grid, level=LEVEL), resampled), strict=True)
        )
        draw = partial(_draw, simulation=simulation, n_rows=n_rows)
        coverage[name] = {
            method: measure_coverage(
                interval, draw, n_repeats=n_repeats, random_state=random_state, n_jobs=1, verbose=verbose
            )
            for method, interval in methods.items()
        }
    return PolynomialInterval(X, y, intervals, coverage)


def _draw(rng: np.random.Generator, *, simulation: Simulation, n_rows: int) -> tuple[tuple[Any, ...], Floats]:
    """Rows to learn from and new ones, and the values at these."""
    rows, new = simulation.draw(n_rows, rng), simulation.draw(N_NEW, rng)
    return (rows.X, rows.y, new.X), new.y


def _by_theory(X: Floats, y: Floats, X_new: Floats, random_state: int) -> tuple[Floats, Floats]:
    found = normal_interval(polynomial_regression(DEGREE), X, y, X_new, level=LEVEL).new
    return found.low, found.high


def _by_bootstrap(X: Floats, y: Floats, X_new: Floats, random_state: int, n_resamples: int) -> tuple[Floats, Floats]:
    found = bootstrap_interval(
        polynomial_regression(DEGREE), X, y, X_new, n_resamples=n_resamples, level=LEVEL, random_state=random_state
    ).new
    return found.low, found.high
