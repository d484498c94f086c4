"""Confusion matrix, recall and precision."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from committee.base.text import NO_VALUE, format_percent, pluralize, shorten
from committee.report import _charts as charts
from committee.report._section import Figure, Key, Omitted, Section, table
from committee.report.context import Context

TITLE = "Confusion matrix"
MAX_CLASSES = 12


def confusion(context: Context) -> Section | Omitted:
    """Confusion matrix, and recall and precision of each class."""
    if not context.is_classifier:
        return Omitted(TITLE, "the target is continuous")
    found, k = context.evaluation, context.classes.size
    if k < 2 or not found.rows.size:
        return Omitted(TITLE, "there is a single class")
    counts = np.bincount(found.y_true * k + found.y_pred, minlength=k * k).reshape(k, k)
    names = [shorten(str(label), 24) for label in context.classes]
    lead = _most_frequent_error(names, counts)
    shown = np.sort(np.argsort(-counts.sum(axis=1), kind="stable")[:MAX_CLASSES])
    matrix, shown_names = counts[np.ix_(shown, shown)], [names[i] for i in shown]
    rows = [(name, *(f"{n:,}" for n in line)) for name, line in zip(shown_names, matrix, strict=True)]
    figure = Figure(
        "chart-confusion", charts.confusion(shown_names, matrix),
        "Rows by actual and predicted class" + (f", {MAX_CLASSES} most frequent classes" if k > MAX_CLASSES else ""),
        f"Confusion matrix. {lead}", table("Actual classes in rows, predicted in columns", "actual", rows, shown_names),
        (Key("correct", "blue", mark="area"), Key("misclassified", "red", mark="area")), "narrow" if k <= 6 else "wide",
    )  # fmt: skip
    correct, actual, predicted = np.diag(counts), counts.sum(axis=1), counts.sum(axis=0)
    by_class = [
        (name, f"{actual[k]:,}", _ratio(correct[k], actual[k]), _ratio(correct[k], predicted[k]))
        for k, name in enumerate(names)
    ]
    classes = table(f"Recall and precision by class, {found.source}", "class|#rows|#recall|#precision", by_class)
    return Section("confusion", TITLE, f"{lead} {found.note}", figures=(figure,), tables=(classes,))


def _ratio(part: int, whole: int) -> str:
    return format_percent(part / whole) if whole else NO_VALUE


def _most_frequent_error(names: list[str], counts: NDArray[np.int64]) -> str:
    errors = counts - np.diag(np.diag(counts))
    if not errors.any():
        return "No row is misclassified."
    i, j = np.unravel_index(int(errors.argmax()), errors.shape)
    size = f"{pluralize(errors[i, j], 'row')}, {format_percent(errors[i, j] / counts[i].sum())} of the class"
    return f"Most frequent error: “{names[i]}” predicted as “{names[j]}” ({size})."
