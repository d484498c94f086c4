"""Calibration of predicted probabilities."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from committee.base.array_types import Floats
from committee.base.text import format_number, format_percent, pluralize
from committee.report import _charts as charts
from committee.report._section import Figure, Key, Omitted, Section, Tile, table
from committee.report.context import Context

TITLE = "Calibration"
MAX_BINS, MIN_BIN = 10, 20
"""Bins with equal numbers of rows, and the fewest rows of a bin."""


class Bins(NamedTuple):
    """Rows grouped by predicted probability, in ascending order."""

    expected: Floats  # mean predicted probability
    observed: Floats  # fraction of positives
    n: NDArray[np.int64]

    @property
    def stderr(self) -> Floats:
        """Standard error of the observed fraction, positive for 0 and 1 too (Agresti and Coull)."""
        rate = (self.observed * self.n + 2.0) / (self.n + 4.0)
        return np.sqrt(rate * (1.0 - rate) / (self.n + 4.0))

    @property
    def error(self) -> float:
        """Expected calibration error."""
        return float(np.average(np.abs(self.expected - self.observed), weights=self.n))

    @property
    def sentence(self) -> str:
        """Whether the deviations exceed sampling error, by a chi-square test (Hosmer and Lemeshow)."""
        variance = np.maximum(self.expected * (1.0 - self.expected), 1e-6) / self.n
        gap = self.observed - self.expected
        if chi2.sf(np.sum(gap**2 / variance), self.n.size) > 0.05:
            return "The deviations from the diagonal are within sampling error (chi-square test)."
        mean, stderr = np.average(gap, weights=self.n), np.sqrt(np.sum(variance * self.n**2)) / self.n.sum()
        side = "" if abs(mean) <= 2.0 * stderr else f", too {'small' if mean > 0.0 else 'large'} on average"
        return f"The probabilities are miscalibrated{side}: the deviations exceed sampling error (chi-square test)."


def calibration(context: Context) -> Section | Omitted:
    """Calibration curve, log-loss and Brier score."""
    found, probability = context.evaluation, context.evaluation.probability
    if not context.is_classifier:
        return Omitted(TITLE, "the target is continuous; see the prediction intervals")
    if probability is None:
        return Omitted(TITLE, f"{context.method} predicts no probabilities")
    if not found.is_out_of_sample:
        return Omitted(TITLE, "there are in-sample predictions only")
    if found.rows.size < 2 * MIN_BIN or context.classes.size < 2:
        return Omitted(TITLE, f"{pluralize(found.rows.size, 'row')} are too few")
    own = np.maximum(probability[np.arange(found.rows.size), found.y_true], 1e-15)
    brier = np.sum((probability - np.eye(probability.shape[1])[found.y_true]) ** 2, axis=1)
    if context.classes.size == 2:
        bins = make_bins(probability[:, 1], found.y_true == 1)
        axes = f"mean predicted probability of {context.classes[1]}", "fraction of positives"
    else:
        bins = make_bins(probability.max(axis=1), found.y_true == found.y_pred)
        axes = "mean probability of the predicted class", "fraction correct"
    tiles = (
        Tile(format_percent(bins.error), "expected calibration error"),
        Tile(format_number(-float(np.mean(np.log(own)))), "log-loss"),
        Tile(format_number(float(np.mean(brier))), "Brier score"),
    )
    rows = [(*map(format_percent, each), f"{n:,}") for *each, n in zip(*bins[:2], bins.stderr, bins.n, strict=True)]
    figure = Figure(
        "chart-calibration", charts.calibration(bins.expected, bins.observed, bins.stderr, *axes), "Calibration curve",
        f"{axes[1].capitalize()} over {axes[0]} in {bins.n.size} bins; calibration error {format_percent(bins.error)}.",
        table("Bins with equal numbers of rows", "#mean probability|#observed|#standard error|#rows", rows),
        (Key("bins, one standard error", "blue"), Key("perfectly calibrated", "grey", True)), "narrow",
    )  # fmt: skip
    return Section("calibration", TITLE, f"{bins.sentence} {found.note}", tiles, (figure,))


def make_bins(probability: Floats, is_positive: NDArray[np.bool_]) -> Bins:
    """Bins with equal numbers of rows; equal probabilities are in the same bin.

    >>> make_bins(np.repeat([0.1, 0.9], 50), np.arange(100) % 10 < np.repeat([1, 9], 50)).observed.tolist()
    [0.1, 0.9]
    """
    n_bins = max(1, min(MAX_BINS, probability.size // MIN_BIN))
    edges = np.unique(np.quantile(probability, np.linspace(0.0, 1.0, n_bins + 1)[1:-1]))
    of_row = np.searchsorted(edges, probability, side="left")
    n = np.bincount(of_row, minlength=edges.size + 1)
    used = n > 0
    expected, observed = np.bincount(of_row, probability, n.size), np.bincount(of_row, is_positive, n.size)
    return Bins(expected[used] / n[used], observed[used] / n[used], n[used])
