"""Schapire's first booster: a majority of three (Schapire 1990, The Strength of Weak Learnability).

    h1 is fitted under D1 = w
    h2 is fitted under D2, for which h1 has the error 1/2: w / (2 e1) where h1 errs, w / (2 (1 - e1)) elsewhere
    h3 is fitted under D3, w restricted to the rows on which h1 and h2 differ
    H = the majority of the three

If the error of each, under its own distribution, is at most p <= 1/2, the error of H under w is at most
3 p^2 - 2 p^3 < p. H is itself a hypothesis, so the construction is repeated with it: 3^depth hypotheses in all.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from committee.base.array_types import Floats
from committee.base.parameters import at_least, fitted, fixed, param
from committee.base.stacklevel import level_of_caller
from committee.boosting._weak_learners import TrainingRows, make_learner
from committee.boosting.classifier_base import BaseBooster, Settings, ValidationVotes, Vote
from committee.boosting.votes import BinaryVotes, vote_fractions
from committee.members.member import Member, WeakHypothesis, WeakLearner
from committee.records.history import History
from committee.theory.bounds import majority_of_three_bound

ROUNDING = 1e-12
"""Tolerance for rounding errors of sums of weights."""


class MajorityBound(NamedTuple):
    """The errors of up to three hypotheses, the bound that follows, and the error of their majority."""

    level: int  # 1 for votes of base hypotheses, 2 for votes of such majorities, ...
    errors: tuple[float, ...]  # each under its own distribution
    p: float  # the largest
    value: float  # 3 p^2 - 2 p^3
    train_error: float  # of the majority, under the distribution of h1
    holds: bool


class Majority(NamedTuple):
    """Three hypotheses with a third of the vote each, or the first alone; a member of the majority one level up.

    The coefficient is negative for a negated hypothesis, 0 for an h2 equal to h1.
    """

    members: tuple[Member, ...]
    coefficients: tuple[float, ...]
    bound: MajorityBound
    weights: tuple[Floats, ...]  # the distributions [n]
    note: str

    def predictions(self, X: NDArray[np.floating], n_jobs: int | None = None) -> NDArray[np.int8]:
        pairs = zip(self.coefficients, self.members, strict=True)
        score = sum((a * member.predictions(X, n_jobs) for a, member in pairs if a != 0.0), start=np.zeros(len(X)))
        return np.where(score > 0.0, np.int8(1), np.int8(-1))


class Hypothesis(NamedTuple):
    """A weak hypothesis, negated if its error is above 1/2, and the weights it was fitted under."""

    member: Member
    predictions: NDArray[Any]  # in {-1, +1}
    sign: int
    error: float
    weight: Floats


class FittedMajority(NamedTuple):
    """A majority and its predictions for the training rows."""

    majority: Majority
    predictions: NDArray[np.int8]


def schapire_boost(
    weak_learner: WeakLearner, y: NDArray[np.int8], w: Floats, seed: int, level: int = 1
) -> FittedMajority:
    """Fit three hypotheses under three distributions; w sums to one."""
    seeds = [int(s) for s in np.random.SeedSequence(seed).generate_state(3, np.uint64)]
    # Step 1: h1 under the weights
    first = _fit_hypothesis(weak_learner, y, w, seeds[0])
    if first.error == 0.0:
        return _vote([first], y, w, level, "h1 is perfect on the training rows and votes alone")
    # Step 2: h2 under weights for which h1 has the error 1/2
    second = _fit_hypothesis(weak_learner, y, half_error_weights(w, first.predictions == y, first.error), seeds[1])
    # Step 3: h3 where they differ
    differs = np.where(first.predictions != second.predictions, w, 0.0)
    if not differs.any():
        note = "h1 and h2 agree on every training row, which leaves no row for h3: h1 votes alone"
        return _vote([first, second], y, w, level, note)
    third = _fit_hypothesis(weak_learner, y, differs / differs.sum(), seeds[2])
    # Step 4: the majority
    return _vote([first, second, third], y, w, level, "three hypotheses vote")


def half_error_weights(w: Floats, is_right: NDArray[np.bool_], error: float) -> Floats:
    """Compute D2: half of the weight on the rows that h1 classifies correctly, half on the others."""
    return np.where(is_right, w / (2.0 * (1.0 - error)), w / (2.0 * error))


def _fit_hypothesis(weak_learner: WeakLearner, y: NDArray[np.int8], w: Floats, seed: int) -> Hypothesis:
    h = weak_learner(w, seed)
    error = float(w[h.predictions != y].sum())
    if error > 0.5 + ROUNDING:
        return Hypothesis(h.member, -h.predictions, -1, float(w[h.predictions == y].sum()), w)
    return Hypothesis(h.member, h.predictions, 1, error, w)


def _vote(hypotheses: list[Hypothesis], y: NDArray[np.int8], w: Floats, level: int, note: str) -> FittedMajority:
    """The majority of three hypotheses, or of fewer h1 alone, and the bound from the errors of all."""
    n = len(hypotheses)
    vote = [1.0 / 3.0] * 3 if n == 3 else [1.0, 0.0][:n]
    score = np.sum([a * h.predictions for a, h in zip(vote, hypotheses, strict=True)], axis=0)
    predictions = np.where(score > 0.0, np.int8(1), np.int8(-1))
    errors = tuple(h.error for h in hypotheses)
    p = min(max(errors), 0.5)  # rounding may make it larger
    value, train_error = majority_of_three_bound(p), float(w[predictions != y].sum())
    bound = MajorityBound(level, errors, p, value, train_error, train_error <= value + ROUNDING)
    members, weights = tuple(h.member for h in hypotheses), tuple(h.weight for h in hypotheses)
    coefficients = tuple(a * h.sign for a, h in zip(vote, hypotheses, strict=True))
    return FittedMajority(Majority(members, coefficients, bound, weights, note), predictions)


class MajorityLearner:
    """The booster as the weak learner of the level above."""

    def __init__(self, weak_learner: WeakLearner, y: NDArray[np.int8], level: int) -> None:
        self.weak_learner, self.y, self.level, self.resamples = weak_learner, y, level, weak_learner.resamples

    def __call__(self, weight: Floats, seed: int) -> WeakHypothesis:
        majority, predictions = schapire_boost(self.weak_learner, self.y, weight, seed, self.level)
        return WeakHypothesis(majority._replace(weights=()), predictions)


class SchapireBoostClassifier(BaseBooster):
    """Schapire's booster of 1990: the majority of three hypotheses (two classes).

    The second hypothesis is fitted under weights for which the first has the error 1/2, the third on the rows on which
    the two differ. If the error of each is at most p, the training error of the majority is at most 3 p^2 - 2 p^3.

    References
    ----------
    Schapire, R. E. (1990). The strength of weak learnability. Machine Learning 5, 197-227.

    Examples
    --------
    >>> from committee import SchapireBoostClassifier
    >>> from committee.datasets import load_dataset
    >>> sonar = load_dataset("sonar")
    >>> model = SchapireBoostClassifier(depth=2).fit(sonar.X, sonar.y)
    >>> len(model.estimators_), round(model.bound_.value, 3), round(model.bound_.train_error, 3)
    (9, 0.106, 0.087)
    """

    depth: int = param(
        at_least(1),
        default=1,
        doc="Levels of majorities; 1 is three hypotheses, 2 a majority of three such majorities, 3^depth in all.",
    )
    warm_start: bool = fixed(False)
    verbose: int = fixed(0)
    bound_: MajorityBound = fitted(
        doc="Errors of the three, each under its own distribution, the largest of them p, the bound 3 p^2 - 2 p^3, the "
        "training error, and whether the bound holds."
    )
    bounds_: tuple[MajorityBound, ...] = fitted(
        doc="The bounds of the majorities of all levels, in the order of fitting."
    )
    recursive_bound_: float = fitted(
        doc="3 p^2 - 2 p^3 applied `depth` times to the largest error of a base hypothesis."
    )
    history_: History = fitted(
        doc="A row for each of the top three hypotheses: error and edge under its own distribution, number of rows, "
        "and training and validation error of the votes so far (class 0 is predicted where two votes differ)."
    )
    majority_: Majority = fitted(doc="The majority of the top three hypotheses.")
    estimator_weights_: Floats = fitted(doc="Fraction of the vote of each base hypothesis.")
    probability_slope_: float = fixed(1.0, doc="1: the probabilities are fractions of the vote.")
    _two_classes_only = True

    def _boost(self, rows: TrainingRows, validation: ValidationVotes | None) -> dict[str, Any]:
        weak_learner = make_learner(self._weak(), rows, weighting="reweight", kind="votes", n_jobs=self.n_jobs)
        for level in range(1, self.depth):
            weak_learner = MajorityLearner(weak_learner, rows.y, level)
        top, _ = schapire_boost(weak_learner, rows.y, rows.weight, rows.seed, self.depth)
        voters = [(member, a) for member, a in zip(top.members, top.coefficients, strict=True) if a != 0.0]
        vote = Vote.of([member for member, _ in voters], [a for _, a in voters], rows.n_classes)
        majority = top._replace(weights=())
        bounds = tuple(each.bound for each in _majorities(majority))
        if len(top.members) == 2:
            warnings.warn(f"No boosting took place: {top.note}.", ConvergenceWarning, stacklevel=level_of_caller())
        return {
            **vote.attributes(),
            "majority_": majority,
            "bound_": top.bound,
            "bounds_": bounds,
            "recursive_bound_": self._recursive_bound(bounds),
            "stop_reason_": top.note,
            "estimator_weights_": np.array([a for _, a in _leaves(majority)]),
            "estimator_errors_": np.array(top.bound.errors[: len(voters)]),
            "sample_weights_": top.weights[-1],
            "history_": self._record(top, rows, validation),
        }

    def _recursive_bound(self, bounds: Sequence[MajorityBound]) -> float:
        bound = max(each.p for each in bounds if each.level == 1)
        for _ in range(self.depth):
            bound = majority_of_three_bound(bound)
        return bound

    def _record(self, top: Majority, rows: TrainingRows, validation: ValidationVotes | None) -> History:
        votes, errors = BinaryVotes(rows.y), np.array(top.bound.errors)
        train, held_out = np.full(errors.size, np.nan), np.full(errors.size, np.nan)
        for t, (member, a) in enumerate(zip(top.members, top.coefficients, strict=True)):
            votes.add(a, member.predictions(rows.X, self.n_jobs))
            train[t] = float(rows.weight[votes.wrong()].sum())
            if validation is not None:
                validation.add([member], [a], self.n_jobs)
                held_out[t] = validation.error()
        return History({
            "round": np.arange(1, errors.size + 1),
            "error": errors,
            "edge": 1.0 - 2.0 * errors,
            "n_rows": [int(np.count_nonzero(w)) for w in top.weights],
            "train_error": train,
            "validation_error": held_out,
        })  # fmt: skip

    @property
    def estimators_(self) -> list[Any]:
        """The base hypotheses as estimators."""
        check_is_fitted(self, "members_")
        return [self._as_estimator(member) for member, _ in _leaves(self.majority_)]

    @property
    def feature_importances_(self) -> Floats:
        """Impurity decreases of the splits, averaged over the base hypotheses; the sum is 1."""
        members = self.estimators_
        if not all(hasattr(member, "feature_importances_") for member in members):
            raise AttributeError("The weak learner has no feature_importances_.")
        by_member = np.array([member.feature_importances_ for member in members])
        mean = np.average(by_member, axis=0, weights=np.abs(self.estimator_weights_))
        return mean / mean.sum() if mean.sum() > 0 else mean

    def _link(self, score: Floats, settings: Settings) -> Floats:
        return vote_fractions(score, settings["n_classes_"])

    def predict_proba(self, X: Any) -> Floats:
        """Predict the fractions of the top three votes: 0, 1/3, 2/3 or 1."""
        return super().predict_proba(X)


def _leaves(majority: Majority, weight: float = 1.0) -> Iterator[tuple[Member, float]]:
    """The base hypotheses of nonzero weight, with their weights in the vote."""
    for member, a in zip(majority.members, majority.coefficients, strict=True):
        if isinstance(member, Majority):
            yield from _leaves(member, weight * a)
        elif weight * a != 0.0:
            yield member, weight * a


def _majorities(majority: Majority) -> Iterator[Majority]:
    """The majorities of all levels, the top one last."""
    for member in majority.members:
        if isinstance(member, Majority):
            yield from _majorities(member)
    yield majority
