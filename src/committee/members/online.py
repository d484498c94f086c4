"""Members that learn from a stream, and the counts with which each of them sees its rows (Oza and Russell 2001).

A bootstrap sample of n rows holds a row k times, k ~ Binomial(n, 1/n), which is Poisson(1) for a long stream. So a
member that learns every row as it comes, k ~ Poisson(1) times, has learned from a bootstrap sample of the stream.

The count of a row comes from one uniform number, which depends on the seed of the member and on how many rows came
before: it does not matter in how many pieces the rows arrive.
"""

from __future__ import annotations

import copy
import inspect
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, pdtr, pdtrik
from sklearn.linear_model import Perceptron, SGDClassifier, SGDRegressor

from committee.base.array_types import Floats
from committee.members.estimators import check_values, predicted_codes, unfitted

SMALL_RATE = 30.0
"""Up to here the probabilities of 0, 1, 2, ... are added up until they reach the uniform number."""

LARGE_RATE = 1e6
"""From here on Poisson numbers are drawn by the normal distribution, which differs by a part in a thousand of their
deviation."""

MAX_REPEATS = 2**24
"""Rows presented to a member at once, when it takes no weights and sees each of them k times."""

LINEAR = (SGDClassifier, SGDRegressor, Perceptron)
"""Their own `predict` takes longer for its checks than for 100 rows, and every row is judged by every member."""


def stream_uniforms(seed: int, n_before: int, n: int) -> Floats:
    """Numbers n_before, ..., n_before + n - 1 of the uniform stream of this seed.

    >>> whole = stream_uniforms(7, 0, 5)
    >>> bool(np.array_equal(stream_uniforms(7, 3, 2), whole[3:]))
    True
    """
    return np.random.Generator(np.random.PCG64(seed).advance(int(n_before))).random(n)


def poisson_counts(uniforms: Floats, rates: Floats) -> Floats:
    """The Poisson(rate) number at each uniform one, by the inverse of the distribution function.

    >>> poisson_counts(np.array([0.3, 0.5, 0.95]), np.ones(3))
    array([0., 1., 3.])
    """
    is_small = rates <= SMALL_RATE
    counts = _summed_counts(uniforms, np.where(is_small, rates, 0.0))
    if not is_small.all():
        counts[~is_small] = _inverted_counts(uniforms[~is_small], rates[~is_small])
    return counts


def _inverted_counts(uniforms: Floats, rates: Floats) -> Floats:
    is_large, u = rates > LARGE_RATE, np.maximum(uniforms, 1e-16)
    rate = np.where(is_large, 1.0, rates)
    counts = np.ceil(np.where(u <= np.exp(-rate), 0.0, pdtrik(u, rate)))
    lower = np.maximum(counts - 1.0, 0.0)
    counts = np.where(pdtr(lower, rate) >= u, lower, counts)  # pdtrik may end just above a whole number
    return np.where(is_large, np.maximum(np.rint(rates + np.sqrt(rates) * ndtri(u)), 0.0), counts)


def _summed_counts(u: Floats, rates: Floats) -> Floats:
    """`poisson_counts` of small rates, in a tenth of the time: P(0) + P(1) + ... up to u."""
    share = np.exp(-rates)  # P(k), k = 0, 1, ...
    total, counts = share.copy(), np.zeros(u.size)
    k = 0
    # A share too small to be seen beside u ends the sum where rounding keeps it below u
    while np.any(is_behind := (total < u) & (share > 1e-18)):
        k += 1
        counts += is_behind
        share *= rates / k
        total += share
    return counts


def default_classifier() -> Any:
    """Logistic regression by stochastic gradient: the same from one piece of the stream as from many.

    (`average=True` is not: scikit-learn starts every piece with the intercept of the first. Its default rate starts so
    high that one pass over a table does not settle.)
    """
    return SGDClassifier(loss="log_loss", learning_rate="invscaling", eta0=0.1, power_t=0.25, shuffle=False)


def reject_offline(estimator: Any) -> None:
    """Only members that can go on learning can be used."""
    if not hasattr(estimator, "partial_fit"):
        raise ValueError(
            f"estimator must have partial_fit to learn online, {type(estimator).__name__} has not: pass one that has, "
            "such as SGDClassifier, Perceptron, GaussianNB or SGDRegressor of scikit-learn."
        )


def takes_weights(estimator: Any) -> bool:
    """Does its partial_fit take sample weights?"""
    return "sample_weight" in inspect.signature(estimator.partial_fit).parameters


def linear_scores(estimator: Any, X: NDArray[np.floating]) -> Floats:
    """What `decision_function` computes, or `predict` of numbers, for members of LINEAR: [n] or [n, classes]."""
    scores = X @ estimator.coef_.T + estimator.intercept_
    return scores if scores.ndim == 1 or scores.shape[1] > 1 else scores[:, 0]


class OnlineMember:
    """An estimator with `partial_fit` that learns the rows of a stream, each as often as its count says.

    `classes` are those of the stream, None for numbers; a classifier answers with positions among them.
    ``has_learned`` is False as long as every count was zero.
    """

    def __init__(self, estimator: Any, seed: int, classes: NDArray[Any] | None = None) -> None:
        self.estimator: Any = unfitted(estimator, seed)
        self.seed, self.classes = seed, classes
        self.has_learned, self.takes_weights = False, takes_weights(self.estimator)

    def copy(self) -> OnlineMember:
        """One that can learn on without changing this one."""
        other = copy.copy(self)
        other.estimator = copy.deepcopy(self.estimator)
        return other

    @property
    def is_constant(self) -> bool:
        """A single class leaves nothing to learn, and many classifiers refuse it."""
        return self.classes is not None and len(self.classes) == 1

    def counts(self, n_before: int, rates: Floats) -> Floats:
        """How often the member sees each row, after `n_before` rows of the stream: Poisson(rate)."""
        return poisson_counts(stream_uniforms(self.seed, n_before, rates.size), rates)

    def learn(self, X: NDArray[np.floating], y: NDArray[Any], counts: Floats) -> None:
        """Learn the rows in their order, each `counts` times."""
        seen = counts > 0.0
        if not seen.any():
            return
        if not self.is_constant:
            self._present(X[seen], y[seen], counts[seen])
        self.has_learned = True

    def _present(self, X: NDArray[np.floating], y: NDArray[Any], counts: Floats) -> None:
        # Classes said again are checked again, which takes as long as 500 rows
        known = {} if self.classes is None or self.has_learned else {"classes": self.classes}
        if self.takes_weights:
            self.estimator.partial_fit(X, y, **known, sample_weight=counts)
            return
        if counts.sum() > MAX_REPEATS:
            raise ValueError(
                f"{type(self.estimator).__name__} takes no weights, and {counts.sum():.3g} repeated rows are too many: "
                "divide sample_weight by its largest entry, or feed fewer rows at once."
            )
        rows = np.repeat(np.arange(counts.size), counts.astype(np.int64))
        self.estimator.partial_fit(X[rows], y[rows], **known)

    def predictions(self, X: NDArray[np.floating], n_jobs: int | None = None) -> NDArray[np.int64] | Floats:
        """Class codes, -1 before anything was learned; or numbers, nan before."""
        if self.classes is None:
            return self._values(X) if self.has_learned else np.full(len(X), np.nan)
        if not self.has_learned or self.is_constant:
            return np.full(len(X), 0 if self.has_learned else -1, np.int64)
        if type(self.estimator) in LINEAR:
            scores = linear_scores(self.estimator, X)
            return (scores > 0.0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):  # naive Bayes of a class that it has not seen
            return predicted_codes(self.estimator, X, self.classes)

    def _values(self, X: NDArray[np.floating]) -> Floats:
        is_linear = type(self.estimator) in LINEAR
        predicted = linear_scores(self.estimator, X) if is_linear else self.estimator.predict(X)
        hint = (
            " Learners by gradient diverge on columns of very different scale: scale them, or take a smaller learning "
            "rate."
        )
        return check_values(self.estimator, predicted, len(X), hint)

    def distribution(self, X: NDArray[np.floating]) -> Floats:
        """Probabilities of the classes, [n, classes]; all equal where the member has none to give yet."""
        assert self.classes is not None
        n_classes = len(self.classes)
        if not self.has_learned or self.is_constant:
            return np.full((len(X), n_classes), 1.0 / n_classes)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.asarray(self.estimator.predict_proba(X), np.float64)
        return np.where(np.isfinite(shares).all(axis=1, keepdims=True), shares, 1.0 / n_classes)
