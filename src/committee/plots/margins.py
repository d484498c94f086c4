"""Margin distributions of a booster, round by round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from committee.base.array_types import Floats
from committee.plots._checks import recorded, reject
from committee.plots._style import GREY, VERMILION, pyplot
from committee.tabular.validation import read_weights
from committee.theory.margins import MarginDistribution, margin_distribution

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    from committee.boosting._classifier_base import BaseBooster


USUAL_ROUNDS = (1, 5, 50)


class MarginDistributionDisplay:
    """Share of rows with a margin of at most theta, over theta, after several rounds (E-9; Schapire et al. 1998).

    Left of 0 are the errors. The dot at the foot of a curve is its smallest margin.

    Attributes
    ----------
    distributions : round -> its cumulative distribution
    largest_margin : the largest smallest margin possible, rho*, or None
    ax_, figure_ : the axes and the figure of the last plot
    lines_ : round -> its curve
    smallest_ : round -> the dot at its smallest margin
    best_ : the line at rho*, or None
    """

    ax_: Axes
    figure_: Figure
    lines_: dict[int, Line2D]
    smallest_: dict[int, Line2D]
    best_: Line2D | None

    def __init__(self, distributions: Mapping[int, MarginDistribution], largest_margin: float | None = None) -> None:
        self.distributions, self.largest_margin = dict(distributions), largest_margin

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseBooster,
        X: Any,
        y: Any,
        *,
        rounds: Sequence[int] | None = None,
        sample_weight: ArrayLike | None = None,
        largest_margin: float | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the margins of rows under a fitted booster.

        Parameters
        ----------
        X, y : rows, usually the training rows, and their labels
        rounds : sequence of int, optional
            Rounds to show; 1, 5, 50 and all by default.
        sample_weight : weights of the rows, optional
        largest_margin : float, optional
            rho*, as `committee.theory.minmax.minmax_over_stumps` computes it, to be drawn as a line.
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.
        """
        what = cls.__name__, "margins of rounds", "boosted classifiers"
        if not hasattr(estimator, "staged_margins"):
            reject(estimator, *what)
        recorded(estimator, "error", *what)
        margins = _margins_after(estimator, X, y, rounds)
        weight = read_weights(sample_weight, next(iter(margins.values())).size)
        return cls({t: margin_distribution(m, weight) for t, m in margins.items()}, largest_margin).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the distributions; see `from_estimator`."""
        plt = pyplot()
        axes: Any = plt.subplots(figsize=(7.0, 4.5), layout="constrained")[1] if ax is None else ax
        self.ax_, self.figure_ = axes, axes.figure
        self.lines_, self.smallest_ = {}, {}
        # the later the round the darker
        colors = plt.get_cmap("viridis_r")(np.linspace(0.12, 1.0, len(self.distributions)))
        for color, (t, result) in zip(colors, self.distributions.items(), strict=True):
            self._draw(axes, t, result, color)
        axes.axvline(0.0, color=GREY, linewidth=0.8, zorder=0)
        self.best_ = self._draw_best(axes)
        _label(axes, min(float(result.value[0]) for result in self.distributions.values()))
        return self

    def _draw(self, ax: Any, t: int, result: MarginDistribution, color: Any) -> None:
        smallest = float(result.value[0])
        value = np.concatenate([[smallest], result.value, [max(float(result.value[-1]), 1.0)]])
        share = np.concatenate([[0.0], result.share, [1.0]])
        label = f"{t} round{'s' if t > 1 else ''}, smallest margin {smallest:.3f}"
        (self.lines_[t],) = ax.step(value, share, where="post", color=color, linewidth=1.6, label=label)
        (self.smallest_[t],) = ax.plot(
            [smallest], [0.0], color=color, marker="o", markersize=7, markeredgecolor="white", clip_on=False, zorder=4
        )

    def _draw_best(self, ax: Any) -> Line2D | None:
        if self.largest_margin is None:
            return None
        label = f"best possible smallest margin {self.largest_margin:.3f}"
        return ax.axvline(self.largest_margin, color=VERMILION, linestyle="--", linewidth=1.3, label=label)


def _margins_after(estimator: BaseBooster, X: Any, y: Any, rounds: Sequence[int] | None) -> dict[int, Floats]:
    """Round -> margins, of the rounds asked for, or of the usual ones and the last."""
    wanted = set(USUAL_ROUNDS) if rounds is None else {int(t) for t in rounds}
    result: dict[int, Floats] = {}
    t, last = 0, np.empty(0)
    for t, last in enumerate(estimator.staged_margins(X, y), start=1):
        if t in wanted:
            result[t] = last
    if rounds is None:
        result[t] = last
    elif not result or wanted - set(result):
        raise ValueError(f"rounds must lie in 1..{t}, the rounds there are; got {list(rounds)}.")
    return result


def _label(ax: Any, smallest: float) -> None:
    ax.set_xlim(min(-1.0, smallest) - 0.03, 1.03)
    ax.set_ylim(0.0, 1.02)
    ax.set_xlabel("normalised margin")
    ax.set_ylabel("share of rows with at most this margin")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.legend(frameon=False, fontsize="small", loc="upper left")
