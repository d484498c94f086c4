"""Bias and variance of methods, measured over many training sets (B-2, J-4)."""

from __future__ import annotations

import numpy as np

from committee.report import charts
from committee.report.evidence import Evidence
from committee.report.section import Color, Figure, Key, LeftOut, Section, table
from committee.report.words import number, plus_minus

TITLE = "Bias and variance"
PARTS: tuple[tuple[str, Color], ...] = (("noise", "grey"), ("bias", "orange"), ("variance", "blue"))


def bias_variance(found: Evidence) -> Section | LeftOut:
    """Where the expected error of each method comes from."""
    methods = found.bias_variance
    if not methods:
        return LeftOut(TITLE, "it needs many fits on other samples, which were not asked for")
    decompositions = list(methods.values())
    knows_noise = any(one.parts["noise"].value != 0.0 for one in decompositions)
    parts = PARTS if knows_noise else PARTS[1:]
    values = np.array([[one.parts[name].value for name, _ in parts] for one in decompositions])
    loss = decompositions[0].loss
    axis = "expected squared error" if loss == "squared" else "expected share of wrong answers"
    spec = charts.stacked(list(methods), [name for name, _ in parts], values, [c for _, c in parts], axis)
    rows = [
        (name, *(plus_minus(number(one.parts[p].value), number(one.parts[p].stderr, 2)) for p, _ in parts))
        for name, one in methods.items()
    ]
    numbers = table("Parts with their standard errors", "method", rows, [name for name, _ in parts])
    least = {part: min(methods, key=lambda name: methods[name].parts[part].value) for part in ("bias", "variance")}
    lead = (
        f"Fitted on {decompositions[0].n_sets} other training sets and judged on {decompositions[0].rows.size} rows "
        f"outside them, {least['bias']} has the smallest bias and {least['variance']} the smallest variance."
    )
    alt = f"Stacked bars of the parts of the error of {len(methods)} methods. {lead}"
    legend = tuple(Key(name, c) for name, c in parts)
    figure = Figure("chart-bias-variance", spec, "Where the error comes from", alt, numbers, legend)
    notes = () if knows_noise else ("The noise of the target is not known on real data: it is within the bias.",)
    return Section("bias-variance", TITLE, lead, figures=(figure,), notes=notes)
