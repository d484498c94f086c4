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

from committee.base.array_types import Floats
from committee.base.blas_threads import one_blas_thread
from committee.svm._landmarks import candidates, choose_landmarks
from committee.svm._nystroem_map import NystroemMap, nystroem_map
from committee.svm.kernel_functions import Gaussian
from committee.tabular.encoder import EncoderOptions, TableEncoder, fit_encoder
from committee.tabular.schema import Categories, Columns

Kind = Literal["codes", "scaled", "ranked", "landmarks"]
KINDS: tuple[Kind, ...] = ("codes", "scaled", "ranked", "landmarks")

LIMIT = 5.0
"""Largest absolute value of a scaled number: one outlier must not decide the scale of a kernel or a coefficient."""

MAX_CATEGORIES = 40
"""Number of categories of a column that have their own column, the most frequent ones."""


class Representation(NamedTuple):
    """A fitted representation: call it on the table of codes [n, d]."""

    kind: Kind
    encoder: TableEncoder | None = None
    landmarks: NystroemMap | None = None

    def __call__(self, X: Floats) -> Floats:
        if self.encoder is None:
            return X
        table = self.encoder(X) if self.encoder.n_columns else np.zeros((len(X), 1))
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
    options = EncoderOptions(
        "centred", MAX_CATEGORIES, flags_missing=True, is_ranked=kind == "ranked", drops_constant=True, limit=LIMIT
    )
    result = Representation(kind, fit_encoder(_columns(X, is_categorical), X, None, options))
    return result if kind != "landmarks" else result._replace(landmarks=_landmarks(result(X), n_landmarks, seed))


def _columns(X: Floats, is_categorical: NDArray[np.bool_]) -> Columns:
    """The columns of a table of codes; a category is known by its code."""
    n_codes = [int(np.max(X[:, f], initial=-1.0, where=~np.isnan(X[:, f]))) + 1 for f in np.flatnonzero(is_categorical)]
    codes = iter(Categories(tuple(range(n))) for n in n_codes)
    return Columns(X.shape[1], None, tuple(next(codes) if is_code else None for is_code in is_categorical))


def _landmarks(table: Floats, n_landmarks: int, seed: int) -> NystroemMap:
    rng = np.random.default_rng(seed)
    with one_blas_thread():
        kernel = Gaussian(gamma="scale").settle(table)
        result = candidates(table, table, np.ones(len(table)), rng)
        chosen = choose_landmarks("kmeans", result, n_landmarks, kernel, 1.0, rng)
        return nystroem_map(kernel, chosen, np.float64)
