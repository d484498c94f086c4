"""The number of rounds or the margin target theta, chosen by validation.

AdaBoost_theta (Raetsch, Onoda and Mueller, Soft margins for AdaBoost, 2001) aims at margins of theta.

Claim (lecture notes on boosting): AdaBoost_theta with theta chosen by validation and many rounds, and AdaBoost with the
number of rounds chosen by validation, have similar errors, for both penalise large coefficients.

Measured: in every fold a fraction of the training rows is held out for validation, the same for both. The round of the
smallest validation error is chosen at theta = 0, and the theta of the smallest validation error at all rounds; both are
evaluated on the fold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.progress import progress
from committee.base.stats import Mean, mean_over_folds
from committee.boosting.adaboost import AdaBoostClassifier
from committee.boosting.adaboost_theta import AdaBoostThetaClassifier
from committee.evaluation._folds import Fold, read_labels, unfitted
from committee.plots._style import COLORS, finish, panels
from committee.records.result_table import ResultTable, to_pandas, to_polars
from committee.tabular.rows import take_rows
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
    gather_means,
    is_above,
    row,
    verdict_of,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DATASETS = (*SEPARABLE_SETS, "pima_diabetes")
THETAS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4)


class ValidationChoice(NamedTuple):
    """Test errors, [n_repeats, n_folds], with rounds or theta chosen by validation, and what was chosen."""

    rounds_errors: Floats  # the number of rounds was chosen, theta = 0
    theta_errors: Floats  # theta was chosen, all rounds
    plain_errors: Floats  # nothing was chosen: theta = 0, all rounds, the same training rows
    rounds: NDArray[np.int64]  # chosen
    thetas: Floats  # chosen

    @property
    def means(self) -> dict[str, Mean]:
        """Mean test error by what was chosen."""
        errors = {"rounds": self.rounds_errors, "theta": self.theta_errors, "nothing": self.plain_errors}
        return {what: mean_over_folds(values) for what, values in errors.items()}

    @property
    def difference(self) -> Mean:
        """Test error with theta chosen minus that with the rounds chosen, paired over the folds."""
        return mean_over_folds(self.theta_errors - self.rounds_errors)

    @property
    def verdict(self) -> str:
        """Whether the errors are similar, with the numbers."""
        means = self.means
        return (
            f"{'similar' if is_above(self.difference) is None else 'not similar'}: test error {means['rounds']} with "
            f"the rounds chosen by validation, {means['theta']} with theta chosen, difference {self.difference}; "
            f"{means['nothing']} with neither"
        )

    def to_table(self) -> ResultTable:
        """Return a table with one line per choice."""
        means = self.means
        return ResultTable({
            "chosen": list(means),
            "test_error": [mean.value for mean in means.values()],
            "test_error_stderr": [mean.stderr for mean in means.values()],
            "median_choice": [float(np.median(self.rounds)), float(np.median(self.thetas)), np.nan],
        })  # fmt: skip

    to_pandas = to_pandas
    to_polars = to_polars


def validation_choice(
    X: Any,
    y: Any,
    *,
    n_rounds: int = 500,
    thetas: Sequence[float] = THETAS,
    estimator: Any = None,
    validation_fraction: float = 0.25,
    cv: CrossValidation = CrossValidation(),
) -> ValidationChoice:
    """Compare the number of rounds chosen by validation with theta chosen by validation.

    Parameters
    ----------
    X : array or data frame of shape (n_samples, n_features)
        The features.
    y : array of shape (n_samples,)
        Labels of two classes.
    n_rounds : int, default=500
        Rounds to choose from, and to run where theta is chosen.
    thetas : sequence of float
        Margin targets to choose from.
    estimator : classifier, default=DecisionStump()
        The weak learner.
    validation_fraction : float, default=0.25
        Fraction of the training rows held out for validation.
    cv : CrossValidation
        Folds, and how often to draw them.

    Returns
    -------
    ValidationChoice
        Test errors of every fold, and what was chosen.

    Examples
    --------
    >>> from committee.datasets import load_dataset
    >>> sonar = load_dataset("sonar")
    >>> cv = CrossValidation(n_folds=5)
    >>> print(validation_choice(sonar.X, sonar.y, n_rounds=60, thetas=(0.0, 0.1, 0.2), cv=cv).difference)
    -0.0487 ± 0.0728
    """
    codes = read_labels(y)
    folds = cv.folds(codes)
    common: dict[str, Any] = {"n_estimators": n_rounds, "validation_fraction": validation_fraction}
    # Patience as long as the run: the best of all rounds is kept. The seed makes both hold out the same rows.
    by_rounds = AdaBoostClassifier(estimator, early_stopping="validation", n_iter_no_change=n_rounds, tol=0.0, **common)
    by_theta = AdaBoostThetaClassifier(estimator, theta="validation", thetas=thetas, **common)
    measured = np.empty((len(folds), 5))
    with progress("validation of rounds and of theta", len(folds), cv.verbose) as tick:
        for k, fold in enumerate(folds):
            measured[k] = _choose(by_rounds, by_theta, X, codes, fold)
            tick(f"{measured[k, 3]:.0f} rounds, theta {measured[k, 4]:g}")
    rounds, theta, plain, n_chosen, theta_chosen = measured.T.reshape(5, cv.n_repeats, cv.n_folds)
    return ValidationChoice(rounds, theta, plain, n_chosen.astype(np.int64), theta_chosen)


def _choose(
    by_rounds: Any, by_theta: Any, X: Any, codes: NDArray[np.int64], fold: Fold
) -> tuple[float, float, float, int, float]:
    """Return test errors with the rounds chosen, with theta chosen and with neither; the rounds and the theta."""
    rows, y = take_rows(X, fold.train), codes[fold.train]
    test, truth = take_rows(X, fold.test), codes[fold.test]
    rounds = fit_quietly(unfitted(by_rounds, random_state=fold.seed), rows, y)
    theta = fit_quietly(unfitted(by_theta, random_state=fold.seed), rows, y)
    plain = fit_quietly(unfitted(by_theta, thetas=(0.0,), random_state=fold.seed), rows, y)
    errors = [error_rate(model, test, truth) for model in (rounds, theta, plain)]
    return errors[0], errors[1], errors[2], len(rounds), theta.theta_


def reproduce(quick: bool = False, verbose: int = 0) -> Outcome:
    """Measure and compare with the claim."""
    names = ("sonar",) if quick else DATASETS
    n_rounds = 20 if quick else 500
    cv = CrossValidation(n_folds=2 if quick else 10, n_repeats=1 if quick else 2, verbose=verbose)
    choices = over_datasets(names, lambda X, y: validation_choice(X, y, n_rounds=n_rounds, cv=cv))
    rows: list[Row] = []
    claims: list[Claim] = []
    for name, one in choices.items():
        rows += [row(f"{name}, {what} chosen, test error", mean, digits=4) for what, mean in one.means.items()]
        evidence = f"theta - rounds: {one.difference}"
        claims.append(Claim(f"{name}: similar errors", is_above(one.difference) is None, evidence))
    curves = gather_means({(name, what): mean for name, one in choices.items() for what, mean in one.means.items()})
    return Outcome(tuple(rows), tuple(claims), curves, verdict_of(rows, claims), choices)


def draw(result: ReproductionResult) -> Figure:
    """Draw the test errors by what was chosen."""
    choices: dict[str, ValidationChoice] = result.data
    (ax,) = panels(None, 1, (6.4, 3.6))
    for k, (what, color) in enumerate(zip(("rounds", "theta", "nothing"), COLORS, strict=False)):
        means = [one.means[what] for one in choices.values()]
        label = f"{what} chosen by validation" if what != "nothing" else "neither, all rounds"
        ax.errorbar(
            np.arange(len(choices)) + 0.16 * (k - 1), [mean.value for mean in means],
            yerr=[mean.stderr for mean in means], fmt="o", color=color, capsize=3.0, label=label,
        )  # fmt: skip
    highest = max(mean.value + mean.stderr for one in choices.values() for mean in one.means.values())
    ax.set_xticks(range(len(choices)), list(choices))
    ax.set_xlim(-0.5, len(choices) - 0.5)
    ax.set_ylim(0.0, 1.35 * highest)
    ax.legend(frameon=False, fontsize="small", loc="upper left", ncols=2)
    finish(ax, "", "test error ± one standard error")
    return ax.figure
