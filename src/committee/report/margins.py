"""Margins: by how much the vote is for the true label."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.bagging._base import BaseBagging
from committee.base.array_types import Floats
from committee.base.text import format_level, format_number, format_percent, pluralize
from committee.forests._base import BaseForest
from committee.report import _charts as charts
from committee.report._charts import Steps
from committee.report._context import Evidence, Judged
from committee.report._section import Figure, Key, LeftOut, Section, table
from committee.theory.margins import class_margins, fraction_below, margin_distribution

TITLE = "Margins"
MAX_ROWS, MAX_ROUNDS, MAX_POINTS = 2_000, 48, 60

VOTES = "margin of the vote"
SHARES = "margin of the probabilities"


def margins(result: Evidence) -> Section | LeftOut:
    """The distribution of the margins, over rounds where the model has rounds."""
    if not result.is_classifier or len(result.classes) < 2:
        return LeftOut(TITLE, "margins are those of votes between classes")
    judged = result.judged
    honest = _of_predictions(judged, judged.shares) if judged.shares is not None and judged.is_honest else None
    core = result.core
    if hasattr(core, "staged_margins"):
        return _over_rounds(result, VOTES, honest)
    # full trees know their training rows by heart: their margins are told by the rows that they did not see
    if hasattr(core, "staged_predict_proba") and not isinstance(core, BaseForest | BaseBagging):
        return _over_rounds(result, SHARES, honest)
    if honest is None:
        return LeftOut(TITLE, f"{result.method} gives neither votes nor honest probabilities of classes")
    lead = f"A margin of 1 is full certainty of the true label, below 0 the answer is wrong. {judged.words}"
    return Section("margins", TITLE, lead, figures=(honest,))


def _over_rounds(result: Evidence, axis: str, honest: Figure | None) -> Section:
    rows = result.sample(MAX_ROWS)
    rows = rows[result.codes[rows] >= 0]
    staged = list(_chosen(_staged(result, rows, axis), _n_rounds(result)))
    steps = [_steps(t, values) for t, values in staged]
    first, last = staged[0], staged[-1]
    spec = charts.margin_slider(steps, last[0], axis)
    where = result.where
    sampled = f" (a sample of {pluralize(rows.size, 'row')})" if rows.size < result.n_rows else ""
    lead = (
        f"A margin of 1 is a vote that is all for the true label, below 0 the answer is wrong. After {last[0]} rounds "
        f"{format_percent(fraction_below(last[1], 0.0))} of the {where}{sampled} have a margin of at most 0, and half "
        f"of them at least {format_number(float(np.median(last[1])))}."
    )
    shown = [staged[i] for i in np.unique(np.linspace(0, len(staged) - 1, min(10, len(staged))).round().astype(int))]
    numbers = table(
        "Margins after some rounds", "#round|#smallest|#a tenth below|#half below|#share at most 0",
        [(str(t), *map(format_number, (m.min(), *np.quantile(m, (0.1, 0.5)))), format_percent(fraction_below(m, 0.0)))
         for t, m in shown],
    )  # fmt: skip
    alt = (
        f"The share of {where} with at most a given margin, after the round that the slider chooses. The smallest "
        f"margin goes from {format_number(first[1].min())} after {first[0]} to {format_number(last[1].min())} after "
        f"{last[0]} rounds."
    )
    legend = (Key("after the round chosen", "blue", mark="area"), Key("first and last round", "grey"))
    figure = Figure("chart-margins", spec, "How sure the vote is: move the slider", alt, numbers, legend)
    notes = (
        "The further the curve lies to the right the surer the vote. Rounds often go on to push small margins up after "
        "the training error has come to rest; that is one reason why boosting may go on to improve.",
    )
    figures = (figure,) if honest is None or not result.has_learned else (figure, honest)
    return Section("margins", TITLE, lead, figures=figures, notes=notes)


def _n_rounds(result: Evidence) -> int:
    core = result.core
    n = getattr(core, "n_estimators_", None)
    return int(n) if isinstance(n, int | np.integer) else len(getattr(core, "members_", core.history_["round"]))


def _staged(result: Evidence, rows: NDArray[np.int64], axis: str) -> Iterator[Floats]:
    core: Any = result.core
    table, codes = result.take_core(rows), result.codes[rows]
    if axis == VOTES:
        yield from core.staged_margins(table, result.y[rows])
        return
    for shares in core.staged_predict_proba(table):
        yield class_margins(shares, codes)


def _chosen(staged: Iterator[Floats], n_rounds: int) -> Iterator[tuple[int, Floats]]:
    """Some rounds: the first ones densely, since they change most, and the last one."""
    wanted = {int(t) + 1 for t in charts.thin(np.empty(n_rounds), MAX_ROUNDS)}
    t, values = 0, np.empty(0)
    for t, values in enumerate(staged, start=1):
        if t in wanted:
            yield t, values
    if t not in wanted:
        yield t, values


def _steps(t: int, values: Floats) -> Steps:
    """The step function from -1 to 1, at most so many steps of it."""
    result = margin_distribution(np.clip(values, -1.0, 1.0))
    kept = np.unique(np.linspace(0, result.value.size - 1, min(MAX_POINTS, result.value.size)).round().astype(np.int64))
    value, share = result.value[kept], result.fraction[kept]
    return Steps(t, np.concatenate([[value[0]], value, [1.0]]), np.concatenate([[0.0], share, [1.0]]))


def _of_predictions(judged: Judged, shares: Floats) -> Figure:
    values = class_margins(shares, judged.truth)
    step = _steps(0, values)
    levels = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9)
    numbers = table(
        "Quantiles of the margins", "#share of rows|#margin at most",
        [(format_level(share), format_number(float(np.quantile(values, share)))) for share in levels],
    )  # fmt: skip
    wrong, doubtful = fraction_below(values, 0.0), fraction_below(values, 0.2)
    alt = (
        f"The share of rows with at most a given margin: {format_percent(wrong)} of the rows have one of at most 0, "
        f"{format_percent(doubtful)} of at most 0.2."
    )
    spec = charts.steps_chart(step.margin, step.share, SHARES)
    return Figure(
        "chart-honest-margins", spec, f"How sure the answers are: {judged.source}", alt, numbers, width="narrow"
    )
