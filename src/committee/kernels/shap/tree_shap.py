"""SHAP values of trees by quadrature, for many rows at once.

For a leaf with the value v, let P be the features on its path, z_j the fraction of the training weight that follows the
path at the splits on feature j, and o_j = 1 if the row follows it at all of them, else 0. Its contribution to the
Shapley value of feature j, and in the interaction of i and j, is (for the derivation see explain/shap.py)

    v (o_j - z_j) int_0^1 prod_{k in P, k != j} f_k(t) dt,                      f_k(t) = (1 - t) z_k + t o_k
    v (o_i - z_i) (o_j - z_j) / 2 int_0^1 prod_{k in P, k not in {i, j}} f_k(t) dt

integrals of polynomials, for which Gauss-Legendre quadrature with |P| / 2 points is exact. With the product
G(t) over all of P and r_j(t) = (o_j - z_j) / f_j(t) the integrands are G r_j and G r_i r_j. A traversal of the
tree computes G on the way down and the sum H of v G over the leaves on the way up. If a feature occurs again on a path
its r changes, and the change is added for the leaves below: the sum over all its edges is the last r.

An edge connects a node and a child. Edges are in the order of the traversal:

        .            edge   0 1 2 3      depth  1 2 2 1
      0   3          up is the depth of the last edge above with the same feature, 0 if there is none;
     1 2             level 0 of the scratch has the values of a feature not on the path: z = 1, o = 1, f = 1, r = 0
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.jit import inlined, kernel, part

ONE = np.uintp(1)


class Paths(NamedTuple):
    """The trees to explain, edge by edge in the order of the traversal."""

    edges: NDArray[np.void]
    trees: NDArray[np.void]
    values: NDArray[np.float64]
    categories: NDArray[np.uint64]
    rule: NDArray[np.float64]  # [2, .] points and weights of quadratures


class Scratch(NamedTuple):
    """Memory of a traversal, by level; level 0 of path has z = 1, of product 1.0 everywhere."""

    path: NDArray[np.void]  # [levels]
    product: NDArray[np.float64]  # [levels, 1 + points, width]: o first, then G
    below: NDArray[np.float64]  # [levels, columns, points, width]: H


@part
def forget_below(path, last_depth, top, depth):
    """Undo what the edges of the path from `top` up to `depth` have put into last_depth."""
    while top >= depth:
        last_depth[path[top, 0]] = path[top, 1]
        top -= 1


@part
def share_of_weight(weight, left, node):
    """Fraction of the parent's weight in the node; one half without any weight."""
    both = weight[left] + weight[left + 1]
    return weight[node] / both if both > 0.0 else 0.5


@kernel
def lay_out_paths(feature, left, weight, stack, path, last_depth, edges_out):
    """The edges of a tree in the order of the traversal; return the largest number of features on a path.

    Written are node, parent, depth, up, share, and `cover`, the product of the fractions from the root on. Scratch:
    stack [m, 2] of nodes and depths, path [m, 4] of features, ups, numbers of features and edges, last_depth [d], which
    must be zero and is zero again at the end.
    """
    n_edges, most, top = 0, 0, 0
    stack[0, 0], stack[0, 1], path[0, 2] = 0, 0, 0
    waiting = 1
    while waiting > 0:
        waiting -= 1
        node, depth = stack[waiting, 0], stack[waiting, 1]
        if depth > 0:
            forget_below(path, last_depth, top, depth)
            top = depth
            up = last_depth[path[depth, 0]]
            last_depth[path[depth, 0]] = depth
            path[depth, 1], path[depth, 2], path[depth, 3] = up, path[depth - 1, 2] + (up == 0), n_edges
            most = max(most, path[depth, 2])
            parent, cover = np.int32(0), 1.0
            if depth > 1:
                parent, cover = edges_out[path[depth - 1, 3]].node, edges_out[path[depth - 1, 3]].cover
            share = share_of_weight(weight, left[parent], node)
            cover *= share
            edge = edges_out[n_edges]
            edge.node, edge.parent, edge.depth, edge.up, edge.share, edge.cover = node, parent, depth, up, share, cover
            n_edges += 1
        if left[node] >= 0:
            path[depth + 1, 0] = feature[node]
            for side in range(2):  # the left child comes to lie on top
                stack[waiting, 0], stack[waiting, 1] = left[node] + 1 - side, depth + 1
                waiting += 1
    forget_below(path, last_depth, top, 1)
    return most


@part
def find_followers(columns, start, rows, edge, categories, product):
    """o of the edge's feature: 1.0 where a row has gone along all edges with it so far and goes along this one."""
    f, d, up = np.uintp(edge.feature), np.uintp(edge.depth), np.uintp(edge.up)
    zero = np.uintp(0)
    if edge.category_set >= 0:
        for r in range(zero, rows):
            x = columns[f, start + r]
            follows = edge.missing_follows
            if x == x:
                code = np.int64(x)
                word = categories[edge.category_set, code >> 6]
                follows = ((word >> np.uint64(code & 63)) & np.uint64(1) == np.uint64(1)) == edge.is_left
            product[d, zero, r] = product[up, zero, r] if follows else 0.0
        return
    threshold, is_left, missing_follows = edge.threshold, edge.is_left, edge.missing_follows
    for r in range(zero, rows):
        x = columns[f, start + r]
        follows = (((x <= threshold) == is_left) & (x == x)) | (missing_follows & (x != x))
        product[d, zero, r] = product[up, zero, r] if follows else 0.0


@part
def enter_edge(columns, start, rows, e, tree, paths, scratch):
    """One level down: o, z and G of the edge. A row that left the path at an earlier edge keeps o = 0: f is z."""
    edge = paths.edges[e]
    path, product, rule = scratch.path, scratch.product, paths.rule
    find_followers(columns, start, rows, edge, paths.categories, product)
    d, up, zero = np.uintp(edge.depth), np.uintp(edge.up), np.uintp(0)
    share, z_before = edge.share, path[up].z
    z = z_before * share
    path[d].edge, path[d].z, path[d].is_last, path[up].is_last = e, z, True, False
    for m in range(np.uintp(tree.n_points)):
        t = rule[0, np.uintp(tree.rule) + m]
        before = z_before * (1.0 - t) + t
        hit, miss = (z * (1.0 - t) + t) / before, z * (1.0 - t) / before
        for r in range(zero, rows):
            factor = hit if product[d, zero, r] > 0.0 else miss
            factor = factor if product[up, zero, r] > 0.0 else share
            product[d, m + ONE, r] = product[d - ONE, m + ONE, r] * factor


@part
def ratio_of_followers(z, t):
    """r = (o - z) / f for o = 1; for o = 0 it is -1 / (1 - t) for any z."""
    return (1.0 - z) / (z * (1.0 - t) + t)


@part
def leave_edge(start, rows, d, tree, paths, scratch, out):
    """One level up: the leaves below the edge give its feature H times the change of r, and their H to the parent."""
    path, product, below = scratch.path, scratch.product, scratch.below
    edges, values, rule = paths.edges, paths.values, paths.rule
    edge = edges[path[d].edge]
    f, up, zero = np.uintp(edge.feature), np.uintp(edge.up), np.uintp(0)
    path[up].is_last = True
    is_leaf = edge.value >= 0
    for m in range(np.uintp(tree.n_points)):
        t, w = rule[0, np.uintp(tree.rule) + m], rule[1, np.uintp(tree.rule) + m]
        before = ratio_of_followers(path[up].z, t)
        hit, miss = w * (ratio_of_followers(path[d].z, t) - before), w * (-1.0 / (1.0 - t) - before)
        for c in range(np.uintp(tree.n_columns)):
            k = np.uintp(tree.output) + c
            v = values[np.uintp(edge.value + tree.column) + c] if is_leaf else 0.0
            for r in range(zero, rows):
                change = hit if product[d, zero, r] > 0.0 else miss
                change = change if product[up, zero, r] > 0.0 else 0.0
                h = v * product[d, m + ONE, r] if is_leaf else below[d, c, m, r]
                below[d - ONE, c, m, r] += h
                out[f, k, start + r] += h * change


@part
def clear_below(rows, depth, tree, below):
    for c in range(np.uintp(tree.n_columns)):
        for m in range(np.uintp(tree.n_points)):
            for r in range(np.uintp(0), rows):
                below[depth, c, m, r] = 0.0


@part
def leave_edge_in_pairs(start, rows, d, tree, paths, scratch, out):
    """`leave_edge` for one column, and H times the change of r times the r of every other feature above.

    G of the edge is not needed any more: its place takes the weighted H times the change.
    """
    path, product, below = scratch.path, scratch.product, scratch.below
    edges, values, rule = paths.edges, paths.values, paths.rule
    edge = edges[path[d].edge]
    f, up, k, zero = np.uintp(edge.feature), np.uintp(edge.up), np.uintp(tree.output), np.uintp(0)
    path[up].is_last = True
    is_leaf = edge.value >= 0
    v = values[np.uintp(edge.value + tree.column)] if is_leaf else 0.0
    for m in range(np.uintp(tree.n_points)):
        t, w = rule[0, np.uintp(tree.rule) + m], rule[1, np.uintp(tree.rule) + m]
        before = ratio_of_followers(path[up].z, t)
        hit, miss = w * (ratio_of_followers(path[d].z, t) - before), w * (-1.0 / (1.0 - t) - before)
        for r in range(zero, rows):
            change = hit if product[d, zero, r] > 0.0 else miss
            change = change if product[up, zero, r] > 0.0 else 0.0
            h = v * product[d, m + ONE, r] if is_leaf else below[d, zero, m, r]
            below[d - ONE, zero, m, r] += h
            product[d, m + ONE, r] = h * change
            out[f, f, k, start + r] += h * change
    for other in range(ONE, d):
        if path[other].is_last and other != up:
            g = np.uintp(edges[path[other].edge].feature)
            for m in range(np.uintp(tree.n_points)):
                t = rule[0, np.uintp(tree.rule) + m]
                hit, miss = 0.5 * ratio_of_followers(path[other].z, t), -0.5 / (1.0 - t)
                for r in range(zero, rows):
                    ratio = hit if product[other, zero, r] > 0.0 else miss
                    out[f, g, k, start + r] += product[d, m + ONE, r] * ratio


@inlined
def walk(columns, paths, scratch, leave, out):
    """Go through all trees with the rows in `columns` [d, n], as many at a time as fit the scratch."""
    n, width = columns.shape[1], scratch.product.shape[2]
    for first in range(0, n, width):
        start, rows = np.uintp(first), np.uintp(min(width, n - first))
        for i in range(paths.trees.size):
            tree = paths.trees[i]
            top = np.uintp(0)
            for e in range(tree.first, tree.last):
                depth = np.uintp(paths.edges[e].depth)
                while top >= depth:
                    leave(start, rows, top, tree, paths, scratch, out)
                    top -= ONE
                enter_edge(columns, start, rows, e, tree, paths, scratch)
                top = depth
                if paths.edges[e].value < 0:
                    clear_below(rows, depth, tree, scratch.below)
            while top > np.uintp(0):
                leave(start, rows, top, tree, paths, scratch, out)
                top -= ONE


@kernel
def add_shap_values(columns, paths, scratch, out):
    """Add the SHAP values of the rows in `columns` [d, n] to out [d, K, n]."""
    walk(columns, paths, scratch, leave_edge, out)


@kernel
def add_shap_interactions(columns, paths, scratch, out):
    """Add the interactions of the rows in `columns` [d, n] to out [d, d, K, n], SHAP values to its diagonal.

    The interaction of i and j is out[i, j] + out[j, i]. All trees have one column.
    """
    walk(columns, paths, scratch, leave_edge_in_pairs, out)
