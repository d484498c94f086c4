"""Predictions of the members of a bagged model: their sum, or one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from committee.bagging.base_learners import SubspaceTree
from committee.base.array_types import Floats
from committee.base.threads import n_threads, run
from committee.members.member import Member, TreeMember
from committee.records.forest import PackedForest
from committee.tree_engine.predict.forest import add_predictions, pack_forest

PREDICTIONS_AT_A_TIME = 1 << 22
"""Predictions in memory when those of all members are needed together: 32 megabytes."""


def pack_members(members: Sequence[Member], coefficients: Floats) -> PackedForest | None:
    """The packed form of trees, with leaf values times coefficients; None if a member is not a tree."""
    trees = [member for member in members if isinstance(member, TreeMember | SubspaceTree)]
    if not trees or len(trees) < len(members):
        return None
    return pack_forest(
        [
            member.tree._replace(value=coefficient * np.asarray(member.node_predictions, np.float64))
            for member, coefficient in zip(trees, coefficients, strict=True)
        ]
    )


def all_predictions(members: Sequence[Member], X: NDArray[np.floating], n_jobs: int | None) -> Iterator[Floats]:
    """Predictions [n, k] of one member after the other; other members than trees predict in parallel."""
    threads = n_threads(n_jobs, 2**62) if not isinstance(members[0], TreeMember | SubspaceTree) else 1
    for first in range(0, len(members), threads):
        batch = [(member, X, 1 if threads > 1 else n_jobs) for member in members[first : first + threads]]
        yield from run(_prediction, batch, threads)


def _prediction(member: Member, X: NDArray[np.floating], n_jobs: int | None) -> Floats:
    return np.asarray(member.predictions(X, n_jobs), np.float64)


def sum_of_predictions(
    members: Sequence[Member],
    coefficients: Floats,
    packed: PackedForest | None,
    X: NDArray[np.floating],
    n_jobs: int | None,
) -> Floats:
    """sum of a_b h_b(x), [n, k], added in the order of the members."""
    if packed is not None:
        score = np.zeros((len(X), packed.values.shape[1]))
        add_predictions(packed, X, score, n_jobs)
        return score
    total = np.zeros(())
    for coefficient, predictions in zip(coefficients, all_predictions(members, X, n_jobs), strict=True):
        total = total + coefficient * predictions
    return total


def side_by_side(members: Sequence[Member], X: NDArray[np.floating], n_jobs: int | None) -> Iterator[Floats]:
    """Predictions [members, rows] of blocks of rows."""
    size = max(1, PREDICTIONS_AT_A_TIME // len(members))
    for first in range(0, len(X), size):
        block = X[first : first + size]
        yield np.array([predictions[:, 0] for predictions in all_predictions(members, block, n_jobs)])
