"""Margin distributions of a booster after several rounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from committee.base.array_types import Floats
from committee.base.text import pluralize
from committee.plots._checks import recorded, reject
from committee.plots._display import SingleDisplay
from committee.plots._style import GREY, VERMILION, add_legend, finish, pyplot
from committee.tabular.validation import read_weights
from committee.theory.margins import MarginDistribution, margin_distribution

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from committee.boosting.classifier_base import BaseBooster


USUAL_ROUNDS = (1, 5, 50)


class MarginDistributionDisplay(SingleDisplay):
    """Fraction of rows with a margin of at most theta, over theta, after several rounds (Schapire et al. 1998).

    Margins below 0 are errors. The dot at the foot of a curve is its smallest margin.

    Attributes
    ----------
    distributions : dict of round -> cumulative distribution
    largest_margin : the largest possible minimum margin, rho*, or None
    ax_, figure_ : axes and figure
    lines_ : dict of round -> curve
    smallest_ : dict of round -> dot at the smallest margin
    best_ : line at rho*, or None

    Examples
    --------
    >>> from committee import AdaBoostClassifier
    >>> from committee.datasets import load_dataset
    >>> sonar = load_dataset("sonar")
    >>> model = AdaBoostClassifier(n_estimators=10).fit(sonar.X, sonar.y)
    >>> list(MarginDistributionDisplay.from_estimator(model, sonar.X, sonar.y).distributions)
    [1, 5, 10]
    """

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
        estimator : fitted booster of classifiers
        X, y : rows, usually the training rows, and their labels
        rounds : sequence of int, optional
            Rounds to show; 1, 5, 50 and the last by default.
        sample_weight : array-like, optional
            Weights of the rows.
        largest_margin : float, optional
            rho*, as computed by `committee.theory.minmax.minmax_over_stumps`, to be drawn as a line.
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
        axes = self._open(ax, (7.0, 4.5))
        self.lines_, self.smallest_, self.best_ = {}, {}, None
        # later rounds are darker
        colors = pyplot().get_cmap("viridis_r")(np.linspace(0.12, 1.0, len(self.distributions)))
        for color, (t, result) in zip(colors, self.distributions.items(), strict=True):
            self._draw(axes, t, result, color)
        axes.axvline(0.0, color=GREY, linewidth=0.8, zorder=0)
        if self.largest_margin is not None:
            label = f"largest possible minimum margin {self.largest_margin:.3f}"
            self.best_ = axes.axvline(self.largest_margin, color=VERMILION, linestyle="--", linewidth=1.3, label=label)
        smallest = min(float(result.value[0]) for result in self.distributions.values())
        axes.set_xlim(min(-1.0, smallest) - 0.03, 1.03)
        axes.set_ylim(0.0, 1.02)
        finish(axes, "normalised margin", "fraction of rows with at most this margin")
        add_legend(axes, loc="upper left")
        return self

    def _draw(self, ax: Any, t: int, result: MarginDistribution, color: Any) -> None:
        smallest = float(result.value[0])
        value = np.concatenate([[smallest], result.value, [max(float(result.value[-1]), 1.0)]])
        fraction = np.concatenate([[0.0], result.fraction, [1.0]])
        label = f"{pluralize(t, 'round')}, smallest margin {smallest:.3f}"
        (self.lines_[t],) = ax.step(value, fraction, where="post", color=color, linewidth=1.6, label=label)
        dot: dict[str, Any] = {"marker": "o", "markersize": 7, "markeredgecolor": "white"}
        (self.smallest_[t],) = ax.plot([smallest], [0.0], color=color, clip_on=False, zorder=4, **dot)


def _margins_after(estimator: BaseBooster, X: Any, y: Any, rounds: Sequence[int] | None) -> dict[int, Floats]:
    """Round -> margins, of the given rounds, or of the usual ones and the last."""
    wanted = set(USUAL_ROUNDS) if rounds is None else {int(t) for t in rounds}
    result: dict[int, Floats] = {}
    t, last = 0, np.empty(0)
    for t, last in enumerate(estimator.staged_margins(X, y), start=1):
        if t in wanted:
            result[t] = last
    if rounds is None:
        result[t] = last
    elif not result or wanted - set(result):
        raise ValueError(f"rounds must be in 1..{t}, the rounds of the booster; got {list(rounds)}.")
    return result
