"""Calibration: do rows that were promised a probability of 0.8 turn out so in 80 of 100 cases?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from committee.base.array_types import Floats
from committee.base.text import format_number, format_percent, pluralize
from committee.report import _charts as charts
from committee.report._context import Evidence, Judged
from committee.report._section import Figure, Key, LeftOut, Section, Tile, table

TITLE = "Calibration"
MAX_BINS, FEWEST = 10, 20
"""Bins of equally many rows, and the fewest rows of a bin that say anything."""


class Bins(NamedTuple):
    """Rows of similar promise, from the smallest to the largest."""

    said: Floats  # mean promise
    seen: Floats  # share that came true
    n: NDArray[np.int64]

    @property
    def error(self) -> Floats:
        """Standard error of the share seen, never quite zero for a share of 0 or 1 (Agresti and Coull)."""
        share = (self.seen * self.n + 2.0) / (self.n + 4.0)
        return np.sqrt(share * (1.0 - share) / (self.n + 4.0))


def calibration(result: Evidence) -> Section | LeftOut:
    """Promised probabilities beside what happened."""
    judged = result.judged
    if not result.is_classifier:
        return LeftOut(TITLE, "probabilities are those of classes; for numbers see the prediction intervals")
    if judged.shares is None:
        return LeftOut(TITLE, f"{result.method} gives no probabilities")
    if not judged.is_honest:
        return LeftOut(TITLE, "probabilities of the training rows themselves look surer than they are")
    if judged.rows.size < 2 * FEWEST or len(result.classes) < 2:
        return LeftOut(TITLE, f"{pluralize(judged.rows.size, 'row')} are too few to see it")
    return _section(result, judged, judged.shares)


def _section(result: Evidence, judged: Judged, shares: Floats) -> Section:
    said, true, what = _promises(result, judged, shares)
    bins = bin_promises(said, true)
    gap = float(np.average(np.abs(bins.said - bins.seen), weights=bins.n))
    rows = np.arange(judged.rows.size)
    log_loss = -float(np.mean(np.log(np.maximum(shares[rows, judged.truth], 1e-15))))
    brier = float(np.mean(np.sum((shares - np.eye(shares.shape[1])[judged.truth]) ** 2, axis=1)))
    tiles = (
        Tile(format_percent(gap), "mean gap between promise and outcome"),
        Tile(format_number(log_loss), "log-loss"),
        Tile(format_number(brier), "Brier score"),
    )
    spec = charts.calibration(
        bins.said, bins.seen, bins.seen - bins.error, bins.seen + bins.error, bins.n, f"promised: {what}", "came true"
    )
    numbers = table(
        "Bins of equally many rows", "#promised|#came true|#standard error|#rows",
        [(format_percent(a), format_percent(b), format_percent(e), f"{n:,}")
         for a, b, e, n in zip(bins.said, bins.seen, bins.error, bins.n, strict=True)],
    )  # fmt: skip
    alt = f"Shares that came true over promised probabilities, in {bins.n.size} bins; mean gap {format_percent(gap)}."
    legend = (Key("rows in bins, one standard error", "blue"), Key("promise kept exactly", "grey", True))
    figure = Figure("chart-calibration", spec, "Promised and come true", alt, numbers, legend, "narrow")
    lead = _in_words(bins, gap)
    return Section("calibration", TITLE, f"{lead} {judged.words}", tiles, (figure,))


def _in_words(bins: Bins, gap: float) -> str:
    """Whether gaps are more than chance gives: their squares against a chi-square law (Hosmer and Lemeshow)."""
    spread = np.maximum(bins.said * (1.0 - bins.said), 1e-6) / bins.n
    chance = float(chi2.sf(np.sum((bins.seen - bins.said) ** 2 / spread), bins.n.size))
    if chance > 0.05:
        return "The probabilities can be taken as they are: their gaps are not larger than chance gives."
    mean = float(np.average(bins.seen - bins.said, weights=bins.n))
    is_off = abs(mean) > 2.0 * float(np.sqrt(np.sum(spread * bins.n**2)) / bins.n.sum())
    side = "" if not is_off else " and on the whole too small" if mean > 0.0 else " and on the whole too large"
    return f"The probabilities are off by {format_percent(gap)} on average{side}: more than chance gives."


def _promises(result: Evidence, judged: Judged, shares: Floats) -> tuple[Floats, NDArray[np.bool_], str]:
    """Of two classes the probability of the second; of more, that of the class answered."""
    if shares.shape[1] == 2:
        return shares[:, 1], judged.truth == 1, f"probability of {result.classes[1]}"
    top = shares.argmax(axis=1)
    return shares[np.arange(top.size), top], judged.truth == top, "probability of the class answered"


def bin_promises(said: Floats, true: NDArray[np.bool_]) -> Bins:
    """Bins of equally many rows in the order of the promises; equal promises stay together.

    >>> bin_promises(np.repeat([0.1, 0.9], 50), np.arange(100) % 10 < np.repeat([1, 9], 50)).seen.tolist()
    [0.1, 0.9]
    """
    n_bins = max(1, min(MAX_BINS, said.size // FEWEST))
    edges = np.unique(np.quantile(said, np.linspace(0.0, 1.0, n_bins + 1)[1:-1]))
    place = np.searchsorted(edges, said, side="left")
    n = np.bincount(place, minlength=edges.size + 1)
    used = n > 0
    sums, hits = np.bincount(place, said, n.size), np.bincount(place, true, n.size)
    return Bins(sums[used] / n[used], hits[used] / n[used], n[used])
