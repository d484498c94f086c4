"""Which importances keep the features that a rare class needs?

Claim (lecture notes on forests): importances by permutation and by impurity neglect the features that a rare class,
hard to separate, needs; the frequency of a feature among the splits keeps them.

Measured: two frequent classes differ in two features; a third class, 5 % of the rows, looks like the first one there
and differs from it, with overlap, in two others only; four features are noise. (10 samples of 2,000 rows, 100 full
trees; the largest importance of a kind is 100.)

    kind                           needed by the frequent classes   by the rare one   noise
    permutation                                   94                        6           0
    impurity                                      95                       12           5
    frequency                                     99                       87          71
    permutation over the rare rows                 3                       94           1

The claim holds. But frequency keeps the noise as well: full trees split on anything at last, so a frequency tells
little about a need. What finds the features of a rare class is the permutation importance over its own rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.progress import progress
from committee.base.rng import member_seeds
from committee.base.stats import Mean
from committee.evaluation._folds import unfitted
from committee.explain.forest_importances import forest_importances
from committee.forests.estimators import RandomForestClassifier
from committee.plots._style import BLUE, GREY, VERMILION, finish, panels
from committee.records.result_table import ResultTable, to_pandas, to_polars
from committee_reproductions.results import (
    Claim,
    Outcome,
    ReproductionResult,
    gather_means,
    is_above,
    mean_over_draws,
    minus,
    row,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GROUPS = {"frequent": slice(0, 2), "rare": slice(2, 4), "noise": slice(4, 8)}
"""Columns of the features that the frequent classes need, that the rare one needs, and that no class needs."""

GROUP_NAMES = {"frequent": "features of the frequent classes", "rare": "features of the rare class", "noise": "noise"}

KINDS = ("permutation", "impurity", "frequency", "permutation, rare rows")
RARE = 2

NEGLECTED, KEPT = 20.0, 60.0
"""An importance below the first, of 100, neglects a feature; one above the second keeps it."""


class RareClassImportances(NamedTuple):
    """Importances with the largest at 100, means over the features of a group: [kinds, groups, n_repeats]."""

    importances: Floats
    recall: Floats  # [n_repeats], fraction of the rare rows that the out-of-bag vote recognises

    def importance(self, kind: str, group: str) -> Mean:
        """Return the mean over the repeats with its standard error."""
        if kind not in KINDS or group not in GROUPS:
            raise ValueError(f"There are the kinds {', '.join(KINDS)} and the groups {', '.join(GROUPS)}.")
        return mean_over_draws(self.importances[KINDS.index(kind), list(GROUPS).index(group)])

    @property
    def verdict(self) -> str:
        """Whether the claim holds, with the numbers."""
        of_rare = {kind: self.importance(kind, "rare").value for kind in KINDS}
        holds = max(of_rare["permutation"], of_rare["impurity"]) < NEGLECTED and of_rare["frequency"] > KEPT
        noise = self.importance("frequency", "noise").value
        return (
            f"{'as claimed' if holds else 'not as claimed'}: the features of the rare class have "
            f"{of_rare['permutation']:.0f} of 100 by permutation, {of_rare['impurity']:.0f} by impurity and "
            f"{of_rare['frequency']:.0f} by frequency, where noise has {noise:.0f}. Permutation over the rare rows "
            f"alone gives them {of_rare['permutation, rare rows']:.0f}, and noise "
            f"{self.importance('permutation, rare rows', 'noise').value:.0f}"
        )

    def to_table(self) -> ResultTable:
        """Return a table with one line per kind."""
        columns: dict[str, list[Any]] = {"kind": list(KINDS)}
        for group in GROUPS:
            means = [self.importance(kind, group) for kind in KINDS]
            columns |= {group: [mean.value for mean in means], f"{group}_stderr": [mean.stderr for mean in means]}
        return ResultTable(columns)

    to_pandas = to_pandas
    to_polars = to_polars


def make_rare_class(
    n: int = 2000, *, fraction: float = 0.05, distance: float = 1.5, random_state: int = 0
) -> tuple[Floats, NDArray[np.int64]]:
    """Simulate rows of classes 0, 1 and 2; the features are those of GROUPS, class 2 is the rare one.

    `distance` is that of the rare class from the others in each of its two features, in standard deviations.
    """
    rng = np.random.default_rng(random_state)
    y = rng.choice(3, n, p=[0.5 - 0.5 * fraction, 0.5 - 0.5 * fraction, fraction])
    X = rng.normal(size=(n, 8))
    X[:, GROUPS["frequent"]] += np.where(y == 1, 1.5, -1.5)[:, np.newaxis]
    X[:, GROUPS["rare"]] += distance * (y == RARE)[:, np.newaxis]
    return X, y


def rare_class_importances(
    forest: RandomForestClassifier | None = None,
    *,
    n: int = 2000,
    fraction: float = 0.05,
    distance: float = 1.5,
    n_repeats: int = 5,
    random_state: int = 0,
    verbose: int = 0,
) -> RareClassImportances:
    """Simulate the data, fit a forest and compare its importances; `n_repeats` times.

    Parameters
    ----------
    forest : RandomForestClassifier, default=RandomForestClassifier()
        The forest to fit.
    n : int, default=2000
        Rows of a sample.
    fraction : float, default=0.05
        Fraction of the rows in the rare class.
    distance : float, default=1.5
        Of the rare class from the others, see `make_rare_class`.
    n_repeats : int, default=5
        Samples and forests.
    random_state : int, default=0
        Draws the samples and the forests.
    verbose : int, default=0
        1 shows a progress bar.

    Returns
    -------
    RareClassImportances
        Importances of every repeat.

    Examples
    --------
    >>> result = rare_class_importances(n=800, n_repeats=2)
    >>> result.importance("permutation", "rare").value < 20.0 < 60.0 < result.importance("frequency", "rare").value
    True
    """
    model = RandomForestClassifier() if forest is None else forest
    importances, recall = np.empty((len(KINDS), len(GROUPS), n_repeats)), np.empty(n_repeats)
    with progress("rare class", n_repeats, verbose) as tick:
        for r, seed in enumerate(member_seeds(random_state, n_repeats)):
            X, y = make_rare_class(n, fraction=fraction, distance=distance, random_state=int(seed))
            fitted = unfitted(model, random_state=int(seed >> np.uint64(33))).fit(X, y)
            importances[:, :, r] = _compare(fitted, X, y, int(seed))
            recall[r] = np.mean(fitted.oob_decision_function_[y == RARE].argmax(axis=1) == RARE)
            tick(f"{100.0 * recall[r]:.0f} % of the rare rows recognised")
    return RareClassImportances(importances, recall)


def _compare(forest: RandomForestClassifier, X: Floats, y: NDArray[np.int64], seed: int) -> Floats:
    """Return importances [kinds, groups], the largest feature of each kind at 100."""
    measured = forest_importances(
        forest, X, y, kinds=["permutation", "impurity", "frequency"], random_state=seed % 2**31
    )
    raw = [one.raw for one in measured.kinds] + [measured.of("permutation").per_class[:, RARE]]
    return np.array([[100.0 * np.mean(one[at]) / one.max() for at in GROUPS.values()] for one in raw])


def reproduce(quick: bool = False, verbose: int = 0) -> Outcome:
    """Measure and compare with the claim."""
    size: dict[str, Any] = {"n": 600, "n_repeats": 2} if quick else {"n_repeats": 10}
    measured = rare_class_importances(**size, verbose=verbose)
    means = {(kind, group): measured.importance(kind, group) for kind in KINDS for group in GROUPS}
    rows = tuple(row(f"{kind}, {GROUP_NAMES[group]}", mean, digits=1) for (kind, group), mean in means.items())
    rare = {kind: means[kind, "rare"] for kind in KINDS}
    noise = means["frequency", "noise"]
    claims = (
        *(
            Claim(f"{kind} neglects them (below {NEGLECTED:.0f} of 100)", rare[kind].value < NEGLECTED, str(rare[kind]))
            for kind in ("permutation", "impurity")
        ),
        Claim(f"frequency keeps them (above {KEPT:.0f})", rare["frequency"].value > KEPT, str(rare["frequency"])),
        Claim(
            "frequency separates them from noise",
            is_above(minus(rare["frequency"], noise)), f"{rare['frequency']} against {noise} for noise",
        ),
    )  # fmt: skip
    return Outcome(rows, claims, gather_means(means), measured.verdict, measured)


def draw(result: ReproductionResult) -> Figure:
    """Draw four importances of three groups of features."""
    (ax,) = panels(None, 1, (7.6, 3.8))
    for k, (group, color) in enumerate(zip(GROUPS, (BLUE, VERMILION, GREY), strict=True)):
        means = [result.data.importance(kind, group) for kind in KINDS]
        style: dict[str, Any] = {"capsize": 2.5, "error_kw": {"elinewidth": 1.0}, "label": GROUP_NAMES[group]}
        values, errors = [mean.value for mean in means], [mean.stderr for mean in means]
        ax.bar(np.arange(len(KINDS)) + 0.27 * (k - 1), values, 0.25, yerr=errors, color=color, **style)
    ax.axhline(0.0, color=GREY, linewidth=0.8)
    ax.set_xticks(range(len(KINDS)), KINDS)
    ax.set_ylim(min(-8.0, ax.get_ylim()[0]), 135.0)
    ax.legend(frameon=False, fontsize="small", loc="upper right", ncols=3)
    finish(ax, "", "importance, largest = 100")
    return ax.figure
