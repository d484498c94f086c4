"""A tree of softmax gates (Jordan and Jacobs, Hierarchical mixtures of experts and the EM algorithm, 1994).

Every gate divides the rows that reach it among its b branches, the experts are the leaves. With depth 2 and b = 2:

                gate 0                      gates are numbered level by level; at level l (from 0) the j-th of b^l
              /        \\                    gates leads by its branch c to the place j b + c of the next level
         gate 1        gate 2
         /    \\        /    \\               g_leaf(x) = product of the softmax probabilities from the root
    expert 0    1     2      3

ln g is a sum over the gates on the path, so the gates' part of the bound is a sum with one term for every gate m,

    sum_i w_i sum_c h_mc ln g_c|m(x_i) + ln prior(m),    h_mc = sum of the responsibilities of the leaves below branch c

the joint responsibilities: each gate is a softmax regression on the rows that reach it, with its own step, halved until
its term does not decrease.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from committee.base.array_types import Floats
from committee.experts.em import guarded_step, interpolate
from committee.experts.gate import softmax_scaled_gradient, softmax_step
from committee.kernels.mixture.em import BLOCK, log_softmax


class Branch(NamedTuple):
    """One branch of a gate: a row of the table of gates."""

    gate: int
    level: int
    branch: int
    leads_to: str  # "gate 3" or "expert 1"
    load: float  # fraction of all rows


class GateTree(NamedTuple):
    """Softmax gates with a prior; the parameters are an array [gates, branching, p], rows of X hold a 1 at the end."""

    depth: int
    branching: int
    l2: float = 1e-2

    @property
    def n_gates(self) -> int:
        return sum(self.branching**level for level in range(self.depth))

    @property
    def n_leaves(self) -> int:
        return self.branching**self.depth

    def levels(self) -> Iterator[tuple[int, slice]]:
        """The levels from the root down, and the gates of each."""
        begin = 0
        for level in range(self.depth):
            end = begin + self.branching**level
            yield level, slice(begin, end)
            begin = end

    def start(self, n_experts: int, n_columns: int) -> Floats:
        """Every branch is equally probable everywhere."""
        return np.zeros((self.n_gates, self.branching, n_columns))

    def log_proba(self, params: Floats, X: Floats) -> Floats:
        """ln g of the leaves, [leaves, n]."""
        weights = self.log_branch_proba(params, X)
        below = weights[0]
        for _, gates in list(self.levels())[1:]:
            below = (below[:, np.newaxis] + weights[gates]).reshape(-1, len(X))
        return below

    def log_branch_proba(self, params: Floats, X: Floats) -> Floats:
        """ln g of every branch among those of its gate, [gates, branching, n]: one pass over X for all gates."""
        weights = (params.reshape(-1, params.shape[2]) @ X.T).reshape(len(params), self.branching, len(X))
        for gate in weights:
            log_softmax(gate, np.empty((2, BLOCK)))
        return weights

    def log_prior(self, params: Floats) -> float:
        return -0.5 * self.l2 * float(np.vdot(params, params))

    def joint(self, weights: Floats) -> Floats:
        """h of every branch of every gate, [gates, branching, n], from those of the leaves [leaves, n]."""
        n = weights.shape[1]
        return np.concatenate(
            [weights.reshape(gates.stop - gates.start, self.branching, -1, n).sum(axis=2) for _, gates in self.levels()]
        )

    def m_step(
        self, params: Floats, X: Floats, weights: Floats, at: Floats | None = None, *, exact: bool = False
    ) -> Floats:
        """Every gate after a step that does not decrease its part; weights [leaves, n] are joint responsibilities."""
        h = self.joint(weights)
        if self.depth == 1:  # the root alone: EM guards its step, as in a plain mixture
            log_g = self.log_branch_proba(params, X) if at is None else at[np.newaxis]
            return self.steps(params, X, h, log_g, exact=exact)

        def evaluate_trial(trial: Floats) -> tuple[Floats, Floats]:
            log_g = self.log_branch_proba(trial, X)
            prior = -0.5 * self.l2 * np.einsum("gbp,gbp->g", trial, trial)
            return log_g, np.einsum("gbn,gbn->g", h, log_g) + prior

        log_g, before = evaluate_trial(params)
        return guarded_step(
            params,
            self.steps(params, X, h, log_g, exact=exact),
            lambda: self.steps(params, X, h, log_g, exact=True),
            lambda: self._scaled_gradients(params, X, h, log_g),
            before,
            lambda old, new, fraction: interpolate(old, new, fraction[:, np.newaxis, np.newaxis]),  # of each gate
            evaluate_trial,
        ).params

    def steps(self, params: Floats, X: Floats, h: Floats, log_g: Floats, *, exact: bool = False) -> Floats:
        """The step of every gate as in a plain mixture (gate.py), which may be too long."""
        each = zip(params, h, log_g, strict=True)
        return np.array([softmax_step(coef, X, of_gate, at, self.l2, exact=exact) for coef, of_gate, at in each])

    def scaled_gradient(self, params: Floats, X: Floats, weights: Floats) -> Floats:
        return self._scaled_gradients(params, X, self.joint(weights), self.log_branch_proba(params, X))

    def _scaled_gradients(self, params: Floats, X: Floats, h: Floats, log_g: Floats) -> Floats:
        each = zip(params, h, log_g, strict=True)
        return np.array([softmax_scaled_gradient(coef, X, of_gate, at, self.l2) for coef, of_gate, at in each])

    def between(self, old: Floats, new: Floats, fraction: float) -> Floats:
        return interpolate(old, new, fraction)

    def n_parameters(self, n_experts: int, n_columns: int) -> int:
        return self.n_gates * (self.branching - 1) * n_columns

    def branches(self, load: Floats) -> Iterator[Branch]:
        """All branches from the root down, with the loads [leaves] of the experts summed below each."""
        for level, gates in self.levels():
            summed = load.reshape(self.branching ** (level + 1), -1).sum(axis=1)
            for place, fraction in enumerate(summed.tolist()):
                gate, branch = gates.start + place // self.branching, place % self.branching
                is_last = level == self.depth - 1
                leads_to = f"expert {place}" if is_last else f"gate {gates.stop + place}"
                yield Branch(gate, level, branch, leads_to, fraction)
