"""Online boosting (Oza and Russell, Online bagging and boosting, 2001).

AdaBoost weights the rows so that the last hypothesis has the error 1/2. Online, a row passes from member to member with
a rate lambda, and every member keeps the sums of the rates of the rows that it classified correctly and incorrectly:

    lambda = 1
    for every member h_t
        k ~ Poisson(lambda);  update h_t with (x, y), k times
        if h_t(x) = y:  right_t += lambda,   e_t = wrong_t / (right_t + wrong_t),   lambda *= 1 / (2 (1 - e_t))
        else:           wrong_t += lambda,   e_t = wrong_t / (right_t + wrong_t),   lambda *= 1 / (2 e_t)

    H(x) = argmax_k sum over t with h_t(x) = k of log((1 - e_t) / e_t)

So the correctly and the incorrectly classified rows each have half of the rates of the next member. A row of weight w
starts with lambda = w.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from committee.base.array_types import Floats
from committee.combine.rules import class_votes
from committee.ensemble import prequential
from committee.ensemble.online import BaseOnlineClassifier, Rows
from committee.members.online import OnlineMember, default_classifier


class Record(NamedTuple):
    """Measurements on a part of the stream: a row of `history_`."""

    n_seen: int  # rows of the stream at its end
    error: float  # of the ensemble on these rows, each predicted before the update
    prequential_error: float  # of the ensemble on all rows so far, likewise
    member_errors: Floats  # [members], on these rows, each predicted before the update
    weighted_errors: Floats  # [members], e_t under the rates of the rows so far
    edges: Floats  # [members], 1 - 2 e_t
    votes: Floats  # [members], log((1 - e_t) / e_t), not below 0


class BoostedMember(OnlineMember):
    """A member with the sums of the rates of correctly and incorrectly classified rows."""

    right: float = 0.0
    wrong: float = 0.0

    @property
    def error(self) -> float:
        """e_t, nan before the first row."""
        total = self.right + self.wrong
        return self.wrong / total if total > 0.0 else np.nan

    @property
    def vote(self) -> float:
        """log((1 - e_t) / e_t); 0 for a member no better than chance, finite for one without an error."""
        total = self.right + self.wrong
        if total == 0.0:
            return 0.0
        e = max(self.error, 0.5 / (total + 1.0))  # smaller errors cannot be estimated from n rows
        return float(np.log((1.0 - e) / e)) if e < 0.5 else 0.0


def online_boosting(
    members: Sequence[BoostedMember],
    X: Floats,
    y: NDArray[Any],
    codes: NDArray[np.int64],
    weight: Floats,
    n_before: int,
) -> Floats:
    """Update the members in place with rows that come after `n_before` others.

    `codes` are the codes of the classes y. With one row this is the algorithm of the paper; with several, a member is
    updated with all of them before it predicts. Returns the rates of the rows after the last member.
    """
    rates = weight
    for member in members:
        # Step 1: k ~ Poisson(lambda), update k times
        member.partial_fit(X, y, member.counts(n_before, rates))
        if not member.is_fitted:
            continue
        # Step 2: the rates of correctly and incorrectly classified rows, summed up to each row
        is_right = member.predictions(X) == codes
        right = member.right + np.cumsum(np.where(is_right, rates, 0.0))
        wrong = member.wrong + np.cumsum(np.where(is_right, 0.0, rates))
        member.right, member.wrong = float(right[-1]), float(wrong[-1])
        # Step 3: each kind has half of the rates
        own = np.where(is_right, right, wrong)
        # A rate of 0 stays 0
        rates = np.divide(rates * (right + wrong), 2.0 * own, out=np.zeros_like(rates), where=own > 0.0)
    return rates


class OnlineBoostingClassifier(ClassifierMixin, BaseOnlineClassifier):
    """AdaBoost for a stream of rows, with Poisson counts in place of weights.

    A row passes from member to member: each is updated with it k times, k drawn from a Poisson distribution whose rate
    increases where the member misclassifies the row. `partial_fit` continues with further rows.

    References
    ----------
    Oza, N. C. and Russell, S. (2001). Online bagging and boosting. AISTATS, 105-112.

    Examples
    --------
    >>> from committee.boosting.online_boosting import OnlineBoostingClassifier
    >>> from committee.datasets import load_dataset
    >>> from sklearn.preprocessing import scale
    >>> sonar = load_dataset("sonar")
    >>> model = OnlineBoostingClassifier(random_state=0).fit(scale(sonar.X), sonar.y)
    >>> round(model.prequential_error_, 3), model.estimator_errors_[:3].round(3)
    (0.303, array([0.154, 0.211, 0.177]))
    """

    def _default_estimator(self) -> Any:
        return default_classifier()

    def _new_member(self, seed: int) -> BoostedMember:
        return BoostedMember(self.estimator_, seed, self.classes_)

    def _update_members(self, members: Sequence[OnlineMember], rows: Rows, n_before: int) -> None:
        online_boosting(_boosted(members), rows.X, rows.target, rows.codes, rows.weight, n_before)

    def _votes(self, members: Sequence[OnlineMember], X: Floats) -> tuple[Floats, NDArray[np.int64]]:
        predictions = np.array([member.predictions(X) for member in members], np.int64)
        votes = np.array([member.vote for member in _boosted(members)])
        # equal votes while no member is better than chance
        return class_votes(predictions, self.n_classes_, votes if votes.any() else None), predictions

    def _record(self, members: Sequence[OnlineMember], record: prequential.Record) -> Record:
        errors = np.array([member.error for member in _boosted(members)])
        votes = np.array([member.vote for member in _boosted(members)])
        return Record(*record, errors, 1.0 - 2.0 * errors, votes)

    @property
    def estimator_errors_(self) -> Floats:
        """Errors of the members, weighted by the rates of the rows so far."""
        return np.array([member.error for member in _boosted(self._online_members())])

    @property
    def estimator_weights_(self) -> Floats:
        """Votes log((1 - e) / e) of the members."""
        return np.array([member.vote for member in _boosted(self._online_members())])

    def _member_weights(self) -> Floats:
        return self.estimator_weights_


def _boosted(members: Sequence[OnlineMember]) -> list[BoostedMember]:
    return [member for member in members if isinstance(member, BoostedMember)]
