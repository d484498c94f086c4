"""Base class of the estimators that solve the dual problem: reading and scaling, the kernel, the decision function."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning

from committee.base.array_types import Floats
from committee.base.parameters import at_least, fitted, fixed, param, positive
from committee.base.progress import progress
from committee.base.stacklevel import level_of_caller
from committee.records.history import History
from committee.svm._base import BaseKernelParameters, BaseSVM
from committee.svm._decision import Expansion, choose_precision
from committee.svm._kernel_rows import KernelRows
from committee.svm._scaling import fit_scaling, warn_of_scales
from committee.svm._shrinking import shrinking
from committee.svm.binary_svm import BinarySVM, Offset, make_binary_svm
from committee.svm.kernel_algebra import Kernel
from committee.svm.kernel_functions import GramFunction, Linear, Precomputed, RowFunction
from committee.svm.mercer import warn_of_invalid
from committee.svm.smo import OnStep, Problem, Progress, Solution, Step, solve

Rows = NDArray[np.int64]

MIN_SCALE = 1e-100
"""Of the largest |x|: squares of it stay far from the end of float64."""

OFFSET = (
    "How the intercept is computed: the mean over all free support vectors, or half the sum of the means over those of "
    "each class."
)


class Record(NamedTuple):
    """An outer step of the solver: a row of `history_`."""

    problem: int  # number of the binary problem
    step: int  # pairs moved so far
    objective: float
    gap: float  # of the KKT conditions; among the active variables, while the problem is shrunk (`_shrinking.py`)
    n_support: int


class TrainingData(NamedTuple):
    """The rows of positive weight, as the kernel takes them."""

    table: Floats  # [n, d]
    kept: Rows  # [n] their positions in the user's table
    weight: Floats  # [n]
    kernel: Kernel  # settled on them


class BaseKernelSVM(BaseSVM, BaseKernelParameters):
    """Base class of the estimators over the dual problem of `smo.py`."""

    C: float = fixed(1.0)
    shrinking: bool = param(
        "boolean",
        default=True,
        doc="Whether late steps are restricted to the variables that may still change, where the cache is too small "
        "for all kernel rows. The optimum is the same up to `tol`.",
    )
    tol: float = param(
        positive, default=1e-3, doc="Tolerance of the optimality (KKT) conditions at which the solver stops."
    )
    cache_size: float = param(positive, default=200.0, doc="Memory for kernel rows, in megabytes.")
    max_iter: int = param(
        at_least(-1),
        default=-1,
        doc="Maximum number of steps of the solver. With -1 it stops after 10,000,000 steps (100 per variable, if that "
        "is more).",
    )
    offset: Offset = fixed("free")

    support_: NDArray[np.int32] = fitted(doc="Indices of the support vectors.")
    support_vectors_: Floats = fitted(doc="The support vectors; empty for a precomputed kernel.")
    n_support_: NDArray[np.int32] = fitted(doc="Number of support vectors, of each class for classifiers.")
    dual_coef_: Floats = fitted(
        doc="Coefficients of the support vectors, one row for two classes and for models without classes. A support "
        "vector of one of K classes has K - 1 coefficients, one against each of the other classes."
    )
    binary_svms_: tuple[BinarySVM, ...] = fitted(
        doc="The solution of each binary problem: margin, free and bounded support vectors, objective, duality gap and "
        "KKT gap."
    )
    kkt_gap_: float = fitted(doc="Largest violation of the optimality conditions.")
    fit_status_: int = fitted(doc="0 if the solver converged, else 1.")
    n_iter_: NDArray[np.int32] | int = fitted(
        doc="Number of steps of the solver; classifiers have one for each binary problem."
    )
    shape_fit_: tuple[int, int] = fitted(doc="Shape of the training table.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed" or isinstance(self.kernel, Precomputed)
        return tags

    # --- reading ------------------------------------------------------------------------------------------------------

    def _read_training(self, X: Any, sample_weight: ArrayLike | None) -> tuple[Floats, Floats]:
        result, weight = super()._read_training(X, sample_weight)
        table = np.ascontiguousarray(result, np.float64)
        largest = max(float(table.max()), -float(table.min()))
        if not self.scale and 0.0 < largest < MIN_SCALE:
            raise ValueError(
                f"The largest |x| is {largest:.3g}, too small for products in float64: multiply the columns, or set "
                "scale=True."
            )
        return table, weight

    def _prepare(self, table: Floats, weight: Floats) -> TrainingData:
        """Drop rows without weight, scale the columns, settle the kernel; warn of columns that differ in scale."""
        kernel = self._make_kernel()
        if isinstance(kernel, Precomputed):
            self._check_gram(table)
        kept = np.flatnonzero(weight > 0.0)
        if kept.size < weight.size:
            table, weight = table[kept], weight[kept]
        self._scaling = fit_scaling(table, weight) if self.scale else None
        if self._scaling is not None:
            table = np.asarray(self._scaling.apply(table), np.float64)
        settled = kernel.settle(table, weight)
        if not isinstance(settled, Precomputed | GramFunction | RowFunction):
            warn_of_scales(table, self.columns_, stacklevel=level_of_caller() + 1)
        return TrainingData(table, kept, weight, settled)

    def _check_gram(self, table: Floats) -> None:
        if table.shape[0] != table.shape[1]:
            raise ValueError(
                f"Precomputed matrix must be a square matrix. Input is a {table.shape[0]}x{table.shape[1]} matrix."
            )
        if self.scale:
            raise ValueError("scale=True scales columns of X, which a precomputed Gram matrix does not have.")

    def _kernel_rows(self, data: TrainingData) -> KernelRows:
        rows = KernelRows(data.kernel, data.table, cache_size=self.cache_size, n_jobs=self.n_jobs, place=data.kept)
        warn_of_invalid(data.kernel, rows.exact_points)
        return rows

    # --- solving ------------------------------------------------------------------------------------------------------

    def _solve(self, problem: Problem, rows: KernelRows, watch: OnStep | None = None) -> Solution:
        """`smo.solve` with this estimator's parameters, and a progress line."""
        with progress(type(self).__name__, 0, int(self.verbose)) as tick:

            def on_step(run: Progress, step: Step) -> None:
                tick(f"gap {step.gap:.2e}, {step.n_support} support vectors, objective {step.objective:.6g}")
                if watch is not None:
                    watch(run, step)

            with shrinking(self.shrinking):
                return solve(problem, rows, tol=self.tol, max_steps=self.max_iter, on_step=on_step)

    def _train(self, data: TrainingData, problem: Problem) -> BinarySVM:
        """Solve the one problem of a model without classes, and set all fitted attributes."""
        rows = self._kernel_rows(data)
        result = self._solve(problem, rows)
        svm = make_binary_svm(problem, result, self.offset, rows.n)
        self._set_solutions([svm], [result])
        self.n_support_ = np.array([len(svm.support)], np.int32)
        self.dual_coef_ = svm.coef[np.newaxis]
        self.n_iter_ = svm.n_steps
        spread = float(np.std(result.f - problem.y * problem.p))
        self._set_expansion(data, rows, svm.support, svm.coef[:, np.newaxis], np.array([svm.offset]), spread)
        return svm

    def _set_solutions(self, svms: Sequence[BinarySVM], solutions: Sequence[Solution]) -> None:
        """Set what the solver measured in each binary problem; warn where it did not converge."""
        self.binary_svms_ = tuple(svms)
        self.history_ = History.from_records(
            [Record(k, *step) for k, result in enumerate(solutions) for step in result.records]
        )
        self.converged_ = all(result.is_optimal for result in solutions)
        self.kkt_gap_ = max(result.gap for result in solutions)
        self.fit_status_ = int(not self.converged_)
        late = [result for result in solutions if not result.is_optimal]
        if late:
            which = "" if len(solutions) == 1 else f" in {len(late)} of {len(solutions)} binary problems"
            self._warn_not_converged(
                f"The solver stopped after {max(result.n_steps for result in late)} steps{which}",
                max(result.gap for result in late),
            )

    def _warn_not_converged(self, event: str, gap: float, consequence: str = "") -> None:
        if np.isinf(self.C):
            advice = "C is infinite, and the constraints may be impossible to satisfy: set a finite C."
        elif self.scale or self.__sklearn_tags__().input_tags.pairwise:
            advice = "Use a larger max_iter or tol, or a smaller C (more penalty)."
        else:
            advice = "Use a larger max_iter or tol, or scale the columns (scale=True)."
        warnings.warn(
            f"{event}: the KKT gap is {gap:.3g}, but tol={self.tol:g} was required.{consequence} {advice}",
            ConvergenceWarning,
            stacklevel=level_of_caller(),
        )

    def _set_expansion(
        self, data: TrainingData, rows: KernelRows, support: Rows, coef: Floats, offset: Floats, unit: float = 1.0
    ) -> None:
        """Set the support vectors and the decision function, whose rounding error may be a small part of `unit`."""
        self.kernel_ = data.kernel
        self.support_ = data.kept[support].astype(np.int32)
        is_given = isinstance(data.kernel, Precomputed)
        self.support_vectors_ = np.empty((0, 0)) if is_given else data.table[support]
        points = data.kernel.points(data.table[support], np.float64, data.kept[support])
        if is_given:
            points = points._replace(values=np.empty((len(support), 0)))
        self._expansion = Expansion(data.kernel, points, coef, offset)
        if rows.points is not rows.exact_points:
            single = data.kernel.points(data.table[support], np.float32, data.kept[support])
            self._expansion = choose_precision(self._expansion, single, data.table, unit, self.n_jobs)
        self.intercept_ = self._plane()[1] if isinstance(data.kernel, Linear) else offset
        self.shape_fit_ = (int(self.columns_.n_features) if is_given else len(data.kept), self.columns_.n_features)

    # --- prediction ---------------------------------------------------------------------------------------------------

    def _read_table(self, X: Any) -> Floats:
        table = np.asarray(super()._read_table(X), np.float64)
        return table if self._scaling is None else np.asarray(self._scaling.apply(table), np.float64)

    def _values(self, X: Any) -> Floats:
        """f(x) of every binary SVM, [n, M]."""
        table = self._read_table(X)
        return self._expansion.values(table, self.n_jobs)

    def exact_values(self, X: Any) -> Floats:
        """f(x) of every binary SVM, [n, M], in float64 whatever precision `decision_function` uses."""
        table = self._read_table(X)
        points = self._expansion.points
        if not isinstance(self.kernel_, Precomputed):
            points = self.kernel_.points(self.support_vectors_, np.float64, points.place)
        return self._expansion._replace(points=points).values(table, self.n_jobs)

    @property
    def coef_(self) -> Floats:
        """Weights of the original columns, for a linear kernel only: f(x) is X @ coef_.T + intercept_."""
        if not isinstance(getattr(self, "kernel_", None), Linear):
            raise AttributeError("coef_ is only available when using a linear kernel")
        w, b = self._plane()
        if np.array_equal(self.intercept_, self._expansion.offset) and not np.allclose(self.intercept_, b):
            raise AttributeError(
                "The model was saved by an earlier version, whose intercept_ belongs to the scaled columns: fit it "
                "again for a coef_ and an intercept_ of the original columns."
            )
        return w

    def _plane(self) -> tuple[Floats, Floats]:
        """w [M, d] and b [M] of a linear kernel, for the original columns."""
        w, b = self._expansion.coef.T @ self.support_vectors_, self._expansion.offset
        if self._scaling is None:
            return w, b
        w = w / self._scaling.scale
        return w, b - w @ self._scaling.shift
