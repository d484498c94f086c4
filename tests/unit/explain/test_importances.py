"""Importances by splits and by permutation: sums done by hand, and every kind of table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import make_scorer, mean_absolute_error

from committee import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)
from committee.datasets import load_dataset
from committee.explain import permutation_importances, tree_importances
from committee.explain.importances import draw_donors, scaled_to_100
from committee.records.ensemble import TreeSum
from committee.tabular.schema import Columns


@pytest.fixture(scope="module")
def ozone() -> Any:
    pytest.importorskip("pandas")
    return load_dataset("ozone", as_frame=True)


# ---- By splits ------------------------------------------------------------------------------------------------------


def by_hand(trees: Any, weight: Any, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean fall per tree, and number of splits, of every feature."""
    decreases, counts = np.zeros(n_features), np.zeros(n_features)
    for tree, a in zip(trees, weight, strict=True):
        for node in range(tree.n_nodes):
            if tree.left[node] >= 0:
                decreases[tree.feature[node]] += abs(a) * tree.gain[node]
                counts[tree.feature[node]] += 1
    return decreases / np.abs(weight).sum(), counts


def models() -> list[Any]:
    return [
        DecisionTreeRegressor(max_depth=4),
        GradientBoostingRegressor(n_estimators=7),
        GradientBoostingRegressor(n_estimators=3, loss="poisson"),
        AdaBoostRegressor(DecisionTreeRegressor(max_depth=3), n_estimators=4),
        AdaBoostRegressor(DecisionTreeRegressor(max_depth=3), n_estimators=4, combine="mean"),
    ]


def trees_of(model: Any) -> tuple[list[Any], np.ndarray]:
    if isinstance(model, DecisionTreeRegressor):
        return [model.tree_.arrays], np.ones(1)
    if isinstance(model, GradientBoostingRegressor | GradientBoostingClassifier):
        return model.trees_, np.ones(len(model.trees_))
    return [member.tree for member in model.members_], np.asarray(model.coefficients_)


@pytest.mark.parametrize("model", models(), ids=str)
def test_decreases_are_summed_per_tree_and_averaged(model, ozone):
    model.fit(ozone.X, ozone.y)
    trees, weight = trees_of(model)
    decreases, counts = by_hand(trees, weight, ozone.X.shape[1])
    gain, frequency = tree_importances(model), tree_importances(model, "frequency")
    np.testing.assert_allclose(gain.raw, decreases, rtol=1e-12)
    np.testing.assert_allclose(gain.values, 100 * decreases / decreases.max(), rtol=1e-12)
    np.testing.assert_allclose(frequency.raw, counts / counts.sum(), rtol=1e-12)
    assert gain.values.max() == frequency.values.max() == 100.0
    assert gain.names == frequency.names == tuple(ozone.X.columns)
    assert (gain.kind, frequency.kind) == ("gain", "frequency")


@pytest.mark.parametrize(
    "model", [DecisionTreeClassifier(max_depth=5), GradientBoostingClassifier(n_estimators=5)], ids=str
)
def test_shares_of_one_are_those_of_the_estimator(model):
    data = load_dataset("glass")
    model.fit(data.X, data.y)
    raw = tree_importances(model).raw
    np.testing.assert_allclose(raw / raw.sum(), model.feature_importances_, rtol=1e-9)


def test_a_vote_counts_its_trees_by_their_coefficients():
    data = load_dataset("sonar")
    model = AdaBoostClassifier(n_estimators=12).fit(data.X, data.y)
    trees, weight = [member.tree for member in model.members_], np.asarray(model.coefficients_)
    decreases, counts = by_hand(trees, weight, data.X.shape[1])
    np.testing.assert_allclose(tree_importances(model).raw, decreases, rtol=1e-12)
    np.testing.assert_allclose(tree_importances(model, "frequency").raw, counts / 12, rtol=1e-12)


def test_an_estimator_of_your_own_takes_part():
    class Sum(BaseEstimator):
        def fit(self, tree: Any) -> Sum:
            self.tree_, self.columns_ = tree, Columns(2, None, (None, None))
            return self

        def to_tree_sum(self) -> TreeSum:
            return TreeSum((self.tree_,) * 2, np.array([0, 0]), np.array([1.0, -3.0]), np.zeros(1))

    tree = DecisionTreeRegressor().fit([[0, 0], [0, 1], [1, 0], [1, 1]], [0.0, 0.0, 0.0, 4.0])
    own = Sum().fit(tree.tree_.arrays)
    np.testing.assert_allclose(tree_importances(own).raw, tree_importances(tree).raw)
    assert tree_importances(own).names == ("x[0]", "x[1]")


def test_a_tree_without_a_split_has_no_importances():
    tree = DecisionTreeRegressor().fit(np.zeros((3, 2)), [1.0, 2.0, 3.0])
    for kind in ("gain", "frequency"):
        assert tree_importances(tree, kind).values.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("backend", ["pandas", "polars"])
def test_frames_have_the_most_important_first(backend, ozone):
    pytest.importorskip(backend)
    model = DecisionTreeRegressor(max_depth=4).fit(ozone.X, ozone.y)
    frame = getattr(tree_importances(model), f"to_{backend}")()
    assert list(frame.columns) == ["feature", "importance", "raw"]
    assert next(iter(frame["feature"])) == "V8"
    assert list(frame["importance"]) == sorted(tree_importances(model).values.tolist(), reverse=True)


def test_what_has_no_trees_is_rejected():
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = X[:, 0] * X[:, 1] + X[:, 0] > 0
    with pytest.raises(TypeError, match=r"permutation_importances.*LogisticRegression is neither"):
        tree_importances(LogisticRegression().fit(X, y))
    with pytest.raises(TypeError, match="members that are not trees"):
        tree_importances(AdaBoostClassifier(LogisticRegression(), n_estimators=2).fit(X, y))
    booster = AdaBoostRegressor(LinearRegression(), n_estimators=2, random_state=0)
    booster.fit(X, X[:, 0] + 0.1 * X[:, 1] ** 2)
    with pytest.raises(TypeError, match="permutation_importances"):
        tree_importances(booster)
    with pytest.raises(NotFittedError):
        tree_importances(GradientBoostingRegressor())
    with pytest.raises(ValueError, match="kind must be 'gain' or 'frequency'"):
        tree_importances(DecisionTreeClassifier().fit(X, y), "cover")  # type: ignore[arg-type]


def test_scaling():
    assert scaled_to_100(np.array([1.0, 4.0, -2.0])).tolist() == [25.0, 100.0, -50.0]
    assert scaled_to_100(np.array([-1.0, 0.0])).tolist() == [0.0, 0.0]
    assert scaled_to_100(np.empty(0)).size == 0


# ---- By permutation -------------------------------------------------------------------------------------------------


def test_a_linear_model_falls_by_what_theory_says():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    model = LinearRegression().fit(X, 3 * X[:, 0] + X[:, 1])
    y = 3 * X[:, 0] + X[:, 1]
    result = permutation_importances(model, X, y, scoring="neg_mean_squared_error", n_repeats=20, random_state=1)
    # E (b x - b x')^2 = 2 b^2 var(x), with x' of another row
    np.testing.assert_allclose(result.mean, [18 * X[:, 0].var(), 2 * X[:, 1].var(), 0.0], atol=0.3)
    assert result.score == pytest.approx(0.0, abs=1e-20)
    assert result.values[0] == 100.0
    assert result.decreases.shape == (3, 20)
    np.testing.assert_allclose(result.mean, result.decreases.mean(axis=1))
    np.testing.assert_allclose(result.standard_error, result.decreases.std(axis=1, ddof=1) / np.sqrt(20))


def test_agrees_with_scikit_learn_within_the_error():
    data = load_dataset("ozone")
    X = np.nan_to_num(data.X)
    model = RandomForestRegressor(10, random_state=0).fit(X[::2], data.y[::2])
    ours = permutation_importances(model, X[1::2], data.y[1::2], n_repeats=30, random_state=0)
    theirs = permutation_importance(model, X[1::2], data.y[1::2], n_repeats=30, random_state=0)
    error = np.hypot(ours.standard_error, theirs.importances_std / np.sqrt(30))
    assert np.all(np.abs(ours.mean - theirs.importances_mean) <= 4.5 * error + 1e-12)


def tables() -> dict[str, Any]:
    pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    rng = np.random.default_rng(3)
    colour, size = rng.choice(["red", "green", "blue"], 120), rng.normal(size=120)
    frame = pd.DataFrame({"colour": pd.Categorical(colour), "size": size, "noise": rng.integers(0, 9, 120)})
    return {
        "pandas": frame,
        "shuffled index": frame.set_index(rng.permutation(120)),
        "polars": pl.from_pandas(frame),
        "arrow": pa.Table.from_pandas(frame),
    }


@pytest.mark.parametrize("kind", ["pandas", "shuffled index", "polars", "arrow"])
def test_frames_of_every_kind_give_the_same(kind):
    every = tables()
    X = every[kind]
    y = np.where(every["pandas"]["colour"] == "red", 2.0, 0.0) + every["pandas"]["size"].to_numpy()
    model = DecisionTreeRegressor(max_depth=5).fit(every[kind], y)
    result = permutation_importances(model, X, y, random_state=5)
    base = DecisionTreeRegressor(max_depth=5).fit(every["pandas"], y)
    np.testing.assert_array_equal(
        result.decreases, permutation_importances(base, every["pandas"], y, random_state=5).decreases
    )
    assert result.names == ("colour", "size", "noise")
    assert np.all(result.mean[:2] > 0.1)


def test_the_model_sees_the_table_with_one_column_exchanged():
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame(
        {"a": pd.Categorical(list("xyxyx")), "b": pd.array([1, 2, None, 4, 5], "Int64"), 7: np.arange(5.0)}
    )
    seen: list[Any] = []

    def score(_: Any, table: Any, y: Any) -> float:
        seen.append(table)
        return 0.0

    permutation_importances(DecisionTreeRegressor(), X, None, features=["a", ["b", 2]], n_repeats=1, scoring=score,
                            random_state=2)  # fmt: skip
    original, first, second = seen
    assert all((table.dtypes == X.dtypes).all() and list(table.columns) == list(X.columns) for table in seen)
    pd.testing.assert_frame_equal(original, X)
    pd.testing.assert_frame_equal(first[["b", 7]], X[["b", 7]])
    assert sorted(first["a"]) == sorted(X["a"])
    before, after = (list(zip(table["b"].fillna(-1), table[7], strict=True)) for table in (X, second))
    assert sorted(after) == sorted(before)  # rows of the group stay together
    assert after != before
    pd.testing.assert_series_equal(second["a"], X["a"])


def test_two_copies_of_a_feature_matter_only_together():
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    X, y = np.column_stack([x, x, rng.normal(size=300)]), x
    model = LinearRegression().fit(X, y)
    result = permutation_importances(model, X, y, features=[0, 1, [0, 1], [2]], random_state=0)
    assert result.names == ("x[0]", "x[1]", "x[0] + x[1]", "x[2]")
    assert result.mean[2] > 1.5 * result.mean[:2].sum()  # (b1 + b2)^2 against b1^2 + b2^2, b1 = b2
    assert result.mean[3] == pytest.approx(0.0, abs=1e-9)


def test_the_number_of_threads_changes_nothing():
    data = load_dataset("sonar")
    model = DecisionTreeClassifier(max_depth=4).fit(data.X, data.y)
    one, two = (permutation_importances(model, data.X, data.y, random_state=3, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one.decreases, two.decreases)
    assert np.any(one.decreases != permutation_importances(model, data.X, data.y, random_state=4).decreases)


def test_scores_of_all_kinds():
    data = load_dataset("ozone")
    model = DecisionTreeRegressor(max_depth=4).fit(data.X, data.y)
    by_name = permutation_importances(model, data.X, data.y, scoring="neg_mean_absolute_error", random_state=0)
    by_hand = permutation_importances(
        model, data.X, data.y, scoring=make_scorer(mean_absolute_error, greater_is_better=False), random_state=0
    )
    np.testing.assert_array_equal(by_name.decreases, by_hand.decreases)
    assert by_name.score == -mean_absolute_error(data.y, model.predict(data.X))
    single = permutation_importances(model, data.X, data.y, n_repeats=1, random_state=0)
    assert np.all(np.isnan(single.standard_error))


def test_donors_without_weights_are_a_permutation():
    rng = np.random.default_rng(0)
    for weight in (None, np.ones(50), np.full(50, 0.1)):
        assert sorted(draw_donors(rng, 50, weight)) == list(range(50))


def test_donors_with_weights_are_drawn_by_weight():
    rng, weight = np.random.default_rng(0), np.array([1.0, 2.0, 0.0, 5.0])
    drawn = np.array([draw_donors(rng, 4, weight) for _ in range(8000)])
    for taker in range(4):
        share = np.bincount(drawn[:, taker], minlength=4) / 8000
        np.testing.assert_allclose(share, weight / 8, atol=0.025)  # four standard errors
    assert not np.any(drawn == 2)


def test_a_weight_means_so_many_rows():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 2))
    y = X[:, 0] + X[:, 1] ** 2
    model, weight = DecisionTreeRegressor(max_depth=3).fit(X, y), rng.integers(0, 4, 60)
    options = {"n_repeats": 400, "random_state": 0, "scoring": "neg_mean_squared_error"}
    weighted = permutation_importances(model, X, y, sample_weight=weight, **options)
    repeated = permutation_importances(model, np.repeat(X, weight, axis=0), np.repeat(y, weight), **options)
    assert weighted.score == pytest.approx(repeated.score)
    error = np.hypot(weighted.standard_error, repeated.standard_error)
    assert np.all(np.abs(weighted.mean - repeated.mean) < 4 * error)


def test_frame_of_falls(ozone):
    model = DecisionTreeRegressor(max_depth=4).fit(ozone.X, ozone.y)
    result = permutation_importances(model, ozone.X, ozone.y, random_state=0)
    frame = result.to_pandas()
    assert list(frame.columns) == ["feature", "importance", "mean", "se"]
    assert frame["feature"][0] == "V8"
    np.testing.assert_array_equal(frame["mean"], np.sort(result.mean)[::-1])


def test_bad_requests_say_what_to_do():
    X, y = np.eye(4), np.arange(4.0)
    model = DecisionTreeRegressor().fit(X, y)
    with pytest.raises(ValueError, match="n_repeats must be at least 1, got 0"):
        permutation_importances(model, X, y, n_repeats=0)
    with pytest.raises(ValueError, match="columns without names"):
        permutation_importances(model, X, y, features=["a"])
    with pytest.raises(ValueError, match=r"no column 4 .* positions from -4 to 3"):
        permutation_importances(model, X, y, features=[4])
    with pytest.raises(ValueError, match="occurs twice"):
        permutation_importances(model, X, y, features=[[0, -4]])
    with pytest.raises(ValueError, match="is empty"):
        permutation_importances(model, X, y, features=[[]])
    with pytest.raises(TypeError, match="put it into a list"):
        permutation_importances(model, X, y, features="a")
    with pytest.raises(TypeError, match=r"names or positions of columns, not 1\.5"):
        permutation_importances(model, X, y, features=[[1.5]])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="Negative values in sample_weight"):
        permutation_importances(model, X, y, sample_weight=[-1, 1, 1, 1])
