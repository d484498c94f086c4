"""What each member of a fitted ensemble answers by itself: classes, class shares or numbers.

For rows that are new to all, or for the training rows by those members that did not see them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from committee.bagging._base import BaseBagging
from committee.base.array_types import Floats
from committee.boosting._classifier_base import BaseBooster
from committee.boosting.adaboost_r2 import AdaBoostRegressor
from committee.forests._base import BaseForest
from committee.tabular.schema import open_table
from committee.tabular.validation import read_table
from committee.voting._base import BaseNamedMembers
from committee.voting.stacking import BaseStacking

Codes = NDArray[np.int64]


class MemberPredictions(NamedTuple):
    """Answers of all members; codes are -1 and numbers nan where a member saw the row and must not answer."""

    names: tuple[str, ...]
    codes: Codes | None  # [members, n] of classes
    shares: Floats | None  # [members, n, classes], where all members have them
    numbers: Floats | None  # [members, n]
    weights: Floats  # of the members in the combination, 1 in all

    @property
    def n_members(self) -> int:
        return len(self.names)

    def hide(self, is_seen: NDArray[np.bool_]) -> MemberPredictions:
        """Without the answers to rows [members, n] that a member saw."""
        return self._replace(
            codes=None if self.codes is None else np.where(is_seen, -1, self.codes),
            shares=None if self.shares is None else np.where(is_seen[:, :, np.newaxis], np.nan, self.shares),
            numbers=None if self.numbers is None else np.where(is_seen, np.nan, self.numbers),
        )

    def take(self, rows: NDArray[Any]) -> MemberPredictions:
        """Of some rows."""
        return self._replace(
            codes=None if self.codes is None else self.codes[:, rows],
            shares=None if self.shares is None else self.shares[:, rows],
            numbers=None if self.numbers is None else self.numbers[:, rows],
        )


def member_predictions(model: Any, X: Any, *, out_of_sample: bool = False) -> MemberPredictions:
    """What each member of a fitted ensemble answers for the rows of X.

    Parameters
    ----------
    model : bagging, forests, boosters of classifiers, AdaBoost.R2, votes and stacks, committees, restarts; ensembles
        of scikit-learn with a list of `estimators_`
    unseen : X are the rows of fit, in the same order: keep the answers to rows that a member did not see. For samples
        (bagging, forests) and stacks, which have their out-of-fold answers.

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
    return predictions.hide(_seen(model, X)) if out_of_sample else predictions


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
    """A committee: class shares [n, classes] or numbers [n] of its members by their names."""
    weights = _shared(len(result), [model.weights_.get(name, 0.0) for name in result])
    predictions = np.array([np.asarray(own, np.float64) for own in result.values()])
    predictions = predictions.reshape(*predictions.shape[:2], -1)
    return _of_arrays(model, predictions, weights)._replace(names=tuple(result))


def _shared(n: int, weights: Any = None) -> Floats:
    w = np.ones(n) if weights is None else np.abs(np.asarray(weights, np.float64))
    return w / w.sum()


def _numbered(n: int) -> tuple[str, ...]:
    return tuple(str(t) for t in range(1, n + 1))


def _of_arrays(model: Any, predictions: Floats, weights: Any) -> MemberPredictions:
    """Class shares or numbers, [members, n, k]."""
    n = len(predictions)
    if is_classifier(model):
        return MemberPredictions(_numbered(n), predictions.argmax(axis=2), predictions, None, _shared(n, weights))
    return MemberPredictions(_numbered(n), None, None, predictions[:, :, 0], _shared(n, weights))


def _of_votes(model: BaseBooster, result: NDArray[Any]) -> MemberPredictions:
    """Votes -1, +1 and confidences as codes; a member of negative coefficient counts as its opposite."""
    a = np.asarray(model.coefficients_, np.float64)
    if model.n_classes_ > 2:
        return MemberPredictions(_numbered(len(a)), result.astype(np.int64), None, None, _shared(len(a), a))
    is_plus = result * np.sign(a)[:, np.newaxis] > 0.0
    return MemberPredictions(_numbered(len(a)), is_plus.astype(np.int64), None, None, _shared(len(a), a))


# --- any other ensemble ----------------------------------------------------------------------------------------------


def _of_estimators(model: Any, X: Any) -> MemberPredictions:
    """Ensembles that keep their members as estimators."""
    members = _members(model)
    names = tuple(model.fitted_names()) if isinstance(model, BaseNamedMembers) else _numbered(len(members))
    weights = getattr(model, "weights_", getattr(model, "estimator_weights_", None))
    known = weights is not None and len(np.ravel(weights)) == len(members) and np.any(np.asarray(weights) != 0.0)
    w = _shared(len(members), weights if known else None)
    tables = _own_tables(model, X, len(members))
    pairs = list(zip(members, tables, strict=True))
    if not is_classifier(model):
        numbers = [np.asarray(member.predict(table), np.float64).ravel() for member, table in pairs]
        return MemberPredictions(names, None, None, np.array(numbers), w)
    has_shares = all(hasattr(member, "predict_proba") for member in members)
    result = [_as_codes(member, model.classes_, table, has_shares) for member, table in pairs]
    shares = np.array([own for _, own in result]) if has_shares else None
    return MemberPredictions(names, np.array([codes for codes, _ in result]), shares, None, w)


def _members(model: Any) -> list[Any]:
    check_is_fitted(model)
    result = getattr(model, "estimators_", getattr(model, "members_", None))
    if result is None or np.ndim(np.asarray(result, object)) > 1:
        raise TypeError(
            f"The members of {type(model).__name__} are no predictors of their own: this is for bagging, forests, "
            "boosted classifiers, votes, stacks and other ensembles with a list of estimators_."
        )
    members = list(result)
    if not members or not all(hasattr(member, "predict") for member in members):
        raise TypeError(f"{type(model).__name__} has no members that predict.")
    if is_classifier(model) and not all(hasattr(member, "classes_") for member in members):
        raise TypeError(
            f"The members of {type(model).__name__} answer numbers, not classes: only their sum is a prediction."
        )
    return members


def _own_tables(model: Any, X: Any, n_members: int) -> list[Any]:
    """The table that each member reads: its own features, and no names where it was taught an array."""
    features = getattr(model, "estimators_features_", None)
    if isinstance(model, BaseNamedMembers):
        return [X if hasattr(X, "shape") else np.asarray(X)] * n_members
    if type(model).__module__.startswith("committee."):
        return [X] * n_members
    table = open_table(X, model)
    array = table if isinstance(table, np.ndarray) else table.to_numpy()
    return [array if features is None else array[:, features[t]] for t in range(n_members)]


def _as_codes(member: Any, classes: NDArray[Any], table: Any, has_shares: bool) -> tuple[Codes, Floats]:
    """Positions among the classes of the ensemble; members know its labels, or these positions."""
    own, n_classes = np.asarray(member.classes_), len(classes)
    places = np.searchsorted(classes, own) if np.isin(own, classes).all() else own.astype(np.int64)
    if not has_shares:
        predicted = np.searchsorted(own, np.asarray(member.predict(table)))
        return places[predicted], np.empty((0, n_classes))
    shares = np.asarray(member.predict_proba(table), np.float64)
    whole = np.zeros((len(shares), n_classes))
    whole[:, places] = shares
    return whole.argmax(axis=1), whole


def _from_columns(model: BaseStacking, predictions: Sequence[Floats]) -> MemberPredictions:
    names = tuple(model.history_.member.tolist())
    w = _shared(len(names), getattr(model, "weights_", None))
    if not is_classifier(model):
        return MemberPredictions(names, None, None, np.array([own[:, 0] for own in predictions]), w)
    n_classes = len(model.classes_)
    codes = np.array([_column_codes(own, n_classes) for own in predictions])
    has_shares = all(own.shape[1] == n_classes for own in predictions) and set(model.stack_method_) == {"predict_proba"}
    return MemberPredictions(names, codes, np.array(predictions) if has_shares else None, None, w)


def _column_codes(own: Floats, n_classes: int) -> Codes:
    missing = np.isnan(own[:, 0])
    if own.shape[1] > 1:
        codes = np.nan_to_num(own).argmax(axis=1)
    else:
        is_code = np.isin(own[~missing, 0], np.arange(n_classes)).all()
        codes = np.nan_to_num(own[:, 0] if is_code else own[:, 0] > 0.0).astype(np.int64)
    return np.where(missing, -1, codes)


def _seen(model: Any, X: Any) -> NDArray[np.bool_]:
    """[members, n], whether a member learned from a row."""
    frame: Any = nw.from_native(X, eager_only=True, pass_through=True)
    n_rows = len(frame) if isinstance(frame, nw.DataFrame) else int(np.shape(X)[0])
    if isinstance(model, BaseForest):
        left_out = [model.oob_indices(t) for t in range(len(model.trees_))]
        is_seen = np.ones((len(left_out), n_rows), np.bool_)
        for t, rows in enumerate(left_out):
            is_seen[t, rows] = False
        return is_seen
    samples = getattr(model, "estimators_samples_", None)
    if samples is None:
        raise TypeError(
            f"{type(model).__name__} keeps no rows out of its members' sight: pass new rows, with unseen=False."
        )
    is_seen = np.zeros((len(samples), n_rows), np.bool_)
    for t, rows in enumerate(samples):
        is_seen[t, rows] = True
    return is_seen
