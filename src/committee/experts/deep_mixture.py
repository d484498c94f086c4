"""The deep mixture of experts (Eigen, Ranzato and Sutskever, Learning factored representations in a deep mixture of
experts, 2013): every layer is a mixture over the output of the one before,

    z_0 = x,    z_l = sum_e G_le(z_{l-1}) f_le(z_{l-1}),    F(x) = z_L

so L layers of E experts make E^L paths with the parameters of L E experts. F holds the scores of the classes, whose
softmax are their probabilities, or a number. Minimised over all parameters at once, w weights of mean 1, B a batch:

    sum_B w loss(y, F(x)) / |B|  +  sum_l p_importance CV(importance_l)^2 + p_load CV(load_l)^2  +  alpha/2 |A, B|^2

loss = -ln softmax(F)_y for classes, (y - F)^2 / 2 for numbers; alpha is a price on the weights of the experts alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.experts._neural_layers import Balance, LayerShape, Work, backward, balance, forward, views

BLOCK_CELLS = 2**17
"""Values in the slots of the experts at a time, if all rows go to one of them: one megabyte stays in the cache, and
BLAS takes no second thread for it, which would cost more than it brings."""


class Network(NamedTuple):
    """A deep mixture without its parameters."""

    shapes: tuple[LayerShape, ...]
    top_k: int
    n_classes: int  # 0 for numbers
    importance_price: float
    load_price: float
    alpha: float

    @property
    def n_parameters(self) -> int:
        return sum(shape.n_parameters for shape in self.shapes)


class Losses(NamedTuple):
    """The parts of the objective, without their prices."""

    data: float
    importance: float  # sums over the layers
    load: float
    penalty: float  # |A, B|^2 / 2


class Batch(NamedTuple):
    """Rows to learn from: codes of classes, or numbers, in y."""

    X: Floats
    y: NDArray[np.float64 | np.int64]
    weight: Floats

    def take(self, rows: NDArray[np.int64]) -> Batch:
        return Batch(self.X[rows], self.y[rows], self.weight[rows])


def make_network(
    widths: Sequence[int], n_experts: int, n_hidden: int, top_k: int, n_classes: int, prices: tuple[float, float, float]
) -> Network:
    """`widths` are those of the input, of what is between the layers, and of the output."""
    shapes = tuple(LayerShape(n_in, n_experts, n_hidden, n_out) for n_in, n_out in pairwise(widths))
    return Network(shapes, top_k, n_classes, *prices)


def layers_at_work(
    network: Network, theta: Floats, X: Floats, noise: Sequence[Floats | None] | None = None
) -> list[Work]:
    """The forward pass of every layer; without `noise` that of `predict`."""
    z, works = X, list[Work]()
    for index, layer in enumerate(views(theta, network.shapes)):
        works.append(forward(layer, z, network.top_k, None if noise is None else noise[index]))
        z = works[-1].output
    return works


def predictions(network: Network, theta: Floats, X: Floats) -> Iterator[tuple[slice, list[Work]]]:
    """Blocks of rows and what the layers do with them."""
    widest = max(max(shape) for shape in network.shapes)
    n_rows = max(BLOCK_CELLS // (widest * network.shapes[0].n_experts), 1)
    for begin in range(0, len(X), n_rows):
        rows = slice(begin, min(begin + n_rows, len(X)))
        yield rows, layers_at_work(network, theta, X[rows])


def scores(network: Network, theta: Floats, X: Floats) -> Floats:
    """F(x) of every row, [n, K] or [n, 1]."""
    out = np.empty((len(X), network.shapes[-1].n_outputs))
    for rows, works in predictions(network, theta, X):
        out[rows] = works[-1].output
    return out


def row_losses(network: Network, score: Floats, y: NDArray[np.float64 | np.int64]) -> tuple[Floats, Floats]:
    """The loss of every row [n], and its derivative by the scores [n, K]."""
    if network.n_classes == 0:
        residual = score[:, 0] - y
        return 0.5 * residual**2, residual[:, np.newaxis]
    rows, codes = np.arange(len(y)), y.astype(np.int64, copy=False)
    largest = score.max(axis=1, keepdims=True)
    slope = np.exp(score - largest)
    total_of = slope.sum(axis=1, keepdims=True)
    loss = np.log(total_of[:, 0]) + largest[:, 0] - score[rows, codes]
    slope /= total_of
    slope[rows, codes] -= 1.0
    return loss, slope


def objective(
    network: Network, theta: Floats, batch: Batch, noise: Sequence[Floats | None] | None
) -> tuple[Losses, Floats]:
    """The losses on a batch under this noise, one array [n, E] a layer, and the gradient of the objective."""
    layers, gradient = views(theta, network.shapes), np.empty_like(theta)
    works = layers_at_work(network, theta, batch.X, noise)
    loss, d_z = row_losses(network, works[-1].output, batch.y)
    d_z *= (batch.weight / len(batch.X))[:, np.newaxis]
    prices = network.importance_price, network.load_price
    balanced = [balance(work.gating, batch.weight) for work in works]
    slopes = views(gradient, network.shapes)
    for layer, work, each, slope in reversed(list(zip(layers, works, balanced, slopes, strict=True))):
        d_z = backward(layer, work, d_z, batch.weight, each, prices, slope)
    penalty = 0.0
    for layer, slope in zip(layers, slopes, strict=True):
        for weights, d_weights in ((layer.A, slope.A), (layer.B, slope.B)):
            penalty += 0.5 * float(np.vdot(weights, weights))
            d_weights += network.alpha * weights
    return _losses(batch, loss, balanced, penalty), gradient


def _losses(batch: Batch, loss: Floats, balanced: Sequence[Balance], penalty: float) -> Losses:
    data = float(batch.weight @ loss) / len(batch.X)
    return Losses(data, sum(each.importance for each in balanced), sum(each.load for each in balanced), penalty)


def total(network: Network, losses: Losses) -> float:
    """The objective."""
    balance_losses = network.importance_price * losses.importance + network.load_price * losses.load
    return losses.data + balance_losses + network.alpha * losses.penalty
