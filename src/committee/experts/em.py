"""EM for mixtures of experts (Jordan and Jacobs, Hierarchical mixtures of experts and the EM algorithm, 1994).

    P(y | x) = sum_k g_k(x) q_k(y | x)

Jensen's inequality gives, for any Q(k | i) >= 0 that sums to 1 over k, a bound on the penalised log-likelihood,

    l  =  sum_i w_i ln sum_k g_k q_k + ln prior  >=  sum_i w_i sum_k Q ln(g_k q_k / Q) + ln prior

E-step: the bound touches l where Q = g_k q_k / sum_j g_j q_j, the responsibilities r.
M-step: increase the bound, which is a sum of a part for the gate and one for every expert,

    sum_i w_i sum_k r_ik ln g_k(x_i) + ln prior(gate),        sum_i w_i r_ik ln q_k(y_i | x_i) + ln prior(k)

Therefore l increases as long as no part decreases. Where the maximum has a closed form, it is used; otherwise one step
of Newton's type, halved until it does not lower its part (generalised EM: Dempster, Laird and Rubin 1977).

EM is slow where the experts overlap. Therefore a step is stretched, by a factor that grows with every success, and
accepted if the objective does not decrease; otherwise the plain step follows (Salakhutdinov and Roweis, Adaptive
overrelaxed bound optimization methods, 2003).

A step whose matrix comes from a sample of the rows (_weighted_least_squares.py) may be useless. If no part of it is
accepted although the gradient is not zero, the step is repeated with the matrix of all rows.

The run ends when the gain of an iteration is less than tol per row and the gradient of l is small: by Fisher's identity
it is the gradient of the bound at the responsibilities. It is scaled, coefficient by coefficient, by the root of the
curvature and of the number of rows; half its square is then about the remaining gain in log-likelihood per row along
one coefficient, whatever the scale of the columns, and must be at most tol. A small gain is not sufficient: a stretched
step may end on the other side of the maximum, and a rejected step gains nothing.

An expert with almost no rows cannot be fitted. It is moved to the rows of smallest likelihood; l may decrease there,
which the history shows. The state of largest l is kept.

Arrays over experts and rows are [K, n].
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.kernels.mixture.em import BLOCK, compute_responsibilities

MAX_HALVINGS = 12
"""After these the old parameters are kept."""

MAX_EXACT_HALVINGS = 40
"""The same for a step with the matrix of all rows."""

MIN_GAIN = 1e-10
"""Gain per row, in log-likelihood, below which rounding errors dominate."""

STALLED = 1e-3
"""Fraction of tol: a careful step that gains less per row is not progress."""

STRETCH, MAX_STRETCH = 1.3, 20.0
"""Factor on the length of a step after every good one, and its limit."""

MIN_LOAD, MIN_SHARE = 2.0, 0.01
"""An expert has collapsed if its load is below 2 rows and below 1 % of the mean load."""

MAX_REPAIRS = 2
"""For each expert: one that collapses repeatedly is not needed."""


class Gate(Protocol):
    """Gives the probability of each expert for a row; its parameters may be of any type."""

    def log_proba(self, params: Any, X: Floats) -> Floats:
        """ln g, [K, n]."""
        ...

    def log_prior(self, params: Any) -> float: ...

    def m_step(self, params: Any, X: Floats, weights: Floats, at: Floats | None = None, *, exact: bool = False) -> Any:
        """Parameters that raise sum weights * ln g + ln prior, if the step is not too long; `at` is ln g now.

        With `exact` the step is made of all rows, without sampling.
        """
        ...

    def scaled_gradient(self, params: Any, X: Floats, weights: Floats) -> Floats:
        """Gradient of the same over the root of its curvature, coefficient by coefficient."""
        ...

    def between(self, old: Any, new: Any, fraction: float) -> Any:
        """Parameters at this fraction of the way from old to new; above 1 beyond new, or new if that has no meaning."""
        ...


class ExpertFamily(Protocol):
    """Experts of one kind; their parameters have one entry for each."""

    def log_likelihood(self, params: Any, X: Floats, y: NDArray[Any]) -> Floats:
        """ln q, [K, n]."""
        ...

    def log_prior(self, params: Any) -> Floats:
        """[K]."""
        ...

    def m_step(
        self,
        params: Any,
        X: Floats,
        y: NDArray[Any],
        weights: Floats,
        at: Floats | None = None,
        *,
        exact: bool = False,
    ) -> Any:
        """Parameters that raise sum weights[k] * ln q[k] + ln prior[k]; `at` is ln q now.

        With `exact` the step is made of all rows, without sampling.
        """
        ...

    def scaled_gradient(self, params: Any, X: Floats, y: NDArray[Any], weights: Floats) -> Floats:
        """Gradient of the same over the root of its curvature, coefficient by coefficient, [K, ...]."""
        ...

    def between(self, old: Any, new: Any, fraction: Floats) -> Any:
        """The same for each expert, fraction [K]; 0 is exactly the old, 1 exactly the new parameters."""
        ...


class Rows(NamedTuple):
    """Training data: the table of the gate, that of the experts, targets and weights."""

    gate_table: Floats  # [n, d]
    X: Floats  # [n, d]
    y: NDArray[Any]  # [n], or [n, d] for densities
    weight: Floats  # [n]


class Mixture(NamedTuple):
    """A gate and a family of experts."""

    gate: Gate
    experts: ExpertFamily


class State(NamedTuple):
    """Parameters, and their log-probabilities and log-densities of every row."""

    gate: Any
    experts: Any
    log_gate: Floats  # ln g, [K, n]
    log_density: Floats  # ln q, [K, n]


class Expectation(NamedTuple):
    """The result of the E-step."""

    weights: Floats  # weight * responsibility, [K, n]
    log_p: Floats  # ln sum_k g_k q_k, [n]


class Proposal(NamedTuple):
    """Parameters that were not evaluated yet."""

    gate: Any
    experts: Any


class Climb(NamedTuple):
    """An accepted step of a part of the bound."""

    params: Any
    values: Floats  # ln g or ln q at the new parameters
    gain: float
    n_halvings: int
    is_rejected: NDArray[np.bool_]  # [m], parts for which no step was taken


class Step(NamedTuple):
    """One step of EM."""

    state: State
    gain: float  # of the bound
    n_halvings: int
    stretch: float
    expected: Expectation | None = None  # of the new state, if it is known already


class Record(NamedTuple):
    """An iteration: a row of `history_`."""

    iteration: int
    log_likelihood: float  # after the E-step
    objective: float  # the same with ln prior: it never decreases between repairs
    bound: float  # after the M-step: at most the next objective, and at least this one unless the step was stretched
    effective_experts: float  # e^entropy of the loads: K if all loads are equal
    smallest_load: float  # fraction of the rows
    n_halvings: int  # of steps that would have decreased the bound
    stretch: float  # the length of the step, 1 for plain EM
    repaired: int  # the expert that was moved before this iteration, or -1


class EMResult(NamedTuple):
    """The best state of a run."""

    state: State
    records: list[Record]
    objective: float
    gradient_norm: float  # at the state
    is_converged: bool  # before max_iter iterations, with a small gradient


def evaluate(mixture: Mixture, rows: Rows, gate: Any, experts: Any) -> State:
    """The state of these parameters."""
    log_gate = mixture.gate.log_proba(gate, rows.gate_table)
    return State(gate, experts, log_gate, mixture.experts.log_likelihood(experts, rows.X, rows.y))


def e_step(log_gate: Floats, log_density: Floats, weight: Floats, cooling: float = 1.0) -> Expectation:
    """r = g q / sum g q in log space; a cooling below 1 makes the responsibilities more even (_initialization.py)."""
    weights, log_p = np.empty_like(log_density), np.empty(weight.size)
    compute_responsibilities(log_gate, log_density, weight, cooling, weights, log_p, np.empty((2, BLOCK)))
    return Expectation(weights, log_p)


def lower_bound(state: State, weights: Floats, weight: Floats) -> float:
    """sum_i w_i sum_k r ln(g q / r), without the prior: Jensen's bound, r = weights / weight."""
    r = weights / weight
    is_some = r > 0.0
    log_r = np.log(np.where(is_some, r, 1.0))
    return float(np.sum(weights * (state.log_gate + state.log_density - log_r), where=is_some))


def interpolate(old: Floats, new: Floats, fraction: Floats | float) -> Floats:
    """old + fraction (new - old), exactly old at 0 and exactly new at 1, whatever the other one is."""
    with np.errstate(invalid="ignore"):
        mixed = old + fraction * (new - old)
    return np.where(fraction == 0.0, old, np.where(fraction == 1.0, new, mixed))


def log_prior(mixture: Mixture, state: State) -> float:
    return mixture.gate.log_prior(state.gate) + float(np.sum(mixture.experts.log_prior(state.experts)))


def climb(
    old: Any,
    proposed: Any,
    before: Floats,
    between: Callable[[Any, Any, Floats], Any],
    evaluate_trial: Callable[[Any], tuple[Floats, Floats]],
    max_halvings: int = MAX_HALVINGS,
) -> Climb:
    """The proposed step, halved wherever it would decrease the bound.

    `before` [m] are the parts of the bound now; `evaluate_trial` gives the values of trial parameters and their parts.
    """
    fraction, trial, n_halvings = np.ones_like(before), proposed, 0
    values, after = evaluate_trial(trial)
    while not np.all(after >= before) and n_halvings <= max_halvings:  # nan counts as a decrease
        n_halvings += 1
        shorter = 0.5 * fraction if n_halvings <= max_halvings else np.zeros_like(fraction)
        fraction = np.where(after >= before, fraction, shorter)
        trial = between(old, proposed, fraction)
        values, after = evaluate_trial(trial)
    return Climb(trial, values, float(np.sum(after - before, where=fraction > 0.0)), n_halvings, fraction == 0.0)


def guarded_step(
    old: Any,
    proposed: Any,
    propose_exact: Callable[[], Any],
    scaled_gradient: Callable[[], Floats],
    before: Floats,
    between: Callable[[Any, Any, Floats], Any],
    evaluate_trial: Callable[[Any], tuple[Floats, Floats]],
) -> Climb:
    """The proposed step, or if it is rejected although the gradient is not zero, that with the matrix of all rows."""
    result = climb(old, proposed, before, between, evaluate_trial)
    if not np.any(result.is_rejected):
        return result
    slopes = scaled_gradient().reshape(result.is_rejected.size, -1)[result.is_rejected]
    if 0.5 * float(np.max(slopes * slopes)) <= MIN_GAIN * (1.0 + float(np.abs(before).max())):
        return result
    again = climb(old, propose_exact(), before, between, evaluate_trial, MAX_EXACT_HALVINGS)
    n_halvings = result.n_halvings + again.n_halvings
    return (again if again.gain >= result.gain else result)._replace(n_halvings=n_halvings)


def gate_part(mixture: Mixture, weights: Floats, gate: Any, log_gate: Floats) -> Floats:
    """sum w r ln g + ln prior, as an array of one."""
    return np.array([np.vdot(weights, log_gate) + mixture.gate.log_prior(gate)], np.float64)


def expert_parts(mixture: Mixture, weights: Floats, experts: Any, log_density: Floats) -> Floats:
    """sum w r ln q + ln prior of every expert, [K]."""
    return np.einsum("kn,kn->k", weights, log_density) + mixture.experts.log_prior(experts)


def propose(mixture: Mixture, rows: Rows, state: State, weights: Floats, *, exact: bool = False) -> Proposal:
    """The next parameters of gate and experts, before the bound is evaluated."""
    return Proposal(
        _propose_gate(mixture, rows, state, weights, exact), _propose_experts(mixture, rows, state, weights, exact)
    )


def _propose_gate(mixture: Mixture, rows: Rows, state: State, weights: Floats, exact: bool) -> Any:
    return mixture.gate.m_step(state.gate, rows.gate_table, weights, state.log_gate, exact=exact)


def _propose_experts(mixture: Mixture, rows: Rows, state: State, weights: Floats, exact: bool) -> Any:
    return mixture.experts.m_step(state.experts, rows.X, rows.y, weights, state.log_density, exact=exact)


def m_step(mixture: Mixture, rows: Rows, state: State, weights: Floats, proposed: Proposal | None = None) -> Step:
    """Increase the bound over the gate and over every expert."""
    gate, experts = mixture
    proposed = proposed or propose(mixture, rows, state, weights)

    def evaluate_gate(params: Any) -> tuple[Floats, Floats]:
        values = gate.log_proba(params, rows.gate_table)
        return values, gate_part(mixture, weights, params, values)

    def evaluate_experts(params: Any) -> tuple[Floats, Floats]:
        values = experts.log_likelihood(params, rows.X, rows.y)
        return values, expert_parts(mixture, weights, params, values)

    first = guarded_step(
        state.gate,
        proposed.gate,
        lambda: _propose_gate(mixture, rows, state, weights, True),
        lambda: gate.scaled_gradient(state.gate, rows.gate_table, weights),
        gate_part(mixture, weights, state.gate, state.log_gate),
        lambda a, b, s: gate.between(a, b, float(s[0])),
        evaluate_gate,
    )
    second = guarded_step(
        state.experts,
        proposed.experts,
        lambda: _propose_experts(mixture, rows, state, weights, True),
        lambda: experts.scaled_gradient(state.experts, rows.X, rows.y, weights),
        expert_parts(mixture, weights, state.experts, state.log_density),
        experts.between,
        evaluate_experts,
    )
    new = State(first.params, second.params, first.values, second.values)
    return Step(new, first.gain + second.gain, first.n_halvings + second.n_halvings, 1.0)


def gradient_norm(mixture: Mixture, rows: Rows, state: State, weights: Floats) -> float:
    """Largest entry of the scaled gradient per root of the number of rows; inf if it cannot be computed.

    Half its square is about the largest gain per row that is left along one coefficient. `weights` are row weights
    times responsibilities at the state.
    """
    with np.errstate(all="ignore"):
        of_gate = mixture.gate.scaled_gradient(state.gate, rows.gate_table, weights)
        of_experts = mixture.experts.scaled_gradient(state.experts, rows.X, rows.y, weights)
        largest = max(float(np.max(np.abs(part), initial=0.0)) for part in (of_gate, of_experts))
        norm = largest / float(np.sqrt(rows.weight.sum()))
    return norm if np.isfinite(norm) else np.inf


def max_norm(tol: float) -> float:
    """The scaled gradient norm at which the expected gain per row is tol."""
    return float(np.sqrt(2.0 * max(tol, MIN_GAIN)))


def stretched_step(
    mixture: Mixture, rows: Rows, state: State, weights: Floats, proposed: Proposal, objective: float, stretch: float
) -> Step | None:
    """The stretched step, if it does not decrease the objective."""
    far_gate = mixture.gate.between(state.gate, proposed.gate, stretch)
    far_experts = mixture.experts.between(state.experts, proposed.experts, np.full(len(weights), stretch))
    new = evaluate(mixture, rows, far_gate, far_experts)
    expected = e_step(new.log_gate, new.log_density, rows.weight)
    if not float(rows.weight @ expected.log_p) + log_prior(mixture, new) >= objective:
        return None
    moved = np.vdot(weights, new.log_gate) - np.vdot(weights, state.log_gate)
    moved += np.vdot(weights, new.log_density) - np.vdot(weights, state.log_density)
    gain = float(moved) + log_prior(mixture, new) - log_prior(mixture, state)
    return Step(new, gain, 0, stretch, expected)


def effective_number(load: Floats) -> float:
    """e^entropy of the loads."""
    fraction = load / load.sum()
    return float(np.exp(-np.sum(fraction * np.log(np.where(fraction > 0.0, fraction, 1.0)))))


def em(mixture: Mixture, rows: Rows, start: State, *, max_iter: int, tol: float) -> Iterator[tuple[State, Record]]:
    """Iterate from `start`, with the state that each iteration evaluated.

    The iteration ends when the gain per row is less than tol and the gradient is small. If the gradient is not small,
    the next steps are careful ones, neither stretched nor from a sample of the rows; it also ends if such a step gains
    nothing.
    """
    state, known, stretch = start, None, 1.0
    last, repaired = -np.inf, -1
    is_careful, was_careful = False, False
    n_repairs = np.zeros(len(start.log_gate), np.int64)
    total = float(rows.weight.sum())
    for t in range(1, max_iter + 1):
        # E-step: responsibilities, and the log-likelihood of each row
        weights, log_p = known or e_step(state.log_gate, state.log_density, rows.weight)
        log_likelihood = float(rows.weight @ log_p)
        objective = log_likelihood + log_prior(mixture, state)
        # M-step: increase the bound, by a longer step if the last one was accepted
        proposed, step = propose(mixture, rows, state, weights, exact=is_careful), None
        if stretch > 1.0:
            step = stretched_step(mixture, rows, state, weights, proposed, objective, stretch)
        step = step or m_step(mixture, rows, state, weights, proposed)
        load = weights.sum(axis=1)
        yield state, Record(
            t, log_likelihood, objective, objective + step.gain, effective_number(load), float(load.min() / total),
            step.n_halvings, step.stretch, repaired,
        )  # fmt: skip
        # an expert without rows is moved to those of smallest likelihood
        lost = collapsed(load, n_repairs)
        gain, was_careful, is_careful = objective - last, is_careful, False
        if lost is None and gain <= tol * total:
            if gradient_norm(mixture, rows, state, weights) <= max_norm(tol):
                return
            if was_careful and gain <= STALLED * tol * total:
                return
            is_careful = True
        state, known, stretch = step.state, step.expected, min(STRETCH * step.stretch, MAX_STRETCH)
        stretch = 1.0 if is_careful else stretch
        last, repaired = objective, -1
        if lost is not None:
            n_repairs[lost] += 1
            state, known, stretch = repair(mixture, rows, state, log_p, lost), None, 1.0
            last, repaired = -np.inf, lost


def run_em(mixture: Mixture, rows: Rows, start: State, *, max_iter: int, tol: float) -> EMResult:
    """All iterations, and the state of the largest objective: a repair may have decreased it."""
    best, best_objective, records = start, -np.inf, list[Record]()
    for state, record in em(mixture, rows, start, max_iter=max_iter, tol=tol):
        records.append(record)
        if record.objective >= best_objective:
            best, best_objective = state, record.objective
    weights = e_step(best.log_gate, best.log_density, rows.weight).weights
    norm = gradient_norm(mixture, rows, best, weights)
    return EMResult(best, records, best_objective, norm, len(records) < max_iter and norm <= max_norm(tol))


# --- collapse ---------------------------------------------------------------------------------------------------------


def collapsed(load: Floats, n_repairs: NDArray[np.int64]) -> int | None:
    """The expert with the smallest load, if that is almost 0 and it was not repaired too often."""
    k = int(load.argmin())
    is_lost = load[k] < MIN_SHARE * load.mean() and load[k] < MIN_LOAD
    return k if is_lost and n_repairs[k] < MAX_REPAIRS and load.size > 1 else None


def repair(mixture: Mixture, rows: Rows, state: State, log_p: Floats, k: int) -> State:
    """Assign the rows of smallest likelihood, a fraction 1/K of all, to expert k, and fit gate and experts to that."""
    n_experts = len(state.log_gate)
    order = np.argsort(log_p, kind="stable")
    ends = np.cumsum(rows.weight[order])
    worst = order[: 1 + int(np.searchsorted(ends, ends[-1] / n_experts))]
    weights = e_step(state.log_gate, state.log_density, rows.weight).weights
    weights[:, worst] *= 0.5
    weights[k, worst] += 0.5 * rows.weight[worst]
    return m_step(mixture, rows, state, weights).state
