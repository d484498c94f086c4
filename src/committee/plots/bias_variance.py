"""Bias and variance as pictures: the fits of many training sets (B-2), and what errors are made of (J-4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.stats import Mean
from committee.evaluation.bias_variance import BiasVariance
from committee.evaluation.compare_bias_variance import BiasVarianceComparison
from committee.plots._style import BLUE, GREEN, GREY, ORANGE, VERMILION, pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer
    from matplotlib.figure import Figure

Studies = BiasVariance | BiasVarianceComparison | Mapping[str, BiasVariance]

ENDS = 2.0
"""Percent of the rows at either end that do not set the scale: wild curves end there."""


class TrainingSetsDisplay:
    """The curves learned from many training sets, their mean and the truth: the figure of S2 (B-2).

    One row per learner, three panels: the fits; their mean beside the truth, the bias between them; the fits around
    their mean, with two standard deviations on either side.

    Attributes
    ----------
    studies : learner -> what was measured
    ax_, figure_ : the panels [learners, 3] and the figure of the last plot
    curves_ : learner -> "fits" [sets, n], "mean" and "truth" [n] as drawn, over "x" [n]
    """

    ax_: NDArray[Any]
    figure_: Figure
    curves_: dict[str, dict[str, Floats]]

    def __init__(self, studies: Mapping[str, BiasVariance]) -> None:
        self.studies = dict(studies)

    @classmethod
    def from_study(cls, study: Studies, *, ax: Any = None) -> Self:
        """Draw the fits.

        Parameters
        ----------
        study : what `bias_variance` or `compare_bias_variance` returns, or results by name; of a regressor, on a
            simulation of one variable
        ax : three matplotlib axes for each learner, optional
            Where to draw; a new figure by default.
        """
        return cls(_by_name(study)).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the panels; see `from_study`."""
        self.curves_ = {name: _sorted_curves(name, result) for name, result in self.studies.items()}
        self.ax_ = _grid(ax, len(self.studies))
        self.figure_ = self.ax_[0, 0].figure
        for panels, (name, result) in zip(self.ax_, self.studies.items(), strict=True):
            self._draw(panels, name, result)
        lowest, highest = (
            extreme([limit(self._seen(name), q) for name in self.curves_])
            for extreme, limit, q in ((min, np.percentile, ENDS), (max, np.percentile, 100.0 - ENDS))
        )
        room = 0.12 * (highest - lowest)
        for panel in self.ax_.ravel():  # one scale, so that learners can be compared
            panel.set_ylim(lowest - room, highest + 3.2 * room)
        return self

    def _seen(self, name: str) -> Floats:
        curves = self.curves_[name]
        return np.concatenate([curves["fits"].ravel(), curves["truth"]])

    def _draw(self, panels: NDArray[Any], name: str, result: BiasVariance) -> None:
        x, fits, mean, truth = (self.curves_[name][key] for key in ("x", "fits", "mean", "truth"))
        deviation = fits.std(axis=0, ddof=1)
        first, second, third = panels
        first.plot(x, fits.T, color=BLUE, alpha=0.25, linewidth=0.7, label="_")
        first.plot([], [], color=BLUE, linewidth=0.9, label=f"{len(fits)} fits")
        second.fill_between(x, mean, truth, color=VERMILION, alpha=0.25, linewidth=0, label="bias")
        third.plot(x, fits.T, color=BLUE, alpha=0.12, linewidth=0.6, label="_")
        low, high = mean - 2.0 * deviation, mean + 2.0 * deviation
        third.fill_between(x, low, high, color=ORANGE, alpha=0.3, linewidth=0, label="± 2 deviations")
        for panel in (first, second):
            panel.plot(x, truth, color=GREEN, linewidth=2.0, label="truth")
        for panel in (second, third):
            panel.plot(x, mean, color=VERMILION, linewidth=1.6, label="mean of fits")
        titles = name, f"bias² {_short(result.bias)}", f"variance {_short(result.variance)}"
        for panel, title in zip(panels, titles, strict=True):
            panel.set_title(title, fontsize="medium", loc="left")
            _finish(panel, "x" if name == list(self.studies)[-1] else "", "y" if panel is first else "")
            if name == next(iter(self.studies)):
                panel.legend(frameon=False, fontsize="small", loc="upper right", ncols=3, columnspacing=1.0)


class BiasVarianceDisplay:
    """What the errors of several models are made of, as bars (J-4).

    Bias, variance and noise stand one behind the other from zero; for the 0-1 loss the variance that does good (where
    the main prediction is wrong) and a noise that does good are taken off to the left of zero, so that right minus left
    is the error: the dot, with a line of two standard errors on either side.

    Attributes
    ----------
    studies : model -> what was measured
    ax_, figure_ : the axes and the figure of the last plot
    bars_ : part -> the bars of all models
    errors_ : the dots and lines of the errors
    """

    ax_: Axes
    figure_: Figure
    bars_: dict[str, BarContainer]
    errors_: Any

    def __init__(self, studies: Mapping[str, BiasVariance]) -> None:
        self.studies = dict(studies)

    @classmethod
    def from_study(cls, study: Studies, *, ax: Axes | None = None) -> Self:
        """Draw the bars.

        Parameters
        ----------
        study : what `compare_bias_variance` or `bias_variance` returns, or results by name
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.
        """
        return cls(_by_name(study)).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the bars; see `from_study`."""
        if not self.studies:
            raise ValueError("There is nothing to draw: pass at least one study.")
        height = 1.4 + 0.42 * len(self.studies)
        axes: Any = pyplot().subplots(figsize=(7.5, height), layout="constrained")[1] if ax is None else ax
        self.ax_, self.figure_ = axes, axes.figure
        self.bars_ = {}
        places = np.arange(len(self.studies))
        right, left = np.zeros(places.size), np.zeros(places.size)
        for part, (label, color) in self._segments().items():
            widths = np.array([_signed(result, part) for result in self.studies.values()])
            start = np.where(widths >= 0.0, right, left)
            hatch = "//" if part == "biased variance" else None
            self.bars_[part] = axes.barh(
                places, widths, left=start, height=0.62, color=color, alpha=0.75, label=label, hatch=hatch, linewidth=0
            )
            right, left = right + np.maximum(widths, 0.0), left + np.minimum(widths, 0.0)
        self._draw_errors(axes, places, right)
        axes.set_yticks(places, list(self.studies))
        axes.invert_yaxis()
        axes.axvline(0.0, color=GREY, linewidth=0.8)
        axes.legend(frameon=False, fontsize="small", ncols=5, loc="lower left", bbox_to_anchor=(0.0, 1.0))
        _finish(axes, "error", "")
        return self

    def _draw_errors(self, ax: Any, places: NDArray[np.int64], right: Floats) -> None:
        means = [result.error for result in self.studies.values()]
        values, widths = np.array([m.value for m in means]), np.array([2.0 * m.stderr for m in means])
        self.errors_ = ax.errorbar(
            values, places, xerr=widths, fmt="o", color="black", markersize=4, capsize=3, linewidth=1.0, label="error"
        )
        edge = np.maximum(right, values + np.where(np.isnan(widths), 0.0, widths))
        for place, value, x in zip(places, values, edge, strict=True):
            ax.annotate(f"{value:.3g}", (x, place), (6, 0), textcoords="offset points", va="center", fontsize="small")
        ax.set_xlim(None, 1.12 * float(edge.max()))

    def _segments(self) -> dict[str, tuple[str, str]]:
        """Part -> label and colour, in the order of the bars."""
        first = next(iter(self.studies.values()))
        has_noise = all(result.source.noise is not None for result in self.studies.values())
        bias = "bias²" if first.source.task == "regression" else "bias"
        parts = {"bias": (bias if has_noise else f"{bias} and noise", BLUE)}
        if first.source.task == "regression":
            parts["variance"] = "variance", ORANGE
        else:
            parts["unbiased variance"] = "variance", ORANGE
            parts["biased variance"] = "variance that helps", ORANGE
        return parts | ({"noise": ("noise", GREY)} if has_noise else {})


def _short(mean: Mean) -> str:
    return f"{mean.value:.2g} ± {mean.stderr:.1g}"


def _signed(result: BiasVariance, part: str) -> float:
    value = result.part(part).value
    return -value if part == "biased variance" else value


def _by_name(study: Studies) -> dict[str, BiasVariance]:
    if isinstance(study, BiasVariance):
        return {study.learner: study}
    return dict(study.results if isinstance(study, BiasVarianceComparison) else study)


def _sorted_curves(name: str, result: BiasVariance) -> dict[str, Floats]:
    """Truth and answers over the one variable there is, in its order."""
    X = np.asarray(result.source.X, np.float64)
    if result.source.task != "regression" or result.source.noise is None or X.ndim != 2 or X.shape[1] != 1:
        raise ValueError(
            f"Curves need a regressor and a simulation of one variable, such as curve(); {name} has others."
        )
    order = np.argsort(X[:, 0], kind="stable")
    fits = np.asarray(result.predictions, np.float64)[:, order]
    truth = np.asarray(result.source.truth, np.float64)[order]
    return {"x": X[order, 0], "fits": fits, "mean": fits.mean(axis=0), "truth": truth}


def _grid(ax: Any, n: int) -> NDArray[Any]:
    """Three axes for each learner: those given, or those of a new figure."""
    if n == 0:
        raise ValueError("There is nothing to draw: pass at least one study.")
    if ax is None:
        size = (12.0, 0.6 + 2.9 * n)
        return pyplot().subplots(n, 3, figsize=size, layout="constrained", squeeze=False, sharex=True, sharey=True)[1]
    given = np.ravel(np.asarray(ax, dtype=object))
    if given.size != 3 * n:
        raise ValueError(f"{n} learner{'s need' if n > 1 else ' needs'} {3 * n} axes, got {given.size}.")
    return given.reshape(n, 3)


def _finish(ax: Any, xlabel: str, ylabel: str) -> None:
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
