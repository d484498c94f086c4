"""How good gradient boosting is on public data: with equal parameters, and as it comes, by three-fold cross-validation.

`python -m benchmarks.gradient_boosting_quality --equal` and `--defaults`. Every method gets the same folds and the same
frame: numbers, missing values and categories as they are. With `--cache FILE` scores of other libraries are kept, and
those of the same version on the same rows are not measured again; ours always are.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.model_selection import KFold, StratifiedKFold
from threadpoolctl import threadpool_limits

import committee
from benchmarks.gradient_boosters import lightgbm_model, our_model
from benchmarks.harness import Skip
from benchmarks.machine import describe_machine
from benchmarks.open_data import SETS, DataSet, Table, load
from benchmarks.quality import root_mean_squared_error, smoothed_log_loss
from benchmarks.report import markdown_table, seconds_text

QUALITY = Path(__file__).with_name("QUALITY.md")
OURS = "committee"
FOLDS = 3
EQUAL_GOAL = 1.01

EQUAL_SETS = (
    "adult", "airline-delay", "churn", "german-credit", "higgs-7k", "phoneme", "spambase", "covertype",
    "lightgbm-5-classes", "optdigits", "segment", "waveform", "yeast", "abalone", "bank32nh", "california", "concrete",
    "diamonds", "elevators", "insurance", "kin8nm", "wine-white",
)  # fmt: skip
"""Sets of a thousand rows and more whose loss is far from 0, where a ratio of losses means something."""


COSTLY = frozenset({"covertype", "letter", "lightgbm-5-classes", "nursery", "optdigits", "soybean"})
"""Many classes or categories: CatBoost was not done with two of them after three minutes, and with the others it is
expected to take as long; their samples have not been timed. With --defaults they are evaluated when named."""

CHOOSING = frozenset(data.name for data in SETS[::2])
"""Every second set: our automatic values were chosen on these, and the others show whether they hold elsewhere."""


class Method(NamedTuple):
    """A way to a model. `make(is_class, categorical)` returns one to be fitted on what `prepare` makes of a frame."""

    make: Callable[[bool, list[str]], Any]
    package: str
    prepare: Callable[[Any], Any] = lambda frame: frame


class Score(NamedTuple):
    """Loss of every fold (log-loss, or RMSE) and the CPU seconds of all fits and predictions."""

    losses: tuple[float, ...]
    seconds: float

    @property
    def loss(self) -> float:
        return float(np.mean(self.losses))


class Evaluation(NamedTuple):
    """One set; a method that failed on it is not among the scores."""

    data: DataSet
    n_rows: int
    n_features: int
    scores: Mapping[str, Score]


# --- the methods -----------------------------------------------------------------------------------------------------


def equal_methods() -> dict[str, Method]:
    return {
        OURS: Method(lambda is_class, _: our_model(is_class), OURS),
        "lightgbm": Method(lambda is_class, _: lightgbm_model(is_class), "lightgbm"),
    }


def default_methods() -> dict[str, Method]:
    """Every library as it comes, at one thread; those that take categories get the names of their columns."""
    return {
        OURS: Method(_our_default, OURS),
        "lightgbm": Method(_lightgbm_default, "lightgbm"),
        "xgboost": Method(_xgboost_default, "xgboost"),
        "sklearn HGB": Method(_sklearn_default, "scikit-learn"),
        "catboost": Method(_catboost_default, "catboost", _with_named_holes),
        "chimeraboost": Method(_chimeraboost_default, "chimeraboost", _with_named_holes),
    }


def _our_default(is_class: bool, _: list[str]) -> Any:
    kind: Any = committee.GradientBoostingClassifier if is_class else committee.GradientBoostingRegressor
    return kind(n_jobs=1, random_state=0)


def _lightgbm_default(is_class: bool, _: list[str]) -> Any:
    import lightgbm

    kind: Any = lightgbm.LGBMClassifier if is_class else lightgbm.LGBMRegressor
    return kind(n_jobs=1, verbosity=-1)


def _xgboost_default(is_class: bool, _: list[str]) -> Any:
    import xgboost

    kind: Any = xgboost.XGBClassifier if is_class else xgboost.XGBRegressor
    return kind(n_jobs=1, enable_categorical=True)


def _sklearn_default(is_class: bool, _: list[str]) -> Any:
    from sklearn import ensemble

    kind: Any = ensemble.HistGradientBoostingClassifier if is_class else ensemble.HistGradientBoostingRegressor
    return kind(random_state=0)


def _catboost_default(is_class: bool, categorical: list[str]) -> Any:
    import catboost

    kind: Any = catboost.CatBoostClassifier if is_class else catboost.CatBoostRegressor
    return kind(cat_features=categorical, thread_count=1, verbose=0, allow_writing_files=False)


def _chimeraboost_default(is_class: bool, categorical: list[str]) -> Any:
    import chimeraboost

    kind: Any = chimeraboost.ChimeraBoostClassifier if is_class else chimeraboost.ChimeraBoostRegressor
    return kind(cat_features=categorical, thread_count=1, random_state=0)


def _with_named_holes(frame: Any) -> Any:
    """Categories as texts, a missing one as a text of its own: neither library takes holes among texts."""
    texts = {name: frame[name].astype(object).fillna("missing") for name in frame.select_dtypes("category").columns}
    return frame.assign(**texts)


# --- scores of earlier runs ------------------------------------------------------------------------------------------


class Cache:
    """Scores of other libraries in a file, by the kind of table, set, rows, method and its version."""

    def __init__(self, path: Path | None, kind: str) -> None:
        self.path, self.kind = path, kind
        self.known: dict[str, Any] = json.loads(path.read_text()) if path is not None and path.exists() else {}

    def key(self, data: DataSet, n_rows: int, name: str, method: Method) -> str:
        return f"{self.kind}, {data.name}, {n_rows} rows, {name}, {method.package} {version(method.package)}"

    def find(self, key: str, name: str) -> Score | None:
        result = self.known.get(key)
        return None if result is None or name == OURS else Score(tuple(result["losses"]), result["seconds"])

    def keep(self, key: str, score: Score) -> None:
        self.known[key] = {"losses": list(score.losses), "seconds": score.seconds}
        if self.path is not None:
            self.path.write_text(json.dumps(self.known, indent=1))


# --- cross-validation ------------------------------------------------------------------------------------------------


def evaluate(data: DataSet, methods: Mapping[str, Method], cached: Cache, say: Callable[[str], None]) -> Evaluation:
    """Cross-validate every method on the same folds; one that is not installed or fails says so and is left out."""
    table = load(data)
    is_class = data.task != "regression"
    folds: Any = StratifiedKFold if is_class else KFold
    parts = list(folds(FOLDS, shuffle=True, random_state=0).split(table.X, table.y))
    say(f"{data.name}: {len(table.y)} rows x {table.X.shape[1]}, {len(table.categorical)} of categories, {data.task}")
    scores: dict[str, Score] = {}
    for name, method in methods.items():
        try:
            key = cached.key(data, len(table.y), name, method)
            scores[name] = cached.find(key, name) or _cross_validate(method, table, is_class, parts)
            cached.keep(key, scores[name])
        except Exception as error:
            say(f"    {name} is left out: {type(error).__name__}: {str(error)[:200]}")
        else:
            say(f"    {name}: {scores[name].loss:.5g} in {seconds_text(scores[name].seconds)}")
    return Evaluation(data, len(table.y), table.X.shape[1], scores)


def _cross_validate(method: Method, table: Table, is_class: bool, parts: Sequence[Any]) -> Score:
    X = method.prepare(table.X)
    losses: list[float] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # other libraries' advice is not ours to follow here
        _warm_up(method, is_class)
        began = time.process_time()
        for train, test in parts:
            model = method.make(is_class, table.categorical).fit(X.iloc[train], table.y[train])
            if is_class:
                losses.append(smoothed_log_loss(table.y[test], model.predict_proba(X.iloc[test])))
            else:
                losses.append(root_mean_squared_error(table.y[test], model.predict(X.iloc[test])))
    return Score(tuple(losses), time.process_time() - began)


@cache
def _warm_up(method: Method, is_class: bool) -> None:
    """One fit before any that counts: imports and compilers are no part of anyone's time."""
    import pandas as pd

    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(2500, 3)), columns=["a", "b", "c"])
    X["d"] = pd.Categorical(rng.choice(["one", "two", "three"], len(X)))
    y = X["a"].to_numpy() + rng.normal(size=len(X))
    targets = [y > 0, np.digitize(y, [-1.0, 1.0])] if is_class else [y]
    for target in targets:
        method.make(is_class, ["d"]).fit(method.prepare(X), target.astype(int) if is_class else target)


# --- the tables ------------------------------------------------------------------------------------------------------


def equal_section(results: Sequence[Evaluation]) -> str:
    """Losses of ours and LightGBM's, their ratio, and its mean."""
    both = [result for result in results if {OURS, "lightgbm"} <= result.scores.keys()]
    ratio = np.array([result.scores[OURS].loss / result.scores["lightgbm"].loss for result in both])
    rows = [
        [*_facts(result), *_losses(result, (OURS, "lightgbm")), f"{value:.4f}"]
        for result, value in zip(both, ratio, strict=True)
    ]
    return "\n\n".join(
        [
            "100 trees of 31 leaves, learning rate 0.1, 255 bins, 20 rows in a leaf, no early stopping. A ratio below "
            f"1 is a smaller loss of ours. Of {_sampled(both)} a sample of the rows is taken.",
            _equal_outcome(ratio) if both else "",
            markdown_table(("set", "task", "size", OURS, "lightgbm", "ours / lightgbm"), rows),
            markdown_table(("CPU time, all fits and predictions", ""), _times(both, (OURS, "lightgbm"))),
        ]
    )


def _equal_outcome(ratio: NDArray[np.float64]) -> str:
    mean = float(ratio.mean())
    return (
        f"Mean ratio over {len(ratio)} sets **{mean:.4f}** (from {ratio.min():.4f} to {ratio.max():.4f}; ours smaller "
        f"on {np.sum(ratio < 1.0)}). Goal: at most {EQUAL_GOAL:g}: {'met' if mean <= EQUAL_GOAL else 'missed'}."
    )


def default_section(results: Sequence[Evaluation]) -> str:
    """Losses of all, mean ranks and wins."""
    names = _methods_of(results)
    summary = [
        [
            name, f"{rank:.2f}", str(wins), f"{ratio:.4f}", "" if name == OURS else f"{beaten} of {shared}",
            seconds_text(sum(result.scores[name].seconds for result in results if name in result.scores)),
        ]
        for name, rank, wins, ratio, beaten, shared in summarise(results)
    ]  # fmt: skip
    header = ("method", "mean rank", "wins", "mean loss / smallest", "ours smaller on", "CPU time")
    best = ["" if not result.scores else min(s.loss for s in result.scores.values()) for result in results]
    rows = [
        [
            *_marked_facts(result),
            *(f"**{text}**" if _has(result, name, least) else text for name, text in _named(result, names)),
        ]
        for result, least in zip(results, best, strict=True)
    ]
    return "\n\n".join(
        [
            f"Every library as it comes, at one thread. Ranks over {len(results)} sets, 1 is the smallest loss; a "
            "method that fails on a set is last there. Wins are smallest losses. CPU time is of all fits and "
            "predictions. "
            f"Of {_sampled(results)} a sample of the rows is taken. {_left_out(results)}",
            markdown_table(header, summary),
            "Our automatic values were chosen on sets marked \\*; mean ranks there and on the others:",
            markdown_table(("method", "chosen on", "others"), _ranks_apart(results)),
            markdown_table(("set", "task", "size", *names), rows),
        ]
    )


class Summary(NamedTuple):
    """One method over all sets."""

    name: str
    mean_rank: float
    wins: int
    mean_ratio: float  # of its loss to the smallest, over the sets it could do; geometric mean
    beaten: int  # sets on which ours has a smaller loss
    shared: int  # sets that both could do


def summarise(results: Sequence[Evaluation]) -> list[Summary]:
    """Best mean rank first."""
    names = _methods_of(results)
    loss = np.array([[result.scores[n].loss if n in result.scores else np.inf for n in names] for result in results])
    if not loss.size:
        return []
    rank = rankdata(loss, axis=1)
    smallest = loss.min(axis=1)
    ours = loss[:, names.index(OURS)] if OURS in names else np.full(len(loss), np.inf)
    result = [
        Summary(
            name, float(rank[:, k].mean()), int(np.sum(loss[:, k] == smallest)), _mean_ratio(loss[:, k], smallest),
            int(np.sum((ours < loss[:, k]) & np.isfinite(loss[:, k]))),
            int(np.sum(np.isfinite(ours) & np.isfinite(loss[:, k]))),
        )
        for k, name in enumerate(names)
    ]  # fmt: skip
    return sorted(result, key=lambda summary: summary.mean_rank)


def _mean_ratio(loss: NDArray[np.float64], smallest: NDArray[np.float64]) -> float:
    """Geometric, so that a set with a loss near 0 does not decide it."""
    done = np.isfinite(loss) & (smallest > 0.0)
    return float(np.exp(np.mean(np.log(loss[done] / smallest[done])))) if done.any() else np.nan


def _methods_of(results: Sequence[Evaluation]) -> list[str]:
    return list(dict.fromkeys(name for result in results for name in result.scores))


def _facts(result: Evaluation) -> list[str]:
    return [result.data.name, result.data.task, f"{result.n_rows} x {result.n_features}"]


def _marked_facts(result: Evaluation) -> list[str]:
    name, *rest = _facts(result)
    return [f"{name} \\*" if name in CHOOSING else name, *rest]


def _sampled(results: Sequence[Evaluation]) -> str:
    names = [result.data.name for result in results if result.n_rows == result.data.most_rows]
    return ", ".join(names) or "no set"


def _left_out(results: Sequence[Evaluation]) -> str:
    names = sorted(COSTLY - {result.data.name for result in results})
    return f"Not evaluated, as too slow with CatBoost by estimate: {', '.join(names)}." if names else ""


def _ranks_apart(results: Sequence[Evaluation]) -> list[list[str]]:
    """Mean ranks over the sets that values were chosen on, and over the others."""
    halves = [[result for result in results if (result.data.name in CHOOSING) == chosen] for chosen in (True, False)]
    ranks = [{summary.name: f"{summary.mean_rank:.2f}" for summary in summarise(half)} for half in halves]
    return [[name, *(half.get(name, "") for half in ranks)] for name in _methods_of(results)]


def _losses(result: Evaluation, names: Sequence[str]) -> list[str]:
    return [f"{result.scores[name].loss:.5g}" if name in result.scores else "failed" for name in names]


def _named(result: Evaluation, names: Sequence[str]) -> list[tuple[str, str]]:
    return list(zip(names, _losses(result, names), strict=True))


def _has(result: Evaluation, name: str, loss: Any) -> bool:
    return name in result.scores and result.scores[name].loss == loss


def _times(results: Sequence[Evaluation], names: Sequence[str]) -> list[list[str]]:
    return [[name, seconds_text(sum(result.scores[name].seconds for result in results))] for name in names]


# --- the file --------------------------------------------------------------------------------------------------------

TITLE = """\
# Quality of gradient boosting on public data

Written by `python -m benchmarks.gradient_boosting_quality`; do not edit. Three-fold cross-validation, the same folds
for all (stratified for classes); log-loss for classes, root mean squared error for numbers, mean over the folds."""

SECTIONS = {"equal": "## Equal parameters", "defaults": "## Defaults"}


def document(new: Mapping[str, str], old: str) -> str:
    """The whole file: sections measured now, and of the file as it was those that were not."""
    kept = {kind: new.get(kind) or _section(old, heading) for kind, heading in SECTIONS.items()}
    parts = [f"{SECTIONS[kind]}\n\n{text}" for kind, text in kept.items() if text]
    return "\n\n".join([TITLE, *parts]) + "\n"


def _section(text: str, heading: str) -> str:
    """What stands under a heading, without it."""
    _, result, rest = text.partition(f"{heading}\n")
    return rest.partition("\n## ")[0].strip() if result else ""


def _machine() -> str:
    facts = describe_machine()
    return "Measured with " + ", ".join(f"{name} {fact}" for name, fact in facts.items()) + "."


# --- the command -----------------------------------------------------------------------------------------------------

KINDS = {"equal": (equal_methods, equal_section), "defaults": (default_methods, default_section)}


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--equal", "kind", flag_value="equal", help="Ours and LightGBM with equal parameters.")
@click.option("--defaults", "kind", flag_value="defaults", help="All libraries as they come.")
@click.option("--sets", "chosen", metavar="A,B", help="Names of sets [all but the slowest].")
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where to write the tables [benchmarks/QUALITY.md, but nowhere with --sets].",
)
@click.option(
    "--cache", "cache_file", type=click.Path(dir_okay=False, path_type=Path), help="Where scores of others are kept."
)
def main(kind: str | None, chosen: str | None, output: Path | None, cache_file: Path | None) -> None:
    """Evaluate gradient boosting on public data; the folder of the data is named by COMMITTEE_DATA."""
    if kind is None:
        raise click.UsageError("choose --equal or --defaults")
    sets = choose_sets(kind, chosen)
    output = output or (None if chosen else QUALITY)
    make_methods, section = KINDS[kind]
    methods, cached, results, text = make_methods(), Cache(cache_file, kind), [], ""
    for number, data in enumerate(sets, 1):
        try:
            with threadpool_limits(1):
                results.append(evaluate(data, methods, cached, partial(_say, f"[{number}/{len(sets)}] ")))
        except Skip as reason:
            _say(f"[{number}/{len(sets)}] ", f"{data.name} is left out: {reason}")
            continue
        text = f"{_machine()}\n\n{section(results)}"
        if output is not None:  # after every set: a run of hours may be ended before its end
            old = output.read_text(encoding="utf-8") if output.exists() else ""
            output.write_text(document({kind: text}, old), encoding="utf-8")
    click.echo(text)


def choose_sets(kind: str, chosen: str | None) -> list[DataSet]:
    by_name = {data.name: data for data in SETS}
    usual = EQUAL_SETS if kind == "equal" else [name for name in by_name if name not in COSTLY]
    names = [name.strip() for name in chosen.split(",")] if chosen else list(usual)
    unknown = [name for name in names if name not in by_name]
    if unknown:
        raise click.UsageError(f"no set is named {', '.join(unknown)}; there are {', '.join(by_name)}")
    return [by_name[name] for name in names]


def _say(prefix: str, text: str) -> None:
    click.echo(text if text.startswith(" ") else prefix + text)


if __name__ == "__main__":
    main()
