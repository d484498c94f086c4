"""Why ensembles work, in pictures: the statistical and the representational reason, and selecting against combining."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from committee.plots._style import BLUE, GREEN, GREY, ORANGE, VERMILION, pyplot
from committee_reproductions.why_combine import WAYS, RepresentationalReason, SelectOrCombine, StatisticalReason

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import FillBetweenPolyCollection
    from matplotlib.container import ErrorbarContainer
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage
    from matplotlib.lines import Line2D

COLORS = {"selected": VERMILION, "vote": ORANGE, "mean": GREEN, "simplex": BLUE}


class StatisticalReasonDisplay:
    """Error of one hypothesis that fits and of the vote of all that fit, against the number of rows (B-8).

    Attributes
    ----------
    study : what was measured
    ax_, figure_ : the axes and the figure of the last plot
    lines_, bands_ : of "one" and "vote"; bands are one standard error
    """

    ax_: Axes
    figure_: Figure
    lines_: dict[str, Line2D]
    bands_: dict[str, FillBetweenPolyCollection]

    def __init__(self, study: StatisticalReason) -> None:
        self.study = study

    @classmethod
    def from_study(cls, study: StatisticalReason, *, ax: Axes | None = None) -> Self:
        """Draw what `statistical_reason` returns, on `ax` or in a new figure."""
        return cls(study).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the curves; see `from_study`."""
        axes: Any = pyplot().subplots(figsize=(6.5, 4.2), layout="constrained")[1] if ax is None else ax
        self.ax_, self.figure_ = axes, axes.figure
        self.lines_, self.bands_ = {}, {}
        found, n = self.study.history, self.study.n_rows
        for key, color, text in (("one", VERMILION, "one that fits"), ("vote", BLUE, "vote of all that fit")):
            low, high = found[key] - found[f"{key}_stderr"], found[key] + found[f"{key}_stderr"]
            self.bands_[key] = axes.fill_between(n, low, high, color=color, alpha=0.15, linewidth=0)
            (self.lines_[key],) = axes.plot(n, found[key], marker="o", color=color, linewidth=1.6, label=text)
        axes.set_xscale("log")
        axes.set_xticks(n, [str(size) for size in n])
        axes.minorticks_off()
        axes.set_ylim(0.0, None)
        axes.legend(frameon=False, loc="upper right")
        _finish(axes, "training rows", "error on new rows")
        return self


class RepresentationalReasonDisplay:
    """A slanting line by stumps: what sums of more and more of them answer on the square, and their error (B-8).

    Attributes
    ----------
    study : what was measured
    ax_, figure_ : the panels (an array of axes) and the figure of the last plot
    images_ : number of members -> its answers on the square
    lines_ : curves of "sum" and levels of "limit"
    """

    ax_: NDArray[Any]
    figure_: Figure
    images_: dict[int, AxesImage]
    lines_: dict[str, Line2D]

    def __init__(self, study: RepresentationalReason) -> None:
        self.study = study

    @classmethod
    def from_study(cls, study: RepresentationalReason, *, ax: Sequence[Axes] | NDArray[Any] | None = None) -> Self:
        """Draw what `representational_reason` returns, on one axes more than it has grids, or in a new figure."""
        return cls(study).plot(ax)

    def plot(self, ax: Sequence[Axes] | NDArray[Any] | None = None) -> Self:
        """Draw the squares and the curve; see `from_study`."""
        n = len(self.study.grids) + 1
        if ax is None:
            ratios = [1.0] * (n - 1) + [1.5]
            figure, panels = pyplot().subplots(
                1, n, figsize=(2.6 * n + 1.4, 2.9), layout="constrained", width_ratios=ratios
            )
            self.ax_, self.figure_ = np.ravel(panels), figure
        else:
            self.ax_ = np.ravel(np.asarray(ax, dtype=object))
            if self.ax_.size != n:
                raise ValueError(f"The study needs {n} axes, got {self.ax_.size}.")
            self.figure_ = self.ax_[0].figure
        pairs = zip(self.ax_, self.study.grids.items(), strict=False)
        self.images_ = {t: self._draw_square(panel, t, grid) for panel, (t, grid) in pairs}
        self._draw_curve(self.ax_[-1])
        return self

    def _draw_square(self, ax: Any, t: int, grid: NDArray[np.float64]) -> AxesImage:
        from matplotlib.colors import ListedColormap

        image = ax.imshow(
            grid, origin="lower", extent=(-1, 1, -1, 1), cmap=ListedColormap(["#f3d9c9", "#cfe3f0"]), vmin=-1, vmax=1
        )
        ax.plot([-1, 1], [1, -1], color="black", linewidth=1.2, linestyle="--")
        ax.set_title(f"{t} stump{'s' if t > 1 else ''}: error {self.study.errors[t - 1]:.3f}", fontsize="small")
        ax.set_xticks([-1, 0, 1])
        ax.set_yticks([-1, 0, 1])
        ax.set_xlabel("$x_1$")
        ax.set_ylabel("$x_2$")
        return image

    def _draw_curve(self, ax: Any) -> None:
        errors = self.study.errors
        (line,) = ax.plot(np.arange(1, errors.size + 1), errors, color=BLUE, linewidth=1.6, label="weighted sum")
        level = ax.axhline(
            self.study.limit, color=VERMILION, linestyle="--", linewidth=1.2, label="best stump there is"
        )
        self.lines_ = {"sum": line, "limit": level}
        ax.set_ylim(0.0, 1.35 * max(float(errors.max()), self.study.limit))
        ax.legend(frameon=False, fontsize="small", loc="upper right")
        _finish(ax, "number of stumps", "error")


class SelectOrCombineDisplay:
    """Errors on test folds with their standard errors: members, the selected one, and combinations of all (B-8).

    Attributes
    ----------
    studies : name -> what was measured
    ax_, figure_ : the panels (an array of axes) and the figure of the last plot
    bars_ : name -> way or member -> dot with its bar
    """

    ax_: NDArray[Any]
    figure_: Figure
    bars_: dict[str, dict[str, ErrorbarContainer]]

    def __init__(self, studies: Mapping[str, SelectOrCombine]) -> None:
        if not studies:
            raise ValueError("There is nothing to draw: pass at least one study.")
        self.studies = dict(studies)

    @classmethod
    def from_study(cls, study: SelectOrCombine | Mapping[str, SelectOrCombine], *, ax: Any = None) -> Self:
        """Draw what `select_or_combine` or `reproduce_b8` returns, on as many axes as studies or in a new figure."""
        return cls({"": study} if isinstance(study, SelectOrCombine) else study).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the panels; see `from_study`."""
        n = len(self.studies)
        if ax is None:
            size = (6.0, 3.4) if n == 1 else (3.3 * n, 3.4)
            panels = pyplot().subplots(1, n, figsize=size, layout="constrained", squeeze=False)[1]
            self.ax_ = np.ravel(panels)
        else:
            self.ax_ = np.ravel(np.asarray(ax, dtype=object))
            if self.ax_.size != n:
                raise ValueError(f"{n} studies need as many axes, got {self.ax_.size}.")
        self.figure_, self.bars_ = self.ax_[0].figure, {}
        for panel, (name, found) in zip(self.ax_, self.studies.items(), strict=True):
            self.bars_[name] = self._draw(panel, name, found)
        return self

    def _draw(self, ax: Any, name: str, found: SelectOrCombine) -> dict[str, ErrorbarContainer]:
        rows = [*found.names, *(way for way in WAYS if way in found.errors)]
        bars: dict[str, ErrorbarContainer] = {}
        for k, row in enumerate(rows):
            error = found.error(row)
            color = COLORS.get(row, GREY)
            bars[row] = ax.errorbar(error.value, -k, xerr=error.stderr, fmt="o", color=color, capsize=3, markersize=5)
        ax.axhline(0.5 - len(found.names), color=GREY, linewidth=0.6, linestyle=":")
        ax.axvline(found.error("selected").value, color=VERMILION, linewidth=0.8, linestyle="--", zorder=1)
        ax.set_yticks([-k for k in range(len(rows))], [_label(row) for row in rows])
        ax.set_ylim(-len(rows) + 0.4, 0.6)
        is_class = found.task == "classification"
        _finish(ax, "error on test folds" if is_class else "mean squared error", "")
        if name:
            ax.set_title(name, fontsize="medium", loc="left")
        return bars


LABELS = {"selected": "selected one", "vote": "vote of all", "mean": "mean of all", "simplex": "weighted mean"}


def _label(row: str) -> str:
    return LABELS.get(row, row)


def _finish(ax: Any, xlabel: str, ylabel: str) -> None:
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
