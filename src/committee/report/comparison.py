"""The methods side by side on the same folds."""

from __future__ import annotations

import numpy as np

from committee.base.stats import standard_error_of_folds
from committee.base.text import format_seconds, join_names, pluralize, shorten
from committee.evaluation.comparison import Comparison, MethodResult
from committee.evaluation.metrics import RATES, format_loss
from committee.report import _charts as charts
from committee.report._context import Evidence
from committee.report._section import Figure, LeftOut, Section, Table, table
from committee.report.verdict import paired_difference

TITLE = "The methods compared"


def comparison(found: Evidence) -> Section | LeftOut:
    """Mean loss over folds with its standard error, times, and differences from the winner."""
    what = found.comparison
    if what is None:
        return LeftOut(TITLE, "the page is about one model; committee compare sets the whole family side by side")
    done = what.ranking()
    drawn = _within_sight(done)
    value, error = np.array([_mean(r) for r in drawn]), np.array([_error(r) for r in drawn])
    lead = _lead(what, len(done))
    far = [
        f"{r.name} ({format_loss(what.metric, _mean(r))})" for r in done if r.name not in {one.name for one in drawn}
    ]
    if far:
        lead += f" Far off to the right and not drawn: {join_names(far)}."
    best = next((i for i, r in enumerate(drawn) if r.name == what.winner), 0)
    axis = f"{what.metric} (smaller is better)"
    chart = charts.dots([r.name for r in drawn], value, error, best, axis, what.metric in RATES)
    figure = Figure(
        "chart-comparison", chart, f"{what.metric.capitalize()} of each method",
        f"Dots with error bars. {_order_in_words(what, done)}", _results(what, done),
    )  # fmt: skip
    notes = (
        "The smallest of several means is too small by chance alone: that of the winner flatters it. The figures at "
        "the top come from rows or folds that did not choose it.",
        "Folds share most of their training rows; the standard errors allow for it, roughly (Nadeau and Bengio 2003).",
    )
    notes = (*_troubles(what), *notes)
    return Section("comparison", TITLE, lead, figures=(figure,), tables=(_times(what),), notes=notes)


def _lead(what: Comparison, n_fitted: int) -> str:
    were = "was" if n_fitted == 1 else "were"
    folds = f"the same {what.n_folds} folds of {pluralize(what.rows.size, 'row')}"
    if what.is_forward:
        folds = f"the same {what.n_folds} stretches of time, each after all that was learned from"
    why = "" if n_fitted == 1 else ", so their differences are those of the methods and not of the rows"
    n_more = len(what.results) - n_fitted
    more = f" {pluralize(n_more, 'other')} could not be evaluated." if n_more else ""
    n_partial = sum(r.status == "partial" for r in what.results)
    if n_partial:
        more += (
            f" For lack of time {pluralize(n_partial, 'method')} had some of the folds only: marked with ~, and "
            "estimated by the differences from the best method on these folds."
        )
    return (
        f"{pluralize(n_fitted, 'method')} {were} fitted and evaluated on {folds}{why}.{more} Dots are means over "
        "folds, bars one standard error."
    )


def _troubles(what: Comparison) -> list[str]:
    """Under the table, for a phone has no room for it beside the numbers."""
    lost = [
        f"{r.name}{f', {r.status}' if r.status in ('failed', 'out of time') else ''}: "
        f"{shorten(r.note.rstrip('.'), 200) or 'no reason is known'}."
        for r in what.results
        if r.status in ("failed", "out of time") or r.note
    ]
    useless = [r.name for r in what.results if r.beats_constant is False and r.name != "constant"]
    if useless:
        are = "is" if len(useless) == 1 else "are"
        lost.append(f"{join_names(useless)} {are} no better than the constant, by a paired test over the rows.")
    return lost


def _name(result: MethodResult) -> str:
    """The method with what its figures must be read with."""
    words = [pluralize(result.n_evaluated, "fold")] if result.status == "partial" else []
    words += [result.setting] if result.setting else []
    return result.name + (f" ({', '.join(words)})" if words else "")


def _estimated(result: MethodResult) -> str:
    """A mark before figures that are estimated from some of the folds."""
    return "~" if result.status == "partial" else ""


def _within_sight(done: list[MethodResult]) -> list[MethodResult]:
    """Without the last ones, such as no model at all, where they would press all the others together."""
    shown_ones = list(done)
    while len(shown_ones) > 3:
        first, before, last = (_mean(shown_ones[i]) for i in (0, -2, -1))
        if last - before <= 3.0 * (before - first):
            break
        shown_ones.pop()
    return shown_ones


def _mean(result: MethodResult) -> float:
    return result.mean_loss


def _error(result: MethodResult) -> float:
    errors = result.losses[np.isfinite(result.losses)]
    return float(standard_error_of_folds(errors[np.newaxis])) if errors.size > 1 else 0.0


def _order_in_words(what: Comparison, done: list[MethodResult]) -> str:
    names = [f"{r.name} {format_loss(what.metric, _mean(r))}" for r in done]
    return f"From the smallest {what.metric} to the largest: {join_names(names)}."


def _results(what: Comparison, done: list[MethodResult]) -> Table:
    winner = next((r for r in what.results if r.name == what.winner), None)
    metrics = [m for m in next(iter(done)).metric_losses] if done else []
    rows = list[tuple[str, ...]]()
    for result in done:
        lead, lead_error = (np.nan, np.nan) if winner is None else paired_difference(result, winner)
        own = "—" if result.name == what.winner else format_loss(what.metric, lead, stderr=lead_error)
        rows.append((
            _name(result), _estimated(result) + format_loss(what.metric, result.mean_loss, stderr=_error(result)), own,
            *(_mean_score(result, m) for m in metrics),
        ))  # fmt: skip
    header = f"method|#{what.metric} ± standard error|#above the winner, fold by fold"
    return table("Means over folds", header, rows, metrics)


def _mean_score(result: MethodResult, metric: str) -> str:
    """The mean over folds; a dash for a method that has no such score (a class machine without probabilities)."""
    losses = result.metric_losses.get(metric, np.empty(0))
    known = losses[~np.isnan(losses)]
    return format_loss(metric, float(known.mean())) if known.size else "—"


def _times(what: Comparison) -> Table:
    lost = ("failed", "out of time")
    judged = [*what.ranking(), *(r for r in what.results if r.status in lost)]
    rows = [
        (
            r.name + (" (chosen)" if r.name == what.winner else f" ({r.status})" if r.status in lost else ""),
            "—" if r.status in lost else _estimated(r) + format_loss(what.metric, r.mean_loss),
            format_seconds(_middle(r.fit_seconds)), format_seconds(_middle(r.predict_seconds)),
        )
        for r in judged
    ]  # fmt: skip
    header = f"method|#{what.metric}|#fit, a fold|#predict, a fold"
    return table(f"Times are medians over folds; the whole took {format_seconds(what.seconds)}", header, rows)


def _middle(times: charts.Floats) -> float:
    return float(np.nanmedian(times)) if np.isfinite(times).any() else np.nan
