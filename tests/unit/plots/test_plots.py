"""Pictures of trees made by hand: the right artists, and none on top of another."""

from __future__ import annotations

import subprocess
import sys
from itertools import combinations
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from committee.plots import PruningDisplay, TreeDisplay, plot_tree
from committee.plots.tree import GAP_X, tidy_positions
from committee.records.tree import LEAF, Tree
from tests.unit.trees.test_export import Leaf, Split, build, chain, fitted, houses, iris, paints

matplotlib = pytest.importorskip("matplotlib")


def random_tree(seed: int, depth: int = 5) -> Any:
    """Three classes, names and categories of all lengths, some missing values and weights."""
    rng = np.random.default_rng(seed)

    def grow(left: int) -> Split | Leaf:
        if left == 0 or (left < depth and rng.random() < 0.3):
            counts = rng.integers(0, 200, 3) + 1.0
            return Leaf(list(counts), weight=float(counts.sum() * (1.3 if seed % 2 else 1)))
        f = int(rng.integers(3))
        at: float | list[int] = float(rng.normal()) if f else sorted(rng.permutation(9)[:4].tolist())
        return Split(f, at, grow(left - 1), grow(left - 1), bool(rng.integers(2)))

    towns = ["a", "Llanfairpwllgwyngyll", "$x^2$", 'the "old" town', "b", "c", "d, e", "f", "g"]
    names = ["town", "x", "a rather long name of a feature, longer than any box"]
    return fitted(build(grow(depth)), names, ["lo", "middle", "hi"], categories={0: towns}, missing=[True, True, False])


SHAPES = {
    "two levels": iris,
    "regression": houses,
    "categories": paints,
    "unbalanced": lambda: chain(12),
    "single leaf": lambda: fitted(build(Leaf([3, 4])), ["x"], ["no", "yes"]),
    "two outputs": lambda: fitted(build(Split(0, 1.0, Leaf([1.0, 20.0], 3), Leaf([2.5, 10.0], 4))), ["x"]),
    "scores": lambda: fitted(build(Split(0, 1.0, Leaf([-0.5], 3), Leaf([0.25], 4))), ["x"], ["a", "b"]),
    **{f"random {seed}": lambda seed=seed: random_tree(seed) for seed in range(4)},
}


@pytest.fixture(params=SHAPES)
def estimator(request: pytest.FixtureRequest) -> Any:
    return SHAPES[request.param]()


def extents(display: TreeDisplay) -> dict[int, Any]:
    display.figure_.canvas.draw()
    return {node: box.get_window_extent() for node, box in display.boxes_.items()}


def tree_of(estimator: Any) -> Tree:
    return estimator.tree_.arrays


def words(display: TreeDisplay) -> list[str]:
    return [text.get_text() for text in display.ax_.texts]


# ---- Layout ----------------------------------------------------------------------------------------------------------


def children(tree: Tree) -> NDArray[np.intp]:
    return tree.left.astype(np.intp)


def test_tidy_positions_of_a_small_tree():
    #      0           the right subtree is pushed as near as the boxes of the last level allow
    #    1   2
    #   3 4 5 6
    x = tidy_positions(np.array([1, 3, 5, -1, -1, -1, -1]), np.full(7, 2.0), gap=1.0)
    np.testing.assert_allclose(x, [0, -3, 3, -4.5, -1.5, 1.5, 4.5])


def test_tidy_positions_touch_but_do_not_overlap():
    for seed in range(20):
        tree = tree_of(random_tree(seed))
        child, rng = children(tree), np.random.default_rng(seed)
        width = rng.uniform(1, 9, child.size)
        x = tidy_positions(child, width, gap=1.0)
        for level in range(tree.max_depth + 1):
            nodes = np.flatnonzero(tree.depth == level)
            nodes = nodes[np.argsort(x[nodes])]
            space = np.diff(x[nodes]) - (width[nodes[1:]] + width[nodes[:-1]]) / 2
            assert np.all(space > 1.0 - 1e-9)
        inner = np.flatnonzero(child != LEAF)
        np.testing.assert_allclose(x[inner], (x[child[inner]] + x[child[inner] + 1]) / 2, atol=1e-9)
        for node in inner:
            assert min_space(tree, x, width, int(node)) == pytest.approx(1.0), "subtrees stand as near as they may"


def min_space(tree: Tree, x: NDArray[np.float64], width: NDArray[np.float64], node: int) -> float:
    """The smallest space between the two subtrees of `node` on any level, the plain way."""
    left, right = (below(tree, int(tree.left[node]) + side) for side in (0, 1))
    pairs = [(a, b) for a in left for b in right if tree.depth[a] == tree.depth[b]]
    return min(x[b] - x[a] - (width[a] + width[b]) / 2 for a, b in pairs)


def below(tree: Tree, node: int) -> list[int]:
    result = [node]
    for i in result:
        result += [int(tree.left[i]), int(tree.left[i]) + 1] if tree.left[i] != LEAF else []
    return result


def test_mirrored_trees_are_laid_out_as_mirror_images():
    a, b, c = Leaf([1, 1]), Leaf([2, 1]), Leaf([3, 1])
    one, other = build(Split(0, 0.0, Split(0, 1.0, a, b), c)), build(Split(0, 0.0, c, Split(0, 1.0, b, a)))
    x = tidy_positions(children(one), np.ones(5), 1.0)
    y = tidy_positions(children(other), np.ones(5), 1.0)
    np.testing.assert_allclose(x[[0, 1, 2, 3, 4]], -y[[0, 2, 1, 4, 3]])


@pytest.mark.slow
def test_tidy_positions_of_a_deep_tree_do_not_recurse():
    child = children(tree_of(chain(5000)))
    assert np.ptp(tidy_positions(child, np.ones(child.size), 1.0)) == pytest.approx(1 + 5000)


# ---- Trees -----------------------------------------------------------------------------------------------------------


def test_boxes_of_a_level_do_not_overlap(estimator: Any):
    display = plot_tree(estimator)
    boxes, depth = extents(display), tree_of(estimator).depth
    assert set(boxes) == set(range(depth.size))
    for a, b in combinations(boxes, 2):
        assert not boxes[a].overlaps(boxes[b])
        if depth[a] == depth[b]:
            assert boxes[a].y1 == pytest.approx(boxes[b].y1), "boxes of a level hang on one line"
            apart = max(boxes[a].x0, boxes[b].x0) - min(boxes[a].x1, boxes[b].x1)
            assert apart > 0.9 * GAP_X * 10 / 72 * display.figure_.dpi


def test_all_text_lies_in_the_picture_and_in_its_box(estimator: Any):
    display = plot_tree(estimator)
    boxes = extents(display)
    page = display.figure_.bbox
    for text in display.ax_.texts:
        extent = text.get_window_extent()
        assert page.x0 <= extent.x0 < extent.x1 <= page.x1
        assert page.y0 <= extent.y0 < extent.y1 <= page.y1
        touched = [box for box in boxes.values() if box.overlaps(extent)]
        assert len(touched) <= 1
        for box in touched:
            assert box.x0 < extent.x0 < extent.x1 < box.x1
            assert box.y0 < extent.y0 < extent.y1 < box.y1


def test_text_does_not_overlap_text(estimator: Any):
    display = plot_tree(estimator)
    display.figure_.canvas.draw()
    # line height leaves no room between the tallest and the deepest letters of two lines, hence the shrinking
    lines = [text.get_window_extent().padded(-1.5) for text in display.ax_.texts]
    assert not any(a.overlaps(b) for a, b in combinations(lines, 2))


def test_branches_join_parents_to_children_and_avoid_boxes(estimator: Any):
    display = plot_tree(estimator)
    boxes, tree = extents(display), tree_of(estimator)
    assert set(display.edges_) == set(range(1, tree.n_nodes))
    parent = {int(tree.left[i]) + side: int(i) for i in np.flatnonzero(~tree.is_leaf) for side in (0, 1)}
    for node, line in display.edges_.items():
        path = line.get_transform().transform(line.get_xydata())
        up, down = boxes[parent[node]], boxes[node]
        np.testing.assert_allclose(path[0], [(up.x0 + up.x1) / 2, up.y0], atol=0.1)
        np.testing.assert_allclose(path[-1], [(down.x0 + down.x1) / 2, down.y1], atol=0.1)
        for other, box in boxes.items():
            middle = path[1:3]
            assert other in (node, parent[node]) or not (
                box.y0 < middle[0, 1] < box.y1 and box.x0 < middle[:, 0].max() and box.x1 > middle[:, 0].min()
            )


def test_a_box_shows_rule_rows_and_prediction():
    shown = words(plot_tree(iris()))
    assert shown[:2] == ["yes", "no"]
    assert shown[2:5] == ["petal length ≤ 2.45", "150 rows", "setosa 33%"]
    assert shown[-3:] == ["setosa", "versicolor", "virginica"], "the legend"


def test_bars_show_class_probabilities():
    from matplotlib.patches import Rectangle

    display = plot_tree(iris())
    bars = [patch for patch in display.ax_.patches if isinstance(patch, Rectangle)]
    # a ground, the shares above zero and a frame in each of five boxes; three squares in the legend
    n_shares = int(np.count_nonzero(iris().tree_.arrays.value))
    assert len(bars) == 5 * 2 + n_shares + 3
    ground, *shares = [bar.get_width() for bar in bars[12:15]]  # box 3, after boxes of 3, 1 and 2 shares
    np.testing.assert_allclose(np.array(shares) / ground, [49 / 54, 5 / 54], atol=1e-12)


def test_missing_values_are_marked_only_where_training_had_some():
    estimator = paints()
    assert words(plot_tree(estimator))[:2] == ["yes, NA", "no"]
    assert "NA: missing values go this way" in words(plot_tree(estimator))
    estimator.tree_.arrays = estimator.tree_.arrays._replace(missing_left=np.zeros(3, np.bool_))
    assert words(plot_tree(estimator))[:2] == ["yes", "no, NA"]
    del estimator.has_missing_
    assert not any("NA" in text for text in words(plot_tree(estimator)))


def test_deeper_levels_are_folded():
    display = plot_tree(chain(12), max_depth=3)
    assert len(display.boxes_) == 7
    assert "... 10 leaves" in words(display)
    root = plot_tree(iris(), max_depth=0)
    assert list(root.boxes_) == [0]
    assert "... 3 leaves" in words(root)


def test_large_trees_are_folded_unless_a_depth_is_given():
    display = plot_tree(chain(2000))
    assert len(display.boxes_) == 2 * 24 - 1
    assert "... 1,978 leaves" in words(display)
    assert len(plot_tree(chain(30), max_depth=30).boxes_) == 61


def test_given_axes_and_font_size_are_used():
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 4))
    display = TreeDisplay.from_estimator(random_tree(0), ax=axes[0], feature_names=list("abc"))
    assert display.ax_ is axes[0]
    assert display.figure_ is figure
    inside = axes[0].get_window_extent()
    for extent in extents(display).values():
        assert inside.x0 <= extent.x0 < extent.x1 <= inside.x1
        assert inside.y0 <= extent.y0 < extent.y1 <= inside.y1
    display.plot(ax=axes[1], max_depth=1, fontsize=6)
    assert display.ax_ is axes[1]
    assert {text.get_fontsize() for text in axes[1].texts} <= {6.0, 0.85 * 6.0}


def test_plot_rejects_negative_depth():
    with pytest.raises(ValueError, match="max_depth must be at least 0"):
        plot_tree(iris(), max_depth=-2)


# ---- Pruning ---------------------------------------------------------------------------------------------------------


class Curve(NamedTuple):
    """Stands in for committee.trees.pruning.PruningCurve."""

    alpha: NDArray[np.float64]
    n_leaves: NDArray[np.int64]
    mean_error: NDArray[np.float64]
    std_error: NDArray[np.float64]
    best: int
    chosen: int


def pruned(alpha: list[float]) -> Any:
    m = len(alpha)
    error = 0.3 - 0.1 * np.sin(np.linspace(0, 3, m))
    return SimpleNamespace(pruning_=Curve(np.array(alpha), np.arange(m, 0, -1), error, np.full(m, 0.02), m // 2, m - 1))


def test_pruning_curve_shows_errors_choices_and_leaves():
    estimator = pruned([0.0, 1e-4, 1e-3, 0.01, 0.1, 0.2])
    display = PruningDisplay.from_estimator(estimator, error_name="misclassification")
    curve = estimator.pruning_
    np.testing.assert_array_equal(display.line_.get_ydata(), curve.mean_error)
    assert display.ax_.get_xscale() == "symlog", "alpha = 0 has a place"
    assert display.limit_.get_ydata()[0] == pytest.approx(curve.mean_error[3] + 0.02)
    assert display.best_.get_xydata().tolist() == [[curve.alpha[3], curve.mean_error[3]]]
    assert display.chosen_.get_label() == "chosen: 1 leaf"
    band = display.band_.get_paths()[0].vertices
    assert band[:, 1].max() == pytest.approx(curve.mean_error.max() + 0.02)
    assert "misclassification" in display.ax_.get_ylabel()


@pytest.mark.parametrize(
    ("alpha", "scale"),
    [([0.0], "linear"), ([0.0, 0.1], "linear"), ([0.1, 0.2], "linear"), ([1e-4, 1e-2, 1.0], "log"),
     ([0.0, *np.geomspace(1e-6, 1, 300)], "symlog")],
)  # fmt: skip
def test_pruning_axes(alpha: list[float], scale: str):
    display = PruningDisplay.from_estimator(pruned(alpha))
    display.figure_.canvas.draw()
    assert display.ax_.get_xscale() == display.leaves_ax_.get_xscale() == scale
    assert display.ax_.get_xlim() == pytest.approx(display.leaves_ax_.get_xlim())
    labels = [label for label in display.leaves_ax_.get_xticklabels() if label.get_text()]
    assert labels[-1].get_text() == "1"
    boxes = [label.get_window_extent() for label in labels]
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))


def test_pruning_uses_given_axes():
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots()
    display = PruningDisplay.from_estimator(pruned([0.0, 0.1]), ax=ax)
    assert (display.ax_, display.figure_) == (ax, figure)


def test_pruning_needs_a_curve():
    with pytest.raises(NotFittedError, match='ccp_alpha="cv"'):
        PruningDisplay.from_estimator(iris())


# ---- matplotlib is an extra ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_import_leaves_matplotlib_alone():
    code = "import sys, committee.plots; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=120).returncode == 0


@pytest.mark.parametrize("draw", [lambda: plot_tree(iris()), lambda: PruningDisplay.from_estimator(pruned([0.0, 0.1]))])
def test_error_names_the_extra(draw: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'committee\[app\]'"):
        draw()
