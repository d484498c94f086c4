"""Newton's method for the penalised log-loss, with a certificate.

    step      V = -H^-1 g,  B <- B + t V,  t = 1, 1/2, 1/4, ... until J decreases by 1e-4 t |g V| (Armijo)
    end       |g| <= tol |g_0|  and  |g| <= balance |penalty B|

|.| is the norm of the gradient for columns of mean square 1, g_0 the gradient of the constant model: the criterion does
not depend on the units of the columns. At the minimum the gradients of loss and penalty add up to 0; by the second
condition g is small relative to both, however weak the penalty is. J is convex and decreases with every step.

Small problems factorise H in every step. For others H^-1 g comes from conjugate gradients (SciPy's), where H is never
formed, preconditioned by the diagonal blocks of a Hessian nearby: one block for each class, at the minimum for the
penalty before. A fit to one fold takes the blocks of the fit to all rows, which differ little: a few products with X
suffice. (SciPy's own minimisers take no preconditioner and stop by differences of the objective, which rounding limits
to half of the digits: too early for the same model from repeated rows as from integer weights.)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse import linalg as sparse_linalg

from committee.base.array_types import Floats
from committee.linear._design import column_squares
from committee.linear._logistic_loss import (
    LogisticProblem,
    Point,
    evaluate,
    hessian,
    hessian_times,
    loss_blocks,
    loss_diagonal,
)

LinearOperator: Any = sparse_linalg.LinearOperator  # matvec is missing in its stubs
lapack: Any = linalg.lapack  # its functions are missing in the stubs

DIRECT_WORK, DIRECT_SIZE = 10_000_000, 600
"""Multiplications to form the whole Hessian, and its size, up to which it is factorised in every step."""

BLOCK_SIZE = 1500
"""Columns up to which preconditioning blocks are formed; for more the diagonal alone is used."""

BLOCK_WORK = 1_000_000_000
"""Multiplications for the blocks; for more a sample of the rows is used."""

SPARSE_COST = 10
"""Relative time of a multiplication of sparse matrices to one of dense matrices."""

SUFFICIENT, MAX_HALVINGS = 1e-4, 40
MAX_CG = 200
ROUNDING = 1e-14
"""Norm of a gradient that counts as zero."""

FLAT = 1e-13
"""Decreases of the objective by less than this fraction are below rounding; the gradient is compared instead."""


class Minimum(NamedTuple):
    """Result of Newton's method."""

    point: Point
    norm: float  # of the gradient, relative to that of the constant model
    n_iter: int
    is_converged: bool


class Scale(NamedTuple):
    """Norms of gradients."""

    unit: Floats  # [p + 1, 1], root mean square of the columns
    first: float  # norm at the constant model

    def norm(self, gradient: Floats) -> float:
        return float(np.linalg.norm(gradient / self.unit[: len(gradient)]))

    def relative(self, gradient: Floats) -> float:
        norm = self.norm(gradient)
        return 0.0 if norm <= ROUNDING else norm / max(self.first, ROUNDING)


class Aim(NamedTuple):
    """Tolerances of the gradient."""

    tol: float  # relative to that of the constant model
    balance: float  # relative to that of the penalty


def gradient_scale(problem: LogisticProblem, start: Point) -> Scale:
    """The scale for gradients of this problem; `start` is its constant model."""
    squares = np.append(column_squares(problem.X, problem.weight), 1.0)
    unit = np.sqrt(np.where(squares > 0.0, squares, 1.0))[:, None]
    return Scale(unit, float(np.linalg.norm(start.gradient / unit)))


def is_direct(problem: LogisticProblem) -> bool:
    """Whether the whole Hessian is formed in every step."""
    d, K = problem.X.shape[1] + 1, problem.n_outputs
    return gram_work(problem) * K * (K + 1) // 2 <= DIRECT_WORK and d * K <= DIRECT_SIZE


def gram_work(problem: LogisticProblem) -> int:
    """Multiplications of one product X' diag(w) X."""
    X = problem.X
    if sparse.issparse(X):
        return SPARSE_COST * int((np.diff(X.indptr).astype(np.int64) ** 2).sum())
    return X.shape[0] * (X.shape[1] + 1) ** 2


def newton(
    problem: LogisticProblem, start: Point, scale: Scale, inverse: Inverse | None, aim: Aim, max_iter: int
) -> Minimum:
    """Minimise from `start`; `inverse` preconditions, None factorises the Hessian in every step."""
    point = start
    for n_iter in range(max_iter + 1):
        norm = scale.relative(point.gradient)
        limit = min(aim.tol, aim.balance * scale.norm(problem.penalty * point.B[:-1]) / max(scale.first, ROUNDING))
        if norm <= limit or n_iter == max_iter:
            return Minimum(point, norm, n_iter, norm <= aim.tol)
        # Step 1: the direction
        precision = max(0.3 * limit / norm, min(0.1, norm))
        V = _direct_step(problem, point) if inverse is None else _cg_step(problem, point, inverse, precision)
        # Step 2: the longest of the steps 1, 1/2, 1/4, ... that decreases the objective enough
        after = _line_search(problem, point, V, scale)
        if after is None:
            return Minimum(point, norm, n_iter, norm <= aim.tol)
        point = after
    raise AssertionError("the loop returns")


def _line_search(problem: LogisticProblem, point: Point, V: Floats, scale: Scale) -> Point | None:
    slope = float((point.gradient * V).sum())
    if not slope < 0.0:
        return None
    is_flat = -slope <= FLAT * abs(point.objective)
    for t in 0.5 ** np.arange(0.0, 1.0 if is_flat else MAX_HALVINGS):
        after = evaluate(problem, point.B + t * V)
        if is_flat and scale.relative(after.gradient) < scale.relative(point.gradient):
            return after
        if not is_flat and after.objective <= point.objective + SUFFICIENT * t * slope:
            return after
    return None


def _centred(problem: LogisticProblem, V: Floats) -> Floats:
    """Subtract the mean over the classes, which does not change the probabilities."""
    return V if problem.is_binary else V - V.mean(axis=1, keepdims=True)


def _direct_step(problem: LogisticProblem, point: Point) -> Floats:
    d, K = point.B.shape
    H = hessian(problem, point.probability)
    last = np.arange(d - 1, d * K, d)
    # The intercept has no curvature along the direction (1, ..., 1), and none at all where it is not fitted.
    H[np.ix_(last, last)] += np.eye(K) if not problem.has_intercept else (0.0 if problem.is_binary else 1.0 / K)
    V = -cholesky_solve(H, point.gradient.T.ravel()).reshape(K, d).T
    return _centred(problem, V)


def _cg_step(problem: LogisticProblem, point: Point, inverse: Inverse, precision: float) -> Floats:
    shape = point.B.shape

    def times(v: Floats) -> Floats:
        return hessian_times(problem, point.probability, v.reshape(shape)).ravel()

    def precondition(v: Floats) -> Floats:
        return _centred(problem, inverse.times(_centred(problem, v.reshape(shape)))).ravel()

    size = point.B.size
    H = LinearOperator((size, size), matvec=times, dtype=np.float64)
    M = LinearOperator((size, size), matvec=precondition, dtype=np.float64)
    V, _ = sparse_linalg.cg(H, -point.gradient.ravel(), rtol=precision, atol=0.0, maxiter=MAX_CG, M=M)
    return _centred(problem, V.reshape(shape))


# --- preconditioning --------------------------------------------------------------------------------------------------


class Curvature(NamedTuple):
    """Hessian of the loss, without the penalty, near a minimum: blocks for each class, or the diagonal alone."""

    blocks: Floats  # [K, p + 1, p + 1], or [0] where there are too many columns
    diagonal: Floats  # [p + 1, K]

    def inverse(self, penalty: float) -> Inverse:
        """The approximate inverse with this penalty."""
        diagonal = self.diagonal.copy()
        diagonal[:-1] += penalty
        diagonal[-1] = np.where(diagonal[-1] > 0.0, diagonal[-1], 1.0)
        blocks = [_inverse(block, diagonal[:, k], penalty) for k, block in enumerate(self.blocks)]
        return Inverse(np.stack(blocks) if blocks else np.empty(0), 1.0 / diagonal)


class Inverse(NamedTuple):
    """An approximate inverse of the Hessian."""

    blocks: Floats  # [K, p + 1, p + 1] or [0]
    diagonal: Floats  # [p + 1, K]

    def of(self, classes: NDArray[np.int64]) -> Inverse:
        """The inverse for some of the classes."""
        if len(classes) >= self.diagonal.shape[1]:
            return self
        return Inverse(self.blocks[classes] if self.blocks.size else self.blocks, self.diagonal[:, classes])

    def times(self, V: Floats) -> Floats:
        """The inverse times an array [p + 1, K]."""
        return np.matmul(self.blocks, V.T[:, :, None])[:, :, 0].T if self.blocks.size else self.diagonal * V


def curvature_at(problem: LogisticProblem, P: Floats) -> Curvature:
    """The curvature at probabilities P; the blocks of a large table use a sample of its rows, the diagonal all rows."""
    diagonal = loss_diagonal(problem, P)
    if len(diagonal) > BLOCK_SIZE:
        return Curvature(np.empty(0), diagonal)
    step = -(-gram_work(problem) * problem.n_outputs // BLOCK_WORK)
    weight = step * problem.weight[::step]
    some = problem._replace(X=problem.X[::step], codes=problem.codes[::step], weight=weight)
    return Curvature(loss_blocks(some, P[::step]), diagonal)


def _inverse(block: Floats, diagonal: Floats, penalty: float) -> Floats:
    """Inverse of a block with the penalty; its diagonal is at least that of all rows."""
    A = block.copy()
    A.flat[:: len(A) + 1] = np.maximum(A.diagonal() + penalty, diagonal)
    return cholesky_solve(A, np.eye(len(A)))


def cholesky_solve(A: Floats, b: Floats) -> Floats:
    """A^-1 b for a positive definite A, which may be singular up to rounding."""
    for jitter in (0.0, 1e-12, 1e-8, 1e-4):
        shifted = A if jitter == 0.0 else A + np.diag(jitter * A.diagonal())
        factor, failed = lapack.dpotrf(shifted, lower=1)
        if not failed:
            return lapack.dpotrs(factor, b, lower=1)[0]
    return b / (A.diagonal() if b.ndim == 1 else A.diagonal()[:, None])
