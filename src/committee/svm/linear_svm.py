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
    BaseLargeMachine,
    BaseLargeRegressor,
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

MOST_COLUMNS = 1000
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
    if dual is True or (dual == "auto" and power == 1 and d > MOST_COLUMNS):
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


class BaseLinearMachine(BaseLargeMachine):
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
        self._refuse_hard_margin()
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
        found: list[Found] = []
        with progress("machines", len(costs), self.verbose) as say:
            for k, each in enumerate(costs):
                found.append(self._solve(self._problem(X, each), int(seeds[k]), k))
                say(f"objective {found[-1].records[-1].objective:.5g}")
        self._keep(found, shift)

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

    def _keep(self, found: list[Found], shift: Floats) -> None:
        planes = [each.plane for each in found]
        w, b = np.array([plane.w for plane in planes]), np.array([plane.b for plane in planes])
        b = b - w @ shift
        if self.scaling_ is not None:
            w = w / self.scaling_.scale
            b = b - w @ self.scaling_.shift
        self.coef_, self.intercept_ = w, b
        self.margin_ = np.array([plane.margin for plane in planes])
        self.objective_ = np.array([each.records[-1].objective for each in found])
        self.history_ = History.from_records([record for each in found for record in each.records])
        self.n_iter_ = max(1, max(each.records[-1].step for each in found))
        self.duality_gap_ = np.array([each.gap for each in found])
        self.converged_ = all(each.is_done for each in found)
        if not self.converged_:
            worst = max(each.gap for each in found if not each.is_done)
            warn_of_no_convergence(
                type(self).__name__, self.n_iter_, self.max_iter, "the relative duality gap", worst, self.tol
            )

    def _score(self, table: Any) -> Floats:
        return table @ np.atleast_2d(self.coef_).T + self.intercept_


def _nothing(solver: Solver, number: int) -> Record:
    """Of a machine with nothing to tell apart."""
    kind = RECORDS[solver]
    return kind(number, 0, *[0.0] * (len(kind._fields) - 3), margin=np.inf)  # type: ignore[call-arg]


class LinearSVC(BaseLargeClassifier, BaseLinearMachine):
    """Linear support vector machine for classes (I-1, I-2, I-6, I-8); more than two one against the rest.

    Parameters have scikit-learn's names and meanings; these are new, differ or take more:

    loss : {"squared_hinge", "hinge"}
    dual : "auto" or bool
        True takes dual coordinate descent; False Newton's method on the primal for the squared hinge, an interior
        point method for the hinge; "auto" as False, but True for the hinge on more than 1,000 columns.
    multi_class : "ovr"; the joint problem of Crammer and Singer is refused
    penalize_intercept : bool
        False, the documents' problem, leaves b out of the penalty. True adds 1/2 (b / intercept_scaling)^2 as LIBLINEAR
        and scikit-learn do: the same numbers as there. `intercept_scaling` has no other use.
    tol : dual coordinate descent ends at a duality gap below tol times the objective; the others, whose last steps are
        cheap, go on to about tol^2 of that
    scale : bring the columns to mean 0 and deviation 1 inside; ``coef_`` is for the columns as they come

    A sparse table (SciPy) of up to 20 million cells becomes a dense one; larger ones only the squared hinge takes, by
    conjugate gradients.

    ``margin_`` is the width 2 / |w| (in scaled columns) and ``objective_`` the minimum of every machine, ``solver_``
    the method, ``history_`` has its steps: objective, gap or gradient norm, support vectors, margin.

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


class LinearSVR(BaseLargeRegressor, BaseLinearMachine):
    """Linear support vector regression (I-6, I-8).

    Parameters have scikit-learn's names and meanings; these are new, differ or take more:

    epsilon : half the width of the tube in which answers cost nothing
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}
    dual : "auto" or bool
        True takes dual coordinate descent; False Newton's method on the primal for the squared loss, an interior point
        method for the other; "auto" as False, but True for the latter on more than 1,000 columns.
    penalize_intercept, tol, scale : as in `LinearSVC`

    ``objective_`` is the minimum, ``solver_`` the method, ``history_`` has its steps.

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

    def _keep(self, found: list[Found], shift: Floats) -> None:
        super()._keep(found, shift)
        self.coef_ = self.coef_[0]
