"""Rounds of a booster as curves: errors with their bounds, edges and coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from committee.base.array_types import Floats
from committee.members.member import TreeMember
from committee.plots._checks import recorded
from committee.plots._style import BLUE, GREEN, GREY, MAX_DOTTED, ORANGE, PURPLE, VERMILION, Scale, pyplot
from committee.records.history import History
from committee.trees.decision_stump import DecisionStump

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import FillBetweenPolyCollection
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    from committee.boosting._classifier_base import BaseBooster


class ErrorCurveDisplay:
    """Training, validation and test error over the rounds, with the bounds of theory (E-7, E-11, J-1).

    The exponential risk, the product of the normalisers Z, bounds the training error. The share of the training rows
    with a margin of at most theta is bound by the risk times exp(theta sum |a|), for AdaBoost the product of
    2 sqrt(e^(1 - theta) (1 - e)^(1 + theta)). A curve that the booster did not measure is left out.

    Attributes
    ----------
    history : what the fit measured
    test_error : error after every member on the rows passed, or None
    ax_, figure_ : the axes and the figure of the last plot
    lines_ : name -> curve, of "train", "validation", "test", "risk", "margin"
    kept_ : the line at the round that early stopping kept, or None
    """

    ax_: Axes
    figure_: Figure
    lines_: dict[str, Line2D]
    kept_: Line2D | None

    def __init__(
        self, history: History, *, test_error: Floats | None = None, theta: float | None = None,
        n_kept: int | None = None,
    ) -> None:  # fmt: skip
        self.history, self.test_error, self.theta = history, test_error, theta
        self.n_kept = history.n_rounds if n_kept is None else n_kept

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseBooster,
        X: Any = None,
        y: Any = None,
        *,
        theta: float | None = None,
        xscale: Scale = "linear",
        yscale: Scale = "linear",
        ax: Axes | None = None,
    ) -> Self:
        """Draw the errors of a fitted booster.

        Parameters
        ----------
        X, y : test rows and their labels, optional
        theta : float, optional
            Also draw the bound of the share of training margins that are at most theta.
        xscale, yscale : {"linear", "log"}
            Scales of the rounds and of the errors. A log scale of the errors keeps a place for zero.
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.
        """
        history = recorded(estimator, "train_error", cls.__name__, "errors of rounds", "boosters")
        if (X is None) != (y is None):
            raise ValueError("A test error needs rows and labels: pass both X and y, or neither.")
        test = None if X is None else 1.0 - np.array(list(estimator.staged_score(X, y)))
        display = cls(history, test_error=test, theta=theta, n_kept=_rounds_kept(estimator, history))
        return display.plot(ax, xscale=xscale, yscale=yscale)

    def plot(self, ax: Axes | None = None, *, xscale: Scale = "linear", yscale: Scale = "linear") -> Self:
        """Draw the curves; see `from_estimator`."""
        curves = self._curves()
        if not curves:
            raise ValueError(f"The history has no error to draw; it has {', '.join(self.history)}.")
        axes: Any = pyplot().subplots(figsize=(7.0, 4.5), layout="constrained")[1] if ax is None else ax
        self.ax_, self.figure_ = axes, axes.figure
        self.lines_ = {name: _curve(axes, values, **style) for name, (values, style) in curves.items()}
        self.kept_ = self._mark_kept(axes)
        _scale_errors(axes, {name: values for name, (values, _) in curves.items()}, yscale)
        _scale_rounds(axes, self.history.n_rounds, xscale)
        axes.set_ylabel("error")
        axes.legend(frameon=False, fontsize="small")
        return self

    def _curves(self) -> dict[str, tuple[Floats, dict[str, Any]]]:
        """Name -> values and style; errors are full lines, bounds broken ones."""
        risk, margin = measured(self.history, "exponential_risk"), self._margin_bound()
        result = {
            "train": (measured(self.history, "train_error"), {"color": BLUE}, "training error"),
            "validation": (measured(self.history, "validation_error"), {"color": GREEN}, "validation error"),
            "test": (self.test_error, {"color": VERMILION}, "test error"),
            "risk": (risk, _bound_style(BLUE, "--"), "bound of the training error: exponential risk"),
            "margin": (margin, _bound_style(GREY, ":"), f"bound of the share of training margins ≤ {self.theta}"),
        }
        return {
            name: (
                values,
                {**style, "label": label if name in ("risk", "margin") else _with_value(label, values, self.n_kept)},
            )
            for name, (values, style, label) in result.items()
            if values is not None
        }

    def _margin_bound(self) -> Floats | None:
        """1[margin <= theta] <= exp(theta sum |a| - y f), whose mean under the initial weights is prod Z exp(...)."""
        if self.theta is None:
            return None
        z, coefficient = measured(self.history, "normalizer"), measured(self.history, "coefficient")
        if z is None or coefficient is None:
            raise ValueError("The margin bound is made of Z and the coefficients, which this booster does not record.")
        log_bound = np.cumsum(np.log(z)) + self.theta * np.cumsum(np.abs(coefficient))
        return np.exp(np.minimum(log_bound, 700.0))

    def _mark_kept(self, ax: Any) -> Line2D | None:
        if self.n_kept >= self.history.n_rounds:
            return None
        return ax.axvline(
            self.n_kept, color=GREY, linewidth=0.9, label=f"early stopping kept {self.n_kept} rounds", zorder=1
        )


class EdgeDisplay:
    """Edges and the smallest margin over the rounds, and the coefficients below them (E-9, E-10, J-2).

    The best smallest margin that any vote can have lies between the smallest margin and the smallest edge so far when
    every round finds the largest edge, as it does with `DecisionStump`, two classes and reweighting: then this gap is
    filled. Margin targets theta are drawn where there are any.

    Attributes
    ----------
    history : what the fit measured
    ax_, figure_ : the axes of the edges and the figure of the last plot
    coefficient_ax_ : the axes of the coefficients, or None (also where the booster records none)
    lines_ : name -> curve, of "edge", "min_edge", "min_margin", "theta", "coefficient"
    gap_ : the filled gap, or None
    """

    ax_: Axes
    figure_: Figure
    coefficient_ax_: Axes | None
    lines_: dict[str, Line2D]
    gap_: FillBetweenPolyCollection | None

    def __init__(self, history: History, *, encloses: bool = False) -> None:
        self.history, self.encloses = history, encloses

    @classmethod
    def from_estimator(
        cls, estimator: BaseBooster, *, xscale: Scale = "linear", ax: Axes | Sequence[Axes] | None = None
    ) -> Self:
        """Draw the edges and coefficients of a fitted booster.

        Parameters
        ----------
        xscale : {"linear", "log"}
            Scale of the rounds.
        ax : one or two matplotlib axes, optional
            Where to draw; one gets the edges, a second the coefficients. A new figure with both by default.
        """
        history = recorded(estimator, "edge", cls.__name__, "edges of rounds", "boosted classifiers")
        return cls(history, encloses=_finds_largest_edge(estimator)).plot(ax, xscale=xscale)

    def plot(self, ax: Axes | Sequence[Axes] | None = None, *, xscale: Scale = "linear") -> Self:
        """Draw the curves; see `from_estimator`."""
        upper, lower = self._panels(ax)
        self.ax_, self.figure_, self.coefficient_ax_ = upper, upper.figure, lower
        self.lines_, self.gap_ = {}, None
        self._draw_edges(upper)
        _scale_rounds(upper if lower is None else lower, self.history.n_rounds, xscale)
        if lower is not None:
            self._draw_coefficients(lower)
            _scale_rounds(upper, self.history.n_rounds, xscale)
            upper.set_xlabel("")
        return self

    def _panels(self, ax: Axes | Sequence[Axes] | None) -> tuple[Any, Any]:
        has_coefficients = measured(self.history, "coefficient") is not None
        if ax is None and not has_coefficients:
            return pyplot().subplots(figsize=(7.0, 4.0), layout="constrained")[1], None
        if ax is None:
            options = {"figsize": (7.0, 5.6), "layout": "constrained", "height_ratios": (3, 2)}
            return tuple(pyplot().subplots(2, 1, sharex=True, **options)[1])
        panels: list[Any] = list(np.ravel(np.asarray(ax, dtype=object)))
        if len(panels) > 2:
            raise ValueError(f"Edges and coefficients need one or two axes, got {len(panels)}.")
        return (panels[0], panels[1]) if len(panels) == 2 and has_coefficients else (panels[0], None)

    def _draw_edges(self, ax: Any) -> None:
        edge, margin = measured(self.history, "edge"), measured(self.history, "min_margin")
        theta = measured(self.history, "theta")
        if edge is not None:
            lowest = np.minimum.accumulate(edge)
            self._add(ax, "edge", edge, "edge of the round", color=ORANGE, linewidth=0.9, marker=".", markersize=3)
            self._add(ax, "min_edge", lowest, f"smallest edge so far: {lowest[-1]:.3f} at the end", color=VERMILION)
            if self.encloses and margin is not None:
                self.gap_ = _fill_gap(ax, margin, lowest)
        if margin is not None:
            self._add(ax, "min_margin", margin, f"smallest margin: {margin[-1]:.3f} at the end", color=BLUE)
        if theta is not None and np.any(theta != 0.0):
            self._add(ax, "theta", theta, "margin target theta", color=GREEN, linestyle="--", linewidth=1.3)
        ax.axhline(0.0, color=GREY, linewidth=0.6, zorder=0)
        ax.set_ylabel("edge, margin")
        ax.legend(frameon=False, fontsize="small", ncols=2, loc="lower left", bbox_to_anchor=(0.0, 1.0))

    def _draw_coefficients(self, ax: Any) -> None:
        coefficient = np.asarray(self.history.coefficient, np.float64)
        self._add(ax, "coefficient", coefficient, "", color=PURPLE, linewidth=0.9, marker=".", markersize=3)
        ax.set_ylim(min(0.0, 1.1 * float(coefficient.min())), None)
        ax.axhline(0.0, color=GREY, linewidth=0.6, zorder=0)
        ax.set_ylabel("coefficient")

    def _add(self, ax: Any, name: str, values: Floats, label: str, **style: Any) -> None:
        self.lines_[name] = _curve(ax, values, label=label, **style)


def measured(history: History, name: str) -> Floats | None:
    """A column of the history, or None where the booster did not measure it."""
    values = history.get(name)
    if values is None or np.all(np.isnan(values)):
        return None
    return np.asarray(values, np.float64)


def _rounds_kept(estimator: BaseBooster, history: History) -> int:
    """The rounds in the vote: all, or those up to the best one on the validation rows."""
    if estimator.early_stopping != "validation":
        return history.n_rounds
    # a vote that is made anew in every round does not grow by a member each
    return len(estimator.members_) if "coefficient" in history else int(np.argmin(history.validation_error)) + 1


def _finds_largest_edge(estimator: BaseBooster) -> bool:
    """Whether every round's hypothesis has the largest edge of all: stumps that vote -1 or +1, under the weights."""
    first = estimator.members_[0]
    is_vote = isinstance(first, TreeMember) and first.node_predictions.dtype == np.int8
    is_weighted = getattr(estimator, "weighting", "reweight") == "reweight"
    stump = estimator.estimators_[0]
    return is_vote and is_weighted and isinstance(stump, DecisionStump) and stump.class_weight is None


def _curve(ax: Any, values: Floats, **style: Any) -> Line2D:
    rounds = np.arange(1, values.size + 1)
    options = {"linewidth": 1.6, "marker": "." if values.size <= MAX_DOTTED else "", **style}
    return ax.plot(rounds, values, **options)[0]


def _bound_style(color: str, linestyle: str) -> dict[str, Any]:
    return {"color": color, "linestyle": linestyle, "linewidth": 1.3, "marker": ""}


def _with_value(label: str, values: Floats, n: int) -> str:
    return f"{label}: {values[n - 1]:.3f} after {n} round{'s' if n > 1 else ''}"


def _fill_gap(ax: Any, low: Floats, high: Floats) -> FillBetweenPolyCollection:
    rounds = np.arange(1, low.size + 1)
    label = f"gap around the best margin: {high[-1] - low[-1]:.3f}"
    return ax.fill_between(rounds, low, high, color=BLUE, alpha=0.12, linewidth=0, label=label)


def _scale_rounds(ax: Any, n_rounds: int, scale: Scale) -> None:
    from matplotlib.ticker import MaxNLocator

    if scale == "log":
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter("{x:g}")
        ax.set_xlim(0.95, max(n_rounds, 2) * 1.05)
    else:
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set_xlim(1 - 0.02 * n_rounds - 0.2, n_rounds * 1.02 + 0.2)
    ax.set_xlabel("round")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def _scale_errors(ax: Any, curves: dict[str, Floats], scale: Scale) -> None:
    """Errors from 0 up; a bound above 1 says nothing and is cut off."""
    errors = np.concatenate([curves[name] for name in curves if name not in ("risk", "margin")] or [np.ones(1)])
    highest = min(max(float(values.max()) for values in curves.values()), 1.0)
    if scale == "linear":
        ax.set_ylim(-0.02 * highest, 1.05 * highest)
        return
    smallest = float(errors[errors > 0.0].min(initial=1.0))
    ax.set_yscale("symlog", linthresh=smallest, linscale=0.5)  # linear, with zero, below the smallest error seen
    ax.set_ylim(-0.15 * smallest, 1.3 * highest)
    ticks = [tick for tick in 10.0 ** np.arange(-8, 1) for tick in (tick, 2 * tick, 5 * tick)]
    shown = [tick for tick in ticks if smallest <= tick <= 1.3 * highest]
    ax.set_yticks([0.0, *shown], ["0", *(f"{tick:g}" for tick in shown)])
    ax.minorticks_off()
