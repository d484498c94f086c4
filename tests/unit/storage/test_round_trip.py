"""Every estimator of the catalog into a file and back: the same bits."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
import safetensors.numpy
import sklearn
from sklearn.base import clone, is_classifier
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression, LogisticRegression, Perceptron, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.utils import get_tags

import committee
from committee.catalog import CATALOG
from committee.storage import PredictionOnlyError, UnstorableError, inspect_model, load_model, save_model
from tests.contract.test_contract import LINEAR, SETTINGS, assert_same_fit, make_data, make_frames, same

PREDICTIONS = ("predict", "predict_proba", "decision_function", "score_samples", "transform")


def assert_same_answers(one: Any, other: Any, X: Any) -> None:
    names = [name for name in PREDICTIONS if hasattr(one, name)]
    assert names
    for name in names:
        assert same(getattr(one, name)(X), getattr(other, name)(X)), name


def fitted(estimator: Any) -> tuple[Any, Any]:
    X, y = make_data(estimator, n=120)
    X = X if get_tags(estimator).input_tags.allow_nan else np.nan_to_num(X)
    fresh: Any = clone(estimator)
    if "estimators" in estimator.get_params():  # those of the defaults are foreign: they go into a file on request only
        fresh.set_params(estimators=storable_members(is_classifier(estimator)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fresh.fit(X, y), X


def storable_members(is_class: bool) -> list[tuple[str, Any]]:
    tree: Any = committee.DecisionTreeClassifier if is_class else committee.DecisionTreeRegressor
    forest: Any = committee.RandomForestClassifier if is_class else committee.RandomForestRegressor
    line: Any = LogisticRegression() if is_class else Ridge()
    return [("tree", tree(max_depth=3)), ("forest", forest(5, random_state=0)), ("line", line)]


def test_every_entry_of_the_catalog_is_tried() -> None:
    assert {entry.name for entry in CATALOG} <= {type(estimator).__name__ for estimator in SETTINGS + LINEAR}


@pytest.mark.parametrize("estimator", SETTINGS + LINEAR, ids=repr)
def test_the_model_comes_back_bit_for_bit(estimator: Any, tmp_path: Path) -> None:
    model, X = fitted(estimator)
    path, again, small = tmp_path / "model.committee", tmp_path / "again.committee", tmp_path / "small.committee"
    info = save_model(model, path)
    other = load_model(path)
    assert_same_fit(model, other)
    assert same(model.get_params(deep=False), other.get_params(deep=False))
    assert_same_answers(model, other, X)
    save_model(other, again)
    assert again.read_bytes() == path.read_bytes()
    assert info.model_class.rpartition(".")[2] == type(model).__name__

    assert save_model(model, small, prediction_only=True).n_bytes <= info.n_bytes
    assert_same_answers(model, load_model(small), X)
    save_model(model, small, compact=True)
    assert_same_answers(model, load_model(small), X)
    save_model(model, small, prediction_only=True, compress=False)
    assert_same_answers(model, load_model(small, mmap=True), X)
    safetensors.numpy.load_file(small)  # any reader of the format can open it


def test_names_categories_and_history_come_back(tmp_path: Path) -> None:
    frames, y = make_frames()
    frame = frames["pandas"]
    model = committee.GradientBoostingRegressor(n_estimators=10, random_state=0).fit(frame, y)
    save_model(model, tmp_path / "m")
    other = load_model(tmp_path / "m")
    assert other.feature_names_in_.tolist() == ["town", "size", "age"]
    assert other.columns_ == model.columns_
    assert other.history_ == model.history_
    assert not other.history_.round.flags.writeable
    for kind in frames.values():
        assert_same_answers(model, other, kind)
    with pytest.raises(ValueError, match="feature names should match"):
        other.predict(frame[["size", "town", "age"]])


def test_labels_of_texts_bools_and_times(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(60, 2))
    code = (X[:, 0] > 0).astype(int)
    for labels in (
        ["ja", "nein, äöü \N{SNOWMAN}"],
        [False, True],
        [np.datetime64("2020-01-01"), np.datetime64("2021-01-01")],
    ):
        y = np.array(labels)[code]
        model = committee.DecisionTreeClassifier(max_depth=2)
        try:
            model.fit(X, y)
        except ValueError:  # times are no labels here
            continue
        save_model(model, tmp_path / "m")
        other = load_model(tmp_path / "m")
        assert same(model.classes_, other.classes_)
        assert_same_answers(model, other, X)
    objects = committee.DecisionTreeClassifier(max_depth=2).fit(X, np.array(["a", "b"], object)[code])
    save_model(objects, tmp_path / "m")
    assert same(objects.classes_.tolist(), load_model(tmp_path / "m").classes_.tolist())


def test_a_loaded_model_continues_to_fit(tmp_path: Path) -> None:
    X, y = make_data(committee.AdaBoostClassifier())
    for estimator in (
        committee.AdaBoostClassifier(n_estimators=5, warm_start=True, random_state=0),
        committee.RandomForestClassifier(4, warm_start=True, random_state=0),
        committee.GradientBoostingClassifier(n_estimators=4, early_stopping=False, warm_start=True, random_state=0),
    ):
        model = estimator.fit(X, y)
        save_model(model, tmp_path / "m")
        other = load_model(tmp_path / "m")
        for each in (model, other):
            each.set_params(n_estimators=8).fit(X, y)
        assert_same_fit(model, other)
    online = committee.OnlineBoostingClassifier(random_state=0).fit(np.nan_to_num(X[:100]), y[:100])
    save_model(online, tmp_path / "m")
    other = load_model(tmp_path / "m")
    for each in (online, other):
        each.partial_fit(np.nan_to_num(X[100:]), y[100:])
    assert_same_fit(online, other)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "member",
    [
        LogisticRegression(),
        make_pipeline(StandardScaler(), PolynomialFeatures(2), LogisticRegression(C=0.1)),
        GaussianNB(),
        LinearDiscriminantAnalysis(),
        Perceptron(),
        MLPClassifier((3,), max_iter=20, random_state=0),
    ],
    ids=lambda member: type(member).__name__,
)
def test_members_of_scikit_learn(member: Any, tmp_path: Path) -> None:
    X, y = make_data(committee.AdaBoostClassifier())
    X = np.nan_to_num(X)
    soft = {} if hasattr(member, "predict_proba") else {"combine": "vote"}
    model = committee.BaggingClassifier(member, n_estimators=3, random_state=0, **soft).fit(X, y)
    save_model(model, tmp_path / "m")
    other = load_model(tmp_path / "m")
    if not isinstance(member, MLPClassifier):  # whose optimiser cannot be compared
        assert_same_fit(model, other)
    assert_same_answers(model, other, X)


def test_members_of_our_own_and_regressors(tmp_path: Path) -> None:
    X, y = make_data(committee.BaggingRegressor())
    X = np.nan_to_num(X)
    for member in (committee.SVR(), committee.GradientBoostingRegressor(n_estimators=3), Ridge(), LinearRegression()):
        model = committee.BaggingRegressor(member, n_estimators=2, random_state=0).fit(X, y)
        save_model(model, tmp_path / "m")
        assert_same_fit(model, load_model(tmp_path / "m"))


def test_kernels_and_random_states_as_parameters(tmp_path: Path) -> None:
    from committee.svm.kernel_functions import Gaussian, Linear, Polynomial

    X, y = make_data(committee.SVC())
    X = np.nan_to_num(X)
    kernel = 0.5 * Gaussian(width=2.0) + Linear() * Polynomial(2, coef0=1.0)
    model = committee.SVC(kernel=kernel).fit(X, y)
    save_model(model, tmp_path / "m")
    assert_same_answers(model, load_model(tmp_path / "m"), X)
    for state in (np.random.RandomState(3), np.random.default_rng(4)):
        model = committee.RandomForestClassifier(
            2, random_state=state, class_weight={0: 1.0, 1: np.float64(2), 2: 1}
        ).fit(X, y)
        save_model(model, tmp_path / "m")
        other = load_model(tmp_path / "m")
        assert other.random_state.random() == state.random()
        assert other.class_weight == model.class_weight


def test_several_outputs(tmp_path: Path) -> None:
    X, y = make_data(committee.RandomForestRegressor())
    model = committee.RandomForestRegressor(3, random_state=0).fit(X, np.column_stack([y, -y]))
    for only in (False, True):
        save_model(model, tmp_path / "m", prediction_only=only)
        assert_same_answers(model, load_model(tmp_path / "m"), X)


def test_requests_for_metadata_and_outputs_come_back(tmp_path: Path) -> None:
    X, y = make_data(committee.DecisionTreeClassifier())
    with sklearn.config_context(enable_metadata_routing=True):
        model = committee.DecisionTreeClassifier(max_depth=2).set_fit_request(sample_weight=True).fit(X, y)
        save_model(model, tmp_path / "m")
        assert load_model(tmp_path / "m").get_metadata_routing().fit.requests == {"sample_weight": True}
    frame = pd.DataFrame(np.nan_to_num(X), columns=list("abcdef"))
    pipeline = make_pipeline(StandardScaler(), committee.DecisionTreeClassifier(max_depth=2)).set_output(
        transform="pandas"
    )
    pipeline.fit(frame, y)
    save_model(pipeline, tmp_path / "m")
    other = load_model(tmp_path / "m")
    assert_same_answers(pipeline, other, frame)
    assert other[0].transform(frame).equals(pipeline[0].transform(frame))


def test_a_prediction_only_forest_is_small_and_says_what_it_lost(tmp_path: Path) -> None:
    X, y = make_data(committee.RandomForestRegressor(), n=2000)
    model = committee.RandomForestRegressor(20, random_state=0).fit(X, y)
    whole = save_model(model, tmp_path / "whole", compress=False)
    small = save_model(model, tmp_path / "small", prediction_only=True, compress=False)
    n_nodes = sum(tree.n_nodes for tree in model.trees_)
    n_leaves = sum(tree.n_leaves for tree in model.trees_)
    assert small.n_bytes < 20 * n_nodes + 8 * n_leaves + 60_000 < whole.n_bytes / 2
    assert inspect_model(tmp_path / "small").is_prediction_only
    other = load_model(tmp_path / "small", mmap=True)
    assert same(list(model.staged_predict(X[:50])), list(other.staged_predict(X[:50])))
    assert same(model.apply(X), other.apply(X))
    assert len(other) == 20
    for lost in (lambda: other.feature_importances_, lambda: other[0].tree_.impurity):
        with pytest.raises(PredictionOnlyError, match="prediction only"):
            lost()
    boosted = committee.AdaBoostClassifier(n_estimators=5, random_state=0).fit(X, y > 2)
    save_model(boosted, tmp_path / "small", prediction_only=True)
    with pytest.raises(PredictionOnlyError, match="members are packed"):
        list(load_model(tmp_path / "small"))


def test_a_mapped_model_leaves_the_file_alone(tmp_path: Path) -> None:
    X, y = make_data(committee.DecisionTreeRegressor())
    model = committee.DecisionTreeRegressor(max_depth=3).fit(X, y)
    save_model(model, tmp_path / "m", compress=False)
    before = (tmp_path / "m").read_bytes()
    mapped = load_model(tmp_path / "m", mmap=True)
    mapped.tree_.arrays.value[:] = 0.0  # in this process only
    assert np.all(mapped.predict(X) == 0.0)
    assert (tmp_path / "m").read_bytes() == before
    save_model(model, tmp_path / "m")  # replaces the file under the mapped model
    assert np.all(mapped.predict(X) == 0.0)


@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_few_numbers_are_stored_without_zeros(tmp_path: Path, order: Any) -> None:
    X, _ = make_data(committee.RandomForestClassifier(), n=400)
    model = committee.RandomForestClassifier(3, random_state=0).fit(X, np.arange(400) % 25)
    thin = np.zeros((301, 7), order=order)
    thin[5, 2], thin[300, 6], thin[0, 0] = 1.0, np.nan, -0.0
    model.kept_ = thin
    save_model(model, tmp_path / "m")
    again = load_model(tmp_path / "m")
    assert again.kept_.tobytes("A") == thin.tobytes("A")
    assert again.kept_.flags.f_contiguous == (order == "F")
    for one, other in zip(model.trees_, again.trees_, strict=True):
        assert np.array_equal(one.value, other.value)
    dense = sum(tree.value.nbytes for tree in model.trees_)
    assert (tmp_path / "m").stat().st_size < dense
    save_model(again, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()


SMALLER: list[Any] = [
    committee.RandomForestClassifier(4, random_state=0), committee.ExtraTreesClassifier(4, random_state=0),
    committee.BaggingClassifier(n_estimators=3, random_state=0), committee.AdaBoostClassifier(n_estimators=3),
    committee.LPBoostClassifier(n_estimators=6, nu=0.7),
]  # fmt: skip


@pytest.mark.parametrize("model", SMALLER, ids=lambda model: type(model).__name__)
def test_a_prediction_only_model_is_shown_stored_and_pickled_again(tmp_path: Path, model: Any) -> None:
    X, y = make_data(model)
    y = y > np.median(y)
    save_model(model.fit(X, y), tmp_path / "small", prediction_only=True)
    small = load_model(tmp_path / "small")
    assert "predict" in dir(small)
    assert type(model).__name__ in small._repr_html_()
    assert not hasattr(small, "feature_importances_")
    assert save_model(small, tmp_path / "again").is_prediction_only
    for other in (load_model(tmp_path / "again"), pickle.loads(pickle.dumps(small))):
        assert same(other.predict_proba(X), model.predict_proba(X))
    with pytest.raises(PredictionOnlyError, match="cannot be fitted further"):
        small.set_params(warm_start=True, n_estimators=9).fit(X, y)


def test_a_prediction_only_forest_says_what_it_cannot_tell(tmp_path: Path) -> None:
    X, y = make_data(committee.RandomForestRegressor())
    model = committee.RandomForestRegressor(4, random_state=0, keep_leaf_samples=True).fit(X, y)
    save_model(model, tmp_path / "small", prediction_only=True)
    small = load_model(tmp_path / "small")
    asked: list[Callable[[], Any]] = [
        lambda: small.predict_quantiles(X), lambda: small.leaf_samples_, lambda: small.estimators_samples_,
        lambda: small.oob_indices(0), lambda: committee.forest_importances(small, X, y),
        lambda: committee.forest_diagnostics(small, X, y),
    ]  # fmt: skip
    for ask in asked:
        with pytest.raises(PredictionOnlyError, match="saved for prediction only"):
            ask()


def test_categories_that_no_file_can_hold_are_rejected_when_saving(tmp_path: Path) -> None:
    X, _ = make_data(committee.RandomForestClassifier())
    times = pd.Categorical(pd.to_datetime(["2020-01-01", "2021-01-01"]).repeat(len(X) // 2))
    for column in (pd.cut(X[:, 0], 3), times):
        frame = pd.DataFrame({"a": X[:, 0], "k": column})
        model = committee.RandomForestClassifier(2, random_state=0).fit(frame, X[:, 1] > 0)
        for foreign in (False, True):
            with pytest.raises(UnstorableError, match="astype"):
                save_model(model, tmp_path / "m", foreign=foreign)
    assert not (tmp_path / "m").exists()


def test_metadata_that_is_no_text_is_rejected(tmp_path: Path) -> None:
    X, y = make_data(committee.DecisionTreeRegressor())
    model = committee.DecisionTreeRegressor(max_depth=1).fit(X, y)
    with pytest.raises(UnstorableError, match="'a' has a int"):
        save_model(model, tmp_path / "m", metadata=cast(Any, {"a": 1}))
