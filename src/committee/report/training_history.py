"""Training history: losses and bounds by iteration."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from committee.base.array_types import Floats
from committee.base.text import format_number, format_percent, pluralize
from committee.explain.boosting_diagnostics import boosting_diagnostics
from committee.records.history import History
from committee.report import _charts as charts
from committee.report._charts import Curve
from committee.report._section import Color, Figure, Omitted, Section, table
from committee.report.context import Context, middle
from committee.tabular.rows import take_rows

TITLE = "Training history"
MAX_PROGRAM_ROWS, MAX_PROGRAM_MEMBERS = 1_000, 500
"""Rows and members up to which the maximum margin is computed by linear programming."""

N_SHOWN = 12
"""Iterations in the table."""


class Column(NamedTuple):
    """A column of a history that is drawn."""

    name: str
    label: str
    color: Color
    is_bound: bool = False


ERRORS = (
    Column("train_error", "training error", "grey"),
    Column("validation_error", "validation error", "green"),
    Column("oob_error", "out-of-bag error", "blue"),
    Column("member_oob_error", "out-of-bag error of the member of the round", "orange"),
    Column("prequential_error", "prequential error", "blue"),
    Column("exponential_risk", "bound of the training error", "red", True),
)
LOSSES = (Column("train_loss", "training loss", "grey"), Column("validation_loss", "validation loss", "green"))
LIKELIHOOD = (Column("log_likelihood", "log-likelihood of the training rows", "blue"),)
GAPS = (Column("gap", "violation of the optimality conditions", "blue"),)

UNITS = {
    "round": "rounds", "tree": "trees", "iteration": "iterations", "epoch": "epochs", "n_seen": "rows seen",
    "step": "steps",
}  # fmt: skip
RATE = "error rate"
LOSS_NAMES = {"squared_error": "half the mean squared error", "absolute_error": "mean absolute error"}


def training_history(context: Context) -> Section | Omitted:
    """What the fit recorded at every iteration."""
    history: History | None = getattr(context.core, "history_", None)
    if history is None or history.n_rounds < 2:
        return Omitted(TITLE, f"{context.method} is not fitted iteratively")
    loss = getattr(context.core, "loss", None)
    loss = LOSS_NAMES.get(loss, loss.replace("_", " ")) if isinstance(loss, str) and loss != "auto" else "loss"
    groups = (
        (ERRORS, RATE if context.is_classifier else "mean squared error"), (LOSSES, loss),
        (LIKELIHOOD, "log-likelihood"), (GAPS, "gap"),
    )  # fmt: skip
    for columns, what in groups:
        curves = _recorded(history, columns)
        if columns is ERRORS and curves:
            curves += _on_new_rows(context, history)
        if curves:
            return _section(context, history, curves, what)
    return Omitted(TITLE, f"{context.method} records no errors")


def _counter(history: History) -> tuple[str, Floats]:
    """The unit of the iterations, and their numbers."""
    name = next((name for name in UNITS if name in history), None)
    if name is None:
        return "rounds", np.arange(1.0, history.n_rounds + 1)
    return UNITS[name], np.asarray(history[name], np.float64)


def _recorded(history: History, columns: tuple[Column, ...]) -> list[Curve]:
    """The curves of a history; none if it is that of several problems, one after the other."""
    x = _counter(history)[1]
    found = [(column, np.asarray(history[column.name], np.float64)) for column in columns if column.name in history]
    if (np.diff(x) <= 0).any():
        return []
    return [Curve(c.label, x, y, c.color, c.is_bound) for c, y in found if y.ndim == 1 and not np.isnan(y).all()]


def _on_new_rows(context: Context, history: History) -> list[Curve]:
    if context.has_training_rows or not hasattr(context.core, "staged_predict"):
        return []
    y, staged = context.y[context.sample], context.core.staged_predict(take_rows(context.encoded, context.sample))
    losses = [np.mean(p != y) if context.is_classifier else np.mean((middle(p) - y) ** 2) for p in staged]
    x = _counter(history)[1][: len(losses)]
    return [Curve(f"error on {context.row_kind}", x, np.array(losses[: x.size], np.float64), "purple")]


def _section(context: Context, history: History, curves: list[Curve], what: str) -> Section:
    unit = _counter(history)[0]
    errors = [curve for curve in curves if not curve.is_dashed]
    top = None
    if what == RATE:  # a bound above 1 would flatten the errors
        top = min(1.0, max(1.15 * max((float(np.nanmax(curve.y)) for curve in errors), default=1.0), 0.02))
    drawn = [curve._replace(x=curve.x[kept], y=curve.y[kept]) for curve in curves for kept in [charts.thin(curve.x)]]
    n_kept = _n_kept(context.core, history)
    x = max(drawn, key=lambda curve: curve.x.size).x
    x = x[np.unique(np.linspace(0, x.size - 1, min(N_SHOWN, x.size)).round().astype(np.int64))]
    rows = [(f"{at:,.0f}", *(format_number(float(np.interp(at, c.x, c.y)), 4) for c in drawn)) for at in x]
    figure = Figure(
        "chart-history", charts.curves(drawn, unit, what, marked=n_kept, top=top),
        f"{what.capitalize()} by number of {unit}",
        f"Lines over {int(curves[0].x[-1]):,} {unit}. " + "; ".join(_range(curve, what) for curve in curves) + ".",
        table(f"Some {unit}", f"#{unit}", rows, [c.label for c in drawn]),
        tuple(curve.key for curve in curves),
    )  # fmt: skip
    kept = [] if n_kept is None else [f"Early stopping kept {n_kept:.0f} {unit} (dotted line)."]
    lead = "Final " + "; ".join(f"{c.label} {_final(c.y, what)}" for c in errors or curves) + "."
    lead += f" The loss is {what}." if what in LOSS_NAMES.values() else ""
    return Section("history", TITLE, lead, figures=(figure,), notes=(*kept, *_bound(curves), *_theory(context)))


def _final(values: Floats, what: str) -> str:
    last = float(values[np.isfinite(values)][-1])
    return format_percent(last) if what == RATE else format_number(last)


def _range(curve: Curve, what: str) -> str:
    y = curve.y[np.isfinite(curve.y)]
    return f"{curve.label} from {_final(y[:1], what)} to {_final(y, what)}"


def _n_kept(core: Any, history: History) -> float | None:
    """Number of rounds that early stopping kept, if fewer than fitted."""
    members = getattr(core, "members_", None)
    n = getattr(core, "n_estimators_", len(members) if isinstance(members, list) else None)
    return float(n) if isinstance(n, int | np.integer) and 0 < n < history.n_rounds else None


def _bound(curves: list[Curve]) -> list[str]:
    """Whether the bound of the training error is informative."""
    bound = next((c.y for c in curves if c.is_dashed), None)
    if bound is None:
        return []
    last = float(bound[-1])
    return [f"The final bound of the training error is {format_number(last)}{'' if last < 1.0 else ', hence vacuous'}."]


def _theory(context: Context) -> list[str]:
    """Bounds of the generalization error, and margins, of a booster of two classes on its training rows."""
    core = context.core
    if not (context.is_training and hasattr(core, "agreements") and context.classes.size == 2):
        return []
    if context.n_rows > MAX_PROGRAM_ROWS or len(core.members_) > MAX_PROGRAM_MEMBERS:
        return []
    found = boosting_diagnostics(core, context.encoded, context.y)
    notes = [
        f"{name} of the generalization error: "
        + (f"{format_number(b.value)} (vacuous)." if b.value >= 1.0 else f"{format_percent(b.value)}, {b.note}.")
        for name, b in (("VC bound", found.vc), (f"Margin bound (theta = {found.theta:g})", found.margin))
        if not np.isnan(b.value)
    ]
    return [
        *notes,
        f"Minimum margin {format_number(found.min_margin)}; the maximum for a vote of these "
        f"{pluralize(found.n_members, 'member')} is {format_number(found.best_of_members)}.",
    ]
