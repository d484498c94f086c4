"""Losses of gradient boosting over its rounds, and the round that was chosen (G-5, J-1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from committee.base.array_types import Floats
from committee.plots._checks import recorded
from committee.plots._style import BLUE, GREEN, GREY, MAX_DOTTED, VERMILION, pyplot
from committee.plots.boosting import measured

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D


STYLE = {
    "train": (BLUE, "training loss"),
    "validation": (GREEN, "validation loss"),
    "cv": (VERMILION, "cross-validated loss"),
}


class LossCurveDisplay:
    """Training, validation and cross-validated loss over the rounds; the round that was chosen is marked.

    Attributes
    ----------
    curves : name -> loss after every round, of "train", "validation", "cv"
    chosen : rounds in the model
    ax_, figure_ : the axes and the figure of the last plot
    lines_ : name -> curve
    chosen_ : the line at the chosen round
    """

    ax_: Axes
    figure_: Figure
    lines_: dict[str, Line2D]
    chosen_: Line2D

    def __init__(self, curves: dict[str, Floats], chosen: int, *, loss_name: str = "") -> None:
        unknown = set(curves) - set(STYLE)
        if unknown or not any(values.size for values in curves.values()):
            raise ValueError(f"There is no curve to draw: give losses of {', '.join(STYLE)}; got {sorted(curves)}.")
        self.curves = {name: curves[name] for name in STYLE if name in curves and curves[name].size}
        self.chosen, self.loss_name = chosen, loss_name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        xscale: Literal["linear", "log"] = "linear",
        yscale: Literal["linear", "log"] = "linear",
        ax: Axes | None = None,
    ) -> Self:
        """Draw the losses of a fitted GradientBoostingClassifier or GradientBoostingRegressor.

        Parameters
        ----------
        xscale, yscale : {"linear", "log"}
            Scales of the rounds and of the losses.
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.
        """
        history = recorded(estimator, "train_loss", cls.__name__, "losses", "gradient boosting")
        result = {
            "train": measured(history, "train_loss"),
            "validation": measured(history, "validation_loss"),
            "cv": getattr(estimator, "cv_curve_", None),
        }
        curves = {name: np.asarray(values, np.float64) for name, values in result.items() if values is not None}
        if "cv" in curves and np.array_equal(curves.get("validation", ()), curves["cv"]):
            del curves["validation"]  # a mean of the folds' models keeps the curve in its history too
        loss = getattr(estimator, "loss", "")
        name = loss if isinstance(loss, str) else getattr(loss, "__name__", "own loss")
        display = cls(curves, int(estimator.n_estimators_), loss_name=name.replace("_", " "))
        return display.plot(ax, xscale=xscale, yscale=yscale)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        xscale: Literal["linear", "log"] = "linear",
        yscale: Literal["linear", "log"] = "linear",
    ) -> Self:
        """Draw the curves; see `from_estimator`."""
        axes: Any = pyplot().subplots(figsize=(7.0, 4.3), layout="constrained")[1] if ax is None else ax
        self.ax_, self.figure_ = axes, axes.figure
        self.lines_ = {name: self._draw(axes, name, values) for name, values in self.curves.items()}
        label = f"chosen: {self.chosen} round{'s' if self.chosen != 1 else ''}"
        self.chosen_ = axes.axvline(self.chosen, color=GREY, linewidth=1.0, linestyle="--", label=label, zorder=1)
        axes.set_xscale(xscale)
        axes.set_yscale(yscale)
        self._label(axes, xscale)
        return self

    def _draw(self, ax: Any, name: str, values: Floats) -> Line2D:
        color, label = STYLE[name]
        rounds = np.arange(1, values.size + 1)
        dots = "." if values.size <= MAX_DOTTED else ""
        if 1 <= self.chosen <= values.size:
            at = values[self.chosen - 1]
            label = f"{label}: {at:.4g} at the chosen round"
            ax.plot(self.chosen, at, marker="o", markersize=6, color=color, markeredgecolor="white", zorder=4)
        return ax.plot(rounds, values, color=color, linewidth=1.6, marker=dots, label=label, zorder=3)[0]

    def _label(self, ax: Any, xscale: str) -> None:
        from matplotlib.ticker import MaxNLocator

        n_rounds = max(values.size for values in self.curves.values())
        if xscale == "log":
            ax.xaxis.set_major_formatter("{x:g}")
            ax.set_xlim(0.95, max(n_rounds, 2) * 1.05)
        else:
            ax.xaxis.set_major_locator(MaxNLocator(integer=True))
            ax.set_xlim(1 - 0.02 * n_rounds - 0.2, n_rounds * 1.02 + 0.2)
        ax.set_xlabel("round")
        ax.set_ylabel(f"mean loss ({self.loss_name})" if self.loss_name else "mean loss")
        ax.legend(frameon=False, fontsize="small")
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
