"""The picture of a paper's table, which several experiments have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from committee.plots._style import BLUE, VERMILION, finish, panels
from committee_reproductions.results import ReproductionResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RING: dict[str, Any] = {
    "linestyle": "", "marker": "o", "markerfacecolor": "none", "markeredgewidth": 1.5, "markersize": 8,
    "color": VERMILION,
}  # fmt: skip
"""A published number."""


def draw_published(result: ReproductionResult) -> Figure:
    """Draw published numbers as rings, obtained ones as dots with bars of two standard errors."""
    rows = [row for row in result.rows if row.published is not None]
    (ax,) = panels(None, 1, (7.6, 0.9 + 0.27 * len(rows)))
    place = -np.arange(len(rows))
    obtained, stderr = np.array([row.obtained for row in rows]), np.array([row.stderr for row in rows])
    ax.errorbar(obtained, place, xerr=2.0 * stderr, fmt="o", color=BLUE, markersize=4.5, capsize=2.5, elinewidth=1.1,
                label="obtained, ± 2 standard errors")  # fmt: skip
    ax.plot([row.published for row in rows], place, label="published", **RING)
    ax.set_yticks(place, [row.what.removesuffix(", error %") for row in rows], fontsize="small")
    ax.set_xlim(left=0.0)
    ax.set_ylim(0.6 - len(rows), 0.6)
    ax.grid(axis="x", color="#DDDDDD", linewidth=0.6)
    ax.legend(frameon=True, framealpha=0.9, edgecolor="none", fontsize="small", loc="best")
    finish(ax, "error %")
    return ax.figure
