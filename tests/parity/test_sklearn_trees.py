"""Exact trees against scikit-learn's: the same wherever no two splits of a node tie.

The tables hold float32 values, because scikit-learn casts X to float32, and no two of them closer than 1e-7, which it
takes for equal. Weights are multiples of 1/8: their sums are exact in any order, else scikit-learn goes on splitting
nodes that are pure but for rounding.

TIE: gains of a few hundred rows are sums that both libraries round differently, by about 1e-15 of the node's impurity;
splits closer than 1e-10 of it are taken for equally good, and which one is chosen is then anybody's choice.
STAT: impurities and gains are differences of such sums, and scikit-learn updates them split by split; 1e-9 leaves room
for the loss of six digits, and none for a row on the wrong side.
Thresholds are half-way between the same two float32 values in float64 in both libraries, so they are compared exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
import sklearn.tree
from numpy.typing import NDArray

import committee
from committee.datasets import load_dataset
from committee.records.tree import Tree, check_tree
from tests.naive.cart import naive_cart, to_tree
from tests.naive.compare import Comparison, compare_trees, gain_margins
from tests.naive.from_sklearn import from_sklearn

Floats = NDArray[np.float64]

TIE = 1e-10
STAT = 1e-9

CLASSIFICATION = [("gini", 2), ("gini", 4), ("entropy", 2), ("entropy", 4)]
REGRESSION = [("squared_error", 0), ("absolute_error", 0), ("poisson", 0)]
PROBLEMS = CLASSIFICATION + REGRESSION
IDS = [f"{criterion}-{k}" if k else criterion for criterion, k in PROBLEMS]
every_problem = pytest.mark.parametrize(("criterion", "n_classes"), PROBLEMS, ids=IDS)


# --- data and fits ---------------------------------------------------------------------------------------------------


class Data(NamedTuple):
    X: Floats
    y: NDArray[Any]
    w: Floats


def make_data(
    seed: int, criterion: str, n_classes: int, n: int = 80, d: int = 4, missing: float = 0.0, shift: float = 0.0
) -> Data:
    """A target that depends on the features; `shift` is added to counts, whose zeros forbid splits under poisson."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(np.float32).astype(np.float64)
    signal = X[:, 0] + np.sin(3 * X[:, d // 3]) + X[:, d // 2] * X[:, -1] + 0.5 * rng.normal(size=n)
    X[rng.random(size=X.shape) < missing] = np.nan
    if n_classes:
        y: NDArray[Any] = np.digitize(signal, np.quantile(signal, np.linspace(0, 1, n_classes + 1)[1:-1]))
    elif criterion == "poisson":
        y = rng.poisson(np.exp(signal / 2)) + shift
    else:
        y = signal
    return Data(X, y, rng.integers(4, 24, size=n) / 8)


class Fits(NamedTuple):
    """The same fit by both libraries."""

    ours: Any
    theirs: Any

    @property
    def trees(self) -> tuple[Tree, Tree]:
        tree = check_tree(self.ours.tree_.arrays, self.ours.n_features_in_)
        return tree, from_sklearn(self.theirs.tree_)


def fit_both(X: Any, y: Any, w: Any, criterion: str, splitter: str = "best", **params: Any) -> Fits:
    name = "DecisionTreeClassifier" if criterion in ("gini", "entropy") else "DecisionTreeRegressor"
    ours = getattr(committee, name)(criterion=criterion, splitter=splitter, **params)
    theirs = getattr(sklearn.tree, name)(criterion=criterion, random_state=0, **params)
    return Fits(ours.fit(X, y, sample_weight=w), theirs.fit(X, y, sample_weight=w))


def twin(data: Data, criterion: str, n_classes: int, w: Floats | None, **limits: Any) -> tuple[Tree, Floats]:
    """The naive twin's tree and by how much each of its splits leads."""
    nodes = naive_cart(data.X, data.y, w, criterion=criterion, n_classes=n_classes, **limits)
    return to_tree(nodes), np.array([node["margin"] for node in nodes])


def compare_with_twin(fits: Fits, grown: tuple[Tree, Floats]) -> Comparison:
    """Both libraries' trees against the twin's; where none of its splits ties, they are then equal to each other."""
    tree, margins = grown
    for result in fits.trees:
        comparison = compare_trees(tree, result, margins, tie=TIE, tol=STAT)
        assert comparison.differences == []
    return comparison


def assert_same_answers(fits: Fits, X: Any) -> None:
    """Predictions and importances: averages of the same rows, summed in another order (hence STAT, relative)."""
    assert_same_predictions(fits, X)
    np.testing.assert_allclose(fits.ours.feature_importances_, fits.theirs.feature_importances_, rtol=STAT, atol=STAT)
    path, their_path = fits.ours.decision_path(X), fits.theirs.decision_path(X)
    np.testing.assert_array_equal(path.sum(axis=1), their_path.sum(axis=1))
    assert_same_leaves(fits.ours.apply(X), fits.theirs.apply(X))
    assert fits.ours.get_depth() == fits.theirs.get_depth()
    assert fits.ours.get_n_leaves() == fits.theirs.get_n_leaves()


def assert_same_predictions(fits: Fits, X: Any) -> None:
    if hasattr(fits.ours, "predict_proba"):
        np.testing.assert_array_equal(fits.ours.predict(X), fits.theirs.predict(X))
        np.testing.assert_allclose(fits.ours.predict_proba(X), fits.theirs.predict_proba(X), rtol=STAT, atol=1e-15)
    else:
        np.testing.assert_allclose(fits.ours.predict(X), fits.theirs.predict(X), rtol=STAT)


def assert_same_leaves(a: NDArray[np.int64], b: NDArray[np.int64]) -> None:
    """The same rows together, whatever the numbers of the leaves."""
    n_pairs = len(set(zip(a.tolist(), b.tolist(), strict=True)))
    assert n_pairs == len(set(a.tolist())) == len(set(b.tolist()))


# --- the twin's margins say where splits tie -------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
@every_problem
def test_full_trees(criterion: str, n_classes: int, weighted: bool) -> None:
    n_compared = 0
    for seed in range(2):
        data = make_data(seed, criterion, n_classes)
        w = data.w if weighted else None
        fits = fit_both(data.X, data.y, w, criterion)
        n_compared += compare_with_twin(fits, twin(data, criterion, n_classes, w)).n_compared
    assert n_compared > 15


@every_problem
def test_one_feature_leaves_no_ties(criterion: str, n_classes: int) -> None:
    """One column of distinct values: no split ties (for this seed), and the whole tree must agree to the last leaf."""
    data = make_data(15, criterion, n_classes, n=150, d=1, shift=0.25)
    fits = fit_both(data.X, data.y, data.w, criterion)
    comparison = compare_with_twin(fits, twin(data, criterion, n_classes, data.w))
    assert comparison.n_ties == 0
    ours, theirs = fits.trees
    assert comparison.n_compared == ours.n_nodes == theirs.n_nodes > 30
    np.testing.assert_array_equal(np.sort(ours.threshold), np.sort(theirs.threshold))
    assert_same_answers(fits, make_data(11, criterion, n_classes, n=300, d=1).X)


@every_problem
def test_missing_values(criterion: str, n_classes: int) -> None:
    """Also in a row to predict, at nodes that saw none."""
    n_compared = 0
    for seed in range(20, 23):
        data = make_data(seed, criterion, n_classes, missing=0.2, shift=0.25)
        limits = {"min_samples_leaf": 6}
        fits = fit_both(data.X, data.y, data.w, criterion, **limits)
        comparison = compare_with_twin(fits, twin(data, criterion, n_classes, data.w, **limits))
        n_compared += comparison.n_compared
        if comparison.n_ties == 0:
            assert_same_answers(fits, make_data(seed + 100, criterion, n_classes, n=200, missing=0.3).X)
    assert n_compared > 20


@pytest.mark.parametrize(
    "limits",
    [
        {"max_depth": 3},
        {"min_samples_split": 15},
        {"min_samples_leaf": 7},
        {"min_impurity_decrease": 0.01},
        {"max_leaf_nodes": 8, "min_samples_leaf": 5},
        {"max_leaf_nodes": 11, "max_depth": 4, "min_samples_leaf": 4, "min_impurity_decrease": 0.002},
    ],
    ids=str,
)
@every_problem
def test_limits(criterion: str, n_classes: int, limits: dict[str, Any]) -> None:
    data = make_data(30, criterion, n_classes, missing=0.1, shift=0.25)
    fits = fit_both(data.X, data.y, data.w, criterion, **limits)
    comparison = compare_with_twin(fits, twin(data, criterion, n_classes, data.w, **limits))
    assert comparison.n_compared > 6
    if comparison.n_ties == 0:
        assert_same_answers(fits, data.X)


@every_problem
def test_limits_as_fractions(criterion: str, n_classes: int) -> None:
    data = make_data(40, criterion, n_classes, shift=0.25)
    params = {"min_samples_split": 0.15, "min_samples_leaf": 0.04, "min_weight_fraction_leaf": 0.0625}
    fits = fit_both(data.X, data.y, data.w, criterion, **params)
    limits = {"min_samples_split": 12, "min_samples_leaf": 4, "min_weight_leaf": data.w.sum() / 16}
    comparison = compare_with_twin(fits, twin(data, criterion, n_classes, data.w, **limits))
    assert comparison.n_compared > 6


@pytest.mark.parametrize("limits", [{"min_samples_leaf": 3}, {"max_leaf_nodes": 8, "min_samples_leaf": 3}], ids=str)
@pytest.mark.parametrize("missing", [0.0, 0.15])
@pytest.mark.parametrize(("criterion", "n_classes"), [("gini", 2), ("entropy", 2), *REGRESSION])
def test_monotone_constraints(criterion: str, n_classes: int, missing: float, limits: dict[str, Any]) -> None:
    n_compared = 0
    for seed in range(50, 52):
        data = make_data(seed, criterion, n_classes, missing=missing, shift=0.25)
        options = {"monotonic_cst": [1, -1, 0, 1], **limits}
        fits = fit_both(data.X, data.y, data.w, criterion, **options)
        comparison = compare_with_twin(fits, twin(data, criterion, n_classes, data.w, **options))
        n_compared += comparison.n_compared
        if comparison.n_ties == 0:
            assert_same_predictions(fits, data.X)
    assert n_compared > 12


@pytest.mark.parametrize("class_weight", [{0: 1.5, 1: 0.625, 2: 3.0}, {1: 0.25}, "balanced"], ids=str)
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_class_weight(criterion: str, class_weight: Any) -> None:
    data = make_data(60, criterion, 3)
    data = data._replace(y=np.where(data.X[:, 1] > 0.8, 2, data.y))  # classes of different sizes
    if class_weight == "balanced":  # scikit-learn's counts rows, ours their weights, and keeps single precision
        data = data._replace(w=np.ones(len(data.y)))
        by_class = sklearn.utils.compute_class_weight("balanced", classes=np.arange(3), y=data.y)
        class_weight = dict(enumerate(by_class.astype(np.float32).tolist()))
        balanced = committee.DecisionTreeClassifier(criterion=criterion, class_weight="balanced").fit(data.X, data.y)
        equal = committee.DecisionTreeClassifier(criterion=criterion, class_weight=class_weight).fit(data.X, data.y)
        np.testing.assert_array_equal(balanced.tree_.threshold, equal.tree_.threshold)
    fits = fit_both(data.X, data.y, data.w, criterion, class_weight=class_weight, min_samples_leaf=4)
    weight = data.w * sklearn.utils.compute_sample_weight(class_weight, data.y)
    comparison = compare_with_twin(fits, twin(data, criterion, 3, weight, min_samples_leaf=4))
    assert comparison.n_compared > 10
    assert fits.ours.classes_.tolist() == fits.theirs.classes_.tolist()
    if comparison.n_ties == 0:
        assert_same_answers(fits, data.X)


@every_problem
def test_zero_weights(criterion: str, n_classes: int) -> None:
    data = make_data(70, criterion, n_classes, n=110, shift=0.25)
    data.w[::4] = 0
    fits = fit_both(data.X, data.y, data.w, criterion, min_samples_leaf=3)
    comparison = compare_with_twin(fits, twin(data, criterion, n_classes, data.w, min_samples_leaf=3))
    assert comparison.n_compared > 12


# --- pruning ---------------------------------------------------------------------------------------------------------


def last_of_equal(alphas: Floats, impurities: Floats) -> tuple[Floats, Floats]:
    """Where links tie, their order is anybody's choice and only the tree after all of them is the same."""
    is_last = np.append(np.diff(alphas) > 1e-12, True)
    return alphas[is_last], impurities[is_last]


@every_problem
def test_pruning_path(criterion: str, n_classes: int) -> None:
    """The cost of a subtree is a sum of impurities, so the path carries their tolerance."""
    data = make_data(80, criterion, n_classes, n=200, d=1, shift=0.25)
    fits = fit_both(data.X, data.y, data.w, criterion, min_samples_leaf=2)
    ours = fits.ours.cost_complexity_pruning_path(data.X, data.y, data.w)
    theirs = fits.theirs.cost_complexity_pruning_path(data.X, data.y, data.w)
    result = last_of_equal(ours.ccp_alphas, ours.impurities)
    wanted = last_of_equal(theirs.ccp_alphas, theirs.impurities)
    assert len(wanted[0]) > 10
    np.testing.assert_allclose(result, wanted, rtol=STAT, atol=STAT)


@every_problem
def test_leaves_after_pruning(criterion: str, n_classes: int) -> None:
    data = make_data(90, criterion, n_classes, n=200, d=1, shift=0.25)
    full = fit_both(data.X, data.y, data.w, criterion, min_samples_leaf=2)
    path = full.theirs.cost_complexity_pruning_path(data.X, data.y, data.w)
    alphas, _ = last_of_equal(path.ccp_alphas, path.impurities)
    between = (alphas[1:] + alphas[:-1]) / 2
    sizes = []
    for alpha in [*between[:: max(1, len(between) // 6)], 2 * alphas[-1]]:
        fits = fit_both(data.X, data.y, data.w, criterion, min_samples_leaf=2, ccp_alpha=alpha)
        ours, theirs = fits.trees
        assert compare_trees(ours, theirs, tol=STAT).differences == []
        assert_same_answers(fits, data.X)
        sizes.append(ours.n_leaves)
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > 10
    assert sizes[-1] == 1


# --- larger data: a tie shows in the gains ---------------------------------------------------------------------------


def compare_by_gain(fits: Fits) -> Comparison:
    ours, theirs = fits.trees
    comparison = compare_trees(ours, theirs, gain_margins(ours, theirs, TIE), tie=TIE, tol=STAT)
    assert comparison.differences == []
    return comparison


def sample(name: str) -> Data:
    loaded = load_dataset(name)
    rng = np.random.default_rng(0)
    return Data(loaded.X.astype(np.float32), loaded.y, rng.integers(4, 24, size=len(loaded.y)) / 8)


# least: most of the nodes that can be compared today; fewer mean that the trees have drifted apart
@pytest.mark.parametrize(
    ("name", "least"),
    [("glass", 20), ("ionosphere", 10), ("pima_diabetes", 60), ("sonar", 10), ("spam", 100), ("vehicle", 60)],
)
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_classification_samples(criterion: str, name: str, least: int) -> None:
    X, y, w = sample(name)
    for weight in (None, w):
        full = fit_both(X, y, weight, criterion)
        assert compare_by_gain(full).n_compared >= least
        np.testing.assert_array_equal(full.ours.predict(X), full.theirs.predict(X))  # pure leaves
        cut = fit_both(X, y, weight, criterion, max_depth=4, min_samples_leaf=8)
        if compare_by_gain(cut).n_ties == 0:
            assert_same_answers(cut, X)


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
def test_ozone_with_missing_values(criterion: str) -> None:
    X, y, w = sample("ozone")
    assert np.isnan(X).any()
    for weight in (None, w):
        assert compare_by_gain(fit_both(X, y, weight, criterion)).n_compared >= 100
        fits = fit_both(X, y, weight, criterion, min_samples_leaf=10)
        comparison = compare_by_gain(fits)  # y is whole: a few ties even here
        assert comparison.n_compared >= 40
        if comparison.n_ties == 0:
            assert_same_answers(fits, X)


@pytest.mark.parametrize("name", ["sonar", "vehicle", "glass"])
@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
def test_regression_on_samples(criterion: str, name: str) -> None:
    """One column of the table from the others."""
    X, _, w = sample(name)
    y = np.abs(X[:, 0].astype(np.float64))
    fits = fit_both(X[:, 1:], y, w, criterion, min_samples_leaf=5)
    assert compare_by_gain(fits).n_compared >= 20


@every_problem
def test_nodes_of_many_rows(criterion: str, n_classes: int, set_subtree_rows: Callable[[int], None]) -> None:
    """Growth in two tiers: 1500 rows, subtrees of at most 64."""
    set_subtree_rows(64)
    for missing in (0.0, 0.1):
        data = make_data(100, criterion, n_classes, n=1500, d=5, missing=missing, shift=0.25)
        fits = fit_both(data.X, data.y, data.w, criterion, min_samples_leaf=3)
        assert compare_by_gain(fits).n_compared > 100
        leaves = fit_both(data.X, data.y, data.w, criterion, max_leaf_nodes=30, min_samples_leaf=10)
        assert compare_by_gain(leaves).n_ties == 0
        assert_same_answers(leaves, make_data(101, criterion, n_classes, n=500, d=5, missing=missing).X)


@every_problem
def test_binned_trees_of_few_values_are_exact(criterion: str, n_classes: int) -> None:
    """At most 255 distinct values in a column: every one has its bin and no split is lost."""
    data = make_data(110, criterion, n_classes, n=1000, missing=0.1, shift=0.25)
    data = data._replace(X=np.round(data.X * 16) / 16)
    fits = fit_both(data.X, data.y, data.w, criterion, splitter="binned", min_samples_leaf=10)
    assert compare_by_gain(fits).n_compared > 60
