"""What the parameters of classification and regression trees do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.typing import NDArray
from sklearn.model_selection import KFold
from sklearn.utils import compute_sample_weight

from committee import DecisionTreeClassifier, DecisionTreeRegressor
from committee.records.tree import LEAF, Tree
from committee.trees import training

Floats = NDArray[np.float64]
Tabled = tuple[Floats, NDArray[Any]]

REGRESSION = ["squared_error", "absolute_error", "poisson"]


def make_data(seed: int = 0, n: int = 200, d: int = 4) -> Tabled:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X[:, 0] + np.sin(2 * X[:, 1]) + 0.5 * rng.normal(size=n) + 5


def make_classes(seed: int = 0, n_classes: int = 2, **shape: int) -> Tabled:
    X, y = make_data(seed, **shape)
    return X, np.digitize(y, np.quantile(y, np.linspace(0, 1, n_classes + 1)[1:-1]))


def assert_same_tree(a: Any, b: Any) -> None:
    for name in Tree._fields:
        np.testing.assert_array_equal(getattr(a.tree_.arrays, name), getattr(b.tree_.arrays, name), err_msg=name)


def are_equal(a: Any, b: Any) -> bool:
    return np.array_equal(a.tree_.threshold, b.tree_.threshold) and np.array_equal(a.tree_.feature, b.tree_.feature)


def paths(tree: Tree, node: int = 0, above: tuple[int, ...] = ()) -> list[set[int]]:
    """The features on the way to each leaf."""
    if tree.feature[node] == LEAF:
        return [set(above)]
    here, left = (*above, int(tree.feature[node])), int(tree.left[node])
    return paths(tree, left, here) + paths(tree, left + 1, here)


# --- classes, labels, probabilities ----------------------------------------------------------------------------------


def test_labels_and_probabilities() -> None:
    X, y = make_classes(n_classes=3)
    labels = np.array(["low", "middle", "high"])[y]
    model = DecisionTreeClassifier(min_samples_leaf=10).fit(X, labels)
    assert model.classes_.tolist() == ["high", "low", "middle"]
    assert (model.n_classes_, model.n_outputs_, model.n_features_in_) == (3, 1, 4)
    shares = model.predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-14)
    np.testing.assert_array_equal(model.predict(X), model.classes_[shares.argmax(axis=1)])
    leaves = model.apply(X)
    for leaf in np.unique(leaves):
        inside = labels[leaves == leaf]
        expected = [np.mean(inside == name) for name in model.classes_]
        np.testing.assert_allclose(shares[leaves == leaf][0], expected, rtol=1e-14)
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(model.predict_log_proba(X), np.log(shares))
    assert np.isneginf(model.predict_log_proba(X)).any()


@pytest.mark.parametrize("labels", [[-1, 1], [False, True], [2**40, 2**41], ["a", "b"]], ids=str)
def test_two_classes_of_any_kind(labels: list[Any]) -> None:
    X, y = make_classes()
    named = np.array(labels)[y]
    model = DecisionTreeClassifier().fit(X, named)
    assert model.classes_.dtype.kind == named.dtype.kind
    np.testing.assert_array_equal(model.predict(X), named)


def test_one_class_is_a_leaf() -> None:
    model = DecisionTreeClassifier().fit([[1.0], [2.0]], ["only", "only"])
    assert model.get_n_leaves() == 1
    assert model.predict([[9.0]]).tolist() == ["only"]
    assert model.predict_proba([[9.0]]).tolist() == [[1.0]]


@pytest.mark.parametrize("class_weight", ["balanced", {0: 0.5, 1: 4.0, 2: 1.0}, {2: 7}], ids=str)
def test_class_weight_is_a_weight_of_rows(class_weight: Any) -> None:
    X, y = make_classes(n_classes=3)
    w = np.random.default_rng(0).integers(1, 5, len(y)) / 2
    by_class = DecisionTreeClassifier(class_weight=class_weight, max_depth=5).fit(X, y, sample_weight=w)
    if class_weight == "balanced":  # by their weights, not by their numbers
        weights = w * (w.sum() / (3 * np.bincount(y, w))).astype(np.float32)[y]
    else:
        weights = w * compute_sample_weight(class_weight, y)
    assert_same_tree(by_class, DecisionTreeClassifier(max_depth=5).fit(X, y, sample_weight=weights))
    assert not are_equal(by_class, DecisionTreeClassifier(max_depth=5).fit(X, y, sample_weight=w))


@pytest.mark.parametrize(
    "wrap", [list, pd.Series, pl.Series, lambda y: y[:, None].tolist()], ids=["list", "pandas", "polars", "column"]
)
@pytest.mark.filterwarnings("ignore:A column-vector y was passed")
def test_class_weight_of_labels_in_any_container(wrap: Callable[[NDArray[Any]], Any]) -> None:
    X, y = make_classes()
    labels = np.array(["no", "yes"])[y]
    plain = DecisionTreeClassifier(class_weight={"no": 3.0}, max_depth=4).fit(X, labels)
    assert_same_tree(DecisionTreeClassifier(class_weight={"no": 3.0}, max_depth=4).fit(X, wrap(labels)), plain)


def test_other_names_of_criteria() -> None:
    X, y = make_classes(n_classes=3)
    one = DecisionTreeClassifier(criterion="log_loss").fit(X, y)
    assert_same_tree(one, DecisionTreeClassifier(criterion="entropy").fit(X, y))
    X, y = make_data()
    two = DecisionTreeRegressor(criterion="friedman_mse").fit(X, y)
    assert_same_tree(two, DecisionTreeRegressor(criterion="squared_error").fit(X, y))


# --- leaf values -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", REGRESSION)
def test_leaves_predict_with_the_mean_or_median(criterion: str) -> None:
    X, y = make_data()
    w = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    model = DecisionTreeRegressor(criterion=criterion, min_samples_leaf=7).fit(X, y, sample_weight=w)
    leaves, predictions = model.apply(X), model.predict(X)
    for leaf in np.unique(leaves):
        rows = leaves == leaf
        repeated = np.repeat(y[rows], w[rows].astype(int))
        expected = np.median(repeated) if criterion == "absolute_error" else repeated.mean()
        np.testing.assert_allclose(predictions[rows], expected, rtol=1e-13)


@pytest.mark.parametrize("shift", [0.0, 1e6, -1e9])
def test_targets_far_from_zero_keep_their_splits(shift: float) -> None:
    """Multiples of 2^-16 plus 1e9 are exact in float64: only the arithmetic of the engine could lose them."""
    X, y = make_data()
    y = np.round(y * 2**16) / 2**16
    plain = DecisionTreeRegressor(max_depth=6).fit(X, y)
    moved = DecisionTreeRegressor(max_depth=6).fit(X, y + shift)
    assert are_equal(plain, moved)
    np.testing.assert_allclose(moved.predict(X) - shift, plain.predict(X), atol=1e-15 * abs(shift) + 1e-13)


@pytest.mark.parametrize("scale", [2.0**-200, 2.0**-30, 2.0**30, 2.0**200])
@pytest.mark.parametrize("criterion", REGRESSION)
def test_the_unit_of_the_target_does_not_matter(criterion: str, scale: float) -> None:
    X, y = make_data()
    plain = DecisionTreeRegressor(criterion=criterion, max_depth=3).fit(X, y)
    scaled = DecisionTreeRegressor(criterion=criterion, max_depth=3).fit(X, y * scale)
    assert are_equal(plain, scaled)
    np.testing.assert_allclose(scaled.predict(X) / scale, plain.predict(X), rtol=1e-12)


@pytest.mark.parametrize("criterion", REGRESSION)
def test_an_outlier_without_weight_changes_nothing(criterion: str) -> None:
    X, y = make_data()
    w = np.ones(len(y))
    w[7] = 0.0
    model = DecisionTreeRegressor(criterion=criterion, max_depth=5)
    plain = model.fit(X, y, sample_weight=w).tree_.arrays
    y = y.copy()
    y[7] = 1e30
    other = model.fit(X, y, sample_weight=w).tree_.arrays
    np.testing.assert_array_equal(other.feature, plain.feature)
    np.testing.assert_array_equal(other.threshold, plain.threshold)
    np.testing.assert_allclose(other.value, plain.value, rtol=1e-12)


# --- splitters -------------------------------------------------------------------------------------------------------


def test_auto_is_exact_for_few_rows_and_binned_for_many(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = make_data(n=600)
    exact, binned = (DecisionTreeRegressor(splitter=name).fit(X, y) for name in ("best", "binned"))
    assert not are_equal(exact, binned)
    monkeypatch.setattr(training, "EXACT_ROWS", 600)
    assert_same_tree(DecisionTreeRegressor().fit(X, y), exact)
    monkeypatch.setattr(training, "EXACT_ROWS", 599)
    assert_same_tree(DecisionTreeRegressor().fit(X, y), binned)


@pytest.mark.parametrize("max_bins", [2, 5, 40])
def test_a_column_is_cut_at_few_places(max_bins: int) -> None:
    X, y = make_data(n=500)
    tree = DecisionTreeRegressor(splitter="binned", max_bins=max_bins).fit(X, y).tree_.arrays
    for f in range(4):
        ranks = {int(np.count_nonzero(X[:, f] <= t)) for t in tree.threshold[tree.feature == f]}
        # a node may put its threshold anywhere in a gap that its rows leave: count cuts by the bins they separate
        bins = {round(rank / (500 / max_bins)) for rank in ranks}
        assert len(bins) <= max_bins + 1


def test_random_splits_are_drawn_within_the_node() -> None:
    X, y = make_data(n=300)
    trees = [DecisionTreeRegressor(splitter="random", random_state=seed).fit(X, y) for seed in (0, 0, 1)]
    assert_same_tree(trees[0], trees[1])
    assert not are_equal(trees[0], trees[2])
    tree = trees[0].tree_.arrays
    inside = trees[0].decision_path(X).toarray().astype(bool)
    for node in np.flatnonzero(~tree.is_leaf):
        column = X[inside[:, node], tree.feature[node]]
        assert column.min() <= tree.threshold[node] < column.max()
    assert trees[0].get_n_leaves() == 300
    best = DecisionTreeRegressor(splitter="best", max_depth=3).fit(X, y).score(X, y)
    assert best > DecisionTreeRegressor(splitter="random", max_depth=3, random_state=0).fit(X, y).score(X, y)


def test_random_thresholds_are_uniform() -> None:
    """A root between 0 and 1 drawn 400 times: mean 1/2, standard error 1 / sqrt(12 * 400) = 0.0144."""
    X, y = np.array([[0.0], [1.0]]), [0.0, 1.0]
    model = DecisionTreeRegressor(splitter="random")
    drawn = [model.set_params(random_state=seed).fit(X, y).tree_.threshold[0] for seed in range(400)]
    assert abs(np.mean(drawn) - 0.5) < 4 * 0.0144
    assert min(drawn) < 0.05
    assert max(drawn) > 0.95


@pytest.mark.parametrize(
    ("max_features", "resolved"),
    [(None, 10), (1, 1), (7, 7), (99, 10), (0.25, 2), (1.0, 10), (0.01, 1), ("sqrt", 3), ("log2", 3)],
    ids=str,
)
def test_max_features(max_features: Any, resolved: int) -> None:
    X, y = make_data(d=10)
    model = DecisionTreeRegressor(max_features=max_features, random_state=0).fit(X, y)
    assert model.max_features_ == resolved
    if resolved < 10:
        others = [DecisionTreeRegressor(max_features=max_features, random_state=s).fit(X, y) for s in range(4)]
        assert_same_tree(model, others[0])
        assert not all(are_equal(model, other) for other in others)


def test_a_root_of_one_feature_is_any_of_them() -> None:
    """Each of 5 equally often: 300 draws, standard error of a count sqrt(300 * 0.2 * 0.8) = 6.9."""
    X, y = make_data(d=5, n=40)
    model = DecisionTreeRegressor(max_features=1, max_depth=1)
    roots = [model.set_params(random_state=seed).fit(X, y).tree_.feature[0] for seed in range(300)]
    counts = np.bincount(roots, minlength=5)
    assert np.all(np.abs(counts - 60) < 4 * 6.9)


def test_constant_features_do_not_use_up_max_features() -> None:
    X, y = make_data(d=4)
    X[:, 1:] = 7.0
    model = DecisionTreeRegressor(max_features=1, random_state=0).fit(X, y)
    assert model.get_n_leaves() == len(y)
    assert model.feature_importances_.tolist() == [1.0, 0.0, 0.0, 0.0]


# --- constraints -----------------------------------------------------------------------------------------------------


def sweep(model: Any, X: Floats, f: int) -> Floats:
    """Answers for every row along a grid of feature f: [row, grid]."""
    answer = model.predict if hasattr(model, "criterion") and not hasattr(model, "classes_") else None
    grid = np.linspace(-3, 3, 41)
    out = np.empty((len(X), grid.size))
    for k, value in enumerate(grid):
        moved = X.copy()
        moved[:, f] = value
        out[:, k] = answer(moved) if answer else model.predict_proba(moved)[:, 1]
    return out


@pytest.mark.parametrize(
    "limits", [{}, {"max_leaf_nodes": 25}, {"splitter": "binned"}, {"splitter": "random"}], ids=str
)
@pytest.mark.parametrize("criterion", ["gini", "entropy", *REGRESSION])
def test_monotone_constraints_hold_everywhere(criterion: str, limits: dict[str, Any]) -> None:
    """Not only at the training rows; the free tree breaks them."""
    is_class = criterion in ("gini", "entropy")
    X, y = make_classes(3, n=150) if is_class else make_data(3, n=150)
    cls = DecisionTreeClassifier if is_class else DecisionTreeRegressor
    params = {"criterion": criterion, "random_state": 0, **limits}
    model = cls(monotonic_cst=[1, -1, 0, 0], **params).fit(X, y)
    assert np.all(np.diff(sweep(model, X, 0), axis=1) >= -1e-12)
    assert np.all(np.diff(sweep(model, X, 1), axis=1) <= 1e-12)
    free = cls(**params).fit(X, y)
    assert np.any(np.diff(sweep(free, X, 1), axis=1) > 1e-6)


def test_constraints_by_name_are_those_by_position() -> None:
    X, y = make_data()
    frame = pd.DataFrame(X, columns=list("abcd"))
    named = DecisionTreeRegressor(monotonic_cst={"b": -1, "a": 1}, interaction_cst=[["a", "b"], ["c"]]).fit(frame, y)
    placed = DecisionTreeRegressor(monotonic_cst=[1, -1, 0, 0], interaction_cst=[[0, 1], [2]]).fit(X, y)
    assert_same_tree(named, placed)


@pytest.mark.parametrize(
    ("interaction_cst", "allowed"),
    [
        ([[0, 1], [2, 3]], [{0, 1}, {2, 3}]),
        ([[0, 1], [1, 2]], [{0, 1}, {1, 2}, {3}]),
        ("no_interactions", [{0}, {1}, {2}, {3}]),
        ("pairwise", [{i, j} for i in range(4) for j in range(i)]),
    ],
    ids=str,
)
def test_features_meet_only_as_allowed(interaction_cst: Any, allowed: list[set[int]]) -> None:
    X, y = make_data()
    y = y + X[:, 2] * X[:, 3] + X[:, 0] * X[:, 2]
    met = paths(DecisionTreeRegressor(interaction_cst=interaction_cst).fit(X, y).tree_.arrays)
    assert all(any(path <= group for group in allowed) for path in met)
    free = paths(DecisionTreeRegressor().fit(X, y).tree_.arrays)
    assert not all(any(path <= group for group in allowed) for path in free)


def test_constraints_are_rejected_where_they_make_no_sense() -> None:
    X, y = make_classes(n_classes=3)
    with pytest.raises(ValueError, match="multiclass"):
        DecisionTreeClassifier(monotonic_cst=[1, 0, 0, 0]).fit(X, y)
    frame = pd.DataFrame({"a": X[:, 0], "c": pd.Categorical(y)})
    with pytest.raises(ValueError, match="categorical"):
        DecisionTreeRegressor(monotonic_cst={"c": 1}).fit(frame, y)
    with pytest.raises(ValueError, match="4 features"):
        DecisionTreeRegressor(monotonic_cst=[1, 0]).fit(X, y)
    with pytest.raises(ValueError, match="only -1, 0 or 1"):
        DecisionTreeRegressor(monotonic_cst=[2, 0, 0, 0]).fit(X, y)
    with pytest.raises(ValueError, match="'z'"):
        DecisionTreeRegressor(interaction_cst=[["z"]]).fit(frame[["a"]], y)


# --- missing values and categories -----------------------------------------------------------------------------------


def test_missing_values_may_be_the_signal() -> None:
    X, y = make_data(n=100)
    X[:, 2] = np.where(y > 5, np.nan, X[:, 2])
    model = DecisionTreeRegressor(max_depth=1).fit(X, y > 5)
    assert model.tree_.feature[0] == 2
    assert model.score(X, y > 5) == 1.0
    assert model.has_missing_.tolist() == [False, False, True, False]
    assert model.predict([[0.0, 0.0, np.nan, 0.0], [0.0, 0.0, 1e300, 0.0], [0.0, 0.0, -1e300, 0.0]]).tolist() == [
        1,
        0,
        0,
    ]


def test_a_column_of_nothing_but_missing_values_is_no_feature() -> None:
    X, y = make_data()
    with_it = np.column_stack([np.full(len(X), np.nan), X])
    for splitter in ("best", "binned", "random"):
        params: dict[str, Any] = {"splitter": splitter, "random_state": 0, "max_depth": 6}
        model = DecisionTreeRegressor(**params).fit(with_it, y)
        assert model.feature_importances_[0] == 0.0
        if splitter != "random":  # draws are by position
            np.testing.assert_array_equal(model.predict(with_it), DecisionTreeRegressor(**params).fit(X, y).predict(X))


def test_categories_are_sets() -> None:
    """Which go left is anybody's choice of order: no threshold on the codes could do it with one split."""
    rng = np.random.default_rng(0)
    c = rng.integers(0, 12, 400)
    high = np.isin(c, [0, 3, 4, 7, 11])
    y = 10.0 * high + 0.1 * rng.normal(size=400)
    frame = pd.DataFrame({"c": pd.Categorical(c)})
    model = DecisionTreeRegressor(max_depth=1).fit(frame, y)
    assert model.score(frame, y) > 0.99
    coded = DecisionTreeRegressor(max_depth=1).fit(c[:, None], y)
    assert coded.score(c[:, None], y) < 0.5
    chosen = DecisionTreeRegressor(max_depth=1, categorical_features=[0]).fit(c[:, None], y)
    np.testing.assert_array_equal(chosen.predict(c[:, None]), model.predict(frame))


def test_many_categories_share_the_last_code() -> None:
    """254 are kept, the 46 rarest answer together."""
    c = np.concatenate([np.repeat(np.arange(254), 3), np.arange(254, 300)])
    y = (c % 2).astype(float)
    y[c >= 254] = 5.0
    model = DecisionTreeRegressor(categorical_features=[0]).fit(c[:, None], y)
    assert model.columns_.n_codes(0) == 255
    np.testing.assert_array_equal(model.predict(c[:, None]), y)
    assert model.get_n_leaves() == 3


def test_an_unknown_category_goes_where_missing_values_go() -> None:
    c = np.array(["a", "b", "c", "d"] * 25, dtype=object)
    c[::10] = None
    y = np.where(pd.isna(c), 9.0, np.isin(c, ["a", "c"]))
    model = DecisionTreeRegressor().fit(pd.DataFrame({"c": pd.Categorical(c)}), y)
    asked = pd.DataFrame({"c": pd.Categorical(["a", None, "z"])})
    assert model.predict(asked).tolist() == [1.0, 9.0, 9.0]


# --- size, pruning, small data ---------------------------------------------------------------------------------------


def test_depth_leaves_and_paths_agree() -> None:
    X, y = make_data()
    model = DecisionTreeRegressor(max_depth=5, min_samples_leaf=3).fit(X, y)
    path = model.decision_path(X)
    assert path.shape == (len(X), model.tree_.node_count)
    assert path.sum(axis=1).max() == model.get_depth() + 1 == 6
    assert np.unique(model.apply(X)).size == model.get_n_leaves()
    np.testing.assert_array_equal(model.tree_.arrays.value[model.apply(X), 0], model.predict(X))


def test_a_larger_price_never_gives_a_larger_tree() -> None:
    X, y = make_data()
    alphas = [0.0, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0]
    sizes = [DecisionTreeRegressor(ccp_alpha=alpha).fit(X, y).get_n_leaves() for alpha in alphas]
    assert sizes == sorted(sizes, reverse=True)
    assert (sizes[0], sizes[-1]) == (len(y), 1)


def test_pruning_by_cross_validation_is_reproducible() -> None:
    X, y = make_classes(n_classes=3)
    fits = [DecisionTreeClassifier(ccp_alpha="cv", cv=5, random_state=seed).fit(X, y) for seed in (0, 0, 1)]
    for a, b in zip(fits[0].pruning_, fits[1].pruning_, strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(fits[0].pruning_.mean_error, fits[2].pruning_.mean_error)
    own = DecisionTreeClassifier(ccp_alpha="cv", cv=KFold(5), random_state=0).fit(X, y)
    assert own.pruning_.mean_error.shape == fits[0].pruning_.mean_error.shape
    assert 1 < own.get_n_leaves() < 20


@pytest.mark.parametrize("n_classes", [2, 5])
def test_folds_share_out_the_classes_evenly(n_classes: int) -> None:
    """Ten rows of each class over ten folds: every training set knows every class, and the full tree never errs."""
    y = np.repeat(np.arange(n_classes), 10)
    model = DecisionTreeClassifier(ccp_alpha="cv", cv=10, random_state=3).fit(y[:, None].astype(float), y)
    assert model.pruning_.mean_error[0] == 0.0
    assert model.get_n_leaves() == n_classes


def test_the_pruning_path_leaves_the_estimator_alone() -> None:
    X, y = make_data()
    model = DecisionTreeRegressor(max_leaf_nodes=9)
    path = model.cost_complexity_pruning_path(X, y)
    assert vars(model).keys() == model.get_params().keys()
    assert len(path.ccp_alphas) == len(path.impurities)
    assert path.impurities[-1] == pytest.approx(np.var(y), rel=1e-12)
    model.fit(X, y)
    before = dict(vars(model))
    model.cost_complexity_pruning_path(X[:, :2], y)
    assert all(vars(model)[name] is before[name] for name in before)


@pytest.mark.parametrize("ccp_alpha", [0.0, 0.1, "cv"], ids=str)
@pytest.mark.parametrize("splitter", ["best", "binned", "random"])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_few_rows(n: int, splitter: str, ccp_alpha: Any) -> None:
    if ccp_alpha == "cv" and n == 1:
        with pytest.raises(ValueError, match="two rows"):
            DecisionTreeRegressor(ccp_alpha="cv").fit([[1.0]], [2.0])
        return
    X, y = np.arange(float(n))[:, None], np.arange(float(n)) * 2
    model = DecisionTreeRegressor(splitter=splitter, ccp_alpha=ccp_alpha, random_state=0).fit(X, y)
    assert np.all((model.predict(X) >= 0) & (model.predict(X) <= y.max()))
    if ccp_alpha == 0.0:
        np.testing.assert_array_equal(model.predict(X), y)


def test_nothing_to_split_on() -> None:
    y = np.array([1.0, 2.0, 6.0])
    for X in (np.ones((3, 2)), np.full((3, 2), np.nan)):
        model = DecisionTreeRegressor().fit(X, y)
        assert model.get_n_leaves() == 1
        assert model.predict(X).tolist() == [3.0, 3.0, 3.0]
        assert model.feature_importances_.tolist() == [0.0, 0.0]


def test_an_outside_learner_takes_more_outputs() -> None:
    X, y = make_data()
    with pytest.raises(ValueError, match="MultiOutputRegressor"):
        DecisionTreeRegressor().fit(X, np.column_stack([y, y]))
