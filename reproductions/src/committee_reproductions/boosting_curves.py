"""Errors and margins of a booster over its rounds, by cross-validation.

In each of n folds a booster is fitted on the other folds; after every round t its error on the training rows and on the
fold is recorded. A curve is the mean over the folds, with the standard error of that mean (Nadeau and Bengio 2003).
Overfitting is the increase of the test error from its best round to the last one, a paired difference over the folds:

    increase           = test(T) - min_t test(t)
    unbiased increase  = mean over folds k of test_k(T) - test_k(t_k),  t_k the best round of the other folds

The smallest of T noisy numbers is too small on average, so the increase is above zero even where nothing overfits. The
unbiased increase, what running to the end costs compared with stopping at a round chosen on other rows, is not, and the
verdict follows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.progress import progress
from committee.base.stats import Mean, mean_over_folds, standard_error_of_folds
from committee.boosting.adaboost import AdaBoostClassifier
from committee.evaluation._folds import Fold, read_labels, unfitted
from committee.plots._style import BLUE, GREY, VERMILION, finish, panels, pyplot
from committee.records.history import History
from committee.records.result_table import ResultTable, to_pandas, to_polars
from committee.tabular.rows import take_rows
from committee.theory.margins import margin_distribution
from committee_reproductions._experiments import CrossValidation, fit_quietly
from committee_reproductions.results import SIGNIFICANT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PANEL = (4.3, 3.5)
"""Inches of a panel."""


class BoostingCurves(NamedTuple):
    """Errors and margins of a booster over rounds and folds. A run that ended early keeps its last vote."""

    train_errors: Floats  # [n_repeats, n_folds, T]
    test_errors: Floats  # [n_repeats, n_folds, T]
    margins: Mapping[int, Floats]  # round -> normalised margins of the training rows of all folds together
    booster: str  # name of its class

    @property
    def rounds(self) -> NDArray[np.int64]:
        """The numbers of the rounds, from 1."""
        return np.arange(1, self.test_errors.shape[2] + 1)

    @property
    def train_error(self) -> Floats:
        """Mean over the folds after every round."""
        return self.train_errors.mean(axis=(0, 1))

    @property
    def train_stderr(self) -> Floats:
        """Standard errors of `train_error`."""
        return standard_error_of_folds(self.train_errors)

    @property
    def test_error(self) -> Floats:
        """Mean over the folds after every round."""
        return self.test_errors.mean(axis=(0, 1))

    @property
    def test_stderr(self) -> Floats:
        """Standard errors of `test_error`."""
        return standard_error_of_folds(self.test_errors)

    @property
    def final_test_error(self) -> Mean:
        """Test error after the last round, mean over the folds."""
        return mean_over_folds(self.test_errors[..., -1])

    @property
    def best_round(self) -> int:
        """The first round of the smallest mean test error."""
        return int(np.argmin(self.test_error)) + 1

    @property
    def increase(self) -> Mean:
        """Test error of the last round minus that of the best, paired over the folds."""
        return mean_over_folds(self.test_errors[..., -1] - self.test_errors[..., self.best_round - 1])

    @property
    def unbiased_increase(self) -> Mean:
        """The same with the best round of every fold chosen on the other folds."""
        of_others = self.test_errors.sum(axis=1, keepdims=True) - self.test_errors  # of the same repeat: no row twice
        at_best = np.take_along_axis(self.test_errors, of_others.argmin(axis=2)[..., np.newaxis], axis=2)[..., 0]
        return mean_over_folds(self.test_errors[..., -1] - at_best)

    @property
    def short_verdict(self) -> str:
        """Whether it overfits, by the unbiased increase in standard errors."""
        increase = self.unbiased_increase
        if increase.value > SIGNIFICANT * increase.stderr:
            return "overfits"
        return "may overfit" if increase.value > increase.stderr else "no overfitting seen"

    @property
    def verdict(self) -> str:
        """Whether it overfits, with the numbers."""
        best = self.best_round
        return (
            f"{self.short_verdict}: test error {self.test_error[best - 1]:.4f} at best, after {best} of "
            f"{self.rounds[-1]} rounds, and {self.test_error[-1]:.4f} ± {self.test_stderr[-1]:.4f} at the end, an "
            f"increase of {self.increase}; {self.unbiased_increase} with the round chosen on other folds"
        )

    @property
    def history(self) -> History:
        """One row per round, the errors as means with their standard errors."""
        names = ("train_error", "train_stderr", "test_error", "test_stderr")
        return History({"round": self.rounds, **{name: getattr(self, name) for name in names}})

    def to_table(self) -> ResultTable:
        """Return `history`."""
        return self.history

    to_pandas = to_pandas
    to_polars = to_polars


class BoosterComparison(NamedTuple):
    """Boosters on the same folds of several data sets."""

    curves: Mapping[str, Mapping[str, BoostingCurves]]  # data set -> booster -> its curves

    def training_gain(self, name: str, booster: str, other: str) -> Mean:
        """Training error of `other` minus that of `booster`, mean over the rounds, paired over the folds."""
        both = self.curves[name]
        return mean_over_folds(both[other].train_errors.mean(axis=2) - both[booster].train_errors.mean(axis=2))

    def test_gain(self, name: str, booster: str, other: str) -> Mean:
        """Test error of `other` minus that of `booster` after the last round, paired over the folds."""
        both = self.curves[name]
        return mean_over_folds(both[other].test_errors[..., -1] - both[booster].test_errors[..., -1])

    def as_curves(self) -> Iterator[tuple[str, str, Any, Any, Any]]:
        """Yield the curves as `gather_curves` takes them."""
        for name, boosters in self.curves.items():
            for booster, one in boosters.items():
                yield name, f"{booster}, training error", one.rounds, one.train_error, one.train_stderr
                yield name, f"{booster}, test error", one.rounds, one.test_error, one.test_stderr


def boosting_curves(
    X: Any,
    y: Any,
    estimator: Any = None,
    *,
    n_rounds: int = 1000,
    margin_rounds: Sequence[int] | None = None,
    cv: CrossValidation = CrossValidation(),
) -> BoostingCurves:
    """Measure training and test error of a booster over the rounds, by cross-validation.

    Parameters
    ----------
    X : array or data frame of shape (n_samples, n_features)
        The features.
    y : array of shape (n_samples,)
        The class labels.
    estimator : classifier with ``staged_predict``, default=AdaBoostClassifier()
        The booster. Margins are measured where it has ``staged_margins``, as every booster of committee has.
    n_rounds : int, default=1000
        Rounds of each fit. A booster without the parameter ``n_estimators`` decides itself how long it runs.
    margin_rounds : sequence of int, optional
        Rounds whose margins are kept; by default the powers of ten and the last round.
    cv : CrossValidation
        Folds, and how often to draw them; more repeats make smoother curves.

    Returns
    -------
    BoostingCurves
        Errors and margins of every fold, with a verdict about overfitting.

    Examples
    --------
    >>> from committee.datasets import load_dataset
    >>> sonar = load_dataset("sonar")
    >>> result = boosting_curves(sonar.X, sonar.y, n_rounds=60)
    >>> result.train_error[[0, 9, 59]].round(3).tolist(), result.test_error[[0, 9, 59]].round(3).tolist()
    ([0.24, 0.109, 0.0], [0.26, 0.231, 0.164])
    """
    booster = _read_booster(estimator, n_rounds)
    codes = read_labels(y)
    wanted = _margin_rounds(margin_rounds, n_rounds)
    folds = cv.folds(codes)
    curves: list[_FoldCurves] = []
    with progress(f"{type(booster).__name__}, folds", len(folds), cv.verbose) as tick:
        for fold in folds:
            curves.append(_run_fold(unfitted(booster, random_state=fold.seed), X, codes, fold, wanted))
            tick(f"test error {curves[-1].test[-1]:.4f}")
    return _gather(curves, cv.n_folds, wanted, type(booster).__name__)


def compare_boosters(
    boosters: Mapping[str, Any], datasets: Mapping[str, tuple[Any, Any]], n_rounds: int, cv: CrossValidation
) -> BoosterComparison:
    """Measure the curves of several boosters on the same folds of several data sets, (X, y) by name."""
    return BoosterComparison(
        {
            name: {
                booster: boosting_curves(X, y, model, n_rounds=n_rounds, cv=cv) for booster, model in boosters.items()
            }
            for name, (X, y) in datasets.items()
        }
    )


# --- measuring -------------------------------------------------------------------------------------------------------


class _FoldCurves(NamedTuple):
    """What was measured in one fold."""

    train: Floats  # [rounds of this fold]
    test: Floats
    margins: list[Floats]  # of the training rows, after every round in question


def _run_fold(booster: Any, X: Any, codes: NDArray[np.int64], fold: Fold, wanted: Sequence[int]) -> _FoldCurves:
    rows, y = take_rows(X, fold.train), codes[fold.train]
    fit_quietly(booster, rows, y)
    margins: list[Floats] = []
    if hasattr(booster, "staged_margins"):
        margins = _margins_after(booster.staged_margins(rows, y), wanted)
    train = _staged_errors(booster, rows, y)
    return _FoldCurves(train, _staged_errors(booster, take_rows(X, fold.test), codes[fold.test]), margins)


def _staged_errors(booster: Any, X: Any, y: NDArray[np.int64]) -> Floats:
    return np.array([np.mean(labels != y) for labels in booster.staged_predict(X)])


def _margins_after(staged: Iterable[Floats], wanted: Sequence[int]) -> list[Floats]:
    """Return the margins after each of the rounds wanted, in order; a run that ended before keeps its last ones."""
    kept: list[Floats] = []
    margins = np.empty(0)
    for t, margins in enumerate(staged, start=1):
        if t in wanted:
            kept.append(margins)
    return kept + [margins] * (len(wanted) - len(kept))


def _gather(curves: list[_FoldCurves], n_folds: int, wanted: Sequence[int], name: str) -> BoostingCurves:
    n = max(curve.train.size for curve in curves)
    margins: dict[int, Floats] = {}
    if curves[0].margins:
        for k, t in enumerate(wanted):
            margins[min(t, n)] = np.concatenate([curve.margins[k] for curve in curves])
    train, test = (
        np.array([np.pad(values, (0, n - values.size), mode="edge") for values in side]).reshape(-1, n_folds, n)
        for side in ([curve.train for curve in curves], [curve.test for curve in curves])
    )
    return BoostingCurves(train, test, margins, name)


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
        raise ValueError(f"margin_rounds must lie in 1..{n_rounds}; got {list(rounds)}.")
    return wanted


# --- pictures --------------------------------------------------------------------------------------------------------


def draw_boosting_curves(curves: BoostingCurves | Mapping[str, BoostingCurves]) -> Figure:
    """Draw errors over the rounds and, below them, the distributions of the training margins.

    Parameters
    ----------
    curves : BoostingCurves, or a mapping of such by name
        A column of panels for each. A ring marks the smallest test error.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    named = {curves.booster: curves} if isinstance(curves, BoostingCurves) else dict(curves)
    if not named:
        raise ValueError("There is nothing to draw: pass at least one result of boosting_curves.")
    n, has_margins = len(named), all(one.margins for one in named.values())
    axes = panels(None, (1 + has_margins) * n, PANEL, n_columns=n)
    for ax, (name, one) in zip(axes, named.items(), strict=False):
        draw_errors(ax, one)
        ax.set_title(f"{name}: {one.short_verdict}", fontsize="medium", loc="left")
    for ax, one in zip(axes[n:], named.values(), strict=False):
        draw_margins(ax, one.margins)
    return axes[0].figure


def draw_errors(ax: Any, curves: BoostingCurves) -> None:
    """Draw training and test error over the rounds, with bands of one standard error."""
    sides = {
        "training error": (curves.train_error, curves.train_stderr, BLUE),
        "test error": (curves.test_error, curves.test_stderr, VERMILION),
    }
    for label, (mean, error, color) in sides.items():
        ax.fill_between(curves.rounds, mean - error, mean + error, color=color, alpha=0.18, linewidth=0)
        ax.plot(curves.rounds, mean, color=color, linewidth=1.4, label=f"{label}: {mean[-1]:.3f} at the end")
    best = curves.best_round
    smallest = float(curves.test_error[best - 1])
    ring: dict[str, Any] = {"markersize": 8, "markeredgecolor": GREY, "markeredgewidth": 1.4, "markerfacecolor": "none"}
    label = f"smallest: {smallest:.3f} after round {best}"
    ax.plot([best], [smallest], linestyle="", marker="o", label=label, zorder=4, **ring)
    highest = max(float((mean + error).max()) for mean, error, _ in sides.values())
    ax.set_ylim(-0.02 * highest, 1.45 * highest)  # room for the legend above the curves
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter("{x:g}")
    ax.legend(frameon=False, fontsize="small", loc="upper right")
    finish(ax, "round", "error")


def draw_margins(ax: Any, margins: Mapping[int, Floats]) -> None:
    """Draw the cumulative distribution of the margins after each round; its height at 0 is the training error."""
    colors = pyplot().get_cmap("viridis_r")(np.linspace(0.12, 1.0, len(margins)))  # the later the round the darker
    for color, (t, values) in zip(colors, margins.items(), strict=True):
        cumulative = margin_distribution(values)
        value = np.concatenate([[-1.0, cumulative.value[0]], cumulative.value, [1.0]])
        fraction = np.concatenate([[0.0, 0.0], cumulative.fraction, [1.0]])
        label = f"{t} round{'s' if t > 1 else ''}"
        ax.step(value, fraction, where="post", color=color, linewidth=1.5, label=label)
    ax.axvline(0.0, color=GREY, linewidth=0.8, zorder=0)
    ax.set_xlim(-1.03, 1.03)
    ax.set_ylim(0.0, 1.02)
    ax.legend(frameon=False, fontsize="small", loc="upper left")
    finish(ax, "normalised margin", "cumulative fraction of training rows")


def draw_comparison(comparison: BoosterComparison) -> Figure:
    """Draw the test errors of two boosters over the rounds, training errors thin, one panel per data set."""
    n = len(comparison.curves)
    axes = panels(None, n, (4.4, 3.3), n_columns=n if n % 2 else 2)
    for ax, (name, boosters) in zip(axes, comparison.curves.items(), strict=True):
        n_rounds = max(one.rounds[-1] for one in boosters.values())
        for (booster, one), color in zip(boosters.items(), (VERMILION, BLUE), strict=True):
            _draw_booster(ax, booster, one, color, n_rounds)
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter("{x:g}")
        ax.set_ylim(0.0, 1.3 * ax.get_ylim()[1])
        ax.set_title(name, fontsize="medium", loc="left")
        ax.legend(frameon=False, fontsize="small", loc="upper right")
        finish(ax, "round", "error (thin: training)")
    return axes[0].figure


def _draw_booster(ax: Any, booster: str, one: BoostingCurves, color: str, n_rounds: int) -> None:
    """Draw the curves of a booster; one that stopped early ends in a dot and is continued by a level dotted line."""
    rounds = one.rounds
    for kind, width in (("test", 1.8), ("train", 0.8)):
        values = getattr(one, f"{kind}_error")
        label = f"{booster}: {values[-1]:.3f}" if kind == "test" else None
        ax.plot(rounds, values, color=color, linewidth=width, label=label)
        if rounds[-1] < n_rounds:
            ax.plot([rounds[-1], n_rounds], values[[-1, -1]], color=color, linewidth=width, linestyle=":")
            ax.plot(rounds[-1:], values[-1:], "o", color=color, markersize=3.0 + width)
