"""Theorems and measures of ensembles as functions of arrays: margins, bounds, diversity, votes, bias and variance."""

__all__ = [  # pyright: ignore[reportUnsupportedDunderAll] - modules, imported when they are asked for
    "bounds", "decomposition", "diversity", "forests", "intervals", "majority_vote", "margins", "minmax",
]  # fmt: skip
