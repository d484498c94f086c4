"""The studies of boosting as pictures: errors and margins over the rounds by data set, margin against test error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.evaluation._folds import Mean
from committee.plots._style import BLUE, GREEN, GREY, ORANGE, PURPLE, VERMILION, pyplot
from committee.theory.margins import margin_distribution
from committee_reproductions.boosting_experiment import BoostingExperiment
from committee_reproductions.margin_maximisation import MarginMaximisation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import FillBetweenPolyCollection
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

Experiments = BoostingExperiment | Mapping[str, BoostingExperiment]

COLORS = (BLUE, GREEN, ORANGE, VERMILION, PURPLE, GREY)
MARKERS = ("o", "s", "^", "D", "v", "P")


class ExperimentErrorsDisplay:
    """Training and test error over the rounds, one panel per data set, with bands of one standard error (E-13).

    A ring marks the smallest test error; the title says how far the last one lies above it and what to make of that.

    Attributes
    ----------
    experiments : name -> what was measured
    ax_, figure_ : the panels (an array of axes) and the figure of the last plot
    lines_ : name -> curves of "train" and "test"
    bands_ : name -> bands of "train" and "test"
    best_ : name -> the ring
    """

    ax_: NDArray[Any]
    figure_: Figure
    lines_: dict[str, dict[str, Line2D]]
    bands_: dict[str, dict[str, FillBetweenPolyCollection]]
    best_: dict[str, Line2D]

    def __init__(self, experiments: Mapping[str, BoostingExperiment]) -> None:
        self.experiments = dict(experiments)

    @classmethod
    def from_experiment(
        cls,
        experiment: Experiments,
        *,
        xscale: Literal["linear", "log"] = "log",
        ax: Axes | Sequence[Axes] | NDArray[Any] | None = None,
    ) -> Self:
        """Draw the errors.

        Parameters
        ----------
        experiment : what `boosting_experiment` returns, or a mapping of such by name, as of `reproduce_e13`
        xscale : scale of the rounds
        ax : as many matplotlib axes as there are experiments, optional
            Where to draw; a new figure by default.
        """
        return cls(_by_name(experiment)).plot(ax, xscale=xscale)

    def plot(
        self, ax: Axes | Sequence[Axes] | NDArray[Any] | None = None, *, xscale: Literal["linear", "log"] = "log"
    ) -> Self:
        """Draw the curves; see `from_experiment`."""
        self.ax_ = _panels(ax, len(self.experiments))
        self.figure_ = self.ax_[0].figure
        self.lines_, self.bands_, self.best_ = {}, {}, {}
        for panel, (name, found) in zip(self.ax_, self.experiments.items(), strict=True):
            self._draw(panel, name, found)
            panel.set_xscale(xscale)
            if xscale == "log":
                panel.xaxis.set_major_formatter("{x:g}")
            _finish(panel, "round", "error")
        return self

    def _draw(self, ax: Any, name: str, found: BoostingExperiment) -> None:
        curves = {
            "train": (found.train_error, found.train_stderr, BLUE, "training error"),
            "test": (found.test_error, found.test_stderr, VERMILION, "test error"),
        }
        self.lines_[name], self.bands_[name] = {}, {}
        for key, (mean, stderr, color, label) in curves.items():
            label = f"{label}: {mean[-1]:.3f} at the end"
            band = {"color": color, "alpha": 0.18, "linewidth": 0}
            self.bands_[name][key] = ax.fill_between(found.rounds, mean - stderr, mean + stderr, **band)
            (self.lines_[name][key],) = ax.plot(found.rounds, mean, color=color, linewidth=1.4, label=label)
        best = found.best_round
        smallest = float(found.test_error[best - 1])
        ring = {"linestyle": "", "marker": "o", "markersize": 8, "markeredgecolor": GREY, "markeredgewidth": 1.4}
        label = f"smallest: {smallest:.3f} after round {best}"
        (self.best_[name],) = ax.plot([best], [smallest], markerfacecolor="none", label=label, zorder=4, **ring)
        highest = max(float((mean + stderr).max()) for mean, stderr, _, _ in curves.values())
        ax.set_ylim(-0.02 * highest, 1.45 * highest)  # room for the legend above the curves
        _title(ax, name, f"{found.short_verdict}, rise {found.rise.value:.3f} ± {found.rise.stderr:.3f}")
        ax.legend(frameon=False, fontsize="small", loc="upper right")


class ExperimentMarginsDisplay:
    """Cumulative distributions of the training margins after several rounds, one panel per data set (E-13, E-9).

    The height at 0 is the training error. The training rows of all folds are taken together.

    Attributes
    ----------
    experiments : name -> what was measured
    ax_, figure_ : the panels (an array of axes) and the figure of the last plot
    lines_ : name -> round -> its curve
    """

    ax_: NDArray[Any]
    figure_: Figure
    lines_: dict[str, dict[int, Line2D]]

    def __init__(self, experiments: Mapping[str, BoostingExperiment]) -> None:
        self.experiments = dict(experiments)

    @classmethod
    def from_experiment(
        cls, experiment: Experiments, *, ax: Axes | Sequence[Axes] | NDArray[Any] | None = None
    ) -> Self:
        """Draw the margins.

        Parameters
        ----------
        experiment : what `boosting_experiment` returns, or a mapping of such by name, as of `reproduce_e13`
        ax : as many matplotlib axes as there are experiments, optional
            Where to draw; a new figure by default.
        """
        return cls(_by_name(experiment)).plot(ax)

    def plot(self, ax: Axes | Sequence[Axes] | NDArray[Any] | None = None) -> Self:
        """Draw the distributions; see `from_experiment`."""
        without = [name for name, found in self.experiments.items() if not found.margins]
        if without:
            raise ValueError(f"No margins were measured for {', '.join(without)}: the booster has no staged_margins.")
        self.ax_ = _panels(ax, len(self.experiments))
        self.figure_ = self.ax_[0].figure
        self.lines_ = {}
        for panel, (name, found) in zip(self.ax_, self.experiments.items(), strict=True):
            self.lines_[name] = _draw_margins(panel, found.margins)
            _title(panel, name, "")
            _finish(panel, "normalised margin", "share with at most this margin")
        return self


class MarginMaximisationDisplay:
    """Test error over the smallest margin of several boosters, one panel per data set (F-6).

    Bars are one standard error over the folds. If larger margins were better, the points would fall to the right.

    Attributes
    ----------
    studies : name -> what was measured
    ax_, figure_ : the panels (an array of axes) and the figure of the last plot
    points_ : name -> booster -> its point
    """

    ax_: NDArray[Any]
    figure_: Figure
    points_: dict[str, dict[str, Line2D]]

    def __init__(self, studies: Mapping[str, MarginMaximisation]) -> None:
        self.studies = dict(studies)

    @classmethod
    def from_study(
        cls,
        study: MarginMaximisation | Mapping[str, MarginMaximisation],
        *,
        ax: Axes | Sequence[Axes] | NDArray[Any] | None = None,
    ) -> Self:
        """Draw the points.

        Parameters
        ----------
        study : what `margin_maximisation` returns, or a mapping of such by name, as of `reproduce_f6`
        ax : as many matplotlib axes as there are studies, optional
            Where to draw; a new figure by default.
        """
        return cls({"": study} if isinstance(study, MarginMaximisation) else study).plot(ax)

    def plot(self, ax: Axes | Sequence[Axes] | NDArray[Any] | None = None) -> Self:
        """Draw the points; see `from_study`."""
        self.ax_ = _panels(ax, len(self.studies))
        self.figure_ = self.ax_[0].figure
        self.points_ = {}
        for panel, (name, found) in zip(self.ax_, self.studies.items(), strict=True):
            self.points_[name] = {
                booster: _draw_point(panel, k, booster, found.smallest_margin(booster), found.test_error(booster))
                for k, booster in enumerate(found.boosters)
            }
            low, high = panel.get_ylim()
            panel.set_ylim(low, high + 0.35 * (high - low))  # room for the legend above the bars
            panel.legend(frameon=False, fontsize="small", loc="upper left", ncols=2)
            _title(panel, name, "")
            _finish(panel, "smallest margin of the training rows", "test error")
        return self


def _by_name(experiment: Experiments) -> dict[str, BoostingExperiment]:
    return {"": experiment} if isinstance(experiment, BoostingExperiment) else dict(experiment)


def _panels(ax: Any, n: int) -> NDArray[Any]:
    """One axes per data set: those given, or those of a new figure, two in a row."""
    if n == 0:
        raise ValueError("There is nothing to draw: pass at least one study.")
    if ax is None:
        n_columns = min(n, 2)
        n_rows = -(-n // n_columns)
        size = (7.0, 4.5) if n == 1 else (10.0, 3.6 * n_rows)
        figure, panels = pyplot().subplots(n_rows, n_columns, figsize=size, layout="constrained", squeeze=False)
        for unused in panels.ravel()[n:]:
            figure.delaxes(unused)
        return panels.ravel()[:n]
    given = np.ravel(np.asarray(ax, dtype=object))
    if given.size != n:
        raise ValueError(f"{n} data set{'s need' if n > 1 else ' needs'} as many axes, got {given.size}.")
    pyplot()  # says what to install where matplotlib is missing
    return given


def _draw_margins(ax: Any, margins: Mapping[int, Floats]) -> dict[int, Line2D]:
    colors = pyplot().get_cmap("viridis_r")(np.linspace(0.12, 1.0, len(margins)))  # the later the round the darker
    lines: dict[int, Line2D] = {}
    for color, (t, values) in zip(colors, margins.items(), strict=True):
        found = margin_distribution(values)
        value = np.concatenate([[-1.0, found.value[0]], found.value, [1.0]])
        share = np.concatenate([[0.0, 0.0], found.share, [1.0]])
        label = f"{t} round{'s' if t > 1 else ''}, smallest {found.value[0]:.3f}"
        (lines[t],) = ax.step(value, share, where="post", color=color, linewidth=1.5, label=label)
    ax.axvline(0.0, color=GREY, linewidth=0.8, zorder=0)
    ax.set_xlim(-1.03, 1.03)
    ax.set_ylim(0.0, 1.02)
    ax.legend(frameon=False, fontsize="small", loc="upper left")
    return lines


def _draw_point(ax: Any, k: int, booster: str, margin: Mean, error: Mean) -> Line2D:
    style = {"color": COLORS[k % len(COLORS)], "marker": MARKERS[k % len(MARKERS)], "markersize": 7, "linestyle": ""}
    bars = ax.errorbar([margin.value], [error.value], [error.stderr], [margin.stderr],
                       capsize=2.5, elinewidth=1.1, label=f"{booster}: {error.value:.3f}", **style)  # fmt: skip
    return bars.lines[0]


def _title(ax: Any, name: str, word: str) -> None:
    title = ": ".join(part for part in (name, word) if part)
    if title:
        ax.set_title(title, fontsize="medium", loc="left")


def _finish(ax: Any, xlabel: str, ylabel: str) -> None:
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
