"""The exclusive-or study in three panels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from committee.plots._style import BLUE, GREY, VERMILION, pyplot
from committee.plots.svm import GRID, INK, SIDES, on_grid
from committee_reproductions.xor import LABELS, ROWS, XorStudy, xor_map

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class XorDisplay:
    """Exclusive or in the plane, after the map (x, y, xy) and with a kernel (I-5).

    Attributes
    ----------
    study : what `xor_study` returns
    ax_, figure_ : the three panels and the figure of the last plot
    """

    ax_: NDArray[Any]
    figure_: Figure

    def __init__(self, study: XorStudy) -> None:
        self.study = study

    @classmethod
    def from_study(cls, study: XorStudy, *, ax: Sequence[Axes] | NDArray[Any] | None = None) -> Self:
        """Draw the three panels; `ax` are three matplotlib axes, the second with projection="3d"."""
        return cls(study).plot(ax)

    def plot(self, ax: Sequence[Axes] | NDArray[Any] | None = None) -> Self:
        """Draw the panels; see `from_study`."""
        if ax is None:
            self.figure_ = pyplot().figure(figsize=(12.6, 4.2), layout="constrained")
            panels: list[Any] = [self.figure_.add_subplot(1, 3, k + 1, projection=("3d" if k == 1 else None))
                                 for k in range(3)]  # fmt: skip
        else:
            panels = list(np.ravel(np.asarray(ax, dtype=object)))
            if len(panels) != 3 or not hasattr(panels[1], "set_zlabel"):
                raise ValueError("Exclusive or needs three axes, the second with projection='3d'.")
            self.figure_ = panels[0].figure
        self.ax_ = np.array(panels, dtype=object)
        self._draw_hulls(panels[0])
        self._draw_map(panels[1])
        self._draw_kernel(panels[2])
        return self

    def _draw_hulls(self, ax: Any) -> None:
        for side, color, marker in SIDES:
            ax.plot(*ROWS[side == LABELS].T, color=color, marker=marker, markersize=9, linewidth=2.0)
        point = self.study.in_plane.meeting_point
        if point is not None:
            ax.plot(*point, marker="x", color=INK, markersize=10, markeredgewidth=2.0, linestyle="none")
        ax.set_title("plane: the hulls of the classes meet,\nno line separates them", fontsize="medium")
        _square(ax)

    def _draw_map(self, ax: Any) -> None:
        table = xor_map(ROWS)
        across, up = np.meshgrid([-1.3, 1.3], [-1.3, 1.3])
        ax.plot_surface(across, up, np.zeros_like(across), color=GREY, alpha=0.25)
        for side, color, marker in SIDES:
            own = table[side == LABELS]
            ax.scatter(*own.T, color=color, marker=marker, s=60, depthshade=False)
            for x, y, z in own:
                ax.plot([x, x], [y, y], [0.0, z], color=color, linestyle=":", linewidth=1.0)
        ax.set_zlabel("xy")
        ax.set_xlabel("x")
        ax.set_ylabel("y")
        ax.set_title(f"after (x, y, xy): the plane xy = 0,\nmargin {self.study.margin:.3g}", fontsize="medium")

    def _draw_kernel(self, ax: Any) -> None:
        axis = np.linspace(-2.0, 2.0, GRID)
        f = on_grid(self.study.kernel_machine, axis, axis)[:, 0].reshape(GRID, GRID)
        ax.contourf(axis, axis, f, levels=[-9.0, 0.0, 9.0], colors=[BLUE, VERMILION], alpha=0.15)
        style: dict[str, Any] = {"linestyles": ["--", "-", "--"], "linewidths": [1.0, 1.8, 1.0]}
        ax.contour(axis, axis, f, levels=[-1.0, 0.0, 1.0], colors=INK, **style)
        for side, color, marker in SIDES:
            ax.plot(*ROWS[side == LABELS].T, color=color, marker=marker, markersize=9, linestyle="none")
        ax.set_title(f"kernel (<x, z> + 1)^2: f = xy,\nmargin {self.study.kernel_margin:.3g} in its own space",
                     fontsize="medium")  # fmt: skip
        _square(ax)


def _square(ax: Any) -> None:
    ax.set_aspect("equal")
    ax.set_xlim(-2.0, 2.0)
    ax.set_ylim(-2.0, 2.0)
    ax.set_xlabel("x")
    ax.set_ylabel("y")
