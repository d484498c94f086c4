"""Mixtures of experts (Jacobs, Jordan, Nowlan and Hinton, Adaptive mixtures of local experts, 1991).

    F(x) = sum_k g_k(x) f_k(x),        g_k(x) = e^(v_k'x) / sum_j e^(v_j'x)

with linear experts f_k(x) = b_k'x for regression and logistic ones f_k(x) = 1 / (1 + e^(-b_k'x)), or softmax ones, for
classification. Fitted by EM (em.py): each expert is a regression weighted by its responsibilities, which the gate is
fitted to.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.validation import has_fit_parameter

from committee.base.array_types import Floats
from committee.base.parameters import fitted, non_negative, one_of, param
from committee.base.transaction import all_or_nothing
from committee.calibration.prediction_intervals import PredictionIntervals
from committee.experts.base import (
    BaseMixtureOfExperts,
    GateKind,
    Plan,
    Task,
    View,
    choose_features,
    fit_design,
    make_gate,
)
from committee.experts.em import Mixture
from committee.experts.estimator_experts import EstimatorClassifiers, EstimatorRegressors
from committee.experts.linear_experts import LinearExperts
from committee.experts.logistic_experts import LogisticExperts, MultinomialExperts
from committee.members.estimators import check_learner
from committee.tabular.validation import read_one_target, read_targets_classification


class _BaseSupervised(BaseMixtureOfExperts):
    """A mixture of experts for a target."""

    expert: Any = param(
        HasMethods(["fit", "predict"]),
        None,
        default=None,
        doc="The estimator of each expert; None is a linear regression with its own noise variance, or a logistic "
        "(multinomial) regression. Any estimator whose `fit` takes `sample_weight`, with `predict_proba` if it is a "
        "classifier; it is fitted on standardised columns, and on standardised targets or class codes.",
    )
    gate: GateKind = param(
        one_of("softmax", "constant"),
        default="softmax",
        doc='"constant" gives all rows the same mixing weights: a mixture of regressions.',
    )
    expert_features: Any = param(
        "array-like",
        None,
        default=None,
        doc="Names or positions of the columns that the experts use; None for all columns.",
    )
    l2: float = param(
        non_negative, default=1e-2, doc="L2 penalty of the coefficients of the experts, for standardised columns."
    )
    categorical_features: Any = param("array-like", str, None, default="from_dtype")

    coef_: Floats = fitted(
        doc="Coefficients of the experts in units of the original columns, with one column for each category: "
        "[n_experts, p], or [n_experts, n_classes, p] for more than two classes. Absent if `expert` is given."
    )
    intercept_: Floats = fitted(
        doc="Intercepts of the experts, [n_experts] or [n_experts, n_classes]. Absent if `expert` is given."
    )
    estimators_: list[Any] = fitted(doc="The fitted experts, if `expert` is given.")

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the gate and the experts.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Categorical columns become one column for each category.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            An integer weight w is equivalent to repeating the row w times.
        """
        self._validate_params()
        self._check_expert(self.expert)
        with all_or_nothing(self):
            task = self._read_task(X, sample_weight, lambda n: self._read_fit_target(y, n), self.categorical_features)
            self._learn(task)
            self._name_coefficients()
        return self

    def _check_expert(self, expert: Any) -> None:
        if expert is None:
            return
        is_class = isinstance(self, ClassifierMixin)
        check_learner(expert, "classifier" if is_class else "regressor")
        if is_class and not hasattr(expert, "predict_proba"):
            raise ValueError(f"{type(expert).__name__} has no predict_proba: pass a classifier with probabilities.")
        if not has_fit_parameter(expert, "sample_weight"):
            raise ValueError(
                f"{type(expert).__name__} takes no sample_weight, so it cannot be fitted under responsibilities: pass "
                "an estimator whose fit has sample_weight."
            )

    def _view(self, task: Task, centre: float = 0.0, scale: float = 1.0) -> View:
        params = self.get_params(deep=False)
        chosen = [choose_features(task.columns, params[name], name) for name in ("gate_features", "expert_features")]
        gate_design, design = (fit_design(task, features) for features in chosen)
        return View(gate_design, design, centre, scale, float(np.log(scale)), False)

    def responsibilities(self, X: Any, y: Any) -> Floats:
        """Responsibilities: the probability of expert k for a row, given its target, [n, K]."""
        table = self._read_rows(X)
        return self.mixture_.posterior(table, self._read_target(y, len(table)))[0].T

    def log_likelihood(self, X: Any, y: Any) -> Floats:
        """Log-likelihood ln sum_k g_k(x) q_k(y | x) of each row, [n]."""
        table = self._read_rows(X)
        return self.mixture_.posterior(table, self._read_target(y, len(table)))[1]

    def _read_target(self, y: Any, n_rows: int) -> NDArray[Any]:
        raise NotImplementedError

    def _read_fit_target(self, y: Any, n_rows: int) -> NDArray[Any]:
        return self._read_target(y, n_rows)

    def _name_coefficients(self) -> None:
        raise NotImplementedError


class MixtureOfExpertsRegressor(RegressorMixin, PredictionIntervals, _BaseSupervised):
    """Mixture of linear experts with a softmax gate, for regression.

    The gate is a softmax regression that gives every row mixing weights of the experts; each expert is a linear
    regression with its own noise variance. Gate and experts are fitted together by the EM algorithm, from several
    starts. Categorical columns are encoded, numbers are standardised; missing numbers raise an error. An integer sample
    weight w is equivalent to repeating the row w times.

    References
    ----------
    Jacobs, R. A., Jordan, M. I., Nowlan, S. J. and Hinton, G. E. (1991). Adaptive mixtures of local experts. Neural
    Computation 3, 79-87.

    Jordan, M. I. and Jacobs, R. A. (1994). Hierarchical mixtures of experts and the EM algorithm. Neural Computation 6,
    181-214.

    Examples
    --------
    >>> import numpy as np
    >>> from committee import MixtureOfExpertsRegressor
    >>> x = np.linspace(-1, 1, 200)[:, np.newaxis]
    >>> model = MixtureOfExpertsRegressor(n_experts=2, random_state=0).fit(x, np.abs(x[:, 0]))
    >>> np.sort(model.coef_[:, 0]).round(2)
    array([-1.,  1.])
    """

    variance_prior: float = param(
        non_negative,
        default=1.0,
        doc="Weight of the prior of the noise variance, in rows; it keeps the variance away from 0.",
    )

    noise_: Floats = fitted(doc="Standard deviation of the noise of each expert.")

    def _read_target(self, y: Any, n_rows: int) -> Floats:
        return read_one_target(y, n_rows, type(self).__name__)

    def _plan(self, task: Task, seed: int) -> Plan:
        centre = float(np.average(task.target, weights=task.weight))
        scale = float(np.sqrt(np.average((task.target - centre) ** 2, weights=task.weight)))
        is_constant = scale <= 1e-12 * abs(centre) or scale == 0.0
        view = self._view(task, centre, 1.0 if is_constant else scale)
        experts: Any = LinearExperts(self.l2, self.variance_prior)
        if self.expert is not None:
            experts = EstimatorRegressors(self.expert, seed, self.variance_prior)
        mixture = Mixture(make_gate(self.gate, self.gate_l2), experts)
        return Plan(mixture, view, view.rows(task.table, task.target, task.weight))

    def _name_coefficients(self) -> None:
        fitted = self.mixture_
        self.noise_ = np.sqrt(fitted.experts.variance) * fitted.view.scale
        if self.expert is None:
            coef, intercept = fitted.view.design.unscale(fitted.experts.coef)
            self.coef_ = coef * fitted.view.scale
            self.intercept_ = intercept * fitted.view.scale + fitted.view.centre
        else:
            self.estimators_ = list(fitted.experts.members)

    def expert_predictions(self, X: Any) -> Floats:
        """Predictions f_k(x) of the experts, [n, K]."""
        return self._means(self._read_rows(X)).T

    def _means(self, table: Floats) -> Floats:
        fitted = self.mixture_
        experts: Any = fitted.mixture.experts
        return experts.means(fitted.experts, fitted.view.design(table)) * fitted.view.scale + fitted.view.centre

    def predict(self, X: Any) -> Floats:
        """F(x) = sum_k g_k(x) f_k(x), the mean of the target."""
        table = self._read_rows(X)
        return np.einsum("kn,kn->n", np.exp(self._log_gate(table)), self._means(table))

    def predict_std(self, X: Any) -> Floats:
        """Standard deviation of the target: noise of the experts, and their disagreement."""
        table = self._read_rows(X)
        g, means = np.exp(self._log_gate(table)), self._means(table)
        spread = (means - np.einsum("kn,kn->n", g, means)) ** 2 + (self.noise_**2)[:, np.newaxis]
        return np.sqrt(np.einsum("kn,kn->n", g, spread))


class MixtureOfExpertsClassifier(ClassifierMixin, _BaseSupervised):
    """Mixture of logistic experts with a softmax gate, for classification.

    The gate is a softmax regression that gives every row mixing weights of the experts; each expert is a logistic
    regression, multinomial for more than two classes. Gate and experts are fitted together by the EM algorithm, from
    several starts. Categorical columns are encoded, numbers are standardised; missing numbers raise an error.

    References
    ----------
    Jacobs, R. A., Jordan, M. I., Nowlan, S. J. and Hinton, G. E. (1991). Adaptive mixtures of local experts. Neural
    Computation 3, 79-87.

    Jordan, M. I. and Jacobs, R. A. (1994). Hierarchical mixtures of experts and the EM algorithm. Neural Computation 6,
    181-214.

    Examples
    --------
    >>> from committee import MixtureOfExpertsClassifier
    >>> from committee.datasets import load_dataset
    >>> glass = load_dataset("glass")
    >>> model = MixtureOfExpertsClassifier(n_experts=2, l2=1.0, gate_l2=1.0, random_state=0).fit(glass.X, glass.y)
    >>> round(model.score(glass.X, glass.y), 3), model.load_.round(2)
    (0.794, array([0.41, 0.59]))
    """

    classes_: NDArray[Any] = fitted()

    def _read_fit_target(self, y: Any, n_rows: int) -> NDArray[np.int64]:
        self.classes_, codes = read_targets_classification(y, n_rows)
        return codes

    def _read_target(self, y: Any, n_rows: int) -> NDArray[np.int64]:
        known, codes = read_targets_classification(y, n_rows)
        new = sorted(set(known.tolist()) - set(self.classes_.tolist()))
        if new:
            raise ValueError(f"y contains classes that were not in fit: {new[:5]}; it had {self.classes_.tolist()}.")
        return np.searchsorted(self.classes_, known)[codes]

    def _plan(self, task: Task, seed: int) -> Plan:
        n_classes = len(self.classes_)
        experts: Any = LogisticExperts(self.l2) if n_classes == 2 else MultinomialExperts(n_classes, self.l2)
        if self.expert is not None:
            experts = EstimatorClassifiers(self.expert, n_classes, seed)
        view = self._view(task)
        mixture = Mixture(make_gate(self.gate, self.gate_l2), experts)
        return Plan(mixture, view, view.rows(task.table, task.target, task.weight))

    def _name_coefficients(self) -> None:
        fitted = self.mixture_
        if self.expert is None:
            self.coef_, self.intercept_ = fitted.view.design.unscale(fitted.experts)
        else:
            self.estimators_ = list(fitted.experts.members)

    def expert_predictions(self, X: Any) -> Floats:
        """Class probabilities q_k(c | x) of the experts, [n, K, C]."""
        return np.exp(self._log_classes(self._read_rows(X))).transpose(2, 0, 1)

    def _log_classes(self, table: Floats) -> Floats:
        fitted = self.mixture_
        experts: Any = fitted.mixture.experts
        return experts.log_proba(fitted.experts, fitted.view.design(table))

    def predict_proba(self, X: Any) -> Floats:
        """Class probabilities sum_k g_k(x) q_k(c | x), [n, C]."""
        table = self._read_rows(X)
        log_gate, log_classes = self._log_gate(table), self._log_classes(table)
        proba = np.exp(log_gate[:, np.newaxis] + log_classes).sum(axis=0).T
        return proba / proba.sum(axis=1, keepdims=True)

    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithms of `predict_proba`."""
        return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class."""
        proba = self.predict_proba(X)
        return self.classes_[proba.argmax(axis=1)]
