"""Residuals of a regression: bias, size and distribution."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from committee.base.array_types import Floats
from committee.base.text import format_level, format_number, format_percent, join_names, pluralize
from committee.report import _charts as charts
from committee.report._section import Figure, Omitted, Section, Tile, table
from committee.report.context import Context, Evaluation

TITLE = "Residuals"
MAX_POINTS, N_BINS = 1_500, 31
LEVELS = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)


class Bias(NamedTuple):
    """Mean residual, its standard error, and the fraction of positive residuals."""

    mean: float
    stderr: float
    positive: float

    @classmethod
    def of(cls, residual: Floats) -> Bias:
        """Bias of residuals.

        >>> Bias.of(np.array([1.0, 3.0, -1.0, 1.0])).sentence
        ''
        >>> Bias.of(np.array([1.0, 3.0, 2.0, 2.0])).sentence
        'Predictions are biased low: mean residual 2 ± 0.41; 100.0% of the residuals are positive.'
        """
        n = residual.size
        stderr = float(residual.std(ddof=1) / np.sqrt(n)) if n > 1 else np.nan
        return cls(float(residual.mean()), stderr, float(np.mean(residual > 0.0)))

    @property
    def sentence(self) -> str:
        """Direction and size; empty unless the mean is more than two standard errors from zero."""
        if not abs(self.mean) > 2.0 * self.stderr:
            return ""
        return (
            f"Predictions are biased {'low' if self.mean > 0.0 else 'high'}: mean residual "
            f"{format_number(self.mean, stderr=self.stderr)}; {format_percent(self.positive)} of the residuals are "
            "positive."
        )


def bias_sentence(found: Evaluation) -> str:
    """The bias of out-of-sample predictions in words; empty without one."""
    is_known = found.y_true.dtype.kind == "f" and found.is_out_of_sample and found.rows.size > 2
    return Bias.of(found.y_true - found.y_pred).sentence if is_known else ""


def residuals(context: Context) -> Section | Omitted:
    """Actual over predicted values, the bias, and the distribution of the residuals."""
    if context.is_classifier:
        return Omitted(TITLE, "the target is a class")
    found = context.evaluation
    if found.rows.size < 3:
        return Omitted(TITLE, "fewer than three rows have a prediction")
    actual, predicted = found.y_true, found.y_pred
    residual, total = actual - predicted, float(np.var(actual))
    bias, mse = Bias.of(residual), float(np.mean(residual**2))
    tiles = (
        Tile(format_number(mse**0.5), "root mean squared error"),
        Tile(format_number(float(np.mean(np.abs(residual)))), "mean absolute error"),
        Tile(format_number(1.0 - mse / total if total > 0.0 else np.nan), "R²"),
        Tile(format_number(bias.mean, stderr=bias.stderr), f"mean residual, {format_percent(bias.positive)} positive"),
    )
    rows = np.sort(np.random.default_rng(context.seed).permutation(actual.size)[:MAX_POINTS])
    sampled = f" (random sample of {pluralize(rows.size, 'row')})" if rows.size < actual.size else ""
    is_constant = actual.std() == 0.0 or predicted.std() == 0.0
    correlation = np.nan if is_constant else float(np.corrcoef(predicted, actual)[0, 1])
    quantiles = [(format_level(level), format_number(float(np.quantile(residual, level)))) for level in LEVELS]
    points = Figure(
        "chart-residuals", charts.scatter(predicted[rows], actual[rows], "predicted", "actual"),
        f"Actual over predicted{sampled}", f"Points around the diagonal; correlation {format_number(correlation, 2)}.",
        table("Quantiles of the residuals", "#quantile|#residual", quantiles), width="narrow",
    )  # fmt: skip
    half = f"Median absolute residual {format_number(float(np.median(np.abs(residual))))}."
    lead = " ".join(filter(None, [half, bias.sentence, found.note]))
    return Section("residuals", TITLE, lead, tiles, (points, _histogram(residual)))


def _histogram(residual: Floats) -> Figure:
    """Bins over the central 99 % of the residuals; the outermost ones contain the others."""
    end = float(np.abs(np.quantile(residual, (0.005, 0.995))).max()) or 1.0
    edges = np.linspace(-end, end, N_BINS + 1)
    n = np.histogram(np.clip(residual, -end, end), edges)[0]
    ends = [[format_number(a), format_number(b)] for a, b in pairwise(edges)]
    n_low, n_high = int((residual < -end).sum()), int((residual > end).sum())
    beyond = list[str]()
    if n_low:
        ends[0][0] = format_number(residual.min())
        beyond.append(f"{n_low:,} below {format_number(-end)}")
    if n_high:
        ends[-1][1] = format_number(residual.max())
        beyond.append(f"{n_high:,} above {format_number(end)}")
    rows = [(*each, f"{count:,}") for each, count in zip(ends, n, strict=True)]
    title = "Distribution of the residuals" + (f" (outermost bins include {join_names(beyond)})" if beyond else "")
    mean, deviation = format_number(float(residual.mean())), format_number(float(residual.std()))
    return Figure(
        "chart-residual-histogram", charts.histogram(edges, n, "residual (actual - predicted)"), title,
        f"Histogram: mean {mean}, standard deviation {deviation}.", table("Bins", "#from|#to|#rows", rows),
        width="narrow",
    )  # fmt: skip
