"""Members combined: votes and stacks against scikit-learn's, the committee against CatBoost, tables as numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from sklearn import ensemble as peer
from sklearn.calibration import CalibratedClassifierCV
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import committee
from benchmarks import tables
from benchmarks.harness import OURS, Benchmark, Call, Setup
from benchmarks.quality import Load
from benchmarks.tables import Scale, size

Make = Callable[[], Any]
SKLEARN, CATBOOST = "sklearn", "catboost"


def benchmarks(scale: Scale) -> list[Benchmark]:
    n, d = scale.rows(5_000), 20
    classes, values = partial(tables.classes, n, d), partial(tables.values, n, d)
    rows: list[Benchmark] = []
    for kind in ("Voting", "Stacking"):
        rows += [
            _against_sklearn(f"{kind}Classifier", _classifiers, classes, accuracy_score, size(n, d)),
            _against_sklearn(f"{kind}Regressor", _regressors, values, r2_score, size(n, d)),
        ]
    return [
        *rows,
        _committee("CommitteeClassifier", classes, accuracy_score, size(n, d)),
        _committee("CommitteeRegressor", values, r2_score, size(n, d)),
        _calibrated(classes, size(n, d)),
        _numbers("NumericPipelineClassifier", LogisticRegression, classes, accuracy_score, size(n, d)),
        _numbers("NumericPipelineRegressor", Ridge, values, r2_score, size(n, d)),
    ]


def _calibrated(load: Load, shape: str) -> Benchmark:
    """Five folds and a refit for both; ours fits a power and a mixture, scikit-learn a sigmoid."""
    kind = "CalibratedClassifier"
    tree = DecisionTreeClassifier(max_depth=6, random_state=0)
    makers: dict[str, Make] = {
        OURS: lambda: committee.CalibratedClassifier(tree, cv=5),
        SKLEARN: lambda: CalibratedClassifierCV(tree, cv=5, ensemble=False),
    }
    return _row(f"{kind}-{shape}", f"{kind} of a tree, {shape}", makers, load, accuracy_score, kind)


def _classifiers() -> list[tuple[str, Any]]:
    return [("tree", DecisionTreeClassifier(max_depth=6, random_state=0)), ("line", LogisticRegression())]


def _regressors() -> list[tuple[str, Any]]:
    return [("tree", DecisionTreeRegressor(max_depth=6, random_state=0)), ("line", Ridge())]


def _against_sklearn(kind: str, members: Callable[[], Any], load: Load, score: Any, shape: str) -> Benchmark:
    """The members are scikit-learn's for both: what differs is what stands around them."""
    makers: dict[str, Make] = {
        OURS: lambda: getattr(committee, kind)(members(), n_jobs=1),
        SKLEARN: lambda: getattr(peer, kind)(members(), n_jobs=1),
    }
    return _row(f"{kind}-{shape}", f"{kind} of a tree and a linear model, {shape}", makers, load, score, kind)


def _committee(kind: str, load: Load, score: Any, shape: str) -> Benchmark:
    def catboost() -> Any:
        import catboost

        cls = catboost.CatBoostClassifier if kind == "CommitteeClassifier" else catboost.CatBoostRegressor
        return cls(thread_count=1, random_seed=0, verbose=False, allow_writing_files=False)

    makers: dict[str, Make] = {OURS: lambda: getattr(committee, kind)(n_jobs=1, random_state=0), CATBOOST: catboost}
    return _row(f"{kind}-{shape}", f"{kind} as it comes, {shape}", makers, load, score, kind)


def _numbers(kind: str, linear: Make, load: Load, score: Any, shape: str) -> Benchmark:
    makers: dict[str, Make] = {
        OURS: lambda: getattr(committee, kind)(linear()),
        SKLEARN: lambda: make_pipeline(
            SimpleImputer(strategy="median", add_indicator=True), StandardScaler(), linear()
        ),
    }
    return _row(f"{kind}-{shape}", f"missing values filled in, scaled, {linear.__name__}, {shape}", makers,
                partial(_with_gaps, load), score, kind)  # fmt: skip


def _with_gaps(load: Load) -> Any:
    split = load()
    X, X_test = np.array(split.X), np.array(split.X_test)
    for seed, table in enumerate((X, X_test)):
        table[np.random.default_rng(seed).random(table.shape) < 0.05] = np.nan
    return split._replace(X=X, X_test=X_test)


def _row(name: str, task: str, makers: Mapping[str, Make], load: Callable[[], Any], score: Any, kind: str) -> Benchmark:
    def setup(make: Make) -> Setup:
        def prepare() -> Call:
            split = load()
            return lambda: make().fit(split.X, split.y)

        return prepare

    def quality(model: Any) -> Mapping[str, float]:
        split = load()
        return {score.__name__.removesuffix("_score"): float(score(split.y_test, model.predict(split.X_test)))}

    contenders = {contender: setup(make) for contender, make in makers.items()}
    return Benchmark(f"committees/{name}", task, contenders, quality, covers=(kind,))
