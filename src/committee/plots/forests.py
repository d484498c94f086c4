"""The out-of-bag error of a forest over the number of its trees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from committee.base.array_types import Floats
from committee.base.text import pluralize
from committee.plots._checks import reject
from committee.plots._display import SingleDisplay
from committee.plots._style import BLUE, GREY, VERMILION, Scale, add_legend, draw_curve, scale_count

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D


class OutOfBagErrorDisplay(SingleDisplay):
    """Out-of-bag error after every tree, and the test error if test rows are given.

    With few trees some rows have no out-of-bag prediction yet; the error is that of the rows that have one.

    Attributes
    ----------
    oob_error : out-of-bag error after every tree
    test_error : error after every tree on the test rows, or None
    error_name : label of the vertical axis
    ax_, figure_ : axes and figure
    lines_ : dict of name -> curve, of "oob" and "test"

    Examples
    --------
    >>> from committee import RandomForestClassifier
    >>> from committee.datasets import load_dataset
    >>> sonar = load_dataset("sonar")
    >>> forest = RandomForestClassifier(n_estimators=20, random_state=0).fit(sonar.X, sonar.y)
    >>> OutOfBagErrorDisplay.from_estimator(forest).oob_error.size
    20
    """

    lines_: dict[str, Line2D]

    def __init__(self, oob_error: Floats, *, test_error: Floats | None = None, error_name: str = "error") -> None:
        if not np.isfinite(oob_error).any():
            raise ValueError("The forest has no out-of-bag error: fit it with bootstrap=True and oob_score not False.")
        self.oob_error, self.test_error, self.error_name = oob_error, test_error, error_name

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, y: Any = None, *, xscale: Scale = "linear", ax: Axes | None = None
    ) -> Self:
        """Draw the out-of-bag error of a fitted forest or of bagging.

        Parameters
        ----------
        estimator : fitted forest or bagging
        X, y : test rows and their targets, optional
            The error on them is drawn as well.
        xscale : {"linear", "log"}
            Scale of the number of trees.
        """
        history = getattr(estimator, "history_", None)
        if history is None or "oob_error" not in history:
            reject(estimator, cls.__name__, "out-of-bag error", "forests and bagging")
        is_class = hasattr(estimator, "classes_")
        test = None
        if X is not None:
            y = np.asarray(y)
            test = np.array([np.mean(p != y if is_class else (p - y) ** 2) for p in estimator.staged_predict(X)])
        name = "error rate" if is_class else "mean squared error"
        curve = np.asarray(history["oob_error"], np.float64)
        return cls(curve, test_error=test, error_name=name).plot(ax, xscale=xscale)

    def plot(self, ax: Axes | None = None, *, xscale: Scale = "linear") -> Self:
        """Draw the curves; see `from_estimator`."""
        axes = self._open(ax, (7.0, 4.3))
        self.lines_ = {"oob": _draw(axes, self.oob_error, BLUE, "out-of-bag error")}
        if self.test_error is not None:
            self.lines_["test"] = _draw(axes, self.test_error, VERMILION, "test error")
        axes.axhline(float(self.oob_error[-1]), color=GREY, linewidth=0.8, linestyle=":", zorder=1)
        scale_count(axes, self.oob_error.size, xscale, "number of trees")
        axes.set_ylim(0.0, None)
        axes.set_ylabel(self.error_name)
        add_legend(axes)
        return self


def _draw(ax: Any, values: Floats, color: str, label: str) -> Line2D:
    return draw_curve(ax, values, color=color, label=f"{label}: {values[-1]:.4g} with {pluralize(values.size, 'tree')}")
