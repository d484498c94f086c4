"""Representations of the columns of a table for the members.

    "codes"      numbers unchanged, categories as codes, nan for missing values: for trees
    "scaled"     standardized numbers, clipped at five standard deviations; one-hot encoded categories; 0 for missing
                 values, with an indicator column
    "ranked"     the same with normal quantiles of the ranks in place of numbers: without outliers and skew
    "landmarks"  Nystroem features of a gaussian kernel on the scaled columns (`svm.nystroem`)

None depends on the target: they are fitted on all rows, and out-of-fold predictions remain unbiased.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.blas_threads import one_blas_thread
from committee.svm.kernel_functions import Gaussian
from committee.svm.landmarks import candidates, choose_landmarks
from committee.svm.nystroem_map import NystroemMap, nystroem_map
from committee.tabular.encoder import EncoderOptions, TableEncoder, fit_encoder
from committee.tabular.schema import Categories, Columns

Kind = Literal["codes", "scaled", "ranked", "landmarks"]
KINDS: tuple[Kind, ...] = ("codes", "scaled", "ranked", "landmarks")

LIMIT = 5.0
"""Maximum absolute value of a scaled number, which limits the effect of outliers."""

MAX_CATEGORIES = 40
"""Maximum number of one-hot columns of a categorical column, for the most frequent categories."""


class Representation(NamedTuple):
    """A fitted representation, called on a table of numbers and codes [n, d]."""

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
    """Fit a representation on rows X [n, d] of numbers and codes.

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
    """The columns of a table of codes, with codes as categories."""
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
