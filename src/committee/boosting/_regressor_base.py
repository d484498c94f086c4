"""What every boosted regressor shares: reading the data, running the rounds, stopping, answering for new rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin, clone
from sklearn.exceptions import ConvergenceWarning

from committee.base.array_types import Floats
from committee.base.parameters import (
    RANDOM_STATE,
    at_least,
    between,
    inner_fraction,
    one_of,
    param,
    positive,
)
from committee.base.prediction_only_error import kept_from_fit
from committee.base.progress import progress
from committee.base.rng import RandomState, member_seeds
from committee.base.stacklevel import level_of_caller
from committee.base.transaction import all_or_nothing
from committee.boosting._combinations import Combination, root_mean_square
from committee.boosting._weak_regressors import Task, WeakRegressor, Weighting, make_regressor
from committee.calibration.prediction_intervals import PredictionIntervals
from committee.ensemble.base import MIN_SHARE, BaseEnsemble
from committee.ensemble.warm_start import reject_other_rows
from committee.members.estimators import check_learner
from committee.members.member import Member
from committee.members.vote import pack_members
from committee.records.ensemble import PackedTrees
from committee.records.history import History
from committee.sampling.splits import Split, hold_out, rows_to_split
from committee.tabular.validation import read_one_target, read_training_table, read_weights
from committee.trees.decision_tree import DecisionTreeRegressor


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
    fingerprint: tuple[Any, ...]  # of the rows
    stop: str = ""  # why the algorithm ended the run, if it did


class Judge(NamedTuple):
    """Rows that the booster does not learn from."""

    X: NDArray[np.floating]
    y: Floats
    weight: Floats


class BaseRegressionBooster(RegressorMixin, PredictionIntervals, BaseEnsemble):
    """A boosted regressor; a subclass gives the rounds and the combination of the members.

    Fitted attributes: ``estimators_`` (the members), ``history_`` (one row per round), ``stop_reason_``,
    ``feature_importances_``.
    """

    n_estimators: int = param(at_least(1), default=100)
    learning_rate: float = param(positive, default=1.0)
    early_stopping: Literal["validation"] | None = param(one_of("validation"), None, default=None)
    validation_fraction: float = param(inner_fraction, default=0.1)
    n_iter_no_change: int = param(at_least(1), default=10)
    tol: float = param(between(0.0, 1.0, "left"), default=1e-4)
    warm_start: bool = param("boolean", default=False)
    random_state: RandomState = param(*RANDOM_STATE, default=None)
    verbose: int = param("verbose", default=0)

    # --- what an algorithm chooses ------------------------------------------------------------------------------------

    def _weighting(self) -> Weighting:
        raise NotImplementedError

    def _begin(self, task: Task) -> None:
        """Fitted attributes that are known before the first round."""

    def _combination(self, n_rows: int) -> Combination:
        raise NotImplementedError

    def _rounds(self, learn: WeakRegressor, task: Task, past: Past, seeds: Sequence[int]) -> Iterator[Turn]:
        raise NotImplementedError

    def _validation_error(self, residual: Floats, weight: Floats) -> float:
        return root_mean_square(residual, weight)

    def _default_estimator(self) -> Any:
        return DecisionTreeRegressor(max_depth=3)

    def _member_shares(self) -> Floats:
        return self.coefficients_

    # --- fitting ------------------------------------------------------------------------------------------------------

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
        check_learner(self._weak(), "regressor")
        with all_or_nothing(self):
            task, judge = self._read(X, y, sample_weight, X_val, y_val, sample_weight_val)
            self._run(task, judge)
        return self

    def _read(
        self, X: Any, y: Any, sample_weight: Any, X_val: Any, y_val: Any, sample_weight_val: Any
    ) -> tuple[Task, Judge | None]:
        self.estimator_ = clone(self._weak())
        categorical = getattr(self.estimator_, "categorical_features", "from_dtype")
        columns, table = read_training_table(self, X, categorical_features=categorical, sample_weight=sample_weight)
        target = self._read_target(y, len(table))
        self._reject_missing(table, columns)
        weight = read_weights(sample_weight, len(table))
        weight = np.ones(len(table)) if weight is None else weight
        if not (self.warm_start and hasattr(self, "_seed")):
            self._seed = int(member_seeds(self.random_state, 1)[0])
        judge = None
        self._set_columns(columns)
        if any(given is not None for given in (X_val, y_val, sample_weight_val)):
            judge = self._given_judge(X_val, y_val, sample_weight_val)
        elif self.early_stopping == "validation":
            train, test = self._hold_out(table, target, weight)
            judge = Judge(table[test], target[test], weight[test] / weight[test].sum())
            table, target, weight = table[train], target[train], weight[train]
        kept = np.flatnonzero(weight / weight.sum() >= MIN_SHARE)
        if kept.size < weight.size:
            table, target, weight = table[kept], target[kept], weight[kept]
        return Task(columns, table, target, weight), judge

    def _read_target(self, y: Any, n_rows: int) -> Floats:
        return read_one_target(y, n_rows, type(self).__name__)

    def _given_judge(self, X_val: Any, y_val: Any, sample_weight_val: Any) -> Judge:
        table = self._read_judged(X_val, y_val)
        target = self._read_target(y_val, len(table))
        weight = read_weights(sample_weight_val, len(table), "sample_weight_val")
        weight = np.ones(len(table)) if weight is None else weight
        return Judge(table, target, weight / weight.sum())

    def _hold_out(self, table: NDArray[np.floating], target: Floats, weight: Floats) -> Split:
        rows = rows_to_split(table, target, weight, is_class=False)
        result = hold_out(rows, self.validation_fraction, self._seed)
        if result is None:
            raise ValueError(
                f"{len(target)} rows cannot be divided into rows to learn from and rows to validate on: pass X_val and "
                "y_val, or early_stopping=None."
            )
        return result

    def _run(self, task: Task, judge: Judge | None) -> None:
        past = self._past(task)
        n_wanted, n_done = int(self.n_estimators), len(past.records)
        if n_wanted < n_done:
            raise ValueError(
                f"n_estimators={n_wanted} must be larger or equal to the {n_done} rounds that are there already when "
                "warm_start=True."
            )
        seeds = np.random.SeedSequence(self._seed).generate_state(n_wanted + 1, np.uint64)[n_done + 1 :]
        if not past.records:
            self._begin(task)
        learn = make_regressor(self._weak(), task, weighting=self._weighting(), n_jobs=self.n_jobs)
        turns = self._rounds(learn, task, past, [int(seed) for seed in seeds])
        self._collect(turns, past, judge, n_wanted - n_done)

    def _past(self, task: Task) -> Past:
        """From the first round, or on from the last one of an earlier fit."""
        if not (self.warm_start and hasattr(self, "members_")):
            return Past(task.weight.copy(), [], [], [], task.fingerprint())
        past: Past = kept_from_fit(self, "_state")
        reject_other_rows(past.weight.size, task.weight.size, past.fingerprint == task.fingerprint())
        return past._replace(
            weight=past.weight.copy(), members=past.members.copy(), coefficients=past.coefficients.copy(),
            records=past.records.copy(),
        )  # fmt: skip

    def _replayed(self, past: Past, X: NDArray[np.floating], combined: Combination) -> Combination:
        """The combination after the members that are there already."""
        for member, coefficient in zip(past.members, past.coefficients, strict=True):
            combined.add(member.predictions(X, self.n_jobs), coefficient)
        return combined

    def _collect(self, turns: Iterator[Turn], past: Past, judge: Judge | None, n_rounds: int) -> None:
        """Take rounds until the algorithm, the patience or their number ends the run, and keep what they brought."""
        judged = None if judge is None else self._replayed(past, judge.X, self._combination(len(judge.y)))
        patience = Patience(self.n_iter_no_change, self.tol, self.early_stopping == "validation")
        reason = stop = past.stop
        for record in past.records:
            reason = patience.look(record) or past.stop
        with progress(type(self).__name__, n_rounds, self.verbose) as tick:
            for turn in turns if not reason else ():
                record = turn.record
                if judge is not None and judged is not None:
                    if turn.member is not None:
                        judged.add(turn.member.predictions(judge.X, self.n_jobs), record.coefficient)
                    error = self._validation_error(judge.y - judged.value, judge.weight)
                    record = record._replace(validation_error=error)
                tick(f"training error {record.train_error:.4g}")
                if turn.member is not None:
                    past.members.append(turn.member)
                    past.coefficients.append(record.coefficient)
                if turn.member is not None or not turn.stop:
                    past.records.append(record)
                stop = turn.stop
                reason = turn.stop or patience.look(record)
                if reason:
                    break
        self._keep(past._replace(stop=stop), reason or "all rounds were run", patience)

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
            warnings.warn(f"Boosting ended after {count}: {reason}.", ConvergenceWarning, stacklevel=level_of_caller())

    def _record_fields(self) -> tuple[str, ...]:
        """The columns of ``history_``, there even when no round was kept."""
        raise NotImplementedError

    # --- what a fitted ensemble answers -------------------------------------------------------------------------------

    def staged_predict(self, X: Any) -> Iterator[Floats]:
        """`predict` of the first member, of the first two, and so on."""
        table = self._read_rows(X)
        combined = self._combination(len(table))
        for member, coefficient in zip(self.members_, self.coefficients_, strict=True):
            combined.add(member.predictions(table, self.n_jobs), float(coefficient))
            yield combined.value.copy()

    def staged_score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Iterator[float]:
        """R^2 after every member."""
        from sklearn.metrics import r2_score

        for predicted in self.staged_predict(X):
            yield float(r2_score(y, predicted, sample_weight=sample_weight))
