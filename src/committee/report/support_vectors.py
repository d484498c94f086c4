"""The plane of a support vector machine: which rows hold it, and how far the others lie from it."""

from __future__ import annotations

import numpy as np

from committee.base.text import format_number, format_percent, pluralize
from committee.explain.svm_geometry import KINDS, SvmGeometry, svm_geometry
from committee.report import _charts as charts
from committee.report._context import Evidence
from committee.report._section import Figure, LeftOut, Section, Tile, table
from committee.svm.linear_svm import LinearSVC
from committee.svm.nu_svm import NuSVC
from committee.svm.svc import SVC

TITLE = "Support vectors"
MAX_ROWS, N_BINS = 20_000, 30
MEANING = {
    "free": "just on the margin: they hold the plane",
    "bounded": "inside the margin or on the wrong side",
    "outside": "beyond the margin: the machine would be the same without them",
}


def support_vectors(result: Evidence) -> Section | LeftOut:
    """Margin, kinds of rows and the gap to the optimum, for machines of two classes on their training rows."""
    core = result.core
    if not isinstance(core, SVC | NuSVC | LinearSVC):
        return LeftOut(TITLE, f"{result.method} is no support vector machine for classes")
    if not result.is_training or len(result.classes) != 2 or result.n_rows > MAX_ROWS:
        return LeftOut(TITLE, f"shown for two classes and at most {MAX_ROWS:,} training rows")
    geometry = svm_geometry(core, result.core_table, result.y)
    n = result.n_rows
    shares = {kind: geometry.count(kind) / n for kind in KINDS}
    tiles = (
        Tile(format_percent(1.0 - shares["outside"]), "of the rows are support vectors"),
        Tile(format_number(geometry.margin), "wide is the margin"),
        Tile(f"{geometry.n_wrong:,}", "training rows on the wrong side"),
    )
    rows = [(kind, f"{geometry.count(kind):,}", format_percent(shares[kind]), MEANING[kind]) for kind in KINDS]
    kinds = table("Kinds of rows", "kind|#rows|#share|meaning", rows)
    lead = (
        f"The plane between {geometry.positive} and {geometry.negative} rests on "
        f"{pluralize(n - geometry.count('outside'), 'row')} of {n:,}; without the others the machine would be the same."
    )
    gap = f"{geometry.duality_gap:.2g} of {geometry.primal:.4g}"
    notes = (f"Duality gap, computed anew: {gap}. At the optimum it is zero.",)
    return Section("support", TITLE, lead, tiles, (_histogram(geometry),), (kinds,), notes=notes)


def _histogram(geometry: SvmGeometry) -> Figure:
    """y f of every row: 1 is the margin, 0 the plane."""
    values = np.asarray(geometry.rows.side * geometry.rows.decision, np.float64)
    low, high = (float(v) for v in np.quantile(values, (0.005, 0.995)))
    edges = np.linspace(min(low, -0.1), max(high, 1.1), N_BINS + 1)
    n = np.histogram(np.clip(values, edges[0], edges[-1]), edges)[0]
    numbers = table(
        "Rows in each bin", "#from|#to|#rows",
        [(format_number(a), format_number(b), f"{c:,}") for a, b, c in zip(edges[:-1], edges[1:], n, strict=True)],
    )  # fmt: skip
    inside, wrong = float(np.mean(values < 1.0)), float(np.mean(values < 0.0))
    alt = (
        f"{format_percent(inside)} of the rows lie before 1, inside the margin, {format_percent(wrong)} before 0, "
        "on the wrong side."
    )
    spec = charts.histogram(edges[:-1], edges[1:], n, "side times decision value")
    return Figure("chart-support", spec, "Where the rows lie: 0 is the plane, 1 the margin", alt, numbers)
