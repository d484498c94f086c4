"""Growing trees: the whole call of `fit`, validation and binning included, against scikit-learn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from sklearn import tree as peer

from benchmarks import tables
from benchmarks.harness import Benchmark, Clock, Goal, Setup
from benchmarks.quality import Load, of_classifier, of_regressor
from benchmarks.tables import Scale, size
from committee import DecisionStump, DecisionTreeClassifier, DecisionTreeRegressor

Make = Callable[[], Any]

GOALS = (Goal("committee best", 0.25, "sklearn"), Goal("committee binned", 0.12, "sklearn"))
"""Those of a fully grown tree of the first issue."""


def benchmarks(scale: Scale) -> list[Benchmark]:
    return [
        *_fully_grown(scale),
        *_untuned_shapes(scale),
        *_limited(scale),
        *_real_data(scale),
        *_two_threads(scale),
    ]


def _fully_grown(scale: Scale) -> list[Benchmark]:
    rows: list[Benchmark] = []
    for n in (scale.rows(20_000), scale.rows(200_000)):
        two, seven = partial(tables.classes, n, 30), partial(tables.classes, n, 30, 7)
        at = size(n, 30)
        rows += [
            _classifier(f"classification-{at}", f"two classes, {at}, fully grown", two, goals=GOALS),
            _classifier(f"seven-classes-{at}", f"seven classes, {at}, fully grown", seven),
            _regressor(f"regression-{at}", f"regression, {at}, fully grown", partial(tables.values, n, 30)),
        ]
    return rows


def _untuned_shapes(scale: Scale) -> list[Benchmark]:
    wide, tall, coarse = scale.rows(1000), scale.rows(100_000), scale.rows(50_000)
    holes, absolute = scale.rows(20_000), scale.rows(5000)
    return [
        _classifier("wide-" + size(wide, 500), "many features, few rows", partial(tables.classes, wide, 500)),
        _classifier("tall-" + size(tall, 5), "many rows, few features", partial(tables.classes, tall, 5)),
        _classifier(
            "integers-" + size(coarse, 20), "at most 11 distinct values", partial(tables.small_integers, coarse, 20)
        ),
        _classifier(
            "missing-" + size(holes, 30), "a tenth of the cells missing", partial(tables.with_missing, holes, 30)
        ),
        _regressor(
            "absolute-error-" + size(absolute, 10),
            "leaves are medians, fully grown",
            partial(tables.values, absolute, 10),
            criterion="absolute_error",
        ),
    ]


def _limited(scale: Scale) -> list[Benchmark]:
    n = scale.rows(200_000)
    load, at = partial(tables.classes, n, 30), size(n, 30)
    stumps = {f"committee {splitter}": _maker(DecisionStump, splitter=splitter) for splitter in ("best", "binned")}
    one_split = {"sklearn": _maker(peer.DecisionTreeClassifier, max_depth=1, random_state=0)}
    return [
        _random_splits(scale.rows(20_000)),
        _random_splits(n),
        _classifier(f"best-first-{at}", f"best-first, {at}, 31 leaves", load, max_leaf_nodes=31),
        _fit(f"stump-{at}", f"one split, {at}: least error (sklearn: gini)", load, stumps, one_split),
    ]


def _random_splits(n: int) -> Benchmark:
    ours = {"committee random": _maker(DecisionTreeClassifier, splitter="random", random_state=0)}
    theirs = {"sklearn": _maker(peer.DecisionTreeClassifier, splitter="random", random_state=0)}
    at = size(n, 30)
    task = f"extra-tree, {at}, fully grown: one random threshold a feature"
    return _fit(f"random-{at}", task, partial(tables.classes, n, 30), ours, theirs)


def _real_data(scale: Scale) -> list[Benchmark]:
    return [
        _classifier("covertype", "forest cover, 70k x 54, seven classes", partial(tables.covertype, scale)),
        _regressor(
            "california-housing", "house values, 15k x 8, some missing", partial(tables.california_housing, scale)
        ),
        _classifier("adult", "income, 24k x 14, texts as ordinal codes", partial(tables.adult, scale)),
    ]


def _two_threads(scale: Scale) -> list[Benchmark]:
    n = scale.rows(200_000)
    load = partial(tables.classes, n, 30)
    rows: list[Benchmark] = []
    for splitter in ("best", "binned"):
        makers = {
            f"committee {threads}": _maker(DecisionTreeClassifier, splitter=splitter, n_jobs=n_jobs, random_state=0)
            for threads, n_jobs in (("two threads", 2), ("one thread", 1))
        }
        task = f'splitter="{splitter}", {size(n, 30)}, fully grown: two threads over one'
        row = _fit(f"threads-{splitter}-{size(n, 30)}", task, load, makers, {}, clock="wall")
        rows.append(row._replace(peers=("committee one thread",)))
    return rows


# --- from a model to a row -------------------------------------------------------------------------------------------


def _maker(model: type, **params: Any) -> Make:
    return partial(model, **params)


def _fit_setup(make: Make, load: Load) -> Setup:
    def setup() -> Callable[[], Any]:
        split = load()
        return lambda: make().fit(split.X, split.y)

    return setup


def _fit(
    name: str,
    task: str,
    load: Load,
    ours: Mapping[str, Make],
    theirs: Mapping[str, Make],
    goals: tuple[Goal, ...] = (),
    clock: Clock = "cpu",
) -> Benchmark:
    makers = {**ours, **theirs}
    covers = tuple({type(make()).__name__ for make in ours.values()})
    is_regressor = "DecisionTreeRegressor" in covers
    return Benchmark(
        name=f"trees/{name}",
        task=task,
        contenders={contender: _fit_setup(make, load) for contender, make in makers.items()},
        quality=of_regressor(load) if is_regressor else of_classifier(load),
        clock=clock,
        goals=goals,
        covers=covers,
    )


def _classifier(name: str, task: str, load: Load, goals: tuple[Goal, ...] = (), **params: Any) -> Benchmark:
    return _both_splitters(name, task, load, (DecisionTreeClassifier, peer.DecisionTreeClassifier), goals, params)


def _regressor(name: str, task: str, load: Load, goals: tuple[Goal, ...] = (), **params: Any) -> Benchmark:
    return _both_splitters(name, task, load, (DecisionTreeRegressor, peer.DecisionTreeRegressor), goals, params)


def _both_splitters(
    name: str, task: str, load: Load, models: tuple[type, type], goals: tuple[Goal, ...], params: Mapping[str, Any]
) -> Benchmark:
    ours, theirs = models
    makers = {
        f"committee {splitter}": _maker(ours, splitter=splitter, random_state=0, **params)
        for splitter in ("best", "binned")
    }
    return _fit(name, task, load, makers, {"sklearn": _maker(theirs, random_state=0, **params)}, goals)
