"""Does a larger smallest margin make a better vote?

Reyzin and Schapire, How boosting the margin can also boost classifier complexity, 2006; Breiman, Prediction games and
arcing algorithms, 1999.

Claim: boosters that drive up the smallest margin reach larger ones than AdaBoost and no smaller test errors, though
bounds on the error improve with the margins. The members that do so are more complex; with trees of a fixed number of
leaves that is held constant.

Measured: AdaBoost, AdaBoost*, arc-gv and LPBoost without slacks, which reaches the largest smallest margin there is,
are fitted on the same rows of every fold. Of each: the smallest margin of the training rows and the error on the fold,
and their paired differences from AdaBoost's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.progress import progress
from committee.base.stats import Mean, mean_over_folds
from committee.boosting.adaboost import AdaBoostClassifier
from committee.boosting.adaboost_star import AdaBoostStarClassifier
from committee.boosting.arc_gv import ArcGVClassifier
from committee.boosting.lpboost import LPBoostClassifier
from committee.evaluation._folds import Fold, read_labels, unfitted
from committee.plots._style import COLORS, finish, panels
from committee.records.result_table import ResultTable, to_pandas, to_polars
from committee.tabular.rows import take_rows
from committee.trees.decision_tree import DecisionTreeClassifier
from committee_reproductions._experiments import (
    SEPARABLE_SETS,
    CrossValidation,
    error_rate,
    fit_quietly,
    over_datasets,
)
from committee_reproductions.results import (
    Claim,
    Outcome,
    ReproductionResult,
    Row,
    gather_curves,
    is_above,
    is_not_below,
    row,
    verdict_of,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LP_GAP = 0.002
"""LPBoost ends when no smallest margin can be larger by more: the last digits take half of its time."""

LEAVES = 8
"""Of the trees that are boosted: with 16 a single tree may fit all rows of sonar and end the run."""

MARKERS = "os^DvP"


class MarginMaximisation(NamedTuple):
    """Smallest margins and test errors of boosters on the same folds; the others are compared with the first."""

    boosters: tuple[str, ...]
    smallest_margins: Floats  # [boosters, n_repeats, n_folds], of the training rows
    test_errors: Floats  # [boosters, n_repeats, n_folds]
    n_members: Floats  # [boosters], mean over the folds

    def smallest_margin(self, booster: str) -> Mean:
        """Mean over the folds."""
        return mean_over_folds(self.smallest_margins[self._place(booster)])

    def test_error(self, booster: str) -> Mean:
        """Mean over the folds."""
        return mean_over_folds(self.test_errors[self._place(booster)])

    def margin_gain(self, booster: str) -> Mean:
        """Smallest margin above that of the first booster, paired over the folds."""
        return mean_over_folds(self.smallest_margins[self._place(booster)] - self.smallest_margins[0])

    def excess(self, booster: str) -> Mean:
        """Test error above that of the first booster, paired over the folds."""
        return mean_over_folds(self.test_errors[self._place(booster)] - self.test_errors[0])

    @property
    def verdict(self) -> str:
        """What the booster of the largest smallest margin gains, with the numbers."""
        widest = max(self.boosters, key=lambda name: self.smallest_margin(name).value)
        first, excess = self.boosters[0], self.excess(widest)
        if widest == first:
            return f"no booster has a larger smallest margin than {first}: nothing to compare"
        what = {
            None: "the test errors do not differ by more than chance",
            True: "the test error is worse",
            False: "the test error is better",
        }[is_above(excess)]
        gain = self.margin_gain(widest).value
        return f"{widest} has a smallest margin larger by {gain:.4f} than {first}, and {what}: {excess} above"

    def to_table(self) -> ResultTable:
        """Return a table with one line per booster."""
        columns: dict[str, Any] = {"booster": self.boosters, "n_members": self.n_members}
        for name in ("smallest_margin", "test_error", "excess"):
            means = [getattr(self, name)(booster) for booster in self.boosters]
            columns |= {name: [mean.value for mean in means], f"{name}_stderr": [mean.stderr for mean in means]}
        return ResultTable(columns)

    to_pandas = to_pandas
    to_polars = to_polars

    def _place(self, booster: str) -> int:
        if booster not in self.boosters:
            raise ValueError(f"No booster {booster!r} was measured; there are: {', '.join(self.boosters)}.")
        return self.boosters.index(booster)


def margin_maximisers(n_rounds: int = 1000, *, nu: float = 0.02, estimator: Any = None) -> dict[str, Any]:
    """Return AdaBoost and boosters that drive up the smallest margin, all with the weak learner `estimator`."""
    return {
        "AdaBoost": AdaBoostClassifier(estimator, n_estimators=n_rounds),
        "AdaBoost*": AdaBoostStarClassifier(estimator, nu=nu, n_estimators=n_rounds),
        "arc-gv": ArcGVClassifier(estimator, n_estimators=n_rounds),
        "LPBoost": LPBoostClassifier(estimator, nu=None, n_estimators=n_rounds, tol=LP_GAP),
    }


def margin_maximisation(
    X: Any, y: Any, boosters: Mapping[str, Any] | None = None, *, cv: CrossValidation = CrossValidation()
) -> MarginMaximisation:
    """Measure smallest margins and test errors of several boosters on the same folds.

    Parameters
    ----------
    X : array or data frame of shape (n_samples, n_features)
        The features.
    y : array of shape (n_samples,)
        Labels of two classes, separable by the weak learner.
    boosters : mapping of name to classifier with ``margins``, default=margin_maximisers()
        The first is the one to compare with.
    cv : CrossValidation
        Folds, and how often to draw them.

    Returns
    -------
    MarginMaximisation
        Margins and errors of every fold.

    Examples
    --------
    >>> from committee.datasets import load_dataset
    >>> sonar = load_dataset("sonar")
    >>> boosters = margin_maximisers(n_rounds=40)
    >>> del boosters["LPBoost"]  # for the time it takes
    >>> result = margin_maximisation(sonar.X, sonar.y, boosters, cv=CrossValidation(n_folds=5))
    >>> print(result.smallest_margin("AdaBoost"), result.smallest_margin("arc-gv"), result.excess("arc-gv"), sep="; ")
    0.0515 ± 0.0109; 0.0555 ± 0.0088; -0.0143 ± 0.0272
    """
    chosen = margin_maximisers() if boosters is None else dict(boosters)
    if not chosen:
        raise ValueError("boosters is empty: pass at least one, the first being the one to compare with.")
    codes = read_labels(y)
    folds = cv.folds(codes)
    measured = np.empty((len(chosen), len(folds), 3))
    with progress("margin maximisation", len(chosen) * len(folds), cv.verbose) as tick:
        for k, fold in enumerate(folds):
            for b, (name, booster) in enumerate(chosen.items()):
                measured[b, k] = _evaluate(unfitted(booster, random_state=fold.seed), X, codes, fold)
                tick(f"{name}: smallest margin {measured[b, k, 0]:.4f}")
    margins, errors = measured[..., :2].reshape(len(chosen), cv.n_repeats, cv.n_folds, 2).transpose(3, 0, 1, 2)
    return MarginMaximisation(tuple(chosen), margins, errors, measured[..., 2].mean(axis=1))


def _evaluate(booster: Any, X: Any, codes: NDArray[np.int64], fold: Fold) -> tuple[float, float, int]:
    """Return the smallest margin of the training rows, the test error and the number of members."""
    rows, y = take_rows(X, fold.train), codes[fold.train]
    fit_quietly(booster, rows, y)
    error = error_rate(booster, take_rows(X, fold.test), codes[fold.test])
    return float(booster.margins(rows, y).min()), error, len(booster)


def reproduce(quick: bool = False, verbose: int = 0) -> Outcome:
    """Measure and compare with the claims: trees of LEAVES leaves, and stumps, which maximise the edge."""
    trees = margin_maximisers(30 if quick else 500, estimator=DecisionTreeClassifier(max_leaf_nodes=LEAVES))
    stumps = margin_maximisers(60 if quick else 1000)
    if quick:
        del stumps["LPBoost"]
    order = ("AdaBoost", "arc-gv", "AdaBoost*", "LPBoost")
    learners = {
        f"{LEAVES} leaves": {name: trees[name] for name in order[:2]},
        "stumps": {name: stumps[name] for name in order if name in stumps},
    }
    cv = CrossValidation(n_folds=2 if quick else 10, verbose=verbose)
    measured: dict[str, MarginMaximisation] = {}
    for learner, boosters in learners.items():
        names = ("sonar",) if quick else SEPARABLE_SETS
        by_set = over_datasets(names, lambda X, y, boosters=boosters: margin_maximisation(X, y, boosters, cv=cv))
        measured |= {f"{name}, {learner}": one for name, one in by_set.items()}
    return compare(measured)


def compare(measured: Mapping[str, MarginMaximisation]) -> Outcome:
    """Compare results by data set and weak learner with the claims."""
    rows: list[Row] = []
    claims: list[Claim] = []
    for name, one in measured.items():
        for booster in one.boosters:
            rows.append(row(f"{name}, {booster}, smallest margin", one.smallest_margin(booster)))
            rows.append(row(f"{name}, {booster}, test error", one.test_error(booster)))
        gain, excess = one.margin_gain("arc-gv"), one.excess("arc-gv")
        evidence, is_larger = f"arc-gv - AdaBoost: {gain}", is_above(gain)
        if "leaves" in name:
            better = f"arc-gv - AdaBoost: {excess}"
            claims.append(Claim(f"{name}: arc-gv has the larger smallest margin", is_larger, evidence))
            claims.append(Claim(f"{name}: and no better test error", is_not_below(excess), better))
        else:
            need_not = is_larger is not True
            claims.append(Claim(f"{name}: arc-gv's smallest margin need not be larger", need_not, evidence))
    curves = gather_curves(
        (name, booster, [one.smallest_margin(booster).value], [error.value], [error.stderr])
        for name, one in measured.items()
        for booster in one.boosters
        for error in [one.test_error(booster)]
    )
    return Outcome(tuple(rows), tuple(claims), curves, verdict_of(rows, claims), measured)


def draw(result: ReproductionResult) -> Figure:
    """Draw test error against smallest margin; if larger margins were better, the points would go down to the right."""
    axes = panels(None, len(result.data), (5.0, 3.6), n_columns=2)
    for ax, (name, one) in zip(axes, result.data.items(), strict=True):
        draw_margins_and_errors(ax, one)
        ax.set_title(name, fontsize="medium", loc="left")
    return axes[0].figure


def draw_margins_and_errors(ax: Any, one: MarginMaximisation) -> None:
    """Draw a point for every booster, with bars of one standard error over the folds."""
    for booster, color, marker in zip(one.boosters, COLORS, MARKERS, strict=False):
        margin, error = one.smallest_margin(booster), one.test_error(booster)
        ax.errorbar(
            [margin.value], [error.value], [error.stderr], [margin.stderr], linestyle="", marker=marker, markersize=7,
            color=color, capsize=2.5, elinewidth=1.1, label=f"{booster}: {error.value:.3f}",
        )  # fmt: skip
    low, high = ax.get_ylim()
    ax.set_ylim(low, high + 0.35 * (high - low))  # room for the legend above the bars
    ax.legend(frameon=False, fontsize="small", loc="upper left", ncols=2)
    finish(ax, "smallest margin of the training rows", "test error")
