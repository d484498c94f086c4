"""Plots of support vector machines: margin and slack in the plane, and the errors of a tuning grid."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from committee.base.array_types import Floats
from committee.base.text import shorten
from committee.explain.svm_geometry import SvmGeometry, binary_values, svm_geometry
from committee.plots._style import BLUE, INK, VERMILION, pyplot
from committee.svm.tuning import Tuned

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection, PathCollection
    from matplotlib.contour import QuadContourSet
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage
    from matplotlib.text import Text


GRID = 300
SIDES = ((1, VERMILION, "o"), (-1, BLUE, "s"))
"""y, colour and marker of the two sides."""


class SVMDecisionBoundaryDisplay:
    """An SVM of two columns: the line f = 0, the margins f = -1 and f = 1, support vectors and slack.

    Free support vectors have a thin ring, bounded ones a thick one; a dotted line leads from a row with slack to the
    nearest point of its margin. The background has the colour of the predicted side, the deeper the larger |f|.

    Attributes
    ----------
    geometry : the rows, as `svm_geometry` describes them
    table : [n, 2], the rows drawn
    ax_, figure_ : the axes and the figure of the last plot
    points_ : +1 and -1 -> the points of that side
    rings_ : "free" and "bounded" -> rings around support vectors
    slacks_ : the dotted lines
    contours_ : the lines f = -1, 0, 1
    """

    ax_: Axes
    figure_: Figure
    points_: dict[int, PathCollection]
    rings_: dict[str, PathCollection]
    slacks_: LineCollection
    contours_: QuadContourSet

    def __init__(self, model: Any, geometry: SvmGeometry, table: Floats, *, problem: int = 0) -> None:
        self.model, self.geometry, self.table, self.problem = model, geometry, table, problem

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any,
        *,
        sample_weight: ArrayLike | None = None,
        problem: int = 0,
        ax: Axes | None = None,
    ) -> Self:
        """Draw an SVM fitted on two columns.

        Parameters
        ----------
        model : SVC, NuSVC or LinearSVC
            A fitted classifier.
        X, y, sample_weight
            The training data of the model.
        problem : int, default=0
            Number of the binary problem, for more than two classes; see `svm_geometry`.
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.
        """
        geometry = svm_geometry(model, X, y, sample_weight=sample_weight, problem=problem)
        if model.n_features_in_ != 2:
            raise ValueError(f"A plane has two columns, the model was fitted on {model.n_features_in_}: fit it on two.")
        table = np.asarray(X, np.float64)[geometry.rows.row]
        return cls(model, geometry, table, problem=problem).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the plot; see `from_estimator`."""
        axes: Any = pyplot().subplots(figsize=(6.2, 5.6), layout="constrained")[1] if ax is None else ax
        self.ax_, self.figure_ = axes, axes.figure
        self.contours_ = self._draw_background(axes)
        self.slacks_ = self._draw_slacks(axes)
        self.points_ = {side: self._draw_points(axes, side, color, marker) for side, color, marker in SIDES}
        self.rings_ = {kind: self._draw_rings(axes, kind, width) for kind, width in (("free", 0.9), ("bounded", 2.2))}
        g = self.geometry
        columns = self.model.columns_
        axes.set_xlabel(shorten(columns.name(0), 30))
        axes.set_ylabel(shorten(columns.name(1), 30))
        axes.set_title(f"margin {g.margin:.3g}, slack {g.total_slack:.3g}, {g.n_wrong} on the wrong side",
                       fontsize="medium", loc="left")  # fmt: skip
        axes.legend(fontsize="small", loc="best", framealpha=0.85)
        return self

    def _draw_background(self, ax: Any) -> QuadContourSet:
        low, high = self.table.min(axis=0), self.table.max(axis=0)
        room = np.where(high > low, 0.08 * (high - low), 0.5)
        (left, bottom), (right, top) = low - room, high + room
        across, up = np.linspace(left, right, GRID), np.linspace(bottom, top, GRID)
        f = on_grid(self.model, across, up)[:, self.problem].reshape(GRID, GRID)
        picture = np.ones((GRID, GRID, 4))
        picture[..., :3] = np.where((f > 0.0)[..., np.newaxis], _rgb(VERMILION), _rgb(BLUE))
        picture[..., 3] = 0.05 + 0.2 * np.minimum(np.abs(f), 1.5) / 1.5
        ax.imshow(picture, extent=(left, right, bottom, top), origin="lower", aspect="auto", zorder=0)
        style: dict[str, Any] = {"linestyles": ["--", "-", "--"], "linewidths": [1.0, 1.8, 1.0], "colors": INK}
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "No contour levels")  # of a model that predicts one class everywhere
            return ax.contour(across, up, f, levels=[-1.0, 0.0, 1.0], zorder=1, **style)

    def _draw_slacks(self, ax: Any) -> LineCollection:
        """From every row with slack to the nearest point of its margin in the picture."""
        from matplotlib.collections import LineCollection

        rows = self.geometry.rows
        unit = np.maximum(np.ptp(self.table, axis=0), np.finfo(np.float64).tiny)
        lines: list[Floats] = []
        paths = dict(zip(np.asarray(self.contours_.levels).tolist(), self.contours_.get_paths(), strict=True))
        for side in (1, -1):
            own = self.table[(rows.side == side) & (rows.slack > 0.0)]
            margin = np.asarray(paths[float(side)].vertices, np.float64) if float(side) in paths else np.empty((0, 2))
            if len(own) and len(margin):
                nearest = margin[cdist(own / unit, margin / unit).argmin(axis=1)]
                lines.extend(np.stack([own, nearest], axis=1))
        drawn = LineCollection(lines, colors=INK, linewidths=1.0, linestyles=":", zorder=2, label="slack")
        ax.add_collection(drawn, autolim=False)
        return drawn

    def _draw_points(self, ax: Any, side: int, color: str, marker: str) -> PathCollection:
        g = self.geometry
        own = g.rows.side == side
        name = g.positive if side > 0 else ("the rest" if g.negative is None else g.negative)
        label = f"{shorten(str(name), 24)}: {int(own.sum())}"
        return ax.scatter(*self.table[own].T, s=24, color=color, marker=marker, edgecolors="white", linewidths=0.5,
                          zorder=3, label=label)  # fmt: skip

    def _draw_rings(self, ax: Any, kind: str, width: float) -> PathCollection:
        own = self.geometry.rows.kind == kind
        return ax.scatter(*self.table[own].T, s=70, facecolors="none", edgecolors=INK, linewidths=width, zorder=4,
                          label=f"{kind}: {int(own.sum())}")  # fmt: skip


class TuningDisplay:
    """The errors of a grid as a heat map: penalties across, kernels down; the best cell framed.

    Cells whose error is within one standard error of the best have a dashed frame.

    Attributes
    ----------
    tuned : the result of `tune_svc` or `tune_svr`
    errors : [kernels, penalties]
    best : kernel and penalty of the best cell
    ax_, figure_ : the axes and the figure of the last plot
    image_, texts_ : the map and the numbers in it
    """

    ax_: Axes
    figure_: Figure
    image_: AxesImage
    texts_: list[Text]

    def __init__(self, tuned: Tuned) -> None:
        self.tuned = tuned
        grid = tuned.grid
        self.penalties = np.unique(grid.C)
        shape = -1, self.penalties.size
        self.errors: Floats = grid.error.reshape(shape)
        order = np.argsort(grid.gamma[:: shape[1]]) if _has_gamma(tuned) else np.arange(len(self.errors))
        best = int(np.lexsort((grid.candidate, grid.C, grid.error))[0])
        self.best = int(np.flatnonzero(order == grid.candidate[best])[0]), best % shape[1]
        self.errors = self.errors[order]
        self.names = np.array(_candidate_names(tuned))[order].tolist()

    @classmethod
    def from_tuned(cls, tuned: Tuned, *, ax: Axes | None = None) -> Self:
        """Draw the result of `tune_svc` or `tune_svr`.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.
        """
        return cls(tuned).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the map; see `from_tuned`."""
        n_lines, n_columns = self.errors.shape
        size = (2.6 + 0.85 * n_columns, 1.6 + 0.5 * n_lines)
        axes: Any = pyplot().subplots(figsize=size, layout="constrained")[1] if ax is None else ax
        self.ax_, self.figure_ = axes, axes.figure
        self.image_ = axes.imshow(self.errors, cmap="viridis_r", aspect="auto", origin="lower")
        self.texts_ = [self._write(axes, line, c) for line in range(n_lines) for c in range(n_columns)]
        self._frame(axes)
        axes.set_xticks(range(n_columns), [f"{C:g}" for C in self.penalties])
        axes.set_yticks(range(n_lines), self.names)
        axes.set_xlabel("C")
        axes.set_ylabel("gamma" if _has_gamma(self.tuned) else "kernel")
        what = "error rate" if self._is_error_rate else "mean squared error"
        self.figure_.colorbar(self.image_, ax=axes, label=what)
        axes.set_title(str(self.tuned), fontsize="small", loc="left", wrap=True)
        return self

    @property
    def _is_error_rate(self) -> bool:
        return bool(np.isnan(self.tuned.grid.epsilon).all())

    def _write(self, ax: Any, line: int, c: int) -> Text:
        error = self.errors[line, c]
        red, green, blue, _ = self.image_.cmap(self.image_.norm(error))
        is_dark = 0.3 * red + 0.6 * green + 0.1 * blue < 0.5
        text = f"{100.0 * error:.1f} %" if self._is_error_rate else f"{error:.3g}"
        return ax.text(c, line, text, ha="center", va="center", fontsize=8, color="white" if is_dark else "black")

    def _frame(self, ax: Any) -> None:
        from matplotlib.patches import Rectangle

        level = self.tuned.error + self.tuned.standard_error
        for line, c in np.argwhere(self.errors <= level):
            style: dict[str, Any] = (
                {"linewidth": 2.4} if (line, c) == self.best else {"linewidth": 1.0, "linestyle": "--"}
            )
            ax.add_patch(Rectangle((c - 0.46, line - 0.46), 0.92, 0.92, fill=False, edgecolor=VERMILION, **style))


def on_grid(model: Any, across: Floats, up: Floats) -> Floats:
    """Decision values on a grid of the plane."""
    table: Any = np.column_stack([np.tile(across, up.size), np.repeat(up, across.size)])
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        import pandas as pd

        table = pd.DataFrame(table, columns=list(names))
    return binary_values(model, table)


def _rgb(color: str) -> Floats:
    from matplotlib.colors import to_rgb

    return np.array(to_rgb(color))


def _has_gamma(tuned: Tuned) -> bool:
    """Whether gamma is the only parameter of the kernels that changes."""
    grid = tuned.grid
    return bool(np.isfinite(grid.gamma).all() and np.unique(grid.kernel).size == 1 and _n_epsilons(tuned) == 1)


def _n_epsilons(tuned: Tuned) -> int:
    return int(np.unique(tuned.grid.epsilon).size)


def _candidate_names(tuned: Tuned) -> list[str]:
    grid, names = tuned.grid, list[str]()
    for first in np.unique(grid.candidate, return_index=True)[1]:
        gamma, parts = grid.gamma[first], list[str]()
        if not _has_gamma(tuned):
            parts.append(shorten(str(grid.kernel[first]), 24))
        if np.isfinite(gamma):
            parts.append(f"{gamma:.3g}")
        if _n_epsilons(tuned) > 1:
            parts.append(f"epsilon {grid.epsilon[first]:g}")
        names.append(" ".join(parts))
    return names
