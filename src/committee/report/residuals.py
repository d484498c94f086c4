"""How far the answers of a regression are off, and where."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from committee.report import charts
from committee.report.evidence import Evidence
from committee.report.section import Figure, LeftOut, Section, Table, Tile, table
from committee.report.words import count, level, listing, number, percent

Floats = NDArray[np.float64]

TITLE = "Residuals"
MOST_POINTS, N_BINS = 1_500, 31


def residuals(found: Evidence) -> Section | LeftOut:
    """Truth beside answer, and the distribution of the differences."""
    if found.is_classifier:
        return LeftOut(TITLE, "the target is a class; see which are taken for which")
    judged = found.judged
    if judged.rows.size < 3:
        return LeftOut(TITLE, "too few rows have an answer")
    truth, answer = judged.truth, judged.answer
    error = truth - answer
    rmse, total = float(np.sqrt(np.mean(error**2))), float(np.var(truth))
    tiles = (
        Tile(number(rmse), "root mean squared error"),
        Tile(number(float(np.mean(np.abs(error)))), "mean absolute error"),
        Tile(percent(1.0 - rmse**2 / total) if total > 0.0 else "—", "of the variance explained (R²)"),
    )
    rows = np.sort(np.random.default_rng(found.seed).permutation(truth.size)[:MOST_POINTS])
    sampled = f" ({count(rows.size, 'row')} of {truth.size:,}, drawn at random)" if rows.size < truth.size else ""
    alt = f"Points about the line of equal truth and answer; correlation {number(_correlation(answer, truth), 2)}."
    points = Figure(
        "chart-residuals", charts.scatter(answer[rows], truth[rows], "answer", "truth"),
        f"Truth over answer{sampled}", alt, _quantiles(error), width="narrow",
    )  # fmt: skip
    lead = f"Half of the answers are off by at most {number(float(np.median(np.abs(error))))}. {judged.words}"
    return Section("residuals", TITLE, lead, tiles, (points, _histogram(error)))


def _correlation(a: Floats, b: Floats) -> float:
    return float(np.corrcoef(a, b)[0, 1]) if a.std() > 0.0 and b.std() > 0.0 else np.nan


def _quantiles(error: Floats) -> Table:
    levels = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
    rows = [(level(share), number(float(np.quantile(error, share)))) for share in levels]
    return table("Quantiles of truth less answer", "#share of rows|#at most", rows)


def _histogram(error: Floats) -> Figure:
    """Bins over the middle 99 % of the residuals; those beyond are counted in the outermost ones."""
    low, high = np.quantile(error, (0.005, 0.995))
    reach = float(max(abs(low), abs(high))) or 1.0
    edges = np.linspace(-reach, reach, N_BINS + 1)
    n = np.histogram(np.clip(error, -reach, reach), edges)[0]
    ends = [(number(a), number(b)) for a, b in pairwise(edges)]
    n_low, n_high = int((error < -reach).sum()), int((error > reach).sum())
    ends[0] = (f"{number(error.min())} (beyond the chart)" if n_low else ends[0][0], ends[0][1])
    ends[-1] = (ends[-1][0], f"{number(error.max())} (beyond the chart)" if n_high else ends[-1][1])
    numbers = table("Rows in each bin", "#from|#to|#rows", [(*each, f"{c:,}") for each, c in zip(ends, n, strict=True)])
    beyond = [f"{c:,} below {number(e)}" for c, e in ((n_low, -reach),) if c]
    beyond += [f"{c:,} above {number(e)}" for c, e in ((n_high, reach),) if c]
    title = "How far the answers are off"
    title += f" (the outermost bars hold the rows beyond them too: {listing(beyond)})" if beyond else ""
    alt = f"Histogram of truth less answer: mean {number(float(error.mean()))}, deviation {number(float(error.std()))}."
    spec = charts.histogram(edges[:-1], edges[1:], n, "truth less answer")
    return Figure("chart-residual-histogram", spec, title, alt, numbers, width="narrow")
