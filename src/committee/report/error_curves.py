"""The error over the rounds of a fit, with bounds, out-of-bag and validation errors."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from committee.base.array_types import Floats
from committee.base.text import format_number, format_percent, join_names, pluralize
from committee.explain.boosting_diagnostics import BoostingDiagnostics, boosting_diagnostics
from committee.records.history import History
from committee.report import _charts as charts
from committee.report._charts import Curve
from committee.report._context import Evidence, middle
from committee.report._section import Color, Figure, Key, LeftOut, Section, Table, table

TITLE = "Error over the rounds"
MAX_PROGRAM_ROWS = 1_000
"""Rows up to which the best margin is sought by linear programming."""


class Known(NamedTuple):
    """A column of some histories that is worth a curve."""

    column: str
    label: str
    color: Color
    is_bound: bool = False


ERRORS = (
    Known("train_error", "training error", "grey"),
    Known("validation_error", "validation error", "green"),
    Known("oob_error", "out-of-bag error", "blue"),
    Known("member_oob_error", "out-of-bag error of each round's member alone", "orange"),
    Known("prequential_error", "error on each row before it is learned", "blue"),
    Known("exponential_risk", "bound of the training error", "red", True),
)
LOSSES = (Known("train_loss", "training loss", "grey"), Known("validation_loss", "validation loss", "green"))
LIKELIHOOD = (Known("log_likelihood", "log-likelihood of the training rows", "blue"),)
GAPS = (Known("gap", "violation of the optimum's conditions", "blue"),)

COUNTERS = ("round", "tree", "iteration", "epoch", "n_seen", "step")
NAMES = {"n_seen": "rows seen", "tree": "trees", "round": "rounds", "iteration": "iterations", "epoch": "epochs"}


def error_curves(result: Evidence) -> Section | LeftOut:
    """What the fit measured after every round."""
    history: History | None = getattr(result.core, "history_", None)
    if history is None or history.n_rounds < 2:
        return LeftOut(TITLE, f"{result.method} is not learned in rounds")
    for group, what in (
        (ERRORS, _error_name(result)),
        (LOSSES, _loss_name(result)),
        (LIKELIHOOD, "log-likelihood"),
        (GAPS, "gap"),
    ):
        curves = _measured(history, group)
        if group is ERRORS and curves:
            curves += _on_new_rows(result, history)
        if curves:
            return _section(result, history, curves, what)
    return LeftOut(TITLE, f"{result.method} keeps no error by rounds")


def _error_name(result: Evidence) -> str:
    return "share of wrong answers" if result.is_classifier else "mean squared error"


def _loss_name(result: Evidence) -> str:
    """What the boosters call loss: of squared errors it is half of them, as in the literature."""
    loss = getattr(result.core, "loss", None)
    names = {"squared_error": "half the mean squared error", "absolute_error": "mean absolute error"}
    return names.get(loss, f"loss ({loss.replace('_', ' ')})") if isinstance(loss, str) and loss != "auto" else "loss"


def _measured(history: History, known: tuple[Known, ...]) -> list[Curve]:
    """The curves that this history has; machines that solve several problems one after the other have none."""
    x = _counter(history)
    curves = list[Curve]()
    for one in known:
        values = history.get(one.column)
        if values is None or values.ndim > 1 or np.isnan(values).all() or (np.diff(x) <= 0).any():
            continue
        curves.append(Curve(one.label, x, np.asarray(values, np.float64), one.color, one.is_bound))
    return curves


def _counter(history: History) -> Floats:
    name = next((c for c in COUNTERS if c in history), None)
    return np.arange(1.0, history.n_rounds + 1) if name is None else np.asarray(history[name], np.float64)


def _on_new_rows(result: Evidence, history: History) -> list[Curve]:
    if result.has_learned or not hasattr(result.core, "staged_predict"):
        return []
    rows = result.sample(2_000)
    truth = result.y[rows]
    staged: Any = result.core.staged_predict(result.take_core(rows))
    error = [
        float(np.mean(answer != truth) if result.is_classifier else np.mean((middle(answer) - truth) ** 2))
        for answer in staged
    ]
    x = _counter(history)[: len(error)]
    return [Curve(f"error on {result.where}", x, np.array(error[: x.size]), "purple")]


def _section(result: Evidence, history: History, curves: list[Curve], what: str) -> Section:
    unit = NAMES.get(next((c for c in COUNTERS if c in history), ""), "rounds")
    errors = [curve for curve in curves if not curve.is_dashed]
    top = None
    if what == "share of wrong answers":  # a bound above 1 says nothing, and would press the errors flat
        highest = max([float(np.nanmax(curve.y)) for curve in errors], default=1.0)
        top = float(min(1.0, max(1.15 * highest, 0.02)))
    drawn = [_thinned(curve) for curve in curves]
    kept = _rounds_kept(result, history)
    spec = charts.curves(drawn, unit, what, marked=kept, top=top)
    figure = Figure(
        "chart-curves", spec, f"{what.capitalize()} over {unit}",
        f"Lines over {int(curves[0].x[-1]):,} {unit}. " + " ".join(_in_words(curve, what) for curve in curves),
        _numbers(drawn, unit), tuple(Key(curve.label, curve.color, curve.is_dashed) for curve in curves),
    )  # fmt: skip
    evidence = _theory(result)
    notes = [*_kept_words(kept, unit), *_bound_words(curves), *([] if evidence is None else _evidence_words(evidence))]
    lead = "At the end: " + "; ".join(f"{c.label} {_value(c.y, what)}" for c in errors or curves) + "."
    lead += f" The loss is {what}." if what.startswith(("half", "mean absolute")) else ""
    return Section("curves", TITLE, lead, figures=(figure,), notes=tuple(notes))


def _thinned(curve: Curve) -> Curve:
    kept = charts.thin(curve.x)
    return curve._replace(x=curve.x[kept], y=curve.y[kept])


def _value(values: Floats, what: str) -> str:
    last = float(values[np.isfinite(values)][-1])
    return format_percent(last) if what == "share of wrong answers" else format_number(last)


def _in_words(curve: Curve, what: str) -> str:
    y = curve.y[np.isfinite(curve.y)]
    return f"{curve.label.capitalize()}: from {_value(y[:1], what)} to {_value(y, what)}."


def _numbers(curves: list[Curve], unit: str, most: int = 12) -> Table:
    """A few rounds of all curves."""
    longest = max(curves, key=lambda curve: curve.x.size).x
    at = longest[np.unique(np.linspace(0, longest.size - 1, min(most, longest.size)).round().astype(np.int64))]
    rows = [(f"{x:,.0f}", *(format_number(float(np.interp(x, c.x, c.y)), 4) for c in curves)) for x in at]
    return table(f"Some of the {unit}", f"#{unit}", rows, [c.label for c in curves])


def _rounds_kept(result: Evidence, history: History) -> float | None:
    """The round that early stopping went back to, if any."""
    n = getattr(result.core, "n_estimators_", None)
    members = getattr(result.core, "members_", None)
    n = len(members) if n is None and isinstance(members, list) else n
    return float(n) if isinstance(n, int | np.integer) and 0 < n < history.n_rounds else None


def _kept_words(kept: float | None, unit: str) -> list[str]:
    if kept is None:
        return []
    return [
        f"The model keeps {kept:.0f} {unit} (dotted line): later ones did not lower the error on the rows that judged."
    ]


def _bound_words(curves: list[Curve]) -> list[str]:
    """Whether the bound of the training error says anything, and from where on."""
    bound = next((c for c in curves if c.is_dashed), None)
    if bound is None:
        return []
    said = np.flatnonzero(bound.y < 1.0)
    if not said.size:
        return ["The bound of the training error stays at 1 or above: it is vacuous, and says nothing here."]
    last = float(bound.y[-1])
    return [
        f"The broken line bounds the training error, not that of new rows; at the end it is {format_number(last)}"
        + (", which proves the training error to be at most that." if last < 1.0 else ", which says nothing.")
    ]


# --- what the theory of boosting promises ----------------------------------------------------------------------------


def _theory(result: Evidence) -> BoostingDiagnostics | None:
    """Margins and bounds, for boosted votes of two classes on their training rows, of a moderate size."""
    core = result.core
    if not (result.is_training and hasattr(core, "agreements") and len(result.classes) == 2):
        return None
    if result.n_rows > MAX_PROGRAM_ROWS or len(core.members_) > 500:
        return None
    return boosting_diagnostics(core, result.core_table, result.y)


def _evidence_words(evidence: BoostingDiagnostics) -> list[str]:
    bounds = (("VC bound", evidence.vc), (f"margin bound at theta = {evidence.theta:g}", evidence.margin))
    empty = [f"the {name} is {format_number(b.value)}" for name, b in bounds if b.value >= 1.0]
    told = [f"the {name} says at most {format_percent(b.value)}, {b.note}" for name, b in bounds if b.value < 1.0]
    words = list[str]()
    if told:
        words.append(f"For new rows {join_names(told)}.")
    if empty:
        words.append(
            f"For new rows {join_names(empty)}, above 1 and so vacuous: theory alone promises nothing here, the "
            "measured errors do the work."
        )
    words.append(
        f"The smallest margin is {format_number(evidence.min_margin)}; the best that a vote of these "
        f"{pluralize(evidence.n_members, 'member')} can have is {format_number(evidence.best_of_members)}."
    )
    return words
