"""SHAP values as pictures: all rows together, and one row step by step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.text import pluralize, shorten
from committee.explain.shap import ShapValues, shap_values
from committee.plots._display import SingleDisplay
from committee.plots._style import BLUE, GREY, LONGEST_NAME, VERMILION, add_legend, add_title, finish, rgb

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection
    from matplotlib.container import BarContainer
    from matplotlib.text import Text

    from committee.tabular.schema import Columns


PALE = "#C9C5CF"
"""The middle of the scale of feature values, between blue and vermilion."""

NO_ORDER = "#8A8A8A"
"""Colour of missing values and categories, which are neither low nor high."""

N_SLOTS = 120
"""Points with their SHAP values in the same one of this number of slots of the axis are piled up."""


def one_output(result: ShapValues, output: int | None) -> tuple[Floats, float]:
    """Return SHAP values [n, d] and base value of one output: the only one, the second of two, or the given one."""
    if result.values.ndim == 2:
        if output not in (None, 0):
            raise ValueError(f"The model has a single output: omit output={output}.")
        return result.values, float(result.base_values)
    k = result.values.shape[2]
    if output is None and k > 2:
        raise ValueError(f"The model has {k} outputs: choose the one to draw, output=0 to output={k - 1}.")
    chosen = k - 1 if output is None else output
    if not 0 <= chosen < k:
        raise ValueError(f"output must be in 0..{k - 1}, got {output}.")
    return result.values[:, :, chosen], float(result.base_values[chosen])


def _class_name(estimator: Any, result: ShapValues, output: int | None) -> str:
    """The class whose output is drawn, "" where there is only one output."""
    if result.values.ndim == 2 or not hasattr(estimator, "classes_"):
        return ""
    one_output(result, output)
    return str(estimator.classes_[-1 if output is None else output])


def _of_class(name: str) -> str:
    return f" for class {shorten(name, LONGEST_NAME)}" if name else ""


class ShapSummaryDisplay(SingleDisplay):
    """SHAP values of many rows, one line per feature, the one with the largest mean |SHAP| on top.

    A point is a row: its position across is the contribution of the feature to the prediction, its colour shows whether
    the value of the feature is low or high among the rows shown. Missing values and categories are grey. The number at
    the right is the mean of |SHAP|.

    Attributes
    ----------
    result : the SHAP values
    values : array [n, d] of the values of the output shown
    features : positions of the features shown, from top to bottom
    ax_, figure_ : axes and figure
    points_ : dict of feature -> points

    Examples
    --------
    >>> from committee import DecisionTreeRegressor
    >>> from committee.datasets import load_dataset
    >>> ozone = load_dataset("ozone")
    >>> tree = DecisionTreeRegressor(max_leaf_nodes=6).fit(ozone.X, ozone.y)
    >>> ShapSummaryDisplay.from_estimator(tree, ozone.X[:50]).features
    [6, 8, 9, 10]
    """

    points_: dict[int, PathCollection]

    def __init__(
        self,
        result: ShapValues,
        *,
        output: int | None = None,
        max_features: int = 12,
        is_categorical: NDArray[np.bool_] | None = None,
        class_name: str = "",
    ) -> None:
        if max_features < 1:
            raise ValueError(f"max_features must be at least 1, got {max_features}.")
        self.result, self.of_class = result, _of_class(class_name)
        self.values, _ = one_output(result, output)
        if len(self.values) == 0:
            raise ValueError("There is nothing to draw: pass at least one row.")
        d = self.values.shape[1]
        self.is_categorical = np.zeros(d, np.bool_) if is_categorical is None else is_categorical
        self._size = np.abs(self.values).mean(axis=0)
        used = int(np.count_nonzero(self._size))
        order = np.argsort(-self._size, kind="stable")
        self.features = [int(f) for f in order[: max(1, min(max_features, used))]]

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        output: int | None = None,
        max_features: int = 12,
        n_jobs: int | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Explain the rows of X and draw them.

        Parameters
        ----------
        estimator : fitted tree or ensemble of trees, as for `shap_values`
        X : table; some hundred rows are enough
        output : int, optional
            Position of the class in ``classes_`` where the model has several outputs; the second of two by default.
        max_features : int
            Largest number of features to show; those that no tree uses are never shown.
        n_jobs : int, optional
            Number of threads; that of the estimator by default.
        """
        result = shap_values(estimator, X, n_jobs=n_jobs)
        return cls(
            result,
            output=output,
            max_features=max_features,
            is_categorical=estimator.columns_.is_categorical,
            class_name=_class_name(estimator, result, output),
        ).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the points; see `from_estimator`."""
        from matplotlib.colors import LinearSegmentedColormap

        axes = self._open(ax, (7.5, 1.3 + 0.42 * len(self.features)))
        scale = LinearSegmentedColormap.from_list("low to high", [BLUE, PALE, VERMILION])
        axes.axvline(0.0, color=GREY, linewidth=0.8, zorder=0)
        self.points_ = {f: self._draw(axes, f, -place, scale) for place, f in enumerate(self.features)}
        self._label(axes)
        self._draw_scale(axes, scale)
        return self

    def _draw(self, ax: Any, f: int, height: int, scale: Any) -> PathCollection:
        values, rank = self.values[:, f], _ranks(self.result.data[:, f])
        span = float(np.ptp(self.values[:, self.features])) or 1.0
        colors = scale(np.nan_to_num(rank))
        has_order = ~np.isnan(rank) & ~self.is_categorical[f]
        colors[~has_order, :3] = rgb(NO_ORDER)
        ax.axhline(height, color="#E4E4E4", linewidth=0.8, zorder=0)
        # low and high values alternate, so that neither covers the other
        order = np.random.default_rng(0).permutation(values.size)
        across, up = values[order], height + _pile(values, span)[order]
        return ax.scatter(across, up, s=11, c=colors[order], linewidths=0, zorder=3)

    def _label(self, ax: Any) -> None:
        names = [shorten(self.result.feature_names[f], LONGEST_NAME) for f in self.features]
        ax.set_yticks([-place for place in range(len(names))], names)
        ax.set_ylim(-len(names) + 0.45, 0.55)
        ax.margins(x=0.04)
        finish(ax, f"SHAP value: contribution of the feature to the prediction{self.of_class}", is_categorical=True)
        for place, f in enumerate(self.features):
            ax.text(1.01, -place, f"{self._size[f]:.3g}", transform=ax.get_yaxis_transform(), va="center",
                    fontsize="small", color=GREY)  # fmt: skip
        ax.text(1.01, 1.0, "mean\n|SHAP|", transform=ax.transAxes, va="bottom", fontsize="small", color=GREY)

    def _draw_scale(self, ax: Any, scale: Any) -> None:
        """A legend of the colours, above the points."""
        from matplotlib.lines import Line2D

        shades = ((scale(0.0), "low value"), (scale(1.0), "high value"))
        if np.isnan(self.result.data[:, self.features]).any() or self.is_categorical[self.features].any():
            shades = (*shades, (NO_ORDER, "missing or a category"))
        dots = [Line2D([], [], marker="o", linestyle="", markersize=5, color=color, label=t) for color, t in shades]
        add_legend(ax, handles=dots, loc="lower left", bbox_to_anchor=(-0.02, 1.0), ncols=3, handletextpad=0.1,
                   borderpad=0.2, columnspacing=1.2)  # fmt: skip


def _ranks(x: Floats) -> Floats:
    """Mid-ranks of the values from 0 to 1, nan where missing; a single value is in the middle."""
    known, place, count = np.unique(x[~np.isnan(x)], return_inverse=True, return_counts=True)
    rank = np.full(x.size, np.nan)
    middle = np.cumsum(count) - 0.5 * (count + 1)
    if known.size:
        low, high = middle[0], middle[-1]
        rank[~np.isnan(x)] = ((middle - low) / (high - low) if high > low else np.full(1, 0.5))[place]
    return rank


def _pile(values: Floats, span: float) -> Floats:
    """Heights of points that would hide each other: a pile in every slot, from the middle out, at most 0.38 high."""
    slot = np.round(values / span * N_SLOTS).astype(np.int64)
    order = np.argsort(slot, kind="stable")
    _, first, count = np.unique(slot[order], return_index=True, return_counts=True)
    place = np.empty(values.size, np.int64)
    place[order] = np.arange(values.size) - np.repeat(first, count)
    step = np.where(place % 2 == 0, place // 2, -(place // 2 + 1))
    return step * min(0.09, 0.76 / max(1, int(count.max())))


class ShapWaterfallDisplay(SingleDisplay):
    """Bars that lead from the base value, at the bottom, to the prediction of one row, on top; one for each feature.

    Attributes
    ----------
    labels : labels of the bars, from top to bottom
    steps : SHAP values of the bars
    base, prediction : start of the lowest bar, and end of the highest
    ax_, figure_ : axes and figure
    bars_, texts_ : bars and the numbers next to them

    Examples
    --------
    >>> from committee import DecisionTreeRegressor
    >>> from committee.datasets import load_dataset
    >>> ozone = load_dataset("ozone")
    >>> tree = DecisionTreeRegressor(max_leaf_nodes=6).fit(ozone.X, ozone.y)
    >>> ShapWaterfallDisplay.from_estimator(tree, ozone.X, 0, max_features=2).labels
    ['x[6] = missing', 'x[9] = -15', '2 other features']
    """

    bars_: BarContainer
    texts_: list[Text]

    def __init__(
        self,
        result: ShapValues,
        row: int = 0,
        *,
        output: int | None = None,
        max_features: int = 9,
        data_labels: Sequence[str] | None = None,
        class_name: str = "",
    ) -> None:
        values, self.base = one_output(result, output)
        self.of_class = _of_class(class_name)
        if not -len(values) <= row < len(values):
            raise ValueError(f"row must be in 0..{len(values) - 1}, got {row}.")
        if max_features < 1:
            raise ValueError(f"max_features must be at least 1, got {max_features}.")
        steps = values[row]
        shown = [f"{x:.4g}" for x in result.data[row]] if data_labels is None else list(data_labels)
        self.prediction = self.base + float(steps.sum())
        order = np.argsort(-np.abs(steps), kind="stable")
        order = order[: max(1, int(np.count_nonzero(steps)))]
        kept, rest = order[:max_features], order[max_features:]
        self.labels = [f"{shorten(result.feature_names[f], LONGEST_NAME)} = {shorten(shown[f], 20)}" for f in kept]
        self.steps = steps[kept]
        if rest.size:
            self.labels.append(pluralize(rest.size, "other feature"))
            self.steps = np.append(self.steps, steps[rest].sum())

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        row: int = 0,
        *,
        output: int | None = None,
        max_features: int = 9,
        ax: Axes | None = None,
    ) -> Self:
        """Explain one row of X and draw it.

        Parameters
        ----------
        estimator : fitted tree or ensemble of trees, as for `shap_values`
        X : table with the row
        row : int
            Position of the row in X.
        output : int, optional
            Position of the class in ``classes_`` where the model has several outputs; the second of two by default.
        max_features : int
            Largest number of bars of single features; the others share one.
        """
        result = shap_values(estimator, X)
        if not -len(result.data) <= row < len(result.data):
            raise ValueError(f"row must be in 0..{len(result.data) - 1}, got {row}.")
        return cls(
            result,
            row,
            output=output,
            max_features=max_features,
            data_labels=_value_names(estimator.columns_, result.data[row]),
            class_name=_class_name(estimator, result, output),
        ).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the bars; see `from_estimator`."""
        n = len(self.steps)
        axes = self._open(ax, (7.5, 1.5 + 0.38 * n))
        height = np.arange(n)[::-1]
        ends = self.prediction - np.concatenate([[0.0], np.cumsum(self.steps)[:-1]])  # the top bar ends there
        starts = ends - self.steps
        colors = [VERMILION if step > 0 else BLUE for step in self.steps]
        self.bars_ = axes.barh(height, self.steps, left=starts, color=colors, height=0.66, zorder=3)
        for place in range(n):  # thin lines carry the sum from bar to bar
            low = height[place] - (1.0 if place + 1 < n else 0.75)
            axes.plot([starts[place]] * 2, [low, height[place]], color=GREY, linewidth=0.7, zorder=2)
        self._label(axes, height, starts, ends)
        return self

    def _label(self, ax: Any, height: NDArray[np.int64], starts: Floats, ends: Floats) -> None:
        span = float(np.ptp([*starts, *ends])) or 1.0
        ax.set_yticks(height, self.labels)
        ax.set_ylim(-0.75, len(height) - 0.25)
        ax.set_xlim(min(*starts, *ends) - 0.17 * span, max(*starts, *ends) + 0.17 * span)
        self.texts_ = [
            ax.annotate(f"{step:+.3g}", (end, y), (3 if step > 0 else -3, 0), textcoords="offset points", va="center",
                        ha="left" if step > 0 else "right", fontsize="small", color=GREY)
            for step, end, y in zip(self.steps, ends, height, strict=True)
        ]  # fmt: skip
        for value, style in ((self.base, ":"), (self.prediction, "--")):
            ax.axvline(value, color=GREY, linestyle=style, linewidth=0.9, zorder=1)
        add_title(ax, f"prediction{self.of_class}: {self.prediction:.4g}")
        xlabel = f"from the base value {self.base:.4g} (dotted) to the prediction (dashed)"
        finish(ax, xlabel, is_categorical=True)


def _value_names(columns: Columns, row: Floats) -> list[str]:
    """The values of a row as text: numbers, the names of categories, "missing"."""
    names: list[str] = []
    for f, x in enumerate(row):
        known = columns.category_names(f)
        names.append("missing" if np.isnan(x) else known[int(x)] if known else f"{x:.4g}")
    return names
