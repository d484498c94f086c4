"""Base classes of online ensembles: read rows of a stream, predict them, then fit on them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import config_context
from sklearn.base import clone
from sklearn.utils._param_validation import HasMethods

from committee.base.array_types import Floats
from committee.base.parameters import RANDOM_STATE, at_least, fitted, fixed, param
from committee.base.rng import RandomState, member_seeds
from committee.base.transaction import all_or_nothing
from committee.ensemble.base import BaseEnsemble
from committee.ensemble.prequential import RECORD_ROWS, Prequential, Record
from committee.members.estimators import check_learner
from committee.members.member import Member
from committee.members.online import OnlineMember, reject_offline
from committee.records.history import History
from committee.sampling.resampling import are_whole
from committee.tabular.identity import distinct_rows
from committee.tabular.validation import (
    read_one_target,
    read_table,
    read_targets_classification,
    read_training_table,
    read_weights,
)

FIRST_ROWS = 20
"""Size of the first piece of a table without `batch_size`; later a piece is a tenth of the rows before it."""


class Rows(NamedTuple):
    """Rows of the stream. `target` is what members are fitted to, `codes` are the class codes (empty in regression)."""

    X: Floats  # [n, d]
    target: NDArray[Any]  # [n]
    codes: NDArray[np.int64]
    weight: Floats  # [n], > 0

    def take(self, rows: Any) -> Rows:
        codes = self.codes[rows] if self.codes.size else self.codes
        return Rows(self.X[rows], self.target[rows], codes, self.weight[rows])


def without_order(rows: Rows) -> Rows:
    """Sort the rows of a table by their values and merge equal rows, summing their weights.

    So an integer weight is exactly equivalent to repeated rows. Other weights are divided by their mean.
    """
    target = rows.codes.astype(np.float64) if rows.codes.size else rows.target
    distinct = distinct_rows(rows.X, target)
    weight = rows.weight if are_whole(rows.weight) else rows.weight / rows.weight.mean()
    return rows.take(distinct.first)._replace(weight=distinct.total(weight))


def pieces(n_before: int, n: int, batch_size: int) -> Iterator[slice]:
    """Slices of n new rows, cut where the number of rows in the stream is a multiple of the batch size."""
    cuts = [0, *range(batch_size - n_before % batch_size, n, batch_size), n]
    yield from (slice(start, end) for start, end in pairwise(cuts))


def growing_pieces(n: int) -> Iterator[slice]:
    """Slices of a whole table: a row is predicted by members fitted on at least nine tenths of the rows before it.

    >>> [piece.stop for piece in growing_pieces(300)][8:]
    [180, 200, 220, 242, 266, 292, 300]
    """
    start = 0
    while start < n:
        end = min(start + max(FIRST_ROWS, start // 10), n)
        yield slice(start, end)
        start = end


class BaseOnlineEnsemble(BaseEnsemble):
    """Members fitted row after row; a subclass updates them and combines their predictions."""

    estimator: Any = param(
        HasMethods(["partial_fit", "predict"]),
        None,
        default=None,
        kw_only=False,
        doc="Base estimator with `partial_fit`; one whose `partial_fit` takes no `sample_weight` is fitted on repeated "
        "rows. None is logistic regression by `SGDClassifier`, or `SGDRegressor(shuffle=False)`, for columns of "
        "similar scale.",
    )
    n_estimators: int = param(at_least(1), default=10, doc="Number of members.")
    n_jobs: int | None = fixed(None)
    batch_size: int | None = param(
        at_least(1),
        None,
        default=None,
        doc="Number of rows that are predicted, then fitted on, at a time; 1 goes row by row. None takes the rows of a "
        "call of `partial_fit` together, and of the table of `fit` 20 rows at first, then a tenth of those before.",
    )
    random_state: RandomState = param(*RANDOM_STATE, default=None)
    n_seen_: int = fitted(doc="Number of rows of the stream so far.")
    prequential_error_: float = fitted(
        doc="Mean loss of the ensemble over the stream, each row predicted before it was fitted on: the zero-one loss "
        "of a classifier, the squared error of a regressor."
    )
    _kind: ClassVar[Literal["classifier", "regressor"]]

    # --- what a subclass gives ----------------------------------------------------------------------------------------

    def _update_members(self, members: Sequence[OnlineMember], rows: Rows, n_before: int) -> None:
        """Fit the members, in place, on rows that come after `n_before` others."""
        raise NotImplementedError

    def _losses(self, members: Sequence[OnlineMember], rows: Rows) -> Floats:
        """Losses of the ensemble and of every member, [1 + members, n]; nan where there is no prediction yet."""
        raise NotImplementedError

    def _new_member(self, seed: int) -> OnlineMember:
        return OnlineMember(self.estimator_, seed)

    def _set_classes_of(self, y: Any, n_rows: int) -> None:
        """Set the classes of a table, for a classifier."""

    def _set_classes_of_stream(self, classes: Any, is_first: bool) -> None:
        """Set the classes of the stream, for a classifier."""

    def _read_target(self, y: Any, X: Floats, weight: Floats) -> Rows:
        """The rows with their targets; the classes are set by now."""
        raise NotImplementedError

    def _record(self, members: Sequence[OnlineMember], record: Record) -> NamedTuple:
        """A row of the history, from the prequential errors and the members by now."""
        return record

    def _online_members(self) -> list[OnlineMember]:
        return [member for member in self.members_ if isinstance(member, OnlineMember)]

    def _read_floats(self, X: Any) -> Floats:
        """A table to predict, in the form in which members are fitted."""
        return np.ascontiguousarray(self._read_rows(X), np.float64)

    # --- fitting ------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit new members in one pass over a table, in an order that depends only on the values of the rows.

        Equal rows are merged, and weights that are not integers are divided by their mean. For rows whose order has a
        meaning use `partial_fit`.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            NumPy array, pandas, polars or Arrow table.
        y : array-like of shape (n_samples,)
            Class labels, or values in regression.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows. An integer weight w is equivalent to repeating the row w times.

        Returns
        -------
        self
        """
        self._check()
        with all_or_nothing(self):
            table = self._begin(X, sample_weight)
            self._set_classes_of(y, len(table))
            rows = without_order(self._rows(table, y, sample_weight))
            self._start()
            n, size = len(rows.X), self.batch_size
            self._fit_pieces(rows, growing_pieces(n) if size is None else pieces(0, n, size))
        return self

    def _partial_fit(self, X: Any, y: Any, sample_weight: ArrayLike | None, classes: Any = None) -> Self:
        """Fit on the next rows of the stream, together or in batches."""
        self._check()
        with all_or_nothing(self):
            is_first = not hasattr(self, "members_")
            self._set_classes_of_stream(classes, is_first)
            table = self._begin(X, sample_weight) if is_first else np.ascontiguousarray(read_table(self, X), np.float64)
            rows = self._rows(table, y, sample_weight)
            if is_first:
                self._start()
            n, size = len(rows.X), self.batch_size
            self._fit_pieces(rows, [slice(0, n)] if size is None else pieces(self.n_seen_, n, size))
        return self

    def _begin(self, X: Any, sample_weight: Any) -> Floats:
        """Read the first table of the stream."""
        estimator: Any = clone(self._weak())
        self.estimator_ = estimator
        columns, table = read_training_table(self, X, categorical_features=None, sample_weight=sample_weight)
        self.columns_ = columns
        return np.ascontiguousarray(table, np.float64)

    def _start(self) -> None:
        """Start with unfitted members."""
        seeds = member_seeds(self.random_state, self.n_estimators)
        members: list[Member] = [self._new_member(int(seed)) for seed in seeds]
        self.members_ = members
        self.n_seen_, self._prequential, self._records = 0, Prequential(self.n_estimators), []

    def _rows(self, table: Floats, y: Any, sample_weight: Any) -> Rows:
        """The rows of positive weight."""
        self._check_table(table, self.columns_, self.estimator_)
        weight = read_weights(sample_weight, len(table))
        rows = self._read_target(y, table, np.ones(len(table)) if weight is None else weight)
        return rows if weight is None else rows.take(weight > 0.0)

    def _fit_pieces(self, rows: Rows, cuts: Iterable[slice]) -> None:
        """Predict and fit on one piece after the other; an error or an interrupt leaves the ensemble as it was."""
        members, prequential = [member.copy() for member in self._online_members()], self._prequential.copy()
        records: list[NamedTuple] = []
        n_seen = self.n_seen_
        with config_context(assume_finite=True, skip_parameter_validation=True):  # the rows have been checked
            for piece in cuts:
                some = rows.take(piece)
                ended = prequential.update(self._losses(members, some), some.weight, n_seen)
                self._update_members(members, some, n_seen)
                records.extend(self._record(members, record) for record in ended)
                n_seen += len(some.X)
        self.members_, self.n_seen_, self._prequential = list[Member](members), n_seen, prequential
        self.prequential_error_ = prequential.error
        self._records.extend(records)

    @property
    def history_(self) -> History:
        """Prequential errors: one row for every 100 rows of the stream, the last one perhaps for fewer.

        The columns are the number of rows so far, the error on the last 100 rows and on all rows so far, and the error
        of every member.
        """
        if not hasattr(self, "_records"):
            raise AttributeError(f"This {type(self).__name__} is not fitted yet: call fit or partial_fit first.")
        is_open = self.n_seen_ % RECORD_ROWS > 0
        last = [self._record(self._online_members(), self._prequential.record(self.n_seen_))] if is_open else []
        return History.from_records(self._records + last)

    def _check(self) -> None:
        self._validate_params()
        check_learner(self._weak(), self._kind)
        reject_offline(self._weak())

    def _member_weights(self) -> Floats:
        return np.ones(len(self.members_))


def _read_classes(classes: ArrayLike) -> NDArray[Any]:
    """The distinct labels in ascending order."""
    n_labels = np.size(classes) if np.ndim(classes) == 1 else 0  # type: ignore[arg-type]
    if not n_labels:
        raise ValueError(f"classes must list the labels of the stream, got {classes!r}.")
    return read_targets_classification(classes, n_labels)[0]


class BaseOnlineClassifier(BaseOnlineEnsemble):
    """Base class of online classifiers, whose classes are set before the first row."""

    classes_: NDArray[Any] = fitted()
    n_classes_: int = fitted()
    _kind = "classifier"

    def partial_fit(
        self, X: Any, y: Any, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit on the next rows of the stream, in their order.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            NumPy array, pandas, polars or Arrow table.
        y : array-like of shape (n_samples,)
            Class labels.
        classes : array-like of shape (n_classes,), optional
            All labels of the stream; required in the first call.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows. An integer weight w is equivalent to repeating the row w times.

        Returns
        -------
        self
        """
        return self._partial_fit(X, y, sample_weight, classes)

    def _set_classes_of(self, y: Any, n_rows: int) -> None:
        self.classes_ = read_targets_classification(y, n_rows)[0]
        self.n_classes_ = len(self.classes_)

    def _set_classes_of_stream(self, classes: Any, is_first: bool) -> None:
        if classes is None:
            if is_first:
                raise ValueError("classes must be passed on the first call to partial_fit: later rows may have more.")
            return
        labels = _read_classes(classes)
        if not is_first and not np.array_equal(labels, self.classes_):
            raise ValueError(
                f"classes={labels[:5].tolist()} is not the same as on the last call to partial_fit, "
                f"{self.classes_[:5].tolist()}: leave it out, or fit a new model."
            )
        self.classes_, self.n_classes_ = labels, len(labels)

    def _new_member(self, seed: int) -> OnlineMember:
        return OnlineMember(self.estimator_, seed, self.classes_)

    def _read_target(self, y: Any, X: Floats, weight: Floats) -> Rows:
        labels, codes = read_targets_classification(y, len(X))
        known = set(self.classes_.tolist())
        unknown = [label for label in labels.tolist() if label not in known]
        if unknown:
            raise ValueError(
                f"y has labels that are not among the classes of the stream: {unknown[:5]}. Pass all classes in the "
                "first call to partial_fit."
            )
        codes = np.searchsorted(self.classes_, labels)[codes].astype(np.int64)
        return Rows(X, self.classes_[codes], codes, weight)

    def _votes(self, members: Sequence[OnlineMember], X: Floats) -> tuple[Floats, NDArray[np.int64]]:
        """Votes for the classes [n, classes], 0 without a fitted member, and the members' class codes [members, n]."""
        raise NotImplementedError

    def _losses(self, members: Sequence[OnlineMember], rows: Rows) -> Floats:
        votes, predictions = self._votes(members, rows.X)
        combined = np.where(votes.any(axis=1), votes.argmax(axis=1), -1)
        codes = np.vstack([combined, predictions])
        return np.where(codes < 0, np.nan, codes != rows.codes)

    def predict_proba(self, X: Any) -> Floats:
        """Fractions of the members' votes for each class [n, classes]; all equal before a member is fitted."""
        table = self._read_floats(X)
        votes = self._votes(self._online_members(), table)[0]
        total = votes.sum(axis=1, keepdims=True)
        return np.where(total > 0.0, votes / np.where(total > 0.0, total, 1.0), 1.0 / self.n_classes_)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of the largest vote; of a tie the first one."""
        codes = self.predict_proba(X).argmax(axis=1)
        return self.classes_[codes]


class BaseOnlineRegressor(BaseOnlineEnsemble):
    """Base class of online regressors."""

    _kind = "regressor"

    def partial_fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit on the next rows of the stream, in their order.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            NumPy array, pandas, polars or Arrow table.
        y : array-like of shape (n_samples,)
            Target values.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows. An integer weight w is equivalent to repeating the row w times.

        Returns
        -------
        self
        """
        return self._partial_fit(X, y, sample_weight)

    def _read_target(self, y: Any, X: Floats, weight: Floats) -> Rows:
        target = read_one_target(y, len(X), type(self).__name__)
        return Rows(X, target, np.empty(0, np.int64), weight)
