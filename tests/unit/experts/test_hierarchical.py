"""Hierarchical mixtures of experts: the tree of gates, EM's ascent, and what the estimators promise."""

from __future__ import annotations

import doctest
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge

from committee.experts.em import Mixture, Rows, State, evaluate, run_em
from committee.experts.gate import SoftmaxGate
from committee.experts.gate_tree import GateTree
from committee.experts.hierarchical import (
    HierarchicalMixtureOfExpertsClassifier,
    HierarchicalMixtureOfExpertsRegressor,
    nested_responsibilities,
)
from committee.experts.linear_experts import LinearExperts, LinearParams
from committee.experts.logistic_experts import LogisticExperts, MultinomialExperts
from committee.experts.mixture_of_experts import MixtureOfExpertsClassifier, MixtureOfExpertsRegressor
from committee.trees.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from tests.bad_input import (
    N,
    X,
    predictions_of,
    target_of,
)
from tests.naive import hierarchical as naive

BOTH: list[type[Any]] = [HierarchicalMixtureOfExpertsClassifier, HierarchicalMixtureOfExpertsRegressor]
each = pytest.mark.parametrize("cls", BOTH, ids=lambda cls: cls.__name__)
shapes = pytest.mark.parametrize(("depth", "branching"), [(1, 2), (1, 4), (2, 2), (2, 3), (3, 2)])
short_runs = pytest.mark.filterwarnings("ignore:EM did not converge")


def make(cls: type[Any], **params: Any) -> Any:
    return cls(**{"n_restarts": 1, "max_iter": 60, "tol": 1e-3, "l2": 0.1, "gate_l2": 0.1, "random_state": 0, **params})


@cache
def fitted(cls: type[Any]) -> Any:
    """A model of the common rows, for reading only."""
    return make(cls).fit(X, target_of(cls))


# --- the tree of gates -----------------------------------------------------------------------------------------------


@shapes
def test_shares_of_the_leaves_equal_the_recursion(depth: int, branching: int) -> None:
    rng = np.random.default_rng(0)
    tree, rows = GateTree(depth, branching), rng.normal(size=(7, 3))
    params = rng.normal(size=(tree.n_gates, branching, 3))
    expected = [naive.leaf_shares(params, x, depth, branching) for x in rows]
    np.testing.assert_allclose(np.exp(tree.log_proba(params, rows)).T, expected, rtol=1e-12)


@shapes
def test_every_gate_regresses_on_its_joint_responsibilities(depth: int, branching: int) -> None:
    rng = np.random.default_rng(1)
    tree, rows = GateTree(depth, branching, 0.5), rng.normal(size=(40, 3))
    params = 0.1 * rng.normal(size=(tree.n_gates, branching, 3))
    weights = rng.exponential(size=(tree.n_leaves, 40))
    joint = [naive.joint_responsibilities(r, depth, branching) for r in weights.T]  # [row][gate][branch]
    new = tree.m_step(params, rows, weights)
    for gate in range(tree.n_gates):
        h = np.array([of_row[gate] for of_row in joint]).T
        np.testing.assert_allclose(new[gate], SoftmaxGate(0.5).m_step(params[gate], rows, h), rtol=1e-9)


@shapes
def test_no_gate_lowers_its_part_even_by_steps_that_are_too_long(
    depth: int, branching: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(2)
    tree, rows = GateTree(max(depth, 2), branching, 0.1), rng.normal(size=(40, 3))
    params, steps = rng.normal(size=(tree.n_gates, branching, 3)), GateTree.steps
    weights = rng.exponential(size=(tree.n_leaves, 40))
    h = tree.joint(weights)

    def parts(at: Any) -> Any:
        prior = -0.05 * (at**2).sum(axis=(1, 2))
        return np.einsum("gbn,gbn->g", h, tree.log_branch_proba(at, rows)) + prior

    def too_long(self: GateTree, at: Any, *args: Any, **kwargs: Any) -> Any:
        return at + 40.0 * (steps(self, at, *args, **kwargs) - at)

    monkeypatch.setattr(GateTree, "steps", too_long)
    assert np.any(parts(too_long(tree, params, rows, h, tree.log_branch_proba(params, rows))) < parts(params))
    assert np.all(parts(tree.m_step(params, rows, weights)) > parts(params))
    whole = float(np.vdot(weights, tree.log_proba(params, rows))) + tree.log_prior(params)
    assert parts(params).sum() == pytest.approx(whole)


def test_branches_lead_where_the_drawing_says() -> None:
    branches = list(GateTree(2, 2).branches(np.array([0.1, 0.2, 0.3, 0.4])))
    ways = [(branch.gate, branch.branch, branch.leads_to) for branch in branches]
    assert ways == [
        (0, 0, "gate 1"), (0, 1, "gate 2"), (1, 0, "expert 0"), (1, 1, "expert 1"), (2, 0, "expert 2"),
        (2, 1, "expert 3"),
    ]  # fmt: skip
    np.testing.assert_allclose([branch.load for branch in branches], [0.3, 0.7, 0.1, 0.2, 0.3, 0.4])


def test_nested_starts_put_near_rows_under_one_gate() -> None:
    corners = np.array([[0.0, 0.0], [0.0, 1.0], [10.0, 0.0], [10.0, 1.0]])
    points = np.repeat(corners, 20, axis=0) + 0.01 * np.random.default_rng(0).normal(size=(80, 2))
    weights = nested_responsibilities(points, np.ones(80), GateTree(2, 2), 0)
    np.testing.assert_allclose(weights.sum(axis=0), 1.0)
    leaf = weights.argmax(axis=0)
    assert len(set(leaf)) == 4
    assert len(set(leaf[:40] // 2)) == 1  # the first two corners share a gate
    few = nested_responsibilities(points[:3], np.ones(3), GateTree(3, 2), 0)
    np.testing.assert_allclose(few.sum(axis=0), 1.0)


# --- EM --------------------------------------------------------------------------------------------------------------


def random_problem(seed: int, depth: int, branching: int) -> tuple[Mixture, Rows, State]:
    """A mixture of any kind at a random place, on rows that need not fit it, some columns twice, weights unequal."""
    rng = np.random.default_rng(seed)
    tree, n, p = GateTree(depth, branching, 10.0 ** rng.uniform(-3, 1)), int(rng.integers(5, 80)), 3
    rows = np.column_stack([rng.normal(size=(n, p - 1)) * 10.0 ** rng.uniform(-1, 1), np.ones(n)])
    if seed % 3 == 0:
        rows[:, 1] = rows[:, 0]
    kind, size, leaves = seed % 3, 3.0 * rng.random(), tree.n_leaves
    gate = size * rng.normal(size=(tree.n_gates, branching, p))
    if kind == 0:
        experts: Any = LinearExperts(10.0 ** rng.uniform(-3, 1))
        start: Any = LinearParams(rng.normal(size=(leaves, p)), rng.uniform(0.1, 2.0, leaves))
        y: Any = rng.normal(size=n)
    elif kind == 1:
        experts, start = LogisticExperts(10.0 ** rng.uniform(-3, 1)), size * rng.normal(size=(leaves, p))
        y = (rows[:, 0] > 0.0).astype(np.int64)  # separable
    else:
        experts, start = MultinomialExperts(3, 10.0 ** rng.uniform(-3, 1)), size * rng.normal(size=(leaves, 3, p))
        y = rng.integers(0, 3, n)
    mixture, data = Mixture(tree, experts), Rows(rows, rows, y, rng.uniform(0.1, 3.0, n))
    return mixture, data, evaluate(mixture, data, gate, start)


@pytest.mark.parametrize("seed", range(0, 240, 20))
def test_the_penalised_likelihood_never_falls(seed: int) -> None:
    """20 problems each; repairs of collapsed experts begin anew."""
    for at in range(seed, seed + 20):
        depth, branching = [(1, 3), (2, 2), (2, 3), (3, 2)][at % 4]
        mixture, rows, start = random_problem(at, depth, branching)
        records = run_em(mixture, rows, start, max_iter=15, tol=0.0).records
        objective = np.array([record.objective for record in records])
        increases = np.diff(objective)[np.array([record.repaired for record in records[1:]]) < 0]
        assert np.all(increases >= -1e-10 * np.abs(objective).max())
        assert objective[-1] > objective[0]


@pytest.mark.parametrize(("seed", "branching"), list(product([0, 1, 2], [2, 4])))
def test_depth_1_takes_the_steps_of_the_plain_mixture(seed: int, branching: int) -> None:
    mixture, rows, start = random_problem(seed, 1, branching)
    tree: Any = mixture.gate
    plain = Mixture(SoftmaxGate(tree.l2), mixture.experts)
    twin = evaluate(plain, rows, start.gate[0], start.experts)
    one = run_em(mixture, rows, start, max_iter=40, tol=0.0)
    other = run_em(plain, rows, twin, max_iter=40, tol=0.0)
    np.testing.assert_allclose(
        [record.objective for record in one.records], [record.objective for record in other.records], rtol=1e-9
    )
    np.testing.assert_allclose(one.state.gate[0], other.state.gate, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("cls", "plain"), list(zip(BOTH, [MixtureOfExpertsClassifier, MixtureOfExpertsRegressor], strict=True))
)
def test_depth_1_is_the_plain_mixture(cls: type[Any], plain: type[Any]) -> None:
    params: dict[str, Any] = {"n_restarts": 3, "random_state": 0, "tol": 1e-5, "l2": 0.1, "gate_l2": 0.1}
    one = cls(depth=1, branching=3, **params).fit(X, target_of(cls))
    other = plain(n_experts=3, **params).fit(X, target_of(cls))
    np.testing.assert_allclose(predictions_of(one), predictions_of(other), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(one.gate_coef_[0], other.gate_coef_, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(one.history_.objective, other.history_.objective, rtol=1e-9)
    assert one.bic_ == pytest.approx(other.bic_, rel=1e-9)
    np.testing.assert_allclose(one.restarts_.objective, other.restarts_.objective, rtol=1e-9)


@pytest.mark.parametrize(
    ("cls", "plain"), list(zip(BOTH, [MixtureOfExpertsClassifier, MixtureOfExpertsRegressor], strict=True))
)
def test_defaults_are_those_of_the_plain_mixture(cls: type[Any], plain: type[Any]) -> None:
    own, expected = cls().get_params(), plain().get_params()
    assert own.keys() - expected.keys() == {"depth", "branching"}
    assert all(own[name] == expected[name] for name in own.keys() & expected.keys())


# --- docstrings -----------------------------------------------------------------------------------------------------


@short_runs
def test_the_examples_of_the_docstrings_run() -> None:
    for cls in BOTH:
        for test in doctest.DocTestFinder().find(cls, cls.__name__, globs={}):
            assert doctest.DocTestRunner().run(test).failed == 0


# --- what they learn -------------------------------------------------------------------------------------------------


def four_pieces(n: int = 400) -> tuple[Any, Any]:
    """A line of four straight pieces, with noise."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-2.0, 2.0, (n, 1))
    return x, np.abs(np.abs(x[:, 0]) - 1.0) + 0.05 * rng.normal(size=n)


def test_straight_pieces_are_found() -> None:
    x, y = four_pieces()
    model = HierarchicalMixtureOfExpertsRegressor(depth=2, tol=1e-5, random_state=0).fit(x, y)
    np.testing.assert_allclose(np.sort(model.coef_[:, 0]), [-1.0, -1.0, 1.0, 1.0], atol=0.1)
    np.testing.assert_allclose(model.load_, 0.25, atol=0.05)
    np.testing.assert_allclose(model.noise_, 0.05, atol=0.02)
    assert model.score(x, y) > 0.95 > Ridge().fit(x, y).score(x, y) + 0.9
    assert np.all(np.diff(model.history_.objective)[model.history_.repaired[1:] < 0] >= -1e-9)


def test_a_nested_start_goes_on_if_it_promises_most(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = four_pieces()
    start = "committee.experts.hierarchical.nested_responsibilities"
    model = make(HierarchicalMixtureOfExpertsRegressor, init="kmeans", n_restarts=2).fit(x, y)
    table = model.restarts_
    assert table.start.tolist() == ["kmeans", "kmeans", "nested"]
    assert table.is_chosen.tolist() == [False, False, True]
    assert table.objective[2] == pytest.approx(model.history_.objective.max())

    def hopeless(points: Any, weight: Any, tree: GateTree, seed: int) -> Any:
        return np.full((tree.n_leaves, len(points)), 1.0 / tree.n_leaves)  # all experts alike

    monkeypatch.setattr(start, hopeless)
    model.fit(x, y)
    assert not model.restarts_.is_chosen[2]
    assert np.isnan(model.restarts_.objective[2])
    model.set_params(init="random").fit(x, y)
    assert model.restarts_.start.tolist() == ["random", "random"]


@short_runs
def test_the_table_and_the_pictures_of_the_gates() -> None:
    x, y = four_pieces()
    frame = pd.DataFrame({'the "x"': x[:, 0]})
    model = make(HierarchicalMixtureOfExpertsRegressor, l2=0.01, max_iter=300).fit(frame, y)
    rows = model.gate_table()
    assert rows.leads_to.tolist() == ["gate 1", "gate 2", "expert 0", "expert 1", "expert 2", "expert 3"]
    np.testing.assert_allclose(rows.load[2:], model.load_)
    np.testing.assert_allclose(rows.load[:2], [model.load_[:2].sum(), model.load_[2:].sum()])
    assert len(rows.to_pandas()) == 6
    score = rows.intercept[:2] + x * rows['coef[the "x"]'][:2]  # the root decides between the halves of the leaves
    share = np.exp(score[:, 0]) / np.exp(score).sum(axis=1)
    np.testing.assert_allclose(share, model.gate_proba(frame)[:, :2].sum(axis=1), rtol=1e-9)
    text = model.export_gates(decimals=3).splitlines()
    assert [line.split("--- ")[1].split(",")[0] for line in text] == [
        "gate 1", "expert 0", "expert 1", "gate 2", "expert 2", "expert 3",
    ]  # fmt: skip
    assert [line.index("---") for line in text] == [1, 5, 5, 1, 5, 5]
    assert f"{rows.intercept[0]:+.3f}" in text[0]
    dot = model.export_graphviz()
    assert dot.startswith("digraph gates {")
    assert dot.count("->") == 6
    assert 'the \\"x\\"' in dot


@each
def test_evidence_of_a_row(cls: type[Any]) -> None:
    model = fitted(cls)
    g, r = model.gate_proba(X), model.responsibilities(X, target_of(cls))
    assert g.shape == r.shape == (N, 4)
    np.testing.assert_allclose(g.sum(axis=1), 1.0)
    np.testing.assert_allclose(r.sum(axis=1), 1.0)
    predictions = model.expert_predictions(X)
    mixed = np.einsum("nk,nk...->n...", g, predictions)
    np.testing.assert_allclose(mixed, predictions_of(model), rtol=1e-9)
    assert model.log_likelihood(X, target_of(cls)).sum() == pytest.approx(model.log_likelihood_)


@short_runs
@each
def test_threads_change_no_bit(cls: type[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("committee.base.threads.WORK_PER_THREAD", 1)
    one, two = (make(cls, n_restarts=3, n_jobs=n).fit(X, target_of(cls)) for n in (1, 2))
    np.testing.assert_array_equal(predictions_of(one), predictions_of(two))
    np.testing.assert_array_equal(one.restarts_.objective, two.restarts_.objective)


# --- refused ---------------------------------------------------------------------------------------------------------


@each
def test_gates_before_fit_raise(cls: type[Any]) -> None:
    for show in (cls().gate_table, cls().export_gates, cls().export_graphviz):
        with pytest.raises(NotFittedError):
            show()


@each
def test_exported_gates_are_those_of_the_fit(cls: type[Any]) -> None:
    model = make(cls).fit(X, target_of(cls))
    text = model.export_gates()
    assert model.set_params(depth=1, branching=5).export_gates() == text


# --- taken -----------------------------------------------------------------------------------------------------------


@short_runs
def test_many_classes() -> None:
    many = make(HierarchicalMixtureOfExpertsClassifier, branching=3).fit(X, np.digitize(X[:, 0], [-0.5, 0.0, 0.5]))
    assert many.score(X, np.digitize(X[:, 0], [-0.5, 0.0, 0.5])) > 0.8


@each
def test_categories_and_columns_of_the_gate(cls: type[Any]) -> None:
    town = np.array(["Bonn", "Ulm", "Kiel", "Jena"])[np.arange(N) % 4]
    frame = pd.DataFrame({"town": pd.Categorical(town), "x": X[:, 0]})
    model = make(cls, gate_features=["town"], expert_features=["x"]).fit(frame, target_of(cls))
    assert model.gate_coef_.shape == (3, 2, 4)
    assert "town=Ulm" in model.export_gates()


@short_runs
@each
def test_trees_as_experts(cls: type[Any]) -> None:
    tree = DecisionTreeClassifier if is_classifier(cls()) else DecisionTreeRegressor
    model = make(cls, expert=tree(max_depth=2), max_iter=10).fit(X, target_of(cls))
    assert len(model.estimators_) == 4
    assert model.score(X, target_of(cls)) > 0.8
    assert "expert 3" in model.export_gates()
    increases = np.diff(model.history_.objective)[model.history_.repaired[1:] < 0]
    assert np.all(increases >= -1e-9)  # a tree that explains its rows worse is not taken
