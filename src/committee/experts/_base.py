"""What mixtures of experts share as estimators: reading rows, choosing a start and a number of experts, the gate."""

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
from committee.experts._initialization import FINALISTS, STARTS, Blank, Problem, Restart, Start, best_of_starts
from committee.experts.em import Found, Mixture, Rows, e_step, effective_number, evaluate, largest_norm
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
    """Distinct rows of a table, in an order that their values decide, and how much each counts.

    Equal rows are one with the sum of their weights: so weights mean repetition, and the order of rows means nothing.
    """

    columns: Columns
    table: Floats  # [n, d]
    target: NDArray[Any]  # [n], class codes or numbers
    weight: Floats  # [n]


class View(NamedTuple):
    """How a mixture sees a table and its target."""

    gate_design: TableEncoder
    design: TableEncoder
    centre: float  # of a target of numbers
    scale: float
    log_volume: float  # ln of how much a density shrinks by standardising: back in the units of the target, it is less
    is_density: bool  # the experts' columns are the target

    def rows(self, table: Floats, target: NDArray[Any], weight: Floats) -> Rows:
        X = self.design(table)
        if self.is_density:
            y: NDArray[Any] = X[:, :-1]
        else:
            y = (target - self.centre) / self.scale if target.dtype.kind == "f" else target
        return Rows(self.gate_design(table), X, y, weight)


class Plan(NamedTuple):
    """All but the number of experts of what is learned from a task."""

    mixture: Any  # the gate and the experts, with `start` and `n_parameters` besides what EM needs
    view: View
    rows: Rows

    @property
    def n_columns(self) -> int:
        """Of the experts."""
        return self.rows.y.shape[1] if self.view.is_density else self.rows.X.shape[1]

    @property
    def points(self) -> Floats:
        """The rows as k-means sees them: the table and the target together."""
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


class Fitted(NamedTuple):
    """A learned mixture."""

    mixture: Mixture
    view: View
    gate: Any
    experts: Any

    def judge(self, table: Floats, target: NDArray[Any]) -> tuple[Floats, Floats]:
        """Responsibilities [K, n], and the log-likelihood of each row in the units of the target."""
        rows = self.view.rows(table, target, np.ones(len(table)))
        state = evaluate(self.mixture, rows, self.gate, self.experts)
        shares, log_p = e_step(state.log_gate, state.log_density, rows.weight)
        return shares, log_p - self.view.log_volume


class Candidate(NamedTuple):
    """What was seen of one number of experts: a row of `selection_`."""

    n_experts: int
    log_likelihood: float
    n_parameters: int  # 0 where nobody knows how many an expert has
    bic: float  # smaller is better
    held_out: float  # mean log-likelihood of rows held out, larger is better


class BaseMixtureOfExperts(Estimator):
    """A gate and experts, learned by EM; a subclass gives the plan and answers."""

    n_experts: int | Iterable[int] = param(at_least(1), "array-like", range, default=3, kw_only=False)
    gate_features: Any = param("array-like", None, default=None)
    gate_l2: float = param(non_negative, default=1e-3)
    criterion: Criterion = param(one_of("bic", "held_out"), default="bic")
    validation_fraction: float = param(inner_fraction, default=0.2)
    init: Init = param(one_of("mixed", *STARTS), default="mixed")
    n_restarts: int = param(at_least(1), default=6)
    max_iter: int = param(at_least(1), default=1000)
    tol: float = param(non_negative, default=1e-5)
    random_state: RandomState = param(*RANDOM_STATE, default=None)
    n_jobs: int | None = param(*N_JOBS, default=None)
    verbose: int = param("verbose", default=0)

    columns_: Columns = fitted()
    mixture_: Fitted = fitted()

    # --- what a kind of mixture chooses -------------------------------------------------------------------------------

    def _plan(self, task: Task, seed: int) -> Plan:
        raise NotImplementedError

    # --- fitting ------------------------------------------------------------------------------------------------------

    def _read_task(self, X: Any, sample_weight: Any, target: Any, categorical_features: Any) -> Task:
        """The rows to learn from; `target` makes targets of their number."""
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
        """Everything after reading: the number of experts, the best start, EM, evidence."""
        numbers = self._numbers()
        seeds = [int(seed) for seed in member_seeds(self.random_state, self.n_restarts + 1)]
        n_runs = (self.n_restarts + min(FINALISTS, self.n_restarts)) * (
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
                f"n_experts must be a number of experts, at least 1, or several such numbers to choose from; got "
                f"{self.n_experts!r}."
            )
        return sorted({int(k) for k in numbers})

    def _check_criterion(self, plan: Plan, numbers: Sequence[int]) -> None:
        if len(numbers) > 1 and self.criterion == "bic" and not hasattr(plan.mixture.experts, "n_parameters"):
            raise ValueError(
                "Nobody knows how many parameters an expert of your own has: take criterion='held_out' to choose "
                "n_experts, or give one number."
            )

    def _fit_number(self, plan: Plan, n_experts: int, seeds: Sequence[int], tick: Any) -> tuple[Found, list[Restart]]:
        gate, experts = plan.mixture
        rows = plan.rows
        blank = Blank(gate.start(n_experts, rows.gate_table.shape[1]), experts.start(n_experts, plan.n_columns))
        problem = Problem(plan.mixture, rows, blank, plan.points, n_experts)
        n_starts = self.n_restarts if n_experts > 1 else 1
        kinds: list[Start] = [STARTS[i % 3] if self.init == "mixed" else self.init for i in range(n_starts)]
        work = 100 * n_experts * rows.X.size
        threads = n_threads(self.n_jobs, work)
        return best_of_starts(
            problem, kinds, seeds[1 : n_starts + 1], max_iter=self.max_iter, tol=self.tol, threads=threads, tick=tick
        )

    def _choose_number(
        self, task: Task, plan: Plan, numbers: Sequence[int], seeds: Sequence[int], tick: Any
    ) -> tuple[int, tuple[Found, list[Restart]] | None]:
        """The number of experts that BIC or rows held out like best, and its fit where that was made on all rows."""
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
                f"n_samples={n}: so few distinct rows cannot be divided into rows to learn from and rows to judge "
                "n_experts on: give one number of experts, or take criterion='bic'."
            )
        train, test = (
            task._replace(table=task.table[rows], target=task.target[rows], weight=task.weight[rows])
            for rows in (np.sort(order[n_test:]), np.sort(order[:n_test]))
        )
        plan = self._plan(train, seeds[0] % (2**31 - 1))
        table = list[Candidate]()
        for k in numbers:
            result, _ = self._fit_number(plan, k, seeds, tick)
            log_p = _as_fitted(plan, result).judge(test.table, test.target)[1]
            table.append(self._candidate(plan, k, result, float(np.average(log_p, weights=test.weight))))
        self.selection_ = History.from_records(table)
        return numbers[int(np.argmax(self.selection_.held_out))]

    def _candidate(self, plan: Plan, n_experts: int, result: Found, held_out: float) -> Candidate:
        n_free = _n_parameters(plan, n_experts)
        total = float(plan.rows.weight.sum())
        log_likelihood = _final_log_likelihood(plan, result)
        bic = -2.0 * log_likelihood + n_free * float(np.log(total)) if n_free else np.nan
        return Candidate(n_experts, log_likelihood, n_free, bic, held_out)

    def _keep(self, task: Task, plan: Plan, result: Found, restarts: list[Restart], n_experts: int) -> None:
        self.mixture_ = _as_fitted(plan, result)
        self.n_experts_ = n_experts
        lost = plan.log_volume
        shifted = [
            r._replace(log_likelihood=r.log_likelihood - lost, objective=r.objective - lost, bound=r.bound - lost)
            for r in result.records
        ]
        self.history_ = History.from_records(shifted)
        self.restarts_ = History.from_records(
            [r._replace(short_run=r.short_run - lost, objective=r.objective - lost) for r in restarts]
        )
        self.n_iter_ = len(shifted)
        self.converged_, self.gradient_norm_ = result.is_converged, result.gradient_norm
        summary = self._candidate(plan, n_experts, result, np.nan)
        self.log_likelihood_, self.bic_ = summary.log_likelihood, summary.bic
        shares = e_step(result.state.log_gate, result.state.log_density, plan.rows.weight).shares
        self.load_ = shares.sum(axis=1) / plan.rows.weight.sum()
        self.effective_experts_ = effective_number(self.load_)
        gate, design = result.state.gate, plan.view.gate_design
        if isinstance(plan.mixture.gate, SoftmaxGate):
            self.gate_coef_, self.gate_intercept_ = design.unscale(gate)
        else:
            self.gate_coef_, self.gate_intercept_ = np.zeros((n_experts, 0)), gate.copy()
        if not result.is_converged:
            warnings.warn(self._not_converged(result), ConvergenceWarning, stacklevel=level_of_caller())

    def _not_converged(self, result: Found) -> str:
        """What happened, how far from the maximum, and what to do."""
        left = f"the scaled gradient norm is {result.gradient_norm:.3g}, {largest_norm(self.tol):.3g} was required"
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

    # --- what a fitted mixture says -----------------------------------------------------------------------------------

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
        """g_k(x): how probable it is that expert k answers for a row, before its target is known, [n, K]."""
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


def _as_fitted(plan: Plan, result: Found) -> Fitted:
    return Fitted(plan.mixture, plan.view, result.state.gate, result.state.experts)


def _final_log_likelihood(plan: Plan, result: Found) -> float:
    at = [record.log_likelihood for record in result.records if record.objective == result.objective]
    return at[-1] - plan.log_volume


def _n_parameters(plan: Plan, n_experts: int) -> int:
    """Free parameters of gate and experts; 0 where the experts are estimators of the user."""
    gate, experts = plan.mixture
    if not hasattr(experts, "n_parameters"):
        return 0
    return gate.n_parameters(n_experts, plan.rows.gate_table.shape[1]) + experts.n_parameters(n_experts, plan.n_columns)
