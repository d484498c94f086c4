"""Hierarchical mixtures of experts (Jordan and Jacobs, Hierarchical mixtures of experts and the EM algorithm, 1994).

    F(x) = sum_i g_i(x) sum_j g_j|i(x) f_ij(x)        for depth 2: the product of the gates on the way to an expert

A decision tree with soft splits: its gates (gate_tree.py) divide the space by softmax regressions, its leaves are
linear or logistic experts. EM as for the plain mixture (em.py):

    E-step: responsibilities of the leaves r = g q / sum g q; of a branch, the sum of those below it
    M-step: every gate a softmax regression weighted by the responsibilities of its branches,
            every expert a regression weighted by its own

The penalised log-likelihood never falls. With depth 1 it is the plain mixture.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from committee.base.array_types import Floats
from committee.base.parameters import at_least, fixed, param
from committee.experts._base import BaseMixtureOfExperts, Criterion, GateKind, Plan, Task
from committee.experts._initialization import (
    MAX_POINTS,
    SHORT_RUN,
    Blank,
    Problem,
    Restart,
    go_on,
    kmeans,
    learn_shares,
)
from committee.experts.em import Found, Mixture, run_em
from committee.experts.gate_tree import Branch, GateTree
from committee.experts.mixture_of_experts import MixtureOfExpertsClassifier, MixtureOfExpertsRegressor
from committee.records.history import History

MAX_LEAVES = 1024
"""More experts than that are a slip in depth or branching."""

SURE = 0.9
"""Of a row's weight goes to its leaf at a nested start, the rest to all: no expert begins without rows."""


def nested_shares(points: Floats, weight: Floats, tree: GateTree, seed: int) -> Floats:
    """weight * responsibilities from k-means within k-means: leaves that are near in the tree begin with near rows."""
    rng = np.random.default_rng(seed)
    leaf = np.zeros(len(points), np.int64)
    for level in range(tree.depth):
        branch = np.zeros_like(leaf)
        for place in range(tree.branching**level):
            rows = np.flatnonzero(leaf == place)
            branch[rows] = _nearest(points[rows], weight[rows], tree.branching, rng)
        leaf = leaf * tree.branching + branch
    shares = np.full((tree.n_leaves, len(points)), (1.0 - SURE) / tree.n_leaves)
    shares[leaf, np.arange(len(points))] += SURE
    return weight * shares


def _nearest(points: Floats, weight: Floats, n_centres: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """The centre of every row; centres from an even sample of very many rows."""
    if len(points) < n_centres:
        return np.arange(len(points))
    looked = np.unique(np.linspace(0, len(points) - 1, min(len(points), MAX_POINTS)).astype(np.int64))
    centres = kmeans(points[looked], weight[looked], n_centres, rng)
    return np.array([np.sum((points - centre) ** 2, axis=1) for centre in centres]).argmin(axis=0)


class _Hierarchy(BaseMixtureOfExperts):
    """What a tree of gates changes of a mixture of experts."""

    depth: int = param(at_least(1), default=2, kw_only=False)
    branching: int = param(at_least(2), default=2, kw_only=False)
    n_experts: Any = fixed(1)
    gate: GateKind = fixed("softmax")
    criterion: Criterion = fixed("bic")
    validation_fraction: float = fixed(0.2)

    _own_constraints: ClassVar[dict[str, list[Any]]] = {
        "depth": [Interval(Integral, 1, None, closed="left")],
        "branching": [Interval(Integral, 2, None, closed="left")],
    }

    def _tree(self) -> GateTree:
        return GateTree(int(self.depth), int(self.branching), float(self.gate_l2))

    def _numbers(self) -> list[int]:
        if min(self.depth, MAX_LEAVES) * math.log(self.branching) > math.log(MAX_LEAVES + 0.5):
            raise ValueError(
                f"depth={self.depth} and branching={self.branching} make branching**depth experts, more than "
                f"{MAX_LEAVES}: lower one of them."
            )
        return [self._tree().n_leaves]

    def _plan(self, task: Task, seed: int) -> Plan:
        plan = super()._plan(task, seed)
        return plan._replace(mixture=Mixture(self._tree(), plan.mixture.experts))

    def _fit_number(self, plan: Plan, n_experts: int, seeds: Sequence[int], tick: Any) -> tuple[Found, list[Restart]]:
        """The starts of a plain mixture, and for more than one level a nested one; it goes on if it promises most."""
        result, restarts = super()._fit_number(plan, n_experts, seeds, tick)
        if self.depth == 1 or self.init not in ("mixed", "kmeans"):
            return result, restarts
        tree, experts = plan.mixture
        rows = plan.rows
        blank = Blank(tree.start(n_experts, rows.gate_table.shape[1]), experts.start(n_experts, plan.n_columns))
        start = learn_shares(plan.mixture, rows, blank, nested_shares(plan.points, rows.weight, tree, seeds[1]))
        nested = run_em(plan.mixture, rows, start, max_iter=min(SHORT_RUN, self.max_iter), tol=self.tol)
        short_run, reached = nested.objective, np.nan
        if short_run > max(each.short_run for each in restarts):
            nested = go_on(Problem(plan.mixture, rows, blank, plan.points, n_experts), nested, self.max_iter, self.tol)
            reached = nested.objective
        is_better = bool(reached > result.objective)
        restarts = [each._replace(is_chosen=each.is_chosen and not is_better) for each in restarts]
        row = Restart(start="nested", short_run=short_run, objective=reached, is_chosen=is_better)
        return (nested if is_better else result), [*restarts, row]

    def _keep(self, task: Task, plan: Plan, result: Found, restarts: list[Restart], n_experts: int) -> None:
        super()._keep(task, plan, result, restarts, n_experts)
        self.gate_coef_, self.gate_intercept_ = plan.view.gate_design.unscale(result.state.gate)

    # --- the tree of gates --------------------------------------------------------------------------------------------

    def _branches(self) -> list[Branch]:
        check_is_fitted(self, "gate_coef_")
        tree = self._fitted.mixture.gate
        assert isinstance(tree, GateTree)
        return list(tree.branches(self.load_))

    def gate_table(self) -> History:
        """One row for every branch of every gate: where it leads, its share of the rows, intercept and coefficients.

        A branch is taken with softmax probability of intercept + coefficients times columns, among those of its gate.
        """
        branches = self._branches()
        names = self._fitted.view.gate_design.names
        own = {name: [getattr(branch, name) for branch in branches] for name in Branch._fields}
        coef = self.gate_coef_.reshape(-1, len(names))
        by_column = {f"coef[{name}]": column for name, column in zip(names, coef.T, strict=True)}
        return History({**own, "intercept": self.gate_intercept_.ravel(), **by_column})

    def export_gates(self, decimals: int = 2) -> str:
        """The tree of gates as text: every branch with its share of the rows and its score."""
        branches = self._branches()
        names = self._fitted.view.gate_design.names
        return "\n".join(_outline(branches, self.gate_coef_, self.gate_intercept_, names, decimals, 0))

    def export_graphviz(self, decimals: int = 2) -> str:
        """The tree of gates in the language of Graphviz."""
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
    """The linear score of a branch in words."""
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
    product of the gates on the way to it. All gates and experts are fitted together by the EM algorithm. `gate_table`
    and `export_gates` show the tree.

    Parameters
    ----------
    depth : int, default=2
        Levels of gates; 1 is the plain mixture of experts.
    branching : int, default=2
        Branches of each gate; the tree has branching**depth experts.
    gate_features : array-like or None, default=None
        Names or positions of the columns that the gate uses; None for all columns.
    gate_l2 : float, default=0.001
        L2 penalty of the coefficients of the gate, for standardised columns.
    init : "mixed", "kmeans", "annealing" or "random", default="mixed"
        How the responsibilities are initialised; "mixed" uses the other three in turn. A start by k-means within
        k-means, level by level, is added.
    n_restarts : int, default=6
        Number of starts. The two best after 30 iterations are run to convergence.
    max_iter : int, default=1000
        Largest number of EM iterations.
    tol : float, default=1e-05
        EM stops when an iteration increases the mean penalised log-likelihood of a row by less.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the starts, and of the choice of held-out rows.
    n_jobs : int or None, default=None
        Number of threads; -1 is all processors, None one thread or what the surrounding code allows. The model is the
        same for any number.
    verbose : int, default=0
        Show progress if larger than 0.
    expert : estimator or None, default=None
        The estimator of an expert; None is linear regression with its own noise variance. Any regressor whose `fit`
        takes `sample_weight`; it is fitted on standardised columns and targets.
    expert_features : array-like or None, default=None
        Names or positions of the columns that the experts use; None for all columns.
    l2 : float, default=0.01
        L2 penalty of the coefficients of the experts, for standardised columns.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Columns that hold categories: those of a categorical or text type, given names, positions or a mask, or none.
    variance_prior : float, default=1.0
        Weight of the prior of the noise variance, in rows; it keeps the variance away from 0.

    Attributes
    ----------
    coef_ : ndarray of shape (n_experts, p)
        Coefficients of the experts, in units of the original columns (a categorical column has one coefficient per
        category); absent with an `expert` of your own.
    intercept_ : ndarray of shape (n_experts,)
        Intercepts of the experts; absent with an `expert` of your own.
    noise_ : ndarray of shape (n_experts,)
        Standard deviation of the noise of each expert.
    load_ : ndarray of shape (n_experts,)
        Mean responsibility of each expert; the sum is 1.
    effective_experts_ : float
        Effective number of experts: e to the entropy of `load_`.
    n_experts_ : int
        Number of experts, branching**depth.
    gate_coef_ : ndarray of shape (n_gates, branching, p)
        Coefficients of the gates in units of the original columns, level by level.
    gate_intercept_ : ndarray of shape (n_gates, branching)
        Intercepts of the gates, level by level.
    log_likelihood_ : float
        Log-likelihood of the training rows.
    bic_ : float
        Bayesian information criterion; smaller is better. NaN where the number of parameters of an expert is unknown.
    history_ : History
        A row for every EM iteration: log-likelihood, penalised log-likelihood (`objective`), its bound, effective
        number of experts, smallest load, step halvings and repairs of experts without rows.
    restarts_ : History
        A row for every start: its kind, and the objective after the short run and at the end.
    selection_ : History
        Empty: the number of experts is given.
    n_iter_ : int
        Number of EM iterations of the best start.
    converged_ : bool
        Whether EM reached a maximum within `max_iter` iterations.
    gradient_norm_ : float
        Scaled norm of the gradient of the penalised log-likelihood at the end.
    mixture_ : Fitted
        The fitted parameters for standardised columns.
    columns_ : Columns
        Names, categories and number of the columns of the training table.
    n_features_in_ : int
        Number of columns of the training table.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if the training table has names that are strings.

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
    product of the gates on the way to it. All gates and experts are fitted together by the EM algorithm. `gate_table`
    and `export_gates` show the tree.

    Parameters
    ----------
    depth : int, default=2
        Levels of gates; 1 is the plain mixture of experts.
    branching : int, default=2
        Branches of each gate; the tree has branching**depth experts.
    gate_features : array-like or None, default=None
        Names or positions of the columns that the gate uses; None for all columns.
    gate_l2 : float, default=0.001
        L2 penalty of the coefficients of the gate, for standardised columns.
    init : "mixed", "kmeans", "annealing" or "random", default="mixed"
        How the responsibilities are initialised; "mixed" uses the other three in turn. A start by k-means within
        k-means, level by level, is added.
    n_restarts : int, default=6
        Number of starts. The two best after 30 iterations are run to convergence.
    max_iter : int, default=1000
        Largest number of EM iterations.
    tol : float, default=1e-05
        EM stops when an iteration increases the mean penalised log-likelihood of a row by less.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the starts, and of the choice of held-out rows.
    n_jobs : int or None, default=None
        Number of threads; -1 is all processors, None one thread or what the surrounding code allows. The model is the
        same for any number.
    verbose : int, default=0
        Show progress if larger than 0.
    expert : estimator or None, default=None
        The estimator of an expert; None is logistic (multinomial for more than two classes) regression. Any classifier
        with `predict_proba` whose `fit` takes `sample_weight`; it is fitted on standardised columns and the class codes
        0, 1, 2 ...
    expert_features : array-like or None, default=None
        Names or positions of the columns that the experts use; None for all columns.
    l2 : float, default=0.01
        L2 penalty of the coefficients of the experts, for standardised columns.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Columns that hold categories: those of a categorical or text type, given names, positions or a mask, or none.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    coef_ : ndarray
        Coefficients of the experts in units of the original columns: shape (n_experts, p) for two classes, (n_experts,
        n_classes, p) for more; absent with an `expert` of your own.
    intercept_ : ndarray
        Intercepts of the experts, of shape (n_experts,) or (n_experts, n_classes); absent with an `expert` of your own.
    load_ : ndarray of shape (n_experts,)
        Mean responsibility of each expert; the sum is 1.
    effective_experts_ : float
        Effective number of experts: e to the entropy of `load_`.
    n_experts_ : int
        Number of experts, branching**depth.
    gate_coef_ : ndarray of shape (n_gates, branching, p)
        Coefficients of the gates in units of the original columns, level by level.
    gate_intercept_ : ndarray of shape (n_gates, branching)
        Intercepts of the gates, level by level.
    log_likelihood_ : float
        Log-likelihood of the training rows.
    bic_ : float
        Bayesian information criterion; smaller is better. NaN where the number of parameters of an expert is unknown.
    history_ : History
        A row for every EM iteration: log-likelihood, penalised log-likelihood (`objective`), its bound, effective
        number of experts, smallest load, step halvings and repairs of experts without rows.
    restarts_ : History
        A row for every start: its kind, and the objective after the short run and at the end.
    selection_ : History
        Empty: the number of experts is given.
    n_iter_ : int
        Number of EM iterations of the best start.
    converged_ : bool
        Whether EM reached a maximum within `max_iter` iterations.
    gradient_norm_ : float
        Scaled norm of the gradient of the penalised log-likelihood at the end.
    mixture_ : Fitted
        The fitted parameters for standardised columns.
    columns_ : Columns
        Names, categories and number of the columns of the training table.
    n_features_in_ : int
        Number of columns of the training table.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if the training table has names that are strings.

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
