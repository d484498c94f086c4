"""Bias, variance and noise of an estimator, estimated from many training sets.

    error = bias + variance + noise       `theory/decomposition.py` has the parts of squared error and of the 0-1 loss

For a `Simulation` of `datasets/_generators.py`, whose truth is known, each training set is a new sample, and all models
are evaluated on the same rows with the mean and the noise of y at x instead of a random y: the sum is exact.

For a table, training sets are bootstrap samples of its rows, and a row is predicted by the models whose samples do not
contain it. Then

    - the noise is unknown and part of the bias (for the 0-1 loss also of the variance); for squared error by the same
      amount for every estimator, so that differences between estimators do not depend on it
    - a sample contains 63 % of the rows: the parts are those of a smaller table, and errors slightly too large
    - all samples come from one table: standard errors do not include the variation between tables
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
"""Training sets."""

N_TRAIN, N_TEST = 100, 1000
"""Training and test rows of a simulation."""


class TrainingSet(NamedTuple):
    """Training rows, and which of the test rows are not among them."""

    X: Any
    y: NDArray[Any]
    is_tested: NDArray[np.bool_] | None  # None for all


class Source(NamedTuple):
    """Generator of training sets, and the test rows."""

    name: str
    task: Task
    draw: Callable[[np.random.Generator], TrainingSet]
    X: Any  # [n, d]
    truth: Floats | NDArray[np.int64]  # [n] means, [n, K] probabilities; or y, numbers or codes [n]
    noise: Floats | None  # [n], None if unknown
    n_train: int


class BiasVariance(NamedTuple):
    """Decomposition of the error of an estimator over training sets.

    For squared error, `bias` is the squared bias; for the 0-1 loss, `variance` is the net variance (unbiased minus
    biased variance). `error`, `bias`, `variance` and `noise` are means with standard errors.

    Attributes
    ----------
    learner : str
        Name of the estimator.
    source : Source
        Training sets and test rows.
    decomposition : Decomposition
        The parts, row by row.
    predictions : ndarray of shape (n_sets, n_test)
        Predictions or class codes; NaN or -1 where the training set contains the row.
    """

    learner: str
    source: Source
    decomposition: Decomposition
    predictions: NDArray[Any]

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
        """NaN if it is unknown and part of the bias."""
        return self.part("noise") if self.source.noise is not None else Mean(np.nan, np.nan)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parts that can be estimated."""
        has_noise = self.source.noise is not None
        return tuple(name for name in self.decomposition.parts if has_noise or name not in ("noise", "best error"))

    def part(self, name: str) -> Mean:
        """A part by its name, with its standard error over training sets and rows."""
        return as_mean(self.find(name))

    def find(self, name: str) -> Part:
        """A part, row by row."""
        if name not in self.names:
            raise ValueError(f"No part {name!r}; available: {', '.join(self.names)}.")
        return self.decomposition.parts[name]

    @property
    def verdict(self) -> str:
        """Which part is larger, and what reduces it."""
        sets = f"over {self.decomposition.n_sets} training sets of {self.source.n_train} rows"
        parts = f"bias {self.bias}, variance {self.variance}"
        noise = f", noise {self.noise}" if self.source.noise is not None else "; the bias includes the noise"
        gap = self.variance.value - self.bias.value
        is_significant = abs(gap) > 2.0 * as_mean(self.find("variance").minus(self.find("bias"))).stderr
        larger = "bias and variance do not differ significantly"
        if is_significant and gap > 0.0:
            larger = "variance is the larger part: average more models, or use a simpler one"
        elif is_significant:
            advice = ": use boosting or a more flexible model" if self.source.noise is not None else ", or the noise"
            larger = f"bias is the larger part{advice}"
        return f"{self.learner}, {sets}: error {self.error} = {parts}{noise}; {larger}"

    def __str__(self) -> str:
        return self.verdict

    def to_table(self) -> ResultTable:
        """One row per part."""
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
    """Estimate bias, variance and noise of an estimator from many training sets.

    Parameters
    ----------
    estimator : estimator
        A regressor (squared error) or a classifier (0-1 loss).
    X : Simulation, or array or DataFrame of shape (n_samples, n_features)
        A simulation of `committee.datasets`, or a table.
    y : array of shape (n_samples,), default=None
        Target of the table; None for a simulation.
    n_sets : int, default=50
        Number of training sets: samples of the simulation, or bootstrap samples of the table.
    n_train : int, default=None
        Rows of a training set; None for 100 of a simulation and as many as the table has.
    n_test : int, default=1000
        Test rows of a simulation; rows of a table are tested if a training set does not contain them.
    random_state : int or Generator, default=None
        Seed of the training sets and of the estimator.
    n_jobs : int, default=None
        Number of threads; results do not depend on it.
    verbose : int, default=0
        1 shows a progress bar.

    Returns
    -------
    BiasVariance
        Error, bias, variance and noise with standard errors.

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
    """One fit for each seed, which determines the training set and the `random_state` of the estimator."""
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


# --- training sets ----------------------------------------------------------------------------------------------------


def make_source(X: Any, y: Any, estimator: Any, *, n_train: int | None, n_test: int, seed: int) -> Source:
    """Samples of a simulation, or bootstrap samples of a table."""
    if n_train is not None and n_train < 2:
        raise ValueError(f"n_train must be at least 2; got {n_train}.")
    if isinstance(X, Simulation):
        if y is not None:
            raise ValueError("y must be None for a simulation.")
        return _from_simulation(X, estimator, N_TRAIN if n_train is None else n_train, n_test, seed)
    if y is None:
        raise ValueError("y is missing: pass the target of the table, or a Simulation of committee.datasets.")
    return _from_table(X, y, estimator, n_train)


def _from_simulation(simulation: Simulation, estimator: Any, n_train: int, n_test: int, seed: int) -> Source:
    if task_of(estimator) != simulation.task:
        raise ValueError(
            f"{type(estimator).__name__} is for {task_of(estimator)}, but the simulation {simulation.name!r} is for "
            f"{simulation.task}."
        )
    if n_test < 2:
        raise ValueError(f"n_test must be at least 2; got {n_test}.")
    rows = simulation.draw(n_test, np.random.default_rng(seed))

    def draw(rng: np.random.Generator) -> TrainingSet:
        X, y = simulation.sample(n_train, rng)
        return TrainingSet(X, y, None)

    return Source(simulation.name, simulation.task, draw, rows.X, rows.truth, rows.noise, n_train)


def _from_table(X: Any, y: Any, estimator: Any, n_train: int | None) -> Source:
    task = task_of(estimator)
    table = X if hasattr(X, "shape") else np.asarray(X)
    n = int(table.shape[0])
    target = read_targets_classification(y, n)[1] if task == "classification" else read_targets_regression(y, n)
    if target.ndim != 1:
        raise ValueError(f"y has {target.shape[1]} columns: pass one of them at a time.")
    n_draws = n if n_train is None else n_train

    def draw(rng: np.random.Generator) -> TrainingSet:
        drawn = rng.integers(0, n, n_draws)
        is_tested = np.ones(n, np.bool_)
        is_tested[drawn] = False
        return TrainingSet(take_rows(table, drawn), target[drawn], is_tested)

    return Source("bootstrap samples", task, draw, table, target, None, n_draws)


def task_of(estimator: Any) -> Task:
    """The task of an estimator; raises an error if it is neither a classifier nor a regressor."""
    if is_classifier(estimator):
        return "classification"
    if is_regressor(estimator):
        return "regression"
    raise ValueError(f"{type(estimator).__name__} is neither a classifier nor a regressor: pass one of these.")


def as_mean(part: Part) -> Mean:
    return Mean(part.value, part.stderr)


def draw_seeds(random_state: RandomState, n_sets: int) -> NDArray[np.uint64]:
    """One seed for the test rows, and one for each training set."""
    if n_sets < 2:
        raise ValueError(f"n_sets must be at least 2; got {n_sets}.")
    return member_seeds(random_state, n_sets + 1)


def _prediction(estimator: Any, source: Source, seed: int, threads: int) -> NDArray[Any]:
    """Predictions [n] of a model of one training set; nan or -1 for rows that are not tested."""
    rng = np.random.default_rng(seed)
    rows = source.draw(rng)
    member_seed = int(rng.integers(2**31))
    is_class = source.task == "classification"
    predictions = np.full(len(source.truth), -1 if is_class else np.nan)
    tested = np.arange(predictions.size) if rows.is_tested is None else np.flatnonzero(rows.is_tested)
    if is_class and np.all(rows.y == rows.y[0]):
        predictions[tested] = rows.y[0]  # most estimators reject a single class
    elif tested.size:
        model = seeded(estimator, member_seed, threads).fit(rows.X, rows.y)
        result = np.asarray(model.predict(source.X if rows.is_tested is None else take_rows(source.X, tested)))
        if result.size != tested.size:
            raise ValueError(
                f"{type(estimator).__name__} predicts an array of shape {result.shape}; one value per row is needed."
            )
        predictions[tested] = result.ravel()
    return predictions.astype(np.int64) if is_class else predictions
