"""Random forests: the whole call of `fit`, prediction, out-of-bag curve and importances, against other libraries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn import ensemble as peer
from sklearn.inspection import permutation_importance
from sklearn.metrics import r2_score, roc_auc_score

import committee
from benchmarks import tables
from benchmarks.harness import Benchmark, Call, Goal, Quality, Setup, Skip, no_quality
from benchmarks.quality import Load, of_numbers
from benchmarks.ranger import Ranger
from benchmarks.tables import Scale, Split, size
from committee.explain.forest_importances import forest_importances

Make = Callable[[], Any]

TREES = 100
EXACT, BINNED = "committee exact", "committee binned"
SKLEARN, INTELEX, RANGER = "sklearn", "intelex", "ranger"
SPLITTERS = {EXACT: "best", BINNED: "binned"}
FORM = f"{TREES} full trees"


class Aim(NamedTuple):
    """What exact and binned growth should take at most of each peer's time."""

    exact: Mapping[str, float]
    binned: Mapping[str, float]

    def goals(self) -> tuple[Goal, ...]:
        sides = ((EXACT, self.exact), (BINNED, self.binned))
        return tuple(Goal(ours, most, name) for ours, side in sides for name, most in side.items())


SMALL = Aim({SKLEARN: 0.12, INTELEX: 0.6}, {SKLEARN: 0.07, INTELEX: 0.4})
LARGE = Aim({SKLEARN: 0.22, INTELEX: 0.9}, {SKLEARN: 0.11, INTELEX: 0.45})
REGRESSION = Aim({SKLEARN: 0.2, INTELEX: 0.45}, {SKLEARN: 0.13, INTELEX: 0.3})
REAL = Aim({SKLEARN: 0.2}, {SKLEARN: 0.12})
TWO_THREADS = Aim({RANGER: 0.15}, {RANGER: 0.15})
NONE = Aim({}, {})


def benchmarks(scale: Scale) -> list[Benchmark]:
    return [
        *_two_classes(scale),
        _ten_classes(scale),
        _regression(scale),
        *_extra_trees(scale),
        *_real_data(scale),
        *_two_threads(scale),
        *_predict(scale),
        _oob_curve(scale),
        _permutation(scale),
    ]


# --- fits ------------------------------------------------------------------------------------------------------------


def _two_classes(scale: Scale) -> list[Benchmark]:
    rows: list[Benchmark] = []
    for n_full, d, aim in ((20_000, 30, SMALL), (200_000, 30, LARGE), (5_000, 500, NONE)):
        n = scale.rows(n_full)
        load = partial(tables.classes, n, d)
        rows.append(_fit(f"two-classes-{size(n, d)}", f"two classes, {size(n, d)}, {FORM}", load, aim=aim))
    return rows


def _ten_classes(scale: Scale) -> Benchmark:
    n, d = scale.rows(20_000), 30
    load = partial(tables.classes, n, d, 10)
    return _fit(f"ten-classes-{size(n, d)}", f"ten classes, {size(n, d)}, {FORM}", load)


def _regression(scale: Scale) -> Benchmark:
    n, d = scale.rows(20_000), 30
    load = partial(tables.values, n, d)
    task = f"regression, {size(n, d)}, {FORM}, all features at every node"
    return _fit(f"regression-{size(n, d)}", task, load, is_class=False, aim=REGRESSION)


def _extra_trees(scale: Scale) -> list[Benchmark]:
    n, d = scale.rows(20_000), 30
    loads = {"classes": partial(tables.classes, n, d), "numbers": partial(tables.values, n, d)}
    rows: list[Benchmark] = []
    for what, load in loads.items():
        is_class = what == "classes"
        name = "ExtraTreesClassifier" if is_class else "ExtraTreesRegressor"
        makers = {
            "committee": partial(getattr(committee, name), TREES, n_jobs=1, random_state=0),
            SKLEARN: partial(getattr(peer, name), TREES, n_jobs=1, random_state=0),
            INTELEX: partial(_intelex, name),
        }
        task = f"extremely randomised trees, {what}, {size(n, d)}, {FORM}"
        rows.append(_row(f"extra-trees-{what}-{size(n, d)}", task, load, makers, is_class, (name,)))
    return rows


def _real_data(scale: Scale) -> list[Benchmark]:
    sets: dict[str, tuple[str, Load, bool]] = {
        "covertype-two": ("forest cover, class 2 against the rest, 70k x 54", partial(two_covers, scale), True),
        "covertype-seven": ("forest cover, seven classes, 70k x 54", partial(seven_covers, scale), True),
        "adult": ("income, 24k x 14, texts as ordinal codes", partial(adult, scale), True),
        "spambase": ("spam, 3k x 57", partial(public, "spambase.csv.gz", "spam", scale), True),
        "letter": ("letters, 15k x 16, 26 classes", partial(public, "letter.csv", "lettr", scale), True),
        "california-housing": ("house values, 15k x 8, some missing", partial(tables.california_housing, scale), False),
    }
    return [
        _fit(name, f"{what}, {FORM}", load, is_class=is_class, aim=REAL)
        for name, (what, load, is_class) in sets.items()
    ]


def _two_threads(scale: Scale) -> list[Benchmark]:
    n, d = scale.rows(20_000), 30
    sets: dict[str, tuple[Load, bool]] = {
        f"two classes, {size(n, d)}": (partial(tables.classes, n, d), True),
        f"regression, {size(n, d)}": (partial(tables.values, n, d), False),
        "forest cover, seven classes": (partial(seven_covers, scale), True),
        "letters": (partial(public, "letter.csv", "lettr", scale), True),
        "spam": (partial(public, "spambase.csv.gz", "spam", scale), True),
    }
    rows: list[Benchmark] = []
    for what, (load, is_class) in sets.items():
        # ranger's regression: the root of d features, and nodes of 5 rows or fewer are not split
        more: dict[str, Any] = {} if is_class else {"max_features": "sqrt", "min_samples_split": 6}
        contenders = {name: _fit_setup(make, load) for name, make in _ours(is_class, 2, **more).items()}
        contenders[RANGER] = partial(_ranger_setup, load, is_class)
        row = _row(f"two-threads-{what.replace(', ', '-').replace(' ', '-')}", f"{what}, {FORM}, two threads", load, {},
                   is_class, (_name(is_class),), TWO_THREADS.goals())  # fmt: skip
        rows.append(row._replace(contenders=contenders, clock="wall"))
    return rows


# --- predictions, out-of-bag, importances -----------------------------------------------------------------------------


def _predict(scale: Scale) -> list[Benchmark]:
    n, n_asked, d = scale.rows(20_000), scale.rows(100_000), 30
    load = partial(tables.classes, n, d, 2, n_asked)
    makers = {"committee": _ours(True)[EXACT], **_theirs(True)}
    fitted = f"fitted on {size(n, d)}"
    many = _asking(f"predict-{size(n_asked, d)}", f"predict_proba of {size(n_asked, d)}, {FORM} {fitted}", load, makers)
    one = _asking("predict-one-row", f"predict_proba of one row, {FORM} {fitted}", load, makers, 1)
    return [row._replace(goals=(Goal("committee", 0.4, SKLEARN),)) for row in (many, one)]


def _oob_curve(scale: Scale) -> Benchmark:
    n, d = scale.rows(20_000), 30
    load = partial(tables.classes, n, d)
    without = "committee without"
    makers = {
        "committee with the curve": _ours(True, oob_score=True)[EXACT],
        without: _ours(True)[EXACT],
        "sklearn with oob_score": partial(peer.RandomForestClassifier, TREES, oob_score=True, random_state=0, n_jobs=1),
    }  # fmt: skip
    task = f"out-of-bag error after every tree, two classes, {size(n, d)}, {FORM}: fit with it over fit without"
    goals = (Goal("committee with the curve", 1.15, without),)
    row = _row(f"oob-curve-{size(n, d)}", task, load, makers, True, ("RandomForestClassifier",), goals)
    return row._replace(peers=(without, "sklearn with oob_score"))


def _permutation(scale: Scale) -> Benchmark:
    n, d = scale.rows(20_000), 30
    load = partial(tables.classes, n, d)
    same = "sklearn, same forest"

    def by_us() -> Call:
        split = load()
        forest = committee.RandomForestClassifier(TREES, random_state=0, n_jobs=1).fit(split.X, split.y)
        return lambda: forest_importances(forest, split.X, split.y, kinds=["permutation"], random_state=0, n_jobs=1)

    def by_them(make: Make) -> Call:
        split = load()
        forest = make().fit(split.X, split.y)
        return lambda: permutation_importance(forest, split.X, split.y, n_repeats=1, random_state=0, n_jobs=1)

    return Benchmark(
        name=f"forests/permutation-{size(n, d)}",
        task=f"importances by exchanged values, {size(n, d)}, {FORM}: ours on rows out of bag, theirs on all rows",
        contenders={
            "committee": by_us,
            same: partial(by_them, _ours(True)[EXACT]),
            SKLEARN: partial(by_them, _theirs(True)[SKLEARN]),
        },
        quality=no_quality,
        goals=(Goal("committee", 0.12, same),),
        covers=("forest_importances",),
    )


# --- tables ----------------------------------------------------------------------------------------------------------


def two_covers(scale: Scale) -> Split:
    split = tables.covertype(scale)
    return split._replace(y=(split.y == 2).astype(np.int64), y_test=(split.y_test == 2).astype(np.int64))


def seven_covers(scale: Scale) -> Split:
    split = tables.covertype(scale)
    return split._replace(y=split.y - 1, y_test=split.y_test - 1)


def adult(scale: Scale) -> Split:
    return _coded(tables.adult(scale))


@lru_cache(maxsize=1)
def public(file: str, target: str, scale: Scale) -> Split:
    """A file of public data, numbers and a class, shuffled; a quarter is held out."""
    frame = tables.shared(file)
    y = frame.pop(target).to_numpy(str)
    rows = np.random.default_rng(0).permutation(len(frame))[: len(frame) // scale.divisor]
    n = len(rows) * 3 // 4
    X = frame.to_numpy(np.float64)
    return _coded(Split(X[rows[:n]], y[rows[:n]], X[rows[n:]], y[rows[n:]]))


def _coded(split: Split) -> Split:
    classes = np.unique(split.y)
    return split._replace(y=np.searchsorted(classes, split.y), y_test=np.searchsorted(classes, split.y_test))


# --- from a model to a row -------------------------------------------------------------------------------------------


def _name(is_class: bool) -> str:
    return "RandomForestClassifier" if is_class else "RandomForestRegressor"


def _ours(is_class: bool, n_jobs: int = 1, **more: Any) -> dict[str, Make]:
    """Without out-of-bag errors, which the others do not measure either."""
    kind: Any = getattr(committee, _name(is_class))
    params: dict[str, Any] = {"oob_score": False, "n_jobs": n_jobs, "random_state": 0, **more}
    return {name: partial(kind, TREES, splitter=splitter, **params) for name, splitter in SPLITTERS.items()}


def _theirs(is_class: bool) -> dict[str, Make]:
    kind: Any = getattr(peer, _name(is_class))
    return {
        SKLEARN: partial(kind, TREES, n_jobs=1, random_state=0),
        INTELEX: partial(_intelex, _name(is_class)),
    }


def _intelex(name: str) -> Any:
    """scikit-learn-intelex; tables with missing values it hands on to scikit-learn without a word: see `_fit_setup`."""
    from sklearnex import ensemble

    return getattr(ensemble, name)(TREES, n_jobs=1, random_state=0)


def _fit(name: str, task: str, load: Load, *, is_class: bool = True, aim: Aim = NONE) -> Benchmark:
    makers = {**_ours(is_class), **_theirs(is_class)}
    return _row(name, task, load, makers, is_class, (_name(is_class),), aim.goals())


def _row(
    name: str,
    task: str,
    load: Load,
    makers: Mapping[str, Make],
    is_class: bool,
    covers: tuple[str, ...],
    goals: tuple[Goal, ...] = (),
) -> Benchmark:
    return Benchmark(
        name=f"forests/{name}",
        task=task,
        contenders={contender: _fit_setup(make, load) for contender, make in makers.items()},
        quality=partial(_evaluate, load, is_class),
        goals=goals,
        covers=covers,
    )


def _fit_setup(make: Make, load: Load) -> Setup:
    def setup() -> Call:
        split = load()
        if "sklearnex" in type(make()).__module__ and np.isnan(split.X).any():
            raise Skip("it has no forests of its own for missing values")
        return lambda: make().fit(split.X, split.y)

    return setup


def _ranger_setup(load: Load, is_class: bool) -> Call:
    return Ranger(load(), is_class, TREES, n_threads=2).fit


def _asking(name: str, task: str, load: Load, makers: Mapping[str, Make], n_asked: int | None = None) -> Benchmark:
    def asking(make: Make) -> Setup:
        def setup() -> Call:
            split = load()
            X, forest = split.X_test[:n_asked], make().fit(split.X, split.y)
            return lambda: forest.predict_proba(X)

        return setup

    def evaluate(share: NDArray[Any]) -> Mapping[str, float]:
        return of_forest_shares(load().y_test, share)

    quality: Quality = evaluate if n_asked is None else no_quality
    contenders = {contender: asking(make) for contender, make in makers.items()}
    return Benchmark(f"forests/{name}", task, contenders, quality, covers=("RandomForestClassifier",))


def _evaluate(load: Load, is_class: bool, model: Any) -> Mapping[str, float]:
    split = load()
    if isinstance(model, Ranger):
        predicted = model.predictions()
    else:
        predicted = model.predict_proba(split.X_test) if is_class else model.predict(split.X_test)
    if is_class:
        return of_forest_shares(split.y_test, predicted)
    return {"R2": float(r2_score(split.y_test, predicted)), **of_numbers(split.y_test, predicted)}


def of_forest_shares(y: NDArray[np.int64], share: NDArray[Any]) -> Mapping[str, float]:
    """Accuracy, and the AUC of two classes; classes are 0, 1, 2 ..."""
    result = {"accuracy": float(np.mean(share.argmax(axis=1) == y))}
    return {**result, "AUC": float(roc_auc_score(y, share[:, 1]))} if share.shape[1] == 2 else result
