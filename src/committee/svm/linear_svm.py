"""Linear support vector machines for many rows (Cortes and Vapnik 1995; Fan et al., LIBLINEAR, 2008).

    min over w, b of  1/2 |w|^2 + C sum_i c_i loss(y_i, w x_i + b)

    hinge max(0, 1 - y f), squared hinge, epsilon-insensitive max(0, |y - f| - e), its square

b is not in the penalty, as in the documents (I-1, I-2), so that moving the columns changes nothing else. LIBLINEAR has
1/2 (b / intercept_scaling)^2 in it: `penalize_intercept=True` does the same.

    loss                          method (dual="auto")
    squared                       `primal_newton`: ends exactly after a few steps
    hinge, epsilon-insensitive    `interior_point` up to 1,000 columns: about 15 steps, all digits
    the same, more columns        `dual_coordinate_descent`

dual=True takes `dual_coordinate_descent`, dual=False one of the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted, validate_data

from committee.base.array_types import Floats
from committee.base.parameters import RANDOM_STATE, at_least, fitted, fixed, non_negative, one_of, param, positive
from committee.base.progress import progress
from committee.base.rng import RandomState, member_seeds
from committee.records.history import History
from committee.svm._linear_base import (
    BaseLargeClassifier,
    BaseLargeRegressor,
    BaseLargeSVM,
    Costs,
    Rows,
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
"""Up to which a sparse table is taken as a dense one."""

MAX_COLUMNS = 1000
"""Up to which the interior point method is taken: its d x d matrix needs n d^2 work a step."""


FAR = 1e3
"""Deviations between zero and the mean of a column from which on it is moved to zero."""


class Found(NamedTuple):
    """One machine, learned."""

    plane: Plane
    records: list[Record]
    is_done: bool
    gap: float  # relative duality gap


def choose_solver(power: int, dual: bool | str, d: int) -> Solver:
    """The method for a loss of this power on d columns."""
    if dual is True or (dual == "auto" and power == 1 and d > MAX_COLUMNS):
        return "dual_coordinate_descent"
    return "interior_point" if power == 1 else "primal_newton"


def linear_svm(
    problem: LinearProblem, power: int, solver: Solver, *, tol: float, max_iter: int, seed: int = 0, number: int = 0
) -> Iterator[tuple[Plane, Record, bool]]:
    """Planes step by step, with what was measured and whether the minimum is reached."""
    if solver == "primal_newton":
        return primal_newton(problem, tol=tol, max_iter=max_iter, number=number)
    if solver == "interior_point":
        return interior_point(problem, tol=tol, max_iter=max_iter, number=number)
    return dual_coordinate_descent(problem, power, tol=tol, max_iter=max_iter, seed=seed, number=number)


class BaseLinearSVM(BaseLargeSVM):
    """Learning and answering of a plane."""

    penalty: Literal["l2"] = fixed("l2")
    loss: Any = fixed(None)
    dual: bool | Literal["auto"] = param("boolean", one_of("auto"), default="auto")
    tol: float = param(positive, default=1e-4)
    fit_intercept: bool = param("boolean", default=True)
    intercept_scaling: float = param(positive, default=1.0)
    penalize_intercept: bool = param("boolean", default=False)
    max_iter: int = param(at_least(1), default=1000)
    random_state: RandomState = param(*RANDOM_STATE, default=None)

    coef_: Floats = fitted()
    intercept_: Floats = fitted()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _begin(self, X: Any, sample_weight: Any) -> tuple[Any, Floats]:
        if not sparse.issparse(X):
            return super()._begin(X, sample_weight)
        self._reject_hard_margin()
        table: Any = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=True)
        n, d = table.shape
        weight = read_weights(sample_weight, n)
        self.columns_ = Columns(d, None, (None,) * d)
        if n * d > DENSE_CELLS and (self._power == 1 or self.dual is True or self.scale):
            raise TypeError(
                f"Sparse data was passed, {n} x {d} cells: so many only a squared loss without dual=True or scale=True "
                "takes. Change these, or pass a dense table, X.toarray()."
            )
        return table if n * d > DENSE_CELLS else table.toarray(), np.ones(n) if weight is None else weight

    def _read(self, X: Any) -> Any:
        if not sparse.issparse(X):
            return super()._read(X)
        check_is_fitted(self, "columns_")
        return validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)

    @property
    def _power(self) -> int:
        return 2 if self.loss.startswith("squared") else 1

    def _epsilon(self) -> float:
        return 0.0

    def _fit_scaling(self, rows: Rows) -> Scaling:
        scaling = super()._fit_scaling(rows)
        return scaling if self.fit_intercept else scaling._replace(shift=np.zeros_like(scaling.shift))

    def _problem(self, X: Any, costs: Costs) -> LinearProblem:
        penalty = 1.0 / self.intercept_scaling**2 if self.penalize_intercept else 0.0
        counts = (costs.up > 0.0) | (costs.down > 0.0)
        rows = slice(None) if counts.all() else counts
        y, up, down = (each[rows] for each in costs)
        return LinearProblem(X[rows], y, up, down, self._epsilon(), self.fit_intercept, penalty)

    def _learn(self, rows: Rows, costs: Sequence[Costs]) -> None:
        X, shift = self._centred(rows.X if sparse.issparse(rows.X) else np.ascontiguousarray(rows.X, np.float64))
        self.solver_: Solver = choose_solver(self._power, self.dual, X.shape[1])
        seeds = member_seeds(self.random_state, len(costs))
        result: list[Found] = []
        with progress("machines", len(costs), self.verbose) as say:
            for k, each in enumerate(costs):
                result.append(self._solve(self._problem(X, each), int(seeds[k]), k))
                say(f"objective {result[-1].records[-1].objective:.5g}")
        self._keep(result, shift)

    def _centred(self, X: Any) -> tuple[Any, Floats]:
        """The table with columns far from zero moved there, and by how much: an intercept without penalty allows it.

        A column of nearly the same large number is next to the intercept's column of ones: rounding would hide the
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

    def _solve(self, problem: LinearProblem, seed: int, number: int) -> Found:
        if problem.has_intercept and problem.intercept_penalty == 0.0:
            sides = [side for side, cost in ((1.0, problem.up), (-1.0, problem.down)) if np.any(cost > 0.0)]
            if len(sides) == 1:  # rows of one class: any b beyond it costs nothing
                return Found(Plane(np.zeros(problem.X.shape[1]), sides[0]), [_nothing(self.solver_, number)], True, 0.0)
        plane, records, is_done = Plane(np.empty(0), 0.0), list[Record](), False
        steps = linear_svm(
            problem, self._power, self.solver_, tol=self.tol, max_iter=self.max_iter, seed=seed, number=number
        )
        for plane, record, is_done in steps:  # noqa: B007
            records.append(record)
        last = records[-1]
        gap = (
            squared_loss_gap(problem, plane) if isinstance(last, NewtonRecord) else last.objective - last.dual_objective
        )
        gap = relative_gap(gap, last.objective)
        return Found(plane, records, is_done and gap <= self.tol, gap)

    def _keep(self, result: list[Found], shift: Floats) -> None:
        planes = [each.plane for each in result]
        w, b = np.array([plane.w for plane in planes]), np.array([plane.b for plane in planes])
        b = b - w @ shift
        if self.scaling_ is not None:
            w = w / self.scaling_.scale
            b = b - w @ self.scaling_.shift
        self.coef_, self.intercept_ = w, b
        self.margin_ = np.array([plane.margin for plane in planes])
        self.objective_ = np.array([each.records[-1].objective for each in result])
        self.history_ = History.from_records([record for each in result for record in each.records])
        self.n_iter_ = max(1, max(each.records[-1].step for each in result))
        self.duality_gap_ = np.array([each.gap for each in result])
        self.converged_ = all(each.is_done for each in result)
        if not self.converged_:
            worst = max(each.gap for each in result if not each.is_done)
            warn_of_no_convergence(
                type(self).__name__, self.n_iter_, self.max_iter, "the relative duality gap", worst, self.tol
            )

    def _score(self, table: Any) -> Floats:
        return table @ np.atleast_2d(self.coef_).T + self.intercept_


def _nothing(solver: Solver, number: int) -> Record:
    """Of a machine with nothing to tell apart."""
    kind = RECORDS[solver]
    return kind(number, 0, *[0.0] * (len(kind._fields) - 3), margin=np.inf)  # type: ignore[call-arg]


class LinearSVC(BaseLargeClassifier, BaseLinearSVM):
    """Linear support vector classifier for many rows.

    More than two classes are separated one against the rest. A sparse table (SciPy) of up to 20 million cells is made
    dense; larger ones need the squared hinge, which solves them by conjugate gradients.

    Parameters
    ----------
    penalty : "l2", default="l2"
        The norm of the penalty; only "l2" is available.
    loss : "squared_hinge" or "hinge", default="squared_hinge"
        The loss of a row inside the margin.
    C : float, default=1.0
        Cost of a violation of the margin; finite.
    scale : bool, default=False
        Standardise the columns before fitting; `coef_` and `intercept_` remain in the original columns.
    verbose : int, default=0
        Show progress if larger than 0.
    dual : bool or "auto", default="auto"
        True solves the dual by coordinate descent. False solves the primal: Newton's method for the squared loss, an
        interior point method for the other. "auto" is False, except for the unsquared loss on more than 1,000 columns.
    tol : float, default=0.0001
        Coordinate descent stops at a duality gap below `tol` times the objective; the primal solvers, whose last steps
        are cheap, at about `tol` squared times the objective.
    fit_intercept : bool, default=True
        Fit an intercept.
    intercept_scaling : float, default=1.0
        Divides the intercept in the penalty; used with `penalize_intercept=True` only.
    penalize_intercept : bool, default=False
        True adds 1/2 (b / intercept_scaling)^2 to the penalty, as LIBLINEAR and scikit-learn do. False leaves the
        intercept b out of it.
    max_iter : int, default=1000
        Largest number of iterations.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the order of the rows in coordinate descent.
    class_weight : dict, "balanced" or None, default=None
        Weight of each class, which multiplies the sample weights. "balanced" gives all classes the same total weight;
        None leaves the weights as they are.
    multi_class : "ovr", default="ovr"
        One binary SVM for each class against the rest. "crammer_singer" is not available and raises an error.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    coef_ : ndarray of shape (n_binary, n_features)
        Weights of the columns; n_binary is 1 for two classes, else the number of classes.
    intercept_ : ndarray of shape (n_binary,)
        Intercepts of the decision functions.
    margin_ : ndarray of shape (n_binary,)
        Width 2 / |w| of the margin, in standardised columns with `scale=True`.
    objective_ : ndarray of shape (n_binary,)
        Minimum of the objective of each problem.
    duality_gap_ : ndarray of shape (n_binary,)
        Certified relative distance of the objective from its minimum.
    solver_ : str
        The method that was used: "dual_coordinate_descent", "primal_newton" or "interior_point".
    history_ : History
        A row for every iteration: objective, gap or gradient norm, number of support vectors and margin.
    converged_ : bool
        Whether every problem reached the required gap.
    n_iter_ : int
        Largest number of iterations of any problem.
    scaling_ : Scaling or None
        Means and deviations of the columns with `scale=True`.
    columns_ : Columns
        Names, categories and number of the columns of the training table.
    n_features_in_ : int
        Number of columns of the training table.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if the training table has names that are strings.

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

    penalty: Literal["l2"] = param(one_of("l2"), default="l2", kw_only=False)
    loss: Literal["squared_hinge", "hinge"] = param(
        one_of("squared_hinge", "hinge"), default="squared_hinge", kw_only=False
    )
    multi_class: Literal["ovr"] = param(one_of("ovr", "crammer_singer"), default="ovr")

    def _learn(self, rows: Rows, costs: Sequence[Costs]) -> None:
        if self.multi_class != "ovr":
            raise ValueError(
                "multi_class='crammer_singer', one problem for all classes, is not there: take 'ovr', or SVC, which "
                "compares every two classes."
            )
        super()._learn(rows, costs)


class LinearSVR(BaseLargeRegressor, BaseLinearSVM):
    """Linear support vector regression for many rows.

    Parameters
    ----------
    C : float, default=1.0
        Cost of an error beyond the tube; finite.
    scale : bool, default=False
        Standardise the columns before fitting; `coef_` and `intercept_` remain in the original columns.
    verbose : int, default=0
        Show progress if larger than 0.
    loss : "epsilon_insensitive" or "squared_epsilon_insensitive", default="epsilon_insensitive"
        The loss of an error beyond the tube.
    dual : bool or "auto", default="auto"
        True solves the dual by coordinate descent. False solves the primal: Newton's method for the squared loss, an
        interior point method for the other. "auto" is False, except for the unsquared loss on more than 1,000 columns.
    tol : float, default=0.0001
        Coordinate descent stops at a duality gap below `tol` times the objective; the primal solvers, whose last steps
        are cheap, at about `tol` squared times the objective.
    fit_intercept : bool, default=True
        Fit an intercept.
    intercept_scaling : float, default=1.0
        Divides the intercept in the penalty; used with `penalize_intercept=True` only.
    penalize_intercept : bool, default=False
        True adds 1/2 (b / intercept_scaling)^2 to the penalty, as LIBLINEAR and scikit-learn do. False leaves the
        intercept b out of it.
    max_iter : int, default=1000
        Largest number of iterations.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the order of the rows in coordinate descent.
    epsilon : float, default=0.0
        Half the width of the tube around the prediction within which errors cost nothing.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights of the columns.
    intercept_ : ndarray of shape (1,)
        Intercept.
    margin_ : ndarray of shape (1,)
        2 / |w|, in standardised columns with `scale=True`.
    objective_ : ndarray of shape (1,)
        Minimum of the objective.
    duality_gap_ : ndarray of shape (1,)
        Certified relative distance of the objective from its minimum.
    solver_ : str
        The method that was used: "dual_coordinate_descent", "primal_newton" or "interior_point".
    history_ : History
        A row for every iteration: objective, gap or gradient norm, number of support vectors and margin.
    converged_ : bool
        Whether every problem reached the required gap.
    n_iter_ : int
        Largest number of iterations of any problem.
    scaling_ : Scaling or None
        Means and deviations of the columns with `scale=True`.
    columns_ : Columns
        Names, categories and number of the columns of the training table.
    n_features_in_ : int
        Number of columns of the training table.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if the training table has names that are strings.

    References
    ----------
    Hsieh, C.-J., Chang, K.-W., Lin, C.-J., Keerthi, S. S. and Sundararajan, S. (2008). A dual coordinate descent method
    for large-scale linear SVM. ICML, 408-415.

    Examples
    --------
    >>> import numpy as np
    >>> from committee import LinearSVR
    >>> X = np.arange(6.0)[:, None]
    >>> y = np.array([1.0, 3.0, 5.0, 7.0, 9.0, 50.0])  # 2 x + 1, and one wild value
    >>> model = LinearSVR(C=100.0).fit(X, y)
    >>> round(float(model.coef_[0]), 3), round(float(model.intercept_[0]), 3)
    (2.0, 1.0)
    """

    epsilon: float = param(non_negative, default=0.0)
    loss: Literal["epsilon_insensitive", "squared_epsilon_insensitive"] = param(
        one_of("epsilon_insensitive", "squared_epsilon_insensitive"), default="epsilon_insensitive"
    )

    def _epsilon(self) -> float:
        return self.epsilon

    def _keep(self, result: list[Found], shift: Floats) -> None:
        super()._keep(result, shift)
        self.coef_ = self.coef_[0]
