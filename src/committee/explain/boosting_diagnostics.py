"""Margins and bounds of the theory of boosting for a fitted booster, as numbers and as text."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from committee.base.array_types import Floats
from committee.base.prediction_only_error import kept_from_fit
from committee.boosting.classifier_base import BaseBooster
from committee.members.member import TreeMember
from committee.theory.bounds import (
    GeneralisationBound,
    boosted_vc_dimension,
    margin_bound,
    rounds_to_zero_error,
    stump_vc_dimension,
    tree_vc_dimension,
    vc_bound,
)
from committee.theory.margins import fraction_below
from committee.theory.minmax import distance_to_optimum, largest_minimum_margin, minmax_over_stumps

MAX_CELLS = 400 * 60
"""Rows times features up to which the linear program over all stumps is solved."""

UNKNOWN = GeneralisationBound(
    float("nan"), float("nan"), False, "the VC dimension of the members is unknown: pass base_dimension"
)

THETAS = (0.02, 0.05, 0.1, 0.2, 0.5)


class BoostingDiagnostics(NamedTuple):
    """Diagnostics of a booster on its training rows; nan where unknown. `str` describes them in sentences.

    Attributes
    ----------
    n_members : number of members
    train_error : training error, with the weights of the fit
    exponential_risk : exponential risk, which bounds the training error
    rounds_to_zero : rounds after which the training error must be zero, at the smallest edge so far
    min_margin : minimum margin of the rows
    best_of_members : largest possible minimum margin of these members, by linear programming
    best_of_stumps : the same over all stumps
    distance : distance from the minimum margin to the best known optimum
    vc : bound of the generalisation error by the VC dimension
    margin : smallest margin bound over several values of theta
    theta : theta of that bound
    """

    n_members: int
    train_error: float
    exponential_risk: float
    rounds_to_zero: float
    min_margin: float
    best_of_members: float
    best_of_stumps: float
    distance: float
    vc: GeneralisationBound
    margin: GeneralisationBound
    theta: float

    def __str__(self) -> str:
        lines = [
            f"{self.n_members} members, training error {self.train_error:.4f}"
            + ("" if np.isnan(self.exponential_risk) else f", bounded by {self.exponential_risk:.4g}"),
            f"minimum margin {self.min_margin:.4f}; at best {self.best_of_members:.4f} with these members"
            + ("" if np.isnan(self.best_of_stumps) else f", {self.best_of_stumps:.4f} with all stumps"),
            f"VC bound of the generalisation error: {_with_note(self.vc)}",
            f"margin bound at theta = {self.theta:g}: {_with_note(self.margin)}",
        ]
        if not np.isnan(self.rounds_to_zero):
            lines.insert(1, f"with these edges the training error is zero after {self.rounds_to_zero:.0f} rounds")
        return "\n".join(lines)


def _with_note(bound: GeneralisationBound) -> str:
    return f"{bound.value:.3f} ({bound.note})" if bound.note else f"{bound.value:.3f}"


def boosting_diagnostics(
    estimator: BaseBooster, X: Any, y: Any, *, base_dimension: float | None = None, delta: float = 0.05
) -> BoostingDiagnostics:
    """Compute margins, their optimum and generalisation bounds of a booster of two classes on its training rows.

    Parameters
    ----------
    estimator : fitted booster of two classes
    X, y : training rows and their labels
    base_dimension : float, optional
        VC dimension of the weak learner. By default a bound of that of trees on as many numeric features and with as
        many leaves as the largest member; the bounds are nan for members that are not trees.
    delta : float
        The bounds hold with probability 1 - delta.

    Returns
    -------
    BoostingDiagnostics

    Examples
    --------
    >>> from committee import AdaBoostClassifier
    >>> from committee.datasets import load_dataset
    >>> sonar = load_dataset("sonar")
    >>> model = AdaBoostClassifier(n_estimators=100).fit(sonar.X, sonar.y)
    >>> print(boosting_diagnostics(model, sonar.X, sonar.y))
    100 members, training error 0.0000, bounded by 0.01084
    with these edges the training error is zero after 194 rounds
    minimum margin 0.0768; at best 0.1288 with these members, 0.1360 with all stumps
    VC bound of the generalisation error: 1.422 (vacuous: every error is at most 1)
    margin bound at theta = 0.5: 2.327 (vacuous: every error is at most 1)
    """
    check_is_fitted(estimator, "members_")
    if estimator.n_classes_ != 2:
        raise ValueError(f"The bounds are for two classes; the booster was fitted on {estimator.n_classes_}.")
    margins, agreement = estimator.margins(X, y), estimator.agreements(X, y)
    n, n_members = len(margins), len(estimator.members_)
    base = _member_dimension(estimator) if base_dimension is None else base_dimension
    of_members = largest_minimum_margin(agreement).value
    of_stumps = _over_stumps(estimator, X, y)
    error = float(np.mean(estimator.predict(X) != np.asarray(y)))
    theta, margin = _smallest_margin_bound(margins, base, delta)
    return BoostingDiagnostics(
        n_members=n_members,
        train_error=_kept(estimator, "train_error")[-1] if "exponential_risk" in estimator.history_ else error,
        exponential_risk=_kept(estimator, "exponential_risk")[-1],
        rounds_to_zero=_rounds(estimator),
        min_margin=float(margins.min()),
        best_of_members=of_members,
        best_of_stumps=of_stumps,
        distance=distance_to_optimum(margins, of_members if np.isnan(of_stumps) else of_stumps),
        vc=UNKNOWN if np.isnan(base) else vc_bound(error, n, boosted_vc_dimension(base, n_members), delta),
        margin=margin,
        theta=theta,
    )


def _smallest_margin_bound(margins: Floats, base: float, delta: float) -> tuple[float, GeneralisationBound]:
    if np.isnan(base):
        return THETAS[0], UNKNOWN
    result = {theta: margin_bound(fraction_below(margins, theta), theta, margins.size, base, delta) for theta in THETAS}
    best = min(result, key=lambda theta: result[theta].value)
    return best, result[best]


def _kept(estimator: BaseBooster, column: str) -> list[float]:
    """A column of the history in the rounds that early stopping kept."""
    if column not in estimator.history_:
        return [float("nan")]
    return estimator.history_[column][: max(len(estimator.members_), 1)].tolist()


def _rounds(estimator: BaseBooster) -> float:
    """nan unless every Z was at most sqrt(1 - r^2), as the theorem requires; shortened or shifted steps break that."""
    edges, bounds = _kept(estimator, "edge"), _kept(estimator, "edge_bound")
    if not np.all(np.isfinite(bounds)) or not 0.0 < min(edges) < 1.0:
        return float("nan")
    start = kept_from_fit(estimator, "_state").start
    return float(rounds_to_zero_error(0.5 * min(edges), float(start[start > 0.0].min())))


def _member_dimension(estimator: BaseBooster) -> float:
    """A bound of the VC dimension of the members, nan if some are not trees."""
    trees = [member.tree for member in estimator.members_ if isinstance(member, TreeMember)]
    if len(trees) < len(estimator.members_):
        return float("nan")
    n_leaves = max(tree.n_leaves for tree in trees)
    d = estimator.columns_.n_features
    return float(stump_vc_dimension(d) if n_leaves <= 2 else tree_vc_dimension(d, n_leaves))


def _over_stumps(estimator: BaseBooster, X: Any, y: Any) -> float:
    """The optimum over all stumps of a numeric table of moderate size, else nan."""
    table = np.asarray(X)
    if table.dtype.kind not in "fiub" or table.size > MAX_CELLS:
        return float("nan")
    signs = np.where(np.asarray(y) == estimator.classes_[1], 1, -1)
    return float(minmax_over_stumps(table.astype(np.float64), signs).value)
