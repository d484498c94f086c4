"""The bootstrap as pictures: replicates with their intervals (C-1), and bands around a curve (C-2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.evaluation.bootstrap import Bootstrap, Kind
from committee.evaluation.bootstrap_interval import PredictionInterval
from committee.plots._style import BLUE, GREEN, GREY, ORANGE, PURPLE, VERMILION, pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import FillBetweenPolyCollection
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D


KIND_COLORS: dict[Kind, str] = {
    "normal": GREY, "percentile": BLUE, "basic": PURPLE, "BCa": GREEN, "studentised": VERMILION,
}  # fmt: skip
BAND_COLORS = (BLUE, ORANGE, GREEN, PURPLE)


class BootstrapDisplay:
    """Histogram of the replicates of a statistic, with its value and every confidence interval above it (C-1).

    Attributes
    ----------
    study : what `bootstrap` returned
    ax_, figure_ : the axes and the figure of the last plot
    value_, mean_ : lines at the value and at the mean of the replicates; between them is the bias
    intervals_ : kind -> the line of its interval
    """

    ax_: Axes
    figure_: Figure
    value_: Line2D
    mean_: Line2D
    intervals_: dict[str, Line2D]

    def __init__(self, study: Bootstrap, *, index: int = 0) -> None:
        self.study, self.index = study, index

    @classmethod
    def from_study(cls, study: Bootstrap, *, index: int = 0, name: str = "statistic", ax: Axes | None = None) -> Self:
        """Draw the replicates.

        Parameters
        ----------
        study : what `bootstrap` returns
        index : which number of the statistic, where it has several
        name : of the statistic, below the axis
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.
        """
        return cls(study, index=index).plot(ax, name=name)

    def plot(self, ax: Axes | None = None, *, name: str = "statistic") -> Self:
        """Draw the histogram; see `from_study`."""
        n_values = int(np.size(self.study.value))
        if not 0 <= self.index < n_values:
            raise ValueError(f"index must lie in 0..{n_values - 1}, the numbers of the statistic; got {self.index}.")
        axes: Any = pyplot().subplots(figsize=(7.0, 4.5), layout="constrained")[1] if ax is None else ax
        self.ax_, self.figure_ = axes, axes.figure
        replicates = self._one(self.study.replicates.reshape(len(self.study.replicates), -1).T)
        counts = axes.hist(replicates, bins=_edges(replicates), color=BLUE, alpha=0.3, linewidth=0)[0]
        top = float(counts.max())
        value, mean = float(self._one(np.ravel(self.study.value))), float(replicates.mean())
        self.value_ = axes.axvline(value, color="black", linewidth=1.4, label=f"value {value:.4g}")
        label = f"mean of {replicates.size} replicates {mean:.4g}"
        self.mean_ = axes.axvline(mean, color=BLUE, linewidth=1.2, linestyle="--", label=label)
        self._draw_intervals(axes, top)
        axes.legend(frameon=False, fontsize="small", loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2)
        axes.set_yticks([tick for tick in axes.get_yticks() if 0.0 <= tick <= top])
        _finish(axes, name, "replicates")
        return self

    def _draw_intervals(self, ax: Any, top: float) -> None:
        self.intervals_ = {}
        for k, (kind, interval) in enumerate(self.study.intervals.items()):
            low, high = (float(self._one(np.ravel(end))) for end in interval)
            height, color = top * (1.12 + 0.13 * k), KIND_COLORS[kind]
            (self.intervals_[kind],) = ax.plot([low, high], [height, height], color=color, linewidth=3.0, marker="|")
            text = f"{kind}  {low:.4g} to {high:.4g}"
            ax.annotate(text, (high, height), (7, 0), textcoords="offset points", va="center", fontsize="small")
        left, right = ax.get_xlim()
        ends = np.concatenate([np.asarray(line.get_xdata(), np.float64) for line in self.intervals_.values()])
        ends = ends[np.isfinite(ends)].tolist()
        ax.set_xlim(min([left, *ends]), max(right, max(ends) + 0.45 * (right - left)))  # room for the text
        ax.set_ylim(0.0, top * (1.2 + 0.13 * len(self.intervals_)))

    def _one(self, values: Any) -> Any:
        return values[self.index]


class PredictionIntervalDisplay:
    """A fitted curve with bands: where its mean lies, and where new values will (C-2).

    One panel for each interval, beside each other for comparison: the data, the prediction, the confidence interval of
    the mean (dark), the prediction interval (light), and the truth where it is given.

    Attributes
    ----------
    intervals : name -> predictions and their intervals
    ax_, figure_ : the panels (an array of axes) and the figure of the last plot
    bands_ : name -> bands of "mean" and "new"
    lines_ : name -> lines of "prediction" and, where it is given, "truth"
    """

    ax_: NDArray[Any]
    figure_: Figure
    bands_: dict[str, dict[str, FillBetweenPolyCollection]]
    lines_: dict[str, dict[str, Line2D]]

    def __init__(self, intervals: Mapping[str, PredictionInterval]) -> None:
        self.intervals = dict(intervals)

    @classmethod
    def from_intervals(
        cls,
        intervals: PredictionInterval | Mapping[str, PredictionInterval],
        X: Any = None,
        y: Any = None,
        *,
        truth: Any = None,
        ax: Any = None,
    ) -> Self:
        """Draw the bands.

        Parameters
        ----------
        intervals : what `bootstrap_interval` or `normal_interval` returns, or several by name; of one variable
        X, y : rows to draw as points, optional
        truth : the mean of y at the new rows, optional
        ax : as many matplotlib axes as there are intervals, optional
            Where to draw; a new figure by default.
        """
        given = {intervals.kind: intervals} if isinstance(intervals, PredictionInterval) else intervals
        return cls(given).plot(ax, X=X, y=y, truth=truth)

    def plot(self, ax: Any = None, *, X: Any = None, y: Any = None, truth: Any = None) -> Self:
        """Draw the panels; see `from_intervals`."""
        if (X is None) != (y is None):
            raise ValueError("Points need both: pass X and y, or neither.")
        self.ax_ = _panels(ax, len(self.intervals))
        self.figure_ = self.ax_[0].figure
        self.bands_, self.lines_ = {}, {}
        for k, (panel, (name, result)) in enumerate(zip(self.ax_, self.intervals.items(), strict=True)):
            if X is not None:
                panel.plot(_variable(X), np.ravel(y), ".", color=GREY, markersize=4, alpha=0.7, label="data")
            self._draw(panel, name, result, BAND_COLORS[k % len(BAND_COLORS)], truth)
        low, high = (f(panel.get_ylim()[k] for panel in self.ax_) for k, f in enumerate((min, max)))
        for panel in self.ax_:  # one scale, and room for the legend above
            panel.set_ylim(low, high + 0.3 * (high - low))
        return self

    def _draw(self, ax: Any, name: str, result: PredictionInterval, color: str, truth: Any) -> None:
        x = _variable(result.X)
        order = np.argsort(x, kind="stable")
        percent = f"{100.0 * result.level:g} %"
        self.bands_[name] = {}
        for key, interval, alpha, label in (
            ("new", result.new, 0.18, f"{percent} of new values: width {np.mean(result.new.width):.3g}"),
            ("mean", result.mean, 0.45, f"{percent} for the mean: width {np.mean(result.mean.width):.3g}"),
        ):
            self.bands_[name][key] = ax.fill_between(
                x[order], interval.low[order], interval.high[order], color=color, alpha=alpha, linewidth=0, label=label
            )
        (line,) = ax.plot(x[order], result.prediction[order], color=color, linewidth=1.6, label="prediction")
        self.lines_[name] = {"prediction": line}
        if truth is not None:
            style = {"color": "black", "linestyle": "--", "linewidth": 1.2, "label": "truth"}
            (self.lines_[name]["truth"],) = ax.plot(x[order], np.ravel(truth)[order], **style)
        ax.set_title(name, fontsize="medium", loc="left")
        ax.legend(frameon=False, fontsize="small", loc="upper left", ncols=2)
        _finish(ax, "x", "y")


def _edges(values: Floats) -> Any:
    """Of the bins; one bin where all replicates are the same."""
    low, high = float(values.min()), float(values.max())
    return np.linspace(low, high, 41) if high > low else 1


def _variable(X: Any) -> Floats:
    columns = np.asarray(X, np.float64)
    if columns.ndim == 2 and columns.shape[1] != 1:
        raise ValueError(f"A picture of bands needs one variable, X has {columns.shape[1]}.")
    return columns.ravel()


def _panels(ax: Any, n: int) -> NDArray[Any]:
    if n == 0:
        raise ValueError("There is nothing to draw: pass at least one interval.")
    if ax is None:
        size = (5.8 * n, 4.4) if n > 1 else (7.0, 4.5)
        return pyplot().subplots(1, n, figsize=size, layout="constrained", squeeze=False)[1].ravel()
    given = np.ravel(np.asarray(ax, dtype=object))
    if given.size != n:
        raise ValueError(f"{n} interval{'s need' if n > 1 else ' needs'} as many axes, got {given.size}.")
    return given


def _finish(ax: Any, xlabel: str, ylabel: str) -> None:
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
