"""Noisy top-k gating and its balance losses (Shazeer et al., Outrageously large neural networks: the sparsely-gated
mixture-of-experts layer, 2017).

With x carrying a constant 1 at its end and eps standard normal,

    H(x)  =  x W_gate + eps softplus(x W_noise)           one number for every expert
    G(x)  =  softmax over the k largest H(x), 0 elsewhere

Left alone a gate soon sends every row to the same few experts, which alone then learn. Two losses speak against it,
from sums over the rows of a batch, CV the coefficient of variation (deviation / mean) over the experts:

    importance_i  =  sum_x w G_i(x)                                           CV(importance)^2
    load_i        =  sum_x w P_i(x),   P_i = Phi((x W_gate - t)_i / softplus(x W_noise)_i)      CV(load)^2

P_i is the chance that expert i is among the k chosen if its own noise is drawn again: t_i is the k-th largest H of the
others. It is the smooth stand-in for the number of rows that i gets.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtr

from committee.base.array_types import Floats

NOISE_FLOOR = 1e-2
"""Added to the softplus: the smooth load divides by the deviation of the noise."""


ROOT_2PI = math.sqrt(2.0 * math.pi)


class Gating(NamedTuple):
    """Output of the gate for a batch of n rows; E experts, k of them for each row."""

    x: Floats  # [n, d + 1], the last column 1
    clean: Floats  # [n, E], x W_gate
    noisy: Floats  # [n, E], H
    raw: Floats  # [n, E], x W_noise; empty without noise
    spread: Floats  # [n, E], softplus(raw) and the floor; empty without noise
    eps: Floats | None  # [n, E]
    ranking: NDArray[np.int64]  # [n, E], experts from the largest H down; of equal ones the first
    proba: Floats  # [n, k], G of the chosen experts

    @property
    def chosen(self) -> NDArray[np.int64]:
        """The experts of every row, [n, k]."""
        return self.ranking[:, : self.proba.shape[1]]

    @property
    def is_sparse(self) -> bool:
        return self.proba.shape[1] < self.clean.shape[1]

    @property
    def rows(self) -> NDArray[np.int64]:
        """Numbers of the rows, [n, 1]: beside `chosen` or `ranking` they point into arrays [n, E]."""
        return np.arange(len(self.x))[:, np.newaxis]

    def dense(self) -> Floats:
        """G, [n, E]."""
        gate_values = np.zeros_like(self.clean)
        gate_values[self.rows, self.chosen] = self.proba
        return gate_values


class Load(NamedTuple):
    """The smooth load of a batch."""

    distance: Floats  # [n, E], from the threshold in deviations of the noise
    probability: Floats  # [n, E], P
    is_chosen: NDArray[np.bool_]  # [n, E]


def noisy_top_k(x: Floats, gate: Floats, noise: Floats, k: int, eps: Floats | None) -> Gating:
    """Gate the rows x; without eps there is no noise."""
    clean = x @ gate
    raw = np.empty((0, gate.shape[1])) if eps is None else x @ noise
    spread = np.logaddexp(0.0, raw) + NOISE_FLOOR  # softplus
    noisy = clean if eps is None else clean + eps * spread
    ranking = np.argsort(-noisy, axis=1, kind="stable")
    kept = noisy[np.arange(len(x))[:, np.newaxis], ranking[:, :k]]
    proba = np.exp(kept - kept[:, :1])
    proba /= proba.sum(axis=1, keepdims=True)
    return Gating(x, clean, noisy, raw, spread, eps, ranking, proba)


def importance(gating: Gating, weight: Floats) -> Floats:
    """Sum of the gate values of every expert, [E]."""
    gate_values = gating.proba * weight[:, np.newaxis]
    return np.bincount(gating.chosen.ravel(), gate_values.ravel(), gating.clean.shape[1]).astype(np.float64)


def hard_load(gating: Gating, weight: Floats) -> Floats:
    """Weight of the rows that every expert receives, [E]."""
    weights = np.repeat(weight, gating.proba.shape[1])
    return np.bincount(gating.chosen.ravel(), weights, gating.clean.shape[1]).astype(np.float64)


def smooth_load(gating: Gating) -> Load | None:
    """P_i(x); None where the gate draws no noise or every expert receives every row: no balance is needed."""
    if gating.eps is None or not gating.is_sparse:
        return None
    k = gating.proba.shape[1]
    is_chosen = np.zeros(gating.clean.shape, np.bool_)
    is_chosen[gating.rows, gating.chosen] = True
    last_in, first_out = (gating.noisy[gating.rows, gating.ranking[:, place : place + 1]] for place in (k - 1, k))
    distance = (gating.clean - np.where(is_chosen, first_out, last_in)) / gating.spread
    return Load(distance, ndtr(distance), is_chosen)


def squared_variation(amount: Floats) -> tuple[float, Floats]:
    """CV^2 = E sum v^2 / (sum v)^2 - 1 of amounts v >= 0, and its gradient."""
    total = float(amount.sum())
    if total <= 0.0:
        return 0.0, np.zeros_like(amount)
    proba = amount / total
    mean_square = amount.size * float(proba @ proba)
    return max(mean_square - 1.0, 0.0), 2.0 * (amount.size * proba - mean_square) / total


class GateSlope(NamedTuple):
    """Derivatives of a loss by what the gate was made from."""

    gate: Floats  # [d + 1, E]
    noise: Floats  # [d + 1, E]
    x: Floats  # [n, d + 1]


def gate_gradient(
    gating: Gating, gate: Floats, noise: Floats, d_proba: Floats, load: Load | None, d_probability: Floats
) -> GateSlope:
    """Convert derivatives by gate values [n, k] and by P [n, E] (unused where load is None) to those by the weights."""
    d_noisy = np.zeros_like(gating.clean)
    d_kept = gating.proba * (d_proba - (gating.proba * d_proba).sum(axis=1, keepdims=True))  # softmax
    d_noisy[gating.rows, gating.chosen] = d_kept
    d_clean = np.zeros_like(gating.clean)
    d_deviation = np.zeros_like(gating.clean)
    if load is not None:
        d_distance = d_probability * np.exp(-0.5 * load.distance**2) / (ROOT_2PI * gating.spread)
        d_clean += d_distance
        d_deviation -= d_distance * load.distance
        _add_thresholds(d_noisy, gating, load, d_distance)
    d_clean += d_noisy
    if gating.eps is None:
        return GateSlope(gating.x.T @ d_clean, np.zeros_like(noise), d_clean @ gate.T)
    d_raw = (d_deviation + d_noisy * gating.eps) * expit(gating.raw)
    return GateSlope(gating.x.T @ d_clean, gating.x.T @ d_raw, d_clean @ gate.T + d_raw @ noise.T)


def _add_thresholds(d_noisy: Floats, gating: Gating, load: Load, d_distance: Floats) -> None:
    """The threshold of a chosen expert is the first H left out, that of another the last H let in; adds to d_noisy."""
    k, rows = gating.proba.shape[1], gating.rows[:, 0]
    of_chosen = (d_distance * load.is_chosen).sum(axis=1)
    d_noisy[rows, gating.ranking[:, k]] -= of_chosen
    d_noisy[rows, gating.ranking[:, k - 1]] -= d_distance.sum(axis=1) - of_chosen
