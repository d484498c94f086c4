"""Bias and variance of methods, measured over many training sets."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from committee.base.text import format_number, join_names, pluralize
from committee.report import _charts as charts
from committee.report._context import Evidence
from committee.report._section import Color, Figure, Key, LeftOut, Section, Table, table
from committee.theory.decomposition import Decomposition

TITLE = "Bias and variance"
PARTS: tuple[tuple[str, Color], ...] = (("noise", "grey"), ("bias", "orange"), ("variance", "blue"))


def bias_variance(result: Evidence) -> Section | LeftOut:
    """Where the expected error of each method comes from."""
    methods = result.bias_variance
    if not methods:
        return LeftOut(TITLE, "it needs many fits on other samples, which were not asked for")
    decompositions = list(methods.values())
    knows_noise = any(one.parts["noise"].value != 0.0 for one in decompositions)
    parts = PARTS if knows_noise else PARTS[1:]
    values = np.array([[one.parts[name].value for name, _ in parts] for one in decompositions])
    loss = decompositions[0].loss
    axis = "squared error (its square root is the RMSE)" if loss == "squared" else "expected error rate"
    spec = charts.stacked(list(methods), [name for name, _ in parts], values, [c for _, c in parts], axis)
    rows = [
        (name, *(format_number(one.parts[p].value, stderr=one.parts[p].stderr) for p, _ in parts))
        for name, one in methods.items()
    ]
    unit = "in squared units of the target" if loss == "squared" else "as error rates"
    numbers = table(f"Parts with their standard errors, {unit}", "method", rows, [name for name, _ in parts])
    if not np.any(values):
        return LeftOut(TITLE, "none of the methods tried errs on any row, so there is nothing to take apart")
    lead = (
        f"Fitted on {decompositions[0].n_sets} other training sets and evaluated on {decompositions[0].rows.size} "
        f"held-out rows, {_least_in_words(methods)}."
    )
    alt = f"Stacked bars of the parts of the error of {pluralize(len(methods), 'method')}. {lead}"
    legend = tuple(Key(name, c, mark="area") for name, c in parts)
    figure = Figure("chart-bias-variance", spec, "Where the error comes from", alt, numbers, legend)
    notes = () if knows_noise else ("The noise of the target is not known on real data: it is within the bias.",)
    tables = (_in_units_of_the_target(methods, [name for name, _ in parts]),) if loss == "squared" else ()
    if loss == "squared":
        notes += (IN_SQUARES,)
    if np.any(values < 0.0):
        notes += (NEGATIVE_VOTES if loss != "squared" else NEGATIVE_SQUARES,)
    return Section("bias-variance", TITLE, lead, figures=(figure,), tables=tables, notes=notes)


IN_SQUARES = (
    "Bias² and variance add up to the mean squared error, so the chart shows squared units. The table shows square "
    "roots, in the unit of the target: these compare with the RMSE elsewhere in the report, but add up only in squares."
)


def _in_units_of_the_target(methods: Mapping[str, Decomposition], parts: list[str]) -> Table:
    """Square roots of the parts and of their sum; an estimate below zero counts as none."""
    rows = [
        (name, *(format_number(max(value, 0.0) ** 0.5) for value in (*each, sum(each))))
        for name, one in methods.items()
        for each in ([one.parts[part].value for part in parts],)
    ]
    header = [*(f"{part} (root)" for part in parts), "RMSE"]
    return table("Square roots of the parts, in the unit of the target", "method", rows, header)


NEGATIVE_VOTES = (
    "A variance below zero is no slip: where most training sets lead to the wrong answer, those that disagree may be "
    "right, and here this does more good than disagreement does harm elsewhere. The error is the sum of the parts."
)
NEGATIVE_SQUARES = (
    "A bias a little below zero is an estimate of none: what chance adds to it on average was taken off, which may be "
    "too much in the single case."
)


def _least_in_words(methods: Mapping[str, Decomposition]) -> str:
    """Which methods have the smallest bias and variance; several where they are the same to the digits shown."""
    least = list[str]()
    for part in ("bias", "variance"):
        values = {name: format_number(one.parts[part].value) for name, one in methods.items()}
        best = min(methods, key=lambda name: methods[name].parts[part].value)
        least.append(join_names(name for name in methods if values[name] == values[best]))
    if least[0] == least[1]:
        return f"the smallest bias and the smallest variance are those of {least[0]}"
    return f"the smallest bias is that of {least[0]}, the smallest variance that of {least[1]}"
