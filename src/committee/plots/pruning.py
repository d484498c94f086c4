"""The cross-validated cost-complexity curve of a pruned tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from committee.base.text import pluralize
from committee.plots._checks import reject
from committee.plots._display import SingleDisplay
from committee.plots._style import BLUE, GREEN, GREY, MAX_DOTTED, VERMILION, add_legend, finish

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import FillBetweenPolyCollection
    from matplotlib.lines import Line2D

    from committee.trees.pruning import PruningCurve

MAX_LEAF_LABELS = 12


class PrunedTree(Protocol):
    """An estimator fitted with ``ccp_alpha="cv"``."""

    @property
    def pruning_(self) -> PruningCurve: ...


class PruningDisplay(SingleDisplay):
    """Cross-validated error of a tree over the strength of cost-complexity pruning.

    The band is one standard error to each side. The dashed line lies one standard error above the smallest error; the
    chosen tree is the smallest (largest alpha) below it (Breiman, Friedman, Olshen and Stone 1984, section 3.4.3).
    The upper axis shows the number of leaves of the tree pruned with each alpha.

    Attributes
    ----------
    curve : errors by alpha
    ax_, figure_ : axes and figure
    leaves_ax_ : upper axis
    line_, band_, limit_ : the curve, its band, the one-standard-error limit
    best_, chosen_ : marks of the smallest error and of the chosen tree

    Examples
    --------
    >>> from committee import DecisionTreeRegressor
    >>> from committee.datasets import load_dataset
    >>> ozone = load_dataset("ozone")
    >>> tree = DecisionTreeRegressor(ccp_alpha="cv", random_state=0).fit(ozone.X, ozone.y)
    >>> PruningDisplay.from_estimator(tree).chosen_.get_label()
    'chosen: 5 leaves'
    """

    leaves_ax_: Axes
    line_: Line2D
    band_: FillBetweenPolyCollection
    limit_: Line2D
    best_: Line2D
    chosen_: Line2D

    def __init__(self, curve: PruningCurve, error_name: str = "error") -> None:
        self.curve = curve
        self.error_name = error_name

    @classmethod
    def from_estimator(cls, estimator: PrunedTree, *, ax: Axes | None = None, error_name: str = "error") -> Self:
        """Draw the curve of an estimator fitted with ``ccp_alpha="cv"``.

        Parameters
        ----------
        estimator : fitted decision tree
        error_name : str
            Name of the error on the vertical axis.
        """
        curve = getattr(estimator, "pruning_", None)
        if curve is None and not hasattr(estimator, "tree_"):
            reject(estimator, cls.__name__, "pruning curve", 'single trees fitted with ccp_alpha="cv"')
        if curve is None:
            raise NotFittedError(
                f'There is no pruning curve: fit {type(estimator).__name__} with ccp_alpha="cv" first.'
            )
        return cls(curve, error_name).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the curve; see `from_estimator`."""
        axes = self._open(ax, (7.0, 4.5))
        _scale_alpha(axes, self.curve.alpha)
        self._draw_curve(axes)
        self._draw_choices(axes)
        finish(axes, "alpha (cost of a leaf)", f"cross-validated {self.error_name}")
        add_legend(axes)
        self.leaves_ax_ = _leaves_axis(axes, self.curve)
        return self

    def _draw_curve(self, ax: Any) -> None:
        c = self.curve
        marker = "." if c.alpha.size <= MAX_DOTTED else ""
        self.band_ = ax.fill_between(
            c.alpha, c.mean_error - c.std_error, c.mean_error + c.std_error,
            color=BLUE, alpha=0.18, linewidth=0, label="one standard error",
        )  # fmt: skip
        (self.line_,) = ax.plot(c.alpha, c.mean_error, color=BLUE, marker=marker, linewidth=1.6, label="mean error")

    def _draw_choices(self, ax: Any) -> None:
        c = self.curve
        limit = float(c.mean_error[c.best] + c.std_error[c.best])
        self.limit_ = ax.axhline(limit, color=GREY, linestyle="--", linewidth=1.0, label="smallest + 1 standard error")
        self.best_ = self._mark(ax, c.best, {"color": GREEN, "marker": "o", "markersize": 11}, "smallest error")
        self.chosen_ = self._mark(ax, c.chosen, {"color": VERMILION, "marker": "D", "markersize": 6}, "chosen")

    def _mark(self, ax: Any, i: int, style: dict[str, Any], name: str) -> Line2D:
        c = self.curve
        label = f"{name}: {pluralize(int(c.n_leaves[i]), 'leaf', 'leaves')}"
        style = {"linestyle": "none", "markeredgecolor": "white", "zorder": 4, "label": label, **style}
        return ax.plot(c.alpha[i], c.mean_error[i], **style)[0]


def _scale_alpha(ax: Any, alpha: NDArray[np.float64]) -> None:
    """A log axis with room for alpha = 0; a linear one where alphas have a narrow range."""
    positive = alpha[alpha > 0]
    if positive.size < 2 or positive.max() < 10 * positive.min():
        ax.margins(x=0.05)
        return
    low, high = float(positive.min()), float(positive.max())
    if positive.size == alpha.size:
        ax.set_xscale("log")
        ax.set_xlim(low / 1.3, high * 1.3)
        return
    ax.set_xscale("symlog", linthresh=low, linscale=0.5)
    ax.set_xlim(-0.2 * low, high * 1.3)


def _leaves_axis(ax: Any, curve: PruningCurve) -> Axes:
    """An upper axis with the number of leaves, at as many alphas as there is room for."""
    upper: Any = ax.twiny()
    upper.set_xscale(ax.get_xscale(), **_scale_options(ax))
    upper.set_xlim(ax.get_xlim())
    shown = _spread(ax.transScale.transform(np.column_stack([curve.alpha, curve.mean_error]))[:, 0])
    upper.set_xticks(curve.alpha[shown], [f"{n}" for n in curve.n_leaves[shown]])
    upper.minorticks_off()
    upper.set_xlabel("leaves")
    upper.spines["right"].set_visible(False)
    return upper


def _scale_options(ax: Any) -> dict[str, float]:
    transform: Any = ax.xaxis.get_transform()
    return {"linthresh": transform.linthresh, "linscale": transform.linscale} if ax.get_xscale() == "symlog" else {}


def _spread(position: NDArray[np.float64]) -> list[int]:
    """Indices of positions far enough apart for a label each, always with the last one."""
    step = (position[-1] - position[0]) / MAX_LEAF_LABELS
    shown = [position.size - 1]
    for i in range(position.size - 2, -1, -1):
        if position[shown[-1]] - position[i] >= max(step, 1e-12):
            shown.append(i)
    return shown[::-1]
