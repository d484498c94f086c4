"""Partial dependence: the mean prediction when one column is set to a value (Friedman 2001)."""

from __future__ import annotations

from typing import Any

import numpy as np

from committee.base.array_types import Floats
from committee.base.text import format_number, join_names, pluralize, shorten
from committee.explain.partial_dependence import PartialDependence
from committee.explain.partial_dependence import partial_dependence as depend
from committee.report import _charts as charts
from committee.report._context import Evidence, middle
from committee.report._section import Color, Figure, Key, LeftOut, Section, table

TITLE = "Partial dependence"
MAX_COLUMNS, MAX_POINTS, MAX_ROWS = 6, 20, 150
COLORS: tuple[Color, ...] = ("blue", "orange", "green", "purple", "red")


def partial_dependence(result: Evidence) -> Section | LeftOut:
    """Mean predictions over the values of the most important columns, by brute force: for any model."""
    if result.is_classifier and not hasattr(result.model, "predict_proba"):
        return LeftOut(TITLE, f"{result.method} gives no probabilities to average")
    if result.is_classifier and len(result.classes) < 2:
        return LeftOut(TITLE, "the model knows a single class")
    rows = result.sample(MAX_ROWS)
    table_of_rows, response = result.take(rows), "predict_proba" if result.is_classifier else "predict"
    curves = list[PartialDependence]()
    for f in result.leading_columns[:MAX_COLUMNS].tolist():
        try:
            curves.append(depend(result.model, table_of_rows, f, grid=MAX_POINTS, method="brute", response=response))
        except ValueError:  # a column without any value among these rows
            continue
    curves = [curve for curve in curves if curve.grid[0].size > 1]
    if not curves:
        return LeftOut(TITLE, "no column has two values among the rows sampled")
    figures = tuple(_figure(result, i, curve) for i, curve in enumerate(curves))
    lead = (
        f"The mean prediction over {pluralize(rows.size, 'row')} when one column is set to a value and the others stay."
    )
    notes = (
        "The columns are those of greatest importance. Where columns are correlated, a curve includes combinations of "
        "values that do not occur.",
    )
    return Section("partial-dependence", TITLE, lead, figures=figures, notes=notes)


def _figure(result: Evidence, i: int, curve: PartialDependence) -> Figure:
    lines, mean = _lines(result, curve)
    axis = f"mean probability of {shorten(lines[0][0], 24)}" if result.is_classifier else "mean prediction"
    axis = axis if len(lines) == 1 else "mean probability"
    name, values = shorten(curve.names[0], 40), curve.grid[0]
    shown = values if values.dtype.kind in "fiu" else np.array([shorten(str(v), 20) for v in values])
    cells = [(_cell(v), *(format_number(float(m), 3) for m in line)) for v, line in zip(values, mean, strict=True)]
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


def _lines(result: Evidence, curve: PartialDependence) -> tuple[list[tuple[str, Color]], Floats]:
    """What is drawn, and its mean at every point [g, lines]: of many classes the most frequent ones."""
    average = np.asarray(curve.average, np.float64)
    if not result.is_classifier:
        return [("prediction", "blue")], middle(average)[:, np.newaxis]
    if average.ndim == 1:
        return [(str(result.classes[1]), "blue")], average[:, np.newaxis]
    often = np.argsort(-np.bincount(result.codes[result.codes >= 0], minlength=len(result.classes)), kind="stable")
    chosen = np.sort(often[: len(COLORS)])
    return [(shorten(str(result.classes[k]), 24), COLORS[j]) for j, k in enumerate(chosen)], average[:, chosen]


def _cell(value: Any) -> str:
    return format_number(float(value)) if isinstance(value, int | float | np.number) else shorten(str(value), 24)
