"""The twins against scikit-learn and against each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from committee.records.tree import LEAF, Tree, check_tree

from .audit import audit_tree
from .binning import naive_bins, naive_codes
from .cart import naive_cart, to_tree
from .compare import compare_trees
from .from_sklearn import from_sklearn
from .pruning import naive_prune, naive_pruning_path
from .traverse import naive_apply

SHARED = ["gini", "entropy", "squared_error", "absolute_error", "poisson"]
OURS = ["edge", "z", "newton"]
LIMITS: list[dict[str, Any]] = [
    {"max_depth": 3},
    {"min_samples_split": 15},
    {"min_samples_leaf": 7},
    {"min_impurity_decrease": 0.01},
    {"max_leaf_nodes": 6, "min_samples_leaf": 4},
    {"max_leaf_nodes": 9, "max_depth": 4, "min_samples_leaf": 3},
]


def make_data(seed: int, criterion: str, n: int = 50, n_classes: int = 3, missing: float = 0.0) -> tuple:
    """float32-exact features without ties and a target that depends on them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).astype(np.float32).astype(np.float64)
    signal = X[:, 0] + np.sin(3 * X[:, 1]) + X[:, 2] * X[:, -1] + 0.5 * rng.normal(size=n)
    X[rng.random(size=X.shape) < missing] = np.nan
    w = rng.integers(4, 24, size=n) / 8  # sums without rounding: else scikit-learn goes on splitting pure nodes
    return X, make_target(criterion, signal, rng, n_classes), w


def make_target(criterion: str, signal: np.ndarray, rng: np.random.Generator, n_classes: int) -> np.ndarray:
    if criterion in ("gini", "entropy") or (criterion == "edge" and n_classes > 2):
        return np.digitize(signal, np.quantile(signal, np.linspace(0, 1, n_classes + 1)[1:-1]))
    if criterion == "poisson":
        return rng.poisson(np.exp(signal / 2)).astype(float)
    if criterion in ("edge", "z"):
        return np.where(signal > 0, 1.0, -1.0)
    if criterion == "newton":
        return np.column_stack([signal, rng.uniform(0.1, 1.0, size=len(signal))])
    return signal


def fit_sklearn(X: np.ndarray, y: np.ndarray, w: np.ndarray | None, criterion: str, **limits: Any) -> Any:
    cls = DecisionTreeClassifier if criterion in ("gini", "entropy") else DecisionTreeRegressor
    if "min_weight_leaf" in limits:
        limits["min_weight_fraction_leaf"] = limits.pop("min_weight_leaf") / (len(X) if w is None else w.sum())
    return cls(criterion=criterion, random_state=0, **limits).fit(X, y, sample_weight=w)


def classes_of(criterion: str, n_classes: int = 3) -> int:
    return n_classes if criterion in ("gini", "entropy") else 0


def assert_same_as_sklearn(
    X: np.ndarray, y: np.ndarray, w: np.ndarray | None, criterion: str, n_classes: int = 3, **limits: Any
) -> int:
    """Grow both trees, demand equality up to ties and a clean audit of scikit-learn's; returns the nodes compared."""
    k = classes_of(criterion, n_classes)
    theirs = from_sklearn(fit_sklearn(X, y, w, criterion, **limits).tree_)
    nodes = naive_cart(X, y, w, criterion=criterion, n_classes=k, **limits)
    ours = check_tree(to_tree(nodes), X.shape[1])
    result = compare_trees(ours, theirs, np.array([node["margin"] for node in nodes]))
    assert result.differences == []
    audit = audit_tree(theirs, X, y, w, criterion=criterion, n_classes=k, **limits)
    assert audit.is_clean, audit.notes
    assert audit.n_inner == (theirs.n_nodes - 1) // 2
    return result.n_compared


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("criterion", SHARED)
def test_full_tree_equals_sklearn(criterion: str, weighted: bool) -> None:
    for seed in range(2):
        X, y, w = make_data(seed, criterion)
        assert assert_same_as_sklearn(X, y, w if weighted else None, criterion) > 9


@pytest.mark.parametrize("criterion", SHARED)
def test_one_feature_leaves_no_ties(criterion: str) -> None:
    X, y, w = make_data(5, criterion)
    X = X[:, :1]
    if criterion == "poisson":
        y = y + 0.25
    assert assert_same_as_sklearn(X, y, w, criterion) > 20


@pytest.mark.parametrize("criterion", SHARED)
def test_missing_values_as_in_sklearn(criterion: str) -> None:
    n_compared = 0
    for seed in range(2):
        X, y, w = make_data(10 + seed, criterion, missing=0.25)
        n_compared += assert_same_as_sklearn(X, y, w, criterion, min_samples_leaf=2)
    assert n_compared > 12


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("criterion", SHARED)
def test_limits_as_in_sklearn(criterion: str, limits: dict[str, Any]) -> None:
    X, y, w = make_data(20, criterion, missing=0.1)
    assert_same_as_sklearn(X, y, w, criterion, **limits)


@pytest.mark.parametrize("criterion", SHARED)
def test_min_weight_leaf_as_in_sklearn(criterion: str) -> None:
    X, y, w = make_data(30, criterion)
    assert_same_as_sklearn(X, y, w, criterion, min_weight_leaf=0.07 * w.sum())


@pytest.mark.parametrize("limits", [{}, {"max_leaf_nodes": 8, "min_samples_leaf": 3}], ids=str)
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("criterion", SHARED)
def test_monotone_constraints_as_in_sklearn(criterion: str, missing: float, limits: dict[str, Any]) -> None:
    n_compared = 0
    for seed in range(2):
        X, y, w = make_data(40 + seed, criterion, n_classes=2, missing=missing)
        n_compared += assert_same_as_sklearn(X, y, w, criterion, 2, monotonic_cst=[1, -1, 0, 1], **limits)
    assert n_compared > 12


@pytest.mark.parametrize("criterion", SHARED)
def test_zero_weight_rows_are_as_good_as_absent(criterion: str) -> None:
    X, y, w = make_data(50, criterion)
    w[::3] = 0
    assert_same_as_sklearn(X, y, w, criterion, min_samples_leaf=2)
    kept = w > 0
    k = classes_of(criterion)
    a = naive_cart(X, y, w, criterion=criterion, n_classes=k)
    b = naive_cart(X[kept], y[kept], w[kept], criterion=criterion, n_classes=k)
    assert compare_trees(to_tree(a), to_tree(b)).differences == []


@pytest.mark.parametrize("criterion", SHARED + OURS)
def test_integer_weights_are_repeated_rows(criterion: str) -> None:
    X, y, _ = make_data(60, criterion, n_classes=3, n=60, missing=0.1)
    times = np.random.default_rng(0).integers(0, 4, size=len(X))
    options: dict[str, Any] = {"criterion": criterion, "n_classes": 3}
    a = to_tree(naive_cart(X, y, times.astype(float), **options))
    b = to_tree(naive_cart(np.repeat(X, times, axis=0), np.repeat(y, times, axis=0), None, **options))
    result = compare_trees(a._replace(n_samples=b.n_samples, missing_left=b.missing_left), b)
    assert result.differences == []
    assert result.n_compared == a.n_nodes


def test_newton_with_unit_hessians_is_squared_error() -> None:
    X, y, w = make_data(70, "squared_error")
    a = naive_cart(X, y, w, criterion="squared_error", min_samples_leaf=3)
    b = naive_cart(X, np.column_stack([-y, np.ones(len(y))]), w, criterion="newton", min_samples_leaf=3)
    one, two = to_tree(a), to_tree(b)
    assert compare_trees(one._replace(impurity=two.impurity), two).differences == []


def test_edge_stump_maximises_the_edge() -> None:
    X, y, w = make_data(71, "edge", n_classes=2)
    root = naive_cart(X, y, w, criterion="edge", max_depth=1)[0]
    halves = [y[X[:, f] <= t] @ w[X[:, f] <= t] for f in range(4) for t in X[:, f]]
    best = max(abs(half) + abs(y @ w - half) for half in halves)
    assert root["gain"] * 2 * w.sum() + abs(y @ w) == pytest.approx(best, rel=1e-12)
    codes = naive_cart(X, (y > 0).astype(int) * 2, w, criterion="edge", n_classes=3, max_depth=1)[0]
    assert (codes["feature"], codes["threshold"]) == (root["feature"], root["threshold"])
    assert codes["gain"] == pytest.approx(root["gain"], rel=1e-12)


def with_categories(X: np.ndarray, seed: int, n_codes: int = 7) -> np.ndarray:
    """Put category codes into the columns 1 and 2, some of them missing, the second column without."""
    rng = np.random.default_rng(seed)
    X = X.copy()
    X[:, 1] = np.where(rng.random(len(X)) < 0.1, np.nan, np.floor(n_codes * rng.random(len(X)) ** 1.5))
    X[:, 2] = 60 + np.digitize(X[:, 2], [-1, -0.3, 0.3, 1])
    return X


@pytest.mark.parametrize("limits", [{}, {"min_samples_leaf": 5}, {"max_leaf_nodes": 7}, {"max_depth": 3}], ids=str)
@pytest.mark.parametrize(
    ("criterion", "n_classes"), [(c, 2) for c in SHARED + OURS] + [(c, 4) for c in ("gini", "entropy", "edge")]
)
def test_audit_finds_the_twin_clean(criterion: str, n_classes: int, limits: dict[str, Any]) -> None:
    X, y, w = make_data(80, criterion, n=60, n_classes=n_classes)
    X = with_categories(X, 81)
    options = {"criterion": criterion, "n_classes": n_classes, "is_categorical": [False, True, True, False], **limits}
    if criterion == "newton":
        options |= {"l1": 0.3, "l2": 1.0}
    tree = check_tree(to_tree(naive_cart(X, y, w, **options)), 4)
    audit = audit_tree(tree, X, y, w, **options)
    assert audit.is_clean, audit.notes
    assert tree.n_nodes > 3


@pytest.mark.parametrize("criterion", ["squared_error", "newton", "gini"])
def test_interaction_groups(criterion: str) -> None:
    X, y, w = make_data(90, criterion, n_classes=2)
    options = {"criterion": criterion, "n_classes": 2, "interaction_groups": [[0, 1], [1, 2], [3]]}
    tree = to_tree(naive_cart(X, y, w, **options))
    assert audit_tree(tree, X, y, w, **options).is_clean
    allowed = [{0, 1}, {1, 2}, {3}]
    for features in feature_paths(tree, 0, set()):
        assert any(features <= group for group in allowed)
    free = to_tree(naive_cart(X, y, w, **(options | {"interaction_groups": None})))
    assert audit_tree(free, X, y, w, **options).n_invalid > 0


def feature_paths(tree: Tree, node: int, above: set[int]) -> list[set[int]]:
    if tree.feature[node] == LEAF:
        return [above]
    here, left = above | {int(tree.feature[node])}, int(tree.left[node])
    return feature_paths(tree, left, here) + feature_paths(tree, left + 1, here)


def test_a_split_without_gain_is_taken_but_not_by_newton() -> None:
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], float)
    y = np.array([0, 1, 1, 0])
    tree = to_tree(naive_cart(X, y, criterion="gini", n_classes=2))
    assert tree.n_leaves == DecisionTreeClassifier().fit(X, y).get_n_leaves() == 4
    newton = naive_cart(X, np.column_stack([1.0 - 2 * y, np.ones(4)]), criterion="newton", l2=1.0)
    assert len(newton) == 1


def stump_of(tree: Tree) -> Tree:
    """The tree with everything below its root's children cut off."""
    columns = {name: getattr(tree, name)[:3].copy() for name in tree._fields if name != "categories"}
    cut = tree._replace(**columns)
    cut.feature[1:], cut.left[1:], cut.gain[1:], cut.threshold[1:] = LEAF, LEAF, 0.0, np.nan
    return cut


def test_audit_sees_what_is_wrong() -> None:
    X, y, w = make_data(100, "squared_error", missing=0.1)
    options: dict[str, Any] = {"criterion": "squared_error", "min_samples_leaf": 3}
    tree = to_tree(naive_cart(X, y, w, **options))
    stump = stump_of(tree)
    assert audit_tree(stump, X, y, w, **options).wrong_leaves == 2
    assert audit_tree(stump, X, y, w, **options, max_depth=1).is_clean
    assert audit_tree(stump, X, y, w, **options, max_leaf_nodes=2).is_clean
    assert audit_tree(stump, X, y, w, **options, max_leaf_nodes=3).wrong_leaves == 1
    worse = tree.threshold.copy()
    worse[0] = np.sort(X[~np.isnan(X[:, tree.feature[0]]), tree.feature[0]])[20]
    result = audit_tree(stump._replace(threshold=worse[:3]), X, y, w, **options, max_depth=1)
    assert result.n_suboptimal == 1
    assert result.worst > 0.01
    assert result.wrong_stats > 0
    turned = audit_tree(stump._replace(missing_left=~stump.missing_left), X, y, w, **options, max_depth=1)
    assert turned.n_suboptimal == 1
    assert audit_tree(tree, X, y, w, criterion="squared_error", min_samples_leaf=6).n_invalid > 0
    assert audit_tree(tree, X, y, w, **options, max_depth=2).n_invalid > 0
    assert audit_tree(tree, X, y, w, **options, monotonic_cst=[-1, 1, 1, 1]).n_invalid > 0
    assert audit_tree(tree, X, y, w, **options, min_impurity_decrease=0.05).n_invalid > 0


@pytest.mark.parametrize("name", ["n_samples", "weight", "impurity", "value", "gain"])
def test_audit_checks_every_number(name: str) -> None:
    X, y, w = make_data(101, "gini")
    tree = to_tree(naive_cart(X, y, w, criterion="gini", n_classes=3, max_depth=3))
    column = getattr(tree, name).astype(float)
    column[2] += 1e-6
    result = audit_tree(tree._replace(**{name: column}), X, y, w, criterion="gini", n_classes=3, max_depth=3)
    assert (result.wrong_stats, result.n_suboptimal) == (1, 0)
    assert name in result.notes[0]


def test_audit_tries_all_subsets_of_categories() -> None:
    x = np.array([0, 1, 2, 3], float)[:, None]
    y = np.array([0.0, 10.0, 0.5, 10.5])
    good = naive_cart(x, y, criterion="squared_error", is_categorical=[True], max_depth=1)
    assert good[0]["categories"] == (0, 2)
    worse = to_tree(good)
    worse.categories[0, 0] = 0b0111
    options: dict[str, Any] = {"criterion": "squared_error", "is_categorical": [True], "max_depth": 1}
    assert audit_tree(to_tree(good), x, y, **options).is_clean
    assert audit_tree(worse, x, y, **options).n_suboptimal == 1


@pytest.mark.parametrize("criterion", SHARED)
def test_pruning_path_as_in_sklearn(criterion: str) -> None:
    X, y, w = make_data(110, criterion, n=120)
    y = y + 0.1 if criterion == "poisson" else y
    model = fit_sklearn(X, y, w, criterion, min_samples_leaf=2)
    tree = from_sklearn(model.tree_)
    path = model.cost_complexity_pruning_path(X, y, w)
    alphas, impurities = naive_pruning_path(tree)
    np.testing.assert_allclose(alphas, path.ccp_alphas, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(impurities, path.impurities, rtol=1e-9, atol=1e-12)
    middles = (alphas[1:] + alphas[:-1]) / 2
    for alpha in [*middles[middles > 0][::4], alphas[-1] + 1]:
        pruned = fit_sklearn(X, y, w, criterion, min_samples_leaf=2, ccp_alpha=alpha)
        sizes = sorted(int(tree.n_samples[leaf]) for leaf in naive_prune(tree, alpha))
        assert sizes == sorted(pruned.tree_.n_node_samples[pruned.tree_.children_left == LEAF])


def test_apply_as_in_sklearn() -> None:
    X, y, w = make_data(120, "squared_error", missing=0.2)
    model = fit_sklearn(X, y, w, "squared_error")
    new = make_data(121, "squared_error", missing=0.3)[0]
    tree = from_sklearn(model.tree_)
    assert check_tree(tree, 4) is tree
    np.testing.assert_array_equal(tree.value[naive_apply(tree, new), 0], model.predict(new))
    grown = to_tree(naive_cart(X, y, w, criterion="squared_error"))
    n_rows = np.bincount(naive_apply(grown, X), minlength=grown.n_nodes)
    np.testing.assert_array_equal(n_rows[grown.is_leaf], grown.n_samples[grown.is_leaf])


def test_apply_reads_category_bits() -> None:
    X = np.array([[0.0], [70.0], [130.0], [255.0], [np.nan]])
    y = np.array([0.0, 1.0, 0.0, 1.0, 1.0])
    tree = to_tree(naive_cart(X, y, criterion="squared_error", is_categorical=[True]))
    new = np.array([[0.0], [70.0], [130.0], [255.0], [np.nan], [12.0], [999.0]])
    assert naive_apply(tree, new).tolist() == [1, 2, 1, 2, 2, 2, 2]


def test_few_values_get_a_bin_each() -> None:
    lower, upper = naive_bins(np.array([3.0, 1.0, np.nan, 2.0, 2.0, 9.0]), np.array([1, 1, 1, 1, 1, 0.0]), 3)
    assert lower.tolist() == upper.tolist() == [1, 2, 3]
    assert naive_codes(np.array([-5, 1.5, 1.6, 2.5, 99, np.nan]), lower, upper).tolist() == [0, 0, 1, 1, 2, 3]


def test_bins_of_weights_are_bins_of_repeated_rows() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        values = np.round(rng.normal(size=200), rng.integers(1, 4))
        times = rng.integers(0, 5, size=200)
        max_bins = int(rng.integers(2, 40))
        weighted = naive_bins(values, times.astype(float), max_bins)
        repeated = naive_bins(np.repeat(values, times), None, max_bins)
        np.testing.assert_array_equal(weighted, repeated)
        lower, upper = weighted
        assert len(lower) <= max_bins
        assert np.all(lower <= upper)
        assert np.all(upper[:-1] < lower[1:])
        codes = naive_codes(values[times > 0], lower, upper)
        assert np.all((lower[codes] <= values[times > 0]) & (values[times > 0] <= upper[codes]))


def test_bins_are_equally_heavy_without_ties() -> None:
    lower, _ = naive_bins(np.arange(100.0), None, 8)
    assert np.diff(np.append(lower, 100)).tolist() == [13, 12, 13, 12, 13, 12, 13, 12]
    assert naive_bins(np.arange(10.0), np.array([1, 1, 1, 1, 1, 1, 1, 1, 1, 91.0]), 4)[0].tolist() == [0, 5, 9]


def test_codes_of_extreme_values() -> None:
    largest, tiny = np.finfo(float).max, 5e-324
    values = np.array([-np.inf, -largest, -tiny, 0.0, tiny, 1.0, np.nextafter(1.0, 2.0), largest, np.inf])
    lower, upper = naive_bins(values, None, 20)
    assert naive_codes(values, lower, upper).tolist() == list(range(9))
