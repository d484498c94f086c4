"""Trees made by hand, as text and as Graphviz source."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import dedent
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from committee.records.tree import LEAF, Tree, check_tree
from committee.tabular.schema import fit_columns
from committee.trees.decision_tree import DecisionTreeClassifier
from committee.trees.export import (
    CLASS_COLORS,
    export_graphviz,
    export_text,
    label_tree,
    node_colors,
    split_condition,
)


@dataclass
class Leaf:
    value: Sequence[float]  # class counts, or the value of `rows` rows
    rows: int | None = None
    weight: float | None = None


@dataclass
class Split:
    feature: int
    at: float | list[int]  # a threshold, or the category codes that go left
    left: Split | Leaf
    right: Split | Leaf
    missing_left: bool = False


@dataclass
class Columns:
    names: list[str]
    categories: Mapping[int, list[str]] = field(default_factory=dict[int, list[str]])

    @property
    def is_categorical(self) -> NDArray[np.bool_]:
        return np.array([f in self.categories for f in range(len(self.names))])

    def name(self, f: int) -> str:
        return self.names[f]

    def category_names(self, f: int) -> list[str]:
        return self.categories[f]


def build(root: Split | Leaf) -> Tree:
    """The arrays of a nested tree; children stand side by side, parents first."""
    nodes: list[Split | Leaf] = [root]
    left: list[int] = []
    for node in nodes:  # grows while it is read
        left.append(len(nodes) if isinstance(node, Split) else LEAF)
        nodes += [node.left, node.right] if isinstance(node, Split) else []
    rows, weight, value = np.zeros(len(nodes), np.int64), np.zeros(len(nodes)), [np.zeros(0)] * len(nodes)
    for i in range(len(nodes) - 1, -1, -1):
        node = nodes[i]
        if isinstance(node, Leaf):
            counts = np.asarray(node.value, np.float64)
            rows[i] = int(counts.sum()) if node.rows is None else node.rows
            weight[i] = rows[i] if node.weight is None else node.weight
            value[i] = counts / counts.sum() if node.rows is None else counts
        else:
            a, b = left[i], left[i] + 1
            rows[i], weight[i] = rows[a] + rows[b], weight[a] + weight[b]
            value[i] = (value[a] * weight[a] + value[b] * weight[b]) / weight[i]
    return _tree(nodes, left, np.array(value), rows, weight)


def _tree(
    nodes: list[Split | Leaf],
    left: list[int],
    value: NDArray[np.float64],
    rows: NDArray[np.int64],
    weight: NDArray[np.float64],
) -> Tree:
    m = len(nodes)
    feature, threshold, category_set = np.full(m, LEAF, np.int32), np.full(m, np.nan), np.full(m, -1, np.int32)
    missing_left, sets = np.zeros(m, np.bool_), list[list[int]]()
    for i, node in enumerate(nodes):
        if isinstance(node, Leaf):
            continue
        feature[i], missing_left[i] = node.feature, node.missing_left
        if isinstance(node.at, list):
            bits = sum(1 << code for code in node.at)
            category_set[i] = len(sets)
            sets.append([bits >> 64 * word & (1 << 64) - 1 for word in range(4)])
        else:
            threshold[i] = node.at
    impurity = np.maximum(1 - (value**2).sum(axis=1), 0)
    return Tree(
        feature, threshold, np.array(left, np.int32), missing_left, category_set,
        np.array(sets, np.uint64).reshape(-1, 4), value, impurity, np.zeros(m), rows, weight,
    )  # fmt: skip


def fitted(
    tree: Tree,
    names: list[str],
    classes: Sequence[Any] | None = None,
    *,
    categories: Mapping[int, list[str]] | None = None,
    missing: Sequence[bool] | None = None,
    criterion: str = "gini",
) -> Any:
    check_tree(tree, len(names))
    columns = Columns(names, {} if categories is None else categories)
    estimator = SimpleNamespace(tree_=SimpleNamespace(arrays=tree), columns_=columns, criterion=criterion)
    if classes is not None:
        estimator.classes_ = np.array(classes)
    if missing is not None:
        estimator.has_missing_ = np.array(missing)
    return estimator


def iris() -> Any:
    tree = build(Split(0, 2.45, Leaf([50, 0, 0]), Split(1, 1.75, Leaf([0, 49, 5]), Leaf([0, 1, 45]))))
    return fitted(tree, ["petal length", "petal width"], ["setosa", "versicolor", "virginica"])


def houses(scale: float = 1.0) -> Any:
    small = Split(1, 14.4, Leaf([23.3 * scale], 255), Leaf([15 * scale], 175), missing_left=True)
    tree = build(Split(0, 6.941, small, Leaf([-0.001 * scale], 76)))
    return fitted(tree, ["rooms", "status"], missing=[False, True], criterion="squared_error")


COLOURS = ["blue", "green", "red", "white"]


def paints(categories: list[str] = COLOURS, codes: Sequence[int] = (0, 2), missing_left: bool = True) -> Any:
    tree = build(Split(0, list(codes), Leaf([8, 2]), Leaf([1, 9]), missing_left))
    return fitted(tree, ["colour"], ["no", "yes"], categories={0: categories}, missing=[True])


def chain(depth: int) -> Any:
    """One leaf a level: depth far above Python's recursion limit."""
    root: Split | Leaf = Leaf([1, 1])
    for i in range(depth):
        root = Split(0, float(i), Leaf([2, 1]), root)
    return fitted(build(root), ["x"], [0, 1])


# ---- Text ------------------------------------------------------------------------------------------------------------


def expected(text: str) -> str:
    return dedent(text).strip("\n")


def test_text_of_a_classification_tree():
    wanted = """
                                 rows  class       setosa  versicolor  virginica
    all                           150                0.33        0.33       0.33
    ├── petal length <= 2.45       50  setosa        1.00        0.00       0.00
    └── petal length > 2.45       100                0.00        0.50       0.50
        ├── petal width <= 1.75    54  versicolor    0.00        0.91       0.09
        └── petal width > 1.75     46  virginica     0.00        0.02       0.98
    """
    assert export_text(iris()) == expected(wanted)


def test_text_of_a_regression_tree_with_missing_values():
    wanted = """
                                       rows  value
    all                                 506  16.93
    ├── rooms <= 6.941                  430  19.92
    │   ├── status <= 14.4 or missing   255  23.30
    │   └── status > 14.4               175  15.00
    └── rooms > 6.941                    76   0.00
    """
    assert export_text(houses()) == expected(wanted)


def test_text_of_categories_weights_and_folds():
    tree = build(Split(0, [0, 2], Split(1, 0.5, Leaf([3, 1], weight=2.5), Leaf([4, 0])), Leaf([1, 9]), True))
    estimator = fitted(tree, ["colour", "size"], [False, True], categories={0: COLOURS}, missing=[True, False])
    wanted = """
                                          rows  weight  class  False  True
    all                                     18   16.50          0.42  0.58
    ├── colour in {blue, red} or missing     8    6.50  False   0.90  0.10
    │   └── ... 2 leaves
    └── colour in {green, white}            10   10.00  True    0.10  0.90
    """
    assert export_text(estimator, max_depth=1) == expected(wanted)


def test_text_with_class_weights_and_other_names():
    text = export_text(iris(), feature_names=["länge", "幅"], class_names=["a", "b", "c"], show_weights=True, spacing=1)
    wanted = """
                     rows  weight  class   a   b   c
    all               150     150         50  50  50
    ├ länge <= 2.45    50      50  a      50   0   0
    └ länge > 2.45    100     100          0  50  50
      ├ 幅 <= 1.75     54      54  b       0  49   5
      └ 幅 > 1.75      46      46  c       0   1  45
    """
    assert text == expected(wanted)


def test_text_of_a_single_leaf():
    lines = export_text(fitted(build(Leaf([3, 4])), ["x"], [0, 1])).splitlines()
    assert lines[1].split() == ["all", "7", "1", "0.43", "0.57"]


def test_text_of_scores_and_of_several_outputs():
    stump = build(Split(0, 1.0, Leaf([-0.5], 3), Leaf([0.25], 4)))
    assert re.search(r"x > 1 +4 +b +0.25$", export_text(fitted(stump, ["x"], ["a", "b"])))
    double = build(Split(0, 1.0, Leaf([1.0, 20.0], 3), Leaf([2.5, 10.0], 4)))
    assert export_text(fitted(double, ["x"])).splitlines()[0].split() == ["rows", "value", "0", "value", "1"]


def test_text_of_many_classes_shows_the_most_frequent():
    counts = np.arange(10.0)
    text = export_text(fitted(build(Leaf(list(counts))), ["x"], list("abcdefghij")))
    assert "most frequent" in text
    assert "j 0.2, i 0.18, h 0.16" in text


def test_missing_values_are_shown_only_where_training_had_some():
    estimator = paints()
    assert "missing" in export_text(estimator)
    estimator.has_missing_ = np.array([False])
    assert "missing" not in export_text(estimator) + export_graphviz(estimator)
    del estimator.has_missing_
    assert "missing" not in export_text(estimator) + export_graphviz(estimator)


def test_deep_trees_do_not_recurse():
    estimator = chain(2000)
    assert len(export_text(estimator, max_depth=10_000, spacing=1).splitlines()) == 4002
    assert export_graphviz(estimator).count("->") == 4000
    assert export_text(estimator).endswith("... 1,991 leaves")


def test_text_with_the_columns_of_a_table():
    estimator = paints()
    estimator.has_missing_ = np.array([True, False])
    estimator.columns_ = fit_columns([["red", 1.5], ["blue", 2.5], ["green", 3.5]], categorical_features=[0])
    assert "x[0] in {blue, red} or missing" in export_text(estimator)


# ---- Words -----------------------------------------------------------------------------------------------------------


def conditions(estimator: Any, node: int = 0, room: int = 60) -> tuple[str, str]:
    labels = label_tree(estimator)
    left, right = (split_condition(labels, node, left=side, decimals=2, room=room) for side in (True, False))
    return left, right


def test_long_sets_are_shortened():
    names = [f"town {i:02d}" for i in range(40)]
    left, right = conditions(paints(names, range(17)), room=24)
    assert left == "in {town 00, town 01, ... 15 more}"
    assert right == "not in {town 00, town 01, ... 15 more}"
    assert conditions(paints(names, range(38)), room=24) == ("not in {town 38, town 39}", "in {town 38, town 39}")


def test_categories_beyond_a_word_of_the_bitset():
    names = [f"c{i}" for i in range(254)]
    assert conditions(paints(names, [1, 63, 64, 127, 128, 253]))[0] == "in {c1, c63, c64, c127, c128, c253}"


def test_only_categories_that_can_arrive_are_named():
    tree = build(Split(0, [0, 1, 2], Split(0, [0], Leaf([1, 0]), Leaf([0, 1])), Leaf([1, 1])))
    estimator = fitted(tree, ["colour"], [0, 1], categories={0: COLOURS})
    assert conditions(estimator, node=1) == ("in {blue}", "in {green, red}")


def test_split_between_missing_and_known():
    estimator = paints(COLOURS, [0, 1, 2, 3], missing_left=False)
    assert conditions(estimator) == ("is not missing", "is missing")
    assert "or missing" not in export_text(estimator)


def test_ambiguous_categories_stand_in_quotes():
    left, right = conditions(paints(["a, b", "{c}", 'say "hi"', " ", "plain\nline"], [0, 1, 2]))
    assert left == r'in {"a, b", "{c}", "say \"hi\""}'
    assert right == 'in {" ", plain line}'


def test_colours_are_light_enough_for_dark_text():
    leaves = [Leaf(row) for row in np.eye(7) * 9]
    root: Split | Leaf = leaves[0]
    for leaf in leaves[1:]:
        root = Split(0, 0.0, leaf, root)
    for color in node_colors(label_tree(fitted(build(root), ["x"], list(range(7))))):
        assert contrast_with_black(color) > 7
    assert len(set(CLASS_COLORS)) == len(CLASS_COLORS)


def contrast_with_black(color: str) -> float:
    """The contrast ratio of WCAG 2."""
    channels = np.array(list(bytes.fromhex(color[1:]))) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float((linear @ [0.2126, 0.7152, 0.0722] + 0.05) / 0.05)


def test_colours_follow_class_purity_and_value():
    colors = node_colors(label_tree(iris()))
    assert contrast_with_black(colors[1]) < contrast_with_black(colors[0]), "purer is stronger"
    values = node_colors(label_tree(houses()))
    strength = [contrast_with_black(color) for color in values]
    assert np.argmin(strength) == 3, "the largest value is the strongest"
    assert np.argmax(strength) == 2


# ---- Graphviz --------------------------------------------------------------------------------------------------------

STRING = r'"(?:[^"\\]|\\.)*"'
ATTRIBUTES = rf"\[(\w+=(?:{STRING}|[^\s,\]]+)(?:, \w+=(?:{STRING}|[^\s,\]]+))*)\]"


def parse_dot(source: str) -> tuple[dict[int, dict[str, str]], list[tuple[int, int]]]:
    """Nodes with their attributes, and edges; fails on a line that is no statement."""
    first, *lines, last = source.split("\n")
    assert (first, last) == ("digraph Tree {", "}")
    nodes: dict[int, dict[str, str]] = {}
    edges: list[tuple[int, int]] = []
    for line in lines:
        match = re.fullmatch(rf"(?:(\d+)(?: -> (\d+))?|graph|node|edge)(?: {ATTRIBUTES})? ;", line)
        assert match, line
        if match[2]:
            edges.append((int(match[1]), int(match[2])))
        elif match[1]:
            pairs = re.findall(rf"(\w+)=({STRING}|[^\s,\]]+)", match[3])
            nodes[int(match[1])] = {key: shown(text) for key, text in pairs}
    return nodes, edges


def shown(text: str) -> str:
    """What Graphviz displays for a quoted string."""
    inside = text[1:-1] if text.startswith('"') else text
    plain = re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], inside)
    return plain.replace("&lt;", "<").replace("&quot;", '"').replace("&amp;", "&")


def test_graphviz_has_all_nodes_and_edges():
    nodes, edges = parse_dot(export_graphviz(iris()))
    assert sorted(edges) == [(0, 1), (0, 2), (2, 3), (2, 4)]
    assert sorted(nodes) == [0, 1, 2, 3, 4]
    assert nodes[2]["label"].split("\n") == [
        "petal width <= 1.75", "gini = 0.5", "rows = 100", "value = [0, 50, 50]", "class = versicolor",
    ]  # fmt: skip
    assert all(re.fullmatch("#[0-9A-F]{6}", node["fillcolor"]) for node in nodes.values())


def test_graphviz_options():
    source = export_graphviz(
        iris(), max_depth=1, filled=False, rounded=False, impurity=False, proportion=True, precision=1, node_ids=True
    )
    nodes, edges = parse_dot(source)
    assert edges == [(0, 1), (0, 2)]
    assert nodes[2] == {
        "label": "node #2\n... 2 leaves\nrows = 66.7%\nvalue = [0, 0.5, 0.5]\nclass = versicolor",
    }
    assert 'style=""' in source


def test_graphviz_of_regression_shows_value_and_missing_direction():
    nodes, _ = parse_dot(export_graphviz(houses()))
    assert nodes[1]["label"].split("\n")[:2] == ["status <= 14.4", "missing -> left"]
    assert nodes[3]["label"].split("\n")[1:] == ["rows = 255", "value = 23.3"]


@pytest.mark.parametrize(
    "name", ['say "hi"', "back\\slash", "ends with \\", r"\N \n", "&lt;b&gt; & <b>", "a] ; 0 -> 7", "§ 幅"]
)
def test_graphviz_escapes_names(name: str):
    tree = build(Split(0, [1], Leaf([1, 0]), Split(1, 0.5, Leaf([1, 1]), Leaf([0, 1]))))
    estimator = fitted(tree, ["colour", name], ["no", name], categories={0: ["x", name]})
    nodes, edges = parse_dot(export_graphviz(estimator))
    assert len(edges) == 4
    assert nodes[2]["label"].split("\n")[0] == f"{name} <= 0.5"
    assert nodes[4]["label"].endswith(f"class = {name}")


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_graphviz_accepts_the_source():
    estimator = iris()
    estimator.columns_.names[1] = 'a "b" \\ & <c>'
    source = export_graphviz(estimator)
    drawn = subprocess.run(["dot", "-Tsvg"], input=source, capture_output=True, text=True, check=True, timeout=60)
    assert "a &quot;b&quot; \\ &amp; &lt;c&gt;" in drawn.stdout


# ---- Errors ----------------------------------------------------------------------------------------------------------


def test_errors_say_what_is_wrong():
    with pytest.raises(NotFittedError, match="call fit first"):
        export_text(DecisionTreeClassifier())
    with pytest.raises(TypeError, match="tree estimator of committee"):
        export_text(SimpleNamespace(tree_=1, columns_=None))  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="feature_names has 1 names, the tree needs 2"):
        export_text(iris(), feature_names=["a"])
    with pytest.raises(ValueError, match="class_names has 2 names, the tree needs 3"):
        export_graphviz(iris(), class_names=["a", "b"])
    with pytest.raises(ValueError, match="class_names is for classifiers"):
        export_text(houses(), class_names=["a"])
    with pytest.raises(ValueError, match="max_depth must be at least 0, got -1"):
        export_text(iris(), max_depth=-1)
    with pytest.raises(ValueError, match="spacing must be at least 1"):
        export_text(iris(), spacing=0)
