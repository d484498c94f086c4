"""How the columns of a table become what a member takes (B-4: different representations).

    "codes"      numbers as they are, categories as codes, nan where missing: for trees
    "scaled"     numbers less their mean, divided by their deviation and cut at five deviations; a column of 0 and 1
                 for every category; 0 where missing, with a column of its own that says so
    "ranked"     the same with each number replaced by the normal quantile of its rank: no outliers, no skew
    "landmarks"  features of a gaussian kernel over some landmarks of the scaled columns (`svm.nystroem`)

None looks at the target, so that all rows may describe the columns and out-of-fold answers stay honest.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from committee.base.array_types import Floats
from committee.base.blas_threads import one_blas_thread
from committee.svm._landmarks import candidates, choose_landmarks
from committee.svm._nystroem_map import NystroemMap, nystroem_map
from committee.svm.kernel_functions import Gaussian

Kind = Literal["codes", "scaled", "ranked", "landmarks"]
KINDS: tuple[Kind, ...] = ("codes", "scaled", "ranked", "landmarks")

CUT = 5.0
"""Deviations at which a number is cut: one outlier must not decide a kernel's scale or a line's slope."""

MAX_CATEGORIES = 40
"""Categories of a column with a column of their own, the most frequent; the others share none."""

RANKS = 1000
"""Quantiles that ranks are read off."""

CONSTANT = 1e-12
"""Deviation, as a share of the largest value, below which a column is constant."""


class NumberColumn(NamedTuple):
    """A column of numbers: where it lies, and the values (its quantiles) that become `scores`, if it is ranked."""

    column: int
    shift: float
    scale: float
    has_missing: bool
    quantiles: Floats
    scores: Floats

    def apply(self, values: Floats) -> list[Floats]:
        is_missing = np.isnan(values)
        if self.quantiles.size:
            number = np.interp(values, self.quantiles, self.scores)
        else:
            number = np.clip((values - self.shift) / self.scale, -CUT, CUT)
        filled = np.where(is_missing, 0.0, number)
        return [filled, is_missing.astype(np.float64)] if self.has_missing else [filled]


class CategoryColumn(NamedTuple):
    """A column of categories: the codes with a column of their own, and the share of the rows that each has."""

    column: int
    codes: NDArray[np.int64]
    shares: Floats

    def apply(self, values: Floats) -> list[Floats]:
        return [(values == code) - share for code, share in zip(self.codes, self.shares, strict=True)]


class Representation(NamedTuple):
    """What a kind of representation learned of a table: call it on the table of codes [n, d]."""

    kind: Kind
    parts: tuple[NumberColumn | CategoryColumn, ...] = ()
    landmarks: NystroemMap | None = None

    def __call__(self, X: Floats) -> Floats:
        if self.kind == "codes":
            return X
        columns = [column for part in self.parts for column in part.apply(X[:, part.column])]
        table = np.column_stack(columns) if columns else np.zeros((len(X), 1))
        if self.landmarks is None:
            return table
        with one_blas_thread():
            return self.landmarks.features(table)


def fit_representation(
    kind: Kind, X: Floats, is_categorical: NDArray[np.bool_], *, n_landmarks: int = 100, seed: int = 0
) -> Representation:
    """Learn scales, quantiles, categories and landmarks from the rows X [n, d] of numbers and codes.

    >>> X = np.array([[1.0, 0.0], [3.0, 1.0], [np.nan, 0.0]])
    >>> fit_representation("scaled", X, np.array([False, True]))(X).round(2).tolist()
    [[-1.0, 0.0, 0.33, -0.33], [1.0, 0.0, -0.67, 0.67], [0.0, 1.0, 0.33, -0.33]]
    """
    if kind == "codes":
        return Representation(kind)
    parts = tuple(
        part
        for f in range(X.shape[1])
        for part in (_categories(f, X[:, f]) if is_categorical[f] else _numbers(f, X[:, f], kind == "ranked"))
    )
    result = Representation(kind, parts)
    return result if kind != "landmarks" else result._replace(landmarks=_landmarks(result(X), n_landmarks, seed))


def _numbers(f: int, values: Floats, is_ranked: bool) -> list[NumberColumn]:
    """Nothing for a column that is constant and never missing."""
    is_missing = np.isnan(values)
    known = values[~is_missing]
    largest = float(np.abs(known).max(initial=0.0)) or 1.0
    unit = known / largest  # squares of huge or tiny numbers would leave float64
    shift, scale = (float(unit.mean()), float(unit.std())) if known.size else (0.0, 0.0)
    is_constant = scale <= CONSTANT
    if is_constant and not is_missing.any():
        return []
    quantiles = scores = np.empty(0)
    if is_ranked and not is_constant:
        quantiles, scores = normal_scores(known)
    scale = np.inf if is_constant else scale * largest
    return [NumberColumn(f, shift * largest, scale, bool(is_missing.any()), quantiles, scores)]


def normal_scores(values: Floats) -> tuple[Floats, Floats]:
    """Distinct quantiles of the values, and the normal quantile of the middle of each one's ranks.

    >>> [part.round(2).tolist() for part in normal_scores(np.array([10.0, 20.0, 20.0, 40.0]))]
    [[10.0, 20.0, 40.0], [-1.15, 0.0, 1.15]]
    """
    ordered = np.sort(values)
    if ordered.size > RANKS:
        places = np.linspace(0, ordered.size - 1, RANKS).astype(np.int64)
        chosen = np.unique(ordered[places])
    else:
        chosen = np.unique(ordered)
    first, last = (np.searchsorted(ordered, chosen, side) for side in ("left", "right"))
    return chosen, ndtri(0.5 * (first + last) / ordered.size)


def _categories(f: int, values: Floats) -> list[CategoryColumn]:
    known = values[~np.isnan(values)].astype(np.int64)
    if not known.size:
        return []
    count = np.bincount(known)
    frequent = np.argsort(-count, kind="stable")[:MAX_CATEGORIES]
    codes = np.sort(frequent[(count[frequent] > 0) & (count[frequent] < len(values))])
    return [CategoryColumn(f, codes, count[codes] / len(values))] if codes.size else []


def _landmarks(table: Floats, n_landmarks: int, seed: int) -> NystroemMap:
    rng = np.random.default_rng(seed)
    with one_blas_thread():
        kernel = Gaussian(gamma="scale").settle(table)
        result = candidates(table, table, np.ones(len(table)), rng)
        chosen = choose_landmarks("kmeans", result, n_landmarks, kernel, 1.0, rng)
        return nystroem_map(kernel, chosen, np.float64)
