"""Which classes are taken for which."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from committee.base.text import format_percent, pluralize, shorten
from committee.report import _charts as charts
from committee.report._context import Evidence, Judged
from committee.report._section import Figure, Key, LeftOut, Section, Table, table

TITLE = "Which classes are taken for which"
MAX_CLASSES = 12


def confusion(result: Evidence) -> Section | LeftOut:
    """The confusion matrix, and how often every class is found and rightly named."""
    if not result.is_classifier:
        return LeftOut(TITLE, "the target is a number; see the residuals")
    judged, k = result.judged, len(result.classes)
    if k < 2 or not judged.rows.size:
        return LeftOut(TITLE, "the model knows a single class")
    counts = np.bincount(judged.truth * k + judged.answer, minlength=k * k).reshape(k, k)
    names = [shorten(str(label), 24) for label in result.classes]
    wrong = counts - np.diag(np.diag(counts))
    lead = f"{_worst(names, counts, wrong)} {judged.words}"
    shown = np.sort(np.argsort(-counts.sum(axis=1), kind="stable")[:MAX_CLASSES])
    few = counts[np.ix_(shown, shown)]
    few_names = [names[i] for i in shown]
    alt = f"Rows by true class and by answer. {_worst(names, counts, wrong)}"
    title = "Rows by truth and answer" + (f", the {MAX_CLASSES} commonest classes" if k > MAX_CLASSES else "")
    figure = Figure(
        "chart-confusion", charts.confusion(few_names, few), title, alt, _matrix(few_names, few),
        (Key("right", "blue", mark="area"), Key("wrong", "red", mark="area")), "narrow" if k <= 6 else "wide",
    )  # fmt: skip
    return Section("confusion", TITLE, lead, figures=(figure,), tables=(_classes(names, counts, judged),))


def _worst(names: list[str], counts: NDArray[np.int64], wrong: NDArray[np.int64]) -> str:
    if not wrong.any():
        return "No row is taken for another class."
    i, j = np.unravel_index(int(wrong.argmax()), wrong.shape)
    size = f"{pluralize(wrong[i, j], 'row')}, {format_percent(wrong[i, j] / counts[i].sum())} of that class"
    return f"The commonest mistake is to take “{names[i]}” for “{names[j]}”: {size}."


def _matrix(names: list[str], counts: NDArray[np.int64]) -> Table:
    rows = [(name, *(f"{n:,}" for n in line)) for name, line in zip(names, counts, strict=True)]
    return table("Truth in rows, answers in columns", "truth", rows, names)


def _classes(names: list[str], counts: NDArray[np.int64], judged: Judged) -> Table:
    right, truth, answer = np.diag(counts), counts.sum(axis=1), counts.sum(axis=0)
    rows = [
        (
            name, f"{truth[k]:,}", format_percent(right[k] / truth[k]) if truth[k] else "—",
            format_percent(right[k] / answer[k]) if answer[k] else "—",
        )
        for k, name in enumerate(names)
    ]  # fmt: skip
    header = "class|#rows|#found (recall)|#right when answered (precision)"
    return table(f"Class by class, {judged.source}", header, rows)
