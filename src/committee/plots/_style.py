"""What all displays share: colours, axes and their frames."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.text import pluralize

Scale = Literal["linear", "log"]

BLUE, ORANGE, GREEN, PURPLE, VERMILION, GREY = "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#555555"
"""Colours that people with any colour vision can tell apart (Okabe and Ito, Color universal design, 2008)."""

INK = "#222222"
"""Text and outlines drawn over colours."""

COLORS = (BLUE, VERMILION, GREEN, ORANGE, PURPLE, GREY)
"""Colours of curves without a meaning of their own, in this order."""

MAX_DOTTED = 40
"""A curve of at most this many points has a dot at each."""

LONGEST_NAME = 28
"""Longer names of features and classes are shortened."""


def pyplot() -> Any:
    """Return `matplotlib.pyplot`, or raise an ImportError that says how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install 'committee[app]'") from error
    return plt


def single_axes(ax: Any, size: tuple[float, float]) -> Any:
    """Return `ax`, or the axes of a new figure of `size` inches."""
    plt = pyplot()
    return plt.subplots(figsize=size, layout="constrained")[1] if ax is None else ax


def panels(ax: Any, n: int, size: tuple[float, float], *, n_columns: int = 4, **options: Any) -> NDArray[Any]:
    """Return n axes as a flat array: those given, or those of a new figure.

    `size` is that of one panel in inches, `n_columns` the largest number of panels in a row; `options` are those of
    `matplotlib.pyplot.subplots`.
    """
    plt = pyplot()
    if ax is not None:
        given = np.ravel(np.asarray(ax, dtype=object))
        if given.size != n:
            raise ValueError(f"expected {pluralize(n, 'axes', 'axes')}, one for each panel, got {given.size}")
        return given
    n_columns = min(n, n_columns)
    n_lines = -(-n // n_columns)
    figsize = (size[0] * n_columns, size[1] * n_lines)
    axes = plt.subplots(n_lines, n_columns, figsize=figsize, layout="constrained", squeeze=False, **options)[1].ravel()
    for unused in axes[n:]:
        unused.remove()
    return axes[:n]


def add_legend(ax: Any, **options: Any) -> None:
    """Add a small legend without a frame; `options` are those of `Axes.legend`."""
    ax.legend(frameon=False, fontsize="small", **options)


def add_title(ax: Any, title: str) -> None:
    """Write a title above the left end of the axes."""
    ax.set_title(title, fontsize="medium", loc="left")


def finish(ax: Any, xlabel: str | None = None, ylabel: str | None = None, *, is_categorical: bool = False) -> None:
    """Label the axes and remove the frame at the top and at the right; for named rows also at the left."""
    if xlabel is not None:
        ax.set_xlabel(xlabel)
    if ylabel is not None:
        ax.set_ylabel(ylabel)
    for side in ("top", "right", "left") if is_categorical else ("top", "right"):
        ax.spines[side].set_visible(False)
    if is_categorical:
        ax.tick_params(axis="y", length=0)


def scale_count(ax: Any, n: int, scale: Scale, xlabel: str) -> None:
    """Set up the horizontal axis of counts 1..n, such as rounds or trees."""
    from matplotlib.ticker import MaxNLocator

    if scale == "log":
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter("{x:g}")
        ax.set_xlim(0.95, max(n, 2) * 1.05)
    else:
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set_xlim(1 - 0.02 * n - 0.2, n * 1.02 + 0.2)
    finish(ax, xlabel)


def draw_curve(ax: Any, values: Floats, **style: Any) -> Any:
    """Draw a value for each of 1..n, with dots where they are few; return the line."""
    counts = np.arange(1, values.size + 1)
    options = {"linewidth": 1.6, "marker": "." if values.size <= MAX_DOTTED else "", "zorder": 3, **style}
    return ax.plot(counts, values, **options)[0]


def padded_range(values: Floats, n: int, room: float = 0.08) -> Floats:
    """Return n evenly spaced values from below the smallest to above the largest of `values`."""
    low, high = float(values.min()), float(values.max())
    pad = room * (high - low) or 0.5
    return np.linspace(low - pad, high + pad, n)


def grid_rows(across: Floats, up: Floats) -> Floats:
    """Return the points of a grid as rows of two columns, `across` varying fastest."""
    return np.column_stack([np.tile(across, up.size), np.repeat(up, across.size)])


def show_plane(ax: Any, picture: Floats, across: Floats, up: Floats, **options: Any) -> None:
    """Draw an image [up, across, 3 or 4] of colours behind the points of a plane."""
    extent = (across[0], across[-1], up[0], up[-1])
    ax.imshow(picture, extent=extent, origin="lower", aspect="auto", zorder=0, **options)


def rgb(color: str) -> Floats:
    """Return the red, green and blue of a colour, each in [0, 1]."""
    from matplotlib.colors import to_rgb

    return np.array(to_rgb(color))
