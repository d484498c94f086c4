"""Why combine at all? Three reasons, and selecting the best against combining all.

Dietterich, Ensemble methods in machine learning, 2000.

Statistical. With few rows many hypotheses have the same training error, and nothing tells which to take. Here the class
is all planes through the origin of R^d, the truth is one of them, and planes are drawn uniformly and kept if they make
no training error. One of them taken at random errs by angle / pi on new rows. Their vote errs less, and the difference
vanishes with more rows: the sample was the reason, not the class.

Representational. A stump sgn(x_j - t) cannot express x_1 + x_2 > 0: on the square [-1, 1]^2 the best one errs on a
quarter. A weighted sum of stumps is a sum of a function of x_1 and one of x_2, and comes as near as one likes: it has
left the class. Rows are many here, so that the sample is not the reason.

Computational. A local search ends in different places: the pocket perceptron from many starts, on sonar data.

Select or combine. Given some learners, take the one with the smallest out-of-fold error, or combine all of them?
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import qmc
from sklearn.base import is_classifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from committee.base.array_types import Floats
from committee.base.progress import progress
from committee.base.rng import RandomState, member_seeds
from committee.base.stats import Mean, mean_over_folds
from committee.boosting.adaboost import AdaBoostClassifier
from committee.datasets import load_dataset
from committee.evaluation._folds import read_labels, seeded
from committee.forests.estimators import RandomForestClassifier, RandomForestRegressor
from committee.members.restarts import RestartClassifier
from committee.plots._style import BLUE, GREEN, GREY, ORANGE, VERMILION, finish, grid_rows, panels
from committee.records.history import History
from committee.svm.svc import SVC
from committee.svm.svr import SVR
from committee.tabular.rows import take_rows
from committee.trees.decision_stump import DecisionStump
from committee.voting.stacking import StackingClassifier, StackingRegressor
from committee_reproductions._experiments import CrossValidation, error_rate
from committee_reproductions.results import (
    Claim,
    Outcome,
    ReproductionResult,
    gather_means,
    is_above,
    is_not_below,
    mean_over_draws,
    minus,
    row,
    stderr_over_draws,
    verdict_of,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Members = list[tuple[str, Any]]

SQUARE_LIMIT = 0.25
"""Fraction of the square that the best stump gets wrong: x_1 > 0 is right on three quarters of it."""

MAX_VOTERS = 1000
"""Planes that vote: more of them would not change the vote by a thousandth."""

WAYS = {"selected": "selected one", "vote": "vote of all", "mean": "mean of all", "simplex": "weighted mean"}
COLORS = {"selected": VERMILION, "vote": ORANGE, "mean": GREEN, "simplex": BLUE}

DATASETS = ("sonar", "ionosphere", "glass", "ozone")


# --- the statistical reason ------------------------------------------------------------------------------------------


class StatisticalReason(NamedTuple):
    """Errors on new rows of hypotheses without a training error, and of their vote; a column for each sample size."""

    n_rows: NDArray[np.int64]  # [s] training rows
    one_errors: Floats  # [repeats, s] of a hypothesis taken at random: the mean over those that fit
    vote_errors: Floats  # [repeats, s]
    beaten: Floats  # [repeats, s] fraction of the hypotheses that the vote is better than
    n_hypotheses: Floats  # [repeats, s] that fit

    def gain(self, k: int) -> Mean:
        """Error of one minus that of the vote, with the k-th number of rows."""
        return mean_over_draws(self.one_errors[:, k] - self.vote_errors[:, k])

    @property
    def history(self) -> History:
        """One row per number of training rows: means and standard errors."""
        means = {"one": self.one_errors, "vote": self.vote_errors, "beaten": self.beaten}
        columns: dict[str, Any] = {"n_rows": self.n_rows}
        for name, values in means.items():
            columns |= {name: values.mean(axis=0), f"{name}_stderr": stderr_over_draws(values)}
        return History(columns)

    @property
    def verdict(self) -> str:
        """How the gain of the vote depends on the number of rows."""
        first, last = self.n_rows[0], self.n_rows[-1]
        one, vote = self.one_errors.mean(axis=0), self.vote_errors.mean(axis=0)
        return (
            f"with {first} rows one hypothesis that fits has error {one[0]:.3f} and the vote of all that fit "
            f"{vote[0]:.3f}, {100 * (1 - vote[0] / one[0]):.0f} % less; with {last} rows {one[-1]:.3f} and "
            f"{vote[-1]:.3f}: the gain decreases from {self.gain(0)} to {self.gain(len(self.n_rows) - 1)}"
        )


def statistical_reason(
    *,
    sizes: Sequence[int] = (5, 10, 20, 40, 80),
    n_features: int = 3,
    n_repeats: int = 40,
    n_draws: int = 50_000,
    n_test: int = 2000,
    random_state: RandomState = 0,
) -> StatisticalReason:
    """Compare one of many planes that fit a small sample equally well with the vote of all of them.

    Parameters
    ----------
    sizes : sequence of int
        Numbers of training rows.
    n_features : int, default=3
        Dimension of the standard normal rows.
    n_repeats : int, default=40
        Independent training sets of each size.
    n_draws : int, default=50000
        Planes drawn uniformly; those without a training error are kept, few with many rows in many dimensions.
    n_test : int, default=2000
        New rows for the error of the vote; that of a plane is known, angle / pi.
    random_state : int or numpy Generator, default=0
        Draws rows and planes.

    Returns
    -------
    StatisticalReason
        Errors by number of rows.

    Examples
    --------
    >>> print(statistical_reason(sizes=(5, 20), n_repeats=10, n_draws=20_000).verdict)
    with 5 rows one hypothesis that fits has error 0.207 and the vote of all that fit 0.170, 18 % less; with 20 rows
    0.057 and 0.039: the gain decreases from 0.0368 ± 0.0068 to 0.0182 ± 0.0051
    """
    if min(sizes) < 1 or n_repeats < 2:
        raise ValueError("statistical_reason needs at least one row and two repeats.")
    seeds = member_seeds(random_state, n_repeats * len(sizes)).reshape(n_repeats, len(sizes))
    measured = np.array(
        [[_planes(int(n), n_features, n_draws, n_test, int(seed)) for n, seed in zip(sizes, row, strict=True)]
         for row in seeds]
    )  # fmt: skip
    return StatisticalReason(np.array(sizes, np.int64), *np.moveaxis(measured, 2, 0))


def _planes(n_rows: int, n_features: int, n_draws: int, n_test: int, seed: int) -> tuple[float, float, float, float]:
    """Return the errors of one plane that fits and of the vote, the fraction that the vote beats, and how many fit."""
    rng = np.random.default_rng(seed)
    truth = _directions(1, n_features, rng)[0]
    X = rng.standard_normal((n_rows, n_features))
    y = X @ truth > 0.0
    planes = _directions(n_draws, n_features, rng)
    planes = planes[np.all((planes @ X.T > 0.0) == y, axis=1)]
    if len(planes) == 0:
        planes = truth[np.newaxis]  # none drawn fits; the truth always does
    errors = np.arccos(np.clip(planes @ truth, -1.0, 1.0)) / np.pi
    test = rng.standard_normal((n_test, n_features))
    right = test @ truth > 0.0
    vote = np.mean(test @ planes[:MAX_VOTERS].T > 0.0, axis=1) > 0.5
    vote_error = float(np.mean(vote != right))
    return float(errors.mean()), vote_error, float(np.mean(errors > vote_error)), float(len(planes))


def _directions(n: int, d: int, rng: np.random.Generator) -> Floats:
    """Draw uniformly from the sphere."""
    drawn = rng.standard_normal((n, d))
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


# --- the representational reason -------------------------------------------------------------------------------------


class RepresentationalReason(NamedTuple):
    """Stumps against a slanting line: the best one, and weighted sums of them."""

    stump_error: float  # of the best stump on the training rows: (1 + t^2) / 4 of the square, cut at t
    limit: float  # of every stump
    errors: Floats  # [members] of the sum of the first t, on new rows
    axis: Floats  # [g] of the grid on the square
    grids: dict[int, Floats]  # number of members -> predictions -1, +1 [g, g] on the grid, rows by x_2

    @property
    def verdict(self) -> str:
        """What a stump and what sums of stumps reach."""
        shown = ", ".join(f"{self.errors[t - 1]:.3f} with {t}" for t in self.grids)
        return (
            f"no stump has an error below {self.limit:.2f}, the fitted one has {self.stump_error:.3f}; weighted sums "
            f"of stumps have {shown}: they have left the class"
        )


def representational_reason(
    *,
    n_rows: int = 2000,
    n_estimators: int = 200,
    n_test: int = 2**14,
    n_grid: int = 81,
    shown: Sequence[int] = (1, 10, 200),
    random_state: RandomState = 0,
) -> RepresentationalReason:
    """Let weighted sums of stumps express what no stump can: x_1 + x_2 > 0 on a square.

    >>> print(representational_reason(n_rows=500, n_estimators=50, shown=(1, 50)).verdict)
    no stump has an error below 0.25, the fitted one has 0.253; weighted sums of stumps have 0.253 with 1, 0.040 with
    50: they have left the class
    """
    sizes = sorted({min(max(1, t), n_estimators) for t in shown})
    rng = np.random.default_rng(int(member_seeds(random_state, 1)[0]))
    X = rng.uniform(-1.0, 1.0, (n_rows, 2))
    test = 2.0 * qmc.Halton(2, rng=rng).random(n_test) - 1.0  # low discrepancy: areas to four digits
    y, truth = X.sum(axis=1) > 0.0, test.sum(axis=1) > 0.0
    cut = float(DecisionStump().fit(X, y).tree_.threshold[0])
    model = AdaBoostClassifier(n_estimators=n_estimators, random_state=0).fit(X, y)
    errors = np.array([np.mean(labels != truth) for labels in model.staged_predict(test)])
    axis = np.linspace(-1.0, 1.0, n_grid)
    staged = enumerate(model.staged_predict(grid_rows(axis, axis)), start=1)
    grids = {t: np.where(labels, 1.0, -1.0).reshape(n_grid, n_grid) for t, labels in staged if t in sizes}
    return RepresentationalReason(SQUARE_LIMIT * (1.0 + cut**2), SQUARE_LIMIT, errors, axis, grids)


# --- the computational reason ----------------------------------------------------------------------------------------


class ComputationalReason(NamedTuple):
    """A local search from many starts: errors of each end, of the best and of the vote of all, fold by fold."""

    train_errors: Floats  # [folds, starts]
    one_errors: Floats  # [folds, starts] on new rows
    best_errors: Floats  # [folds] of the start with the smallest training error
    vote_errors: Floats  # [folds]

    @property
    def gain(self) -> Mean:
        """Error of one search minus that of the vote of all, paired over the folds."""
        return mean_over_folds((self.one_errors.mean(axis=1) - self.vote_errors)[np.newaxis])

    @property
    def verdict(self) -> str:
        """Where the searches end, and what the best and the vote gain."""
        ends = self.train_errors
        return (
            f"one search ends with a training error between {ends.min():.3f} and {ends.max():.3f}; on new rows one has "
            f"error {self.one_errors.mean():.3f}, the best of {ends.shape[1]} {self.best_errors.mean():.3f}, the vote "
            f"of all {self.vote_errors.mean():.3f}"
        )


def computational_reason(
    X: Any = None, y: Any = None, *, n_restarts: int = 25, cv: CrossValidation = CrossValidation(n_folds=5)
) -> ComputationalReason:
    """Restart the pocket perceptron, and take the best or the vote of all, on sonar data or given rows.

    >>> print(computational_reason().verdict)
    one search ends with a training error between 0.024 and 0.133; on new rows one has error 0.240, the best of 25
    0.216, the vote of all 0.211
    """
    sonar = load_dataset("sonar")
    table, labels = (sonar.X, sonar.y) if X is None or y is None else (X, np.asarray(y))
    train, ones, best, votes = [], [], [], []
    for fold in cv.folds(read_labels(labels)):
        known, new, truth = take_rows(table, fold.train), take_rows(table, fold.test), labels[fold.test]
        model: Any = RestartClassifier(n_restarts=n_restarts, combine="vote", random_state=fold.seed)
        model.fit(known, labels[fold.train])
        train.append(model.errors_)
        ones.append([error_rate(member, new, truth) for member in model.members_])
        best.append(error_rate(model.best_, new, truth))
        votes.append(error_rate(model, new, truth))
    return ComputationalReason(np.array(train), np.array(ones), np.array(best), np.array(votes))


# --- select or combine -----------------------------------------------------------------------------------------------


class SelectOrCombine(NamedTuple):
    """Errors on test folds: of every member, of the one selected out of fold, and of three combinations of all."""

    task: Literal["classification", "regression"]
    names: tuple[str, ...]
    member_errors: Floats  # [members, folds]
    errors: dict[str, Floats]  # "selected", "vote" (classes), "mean", "simplex" -> [folds]
    chosen: tuple[str, ...]  # [folds] the member that was selected
    weights: Floats  # [members, folds] of the simplex stack
    n_repeats: int

    def error(self, way: str) -> Mean:
        """Mean over folds, of a way to combine or of a member."""
        values = self.errors[way] if way in self.errors else self.member_errors[self.names.index(way)]
        return mean_over_folds(values.reshape(self.n_repeats, -1))

    def gain(self, way: str) -> Mean:
        """Error of the selected member minus that of a way to combine, on the same folds."""
        return mean_over_folds((self.errors["selected"] - self.errors[way]).reshape(self.n_repeats, -1))

    @property
    def verdict(self) -> str:
        """Whether selecting or combining is better, with the numbers."""
        best = min((way for way in self.errors if way != "selected"), key=lambda way: self.errors[way].mean())
        gain = self.gain(best)
        what = {True: "combining is better", False: "selecting is better", None: "no significant difference"}
        return (
            f"{what[is_above(gain)]}: the member with the smallest out-of-fold error has error "
            f"{self.error('selected')}, the {best} of all {len(self.names)} {self.error(best)}, a gain of {gain}; "
            f"selected were {_counted(self.chosen)}"
        )


def select_or_combine(
    X: Any,
    y: Any,
    members: Members | None = None,
    *,
    task: Literal["auto", "classification", "regression"] = "auto",
    n_inner_folds: int = 5,
    cv: CrossValidation = CrossValidation(n_folds=5, n_repeats=2),
) -> SelectOrCombine:
    """Select the best learner by cross-validation, or combine all of them?

    On every test fold a stack of all members gives their out-of-fold errors, by which one is selected, and their
    simplex weights; the members, fitted on all training rows, then predict alone, by vote, by mean and by weighted
    mean.

    Parameters
    ----------
    X : array or data frame of shape (n_samples, n_features)
        The features.
    y : array of shape (n_samples,)
        Class labels or a regression target.
    members : list of (name, estimator), optional
        By default a forest, an SVM, nearest neighbours, naive Bayes or ridge regression, and a linear classifier.
    task : {"auto", "classification", "regression"}, default="auto"
        Of the default members; "auto" takes text, booleans and at most 20 different integers for classes.
    n_inner_folds : int, default=5
        Folds inside the training rows.
    cv : CrossValidation
        Test folds.

    Returns
    -------
    SelectOrCombine
        Errors in every fold.

    Examples
    --------
    >>> from committee.datasets import load_dataset
    >>> sonar = load_dataset("sonar")
    >>> result = select_or_combine(sonar.X, sonar.y, cv=CrossValidation(n_folds=4))
    >>> print(result.error("forest"), result.error("selected"), result.error("simplex"), sep=", ")
    0.2067 ± 0.0326, 0.1635 ± 0.0281, 0.1394 ± 0.0367
    """
    target = np.asarray(y)
    is_class = is_classifier(members[0][1]) if members else _is_class(target, task)
    given = members or (_default_classifiers() if is_class else _default_regressors())
    folds = cv.folds(read_labels(target) if is_class else np.zeros(target.size, np.int64))
    kind = StackingClassifier if is_class else StackingRegressor
    measured: list[tuple[Floats, dict[str, float], str, Floats]] = []
    with progress("select or combine", len(folds), cv.verbose) as tick:
        for fold in folds:
            seeded_members = [(name, seeded(member, fold.seed)) for name, member in given]
            stack: Any = kind(seeded_members, "simplex", cv=n_inner_folds, random_state=fold.seed)
            stack.fit(take_rows(X, fold.train), target[fold.train])
            measured.append(_evaluate(stack, take_rows(X, fold.test), target[fold.test], is_class))
            tick(measured[-1][2])
    return SelectOrCombine(
        "classification" if is_class else "regression",
        tuple(name for name, _ in given),
        np.array([errors for errors, *_ in measured]).T,
        {way: np.array([errors[way] for _, errors, *_ in measured]) for way in WAYS if way in measured[0][1]},
        tuple(chosen for *_, chosen, _ in measured),
        np.array([weights for *_, weights in measured]).T,
        cv.n_repeats,
    )


def _evaluate(stack: Any, X: Any, y: NDArray[Any], is_class: bool) -> tuple[Floats, dict[str, float], str, Floats]:
    """Return test errors of the members and of the ways, the member selected, and the weights."""
    history = stack.history_
    k = int(np.argmin(history.error if is_class else history.rmse))
    own, errors = (_errors_of_classes if is_class else _squared_errors)(stack, X, y)
    return own, {"selected": float(own[k]), **errors}, str(history.member[k]), stack.weights_


def _squared_errors(stack: Any, X: Any, y: NDArray[Any]) -> tuple[Floats, dict[str, float]]:
    columns = stack.transform(X)
    own = np.mean((columns - y[:, np.newaxis]) ** 2, axis=0)
    combined = {"mean": columns.mean(axis=1), "simplex": stack.predict(X)}
    return own, {way: float(np.mean((values - y) ** 2)) for way, values in combined.items()}


def _errors_of_classes(stack: Any, X: Any, y: NDArray[Any]) -> tuple[Floats, dict[str, float]]:
    columns = stack.transform(X)
    proba = columns.reshape(len(columns), len(stack.weights_), -1)
    proba = np.concatenate([1.0 - proba, proba], axis=2) if proba.shape[2] == 1 else proba
    truth = np.searchsorted(stack.classes_, y)
    codes = proba.argmax(axis=2)
    votes = np.array([np.bincount(row, minlength=proba.shape[2]) for row in codes])
    combined = {"vote": votes.argmax(axis=1), "mean": proba.mean(axis=1).argmax(axis=1)}
    errors = {way: float(np.mean(predicted != truth)) for way, predicted in combined.items()}
    return np.mean(codes != truth[:, np.newaxis], axis=0), {**errors, "simplex": error_rate(stack, X, y)}


def _is_class(target: NDArray[Any], task: str) -> bool:
    if task != "auto":
        return task == "classification"
    return target.dtype.kind not in "f" and (target.dtype.kind not in "iu" or np.unique(target).size <= 20)


def _default_classifiers() -> Members:
    return [
        ("forest", RandomForestClassifier()),
        ("svm", SVC(C=10.0, scale=True, probability=True)),
        ("neighbours", make_pipeline(StandardScaler(), KNeighborsClassifier())),
        ("bayes", GaussianNB()),
        ("linear", make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))),
    ]


def _default_regressors() -> Members:
    return [
        ("forest", RandomForestRegressor()),
        ("svm", make_pipeline(StandardScaler(), SVR(C=10.0))),
        ("neighbours", make_pipeline(StandardScaler(), KNeighborsRegressor())),
        ("linear", make_pipeline(StandardScaler(), Ridge())),
    ]


def _counted(chosen: Sequence[str]) -> str:
    names, counts = np.unique(np.array(chosen), return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return ", ".join(f"{names[k]} ({counts[k]})" for k in order)


def select_or_combine_on(names: Sequence[str], cv: CrossValidation) -> dict[str, SelectOrCombine]:
    """Select or combine on built-in data sets, without categorical columns and rows with missing values."""
    measured: dict[str, SelectOrCombine] = {}
    for name in names:
        data = load_dataset(name)
        numeric = [f for f in range(data.X.shape[1]) if f not in data.categories]
        X = data.X[:, numeric]
        is_complete = ~np.isnan(X).any(axis=1)
        measured[name] = select_or_combine(X[is_complete], data.y[is_complete], task=data.task, cv=cv)
    return measured


# --- the reproduction ------------------------------------------------------------------------------------------------


class Reasons(NamedTuple):
    """What was measured of all four."""

    statistical: StatisticalReason
    representational: RepresentationalReason
    computational: ComputationalReason
    selection: dict[str, SelectOrCombine]  # by data set


def reproduce(quick: bool = False, verbose: int = 0) -> Outcome:
    """Measure and compare with the claims."""
    if quick:
        reasons = Reasons(
            statistical_reason(sizes=(5, 20), n_repeats=10, n_draws=20_000),
            representational_reason(n_rows=500, n_estimators=50, shown=(1, 10, 50)),
            computational_reason(n_restarts=8, cv=CrossValidation(n_folds=3)),
            select_or_combine_on(("glass",), CrossValidation(n_folds=2, verbose=verbose)),
        )
    else:
        selection = select_or_combine_on(DATASETS, CrossValidation(n_folds=5, n_repeats=2, verbose=verbose))
        reasons = Reasons(statistical_reason(), representational_reason(), computational_reason(), selection)
    means = _means(reasons)
    rows = tuple(row(f"{panel}, {what}", mean) for (panel, what), mean in means.items())
    claims = _claims(reasons)
    return Outcome(rows, claims, gather_means(means), verdict_of(rows, claims), reasons)


def _means(reasons: Reasons) -> dict[tuple[str, str], Mean]:
    statistical, sums, searches, selection = reasons
    means: dict[tuple[str, str], Mean] = {}
    for k in (0, -1):
        panel = f"{statistical.n_rows[k]} rows"
        means[panel, "one plane that fits"] = mean_over_draws(statistical.one_errors[:, k])
        means[panel, "vote of all that fit"] = mean_over_draws(statistical.vote_errors[:, k])
    for t in sums.grids:
        means["x_1 + x_2 > 0", f"sum of {t} stump{'s' if t > 1 else ''}"] = Mean(float(sums.errors[t - 1]), 0.0)
    one, best, vote = searches.one_errors.mean(axis=1), searches.best_errors, searches.vote_errors
    for what, errors in (("one search", one), ("best search", best), ("vote of all searches", vote)):
        means["restarts on sonar", what] = mean_over_folds(errors[np.newaxis])
    for name, measured in selection.items():
        what = "test error" if measured.task == "classification" else "mean squared error"
        means |= {(name, f"{WAYS[way]}, {what}"): measured.error(way) for way in measured.errors}
    return means


def _claims(reasons: Reasons) -> tuple[Claim, ...]:
    statistical, sums, searches, selection = reasons
    few, many = statistical.gain(0), statistical.gain(-1)
    last = float(sums.errors[-1])
    return (
        Claim("with few rows the vote of all planes that fit beats one of them", is_above(few), f"one - vote: {few}"),
        Claim("the gain vanishes with more rows", is_above(minus(few, many)), f"with {statistical.n_rows[-1]}: {many}"),
        Claim("sums of stumps leave their class", last < sums.limit, f"error {last:.3f}, no stump below {sums.limit}"),
        Claim("the vote of many searches beats one", is_above(searches.gain), f"one - vote: {searches.gain}"),
        *(
            Claim(f"{name}: combining with weights is not worse than selecting", is_not_below(measured.gain("simplex")),
                  f"selected - combined: {measured.gain('simplex')}")
            for name, measured in selection.items()
        ),
    )  # fmt: skip


def draw(result: ReproductionResult) -> Figure:
    """Draw the statistical and the representational reason, and below them selecting against combining."""
    reasons: Reasons = result.data
    squares = sorted(reasons.representational.grids)[:: max(1, len(reasons.representational.grids) - 1)]
    axes = panels(None, 4 + len(reasons.selection), (3.3, 3.2), n_columns=4)
    draw_statistical(axes[0], reasons.statistical)
    for ax, t in zip(axes[1:3], squares, strict=True):
        draw_square(ax, reasons.representational, t)
    draw_sums(axes[3], reasons.representational)
    for ax, (name, measured) in zip(axes[4:], reasons.selection.items(), strict=True):
        draw_selection(ax, measured)
        ax.set_title(name, fontsize="medium", loc="left")
    return axes[0].figure


def draw_statistical(ax: Any, measured: StatisticalReason) -> None:
    """Draw the error of one hypothesis that fits and of the vote of all, with bands of one standard error."""
    history, n = measured.history, measured.n_rows
    for key, color, text in (("one", VERMILION, "one that fits"), ("vote", BLUE, "vote of all that fit")):
        low, high = history[key] - history[f"{key}_stderr"], history[key] + history[f"{key}_stderr"]
        ax.fill_between(n, low, high, color=color, alpha=0.15, linewidth=0)
        ax.plot(n, history[key], marker="o", color=color, linewidth=1.6, label=text)
    ax.set_xscale("log")
    ax.set_xticks(n, [str(size) for size in n])
    ax.minorticks_off()
    ax.set_ylim(0.0, None)
    ax.legend(frameon=False, fontsize="small", loc="upper right")
    ax.set_title("statistical", fontsize="medium", loc="left")
    finish(ax, "training rows", "error on new rows")


def draw_square(ax: Any, measured: RepresentationalReason, t: int) -> None:
    """Draw the predictions of the sum of the first t stumps on the square, and the true boundary."""
    from matplotlib.colors import ListedColormap

    colors = ListedColormap(["#f3d9c9", "#cfe3f0"])
    ax.imshow(measured.grids[t], origin="lower", extent=(-1, 1, -1, 1), cmap=colors, vmin=-1, vmax=1)
    ax.plot([-1, 1], [1, -1], color="black", linewidth=1.2, linestyle="--")
    ax.set_title(f"{t} stump{'s' if t > 1 else ''}: error {measured.errors[t - 1]:.3f}", fontsize="medium", loc="left")
    ax.set_xticks([-1, 0, 1])
    ax.set_yticks([-1, 0, 1])
    ax.set_xlabel("$x_1$")
    ax.set_ylabel("$x_2$")


def draw_sums(ax: Any, measured: RepresentationalReason) -> None:
    """Draw the error of weighted sums against the number of stumps."""
    errors = measured.errors
    ax.plot(np.arange(1, errors.size + 1), errors, color=BLUE, linewidth=1.6, label="weighted sum")
    ax.axhline(measured.limit, color=VERMILION, linestyle="--", linewidth=1.2, label="best stump there is")
    ax.set_ylim(0.0, 1.35 * max(float(errors.max()), measured.limit))
    ax.legend(frameon=False, fontsize="small", loc="upper right")
    ax.set_title("representational", fontsize="medium", loc="left")
    finish(ax, "number of stumps", "error")


def draw_selection(ax: Any, measured: SelectOrCombine) -> None:
    """Draw the errors with their standard errors of the members, the selected one, and combinations of all."""
    names = [*measured.names, *measured.errors]
    for k, name in enumerate(names):
        error, color = measured.error(name), COLORS.get(name, GREY)
        ax.errorbar(error.value, -k, xerr=error.stderr, fmt="o", color=color, capsize=3, markersize=5)
    ax.axhline(0.5 - len(measured.names), color=GREY, linewidth=0.6, linestyle=":")
    ax.axvline(measured.error("selected").value, color=VERMILION, linewidth=0.8, linestyle="--", zorder=1)
    ax.set_yticks([-k for k in range(len(names))], [WAYS.get(name, name) for name in names])
    ax.set_ylim(-len(names) + 0.4, 0.6)
    finish(ax, "test error" if measured.task == "classification" else "mean squared error")
