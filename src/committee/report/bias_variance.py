"""Bias-variance decomposition of some methods."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from committee.base.text import format_number, join_names, pluralize
from committee.report import _charts as charts
from committee.report._section import Color, Figure, Key, Omitted, Section, table
from committee.report.context import Context
from committee.theory.decomposition import Decomposition

TITLE = "Bias-variance decomposition"
PARTS: tuple[tuple[str, Color], ...] = (("noise", "grey"), ("bias", "orange"), ("variance", "blue"))

NO_NOISE = "The noise is unknown and included in the bias."
NEGATIVE_VARIANCE = (
    "Negative variance: where most training sets lead to a wrong class, disagreement reduces the error (0-1 loss)."
)
NEGATIVE_BIAS = "A slightly negative bias is an estimate of zero: the expected sampling error is subtracted."
SQUARED = "Bias² and variance add up to the mean squared error. Their roots compare with the RMSE but do not add up."


def bias_variance(context: Context) -> Section | Omitted:
    """Bias and variance of the error of each method."""
    methods = context.bias_variance
    if not methods:
        return Omitted(TITLE, "it was not requested (it needs many fits)")
    decompositions = list(methods.values())
    has_noise = any(one.parts["noise"].value != 0.0 for one in decompositions)
    parts = PARTS if has_noise else PARTS[1:]
    names = [name for name, _ in parts]
    values = np.array([[one.parts[name].value for name in names] for one in decompositions])
    if not np.any(values):
        return Omitted(TITLE, "no method has an error")
    is_squared = decompositions[0].loss == "squared"
    axis = "mean squared error" if is_squared else "error rate"
    rows = [
        (name, *(format_number(one.parts[p].value, stderr=one.parts[p].stderr) for p in names))
        for name, one in methods.items()
    ]
    lead = (
        f"{pluralize(decompositions[0].n_sets, 'training set')}, evaluated on "
        f"{pluralize(decompositions[0].rows.size, 'held-out row')}. {_smallest(methods)}."
    )
    figure = Figure(
        "chart-bias-variance", charts.stacked(list(methods), names, values, [color for _, color in parts], axis),
        f"Parts of the {axis}",
        f"Stacked bars of {pluralize(len(methods), 'method')}. {lead}",
        table(f"Parts of the {axis} ± standard errors", "method", rows, names),
        tuple(Key(name, color, mark="area") for name, color in parts),
    )  # fmt: skip
    roots = [
        (name, *(format_number(max(value, 0.0) ** 0.5) for value in (*line, line.sum())))
        for name, line in zip(methods, values, strict=True)
    ]
    header = [*(f"{part} (root)" for part in names), "RMSE"]
    tables = (table("Roots, in the unit of the target", "method", roots, header),) if is_squared else ()
    notes = [*([] if has_noise else [NO_NOISE]), *([SQUARED] if is_squared else [])]
    if np.any(values < 0.0):
        notes.append(NEGATIVE_BIAS if is_squared else NEGATIVE_VARIANCE)
    return Section("bias-variance", TITLE, lead, figures=(figure,), tables=tables, notes=tuple(notes))


def _smallest(methods: Mapping[str, Decomposition]) -> str:
    """The methods with the smallest bias and variance, several if equal as displayed."""
    best = list[str]()
    for part in ("bias", "variance"):
        values = {name: one.parts[part].value for name, one in methods.items()}
        least = format_number(min(values.values()))
        best.append(join_names(name for name, value in values.items() if format_number(value) == least))
    if best[0] == best[1]:
        return f"Smallest bias and variance: {best[0]}"
    return f"Smallest bias: {best[0]}; smallest variance: {best[1]}"
