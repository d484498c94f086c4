"""Coverage of intervals, estimated on simulated data."""

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
    """Whether intervals contain their targets, in every repeat.

    Attributes
    ----------
    covered : ndarray of shape (n_repeats, n_targets)
        1 if the interval contains the target, else 0.
    below : ndarray of shape (n_repeats, n_targets)
        1 if the target is below the interval, else 0.
    above : ndarray of shape (n_repeats, n_targets)
        1 if the target is above the interval, else 0.
    width : ndarray of shape (n_repeats, n_targets)
        Widths of the intervals.
    """

    covered: Floats
    below: Floats
    above: Floats
    width: Floats

    @property
    def coverage(self) -> Mean:
        """Fraction of the targets that are covered, with its standard error over the repeats."""
        fractions = self.covered.mean(axis=1)
        return Mean(float(fractions.mean()), float(fractions.std(ddof=1) / np.sqrt(fractions.size)))

    @property
    def target_coverage(self) -> Floats:
        """Fraction of the repeats in which each target is covered."""
        return self.covered.mean(axis=0)

    def __str__(self) -> str:
        return (
            f"coverage {100 * self.coverage.value:.1f} ± {100 * self.coverage.stderr:.1f} %, "
            f"{100 * self.below.mean():.1f} % below and {100 * self.above.mean():.1f} % above; mean width "
            f"{self.width.mean():.4g}"
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
    """Estimate the coverage of an interval by simulation.

    Parameters
    ----------
    interval : callable
        Function of the data and of `random_state` that returns (low, high).
    draw : callable
        Function of a NumPy random generator that returns the data, as a tuple, and the target, a number or an array.
    n_repeats : int, default=1000
        Number of data sets.
    random_state : int or Generator, default=None
        Seed of the data and of the intervals.
    n_jobs : int, default=None
        Number of threads; results do not depend on it.
    verbose : int, default=0
        1 shows a progress bar.

    Returns
    -------
    Coverage
        Whether the intervals contain the targets, and their widths.

    Examples
    --------
    >>> def interval(x, random_state):
    ...     half = 1.96 * x.std(ddof=1) / np.sqrt(x.size)
    ...     return x.mean() - half, x.mean() + half
    >>> print(measure_coverage(interval, lambda rng: ((rng.normal(size=10),), 0.0), random_state=0))
    coverage 91.8 ± 0.9 %, 3.8 % below and 4.4 % above; mean width 1.218
    """
    if n_repeats < 2:
        raise ValueError(f"n_repeats must be at least 2; got {n_repeats}.")

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
