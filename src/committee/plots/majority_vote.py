"""The error of a majority vote against the number of voters (B-1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from committee.plots._style import BLUE, GREEN, GREY, ORANGE, PURPLE, VERMILION, pyplot
from committee.theory.majority_vote import VoteTable, majority_vote_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

COLORS = (BLUE, VERMILION, GREEN, ORANGE, PURPLE)
STYLES = ("-", "--", ":", "-.")


class MajorityVoteDisplay:
    """Error of the majority of K voters: a colour for every accuracy, a kind of line for every correlation.

    Attributes
    ----------
    tables : what was computed, one for every correlation
    ax_, figure_ : the axes and the figure of the last plot
    lines_ : (accuracy, correlation) -> curve
    """

    ax_: Axes
    figure_: Figure
    lines_: dict[tuple[float, float], Line2D]

    def __init__(self, tables: Sequence[VoteTable]) -> None:
        if not tables:
            raise ValueError("There is nothing to draw: pass at least one table.")
        self.tables = list(tables)

    @classmethod
    def from_voters(
        cls,
        accuracies: Sequence[float] = (0.6, 0.7),
        correlations: Sequence[float] = (0.0,),
        *,
        n_voters: Sequence[int] | NDArray[np.int64] | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the error of votes.

        Parameters
        ----------
        accuracies : of a voter; the document draws 0.6 and 0.7
        correlations : of two voters' right answers, by the beta-binomial law
        n_voters : odd numbers 1, 3, ..., 101 by default
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.
        """
        voters = np.arange(1, 102, 2) if n_voters is None else np.asarray(n_voters, np.int64)
        return cls([majority_vote_table(accuracies, voters, correlation=rho) for rho in correlations]).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the curves; see `from_voters`."""
        axes: Any = pyplot().subplots(figsize=(7.0, 4.3), layout="constrained")[1] if ax is None else ax
        self.ax_, self.figure_, self.lines_ = axes, axes.figure, {}
        for s, table in enumerate(self.tables):
            for a, p in enumerate(table.accuracies.tolist()):
                self.lines_[p, table.correlation] = self._draw(axes, table, a, s)
        axes.axhline(0.5, color=GREY, linewidth=0.8, linestyle=":", zorder=1)
        highest = max(float(table.errors.max()) for table in self.tables)
        axes.set_ylim(0.0, max(0.55, 1.08 * highest))
        axes.set_xlabel("number of voters K")
        axes.set_ylabel("error of the majority")
        axes.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        return self

    def _draw(self, ax: Any, table: VoteTable, a: int, s: int) -> Line2D:
        p, errors, color = table.accuracies[a], table.errors[a], COLORS[a % len(COLORS)]
        text = f"p = {p:g}" + (f", correlation {table.correlation:g}" if len(self.tables) > 1 else "")
        text += f": {errors[-1]:.2g} at {table.n_voters[-1]}"
        style = STYLES[s % len(STYLES)]
        return ax.plot(table.n_voters, errors, style, color=color, linewidth=1.6, label=text, zorder=3)[0]
