"""Online boosting (Oza and Russell, Online bagging and boosting, 2001).

AdaBoost gives a row the weight that makes the last hypothesis err on half of all weight. Online, a row passes from
member to member with a rate lambda, and every member keeps the sums of the rates it got right and wrong:

    lambda = 1
    for every member h_t
        k ~ Poisson(lambda);  learn (x, y) with h_t, k times
        if h_t(x) = y:  right_t += lambda,   e_t = wrong_t / (right_t + wrong_t),   lambda *= 1 / (2 (1 - e_t))
        else:           wrong_t += lambda,   e_t = wrong_t / (right_t + wrong_t),   lambda *= 1 / (2 e_t)

    H(x) = argmax_k sum over t with h_t(x) = k of log((1 - e_t) / e_t)

So the rows that h_t got right and those it got wrong each bring half of the rates to the next member. A row of weight
w starts with lambda = w.
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
    """What a stretch of the stream measured: a row of `history_`."""

    n_seen: int  # rows of the stream at its end
    error: float  # of the ensemble on the rows of the stretch, each before it was learned
    prequential_error: float  # of the ensemble on all rows so far
    member_errors: Floats  # [members], on the rows of the stretch, each before it was learned
    weighted_errors: Floats  # [members], e_t under the rates of the rows so far
    edges: Floats  # [members], 1 - 2 e_t
    votes: Floats  # [members], log((1 - e_t) / e_t), not below 0


class BoostedMember(OnlineMember):
    """A member with the rates of the rows that it got right and wrong after learning them."""

    right: float = 0.0
    wrong: float = 0.0

    @property
    def error(self) -> float:
        """e_t, nan before the first row."""
        total = self.right + self.wrong
        return self.wrong / total if total > 0.0 else np.nan

    @property
    def vote(self) -> float:
        """log((1 - e_t) / e_t); 0 for a member no better than a coin, finite for one that made no error yet."""
        total = self.right + self.wrong
        if total == 0.0:
            return 0.0
        e = max(self.error, 0.5 / (total + 1.0))  # n rows cannot tell an error below 1 / (2 n) from none
        return float(np.log((1.0 - e) / e)) if e < 0.5 else 0.0


def online_boosting(
    members: Sequence[BoostedMember],
    X: Floats,
    y: NDArray[Any],
    codes: NDArray[np.int64],
    weight: Floats,
    n_before: int,
) -> Floats:
    """Teach the members rows that come after `n_before` others; the members are changed.

    `codes` are the classes y as numbers. With one row this is the algorithm of the paper; of several rows a member
    learns all before it is asked about any. Returns the rates with which the rows leave the last member.
    """
    rates = weight
    for member in members:
        # Step 1: k ~ Poisson(lambda), learn k times
        member.learn(X, y, member.counts(n_before, rates))
        if not member.has_learned:
            continue
        # Step 2: what the member gets right and wrong, summed up to each row
        is_right = member.predictions(X) == codes
        right = member.right + np.cumsum(np.where(is_right, rates, 0.0))
        wrong = member.wrong + np.cumsum(np.where(is_right, 0.0, rates))
        member.right, member.wrong = float(right[-1]), float(wrong[-1])
        # Step 3: half of all rates to either kind of row
        own = np.where(is_right, right, wrong)
        # Rates that have sunk to 0 stay there
        rates = np.divide(rates * (right + wrong), 2.0 * own, out=np.zeros_like(rates), where=own > 0.0)
    return rates


class OnlineBoostingClassifier(ClassifierMixin, BaseOnlineClassifier):
    """AdaBoost that learns from a stream, row after row, with Poisson counts in place of weights (C-9).

    Parameters
    ----------
    estimator : the base learner, default logistic regression by `SGDClassifier`, for columns of similar scale
        Any classifier with `partial_fit`. Where that takes no `sample_weight`, it is shown a row k times.
    n_estimators : number of members
    batch_size : rows that are judged, then learned, at once; 1, row by row, is the algorithm of the paper
        None takes the rows as they come; of the table of `fit` 20 at first, later a tenth of those before.
    random_state : seed of the counts and of the members

    ``estimator_errors_`` are the members' errors under the rates, ``estimator_weights_`` their votes
    log((1 - e) / e), ``prequential_error_`` is the error on rows not learned from yet, ``history_`` follows all of
    them over the stream, ``n_seen_`` is the number of rows, ``estimators_`` are the members.

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

    def _teach(self, members: Sequence[OnlineMember], rows: Rows, n_before: int) -> None:
        online_boosting(_boosted(members), rows.X, rows.target, rows.codes, rows.weight, n_before)

    def _shares(self, members: Sequence[OnlineMember], X: Floats) -> tuple[Floats, NDArray[np.int64]]:
        predictions = np.array([member.predictions(X) for member in members], np.int64)
        votes = np.array([member.vote for member in _boosted(members)])
        # As long as nobody is better than a coin, all count the same.
        return class_votes(predictions, self.n_classes_, votes if votes.any() else None), predictions

    def _record(self, members: Sequence[OnlineMember], record: prequential.Record) -> Record:
        errors = np.array([member.error for member in _boosted(members)])
        votes = np.array([member.vote for member in _boosted(members)])
        return Record(*record, errors, 1.0 - 2.0 * errors, votes)

    @property
    def estimator_errors_(self) -> Floats:
        """Errors of the members under the rates of the rows so far."""
        return np.array([member.error for member in _boosted(self._learners())])

    @property
    def estimator_weights_(self) -> Floats:
        """Votes of the members."""
        return np.array([member.vote for member in _boosted(self._learners())])

    def _member_shares(self) -> Floats:
        return self.estimator_weights_


def _boosted(members: Sequence[OnlineMember]) -> list[BoostedMember]:
    return [member for member in members if isinstance(member, BoostedMember)]
