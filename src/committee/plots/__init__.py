"""Pictures of fitted estimators: Display classes in scikit-learn's manner, drawn with matplotlib."""

from __future__ import annotations

from committee.plots.pruning import PruningDisplay
from committee.plots.tree import TreeDisplay, plot_tree

__all__ = ["PruningDisplay", "TreeDisplay", "plot_tree"]
