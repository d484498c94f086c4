"""Cost-complexity pruning against the naive twin, scikit-learn, and cross-validation done the long way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sklearn.tree
from numpy.typing import NDArray
from sklearn.model_selection import KFold, ShuffleSplit

from committee import DecisionTreeClassifier, DecisionTreeRegressor
from committee.records.tree import Tree, check_tree
from committee.tree_engine.binning import BinMapper
from committee.tree_engine.growing import free_limits, grow
from committee.tree_engine.predict.apply import apply_tree, parents
from committee.tree_engine.response import class_response, value_response
from committee.trees.pruning import PruningCurve, collapse, prune, pruning_path
from tests.naive.pruning import naive_prune, naive_pruning_path

Floats = NDArray[np.float64]

CRITERIA = ["gini", "entropy", "squared_error", "absolute_error", "poisson"]
ROUNDING = 1e-12  # impurities are of order 1 and sums of at most a hundred of them


def make_data(seed: int, criterion: str, n: int = 90) -> tuple[Floats, NDArray[Any], Floats]:
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 3)), 1)
    signal = X[:, 0] + np.sin(3 * X[:, 1]) + 0.7 * rng.normal(size=n)
    X[rng.random(X.shape) < 0.1] = np.nan
    if criterion in ("gini", "entropy"):
        y: NDArray[Any] = np.digitize(signal, [-0.5, 0.7])
    else:
        y = rng.poisson(np.exp(signal / 2)) + 0.25 if criterion == "poisson" else signal
    return X, y, rng.integers(1, 17, n) / 8


def grow_full(seed: int, criterion: str, is_categorical: NDArray[np.bool_] | None = None) -> tuple[Tree, Floats]:
    X, y, w = make_data(seed, criterion)
    if is_categorical is not None:
        X[:, is_categorical] = np.floor(3 + 2 * np.nan_to_num(np.clip(X[:, is_categorical], -1, 1)))
    is_class = criterion in ("gini", "entropy")
    response = class_response(y, 3, w, criterion) if is_class else value_response(y, w, criterion)
    matrix = BinMapper(None).fit_transform(X, w, is_categorical)
    return grow(matrix, response, free_limits(3, response.unit_weights)), X


def last_of_equal(alpha: Floats, *others: NDArray[Any]) -> list[NDArray[Any]]:
    """Links that tie may be cut in any order; after the last of them the trees are the same again."""
    is_last = np.append(np.diff(alpha) > ROUNDING, True)
    return [column[is_last] for column in (alpha, *others)]


# --- the sequence of subtrees ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_path_is_the_twins(criterion: str) -> None:
    for seed in range(3):
        tree, _ = grow_full(seed, criterion)
        path = pruning_path(tree)
        result = last_of_equal(path.alpha, path.impurity)
        wanted = last_of_equal(*naive_pruning_path(tree))
        assert len(wanted[0]) > 8
        np.testing.assert_allclose(result, wanted, rtol=1e-9, atol=ROUNDING)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_every_step_leaves_the_tree_it_says(criterion: str) -> None:
    tree, _ = grow_full(5, criterion)
    path = pruning_path(tree)
    assert np.all(np.diff(path.alpha) > -ROUNDING)
    assert np.all(np.diff(path.impurity) > -ROUNDING)
    assert (path.n_leaves[0], path.n_leaves[-1]) == (tree.n_leaves, 1)
    for step in range(path.alpha.size):
        cut = check_tree(collapse(tree, path.order[:step]), 3)
        risk = (cut.impurity * cut.weight)[cut.is_leaf].sum() / cut.weight[0]
        assert cut.n_leaves == path.n_leaves[step]
        assert risk == pytest.approx(path.impurity[step], rel=1e-9, abs=ROUNDING)


def test_the_steps_say_which_node_went_when() -> None:
    tree, _ = grow_full(6, "squared_error")
    path = pruning_path(tree)
    np.testing.assert_array_equal(path.pruned_at[path.order], np.arange(1, path.order.size + 1))
    np.testing.assert_array_equal(path.pruned_at[tree.is_leaf], 0)
    vanished = np.setdiff1d(np.flatnonzero(~tree.is_leaf), path.order)
    assert vanished.size > 0
    np.testing.assert_array_equal(path.pruned_at[vanished], -1)


def test_a_split_is_the_first_to_go_where_it_gains_least() -> None:
    """The variance is 9/8 at the root; its halves have 1/4 and 0, each on half of the weight."""
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([-1.5, -0.5, 1.0, 1.0])
    tree = DecisionTreeRegressor().fit(X, y).tree_.arrays
    path = pruning_path(tree)
    np.testing.assert_allclose(path.alpha, [0.0, 1 / 8, 1.0], rtol=1e-12)
    np.testing.assert_allclose(path.impurity, [0.0, 1 / 8, 9 / 8], rtol=1e-12)
    assert path.n_leaves.tolist() == [3, 2, 1]


def test_a_single_leaf_has_a_path_of_one_step() -> None:
    tree = DecisionTreeRegressor().fit([[1.0], [1.0]], [0.0, 2.0]).tree_.arrays
    path = pruning_path(tree)
    assert (path.alpha.tolist(), path.impurity.tolist(), path.n_leaves.tolist()) == ([0.0], [1.0], [1])
    assert prune(tree, 1.0) is tree


@pytest.mark.parametrize("criterion", ["gini", "squared_error", "poisson"])
def test_the_path_is_scikit_learns(criterion: str) -> None:
    """One feature, so that no split ties; sums of other order, hence 1e-9."""
    X, y, w = make_data(8, criterion, n=200)
    X = np.random.default_rng(0).permuted(np.arange(200.0))[:, None]
    y = np.sort(y)[np.argsort(np.argsort(X[:, 0] + 40 * np.random.default_rng(1).normal(size=200)))]
    is_class = criterion == "gini"
    name = "DecisionTreeClassifier" if is_class else "DecisionTreeRegressor"
    params = {"criterion": criterion, "min_samples_leaf": 3}
    theirs = getattr(sklearn.tree, name)(**params).cost_complexity_pruning_path(X, y, w)
    ours = (DecisionTreeClassifier if is_class else DecisionTreeRegressor)(**params).fit(X, y, w)
    path = pruning_path(ours.tree_.arrays)
    wanted = last_of_equal(theirs.ccp_alphas, theirs.impurities)
    assert len(wanted[0]) > 8
    np.testing.assert_allclose(last_of_equal(path.alpha, path.impurity), wanted, rtol=1e-9, atol=ROUNDING)


# --- one of them -----------------------------------------------------------------------------------------------------


def climb(tree: Tree, leaves: NDArray[np.int64], stops: set[int]) -> NDArray[np.int64]:
    """The first node of `stops` on the way from each leaf to the root."""
    parent = parents(tree)
    out = leaves.copy()
    for i, node in enumerate(leaves):
        while node not in stops:
            node = parent[node]
        out[i] = node
    return out


@pytest.mark.parametrize("categories", [False, True], ids=["numeric", "categories"])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_pruned_trees_predict_as_the_twins(criterion: str, categories: bool) -> None:
    tree, X = grow_full(10, criterion, np.array([True, False, True]) if categories else None)
    assert (len(tree.categories) > 0) == categories
    alphas = last_of_equal(pruning_path(tree).alpha)[0]
    sizes = []
    for alpha in [*(alphas[1:] + alphas[:-1]) / 2, 2 * alphas[-1]]:
        cut = check_tree(prune(tree, alpha), 3)
        predicting = climb(tree, apply_tree(tree, X), naive_prune(tree, alpha))
        leaves = apply_tree(cut, X)
        for name in ("value", "impurity", "n_samples", "weight"):
            np.testing.assert_array_equal(getattr(cut, name)[leaves], getattr(tree, name)[predicting])
        assert len(cut.categories) == np.count_nonzero(cut.category_set >= 0)
        sizes.append(cut.n_leaves)
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == 1


def test_pruning_at_zero_is_no_pruning() -> None:
    tree, _ = grow_full(11, "gini")
    assert prune(tree, 0.0) is tree
    assert prune(tree, np.inf).n_nodes == 1


# --- cross-validation the long way -----------------------------------------------------------------------------------


def row_losses(criterion: str, y: NDArray[Any], prediction: NDArray[Any]) -> Floats:
    if criterion in ("gini", "entropy"):
        return (y != prediction).astype(float)
    if criterion == "absolute_error":
        return np.abs(y - prediction)
    if criterion == "poisson":
        return prediction - y + y * np.log(y / prediction)
    return (y - prediction) ** 2


def slow_curve(model: Any, X: Floats, y: NDArray[Any], w: Floats, folds: list[Any]) -> dict[str, Any]:
    """A fit of every fold at every alpha: grow, prune at the geometric mean, predict, average over the rows."""
    full = model.set_params(ccp_alpha=0.0)
    path = pruning_path(full.fit(X, y, w).tree_.arrays)
    alpha, n_leaves = last_of_equal(path.alpha, path.n_leaves)
    alpha[0] = 0.0
    between = [*np.sqrt(alpha[:-1] * alpha[1:]), 1e300]
    mean, std = [], []
    for middle in between:
        model = model.set_params(ccp_alpha=max(float(middle), 1e-300))  # splits that gain nothing go at 0
        tested = [(y[test], model.fit(X[train], y[train], w[train]).predict(X[test]), w[test]) for train, test in folds]
        truth, predictions, weight = (np.concatenate(column) for column in zip(*tested, strict=True))
        losses = row_losses(model.criterion, truth, predictions)
        mean.append(np.average(losses, weights=weight))
        std.append(np.sqrt(np.average((losses - mean[-1]) ** 2, weights=weight) / len(losses)))
    return {"alpha": alpha, "n_leaves": n_leaves, "mean_error": np.array(mean), "std_error": np.array(std)}


def make_model(criterion: str, **params: Any) -> Any:
    cls = DecisionTreeClassifier if criterion in ("gini", "entropy") else DecisionTreeRegressor
    return cls(criterion=criterion, splitter="best", min_samples_leaf=3, **params)


def fit_curve(criterion: str, X: Floats, y: NDArray[Any], w: Floats, cv: Any) -> Any:
    return make_model(criterion, ccp_alpha="cv", cv=cv, random_state=0).fit(X, y, sample_weight=w)


def assert_same_curve(curve: PruningCurve, wanted: dict[str, Any]) -> None:
    """The fast curve adds and subtracts losses along the path: its rounding is that of their sum (1e-9 of it)."""
    np.testing.assert_array_equal(curve.n_leaves, wanted["n_leaves"])
    np.testing.assert_allclose(curve.alpha, wanted["alpha"], rtol=1e-9, atol=ROUNDING)
    np.testing.assert_allclose(curve.mean_error, wanted["mean_error"], rtol=1e-9)
    np.testing.assert_allclose(curve.std_error, wanted["std_error"], rtol=1e-7)


@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_curve_is_that_of_refitting_everything(criterion: str, weighted: bool) -> None:
    X, y, w = make_data(20, criterion)
    w = w if weighted else np.ones(len(y))
    folds = list(KFold(4, shuffle=True, random_state=0).split(X))
    model = fit_curve(criterion, X, y, w, folds)
    assert model.pruning_.alpha.size > 5
    assert_same_curve(model.pruning_, slow_curve(make_model(criterion), X, y, w, folds))


def test_rows_of_no_weight_have_no_say() -> None:
    X, y, w = make_data(21, "squared_error")
    w[::3] = 0.0
    folds = list(KFold(3, shuffle=True, random_state=0).split(X))
    model = fit_curve("squared_error", X, y, w, folds)
    kept = [(train[w[train] > 0], test[w[test] > 0]) for train, test in folds]
    assert_same_curve(model.pruning_, slow_curve(make_model("squared_error"), X, y, w, kept))


@pytest.mark.parametrize(
    "cv", [ShuffleSplit(3, test_size=0.2, random_state=0), ShuffleSplit(1, test_size=0.5, random_state=1)], ids=str
)
def test_the_error_is_a_mean_over_the_rows_tested(cv: Any) -> None:
    """A splitter may test a row twice, or never."""
    X, y, w = make_data(22, "squared_error")
    model = fit_curve("squared_error", X, y, w, cv)
    assert_same_curve(model.pruning_, slow_curve(make_model("squared_error"), X, y, w, list(cv.split(X))))


# --- the choice ------------------------------------------------------------------------------------------------------


def test_one_standard_error_rule() -> None:
    """The smallest tree within one standard error of the best; the best is the smallest of equally good ones."""
    n_smaller = 0
    for seed in range(6):
        X, y, w = make_data(30 + seed, "squared_error")
        model = make_model("squared_error", ccp_alpha="cv", cv=5, random_state=seed).fit(X, y, sample_weight=w)
        curve = model.pruning_
        least = curve.mean_error.min()
        assert curve.best == np.flatnonzero(curve.mean_error == least)[-1]
        within = [k for k in range(curve.alpha.size) if curve.mean_error[k] <= least + curve.std_error[curve.best]]
        assert curve.chosen == max(within, key=lambda k: (-curve.n_leaves[k], k))
        n_smaller += curve.chosen > curve.best
        full = make_model("squared_error").fit(X, y, sample_weight=w).tree_.arrays
        cut = prune(full, curve.alpha[curve.chosen])
        assert model.get_n_leaves() == cut.n_leaves == curve.n_leaves[curve.chosen]
        np.testing.assert_array_equal(model.tree_.arrays.value, cut.value)
    assert n_smaller > 0


def test_noise_is_pruned_to_the_root_and_a_step_is_kept() -> None:
    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(200, 3)), rng.normal(size=200)
    model = DecisionTreeRegressor(ccp_alpha="cv", random_state=0)
    assert model.fit(X, noise).get_n_leaves() == 1
    assert model.fit(X, 3.0 * (X[:, 1] > 0.2) + 0.5 * noise).get_n_leaves() == 2
    assert abs(model.tree_.threshold[0] - 0.2) < 0.1
