"""What all kernel machines share as estimators: reading and scaling the table, the kernel, the answers."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from committee.base.array_types import Floats
from committee.base.parameters import (
    N_JOBS,
    Estimator,
    at_least,
    between,
    fitted,
    fixed,
    non_negative,
    one_of,
    param,
    positive,
)
from committee.base.progress import progress
from committee.base.stacklevel import level_of_caller
from committee.records.history import History
from committee.svm._binary_svm import BinarySVM, Offset, make_binary_svm
from committee.svm._decision import Expansion, precision
from committee.svm._kernel_rows import KernelRows
from committee.svm._scaling import fit_scaling, reject_values, warn_of_scales
from committee.svm._shrinking import shrinking
from committee.svm.kernel_functions import (
    NAMES,
    Gamma,
    GramFunction,
    Kernel,
    Linear,
    Precomputed,
    RowFunction,
    make_kernel,
)
from committee.svm.mercer import warn_of_invalid
from committee.svm.smo import OnStep, Problem, Progress, Solution, Step, solve
from committee.tabular.schema import Columns
from committee.tabular.validation import read_table, read_training_table, read_weights

Rows = NDArray[np.int64]

SMALLEST = 1e-100
"""Of the largest |x|: squares of it stay far from the end of float64."""


class Record(NamedTuple):
    """An outer step of the solver: a row of `history_`."""

    machine: int
    step: int  # pairs moved so far
    objective: float
    gap: float  # of the KKT conditions; among the active variables, while the problem is shrunk (`shrinking.py`)
    n_support: int


class Task(NamedTuple):
    """The rows that count, as the kernel sees them."""

    table: Floats  # [n, d]
    kept: Rows  # [n] their positions in the user's table
    weight: Floats  # [n]
    kernel: Kernel  # settled on them


class BaseKernelSVM(Estimator):
    """Estimators over the dual problem of `smo.py`."""

    C: float = fixed(1.0)
    kernel: Any = param(one_of(*NAMES), callable, default="rbf")
    degree: int = param(at_least(0), default=3)
    gamma: Gamma = param(one_of("scale", "auto"), non_negative, default="scale")
    coef0: float = param(between(None, None, "neither"), default=0.0)
    shrinking: bool = param("boolean", default=True)
    tol: float = param(positive, default=1e-3)
    cache_size: float = param(positive, default=200.0)
    max_iter: int = param(at_least(-1), default=-1)
    scale: bool = param("boolean", default=False)
    n_jobs: int | None = param(*N_JOBS, default=None)
    verbose: int = param("verbose", default=0)
    offset: Offset = fixed("free")

    columns_: Columns = fitted()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed" or isinstance(self.kernel, Precomputed)
        return tags

    # --- reading ------------------------------------------------------------------------------------------------------

    def _read(self, X: Any, sample_weight: ArrayLike | None) -> tuple[Floats, Floats]:
        """The table as the user sees it and the weights; sets `columns_`."""
        columns, result = read_training_table(self, X, categorical_features=None, sample_weight=sample_weight)
        table = np.ascontiguousarray(result, np.float64)  # sums over rows in another order have other bits
        weight = read_weights(sample_weight, len(table))
        self.columns_ = columns
        reject_values(table, columns, type(self).__name__)
        self._reject_tiny(table)
        return table, np.ones(len(table)) if weight is None else weight

    def _reject_tiny(self, table: Floats) -> None:
        largest = max(float(table.max()), -float(table.min()))
        if not self.scale and 0.0 < largest < SMALLEST:
            raise ValueError(
                f"The largest |x| is {largest:.3g}, too small for products in float64: multiply the columns, or set "
                "scale=True."
            )

    def _prepare(self, table: Floats, weight: Floats) -> Task:
        """Drop rows without weight, scale, settle the kernel; warn of what will not work well."""
        kernel = make_kernel(self.kernel, degree=self.degree, gamma=self.gamma, coef0=self.coef0)
        kept = np.flatnonzero(weight > 0.0)
        is_given = isinstance(kernel, Precomputed)
        if is_given and table.shape[0] != table.shape[1]:
            raise ValueError(
                f"Precomputed matrix must be a square matrix. Input is a {table.shape[0]}x{table.shape[1]} matrix."
            )
        if is_given and self.scale:
            raise ValueError("scale=True scales columns of X, which a precomputed Gram matrix does not have.")
        if kept.size < weight.size:
            table, weight = table[kept], weight[kept]
        self._scaling = fit_scaling(table, weight) if self.scale else None
        if self._scaling is not None:
            table = np.asarray(self._scaling.apply(table), np.float64)
        settled = kernel.settle(table, weight)
        if not isinstance(settled, Precomputed | GramFunction | RowFunction):
            warn_of_scales(table, self.columns_, stacklevel=level_of_caller() + 1)
        return Task(table, kept, weight, settled)

    def _rows(self, task: Task) -> KernelRows:
        rows = KernelRows(task.kernel, task.table, cache_size=self.cache_size, n_jobs=self.n_jobs, place=task.kept)
        warn_of_invalid(task.kernel, rows.exact_points)
        return rows

    # --- solving ------------------------------------------------------------------------------------------------------

    def _solve(self, problem: Problem, rows: KernelRows, watch: OnStep | None = None) -> Solution:
        """`smo.solve` with this estimator's settings and a word on progress."""
        with progress(type(self).__name__, 0, int(self.verbose)) as tick:

            def on_step(run: Progress, step: Step) -> None:
                tick(f"gap {step.gap:.2e}, {step.n_support} support vectors, objective {step.objective:.6g}")
                if watch is not None:
                    watch(run, step)

            with shrinking(self.shrinking):
                return solve(problem, rows, tol=self.tol, max_steps=self.max_iter, on_step=on_step)

    def _train(self, task: Task, problem: Problem) -> BinarySVM:
        """One machine without classes: solve, and keep all there is to know."""
        rows = self._rows(task)
        result = self._solve(problem, rows)
        machine = make_binary_svm(problem, result, self.offset, rows.n)
        self._keep([machine], [result])
        self.n_support_ = np.array([len(machine.support)], np.int32)
        self.dual_coef_ = machine.coef[np.newaxis]
        self.n_iter_ = machine.n_steps
        spread = float(np.std(result.f - problem.y * problem.p))
        self._expand(task, rows, machine.support, machine.coef[:, np.newaxis], np.array([machine.offset]), spread)
        return machine

    def _keep(self, machines: list[BinarySVM], solutions: list[Solution]) -> None:
        """What every machine measured; a warning where one is not optimal."""
        self.binary_svms_ = tuple(machines)
        self.history_ = History.from_records(
            [Record(k, *step) for k, result in enumerate(solutions) for step in result.records]
        )
        self.converged_ = all(result.is_optimal for result in solutions)
        self.kkt_gap_ = max(result.gap for result in solutions)
        self.fit_status_ = int(not self.converged_)
        late = [result for result in solutions if not result.is_optimal]
        if late:
            worst = max(result.gap for result in late)
            which = "" if len(solutions) == 1 else f" in {len(late)} of {len(solutions)} machines"
            warnings.warn(
                f"The solver ended after {max(result.n_steps for result in late)} steps{which}: the KKT gap is "
                f"{worst:.3g}, tol={self.tol:g} was required. {self._advice()}",
                ConvergenceWarning,
                stacklevel=level_of_caller(),
            )

    def _advice(self) -> str:
        """What may help a solver that does not get there."""
        if np.isinf(self.C):
            return "C is infinite, and the constraints may be impossible to meet: set a finite C."
        if self.scale or self.__sklearn_tags__().input_tags.pairwise:
            return "Use a larger max_iter or tol, or a smaller C (more penalty)."
        return "Use a larger max_iter or tol, or scale the columns (scale=True)."

    def _expand(
        self, task: Task, rows: KernelRows, support: Rows, coef: Floats, offset: Floats, unit: float = 1.0
    ) -> None:
        """Support vectors and what predictions need; of `unit` the rounding of f may be a small part."""
        self.kernel_ = task.kernel
        self.support_ = task.kept[support].astype(np.int32)
        is_given = isinstance(task.kernel, Precomputed)
        self.support_vectors_ = np.empty((0, 0)) if is_given else task.table[support]
        points = task.kernel.points(task.table[support], np.float64, task.kept[support])
        if is_given:
            points = points._replace(values=np.empty((len(support), 0)))
        self._expansion = Expansion(task.kernel, points, coef, offset)
        if rows.points is not rows.exact_points:
            single = task.kernel.points(task.table[support], np.float32, task.kept[support])
            self._expansion = precision(self._expansion, single, task.table, unit, self.n_jobs)
        self.intercept_ = self._plane()[1] if isinstance(task.kernel, Linear) else offset
        self.shape_fit_ = (int(self.columns_.n_features) if is_given else len(task.kept), self.columns_.n_features)

    # --- answers ------------------------------------------------------------------------------------------------------

    def _values(self, X: Any) -> Floats:
        """f(x) of every machine, [n, M]."""
        table = self._read_asked(X)
        return self._expansion.values(table, self.n_jobs)

    def exact_values(self, X: Any) -> Floats:
        """f(x) of every machine, [n, M], in float64 whatever `decision_function` takes."""
        table = self._read_asked(X)
        points = self._expansion.points
        if not isinstance(self.kernel_, Precomputed):
            points = self.kernel_.points(self.support_vectors_, np.float64, points.place)
        return self._expansion._replace(points=points).values(table, self.n_jobs)

    def _read_asked(self, X: Any) -> Floats:
        """The rows to answer, scaled."""
        check_is_fitted(self, "columns_")
        table = np.ascontiguousarray(read_table(self, X), np.float64)
        reject_values(table, self.columns_, type(self).__name__)
        if self._scaling is not None:
            table = np.asarray(self._scaling.apply(table), np.float64)
        return table

    @property
    def coef_(self) -> Floats:
        """Weights of the columns as they come, for the linear kernel: f(x) is X @ coef_.T + intercept_."""
        if not isinstance(getattr(self, "kernel_", None), Linear):
            raise AttributeError("coef_ is only available when using a linear kernel")
        w, b = self._plane()
        if np.array_equal(self.intercept_, self._expansion.offset) and not np.allclose(self.intercept_, b):
            raise AttributeError(
                "The model is of an earlier version, whose intercept_ belongs to the scaled columns: fit it again for "
                "coef_ and an intercept_ that fits it."
            )
        return w

    def _plane(self) -> tuple[Floats, Floats]:
        """w [M, d] and b [M] of a linear kernel, for the columns as they come."""
        w, b = self._expansion.coef.T @ self.support_vectors_, self._expansion.offset
        if self._scaling is None:
            return w, b
        w = w / self._scaling.scale
        return w, b - w @ self._scaling.shift
