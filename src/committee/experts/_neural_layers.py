"""A layer of small neural experts behind a sparse gate, forwards and backwards, in plain NumPy.

    f_e(z)  =  B_e' relu(A_e' z + a_e) + b_e            one hidden layer for each of E experts
    out(z)  =  sum over the k chosen experts of G_e(z) f_e(z)

Only the chosen experts are evaluated. Rows are dispatched to slots, as many for each expert as the one with the largest
load needs, so that two batched matrix products serve all experts; unused slots hold zeros:

    chosen   row 0: experts 2, 0    row 1: experts 0, 1
    slots    expert 0: rows 0, 1 | expert 1: row 1, - | expert 2: row 0, -
    place    slots of every row among all slots: [[4, 0], [1, 2]]

All parameters of a network live in one vector: an optimiser then takes a step with a few operations on it, and a
gradient is checked entry by entry. A layer is a tuple of views into it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.experts.noisy_top_k import (
    Gating,
    Load,
    gate_gradient,
    importance,
    noisy_top_k,
    smooth_load,
    squared_variation,
)

GATE_START = 0.1
"""Deviation of the first scores of a gate: small beside its noise, so that at first every expert gets any row."""


class LayerShape(NamedTuple):
    """Sizes of a layer."""

    n_inputs: int
    n_experts: int
    n_hidden: int
    n_outputs: int

    @property
    def blocks(self) -> tuple[tuple[int, ...], ...]:
        """Shapes of the parameters in the order of `Layer`."""
        d, experts, h, m = self
        return (d + 1, experts), (d + 1, experts), (experts, d, h), (experts, h), (experts, h, m), (experts, m)

    @property
    def n_parameters(self) -> int:
        return sum(math.prod(block) for block in self.blocks)


class Layer(NamedTuple):
    """Parameters of a layer, or derivatives by them: views into one vector."""

    gate: Floats  # [d + 1, E], W_gate
    noise: Floats  # [d + 1, E], W_noise
    A: Floats  # [E, d, h]
    a: Floats  # [E, h]
    B: Floats  # [E, h, m]
    b: Floats  # [E, m]


class Work(NamedTuple):
    """Activations of a layer for a batch, kept for the backward pass."""

    gating: Gating
    place: NDArray[np.int64]  # [n, k], slots of every row
    given: Floats  # [E, slots, d]
    hidden: Floats  # [E, slots, h]
    predictions: Floats  # [n, k, m], of the experts of every row
    output: Floats  # [n, m]


class Balance(NamedTuple):
    """The balance losses of a layer, and their derivatives by the outputs of the gate."""

    importance: float  # CV^2
    load: float
    d_importance: Floats  # [E]
    d_load: Floats  # [E]
    smooth: Load | None


def views(theta: Floats, shapes: Sequence[LayerShape]) -> list[Layer]:
    """The layers in a vector of parameters."""
    layers: list[Layer] = []
    begin = 0
    for shape in shapes:
        blocks: list[Floats] = []
        for block in shape.blocks:
            end = begin + math.prod(block)
            blocks.append(theta[begin:end].reshape(block))
            begin = end
        layers.append(Layer(*blocks))
    return layers


def start(shapes: Sequence[LayerShape], rng: np.random.Generator) -> Floats:
    """Random weights that keep the size of what passes through (He et al. 2015); gates close to uniform."""
    theta = np.zeros(sum(shape.n_parameters for shape in shapes))
    for shape, layer in zip(shapes, views(theta, shapes), strict=True):
        layer.gate[:-1] = rng.normal(0.0, GATE_START / math.sqrt(shape.n_inputs), (shape.n_inputs, shape.n_experts))
        layer.A[:] = rng.normal(0.0, math.sqrt(2.0 / shape.n_inputs), layer.A.shape)
        layer.B[:] = rng.normal(0.0, math.sqrt(1.0 / shape.n_hidden), layer.B.shape)
    return theta


def dispatch(chosen: NDArray[np.int64], n_experts: int) -> tuple[NDArray[np.int64], int]:
    """The slots of every row [n, k], rows of an expert in their order, and how many slots each expert has."""
    expert = chosen.ravel()
    order = np.argsort(expert, kind="stable")
    load = np.bincount(expert, minlength=n_experts)
    n_slots, before = int(load.max()), np.cumsum(load) - load
    place = np.empty(expert.size, np.int64)
    place[order] = np.arange(expert.size) + (np.arange(n_experts) * n_slots - before)[expert[order]]
    return place.reshape(chosen.shape), n_slots


def forward(layer: Layer, z: Floats, k: int, eps: Floats | None) -> Work:
    """Send the rows z [n, d] to their experts and mix their outputs."""
    gating = noisy_top_k(np.column_stack([z, np.ones(len(z))]), layer.gate, layer.noise, k, eps)
    n_experts, n_inputs, _ = layer.A.shape
    place, n_slots = dispatch(gating.chosen, n_experts)
    given = _lay_out(z[:, np.newaxis], place, n_experts, n_slots, n_inputs)
    hidden = given @ layer.A
    hidden += layer.a[:, np.newaxis]
    np.maximum(hidden, 0.0, out=hidden)
    raw = hidden @ layer.B
    raw += layer.b[:, np.newaxis]
    predictions = raw.reshape(n_experts * n_slots, -1)[place]
    return Work(gating, place, given, hidden, predictions, (gating.proba[:, np.newaxis] @ predictions)[:, 0])


def _lay_out(rows: Floats, place: NDArray[np.int64], n_experts: int, n_slots: int, width: int) -> Floats:
    """Rows [n, 1 or k, width] in their slots, [E, slots, width], zeros in the others."""
    slots = np.zeros((n_experts * n_slots, width))
    slots[place] = rows
    return slots.reshape(n_experts, n_slots, width)


def balance(gating: Gating, weight: Floats) -> Balance:
    """CV^2 of importance and of smooth load."""
    of_importance, d_importance = squared_variation(importance(gating, weight))
    smooth = smooth_load(gating)
    if smooth is None:
        return Balance(of_importance, 0.0, d_importance, np.zeros_like(d_importance), None)
    of_load, d_load = squared_variation(weight @ smooth.probability)
    return Balance(of_importance, of_load, d_importance, d_load, smooth)


def backward(
    layer: Layer,
    work: Work,
    d_output: Floats,
    weight: Floats,
    balanced: Balance,
    prices: tuple[float, float],
    slope: Layer,
) -> Floats:
    """Fill `slope`, the derivatives by the parameters, and return those by z.

    The loss is that of the output, whose derivatives d_output [n, m] are, and the balance losses at their `prices`.
    """
    gating = work.gating
    d_given = _experts_backward(layer, work, d_output, slope)
    column = weight[:, np.newaxis]
    d_proba = (work.predictions @ d_output[:, :, np.newaxis])[:, :, 0]
    d_proba += prices[0] * column * balanced.d_importance[gating.chosen]
    d_probability = prices[1] * column * balanced.d_load
    gate = gate_gradient(gating, layer.gate, layer.noise, d_proba, balanced.smooth, d_probability)
    slope.gate[:] = gate.gate
    slope.noise[:] = gate.noise
    return d_given.reshape(-1, d_given.shape[2])[work.place].sum(axis=1) + gate.x[:, :-1]


def _experts_backward(layer: Layer, work: Work, d_output: Floats, slope: Layer) -> Floats:
    """Backward pass of the experts; returns the derivatives by their inputs, [E, slots, d]."""
    n_experts, n_slots, _ = work.given.shape
    rows = work.gating.proba[:, :, np.newaxis] * d_output[:, np.newaxis]
    d_raw = _lay_out(rows, work.place, n_experts, n_slots, d_output.shape[1])
    np.matmul(work.hidden.transpose(0, 2, 1), d_raw, out=slope.B)
    d_raw.sum(axis=1, out=slope.b)
    d_hidden = d_raw @ layer.B.transpose(0, 2, 1)
    d_hidden *= work.hidden > 0.0
    np.matmul(work.given.transpose(0, 2, 1), d_hidden, out=slope.A)
    d_hidden.sum(axis=1, out=slope.a)
    return d_hidden @ layer.A.transpose(0, 2, 1)
