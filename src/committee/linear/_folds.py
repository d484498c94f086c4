"""The folds of a cross-validation, stratified by class for classifiers."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv

from committee.base.rng import RandomState, member_seeds

Rows = NDArray[np.int64]
Fold = tuple[Rows, Rows]
"""Rows to fit, rows to score."""


def make_folds(cv: Any, table: Any, strata: Rows, counted: NDArray[np.bool_], random_state: RandomState) -> list[Fold]:
    """Splits of the rows.

    A number of folds shuffles the rows that are `counted` and distributes every stratum evenly over the folds; of n
    rows there are at most n folds. A splitter of scikit-learn or a list of (train, test) is taken as it is.
    """
    if not isinstance(cv, Integral):
        splitter: Any = check_cv(cv)
        return [(np.asarray(train), np.asarray(test)) for train, test in splitter.split(table, strata)]
    rows = np.flatnonzero(counted)
    n_folds = min(int(cv), len(rows))
    if n_folds < 2:
        return []
    rng = np.random.default_rng(int(member_seeds(random_state, 1)[0]))
    shuffled = rows[rng.permutation(len(rows))]
    in_line = shuffled[np.argsort(strata[shuffled], kind="stable")]
    return [(np.setdiff1d(rows, in_line[k::n_folds]), np.sort(in_line[k::n_folds])) for k in range(n_folds)]
