"""Importances of features as bars, the largest at 100."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.text import shorten
from committee.explain.forest_importances import ForestImportance
from committee.explain.importances import (
    Importances,
    PermutationImportances,
    permutation_importances,
    tree_importances,
)
from committee.plots._display import SingleDisplay
from committee.plots._style import BLUE, GREY, LONGEST_NAME, finish

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer
    from matplotlib.text import Text


MEANING = {
    "gain": "gain (decrease of the loss by splits), largest = 100",
    "frequency": "split count, largest = 100",
    "permutation": "permutation importance, largest = 100",
}

FOREST_MEANING = {
    "permutation": "permutation importance out of bag, largest = 100",
    "tree_permutation": "permutation importance per tree, out of bag, largest = 100",
    "impurity": "decrease of the impurity by splits, largest = 100",
    "impurity_oob": "decrease of the impurity out of bag, largest = 100",
    "frequency": "split count, largest = 100",
    "node_permutation": "node-wise permutation importance out of bag, largest = 100",
}


class ImportancesDisplay(SingleDisplay):
    """A bar per feature, the most important on top, scaled so that the largest is 100.

    Permutation importances have whiskers of one standard error over the repeats, those of a forest
    (``ImportancesDisplay(forest_importances(...).of(kind)).plot()``) over its trees. The length of a bar is written
    next to it.

    Attributes
    ----------
    result : the importances
    features : positions of the features shown, from top to bottom
    n_left_out : number of features that are not shown
    ax_, figure_ : axes and figure
    bars_, texts_ : bars and the numbers next to them

    Examples
    --------
    >>> from committee import DecisionTreeRegressor
    >>> from committee.datasets import load_dataset
    >>> ozone = load_dataset("ozone", as_frame=True)
    >>> tree = DecisionTreeRegressor(max_leaf_nodes=6).fit(ozone.X, ozone.y)
    >>> display = ImportancesDisplay.from_estimator(tree)
    >>> [display.result.names[f] for f in display.features]
    ['V8', 'V12', 'V10', 'V1', 'V2']
    """

    bars_: BarContainer
    texts_: list[Text]

    def __init__(
        self, result: Importances | PermutationImportances | ForestImportance, *, max_features: int = 15
    ) -> None:
        if max_features < 1:
            raise ValueError(f"max_features must be at least 1, got {max_features}.")
        self.result = result
        order = np.argsort(-result.values, kind="stable")
        used = int(np.count_nonzero(result.values))
        self.features = [int(f) for f in order[: max(1, min(max_features, used))]]
        self.n_left_out = len(result.names) - len(self.features)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        kind: Literal["gain", "frequency", "permutation"] | None = None,
        max_features: int = 15,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Compute the importances of a fitted model and draw them.

        Parameters
        ----------
        estimator : fitted estimator
        X, y : rows to permute and score, for the kind "permutation"
        kind : {"gain", "frequency", "permutation"}, optional
            "permutation" by default where rows are given, else "gain".
        max_features : int
            Largest number of bars.
        **options
            Passed on to `permutation_importances`.
        """
        wanted = kind or ("gain" if X is None else "permutation")
        if wanted == "permutation":
            if X is None or y is None:
                raise ValueError("Permutation importances need rows: pass X and y.")
            result = permutation_importances(estimator, X, y, **options)
        elif options:
            raise TypeError(f"{', '.join(options)}: only permutation importances take this, pass X and y.")
        else:
            result = tree_importances(estimator, wanted)
        return cls(result, max_features=max_features).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the bars; see `from_estimator`."""
        n = len(self.features)
        axes = self._open(ax, (7.0, 1.1 + 0.32 * n))
        height, values, error = np.arange(n)[::-1], self.result.values[self.features], self._errors()
        whiskers: dict[str, Any] = {}
        if error is not None:
            whiskers = {"xerr": error, "error_kw": {"ecolor": "black", "elinewidth": 1.2, "capsize": 2.5}}
        self.bars_ = axes.barh(height, values, height=0.68, color=BLUE, zorder=2, **whiskers)
        self._label(axes, height, values, np.zeros(n) if error is None else error)
        return self

    def _errors(self) -> Floats | None:
        """Standard errors on the scale of the bars, or None."""
        if isinstance(self.result, Importances) or np.isnan(self.result.standard_error).any():
            return None
        raw = self.result.mean if isinstance(self.result, PermutationImportances) else self.result.raw
        largest = float(raw.max())
        return 100.0 * self.result.standard_error[self.features] / largest if largest > 0.0 else None

    def _label(self, ax: Any, height: NDArray[np.int64], values: Floats, error: Floats) -> None:
        ax.set_yticks(height, [shorten(self.result.names[f], LONGEST_NAME) for f in self.features])
        ax.set_ylim(-0.6, len(height) - 0.4)
        low, high = float(np.min(values - error)), float(np.max(values + error))
        ax.set_xlim(1.06 * min(low, 0.0), 1.09 * max(high, 1.0))
        style: dict[str, Any] = {"textcoords": "offset points", "va": "center", "fontsize": "small", "color": GREY}
        self.texts_ = [
            ax.annotate(_shown(value), (max(value, 0.0) + size, y), (4, 0), **style)
            for value, size, y in zip(values, error, height, strict=True)
        ]
        meaning = self._meaning().replace(", largest", " (± standard error), largest" if error.any() else ", largest")
        finish(ax, meaning + (f" ({self.n_left_out} not shown)" if self.n_left_out else ""), is_categorical=True)
        ax.axvline(0.0, color=GREY, linewidth=0.8, zorder=3)

    def _meaning(self) -> str:
        if isinstance(self.result, ForestImportance):
            return FOREST_MEANING[self.result.kind]
        return MEANING["permutation" if isinstance(self.result, PermutationImportances) else self.result.kind]


def _shown(value: float) -> str:
    return "0" if value == 0.0 else f"{value:.0f}" if abs(value) >= 9.95 else f"{value:.1f}"
