"""Fifty training sets, fifty fits: the picture of bias and variance (B-2; S2, "Descomposición Sesgo-Varianza").

    x uniform on [0, 1],  y = sin(2 pi x) + noise of standard deviation 0.3,  100 rows a set

Claims: error = bias + variance + noise; a simple model has much bias and little variance, a flexible one the other way
round; an average of models keeps their bias and lowers their variance.

Measured: a stump, a small tree, a full tree, and an average of 50 bagged full trees, all from the same 50 training sets
on the same rows, so that differences between them are paired.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from committee.bagging.estimators import BaggingRegressor
from committee.datasets import curve
from committee.evaluation._folds import Mean
from committee.evaluation.bias_variance import BiasVariance, as_mean, bias_variance
from committee.trees.decision_tree import DecisionTreeRegressor

NOISE = 0.3


class FiftySets(NamedTuple):
    """Bias and variance of several learners, from the same training sets."""

    parts: Mapping[str, BiasVariance]

    def difference(self, part: str, learner: str, other: str) -> Mean:
        """A part of the error of a learner minus that of another one."""
        return as_mean(self.parts[learner].find(part).minus(self.parts[other].find(part)))

    @property
    def largest_gap(self) -> float:
        """Between the error of a learner and the sum of its parts."""
        gaps = [abs(one.error.value - one.bias.value - one.variance.value - one.noise.value)
                for one in self.parts.values()]  # fmt: skip
        return float(np.max(gaps))


def learners(n_estimators: int = 50) -> dict[str, Any]:
    """From simple to flexible, and an average of the last."""
    return {
        "stump": DecisionTreeRegressor(max_depth=1),
        "small tree": DecisionTreeRegressor(max_leaf_nodes=6),
        "full tree": DecisionTreeRegressor(),
        "bagged full trees": BaggingRegressor(n_estimators=n_estimators),
    }


def fifty_sets(
    *, n_sets: int = 50, n_train: int = 100, n_estimators: int = 50, random_state: int = 0, verbose: int = 0
) -> FiftySets:
    """Fit every learner on every training set.

    Parameters
    ----------
    n_sets, n_train : training sets, and rows of each
    n_estimators : trees of the bagged average
    random_state : of the training sets and of the bootstrap samples
    verbose : 1 shows a progress bar for every learner

    Examples
    --------
    >>> found = fifty_sets(n_sets=10, n_estimators=10)
    >>> found.parts["stump"].bias.value > found.parts["full tree"].bias.value
    True
    """
    truth = curve(noise=NOISE)
    return FiftySets({
        name: bias_variance(learner, truth, n_sets=n_sets, n_train=n_train, random_state=random_state, verbose=verbose)
        for name, learner in learners(n_estimators).items()
    })  # fmt: skip
