"""The base class of mixtures of experts: reading rows, choosing a start and a number of experts, the gate."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from committee.base.array_types import Floats
from committee.base.blas_threads import one_blas_thread
from committee.base.parameters import (
    N_JOBS,
    RANDOM_STATE,
    Estimator,
    at_least,
    fitted,
    inner_fraction,
    non_negative,
    one_of,
    param,
)
from committee.base.progress import progress
from committee.base.rng import RandomState, member_seeds
from committee.base.stacklevel import level_of_caller
from committee.base.threads import n_threads
from committee.experts._initialization import (
    N_FINALISTS,
    STARTS,
    InitialParameters,
    Problem,
    Restart,
    Start,
    best_of_starts,
)
from committee.experts.em import EMResult, Mixture, Rows, e_step, effective_number, evaluate, max_norm
from committee.experts.gate import ConstantGate, SoftmaxGate
from committee.records.history import History
from committee.tabular.encoder import EncoderOptions, TableEncoder, fit_encoder
from committee.tabular.identity import distinct_rows
from committee.tabular.schema import Columns, find_columns
from committee.tabular.validation import read_table, read_training_table, read_weights, reject_missing_cells

Init = Literal["mixed", "kmeans", "annealing", "random"]
GateKind = Literal["softmax", "constant"]
Criterion = Literal["bic", "held_out"]

DESIGN = EncoderOptions(categories="standardised", adds_ones=True)
"""The columns of gates and experts: a penalty means the same for all of them."""


class Task(NamedTuple):
    """Distinct rows of a table, in an order that depends on their values, and their weights.

    Equal rows are merged and their weights added: an integer weight is equivalent to repetition, and the order of the
    rows does not matter.
    """

    columns: Columns
    table: Floats  # [n, d]
    target: NDArray[Any]  # [n], class codes or values
    weight: Floats  # [n]


class View(NamedTuple):
    """The design matrices and the scaled target of a mixture."""

    gate_design: TableEncoder
    design: TableEncoder
    centre: float  # of a continuous target
    scale: float
    log_volume: float  # of the scaling: subtracted from a log-density, it gives that in units of the target
    is_density: bool  # the experts' columns are the target

    def rows(self, table: Floats, target: NDArray[Any], weight: Floats) -> Rows:
        X = self.design(table)
        if self.is_density:
            y: NDArray[Any] = X[:, :-1]
        else:
            y = (target - self.centre) / self.scale if target.dtype.kind == "f" else target
        return Rows(self.gate_design(table), X, y, weight)


class Plan(NamedTuple):
    """A mixture and its training data, except for the number of experts."""

    mixture: Any  # the gate and the experts, with `start` and `n_parameters` in addition to what EM needs
    view: View
    rows: Rows

    @property
    def n_columns(self) -> int:
        """Of the experts."""
        return self.rows.y.shape[1] if self.view.is_density else self.rows.X.shape[1]

    def problem(self, n_experts: int) -> Problem:
        """The problem for a number of experts."""
        gate, experts = self.mixture
        start = InitialParameters(
            gate.start(n_experts, self.rows.gate_table.shape[1]), experts.start(n_experts, self.n_columns)
        )
        return Problem(self.mixture, self.rows, start, self.points, n_experts)

    @property
    def points(self) -> Floats:
        """The rows for k-means: the table and the target together."""
        y = self.rows.y
        if self.view.is_density:
            return y
        labels = y[:, np.newaxis] if y.dtype.kind == "f" else (y[:, np.newaxis] == np.unique(y)).astype(np.float64)
        table = np.column_stack([self.rows.X[:, :-1], self.rows.gate_table[:, :-1]])
        source = np.concatenate([self.view.design.source, self.view.gate_design.source])
        category = np.nan_to_num(np.concatenate([self.view.design.category, self.view.gate_design.category]), nan=-1.0)
        first = np.unique(np.column_stack([source, category]), axis=0, return_index=True)[1]
        return np.column_stack([table[:, first], labels])

    @property
    def log_volume(self) -> float:
        """Of all rows."""
        return self.view.log_volume * float(self.rows.weight.sum())


BestStart = tuple[EMResult, list[Restart]]
"""The best run, and all starts."""


class Fitted(NamedTuple):
    """A fitted mixture."""

    mixture: Mixture
    view: View
    gate: Any
    experts: Any

    def posterior(self, table: Floats, target: NDArray[Any]) -> tuple[Floats, Floats]:
        """Responsibilities [K, n], and the log-likelihood of each row in the units of the target."""
        rows = self.view.rows(table, target, np.ones(len(table)))
        state = evaluate(self.mixture, rows, self.gate, self.experts)
        weights, log_p = e_step(state.log_gate, state.log_density, rows.weight)
        return weights, log_p - self.view.log_volume


class Candidate(NamedTuple):
    """A number of experts: a row of `selection_`."""

    n_experts: int
    log_likelihood: float
    n_parameters: int  # 0 if unknown
    bic: float  # smaller is better
    held_out: float  # mean log-likelihood of held-out rows, larger is better


class BaseMixtureOfExperts(Estimator):
    """A gate and experts, fitted by EM; a subclass makes the plan and predicts."""

    n_experts: int | Iterable[int] = param(
        at_least(1), "array-like", range, default=3, kw_only=False,
        doc="Number of experts, or several numbers such as `range(1, 7)`, of which `criterion` selects one.",
    )  # fmt: skip
    gate_features: Any = param(
        "array-like",
        None,
        default=None,
        doc="Names or positions of the columns that the gate uses; None for all columns.",
    )
    gate_l2: float = param(
        non_negative, default=1e-3, doc="L2 penalty of the coefficients of the gate, for standardised columns."
    )
    criterion: Criterion = param(
        one_of("bic", "held_out"),
        default="bic",
        doc="How one of several `n_experts` is selected: by the Bayesian information criterion, or by the likelihood "
        "of held-out rows.",
    )
    validation_fraction: float = param(
        inner_fraction, default=0.2, doc='Fraction of the rows that are held out with `criterion="held_out"`.'
    )
    init: Init = param(
        one_of("mixed", *STARTS),
        default="mixed",
        doc='How the responsibilities are initialised; "mixed" alternates between the other three.',
    )
    n_restarts: int = param(
        at_least(1), default=6, doc="Number of starts. The two best after 30 iterations are run to convergence."
    )
    max_iter: int = param(at_least(1), default=1000, doc="Maximum number of EM iterations.")
    tol: float = param(
        non_negative,
        default=1e-5,
        doc="EM stops when an iteration increases the mean penalised log-likelihood of a row by less.",
    )
    random_state: RandomState = param(*RANDOM_STATE, default=None)
    n_jobs: int | None = param(*N_JOBS, default=None)
    verbose: int = param("verbose", default=0)

    n_experts_: int = fitted(doc="Number of experts.")
    load_: Floats = fitted(doc="Mean responsibility of each expert; the sum is 1.")
    effective_experts_: float = fitted(doc="Effective number of experts: e to the entropy of `load_`.")
    gate_coef_: Floats = fitted(doc="Coefficients of the gate, [n_experts, p], in units of the original columns.")
    gate_intercept_: Floats = fitted(doc="Intercepts of the gate, [n_experts].")
    log_likelihood_: float = fitted(doc="Log-likelihood of the training rows.")
    bic_: float = fitted(
        doc="Bayesian information criterion; smaller is better. NaN if the number of parameters of an expert is "
        "unknown."
    )
    history_: History = fitted(
        doc="A row for each EM iteration: log-likelihood, penalised log-likelihood (`objective`), its bound, effective "
        "number of experts, smallest load, step halvings, and repairs of experts without rows."
    )
    restarts_: History = fitted(
        doc="A row for each start: its kind, and the objective after the short run and at the end."
    )
    selection_: History = fitted(
        doc="A row for each number of experts that was compared: log-likelihood, number of parameters, BIC and "
        "held-out log-likelihood; empty if `n_experts` is a number."
    )
    n_iter_: int = fitted(doc="Number of EM iterations of the best start.")
    converged_: bool = fitted(doc="Whether EM reached a maximum within `max_iter` iterations.")
    gradient_norm_: float = fitted(doc="Scaled norm of the gradient of the penalised log-likelihood at the end.")
    mixture_: Fitted = fitted(doc="The fitted parameters, for standardised columns.")
    columns_: Columns = fitted()
    n_features_in_: int = fitted()
    feature_names_in_: NDArray[Any] = fitted()

    # --- hooks of the subclasses -------------------------------------------------------------------------------

    def _plan(self, task: Task, seed: int) -> Plan:
        raise NotImplementedError

    # --- fitting ------------------------------------------------------------------------------------------------------

    def _read_task(self, X: Any, sample_weight: Any, target: Any, categorical_features: Any) -> Task:
        """The training rows; `target` returns the targets, given their number."""
        columns, table = read_training_table(
            self, X, categorical_features=categorical_features, sample_weight=sample_weight
        )
        reject_missing_cells(table, columns, type(self).__name__, columns.is_categorical)
        values: NDArray[Any] = target(len(table))
        weight = read_weights(sample_weight, len(table))
        weight = np.ones(len(table)) if weight is None else weight
        self.columns_ = columns
        counts = weight > 0.0
        table, values, weight = np.asarray(table, np.float64)[counts], values[counts], weight[counts]
        distinct = distinct_rows(table, values)
        return Task(columns, table[distinct.first], values[distinct.first], distinct.total(weight))

    def _learn(self, task: Task) -> None:
        """Everything after reading: the number of experts, the best start, EM, fitted attributes."""
        numbers = self._numbers()
        seeds = [int(seed) for seed in member_seeds(self.random_state, self.n_restarts + 1)]
        n_runs = (self.n_restarts + min(N_FINALISTS, self.n_restarts)) * (
            len(numbers) + (len(numbers) > 1 and self.criterion == "held_out")
        )
        with one_blas_thread(), progress(type(self).__name__, n_runs, self.verbose) as tick:
            plan = self._plan(task, seeds[0] % (2**31 - 1))
            self._check_criterion(plan, numbers)
            n_experts, known = self._choose_number(task, plan, numbers, seeds, tick)
            result, restarts = known or self._fit_number(plan, n_experts, seeds, tick)
        self._keep(task, plan, result, restarts, n_experts)

    def _numbers(self) -> list[int]:
        if isinstance(self.n_experts, Integral):
            return [int(self.n_experts)]
        numbers = list(self.n_experts)  # type: ignore[call-overload]
        if not numbers or any(isinstance(k, bool) or not isinstance(k, Integral) or k < 1 for k in numbers):
            raise ValueError(
                f"n_experts must be an integer >= 1, or several of them to select from; got {self.n_experts!r}."
            )
        return sorted({int(k) for k in numbers})

    def _check_criterion(self, plan: Plan, numbers: Sequence[int]) -> None:
        if len(numbers) > 1 and self.criterion == "bic" and not hasattr(plan.mixture.experts, "n_parameters"):
            raise ValueError(
                "The number of parameters of a given expert is unknown: pass one n_experts, or select it by "
                "criterion='held_out'."
            )

    def _fit_number(self, plan: Plan, n_experts: int, seeds: Sequence[int], tick: Any) -> BestStart:
        problem, rows = plan.problem(n_experts), plan.rows
        n_starts = self.n_restarts if n_experts > 1 else 1
        kinds: list[Start] = [STARTS[i % 3] if self.init == "mixed" else self.init for i in range(n_starts)]
        work = 100 * n_experts * rows.X.size
        threads = n_threads(self.n_jobs, work)
        return best_of_starts(
            problem, kinds, seeds[1 : n_starts + 1], max_iter=self.max_iter, tol=self.tol, threads=threads, tick=tick
        )

    def _choose_number(
        self, task: Task, plan: Plan, numbers: Sequence[int], seeds: Sequence[int], tick: Any
    ) -> tuple[int, BestStart | None]:
        """The number of experts of the best BIC or held-out likelihood, and its fit if that was made on all rows."""
        if len(numbers) == 1:
            self.selection_ = History({name: [] for name in Candidate._fields})
            return numbers[0], None
        if self.criterion == "held_out":
            return self._choose_held_out(task, numbers, seeds, tick), None
        fits = [self._fit_number(plan, k, seeds, tick) for k in numbers]
        table = [self._candidate(plan, k, result, np.nan) for k, (result, _) in zip(numbers, fits, strict=True)]
        self.selection_ = History.from_records(table)
        best = int(np.argmin(self.selection_.bic))
        return numbers[best], fits[best]

    def _choose_held_out(self, task: Task, numbers: Sequence[int], seeds: Sequence[int], tick: Any) -> int:
        n = task.weight.size
        order = np.random.default_rng(seeds[0]).permutation(n)
        n_test = max(1, round(self.validation_fraction * n))
        if n_test >= n:
            raise ValueError(
                f"n_samples={n}: too few distinct rows to hold some out for selecting n_experts: pass one number of "
                "experts, or use criterion='bic'."
            )
        train, test = (
            task._replace(table=task.table[rows], target=task.target[rows], weight=task.weight[rows])
            for rows in (np.sort(order[n_test:]), np.sort(order[:n_test]))
        )
        plan = self._plan(train, seeds[0] % (2**31 - 1))
        table = list[Candidate]()
        for k in numbers:
            result, _ = self._fit_number(plan, k, seeds, tick)
            log_p = _as_fitted(plan, result).posterior(test.table, test.target)[1]
            table.append(self._candidate(plan, k, result, float(np.average(log_p, weights=test.weight))))
        self.selection_ = History.from_records(table)
        return numbers[int(np.argmax(self.selection_.held_out))]

    def _candidate(self, plan: Plan, n_experts: int, result: EMResult, held_out: float) -> Candidate:
        n_free = _n_parameters(plan, n_experts)
        total = float(plan.rows.weight.sum())
        log_likelihood = _final_log_likelihood(plan, result)
        bic = -2.0 * log_likelihood + n_free * float(np.log(total)) if n_free else np.nan
        return Candidate(n_experts, log_likelihood, n_free, bic, held_out)

    def _keep(self, task: Task, plan: Plan, result: EMResult, restarts: list[Restart], n_experts: int) -> None:
        self.mixture_ = _as_fitted(plan, result)
        self.n_experts_ = n_experts
        log_volume, shifted = plan.log_volume, ("log_likelihood", "objective", "bound")
        self.history_ = History.from_records(
            [r._replace(**{name: getattr(r, name) - log_volume for name in shifted}) for r in result.records]
        )
        self.restarts_ = History.from_records(
            [r._replace(short_run=r.short_run - log_volume, objective=r.objective - log_volume) for r in restarts]
        )
        self.n_iter_ = len(result.records)
        self.converged_, self.gradient_norm_ = result.is_converged, result.gradient_norm
        summary = self._candidate(plan, n_experts, result, np.nan)
        self.log_likelihood_, self.bic_ = summary.log_likelihood, summary.bic
        weights = e_step(result.state.log_gate, result.state.log_density, plan.rows.weight).weights
        self.load_ = weights.sum(axis=1) / plan.rows.weight.sum()
        self.effective_experts_ = effective_number(self.load_)
        gate, design = result.state.gate, plan.view.gate_design
        if isinstance(plan.mixture.gate, SoftmaxGate):
            self.gate_coef_, self.gate_intercept_ = design.unscale(gate)
        else:
            self.gate_coef_, self.gate_intercept_ = np.zeros((n_experts, 0)), gate.copy()
        if not result.is_converged:
            warnings.warn(self._not_converged(result), ConvergenceWarning, stacklevel=level_of_caller())

    def _not_converged(self, result: EMResult) -> str:
        """The warning of a run without convergence."""
        left = f"the scaled gradient norm is {result.gradient_norm:.3g}, {max_norm(self.tol):.3g} was required"
        if len(result.records) < self.max_iter:
            return (
                f"EM stopped after {len(result.records)} iterations without reaching a maximum: {left}, but no step "
                "increases the objective. Use a larger penalty (l2, gate_l2), or remove collinear columns and rare "
                "categories."
            )
        return (
            f"EM did not converge in max_iter={self.max_iter} iterations: a row still gains more than tol={self.tol:g} "
            f"of log-likelihood in each, or the gradient is large ({left}). Use a larger max_iter, tol or penalty (l2, "
            "gate_l2)."
        )

    # --- predictions -----------------------------------------------------------------------------------

    @property
    def _fitted(self) -> Fitted:
        return self.mixture_

    def _read_rows(self, X: Any) -> Floats:
        check_is_fitted(self, "columns_")
        table = read_table(self, X)
        reject_missing_cells(table, self.columns_, type(self).__name__, self.columns_.is_categorical)
        return np.asarray(table, np.float64)

    def _log_gate(self, table: Floats) -> Floats:
        fitted = self.mixture_
        return fitted.mixture.gate.log_proba(fitted.gate, fitted.view.gate_design(table))

    def gate_proba(self, X: Any) -> Floats:
        """Gate probabilities g_k(x) of the experts, [n, K]."""
        return np.exp(self._log_gate(self._read_rows(X))).T


def fit_design(task: Task, features: NDArray[np.int64]) -> TableEncoder:
    """Fit the design matrix of some features."""
    return fit_encoder(task.columns, task.table, task.weight, DESIGN, features)


def choose_features(columns: Columns, features: Any, what: str) -> NDArray[np.int64]:
    """Positions of features given by name or position, all for None; `what` names the parameter in an error."""
    if features is None:
        return np.arange(columns.n_features)
    if isinstance(features, str):
        raise ValueError(f"{what} must be a list of names or positions of columns; put {features!r} into a list.")
    return np.array(find_columns(columns, features, what), np.int64)


def make_gate(kind: GateKind, l2: float) -> SoftmaxGate | ConstantGate:
    return SoftmaxGate(l2) if kind == "softmax" else ConstantGate()


def _as_fitted(plan: Plan, result: EMResult) -> Fitted:
    return Fitted(plan.mixture, plan.view, result.state.gate, result.state.experts)


def _final_log_likelihood(plan: Plan, result: EMResult) -> float:
    at = [record.log_likelihood for record in result.records if record.objective == result.objective]
    return at[-1] - plan.log_volume


def _n_parameters(plan: Plan, n_experts: int) -> int:
    """Free parameters of gate and experts; 0 if the experts are given estimators."""
    gate, experts = plan.mixture
    if not hasattr(experts, "n_parameters"):
        return 0
    return gate.n_parameters(n_experts, plan.rows.gate_table.shape[1]) + experts.n_parameters(n_experts, plan.n_columns)
