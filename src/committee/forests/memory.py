"""A forest that would not fit the memory is refused before it is grown, with an estimate."""

from __future__ import annotations

from pathlib import Path

from committee.data.tree import Tree


def available_bytes() -> int | None:
    """Memory that could be had now, None where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError):
        return None


BYTES_A_DRAW = 24
"""Three numbers in parts/resampling.draw."""


def refuse_too_many_draws(n_draws: int) -> None:
    """Raise MemoryError if a sample of so many draws, as large whole weights ask for, does not fit the memory."""
    needed, free = BYTES_A_DRAW * n_draws, available_bytes()
    if free is not None and needed > free:
        raise MemoryError(
            f"Whole weights count as rows: a sample of {n_draws} draws needs about {needed / 2**30:.1f} GiB, "
            f"{free / 2**30:.1f} GiB are free. Divide the weights by their mean, or set max_samples."
        )


def refuse_if_too_large(first: Tree, n_trees: int) -> None:
    """Raise MemoryError if `n_trees` trees like the first one need more memory than there is."""
    needed = n_trees * sum(column.nbytes for column in first)
    free = available_bytes()
    if free is not None and needed > free:
        raise MemoryError(
            f"{n_trees} trees of {first.n_nodes} nodes need about {needed / 2**30:.1f} GiB, {free / 2**30:.1f} GiB are "
            "free: grow fewer trees, or smaller ones (max_leaf_nodes, min_samples_leaf, max_depth, max_samples)."
        )
