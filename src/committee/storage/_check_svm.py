"""Checks of support vector machines and mixtures of experts from a file: sizes of their arrays.

Kernels trust them. Parts that only NumPy uses are not checked here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from committee.storage.errors import need

DEEPEST, MAX_LEAVES = 40, 1 << 24


# --- kernel expansions ------------------------------------------------------------------------------------------------


def check_expansion(expansion: Any, n_features: int) -> None:
    """Check the support vectors of a table with `n_features` columns."""
    check_points(expansion.kernel, expansion.points, n_features)
    n, coef, offset = len(expansion.points.place), expansion.coef, expansion.offset
    need(offset.ndim == 1 and coef.shape == (n, offset.size), "support vectors and coefficients differ in number")


def check_points(kernel: Any, points: Any, d: int) -> None:
    """Check the points of a kernel."""
    n, values, halves = points.place.size, points.values, points.halves
    need(points.place.ndim == 1 and values.ndim == 2 and len(values) == n, "support vectors are not what they must be")
    need(values.dtype in (np.float32, np.float64), "support vectors are no numbers")
    need(halves.shape in ((0,), (n,)) and (not halves.size or halves.dtype == values.dtype), "support vectors")
    name = type(kernel).__name__
    if name in ("Scaled", "Power"):
        check_points(kernel.kernel, points, d)
    elif name in ("Sum", "Product"):
        need(len(points.parts) == len(kernel.kernels) > 0, "a kernel has not the points of all its parts")
        for each, part in zip(kernel.kernels, points.parts, strict=True):
            need(part.place.size == n and part.values.dtype == values.dtype, "parts of a kernel differ in size")
            check_points(each, part, d)
    elif name == "Precomputed":
        need(np.all((points.place >= 0) & (points.place < d)), "a support vector is no row of the Gram matrix")
    else:
        need(values.shape[1] == d, "support vectors do not have the columns of the table")
        _check_kernel(kernel, halves.size == n, d)


def check_landmarks(mapping: Any) -> None:
    """Check landmarks and the map of their kernel values."""
    landmarks, points = mapping.landmarks, mapping.points
    need(landmarks.ndim == 2 and points.place.size == len(landmarks) > 0, "landmarks are not what they must be")
    check_points(mapping.kernel, points, landmarks.shape[1])
    need(mapping.dtype in (np.float32, np.float64) and points.values.dtype == mapping.dtype, "landmarks are no numbers")
    need(mapping.T.ndim == 2 and mapping.T.shape[1] == len(landmarks), "a map of landmarks has the wrong size")


def check_representation(result: Any) -> None:
    """Its columns must be those of its landmarks."""
    if result.landmarks is not None:
        n_columns = 0 if result.encoder is None else result.encoder.n_columns
        need(max(n_columns, 1) == result.landmarks.landmarks.shape[1], "landmarks have other columns than their table")


def _check_kernel(kernel: Any, has_halves: bool, d: int) -> None:
    need(not isinstance(getattr(kernel, "gamma", 0.0), str), "a kernel is not settled")
    if hasattr(kernel, "centre"):
        need(has_halves, "support vectors of a distance are incomplete")
        need(kernel.centre is None or kernel.centre.shape == (d,), "the centre of a kernel has the wrong size")


# --- mixtures ---------------------------------------------------------------------------------------------------------


def check_fitted_mixture(fitted: Any) -> None:
    """The gate and the experts must have the same number of experts and the columns of their designs."""
    n_gated = _gated(fitted.mixture.gate, fitted.gate, fitted.view.gate_design.source.size + 1)
    n_experts = _experts(fitted.experts, fitted.view.design.source.size)
    need(n_gated == n_experts > 0, "the gate and the experts of a mixture differ in number")
    n_classes = getattr(fitted.mixture.experts, "n_classes", None)
    if n_classes is not None and isinstance(fitted.experts, np.ndarray):
        need(fitted.experts.shape[1:-1] == (n_classes,), "the experts of a mixture have other classes")


def _gated(gate: Any, params: Any, p: int) -> int:
    need(isinstance(params, np.ndarray) and params.dtype == np.float64, "a gate has no parameters")
    name, shape = type(gate).__name__, params.shape
    if name == "ConstantGate":
        need(params.ndim == 1, "the parameters of a gate have the wrong shape")
        return shape[0]
    if name == "SoftmaxGate":
        need(params.ndim == 2 and shape[1] == p, "the parameters of a gate have the wrong shape")
        return shape[0]
    need(name == "GateTree", "a gate is of an unknown kind")
    return _tree_of_gates(gate, shape, p)


def _tree_of_gates(gate: Any, shape: tuple[int, ...], p: int) -> int:
    depth, branching = gate.depth, gate.branching
    need(0 < depth <= DEEPEST and 0 < branching <= MAX_LEAVES, "a tree of gates is too large")
    need(branching**depth <= MAX_LEAVES, "a tree of gates is too large")
    need(shape == (gate.n_gates, branching, p), "the parameters of a gate have the wrong shape")
    return gate.n_leaves


def _experts(params: Any, p: int) -> int:
    """Number of experts of these parameters, the first dimension of an array or of a tuple of arrays."""
    if hasattr(params, "members"):  # estimators, which have been checked by themselves
        return len(params.members)
    arrays = [params] if isinstance(params, np.ndarray) else list(params)
    for array in arrays:
        is_sound = isinstance(array, np.ndarray) and array.dtype == np.float64 and array.ndim > 0
        need(is_sound and len(array) == len(arrays[0]), "the parameters of experts have the wrong shape")
        need(array.ndim == 1 or array.shape[-1] in (p, p + 1), "experts do not have the columns of their design")
    return len(arrays[0])


def check_encoder(encoder: Any) -> None:
    n = encoder.source.size
    arrays = [encoder.source, encoder.category, encoder.shift, encoder.scale, encoder.fill]
    need(all(array.shape == (n,) for array in arrays) and len(encoder.names) == n, "an encoder has the wrong size")
    for column, quantiles, scores in encoder.curves:
        is_sound = 0 <= column < n and quantiles.ndim == 1 and quantiles.shape == scores.shape and quantiles.size > 0
        need(is_sound, "an encoder has ranks of no column")


def check_network(network: Any) -> None:
    need(0 < len(network.shapes) <= 1000, "a network has no layers")
    for shape in network.shapes:
        need(all(0 < size <= 2**31 for size in shape), "a layer of a network has no size")
        need(0 < network.top_k <= shape.n_experts, "a network takes more experts than it has")
    for one, other in zip(network.shapes, network.shapes[1:], strict=False):
        need(one.n_outputs == other.n_inputs, "the layers of a network do not fit together")
