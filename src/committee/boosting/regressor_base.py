"""Base class of boosted regressors: the rows, the rounds, early stopping and warm starts, predictions."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import HasMethods

from committee.base.array_types import Floats
from committee.base.parameters import at_least, between, fitted, inner_fraction, one_of, param, positive
from committee.base.stacklevel import level_of_caller
from committee.boosting._combinations import Combination, root_mean_square
from committee.boosting._weak_regressors import TrainingRows, WeakRegressor, Weighting, make_regressor
from committee.calibration.prediction_intervals import PredictionIntervals
from committee.ensemble.incremental import (
    ALL_ROUNDS,
    BaseIncrementalMetaEnsemble,
    Run,
    TrainingData,
    ValidationSet,
    hold_out_rows,
    seeds_of_rounds,
)
from committee.ensemble.stopping import Patience, Stopping
from committee.ensemble.warm_start import check_n_estimators, resume
from committee.members.member import Member
from committee.members.vote import pack_members
from committee.records.ensemble import PackedTrees
from committee.records.history import History
from committee.trees.decision_tree import DecisionTreeRegressor


class Turn(NamedTuple):
    """The result of one round: its record, the member unless discarded, and a reason to stop, if any."""

    record: Any  # a named tuple with round, coefficient, train_error and validation_error
    member: Member | None
    stop: str = ""


class State(NamedTuple):
    """The state after a round, from which a warm start continues; a run changes the weights in place."""

    weight: Floats
    members: tuple[Member, ...]
    coefficients: tuple[float, ...]
    records: tuple[Any, ...]
    fingerprint: tuple[Any, ...]  # of the rows
    stop: str = ""  # why the algorithm ended the run, if it did


class RegressionRun(Run):
    """A run that keeps the records of discarded members, unless they end it."""

    def add(self, round_: Turn, record: Any) -> None:
        if round_.member is None and not round_.stop:
            self.records.append(record)
        super().add(round_, record)


class BaseRegressionBooster(RegressorMixin, PredictionIntervals, BaseIncrementalMetaEnsemble):
    """Base class of boosted regressors; a subclass gives the rounds and the combination of the members."""

    estimator: Any = param(
        HasMethods(["fit", "predict"]),
        None,
        default=None,
        kw_only=False,
        doc="The base regressor: a tree of this library or any regressor with `fit` and `predict`. None is "
        "`DecisionTreeRegressor(max_depth=3)`.",
    )
    n_estimators: int = param(at_least(1), default=100, doc="Maximum number of rounds.")
    learning_rate: float = param(positive, default=1.0)
    early_stopping: Literal["validation"] | None = param(
        one_of("validation"),
        None,
        default=None,
        doc='"validation" evaluates every round on X_val, y_val or on held-out rows, and keeps the members up to the '
        "best round.",
    )
    validation_fraction: float = param(inner_fraction, default=0.1)
    n_iter_no_change: int = param(at_least(1), default=10)
    tol: float = param(
        between(0.0, 1.0, "left"),
        default=1e-4,
        doc="Fraction by which the validation error must decrease to count as better.",
    )
    coefficients_: Floats = fitted(doc="Coefficients of the members in the combination.")
    history_: History = fitted()
    stop_reason_: str = fitted()
    _packed: PackedTrees | None = fitted()
    _state: State = fitted()
    _kind = "regressor"

    # --- hooks of the subclasses --------------------------------------------------------------------------------------

    def _weighting(self) -> Weighting:
        raise NotImplementedError

    def _settings(self, rows: TrainingRows) -> dict[str, Any]:
        """Fitted attributes that are set before the first round."""
        return {}

    def _combination(self, n_rows: int, start: float) -> Combination:
        raise NotImplementedError

    def _rounds(
        self, weak_learner: WeakRegressor, rows: TrainingRows, state: State, seeds: Sequence[int], start: float
    ) -> Iterator[Turn]:
        raise NotImplementedError

    def _validation_error(self, residual: Floats, weight: Floats) -> float:
        return root_mean_square(residual, weight)

    def _default_estimator(self) -> Any:
        return DecisionTreeRegressor(max_depth=3)

    def _member_weights(self) -> Floats:
        return self.coefficients_

    # --- fitting ------------------------------------------------------------------------------------------------------

    def _fit_rounds(self, data: TrainingData, validation: ValidationSet | None) -> dict[str, Any]:
        if validation is None and self.early_stopping == "validation":
            split = hold_out_rows(data, self.validation_fraction)
            data, validation = data.take(split.train), ValidationSet.of(data.take(split.test))
        kept = data.has_weight
        data = data.take(kept) if kept.size < len(data.X) else data
        rows = TrainingRows(data.columns, data.X, data.target, data.weight)
        state = resume(self, State(rows.weight.copy(), (), (), (), rows.fingerprint()))
        settings = self._settings(rows)
        start = settings.get("init_", 0.0)
        run = RegressionRun(state.members, state.coefficients, state.records, state.stop)
        n_wanted, n_done = int(self.n_estimators), len(run.records)
        check_n_estimators(n_wanted, n_done)
        weak_learner = make_regressor(self._weak(), rows, weighting=self._weighting(), n_jobs=self.n_jobs)
        patience = Patience(
            self.n_iter_no_change, self.tol, tol_of="best", is_active=self.early_stopping == "validation"
        )
        reason = self._extend(
            run,
            self._rounds(weak_learner, rows, state, seeds_of_rounds(data.seed, n_done, n_wanted), start),
            self._validated_by(validation, state, start),
            Stopping(patience),
            n_rounds=n_wanted - n_done,
            status=lambda record: f"training error {record.train_error:.4g}",
        )
        state = state._replace(
            members=tuple(run.members), coefficients=tuple(run.coefficients), records=tuple(run.records), stop=run.stop
        )
        return {**settings, **self._attributes(state, reason or ALL_ROUNDS, patience)}

    def _combine(self, state: State, X: NDArray[np.floating], start: float) -> Combination:
        """Combine the predictions of the members so far."""
        combined = self._combination(len(X), start)
        for member, coefficient in zip(state.members, state.coefficients, strict=True):
            combined.add(member.predictions(X, self.n_jobs), coefficient)
        return combined

    def _validated_by(self, validation: ValidationSet | None, state: State, start: float) -> Callable[[Turn], Any]:
        """Return a function from a round to its record with the validation error."""
        if validation is None:
            return lambda turn: turn.record
        combined, weight = self._combine(state, validation.X, start), validation.weight / validation.weight.sum()

        def record(turn: Turn) -> Any:
            if turn.member is not None:
                combined.add(turn.member.predictions(validation.X, self.n_jobs), turn.record.coefficient)
            error = self._validation_error(validation.target - combined.value, weight)
            return turn.record._replace(validation_error=error)

        return record

    def _attributes(self, state: State, reason: str, patience: Patience) -> dict[str, Any]:
        """The members up to the best round, or all of them, and the history."""
        n_kept = len(state.members)
        if self.early_stopping == "validation" and patience.best_round:
            n_kept = sum(r.round <= patience.best_round and r.coefficient != 0.0 for r in state.records)
        members, coefficients = list(state.members[:n_kept]), state.coefficients[:n_kept]
        if "perfect" in reason or ("no better" in reason and n_kept == 1):
            count = "1 member" if n_kept == 1 else f"{n_kept} members"
            warnings.warn(f"Boosting ended after {count}: {reason}.", ConvergenceWarning, stacklevel=level_of_caller())
        fields = self._record_fields()
        return {
            "members_": members,
            "coefficients_": np.array(coefficients),
            "history_": History({name: [getattr(record, name) for record in state.records] for name in fields}),
            "stop_reason_": reason,
            "_packed": pack_members(members, coefficients, n_classes=2) if n_kept else None,
            "_state": state,
        }

    def _record_fields(self) -> tuple[str, ...]:
        """The columns of `history_`."""
        raise NotImplementedError

    # --- predictions -----------------------------------------------------------------------------------------------

    def staged_predict(self, X: Any) -> Iterator[Floats]:
        """Yield the predictions after each member."""
        table = self._read_rows(X)
        combined = self._combination(len(table), getattr(self, "init_", 0.0))
        for member, coefficient in zip(self.members_, self.coefficients_, strict=True):
            combined.add(member.predictions(table, self.n_jobs), float(coefficient))
            yield combined.value.copy()

    def staged_score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Iterator[float]:
        """Yield R^2 after each member."""
        from sklearn.metrics import r2_score

        for predicted in self.staged_predict(X):
            yield float(r2_score(y, predicted, sample_weight=sample_weight))
