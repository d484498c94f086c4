"""Does a larger smallest margin make a better vote? (F-6, F-2; S0, pages 22-25)

Claim F-6: driving up the smallest margin can worsen the test error, though bounds on it improve with the margins
(Breiman 1999, Prediction games and arcing algorithms; Reyzin and Schapire 2006 found the members that do so to be more
complex). Claim F-2: AdaBoost_theta with theta chosen by validation and many rounds, and AdaBoost with the number of
rounds chosen by validation, end up with similar errors, for both penalise large coefficients.

Measured, F-6: AdaBoost, AdaBoost*, arc-gv and LPBoost without slacks, which reaches the largest smallest margin there
is, learn from the same rows of every fold. Of each: the smallest margin of the training rows and the error on the fold;
against AdaBoost, the paired difference of the errors.

Measured, F-2: in every fold a share of the training rows is kept to validate on; the round of smallest validation error
is kept at theta = 0, and the theta of smallest validation error at all rounds; both are judged on the fold.
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
from committee.boosting.adaboost_star import AdaBoostStarClassifier
from committee.boosting.adaboost_theta import AdaBoostThetaClassifier
from committee.boosting.arc_gv import ArcGVClassifier
from committee.boosting.lpboost import LPBoostClassifier
from committee.datasets import load_dataset
from committee.evaluation._folds import Fold, Mean, draw_folds, mean_over_folds, read_labels, rows_of, unfitted
from committee.records.result_table import ResultTable, to_pandas, to_polars

SEPARABLE_SETS = ("ionosphere", "sonar")
"""Built-in sets on which 1000 stumps leave no training error; where one is left, arc-gv is AdaBoost."""

THETAS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4)

LP_GAP = 0.002
"""LPBoost ends when no smallest margin can be larger by more: the last digits take half of its time."""

SURE = 2.0
"""A difference of so many standard errors is one."""


class MarginMaximisation(NamedTuple):
    """Smallest margins and test errors of boosters on the same folds; the first booster is the one to compare with."""

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

    def excess(self, booster: str) -> Mean:
        """Test error above that of the first booster, paired over the folds."""
        return mean_over_folds(self.test_errors[self._place(booster)] - self.test_errors[0])

    @property
    def verdict(self) -> str:
        """What the booster of the largest smallest margin makes of it, in words."""
        widest = max(self.boosters, key=lambda name: self.smallest_margin(name).value)
        first, excess = self.boosters[0], self.excess(widest)
        if widest == first:
            return f"no booster has a larger smallest margin than {first}: nothing to compare"
        gain = self.smallest_margin(widest).value - self.smallest_margin(first).value
        if abs(excess.value) <= SURE * excess.stderr:
            word = "the test errors do not differ by more than chance"
        else:
            word = "the test error is worse" if excess.value > 0.0 else "the test error is better"
        return f"{widest} has a smallest margin larger by {gain:.4f} than {first}, and {word}: {excess} above"

    def to_table(self) -> ResultTable:
        """One line per booster."""
        columns: dict[str, Any] = {"booster": self.boosters, "n_members": self.n_members}
        for name in ("smallest_margin", "test_error", "excess"):
            means = [getattr(self, name)(booster) for booster in self.boosters]
            columns |= {name: [mean.value for mean in means], f"{name}_stderr": [mean.stderr for mean in means]}
        return ResultTable(columns)

    to_pandas = to_pandas
    to_polars = to_polars

    def _place(self, booster: str) -> int:
        if booster not in self.boosters:
            raise ValueError(f"No booster {booster!r} in this study; there are: {', '.join(self.boosters)}.")
        return self.boosters.index(booster)


class ValidationChoice(NamedTuple):
    """Test errors, [n_repeats, n_folds], of rounds and of theta chosen by validation, and what was chosen."""

    rounds_errors: Floats  # the number of rounds was chosen, theta = 0
    theta_errors: Floats  # theta was chosen, all rounds
    plain_errors: Floats  # nothing was chosen: theta = 0, all rounds, the same training rows
    rounds: NDArray[np.int64]  # chosen
    thetas: Floats  # chosen

    @property
    def difference(self) -> Mean:
        """Test error with theta chosen minus that with the rounds chosen, paired over the folds."""
        return mean_over_folds(self.theta_errors - self.rounds_errors)

    @property
    def verdict(self) -> str:
        """Whether they are similar, in words."""
        is_similar = abs(self.difference.value) <= SURE * self.difference.stderr
        return (
            f"{'similar' if is_similar else 'not similar'}: test error {mean_over_folds(self.rounds_errors)} with the "
            f"rounds chosen by validation, {mean_over_folds(self.theta_errors)} with theta chosen, difference "
            f"{self.difference}; {mean_over_folds(self.plain_errors)} with neither"
        )

    def to_table(self) -> ResultTable:
        """One line per choice."""
        means = [mean_over_folds(errors) for errors in (self.rounds_errors, self.theta_errors, self.plain_errors)]
        return ResultTable({
            "chosen": ["rounds", "theta", "nothing"],
            "test_error": [mean.value for mean in means],
            "test_error_stderr": [mean.stderr for mean in means],
            "median_choice": [float(np.median(self.rounds)), float(np.median(self.thetas)), np.nan],
        })  # fmt: skip

    to_pandas = to_pandas
    to_polars = to_polars


def margin_maximisers(n_rounds: int = 1000, *, nu: float = 0.02, estimator: Any = None) -> dict[str, Any]:
    """AdaBoost and those that drive up the smallest margin, all with the weak learner `estimator`."""
    return {
        "AdaBoost": AdaBoostClassifier(estimator, n_estimators=n_rounds),
        "AdaBoost*": AdaBoostStarClassifier(estimator, nu=nu, n_estimators=n_rounds),
        "arc-gv": ArcGVClassifier(estimator, n_estimators=n_rounds),
        "LPBoost": LPBoostClassifier(estimator, nu=None, n_estimators=n_rounds, tol=LP_GAP),
    }


def margin_maximisation(
    X: Any,
    y: Any,
    *,
    boosters: Mapping[str, Any] | None = None,
    n_folds: int = 10,
    n_repeats: int = 1,
    random_state: RandomState = None,
    verbose: int = 0,
) -> MarginMaximisation:
    """Smallest margin against test error of several boosters on the same folds (F-6).

    Parameters
    ----------
    X, y : a table and its labels of two classes, separable by the weak learner
    boosters : name -> classifier with ``margins``; None takes `margin_maximisers()`
    n_folds, n_repeats : folds, each with its share of every class, and how often to draw them
    random_state : of the folds and of the boosters
    verbose : 1 shows a progress bar

    Examples
    --------
    >>> from committee.datasets import load_dataset
    >>> sonar = load_dataset("sonar")
    >>> boosters = margin_maximisers(n_rounds=40)
    >>> del boosters["LPBoost"]  # for the time it takes
    >>> found = margin_maximisation(sonar.X, sonar.y, boosters=boosters, n_folds=5, random_state=0)
    >>> print(found.smallest_margin("AdaBoost"), found.smallest_margin("arc-gv"), found.excess("arc-gv"), sep="; ")
    0.0515 ± 0.0109; 0.0555 ± 0.0088; -0.0143 ± 0.0272
    """
    chosen = margin_maximisers() if boosters is None else dict(boosters)
    if not chosen:
        raise ValueError("boosters is empty: pass at least one, the first being the one to compare with.")
    codes = read_labels(y)
    folds = draw_folds(codes, n_folds, random_state, n_repeats)
    found = np.empty((len(chosen), len(folds), 3))
    with progress("margin maximisation", len(chosen) * len(folds), verbose) as tick:
        for k, fold in enumerate(folds):
            for b, (name, booster) in enumerate(chosen.items()):
                found[b, k] = _judge(unfitted(booster, random_state=fold.seed), X, codes, fold)
                tick(f"{name}: smallest margin {found[b, k, 0]:.4f}")
    margins, errors = found[..., :2].reshape(len(chosen), n_repeats, n_folds, 2).transpose(3, 0, 1, 2)
    return MarginMaximisation(tuple(chosen), margins, errors, found[..., 2].mean(axis=1))


def validation_choice(
    X: Any,
    y: Any,
    *,
    n_rounds: int = 1000,
    thetas: Sequence[float] = THETAS,
    estimator: Any = None,
    validation_fraction: float = 0.25,
    n_folds: int = 10,
    n_repeats: int = 1,
    random_state: RandomState = None,
    verbose: int = 0,
) -> ValidationChoice:
    """The number of rounds chosen by validation against theta chosen by validation (F-2).

    Parameters
    ----------
    X, y : a table and its labels of two classes
    n_rounds : rounds to choose from, and to run where theta is chosen
    thetas : margin targets to choose from
    estimator : the weak learner, default `DecisionStump()`
    validation_fraction : share of the training rows to validate on
    n_folds, n_repeats, random_state, verbose : as in `margin_maximisation`

    Examples
    --------
    >>> from committee.datasets import load_dataset
    >>> sonar = load_dataset("sonar")
    >>> found = validation_choice(sonar.X, sonar.y, n_rounds=60, thetas=(0.0, 0.1, 0.2), n_folds=5, random_state=0)
    >>> print(found.difference)
    -0.0582 ± 0.0526
    """
    codes = read_labels(y)
    folds = draw_folds(codes, n_folds, random_state, n_repeats)
    common: dict[str, Any] = {"n_estimators": n_rounds, "validation_fraction": validation_fraction}
    # Patience as long as the run: the best of all rounds is kept. The seed makes both hold out the same rows.
    by_rounds = AdaBoostClassifier(estimator, early_stopping="validation", n_iter_no_change=n_rounds, tol=0.0, **common)
    by_theta = AdaBoostThetaClassifier(estimator, theta="validation", thetas=thetas, **common)
    found = np.empty((len(folds), 5))
    with progress("validation of rounds and of theta", len(folds), verbose) as tick:
        for k, fold in enumerate(folds):
            found[k] = _choose(by_rounds, by_theta, X, codes, fold)
            tick(f"{found[k, 3]:.0f} rounds, theta {found[k, 4]:g}")
    rounds, theta, plain, n_chosen, theta_chosen = found.T.reshape(5, n_repeats, n_folds)
    return ValidationChoice(rounds, theta, plain, n_chosen.astype(np.int64), theta_chosen)


def reproduce_f6(
    names: Iterable[str] = SEPARABLE_SETS,
    *,
    n_rounds: int = 1000,
    n_folds: int = 10,
    n_repeats: int = 1,
    random_state: int = 0,
    verbose: int = 0,
) -> dict[str, MarginMaximisation]:
    """The margin maximisers with stumps on the built-in sets that 1000 of them separate.

    ``committee reproduce F-6`` prints what came out beside what is published.
    """
    found: dict[str, MarginMaximisation] = {}
    for name in names:
        X, y = load_dataset(name)[:2]
        found[name] = margin_maximisation(
            X, y, boosters=margin_maximisers(n_rounds), n_folds=n_folds, n_repeats=n_repeats,
            random_state=random_state, verbose=verbose,
        )  # fmt: skip
    return found


def reproduce_f2(
    names: Iterable[str] = (*SEPARABLE_SETS, "pima_diabetes"),
    *,
    n_rounds: int = 500,
    n_folds: int = 10,
    n_repeats: int = 1,
    random_state: int = 0,
    verbose: int = 0,
) -> dict[str, ValidationChoice]:
    """Rounds against theta, chosen by validation, with stumps on built-in sets.

    ``committee reproduce F-2`` prints what came out beside what is published.
    """
    found: dict[str, ValidationChoice] = {}
    for name in names:
        X, y = load_dataset(name)[:2]
        found[name] = validation_choice(
            X, y, n_rounds=n_rounds, n_folds=n_folds, n_repeats=n_repeats, random_state=random_state, verbose=verbose
        )
    return found


def _judge(booster: Any, X: Any, codes: NDArray[np.int64], fold: Fold) -> tuple[float, float, int]:
    """Smallest margin of the training rows, test error, number of members."""
    rows, y = rows_of(X, fold.train), codes[fold.train]
    _fit(booster, rows, y)
    error = np.mean(booster.predict(rows_of(X, fold.test)) != codes[fold.test])
    return float(booster.margins(rows, y).min()), float(error), len(booster)


def _choose(
    by_rounds: Any, by_theta: Any, X: Any, codes: NDArray[np.int64], fold: Fold
) -> tuple[float, float, float, int, float]:
    """Test errors with the rounds chosen, with theta chosen and with nothing chosen; the rounds and the theta."""
    rows, y = rows_of(X, fold.train), codes[fold.train]
    test, truth = rows_of(X, fold.test), codes[fold.test]
    rounds = _fit(unfitted(by_rounds, random_state=fold.seed), rows, y)
    theta = _fit(unfitted(by_theta, random_state=fold.seed), rows, y)
    plain = _fit(unfitted(by_theta, thetas=(0.0,), random_state=fold.seed), rows, y)
    errors = [float(np.mean(model.predict(test) != truth)) for model in (rounds, theta, plain)]
    return errors[0], errors[1], errors[2], len(rounds), theta.theta_


def _fit(booster: Any, X: Any, y: NDArray[np.int64]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a run that ends early is judged as it is
        return booster.fit(X, y)
