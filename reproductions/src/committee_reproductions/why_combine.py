"""Why combine at all? Dietterich's three reasons and the choice they stand against, measured (B-8, B-7; S3).

Statistical. With few rows many hypotheses have the same training error, and nothing tells which to take. Here the class
is all lines through the origin of R^d (planes), the truth is one of them, and hypotheses are drawn evenly and kept if
they make no training error. One of them taken at random errs by angle / pi on new rows. Their vote errs less, and the
difference goes away as rows come: it was the sample, not the class.

Representational. A stump sgn(x_j - t) cannot say "x_1 + x_2 > 0": on the square [-1, 1]^2 the best one errs on a
quarter. A weighted sum of stumps is a sum of one function of x_1 and one of x_2, and comes as near as it likes: it has
left the class. Rows are many here, so that the sample is not the reason.

Computational. A local search ends in different places: see `committee.members.restarts` (B-7), here on sonar data.

Select or combine. Given some learners, take the one with the smallest out-of-fold error, or combine all of them?
(S3: "Rather than selecting the best model, why not try combining the whole set of classifiers?")

Dietterich, Ensemble methods in machine learning, 2000.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

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
from committee.boosting.adaboost import AdaBoostClassifier
from committee.datasets import load_dataset
from committee.evaluation._folds import Mean, draw_folds, mean_over_folds, rows_of, seeded
from committee.forests.estimators import RandomForestClassifier, RandomForestRegressor
from committee.members.restarts import RestartClassifier
from committee.records.history import History
from committee.svm.svc import SVC
from committee.svm.svr import SVR
from committee.trees.decision_stump import DecisionStump
from committee.voting.stacking import StackingClassifier, StackingRegressor

Members = list[tuple[str, Any]]

SQUARE_LIMIT = 0.25
"""Of the square that the best stump gets wrong: half of it answers x_1 > 0, and half of each half is wrong there."""

MOST_VOTERS = 1000
"""Planes that vote: more of them would not change the vote by a thousandth."""

WAYS = ("selected", "vote", "mean", "simplex")


def _mean(values: Floats) -> Mean:
    """Mean and standard error over independent repeats."""
    return Mean(float(values.mean()), float(values.std(ddof=1) / np.sqrt(values.size)))


# --- the statistical reason ------------------------------------------------------------------------------------------


class StatisticalReason(NamedTuple):
    """Errors on new rows of hypotheses without a training error, and of their vote; one column for each size."""

    n_rows: NDArray[np.int64]  # [s] training rows
    one_errors: Floats  # [repeats, s] of a hypothesis taken at random: the mean over those that fit
    vote_errors: Floats  # [repeats, s]
    beaten: Floats  # [repeats, s] share of the hypotheses that the vote is better than
    n_hypotheses: Floats  # [repeats, s] that fit

    def gain(self, k: int) -> Mean:
        """Error of one minus that of the vote, with the k-th number of rows."""
        return _mean(self.one_errors[:, k] - self.vote_errors[:, k])

    @property
    def history(self) -> History:
        """One row per number of training rows: means and standard errors."""
        means = {"one": self.one_errors, "vote": self.vote_errors, "beaten": self.beaten}
        columns: dict[str, Any] = {"n_rows": self.n_rows}
        for name, values in means.items():
            columns |= {name: values.mean(axis=0), f"{name}_stderr": values.std(axis=0, ddof=1) / len(values) ** 0.5}
        return History(columns)

    @property
    def verdict(self) -> str:
        first, last = self.n_rows[0], self.n_rows[-1]
        one, vote = self.one_errors.mean(axis=0), self.vote_errors.mean(axis=0)
        return (
            f"with {first} rows one hypothesis that fits errs {one[0]:.3f} and the vote of all that fit {vote[0]:.3f}, "
            f"{100 * (1 - vote[0] / one[0]):.0f} % less; with {last} rows {one[-1]:.3f} and {vote[-1]:.3f}: the gain "
            f"falls from {self.gain(0)} to {self.gain(len(self.n_rows) - 1)}"
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
    """Many planes fit a small sample equally well: the error of one of them, and of the vote of all (B-8).

    Parameters
    ----------
    sizes : numbers of training rows
    n_features : d, of standard normal rows
    n_repeats : independent training sets of each size
    n_draws : planes drawn evenly; those without a training error are kept, so many rows in many dimensions keep few
    n_test : new rows to judge the vote by; the error of a plane is known, angle / pi

    Examples
    --------
    >>> found = statistical_reason(sizes=(5, 20), n_repeats=10, n_draws=20_000)
    >>> print(found.verdict)
    with 5 rows one hypothesis that fits errs 0.207 and the vote of all that fit 0.170, 18 % less; with 20 rows 0.057
    and 0.039: the gain falls from 0.0368 ± 0.0068 to 0.0182 ± 0.0051
    """
    if min(sizes) < 1 or n_repeats < 2:
        raise ValueError("statistical_reason needs at least one row and two repeats.")
    seeds = member_seeds(random_state, n_repeats * len(sizes)).reshape(n_repeats, len(sizes))
    found = np.array(
        [[_planes(int(n), n_features, n_draws, n_test, int(seed)) for n, seed in zip(sizes, row, strict=True)]
         for row in seeds]
    )  # fmt: skip
    return StatisticalReason(np.array(sizes, np.int64), *np.moveaxis(found, 2, 0))


def _planes(n_rows: int, n_features: int, n_draws: int, n_test: int, seed: int) -> tuple[float, float, float, float]:
    """Errors of one plane that fits and of the vote, the share that the vote beats, and how many fit."""
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
    vote = np.mean(test @ planes[:MOST_VOTERS].T > 0.0, axis=1) > 0.5
    vote_error = float(np.mean(vote != right))
    return float(errors.mean()), vote_error, float(np.mean(errors > vote_error)), float(len(planes))


def _directions(n: int, d: int, rng: np.random.Generator) -> Floats:
    """Evenly over the sphere."""
    drawn = rng.standard_normal((n, d))
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


# --- the representational reason -------------------------------------------------------------------------------------


class RepresentationalReason(NamedTuple):
    """Stumps against a slanting line: the best one, and weighted sums of them."""

    stump_error: float  # of the best stump on the training rows: (1 + t^2) / 4 of the square, cut at t
    limit: float  # of every stump
    errors: Floats  # [members] of the sum of the first t, on new rows
    axis: Floats  # [g] of the grid on the square
    grids: dict[int, Floats]  # number of members -> answers -1, +1 [g, g] on the grid, rows by x_2

    @property
    def verdict(self) -> str:
        shown = ", ".join(f"{self.errors[t - 1]:.3f} with {t}" for t in self.grids)
        return (
            f"no stump errs less than {self.limit:.2f}, the best one found errs {self.stump_error:.3f}; weighted sums "
            f"of stumps err {shown}: they have left the class"
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
    """Weighted sums of stumps say what no stump can: x_1 + x_2 > 0 on a square (B-8).

    Examples
    --------
    >>> print(representational_reason(n_rows=500, n_estimators=50, shown=(1, 50)).verdict)
    no stump errs less than 0.25, the best one found errs 0.253; weighted sums of stumps err 0.253 with 1, 0.040 with
    50: they have left the class
    """
    sizes = sorted({min(max(1, t), n_estimators) for t in shown})
    rng = np.random.default_rng(int(member_seeds(random_state, 1)[0]))
    X = rng.uniform(-1.0, 1.0, (n_rows, 2))
    test = 2.0 * qmc.Halton(2, rng=rng).random(n_test) - 1.0  # evenly over the square: areas to four digits
    y, truth = X.sum(axis=1) > 0.0, test.sum(axis=1) > 0.0
    cut = float(DecisionStump().fit(X, y).tree_.threshold[0])
    model = AdaBoostClassifier(n_estimators=n_estimators, random_state=0).fit(X, y)
    errors = np.array([np.mean(labels != truth) for labels in model.staged_predict(test)])
    axis = np.linspace(-1.0, 1.0, n_grid)
    places = np.column_stack([np.tile(axis, n_grid), np.repeat(axis, n_grid)])
    staged = enumerate(model.staged_predict(places), start=1)
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
    def verdict(self) -> str:
        ends = self.train_errors
        return (
            f"one search ends with a training error between {ends.min():.3f} and {ends.max():.3f}; on new rows one "
            f"errs {self.one_errors.mean():.3f}, the best of {ends.shape[1]} {self.best_errors.mean():.3f}, the vote "
            f"of all {self.vote_errors.mean():.3f}"
        )


def computational_reason(
    X: Any = None, y: Any = None, *, n_restarts: int = 25, n_folds: int = 5, random_state: RandomState = 0
) -> ComputationalReason:
    """Restarts of the pocket perceptron, the best or the vote of all, on sonar data or given rows (B-7).

    Examples
    --------
    >>> print(computational_reason().verdict)
    one search ends with a training error between 0.024 and 0.133; on new rows one errs 0.240, the best of 25 0.216, the
    vote of all 0.211
    """
    sonar = load_dataset("sonar")
    table, labels = (sonar.X, sonar.y) if X is None or y is None else (X, np.asarray(y))
    folds = draw_folds(np.unique(labels, return_inverse=True)[1].astype(np.int64), n_folds, random_state)
    train, ones, best, votes = [], [], [], []
    for fold in folds:
        known, new, truth = rows_of(table, fold.train), rows_of(table, fold.test), labels[fold.test]
        model: Any = RestartClassifier(n_restarts=n_restarts, combine="vote", random_state=fold.seed)
        model.fit(known, labels[fold.train])
        train.append(model.errors_)
        ones.append([float(np.mean(member.predict(new) != truth)) for member in model.members_])
        best.append(float(np.mean(model.best_.predict(new) != truth)))
        votes.append(float(np.mean(model.predict(new) != truth)))
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
        """Mean over folds, of a way or of a member."""
        values = self.errors[way] if way in self.errors else self.member_errors[self.names.index(way)]
        return mean_over_folds(values.reshape(self.n_repeats, -1))

    def gain(self, way: str) -> Mean:
        """Error of the selected member minus that of a way to combine, on the same folds."""
        return mean_over_folds((self.errors["selected"] - self.errors[way]).reshape(self.n_repeats, -1))

    @property
    def verdict(self) -> str:
        best = min((way for way in self.errors if way != "selected"), key=lambda way: self.errors[way].mean())
        gain = self.gain(best)
        word = "combining is better" if gain.value > 2.0 * gain.stderr else "selecting is better" \
            if gain.value < -2.0 * gain.stderr else "no sure difference"  # fmt: skip
        return (
            f"{word}: the member with the smallest out-of-fold error errs {self.error('selected')}, the {best} of all "
            f"{len(self.names)} {self.error(best)}, a gain of {gain}; selected were {_counted(self.chosen)}"
        )


def select_or_combine(
    X: Any,
    y: Any,
    members: Members | None = None,
    *,
    task: Literal["auto", "classification", "regression"] = "auto",
    n_folds: int = 5,
    n_repeats: int = 2,
    cv: int = 5,
    random_state: RandomState = 0,
    verbose: int = 0,
) -> SelectOrCombine:
    """Select the best learner by cross-validation, or combine all of them? On these rows (B-8).

    On every test fold: one stack of all members gives their out-of-fold errors, by which one is selected, and their
    simplex weights; members fitted on all training rows are then asked alone, by vote, by mean and by weighted mean.

    Parameters
    ----------
    members : list of (name, estimator), default a forest, a support vector machine, nearest neighbours, naive Bayes or
        ridge regression, and a linear classifier
    task : of default members; by the labels if "auto": text, bools and up to 20 whole numbers are classes
    n_folds, n_repeats : test folds
    cv : folds inside the training rows

    Examples
    --------
    >>> from committee.datasets import load_dataset
    >>> sonar = load_dataset("sonar")
    >>> found = select_or_combine(sonar.X, sonar.y, n_folds=4, n_repeats=1)
    >>> print(found.error("forest"), found.error("selected"), found.error("simplex"), sep=", ")
    0.2067 ± 0.0326, 0.1346 ± 0.0379, 0.1394 ± 0.0367
    """
    target = np.asarray(y)
    is_class = is_classifier(members[0][1]) if members else _is_class(target, task)
    given = members or (_default_classifiers() if is_class else _default_regressors())
    strata = np.unique(target, return_inverse=True)[1] if is_class else np.zeros(target.size, np.int64)
    folds = draw_folds(np.asarray(strata, np.int64), n_folds, random_state, n_repeats)
    found: list[tuple[Floats, dict[str, float], str, Floats]] = []
    with progress("select or combine", len(folds), verbose) as tick:
        for fold in folds:
            stack: Any = (StackingClassifier if is_class else StackingRegressor)(
                [(name, seeded(member, fold.seed)) for name, member in given], "simplex", cv=cv, random_state=fold.seed
            )
            stack.fit(rows_of(X, fold.train), target[fold.train])
            found.append(_judge(stack, rows_of(X, fold.test), target[fold.test], is_class))
            tick(found[-1][2])
    ways = tuple(way for way in WAYS if way in found[0][1])
    return SelectOrCombine(
        "classification" if is_class else "regression",
        tuple(name for name, _ in given),
        np.array([errors for errors, *_ in found]).T,
        {way: np.array([errors[way] for _, errors, *_ in found]) for way in ways},
        tuple(chosen for *_, chosen, _ in found),
        np.array([weights for *_, weights in found]).T,
        n_repeats,
    )


def _judge(stack: Any, X: Any, y: NDArray[Any], is_class: bool) -> tuple[Floats, dict[str, float], str, Floats]:
    """Test errors of the members and of the ways, the member selected, and the weights."""
    history = stack.history_
    k = int(np.argmin(history.error if is_class else history.rmse))
    columns = stack.transform(X)
    if not is_class:
        own = np.mean((columns - y[:, np.newaxis]) ** 2, axis=0)
        mean = float(np.mean((columns.mean(axis=1) - y) ** 2))
        errors = {"selected": float(own[k]), "mean": mean, "simplex": float(np.mean((stack.predict(X) - y) ** 2))}
        return own, errors, str(history.member[k]), stack.weights_
    shares = columns.reshape(len(columns), len(stack.weights_), -1)
    shares = np.concatenate([1.0 - shares, shares], axis=2) if shares.shape[2] == 1 else shares
    truth = np.searchsorted(stack.classes_, y)
    codes = shares.argmax(axis=2)
    votes = np.array([np.bincount(row, minlength=shares.shape[2]) for row in codes])
    own = np.mean(codes != truth[:, np.newaxis], axis=0)
    answers = {"vote": votes.argmax(axis=1), "mean": shares.mean(axis=1).argmax(axis=1)}
    errors = {"selected": float(own[k])} | {way: float(np.mean(code != truth)) for way, code in answers.items()}
    errors["simplex"] = float(np.mean(stack.predict(X) != y))
    return own, errors, str(history.member[k]), stack.weights_


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


def reproduce_b8(*, n_repeats: int = 2, verbose: int = 0) -> dict[str, SelectOrCombine]:
    """Select or combine on built-in data: sonar, ionosphere, glass and ozone, without categories and missing rows."""
    found: dict[str, SelectOrCombine] = {}
    for name in ("sonar", "ionosphere", "glass", "ozone"):
        sample = load_dataset(name)
        kept = [f for f in range(sample.X.shape[1]) if f not in sample.categories]
        X = sample.X[:, kept]
        rows = ~np.isnan(X).any(axis=1)
        found[name] = select_or_combine(X[rows], sample.y[rows], task=sample.task, n_repeats=n_repeats, verbose=verbose)
    return found
