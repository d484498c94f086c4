"""Cost-complexity pruning against scikit-learn: the path, and the choice of alpha by cross-validation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import tree as peer
from sklearn.model_selection import StratifiedKFold
from sklearn.tree._tree import ccp_pruning_path

from benchmarks import tables
from benchmarks.harness import Benchmark
from benchmarks.quality import Load, of_classifier
from benchmarks.tables import Scale, size
from committee import DecisionTreeClassifier
from committee.trees.pruning import pruning_path

COVERS = ("DecisionTreeClassifier",)
N_FOLDS = 10
N_ALPHAS = 10
"""Our choice evaluates every alpha of the path; the loop around scikit-learn can afford so many."""


def benchmarks(scale: Scale) -> list[Benchmark]:
    n = scale.rows(20_000)
    load, at = partial(tables.classes, n, 30), size(n, 30)
    return [
        Benchmark(
            name=f"pruning/path-{at}",
            task=f"the pruning path of a fully grown tree, {at}, without the growing",
            contenders={"committee": partial(_our_path, load), "sklearn": partial(_their_path, load)},
            quality=_describe_path,
            covers=COVERS,
        ),
        Benchmark(
            name=f"pruning/fit-and-path-{at}",
            task=f"cost_complexity_pruning_path, {at}, the growing included",
            contenders={
                "committee": partial(_grow_and_path, DecisionTreeClassifier(splitter="best", random_state=0), load),
                "sklearn": partial(_grow_and_path, peer.DecisionTreeClassifier(random_state=0), load),
            },
            quality=_describe_path,
            covers=COVERS,
        ),
        Benchmark(
            name=f"pruning/cross-validated-{at}",
            task=f"alpha by {N_FOLDS} folds and the one-standard-error rule, {at} (sklearn: {N_ALPHAS} alphas only)",
            contenders={"committee": partial(_our_choice, load), "sklearn": partial(_their_choice, load)},
            quality=of_classifier(load),
            covers=COVERS,
        ),
    ]


def _our_path(load: Load) -> Callable[[], Any]:
    split = load()
    model = DecisionTreeClassifier(splitter="best", random_state=0).fit(split.X, split.y)
    return lambda: pruning_path(model.tree_.arrays).alpha


def _their_path(load: Load) -> Callable[[], Any]:
    split = load()
    model = peer.DecisionTreeClassifier(random_state=0).fit(split.X, split.y)
    return lambda: ccp_pruning_path(model.tree_)["ccp_alphas"]


def _grow_and_path(model: Any, load: Load) -> Callable[[], Any]:
    split = load()
    return lambda: model.cost_complexity_pruning_path(split.X, split.y).ccp_alphas


def _describe_path(alphas: NDArray[np.float64]) -> Mapping[str, float]:
    return {"distinct alphas": len(np.unique(np.round(alphas, 12))), "last alpha": float(alphas[-1])}


def _our_choice(load: Load) -> Callable[[], Any]:
    split = load()
    model = DecisionTreeClassifier(splitter="best", ccp_alpha="cv", cv=N_FOLDS, random_state=0)
    return lambda: model.fit(split.X, split.y)


def _their_choice(load: Load) -> Callable[[], Any]:
    split = load()
    return lambda: _choose_alpha(split.X, split.y)


def _choose_alpha(X: NDArray[Any], y: NDArray[Any]) -> peer.DecisionTreeClassifier:
    """What a careful user of scikit-learn writes: trees of a few alphas on each fold, then the largest good alpha."""
    path = peer.DecisionTreeClassifier(random_state=0).cost_complexity_pruning_path(X, y)
    alphas = np.quantile(path.ccp_alphas, np.linspace(0.0, 1.0, N_ALPHAS), method="nearest")
    wrong = np.empty((N_ALPHAS, len(X)))
    for train, test in StratifiedKFold(N_FOLDS, shuffle=True, random_state=0).split(X, y):
        for a, alpha in enumerate(alphas):
            model = peer.DecisionTreeClassifier(ccp_alpha=alpha, random_state=0).fit(X[train], y[train])
            wrong[a, test] = model.predict(X[test]) != y[test]
    mean, error = wrong.mean(axis=1), wrong.std(axis=1) / np.sqrt(len(X))
    best = int(mean.argmin())
    chosen = alphas[mean <= mean[best] + error[best]].max()
    return peer.DecisionTreeClassifier(ccp_alpha=chosen, random_state=0).fit(X, y)
