"""Pictures of a committee: what its members weigh and bring, and how they were chosen (B-4, B-5, B-6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from committee.base.array_types import Floats
from committee.plots._style import BLUE, GREY, VERMILION, pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D


MAX_NAMES = 8
"""Members that a curve of the selection tells apart by colour; more are grey."""


def _fitted_members(estimator: Any) -> Any:
    if not hasattr(type(estimator), "member_predictions") or not hasattr(estimator, "time_budget"):
        raise TypeError(f"{type(estimator).__name__} is no committee: this is for CommitteeClassifier and -Regressor.")
    if not hasattr(estimator, "weights_"):
        raise NotFittedError(f"There are no members: fit {type(estimator).__name__} first.")
    return estimator.members_


class CommitteeMembersDisplay:
    """Weights of the members, what the committee would lose without each, and their errors.

    The heaviest member is on top; members that were dropped have no bar, those that were never fitted no error.

    Attributes
    ----------
    names, weights, contributions, errors : of every member, the heaviest first
    axes_, figure_ : the axes (weights, contributions, errors) and the figure of the last plot
    bars_ : name -> bars, of "weight" and "contribution"
    dots_ : the errors
    """

    axes_: NDArray[Any]
    figure_: Figure
    bars_: dict[str, BarContainer]
    dots_: Line2D

    def __init__(
        self, names: list[str], weights: Floats, contributions: Floats, errors: Floats, *, own_error: float,
        error_name: str,
    ) -> None:  # fmt: skip
        order = np.argsort(-weights, kind="stable")
        self.names = [names[m] for m in order]
        self.weights, self.contributions, self.errors = weights[order], contributions[order], errors[order]
        self.own_error, self.error_name = own_error, error_name

    @classmethod
    def from_estimator(cls, estimator: Any, *, axes: Any = None) -> Self:
        """Draw the members of a fitted committee; `axes` are three matplotlib axes side by side, a new figure by
        default."""
        members = _fitted_members(estimator)
        error_name = "share of wrong answers" if hasattr(estimator, "classes_") else "root mean squared error"
        contributions = np.nan_to_num(members["contribution"])
        return cls(
            members["name"].tolist(), members["weight"], contributions, members["error"],
            own_error=estimator.error_, error_name=error_name,
        ).plot(axes)  # fmt: skip

    def plot(self, axes: Any = None) -> Self:
        """Draw; see `from_estimator`."""
        n = len(self.names)
        if axes is None:
            size = (10.5, 1.4 + 0.33 * n)
            axes = pyplot().subplots(1, 3, figsize=size, sharey=True, layout="constrained")[1]
        self.axes_ = np.asarray(axes)
        left, middle, right = self.axes_
        self.figure_ = left.figure
        place = np.arange(n)
        self.bars_ = {
            "weight": left.barh(place, self.weights, color=BLUE, height=0.7),
            "contribution": middle.barh(place, self.contributions, color=VERMILION, height=0.7),
        }
        self.dots_ = right.plot(self.errors, place, "o", color=BLUE, markersize=5)[0]
        right.axvline(self.own_error, color=VERMILION, linewidth=1.2, label=f"the committee: {self.own_error:.4g}")
        right.legend(frameon=False, fontsize="small", loc="lower right")
        self._frame()
        return self

    def _frame(self) -> None:
        left, middle, right = self.axes_
        left.set_yticks(np.arange(len(self.names)), self.names)
        if not left.yaxis_inverted():
            left.invert_yaxis()
        left.set_xlabel("weight")
        middle.set_xlabel("rise of the loss without it")
        right.set_xlabel(f"{self.error_name}, rows left out")
        middle.axvline(0.0, color=GREY, linewidth=0.8)
        for ax in self.axes_:
            ax.grid(axis="x", color="0.92", zorder=0)
            ax.set_axisbelow(True)
            for side in ("top", "right"):
                ax.spines[side].set_visible(False)


class EnsembleSelectionDisplay:
    """Loss of the selection after every step, and who was added.

    Attributes
    ----------
    losses, added : the loss after every step, and the name of the member added
    best_member, own_loss : loss of the best member alone, and of the committee
    ax_, figure_ : the axes and the figure of the last plot
    curve_ : the line of the losses
    """

    ax_: Axes
    figure_: Figure
    curve_: Line2D

    def __init__(self, losses: Floats, added: list[str], *, best_member: float, own_loss: float) -> None:
        if not len(losses):
            raise ValueError("The committee recorded no steps.")
        self.losses, self.added, self.best_member, self.own_loss = losses, added, best_member, own_loss

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> Self:
        """Draw the steps of a fitted committee; a new figure by default."""
        members = _fitted_members(estimator)
        history = estimator.history_
        return cls(
            np.asarray(history["loss"], np.float64), history["member"].tolist(),
            best_member=float(np.nanmin(members["loss"])), own_loss=estimator.loss_,
        ).plot(ax)  # fmt: skip

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw; see `from_estimator`."""
        axes: Any = pyplot().subplots(figsize=(8.0, 4.3), layout="constrained")[1] if ax is None else ax
        self.ax_, self.figure_ = axes, axes.figure
        steps = np.arange(1, len(self.losses) + 1)
        self.curve_ = axes.plot(steps, self.losses, color=GREY, linewidth=1.0, zorder=2)[0]
        self._draw_members(axes, steps)
        best, own = f"best member: {self.best_member:.4g}", f"the committee: {self.own_loss:.4g}"
        axes.axhline(self.best_member, color=GREY, linewidth=1.0, linestyle=":", label=best)
        axes.axhline(self.own_loss, color=VERMILION, linewidth=1.0, linestyle="--", label=own)
        self._frame(axes)
        return self

    def _draw_members(self, ax: Any, steps: NDArray[np.int64]) -> None:
        added = np.array(self.added)
        names = list(dict.fromkeys(self.added))
        colours = pyplot().get_cmap("tab10")
        for k, name in enumerate(names):
            at = added == name
            colour = colours(k) if k < MAX_NAMES else GREY
            text = f"{name} ({np.sum(at)})"
            ax.plot(steps[at], self.losses[at], "o", color=colour, markersize=5, zorder=3, label=text)

    def _frame(self, ax: Any) -> None:
        from matplotlib.ticker import MaxNLocator

        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set_xlabel("members added, again and again")
        ax.set_ylabel("squared error, rows left out")
        ax.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
