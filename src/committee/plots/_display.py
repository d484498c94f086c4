"""The bases of all displays: what draws on one pair of axes, and what draws on several."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from committee.plots._style import panels, single_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class SingleDisplay:
    """A display on one pair of axes, `ax_`, of the figure `figure_`."""

    ax_: Axes
    figure_: Figure

    def _open(self, ax: Axes | None, size: tuple[float, float]) -> Any:
        """Keep and return `ax`, or the axes of a new figure of `size` inches."""
        axes = single_axes(ax, size)
        self.ax_, self.figure_ = axes, axes.figure
        return axes


class PanelDisplay:
    """A display of several panels, the array `axes_`, of the figure `figure_`."""

    axes_: NDArray[Any]
    figure_: Figure

    def _open(self, ax: Any, n: int, size: tuple[float, float], *, n_columns: int = 4, **options: Any) -> NDArray[Any]:
        """Keep and return the n axes in `ax`, or those of a new figure with panels of `size` inches.

        `n_columns` is the most panels in a row; `options` are those of `matplotlib.pyplot.subplots`.
        """
        self.axes_ = panels(ax, n, size, n_columns=n_columns, **options)
        self.figure_ = self.axes_[0].figure
        return self.axes_
