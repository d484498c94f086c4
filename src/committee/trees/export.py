"""A fitted tree as text and as Graphviz source: names, numbers of rows, categories, side of missing values.

The functions that describe one node (`label_tree`, `split_condition`, `prediction_text`, `node_colors`) also
serve the plots.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from numbers import Integral
from typing import Any, NamedTuple, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from committee.base.text import format_decimals, format_whole_percent, pluralize, shorten
from committee.records.tree import LEAF, Tree

CLASS_COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442")
"""Okabe and Ito's palette, distinguishable with every common kind of colour vision; repeated from class 8 on."""

MAX_CLASSES_IN_FULL = 6
"""With more classes only the most frequent of a node are shown."""

MAX_NAME = 40
"""Longer names are cut in the middle: long names often have the same beginning."""


class TreeArrays(Protocol):
    @property
    def arrays(self) -> Tree: ...


class ColumnNames(Protocol):
    """The names and categories of the columns that a tree was fitted on."""

    @property
    def is_categorical(self) -> NDArray[np.bool_]: ...

    def name(self, f: int, /) -> str: ...

    def category_names(self, f: int, /) -> list[str]: ...


class FittedTree(Protocol):
    """A fitted tree estimator; `classes_`, `has_missing_` and `criterion` are used where it has them."""

    @property
    def tree_(self) -> TreeArrays: ...

    @property
    def columns_(self) -> ColumnNames: ...


class TreeLabels(NamedTuple):
    """A tree and the names that its pictures show."""

    tree: Tree
    feature_names: list[str]
    class_names: list[str] | None  # None for regression
    category_sides: dict[int, tuple[list[str], list[str]]]  # categorical node -> categories going left, right
    has_missing: NDArray[np.bool_]  # [d], the feature had missing values when the tree was fitted
    has_weights: bool  # the weights differ from the numbers of rows
    criterion: str

    @property
    def has_probabilities(self) -> bool:
        """The values are class probabilities, not scores or means."""
        return self.class_names is not None and self.tree.value.shape[1] == len(self.class_names)


def export_text(
    estimator: FittedTree,
    *,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    max_depth: int = 10,
    spacing: int = 3,
    decimals: int = 2,
    show_weights: bool = False,
) -> str:
    """Return a fitted tree as an outline: a line for each node, its figures in columns.

    Parameters
    ----------
    estimator : fitted tree estimator
        A `DecisionTreeClassifier`, `DecisionTreeRegressor` or `DecisionStump`, or a member of an ensemble of trees.
    feature_names, class_names : sequence of str, optional
        Names to show instead of the estimator's own, in the order of its features and `classes_`.
    max_depth : int
        Nodes deeper than this are folded into a line that counts their leaves; the root has depth 0.
    spacing : int
        Width of one step of the indentation, less one.
    decimals : int
        Decimals of thresholds and figures. Small thresholds keep as many significant digits.
    show_weights : bool
        Show weights even when they equal the rows, and class weights instead of class probabilities.

    Returns
    -------
    text : str
        Leaves (and folded nodes) show their class. "or missing" is the branch that missing values take, for features
        that had some in `fit`.

    Examples
    --------
    >>> from committee import DecisionTreeClassifier, export_text
    >>> from committee.datasets import load_dataset
    >>> glass = load_dataset("glass", as_frame=True)
    >>> tree = DecisionTreeClassifier(max_depth=1).fit(glass.X, glass.y)
    >>> print(export_text(tree, show_weights=True))
                     rows  weight  class   1   2   3   5  6   7
    all               214     214         70  76  17  13  9  29
    ├── Ba <= 0.335   185     185  2      69  75  17  12  9   3
    └── Ba > 0.335     29      29  7       1   1   0   1  0  26
    """
    _check_at_least("max_depth", max_depth, 0)
    _check_at_least("spacing", spacing, 1)
    _check_at_least("decimals", decimals, 0)
    labels = label_tree(estimator, feature_names, class_names)
    lines = list(_outline(labels, max_depth, spacing, decimals))
    return _table([line.text for line in lines], _figures(labels, lines, decimals, show_weights))


def export_graphviz(
    estimator: FittedTree,
    *,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    max_depth: int | None = None,
    filled: bool = True,
    impurity: bool = True,
    proportion: bool = False,
    rounded: bool = True,
    precision: int = 3,
    node_ids: bool = False,
) -> str:
    """Return a fitted tree in the DOT language of Graphviz: ``dot -Tsvg tree.dot -o tree.svg`` draws it.

    Parameters
    ----------
    estimator : fitted tree estimator
        A `DecisionTreeClassifier`, `DecisionTreeRegressor` or `DecisionStump`, or a member of an ensemble of trees.
    feature_names, class_names : list of str, default=None
        Names of the features and classes; None for those of the estimator.
    max_depth : int, default=None
        Depth at which subtrees are replaced by one node with their number of leaves; the root has depth 0.
    filled : bool, default=True
        Whether to colour the nodes by class and purity, or by value.
    impurity : bool, default=True
        Whether to show the impurity.
    proportion : bool, default=False
        Whether to show rows as a percentage, and class probabilities instead of class weights.
    rounded : bool, default=True
        Whether to round the corners of the nodes.
    precision : int, default=3
        Decimals of thresholds and values. Small thresholds keep as many significant digits.
    node_ids : bool, default=False
        Whether to show the numbers of the nodes.

    Returns
    -------
    dot : str
        Source of a directed graph.

    Examples
    --------
    >>> from committee import DecisionStump, export_graphviz
    >>> stump = DecisionStump().fit([[1.0], [2.0], [3.0]], ["no", "no", "yes"])
    >>> print(export_graphviz(stump, feature_names=["size"]).splitlines()[4])
    0 [label="size <= 2.5\\nedge = 0.333\\nrows = 3\\nvalue = [2, 1]\\nclass = no", fillcolor="#BDDAEB"] ;
    """
    if max_depth is not None:
        _check_at_least("max_depth", max_depth, 0)
    _check_at_least("precision", precision, 0)
    labels = label_tree(estimator, feature_names, class_names)
    tree, colors, leaves = labels.tree, node_colors(labels), count_leaves(labels.tree)
    style = ", ".join(name for name, wanted in (("filled", filled), ("rounded", rounded)) if wanted)
    lines = [
        "digraph Tree {",
        "graph [ordering=out] ;",
        f'node [shape=box, style="{style}", color="#444444", fontname="Helvetica"] ;',
        'edge [color="#444444", fontname="Helvetica"] ;',
    ]
    for node, depth in _walk(tree, max_depth):
        folded = depth == max_depth and tree.feature[node] != LEAF
        head = [f"node #{node}"] if node_ids else []
        head += [leaves_below(leaves[node])] if folded else _split_lines(labels, node, precision)
        text = head + _figure_lines(labels, node, precision, impurity=impurity, proportion=proportion)
        fill = f', fillcolor="{colors[node]}"' if filled else ""
        lines.append(f"{node} [label={_dot_string(text)}{fill}] ;")
        if not folded and tree.feature[node] != LEAF:
            lines += _dot_edges(node, int(tree.left[node]))
    return "\n".join([*lines, "}"])


# ---- One node --------------------------------------------------------------------------------------------------------


def label_tree(
    estimator: FittedTree,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
) -> TreeLabels:
    """The tree of a fitted estimator with the names to show."""
    tree = _arrays(estimator)
    columns = estimator.columns_
    is_categorical = columns.is_categorical
    n_features = len(is_categorical)
    own_names = [columns.name(f) for f in range(n_features)]
    classes = getattr(estimator, "classes_", None)
    if classes is None and class_names is not None:
        raise ValueError("class_names is for classifiers, this estimator has no classes_")
    categories = {f: columns.category_names(f) for f in np.flatnonzero(is_categorical).tolist()}
    has_missing = getattr(estimator, "has_missing_", None)
    criterion = getattr(estimator, "criterion", None)
    return TreeLabels(
        tree=tree,
        feature_names=_names("feature_names", feature_names, own_names),
        class_names=None if classes is None else _names("class_names", class_names, list(classes)),
        category_sides=_category_sides(tree, categories),
        has_missing=np.zeros(n_features, np.bool_) if has_missing is None else np.asarray(has_missing, np.bool_),
        has_weights=not np.allclose(tree.weight, tree.n_samples),
        criterion=criterion if isinstance(criterion, str) else "impurity",
    )


def split_condition(
    labels: TreeLabels, node: int, *, left: bool, decimals: int, room: int = 60, at_most: str = "<="
) -> str:
    """Return the condition of the split of `node` on the way to one side, without the feature's name.

    Sets of categories take about `room` characters.
    """
    if node not in labels.category_sides:
        return f"{at_most if left else '>'} {threshold_text(labels.tree.threshold[node], decimals)}"
    goes_left, goes_right = labels.category_sides[node]
    inside, outside = (goes_left, goes_right) if left else (goes_right, goes_left)
    if not inside:
        return "is missing"
    if not outside:
        return "is not missing"
    if _text_width(", ".join(inside)) > room and _text_width(", ".join(outside)) < _text_width(", ".join(inside)):
        return f"not in {_set_text(outside, room)}"
    return f"in {_set_text(inside, room)}"


def missing_side(labels: TreeLabels, node: int) -> bool | None:
    """True where missing values go left at the split of `node`, False right, None where it has no side of its own."""
    if not labels.has_missing[labels.tree.feature[node]]:
        return None
    if node in labels.category_sides and not all(labels.category_sides[node]):
        return None  # the condition itself names missing values
    return bool(labels.tree.missing_left[node])


def predicted_class(labels: TreeLabels, node: int) -> str:
    """The name of the class that `node` predicts."""
    names, value = labels.class_names, labels.tree.value[node]
    if names is None:
        raise ValueError("a regression tree predicts no class")
    return names[int(np.argmax(value)) if labels.has_probabilities else int(value[0] > 0)]


def prediction_text(labels: TreeLabels, node: int, decimals: int) -> str:
    """Return the class and its probability, or the value, of a node."""
    value = labels.tree.value[node]
    if labels.class_names is None:
        return ", ".join(format_decimals(v, decimals) for v in value[:3]) + (", ..." if value.size > 3 else "")
    name = shorten(predicted_class(labels, node), 24)
    if labels.has_probabilities:
        return f"{name} {format_whole_percent(value.max())}"
    return f"{name} ({format_decimals(value[0], decimals)})"


def node_colors(labels: TreeLabels) -> list[str]:
    """Return a fill colour for each node: the hue is the class and the strength its purity, or one hue by value.

    All are light enough for black text: contrast at least 7.
    """
    tree, value = labels.tree, labels.tree.value
    hue = np.zeros(tree.n_nodes, np.intp)
    if labels.has_probabilities:
        k = value.shape[1]
        hue = np.argmax(value, axis=1)
        strength = (value.max(axis=1) - 1 / k) / (1 - 1 / k) if k > 1 else np.ones(tree.n_nodes)
    elif labels.class_names is not None:
        hue = (value[:, 0] > 0).astype(np.intp)
        strength = _rescaled(np.abs(value[:, 0]), 0.0)
    elif value.shape[1] == 1:
        strength = _rescaled(value[:, 0], value.min())
    else:
        return ["#F2F2F2"] * tree.n_nodes
    palette = np.array([_rgb(color) for color in CLASS_COLORS])[hue % len(CLASS_COLORS)]
    fraction = 0.06 + 0.6 * np.clip(strength, 0, 1)[:, None]
    return ["#" + bytes(row).hex().upper() for row in np.rint(255 - fraction * (255 - palette)).astype(np.uint8)]


def count_leaves(tree: Tree) -> NDArray[np.int64]:
    """Leaves below each node, 1 at a leaf."""
    leaves = tree.is_leaf.astype(np.int64)
    for node in np.flatnonzero(~tree.is_leaf)[::-1]:  # children come after their parent
        leaves[node] = leaves[tree.left[node]] + leaves[tree.left[node] + 1]
    return leaves


def threshold_text(x: float, decimals: int) -> str:
    """A threshold with four significant digits at least: neighbouring splits of one feature must look different."""
    before_point = int(np.floor(np.log10(abs(x)))) + 1 if x and np.isfinite(x) else 1
    return format_decimals(x, max(decimals, min(4 - before_point, 12)))


def leaves_below(n: int) -> str:
    return f"... {pluralize(int(n), 'leaf', 'leaves')}"


def _arrays(estimator: FittedTree) -> Tree:
    if isinstance(estimator, type):
        raise TypeError(f"expected a fitted estimator, got the class {estimator.__name__}")
    if not hasattr(estimator, "tree_"):
        _reject_no_tree(estimator)
    arrays = getattr(estimator.tree_, "arrays", None)
    if not isinstance(arrays, Tree):
        raise TypeError(f"expected a tree estimator of committee, got {type(estimator).__name__}")
    return arrays


def _reject_no_tree(estimator: Any) -> NoReturn:
    """Raise NotFittedError, or a TypeError that names what has single trees."""
    check_is_fitted(estimator, msg="this %(name)s is not fitted yet, call fit first")
    name = type(estimator).__name__
    members: Any = getattr(estimator, "estimators_", ())
    if len(members) and hasattr(members[0], "tree_"):
        raise TypeError(f"{name} has many trees and this needs a single one: pass one of its estimators_")
    if hasattr(estimator, "trees_"):
        raise TypeError(
            f"{name} is a sum of trees and this needs a single one: tree_importances, shap_values and "
            "partial_dependence of committee.explain describe the sum"
        )
    raise TypeError(f"a fitted decision tree is needed, such as DecisionTreeClassifier; {name} has no tree")


def _names(argument: str, given: Any, own: Sequence[object]) -> list[str]:
    if isinstance(given, str) or not (given is None or hasattr(given, "__len__")):
        raise TypeError(f"{argument} must be a sequence of names, got {given!r}")
    if given is not None and len(given) != len(own):
        raise ValueError(f"{argument} has {len(given)} names, the tree needs {len(own)}")
    return [_clean(str(name)) for name in (own if given is None else given)]


def _clean(name: str) -> str:
    """One line of printable characters."""
    if name.isprintable():
        return name
    return "".join(
        " " if c.isspace() else c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in name
    )


def _category_sides(tree: Tree, categories: dict[int, list[str]]) -> dict[int, tuple[list[str], list[str]]]:
    """For each categorical split the categories that go left and right, of those that can still arrive there."""
    sides: dict[int, tuple[list[str], list[str]]] = {}
    arriving: dict[int, dict[int, int]] = {}  # node -> feature -> bitset, only where a split above excludes some
    for node in np.flatnonzero(~tree.is_leaf).tolist():  # parents come first
        here = arriving.pop(node, {})
        f, child, row = int(tree.feature[node]), int(tree.left[node]), int(tree.category_set[node])
        below = here, here
        if row >= 0:
            names = categories.get(f, [])
            chosen = int.from_bytes(tree.categories[row].astype("<u8").tobytes(), "little")
            left, right = _divide(chosen, (1 << max(len(names), chosen.bit_length())) - 1, here.get(f))
            sides[node] = _members(left, names), _members(right, names)
            below = {**here, f: left}, {**here, f: right}
        for i in (0, 1):
            if below[i]:
                arriving[child + i] = below[i]
    return sides


def _divide(chosen: int, known: int, arriving: int | None) -> tuple[int, int]:
    """Bitsets of the categories going left and right; all known ones where none of those arriving goes one way."""
    left, right = chosen & known, known & ~chosen
    if arriving is None or not (left & arriving and right & arriving):
        return left, right
    return left & arriving, right & arriving


def _members(bits: int, names: list[str]) -> list[str]:
    codes = [code for code in range(bits.bit_length()) if bits >> code & 1]
    return [_category(_clean(str(names[code]))) if code < len(names) else f"code {code}" for code in codes]


def _category(name: str) -> str:
    """A category's name, in quotes where it could be misread inside a set."""
    if name and name == name.strip() and not set(name) & set(',{}"'):
        return shorten(name, MAX_NAME)
    escaped = shorten(name, MAX_NAME).replace('"', '\\"')
    return f'"{escaped}"'


def _set_text(names: list[str], room: int) -> str:
    shown = [shorten(name, room) for name in names]
    n = len(shown)
    while n > 1 and _text_width(", ".join(shown[:n])) > room:
        n -= 1
    more = f", ... {len(names) - n} more" if n < len(names) else ""
    return "{" + ", ".join(shown[:n]) + more + "}"


def _rescaled(x: NDArray[np.float64], low: float) -> NDArray[np.float64]:
    high = float(x.max())
    return (x - low) / (high - low) if high > low else np.full(x.size, 0.5)


def _rgb(color: str) -> tuple[int, ...]:
    return tuple(bytes.fromhex(color[1:]))


def _check_at_least(name: str, value: object, low: int) -> None:
    if not isinstance(value, Integral):
        raise TypeError(f"{name} must be an integer of at least {low}, got {value!r}")
    if int(value) < low:
        raise ValueError(f"{name} must be at least {low}, got {value}")


# ---- The outline -----------------------------------------------------------------------------------------------------


class _Line(NamedTuple):
    text: str  # the rule, indented
    node: int  # _NO_NODE in a line that stands for a folded subtree
    is_end: bool  # no node below it is shown


class _Column(NamedTuple):
    header: str
    cells: list[str]
    is_number: bool = True


_NO_NODE = -1


def _outline(labels: TreeLabels, max_depth: int, spacing: int, decimals: int) -> Iterator[_Line]:
    """The lines from top to bottom."""
    tree, leaves = labels.tree, count_leaves(labels.tree)
    dashes, blank = "─" * (spacing - 1) + " ", " " * (spacing + 1)
    stack = [(0, 0, "all", "")]  # node, depth, line, what stands before the lines of its children
    while stack:
        node, depth, text, indent = stack.pop()
        is_leaf = bool(tree.feature[node] == LEAF)
        yield _Line(text, node, is_leaf or depth == max_depth)
        if is_leaf:
            continue
        if depth == max_depth:
            yield _Line(f"{indent}└{dashes}{leaves_below(leaves[node])}", _NO_NODE, True)
            continue
        child = int(tree.left[node])
        rules = (_branch_rule(labels, node, left=side, decimals=decimals) for side in (True, False))
        left, right = (f"{indent}{corner}{dashes}{rule}" for corner, rule in zip("├└", rules, strict=True))
        stack.append((child + 1, depth + 1, right, indent + blank))
        stack.append((child, depth + 1, left, indent + "│" + blank[1:]))


def _branch_rule(labels: TreeLabels, node: int, *, left: bool, decimals: int) -> str:
    name = labels.feature_names[int(labels.tree.feature[node])]
    rule = f"{name} {split_condition(labels, node, left=left, decimals=decimals)}"
    return f"{rule} or missing" if missing_side(labels, node) is left else rule


def _figures(labels: TreeLabels, lines: list[_Line], decimals: int, show_weights: bool) -> list[_Column]:
    """The columns next to the outline."""
    tree, nodes = labels.tree, [line.node for line in lines]
    columns = [_Column("rows", ["" if node == _NO_NODE else f"{tree.n_samples[node]:,}" for node in nodes])]
    if show_weights or labels.has_weights:
        columns.append(_number_column("weight", tree.weight, nodes, decimals))
    if labels.class_names is not None:
        names = ["" if node == _NO_NODE or not end else predicted_class(labels, node) for _, node, end in lines]
        columns.append(_Column("class", [shorten(name, 24) for name in names], is_number=False))
    return columns + _value_columns(labels, nodes, decimals, show_weights)


def _value_columns(labels: TreeLabels, nodes: list[int], decimals: int, show_weights: bool) -> list[_Column]:
    value, names = labels.tree.value, labels.class_names
    n_columns = value.shape[1]
    if not labels.has_probabilities or names is None:
        header = "value" if names is None else "score"
        headers = [header] if n_columns == 1 else [f"{header} {i}" for i in range(n_columns)]
        return [_number_column(h, value[:, i], nodes, decimals) for i, h in enumerate(headers)]
    if show_weights:
        value = value * labels.tree.weight[:, None]
    if n_columns <= MAX_CLASSES_IN_FULL:
        return [_number_column(shorten(name, 16), value[:, i], nodes, decimals) for i, name in enumerate(names)]
    cells = ["" if node == _NO_NODE else _most_frequent(value[node], names, decimals) for node in nodes]
    return [_Column("most frequent", cells, is_number=False)]


def _most_frequent(value: NDArray[np.float64], names: list[str], decimals: int, n: int = 3) -> str:
    top = [int(i) for i in np.argsort(-value, kind="stable")[:n] if value[i] > 0]
    return ", ".join(f"{shorten(names[i], 16)} {format_decimals(value[i], decimals)}" for i in top)


def _number_column(header: str, x: NDArray[np.float64], nodes: list[int], decimals: int) -> _Column:
    """Figures with the same number of decimals: none for integers, significant digits for tiny or huge ones."""
    shown = x[[node for node in nodes if node != _NO_NODE]]
    largest = float(np.abs(shown).max(initial=0.0))
    spec = f".{decimals}f"
    if 1 < largest < 1e15 and np.allclose(shown, np.rint(shown), rtol=0, atol=1e-9 * largest):
        spec = ",.0f"
    elif largest >= 1e9 or 0 < largest < 10.0 ** (1 - decimals):
        spec = f".{decimals + 1}g"
    return _Column(header, ["" if node == _NO_NODE else _no_minus_zero(format(x[node], spec)) for node in nodes])


def _no_minus_zero(text: str) -> str:
    return text[1:] if text.startswith("-") and not text.strip("-0.") else text


def _table(lines: list[str], columns: list[_Column]) -> str:
    width = max(_text_width(line) for line in lines)
    rows = [_padded("", width, is_number=False), *(_padded(line, width, is_number=False) for line in lines)]
    for column in columns:
        cells = [column.header, *column.cells]
        width = max(_text_width(cell) for cell in cells)
        rows = [f"{row}  {_padded(cell, width, column.is_number)}" for row, cell in zip(rows, cells, strict=True)]
    return "\n".join(row.rstrip() for row in rows)


def _padded(text: str, width: int, is_number: bool) -> str:
    blanks = " " * (width - _text_width(text))
    return blanks + text if is_number else text + blanks


def _text_width(text: str) -> int:
    """Cells of a terminal: two for wide East Asian characters, none for combining marks."""
    words = text.lstrip("│├└─ ")
    width = len(text) - len(words)
    if words.isascii():
        return width + len(words)
    return width + sum(0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF") for c in words)


# ---- Graphviz --------------------------------------------------------------------------------------------------------


def _walk(tree: Tree, max_depth: int | None) -> Iterator[tuple[int, int]]:
    """(node, depth), the root first and left before right, down to `max_depth`."""
    stack = [(0, 0)]
    while stack:
        node, depth = stack.pop()
        yield node, depth
        if tree.feature[node] != LEAF and depth != max_depth:
            child = int(tree.left[node])
            stack += [(child + 1, depth + 1), (child, depth + 1)]


def _split_lines(labels: TreeLabels, node: int, precision: int) -> list[str]:
    feature = int(labels.tree.feature[node])
    if feature == LEAF:
        return []
    name, condition = labels.feature_names[feature], split_condition(labels, node, left=True, decimals=precision)
    lines = [f"{name} {condition}"] if len(name) + len(condition) <= 40 else [name, condition]
    side = missing_side(labels, node)
    return lines if side is None else [*lines, f"missing -> {'left' if side else 'right'}"]


def _figure_lines(labels: TreeLabels, node: int, precision: int, *, impurity: bool, proportion: bool) -> list[str]:
    tree = labels.tree
    lines = [_impurity_line(labels, node, precision)] if impurity else []
    percent = 100 * tree.n_samples[node] / max(int(tree.n_samples[0]), 1)
    lines.append(f"rows = {percent:.1f}%" if proportion else f"rows = {tree.n_samples[node]}")
    if labels.has_weights:
        lines.append(f"weight = {format_decimals(tree.weight[node], precision)}")
    value = tree.value[node]
    if labels.has_probabilities and not proportion:
        value = value * tree.weight[node]
    if labels.has_probabilities and labels.class_names is not None and value.size > MAX_CLASSES_IN_FULL:
        lines.append(f"value = {_most_frequent(value, labels.class_names, precision)}, ...")
    else:
        figures = [format_decimals(v, precision) for v in value]
        lines.append(f"value = {figures[0] if len(figures) == 1 else '[' + ', '.join(figures) + ']'}")
    return lines if labels.class_names is None else [*lines, f"class = {predicted_class(labels, node)}"]


def _impurity_line(labels: TreeLabels, node: int, precision: int) -> str:
    impurity, at_root = float(labels.tree.impurity[node]), float(labels.tree.impurity[0])
    is_rounding = abs(impurity) < 1e-12 * abs(at_root)  # of a pure node
    return f"{labels.criterion} = {'0' if is_rounding else format_decimals(impurity, precision)}"


def _dot_edges(node: int, child: int) -> list[str]:
    if node != 0:
        return [f"{node} -> {child} ;", f"{node} -> {child + 1} ;"]
    return [
        f'{node} -> {child} [labeldistance=2.5, labelangle=45, headlabel="yes"] ;',
        f'{node} -> {child + 1} [labeldistance=2.5, labelangle=-45, headlabel="no"] ;',
    ]


def _dot_string(lines: list[str]) -> str:
    r"""A quoted DOT string; Graphviz reads \" and \\ and \n, and HTML entities even outside HTML labels."""
    escaped = (line.replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return '"' + "\\n".join(escaped) + '"'
