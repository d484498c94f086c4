"""What the page is made from: a fitted model, its rows, a comparison where there is one, and honest answers.

An answer is honest where the model that gave it had not seen the row. In order of preference:

    out of fold     each fold answered by the winner fitted on the others (they also chose the winner)
    forward in time each stretch of time answered by the winner fitted on those before it
    new rows        rows that the model was not fitted on
    other rows      rows of which nobody knows whether the model was fitted on them
    out of bag      each row answered by the members that did not see it
    training rows   not honest: the model learned these very rows
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline

from committee.base.array_types import Floats
from committee.evaluation.comparison import Comparison, MethodResult
from committee.explain._oob_forest import training_rows
from committee.explain._tables import column_names, native
from committee.explain.importances import PermutationImportances, log_likelihood, permutation_importances
from committee.forests._base import BaseForest
from committee.members.numeric_pipeline import BaseNumericPipeline
from committee.tabular.cells import Table
from committee.tabular.rows import take_rows
from committee.tabular.schema import open_table
from committee.theory.decomposition import Decomposition
from committee.voting.calibrated_classifier import CalibratedClassifier

Rows = NDArray[np.int64]
Source = Literal["out of fold", "forward in time", "new rows", "other rows", "out of bag", "training rows"]

WORDS: dict[Source, str] = {
    "out of fold": "Every row is answered by the winner fitted without its fold. The same folds chose the winner, "
    "which flatters it a little; the held-out figure at the top does not.",
    "forward in time": "Every stretch of time but the first is answered by the winner fitted on those before it. The "
    "same stretches chose the winner, which flatters it a little; the held-out figure at the top does not.",
    "other rows": "Whether the model was fitted on some of these rows is not known; its answers to those would look "
    "better than it is.",
    "new rows": "The model was not fitted on these rows.",
    "out of bag": "Every row is answered only by members that did not learn from it.",
    "training rows": "These are the rows that the model was fitted on: its answers to them look better than it is.",
}


MAX_CELLS, N_REPEATS = 3_000_000, 3
"""Cells of the tables that are predicted to permute columns, and permutations of each: keeps it to seconds."""

MAX_PERMUTED, MIN_ROWS = 500, 50
"""Rows whose cells are permuted."""


class TableNotes(NamedTuple):
    """Where the rows came from, and what was noticed when they were read."""

    name: str  # of the file
    target: str
    warnings: tuple[str, ...] = ()
    command: str = ""  # that made this page
    rows: Rows | None = None  # [n], the number of each row in the file, from 0; None if they are counted as they come
    of_rows: str = ""  # which rows of the file the page is about, where it is not about all
    leaks: tuple[str, ...] = ()  # columns that nearly give the target away


class Judged(NamedTuple):
    """Answers to rows beside the truth."""

    rows: Rows  # [m], positions in X
    truth: NDArray[Any]  # [m], class codes or numbers
    answer: NDArray[Any]  # [m], class codes or numbers
    shares: Floats | None  # [m, K], of the classes; None for numbers, and for classes without probabilities
    fold: Rows  # [m], which rows were judged together; zeros where all were
    source: Source

    @property
    def is_honest(self) -> bool:
        return self.source != "training rows"

    @property
    def words(self) -> str:
        return WORDS[self.source]


class Evidence:
    """All that sections may use; what several of them need is found once."""

    def __init__(
        self,
        model: Any,
        X: Any,
        y: Any,
        comparison: Comparison | None = None,
        table: TableNotes | None = None,
        *,
        is_training: bool | None = True,
        training_places: Rows | None = None,
        weight: ArrayLike | None = None,
        bias_variance: Mapping[str, Decomposition] | None = None,
        seed: int = 0,
    ) -> None:
        self.model, self.X, self.y = model, X, np.ravel(np.asarray(y))
        self.comparison, self.notes, self.bias_variance = comparison, table, bias_variance or {}
        self.is_training, self.training_places, self.seed = is_training, training_places, seed
        self.weight = None if weight is None else np.asarray(weight, np.float64)
        self.table: Table = open_table(X, model)
        if len(self.y) != self.table.shape[0]:
            raise ValueError(f"X has {self.table.shape[0]} rows and y {len(self.y)}: pass one target for each row.")

    # --- the model ----------------------------------------------------------------------------------------------------

    @cached_property
    def is_classifier(self) -> bool:
        return bool(is_classifier(self.model))

    @cached_property
    def core(self) -> Any:
        """The estimator itself where the model is a shell that prepares columns for it."""
        model = self.model
        while isinstance(model, Pipeline | BaseNumericPipeline | CalibratedClassifier):
            model = model[-1] if isinstance(model, Pipeline) else model.estimator_
        return model

    @cached_property
    def core_table(self) -> Any:
        """The rows as the estimator itself gets them."""
        return self._for_core(self.X)

    def _for_core(self, X: Any) -> Any:
        model, rows = self.model, X
        while isinstance(model, Pipeline | BaseNumericPipeline | CalibratedClassifier):
            if isinstance(model, Pipeline):
                rows, model = model[:-1].transform(rows), model[-1]
            elif isinstance(model, CalibratedClassifier):
                model = model.estimator_
            else:
                rows, model = model.encode(rows), model.estimator_
        return rows

    @property
    def method(self) -> str:
        """The name of the estimator's class."""
        return type(self.core).__name__

    @cached_property
    def classes(self) -> NDArray[Any]:
        return np.asarray(self.model.classes_) if self.is_classifier else np.empty(0)

    @cached_property
    def is_judged_forest(self) -> bool:
        """Whether the model is a forest that still knows which of these rows were out of the bags of its trees."""
        core = self.core
        knows = isinstance(core, BaseForest) and hasattr(core, "oob_error_") and "_sampler" in vars(core)
        return bool(self.is_training) and knows

    def check_rows(self) -> None:
        """Raise ValueError if a forest sees that these are not the rows it was fitted on."""
        if self.is_judged_forest:
            try:
                training_rows(self.core, self.core_table, self.y)
            except ValueError as error:
                raise ValueError(f"{error} For a report about other rows pass on_training_data=False.") from None

    # --- the rows -----------------------------------------------------------------------------------------------------

    @property
    def has_learned(self) -> bool:
        """Whether the model was fitted on these rows, be they all of its training rows or a part."""
        return bool(self.is_training) or self.training_places is not None

    @property
    def where(self) -> str:
        """What these rows are to the model."""
        if self.has_learned:
            return "training rows"
        return "rows of this table" if self.is_training is None else "rows it had not seen"

    def in_file(self, row: Any) -> int:
        """The number of a row in the file it came from, counted from 0."""
        return int(row) if self.notes is None or self.notes.rows is None else int(self.notes.rows[row])

    @property
    def n_rows(self) -> int:
        return int(self.table.shape[0])

    @cached_property
    def names(self) -> tuple[str, ...]:
        return column_names(self.table)

    @cached_property
    def codes(self) -> Rows:
        """Positions of the labels among the classes, -1 for labels that the model does not know."""
        place = {label: k for k, label in enumerate(self.classes.tolist())}
        return np.array([place.get(label, -1) for label in self.y.tolist()], np.int64)

    def sample(self, most: int) -> Rows:
        """Positions of at most so many rows, drawn at random but the same ones every time, in rising order."""
        if self.n_rows <= most:
            return np.arange(self.n_rows)
        return np.sort(np.random.default_rng(self.seed).choice(self.n_rows, most, replace=False))

    def take(self, rows: Rows) -> Any:
        """Some rows of X, as its own library knows them."""
        return native(take_rows(self.table, rows))

    def take_core(self, rows: Rows) -> Any:
        """Some rows as the estimator itself gets them."""
        return self._for_core(self.take(rows))

    # --- the comparison -----------------------------------------------------------------------------------------------

    @cached_property
    def winner(self) -> MethodResult | None:
        result = self.comparison
        return None if result is None else next(r for r in result.results if r.name == result.winner)

    # --- the columns --------------------------------------------------------------------------------------------------

    @cached_property
    def permuted(self) -> PermutationImportances | None:
        """Increases of the loss by permutation of a column, on a sample of the rows; None on very wide tables."""
        d = self.table.shape[1]
        most = MAX_CELLS // (d * N_REPEATS * d)
        if most < MIN_ROWS:
            return None
        rows = self.sample(min(most, MAX_PERMUTED))
        rows = rows[self.codes[rows] >= 0] if self.is_classifier else rows
        target, scoring = self.y[rows], None
        if not self.is_classifier:
            scoring = _less_squared_error
        elif hasattr(self.model, "predict_proba"):
            target, scoring = self.codes[rows], log_likelihood
        return permutation_importances(
            self.model, self.take(rows), target, n_repeats=N_REPEATS, scoring=scoring, random_state=self.seed
        )

    @property
    def permuted_loss(self) -> str:
        """The loss whose increase by permutation is measured."""
        if not self.is_classifier:
            return "mean squared error"
        return "log-loss" if hasattr(self.model, "predict_proba") else "error rate"

    @cached_property
    def leading_columns(self) -> Rows:
        """Positions of the columns, the most important first."""
        own = getattr(self.core, "feature_importances_", None)
        if own is None or len(own) != len(self.names):
            own = None if self.permuted is None else self.permuted.mean
        return np.arange(len(self.names)) if own is None else np.argsort(-np.asarray(own), kind="stable")

    # --- the answers --------------------------------------------------------------------------------------------------

    @cached_property
    def judged(self) -> Judged:
        """The most honest answers that can be had without fitting anything."""
        if self.comparison is not None and self.winner is not None:
            predictions = _columns_as_in_model(self.winner.oof_predictions, self.comparison.classes, self.classes)
            source: Source = "forward in time" if self.comparison.is_forward else "out of fold"
            result = _judge(self, self.comparison.rows, predictions, self.comparison.fold, source)
            if result.rows.size:
                return result
        if self.has_learned:
            unseen = self._out_of_bag()
            if unseen is not None:
                return _judge(self, np.arange(self.n_rows), unseen, None, "out of bag")
            return self._prediction_now("training rows")
        return self._prediction_now("other rows" if self.is_training is None else "new rows")

    def _out_of_bag(self) -> Floats | None:
        """The answers out of bag to these rows, None where the model has none."""
        unseen = getattr(self.core, "oob_decision_function_", getattr(self.core, "oob_prediction_", None))
        if unseen is None:
            return None
        if isinstance(self.model, CalibratedClassifier) and np.ndim(unseen) == 2:
            unseen = self.model.calibration_.apply(np.asarray(unseen, np.float64))
        if self.is_training:
            return np.asarray(unseen) if len(unseen) == self.n_rows else None
        assert self.training_places is not None
        return np.asarray(unseen)[self.training_places] if self.training_places.max() < len(unseen) else None

    def _prediction_now(self, source: Source) -> Judged:
        rows = np.arange(self.n_rows)
        if not self.is_classifier:
            return _judge(self, rows, np.asarray(self.model.predict(self.X), np.float64), None, source)
        if hasattr(self.model, "predict_proba"):
            return _judge(self, rows, np.asarray(self.model.predict_proba(self.X), np.float64), None, source)
        known = self.codes >= 0
        place = {label: k for k, label in enumerate(self.classes.tolist())}
        answer = np.array([place[label] for label in np.asarray(self.model.predict(self.X)).tolist()], np.int64)
        nothing = np.zeros(int(known.sum()), np.int64)
        return Judged(rows[known], self.codes[known], answer[known], None, nothing, source)


def _less_squared_error(model: Any, X: Any, y: Any) -> float:
    """A score for any regressor, of one prediction for each row or of several quantiles."""
    return -float(np.mean((np.asarray(y, np.float64) - middle(np.asarray(model.predict(X), np.float64))) ** 2))


def _columns_as_in_model(shares: Floats, classes: tuple[Any, ...], wanted: NDArray[Any]) -> Floats:
    """Columns of class probabilities in the order of the model's classes."""
    if shares.ndim == 1 or set(classes) != set(wanted.tolist()):
        return shares
    return shares[:, [list(classes).index(label) for label in wanted.tolist()]]


def middle(predictions: Floats) -> Floats:
    """One number for each row: that of the middle one where a model answers with several quantiles."""
    return predictions if predictions.ndim == 1 else predictions[:, predictions.shape[1] // 2]


def _judge(result: Evidence, rows: Any, predictions: Floats, fold: Any, source: Source) -> Judged:
    """Answers where there are any, of rows whose label is known."""
    places, predictions = np.asarray(rows, np.int64), np.asarray(predictions, np.float64)
    groups = np.zeros(places.size, np.int64) if fold is None else np.asarray(fold, np.int64)
    truth = result.codes[places] if result.is_classifier else result.y[places].astype(np.float64)
    given = np.isfinite(predictions).all(axis=1) if predictions.ndim == 2 else np.isfinite(predictions)
    given &= truth >= 0 if result.is_classifier else np.isfinite(truth)
    places, truth, groups, predictions = places[given], truth[given], groups[given], predictions[given]
    if not result.is_classifier:
        return Judged(places, truth, middle(predictions), None, groups, source)
    shares = predictions if hasattr(result.model, "predict_proba") else None  # else votes stand in for probabilities
    return Judged(places, truth, predictions.argmax(axis=1), shares, groups, source)
