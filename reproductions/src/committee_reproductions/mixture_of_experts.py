"""Linear experts behind a softmax gate, on data that no single line fits.

Jacobs, Jordan, Nowlan and Hinton, Adaptive mixtures of local experts, 1991; Jordan and Jacobs, Hierarchical mixtures of
experts and the EM algorithm, 1994.

    x uniform on [-3, 3],   f(x) = 1 - 2 (x + 1) for x < -1;  1 for -1 <= x < 1;  1 + 3 (x - 1) for x >= 1
    y = f(x) + noise of standard deviation 0.3

Claims: experts that are each linear, with a gate that chooses among them, fit what one linear model cannot; EM never
lowers the likelihood.

Measured: for each of many training sets, the root mean squared error on new rows of 1, 2, 3, 4 experts (no model goes
below the noise, 0.3), and the largest decrease between two iterations of the likelihood that EM maximises.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from committee.base.array_types import Floats
from committee.base.progress import progress
from committee.base.rng import member_seeds
from committee.base.stats import Mean
from committee.experts.mixture_of_experts import MixtureOfExpertsRegressor
from committee.plots._style import BLUE, GREEN, GREY, ORANGE, VERMILION, finish, panels
from committee_reproductions.results import (
    Claim,
    Outcome,
    ReproductionResult,
    gather_curves,
    is_above,
    mean_over_draws,
    row,
    verdict_of,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOISE = 0.3
HALF_WIDTH, KINK = 3.0, 1.0
SLOPES = (-2.0, 0.0, 3.0)

ROUNDING = 1e-8
"""A smaller decrease of the likelihood is rounding."""

NEAR_NOISE = 1.1
"""A root mean squared error of at most so many times the noise is near it."""


class ExpertErrors(NamedTuple):
    """Errors of mixtures on R training sets, and the mixtures of the last one to draw."""

    n_experts: tuple[int, ...]
    errors: Floats  # [numbers of experts, R], root mean squared, on new rows
    largest_decrease: float  # of the objective of EM between two iterations, over all runs; 0 if it never decreased
    X: Floats  # [n, 1], the last training set
    y: Floats
    models: tuple[Any, ...]

    def error(self, n: int) -> Mean:
        """Error of a mixture of n experts, mean over the training sets."""
        return mean_over_draws(self.errors[self.n_experts.index(n)])

    def gain(self, n: int) -> Mean:
        """Error of one expert minus that of n, on the same training sets."""
        return mean_over_draws(self.errors[self.n_experts.index(1)] - self.errors[self.n_experts.index(n)])


def piecewise(x: Floats) -> Floats:
    """Return three lines that meet at -1 and 1.

    >>> piecewise(np.array([-2.0, 0.0, 2.0]))
    array([3., 1., 4.])
    """
    left, _, right = SLOPES
    return 1.0 + left * np.minimum(x + KINK, 0.0) + right * np.maximum(x - KINK, 0.0)


def expert_errors(
    *,
    n_experts: tuple[int, ...] = (1, 2, 3, 4),
    n_rows: int = 300,
    n_repeats: int = 20,
    n_test: int = 2000,
    random_state: int = 0,
    verbose: int = 0,
) -> ExpertErrors:
    """Fit mixtures of 1, 2, ... linear experts on a piecewise linear data set.

    >>> result = expert_errors(n_experts=(1, 3), n_repeats=2)
    >>> result.error(1).value > 4.0 * result.error(3).value
    True
    """
    if 1 not in n_experts or n_repeats < 2:
        raise ValueError(f"n_experts must contain 1 and n_repeats be at least 2; got {n_experts} and {n_repeats}.")
    seeds = [int(seed % np.uint64(2**31)) for seed in member_seeds(random_state, n_repeats + 1)]
    X_test, y_test = _simulate(n_test, seeds[0])
    errors, decrease = np.empty((len(n_experts), n_repeats)), 0.0
    rows, models = (X_test, y_test), list[Any]()
    with progress("mixtures of experts, training sets", n_repeats, verbose) as tick:
        for r, seed in enumerate(seeds[1:]):
            rows = _simulate(n_rows, seed)
            models = [MixtureOfExpertsRegressor(n, random_state=seed).fit(*rows) for n in n_experts]
            errors[:, r] = [np.sqrt(np.mean((model.predict(X_test) - y_test) ** 2)) for model in models]
            decrease = max([decrease, *(_largest_decrease(model) for model in models)])
            tick(f"{n_experts[-1]} experts {errors[-1, r]:.3f}")
    return ExpertErrors(n_experts, errors, decrease, *rows, tuple(models))


def _simulate(n: int, seed: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    x = rng.uniform(-HALF_WIDTH, HALF_WIDTH, n)
    return x[:, np.newaxis], piecewise(x) + NOISE * rng.standard_normal(n)


def _largest_decrease(model: Any) -> float:
    """Return the largest decrease of the objective; an iteration that restarts an unused expert begins a new run."""
    history = model.history_
    decreases = -np.diff(history.objective)
    return float(np.max(decreases[history.repaired[1:] < 0], initial=0.0))


def reproduce(quick: bool = False, verbose: int = 0) -> Outcome:
    """Measure and compare with the claims."""
    size: dict[str, Any] = {"n_repeats": 2, "n_rows": 200} if quick else {}
    measured = expert_errors(**size, verbose=verbose)
    rows = tuple(
        row(f"{n} expert{'s' if n > 1 else ''}, root mean squared error", measured.error(n)) for n in measured.n_experts
    )
    gain, best, decrease = measured.gain(3), measured.error(3), measured.largest_decrease
    claims = (
        Claim("three experts fit better than one line", is_above(gain), f"one - three: {gain}"),
        Claim("three experts come near the noise", best.value < NEAR_NOISE * NOISE, f"{best}, noise {NOISE}"),
        Claim("the likelihood never decreases during EM", decrease < ROUNDING,
              f"largest decrease {decrease:.1g} over all runs"),
    )  # fmt: skip
    grid = np.linspace(-HALF_WIDTH, HALF_WIDTH, 241)
    curves = [("prediction", "truth", grid, piecewise(grid), 0.0)]
    for n, model in zip(measured.n_experts, measured.models, strict=True):
        curves.append(("prediction", f"{n} experts", grid, model.predict(grid[:, np.newaxis]), 0.0))
    return Outcome(rows, claims, gather_curves(curves), verdict_of(rows, claims), measured)


def draw(result: ReproductionResult) -> Figure:
    """Draw the fits of one and of three experts, and the gate of the three below."""
    measured: ExpertErrors = result.data
    above, below = panels(None, 2, (6.8, 2.8), n_columns=1)
    x = np.linspace(float(measured.X.min()), float(measured.X.max()), 400)
    grid = x[:, np.newaxis]
    above.plot(measured.X[:, 0], measured.y, ".", color="#AAAAAA", markersize=4, label="training rows")
    above.plot(x, piecewise(x), color=GREY, linewidth=4.0, alpha=0.35, label=f"truth (noise {NOISE})")
    for n, color in ((1, VERMILION), (3, BLUE)):
        model = measured.models[measured.n_experts.index(n)]
        label = f"{n} linear expert{'s' if n > 1 else ''}: RMSE {measured.error(n).value:.3f}"
        above.plot(x, model.predict(grid), color=color, linewidth=1.6, label=label)
    above.legend(frameon=False, fontsize="small", loc="upper center")
    finish(above, "", "y")
    gate = measured.models[measured.n_experts.index(3)].gate_proba(grid)
    order = np.argsort(gate.argmax(axis=0))
    for k, color in zip(order, (BLUE, GREEN, ORANGE), strict=True):
        below.plot(x, gate[:, k], color=color, linewidth=1.6)
    below.set_ylim(-0.02, 1.05)
    finish(below, "x", "gate of three experts")
    return above.figure
