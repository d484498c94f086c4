"""What would not fit the memory is refused before it is made, with an estimate."""

from __future__ import annotations

from pathlib import Path

from committee.records.tree import Tree

GIB = 2**30


def available_bytes() -> int | None:
    """Memory that could be had now, None where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError):
        return None


def reject_beyond(needed: int, what: str, advice: str) -> None:
    """Raise MemoryError if so many bytes are not free; `what` needs them, `advice` says what to do."""
    free = available_bytes()
    if free is not None and needed > free:
        raise MemoryError(f"{what} needs about {needed / GIB:.1f} GiB, {free / GIB:.1f} GiB are free. {advice}")


def reject_too_many_draws(n_draws: int, n_bytes: int) -> None:
    """Refuse a sample of so many draws."""
    reject_beyond(n_bytes, f"max_samples is large: a sample of {n_draws} draws", "Draw fewer rows.")


def reject_too_many_copies(n_rows: int, n_features: int, learner: str) -> None:
    """Refuse a table of so many repeated rows, for a learner that takes no weights."""
    reject_beyond(
        8 * n_rows * (n_features + 2),
        f"{learner} takes no sample_weight: a table of {n_rows} repeated rows",
        "Divide the weights by their mean, draw fewer rows (max_samples), or take a learner with weights.",
    )


def reject_too_many_trees(first: Tree, n_trees: int) -> None:
    """Refuse `n_trees` trees if they are like the first one and together too large."""
    reject_beyond(
        n_trees * sum(column.nbytes for column in first),
        f"An ensemble of {n_trees} trees of {first.n_nodes} nodes",
        "Grow fewer trees, or smaller ones (max_leaf_nodes, min_samples_leaf, max_depth, max_samples).",
    )
