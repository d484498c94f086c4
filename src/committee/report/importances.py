"""Which columns matter: every kind of importance that the model can give, side by side."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.text import format_number, join_names, pluralize, shorten
from committee.explain._sampled_shap import sampled_shap
from committee.explain.forest_importances import KINDS, ForestImportance, forest_importances
from committee.explain.importances import scaled_to_100, tree_importances
from committee.explain.shap import shap_values, tree_sum
from committee.forests._base import BaseForest
from committee.report import _charts as charts
from committee.report._context import MAX_CELLS, Evidence, middle
from committee.report._section import Figure, LeftOut, Section, table
from committee.tabular.schema import open_table

TITLE = "Which columns matter"
MAX_BARS = 12
SAMPLED_ROWS, SAMPLED_ORDERS, MAX_BACKGROUND = 30, 8, 300
"""Rows explained by sampled SHAP values, random orders of the columns for each, and rows of the background."""

MAX_JUDGED = 30_000_000
"""Rows times trees up to which a forest's rows out of bag are asked."""

MEANING = {
    "permutation": ("Permutation importance, out of bag", "by the vote of the trees that did not see a row"),
    "tree_permutation": ("Permutation importance, tree by tree", "on each tree's own out-of-bag rows"),
    "impurity": ("Mean decrease in impurity", "on the training rows"),
    "impurity_oob": ("Mean decrease in impurity, out of bag", "the same on rows that a tree did not see"),
    "frequency": ("Number of splits", "fraction of all splits that use the column"),
    "node_permutation": ("Permutation importance, node by node", "values permuted at one split at a time"),
    "gain": ("Gain", "decrease of the training loss by the column's splits"),
    "exchange": ("Permutation importance", "values of the column permuted among the rows"),
    "shap": ("SHAP, mean absolute value", "exact values of the trees"),
    "sampled_shap": ("SHAP, mean absolute value", "estimated by sampling"),
}


SHAP_ROWS, MIN_SHAP_ROWS = 200, 10
MAX_WALKED = 40_000_000
"""Rows times nodes times outputs whose SHAP values are computed: some seconds."""


class Kind(NamedTuple):
    """One kind of importance."""

    kind: str
    values: Floats  # the largest 100
    raw: Floats  # in its unit
    error: Floats  # of raw; nan where there is none
    unit: str


def importances(result: Evidence) -> Section | LeftOut:
    """All kinds, with the columns in one order so that they can be compared."""
    if result.is_classifier and len(result.classes) < 2:
        return LeftOut(TITLE, "the model knows a single class")
    if result.table.shape[1] < 2:
        return LeftOut(TITLE, "there is a single column")
    core_names, kinds = _forest_kinds(result) if _has_unseen_rows(result) else _tree_kinds(result)
    exchanged = _permuted(result)
    sampled = None if any(kind.kind == "shap" for kind in kinds) or _has_unseen_rows(result) else _sampled_shap(result)
    of_model = [kind for kind in (exchanged, sampled) if kind is not None]
    kinds = [*of_model, *kinds] if core_names == result.names else kinds
    names = core_names
    if not kinds:
        kinds, names = of_model, result.names
    if not kinds:
        return LeftOut(TITLE, f"no importance of {result.method} can be had in reasonable time on so wide a table")
    kinds = [kind for kind in kinds if np.any(kind.values > 0.0)]
    if not kinds:
        return LeftOut(TITLE, "no column changes the answers: the model answers without looking at any")
    return _section(result, names, kinds)


def _section(result: Evidence, names: tuple[str, ...], kinds: list[Kind]) -> Section:
    together = np.mean([np.maximum(kind.values, 0.0) for kind in kinds], axis=0)
    order = np.argsort(-together, kind="stable")[:MAX_BARS]
    shown = _distinct([shorten(names[f], 24) for f in order])
    figures = tuple(_figure(kind, shown, order) for kind in kinds)
    lead = _first_in_words(names, kinds)
    left_out = len(names) - order.size
    lead += (
        f" {pluralize(left_out, 'column')} of less weight {'is' if left_out == 1 else 'are'} not drawn."
        if left_out
        else ""
    )
    rows = [(names[f], *(format_number(float(kind.values[f]), 3) for kind in kinds)) for f in order]
    numbers = table(
        "All kinds, scaled so that the largest is 100", "column", rows, [MEANING[kind.kind][0] for kind in kinds]
    )
    notes = (
        "Correlated columns share their importance, or stand in for each other when one is permuted. None of these "
        "figures is causal. Bars with a line show ± one standard error.",
        "Decreases on training rows favour columns with many values; permutation and out-of-bag decreases do not.",
    )
    if any(kind.kind == "sampled_shap" for kind in kinds):
        notes += (
            f"SHAP values were estimated on up to {SAMPLED_ROWS} rows with {SAMPLED_ORDERS} random orders of the "
            "columns each; the standard error is that of the mean over rows. The noise of the estimate makes small "
            "values look larger than they are.",
        )
    return Section("importances", TITLE, lead, figures=figures, folded=(numbers,), notes=notes)


def _first_in_words(names: tuple[str, ...], kinds: list[Kind]) -> str:
    """Which column comes first, by which kinds."""
    firsts = dict[str, list[str]]()
    for kind in kinds:
        firsts.setdefault(names[int(np.argmax(kind.values))], []).append(MEANING[kind.kind][0].lower())
    if len(firsts) == 1:
        name, by = next(iter(firsts.items()))
        return (
            f"“{name}” comes first." if len(by) == 1 else f"“{name}” comes first by all {len(by)} kinds of importance."
        )
    parts = [
        f"“{name}” comes first by {join_names(by) if len(by) < 3 else f'{len(by)} of {len(kinds)} kinds of importance'}"
        for name, by in firsts.items()
    ]
    return "; ".join(parts) + "."


def _distinct(names: list[str]) -> list[str]:
    """Names cut short must not fall together: a chart would draw them as one."""
    seen = dict[str, int]()
    out = list[str]()
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        out.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return out


def _figure(kind: Kind, shown: list[str], order: NDArray[np.int64]) -> Figure:
    title, meaning = MEANING[kind.kind]
    raw, error = kind.raw[order], kind.error[order]
    top = [f"{shown[i]} {format_number(float(raw[i]), 2)}" for i in np.argsort(-raw)[:3]]
    rows = [
        (name, format_number(float(v), 3), format_number(float(e), 2), format_number(float(scaled), 3))
        for name, v, e, scaled in zip(shown, raw, error, kind.values[order], strict=True)
    ]
    return Figure(
        f"chart-importance-{kind.kind.replace('_', '-')}", charts.bars(shown, raw, error, kind.unit),
        f"{title}: {kind.unit} ({meaning})", f"Bars; largest are {join_names(top)}.",
        table(title, f"column|#{kind.unit}|#standard error|#largest 100", rows), width="small",
    )  # fmt: skip


# --- the kinds -------------------------------------------------------------------------------------------------------


def _has_unseen_rows(result: Evidence) -> bool:
    """Whether the model is a forest whose own rows out of bag can tell, in reasonable time."""
    return result.is_judged_forest and result.n_rows * len(result.core.trees_) <= MAX_JUDGED


def _forest_kinds(result: Evidence) -> tuple[tuple[str, ...], list[Kind]]:
    """All six of a forest on its training rows."""
    forest: BaseForest = result.core
    kinds = forest_importances(
        forest, result.core_table, result.y, kinds=KINDS, random_state=result.seed, n_jobs=forest.n_jobs
    )
    return kinds.names, [_of_forest(kinds.of(kind), result.is_classifier) for kind in KINDS]


def _of_forest(result: ForestImportance, is_classifier: bool) -> Kind:
    units = {
        "permutation": "decrease of the margin" if is_classifier else "increase in squared error",
        "tree_permutation": "decrease in accuracy" if is_classifier else "increase in squared error",
        "node_permutation": "decrease in accuracy" if is_classifier else "increase in squared error",
        "frequency": "fraction of splits",
    }
    return Kind(result.kind, result.values, result.raw, result.standard_error, units.get(result.kind, "impurity"))


def _tree_kinds(result: Evidence) -> tuple[tuple[str, ...], list[Kind]]:
    """By the splits of trees, and by SHAP values; nothing for models without trees."""
    try:
        by_splits = [tree_importances(result.core, kind) for kind in ("gain", "frequency")]
    except (TypeError, AttributeError):
        return result.names, []
    nothing = np.full(len(by_splits[0].names), np.nan)
    units = {"gain": "decrease of the loss", "frequency": "fraction of splits"}
    kinds = [Kind(one.kind, one.values, one.raw, nothing, units[one.kind]) for one in by_splits]
    shap = _shap(result, nothing)
    return by_splits[0].names, kinds if shap is None else [*kinds, shap]


def _shap(result: Evidence, nothing: Floats) -> Kind | None:
    """None for models that are no sum of trees, and where deep trees of many classes would take minutes."""
    try:
        trees = tree_sum(result.core).trees
        n_rows = min(SHAP_ROWS, MAX_WALKED // max(sum(tree.value.size for tree in trees), 1))
        if n_rows < MIN_SHAP_ROWS:
            return None
        values = np.asarray(shap_values(result.core, result.take_core(result.sample(n_rows))).values, np.float64)
    except (TypeError, ValueError):
        return None
    size = np.abs(values).mean(axis=0)
    size = size if size.ndim == 1 else size.sum(axis=-1)
    if size.size != nothing.size:
        return None
    error = np.abs(values).reshape(len(values), size.size, -1).sum(axis=2).std(axis=0) / np.sqrt(len(values))
    return Kind("shap", scaled_to_100(size), size, error, "in units of the model's output")


def _permuted(result: Evidence) -> Kind | None:
    """By permutation on rows of the table, for any model; not for forests, which have out-of-bag rows for it."""
    if _has_unseen_rows(result) or result.permuted is None:
        return None
    permuted = result.permuted
    return Kind(
        "exchange", permuted.values, permuted.mean, permuted.standard_error, f"increase in {result.permuted_loss}"
    )


def _sampled_shap(result: Evidence) -> Kind | None:
    """Mean size of the SHAP values of a few rows, by sampling, for models that are no sum of trees."""
    d = result.table.shape[1]
    n_rows = min(SAMPLED_ROWS, MAX_CELLS // (SAMPLED_ORDERS * (d + 1) * d))
    if n_rows < MIN_SHAP_ROWS or (result.is_classifier and not hasattr(result.model, "predict_proba")):
        return None
    rows = result.sample(MAX_BACKGROUND)
    explained = np.unique(np.linspace(0, rows.size - 1, min(n_rows, rows.size)).astype(np.int64))
    shap = sampled_shap(
        lambda X: _outputs(result, X), open_table(result.take(rows)), explained.tolist(), n_orders=SAMPLED_ORDERS,
        seed=result.seed,
    )  # fmt: skip
    size = np.abs(shap.values) if shap.values.ndim == 2 else np.abs(shap.values).sum(axis=2)  # [m, d]
    error = size.std(axis=0, ddof=1) / np.sqrt(len(size)) if len(size) > 1 else np.full(d, np.nan)
    return Kind("sampled_shap", scaled_to_100(size.mean(axis=0)), size.mean(axis=0), error, _shap_unit(result))


def _outputs(result: Evidence, X: Any) -> Floats:
    """What is explained: predictions, or probabilities (of two classes that of the second)."""
    if not result.is_classifier:
        return middle(np.asarray(result.model.predict(X), np.float64))
    shares = np.asarray(result.model.predict_proba(X), np.float64)
    return shares[:, 1] if shares.shape[1] == 2 else shares


def _shap_unit(result: Evidence) -> str:
    if not result.is_classifier:
        return "in units of the target"
    return f"probability of {result.classes[1]}" if len(result.classes) == 2 else "probability, summed over classes"
