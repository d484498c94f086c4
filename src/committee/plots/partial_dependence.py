"""Partial dependence as pictures: a panel for every feature or pair of features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.text import shorten
from committee.explain.partial_dependence import PartialDependence, partial_dependence
from committee.explain.tables import Feature
from committee.plots._display import PanelDisplay
from committee.plots._style import BLUE, COLORS, LONGEST_NAME, add_legend, finish

if TYPE_CHECKING:
    from matplotlib.axes import Axes


LINE_COLORS = COLORS
"""Colours of categories that share a panel with a numeric feature; more categories become a map."""

FAINT = "#8FA3B0"
LONGEST_CATEGORY = 14
FEW_CATEGORIES, MAX_LABELS = 6, 12
"""Up to the first number categories have their percentage below them; beyond the second not all have a label."""

MAX_TICKS = 500
"""Largest number of rows in a rug; more would only make it black."""

MEANING = {
    "predict": "prediction",
    "predict_proba": "probability",
    "decision_function": "decision function",
    "score": "score",
}


class _Picture(NamedTuple):
    """What a panel shows, for one output."""

    result: PartialDependence
    average: Floats  # [g1(, g2)]
    individual: Floats | None  # [curves, g]


class PartialDependenceDisplay(PanelDisplay):
    """A panel for every feature or pair: thick averages, faint curves of single rows, and a rug of the rows' values.

    Panels of one feature share their vertical axis, so that a flat curve is a feature of little influence. Categories
    are dots with the percentage of the rows that have them. Two numeric features make a map with the rows as dots, a
    numeric feature and a few categories a line for each category, two categorical features a table.

    Attributes
    ----------
    result : list of the partial dependence of every panel
    axes_, figure_ : array of axes, and their figure

    Examples
    --------
    >>> from committee import DecisionTreeRegressor
    >>> from committee.datasets import load_dataset
    >>> ozone = load_dataset("ozone", as_frame=True)
    >>> tree = DecisionTreeRegressor(max_leaf_nodes=6).fit(ozone.X, ozone.y)
    >>> display = PartialDependenceDisplay.from_estimator(tree, ozone.X, ["V8", ("V8", "V10")], kind="average")
    >>> [panel.get_xlabel() for panel in display.axes_]
    ['V8', 'V8']
    """

    def __init__(
        self,
        result: Sequence[PartialDependence],
        *,
        output: int | None = None,
        max_curves: int = 60,
        class_name: str = "",
        random_state: int = 0,
    ) -> None:
        if not result:
            raise ValueError("There is nothing to draw: pass at least one feature.")
        if max_curves < 0:
            raise ValueError(f"max_curves must be at least 0, got {max_curves}.")
        self.result = list(result)
        self.of_class = f" of class {shorten(class_name, LONGEST_NAME)}" if class_name else ""
        rng = np.random.default_rng(random_state)
        self._pictures = [_one_output(one, output, max_curves, rng) for one in result]

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        features: Feature | Sequence[Feature | Sequence[Feature]],
        *,
        kind: Literal["average", "both"] = "both",
        output: int | None = None,
        max_curves: int = 60,
        ax: Axes | Sequence[Axes] | None = None,
        **options: Any,
    ) -> Self:
        """Compute the partial dependence of a fitted model and draw it.

        Parameters
        ----------
        estimator : fitted estimator
        X : table; some hundred rows are enough
        features : columns by name or position
            A pair in the place of a column is drawn together.
        kind : {"average", "both"}
            "both" also draws curves of single rows.
        output : int, optional
            Position of the class in ``classes_`` where the model has more than two.
        max_curves : int
            Largest number of curves of single rows, chosen at random.
        **options
            Passed on to `partial_dependence`.
        """
        wanted = [features] if isinstance(features, str | int | np.integer) else list(features)
        result: list[PartialDependence] = []
        for one in wanted:
            is_single = isinstance(one, str | int | np.integer) or len(one) == 1
            result.append(partial_dependence(estimator, X, one, kind=kind if is_single else "average", **options))
        name = _class_name(estimator, result[0], output) if result else ""
        return cls(result, output=output, max_curves=max_curves, class_name=name).plot(ax)

    def plot(self, ax: Axes | Sequence[Axes] | None = None) -> Self:
        """Draw the panels; see `from_estimator`."""
        n = len(self._pictures)
        self._open(ax, n, (4.2 + 0.4 / min(n, 3), 3.4), n_columns=3)
        meaning = MEANING[self.result[0].response] + self.of_class
        single: list[Any] = []
        for panel, picture in zip(self.axes_, self._pictures, strict=True):
            if len(picture.result.names) == 2:
                _draw_pair(panel, picture, f"mean {meaning}")
                continue
            (_draw_categories if picture.result.is_categorical[0] else _draw_curve)(panel, picture)
            finish(panel, shorten(picture.result.names[0], LONGEST_NAME))
            single.append(panel)
        has_rows = any(picture.individual is not None for picture in self._pictures)
        _share_heights(single, f"{meaning}\n(mean thick, single rows faint)" if has_rows else f"mean {meaning}")
        return self


def _one_output(result: PartialDependence, output: int | None, max_curves: int, rng: np.random.Generator) -> _Picture:
    n_axes = len(result.names)
    average, individual = result.average, result.individual
    if average is None:
        raise ValueError("The average is missing: compute it with kind='average' or 'both'.")
    if average.ndim > n_axes:
        k = average.shape[-1]
        if output is None or not 0 <= output < k:
            raise ValueError(f"The model has {k} outputs: choose the one to draw, output=0 to output={k - 1}.")
        average = average[..., output]
        individual = None if individual is None else individual[..., output]
    elif output is not None:
        raise ValueError(f"The model has a single output: omit output={output}.")
    if individual is None or n_axes == 2:
        return _Picture(result, average, None)
    chosen = rng.permutation(len(individual))[:max_curves]
    return _Picture(result, average, individual[chosen])


def _class_name(estimator: Any, result: PartialDependence, output: int | None) -> str:
    """The class whose predictions are drawn, "" for a regressor."""
    known = getattr(estimator, "classes_", ())
    if result.classes:
        return result.classes[output] if output is not None and 0 <= output < len(result.classes) else ""
    return str(known[1]) if len(known) == 2 else ""


# --- one feature -----------------------------------------------------------------------------------------------------


def _draw_curve(ax: Any, picture: _Picture) -> None:
    grid = np.asarray(picture.result.grid[0], np.float64)
    if picture.individual is not None:
        ax.plot(grid, picture.individual.T, color=FAINT, linewidth=0.6, alpha=0.45, zorder=1)
    marker = "o" if grid.size <= 8 else ""
    ax.plot(grid, picture.average, color=BLUE, linewidth=2.4, marker=marker, zorder=3)
    ax.set_xlim(*_limits(grid))
    _draw_rug(ax, picture.result.data[:, 0], grid, ax.get_xaxis_transform())


def _limits(grid: Floats) -> tuple[float, float]:
    low, high = float(np.nanmin(grid)), float(np.nanmax(grid))
    room = 0.03 * (high - low) or 0.5
    return low - room, high + room


def _draw_rug(ax: Any, x: Floats, grid: Floats, transform: Any) -> None:
    """A tick at the foot of the panel for every row."""
    low, high = _limits(grid)
    inside = _untied(x[(x >= low) & (x <= high)])
    if inside.size > MAX_TICKS:
        inside = inside[np.linspace(0, inside.size - 1, MAX_TICKS).astype(np.int64)]
    alpha = 0.75 if inside.size < 60 else 0.3
    ax.vlines(inside, 0.0, 0.035, transform=transform, color="black", linewidth=0.6, alpha=alpha, zorder=2)


def _untied(x: Floats) -> Floats:
    """Sorted values, equal ones moved apart by less than half the gap to their neighbours, to show their number."""
    known, count = np.unique(x, return_counts=True)
    if known.size < 2 or 2 * known.size > x.size:
        return np.sort(x)
    gap = 0.35 * float(np.diff(known).min())
    moved = [v + gap * np.linspace(-1.0, 1.0, c) * (c > 1) for v, c in zip(known, count, strict=True)]
    return np.concatenate(moved)


def _draw_categories(ax: Any, picture: _Picture) -> None:
    result = picture.result
    places = np.arange(result.grid[0].size)
    if picture.individual is not None:
        shift = np.random.default_rng(0).uniform(-0.16, 0.16, picture.individual.shape)
        ax.plot((places + shift).ravel(), picture.individual.ravel(), ".", color=FAINT, markersize=3.5, alpha=0.5,
                markeredgewidth=0, zorder=1)  # fmt: skip
    ax.hlines(picture.average, places - 0.28, places + 0.28, color=BLUE, linewidth=2.4, zorder=2)
    ax.plot(places, picture.average, "o", color=BLUE, markersize=6 if places.size <= MAX_LABELS else 3.5, zorder=3)
    ax.set_xticks(places, _category_labels(result, 0))
    ax.tick_params(axis="x", length=0)
    ax.set_xlim(-0.6, places.size - 0.4)


def _category_labels(result: PartialDependence, axis: int) -> list[str]:
    """Names, with the percentage of the rows that have them if there is room."""
    grid = result.grid[axis]
    names = [shorten(str(value), LONGEST_CATEGORY) for value in grid]
    if grid.size > FEW_CATEGORIES:
        every = -(-grid.size // MAX_LABELS)
        return [name if place % every == 0 else "" for place, name in enumerate(names)]
    count = [int(np.count_nonzero(result.data[:, axis] == place)) for place in range(grid.size)]
    return [f"{name}\n{100 * c / len(result.data):.0f} %" for name, c in zip(names, count, strict=True)]


def _share_heights(panels: list[Any], meaning: str) -> None:
    """The same vertical axis for all panels of one feature; the first of a line of panels has the label."""
    if not panels:
        return
    low, high = min(panel.get_ylim()[0] for panel in panels), max(panel.get_ylim()[1] for panel in panels)
    for panel in panels:
        panel.set_ylim(low - 0.04 * (high - low), high)  # room for the rug
        place = panel.get_subplotspec()
        if place is None or place.is_first_col() or len(panels) == 1:
            panel.set_ylabel(meaning)


# --- two features ----------------------------------------------------------------------------------------------------


def _draw_pair(ax: Any, picture: _Picture, meaning: str) -> None:
    kinds = picture.result.is_categorical
    if all(kinds):
        _draw_table(ax, picture, meaning)
    elif any(kinds) and picture.result.grid[kinds.index(True)].size <= len(LINE_COLORS):
        _draw_lines(ax, picture, meaning)
    else:
        _draw_map(ax, picture, meaning)


def _draw_lines(ax: Any, picture: _Picture, meaning: str) -> None:
    """A line over the numeric feature for every category of the other."""
    result, of = picture.result, picture.result.is_categorical.index(True)
    number = 1 - of
    grid = np.asarray(result.grid[number], np.float64)
    lines = picture.average if of == 0 else picture.average.T
    for line, name, color in zip(lines, result.grid[of], LINE_COLORS, strict=False):
        ax.plot(grid, line, color=color, linewidth=2.0, marker="o" if grid.size <= 8 else "", markersize=4,
                label=shorten(str(name), LONGEST_CATEGORY))  # fmt: skip
    ax.set_xlim(*_limits(grid))
    low, high = ax.get_ylim()
    ax.set_ylim(low - 0.04 * (high - low), high)
    _draw_rug(ax, result.data[:, number], grid, ax.get_xaxis_transform())
    finish(ax, shorten(result.names[number], LONGEST_NAME), meaning)
    add_legend(ax, title=shorten(result.names[of], LONGEST_NAME), title_fontsize="small")


def _draw_map(ax: Any, picture: _Picture, meaning: str) -> None:
    """Colours over both features, and the rows as dots: without rows nearby the model extrapolates."""
    result = picture.result
    places = [
        np.arange(grid.size) if is_categorical else np.asarray(grid, np.float64)
        for grid, is_categorical in zip(result.grid, result.is_categorical, strict=True)
    ]
    edges = [_edges(place) for place in places]
    mesh = ax.pcolormesh(edges[0], edges[1], picture.average.T, cmap="viridis", zorder=0, rasterized=True)
    ax.figure.colorbar(mesh, ax=ax, label=meaning, pad=0.02)
    n = len(result.data)
    rows = result.data[np.linspace(0, n - 1, min(n, MAX_TICKS)).astype(np.int64)]
    spread = np.random.default_rng(0).uniform(-0.3, 0.3, rows.shape) * result.is_categorical
    ax.scatter(*(rows + spread).T, s=5, color="white", edgecolors="black", linewidths=0.25, alpha=0.75, zorder=2)
    ax.set_xlim(edges[0][0], edges[0][-1])
    ax.set_ylim(edges[1][0], edges[1][-1])
    ax.set_xlabel(shorten(result.names[0], LONGEST_NAME))
    ax.set_ylabel(shorten(result.names[1], LONGEST_NAME))
    for axis, set_ticks in ((0, ax.set_xticks), (1, ax.set_yticks)):
        if result.is_categorical[axis]:
            set_ticks(places[axis], [label.split("\n")[0] for label in _category_labels(result, axis)])


def _edges(places: Floats | NDArray[np.int64]) -> Floats:
    """Borders of cells around places."""
    if places.size == 1:
        return np.array([places[0] - 0.5, places[0] + 0.5])
    middle = 0.5 * (places[1:] + places[:-1])
    return np.concatenate([[2 * places[0] - middle[0]], middle, [2 * places[-1] - middle[-1]]])


def _draw_table(ax: Any, picture: _Picture, meaning: str) -> None:
    """A cell for every pair of categories, with its number."""
    result, average = picture.result, picture.average
    image = ax.imshow(average.T, cmap="viridis", aspect="auto", origin="lower")
    ax.figure.colorbar(image, ax=ax, label=meaning, pad=0.02)
    middle = 0.5 * (float(average.min()) + float(average.max()))
    for (i, j), value in np.ndenumerate(average):
        ax.text(i, j, f"{value:.3g}", ha="center", va="center", fontsize="small",
                color="white" if value < middle else "black")  # fmt: skip
    ax.set_xticks(range(average.shape[0]), _category_labels(result, 0))
    names = [label.replace("\n", ", ") for label in _category_labels(result, 1)]
    ax.set_yticks(range(average.shape[1]), names)
    ax.tick_params(length=0)
    ax.set_xlabel(shorten(result.names[0], LONGEST_NAME))
    ax.set_ylabel(shorten(result.names[1], LONGEST_NAME))
