"""Published and obtained: the experiments on boosting (E-5, E-13, E-14, F-2, F-6, G-1, Freund and Schapire 1996)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from committee.datasets import load_dataset
from committee.evaluation._folds import Mean, mean_over_folds
from committee.trees.decision_tree import DecisionTreeClassifier
from committee_reproductions.boosting_experiment import UCI_SETS, BoostingExperiment, reproduce_e13
from committee_reproductions.confidence_rated import confidence_rated
from committee_reproductions.freund_schapire_1996 import METHODS, TABLE, freund_schapire_1996
from committee_reproductions.margin_maximisation import (
    SEPARABLE_SETS,
    MarginMaximisation,
    margin_maximisation,
    margin_maximisers,
    reproduce_f2,
)
from committee_reproductions.multiclass_boosting import BOOSTERS, SETS, multiclass_boosting
from committee_reproductions.published import (
    SURE,
    Claim,
    Holds,
    Outcome,
    Row,
    gather_curves,
    is_above,
    is_not_below,
    row,
    sum_up,
)
from committee_reproductions.three_rounds import three_rounds

LEAVES = 8
"""Of the trees that are boosted beside stumps: with 16 a tree may fit all rows of sonar and end the run."""

WEKA_STUMP = WEKA_M1 = 0.5514
"""Errors of a stump and of M1 with 100 stumps on glass, of Weka 3.6.14, 10-fold cross-validation."""

Curve = tuple[str, str, Any, Any, Any]


class MarginOutcome(NamedTuple):
    """The studies of F-6: name of the set and of the weak learner -> what was measured."""

    studies: Mapping[str, MarginMaximisation]


def confidence(quick: bool = False, verbose: int = 0) -> Outcome:
    """E-5: discrete and confidence-rated stumps on the same folds."""
    size: dict[str, Any] = {"n_rounds": 30, "n_folds": 2} if quick else {"n_repeats": 3}
    names = ("ionosphere", "pima_diabetes") if quick else UCI_SETS
    found = confidence_rated(names, **size, verbose=verbose)
    rows: list[Row] = []
    claims: list[Claim] = []
    for name, both in found.experiments.items():
        for booster, experiment in both.items():
            slow = mean_over_folds(experiment.train_errors.mean(axis=2))
            rows.append(row(f"{name}, {booster}, training error, mean over rounds", slow, digits=4))
            rows.append(row(f"{name}, {booster}, test error at the end", _last(experiment), digits=4))
        gain, test = found.training_gain(name), found.test_gain(name)
        evidence = f"discrete - rated, mean over the rounds: {gain}; test error at the end: {test}"
        claims.append(Claim(f"{name}: the training error falls in fewer rounds", is_above(gain), evidence))
    curves = gather_curves(curve for name, both in found.experiments.items() for curve in _curves(name, both))
    return Outcome(tuple(rows), tuple(claims), curves, sum_up(rows, claims), found)


def boosting_curves(quick: bool = False, verbose: int = 0) -> Outcome:
    """E-13: errors and margins over the rounds."""
    if quick:
        found = reproduce_e13(("sonar", "pima_diabetes"), n_rounds=50, n_folds=2, n_repeats=1, verbose=verbose)
    else:
        found = reproduce_e13(n_rounds=1000, n_repeats=2, verbose=verbose)
    return judge_curves(found)


def judge_curves(found: Mapping[str, BoostingExperiment]) -> Outcome:
    """What experiments by set say to the claims."""
    rows: list[Row] = []
    for name, one in found.items():
        rows += [
            row(f"{name}, training error at the end", mean_over_folds(one.train_errors[..., -1]), digits=4),
            row(f"{name}, test error at the end", _last(one), digits=4),
            Row(f"{name}, smallest test error", float(one.test_error.min()), float(one.test_stderr[one.best_round - 1]),
                digits=4),
            row(f"{name}, rise from a round chosen on other folds", one.fair_rise, digits=4),
        ]  # fmt: skip
    claims = (_overfits(found.values()), *_falls_on(found))
    curves = gather_curves(curve for name, one in found.items() for curve in _curves(name, {"boosting": one}))
    verdict = "; ".join(f"{name}: {one.short_verdict}" for name, one in found.items())
    return Outcome(tuple(rows), claims, curves, verdict, found)


def rounds_in_the_plane(quick: bool = False, verbose: int = 0) -> Outcome:
    """E-14: three stumps on ten points; exact, so quick or not is the same."""
    found = three_rounds()
    rows = [
        Row(f"round {t + 1}, {what}", float(values[t]), digits=2)
        for t in range(3)
        for what, values in (("weighted error", found.errors), ("coefficient", found.coefficients))
    ]
    errors, left = ", ".join(f"{error:.2f}" for error in found.errors), float(found.train_errors[-1])
    claims = (
        Claim("no stump is without error", bool(found.errors.min() > 0.0), f"weighted errors {errors}"),
        Claim("the vote of three errs nowhere", left == 0.0, f"training error {left:g}"),
    )
    curves = gather_curves([("rounds", "training error of the vote", [1, 2, 3], found.train_errors, 0.0)])
    return Outcome(tuple(rows), claims, curves, sum_up(rows, claims), found)


def rounds_or_theta(quick: bool = False, verbose: int = 0) -> Outcome:
    """F-2: what is chosen by validation, the rounds or theta."""
    found = reproduce_f2(("sonar",), n_rounds=20, n_folds=2, verbose=verbose) if quick else reproduce_f2(
        n_repeats=2, verbose=verbose
    )  # fmt: skip
    rows: list[Row] = []
    claims: list[Claim] = []
    for name, one in found.items():
        for what, errors in (("rounds", one.rounds_errors), ("theta", one.theta_errors), ("nothing", one.plain_errors)):
            rows.append(row(f"{name}, {what} chosen, test error", mean_over_folds(errors), digits=4))
        evidence = f"theta - rounds: {one.difference}"
        claims.append(Claim(f"{name}: similar errors", is_above(one.difference) is None, evidence))
    curves = gather_curves(
        (name, what, [k], [mean_over_folds(errors).value], [mean_over_folds(errors).stderr])
        for name, one in found.items()
        for k, (what, errors) in enumerate(
            (("rounds", one.rounds_errors), ("theta", one.theta_errors), ("nothing", one.plain_errors))
        )
    )
    return Outcome(tuple(rows), tuple(claims), curves, sum_up(rows, claims), found)


def larger_margins(quick: bool = False, verbose: int = 0) -> Outcome:
    """F-6: margin maximisers with trees of a fixed number of leaves, and with stumps."""
    return judge_margins(_margin_studies(quick, verbose))


def judge_margins(found: Mapping[str, MarginMaximisation]) -> Outcome:
    """What studies of margins by set and weak learner say to the claims."""
    rows: list[Row] = []
    claims: list[Claim] = []
    for name, one in found.items():
        for booster in one.boosters:
            rows.append(row(f"{name}, {booster}, smallest margin", one.smallest_margin(booster)))
            rows.append(row(f"{name}, {booster}, test error", one.test_error(booster)))
        place = one.boosters.index("arc-gv")
        gain, excess = mean_over_folds(one.smallest_margins[place] - one.smallest_margins[0]), one.excess("arc-gv")
        evidence, is_larger = f"arc-gv - AdaBoost: {gain}", is_above(gain)
        if "leaves" in name:
            claims.append(Claim(f"{name}: arc-gv has the larger smallest margin", is_larger, evidence))
            word = f"arc-gv - AdaBoost: {excess}"
            claims.append(Claim(f"{name}: and no better test error", is_not_below(excess), word))
        else:
            need_not = is_larger is not True
            claims.append(Claim(f"{name}: arc-gv's smallest margin need not be larger", need_not, evidence))
    curves = gather_curves(
        (name, booster, [one.smallest_margin(booster).value], [one.test_error(booster).value],
         [one.test_error(booster).stderr])
        for name, one in found.items() for booster in one.boosters
    )  # fmt: skip
    return Outcome(tuple(rows), tuple(claims), curves, sum_up(rows, claims), MarginOutcome(found))


def boosted_stumps(quick: bool = False, verbose: int = 0) -> Outcome:
    """Freund and Schapire 1996: stumps alone, boosted and bagged."""
    size: dict[str, Any] = {"n_rounds": 20, "n_folds": 3, "n_repeats": 2} if quick else {}
    found = freund_schapire_1996(**size, verbose=verbose)
    rows: list[Row] = []
    claims: list[Claim] = []
    for name, published in TABLE.items():
        means = {method: found.error(name, method) for method in METHODS}
        for method, error in zip(METHODS, published, strict=True):
            mean = means[method]  # the paper averages as many cross-validations: its standard error is as large
            rows.append(row(f"{name}, {method}, error %", mean, error, published_stderr=mean.stderr, digits=1))
        share, left = means["boosted"].value / means["stump"].value, means["bagged"].value / means["stump"].value
        claims += [
            Claim(f"{name}: boosting takes a third of a stump's error or more", share < 2.0 / 3.0, f"{share:.2f} left"),
            Claim(f"{name}: bagging takes a tenth at most", left > 0.9, f"{left:.2f} left"),
        ]
    curves = gather_curves(
        (name, method, [k], [found.error(name, method).value], [found.error(name, method).stderr])
        for name in TABLE for k, method in enumerate(METHODS)
    )  # fmt: skip
    return Outcome(tuple(rows), tuple(claims), curves, sum_up(rows, claims), found)


def several_classes(quick: bool = False, verbose: int = 0) -> Outcome:
    """G-1: SAMME and M1 with stumps on the same folds."""
    size: dict[str, Any] = {"n_rounds": 30, "n_folds": 3} if quick else {"n_repeats": 3}
    found = multiclass_boosting(("glass", "vehicle") if quick else SETS, **size, verbose=verbose)
    rows: list[Row] = []
    claims: list[Claim] = []
    for name, both in found.experiments.items():
        first = Mean(float(both["SAMME"].test_error[0]), float(both["SAMME"].test_stderr[0]))
        is_weka = name == "glass"
        rows.append(row(f"{name}, one stump, test error", first, WEKA_STUMP if is_weka else None, digits=4))
        for booster in BOOSTERS:
            published = WEKA_M1 if is_weka and booster == "AdaBoost.M1" else None
            rows.append(row(f"{name}, {booster}, test error", found.test_error(name, booster), published, digits=4))
        gain, rounds = found.gain(name), both["AdaBoost.M1"].rounds[-1]
        last = both["SAMME"].rounds[-1]
        evidence = f"after at most {rounds} rounds, SAMME after {last}"
        claims.append(Claim(f"{name}: M1 stops early", bool(rounds < last), evidence))
        claims.append(Claim(f"{name}: SAMME has the smaller error", is_above(gain), f"M1 - SAMME: {gain}"))
    curves = gather_curves(curve for name, both in found.experiments.items() for curve in _curves(name, both))
    return Outcome(tuple(rows), tuple(claims), curves, sum_up(rows, claims), found)


def _last(experiment: BoostingExperiment) -> Mean:
    return mean_over_folds(experiment.test_errors[..., -1])


def _curves(panel: str, experiments: Mapping[str, BoostingExperiment]) -> Iterator[Curve]:
    for name, one in experiments.items():
        yield panel, f"{name}, training error", one.rounds, one.train_error, one.train_stderr
        yield panel, f"{name}, test error", one.rounds, one.test_error, one.test_stderr


def _overfits(experiments: Iterable[BoostingExperiment]) -> Claim:
    """Does any set overfit beyond chance?"""
    rises = [one.fair_rise for one in experiments]
    sure = sum(rise.value > SURE * rise.stderr for rise in rises)
    largest = max(rises, key=lambda rise: rise.value / max(rise.stderr, 1e-12))
    holds: Holds = True if sure else None
    return Claim("on some sets boosting overfits", holds, f"beyond chance on {sure} of {len(rises)}; largest {largest}")


def _falls_on(experiments: Mapping[str, BoostingExperiment]) -> Iterator[Claim]:
    """Where no fold has a training error left after some round: does the test error fall on, do margins grow?"""
    for name, one in experiments.items():
        none_left = np.flatnonzero(one.train_errors.max(axis=(0, 1)) == 0.0)
        if not none_left.size or none_left[0] + 1 == one.rounds[-1]:
            continue
        t = int(none_left[0])
        fall = mean_over_folds(one.test_errors[..., t] - one.test_errors[..., -1])
        yield Claim(f"{name}: the test error falls after the training error is zero", is_above(fall),
                    f"from round {t + 1} to {one.rounds[-1]}: {fall}")  # fmt: skip
        early = [(r, float(values.min())) for r, values in one.margins.items() if r <= t + 1]
        late = [(r, float(values.min())) for r, values in one.margins.items() if r > t + 1]
        if early and late:
            (first, before), (last, after) = early[-1], late[-1]
            word = f"{before:.3f} after {first} rounds, {after:.3f} after {last}"
            yield Claim(f"{name}: the smallest margin grows meanwhile", after > max(before, 0.0), word)


def _margin_studies(quick: bool, verbose: int) -> dict[str, MarginMaximisation]:
    """Trees of LEAVES leaves with AdaBoost and arc-gv; stumps, which maximise the edge, with the others as well."""
    trees = margin_maximisers(30 if quick else 500, estimator=DecisionTreeClassifier(max_leaf_nodes=LEAVES))
    stumps = margin_maximisers(60 if quick else 1000)
    both, others = ("AdaBoost", "arc-gv"), ("AdaBoost*",) if quick else ("AdaBoost*", "LPBoost")
    learners = {
        f"{LEAVES} leaves": {name: trees[name] for name in both},
        "stumps": {name: stumps[name] for name in (*both, *others)},
    }
    found: dict[str, MarginMaximisation] = {}
    for learner, boosters in learners.items():
        for name in ("sonar",) if quick else SEPARABLE_SETS:
            X, y = load_dataset(name)[:2]
            found[f"{name}, {learner}"] = margin_maximisation(
                X, y, boosters=boosters, n_folds=2 if quick else 10, random_state=0, verbose=verbose
            )
    return found
