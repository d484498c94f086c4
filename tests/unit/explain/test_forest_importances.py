"""The importances of forests compared with their definitions, row by row."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError

from committee import (
    ExtraTreesClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from committee.base.rng import member_seeds
from committee.base.stats import standard_error
from committee.datasets import load_dataset
from committee.explain._split_importances import split_counts, split_frequency
from committee.explain.forest_importances import KINDS, forest_importances
from committee.explain.importances import tree_importances
from committee.explain.node_permutation import node_permutation
from committee.explain.oob_forest import OobForest, depth_of, mean_of, oob_forest, training_rows
from committee.explain.oob_permutation import (
    draw_permutation,
    draw_permutations,
    oob_permutation,
    reorder_rows,
)
from committee.kernels.predict.permuted_walk import Permutation
from tests.naive import forest_importances as naive

Floats = NDArray[np.float64]


class Case(NamedTuple):
    forest: Any
    X: Any
    y: Any
    weight: Any
    oob_forest: OobForest


def make_case(name: str) -> Case:
    rng = np.random.default_rng(0)
    n = 70
    X = np.round(rng.normal(size=(n, 4)), 1)
    codes = np.digitize(X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(0, 0.3, n), [-0.7, 0.5])
    weight: Any = None
    if name == "two classes":
        y, forest = np.array(["no", "yes"])[(codes > 0).astype(int)], RandomForestClassifier(7, random_state=0)
    elif name == "three classes, weights":
        y, weight = codes, rng.choice([0.0, 0.5, 1.0, 2.5], n)
        forest = RandomForestClassifier(8, random_state=1, max_leaf_nodes=12)
    elif name == "numbers":
        y, forest = (
            X[:, 0] + X[:, 1] ** 2 + rng.normal(0, 0.1, n),
            RandomForestRegressor.breiman(n_estimators=6, random_state=0),
        )
    else:  # numbers with holes, categories, weights
        X[:, 1] = rng.integers(0, 6, n)
        X[rng.random(X.shape) < 0.15] = np.nan
        y = np.nan_to_num(X[:, 0]) + 2.0 * np.isin(X[:, 1], [1, 4]) + 1000.0
        weight = rng.choice([1.0, 3.0], n)
        forest = RandomForestRegressor(5, random_state=0, categorical_features=[1])
    forest.fit(X, y, sample_weight=weight)
    return Case(forest, X, y, weight, oob_forest(forest, training_rows(forest, X, y)))


NAMES = ["two classes", "three classes, weights", "numbers", "holes, categories, weights"]


@pytest.fixture(scope="module", params=NAMES)
def case(request: Any) -> Case:
    return make_case(request.param)


def donors_of(case: Case, permutations: list[Permutation]) -> list[NDArray[np.int64]]:
    """donors[t][i, f], the row whose value of f row i gets in tree t."""
    n, d = case.oob_forest.X.shape
    out = []
    for one in permutations:
        donors = np.full((n, d), -1)
        for k, i in enumerate(one.rows):
            donors[i] = [one.donors[(one.position[k] + one.shift[f]) % one.donors.size] for f in range(d)]
        out.append(donors)
    return out


def shuffled(case: Case, seeds: list[list[int]]) -> tuple[Case, NDArray[np.int64]]:
    """The rows in the order of the first repeat, and that order."""
    order = np.random.default_rng(seeds[0][0]).permutation(len(case.oob_forest.X))
    return case._replace(oob_forest=reorder_rows(case.oob_forest, order)), order


def seeds_for(case: Case, n_repeats: int = 1) -> list[list[int]]:
    n_trees = case.oob_forest.n_trees
    return [[int(s) for s in line] for line in member_seeds(3, n_repeats * n_trees).reshape(-1, n_trees)]


def class_means(case: Case, values: Floats, rows: NDArray[np.int64]) -> Floats:
    """Weighted means over rows that have a value, of all and by class."""
    forest = case.oob_forest
    is_known = ~np.isnan(values).any(axis=1)
    columns = [is_known] + [is_known & (forest.target[rows] == k) for k in range(forest.n_classes)]
    w = forest.weight[rows]
    return np.array([
        (w[at, np.newaxis] * values[at]).sum(axis=0) / w[at].sum() if w[at].sum() else values[0] * np.nan
        for at in columns
    ]).T  # fmt: skip


def local_twin(case: Case, permutations: list[Permutation], trees: Any = None) -> Floats:
    forest = case.oob_forest
    kept = range(forest.n_trees) if trees is None else trees
    donors = donors_of(case, permutations)
    return naive.local_decreases(
        [forest.trees[t] for t in kept], [set(forest.oob[t].tolist()) for t in kept],
        np.asarray(forest.X, np.float64), forest.target, [donors[t] for t in kept], forest.n_classes,
    )  # fmt: skip


@pytest.mark.parametrize("one_permutation", [False, True])
def test_decreases_of_the_margin_of_the_forest_and_of_every_row(case: Case, one_permutation: bool):
    seeds = seeds_for(case)
    found = oob_permutation(case.oob_forest, seeds, one_permutation=one_permutation, local=True)
    case, order = shuffled(case, seeds)
    local = local_twin(case, draw_permutations(case.oob_forest, seeds[0], one_permutation))
    np.testing.assert_allclose(found.local[order], local, rtol=1e-9, atol=1e-12)
    everyone = np.arange(len(local))
    np.testing.assert_allclose(found.forest, class_means(case, local, everyone), rtol=1e-9, atol=1e-12)


def test_standard_error_of_the_forest_is_the_jackknife_over_groups_of_trees(case: Case):
    seeds, n_trees = seeds_for(case), case.oob_forest.n_trees
    found = oob_permutation(case.oob_forest, seeds)
    case, _ = shuffled(case, seeds)
    permutations = draw_permutations(case.oob_forest, seeds[0], False)
    groups = min(10, n_trees)
    left_out = []
    for g in range(groups):
        kept = [t for t in range(n_trees) if t * groups // n_trees != g]
        local = local_twin(case, permutations, kept)
        left_out.append(class_means(case, local, np.arange(len(local))))
    spread = np.sum((np.array(left_out) - np.mean(left_out, axis=0)) ** 2, axis=0)
    np.testing.assert_allclose(found.forest_error, np.sqrt((groups - 1) / groups * spread), rtol=1e-8, atol=1e-12)


def test_decreases_of_the_accuracy_of_trees_are_those_of_breimans_program(case: Case):
    seeds = seeds_for(case)
    found = oob_permutation(case.oob_forest, seeds)
    case, _ = shuffled(case, seeds)
    forest = case.oob_forest
    donors = donors_of(case, draw_permutations(forest, seeds[0], False))
    X = np.asarray(forest.X, np.float64)
    columns = [forest.weight] + [forest.weight * (forest.target == k) for k in range(forest.n_classes)]
    per_tree = np.full((forest.n_trees, X.shape[1], len(columns)), np.nan)
    for t, tree in enumerate(forest.trees):
        for c, weight in enumerate(columns):
            if weight[forest.oob[t]].sum():
                per_tree[t, :, c] = naive.tree_decreases(
                    tree, forest.oob[t], X, forest.target, weight, donors[t], forest.n_classes
                )
    np.testing.assert_allclose(found.tree, np.nanmean(per_tree, axis=0), rtol=1e-9, atol=1e-12)
    n = np.sum(~np.isnan(per_tree), axis=0)
    np.testing.assert_allclose(
        found.tree_error, np.nanstd(per_tree, axis=0, ddof=1) / np.sqrt(n), rtol=1e-8, atol=1e-12
    )


def test_impurity_decreases_are_a_covariance_in_bag_and_out_of_bag(case: Case):
    forest, d = case.oob_forest, case.oob_forest.n_features
    X = np.asarray(forest.X, np.float64)
    k = forest.trees[0].value.shape[1]
    y = np.eye(k)[forest.target] if forest.n_classes else forest.target[:, np.newaxis]
    bags = [case.forest._sampler.weights(seed) for seed in case.forest._member_seeds]
    inside = np.mean([
        naive.covariance_form(tree, np.flatnonzero(bag), X, y, bag)
        for tree, bag in zip(forest.trees, bags, strict=True)
    ], axis=0)  # fmt: skip
    outside = [
        naive.covariance_form(tree, oob, X, y, forest.weight)
        for tree, oob in zip(forest.trees, forest.oob, strict=True)
    ]
    found = forest_importances(case.forest, case.X, case.y, kinds=["impurity", "impurity_oob"])
    np.testing.assert_allclose(found.of("impurity").raw, inside, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found.of("impurity_oob").raw, np.mean(outside, axis=0), rtol=1e-8, atol=1e-10)
    error = np.std(outside, axis=0, ddof=1) / np.sqrt(forest.n_trees)
    np.testing.assert_allclose(found.of("impurity_oob").standard_error, error, rtol=1e-7, atol=1e-10)
    by_hand = [
        sum(tree.gain[node] for node in range(tree.n_nodes) if tree.feature[node] == f)
        for tree in forest.trees for f in range(d)
    ]  # fmt: skip
    np.testing.assert_allclose(found.of("impurity").raw, np.reshape(by_hand, (-1, d)).mean(axis=0), rtol=1e-12)


def test_frequency_counts_splits(case: Case):
    found = forest_importances(case.forest, case.X, case.y, kinds=["frequency"]).of("frequency")
    used = np.concatenate([tree.feature[tree.feature >= 0] for tree in case.oob_forest.trees])
    np.testing.assert_allclose(found.raw, np.bincount(used, minlength=4) / used.size)
    assert found.values.max() == 100.0


def test_standard_error_of_a_frequency_is_that_of_bootstraps_of_the_trees():
    rng = np.random.default_rng(0)
    counts = rng.poisson([20.0, 5.0, 1.0], (200, 3)).astype(float)
    drawn = [counts[rng.integers(0, 200, 200)].sum(axis=0) for _ in range(1000)]
    fractions = [one / one.sum() for one in drawn]
    # a deviation from 1,000 draws is known to 2 % or so
    np.testing.assert_allclose(split_frequency(counts)[1], np.std(fractions, axis=0), rtol=0.1)


def node_donors(case: Case, t: int, seed: int) -> Any:
    """The cycle of a node as the kernel's docstring describes it, by cumulative weights."""
    forest = case.oob_forest
    rng = np.random.default_rng(seed)
    order = rng.permutation(forest.oob[t]).tolist()
    key = int(rng.integers(0, 2**63, dtype=np.uint64))
    w = forest.weight[order]
    is_equal = bool(np.all(w == w[0]))

    def mixed(counter: int) -> int:
        mask = 2**64 - 1
        x = (key + (counter + 1) * 0x9E3779B97F4A7C15) & mask
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & mask
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & mask
        return x ^ (x >> 31)

    def donor(node: int, here: list[int]) -> dict[int, int]:
        cycle = [i for i in order if i in set(here)]
        if not cycle:
            return {}
        if is_equal:
            shift = 1 + (((mixed(node) >> 32) * max(len(cycle) - 1, 1)) >> 32)
            return {i: cycle[(p + shift) % len(cycle)] for p, i in enumerate(cycle)}
        ends = np.cumsum(forest.weight[cycle])
        starts = ends - forest.weight[cycle] + (mixed(node) >> 11) / 2**53 * ends[-1]
        positions = np.searchsorted(ends, starts % ends[-1], side="right")
        return {i: cycle[position] for i, position in zip(cycle, positions, strict=True)}

    return donor


def test_permutation_at_nodes(case: Case):
    seeds, forest = seeds_for(case), case.oob_forest
    X = np.asarray(forest.X, np.float64)
    expected = [
        naive.node_decreases(
            tree, forest.oob[t].tolist(), X, forest.target, forest.weight, node_donors(case, t, seeds[0][t]),
            forest.n_classes,
        )
        for t, tree in enumerate(forest.trees)
    ]  # fmt: skip
    found = node_permutation(forest, seeds, None)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    result = forest_importances(case.forest, case.X, case.y, kinds=["node_permutation"], random_state=3)
    np.testing.assert_allclose(result.of("node_permutation").raw, np.mean(expected, axis=0), rtol=1e-9, atol=1e-12)


def test_the_public_function_returns_the_values_of_the_core(case: Case):
    forest = case.oob_forest
    found = forest_importances(case.forest, case.X, case.y, random_state=3, local=True, n_repeats=2)
    seeds = seeds_for(case, 2)
    own = oob_permutation(forest, seeds, local=True)
    shared = oob_permutation(forest, seeds, one_permutation=True, local=True)
    of_forest = own if forest.n_classes else shared
    np.testing.assert_array_equal(found.of("permutation").raw, of_forest.forest[:, 0])
    np.testing.assert_array_equal(found.of("permutation").per_class, of_forest.forest[:, 1:])
    np.testing.assert_array_equal(found.of("tree_permutation").raw, own.tree[:, 0])
    np.testing.assert_array_equal(found.of("tree_permutation").standard_error, own.tree_error[:, 0])
    np.testing.assert_array_equal(found.local, of_forest.local)
    assert [one.kind for one in found.kinds] == list(KINDS)
    assert found.names == ("x[0]", "x[1]", "x[2]", "x[3]")
    once = [oob_permutation(forest, seeds[r : r + 1]).tree for r in range(2)]
    np.testing.assert_allclose(own.tree, np.mean(once, axis=0), rtol=1e-10, atol=1e-13)


# ---- Permutations ---------------------------------------------------------------------------------------------------


def test_rows_in_another_order_are_the_same_rows(case: Case):
    order = np.random.default_rng(1).permutation(len(case.oob_forest.X))
    other = reorder_rows(case.oob_forest, order)
    np.testing.assert_array_equal(other.X, case.oob_forest.X[order])
    for before, after in zip(case.oob_forest.oob, other.oob, strict=True):
        assert np.all(np.diff(after) > 0)
        assert sorted(order[after]) == before.tolist()


def test_every_row_gets_the_value_of_another_one_and_donates_once():
    rows = np.array([3, 5, 8, 11, 20])
    for seed in range(20):
        permutation = draw_permutation(rows, np.ones(30), 6, seed)
        for f in range(6):
            donors = permutation.donors[(permutation.position + permutation.shift[f]) % 5]
            assert sorted(donors) == rows.tolist()
            assert not np.any(donors == rows)


def test_a_row_donates_in_proportion_to_its_weight():
    weight = np.array([1.0, 2.0, 0.5, 4.0])
    counts = np.zeros(4)
    for seed in range(2000):
        permutation = draw_permutation(np.arange(4), weight, 1, seed)
        counts += np.bincount(permutation.donors[(permutation.position + permutation.shift[0]) % 4], minlength=4)
    # 8,000 draws: standard errors of the fractions are below 0.006
    np.testing.assert_allclose(counts / counts.sum(), weight / weight.sum(), atol=0.02)


def test_permutations_of_one_row_and_of_none():
    assert draw_permutation(np.array([4]), np.ones(9), 2, 0).shift.tolist() == [0, 0]
    assert draw_permutation(np.array([], np.int64), np.ones(9), 2, 0).donors.size == 0


# ---- Values --------------------------------------------------------------------------------------------------------


def test_informative_features_come_first_and_noise_is_about_zero():
    X, y = make_classification(
        600, 8, n_informative=3, n_redundant=0, shuffle=False, class_sep=1.5, random_state=0
    )  # the last five columns are noise
    forest = RandomForestClassifier(100, random_state=0).fit(X, y)
    found = forest_importances(forest, X, y, random_state=0)
    for one in found.kinds:
        assert one.values.max() == 100.0
        if one.kind != "frequency":
            assert one.raw[:3].min() > one.raw[3:].max(), one.kind
    # the impurity of noise is not zero, what is measured out of bag is, within four standard errors
    impurity, corrected = found.of("impurity"), found.of("impurity_oob")
    assert np.all(impurity.raw[3:] > 10 * impurity.standard_error[3:])
    assert np.all(np.abs(corrected.raw[3:]) < 4 * corrected.standard_error[3:] + 0.1 * impurity.raw[3:])
    for kind in ("permutation", "tree_permutation", "node_permutation"):
        noise = found.of(kind)
        assert np.all(np.abs(noise.raw[3:]) < 0.15 * noise.raw[:3].min())


def test_with_two_classes_the_margin_decreases_twice_as_much_as_the_accuracy():
    # with two classes a lost vote costs the margin two votes; the forms differ by the weights of rows with many trees
    X, y = load_dataset("sonar")[:2]
    forest = RandomForestClassifier(200, random_state=0).fit(X, y)
    found = forest_importances(forest, X, y, kinds=["permutation", "tree_permutation"], random_state=0)
    np.testing.assert_allclose(found.of("permutation").raw, 2 * found.of("tree_permutation").raw, atol=0.003)


def test_jackknife_errors_agree_with_forests_of_other_seeds():
    X, y = load_dataset("ionosphere")[:2]
    found = [
        forest_importances(
            RandomForestClassifier(40, random_state=seed).fit(X, y), X, y, kinds=["permutation"], random_state=seed
        ).of("permutation")
        for seed in range(12)
    ]
    spread = np.std([one.raw for one in found], axis=0, ddof=1)
    claimed = np.sqrt(np.mean([one.standard_error**2 for one in found], axis=0))
    large = np.mean([one.raw for one in found], axis=0) > 0.005
    ratio = claimed[large] / spread[large]
    assert 0.7 < np.median(ratio) < 1.5  # a deviation of twelve has a relative error of a fifth


def test_threads_blocks_and_seeds(case: Case, monkeypatch: pytest.MonkeyPatch):
    def find(**options: Any) -> Any:
        return forest_importances(case.forest, case.X, case.y, **{"random_state": 5, "local": True, **options})

    monkeypatch.setattr("committee.base.threads.WORK_PER_THREAD", 1)
    first, threads, other = find(), find(n_jobs=3), find(random_state=6)
    for a, b in zip(first.kinds, threads.kinds, strict=True):
        np.testing.assert_array_equal(a.raw, b.raw)
        np.testing.assert_array_equal(a.standard_error, b.standard_error)
        np.testing.assert_array_equal(a.per_class, b.per_class)
    np.testing.assert_array_equal(first.local, threads.local)
    assert np.any(first.of("permutation").raw != other.of("permutation").raw)
    assert np.any(first.of("node_permutation").raw != other.of("node_permutation").raw)
    monkeypatch.setattr("committee.explain.oob_permutation.BLOCK_SIZE", 900)
    blocks = find(n_jobs=2)
    np.testing.assert_array_equal(first.local, blocks.local)
    for a, b in zip(first.kinds[:2], blocks.kinds[:2], strict=True):
        np.testing.assert_allclose(a.raw, b.raw, rtol=1e-9, atol=1e-13)


# ---- Results and errors ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["pandas", "polars"])
def test_a_frame_has_every_kind(backend: Any):
    pytest.importorskip(backend)
    glass = load_dataset("glass", as_frame=True) if backend == "pandas" else load_dataset("glass")
    forest = RandomForestClassifier(20, random_state=0).fit(glass.X, glass.y)
    found = forest_importances(forest, glass.X, glass.y, kinds=["impurity", "permutation"], random_state=0)
    frame = getattr(found, f"to_{backend}")()
    columns = ["impurity", "impurity_raw", "impurity_se", "permutation", "permutation_raw", "permutation_se"]
    assert list(frame.columns) == ["feature", *columns]
    assert list(frame["impurity"]) == sorted(found.of("impurity").values.tolist(), reverse=True)
    assert found.of("permutation").per_class.shape == (9, len(found.classes))
    assert found.local.shape == (0, 9)


def test_impurity_is_that_of_tree_importances_up_to_scale():
    X, y = load_dataset("glass")[:2]
    forest = ExtraTreesClassifier(10, random_state=0).fit(X, y)
    found = forest_importances(forest, X, y, kinds=["impurity", "frequency"])
    if hasattr(forest, "to_tree_sum"):
        np.testing.assert_allclose(found.of("impurity").raw, tree_importances(forest).raw)
    with pytest.raises(ValueError, match="bootstrap=True"):
        forest_importances(forest, X, y)


def test_a_forest_of_one_tree_has_no_standard_errors():
    X, y = load_dataset("glass")[:2]
    forest = RandomForestClassifier(1, random_state=0).fit(X, y)
    found = forest_importances(forest, X, y, random_state=0)
    for one in found.kinds:
        assert np.isnan(one.standard_error).all()
        assert np.isfinite(one.raw).all()


def test_frames_with_categories_and_pickled_forests():
    pd = pytest.importorskip("pandas")
    import pickle

    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "green", "blue"], 200)
    X = pd.DataFrame({"colour": pd.Categorical(colour), "x": rng.normal(size=200).astype("float32")})
    y = np.where(colour == "red", "hot", "cold")
    forest = pickle.loads(pickle.dumps(RandomForestClassifier(10, random_state=0).fit(X, y)))
    found = forest_importances(forest, X, y, random_state=0)
    assert found.names == ("colour", "x")
    assert all(one.values[0] == 100.0 for one in found.kinds if one.kind != "frequency")
    assert found.of("permutation").raw[0] > 0.5


def test_constant_target_and_useless_trees():
    X = np.random.default_rng(0).normal(size=(30, 2))
    for forest, y in ((RandomForestClassifier(4), np.ones(30, int)), (RandomForestRegressor(4), np.ones(30))):
        found = forest_importances(forest.set_params(random_state=0).fit(X, y), X, y, random_state=0)
        for one in found.kinds:
            assert one.raw.tolist() == [0.0, 0.0]
            assert one.values.tolist() == [0.0, 0.0]


def test_bad_arguments_are_rejected():
    X, y = load_dataset("glass")[:2]
    forest = RandomForestClassifier(3, random_state=0).fit(X, y)
    with pytest.raises(TypeError, match="not GradientBoostingRegressor"):
        forest_importances(GradientBoostingRegressor(), X, y)  # type: ignore[arg-type]
    with pytest.raises(NotFittedError):
        forest_importances(RandomForestClassifier(), X, y)
    with pytest.raises(ValueError, match="kinds must name some of permutation, tree_permutation"):
        forest_importances(forest, X, y, kinds=["gini"])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="kinds must name"):
        forest_importances(forest, X, y, kinds=["impurity", "impurity"])
    with pytest.raises(ValueError, match="n_repeats must be at least 1"):
        forest_importances(forest, X, y, n_repeats=0)
    with pytest.raises(ValueError, match="local=True needs"):
        forest_importances(forest, X, y, kinds=["impurity"], local=True)
    with pytest.raises(ValueError, match="'frequency' was not computed"):
        forest_importances(forest, X, y, kinds=["impurity"]).of("frequency")
    for rows, labels in ((X[::-1], y[::-1]), (X[:-1], y[:-1]), (X, np.roll(y, 40)), (X + 1.0, y)):
        with pytest.raises(ValueError, match="not the 214 rows"):
            forest_importances(forest, rows, labels)


def test_several_outputs_are_explained_one_at_a_time():
    X = np.random.default_rng(0).normal(size=(60, 3))
    forest = RandomForestRegressor(5, random_state=0).fit(X, X[:, :2])
    with pytest.raises(ValueError, match=r"pass forest.output_forests_\[k\]"):
        forest_importances(forest, X, X[:, :2])
    found = forest_importances(forest.output_forests_[1], X, X[:, 1], random_state=0)
    # in nodes of two rows every feature divides as well as the right one, so how often it is taken says little here
    assert all(np.argmax(one.raw) == 1 for one in found.kinds if one.kind != "frequency")


def test_means_over_trees_skip_those_without_rows():
    values = np.array([[1.0, np.nan], [3.0, np.nan], [np.nan, np.nan]])
    np.testing.assert_array_equal(mean_of(values), [2.0, np.nan])
    np.testing.assert_array_equal(standard_error(values), [1.0, np.nan])


def test_depth_and_counts(case: Case):
    for tree in case.oob_forest.trees:
        assert depth_of(tree) == tree.max_depth
    assert split_counts(case.oob_forest.trees, 4).sum() == sum(tree.n_leaves - 1 for tree in case.oob_forest.trees)
