"""Classification problems of which some labels are flipped."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_classification

FLIPPED = 0.05


class Noisy(NamedTuple):
    X: NDArray[np.float64]
    y: NDArray[Any]  # with flips
    clean: NDArray[Any]
    is_wrong: NDArray[np.bool_]


def noisy(seed: int, n_classes: int = 2, n: int = 600) -> Noisy:
    X, codes = make_classification(
        n, 10, n_informative=5, n_classes=n_classes, class_sep=1.5, flip_y=0.0, random_state=seed
    )
    rng = np.random.default_rng(seed)
    wrong = rng.choice(n, int(FLIPPED * n), replace=False)
    turned = codes.copy()
    turned[wrong] = (codes[wrong] + rng.integers(1, n_classes, wrong.size)) % n_classes
    names = np.array(["ash", "elm", "oak"])
    is_wrong = np.zeros(n, bool)
    is_wrong[wrong] = True
    return Noisy(X, names[turned], names[codes], is_wrong)
