"""Seeds: one 64-bit number per member, drawn so that members never share a stream."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state

from committee.base.journal import same_draw

RandomState = int | np.random.RandomState | np.random.Generator | None


def member_seeds(random_state: RandomState, n_members: int) -> np.ndarray:
    """`n_members` independent 64-bit seeds from what scikit-learn users pass as `random_state`."""
    if isinstance(random_state, np.random.Generator):
        entropy = int(random_state.integers(0, 2**63))
    else:
        entropy = int(check_random_state(random_state).randint(0, 2**31 - 1))
        if random_state is None:
            entropy = same_draw(entropy)
    return np.random.SeedSequence(entropy).generate_state(n_members, np.uint64)
