"""Ensembles that grow member by member: load, resume or start, extend, validate, stop, store.

`fit` of every such ensemble takes these steps:

    data = load(X, y, weights)             check and encode the training rows
    validation = load(X_val, y_val, ...)   the validation rows, or None
    run = the members of an earlier fit if warm_start, else none
    extend(run, rounds)                    round after round: record, validate, check the stopping rules
    store                                  assign all fitted attributes, at the end

In a block of `committee.checkpoint` the identity of the fit and the record of every round are kept too: a resumed fit
must have the same ones.

So a fit that fails or is interrupted leaves the estimator as it was: nothing is assigned before the last step. A
subclass gives the rounds of its algorithm as an iterator and the fitted attributes of the run; forests and gradient
boosting set them on a copy (`_fit_copy`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from committee.base.array_types import Floats
from committee.base.journal import open_stream
from committee.base.parameters import RANDOM_STATE, Estimator, fitted, param
from committee.base.progress import progress
from committee.base.rng import RandomState, member_seeds
from committee.ensemble.base import BaseEnsemble
from committee.ensemble.fit_identity import confirm_record, describe_fit
from committee.ensemble.sources import is_source, load_table
from committee.ensemble.stopping import Stopping
from committee.ensemble.warm_start import check_same_classes, check_same_columns
from committee.members.estimators import check_learner
from committee.sampling.splits import Split, hold_out, rows_to_split
from committee.tabular.schema import Columns
from committee.tabular.validation import (
    read_known_classes,
    read_one_target,
    read_table,
    read_targets_classification,
    read_training_table,
    read_weights,
)

ALL_ROUNDS = "all rounds were run"

MIN_WEIGHT = float(np.finfo(np.float64).tiny)
"""Fraction of the total weight below which a row counts as one without weight: dividing by smaller ones overflows."""


class TrainingData(NamedTuple):
    """The arguments of a fit, checked and encoded."""

    columns: Columns
    X: NDArray[np.floating]  # [n, d]
    target: NDArray[Any]  # codes of the classes, or values
    weight: Floats  # as given, 1 if none were
    classes: NDArray[Any] | None  # None for regression
    seed: int
    attributes: Mapping[str, Any]  # fitted attributes that describe the table and the target
    extra: Any = None  # further arguments of the fit

    def take(self, rows: NDArray[Any]) -> TrainingData:
        """Some of the rows."""
        return self._replace(X=self.X[rows], target=self.target[rows], weight=self.weight[rows])

    @property
    def labels(self) -> NDArray[Any]:
        """The target as passed by the user."""
        return self.target if self.classes is None else self.classes[self.target.astype(np.int64, copy=False)]

    @property
    def n_outputs(self) -> int:
        """Columns of a member's predictions: one per class, or a single one."""
        return 1 if self.classes is None else len(self.classes)

    @property
    def has_weight(self) -> NDArray[np.int64]:
        """The rows whose weight is above MIN_WEIGHT of the total."""
        return np.flatnonzero(self.weight / self.weight.sum() >= MIN_WEIGHT)


class ValidationSet(NamedTuple):
    """Rows that the members are not fitted on."""

    X: NDArray[np.floating]
    target: NDArray[Any]
    weight: Floats

    @classmethod
    def of(cls, data: TrainingData) -> ValidationSet:
        """Rows that were held out."""
        return cls(data.X, data.target, data.weight)


class GivenRows(NamedTuple):
    """Validation rows as passed by the user."""

    X_val: Any = None
    y_val: Any = None
    sample_weight_val: Any = None


def _load_given(given: GivenRows, target: str) -> GivenRows:
    """Validation rows that are read from files; their target is in the column `target`, unless y_val names another."""
    if given.X_val is None or not is_source(given.X_val):
        return given
    table = load_table(given.X_val, target if given.y_val is None else given.y_val, given.sample_weight_val)
    return GivenRows(*table)


class Round(Protocol):
    """One round of an algorithm."""

    @property
    def stop(self) -> str:
        """Why the algorithm stops after this round; empty if it does not."""
        ...


class Run:
    """Members, coefficients and records so far; they grow with every round."""

    def __init__(
        self,
        members: Sequence[Any] = (),
        coefficients: Sequence[float] = (),
        records: Sequence[Any] = (),
        stop: str = "",
    ) -> None:
        self.members, self.coefficients, self.records = list(members), list(coefficients), list(records)
        self.stop = stop  # why the algorithm stopped, empty if it did not

    def add(self, round_: Any, record: Any) -> None:
        """Append a round; a discarded hypothesis has no member."""
        self.stop = round_.stop
        if round_.member is not None:
            self.members.append(round_.member)
            self.coefficients.append(record.coefficient)
            self.records.append(record)


class BaseIncrementalEnsemble(Estimator):
    """An ensemble that grows member by member; a subclass gives the rounds and the fitted attributes."""

    warm_start: bool = param("boolean", default=False)
    random_state: RandomState = param(*RANDOM_STATE, default=None)
    verbose: int = param("verbose", default=0)
    columns_: Columns = fitted()
    n_features_in_: int = fitted()
    feature_names_in_: NDArray[Any] = fitted()
    _seed: int = fitted()
    _kind: ClassVar[Literal["classifier", "regressor"]]
    _optional_state: ClassVar[tuple[str, ...]] = ()  # private attributes that not every fit sets
    _warm_state: ClassVar[tuple[str, ...]] = ()  # attributes of the previous fit that `_fit_copy` continues

    # --- what a subclass gives ----------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        """Raise ValueError for parameters that contradict each other, or an invalid base estimator."""

    def _fit_rounds(self, data: TrainingData, validation: ValidationSet | None) -> dict[str, Any]:
        """Grow the members; return the fitted attributes by name."""
        raise NotImplementedError

    def _categorical(self) -> Any:
        """The parameter `categorical_features`."""
        return "from_dtype"

    def _check_table(self, table: NDArray[np.floating], columns: Columns) -> None:
        """Raise ValueError for values that the members do not take."""

    def _check_classes(self, classes: NDArray[Any]) -> None:
        """Raise ValueError for classes that the algorithm does not take."""

    # --- load ---------------------------------------------------------------------------------------------------------

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
        """Fit the ensemble.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            NumPy array, pandas, polars or Arrow table.
        y : array-like of shape (n_samples,)
            Class labels, or values in regression.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows. An integer weight w is equivalent to repeating the row w times.
        X_val, y_val, sample_weight_val : optional
            Rows to evaluate every round on.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight, GivenRows(X_val, y_val, sample_weight_val))

    def _fit(self, X: Any, y: Any, sample_weight: Any, given: GivenRows, extra: Any = None) -> Self:
        self._validate_params()
        self._check_parameters()
        if isinstance(y, str) and is_source(X):
            return self._fit_stream(X, y, sample_weight, _load_given(given, y), extra)
        data = self._load(X, y, sample_weight)._replace(extra=extra)
        validation = self._load_validation(data, given)
        open_stream().confirm(0, lambda: describe_fit(self, data, validation), type(self).__name__)
        self._store({**data.attributes, "_seed": data.seed, **self._fit_rounds(data, validation)})
        return self

    def _fit_stream(self, source: Any, y: str, sample_weight: str | None, given: GivenRows, extra: Any) -> Self:
        """Fit a table that is read from `source`; y and sample_weight are names of columns."""
        table = load_table(source, y, sample_weight)
        return self._fit(table.X, table.y, table.sample_weight, given, extra)

    def _is_continued(self) -> bool:
        """Whether the fit continues an earlier one."""
        return self.warm_start and hasattr(self, "_seed")

    def _load(self, X: Any, y: Any, sample_weight: Any) -> TrainingData:
        reader = self._reader({})
        columns, table = read_training_table(
            reader, X, categorical_features=self._categorical(), sample_weight=sample_weight
        )
        classes, target = self._read_target(y, len(table))
        self._check_table(table, columns)
        weight = read_weights(sample_weight, len(table))
        attributes = {"columns_": columns, **self._header(reader)}
        if classes is not None:
            attributes |= {"classes_": classes, "n_classes_": len(classes)}
        if self._is_continued():
            self._check_continued(columns, classes)
        seed = self._seed if self._is_continued() else int(member_seeds(self.random_state, 1)[0])
        weight = np.ones(len(table)) if weight is None else weight
        return TrainingData(columns, table, target, weight, classes, seed, attributes)

    def _reader(self, attributes: Mapping[str, Any]) -> Any:
        """A copy with the parameters and these attributes: scikit-learn's checks of tables set attributes on it."""
        reader = object.__new__(type(self))
        vars(reader).update(self.get_params(deep=False), **attributes)
        return reader

    def _header(self, reader: Any) -> dict[str, Any]:
        names = ("n_features_in_", "feature_names_in_")
        return {name: getattr(reader, name) for name in names if hasattr(reader, name)}

    def _read_target(self, y: Any, n_rows: int) -> tuple[NDArray[Any] | None, NDArray[Any]]:
        """The classes (None for regression) and the target as codes or values."""
        if self._kind == "regressor":
            return None, read_one_target(y, n_rows, type(self).__name__)
        classes, codes = read_targets_classification(y, n_rows)
        self._check_classes(classes)
        return classes, codes

    def _check_continued(self, columns: Columns, classes: NDArray[Any] | None) -> None:
        check_same_columns(self.columns_, columns)
        if classes is not None:
            check_same_classes(self.classes_, classes)  # type: ignore[attr-defined]

    def _load_validation(self, data: TrainingData, given: GivenRows) -> ValidationSet | None:
        """The validation rows passed by the user; None if there are none."""
        if all(each is None for each in given):
            return None
        if given.X_val is None or given.y_val is None:
            raise ValueError("Validation rows need both X_val and y_val: pass both, or neither.")
        table = read_table(self._reader(data.attributes), given.X_val)
        self._check_table(table, data.columns)
        target = self._read_validation_target(given.y_val, len(table), data)
        weight = read_weights(given.sample_weight_val, len(table), "sample_weight_val")
        return ValidationSet(table, target, np.ones(len(table)) if weight is None else weight)

    def _read_validation_target(self, y: Any, n_rows: int, data: TrainingData) -> NDArray[Any]:
        if data.classes is None:
            return self._read_target(y, n_rows)[1]
        return read_known_classes(y, n_rows, data.classes, "y_val")

    # --- extend, validate, stop ---------------------------------------------------------------------------------------

    def _extend(
        self,
        run: Run,
        rounds: Iterable[Any],
        measure: Callable[[Any], Any],
        stopping: Stopping,
        *,
        n_rounds: int,
        status: Callable[[Any], str],
    ) -> str:
        """Add rounds to the run, in place, until it stops; return the reason, empty after all rounds.

        `measure` returns the record of a round, `status` a short text of the record for the progress bar.
        """
        reason = stopping.replay(run.records) or run.stop
        stream = open_stream()
        with progress(type(self).__name__, n_rounds, self.verbose) as tick:
            for number, round_ in enumerate(rounds if not reason else (), 1):
                record = measure(round_)
                confirm_record(stream, number, record)
                tick(status(record))
                run.add(round_, record)
                reason = round_.stop or stopping.check(record)
                if reason:
                    break
        return reason

    # --- store --------------------------------------------------------------------------------------------------------

    def _fit_copy(self, data: TrainingData, fit: Callable[[Any], None]) -> dict[str, Any]:
        """Fitted attributes that a function sets on a copy, which has those of the data and of a continued fit."""
        continued = set(self._warm_state) & vars(self).keys() if self._is_continued() else set[str]()
        kept = {name: getattr(self, name) for name in continued}
        copy = self._reader({**kept, **data.attributes, "_seed": data.seed})
        fit(copy)
        parameters = self.get_params(deep=False)
        return {name: value for name, value in vars(copy).items() if name not in parameters}

    def _store(self, attributes: Mapping[str, Any]) -> None:
        """Assign the fitted attributes and delete others of an earlier fit."""
        public = {name for name in vars(self) if name.endswith("_") and not name.startswith("_")}
        for name in (public | (vars(self).keys() & set(self._optional_state))) - attributes.keys():
            delattr(self, name)
        for name, value in attributes.items():
            setattr(self, name, value)


def seeds_of_rounds(seed: int, n_done: int, n_wanted: int) -> list[int]:
    """Seeds of rounds n_done:n_wanted, which do not depend on `n_wanted`."""
    return np.random.SeedSequence(seed).generate_state(n_wanted + 1, np.uint64)[n_done + 1 :].tolist()


def hold_out_rows(data: TrainingData, fraction: float) -> Split:
    """Split off a random fraction of the rows for validation."""
    rows = rows_to_split(data.X, data.target, data.weight, is_class=data.classes is not None)
    result = hold_out(rows, fraction, data.seed)
    if result is None:
        raise ValueError(
            f"{len(data.X)} rows cannot be divided into training and validation rows: pass X_val and y_val, or "
            "early_stopping=None."
        )
    return result


class BaseIncrementalMetaEnsemble(BaseEnsemble, BaseIncrementalEnsemble):
    """An incremental ensemble whose members are fitted by `estimator`."""

    def _check_parameters(self) -> None:
        check_learner(self._weak(), self._kind)

    def _categorical(self) -> Any:
        return getattr(self._weak(), "categorical_features", "from_dtype")

    def _load(self, X: Any, y: Any, sample_weight: Any) -> TrainingData:
        data = super()._load(X, y, sample_weight)
        return data._replace(attributes={**data.attributes, "estimator_": clone(self._weak())})
