"""The error of a majority of independent voters.

Condorcet's jury theorem (1785); the numbers are a table of lecture notes on ensemble learning, with an error in it: for
51 voters 0.0735 is cut to 0.073 there and not rounded.

Claims: the error of the majority goes to zero as voters are added, if they are independent and right more often than
wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from committee.plots._style import COLORS, finish, panels
from committee.theory.majority_vote import majority_vote_table
from committee_reproductions.pictures import RING
from committee_reproductions.results import Claim, Outcome, ReproductionResult, Row, gather_curves, verdict_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ACCURACY = 0.6
PUBLISHED = {11: 0.247, 21: 0.174, 51: 0.073, 101: 0.021, 501: 0.000003}
"""Error of the majority by the number of voters, as printed."""

CORRECT = {51: 0.074}
"""What is right where the table is wrong."""

CURVES = ((0.6, 0.0), (0.7, 0.0), (0.6, 0.1))
"""Accuracy and correlation of the voters drawn; the last pair shows what independence is worth."""


def reproduce(quick: bool = False, verbose: int = 0) -> Outcome:
    """Compute and compare; exact, so that `quick` changes nothing."""
    errors = majority_vote_table(ACCURACY, tuple(PUBLISHED)).errors[0]
    rows = tuple(
        Row(f"{k} voters right with probability {ACCURACY}, error of the majority" + _correction(k), float(error),
            published=published, digits=3 if published > 1e-3 else 6)
        for error, (k, published) in zip(errors, PUBLISHED.items(), strict=True)
    )  # fmt: skip
    sizes = np.arange(1, 502, 2)
    tables = {pair: majority_vote_table(pair[0], sizes, correlation=pair[1]) for pair in CURVES}
    limit = float(tables[0.6, 0.1].limits[0])
    claims = (
        Claim("the error decreases with every two voters", bool((np.diff(tables[0.6, 0.0].errors[0]) < 0.0).all()),
              f"from {1.0 - ACCURACY:g} to {errors[-1]:.1g}"),
        Claim("it needs independence", limit > 0.0, f"with correlation 0.1 the error stays above {limit:.3f}"),
    )  # fmt: skip
    curves = gather_curves(
        ("votes", f"p = {p}, correlation {rho:g}", sizes, table.errors[0], 0.0) for (p, rho), table in tables.items()
    )
    note = "the number that does not agree is an error of the source, which cuts 0.0735 to 0.073"
    return Outcome(rows, claims, curves, f"{verdict_of(rows, claims)}; {note}", tables)


def _correction(n_voters: int) -> str:
    return f" (printed wrongly: {CORRECT[n_voters]} is right)" if n_voters in CORRECT else ""


def draw(result: ReproductionResult) -> Figure:
    """Draw the error of the majority over the number of voters; rings are the published numbers."""
    (ax,) = panels(None, 1, (6.4, 4.0))
    for ((p, rho), table), color in zip(result.data.items(), (COLORS[0], *COLORS[2:]), strict=False):
        label = f"right with probability {p}" + (f", correlation {rho:g}" if rho else "")
        ax.plot(table.n_voters, table.errors[0], color=color, linewidth=1.6, label=label)
    ax.plot(list(PUBLISHED), list(PUBLISHED.values()), label="published", **RING)
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter("{x:g}")
    ax.set_ylim(bottom=-0.01)
    ax.legend(frameon=False, fontsize="small")
    finish(ax, "voters", "error of the majority")
    return ax.figure
