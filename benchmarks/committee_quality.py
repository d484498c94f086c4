"""How good a committee is on public data, beside every library as it comes, by three-fold cross-validation.

`python -m benchmarks.committee_quality`. Every method gets the same folds and the same frame: numbers, missing values
and categories as they are (scikit-learn's forests get categories as codes, for they take no others). The loss is the
test error: the fraction of wrong classes, or the root mean squared error. Each result is kept as a JSON file in the
folder `--cache`, so that a run that was ended goes on where it was; `--fresh NAME` measures a method again.
"""

from __future__ import annotations

import json
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.model_selection import KFold, StratifiedKFold
from threadpoolctl import threadpool_limits

from benchmarks.gradient_boosting_quality import CHOOSING, COSTLY, Method, default_methods
from benchmarks.harness import Skip
from benchmarks.machine import describe_machine
from benchmarks.open_data import SETS, DataSet, Table, load
from benchmarks.quality import smoothed_log_loss
from benchmarks.report import markdown_table, seconds_text

RESULT = Path(__file__).with_name("COMMITTEE.md")
OURS = "committee"
PEER_IN_TIME = "catboost"
FOLDS = 3
KEPT = Path(tempfile.gettempdir()) / "committee_quality"


class Evaluation(NamedTuple):
    """One method on one set: of every fold the error (and the log-loss of classes), and CPU seconds of all folds."""

    errors: tuple[float, ...]
    log_losses: tuple[float, ...]
    seconds: float
    members: Mapping[str, tuple[float, float]]
    """Of every member of ours: its loss less the committee's, mean over all test rows, and the standard error of that.
    The loss of a row is 0 or 1, or the squared error."""
    loss_error: float = 0.0
    """The standard error of the mean loss over all test rows."""

    @property
    def error(self) -> float:
        return float(np.mean(self.errors))

    @property
    def log_loss(self) -> float:
        return float(np.mean(self.log_losses)) if self.log_losses else np.nan


class SetResult(NamedTuple):
    """One set; a method that failed on it is not among the results."""

    data: DataSet
    n_rows: int
    n_features: int
    by_method: Mapping[str, Evaluation]


# --- the methods -----------------------------------------------------------------------------------------------------


def methods() -> dict[str, Method]:
    """Every library as it comes, at one thread."""
    boosters = default_methods()
    peers = {name: boosters[name] for name in ("catboost", "lightgbm", "xgboost", "sklearn HGB")}
    return {
        OURS: Method(_our_default, OURS),
        **peers,
        "sklearn random forest": Method(_random_forest, "scikit-learn", _with_codes),
        "sklearn extra trees": Method(_extra_trees, "scikit-learn", _with_codes),
    }


def _our_default(is_class: bool, _: list[str]) -> Any:
    from committee.committees.committee import CommitteeClassifier, CommitteeRegressor

    kind: Any = CommitteeClassifier if is_class else CommitteeRegressor
    return kind(keep_dropped=True, n_jobs=1, random_state=0)  # dropped members are evaluated below, off the clock


def _random_forest(is_class: bool, _: list[str]) -> Any:
    from sklearn import ensemble

    kind: Any = ensemble.RandomForestClassifier if is_class else ensemble.RandomForestRegressor
    return kind(random_state=0)


def _extra_trees(is_class: bool, _: list[str]) -> Any:
    from sklearn import ensemble

    kind: Any = ensemble.ExtraTreesClassifier if is_class else ensemble.ExtraTreesRegressor
    return kind(random_state=0)


def _with_codes(frame: Any) -> Any:
    """Categories as numbers, for libraries that take no others; a missing one stays missing."""
    codes = {name: frame[name].cat.codes for name in frame.select_dtypes("category").columns}
    return frame.assign(**{name: code.where(code >= 0).astype(np.float64) for name, code in codes.items()})


# --- results of earlier runs -----------------------------------------------------------------------------------------


class Kept:
    """Results in a folder, one file for each method, version and set."""

    def __init__(self, folder: Path, fresh: Sequence[str]) -> None:
        self.folder, self.fresh = folder, set(fresh)
        folder.mkdir(parents=True, exist_ok=True)

    def path(self, data: DataSet, n_rows: int, name: str, package: str) -> Path:
        return self.folder / f"{data.name} {n_rows} {name} {package} {version(package)}.json".replace(" ", "_")

    def find(self, path: Path, name: str) -> Evaluation | None:
        if name in self.fresh or not path.exists():
            return None
        found = json.loads(path.read_text(encoding="utf-8"))
        members = {member: tuple(numbers) for member, numbers in found["members"].items()}
        losses = tuple(found["errors"]), tuple(found["log_losses"])
        return Evaluation(*losses, found["seconds"], members, found.get("loss_error", 0.0))

    def keep(self, path: Path, evaluated: Evaluation) -> None:
        path.write_text(json.dumps(evaluated._asdict(), indent=1), encoding="utf-8")


# --- cross-validation ------------------------------------------------------------------------------------------------


def evaluate(data: DataSet, chosen: Mapping[str, Method], kept: Kept, say: Callable[[str], None]) -> SetResult:
    """Cross-validate every method on the same folds; one that is not installed or fails says so and is left out."""
    table = load(data)
    is_class = data.task != "regression"
    folds: Any = StratifiedKFold if is_class else KFold
    parts = list(folds(FOLDS, shuffle=True, random_state=0).split(table.X, table.y))
    say(f"{data.name}: {len(table.y)} rows x {table.X.shape[1]}, {len(table.categorical)} of categories, {data.task}")
    results: dict[str, Evaluation] = {}
    for name, method in chosen.items():
        path = kept.path(data, len(table.y), name, method.package)
        try:
            found = kept.find(path, name)
            results[name] = found or cross_validate(method, table, is_class, parts)
            kept.keep(path, results[name])
        except Exception as error:
            say(f"    {name} is left out: {type(error).__name__}: {str(error)[:200]}")
        else:
            say(f"    {name}: {results[name].error:.5g} in {seconds_text(results[name].seconds)}")
    return SetResult(data, len(table.y), table.X.shape[1], results)


def cross_validate(method: Method, table: Table, is_class: bool, parts: Sequence[Any]) -> Evaluation:
    X, errors, log_losses, seconds = method.prepare(table.X), [], [], 0.0
    row_losses: list[dict[str, NDArray[np.float64]]] = []
    every: list[NDArray[np.float64]] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # other libraries' advice is not ours to follow here
        _warm_up(method, is_class)
        for train, test in parts:
            began = time.process_time()
            model = method.make(is_class, table.categorical).fit(X.iloc[train], table.y[train])
            predicted = model.predict_proba(X.iloc[test]) if is_class else model.predict(X.iloc[test])
            seconds += time.process_time() - began
            loss = _row_loss(predicted, table.y[test], is_class)
            every.append(loss)
            errors.append(float(loss.mean() if is_class else np.sqrt(loss.mean())))
            if is_class:
                log_losses.append(smoothed_log_loss(table.y[test], predicted))
            row_losses.append(_of_members(model, X.iloc[test], table.y[test], loss, is_class))
    losses = np.concatenate(every)
    spread = float(losses.std(ddof=1) / np.sqrt(losses.size))
    return Evaluation(tuple(errors), tuple(log_losses), seconds, _against_members(row_losses), spread)


def _row_loss(predicted: NDArray[Any], y: NDArray[Any], is_class: bool) -> NDArray[np.float64]:
    """Of every row 0 or 1, or the squared error. The classes are 0, 1, 2 ... and all of them are in every part."""
    wrong = predicted.argmax(axis=1) != y if is_class else (np.asarray(predicted, np.float64).ravel() - y) ** 2
    return wrong.astype(np.float64)


def _of_members(
    model: Any, X: Any, y: NDArray[Any], loss: NDArray[np.float64], is_class: bool
) -> dict[str, NDArray[np.float64]]:
    """Losses of the members less those of the committee; nothing where the model is no committee."""
    if not hasattr(model, "member_predictions"):
        return {}
    return {name: _row_loss(predicted, y, is_class) - loss for name, predicted in model.member_predictions(X).items()}


def _against_members(folds: Sequence[Mapping[str, NDArray[np.float64]]]) -> dict[str, tuple[float, float]]:
    names = [name for name in folds[0] if all(name in fold for fold in folds)]
    joined = {name: np.concatenate([fold[name] for fold in folds]) for name in names}
    return {name: (float(d.mean()), float(d.std(ddof=1) / np.sqrt(d.size))) for name, d in joined.items()}


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


def errors_of(results: Sequence[SetResult], names: Sequence[str]) -> NDArray[np.float64]:
    """[sets, methods], infinite where a method failed."""
    return np.array([[r.by_method[n].error if n in r.by_method else np.inf for n in names] for r in results])


class Against(NamedTuple):
    """The committee beside the member that is best in hindsight, on the same test rows."""

    member: str
    excess: float  # of the committee's loss over the member's, as a share of the member's
    by_own_error: float  # the excess in standard errors of the committee's own error
    by_difference: float  # and in standard errors of the difference of the two, row by row


def against_best_member(result: SetResult, is_class: bool) -> Against:
    """Losses are fractions of wrong classes, or mean squared errors."""
    ours = result.by_method[OURS]
    loss = ours.error if is_class else float(np.mean(np.square(ours.errors)))
    name, (difference, paired) = min(ours.members.items(), key=lambda item: item[1][0])
    own = ours.loss_error or np.nan
    by_difference = -difference / paired if paired > 0.0 else 0.0
    return Against(name, -difference / (loss + difference), -difference / own, by_difference)


def summary_table(results: Sequence[SetResult], names: Sequence[str]) -> str:
    error = errors_of(results, names)
    rank, smallest = rankdata(error, axis=1), error.min(axis=1)
    ours = error[:, names.index(OURS)]
    rows = [
        (
            float(rank[:, k].mean()),
            [
                name, f"{rank[:, k].mean():.2f}", str(int(np.sum(error[:, k] == smallest))),
                f"{_mean_ratio(error[:, k], smallest):.4f}",
                "" if name == OURS else f"{np.sum(ours < error[:, k])} of {len(results)}",
                seconds_text(sum(r.by_method[name].seconds for r in results if name in r.by_method)),
            ],
        )
        for k, name in enumerate(names)
    ]  # fmt: skip
    header = ("method", "mean rank", "wins", "mean error / smallest", "ours smaller on", "CPU time")
    return markdown_table(header, [row for _, row in sorted(rows)])


def _mean_ratio(error: NDArray[np.float64], smallest: NDArray[np.float64]) -> float:
    """Geometric; sets that someone does without an error have none."""
    done = np.isfinite(error) & (smallest > 0.0)
    return float(np.exp(np.mean(np.log(error[done] / smallest[done])))) if done.any() else np.nan


def ranks_apart(results: Sequence[SetResult], names: Sequence[str]) -> str:
    """Mean ranks on the sets that were looked at while the defaults were chosen, and on the others."""
    parts = [[r for r in results if (r.data.name in CHOOSING) == chosen] for chosen in (True, False)]
    ranks = [rankdata(errors_of(part, names), axis=1).mean(axis=0) if part else np.full(len(names), np.nan)
             for part in parts]  # fmt: skip
    rows = [[name, *(f"{rank[k]:.2f}" for rank in ranks)] for k, name in enumerate(names)]
    return markdown_table(("method", f"looked at ({len(parts[0])})", f"others ({len(parts[1])})"), rows)


def set_table(results: Sequence[SetResult], names: Sequence[str]) -> str:
    rows: list[list[str]] = []
    for result in results:
        errors = {name: result.by_method[name].error for name in names if name in result.by_method}
        least = min(errors.values())
        cells = [
            "failed" if name not in errors else f"**{errors[name]:.5g}**" if errors[name] == least
            else f"{errors[name]:.5g}"
            for name in names
        ]  # fmt: skip
        mark = " \\*" if result.data.name in CHOOSING else ""
        size = f"{result.n_rows} x {result.n_features}"
        times = [seconds_text(result.by_method[name].seconds) for name in (OURS, PEER_IN_TIME)]
        rows.append([f"{result.data.name}{mark}", result.data.task, size, *cells, *times])
    header = ("set", "task", "size", *names, "time of ours", f"of {PEER_IN_TIME}")
    return markdown_table(header, rows)


def member_table(results: Sequence[SetResult]) -> tuple[str, list[Against]]:
    found = [(result, against_best_member(result, result.data.task != "regression")) for result in results]
    rows = [
        [r.data.name, a.member, f"{a.excess:+.4f}", f"{a.by_own_error:+.2f}", f"{a.by_difference:+.2f}"]
        for r, a in found
    ]
    header = ("set", "best member in hindsight", "loss above its", "in standard errors of ours", "of the difference")
    return markdown_table(header, rows), [a for _, a in found]


TEXT = """\
# Quality of committees on public data

Written by `python -m benchmarks.committee_quality`; do not edit. Three-fold cross-validation, the same folds for all
(stratified for classes); the error is the misclassification rate or the root mean squared error, mean over the folds.
Every method as it comes, at one thread; scikit-learn's forests get categories as codes. CPU time is of all fits and
predictions."""

LOOKED_AT = """\
The sets are those of `benchmarks/open_data.py` without the slowest for CatBoost ({costly}), chosen before any committee
was fitted. Sets marked \\* (every second one) were looked at while the members, the loss of the selection and its bags
were chosen, as a whole and never one by one; the others were not, but for one rule: bags of all members where one is
far ahead, added when a first run of the whole table had shown kin8nm and california behind their best member."""

MEMBERS = """\
The committee against the member that is best in hindsight, on the test rows themselves: no rule could choose that
member. The loss is the misclassification rate or the mean squared error; "loss above its" is relative, negative where
the committee is better than all its members. The excess is given in standard errors of the committee's own loss, and in
those of the difference row by row, which are much smaller."""


def _not_evaluated(results: Sequence[SetResult]) -> str:
    """Names of sets that a run which was ended has not come to."""
    done = {result.data.name for result in results} | COSTLY
    missing = [data.name for data in SETS if data.name not in done]
    return f" Not yet evaluated: {', '.join(missing)}." if missing else ""


def document(results: Sequence[SetResult], machine: str) -> str:
    names = [name for name in methods() if any(name in result.by_method for result in results)]
    members, against = member_table(results)
    own, paired = (np.array([getattr(a, key) for a in against]) for key in ("by_own_error", "by_difference"))
    mean_ranks = rankdata(errors_of(results, names), axis=1).mean(axis=0)
    ranks = dict(zip(names, mean_ranks, strict=True))
    next_best = min((name for name in names if name != OURS), key=lambda name: ranks[name])
    ours, peer = (sum(r.by_method[name].seconds for r in results) for name in (OURS, PEER_IN_TIME))
    outcome = (
        f"Over {len(results)} sets: mean rank of ours {ranks[OURS]:.2f}, the next {next_best} {ranks[next_best]:.2f}; "
        f"total CPU time of ours {seconds_text(ours)}, of {PEER_IN_TIME} {seconds_text(peer)}. Worse than the best "
        f"member in hindsight by more than one standard error of its own loss on {np.sum(own > 1.0)} of "
        f"{np.isfinite(own).sum()} sets, by more than two on {np.sum(own > 2.0)}; by more than one standard error of "
        f"the difference on {np.sum(paired > 1.0)} of {paired.size}, by more than two on {np.sum(paired > 2.0)}."
        f"{_not_evaluated(results)}"
    )
    return "\n\n".join(
        [
            TEXT, machine, summary_table(results, names), outcome,
            LOOKED_AT.format(costly=", ".join(sorted(COSTLY))), ranks_apart(results, names), "## Every set",
            set_table(results, names), "## Against the best member", MEMBERS, members,
        ]
    ) + "\n"  # fmt: skip


# --- the command -----------------------------------------------------------------------------------------------------


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--sets", "chosen", metavar="A,B", help="Names of sets [all but the slowest].")
@click.option("--methods", "names", metavar="A,B", help="Names of methods [all].")
@click.option("--fresh", metavar="A,B", default="", help="Methods to measure again, whatever is kept.")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Where to write the tables.")
@click.option("--cache", "folder", type=click.Path(file_okay=False, path_type=Path), default=KEPT, show_default=True)
def main(chosen: str | None, names: str | None, fresh: str, output: Path | None, folder: Path) -> None:
    """Evaluate committees on public data; the folder of the data is named by COMMITTEE_DATA."""
    by_name = {data.name: data for data in SETS}
    sets = [by_name[name] for name in (chosen.split(",") if chosen else by_name) if chosen or name not in COSTLY]
    wanted = {name: m for name, m in methods().items() if names is None or name in names.split(",")}
    kept, results = Kept(folder, [name for name in fresh.split(",") if name]), list[SetResult]()
    output = output or (None if chosen or names else RESULT)
    facts = ", ".join(f"{name} {fact}" for name, fact in describe_machine().items())
    for number, data in enumerate(sets, 1):
        try:
            with threadpool_limits(1):
                found = evaluate(data, wanted, kept, lambda text, at=number: click.echo(f"[{at}/{len(sets)}] {text}"))
        except Skip as reason:
            click.echo(f"{data.name} is left out: {reason}")
            continue
        results.append(found)
        whole = [result for result in results if {OURS, PEER_IN_TIME} <= result.by_method.keys()]
        if output is not None and whole:  # after every set: a run of hours may be ended before its end
            output.write_text(document(whole, f"Measured with {facts}."), encoding="utf-8")


if __name__ == "__main__":
    main()
