"""Mixtures of experts: the gate in the plane, the likelihood over the iterations, and the loads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from committee.base.array_types import Floats
from committee.base.text import pluralize
from committee.experts.base import BaseMixtureOfExperts
from committee.plots._checks import right_display
from committee.plots._display import SingleDisplay
from committee.plots._style import (
    BLUE,
    GREEN,
    GREY,
    MAX_DOTTED,
    VERMILION,
    add_legend,
    finish,
    grid_rows,
    padded_range,
    rgb,
    show_plane,
)
from committee.records.history import History
from committee.trees.export import CLASS_COLORS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer
    from matplotlib.lines import Line2D


GRID, ROOM = 200, 0.06
PALE = 0.45
"""Largest strength of the colour of a region: points are drawn on it."""


def _fitted(estimator: Any) -> Any:
    if not isinstance(estimator, BaseMixtureOfExperts):
        raise TypeError(
            f"This display is for mixtures of experts fitted by EM, not for {type(estimator).__name__}. Use "
            f"{right_display(estimator)}."
        )
    check_is_fitted(estimator, "history_", msg="There is no history of iterations to draw: fit %(name)s first.")
    return estimator


def expert_color(k: int) -> str:
    return CLASS_COLORS[k % len(CLASS_COLORS)]


class GatePlane(NamedTuple):
    """Probabilities of the gate on a grid over two columns, and the rows of the plane."""

    edges: tuple[Floats, Floats]  # the grid along x and along y
    gate: Floats  # [GRID, GRID, K]
    points: Floats  # [n, 2]
    expert: NDArray[np.int64]  # [n], the most probable expert of each row
    names: tuple[str, str]
    n_experts: int


class GateRegionsDisplay(SingleDisplay):
    """Regions of two columns by the most probable expert of the gate, with the rows in the colours of their experts.

    The colour of a region is paler where the gate is less certain; black lines are where two experts are equally
    probable.

    Attributes
    ----------
    plane : grid and rows
    ax_, figure_ : axes and figure

    Examples
    --------
    >>> import numpy as np
    >>> from committee import MixtureOfExpertsRegressor
    >>> x = np.linspace(-1, 1, 60)[:, np.newaxis]
    >>> model = MixtureOfExpertsRegressor(2, n_restarts=1, tol=1e-2, random_state=0).fit(x, np.abs(x[:, 0]))
    >>> GateRegionsDisplay.from_estimator(model, x, np.abs(x[:, 0])).plane.gate.shape
    (200, 200, 2)
    """

    def __init__(self, plane: GatePlane) -> None:
        self.plane = plane

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any = None, *, features: tuple[int, int] = (0, 1), ax: Axes | None = None
    ) -> Self:
        """Draw the gate of a fitted mixture.

        Parameters
        ----------
        estimator : fitted mixture of experts
        X : rows to draw; the grid holds the other columns at their medians
        y : array-like, optional
            Targets of the rows. With them, a point has the colour of the expert with the largest responsibility.
        features : tuple of two int
            Positions of the two columns; a table of one column is drawn over it alone.
        """
        model = _fitted(estimator)
        table = np.asarray(X, np.float64)
        weights = model.gate_proba(X) if y is None else model.responsibilities(X, y)
        is_single = table.shape[1] == 1
        first, second = (0, 0) if is_single else features
        across, up = (padded_range(table[:, f], GRID, ROOM) for f in (first, second))
        rows = np.tile(np.median(table, axis=0), (GRID * GRID, 1))
        rows[:, [second, first]] = grid_rows(across, up)[:, ::-1]  # the first one last: it wins where both are the same
        gate = _gate_proba(model, rows).reshape(GRID, GRID, -1)
        points, names = table[:, [first, second]], (model.columns_.name(first), model.columns_.name(second))
        if is_single:
            points = np.column_stack([table[:, 0], np.zeros(len(table)) if y is None else np.asarray(y, np.float64)])
            up = padded_range(points[:, 1], GRID, ROOM)
            names = (names[0], "" if y is None else "target")
        return cls(GatePlane((across, up), gate, points, weights.argmax(axis=1), names, gate.shape[2])).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw regions, borders and rows; see `from_estimator`."""
        axes = self._open(ax, (6.4, 5.2))
        plane = self.plane
        colors = np.array([rgb(expert_color(k)) for k in range(plane.n_experts)])
        image = 1.0 - PALE * np.einsum("xyk,kc->xyc", plane.gate, 1.0 - colors)
        show_plane(axes, np.clip(image, 0.0, 1.0), *plane.edges, interpolation="bilinear")
        self._draw_borders(axes)
        for k in range(plane.n_experts):
            own = plane.points[plane.expert == k]
            style = {"s": 16, "color": expert_color(k), "edgecolor": "white", "linewidth": 0.4, "zorder": 3}
            axes.scatter(own[:, 0], own[:, 1], label=f"expert {k} ({pluralize(len(own), 'row')})", **style)
        axes.set_xlim(plane.edges[0][0], plane.edges[0][-1])
        axes.set_ylim(plane.edges[1][0], plane.edges[1][-1])
        axes.set_xlabel(plane.names[0])
        axes.set_ylabel(plane.names[1])
        axes.legend(fontsize="small", framealpha=0.85)
        return self

    def _draw_borders(self, ax: Any) -> None:
        gate, owner = self.plane.gate, self.plane.gate.argmax(axis=2)
        if self.plane.n_experts == 1:
            return
        top = np.sort(gate, axis=2)[:, :, -2:]
        for k in np.unique(owner):
            if np.any(owner != k):
                lead = gate[:, :, k] - np.where(owner == k, top[:, :, 0], top[:, :, 1])
                ax.contour(*self.plane.edges, lead, levels=[0.0], colors="black", linewidths=0.8)


def _gate_proba(model: Any, rows: Floats) -> Floats:
    """Probabilities of the gate for rows without column names."""
    view = model.mixture_.view
    return np.exp(model.mixture_.mixture.gate.log_proba(model.mixture_.gate, view.gate_design(rows))).T


class LikelihoodCurveDisplay(SingleDisplay):
    """The log-likelihood over the iterations of EM, the penalised one, which never decreases, and repairs of experts.

    Attributes
    ----------
    history : history of the fit
    ax_, figure_ : axes and figure
    lines_ : dict of name -> curve, of "log_likelihood" and "objective"

    Examples
    --------
    >>> import numpy as np
    >>> from committee import MixtureOfExpertsRegressor
    >>> x = np.linspace(-1, 1, 60)[:, np.newaxis]
    >>> model = MixtureOfExpertsRegressor(2, n_restarts=1, tol=1e-2, random_state=0).fit(x, np.abs(x[:, 0]))
    >>> list(LikelihoodCurveDisplay.from_estimator(model).lines_)
    ['log_likelihood', 'objective']
    """

    lines_: dict[str, Line2D]

    def __init__(self, history: History) -> None:
        self.history = history

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> Self:
        """Draw the history of a fitted mixture.

        Parameters
        ----------
        estimator : fitted mixture of experts
        """
        return cls(_fitted(estimator).history_).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the curves; see `from_estimator`."""
        from matplotlib.ticker import MaxNLocator

        axes, history = self._open(ax, (7.0, 4.3)), self.history
        style: dict[str, Any] = {"marker": "." if history.n_rounds <= MAX_DOTTED else "", "linewidth": 1.6, "zorder": 3}
        self.lines_ = {}
        for name, color, label in (
            ("log_likelihood", BLUE, "log-likelihood"), ("objective", GREEN, "with the priors")
        ):  # fmt: skip
            text = f"{label}: {history[name][-1]:.5g} after {history.n_rounds} iterations"
            (self.lines_[name],) = axes.plot(history.iteration, history[name], color=color, label=text, **style)
        repairs = history.iteration[history.repaired >= 0]
        for i, iteration in enumerate(repairs):
            label = f"an expert is repaired ({repairs.size})" if i == 0 else None
            axes.axvline(iteration, color=VERMILION, linestyle=":", linewidth=1.0, label=label)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        both = np.concatenate([history.objective, history.log_likelihood])
        low, high = np.quantile(both, 0.05), float(both.max())
        if history.n_rounds > MAX_DOTTED and high > low:
            axes.set_ylim(low - 0.2 * (high - low), high + 0.08 * (high - low))
        finish(axes, "EM iteration", "log-likelihood of the training rows")
        add_legend(axes, loc="lower right")
        return self


class ExpertLoadDisplay(SingleDisplay):
    """The load of every expert, its fraction of the rows, and a line at equal loads.

    Attributes
    ----------
    load : array of the fraction of the rows of each expert
    effective_experts : exponential of the entropy of the loads
    ax_, figure_ : axes and figure
    bars_ : bars of the loads

    Examples
    --------
    >>> import numpy as np
    >>> from committee import MixtureOfExpertsRegressor
    >>> x = np.linspace(-1, 1, 60)[:, np.newaxis]
    >>> model = MixtureOfExpertsRegressor(2, n_restarts=1, tol=1e-2, random_state=0).fit(x, np.abs(x[:, 0]))
    >>> ExpertLoadDisplay.from_estimator(model).load.round(2)
    array([0.5, 0.5])
    """

    bars_: BarContainer

    def __init__(self, load: Floats, effective_experts: float) -> None:
        self.load, self.effective_experts = load, effective_experts

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> Self:
        """Draw the loads of a fitted mixture.

        Parameters
        ----------
        estimator : fitted mixture of experts
        """
        model = _fitted(estimator)
        return cls(model.load_, model.effective_experts_).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the bars; see `from_estimator`."""
        n_experts = self.load.size
        axes, places = self._open(ax, (2.2 + 0.7 * n_experts, 3.6)), np.arange(n_experts)
        self.bars_ = axes.bar(places, self.load, color=[expert_color(k) for k in range(n_experts)], width=0.7)
        shown = [f"{load:.2f}" for load in self.load]
        axes.bar_label(self.bars_, shown, label_type="center", color="white", fontsize="small", fontweight="bold")
        axes.axhline(1.0 / n_experts, color=GREY, linestyle="--", linewidth=1.0, zorder=0)
        axes.set_xticks(places, [f"expert {k}" for k in places], fontsize="small")
        axes.set_ylim(0.0, max(1.15 * float(self.load.max()), 1.3 / n_experts))
        axes.set_title(f"effective number of experts: {self.effective_experts:.2f}", fontsize="medium")
        finish(axes, ylabel="fraction of rows")
        return self
