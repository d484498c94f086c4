"""The samples of a forest's trees: how many rows they draw and how, and what the trees answer for the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from committee.parts.resampling import are_whole, content_order, number_of_draws
from committee.parts.row_samples import Indices, Places, Sampler
from committee.parts.traversing import apply_tree

if TYPE_CHECKING:
    from committee.data.tree import Tree
    from committee.forests.random_forest import Member

Floats = NDArray[np.float64]


def make_sampler(
    X: NDArray[np.floating],
    target: NDArray[np.integer] | Floats,
    weight: Floats,
    bootstrap: bool | Literal["balanced"],
    max_samples: int | float | None,
) -> Sampler:
    """`max_samples` is a number of draws, or a share of the number of rows; None means as many as there are rows.

    A balanced bootstrap (Chen, Liaw and Breiman 2004) draws from every class as many rows as the rarest one has.
    """
    given, weight = weight, _as_counts(weight)
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


def _as_counts(weight: Floats) -> Floats:
    """Equal weights that are no numbers of rows mean one row each."""
    counted = weight[weight > 0.0]
    return weight / counted[0] if not are_whole(weight) and np.all(counted == counted[0]) else weight


def _n_draws(max_samples: int | float | None, n_rows: int) -> int:
    if max_samples is None:
        return n_rows
    if isinstance(max_samples, int | np.integer):
        if max_samples > n_rows:
            raise ValueError(f"max_samples={max_samples} is more than the {n_rows} rows: take at most that many.")
        return int(max_samples)
    return max(1, round(n_rows * float(max_samples)))


# --- out of bag -------------------------------------------------------------------------------------------------------


def out_of_bag_leaves(sampler: Sampler, seed: int, tree: Tree, X: NDArray[np.floating]) -> tuple[Indices, Indices]:
    """What the tree of this seed has to judge, with its leaves: rows, or places where rows have copies."""
    if not sampler.places.has_copies:
        rows = sampler.out_of_bag(sampler.weights(seed))
        return rows, apply_tree(tree, X[rows])
    outside = sampler.outside(seed)
    return outside, sampler.places.answers(outside, X, lambda table: apply_tree(tree, table))


def judged_by_place(
    members: Iterator[Member], sampler: Sampler, seeds: Sequence[int], X: NDArray[np.floating]
) -> Iterator[Member]:
    """The members, where rows have copies with places in place of rows: of equal rows one may be in the sample."""
    if not sampler.places.has_copies:
        yield from members
        return
    for member, seed in zip(members, seeds, strict=False):
        outside, leaf = out_of_bag_leaves(sampler, seed, member.tree, X)
        yield member._replace(out_of_bag=outside, answers=member.tree.value[leaf])
