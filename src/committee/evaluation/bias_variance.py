"""Bias, variance and noise of a learner, measured over many training sets.

    error = bias + variance + noise       `theory/decomposition.py` has the parts of squared error and of the 0-1 loss

Where the truth is known (a `Simulation` of `datasets/_generators.py`) every training set is drawn afresh, and all are
judged on the same rows by the mean and the noise of y at x, not by a y that was drawn: the sum is exact, and the parts
are those of the learner up to the standard errors.

Where there is only a table, training sets are bootstrap samples of its rows, and a row is judged by the samples that do
not hold it. Then

    - nobody knows the noise: it is inside the bias (for the 0-1 loss also inside the variance), in the same amount for
      every learner judged by squared error, so that differences between learners are not touched by it
    - a sample holds 63 % of the rows: parts are those of a smaller table, and errors a little too large
    - all samples come from one table: standard errors say how sure the parts are for tables such as this one only
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_regressor

from committee.base.array_types import Floats
from committee.base.blas_threads import one_blas_thread
from committee.base.progress import progress
from committee.base.rng import RandomState, member_seeds
from committee.base.stats import Mean
from committee.base.threads import n_threads, run
from committee.datasets import Simulation
from committee.evaluation._folds import seeded
from committee.records.result_table import ResultTable, to_pandas, to_polars
from committee.tabular.rows import take_rows
from committee.tabular.validation import read_targets_classification, read_targets_regression
from committee.theory.decomposition import Decomposition, Part, decompose_squared_error, decompose_zero_one

Task = Literal["classification", "regression"]

N_SETS = 50
"""Training sets, as in the figure of S2."""

N_TRAIN, N_TEST = 100, 1000
"""Rows of a simulation to learn from and to judge on."""


class TrainingSet(NamedTuple):
    """Rows to learn from, and which of the rows that judge were not among them."""

    X: Any
    y: NDArray[Any]
    judged: NDArray[np.bool_] | None  # None: all


class Source(NamedTuple):
    """Where training sets come from, and the rows that judge what was learned from them."""

    name: str
    task: Task
    deal: Callable[[np.random.Generator], TrainingSet]
    X: Any  # [n, d]
    truth: Floats | NDArray[np.int64]  # [n] means, [n, K] chances; or y, numbers or codes [n]
    noise: Floats | None  # [n], None where nobody knows it
    n_train: int


class BiasVariance(NamedTuple):
    """What the error of a learner is made of, over training sets.

    `bias` is the squared bias where the loss is squared, and `variance` the net variance (unbiased minus biased) where
    it is 0-1; `part` has those two and the error of the best rule.
    """

    learner: str
    source: Source
    decomposition: Decomposition
    predictions: NDArray[Any]  # [sets, n], numbers or class codes; nan or -1 where the set held the row

    @property
    def error(self) -> Mean:
        return self.part("error")

    @property
    def bias(self) -> Mean:
        return self.part("bias")

    @property
    def variance(self) -> Mean:
        return self.part("variance")

    @property
    def noise(self) -> Mean:
        """Nan where nobody knows it: it is inside the bias then."""
        return self.part("noise") if self.source.noise is not None else Mean(np.nan, np.nan)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the parts, those apart that nobody knows."""
        known = self.source.noise is not None
        return tuple(name for name in self.decomposition.parts if known or name not in ("noise", "best error"))

    def part(self, name: str) -> Mean:
        """A part by its name, with its standard error for other training sets and other rows."""
        return as_mean(self.find(name))

    def find(self, name: str) -> Part:
        """A part, row by row."""
        if name not in self.names:
            raise ValueError(f"There is no part {name!r} here; there are: {', '.join(self.names)}.")
        return self.decomposition.parts[name]

    @property
    def verdict(self) -> str:
        """Which part is the larger one, and what helps against it."""
        sets = f"over {self.decomposition.n_sets} training sets of {self.source.n_train} rows"
        parts = f"bias {self.bias}, variance {self.variance}"
        known = f", noise {self.noise}" if self.source.noise is not None else "; the noise is inside the bias"
        gap = self.variance.value - self.bias.value
        sure = abs(gap) > 2.0 * as_mean(self.find("variance").minus(self.find("bias"))).stderr
        word = "bias and variance do not differ by more than chance"
        if sure and gap > 0.0:
            word = "variance is the larger part: average more members, or simplify"
        elif sure:
            word = "bias is the larger part" + (
                ": boost, or let the learner grow" if self.source.noise is not None else ", as far as it is not noise"
            )
        return f"{self.learner}, {sets}: error {self.error} = {parts}{known}; {word}"

    def __str__(self) -> str:
        return self.verdict

    def to_table(self) -> ResultTable:
        """One line per part."""
        means = [self.part(name) for name in self.names]
        columns = {"part": list(self.names), "value": [m.value for m in means], "stderr": [m.stderr for m in means]}
        return ResultTable(columns)

    to_pandas = to_pandas
    to_polars = to_polars


def bias_variance(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    n_sets: int = N_SETS,
    n_train: int | None = None,
    n_test: int = N_TEST,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> BiasVariance:
    """Fit a learner on many training sets, and split its error into bias, variance and noise.

    Parameters
    ----------
    estimator : a regressor (squared error) or classifier (0-1 loss)
    X : a `Simulation` of `committee.datasets`, or a table
    y : the target of the table; None for a simulation
    n_sets : training sets: fresh draws of the simulation, bootstrap samples of the table
    n_train : rows of a training set, default 100 of a simulation, all of a table
    n_test : rows of the simulation to judge on; a table is judged on the rows that a sample does not hold
    random_state : of the training sets, and of what the estimator leaves to chance
    n_jobs : fits side by side; it changes no result
    verbose : 1 shows a progress bar

    Examples
    --------
    >>> from committee import DecisionTreeRegressor
    >>> from committee.datasets import friedman1
    >>> found = bias_variance(DecisionTreeRegressor(), friedman1(), n_sets=20, random_state=0)
    >>> print(found.error, found.bias, found.variance, found.noise, sep="; ")
    16.2348 ± 0.4840; 4.3038 ± 0.3147; 10.9311 ± 0.5090; 1.0000 ± 0.0000
    """
    seeds = draw_seeds(random_state, n_sets)
    source = make_source(X, y, estimator, n_train=n_train, n_test=n_test, seed=int(seeds[0]))
    label = f"training sets, {type(estimator).__name__}"
    with progress(label, n_sets, verbose) as tick:
        return decompose(estimator, source, seeds[1:], n_jobs=n_jobs, tick=tick)


def decompose(
    estimator: Any,
    source: Source,
    seeds: NDArray[np.uint64],
    *,
    n_jobs: int | None = None,
    tick: Callable[[str], None] = lambda _: None,
    name: str | None = None,
) -> BiasVariance:
    """One fit for each seed: the seed makes the training set, and what the estimator leaves to chance."""
    threads = n_threads(n_jobs, 2**62)

    def turn(i: int, seed: int) -> NDArray[Any]:
        try:
            result = _prediction(estimator, source, seed, threads)
        except Exception as error:
            error.add_note(f"in training set {i + 1} of {len(seeds)}")
            raise
        tick("")
        return result

    with one_blas_thread():
        predictions = np.array(run(turn, [(i, int(seed)) for i, seed in enumerate(seeds)], threads))
    if source.task == "classification":
        result = decompose_zero_one(predictions, source.truth)
    else:
        result = decompose_squared_error(predictions, source.truth, 0.0 if source.noise is None else source.noise)
    return BiasVariance(type(estimator).__name__ if name is None else name, source, result, predictions)


# --- where training sets come from ------------------------------------------------------------------------------------


def make_source(X: Any, y: Any, estimator: Any, *, n_train: int | None, n_test: int, seed: int) -> Source:
    """Fresh draws of a simulation, or bootstrap samples of a table."""
    if n_train is not None and n_train < 2:
        raise ValueError(f"n_train must be at least 2; got {n_train}.")
    if isinstance(X, Simulation):
        if y is not None:
            raise ValueError("A simulation draws its own y: pass y=None, or a table and its y.")
        return _from_simulation(X, estimator, N_TRAIN if n_train is None else n_train, n_test, seed)
    if y is None:
        raise ValueError("y is missing: pass the target of the table, or a Simulation of committee.datasets.")
    return _from_table(X, y, estimator, n_train)


def _from_simulation(simulation: Simulation, estimator: Any, n_train: int, n_test: int, seed: int) -> Source:
    if task_of(estimator) != simulation.task:
        raise ValueError(
            f"{type(estimator).__name__} is for {task_of(estimator)}, the simulation {simulation.name!r} for "
            f"{simulation.task}: change one of them."
        )
    if n_test < 2:
        raise ValueError(f"n_test must be at least 2; got {n_test}.")
    rows = simulation.draw(n_test, np.random.default_rng(seed))

    def deal(rng: np.random.Generator) -> TrainingSet:
        X, y = simulation.sample(n_train, rng)
        return TrainingSet(X, y, None)

    return Source(simulation.name, simulation.task, deal, rows.X, rows.truth, rows.noise, n_train)


def _from_table(X: Any, y: Any, estimator: Any, n_train: int | None) -> Source:
    task = task_of(estimator)
    table = X if hasattr(X, "shape") else np.asarray(X)
    n = int(table.shape[0])
    target = read_targets_classification(y, n)[1] if task == "classification" else read_targets_regression(y, n)
    if target.ndim != 1:
        raise ValueError(f"y has {target.shape[1]} columns: pass one of them at a time.")
    n_draws = n if n_train is None else n_train

    def deal(rng: np.random.Generator) -> TrainingSet:
        drawn = rng.integers(0, n, n_draws)
        judged = np.ones(n, np.bool_)
        judged[drawn] = False
        return TrainingSet(take_rows(table, drawn), target[drawn], judged)

    return Source("bootstrap samples", task, deal, table, target, None, n_draws)


def task_of(estimator: Any) -> Task:
    """What the estimator predicts; an error for one that predicts neither classes nor numbers."""
    if is_classifier(estimator):
        return "classification"
    if is_regressor(estimator):
        return "regression"
    raise ValueError(f"{type(estimator).__name__} is neither a classifier nor a regressor: pass one of these.")


def as_mean(part: Part) -> Mean:
    return Mean(part.value, part.stderr)


def draw_seeds(random_state: RandomState, n_sets: int) -> NDArray[np.uint64]:
    """One for the rows that judge, and one for each training set."""
    if n_sets < 2:
        raise ValueError(f"n_sets must be at least 2, for there is no variance of one; got {n_sets}.")
    return member_seeds(random_state, n_sets + 1)


def _prediction(estimator: Any, source: Source, seed: int, threads: int) -> NDArray[Any]:
    """[n] answers of what one training set teaches; nan or -1 where it held the row."""
    rng = np.random.default_rng(seed)
    rows = source.deal(rng)
    member_seed = int(rng.integers(2**31))
    is_class = source.task == "classification"
    predictions = np.full(len(source.truth), -1 if is_class else np.nan)
    judged = np.arange(predictions.size) if rows.judged is None else np.flatnonzero(rows.judged)
    if is_class and np.all(rows.y == rows.y[0]):
        predictions[judged] = rows.y[0]  # one class only: there is nothing to learn, and most learners refuse it
    elif judged.size:
        model = seeded(estimator, member_seed, threads).fit(rows.X, rows.y)
        result = np.asarray(model.predict(source.X if rows.judged is None else take_rows(source.X, judged)))
        if result.size != judged.size:
            raise ValueError(
                f"{type(estimator).__name__} predicts the shape {result.shape}; one answer a row is needed."
            )
        predictions[judged] = result.ravel()
    return predictions.astype(np.int64) if is_class else predictions
