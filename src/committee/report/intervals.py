"""Prediction intervals of a regression and their coverage."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from committee.base.text import format_level, format_number, format_percent, join_names, pluralize
from committee.calibration.prediction_intervals import n_errors_needed
from committee.report import _charts as charts
from committee.report._coverage import LEVELS, SHOWN_LEVEL, Coverage, Intervals
from committee.report._section import Figure, Key, Omitted, Section, Table, Tile, table
from committee.report.context import MIN_CROSS_VALIDATED, MIN_NEW, Context

TITLE = "Prediction intervals"
MAX_SHOWN = 60


def intervals(context: Context) -> Section | Omitted:
    """Coverage at several levels, and the intervals of some rows."""
    found, result = context.evaluation, context.intervals
    if result is None:
        return Omitted(TITLE, _reason(context))
    shown, level = result.shown, format_level(SHOWN_LEVEL)
    tiles = [
        Tile(format_percent(shown.inside, stderr=shown.stderr), f"coverage of {level} intervals"),
        Tile(f"{format_percent(shown.below)} / {format_percent(shown.above)}", "of the targets below / above"),
        Tile(format_number(shown.width), "mean width"),
    ]
    lead, tables = f"{shown.sentence} {found.note}", tuple[Table, ...]()
    if result.held_out:
        apart = result.held_out[LEVELS.index(SHOWN_LEVEL)]
        tiles.insert(1, Tile(format_percent(apart.inside, stderr=apart.stderr), "coverage of the held-out rows"))
        lead += f" Held-out rows, with ends from the out-of-fold residuals: {apart.sentence}"
        tables = (_table("Coverage of the held-out rows", result.held_out),)
    note = (
        "Intervals of predict_interval(X, level) and committee predict --interval. Coverage is marginal and requires "
        "exchangeable rows: it fails under drift."
        if result.is_own
        else "The ends come from the residuals of other rows than those they are evaluated on. Coverage is marginal: "
        "of constant width, the intervals are too wide for easy rows and too narrow for hard ones."
    )
    figures = (_coverage_figure(result.coverages), _rows_figure(context, result))
    notes = (note, *_few_residuals(result))
    return Section("intervals", TITLE, lead, tuple(tiles), figures, tables=tables, notes=notes)


def _reason(context: Context) -> str:
    found = context.evaluation
    if context.is_classifier:
        return "the target is a class; see the calibration"
    if not found.is_out_of_sample:
        return "there are in-sample predictions only"
    is_new = found.source in ("new rows", "other rows")
    if found.rows.size < (MIN_NEW if is_new else MIN_CROSS_VALIDATED):
        return f"{pluralize(found.rows.size, 'row')} are too few"
    return "the model has no residuals: call calibrate_intervals(X, y) with its training rows"


def _few_residuals(result: Intervals) -> tuple[str, ...]:
    """A note about levels that need more residuals."""
    n = result.n_residuals
    needed = [f"{n_errors_needed(level)} for {format_level(level)}" for level in LEVELS if n < n_errors_needed(level)]
    if not needed:
        return ()
    return (
        f"Ends from {pluralize(round(n), 'residual')} ({join_names(needed)} needed): the extreme residuals, which "
        f"guarantee {format_percent((n - 1) / (n + 1))} only.",
    )


def _table(caption: str, coverages: Sequence[Coverage]) -> Table:
    rows = [
        (format_level(c.level), *map(format_percent, (c.inside, c.stderr, c.below, c.above)), format_number(c.width))
        for c in coverages
    ]
    return table(caption, "#level|#coverage|#standard error|#below|#above|#mean width", rows)


def _coverage_figure(coverages: Sequence[Coverage]) -> Figure:
    level, inside, stderr = (np.array([getattr(c, name) for c in coverages]) for name in ("level", "inside", "stderr"))
    alt = "; ".join(f"{format_level(c.level)} level, {format_percent(c.inside)} covered" for c in coverages)
    return Figure(
        "chart-coverage", charts.calibration(level, inside, stderr, "level", "coverage"), "Coverage by level",
        f"{alt}.", _table("Coverage by level", coverages),
        (Key("coverage, one standard error", "blue"), Key("equal to the level", "grey", True)), "narrow",
    )  # fmt: skip


def _rows_figure(context: Context, result: Intervals) -> Figure:
    found, ends = context.evaluation, result.ends
    some = np.random.default_rng(context.seed).permutation(found.rows.size)[:MAX_SHOWN]
    some = some[np.argsort(found.y_pred[some], kind="stable")]
    actual, low, high = found.y_true[some], *ends[some].T
    values = zip(found.y_pred[some], low, high, actual, strict=True)
    rows = [
        (str(context.file_row(found.rows[i])), *map(format_number, each)) for i, each in zip(some, values, strict=True)
    ]
    size, n_outside = pluralize(some.size, "row"), int(((actual < low) | (actual > high)).sum())
    return Figure(
        "chart-intervals", charts.intervals(ends[some], actual, "target"),
        f"{format_level(SHOWN_LEVEL)} intervals of {size}",
        f"Intervals of {size}, by predicted value; {n_outside} targets are outside.",
        table("Rows of the chart", "#row|#predicted|#from|#to|#actual", rows),
        (Key("interval, target inside", "blue", mark="dot"), Key("target outside", "red", mark="dot")), "narrow",
    )  # fmt: skip
