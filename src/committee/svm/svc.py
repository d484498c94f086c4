"""Support vector classification (Boser, Guyon and Vapnik 1992; Cortes and Vapnik, Support-vector networks, 1995).

    min 1/2 |w|^2 + C sum_i xi_i    y_i (w phi(x_i) + b) >= 1 - xi_i,  xi_i >= 0

C is the documents' delta; C = infinity is the hard margin, for classes that can be separated. The dual problem is

    min 1/2 a'Qa - sum a            y'a = 0,  0 <= a_i <= C w_i

with w = sum a_i y_i phi(x_i): w_i counts row i so many times. The margin is 2 / |w| wide; support vectors have a_i > 0,
those on the margin a_i < C, those beyond it a_i = C.

Hard margins. With s = sum of a over either class, w / s joins a point of the convex hull of one class to one of the
other: if |w| / s comes close to zero the hulls meet, and no plane separates them.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.validation import check_is_fitted

from committee.base.array_types import Floats
from committee.base.available_if import available_if
from committee.base.parameters import CLASS_WEIGHT, RANDOM_STATE, fixed, one_of, param, positive_or_infinite
from committee.base.rng import RandomState, member_seeds
from committee.base.stacklevel import level_of_caller
from committee.base.transaction import all_or_nothing
from committee.svm._binary_svm import BinarySVM, Offset, make_binary_svm
from committee.svm._kernel_base import BaseKernelSVM, Task
from committee.svm._kernel_rows import KernelRows
from committee.svm._linear_base import ClassWeight
from committee.svm._multiclass import MultiClass, TwoSides, join, machine_plan, vote
from committee.svm.platt import Folds, PlattScaling, fit_platt, held_out_values, make_folds
from committee.svm.smo import Problem, Progress, Solution, Step, solve
from committee.tabular.class_weight import class_weights
from committee.tabular.validation import read_targets_classification, read_weights

Codes = NDArray[np.int64]

TOUCHING = 1e-10
"""Squared distance of the hulls, in units of the largest k(x, x), at which classes count as not separable."""


def svc_problem(y: Floats, upper: Floats, start: Floats | None = None) -> Problem:
    """The dual problem of the soft margin; y is +1 or -1."""
    n = y.size
    return Problem(y, np.full(n, -1.0), upper, np.arange(n), np.zeros(n) if start is None else start)


def require_separable(run: Progress, step: Step) -> None:
    """Raise ValueError when the hulls of the classes touch: a hard margin does not exist."""
    total = 0.5 * float(run.alpha.sum())
    norm = 2.0 * (step.objective + float(run.alpha.sum()))  # |w|^2 = 2 (objective + sum a)
    size = max(float(np.abs(run.rows.diagonal).max()), 1e-300)
    if total > 0.0 and not norm / total > TOUCHING * total * size:  # nan: an invalid kernel went beyond all bounds
        raise ValueError(
            "The classes cannot be separated under this kernel: their convex hulls meet, so there is no hard margin. "
            "Give a finite C, or another kernel."
        )


def svc(y: Floats, upper: Floats, rows: KernelRows, *, tol: float = 1e-3, max_steps: int = -1,
        start: Floats | None = None, offset: Offset = "free") -> tuple[BinarySVM, Solution]:  # fmt: skip
    """A machine for two classes: y is +1 or -1, `upper` C times the weight of each row, `start` a warm start."""
    problem = svc_problem(y, upper, start)
    watch = require_separable if np.isinf(upper).any() else None
    result = solve(problem, rows, tol=tol, max_steps=max_steps, on_step=watch)
    return make_binary_svm(problem, result, offset, rows.n), result


def _has_probabilities(model: BaseSVC) -> bool:
    if not model.probability:
        raise AttributeError("probabilities need probability=True at fit, which finds their slope by cross-validation.")
    return True


class BaseSVC(ClassifierMixin, BaseKernelSVM):
    """Machines for two classes, and the votes of several for more."""

    multi_class: MultiClass = param(one_of("ovo", "ovr"), default="ovo")
    decision_function_shape: Literal["ovo", "ovr"] = param(one_of("ovo", "ovr"), default="ovr")
    break_ties: bool = param("boolean", default=True)
    probability: bool = param("boolean", default=False)
    random_state: RandomState = param(*RANDOM_STATE, default=None)
    class_weight: ClassWeight = fixed(None)

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from X [n, d] (the Gram matrix [n, n] where kernel="precomputed") and labels y.

        `sample_weight` counts rows: 2 is a row that is there twice.
        """
        self._validate_params()
        with all_or_nothing(self):
            table, weight = self._read(X, sample_weight)
            classes, codes = read_targets_classification(y, len(table))
            task = self._prepare(table, weight)
            present = np.unique(codes[task.kept])
            if present.size < 2:
                word = "1 class" if present.size == 1 else "no class"
                raise ValueError(
                    f"The number of classes has to be greater than one; got {word} among the rows that count."
                )
            self.classes_ = classes[present]
            codes = np.searchsorted(present, codes[task.kept])
            self._learn(task, codes, self._deal(table[task.kept], codes) if self.probability else None)
        return self

    def _deal(self, X: Floats, codes: Codes) -> Folds:
        seed = None if self.random_state is None else int(member_seeds(self.random_state, 1)[0])
        return make_folds(X, codes, seed=seed)

    def _learn(self, task: Task, codes: Codes, folds: Folds | None) -> None:
        n_classes = len(self.classes_)
        self._multi_class: MultiClass = self.multi_class  # a parameter set later changes no fitted model
        self.class_weight_ = self._weigh(task.weight, codes)
        weight = task.weight * self.class_weight_[codes]
        if self.class_weight is not None:
            read_weights(weight, codes.size, "class_weight")
        rows = self._rows(task)
        plan = self.binary_problems()
        places = [_rows_of(codes, sides) for sides in plan]
        trained = [
            self._tell_apart(codes, weight, rows, sides, some, folds) for sides, some in zip(plan, places, strict=True)
        ]
        machines = [machine for machine, *_ in trained]
        self._keep(machines, [result for _, result, _ in trained])
        self.platt_: PlattScaling | None = None
        if folds is not None:
            self.platt_ = fit_platt([held_out for *_, held_out in trained], plan, places, codes, weight, folds.n)
        joined = join(machines, places, codes, n_classes, self._multi_class)
        self.n_support_ = joined.n_support
        self.dual_coef_ = joined.dual_coef
        n_iter = np.array([machine.n_steps for machine in machines], np.int32)
        self.n_iter_ = n_iter if n_classes > 2 else n_iter[:1]
        self._expand(task, rows, joined.support, joined.coef, np.array([machine.offset for machine in machines]))

    def _tell_apart(
        self, codes: Codes, weight: Floats, rows: KernelRows, sides: TwoSides, some: Codes, folds: Folds | None
    ) -> tuple[BinarySVM, Solution, Floats]:
        """The machine for two sides, on the rows of theirs; for probabilities, f at rows that were held out."""
        y = np.where(codes[some] == sides.positive, 1.0, -1.0)
        part = rows if some.size == codes.size else rows.subset(some)
        machine, result = self._machine(y, weight[some], part)
        if folds is None:
            return machine, result, np.empty(0)

        held_out: list[BinarySVM] = []

        def train(w: Floats) -> BinarySVM:
            held_out.append(self._machine(y, w, part)[0])
            return held_out[-1]

        values = held_out_values(train, machine, part, weight[some], folds.take(some))
        if result.is_optimal:  # else `_keep` warns
            self._warn_of_folds(held_out)
        return machine, result, values

    def _warn_of_folds(self, machines: Sequence[BinarySVM]) -> None:
        late = [machine for machine in machines if not machine.is_optimal]
        if late:
            warnings.warn(
                f"{len(late)} of {len(machines)} machines trained for the probabilities did not converge: the KKT gap "
                f"is {max(machine.kkt_gap for machine in late):.3g}, tol={self.tol:g} was required. The probabilities "
                f"may be inaccurate. {self._advice()}",
                ConvergenceWarning,
                stacklevel=level_of_caller(),
            )

    def _machine(self, y: Floats, weight: Floats, rows: KernelRows) -> tuple[BinarySVM, Solution]:
        raise NotImplementedError

    def _weigh(self, weight: Floats, codes: Codes) -> Floats:
        """A factor for each class; "balanced" makes their weights equal."""
        if self.class_weight is None:
            return np.ones(len(self.classes_))
        by_class = class_weights(self.class_weight, codes, self.classes_, weight)
        if by_class.any() and not by_class.all():
            absent = self.classes_[by_class == 0.0].tolist()[0]
            raise ValueError(f"class_weight gives class {absent} no weight: leave its rows out, or give it a weight.")
        return by_class

    def binary_problems(self) -> list[TwoSides]:
        """Which classes every machine tells apart."""
        return machine_plan(len(self.classes_), "ovr" if self._is_one_rest() else "ovo")

    def _is_one_rest(self) -> bool:
        return getattr(self, "_multi_class", self.multi_class) == "ovr"  # files of earlier versions do not have it

    def decision_function(self, X: Any) -> Floats:
        """f(x) [n] for two classes, positive for ``classes_[1]``.

        For more, decision_function_shape="ovr" gives a value for every class [n, K]: under multi_class="ovo" the votes
        with the confidences as fractions, under "ovr" the values of the machines; "ovo" gives those of all pairs.
        """
        values = self._values(X)
        if len(self.classes_) == 2:
            return values[:, 0]
        if self._is_one_rest() or self.decision_function_shape == "ovo":
            return values
        return vote(values, len(self.classes_))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class on whose side a row lies; of several, the one with most votes.

        On a tie the confidences decide, as they do in `decision_function`; break_ties=False takes the first class.
        """
        chosen = self._choose(self._values(X))
        return self.classes_[chosen]

    def _choose(self, values: Floats) -> Codes:
        n_classes = len(self.classes_)
        if n_classes == 2:
            return (values[:, 0] > 0.0).astype(np.int64)
        if self._is_one_rest():
            return values.argmax(axis=1)
        votes = vote(values, n_classes)
        return (votes if self.break_ties else np.rint(votes)).argmax(axis=1)

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of the classes [n, K], the largest for the class that `predict` chooses (see `platt.py`)."""
        values = self._values(X)
        if self.platt_ is None:
            raise NotFittedError(
                f"This {type(self).__name__} was fitted without probabilities: fit it again with probability=True."
            )
        return self.platt_.shares(values, self._choose(values), len(self.classes_))

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithms of the probabilities."""
        return np.log(np.maximum(self.predict_proba(X), np.finfo(np.float64).tiny))

    @property
    def probA_(self) -> Floats:  # noqa: N802
        """A of Platt's P = 1 / (1 + exp(A f + B)), for each slope of ``platt_``; empty without probabilities."""
        check_is_fitted(self, "classes_")
        return np.empty(0) if self.platt_ is None else -self.platt_.slope

    @property
    def probB_(self) -> Floats:  # noqa: N802
        """B of Platt's P = 1 / (1 + exp(A f + B)): zero, P is 1/2 where f is 0."""
        return np.zeros(self.probA_.size)


def _rows_of(codes: Codes, sides: TwoSides) -> Codes:
    if sides.negative is None:
        return np.arange(codes.size)
    return np.flatnonzero((codes == sides.positive) | (codes == sides.negative))


class SVC(BaseSVC):
    """Support vector classifier.

    The dual problem is solved to a certified duality gap by sequential minimal optimisation. The model is the same for
    any order of the rows and any number of threads; an integer sample weight w is equivalent to repeating the row w
    times.

    Parameters
    ----------
    C : float, default=1.0
        Cost of a violation of the margin; the penalty of the weights has the factor 1/2. `inf` is the hard margin,
        which raises an error if the classes cannot be separated.
    kernel : str, Kernel or callable, default="rbf"
        The kernel: "linear", "poly", "rbf" (or "gaussian"), "laplacian", "sigmoid", "precomputed", an object of
        `committee.svm.kernel_functions` (which can be combined with `+`, `*` and `**`), or a function of two tables
        (their Gram matrix) or of two rows (a number).
    degree : int, default=3
        Degree of the polynomial kernel.
    gamma : float, "scale" or "auto", default="scale"
        Coefficient of the "rbf", "laplacian", "poly" and "sigmoid" kernels. "scale" is 1 / (n_features * variance of
        X), "auto" 1 / n_features.
    coef0 : float, default=0.0
        Constant term of the "poly" and "sigmoid" kernels.
    shrinking : bool, default=True
        Restrict late steps to the variables that may still change, where the cache is too small for all kernel rows.
        The optimum is the same up to `tol`.
    tol : float, default=0.001
        Tolerance of the optimality (KKT) conditions at which the solver stops.
    cache_size : float, default=200.0
        Memory for kernel rows in megabytes.
    max_iter : int, default=-1
        Largest number of steps of the solver. With -1 it stops after 10,000,000 steps (100 per variable, if that is
        more).
    scale : bool, default=False
        Standardise the columns before fitting. Support vectors, dual coefficients and margins are then in standardised
        columns; `coef_` and `intercept_` of a linear kernel remain in the original ones.
    n_jobs : int or None, default=None
        Number of threads; -1 is all processors, None one thread or what the surrounding code allows. The model is the
        same for any number.
    verbose : int, default=0
        Show progress if larger than 0.
    offset : "free" or "both", default="free"
        How the intercept is computed: the mean over all free support vectors, or half the sum of the means over those
        of either class.
    multi_class : "ovo" or "ovr", default="ovo"
        One binary SVM for each pair of classes, or one for each class against the rest.
    decision_function_shape : "ovo" or "ovr", default="ovr"
        For more than two classes: one value per pair of classes, or one per class.
    break_ties : bool, default=True
        Break ties of the votes of pairs by the decision values, so that `predict` is the largest value of
        `decision_function`. False takes the first class.
    probability : bool, default=False
        Calibrate probabilities by five more fits, for `predict_proba`. Unlike those of scikit-learn, they always agree
        with `predict`.
    random_state : int, Generator, RandomState or None, default=None
        Shuffles the folds of the calibration. None makes folds from the values of the rows, the same in every run.
    class_weight : dict, "balanced" or None, default=None
        Weight of each class, which multiplies the sample weights. "balanced" gives all classes the same total weight;
        None leaves the weights as they are.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    support_ : ndarray of shape (n_SV,)
        Indices of the support vectors.
    support_vectors_ : ndarray of shape (n_SV, n_features)
        The support vectors; empty for a precomputed kernel.
    n_support_ : ndarray of shape (n_classes,)
        Number of support vectors of each class.
    dual_coef_ : ndarray of shape (n_classes - 1, n_SV)
        Coefficients of the support vectors, multiplied by their labels.
    coef_ : ndarray of shape (n_binary, n_features)
        Weights of the columns, for a linear kernel only.
    intercept_ : ndarray of shape (n_binary,)
        Intercepts of the decision functions.
    kernel_ : Kernel
        The kernel with all its parameters as numbers.
    binary_svms_ : tuple of BinarySVM
        The solution of each binary problem: margin, free and bounded support vectors, objective, duality gap and KKT
        gap.
    class_weight_ : ndarray of shape (n_classes,)
        Factor of the cost of each class.
    platt_ : PlattScaling or None
        Slopes of the calibrated probabilities, None without `probability`.
    probA_ : ndarray
        A of Platt's sigmoid 1 / (1 + exp(A f + B)), one for each slope; empty without `probability`.
    probB_ : ndarray
        B of Platt's sigmoid, always 0.
    history_ : History
        A row for every outer step of the solver: objective, KKT gap and number of support vectors.
    converged_ : bool
        Whether every binary problem reached `tol`.
    kkt_gap_ : float
        Largest violation of the optimality conditions.
    fit_status_ : int
        0 if the solver converged, else 1.
    n_iter_ : ndarray of shape (n_binary,)
        Number of steps of the solver.
    shape_fit_ : tuple of int
        Shape of the training table.
    columns_ : Columns
        Names, categories and number of the columns of the training table.
    n_features_in_ : int
        Number of columns of the training table.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if the training table has names that are strings.

    References
    ----------
    Boser, B. E., Guyon, I. M. and Vapnik, V. N. (1992). A training algorithm for optimal margin classifiers. COLT,
    144-152.

    Cortes, C. and Vapnik, V. (1995). Support-vector networks. Machine Learning 20, 273-297.

    Fan, R.-E., Chen, P.-H. and Lin, C.-J. (2005). Working set selection using second order information for training
    support vector machines. Journal of Machine Learning Research 6, 1889-1918.

    Examples
    --------
    >>> from committee import SVC
    >>> from committee.datasets import load_dataset
    >>> sonar = load_dataset("sonar")
    >>> model = SVC(C=4.0, scale=True).fit(sonar.X, sonar.y)
    >>> model.n_support_.tolist(), round(model.score(sonar.X, sonar.y), 3)
    ([74, 66], 1.0)
    """

    C: float = param(positive_or_infinite, default=1.0)
    class_weight: ClassWeight = param(*CLASS_WEIGHT, default=None)
    offset: Offset = param(one_of("free", "both"), default="free")

    def _machine(self, y: Floats, weight: Floats, rows: KernelRows) -> tuple[BinarySVM, Solution]:
        upper = np.multiply(self.C, weight, out=np.zeros(y.size), where=weight > 0.0)  # an infinite C, a row held out
        problem = svc_problem(y, upper)
        result = self._solve(problem, rows, watch=require_separable if np.isinf(self.C) else None)
        return make_binary_svm(problem, result, self.offset, rows.n), result
