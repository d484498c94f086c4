"""Support vector machines as pictures: margin and slack in the plane, and the error of a tuning grid."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from committee.base.array_types import Floats
from committee.base.text import shorten
from committee.explain.svm_geometry import SvmGeometry, binary_values, svm_geometry
from committee.plots._display import SingleDisplay
from committee.plots._style import BLUE, INK, VERMILION, add_title, grid_rows, padded_range, rgb, show_plane
from committee.svm.tuning import Tuned

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection, PathCollection
    from matplotlib.contour import QuadContourSet
    from matplotlib.image import AxesImage
    from matplotlib.text import Text


GRID = 300
SIDES = ((1, VERMILION, "o"), (-1, BLUE, "s"))
"""y, colour and marker of the two sides."""


class SVMDecisionBoundaryDisplay(SingleDisplay):
    """Decision boundary f = 0 of an SVM in two features, the margins f = -1 and f = 1, support vectors and slack.

    Free support vectors have a thin ring, bounded ones a thick one; a dotted line leads from a row with slack to the
    nearest point of its margin. The background has the colour of the predicted side, deeper for larger |f|.

    Attributes
    ----------
    geometry : result of `svm_geometry` for the rows
    table : array [n, 2] of the rows drawn
    ax_, figure_ : axes and figure
    points_ : dict of side (+1 and -1) -> points
    rings_ : dict of "free" and "bounded" -> rings around support vectors
    slacks_ : dotted lines
    contours_ : lines f = -1, 0, 1

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from committee import SVC
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> display = SVMDecisionBoundaryDisplay.from_estimator(SVC().fit(X, y), X, y)
    >>> sorted(display.rings_)
    ['bounded', 'free']
    """

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
        """Draw an SVM fitted on two features.

        Parameters
        ----------
        model : fitted `SVC`, `NuSVC` or `LinearSVC`
        X, y : training rows and their labels
        sample_weight : array-like, optional
            Weights that were passed to `fit`.
        problem : int, default=0
            Number of the binary problem, for more than two classes; see `svm_geometry`.
        """
        geometry = svm_geometry(model, X, y, sample_weight=sample_weight, problem=problem)
        if model.n_features_in_ != 2:
            raise ValueError(
                f"The picture needs two features, the model was fitted on {model.n_features_in_}: fit it on two."
            )
        table = np.asarray(X, np.float64)[geometry.rows.row]
        return cls(model, geometry, table, problem=problem).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the picture; see `from_estimator`."""
        axes = self._open(ax, (6.2, 5.6))
        self.contours_ = self._draw_background(axes)
        self.slacks_ = self._draw_slacks(axes)
        self.points_ = {side: self._draw_points(axes, side, color, marker) for side, color, marker in SIDES}
        self.rings_ = {kind: self._draw_rings(axes, kind, width) for kind, width in (("free", 0.9), ("bounded", 2.2))}
        g = self.geometry
        columns = self.model.columns_
        axes.set_xlabel(shorten(columns.name(0), 30))
        axes.set_ylabel(shorten(columns.name(1), 30))
        add_title(axes, f"margin {g.margin:.3g}, slack {g.total_slack:.3g}, {g.n_wrong} misclassified")
        axes.legend(fontsize="small", loc="best", framealpha=0.85)
        return self

    def _draw_background(self, ax: Any) -> QuadContourSet:
        across, up = (padded_range(values, GRID) for values in self.table.T)
        f = _on_grid(self.model, across, up)[:, self.problem].reshape(GRID, GRID)
        picture = np.ones((GRID, GRID, 4))
        picture[..., :3] = np.where((f > 0.0)[..., np.newaxis], rgb(VERMILION), rgb(BLUE))
        picture[..., 3] = 0.05 + 0.2 * np.minimum(np.abs(f), 1.5) / 1.5
        show_plane(ax, picture, across, up)
        style: dict[str, Any] = {"linestyles": ["--", "-", "--"], "linewidths": [1.0, 1.8, 1.0], "colors": INK}
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "No contour levels")  # an SVM that predicts one class everywhere
            return ax.contour(across, up, f, levels=[-1.0, 0.0, 1.0], zorder=1, **style)

    def _draw_slacks(self, ax: Any) -> LineCollection:
        """Lines from every row with slack to the nearest point of its margin in the picture."""
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


class TuningDisplay(SingleDisplay):
    """Cross-validated errors of a grid search as a heat map: C across, kernels up; the best cell has a frame.

    Cells with an error within one standard error of the best have a dashed frame.

    Attributes
    ----------
    tuned : result of `tune_svc` or `tune_svr`
    errors : array [kernels, penalties]
    best : position of the best cell
    ax_, figure_ : axes and figure
    image_, texts_ : heat map and the numbers in it

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from committee.svm.tuning import tune_svc
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> tuned = tune_svc(X, y, C=[0.1, 1.0, 10.0], gamma=[0.1, 1.0], cv=3)
    >>> TuningDisplay.from_tuned(tuned).errors.shape
    (2, 3)
    """

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
        """Draw the errors of a tuning.

        Parameters
        ----------
        tuned : result of `tune_svc` or `tune_svr`
        """
        return cls(tuned).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the map; see `from_tuned`."""
        n_lines, n_columns = self.errors.shape
        axes = self._open(ax, (2.6 + 0.85 * n_columns, 1.6 + 0.5 * n_lines))
        self.image_ = axes.imshow(self.errors, cmap="viridis_r", aspect="auto", origin="lower")
        self.texts_ = [self._write(axes, line, c) for line in range(n_lines) for c in range(n_columns)]
        self._frame(axes)
        axes.set_xticks(range(n_columns), [f"{C:g}" for C in self.penalties])
        axes.set_yticks(range(n_lines), self.names)
        axes.set_xlabel("C")
        axes.set_ylabel("gamma" if _has_gamma(self.tuned) else "kernel")
        what = "error rate" if self._is_class else "mean squared error"
        self.figure_.colorbar(self.image_, ax=axes, label=what)
        axes.set_title(str(self.tuned), fontsize="small", loc="left", wrap=True)
        return self

    @property
    def _is_class(self) -> bool:
        return bool(np.isnan(self.tuned.grid.epsilon).all())

    def _write(self, ax: Any, line: int, c: int) -> Text:
        error = self.errors[line, c]
        red, green, blue, _ = self.image_.cmap(self.image_.norm(error))
        is_dark = 0.3 * red + 0.6 * green + 0.1 * blue < 0.5
        text = f"{100.0 * error:.1f} %" if self._is_class else f"{error:.3g}"
        return ax.text(c, line, text, ha="center", va="center", fontsize=8, color="white" if is_dark else "black")

    def _frame(self, ax: Any) -> None:
        from matplotlib.patches import Rectangle

        level = self.tuned.error + self.tuned.standard_error
        for line, c in np.argwhere(self.errors <= level):
            is_best = (line, c) == self.best
            style: dict[str, Any] = {"linewidth": 2.4 if is_best else 1.0, "linestyle": "-" if is_best else "--"}
            ax.add_patch(Rectangle((c - 0.46, line - 0.46), 0.92, 0.92, fill=False, edgecolor=VERMILION, **style))


def _on_grid(model: Any, across: Floats, up: Floats) -> Floats:
    """Decision values on a grid of the plane."""
    table: Any = grid_rows(across, up)
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        import pandas as pd

        table = pd.DataFrame(table, columns=list(names))
    return binary_values(model, table)


def _has_gamma(tuned: Tuned) -> bool:
    """Whether the lines differ in gamma only."""
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
            parts.append(f"ε={grid.epsilon[first]:g}")
        names.append(" ".join(parts))
    return names
