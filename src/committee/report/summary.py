"""Summary: the selected method or the model, its loss beside a baseline, and the reservations."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.base.array_types import Floats
from committee.base.stats import standard_error_of_folds
from committee.base.text import NO_VALUE, join_names, pluralize, shorten
from committee.evaluation import metrics
from committee.evaluation.comparison import Comparison, MethodResult
from committee.evaluation.metrics import RATES, Predictions, format_loss
from committee.report._section import Section, Tile
from committee.report.context import Context, Evaluation
from committee.report.residuals import bias_sentence

TITLE = "Summary"
FEW_ROWS = 200

Standing = Literal["better", "not clear", "no better"]
"""Of a loss beside that of the baseline."""


class Loss(NamedTuple):
    """A loss beside that of the best constant prediction, on the same rows with the same weights."""

    value: float
    stderr: float
    baseline: float

    @property
    def is_clear(self) -> bool:
        return self.value + 2.0 * np.nan_to_num(self.stderr) < self.baseline


def summary(context: Context) -> Section:
    """The main result with its tiles and notes."""
    return _of_model(context) if context.comparison is None else _of_comparison(context, context.comparison)


def _section(sentences: list[str], tiles: list[Tile], notes: list[str]) -> Section:
    shown = tuple(tile for tile in tiles if NO_VALUE not in tile.value)
    return Section("summary", TITLE, " ".join(filter(None, sentences)), shown, notes=tuple(filter(None, notes)))


# --- with a comparison ------------------------------------------------------------------------------------------------


def _of_comparison(context: Context, found: Comparison) -> Section:
    metric, name = found.metric, found.metric if context.weight is None else f"weighted {found.metric}"
    held_out, nested = _losses(found, context.y, context.weight)
    main = nested if np.isnan(held_out.value) else held_out
    rows = pluralize(found.held_out_rows.size, "row")
    tiles = [
        Tile(format_loss(metric, held_out.value, stderr=held_out.stderr), f"held-out {name}, {rows}"),
        Tile(format_loss(metric, nested.value, stderr=nested.stderr), _nested_label(found, name)),
        Tile(format_loss(metric, main.baseline), f"{name} of the baseline, {_baseline(metric)}"),
    ]
    if metric != "error":
        tiles.append(Tile(format_loss("error", found.held_out_losses.get("error", np.nan)), "held-out error rate"))
    is_held_out = main is held_out
    size = f"{'Held-out' if is_held_out else 'Nested'} {name}: {format_loss(metric, main.value, stderr=main.stderr)}"
    size += f" on {rows}" if is_held_out else ""
    size += "" if np.isnan(main.baseline) else f" (baseline {format_loss(metric, main.baseline)})"
    sentences = [_headline(found, _standing(held_out, nested)), f"{size}.", _leaks(context)]
    return _section(
        [*sentences, bias_sentence(context.evaluation)], tiles, [*_lead(found), *_reservations(context, found)]
    )


def _nested_label(found: Comparison, name: str) -> str:
    if len(found.ranking()) == 1:
        return f"cross-validated {name}, {pluralize(found.n_folds, 'fold')}"
    return f"nested {name}: method selected on the {'earlier periods' if found.is_forward else 'other folds'}"


def _headline(found: Comparison, standing: Standing) -> str:
    """The selected method, and whether it is better than the baseline."""
    n, name, baseline = len(found.ranking()), found.winner, _baseline(found.metric)
    if name == "constant" or standing == "no better":
        none = f"None of the {n} methods" if n > 1 else f"{name[0].upper()}{name[1:]}, the only method,"
        best = f"; the best is {name}" if n > 1 and name != "constant" else ""
        return f"{none} is {'not ' if n == 1 else ''}better than {baseline}{best}."
    doubt = "" if standing == "better" else f", not significantly better than {baseline}"
    return f"Selected of {n} methods: {name}{doubt}." if n > 1 else f"Only method: {name}{doubt}."


def _standing(held_out: Loss, nested: Loss) -> Standing:
    """By the held-out rows, and by the folds if those are inconclusive."""
    main = nested if np.isnan(held_out.value) else held_out
    is_worse = bool(main.value >= main.baseline)
    if is_worse and not nested.is_clear:
        return "no better"
    return "better" if np.isnan(main.baseline) or main.is_clear or (nested.is_clear and not is_worse) else "not clear"


def beside_baseline(found: Comparison, y: ArrayLike, weight: ArrayLike | None) -> tuple[float, Standing]:
    """The loss of the baseline on the held-out rows (nan without them), and whether the selected method is better."""
    held_out, nested = _losses(found, y, weight)
    return held_out.baseline, _standing(held_out, nested)


def _leaks(context: Context) -> str:
    leaks = [] if context.notes is None else [f"“{shorten(name)}”" for name in context.notes.leaks]
    if not leaks:
        return ""
    return (
        f"Possible leakage: {join_names(leaks)} alone nearly {'determines' if len(leaks) == 1 else 'determine'} the "
        "target. If only available after the target, the loss is too optimistic."
    )


# --- the baseline -----------------------------------------------------------------------------------------------------


def _losses(found: Comparison, y: ArrayLike, weight: ArrayLike | None) -> tuple[Loss, Loss]:
    """Held-out and nested loss; the baseline of each is fitted on the same rows as the methods."""
    y = np.asarray(y)
    target = y.astype(np.float64) if found.task == "regression" else np.searchsorted(np.array(found.classes), y)
    w = np.ones(y.size) if weight is None else np.asarray(weight, np.float64)
    held_out = _baseline_loss(found, target, w, found.rows, found.held_out_rows)
    nested = list[float]()
    for k in range(found.n_folds):
        is_known = found.fold < k if found.is_forward else found.fold != k
        nested.append(_baseline_loss(found, target, w, found.rows[is_known], found.rows[found.fold == k]))
    first = int(found.is_forward and len(found.ranking()) > 1)  # nothing is selected for the first period
    return (
        Loss(found.held_out_losses.get(found.metric, np.nan), found.held_out_loss_se, held_out),
        Loss(found.nested_loss, found.nested_loss_se, float(np.mean(nested[first:]))),
    )


def _baseline_loss(found: Comparison, target: NDArray[Any], weight: Floats, train: Any, test: Any) -> float:
    """Loss on `test` of the best constant prediction on `train`: class frequencies, mean or median."""
    if weight[train].sum() <= 0.0 or weight[test].sum() <= 0.0:
        return np.nan
    if found.task == "regression":
        values = np.full(len(test), _location(target[train], weight[train], found.metric))
        constant = Predictions(None, values, True)
    else:
        frequency = np.bincount(target[train], weight[train], len(found.classes)) / weight[train].sum()
        constant = Predictions(np.full(len(test), frequency.argmax()), np.tile(frequency, (len(test), 1)), True)
    return metrics.loss_of(found.metric, target[test], constant, weight[test])


def _location(y: Floats, weight: Floats, metric: str) -> float:
    """The median for absolute errors, else the mean."""
    if metric != "mae":
        return float(np.average(y, weights=weight))
    order = np.argsort(y)
    cumulative = np.cumsum(weight[order])
    return float(y[order][np.searchsorted(cumulative, 0.5 * cumulative[-1])])


def _baseline(metric: str) -> str:
    if metric in RATES:
        return "predicting the most frequent class"
    if metric in ("log loss", "brier score", "1 - auc"):
        return "predicting the class frequencies"
    return f"predicting the {'median' if metric == 'mae' else 'mean'}"


# --- reservations -----------------------------------------------------------------------------------------------------


def paired_difference(one: MethodResult, other: MethodResult) -> tuple[float, float]:
    """Mean over folds of the loss of `one` minus that of `other`, and its standard error."""
    difference = one.losses - other.losses
    difference = difference[np.isfinite(difference)]
    if difference.size < 2:
        return (float(difference.mean()) if difference.size else np.nan), np.nan
    return float(difference.mean()), float(standard_error_of_folds(difference[np.newaxis]))


def _lead(found: Comparison) -> list[str]:
    """The difference between the selected method and the next one."""
    others = [r for r in found.ranking() if r.name != found.winner]
    if not others or found.winner == "constant":
        return []
    lead, stderr = paired_difference(others[0], found.result(found.winner))
    if lead == 0.0 and not stderr > 0.0:
        return [f"{others[0].name} has the same loss on every fold."]
    size = "more than two standard errors" if lead > 2.0 * stderr else "within two standard errors: both are candidates"
    return [
        f"Difference from {others[0].name} over the folds: {format_loss(found.metric, lead, stderr=stderr)}, {size}."
    ]


def _reservations(context: Context, found: Comparison) -> list[str]:
    selected, n_held_out = found.result(found.winner), found.held_out_rows.size
    lost = [r.name for r in found.results if r.status in ("failed", "out of time")]
    notes = list[str]()
    if lost:
        is_short = any(r.status == "out of time" for r in found.results)
        notes.append(f"Not evaluated: {join_names(lost)}.{' Increase the time budget (--budget).' if is_short else ''}")
    if selected.beats_constant is False and selected.name != "constant":
        notes.append("By a paired test over the rows it is not better than the constant.")
    if selected.status == "partial":
        notes.append(f"Evaluated on {selected.n_evaluated} of {found.n_folds} folds, for lack of time.")
    if selected.setting:
        notes.append(f"Evaluated and fitted with {selected.setting}, for lack of time.")
    if selected.calibration is not None:
        notes.append(
            "Its probabilities are calibrated on the out-of-fold predictions; predicted classes are unchanged."
        )
    notes.append(found.model_note)
    if not n_held_out:
        return [*notes, "No rows are held out: only the nested loss is unbiased."]
    if n_held_out < FEW_ROWS:
        notes.append(f"{pluralize(n_held_out, 'held-out row')} only: the standard error is large.")
    if found.learning_curve_note:
        notes.append(found.learning_curve_note)
    elif not found.model_note:
        notes.append(f"The final model is fitted on all {pluralize(context.n_rows, 'row')}.")
    return notes


# --- without a comparison ---------------------------------------------------------------------------------------------


def _of_model(context: Context) -> Section:
    found = context.evaluation
    metric, loss = evaluate(found)
    baseline = _baseline(metric)
    kinds = {"out of bag": "out-of-bag ", "training rows": "training "}
    name, n = kinds.get(found.source, "") + metric, found.rows.size
    rows = pluralize(n, "new row" if found.source == "new rows" else "row")
    rows += {"other rows": ", some may be training rows", "training rows": ", optimistic"}.get(found.source, "")
    value = format_loss(metric, loss.value, stderr=loss.stderr if found.is_out_of_sample else np.nan)
    sentence = f"{context.method}: {name} {value} ({rows})."
    if not found.is_out_of_sample:
        sentence = (
            f"These are the training rows of the {context.method}: they give no estimate of its generalization error. "
            "Pass new rows, or a comparison."
        )
    elif loss.value >= loss.baseline:
        sentence += f" It is not better than {baseline} ({format_loss(metric, loss.baseline)})."
    tiles = [
        Tile(value, f"{name}, {rows}"),
        Tile(format_loss(metric, loss.baseline), f"{metric} of the baseline, {baseline}"),
    ]
    notes = [] if context.notes is None else [context.notes.of_rows]
    return _section([sentence, *prediction_warnings(context)], tiles, notes)


def prediction_warnings(context: Context) -> list[str]:
    """Warnings about biased predictions, and about intervals of the model that cover too few targets."""
    found = context.intervals
    low = [found.shown.sentence] if found is not None and found.is_own and found.shown.is_low else []
    return [sentence for sentence in (bias_sentence(context.evaluation), *low) if sentence]


def evaluate(found: Evaluation) -> tuple[str, Loss]:
    """The error rate or root mean squared error, with the best constant prediction for the same rows."""
    n, y = found.rows.size, found.y_true
    if y.dtype.kind in "iu":
        error = float(np.mean(y != found.y_pred))
        rate = error if 0.0 < error < 1.0 else 1.0 / (n + 2.0)  # Laplace
        baseline = 1.0 - float(np.bincount(y).max() / n) if n else np.nan
        return "error", Loss(error, float(np.sqrt(rate * (1.0 - rate) / max(n, 1))), baseline)
    square = (y - found.y_pred) ** 2
    rmse = float(np.sqrt(square.mean()))
    stderr = float(square.std() / np.sqrt(max(n, 1)) / (2.0 * rmse)) if rmse > 0.0 else 0.0
    return "rmse", Loss(rmse, stderr, float(np.std(y)) if n else np.nan)
