"""Partial dependence: the mean prediction with one column set to a value (Friedman 2001)."""

from __future__ import annotations

from typing import Any

import numpy as np

from committee.base.array_types import Floats
from committee.base.text import format_number, join_names, pluralize, shorten
from committee.explain.partial_dependence import PartialDependence
from committee.explain.partial_dependence import partial_dependence as compute
from committee.report import _charts as charts
from committee.report._section import Color, Figure, Key, Omitted, Section, table
from committee.report.context import Context, middle
from committee.tabular.rows import take_rows

TITLE = "Partial dependence"
MAX_COLUMNS, MAX_POINTS, MAX_ROWS = 6, 20, 150
COLORS: tuple[Color, ...] = ("blue", "orange", "green", "purple", "red")


def partial_dependence(context: Context) -> Section | Omitted:
    """Mean predictions over the values of the most important features, by brute force."""
    if context.is_classifier and not hasattr(context.model, "predict_proba"):
        return Omitted(TITLE, f"{context.method} predicts no probabilities")
    if context.classes.size == 1:
        return Omitted(TITLE, "there is a single class")
    rows = context.draw(MAX_ROWS)
    X, response = take_rows(context.X, rows), "predict_proba" if context.is_classifier else "predict"
    curves = list[PartialDependence]()
    for f in context.feature_order[:MAX_COLUMNS].tolist():
        try:
            curves.append(compute(context.model, X, f, grid=MAX_POINTS, method="brute", response=response))
        except ValueError:  # all values are missing
            continue
    curves = [curve for curve in curves if curve.grid[0].size > 1]
    if not curves:
        return Omitted(TITLE, "no column has two values in the sample")
    figures = tuple(_figure(context, i, curve) for i, curve in enumerate(curves))
    lead = f"Mean prediction of {pluralize(rows.size, 'row')} with one feature set to each value."
    notes = (
        "The most important features. With correlated features the average includes combinations that do not occur.",
    )
    return Section("partial-dependence", TITLE, lead, figures=figures, notes=notes)


def _figure(context: Context, i: int, curve: PartialDependence) -> Figure:
    lines, mean = _lines(context, curve)
    axis = f"mean probability of {shorten(lines[0][0], 24)}" if context.is_classifier else "mean prediction"
    axis = axis if len(lines) == 1 else "mean probability"
    name, values = shorten(curve.names[0], 40), curve.grid[0]
    shown = values if values.dtype.kind in "fiu" else np.array([shorten(str(v), 20) for v in values])
    cells = [(format_cell(v), *(format_number(float(m)) for m in line)) for v, line in zip(values, mean, strict=True)]
    spans = [
        f"{label} from {format_number(float(m.min()))} to {format_number(float(m.max()))}"
        for (label, _), m in zip(lines, mean.T, strict=True)
    ]
    return Figure(
        f"chart-dependence-{i}", charts.dependence(shown, mean, lines, name, axis), name,
        f"{axis.capitalize()} over {name}: {join_names(spans)}.",
        table(f"Partial dependence on {name}", "value", cells, [label for label, _ in lines]),
        tuple(Key(label, color) for label, color in lines) if len(lines) > 1 else (), width="small",
    )  # fmt: skip


def _lines(context: Context, curve: PartialDependence) -> tuple[list[tuple[str, Color]], Floats]:
    """Labels, and the mean at every point [g, lines]: the second of two classes, the most frequent of many."""
    average = np.asarray(curve.average, np.float64)
    if not context.is_classifier:
        return [("prediction", "blue")], middle(average)[:, np.newaxis]
    if average.ndim == 1:
        return [(str(context.classes[1]), "blue")], average[:, np.newaxis]
    n = np.bincount(context.codes[context.codes >= 0], minlength=context.classes.size)
    chosen = np.sort(np.argsort(-n, kind="stable")[: len(COLORS)])
    return [(shorten(str(context.classes[k]), 24), COLORS[j]) for j, k in enumerate(chosen)], average[:, chosen]


def format_cell(value: Any) -> str:
    """A value of the table."""
    return format_number(float(value)) if isinstance(value, int | float | np.number) else shorten(str(value), 24)
