"""What a mixture of experts knows of itself: who answers for a row and how, and how evenly the work is shared."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from committee.base.array_types import Floats
from committee.experts._base import BaseMixtureOfExperts
from committee.experts.density import MixtureOfExpertsDensity
from committee.experts.mixture_of_experts import MixtureOfExpertsClassifier, MixtureOfExpertsRegressor
from committee.records.history import History
from committee.records.result_table import ResultTable, to_pandas, to_polars
from committee.tabular.validation import read_table

SHARP = 0.9
"""A row is one expert's alone where the gate gives it at least this probability."""


class MixtureDiagnostics(NamedTuple):
    """Figures of a mixture on some rows. `str` puts them into words."""

    n_experts: int
    load: Floats  # [K], share of the training rows that each expert answers for
    effective_experts: float  # e to the entropy of the loads
    log_likelihood: float  # of the training rows
    n_iter: int
    n_repairs: int  # experts that had lost all rows and were sent elsewhere
    n_halvings: int  # steps that would have lowered the bound
    largest_decrease: float  # of the penalised log-likelihood between repairs: 0, or rounding
    gate: Floats  # [n, K], before the target of a row is known
    responsibilities: Floats | None  # [n, K], after; None where no targets were given
    is_converged: bool

    @property
    def sharpness(self) -> float:
        """Share of the rows that the gate gives to one expert alone."""
        return float(np.mean(self.gate.max(axis=1) >= SHARP))

    @property
    def agreement(self) -> float:
        """Share of the rows for which gate and responsibilities name the same expert; nan without targets."""
        if self.responsibilities is None:
            return np.nan
        return float(np.mean(self.gate.argmax(axis=1) == self.responsibilities.argmax(axis=1)))

    def __str__(self) -> str:
        loads = ", ".join(f"{share:.2f}" for share in self.load)
        end = "it converged" if self.is_converged else "it had not converged"
        lines = [
            f"{self.n_experts} experts with loads {loads}: as good as {self.effective_experts:.2f} equal ones",
            f"log-likelihood {self.log_likelihood:.6g} after {self.n_iter} iterations of EM, when {end}; "
            f"{self.n_halvings} steps halved, {self.n_repairs} experts repaired",
            f"the gate gives {100.0 * self.sharpness:.0f} % of the rows to one expert alone (at least {SHARP:g})",
        ]
        if self.responsibilities is not None:
            lines.append(
                f"once the target is known, the same expert answers for {100.0 * self.agreement:.0f} % of them"
            )
        return "\n".join(lines)


def mixture_diagnostics(model: BaseMixtureOfExperts, X: Any, y: Any = None) -> MixtureDiagnostics:
    """Loads, likelihood and gate of a fitted mixture, looked at on the rows X.

    Parameters
    ----------
    model : a fitted mixture of experts
    X : rows to look at
    y : their targets, optional; with them the responsibilities are known

    Examples
    --------
    >>> import numpy as np
    >>> from committee.experts.mixture_of_experts import MixtureOfExpertsRegressor
    >>> x = np.linspace(-1, 1, 200)[:, np.newaxis]
    >>> model = MixtureOfExpertsRegressor(2, tol=1e-4, random_state=0).fit(x, np.abs(x[:, 0]))
    >>> print(mixture_diagnostics(model, x, np.abs(x[:, 0])))
    2 experts with loads 0.50, 0.50: as good as 2.00 equal ones
    log-likelihood ... after ... iterations of EM, when it converged; 0 steps halved, 0 experts repaired
    the gate gives ... % of the rows to one expert alone (at least 0.9)
    once the target is known, the same expert answers for 100 % of them
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
    """A table with a row for every coefficient: who it belongs to, the column, the value in the column's own units.

    `to_table()` makes a table of it. Experts that are estimators of the user have their gate in it only.

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
    """One line of coefficients for each class that has one."""
    if model.coef_.ndim == 2:
        label = str(model.classes_[1]) if isinstance(model, MixtureOfExpertsClassifier) else ""
        return [(label, model.coef_[k], model.intercept_[k])]
    return [(str(c), model.coef_[k, i], model.intercept_[k, i]) for i, c in enumerate(model.classes_)]


class ExpertPredictions(NamedTuple):
    """Who answers for each of some rows, and how."""

    expert: NDArray[np.int64]  # [n], the most probable expert
    share: Floats  # [n], its probability
    predictions: Floats  # [n, K] means, or [n, K, C] probabilities of the classes
    contributions: Floats | None  # [n, p], coefficient times value of that expert; None where it is no line
    names: tuple[str, ...]  # [p], of the columns that contribute
    mixture: NDArray[Any]  # [n], what the mixture answers

    def to_table(self) -> ResultTable:
        """One line for each row: expert, share, the answer of the mixture, contributions."""
        table: dict[str, Any] = {"expert": self.expert, "share": self.share, "mixture": self.mixture}
        if self.contributions is not None:
            table |= {f"by {name}": column for name, column in zip(self.names, self.contributions.T, strict=True)}
        return ResultTable(table)

    to_pandas = to_pandas
    to_polars = to_polars


def expert_predictions(model: BaseMixtureOfExperts, X: Any, y: Any = None) -> ExpertPredictions:
    """Which expert answers for each row: by the gate, or by the responsibilities where the targets y are given.

    Contributions are for linear experts of numbers and logistic experts of two classes; they add up to the expert's
    answer (for classes: its log-odds) less its intercept.

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
        raise TypeError("A density has no answers: ask for its responsibilities(X).")
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
        raise TypeError(f"This is for mixtures of experts learned by EM, not for {type(model).__name__}.")
    check_is_fitted(model, "columns_")
    return model
