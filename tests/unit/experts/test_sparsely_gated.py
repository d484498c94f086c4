"""The deep, sparsely gated mixture: gradients, twins, and what the estimators promise."""

from __future__ import annotations

import doctest
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier
from sklearn.linear_model import LogisticRegression, Ridge

from committee.datasets import load_dataset
from committee.ensemble.online import Rows
from committee.experts import adam
from committee.experts._neural_layers import Layer, dispatch, start, views
from committee.experts.adam import Adam
from committee.experts.deep_mixture import Batch, Network, make_network, objective, scores, total
from committee.experts.noisy_top_k import noisy_top_k, smooth_load, squared_variation
from committee.experts.sparsely_gated import (
    Plan,
    SparselyGatedMixtureClassifier,
    SparselyGatedMixtureRegressor,
    sparsely_gated_mixture,
    split_rows,
)
from tests.bad_input import (
    LABELS,
    MAX,
    N,
    X,
    assert_rejected,
    predictions_of,
    target_of,
)
from tests.naive import sparsely_gated as naive

BOTH: list[type[Any]] = [SparselyGatedMixtureClassifier, SparselyGatedMixtureRegressor]
each = pytest.mark.parametrize("cls", BOTH, ids=lambda cls: cls.__name__)


def make(cls: type[Any], **params: Any) -> Any:
    return cls(**{"n_experts": 4, "hidden_units": 4, "max_iter": 8, "random_state": 0, **params})


@cache
def fitted(cls: type[Any]) -> Any:
    """A model of the common rows, for reading only."""
    return make(cls).fit(X, target_of(cls))


# --- the network -----------------------------------------------------------------------------------------------------


class Case:
    """A small network at a random place with a random batch."""

    def __init__(self, n_classes: int, n_layers: int, k: int, is_noisy: bool, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        widths = [3, *[2] * (n_layers - 1), max(n_classes, 1)]
        self.network: Network = make_network(widths, 3, 2, k, n_classes, (0.3, 0.7, 0.01))
        self.theta = start(self.network.shapes, rng) + 0.5 * rng.normal(size=self.network.n_parameters)
        y: Any = rng.integers(0, n_classes, 6) if n_classes else rng.normal(size=6)
        self.batch = Batch(rng.normal(size=(6, 3)), y, rng.uniform(0.2, 2.0, 6))
        self.noise = [rng.normal(size=(6, 3)) for _ in range(n_layers)] if is_noisy else None


CASES = list(product([0, 3], [1, 2], [1, 2, 3], [True, False]))


@pytest.mark.parametrize(("n_classes", "n_layers", "k", "is_noisy"), CASES)
def test_the_objective_equals_its_naive_twin(n_classes: int, n_layers: int, k: int, is_noisy: bool) -> None:
    case = Case(n_classes, n_layers, k, is_noisy)
    losses, _ = objective(case.network, case.theta, case.batch, case.noise)
    expected = naive.objective(case.network, case.theta, case.batch, case.noise)
    assert total(case.network, losses) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("n_classes", "n_layers", "k", "is_noisy"), CASES)
def test_every_derivative_equals_a_difference(n_classes: int, n_layers: int, k: int, is_noisy: bool) -> None:
    """Central differences of step 1e-6 err by about 1e-10 of the loss divided by the step squared: 1e-8 is safe."""
    case = Case(n_classes, n_layers, k, is_noisy)
    _, gradient = objective(case.network, case.theta, case.batch, case.noise)

    def at(i: int, step: float) -> float:
        theta = case.theta.copy()
        theta[i] += step
        return total(case.network, objective(case.network, theta, case.batch, case.noise)[0])

    differences = np.array([(at(i, 1e-6) - at(i, -1e-6)) / 2e-6 for i in range(case.theta.size)])
    np.testing.assert_allclose(gradient, differences, atol=1e-8, rtol=1e-6)
    layers = views(gradient, case.network.shapes)
    assert all(np.abs(layer.A).max() > 0.0 and np.abs(layer.b).max() > 0.0 for layer in layers)
    assert all((np.abs(layer.noise).max() > 0.0) == is_noisy for layer in layers)
    learns = k > 1 or is_noisy  # the share of a single expert is always 1
    assert all((np.abs(layer.gate).max() > 0.0) == learns for layer in layers)


@pytest.mark.parametrize("price", [(1.0, 0.0), (0.0, 1.0)], ids=["importance", "load"])
def test_a_step_against_the_gradient_of_a_balance_loss_lowers_it(price: tuple[float, float]) -> None:
    case = Case(0, 1, 2, True)
    network = case.network._replace(importance_price=1e6 * price[0], load_price=1e6 * price[1], alpha=0.0)
    before, gradient = objective(network, case.theta, case.batch, case.noise)
    after, _ = objective(network, case.theta - 1e-9 * gradient, case.batch, case.noise)
    assert after.importance < before.importance if price[0] else after.load < before.load


def test_all_experts_without_noise_are_the_dense_mixture() -> None:
    case = Case(3, 1, 3, False)
    layer: Layer = views(case.theta, case.network.shapes)[0]
    x = case.batch.X
    scores_of_gate = np.column_stack([x, np.ones(6)]) @ layer.gate
    g = np.exp(scores_of_gate) / np.exp(scores_of_gate).sum(axis=1, keepdims=True)
    hidden = np.maximum(np.einsum("nd,edh->neh", x, layer.A) + layer.a, 0.0)
    f = np.einsum("neh,ehm->nem", hidden, layer.B) + layer.b
    np.testing.assert_allclose(scores(case.network, case.theta, x), np.einsum("ne,nem->nm", g, f), rtol=1e-12)


def test_scores_in_blocks_equal_those_row_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(3, 2, 2, False)
    monkeypatch.setattr("committee.experts.deep_mixture.BLOCK_CELLS", 4 * 4 * 4)
    expected = [naive.deep_mixture(case.network, case.theta, x)[0] for x in case.batch.X]
    np.testing.assert_allclose(scores(case.network, case.theta, case.batch.X), expected, rtol=1e-12)


def test_the_smooth_load_is_the_chance_to_be_chosen_when_the_own_noise_is_drawn_again() -> None:
    rng = np.random.default_rng(1)
    x = np.append(rng.normal(size=(1, 2)), [[1.0]], axis=1)
    gate, noise, eps = rng.normal(size=(3, 5)), rng.normal(size=(3, 5)), rng.normal(size=(1, 5))
    load = smooth_load(noisy_top_k(x, gate, noise, 2, eps))
    assert load is not None
    n = 4000
    for e in range(5):
        again = np.repeat(eps, n, axis=0)
        again[:, e] = rng.normal(size=n)
        chosen = noisy_top_k(np.repeat(x, n, axis=0), gate, noise, 2, again).chosen
        frequency = np.mean(np.any(chosen == e, axis=1))
        assert abs(frequency - load.probability[0, e]) < 4.0 * 0.5 / np.sqrt(n)


def test_equal_scores_go_to_the_first_experts() -> None:
    gating = noisy_top_k(np.ones((3, 1)), np.zeros((1, 5)), np.zeros((1, 5)), 2, None)
    np.testing.assert_array_equal(gating.chosen, [[0, 1]] * 3)
    np.testing.assert_allclose(gating.dense(), [[0.5, 0.5, 0.0, 0.0, 0.0]] * 3)


def test_the_squared_variation() -> None:
    amounts = np.array([3.0, 1.0, 0.0, 4.0])
    assert squared_variation(amounts)[0] == pytest.approx(naive.squared_cv(amounts))
    assert squared_variation(np.full(7, 3.0))[0] == pytest.approx(0.0, abs=1e-15)
    assert squared_variation(np.zeros(3))[0] == 0.0


def test_rows_are_dispatched_as_drawn_in_the_docstring() -> None:
    place, n_slots = dispatch(np.array([[2, 0], [0, 1]]), 4)
    assert n_slots == 2
    assert place.tolist() == [[4, 0], [1, 2]]


def test_adam_takes_the_steps_of_the_paper() -> None:
    rng = np.random.default_rng(0)
    theta, expected = np.ones(3), np.ones(3)
    m, v, step = np.zeros(3), np.zeros(3), Adam(3)
    for t in range(1, 6):
        g = rng.normal(size=3)
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        expected = expected - 0.01 * (m / (1.0 - 0.9**t)) / (np.sqrt(v / (1.0 - 0.999**t)) + 1e-8)
        step.step(theta, g.copy(), 0.01)
        np.testing.assert_allclose(theta, expected, rtol=1e-12)


def test_training_lowers_the_objective() -> None:
    case = Case(3, 2, 2, True)
    before = total(case.network, objective(case.network, case.theta, case.batch, None)[0])
    epochs = sparsely_gated_mixture(case.network, case.theta, case.batch, Plan(6, 0.02, 100, False, 0))
    records = list(epochs)
    assert total(case.network, objective(case.network, case.theta, case.batch, None)[0]) < 0.5 * before
    assert records[-1].train_loss < 0.5 * records[0].train_loss


# --- rows ------------------------------------------------------------------------------------------------------------


def test_rows_held_out_are_shares_of_every_class_and_never_the_last_row() -> None:
    codes = np.repeat([0, 1, 2], [60, 39, 1])
    rows = Rows(np.arange(100.0)[:, np.newaxis], codes, codes, np.ones(100))
    divided = split_rows(rows, 0.1, 0)
    assert divided is not None
    learned, judged = divided
    assert np.bincount(judged.codes, minlength=3).tolist() == [6, 4, 0]
    assert sorted([*learned.X[:, 0], *judged.X[:, 0]]) == rows.X[:, 0].tolist()
    assert split_rows(rows.take(slice(0, 1)), 0.01, 0) is None


# --- docstrings -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_examples_of_the_docstrings_run() -> None:
    assert doctest.testmod(adam).failed == 0
    for cls in BOTH:
        for test in doctest.DocTestFinder().find(cls, cls.__name__, globs={}):
            assert doctest.DocTestRunner().run(test).failed == 0


# --- what they learn -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_it_beats_one_linear_model_where_the_rule_changes_over_the_plane() -> None:
    rng = np.random.default_rng(0)
    rows = rng.uniform(-1.0, 1.0, (800, 2))
    y = np.where(rows[:, 0] > 0.0, 3.0 * rows[:, 1], np.sin(5.0 * rows[:, 1])) + 0.1 * rng.normal(size=800)
    train, test = slice(0, 400), slice(400, 800)
    linear = Ridge().fit(rows[train], y[train]).score(rows[test], y[test])
    model = SparselyGatedMixtureRegressor(n_experts=4, random_state=0).fit(rows[train], y[train])
    assert model.score(rows[test], y[test]) > 0.92 > linear + 0.2
    labels = y > 0.0
    linear = LogisticRegression().fit(rows[train], labels[train]).score(rows[test], labels[test])
    deep = SparselyGatedMixtureClassifier(n_experts=4, n_layers=2, random_state=0).fit(rows[train], labels[train])
    assert deep.score(rows[test], labels[test]) > linear + 0.05


def test_the_balance_losses_keep_all_experts_at_work() -> None:
    vehicle = load_dataset("vehicle")
    params: dict[str, Any] = {"max_iter": 15, "random_state": 0}
    free = SparselyGatedMixtureClassifier(importance_loss=0.0, load_loss=0.0, noisy_gating=False, **params)
    balanced = SparselyGatedMixtureClassifier(**params)
    load_cv = [model.fit(vehicle.X, vehicle.y).capacity_[0].load_cv for model in (free, balanced)]
    assert load_cv[1] < 0.5 * load_cv[0]


def test_capacity_gates_and_history() -> None:
    vehicle = load_dataset("vehicle")
    model = SparselyGatedMixtureClassifier(n_experts=5, top_k=2, n_layers=2, max_iter=4, early_stopping=True)
    model.set_params(random_state=0).fit(vehicle.X, vehicle.y)
    gates = [model.gate_proba(vehicle.X, layer) for layer in (0, 1)]
    for G in gates:
        np.testing.assert_allclose(G.sum(axis=1), 1.0)
        assert np.all(np.count_nonzero(G, axis=1) == 2)
    here = model.capacity(vehicle.X)
    for G, capacity in zip(gates, here, strict=True):
        np.testing.assert_allclose(capacity.load, np.mean(G > 0.0, axis=0))
        np.testing.assert_allclose(capacity.importance, G.mean(axis=0))
        assert capacity.load_cv == pytest.approx(capacity.load.std() / capacity.load.mean())
        assert capacity.max_over_mean_load == pytest.approx(capacity.load.max() / 0.4)
    doubled = model.capacity(np.vstack([vehicle.X, vehicle.X[:1]]))
    weighted = model.capacity(vehicle.X, np.r_[2.0, np.ones(len(vehicle.X) - 1)])
    np.testing.assert_allclose(doubled[1].importance, weighted[1].importance)
    assert model.expert_load_.shape == (2, 5)
    np.testing.assert_allclose(model.expert_load_.sum(axis=1), 2.0)
    assert model.history_.n_rounds == model.n_iter_ == 4
    assert model.history_.expert_load.shape == (4, 10)
    losses = model.history_.validation_loss
    assert np.all(np.isfinite(losses))
    assert model.best_epoch_ == 1 + losses.argmin()
    np.testing.assert_allclose(model.expert_load_.ravel(), model.history_.expert_load[model.best_epoch_ - 1])
    assert len(model.layers_) == 2


def test_early_stopping_keeps_the_best_epoch() -> None:
    vehicle = load_dataset("vehicle")
    model = SparselyGatedMixtureClassifier(max_iter=60, n_iter_no_change=2, learning_rate=0.05, random_state=0)
    model.fit(vehicle.X, vehicle.y)
    assert model.n_iter_ < 60
    assert "no more than 0.0001 in 2 epochs" in model.stop_reason_
    assert model.best_epoch_ == 1 + model.history_.validation_loss.argmin() < model.n_iter_
    np.testing.assert_allclose(model.expert_load_[0], model.history_.expert_load[model.best_epoch_ - 1])
    patient = clone(model).set_params(n_iter_no_change=60).fit(vehicle.X, vehicle.y)
    assert patient.stop_reason_ == "all 60 epochs were run"
    np.testing.assert_array_equal(patient.history_.train_loss[: model.n_iter_], model.history_.train_loss)


@each
def test_whole_weights_mean_repetition_to_the_last_bit(cls: type[Any]) -> None:
    rng = np.random.default_rng(0)
    rows, y = np.repeat(X, 4, axis=0) + 0.1 * rng.normal(size=(4 * N, 3)), np.repeat(target_of(cls), 4)
    w = rng.integers(0, 4, len(y))
    shuffled = rng.permutation(int(w.sum()))
    weighted = make(cls).fit(rows, y, sample_weight=w)
    repeated = make(cls).fit(np.repeat(rows, w, axis=0)[shuffled], np.repeat(y, w)[shuffled])
    np.testing.assert_array_equal(predictions_of(weighted, rows), predictions_of(repeated, rows))
    assert weighted.history_ == repeated.history_
    assert not np.array_equal(predictions_of(weighted, rows), predictions_of(make(cls).fit(rows, y), rows))


def test_class_weights_multiply_weights() -> None:
    by_class = make(SparselyGatedMixtureClassifier, class_weight={0: 1, 1: 3}).fit(X, LABELS)
    by_row = make(SparselyGatedMixtureClassifier).fit(X, LABELS, np.where(LABELS == 1, 3.0, 1.0))
    np.testing.assert_array_equal(by_class.predict_proba(X), by_row.predict_proba(X))
    rare = np.r_[np.flatnonzero(LABELS == 0), np.flatnonzero(LABELS == 1)[:3]]
    plain = make(SparselyGatedMixtureClassifier, max_iter=40).fit(X[rare], LABELS[rare])
    balanced = clone(plain).set_params(class_weight="balanced").fit(X[rare], LABELS[rare])
    assert balanced.predict_proba(X)[:, 1].mean() > plain.predict_proba(X)[:, 1].mean()


@each
def test_seeds(cls: type[Any]) -> None:
    y = target_of(cls)
    np.testing.assert_array_equal(predictions_of(make(cls).fit(X, y)), predictions_of(fitted(cls)))
    assert not np.array_equal(predictions_of(make(cls, random_state=1).fit(X, y)), predictions_of(fitted(cls)))
    make(cls, random_state=np.random.default_rng(0)).fit(X, y)


# --- refused ---------------------------------------------------------------------------------------------------------


def test_bad_class_weights_are_rejected() -> None:
    model = make(SparselyGatedMixtureClassifier, class_weight="heavy")
    assert_rejected(model, ValueError, "The 'class_weight' parameter", X, LABELS)
    model = make(SparselyGatedMixtureClassifier, class_weight={0: 0.0, 1: 0.0})
    assert_rejected(model, ValueError, "all weights are zero", X, LABELS)
    model = make(SparselyGatedMixtureClassifier, class_weight={0: -1.0})
    assert_rejected(model, ValueError, "Negative values in sample_weight times class_weight", X, LABELS)


@each
def test_one_expert_a_row_is_warned_of(cls: type[Any]) -> None:
    with pytest.warns(UserWarning, match="top_k=1: .* use top_k=2"):
        model = make(cls, top_k=1, n_layers=2).fit(X, target_of(cls))
    assert set(model.gate_proba(X, 1).ravel()) == {0.0, 1.0}


@each
def test_a_bad_layer_is_rejected(cls: type[Any]) -> None:
    for layer in (1, -1, "first", None, 0.5):
        with pytest.raises(ValueError, match="layer must be a number from 0 to 0; got"):
            fitted(cls).gate_proba(X, layer)


# --- taken -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-300, 1e-90, 1e90, 1e300])
@each
def test_tables_of_any_size_are_fitted(cls: type[Any], scale: float) -> None:
    model = make(cls, max_iter=30).fit(X * scale, target_of(cls))
    assert np.isfinite(predictions_of(model, X * scale)).all()
    assert model.score(X * scale, target_of(cls)) > 0.5


@each
def test_rows_far_outside_are_predicted(cls: type[Any]) -> None:
    for far in (np.full((2, 3), MAX), np.full((2, 3), -MAX), np.array([[MAX, -MAX, 0.0]])):
        assert np.isfinite(predictions_of(fitted(cls), far)).all()
        assert np.isfinite(predictions_of(make(cls, n_layers=3).fit(X, target_of(cls)), far)).all()


@each
def test_constant_and_duplicated_columns(cls: type[Any]) -> None:
    wide = np.column_stack([X, X, np.full(N, 7.0), np.zeros(N)])
    model = make(cls).fit(wide, target_of(cls))
    other = wide.copy()
    other[:, 6:] = [[MAX, -MAX]]
    np.testing.assert_array_equal(predictions_of(model, other), predictions_of(model, wide))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # a row of two is held out
@each
def test_more_columns_than_rows_and_few_rows(cls: type[Any]) -> None:
    wide = np.random.default_rng(0).normal(size=(12, 60))
    y = target_of(cls)[:12]
    assert make(cls, max_iter=60).fit(wide, y).score(wide, y) > 0.9
    for n in (1, 2, 3):
        assert np.isfinite(predictions_of(make(cls, early_stopping=True).fit(wide[:n], y[:n]), wide)).all()


@each
def test_one_expert_and_one_unit(cls: type[Any]) -> None:
    model = make(cls, n_experts=1, top_k=1, hidden_units=1).fit(X, target_of(cls))
    np.testing.assert_array_equal(model.gate_proba(X), 1.0)
    assert model.capacity_[0].load_cv == 0.0


@each
def test_categories_are_columns_of_their_own(cls: type[Any]) -> None:
    town = np.array(["Bonn", "Ulm", "Kiel", "Jena"])[np.arange(N) % 4]
    y: Any = np.isin(town, ["Ulm", "Jena"]) if is_classifier(cls()) else np.isin(town, ["Ulm", "Jena"]) + 0.5
    frame = pd.DataFrame({"town": pd.Categorical(town), "x": X[:, 0]})
    model = make(cls, max_iter=60).fit(frame, y)
    assert model.score(frame, y) > 0.95
    listed = make(cls, max_iter=60, categorical_features=[0]).fit(frame.to_numpy(), y)
    np.testing.assert_array_equal(predictions_of(listed, frame.to_numpy()), predictions_of(model, frame))
    missing, unknown = frame.copy(), frame.copy()
    missing["town"] = pd.Categorical([None] * N, ["Bonn"])
    unknown["town"] = pd.Categorical(["Oslo"] * N)
    np.testing.assert_array_equal(predictions_of(model, unknown), predictions_of(model, missing))
