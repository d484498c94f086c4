"""Every benchmark there is."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatch

from benchmarks import (
    bagging,
    binning,
    boosting,
    committees,
    experts,
    forests,
    gradient_boosting,
    linear,
    prediction,
    pruning,
    startup,
    svm,
    trees,
)
from benchmarks.harness import Benchmark
from benchmarks.tables import Scale

GROUPS = {
    "trees": trees.benchmarks,
    "boosting": boosting.benchmarks,
    "gradient-boosting": gradient_boosting.benchmarks,
    "bagging": bagging.benchmarks,
    "forests": forests.benchmarks,
    "linear": linear.benchmarks,
    "svm": svm.benchmarks,
    "experts": experts.benchmarks,
    "committees": committees.benchmarks,
    "prediction": prediction.benchmarks,
    "pruning": pruning.benchmarks,
    "binning": binning.benchmarks,
    "startup": startup.benchmarks,
}


def suite(scale: Scale, only: Sequence[str] = ()) -> list[Benchmark]:
    """The benchmarks whose names hold one of the patterns `only`; all without patterns."""
    everything = [benchmark for rows in GROUPS.values() for benchmark in rows(scale)]
    if not only:
        return everything
    return [b for b in everything if any(fnmatch(b.name, f"*{pattern}*") for pattern in only)]
