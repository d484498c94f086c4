"""EM for mixtures of experts (Jordan and Jacobs, Hierarchical mixtures of experts and the EM algorithm, 1994).

    P(y | x) = sum_k g_k(x) q_k(y | x)

Jensen's inequality gives, for any Q(k | i) >= 0 that sums to 1 over k, a bound on the penalised log-likelihood,

    l  =  sum_i w_i ln sum_k g_k q_k + ln prior  >=  sum_i w_i sum_k Q ln(g_k q_k / Q) + ln prior

E-step: the bound touches l where Q = g_k q_k / sum_j g_j q_j, the responsibilities r.
M-step: raise the bound, which falls apart into a part for the gate and one for every expert,

    sum_i w_i sum_k r_ik ln g_k(x_i) + ln prior(gate),        sum_i w_i r_ik ln q_k(y_i | x_i) + ln prior(k)

So l rises as often as no part falls. Where the maximum has a closed form, it is taken; else one step of Newton's kind,
and a step that lowers its part is halved until it does not (a generalised EM: Dempster, Laird and Rubin 1977).

EM walks slowly where the experts overlap. So a step is stretched, the more the longer this went well, and taken if the
objective does not fall; if it does, the plain step follows (Salakhutdinov and Roweis, Adaptive overrelaxed bound
optimization methods, 2003).

An expert that answers for next to no rows learns nothing any more. It is sent to the rows that the mixture explains
worst; l may fall there, and the history says so. Of all states the one with the largest l is kept.

Arrays over experts and rows are [K, n].
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from committee.kernels.mixture import BLOCK, share_out_rows

Floats = NDArray[np.float64]

MOST_HALVINGS = 12
"""Then the old parameters stay: the part of the bound stays where it is."""

STRETCH, MOST_STRETCH = 1.3, 20.0
"""Factor on the length of a step after every good one, and its limit."""

LEAST_LOAD, LEAST_SHARE = 2.0, 0.01
"""An expert has collapsed when it answers for fewer rows than either: so many, and this share of the mean load."""

MOST_REPAIRS = 2
"""For each expert: one that collapses again and again is not needed."""


class Gate(Protocol):
    """Says how probable each expert is for a row; its parameters are whatever it likes."""

    def log_proba(self, params: Any, X: Floats) -> Floats:
        """ln g, [K, n]."""
        ...

    def log_prior(self, params: Any) -> float: ...

    def m_step(self, params: Any, X: Floats, weights: Floats, at: Floats | None = None) -> Any:
        """Parameters that raise sum weights * ln g + ln prior, if the step is not too long; `at` is ln g now."""
        ...

    def between(self, old: Any, new: Any, share: float) -> Any:
        """Parameters this share of the way from old to new; above 1 further on, or new where that has no meaning."""
        ...


class ExpertFamily(Protocol):
    """Experts of one kind; their parameters have one entry for each."""

    def log_likelihood(self, params: Any, X: Floats, y: NDArray[Any]) -> Floats:
        """ln q, [K, n]."""
        ...

    def log_prior(self, params: Any) -> Floats:
        """[K]."""
        ...

    def m_step(self, params: Any, X: Floats, y: NDArray[Any], weights: Floats, at: Floats | None = None) -> Any:
        """Parameters that raise sum weights[k] * ln q[k] + ln prior[k]; `at` is ln q now."""
        ...

    def between(self, old: Any, new: Any, share: Floats) -> Any:
        """The same for each expert, share [K]; 0 is exactly the old, 1 exactly the new parameters."""
        ...


class Rows(NamedTuple):
    """What is learned from: the table of the gate, that of the experts, targets and weights."""

    gate_table: Floats  # [n, d]
    X: Floats  # [n, d]
    y: NDArray[Any]  # [n], or [n, d] for densities
    weight: Floats  # [n]


class Mixture(NamedTuple):
    """The parts that a mixture is made of."""

    gate: Gate
    experts: ExpertFamily


class State(NamedTuple):
    """Parameters, and what they say about every row."""

    gate: Any
    experts: Any
    log_gate: Floats  # ln g, [K, n]
    log_density: Floats  # ln q, [K, n]


class Expectation(NamedTuple):
    """What the E-step answers."""

    shares: Floats  # weight * responsibility, [K, n]
    log_p: Floats  # ln sum_k g_k q_k, [n]


class Proposal(NamedTuple):
    """Parameters that were not looked at yet."""

    gate: Any
    experts: Any


class Climb(NamedTuple):
    """One guarded step of a part of the bound."""

    params: Any
    values: Floats  # ln g or ln q at the new parameters
    gain: float
    n_halvings: int


class Step(NamedTuple):
    """One step of EM."""

    state: State
    gain: float  # of the bound
    n_halvings: int
    stretch: float
    expected: Expectation | None = None  # of the new state, where it is known already


class Record(NamedTuple):
    """What an iteration measured: a row of `history_`."""

    iteration: int
    log_likelihood: float  # after the E-step
    objective: float  # the same with ln prior: never falls between repairs
    bound: float  # after the M-step: at most the next objective, and at least this one unless the step was stretched
    effective_experts: float  # e^entropy of the loads: K if all experts answer for equally many rows
    smallest_load: float  # share of the rows
    n_halvings: int  # of steps that would have lowered the bound
    stretch: float  # the length of the step, 1 for plain EM
    repaired: int  # the expert that was sent elsewhere before this iteration, or -1


class Found(NamedTuple):
    """The best state of a run."""

    state: State
    records: list[Record]
    objective: float
    is_converged: bool


def evaluate(mixture: Mixture, rows: Rows, gate: Any, experts: Any) -> State:
    """The state of these parameters."""
    log_gate = mixture.gate.log_proba(gate, rows.gate_table)
    return State(gate, experts, log_gate, mixture.experts.log_likelihood(experts, rows.X, rows.y))


def e_step(log_gate: Floats, log_density: Floats, weight: Floats, cooling: float = 1.0) -> Expectation:
    """r = g q / sum g q in log space; a cooling below 1 makes the responsibilities more even (starts.py)."""
    shares, log_p = np.empty_like(log_density), np.empty(weight.size)
    share_out_rows(log_gate, log_density, weight, cooling, shares, log_p, np.empty((2, BLOCK)))
    return Expectation(shares, log_p)


def lower_bound(state: State, shares: Floats, weight: Floats) -> float:
    """sum_i w_i sum_k r ln(g q / r), without the prior: Jensen's bound for any responsibilities r = shares / weight."""
    r = shares / weight
    is_some = r > 0.0
    log_r = np.log(np.where(is_some, r, 1.0))
    return float(np.sum(shares * (state.log_gate + state.log_density - log_r), where=is_some))


def part_way(old: Floats, new: Floats, share: Floats | float) -> Floats:
    """old + share (new - old), exactly old at 0 and exactly new at 1, whatever the other one is."""
    with np.errstate(invalid="ignore"):
        mixed = old + share * (new - old)
    return np.where(share == 0.0, old, np.where(share == 1.0, new, mixed))


def log_prior(mixture: Mixture, state: State) -> float:
    return mixture.gate.log_prior(state.gate) + float(np.sum(mixture.experts.log_prior(state.experts)))


def climb(
    old: Any,
    proposed: Any,
    before: Floats,
    between: Callable[[Any, Any, Floats], Any],
    look: Callable[[Any], tuple[Floats, Floats]],
) -> Climb:
    """The proposed step, halved wherever it would lower the bound.

    `before` [m] are the parts of the bound now; `look` gives the values of trial parameters and their parts.
    """
    share, trial, n_halvings = np.ones_like(before), proposed, 0
    values, after = look(trial)
    while not np.all(after >= before) and n_halvings <= MOST_HALVINGS:  # nan has fallen too
        n_halvings += 1
        shorter = 0.5 * share if n_halvings <= MOST_HALVINGS else np.zeros_like(share)
        share = np.where(after >= before, share, shorter)
        trial = between(old, proposed, share)
        values, after = look(trial)
    return Climb(trial, values, float(np.sum(after - before, where=share > 0.0)), n_halvings)


def gate_part(mixture: Mixture, shares: Floats, gate: Any, log_gate: Floats) -> Floats:
    """sum w r ln g + ln prior, as an array of one."""
    return np.array([np.vdot(shares, log_gate) + mixture.gate.log_prior(gate)], np.float64)


def expert_parts(mixture: Mixture, shares: Floats, experts: Any, log_density: Floats) -> Floats:
    """sum w r ln q + ln prior of every expert, [K]."""
    return np.einsum("kn,kn->k", shares, log_density) + mixture.experts.log_prior(experts)


def propose(mixture: Mixture, rows: Rows, state: State, shares: Floats) -> Proposal:
    """The parameters that the gate and the experts would take if nobody looked at the bound."""
    gate = mixture.gate.m_step(state.gate, rows.gate_table, shares, state.log_gate)
    return Proposal(gate, mixture.experts.m_step(state.experts, rows.X, rows.y, shares, state.log_density))


def m_step(mixture: Mixture, rows: Rows, state: State, shares: Floats, proposed: Proposal | None = None) -> Step:
    """Raise the bound over the gate and over every expert."""
    gate, experts = mixture
    proposed = proposed or propose(mixture, rows, state, shares)

    def look_at_gate(params: Any) -> tuple[Floats, Floats]:
        values = gate.log_proba(params, rows.gate_table)
        return values, gate_part(mixture, shares, params, values)

    def look_at_experts(params: Any) -> tuple[Floats, Floats]:
        values = experts.log_likelihood(params, rows.X, rows.y)
        return values, expert_parts(mixture, shares, params, values)

    before = gate_part(mixture, shares, state.gate, state.log_gate)
    first = climb(state.gate, proposed.gate, before, lambda a, b, s: gate.between(a, b, float(s[0])), look_at_gate)
    before = expert_parts(mixture, shares, state.experts, state.log_density)
    second = climb(state.experts, proposed.experts, before, experts.between, look_at_experts)
    new = State(first.params, second.params, first.values, second.values)
    return Step(new, first.gain + second.gain, first.n_halvings + second.n_halvings, 1.0)


def stretched_step(
    mixture: Mixture, rows: Rows, state: State, shares: Floats, proposed: Proposal, objective: float, stretch: float
) -> Step | None:
    """The proposed step made longer, if the objective does not fall by that."""
    far_gate = mixture.gate.between(state.gate, proposed.gate, stretch)
    far_experts = mixture.experts.between(state.experts, proposed.experts, np.full(len(shares), stretch))
    new = evaluate(mixture, rows, far_gate, far_experts)
    expected = e_step(new.log_gate, new.log_density, rows.weight)
    if not float(rows.weight @ expected.log_p) + log_prior(mixture, new) >= objective:
        return None
    moved = np.vdot(shares, new.log_gate) - np.vdot(shares, state.log_gate)
    moved += np.vdot(shares, new.log_density) - np.vdot(shares, state.log_density)
    gain = float(moved) + log_prior(mixture, new) - log_prior(mixture, state)
    return Step(new, gain, 0, stretch, expected)


def effective_number(load: Floats) -> float:
    """e^entropy of the loads."""
    share = load / load.sum()
    return float(np.exp(-np.sum(share * np.log(np.where(share > 0.0, share, 1.0)))))


def em(mixture: Mixture, rows: Rows, start: State, *, max_iter: int, tol: float) -> Iterator[tuple[State, Record]]:
    """Iterations from `start` on, each with the state that it looked at, until a row gains less than tol."""
    state, known, stretch = start, None, 1.0
    last, repaired = -np.inf, -1
    n_repairs = np.zeros(len(start.log_gate), np.int64)
    total = float(rows.weight.sum())
    for t in range(1, max_iter + 1):
        # E-step: who answers for which row, and how well
        shares, log_p = known or e_step(state.log_gate, state.log_density, rows.weight)
        log_likelihood = float(rows.weight @ log_p)
        objective = log_likelihood + log_prior(mixture, state)
        # M-step: raise the bound, by a longer step where the last one was good
        proposed, step = propose(mixture, rows, state, shares), None
        if stretch > 1.0:
            step = stretched_step(mixture, rows, state, shares, proposed, objective, stretch)
        step = step or m_step(mixture, rows, state, shares, proposed)
        load = shares.sum(axis=1)
        yield state, Record(
            t, log_likelihood, objective, objective + step.gain, effective_number(load), float(load.min() / total),
            step.n_halvings, step.stretch, repaired,
        )  # fmt: skip
        # an expert without rows goes to those explained worst
        lost = collapsed(load, n_repairs)
        if lost is None and objective - last <= tol * total:
            return
        state, known, stretch = step.state, step.expected, min(STRETCH * step.stretch, MOST_STRETCH)
        last, repaired = objective, -1
        if lost is not None:
            n_repairs[lost] += 1
            state, known, stretch = repair(mixture, rows, state, log_p, lost), None, 1.0
            last, repaired = -np.inf, lost


def run_em(mixture: Mixture, rows: Rows, start: State, *, max_iter: int, tol: float) -> Found:
    """All iterations, and the state of the largest objective: a repair need not have been worth it."""
    best, best_objective, records = start, -np.inf, list[Record]()
    for state, record in em(mixture, rows, start, max_iter=max_iter, tol=tol):
        records.append(record)
        if record.objective >= best_objective:
            best, best_objective = state, record.objective
    return Found(best, records, best_objective, len(records) < max_iter)


# --- collapse ---------------------------------------------------------------------------------------------------------


def collapsed(load: Floats, n_repairs: NDArray[np.int64]) -> int | None:
    """The expert with the smallest load, if that is next to nothing and it was not repaired too often."""
    k = int(load.argmin())
    is_lost = load[k] < LEAST_SHARE * load.mean() and load[k] < LEAST_LOAD
    return k if is_lost and n_repairs[k] < MOST_REPAIRS and load.size > 1 else None


def repair(mixture: Mixture, rows: Rows, state: State, log_p: Floats, k: int) -> State:
    """Expert k learns from the rows of smallest likelihood, a fair share 1/K of them, and the gate sends them there."""
    n_experts = len(state.log_gate)
    order = np.argsort(log_p, kind="stable")
    ends = np.cumsum(rows.weight[order])
    worst = order[: 1 + int(np.searchsorted(ends, ends[-1] / n_experts))]
    shares = e_step(state.log_gate, state.log_density, rows.weight).shares
    shares[:, worst] *= 0.5
    shares[k, worst] += 0.5 * rows.weight[worst]
    return m_step(mixture, rows, state, shares).state
