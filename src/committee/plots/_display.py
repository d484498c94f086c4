"""Base classes of all displays: those with one pair of axes, and those with several panels."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from committee.plots._style import panels, single_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


AX = """ax : matplotlib axes, optional
    Axes to draw on, one for each panel; a new figure by default.
"""


class Display:
    """A picture, drawn by `plot` and by the class methods ``from_...``, on the figure `figure_`.

    The docstrings of these class methods end with their own parameters; `ax` and the result are appended here.
    """

    figure_: Figure

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name, method in vars(cls).items():
            if name.startswith("from_") and isinstance(method, classmethod):
                text = inspect.cleandoc(method.__func__.__doc__ or "")
                ax = "" if "\nax : " in text else AX
                method.__func__.__doc__ = f"{text}\n{ax}\nReturns\n-------\n{cls.__name__}\n    The picture, drawn.\n"


class SingleDisplay(Display):
    """A display on one pair of axes, `ax_`, of the figure `figure_`."""

    ax_: Axes

    def _open(self, ax: Axes | None, size: tuple[float, float]) -> Any:
        """Keep and return `ax`, or the axes of a new figure of `size` inches."""
        axes = single_axes(ax, size)
        self.ax_, self.figure_ = axes, axes.figure
        return axes


class PanelDisplay(Display):
    """A display of several panels, the array `axes_`, of the figure `figure_`."""

    axes_: NDArray[Any]

    def _open(self, ax: Any, n: int, size: tuple[float, float], *, n_columns: int = 4, **options: Any) -> NDArray[Any]:
        """Keep and return the n axes in `ax`, or those of a new figure with panels of `size` inches.

        `n_columns` is the largest number of panels in a row; `options` are those of `matplotlib.pyplot.subplots`.
        """
        self.axes_ = panels(ax, n, size, n_columns=n_columns, **options)
        self.figure_ = self.axes_[0].figure
        return self.axes_
