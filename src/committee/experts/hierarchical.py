"""Hierarchical mixtures of experts (Jordan and Jacobs, Hierarchical mixtures of experts and the EM algorithm, 1994).

    F(x) = sum_i g_i(x) sum_j g_j|i(x) f_ij(x)        for depth 2: the product of the gates on the way to an expert

A decision tree with soft splits: its gates (gate_tree.py) divide the space by softmax regressions, its leaves are
linear or logistic experts. EM as for the plain mixture (em.py):

    E-step: responsibilities of the leaves r = g q / sum g q; of a branch, the sum of those below it
    M-step: every gate a softmax regression weighted by the responsibilities of its branches,
            every expert a regression weighted by its own

The penalised log-likelihood never decreases. With depth 1 it is the plain mixture.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from committee.base.array_types import Floats
from committee.base.parameters import at_least, fitted, fixed, param
from committee.experts._initialization import (
    MAX_POINTS,
    SHORT_RUN,
    Restart,
    continue_run,
    fit_responsibilities,
    kmeans,
)
from committee.experts.base import BaseMixtureOfExperts, BestStart, Criterion, GateKind, Plan, Task
from committee.experts.em import EMResult, Mixture, run_em
from committee.experts.gate_tree import Branch, GateTree
from committee.experts.mixture_of_experts import MixtureOfExpertsClassifier, MixtureOfExpertsRegressor
from committee.records.history import History

MAX_LEAVES = 1024
"""A larger number of experts is probably an error in depth or branching."""

NESTED_WEIGHT = 0.9
"""Fraction of a row's weight for its leaf at a nested start; the rest is for all leaves, so that none has no rows."""


def nested_responsibilities(points: Floats, weight: Floats, tree: GateTree, seed: int) -> Floats:
    """weight * responsibilities from nested k-means: leaves that are close in the tree start with close rows."""
    rng = np.random.default_rng(seed)
    leaf = np.zeros(len(points), np.int64)
    for level in range(tree.depth):
        branch = np.zeros_like(leaf)
        for place in range(tree.branching**level):
            rows = np.flatnonzero(leaf == place)
            branch[rows] = _nearest(points[rows], weight[rows], tree.branching, rng)
        leaf = leaf * tree.branching + branch
    responsibilities = np.full((tree.n_leaves, len(points)), (1.0 - NESTED_WEIGHT) / tree.n_leaves)
    responsibilities[leaf, np.arange(len(points))] += NESTED_WEIGHT
    return weight * responsibilities


def _nearest(points: Floats, weight: Floats, n_centres: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """The nearest centre of every row; centres from a sample if there are very many rows."""
    if len(points) < n_centres:
        return np.arange(len(points))
    sample = np.unique(np.linspace(0, len(points) - 1, min(len(points), MAX_POINTS)).astype(np.int64))
    centres = kmeans(points[sample], weight[sample], n_centres, rng)
    return np.array([np.sum((points - centre) ** 2, axis=1) for centre in centres]).argmin(axis=0)


class _Hierarchy(BaseMixtureOfExperts):
    """A mixture of experts with a tree of gates."""

    depth: int = param(at_least(1), default=2, kw_only=False, doc="Levels of gates; 1 is the plain mixture of experts.")
    branching: int = param(
        at_least(2),
        default=2,
        kw_only=False,
        doc="Branches of each gate; the tree has branching**depth experts.",
    )
    n_experts: Any = fixed(1)
    gate: GateKind = fixed("softmax")
    criterion: Criterion = fixed("bic")
    validation_fraction: float = fixed(0.2)

    gate_coef_: Floats = fitted(
        doc="Coefficients of the gates, [n_gates, branching, p], level by level, in units of the original columns."
    )
    gate_intercept_: Floats = fitted(doc="Intercepts of the gates, [n_gates, branching], level by level.")

    def _tree(self) -> GateTree:
        return GateTree(int(self.depth), int(self.branching), float(self.gate_l2))

    def _numbers(self) -> list[int]:
        if min(self.depth, MAX_LEAVES) * math.log(self.branching) > math.log(MAX_LEAVES + 0.5):
            raise ValueError(
                f"depth={self.depth} and branching={self.branching} make branching**depth experts, more than "
                f"{MAX_LEAVES}: use a smaller depth or branching."
            )
        return [self._tree().n_leaves]

    def _plan(self, task: Task, seed: int) -> Plan:
        plan = super()._plan(task, seed)
        return plan._replace(mixture=Mixture(self._tree(), plan.mixture.experts))

    def _fit_number(self, plan: Plan, n_experts: int, seeds: Sequence[int], tick: Any) -> BestStart:
        """The starts of a plain mixture, and for more levels a nested one, continued if it is the best so far."""
        result, restarts = super()._fit_number(plan, n_experts, seeds, tick)
        if self.depth == 1 or self.init not in ("mixed", "kmeans"):
            return result, restarts
        problem, rows = plan.problem(n_experts), plan.rows
        nested_start = nested_responsibilities(plan.points, rows.weight, self._tree(), seeds[1])
        start = fit_responsibilities(plan.mixture, rows, problem.blank, nested_start)
        nested = run_em(plan.mixture, rows, start, max_iter=min(SHORT_RUN, self.max_iter), tol=self.tol)
        short_run, reached = nested.objective, np.nan
        if short_run > max(each.short_run for each in restarts):
            nested = continue_run(problem, nested, self.max_iter, self.tol)
            reached = nested.objective
        is_better = bool(reached > result.objective)
        restarts = [each._replace(is_chosen=each.is_chosen and not is_better) for each in restarts]
        row = Restart(start="nested", short_run=short_run, objective=reached, is_chosen=is_better)
        return (nested if is_better else result), [*restarts, row]

    def _keep(self, task: Task, plan: Plan, result: EMResult, restarts: list[Restart], n_experts: int) -> None:
        super()._keep(task, plan, result, restarts, n_experts)
        self.gate_coef_, self.gate_intercept_ = plan.view.gate_design.unscale(result.state.gate)

    # --- the tree of gates --------------------------------------------------------------------------------------------

    def _branches(self) -> list[Branch]:
        check_is_fitted(self, "gate_coef_")
        tree = self._fitted.mixture.gate
        assert isinstance(tree, GateTree)
        return list(tree.branches(self.load_))

    def gate_table(self) -> History:
        """One row for each branch of each gate: where it leads, its fraction of the rows, intercept and coefficients.

        The probability of a branch, among those of its gate, is the softmax of intercept + coefficients times columns.
        """
        branches = self._branches()
        names = self._fitted.view.gate_design.names
        own = {name: [getattr(branch, name) for branch in branches] for name in Branch._fields}
        coef = self.gate_coef_.reshape(-1, len(names))
        by_column = {f"coef[{name}]": column for name, column in zip(names, coef.T, strict=True)}
        return History({**own, "intercept": self.gate_intercept_.ravel(), **by_column})

    def export_gates(self, decimals: int = 2) -> str:
        """The tree of gates as text: every branch with its fraction of the rows and its score."""
        branches = self._branches()
        names = self._fitted.view.gate_design.names
        return "\n".join(_outline(branches, self.gate_coef_, self.gate_intercept_, names, decimals, 0))

    def export_graphviz(self, decimals: int = 2) -> str:
        """The tree of gates in the DOT language of Graphviz."""
        lines = [
            "digraph gates {",
            '    node [shape=box, style=rounded, fontname="helvetica"];',
            '    gate0 [label="gate 0"];',
        ]
        names = self._fitted_names()
        for branch in self._branches():
            child = branch.leads_to.replace(" ", "")
            score = _score(self.gate_coef_, self.gate_intercept_, branch, names, decimals)
            lines.append(f'    {child} [label="{branch.leads_to}\\n{branch.load:.0%} of the rows"];')
            lines.append(f'    gate{branch.gate} -> {child} [label="{score}"];')
        return "\n".join([*lines, "}"])

    def _fitted_names(self) -> list[str]:
        check_is_fitted(self, "gate_coef_")
        return [name.replace("\\", "\\\\").replace('"', '\\"') for name in self._fitted.view.gate_design.names]


def _score(coef: Floats, intercept: Floats, branch: Branch, names: Sequence[str], decimals: int) -> str:
    """The linear score of a branch as text."""
    terms = [
        (f"{value:+.{decimals}f}", name) for value, name in zip(coef[branch.gate, branch.branch], names, strict=True)
    ]
    return " ".join(
        [*(f"{number} {name}" for number, name in terms), f"{intercept[branch.gate, branch.branch]:+.{decimals}f}"]
    )


def _outline(
    branches: Sequence[Branch], coef: Floats, intercept: Floats, names: Sequence[str], decimals: int, gate: int
) -> Iterator[str]:
    """Lines of the gate and of all below it, indented by level."""
    own = [branch for branch in branches if branch.gate == gate]
    for branch in own:
        score = _score(coef, intercept, branch, names, decimals)
        indent = "|   " * branch.level
        yield f"{indent}|--- {branch.leads_to}, {branch.load:.0%} of the rows, score {score}"
        if branch.leads_to.startswith("gate"):
            yield from _outline(branches, coef, intercept, names, decimals, int(branch.leads_to.split()[1]))


class HierarchicalMixtureOfExpertsRegressor(_Hierarchy, MixtureOfExpertsRegressor):
    """Hierarchical mixture of linear experts, for regression.

    A tree of softmax gates divides the space softly; its leaves are the experts, and the weight of a leaf is the
    product of the gates on the path to it. All gates and experts are fitted together by the EM algorithm, with a
    further start by k-means within k-means, level by level. `gate_table` and `export_gates` show the tree.

    References
    ----------
    Jordan, M. I. and Jacobs, R. A. (1994). Hierarchical mixtures of experts and the EM algorithm. Neural Computation 6,
    181-214.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.experts.hierarchical import HierarchicalMixtureOfExpertsRegressor
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-2, 2, (400, 1))
    >>> y = np.abs(np.abs(x[:, 0]) - 1) + 0.05 * rng.normal(size=400)  # four straight pieces
    >>> model = HierarchicalMixtureOfExpertsRegressor(depth=2, random_state=0).fit(x, y)
    >>> np.sort(model.coef_[:, 0]).round(1)
    array([-1., -1.,  1.,  1.])
    """


class HierarchicalMixtureOfExpertsClassifier(_Hierarchy, MixtureOfExpertsClassifier):
    """Hierarchical mixture of logistic experts, for classification.

    A tree of softmax gates divides the space softly; its leaves are the experts, and the weight of a leaf is the
    product of the gates on the path to it. All gates and experts are fitted together by the EM algorithm, with a
    further start by k-means within k-means, level by level. `gate_table` and `export_gates` show the tree.

    References
    ----------
    Jordan, M. I. and Jacobs, R. A. (1994). Hierarchical mixtures of experts and the EM algorithm. Neural Computation 6,
    181-214.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.experts.hierarchical import HierarchicalMixtureOfExpertsClassifier
    >>> X = np.random.default_rng(0).uniform(-1, 1, (600, 2))
    >>> y = X[:, 0] * X[:, 1] > 0  # a chessboard of four fields: one logistic model is right half the time
    >>> model = HierarchicalMixtureOfExpertsClassifier(random_state=0).fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 1)
    1.0
    """
