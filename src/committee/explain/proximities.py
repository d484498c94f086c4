"""Similarity of rows in a forest: proximities, the training rows behind a prediction, outliers.

    proximity    P(i, j) = fraction of the trees in which rows i and j are in the same leaf
    out of bag   the same among the trees fitted on neither; in others, training rows of one class share leaves
    neighbours   W_i(x) = mean_t c_t(i) [i and x share a leaf of t] / sum_k c_t(k) [k and x share it]
    outlier      n / sum_{j of the class of i} P(i, j)^2, minus the median of the class, over its median deviation

with c_t(i) the weight of row i in the bag of tree t. The prediction of a forest is a mean of training targets with the
weights W (Lin and Jeon 2006): it is sum_i W_i(x) y_i, and W shows the training rows it is based on.

Most pairs of rows share few leaves, so all matrices are sparse, and computed for a block of rows at a time: a table of
20,000 rows never needs 20,000 x 20,000 values in memory.

Breiman and Cutler, Random forests manual, 2003. Lin and Jeon, Random forests and adaptive nearest neighbors, 2006.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from committee.base.array_types import Floats
from committee.base.prediction_only_error import kept_from_fit
from committee.explain.oob_forest import check_forest, training_rows
from committee.forests.base import BaseForest
from committee.records.result_table import ResultTable, to_pandas, to_polars
from committee.tabular.validation import read_table
from committee.tree_engine.predict.apply import apply_tree

Sparse = Any  # scipy's matrices have no complete types

BLOCK = 512
"""Number of rows of a block."""


class Neighbours(NamedTuple):
    """The training rows behind the predictions of other rows, by decreasing weight.

    Attributes
    ----------
    rows : array [n, k], positions in the training table; -1 where fewer rows have a weight
    weight : array [n, k], their weights in the prediction; all weights of a row sum to 1, k of them to less
    """

    rows: NDArray[np.int64]
    weight: Floats

    def to_table(self) -> ResultTable:
        """Return a table with one row per pair of a row and a training row."""
        at, _ = np.nonzero(self.rows >= 0)
        is_there = self.rows >= 0
        columns = {"row": at, "training_row": self.rows[is_there], "weight": self.weight[is_there]}
        return ResultTable(columns)

    to_pandas = to_pandas
    to_polars = to_polars


def proximities(forest: BaseForest, X: Any, Z: Any = None, *, out_of_bag: bool = False) -> Sparse:
    """Compute the proximities of the rows of X to those of Z, or to each other.

    Parameters
    ----------
    forest : fitted forest
    X : table
    Z : table, optional
        Without Z, the rows of X are compared with each other.
    out_of_bag : bool
        X are the training rows, and only trees fitted on neither row of a pair count.

    Returns
    -------
    scipy.sparse.csr_matrix of shape (n_rows of X, n_rows of Z)

    Examples
    --------
    >>> from committee import RandomForestClassifier
    >>> from committee.datasets import load_dataset
    >>> glass = load_dataset("glass")
    >>> forest = RandomForestClassifier(random_state=0).fit(glass.X, glass.y)
    >>> near = proximities(forest, glass.X, out_of_bag=True)
    >>> near.shape, round(float(near[0, 62]), 2)
    ((214, 214), 0.33)
    """
    return sparse.vstack([block for _, block in proximity_blocks(forest, X, Z, out_of_bag=out_of_bag)], format="csr")


def proximity_blocks(
    forest: BaseForest, X: Any, Z: Any = None, *, out_of_bag: bool = False, block: int = BLOCK
) -> Iterator[tuple[slice, Sparse]]:
    """Yield the proximities in blocks of rows of X, for tables whose proximities do not fit in memory.

    Parameters
    ----------
    forest, X, Z, out_of_bag : as in `proximities`
    block : int
        Number of rows of a block.

    Returns
    -------
    iterator of (slice, scipy.sparse.csr_matrix)
        The rows of X in the block, and their proximities.

    Examples
    --------
    >>> from committee import RandomForestClassifier
    >>> from committee.datasets import load_dataset
    >>> glass = load_dataset("glass")
    >>> forest = RandomForestClassifier(n_estimators=10, random_state=0).fit(glass.X, glass.y)
    >>> [near.shape for rows, near in proximity_blocks(forest, glass.X, block=128)]
    [(128, 214), (86, 214)]
    """
    fitted = check_forest(forest)
    if out_of_bag and Z is not None:
        raise ValueError("Out-of-bag proximities are between training rows: pass them as X, and no Z.")
    leaves = _leaves(fitted, X)
    others = leaves if Z is None else _leaves(fitted, Z)
    n_leaves = int(fitted.packed_.value_index.size)
    is_out = _out_of_bag(fitted, len(leaves)) if out_of_bag else None
    transposed = _indicator(others, n_leaves, is_out).T.tocsr()
    for first in range(0, len(leaves), block):
        rows = slice(first, min(first + block, len(leaves)))
        shared = _indicator(leaves[rows], n_leaves, None if is_out is None else is_out[rows]) @ transposed
        yield rows, _fractions(shared, is_out, rows, leaves.shape[1])


def _fractions(shared: Sparse, is_out: NDArray[np.bool_] | None, rows: slice, n_trees: int) -> Sparse:
    """Number of shared leaves over the number of trees that count."""
    if is_out is None:
        return shared / n_trees
    together = is_out[rows].astype(np.float32) @ is_out.T.astype(np.float32)  # integers, exact
    result = shared.tocoo()
    result.data = result.data / together[result.row, result.col]
    return result.tocsr()


def _leaves(forest: BaseForest, X: Any) -> NDArray[np.int32]:
    """Leaf of every row in every tree, numbered over all trees [n, trees]."""
    table = read_table(forest, X)
    roots = forest.packed_.roots
    leaves = [root + apply_tree(tree, table, forest.n_jobs) for root, tree in zip(roots, forest.trees_, strict=True)]
    return np.stack(leaves, axis=1).astype(np.int32)


def _out_of_bag(forest: BaseForest, n_rows: int) -> NDArray[np.bool_]:
    """Whether row i was out of the bag of tree t [n, trees]."""
    sampler: Any = kept_from_fit(forest, "_sampler")
    if n_rows != sampler.weight.size:
        raise ValueError(
            f"The forest was fitted on {sampler.weight.size} rows, X has {n_rows}: pass the training rows."
        )
    is_out = np.zeros((n_rows, len(forest.trees_)), np.bool_)
    for t in range(len(forest.trees_)):
        is_out[forest.oob_indices(t), t] = True
    if not is_out.any():
        raise ValueError("The forest has no out-of-bag rows: fit it with bootstrap=True, or max_samples below 1.")
    return is_out


def _indicator(leaves: NDArray[np.int32], n_leaves: int, keep: NDArray[np.bool_] | None, data: Any = None) -> Sparse:
    """Sparse [rows, leaves of all trees]: 1, or `data`, at the leaves of a row; only where `keep` holds."""
    keep = np.ones(leaves.shape, np.bool_) if keep is None else keep
    values = np.ones(leaves.shape) if data is None else data
    begins = np.concatenate([[0], np.cumsum(keep.sum(axis=1))])
    return sparse.csr_matrix((values[keep], leaves[keep], begins), shape=(len(leaves), n_leaves))


# --- the training rows behind a prediction ---------------------------------------------------------------------------


def neighbours(forest: BaseForest, X_train: Any, X: Any, k: int = 5) -> Neighbours:
    """Find the k training rows with the largest weights in the prediction of the forest for each row of X.

    Class weights (`class_weight`) are ignored: with them the weights are approximate.

    Parameters
    ----------
    forest : fitted forest
    X_train : training rows, in the order of the fit
    X : rows to explain
    k : int
        Number of training rows for each row.

    Returns
    -------
    Neighbours

    Examples
    --------
    >>> from committee import RandomForestRegressor
    >>> from committee.datasets import load_dataset
    >>> ozone = load_dataset("ozone")
    >>> forest = RandomForestRegressor(random_state=0).fit(ozone.X[:-1], ozone.y[:-1])
    >>> behind = neighbours(forest, ozone.X[:-1], ozone.X[-1:], k=3)
    >>> behind.rows[0], behind.weight[0].round(2)
    (array([359, 105, 102]), array([0.08, 0.05, 0.05]))
    """
    if isinstance(k, bool) or k < 1:
        raise ValueError(f"k must be at least 1, got {k}.")
    rows, weight = [], []
    for part in weight_blocks(forest, X_train, X):
        result = [_largest(part, i, k) for i in range(part.shape[0])]
        rows += [one[0] for one in result]
        weight += [one[1] for one in result]
    return Neighbours(np.array(rows, np.int64).reshape(-1, k), np.array(weight, np.float64).reshape(-1, k))


def weight_blocks(forest: BaseForest, X_train: Any, X: Any, block: int = BLOCK) -> Iterator[Sparse]:
    """Yield the weights of all training rows in predictions for blocks of X: sparse [rows, n_train], rows sum to 1."""
    fitted = check_forest(forest)
    n_leaves = int(fitted.packed_.value_index.size)
    leaves, others = _leaves(fitted, X_train), _leaves(fitted, X)
    bag = _bag_weights(fitted, len(leaves))
    in_leaf = np.bincount(leaves.ravel(), bag.ravel(), n_leaves)
    part = np.divide(bag, in_leaf[leaves], out=np.zeros(bag.shape), where=bag > 0.0) / leaves.shape[1]
    transposed = _indicator(leaves, n_leaves, bag > 0.0, part).T.tocsr()
    for first in range(0, len(others), block):
        yield _indicator(others[first : first + block], n_leaves, None) @ transposed


def _bag_weights(forest: BaseForest, n_rows: int) -> Floats:
    """Weight of row i in the sample of tree t [n, trees]."""
    sampler, seeds = kept_from_fit(forest, "_sampler"), kept_from_fit(forest, "_member_seeds")
    if n_rows != sampler.weight.size:
        raise ValueError(
            f"The forest was fitted on {sampler.weight.size} rows, X_train has {n_rows}: pass the training rows."
        )
    return np.stack([sampler.weights(seed) for seed in seeds], axis=1)


def _largest(parts: Sparse, i: int, k: int) -> tuple[NDArray[np.int64], Floats]:
    """Columns and values of the k largest entries of row i; of equal ones the first columns."""
    begin, end = parts.indptr[i], parts.indptr[i + 1]
    columns, values = parts.indices[begin:end], parts.data[begin:end]
    order = np.lexsort((columns, -values))[:k]
    rows, weight = np.full(k, -1, np.int64), np.zeros(k)
    rows[: order.size], weight[: order.size] = columns[order], values[order]
    return rows, weight


# --- outliers --------------------------------------------------------------------------------------------------------


def outlier_measure(forest: BaseForest, X: Any, y: Any, *, out_of_bag: bool = True) -> Floats:
    """Compute how far every training row is from the others of its class, or from all others in regression.

    Breiman calls a row with a value above 10 an outlier. The value is 0 in a class with median deviation 0.

    Parameters
    ----------
    forest : fitted forest
    X, y : training rows and their targets
    out_of_bag : bool
        Use out-of-bag proximities.

    Returns
    -------
    array of shape (n_rows,)

    Examples
    --------
    >>> from committee import RandomForestClassifier
    >>> from committee.datasets import load_dataset
    >>> glass = load_dataset("glass")
    >>> forest = RandomForestClassifier(random_state=0).fit(glass.X, glass.y)
    >>> far = outlier_measure(forest, glass.X, glass.y)
    >>> int(far.argmax()), round(float(far.max()), 1)
    (187, 76.4)
    """
    fitted = check_forest(forest)
    rows = training_rows(fitted, X, y)
    codes = np.asarray(rows.target if rows.n_classes else np.zeros(len(rows.X)), np.int64)
    raw = np.empty(codes.size)
    for at, near in proximity_blocks(fitted, X, out_of_bag=out_of_bag):
        result = near.tocoo()
        own = np.where(codes[at][result.row] == codes[result.col], result.data**2, 0.0)
        sums = np.bincount(result.row, own, at.stop - at.start)
        # A row that was in every bag has no out-of-bag proximities and counts as near to itself only
        raw[at] = codes.size / np.where(sums > 0.0, sums, 1.0)
    return _within_classes(raw, codes)


def _within_classes(raw: Floats, codes: NDArray[np.int64]) -> Floats:
    out = np.zeros(raw.size)
    for k in np.unique(codes):
        own = codes == k
        away = raw[own] - np.median(raw[own])
        deviation = float(np.median(np.abs(away)))
        out[own] = away / deviation if deviation > 0.0 else 0.0
    return out
