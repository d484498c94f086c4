"""Prediction intervals for numbers, and how often they hold the truth.

From honest residuals (out of fold, out of bag or of new rows) an interval is the answer plus two of their order
statistics (`committee.forests.intervals`). Its coverage is measured crosswise: the ends come from all groups of rows
but one, and are judged on that one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.forests.intervals import Residuals
from committee.report import charts
from committee.report.evidence import Evidence, Judged
from committee.report.section import Figure, Key, LeftOut, Section, Tile, table
from committee.report.words import count, number, percent

Floats = NDArray[np.float64]

TITLE = "Prediction intervals"
LEVELS = (0.5, 0.8, 0.9, 0.95)
SHOWN_LEVEL = 0.9
FEWEST = 40
MOST_SHOWN = 60


class Coverage(NamedTuple):
    """Intervals of one level: the share of rows inside, and how wide they are."""

    level: float
    inside: float
    error: float
    width: float


def intervals(found: Evidence) -> Section | LeftOut:
    """Intervals from residuals, their coverage at several levels, and the intervals of some rows."""
    if found.is_classifier:
        return LeftOut(TITLE, "the target is a class; see the calibration of its probabilities")
    judged = found.judged
    if not judged.is_honest:
        return LeftOut(TITLE, "they need residuals of rows that the model did not learn: out of bag, or a comparison")
    if judged.rows.size < FEWEST:
        return LeftOut(TITLE, f"{count(judged.rows.size, 'row')} are too few")
    error, group = judged.truth - judged.answer, _groups(judged, found.seed)
    coverages = [crossed_coverage(error, group, level) for level in LEVELS]
    nine = next(c for c in coverages if c.level == SHOWN_LEVEL)
    tiles = (
        Tile(percent(nine.inside), f"of rows inside their {percent(SHOWN_LEVEL)} interval"),
        Tile(number(nine.width), "wide, on average"),
    )
    holds = abs(nine.inside - nine.level) <= 2.0 * nine.error
    lead = (
        f"Intervals that promise {percent(nine.level)} hold {percent(nine.inside)} of the rows: "
        + ("they keep their promise within chance. " if holds else "they do not quite keep their promise. ")
        + judged.words
    )
    notes = (
        "The ends come from the residuals of other rows than those they are judged on. Coverage holds on average over "
        "all rows: the intervals are equally wide everywhere, too wide for easy rows and too narrow for hard ones.",
        *_own_words(found),
    )
    figures = (_coverage_figure(coverages), _rows_figure(judged, error, group, found.seed))
    return Section("intervals", TITLE, lead, tiles, figures, notes=notes)


def _own_words(found: Evidence) -> tuple[str, ...]:
    """Models that know intervals for new rows themselves."""
    is_quantile = getattr(found.core, "loss", "") == "quantile"
    if not (hasattr(found.core, "predict_interval") and (hasattr(found.core, "oob_prediction_") or is_quantile)):
        return ()
    words = f"This {found.method} gives intervals of new rows itself: predict_interval(X)."
    if found.is_training:
        return (words,)
    low, high = np.asarray(found.model.predict_interval(found.X), np.float64).T
    truth = found.y.astype(np.float64)
    share = float(np.mean((low <= truth) & (truth <= high)))
    quantiles = np.ravel(found.core.quantile) if is_quantile else np.array([0.05, 0.95])  # 90 % unless asked otherwise
    promised = float(np.max(quantiles) - np.min(quantiles))
    return (f"{words} They promise {percent(promised)} and hold {percent(share)} of these rows.",)


def _groups(judged: Judged, seed: int) -> NDArray[np.int64]:
    """Folds, or five groups drawn at random where all rows were judged together."""
    if np.unique(judged.fold).size > 1:
        return judged.fold
    return np.random.default_rng(seed).permutation(judged.rows.size) % 5


def crossed_coverage(error: Floats, group: NDArray[np.int64], level: float) -> Coverage:
    """Coverage of intervals whose ends come from the residuals of the other groups.

    >>> error = np.arange(100.0) - 49.5
    >>> crossed_coverage(error, np.arange(100) % 5, 0.8).inside
    0.82
    """
    inside, width = np.zeros(error.size, bool), np.zeros(error.size)
    for one in np.unique(group):
        here = group == one
        low, high = _ends(error[~here], level)
        inside[here] = (low <= error[here]) & (error[here] <= high)
        width[here] = high - low
    share = float(inside.mean())
    return Coverage(level, share, float(np.sqrt(level * (1.0 - level) / error.size)), float(width.mean()))


def _ends(error: Floats, level: float) -> Floats:
    return Residuals.of(error, np.ones(error.size)).ends(level)


def _coverage_figure(coverages: list[Coverage]) -> Figure:
    said, seen, error = (np.array([getattr(c, name) for c in coverages]) for name in ("level", "inside", "error"))
    n = np.zeros(said.size, np.int64)
    spec = charts.calibration(said, seen, seen - error, seen + error, n, "promised coverage", "rows inside")
    numbers = table(
        "Coverage by level", "#promised|#inside|#standard error|#mean width",
        [(percent(c.level), percent(c.inside), percent(c.error), number(c.width)) for c in coverages],
    )  # fmt: skip
    told = "; ".join(f"{percent(c.level)} promised, {percent(c.inside)} inside" for c in coverages)
    legend = (Key("measured, one standard error", "blue"), Key("promise kept exactly", "grey", True))
    return Figure("chart-coverage", spec, "Promised and measured coverage", told + ".", numbers, legend, "narrow")


def _rows_figure(judged: Judged, error: Floats, group: NDArray[np.int64], seed: int) -> Figure:
    low, high = np.empty(error.size), np.empty(error.size)
    for one in np.unique(group):
        here = group == one
        low[here], high[here] = judged.answer[here, np.newaxis].T + _ends(error[~here], SHOWN_LEVEL)[:, np.newaxis]
    some = np.random.default_rng(seed).permutation(error.size)[:MOST_SHOWN]
    some = some[np.argsort(judged.answer[some], kind="stable")]
    spec = charts.intervals(judged.answer[some], low[some], high[some], judged.truth[some], "target")
    missed = int(((judged.truth[some] < low[some]) | (judged.truth[some] > high[some])).sum())
    numbers = table(
        "The rows drawn", "#row|#answer|#from|#to|#truth",
        [(str(judged.rows[i]), *(number(float(v[i])) for v in (judged.answer, low, high, judged.truth))) for i in some],
    )  # fmt: skip
    alt = f"{count(some.size, 'row')} in the order of the answer, with intervals; the truth of {missed} lies outside."
    legend = (Key("interval, and a truth inside", "blue"), Key("a truth outside", "red"))
    title = f"{percent(SHOWN_LEVEL)} intervals of {count(some.size, 'row')}"
    return Figure("chart-intervals", spec, title, alt, numbers, legend, "narrow")
