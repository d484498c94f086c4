"""The studies of bagging and forests as pictures: error against the number of trees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.plots._style import BLUE, GREEN, GREY, ORANGE, PURPLE, VERMILION, pyplot
from committee_reproductions.bagging_simulation import BAYES_ERROR, BaggingSimulation
from committee_reproductions.spam import SpamExperiment

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import FillBetweenPolyCollection
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D


COLORS = (ORANGE, BLUE, GREEN, VERMILION, PURPLE)


class BaggingSimulationDisplay:
    """Test error of bagged trees against their number, by vote and by mean of distributions (C-7).

    One panel per kind of tree, with bands of one standard error; level lines are one tree and the best rule there is.

    Attributes
    ----------
    studies : name -> what was measured
    ax_, figure_ : the panels (an array of axes) and the figure of the last plot
    lines_ : name -> curves of "vote" and "mean", level lines of "tree" and "best"
    bands_ : name -> bands of "vote" and "mean"
    """

    ax_: NDArray[Any]
    figure_: Figure
    lines_: dict[str, dict[str, Line2D]]
    bands_: dict[str, dict[str, FillBetweenPolyCollection]]

    def __init__(self, studies: Mapping[str, BaggingSimulation]) -> None:
        self.studies = dict(studies)

    @classmethod
    def from_study(
        cls,
        study: BaggingSimulation | Mapping[str, BaggingSimulation],
        *,
        ax: Axes | Sequence[Axes] | NDArray[Any] | None = None,
    ) -> Self:
        """Draw the errors.

        Parameters
        ----------
        study : what `bagging_simulation` returns, or a mapping of such by name, as of `reproduce_c7`
        ax : as many matplotlib axes as there are studies, optional
            Where to draw; a new figure by default.
        """
        return cls({"": study} if isinstance(study, BaggingSimulation) else study).plot(ax)

    def plot(self, ax: Axes | Sequence[Axes] | NDArray[Any] | None = None) -> Self:
        """Draw the curves; see `from_study`."""
        self.ax_ = _panels(ax, len(self.studies))
        self.figure_ = self.ax_[0].figure
        self.lines_, self.bands_ = {}, {}
        for panel, (name, found) in zip(self.ax_, self.studies.items(), strict=True):
            self._draw(panel, name, found)
        lowest, highest = (f(panel.get_ylim()[k] for panel in self.ax_) for k, f in enumerate((min, max)))
        for panel in self.ax_:  # one scale, so that panels can be compared; room for the legend above the curves
            panel.set_ylim(lowest, highest + 0.4 * (highest - lowest))
        return self

    def _draw(self, ax: Any, name: str, found: BaggingSimulation) -> None:
        history, lines = found.history, {}
        self.bands_[name] = {}
        for key, color, width, label in (
            ("vote", ORANGE, 3.0, "bagged, vote"),  # the wider line shows where both are the same
            ("mean", GREEN, 1.4, "bagged, mean of distributions"),
        ):
            mean, stderr = history[f"{key}_error"], history[f"{key}_stderr"]
            self.bands_[name][key] = _band(ax, found.n_trees, mean, stderr, color)
            (lines[key],) = ax.plot(found.n_trees, mean, color=color, linewidth=width, label=f"{label}: {mean[-1]:.3f}")
        tree = found.tree_error.value
        for key, level, style, label in (("tree", tree, "--", "one tree"), ("best", BAYES_ERROR, ":", "best rule")):
            text = f"{label}: {level:.3f}"
            lines[key] = ax.axhline(level, color=GREY, linestyle=style, linewidth=1.2, label=text, zorder=1)
        self.lines_[name] = lines
        ax.set_title(name, fontsize="medium", loc="left")
        ax.legend(frameon=False, fontsize="small", loc="upper right", ncols=2)
        _finish(ax, "number of trees", "test error")


class SpamExperimentDisplay:
    """Test error (full lines) and out-of-bag error (dotted) of ensembles against the number of trees (D-8).

    Attributes
    ----------
    study : what was measured
    ax_, figure_ : the axes and the figure of the last plot
    lines_ : model -> curves of "test" and, where there is one, "oob"
    bands_ : model -> band of one standard error around the test error
    """

    ax_: Axes
    figure_: Figure
    lines_: dict[str, dict[str, Line2D]]
    bands_: dict[str, FillBetweenPolyCollection]

    def __init__(self, study: SpamExperiment) -> None:
        self.study = study

    @classmethod
    def from_study(cls, study: SpamExperiment, *, has_bands: bool = True, ax: Axes | None = None) -> Self:
        """Draw the errors.

        Parameters
        ----------
        study : what `spam_experiment` or `reproduce_d8` returns
        has_bands : whether to shade one standard error around the test errors
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.
        """
        return cls(study).plot(ax, has_bands=has_bands)

    def plot(self, ax: Axes | None = None, *, has_bands: bool = True) -> Self:
        """Draw the curves; see `from_study`."""
        axes: Any = _panels(ax, 1)[0]
        self.ax_, self.figure_ = axes, axes.figure
        self.lines_, self.bands_ = {}, {}
        for k, name in enumerate(self.study.models):
            self._draw(axes, name, COLORS[k % len(COLORS)], has_bands)
        ends = [self.study.test_error(name).value for name in self.study.models]
        lowest, highest = min(ends), max(ends)
        room = max(highest - lowest, 0.2 * highest)
        axes.set_ylim(max(0.0, lowest - 0.8 * room), highest + 3.0 * room)  # the first few trees are far above
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.legend(frameon=False, fontsize="small", loc="upper right")
        _finish(axes, "number of trees", "error")
        return self

    def _draw(self, ax: Any, name: str, color: str, has_bands: bool) -> None:
        curve, lines = self.study.curve(name), {}
        if has_bands:
            self.bands_[name] = _band(ax, curve.n_trees, curve.test_error, curve.test_stderr, color)
        for key, style, label in (("test", "-", "test"), ("oob", ":", "out-of-bag")):
            if f"{key}_error" in curve:
                error = curve[f"{key}_error"]
                text = f"{name}, {label}: {error[-1]:.4f} at the end"
                (lines[key],) = ax.plot(curve.n_trees, error, style, color=color, linewidth=1.4, label=text)
        self.lines_[name] = lines


def _band(ax: Any, x: NDArray[Any], mean: Floats, stderr: Floats, color: str) -> FillBetweenPolyCollection:
    return ax.fill_between(x, mean - stderr, mean + stderr, color=color, alpha=0.15, linewidth=0)


def _panels(ax: Any, n: int) -> NDArray[Any]:
    """One axes per study: those given, or those of a new figure, side by side."""
    if n == 0:
        raise ValueError("There is nothing to draw: pass at least one study.")
    plt = pyplot()
    if ax is None:
        size = (7.0, 4.5) if n == 1 else (5.5 * n, 4.2)
        return plt.subplots(1, n, figsize=size, layout="constrained", squeeze=False)[1].ravel()
    given = np.ravel(np.asarray(ax, dtype=object))
    if given.size != n:
        raise ValueError(f"{n} stud{'ies need' if n > 1 else 'y needs'} as many axes, got {given.size}.")
    return given


def _finish(ax: Any, xlabel: str, ylabel: str) -> None:
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
