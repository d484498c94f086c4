"""Distribution of the margins."""

from __future__ import annotations

import numpy as np

from committee.base.array_types import Floats
from committee.base.text import format_level, format_number, format_percent, pluralize
from committee.report import _charts as charts
from committee.report._charts import MarginCurve
from committee.report._section import Figure, Key, Omitted, Section, table
from committee.report.context import Context, MarginHistory
from committee.theory.margins import class_margins, fraction_below, margin_distribution

TITLE = "Margins"
MAX_POINTS, N_SHOWN = 60, 10
LEVELS = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9)
DEFINITION = "The margin is 1 for a unanimous vote for the true class and negative for a misclassified row."


def margins(context: Context) -> Section | Omitted:
    """Margins of out-of-sample predictions, and of the rows of the report after every round."""
    if context.classes.size < 2:
        return Omitted(TITLE, "margins require two classes")
    found, history = context.evaluation, context.margin_history
    probability = found.probability if found.is_out_of_sample else None
    own = None if probability is None else _out_of_sample(class_margins(probability, found.y_true), found.source)
    if history is not None:
        return _by_round(context, history, own)
    if own is None:
        return Omitted(TITLE, f"{context.method} has neither votes by round nor out-of-sample probabilities")
    return Section("margins", TITLE, f"{DEFINITION} {found.note}", figures=(own,))


def _by_round(context: Context, history: MarginHistory, own: Figure | None) -> Section:
    n, last, final = context.sample.size, history.rounds[-1], history.margins[-1]
    curves = [_curve(t, each) for t, each in zip(history.rounds, history.margins, strict=True)]
    sampled = f" (sample of {pluralize(n, 'row')})" if n < context.n_rows else ""
    lead = (
        f"{DEFINITION} After {last} rounds {format_percent(fraction_below(final, 0.0))} of the {context.row_kind}"
        f"{sampled} have a margin of at most 0; the median is {format_number(float(np.median(final)))}."
    )
    shown = np.unique(np.linspace(0, len(curves) - 1, min(N_SHOWN, len(curves))).round().astype(int))
    rows = [
        (str(history.rounds[i]), *map(format_number, (m.min(), *np.quantile(m, (0.1, 0.5)))),
         format_percent(fraction_below(m, 0.0)))
        for i in shown for m in [history.margins[i]]
    ]  # fmt: skip
    title = f"margin of the {history.kind}"
    alt = (
        f"Cumulative distribution of the margins after the selected round. The minimum margin changes from "
        f"{format_number(history.margins[0].min())} to {format_number(final.min())} in {last} rounds."
    )
    figure = Figure(
        "chart-margins", charts.margin_slider(curves, title), "Margin distribution by round", alt,
        table("Margins by round", "#round|#minimum|#10% quantile|#median|#at most 0", rows),
        (Key("selected round", "blue", mark="area"), Key("first and last round", "grey")),
    )  # fmt: skip
    note = "Boosting often increases small margins after the training error is zero, which may reduce the test error."
    figures = (figure, own) if own is not None and context.has_training_rows else (figure,)
    return Section("margins", TITLE, lead, figures=figures, notes=(note,))


def _curve(t: int, margins: Floats) -> MarginCurve:
    """The cumulative distribution from -1 to 1, thinned."""
    found = margin_distribution(np.clip(margins, -1.0, 1.0))
    n = found.value.size
    kept = np.unique(np.linspace(0, n - 1, min(MAX_POINTS, n)).round().astype(np.int64))
    value, fraction = found.value[kept], found.fraction[kept]
    return MarginCurve(t, np.concatenate([[value[0]], value, [1.0]]), np.concatenate([[0.0], fraction, [1.0]]))


def _out_of_sample(values: Floats, source: str) -> Figure:
    rows = [(format_level(level), format_number(float(np.quantile(values, level)))) for level in LEVELS]
    at_most = [f"{format_percent(fraction_below(values, margin))} at most {margin:g}" for margin in (0.0, 0.2)]
    return Figure(
        "chart-margins-out-of-sample", charts.margin_curve(_curve(0, values), "margin of the probabilities"),
        f"Margin distribution, {source}", f"Cumulative distribution of the margins: {' and '.join(at_most)}.",
        table("Quantiles of the margins", "#quantile|#margin", rows), width="narrow",
    )  # fmt: skip
