"""Rounds of a booster as curves: errors with their bounds, edges and coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from committee.base.array_types import Floats
from committee.base.text import pluralize
from committee.members.member import TreeMember
from committee.plots._checks import measured, recorded
from committee.plots._display import SingleDisplay
from committee.plots._style import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    VERMILION,
    Scale,
    add_legend,
    draw_curve,
    panels,
    scale_count,
    single_axes,
)
from committee.records.history import History
from committee.trees.decision_stump import DecisionStump

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import FillBetweenPolyCollection
    from matplotlib.lines import Line2D

    from committee.boosting.classifier_base import BaseBooster


class ErrorCurveDisplay(SingleDisplay):
    """Training, validation and test error over the rounds, with the bounds of theory.

    The exponential risk, the product of the normalisers Z, bounds the training error. The fraction of the training rows
    with a margin of at most theta is bounded by the risk times exp(theta sum |a|), for AdaBoost the product of
    2 sqrt(e^(1 - theta) (1 - e)^(1 + theta)). Curves that the booster did not measure are omitted.

    Attributes
    ----------
    history : history of the fit
    test_error : error after every round on the test rows, or None
    ax_, figure_ : axes and figure
    lines_ : dict of name -> curve, of "train", "validation", "test", "risk", "margin"
    kept_ : line at the round that early stopping kept, or None

    Examples
    --------
    >>> from committee import AdaBoostClassifier
    >>> from committee.datasets import load_dataset
    >>> sonar = load_dataset("sonar")
    >>> model = AdaBoostClassifier(n_estimators=10).fit(sonar.X, sonar.y)
    >>> list(ErrorCurveDisplay.from_estimator(model).lines_)
    ['train', 'risk']
    """

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
        estimator : fitted booster
        X, y : test rows and their labels, optional
        theta : float, optional
            Also draw the bound on the fraction of training margins that are at most theta.
        xscale, yscale : {"linear", "log"}
            Scales of the rounds and of the errors. A log scale of the errors includes zero.
        """
        history = recorded(estimator, "train_error", cls.__name__, "errors of rounds", "boosters")
        if (X is None) != (y is None):
            raise ValueError("The test error needs rows and labels: pass both X and y, or neither.")
        test = None if X is None else 1.0 - np.array(list(estimator.staged_score(X, y)))
        display = cls(history, test_error=test, theta=theta, n_kept=_rounds_kept(estimator, history))
        return display.plot(ax, xscale=xscale, yscale=yscale)

    def plot(self, ax: Axes | None = None, *, xscale: Scale = "linear", yscale: Scale = "linear") -> Self:
        """Draw the curves; see `from_estimator`."""
        curves = self._curves()
        if not curves:
            raise ValueError(f"The history has no error to draw; it has {', '.join(self.history)}.")
        axes, n_rounds = self._open(ax, (7.0, 4.5)), self.history.n_rounds
        self.lines_ = {name: draw_curve(axes, values, **style) for name, (values, style) in curves.items()}
        self.kept_ = None
        if self.n_kept < n_rounds:
            label = f"early stopping kept {self.n_kept} rounds"
            self.kept_ = axes.axvline(self.n_kept, color=GREY, linewidth=0.9, label=label, zorder=1)
        _scale_errors(axes, {name: values for name, (values, _) in curves.items()}, yscale)
        scale_count(axes, n_rounds, xscale, "round")
        axes.set_ylabel("error")
        add_legend(axes)
        return self

    def _curves(self) -> dict[str, tuple[Floats, dict[str, Any]]]:
        """Name -> values and style; errors are solid lines, bounds dashed or dotted ones."""
        errors = {
            "train": (measured(self.history, "train_error"), BLUE, "training error"),
            "validation": (measured(self.history, "validation_error"), GREEN, "validation error"),
            "test": (self.test_error, VERMILION, "test error"),
        }
        bound = f"bound of the fraction of training margins ≤ {self.theta}"
        risk = measured(self.history, "exponential_risk")
        bounds = {
            "risk": (risk, BLUE, "--", "bound of the training error: exponential risk"),
            "margin": (self._margin_bound(), GREY, ":", bound),
        }
        result: dict[str, tuple[Floats, dict[str, Any]]] = {}
        for name, (values, color, label) in errors.items():
            if values is not None:
                last = f"{label}: {values[self.n_kept - 1]:.3f} after {pluralize(self.n_kept, 'round')}"
                result[name] = values, {"color": color, "label": last}
        for name, (values, color, line, label) in bounds.items():
            if values is not None:
                style = {"color": color, "linestyle": line, "linewidth": 1.3, "marker": "", "label": label}
                result[name] = values, style
        return result

    def _margin_bound(self) -> Floats | None:
        """1[margin <= theta] <= exp(theta sum |a| - y f), whose mean under the initial weights is prod Z exp(...)."""
        if self.theta is None:
            return None
        z, coefficient = measured(self.history, "normalizer"), measured(self.history, "coefficient")
        if z is None or coefficient is None:
            raise ValueError("The margin bound needs Z and the coefficients, which this booster does not record.")
        log_bound = np.cumsum(np.log(z)) + self.theta * np.cumsum(np.abs(coefficient))
        return np.exp(np.minimum(log_bound, 700.0))


class EdgeDisplay(SingleDisplay):
    """Edges and the smallest margin over the rounds, and the coefficients below them.

    The largest possible minimum margin of any vote lies between the smallest margin and the smallest edge so far when
    every round finds the largest edge, as it does with `DecisionStump`, two classes and reweighting: then this gap is
    filled. Margin targets theta are drawn if the booster has any.

    Attributes
    ----------
    history : history of the fit
    ax_, figure_ : axes of the edges, and figure
    coefficient_ax_ : axes of the coefficients, or None
    lines_ : dict of name -> curve, of "edge", "min_edge", "min_margin", "theta", "coefficient"
    gap_ : the filled gap, or None

    Examples
    --------
    >>> from committee import AdaBoostClassifier
    >>> from committee.datasets import load_dataset
    >>> sonar = load_dataset("sonar")
    >>> model = AdaBoostClassifier(n_estimators=10).fit(sonar.X, sonar.y)
    >>> list(EdgeDisplay.from_estimator(model).lines_)
    ['edge', 'min_edge', 'min_margin', 'coefficient']
    """

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
        estimator : fitted booster of classifiers
        xscale : {"linear", "log"}
            Scale of the rounds.
        ax : one or two matplotlib axes, optional
            Axes of the edges, and of the coefficients; a new figure with both by default.
        """
        history = recorded(estimator, "edge", cls.__name__, "edges of rounds", "boosted classifiers")
        return cls(history, encloses=_finds_largest_edge(estimator)).plot(ax, xscale=xscale)

    def plot(self, ax: Axes | Sequence[Axes] | None = None, *, xscale: Scale = "linear") -> Self:
        """Draw the curves; see `from_estimator`."""
        upper, lower = self._two_axes(ax)
        self.ax_, self.figure_, self.coefficient_ax_ = upper, upper.figure, lower
        self.lines_, self.gap_ = {}, None
        self._draw_edges(upper)
        scale_count(upper, self.history.n_rounds, xscale, "round" if lower is None else "")
        if lower is not None:
            self._draw_coefficients(lower)
            scale_count(lower, self.history.n_rounds, xscale, "round")
        return self

    def _two_axes(self, ax: Axes | Sequence[Axes] | None) -> tuple[Any, Any]:
        has_coefficients = measured(self.history, "coefficient") is not None
        if ax is None and not has_coefficients:
            return single_axes(None, (7.0, 4.0)), None
        n = 2 if ax is None else np.size(np.asarray(ax, dtype=object))
        if n > 2:
            raise ValueError(f"Edges and coefficients need one or two axes, got {n}.")
        upper, *lower = panels(ax, n, (7.0, 2.8), n_columns=1, sharex=True, height_ratios=(3, 2))
        return upper, lower[0] if lower and has_coefficients else None

    def _draw_edges(self, ax: Any) -> None:
        edge, margin = measured(self.history, "edge"), measured(self.history, "min_margin")
        theta = measured(self.history, "theta")
        if edge is not None:
            lowest = np.minimum.accumulate(edge)
            self._add(ax, "edge", edge, "edge of the round", color=ORANGE, linewidth=0.9, marker=".", markersize=3)
            label = f"smallest edge so far: {lowest[-1]:.3f} at the end"
            self._add(ax, "min_edge", lowest, label, color=VERMILION)
            if self.encloses and margin is not None:
                rounds, label = (
                    np.arange(1, edge.size + 1),
                    f"gap around the best margin: {lowest[-1] - margin[-1]:.3f}",
                )
                style: dict[str, Any] = {"color": BLUE, "alpha": 0.12, "linewidth": 0, "label": label}
                self.gap_ = ax.fill_between(rounds, margin, lowest, **style)
        if margin is not None:
            self._add(ax, "min_margin", margin, f"smallest margin: {margin[-1]:.3f} at the end", color=BLUE)
        if theta is not None and np.any(theta != 0.0):
            self._add(ax, "theta", theta, "margin target theta", color=GREEN, linestyle="--", linewidth=1.3)
        ax.axhline(0.0, color=GREY, linewidth=0.6, zorder=0)
        ax.set_ylabel("edge, margin")
        add_legend(ax, ncols=2, loc="lower left", bbox_to_anchor=(0.0, 1.0))

    def _draw_coefficients(self, ax: Any) -> None:
        coefficient = np.asarray(self.history.coefficient, np.float64)
        self._add(ax, "coefficient", coefficient, "", color=PURPLE, linewidth=0.9, marker=".", markersize=3)
        ax.set_ylim(min(0.0, 1.1 * float(coefficient.min())), None)
        ax.axhline(0.0, color=GREY, linewidth=0.6, zorder=0)
        ax.set_ylabel("coefficient")

    def _add(self, ax: Any, name: str, values: Floats, label: str, **style: Any) -> None:
        self.lines_[name] = draw_curve(ax, values, label=label, **style)


def _rounds_kept(estimator: BaseBooster, history: History) -> int:
    """The rounds in the vote: all, or those up to the best one on the validation rows."""
    if estimator.early_stopping != "validation":
        return history.n_rounds
    # a vote whose coefficients are computed again in every round does not grow by one member each
    return len(estimator.members_) if "coefficient" in history else int(np.argmin(history.validation_error)) + 1


def _finds_largest_edge(estimator: BaseBooster) -> bool:
    """Whether every round's hypothesis has the largest edge of all: stumps that vote -1 or +1, under the weights."""
    first = estimator.members_[0]
    is_vote = isinstance(first, TreeMember) and first.node_predictions.dtype == np.int8
    is_weighted = getattr(estimator, "weighting", "reweight") == "reweight"
    stump = estimator.estimators_[0]
    return is_vote and is_weighted and isinstance(stump, DecisionStump) and stump.class_weight is None


def _scale_errors(ax: Any, curves: dict[str, Floats], scale: Scale) -> None:
    """Errors from 0 up; a bound above 1 carries no information and is cut off."""
    errors = np.concatenate([curves[name] for name in curves if name not in ("risk", "margin")] or [np.ones(1)])
    highest = min(max(float(values.max()) for values in curves.values()), 1.0)
    if scale == "linear":
        ax.set_ylim(-0.02 * highest, 1.05 * highest)
        return
    smallest = float(errors[errors > 0.0].min(initial=1.0))
    ax.set_yscale("symlog", linthresh=smallest, linscale=0.5)  # linear, with zero, below the smallest error
    ax.set_ylim(-0.15 * smallest, 1.3 * highest)
    ticks = [factor * tick for tick in 10.0 ** np.arange(-8, 1) for factor in (1, 2, 5)]
    shown = [tick for tick in ticks if smallest <= tick <= 1.3 * highest]
    ax.set_yticks([0.0, *shown], ["0", *(f"{tick:g}" for tick in shown)])
    ax.minorticks_off()
