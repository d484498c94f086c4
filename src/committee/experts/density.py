"""A mixture of gaussian densities, its gate constant or on other columns than the densities (H-2).

    p(x) = sum_k g_k N(x; m_k, S_k),        or        p(x | z) = sum_k g_k(z) N(x; m_k, S_k),   g softmax in z

A gate on the columns x themselves would not do: the mixture would not integrate to 1 over x. Learned by EM (em.py).
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import DensityMixin
from sklearn.utils.validation import check_is_fitted

from committee.base.array_types import Floats
from committee.base.parameters import non_negative, one_of, param
from committee.base.rng import RandomState, member_seeds
from committee.base.transaction import all_or_nothing
from committee.experts._base import BaseMixtureOfExperts, Plan, Task, View, choose_features, fit_design, make_gate
from committee.experts.em import Mixture
from committee.experts.gaussian_experts import GaussianExperts, Shape
from committee.tabular.validation import read_weights


class MixtureOfExpertsDensity(DensityMixin, BaseMixtureOfExperts):
    """Mixture of Gaussian densities whose weights may depend on other columns.

    Without `gate_features` it is a Gaussian mixture of all columns, fitted by the EM algorithm from several starts.
    With them, a softmax gate of these columns gives the mixing weights, and the density is that of the other columns.

    Parameters
    ----------
    n_experts : int or iterable of int, default=3
        Number of experts, or several numbers such as `range(1, 7)`, of which `criterion` selects one.
    gate_features : array-like or None, default=None
        Names or positions of the columns that the gate uses and the densities do not; None for constant mixing weights.
    gate_l2 : float, default=0.001
        L2 penalty of the coefficients of a gate with features.
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
    covariance_type : "full" or "diag", default="full"
        Full or diagonal covariance matrices.
    variance_prior : float, default=1.0
        Weight of the prior of the covariances, in rows; it keeps them from becoming singular.

    Attributes
    ----------
    means_ : ndarray of shape (n_experts, p)
        Means of the Gaussian densities, in units of the original columns.
    covariances_ : ndarray of shape (n_experts, p, p)
        Covariance matrices of the Gaussian densities, in units of the original columns.
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
    Xu, L., Jordan, M. I. and Hinton, G. E. (1995). An alternative model for mixtures of experts. NIPS 7, 633-640.

    Jordan, M. I. and Xu, L. (1995). Convergence results for the EM approach to mixtures of experts architectures.
    Neural Networks 8, 1409-1431.

    Examples
    --------
    >>> from committee import MixtureOfExpertsDensity
    >>> from committee.datasets import load_dataset
    >>> glass = load_dataset("glass")
    >>> model = MixtureOfExpertsDensity(n_experts=3, random_state=0).fit(glass.X)
    >>> model.load_.round(2), round(model.score(glass.X), 2)
    (array([0.36, 0.47, 0.17]), 8.93)
    """

    covariance_type: Shape = param(one_of("full", "diag"), default="full")
    variance_prior: float = param(non_negative, default=1.0)

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn gate and densities.

        Parameters
        ----------
        X : table of numbers of shape (n_samples, n_features); columns of the gate may hold categories
        y : not used
        sample_weight : weights of the rows, optional; a whole weight counts as so many equal rows
        """
        self._validate_params()
        with all_or_nothing(self):
            task = self._read_task(X, sample_weight, np.zeros, "from_dtype")
            self._learn(task)
            design = self.mixture_.view.design
            scale = np.where(np.isinf(design.scale), 1.0, design.scale)
            self.means_ = self.mixture_.experts.mean * scale + design.shift
            self.covariances_ = self.mixture_.experts.covariance * np.outer(scale, scale)
        return self

    def _plan(self, task: Task, seed: int) -> Plan:
        given = [] if self.gate_features is None else self.gate_features
        gated = choose_features(task.columns, given, "gate_features")
        rest = np.setdiff1d(np.arange(task.columns.n_features), gated)
        if not rest.size:
            raise ValueError(
                f"gate_features names every column of X (n_features={gated.size}): leave some for the densities."
            )
        categories = [task.columns.name(f) for f in rest.tolist() if task.columns.is_categorical[f]]
        if categories:
            raise ValueError(
                f"Column {categories[0]} holds categories, which have no gaussian density: drop it, or name it in "
                "gate_features."
            )
        gate_design, design = fit_design(task, gated), fit_design(task, rest)
        log_volume = float(np.sum(np.log(design.scale[np.isfinite(design.scale)])))
        view = View(gate_design, design, 0.0, 1.0, log_volume, True)
        gate = make_gate("softmax" if gated.size else "constant", self.gate_l2)
        mixture = Mixture(gate, GaussianExperts(self.covariance_type, self.variance_prior))
        return Plan(mixture, view, view.rows(task.table, task.target, task.weight))

    def score_samples(self, X: Any) -> Floats:
        """ln p of every row, [n]."""
        table = self._read_rows(X)
        return self.mixture_.judge(table, np.zeros(len(table)))[1]

    def score(  # pyright: ignore[reportIncompatibleMethodOverride] - the mixin's answers nothing and takes no weights
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Mean log-likelihood of the rows."""
        log_p = self.score_samples(X)
        return float(np.average(log_p, weights=read_weights(sample_weight, log_p.size)))

    def responsibilities(self, X: Any, y: Any = None) -> Floats:
        """r_k: how probable it is that a row comes from expert k, [n, K]."""
        table = self._read_rows(X)
        return self.mixture_.judge(table, np.zeros(len(table)))[0].T

    def predict_proba(self, X: Any) -> Floats:
        """The responsibilities, under the name that they have in scikit-learn."""
        return self.responsibilities(X)

    def predict(self, X: Any) -> NDArray[np.int64]:
        """The number of the expert that each row most probably comes from."""
        return self.responsibilities(X).argmax(axis=1)

    def sample(self, n_samples: int = 1, X: Any = None, random_state: RandomState = None) -> tuple[Floats, Any]:
        """Draw rows, and the experts they come from.

        With a gate on columns of their own, pass a table X whose gate columns the rows are drawn for, one for each; the
        answer has the columns of the densities only.
        """
        check_is_fitted(self, "columns_")
        rng = np.random.default_rng(int(member_seeds(random_state, 1)[0]))
        fitted = self.mixture_
        if X is None and self.gate_coef_.shape[1]:
            raise ValueError("The gate has columns of its own: pass a table X that holds them.")
        given = X if X is None else self._read_rows(X)
        log_gate = np.repeat(fitted.gate[:, np.newaxis], n_samples, axis=1) if given is None else self._log_gate(given)
        share = np.cumsum(np.exp(log_gate), axis=0)
        label = np.minimum((rng.random(share.shape[1]) * share[-1] >= share).sum(axis=0), len(share) - 1)
        root = np.linalg.cholesky(fitted.experts.covariance)
        z = rng.standard_normal((label.size, root.shape[1]))
        drawn = fitted.experts.mean[label] + np.einsum("npq,nq->np", root[label], z)
        design = fitted.view.design
        scale = np.where(np.isinf(design.scale), 0.0, design.scale)
        return drawn * scale + design.shift, label
