"""Predictions of each member of a fitted ensemble: classes, class probabilities or values.

Of new rows, or of the training rows by the members that were not fitted on them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from committee.bagging.base import BaseBagging
from committee.base.array_types import Floats
from committee.boosting.adaboost_r2 import AdaBoostRegressor
from committee.boosting.classifier_base import BaseBooster
from committee.forests.base import BaseForest
from committee.tabular.schema import open_table
from committee.tabular.validation import read_table
from committee.voting.base import BaseNamedMembers
from committee.voting.stacking import BaseStacking

Codes = NDArray[np.int64]


class MemberPredictions(NamedTuple):
    """Predictions of all members; codes are -1 and values nan where a member was fitted on the row.

    Attributes
    ----------
    names : names of the members
    codes : array [members, n], positions of the predicted classes
    probabilities : array [members, n, classes], or None if some members have no probabilities
    values : array [members, n], predictions in regression
    weights : array [members], weights in the combination, sum 1
    """

    names: tuple[str, ...]
    codes: Codes | None
    probabilities: Floats | None
    values: Floats | None
    weights: Floats

    @property
    def n_members(self) -> int:
        return len(self.names)

    def hide(self, is_hidden: NDArray[np.bool_]) -> MemberPredictions:
        """Return a copy without the predictions of some rows [members, n]."""
        p = self.probabilities
        return self._replace(
            codes=None if self.codes is None else np.where(is_hidden, -1, self.codes),
            probabilities=None if p is None else np.where(is_hidden[:, :, np.newaxis], np.nan, p),
            values=None if self.values is None else np.where(is_hidden, np.nan, self.values),
        )

    def take(self, rows: NDArray[Any]) -> MemberPredictions:
        """Return the predictions of some rows."""
        return self._replace(
            codes=None if self.codes is None else self.codes[:, rows],
            probabilities=None if self.probabilities is None else self.probabilities[:, rows],
            values=None if self.values is None else self.values[:, rows],
        )


def member_predictions(model: Any, X: Any, *, out_of_sample: bool = False) -> MemberPredictions:
    """Predict the rows of X with each member of a fitted ensemble.

    Parameters
    ----------
    model : fitted ensemble
        Bagging, forests, boosters of classifiers, AdaBoost.R2, votes, stacks, committees, restarts, or an ensemble of
        scikit-learn with a list of `estimators_`.
    X : rows to predict
    out_of_sample : bool
        X are the training rows, in the same order: keep only predictions of rows that a member was not fitted on, the
        out-of-bag rows of bagging and forests or the out-of-fold predictions of stacks.

    Returns
    -------
    MemberPredictions

    Examples
    --------
    >>> from committee import BaggingClassifier
    >>> from committee.datasets import load_dataset
    >>> sonar = load_dataset("sonar")
    >>> model = BaggingClassifier(n_estimators=5, random_state=0).fit(sonar.X, sonar.y)
    >>> member_predictions(model, sonar.X, out_of_sample=True).codes[:, :4].tolist()
    [[0, 0, -1, -1], [-1, 0, -1, 1], [1, 0, 0, 1], [-1, 1, -1, -1], [1, -1, -1, -1]]
    """
    if out_of_sample and isinstance(model, BaseStacking):
        return _from_columns(model, model.out_of_fold_predictions())
    predictions = _all_predictions(model, X)
    return predictions.hide(_training_rows(model, X)) if out_of_sample else predictions


def _all_predictions(model: Any, X: Any) -> MemberPredictions:
    if isinstance(model, BaseForest):
        return _of_arrays(model, np.asarray(model.member_predictions(X), np.float64), None)
    if isinstance(model, BaseBagging | BaseBooster | AdaBoostRegressor):
        check_is_fitted(model, "members_")
        table = read_table(model, X)
        result = np.array([np.asarray(member.predictions(table, model.n_jobs)) for member in model.members_])
        if isinstance(model, BaseBooster):
            return _of_votes(model, result)
        return _of_arrays(model, result.reshape(*result.shape[:2], -1).astype(np.float64), model.coefficients_)
    if hasattr(model, "member_predictions"):
        return _of_committee(model, model.member_predictions(X))
    return _of_estimators(model, X)


def _of_committee(model: Any, result: Mapping[str, Floats]) -> MemberPredictions:
    """A committee: class probabilities [n, classes] or values [n] of its members by their names."""
    weights = _normalised(len(result), [model.weights_.get(name, 0.0) for name in result])
    predictions = np.array([np.asarray(own, np.float64) for own in result.values()])
    predictions = predictions.reshape(*predictions.shape[:2], -1)
    return _of_arrays(model, predictions, weights)._replace(names=tuple(result))


def _normalised(n: int, weights: Any = None) -> Floats:
    w = np.ones(n) if weights is None else np.abs(np.asarray(weights, np.float64))
    return w / w.sum()


def _numbered(n: int) -> tuple[str, ...]:
    return tuple(str(t) for t in range(1, n + 1))


def _of_arrays(model: Any, predictions: Floats, weights: Any) -> MemberPredictions:
    """Class probabilities or values, [members, n, k]."""
    n = len(predictions)
    if is_classifier(model):
        return MemberPredictions(_numbered(n), predictions.argmax(axis=2), predictions, None, _normalised(n, weights))
    return MemberPredictions(_numbered(n), None, None, predictions[:, :, 0], _normalised(n, weights))


def _of_votes(model: BaseBooster, result: NDArray[Any]) -> MemberPredictions:
    """Votes -1, +1 and confidences as codes; a member of negative coefficient counts as its opposite."""
    a = np.asarray(model.coefficients_, np.float64)
    if model.n_classes_ > 2:
        return MemberPredictions(_numbered(len(a)), result.astype(np.int64), None, None, _normalised(len(a), a))
    is_plus = result * np.sign(a)[:, np.newaxis] > 0.0
    return MemberPredictions(_numbered(len(a)), is_plus.astype(np.int64), None, None, _normalised(len(a), a))


# --- any other ensemble ----------------------------------------------------------------------------------------------


def _of_estimators(model: Any, X: Any) -> MemberPredictions:
    """Ensembles that keep their members as estimators."""
    members = _members(model)
    names = tuple(model.fitted_names()) if isinstance(model, BaseNamedMembers) else _numbered(len(members))
    weights = getattr(model, "weights_", getattr(model, "estimator_weights_", None))
    known = weights is not None and len(np.ravel(weights)) == len(members) and np.any(np.asarray(weights) != 0.0)
    w = _normalised(len(members), weights if known else None)
    tables = _own_tables(model, X, len(members))
    pairs = list(zip(members, tables, strict=True))
    if not is_classifier(model):
        values = [np.asarray(member.predict(table), np.float64).ravel() for member, table in pairs]
        return MemberPredictions(names, None, None, np.array(values), w)
    has_proba = all(hasattr(member, "predict_proba") for member in members)
    result = [_as_codes(member, model.classes_, table, has_proba) for member, table in pairs]
    probabilities = np.array([own for _, own in result]) if has_proba else None
    return MemberPredictions(names, np.array([codes for codes, _ in result]), probabilities, None, w)


def _members(model: Any) -> list[Any]:
    check_is_fitted(model)
    result = getattr(model, "estimators_", getattr(model, "members_", None))
    if result is None or np.ndim(np.asarray(result, object)) > 1:
        raise TypeError(
            f"The members of {type(model).__name__} are not estimators: pass bagging, forests, boosted classifiers, "
            "votes, stacks or another ensemble with a list of estimators_."
        )
    members = list(result)
    if not members or not all(hasattr(member, "predict") for member in members):
        raise TypeError(f"{type(model).__name__} has no members that predict.")
    if is_classifier(model) and not all(hasattr(member, "classes_") for member in members):
        raise TypeError(
            f"The members of {type(model).__name__} do not predict classes: only their sum is a prediction."
        )
    return members


def _own_tables(model: Any, X: Any, n_members: int) -> list[Any]:
    """The table of each member: its own features, and no names where it was fitted on an array."""
    features = getattr(model, "estimators_features_", None)
    if isinstance(model, BaseNamedMembers):
        return [X if hasattr(X, "shape") else np.asarray(X)] * n_members
    if type(model).__module__.startswith("committee."):
        return [X] * n_members
    table = open_table(X, model)
    array = table if isinstance(table, np.ndarray) else table.to_numpy()
    return [array if features is None else array[:, features[t]] for t in range(n_members)]


def _as_codes(member: Any, classes: NDArray[Any], table: Any, has_proba: bool) -> tuple[Codes, Floats]:
    """Positions among the classes of the ensemble; members know its labels, or these positions."""
    own, n_classes = np.asarray(member.classes_), len(classes)
    places = np.searchsorted(classes, own) if np.isin(own, classes).all() else own.astype(np.int64)
    if not has_proba:
        predicted = np.searchsorted(own, np.asarray(member.predict(table)))
        return places[predicted], np.empty((0, n_classes))
    own_probabilities = np.asarray(member.predict_proba(table), np.float64)
    probabilities = np.zeros((len(own_probabilities), n_classes))
    probabilities[:, places] = own_probabilities
    return probabilities.argmax(axis=1), probabilities


def _from_columns(model: BaseStacking, predictions: Sequence[Floats]) -> MemberPredictions:
    names = tuple(model.history_.member.tolist())
    w = _normalised(len(names), getattr(model, "weights_", None))
    if not is_classifier(model):
        return MemberPredictions(names, None, None, np.array([own[:, 0] for own in predictions]), w)
    n_classes = len(model.classes_)
    codes = np.array([_column_codes(own, n_classes) for own in predictions])
    has_proba = all(own.shape[1] == n_classes for own in predictions) and set(model.stack_method_) == {"predict_proba"}
    return MemberPredictions(names, codes, np.array(predictions) if has_proba else None, None, w)


def _column_codes(own: Floats, n_classes: int) -> Codes:
    missing = np.isnan(own[:, 0])
    if own.shape[1] > 1:
        codes = np.nan_to_num(own).argmax(axis=1)
    else:
        is_code = np.isin(own[~missing, 0], np.arange(n_classes)).all()
        codes = np.nan_to_num(own[:, 0] if is_code else own[:, 0] > 0.0).astype(np.int64)
    return np.where(missing, -1, codes)


def _training_rows(model: Any, X: Any) -> NDArray[np.bool_]:
    """Whether a member was fitted on a row [members, n]."""
    frame: Any = nw.from_native(X, eager_only=True, pass_through=True)
    n_rows = len(frame) if isinstance(frame, nw.DataFrame) else int(np.shape(X)[0])
    if isinstance(model, BaseForest):
        out_of_bag = [model.oob_indices(t) for t in range(len(model.trees_))]
        is_fitted_on = np.ones((len(out_of_bag), n_rows), np.bool_)
        for t, rows in enumerate(out_of_bag):
            is_fitted_on[t, rows] = False
        return is_fitted_on
    samples = getattr(model, "estimators_samples_", None)
    if samples is None:
        raise TypeError(f"{type(model).__name__} fits all members on all rows: pass new rows with out_of_sample=False.")
    is_fitted_on = np.zeros((len(samples), n_rows), np.bool_)
    for t, rows in enumerate(samples):
        is_fitted_on[t, rows] = True
    return is_fitted_on
