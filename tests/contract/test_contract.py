"""What every estimator of the catalog promises: scikit-learn's contract in full, and ours on top of it."""

from __future__ import annotations

import copy
import doctest
import importlib
import io
import pickle
import pkgutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

import committee
from committee import (
    SVC,
    SVR,
    AdaBoostClassifier,
    AdaBoostM1Classifier,
    AdaBoostRegressor,
    AdaBoostStarClassifier,
    AdaBoostThetaClassifier,
    AnyBoostClassifier,
    ArcGVClassifier,
    BaggingClassifier,
    BaggingRegressor,
    CalibratedClassifier,
    CommitteeClassifier,
    CommitteeRegressor,
    ConfidenceRatedAdaBoostClassifier,
    DecisionStump,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HierarchicalMixtureOfExpertsClassifier,
    HierarchicalMixtureOfExpertsRegressor,
    LinearSVC,
    LinearSVR,
    LogisticRegressionCV,
    LPBoostClassifier,
    MixtureOfExpertsClassifier,
    MixtureOfExpertsDensity,
    MixtureOfExpertsRegressor,
    NumericPipelineClassifier,
    NumericPipelineRegressor,
    NuSVC,
    NuSVR,
    NystroemSVC,
    NystroemSVR,
    OneClassSVM,
    OnlineBaggingClassifier,
    OnlineBaggingRegressor,
    OnlineBoostingClassifier,
    PocketPerceptron,
    RandomForestClassifier,
    RandomForestRegressor,
    RestartClassifier,
    RidgeCV,
    SchapireBoostClassifier,
    SparselyGatedMixtureClassifier,
    SparselyGatedMixtureRegressor,
    StackingClassifier,
    StackingRegressor,
    StagewiseRegressor,
    VotingClassifier,
    VotingRegressor,
)
from committee.base import threads
from committee.catalog import CATALOG, Entry
from committee.committees.plan import Member
from committee.members.numeric_pipeline import BaseNumericPipeline
from committee.records.tree import Tree

ESTIMATORS: list[type[Any]] = [getattr(committee, entry.name) for entry in CATALOG]
SCORED = [cls for cls in ESTIMATORS if hasattr(cls, "score")]
"""All but the detectors of outliers, which have nothing to be scored against."""

SETTINGS: list[Any] = [
    DecisionTreeClassifier(),
    DecisionTreeClassifier(criterion="entropy", splitter="binned", max_leaf_nodes=6, class_weight="balanced"),
    DecisionTreeClassifier(splitter="random", max_features="sqrt", min_samples_leaf=2, random_state=0),
    DecisionTreeClassifier(ccp_alpha="cv", cv=3, random_state=0),
    DecisionTreeRegressor(),
    DecisionTreeRegressor(criterion="absolute_error", max_depth=4, ccp_alpha=0.01),
    DecisionTreeRegressor(criterion="poisson", splitter="binned", max_bins=16, n_jobs=2),
    DecisionTreeRegressor(splitter="random", max_features=0.5, max_leaf_nodes=9, random_state=0),
    DecisionTreeRegressor(ccp_alpha="cv", cv=3, random_state=0),
    DecisionStump(),
    DecisionStump(splitter="binned", min_samples_leaf=2),
    AdaBoostClassifier(n_estimators=8, random_state=0),
    AdaBoostClassifier(
        DecisionTreeClassifier(max_depth=3, splitter="binned"), n_estimators=6, n_jobs=2, random_state=0
    ),
    AdaBoostClassifier(n_estimators=6, weighting="resample", on_worse_than_chance="negate", random_state=0),
    AdaBoostM1Classifier(DecisionTreeClassifier(max_depth=3), n_estimators=6, random_state=0),
    AdaBoostThetaClassifier(theta=0.05, n_estimators=6, random_state=0),
    ArcGVClassifier(n_estimators=8, random_state=0),
    AdaBoostStarClassifier(nu=0.2, n_estimators=8, random_state=0),
    ConfidenceRatedAdaBoostClassifier(n_estimators=6, random_state=0),
    ConfidenceRatedAdaBoostClassifier(n_estimators=6, step="numeric", random_state=0),
    AnyBoostClassifier(loss="savage", n_estimators=6, random_state=0),
    LPBoostClassifier(nu=0.5, n_estimators=15, random_state=0),
    SchapireBoostClassifier(DecisionTreeClassifier(max_depth=2), random_state=0),
    AdaBoostRegressor(n_estimators=6, random_state=0),
    AdaBoostRegressor(n_estimators=6, weighting="reweight", random_state=0),
    StagewiseRegressor(n_estimators=6, random_state=0),
    GradientBoostingClassifier(random_state=0),
    GradientBoostingClassifier(
        n_estimators=30, learning_rate=0.3, min_samples_leaf=5, early_stopping=True, n_iter_no_change=30, random_state=0
    ),
    GradientBoostingClassifier(
        loss="exponential", n_estimators=10, learning_rate=0.3, second_order=False, random_state=0
    ),
    GradientBoostingClassifier(
        n_estimators=10, learning_rate=0.3, min_samples_leaf=1, class_weight="balanced", n_jobs=2, random_state=0
    ),
    GradientBoostingRegressor(random_state=0),
    GradientBoostingRegressor(loss="poisson", n_estimators=20, learning_rate=0.3, random_state=0),
    GradientBoostingRegressor(n_estimators=20, learning_rate=0.3, early_stopping="cv", cv=3, random_state=0),
    GradientBoostingRegressor(loss="absolute_error", n_estimators=20, learning_rate=0.3, max_depth=4, random_state=0),
    GradientBoostingRegressor(loss="huber", n_estimators=20, learning_rate=0.3, max_features=0.7, random_state=0),
    BaggingClassifier(random_state=0),
    BaggingClassifier(
        n_estimators=6, bootstrap=False, max_samples=0.7, max_features=0.7, combine="vote", n_jobs=2, random_state=0
    ),
    BaggingClassifier(n_estimators=3, tree_size="pruned", random_state=0),
    BaggingClassifier(
        n_estimators="auto", n_iter_no_change=5, tree_size="max_leaf_nodes", max_leaf_nodes=6, random_state=0
    ),
    BaggingRegressor(random_state=0),
    BaggingRegressor(n_estimators=6, combine="weighted", max_features=0.7, random_state=0),
    BaggingRegressor(n_estimators=6, combine="median", bootstrap_features=True, max_samples=0.5, random_state=0),
    RandomForestClassifier(8, random_state=0),
    RandomForestClassifier(
        8,
        splitter="binned",
        max_leaf_nodes=9,
        n_jobs=2,
        random_state=0,
    ),
    RandomForestClassifier(8, bootstrap="balanced", criterion="entropy", max_samples=0.7, random_state=0),
    RandomForestRegressor(8, keep_leaf_samples=True, random_state=0),
    RandomForestRegressor.breiman(n_estimators=8, bootstrap=False, max_samples=0.6, ccp_alpha=0.01, random_state=0),
    ExtraTreesClassifier(8, random_state=0),
    ExtraTreesRegressor(8, bootstrap=True, criterion="friedman_mse", min_samples_leaf=2, n_jobs=2, random_state=0),
]
FEW = [
    Member("boosting", "gradient boosting", {"n_estimators": 10}),
    Member("trees", "extra trees", {"n_estimators": 8}),
    Member("machine", "support vector machine", {}, "ranked"),
    Member("line", "linear model", {}, "scaled"),
]
LINEAR: list[Any] = [
    CommitteeClassifier(members=FEW, cv=3, random_state=0),
    CommitteeRegressor(members=FEW, cv=3, combine="stack", random_state=0),
    VotingClassifier(),
    VotingClassifier(voting="soft", cv=3),
    VotingRegressor(),
    VotingRegressor(combine="median", weights=[1, 2, 3], cv=3),
    StackingClassifier(),
    StackingClassifier(final_estimator="simplex", cv=3),
    StackingClassifier(stack_method="predict", passthrough=True, cv=3),
    StackingRegressor(),
    StackingRegressor(final_estimator="simplex", cv=3, n_jobs=2),
    CalibratedClassifier(),
    CalibratedClassifier(LinearSVC(scale=True), cv=3),
    NumericPipelineClassifier(),
    NumericPipelineClassifier(SVC()),
    NumericPipelineRegressor(),
    NumericPipelineRegressor(SVR()),
    PocketPerceptron(max_iter=30, random_state=0),
    RestartClassifier(PocketPerceptron(max_iter=10), n_restarts=3, random_state=0),
    OnlineBaggingClassifier(random_state=0),
    OnlineBaggingRegressor(random_state=0),
    OnlineBoostingClassifier(random_state=0),
    SVC(),
    SVC(kernel="laplacian", C=10.0, multi_class="ovr", probability=True, class_weight="balanced", scale=True),
    SVC(kernel="poly", coef0=1.0, degree=2, offset="both"),
    NuSVC(nu=0.3),
    SVR(),
    SVR(kernel="linear", epsilon=0.01),
    NuSVR(),
    OneClassSVM(),
    LinearSVC(),
    LinearSVC(loss="hinge", class_weight="balanced"),
    LinearSVR(),
    LinearSVR(loss="squared_epsilon_insensitive"),
    LogisticRegressionCV(random_state=0),
    LogisticRegressionCV([0.1, 1.0], cv=3, class_weight="balanced", one_standard_error=True, random_state=0),
    RidgeCV(),
    RidgeCV([0.1, 1.0], cv=3, alpha_per_target=True, random_state=0),
    NystroemSVC(),
    NystroemSVR(),
    MixtureOfExpertsClassifier(2, n_restarts=1, max_iter=50, random_state=0),
    MixtureOfExpertsRegressor(2, n_restarts=1, max_iter=50, random_state=0),
    MixtureOfExpertsRegressor(
        2,
        gate="constant",
        expert=DecisionTreeRegressor(max_depth=2),
        n_restarts=1,
        max_iter=5,
        random_state=0,
    ),
    MixtureOfExpertsRegressor(range(1, 3), criterion="held_out", n_restarts=1, max_iter=20, random_state=0),
    MixtureOfExpertsDensity(2, n_restarts=1, max_iter=50, random_state=0),
    HierarchicalMixtureOfExpertsClassifier(n_restarts=1, max_iter=50, random_state=0),
    HierarchicalMixtureOfExpertsRegressor(n_restarts=1, max_iter=50, random_state=0),
    SparselyGatedMixtureClassifier(n_experts=4, hidden_units=8, max_iter=60, random_state=0),
    SparselyGatedMixtureRegressor(n_experts=4, hidden_units=8, max_iter=60, random_state=0),
]
"""No trees to compare node by node; most of them take neither missing values nor categories."""

every_setting = pytest.mark.parametrize("estimator", SETTINGS, ids=repr)


def make_data(estimator: Any, n: int = 300, d: int = 6, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """A table with some missing values and a target >= 0; three classes for a classifier, or two."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, d)), 2)
    signal = X[:, 0] + np.sin(2 * X[:, 1]) + X[:, 2] * X[:, 3] + 0.3 * rng.normal(size=n)
    X[rng.random(X.shape) < 0.05] = np.nan
    if not is_classifier(estimator):
        return X, signal - signal.min()
    two_classes = not get_tags(estimator).classifier_tags.multi_class
    return X, np.digitize(signal, [0.2] if two_classes else [-0.5, 0.8])


def same(a: Any, b: Any) -> bool:
    """Equal bit for bit, down to the arrays inside."""
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, Tree) or (isinstance(a, tuple) and hasattr(a, "_fields")):
        return type(a) is type(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if hasattr(a, "arrays"):
        return same(a.arrays, b.arrays)
    if isinstance(a, Mapping):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, float):
        return np.float64(a).tobytes() == np.float64(b).tobytes()
    if isinstance(a, BaseEstimator) or (type(a).__module__.startswith("committee.") and hasattr(a, "__dict__")):
        return type(a) is type(b) and same(vars(a), vars(b))
    if type(a).__eq__ is object.__eq__:  # such as a loss of scikit-learn
        return type(a) is type(b) and pickle.dumps(a) == pickle.dumps(b)
    return bool(a == b)


def assert_same_fit(a: Any, b: Any) -> None:
    """The same attributes with the same values, fitted ones among them."""
    assert vars(a).keys() == vars(b).keys()
    for name in vars(a):
        if name != "n_jobs":
            assert same(getattr(a, name), getattr(b, name)), name


# --- scikit-learn's checks -------------------------------------------------------------------------------------------


def chosen_out_of_bag(estimator: Any) -> dict[str, str]:
    """The one check that a setting may fail, and only if out-of-bag errors decide what the ensemble is."""
    by_oob = getattr(estimator, "combine", "") == "weighted" or (
        isinstance(estimator, BaggingClassifier) and estimator.n_estimators == "auto"
    )
    reason = "copies of a row in the table may judge each other, a weighted row never judges itself"
    return {"check_sample_weight_equivalence_on_dense_data": reason} if by_oob else {}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # toy data make perfect hypotheses
@parametrize_with_checks(SETTINGS + LINEAR, expected_failed_checks=chosen_out_of_bag)
def test_scikit_learn_checks(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


# --- the catalog -----------------------------------------------------------------------------------------------------


def public_estimators() -> Iterator[str]:
    """Every estimator class that the package defines under a public name, bases aside."""
    for result in pkgutil.walk_packages(committee.__path__, "committee."):
        if result.name.startswith(("committee.base.", "committee.dask.")):  # there: the same estimators on a cluster
            continue
        for name, value in vars(importlib.import_module(result.name)).items():
            is_own = isinstance(value, type) and issubclass(value, BaseEstimator) and value.__module__ == result.name
            if is_own and not name.startswith(("_", "Base")):
                yield name


def test_every_estimator_has_one_entry() -> None:
    names = [entry.name for entry in CATALOG]
    assert sorted(names) == sorted(public_estimators())


@pytest.mark.parametrize("entry", CATALOG, ids=lambda entry: entry.name)
def test_an_entry_says_where_and_what(entry: Entry) -> None:
    cls = getattr(importlib.import_module(entry.module), entry.name)
    assert getattr(committee, entry.name) is cls
    assert entry.name in committee.__all__
    assert entry.aliases
    assert any(part.strip().isdigit() and len(part.strip()) == 4 for part in entry.paper.split(","))
    assert entry.ids


@pytest.mark.parametrize("entry", CATALOG, ids=lambda entry: entry.name)
def test_the_example_of_the_docstring_runs(entry: Entry) -> None:
    """At least one line of output, and every line as it stands there."""
    cls = getattr(committee, entry.name)
    tests = [test for test in doctest.DocTestFinder().find(cls, entry.name) if test.examples]
    assert any(example.want for test in tests for example in test.examples)
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    runner, report = doctest.DocTestRunner(optionflags=flags), io.StringIO()
    for test in tests:
        runner.run(test, out=report.write)
    assert runner.failures == 0, report.getvalue()


@pytest.mark.parametrize("cls", [cls for cls in ESTIMATORS if "estimators" not in cls().get_params()])
def test_trees_transform_nothing(cls: type[Any]) -> None:
    assert not hasattr(cls(), "transform")
    assert not hasattr(cls(), "set_output")


# --- copies ----------------------------------------------------------------------------------------------------------


@every_setting
def test_clone_pickle_and_joblib(estimator: Any, tmp_path: Path) -> None:
    X, y = make_data(estimator)
    model = clone(estimator).fit(X, y)
    assert same(clone(model).get_params(), estimator.get_params())
    assert not hasattr(clone(model), "columns_")
    joblib.dump(model, tmp_path / "model.joblib")
    copies = [
        pickle.loads(pickle.dumps(model)),
        pickle.loads(pickle.dumps(model, protocol=4)),
        joblib.load(tmp_path / "model.joblib"),
        copy.deepcopy(model),
    ]
    for other in copies:
        assert_same_fit(model, other)
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
        assert_same_fit(other.fit(X, y), model)


@every_setting
def test_a_memory_mapped_model_predicts(estimator: Any, tmp_path: Path) -> None:
    """Arrays of a model loaded with mmap_mode are read-only."""
    X, y = make_data(estimator)
    model = clone(estimator).fit(X, y)
    joblib.dump(model, tmp_path / "model.joblib")
    mapped = joblib.load(tmp_path / "model.joblib", mmap_mode="r")
    np.testing.assert_array_equal(mapped.predict(X), model.predict(X))


# --- refits and failed fits ------------------------------------------------------------------------------------------


@every_setting
def test_a_refit_leaves_no_trace(estimator: Any) -> None:
    X, y = make_data(estimator)
    frame = pd.DataFrame(X[:100, :4], columns=["a", "b", "c", "d"])
    fresh = clone(estimator).fit(X, y)
    again = clone(estimator).fit(frame, y[:100])
    assert list(again.feature_names_in_) == ["a", "b", "c", "d"]
    again.fit(X, y)
    assert_same_fit(again, fresh)


def test_a_refit_without_cross_validation_removes_its_curve() -> None:
    X, y = make_data(DecisionTreeRegressor())
    model = DecisionTreeRegressor(ccp_alpha="cv", cv=3, random_state=0).fit(X, y)
    assert model.pruning_.chosen >= 0
    model.set_params(ccp_alpha=0.0).fit(X, y)
    assert not hasattr(model, "pruning_")


ENGINE = (
    "committee.tree_engine.", "committee.losses.", "committee.members.", "committee.trees.pruning",
    "committee.gradient_boosting.trees", "committee.explain._",
)  # fmt: skip
"""Modules that call the kernels of trees."""


def is_kernel(value: object) -> bool:
    return hasattr(value, "py_func") and hasattr(value, "signatures")


def interrupt_growth(monkeypatch: pytest.MonkeyPatch, n_calls: int) -> list[str]:
    """Every kernel that a module of the engine calls raises KeyboardInterrupt from the n-th call on."""
    calls: list[str] = []

    def interrupted(name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            calls.append(name)
            if len(calls) >= n_calls:
                raise KeyboardInterrupt
            return kernel(*args)

        return call

    for module in [m for name, m in sys.modules.items() if name.startswith(ENGINE)]:
        for name, value in list(vars(module).items()):
            if is_kernel(value):
                monkeypatch.setattr(module, name, interrupted(name, value))
    return calls


@pytest.mark.parametrize("was_fitted", [False, True], ids=["new", "fitted"])
@pytest.mark.parametrize("n_calls", [1, 3])
@every_setting
def test_an_interrupted_fit_changes_nothing(
    estimator: Any,
    n_calls: int,
    was_fitted: bool,
    monkeypatch: pytest.MonkeyPatch,
    set_subtree_rows: Callable[[int], None],
) -> None:
    set_subtree_rows(64)  # then the fit needs many calls
    X, y = make_data(estimator)
    model = clone(estimator)
    if was_fitted:
        model.fit(X[:100, :3], y[:100])
    else:
        clone(estimator).fit(X, y)  # imports the modules to patch
    before, predictions = dict(vars(model)), model.predict(X[:, :3]) if was_fitted else None
    calls = interrupt_growth(monkeypatch, n_calls)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    monkeypatch.undo()
    assert len(calls) >= n_calls
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is before[name] for name in before)
    if was_fitted:
        np.testing.assert_array_equal(model.predict(X[:, :3]), predictions)
    else:
        with pytest.raises(NotFittedError):
            model.predict(X)


# A program that fits a tree that takes many seconds; it says when growth, and before it the coding, begins.
LONG_FIT = """
    import numpy as np
    from committee import DecisionTreeRegressor
    import committee.trees.training as training

    small = np.random.default_rng(0).normal(size=(5000, 3))
    DecisionTreeRegressor(splitter="best").fit(small, small[:, 0])  # loads the kernels
    rng = np.random.default_rng(0)
    X = rng.random((2_000_000, 20), dtype=np.float32)
    y = rng.random(2_000_000)
    grow = training.grow_placed

    def grow_aloud(*args, **kwargs):
        print("growing", flush=True)
        return grow(*args, **kwargs)

    training.grow_placed = grow_aloud
    tree = DecisionTreeRegressor(splitter="best", n_jobs=N_JOBS)
    print("coding", flush=True)
    try:
        tree.fit(X, y)
        print("finished", flush=True)
    except KeyboardInterrupt:
        print("interrupted", sorted(vars(tree)) == sorted(tree.get_params()), flush=True)
"""


@pytest.mark.parametrize(("stage", "n_jobs"), [("coding", 1), ("growing", 1), ("growing", 2)])
def test_ctrl_c_is_heard(stage: str, n_jobs: int) -> None:
    """Within 5 seconds, however busy the machine; about half a second if it is not."""
    program = textwrap.dedent(LONG_FIT).replace("N_JOBS", str(n_jobs))
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.strip() == stage:
                break
        time.sleep(1.0)  # into the work
        process.send_signal(signal.SIGINT)
        try:
            rest, _ = process.communicate(timeout=5.0)
        finally:
            process.kill()
    assert rest.split()[-2:] == ["interrupted", "True"]
    assert "finished" not in rest


# --- threads ---------------------------------------------------------------------------------------------------------


THREADED: list[Any] = [
    DecisionTreeClassifier(splitter="best"),
    DecisionTreeClassifier(splitter="binned"),
    DecisionTreeClassifier(splitter="best", criterion="entropy", max_features=3, random_state=0),
    DecisionTreeClassifier(splitter="random", max_features="sqrt", random_state=0),
    DecisionTreeClassifier(splitter="binned", max_leaf_nodes=40),
    DecisionTreeClassifier(ccp_alpha="cv", cv=3, random_state=0, max_depth=6),
    DecisionTreeRegressor(splitter="best"),
    DecisionTreeRegressor(splitter="binned", criterion="poisson", max_features=0.5, random_state=0),
    DecisionTreeRegressor(splitter="random", random_state=0),
    DecisionTreeRegressor(criterion="absolute_error", max_depth=6),
    DecisionTreeRegressor(criterion="absolute_error", splitter="binned", max_leaf_nodes=20),
    DecisionTreeRegressor(max_leaf_nodes=50, max_features=2, random_state=0),
    DecisionTreeRegressor(monotonic_cst=[1, 0, 0, 0, -1, 0], min_samples_leaf=5),
    DecisionStump(),
    DecisionStump(splitter="binned"),
    AdaBoostClassifier(n_estimators=5, random_state=0),
    AdaBoostClassifier(DecisionTreeClassifier(max_depth=3, splitter="binned"), n_estimators=5, random_state=0),
    ArcGVClassifier(n_estimators=5, random_state=0),
    ArcGVClassifier(DecisionStump(splitter="binned"), n_estimators=5, random_state=0),
    ConfidenceRatedAdaBoostClassifier(n_estimators=5, random_state=0),
    GradientBoostingClassifier(n_estimators=5, random_state=0),
    GradientBoostingRegressor(loss="poisson", n_estimators=5, subsample=0.5, random_state=0),
    GradientBoostingRegressor(loss="absolute_error", n_estimators=5, random_state=0),
]


@pytest.mark.parametrize("estimator", THREADED, ids=repr)
def test_the_number_of_threads_changes_no_bit(
    estimator: Any, monkeypatch: pytest.MonkeyPatch, set_subtree_rows: Callable[[int], None]
) -> None:
    """Every node of more than 256 rows, every subtree and every block of rows to predict may go to a second thread."""
    monkeypatch.setattr(threads, "WORK_PER_THREAD", 500)
    set_subtree_rows(256)
    X, y = make_data(estimator, n=5000)
    w = np.random.default_rng(1).integers(1, 17, len(y)) / 8
    used: list[int] = []
    run = threads.run

    def spy(function: Callable[..., Any], calls: Any, n_threads: int) -> list[Any]:
        used.append(n_threads)
        return run(function, calls, n_threads)

    for module in [m for name, m in sys.modules.items() if name.startswith(ENGINE)]:
        if hasattr(module, "run"):
            monkeypatch.setattr(module, "run", spy)
    one = clone(estimator).set_params(n_jobs=1).fit(X, y, sample_weight=w)
    assert set(used) == {1}
    two = clone(estimator).set_params(n_jobs=2).fit(X, y, sample_weight=w)
    assert used.count(2) > 1
    assert_same_fit(one, two)
    assert same(one.predict(X), two.predict(X))
    if hasattr(one, "apply"):
        assert same(one.apply(X), two.apply(X))


# --- frames ----------------------------------------------------------------------------------------------------------


def make_frames(n: int = 240) -> tuple[dict[str, Any], NDArray[np.float64]]:
    """The same named table with categories and missing values in three libraries, and a target that needs them."""
    rng = np.random.default_rng(3)
    town = rng.choice(["Bonn", "Ulm", "Kiel", "Jena", "Hof"], n)
    size, age = rng.normal(size=n), rng.integers(0, 90, n)
    y = 3.0 * np.isin(town, ["Ulm", "Hof"]) + size + 0.01 * age + 0.1 * rng.normal(size=n) + 4
    towns = [None if rng.random() < 0.05 else str(name) for name in town]
    sizes = [None if rng.random() < 0.05 else float(value) for value in size]
    pandas = pd.DataFrame({"town": pd.Categorical(towns), "size": pd.array(sizes, dtype="Float64"), "age": age})
    polars = pl.DataFrame({"town": towns, "size": sizes, "age": age}, schema_overrides={"town": pl.Categorical})
    arrow = pa.table({"town": pa.array(towns).dictionary_encode(), "size": pa.array(sizes), "age": pa.array(age)})
    return {"pandas": pandas, "polars": polars, "arrow": arrow}, y


def fitted(model: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(model).items() if name.endswith("_")}


def trees_of(model: Any) -> list[Tree]:
    if hasattr(model, "trees_"):
        return model.trees_
    members = model.estimators_ if hasattr(model, "estimators_") else [model]
    return [member.tree_.arrays for member in members]


@every_setting
def test_frames_with_names_and_categories(estimator: Any) -> None:
    frames, y = make_frames()
    target = (y > np.median(y)).astype(int) if is_classifier(estimator) else y
    models = {name: clone(estimator).fit(frame, target) for name, frame in frames.items()}
    predictions = models["pandas"].predict(frames["pandas"])
    for name, model in models.items():
        assert list(model.feature_names_in_) == ["town", "size", "age"]
        assert model.columns_.category_names(0) == ["Bonn", "Hof", "Jena", "Kiel", "Ulm"]
        assert same(trees_of(model), trees_of(models["pandas"]))
        for frame in frames.values():  # fitted on one kind, asked with another
            np.testing.assert_array_equal(model.predict(frame), predictions, err_msg=name)
    assert models["pandas"].score(frames["pandas"], target) > (0.7 if is_classifier(estimator) else 0.3)


@every_setting
def test_unseen_categories_count_as_missing(estimator: Any) -> None:
    frames, y = make_frames()
    frame = frames["pandas"]
    model = clone(estimator).fit(frame, y > 4 if is_classifier(estimator) else y)
    nowhere, elsewhere = frame.copy(), frame.copy()
    nowhere["town"] = pd.Categorical([None] * len(frame), categories=["Bonn"])
    elsewhere["town"] = pd.Categorical(["Oslo"] * len(frame))
    np.testing.assert_array_equal(model.predict(elsewhere), model.predict(nowhere))


# --- inside scikit-learn's tools -------------------------------------------------------------------------------------


def _one_parameter(model: Any) -> tuple[str, list[Any], int]:
    """A parameter to search over, and a value that must lose, if there is one."""
    if "estimators" in model.get_params():
        return "n_jobs", [1, 2], -1
    if isinstance(model, CalibratedClassifier):
        return "cv", [2, 3], -1
    if isinstance(model, BaseNumericPipeline):
        return "categorical_features", [None, "from_dtype"], -1
    if "min_samples_leaf" in model.get_params():
        return "min_samples_leaf", [1, 10, 150], 150  # no split is left to take
    name = next(
        name for name in ("n_estimators", "depth", "max_iter", "n_restarts", "cv") if name in model.get_params()
    )
    return name, [1, 3], -1


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("cls", SCORED)
def test_pipeline_and_grid_search(cls: type[Any]) -> None:
    X, y = make_data(cls())
    X = X if get_tags(cls()).input_tags.allow_nan else np.nan_to_num(X)
    model = cls(random_state=0) if "random_state" in cls().get_params() else cls()
    pipeline = Pipeline([("scale", FunctionTransformer(lambda table: table * 2.0)), ("model", model)])
    name, values, useless = _one_parameter(model)
    search = GridSearchCV(pipeline, {f"model__{name}": values}, cv=3, error_score="raise").fit(X, y)
    assert search.best_params_[f"model__{name}"] != useless
    best = clone(search.best_estimator_).fit(X, y)
    assert_same_fit(best[-1], search.best_estimator_[-1])
    np.testing.assert_array_equal(search.predict(X), best.predict(X))
    direct = clone(model).set_params(**{name: search.best_params_[f"model__{name}"]}).fit(2.0 * X, y)
    np.testing.assert_array_equal(direct.predict(2.0 * X), search.predict(X))


@pytest.fixture
def _routing() -> Iterator[None]:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("_routing")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("cls", SCORED)
def test_sample_weight_is_routed(cls: type[Any]) -> None:
    X, y = make_data(cls())
    X = X if get_tags(cls()).input_tags.allow_nan else np.nan_to_num(X)
    w = np.random.default_rng(0).integers(0, 5, len(y)).astype(float)
    new = partial(cls, random_state=0) if "random_state" in cls().get_params() else cls
    asks = new().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    weighted = make_pipeline(FunctionTransformer(), asks).fit(X, y, sample_weight=w)
    assert same(fitted(weighted[-1]), fitted(new().fit(X, y, sample_weight=w)))
    assert not same(fitted(weighted[-1]), fitted(new().fit(X, y)))
    scores = cross_validate(asks, X, y, cv=[(np.arange(150), np.arange(150, 300))], params={"sample_weight": w})
    model = new().fit(X[:150], y[:150], sample_weight=w[:150])
    assert scores["test_score"][0] == model.score(X[150:], y[150:], sample_weight=w[150:])
    with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError):
        make_pipeline(FunctionTransformer(), cls()).fit(X, y, sample_weight=w)
