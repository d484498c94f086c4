"""Random problems: every node of every grown tree is recomputed from its rows, and no split beats the chosen one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from committee.kernels.trees.criteria import SQUARED
from committee.records.binned import BinnedMatrix
from committee.records.growth import Goal, Limits
from committee.records.tree import LEAF, Tree, check_tree
from committee.tree_engine.binning import BinMapper
from committee.tree_engine.growing import NO_LIMIT, Constraints, free_limits, grow
from committee.tree_engine.response import Response, class_response, value_response
from tests.naive.audit import STATS, AuditResult, audit_tree

Floats = NDArray[np.float64]

CRITERIA = ["gini", "entropy", "edge", "z", "squared_error", "absolute_error", "poisson", "newton"]
CLASS_CRITERIA = ("gini", "entropy", "edge", "z")
MANY_CLASSES = ("gini", "entropy", "edge")  # z is about two classes
EPS = float(np.finfo(np.float64).eps)
WHOLE_BITS = 50  # of sums of gradients and hessians in whole units


class Problem(NamedTuple):
    """Data and what the audit needs to know of them; the engine's own view of it is built by `grow_tree`."""

    X: Floats
    y: NDArray[Any]  # class codes, numbers, or the columns gradient and hessian
    w: Floats
    criterion: str
    n_classes: int
    options: dict[str, Any]  # in the words of tests.naive


# --- random problems -------------------------------------------------------------------------------------------------


def make_problem(seed: int, criterion: str, *, n_rows: tuple[int, int] = (2, 200)) -> Problem:
    """Anything the engine takes: few or many values, categories, missing values, weights, limits and constraints."""
    rng = np.random.default_rng([seed, CRITERIA.index(criterion)])
    n, d = int(rng.integers(*n_rows)), int(rng.integers(1, 7))
    X, is_categorical = random_table(rng, n, d)
    n_classes = int(rng.integers(2, 5)) if criterion in MANY_CLASSES else 2
    w = random_weights(rng, n)
    y = random_target(rng, X, criterion, n_classes)
    options = random_limits(rng, criterion, w) | {"is_categorical": is_categorical}
    if n_classes == 2 and rng.random() < 0.4:
        options["monotonic_cst"] = np.where(is_categorical, 0, rng.integers(-1, 2, d))
    if d > 2 and rng.random() < 0.3:
        features = rng.permutation(d).tolist()
        options["interaction_groups"] = [features[: d // 2 + 1], features[d // 2 :]]
    if criterion == "newton":
        options |= {"l1": float(rng.choice([0.0, 0.5])), "l2": float(rng.choice([0.0, 1.0]))}
    return Problem(X, y, w, criterion, n_classes, options)


def random_table(rng: np.random.Generator, n: int, d: int) -> tuple[Floats, NDArray[np.bool_]]:
    X = rng.normal(size=(n, d))
    if rng.random() < 0.5:  # ties between values
        X = np.round(X * rng.integers(1, 5)) / 2
    is_categorical = rng.random(d) < (0.5 if rng.random() < 0.4 else 0.0)
    for f in np.flatnonzero(is_categorical):
        X[:, f] = rng.integers(0, rng.integers(1, 9), n)
    if rng.random() < 0.5:
        X[rng.random((n, d)) < 0.4 * rng.random()] = np.nan
    return X, is_categorical


def random_weights(rng: np.random.Generator, n: int) -> Floats:
    kind = rng.integers(3)
    w = np.ones(n) if kind == 0 else rng.integers(0, 4, n).astype(float) if kind == 1 else rng.random(n)
    return w if w.any() else np.ones(n)


def random_target(rng: np.random.Generator, X: Floats, criterion: str, n_classes: int) -> NDArray[Any]:
    n = len(X)
    signal = rng.normal(size=n) + (np.nan_to_num(X[:, 0]) > 0)
    if criterion in CLASS_CRITERIA:
        noise = rng.integers(0, n_classes, n)
        return np.where(rng.random(n) < 0.3, (signal > 0.5).astype(np.int64), noise)
    if criterion == "newton":
        return np.column_stack([signal, rng.random(n) + 0.1])
    if criterion == "poisson":
        counts = rng.poisson(np.exp(signal)).astype(float)
        return counts if counts.any() else counts + 1.0
    return np.round(signal) if rng.random() < 0.3 else signal


def random_limits(rng: np.random.Generator, criterion: str, w: Floats) -> dict[str, Any]:
    limits: dict[str, Any] = {"min_samples_split": int(rng.integers(2, 8))}
    if rng.random() < 0.5:
        limits["max_depth"] = int(rng.integers(1, 6))
    if rng.random() < 0.3:
        limits["max_leaf_nodes"] = int(rng.integers(2, 12))
    if rng.random() < 0.5:
        limits["min_samples_leaf"] = int(rng.integers(1, 6))
    if rng.random() < 0.3:
        limits["min_impurity_decrease"] = float(0.02 * rng.random())
    if criterion != "newton" and rng.random() < 0.3:  # there H is no weight
        limits["min_weight_leaf"] = float(0.1 * rng.random() * w.sum())
    return limits


# --- the engine's view of a problem ----------------------------------------------------------------------------------


def make_response(problem: Problem) -> Response:
    y, w, criterion = problem.y, problem.w, problem.criterion
    if criterion in CLASS_CRITERIA:
        return class_response(y.astype(np.int64), problem.n_classes, w, criterion)
    if criterion == "newton":
        return newton_response(problem)
    return value_response(y, w, criterion)


def newton_response(problem: Problem) -> Response:
    """Second-order boosting: the score G^2 / (H + l2) of negative gradients and hessians, both in whole units."""
    g, h = (problem.y * problem.w[:, np.newaxis]).T
    g_unit, h_unit = (2.0 ** (np.ceil(np.log2(np.abs(part).sum())) - WHOLE_BITS) for part in (g, h))
    h_whole = np.where(problem.w > 0.0, np.maximum(np.rint(h / h_unit), 1.0), 0.0)
    stat = np.column_stack([np.rint(-g / g_unit), h_whole]).astype(np.int64)
    l1, l2 = (float(problem.options[name]) for name in ("l1", "l2"))
    goal = Goal(SQUARED, 1, float(g_unit), float(h_unit), l1, l2, 1.0, float(problem.w.sum()))
    return Response("newton", goal, stat, -g, problem.w, 0.0, np.empty(0), False)


def make_limits(problem: Problem, response: Response) -> Limits:
    options, is_newton = problem.options, problem.criterion == "newton"
    floor = options.get("min_impurity_decrease", 0.0)
    if is_newton:
        floor = max(floor, 1e-14)  # boosting takes no split without gain
    leaves = options.get("max_leaf_nodes")
    weight = options.get("min_weight_leaf", 0.0) / response.goal.h_unit
    return free_limits(problem.X.shape[1], response.unit_weights)._replace(
        max_depth=options.get("max_depth", NO_LIMIT),
        max_splits=NO_LIMIT if leaves is None else leaves - 1,
        best_first=leaves is not None,
        min_samples_split=options["min_samples_split"],
        min_samples_leaf=options.get("min_samples_leaf", 1),
        min_weight_leaf=int(np.ceil(weight * (1 - 1e-12))),
        min_gain=floor - EPS if floor > 0 else -np.inf,
        stop_if_pure=not is_newton,
        is_monotone=bool(np.any(options.get("monotonic_cst", 0))),
        has_groups="interaction_groups" in options,
    )


def make_constraints(problem: Problem) -> Constraints:
    d = problem.X.shape[1]
    free = Constraints.none(d)
    groups: Sequence[Sequence[int]] | None = problem.options.get("interaction_groups")
    bits = free.groups if groups is None else np.zeros(d, np.uint64)
    for i, group in enumerate(groups or []):
        bits[list(group)] |= np.uint64(1 << i)
    monotone = problem.options.get("monotonic_cst", free.monotone)
    return Constraints(np.asarray(monotone, np.int64), bits)


def grow_tree(problem: Problem, matrix: BinnedMatrix, seed: int = 0, **changes: Any) -> Tree:
    """The engine's tree; `changes` are put into the limits, to grow another tree than the audit asks for."""
    response = make_response(problem)
    limits = make_limits(problem, response)._replace(**changes)
    tree = grow(matrix, response, limits, make_constraints(problem), seed=seed)
    return check_tree(tree, problem.X.shape[1])


def exact_codes(problem: Problem) -> BinnedMatrix:
    return BinMapper(None).fit_transform(problem.X, problem.w, problem.options["is_categorical"])


def audit(problem: Problem, tree: Tree) -> AuditResult:
    """Two classes of edge and z are the targets -1, +1 of the twins, whose value is their mean."""
    y, n_classes, stats = problem.y, problem.n_classes, STATS
    if problem.criterion in ("edge", "z") and n_classes == 2:
        y, n_classes = 2 * y - 1, 0
        tree = tree._replace(value=2 * tree.value[:, 1:] - 1)
    if problem.criterion == "newton":  # leaf values and impurities are the booster's business
        stats = tuple(name for name in STATS if name not in ("value", "impurity"))
    return audit_tree(
        tree, problem.X, y, problem.w, criterion=problem.criterion, n_classes=n_classes, stats=stats, **problem.options
    )


def bin_values(X: Floats, matrix: BinnedMatrix) -> Floats:
    """Every value replaced by the smallest of its bin: then only cuts between bins are candidates of the audit."""
    out = np.full(X.shape, np.nan)
    for f in range(X.shape[1]):
        codes = matrix.codes[f].astype(np.int64)
        present = codes < matrix.n_bins[f]
        out[present, f] = matrix.lower[matrix.offsets[f] + codes[present]]
    return out


# --- the audits: 8 criteria x (40 + 20 + 20) = 640 problems ----------------------------------------------------------


def assert_clean(results: Iterable[AuditResult]) -> None:
    """No audit found a fault, and there were splits to find one in."""
    results = list(results)
    assert [result.notes for result in results if not result.is_clean] == []
    assert sum(result.n_inner for result in results) > 80


@pytest.mark.parametrize("criterion", CRITERIA)
def test_exact_trees_in_one_kernel_call(criterion: str) -> None:
    problems = [make_problem(seed, criterion) for seed in range(40)]
    assert_clean(audit(problem, grow_tree(problem, exact_codes(problem))) for problem in problems)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_exact_trees_in_two_tiers(criterion: str, set_subtree_rows: Callable[[int], None]) -> None:
    """Nodes of more than 64 rows are searched one by one, smaller ones become subtrees."""
    set_subtree_rows(64)
    problems = [make_problem(seed, criterion, n_rows=(150, 300)) for seed in range(100, 120)]
    assert_clean(audit(problem, grow_tree(problem, exact_codes(problem))) for problem in problems)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_binned_trees(criterion: str, set_subtree_rows: Callable[[int], None]) -> None:
    """A cut between two bins is never beaten by another; odd seeds grow in two tiers."""
    results = []
    for seed in range(200, 220):
        set_subtree_rows(64 if seed % 2 else 4096)
        problem = make_problem(seed, criterion, n_rows=(30, 250))
        matrix = BinMapper(2 + seed % 14).fit_transform(problem.X, problem.w, problem.options["is_categorical"])
        results.append(audit(problem._replace(X=bin_values(problem.X, matrix)), grow_tree(problem, matrix)))
    assert_clean(results)


@pytest.mark.parametrize("changes", [{"max_features": 1}, {"random_splits": True}], ids=["one feature", "random"])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_drawn_splits_keep_every_limit(
    criterion: str, changes: dict[str, Any], set_subtree_rows: Callable[[int], None]
) -> None:
    """Features or thresholds drawn at random need not be the best, but all numbers and limits still hold."""
    n_suboptimal = 0
    for seed in range(300, 312):
        set_subtree_rows(64 if seed % 2 else 4096)
        problem = make_problem(seed, criterion, n_rows=(30, 200))
        if "max_leaf_nodes" in problem.options:  # gains of drawn splits order the nodes, which the audit cannot replay
            del problem.options["max_leaf_nodes"]
        result = audit(problem, grow_tree(problem, exact_codes(problem), seed=seed, **changes))
        assert (result.wrong_stats, result.n_invalid) == (0, 0), (seed, result.notes)
        n_suboptimal += result.n_suboptimal
    assert n_suboptimal > 20


# --- the audit can fail ----------------------------------------------------------------------------------------------


def plain_problem(criterion: str, **options: Any) -> Problem:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(120, 4))
    X[:, 3] = rng.integers(0, 5, 120)
    y = X[:, 0] + np.sin(3 * X[:, 1]) + (X[:, 3] % 2) + 0.3 * rng.normal(size=120)
    X[rng.random((120, 4)) < 0.05] = np.nan
    target = (y > 0.5).astype(np.int64) if criterion == "gini" else y
    defaults = {"is_categorical": np.array([False, False, False, True]), "min_samples_split": 2, "min_samples_leaf": 4}
    return Problem(X, target, rng.integers(1, 17, 120) / 8, criterion, 2, defaults | options)


@pytest.mark.parametrize("criterion", ["gini", "squared_error"])
@pytest.mark.parametrize(
    ("changes", "finding"),
    [
        ({"max_features": 1}, "n_suboptimal"),
        ({"random_splits": True}, "n_suboptimal"),
        ({"max_depth": 2}, "wrong_leaves"),
        ({"min_samples_split": 40}, "wrong_leaves"),
        ({"min_gain": 0.02}, "wrong_leaves"),
        ({"min_samples_leaf": 1}, "n_invalid"),
    ],
    ids=str,
)
def test_a_tree_grown_for_other_limits_is_caught(criterion: str, changes: dict[str, Any], finding: str) -> None:
    problem = plain_problem(criterion)
    matrix = exact_codes(problem)
    assert audit(problem, grow_tree(problem, matrix)).is_clean
    assert getattr(audit(problem, grow_tree(problem, matrix, **changes)), finding) > 0


def test_a_tree_grown_without_the_constraints_is_caught() -> None:
    free = plain_problem("squared_error")
    tree = grow_tree(free, exact_codes(free))
    for options in ({"monotonic_cst": [-1, 1, 1, 0]}, {"interaction_groups": [[0, 2], [1, 3]]}):
        assert audit(plain_problem("squared_error", **options), tree).n_invalid > 0


@pytest.mark.parametrize("name", ["threshold", "categories", "missing_left", "gain", "value", "weight"])
def test_a_worsened_tree_is_caught(name: str) -> None:
    """One number of one node is made worse, and nothing else."""
    problem = plain_problem("squared_error", max_depth=3)
    tree = grow_tree(problem, exact_codes(problem))
    assert audit(problem, tree).is_clean
    column = getattr(tree, name).copy()
    if name == "threshold":
        node = int(np.flatnonzero((tree.feature != LEAF) & (tree.category_set < 0))[0])
        column[node] = np.nanmedian(problem.X[:, tree.feature[node]]) + 0.3
    elif name == "categories":
        column[0, 0] ^= np.uint64(0b10)  # the second category changes sides
    elif name == "missing_left":
        column ^= tree.feature != LEAF
    else:
        column[2] += 1e-6
    result = audit(problem, tree._replace(**{name: column}))
    assert not result.is_clean
    assert result.n_suboptimal > 0 or name in ("gain", "value", "weight")
