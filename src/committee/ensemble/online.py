"""What ensembles that learn from a stream share: reading its pieces, judging before learning, going on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Self

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
"""Of a table that is learned once through without a `batch_size`; later a piece is a tenth of the rows before it."""


class Rows(NamedTuple):
    """A piece of the stream. `target` is what members learn, `codes` the classes as numbers (empty in regression)."""

    X: Floats  # [n, d]
    target: NDArray[Any]  # [n]
    codes: NDArray[np.int64]
    weight: Floats  # [n], > 0

    def take(self, rows: Any) -> Rows:
        codes = self.codes[rows] if self.codes.size else self.codes
        return Rows(self.X[rows], self.target[rows], codes, self.weight[rows])


def without_order(rows: Rows) -> Rows:
    """A table has no order: rows by their content, equal ones as one row with their weights together.

    So a weight means what repetition means, to the last bit. Weights that are no numbers of rows get the mean one.
    """
    numbers = rows.codes.astype(np.float64) if rows.codes.size else rows.target
    distinct = distinct_rows(rows.X, numbers)
    weight = rows.weight if are_whole(rows.weight) else rows.weight / rows.weight.mean()
    return rows.take(distinct.first)._replace(weight=distinct.total(weight))


def pieces(n_before: int, n: int, batch_size: int) -> Iterator[slice]:
    """Slices of n new rows, cut where the row number in the stream is a multiple of the batch size."""
    cuts = [0, *range(batch_size - n_before % batch_size, n, batch_size), n]
    yield from (slice(start, end) for start, end in pairwise(cuts))


def growing_pieces(n: int) -> Iterator[slice]:
    """Slices of a whole table: the members that judge a row have learned nine tenths of the rows before it.

    >>> [piece.stop for piece in growing_pieces(300)][8:]
    [180, 200, 220, 242, 266, 292, 300]
    """
    start = 0
    while start < n:
        end = min(start + max(FIRST_ROWS, start // 10), n)
        yield slice(start, end)
        start = end


class BaseOnlineEnsemble(BaseEnsemble):
    """Members that learn row after row; a subclass says how they are taught and how they answer together.

    Fitted attributes: ``estimators_`` (the members), ``n_seen_`` (rows of the stream so far), ``prequential_error_``
    (mean loss of the ensemble on rows it had not learned from yet), ``history_`` (a row for every 100 rows of the
    stream: that error, on these rows and on all so far, and the error of every member).
    """

    estimator: Any = param(HasMethods(["partial_fit", "predict"]), None, default=None, kw_only=False)
    n_estimators: int = param(at_least(1), default=10)
    n_jobs: int | None = fixed(None)
    batch_size: int | None = param(at_least(1), None, default=None)
    random_state: RandomState = param(*RANDOM_STATE, default=None)

    # --- what an algorithm chooses ------------------------------------------------------------------------------------

    def _teach(self, members: Sequence[OnlineMember], rows: Rows, n_before: int) -> None:
        """Change the members by rows that come after `n_before` others."""
        raise NotImplementedError

    def _losses(self, members: Sequence[OnlineMember], rows: Rows) -> Floats:
        """Of the ensemble and of every member on rows, [1 + members, n]; nan where there is no answer yet."""
        raise NotImplementedError

    def _new_member(self, seed: int) -> OnlineMember:
        return OnlineMember(self.estimator_, seed)

    def _read_target(self, y: Any, X: Floats, weight: Floats) -> Rows:
        """The rows with their targets; what the ensemble must know of targets beforehand is known by now."""
        raise NotImplementedError

    def _record(self, members: Sequence[OnlineMember], record: Record) -> NamedTuple:
        """A row of the history, from the evidence and from what the members are by now."""
        return record

    def _learners(self) -> list[OnlineMember]:
        return [member for member in self.members_ if isinstance(member, OnlineMember)]

    def _read_floats(self, X: Any) -> Floats:
        """A table to answer for, in the form in which members learn."""
        return np.ascontiguousarray(self._read_rows(X), np.float64)

    # --- learning -----------------------------------------------------------------------------------------------------

    def _begin(self, X: Any, sample_weight: Any) -> Floats:
        """Read the first table of the stream, before which nothing is known."""
        self.estimator_ = clone(self._weak())
        columns, table = read_training_table(self, X, categorical_features=None, sample_weight=sample_weight)
        self.columns_ = columns
        return np.ascontiguousarray(table, np.float64)

    def _start(self) -> None:
        """Members that have learned nothing."""
        seeds = member_seeds(self.random_state, self.n_estimators)
        members: list[Member] = [self._new_member(int(seed)) for seed in seeds]
        self.members_ = members
        self.n_seen_, self._evidence, self._records = 0, Prequential(self.n_estimators), []

    def _rows(self, table: Floats, y: Any, sample_weight: Any) -> Rows:
        """The rows that count; members see all of them, so the base learner must take what is in them."""
        self._check_table(table, self.columns_, self.estimator_)
        weight = read_weights(sample_weight, len(table))
        rows = self._read_target(y, table, np.ones(len(table)) if weight is None else weight)
        return rows if weight is None else rows.take(weight > 0.0)

    def _learn_table(self, rows: Rows) -> None:
        """All rows once through, as if nothing had been seen before."""
        self._start()
        rows, size = without_order(rows), self.batch_size
        self._go_on(rows, growing_pieces(len(rows.X)) if size is None else pieces(0, len(rows.X), size))

    def _learn_next(self, rows: Rows) -> None:
        """The next rows of the stream, as they come or in batches."""
        n, size = len(rows.X), self.batch_size
        self._go_on(rows, [slice(0, n)] if size is None else pieces(self.n_seen_, n, size))

    def _go_on(self, rows: Rows, cuts: Iterable[slice]) -> None:
        """Judge and learn piece by piece on copies: an error or Ctrl-C on the way leaves all as it was."""
        members, evidence = [member.copy() for member in self._learners()], self._evidence.copy()
        records: list[NamedTuple] = []
        n_seen = self.n_seen_
        with config_context(assume_finite=True, skip_parameter_validation=True):  # the rows were read with care
            for piece in cuts:
                some = rows.take(piece)
                ended = evidence.judge(self._losses(members, some), some.weight, n_seen)
                self._teach(members, some, n_seen)
                records.extend(self._record(members, record) for record in ended)
                n_seen += len(some.X)
        self.members_, self.n_seen_, self._evidence = list[Member](members), n_seen, evidence
        self.prequential_error_ = evidence.error
        self._records.extend(records)

    @property
    def history_(self) -> History:
        """The evidence so far, a row for every 100 rows of the stream, the last one perhaps for fewer."""
        if not hasattr(self, "_records"):
            raise AttributeError(f"This {type(self).__name__} has learned nothing yet: call fit or partial_fit first.")
        is_open = self.n_seen_ % RECORD_ROWS > 0
        last = [self._record(self._learners(), self._evidence.record(self.n_seen_))] if is_open else []
        return History.from_records(self._records + last)

    def _check(self, kind: Any) -> None:
        self._validate_params()
        check_learner(self._weak(), kind)
        reject_offline(self._weak())

    def _member_shares(self) -> Floats:
        return np.ones(len(self.members_))


def _read_classes(classes: ArrayLike) -> NDArray[Any]:
    """Labels, each once and sorted."""
    n_labels = np.size(classes) if np.ndim(classes) == 1 else 0  # type: ignore[arg-type]
    if not n_labels:
        raise ValueError(f"classes must list the labels that the stream may hold, got {classes!r}.")
    return read_targets_classification(classes, n_labels)[0]


class BaseOnlineClassifier(BaseOnlineEnsemble):
    """An online ensemble that answers with classes; all of them must be known from the first row on."""

    classes_: NDArray[Any] = fitted()
    n_classes_: int = fitted()

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Forget everything, then learn a table once through, in an order that depends on the rows alone.

        Equal rows are one row with their weights together, and weights that are not whole are divided by their mean.
        A stream whose order means something is for `partial_fit`.
        """
        self._check("classifier")
        with all_or_nothing(self):
            table = self._begin(X, sample_weight)
            self._know(read_targets_classification(y, len(table))[0])
            rows = self._rows(table, y, sample_weight)
            self._learn_table(rows)
        return self

    def partial_fit(
        self, X: Any, y: Any, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn the next rows of the stream, in their order.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        y : class labels of shape (n_samples,)
        classes : all labels that the stream may hold, needed in the first call
        sample_weight : how many rows each row stands for, optional
        """
        self._check("classifier")
        with all_or_nothing(self):
            is_first = not hasattr(self, "members_")
            if is_first and classes is None:
                raise ValueError("classes must be passed on the first call to partial_fit: later rows may bring more.")
            table = self._begin(X, sample_weight) if is_first else np.ascontiguousarray(read_table(self, X), np.float64)
            if classes is not None:
                self._know(_read_classes(classes), is_first)
            rows = self._rows(table, y, sample_weight)
            if is_first:
                self._start()
            self._learn_next(rows)
        return self

    def _know(self, classes: NDArray[Any], is_first: bool = True) -> None:
        if not is_first and not np.array_equal(classes, self.classes_):
            raise ValueError(
                f"classes={classes[:5].tolist()} is not the same as on the last call to partial_fit, "
                f"{self.classes_[:5].tolist()}: leave it out, or fit a new model."
            )
        self.classes_, self.n_classes_ = classes, len(classes)

    def _new_member(self, seed: int) -> OnlineMember:
        return OnlineMember(self.estimator_, seed, self.classes_)

    def _read_target(self, y: Any, X: Floats, weight: Floats) -> Rows:
        labels, codes = read_targets_classification(y, len(X))
        known = set(self.classes_.tolist())
        unknown = [label for label in labels.tolist() if label not in known]
        if unknown:
            raise ValueError(
                f"y has labels that are not among the classes of the stream: {unknown[:5]}. Name all classes in the "
                "first call to partial_fit."
            )
        codes = np.searchsorted(self.classes_, labels)[codes].astype(np.int64)
        return Rows(X, self.classes_[codes], codes, weight)

    def _shares(self, members: Sequence[OnlineMember], X: Floats) -> tuple[Floats, NDArray[np.int64]]:
        """Shares of the classes [n, classes], 0 where nobody answers, and the answers of the members [members, n]."""
        raise NotImplementedError

    def _losses(self, members: Sequence[OnlineMember], rows: Rows) -> Floats:
        shares, predictions = self._shares(members, rows.X)
        combined = np.where(shares.any(axis=1), shares.argmax(axis=1), -1)
        codes = np.vstack([combined, predictions])
        return np.where(codes < 0, np.nan, codes != rows.codes)

    def predict_proba(self, X: Any) -> Floats:
        """The members' shares for every class [n, classes]: all equal before any of them has learned."""
        table = self._read_floats(X)
        shares = self._shares(self._learners(), table)[0]
        total = shares.sum(axis=1, keepdims=True)
        return np.where(total > 0.0, shares / np.where(total > 0.0, total, 1.0), 1.0 / self.n_classes_)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the largest share, the smaller one at a tie."""
        shares = self.predict_proba(X)
        return self.classes_[shares.argmax(axis=1)]


class BaseOnlineRegressor(BaseOnlineEnsemble):
    """An online ensemble that answers with numbers."""

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Forget everything, then learn a table once through, in an order that depends on the rows alone.

        Equal rows are one row with their weights together, and weights that are not whole are divided by their mean.
        A stream whose order means something is for `partial_fit`.
        """
        self._check("regressor")
        with all_or_nothing(self):
            rows = self._rows(self._begin(X, sample_weight), y, sample_weight)
            self._learn_table(rows)
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the next rows of the stream, in their order.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        y : numbers of shape (n_samples,)
        sample_weight : how many rows each row stands for, optional
        """
        self._check("regressor")
        with all_or_nothing(self):
            is_first = not hasattr(self, "members_")
            table = self._begin(X, sample_weight) if is_first else np.ascontiguousarray(read_table(self, X), np.float64)
            rows = self._rows(table, y, sample_weight)
            if is_first:
                self._start()
            self._learn_next(rows)
        return self

    def _read_target(self, y: Any, X: Floats, weight: Floats) -> Rows:
        target = read_one_target(y, len(X), type(self).__name__)
        return Rows(X, target, np.empty(0, np.int64), weight)
