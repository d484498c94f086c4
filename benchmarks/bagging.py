"""Bagging of trees against scikit-learn's, and online ensembles against a plain loop over their members."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn import ensemble as peer
from sklearn.base import clone
from sklearn.metrics import accuracy_score, r2_score

import committee
from benchmarks import tables
from benchmarks.harness import Benchmark, Call, Setup, no_quality
from benchmarks.quality import Load
from benchmarks.tables import Scale, size

MEMBERS = 50
ONLINE_MEMBERS = 10
BATCH = 500


def benchmarks(scale: Scale) -> list[Benchmark]:
    n, d = scale.rows(10_000), 20
    return [
        _bagging(f"classes-{size(n, d)}", "BaggingClassifier", partial(tables.classes, n, d), accuracy_score),
        _bagging(f"numbers-{size(n, d)}", "BaggingRegressor", partial(tables.values, n, d), r2_score),
        _online("OnlineBaggingClassifier", partial(tables.classes, n, d)),
        _online("OnlineBaggingRegressor", partial(tables.values, n, d)),
        _online("OnlineBoostingClassifier", partial(tables.classes, n, d)),
    ]


def _bagging(name: str, kind: str, load: Load, score: Callable[..., float]) -> Benchmark:
    makers = {
        "committee": partial(getattr(committee, kind), n_estimators=MEMBERS, n_jobs=1, random_state=0),
        "sklearn": partial(getattr(peer, kind), n_estimators=MEMBERS, n_jobs=1, random_state=0),
    }

    def setup(make: Callable[[], Any]) -> Setup:
        def prepare() -> Call:
            split = load()
            return lambda: make().fit(split.X, split.y)

        return prepare

    def quality(model: Any) -> Mapping[str, float]:
        split = load()
        return {score.__name__.removesuffix("_score"): float(score(split.y_test, model.predict(split.X_test)))}

    task = f"bagging of {MEMBERS} full trees, {name.replace('-', ', ', 1)}"
    contenders = {contender: setup(make) for contender, make in makers.items()}
    return Benchmark(f"bagging/{name}", task, contenders, quality, covers=(kind,))


def _online(kind: str, load: Load) -> Benchmark:
    """All rows in batches; the loop gives every member every row as often as ours does, and collects no evidence."""

    def ours() -> Call:
        return partial(_feed, partial(getattr(committee, kind), n_estimators=ONLINE_MEMBERS, random_state=0), load)

    def loop() -> Call:
        split = load()
        learner = getattr(committee, kind)(n_estimators=ONLINE_MEMBERS, random_state=0)
        members = learner.fit(split.X[:BATCH], split.y[:BATCH]).members_
        return partial(_feed, partial(_Loop, members, len(split.y)), load)

    contenders = {"committee": ours, "members in a loop": loop}
    task = f"{kind} of {ONLINE_MEMBERS} members, batches of {BATCH} rows"
    return Benchmark(f"bagging/{kind}", task, contenders, no_quality, covers=(kind,))


class _Loop:
    """The estimators of members that learn every row Poisson(1) times, as online bagging has it."""

    def __init__(self, members: Sequence[Any], n_rows: int) -> None:
        self.members: list[Any] = [clone(member.estimator) for member in members]
        self.counts = [member.counts(0, np.ones(n_rows)) for member in members]
        self.n_seen = 0

    def partial_fit(self, X: Any, y: Any, **more: Any) -> None:
        for member, counts in zip(self.members, self.counts, strict=True):
            count = counts[self.n_seen : self.n_seen + len(y)]
            seen = count > 0.0
            member.partial_fit(X[seen], y[seen], sample_weight=count[seen], **more)
        self.n_seen += len(y)


def _feed(make: Callable[[], Any], load: Load) -> None:
    split, model = load(), make()
    more = {} if split.y.dtype.kind == "f" else {"classes": np.unique(split.y)}
    for first in range(0, len(split.y), BATCH):
        rows = slice(first, first + BATCH)
        model.partial_fit(split.X[rows], split.y[rows], **more)
        more = {}
