"""Prediction intervals for numbers, and how often they hold the truth.

From honest residuals (out of fold, out of bag or of new rows) an interval is the answer plus two of their order
statistics (`committee.parts.oob_intervals`). Its coverage is measured crosswise: the ends come from all groups of rows
but one, and are judged on that one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.parts.oob_intervals import OutOfBagIntervals, Residuals, n_errors_needed
from committee.report import charts
from committee.report.evidence import Evidence, Judged
from committee.report.section import Figure, Key, LeftOut, Section, Tile, table
from committee.report.words import count, listing, number, percent
from committee.report.words import level as level_text

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
        Tile(percent(nine.inside), f"of rows inside their {level_text(SHOWN_LEVEL)} interval"),
        Tile(number(nine.width), "wide, on average"),
    )
    holds = abs(nine.inside - nine.level) <= 2.0 * nine.error
    lead = (
        f"Intervals that promise {level_text(nine.level)} hold {percent(nine.inside)} of the rows: "
        + ("they keep their promise within chance. " if holds else "they do not quite keep their promise. ")
        + judged.words
    )
    notes = (
        "The ends come from the residuals of other rows than those they are judged on. Coverage holds on average over "
        "all rows: the intervals are equally wide everywhere, too wide for easy rows and too narrow for hard ones.",
        *_short_words(group),
        *_own_words(found),
    )
    figures = (_coverage_figure(coverages), _rows_figure(found, error, group))
    return Section("intervals", TITLE, lead, tiles, figures, notes=notes)


def _short_words(group: NDArray[np.int64]) -> tuple[str, ...]:
    """Levels that the residuals cannot promise where the ends come from the fewest of them."""
    fewest = group.size - int(np.unique(group, return_counts=True)[1].max())
    short = [level for level in LEVELS if fewest < n_errors_needed(level)]
    if not short:
        return ()
    needed = listing(f"{n_errors_needed(level)} for {level_text(level)}" for level in short)
    return (
        f"Some ends come from {count(fewest, 'residual')}, and it takes {needed}: there the ends are the extreme "
        f"residuals, which promise {percent((fewest - 1) / (fewest + 1))} only.",
    )


def _own_words(found: Evidence) -> tuple[str, ...]:
    """Models that know intervals for new rows themselves."""
    core = found.core
    residuals = core.oob_residuals() if isinstance(core, OutOfBagIntervals) else None
    if residuals is None and not (hasattr(core, "predict_interval") and getattr(core, "loss", "") == "quantile"):
        return ()
    words = [f"This {found.method} gives intervals of new rows itself: predict_interval(X)."]
    if not found.has_learned:
        promised, share = _own_coverage(found, residuals)
        words.append(f"They promise {percent(promised)} and hold {percent(share)} of these rows.")
    if residuals is not None and (few := residuals.too_few(SHOWN_LEVEL)):
        words.append(few)
    return (" ".join(words),)


def _own_coverage(found: Evidence, residuals: Residuals | None) -> tuple[float, float]:
    """What the model's own intervals promise, and the share of these rows inside."""
    if residuals is None:
        promised, (low, high) = float(np.ptp(found.core.quantile)), found.model.predict_interval(found.X).T
    else:
        promised = residuals.promised(SHOWN_LEVEL)
        low, high = found.model.predict(found.X) + residuals.ends(SHOWN_LEVEL)[:, np.newaxis]
    truth = found.y.astype(np.float64)
    return promised, float(np.mean((low <= truth) & (truth <= high)))


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
        [(level_text(c.level), percent(c.inside), percent(c.error), number(c.width)) for c in coverages],
    )  # fmt: skip
    told = "; ".join(f"{level_text(c.level)} promised, {percent(c.inside)} inside" for c in coverages)
    legend = (Key("measured, one standard error", "blue"), Key("promise kept exactly", "grey", True))
    return Figure("chart-coverage", spec, "Promised and measured coverage", told + ".", numbers, legend, "narrow")


def _rows_figure(found: Evidence, error: Floats, group: NDArray[np.int64]) -> Figure:
    judged = found.judged
    low, high = np.empty(error.size), np.empty(error.size)
    for one in np.unique(group):
        here = group == one
        low[here], high[here] = judged.answer[here, np.newaxis].T + _ends(error[~here], SHOWN_LEVEL)[:, np.newaxis]
    some = np.random.default_rng(found.seed).permutation(error.size)[:MOST_SHOWN]
    some = some[np.argsort(judged.answer[some], kind="stable")]
    spec = charts.intervals(judged.answer[some], low[some], high[some], judged.truth[some], "target")
    missed = int(((judged.truth[some] < low[some]) | (judged.truth[some] > high[some])).sum())
    numbers = table(
        "The rows drawn", "#row|#answer|#from|#to|#truth",
        [(str(found.in_file(judged.rows[i])), *(number(float(v[i])) for v in (judged.answer, low, high, judged.truth)))
         for i in some],
    )  # fmt: skip
    alt = f"{count(some.size, 'row')} in the order of the answer, with intervals; the truth of {missed} lies outside."
    legend = (Key("interval, and a truth inside", "blue", mark="dot"), Key("a truth outside", "red", mark="dot"))
    title = f"{level_text(SHOWN_LEVEL)} intervals of {count(some.size, 'row')}"
    return Figure("chart-intervals", spec, title, alt, numbers, legend, "narrow")
