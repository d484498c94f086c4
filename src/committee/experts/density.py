"""A mixture of gaussian densities, with constant weights or a gate on other columns than the densities.

    p(x) = sum_k g_k N(x; m_k, S_k),        or        p(x | z) = sum_k g_k(z) N(x; m_k, S_k),   g softmax in z

A gate on the columns x themselves would not do: the mixture would not integrate to 1 over x. Fitted by EM (em.py).
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import DensityMixin
from sklearn.utils.validation import check_is_fitted

from committee.base.array_types import Floats
from committee.base.parameters import fitted, non_negative, one_of, param
from committee.base.rng import RandomState, member_seeds
from committee.base.transaction import all_or_nothing
from committee.experts.base import BaseMixtureOfExperts, Plan, Task, View, choose_features, fit_design, make_gate
from committee.experts.em import Mixture
from committee.experts.gaussian_experts import GaussianExperts, Shape
from committee.tabular.validation import read_weights


class MixtureOfExpertsDensity(DensityMixin, BaseMixtureOfExperts):
    """Mixture of Gaussian densities whose weights may depend on other columns.

    Without `gate_features` it is a Gaussian mixture of all columns, fitted by the EM algorithm from several starts.
    With them, a softmax gate of these columns gives the mixing weights, and the density is that of the other columns.

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

    gate_features: Any = param(
        "array-like",
        None,
        default=None,
        doc="Names or positions of the columns that the gate uses and the densities do not; None for constant mixing "
        "weights.",
    )
    covariance_type: Shape = param(one_of("full", "diag"), default="full", doc="Full or diagonal covariance matrices.")
    variance_prior: float = param(
        non_negative,
        default=1.0,
        doc="Weight of the prior of the covariances, in rows; it keeps them from becoming singular.",
    )

    means_: Floats = fitted(doc="Means of the densities, [n_experts, p], in units of the original columns.")
    covariances_: Floats = fitted(doc="Covariance matrices, [n_experts, p, p], in units of the original columns.")

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the gate and the densities.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Numeric columns; those of the gate may be categorical.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            An integer weight w is equivalent to repeating the row w times.
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
                f"Column {categories[0]} holds categories, which have no Gaussian density: drop it, or name it in "
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
        return self.mixture_.posterior(table, np.zeros(len(table)))[1]

    def score(  # pyright: ignore[reportIncompatibleMethodOverride] - the mixin's returns nothing and takes no weights
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Mean log-likelihood of the rows."""
        log_p = self.score_samples(X)
        return float(np.average(log_p, weights=read_weights(sample_weight, log_p.size)))

    def responsibilities(self, X: Any, y: Any = None) -> Floats:
        """Responsibilities: the probability that a row comes from expert k, [n, K]."""
        table = self._read_rows(X)
        return self.mixture_.posterior(table, np.zeros(len(table)))[0].T

    def predict_proba(self, X: Any) -> Floats:
        """The responsibilities, under scikit-learn's name."""
        return self.responsibilities(X)

    def predict(self, X: Any) -> NDArray[np.int64]:
        """The expert of the largest responsibility for each row."""
        return self.responsibilities(X).argmax(axis=1)

    def sample(self, n_samples: int = 1, X: Any = None, random_state: RandomState = None) -> tuple[Floats, Any]:
        """Draw rows, and the experts they come from.

        If the gate has columns, pass a table X with these: one row is drawn for each of its rows. The result has the
        columns of the densities only.
        """
        check_is_fitted(self, "columns_")
        rng = np.random.default_rng(int(member_seeds(random_state, 1)[0]))
        fitted = self.mixture_
        if X is None and self.gate_coef_.shape[1]:
            raise ValueError("The gate depends on columns: pass a table X that contains them.")
        given = X if X is None else self._read_rows(X)
        log_gate = np.repeat(fitted.gate[:, np.newaxis], n_samples, axis=1) if given is None else self._log_gate(given)
        total = np.cumsum(np.exp(log_gate), axis=0)
        label = np.minimum((rng.random(total.shape[1]) * total[-1] >= total).sum(axis=0), len(total) - 1)
        root = np.linalg.cholesky(fitted.experts.covariance)
        z = rng.standard_normal((label.size, root.shape[1]))
        drawn = fitted.experts.mean[label] + np.einsum("npq,nq->np", root[label], z)
        design = fitted.view.design
        scale = np.where(np.isinf(design.scale), 0.0, design.scale)
        return drawn * scale + design.shift, label
