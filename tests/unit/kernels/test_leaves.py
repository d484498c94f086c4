"""Values of leaves against plain Python; a leaf that is called safe really does not raise its loss."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from committee.kernels.boosting import leaves
from committee.records.growth import FEATURE
from committee.tree_engine.subtrees import new_nodes

NO_WEIGHTS = np.empty(0)


class Leaves(NamedTuple):
    """An inner node and the leaves after it, which share out the rows."""

    nodes: NDArray[np.void]
    rows: NDArray[np.uint32]


def make_leaves(rng: np.random.Generator, sizes: list[int]) -> Leaves:
    nodes = new_nodes(len(sizes) + 1)
    nodes["left"][0] = 1
    nodes["n"][0] = sum(sizes)
    nodes["n"][1:] = sizes
    nodes["start"][1:] = np.cumsum([0, *sizes[:-1]])
    return Leaves(nodes, rng.permutation(sum(sizes)).astype(np.uint32))


def rows_of(tree: Leaves, i: int) -> NDArray[np.uint32]:
    start = tree.nodes["start"][i]
    return tree.rows[start : start + tree.nodes["n"][i]]


def newton(
    tree: Leaves, g, h, weight, l1=0.0, l2=0.0, rate=1.0, curvature_bound=0.0
) -> tuple[NDArray[np.float64], int]:
    value = np.full(tree.nodes.size, np.nan)
    step = leaves.NewtonStep(l1, l2, rate, curvature_bound)
    sums = np.empty((tree.nodes.size, 3))
    leaves.sum_leaves(tree.nodes, tree.nodes.size, tree.rows, g, h, weight, sums)
    n_unsafe = leaves.newton_leaves(tree.nodes, tree.nodes.size, sums, step, value)
    return value, n_unsafe


@pytest.mark.parametrize(("l1", "l2", "rate"), [(0.0, 0.0, 1.0), (0.7, 0.0, 0.3), (0.0, 2.5, 0.1), (1.3, 0.4, 0.5)])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_newton_leaves(l1, l2, rate, is_weighted):
    rng = np.random.default_rng(3)
    tree = make_leaves(rng, [1, 2, 5, 40, 100])
    tree.nodes["lower"][3], tree.nodes["upper"][3] = -0.01, 0.01
    tree.nodes["lower"][4] = 0.2
    tree.nodes["extra_l2"][1:3] = 1.5
    tree.nodes["upper"][5] = -0.2
    n = tree.rows.size
    g, h = rng.normal(size=n), rng.exponential(size=n)
    weight = rng.exponential(size=n) if is_weighted else NO_WEIGHTS
    value, n_unsafe = newton(tree, g, h, weight, l1, l2, rate)
    assert n_unsafe == 0
    assert value[0] == 0.0
    w = weight if is_weighted else np.ones(n)
    for i in range(1, 6):
        rows = rows_of(tree, i)
        g_sum, h_sum = (g * w)[rows].sum(), (h * w)[rows].sum()
        step = np.sign(g_sum) * max(abs(g_sum) - l1, 0.0) / (h_sum + l2 + tree.nodes["extra_l2"][i])
        expected = rate * np.clip(step, tree.nodes["lower"][i], tree.nodes["upper"][i])
        assert value[i] == pytest.approx(expected, rel=1e-12)


def test_a_leaf_without_curvature_stays():
    tree = make_leaves(np.random.default_rng(0), [3, 3])
    g, h = np.ones(6), np.zeros(6)
    assert newton(tree, g, h, NO_WEIGHTS)[0].tolist() == [0.0, 0.0, 0.0]
    assert newton(tree, g, h, NO_WEIGHTS, l2=2.0)[0].tolist() == [0.0, 1.5, 1.5]


def test_marks_of_leaves_that_may_raise_the_loss():
    tree = make_leaves(np.random.default_rng(0), [2, 2])
    g, h = np.empty(4), np.ones(4)
    g[rows_of(tree, 1)], g[rows_of(tree, 2)] = 0.5, 20.0
    for curvature_bound, expected in ((0.0, [0, 0, 0]), (1.0, [0, 0, 1]), (-1.0, [0, 1, 1])):
        tree.nodes["score"] = 7.0
        assert newton(tree, g, h, NO_WEIGHTS, curvature_bound=curvature_bound)[1] == sum(expected)
        assert tree.nodes["score"].tolist() == expected


# --- the promise of cannot_increase ----------------------------------------------------------------------------------


def log_loss(y, s, p):
    share = 1 / (1 + np.exp(-s))
    return np.logaddexp(np.longdouble(0), s) - y * s, y - share, share * (1 - share)


def exponential(y, s, p):
    e = np.exp(-y * s)
    return e, y * e, e


def poisson(y, s, p):
    return np.exp(s) - y * s, y - np.exp(s), np.exp(s)


def gamma(y, s, p):
    e = y * np.exp(-s)
    return s + e, e - 1, e


def tweedie(y, s, p):
    a, b = y * np.exp((1 - p) * s), np.exp((2 - p) * s)
    return b / (2 - p) - a / (1 - p), a - b, (2 - p) * b - (1 - p) * a


TARGETS = {
    log_loss: lambda rng, n: rng.integers(0, 2, n),
    exponential: lambda rng, n: 2 * rng.integers(0, 2, n) - 1,
    poisson: lambda rng, n: rng.poisson(rng.exponential(3.0), n),
    gamma: lambda rng, n: rng.gamma(0.7, 3.0, n),
    tweedie: lambda rng, n: rng.poisson(1.0, n) * rng.gamma(2.0, 2.0, n),
}


@pytest.mark.parametrize("loss", TARGETS, ids=lambda loss: loss.__name__)
@pytest.mark.parametrize("is_regular", [False, True])
def test_a_safe_leaf_does_not_raise_its_loss(loss, is_regular):
    """Thousands of leaves, from flat to far out: pure ones, steps of all sizes, weights, l1, l2, bounds around zero."""
    rng = np.random.default_rng(11)
    n_leaves = n_safe = n_rising = 0
    for _ in range(60):
        sizes = rng.integers(1, 12, 40).tolist()
        tree = make_leaves(rng, sizes)
        n = tree.rows.size
        y = TARGETS[loss](rng, n).astype(np.longdouble)
        s = rng.normal(rng.normal(0.0, 2.0), rng.exponential(1.5), n).astype(np.longdouble)
        p = rng.uniform(1.05, 1.95)
        rate = float(rng.choice([0.05, 0.1, 0.3, 0.7, 1.0]))
        weight = rng.exponential(size=n) if rng.random() < 0.5 else NO_WEIGHTS
        l1, l2 = (rng.exponential(), rng.exponential()) if is_regular else (0.0, 0.0)
        if is_regular:
            tree.nodes["extra_l2"] = rng.choice([0.0, 3.0])
            tree.nodes["lower"], tree.nodes["upper"] = -rng.exponential(), rng.exponential()
        before, g, h = loss(y, s, p)
        value, n_unsafe = newton(tree, g.astype(float), h.astype(float), weight, l1, l2, rate, 1.0)
        is_safe = tree.nodes["score"] == 0.0
        assert n_unsafe == tree.nodes.size - is_safe.sum()
        w = weight if weight.size else np.ones(n)
        for i in range(1, tree.nodes.size):
            rows = rows_of(tree, i)
            with np.errstate(over="ignore"):  # a leaf far out
                after = loss(y[rows], s[rows] + value[i], p)[0]
            increase = (w[rows] * (after - before[rows])).sum()
            n_leaves += 1
            n_safe += is_safe[i]
            n_rising += increase > 0
            if is_safe[i]:
                assert increase <= 1e-15 * (w[rows] * abs(before[rows])).sum()
    assert n_safe > 0.3 * n_leaves  # a promise that is never given would be easy to keep
    # And Newton steps do overshoot, except those of the exponential loss: |g| = h, so none is longer than one.
    assert is_regular or loss is exponential or n_rising > 0


def test_a_pure_logistic_leaf_far_out_is_not_called_safe():
    tree = make_leaves(np.random.default_rng(0), [4])
    y, s = np.array([1.0, 1.0, 1.0, 0.0]), np.full(4, -20.0)
    _, g, h = log_loss(y, s, 0.0)
    value, n_unsafe = newton(tree, g, h, NO_WEIGHTS, curvature_bound=1.0)
    assert value[1] > 1e6
    assert n_unsafe == 1


# --- rows and leaves -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_leaves", [1, 7])
def test_add_leaf_steps(n_leaves):
    rng = np.random.default_rng(1)
    tree = make_leaves(rng, [5] * n_leaves)
    value, score = rng.normal(size=n_leaves + 1), rng.normal(size=5 * n_leaves + 3)
    expected = score.copy()
    for i in range(1, n_leaves + 1):
        expected[rows_of(tree, i)] += value[i]
    leaves.add_leaf_steps(tree.nodes, n_leaves + 1, tree.rows, value, score)
    np.testing.assert_array_equal(score, expected)


@pytest.mark.parametrize("is_weighted", [False, True])
def test_gather_residuals(is_weighted):
    rng = np.random.default_rng(1)
    tree = make_leaves(rng, [4, 9])
    y, score, w = rng.normal(size=(3, 13))
    residual, weight = np.empty(9), np.empty(9)
    leaves.gather_residuals(tree.nodes, 2, tree.rows, y, score, w if is_weighted else NO_WEIGHTS, residual, weight)
    rows = rows_of(tree, 2)
    np.testing.assert_array_equal(residual, (y - score)[rows])
    np.testing.assert_array_equal(weight, w[rows] if is_weighted else np.ones(9))


def random_tree(rng: np.random.Generator, n_bins: NDArray[np.int64], n_splits: int) -> NDArray[np.void]:
    nodes = new_nodes(2 * n_splits + 1)
    for split in range(n_splits):
        i = rng.choice([j for j in range(2 * split + 1) if nodes["left"][j] < 0])
        f = rng.integers(n_bins.size)
        nodes["left"][i], nodes["feature"][i] = 2 * split + 1, f
        nodes["code"][i], nodes["missing_left"][i] = rng.integers(n_bins[f]), rng.integers(2)
        nodes["is_set"][i] = rng.integers(2)
        nodes["set"][i] = rng.integers(0, 2**63, 4).astype(np.uint64)
    return nodes


def plain_leaf(nodes: NDArray[np.void], codes: NDArray[np.uint8], n_bins: NDArray[np.int64]) -> int:
    i = 0
    while nodes["left"][i] >= 0:
        f = nodes["feature"][i]
        code = int(codes[f])
        if code == n_bins[f]:
            left = nodes["missing_left"][i] == 1
        elif nodes["is_set"][i]:
            left = int(nodes["set"][i][code // 64]) >> (code % 64) & 1
        else:
            left = code <= nodes["code"][i]
        i = int(nodes["left"][i]) + (0 if left else 1)
    return i


@pytest.mark.parametrize("d", [1, 32, 33, 70])
def test_place_coded_rows(d):
    rng = np.random.default_rng(d)
    n_bins = rng.integers(1, 256, d)
    records = np.zeros(d, FEATURE)
    records["n_bins"] = n_bins
    codes = rng.integers(0, n_bins + 1, (200, d)).astype(np.uint8)  # missing too
    tiles = np.zeros((-(-d // 32), 200, 32), np.uint8)
    for f in range(d):
        tiles[f // 32, :, f % 32] = codes[:, f]
    for n_splits in (0, 1, 40):
        nodes = random_tree(rng, n_bins, n_splits)
        result = np.empty(200, np.int64)
        leaves.place_coded_rows(tiles, nodes, records, result)
        np.testing.assert_array_equal(result, [plain_leaf(nodes, row, n_bins) for row in codes])


def test_sum_leaf_weights():
    nodes = new_nodes(5)  # 0 -> (1, 2), 1 -> (3, 4)
    nodes["left"][:2] = [1, 3]
    sums, total = np.zeros((5, 3)), np.empty(5)
    sums[2:, 2] = [0.5, 2.0, 4.0]
    leaves.sum_leaf_weights(nodes, 5, sums, total)
    assert total.tolist() == [6.5, 6.0, 0.5, 2.0, 4.0]


@pytest.mark.parametrize("is_weighted", [False, True])
def test_sums_of_leaves_do_not_depend_on_where_chunks_are(is_weighted):
    """Sums over the rows of a leaf, and sums of chunks by the leaf of each row, added in order, have equal bits."""
    rng = np.random.default_rng(5)
    n, n_leaves = 3 * leaves.CHUNK + 1000, 4
    g, h = rng.normal(size=n) * 10.0 ** rng.integers(-6, 6, n), rng.exponential(size=n)
    weight = rng.exponential(size=n) if is_weighted else NO_WEIGHTS
    leaf = rng.integers(1, n_leaves + 1, n)
    leaf[rng.random(n) < 0.1] = -1
    leaf[leaf == 2] = np.where(np.flatnonzero(leaf == 2) < leaves.CHUNK, 2, 1)  # a leaf without rows in later chunks
    of_leaf = [np.flatnonzero(leaf == i) for i in range(1, n_leaves + 1)]
    nodes = new_nodes(n_leaves + 1)
    nodes["left"][0] = 1
    nodes["n"][1:] = [rows.size for rows in of_leaf]
    nodes["start"][1:] = np.cumsum([0, *(rows.size for rows in of_leaf[:-1])])
    sums = np.zeros((n_leaves + 1, 3))
    leaves.sum_leaves(nodes, nodes.size, np.concatenate(of_leaf).astype(np.uint32), g, h, weight, sums)
    parts = []
    for first, last in ((0, 2 * leaves.CHUNK), (2 * leaves.CHUNK, n)):
        part = np.zeros((-(-(last - first) // leaves.CHUNK), n_leaves + 1, 3))
        leaves.sum_placed_rows(leaf[first:last], g[first:last], h[first:last], weight[first:last], part)
        parts.append(part)
    np.testing.assert_array_equal(np.add.accumulate(np.concatenate(parts))[-1], sums)
    w = weight if is_weighted else np.ones(n)
    for i, rows in enumerate(of_leaf, 1):
        np.testing.assert_allclose(sums[i], [(g * w)[rows].sum(), (h * w)[rows].sum(), w[rows].sum()], rtol=1e-9)


def test_leaves_whose_loss_rises_are_marked():
    rng = np.random.default_rng(0)
    nodes, rows = tree = make_leaves(rng, [12, 18])
    before, after = rng.random(30), rng.random(30)
    for weight in (NO_WEIGHTS, rng.random(30)):
        change = (weight if weight.size else np.ones(30)) * (after - before)
        increased = [bool(np.sum(change[rows_of(tree, i)]) > 0.0) for i in (1, 2)]
        assert leaves.mark_increased(nodes, 3, rows, before, after, weight, 1e-12) == sum(increased)
        assert nodes["score"].tolist() == [0.0, *map(float, increased)]
    assert leaves.mark_increased(nodes, 3, rows, before, before, NO_WEIGHTS, 1e-12) == 0
    after[rows[3]] = np.nan
    leaves.mark_increased(nodes, 3, rows, before, after, NO_WEIGHTS, 1e-12)
    assert nodes["score"][1] == 1.0
