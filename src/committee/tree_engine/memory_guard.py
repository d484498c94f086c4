"""Checks of the free memory before large allocations."""

from __future__ import annotations

from pathlib import Path

from committee.records.tree import Tree

GIB = 2**30


def available_bytes() -> int | None:
    """Free memory, None if it is unknown."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError):
        return None


def reject_beyond(needed: int, what: str, advice: str) -> None:
    """Raise MemoryError if `needed` bytes are not free; `what` and `advice` begin and end the message."""
    free = available_bytes()
    if free is not None and needed > free:
        raise MemoryError(f"{what} needs about {needed / GIB:.1f} GiB, {free / GIB:.1f} GiB are free. {advice}")


def reject_too_many_draws(n_draws: int, n_bytes: int) -> None:
    """Raise MemoryError for a sample that does not fit."""
    reject_beyond(n_bytes, f"max_samples is large: a sample of {n_draws} draws", "Draw fewer rows.")


def reject_too_many_copies(n_rows: int, n_features: int, learner: str) -> None:
    """Raise MemoryError for a table of repeated rows that does not fit."""
    reject_beyond(
        8 * n_rows * (n_features + 2),
        f"{learner} takes no sample_weight: a table of {n_rows} repeated rows",
        "Divide the weights by their mean, draw fewer rows (max_samples), or take a learner with weights.",
    )


def reject_too_many_trees(first: Tree, n_trees: int) -> None:
    """Raise MemoryError if `n_trees` trees of the size of the first one do not fit."""
    reject_beyond(
        n_trees * sum(column.nbytes for column in first),
        f"An ensemble of {n_trees} trees of {first.n_nodes} nodes",
        "Grow fewer trees, or smaller ones (max_leaf_nodes, min_samples_leaf, max_depth, max_samples).",
    )
