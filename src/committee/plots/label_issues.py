"""Rows whose label may be wrong, as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from committee.base.array_types import Floats
from committee.base.text import shorten
from committee.explain.label_issues import LabelIssues, find_label_issues
from committee.forests.estimators import BaseForestClassifier
from committee.plots._checks import recorded
from committee.plots._display import SingleDisplay
from committee.plots._style import GREY, INK, add_legend, finish
from committee.trees.export import CLASS_COLORS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation

    from committee.boosting.classifier_base import BaseBooster

AFTER_ROUNDS = "normalised margin of the label after the last round"

PLACES = ((7, 4, "left"), (-7, 4, "right"), (7, -10, "left"), (-7, -10, "right"), (0, 8, "center"), (0, -16, "center"))
"""Possible places of a row number near its point: points across and up, and its alignment."""


class LabelIssuesDisplay(SingleDisplay):
    """Training rows by weight and margin, coloured by label; rings and row numbers mark the most suspicious ones.

    The weight is the mean over the rounds, in units of the initial one, or the last weight where a booster does not
    multiply weights. Where weights are not known, as in a forest, the height of a row is the fraction of the rows of
    its label with at most its margin. A row number without free space next to its ring is omitted.

    Attributes
    ----------
    result : all rows, the most suspicious first
    margin_name, weight_name : labels of the horizontal and of the vertical axis
    ax_, figure_ : axes and figure
    points_ : list of one collection of points per label
    names_ : list of the row numbers drawn

    Examples
    --------
    >>> from committee import AdaBoostClassifier
    >>> from committee.datasets import load_dataset
    >>> sonar = load_dataset("sonar")
    >>> model = AdaBoostClassifier(n_estimators=20).fit(sonar.X, sonar.y)
    >>> LabelIssuesDisplay.from_estimator(model, sonar.X, sonar.y, n=5).result.rows[:5]
    array([ 21, 154,   7,  35, 178])
    """

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
            self._free_corner = "upper left"  # fractions increase to the right
            self.weight_name = "fraction of the label's rows with at most this margin"
            self._weight = _fractions_below(result)

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
        estimator : fitted booster or forest of classifiers
        X, y : training rows and their labels
        n : int
            Number of rows to mark.
        sample_weight : array-like, optional
            Initial weights that were passed to `fit`.
        """
        by_forest = isinstance(estimator, BaseForestClassifier)
        what = cls.__name__, "margins of rows", "boosted classifiers and classification forests"
        by_last_weight = not by_forest and "normalizer" not in recorded(estimator, "edge", *what)
        result = find_label_issues(estimator, X, y, None, sample_weight=sample_weight)
        return cls(result, n, by_last_weight=by_last_weight, by_forest=by_forest).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the rows; see `from_estimator`."""
        axes = self._open(ax, (7.0, 4.5))
        result = self.result
        self.points_ = []
        for k, label in enumerate(np.unique(result.label)):
            own = result.label == label
            style = {"s": 18, "color": CLASS_COLORS[k % len(CLASS_COLORS)], "alpha": 0.7, "linewidths": 0}
            points = axes.scatter(result.margin[own], self._weight[own], label=shorten(str(label), 30), **style)
            self.points_.append(points)
        marked = result.margin[: self.n], self._weight[: self.n]
        label = f"the {marked[0].size} most suspicious"
        axes.scatter(*marked, s=70, facecolors="none", edgecolors=INK, linewidths=1.1, label=label)
        axes.axvline(0.0, color=GREY, linewidth=0.8, zorder=0)
        finish(axes, self.margin_name, self.weight_name)
        add_legend(axes, title="label", loc=self._free_corner)
        self.names_ = self._draw_names(axes)
        return self

    def _draw_names(self, ax: Any) -> list[Annotation]:
        """Row numbers, each in the first of PLACES where it hides no ring, no point and no other number."""
        from matplotlib.transforms import Bbox

        self.figure_.draw_without_rendering()  # fixes the layout, and so what overlaps
        points = np.column_stack([self.result.margin, self._weight])
        places = ax.transData.transform(points)
        half = np.where(np.arange(len(places)) < self.n, 6.0, 2.0)
        taken = [Bbox.from_extents(*(place - h), *(place + h)) for place, h in zip(places, half, strict=True)]
        names: list[Annotation] = []
        for row, point in zip(self.result.rows, points[: self.n], strict=False):
            for x, y, side in PLACES:
                name = ax.annotate(f"{row}", point, (x, y), textcoords="offset points", ha=side, fontsize="small")
                box = name.get_window_extent()
                if not any(box.overlaps(other) for other in taken):
                    taken.append(box)
                    names.append(name)
                    break
                name.remove()
        return names


def _fractions_below(result: LabelIssues) -> Floats:
    """For every row the fraction of the rows of its label whose margin is not larger."""
    fractions = np.empty(result.margin.size)
    for label in np.unique(result.label):
        own = result.label == label
        margins = result.margin[own]
        fractions[own] = np.searchsorted(np.sort(margins), margins, side="right") / margins.size
    return fractions
