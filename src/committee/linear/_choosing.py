"""Choice of the penalty by the losses of held-out rows; columns are penalties from the strongest to the weakest."""

from __future__ import annotations

import numpy as np

from committee.base.array_types import Floats

CLEARLY = 2.0
"""Number of standard errors by which a loss is clearly worse than the best one."""


def mean_losses(losses: Floats) -> Floats:
    """Mean over the folds with a loss, [n_penalties]; infinite without any."""
    scored = losses[~np.isnan(losses[:, :1]).ravel()]
    if not len(scored):
        return np.full(losses.shape[1], np.inf)
    mean = scored.mean(axis=0)
    return np.where(np.isnan(mean), np.inf, mean)


def is_past_the_best(losses: Floats) -> bool:
    """Whether the last two penalties are both clearly worse than the best one, by fold-wise differences."""
    mean = mean_losses(losses)
    best = int(mean.argmin())
    if len(mean) - best < 3 or not np.isfinite(mean[best]):
        return False
    return all(excess > CLEARLY * error for excess, error in (_excess(losses, c, best) for c in (-2, -1)))


def _excess(losses: Floats, c: int, best: int) -> tuple[float, float]:
    """Mean difference to the best penalty, and its standard error."""
    difference = losses[:, c] - losses[:, best]
    difference = difference[~np.isnan(difference)]
    error = difference.std(ddof=1) / np.sqrt(len(difference)) if len(difference) > 1 else 0.0
    return float(difference.mean()), float(error)


def choose(losses: Floats, one_standard_error: bool) -> int:
    """The best penalty, or the strongest one within a standard error of it; the strongest without any loss."""
    mean = mean_losses(losses)
    best = int(mean.argmin())
    if not one_standard_error or not np.isfinite(mean[best]):
        return best
    own = losses[:, best][~np.isnan(losses[:, best])]
    limit = mean[best] + (own.std(ddof=1) / np.sqrt(len(own)) if len(own) > 1 else 0.0)
    return int(np.flatnonzero(mean <= limit)[0])
