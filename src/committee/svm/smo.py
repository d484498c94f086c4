"""The dual problem of every kernel machine, by sequential minimal optimisation in blocks.

    min 1/2 a'Qa + p'a    y'a = const, 0 <= a_i <= C_i,    Q_ij = y_i y_j k(x_i, x_j)

With g = K (a y) and f = g + y p (y times the gradient), a is optimal iff no variable that may rise along y (a_i < C_i
where y_i = 1, a_i > 0 where y_i = -1) has an f below that of one that may fall: the gap of the KKT conditions is

    max {f_j : j may fall} - min {f_i : i may rise} <= tol

(Keerthi et al., Improvements to Platt's SMO algorithm, 2001). Every outer step takes the variables that violate most
into a block of up to 512, half of which stays from the step before, and runs SMO with second-order selection inside it
(Platt 1998; Fan, Chen and Lin 2005; block and kept half: Wen et al., ThunderSVM, 2018). The nu-machines fix the sum of
each class, so that pairs are taken and the gap is measured within a class. Where most variables are settled and the
cache is small, steps go on among the others alone (`shrinking.py`).

Kernel rows are float32 in large problems, so the gradient drifts: when it says "optimal", all rows that decide are
computed anew in float64, and the run goes on if they do not agree. In small problems everything is float64, and an
active-set method (`active_set.py`) makes the last digits right, or takes over where pairs creep.
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
"""The most variables of a block: its Gram matrix fills the second cache."""

FIRST_BLOCK, BUSY = 192, 0.4
"""Blocks start with this size, at first all rows look alike, and most are not needed; where more than that share of a
block moved, the next one may be twice as large."""

INNER_TOL, FINAL_TOL = 0.1, 0.5
"""A block is solved until its gap is this share of the gap of all, the next block needs no better one; but to that
share of tol where it has all variables that violate, and never to less."""

PART_TOL = 0.9
"""A problem that shrank is solved to this share of the tolerance: the gradient in float64 then seldom disagrees."""

SAMPLE, LITTLE_NOISE = 64, 0.1
"""Rows on which float32 kernel values are compared with float64 ones, and the share of tol they may be wrong by."""

FAR = 1e37
"""Values beyond it stand for "may not be chosen"."""

MANY_STEPS = 10_000_000
"""Where the user sets no limit (at least 100 steps a variable): rounding may go round in circles."""

MAX_IDLE = 10
"""Blocks in a row in which nothing moved: steps are smaller than the rounding of huge kernel values, for ever."""

PATIENCE = 1000
"""Steps a variable after which a small problem goes to the active-set method, and comes back if that fails."""

FINE = 1e-3
"""Small problems go on to this share of tol before the active-set method takes over, with as many steps again."""


class Problem(NamedTuple):
    """A dual problem over the rows of a table; several variables may share a row."""

    y: Floats  # [v] +1 or -1
    p: Floats  # [v]
    upper: Floats  # [v] C_i, may be infinite
    row: Rows  # [v] the row of each variable
    start: Floats  # [v] feasible values, which fix the sums
    is_by_class: bool = False  # the sum of each class is fixed, not only their difference


class Step(NamedTuple):
    """What an outer step measured: a row of `history_`."""

    step: int  # pairs moved so far
    objective: float
    gap: float  # among the active variables, while the problem is shrunk
    n_support: int


class Solution(NamedTuple):
    """The optimum, and how sure it is."""

    alpha: Floats  # [v]
    f: Floats  # [v] g + y p
    lowest: Floats  # [2] smallest f that may rise, for y = 1 and y = -1
    highest: Floats  # [2] largest f that may fall
    gap: float
    objective: float
    n_steps: int
    is_optimal: bool
    records: tuple[Step, ...]


class Judgement(NamedTuple):
    """Where the KKT conditions stand."""

    up: Floats  # [v] f where a variable may rise, far off elsewhere
    low: Floats  # [v] f where it may fall
    lowest: Floats  # [2]
    highest: Floats  # [2]

    @property
    def middle(self) -> float:
        """About where the two sides meet."""
        ends = [float(end) for end in (*self.lowest, *self.highest) if abs(end) < FAR]
        return sum(ends) / len(ends) if ends else 0.0

    def ends(self, problem: Problem) -> tuple[Any, Any]:
        """The smallest f that may rise and the largest that may fall, for every variable among those it pairs with."""
        if not problem.is_by_class:
            return self.lowest.min(), self.highest.max()
        side = (problem.y < 0.0).astype(np.int64)
        return self.lowest[side], self.highest[side]

    def gap(self, is_by_class: bool) -> float:
        if is_by_class:
            return float(max(self.highest - self.lowest))
        return float(self.highest.max() - self.lowest.min())


class Frozen(NamedTuple):
    """What a part of a problem keeps of the whole at its start (`shrinking.py`)."""

    objective: float  # of the whole
    f: Floats  # [v] of the variables of the part
    n_support: int  # among the others


class Progress:
    """The variables of a run and the gradient they have; everything in place."""

    def __init__(self, problem: Problem, rows: KernelRows, g: Floats | None = None) -> None:
        self.problem, self.rows = problem, rows
        self.alpha = problem.start.copy()
        self.shift = problem.y * problem.p
        self.g = np.zeros(rows.n) if g is None else g
        if g is None:
            self._add(self.coefficients())
        self.frozen: Frozen | None = None
        self.block: Rows = np.empty(0, np.int64)
        self.gram: Array = np.empty((0, 0), rows.dtype)  # of the block or of its first variables; columns may follow
        self.block_size = FIRST_BLOCK
        self.n_steps = 0
        self.records: list[Step] = []

    @property
    def f(self) -> Floats:
        return self.g[self.problem.row] + self.shift

    @property
    def objective(self) -> float:
        """1/2 a'Qa + p'a, from g = K (a y); of the whole, also where this is a part."""
        if self.frozen is not None:
            # The change is quadratic: the step times the mean of the gradients before and after
            by = (self.alpha - self.problem.start) * self.problem.y
            return self.frozen.objective + float(0.5 * (by @ (self.frozen.f + self.f)))
        by = self.alpha * self.problem.y
        return float(0.5 * (by @ self.g[self.problem.row]) + self.problem.p @ self.alpha)

    @property
    def n_support(self) -> int:
        """Variables that are not zero, of the whole."""
        return int(np.count_nonzero(self.alpha)) + (0 if self.frozen is None else self.frozen.n_support)

    def coefficients(self) -> Floats:
        """sum a y of every row."""
        coef = np.zeros(self.rows.n)
        np.add.at(coef, self.problem.row, self.alpha * self.problem.y)
        return coef

    def move(self, variables: Rows, by: Floats) -> None:
        """The gradient after `by` was added to some variables."""
        coef = np.zeros(self.rows.n)
        np.add.at(coef, self.problem.row[variables], by * self.problem.y[variables])
        self._add(coef)

    def _add(self, coef: Floats) -> None:
        used = np.flatnonzero(coef)
        self.rows.add_sums(self.g, used, coef[used])

    def judge(self) -> Judgement:
        from committee.kernels.svm.smo import judge

        problem = self.problem
        up, low, extremes = np.empty(problem.y.size), np.empty(problem.y.size), np.empty(4)
        judge(self.g, problem.row, self.shift, problem.y, self.alpha, problem.upper, up, low, extremes)
        return Judgement(up, low, extremes[::2], extremes[1::2])


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

    limit = max_steps if max_steps >= 0 else max(MANY_STEPS, 100 * problem.y.size)
    with one_blas_thread():
        run = Progress(problem, rows)
        patience = PATIENCE * problem.y.size
        is_optimal = _descend(run, tol, min(limit, patience) if rows.is_exact else limit, on_step)
        if rows.is_exact and not is_optimal and limit > patience:
            # Pairs of variables creep where columns differ in scale: all at once
            polish(run)
            is_optimal = _descend(run, tol, limit, on_step)
        if rows.is_exact and is_optimal:
            alpha, g = run.alpha.copy(), run.g.copy()
            _descend(run, FINE * tol, min(limit, 2 * run.n_steps + 10 * problem.y.size), on_step)
            polish(run)
            if run.judge().gap(problem.is_by_class) > tol:  # the gap need not fall with the objective
                run.alpha[:], run.g[:] = alpha, g
    judged = run.judge()
    gap = judged.gap(problem.is_by_class)
    _record(run, gap)
    return Solution(
        run.alpha, run.f, judged.lowest, judged.highest, gap, run.objective, run.n_steps, is_optimal,
        tuple(run.records),
    )  # fmt: skip


def _descend(run: Progress, tol: float, limit: int, on_step: OnStep | None) -> bool:
    """Outer steps until the gap is at most tol (true) or no step or none within the limit is left (false)."""
    from committee.svm._shrinking import active_rows, descend_among

    target, may_shrink, n_idle = tol, True, 0
    while True:
        # Step 1: how far from optimal?
        judged = run.judge()
        gap = judged.gap(run.problem.is_by_class)
        if gap <= target:
            if run.rows.is_exact or run.frozen is not None:
                return True
            # Step 2: the float32 gradient says so; is it true?
            gap = _check_gradient(run, judged, tol)
            if gap <= tol:
                return True
            target *= 0.7
            judged = run.judge()
        if run.n_steps >= limit:
            return False
        # Step 3: where most variables are settled, the others alone
        active = active_rows(run, judged) if may_shrink else None
        if active is not None:
            aim = target if run.frozen is not None else PART_TOL * target
            may_shrink = descend_among(run, active, partial(_descend, tol=aim, limit=limit), on_step)
            continue
        # Step 4: the variables that violate most
        run.block = _choose(run, judged)
        # Step 5: SMO among them, then the gradient of all rows
        aim = FINAL_TOL * min(target, tol)
        if not _has_all(run, judged):
            aim = max(aim, INNER_TOL * gap)
        moved = _solve_block(run, judged.middle, aim, limit - run.n_steps)
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


def _check_gradient(run: Progress, judged: Judgement, tol: float) -> float:
    """The gap with the gradient of every row that could decide it in float64.

    Some of these rows tell how far the gradient drifted, and how much of it is due to float32 kernel values: where that
    is a small part of tol, the gradient stays as it is, or its sums are taken anew over float32 values. What they may
    be wrong by then counts as gap.
    """
    problem = run.problem
    coef = run.coefficients()
    support = np.flatnonzero(coef)
    lowest, highest = judged.ends(problem)
    width, noise = 10.0 * tol, np.inf
    while True:
        near = (judged.up <= lowest + width) | (judged.low >= highest - width)
        rows = np.unique(problem.row[near])
        if np.isinf(noise):
            drift, noise = _errors(run, rows, support, coef[support], LITTLE_NOISE * tol)
            if drift <= LITTLE_NOISE * tol:
                return judged.gap(problem.is_by_class) + drift
        in_single = noise <= LITTLE_NOISE * tol
        exact = run.rows.exact_sums(rows, support, coef[support], in_single)
        error = float(np.abs(exact - run.g[rows]).max(initial=0.0))
        run.g[rows] = exact
        if error <= 0.5 * width or len(rows) == run.rows.n:
            return run.judge().gap(problem.is_by_class) + (noise if in_single else 0.0)
        width = 8.0 * error


def _errors(run: Progress, asked: Rows, support: Rows, coef: Floats, enough: float) -> tuple[float, float]:
    """What the gradient and, where that is not `enough`, new sums of float32 kernel values are wrong by: four times
    the largest error among some rows."""
    rows = run.rows
    some = asked[:: -(-len(asked) // SAMPLE)]
    exact = rows.exact_sums(some, support, coef)
    drift = 4.0 * float(np.abs(exact - run.g[some]).max(initial=0.0))
    if drift <= enough or rows.points is rows.exact_points:
        return drift, 0.0
    single = rows.exact_sums(some, support, coef, in_single=True)
    return drift, 4.0 * float(np.abs(exact - single).max(initial=0.0))


# --- the block -------------------------------------------------------------------------------------------------------


def _choose(run: Progress, judged: Judgement) -> Rows:
    """The newer half of the last block, filled up with the variables that violate most on either side.

    Leaves in `run` the Gram matrix of those that stay.
    """
    n = run.problem.y.size
    size = min(run.block_size, run.rows.capacity)
    if n <= size:
        run.gram = run.gram[:0, :0]
        return np.arange(n)
    n_gone = max(len(run.block) - size // 2, 0)
    kept, run.gram = run.block[n_gone:], run.gram[n_gone:, n_gone : len(run.gram)]
    up, low = judged.up, judged.low
    up[kept], low[kept] = np.inf, -np.inf
    n_new = (size - len(kept)) // 2
    if not run.problem.is_by_class:
        return np.concatenate([kept, _extremes(up, low, judged.lowest.min(), judged.highest.max(), n_new)])
    chosen = [kept]
    for k, is_side in enumerate((run.problem.y > 0.0, run.problem.y < 0.0)):
        if judged.highest[k] > judged.lowest[k]:
            up_side, low_side = np.where(is_side, up, np.inf), np.where(is_side, low, -np.inf)
            chosen.append(_extremes(up_side, low_side, judged.lowest[k], judged.highest[k], n_new // 2))
    return np.concatenate(chosen)


def _extremes(up: Floats, low: Floats, lowest: float, highest: float, n: int) -> Rows:
    """Positions of about the n smallest of `up` and the n largest of `low` that violate, none twice; `low` in place."""
    from committee.kernels.svm.smo import N_BUCKETS, choose_extremes

    n = max(n, 1)
    chosen = np.empty(2 * n, np.int64)
    room = np.empty(up.size, np.int32), np.empty(N_BUCKETS, np.int32)
    n_chosen = choose_extremes(up, low, lowest, highest, n, *room, chosen)
    return chosen[:n_chosen]


def _has_all(run: Progress, judged: Judgement) -> bool:
    """Are all variables that violate in the block, and others not? `judged` in place."""
    lowest, highest = judged.ends(run.problem)
    judged.up[run.block], judged.low[run.block] = np.inf, -np.inf
    return not (len(run.block) == judged.up.size or np.any(judged.up < highest) or np.any(judged.low > lowest))


def _solve_block(run: Progress, middle: float, tol: float, limit: int) -> bool:
    """SMO inside the block to `tol`; did anything move? f is measured from `middle`."""
    from committee.kernels.svm.smo import solve_block

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
    alpha = run.alpha[block]
    n_steps = solve_block(
        gram, rows.diagonal[problem.row[block]].astype(rows.dtype), problem.y[block], problem.upper[block], alpha,
        f.astype(rows.dtype), n_first, tol, min(limit, 100 * q),
        np.empty((5, q), rows.dtype),
    )  # fmt: skip
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
