"""Does a grown tree hold what it promises? Every node is recomputed from the rows, every possible split is tried.

Nothing here is shared with the growth of naive_cart but the impurity and value of a set of rows: the search below
scores all candidates of a feature at once, as a matrix of "goes left" flags times the sums of the rows.

Rounding: a candidate enters the best gain only if it keeps its limits and constraints by a hair's breadth (SLACK) more
than needed, and the chosen split may miss them by as much.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.records.tree import LEAF, Tree

from .cart import Problem, child_bounds, clipped, constraint, make_problem
from .criteria import EPS, POISSON_EPS, Rule, fisher_keys, impurity, value
from .traverse import N_CATEGORY_CODES, goes_left

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Rows = NDArray[np.int64]

SLACK = 1e-11
MAX_SUBSETS = 8  # all subsets of up to this many categories are tried
STATS = ("n_samples", "weight", "impurity", "value", "gain", "missing_left")


class AuditResult(NamedTuple):
    """What the audit found; all but n_inner are 0 for a right tree."""

    n_inner: int
    n_suboptimal: int  # inner nodes with a better split that is allowed
    worst: float  # the largest relative shortfall of a chosen split
    wrong_leaves: int  # leaves that should have been split
    wrong_stats: int  # numbers of nodes that differ from recomputation
    n_invalid: int  # inner nodes whose split breaks a limit or a constraint
    notes: list[str]  # a line for each finding

    @property
    def is_clean(self) -> bool:
        return self.n_suboptimal == self.wrong_leaves == self.wrong_stats == self.n_invalid == 0


class Visit(NamedTuple):
    """A node of the tree with what growth knew when it came to it."""

    node: int
    rows: Rows
    depth: int
    lower: float
    upper: float
    groups: list[set[int]]
    weight: float
    impurity: float


class Scores(NamedTuple):
    """Candidate splits of a node, one entry each."""

    gain: Floats
    n_left: Rows
    weight_left: Floats
    value_left: Floats  # the number that monotone constraints bound
    value_right: Floats
    sum_left: Floats  # of w*y, for poisson
    sum_right: Floats


def audit_tree(
    tree: Tree,
    X: Floats,
    y: NDArray,
    w: Floats | None = None,
    *,
    stats: Sequence[str] = STATS,
    tol: float = 1e-9,
    **options: Any,
) -> AuditResult:
    """Audit a tree that was grown on all features; the options are those of naive_cart.

    `stats` names the numbers of a node to check: leave out those for which the tree has another convention. `tol` is
    the relative shortfall of gain, and the relative or absolute error of a number, from which on they count. To audit a
    binned tree put a value of its bin for each value of X: then only cuts between bins are candidates.
    """
    problem = make_problem(X, y, w, **options)
    return _Audit(tree, problem, tuple(stats), tol).run()


class _Audit:
    """Collects the findings of one walk."""

    def __init__(self, tree: Tree, problem: Problem, stats: tuple[str, ...], tol: float) -> None:
        self.tree, self.problem, self.stats, self.tol = tree, problem, stats, tol
        self.total = float(problem.w.sum())
        self.n_inner = self.n_suboptimal = self.wrong_leaves = self.wrong_stats = self.n_invalid = 0
        self.worst = 0.0
        self.notes: list[str] = []
        self.reachable_gain: dict[int, float] = {}  # of each node that could be split

    def run(self) -> AuditResult:
        rows = np.flatnonzero(self.problem.w > 0)
        stack = [self._visit(0, rows, 0, -np.inf, np.inf, self.problem.groups)]
        while stack:
            visit = stack.pop()
            if len(visit.rows) == 0:
                self._note("n_invalid", visit.node, "no rows")
            elif self.tree.feature[visit.node] == LEAF:
                self._check_stats(visit, 0.0)
                self._check_leaf(visit)
            else:
                stack += self._check_inner(visit)
        if self.problem.limits.max_leaf_nodes is not None:
            self._check_best_first()
        counts = (self.n_inner, self.n_suboptimal, self.worst, self.wrong_leaves, self.wrong_stats, self.n_invalid)
        return AuditResult(*counts, self.notes)

    def _visit(self, node: int, rows: Rows, depth: int, lower: float, upper: float, groups: list[set[int]]) -> Visit:
        weight = float(self.problem.w[rows].sum())
        node_impurity = impurity(self.problem.rule, self.problem.y[rows], self.problem.w[rows]) if len(rows) else 0.0
        return Visit(node, rows, depth, lower, upper, groups, weight, node_impurity)

    def _note(self, kind: str, node: int, text: str) -> None:
        setattr(self, kind, getattr(self, kind) + 1)
        self.notes.append(f"node {node}: {text}")

    def _check_inner(self, visit: Visit) -> list[Visit]:
        """Check the node and its split, return its children."""
        node, feature = visit.node, int(self.tree.feature[visit.node])
        is_left = route(self.tree, node, self.problem.X[visit.rows, feature])
        left, right = visit.rows[is_left], visit.rows[~is_left]
        self.n_inner += 1
        if is_left.all() or not is_left.any():
            self._note("n_invalid", node, "a child without rows")
            return []
        chosen = score_candidates(self.problem, visit, is_left[None, :])
        gain = float(chosen.gain[0])
        self.reachable_gain[node] = gain
        self._check_stats(visit, gain, is_left)
        self._check_allowed(visit, feature, chosen)
        self._check_best(visit, gain)
        bounds = child_bounds(self.problem, visit.lower, visit.upper, feature, left, right)
        groups = [group for group in visit.groups if feature in group]
        first = int(self.tree.left[node])
        sides = ((first, left, bounds[0]), (first + 1, right, bounds[1]))
        return [self._visit(child, rows, visit.depth + 1, *limits, groups) for child, rows, limits in sides]

    def _check_allowed(self, visit: Visit, feature: int, chosen: Scores) -> None:
        gain, limits = float(chosen.gain[0]), self.problem.limits
        if must_stop(self.problem, visit, slack=-SLACK):
            self._note("n_invalid", visit.node, "a limit should have stopped growth here")
        if not is_valid(self.problem, visit, feature, chosen, slack=-SLACK)[0]:
            self._note("n_invalid", visit.node, "the split breaks a limit or a constraint")
        if feature not in set().union(*visit.groups):
            self._note("n_invalid", visit.node, f"feature {feature} may not act together with those above")
        if gain + EPS + self._rounding(visit) < limits.min_impurity_decrease:
            self._note("n_invalid", visit.node, f"gain {gain} is below min_impurity_decrease")
        if limits.needs_gain and gain < -self._rounding(visit):
            self._note("n_invalid", visit.node, f"gain {gain} is negative")

    def _check_best(self, visit: Visit, gain: float) -> None:
        best = best_gain(self.problem, visit)
        shortfall = best - gain - self._rounding(visit)
        if shortfall <= 0:
            return
        relative = shortfall / max(abs(best), abs(gain))
        self.worst = max(self.worst, relative)
        if relative > self.tol:
            self._note("n_suboptimal", visit.node, f"gain {gain!r}, but {best!r} is possible")

    def _rounding(self, visit: Visit) -> float:
        """Errors of rounding in a gain, which is a small difference of larger numbers.

        The impurity of classes is itself such a difference: its error is that of the weights, however pure the node.
        """
        rule = self.problem.rule
        error = 8 * EPS if rule.has_shares or rule.criterion in ("edge", "z") else 0.0
        return visit.weight * (1e-13 * abs(visit.impurity) + error) / self.total

    def _check_leaf(self, visit: Visit) -> None:
        if must_stop(self.problem, visit, slack=SLACK):
            return
        best, limits = best_gain(self.problem, visit), self.problem.limits
        floor = limits.min_impurity_decrease
        if best == -np.inf or (floor > 0 and best + EPS < floor + self._rounding(visit)):
            return
        if limits.needs_gain and best <= 100 * self._rounding(visit):
            return
        if limits.max_leaf_nodes is not None:
            self.reachable_gain[visit.node] = best
        else:
            self._note("wrong_leaves", visit.node, f"a leaf of {len(visit.rows)} rows, but a split gains {best!r}")

    def _check_best_first(self) -> None:
        """Replay the growth: of the nodes that could be split the one of largest gain comes next."""
        open_nodes, n_splits = [0], 0
        rounding = 1e-13 * abs(self.tree.impurity[0])
        while open_nodes and n_splits < self.problem.limits.max_leaf_nodes - 1:
            gains = {node: self.reachable_gain.get(node, -np.inf) for node in open_nodes}
            top = max(gains.values())
            if top == -np.inf:
                break
            equals = [node for node in open_nodes if gains[node] >= top - self.tol * abs(top) - rounding]
            inner = [node for node in equals if self.tree.feature[node] != LEAF]
            if not inner:
                self._note("wrong_leaves", equals[0], f"best-first growth would have split it for {top!r}")
                break
            open_nodes.remove(inner[0])
            first = int(self.tree.left[inner[0]])
            open_nodes += [first, first + 1]
            n_splits += 1
        if self.tree.n_leaves > self.problem.limits.max_leaf_nodes:
            self._note("n_invalid", 0, f"{self.tree.n_leaves} leaves")

    def _check_stats(self, visit: Visit, gain: float, is_left: Bools | None = None) -> None:
        rows = visit.rows
        node_value = value(self.problem.rule, self.problem.y[rows], self.problem.w[rows])
        node_value = clipped(self.problem, node_value, visit.lower, visit.upper)
        expected = {
            "n_samples": len(rows),
            "weight": visit.weight,
            "impurity": visit.impurity,
            "value": _with_columns(node_value, self.tree.value.shape[1]),
            "gain": gain,
        }
        for name, right in expected.items():
            result = getattr(self.tree, name)[visit.node]
            if name in self.stats and not np.allclose(result, right, rtol=self.tol, atol=self.tol):
                self._note("wrong_stats", visit.node, f"{name} is {result}, should be {right}")
        if is_left is not None and "missing_left" in self.stats:
            self._check_missing_side(visit, is_left)

    def _check_missing_side(self, visit: Visit, is_left: Bools) -> None:
        """Without missing values in the node they go to the side of more rows, to the right if both are equal."""
        if np.isnan(self.problem.X[visit.rows, self.tree.feature[visit.node]]).any():
            return
        if bool(self.tree.missing_left[visit.node]) != bool(is_left.sum() > (~is_left).sum()):
            self._note("wrong_stats", visit.node, "missing_left is not the side of more rows")


def _with_columns(node_value: Floats, n_columns: int) -> Floats:
    """Trees may keep only the share of the second of two classes."""
    return node_value[1:] if len(node_value) == 2 and n_columns == 1 else node_value


def route(tree: Tree, node: int, x: Floats) -> Bools:
    """Which values of the node's feature go left."""
    if tree.category_set[node] < 0:
        return np.where(np.isnan(x), tree.missing_left[node], x <= tree.threshold[node])
    return np.array([goes_left(tree, node, v) for v in x], bool)


def must_stop(problem: Problem, visit: Visit, slack: float) -> bool:
    """True where a limit ends growth: surely for a slack below 0, possibly for one above."""
    limits, y = problem.limits, problem.y[visit.rows]
    scale = 1.0 if problem.rule.has_shares else float(np.abs(y).max()) ** 2
    pure = EPS + 1e-14 * scale if slack > 0 else 0.0
    return (
        (limits.max_depth is not None and visit.depth >= limits.max_depth)
        or len(visit.rows) < limits.min_samples_split
        or visit.weight < 2 * limits.min_weight_leaf * (1 + slack)
        or (problem.rule.criterion != "newton" and visit.impurity <= pure)
    )


def is_valid(problem: Problem, visit: Visit, feature: int, scores: Scores, slack: float) -> Bools:
    """Which splits keep the limits and the constraints, by `slack` (relative to the numbers compared) or more."""
    n, limits = len(visit.rows), problem.limits
    weight_right = visit.weight - scores.weight_left
    fine = (scores.n_left >= limits.min_samples_leaf) & (n - scores.n_left >= limits.min_samples_leaf)
    fine &= np.minimum(scores.weight_left, weight_right) >= limits.min_weight_leaf * (1 + slack)
    if problem.rule.criterion == "poisson":
        needed = POISSON_EPS + slack * float(np.sum(problem.w[visit.rows] * problem.y[visit.rows]))
        fine &= np.minimum(scores.sum_left, scores.sum_right) > max(needed, 0.0)
    sign = constraint(problem, feature)
    if sign == 0:
        return fine
    room = slack * max(float(np.abs(problem.y[visit.rows]).max()), 1e-300)
    fine &= np.minimum(scores.value_left, scores.value_right) >= visit.lower + room
    fine &= np.maximum(scores.value_left, scores.value_right) <= visit.upper - room
    return fine & ((scores.value_left - scores.value_right) * sign <= -room)


def best_gain(problem: Problem, visit: Visit) -> float:
    """The largest gain of all candidate splits that are surely valid; -inf if there is none."""
    best = -np.inf
    for feature in sorted(set().union(*visit.groups)):
        masks = candidate_masks(problem, visit.rows, feature)
        if len(masks) == 0:
            continue
        scores = score_candidates(problem, visit, masks)
        fine = is_valid(problem, visit, feature, scores, slack=SLACK)
        best = max(best, float(scores.gain[fine].max(initial=-np.inf)))
    return best


def candidate_masks(problem: Problem, rows: Rows, feature: int) -> Bools:
    """[candidate, row]: who goes left, for every candidate on the feature whose children both have rows."""
    x = problem.X[rows, feature]
    missing = np.isnan(x)
    present = np.unique(x[~missing])
    if problem.is_categorical[feature]:
        sets = _category_sets(problem, rows, x, present)
        masks = np.array([np.isin(x, list(s)) for s in sets], bool).reshape(len(sets), len(x))
    else:
        masks = x[None, :] <= present[:, None]  # nan compares false; the last one is "all present | missing"
    if missing.any():
        masks = np.concatenate([masks, masks | missing])
    n_left = masks.sum(axis=1)
    return masks[(n_left > 0) & (n_left < len(x))]


def _category_sets(problem: Problem, rows: Rows, x: Floats, present: Floats) -> list[set[float]]:
    """Sets of categories that go left: all of them where Fisher's order is sure to hold the best, else its cuts."""
    keys = [fisher_keys(problem.rule, problem.y[rows[x == c]], problem.w[rows[x == c]]) for c in present]
    if len(present) <= MAX_SUBSETS and _fisher_order_is_optimal(problem, rows, x):
        return [{c for bit, c in enumerate(present) if number >> bit & 1} for number in range(2 ** len(present))]
    sets: list[set[float]] = [set(present)]
    for column in zip(*keys, strict=True):
        order = np.argsort(column, kind="stable")
        for cut in range(1, len(present)):
            low, high = column[order[cut - 1]], column[order[cut]]
            if high - low > 1e-12 * max(abs(low), abs(high)):  # within a tie the order is anybody's choice
                sets.append(set(present[order[:cut]]))
    return sets


def _fisher_order_is_optimal(problem: Problem, rows: Rows, x: Floats) -> bool:
    """The score is convex in the sums of the left child and nothing forbids the best cut.

    Not so for K > 2 classes and absolute error, nor where limits may forbid it: sizes of leaves, and for poisson
    categories whose targets are all zero.
    """
    limits, rule = problem.limits, problem.rule
    if rule.criterion == "absolute_error" or (rule.has_shares and rule.n_classes > 2):
        return False
    if limits.min_samples_leaf > 1 or limits.min_weight_leaf > 0:
        return False
    if rule.criterion == "poisson":
        codes = np.where(np.isnan(x), N_CATEGORY_CODES, x)
        return all(np.sum(problem.y[rows[codes == c]]) > 0 for c in np.unique(codes))
    return True


def score_candidates(problem: Problem, visit: Visit, masks: Bools) -> Scores:
    """Gain and what the limits need, for each row of `masks`."""
    y, w = problem.y[visit.rows], problem.w[visit.rows]
    n_left, weight_left = masks.sum(axis=1), masks @ w
    score = _score_medians if problem.rule.criterion == "absolute_error" else _score_sums
    cost_left, value_left, sum_left = score(problem.rule, y, w, masks)
    cost_right, value_right, sum_right = score(problem.rule, y, w, ~masks)
    everyone = np.ones((1, len(y)), bool)
    gain = (score(problem.rule, y, w, everyone)[0] - cost_left - cost_right) / problem.w.sum()
    return Scores(gain, n_left, weight_left, value_left, value_right, sum_left, sum_right)


def _score_sums(rule: Rule, y: NDArray, w: Floats, masks: Bools) -> tuple[Floats, Floats, Floats]:
    """Weight times impurity, bounded value and sum of w*y of the rows chosen by each mask."""
    weight = masks @ w
    if rule.has_shares:
        sums = masks @ (w[:, None] * (y[:, None] == np.arange(rule.n_classes)))
        shares = sums / weight[:, None]
        return weight * _cost_of_shares(rule.criterion, shares), shares[:, 0], sums[:, 0]
    if rule.criterion == "newton":
        g, h = masks @ (w * y[:, 0]), masks @ (w * y[:, 1]) + rule.l2
        g = np.sign(g) * np.maximum(np.abs(g) - rule.l1, 0)
        h = np.where(h > 0, h, np.inf)
        return -(g**2) / h, -g / h, g
    total = masks @ (w * y)
    return _cost_of_sums(rule.criterion, y, w, masks, weight, total), total / weight, total


def _cost_of_shares(criterion: str, shares: Floats) -> Floats:
    if criterion == "gini":
        return 1 - np.sum(shares**2, axis=1)
    if criterion == "entropy":
        return -np.sum(shares * np.log2(np.where(shares > 0, shares, 1.0)), axis=1)
    return 1 - shares.max(axis=1)


def _cost_of_sums(criterion: str, y: Floats, w: Floats, masks: Bools, weight: Floats, total: Floats) -> Floats:
    if criterion == "squared_error":
        centred = y - np.sum(w * y) / np.sum(w)  # else the squares cancel
        return masks @ (w * centred**2) - (masks @ (w * centred)) ** 2 / weight
    if criterion == "poisson":
        logs = y * np.log(np.where(y > 0, y, 1.0))
        return masks @ (w * logs) - total * np.log(np.where(total > 0, total / weight, 1.0))
    if criterion == "edge":
        return (weight - np.abs(total)) / 2
    if criterion == "z":
        return 2 * np.sqrt((masks @ (w * (y > 0))) * (masks @ (w * (y < 0))))
    raise ValueError(f"unknown criterion {criterion!r}")


def _score_medians(rule: Rule, y: Floats, w: Floats, masks: Bools) -> tuple[Floats, Floats, Floats]:
    """As _score_sums, for absolute error."""
    order = np.argsort(y, kind="stable")
    y, weights = y[order], masks[:, order] * w[order]
    cumulative = np.cumsum(weights, axis=1)
    half, slack = cumulative[:, -1:] / 2, 1e-12 * cumulative[:, -1:]
    first = np.argmax(cumulative >= half - slack, axis=1)
    last = np.argmax(cumulative > half + slack, axis=1)
    median = (y[first] + y[last]) / 2
    cost = np.sum(weights * np.abs(y - median[:, None]), axis=1)
    return cost, median, weights @ y
