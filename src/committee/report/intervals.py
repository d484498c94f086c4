"""Prediction intervals of a regression, and how often they cover the truth.

On rows that the model was not fitted on, the intervals are exactly those of its `predict_interval`, which `committee
predict --interval` gives too. Of a comparison, and out of bag, an interval is the out-of-sample prediction plus two
order statistics of such residuals (`committee.calibration.prediction_intervals`), and its coverage is measured
crosswise: the ends come from the residuals of all groups of rows but one, and are evaluated on that one. A comparison
with held-out rows also shows how often intervals made from the out-of-fold residuals cover those rows.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from committee.base.array_types import Floats
from committee.base.text import format_level, format_number, format_percent, join_names, pluralize
from committee.calibration.prediction_intervals import PredictionIntervals, Residuals, n_errors_needed
from committee.report import _charts as charts
from committee.report._context import Evidence, Judged
from committee.report._section import Figure, Key, LeftOut, Section, Table, Tile, table

TITLE = "Prediction intervals"
LEVELS = (0.5, 0.8, 0.9, 0.95)
SHOWN_LEVEL = 0.9
MIN_CROSSED, MIN_NEW = 40, 10
"""Rows that it takes: other residuals of the same table must give the ends, or the model has them."""

MAX_SHOWN = 60


class Coverage(NamedTuple):
    """Intervals of one level: the fraction of rows inside, below and above them, and how wide they are."""

    level: float
    inside: float
    below: float
    above: float
    error: float  # standard error of `inside`
    chance: float  # how far `inside` is from `level` by chance, as a standard error
    width: float

    @classmethod
    def of(cls, level: float, truth: Floats, low: Floats, high: Floats, n_residuals: float) -> Coverage:
        """Of n rows, and ends that come from so many residuals."""
        below, above = float(np.mean(truth < low)), float(np.mean(truth > high))
        inside, n = float(np.mean((low <= truth) & (truth <= high))), truth.size
        spread = inside if 0.0 < inside < 1.0 else 1.0 / (n + 2.0)  # none or all: few rows do not prove it (Laplace)
        chance = level * (1.0 - level) * (1.0 / n + 1.0 / max(n_residuals, 1.0))
        error = float(np.sqrt(spread * (1.0 - spread) / n))
        return cls(level, inside, below, above, error, float(np.sqrt(chance)), float(np.mean(high - low)))

    @property
    def is_broken(self) -> bool:
        """Whether fewer rows are inside than promised, by more than chance gives."""
        return self.inside < self.level - 2.0 * self.chance

    @property
    def words(self) -> str:
        """One sentence: what was promised, what holds, and where the truth lies otherwise."""
        size = format_percent(self.inside, stderr=self.error)
        sides = f"the truth lies below {format_percent(self.below)} of them and above {format_percent(self.above)}"
        if self.is_broken:
            return f"The promise is broken: {format_level(self.level)} intervals cover {size} of the rows; {sides}."
        kept = "more than they promise" if self.inside > self.level + 2.0 * self.chance else "as promised within chance"
        return f"{format_level(self.level)} intervals cover {size} of the rows, {kept}; {sides}."


class Ends(NamedTuple):
    """Intervals of one level around predictions of rows, and how many residuals each end came from."""

    low: Floats
    high: Floats
    n_residuals: float


def intervals(result: Evidence) -> Section | LeftOut:
    """Intervals, their coverage at several levels, and the intervals of some rows."""
    if result.is_classifier:
        return LeftOut(TITLE, "the target is a class; see the calibration of its probabilities")
    judged = result.judged
    if not judged.is_honest:
        return LeftOut(TITLE, "they need residuals of rows that the model did not learn: out of bag, or a comparison")
    is_new = judged.source in ("new rows", "other rows")
    if judged.rows.size < (MIN_NEW if is_new else MIN_CROSSED):
        return LeftOut(TITLE, f"{pluralize(judged.rows.size, 'row')} are too few")
    return _of_new_rows(result) if is_new else _crossed(result)


# --- rows that the model was not fitted on ----------------------------------------------------------------------------


def _of_new_rows(result: Evidence) -> Section | LeftOut:
    """The intervals that the model gives for these rows."""
    by_level = model_intervals(result, LEVELS)
    if by_level is None:
        return LeftOut(
            TITLE, "this model has no residuals to make them of: call calibrate_intervals(X, y) with its training rows"
        )
    judged = result.judged
    coverages = [Coverage.of(level, judged.truth, *ends) for level, ends in by_level.items()]
    notes = (
        "These are the intervals of predict_interval(X, level), which `committee predict --interval` writes. They "
        "promise coverage on average over all rows, for rows that are like the training rows: it fails where new rows "
        "differ from those, by drift or in time order.",
        *_few_words(by_level),
    )
    return _section(result, coverages, by_level[SHOWN_LEVEL], notes)


def model_intervals(result: Evidence, levels: tuple[float, ...]) -> dict[float, Ends] | None:
    """What `predict_interval` of the model gives for the rows judged, by level; None where it gives none."""
    model, rows = _regressor(result)
    if not isinstance(model, PredictionIntervals):
        return None
    residuals = model.interval_residuals()
    n = float(residuals[0].n_each.sum()) if residuals else np.inf
    with warnings.catch_warnings():  # too few residuals are named in the notes
        warnings.simplefilter("ignore", UserWarning)
        try:
            prediction = np.asarray(model.predict(rows), np.float64)
            ends = {level: model.interval_around(prediction, level) for level in levels}
        except ValueError:  # no residuals, nor quantiles of these levels
            return None
    return {level: Ends(each[:, 0], each[:, 1], n) for level, each in ends.items()}


def shown_coverage(result: Evidence) -> Coverage | None:
    """Coverage of the model's own intervals of the shown level on rows it was not fitted on."""
    if (
        result.is_classifier
        or result.judged.source not in ("new rows", "other rows")
        or result.judged.rows.size < MIN_NEW
    ):
        return None
    by_level = model_intervals(result, (SHOWN_LEVEL,))
    return None if by_level is None else Coverage.of(SHOWN_LEVEL, result.judged.truth, *by_level[SHOWN_LEVEL])


def _regressor(result: Evidence) -> tuple[Any, Any]:
    """The model after the steps of a pipeline, and the rows judged as it gets them."""
    model, rows = result.model, result.take(result.judged.rows)
    while isinstance(model, Pipeline):
        rows, model = model[:-1].transform(rows) if len(model) > 1 else rows, model[-1]
    return model, rows


def _few_words(by_level: dict[float, Ends]) -> tuple[str, ...]:
    """Levels that the model's residuals cannot promise."""
    n = next(iter(by_level.values())).n_residuals
    short = [level for level in by_level if n < n_errors_needed(level)]
    return _short_words(short, f"The ends come from {pluralize(round(n), 'residual')}", n) if short else ()


# --- rows of a comparison, or out of bag ------------------------------------------------------------------------------


def _crossed(result: Evidence) -> Section:
    judged = result.judged
    error, group = judged.truth - judged.answer, _groups(judged, result.seed)
    coverages = [crossed_coverage(error, group, level) for level in LEVELS]
    fewest = group.size - int(np.unique(group, return_counts=True)[1].max())
    short = [level for level in LEVELS if fewest < n_errors_needed(level)]
    few = _short_words(short, f"Some ends come from {pluralize(fewest, 'residual')}", fewest) if short else ()
    notes = (
        "The ends come from the residuals of other rows than those they are evaluated on. Coverage holds on "
        "average over all rows: the intervals are equally wide everywhere, too wide for easy rows and too narrow for "
        "hard ones.",
        *few,
    )
    ends = _crossed_ends(judged.answer, error, group, SHOWN_LEVEL)
    held_out = held_out_coverages(result)
    tables = (_coverage_table("Coverage of the held-out rows", held_out),) if held_out else ()
    return _section(result, coverages, ends, notes, held_out, tables)


def held_out_coverages(result: Evidence) -> list[Coverage]:
    """Coverage of the held-out rows by intervals made from the out-of-fold residuals; none without such rows."""
    comparison = result.comparison
    prediction = None if comparison is None else getattr(comparison, "held_out_predictions", None)
    if comparison is None or prediction is None or len(prediction) < MIN_NEW or result.is_classifier:
        return []
    judged, truth = result.judged, result.y[comparison.held_out_rows].astype(np.float64)
    known = Residuals.of(judged.truth - judged.answer, np.ones(judged.rows.size))
    n = float(known.value.size)
    ends = {level: prediction[:, np.newaxis] + known.ends(level) for level in LEVELS}
    return [Coverage.of(level, truth, each[:, 0], each[:, 1], n) for level, each in ends.items()]


def crossed_coverage(error: Floats, group: NDArray[np.int64], level: float) -> Coverage:
    """Coverage of intervals whose ends come from the residuals of the other groups.

    >>> error = np.arange(100.0) - 49.5
    >>> crossed_coverage(error, np.arange(100) % 5, 0.8).inside
    0.82
    """
    ends = _crossed_ends(np.zeros(error.size), error, group, level)
    return Coverage.of(level, error, *ends)._replace(chance=float(np.sqrt(level * (1.0 - level) / error.size)))


def _crossed_ends(prediction: Floats, error: Floats, group: NDArray[np.int64], level: float) -> Ends:
    low, high = np.empty(error.size), np.empty(error.size)
    for one in np.unique(group):
        here = group == one
        known = Residuals.of(error[~here], np.ones(int((~here).sum())))
        low[here], high[here] = (prediction[here, np.newaxis] + known.ends(level)).T
    return Ends(low, high, float(error.size))


def _groups(judged: Judged, seed: int) -> NDArray[np.int64]:
    """Folds, or five groups drawn at random where all rows were predicted together."""
    if np.unique(judged.fold).size > 1:
        return judged.fold
    return np.random.default_rng(seed).permutation(judged.rows.size) % 5


# --- what is shown ----------------------------------------------------------------------------------------------------


def _section(
    result: Evidence, coverages: list[Coverage], ends: Ends, notes: tuple[str, ...],
    held_out: list[Coverage] | None = None, tables: tuple[Table, ...] = (),
) -> Section:  # fmt: skip
    shown = next(each for each in coverages if each.level == SHOWN_LEVEL)
    tiles = [
        Tile(
            format_percent(shown.inside, stderr=shown.error),
            f"of rows inside their {format_level(shown.level)} interval",
        ),
        Tile(f"{format_percent(shown.below)} / {format_percent(shown.above)}", "of rows below / above their interval"),
        Tile(format_number(shown.width), "wide, on average"),
    ]
    lead = f"{shown.words} {result.judged.words}"
    if held_out:
        apart = next(each for each in held_out if each.level == SHOWN_LEVEL)
        size = format_percent(apart.inside, stderr=apart.error)
        tiles.insert(1, Tile(size, f"of held-out rows inside their {format_level(apart.level)} interval"))
        lead += f" On the held-out rows, with ends from the out-of-fold residuals: {apart.words}"
    figures = (_coverage_figure(coverages), _rows_figure(result, ends))
    return Section("intervals", TITLE, lead, tuple(tiles), figures, tables=tables, notes=notes)


def _short_words(levels: list[float], what: str, n: float) -> tuple[str, ...]:
    """What is to be said of levels that so few residuals cannot promise."""
    needed = join_names(f"{n_errors_needed(level)} for {format_level(level)}" for level in levels)
    return (
        f"{what}, and it takes {needed}: there the ends are the extreme residuals, which promise "
        f"{format_percent((n - 1) / (n + 1))} only.",
    )


def _coverage_table(caption: str, coverages: list[Coverage]) -> Table:
    rows = [
        (
            format_level(c.level),
            format_percent(c.inside),
            format_percent(c.error),
            format_percent(c.below),
            format_percent(c.above),
            format_number(c.width),
        )
        for c in coverages
    ]
    return table(caption, "#promised|#inside|#standard error|#below|#above|#mean width", rows)


def _coverage_figure(coverages: list[Coverage]) -> Figure:
    said, seen, error = (np.array([getattr(c, name) for c in coverages]) for name in ("level", "inside", "error"))
    n = np.zeros(said.size, np.int64)
    spec = charts.calibration(said, seen, seen - error, seen + error, n, "promised coverage", "rows inside")
    told = "; ".join(f"{format_level(c.level)} promised, {format_percent(c.inside)} inside" for c in coverages)
    legend = (Key("measured, one standard error", "blue"), Key("promise kept exactly", "grey", True))
    numbers = _coverage_table("Coverage by level", coverages)
    return Figure("chart-coverage", spec, "Promised and measured coverage", told + ".", numbers, legend, "narrow")


def _rows_figure(result: Evidence, ends: Ends) -> Figure:
    judged, low, high = result.judged, ends.low, ends.high
    some = np.random.default_rng(result.seed).permutation(judged.rows.size)[:MAX_SHOWN]
    some = some[np.argsort(judged.answer[some], kind="stable")]
    spec = charts.intervals(judged.answer[some], low[some], high[some], judged.truth[some], "target")
    missed = int(((judged.truth[some] < low[some]) | (judged.truth[some] > high[some])).sum())
    columns = (judged.answer, low, high, judged.truth)
    numbers = table(
        "The rows drawn", "#row|#prediction|#from|#to|#truth",
        [(str(result.in_file(judged.rows[i])), *(format_number(float(v[i])) for v in columns)) for i in some],
    )  # fmt: skip
    alt = f"{pluralize(some.size, 'row')} in the order of the prediction, with intervals; {missed} truths lie outside."
    legend = (Key("interval, and a truth inside", "blue", mark="dot"), Key("a truth outside", "red", mark="dot"))
    title = f"{format_level(SHOWN_LEVEL)} intervals of {pluralize(some.size, 'row')}"
    return Figure("chart-intervals", spec, title, alt, numbers, legend, "narrow")
