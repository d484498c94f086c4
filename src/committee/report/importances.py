"""Which columns matter: every kind of importance that the model can give, side by side (D-3 to D-7, G-7, J-2)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.explain.forest_importances import KINDS, ForestImportance, forest_importances
from committee.explain.importances import log_likelihood, permutation_importances, scaled_to_100, tree_importances
from committee.explain.shap import shap_values, tree_sum
from committee.forests.forest import BaseForest
from committee.report import charts
from committee.report.evidence import Evidence, middle
from committee.report.section import Figure, LeftOut, Section, table
from committee.report.words import clip, count, listing, number

Floats = NDArray[np.float64]

TITLE = "Which columns matter"
MOST_BARS = 12
MOST_CELLS = 3_000_000
"""Cells of the tables that are predicted to permute columns: keeps it to seconds."""

MOST_JUDGED = 30_000_000
"""Rows times trees up to which a forest's rows out of bag are asked."""

MEANING = {
    "permutation": ("Values exchanged out of bag", "harm to the vote of the trees that did not see a row"),
    "tree_permutation": ("Values exchanged tree by tree", "harm to each tree's own rows out of bag"),
    "impurity": ("Impurity falls", "what the column's splits promised on the training rows"),
    "impurity_oob": ("Impurity falls out of bag", "the same on rows a tree did not see"),
    "frequency": ("Number of splits", "how often trees ask for the column"),
    "node_permutation": ("Values exchanged node by node", "harm at each split on its own"),
    "gain": ("Falls of the loss", "what the column's splits promised on the training rows"),
    "exchange": ("Values exchanged", "fall of the score when the column's values go to other rows"),
    "shap": ("Shares of single answers", "mean size of the column's SHAP value"),
}


SHAP_ROWS, FEWEST_SHAP_ROWS = 200, 10
MOST_WALKED = 40_000_000
"""Rows times nodes times outputs whose SHAP values are computed: some seconds."""


class Kind(NamedTuple):
    """One kind of importance, the largest 100."""

    kind: str
    values: Floats
    error: Floats  # nan where there is none


def importances(found: Evidence) -> Section | LeftOut:
    """All kinds, with the columns in one order so that they can be compared."""
    if found.is_classifier and len(found.classes) < 2:
        return LeftOut(TITLE, "the model knows a single class")
    if found.table.shape[1] < 2:
        return LeftOut(TITLE, "there is a single column")
    core_names, kinds = _forest_kinds(found) if _has_unseen_rows(found) else _tree_kinds(found)
    exchanged = _exchanged(found)
    kinds = [*([] if exchanged is None else [exchanged]), *kinds] if core_names == found.names else kinds
    names = core_names
    if not kinds and exchanged is not None:
        kinds, names = [exchanged], found.names
    if not kinds:
        return LeftOut(TITLE, f"no importance of {found.method} can be had in reasonable time on so wide a table")
    kinds = [kind for kind in kinds if np.any(kind.values > 0.0)]
    if not kinds:
        return LeftOut(TITLE, "no column changes the answers: the model answers without looking at any")
    return _section(found, names, kinds)


def _section(found: Evidence, names: tuple[str, ...], kinds: list[Kind]) -> Section:
    together = np.mean([np.maximum(kind.values, 0.0) for kind in kinds], axis=0)
    order = np.argsort(-together, kind="stable")[:MOST_BARS]
    shown = _distinct([clip(names[f], 24) for f in order])
    figures = tuple(_figure(kind, shown, order) for kind in kinds)
    lead = _first_in_words(names, kinds)
    left_out = len(names) - order.size
    lead += " The largest is scaled to 100." + (
        f" {count(left_out, 'column')} of less weight {'is' if left_out == 1 else 'are'} not drawn." if left_out else ""
    )
    rows = [(names[f], *(number(float(kind.values[f]), 3) for kind in kinds)) for f in order]
    numbers = table("All kinds, the largest 100", "column", rows, [MEANING[kind.kind][0] for kind in kinds])
    notes = (
        "Columns that say the same share their importance, or stand in for each other when one is exchanged. None of "
        "these figures says what would happen if a column were changed in the world.",
        "Falls on training rows favour columns with many values; exchanged values and out-of-bag falls do not.",
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
        f"“{name}” comes first by {listing(by) if len(by) < 3 else f'{len(by)} of {len(kinds)} kinds of importance'}"
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
    values, error = kind.values[order], kind.error[order]
    top = [f"{shown[i]} {number(float(values[i]), 2)}" for i in np.argsort(-values)[:3]]
    rows = [(name, number(float(v), 3), number(float(e), 2)) for name, v, e in zip(shown, values, error, strict=True)]
    return Figure(
        f"chart-importance-{kind.kind.replace('_', '-')}", charts.bars(shown, values, error, title),
        f"{title}: {meaning}", f"Bars; largest are {listing(top)}.",
        table(title, "column|#importance|#standard error", rows), width="small",
    )  # fmt: skip


# --- the kinds -------------------------------------------------------------------------------------------------------


def _has_unseen_rows(found: Evidence) -> bool:
    """Whether the model is a forest whose own rows out of bag can tell, in reasonable time."""
    return found.is_judged_forest and found.n_rows * len(found.core.trees_) <= MOST_JUDGED


def _forest_kinds(found: Evidence) -> tuple[tuple[str, ...], list[Kind]]:
    """All six of a forest on its training rows."""
    forest: BaseForest = found.core
    kinds = forest_importances(
        forest, found.core_table, found.y, kinds=KINDS, random_state=found.seed, n_jobs=forest.n_jobs
    )
    return kinds.names, [_of_forest(kinds.of(kind)) for kind in KINDS]


def _of_forest(found: ForestImportance) -> Kind:
    largest = float(found.raw.max())
    error = 100.0 * found.standard_error / largest if largest > 0.0 else np.full(found.raw.size, np.nan)
    return Kind(found.kind, found.values, error)


def _tree_kinds(found: Evidence) -> tuple[tuple[str, ...], list[Kind]]:
    """By the splits of trees, and by SHAP values; nothing for models without trees."""
    try:
        by_splits = [tree_importances(found.core, kind) for kind in ("gain", "frequency")]
    except (TypeError, AttributeError):
        return found.names, []
    nothing = np.full(len(by_splits[0].names), np.nan)
    kinds = [Kind(one.kind, one.values, nothing) for one in by_splits]
    shap = _shap(found, nothing)
    return by_splits[0].names, kinds if shap is None else [*kinds, shap]


def _shap(found: Evidence, nothing: Floats) -> Kind | None:
    """None for models that are no sum of trees, and where deep trees of many classes would take minutes."""
    try:
        trees = tree_sum(found.core).trees
        n_rows = min(SHAP_ROWS, MOST_WALKED // max(sum(tree.value.size for tree in trees), 1))
        if n_rows < FEWEST_SHAP_ROWS:
            return None
        values = np.asarray(shap_values(found.core, found.take_core(found.sample(n_rows))).values, np.float64)
    except (TypeError, ValueError):
        return None
    size = np.abs(values).mean(axis=0)
    size = size if size.ndim == 1 else size.sum(axis=-1)
    return Kind("shap", scaled_to_100(size), nothing) if size.size == nothing.size else None


def _less_squared_error(model: Any, X: Any, y: Any) -> float:
    """A score for any regressor, of one answer for each row or of several quantiles."""
    return -float(np.mean((np.asarray(y, np.float64) - middle(np.asarray(model.predict(X), np.float64))) ** 2))


def _exchanged(found: Evidence, n_repeats: int = 3) -> Kind | None:
    """By permutation on rows of the table, for any model; not for forests, which have better rows for it."""
    if _has_unseen_rows(found):
        return None
    d = found.table.shape[1]
    most = MOST_CELLS // (d * n_repeats * d)
    if most < 50:
        return None
    rows = found.sample(min(most, 1_000))
    rows = rows[found.codes[rows] >= 0] if found.is_classifier else rows
    table: Any = found.take(rows)
    target, scoring = found.y[rows], None
    if not found.is_classifier:
        scoring = _less_squared_error
    elif hasattr(found.model, "predict_proba"):
        target, scoring = found.codes[rows], log_likelihood
    exchanged = permutation_importances(
        found.model, table, target, n_repeats=n_repeats, scoring=scoring, random_state=found.seed
    )
    largest = float(exchanged.mean.max())
    error = 100.0 * exchanged.standard_error / largest if largest > 0.0 else np.full(d, np.nan)
    return Kind("exchange", exchanged.values, error)
