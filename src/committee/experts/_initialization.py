"""Where EM begins: it finds local optima, so several starts are tried (H-5).

kmeans     rows are divided by k-means on the table and the target together
random     every row has random responsibilities
annealing  the same, then some EM with responsibilities r ~ (g q)^c that sharpen as c rises to 1: experts may still
           change places (Ueda and Nakano, Deterministic annealing EM algorithm, 1998)

A start gives responsibilities; the first M-steps make parameters of them. All starts are tried for a few iterations
and the most promising ones run to the end (Biernacki, Celeux and Govaert, Choosing starting values for the EM
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
from committee.experts.em import Found, Mixture, Rows, State, e_step, evaluate, m_step, run_em

Start = Literal["kmeans", "random", "annealing"]
STARTS: tuple[Start, ...] = ("kmeans", "annealing", "random")

FIRST_STEPS = 5
"""M-steps that make parameters of the first responsibilities: experts without a closed form need some."""

ENOUGH = 1e-9
"""A gain of a row below which another such step is not worth its time: closed forms need one."""

MAX_POINTS = 20_000
"""k-means looks at no more rows."""

LLOYD = 20
"""Most passes of k-means: a start need not be the best partition."""

COOLING = np.geomspace(0.5, 1.0, 10)
"""From below a third or so the experts become alike and stay so."""


SHORT_RUN, FINALISTS = 30, 2
"""Iterations after which the starts are compared, and how many of them go on."""


class Blank(NamedTuple):
    """The parameters before anything was learned."""

    gate: object
    experts: object


class Restart(NamedTuple):
    """How far a start came: a row of `restarts_`."""

    start: str
    short_run: float  # penalised log-likelihood after it
    objective: float  # the same at the end, nan where the short run was all
    is_chosen: bool


class Problem(NamedTuple):
    """A mixture to be learned from rows; `points` [n, p] are the rows as k-means sees them."""

    mixture: Mixture
    rows: Rows
    blank: Blank
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
) -> tuple[Found, list[Restart]]:
    """A short run from every start, then the most promising ones to their ends; the best of these."""
    n_short = max_iter if len(seeds) == 1 else min(SHORT_RUN, max_iter)

    def short_run(kind: Start, seed: int) -> Found:
        result = run_em(problem.mixture, problem.rows, begin(kind, problem, seed), max_iter=n_short, tol=tol)
        tick(f"log-likelihood {result.objective:.6g}")
        return result

    def long_run(first: Found) -> Found:
        result = go_on(problem, first, max_iter, tol)
        tick(f"log-likelihood {result.objective:.6g}")
        return result

    tried = run(short_run, zip(kinds, seeds, strict=True), threads)
    order = np.argsort([-result.objective for result in tried], kind="stable")[:FINALISTS]
    ended = dict(zip(order.tolist(), run(long_run, ((tried[i],) for i in order), threads), strict=True))
    best = max(ended, key=lambda i: ended[i].objective)
    table = [
        Restart(kind, short.objective, ended[i].objective if i in ended else np.nan, i == best)
        for i, (kind, short) in enumerate(zip(kinds, tried, strict=True))
    ]
    return ended[best], table


def go_on(problem: Problem, first: Found, max_iter: int, tol: float) -> Found:
    """The rest of a run after its first iterations."""
    n_done = len(first.records)
    if first.is_converged or n_done >= max_iter:
        return first
    rest = run_em(problem.mixture, problem.rows, first.state, max_iter=max_iter - n_done + 1, tol=tol)
    later = [record._replace(iteration=n_done + t) for t, record in enumerate(rest.records)]
    later[0] = later[0]._replace(
        repaired=first.records[-1].repaired
    )  # the last state of the short run, looked at again
    return rest._replace(records=first.records[:-1] + later)


def begin(kind: Start, problem: Problem, seed: int) -> State:
    """The first state of a run."""
    mixture, rows, blank, points, n_experts = problem
    rng = np.random.default_rng(seed)
    if kind == "random":
        shares = random_shares(rows.weight, n_experts, rng)
    else:
        shares = kmeans_shares(points, rows.weight, n_experts, rng)
    state = learn_shares(mixture, rows, blank, shares)
    return anneal(mixture, rows, state) if kind == "annealing" else state


def learn_shares(mixture: Mixture, rows: Rows, blank: Blank, shares: Floats) -> State:
    """Parameters for given responsibilities."""
    state = evaluate(mixture, rows, blank.gate, blank.experts)
    for _ in range(FIRST_STEPS):
        step = m_step(mixture, rows, state, shares)
        state = step.state
        if step.gain <= ENOUGH * float(rows.weight.sum()):
            break
    return state


def anneal(mixture: Mixture, rows: Rows, state: State) -> State:
    """EM with softened responsibilities that sharpen from step to step."""
    for cooling in COOLING:
        shares = e_step(state.log_gate, state.log_density, rows.weight, float(cooling)).shares
        state = m_step(mixture, rows, state, shares).state
    return state


def random_shares(weight: Floats, n_experts: int, rng: np.random.Generator) -> Floats:
    """weight * responsibilities that are uniform on the simplex."""
    draws = rng.exponential(size=(n_experts, weight.size))
    return weight * (draws / draws.sum(axis=0))


def kmeans_shares(points: Floats, weight: Floats, n_experts: int, rng: np.random.Generator) -> Floats:
    """A row goes to the nearest of K centres."""
    rows = np.arange(len(points)) if len(points) <= MAX_POINTS else _evenly(len(points))
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
    for _ in range(LLOYD):
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


def _evenly(n: int) -> NDArray[np.int64]:
    return np.linspace(0, n - 1, MAX_POINTS).astype(np.int64)
