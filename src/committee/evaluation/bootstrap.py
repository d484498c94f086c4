"""The bootstrap: bias, variance and confidence interval of anything that is computed from a sample.

    T = t(x_1, ..., x_n),   T*_b = t of n rows drawn from the sample with replacement, b = 1, ..., R
    bias  mean T* - T,      standard error  sd T*,      intervals as in `theory/intervals.py`

T is a function of arrays, or a result of a fitted estimator: an attribute, a prediction, a score. Efron, Bootstrap
methods: another look at the jackknife, 1979.

For one function of arrays without weights, strata or standard errors, scipy.stats.bootstrap draws the same rows
with the same generator, and percentile, basic and BCa intervals agree up to rounding.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from committee.base.array_types import Floats
from committee.base.blas_threads import one_blas_thread
from committee.base.progress import progress
from committee.base.rng import RandomState, member_seeds
from committee.base.threads import n_threads, run
from committee.evaluation._bootstrap_samples import (
    Rows,
    Samples,
    Statistic,
    function_of_samples,
    read_samples,
    result_of_fit,
)
from committee.records.result_table import ResultTable, to_pandas, to_polars
from committee.theory.intervals import (
    Interval,
    basic_interval,
    bca_interval,
    normal_interval,
    percentile_interval,
    studentised_interval,
)

Kind = Literal["normal", "percentile", "basic", "BCa", "studentised"]

CELLS = 2_000_000
"""Row indices drawn at a time, of 8 bytes each."""

JACKKNIFE = 1000
"""The jackknife leaves out single rows up to this number, and this number of groups of rows beyond."""


class Bootstrap(NamedTuple):
    """A statistic and its bootstrap replicates.

    `bias`, `stderr`, `corrected` and the ends of `interval()` have the shape of the statistic.

    Attributes
    ----------
    value : ndarray
        The statistic on the sample.
    replicates : ndarray of shape (n_resamples, ...)
        The statistic on the resamples.
    level : float
        Confidence level of the intervals.
    jackknife : tuple of ndarray of shape (n_samples, ...)
        For each sample, the statistic without one row; empty with `bca=False`.
    stderrs : ndarray of shape (n_resamples, ...) or None
        Standard errors of the statistic on the resamples.
    own_stderr : ndarray or None
        Standard error of the statistic on the sample, computed in the same way.
    n_failed : int
        Number of resamples without a finite statistic, which are left out.
    """

    value: Floats
    replicates: Floats
    level: float
    jackknife: tuple[Floats, ...]
    stderrs: Floats | None
    own_stderr: Floats | None
    n_failed: int

    @property
    def bias(self) -> Floats:
        """Mean of the replicates minus the value."""
        return self.replicates.mean(axis=0) - self.value

    @property
    def stderr(self) -> Floats:
        """Standard deviation of the replicates."""
        return self.replicates.std(axis=0, ddof=1)

    @property
    def bias_stderr(self) -> Floats:
        """Monte Carlo standard error of the bias."""
        return self.stderr / np.sqrt(len(self.replicates))

    @property
    def corrected(self) -> Floats:
        """The value minus its bias."""
        return self.value - self.bias

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Kinds of intervals that are available."""
        last: tuple[Kind, ...] = ("studentised",) if self.stderrs is not None else ()
        return ("normal", "percentile", "basic", *(("BCa",) if self.jackknife else ()), *last)

    @property
    def best_kind(self) -> Kind:
        """BCa if available; percentile without a jackknife or if all replicates are on one side of the value."""
        if self.jackknife and np.all(np.isfinite(bca_interval(self.replicates, self.value, self.jackknife).low)):
            return "BCa"
        return "percentile"

    def interval(self, kind: Kind | None = None, level: float | None = None) -> Interval:
        """A confidence interval, of the `best_kind` by default."""
        chosen = self.best_kind if kind is None else kind
        level = self.level if level is None else level
        if chosen == "normal":
            return normal_interval(self.replicates, self.value, level)
        if chosen == "percentile":
            return percentile_interval(self.replicates, level)
        if chosen == "basic":
            return basic_interval(self.replicates, self.value, level)
        if chosen == "BCa" and self.jackknife:
            return bca_interval(self.replicates, self.value, self.jackknife, level)
        if chosen == "studentised" and self.stderrs is not None and self.own_stderr is not None:
            return studentised_interval(self.replicates, self.value, self.stderrs, self.own_stderr, level)
        raise ValueError(
            f"No {chosen} interval; available: {', '.join(self.kinds)}. BCa needs bca=True, studentised needs stderr."
        )

    @property
    def intervals(self) -> dict[Kind, Interval]:
        return {kind: self.interval(kind) for kind in self.kinds}

    def to_table(self) -> ResultTable:
        """One row per element of the statistic: value, bias, standard error, and all intervals."""
        columns = {"value": self.value, "bias": self.bias, "stderr": self.stderr}
        for kind, interval in self.intervals.items():
            columns |= {f"{kind}_low": interval.low, f"{kind}_high": interval.high}
        return ResultTable({name: np.ravel(values) for name, values in columns.items()})

    to_pandas = to_pandas
    to_polars = to_polars

    def __str__(self) -> str:
        if np.ndim(self.value):
            return f"{np.size(self.value)} values, {len(self.replicates)} resamples: see to_table()"
        low, high = self.interval()
        return (
            f"{self.value:.4g}, bias {self.bias:+.2g}, standard error {self.stderr:.2g}, {100 * self.level:g} % "
            f"interval {low:.4g} to {high:.4g} ({self.best_kind})"
        )


def bootstrap(
    statistic: Any,
    *data: Any,
    of: str | Callable[[Any], Any] | None = None,
    at: Any = None,
    paired: bool = False,
    strata: Any = None,
    sample_weight: Any = None,
    vectorized: bool = False,
    stderr: Callable[..., Any] | int | None = None,
    bca: bool = True,
    n_resamples: int = 2000,
    level: float = 0.95,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Bootstrap:
    """Estimate bias, standard error and confidence intervals of a statistic or of a result of an estimator.

    Parameters
    ----------
    statistic : callable or estimator
        Function of the samples that returns a number or an array, or an estimator.
    *data : arrays or DataFrames
        One or more samples with their rows along the first axis; X and y for an estimator.
    of : str or callable, default=None
        Result of the fitted estimator: an attribute ("coef_"), a method ("predict", "score") or a function of it.
    at : Any, default=None
        Arguments of the method: a table, or a tuple such as (X, y) for "score".
    paired : bool, default=False
        Whether the samples have common rows that are resampled together, as X and y of an estimator always are.
    strata : array of shape (n_samples,), default=None
        Stratum of each row; all resamples have as many rows of each stratum as the sample.
    sample_weight : array of shape (n_samples,), default=None
        Integers: a row of weight 3 counts as three equal rows.
    vectorized : bool, default=False
        Whether `statistic` takes many resamples at once: arrays of shape (..., n) and axis=-1, for 1-d samples.
    stderr : callable or int, default=None
        For the studentised interval: a function of the samples that returns the standard error of the statistic
        (vectorized like it), or a number of resamples of every resample.
    bca : bool, default=True
        Whether to compute the jackknife for the BCa interval.
    n_resamples : int, default=2000
        Number of resamples.
    level : float, default=0.95
        Confidence level.
    random_state : int or Generator, default=None
        Seed of the resamples and of the estimator.
    n_jobs : int, default=None
        Number of threads; results do not depend on it.
    verbose : int, default=0
        1 shows a progress bar.

    Returns
    -------
    Bootstrap
        The statistic with its bias, standard error and confidence intervals.

    Examples
    --------
    >>> times = np.array([3.1, 0.2, 1.7, 8.9, 0.8, 2.4, 5.0, 0.9, 1.1, 4.2])
    >>> print(bootstrap(np.median, times, random_state=0))
    2.05, bias +0.15, standard error 0.96, 95 % interval 0.9 to 4.2 (BCa)
    """
    if min(n_resamples, stderr if isinstance(stderr, int) else n_resamples) < 2 or not 0.0 < level < 1.0:
        raise ValueError(
            f"n_resamples, and stderr if it is a number, must be at least 2, and level between 0 and 1; got "
            f"{n_resamples}, {stderr} and {level}."
        )
    is_estimator = hasattr(statistic, "fit") and hasattr(statistic, "get_params")
    samples = read_samples(data, bool(is_estimator or paired), strata, sample_weight)
    computed = result_of_fit if is_estimator else partial(function_of_samples, samples=samples, vectorized=vectorized)
    measure = function_of_samples(stderr, None, None, samples, vectorized) if callable(stderr) else None
    nested = None if callable(stderr) else stderr
    turn = _Turn(computed(statistic, of, at), samples, int(member_seeds(random_state, 1)[0]), nested, measure)
    return _run(turn, n_resamples, level, bca, n_threads(n_jobs, 2**62), verbose)


# --- replicates -------------------------------------------------------------------------------------------------------


class _Turn(NamedTuple):
    """Statistic and standard error of some resamples."""

    statistic: Statistic
    samples: Samples
    entropy: int
    nested: int | None  # resamples of every resample for its standard error
    stderr: Statistic | None  # or a function for it

    def __call__(self, first: int, rows: tuple[Rows, ...]) -> tuple[Floats, Floats | None]:
        """Both [n, ...] for row indices [n, size]; `first` is the number of the first resample, for the seeds."""
        values = self.evaluate(self.statistic, first, rows)
        if self.stderr is not None:
            return values, self.evaluate(self.stderr, first, rows)
        if self.nested is None:
            return values, None
        errors: list[Floats] = []
        for i in range(len(rows[0])):
            drawn = self.samples.draw(self.nested, np.random.default_rng([self.entropy, first + i]))
            twice = tuple(outer[i][inner] for outer, inner in zip(rows, drawn, strict=True))
            errors.append(self.evaluate(self.statistic, first + i, twice).std(axis=0, ddof=1))
        return values, np.array(errors)

    def evaluate(self, statistic: Statistic, first: int | None, rows: tuple[Rows, ...]) -> Floats:
        """Statistics [n, ...]; `first` is the number of the first resample, None for the seed of the sample itself."""
        if statistic.is_many:
            return np.asarray(statistic.of(self.samples.take(rows), 0), np.float64)
        found: list[Any] = []
        for i in range(len(rows[0])):
            tables = self.samples.take(tuple(drawn[i] for drawn in rows))
            found.append(statistic.of(tables, (self.entropy + (0 if first is None else first + i)) % 2**31))
        return np.array(found, np.float64)


def _run(turn: _Turn, n_resamples: int, level: float, bca: bool, threads: int, verbose: int) -> Bootstrap:
    statistic, sizes = turn.statistic, turn.samples.sizes
    n_left_out = sum(1 if statistic.is_many else min(size, JACKKNIFE) for size in sizes) if bca else 0
    with one_blas_thread(), progress("bootstrap, resamples", n_resamples + n_left_out, verbose) as tick:
        whole = tuple(np.arange(size)[np.newaxis] for size in sizes)
        value = turn.evaluate(statistic, None, whole)[0]
        own = None if turn.stderr is None else turn.evaluate(turn.stderr, None, whole)[0]
        replicates, stderrs = _resample(turn, n_resamples, threads, tick)
        jackknife = _jackknife(turn, threads, tick) if bca else ()
    found = _without_failures(Bootstrap(value, replicates, level, jackknife, stderrs, own, 0))
    return found if turn.nested is None else found._replace(own_stderr=found.stderr)


def _resample(turn: _Turn, n_resamples: int, threads: int, tick: Callable[[str], None]) -> tuple[Floats, Floats | None]:
    """Replicates and their standard errors; rows are drawn in batches, independently of the number of threads."""
    rng = np.random.default_rng(turn.entropy)
    found: list[tuple[Floats, Floats | None]] = []
    for first, n in _batches(n_resamples, max(1, CELLS // sum(turn.samples.sizes))):
        rows = turn.samples.draw(n, rng)

        def some(start: int, count: int, rows: tuple[Rows, ...] = rows, first: int = first) -> Any:
            result = turn(1 + first + start, tuple(drawn[start : start + count] for drawn in rows))
            for _ in range(count):
                tick("")
            return result

        size = n if turn.statistic.is_many and turn.nested is None else max(1, min(64, -(-n // (4 * threads))))
        found += run(some, list(_batches(n, size)), threads)
    errors = [error for _, error in found if error is not None]
    return np.concatenate([value for value, _ in found]), np.concatenate(errors) if errors else None


def _jackknife(turn: _Turn, threads: int, tick: Callable[[str], None]) -> tuple[Floats, ...]:
    """For every sample, the statistic without each row or group of rows.

    All fits have the seed of the one on the whole sample, so that randomness does not count as influence.
    """
    sizes = turn.samples.sizes
    found: list[Floats] = []
    for k, size in enumerate(sizes):

        def without(rows: Rows, k: int = k) -> Floats:
            kept = [np.broadcast_to(np.arange(other), (len(rows), other)) for other in sizes]
            kept[k] = rows
            tick("jackknife")
            return turn.evaluate(turn.statistic, None, tuple(kept))

        found.append(np.concatenate(run(without, [(rows,) for rows in _left_out(turn, size)], threads)))
    return tuple(found)


def _left_out(turn: _Turn, size: int) -> Iterator[Rows]:
    """Row indices [n, kept] of the jackknife, many at once for a vectorized statistic."""
    if size > JACKKNIFE:  # groups at random, since rows may be sorted
        group = np.random.default_rng(turn.entropy).permutation(size) % JACKKNIFE
        for g in range(JACKKNIFE):
            yield np.flatnonzero(group != g)[np.newaxis]
        return
    rows = np.arange(size - 1) + (np.arange(size - 1) >= np.arange(size)[:, np.newaxis])
    for first, n in _batches(size, size if turn.statistic.is_many else 1):
        yield rows[first : first + n]


def _batches(n: int, size: int) -> Iterator[tuple[int, int]]:
    """First element and size of each batch."""
    for first in range(0, n, size):
        yield first, min(size, n - first)


def _without_failures(found: Bootstrap) -> Bootstrap:
    """Leave out resamples whose statistic is not finite, with a warning."""
    n = len(found.replicates)
    whole = np.flatnonzero(np.isfinite(found.replicates.reshape(n, -1)).all(axis=1))
    if whole.size == n:
        return found
    if whole.size < n / 2 or not np.all(np.isfinite(found.value)):
        raise ValueError(f"The statistic is finite on {whole.size} of {n} resamples only, or not on the sample itself.")
    warnings.warn(
        f"The statistic is not finite on {n - whole.size} of {n} resamples; they are left out.", UserWarning, 4
    )
    stderrs = None if found.stderrs is None else found.stderrs[whole]
    return found._replace(replicates=found.replicates[whole], stderrs=stderrs, n_failed=n - whole.size)
