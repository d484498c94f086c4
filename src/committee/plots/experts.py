"""Mixtures of experts: who answers where in the plane, the likelihood over the iterations, the loads (H-1 to H-5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from committee.base.array_types import Floats
from committee.experts._base import BaseMixtureOfExperts
from committee.plots._checks import right_display
from committee.plots._style import BLUE, GREEN, GREY, MAX_DOTTED, VERMILION, pyplot
from committee.records.history import History
from committee.trees.export import CLASS_COLORS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D


GRID, MARGIN = 200, 0.06
PALE = 0.45
"""How strong the colour of a region is at most: points are drawn on it."""


def _fitted(estimator: Any) -> Any:
    if not isinstance(estimator, BaseMixtureOfExperts):
        raise TypeError(
            f"This is for mixtures of experts learned by EM, not for {type(estimator).__name__}. Take "
            f"{right_display(estimator)}."
        )
    if not hasattr(estimator, "history_"):
        raise NotFittedError(f"There is no history of iterations: fit {type(estimator).__name__} first.")
    return estimator


def _axes(ax: Axes | None, size: tuple[float, float]) -> Any:
    return pyplot().subplots(figsize=size, layout="constrained")[1] if ax is None else ax


def _rgb(color: str) -> Floats:
    from matplotlib.colors import to_rgb

    return np.array(to_rgb(color))


def expert_color(k: int) -> str:
    return CLASS_COLORS[k % len(CLASS_COLORS)]


class GatePlane(NamedTuple):
    """What the gate says on a grid over two columns, and the rows of the plane."""

    edges: tuple[Floats, Floats]  # the grid along x and along y
    gate: Floats  # [GRID, GRID, K]
    points: Floats  # [n, 2]
    expert: NDArray[np.int64]  # [n], who answers for a row
    names: tuple[str, str]
    n_experts: int


class GateRegionsDisplay:
    """Which expert the gate sends a row to, over two columns; the rows on top in the colour of who answers for them.

    The colour of a region is the paler the less sure the gate is; black lines are where two experts are equally
    probable.

    Attributes
    ----------
    plane : the grid and the rows
    ax_, figure_ : the axes and the figure of the last plot
    """

    ax_: Axes
    figure_: Figure

    def __init__(self, plane: GatePlane) -> None:
        self.plane = plane

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any = None, *, features: tuple[int, int] = (0, 1), ax: Axes | None = None
    ) -> Self:
        """Draw the gate of a fitted mixture.

        Parameters
        ----------
        X : rows to draw; other columns than the two are at their medians on the grid
        y : targets of the rows, optional: then a point has the colour of the expert that answers for it now that the
            target is known
        features : positions of the two columns; a table of one column is drawn along x alone
        """
        model = _fitted(estimator)
        table = np.asarray(X, np.float64)
        weights = model.gate_proba(X) if y is None else model.responsibilities(X, y)
        pair = features if table.shape[1] > 1 else (0, 0)
        edges = tuple(_grid(table[:, f]) for f in pair)
        rows = np.tile(np.median(table, axis=0), (GRID * GRID, 1))
        across, up = np.meshgrid(*edges)
        rows[:, pair[1]] = up.ravel()
        rows[:, pair[0]] = across.ravel()
        gate = _silent_gate(model, rows).reshape(GRID, GRID, -1)
        names = tuple(model.columns_.name(f) for f in pair)
        points = table[:, list(pair)]
        if table.shape[1] == 1:
            points = np.column_stack([table[:, 0], np.zeros(len(table)) if y is None else np.asarray(y, np.float64)])
            edges = (edges[0], _grid(points[:, 1]))
            names = (names[0], "" if y is None else "target")
        plane = GatePlane(
            (edges[0], edges[1]), gate, points, weights.argmax(axis=1), (names[0], names[1]), gate.shape[2]
        )
        return cls(plane).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw regions, borders and rows; see `from_estimator`."""
        axes: Any = _axes(ax, (6.4, 5.2))
        self.ax_, self.figure_ = axes, axes.figure
        plane = self.plane
        colors = np.array([_rgb(expert_color(k)) for k in range(plane.n_experts)])
        image = 1.0 - PALE * np.einsum("xyk,kc->xyc", plane.gate, 1.0 - colors)
        (left, *_, right), (low, *_, high) = plane.edges[0].tolist(), plane.edges[1].tolist()
        extent = (left, right, low, high)
        axes.imshow(np.clip(image, 0.0, 1.0), origin="lower", extent=extent, aspect="auto", interpolation="bilinear")
        if plane.n_experts > 1:
            top = np.sort(plane.gate, axis=2)[:, :, -2:]
            owner = plane.gate.argmax(axis=2)
            for k in range(plane.n_experts):
                if np.any(owner == k) and np.any(owner != k):
                    lead = plane.gate[:, :, k] - np.where(owner == k, top[:, :, 0], top[:, :, 1])
                    axes.contour(*plane.edges, lead, levels=[0.0], colors="black", linewidths=0.8)
        for k in range(plane.n_experts):
            own = plane.points[plane.expert == k]
            axes.scatter(
                own[:, 0], own[:, 1], s=16, color=expert_color(k), edgecolor="white", linewidth=0.4, zorder=3,
                label=f"expert {k} ({len(own)} row{'s' if len(own) != 1 else ''})",
            )  # fmt: skip
        axes.set_xlim(left, right)
        axes.set_ylim(low, high)
        axes.set_xlabel(plane.names[0])
        axes.set_ylabel(plane.names[1])
        axes.legend(fontsize="small", framealpha=0.85)
        return self


def _grid(values: Floats) -> Floats:
    low, high = float(values.min()), float(values.max())
    room = MARGIN * (high - low) or 1.0
    return np.linspace(low - room, high + room, GRID)


def _silent_gate(model: Any, rows: Floats) -> Floats:
    """The gate for rows without names."""
    view = model.mixture_.view
    return np.exp(model.mixture_.mixture.gate.log_proba(model.mixture_.gate, view.gate_design(rows))).T


class LikelihoodCurveDisplay:
    """The log-likelihood over the iterations of EM, with the penalised one that never falls, and repairs.

    Attributes
    ----------
    history : what every iteration measured
    ax_, figure_ : the axes and the figure of the last plot
    lines_ : name -> curve, of "log_likelihood" and "objective"
    """

    ax_: Axes
    figure_: Figure
    lines_: dict[str, Line2D]

    def __init__(self, history: History) -> None:
        self.history = history

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> Self:
        """Draw the history of a fitted mixture."""
        return cls(_fitted(estimator).history_).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the curves; see `from_estimator`."""
        from matplotlib.ticker import MaxNLocator

        axes: Any = _axes(ax, (7.0, 4.3))
        self.ax_, self.figure_ = axes, axes.figure
        history = self.history
        dots = "." if history.n_rounds <= MAX_DOTTED else ""
        styles = {"log_likelihood": (BLUE, "log-likelihood"), "objective": (GREEN, "with the priors")}
        self.lines_ = {}
        for name, (color, label) in styles.items():
            text = f"{label}: {history[name][-1]:.5g} after {history.n_rounds} iterations"
            self.lines_[name] = axes.plot(
                history.iteration, history[name], color=color, marker=dots, linewidth=1.6, label=text, zorder=3
            )[0]
        for i in np.flatnonzero(history.repaired >= 0):
            label = f"an expert is repaired ({int(np.sum(history.repaired >= 0))})"
            first = i == np.flatnonzero(history.repaired >= 0)[0]
            axes.axvline(
                history.iteration[i], color=VERMILION, linestyle=":", linewidth=1.0, label=label if first else None
            )
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        both = np.concatenate([history.objective, history.log_likelihood])
        low, high = np.quantile(both, 0.05), float(both.max())
        if history.n_rounds > MAX_DOTTED and high > low:
            axes.set_ylim(low - 0.2 * (high - low), high + 0.08 * (high - low))
        axes.set_xlabel("iteration of EM")
        axes.set_ylabel("log-likelihood of the training rows")
        axes.legend(frameon=False, fontsize="small", loc="lower right")
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        return self


class ExpertLoadDisplay:
    """The share of the rows that each expert answers for, beside an even one.

    Attributes
    ----------
    load : share of each expert
    effective_experts : e to the entropy of the loads
    ax_, figure_ : the axes and the figure of the last plot
    bars_ : the bars
    """

    ax_: Axes
    figure_: Figure
    bars_: BarContainer

    def __init__(self, load: Floats, effective_experts: float) -> None:
        self.load, self.effective_experts = load, effective_experts

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> Self:
        """Draw the loads of a fitted mixture."""
        model = _fitted(estimator)
        return cls(model.load_, model.effective_experts_).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the bars; see `from_estimator`."""
        n_experts = self.load.size
        axes: Any = _axes(ax, (2.2 + 0.7 * n_experts, 3.6))
        self.ax_, self.figure_ = axes, axes.figure
        colors = [expert_color(k) for k in range(n_experts)]
        self.bars_ = axes.bar(np.arange(n_experts), self.load, color=colors, width=0.7)
        shown = [f"{share:.2f}" for share in self.load]
        axes.bar_label(self.bars_, shown, label_type="center", color="white", fontsize="small", fontweight="bold")
        axes.axhline(1.0 / n_experts, color=GREY, linestyle="--", linewidth=1.0, zorder=0)
        axes.set_xticks(np.arange(n_experts), [f"expert {k}" for k in range(n_experts)], fontsize="small")
        axes.set_ylim(0.0, max(1.15 * float(self.load.max()), 1.3 / n_experts))
        axes.set_ylabel("share of the rows")
        axes.set_title(f"as good as {self.effective_experts:.2f} equal experts", fontsize="medium")
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        return self
