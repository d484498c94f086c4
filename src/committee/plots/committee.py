"""Pictures of a committee: the weights and contributions of its members, and how they were selected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from committee.base.array_types import Floats
from committee.plots._display import PanelDisplay, SingleDisplay
from committee.plots._style import BLUE, GREY, VERMILION, add_legend, finish, pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer
    from matplotlib.lines import Line2D


MAX_NAMES = 8
"""Number of members with a colour of their own along the selection; further ones are grey."""


def _fitted_members(estimator: Any) -> Any:
    if not hasattr(type(estimator), "member_predictions") or not hasattr(estimator, "time_budget"):
        raise TypeError(
            f"{type(estimator).__name__} is not a committee: pass a CommitteeClassifier or CommitteeRegressor."
        )
    check_is_fitted(estimator, "weights_", msg="There are no members to draw: fit %(name)s first.")
    return estimator.members_


class CommitteeMembersDisplay(PanelDisplay):
    """Weights of the members, increase of the loss without each of them, and their errors.

    The member with the largest weight is on top; members that were dropped have no bar, those that were never fitted no
    error.

    Attributes
    ----------
    names, weights, contributions, errors : values of the members, sorted by weight
    axes_, figure_ : axes of weights, contributions and errors, and figure
    bars_ : dict of name -> bars, of "weight" and "contribution"
    dots_ : dots of the errors

    Examples
    --------
    >>> from committee import CommitteeClassifier
    >>> from committee.datasets import load_dataset
    >>> sonar = load_dataset("sonar")
    >>> members = ["extra trees", "linear model"]
    >>> model = CommitteeClassifier(members=members, cv=3, random_state=0).fit(sonar.X, sonar.y)
    >>> len(CommitteeMembersDisplay.from_estimator(model).bars_["weight"])
    2
    """

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
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the members of a fitted committee.

        Parameters
        ----------
        estimator : fitted `CommitteeClassifier` or `CommitteeRegressor`
        """
        members = _fitted_members(estimator)
        error_name = "error rate" if hasattr(estimator, "classes_") else "root mean squared error"
        contributions = np.nan_to_num(members["contribution"])
        return cls(
            members["name"].tolist(), members["weight"], contributions, members["error"],
            own_error=estimator.error_, error_name=error_name,
        ).plot(ax)  # fmt: skip

    def plot(self, ax: Any = None) -> Self:
        """Draw the bars and dots; see `from_estimator`."""
        place = np.arange(len(self.names))
        left, middle, right = self._open(ax, 3, (3.5, 1.4 + 0.33 * place.size), sharey=True)
        self.bars_ = {
            "weight": left.barh(place, self.weights, color=BLUE, height=0.7),
            "contribution": middle.barh(place, self.contributions, color=VERMILION, height=0.7),
        }
        self.dots_ = right.plot(self.errors, place, "o", color=BLUE, markersize=5)[0]
        right.axvline(self.own_error, color=VERMILION, linewidth=1.2, label=f"committee: {self.own_error:.4g}")
        add_legend(right, loc="lower right")
        left.set_yticks(place, self.names)
        if not left.yaxis_inverted():
            left.invert_yaxis()
        middle.axvline(0.0, color=GREY, linewidth=0.8)
        xlabels = "weight", "increase of the loss without it", f"{self.error_name}, held-out rows"
        for panel, xlabel in zip(self.axes_, xlabels, strict=True):
            panel.grid(axis="x", color="0.92", zorder=0)
            panel.set_axisbelow(True)
            finish(panel, xlabel)
        return self


class EnsembleSelectionDisplay(SingleDisplay):
    """Loss of the ensemble selection after every step, and the member added in it.

    Attributes
    ----------
    losses, added : loss after every step, and name of the member added
    best_member, own_loss : loss of the best single member, and of the committee
    ax_, figure_ : axes and figure
    curve_ : line of the losses

    Examples
    --------
    >>> from committee import CommitteeClassifier
    >>> from committee.datasets import load_dataset
    >>> sonar = load_dataset("sonar")
    >>> members = ["extra trees", "linear model"]
    >>> model = CommitteeClassifier(members=members, cv=3, random_state=0).fit(sonar.X, sonar.y)
    >>> display = EnsembleSelectionDisplay.from_estimator(model)
    >>> len(display.added) == model.history_.n_rounds
    True
    """

    curve_: Line2D

    def __init__(self, losses: Floats, added: list[str], *, best_member: float, own_loss: float) -> None:
        if not len(losses):
            raise ValueError("The committee recorded no steps of a selection.")
        self.losses, self.added, self.best_member, self.own_loss = losses, added, best_member, own_loss

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> Self:
        """Draw the steps of a fitted committee.

        Parameters
        ----------
        estimator : fitted `CommitteeClassifier` or `CommitteeRegressor`
        """
        members = _fitted_members(estimator)
        history = estimator.history_
        return cls(
            np.asarray(history["loss"], np.float64), history["member"].tolist(),
            best_member=float(np.nanmin(members["loss"])), own_loss=estimator.loss_,
        ).plot(ax)  # fmt: skip

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the steps; see `from_estimator`."""
        from matplotlib.ticker import MaxNLocator

        axes = self._open(ax, (8.0, 4.3))
        steps = np.arange(1, len(self.losses) + 1)
        self.curve_ = axes.plot(steps, self.losses, color=GREY, linewidth=1.0, zorder=2)[0]
        self._draw_members(axes, steps)
        best, own = f"best member: {self.best_member:.4g}", f"committee: {self.own_loss:.4g}"
        axes.axhline(self.best_member, color=GREY, linewidth=1.0, linestyle=":", label=best)
        axes.axhline(self.own_loss, color=VERMILION, linewidth=1.0, linestyle="--", label=own)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        finish(axes, "selection step (members are added with replacement)", "squared error, held-out rows")
        add_legend(axes, loc="center left", bbox_to_anchor=(1.0, 0.5))
        return self

    def _draw_members(self, ax: Any, steps: NDArray[np.int64]) -> None:
        added = np.array(self.added)
        colors = pyplot().get_cmap("tab10")
        for k, name in enumerate(dict.fromkeys(self.added)):
            at = added == name
            style = {"color": colors(k) if k < MAX_NAMES else GREY, "markersize": 5, "zorder": 3}
            ax.plot(steps[at], self.losses[at], "o", label=f"{name} ({np.sum(at)})", **style)
