"""The bootstrap as pictures: replicates with their confidence intervals, and bands around a curve."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from committee.base.array_types import Floats
from committee.evaluation.bootstrap import Bootstrap, Kind
from committee.evaluation.bootstrap_interval import PredictionInterval
from committee.plots._display import PanelDisplay, SingleDisplay
from committee.plots._style import BLUE, GREEN, GREY, ORANGE, PURPLE, VERMILION, add_legend, add_title, finish

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import FillBetweenPolyCollection
    from matplotlib.lines import Line2D


KIND_COLORS: dict[Kind, str] = {
    "normal": GREY, "percentile": BLUE, "basic": PURPLE, "BCa": GREEN, "studentised": VERMILION,
}  # fmt: skip
BAND_COLORS = (BLUE, ORANGE, GREEN, PURPLE)


class BootstrapDisplay(SingleDisplay):
    """Histogram of the replicates of a statistic, with its value and every confidence interval above it.

    Attributes
    ----------
    study : result of `bootstrap`
    ax_, figure_ : axes and figure
    value_, mean_ : lines at the value and at the mean of the replicates; their difference is the bias
    intervals_ : dict of kind -> line of the interval

    Examples
    --------
    >>> import numpy as np
    >>> from committee.evaluation import bootstrap
    >>> study = bootstrap(np.mean, np.arange(20.0), n_resamples=200, random_state=0)
    >>> list(BootstrapDisplay.from_study(study, name="mean").intervals_)
    ['normal', 'percentile', 'basic', 'BCa']
    """

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
        study : result of `bootstrap`
        index : int
            Which value of the statistic to draw, where it has several.
        name : str
            Name of the statistic, written below the axis.
        """
        return cls(study, index=index).plot(ax, name=name)

    def plot(self, ax: Axes | None = None, *, name: str = "statistic") -> Self:
        """Draw the histogram; see `from_study`."""
        n_values = int(np.size(self.study.value))
        if not 0 <= self.index < n_values:
            raise ValueError(f"index must be in 0..{n_values - 1}, the values of the statistic; got {self.index}.")
        axes = self._open(ax, (7.0, 4.5))
        replicates = self._one(self.study.replicates.reshape(len(self.study.replicates), -1).T)
        low, high = float(replicates.min()), float(replicates.max())
        bins: Any = np.linspace(low, high, 41) if high > low else 1
        counts = axes.hist(replicates, bins=bins, color=BLUE, alpha=0.3, linewidth=0)[0]
        top = float(counts.max())
        value, mean = float(self._one(np.ravel(self.study.value))), float(replicates.mean())
        self.value_ = axes.axvline(value, color="black", linewidth=1.4, label=f"value {value:.4g}")
        label = f"mean of {replicates.size} replicates {mean:.4g}"
        self.mean_ = axes.axvline(mean, color=BLUE, linewidth=1.2, linestyle="--", label=label)
        self._draw_intervals(axes, top)
        add_legend(axes, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2)
        axes.set_yticks([tick for tick in axes.get_yticks() if 0.0 <= tick <= top])
        finish(axes, name, "replicates")
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


class PredictionIntervalDisplay(PanelDisplay):
    """A fitted curve with the confidence band of its mean and the band of new values.

    Each interval has a panel: the data, the prediction, the confidence interval of the mean (dark), the prediction
    interval (light), and the truth if it is given.

    Attributes
    ----------
    intervals : dict of name -> PredictionInterval
    axes_, figure_ : array of axes, and their figure
    bands_ : dict of name -> bands of "mean" and "new"
    lines_ : dict of name -> lines of "prediction" and, if it is given, "truth"

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from committee.evaluation import normal_interval
    >>> X, y = np.arange(8.0)[:, np.newaxis], np.array([1.0, 3.0, 2.0, 4.0, 6.0, 5.0, 7.0, 9.0])
    >>> intervals = normal_interval(LinearRegression(), X, y, X)
    >>> list(PredictionIntervalDisplay.from_intervals(intervals, X, y).bands_["normal"])
    ['new', 'mean']
    """

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
        intervals : result of `bootstrap_interval` or `normal_interval`, or dict of name -> result
            For data with one feature.
        X, y : rows to draw as points, optional
        truth : array-like, optional
            True mean of y at the new rows.
        """
        given = {intervals.kind: intervals} if isinstance(intervals, PredictionInterval) else intervals
        return cls(given).plot(ax, X=X, y=y, truth=truth)

    def plot(self, ax: Any = None, *, X: Any = None, y: Any = None, truth: Any = None) -> Self:
        """Draw the panels; see `from_intervals`."""
        if (X is None) != (y is None):
            raise ValueError("Points need rows and targets: pass both X and y, or neither.")
        n = len(self.intervals)
        if n == 0:
            raise ValueError("There is nothing to draw: pass at least one interval.")
        self._open(ax, n, (5.8, 4.4) if n > 1 else (7.0, 4.5), n_columns=n)
        self.bands_, self.lines_ = {}, {}
        for k, (panel, (name, result)) in enumerate(zip(self.axes_, self.intervals.items(), strict=True)):
            if X is not None:
                panel.plot(_single_feature(X), np.ravel(y), ".", color=GREY, markersize=4, alpha=0.7, label="data")
            self._draw(panel, name, result, BAND_COLORS[k % len(BAND_COLORS)], truth)
        low, high = min(panel.get_ylim()[0] for panel in self.axes_), max(panel.get_ylim()[1] for panel in self.axes_)
        for panel in self.axes_:  # one scale, and room for the legend above
            panel.set_ylim(low, high + 0.3 * (high - low))
        return self

    def _draw(self, ax: Any, name: str, result: PredictionInterval, color: str, truth: Any) -> None:
        x = _single_feature(result.X)
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
        add_title(ax, name)
        add_legend(ax, loc="upper left", ncols=2)
        finish(ax, "x", "y")


def _single_feature(X: Any) -> Floats:
    columns = np.asarray(X, np.float64)
    if columns.ndim == 2 and columns.shape[1] != 1:
        raise ValueError(f"Bands are drawn over one feature, X has {columns.shape[1]}.")
    return columns.ravel()
