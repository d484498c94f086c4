"""Mixtures of experts (Jacobs, Jordan, Nowlan and Hinton, Adaptive mixtures of local experts, 1991).

    F(x) = sum_k g_k(x) f_k(x),        g_k(x) = e^(v_k'x) / sum_j e^(v_j'x)

with linear experts f_k(x) = b_k'x for numbers and logistic ones f_k(x) = 1 / (1 + e^(-b_k'x)), or softmax ones, for
classes. Learned by EM (em.py): each expert regresses on the rows it answers for, the gate on who answers for what.
"""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.validation import has_fit_parameter

from committee.base.array_types import Floats
from committee.base.parameters import non_negative, one_of, param
from committee.base.transaction import all_or_nothing
from committee.calibration.prediction_intervals import PredictionIntervals
from committee.experts._base import (
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
    """A mixture that answers for a target."""

    expert: Any = param(HasMethods(["fit", "predict"]), None, default=None)
    gate: GateKind = param(one_of("softmax", "constant"), default="softmax")
    expert_features: Any = param("array-like", None, default=None)
    l2: float = param(non_negative, default=1e-2)
    categorical_features: Any = param("array-like", str, None, default="from_dtype")

    def _check_expert(self, expert: Any, kind: Literal["classifier", "regressor"]) -> None:
        if expert is None:
            return
        check_learner(expert, kind)
        if not has_fit_parameter(expert, "sample_weight"):
            raise ValueError(
                f"{type(expert).__name__} takes no sample_weight, so it cannot learn from the rows that it answers "
                "for: take an estimator whose fit has sample_weight."
            )

    def _view(self, task: Task, centre: float = 0.0, scale: float = 1.0) -> View:
        params = self.get_params(deep=False)
        chosen = [choose_features(task.columns, params[name], name) for name in ("gate_features", "expert_features")]
        gate_design, design = (fit_design(task, features) for features in chosen)
        return View(gate_design, design, centre, scale, float(np.log(scale)), False)

    def responsibilities(self, X: Any, y: Any) -> Floats:
        """r_k: how probable it is that expert k answers for a row, now that its target is known, [n, K]."""
        table = self._read_rows(X)
        return self.mixture_.judge(table, self._read_target(y, len(table)))[0].T

    def log_likelihood(self, X: Any, y: Any) -> Floats:
        """ln sum_k g_k(x) q_k(y | x) of every row, [n]."""
        table = self._read_rows(X)
        return self.mixture_.judge(table, self._read_target(y, len(table)))[1]

    def _read_target(self, y: Any, n_rows: int) -> NDArray[Any]:
        raise NotImplementedError


class MixtureOfExpertsRegressor(RegressorMixin, PredictionIntervals, _BaseSupervised):
    """Mixture of linear experts with a softmax gate, for regression.

    The gate is a softmax regression that gives every row mixing weights of the experts; each expert is a linear
    regression with its own noise variance. Gate and experts are fitted together by the EM algorithm, from several
    starts. Categorical columns are encoded, numbers are standardised; missing numbers raise an error. An integer sample
    weight w is equivalent to repeating the row w times.

    Parameters
    ----------
    n_experts : int or iterable of int, default=3
        Number of experts, or several numbers such as `range(1, 7)`, of which `criterion` selects one.
    gate_features : array-like or None, default=None
        Names or positions of the columns that the gate uses; None for all columns.
    gate_l2 : float, default=0.001
        L2 penalty of the coefficients of the gate, for standardised columns.
    criterion : "bic" or "held_out", default="bic"
        How one of several `n_experts` is selected: by the Bayesian information criterion, or by the likelihood of
        held-out rows.
    validation_fraction : float, default=0.2
        Fraction of the rows that are held out under `criterion="held_out"`.
    init : "mixed", "kmeans", "annealing" or "random", default="mixed"
        How the responsibilities are initialised; "mixed" uses the other three in turn.
    n_restarts : int, default=6
        Number of starts. The two best after 30 iterations are run to convergence.
    max_iter : int, default=1000
        Largest number of EM iterations.
    tol : float, default=1e-05
        EM stops when an iteration increases the mean penalised log-likelihood of a row by less.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the starts, and of the choice of held-out rows.
    n_jobs : int or None, default=None
        Number of threads; -1 is all processors, None one thread or what the surrounding code allows. The model is the
        same for any number.
    verbose : int, default=0
        Show progress if larger than 0.
    expert : estimator or None, default=None
        The estimator of an expert; None is linear regression with its own noise variance. Any regressor whose `fit`
        takes `sample_weight`; it is fitted on standardised columns and targets.
    gate : "softmax" or "constant", default="softmax"
        "constant" gives all rows the same mixing weights, which makes a mixture of regressions.
    expert_features : array-like or None, default=None
        Names or positions of the columns that the experts use; None for all columns.
    l2 : float, default=0.01
        L2 penalty of the coefficients of the experts, for standardised columns.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Columns that hold categories: those of a categorical or text type, given names, positions or a mask, or none.
    variance_prior : float, default=1.0
        Weight of the prior of the noise variance, in rows; it keeps the variance away from 0.

    Attributes
    ----------
    coef_ : ndarray of shape (n_experts, p)
        Coefficients of the experts, in units of the original columns (a categorical column has one coefficient per
        category); absent with an `expert` of your own.
    intercept_ : ndarray of shape (n_experts,)
        Intercepts of the experts; absent with an `expert` of your own.
    noise_ : ndarray of shape (n_experts,)
        Standard deviation of the noise of each expert.
    load_ : ndarray of shape (n_experts,)
        Mean responsibility of each expert; the sum is 1.
    effective_experts_ : float
        Effective number of experts: e to the entropy of `load_`.
    n_experts_ : int
        Number of experts.
    gate_coef_ : ndarray of shape (n_experts, p)
        Coefficients of the gate, in units of the original columns.
    gate_intercept_ : ndarray of shape (n_experts,)
        Intercepts of the gate.
    log_likelihood_ : float
        Log-likelihood of the training rows.
    bic_ : float
        Bayesian information criterion; smaller is better. NaN where the number of parameters of an expert is unknown.
    history_ : History
        A row for every EM iteration: log-likelihood, penalised log-likelihood (`objective`), its bound, effective
        number of experts, smallest load, step halvings and repairs of experts without rows.
    restarts_ : History
        A row for every start: its kind, and the objective after the short run and at the end.
    selection_ : History
        A row for every number of experts that was compared: log-likelihood, number of parameters, BIC and held-out
        log-likelihood; empty if `n_experts` is a number.
    n_iter_ : int
        Number of EM iterations of the best start.
    converged_ : bool
        Whether EM reached a maximum within `max_iter` iterations.
    gradient_norm_ : float
        Scaled norm of the gradient of the penalised log-likelihood at the end.
    mixture_ : Fitted
        The fitted parameters for standardised columns.
    columns_ : Columns
        Names, categories and number of the columns of the training table.
    n_features_in_ : int
        Number of columns of the training table.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if the training table has names that are strings.

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

    variance_prior: float = param(non_negative, default=1.0)

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn gate and experts.

        Parameters
        ----------
        X : table of shape (n_samples, n_features); categories become one column each
        y : numbers of shape (n_samples,)
        sample_weight : weights of the rows, optional; a whole weight counts as so many equal rows
        """
        self._validate_params()
        self._check_expert(self.expert, "regressor")
        with all_or_nothing(self):
            task = self._read_task(X, sample_weight, lambda n: self._read_target(y, n), self.categorical_features)
            self._learn(task)
            self._name_coefficients()
        return self

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
        """f_k(x), what every expert answers, [n, K]."""
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
        """Standard deviation of the target: noise of the experts, and what they disagree about."""
        table = self._read_rows(X)
        g, means = np.exp(self._log_gate(table)), self._means(table)
        spread = (means - np.einsum("kn,kn->n", g, means)) ** 2 + (self.noise_**2)[:, np.newaxis]
        return np.sqrt(np.einsum("kn,kn->n", g, spread))


class MixtureOfExpertsClassifier(ClassifierMixin, _BaseSupervised):
    """Mixture of logistic experts with a softmax gate, for classification.

    The gate is a softmax regression that gives every row mixing weights of the experts; each expert is a logistic
    regression, multinomial for more than two classes. Gate and experts are fitted together by the EM algorithm, from
    several starts. Categorical columns are encoded, numbers are standardised; missing numbers raise an error.

    Parameters
    ----------
    n_experts : int or iterable of int, default=3
        Number of experts, or several numbers such as `range(1, 7)`, of which `criterion` selects one.
    gate_features : array-like or None, default=None
        Names or positions of the columns that the gate uses; None for all columns.
    gate_l2 : float, default=0.001
        L2 penalty of the coefficients of the gate, for standardised columns.
    criterion : "bic" or "held_out", default="bic"
        How one of several `n_experts` is selected: by the Bayesian information criterion, or by the likelihood of
        held-out rows.
    validation_fraction : float, default=0.2
        Fraction of the rows that are held out under `criterion="held_out"`.
    init : "mixed", "kmeans", "annealing" or "random", default="mixed"
        How the responsibilities are initialised; "mixed" uses the other three in turn.
    n_restarts : int, default=6
        Number of starts. The two best after 30 iterations are run to convergence.
    max_iter : int, default=1000
        Largest number of EM iterations.
    tol : float, default=1e-05
        EM stops when an iteration increases the mean penalised log-likelihood of a row by less.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the starts, and of the choice of held-out rows.
    n_jobs : int or None, default=None
        Number of threads; -1 is all processors, None one thread or what the surrounding code allows. The model is the
        same for any number.
    verbose : int, default=0
        Show progress if larger than 0.
    expert : estimator or None, default=None
        The estimator of an expert; None is logistic (multinomial for more than two classes) regression. Any classifier
        with `predict_proba` whose `fit` takes `sample_weight`; it is fitted on standardised columns and the class codes
        0, 1, 2 ...
    gate : "softmax" or "constant", default="softmax"
        "constant" gives all rows the same mixing weights, which makes a mixture of regressions.
    expert_features : array-like or None, default=None
        Names or positions of the columns that the experts use; None for all columns.
    l2 : float, default=0.01
        L2 penalty of the coefficients of the experts, for standardised columns.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Columns that hold categories: those of a categorical or text type, given names, positions or a mask, or none.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    coef_ : ndarray
        Coefficients of the experts in units of the original columns: shape (n_experts, p) for two classes, (n_experts,
        n_classes, p) for more; absent with an `expert` of your own.
    intercept_ : ndarray
        Intercepts of the experts, of shape (n_experts,) or (n_experts, n_classes); absent with an `expert` of your own.
    load_ : ndarray of shape (n_experts,)
        Mean responsibility of each expert; the sum is 1.
    effective_experts_ : float
        Effective number of experts: e to the entropy of `load_`.
    n_experts_ : int
        Number of experts.
    gate_coef_ : ndarray of shape (n_experts, p)
        Coefficients of the gate, in units of the original columns.
    gate_intercept_ : ndarray of shape (n_experts,)
        Intercepts of the gate.
    log_likelihood_ : float
        Log-likelihood of the training rows.
    bic_ : float
        Bayesian information criterion; smaller is better. NaN where the number of parameters of an expert is unknown.
    history_ : History
        A row for every EM iteration: log-likelihood, penalised log-likelihood (`objective`), its bound, effective
        number of experts, smallest load, step halvings and repairs of experts without rows.
    restarts_ : History
        A row for every start: its kind, and the objective after the short run and at the end.
    selection_ : History
        A row for every number of experts that was compared: log-likelihood, number of parameters, BIC and held-out
        log-likelihood; empty if `n_experts` is a number.
    n_iter_ : int
        Number of EM iterations of the best start.
    converged_ : bool
        Whether EM reached a maximum within `max_iter` iterations.
    gradient_norm_ : float
        Scaled norm of the gradient of the penalised log-likelihood at the end.
    mixture_ : Fitted
        The fitted parameters for standardised columns.
    columns_ : Columns
        Names, categories and number of the columns of the training table.
    n_features_in_ : int
        Number of columns of the training table.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if the training table has names that are strings.

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

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn gate and experts.

        Parameters
        ----------
        X : table of shape (n_samples, n_features); categories become one column each
        y : labels of shape (n_samples,)
        sample_weight : weights of the rows, optional; a whole weight counts as so many equal rows
        """
        self._validate_params()
        self._check_expert(self.expert, "classifier")
        if self.expert is not None and not hasattr(self.expert, "predict_proba"):
            raise ValueError(f"{type(self.expert).__name__} has no predict_proba: an expert must say how sure it is.")
        with all_or_nothing(self):
            task = self._read_task(X, sample_weight, lambda n: self._read_labels(y, n), self.categorical_features)
            self._learn(task)
            self._name_coefficients()
        return self

    def _read_labels(self, y: Any, n_rows: int) -> NDArray[np.int64]:
        self.classes_, codes = read_targets_classification(y, n_rows)
        return codes

    def _read_target(self, y: Any, n_rows: int) -> NDArray[np.int64]:
        known, codes = read_targets_classification(y, n_rows)
        new = sorted(set(known.tolist()) - set(self.classes_.tolist()))
        if new:
            raise ValueError(f"y holds classes that were not there in fit: {new[:5]}; it had {self.classes_.tolist()}.")
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
        """q_k(c | x), the probabilities that every expert gives the classes, [n, K, C]."""
        return np.exp(self._log_classes(self._read_rows(X))).transpose(2, 0, 1)

    def _log_classes(self, table: Floats) -> Floats:
        fitted = self.mixture_
        experts: Any = fitted.mixture.experts
        return experts.log_proba(fitted.experts, fitted.view.design(table))

    def predict_proba(self, X: Any) -> Floats:
        """sum_k g_k(x) q_k(c | x), [n, C]."""
        table = self._read_rows(X)
        log_gate, log_classes = self._log_gate(table), self._log_classes(table)
        shares = np.exp(log_gate[:, np.newaxis] + log_classes).sum(axis=0).T
        return shares / shares.sum(axis=1, keepdims=True)

    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithms of `predict_proba`."""
        return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class."""
        shares = self.predict_proba(X)
        return self.classes_[shares.argmax(axis=1)]
