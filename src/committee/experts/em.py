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

A step whose matrix comes from a sample of the rows (weighted_grams.py) may be useless. If no part of it can be taken
although the gradient is not zero, the step is made again with the matrix of all rows.

The run ends when a row gains less than tol in an iteration and the gradient of l is small: by Fisher's identity it is
the gradient of the bound at the responsibilities. It is measured coefficient by coefficient over the root of the
curvature and of the number of rows, so half its square is about the gain in log-likelihood per row that is left along
one coefficient, whatever the scale of the columns; this must be at most tol. A small gain alone proves nothing: a
stretched step may land on the other side of the maximum, and a step that is not taken gains nothing.

An expert that answers for next to no rows learns nothing any more. It is sent to the rows that the mixture explains
worst; l may fall there, and the history says so. Of all states the one with the largest l is kept.

Arrays over experts and rows are [K, n].
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.kernels.mixture.em import BLOCK, share_out_rows

MAX_HALVINGS = 12
"""Then the old parameters stay: the part of the bound stays where it is."""

MORE_HALVINGS = 40
"""The same for a step with the matrix of all rows, which is the last chance."""

MIN_GAIN = 1e-10
"""Gain per row, in log-likelihood, below which rounding decides."""

STALLED = 1e-3
"""Share of tol: a careful step that gains less per row is no progress."""

STRETCH, MAX_STRETCH = 1.3, 20.0
"""Factor on the length of a step after every good one, and its limit."""

MIN_LOAD, MIN_SHARE = 2.0, 0.01
"""An expert has collapsed when it answers for fewer rows than either: so many, and this share of the mean load."""

MAX_REPAIRS = 2
"""For each expert: one that collapses again and again is not needed."""


class Gate(Protocol):
    """Says how probable each expert is for a row; its parameters are whatever it likes."""

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
    is_rejected: NDArray[np.bool_]  # [m], parts for which no step was taken


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
    gradient_norm: float  # at the state
    is_converged: bool  # the run ended by itself, and the gradient is small


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
    most_halvings: int = MAX_HALVINGS,
) -> Climb:
    """The proposed step, halved wherever it would lower the bound.

    `before` [m] are the parts of the bound now; `look` gives the values of trial parameters and their parts.
    """
    share, trial, n_halvings = np.ones_like(before), proposed, 0
    values, after = look(trial)
    while not np.all(after >= before) and n_halvings <= most_halvings:  # nan has fallen too
        n_halvings += 1
        shorter = 0.5 * share if n_halvings <= most_halvings else np.zeros_like(share)
        share = np.where(after >= before, share, shorter)
        trial = between(old, proposed, share)
        values, after = look(trial)
    return Climb(trial, values, float(np.sum(after - before, where=share > 0.0)), n_halvings, share == 0.0)


def guarded_step(
    old: Any,
    proposed: Any,
    propose_exact: Callable[[], Any],
    scaled_gradient: Callable[[], Floats],
    before: Floats,
    between: Callable[[Any, Any, Floats], Any],
    look: Callable[[Any], tuple[Floats, Floats]],
) -> Climb:
    """The proposed step; where it is refused although the gradient is not zero, the step made of all rows."""
    result = climb(old, proposed, before, between, look)
    if not np.any(result.is_rejected):
        return result
    slopes = scaled_gradient().reshape(result.is_rejected.size, -1)[result.is_rejected]
    if 0.5 * float(np.max(slopes * slopes)) <= MIN_GAIN * (1.0 + float(np.abs(before).max())):
        return result
    again = climb(old, propose_exact(), before, between, look, MORE_HALVINGS)
    n_halvings = result.n_halvings + again.n_halvings
    return (again if again.gain >= result.gain else result)._replace(n_halvings=n_halvings)


def gate_part(mixture: Mixture, shares: Floats, gate: Any, log_gate: Floats) -> Floats:
    """sum w r ln g + ln prior, as an array of one."""
    return np.array([np.vdot(shares, log_gate) + mixture.gate.log_prior(gate)], np.float64)


def expert_parts(mixture: Mixture, shares: Floats, experts: Any, log_density: Floats) -> Floats:
    """sum w r ln q + ln prior of every expert, [K]."""
    return np.einsum("kn,kn->k", shares, log_density) + mixture.experts.log_prior(experts)


def propose(mixture: Mixture, rows: Rows, state: State, shares: Floats, *, exact: bool = False) -> Proposal:
    """The parameters that the gate and the experts would take if nobody looked at the bound."""
    return Proposal(
        _propose_gate(mixture, rows, state, shares, exact), _propose_experts(mixture, rows, state, shares, exact)
    )


def _propose_gate(mixture: Mixture, rows: Rows, state: State, shares: Floats, exact: bool) -> Any:
    return mixture.gate.m_step(state.gate, rows.gate_table, shares, state.log_gate, exact=exact)


def _propose_experts(mixture: Mixture, rows: Rows, state: State, shares: Floats, exact: bool) -> Any:
    return mixture.experts.m_step(state.experts, rows.X, rows.y, shares, state.log_density, exact=exact)


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

    first = guarded_step(
        state.gate,
        proposed.gate,
        lambda: _propose_gate(mixture, rows, state, shares, True),
        lambda: gate.scaled_gradient(state.gate, rows.gate_table, shares),
        gate_part(mixture, shares, state.gate, state.log_gate),
        lambda a, b, s: gate.between(a, b, float(s[0])),
        look_at_gate,
    )
    second = guarded_step(
        state.experts,
        proposed.experts,
        lambda: _propose_experts(mixture, rows, state, shares, True),
        lambda: experts.scaled_gradient(state.experts, rows.X, rows.y, shares),
        expert_parts(mixture, shares, state.experts, state.log_density),
        experts.between,
        look_at_experts,
    )
    new = State(first.params, second.params, first.values, second.values)
    return Step(new, first.gain + second.gain, first.n_halvings + second.n_halvings, 1.0)


def gradient_norm(mixture: Mixture, rows: Rows, state: State, shares: Floats) -> float:
    """Largest entry of the scaled gradient per root of the number of rows; inf if it cannot be computed.

    Half its square is about the largest gain per row that is left along one coefficient. `shares` are weights times
    responsibilities at the state.
    """
    with np.errstate(all="ignore"):
        of_gate = mixture.gate.scaled_gradient(state.gate, rows.gate_table, shares)
        of_experts = mixture.experts.scaled_gradient(state.experts, rows.X, rows.y, shares)
        largest = max(float(np.max(np.abs(part), initial=0.0)) for part in (of_gate, of_experts))
        norm = largest / float(np.sqrt(rows.weight.sum()))
    return norm if np.isfinite(norm) else np.inf


def largest_norm(tol: float) -> float:
    """The scaled gradient norm that promises a gain of tol per row."""
    return float(np.sqrt(2.0 * max(tol, MIN_GAIN)))


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
    """Iterations from `start` on, each with the state that it looked at.

    It ends when a row gains less than tol and the gradient is small. If the gradient is not small, the next steps are
    careful ones, neither stretched nor from a sample of the rows; it also ends if such a step gains nothing.
    """
    state, known, stretch = start, None, 1.0
    last, repaired = -np.inf, -1
    is_careful, was_careful = False, False
    n_repairs = np.zeros(len(start.log_gate), np.int64)
    total = float(rows.weight.sum())
    for t in range(1, max_iter + 1):
        # E-step: who answers for which row, and how well
        shares, log_p = known or e_step(state.log_gate, state.log_density, rows.weight)
        log_likelihood = float(rows.weight @ log_p)
        objective = log_likelihood + log_prior(mixture, state)
        # M-step: raise the bound, by a longer step where the last one was good
        proposed, step = propose(mixture, rows, state, shares, exact=is_careful), None
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
        gain, was_careful, is_careful = objective - last, is_careful, False
        if lost is None and gain <= tol * total:
            if gradient_norm(mixture, rows, state, shares) <= largest_norm(tol):
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


def run_em(mixture: Mixture, rows: Rows, start: State, *, max_iter: int, tol: float) -> Found:
    """All iterations, and the state of the largest objective: a repair need not have been worth it."""
    best, best_objective, records = start, -np.inf, list[Record]()
    for state, record in em(mixture, rows, start, max_iter=max_iter, tol=tol):
        records.append(record)
        if record.objective >= best_objective:
            best, best_objective = state, record.objective
    shares = e_step(best.log_gate, best.log_density, rows.weight).shares
    norm = gradient_norm(mixture, rows, best, shares)
    return Found(best, records, best_objective, norm, len(records) < max_iter and norm <= largest_norm(tol))


# --- collapse ---------------------------------------------------------------------------------------------------------


def collapsed(load: Floats, n_repairs: NDArray[np.int64]) -> int | None:
    """The expert with the smallest load, if that is next to nothing and it was not repaired too often."""
    k = int(load.argmin())
    is_lost = load[k] < MIN_SHARE * load.mean() and load[k] < MIN_LOAD
    return k if is_lost and n_repairs[k] < MAX_REPAIRS and load.size > 1 else None


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
