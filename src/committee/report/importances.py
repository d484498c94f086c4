"""Feature importance: every kind that the model has, with the features in one order."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.text import format_number, join_names, pluralize, shorten
from committee.explain.forest_importances import KINDS, forest_importances
from committee.explain.importances import scaled_to_100, tree_importances
from committee.explain.sampled_shap import sampled_shap
from committee.explain.shap import shap_values, tree_sum
from committee.report import _charts as charts
from committee.report._section import Figure, Omitted, Section, table
from committee.report.context import MAX_CELLS, Context, middle
from committee.tabular.rows import take_rows
from committee.tabular.schema import open_table

TITLE = "Feature importance"
MAX_BARS = 12

SAMPLED_ROWS, SAMPLED_ORDERS, MAX_BACKGROUND = 30, 8, 300
"""Rows explained by sampled SHAP values, permutations of the columns for each, and background rows."""

SHAP_ROWS, MIN_SHAP_ROWS = 200, 10
MAX_SHAP_NODES = 40_000_000
"""Maximum of rows x nodes x outputs for exact SHAP values: some seconds."""

TITLES = {
    "permutation": "Permutation importance, out-of-bag vote",
    "tree_permutation": "Permutation importance, single trees",
    "impurity": "Mean decrease in impurity",
    "impurity_oob": "Mean decrease in impurity, out-of-bag",
    "frequency": "Split frequency",
    "node_permutation": "Permutation importance, single nodes",
    "gain": "Gain",
    "model_permutation": "Permutation importance",
    "shap": "Mean |SHAP value|",
    "sampled_shap": "Mean |SHAP value|, sampled",
}


class Importance(NamedTuple):
    """One kind of importance."""

    kind: str
    scaled: Floats  # largest 100
    value: Floats
    stderr: Floats  # nan if unknown
    unit: str


def importances(context: Context) -> Section | Omitted:
    """All kinds of importance side by side."""
    if context.classes.size == 1:
        return Omitted(TITLE, "there is a single class")
    if len(context.names) < 2:
        return Omitted(TITLE, "there is a single column")
    has_oob = context.has_oob_importances
    names, kinds = _of_forest(context) if has_oob else _of_trees(context)
    of_model = [] if has_oob else [_permutation(context)]
    if not has_oob and all(kind.kind != "shap" for kind in kinds):
        of_model.append(_sampled_shap(context))
    found = [kind for kind in of_model if kind is not None]
    if not kinds or names == context.names:
        names, kinds = context.names if not kinds else names, [*found, *kinds]
    if not kinds:
        return Omitted(TITLE, f"no importance of {context.method} is available for this many columns")
    kinds = [kind for kind in kinds if np.any(kind.scaled > 0.0)]
    return _section(names, kinds) if kinds else Omitted(TITLE, "the predictions do not depend on any feature")


def _section(names: tuple[str, ...], kinds: list[Importance]) -> Section:
    mean = np.mean([np.maximum(kind.scaled, 0.0) for kind in kinds], axis=0)
    order = np.argsort(-mean, kind="stable")[:MAX_BARS]
    shown = _unique([shorten(names[f], 24) for f in order])
    n_hidden = len(names) - order.size
    lead = _first(names, kinds) + (f" {pluralize(n_hidden, 'feature')} not shown." if n_hidden else "")
    rows = [(names[f], *(format_number(float(kind.scaled[f])) for kind in kinds)) for f in order]
    scaled = table("Importances scaled to a maximum of 100", "feature", rows, [TITLES[kind.kind] for kind in kinds])
    notes = [
        "Correlated features share their importance or replace each other. Importances are not causal. Error bars: one "
        "standard error.",
        "Importances from training rows are biased towards features with many distinct values; permutation and "
        "out-of-bag importances are not.",
    ]
    if any(kind.kind == "sampled_shap" for kind in kinds):
        notes.append(
            f"SHAP values are estimated on at most {SAMPLED_ROWS} rows with {SAMPLED_ORDERS} permutations of the "
            "features each; sampling noise inflates small values."
        )
    figures = tuple(_figure(kind, shown, order) for kind in kinds)
    return Section("importances", TITLE, lead, figures=figures, collapsed=(scaled,), notes=tuple(notes))


def _first(names: tuple[str, ...], kinds: list[Importance]) -> str:
    """The most important feature by each kind."""
    first = dict[str, list[str]]()
    for kind in kinds:
        first.setdefault(names[int(np.argmax(kind.scaled))], []).append(TITLES[kind.kind])
    if len(first) == 1:
        return f"Most important feature: “{next(iter(first))}”" + (" by all kinds." if len(kinds) > 1 else ".")
    parts = [
        f"“{name}” by {join_names(by) if len(by) < 3 else f'{len(by)} of {len(kinds)} kinds'}"
        for name, by in first.items()
    ]
    return f"Most important feature: {'; '.join(parts)}."


def _unique(names: list[str]) -> list[str]:
    """Shortened names made distinct."""
    n = dict[str, int]()
    out = list[str]()
    for name in names:
        n[name] = n.get(name, 0) + 1
        out.append(name if n[name] == 1 else f"{name} ({n[name]})")
    return out


def _figure(kind: Importance, shown: list[str], order: NDArray[np.int64]) -> Figure:
    title, value, stderr = TITLES[kind.kind], kind.value[order], kind.stderr[order]
    top = [f"{shown[i]} {format_number(float(value[i]), 2)}" for i in np.argsort(-value)[:3]]
    rows = [
        (name, format_number(float(v)), format_number(float(e), 2), format_number(float(scaled)))
        for name, v, e, scaled in zip(shown, value, stderr, kind.scaled[order], strict=True)
    ]
    return Figure(
        f"chart-importance-{kind.kind.replace('_', '-')}", charts.bars(shown, value, stderr, kind.unit),
        title, f"Bars; the largest are {join_names(top)}.",
        table(title, f"feature|#{kind.unit}|#standard error|#scaled", rows), width="small",
    )  # fmt: skip


# --- the kinds --------------------------------------------------------------------------------------------------------


def _of_forest(context: Context) -> tuple[tuple[str, ...], list[Importance]]:
    """All kinds of a forest on its training rows."""
    forest = context.core
    found = forest_importances(
        forest, context.encoded, context.y, kinds=KINDS, random_state=context.seed, n_jobs=forest.n_jobs
    )
    accuracy = "decrease in accuracy" if context.is_classifier else "increase in squared error"
    units = {
        "permutation": "decrease in margin" if context.is_classifier else accuracy,
        "tree_permutation": accuracy,
        "node_permutation": accuracy,
        "impurity": "decrease in impurity, training rows",
        "impurity_oob": "decrease in impurity, out-of-bag rows",
        "frequency": "fraction of splits",
    }
    each = [found.of(kind) for kind in KINDS]
    kinds = [Importance(k.kind, k.values, k.raw, k.standard_error, units[k.kind]) for k in each]
    return found.names, kinds


def _of_trees(context: Context) -> tuple[tuple[str, ...], list[Importance]]:
    """Gain, split frequency and SHAP values of trees; none of other models."""
    try:
        gain, frequency = (tree_importances(context.core, kind) for kind in ("gain", "frequency"))
    except (TypeError, AttributeError):
        return context.names, []
    unknown = np.full(len(gain.names), np.nan)
    kinds = [
        Importance("gain", gain.values, gain.raw, unknown, "decrease in the training loss"),
        Importance("frequency", frequency.values, frequency.raw, unknown, "fraction of splits"),
    ]
    shap = _exact_shap(context, unknown.size)
    return gain.names, kinds if shap is None else [*kinds, shap]


def _exact_shap(context: Context, n_columns: int) -> Importance | None:
    """None if the model is not a sum of trees, or would take minutes."""
    try:
        n_nodes = sum(tree.value.size for tree in tree_sum(context.core).trees)
        n_rows = min(SHAP_ROWS, MAX_SHAP_NODES // max(n_nodes, 1))
        if n_rows < MIN_SHAP_ROWS:
            return None
        X = take_rows(context.encoded, context.draw(n_rows))
        values = np.asarray(shap_values(context.core, X).values, np.float64)
    except (TypeError, ValueError):
        return None
    size = np.abs(values).reshape(len(values), values.shape[1], -1).sum(axis=2)
    return _mean_shap("shap", size, "units of the raw prediction") if size.shape[1] == n_columns else None


def _mean_shap(kind: str, size: Floats, unit: str) -> Importance:
    """Means of absolute SHAP values [m, d]."""
    mean, stderr = size.mean(axis=0), size.std(axis=0, ddof=min(1, len(size) - 1)) / np.sqrt(len(size))
    return Importance(kind, scaled_to_100(mean), mean, stderr, unit)


def _permutation(context: Context) -> Importance | None:
    found = context.permutation
    if found is None:
        return None
    loss = "log-loss" if hasattr(context.model, "predict_proba") else "error rate"
    unit = f"increase in {loss if context.is_classifier else 'mean squared error'}"
    return Importance("model_permutation", found.values, found.mean, found.standard_error, unit)


def _sampled_shap(context: Context) -> Importance | None:
    """By sampling on a few rows, for any model with probabilities or continuous predictions."""
    d = len(context.names)
    n_rows = min(SAMPLED_ROWS, MAX_CELLS // (SAMPLED_ORDERS * (d + 1) * d))
    if n_rows < MIN_SHAP_ROWS or (context.is_classifier and not hasattr(context.model, "predict_proba")):
        return None
    rows = context.draw(MAX_BACKGROUND)
    explained = np.unique(np.linspace(0, rows.size - 1, min(n_rows, rows.size)).astype(np.int64))
    found = sampled_shap(
        lambda X: _output(context, X), open_table(take_rows(context.X, rows)), explained.tolist(),
        n_orders=SAMPLED_ORDERS, seed=context.seed,
    )  # fmt: skip
    unit = "units of the target"
    if context.is_classifier:
        unit = f"probability of {context.classes[1]}" if context.classes.size == 2 else "probability, sum over classes"
    size = np.abs(found.values).reshape(len(found.values), d, -1).sum(axis=2)
    return _mean_shap("sampled_shap", size, unit)


def _output(context: Context, X: Any) -> Floats:
    """Predictions, or probabilities (of two classes that of the second)."""
    if not context.is_classifier:
        return middle(np.asarray(context.model.predict(X), np.float64))
    probability = np.asarray(context.model.predict_proba(X), np.float64)
    return probability[:, 1] if probability.shape[1] == 2 else probability
