"""Members of online ensembles, and the counts of their rows (Oza and Russell 2001).

A bootstrap sample of n rows contains a row k times, k ~ Binomial(n, 1/n), which is Poisson(1) for a long stream. So a
member that is updated with every row k ~ Poisson(1) times is fitted on a bootstrap sample of the stream.

The count of a row is made from one uniform random number, which depends on the seed of the member and on the number of
rows before: it does not depend on the batches in which the rows arrive.
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
"""Up to this rate the probabilities of 0, 1, 2, ... are summed until they reach the uniform number."""

LARGE_RATE = 1e6
"""Above this rate Poisson numbers are approximated by the normal distribution."""

MAX_REPEATS = 2**24
"""Maximum number of repeated rows in one update of a member that accepts no weights."""

LINEAR = (SGDClassifier, SGDRegressor, Perceptron)
"""Their scores are computed here, as the checks of their `predict` take longer than the prediction of 100 rows."""


def stream_uniforms(seed: int, n_before: int, n: int) -> Floats:
    """Draw numbers n_before, ..., n_before + n - 1 of the uniform random numbers of this seed.

    >>> whole = stream_uniforms(7, 0, 5)
    >>> bool(np.array_equal(stream_uniforms(7, 3, 2), whole[3:]))
    True
    """
    return np.random.Generator(np.random.PCG64(seed).advance(int(n_before))).random(n)


def poisson_counts(uniforms: Floats, rates: Floats) -> Floats:
    """Convert uniform random numbers to Poisson(rate) ones, by the inverse of the distribution function.

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
    counts = np.where(pdtr(lower, rate) >= u, lower, counts)  # pdtrik may be just above an integer
    return np.where(is_large, np.maximum(np.rint(rates + np.sqrt(rates) * ndtri(u)), 0.0), counts)


def _summed_counts(u: Floats, rates: Floats) -> Floats:
    """Compute `poisson_counts` of small rates faster: sum P(0) + P(1) + ... up to u."""
    p = np.exp(-rates)  # P(k), k = 0, 1, ...
    total, counts = p.copy(), np.zeros(u.size)
    k = 0
    while np.any(is_below := (total < u) & (p > 1e-18)):  # a smaller p does not change the sum
        k += 1
        counts += is_below
        p *= rates / k
        total += p
    return counts


def default_classifier() -> Any:
    """Make a logistic regression by stochastic gradient descent that does not depend on the batches of the stream.

    With `average=True` it would, and scikit-learn's default learning rate is too large for a single pass.
    """
    return SGDClassifier(loss="log_loss", learning_rate="invscaling", eta0=0.1, power_t=0.25, shuffle=False)


def reject_offline(estimator: Any) -> None:
    """Raise ValueError for an estimator without `partial_fit`."""
    if not hasattr(estimator, "partial_fit"):
        raise ValueError(
            f"estimator must have partial_fit, {type(estimator).__name__} does not: pass one such as SGDClassifier, "
            "Perceptron, GaussianNB or SGDRegressor of scikit-learn."
        )


def takes_weights(estimator: Any) -> bool:
    """Whether `partial_fit` accepts sample weights."""
    return "sample_weight" in inspect.signature(estimator.partial_fit).parameters


def linear_scores(estimator: Any, X: NDArray[np.floating]) -> Floats:
    """Compute `decision_function`, or `predict` of regressors, of estimators in LINEAR: [n] or [n, classes]."""
    scores = X @ estimator.coef_.T + estimator.intercept_
    return scores if scores.ndim == 1 or scores.shape[1] > 1 else scores[:, 0]


class OnlineMember:
    """An estimator with `partial_fit` that is updated with the rows of a stream, each as often as its count.

    `classes` are those of the stream, None for regression; a classifier predicts their codes. `is_fitted` is False as
    long as all counts were zero.
    """

    def __init__(self, estimator: Any, seed: int, classes: NDArray[Any] | None = None) -> None:
        self.estimator: Any = unfitted(estimator, seed)
        self.seed, self.classes = seed, classes
        self.is_fitted, self.takes_weights = False, takes_weights(self.estimator)

    def copy(self) -> OnlineMember:
        """Copy the member and its estimator."""
        other = copy.copy(self)
        other.estimator = copy.deepcopy(self.estimator)
        return other

    @property
    def is_constant(self) -> bool:
        """Whether there is a single class, which many classifiers reject."""
        return self.classes is not None and len(self.classes) == 1

    def counts(self, n_before: int, rates: Floats) -> Floats:
        """Draw the Poisson(rate) count of each row after `n_before` rows of the stream."""
        return poisson_counts(stream_uniforms(self.seed, n_before, rates.size), rates)

    def partial_fit(self, X: NDArray[np.floating], y: NDArray[Any], counts: Floats) -> None:
        """Update the estimator with the rows in their order, each `counts` times."""
        seen = counts > 0.0
        if not seen.any():
            return
        if not self.is_constant:
            self._partial_fit(X[seen], y[seen], counts[seen])
        self.is_fitted = True

    def _partial_fit(self, X: NDArray[np.floating], y: NDArray[Any], counts: Floats) -> None:
        # classes are passed once, as their check takes as long as 500 rows
        known = {} if self.classes is None or self.is_fitted else {"classes": self.classes}
        if self.takes_weights:
            self.estimator.partial_fit(X, y, **known, sample_weight=counts)
            return
        if counts.sum() > MAX_REPEATS:
            raise ValueError(
                f"{type(self.estimator).__name__} takes no weights, and {counts.sum():.3g} repeated rows are too "
                "many: divide sample_weight by its largest entry, or pass fewer rows at once."
            )
        rows = np.repeat(np.arange(counts.size), counts.astype(np.int64))
        self.estimator.partial_fit(X[rows], y[rows], **known)

    def predictions(self, X: NDArray[np.floating], n_jobs: int | None = None) -> NDArray[np.int64] | Floats:
        """Predict class codes, or values; before the first update -1, or nan."""
        if self.classes is None:
            return self._values(X) if self.is_fitted else np.full(len(X), np.nan)
        if not self.is_fitted or self.is_constant:
            return np.full(len(X), 0 if self.is_fitted else -1, np.int64)
        if type(self.estimator) in LINEAR:
            scores = linear_scores(self.estimator, X)
            return (scores > 0.0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):  # naive Bayes with a class without rows
            return predicted_codes(self.estimator, X, self.classes)

    def _values(self, X: NDArray[np.floating]) -> Floats:
        is_linear = type(self.estimator) in LINEAR
        predicted = linear_scores(self.estimator, X) if is_linear else self.estimator.predict(X)
        hint = (
            " Gradient descent diverges on columns of very different scale: scale them, or use a smaller learning rate."
        )
        return check_values(self.estimator, predicted, len(X), hint)

    def distribution(self, X: NDArray[np.floating]) -> Floats:
        """Predict class probabilities, [n, classes]; equal ones before the first update."""
        assert self.classes is not None
        n_classes = len(self.classes)
        if not self.is_fitted or self.is_constant:
            return np.full((len(X), n_classes), 1.0 / n_classes)
        with np.errstate(divide="ignore", invalid="ignore"):
            p = np.asarray(self.estimator.predict_proba(X), np.float64)
        return np.where(np.isfinite(p).all(axis=1, keepdims=True), p, 1.0 / n_classes)
