"""Accuracy and diversity of the members of an ensemble, and correlation of the methods compared."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.text import format_level, format_number, format_percent, pluralize
from committee.boosting.classifier_base import BaseBooster
from committee.experts.base import BaseMixtureOfExperts
from committee.explain.forest_diagnostics import forest_diagnostics
from committee.explain.mixture_diagnostics import mixture_diagnostics
from committee.records.history import History
from committee.report import _charts as charts
from committee.report._charts import Curve
from committee.report._section import Figure, Omitted, Section, Tile, table
from committee.report.context import MAX_SAMPLE, Context
from committee.report.partial_dependence import format_cell
from committee.tabular.rows import take_rows
from committee.theory.diversity import pairwise_diversity

TITLE = "Ensemble members"
MAX_MEMBERS = 40
QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)


def members(context: Context) -> Section | Omitted:
    """Accuracy and diversity of the members, or of the methods compared."""
    core, methods = context.core, _methods(context)
    figures = () if methods is None else (methods,)
    table_of_members = _table_of_members(core)
    if context.has_oob_trees:
        return _of_forest(context, figures)
    if isinstance(core, BaseBooster):
        return _of_booster(context, core, figures)
    if isinstance(core, BaseMixtureOfExperts) and core.n_experts_ > 1:
        return _of_experts(context, core, figures)
    if table_of_members is not None:
        return _of_committee(table_of_members, figures)
    if methods is None:
        return Omitted(TITLE, f"{context.method} has no members with predictions of their own")
    return Section("members", TITLE, "Methods with weakly correlated errors are good members.", figures=figures)


def _of_forest(context: Context, figures: tuple[Figure, ...]) -> Section:
    found = forest_diagnostics(context.core, context.encoded, context.y, max_rows=MAX_SAMPLE)
    variance, strength, n = found.variance, found.strength, found.n_trees
    tiles = [Tile(format_number(variance.correlation, 2), "correlation of the errors of two trees")]
    if strength is not None:
        tiles.insert(0, Tile(format_number(strength.strength, 2), "strength: mean out-of-bag margin"))
    at = np.unique(np.geomspace(1, max(2 * n, 10), 40).round())
    expected = np.array([variance.with_members(int(k)) for k in at])
    lines = [
        Curve("expected", at, expected, "blue"),
        Curve("limit of infinitely many trees", at, np.full(at.size, variance.shared), "grey", True),
    ]
    what = "mean squared error" + (" of the probability of the true class" if strength is not None else "")
    rows = [(f"{k:.0f}", format_number(v)) for k, v in zip(at[::4], expected[::4], strict=True)]
    figure = Figure(
        "chart-trees", charts.curves(lines, "trees", "mean squared error", marked=float(n)),
        "Expected error by number of trees",
        f"A curve that falls from {format_number(expected[0])} with one tree to {format_number(variance.shared)} in "
        f"the limit; this forest has {n}.",
        table("Expected error", "#trees|#expected", rows), tuple(line.key for line in lines), "narrow",
    )  # fmt: skip
    lead = (
        f"More trees would {'' if found.more_trees_help else 'hardly '}reduce the error: the {what} is "
        f"{format_number(variance.variance)} with one tree and {format_number(variance.of_average)} with {n}; the "
        f"limit is {format_percent(variance.gain_left / variance.of_average)} lower. Out-of-bag estimates."
    )
    vacuous = " (vacuous)" if strength is not None and strength.is_vacuous else ""
    notes = () if strength is None else (f"Breiman's bound of the error: {format_number(strength.bound)}{vacuous}.",)
    return Section("members", TITLE, lead, tuple(tiles), (figure, *figures), notes=notes)


def _of_booster(context: Context, booster: BaseBooster, figures: tuple[Figure, ...]) -> Section:
    """Kappa and error of pairs of members (Margineantu and Dietterich 1997)."""
    rows = context.sample
    agreement = booster.agreements(take_rows(context.encoded, rows), context.y[rows])
    assert context.margin_history is not None
    error = format_percent(float(np.mean(agreement <= 0.0)))
    vote_error = format_percent(float(np.mean(context.margin_history.margins[-1] <= 0.0)))
    first = agreement[:, :MAX_MEMBERS] > 0.0
    kappa, pair_error = kappa_and_error(first)
    tiles = (
        Tile(error, "mean error of the members"),
        Tile(vote_error, "error of the vote"),
        Tile(format_number(float(np.mean(kappa)) if kappa.size else np.nan, 2), "mean kappa of two members"),
    )
    lead = (
        f"On the {context.row_kind}, {pluralize(agreement.shape[1], 'member')} have a mean error of {error} and their "
        f"vote one of {vote_error}. Members are fitted to reweighted rows and are not models to use alone."
    )
    if kappa.size:
        pairs = [
            (format_level(q), format_number(float(k)), format_percent(float(e)))
            for q, k, e in zip(QUANTILES, *np.quantile([kappa, pair_error], QUANTILES, axis=1).T, strict=True)
        ]
        figure = Figure(
            "chart-kappa", charts.kappa_error(kappa, pair_error),
            f"Kappa-error diagram of the first {first.shape[1]} members",
            f"One point per pair; mean kappa {format_number(float(np.mean(kappa)), 2)}.",
            table("Pairs of members", "#quantile|#kappa|#mean error", pairs), width="narrow",
        )  # fmt: skip
        figures = (figure, *figures)
    note = "Kappa is the agreement beyond chance: pairs with small kappa make different errors."
    return Section("members", TITLE, lead, tiles, figures, notes=(note,))


def kappa_and_error(is_correct: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Kappa of the correctness, and the mean error, of every pair of members [n, T].

    >>> kappa, error = kappa_and_error(np.array([[True, True], [True, True], [False, False], [False, True]]))
    >>> kappa.tolist(), error.tolist()
    ([0.5], [0.375])
    """
    pairs = pairwise_diversity(is_correct.T.astype(np.int64), np.ones(len(is_correct), np.int64))
    upper = np.triu_indices(is_correct.shape[1], 1)
    kappa = pairs.kappa[upper]
    return np.where(np.isnan(kappa), 1.0, kappa), pairs.pair_errors[upper]  # nan: both are always correct


def _of_experts(context: Context, mixture: BaseMixtureOfExperts, figures: tuple[Figure, ...]) -> Section:
    found = mixture_diagnostics(mixture, take_rows(context.encoded, context.sample))
    names, load = [f"expert {k + 1}" for k in range(found.n_experts)], np.asarray(found.load, np.float64)
    rows = [(name, format_percent(value)) for name, value in zip(names, load, strict=True)]
    figure = Figure(
        "chart-experts", charts.stacked(names, ["load"], load[:, np.newaxis], ["blue"], "fraction of rows"),
        "Load of the experts", f"Loads: {', '.join(' '.join(row) for row in rows)}.",
        table("Loads", "expert|#fraction of the training rows", rows),
    )  # fmt: skip
    lead = (
        f"{pluralize(found.n_experts, 'expert')}, effective number {format_number(found.effective_experts)}; the gate "
        f"assigns {format_percent(found.sharpness)} of the rows to a single expert."
    )
    return Section("members", TITLE, lead, figures=(figure, *figures))


def _table_of_members(core: Any) -> History | None:
    """One row per member of a committee of different models."""
    members, history = getattr(core, "members_", None), getattr(core, "history_", None)
    if isinstance(members, History) and "weight" in members:
        return members
    return history if history is not None and {"member", "weight"} <= set(history) else None


def _of_committee(found: History, figures: tuple[Figure, ...]) -> Section:
    names = [str(name) for name in found["name" if "name" in found else "member"]]
    weight = np.nan_to_num(np.asarray(found["weight"], np.float64))
    order = [int(i) for i in np.argsort(-weight, kind="stable")]
    columns = [column for column in found if found[column].ndim == 1 and column not in ("name", "member")]
    rows = [(names[i], *(format_cell(found[column][i]) for column in columns)) for i in order]
    values = table("Members", "member", rows, [c.replace("_", " ") for c in columns])
    used = [i for i in order if weight[i] > 0.0]
    lead = f"{len(used)} of {pluralize(len(names), 'member')} have a positive weight, {names[order[0]]} the largest."
    spec = charts.stacked([names[i] for i in used], ["weight"], weight[used, np.newaxis], ["blue"], "weight")
    figure = Figure("chart-members", spec, "Weights", f"Bars of weights. {lead}", values)
    return Section("members", TITLE, lead, figures=(figure, *figures))


def _methods(context: Context) -> Figure | None:
    """Correlation of the out-of-fold errors of the methods compared."""
    found = context.comparison
    if found is None:
        return None
    y = context.codes[found.rows] if context.is_classifier else context.y[found.rows].astype(np.float64)
    names, losses = list[str](), list[Floats]()
    for result in found.results:
        loss = _residual(result.oof_predictions, y)
        is_constant = np.ptp(result.oof_predictions, axis=0).max() < 0.2 * np.ptp(loss)
        if np.isfinite(loss).all() and loss.std() > 0.0 and not is_constant:
            names.append(result.name)
            losses.append(loss)
    if len(names) < 3:
        return None
    values: Floats = np.asarray(np.corrcoef(np.array(losses)), np.float64)
    i, j = np.triu_indices(len(names), 1)
    least = int(np.argmin(values[i, j]))
    rows = [(name, *(f"{v:.2f}" for v in line)) for name, line in zip(names, values, strict=True)]
    return Figure(
        "chart-methods", charts.correlations(names, values), "Correlation of the out-of-fold errors of the methods",
        f"Correlation matrix of {len(names)} methods; smallest for {names[i[least]]} and {names[j[least]]}.",
        table("Correlations of the errors", "method", rows, names),
    )  # fmt: skip


def _residual(prediction: Floats, y: NDArray[np.int64 | np.float64]) -> Floats:
    """One minus the probability of the true class, or the residual."""
    if prediction.ndim == 1:
        return prediction - y
    return 1.0 - prediction[np.arange(y.size), np.maximum(y, 0).astype(np.int64)]
