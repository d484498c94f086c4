"""Cross-validation of one kernel along all penalties C, sharing kernel rows and solutions.

    for each fold                   held-out rows have C_i = 0: they stay in the table of kernel rows, but cannot become
                                    support vectors
        for C from small to large   start at the last solution times C / C_before, which is feasible
            evaluate f at the held-out rows

One table of kernel rows serves all penalties, and all folds if the kernel does not depend on them: with a number for
gamma and columns that are not scaled. (scale=True and gamma="scale" are fitted to the training rows of every fold, as
by a pipeline in scikit-learn's cross_val_score: kernel rows are then computed once for each fold.) The pairs of several
classes have separate kernel rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.svm._kernel_rows import KernelRows
from committee.svm._scaling import fit_scaling
from committee.svm.binary_svm import BinarySVM, make_binary_svm
from committee.svm.kernel_algebra import Kernel
from committee.svm.kernel_functions import Precomputed
from committee.svm.multiclass import BinaryProblem, MultiClass, binary_problems, choose_class
from committee.svm.platt import values_at
from committee.svm.smo import Problem, solve
from committee.svm.svc import SVC, svc_problem
from committee.svm.svr import SVR, svr_problem

Rows = NDArray[np.int64]


class Fold(NamedTuple):
    """Weights of the training rows (0 for all others), and the held-out rows."""

    weight: Floats  # [n]
    test: Rows


class GridData(NamedTuple):
    """What all fits of a grid share."""

    table: Floats  # [n, d]
    weight: Floats  # [n]
    folds: list[Fold]
    penalties: Floats  # ascending
    model: SVC | SVR  # with the other parameters


class BinaryTask(NamedTuple):
    """A binary SVM to train in a fold."""

    rows: Rows  # those it is trained among
    weight: Floats  # of these
    problem: Callable[[Floats], Problem]  # from bounds C_i


class Task(Protocol):
    """The binary SVMs of a fold, and the error of their values."""

    def binary_tasks(self, weight: Floats) -> list[BinaryTask]: ...

    def error(self, values: Floats, test: Rows, weight: Floats) -> float:
        """The error of values [n_test, M] at the rows `test`, which have these weights."""
        ...


class KernelErrors(NamedTuple):
    """The results of one kernel, [penalties, folds]."""

    errors: Floats
    n_support: NDArray[np.int64]
    is_optimal: NDArray[np.bool_]
    seconds: Floats  # of CPU


def evaluate_kernel(task: Task, data: GridData, kernel: Kernel, on_fold: Callable[[Floats], None]) -> KernelErrors:
    """Errors of a kernel for every penalty and fold; `on_fold` is called with the errors of each fold."""
    shape = data.penalties.size, len(data.folds)
    result = KernelErrors(np.empty(shape), np.empty(shape, np.int64), np.full(shape, True), np.empty(shape))
    shared: KernelRows | None = None
    for k, fold in enumerate(data.folds):
        began = time.process_time()
        rows = shared or fold_rows(data, kernel, fold)
        if is_same_in_all_folds(data, kernel):
            shared = rows
        started = time.process_time() - began
        for c, trained in enumerate(_along_penalties(task.binary_tasks(fold.weight), rows, data, fold)):
            result.errors[c, k] = task.error(trained.values, fold.test, data.weight[fold.test])
            result.n_support[c, k] = trained.n_support
            result.is_optimal[c, k] = trained.is_optimal
            result.seconds[c, k] = trained.seconds + started
            started = 0.0
        on_fold(result.errors[:, k])
    return result


def is_same_in_all_folds(data: GridData, kernel: Kernel) -> bool:
    """Whether kernel values are the same whichever rows are held out."""
    return not data.model.scale and _is_settled(kernel)


def _is_settled(kernel: Kernel) -> bool:
    """Whether the parameters of a kernel, and of the kernels that it combines, are numbers."""
    parts = (*getattr(kernel, "kernels", ()), getattr(kernel, "kernel", None))
    if any(part is not None for part in parts):
        return all(_is_settled(part) for part in parts if part is not None)
    return getattr(kernel, "width", None) is not None or not isinstance(getattr(kernel, "gamma", 0.0), str)


def fold_rows(data: GridData, kernel: Kernel, fold: Fold) -> KernelRows:
    """Kernel rows of the whole table; scaling and kernel are fitted to the training rows of the fold."""
    counted = fold.weight > 0.0
    table = data.table
    if data.model.scale and not isinstance(kernel, Precomputed):
        table = np.asarray(fit_scaling(table[counted], fold.weight[counted]).apply(table), np.float64)
    settled = kernel.settle(table[counted], fold.weight[counted])
    return KernelRows(settled, table, cache_size=data.model.cache_size, n_jobs=data.model.n_jobs)


class _Trained(NamedTuple):
    """All binary SVMs of a fold at one penalty."""

    values: Floats  # [n_test, M]
    n_support: int
    is_optimal: bool
    seconds: float


def _along_penalties(tasks: Sequence[BinaryTask], rows: KernelRows, data: GridData, fold: Fold) -> Iterator[_Trained]:
    """The results for each penalty. Each binary task first goes along all penalties: it needs its kernel rows once."""
    done = [list(_solve_along(task, rows, data, fold)) for task in tasks]
    for result in zip(*done, strict=True):
        support = np.concatenate([svm.support for svm, *_ in result])
        values = np.column_stack([values for _, values, _ in result])
        is_optimal = all(svm.is_optimal for svm, *_ in result)
        yield _Trained(values, np.unique(support).size, is_optimal, sum(seconds for *_, seconds in result))


def _solve_along(
    task: BinaryTask, rows: KernelRows, data: GridData, fold: Fold
) -> Iterator[tuple[BinarySVM, Floats, float]]:
    """For each penalty, a binary SVM (support vectors by position among all rows), its held-out values and seconds."""
    model = data.model
    part = rows if task.rows.size == rows.n else rows.subset(task.rows)
    upper, start = np.empty(0), None
    for C in data.penalties:
        began = time.process_time()
        problem = task.problem(C * task.weight)
        if start is not None:
            problem = problem._replace(start=_grown(start, upper, problem.upper))
        result = solve(problem, part, tol=model.tol, max_steps=model.max_iter)
        upper, start = problem.upper, result.alpha
        svm = make_binary_svm(problem, result, model.offset, part.n)
        svm = svm._replace(support=task.rows[svm.support])
        yield svm, values_at(rows, svm, fold.test), time.process_time() - began


def _grown(alpha: Floats, before: Floats, upper: Floats) -> Floats:
    """A feasible start for larger bounds: all variables grow by the same factor, so that the sums stay zero."""
    ratio = np.divide(upper, before, out=np.zeros_like(upper), where=before > 0.0)
    return np.where(alpha >= before, upper, np.minimum(alpha * ratio, upper))


# --- classification and regression -----------------------------------------------------------------------------------


class ClassificationTask(NamedTuple):
    """The binary SVMs of a classifier, and its error rate."""

    codes: Rows
    classes: NDArray[Any]
    multi_class: MultiClass
    break_ties: bool
    class_factors: Callable[[Floats, Rows], Floats]  # a factor for each class, from weights and codes of rows

    def binary_tasks(self, weight: Floats) -> list[BinaryTask]:
        seen = np.bincount(self.codes, weight, len(self.classes)) > 0.0
        if not seen.all():
            raise ValueError(
                f"A fold has no training row of class {self.classes[~seen].tolist()[0]!r}: use fewer folds."
            )
        counted = weight > 0.0
        weight = weight * self.class_factors(weight[counted], self.codes[counted])[self.codes]
        return [self._binary_task(problem, weight) for problem in binary_problems(len(self.classes), self.multi_class)]

    def _binary_task(self, problem: BinaryProblem, weight: Floats) -> BinaryTask:
        if problem.negative is None or len(self.classes) == 2:
            rows = np.arange(weight.size)
        else:
            is_in = (self.codes == problem.positive) | (self.codes == problem.negative)
            rows = np.flatnonzero(is_in & (weight > 0.0))
        y = np.where(self.codes[rows] == problem.positive, 1.0, -1.0)
        return BinaryTask(rows, weight[rows], lambda upper: svc_problem(y, upper))

    def error(self, values: Floats, test: Rows, weight: Floats) -> float:
        predicted = choose_class(values, len(self.classes), self.multi_class == "ovr", self.break_ties)
        return float(np.average(predicted != self.codes[test], weights=weight))


class RegressionTask(NamedTuple):
    """The problem of a regression, and its mean squared error."""

    target: Floats
    epsilon: float

    def binary_tasks(self, weight: Floats) -> list[BinaryTask]:
        return [
            BinaryTask(
                np.arange(weight.size), weight, lambda upper: svr_problem(self.target, upper, self.epsilon)
            )
        ]  # fmt: skip

    def error(self, values: Floats, test: Rows, weight: Floats) -> float:
        return float(np.average((values[:, 0] - self.target[test]) ** 2, weights=weight))
