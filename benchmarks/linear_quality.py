"""How good the linear models are on public data, beside scikit-learn's, by three-fold cross-validation.

`python -m benchmarks.linear_quality --output benchmarks/LINEAR.md`. Both get the same folds and the same numbers, coded
by `TableEncoder` from the training rows. `tests` never run it: it reads data from outside the repository.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
import sklearn.linear_model
from numpy.typing import NDArray
from sklearn.model_selection import KFold, StratifiedKFold
from threadpoolctl import threadpool_limits

from benchmarks.harness import Skip
from benchmarks.open_data import SETS, DataSet, load
from benchmarks.report import markdown_table
from committee.base.stats import mean_over_folds
from committee.linear.logistic_regression import LogisticRegressionCV
from committee.linear.ridge import RidgeCV
from committee.members.numeric_pipeline import OPTIONS
from committee.tabular.encoder import fit_encoder
from committee.tabular.schema import fit_encode

Floats = NDArray[np.float64]

NAMES = (
    "airline-delay", "banana", "breast-cancer", "german-credit", "heart", "mammography", "phoneme", "pima", "sonar",
    "spambase", "tic-tac-toe", "titanic", "wdbc", "anneal", "nursery", "page-blocks", "segment", "soybean", "vehicle",
    "waveform", "yeast", "abalone", "autompg", "bank32nh", "boston", "concrete", "imports-85", "insurance", "kin8nm",
    "ozone", "quake", "skillcraft", "wine-white",
)  # fmt: skip
FOLDS = 3
MAX_ROWS = 2000
OURS, THEIRS = "committee", "scikit-learn"
OTHER_SEEDS = range(1, 6)
"""Of the folds on which a set is tried again."""

ABOUT = f"""# Linear models on public data

Written by `python -m benchmarks.linear_quality --output benchmarks/LINEAR.md`; do not edit. Held-out log-loss
(classification) or RMSE (regression) over {FOLDS} folds, the same rows and the same numbers for both (missing values
filled in, categories as columns of 0 and 1, one scale), at most {MAX_ROWS} rows of a set. committee's
`LogisticRegressionCV()` and `RidgeCV()` are compared with scikit-learn's
`LogisticRegressionCV(Cs=10, cv=5, scoring="neg_log_loss", max_iter=1000)` and `RidgeCV(alphas=np.logspace(-4, 4, 25))`;
both RidgeCV use leave-one-out. The difference is ours minus theirs: negative is better. Its standard error is the
larger of two: over rows, which takes the models as given, and over folds (`mean_over_folds`), which has the noise of
the chosen penalties in it. CPU seconds are those of one fit, one thread, both in one process."""

AGAIN = """The sets on which we are worse by more than two standard errors, on other divisions of the rows into folds.
Of so many sets one may be there by chance; a set that is worse for a reason is so again:"""

Maker = Callable[[bool], Any]


def makers() -> dict[str, Maker]:
    """What is compared; a function of whether the target is a class."""
    theirs = sklearn.linear_model
    return {
        OURS: lambda is_class: LogisticRegressionCV(random_state=0) if is_class else RidgeCV(),
        THEIRS: lambda is_class: (
            theirs.LogisticRegressionCV(Cs=10, cv=5, scoring="neg_log_loss", max_iter=1000)
            if is_class
            else theirs.RidgeCV(alphas=np.logspace(-4.0, 4.0, 25))
        ),
    }


class Outcome(NamedTuple):
    """Of one set."""

    data: DataSet
    size: str
    losses: Mapping[str, Sequence[Floats]]  # of every row, fold by fold
    seconds: Mapping[str, float]  # CPU, of a fit

    @property
    def difference(self) -> tuple[float, float]:
        """Mean difference of the losses of rows, and its standard error over rows or folds, the larger one."""
        folds = [ours - theirs for ours, theirs in zip(self.losses[OURS], self.losses[THEIRS], strict=True)]
        rows = np.concatenate(folds)
        over_folds = mean_over_folds(np.array([[fold.mean() for fold in folds]])).stderr
        return float(rows.mean()), max(float(rows.std(ddof=1) / np.sqrt(rows.size)), over_folds)

    @property
    def relative(self) -> float:
        """The difference as a fraction of their loss; half of it for squared errors, which is that of the RMSE."""
        theirs = float(np.concatenate(self.losses[THEIRS]).mean())
        return self.difference[0] / theirs / (1.0 if self.data.task != "regression" else 2.0)

    @property
    def in_errors(self) -> float:
        mean, error = self.difference
        return mean / error if error > 0.0 else 0.0

    def row(self) -> list[str]:
        is_class = self.data.task != "regression"
        means = [float(np.concatenate(losses).mean()) for losses in self.losses.values()]
        shown = means if is_class else [float(np.sqrt(mean)) for mean in means]
        difference = [f"{100 * self.relative:+.2f} %", f"{self.in_errors:+.1f}"]
        seconds = [f"{value:.3f}" for value in self.seconds.values()]
        kind = "log-loss" if is_class else "RMSE"
        return [self.data.name, self.size, kind, *(f"{v:.5g}" for v in shown), *difference, *seconds]


def numbers_of(X: Any, train: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Columns of numbers for the training rows, and for the others."""
    columns, table = fit_encode(X)
    coded = fit_encoder(columns, table[train], None, OPTIONS)
    test = np.setdiff1d(np.arange(len(table)), train)
    return coded(table[train]), coded(table[test])


def row_losses(model: Any, X: Floats, y: NDArray[Any], is_class: bool) -> Floats:
    """Log-loss or squared error of every row."""
    if not is_class:
        return (model.predict(X) - y) ** 2
    P = model.predict_proba(X)
    place = np.searchsorted(model.classes_, y)
    return -np.log(np.maximum(P[np.arange(len(y)), place], 1e-15))


def compare(data: DataSet, seed: int = 0) -> Outcome:
    """Both models on the same folds, divided by this seed."""
    table = load(data)
    kept = np.sort(np.random.default_rng(0).permutation(len(table.y))[:MAX_ROWS])
    X, y = table.X.iloc[kept], table.y[kept]
    is_class = data.task != "regression"
    folds = (StratifiedKFold if is_class else KFold)(FOLDS, shuffle=True, random_state=seed)
    losses: dict[str, list[Floats]] = {name: [] for name in makers()}
    seconds = dict.fromkeys(makers(), 0.0)
    shape = (0, 0)
    for train, test in folds.split(X, y):
        own, other = numbers_of(X, train)
        shape = (len(y), own.shape[1])
        for name, make in makers().items():
            began = time.process_time()
            model = make(is_class).fit(own, y[train])
            seconds[name] += (time.process_time() - began) / FOLDS
            losses[name].append(row_losses(model, other, y[test], is_class))
    return Outcome(data, f"{shape[0]} x {shape[1]}", losses, seconds)


def summary(outcomes: Sequence[Outcome]) -> str:
    """How many are worse or better by more than noise, and the time of all fits."""
    worse = [one.data.name for one in outcomes if one.in_errors > 2.0]
    better = [one.data.name for one in outcomes if one.in_errors < -2.0]
    ours, theirs = (sum(one.seconds[name] for one in outcomes) for name in (OURS, THEIRS))
    return (
        f"{len(outcomes)} sets; worse by more than two standard errors: {len(worse)} ({', '.join(worse) or 'none'}), "
        f"better by more than two: {len(better)} ({', '.join(better) or 'none'}). CPU seconds of one fit to every set: "
        f"{ours:.1f} against {theirs:.1f}."
    )


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--sets", "chosen", metavar="A,B", help="Names of sets.")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Where to write the table.")
def main(chosen: str | None, output: Path | None) -> None:
    """Print the table; the folder of the data is named by COMMITTEE_DATA."""
    names: Sequence[str] = [name.strip() for name in chosen.split(",")] if chosen else NAMES
    outcomes, again = list[Outcome](), list[Outcome]()
    for data in SETS:
        if data.name not in names:
            continue
        try:
            with threadpool_limits(1), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                outcomes.append(compare(data))
                if outcomes[-1].in_errors > 2.0:
                    again += [compare(data, seed) for seed in OTHER_SEEDS]
        except Skip as reason:
            click.echo(f"{data.name} is left out: {reason}")
            continue
        click.echo(" | ".join(outcomes[-1].row()))
    header = [
        "set",
        "rows x numbers",
        "loss",
        OURS,
        THEIRS,
        "difference",
        "in s.e.",
        f"CPU s {OURS}",
        f"CPU s {THEIRS}",
    ]
    text = f"{summary(outcomes)}\n\n{markdown_table(header, [one.row() for one in outcomes])}"
    if again:
        text += f"\n\n{AGAIN}\n\n{markdown_table(header, [one.row() for one in again])}"
    click.echo(text)
    if output is not None:
        output.write_text(f"{ABOUT}\n\n{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
