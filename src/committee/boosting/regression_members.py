"""What boosted regressors share: weak regressors, the running combination of members, reading, stopping, answering.

Trees of the engine are grown on a table that is coded once; any other regressor is fitted with sample weights where it
takes them and on a weighted resample where it does not (A-7). A resample is a count per row. It depends on the values
of the rows and not on their order, and a whole weight draws exactly as so many equal rows would.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from committee.base.columns import Columns, encode, open_table
from committee.base.fitting import all_or_nothing
from committee.base.progress import progress
from committee.base.rng import RandomState, member_seeds
from committee.base.validation import read_table, read_targets_regression, read_training_table, read_weights
from committee.data.ensemble import PackedTrees
from committee.data.history import History
from committee.parts.members import Answers, Guess, Member, TreeMember
from committee.parts.scoring import pack_members
from committee.parts.traversing import apply_tree
from committee.trees.decision_tree import (
    LARGEST_TARGET,
    SMALLEST_TARGET,
    BaseDecisionTree,
    DecisionTreeRegressor,
    Training,
)

Floats = NDArray[np.float64]
Update = Literal["resample", "reweight", "fixed"]
"""Learn from a sample drawn by the weights, under the weights, or under weights that never change."""

MOST_REPEATS = 100
"""A regressor that takes no weights sees rows repeated up to this often on average, beyond that a resample."""

MOST_DRAWS = 2**31
"""Whole weights up to this total count as rows of a resample."""

# ------------------------------------------------------------------------------------------------------ weak regressors


class Task:
    """The rows a booster learns from; `counts` are the user's weights, `weight` the same with sum one."""

    def __init__(self, columns: Columns, X: NDArray[np.floating], y: Floats, counts: Floats) -> None:
        self.columns, self.X, self.y, self.counts = columns, X, y, counts
        self.weight = counts / counts.sum()
        total = float(counts.sum())
        self.is_whole = bool(total <= MOST_DRAWS and np.array_equal(counts, np.rint(counts)))
        self.n_draws = round(total) if self.is_whole else counts.size


class WeakRegressor(Protocol):
    """Learns to predict a target under weights of any scale; the seed decides whatever is random in it."""

    def __call__(self, target: Floats, weight: Floats, seed: int) -> Guess: ...


class RegressorMember(NamedTuple):
    """A fitted scikit-learn regressor."""

    estimator: Any

    def answers(self, X: NDArray[np.floating], n_jobs: int | None = None) -> Answers:
        return np.asarray(self.estimator.predict(X), np.float64).reshape(len(X))


def make_regressor(estimator: Any, task: Task, *, update: Update, n_jobs: int | None) -> WeakRegressor:
    """The weak regressor for this estimator on these rows."""
    on_engine = isinstance(estimator, DecisionTreeRegressor) and estimator.ccp_alpha == 0.0
    if on_engine and estimator.criterion != "poisson":  # negative targets are for the tree itself to refuse
        learner = TreeRegression(estimator, task, n_jobs)
        return Resampling(learner, task) if update == "resample" else learner
    if update != "resample" and has_fit_parameter(estimator, "sample_weight"):
        return EstimatorRegression(estimator, task, takes_weights=True)
    learner = EstimatorRegression(estimator, task, takes_weights=False)
    can_repeat = update == "fixed" and task.is_whole and task.n_draws <= MOST_REPEATS * task.counts.size
    return learner if can_repeat else Resampling(learner, task)


class TreeRegression:
    """A regression tree of the engine."""

    def __init__(self, estimator: DecisionTreeRegressor, task: Task, n_jobs: int | None) -> None:
        prototype: Any = clone(estimator)
        prototype.set_params(n_jobs=estimator.n_jobs if n_jobs is None else n_jobs)
        self.training = Training(prototype, task.columns, task.X, task.y, task.counts)
        self.training.expect_many()
        self.n_jobs = prototype.n_jobs

    def __call__(self, target: Floats, weight: Floats, seed: int) -> Guess:
        self.training.target = target
        tree, leaf = self.training.grow_placed(weight, seed)
        rows = np.flatnonzero(leaf < 0)  # those the sample left out
        if rows.size:
            leaf[rows] = apply_tree(tree, self.training.X[rows], self.n_jobs)
        values = tree.value[:, 0].copy()
        return Guess(TreeMember(tree, values), values[leaf])


class EstimatorRegression:
    """Any scikit-learn regressor; without weights of its own it sees every row as often as its whole weight says."""

    def __init__(self, estimator: Any, task: Task, takes_weights: bool) -> None:
        self.estimator, self.task, self.takes_weights = estimator, task, takes_weights

    def __call__(self, target: Floats, weight: Floats, seed: int) -> Guess:
        fresh: Any = clone(self.estimator)
        seeds = {name: seed % (2**31 - 1) for name in fresh.get_params() if name.endswith("random_state")}
        fresh.set_params(**seeds)
        X = self.task.X
        if self.takes_weights:
            fresh.fit(X, target, sample_weight=weight * (self.task.n_draws / weight.sum()))
        else:
            rows = np.repeat(np.arange(weight.size), np.rint(weight).astype(np.int64))
            fresh.fit(X[rows], target[rows])
        member = RegressorMember(fresh)
        return Guess(member, member.answers(X))


class Resampling:
    """Another learner on a sample of rows drawn by weight, as whole counts."""

    def __init__(self, learner: WeakRegressor, task: Task) -> None:
        self.learner, self.n_draws = learner, task.n_draws
        self.order = content_order(task.X, task.y)

    def __call__(self, target: Floats, weight: Floats, seed: int) -> Guess:
        return self.learner(target, draw(weight, self.order, self.n_draws, seed), seed)


def content_order(X: NDArray[np.floating], y: Floats) -> NDArray[np.int64]:
    """Rows ordered by a hash of their values: equal rows stand side by side, wherever they stood before."""
    key = np.zeros(len(X), np.uint64)
    for column in (*X.T, y):
        values = np.where(np.isnan(column), np.nan, column.astype(np.float64) + 0.0)  # one nan, one zero
        key = (key ^ values.view(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(29)
    return np.argsort(key, kind="stable")


def draw(weight: Floats, order: NDArray[np.int64], n_draws: int, seed: int) -> Floats:
    """How often each row comes up in `n_draws` draws by weight.

    Sorted uniform numbers, made from exponential spacings, fall into the pieces of [0, 1] that the rows own:

        0 |--row 4--|-----row 0-----|-row 2-|---- ... ----| 1      rows in `order`, lengths by weight
               x          x  x                    x                counts 1, 2, 0, ...
    """
    spacings = np.cumsum(np.random.default_rng(seed).exponential(size=n_draws + 1))
    ends = np.cumsum(weight[order])
    n_below = np.searchsorted(spacings[:-1] / spacings[-1], ends / ends[-1], side="right")
    counts = np.empty(weight.size)
    counts[order] = np.diff(n_below, prepend=0)
    return counts


# ---------------------------------------------------------------------------------------------------------- combination

TIE = 1e-12
"""Cumulative weights within this share of one half have reached it: no rounding decides a tie."""


class Combination(Protocol):
    """The answer of the members so far to a set of rows."""

    value: Floats

    def add(self, answers: Answers, coefficient: float) -> None: ...


class RunningSum:
    """start + sum a h(x)."""

    def __init__(self, n_rows: int, start: float) -> None:
        self.value: Floats = np.full(n_rows, start)

    def add(self, answers: Answers, coefficient: float) -> None:
        self.value = self.value + coefficient * answers


class RunningMean:
    """sum a h(x) / sum a."""

    def __init__(self, n_rows: int) -> None:
        self.total, self.sums, self.value = 0.0, np.zeros(n_rows), np.zeros(n_rows)

    def add(self, answers: Answers, coefficient: float) -> None:
        self.total += coefficient
        self.sums = self.sums + coefficient * answers
        self.value = self.sums / self.total


class RunningMedian:
    """Weighted median of the members, kept up to date: a new member moves it to a neighbour at most places."""

    def __init__(self, n_rows: int, capacity: int = 16) -> None:
        self.answers = np.empty((n_rows, capacity))
        self.coefficients: list[float] = []
        self.value = np.zeros(n_rows)
        self.below, self.at = np.zeros(n_rows), np.zeros(n_rows)  # weight of smaller and of equal answers

    def add(self, answers: Answers, coefficient: float) -> None:
        n_held = len(self.coefficients)
        if n_held == self.answers.shape[1]:
            self.answers = np.hstack([self.answers, np.empty_like(self.answers)])
        self.answers[:, n_held] = answers
        self.coefficients.append(coefficient)
        if n_held == 0:
            self.value = np.array(answers, np.float64)
        self.below += np.where(answers < self.value, coefficient, 0.0)
        self.at += np.where(answers == self.value, coefficient, 0.0)
        half = (0.5 - TIE) * float(np.sum(self.coefficients))
        self._move(half, up=True)
        self._move(half, up=False)

    def _move(self, half: float, up: bool) -> None:
        """Step to the next larger or smaller answer where half the weight does not lie at the median."""
        c = np.array(self.coefficients)
        rows = np.flatnonzero(self.below + self.at < half if up else self.below >= half)
        while rows.size:
            held, value = self.answers[rows, : c.size], self.value[rows, np.newaxis]
            beyond = held > value if up else held < value
            value = np.where(beyond, held, np.inf).min(axis=1) if up else np.where(beyond, held, -np.inf).max(axis=1)
            at = (held == value[:, np.newaxis]) @ c
            below = self.below[rows] + self.at[rows] if up else self.below[rows] - at
            self.value[rows], self.below[rows], self.at[rows] = value, below, at
            rows = rows[below + at < half] if up else rows[below >= half]


class Untraced:
    """Stands in where following the combination would cost more than the fit: nan."""

    def __init__(self, n_rows: int) -> None:
        self.value = np.full(n_rows, np.nan)

    def add(self, answers: Answers, coefficient: float) -> None:
        pass


def weighted_median(answers: Floats, weight: Floats) -> Floats:
    """For each row of [n, T] the first answer, from the smallest up, at which the cumulative weight reaches half."""
    order = np.argsort(answers, axis=1, kind="stable")
    reached = np.cumsum(weight[order], axis=1) >= (0.5 - TIE) * weight.sum()
    rows = np.arange(len(answers))
    return answers[rows, order[rows, reached.argmax(axis=1)]]


def root_mean_square(residual: Floats, weight: Floats) -> float:
    """Of the residuals under weights that sum to one."""
    return float(np.sqrt(np.sum(weight * residual**2)))


def mean_absolute(residual: Floats, weight: Floats) -> float:
    """Of the residuals under weights that sum to one."""
    return float(np.sum(weight * np.abs(residual)))


# ------------------------------------------------------------------------------------------------------------- stopping


class Patience:
    """Remembers the round of the smallest validation error; an improvement counts from a share `tol` on."""

    def __init__(self, patience: int, tol: float, is_active: bool) -> None:
        self.patience, self.tol, self.is_active = patience, tol, is_active
        self.best_error, self.best_round = np.inf, 0

    def look(self, record: Any) -> str:
        """Why to stop after this round; empty to go on."""
        if record.validation_error < self.best_error * (1.0 - self.tol):
            self.best_error, self.best_round = record.validation_error, record.round
        if self.is_active and record.round - self.best_round >= self.patience:
            return f"the validation error has not improved for {self.patience} rounds"
        return ""


class Turn(NamedTuple):
    """One round of a booster: what it measured, its member unless that was discarded, and why to stop if so."""

    record: Any  # a named tuple with round, coefficient, train_error and validation_error
    member: Member | None
    stop: str = ""


class Past(NamedTuple):
    """Where a run stands; a warm start goes on from here. The weights are changed in place by a run."""

    weight: Floats
    members: list[Member]
    coefficients: list[float]
    records: list[Any]


class Judge(NamedTuple):
    """Rows that the booster does not learn from."""

    X: NDArray[np.floating]
    y: Floats
    weight: Floats


# ------------------------------------------------------------------------------------------------------------ estimator


class BaseRegressionBooster(RegressorMixin, BaseEstimator):
    """A boosted regressor; a subclass gives the rounds and the combination of the members.

    Fitted attributes: ``estimators_`` (the members), ``history_`` (one row per round), ``stop_reason_``,
    ``feature_importances_``.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0.0, None, closed="neither")],
        "early_stopping": [StrOptions({"validation"}), None],
        "validation_fraction": [Interval(Real, 0.0, 1.0, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0.0, 1.0, closed="left")],
        "warm_start": ["boolean"],
        "random_state": ["random_state", np.random.Generator],
        "n_jobs": [Interval(Integral, 1, None, closed="left"), Interval(Integral, None, -1, closed="right"), None],
        "verbose": ["verbose"],
    }

    if TYPE_CHECKING:
        estimator: Any
        n_estimators: int
        learning_rate: float
        early_stopping: Literal["validation"] | None
        validation_fraction: float
        n_iter_no_change: int
        tol: float
        warm_start: bool
        random_state: RandomState
        n_jobs: int | None
        verbose: int

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._takes_missing()
        return tags

    # --- what an algorithm chooses ------------------------------------------------------------------------------------

    def _update(self) -> Update:
        raise NotImplementedError

    def _begin(self, task: Task) -> None:
        """Fitted attributes that are known before the first round."""

    def _combination(self, n_rows: int) -> Combination:
        raise NotImplementedError

    def _rounds(self, learn: WeakRegressor, task: Task, past: Past, seeds: Sequence[int]) -> Iterator[Turn]:
        raise NotImplementedError

    def _validation_error(self, residual: Floats, weight: Floats) -> float:
        return root_mean_square(residual, weight)

    def _member_shares(self) -> Floats:
        """How much each member counts in the importances."""
        return self.coefficients_

    # --- fitting ------------------------------------------------------------------------------------------------------

    def _weak(self) -> Any:
        return DecisionTreeRegressor(max_depth=3) if self.estimator is None else self.estimator

    def _takes_missing(self) -> bool:
        weak = self._weak()
        if isinstance(weak, BaseDecisionTree):
            return True
        tags: Any = weak.__sklearn_tags__() if hasattr(weak, "__sklearn_tags__") else None
        return bool(tags is not None and tags.input_tags.allow_nan)

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: ArrayLike | None = None,
    ) -> Self:
        """Boost.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        y : numbers of shape (n_samples,)
        sample_weight : weights of the rows, optional; a whole weight counts as so many equal rows
        X_val, y_val, sample_weight_val : rows to judge every round on, optional
        """
        self._validate_params()
        with all_or_nothing(self):
            task, judge = self._read(X, y, sample_weight, X_val, y_val, sample_weight_val)
            self._run(task, judge)
        return self

    def _read(
        self, X: Any, y: Any, sample_weight: Any, X_val: Any, y_val: Any, sample_weight_val: Any
    ) -> tuple[Task, Judge | None]:
        categorical = getattr(self._weak(), "categorical_features", "from_dtype")
        columns, table = read_training_table(self, X, categorical_features=categorical, sample_weight=sample_weight)
        target = self._read_target(y, len(table))
        self._refuse_missing(table)
        weight = read_weights(sample_weight, len(table))
        weight = np.ones(len(table)) if weight is None else weight
        if not (self.warm_start and hasattr(self, "_entropy")):
            self._entropy = int(member_seeds(self.random_state, 1)[0])
        judge = None
        if X_val is not None:
            judge = self._given_judge(columns, X_val, y_val, sample_weight_val)
        elif self.early_stopping == "validation":
            train, test = self._hold_out(weight)
            judge = Judge(table[test], target[test], weight[test] / weight[test].sum())
            table, target, weight = table[train], target[train], weight[train]
        kept = np.flatnonzero(weight > 0)
        if kept.size < weight.size:
            table, target, weight = table[kept], target[kept], weight[kept]
        self.columns_ = columns
        return Task(columns, table, target, weight), judge

    def _read_target(self, y: Any, n_rows: int) -> Floats:
        target = read_targets_regression(y, n_rows)
        if target.ndim > 1:
            raise ValueError(
                f"y has {target.shape[1]} outputs, {type(self).__name__} takes one; wrap it in "
                "sklearn.multioutput.MultiOutputRegressor."
            )
        largest = float(np.abs(target).max())
        if largest > LARGEST_TARGET or 0.0 < largest < SMALLEST_TARGET:
            raise ValueError(
                f"The largest |y| is {largest:.3g}, too {'large' if largest > 1 else 'small'} for sums of squares in "
                "float64: divide y by a number of that size."
            )
        return target

    def _refuse_missing(self, table: NDArray[np.floating]) -> None:
        if not self._takes_missing() and np.isnan(table).any():
            raise ValueError(
                f"Input X contains NaN, which the base regressor {type(self._weak()).__name__} does not accept: fill "
                "the missing values in, or boost trees, which take them as they are."
            )

    def _given_judge(self, columns: Columns, X_val: Any, y_val: Any, sample_weight_val: Any) -> Judge:
        table = encode(columns, open_table(X_val, self))
        self._refuse_missing(table)
        target = self._read_target(y_val, len(table))
        weight = read_weights(sample_weight_val, len(table), "sample_weight_val")
        weight = np.ones(len(table)) if weight is None else weight
        return Judge(table, target, weight / weight.sum())

    def _hold_out(self, weight: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows to learn from and rows to judge on, by lot."""
        rows = np.random.default_rng(self._entropy).permutation(np.flatnonzero(weight > 0))
        n_test = max(1, round(self.validation_fraction * rows.size))
        if n_test >= rows.size:
            raise ValueError(
                f"{rows.size} rows cannot be divided into rows to learn from and rows to validate on: pass X_val and "
                "y_val, or early_stopping=None."
            )
        return np.sort(rows[n_test:]), np.sort(rows[:n_test])

    def _run(self, task: Task, judge: Judge | None) -> None:
        past = self._past(task)
        n_wanted, n_done = int(self.n_estimators), len(past.records)
        if n_wanted < n_done:
            raise ValueError(
                f"n_estimators={n_wanted} must be larger or equal to the {n_done} rounds that are there already when "
                "warm_start=True."
            )
        seeds = np.random.SeedSequence(self._entropy).generate_state(n_wanted + 1, np.uint64)[n_done + 1 :]
        self._begin(task)
        learn = make_regressor(self._weak(), task, update=self._update(), n_jobs=self.n_jobs)
        turns = self._rounds(learn, task, past, [int(seed) for seed in seeds])
        self._collect(turns, past, judge, n_wanted - n_done)

    def _past(self, task: Task) -> Past:
        """From the first round, or on from the last one of an earlier fit."""
        if not (self.warm_start and hasattr(self, "_state")):
            return Past(task.weight.copy(), [], [], [])
        past = self._state
        if past.weight.size != task.weight.size:
            raise ValueError(
                f"warm_start=True goes on with the same rows: the earlier fit had {past.weight.size}, X and y have "
                f"{task.weight.size}."
            )
        return Past(past.weight.copy(), past.members.copy(), past.coefficients.copy(), past.records.copy())

    def _replayed(self, past: Past, X: NDArray[np.floating], combined: Combination) -> Combination:
        """The combination after the members that are there already."""
        for member, coefficient in zip(past.members, past.coefficients, strict=True):
            combined.add(member.answers(X, self.n_jobs), coefficient)
        return combined

    def _collect(self, turns: Iterator[Turn], past: Past, judge: Judge | None, n_rounds: int) -> None:
        """Take rounds until the algorithm, the patience or their number ends the run, and keep what they brought."""
        judged = None if judge is None else self._replayed(past, judge.X, self._combination(len(judge.y)))
        patience = Patience(self.n_iter_no_change, self.tol, self.early_stopping == "validation")
        for record in past.records:
            patience.look(record)
        reason = ""
        with progress(type(self).__name__, n_rounds, self.verbose) as tick:
            for turn in turns:
                record = turn.record
                if judge is not None and judged is not None:
                    if turn.member is not None:
                        judged.add(turn.member.answers(judge.X, self.n_jobs), record.coefficient)
                    error = self._validation_error(judge.y - judged.value, judge.weight)
                    record = record._replace(validation_error=error)
                tick(f"training error {record.train_error:.4g}")
                if turn.member is not None:
                    past.members.append(turn.member)
                    past.coefficients.append(record.coefficient)
                if turn.member is not None or not turn.stop:
                    past.records.append(record)
                reason = turn.stop or patience.look(record)
                if reason:
                    break
        self._keep(past, reason or "all rounds were run", patience)

    def _keep(self, past: Past, reason: str, patience: Patience) -> None:
        n_kept = len(past.members)
        if self.early_stopping == "validation" and patience.best_round:
            n_kept = sum(r.round <= patience.best_round and r.coefficient != 0.0 for r in past.records)
        self.members_ = past.members[:n_kept]
        self.coefficients_ = np.array(past.coefficients[:n_kept])
        fields = self._record_fields()
        self.history_ = History({name: [getattr(record, name) for record in past.records] for name in fields})
        self.stop_reason_ = reason
        self._state = past
        self._packed: PackedTrees | None = None
        if n_kept:
            self._packed = pack_members(self.members_, past.coefficients[:n_kept], n_classes=2)
        if "perfect" in reason or ("no better" in reason and n_kept == 1):
            count = "1 member" if n_kept == 1 else f"{n_kept} members"
            warnings.warn(f"Boosting ended after {count}: {reason}.", ConvergenceWarning, stacklevel=6)

    def _record_fields(self) -> tuple[str, ...]:
        """The columns of ``history_``, there even when no round was kept."""
        raise NotImplementedError

    # --- what a fitted ensemble answers -------------------------------------------------------------------------------

    @property
    def estimators_(self) -> list[Any]:
        """The members as estimators of their own."""
        check_is_fitted(self, "members_")
        return [self._as_estimator(member) for member in self.members_]

    def _as_estimator(self, member: Member) -> Any:
        if not isinstance(member, TreeMember):
            return member.estimator  # type: ignore[attr-defined]
        tree: Any = clone(self._weak())
        tree.adopt(member.tree, self.columns_, {})
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(tree, name, getattr(self, name))
        return tree

    def _read_rows(self, X: Any) -> NDArray[np.floating]:
        check_is_fitted(self, "members_")
        table = read_table(self, X)
        self._refuse_missing(table)
        return table

    def staged_predict(self, X: Any) -> Iterator[Floats]:
        """`predict` of the first member, of the first two, and so on."""
        table = self._read_rows(X)
        combined = self._combination(len(table))
        for member, coefficient in zip(self.members_, self.coefficients_, strict=True):
            combined.add(member.answers(table, self.n_jobs), float(coefficient))
            yield combined.value.copy()

    def staged_score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Iterator[float]:
        """R^2 after every member."""
        from sklearn.metrics import r2_score

        for predicted in self.staged_predict(X):
            yield float(r2_score(y, predicted, sample_weight=sample_weight))

    @property
    def feature_importances_(self) -> Floats:
        """Impurity falls of the members' splits, averaged by how much each member counts, as shares of one."""
        check_is_fitted(self, "members_")
        by_member = [getattr(member, "feature_importances_", None) for member in self.estimators_]
        if any(importances is None for importances in by_member):
            raise AttributeError("The base regressor has no feature_importances_.")
        if not by_member:
            return np.zeros(self.columns_.n_features)
        total = self._member_shares() @ np.array(by_member)
        return total / total.sum() if total.sum() > 0.0 else total
