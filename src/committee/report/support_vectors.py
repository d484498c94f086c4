"""Geometry of a support vector machine: margin, support vectors and duality gap."""

from __future__ import annotations

import numpy as np

from committee.base.text import format_number, format_percent, pluralize
from committee.explain.svm_geometry import KINDS, SvmGeometry, svm_geometry
from committee.report import _charts as charts
from committee.report._section import Figure, Omitted, Section, Tile, table
from committee.report.context import Context
from committee.svm.linear_svm import LinearSVC
from committee.svm.nu_svm import NuSVC
from committee.svm.svc import SVC

TITLE = "Support vectors"
MAX_ROWS, N_BINS = 20_000, 30
MEANING = {
    "free": "on the margin",
    "bounded": "inside the margin or misclassified",
    "outside": "beyond the margin, no influence on the solution",
}


def support_vectors(context: Context) -> Section | Omitted:
    """Margin, kinds of rows and duality gap, for two classes and training rows."""
    core, n = context.core, context.n_rows
    if not isinstance(core, SVC | NuSVC | LinearSVC):
        return Omitted(TITLE, f"{context.method} is not a support vector classifier")
    if not context.is_training or context.classes.size != 2 or n > MAX_ROWS:
        return Omitted(TITLE, f"shown for two classes and at most {MAX_ROWS:,} training rows")
    found = svm_geometry(core, context.encoded, context.y)
    n_support = n - found.count("outside")
    tiles = (
        Tile(format_percent(n_support / n), "of the rows are support vectors"),
        Tile(format_number(found.margin), "width of the margin"),
        Tile(f"{found.n_wrong:,}", "misclassified training rows"),
    )
    rows = [(kind, f"{found.count(kind):,}", format_percent(found.count(kind) / n), MEANING[kind]) for kind in KINDS]
    lead = (
        f"The boundary between {found.positive} and {found.negative} depends on {n_support:,} of {pluralize(n, 'row')}."
    )
    notes = (f"Duality gap {found.duality_gap:.2g} (primal objective {found.primal:.4g}); zero at the optimum.",)
    kinds = table("Rows by their position", "position|#rows|#fraction|meaning", rows)
    return Section("support-vectors", TITLE, lead, tiles, (_histogram(found),), (kinds,), notes=notes)


def _histogram(found: SvmGeometry) -> Figure:
    """y f(x) of the rows: 1 on the margin, 0 on the boundary."""
    values = np.asarray(found.rows.side * found.rows.decision, np.float64)
    low, high = (float(v) for v in np.quantile(values, (0.005, 0.995)))
    edges = np.linspace(min(low, -0.1), max(high, 1.1), N_BINS + 1)
    n = np.histogram(np.clip(values, edges[0], edges[-1]), edges)[0]
    rows = [(*map(format_number, ends), f"{c:,}") for *ends, c in zip(edges[:-1], edges[1:], n, strict=True)]
    inside, wrong = float(np.mean(values < 1.0)), float(np.mean(values < 0.0))
    return Figure(
        "chart-support-vectors", charts.histogram(edges, n, "y f(x)"), "Signed decision values (margin at 1)",
        f"Histogram: {format_percent(inside)} of the rows inside the margin, {format_percent(wrong)} misclassified.",
        table("Bins", "#from|#to|#rows", rows),
    )  # fmt: skip
