"""The error of a majority vote against the number of voters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from committee.plots._display import SingleDisplay
from committee.plots._style import COLORS, GREY, add_legend, finish
from committee.theory.majority_vote import VoteTable, majority_vote_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

STYLES = ("-", "--", ":", "-.")


class MajorityVoteDisplay(SingleDisplay):
    """Error of the majority of K voters: a colour for every accuracy, a line style for every correlation.

    Attributes
    ----------
    tables : list of one table for every correlation
    ax_, figure_ : axes and figure
    lines_ : dict of (accuracy, correlation) -> curve

    Examples
    --------
    >>> display = MajorityVoteDisplay.from_voters([0.6], n_voters=[1, 11, 21])
    >>> display.lines_[0.6, 0.0].get_ydata().round(3)
    array([0.4  , 0.247, 0.174])
    """

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
        accuracies : sequence of float
            Probabilities that a voter is right.
        correlations : sequence of float
            Correlations of the correctness of two voters, in the beta-binomial model.
        n_voters : sequence of int, optional
            Odd numbers of voters; 1, 3, ..., 101 by default.
        """
        voters = np.arange(1, 102, 2) if n_voters is None else np.asarray(n_voters, np.int64)
        return cls([majority_vote_table(accuracies, voters, correlation=rho) for rho in correlations]).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the curves; see `from_voters`."""
        axes, self.lines_ = self._open(ax, (7.0, 4.3)), {}
        for s, table in enumerate(self.tables):
            for a, p in enumerate(table.accuracies.tolist()):
                self.lines_[p, table.correlation] = self._draw(axes, table, a, s)
        axes.axhline(0.5, color=GREY, linewidth=0.8, linestyle=":", zorder=1)
        highest = max(float(table.errors.max()) for table in self.tables)
        axes.set_ylim(0.0, max(0.55, 1.08 * highest))
        finish(axes, "number of voters K", "error of the majority vote")
        add_legend(axes, loc="center left", bbox_to_anchor=(1.0, 0.5))
        return self

    def _draw(self, ax: Any, table: VoteTable, a: int, s: int) -> Line2D:
        p, errors = table.accuracies[a], table.errors[a]
        text = f"p = {p:g}" + (f", correlation {table.correlation:g}" if len(self.tables) > 1 else "")
        style: dict[str, Any] = {"color": COLORS[a % (len(COLORS) - 1)], "linewidth": 1.6, "zorder": 3}
        text += f": {errors[-1]:.2g} at {table.n_voters[-1]}"
        return ax.plot(table.n_voters, errors, STYLES[s % len(STYLES)], label=text, **style)[0]
