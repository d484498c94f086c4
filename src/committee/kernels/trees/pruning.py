"""Minimal cost-complexity pruning (Breiman, Friedman, Olshen and Stone 1984, chapter 3)."""

from __future__ import annotations

import numpy as np

from committee.base.jit import kernel, part


@part
def weakest_first(i, j, link):
    """The link with the smaller alpha comes first; of equal ones the smaller node number."""
    return link[i] < link[j] or (link[i] == link[j] and i < j)


@part
def sift_down(place, heap, size, where, link):
    """Restore the heap below `place` (heap and where modified in place)."""
    i = heap[place]
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and weakest_first(heap[child + 1], heap[child], link):
            child += 1
        if not weakest_first(heap[child], i, link):
            break
        heap[place] = heap[child]
        where[heap[place]] = place
        place = child
    heap[place] = i
    where[i] = place


@part
def sift_up(place, heap, where, link):
    i = heap[place]
    while place > 0 and weakest_first(i, heap[(place - 1) // 2], link):
        heap[place] = heap[(place - 1) // 2]
        where[heap[place]] = place
        place = (place - 1) // 2
    heap[place] = i
    where[i] = place


@part
def remove(i, heap, size, where, link):
    """Take node i out of the heap; return its new size."""
    place = where[i]
    where[i] = -1
    size -= 1
    if place < size:
        moved = heap[size]
        heap[place] = moved
        where[moved] = place
        sift_down(place, heap, size, where, link)
        sift_up(where[moved], heap, where, link)
    return size


@kernel
def prune_weakest_links(left, parent, cost, work, path_out):
    """Collapse the weakest inner node again and again until the root is a leaf; return the number of steps.

    The link of node t is g(t) = (R(t) - R(T_t)) / (leaves of T_t - 1): the penalty per leaf at which its subtree
    T_t is pruned. cost is R(t), the node's part of the tree's impurity. Step s collapses path.order[s] at
    path.alpha[s] and leaves a tree of cost path.impurity[s] with path.n_leaves[s] leaves; path.pruned_at[t] is the step
    that made t a leaf, 0 for leaves, -1 for nodes that vanish below another. work, overwritten, is two arrays [m] of
    floats and one [4, m] of integers.
    """
    m = left.size
    branch_cost, link, scratch = work
    n_leaves, heap, where, below = scratch[0], scratch[1], scratch[2], scratch[3]
    size = 0
    for t in range(m - 1, -1, -1):
        branch_cost[t] = cost[t]
        n_leaves[t] = 1
        where[t] = -1
        path_out.pruned_at[t] = 0
        if left[t] >= 0:
            branch_cost[t] = branch_cost[left[t]] + branch_cost[left[t] + 1]
            n_leaves[t] = n_leaves[left[t]] + n_leaves[left[t] + 1]
            link[t] = (cost[t] - branch_cost[t]) / (n_leaves[t] - 1)
            path_out.pruned_at[t] = -1
            heap[size] = t
            where[t] = size
            size += 1
    for place in range(size // 2 - 1, -1, -1):
        sift_down(place, heap, size, where, link)
    n_steps = 0
    while size > 0:
        t = heap[0]
        path_out.order[n_steps] = t
        path_out.alpha[n_steps] = link[t]
        n_steps += 1
        path_out.pruned_at[t] = n_steps
        # Step 1: every inner node below t is gone
        n_below = 1
        below[0] = t
        while n_below > 0:
            n_below -= 1
            u = below[n_below]
            if where[u] >= 0:
                size = remove(u, heap, size, where, link)
                below[n_below] = left[u]
                below[n_below + 1] = left[u] + 1
                n_below += 2
        # Step 2: the ancestors lose leaves and gain cost
        fewer = n_leaves[t] - 1
        more = cost[t] - branch_cost[t]
        u = t
        while u >= 0:
            n_leaves[u] -= fewer
            branch_cost[u] += more
            if where[u] >= 0:
                link[u] = (cost[u] - branch_cost[u]) / (n_leaves[u] - 1)
                sift_down(where[u], heap, size, where, link)
                sift_up(where[u], heap, where, link)
            u = parent[u]
        path_out.impurity[n_steps - 1] = branch_cost[0]
        path_out.n_leaves[n_steps - 1] = n_leaves[0]
    return n_steps


@kernel
def pruned_losses(sequence, leaves, target, weight, loss_kind, path, loss_out):
    """Add the losses, and their squares, of rows under every tree of a pruning sequence to loss_out[2, trees + 1].

    What is added are differences along the sequence: the sums are the cumulative sums of loss_out[:, :trees].

    sequence is (parent, collapse, prediction) by node: node t is a leaf of the trees collapse[t], collapse[t] + 1, ...
    as long as none of its ancestors is. leaves holds the leaf of each row in the full tree; path [nodes] is
    overwritten. loss_kind: 0 wrong class, 1 squared, 2 absolute, 3 half Poisson deviance.
    """
    parent, collapse, prediction = sequence
    n_trees = loss_out.shape[1] - 1
    for i in range(leaves.size):
        length = 0
        t = leaves[i]
        while t >= 0:
            path[length] = t
            length += 1
            t = parent[t]
        last = n_trees
        for j in range(length - 1, -1, -1):
            t = path[j]
            first = collapse[t]
            if first < last:
                loss = loss_of(loss_kind, target[i], prediction[t])
                for power in range(2):
                    loss_out[power, first] += weight[i] * loss
                    loss_out[power, last] -= weight[i] * loss
                    loss *= loss
                last = first


@part
def loss_of(kind, y, prediction):
    if kind == 0:
        return 1.0 if y != prediction else 0.0
    if kind == 1:
        return (y - prediction) * (y - prediction)
    if kind == 2:
        return abs(y - prediction)
    mean = max(prediction, 1e-300)
    return mean - y + (y * np.log(y / mean) if y > 0.0 else 0.0)
