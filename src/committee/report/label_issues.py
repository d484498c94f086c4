"""Label issues: rows whose target is unlikely given the model."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from committee.base.text import format_number, format_percent, shorten
from committee.boosting.classifier_base import BaseBooster
from committee.explain.label_issues import find_label_issues
from committee.report._section import Omitted, Section, Table, table
from committee.report.context import Context
from committee.report.data_quality import values_of
from committee.report.partial_dependence import format_cell

TITLE = "Label issues"
MAX_ROWS, MAX_VALUES = 15, 4
NOTE = "Rows are counted from 0 in the file. A row in this list is not necessarily wrong: check it before relabelling."


def label_issues(context: Context) -> Section | Omitted:
    """By boosting weights or out-of-bag votes, else by out-of-sample predictions."""
    core, found = context.core, context.evaluation
    is_booster = isinstance(core, BaseBooster) and hasattr(core, "sample_weights_")  # not if saved for prediction only
    is_training = bool(context.is_training) and context.comparison is None and context.classes.size > 1
    if is_training and (is_booster or context.has_oob_trees):
        return _by_weights(context, is_booster)
    if not found.is_out_of_sample:
        return Omitted(TITLE, "there are in-sample predictions only")
    if found.probability is None and context.is_classifier:
        return Omitted(TITLE, f"{context.method} predicts no probabilities")
    return _by_probability(context, found.probability) if found.probability is not None else _by_residual(context)


def _by_weights(context: Context, is_booster: bool) -> Section | Omitted:
    try:
        found = find_label_issues(context.core, context.encoded, context.y, n=MAX_ROWS, sample_weight=context.weight)
    except ValueError:
        return Omitted(TITLE, "the model was fitted with unknown sample weights, or on other rows")
    lead = "Rows with the largest mean boosting weight: hard rows, or wrong labels."
    cells = [
        (shorten(str(label), 24), shorten(str(other), 24), format_number(float(margin)), format_number(float(score)))
        for label, other, margin, score in zip(
            found.label, found.suggested_label, found.margin, found.score, strict=True
        )
    ]
    header = "#row|label|suggested label|#margin|#" + ("mean weight" if is_booster else "vote against the label")
    lead = lead if is_booster else "Rows with the largest out-of-bag vote against their label."
    return _section(context, lead, header, found.rows, cells)


def _by_probability(context: Context, probability: NDArray[np.float64]) -> Section:
    found = context.evaluation
    own = probability[np.arange(found.rows.size), found.y_true]
    order = np.argsort(own, kind="stable")[:MAX_ROWS]
    order = order[found.y_pred[order] != found.y_true[order]]
    cells = [
        (*(shorten(str(context.classes[codes[i]]), 24) for codes in (found.y_true, found.y_pred)),
         format_percent(float(own[i])))
        for i in order
    ]  # fmt: skip
    lead = f"Misclassified rows with the smallest probability of their label. {found.note}"
    lead = lead if cells else "No row is misclassified."
    return _section(context, lead, "#row|label|predicted|#probability of the label", found.rows[order], cells)


def _by_residual(context: Context) -> Section:
    found = context.evaluation
    residual = found.y_true - found.y_pred
    order = np.argsort(-np.abs(residual), kind="stable")[:MAX_ROWS]
    columns = (found.y_true, found.y_pred, residual, residual / (float(residual.std()) or 1.0))
    cells = [tuple(format_number(float(values[i])) for values in columns) for i in order]
    lead = f"Rows with the largest residuals. {found.note}"
    return _section(context, lead, "#row|#actual|#predicted|#residual|#standardized", found.rows[order], cells)


def _section(
    context: Context, lead: str, header: str, rows: NDArray[np.int64], cells: list[tuple[str, ...]]
) -> Section:
    """The rows with their values in the most important columns."""
    columns = context.feature_order[:MAX_VALUES]
    values = [values_of(context.table, f) for f in columns.tolist()]
    lines = [
        (str(context.file_row(row)), *line, *(format_cell(each[row]) for each in values))
        for row, line in zip(rows, cells, strict=True)
    ]
    names = [shorten(context.names[f], 20) for f in columns]
    tables: tuple[Table, ...] = (table("Rows with their most important features", header, lines, names),)
    return Section("label-issues", TITLE, lead, tables=tables if lines else (), notes=(NOTE,) if lines else ())
