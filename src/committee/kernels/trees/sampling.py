"""Random draws inside a tree: a hash of (key, counter), so that a draw depends on where it is made and not on when.

A node's key is a hash of the path to it. Growing the nodes in another order, or on other threads, draws the same.
"""

from __future__ import annotations

import numpy as np

from committee.base.jit import kernel, part

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@part
def mix(x):
    """The finaliser of splitmix64: neighbouring inputs give unrelated outputs."""
    x = np.uint64(x)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@part
def draw(key, counter):
    """The counter-th 64-bit number of the stream `key`."""
    return mix(key + (np.uint64(counter) + np.uint64(1)) * GOLDEN)


@part
def draw_below(key, counter, n):
    """An integer in 0..n-1."""
    return np.int64(((draw(key, counter) >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@part
def draw_unit(key, counter):
    """A float in [0, 1)."""
    return np.float64(draw(key, counter) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@part
def child_key(key, side):
    """Key of the left (side 0) or right child (side 1)."""
    return mix(key ^ (np.uint64(0x8CB92BA72F3D8DD7) + side))


@part
def draw_swap(features, key, step):
    """Step `step` of a Fisher-Yates shuffle of `features` (modified in place); doing it twice undoes it."""
    j = step + draw_below(key, step, features.size - step)
    features[step], features[j] = features[j], features[step]


@part
def undo_draws(features, key, n_draws):
    """Put `features` back as they were before n_draws steps of draw_swap (modified in place)."""
    for step in range(n_draws - 1, -1, -1):
        draw_swap(features, key, step)


@kernel
def draw_order(key, features_out):
    """A random permutation of the features: the order in which the node with this key looks at them."""
    for f in range(features_out.size):
        features_out[f] = f
    for step in range(features_out.size):
        draw_swap(features_out, key, step)
