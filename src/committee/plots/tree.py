"""A fitted tree as a picture: a tidy layout of boxes with split, rows and prediction."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from committee.base.text import format_decimals, pluralize, shorten
from committee.plots._display import SingleDisplay
from committee.plots._style import INK, pyplot
from committee.records.tree import LEAF, Tree
from committee.trees.export import (
    CLASS_COLORS,
    FittedTree,
    TreeLabels,
    count_leaves,
    label_tree,
    leaves_below,
    missing_side,
    node_colors,
    prediction_text,
    split_condition,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from matplotlib.patches import FancyBboxPatch

MAX_LEAVES = 24
"""Without a max_depth, trees with more leaves are folded at the depth that keeps the picture readable."""

# Lengths in units of the font size, so that boxes fit their text at any size
LINE, PAD, BAR, GAP_X, GAP_Y, MARGIN = 1.35, 0.55, 0.55, 1.1, 3.0, 0.8
MAX_FIGURE_INCHES = 30.0
EDGE = "#666666"


def plot_tree(estimator: FittedTree, **kwargs: Any) -> TreeDisplay:
    """Draw a fitted tree.

    Parameters
    ----------
    estimator : fitted decision tree or stump
    **kwargs
        Keyword arguments of `TreeDisplay.from_estimator`.

    Returns
    -------
    TreeDisplay

    Examples
    --------
    >>> from committee import DecisionTreeRegressor
    >>> tree = DecisionTreeRegressor().fit([[0.0], [1.0], [2.0]], [0.0, 0.0, 1.0])
    >>> sorted(plot_tree(tree, feature_names=["x"]).boxes_)
    [0, 1, 2]
    """
    return TreeDisplay.from_estimator(estimator, **kwargs)


class TreeDisplay(SingleDisplay):
    """A fitted tree as boxes and branches.

    A box shows the condition of its split, its number of rows, its class probabilities (or its value on the scale of
    all values) as a bar, and its prediction. Rows that satisfy the condition go left. The colour is that of the
    predicted class, stronger in purer nodes, or stronger for higher values. The width of a branch grows with its number
    of rows; "NA" marks the branch of missing values, for features that had some when the tree was fitted.

    Attributes
    ----------
    labels : tree and names
    ax_, figure_ : axes and figure
    boxes_ : dict of node number -> box
    edges_ : dict of node number -> branch that leads to it

    Examples
    --------
    >>> from committee import DecisionTreeRegressor
    >>> tree = DecisionTreeRegressor().fit([[0.0], [1.0], [2.0]], [0.0, 0.0, 1.0])
    >>> sorted(TreeDisplay.from_estimator(tree).edges_)
    [1, 2]
    """

    boxes_: dict[int, FancyBboxPatch]
    edges_: dict[int, Line2D]

    def __init__(self, labels: TreeLabels, decimals: int = 2) -> None:
        self.labels = labels
        self.decimals = decimals

    @classmethod
    def from_estimator(
        cls,
        estimator: FittedTree,
        *,
        feature_names: Sequence[str] | None = None,
        class_names: Sequence[str] | None = None,
        max_depth: int | None = None,
        fontsize: float | None = None,
        decimals: int = 2,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the tree of a fitted estimator.

        Parameters
        ----------
        estimator : fitted decision tree or stump
        feature_names, class_names : sequence of str, optional
            Names to show instead of the estimator's own, in the order of its features and `classes_`.
        max_depth : int, optional
            Subtrees at this depth are folded into one box that counts their leaves. None shows a tree of at most 24
            leaves completely and folds a larger one.
        fontsize : float, optional
            Size in points; None fits it to `ax`, or takes 10 for a new figure, which becomes as large as needed.
        decimals : int
            Decimals of thresholds and values. Small numbers keep as many significant digits.
        ax : matplotlib axes, optional
            Axes to draw on; a new figure of the right size by default.
        """
        labels = label_tree(estimator, feature_names, class_names)
        return cls(labels, decimals).plot(ax=ax, max_depth=max_depth, fontsize=fontsize)

    def plot(self, ax: Axes | None = None, max_depth: int | None = None, fontsize: float | None = None) -> Self:
        """Draw the tree; see `from_estimator`."""
        pyplot()
        depth = _readable_depth(self.labels.tree) if max_depth is None else max_depth
        if depth < 0:
            raise ValueError(f"max_depth must be at least 0, got {max_depth}")
        cards = _cards(self.labels, depth, self.decimals)
        legend = _legend_entries(self.labels, cards)
        sheet = _arrange(cards, legend)
        self.ax_, scale = _axes_for(sheet, ax, fontsize)
        self.figure_ = self.ax_.figure  # pyright: ignore[reportAttributeAccessIssue]
        size = scale if fontsize is None else fontsize
        self.edges_ = _draw_edges(self.ax_, self.labels, cards, sheet, size)
        self.boxes_ = _draw_boxes(self.ax_, self.labels, cards, sheet, size)
        _draw_legend(self.ax_, legend, sheet, size)
        return self


# ---- What to show ----------------------------------------------------------------------------------------------------


class _Card(NamedTuple):
    """The text of one box and its place in the tree."""

    node: int
    child: int  # position of the left card below, LEAF where none is shown; the right one is next
    depth: int
    title: list[str]  # the condition, or what is folded; empty at a leaf
    counts: str
    prediction: str
    is_folded: bool


class _Entry(NamedTuple):
    """One entry of the legend."""

    color: str  # "" where `text` explains an abbreviation, not a colour
    text: str


def _readable_depth(tree: Tree) -> int:
    """The largest depth at which folding shows at most MAX_LEAVES leaves and folds, and at least 1."""
    per_depth = np.bincount(tree.depth)
    leaves = np.bincount(tree.depth[tree.is_leaf], minlength=per_depth.size)
    ends = per_depth + np.cumsum(leaves) - leaves
    too_wide = np.flatnonzero(ends > MAX_LEAVES)
    return max(int(too_wide[0]) - 1, 1) if too_wide.size else per_depth.size


def _cards(labels: TreeLabels, max_depth: int, decimals: int) -> list[_Card]:
    """A card for every node to show, parents first and siblings side by side."""
    tree, leaves = labels.tree, count_leaves(labels.tree)
    cards: list[_Card] = []
    waiting = [(0, 0)]  # node, depth
    for node, depth in waiting:  # grows while it is read
        is_leaf = tree.feature[node] == LEAF
        is_folded = not is_leaf and depth == max_depth
        child = LEAF if is_leaf or is_folded else len(waiting)
        title = [] if is_leaf else [leaves_below(leaves[node])] if is_folded else _condition(labels, node, decimals)
        prediction = prediction_text(labels, node, decimals)
        cards.append(_Card(node, child, depth, title, _counts(labels, node, decimals), prediction, is_folded))
        if child != LEAF:
            left = int(tree.left[node])
            waiting += [(left, depth + 1), (left + 1, depth + 1)]
    return cards


def _condition(labels: TreeLabels, node: int, decimals: int) -> list[str]:
    name = shorten(labels.feature_names[int(labels.tree.feature[node])], 30)
    condition = split_condition(labels, node, left=True, decimals=decimals, room=48, at_most="≤")
    if len(name) + len(condition) <= 26:
        return [f"{name} {condition}"]
    return [name, *textwrap.wrap(condition, 30, break_on_hyphens=False)]


def _counts(labels: TreeLabels, node: int, decimals: int) -> str:
    rows = pluralize(int(labels.tree.n_samples[node]), "row")
    return f"{rows}, weight {format_decimals(labels.tree.weight[node], decimals)}" if labels.has_weights else rows


def _legend_entries(labels: TreeLabels, cards: list[_Card]) -> list[_Entry]:
    entries: list[_Entry] = []
    names = labels.class_names or []
    if len(names) <= len(CLASS_COLORS):
        entries += [_Entry(color, shorten(name, 30)) for color, name in zip(CLASS_COLORS, names, strict=False)]
    if any(card.child != LEAF and missing_side(labels, card.node) is not None for card in cards):
        entries.append(_Entry("", "NA: missing values go this way"))
    return entries


# ---- Where to show it ------------------------------------------------------------------------------------------------


class _Sheet(NamedTuple):
    """The layout in units of the font size; y grows upwards, the sheet reaches from (0, 0) to (width, height)."""

    width: float
    height: float
    x: NDArray[np.float64]  # [cards], centres
    top: NDArray[np.float64]  # [cards]
    box_width: NDArray[np.float64]  # [cards]
    box_height: NDArray[np.float64]  # [cards]
    floor: NDArray[np.float64]  # [levels], lower end of the tallest box of each level
    legend_rows: list[list[int]]


def tidy_positions(child: NDArray[np.intp], width: NDArray[np.float64], gap: float) -> NDArray[np.float64]:
    """Horizontal centres of the boxes of a binary tree, as close as their widths and `gap` allow.

    Reingold and Tilford (1981), Tidier drawings of trees: subtrees are laid out independently and pushed together until
    their outlines touch; a parent is midway above its children; the same subtree always looks the same. `child`
    holds the position of each node's left child (the right one is next) or -1, parents first.

    An outline is a list of the left (right) ends by level with the deepest level first, so that a parent appends to
    it, and only as many levels are touched as the lower of two subtrees has: linear time in all.
    """
    m = child.size
    shift = np.zeros(m)  # of each node from its parent
    outlines: dict[int, tuple[_Outline, _Outline]] = {}
    for node in range(m - 1, -1, -1):
        half = float(width[node]) / 2
        if child[node] < 0:
            outlines[node] = _Outline([-half], 0.0), _Outline([half], 0.0)
            continue
        a = int(child[node])
        (a_left, a_right), (b_left, b_right) = outlines.pop(a), outlines.pop(a + 1)
        distance = gap + a_right.largest_excess(b_left)
        shift[a], shift[a + 1] = -distance / 2, distance / 2
        left = a_left.moved(-distance / 2).over(b_left.moved(distance / 2))
        right = b_right.moved(distance / 2).over(a_right.moved(-distance / 2))
        outlines[node] = left.with_top(-half), right.with_top(half)
    x = np.zeros(m)
    for node in np.flatnonzero(child >= 0):  # parents first
        x[child[node] : child[node] + 2] = x[node] + shift[child[node] : child[node] + 2]
    return x


class _Outline(NamedTuple):
    """One side of a subtree: `ends[i] + origin` are positions relative to its root, the deepest level first."""

    ends: list[float]  # modified in place by `over` and `with_top`
    origin: float

    def moved(self, by: float) -> _Outline:
        return _Outline(self.ends, self.origin + by)

    def with_top(self, end: float) -> _Outline:
        self.ends.append(end - self.origin)
        return self

    def largest_excess(self, other: _Outline) -> float:
        n = min(len(self.ends), len(other.ends))
        pairs = zip(self.ends[-n:], other.ends[-n:], strict=True)
        return max(a - b for a, b in pairs) + self.origin - other.origin

    def over(self, other: _Outline) -> _Outline:
        """The outline that shows `self` where it has a level, and `other` below it."""
        n = len(self.ends)
        if n >= len(other.ends):
            return self
        offset = self.origin - other.origin
        other.ends[-n:] = [end + offset for end in self.ends]
        return other


def _arrange(cards: list[_Card], legend: list[_Entry]) -> _Sheet:
    box_width, box_height = _box_sizes(cards)
    x = tidy_positions(np.array([card.child for card in cards]), box_width, GAP_X)
    left = float(np.min(x - box_width / 2))
    tree_width = float(np.max(x + box_width / 2)) - left
    entry_widths = [_text_width(entry.text) + (3.0 if entry.color else 1.6) for entry in legend]
    width = max([tree_width, *entry_widths])
    legend_rows = _flow(entry_widths, width)
    depth = np.array([card.depth for card in cards])
    level_height = np.zeros(depth.max() + 1)
    np.maximum.at(level_height, depth, box_height)
    below = np.cumsum((level_height + GAP_Y)[::-1])[::-1] - GAP_Y  # height of the tree from each level down
    foot = MARGIN + (LINE * len(legend_rows) + 1.2 if legend_rows else 0.0)
    return _Sheet(
        width=width + 2 * MARGIN,
        height=foot + float(below[0]) + MARGIN,
        x=x - left + MARGIN + (width - tree_width) / 2,
        top=foot + below[depth],
        box_width=box_width,
        box_height=box_height,
        floor=foot + below - level_height,
        legend_rows=legend_rows,
    )


def _box_sizes(cards: list[_Card]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    widths = [
        max(4.5, *(_text_width(line, bold=True) for line in [*card.title, card.prediction]), _text_width(card.counts))
        for card in cards
    ]
    heights = [LINE * (len(card.title) + 2) + BAR + 0.3 for card in cards]
    return np.array(widths) + 2 * PAD + 0.6, np.array(heights) + 2 * PAD


def _text_width(text: str, bold: bool = False) -> float:
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=10, weight="bold" if bold else "normal")
    return text_to_path.get_text_width_height_descent(text, font, False)[0] / 10


def _flow(widths: list[float], room: float) -> list[list[int]]:
    """Entries put into rows of at most `room`."""
    rows: list[list[int]] = []
    free = 0.0
    for i, width in enumerate(widths):
        if not rows or width > free:
            rows.append([])
            free = room
        rows[-1].append(i)
        free -= width
    return rows


def _axes_for(sheet: _Sheet, ax: Axes | None, fontsize: float | None) -> tuple[Axes, float]:
    """Axes with the sheet's units as data, and how many points a unit has there."""
    if ax is None:
        wanted = 10.0 if fontsize is None else fontsize
        scale = min(wanted, 72 * MAX_FIGURE_INCHES / max(sheet.width, sheet.height))
        figure = pyplot().figure(figsize=(sheet.width * scale / 72, sheet.height * scale / 72))
        ax = figure.add_axes((0, 0, 1, 1))
    assert ax is not None
    bounds = ax.get_window_extent().transformed(ax.figure.dpi_scale_trans.inverted())
    width, height = 72 * bounds.width, 72 * bounds.height
    scale = min(width / sheet.width, height / sheet.height, 12.0 if fontsize is None else fontsize)
    spare_x, spare_y = (width / scale - sheet.width) / 2, (height / scale - sheet.height) / 2
    ax.set_xlim(-spare_x, sheet.width + spare_x)
    ax.set_ylim(-spare_y, sheet.height + spare_y)
    ax.set_axis_off()
    return ax, scale


# ---- Drawing ---------------------------------------------------------------------------------------------------------


def _draw_edges(ax: Any, labels: TreeLabels, cards: list[_Card], sheet: _Sheet, size: float) -> dict[int, Line2D]:
    from matplotlib.lines import Line2D

    rows = labels.tree.n_samples
    edges: dict[int, Line2D] = {}
    for i, card in enumerate(cards):
        if card.child == LEAF:
            continue
        turn = sheet.floor[card.depth] - 0.9
        side = missing_side(labels, card.node)
        for j, is_left in ((card.child, True), (card.child + 1, False)):
            xs = [sheet.x[i], sheet.x[i], sheet.x[j], sheet.x[j]]
            ys = [sheet.top[i] - sheet.box_height[i], turn, turn, sheet.top[j]]
            thickness = (0.08 + 0.32 * rows[cards[j].node] / max(rows[0], 1)) * size
            line = Line2D(xs, ys, color=EDGE, linewidth=thickness, solid_joinstyle="round", zorder=1)
            edges[cards[j].node] = ax.add_line(line)
            marks = [("yes" if is_left else "no")] if i == 0 else []
            marks += ["NA"] if side is is_left else []
            if marks:
                style = {"fontsize": 0.85 * size, "color": INK, "ha": "center", "va": "center", "zorder": 2}
                background = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none"}
                ax.text(sheet.x[j], (turn + sheet.top[j]) / 2, ", ".join(marks), bbox=background, **style)
    return edges


def _draw_boxes(
    ax: Any, labels: TreeLabels, cards: list[_Card], sheet: _Sheet, size: float
) -> dict[int, FancyBboxPatch]:
    from matplotlib.patches import FancyBboxPatch

    colors = node_colors(labels)
    boxes: dict[int, FancyBboxPatch] = {}
    for i, card in enumerate(cards):
        w, h = sheet.box_width[i], sheet.box_height[i]
        box = FancyBboxPatch(
            (sheet.x[i] - w / 2, sheet.top[i] - h), w, h,
            boxstyle="round,pad=0,rounding_size=0.4", facecolor=colors[card.node], edgecolor=EDGE,
            linewidth=0.09 * size, linestyle=(0, (4, 3)) if card.is_folded else "-", zorder=3,
        )  # fmt: skip
        ax.add_patch(box)
        boxes[card.node] = box
        _fill_box(ax, labels, card, (sheet.x[i], sheet.top[i], w), size)
    return boxes


def _fill_box(ax: Any, labels: TreeLabels, card: _Card, place: tuple[float, float, float], size: float) -> None:
    """Title, counts, bar and prediction from top to bottom."""
    x, top, width = place
    y = top - PAD
    weight, style = ("normal", "italic") if card.is_folded else ("bold", "normal")
    for line in card.title:
        _write(ax, x, y - LINE / 2, line, size, weight=weight, style=style)
        y -= LINE
    _write(ax, x, y - LINE / 2, card.counts, size)
    y -= LINE + 0.15 + BAR
    _draw_bar(ax, labels, card.node, (x - width / 2 + PAD + 0.2, y, width - 2 * PAD - 0.4), size)
    is_leaf = not card.title
    _write(ax, x, y - 0.15 - LINE / 2, card.prediction, size, weight="bold" if is_leaf else "normal")


def _write(ax: Any, x: float, y: float, text: str, size: float, **kwargs: Any) -> None:
    """Text with its capitals centred at y; a dollar sign in it does not start a formula."""
    kwargs = {"ha": "center", **kwargs}
    ax.text(x, y - 0.36, text, fontsize=size, color=INK, va="baseline", zorder=5, parse_math=False, **kwargs)


def _draw_bar(ax: Any, labels: TreeLabels, node: int, place: tuple[float, float, float], size: float) -> None:
    """Class probabilities side by side, or the position of the value between the extremes of the tree."""
    from matplotlib.patches import Rectangle

    x, y, width = place
    value = labels.tree.value
    if labels.has_probabilities:
        fractions = value[node]
    elif value.shape[1] == 1:
        low, high = float(value.min()), float(value.max())
        fractions = np.array([(value[node, 0] - low) / (high - low) if high > low else 1.0])
    else:
        return
    ax.add_patch(Rectangle((x, y), width, BAR, facecolor="white", edgecolor="none", zorder=4))
    start = x
    for k in np.flatnonzero(fractions):
        length, color = width * fractions[k], CLASS_COLORS[k % len(CLASS_COLORS)]
        ax.add_patch(Rectangle((start, y), length, BAR, facecolor=color, edgecolor="none", zorder=4))
        start += length
    ax.add_patch(Rectangle((x, y), width, BAR, fill=False, edgecolor=INK, linewidth=0.05 * size, zorder=4))


def _draw_legend(ax: Any, legend: list[_Entry], sheet: _Sheet, size: float) -> None:
    from matplotlib.patches import Rectangle

    for i, row in enumerate(sheet.legend_rows):
        widths = [_text_width(legend[j].text) + (3.0 if legend[j].color else 1.6) for j in row]
        x = (sheet.width - sum(widths) + 1.6) / 2
        y = MARGIN + LINE * (len(sheet.legend_rows) - 1 - i) + LINE / 2
        for j, width in zip(row, widths, strict=True):
            start = x
            if legend[j].color:
                ax.add_patch(Rectangle((x, y - 0.45), 0.9, 0.9, facecolor=legend[j].color, edgecolor=INK,
                                       linewidth=0.05 * size, zorder=4))  # fmt: skip
                start += 1.4
            _write(ax, start, y, legend[j].text, size, ha="left")
            x += width
