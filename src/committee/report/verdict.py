"""The verdict: what was chosen, how often it errs, and how sure that is."""

from __future__ import annotations

import numpy as np

from committee.report.evidence import Evidence, Judged
from committee.report.section import Section, Tile
from committee.report.words import count, number, percent, plus_minus
from committee.studies.comparison import Comparison, MethodResult
from committee.studies.folds import stderr

ERROR_LIKE = ("error", "balanced error")
"""Metrics that are shares of rows; all others are shown as numbers."""


def shown(metric: str, value: float) -> str:
    """A loss as people write it."""
    return percent(value) if metric in ERROR_LIKE else number(value)


def verdict(found: Evidence) -> Section:
    """One plain sentence, the figures behind it, and the doubts about it."""
    return _of_model(found) if found.comparison is None else _of_comparison(found, found.comparison)


# --- with a comparison -----------------------------------------------------------------------------------------------


def _of_comparison(found: Evidence, comparison: Comparison) -> Section:
    metric = comparison.metric
    rivals = [r for r in comparison.results if r.status == "done"]
    of_held_out = comparison.held_out_scores.get(metric, np.nan)
    sentence = f"Of {count(len(rivals), 'method')} compared, the one to use is {comparison.winner}: "
    if comparison.winner == "constant":
        sentence = f"None of the {count(len(rivals), 'method')} compared does better than answering without looking: "
    if comparison.held_out.size and not np.isnan(of_held_out):
        sentence += _sentence(metric, of_held_out, comparison.held_out_error_se, comparison.held_out.size)
    else:
        sentence += f"its nested {metric} is {_with_error(metric, comparison.nested_error, comparison.nested_se)}."
    tiles = [
        Tile(
            _with_error(metric, of_held_out, comparison.held_out_error_se),
            f"{metric} on {count(comparison.held_out.size, 'row')} held out, which took no part in the choice",
        ),
        Tile(
            _with_error(metric, comparison.nested_error, comparison.nested_se),
            f"nested {metric}: each fold judged by the method that is best on the others",
        ),
        _baseline(found, metric),
    ]
    notes = [*_lead(comparison, rivals), *_doubts(found, comparison)]
    return Section("verdict", "Verdict", sentence, tuple(t for t in tiles if "—" not in t.value), notes=tuple(notes))


def _sentence(metric: str, value: float, error: float, n: int) -> str:
    where, size = f"on {count(n, 'row')} that took no part in the choice", _with_error(metric, value, error)
    return f"{where} it is wrong in {size} of cases." if metric == "error" else f"{where} its {metric} is {size}."


def _with_error(metric: str, value: float, error: float) -> str:
    return plus_minus(shown(metric, value), shown(metric, error))


def paired_difference(one: MethodResult, other: MethodResult) -> tuple[float, float]:
    """Mean over folds of the loss of `one` less that of `other`, and its standard error."""
    difference = one.errors - other.errors
    difference = difference[np.isfinite(difference)]
    if difference.size < 2:
        return (float(difference.mean()) if difference.size else np.nan), np.nan
    return float(difference.mean()), float(stderr(difference[np.newaxis]))


def _lead(comparison: Comparison, rivals: list[MethodResult]) -> list[str]:
    """Is the winner better than the next one by more than chance would give?"""
    order = sorted(rivals, key=lambda result: float(np.nanmean(result.errors)))
    winner = next((r for r in rivals if r.name == comparison.winner), None)
    others = [r for r in order if r.name != comparison.winner]
    if winner is None or not others:
        return []
    lead, error = paired_difference(others[0], winner)
    size = _with_error(comparison.metric, lead, error)
    is_sure = bool(lead > 2.0 * error)
    word = (
        "more than twice its standard error, so the order is not chance alone."
        if is_sure
        else "within what chance gives: take whichever of the two suits better."
    )
    return [f"Its lead over {others[0].name}, fold by fold, is {size}: {word}"]


def _doubts(found: Evidence, comparison: Comparison) -> list[str]:
    notes = _beside_no_model(found, comparison)
    failed = [r.name for r in comparison.results if r.status != "done"]
    if failed:
        is_short = any(r.status == "out of time" for r in comparison.results)
        advice = " More time (--budget) would judge them." if is_short else ""
        notes.append(f"Not judged to the end: {', '.join(failed)}. The winner is the best of the others.{advice}")
    if 0 < comparison.held_out.size < 200:
        notes.append(
            f"{count(comparison.held_out.size, 'row')} held out are few: read the error with its standard error, "
            "and look at the nested figure beside it."
        )
    if comparison.held_out.size:
        notes.append(f"The model beside this page was fitted once more, on all {count(found.n_rows, 'row')}.")
    else:
        notes.append("No rows were held out: the nested figure is the only one that did not choose the winner.")
    return notes


def _beside_no_model(found: Evidence, comparison: Comparison) -> list[str]:
    """A warning where the winner is hardly better than answering without looking."""
    blind = _blind_loss(found, comparison.metric)
    value, error = comparison.held_out_scores.get(comparison.metric, np.nan), comparison.held_out_error_se
    if not value + 2.0 * error >= blind or comparison.winner == "constant":
        return []
    return ["That is not clearly better than answering without looking at the columns: do not rely on it yet."]


def _blind_loss(found: Evidence, metric: str) -> float:
    """The loss of always answering the commonest class, or the mean; nan for other metrics."""
    if found.is_classifier and metric == "error":
        codes = found.codes[found.codes >= 0]
        return 1.0 - float(np.bincount(codes).max() / max(codes.size, 1))
    if not found.is_classifier and metric == "rmse":
        return float(np.std(found.y.astype(np.float64)))
    return np.nan


def _baseline(found: Evidence, metric: str) -> Tile:
    """What answering without looking would give."""
    what = "error of always answering the commonest class" if metric == "error" else "rmse of always answering the mean"
    return Tile(shown(metric, _blind_loss(found, metric)), what)


# --- of a single model -----------------------------------------------------------------------------------------------


def _of_model(found: Evidence) -> Section:
    judged = found.judged
    metric, value, error = loss_of(judged)
    size = _with_error(metric, value, error)
    n = count(judged.rows.size, "row")
    where = {"new rows": f"on {n} it had not seen", "out of bag": f"out of bag on {n}"}.get(
        judged.source, f"on the {n} it was fitted on"
    )
    name = found.method
    sentence = (
        f"This {name} is wrong in {size} of cases {where}."
        if metric == "error"
        else f"This {name} has a root mean squared error of {size} {where}."
    )
    if not judged.is_honest:
        sentence = (
            f"How often this {name} errs cannot be said from these rows: it was fitted on all of them. Pass rows that "
            "it has not seen, or ask for a comparison."
        )
    own = size if judged.is_honest else shown(metric, value)  # the spread of what is no estimate means nothing
    flattering = "" if judged.is_honest else ", which flatters it"
    tiles = [Tile(own, f"{metric} {where}{flattering}"), _baseline(found, metric)]
    return Section("verdict", "Verdict", sentence, tuple(t for t in tiles if "—" not in t.value))


def loss_of(judged: Judged) -> tuple[str, float, float]:
    """Name of the loss, its mean and the standard error: share of wrong answers, or root mean squared error."""
    n = judged.rows.size
    if judged.truth.dtype.kind in "iu":
        share = float(np.mean(judged.truth != judged.answer))
        return "error", share, float(np.sqrt(share * (1.0 - share) / max(n, 1)))
    square = (judged.truth - judged.answer) ** 2
    rmse = float(np.sqrt(square.mean()))
    return "rmse", rmse, float(square.std() / np.sqrt(max(n, 1)) / (2.0 * rmse)) if rmse > 0.0 else 0.0
