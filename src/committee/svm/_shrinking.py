"""Shrinking: the solver of `smo.py` goes on with the variables that may still move, and leaves the others alone.

Far into a run most variables lie at a bound and stay there. With the ends of the gap

    lowest = min {f_i : i may rise},    highest = max {f_j : j may fall},

a variable is active where it may rise and f <= highest, or may fall and f >= lowest; no other has a partner with which
it violates the KKT conditions. A row is active where one of its variables is. The problem of the active rows is of the
same kind: what the frozen variables add to the gradient stays as it is. Its kernel rows are shorter, so that the cache
holds more of them, and that is what is won. When the part is optimal, the gradient of the frozen rows follows,

    g_i += sum_k k(x_i, x_k) (coef_k now - coef_k then)    over the active rows k,

and all variables are judged: those frozen too early go on (Joachims, Making large-scale SVM learning practical, 1999;
Fan, Chen and Lin, Working set selection using second order information for training support vector machines, 2005). A
part may shrink again.

The sum costs as much as the shorter rows spare where each row is computed only once. So a problem shrinks early where
the cache is too small for the rows of its free variables, which take part in step after step, and late where it is not.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from committee.svm._kernel_rows import KernelRows
from committee.svm.kernel_functions import Precomputed
from committee.svm.smo import Frozen, Judgement, OnStep, Problem, Progress, Step

Rows = NDArray[np.int64]

FEW, VERY_FEW = 0.5, 0.15
"""Share of active rows below which a problem shrinks where the cache is too small, and where it is not: shorter rows
are summed faster, too."""

ROOM = 2
"""Rows the cache should hold for each free variable; with fewer, rows are computed again and again."""


_is_on = ContextVar("shrinking", default=True)


@contextmanager
def shrinking(is_on: bool) -> Generator[None]:
    """Whether problems that are solved inside may shrink."""
    before = _is_on.set(is_on)
    try:
        yield
    finally:
        _is_on.reset(before)


class Descend(Protocol):
    """Outer steps until a run is optimal, or ends without."""

    def __call__(self, run: Progress, *, on_step: OnStep | None) -> bool: ...


def active_rows(run: Progress, judged: Judgement) -> Rows | None:
    """The rows to go on with; None where shrinking would not pay."""
    problem, rows = run.problem, run.rows
    if not _is_on.get() or rows.is_exact or rows.capacity == rows.n or isinstance(rows.kernel, Precomputed):
        return None
    n_free = np.count_nonzero((run.alpha > 0.0) & (run.alpha < problem.upper))
    few = FEW if ROOM * n_free > rows.capacity else VERY_FEW
    lowest, highest = judged.ends(problem)
    is_active = np.zeros(rows.n, np.bool_)
    is_active[problem.row[(judged.up <= highest) | (judged.low >= lowest)]] = True
    active = np.flatnonzero(is_active)
    return active if active.size <= few * rows.n else None


def descend_among(run: Progress, active: Rows, descend: Descend, on_step: OnStep | None) -> bool:
    """Freeze all rows but the active ones, `descend`, thaw; `run` in place. Did the part become optimal?"""
    place = np.full(run.rows.n, -1)
    place[active] = np.arange(active.size)
    variables = np.flatnonzero(place[run.problem.row] >= 0)
    before = run.coefficients()

    def pass_on(part: Progress, step: Step) -> None:
        _bring_back(run, part, variables)
        if on_step is not None:
            on_step(run, step)

    with run.rows.narrowed(active) as rows:
        part = _freeze(run, rows, active, variables, place)
        is_optimal = descend(part, on_step=pass_on)
    _bring_back(run, part, variables)
    run.block, run.gram = variables[part.block], part.gram
    run.g[active] = part.g
    # Thaw
    by = run.coefficients() - before
    moved, frozen = np.flatnonzero(by), np.flatnonzero(place < 0)
    run.g[frozen] += run.rows.exact_sums(frozen, moved, by[moved], in_single=True)
    return is_optimal


def _bring_back(run: Progress, part: Progress, variables: Rows) -> None:
    run.alpha[variables] = part.alpha
    run.n_steps = part.n_steps


def _freeze(run: Progress, rows: KernelRows, active: Rows, variables: Rows, place: Rows) -> Progress:
    """The run of the active rows alone, which goes on where that of all is; records go into the same list."""
    y, p, upper, row, _, is_by_class = run.problem
    alpha = run.alpha[variables]
    problem = Problem(y[variables], p[variables], upper[variables], place[row[variables]], alpha, is_by_class)
    part = Progress(problem, rows, run.g[active])
    n_support = run.n_support - int(np.count_nonzero(alpha))
    part.frozen = Frozen(run.objective, part.f, n_support)
    position = np.full(y.size, -1)
    position[variables] = np.arange(variables.size)
    block = position[run.block]
    part.block, part.block_size = block[block >= 0], run.block_size
    part.n_steps, part.records = run.n_steps, run.records
    return part
