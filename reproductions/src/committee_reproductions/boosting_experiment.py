"""Does boosting overfit? Errors over the rounds by cross-validation, and the margins behind them (E-13; S0, page 9).

Claim: stumps boosted on four UCI sets overfit on some hardly, on others much, and the test error may go on falling
after the training error is zero, while the margins of the training rows grow (Schapire, Freund, Bartlett and Lee 1998,
Boosting the margin).

Measured: for each of n folds a booster learns from the other folds; after every round t its error on those rows and on
the fold. A curve is the mean over the folds, with the standard error of that mean (`evaluation/_folds.py` says which).
Overfitting is the rise of the test error from its best round to the last one, as a paired difference over the folds:

    rise       = test(T) - min_t test(t)
    fair rise  = mean over folds k of test_k(T) - test_k(t_k),  t_k the best round of the other folds

The smallest of T noisy numbers lies below the truth, so the rise is above zero even where nothing overfits; the fair
rise, what one loses by going on to the end instead of stopping at a round chosen on other rows, is not, and the verdict
follows it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from committee.base.array_types import Floats
from committee.base.progress import progress
from committee.base.rng import RandomState
from committee.boosting.adaboost import AdaBoostClassifier
from committee.datasets import load_dataset
from committee.evaluation._folds import Fold, Mean, draw_folds, mean_over_folds, read_labels, rows_of, stderr, unfitted
from committee.records.history import History
from committee.records.result_table import ResultTable, to_pandas, to_polars

UCI_SETS = ("ionosphere", "sonar", "spam", "pima_diabetes")
"""The built-in sets of two classes."""

SURE = 2.0
"""A rise of so many standard errors is one."""


class BoostingExperiment(NamedTuple):
    """Errors and margins of a booster over rounds and folds. A run that ended early keeps its last vote."""

    train_errors: Floats  # [n_repeats, n_folds, T]
    test_errors: Floats  # [n_repeats, n_folds, T]
    margins: Mapping[int, Floats]  # round -> normalised margins of the training rows of all folds together
    booster: str  # its name

    @property
    def rounds(self) -> NDArray[np.int64]:
        return np.arange(1, self.test_errors.shape[2] + 1)

    @property
    def train_error(self) -> Floats:
        """Mean over the folds after every round."""
        return self.train_errors.mean(axis=(0, 1))

    @property
    def train_stderr(self) -> Floats:
        return stderr(self.train_errors)

    @property
    def test_error(self) -> Floats:
        """Mean over the folds after every round."""
        return self.test_errors.mean(axis=(0, 1))

    @property
    def test_stderr(self) -> Floats:
        return stderr(self.test_errors)

    @property
    def best_round(self) -> int:
        """The first round of the smallest mean test error."""
        return int(np.argmin(self.test_error)) + 1

    @property
    def rise(self) -> Mean:
        """Test error of the last round minus that of the best, paired over the folds."""
        return mean_over_folds(self.test_errors[..., -1] - self.test_errors[..., self.best_round - 1])

    @property
    def fair_rise(self) -> Mean:
        """The same with the best round of every fold chosen on the other folds."""
        of_others = self.test_errors.sum(axis=1, keepdims=True) - self.test_errors  # of the same repeat: no row twice
        at_best = np.take_along_axis(self.test_errors, of_others.argmin(axis=2)[..., np.newaxis], axis=2)[..., 0]
        return mean_over_folds(self.test_errors[..., -1] - at_best)

    @property
    def short_verdict(self) -> str:
        """Whether it overfits, by the fair rise in standard errors."""
        fair = self.fair_rise
        if fair.value > SURE * fair.stderr:
            return "overfits"
        return "may overfit" if fair.value > fair.stderr else "no overfitting seen"

    @property
    def verdict(self) -> str:
        """Whether it overfits, with the numbers."""
        best = self.best_round
        return (
            f"{self.short_verdict}: test error {self.test_error[best - 1]:.4f} at best, after {best} of "
            f"{self.rounds[-1]} rounds, and {self.test_error[-1]:.4f} ± {self.test_stderr[-1]:.4f} at the end, a rise "
            f"of {self.rise}; {self.fair_rise} with the round chosen on other folds"
        )

    @property
    def history(self) -> History:
        """One row per round, the errors as means with their standard errors."""
        names = ("train_error", "train_stderr", "test_error", "test_stderr")
        return History({"round": self.rounds, **{name: getattr(self, name) for name in names}})

    def to_table(self) -> ResultTable:
        """`history`."""
        return self.history

    to_pandas = to_pandas
    to_polars = to_polars


class FoldCurves(NamedTuple):
    """What one fold measured."""

    train: Floats  # [rounds of this fold]
    test: Floats
    margins: list[Floats]  # of the training rows, after every round asked for
    n_rounds: int


def boosting_experiment(
    X: Any,
    y: Any,
    *,
    n_rounds: int = 1000,
    n_folds: int = 10,
    n_repeats: int = 1,
    estimator: Any = None,
    margin_rounds: Sequence[int] | None = None,
    random_state: RandomState = None,
    verbose: int = 0,
) -> BoostingExperiment:
    """Training and test error of a booster over the rounds, by cross-validation.

    Parameters
    ----------
    X, y : a table and its class labels
    n_rounds : rounds of each fit
        A booster without ``n_estimators`` runs as long as it does.
    n_folds : folds, each with its share of every class
    n_repeats : how often to draw new folds; more repeats make smoother curves
    estimator : a classifier with ``staged_predict``, default `AdaBoostClassifier` with its stumps
        Margins are measured where it has ``staged_margins``, as every booster of the library has.
    margin_rounds : rounds to keep the margins of; None takes the powers of ten and the last round
    random_state : of the folds and of the booster
    verbose : 1 shows a progress bar over the folds

    Examples
    --------
    >>> from committee.datasets import load_dataset
    >>> sonar = load_dataset("sonar")
    >>> found = boosting_experiment(sonar.X, sonar.y, n_rounds=60, random_state=0)
    >>> found.train_error[[0, 9, 59]].round(3).tolist(), found.test_error[[0, 9, 59]].round(3).tolist()
    ([0.24, 0.109, 0.0], [0.26, 0.231, 0.164])
    """
    booster = _read_booster(estimator, n_rounds)
    codes = read_labels(y)
    wanted = _margin_rounds(margin_rounds, n_rounds)
    folds = draw_folds(codes, n_folds, random_state, n_repeats)
    curves: list[FoldCurves] = []
    with progress(f"{type(booster).__name__}, folds", len(folds), verbose) as tick:
        for fold in folds:
            curves.append(_run_fold(unfitted(booster, random_state=fold.seed), X, codes, fold, wanted))
            tick(f"test error {curves[-1].test[-1]:.4f}")
    return _gather(curves, n_folds, wanted, type(booster).__name__)


def reproduce_e13(
    names: Iterable[str] = UCI_SETS,
    *,
    n_rounds: int = 1000,
    n_folds: int = 10,
    n_repeats: int = 5,
    random_state: int = 0,
    verbose: int = 0,
) -> dict[str, BoostingExperiment]:
    """Stumps boosted on the built-in sets of two classes, in order of overfitting, the least first.

    ``committee reproduce E-13`` prints what came out beside what is published.
    """
    found: dict[str, BoostingExperiment] = {}
    for name in names:
        X, y = load_dataset(name)[:2]
        found[name] = boosting_experiment(
            X, y, n_rounds=n_rounds, n_folds=n_folds, n_repeats=n_repeats, random_state=random_state, verbose=verbose
        )
    return dict(sorted(found.items(), key=lambda item: _severity(item[1])))


def _severity(found: BoostingExperiment) -> float:
    """The fair rise in units of the smallest test error: half an error more is much, wherever it started."""
    return found.fair_rise.value / max(float(found.test_error.min()), np.finfo(float).tiny)


def _run_fold(booster: Any, X: Any, codes: NDArray[np.int64], fold: Fold, wanted: Sequence[int]) -> FoldCurves:
    rows, y = rows_of(X, fold.train), codes[fold.train]
    with warnings.catch_warnings():
        # A run that ends early is no accident here: its curve goes on level.
        warnings.simplefilter("ignore", ConvergenceWarning)
        booster.fit(rows, y)
    train = _staged_errors(booster, rows, y)
    margins: list[Floats] = []
    if hasattr(booster, "staged_margins"):
        margins = _margins_after(booster.staged_margins(rows, y), wanted)
    return FoldCurves(train, _staged_errors(booster, rows_of(X, fold.test), codes[fold.test]), margins, train.size)


def _staged_errors(booster: Any, X: Any, y: NDArray[np.int64]) -> Floats:
    return np.array([np.mean(labels != y) for labels in booster.staged_predict(X)])


def _margins_after(staged: Iterable[Floats], wanted: Sequence[int]) -> list[Floats]:
    """The margins after each of the rounds wanted, which rise; a run that ended before stays at its last ones."""
    found: list[Floats] = []
    margins = np.empty(0)
    for t, margins in enumerate(staged, start=1):
        if t in wanted:
            found.append(margins)
    return found + [margins] * (len(wanted) - len(found))


def _gather(curves: list[FoldCurves], n_folds: int, wanted: Sequence[int], name: str) -> BoostingExperiment:
    n = max(curve.n_rounds for curve in curves)
    margins: dict[int, Floats] = {}
    if curves[0].margins:
        for k, t in enumerate(wanted):
            margins[min(t, n)] = np.concatenate([curve.margins[k] for curve in curves])
    train, test = (
        np.array([_extend(values, n) for values in side]).reshape(-1, n_folds, n)
        for side in ([curve.train for curve in curves], [curve.test for curve in curves])
    )
    return BoostingExperiment(train, test, margins, name)


def _extend(values: Floats, n: int) -> Floats:
    return np.concatenate([values, np.full(n - values.size, values[-1])])


def _read_booster(estimator: Any, n_rounds: int) -> Any:
    if n_rounds < 1:
        raise ValueError(f"n_rounds must be at least 1; got {n_rounds}.")
    booster = AdaBoostClassifier() if estimator is None else estimator
    if not hasattr(booster, "staged_predict"):
        raise TypeError(
            f"{type(booster).__name__} has no staged_predict, so its error after every round is not known: pass a "
            "boosted classifier such as AdaBoostClassifier."
        )
    return unfitted(booster, n_estimators=n_rounds, warm_start=False)


def _margin_rounds(rounds: Sequence[int] | None, n_rounds: int) -> list[int]:
    if rounds is None:
        return sorted({t for t in (1, 10, 100, 1000, 10_000, 100_000) if t < n_rounds} | {n_rounds})
    wanted = sorted({int(t) for t in rounds})
    if not wanted or wanted[0] < 1 or wanted[-1] > n_rounds:
        raise ValueError(f"margin_rounds must lie in 1..{n_rounds}, the rounds there are; got {list(rounds)}.")
    return wanted
