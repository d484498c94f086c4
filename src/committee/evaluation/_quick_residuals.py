"""Residuals of a quick model by different folds, for tests of the row order.

The model is a small gradient boosting. The target is reduced to one robust number per row: normal scores of the ranks
for regression, and for classes +1 or -1, each given to about half of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import rankdata

from committee.base.array_types import Floats
from committee.gradient_boosting.estimators import GradientBoostingRegressor

Rows = NDArray[np.intp]

MAX_CELLS = 400_000
"""Maximum of rows x columns of the quick model."""

MAX_ROWS, MIN_ROWS = 8_000, 1_500
"""Limits of the rows of the quick model."""

N_BLOCKS = 20
"""Contiguous blocks of rows in a sample of a long table."""

MAX_FEATURES = 60
"""Columns of the quick model; of a wider table an even selection."""

CUTS = (0.4, 0.6, 0.8, 1.0)
"""Fit on the rows before a cut, predict up to the next one."""

N_PARTS = 8
"""Parts of each test period, whose mean losses are used for standard errors."""


class LossIncrease(NamedTuple):
    """Loss on new blocks or groups and on shuffled rows, of models fitted on the same number of rows."""

    loss: float  # mean squared residual
    shuffled: float
    z: float  # the difference in its standard errors

    @property
    def ratio(self) -> float:
        """Ratio of the root mean squared errors."""
        return float(np.sqrt(self.loss / max(self.shuffled, 1e-12)))


def robust_target(y: NDArray[np.generic], is_classes: bool) -> Floats:
    """One number per row with mean about 0 and variance about 1.

    >>> robust_target(np.array([0, 0, 1, 2, 2, 2]), True).tolist()
    [-1.0, -1.0, -1.0, 1.0, 1.0, 1.0]
    """
    if not is_classes:
        return ndtri((rankdata(y) - 0.5) / y.size)
    counts = np.bincount(np.asarray(y, np.int64))
    sign, balance = np.zeros(counts.size), 0.0
    for code in np.argsort(-counts, kind="stable").tolist():  # the largest first, each on the lighter side
        sign[code] = 1.0 if balance <= 0.0 else -1.0
        balance += sign[code] * counts[code]
    return sign[np.asarray(y, np.int64)]


def contiguous_sample(n_rows: int, n_columns: int) -> Rows:
    """Rows for the quick model: all, or evenly spaced blocks of neighbours."""
    size = min(max(MAX_CELLS // max(n_columns, 1), MIN_ROWS), MAX_ROWS)
    if n_rows <= size:
        return np.arange(n_rows)
    starts = np.linspace(0, n_rows, N_BLOCKS + 1).astype(np.intp)[:-1]
    return (starts[:, np.newaxis] + np.arange(size // N_BLOCKS)).ravel()


def quick_features(columns: Sequence[Floats], rows: Rows) -> Floats:
    """The features [n, d] of the quick model."""
    if not columns:
        return np.zeros((rows.size, 1))
    chosen = np.unique(np.linspace(0, len(columns) - 1, min(len(columns), MAX_FEATURES)).astype(int))
    return np.column_stack([columns[f][rows] for f in chosen])


def fold_residuals(features: Floats, target: Floats, fold: Rows) -> Floats:
    """Residual of each row by a model fitted on the other folds."""
    residuals = np.empty(target.size)
    for k in np.unique(fold).tolist():
        is_test = fold == k
        residuals[is_test] = target[is_test] - _predicted(features, target, ~is_test, is_test)
    return residuals


def shuffled_folds(n_rows: int, n_folds: int, seed: int) -> Rows:
    """The fold of each row, at random."""
    return np.random.default_rng(seed).permutation(np.arange(n_rows) % n_folds)


def forward_increase(features: Floats, target: Floats, seed: int) -> LossIncrease:
    """Compare the loss on the following rows with that on random rows, after fits on the same number of rows.

    z = (mean loss forward - mean loss shuffled) / sqrt(s_f^2 / m + s_s^2 / m), over m parts of the periods.
    """
    shuffled = np.random.default_rng(seed).permutation(target.size)
    forward, random = (_forward_losses(features[rows], target[rows]) for rows in (np.arange(target.size), shuffled))
    return loss_increase(forward, random)


def loss_increase(losses: Floats, shuffled: Floats) -> LossIncrease:
    """Compare two sets of independent mean losses."""
    spread = np.sqrt(losses.var(ddof=1) / losses.size + shuffled.var(ddof=1) / shuffled.size)
    z = (losses.mean() - shuffled.mean()) / max(float(spread), 1e-12)
    return LossIncrease(float(losses.mean()), float(shuffled.mean()), float(z))


def _forward_losses(features: Floats, target: Floats) -> Floats:
    """Mean squared residuals of N_PARTS parts of every period."""
    cuts = (np.array(CUTS) * target.size).round().astype(int)
    losses: list[float] = []
    for start, end in pairwise(cuts.tolist()):
        train, test = np.arange(target.size) < start, slice(start, end)
        squares = (target[test] - _predicted(features, target, train, test)) ** 2
        losses += [float(part.mean()) for part in np.array_split(squares, min(N_PARTS, squares.size))]
    return np.array(losses)


def _predicted(features: Floats, target: Floats, train: NDArray[np.bool_], test: NDArray[np.bool_] | slice) -> Floats:
    if np.ptp(target[train]) == 0.0:
        return np.full(target[test].shape, target[train][0])
    few = int(train.sum()) < 200
    model = GradientBoostingRegressor(
        n_estimators=40, learning_rate=0.15, max_leaf_nodes=8 if few else 16, min_samples_leaf=3 if few else 10,
        max_features=1.0, early_stopping=False, max_bins=63, random_state=0, n_jobs=1,
    )  # fmt: skip
    return np.asarray(model.fit(features[train], target[train]).predict(features[test]))
