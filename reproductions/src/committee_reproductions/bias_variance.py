"""Bias, variance and noise over fifty training sets.

Geman, Bienenstock and Doursat, Neural networks and the bias/variance dilemma, 1992.

    x uniform on [0, 1],  y = sin(2 pi x) + noise of standard deviation 0.3,  100 rows per training set

Claims: error = bias + variance + noise; a simple model has much bias and little variance, a flexible one the opposite;
an average of models keeps their bias and lowers their variance.

Measured: a stump, a small tree, a full tree, and an average of 50 bagged full trees, all fitted on the same 50 training
sets and evaluated on the same rows, so that differences between them are paired.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from committee.bagging.estimators import BaggingRegressor
from committee.base.stats import Mean
from committee.datasets import curve
from committee.evaluation.bias_variance import BiasVariance, as_mean, bias_variance
from committee.plots._style import BLUE, VERMILION, finish, panels
from committee.trees.decision_tree import DecisionTreeRegressor
from committee_reproductions.results import (
    Claim,
    Outcome,
    ReproductionResult,
    gather_curves,
    is_above,
    row,
    verdict_of,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOISE = 0.3
STUMP, FULL, BAGGED = "stump", "full tree", "bagged full trees"

ROUNDING = 1e-9
"""A smaller gap between an error and the sum of its parts is rounding."""


class FiftySets(NamedTuple):
    """Bias and variance of several learners, from the same training sets."""

    parts: Mapping[str, BiasVariance]

    def difference(self, part: str, learner: str, other: str) -> Mean:
        """Return a part of the error of a learner minus that of another one."""
        return as_mean(self.parts[learner].find(part).minus(self.parts[other].find(part)))

    @property
    def largest_gap(self) -> float:
        """Between the error of a learner and the sum of its parts."""
        gaps = [one.error.value - one.bias.value - one.variance.value - one.noise.value for one in self.parts.values()]
        return float(np.max(np.abs(gaps)))


def learners(n_estimators: int = 50) -> dict[str, Any]:
    """Return regressors from simple to flexible, and an average of the last."""
    return {
        STUMP: DecisionTreeRegressor(max_depth=1),
        "small tree": DecisionTreeRegressor(max_leaf_nodes=6),
        FULL: DecisionTreeRegressor(),
        BAGGED: BaggingRegressor(n_estimators=n_estimators),
    }


def fifty_sets(
    *, n_sets: int = 50, n_train: int = 100, n_estimators: int = 50, random_state: int = 0, verbose: int = 0
) -> FiftySets:
    """Fit every learner on every training set.

    >>> result = fifty_sets(n_sets=10, n_estimators=10)
    >>> result.parts["stump"].bias.value > result.parts["full tree"].bias.value
    True
    """
    truth = curve(noise=NOISE)
    return FiftySets({
        name: bias_variance(learner, truth, n_sets=n_sets, n_train=n_train, random_state=random_state, verbose=verbose)
        for name, learner in learners(n_estimators).items()
    })  # fmt: skip


def reproduce(quick: bool = False, verbose: int = 0) -> Outcome:
    """Measure and compare with the claims."""
    size: dict[str, Any] = {"n_sets": 8, "n_estimators": 10} if quick else {}
    measured = fifty_sets(**size, verbose=verbose)
    rows = tuple(
        row(f"{name}, {part}", one.part(part), digits=4)
        for name, one in measured.parts.items()
        for part in ("error", "bias", "variance", "noise")
    )
    bias, variance = measured.difference("bias", STUMP, FULL), measured.difference("variance", FULL, STUMP)
    kept, lower = measured.difference("bias", FULL, BAGGED), measured.difference("variance", FULL, BAGGED)
    gap, full_error = measured.largest_gap, measured.parts[FULL].error
    claims = (
        Claim("error = bias + variance + noise", gap < ROUNDING, f"largest gap {gap:.1g}"),
        Claim("the simple model has the larger bias", is_above(bias), f"stump - full tree: {bias}"),
        Claim("the flexible model has the larger variance", is_above(variance), f"full tree - stump: {variance}"),
        Claim("an average lowers the variance", is_above(lower), f"full tree - bagged: {lower}"),
        Claim("and keeps the bias", abs(kept.value) < 0.1 * full_error.value,
              f"full tree - bagged: {kept}, of an error of {full_error}"),
    )  # fmt: skip
    curves = []
    for name, one in measured.parts.items():
        x = one.source.X[:, 0]
        order = np.argsort(x)
        spread = one.predictions.std(axis=0, ddof=1)[order]
        curves.append((name, "mean of the fits", x[order], one.predictions.mean(axis=0)[order], spread))
    return Outcome(rows, claims, gather_curves(curves), verdict_of(rows, claims), measured)


def draw(result: ReproductionResult) -> Figure:
    """Draw the fits on every training set, their mean and the truth, one panel per learner."""
    parts = result.data.parts
    axes = panels(None, len(parts), (2.9, 3.3))
    for ax, (name, one) in zip(axes, parts.items(), strict=True):
        x = one.source.X[:, 0]
        order = np.argsort(x)[::4]  # every fourth of the rows is enough for a line
        ax.plot(x[order], one.predictions[:, order].T, color=BLUE, linewidth=0.4, alpha=0.25)
        ax.plot(x[order], one.source.truth[order], color=VERMILION, linewidth=1.6, label="truth")
        ax.plot(
            x[order], one.predictions[:, order].mean(axis=0), color="black", linewidth=1.4, label="mean of the fits"
        )
        bias = round(one.bias.value, 3) + 0.0  # an unbiased estimate may be a little below zero
        ax.set_title(f"{name}\nbias {bias:.3f}, variance {one.variance.value:.3f}", fontsize="medium")
        ax.set_ylim(-2.0, 2.0)
        finish(ax, "x", "y" if ax is axes[0] else None)
    axes[0].legend(frameon=False, fontsize="small", loc="lower left")
    return axes[0].figure
