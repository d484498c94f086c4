"""Boosting: the whole call of `fit`, history included, and prediction, against scikit-learn's AdaBoost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import ensemble as peer
from sklearn import tree as peer_tree
from sklearn.metrics import r2_score, roc_auc_score

import committee
from benchmarks import tables
from benchmarks.harness import Benchmark, Clock, Goal, Quality, Setup
from benchmarks.quality import Load
from benchmarks.tables import Scale, size
from committee import AdaBoostClassifier, DecisionStump, DecisionTreeClassifier

Make = Callable[[], Any]
ROUNDS = 200
N_FEATURES = 30


def benchmarks(scale: Scale) -> list[Benchmark]:
    return [
        *_stumps(scale),
        _depth_3(scale),
        _ten_classes(scale),
        *_two_threads(scale),
        _predict(scale),
        *_family(scale),
    ]


def _stumps(scale: Scale) -> list[Benchmark]:
    goals = {20_000: (0.025, 0.01), 200_000: (0.03, 0.006)}
    rows: list[Benchmark] = []
    for n_full, (exact, binned) in goals.items():
        n = scale.rows(n_full)
        at = size(n, N_FEATURES)
        ours = {
            f"committee {splitter}": partial(AdaBoostClassifier, DecisionStump(splitter=splitter), n_estimators=ROUNDS)
            for splitter in ("best", "binned")
        }
        wanted = (Goal("committee best", exact, "sklearn"), Goal("committee binned", binned, "sklearn"))
        task = f"AdaBoost, {ROUNDS} stumps, {at}: largest edge, history recorded (sklearn: gini)"
        rows.append(_fit(f"stumps-{at}", task, partial(tables.classes, n, N_FEATURES), ours, _their_stumps(), wanted))
    return rows


def _their_stumps(n_estimators: int = ROUNDS) -> Mapping[str, Make]:
    return {"sklearn": partial(peer.AdaBoostClassifier, n_estimators=n_estimators, random_state=0)}


def _their_trees(depth: int, n_estimators: int = ROUNDS) -> Mapping[str, Make]:
    tree = peer_tree.DecisionTreeClassifier(max_depth=depth)
    return {"sklearn": partial(peer.AdaBoostClassifier, tree, n_estimators=n_estimators, random_state=0)}


def _our_trees(depth: int, splitters: tuple[str, ...]) -> Mapping[str, Make]:
    return {
        f"committee {splitter}": partial(
            AdaBoostClassifier, DecisionTreeClassifier(max_depth=depth, splitter=splitter), n_estimators=ROUNDS
        )
        for splitter in splitters
    }


def _depth_3(scale: Scale) -> Benchmark:
    n = scale.rows(20_000)
    at, load = size(n, N_FEATURES), partial(tables.classes, n, N_FEATURES)
    task = f"AdaBoost, {ROUNDS} trees of depth 3, {at}, gini"
    goal = (Goal("committee binned", 0.006, "sklearn"),)
    return _fit(f"depth-3-{at}", task, load, _our_trees(3, ("best", "binned")), _their_trees(3), goal)


def _ten_classes(scale: Scale) -> Benchmark:
    n = scale.rows(20_000)
    at, load = size(n, N_FEATURES), partial(tables.classes, n, N_FEATURES, 10)
    task = f"SAMME, ten classes, {ROUNDS} trees of depth 2, {at}, gini"
    return _fit(f"samme-{at}", task, load, _our_trees(2, ("best", "binned")), _their_trees(2))


def _two_threads(scale: Scale) -> list[Benchmark]:
    learners: dict[str, tuple[str, Any]] = {
        "best": ('stumps, splitter="best"', DecisionStump(splitter="best")),
        "binned": ('stumps, splitter="binned"', DecisionStump(splitter="binned")),
        "depth-3": ('trees of depth 3, splitter="binned"', DecisionTreeClassifier(max_depth=3, splitter="binned")),
    }
    rows: list[Benchmark] = []
    for n in (scale.rows(50_000), scale.rows(200_000)):
        for name, (words, learner) in learners.items():
            makers = {
                f"committee {threads}": partial(AdaBoostClassifier, learner, n_estimators=ROUNDS, n_jobs=n_jobs)
                for threads, n_jobs in (("two threads", 2), ("one thread", 1))
            }
            at = size(n, N_FEATURES)
            task = f"AdaBoost, {ROUNDS} {words}, {at}: two threads over one"
            load = partial(tables.classes, n, N_FEATURES)
            row = _fit(f"threads-{name}-{at}", task, load, makers, {}, clock="wall")
            rows.append(row._replace(peers=("committee one thread",)))
    return rows


def _predict(scale: Scale) -> Benchmark:
    n = scale.rows(20_000)
    at = size(n, N_FEATURES)

    @lru_cache(maxsize=2)
    def fitted(make: Make) -> Any:
        split = tables.classes(n, N_FEATURES)
        return make().fit(split.X, split.y)

    def asking(make: Make) -> Setup:
        def setup() -> Callable[[], Any]:
            X, model = tables.classes(n, N_FEATURES).X, fitted(make)
            return lambda: model.predict(X)

        return setup

    def evaluate(predicted: NDArray[Any]) -> Mapping[str, float]:
        return {"accuracy": float(np.mean(predicted == tables.classes(n, N_FEATURES).y))}

    makers = {"committee": partial(AdaBoostClassifier, n_estimators=ROUNDS), **_their_stumps()}
    return Benchmark(
        name=f"boosting/predict-{at}",
        task=f"predict of the {at} training rows by {ROUNDS} stumps",
        contenders={name: asking(make) for name, make in makers.items()},
        quality=evaluate,
        goals=(Goal("committee", 0.1, "sklearn"),),
        covers=("AdaBoostClassifier",),
    )


def _family(scale: Scale) -> list[Benchmark]:
    """One row for every other booster, beside scikit-learn's AdaBoost of as many rounds: it has none of them."""
    n, rounds = scale.rows(5000), 50
    load, values = partial(tables.classes, n, N_FEATURES), partial(tables.values, n, N_FEATURES)
    shallow = committee.DecisionTreeClassifier(max_depth=3)
    perceptrons = partial(committee.AdaBoostClassifier, committee.PocketPerceptron(max_iter=20), n_estimators=10)
    restarts = partial(
        committee.RestartClassifier, committee.PocketPerceptron(max_iter=20), n_restarts=5, random_state=0
    )
    classifiers: dict[str, Make] = {
        "adaboost-m1": partial(committee.AdaBoostM1Classifier, n_estimators=rounds),
        "adaboost-theta": partial(committee.AdaBoostThetaClassifier, theta=0.01, n_estimators=rounds),
        "adaboost-star": partial(committee.AdaBoostStarClassifier, n_estimators=rounds),
        "arc-gv": partial(committee.ArcGVClassifier, n_estimators=rounds),
        "confidence-rated": partial(committee.ConfidenceRatedAdaBoostClassifier, n_estimators=rounds),
        "anyboost-logistic": partial(committee.AnyBoostClassifier, loss="logistic", n_estimators=rounds),
        "lpboost": partial(committee.LPBoostClassifier, n_estimators=20, random_state=0),
        "schapire": partial(committee.SchapireBoostClassifier, shallow, depth=2),
        "perceptrons": perceptrons,
        "restarts": restarts,
    }
    rows = [
        _fit(f"{name}-{size(n, N_FEATURES)}", f"{name}, {size(n, N_FEATURES)}", load, {"committee": make},
             _their_stumps(rounds))
        for name, make in classifiers.items()
    ]  # fmt: skip
    rows[-2] = rows[-2]._replace(covers=("PocketPerceptron",))
    regressors: dict[str, Make] = {
        "adaboost-r2": partial(committee.AdaBoostRegressor, n_estimators=rounds, random_state=0),
        "stagewise": partial(committee.StagewiseRegressor, n_estimators=rounds, random_state=0),
    }
    theirs = {"sklearn": partial(peer.AdaBoostRegressor, n_estimators=rounds, random_state=0)}
    rows += [
        _fit(f"{name}-{size(n, N_FEATURES)}", f"{name}, {size(n, N_FEATURES)}", values, {"committee": make}, theirs)
        for name, make in regressors.items()
    ]
    return rows


# --- from a model to a row -------------------------------------------------------------------------------------------


def _fit(
    name: str,
    task: str,
    load: Load,
    ours: Mapping[str, Make],
    theirs: Mapping[str, Make],
    goals: tuple[Goal, ...] = (),
    clock: Clock = "cpu",
) -> Benchmark:
    return Benchmark(
        name=f"boosting/{name}",
        task=task,
        contenders={contender: _fit_setup(make, load) for contender, make in {**ours, **theirs}.items()},
        quality=_quality(load),
        clock=clock,
        goals=goals,
        covers=tuple({type(make()).__name__ for make in ours.values()}),
    )


def _fit_setup(make: Make, load: Load) -> Setup:
    def setup() -> Callable[[], Any]:
        split = load()
        return lambda: make().fit(split.X, split.y)

    return setup


def _quality(load: Load) -> Quality:
    """Accuracy and AUC, or R2, on rows held out."""

    def evaluate(model: Any) -> Mapping[str, float]:
        split = load()
        predicted = model.predict(split.X_test)
        if not hasattr(model, "classes_"):
            return {"R2": float(r2_score(split.y_test, predicted))}
        result = {"accuracy": float(np.mean(predicted == split.y_test))}
        if len(model.classes_) == 2 and hasattr(model, "decision_function"):
            result["AUC"] = float(roc_auc_score(split.y_test, model.decision_function(split.X_test)))
        return result

    return evaluate
