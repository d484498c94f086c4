"""The dual problem of every kernel SVM, solved by sequential minimal optimisation (SMO) in blocks.

    min 1/2 a'Qa + p'a    y'a = const, 0 <= a_i <= C_i,    Q_ij = y_i y_j k(x_i, x_j)

With g = K (a y) and f = g + y p (y times the gradient), a is optimal iff no variable whose y_i a_i may increase
(a_i < C_i where y_i = 1, a_i > 0 where y_i = -1) has an f below that of one whose y_j a_j may decrease: the gap of the
KKT conditions is

    max {f_j : y_j a_j may decrease} - min {f_i : y_i a_i may increase} <= tol

(Keerthi et al., Improvements to Platt's SMO algorithm, 2001). `_descend` repeats five steps:

    1. check the KKT conditions                    `Progress.check_kkt`
    2. if they hold, verify the gradient           `_check_gradient`: kernel rows are float32 in large problems, so the
                                                   gradient drifts; rows that decide are recomputed in float64
    3. shrink the problem                          `_shrinking.py`: if most variables are at their bounds for good and
                                                   the cache is small, continue with the others
    4. choose the variables that violate most      `_choose`: a block of up to 512, half of it from the step before
                                                   (Wen et al., ThunderSVM, 2018)
    5. run SMO on pairs inside the block           `_solve_block`, with second-order selection (Platt 1998; Fan, Chen
                                                   and Lin 2005); then update the gradient of all rows

The nu-SVMs fix the sum of each class, so that pairs are chosen and the gap is measured within a class. Small problems
are float64 throughout, and an active-set method (`_active_set.py`) computes the last digits, or takes over where pairs
of variables converge slowly.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.blas_threads import one_blas_thread
from committee.svm._kernel_rows import KernelRows

Rows = NDArray[np.int64]
Array = NDArray[Any]

BLOCK = 512
"""Maximum number of variables of a block: its Gram matrix fills the second-level cache."""

FIRST_BLOCK, BUSY = 192, 0.4
"""Size of the first block, when most variables are not needed yet. If more than this fraction of a block moved, the
next block may be twice as large."""

INNER_TOL, FINAL_TOL = 0.1, 0.5
"""A block is solved until its gap is this fraction of the gap of all variables, which suffices for the next block; to
the second fraction of tol if it holds all variables that violate, and never beyond."""

PART_TOL = 0.9
"""A shrunk problem is solved to this fraction of the tolerance: the gradient in float64 then seldom disagrees."""

SAMPLE, MAX_NOISE = 64, 0.1
"""Rows on which float32 kernel values are compared with float64 ones, and their maximum error as a fraction of tol."""

FAR = 1e37
"""Larger values mean that a variable may not be chosen."""

MAX_STEPS = 10_000_000
"""Limit if the user sets none (at least 100 steps per variable): rounding may cause cycles."""

MAX_IDLE = 10
"""Maximum number of consecutive blocks without a move: steps are below the rounding of huge kernel values."""

PATIENCE = 1000
"""Steps per variable after which a small problem is passed to the active-set method, and back if that fails."""

FINE = 1e-3
"""Small problems are solved to this fraction of tol before the active-set method takes over, in as many steps again."""


class Problem(NamedTuple):
    """A dual problem over the rows of a table; several variables may share a row."""

    y: Floats  # [v] +1 or -1
    p: Floats  # [v]
    upper: Floats  # [v] C_i, may be infinite
    row: Rows  # [v] the row of each variable
    start: Floats  # [v] feasible values, which fix the sums
    is_by_class: bool = False  # the sum of each class is fixed, not only their difference


class Step(NamedTuple):
    """The measurements of an outer step: a row of `history_`."""

    step: int  # pairs moved so far
    objective: float
    gap: float  # among the active variables, while the problem is shrunk
    n_support: int


class Solution(NamedTuple):
    """The optimum, and how accurate it is."""

    alpha: Floats  # [v]
    f: Floats  # [v] g + y p
    lowest: Floats  # [2] smallest f of a variable that may increase, for y = 1 and y = -1
    highest: Floats  # [2] largest f of a variable that may decrease
    gap: float
    objective: float
    n_steps: int
    is_optimal: bool
    records: tuple[Step, ...]


class KKTConditions(NamedTuple):
    """The f of the variables that may move, and its extremes."""

    up: Floats  # [v] f of variables that may increase (along y), FAR elsewhere
    low: Floats  # [v] f of variables that may decrease, -FAR elsewhere
    lowest: Floats  # [2]
    highest: Floats  # [2]

    @property
    def middle(self) -> float:
        """The mean of the ends."""
        ends = [float(end) for end in (*self.lowest, *self.highest) if abs(end) < FAR]
        return sum(ends) / len(ends) if ends else 0.0

    def ends(self, problem: Problem) -> tuple[Any, Any]:
        """The smallest f of `up` and the largest of `low` among the variables that each variable pairs with."""
        if not problem.is_by_class:
            return self.lowest.min(), self.highest.max()
        side = (problem.y < 0.0).astype(np.int64)
        return self.lowest[side], self.highest[side]

    def gap(self, is_by_class: bool) -> float:
        if is_by_class:
            return float(max(self.highest - self.lowest))
        return float(self.highest.max() - self.lowest.min())


class Frozen(NamedTuple):
    """The values of the whole problem when it was shrunk (`_shrinking.py`)."""

    objective: float  # of the whole
    f: Floats  # [v] of the active variables
    n_support: int  # of the frozen variables


class Progress:
    """The variables of a run and their gradient, updated in place."""

    def __init__(self, problem: Problem, rows: KernelRows, g: Floats | None = None) -> None:
        self.problem, self.rows = problem, rows
        self.alpha = problem.start.copy()
        self.shift = problem.y * problem.p
        self.g = np.zeros(rows.n) if g is None else g
        if g is None:
            self._add(self.coefficients())
        self.frozen: Frozen | None = None
        self.block: Rows = np.empty(0, np.int64)
        self.gram: Array = np.empty((0, 0), rows.dtype)  # of the block or of its first variables; has spare columns
        self.block_size = FIRST_BLOCK
        self.n_steps = 0
        self.records: list[Step] = []

    @property
    def f(self) -> Floats:
        return self.g[self.problem.row] + self.shift

    @property
    def objective(self) -> float:
        """1/2 a'Qa + p'a, from g = K (a y); of the whole problem, also if it is shrunk."""
        if self.frozen is not None:
            # The change is quadratic: the step times the mean of the gradients before and after
            by = (self.alpha - self.problem.start) * self.problem.y
            return self.frozen.objective + float(0.5 * (by @ (self.frozen.f + self.f)))
        by = self.alpha * self.problem.y
        return float(0.5 * (by @ self.g[self.problem.row]) + self.problem.p @ self.alpha)

    @property
    def n_support(self) -> int:
        """Number of variables that are not zero, of the whole problem."""
        return int(np.count_nonzero(self.alpha)) + (0 if self.frozen is None else self.frozen.n_support)

    def coefficients(self) -> Floats:
        """sum a y of every row."""
        coef = np.zeros(self.rows.n)
        np.add.at(coef, self.problem.row, self.alpha * self.problem.y)
        return coef

    def move(self, variables: Rows, by: Floats) -> None:
        """Update the gradient after `by` was added to some variables."""
        coef = np.zeros(self.rows.n)
        np.add.at(coef, self.problem.row[variables], by * self.problem.y[variables])
        self._add(coef)

    def _add(self, coef: Floats) -> None:
        used = np.flatnonzero(coef)
        self.rows.add_sums(self.g, used, coef[used])

    def check_kkt(self) -> KKTConditions:
        from committee.kernels.svm.smo import Variables, check_kkt

        problem = self.problem
        up, low, extremes = np.empty(problem.y.size), np.empty(problem.y.size), np.empty(4)
        variables = Variables(problem.row, self.shift, problem.y, self.alpha, problem.upper)
        check_kkt(self.g, variables, up, low, extremes)
        return KKTConditions(up, low, extremes[::2], extremes[1::2])


OnStep = Callable[[Progress, Step], None]


def solve(
    problem: Problem,
    rows: KernelRows,
    *,
    tol: float = 1e-3,
    max_steps: int = -1,
    on_step: OnStep | None = None,
) -> Solution:
    """The optimum to `tol`, checked in float64; `on_step` is called after every outer step."""
    from committee.svm._active_set import polish

    limit = max_steps if max_steps >= 0 else max(MAX_STEPS, 100 * problem.y.size)
    with one_blas_thread():
        run = Progress(problem, rows)
        patience = PATIENCE * problem.y.size
        is_optimal = _descend(run, tol, min(limit, patience) if rows.is_exact else limit, on_step)
        if rows.is_exact and not is_optimal and limit > patience:
            # Pairs of variables converge slowly if columns differ in scale: move all at once
            polish(run)
            is_optimal = _descend(run, tol, limit, on_step)
        if rows.is_exact and is_optimal:
            alpha, g = run.alpha.copy(), run.g.copy()
            _descend(run, FINE * tol, min(limit, 2 * run.n_steps + 10 * problem.y.size), on_step)
            polish(run)
            if run.check_kkt().gap(problem.is_by_class) > tol:  # the gap need not decrease with the objective
                run.alpha[:], run.g[:] = alpha, g
    kkt = run.check_kkt()
    gap = kkt.gap(problem.is_by_class)
    _record(run, gap)
    return Solution(
        run.alpha, run.f, kkt.lowest, kkt.highest, gap, run.objective, run.n_steps, is_optimal,
        tuple(run.records),
    )  # fmt: skip


def _descend(run: Progress, tol: float, limit: int, on_step: OnStep | None) -> bool:
    """Outer steps until the gap is at most tol (true), or no step or none within the limit is possible (false)."""
    from committee.svm._shrinking import active_rows, descend_among

    target, may_shrink, n_idle = tol, True, 0
    while True:
        # Step 1: check the KKT conditions
        kkt = run.check_kkt()
        gap = kkt.gap(run.problem.is_by_class)
        if gap <= target:
            if run.rows.is_exact or run.frozen is not None:
                return True
            # Step 2: they hold for the float32 gradient; verify it
            gap = _check_gradient(run, kkt, tol)
            if gap <= tol:
                return True
            target *= 0.7
            kkt = run.check_kkt()
        if run.n_steps >= limit:
            return False
        # Step 3: shrink the problem if most variables are at their bounds for good
        active = active_rows(run, kkt) if may_shrink else None
        if active is not None:
            aim = target if run.frozen is not None else PART_TOL * target
            may_shrink = descend_among(run, active, partial(_descend, tol=aim, limit=limit), on_step)
            continue
        # Step 4: choose the variables that violate most
        run.block = _choose(run, kkt)
        # Step 5: SMO on pairs of them, then the gradient of all rows
        aim = FINAL_TOL * min(target, tol)
        if not _has_all(run, kkt):
            aim = max(aim, INNER_TOL * gap)
        moved = _solve_block(run, kkt.middle, aim, limit - run.n_steps)
        n_idle = 0 if moved else n_idle + 1
        if n_idle == MAX_IDLE or (not moved and gap <= 10.0 * tol and not run.rows.is_exact):
            return False  # the rounding of kernel values hides any better step
        step = _record(run, gap)
        if on_step is not None:
            on_step(run, step)


def _record(run: Progress, gap: float) -> Step:
    step = Step(run.n_steps, run.objective, gap, run.n_support)
    run.records.append(step)
    return step


def _check_gradient(run: Progress, kkt: KKTConditions, tol: float) -> float:
    """Recompute the gradient of every row that may decide the gap, and return the gap.

    A sample of these rows measures the drift of the gradient, and the error of sums over float32 kernel values: if it
    is a small part of tol, the gradient is kept, or recomputed from float32 values. The error is added to the gap.
    """
    problem = run.problem
    coef = run.coefficients()
    support = np.flatnonzero(coef)
    lowest, highest = kkt.ends(problem)
    width, noise = 10.0 * tol, np.inf
    while True:
        near = (kkt.up <= lowest + width) | (kkt.low >= highest - width)
        rows = np.unique(problem.row[near])
        if np.isinf(noise):
            drift, noise = _errors(run, rows, support, coef[support], MAX_NOISE * tol)
            if drift <= MAX_NOISE * tol:
                return kkt.gap(problem.is_by_class) + drift
        in_single = noise <= MAX_NOISE * tol
        exact = run.rows.exact_sums(rows, support, coef[support], in_single)
        error = float(np.abs(exact - run.g[rows]).max(initial=0.0))
        run.g[rows] = exact
        if error <= 0.5 * width or len(rows) == run.rows.n:
            return run.check_kkt().gap(problem.is_by_class) + (noise if in_single else 0.0)
        width = 8.0 * error


def _errors(run: Progress, candidates: Rows, support: Rows, coef: Floats, enough: float) -> tuple[float, float]:
    """Estimated errors of the gradient and, unless that is below `enough`, of new sums over float32 kernel values: four
    times the largest error in a sample of rows."""
    rows = run.rows
    some = candidates[:: -(-len(candidates) // SAMPLE)]
    exact = rows.exact_sums(some, support, coef)
    drift = 4.0 * float(np.abs(exact - run.g[some]).max(initial=0.0))
    if drift <= enough or rows.points is rows.exact_points:
        return drift, 0.0
    single = rows.exact_sums(some, support, coef, in_single=True)
    return drift, 4.0 * float(np.abs(exact - single).max(initial=0.0))


# --- the block -------------------------------------------------------------------------------------------------------


def _choose(run: Progress, kkt: KKTConditions) -> Rows:
    """The newer half of the last block, and the variables that violate most on each side.

    Sets `run.gram` to the Gram matrix of those that stay.
    """
    n = run.problem.y.size
    size = min(run.block_size, run.rows.capacity)
    if n <= size:
        run.gram = run.gram[:0, :0]
        return np.arange(n)
    n_dropped = max(len(run.block) - size // 2, 0)
    kept, run.gram = run.block[n_dropped:], run.gram[n_dropped:, n_dropped : len(run.gram)]
    up, low = kkt.up, kkt.low
    up[kept], low[kept] = np.inf, -np.inf
    n_new = (size - len(kept)) // 2
    if not run.problem.is_by_class:
        return np.concatenate([kept, _extremes(up, low, kkt.lowest.min(), kkt.highest.max(), n_new)])
    chosen = [kept]
    for k, is_side in enumerate((run.problem.y > 0.0, run.problem.y < 0.0)):
        if kkt.highest[k] > kkt.lowest[k]:
            up_side, low_side = np.where(is_side, up, np.inf), np.where(is_side, low, -np.inf)
            chosen.append(_extremes(up_side, low_side, kkt.lowest[k], kkt.highest[k], n_new // 2))
    return np.concatenate(chosen)


def _extremes(up: Floats, low: Floats, lowest: float, highest: float, n: int) -> Rows:
    """Positions of about the n smallest of `up` and the n largest of `low` that violate, without repetition.

    Changes `low`.
    """
    from committee.kernels.svm.smo import N_BUCKETS, choose_extremes

    n = max(n, 1)
    chosen = np.empty(2 * n, np.int64)
    work = np.empty(up.size, np.int32), np.empty(N_BUCKETS, np.int32)
    n_chosen = choose_extremes(up, low, lowest, highest, n, *work, chosen)
    return chosen[:n_chosen]


def _has_all(run: Progress, kkt: KKTConditions) -> bool:
    """Whether the block holds all variables that violate, but not all variables. Changes `kkt`."""
    lowest, highest = kkt.ends(run.problem)
    kkt.up[run.block], kkt.low[run.block] = np.inf, -np.inf
    return not (len(run.block) == kkt.up.size or np.any(kkt.up < highest) or np.any(kkt.low > lowest))


def _solve_block(run: Progress, middle: float, tol: float, limit: int) -> bool:
    """Run SMO inside the block to `tol`; return whether a variable moved. f is measured from `middle`."""
    from committee.kernels.svm.smo import BlockProblem, solve_block

    problem, rows, block = run.problem, run.rows, run.block
    q = n_first = len(block)
    if problem.is_by_class:
        # Sorted for this step only: a Gram matrix costs less to compute than to sort
        block, run.gram = block[np.argsort(problem.y[block] < 0.0, kind="stable")], run.gram[:0, :0]
        n_first = int(np.count_nonzero(problem.y[block] > 0.0))
    gram = rows.wide_block(problem.row[block], run.gram)
    if not problem.is_by_class:
        run.gram = gram
    f = run.g[problem.row[block]] + run.shift[block]
    f -= middle  # only differences count, and those of small numbers have more digits
    if not np.abs(f).max() < FAR:
        raise ValueError(
            "The gradient of the dual problem is too large for float32: divide sample_weight by its maximum, or lower "
            "C."
        )
    alpha = run.alpha[block]
    diagonal = rows.diagonal[problem.row[block]].astype(rows.dtype)
    fixed = BlockProblem(gram, diagonal, problem.y[block], problem.upper[block], n_first)
    work = np.empty((5, q), rows.dtype)
    n_steps = solve_block(fixed, alpha, f.astype(rows.dtype), tol, min(limit, 100 * q), work)
    by = alpha - run.alpha[block]
    moved = np.flatnonzero(by)
    run.alpha[block] = alpha
    run.n_steps += int(n_steps)
    if moved.size > BUSY * q:
        run.block_size = min(2 * run.block_size, BLOCK)
    if moved.size:
        slots = rows.fetch(problem.row[block[moved]])
        rows.add(run.g, slots, by[moved] * problem.y[block[moved]])
    return bool(moved.size)
