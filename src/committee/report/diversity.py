"""How good and how different the members of the committee are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.text import format_level, format_number, format_percent, pluralize, shorten
from committee.boosting._classifier_base import BaseBooster
from committee.experts._base import BaseMixtureOfExperts
from committee.explain.forest_diagnostics import ForestDiagnostics, forest_diagnostics
from committee.explain.mixture_diagnostics import mixture_diagnostics
from committee.records.history import History
from committee.report import _charts as charts
from committee.report._context import Evidence
from committee.report._section import Figure, Key, LeftOut, Section, Tile, table
from committee.theory.diversity import pairwise_diversity
from committee.theory.forests import Strength

TITLE = "The committee: how good and how different its members are"
MAX_ROWS, MAX_MEMBERS = 2_000, 40


def diversity(found: Evidence) -> Section | LeftOut:
    """What the members are worth alone and together, and how alike the methods compared are."""
    methods = _methods(found)
    figures = () if methods is None else (methods,)
    core = found.core
    if found.is_judged_forest:
        return _of_forest(found, forest_diagnostics(core, found.core_table, found.y, max_rows=MAX_ROWS), figures)
    if isinstance(core, BaseBooster):
        return _of_votes(found, core, figures)
    if isinstance(core, BaseMixtureOfExperts) and core.n_experts_ > 1:
        return _of_experts(found, core, figures)
    members = _table_of_members(core)
    if members is not None:
        return _of_committee(found, members, figures)
    if methods is None:
        return LeftOut(TITLE, f"the members of {found.method} do not answer one by one")
    lead = "The methods compared, as candidates for one committee: those that err on other rows help each other most."
    return Section("diversity", TITLE, lead, figures=figures)


# --- members ---------------------------------------------------------------------------------------------------------


def _of_forest(found: Evidence, evidence: ForestDiagnostics, figures: tuple[Figure, ...]) -> Section:
    variance = evidence.variance
    tiles = [Tile(format_number(variance.correlation, 2), "correlation of the trees' errors")]
    if evidence.strength is not None:
        tiles.insert(
            0, Tile(format_number(evidence.strength.strength, 2), "strength: mean margin of the vote, out of bag")
        )
    at = np.unique(np.geomspace(1, max(2 * evidence.n_trees, 10), 40).round())
    expected = np.array([variance.with_members(int(k)) for k in at])
    limit = np.full(at.size, variance.shared)
    lines = [
        charts.Curve("expected with so many trees", at, expected, "blue"),
        charts.Curve("limit of infinitely many", at, limit, "grey", True),
    ]
    what = "mean squared error" + (" of the true class's share" if evidence.strength is not None else "")
    spec = charts.curves(lines, "trees", what, marked=float(evidence.n_trees))
    numbers = table(
        "What averaging removes", "#trees|#expected",
        [(f"{k:.0f}", format_number(v)) for k, v in zip(at[::4], expected[::4], strict=True)],
    )  # fmt: skip
    ends = f"from {format_number(expected[0])} with one tree towards {format_number(variance.shared)}"
    alt = f"A falling line, {ends}; this forest has {evidence.n_trees}."
    legend = tuple(charts_key(line) for line in lines)
    figure = Figure("chart-trees", spec, "What more trees would bring", alt, numbers, legend, "narrow")
    lead = (
        f"More trees would {'still help' if evidence.more_trees_help else 'help little'}: {evidence.n_trees} trees "
        f"leave {format_number(variance.of_average)} of the {what} of one, {format_number(variance.variance)}; "
        f"infinitely many more would remove another {format_number(variance.gain_left)} "
        f"({format_percent(variance.gain_left / variance.of_average)}). The figures come from trees on rows that they "
        "did not see."
    )
    notes = [
        f"Breiman's bound{_vacuous(evidence.strength)}: {evidence.strength.note}."
        if evidence.strength is not None
        else ""
    ]
    return Section(
        "diversity", TITLE, lead, tuple(tiles), (figure, *figures), notes=tuple(note for note in notes if note)
    )


def _vacuous(strength: Strength) -> str:
    return " is vacuous" if strength.is_vacuous else ""


def charts_key(line: charts.Curve) -> Key:
    return Key(line.label, line.color, line.is_dashed)


def _of_votes(found: Evidence, booster: BaseBooster, figures: tuple[Figure, ...]) -> Section:
    """Kappa and error of pairs of members, on training rows or new ones (Margineantu and Dietterich 1997)."""
    rows = found.sample(MAX_ROWS)
    rows = rows[found.codes[rows] >= 0]
    agreement = booster.agreements(found.take_core(rows), found.y[rows])
    first = agreement[:, :MAX_MEMBERS] > 0.0
    kappa, error = pairs_of_members(first)
    of_members, of_vote = 1.0 - (agreement > 0.0).mean(axis=0), float(np.mean(booster.margins(
        found.take_core(rows), found.y[rows]) <= 0.0))  # fmt: skip
    tiles = (
        Tile(format_percent(float(of_members.mean())), "mean error of the members, each fitted to reweighted rows"),
        Tile(format_percent(of_vote), "error of their vote"),
        Tile(format_number(float(np.mean(kappa)), 2) if kappa.size else "—", "mean agreement beyond chance (kappa)"),
    )
    where = found.where
    lead = (
        f"On the {where} the members have an error of {format_percent(float(of_members.mean()))} on average, the vote "
        f"of {pluralize(len(of_members), 'member')} one of {format_percent(of_vote)}. A member of boosting was fitted "
        "to rows that the rounds before it had reweighted: its own error is not that of a model to use alone."
    )
    numbers = table(
        "Pairs of members", "#quantile|#kappa|#mean error",
        [(format_level(q), format_number(float(np.quantile(kappa, q))), format_percent(float(np.quantile(error, q))))
         for q in (0.0, 0.25, 0.5, 0.75, 1.0)] if kappa.size else [],
    )  # fmt: skip
    alt = f"A point for each pair of the first {first.shape[1]} members."
    if kappa.size:
        figure = Figure("chart-kappa", charts.kappa_error(kappa, error),
                        f"Pairs of the first {first.shape[1]} members", alt, numbers, width="narrow")  # fmt: skip
        figures = (figure, *figures)
    notes = (
        "Pairs to the left are right and wrong on different rows: they correct each other. Pairs far up err often.",
    )
    return Section("diversity", TITLE, lead, tiles, figures, notes=notes)


def pairs_of_members(is_right: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Kappa of being right together, and the mean error, of every pair of members [n, T].

    >>> kappa, error = pairs_of_members(np.array([[True, True], [True, True], [False, False], [False, True]]))
    >>> kappa.tolist(), error.tolist()
    ([0.5], [0.375])
    """
    pairs = pairwise_diversity(is_right.T.astype(np.int64), np.ones(len(is_right), np.int64))
    upper = np.triu_indices(is_right.shape[1], 1)
    kappa = pairs.kappa[upper]
    return np.where(np.isnan(kappa), 1.0, kappa), pairs.pair_errors[upper]  # two that are always right agree


def _of_experts(found: Evidence, mixture: BaseMixtureOfExperts, figures: tuple[Figure, ...]) -> Section:
    rows = found.sample(MAX_ROWS)
    evidence = mixture_diagnostics(mixture, found.take_core(rows))
    names = [f"expert {k + 1}" for k in range(evidence.n_experts)]
    load = np.asarray(evidence.load, np.float64)
    spec = charts.stacked(names, ["share"], load[:, np.newaxis], ["blue"], "share of the training rows")
    numbers = table(
        "Loads", "expert|#share of the rows", [(n, format_percent(v)) for n, v in zip(names, load, strict=True)]
    )
    alt = f"Fractions of the rows of {pluralize(len(names), 'expert')}."
    figure = Figure("chart-experts", spec, "Load of each expert", alt, numbers)
    lead = (
        f"{pluralize(evidence.n_experts, 'expert')}, as good as {format_number(evidence.effective_experts)} equally "
        f"busy ones; the gate gives {format_percent(evidence.sharpness)} of the rows to one expert alone."
    )
    return Section("diversity", TITLE, lead, figures=(figure, *figures))


def _table_of_members(core: Any) -> History | None:
    """What a committee of different models says of them, one row each."""
    members, history = getattr(core, "members_", None), getattr(core, "history_", None)
    if isinstance(members, History) and "weight" in members:
        return members
    return history if history is not None and {"member", "weight"} <= set(history) else None


def _of_committee(found: Evidence, members: History, figures: tuple[Figure, ...]) -> Section:
    """Weights of the members, and everything else that the committee measured of them."""
    names = [str(name) for name in members["name" if "name" in members else "member"]]
    weight = np.nan_to_num(np.asarray(members["weight"], np.float64))
    order = [int(i) for i in np.argsort(-weight, kind="stable")]
    columns = [column for column in members if members[column].ndim == 1 and column not in ("name", "member")]
    rows = [(names[i], *(_shown_cell(members[column][i]) for column in columns)) for i in order]
    numbers = table("What was measured of each member", "member", rows, [c.replace("_", " ") for c in columns])
    used = [i for i in order if weight[i] > 0.0]
    spec = charts.stacked([names[i] for i in used], ["weight"], weight[used, np.newaxis], ["blue"], "weight")
    alt = f"Bars of weights; the largest is that of {names[order[0]]}, {format_number(float(weight[order[0]]), 2)}."
    figure = Figure("chart-members", spec, "Who has how much to say", alt, numbers)
    lead = f"{len(used)} of {pluralize(len(names), 'member')} have a weight; {names[order[0]]} has the largest."
    return Section("diversity", TITLE, lead, figures=(figure, *figures), folded=(numbers,))


def _shown_cell(value: Any) -> str:
    return format_number(float(value)) if isinstance(value, int | float | np.number) else shorten(str(value), 60)


# --- the methods compared --------------------------------------------------------------------------------------------


def _methods(found: Evidence) -> Figure | None:
    """Correlation of the errors of the methods compared, out of fold."""
    comparison = found.comparison
    if comparison is None:
        return None
    truth = found.codes[comparison.rows] if found.is_classifier else found.y[comparison.rows].astype(np.float64)
    names, losses = list[str](), list[Floats]()
    for result in comparison.results:
        loss = _losses(result.oof_predictions, truth)
        says_nothing = np.ptp(result.oof_predictions, axis=0).max() < 0.2 * np.ptp(loss)
        if np.isfinite(loss).all() and loss.std() > 0.0 and not says_nothing:
            names.append(result.name)
            losses.append(loss)
    if len(names) < 3:
        return None
    table_of: Floats = np.asarray(np.corrcoef(np.array(losses)), np.float64)
    i, j = np.triu_indices(len(names), 1)
    least = int(np.argmin(table_of[i, j]))
    told = f"{names[i[least]]} and {names[j[least]]}"
    numbers = table(
        "Correlations of errors", "method",
        [(name, *(f"{v:.2f}" for v in line)) for name, line in zip(names, table_of, strict=True)], names,
    )  # fmt: skip
    alt = f"Correlations of the errors of {pluralize(len(names), 'method')}; the least alike are {told}."
    return Figure(
        "chart-methods", charts.agreement(names, table_of), "How alike the methods err, out of fold", alt, numbers
    )


def _losses(predictions: Floats, truth: NDArray[np.int64 | np.float64]) -> Floats:
    """Of classes 1 less the probability of the truth, of numbers the residual; they may cancel."""
    if predictions.ndim == 1:
        return predictions - truth
    own = np.where(truth >= 0, truth, 0).astype(np.int64)
    return 1.0 - predictions[np.arange(truth.size), own]
