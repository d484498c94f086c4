"""Boosted stumps on four UCI data sets: errors and margins over the rounds.

Schapire, Freund, Bartlett and Lee, Boosting the margin: a new explanation for the effectiveness of voting methods,
1998.

Claims: stumps boosted for many rounds overfit on some data sets hardly, on others much; the test error may go on
decreasing after the training error is zero, while the margins of the training rows grow.

Measured: errors and margins of `AdaBoostClassifier` with stumps, see `boosting_curves`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from committee.base.stats import mean_over_folds
from committee_reproductions._experiments import BINARY_SETS, CrossValidation, over_datasets
from committee_reproductions.boosting_curves import (
    BoosterComparison,
    BoostingCurves,
    boosting_curves,
    draw_boosting_curves,
)
from committee_reproductions.results import (
    SIGNIFICANT,
    Claim,
    Outcome,
    ReproductionResult,
    Row,
    gather_curves,
    is_above,
    row,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def boosted_stumps(
    names: tuple[str, ...] = BINARY_SETS, n_rounds: int = 1000, cv: CrossValidation = CrossValidation(n_repeats=2)
) -> dict[str, BoostingCurves]:
    """Boost stumps on built-in data sets of two classes; the set with the least overfitting comes first."""
    curves = over_datasets(names, lambda X, y: boosting_curves(X, y, n_rounds=n_rounds, cv=cv))
    return dict(sorted(curves.items(), key=lambda item: _overfitting(item[1])))


def _overfitting(curves: BoostingCurves) -> float:
    """Return the unbiased increase in units of the smallest test error: half an error more is much on any data set."""
    return curves.unbiased_increase.value / max(float(curves.test_error.min()), np.finfo(float).tiny)


def reproduce(quick: bool = False, verbose: int = 0) -> Outcome:
    """Measure and compare with the claims."""
    if quick:
        cv = CrossValidation(n_folds=2, verbose=verbose)
        return compare(boosted_stumps(("sonar", "pima_diabetes"), n_rounds=50, cv=cv))
    return compare(boosted_stumps(cv=CrossValidation(n_repeats=2, verbose=verbose)))


def compare(curves: Mapping[str, BoostingCurves]) -> Outcome:
    """Compare curves by data set with the claims."""
    rows: list[Row] = []
    for name, one in curves.items():
        smallest, error = float(one.test_error.min()), float(one.test_stderr[one.best_round - 1])
        rows += [
            row(f"{name}, training error at the end", mean_over_folds(one.train_errors[..., -1]), digits=4),
            row(f"{name}, test error at the end", one.final_test_error, digits=4),
            Row(f"{name}, smallest test error", smallest, error, digits=4),
            row(f"{name}, increase from a round chosen on other folds", one.unbiased_increase, digits=4),
        ]
    claims = (_some_overfit(curves), *_improves_at_zero_error(curves))
    long = gather_curves(BoosterComparison({name: {"boosting": one} for name, one in curves.items()}).as_curves())
    verdict = "; ".join(f"{name}: {one.short_verdict}" for name, one in curves.items())
    return Outcome(tuple(rows), claims, long, verdict, curves)


def _some_overfit(curves: Mapping[str, BoostingCurves]) -> Claim:
    increases = [one.unbiased_increase for one in curves.values()]
    n_significant = sum(one.value > SIGNIFICANT * one.stderr for one in increases)
    largest = max(increases, key=lambda one: one.value / max(one.stderr, 1e-12))
    evidence = f"beyond chance on {n_significant} of {len(increases)}; largest {largest}"
    return Claim("on some sets boosting overfits", True if n_significant else None, evidence)


def _improves_at_zero_error(curves: Mapping[str, BoostingCurves]) -> Iterator[Claim]:
    """Once the training error is zero in every fold: does the test error decrease further, and do the margins grow?"""
    for name, one in curves.items():
        perfect = np.flatnonzero(one.train_errors.max(axis=(0, 1)) == 0.0)
        if not perfect.size or perfect[0] + 1 == one.rounds[-1]:
            continue
        t = int(perfect[0])
        decrease = mean_over_folds(one.test_errors[..., t] - one.test_errors[..., -1])
        evidence = f"from round {t + 1} to {one.rounds[-1]}: {decrease}"
        yield Claim(f"{name}: the test error decreases after the training error is zero", is_above(decrease), evidence)
        before = [(r, float(values.min())) for r, values in one.margins.items() if r <= t + 1]
        after = [(r, float(values.min())) for r, values in one.margins.items() if r > t + 1]
        if before and after:
            (first, low), (last, high) = before[-1], after[-1]
            evidence = f"{low:.3f} after {first} rounds, {high:.3f} after {last}"
            yield Claim(f"{name}: the smallest margin grows meanwhile", high > max(low, 0.0), evidence)


def draw(result: ReproductionResult) -> Figure:
    """Draw errors over the rounds and, below, distributions of the margins."""
    return draw_boosting_curves(result.data)
