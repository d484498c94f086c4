"""Bad and extreme input: mixtures of experts answer right or say what to do."""

from __future__ import annotations

import pickle
from copy import deepcopy
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import HuberRegressor, Lasso, LogisticRegression, Perceptron
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from committee.base import threads
from committee.experts import em
from committee.experts.density import MixtureOfExpertsDensity
from committee.experts.mixture_of_experts import MixtureOfExpertsClassifier, MixtureOfExpertsRegressor
from tests.bad_input import (
    LABELS,
    MAX,
    VALUES,
    WEIGHTS,
    N,
    X,
    assert_rejected,
    changed,
    each,
    has_params,
    inf,
    nan,
    table,
    target_of,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SUPERVISED: list[type[Any]] = [MixtureOfExpertsRegressor, MixtureOfExpertsClassifier]
MIXTURES: list[type[Any]] = [*SUPERVISED, MixtureOfExpertsDensity]
METHODS = [
    "predict",
    "predict_proba",
    "predict_log_proba",
    "predict_std",
    "gate_proba",
    "expert_predictions",
    "score_samples",
]
JUDGES = ["responsibilities", "log_likelihood"]
FRAME = pd.DataFrame(X, columns=list("abc"))


def make(cls: type[Any], **params: Any) -> Any:
    """Two experts, a short search."""
    return cls(**{"n_experts": 2, "n_restarts": 2, "max_iter": 30, "random_state": 0, **params})


@cache
def fitted(cls: type[Any]) -> Any:
    """A model of the common rows, for reading only: fitted once."""
    return make(cls).fit(X, target_of(cls))


def predictions_of(model: Any, rows: Any = X) -> Any:
    if isinstance(model, MixtureOfExpertsDensity):
        return model.score_samples(rows)
    return model.predict_proba(rows) if is_classifier(model) else model.predict(rows)


# --- refused ---------------------------------------------------------------------------------------------------------


@each(MIXTURES)
def test_missing_numbers_are_rejected_with_advice(cls: type[Any]) -> None:
    text = r"contains NaN in column x\[1\], which .* does not accept: fill the missing .*SimpleImputer.* or take trees"
    assert_rejected(cls(), ValueError, text, changed(nan), target_of(cls))
    for method in METHODS:
        if hasattr(fitted(cls), method):
            with pytest.raises(ValueError, match=text):
                getattr(fitted(cls), method)(changed(nan))
    named = FRAME.assign(b=None).astype({"b": "Float64"})
    assert_rejected(cls(), ValueError, "NaN in column b,", named, target_of(cls))


def test_a_class_that_was_not_there_in_fit_is_rejected() -> None:
    for method in JUDGES:
        with pytest.raises(ValueError, match=r"classes that were not in fit: \[7\]; it had \[0, 1\]"):
            getattr(fitted(MixtureOfExpertsClassifier), method)(X, np.where(LABELS, 7, 0))


# --- parameters ------------------------------------------------------------------------------------------------------

BAD_PARAMETERS = table(
    ("no numbers", {"n_experts": []}, r"n_experts must be an integer >= 1, or several .* got \[\]"),
    ("a bad number", {"n_experts": [1, 0]}, r"n_experts must be an integer >= 1, .* got \[1, 0\]"),
    ("gate_features name", {"gate_features": ["a"]}, "columns without names, positions from 0 to 2"),
    ("gate_features position", {"gate_features": [3]}, "no column 3, which gate_features holds"),
    ("gate_features twice", {"gate_features": [1, 1]}, "stands twice in gate_features"),
    ("gate_features bool", {"gate_features": [True]}, "must hold names or positions of columns, not True"),
    ("expert_features", {"expert_features": [0.5]}, "must hold names or positions of columns, not 0.5"),
    ("max_iter", {"max_iter": 0}, r"'max_iter' .* \[1, inf\)"),
    ("categorical_features", {"categorical_features": [7]}, "categorical_features"),
    ("categorical_features word", {"categorical_features": "all"}, "categorical_features must be 'from_dtype'"),
    ("n_jobs 0", {"n_jobs": 0}, r"'n_jobs' .* Got 0"),
)


@pytest.mark.parametrize(("params", "text"), BAD_PARAMETERS)
@each(MIXTURES)
def test_bad_parameters_are_rejected(cls: type[Any], params: dict[str, Any], text: str) -> None:
    if not has_params(cls, **params):
        pytest.skip("has no such parameter")
    assert_rejected(cls(**params), ValueError, text, X, target_of(cls))


def test_bad_experts_are_rejected() -> None:
    rejected: list[tuple[type[Any], Any, str]] = [
        (MixtureOfExpertsRegressor, KNeighborsRegressor(), "KNeighborsRegressor takes no sample_weight"),
        (MixtureOfExpertsClassifier, KNeighborsClassifier(), "KNeighborsClassifier takes no sample_weight"),
        (MixtureOfExpertsClassifier, Perceptron(), "Perceptron has no predict_proba"),
        (MixtureOfExpertsRegressor, LogisticRegression(), "is a classifier"),
        (MixtureOfExpertsClassifier, Lasso(), "is a regressor"),
    ]
    for cls, expert, text in rejected:
        assert_rejected(make(cls, expert=expert), (ValueError, TypeError), text, X, target_of(cls))
    model = make(MixtureOfExpertsRegressor, n_experts=[1, 2], expert=Lasso())
    assert_rejected(model, ValueError, "number of parameters .* criterion='held_out'", X, VALUES)


class _Infinite(Lasso):
    def predict(self, X: Any) -> Any:
        return np.full(len(X), inf)


class _Wide(LogisticRegression):
    def predict_proba(self, X: Any) -> Any:
        return np.ones((len(X), 5))


def test_experts_that_answer_nonsense_are_named() -> None:
    text = "_Infinite must predict a finite number for every row; its predict returned"
    assert_rejected(make(MixtureOfExpertsRegressor, expert=_Infinite()), ValueError, text, X, VALUES)
    text = "_Wide must predict 2 finite probabilities"
    assert_rejected(make(MixtureOfExpertsClassifier, expert=_Wide()), ValueError, text, X, LABELS)


def test_what_a_density_cannot_be_of() -> None:
    cls = MixtureOfExpertsDensity
    assert_rejected(
        cls(gate_features=[0, 1, 2]),
        ValueError,
        r"names every column of X \(n_features=3\): leave some for the densities",
        X,
    )
    frame = FRAME.assign(c=pd.Categorical(np.where(LABELS, "a", "b")))
    assert_rejected(cls(), ValueError, "Column c holds categories, which have no Gaussian density", frame)
    model = make(cls, gate_features=["c"]).fit(frame)
    assert model.gate_proba(frame).shape == (N, 2)
    with pytest.raises(ValueError, match="pass a table X"):
        model.sample(3)
    drawn, label = model.sample(X=frame)
    assert drawn.shape == (N, 2)
    assert label.shape == (N,)


def test_too_few_rows_to_hold_some_out() -> None:
    model = make(MixtureOfExpertsRegressor, n_experts=[1, 2], criterion="held_out")
    assert_rejected(model, ValueError, "n_samples=1: too few distinct rows", X[:1], VALUES[:1])


def test_too_few_iterations_warn() -> None:
    with pytest.warns(
        ConvergenceWarning, match=r"did not converge in max_iter=2 iterations: .* Use a larger max_iter, tol"
    ):
        make(MixtureOfExpertsRegressor, max_iter=2).fit(X, VALUES)


# --- unusual input with one right answer -----------------------------------------------------------------------------

NOTHING_TO_LEARN_FROM = table(
    ("one row", X[:1], 1),
    ("constant features", np.ones((N, 3)), N),
    ("constant but for the sign of zero", np.where(X > 0, 0.0, -0.0), N),
    ("constant and huge", np.full((N, 3), MAX), N),
    ("categories all missing", pd.DataFrame({"c": pd.Categorical([None] * N, ["a"])}), N),
    ("one category", pd.DataFrame({"c": pd.Categorical(["a"] * N)}), N),
)


@pytest.mark.parametrize(("features", "n_rows"), NOTHING_TO_LEARN_FROM)
@each(SUPERVISED)
def test_nothing_to_learn_from_gives_a_constant(cls: type[Any], features: Any, n_rows: int) -> None:
    y = target_of(cls)[:n_rows]
    predictions = predictions_of(make(cls, max_iter=200).fit(features, y), features)
    if n_rows == 1 and is_classifier(cls()):
        np.testing.assert_array_equal(predictions, 1.0)
    elif is_classifier(cls()):
        np.testing.assert_allclose(predictions[:, 1], y.mean(), rtol=1e-2)
    else:
        np.testing.assert_allclose(predictions, y.mean(), rtol=1e-2)


@pytest.mark.parametrize("features", [X[:1], np.ones((N, 3)), np.full((N, 3), MAX)])
def test_a_density_without_spread_answers(features: Any) -> None:
    model = make(MixtureOfExpertsDensity).fit(features)
    assert np.isfinite(model.score_samples(features)).all()
    assert np.isfinite(model.sample(5)[0]).all()


@pytest.mark.parametrize("value", [7, 0, -3])
@each(SUPERVISED)
def test_one_class_or_one_value(cls: type[Any], value: int) -> None:
    model = make(cls).fit(X, np.full(N, value))
    np.testing.assert_allclose(np.asarray(model.predict(X), float), value, atol=1e-12)


@pytest.mark.parametrize("weight", WEIGHTS)
@each(MIXTURES)
def test_equal_weights_are_taken(cls: type[Any], weight: Any) -> None:
    """Without priors, against which a weight counts, they change no answer."""
    free = {name: 0.0 for name in ("l2", "gate_l2", "variance_prior") if has_params(cls, **{name: 0.0})}
    y = target_of(cls)
    rows = X[:, :1]
    model = make(cls, max_iter=8, **free).fit(rows, y, sample_weight=weight)
    expected = make(cls, max_iter=8, **free).fit(rows, y)
    np.testing.assert_allclose(predictions_of(model, rows), predictions_of(expected, rows), rtol=1e-5, atol=1e-5)
    assert np.isfinite(predictions_of(make(cls).fit(X, y, sample_weight=weight))).all()


@each(MIXTURES)
def test_rows_of_weight_zero_count_for_nothing(cls: type[Any]) -> None:
    y = target_of(cls)
    weight = np.where(np.arange(N) < 30, 1.0, 0.0)
    odd = np.where(np.arange(N)[:, None] < 30, X, 1e6)
    model = make(cls).fit(odd, y, sample_weight=weight)
    np.testing.assert_array_equal(predictions_of(model), predictions_of(make(cls).fit(X[:30], y[:30])))


@each(MIXTURES)
def test_weights_are_repetition_and_the_order_of_rows_means_nothing(cls: type[Any]) -> None:
    y = target_of(cls)
    counts = np.random.default_rng(0).integers(0, 4, N)
    rows = np.random.default_rng(1).permutation(np.repeat(np.arange(N), counts))
    weighted = make(cls).fit(X, y, sample_weight=counts)
    np.testing.assert_array_equal(predictions_of(weighted), predictions_of(make(cls).fit(X[rows], y[rows])))


@pytest.mark.parametrize("decades", [10, 40, 90])
@each(MIXTURES)
def test_weights_of_many_decades(cls: type[Any], decades: int) -> None:
    weight = np.logspace(-decades / 2, decades / 2, N)
    assert np.isfinite(predictions_of(make(cls).fit(X, target_of(cls), sample_weight=weight))).all()


@pytest.mark.parametrize("values", [[-MAX, MAX], [-1e308, 1e308], [1e-300, 3e-300], [0.0, MAX]])
@each(SUPERVISED)
def test_two_extreme_values_are_told_apart(cls: type[Any], values: list[float]) -> None:
    rows = np.array(values)[LABELS][:, np.newaxis]
    y = LABELS if is_classifier(cls()) else LABELS.astype(float)
    model = make(cls).fit(rows, y)
    np.testing.assert_allclose(model.predict(rows), y, atol=0.05)


@pytest.mark.parametrize("scale", [2.0**-100, 2.0**300])
def test_the_scale_of_the_target_does_not_matter(scale: float) -> None:
    """To one expert; where there are more, other numbers begin at other rows."""
    one = make(MixtureOfExpertsRegressor, n_experts=1).fit(X, VALUES)
    model = make(MixtureOfExpertsRegressor, n_experts=1).fit(X, VALUES * scale)
    np.testing.assert_allclose(model.predict(X), one.predict(X) * scale, rtol=1e-9)
    np.testing.assert_allclose(model.log_likelihood_, one.log_likelihood_ - N * np.log(scale), rtol=1e-9)
    assert make(MixtureOfExpertsRegressor).fit(X, VALUES * scale).score(X, VALUES * scale) > 0.7


@pytest.mark.parametrize("scale", [2.0**-100, 2.0**300])
@each(MIXTURES)
def test_the_scale_of_the_columns_does_not_matter(cls: type[Any], scale: float) -> None:
    model = make(cls, n_experts=1).fit(X * scale, target_of(cls))
    expected = predictions_of(make(cls, n_experts=1).fit(X, target_of(cls)))
    if cls is MixtureOfExpertsDensity:
        expected = expected - 3.0 * np.log(scale)
    np.testing.assert_allclose(predictions_of(model, X * scale), expected, rtol=1e-9)


# --- hard problems ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("l2", [0.0, 1e-2])
@each(MIXTURES)
def test_more_columns_than_rows(cls: type[Any], l2: float) -> None:
    rng = np.random.default_rng(0)
    wide = np.hstack([X[:20], rng.normal(size=(20, 60))])
    model = make(cls, **({"l2": l2} if has_params(cls, l2=l2) else {})).fit(wide, target_of(cls)[:20])
    assert np.isfinite(predictions_of(model, wide)).all()
    assert np.isfinite(model.history_.objective).all()
    if is_classifier(model):
        assert model.score(wide, LABELS[:20]) == 1.0


@pytest.mark.parametrize("l2", [0.0, 1e-2])
@each(MIXTURES)
def test_duplicated_and_constant_columns_change_little(cls: type[Any], l2: float) -> None:
    twice = np.column_stack([X, X[:, 0], np.full(N, 5.0)])
    params = {"l2": l2, "gate_l2": l2} if has_params(cls, l2=l2) else {}
    model = make(cls, **params).fit(twice, target_of(cls))
    assert np.isfinite(predictions_of(model, twice)).all()
    if params:  # a doubled column halves what the prior costs, and no more
        np.testing.assert_allclose(model.coef_[..., 0], model.coef_[..., 3], rtol=1e-5, atol=1e-8)
        np.testing.assert_array_equal(model.coef_[..., 4], 0.0)


@pytest.mark.parametrize("l2", [0.0, 1e-6, 1.0])
def test_separable_classes_have_finite_coefficients(l2: float) -> None:
    y = (X[:, 0] > 0).astype(int)
    model = make(MixtureOfExpertsClassifier, l2=l2, max_iter=100).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.history_.objective).all()
    assert np.all(np.diff(model.history_.objective)[model.history_.repaired[1:] < 0] >= -1e-9)
    assert model.score(X, y) == 1.0


def test_an_expert_that_sees_one_class_only() -> None:
    """Left of zero every row is of class 2: an expert there must not need the other classes."""
    rng = np.random.default_rng(0)
    rows = rng.uniform(-1, 1, (300, 2))
    y = np.where(rows[:, 0] < 0, 2, (rows[:, 1] > 0).astype(int))
    for expert in (None, LogisticRegression()):
        model = make(MixtureOfExpertsClassifier, expert=expert, l2=1e-4, max_iter=60 if expert is None else 15).fit(
            rows, y
        )
        assert model.score(rows, y) > 0.97
        assert np.isfinite(model.log_likelihood(rows, y)).all()


@each(SUPERVISED)
def test_duplicated_rows_with_contradicting_targets(cls: type[Any]) -> None:
    rows = np.repeat(X, 2, axis=0)
    y = np.tile([0, 1], N)
    model = make(cls).fit(rows, y)
    predictions = predictions_of(model, X)
    np.testing.assert_allclose(predictions[:, 1] if is_classifier(model) else predictions, 0.5, atol=0.1)


@pytest.mark.parametrize("n_levels", [1, 2, 40])
@each(SUPERVISED)
def test_categories_of_any_number_and_unseen_ones(cls: type[Any], n_levels: int) -> None:
    rng = np.random.default_rng(1)
    code = rng.integers(0, n_levels, 400)
    effect = rng.normal(size=n_levels)[code]
    frame = pd.DataFrame({"c": pd.Categorical(code.astype(str)), "x": rng.normal(size=400)})
    y: Any = frame["x"] if n_levels == 1 else effect
    y = np.asarray(y > 0.0) if is_classifier(cls()) else np.asarray(y)
    model = make(cls).fit(frame, y)
    assert model.score(frame, y) > 0.8
    other = frame.assign(c=pd.Categorical(["nobody saw this"] * 400))
    missing = frame.assign(c=pd.Categorical([None] * 400, ["0"]))
    np.testing.assert_array_equal(predictions_of(model, other), predictions_of(model, missing))
    as_polars = pl.from_pandas(frame.assign(c=frame["c"].astype(str))).with_columns(pl.col("c").cast(pl.Categorical))
    np.testing.assert_array_equal(predictions_of(model, as_polars), predictions_of(model, frame))


# --- one fit after another -------------------------------------------------------------------------------------------


@each(MIXTURES)
def test_an_interrupted_fit_changes_nothing(cls: type[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    model = make(cls).fit(FRAME, target_of(cls))
    calls = iter(range(12))
    steps = em.e_step

    def interrupted(*args: Any) -> Any:
        if next(calls, None) is None:
            raise KeyboardInterrupt
        return steps(*args)

    monkeypatch.setattr(em, "e_step", interrupted)
    assert_interrupted(model, target_of(cls))


def assert_interrupted(model: Any, y: Any) -> None:
    before = dict(vars(model))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:, :2], y)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())


@each(MIXTURES)
def test_copies_answer_alike_and_parameters_set_later_change_nothing(cls: type[Any]) -> None:
    y = target_of(cls)
    model = make(cls).fit(X, y)
    unfitted: Any = clone(model)
    for copy in (pickle.loads(pickle.dumps(model)), deepcopy(model), unfitted.fit(X, y)):
        np.testing.assert_array_equal(predictions_of(copy), predictions_of(model))
    predictions = predictions_of(model)
    model.set_params(n_experts=1, max_iter=1, n_jobs=2)
    np.testing.assert_array_equal(predictions_of(model), predictions)


@pytest.mark.parametrize("n_jobs", [2, -1])
@each(MIXTURES)
def test_threads_change_no_bit(cls: type[Any], n_jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "WORK_PER_THREAD", 100)
    y = target_of(cls)
    one, many = make(cls, n_restarts=4, n_jobs=1).fit(X, y), make(cls, n_restarts=4, n_jobs=n_jobs).fit(X, y)
    np.testing.assert_array_equal(predictions_of(one), predictions_of(many))
    assert one.history_ == many.history_
    np.testing.assert_array_equal(one.restarts_.short_run, many.restarts_.short_run)


def test_weights_of_an_expert_that_is_robust() -> None:
    """Another estimator with weights, to see that nothing is special about those above."""
    model = make(MixtureOfExpertsRegressor, expert=HuberRegressor(), max_iter=5).fit(X, VALUES)
    assert len(model.estimators_) == 2
    assert model.score(X, VALUES) > 0.5
