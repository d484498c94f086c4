"""The bootstrap interval of a polynomial regression next to that of normal theory.

Efron and Tibshirani, An introduction to the bootstrap, 1993.

    x uniform on [0, 1],  y = 1 - 8 x + 20 x^2 - 12 x^3 + 0.5 e,  40 rows;  a polynomial of degree 3 by least squares

Claims: the bootstrap gives prediction intervals without assuming that the noise is normal; where it is normal, they are
those of normal theory.

Measured, for normal and for skewed noise (exponential, centred): the 90 % prediction interval of both methods on one
sample; and over many samples how often it covers a new y, and on which side it misses. An interval that takes skewed
noise for normal misses above far more often than below, though its coverage may be right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from committee.base.array_types import Floats
from committee.base.stats import Mean
from committee.datasets import Simulation, curve
from committee.evaluation.bootstrap_interval import (
    PredictionInterval,
    bootstrap_interval,
    normal_interval,
    polynomial_regression,
)
from committee.evaluation.coverage import Coverage, measure_coverage
from committee.plots._style import BLUE, VERMILION, finish, panels
from committee_reproductions.results import (
    SIGNIFICANT,
    Claim,
    Outcome,
    ReproductionResult,
    Row,
    gather_curves,
    is_above,
    mean_over_draws,
    row,
    verdict_of,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEVEL, DEGREE, NOISE, N_NEW = 0.9, 3, 0.5, 50
THEORY, BOOTSTRAP = METHODS = ("normal theory", "bootstrap")
NORMAL, SKEWED = "normal noise", "skewed noise"
COEFFICIENTS = (1.0, -8.0, 20.0, -12.0)

NEAR = 0.05
"""Widths of intervals that differ by a smaller fraction are the same."""


class IntervalComparison(NamedTuple):
    """Intervals on one sample, and coverages over many, by noise and method."""

    X: Mapping[str, Floats]  # noise -> the one sample
    y: Mapping[str, Floats]
    intervals: Mapping[str, Mapping[str, PredictionInterval]]  # noise -> method -> on a grid
    coverage: Mapping[str, Mapping[str, Coverage]]  # noise -> method -> of new values of y

    def asymmetry(self, noise: str, method: str) -> Mean:
        """Fraction of new values above the interval minus that below it; 0 if both sides are missed alike."""
        one = self.coverage[noise][method]
        return mean_over_draws((one.above - one.below).mean(axis=1))

    def width_ratio(self, noise: str) -> Mean:
        """Width of the bootstrap interval over that of normal theory, mean over the samples."""
        ratio = self.coverage[noise][BOOTSTRAP].width / self.coverage[noise][THEORY].width
        return mean_over_draws(ratio.mean(axis=1))


def truth(X: Floats) -> Floats:
    """Return a polynomial of degree 3.

    >>> truth(np.array([[0.0], [1.0]]))
    array([1., 1.])
    """
    return np.asarray(np.polynomial.polynomial.polyval(X[:, 0], COEFFICIENTS), np.float64)


def simulations() -> dict[str, Simulation]:
    """Return the same curve with normal and with skewed noise."""
    return {
        NORMAL: curve(truth, noise=NOISE),
        SKEWED: curve(truth, noise=NOISE, sample_errors=lambda n, rng: rng.exponential(size=n) - 1.0),
    }


def compare_intervals(
    *, n_rows: int = 40, n_repeats: int = 400, n_resamples: int = 500, random_state: int = 0, verbose: int = 0
) -> IntervalComparison:
    """Compute both intervals on one sample, and their coverage over many.

    >>> result = compare_intervals(n_repeats=20, n_resamples=100)
    >>> result.asymmetry("skewed noise", "normal theory").value > 0.02
    True
    """
    methods: dict[str, Callable[..., tuple[Floats, Floats]]] = {
        THEORY: _by_theory,
        BOOTSTRAP: partial(_by_bootstrap, n_resamples=n_resamples),
    }
    X, y, intervals, coverage = dict[str, Floats](), dict[str, Floats](), dict[str, Any](), dict[str, Any]()
    for name, simulation in simulations().items():
        rows = simulation.draw(n_rows, np.random.default_rng(random_state))
        X[name], y[name] = rows.X, rows.y
        intervals[name] = _on_grid(rows.X, rows.y, 4 * n_resamples, random_state)
        draw_sample = partial(_draw_sample, simulation=simulation, n_rows=n_rows)
        coverage[name] = {
            method: measure_coverage(
                interval, draw_sample, n_repeats=n_repeats, random_state=random_state, n_jobs=1, verbose=verbose
            )
            for method, interval in methods.items()
        }
    return IntervalComparison(X, y, intervals, coverage)


def _on_grid(X: Floats, y: Floats, n_resamples: int, random_state: int) -> dict[str, PredictionInterval]:
    model, grid = polynomial_regression(DEGREE), np.linspace(0.0, 1.0, 101)[:, np.newaxis]
    options: dict[str, Any] = {"n_resamples": n_resamples, "level": LEVEL, "random_state": random_state}
    return {
        THEORY: normal_interval(model, X, y, grid, level=LEVEL),
        BOOTSTRAP: bootstrap_interval(model, X, y, grid, **options),
    }


def _draw_sample(rng: np.random.Generator, *, simulation: Simulation, n_rows: int) -> tuple[tuple[Any, ...], Floats]:
    """Return training rows with new ones, and the values at the new ones."""
    rows, new = simulation.draw(n_rows, rng), simulation.draw(N_NEW, rng)
    return (rows.X, rows.y, new.X), new.y


def _by_theory(X: Floats, y: Floats, X_new: Floats, random_state: int) -> tuple[Floats, Floats]:
    new = normal_interval(polynomial_regression(DEGREE), X, y, X_new, level=LEVEL).new
    return new.low, new.high


def _by_bootstrap(X: Floats, y: Floats, X_new: Floats, random_state: int, n_resamples: int) -> tuple[Floats, Floats]:
    new = bootstrap_interval(
        polynomial_regression(DEGREE), X, y, X_new, n_resamples=n_resamples, level=LEVEL, random_state=random_state
    ).new
    return new.low, new.high


def reproduce(quick: bool = False, verbose: int = 0) -> Outcome:
    """Measure and compare with the claims."""
    size: dict[str, Any] = {"n_repeats": 20, "n_resamples": 100} if quick else {}
    measured = compare_intervals(**size, verbose=verbose)
    rows: list[Row] = []
    for noise, methods in measured.coverage.items():
        for method, one in methods.items():
            rows.append(row(f"{noise}, {method}: coverage of new values, {LEVEL:.0%} wanted", one.coverage))
            rows.append(row(f"{noise}, {method}: missed above minus below", measured.asymmetry(noise, method)))
    claims = _claims(measured)
    curves = gather_curves(
        (noise, f"{method}, {end}", one.X[:, 0], getattr(one.new, end), 0.0)
        for noise, methods in measured.intervals.items()
        for method, one in methods.items()
        for end in ("low", "high")
    )
    return Outcome(tuple(rows), claims, curves, verdict_of(rows, claims), measured)


def _claims(measured: IntervalComparison) -> tuple[Claim, ...]:
    ratio = measured.width_ratio(NORMAL)
    theory, resampled = (measured.asymmetry(SKEWED, method) for method in METHODS)
    more_even = is_above(Mean(abs(theory.value) - abs(resampled.value), np.hypot(theory.stderr, resampled.stderr)))
    covered = {noise: methods[BOOTSTRAP].coverage for noise, methods in measured.coverage.items()}
    return (
        *(
            Claim(f"the bootstrap covers {LEVEL:.0%} of the new values, {noise}",
                  abs(one.value - LEVEL) <= SIGNIFICANT * one.stderr, str(one))
            for noise, one in covered.items()
        ),
        Claim("with normal noise both intervals are the same", abs(ratio.value - 1.0) < NEAR,
              f"widths, bootstrap over theory: {ratio}"),
        Claim("with skewed noise normal theory misses on one side", is_above(theory), f"above - below: {theory}"),
        Claim("the bootstrap misses on both sides more evenly", more_even, f"above - below: {resampled}"),
    )  # fmt: skip


def draw(result: ReproductionResult) -> Figure:
    """Draw the data with the prediction intervals of both methods, one panel per kind of noise."""
    measured: IntervalComparison = result.data
    axes = panels(None, len(measured.intervals), (4.9, 4.2))
    for ax, (noise, methods) in zip(axes, measured.intervals.items(), strict=True):
        ax.plot(measured.X[noise][:, 0], measured.y[noise], ".", color="#888888", markersize=6)
        for (method, one), color, style in zip(methods.items(), (VERMILION, BLUE), ("--", "-"), strict=True):
            x, held = one.X[:, 0], measured.coverage[noise][method]
            ax.plot(x, one.prediction, color="black", linewidth=1.0)
            missed = f"{held.below.mean():.1%} below, {held.above.mean():.1%} above"
            label = f"{method}: covers {held.coverage.value:.1%}, {missed}"
            ax.plot(x, one.new.low, style, color=color, linewidth=1.4, label=label)
            ax.plot(x, one.new.high, style, color=color, linewidth=1.4)
        low, high = ax.get_ylim()
        ax.set_ylim(low, high + 0.22 * (high - low))
        ax.set_title(noise, fontsize="medium", loc="left")
        ax.legend(frameon=False, fontsize="small", loc="upper left")
        finish(ax, "x", "y")
    return axes[0].figure
