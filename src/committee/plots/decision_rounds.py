"""The first rounds of a booster in the plane: weights, hypotheses and their vote."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.base.array_types import Floats
from committee.base.text import shorten
from committee.boosting.votes import make_votes
from committee.members.member import Member
from committee.members.vote import score_members
from committee.plots._checks import recorded, reject
from committee.plots._display import PanelDisplay
from committee.plots._style import INK, grid_rows, padded_range, rgb, show_plane
from committee.tabular.validation import read_weights
from committee.trees.export import CLASS_COLORS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from committee.boosting.classifier_base import BaseBooster


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


class DecisionRoundsDisplay(PanelDisplay):
    """One panel for each of the first rounds of a booster, then the vote of these rounds.

    The area of a point is the weight of its row in the round, w0 exp(-y f) of the members before; the region of a
    hypothesis has the colour of the class it predicts, stronger where the confidence is higher; rows it misclassifies
    have a black edge. All points have the same size if the weights are not a product of the rounds (linear programming,
    other losses).

    Attributes
    ----------
    plane : rows and members
    weights : array [rounds, n] of the weights in every round shown
    axes_, figure_ : array of axes, one per panel, and their figure
    points_ : list of one collection of points per class, for each panel

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from committee import AdaBoostClassifier
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> model = AdaBoostClassifier(n_estimators=5).fit(X, y)
    >>> display = DecisionRoundsDisplay.from_estimator(model, X, y, n_rounds=2)
    >>> [panel.get_title() for panel in display.axes_]
    ['round 1: error 0.167, a = 0.80', 'round 2: error 0.210, a = 0.66', 'vote of 2: error 0.167']
    """

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
        estimator : fitted booster of classifiers
        X, y : training rows and their labels
        n_rounds : int
            Rounds to show; all if the booster has fewer.
        sample_weight : array-like, optional
            Initial weights that were passed to `fit`.
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
        p, n_shown = self.plane, len(self.plane.members)
        n_lines = -(-(n_shown + 1) // MAX_COLUMNS)
        *rounds, vote = self._open(ax, n_shown + 1, (3.2, 3.1 + 0.5 / n_lines), n_columns=MAX_COLUMNS)
        name = "round" if p.is_multiplicative else "member"
        titles = [f"{name} {t + 1}: error {p.errors[t]:.3f}, a = {p.coefficients[t]:.2f}" for t in range(n_shown)]
        self.points_ = [
            self._draw(panel, slice(t, t + 1), self.weights[t], titles[t]) for t, panel in enumerate(rounds)
        ]
        error = float(p.start[self._wrong(slice(0, None))].sum())
        self.points_.append(self._draw(vote, slice(0, n_shown), p.start, f"vote of {n_shown}: error {error:.3f}"))
        for panel in self.axes_[::MAX_COLUMNS]:
            panel.set_ylabel(shorten(p.feature_names[1], 30))
        entries = self._legend_entries()
        if ax is None:
            self.figure_.legend(handles=entries, loc="outside lower center", ncols=len(entries), frameon=False)
        else:
            vote.legend(handles=entries, fontsize="small")
        return self

    def _wrong(self, members: slice) -> NDArray[np.bool_]:
        return _predictions(self.plane, members, self.plane.table)[0] != self.plane.codes

    def _draw(self, ax: Any, members: slice, weight: Floats, title: str) -> list[Any]:
        _draw_regions(ax, self.plane, members)
        p, wrong = self.plane, self._wrong(members)
        area = np.minimum(MEAN_AREA * weight * weight.size, MAX_AREA)
        width = np.where(wrong, np.clip(np.sqrt(area) / 5.0, 0.5, 1.4), 0.5)
        points: list[Any] = []
        for k in range(len(p.classes)):
            own = np.flatnonzero((p.codes == k) & (p.start > 0.0))
            own = own[np.argsort(-area[own])]  # small points above large ones
            edges = {"edgecolors": np.where(wrong[own], INK, "white"), "linewidths": width[own]}
            style = {"s": area[own], "color": _color(k), "marker": _marker(k), "alpha": 0.9, "zorder": 3}
            points.append(ax.scatter(*p.table[own].T, **style, **edges))
        ax.set_title(title, fontsize="medium")
        ax.set_xlabel(shorten(p.feature_names[0], 30))
        return points

    def _legend_entries(self) -> list[Any]:
        from matplotlib.lines import Line2D

        def dot(color: str, marker: str, edge: str, label: str, size: float = 7.0) -> Line2D:
            style: dict[str, Any] = {"markerfacecolor": color, "markeredgecolor": edge, "markersize": size}
            return Line2D([], [], linestyle="none", marker=marker, label=label, **style)

        p = self.plane
        entries = [dot(_color(k), _marker(k), "white", shorten(str(name), 30)) for k, name in enumerate(p.classes)]
        entries.append(dot("#BBBBBB", "o", INK, "misclassified"))
        if p.is_multiplicative:
            entries.append(dot("#BBBBBB", "o", "white", "area: weight in the round", 12.0))
        return entries


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
            f"A plane needs two numeric features; the booster was fitted on {columns.n_features} features, "
            f"{int(columns.is_categorical.sum())} of them categorical: fit one on two columns."
        )
    estimator.margins(X, y)  # raises for rows and labels that do not fit the booster
    table = np.asarray(X, np.float64)
    if np.isnan(table).any():
        raise ValueError("X contains NaN: rows with missing values cannot be drawn in a plane, remove them.")
    return table, np.searchsorted(estimator.classes_, np.ravel(np.asarray(y)))


def _predictions(plane: Plane, members: slice, table: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Class codes and their confidence in [0, 1], of the vote of some members."""
    coefficients = plane.coefficients[members]
    score = score_members(plane.members[members], list(coefficients), table, len(plane.classes), None)
    score /= np.abs(coefficients).sum()
    if len(plane.classes) <= 2:
        return (score[:, 0] > 0.0).astype(np.int64), np.minimum(np.abs(score[:, 0]), 1.0)
    ordered = np.sort(score, axis=1)
    return score.argmax(axis=1), np.clip(ordered[:, -1] - ordered[:, -2], 0.0, 1.0)


def _draw_regions(ax: Any, plane: Plane, members: slice) -> None:
    across, up = (padded_range(values, GRID) for values in plane.table.T)
    codes, confidence = _predictions(plane, members, grid_rows(across, up))
    colors = np.array([rgb(_color(k)) for k in range(len(plane.classes))])
    picture = np.column_stack([colors[codes], 0.08 + 0.24 * confidence])
    show_plane(ax, picture.reshape(GRID, GRID, 4), across, up, interpolation="nearest")
    for k in range(len(plane.classes)):
        own = (codes == k).reshape(GRID, GRID).astype(float)
        if 0.0 < own.mean() < 1.0:
            ax.contour(across, up, own, levels=[0.5], colors=INK, linewidths=1.0, zorder=2)


def _color(k: int) -> str:
    return CLASS_COLORS[k % len(CLASS_COLORS)]


def _marker(k: int) -> str:
    return MARKERS[k % len(MARKERS)]
