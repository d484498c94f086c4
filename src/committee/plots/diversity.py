"""The kappa-error diagram: agreement of two members against their error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.text import pluralize
from committee.explain.diversity import EnsembleDiversity, ensemble_diversity
from committee.plots._display import SingleDisplay
from committee.plots._style import BLUE, GREY, VERMILION, add_legend, finish

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection
    from matplotlib.lines import Line2D


MAX_DOTS = 20_000
"""Largest number of pairs drawn; of more, evenly spaced ones."""

MAX_NAMED_PAIRS = 30
"""Up to this number of pairs their members are named."""


class KappaErrorDisplay(SingleDisplay):
    """A dot for every pair of members: their agreement (kappa) across, their mean error up.

    Low is accurate, left is diverse. A line marks the error of the whole ensemble on the same rows: its distance below
    the cloud is the gain of combining. For regression the correlation of the errors is drawn across and the root mean
    squared error up.

    Attributes
    ----------
    across, up : arrays of the pairs
    diversity : result of `ensemble_diversity`
    ax_, figure_ : axes and figure
    dots_, centre_, level_ : dots, their mean, and line of the error of the ensemble

    Examples
    --------
    >>> from committee import RandomForestClassifier
    >>> from committee.datasets import load_dataset
    >>> sonar = load_dataset("sonar")
    >>> forest = RandomForestClassifier(n_estimators=10, random_state=0).fit(sonar.X, sonar.y)
    >>> KappaErrorDisplay.from_estimator(forest, sonar.X, sonar.y, out_of_sample=True).across.size
    45
    """

    dots_: PathCollection
    centre_: PathCollection
    level_: Line2D

    def __init__(self, diversity: EnsembleDiversity) -> None:
        if len(diversity.names) < 2:
            raise ValueError("A diagram of pairs needs at least two members.")
        self.diversity = diversity
        self._first, self._second = np.triu_indices(len(diversity.names), 1)
        self._has_names = not all(name.isdigit() for name in diversity.names)
        self.across, self.up = self._pairs()
        self.ensemble_error = diversity.ensemble_error if diversity.pairs is not None else diversity.ensemble_error**0.5

    def _pairs(self) -> tuple[Floats, Floats]:
        result, i, j = self.diversity, self._first, self._second
        if result.pairs is not None:
            return result.pairs.kappa[i, j], result.pairs.pair_errors[i, j]
        return result.correlation[i, j], np.sqrt(0.5 * (result.errors[i] + result.errors[j]))

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, out_of_sample: bool = False, ax: Axes | None = None
    ) -> Self:
        """Draw the pairs of members of a fitted ensemble.

        Parameters
        ----------
        estimator : fitted ensemble
        X, y : rows to evaluate the members on
        out_of_sample : bool
            X and y are the training rows, and each member is evaluated on those it was not fitted on; see
            `ensemble_diversity`.
        """
        return cls(ensemble_diversity(estimator, X, y, out_of_sample=out_of_sample)).plot(ax)

    def plot(self, ax: Axes | None = None, *, color: str = BLUE, label: str | None = None) -> Self:
        """Draw the dots; see `from_estimator`. `label` names the ensemble where several share the axes."""
        axes = self._open(ax, (6.0, 4.5))
        shown = np.unique(np.linspace(0, self.up.size - 1, min(self.up.size, MAX_DOTS)).astype(np.int64))
        prefix = f"{label}: " if label else ""
        text = f"{prefix}{pluralize(self.up.size, 'pair')} of members"
        size, alpha = (12, 0.35) if shown.size > MAX_NAMED_PAIRS else (28, 0.8)
        style: dict[str, Any] = {"s": size, "color": color, "alpha": alpha, "linewidths": 0}
        self.dots_ = axes.scatter(self.across[shown], self.up[shown], label=text, **style)
        centre = (float(np.nanmean(self.across)), float(np.nanmean(self.up)))
        self.centre_ = axes.scatter(*centre, marker="D", s=60, color=color, edgecolors="black", zorder=4)
        line_color = VERMILION if label is None else color
        text = f"{prefix}ensemble {self.ensemble_error:.3g}"
        self.level_ = axes.axhline(self.ensemble_error, color=line_color, linewidth=1.3, linestyle="--", label=text)
        if self._has_names and shown.size <= MAX_NAMED_PAIRS:
            self._name_pairs(axes, shown)
        self._frame(axes)
        return self

    def _name_pairs(self, ax: Any, shown: NDArray[np.int64]) -> None:
        names = self.diversity.names
        for k in shown:
            pair = f"{names[self._first[k]]}, {names[self._second[k]]}"
            ax.annotate(pair, (self.across[k], self.up[k]), xytext=(5, 3), textcoords="offset points",
                        fontsize="x-small", color=GREY)  # fmt: skip

    def _frame(self, ax: Any) -> None:
        if self.diversity.pairs is not None:
            finish(ax, "kappa: 0 chance agreement, 1 full agreement", "mean error of the two")
        else:
            finish(ax, "correlation of the two errors", "root mean squared error of the two")
        ax.margins(x=0.25 if self._has_names and self.up.size <= MAX_NAMED_PAIRS else 0.08)
        add_legend(ax, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
