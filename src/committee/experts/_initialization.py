"""Starts of EM: it finds local optima, so several starts are tried.

kmeans     rows are divided by k-means on the table and the target together
random     every row has random responsibilities
annealing  the same, then some EM with responsibilities r ~ (g q)^c that sharpen as c rises to 1: experts may still
           swap rows (Ueda and Nakano, Deterministic annealing EM algorithm, 1998)

A start gives responsibilities, to which the first M-steps fit parameters. All starts are tried for a few iterations,
and the best of these are run to convergence (Biernacki, Celeux and Govaert, Choosing starting values for the EM
algorithm, 2003).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.threads import run
from committee.experts._weighted_least_squares import row_blocks
from committee.experts.em import EMResult, Mixture, Rows, State, e_step, evaluate, m_step, run_em

Start = Literal["kmeans", "random", "annealing"]
STARTS: tuple[Start, ...] = ("kmeans", "annealing", "random")

FIRST_STEPS = 5
"""M-steps that fit parameters to the first responsibilities: experts without a closed form need some."""

MIN_STEP_GAIN = 1e-9
"""Gain per row below which no further step is made: closed forms need one."""

MAX_POINTS = 20_000
"""Number of rows that k-means uses at most."""

MAX_PASSES = 20
"""Maximum number of passes of k-means: a start need not be the best partition."""

COOLING = np.geomspace(0.5, 1.0, 10)
"""Below about a third the experts become equal and stay so."""

SHORT_RUN, N_FINALISTS = 30, 2
"""Iterations after which the starts are compared, and how many of them are continued."""


class InitialParameters(NamedTuple):
    """The parameters before the first step."""

    gate: object
    experts: object


class Restart(NamedTuple):
    """A start: a row of `restarts_`."""

    start: str
    short_run: float  # penalised log-likelihood after it
    objective: float  # the same at the end, nan if only the short run was made
    is_chosen: bool


class Problem(NamedTuple):
    """A mixture to be fitted to rows; `points` [n, p] are the rows for k-means."""

    mixture: Mixture
    rows: Rows
    blank: InitialParameters
    points: Floats
    n_experts: int


def best_of_starts(
    problem: Problem,
    kinds: Sequence[Start],
    seeds: Sequence[int],
    *,
    max_iter: int,
    tol: float,
    threads: int,
    tick: Callable[[str], None],
) -> tuple[EMResult, list[Restart]]:
    """A short run from every start, then the best of them to convergence; returns the best result."""
    n_short = max_iter if len(seeds) == 1 else min(SHORT_RUN, max_iter)

    def short_run(kind: Start, seed: int) -> EMResult:
        result = run_em(problem.mixture, problem.rows, initial_state(kind, problem, seed), max_iter=n_short, tol=tol)
        tick(f"log-likelihood {result.objective:.6g}")
        return result

    def long_run(first: EMResult) -> EMResult:
        result = continue_run(problem, first, max_iter, tol)
        tick(f"log-likelihood {result.objective:.6g}")
        return result

    tried = run(short_run, zip(kinds, seeds, strict=True), threads)
    order = np.argsort([-result.objective for result in tried], kind="stable")[:N_FINALISTS]
    ended = dict(zip(order.tolist(), run(long_run, ((tried[i],) for i in order), threads), strict=True))
    best = max(ended, key=lambda i: ended[i].objective)
    table = [
        Restart(kind, short.objective, ended[i].objective if i in ended else np.nan, i == best)
        for i, (kind, short) in enumerate(zip(kinds, tried, strict=True))
    ]
    return ended[best], table


def continue_run(problem: Problem, first: EMResult, max_iter: int, tol: float) -> EMResult:
    """Continue a run after its first iterations."""
    n_done = len(first.records)
    if first.is_converged or n_done >= max_iter:
        return first
    rest = run_em(problem.mixture, problem.rows, first.state, max_iter=max_iter - n_done + 1, tol=tol)
    later = [record._replace(iteration=n_done + t) for t, record in enumerate(rest.records)]
    later[0] = later[0]._replace(repaired=first.records[-1].repaired)  # the last state of the short run, again
    return rest._replace(records=first.records[:-1] + later)


def initial_state(kind: Start, problem: Problem, seed: int) -> State:
    """The first state of a run."""
    mixture, rows, blank, points, n_experts = problem
    rng = np.random.default_rng(seed)
    if kind == "random":
        weights = random_responsibilities(rows.weight, n_experts, rng)
    else:
        weights = kmeans_responsibilities(points, rows.weight, n_experts, rng)
    state = fit_responsibilities(mixture, rows, blank, weights)
    return anneal(mixture, rows, state) if kind == "annealing" else state


def fit_responsibilities(mixture: Mixture, rows: Rows, blank: InitialParameters, weights: Floats) -> State:
    """Fit parameters to given responsibilities."""
    state = evaluate(mixture, rows, blank.gate, blank.experts)
    for _ in range(FIRST_STEPS):
        step = m_step(mixture, rows, state, weights)
        state = step.state
        if step.gain <= MIN_STEP_GAIN * float(rows.weight.sum()):
            break
    return state


def anneal(mixture: Mixture, rows: Rows, state: State) -> State:
    """EM with softened responsibilities that sharpen from step to step."""
    for cooling in COOLING:
        weights = e_step(state.log_gate, state.log_density, rows.weight, float(cooling)).weights
        state = m_step(mixture, rows, state, weights).state
    return state


def random_responsibilities(weight: Floats, n_experts: int, rng: np.random.Generator) -> Floats:
    """weight * responsibilities that are uniform on the simplex."""
    draws = rng.exponential(size=(n_experts, weight.size))
    return weight * (draws / draws.sum(axis=0))


def kmeans_responsibilities(points: Floats, weight: Floats, n_experts: int, rng: np.random.Generator) -> Floats:
    """Assign each row to the nearest of K centres."""
    rows = np.arange(len(points)) if len(points) <= MAX_POINTS else _spaced_rows(len(points))
    centres = kmeans(points[rows], weight[rows], n_experts, rng)
    nearest = _squared_distances(points, centres).argmin(axis=0)
    return weight * (nearest == np.arange(n_experts)[:, np.newaxis])


def kmeans(points: Floats, weight: Floats, n_centres: int, rng: np.random.Generator) -> Floats:
    """Centres [K, p] by Lloyd's algorithm from distant rows (k-means++: Arthur and Vassilvitskii 2007)."""
    chosen = [int(rng.choice(len(points), p=weight / weight.sum()))]
    distance = _squared_distances(points, points[chosen])[0]
    while len(chosen) < n_centres:
        p = weight * distance
        p = p / p.sum() if p.sum() > 0.0 else weight / weight.sum()
        chosen.append(int(rng.choice(len(points), p=p)))
        distance = np.minimum(distance, _squared_distances(points, points[chosen[-1:]])[0])
    centres, nearest = points[chosen], np.full(len(points), -1)
    for _ in range(MAX_PASSES):
        last, nearest = nearest, _squared_distances(points, centres).argmin(axis=0)
        if np.array_equal(last, nearest):
            break
        load = np.bincount(nearest, weight, minlength=n_centres)
        sums = np.array([np.bincount(nearest, weight * column, minlength=n_centres) for column in points.T]).T
        centres = np.where(load[:, np.newaxis] > 0.0, sums / np.maximum(load, 1e-300)[:, np.newaxis], centres)
    return centres


def _squared_distances(points: Floats, centres: Floats) -> Floats:
    """[K, n], from differences: exactly 0 between equal rows."""
    result = np.empty((len(centres), len(points)))
    for rows in row_blocks(*points.shape):
        columns = np.ascontiguousarray(points[rows].T)
        for k, centre in enumerate(centres):
            gap = columns - centre[:, np.newaxis]
            np.sum(np.square(gap, out=gap), axis=0, out=result[k, rows])
    return result


def _spaced_rows(n: int) -> NDArray[np.int64]:
    return np.linspace(0, n - 1, MAX_POINTS).astype(np.int64)
