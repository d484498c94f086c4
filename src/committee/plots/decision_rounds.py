"""The first rounds of a booster in the plane (E-14): weights, hypotheses and their vote."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.base.array_types import Floats
from committee.base.text import shorten
from committee.boosting._votes import make_votes
from committee.members.member import Member
from committee.members.vote import score_members
from committee.plots._checks import recorded, reject
from committee.plots._style import INK, pyplot
from committee.tabular.validation import read_weights
from committee.trees.export import CLASS_COLORS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from committee.boosting._classifier_base import BaseBooster


GRID, MAX_COLUMNS = 300, 4
MEAN_AREA, MAX_AREA = 28.0, 500.0
"""Areas in square points of a row of mean weight, and the largest drawn."""

MARKERS = "os^Dv<>"


class Plane(NamedTuple):
    """Rows with two features, and the first members of a booster."""

    table: Floats  # [n, 2]
    codes: NDArray[np.int64]  # [n], classes
    start: Floats  # [n], initial weights, sum 1
    classes: NDArray[Any]
    feature_names: tuple[str, str]
    members: list[Member]
    coefficients: Floats  # [T]
    errors: Floats  # [T]
    is_multiplicative: bool  # the weights of a round follow from the members before it


class DecisionRoundsDisplay:
    """One panel per round, then the vote of the rounds shown.

    The area of a point is the weight that its row had in the round, w0 exp(-y f) of the members before; the region of
    a hypothesis has the colour of the class it answers, the stronger the surer; rows it gets wrong have a black rim.
    Where a booster has its weights from elsewhere (linear programming, other losses) all points are of one size.

    Attributes
    ----------
    plane : the rows and the members
    weights : [T, n], the weights in every round shown
    ax_, figure_ : the axes, an array of one per panel, and the figure of the last plot
    points_ : per panel, one collection of points per class
    """

    ax_: NDArray[Any]
    figure_: Figure
    points_: list[list[Any]]

    def __init__(self, plane: Plane) -> None:
        self.plane = plane
        self.weights = round_weights(plane)

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseBooster,
        X: Any,
        y: Any,
        *,
        n_rounds: int = 3,
        sample_weight: ArrayLike | None = None,
        ax: Sequence[Axes] | NDArray[Any] | None = None,
    ) -> Self:
        """Draw the first rounds of a booster fitted on two features.

        Parameters
        ----------
        X, y : the rows and labels the booster was fitted on
        n_rounds : int
            Rounds to show; fewer if there are no more.
        sample_weight : the initial weights given to `fit`, if any
        ax : `n_rounds` + 1 matplotlib axes, optional
            Where to draw; a new figure by default.
        """
        what = cls.__name__, "margins of rounds", "boosted classifiers"
        if not hasattr(estimator, "margins"):
            reject(estimator, *what)
        history = recorded(estimator, "error", *what)
        if n_rounds < 1:
            raise ValueError(f"n_rounds must be at least 1, got {n_rounds}.")
        table, codes = _read_plane(estimator, X, y)
        weight = read_weights(sample_weight, len(table))
        weight = np.ones(len(table)) if weight is None else weight
        columns, shown = estimator.columns_, slice(0, n_rounds)
        plane = Plane(
            table, codes, weight / weight.sum(), estimator.classes_, (columns.name(0), columns.name(1)),
            list(estimator.members_[shown]), np.asarray(estimator.coefficients_[shown], np.float64),
            np.asarray(estimator.estimator_errors_[shown], np.float64), "normalizer" in history,
        )  # fmt: skip
        return cls(plane).plot(ax)

    def plot(self, ax: Sequence[Axes] | NDArray[Any] | None = None) -> Self:
        """Draw the panels; see `from_estimator`."""
        n_shown = len(self.plane.members)
        panels = _panels(n_shown + 1, ax)
        self.ax_, self.figure_ = panels, panels[0].figure
        self.points_ = [
            self._draw(panel, slice(t, t + 1), self.weights[t], self._title(t))
            for t, panel in enumerate(panels[:n_shown])
        ]
        self.points_.append(self._draw(panels[-1], slice(0, n_shown), self.plane.start, self._vote_title()))
        self._draw_legend(panels, is_own=ax is None)
        return self

    def _title(self, t: int) -> str:
        p = self.plane
        name = "round" if p.is_multiplicative else "member"
        return f"{name} {t + 1}: error {p.errors[t]:.3f}, a = {p.coefficients[t]:.2f}"

    def _vote_title(self) -> str:
        error = float(self.plane.start[self._wrong(slice(0, None))].sum())
        return f"vote of {len(self.plane.members)}: error {error:.3f}"

    def _wrong(self, members: slice) -> NDArray[np.bool_]:
        return _predictions(self.plane, members, self.plane.table)[0] != self.plane.codes

    def _draw(self, ax: Any, members: slice, weight: Floats, title: str) -> list[Any]:
        _draw_regions(ax, self.plane, members)
        p, wrong = self.plane, self._wrong(members)
        area = np.minimum(MEAN_AREA * weight * weight.size, MAX_AREA)
        points: list[Any] = []
        for k in range(len(p.classes)):
            own = np.flatnonzero((p.codes == k) & (p.start > 0.0))
            own = own[np.argsort(-area[own])]  # small points above large ones
            rims = {
                "edgecolors": np.where(wrong[own], INK, "white"),
                "linewidths": np.where(wrong[own], np.clip(np.sqrt(area[own]) / 5.0, 0.5, 1.4), 0.5),
            }
            points.append(
                ax.scatter(
                    *p.table[own].T, s=area[own], color=_color(k), marker=_marker(k), alpha=0.9, zorder=3, **rims
                )
            )
        ax.set_title(title, fontsize="medium")
        ax.set_xlabel(shorten(p.feature_names[0], 30))
        return points

    def _draw_legend(self, panels: NDArray[Any], is_own: bool) -> None:
        from matplotlib.lines import Line2D

        def dot(color: str, marker: str, rim: str, label: str, size: float = 7.0) -> Line2D:
            style: dict[str, Any] = {"markerfacecolor": color, "markeredgecolor": rim, "markersize": size}
            return Line2D([], [], linestyle="none", marker=marker, label=label, **style)

        p = self.plane
        entries = [dot(_color(k), _marker(k), "white", shorten(str(name), 30)) for k, name in enumerate(p.classes)]
        entries.append(dot("#BBBBBB", "o", INK, "wrong"))
        if p.is_multiplicative:
            entries.append(dot("#BBBBBB", "o", "white", "area: weight in the round", 12.0))
        for panel in panels[::MAX_COLUMNS]:
            panel.set_ylabel(shorten(p.feature_names[1], 30))
        if is_own:
            self.figure_.legend(handles=entries, loc="outside lower center", ncols=len(entries), frameon=False)
        else:
            panels[-1].legend(handles=entries, fontsize="small")


def round_weights(plane: Plane) -> Floats:
    """Weights [T, n] in every round: w0 exp(-sum of a u over the rounds before), or equal ones if unknown."""
    votes = make_votes(plane.codes, len(plane.classes))
    weights = np.full((len(plane.members), len(plane.table)), 1.0 / len(plane.table))
    if not plane.is_multiplicative:
        return weights
    w = plane.start.copy()
    for t, (member, a) in enumerate(zip(plane.members, plane.coefficients, strict=True)):
        weights[t] = w
        w = w * np.exp(-a * votes.agreement(member.predictions(plane.table)))
        w /= w.sum()
    return weights


def _read_plane(estimator: BaseBooster, X: Any, y: Any) -> tuple[Floats, NDArray[np.int64]]:
    columns = estimator.columns_
    if columns.n_features != 2 or columns.is_categorical.any():
        raise ValueError(
            f"A plane needs two features that are numbers, the booster was fitted on {columns.n_features} features, "
            f"{int(columns.is_categorical.sum())} of them categorical: fit one on two columns."
        )
    estimator.margins(X, y)  # refuses rows and labels that do not fit the booster
    table = np.asarray(X, np.float64)
    if np.isnan(table).any():
        raise ValueError("X contains NaN: rows without a place in the plane cannot be drawn, leave them out.")
    return table, np.searchsorted(estimator.classes_, np.ravel(np.asarray(y)))


def _predictions(plane: Plane, members: slice, table: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Class codes and how sure they are, in [0, 1], of the vote of some members."""
    coefficients = plane.coefficients[members]
    score = score_members(plane.members[members], list(coefficients), table, len(plane.classes), None)
    score /= np.abs(coefficients).sum()
    if len(plane.classes) <= 2:
        return (score[:, 0] > 0.0).astype(np.int64), np.minimum(np.abs(score[:, 0]), 1.0)
    ordered = np.sort(score, axis=1)
    return score.argmax(axis=1), np.clip(ordered[:, -1] - ordered[:, -2], 0.0, 1.0)


def _draw_regions(ax: Any, plane: Plane, members: slice) -> None:
    from matplotlib.colors import to_rgb

    low, high = plane.table.min(axis=0), plane.table.max(axis=0)
    room = np.where(high > low, 0.08 * (high - low), 0.5)
    (left, bottom), (right, top) = low - room, high + room
    across, up = np.linspace(left, right, GRID), np.linspace(bottom, top, GRID)
    table = np.column_stack([np.tile(across, GRID), np.repeat(up, GRID)])
    codes, sure = _predictions(plane, members, table)
    picture = np.ones((GRID * GRID, 4))
    picture[:, :3] = np.array([to_rgb(_color(k)) for k in range(len(plane.classes))])[codes]
    picture[:, 3] = 0.08 + 0.24 * sure
    place = {"extent": (left, right, bottom, top), "origin": "lower", "aspect": "auto"}
    ax.imshow(picture.reshape(GRID, GRID, 4), interpolation="nearest", zorder=0, **place)
    for k in range(len(plane.classes)):
        own = (codes == k).reshape(GRID, GRID).astype(float)
        if 0.0 < own.mean() < 1.0:
            ax.contour(across, up, own, levels=[0.5], colors=INK, linewidths=1.0, zorder=2)


def _panels(n: int, ax: Sequence[Axes] | NDArray[Any] | None) -> NDArray[Any]:
    if ax is not None:
        given = np.ravel(np.asarray(ax, dtype=object))
        if given.size != n:
            raise ValueError(f"{n - 1} rounds and their vote need {n} axes, got {given.size}.")
        return given
    n_columns = min(n, MAX_COLUMNS)
    n_lines = -(-n // n_columns)
    size = (3.2 * n_columns, 3.1 * n_lines + 0.5)
    _, grid = pyplot().subplots(n_lines, n_columns, figsize=size, layout="constrained", squeeze=False)
    panels = np.ravel(grid)
    for spare in panels[n:]:
        spare.remove()
    return panels[:n]


def _color(k: int) -> str:
    return CLASS_COLORS[k % len(CLASS_COLORS)]


def _marker(k: int) -> str:
    return MARKERS[k % len(MARKERS)]
