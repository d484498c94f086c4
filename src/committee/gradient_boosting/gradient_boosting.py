"""Gradient tree boosting: any loss L(y, s), by steps along trees in the space of functions.

Round t, at the scores s_i of the rows:

    g_i = -L'(y_i, s_i), h_i = L''(y_i, s_i)
    a tree whose splits maximize the decrease of the loss, G_L^2 / (H_L + l2) + G_R^2 / (H_R + l2) - G^2 / (H + l2)
    the value of every leaf minimizes the loss of its rows: the median for the absolute error, the quantile for the
    quantile loss, else one Newton step G / (H + l2)
    s_i <- s_i + rate * value of the leaf of x_i

In the first-order form (Friedman 2001) the tree is the least-squares fit to the negative gradients (h_i = 1 while it
grows), in the second-order form (Chen and Guestrin 2016) the hessians take part in the splits too. A Newton step may
overshoot: a step that would increase the loss of its leaf is halved until it does not, and with several scores per row
a whole round is. So without sampling the training loss never increases, except for Huber's, whose delta follows the
residuals, and with dropout (dart.py), which shrinks earlier trees.

Friedman, Greedy function approximation: a gradient boosting machine, 2001. Chen and Guestrin, XGBoost, 2016.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.gradient_boosting.dart import Rescaled
from committee.gradient_boosting.trees import GrownTree, TreePlan
from committee.losses.loss import NO_WEIGHTS, Loss
from committee.records.binned import BinnedMatrix
from committee.records.growth import Constraints

MAX_HALVINGS = 40
ROUNDING = 1e-12
"""A loss that increases by less than this fraction counts as unchanged."""

MAX_STEP = 30.0
"""Limit of a step of a class's score, for leaves without curvature."""


class Problem(NamedTuple):
    """Data of a fit: binned rows, targets, weights (empty if equal) and the loss of every output."""

    matrix: BinnedMatrix
    y: NDArray[Any]
    weight: Floats
    losses: tuple[Loss, ...]
    recorded: tuple[Loss, ...]  # the losses of the history: with a fixed Huber delta
    is_multinomial: bool
    constraints: Constraints
    counts: Floats = NO_WEIGHTS  # sample weights, if `weight` includes class weights


class Plan(NamedTuple):
    """Settings of a fit."""

    tree: TreePlan
    learning_rate: float
    subsample: float
    colsample: float  # fraction of the features of each round
    dropout: float  # probability that an earlier round is dropped (dart.py)
    n_jobs: int | None


class BoostingRound(NamedTuple):
    """One round: its trees, one per output, and the mean training loss after it."""

    trees: tuple[GrownTree, ...]
    train_loss: float
    n_halved: int  # number of shortened steps
    rescaled: Rescaled = ()
    stop: str = ""  # the algorithm has no end of its own


class TrainingRows(Protocol):
    """The training rows with their scores, in memory (memory_rows.py) or in blocks (block_rows.py)."""

    @property
    def is_damped(self) -> bool:
        """Whether a round that increases the loss is shortened."""
        ...

    def begin_round(self, seed: int) -> None:
        """Draw the rows and features of the round, and drop earlier rounds (dart.py)."""
        ...

    def fit_trees(self) -> tuple[tuple[GrownTree, ...], int]:
        """Fit a tree for every output to the derivatives; return them and the number of shortened steps."""
        ...

    def end_dropout(self, trees: Sequence[GrownTree]) -> Rescaled:
        """Rescale the trees and the dropped rounds, which return to the scores."""
        ...

    def add_trees(self, trees: Sequence[GrownTree], factor: float = 1.0) -> None:
        """Add a multiple of the trees to the scores."""
        ...

    def differentiate(self) -> float:
        """Compute the derivatives at the scores; return the mean loss."""
        ...

    def recorded_loss(self, loss: float) -> float:
        """The mean loss for the history, given that of `differentiate`."""
        ...


def gradient_boosting(rows: TrainingRows, seeds: Sequence[int]) -> Iterator[BoostingRound]:
    """Boost from the scores of the rows, one round per seed."""
    loss = rows.differentiate()
    for seed in seeds:
        rows.begin_round(seed)
        # Step 1: for every output a tree that follows the negative gradients, with leaves that minimize the loss
        trees, n_halved = rows.fit_trees()
        rescaled = rows.end_dropout(trees)
        # Step 2: a step along the trees
        rows.add_trees(trees)
        # Step 3: the derivatives at the new scores
        loss, n_damped = differentiate_damped(rows, trees, loss)
        yield BoostingRound(trees, rows.recorded_loss(loss), n_halved + n_damped, rescaled)


def differentiate_damped(rows: TrainingRows, trees: Sequence[GrownTree], loss: float) -> tuple[float, int]:
    """Differentiate after a step; return the loss, and how often the step was halved.

    Steps of the multinomial loss are fitted class by class. If together they increase the loss of all rows, they are
    halved until they do not, at most MAX_HALVINGS times, then removed.
    """
    new_loss, n_halved = rows.differentiate(), 0
    while rows.is_damped and new_loss > loss * (1.0 + ROUNDING) and n_halved <= MAX_HALVINGS:
        fraction = 0.5 if n_halved < MAX_HALVINGS else 1.0
        rows.add_trees(trees, -fraction)
        for tree in trees:
            tree.value[:] *= 1.0 - fraction
        new_loss = rows.differentiate()
        n_halved += 1
    return new_loss, n_halved


# --- leaves -----------------------------------------------------------------------------------------------------------


def halve_leaf(value: Floats, i: int, loss_at: Callable[[float], float]) -> int:
    """Halve the step value[i] until the loss of the leaf does not increase; return 1 if it was halved."""
    before = loss_at(0.0)
    for halvings in range(MAX_HALVINGS):
        if loss_at(float(value[i])) <= before + ROUNDING * abs(before):
            return int(halvings > 0)
        value[i] *= 0.5
    value[i] = 0.0
    return 1


def halve_tree(value: Floats, loss_at: Callable[[Floats], float]) -> int:
    """Halve the steps of all leaves together: halving a single one could violate a monotonicity constraint."""
    before = loss_at(np.zeros_like(value))
    for halvings in range(MAX_HALVINGS):
        if loss_at(value) <= before + ROUNDING * abs(before):
            return int(halvings > 0)
        value[:] *= 0.5
    value[:] = 0.0
    return 1
