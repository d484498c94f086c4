"""The pictures of the reproductions: one function for each, named in the registry."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from committee.plots._style import BLUE, GREEN, GREY, ORANGE, PURPLE, VERMILION, pyplot
from committee.plots.decision_rounds import DecisionRoundsDisplay
from committee.theory.majority_vote import DOCUMENT_VOTERS
from committee_reproductions.boosting_experiment import BoostingExperiment
from committee_reproductions.local_experts import NOISE, piecewise
from committee_reproductions.plots.bagging_studies import BaggingSimulationDisplay, SpamExperimentDisplay
from committee_reproductions.plots.boosting_experiment import (
    ExperimentErrorsDisplay,
    ExperimentMarginsDisplay,
    MarginMaximisationDisplay,
)
from committee_reproductions.plots.exclusive_or import XorDisplay
from committee_reproductions.rare_class_importances import GROUPS, KINDS
from committee_reproductions.reproductions import REPRODUCTIONS, ReproductionResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLORS = (BLUE, VERMILION, GREEN, ORANGE, PURPLE, GREY)
DPI = 100


def draw(result: ReproductionResult) -> Figure:
    """The picture of what a reproduction found."""
    return DRAWINGS[REPRODUCTIONS[result.id].plot](result)


def draw_reproduction(result: ReproductionResult, path: str | Path) -> Path:
    """Draw a reproduction into a file (.png, .svg or .pdf), whose folder is made if need be; gives the path back."""
    figure, place = draw(result), Path(path)
    place.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(place, dpi=DPI)
    pyplot().close(figure)
    return place


def majority_vote(result: ReproductionResult) -> Figure:
    """B-1: the error of the majority over the number of voters; rings are the table of the document."""
    figure, (ax,) = _figure(1, (6.4, 4.0))
    for ((p, rho), table), color in zip(result.study.items(), (BLUE, GREEN, ORANGE), strict=True):
        label = f"right with probability {p}" + (f", correlation {rho:g}" if rho else "")
        ax.plot(table.n_voters, table.errors[0], color=color, linewidth=1.6, label=label)
    rows = [row for row in result.rows if row.published is not None]
    ring: dict[str, Any] = {"markerfacecolor": "none", "markeredgewidth": 1.5, "markersize": 8, "color": VERMILION}
    ax.plot(DOCUMENT_VOTERS, [row.published for row in rows], "o", label="the document's table", **ring)
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter("{x:g}")
    ax.set_ylim(bottom=-0.01)
    ax.legend(frameon=False, fontsize="small")
    _finish(ax, "voters", "error of the majority")
    return figure


def polynomial_intervals(result: ReproductionResult) -> Figure:
    """C-2: a polynomial, its 90 % prediction intervals by theory and by the bootstrap, for two kinds of noise."""
    found = result.study
    figure, panels = _figure(len(found.intervals), (9.4, 4.0))
    for ax, (noise, methods) in zip(panels, found.intervals.items(), strict=True):
        ax.plot(found.X[noise][:, 0], found.y[noise], ".", color="#888888", markersize=6)
        for (method, one), color, style in zip(methods.items(), (VERMILION, BLUE), ("--", "-"), strict=True):
            x = one.X[:, 0]
            ax.plot(x, one.prediction, color="black", linewidth=1.0)
            held = found.coverage[noise][method]
            label = (
                f"{method}: holds {held.share.value:.1%}, {held.below.mean():.1%} below, {held.above.mean():.1%} above"
            )
            ax.plot(x, one.new.low, style, color=color, linewidth=1.4, label=label)
            ax.plot(x, one.new.high, style, color=color, linewidth=1.4)
        low, high = ax.get_ylim()
        ax.set_ylim(low, high + 0.22 * (high - low))
        ax.set_title(noise, fontsize="medium", loc="left")
        ax.legend(frameon=False, fontsize="small", loc="upper left")
        _finish(ax, "x", "y")
    return figure


def bias_variance(result: ReproductionResult) -> Figure:
    """B-2: the fits of every training set, their mean and the truth, for each learner."""
    parts = result.study.parts
    figure, panels = _figure(len(parts), (2.9 * len(parts), 3.3))
    for ax, (name, one) in zip(panels, parts.items(), strict=True):
        x = one.source.X[:, 0]
        order = np.argsort(x)[::4]  # every fourth of the rows is enough for a line
        ax.plot(x[order], one.answers[:, order].T, color=BLUE, linewidth=0.4, alpha=0.25)
        ax.plot(x[order], one.source.truth[order], color=VERMILION, linewidth=1.6, label="truth")
        ax.plot(x[order], one.answers[:, order].mean(axis=0), color="black", linewidth=1.4, label="mean of the fits")
        bias = round(one.bias.value, 3) + 0.0  # an estimate without bias of its own may be a little below zero
        ax.set_title(f"{name}\nbias {bias:.3f}, variance {one.variance.value:.3f}", fontsize="medium")
        ax.set_ylim(-2.0, 2.0)
        _finish(ax, "x", "")
    panels[0].set_ylabel("y")
    panels[0].legend(frameon=False, fontsize="small", loc="lower left")
    return figure


def bagged_trees(result: ReproductionResult) -> Figure:
    """C-7: error against the number of trees, for full and for small trees."""
    return BaggingSimulationDisplay.from_study(result.study).figure_


def spam(result: ReproductionResult) -> Figure:
    """D-8: test and out-of-bag error against the number of trees."""
    return SpamExperimentDisplay.from_study(result.study).figure_


def rare_class(result: ReproductionResult) -> Figure:
    """D-9: four importances of three groups of variables."""
    figure, ax = _figure(1, (7.6, 3.8))
    words = {"frequent": "needed by the frequent classes", "rare": "needed by the rare class", "noise": "noise"}
    for k, (group, color) in enumerate(zip(GROUPS, (BLUE, VERMILION, GREY), strict=True)):
        means = [result.study.importance(kind, group) for kind in KINDS]
        style: dict[str, Any] = {"color": color, "capsize": 2.5, "error_kw": {"elinewidth": 1.0}, "label": words[group]}
        values, errors = [mean.value for mean in means], [mean.stderr for mean in means]
        ax[0].bar(np.arange(len(KINDS)) + 0.27 * (k - 1), values, 0.25, yerr=errors, **style)
    ax[0].axhline(0.0, color=GREY, linewidth=0.8)
    ax[0].set_xticks(range(len(KINDS)), KINDS)
    ax[0].set_ylim(min(-8.0, ax[0].get_ylim()[0]), 135.0)
    ax[0].legend(frameon=False, fontsize="small", loc="upper right", ncols=3)
    _finish(ax[0], "", "importance, largest = 100")
    return figure


def published_and_obtained(result: ReproductionResult) -> Figure:
    """A table of a paper: published numbers as rings, ours as dots with bars of two standard errors."""
    rows = [row for row in result.rows if row.published is not None]
    figure, ax = _figure(1, (7.6, 0.9 + 0.27 * len(rows)))
    place = -np.arange(len(rows))
    obtained, stderr = np.array([row.obtained for row in rows]), np.array([row.stderr for row in rows])
    ax[0].errorbar(obtained, place, xerr=2.0 * stderr, fmt="o", color=BLUE, markersize=4.5, capsize=2.5, elinewidth=1.1,
                   label="obtained, ± 2 standard errors")  # fmt: skip
    ring: dict[str, Any] = {"markerfacecolor": "none", "markeredgewidth": 1.5, "markersize": 8, "color": VERMILION}
    ax[0].plot([row.published for row in rows], place, "o", label="published", **ring)
    ax[0].set_yticks(place, [row.what.removesuffix(", error %") for row in rows], fontsize="small")
    ax[0].set_xlim(left=0.0)
    ax[0].set_ylim(0.6 - len(rows), 0.6)
    ax[0].grid(axis="x", color="#DDDDDD", linewidth=0.6)
    ax[0].legend(frameon=True, framealpha=0.9, edgecolor="none", fontsize="small", loc="best")
    _finish(ax[0], "error %", "")
    return figure


def two_boosters(result: ReproductionResult) -> Figure:
    """E-5, G-1: training (thin) and test error (thick) of two boosters over the rounds, one panel per set."""
    experiments: Mapping[str, Mapping[str, BoostingExperiment]] = result.study.experiments
    n_columns = 2 if len(experiments) % 2 == 0 else len(experiments)
    n_lines = len(experiments) // n_columns
    figure, panels = _figure(len(experiments), (4.4 * n_columns, 3.3 * n_lines), n_lines)
    for ax, (name, both) in zip(panels, experiments.items(), strict=True):
        n_rounds = max(int(one.rounds[-1]) for one in both.values())
        for color, (booster, one) in zip((VERMILION, BLUE), both.items(), strict=True):
            _draw_booster(ax, booster, one, color, n_rounds)
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter("{x:g}")
        ax.set_ylim(0.0, 1.3 * ax.get_ylim()[1])
        ax.set_title(name, fontsize="medium", loc="left")
        ax.legend(frameon=False, fontsize="small", loc="upper right")
        _finish(ax, "round", "error (thin: training)")
    return figure


def boosting_curves(result: ReproductionResult) -> Figure:
    """E-13: errors over the rounds above, margin distributions below."""
    n = len(result.study)
    figure, panels = _figure(2 * n, (4.3 * n, 7.0), 2)
    ExperimentErrorsDisplay.from_experiment(result.study, ax=panels[:n])
    margins = ExperimentMarginsDisplay.from_experiment(result.study, ax=panels[n:])
    for ax, lines in zip(panels[n:], margins.lines_.values(), strict=True):  # narrow panels have room for short words
        words = [f"{t} round{'s' if t > 1 else ''}" for t in lines]
        ax.legend(lines.values(), words, frameon=False, fontsize="small", loc="upper left")
    for ax, (name, one) in zip(panels, result.study.items(), strict=False):
        ax.set_title(f"{name}: {one.short_verdict}", fontsize="medium", loc="left")
    return figure


def three_rounds(result: ReproductionResult) -> Figure:
    """E-14: the weights, the stumps and their vote."""
    found = result.study
    return DecisionRoundsDisplay.from_estimator(found.booster, found.X, found.y, n_rounds=3).figure_


def rounds_or_theta(result: ReproductionResult) -> Figure:
    """F-2: test errors with the rounds, theta or nothing chosen, by set."""
    curves = result.curves
    names = list(dict.fromkeys(curves.panel.tolist()))
    figure, ax = _figure(1, (6.4, 3.6))
    for k, (what, color) in enumerate(zip(("rounds", "theta", "nothing"), COLORS, strict=False)):
        own = curves.curve == what
        place = np.arange(len(names)) + 0.16 * (k - 1)
        label = f"{what} chosen by validation" if what != "nothing" else "neither, all rounds"
        bars = {"fmt": "o", "color": color, "capsize": 3.0, "label": label}
        ax[0].errorbar(place, curves.value[own], yerr=curves.stderr[own], **bars)
    ax[0].set_xticks(range(len(names)), names)
    ax[0].set_xlim(-0.5, len(names) - 0.5)
    ax[0].set_ylim(0.0, 1.35 * float(np.max(curves.value + curves.stderr)))
    ax[0].legend(frameon=False, fontsize="small", loc="upper left", ncols=2)
    _finish(ax[0], "", "test error ± one standard error")
    return figure


def margin_maximisation(result: ReproductionResult) -> Figure:
    """F-6: test error over the smallest margin, by set and weak learner."""
    return MarginMaximisationDisplay.from_study(result.study.studies).figure_


def local_experts(result: ReproductionResult) -> Figure:
    """H: the fits of one and of three experts; the gate of the three."""
    found = result.study
    figure, (above, below) = _figure(2, (6.8, 5.6), 2)
    x = np.linspace(float(found.X.min()), float(found.X.max()), 400)
    grid = x[:, np.newaxis]
    above.plot(found.X[:, 0], found.y, ".", color="#AAAAAA", markersize=4, label="training rows")
    above.plot(x, piecewise(x), color=GREY, linewidth=4.0, alpha=0.35, label=f"truth (noise {NOISE})")
    for n, color in ((1, VERMILION), (3, BLUE)):
        model = found.models[found.n_experts.index(n)]
        label = f"{n} linear expert{'s' if n > 1 else ''}: RMSE {found.error(n).value:.3f}"
        above.plot(x, model.predict(grid), color=color, linewidth=1.6, label=label)
    above.legend(frameon=False, fontsize="small", loc="upper center")
    _finish(above, "", "y")
    gate = found.models[found.n_experts.index(3)].gate_proba(grid)
    order = np.argsort(gate.argmax(axis=0))
    for k, color in zip(order, (BLUE, GREEN, ORANGE), strict=True):
        below.plot(x, gate[:, k], color=color, linewidth=1.6)
    below.set_ylim(-0.02, 1.05)
    _finish(below, "x", "gate of three experts")
    return figure


def exclusive_or(result: ReproductionResult) -> Figure:
    """I-5: the plane, the map, the kernel."""
    return XorDisplay.from_study(result.study).figure_


def _draw_booster(ax: Any, booster: str, one: BoostingExperiment, color: str, n_rounds: int) -> None:
    """Curves of one booster; one that stopped is drawn on level, and ends in a dot where it did."""
    rounds: NDArray[np.int64] = one.rounds
    for kind, width in (("test", 1.8), ("train", 0.8)):
        values = getattr(one, f"{kind}_error")
        label = f"{booster}: {values[-1]:.3f}" if kind == "test" else None
        ax.plot(rounds, values, color=color, linewidth=width, label=label)
        if rounds[-1] < n_rounds:
            ax.plot([rounds[-1], n_rounds], values[[-1, -1]], color=color, linewidth=width, linestyle=":")
            ax.plot(rounds[-1:], values[-1:], "o", color=color, markersize=3.0 + width)


def _figure(n: int, size: tuple[float, float], n_lines: int = 1) -> tuple[Figure, Sequence[Any]]:
    """A figure with n panels in n_lines lines."""
    figure, panels = pyplot().subplots(n_lines, n // n_lines, figsize=size, layout="constrained", squeeze=False)
    return figure, list(panels.ravel())


def _finish(ax: Any, xlabel: str, ylabel: str) -> None:
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


DRAWINGS: dict[str, Callable[[ReproductionResult], Figure]] = {
    "majority_vote": majority_vote,
    "bias_variance": bias_variance,
    "polynomial_intervals": polynomial_intervals,
    "bagged_trees": bagged_trees,
    "spam": spam,
    "rare_class": rare_class,
    "breiman_2001": published_and_obtained,
    "freund_schapire_1996": published_and_obtained,
    "confidence_rated": two_boosters,
    "multiclass_boosting": two_boosters,
    "boosting_curves": boosting_curves,
    "three_rounds": three_rounds,
    "rounds_or_theta": rounds_or_theta,
    "margin_maximisation": margin_maximisation,
    "local_experts": local_experts,
    "exclusive_or": exclusive_or,
}
