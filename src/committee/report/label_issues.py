"""Rows whose target is hard to believe: look at them first."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.base.text import format_number, format_percent, shorten
from committee.boosting._classifier_base import BaseBooster
from committee.explain.label_issues import find_label_issues
from committee.report._context import Evidence, Judged
from committee.report._section import LeftOut, Section, Table, table
from committee.report.data_quality import column

TITLE = "Suspicious rows"
MAX_ROWS, MAX_VALUES = 15, 4


def suspicious(result: Evidence) -> Section | LeftOut:
    """By the votes of trees or the weights of boosting, else by honest answers that are far off."""
    core, judged = result.core, result.judged
    if result.is_classifier and len(result.classes) >= 2 and result.is_training and result.comparison is None:
        if isinstance(core, BaseBooster) and hasattr(core, "sample_weights_"):  # not if saved for prediction only
            return _by_weights(result)
        if result.is_judged_forest:
            return _by_weights(result)
    if not judged.is_honest:
        return LeftOut(TITLE, "a model that learned the rows by heart suspects none of them")
    if judged.shares is None and result.is_classifier:
        return LeftOut(TITLE, f"{result.method} gives no probabilities to judge a label by")
    return _by_predictions(result, judged)


def _by_weights(result: Evidence) -> Section | LeftOut:
    try:
        rows = find_label_issues(result.core, result.core_table, result.y, n=MAX_ROWS, sample_weight=result.weight)
    except ValueError:  # the weights that fit ended with are not those of these rows
        return LeftOut(TITLE, "the model was fitted with weights of rows that are not known here, or on other rows")
    is_boosted = isinstance(result.core, BaseBooster)
    lead = (
        "Boosting heaps weight on rows that it cannot get right. These carried most; their labels may be wrong, or the "
        "columns do not tell."
        if is_boosted
        else "These rows have most votes against their label from trees that did not see them."
    )
    lines = [
        (
            str(result.in_file(row)),
            shorten(str(label), 24),
            shorten(str(other), 24),
            format_number(float(margin)),
            format_number(float(score)),
        )
        for row, label, other, margin, score in zip(
            rows.rows, rows.label, rows.suggested_label, rows.margin, rows.score, strict=True
        )
    ]
    header = "#row|label|suggested|#margin|#" + ("mean weight" if is_boosted else "share against")
    return Section("suspicious", TITLE, lead, tables=(_with_values(result, header, rows.rows, lines),), notes=(NOTE,))


NOTE = (
    "Rows are counted from 0, in the order of the file. A row on this list is a question, not a mistake: look before "
    "you change a label."
)


def _by_predictions(result: Evidence, judged: Judged) -> Section:
    if result.is_classifier:
        assert judged.shares is not None
        own = judged.shares[np.arange(judged.rows.size), judged.truth]
        order = np.argsort(own, kind="stable")[:MAX_ROWS]
        order = order[judged.answer[order] != judged.truth[order]]
        lines = [
            (str(result.in_file(judged.rows[i])), shorten(str(result.classes[judged.truth[i]]), 24),
             shorten(str(result.classes[judged.answer[i]]), 24), format_percent(float(own[i])))
            for i in order
        ]  # fmt: skip
        header, lead = (
            "#row|label|answer|#probability of the label",
            "These rows got the smallest probability of their label.",
        )
    else:
        error = judged.truth - judged.answer
        order = np.argsort(-np.abs(error), kind="stable")[:MAX_ROWS]
        spread = float(error.std()) or 1.0
        lines = [
            (str(result.in_file(judged.rows[i])),
             *(format_number(float(v[i])) for v in (judged.truth, judged.answer, error)),
             format_number(float(error[i]) / spread, 2))
            for i in order
        ]  # fmt: skip
        header, lead = "#row|#truth|#answer|#residual|#in deviations", "These rows are furthest from their answers."
    if not lines:
        return Section("suspicious", TITLE, "No row is answered otherwise than it is labelled.")
    rows = judged.rows[order]
    words = f"{lead} {judged.words}"
    return Section("suspicious", TITLE, words, tables=(_with_values(result, header, rows, lines),), notes=(NOTE,))


def _with_values(result: Evidence, header: str, rows: NDArray[np.int64], lines: list[tuple[str, ...]]) -> Table:
    """The same rows with what stands in the columns that matter most."""
    columns = _telling_columns(result)
    out = list[tuple[str, ...]]()
    for row, line in zip(rows, lines, strict=True):
        out.append((*line, *(_cell(column(result.table, f)[row]) for f in columns)))
    heads = [shorten(result.names[f], 20) for f in columns]
    which = "that matter most" if hasattr(result.core, "feature_importances_") else "that come first"
    return table(f"The rows, and their values in the columns {which}", header, out, heads)


def _cell(value: Any) -> str:
    if value is None:
        return "—"
    return format_number(float(value)) if isinstance(value, int | float | np.number) else shorten(str(value), 24)


def _telling_columns(result: Evidence) -> list[int]:
    """The most important ones where the model says which, else the first."""
    importances = getattr(result.core, "feature_importances_", None)
    if importances is None or len(importances) != len(result.names):
        return list(range(min(MAX_VALUES, len(result.names))))
    return [int(f) for f in np.argsort(-np.asarray(importances), kind="stable")[:MAX_VALUES]]
