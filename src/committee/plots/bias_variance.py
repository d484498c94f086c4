"""Bias and variance as pictures: the fits of many training sets, and the parts of the error as bars."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.evaluation.bias_variance import BiasVariance
from committee.evaluation.compare_bias_variance import BiasVarianceComparison
from committee.plots._display import PanelDisplay, SingleDisplay
from committee.plots._style import BLUE, GREEN, GREY, ORANGE, VERMILION, add_legend, add_title, finish

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer

Studies = BiasVariance | BiasVarianceComparison | Mapping[str, BiasVariance]

CLIPPED = 2.0
"""Percent of the values at either end that do not influence the scale: extreme curves are cut off."""


class TrainingSetsDisplay(PanelDisplay):
    """Curves fitted on many training sets, their mean and the true function.

    Each learner has three panels: the fits; their mean next to the truth with the bias between them; the fits
    around their mean with two standard deviations on either side.

    Attributes
    ----------
    studies : dict of learner -> BiasVariance
    axes_, figure_ : array of axes [learners, 3], and their figure
    curves_ : dict of learner -> dict of arrays
        "fits" [sets, n], "mean" [n] and "truth" [n] as drawn over "x" [n].

    Examples
    --------
    >>> from committee import DecisionTreeRegressor
    >>> from committee.datasets import curve
    >>> from committee.evaluation import bias_variance
    >>> study = bias_variance(DecisionTreeRegressor(), curve(), n_sets=5, n_test=50, random_state=0)
    >>> TrainingSetsDisplay.from_study(study).axes_.shape
    (1, 3)
    """

    curves_: dict[str, dict[str, Floats]]

    def __init__(self, studies: Mapping[str, BiasVariance]) -> None:
        self.studies = dict(studies)

    @classmethod
    def from_study(cls, study: Studies, *, ax: Any = None) -> Self:
        """Draw the fits.

        Parameters
        ----------
        study : result of `bias_variance` or `compare_bias_variance`, or dict of name -> result
            Of a regressor, on simulated data with one feature.
        """
        return cls(_by_name(study)).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the panels; see `from_study`."""
        n = len(_some(self.studies))
        self.curves_ = {name: _sorted_curves(name, result) for name, result in self.studies.items()}
        flat = self._open(ax, 3 * n, (4.0, 2.9 + 0.6 / n), n_columns=3, sharex=True, sharey=True)
        self.axes_ = flat.reshape(n, 3)
        for k, (name, result) in enumerate(self.studies.items()):
            self._draw(self.axes_[k], name, result)
            titles = name, f"bias² {_short(*result.bias)}", f"variance {_short(*result.variance)}"
            for panel, title in zip(self.axes_[k], titles, strict=True):
                add_title(panel, title)
                finish(panel, "x" if k == n - 1 else "", "y" if panel is self.axes_[k, 0] else "")
                if k == 0:
                    add_legend(panel, loc="upper right", ncols=3, columnspacing=1.0)
        self._share_scale()
        return self

    def _share_scale(self) -> None:
        """One vertical scale for all panels, so that learners can be compared."""
        shown = [np.concatenate([c["fits"].ravel(), c["truth"]]) for c in self.curves_.values()]
        lowest = min(np.percentile(values, CLIPPED) for values in shown)
        highest = max(np.percentile(values, 100.0 - CLIPPED) for values in shown)
        room = 0.12 * (highest - lowest)
        for panel in self.axes_.ravel():
            panel.set_ylim(lowest - room, highest + 3.2 * room)

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


class BiasVarianceDisplay(SingleDisplay):
    """Bias, variance and noise of several models as stacked bars that add up to the error.

    For the 0-1 loss, the variance that reduces the error (where the main prediction is wrong) and such noise are drawn
    to the left of zero, so that right minus left is the error. The error is a dot with two standard errors on either
    side.

    Attributes
    ----------
    studies : dict of model -> BiasVariance
    ax_, figure_ : axes and figure
    bars_ : dict of part -> bars of all models
    errors_ : dots and whiskers of the errors

    Examples
    --------
    >>> from committee import DecisionTreeRegressor
    >>> from committee.datasets import curve
    >>> from committee.evaluation import bias_variance
    >>> study = bias_variance(DecisionTreeRegressor(), curve(), n_sets=5, n_test=50, random_state=0)
    >>> list(BiasVarianceDisplay.from_study(study).bars_)
    ['bias', 'variance', 'noise']
    """

    bars_: dict[str, BarContainer]
    errors_: Any

    def __init__(self, studies: Mapping[str, BiasVariance]) -> None:
        self.studies = dict(studies)

    @classmethod
    def from_study(cls, study: Studies, *, ax: Axes | None = None) -> Self:
        """Draw the bars.

        Parameters
        ----------
        study : result of `compare_bias_variance` or `bias_variance`, or dict of name -> result
        """
        return cls(_by_name(study)).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the bars; see `from_study`."""
        axes = self._open(ax, (7.5, 1.4 + 0.42 * len(_some(self.studies))))
        self.bars_ = {}
        places = np.arange(len(self.studies))
        right, left = np.zeros(places.size), np.zeros(places.size)
        for part, (label, color) in self._segments().items():
            widths = np.array([_signed(result, part) for result in self.studies.values()])
            style: dict[str, Any] = {"height": 0.62, "color": color, "alpha": 0.75, "linewidth": 0}
            hatch = "//" if part == "biased variance" else None
            start = np.where(widths >= 0.0, right, left)
            self.bars_[part] = axes.barh(places, widths, left=start, label=label, hatch=hatch, **style)
            right, left = right + np.maximum(widths, 0.0), left + np.minimum(widths, 0.0)
        self._draw_errors(axes, places, right)
        axes.set_yticks(places, list(self.studies))
        axes.invert_yaxis()
        axes.axvline(0.0, color=GREY, linewidth=0.8)
        add_legend(axes, ncols=5, loc="lower left", bbox_to_anchor=(0.0, 1.0))
        finish(axes, "error")
        return self

    def _draw_errors(self, ax: Any, places: NDArray[np.int64], right: Floats) -> None:
        means = [result.error for result in self.studies.values()]
        values, widths = np.array([m.value for m in means]), np.array([2.0 * m.stderr for m in means])
        style: dict[str, Any] = {"fmt": "o", "color": "black", "markersize": 4, "capsize": 3, "linewidth": 1.0}
        self.errors_ = ax.errorbar(values, places, xerr=widths, label="error", **style)
        edge = np.maximum(right, values + np.nan_to_num(widths))
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


def _some(studies: dict[str, BiasVariance]) -> dict[str, BiasVariance]:
    if not studies:
        raise ValueError("There is nothing to draw: pass at least one study.")
    return studies


def _short(mean: float, stderr: float) -> str:
    return f"{mean:.2g} ± {stderr:.1g}"


def _signed(result: BiasVariance, part: str) -> float:
    value = result.part(part).value
    return -value if part == "biased variance" else value


def _by_name(study: Studies) -> dict[str, BiasVariance]:
    if isinstance(study, BiasVariance):
        return {study.learner: study}
    return dict(study.results if isinstance(study, BiasVarianceComparison) else study)


def _sorted_curves(name: str, result: BiasVariance) -> dict[str, Floats]:
    """Truth and predictions over the single feature, sorted by it."""
    X = np.asarray(result.source.X, np.float64)
    if result.source.task != "regression" or result.source.noise is None or X.ndim != 2 or X.shape[1] != 1:
        raise ValueError(
            f"Curves need a regressor and simulated data with one feature, such as curve(); {name!r} has other data."
        )
    order = np.argsort(X[:, 0], kind="stable")
    fits = np.asarray(result.predictions, np.float64)[:, order]
    truth = np.asarray(result.source.truth, np.float64)[order]
    return {"x": X[order, 0], "fits": fits, "mean": fits.mean(axis=0), "truth": truth}
