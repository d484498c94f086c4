"""The verdict: what was chosen, how often it errs, and how sure that is."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from committee.base.stats import standard_error_of_folds
from committee.base.text import join_names, pluralize, shorten
from committee.evaluation.comparison import Comparison, MethodResult
from committee.evaluation.metrics import RATES, Predictions, format_loss
from committee.evaluation.metrics import loss_of as row_loss
from committee.report._context import Evidence, Judged
from committee.report._section import Section, Tile
from committee.report.intervals import shown_coverage
from committee.report.residuals import bias_words

Standing = Literal["better", "not clear", "no better"]
"""Of the winner, beside answering without looking."""


def verdict(found: Evidence) -> Section:
    """One plain sentence, the figures behind it, and the doubts about it."""
    return _of_model(found) if found.comparison is None else _of_comparison(found, found.comparison)


# --- with a comparison -----------------------------------------------------------------------------------------------


class Figures(NamedTuple):
    """A loss beside that of answering without looking, on the same rows with the same weights."""

    value: float
    error: float  # standard
    blind: float

    @property
    def is_clear(self) -> bool:
        return self.value + 2.0 * (0.0 if np.isnan(self.error) else self.error) < self.blind


def _of_comparison(found: Evidence, comparison: Comparison) -> Section:
    name = _metric_name(found, comparison.metric)
    held_out, nested = _held_out(found, comparison), _nested(found, comparison)
    first = nested if np.isnan(held_out.value) else held_out
    tiles = [
        Tile(
            format_loss(comparison.metric, held_out.value, stderr=held_out.error),
            f"{name} on {pluralize(comparison.held_out_rows.size, 'row')} held out, which took no part in the choice",
        ),
        Tile(format_loss(comparison.metric, nested.value, stderr=nested.error), _nested_words(comparison, name)),
        _baseline(comparison.metric, name, first.blind),
        *_misclassified(comparison),
    ]
    notes = [*_lead(comparison), *_doubts(found, comparison)]
    words = [_headline(found, comparison, held_out, nested), *_leak_words(found), bias_words(found.judged)]
    sentence = " ".join(filter(None, words))
    return Section("verdict", "Verdict", sentence, tuple(t for t in tiles if "—" not in t.value), notes=tuple(notes))


def _misclassified(comparison: Comparison) -> list[Tile]:
    """The error beside the log-loss, which few people read."""
    error = comparison.held_out_losses.get("error", np.nan)
    if comparison.metric == "error" or np.isnan(error):
        return []
    n_rows = pluralize(comparison.held_out_rows.size, "row")
    return [Tile(format_loss("error", error), f"of the {n_rows} held out are misclassified")]


def _nested_words(comparison: Comparison, name: str) -> str:
    if len(comparison.ranking()) == 1:
        return f"{name} over the {comparison.n_folds} folds, where nothing was chosen"
    if comparison.is_forward:
        return (
            f"nested {name}: each stretch of time from the second on judged by the method that is best on earlier ones"
        )
    return f"nested {name}: each fold judged by the method that is best on the others"


def _headline(found: Evidence, comparison: Comparison, held_out: Figures, nested: Figures) -> str:
    """What to use and how much it errs; no recommendation of what is no better than no model."""
    n, name, blind = len(comparison.ranking()), comparison.winner, _blind_words(comparison.metric)
    first = nested if np.isnan(held_out.value) else held_out
    size = _sentence(found, comparison, first)
    of = f"the {n} methods compared"
    stands = _standing(held_out, nested)
    if name == "constant":
        return f"None of {of} beats {blind}: {size}." if n > 1 else f"The one method compared is {blind}: {size}."
    if stands == "no better":
        who = f"None of {of} beats {blind}" if n > 1 else f"{name} does not beat {blind}"
        best = f"the best of them, {name}, has" if n > 1 else "it has"
        return f"{who}: {best} {_beside(found, comparison, first)}."
    chosen = f"Of {of}, the one to use is {name}" if n > 1 else f"The one method compared is {name}"
    if stands == "better":
        return f"{chosen}: {size}."
    least = f"Of {of}, {name} errs least" if n > 1 else chosen
    return f"{least}, but it is not clearly better than {blind}: {_beside(found, comparison, first)}."


def _standing(held_out: Figures, nested: Figures) -> Standing:
    """By the rows held out, and by the folds where those leave a doubt."""
    first = nested if np.isnan(held_out.value) else held_out
    is_worse = bool(first.value >= first.blind)
    if is_worse and not nested.is_clear:
        return "no better"
    if np.isnan(first.blind) or first.is_clear or (nested.is_clear and not is_worse):
        return "better"
    return "not clear"


def beside_no_model(found: Evidence, comparison: Comparison) -> tuple[float, Standing]:
    """The loss of one answer to all rows held out (nan without them), and how the winner stands beside that."""
    held_out = _held_out(found, comparison)
    return held_out.blind, _standing(held_out, _nested(found, comparison))


def _sentence(found: Evidence, comparison: Comparison, first: Figures) -> str:
    metric, name = comparison.metric, _metric_name(found, comparison.metric)
    size = format_loss(metric, first.value, stderr=first.error)
    if np.isnan(comparison.held_out_losses.get(metric, np.nan)):
        return f"its nested {name} is {size}"
    where = f"on {pluralize(comparison.held_out_rows.size, 'row')} that took no part in the choice"
    return f"{where} it is wrong in {size} of cases" if name == "error" else f"{where} its {name} is {size}"


def _beside(found: Evidence, comparison: Comparison, first: Figures) -> str:
    metric = comparison.metric
    where = f"on {pluralize(comparison.held_out_rows.size, 'row')} that took no part in the choice"
    if np.isnan(comparison.held_out_losses.get(metric, np.nan)):
        where = "over the folds (nested)"
    size = format_loss(metric, first.value, stderr=first.error)
    return f"{_article(_metric_name(found, metric))} of {size} {where}, against {format_loss(metric, first.blind)}"


def _article(name: str) -> str:
    return f"an {name}" if name[0] in "aeiou" or name.startswith("rmse") else f"a {name}"


def _metric_name(found: Evidence, metric: str) -> str:
    return metric if found.weight is None else f"weighted {metric}"


def _leak_words(found: Evidence) -> list[str]:
    leaks = [] if found.notes is None else [f"“{shorten(name)}”" for name in found.notes.leaks]
    if not leaks:
        return []
    each = "it is" if len(leaks) == 1 else "they are"
    return [
        f"But {join_names(leaks)} alone nearly {'gives' if len(leaks) == 1 else 'give'} the target away: if {each} "
        "known only after the target, this figure is too good to be true."
    ]


# --- beside no model --------------------------------------------------------------------------------------------------


def _held_out(found: Evidence, comparison: Comparison) -> Figures:
    value = comparison.held_out_losses.get(comparison.metric, np.nan)
    blind = np.nan
    if comparison.held_out_rows.size:
        blind = _blind_loss(found, comparison.metric, comparison.rows, comparison.held_out_rows)
    return Figures(value, comparison.held_out_loss_se, blind)


def _nested(found: Evidence, comparison: Comparison) -> Figures:
    """The blind loss is that of each fold by the answer that suits the rows before it was judged, as of any method."""
    losses = list[float]()
    for k in range(comparison.n_folds):
        is_known = comparison.fold < k if comparison.is_forward else comparison.fold != k
        train, test = comparison.rows[is_known], comparison.rows[comparison.fold == k]
        losses.append(_blind_loss(found, comparison.metric, train, test) if train.size and test.size else np.nan)
    is_short = comparison.is_forward and len(comparison.ranking()) > 1  # then nothing chooses for the first stretch
    blind = float(np.mean(losses[1:] if is_short else losses))
    return Figures(comparison.nested_loss, comparison.nested_loss_se, blind)


def _blind_loss(found: Evidence, metric: str, train: Any, test: Any) -> float:
    """The loss on `test` of the one answer that suits `train` best: a class and shares, the mean or the median."""
    weight = np.ones(found.n_rows) if found.weight is None else found.weight
    if weight[train].sum() <= 0.0 or weight[test].sum() <= 0.0:
        return np.nan
    if not found.is_classifier:
        truth = found.y.astype(np.float64)
        said = _middle(truth[train], weight[train], metric)
        return row_loss(metric, truth[test], Predictions(None, np.full(len(test), said), sure=True), weight[test])
    shares = np.bincount(found.codes[train], weight[train], len(found.classes)) / weight[train].sum()
    said = Predictions(np.full(len(test), shares.argmax()), np.tile(shares, (len(test), 1)), sure=True)
    return row_loss(metric, found.codes[test], said, weight[test])


def _middle(truth: Any, weight: Any, metric: str) -> float:
    """The one number of the smallest loss: the median of absolute errors, the mean of squared ones."""
    if metric != "mae":
        return float(np.average(truth, weights=weight))
    order = np.argsort(truth)
    below = np.cumsum(weight[order])
    return float(truth[order][np.searchsorted(below, 0.5 * below[-1])])


def _blind_words(metric: str) -> str:
    if metric == "mae":
        return "always answering the median"
    if metric in RATES:
        return "always answering the commonest class"
    if metric in ("log loss", "brier score", "1 - auc"):
        return "always answering the shares of the classes"
    return "always answering the mean"


def _baseline(metric: str, name: str, blind: float) -> Tile:
    """What answering without looking would give."""
    return Tile(format_loss(metric, blind), f"{name} of {_blind_words(metric)}, on the same rows")


def paired_difference(one: MethodResult, other: MethodResult) -> tuple[float, float]:
    """Mean over folds of the loss of `one` less that of `other`, and its standard error."""
    difference = one.losses - other.losses
    difference = difference[np.isfinite(difference)]
    if difference.size < 2:
        return (float(difference.mean()) if difference.size else np.nan), np.nan
    return float(difference.mean()), float(standard_error_of_folds(difference[np.newaxis]))


def _lead(comparison: Comparison) -> list[str]:
    """Is the winner better than the next one by more than chance would give?"""
    rivals = comparison.ranking()
    winner = next((r for r in rivals if r.name == comparison.winner), None)
    others = [r for r in rivals if r.name != comparison.winner]
    if winner is None or not others or winner.name == "constant":  # then the headline says all
        return []
    lead, error = paired_difference(others[0], winner)
    if lead == 0.0 and not error > 0.0:
        return [f"{others[0].name} errs exactly as much, fold by fold: take whichever of the two suits better."]
    size = format_loss(comparison.metric, lead, stderr=error)
    is_sure = bool(lead > 2.0 * error)
    word = (
        "more than twice its standard error, so the order is not chance alone."
        if is_sure
        else "within what chance gives: take whichever of the two suits better."
    )
    return [f"Its lead over {others[0].name}, fold by fold, is {size}, {word}"]


def _doubts(found: Evidence, comparison: Comparison) -> list[str]:
    notes = list[str]()
    failed = [r.name for r in comparison.results if r.status in ("failed", "out of time")]
    if failed:
        is_short = any(r.status == "out of time" for r in comparison.results)
        advice = " More time (--time-budget) would evaluate them." if is_short else ""
        notes.append(f"Not evaluated: {', '.join(failed)}. The winner is the best of the others.{advice}")
    notes += _of_winner(comparison)
    if 0 < comparison.held_out_rows.size < 200:
        notes.append(
            f"{pluralize(comparison.held_out_rows.size, 'row')} held out are few: read the error with its standard "
            "error, and look at the figure over the folds beside it."
        )
    if comparison.held_out_rows.size:
        if comparison.learning_curve_note:
            notes.append(comparison.learning_curve_note)
        elif not comparison.model_note:
            notes.append(f"The model beside this page was fitted once more, on all {pluralize(found.n_rows, 'row')}.")
    else:
        notes.append("No rows were held out: the figure over the folds is the only one that did not choose the winner.")
    return notes


def _of_winner(comparison: Comparison) -> list[str]:
    """How the winner was evaluated and fitted, where that was not in full."""
    winner = comparison.result(comparison.winner)
    notes = list[str]()
    if winner.beats_constant is False and winner.name != "constant":
        notes.append("By a paired test over the rows, the winner is not better than the constant.")
    if winner.status == "partial":
        notes.append(f"For lack of time it was evaluated on {winner.n_evaluated} of {comparison.n_folds} folds.")
    if winner.setting:
        notes.append(f"For lack of time it was evaluated and fitted with {winner.setting}.")
    if winner.calibration is not None:
        notes.append(
            "Its probabilities are calibrated: two parameters, fitted to its out-of-fold probabilities, lower their "
            "log-loss. Predicted classes stay the same."
        )
    return [*notes, *([comparison.model_note] if comparison.model_note else [])]


# --- of a single model -----------------------------------------------------------------------------------------------


def _of_model(found: Evidence) -> Section:
    judged = found.judged
    metric, value, error = loss_of(judged)
    size = format_loss(metric, value, stderr=error)
    n = pluralize(judged.rows.size, "row")
    where = {
        "new rows": f"on {n} it had not seen",
        "other rows": f"on {n} that it may have seen or not",
        "out of bag": f"out of bag on {n}",
    }.get(judged.source, f"on the {n} it was fitted on")
    blind = _blind_of(judged, metric)
    sentence = _of_model_in_words(found.method, metric, Figures(value, error, blind), where)
    if not judged.is_honest:
        sentence = (
            f"How often this {found.method} errs cannot be said from these rows: it was fitted on all of them. Pass "
            "rows that it has not seen, or ask for a comparison."
        )
    broken = shown_coverage(found)
    promise = broken.words if broken is not None and broken.is_broken else ""
    sentence = " ".join(filter(None, [sentence, bias_words(judged), promise]))
    own = size if judged.is_honest else format_loss(metric, value)  # the spread of what is no estimate means nothing
    flattering = "" if judged.is_honest else ", which flatters it"
    tiles = [Tile(own, f"{metric} {where}{flattering}"), _baseline(metric, metric, blind)]
    notes = (found.notes.of_rows,) if found.notes is not None and found.notes.of_rows else ()
    return Section("verdict", "Verdict", sentence, tuple(t for t in tiles if "—" not in t.value), notes=notes)


def _of_model_in_words(method: str, metric: str, figures: Figures, where: str) -> str:
    size, blind = format_loss(metric, figures.value, stderr=figures.error), format_loss(metric, figures.blind)
    own = f"is wrong in {size} of cases" if metric == "error" else f"has a root mean squared error of {size}"
    if figures.value >= figures.blind:
        return f"This {method} is no better than {_blind_words(metric)}: it {own} {where}, against {blind}."
    return f"This {method} {own} {where}."


def _blind_of(judged: Judged, metric: str) -> float:
    """The error of one answer to the rows judged, the one that suits them best."""
    if not judged.rows.size:
        return np.nan
    if metric == "error":
        return 1.0 - float(np.bincount(judged.truth).max() / judged.rows.size)
    return float(np.std(judged.truth))


def loss_of(judged: Judged) -> tuple[str, float, float]:
    """Name of the loss, its mean and the standard error: share of wrong answers, or root mean squared error."""
    n = judged.rows.size
    if judged.truth.dtype.kind in "iu":
        share = float(np.mean(judged.truth != judged.answer))
        spread = share if 0.0 < share < 1.0 else 1.0 / (n + 2.0)  # none wrong, or all: few rows prove it not (Laplace)
        return "error", share, float(np.sqrt(spread * (1.0 - spread) / max(n, 1)))
    square = (judged.truth - judged.answer) ** 2
    rmse = float(np.sqrt(square.mean()))
    return "rmse", rmse, float(square.std() / np.sqrt(max(n, 1)) / (2.0 * rmse)) if rmse > 0.0 else 0.0
