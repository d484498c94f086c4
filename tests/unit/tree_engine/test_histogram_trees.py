"""Trees on packed histograms against plain Python: every node is summed again, every allowed split is tried.

Sums are integers and falls of the squared criterion exact fractions, so the audit itself does not round. Monotone
constraints compare the values of leaves, which are floats: the twin computes them by the same operations.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from committee.gradient_boosting.trees import place_rows
from committee.kernels.trees.criteria import CONFIDENCE, EDGE, ENTROPY, SQUARED
from committee.kernels.trees.histogram_tree import FEW_CATEGORIES, MIN_REST
from committee.kernels.trees.sampling import draw_order
from committee.records.binned import BinnedMatrix
from committee.records.growth import RULES, Constraints, Goal, Limits
from committee.tree_engine.histogram_trees import HistogramGrower, most_leaves, suits
from committee.tree_engine.subtrees import feature_records, new_nodes

NO_LIMIT = 2**31 - 1
CLOSE = 1e-9
"""Gains of two splits that differ by less, relative to the largest gain and the node's own score, count as equal."""


class Case(NamedTuple):
    """A table, the integers of its rows and the rules of growth."""

    matrix: BinnedMatrix
    constraints: Constraints
    rules: NDArray[np.void]
    rows: NDArray[np.uint32]
    g: NDArray[np.int64]
    h: NDArray[np.int64]
    ones: NDArray[np.int64]
    features: NDArray[np.int64]

    def rule(self, name: str):
        return self.rules[name][0].item()


class Cut(NamedTuple):
    """A way to part the rows of a node: the sums of the rows that go left."""

    feature: int
    g: int
    h: int
    count: int
    extra_l2: float = 0.0  # where more is asked of the split: it parts many categories
    least: int = 0  # of h on each side, for the same reason
    chance: float = 0.0  # gain that the order of the categories promises by chance


class Grown(NamedTuple):
    nodes: NDArray[np.void]
    rows: NDArray[np.uint32]


# --- random problems -------------------------------------------------------------------------------------------------


def make_matrix(rng: np.random.Generator, n: int, d: int, most_bins: int, p_category: float) -> BinnedMatrix:
    n_bins = rng.integers(1, most_bins + 1, d)
    codes = np.empty((d, n), np.uint8)
    for f in range(d):
        used = rng.permutation(n_bins[f])[: rng.integers(1, n_bins[f] + 1)]  # some codes stay empty
        codes[f] = rng.choice(used, n)
        if rng.random() < 0.5:
            codes[f, rng.random(n) < 0.3] = n_bins[f]
    offsets = np.append(0, np.cumsum(n_bins))
    edges = np.arange(offsets[-1], dtype=float)
    return BinnedMatrix(codes, n_bins, offsets, edges, edges + 0.5, rng.random(d) < p_category)


def make_constraints(rng: np.random.Generator, matrix: BinnedMatrix, monotone: bool, groups: bool) -> Constraints:
    d = matrix.n_features
    constraints = Constraints.none(d)
    if monotone:
        directions = np.where(matrix.is_categorical, 0, rng.integers(-1, 2, d))
        constraints = constraints._replace(monotone=directions)
    if groups:
        constraints = constraints._replace(groups=rng.integers(1, 8, d).astype(np.uint64))
    return constraints


def make_case(seed: int, **wanted: object) -> Case:
    """A random problem; `wanted` sets some of the choices."""
    rng = np.random.default_rng(seed)
    choice: dict = {
        "criterion": SQUARED,
        "d": int(rng.integers(1, 6)),
        "most_bins": int(rng.choice([3, 8])),
        "p_category": float(rng.choice([0.0, 0.5])),
        "monotone": rng.random() < 0.25,
        "groups": rng.random() < 0.25,
        "unit": rng.random() < 0.4,
        "whole": rng.random() < 0.4,
        "zeros": rng.random() < 0.2,
        "l1": float(rng.choice([0.0, 0.0, 0.5])),
        "l2": float(rng.choice([0.0, 0.0, 1.5])),
        "smoothing": float(rng.choice([0.0, 4.0])),
        "category_rows": float(rng.choice([0.0, 6.0])),
        "category_noise": float(rng.choice([0.0, 0.5, 3.0])),
        "min_samples_leaf": int(rng.choice([1, 2, 5])),
        "min_weight_leaf": int(rng.choice([0, 0, 20])),
        "min_gain": float(rng.choice([0.0, 1e-12, 0.05])),
        "max_depth": int(rng.choice([2, NO_LIMIT])),
        "max_leaves": int(rng.choice([3, 6, 20])),
        "share_of_features": float(rng.choice([0.5, 1.0, 1.0])),
    } | wanted
    n = int(rng.integers(2, 60))
    matrix = make_matrix(rng, n, choice["d"], choice["most_bins"], choice["p_category"])
    constraints = make_constraints(rng, matrix, choice["monotone"], choice["groups"])
    g, h, ones = make_integers(rng, n, choice)
    d = matrix.n_features
    features = np.sort(rng.permutation(d)[: rng.integers(max(1, d - 1), d + 1)])
    two_classes = choice["criterion"] != SQUARED
    goal = Goal(
        choice["criterion"], 2 if two_classes else 1, 1.0 if two_classes else 0.25, 1.0 if choice["unit"] else 0.125,
        choice["l1"], choice["l2"], 0.5, float(n), category_smoothing=choice["smoothing"],
        category_rows=choice["category_rows"], category_noise=choice["category_noise"],
    )  # fmt: skip
    limits = Limits(
        max_depth=choice["max_depth"], max_splits=choice["max_leaves"] - 1,
        min_samples_split=2 * choice["min_samples_leaf"], min_samples_leaf=choice["min_samples_leaf"],
        min_weight_leaf=choice["min_weight_leaf"], min_gain=choice["min_gain"], stop_if_pure=False,
        unit_weights=choice["unit"], max_features=max(1, round(choice["share_of_features"] * features.size)),
        random_splits=False, best_first=True, is_monotone=bool(np.any(constraints.monotone)),
        has_groups=choice["groups"], whole_weights=choice["whole"],
    )  # fmt: skip
    rows = np.sort(rng.permutation(n)[: max(1, n - int(rng.integers(0, 3)))]).astype(np.uint32)
    return Case(matrix, constraints, np.array([(*goal, *limits)], RULES), rows, g, h, ones, features)


def make_integers(rng: np.random.Generator, n: int, choice: dict) -> tuple[NDArray[np.int64], ...]:
    """g, h and counts of the rows; `zeros` makes some rows that weigh nothing, such as fitted rows rounded down."""
    ones = rng.integers(1, 4, n) if choice["whole"] else np.ones(n, np.int64)
    h = ones if choice["unit"] else ones * rng.integers(1, 20, n)
    g = ones * (rng.integers(0, 2, n) * 2 - 1 if choice["criterion"] != SQUARED else rng.integers(-40, 41, n))
    if choice["zeros"] and not choice["unit"] and choice["criterion"] == SQUARED:
        is_zero = rng.random(n) < 0.3
        h = np.where(is_zero, 0, h)
        g = np.where(is_zero & (rng.random(n) < 0.5), 0, g)
    return g, h, ones


def grow(case: Case) -> Grown:
    records = feature_records(case.matrix, case.constraints)
    leaves = case.rule("max_splits") + 1
    grower = HistogramGrower(case.matrix, records, leaves, case.ones if needs_counts(case) else None)
    amounts = (case.g << 32) + case.h
    rows, nodes, features = case.rows.copy(), new_nodes(2 * leaves - 1), case.features.copy()
    nodes["key"][0] = 12345
    n_nodes = grower.grow_into(case.rules, rows, amounts, nodes, features)
    np.testing.assert_array_equal(features, case.features)  # drawn from and restored
    return Grown(nodes[:n_nodes], rows)


# --- the plain twin --------------------------------------------------------------------------------------------------


def needs_counts(case: Case) -> bool:
    has_limit = case.rule("min_samples_leaf") > 1 or case.rule("category_rows") > 0.0
    return bool(has_limit or case.rule("category_smoothing") > 0.0)


def count(case: Case, rows: NDArray) -> int:
    if case.rule("unit_weights"):
        return int(case.h[rows].sum())
    if case.rule("whole_weights") and needs_counts(case):
        return int(case.ones[rows].sum())
    return rows.size


def score(case: Case, g: int, h: int, extra_l2: float = 0.0) -> Fraction | float:
    """What a child with these sums is worth."""
    criterion = case.rule("criterion")
    if criterion == SQUARED:
        shrunk = max(abs(g * Fraction(case.rule("g_unit"))) - Fraction(case.rule("l1")), Fraction(0))
        return shrunk**2 / (h * Fraction(case.rule("h_unit")) + Fraction(case.rule("l2") + extra_l2))
    if criterion == EDGE:
        return float(abs(g))
    if criterion == CONFIDENCE:
        return -math.sqrt((h - g) * (h + g))
    parts = [0.5 * (h + g), 0.5 * (h - g)]
    return sum(x * math.log2(x) for x in parts if x > 0) - h * math.log2(h)


def decrease(case: Case, node: np.void, cut: Cut) -> float:
    """By how much the split lowers the loss, in units of gain; a rise, which l1 or l2 can make of it, counts as 0."""
    g, h = int(node["g"]), int(node["h"])
    sums = [(cut.g, cut.h), (g - cut.g, h - cut.h), (g, h)]
    left, right, own = (score(case, *pair, cut.extra_l2) for pair in sums)
    parts = max(float(left + right - own), 0.0)
    parts = max(parts - cut.chance, MIN_REST * parts)
    return parts * case.rule("gain_unit") / case.rule("total_weight")


def leaf_value(case: Case, g: int, h: int) -> float:
    target = g * case.rule("g_unit")
    shrunk = max(abs(target) - case.rule("l1"), 0.0)
    return (shrunk if target > 0.0 else -shrunk) / (h * case.rule("h_unit") + case.rule("l2"))


def child_values(case: Case, node: np.void, cut: Cut) -> tuple[float, float]:
    return leaf_value(case, cut.g, cut.h), leaf_value(case, int(node["g"]) - cut.g, int(node["h"]) - cut.h)


def is_allowed(case: Case, node: np.void, cut: Cut) -> bool:
    unit, fewest = case.rule("unit_weights"), case.rule("min_samples_leaf")
    least = max(case.rule("min_weight_leaf"), fewest if unit else 1, cut.least)
    if not least <= cut.h <= int(node["h"]) - least:
        return False
    if not unit and min(cut.count, int(node["count"]) - cut.count) < fewest and fewest > 1:
        return False
    if not case.rule("is_monotone"):
        return True
    values = child_values(case, node, cut)
    if min(values) < node["lower"] or max(values) > node["upper"]:
        return False
    return (values[0] - values[1]) * int(case.constraints.monotone[cut.feature]) <= 0.0


def code_sums(case: Case, rows: NDArray, f: int) -> tuple[list[int], list[int], list[int]]:
    """g, h and number of rows by code."""
    codes = case.matrix.codes[f, rows]
    ones = case.ones if case.rule("whole_weights") else np.ones_like(case.ones)
    out = []
    for values in (case.g, case.h, ones):
        sums = np.zeros(256, np.int64)
        np.add.at(sums, codes, values[rows])
        out.append(sums.tolist())
    return out[0], out[1], out[2]


def places(case: Case, node: np.void, f: int, g: list[int], h: list[int]) -> list[int]:
    """The codes in the order that a split cuts: their own, or that of Fisher for categories that are not rare."""
    order = list(range(int(case.matrix.n_bins[f])))
    if not case.matrix.is_categorical[f]:
        return order
    smoothing, rare = case.rule("category_smoothing"), 1
    if len(order) > FEW_CATEGORIES:
        rare = max(int(smoothing * int(node["h"]) / int(node["count"])), 1)
    return sorted((c for c in order if h[c] >= rare), key=lambda c: category_value(case, g[c], h[c]))


def category_value(case: Case, g: int, h: int) -> float:
    return g / (h + case.rule("category_smoothing") / case.rule("h_unit"))


def chance_gain(case: Case, order: list[int], n_left: int, h: list[int]) -> float:
    """What a cut after the first n_left of the ordered categories gains if all differences are noise."""
    roots = [math.sqrt(h[c]) for c in order]
    p = sum(roots[:n_left]) / sum(roots)
    n_effective = sum(roots) ** 2 / sum(h[c] for c in order)
    return 2.0 / math.pi * case.rule("category_noise") * n_effective * max(4.0 * p * (1.0 - p), 0.0) ** 0.75


def demands(case: Case, node: np.void, f: int, n_places: int) -> tuple[float, int]:
    """More l2, and the least h on each side and between two cuts, of a split that parts many categories."""
    smoothing = case.rule("category_smoothing")
    if not case.matrix.is_categorical[f] or smoothing == 0.0 or n_places <= FEW_CATEGORIES:
        return 0.0, 0
    share = int(case.rule("category_rows") * int(node["h"]) / int(node["count"]))
    fewest = case.rule("min_samples_leaf") if case.rule("unit_weights") else 1
    return smoothing, max(share, case.rule("min_weight_leaf"), fewest)


def cuts_of(case: Case, node: np.void, rows: NDArray, f: int) -> Iterator[Cut]:
    """All cuts of a feature: prefixes of its places, with the missing rows or without."""
    g, h, n = code_sums(case, rows, f)
    order, missing = places(case, node, f, g, h), int(case.matrix.n_bins[f])
    extra_l2, least = demands(case, node, f, len(order))
    has_missing = g[missing] != 0 or h[missing] != 0
    for missing_left in (False, True) if has_missing else (False,):
        last = 0
        for b in range(len(order) - 1 + (has_missing and not missing_left)):
            left = [*order[: b + 1], *([missing] if missing_left else [])]
            sums = [sum(x[c] for c in left) for x in (g, h, n)]
            if sums[1] - last < least:
                continue
            last = sums[1]
            if extra_l2 == 0.0:
                yield Cut(f, sums[0], sums[1], sums[2])
            elif len({category_value(case, g[c], h[c]) for c in order[b : b + 2]}) == len(order[b : b + 2]):
                chance = chance_gain(case, order, b + 1, h)
                yield Cut(f, sums[0], sums[1], sums[2], extra_l2, least, chance)


def looked_at(case: Case, node: np.void) -> list[int]:
    """The features that the node draws, without those whose interaction is not allowed."""
    order = np.empty(case.features.size, np.int64)
    draw_order(node["key"], order)
    wanted = case.rule("max_features")
    drawn = case.features[order[:wanted]] if wanted < case.features.size else case.features
    return [int(f) for f in drawn if case.constraints.groups[f] & node["groups"]]


def may_split(case: Case, node: np.void) -> bool:
    if case.rule("n_classes") == 2 and abs(node["g"]) == node["h"]:
        return False
    fewest = max(case.rule("min_samples_split"), 2 * case.rule("min_samples_leaf"), 2)
    is_heavy = node["h"] >= 2 * case.rule("min_weight_leaf")
    return bool(node["depth"] < case.rule("max_depth") and node["count"] >= fewest and is_heavy)


def allowed_cuts(case: Case, node: np.void, rows: NDArray) -> list[Cut]:
    if not may_split(case, node):
        return []
    cuts = (cut for f in looked_at(case, node) for cut in cuts_of(case, node, rows, f))
    return [cut for cut in cuts if is_allowed(case, node, cut)]


# --- the audit -------------------------------------------------------------------------------------------------------


def members(grown: Grown, i: int) -> NDArray[np.uint32]:
    start, n = int(grown.nodes["start"][i]), int(grown.nodes["n"][i])
    return grown.rows[start : start + n]


def side_of(case: Case, node: np.void, code: int) -> bool:
    """Does the node's record send this code left?"""
    f = int(node["feature"])
    if code == case.matrix.n_bins[f]:
        return bool(node["missing_left"])
    if node["is_set"]:
        return bool(int(node["set"][code >> 6]) >> (code & 63) & 1)
    return bool(code <= node["code"])


def check_sums(case: Case, grown: Grown) -> None:
    for i, node in enumerate(grown.nodes):
        rows = members(grown, i)
        assert (int(node["g"]), int(node["h"])) == (case.g[rows].sum(), case.h[rows].sum())
        assert node["count"] == count(case, rows)
    assert sorted(grown.rows) == sorted(case.rows)


def check_children(case: Case, grown: Grown, i: int) -> Cut:
    """Rows, depth, groups and bounds of the children of inner node i; the cut that was taken."""
    node, first = grown.nodes[i], int(grown.nodes["left"][i])
    left, right = grown.nodes[first], grown.nodes[first + 1]
    f = int(node["feature"])
    codes = case.matrix.codes[f]
    goes_left = np.array([side_of(case, node, int(c)) for c in codes[members(grown, i)]])
    assert goes_left[: left["n"]].all()
    assert not goes_left[left["n"] :].any()
    assert left["n"] + right["n"] == node["n"]
    assert left["depth"] == right["depth"] == node["depth"] + 1
    assert left["groups"] == right["groups"] == node["groups"] & case.constraints.groups[f]
    sums = int(left["g"]), int(left["h"])
    same = [other for other in cuts_of(case, node, members(grown, i), f) if (other.g, other.h) == sums]
    cut = min(same, key=lambda other: other.chance)._replace(count=int(left["count"]))
    assert left["extra_l2"] == right["extra_l2"] == cut.extra_l2
    values = child_values(case, node, cut)
    bounds = [(float(node["lower"]), float(node["upper"]))] * 2
    direction, middle = case.constraints.monotone[f], 0.5 * (values[0] + values[1])
    if direction > 0:
        bounds = [(bounds[0][0], middle), (middle, bounds[0][1])]
    elif direction < 0:
        bounds = [(middle, bounds[0][1]), (bounds[0][0], middle)]
    assert bounds == [(float(child["lower"]), float(child["upper"])) for child in (left, right)]
    check_unseen(case, node, members(grown, i))
    return cut


def check_unseen(case: Case, node: np.void, rows: NDArray) -> None:
    """The cut stands in the middle of empty codes; without missing rows, missing follows the heavier child."""
    if node["n_rejected"] > 1:  # rows without sums made it keep the cut as it was searched
        return
    f = int(node["feature"])
    n_bins = int(case.matrix.n_bins[f])
    g, h, _ = code_sums(case, rows, f)
    seen = [c for c in range(n_bins) if g[c] or h[c]]
    left_h = int(node["left_sum"]) & 0xFFFFFFFF
    if not g[n_bins] and not h[n_bins]:
        assert bool(node["missing_left"]) == (2 * left_h > node["h"])
    if node["is_set"]:
        assert all(side_of(case, node, c) == bool(node["missing_left"]) for c in range(n_bins) if c not in seen)
        return
    last = max((c for c in seen if c <= node["code"]), default=-1)
    first = min((c for c in seen if c > node["code"]), default=-1)
    if last >= 0 and first >= 0:
        assert node["code"] == node["last_left"] == (last + first - 1) // 2
        assert node["first_right"] == node["code"] + 1
    else:
        assert (node["last_left"], node["first_right"]) == (last, first)


def audit(case: Case) -> int:
    """Grow the tree and check everything; return its number of splits."""
    grown = grow(case)
    nodes = grown.nodes
    check_sums(case, grown)
    inner = [i for i in range(nodes.size) if nodes["left"][i] >= 0]
    assert len(inner) == nodes.size // 2 <= case.rule("max_splits")
    is_full = len(inner) == case.rule("max_splits")
    gains: dict[int, float] = {}  # of the best split of every node
    for i, node in enumerate(nodes):
        rows = members(grown, i)
        cuts = allowed_cuts(case, node, rows)
        decreases = [decrease(case, node, cut) for cut in cuts]
        best = max(decreases, default=-math.inf)
        near = slack(case, node)
        if i in inner:
            taken = check_children(case, grown, i)
            assert is_allowed(case, node, taken)
            assert may_split(case, node)
            assert int(node["feature"]) in looked_at(case, node)
            gain = decrease(case, node, taken)
            assert gain == pytest.approx(node["gain"], rel=CLOSE, abs=near)
            assert gain >= best - CLOSE * abs(best) - near
            assert node["gain"] >= case.rule("min_gain")
        elif not is_full:
            assert best <= case.rule("min_gain") * (1.0 + CLOSE) + near
        gains[i] = best
    check_order(case, grown, inner, gains, is_full)
    placed = place_rows(_tiles(case), nodes, feature_records(case.matrix, case.constraints))
    for i in range(nodes.size):
        if i not in inner:
            assert (placed[members(grown, i)] == i).all()
    return len(inner)


def slack(case: Case, node: np.void) -> float:
    """Rounding of a fall that is the difference of two large scores."""
    own = abs(float(score(case, int(node["g"]), int(node["h"])))) if node["h"] > 0 else 0.0
    return 1e-12 * (own + float(node["h"])) / case.rule("total_weight")


def check_order(case: Case, grown: Grown, inner: list[int], gains: dict[int, float], is_full: bool) -> None:
    """Best first: what waited while a split was taken had no larger gain, whether its own turn came or not."""
    left = grown.nodes["left"]
    for i in inner:
        for j, gain in gains.items():
            waits = j < left[i] and j != i and (left[j] > left[i] or (left[j] < 0 and is_full))
            if waits and gain >= case.rule("min_gain"):
                near = slack(case, grown.nodes[i]) + slack(case, grown.nodes[j])
                assert gain <= float(grown.nodes["gain"][i]) * (1.0 + CLOSE) + near


def _tiles(case: Case) -> NDArray[np.uint8]:
    return HistogramGrower(case.matrix, feature_records(case.matrix, case.constraints), 2).tiles


# --- tests -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", range(6))
def test_every_split_is_the_best_allowed_one(block):
    n_splits = sum(audit(make_case(seed)) for seed in range(60 * block, 60 * block + 60))
    assert n_splits > 60


VARIANTS = {
    "plain": {"monotone": False, "groups": False, "zeros": False, "l1": 0.0, "l2": 0.0, "min_samples_leaf": 1},
    "monotone": {"monotone": True, "p_category": 0.0, "max_leaves": 20, "min_gain": 0.0, "l2": 1.5},
    "monotone and categories": {"monotone": True, "p_category": 0.5, "max_depth": NO_LIMIT},
    "interaction groups": {"groups": True, "d": 5, "max_leaves": 20},
    "counts under weights": {"unit": False, "whole": False, "min_samples_leaf": 5, "d": 4},
    "counts under whole weights": {"unit": False, "whole": True, "min_samples_leaf": 5, "d": 4},
    "counts are sums of h": {"unit": True, "min_samples_leaf": 5, "min_weight_leaf": 7},
    "smoothed categories": {"p_category": 1.0, "smoothing": 4.0, "most_bins": 20, "category_rows": 6.0},
    "charged categories": {"p_category": 1.0, "smoothing": 4.0, "most_bins": 20, "category_noise": 3.0},
    "tied categories": {"p_category": 1.0, "smoothing": 4.0, "most_bins": 12, "category_rows": 0.0, "unit": True},
    "rows of no weight": {"zeros": True, "unit": False, "p_category": 0.5},
    "two tiles": {"d": 40, "most_bins": 3, "min_samples_leaf": 5, "unit": False},
    "255 bins": {"most_bins": 255, "d": 2},
    "few features drawn": {"d": 8, "share_of_features": 0.25},
    "one split": {"max_leaves": 2},
}


@pytest.mark.parametrize("name", VARIANTS)
def test_every_split_is_the_best_allowed_one_with(name):
    assert sum(audit(make_case(10_000 + seed, **VARIANTS[name])) for seed in range(25)) > 10


def test_rows_that_carry_nothing_count_where_they_go():
    """Rows whose sums are zero stand at code 4: the cut would move to 2, the middle of 0 and 5, and leave two rows."""
    codes = np.array([[0, 0, 4, 4, 5, 5, 5, 5]], np.uint8)
    matrix = BinnedMatrix(codes, np.array([6]), np.array([0, 6]), np.arange(6.0), np.arange(6.0), np.array([False]))
    g, h = np.array([-9, -9, 0, 0, 9, 9, 9, 9]), np.array([5, 5, 0, 0, 5, 5, 5, 5])
    wanted = VARIANTS["plain"] | {"min_samples_leaf": 3, "unit": False, "whole": False, "d": 1, "min_weight_leaf": 0}
    rules = make_case(0, **wanted).rules
    rows, features = np.arange(8, dtype=np.uint32), np.arange(1)
    case = Case(matrix, Constraints.none(1), rules, rows, g, h, np.ones(8, np.int64), features)
    assert audit(case) == 1
    nodes = grow(case).nodes
    assert (nodes["code"][0], nodes["n_rejected"][0]) == (4, 2)
    assert nodes["count"].tolist() == [8, 4, 4]


def test_rows_that_carry_nothing_in_random_places():
    wanted = {"zeros": True, "unit": False, "whole": False, "min_samples_leaf": 5, "max_leaves": 20}
    assert sum(audit(make_case(50_000 + seed, **wanted)) for seed in range(60)) > 60


@pytest.mark.parametrize("criterion", [ENTROPY, EDGE, CONFIDENCE])
def test_every_split_is_the_best_one_of_two_classes(criterion):
    wanted = {"criterion": criterion, "unit": True, "monotone": False, "l1": 0.0, "l2": 0.0}
    assert sum(audit(make_case(20_000 + seed, **wanted)) for seed in range(30)) > 20


def test_a_prefix_in_fishers_order_is_the_best_of_all_subsets():
    """Without regularisation and limits: the theorem that makes one sweep enough (Fisher 1958)."""
    wanted = VARIANTS["plain"] | {"p_category": 1.0, "d": 1, "most_bins": 6, "max_leaves": 2, "smoothing": 0.0}
    n_splits = 0
    for seed in range(60):
        case = make_case(seed, **wanted, min_weight_leaf=0, min_gain=0.0, unit=False)
        case = case._replace(features=np.array([0]))
        grown = grow(case)
        root = grown.nodes[0]
        rows = members(grown, 0)
        g, h, n = code_sums(case, rows, 0)
        codes = [c for c in range(256) if h[c] > 0]
        subsets = itertools.chain.from_iterable(itertools.combinations(codes, k) for k in range(1, len(codes)))
        n_bins = int(case.matrix.n_bins[0])
        decreases = [
            decrease(case, root, Cut(0, *(sum(x[c] for c in s) for x in (g, h, n))))
            for s in subsets
            if n_bins not in s or len(s) > 1  # missing alone on the left is missing right, all else left
        ]
        if root["left"] >= 0:
            n_splits += 1
            assert root["gain"] == pytest.approx(max(decreases), rel=CLOSE, abs=slack(case, root))
    assert n_splits > 30


STRUCTURE = ("feature", "code", "set", "missing_left", "is_set", "left", "g", "h", "count", "gain", "lower", "upper")


@pytest.mark.parametrize("min_samples_leaf", [1, 3])
def test_a_whole_weight_is_as_many_rows(min_samples_leaf):
    n_splits = 0
    for seed in range(40):
        wanted = {"whole": True, "unit": False, "min_samples_leaf": min_samples_leaf, "zeros": False}
        case = make_case(30_000 + seed, **wanted)
        case = case._replace(rows=np.arange(case.g.size, dtype=np.uint32))
        weighted = grow(case).nodes
        repeat = np.repeat(np.arange(case.g.size), case.ones)
        rules = case.rules.copy()
        rules["whole_weights"] = False
        repeated = case._replace(
            matrix=case.matrix._replace(codes=np.ascontiguousarray(case.matrix.codes[:, repeat])),
            rules=rules,
            rows=np.arange(repeat.size, dtype=np.uint32),
            g=(case.g // case.ones)[repeat],
            h=(case.h // case.ones)[repeat],
            ones=np.ones(repeat.size, np.int64),
        )
        rows = grow(repeated).nodes
        for name in STRUCTURE:
            if name != "count" or needs_counts(case):  # without a limit nobody counts
                np.testing.assert_array_equal(weighted[name], rows[name], err_msg=name)
        n_splits += weighted.size // 2
    assert n_splits > 40


def test_growth_does_not_depend_on_what_the_memory_held():
    case = make_case(7, d=40, min_samples_leaf=2, unit=False, max_leaves=20)
    records = feature_records(case.matrix, case.constraints)
    grower = HistogramGrower(case.matrix, records, 20, case.ones)
    amounts = (case.g << 32) + case.h
    trees = []
    for filling in (0, 17, -1):
        grower.pool[:] = filling
        for array in grower.work:
            if array is not case.ones:
                array[...] = 0 if array.dtype == np.uint8 else filling if array.dtype != np.uint32 else 1
        trees.append(grower.grow(case.rules, case.rows.copy(), amounts, 3))
    assert trees[0].size > 3
    for tree in trees[1:]:
        assert tree.tobytes() == trees[0].tobytes()


def test_one_row_stays_a_leaf():
    case = make_case(3)
    grown = grow(case._replace(rows=case.rows[:1]))
    assert grown.nodes.size == 1
    assert grown.nodes["g"][0] == case.g[case.rows[0]]


def test_sums_at_the_edge_of_31_bits_are_right():
    """Sums of g and h near 2**31, negative ones too: nothing runs over into the other half."""
    codes = np.array([[0, 1, 2, 3]], np.uint8)
    matrix = BinnedMatrix(codes, np.array([4]), np.array([0, 4]), np.arange(4.0), np.arange(4.0), np.array([False]))
    case = make_case(0, d=1, min_samples_leaf=1, unit=False, zeros=False, monotone=False, groups=False, l1=0.0)
    rules = case.rules.copy()
    rules["max_splits"], rules["max_depth"], rules["min_gain"], rules["min_weight_leaf"] = 3, 3, 0.0, 0
    g = np.array([-(2**30), -(2**30) + 1, 0, 0])
    h = np.array([2**30, 2**30 - 4, 1, 2])
    case = Case(matrix, Constraints.none(1), rules, np.arange(4, dtype=np.uint32), g, h, np.ones(4, int), np.arange(1))
    assert audit(case) >= 1
    assert audit(case._replace(g=-g)) >= 1


@pytest.mark.parametrize(("depth", "splits", "leaves"), [(3, 100, 8), (NO_LIMIT, 30, 31), (2, 1, 2), (0, 5, 1)])
def test_most_leaves(depth, splits, leaves):
    rules = make_case(0).rules.copy()
    rules["max_depth"], rules["max_splits"] = depth, splits
    assert most_leaves(rules) == leaves


def test_what_suits():
    case = make_case(0, criterion=EDGE, unit=True, share_of_features=1.0, max_leaves=6, d=3, max_depth=NO_LIMIT)
    rules = case.rules.copy()
    rules["max_features"] = 3
    assert suits(rules, case.matrix)
    assert not suits(rules, case.matrix._replace(codes=case.matrix.codes.astype(np.uint32)))
    for name, value in {"max_features": 2, "random_splits": 1, "n_classes": 1, "max_splits": 64}.items():
        other = rules.copy()
        other[name] = value
        assert not suits(other, case.matrix)
    rules["unit_weights"], rules["min_samples_leaf"] = 0, 5
    assert not suits(rules, case.matrix)
