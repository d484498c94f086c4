"""Loads, likelihood, coefficients and predictions of the experts of a fitted mixture."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from committee.base.array_types import Floats
from committee.experts.base import BaseMixtureOfExperts
from committee.experts.density import MixtureOfExpertsDensity
from committee.experts.mixture_of_experts import MixtureOfExpertsClassifier, MixtureOfExpertsRegressor
from committee.records.history import History
from committee.records.result_table import ResultTable, to_pandas, to_polars
from committee.tabular.validation import read_table

SHARP = 0.9
"""The gate assigns a row to a single expert if it gives it at least this probability."""


class MixtureDiagnostics(NamedTuple):
    """Diagnostics of a mixture on some rows. `str` describes them in sentences.

    Attributes
    ----------
    n_experts : number of experts
    load : array [K], fraction of the training rows of each expert
    effective_experts : exponential of the entropy of the loads
    log_likelihood : log-likelihood of the training rows
    n_iter : number of EM iterations
    n_repairs : number of experts that had lost all rows and were restarted
    n_halvings : number of steps that would have decreased the bound
    largest_decrease : largest decrease of the penalised log-likelihood between repairs: 0, or rounding
    gate : array [n, K], probabilities of the experts without the target
    responsibilities : array [n, K], probabilities of the experts with the target; None if no targets were given
    is_converged : whether EM converged
    """

    n_experts: int
    load: Floats
    effective_experts: float
    log_likelihood: float
    n_iter: int
    n_repairs: int
    n_halvings: int
    largest_decrease: float
    gate: Floats
    responsibilities: Floats | None
    is_converged: bool

    @property
    def sharpness(self) -> float:
        """Fraction of the rows that the gate assigns to a single expert."""
        return float(np.mean(self.gate.max(axis=1) >= SHARP))

    @property
    def agreement(self) -> float:
        """Fraction of the rows with the same most probable expert with and without the target; nan without targets."""
        if self.responsibilities is None:
            return np.nan
        return float(np.mean(self.gate.argmax(axis=1) == self.responsibilities.argmax(axis=1)))

    def __str__(self) -> str:
        loads = ", ".join(f"{load:.2f}" for load in self.load)
        end = "converged" if self.is_converged else "not converged"
        lines = [
            f"{self.n_experts} experts with loads {loads}: effective number {self.effective_experts:.2f}",
            f"log-likelihood {self.log_likelihood:.6g} after {self.n_iter} EM iterations ({end}); "
            f"{self.n_halvings} steps halved, {self.n_repairs} experts repaired",
            f"the gate assigns {100.0 * self.sharpness:.0f} % of the rows to one expert (probability >= {SHARP:g})",
        ]
        if self.responsibilities is not None:
            same = f"{100.0 * self.agreement:.0f} % of them"
            lines.append(f"with the target known, the most probable expert is the same for {same}")
        return "\n".join(lines)


def mixture_diagnostics(model: BaseMixtureOfExperts, X: Any, y: Any = None) -> MixtureDiagnostics:
    """Compute loads, likelihood and gate probabilities of a fitted mixture.

    Parameters
    ----------
    model : fitted mixture of experts
    X : rows to evaluate the gate on
    y : array-like, optional
        Targets of the rows, for the responsibilities.

    Returns
    -------
    MixtureDiagnostics

    Examples
    --------
    >>> import numpy as np
    >>> from committee.experts.mixture_of_experts import MixtureOfExpertsRegressor
    >>> x = np.linspace(-1, 1, 200)[:, np.newaxis]
    >>> model = MixtureOfExpertsRegressor(2, tol=1e-4, random_state=0).fit(x, np.abs(x[:, 0]))
    >>> print(mixture_diagnostics(model, x, np.abs(x[:, 0])))
    2 experts with loads 0.50, 0.50: effective number 2.00
    log-likelihood ... after ... EM iterations (converged); 0 steps halved, 0 experts repaired
    the gate assigns ... % of the rows to one expert (probability >= 0.9)
    with the target known, the most probable expert is the same for 100 % of them
    """
    fitted = _check(model)
    history = fitted.history_
    is_density = isinstance(fitted, MixtureOfExpertsDensity)
    r = fitted.responsibilities(X, y) if is_density or y is not None else None
    increases = np.diff(history.objective)[history.repaired[1:] < 0]
    return MixtureDiagnostics(
        fitted.n_experts_, fitted.load_, fitted.effective_experts_, fitted.log_likelihood_, fitted.n_iter_,
        int(np.sum(history.repaired >= 0)), int(history.n_halvings.sum()), float(max(0.0, -increases.min(initial=0.0))),
        fitted.gate_proba(X), r, fitted.converged_,
    )  # fmt: skip


def expert_coefficients(model: BaseMixtureOfExperts) -> History:
    """Collect all coefficients of a mixture, in the units of the columns.

    Experts that are estimators of the user have no coefficients here, only their gate has.

    Parameters
    ----------
    model : fitted mixture of experts

    Returns
    -------
    History
        Columns part ("expert" or "gate"), expert, label, column and value; `to_table()` makes a table of it.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.experts.mixture_of_experts import MixtureOfExpertsRegressor
    >>> x = np.linspace(-1, 1, 200)[:, np.newaxis]
    >>> model = MixtureOfExpertsRegressor(1, l2=0.0).fit(x, 3.0 * x[:, 0] + 1.0)
    >>> table = expert_coefficients(model)
    >>> [(str(part), str(column), round(float(value), 3)) for part, column, value in zip(
    ...     table.part, table.column, table.value)]
    [('expert', 'x[0]', 3.0), ('expert', 'intercept', 1.0), ('expert', 'noise', 0.004), ('gate', 'x[0]', 0.0),
     ('gate', 'intercept', 0.0)]
    """
    fitted = _check(model)
    rows = _expert_rows(fitted)
    names = fitted.mixture_.view.gate_design.names
    for k in range(fitted.n_experts_):
        rows += [("gate", k, "", name, float(b)) for name, b in zip(names, fitted.gate_coef_[k], strict=True)]
        rows.append(("gate", k, "", "intercept", float(fitted.gate_intercept_[k])))
    columns = ("part", "expert", "label", "column", "value")
    return History({name: [row[i] for row in rows] for i, name in enumerate(columns)})


Row = tuple[str, int, str, str, float]


def _expert_rows(model: Any) -> list[Row]:
    names: tuple[str, ...] = model.mixture_.view.design.names
    rows = list[Row]()
    for k in range(model.n_experts_):
        if isinstance(model, MixtureOfExpertsDensity):
            rows += [("expert", k, "mean", name, float(m)) for name, m in zip(names, model.means_[k], strict=True)]
            deviations = np.sqrt(np.diagonal(model.covariances_[k]))
            rows += [("expert", k, "deviation", name, float(s)) for name, s in zip(names, deviations, strict=True)]
        elif hasattr(model, "coef_"):
            for label, coef, intercept in _lines(model, k):
                rows += [("expert", k, label, name, float(b)) for name, b in zip(names, coef, strict=True)]
                rows.append(("expert", k, label, "intercept", float(intercept)))
        if isinstance(model, MixtureOfExpertsRegressor):
            rows.append(("expert", k, "", "noise", float(model.noise_[k])))
    return rows


def _lines(model: Any, k: int) -> list[tuple[str, Floats, float]]:
    """Coefficients and intercept for each class that has them."""
    if model.coef_.ndim == 2:
        label = str(model.classes_[1]) if isinstance(model, MixtureOfExpertsClassifier) else ""
        return [(label, model.coef_[k], model.intercept_[k])]
    return [(str(c), model.coef_[k, i], model.intercept_[k, i]) for i, c in enumerate(model.classes_)]


class ExpertPredictions(NamedTuple):
    """The most probable expert of each of some rows, and its prediction.

    Attributes
    ----------
    expert : array [n], the most probable expert
    probability : array [n], its probability
    predictions : array [n, K], means, or [n, K, C] probabilities of the classes
    contributions : array [n, p], coefficient times value of that expert; None if it is not linear
    names : names of the p contributing columns
    mixture : array [n], predictions of the mixture
    """

    expert: NDArray[np.int64]
    probability: Floats
    predictions: Floats
    contributions: Floats | None
    names: tuple[str, ...]
    mixture: NDArray[Any]

    def to_table(self) -> ResultTable:
        """Return a table with one row per data row: expert, probability, prediction of the mixture, contributions."""
        table: dict[str, Any] = {"expert": self.expert, "probability": self.probability, "mixture": self.mixture}
        if self.contributions is not None:
            table |= {f"by {name}": column for name, column in zip(self.names, self.contributions.T, strict=True)}
        return ResultTable(table)

    to_pandas = to_pandas
    to_polars = to_polars


def expert_predictions(model: BaseMixtureOfExperts, X: Any, y: Any = None) -> ExpertPredictions:
    """Find the most probable expert of each row and its prediction.

    Contributions are available for linear experts in regression and logistic experts of two classes; they add up to the
    prediction of the expert (for classes: its log-odds) minus its intercept.

    Parameters
    ----------
    model : fitted mixture of experts
    X : rows to predict
    y : array-like, optional
        Targets of the rows: experts are then found by their responsibilities instead of the gate.

    Returns
    -------
    ExpertPredictions

    Examples
    --------
    >>> import numpy as np
    >>> from committee.experts.mixture_of_experts import MixtureOfExpertsRegressor
    >>> x = np.linspace(-1, 1, 200)[:, np.newaxis]
    >>> model = MixtureOfExpertsRegressor(2, random_state=0).fit(x, np.abs(x[:, 0]))
    >>> found = expert_predictions(model, [[-0.5], [0.5]])
    >>> found.expert[0] == found.expert[1], found.contributions.round(2).ravel()
    (np.False_, array([0.5, 0.5]))
    """
    fitted: Any = _check(model)
    if isinstance(fitted, MixtureOfExpertsDensity):
        raise TypeError("A density has no predictions: use its responsibilities(X).")
    weights = fitted.gate_proba(X) if y is None else fitted.responsibilities(X, y)
    expert = weights.argmax(axis=1)
    rows = np.arange(expert.size)
    predictions = fitted.expert_predictions(X)
    contributions, names = None, ()
    if hasattr(fitted, "coef_") and fitted.coef_.ndim == 2:
        view = fitted.mixture_.view
        names = view.design.names
        contributions = fitted.coef_[expert] * view.design.values(np.asarray(read_table(fitted, X), np.float64))
    return ExpertPredictions(expert, weights[rows, expert], predictions, contributions, names, fitted.predict(X))


def _check(model: Any) -> Any:
    if not isinstance(model, BaseMixtureOfExperts):
        raise TypeError(f"Expected a mixture of experts fitted by EM, got {type(model).__name__}.")
    check_is_fitted(model, "columns_")
    return model
