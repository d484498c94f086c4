"""The kappa-error diagram: how much two members agree against how much they err (B-5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.explain.diversity import EnsembleDiversity, ensemble_diversity
from committee.plots._style import BLUE, GREY, VERMILION, pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D


MAX_DOTS = 20_000
"""Pairs that are drawn; of more, so many evenly spaced ones."""

FEW_PAIRS = 30
"""Up to here the members of every pair are named."""


class KappaErrorDisplay:
    """A dot for every pair of members: agreement (kappa) across, mean error of the two up.

    Down is accurate, left is diverse. A line is the error of the whole ensemble on the same rows: how far it lies below
    the cloud is what combining brings. Members that answer numbers have the correlation of their errors across and the
    root mean squared error up.

    Attributes
    ----------
    across, up : the pairs, [p]
    diversity : what was measured
    ax_, figure_ : the axes and the figure of the last plot
    dots_, centre_, level_ : the dots, their mean, and the error of the ensemble
    """

    ax_: Axes
    figure_: Figure
    dots_: PathCollection
    centre_: PathCollection
    level_: Line2D

    def __init__(self, diversity: EnsembleDiversity) -> None:
        if len(diversity.names) < 2:
            raise ValueError("A diagram of pairs needs two members at least.")
        self.diversity = diversity
        self._first, self._second = np.triu_indices(len(diversity.names), 1)
        self.across, self.up = self._pairs()
        self.ensemble_error = diversity.ensemble_error if diversity.pairs is not None else diversity.ensemble_error**0.5

    def _pairs(self) -> tuple[Floats, Floats]:
        result, i, j = self.diversity, self._first, self._second
        if result.pairs is not None:
            return result.pairs.kappa[i, j], result.pairs.pair_errors[i, j]
        return result.correlation[i, j], np.sqrt(0.5 * (result.errors[i] + result.errors[j]))

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, *, unseen: bool = False, ax: Axes | None = None) -> Self:
        """Draw the pairs of members of a fitted ensemble.

        Parameters
        ----------
        model, X, y, unseen : as `ensemble_diversity` takes them
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.
        """
        return cls(ensemble_diversity(model, X, y, unseen=unseen)).plot(ax)

    def plot(self, ax: Axes | None = None, *, color: str = BLUE, label: str | None = None) -> Self:
        """Draw the dots; see `from_estimator`. `label` names the ensemble where several share the axes."""
        axes: Any = pyplot().subplots(figsize=(6.0, 4.5), layout="constrained")[1] if ax is None else ax
        self.ax_, self.figure_ = axes, axes.figure
        shown = np.unique(np.linspace(0, self.up.size - 1, min(self.up.size, MAX_DOTS)).astype(np.int64))
        name = f"{label}: " if label else ""
        count = f"{self.up.size} pair{'s' if self.up.size > 1 else ''}"
        size, alpha = (12, 0.35) if shown.size > FEW_PAIRS else (28, 0.8)
        self.dots_ = axes.scatter(
            self.across[shown], self.up[shown], s=size, color=color, alpha=alpha, linewidths=0,
            label=f"{name}{count} of members",
        )  # fmt: skip
        centre = (float(np.nanmean(self.across)), float(np.nanmean(self.up)))
        self.centre_ = axes.scatter(*centre, marker="D", s=60, color=color, edgecolors="black", zorder=4)
        line_color = VERMILION if label is None else color
        text = f"{name}ensemble {self.ensemble_error:.3g}"
        self.level_ = axes.axhline(self.ensemble_error, color=line_color, linewidth=1.3, linestyle="--", label=text)
        self._name_pairs(axes, shown)
        self._frame(axes)
        return self

    def _name_pairs(self, ax: Any, shown: NDArray[np.int64]) -> None:
        names = self.diversity.names
        if shown.size > FEW_PAIRS or all(name.isdigit() for name in names):
            return
        for k in shown:
            pair = f"{names[self._first[k]]}, {names[self._second[k]]}"
            ax.annotate(pair, (self.across[k], self.up[k]), xytext=(5, 3), textcoords="offset points",
                        fontsize="x-small", color=GREY)  # fmt: skip

    def _frame(self, ax: Any) -> None:
        is_class = self.diversity.pairs is not None
        ax.set_xlabel("kappa: 0 agree as by chance, 1 always agree" if is_class else "correlation of the two errors")
        ax.set_ylabel("mean error of the two" if is_class else "root mean squared error of the two")
        is_named = not all(name.isdigit() for name in self.diversity.names)
        ax.margins(x=0.25 if is_named and self.up.size <= FEW_PAIRS else 0.08)
        ax.legend(frameon=False, fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
