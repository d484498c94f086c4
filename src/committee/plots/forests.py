"""The out-of-bag error of a forest over the number of its trees (C-5, C-6, J-1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.plots._checks import reject
from committee.plots._style import BLUE, GREY, MAX_DOTTED, VERMILION, Scale, pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D


class OutOfBagErrorDisplay:
    """Out-of-bag error after every tree, with the test error beside it where test rows are given.

    The first trees leave some rows unjudged; the curve is about those that were judged so far.

    Attributes
    ----------
    oob_error : error after every tree on the rows it and the trees before did not see
    test_error : error after every tree on other rows, or None
    error_name : what the vertical axis measures
    ax_, figure_ : the axes and the figure of the last plot
    lines_ : name -> curve, of "oob" and "test"
    """

    ax_: Axes
    figure_: Figure
    lines_: dict[str, Line2D]

    def __init__(self, oob_error: Floats, *, test_error: Floats | None = None, error_name: str = "error") -> None:
        if not np.isfinite(oob_error).any():
            raise ValueError(
                "The forest measured no out-of-bag error: fit it with bootstrap=True and oob_score not False."
            )
        self.oob_error, self.test_error, self.error_name = oob_error, test_error, error_name

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, y: Any = None, *, xscale: Scale = "linear", ax: Axes | None = None
    ) -> Self:
        """Draw the out-of-bag error of a fitted forest or of bagging.

        Parameters
        ----------
        X, y : test rows and their targets, optional; the error on them is drawn as well
        xscale : {"linear", "log"}
            Scale of the number of trees.
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.
        """
        history = getattr(estimator, "history_", None)
        if history is None or "oob_error" not in history:
            reject(estimator, cls.__name__, "out-of-bag error", "forests and bagging")
        is_class = hasattr(estimator, "classes_")
        test = None if X is None else _test_error(estimator, X, np.asarray(y), is_class)
        name = "share of wrong answers" if is_class else "mean squared error"
        curve = np.asarray(history["oob_error"], np.float64)
        return cls(curve, test_error=test, error_name=name).plot(ax, xscale=xscale)

    def plot(self, ax: Axes | None = None, *, xscale: Scale = "linear") -> Self:
        """Draw the curves; see `from_estimator`."""
        axes: Any = pyplot().subplots(figsize=(7.0, 4.3), layout="constrained")[1] if ax is None else ax
        self.ax_, self.figure_ = axes, axes.figure
        self.lines_ = {"oob": self._draw(axes, self.oob_error, BLUE, "out-of-bag error")}
        if self.test_error is not None:
            self.lines_["test"] = self._draw(axes, self.test_error, VERMILION, "test error")
        last = float(self.oob_error[-1])
        axes.axhline(last, color=GREY, linewidth=0.8, linestyle=":", zorder=1)
        axes.set_xscale(xscale)
        self._frame(axes, xscale)
        return self

    def _draw(self, ax: Any, values: Floats, color: str, label: str) -> Line2D:
        trees = np.arange(1, values.size + 1)
        dots = "." if values.size <= MAX_DOTTED else ""
        text = f"{label}: {values[-1]:.4g} with {values.size} tree{'s' if values.size != 1 else ''}"
        return ax.plot(trees, values, color=color, linewidth=1.6, marker=dots, label=text, zorder=3)[0]

    def _frame(self, ax: Any, xscale: Scale) -> None:
        from matplotlib.ticker import MaxNLocator

        n = self.oob_error.size
        if xscale == "log":
            ax.xaxis.set_major_formatter("{x:g}")
            ax.set_xlim(0.95, max(n, 2) * 1.05)
        else:
            ax.xaxis.set_major_locator(MaxNLocator(integer=True))
            ax.set_xlim(1 - 0.02 * n - 0.2, n * 1.02 + 0.2)
        ax.set_ylim(0.0, None)
        ax.set_xlabel("number of trees")
        ax.set_ylabel(self.error_name)
        ax.legend(frameon=False, fontsize="small")
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)


def _test_error(estimator: Any, X: Any, y: NDArray[Any], is_class: bool) -> Floats:
    """Error after every member on other rows."""
    errors = [
        float(np.mean(predictions != y if is_class else (predictions - y) ** 2))
        for predictions in estimator.staged_predict(X)
    ]
    return np.array(errors)
