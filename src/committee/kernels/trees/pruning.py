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
def prune_weakest_links(
    left, parent, cost, branch_cost, link, scratch, pruned_at_out, order_out, alpha_out, cost_out, n_leaves_out
):
    """Collapse the weakest inner node again and again until the root is a leaf; return the number of steps.

    The link of node t is g(t) = (R(t) - R(T_t)) / (leaves of T_t - 1): the price per leaf at which its subtree T_t is
    no longer worth keeping. cost is R(t), a node's share of the tree's impurity. Step s collapses order_out[s] at
    alpha_out[s] and leaves a tree of cost cost_out[s] with n_leaves_out[s] leaves; pruned_at_out[t] is the step that
    made t a leaf, 0 for leaves, -1 for nodes that vanish below another. branch_cost, link [m] and
    scratch [4, m] are overwritten.
    """
    m = left.size
    n_leaves, heap, where, below = scratch[0], scratch[1], scratch[2], scratch[3]
    size = 0
    for t in range(m - 1, -1, -1):
        branch_cost[t] = cost[t]
        n_leaves[t] = 1
        where[t] = -1
        pruned_at_out[t] = 0
        if left[t] >= 0:
            branch_cost[t] = branch_cost[left[t]] + branch_cost[left[t] + 1]
            n_leaves[t] = n_leaves[left[t]] + n_leaves[left[t] + 1]
            link[t] = (cost[t] - branch_cost[t]) / (n_leaves[t] - 1)
            pruned_at_out[t] = -1
            heap[size] = t
            where[t] = size
            size += 1
    for place in range(size // 2 - 1, -1, -1):
        sift_down(place, heap, size, where, link)
    n_steps = 0
    while size > 0:
        t = heap[0]
        order_out[n_steps] = t
        alpha_out[n_steps] = link[t]
        n_steps += 1
        pruned_at_out[t] = n_steps
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
        cost_out[n_steps - 1] = branch_cost[0]
        n_leaves_out[n_steps - 1] = n_leaves[0]
    return n_steps


@kernel
def pruned_losses(parent, collapse, prediction, leaves, target, weight, loss_kind, path, loss_out):
    """Add the losses, and their squares, of rows under every tree of a pruning sequence to loss_out[2, trees + 1].

    What is added are differences along the sequence: the sums are the cumulative sums of loss_out[:, :trees].

    Node t answers in the trees collapse[t], collapse[t] + 1, ... as long as none of its ancestors does. leaves holds
    the leaf of each row in the full tree; path [nodes] is overwritten. loss_kind: 0 wrong class, 1 squared,
    2 absolute, 3 half Poisson deviance.
    """
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
