"""Machines of one kernel on all folds and along all penalties C, sharing kernel rows and solutions (I-7).

    for each fold                   rows held out have C_i = 0: they stay in the table of kernel rows, but cannot become
                                    support vectors
        for C from small to large   start at the last solution times C / C_before, which is feasible
            judge f at the rows held out

One table of kernel rows serves all penalties, and all folds too where the kernel does not depend on them: with gamma a
number and columns that are not scaled. (scale=True and gamma="scale" learn from the training rows of every fold, as a
pipeline in scikit-learn's cross_val_score does: kernel rows are then computed once for each fold.) Pairs of several
classes have rows of their own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.svm._binary_svm import BinarySVM, Offset, make_binary_svm
from committee.svm._kernel_rows import KernelRows
from committee.svm._multiclass import MultiClass, TwoSides, machine_plan, vote
from committee.svm._scaling import fit_scaling
from committee.svm.kernel_functions import Kernel, Precomputed
from committee.svm.platt import values_at
from committee.svm.smo import Problem, solve
from committee.svm.svc import svc_problem
from committee.svm.svr import svr_problem

Rows = NDArray[np.int64]


class Fold(NamedTuple):
    """Rows to learn from, by their weights (0 for all others), and rows to judge on."""

    weight: Floats  # [n]
    test: Rows


class Ground(NamedTuple):
    """What all machines of a grid share."""

    table: Floats  # [n, d]
    weight: Floats  # [n]
    folds: list[Fold]
    penalties: Floats  # ascending
    scale: bool
    tol: float
    max_iter: int
    offset: Offset
    cache_size: float
    n_jobs: int | None


class SVMTask(NamedTuple):
    """A machine to train in a fold."""

    rows: Rows  # those it is trained among
    weight: Floats  # of these
    problem: Callable[[Floats, Floats | None], Problem]  # from bounds C_i and a start


class Task(Protocol):
    """What is to be learned: the machines of a fold, and the error of their values."""

    def machines(self, weight: Floats) -> list[SVMTask]: ...

    def error(self, values: Floats, test: Rows, weight: Floats) -> float:
        """Of values [n_test, machines] at the rows `test`, which count by `weight`."""
        ...


class LineErrors(NamedTuple):
    """What one kernel does, [penalties, folds]."""

    errors: Floats
    n_support: NDArray[np.int64]
    is_optimal: NDArray[np.bool_]
    seconds: Floats  # of CPU


def judge_kernel(task: Task, ground: Ground, kernel: Kernel, on_fold: Callable[[Floats], None]) -> LineErrors:
    """Errors of a kernel for every penalty and fold; `on_fold` is called with those of a fold when it is done."""
    shape = ground.penalties.size, len(ground.folds)
    result = LineErrors(np.empty(shape), np.empty(shape, np.int64), np.full(shape, True), np.empty(shape))
    shared: KernelRows | None = None
    for k, fold in enumerate(ground.folds):
        began = time.process_time()
        rows = shared or fold_rows(ground, kernel, fold)
        if is_same_in_all_folds(ground, kernel):
            shared = rows
        started = time.process_time() - began
        for c, trained in enumerate(_along_penalties(task.machines(fold.weight), rows, ground, fold)):
            result.errors[c, k] = task.error(trained.values, fold.test, ground.weight[fold.test])
            result.n_support[c, k] = trained.n_support
            result.is_optimal[c, k] = trained.is_optimal
            result.seconds[c, k] = trained.seconds + started
            started = 0.0
        on_fold(result.errors[:, k])
    return result


def is_same_in_all_folds(ground: Ground, kernel: Kernel) -> bool:
    """Are kernel values the same whichever rows are held out?"""
    return not ground.scale and _is_settled(kernel)


def _is_settled(kernel: Kernel) -> bool:
    """Are its parameters numbers, in all kernels that it is made of?"""
    parts = (*getattr(kernel, "kernels", ()), getattr(kernel, "kernel", None))
    if any(part is not None for part in parts):
        return all(_is_settled(part) for part in parts if part is not None)
    return getattr(kernel, "width", None) is not None or not isinstance(getattr(kernel, "gamma", 0.0), str)


def fold_rows(ground: Ground, kernel: Kernel, fold: Fold) -> KernelRows:
    """Kernel rows of the whole table, as the training rows of the fold scale and settle them."""
    counted = fold.weight > 0.0
    table = ground.table
    if ground.scale and not isinstance(kernel, Precomputed):
        table = np.asarray(fit_scaling(table[counted], fold.weight[counted]).apply(table), np.float64)
    settled = kernel.settle(table[counted], fold.weight[counted])
    return KernelRows(settled, table, cache_size=ground.cache_size, n_jobs=ground.n_jobs)


class _Trained(NamedTuple):
    """All machines of a fold at one penalty."""

    values: Floats  # [n_test, machines]
    n_support: int
    is_optimal: bool
    seconds: float


def _along_penalties(tasks: list[SVMTask], rows: KernelRows, ground: Ground, fold: Fold) -> Iterator[_Trained]:
    """Every penalty, after each machine has gone along all of them: its kernel rows are not needed twice."""
    done = [list(_solve_along(task, rows, ground, fold)) for task in tasks]
    for result in zip(*done, strict=True):
        support = np.concatenate([machine.support for machine, *_ in result])
        values = np.column_stack([values for _, values, _ in result])
        is_optimal = all(machine.is_optimal for machine, *_ in result)
        yield _Trained(values, np.unique(support).size, is_optimal, sum(seconds for *_, seconds in result))


def _solve_along(
    task: SVMTask, rows: KernelRows, ground: Ground, fold: Fold
) -> Iterator[tuple[BinarySVM, Floats, float]]:
    """A machine, support vectors by their place among all rows, its values at the rows held out, and its seconds."""
    part = rows if task.rows.size == rows.n else rows.subset(task.rows)
    upper, start = np.empty(0), None
    for C in ground.penalties:
        began = time.process_time()
        problem = task.problem(C * task.weight, None)
        if start is not None:
            problem = problem._replace(start=_grown(start, upper, problem.upper))
        result = solve(problem, part, tol=ground.tol, max_steps=ground.max_iter)
        upper, start = problem.upper, result.alpha
        machine = make_binary_svm(problem, result, ground.offset, part.n)
        machine = machine._replace(support=task.rows[machine.support])
        yield machine, values_at(rows, machine, fold.test), time.process_time() - began


def _grown(alpha: Floats, before: Floats, upper: Floats) -> Floats:
    """The solution for larger bounds to start from: all variables grow alike, so that the sums stay zero."""
    ratio = np.divide(upper, before, out=np.zeros_like(upper), where=before > 0.0)
    return np.where(alpha >= before, upper, np.minimum(alpha * ratio, upper))


# --- classes and numbers ---------------------------------------------------------------------------------------------


class ClassTask:
    """The machines of a classifier, and the share of its answers that are wrong."""

    def __init__(
        self, codes: Rows, classes: NDArray[Any], multi_class: MultiClass, break_ties: bool,
        weigh: Callable[[Floats, Rows], Floats],
    ) -> None:  # fmt: skip
        """`weigh` gives a factor for each class, from the weights and codes of rows."""
        self.target, self.classes, self.weigh = codes, classes, weigh
        self.multi_class: MultiClass = multi_class
        self.break_ties = break_ties

    def machines(self, weight: Floats) -> list[SVMTask]:
        seen = np.bincount(self.target, weight, len(self.classes)) > 0.0
        if not seen.all():
            raise ValueError(
                f"A fold has no row of class {self.classes[~seen][0]!r} to learn from: ask for fewer folds."
            )
        counted = weight > 0.0
        weight = weight * self.weigh(weight[counted], self.target[counted])[self.target]
        return [self._machine(sides, weight) for sides in machine_plan(len(self.classes), self.multi_class)]

    def _machine(self, sides: TwoSides, weight: Floats) -> SVMTask:
        if sides.negative is None or len(self.classes) == 2:
            rows = np.arange(weight.size)
        else:
            is_in = (self.target == sides.positive) | (self.target == sides.negative)
            rows = np.flatnonzero(is_in & (weight > 0.0))
        y = np.where(self.target[rows] == sides.positive, 1.0, -1.0)
        return SVMTask(rows, weight[rows], lambda upper, start: svc_problem(y, upper, start))

    def error(self, values: Floats, test: Rows, weight: Floats) -> float:
        if len(self.classes) == 2:
            chosen = (values[:, 0] > 0.0).astype(np.int64)
        elif self.multi_class == "ovr":
            chosen = values.argmax(axis=1)
        else:
            votes = vote(values, len(self.classes))
            chosen = (votes if self.break_ties else np.rint(votes)).argmax(axis=1)
        return float(np.average(chosen != self.target[test], weights=weight))


class NumberTask:
    """The machine of a regression, and its mean squared error."""

    def __init__(self, target: Floats, epsilon: float) -> None:
        self.target, self.epsilon = target, epsilon

    def machines(self, weight: Floats) -> list[SVMTask]:
        return [
            SVMTask(
                np.arange(weight.size), weight,
                lambda upper, start: svr_problem(self.target, upper, self.epsilon, start),
            )
        ]  # fmt: skip

    def error(self, values: Floats, test: Rows, weight: Floats) -> float:
        return float(np.average((values[:, 0] - self.target[test]) ** 2, weights=weight))
