"""Support vector classification (Boser, Guyon and Vapnik 1992; Cortes and Vapnik, Support-vector networks, 1995).

    min 1/2 |w|^2 + C sum_i w_i xi_i    y_i (w phi(x_i) + b) >= 1 - xi_i,  xi_i >= 0

with sample weights w_i. C = infinity is the hard margin, for classes that can be separated. The dual problem is

    min 1/2 a'Qa - sum a                y'a = 0,  0 <= a_i <= C w_i,  Q_ij = y_i y_j k(x_i, x_j)

with w = sum a_i y_i phi(x_i). The margin is 2 / |w| wide; support vectors have a_i > 0, those on the margin
a_i < C w_i, those beyond it a_i = C w_i.

Hard margins. With s = sum of a over either class, w / s joins a point of the convex hull of one class to one of the
other: if |w| / s comes close to zero the hulls meet, and no plane separates them.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from committee.base.array_types import Floats
from committee.base.available_if import available_if
from committee.base.parameters import CLASS_WEIGHT, RANDOM_STATE, fitted, fixed, one_of, param, positive_or_infinite
from committee.base.rng import RandomState, member_seeds
from committee.base.transaction import all_or_nothing
from committee.svm._kernel_base import OFFSET, BaseKernelSVM, TrainingData
from committee.svm._kernel_rows import KernelRows
from committee.svm._linear_base import ClassWeight
from committee.svm.binary_svm import BinarySVM, Offset, make_binary_svm
from committee.svm.multiclass import BinaryProblem, MultiClass, binary_problems, choose_class, join, vote
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
    """Raise ValueError if the hulls of the classes touch: a hard margin does not exist."""
    total = 0.5 * float(run.alpha.sum())
    norm = 2.0 * (step.objective + float(run.alpha.sum()))  # |w|^2 = 2 (objective + sum a)
    size = max(float(np.abs(run.rows.diagonal).max()), 1e-300)
    if total > 0.0 and not norm / total > TOUCHING * total * size:  # nan: an invalid kernel overflowed
        raise ValueError(
            "The classes cannot be separated under this kernel: their convex hulls meet, so there is no hard margin. "
            "Set a finite C, or another kernel."
        )


def svc(y: Floats, upper: Floats, rows: KernelRows, *, tol: float = 1e-3, max_steps: int = -1,
        start: Floats | None = None, offset: Offset = "free") -> tuple[BinarySVM, Solution]:  # fmt: skip
    """A binary SVM: y is +1 or -1, `upper` C times the weight of each row, `start` a warm start."""
    problem = svc_problem(y, upper, start)
    watch = require_separable if np.isinf(upper).any() else None
    result = solve(problem, rows, tol=tol, max_steps=max_steps, on_step=watch)
    return make_binary_svm(problem, result, offset, rows.n), result


def _has_probabilities(model: BaseSVC) -> bool:
    if not model.probability:
        raise AttributeError("probabilities need probability=True in fit, which calibrates them by cross-validation.")
    return True


class BaseSVC(ClassifierMixin, BaseKernelSVM):
    """Base class of the kernel classifiers: one binary SVM for two classes, several for more."""

    multi_class: MultiClass = param(
        one_of("ovo", "ovr"),
        default="ovo",
        doc="One binary SVM for each pair of classes, or one for each class against the rest.",
    )
    decision_function_shape: Literal["ovo", "ovr"] = param(
        one_of("ovo", "ovr"),
        default="ovr",
        doc="For more than two classes: one decision value per pair of classes, or one per class.",
    )
    break_ties: bool = param(
        "boolean",
        default=True,
        doc="Whether the decision values break ties of the votes of pairs, so that `predict` is the largest value of "
        "`decision_function`. False takes the first class.",
    )
    probability: bool = param(
        "boolean",
        default=False,
        doc="Whether to calibrate probabilities by five more fits, for `predict_proba`. Unlike those of scikit-learn, "
        "they always agree with `predict`.",
    )
    random_state: RandomState = param(
        *RANDOM_STATE,
        default=None,
        doc="Shuffles the folds of the calibration. None makes folds from the values of the rows, the same in every "
        "run.",
    )
    class_weight: ClassWeight = fixed(None)

    classes_: NDArray[Any] = fitted()
    class_weight_: Floats = fitted(doc="Factor of the cost of each class.")
    platt_: PlattScaling | None = fitted(doc="Slopes of the calibrated probabilities; None without `probability`.")

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to X [n, d] (the Gram matrix [n, n] with kernel="precomputed") and labels y.

        An integer `sample_weight` w is equivalent to repeating the row w times.
        """
        self._validate_params()
        with all_or_nothing(self):
            table, weight = self._read_training(X, sample_weight)
            classes, codes = read_targets_classification(y, len(table))
            data = self._prepare(table, weight)
            present = np.unique(codes[data.kept])
            if present.size < 2:
                count = "1 class" if present.size == 1 else "no class"
                raise ValueError(
                    f"The number of classes has to be greater than one; got {count} among the rows of positive weight."
                )
            self.classes_ = classes[present]
            codes = np.searchsorted(present, codes[data.kept])
            self._fit_codes(data, codes, self._make_folds(table[data.kept], codes) if self.probability else None)
        return self

    def _make_folds(self, X: Floats, codes: Codes) -> Folds:
        seed = None if self.random_state is None else int(member_seeds(self.random_state, 1)[0])
        return make_folds(X, codes, seed=seed)

    def _fit_codes(self, data: TrainingData, codes: Codes, folds: Folds | None) -> None:
        n_classes = len(self.classes_)
        self._multi_class: MultiClass = self.multi_class  # a parameter set later changes no fitted model
        self.class_weight_ = self._class_factors(data.weight, codes)
        weight = data.weight * self.class_weight_[codes]
        if self.class_weight is not None:
            read_weights(weight, codes.size, "class_weight")
        rows = self._kernel_rows(data)
        problems = self.binary_problems()
        places = [_rows_of(codes, problem) for problem in problems]
        trained = [
            self._fit_binary(codes, weight, rows, problem, some, folds)
            for problem, some in zip(problems, places, strict=True)
        ]
        svms = [each.svm for each in trained]
        self._set_solutions(svms, [each.solution for each in trained])
        self.platt_ = None
        if folds is not None:
            self.platt_ = fit_platt([each.held_out for each in trained], problems, places, codes, weight, folds.n)
        joined = join(svms, places, codes, n_classes, self._multi_class)
        self.n_support_ = joined.n_support
        self.dual_coef_ = joined.dual_coef
        n_iter = np.array([svm.n_steps for svm in svms], np.int32)
        self.n_iter_ = n_iter if n_classes > 2 else n_iter[:1]
        self._set_expansion(data, rows, joined.support, joined.coef, np.array([svm.offset for svm in svms]))

    def _fit_binary(
        self, codes: Codes, weight: Floats, rows: KernelRows, problem: BinaryProblem, some: Codes, folds: Folds | None
    ) -> _Trained:
        """The SVM of a binary problem, fitted on the rows of its classes; for probabilities, held-out values too."""
        y = np.where(codes[some] == problem.positive, 1.0, -1.0)
        part = rows if some.size == codes.size else rows.subset(some)
        svm, result = self._solve_binary(y, weight[some], part)
        if folds is None:
            return _Trained(svm, result, np.empty(0))

        in_folds: list[BinarySVM] = []

        def train(w: Floats) -> BinarySVM:
            in_folds.append(self._solve_binary(y, w, part)[0])
            return in_folds[-1]

        values = held_out_values(train, svm, part, weight[some], folds.take(some))
        late = [each.kkt_gap for each in in_folds if not each.is_optimal]
        if result.is_optimal and late:  # else `_set_solutions` warns
            self._warn_not_converged(
                f"{len(late)} of {len(in_folds)} SVMs fitted for the probabilities did not converge",
                max(late),
                " The probabilities may be inaccurate.",
            )
        return _Trained(svm, result, values)

    def _solve_binary(self, y: Floats, weight: Floats, rows: KernelRows) -> tuple[BinarySVM, Solution]:
        raise NotImplementedError

    def _class_factors(self, weight: Floats, codes: Codes) -> Floats:
        """A factor for each class; "balanced" makes their weights equal."""
        if self.class_weight is None:
            return np.ones(len(self.classes_))
        by_class = class_weights(self.class_weight, codes, self.classes_, weight)
        if by_class.any() and not by_class.all():
            absent = self.classes_[by_class == 0.0].tolist()[0]
            raise ValueError(f"class_weight gives class {absent} no weight: leave its rows out, or set its weight.")
        return by_class

    def binary_problems(self) -> list[BinaryProblem]:
        """The classes that each binary SVM separates."""
        return binary_problems(len(self.classes_), "ovr" if self._is_one_rest() else "ovo")

    def _is_one_rest(self) -> bool:
        return getattr(self, "_multi_class", self.multi_class) == "ovr"  # files of earlier versions do not have it

    def decision_function(self, X: Any) -> Floats:
        """f(x) [n] for two classes, positive for ``classes_[1]``.

        For more, decision_function_shape="ovr" gives a value for every class [n, K]: under multi_class="ovo" the votes
        with the confidences as fractions, under "ovr" the values of the binary SVMs; "ovo" gives those of all pairs.
        """
        values = self._values(X)
        if len(self.classes_) == 2:
            return values[:, 0]
        if self._is_one_rest() or self.decision_function_shape == "ovo":
            return values
        return vote(values, len(self.classes_))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class on whose side a row lies; for several classes, the one with the most votes.

        On a tie the confidences decide, as they do in `decision_function`; break_ties=False takes the first class.
        """
        chosen = self._choose(self._values(X))  # first, for NotFittedError
        return self.classes_[chosen]

    def _choose(self, values: Floats) -> Codes:
        return choose_class(values, len(self.classes_), self._is_one_rest(), self.break_ties)

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of the classes [n, K], the largest for the class that `predict` chooses (see `platt.py`)."""
        values = self._values(X)
        if self.platt_ is None:
            raise NotFittedError(
                f"This {type(self).__name__} was fitted without probabilities: fit it again with probability=True."
            )
        return self.platt_.probabilities(values, self._choose(values), len(self.classes_))

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithms of the probabilities."""
        return np.log(np.maximum(self.predict_proba(X), np.finfo(np.float64).tiny))

    @property
    def probA_(self) -> Floats:  # noqa: N802
        """A of Platt's sigmoid 1 / (1 + exp(A f + B)), one for each slope of `platt_`; empty without `probability`."""
        check_is_fitted(self, "classes_")
        return np.empty(0) if self.platt_ is None else -self.platt_.slope

    @property
    def probB_(self) -> Floats:  # noqa: N802
        """B of Platt's sigmoid, always 0: the probability is 1/2 where f is 0."""
        return np.zeros(self.probA_.size)


class _Trained(NamedTuple):
    """A binary SVM, and its decision values at held-out rows if probabilities are wanted."""

    svm: BinarySVM
    solution: Solution
    held_out: Floats


def _rows_of(codes: Codes, problem: BinaryProblem) -> Codes:
    if problem.negative is None:
        return np.arange(codes.size)
    return np.flatnonzero((codes == problem.positive) | (codes == problem.negative))


class SVC(BaseSVC):
    """Support vector classifier.

    The dual problem is solved to a certified duality gap by sequential minimal optimisation. The model is the same for
    any order of the rows and any number of threads; an integer sample weight w is equivalent to repeating the row w
    times.

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

    C: float = param(
        positive_or_infinite,
        default=1.0,
        doc="Cost of a violation of the margin; the penalty of the weights has the factor 1/2. `inf` is the hard "
        "margin, which raises an error if the classes cannot be separated.",
    )
    class_weight: ClassWeight = param(*CLASS_WEIGHT, default=None)
    offset: Offset = param(one_of("free", "both"), default="free", doc=OFFSET)

    def _solve_binary(self, y: Floats, weight: Floats, rows: KernelRows) -> tuple[BinarySVM, Solution]:
        upper = np.multiply(self.C, weight, out=np.zeros(y.size), where=weight > 0.0)  # an infinite C, a row held out
        problem = svc_problem(y, upper)
        result = self._solve(problem, rows, watch=require_separable if np.isinf(self.C) else None)
        return make_binary_svm(problem, result, self.offset, rows.n), result
