"""The bootstrap: bias, variance and confidence interval of anything that is computed from a sample.

    T = t(x_1, ..., x_n),   T*_b = t of n rows drawn from the sample with replacement, b = 1, ..., R
    bias  mean T* - T,      standard error  sd T*,      intervals as in `theory/intervals.py`

T is a function of arrays, or what an estimator learns: an attribute, a prediction, a score (a model is an estimator in
the sense of statistics: S2). Efron, Bootstrap methods: another look at the jackknife, 1979.

For one function of arrays without weights, strata or standard errors scipy.stats.bootstrap does the same: on the same
generator it draws the same rows, and percentile, basic and BCa intervals agree to rounding.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple

import numpy as np

from committee.base.array_types import Floats
from committee.base.blas_threads import one_blas_thread
from committee.base.progress import progress
from committee.base.rng import RandomState, member_seeds
from committee.base.threads import n_threads, run
from committee.evaluation._bootstrap_samples import Rows, Samples, Statistic, function_of_samples, learned, read_samples
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
"""Rows drawn at a time: 16 MB of them."""

JACKKNIFE = 1000
"""The jackknife of the acceleration leaves out one row at a time up to so many rows, and so many groups of more."""


class Bootstrap(NamedTuple):
    """A statistic, its replicates, and what they say of it. Arrays have the shape of the statistic."""

    value: Floats  # on the sample
    replicates: Floats  # [R, ...], on the resamples
    level: float
    jackknife: tuple[Floats, ...]  # of each sample [n, ...], the statistic without one row; empty without BCa
    stderrs: Floats | None  # [R, ...], standard errors of the resamples
    own_stderr: Floats | None  # that of the sample by the same rule
    n_failed: int  # resamples without a finite statistic, left out

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
        """Of the bias, for other resamples of the same sample: a bias below two of these is not seen."""
        return self.stderr / np.sqrt(len(self.replicates))

    @property
    def corrected(self) -> Floats:
        """The value less its bias."""
        return self.value - self.bias

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Of interval."""
        last: tuple[Kind, ...] = ("studentised",) if self.stderrs is not None else ()
        return ("normal", "percentile", "basic", *(("BCa",) if self.jackknife else ()), *last)

    @property
    def best_kind(self) -> Kind:
        """BCa where there is one: not without a jackknife, and not if all replicates lie on one side of the value."""
        if self.jackknife and np.all(np.isfinite(bca_interval(self.replicates, self.value, self.jackknife).low)):
            return "BCa"
        return "percentile"

    def interval(self, kind: Kind | None = None, level: float | None = None) -> Interval:
        """A confidence interval, of the `best_kind` by default."""
        chosen = self.best_kind if kind is None else kind
        share = self.level if level is None else level
        if chosen == "normal":
            return normal_interval(self.replicates, self.value, share)
        if chosen == "percentile":
            return percentile_interval(self.replicates, share)
        if chosen == "basic":
            return basic_interval(self.replicates, self.value, share)
        if chosen == "BCa" and self.jackknife:
            return bca_interval(self.replicates, self.value, self.jackknife, share)
        if chosen == "studentised" and self.stderrs is not None and self.own_stderr is not None:
            return studentised_interval(self.replicates, self.value, self.stderrs, self.own_stderr, share)
        raise ValueError(
            f"No {chosen} interval here; there are: {', '.join(self.kinds)}. BCa needs bca=True, studentised stderr=."
        )

    @property
    def intervals(self) -> dict[Kind, Interval]:
        return {kind: self.interval(kind) for kind in self.kinds}

    def to_table(self) -> ResultTable:
        """One line per number of the statistic: value, bias, standard error, and every interval."""
        columns = {"value": self.value, "bias": self.bias, "stderr": self.stderr}
        for kind, interval in self.intervals.items():
            columns |= {f"{kind}_low": interval.low, f"{kind}_high": interval.high}
        return ResultTable({name: np.ravel(values) for name, values in columns.items()})

    to_pandas = to_pandas
    to_polars = to_polars

    def __str__(self) -> str:
        if np.ndim(self.value):
            return f"{np.size(self.value)} numbers, {len(self.replicates)} resamples: see to_table()"
        low, high = self.interval()
        return (
            f"{self.value:.4g}, bias {self.bias:+.2g}, standard error {self.stderr:.2g}, {100 * self.level:g} % "
            f"interval {low:.4g} to {high:.4g} ({self.best_kind})"
        )


def bootstrap(
    what: Any,
    *data: Any,
    of: str | Callable[[Any], Any] | None = None,
    at: Any = None,
    paired: bool = False,
    strata: Any = None,
    weights: Any = None,
    vectorized: bool = False,
    stderr: Callable[..., Any] | int | None = None,
    bca: bool = True,
    n_resamples: int = 2000,
    level: float = 0.95,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Bootstrap:
    """Bias, standard error and confidence intervals of a statistic or of what an estimator learns.

    Parameters
    ----------
    what : a function of the samples that returns a number or an array, or an estimator
    data : one or more samples, arrays or frames with the rows first; X and y of an estimator
    of : of an estimator: an attribute ("coef_"), a method ("predict", "score") or a function of the fitted estimator
    at : what the method is called with: a table, or a tuple such as (X, y) for "score"
    paired : whether the samples have their rows in common and are drawn together, as X and y of an estimator always
        are; else each sample is drawn from on its own
    strata : one label per row; every resample has as many rows of each as the sample
    weights : whole numbers: a row of weight 3 counts as three equal rows
    vectorized : whether `what` takes many resamples at once: arrays [..., n] and axis=-1 (samples of one dimension)
    stderr : for the studentised interval: a function of the samples that returns the standard error of the statistic
        (with axis=-1 too if `vectorized`), or a number of resamples to draw from every resample
    bca : whether to compute the jackknife that the BCa interval needs
    n_resamples : R
    level : of the intervals
    random_state : of the resamples, and of what the estimator leaves to chance
    n_jobs : threads; they change no result, and help where the statistic releases the interpreter
    verbose : 1 shows a progress bar

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
    is_estimator = hasattr(what, "fit") and hasattr(what, "get_params")
    samples = read_samples(data, bool(is_estimator or paired), strata, weights)
    statistic = learned(what, of, at) if is_estimator else function_of_samples(what, of, at, samples, vectorized)
    measure = function_of_samples(stderr, None, None, samples, vectorized) if callable(stderr) else None
    nested = None if callable(stderr) else stderr
    turn = _Turn(statistic, samples, int(member_seeds(random_state, 1)[0]), nested, measure)
    return _run(turn, n_resamples, level, bca, n_threads(n_jobs, 2**62), verbose)


# --- replicates -------------------------------------------------------------------------------------------------------


class _Turn(NamedTuple):
    """Statistic and standard error of some resamples."""

    statistic: Statistic
    samples: Samples
    entropy: int
    nested: int | None  # resamples of every resample, for its standard error
    stderr: Statistic | None  # or a function for it

    def __call__(self, first: int, rows: tuple[Rows, ...]) -> tuple[Floats, Floats | None]:
        """[n, ...] both, for row numbers [n, size]; `first` counts the resamples before, for the seeds."""
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
        """[n, ...]; the first is the resample of that number, None gives all of them the seed of the sample itself."""
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
    """Replicates and their standard errors. Rows are drawn here, one batch after the other: threads change nothing."""
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
    """For every sample the statistic without one row after the other, or one group of many rows.

    Every fit has the seed of the one on the whole sample: what is left to chance must not look like influence.
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
    """Row numbers [n, kept] of the jackknife, many at once where the statistic takes them."""
    if size > JACKKNIFE:  # groups at random, since rows may be sorted
        group = np.random.default_rng(turn.entropy).permutation(size) % JACKKNIFE
        for g in range(JACKKNIFE):
            yield np.flatnonzero(group != g)[np.newaxis]
        return
    rows = np.arange(size - 1) + (np.arange(size - 1) >= np.arange(size)[:, np.newaxis])
    for first, n in _batches(size, size if turn.statistic.is_many else 1):
        yield rows[first : first + n]


def _batches(n: int, size: int) -> Iterator[tuple[int, int]]:
    """First and number of each."""
    for first in range(0, n, size):
        yield first, min(size, n - first)


def _without_failures(found: Bootstrap) -> Bootstrap:
    """Resamples whose statistic is nan or infinite are left out, and said."""
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
