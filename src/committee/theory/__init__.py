"""Theorems and measures of ensembles as functions of arrays: margins, bounds, diversity, votes, bias and variance."""

__all__ = ["bounds", "decomposition", "diversity", "forests", "intervals", "majority_vote", "margins", "minmax"]
