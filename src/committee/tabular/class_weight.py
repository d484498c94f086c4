"""Class weights, which multiply the sample weights.

"balanced" gives all classes the same total weight. An integer weight w counts as w rows:

    weight of class k = W / (K W_k)        W_k: weight of class k, W: of all rows, K: number of classes with rows
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import compute_class_weight

from committee.base.array_types import Floats

ClassWeight = Mapping[Any, float] | str
"""A mapping from classes to weights, or "balanced"."""


def class_weights(
    chosen: ClassWeight, codes: NDArray[np.int64], classes: NDArray[Any], weight: Floats | None
) -> Floats:
    """The weight of every class, for rows with these codes and weights (None: all 1).

    >>> class_weights("balanced", np.array([0, 0, 0, 1]), np.array(["a", "b"]), np.array([1.0, 1.0, 1.0, 3.0]))
    array([1., 1.])
    """
    if isinstance(chosen, str):
        return balanced_weights(codes, len(classes), weight)
    return _short(compute_class_weight(dict(chosen), classes=classes, y=classes[codes]))


def balanced_weights(codes: NDArray[np.int64], n_classes: int, weight: Floats | None) -> Floats:
    """Weights that give all classes with rows the same total weight; 0 for the others."""
    total = np.bincount(codes, weight, n_classes).astype(np.float64)
    n_there = np.count_nonzero(total)
    return _short(np.divide(total.sum(), n_there * total, out=np.zeros(n_classes), where=total > 0.0))


def reweighed(sample: Floats, factor: Floats) -> Floats:
    """The weights of a sample times these factors; without the factors if all products are 0."""
    counted = sample * factor
    return counted if counted.any() else sample


def _short(factor: NDArray[Any]) -> Floats:
    """Round factors to float32, so that sums of their products with counts are exact in any order."""
    with np.errstate(over="ignore", under="ignore"):
        short = factor.astype(np.float32).astype(np.float64)
    return np.where(np.isfinite(short) & ((short > 0.0) | (factor <= 0.0)), short, factor.astype(np.float64))
