"""The position of every training row relative to the margin of a support vector machine.

    y_i f(x_i) >= 1 - xi_i,  xi_i >= 0        the margin is 2 / |w| wide, row i lies |f(x_i)| / |w| from the plane

    "outside"    a_i = 0          beyond its margin, or just on it: the SVM would be the same without the row
    "free"       0 < a_i < C_i    on its margin, xi_i = 0
    "bounded"    a_i = C_i        xi_i >= 0: inside the margin, on the wrong side of the plane where xi_i > 1

Distances are those of the feature space of the kernel, of scaled columns with scale=True. The duality gap is the primal
objective 1/2 |w|^2 + sum C_i xi_i less the dual one, sum a - 1/2 |w|^2: zero at the optimum, recomputed here. The
squared hinge (the default of LinearSVC) has no bound and a_i = 2 C_i xi_i: all its support vectors are "free".
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.optimize import lsq_linear
from sklearn.utils.validation import check_is_fitted

from committee.base.array_types import Floats
from committee.records.history import History
from committee.records.result_table import ResultTable, to_pandas, to_polars
from committee.svm.binary_svm import BinarySVM
from committee.svm.linear_svm import LinearSVC
from committee.svm.multiclass import BinaryProblem, binary_problems
from committee.svm.nu_svm import NuSVC
from committee.svm.svc import SVC
from committee.tabular.validation import read_table, read_weights

Rows = NDArray[np.int64]
Kind = Literal["free", "bounded", "outside"]

KINDS: tuple[Kind, ...] = ("free", "bounded", "outside")

SVM_CLASSIFIERS = (SVC, NuSVC, LinearSVC)
"""The models whose training rows can be described."""

ON_MARGIN = 1e-6
"""Maximum |1 - y f| of a row on the margin of a linear SVM."""


class SvmGeometry(NamedTuple):
    """The training rows of one binary SVM, its margin and its gaps. `str` gives a summary."""

    rows: History  # row, label, side (y), decision (f), distance (|f| / |w|), slack (xi), alpha (a) and kind of each
    positive: Any  # the class of y = +1
    negative: Any  # that of y = -1; None stands for all other classes
    norm: float  # |w|
    offset: float  # b, of scaled columns where scale=True, as |w| and distances
    primal: float  # 1/2 |w|^2 + sum C xi (or C xi^2)
    dual: float  # sum a - 1/2 |w|^2 (less sum a^2 / 4C)
    kkt_violation: float  # largest amount by which a row contradicts its kind

    @property
    def margin(self) -> float:
        """Width 2 / |w|."""
        return 2.0 / self.norm if self.norm > 0.0 else np.inf

    @property
    def duality_gap(self) -> float:
        return self.primal - self.dual

    @property
    def total_slack(self) -> float:
        return float(self.rows.slack.sum())

    @property
    def n_wrong(self) -> int:
        """Rows on the wrong side of the plane."""
        return int(np.count_nonzero(self.rows.slack > 1.0))

    def count(self, kind: Kind) -> int:
        """Number of rows of a kind."""
        return int(np.count_nonzero(self.rows.kind == kind))

    def to_table(self) -> ResultTable:
        """A row for every training row."""
        return self.rows

    to_pandas = to_pandas
    to_polars = to_polars

    def __str__(self) -> str:
        against = "the rest" if self.negative is None else self.negative
        counts = ", ".join(f"{self.count(kind)} {kind}" for kind in KINDS)
        return (
            f"{self.positive} against {against}: margin {self.margin:.4g} (|w| {self.norm:.4g}); rows: {counts}\n"
            f"slack {self.total_slack:.4g} in all, {self.n_wrong} on the wrong side; duality gap "
            f"{self.duality_gap:.2g} of {self.primal:.5g}, KKT violation {self.kkt_violation:.2g}"
        )


def svm_geometry(
    model: SVC | NuSVC | LinearSVC, X: Any, y: Any, *, sample_weight: ArrayLike | None = None, problem: int = 0
) -> SvmGeometry:
    """Describe every training row: decision value, distance, slack, coefficient and kind; compute margin and gaps.

    Parameters
    ----------
    model : SVC, NuSVC or LinearSVC
        A fitted classifier.
    X : array-like of shape (n_samples, n_features)
        The rows that it was fitted on, in the same order.
    y : array-like of shape (n_samples,)
        Their labels.
    sample_weight : array-like of shape (n_samples,), default=None
        Their weights in the fit.
    problem : int, default=0
        Number of the binary problem, for more than two classes: a pair in the order 0-1, 0-2, ..., 1-2, ..., or a class
        against the rest. The rows are those of its classes.

    Returns
    -------
    SvmGeometry
        The rows and the sums over them.

    Examples
    --------
    >>> import numpy as np
    >>> from committee import SVC
    >>> X, y = np.array([[0.0], [1.0], [3.0], [4.0]]), np.array([0, 0, 1, 1])
    >>> print(svm_geometry(SVC(C=np.inf, kernel="linear").fit(X, y), X, y))
    1 against 0: margin 2 (|w| 1); rows: 2 free, 0 bounded, 2 outside
    slack 0 in all, 0 on the wrong side; duality gap 0 of 0.5, KKT violation 0
    """
    if not isinstance(model, SVM_CLASSIFIERS):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(
            "svm_geometry and SVMDecisionBoundaryDisplay are for SVM classifiers (SVC, NuSVC, LinearSVC), not "
            f"for {type(model).__name__}."
        )
    check_is_fitted(model, "classes_")
    if sparse.issparse(X):
        raise TypeError("X is sparse, a dense table is required: pass X.toarray().")
    weight = read_weights(sample_weight, len(y))
    weight = np.ones(len(y)) if weight is None else weight
    codes = _codes(model, y)
    place, classes, side = _rows_of(model, codes, weight, problem)
    f = binary_values(model, X)[place, problem]
    if isinstance(model, LinearSVC):
        result = _linear(model, X, codes, weight, place, side, problem, f)
    else:
        result = _kernel(model, X, codes, weight, place, side, problem)
    return _describe(model, result, place, codes, classes, side, f)


class _Dual(NamedTuple):
    """The dual solution of a binary problem."""

    alpha: Floats
    bound: Floats  # C_i
    is_bounded: NDArray[np.bool_]
    norm: float
    offset: float
    is_squared: bool = False


def _describe(
    model: Any, dual: _Dual, place: Rows, codes: Rows, classes: BinaryProblem, side: Floats, f: Floats
) -> SvmGeometry:
    margin = side * f
    slack = np.maximum(1.0 - margin, 0.0)
    slack[slack <= 1e-12 * max(1.0, float(np.abs(f).max()))] = 0.0
    kind = np.where(dual.is_bounded, "bounded", np.where(dual.alpha > 0.0, "free", "outside"))
    counted = slack > 0.0
    cost = float(dual.bound[counted] @ (slack[counted] ** 2 if dual.is_squared else slack[counted]))
    bound = np.maximum(dual.bound, np.finfo(np.float64).tiny)  # a class may have the weight 0
    half, total = 0.5 * dual.norm**2, float(dual.alpha.sum())
    lost = float(np.sum(dual.alpha**2 / (4.0 * bound))) if dual.is_squared else 0.0
    off = np.where(kind == "outside", slack, np.where(kind == "bounded", np.maximum(margin - 1.0, 0.0),
                                                      np.abs(margin - 1.0)))  # fmt: skip
    if dual.is_squared:
        off = np.abs(slack - dual.alpha / (2.0 * bound))
    rows = History({
        "row": place, "label": model.classes_[codes[place]], "side": side.astype(np.int64), "decision": f,
        "distance": np.abs(f) / dual.norm if dual.norm > 0.0 else np.full(f.size, np.inf), "slack": slack,
        "alpha": dual.alpha, "kind": kind,
    })  # fmt: skip
    negative = None if classes.negative is None else model.classes_[classes.negative]
    return SvmGeometry(
        rows, model.classes_[classes.positive], negative, dual.norm, dual.offset, half + cost, total - half - lost,
        float(off.max(initial=0.0)),
    )  # fmt: skip


# --- the rows of a problem -------------------------------------------------------------------------------------------


def _codes(model: Any, y: Any) -> Rows:
    labels = np.ravel(np.asarray(y))
    codes = np.searchsorted(model.classes_, labels)
    known = codes < len(model.classes_)
    known[known] = model.classes_[codes[known]] == labels[known]
    return np.where(known, codes, -1)


def _rows_of(model: Any, codes: Rows, weight: Floats, problem: int) -> tuple[Rows, BinaryProblem, Floats]:
    """The rows that a binary SVM was trained on, its classes, and y = +1 or -1 of these rows."""
    problems = binary_problems(len(model.classes_), "ovr") if isinstance(model, LinearSVC) else model.binary_problems()
    if not 0 <= problem < len(problems):
        raise ValueError(
            f"problem must be in 0..{len(problems) - 1}, the binary problems of this model; got {problem}."
        )
    classes = problems[problem]
    is_in = weight > 0.0
    if np.any(codes[is_in] < 0):
        raise ValueError("y has labels that the model does not know: pass the labels it was fitted on.")
    if classes.negative is not None:
        is_in = is_in & ((codes == classes.positive) | (codes == classes.negative))
    place = np.flatnonzero(is_in)
    return place, classes, np.where(codes[place] == classes.positive, 1.0, -1.0)


def binary_values(model: Any, X: Any) -> Floats:
    """f of all binary SVMs of a model, [n, M], in float64."""
    if not isinstance(model, LinearSVC):
        return model.exact_values(X)
    return np.asarray(model.decision_function(X)).reshape(len(X), -1)


def _kernel(model: SVC | NuSVC, X: Any, codes: Rows, weight: Floats, place: Rows, side: Floats, problem: int) -> _Dual:
    result: BinarySVM = model.binary_svms_[problem]
    kept = weight > 0.0
    _require_training_rows(model, X, kept, bool(np.isin(model.support_, np.flatnonzero(kept)).all()))
    alpha, is_bounded = np.zeros(place.size), np.full(place.size, False)
    if result.support.size and int(result.support.max()) >= place.size:
        _reject_rows()
    alpha[result.support] = result.coef * side[result.support]
    is_bounded[result.support] = result.is_bounded
    if np.any(alpha < 0.0):
        _reject_rows()
    factor = model.class_weight_[codes[place]] * weight[place]
    bound = (model.C if isinstance(model, SVC) else 1.0 / result.scale) * factor
    if not np.allclose(alpha[is_bounded], bound[is_bounded], rtol=1e-6):  # other weights, or C was set later
        _reject_rows()
    return _Dual(alpha, bound, is_bounded, float(np.sqrt(result.squared_norm)), result.offset)


def _require_training_rows(model: SVC | NuSVC, X: Any, kept: NDArray[np.bool_], are_kept: bool) -> None:
    """Raise ValueError for rows that are not those of the fit."""
    table = np.asarray(read_table(model, X), np.float64)
    vectors = model.support_vectors_
    if len(table) != kept.size or not are_kept or int(model.support_.max(initial=0)) >= len(table):
        _reject_rows()
    if vectors.size and not model.scale and not np.allclose(table[model.support_], vectors):
        _reject_rows()


def _reject_rows() -> NoReturn:
    raise ValueError(
        "These are not the rows that the model was fitted on: pass the same X, y and sample_weight, and leave its "
        "parameters as they were."
    )


# --- linear SVMs: the dual solution from the primal one --------------------------------------------------------------


def _linear(
    model: LinearSVC, X: Any, codes: Rows, weight: Floats, place: Rows, side: Floats, problem: int, f: Floats
) -> _Dual:
    if model.penalize_intercept or not model.fit_intercept:
        raise ValueError(
            "The geometry requires an intercept without penalty: set fit_intercept=True and penalize_intercept=False."
        )
    table = np.asarray(read_table(model, X), np.float64)[place]
    w = np.atleast_2d(model.coef_)[problem]
    offset = float(np.atleast_1d(model.intercept_)[problem])
    if model.scaling_ is not None:
        offset += float(w @ model.scaling_.shift)
        w = w * np.where(np.isinf(model.scaling_.scale), 0.0, model.scaling_.scale)
        table = np.asarray(model.scaling_.apply(table), np.float64)
    fitted: Any = model
    factor = weight[place] * fitted._class_factors(codes[place], weight[place])[codes[place]]
    bound, norm = model.C * factor, float(np.linalg.norm(w))
    slack = np.maximum(1.0 - side * f, 0.0)
    if model.loss == "squared_hinge":
        return _Dual(2.0 * bound * slack, bound, np.full(f.size, False), norm, offset, is_squared=True)
    alpha = _hinge_alpha(table, side, side * f, bound, w)
    return _Dual(alpha, bound, alpha >= bound, norm, offset)


def _hinge_alpha(table: Floats, side: Floats, margin: Floats, bound: Floats, w: Floats) -> Floats:
    """a from w = sum a y x, sum a y = 0: C_i inside the margin, 0 outside it, least squares for the rows on it."""
    alpha = np.where(margin < 1.0, bound, 0.0)
    on = np.flatnonzero(np.abs(margin - 1.0) <= ON_MARGIN)
    alpha[on] = 0.0
    if on.size:
        by = alpha * side
        matrix = np.column_stack([table[on], np.ones(on.size)]).T * side[on]
        left = np.append(w - by @ table, -by.sum())
        scale = np.maximum(np.abs(matrix).max(axis=1), np.finfo(np.float64).tiny)
        result: Any = lsq_linear(matrix / scale[:, np.newaxis], left / scale, bounds=(0.0, bound[on]), tol=1e-14)
        part = np.clip(result.x / bound[on], 0.0, 1.0)
        alpha[on] = np.where(part < 1e-9, 0.0, np.where(part > 1.0 - 1e-9, 1.0, part)) * bound[on]
    return alpha
