"""Published and obtained: the experiments on forests (D-8, D-9, Breiman 2001)."""

from __future__ import annotations

from committee.evaluation._folds import Mean
from committee_reproductions.breiman_2001 import METHODS, TABLE, breiman_2001
from committee_reproductions.published import Claim, Outcome, Row, gather_curves, is_above, row, sum_up
from committee_reproductions.rare_class_importances import GROUPS, KEPT, KINDS, NEGLECTED, rare_class_importances
from committee_reproductions.spam import BOOK, BOOK_STDERR, reproduce_d8


def spam(quick: bool = False, verbose: int = 0) -> Outcome:
    """D-8: three ensembles on spam; the standard errors are those of the splits and of the rows."""
    sizes = (20, 60, 1) if quick else (500, 2500, 2)
    found = reproduce_d8(n_estimators=sizes[0], n_rounds=sizes[1], n_repeats=sizes[2], verbose=verbose)
    rows = [
        row(f"{name}, test error", found.test_error(name), BOOK[name], published_stderr=BOOK_STDERR, digits=digits)
        for name, digits in zip(found.models, (3, 4, 3), strict=True)
    ]
    rows += [row(f"{name}, out-of-bag error", found.oob_error(name), digits=4) for name in found.oob_errors]
    excess, optimism = found.excess("bagging", "random forest"), found.optimism("random forest")
    gain = found.excess("random forest", "gradient boosting")
    claims = (
        Claim("the forest is better than bagging", is_above(excess), f"bagging - forest: {excess}"),
        Claim("gradient boosting is better than the forest", is_above(gain), f"forest - gradient boosting: {gain}"),
        Claim(
            "the out-of-bag error tells the forest's test error",
            is_above(optimism) is None, f"test - out-of-bag: {optimism}",
        ),
    )  # fmt: skip
    curves = [
        (kind, name, curve.n_trees, curve[f"{kind}_error"], curve[f"{kind}_stderr"])
        for name in found.models
        for curve in [found.curve(name)]
        for kind in ("test", "oob")
        if f"{kind}_error" in curve
    ]
    return Outcome(tuple(rows), claims, gather_curves(curves), f"{sum_up(rows, claims)}; {found.verdict}", found)


def rare_class(quick: bool = False, verbose: int = 0) -> Outcome:
    """D-9: three importances of the variables that a rare class needs, and a fourth that finds them."""
    found = rare_class_importances(n=600, n_repeats=2, verbose=verbose) if quick else rare_class_importances(
        n_repeats=10, verbose=verbose
    )  # fmt: skip
    rows = [
        row(f"{kind}, variables of the {group} class{'es' if group == 'frequent' else ''}"
            if group != "noise" else f"{kind}, noise", found.importance(kind, group), digits=1)
        for kind in KINDS for group in GROUPS
    ]  # fmt: skip
    rare = {kind: found.importance(kind, "rare") for kind in KINDS}
    claims = (
        *(
            Claim(f"{kind} neglects them (below {NEGLECTED:.0f} of 100)", rare[kind].value < NEGLECTED, str(rare[kind]))
            for kind in ("permutation", "impurity")
        ),
        Claim(f"frequency keeps them (above {KEPT:.0f})", rare["frequency"].value > KEPT, str(rare["frequency"])),
        Claim(
            "frequency tells them from noise",
            is_above(_minus(rare["frequency"], found.importance("frequency", "noise"))),
            f"{rare['frequency']} against {found.importance('frequency', 'noise')} for noise",
        ),
    )
    curves = gather_curves(
        (kind, group, [k], [found.importance(kind, group).value], [found.importance(kind, group).stderr])
        for kind in KINDS
        for k, group in enumerate(GROUPS)
    )
    return Outcome(tuple(rows), claims, curves, found.verdict, found)


def breiman_table(quick: bool = False, verbose: int = 0) -> Outcome:
    """Breiman 2001: forests, AdaBoost and single trees on random splits."""
    found = breiman_2001(n_splits=3, n_trees=20, n_rounds=10, verbose=verbose) if quick else breiman_2001(
        verbose=verbose
    )  # fmt: skip
    rows: list[Row] = []
    for name, published in TABLE.items():
        for method, error in zip(METHODS, published, strict=True):
            mean = found.error(name, method)  # the paper averages as many splits: its standard error is as large
            rows.append(row(f"{name}, {method}, error %", mean, error, published_stderr=mean.stderr, digits=1))
    claims: list[Claim] = []
    for name in TABLE:
        against = found.excess(name, "forest by selection", "AdaBoost")
        gain = found.excess(name, "one tree", "forest by selection")
        claims += [
            Claim(f"{name}: a forest is as good as AdaBoost", is_above(against) is not True,
                  f"forest - AdaBoost: {against} %"),
            Claim(f"{name}: far better than one tree", is_above(gain), f"one tree - forest: {gain} %"),
        ]  # fmt: skip
    curves = gather_curves(
        (name, method, [k], [found.error(name, method).value], [found.error(name, method).stderr])
        for name in TABLE
        for k, method in enumerate(METHODS)
    )
    return Outcome(tuple(rows), tuple(claims), curves, sum_up(rows, claims), found)


def _minus(a: Mean, b: Mean) -> Mean:
    return Mean(a.value - b.value, (a.stderr**2 + b.stderr**2) ** 0.5)
