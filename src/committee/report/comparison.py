"""Comparison of the methods on the same folds."""

from __future__ import annotations

import numpy as np

from committee.base.array_types import Floats
from committee.base.stats import standard_error_of_folds
from committee.base.text import NO_VALUE, format_seconds, join_names, pluralize, shorten
from committee.evaluation.comparison import Comparison, MethodResult
from committee.evaluation.metrics import RATES, format_loss
from committee.report import _charts as charts
from committee.report._section import Figure, Omitted, Section, Table, table
from committee.report.context import Context
from committee.report.summary import paired_difference

TITLE = "Comparison of methods"
LOST = ("failed", "out of time")

NOTES = (
    "The loss of the selected method is optimistic: it is the minimum of several means. The summary shows unbiased "
    "estimates.",
    "The standard errors allow for the overlap of the training folds (Nadeau and Bengio 2003).",
)


def comparison(context: Context) -> Section | Omitted:
    """Mean losses with standard errors, differences from the selected method, and times."""
    found = context.comparison
    if found is None:
        return Omitted(TITLE, "this report is about one model; committee compare compares all methods")
    ranking = found.ranking()
    drawn = _without_outliers(ranking)
    losses = [f"{r.name} ({format_loss(found.metric, r.mean_loss)})" for r in ranking]
    lead = _lead(found, len(ranking))
    lead += f" Beyond the axis: {join_names(losses[len(drawn) :])}." if len(drawn) < len(ranking) else ""
    chart = charts.dots(
        [r.name for r in drawn], np.array([r.mean_loss for r in drawn]), np.array([_stderr(r) for r in drawn]),
        next((i for i, r in enumerate(drawn) if r.name == found.winner), 0), f"{found.metric} (lower is better)",
        found.metric in RATES,
    )  # fmt: skip
    alt = f"Dots with error bars, from the selected method to the largest {found.metric}: {join_names(losses)}."
    figure = Figure(
        "chart-comparison", chart, f"Mean {found.metric} and one standard error", alt, _results(found, ranking)
    )
    notes = (*_remarks(found), *NOTES)
    return Section("comparison", TITLE, lead, figures=(figure,), tables=(_times(found, ranking),), notes=notes)


def _lead(found: Comparison, n_fitted: int) -> str:
    folds = f"{found.n_folds}-fold cross-validation on {pluralize(found.rows.size, 'row')}"
    if found.is_forward:
        folds = f"{found.n_folds} consecutive periods, each predicted after a fit on the earlier ones"
    n_lost, n_partial = len(found.results) - n_fitted, sum(r.status == "partial" for r in found.results)
    lost = f" Not evaluated: {pluralize(n_lost, 'method')}." if n_lost else ""
    partial = " ~ marks losses estimated from some of the folds, for lack of time." if n_partial else ""
    return f"{pluralize(n_fitted, 'method')}, {folds}.{lost}{partial}"


def _remarks(found: Comparison) -> list[str]:
    """Warnings and failures, and methods that are not better than the constant."""
    notes = [
        f"{r.name}{f', {r.status}' if r.status in LOST else ''}: {shorten(r.note.rstrip('.'), 200) or 'unknown'}."
        for r in found.results
        if r.status in LOST or r.note
    ]
    useless = [r.name for r in found.results if r.beats_constant is False and r.name != "constant"]
    return [*notes, *([f"Not better than the constant by a paired test: {join_names(useless)}."] if useless else [])]


def _without_outliers(ranking: list[MethodResult]) -> list[MethodResult]:
    """Without the last ones if they would dominate the axis."""
    drawn = list(ranking)
    while len(drawn) > 3:
        first, previous, last = (drawn[i].mean_loss for i in (0, -2, -1))
        if last - previous <= 3.0 * (previous - first):
            break
        drawn.pop()
    return drawn


def _stderr(result: MethodResult) -> float:
    known = result.losses[np.isfinite(result.losses)]
    return float(standard_error_of_folds(known[np.newaxis])) if known.size > 1 else 0.0


def _loss(found: Comparison, result: MethodResult, stderr: float = np.nan) -> str:
    mark = "~" if result.status == "partial" else ""
    return mark + format_loss(found.metric, result.mean_loss, stderr=stderr)


def _results(found: Comparison, ranking: list[MethodResult]) -> Table:
    winner = found.result(found.winner)
    metrics = list(ranking[0].metric_losses)
    rows = list[tuple[str, ...]]()
    for result in ranking:
        partial = [pluralize(result.n_evaluated, "fold")] if result.status == "partial" else []
        remarks = ", ".join(filter(None, [*partial, result.setting]))
        difference, stderr = paired_difference(result, winner)
        rows.append((
            result.name + (f" ({remarks})" if remarks else ""), _loss(found, result, _stderr(result)),
            NO_VALUE if result is winner else format_loss(found.metric, difference, stderr=stderr),
            *(_mean_metric(result, metric) for metric in metrics),
        ))  # fmt: skip
    header = f"method|#{found.metric} ± standard error|#difference from the selected method"
    return table("Means over folds", header, rows, metrics)


def _mean_metric(result: MethodResult, metric: str) -> str:
    losses = result.metric_losses.get(metric, np.empty(0))
    known = losses[~np.isnan(losses)]
    return format_loss(metric, float(known.mean())) if known.size else NO_VALUE


def _times(found: Comparison, ranking: list[MethodResult]) -> Table:
    rows = [
        (
            r.name + (" (selected)" if r.name == found.winner else f" ({r.status})" if r.status in LOST else ""),
            NO_VALUE if r.status in LOST else _loss(found, r), _median(r.fit_seconds), _median(r.predict_seconds),
        )
        for r in [*ranking, *(r for r in found.results if r.status in LOST)]
    ]  # fmt: skip
    caption = f"Median times per fold; total {format_seconds(found.seconds)}"
    return table(caption, f"method|#{found.metric}|#fit|#predict", rows)


def _median(seconds: Floats) -> str:
    return format_seconds(float(np.nanmedian(seconds)) if np.isfinite(seconds).any() else np.nan)
