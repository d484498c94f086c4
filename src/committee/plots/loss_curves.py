"""Losses of gradient boosting over its rounds, and the number of rounds chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from committee.base.array_types import Floats
from committee.base.text import pluralize
from committee.plots._checks import measured, recorded
from committee.plots._display import SingleDisplay
from committee.plots._style import BLUE, GREEN, GREY, VERMILION, Scale, add_legend, draw_curve, scale_count

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D


STYLE = {
    "train": (BLUE, "training loss"),
    "validation": (GREEN, "validation loss"),
    "cv": (VERMILION, "cross-validated loss"),
}


class LossCurveDisplay(SingleDisplay):
    """Training, validation and cross-validated loss over the rounds, with a line at the number of rounds chosen.

    Attributes
    ----------
    curves : dict of name -> loss after every round, of "train", "validation", "cv"
    chosen : number of rounds in the model
    ax_, figure_ : axes and figure
    lines_ : dict of name -> curve
    chosen_ : line at the chosen round

    Examples
    --------
    >>> from committee import GradientBoostingRegressor
    >>> from committee.datasets import load_dataset
    >>> ozone = load_dataset("ozone")
    >>> model = GradientBoostingRegressor(n_estimators=10).fit(ozone.X, ozone.y)
    >>> display = LossCurveDisplay.from_estimator(model)
    >>> list(display.curves), display.chosen
    (['train'], 10)
    """

    lines_: dict[str, Line2D]
    chosen_: Line2D

    def __init__(self, curves: dict[str, Floats], chosen: int, *, loss_name: str = "") -> None:
        unknown = set(curves) - set(STYLE)
        if unknown or not any(values.size for values in curves.values()):
            raise ValueError(f"There is no curve to draw: pass losses of {', '.join(STYLE)}; got {sorted(curves)}.")
        self.curves = {name: curves[name] for name in STYLE if name in curves and curves[name].size}
        self.chosen, self.loss_name = chosen, loss_name

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, xscale: Scale = "linear", yscale: Scale = "linear", ax: Axes | None = None
    ) -> Self:
        """Draw the losses of fitted gradient boosting.

        Parameters
        ----------
        estimator : fitted `GradientBoostingClassifier` or `GradientBoostingRegressor`
        xscale, yscale : {"linear", "log"}
            Scales of the rounds and of the losses.
        """
        history = recorded(estimator, "train_loss", cls.__name__, "losses", "gradient boosting")
        result = {
            "train": measured(history, "train_loss"),
            "validation": measured(history, "validation_loss"),
            "cv": getattr(estimator, "cv_curve_", None),
        }
        curves = {name: np.asarray(values, np.float64) for name, values in result.items() if values is not None}
        if "cv" in curves and np.array_equal(curves.get("validation", ()), curves["cv"]):
            del curves["validation"]  # the history of a mean of the folds' models holds the same curve
        loss = getattr(estimator, "loss", "")
        name = loss if isinstance(loss, str) else getattr(loss, "__name__", "custom loss")
        display = cls(curves, int(estimator.n_estimators_), loss_name=name.replace("_", " "))
        return display.plot(ax, xscale=xscale, yscale=yscale)

    def plot(self, ax: Axes | None = None, *, xscale: Scale = "linear", yscale: Scale = "linear") -> Self:
        """Draw the curves; see `from_estimator`."""
        axes = self._open(ax, (7.0, 4.3))
        self.lines_ = {name: self._draw(axes, name, values) for name, values in self.curves.items()}
        label = f"chosen: {pluralize(self.chosen, 'round')}"
        self.chosen_ = axes.axvline(self.chosen, color=GREY, linewidth=1.0, linestyle="--", label=label, zorder=1)
        scale_count(axes, max(values.size for values in self.curves.values()), xscale, "round")
        axes.set_yscale(yscale)
        axes.set_ylabel(f"mean loss ({self.loss_name})" if self.loss_name else "mean loss")
        add_legend(axes)
        return self

    def _draw(self, ax: Any, name: str, values: Floats) -> Line2D:
        color, label = STYLE[name]
        if 1 <= self.chosen <= values.size:
            at = values[self.chosen - 1]
            label = f"{label}: {at:.4g} at the chosen round"
            ax.plot(self.chosen, at, marker="o", markersize=6, color=color, markeredgecolor="white", zorder=4)
        return draw_curve(ax, values, color=color, label=label)
