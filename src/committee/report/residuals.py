"""How far the predictions of a regression are off, in which direction, and where."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from committee.base.array_types import Floats
from committee.base.text import format_level, format_number, format_percent, join_names, pluralize
from committee.report import _charts as charts
from committee.report._context import Evidence, Judged
from committee.report._section import Figure, LeftOut, Section, Table, Tile, table

TITLE = "Residuals"
MAX_POINTS, N_BINS = 1_500, 31


class Bias(NamedTuple):
    """Truth less prediction on average over rows, its standard error, and the fraction of rows where it is positive."""

    mean: float
    error: float
    positive: float

    @classmethod
    def of(cls, error: Floats) -> Bias:
        """Of residuals.

        >>> Bias.of(np.array([1.0, 3.0, -1.0, 1.0])).words
        ''
        >>> Bias.of(np.array([1.0, 3.0, 2.0, 2.0])).words[:54]
        'The predictions are too low: truth less prediction is '
        """
        n = error.size
        spread = float(error.std(ddof=1) / np.sqrt(n)) if n > 1 else np.nan
        return cls(float(error.mean()), spread, float(np.mean(error > 0.0)))

    @property
    def is_clear(self) -> bool:
        """Whether the mean is further from zero than two standard errors."""
        return bool(abs(self.mean) > 2.0 * self.error)

    @property
    def words(self) -> str:
        """A sentence about a bias that is clear; empty if there is none."""
        if not self.is_clear:
            return ""
        return (
            f"The predictions are too {'low' if self.mean > 0.0 else 'high'}: truth less prediction is "
            f"{format_number(self.mean, stderr=self.error)} on average, positive for {format_percent(self.positive)} "
            "of rows."
        )


def bias_words(judged: Judged) -> str:
    """A sentence about the bias of predictions of rows that the model was not fitted on; empty without one."""
    is_known = judged.truth.dtype.kind == "f" and judged.is_honest and judged.rows.size > 2
    return Bias.of(judged.truth - judged.answer).words if is_known else ""


def residuals(result: Evidence) -> Section | LeftOut:
    """Truth beside prediction, the bias, and the distribution of the differences."""
    if result.is_classifier:
        return LeftOut(TITLE, "the target is a class; see which are taken for which")
    judged = result.judged
    if judged.rows.size < 3:
        return LeftOut(TITLE, "too few rows have a prediction")
    truth, answer = judged.truth, judged.answer
    error = truth - answer
    rmse, total = float(np.sqrt(np.mean(error**2))), float(np.var(truth))
    bias = Bias.of(error)
    tiles = (
        Tile(format_number(rmse), "root mean squared error"),
        Tile(format_number(float(np.mean(np.abs(error)))), "mean absolute error"),
        Tile(format_percent(1.0 - rmse**2 / total) if total > 0.0 else "—", "of the variance explained (R²)"),
        Tile(format_number(bias.mean, stderr=bias.error), "mean residual: truth less prediction"),
        Tile(format_percent(bias.positive), "of residuals are positive"),
    )
    rows = np.sort(np.random.default_rng(result.seed).permutation(truth.size)[:MAX_POINTS])
    sampled = f" ({pluralize(rows.size, 'row')} of {truth.size:,}, drawn at random)" if rows.size < truth.size else ""
    correlation = format_number(_correlation(answer, truth), 2)
    alt = f"Points about the line of equal truth and prediction; correlation {correlation}."
    points = Figure(
        "chart-residuals", charts.scatter(answer[rows], truth[rows], "prediction", "truth"),
        f"Truth over prediction{sampled}", alt, _quantiles(error), width="narrow",
    )  # fmt: skip
    half = f"Half of the predictions are off by at most {format_number(float(np.median(np.abs(error))))}."
    lead = " ".join(filter(None, [half, bias.words, judged.words]))
    return Section("residuals", TITLE, lead, tiles, (points, _histogram(error)))


def _correlation(a: Floats, b: Floats) -> float:
    return float(np.corrcoef(a, b)[0, 1]) if a.std() > 0.0 and b.std() > 0.0 else np.nan


def _quantiles(error: Floats) -> Table:
    levels = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
    rows = [(format_level(share), format_number(float(np.quantile(error, share)))) for share in levels]
    return table("Quantiles of truth less prediction", "#fraction of rows|#at most", rows)


def _histogram(error: Floats) -> Figure:
    """Bins over the middle 99 % of the residuals; those beyond are counted in the outermost ones."""
    low, high = np.quantile(error, (0.005, 0.995))
    reach = float(max(abs(low), abs(high))) or 1.0
    edges = np.linspace(-reach, reach, N_BINS + 1)
    n = np.histogram(np.clip(error, -reach, reach), edges)[0]
    ends = [(format_number(a), format_number(b)) for a, b in pairwise(edges)]
    n_low, n_high = int((error < -reach).sum()), int((error > reach).sum())
    ends[0] = (f"{format_number(error.min())} (beyond the chart)" if n_low else ends[0][0], ends[0][1])
    ends[-1] = (ends[-1][0], f"{format_number(error.max())} (beyond the chart)" if n_high else ends[-1][1])
    numbers = table("Rows in each bin", "#from|#to|#rows", [(*each, f"{c:,}") for each, c in zip(ends, n, strict=True)])
    beyond = [f"{c:,} below {format_number(e)}" for c, e in ((n_low, -reach),) if c]
    beyond += [f"{c:,} above {format_number(e)}" for c, e in ((n_high, reach),) if c]
    title = "How far the predictions are off"
    title += f" (the outermost bars hold the rows beyond them too: {join_names(beyond)})" if beyond else ""
    mean, deviation = format_number(float(error.mean())), format_number(float(error.std()))
    alt = f"Histogram of truth less prediction: mean {mean}, deviation {deviation}."
    spec = charts.histogram(edges[:-1], edges[1:], n, "truth less prediction")
    return Figure("chart-residual-histogram", spec, title, alt, numbers, width="narrow")
