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
from committee.experts._base import BaseMixtureOfExperts, GateKind, Plan, Task, View, make_gate
from committee.experts._design_matrix import choose_features, make_design
from committee.experts.em import Mixture
from committee.experts.estimator_experts import EstimatorClassifiers, EstimatorRegressors
from committee.experts.linear_experts import LinearExperts
from committee.experts.logistic_experts import LogisticExperts, MultinomialExperts
from committee.members.member import check_learner
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
        gate_design, design = (make_design(task.columns, task.table, task.weight, features) for features in chosen)
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
    """Linear experts behind a softmax gate (H-1, H-2, H-3, H-5).

    Parameters
    ----------
    n_experts : number of experts, or several numbers such as range(1, 7), of which `criterion` chooses one
    expert : what an expert is, default linear regression with its own noise variance
        Any regressor whose fit takes `sample_weight`; it sees standardised columns and targets.
    gate : {"softmax", "constant"}
        "constant" gives every row the same gate: then it is a mixture of regressions.
    gate_features, expert_features : names or positions of the columns that gate and experts see, default all
    l2 : prior of the experts' coefficients, for standardised columns; an expert minimises squares + l2 |b|^2
    gate_l2 : prior of the gate's coefficients
    variance_prior : number of rows that the prior of the noise variance counts for; they keep it from 0
    criterion : {"bic", "held_out"}
        How to choose among several `n_experts`: Bayesian information criterion, or the likelihood of a share
        `validation_fraction` of the rows that are held out.
    init : {"mixed", "kmeans", "annealing", "random"}
        How EM begins; "mixed" takes these in turn.
    n_restarts : number of starts; the two most promising after 30 iterations are run to their ends
    max_iter : most iterations of EM
    tol : stop when an iteration gains less log-likelihood than this for a row on average
    categorical_features : "from_dtype", or names or positions of columns that hold categories
    random_state, n_jobs, verbose : as in scikit-learn

    ``history_`` has a row for every iteration: log-likelihood, penalised log-likelihood (``objective``, which never
    falls between repairs), bound, effective number of experts, smallest load, halved steps, repairs. ``restarts_`` and
    ``selection_`` tell how starts and numbers of experts compared. ``coef_`` [K, p], ``intercept_``, ``noise_``
    (standard deviations), ``gate_coef_``, ``gate_intercept_`` are for the columns as they come, ``load_`` are the
    shares of the rows that the experts answer for, ``effective_experts_`` is e to their entropy.

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
            coef, intercept = fitted.view.design.in_units_of_the_table(fitted.experts.coef)
            self.coef_ = coef * fitted.view.scale
            self.intercept_ = intercept * fitted.view.scale + fitted.view.centre
        else:
            self.estimators_ = list(fitted.experts.members)

    def expert_answers(self, X: Any) -> Floats:
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
    """Logistic experts behind a softmax gate; multinomial ones for more than two classes (H-1, H-2, H-3, H-5).

    Parameters
    ----------
    n_experts : number of experts, or several numbers such as range(1, 7), of which `criterion` chooses one
    expert : what an expert is, default logistic (for more classes softmax) regression
        Any classifier with `predict_proba` whose fit takes `sample_weight`; it sees standardised columns, and the
        classes as 0, 1, 2 ...
    gate : {"softmax", "constant"}
        "constant" gives every row the same gate.
    gate_features, expert_features : names or positions of the columns that gate and experts see, default all
    l2 : prior of the experts' coefficients, for standardised columns: -l2/2 |b|^2 beside the log-likelihood
    gate_l2 : prior of the gate's coefficients
    criterion : {"bic", "held_out"}
        How to choose among several `n_experts`: Bayesian information criterion, or the likelihood of a share
        `validation_fraction` of the rows that are held out.
    init : {"mixed", "kmeans", "annealing", "random"}
        How EM begins; "mixed" takes these in turn.
    n_restarts : number of starts; the two most promising after 30 iterations are run to their ends
    max_iter : most iterations of EM
    tol : stop when an iteration gains less log-likelihood than this for a row on average
    categorical_features : "from_dtype", or names or positions of columns that hold categories
    random_state, n_jobs, verbose : as in scikit-learn

    Fitted attributes as those of `MixtureOfExpertsRegressor`; ``coef_`` is [K, p] for two classes, [K, C, p] for more.

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
            self.coef_, self.intercept_ = fitted.view.design.in_units_of_the_table(fitted.experts)
        else:
            self.estimators_ = list(fitted.experts.members)

    def expert_answers(self, X: Any) -> Floats:
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
