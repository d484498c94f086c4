"""Shrinking: the solver of `smo.py` continues with the variables that may still move.

Far into a run most variables lie at a bound and stay there. With the ends of the gap

    lowest = min {f_i : i may increase},    highest = max {f_j : j may decrease},

a variable is active if it may increase and f <= highest, or may decrease and f >= lowest; no other has a partner with
which it violates the KKT conditions. A row is active if one of its variables is. The problem of the active rows is of
the same kind: the contribution of the frozen variables to the gradient is constant. Its kernel rows are shorter, so
that the cache holds more of them: that is the gain. When it is solved, the gradient of the frozen rows is updated,

    g_i += sum_k k(x_i, x_k) (coef_k now - coef_k then)    over the active rows k,

and the KKT conditions of all variables are checked: those frozen too early continue (Joachims, Making large-scale SVM
learning practical, 1999; Fan, Chen and Lin, Working set selection using second order information for training support
vector machines, 2005). A shrunk problem may shrink again.

If each row is computed only once, the sum costs as much as shorter rows save. So a problem shrinks early if the cache
is too small for the rows of its free variables, which are needed in many steps, and late otherwise.
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
from committee.svm.smo import Frozen, KKTConditions, OnStep, Problem, Progress, Step

Rows = NDArray[np.int64]

EARLY, LATE = 0.5, 0.15
"""Fraction of active rows below which a problem shrinks if the cache is too small, and if it is not: sums over shorter
rows are faster, too."""

ROWS_PER_FREE = 2
"""Rows the cache should hold for each free variable; with fewer, rows are computed repeatedly."""

_is_on = ContextVar("shrinking", default=True)


@contextmanager
def shrinking(is_on: bool) -> Generator[None]:
    """Set whether problems solved in this context may shrink."""
    before = _is_on.set(is_on)
    try:
        yield
    finally:
        _is_on.reset(before)


class Descend(Protocol):
    """Outer steps until a run is optimal or stops."""

    def __call__(self, run: Progress, *, on_step: OnStep | None) -> bool: ...


def active_rows(run: Progress, kkt: KKTConditions) -> Rows | None:
    """The rows to continue with; None if shrinking would not pay."""
    problem, rows = run.problem, run.rows
    if not _is_on.get() or rows.is_exact or rows.capacity == rows.n or isinstance(rows.kernel, Precomputed):
        return None
    n_free = np.count_nonzero((run.alpha > 0.0) & (run.alpha < problem.upper))
    limit = EARLY if ROWS_PER_FREE * n_free > rows.capacity else LATE
    lowest, highest = kkt.ends(problem)
    is_active = np.zeros(rows.n, np.bool_)
    is_active[problem.row[(kkt.up <= highest) | (kkt.low >= lowest)]] = True
    active = np.flatnonzero(is_active)
    return active if active.size <= limit * rows.n else None


def descend_among(run: Progress, active: Rows, descend: Descend, on_step: OnStep | None) -> bool:
    """Freeze all rows except the active ones, `descend`, unfreeze; return whether the part is optimal."""
    place = np.full(run.rows.n, -1)
    place[active] = np.arange(active.size)
    variables = np.flatnonzero(place[run.problem.row] >= 0)
    before = run.coefficients()

    def pass_on(part: Progress, step: Step) -> None:
        _copy_back(run, part, variables)
        if on_step is not None:
            on_step(run, step)

    with run.rows.narrowed(active) as rows:
        part = _freeze(run, rows, active, variables, place)
        is_optimal = descend(part, on_step=pass_on)
    _copy_back(run, part, variables)
    run.block, run.gram = variables[part.block], part.gram
    run.g[active] = part.g
    # Unfreeze
    by = run.coefficients() - before
    moved, frozen = np.flatnonzero(by), np.flatnonzero(place < 0)
    run.g[frozen] += run.rows.exact_sums(frozen, moved, by[moved], in_single=True)
    return is_optimal


def _copy_back(run: Progress, part: Progress, variables: Rows) -> None:
    run.alpha[variables] = part.alpha
    run.n_steps = part.n_steps


def _freeze(run: Progress, rows: KernelRows, active: Rows, variables: Rows, place: Rows) -> Progress:
    """A run of the active rows, which continues that of all rows; its records go into the same list."""
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
