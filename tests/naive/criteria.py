"""Impurity and value of a set of rows, straight from their definitions.

Notation: w weights, G = sum of w*y, H = sum of w (newton: G = sum of w*g, H = sum of w*h), W = sum of w.

| criterion      | target y of the rows      | impurity of the rows                | value                 |
|----------------|---------------------------|-------------------------------------|-----------------------|
| gini, entropy  | class codes 0..K-1        | scikit-learn's (entropy in bits)    | K class shares        |
| squared_error  | numbers                   | weighted variance                   | weighted mean         |
| absolute_error | numbers                   | weighted mean of abs(y - median)    | weighted median       |
| poisson        | numbers >= 0              | half the mean deviance              | weighted mean         |
| edge, K <= 2   | -1, +1                    | (H - abs(G)) / 2 / W: error of vote | G / H                 |
| edge, K > 2    | class codes 0..K-1        | 1 - largest share: error of vote    | K class shares        |
| z              | -1, +1                    | sqrt((H - G) (H + G)) / W           | G / H                 |
| newton         | two columns g, h          | -T(G)^2 / (H + l2) / W              | -T(G) / (H + l2)      |

T is soft thresholding by l1. With these, W_L*imp_L + W_R*imp_R falls exactly where the score of the split rises: the
sum of abs(G), of max_k G_k, of -sqrt((H-G)(H+G)), of T(G)^2/(H+l2).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

EPS = float(np.finfo(np.float64).eps)  # a node of at most this impurity is pure (scikit-learn's _tree.pyx)
POISSON_EPS = 10 * EPS  # a child needs a larger sum of w*y than this (scikit-learn's _criterion.pyx)


class Rule(NamedTuple):
    """What a tree is grown for."""

    criterion: str
    n_classes: int = 0  # 0: the target is no class
    l1: float = 0.0
    l2: float = 0.0

    @property
    def has_shares(self) -> bool:
        """True where the target is a class code and the value of a node is a vector of class shares."""
        return self.criterion in ("gini", "entropy") or (self.criterion == "edge" and self.n_classes > 2)


def prepare_target(rule: Rule, y: NDArray) -> NDArray:
    """The target in the dtype that the functions below expect."""
    y = np.asarray(y)
    return y.astype(np.int64) if rule.has_shares else y.astype(np.float64)


def class_shares(y: NDArray[np.int64], w: Floats, n_classes: int) -> Floats:
    return np.array([w[y == k].sum() for k in range(n_classes)]) / w.sum()


def weighted_median(y: Floats, w: Floats) -> float:
    """The value where the cumulative weight passes half; the middle of two values where it meets half exactly."""
    order = np.argsort(y, kind="stable")
    y, cumulative = y[order], np.cumsum(w[order])
    half, slack = cumulative[-1] / 2, 1e-12 * cumulative[-1]
    first = np.flatnonzero(cumulative >= half - slack)[0]
    last = np.flatnonzero(cumulative > half + slack)[0]
    return float((y[first] + y[last]) / 2)


def weighted_mean(y: Floats, w: Floats) -> float:
    return float(np.sum(w * y) / np.sum(w))


def soft_threshold(total: float, l1: float) -> float:
    return float(np.sign(total) * max(abs(total) - l1, 0.0))


def impurity(rule: Rule, y: NDArray, w: Floats) -> float:
    """Impurity of the rows (y, w), see the table above."""
    if rule.has_shares:
        return _impurity_of_shares(rule.criterion, class_shares(y, w, rule.n_classes))
    if rule.criterion == "newton":
        g, h = _newton_sums(y, w)
        return -_ratio(soft_threshold(g, rule.l1) ** 2, h + rule.l2) / float(w.sum())
    mean = weighted_mean(y, w)
    if rule.criterion == "squared_error":
        return weighted_mean((y - mean) ** 2, w)
    if rule.criterion == "absolute_error":
        return weighted_mean(np.abs(y - weighted_median(y, w)), w)
    if rule.criterion == "poisson":
        return _half_poisson_deviance(y, w, mean)
    if rule.criterion == "edge":
        return (1 - abs(mean)) / 2
    if rule.criterion == "z":
        return float(np.sqrt(max((1 - mean) * (1 + mean), 0.0)))
    raise ValueError(f"unknown criterion {rule.criterion!r}")


def value(rule: Rule, y: NDArray, w: Floats) -> Floats:
    """What the node says, see the table above."""
    if rule.has_shares:
        return class_shares(y, w, rule.n_classes)
    if rule.criterion == "newton":
        g, h = _newton_sums(y, w)
        return np.array([-_ratio(soft_threshold(g, rule.l1), h + rule.l2)])
    if rule.criterion == "absolute_error":
        return np.array([weighted_median(y, w)])
    return np.array([weighted_mean(y, w)])


def fisher_keys(rule: Rule, y: NDArray, w: Floats) -> Floats:
    """The numbers by which the category of these rows is ordered: one key per order that is tried."""
    if rule.has_shares:
        shares = class_shares(y, w, rule.n_classes)
        return shares[1:] if rule.n_classes == 2 else shares
    if rule.criterion == "newton":
        return np.array([_ratio(*_newton_sums(y, w))])
    return np.array([weighted_mean(y, w)])


def _impurity_of_shares(criterion: str, shares: Floats) -> float:
    if criterion == "gini":
        return float(1 - np.sum(shares**2))
    if criterion == "entropy":
        present = shares[shares > 0]
        return float(-np.sum(present * np.log2(present)))
    return float(1 - shares.max())


def _newton_sums(y: Floats, w: Floats) -> tuple[float, float]:
    return float(np.sum(w * y[:, 0])), float(np.sum(w * y[:, 1]))


def _half_poisson_deviance(y: Floats, w: Floats, mean: float) -> float:
    if np.sum(w * y) <= POISSON_EPS:
        return float("inf")
    logs = np.zeros_like(y)
    logs[y > 0] = np.log(y[y > 0] / mean)
    return weighted_mean(y * logs, w)


def _ratio(numerator: float, denominator: float) -> float:
    return numerator / denominator if denominator > 0 else 0.0
