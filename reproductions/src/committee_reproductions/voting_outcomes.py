"""Published and obtained: voting, bias and variance, bootstrap, bagging (B-1, B-2, C-2, C-7)."""

from __future__ import annotations

from typing import Any

import numpy as np

from committee.theory.majority_vote import (
    DOCUMENT_ACCURACY,
    DOCUMENT_ERRORS,
    DOCUMENT_SLIPS,
    DOCUMENT_VOTERS,
    majority_vote_table,
)
from committee_reproductions.bagging_simulation import BAYES_ERROR, reproduce_c7
from committee_reproductions.fifty_sets import fifty_sets
from committee_reproductions.polynomial_interval import LEVEL, METHODS, polynomial_interval
from committee_reproductions.published import SURE, Claim, Outcome, Row, gather_curves, is_above, row, sum_up

ROUNDING = 1e-9
"""A gap between an error and the sum of its parts that is smaller is rounding."""


NEAR = 0.05
"""Widths of intervals that differ by a smaller share are the same."""

CURVES = ((0.6, 0.0), (0.7, 0.0), (0.6, 0.1))
"""Accuracy and correlation of the voters drawn; the last pair shows what independence is worth."""


def majority_vote_error_table(quick: bool = False, verbose: int = 0) -> Outcome:
    """B-1: the table of the document; exact, so quick or not is the same."""
    errors = majority_vote_table().errors[0]
    rows = tuple(
        Row(f"{k} voters right with probability {DOCUMENT_ACCURACY}, error of the majority" + _slip(k), float(error),
            published=published, digits=3 if published > 1e-3 else 6)
        for k, error, published in zip(DOCUMENT_VOTERS, errors, DOCUMENT_ERRORS, strict=True)
    )  # fmt: skip
    sizes = np.arange(1, 502, 2)
    tables = {pair: majority_vote_table(pair[0], sizes, correlation=pair[1]) for pair in CURVES}
    limit = float(tables[0.6, 0.1].limits[0])
    claims = (
        Claim("the error falls with every two voters", bool((np.diff(tables[0.6, 0.0].errors[0]) < 0.0).all()),
              f"from {1.0 - DOCUMENT_ACCURACY:g} to {errors[-1]:.1g}"),
        Claim("it needs independence", limit > 0.0, f"with correlation 0.1 the error does not fall below {limit:.3f}"),
    )  # fmt: skip
    curves = gather_curves(
        ("votes", f"p = {p}, correlation {rho:g}", sizes, table.errors[0], 0.0) for (p, rho), table in tables.items()
    )
    slips = "the number that does not agree is a slip of the document, which cuts 0.0735 to 0.073"
    return Outcome(rows, claims, curves, f"{sum_up(rows, claims)}; {slips}", tables)


def _slip(n_voters: int) -> str:
    return f" (a slip of the document: {DOCUMENT_SLIPS[n_voters]} is right)" if n_voters in DOCUMENT_SLIPS else ""


def polynomial_intervals(quick: bool = False, verbose: int = 0) -> Outcome:
    """C-2: prediction intervals of a polynomial, by the bootstrap and by normal theory."""
    size: dict[str, Any] = {"n_repeats": 20, "n_resamples": 100} if quick else {}
    found = polynomial_interval(**size, verbose=verbose)
    rows: list[Row] = []
    for noise, methods in found.coverage.items():
        for method, one in methods.items():
            rows.append(row(f"{noise}, {method}: coverage of new values, {LEVEL:.0%} wanted", one.share))
            rows.append(row(f"{noise}, {method}: missed above minus below", found.lopsided(noise, method)))
    ratio = found.width_ratio("normal noise")
    theory, resampled = (found.lopsided("skewed noise", method) for method in METHODS)
    gap = abs(theory.value) - abs(resampled.value)
    room = SURE * (theory.stderr**2 + resampled.stderr**2) ** 0.5
    held = {noise: methods["bootstrap"].share for noise, methods in found.coverage.items()}
    claims = (
        *(
            Claim(f"the bootstrap holds {LEVEL:.0%} of the new values, {noise}",
                  abs(share.value - LEVEL) <= SURE * share.stderr, str(share))
            for noise, share in held.items()
        ),
        Claim("with normal noise both intervals are the same", abs(ratio.value - 1.0) < NEAR,
              f"widths, bootstrap over theory: {ratio}"),
        Claim("with skewed noise normal theory misses on one side", is_above(theory), f"above - below: {theory}"),
        Claim("the bootstrap misses on both sides more evenly", None if abs(gap) <= room else gap > 0.0,
              f"above - below: {resampled}"),
    )  # fmt: skip
    curves = [
        (noise, f"{method}, {end}", one.X[:, 0], getattr(one.new, end), 0.0)
        for noise, methods in found.intervals.items()
        for method, one in methods.items()
        for end in ("low", "high")
    ]
    return Outcome(tuple(rows), claims, gather_curves(curves), sum_up(rows, claims), found)


def bias_variance_picture(quick: bool = False, verbose: int = 0) -> Outcome:
    """B-2: four learners on 50 training sets."""
    size = {"n_sets": 8, "n_estimators": 10} if quick else {"n_sets": 50, "n_estimators": 50}
    found = fifty_sets(**size, verbose=verbose)
    rows = tuple(
        row(f"{name}, {part}", one.part(part), digits=4)
        for name, one in found.parts.items()
        for part in ("error", "bias", "variance", "noise")
    )
    bias = found.difference("bias", "stump", "full tree")
    variance = found.difference("variance", "full tree", "stump")
    kept = found.difference("bias", "full tree", "bagged full trees")
    lower = found.difference("variance", "full tree", "bagged full trees")
    full = found.parts["full tree"]
    claims = (
        Claim("error = bias + variance + noise", found.largest_gap < ROUNDING, f"largest gap {found.largest_gap:.1g}"),
        Claim("the simple model has the larger bias", is_above(bias), f"stump - full tree: {bias}"),
        Claim("the flexible model has the larger variance", is_above(variance), f"full tree - stump: {variance}"),
        Claim("an average lowers the variance", is_above(lower), f"full tree - bagged: {lower}"),
        Claim("and keeps the bias", abs(kept.value) < 0.1 * full.error.value,
              f"full tree - bagged: {kept}, of an error of {full.error}"),
    )  # fmt: skip
    curves = []
    for name, one in found.parts.items():
        x = one.source.X[:, 0]
        order = np.argsort(x)
        spread = one.answers.std(axis=0, ddof=1)[order]
        curves.append((name, "mean of the fits", x[order], one.answers.mean(axis=0)[order], spread))
    return Outcome(rows, claims, gather_curves(curves), sum_up(rows, claims), found)


def bagged_trees(quick: bool = False, verbose: int = 0) -> Outcome:
    """C-7: bagged trees on 30 simulated rows."""
    size = (20, 6) if quick else (200, 200)
    found = reproduce_c7(n_estimators=size[0], n_repeats=size[1], verbose=verbose)
    rows: list[Row] = []
    claims: list[Claim] = []
    for name, one in found.items():
        for what, mean in (("one tree", one.tree_error), ("bagged, vote", one.vote_error),
                           ("bagged, mean of distributions", one.mean_error)):  # fmt: skip
            rows.append(row(f"{name}, {what}, test error", mean, digits=4))
        claims.append(Claim(f"{name}: bagging helps", is_above(one.gain), f"one tree - bagged: {one.gain}"))
    leaves = found["leaves of 5 rows"]
    claims.append(
        Claim("the mean of distributions is better than the vote", is_above(leaves.vote_excess),
              f"leaves of 5 rows, vote - mean: {leaves.vote_excess}; full trees have pure leaves, so both are the same")
    )  # fmt: skip
    curves = [
        (name, rule, one.n_trees, one.history[f"{rule}_error"], one.history[f"{rule}_stderr"])
        for name, one in found.items()
        for rule in ("vote", "mean")
    ]
    verdict = f"{sum_up(rows, claims)}; the best rule errs with probability {BAYES_ERROR}"
    return Outcome(tuple(rows), tuple(claims), gather_curves(curves), verdict, found)
