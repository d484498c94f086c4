"""Linear support vector machines for many rows (Cortes and Vapnik 1995; Fan et al., LIBLINEAR, 2008).

    min over w, b of  1/2 |w|^2 + C sum_i c_i loss(y_i, w x_i + b)

    hinge max(0, 1 - y f), squared hinge, epsilon-insensitive max(0, |y - f| - e), its square

The intercept b is not penalised, so that shifting the columns changes nothing else. LIBLINEAR adds
1/2 (b / intercept_scaling)^2 to the penalty; `penalize_intercept=True` does the same.

    loss                          method (dual="auto")
    squared                       `primal_newton`: exact after a few steps
    hinge, epsilon-insensitive    `interior_point` up to 1,000 columns: about 15 steps, all digits
    the same, more columns        `dual_coordinate_descent`

dual=True takes `dual_coordinate_descent`, dual=False one of the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils.validation import check_is_fitted, validate_data

from committee.base.array_types import Floats
from committee.base.parameters import RANDOM_STATE, at_least, fitted, fixed, non_negative, one_of, param, positive
from committee.base.progress import progress
from committee.base.rng import RandomState, member_seeds
from committee.records.history import History
from committee.svm._base import EPSILON
from committee.svm._linear_base import (
    BaseLargeClassifier,
    BaseLargeRegressor,
    BaseLargeSVM,
    Costs,
    TrainingRows,
    warn_of_no_convergence,
)
from committee.svm._linear_problem import LinearProblem, Plane, relative_gap, squared_loss_gap
from committee.svm._scaling import Scaling
from committee.svm.dual_coordinate_descent import DescentRecord, dual_coordinate_descent
from committee.svm.interior_point import InteriorRecord, interior_point
from committee.svm.primal_newton import NewtonRecord, primal_newton
from committee.tabular.schema import Columns
from committee.tabular.validation import read_weights

Record = NewtonRecord | InteriorRecord | DescentRecord
Solver = Literal["primal_newton", "interior_point", "dual_coordinate_descent"]

RECORDS: dict[Solver, type[NewtonRecord] | type[InteriorRecord] | type[DescentRecord]] = {
    "primal_newton": NewtonRecord,
    "interior_point": InteriorRecord,
    "dual_coordinate_descent": DescentRecord,
}

DENSE_CELLS = 20_000_000
"""Maximum number of cells of a sparse table that is made dense."""

MAX_COLUMNS = 1000
"""Maximum number of columns for the interior point method: its d x d matrix needs n d^2 work per step."""

FAR = 1e3
"""A column whose mean is more than this many deviations from zero is centred."""


class Result(NamedTuple):
    """The solution of one binary problem."""

    plane: Plane
    records: list[Record]
    is_optimal: bool
    gap: float  # relative duality gap


def choose_solver(power: int, dual: bool | str, d: int) -> Solver:
    """The method for a loss of this power on d columns."""
    if dual is True or (dual == "auto" and power == 1 and d > MAX_COLUMNS):
        return "dual_coordinate_descent"
    return "interior_point" if power == 1 else "primal_newton"


def linear_svm(
    problem: LinearProblem, power: int, solver: Solver, *, tol: float, max_iter: int, seed: int = 0, number: int = 0
) -> Iterator[tuple[Plane, Record, bool]]:
    """Planes step by step, each with its record and whether the minimum is reached."""
    if solver == "primal_newton":
        return primal_newton(problem, tol=tol, max_iter=max_iter, number=number)
    if solver == "interior_point":
        return interior_point(problem, tol=tol, max_iter=max_iter, number=number)
    return dual_coordinate_descent(problem, power, tol=tol, max_iter=max_iter, seed=seed, number=number)


class BaseLinearSVM(BaseLargeSVM):
    """Base class of the linear SVMs."""

    penalty: Literal["l2"] = fixed("l2")
    loss: Any = fixed(None)
    dual: bool | Literal["auto"] = param(
        "boolean",
        one_of("auto"),
        default="auto",
        doc="True solves the dual by coordinate descent. False solves the primal: Newton's method for the squared "
        'loss, an interior point method for the other. "auto" is False, except for the unsquared loss on more than '
        "1,000 columns.",
    )
    tol: float = param(
        positive,
        default=1e-4,
        doc="Coordinate descent stops at a duality gap below `tol` times the objective; the primal solvers, whose last "
        "steps are cheap, at about `tol` squared times the objective.",
    )
    fit_intercept: bool = param("boolean", default=True, doc="Whether to fit an intercept.")
    intercept_scaling: float = param(
        positive,
        default=1.0,
        doc="Divides the intercept in the penalty; used with `penalize_intercept=True` only.",
    )
    penalize_intercept: bool = param(
        "boolean",
        default=False,
        doc="True adds 1/2 (b / intercept_scaling)^2 to the penalty, as LIBLINEAR and scikit-learn do. False leaves "
        "the intercept b out of it.",
    )
    max_iter: int = param(at_least(1), default=1000, doc="Maximum number of iterations.")
    random_state: RandomState = param(
        *RANDOM_STATE, default=None, doc="Seed of the order of the rows in coordinate descent."
    )

    coef_: Floats = fitted(
        doc="Weights of the columns: [n_binary, n_features] with a row for each binary problem of a classifier, "
        "[n_features] for regression."
    )
    margin_: Floats = fitted(doc="Width 2 / |w| of each margin, in standardised columns with `scale=True`.")
    duality_gap_: Floats = fitted(doc="Certified relative distance of each objective from its minimum.")
    solver_: Solver = fitted(
        doc='The method that was used: "dual_coordinate_descent", "primal_newton" or "interior_point".'
    )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _read_training(self, X: Any, sample_weight: ArrayLike | None) -> tuple[Any, Floats]:
        if not sparse.issparse(X):
            return super()._read_training(X, sample_weight)
        self._reject_hard_margin()
        table: Any = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=True)
        n, d = table.shape
        weight = read_weights(sample_weight, n)
        self.columns_ = Columns(d, None, (None,) * d)
        if n * d > DENSE_CELLS and (self._power == 1 or self.dual is True or self.scale):
            raise TypeError(
                f"Sparse data of {n} x {d} cells was passed: beyond {DENSE_CELLS:,} cells it needs a squared loss, "
                "dual=False and scale=False. Change these, or pass a dense table, X.toarray()."
            )
        return table if n * d > DENSE_CELLS else table.toarray(), np.ones(n) if weight is None else weight

    def _read_table(self, X: Any) -> Any:
        if not sparse.issparse(X):
            return super()._read_table(X)
        check_is_fitted(self, "columns_")
        return validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)

    @property
    def _power(self) -> int:
        return 2 if self.loss.startswith("squared") else 1

    def _epsilon(self) -> float:
        return 0.0

    def _fit_scaling(self, rows: TrainingRows) -> Scaling:
        scaling = super()._fit_scaling(rows)
        return scaling if self.fit_intercept else scaling._replace(shift=np.zeros_like(scaling.shift))

    def _problem(self, X: Any, costs: Costs) -> LinearProblem:
        penalty = 1.0 / self.intercept_scaling**2 if self.penalize_intercept else 0.0
        counts = (costs.up > 0.0) | (costs.down > 0.0)
        rows = slice(None) if counts.all() else counts
        y, up, down = (each[rows] for each in costs)
        return LinearProblem(X[rows], y, up, down, self._epsilon(), self.fit_intercept, penalty)

    def _fit_costs(self, rows: TrainingRows, costs: Sequence[Costs]) -> None:
        X, shift = self._centred(rows.X if sparse.issparse(rows.X) else np.ascontiguousarray(rows.X, np.float64))
        self.solver_ = choose_solver(self._power, self.dual, X.shape[1])
        seeds = member_seeds(self.random_state, len(costs))
        results: list[Result] = []
        with progress("binary problems", len(costs), self.verbose) as tick:
            for k, each in enumerate(costs):
                results.append(self._solve(self._problem(X, each), int(seeds[k]), k))
                tick(f"objective {results[-1].records[-1].objective:.5g}")
        self._set_results(results, shift)

    def _centred(self, X: Any) -> tuple[Any, Floats]:
        """The table with columns far from zero centred, and their shifts; an intercept without penalty allows it.

        A column of nearly constant large values is almost collinear with the intercept: rounding would hide the
        minimum.
        """
        d = X.shape[1]
        if sparse.issparse(X) or not self.fit_intercept or self.penalize_intercept:
            return X, np.zeros(d)
        with np.errstate(over="ignore", invalid="ignore"):  # columns near the end of float64 stay as they are
            mean, deviation = X.mean(axis=0), X.std(axis=0)
        is_far = np.isfinite(mean) & (np.abs(mean) > FAR * deviation)
        shift = np.where(is_far, mean, 0.0)
        return (X - shift if is_far.any() else X), shift

    def _solve(self, problem: LinearProblem, seed: int, number: int) -> Result:
        if problem.has_intercept and problem.intercept_penalty == 0.0:
            sides = [side for side, cost in ((1.0, problem.up), (-1.0, problem.down)) if np.any(cost > 0.0)]
            if len(sides) == 1:  # rows of one class: any b beyond it costs nothing
                return Result(
                    Plane(np.zeros(problem.X.shape[1]), sides[0]), [_flat_record(self.solver_, number)], True, 0.0
                )
        plane, records, is_optimal = Plane(np.empty(0), 0.0), list[Record](), False
        steps = linear_svm(
            problem, self._power, self.solver_, tol=self.tol, max_iter=self.max_iter, seed=seed, number=number
        )
        for plane, record, is_optimal in steps:  # noqa: B007
            records.append(record)
        last = records[-1]
        gap = (
            squared_loss_gap(problem, plane) if isinstance(last, NewtonRecord) else last.objective - last.dual_objective
        )
        gap = relative_gap(gap, last.objective)
        return Result(plane, records, is_optimal and gap <= self.tol, gap)

    def _set_results(self, results: Sequence[Result], shift: Floats) -> None:
        planes = [each.plane for each in results]
        w, b = np.array([plane.w for plane in planes]), np.array([plane.b for plane in planes])
        b = b - w @ shift
        if self.scaling_ is not None:
            w = w / self.scaling_.scale
            b = b - w @ self.scaling_.shift
        self.coef_, self.intercept_ = w, b
        self.margin_ = np.array([plane.margin for plane in planes])
        self.objective_ = np.array([each.records[-1].objective for each in results])
        self.history_ = History.from_records([record for each in results for record in each.records])
        self.n_iter_ = max(1, max(each.records[-1].step for each in results))
        self.duality_gap_ = np.array([each.gap for each in results])
        self.converged_ = all(each.is_optimal for each in results)
        if not self.converged_:
            worst = max(each.gap for each in results if not each.is_optimal)
            warn_of_no_convergence(
                type(self).__name__, self.n_iter_, self.max_iter, "the relative duality gap", worst, self.tol
            )

    def _scores(self, table: Any) -> Floats:
        return table @ np.atleast_2d(self.coef_).T + self.intercept_


def _flat_record(solver: Solver, number: int) -> Record:
    """The record of a problem with rows of one class only."""
    kind = RECORDS[solver]
    return kind(number, 0, *[0.0] * (len(kind._fields) - 3), margin=np.inf)  # type: ignore[call-arg]


class LinearSVC(BaseLargeClassifier, BaseLinearSVM):
    """Linear support vector classifier for many rows.

    More than two classes are separated one against the rest. A sparse table (SciPy) of up to 20 million cells is made
    dense; larger ones need the squared hinge, which solves them by conjugate gradients.

    References
    ----------
    Hsieh, C.-J., Chang, K.-W., Lin, C.-J., Keerthi, S. S. and Sundararajan, S. (2008). A dual coordinate descent method
    for large-scale linear SVM. ICML, 408-415.

    Mangasarian, O. L. (2002). A finite Newton method for classification. Optimization Methods and Software 17, 913-929.

    Examples
    --------
    >>> from committee.datasets import load_dataset
    >>> from committee import LinearSVC
    >>> sonar = load_dataset("sonar")
    >>> model = LinearSVC(loss="hinge", scale=True).fit(sonar.X, sonar.y)
    >>> round(model.score(sonar.X, sonar.y), 3), model.margin_.round(3), bool(model.history_.gap[-1] < 1e-9)
    (0.918, array([0.472]), True)
    """

    penalty: Literal["l2"] = param(
        one_of("l2"), default="l2", kw_only=False, doc='The norm of the penalty; only "l2" is available.'
    )
    loss: Literal["squared_hinge", "hinge"] = param(
        one_of("squared_hinge", "hinge"),
        default="squared_hinge",
        kw_only=False,
        doc="The loss of a row inside the margin.",
    )
    multi_class: Literal["ovr"] = param(
        one_of("ovr", "crammer_singer"),
        default="ovr",
        doc='One binary SVM for each class against the rest. "crammer_singer" is not available and raises an error.',
    )

    def _fit_costs(self, rows: TrainingRows, costs: Sequence[Costs]) -> None:
        if self.multi_class != "ovr":
            raise ValueError(
                "multi_class='crammer_singer', one problem for all classes, is not available: use 'ovr', or SVC, which "
                "separates each pair of classes."
            )
        super()._fit_costs(rows, costs)


class LinearSVR(BaseLargeRegressor, BaseLinearSVM):
    """Linear support vector regression for many rows.

    References
    ----------
    Hsieh, C.-J., Chang, K.-W., Lin, C.-J., Keerthi, S. S. and Sundararajan, S. (2008). A dual coordinate descent method
    for large-scale linear SVM. ICML, 408-415.

    Examples
    --------
    >>> import numpy as np
    >>> from committee import LinearSVR
    >>> X = np.arange(6.0)[:, None]
    >>> y = np.array([1.0, 3.0, 5.0, 7.0, 9.0, 50.0])  # 2 x + 1, and one outlier
    >>> model = LinearSVR(C=100.0).fit(X, y)
    >>> round(float(model.coef_[0]), 3), round(float(model.intercept_[0]), 3)
    (2.0, 1.0)
    """

    epsilon: float = param(non_negative, default=0.0, doc=EPSILON)
    loss: Literal["epsilon_insensitive", "squared_epsilon_insensitive"] = param(
        one_of("epsilon_insensitive", "squared_epsilon_insensitive"),
        default="epsilon_insensitive",
        doc="The loss of an error beyond the tube.",
    )

    def _epsilon(self) -> float:
        return self.epsilon

    def _set_results(self, results: Sequence[Result], shift: Floats) -> None:
        super()._set_results(results, shift)
        self.coef_ = self.coef_[0]
