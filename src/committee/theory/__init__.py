"""Theorems and measures of ensembles as functions of arrays: margins, bounds, diversity, votes, bias and variance."""

# The modules are imported when they are asked for.
# fmt: off
__all__ = ["bounds", "decomposition", "diversity", "forests", "intervals", "majority_vote", "margins", "minmax"]  # pyright: ignore[reportUnsupportedDunderAll]
# fmt: on
