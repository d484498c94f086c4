"""Linear experts behind a softmax gate, on rows that no single line fits (H; S2, "Mezclas de Expertos").

    x uniform on [-3, 3],   f(x) = 1 - 2 (x + 1) for x < -1;  1 for -1 <= x < 1;  1 + 3 (x - 1) for x >= 1
    y = f(x) + noise of standard deviation 0.3

Claim: experts that are each linear, with a gate that chooses among them, fit what one linear model cannot; EM never
lowers the likelihood.

Measured: for each of many training sets, the root mean squared error to new targets of 1, 2, 3, 4 experts (no model
goes below the noise, 0.3), and the largest fall of the likelihood that EM maximises between two iterations.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from committee.base.array_types import Floats
from committee.base.progress import progress
from committee.base.rng import member_seeds
from committee.evaluation._folds import Mean
from committee.experts.mixture_of_experts import MixtureOfExpertsRegressor
from committee_reproductions.bagging_simulation import mean_over_draws

NOISE = 0.3
HALF_WIDTH, KINK = 3.0, 1.0
SLOPES = (-2.0, 0.0, 3.0)


class LocalExperts(NamedTuple):
    """Errors of mixtures on R training sets, and the mixtures of the last one to draw."""

    n_experts: tuple[int, ...]
    errors: Floats  # [numbers of experts, R], root mean squared, on new rows
    largest_fall: float  # of the objective of EM between two iterations, over all runs; 0 if it never fell
    X: Floats  # [n, 1], the last training set
    y: Floats
    models: tuple[Any, ...]

    def error(self, n: int) -> Mean:
        """Of a mixture of n experts, mean over the training sets."""
        return mean_over_draws(self.errors[self.n_experts.index(n)])

    def gain(self, n: int) -> Mean:
        """Error of one expert minus that of n, on the same training sets."""
        return mean_over_draws(self.errors[self.n_experts.index(1)] - self.errors[self.n_experts.index(n)])


def piecewise(x: Floats) -> Floats:
    """Three lines that meet at -1 and 1.

    >>> piecewise(np.array([-2.0, 0.0, 2.0]))
    array([3., 1., 4.])
    """
    left, _, right = SLOPES
    return 1.0 + left * np.minimum(x + KINK, 0.0) + right * np.maximum(x - KINK, 0.0)


def local_experts(
    *,
    n_experts: tuple[int, ...] = (1, 2, 3, 4),
    n_rows: int = 300,
    n_repeats: int = 20,
    n_test: int = 2000,
    random_state: int = 0,
    verbose: int = 0,
) -> LocalExperts:
    """Mixtures of 1, 2, ... linear experts on a piecewise linear set.

    Parameters
    ----------
    n_experts : numbers of experts to compare; 1 is linear regression
    n_rows, n_test : rows to learn from, and rows to judge on
    n_repeats : training sets to draw; the test rows are drawn once
    random_state : of the rows and of the starts of EM
    verbose : 1 shows a progress bar

    Examples
    --------
    >>> found = local_experts(n_experts=(1, 3), n_repeats=2)
    >>> found.error(1).value > 4.0 * found.error(3).value
    True
    """
    if 1 not in n_experts or n_repeats < 2:
        raise ValueError(f"n_experts must contain 1 and n_repeats be at least 2; got {n_experts} and {n_repeats}.")
    seeds = [int(seed % np.uint64(2**31)) for seed in member_seeds(random_state, n_repeats + 1)]
    X_test, y_test = _draw(n_test, seeds[0])
    errors, fall = np.empty((len(n_experts), n_repeats)), 0.0
    rows, models = (X_test, y_test), list[Any]()
    with progress("mixtures of experts, training sets", n_repeats, verbose) as tick:
        for r, seed in enumerate(seeds[1:]):
            rows = _draw(n_rows, seed)
            models = [MixtureOfExpertsRegressor(n, random_state=seed).fit(*rows) for n in n_experts]
            errors[:, r] = [np.sqrt(np.mean((model.predict(X_test) - y_test) ** 2)) for model in models]
            fall = max([fall, *(_largest_fall(model) for model in models)])
            tick(f"{n_experts[-1]} experts {errors[-1, r]:.3f}")
    return LocalExperts(n_experts, errors, fall, *rows, tuple(models))


def _draw(n: int, seed: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    x = rng.uniform(-HALF_WIDTH, HALF_WIDTH, n)
    return x[:, np.newaxis], piecewise(x) + NOISE * rng.standard_normal(n)


def _largest_fall(model: Any) -> float:
    """Of the objective between iterations; one in which an expert was put back to work starts anew."""
    history = model.history_
    falls = -np.diff(history.objective)
    return float(np.max(falls[history.repaired[1:] < 0], initial=0.0))
