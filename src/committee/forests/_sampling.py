"""Samples of the rows for the trees of a forest, and the leaves of the rows outside them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.sampling.resampling import number_of_draws, without_common_factor
from committee.sampling.row_samples import Indices, Places, Sampler
from committee.tabular.identity import content_order
from committee.tree_engine.predict.apply import apply_tree

if TYPE_CHECKING:
    from committee.records.tree import Tree


def make_sampler(
    X: NDArray[np.floating],
    target: NDArray[np.integer] | Floats,
    weight: Floats,
    bootstrap: bool | Literal["balanced"],
    max_samples: int | float | None,
) -> Sampler:
    """The sampler for the parameters `bootstrap` and `max_samples`.

    A balanced bootstrap (Chen, Liaw and Breiman 2004) draws from every class as many rows as the rarest one has.
    """
    given, weight = weight, without_common_factor(weight)
    n_rows = number_of_draws(weight[weight > 0.0])
    n_draws = _n_draws(max_samples, n_rows)
    if not bootstrap and n_draws >= n_rows:
        return Sampler(given, Places(np.arange(given.size), given, given.size, False), n_rows, "all")
    order = content_order(X, np.asarray(target, np.float64).reshape(len(X), -1)[:, 0])
    places = Places.lay_out(order, weight)
    if bootstrap == "balanced":
        codes = np.asarray(target, np.int64)
        of_place = codes[places.row]
        rarest = min(number_of_draws(places.weight[of_place == k]) for k in np.unique(of_place))
        return Sampler(weight, places, max(1, min(n_draws, rarest)), "balanced", order, codes)
    if not bootstrap:
        return Sampler(weight, places, n_draws, "pasting", order)
    return Sampler(weight, places, n_draws, "bootstrap" if places.are_rows else "weighted", order)


def _n_draws(max_samples: int | float | None, n_rows: int) -> int:
    if max_samples is None:
        return n_rows
    if isinstance(max_samples, int | np.integer):
        if max_samples > n_rows:
            raise ValueError(f"max_samples={max_samples} must be at most {n_rows}, the number of rows.")
        return int(max_samples)
    return max(1, round(n_rows * float(max_samples)))


def out_of_bag_leaves(sampler: Sampler, seed: int, tree: Tree, X: NDArray[np.floating]) -> tuple[Indices, Indices]:
    """The rows outside the sample of this seed, and their leaves."""
    rows = sampler.out_of_bag(sampler.weights(seed))
    return rows, apply_tree(tree, X[rows])
