"""How often an interval holds what it is meant to hold: its coverage, measured on data whose truth is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from committee.base.array_types import Floats
from committee.base.progress import progress
from committee.base.rng import RandomState, member_seeds
from committee.base.stats import Mean
from committee.base.threads import n_threads, run


class Coverage(NamedTuple):
    """What became of the targets in every repeat; there is one target, or an array of them."""

    held: Floats  # [repeats, targets], 1 where the interval holds the target, else 0
    below: Floats  # [repeats, targets], 1 where the target lies below the interval
    above: Floats  # [repeats, targets]
    width: Floats  # [repeats, targets], of the intervals

    @property
    def share(self) -> Mean:
        """Share of the targets inside, with its standard error over the repeats."""
        shares = self.held.mean(axis=1)
        return Mean(float(shares.mean()), float(shares.std(ddof=1) / np.sqrt(shares.size)))

    @property
    def shares(self) -> Floats:
        """[targets], share of the repeats that hold each of them."""
        return self.held.mean(axis=0)

    def __str__(self) -> str:
        return (
            f"holds {100 * self.share.value:.1f} ± {100 * self.share.stderr:.1f} %, {100 * self.below.mean():.1f} % "
            f"lie below and {100 * self.above.mean():.1f} % above; mean width {self.width.mean():.4g}"
        )


def measure_coverage(
    interval: Callable[..., Any],
    draw: Callable[[np.random.Generator], tuple[tuple[Any, ...], Any]],
    *,
    n_repeats: int = 1000,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Coverage:
    """Draw data, compute an interval, see whether it holds its target; many times.

    Parameters
    ----------
    interval : function of the data, and of a seed by the name random_state, that returns (low, high)
    draw : function of a random generator that returns the data (a tuple) and the target, a number or an array
    n_repeats : data sets
    random_state : of the data and of the intervals
    n_jobs : repeats side by side; it changes no result
    verbose : 1 shows a progress bar

    Examples
    --------
    >>> def interval(x, random_state):
    ...     half = 1.96 * x.std(ddof=1) / np.sqrt(x.size)
    ...     return x.mean() - half, x.mean() + half
    >>> print(measure_coverage(interval, lambda rng: ((rng.normal(size=10),), 0.0), random_state=0))
    holds 91.8 ± 0.9 %, 3.8 % lie below and 4.4 % above; mean width 1.218
    """
    if n_repeats < 2:
        raise ValueError(f"n_repeats must be at least 2, for a standard error; got {n_repeats}.")

    def turn(seed: int) -> Floats:
        rng = np.random.default_rng(seed)
        data, target = draw(rng)
        low, high = interval(*data, random_state=int(rng.integers(2**31)))
        below, above, width, _ = np.broadcast_arrays(target < low, target > high, high - low, target)
        tick("")
        return np.array([~(below | above), below, above, width], np.float64).reshape(4, -1)

    with progress("intervals", n_repeats, verbose) as tick:
        seeds = [(int(seed),) for seed in member_seeds(random_state, n_repeats)]
        result = np.array(run(turn, seeds, n_threads(n_jobs, 2**62)))
    return Coverage(*result.transpose(1, 0, 2))
