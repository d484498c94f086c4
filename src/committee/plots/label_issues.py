"""Rows whose label may be wrong, as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.base.text import shorten
from committee.explain.label_issues import LabelIssues, find_label_issues
from committee.forests.estimators import BaseForestClassifier
from committee.plots._checks import recorded
from committee.plots._style import INK, pyplot
from committee.trees.export import CLASS_COLORS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Annotation

    from committee.boosting._classifier_base import BaseBooster

AFTER_ROUNDS = "normalised margin of the label after the last round"

PLACES = ((7, 4, "left"), (-7, 4, "right"), (7, -10, "left"), (-7, -10, "right"), (0, 8, "center"), (0, -16, "center"))
"""Where a row number may stand beside its point: points across and up, and its alignment."""


class LabelIssuesDisplay:
    """Training rows by weight and margin, coloured by label; rings and row numbers mark the most suspicious.

    The weight is the mean over the rounds, in units of the initial one, or the last weight where a booster does not
    multiply weights. Where weights are not known, as in a forest, the height of a row is the share of the rows of its
    label with a smaller margin or the same. A row number without a free place beside its ring is left out.

    Attributes
    ----------
    found : all rows, the most suspicious first
    weight_name : what the vertical axis measures; `margin_name` the horizontal one
    ax_, figure_ : the axes and the figure of the last plot
    points_ : one collection of points per label
    names_ : the row numbers drawn
    """

    ax_: Axes
    figure_: Figure
    points_: list[Any]
    names_: list[Annotation]

    def __init__(
        self, result: LabelIssues, n: int = 10, *, by_last_weight: bool = False, by_forest: bool = False
    ) -> None:
        self.result, self.n = result, n
        self.margin_name = "out-of-bag margin of the label" if by_forest else AFTER_ROUNDS
        self.weight_name = ("last weight" if by_last_weight else "mean weight over the rounds") + " (initial = 1)"
        self._weight = result.weight if by_last_weight else result.score
        self._free_corner = "upper right"
        if by_forest or np.isnan(self._weight).all():
            self._free_corner = "upper left"  # shares rise to the right
            self.weight_name = "share of the label's rows with at most this margin"
            self._weight = _shares_below(result)

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseBooster | BaseForestClassifier,
        X: Any,
        y: Any,
        *,
        n: int = 10,
        sample_weight: ArrayLike | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the training rows of a fitted booster or forest.

        Parameters
        ----------
        X, y : the rows and labels it was fitted on
        n : number of rows to mark
        sample_weight : the initial weights given to `fit`, if any
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.
        """
        by_forest = isinstance(estimator, BaseForestClassifier)
        what = cls.__name__, "margins of rows", "boosted classifiers and forests of classes"
        by_last_weight = not by_forest and "normalizer" not in recorded(estimator, "edge", *what)
        result = find_label_issues(estimator, X, y, None, sample_weight=sample_weight)
        return cls(result, n, by_last_weight=by_last_weight, by_forest=by_forest).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the rows; see `from_estimator`."""
        axes: Any = pyplot().subplots(figsize=(7.0, 4.5), layout="constrained")[1] if ax is None else ax
        self.ax_, self.figure_ = axes, axes.figure
        f = self.result
        self.points_ = [self._draw_class(axes, k, label) for k, label in enumerate(np.unique(f.label))]
        marked = f.margin[: self.n], self._weight[: self.n]
        label = f"the {marked[0].size} most suspicious"
        axes.scatter(*marked, s=70, facecolors="none", edgecolors=INK, linewidths=1.1, label=label)
        axes.axvline(0.0, color="#555555", linewidth=0.8, zorder=0)
        axes.set_xlabel(self.margin_name)
        axes.set_ylabel(self.weight_name)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        axes.legend(frameon=False, fontsize="small", title="label", loc=self._free_corner)
        self.names_ = self._draw_names(axes)
        return self

    def _draw_class(self, ax: Any, k: int, label: Any) -> Any:
        own = self.result.label == label
        style = {"s": 18, "color": CLASS_COLORS[k % len(CLASS_COLORS)], "alpha": 0.7, "linewidths": 0}
        return ax.scatter(self.result.margin[own], self._weight[own], label=shorten(str(label), 30), **style)

    def _draw_names(self, ax: Any) -> list[Annotation]:
        """Row numbers, each in the first of PLACES where it hides no ring, no point and no other number."""
        from matplotlib.transforms import Bbox

        self.figure_.draw_without_rendering()  # fixes the layout, and so what overlaps
        points = np.column_stack([self.result.margin, self._weight])[: self.n]
        places = ax.transData.transform(np.column_stack([self.result.margin, self._weight]))
        half = np.where(np.arange(len(places)) < self.n, 6.0, 2.0)
        taken = [Bbox.from_extents(*(place - h), *(place + h)) for place, h in zip(places, half, strict=True)]
        names: list[Annotation] = []
        for row, point in zip(self.result.rows, points, strict=False):
            for x, y, side in PLACES:
                name = ax.annotate(f"{row}", point, (x, y), textcoords="offset points", ha=side, fontsize="small")
                box = name.get_window_extent()
                if not any(box.overlaps(other) for other in taken):
                    taken.append(box)
                    names.append(name)
                    break
                name.remove()
        return names


def _shares_below(result: LabelIssues) -> NDArray[np.float64]:
    """For every row the share of the rows of its label whose margin is not larger."""
    shares = np.empty(result.margin.size)
    for label in np.unique(result.label):
        own = result.label == label
        margins = result.margin[own]
        shares[own] = np.searchsorted(np.sort(margins), margins, side="right") / margins.size
    return shares
