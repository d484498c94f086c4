"""The penalised log-loss of logistic regression, its gradient and its curvature.

    f(x) = x B + b                                            one column of B for two classes, else one for each class
    p(x) = 1 / (1 + exp(-f))   or   exp(f_k) / sum_l exp(f_l)
    J(B, b) = sum_i w_i (-log p_(y_i)(x_i)) + penalty/2 |B|^2     w_i sum to 1; b is not penalised

    gradient  X' diag(w) (P - Y) + penalty B                      Y: 1 in the column of the row's class
    Hessian   block k, l: X' diag(w p_k (1[k = l] - p_l)) X + penalty 1[k = l]

The parameters are one array [p + 1, K]: the rows of B, then b. Held-out rows have weight 0, so that all folds of a
cross-validation use one design matrix.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.linear._design import Table, column_squares, column_sums, weighted_gram


class LogisticProblem(NamedTuple):
    """Data and penalty of a logistic regression."""

    X: Table  # [n, p]
    codes: NDArray[np.int64]  # [n], the class of each row, below n_classes
    weight: Floats  # [n], sum 1
    n_classes: int
    is_binary: bool  # one column of parameters in place of two
    penalty: float
    has_intercept: bool = True

    @property
    def n_outputs(self) -> int:
        return 1 if self.is_binary else self.n_classes


class Point(NamedTuple):
    """Parameters with the objective and its gradient."""

    B: Floats  # [p + 1, K], the intercept in the last row
    objective: float
    gradient: Floats  # [p + 1, K]
    loss: Floats  # [n], of every row, also those of weight 0
    probability: Floats  # [n, K]


def constant_model(problem: LogisticProblem) -> Floats:
    """Parameters of the constant model, whose probabilities are the class frequencies."""
    B = np.zeros((problem.X.shape[1] + 1, problem.n_outputs))
    if problem.has_intercept:
        logits = np.log(np.bincount(problem.codes, problem.weight, problem.n_classes))
        B[-1] = logits[1] - logits[0] if problem.is_binary else logits - logits.mean()
    return B


def row_losses(problem: LogisticProblem, score: Floats) -> tuple[Floats, Floats]:
    """-log p of each row's class [n], and the probabilities [n, K], for scores [n, K]."""
    if problem.is_binary:
        f = score[:, 0]
        small = np.exp(-np.abs(f))  # never overflows
        loss = np.log1p(small) + np.maximum(f, 0.0) - np.where(problem.codes == 1, f, 0.0)
        return loss, (np.where(f >= 0.0, 1.0, small) / (1.0 + small))[:, None]
    top = score.max(axis=1, keepdims=True)
    odds = np.exp(score - top)
    total = odds.sum(axis=1, keepdims=True)
    own = np.take_along_axis(score, problem.codes[:, None], axis=1)
    return (np.log(total) + top - own)[:, 0], odds / total


def scores(problem: LogisticProblem, B: Floats) -> Floats:
    """f(x) of all rows, [n, K]."""
    return problem.X @ B[:-1] + B[-1]


def evaluate(problem: LogisticProblem, B: Floats) -> Point:
    """Objective and gradient in one pass over the design matrix."""
    loss, P = row_losses(problem, scores(problem, B))
    residual = P * problem.weight[:, None]
    if problem.is_binary:
        residual[:, 0] -= problem.weight * (problem.codes == 1)
    else:
        residual[np.arange(len(P)), problem.codes] -= problem.weight
    gradient = _with_intercept(problem, residual)
    gradient[:-1] += problem.penalty * B[:-1]
    objective = float(problem.weight @ loss) + 0.5 * problem.penalty * float((B[:-1] ** 2).sum())
    return Point(B, objective, gradient, loss, P)


def with_penalty(problem: LogisticProblem, point: Point, penalty: float) -> tuple[LogisticProblem, Point]:
    """The problem with another penalty, and the same parameters there."""
    change = penalty - problem.penalty
    gradient = point.gradient.copy()
    gradient[:-1] += change * point.B[:-1]
    objective = point.objective + 0.5 * change * float((point.B[:-1] ** 2).sum())
    return problem._replace(penalty=penalty), point._replace(objective=objective, gradient=gradient)


def hessian_times(problem: LogisticProblem, P: Floats, V: Floats) -> Floats:
    """Hessian times a direction V [p + 1, K], at a point with probabilities P."""
    A = problem.X @ V[:-1] + V[-1]
    inner = A if problem.is_binary else A - np.einsum("ik,ik->i", P, A)[:, None]
    curved = P * inner
    if problem.is_binary:
        curved *= 1.0 - P
    curved *= problem.weight[:, None]
    product = _with_intercept(problem, curved)
    product[:-1] += problem.penalty * V[:-1]
    return product


def loss_blocks(problem: LogisticProblem, P: Floats) -> Floats:
    """Diagonal blocks of the Hessian without the penalty, [K, p + 1, p + 1]."""
    curvature = problem.weight[:, None] * P * (1.0 - P)
    return np.stack([_bordered_gram(problem, curvature[:, k]) for k in range(problem.n_outputs)])


def loss_diagonal(problem: LogisticProblem, P: Floats) -> Floats:
    """Diagonal of the Hessian without the penalty, [p + 1, K]."""
    curvature = problem.weight[:, None] * P * (1.0 - P)
    return np.vstack([column_squares(problem.X, curvature), curvature.sum(axis=0)])


def hessian(problem: LogisticProblem, P: Floats) -> Floats:
    """The whole Hessian, [K (p + 1), K (p + 1)], parameters ordered class by class."""
    d, K = problem.X.shape[1] + 1, problem.n_outputs
    H = np.zeros((K, d, K, d))
    for k in range(K):
        H[k, :, k] = _bordered_gram(problem, problem.weight * P[:, k] * (1.0 - P[:, k]))
        H[k, :, k].flat[: (d - 1) * d : d + 1] += problem.penalty
        for other in range(k):
            H[k, :, other] = -_bordered_gram(problem, problem.weight * P[:, k] * P[:, other])
            H[other, :, k] = H[k, :, other]
    return H.reshape(K * d, K * d)


def _bordered_gram(problem: LogisticProblem, weight: Floats) -> Floats:
    """(X, 1)' diag(weight) (X, 1), for weights >= 0."""
    d = problem.X.shape[1]
    gram = np.zeros((d + 1, d + 1))
    gram[:d, :d] = weighted_gram(problem.X, weight)
    if problem.has_intercept:
        gram[d, :d] = gram[:d, d] = column_sums(problem.X, weight)
        gram[d, d] = weight.sum()
    return gram


def _with_intercept(problem: LogisticProblem, rows: Floats) -> Floats:
    """(X, 1)' rows; 0 for an intercept that is not fitted."""
    last = rows.sum(axis=0) if problem.has_intercept else np.zeros(rows.shape[1])
    return np.vstack([problem.X.T @ rows, last])
