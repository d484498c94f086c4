"""AnyBoost: AdaBoost for the exponential loss, descent for every loss."""

from __future__ import annotations

import math
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.estimator_checks import check_estimator

from committee import AdaBoostClassifier, DecisionTreeClassifier
from committee.boosting.anyboost import AnyBoostClassifier, minimum_on_line
from committee.datasets import load_dataset
from committee.losses.classification import MARGIN_LOSSES

LOSSES = sorted(MARGIN_LOSSES)
NO_WEIGHT = "every row has weight zero: the loss is constant at every margin"


def own_exponential(m: float) -> float:
    return math.exp(-m)


def own_exponential_derivative(m: float) -> float:
    return -math.exp(-m)


def own_logistic(m: float) -> float:
    return math.log(1.0 + math.exp(-2.0 * m))


def noisy_rows(seed: int = 0, n: int = 300) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, (X[:, 0] + X[:, 1] ** 2 + rng.normal(size=n) > 1.0).astype(int)


def with_holes(X: NDArray[np.float64]) -> NDArray[np.float64]:
    rng = np.random.default_rng(1)
    return np.where(rng.random(X.shape) < 0.1, np.nan, X)


def weights_for(n: int) -> NDArray[np.float64]:
    return np.random.default_rng(2).integers(0, 4, n).astype(float)  # zeros among them


def settings() -> list[Any]:
    sonar, pima, ionosphere = (load_dataset(name) for name in ("sonar", "pima_diabetes", "ionosphere"))
    X, y = noisy_rows()
    return [
        pytest.param(None, sonar.X, sonar.y, None, 100, id="sonar"),
        pytest.param(None, sonar.X, sonar.y, weights_for(len(sonar.y)), 100, id="sonar, weights"),
        pytest.param(None, with_holes(sonar.X), sonar.y, weights_for(len(sonar.y)), 100, id="sonar, weights and holes"),
        pytest.param(None, pima.X, pima.y, None, 100, id="pima"),
        pytest.param(None, with_holes(X), y, None, 100, id="noisy, holes"),
        pytest.param(
            DecisionTreeClassifier(max_depth=2), ionosphere.X, ionosphere.y, None, 100, id="ionosphere, trees"
        ),
        pytest.param(GaussianNB(), X, y, weights_for(len(y)), 3, id="noisy, another's classifier"),
    ]


def members_of(model: Any) -> list[tuple[Any, ...]]:
    if hasattr(model.members_[0], "estimator"):
        return [tuple(np.round(member.estimator.theta_.ravel(), 9)) for member in model.members_]
    return [
        (member.tree.feature.tolist(), np.nan_to_num(member.tree.threshold).tolist(), member.node_predictions.tolist())
        for member in model.members_
    ]


# --- the exponential loss is AdaBoost ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("weak", "X", "y", "weight", "n_rounds"), settings())
@pytest.mark.parametrize("learning_rate", [1.0, 0.3])
def test_the_exponential_loss_is_adaboost(weak, X, y, weight, n_rounds, learning_rate):
    shared = {"n_estimators": n_rounds, "learning_rate": learning_rate, "random_state": 0}
    ours = AnyBoostClassifier(weak, **shared).fit(X, y, weight)
    ada = AdaBoostClassifier(weak, **shared).fit(X, y, weight)
    assert len(ours.members_) == n_rounds
    assert members_of(ours) == members_of(ada)
    assert np.allclose(ours.coefficients_, ada.coefficients_, rtol=0.0, atol=1e-9)
    assert np.allclose(ours.sample_weights_, ada.sample_weights_, rtol=1e-9, atol=1e-15)
    assert np.array_equal(ours.predict(X), ada.predict(X))
    assert np.allclose(ours.predict_proba(X), ada.predict_proba(X), rtol=0.0, atol=1e-9)
    for name in ("error", "edge", "exponential_risk", "train_error", "min_margin", "max_weight"):
        assert np.allclose(ours.history_[name], ada.history_[name], rtol=1e-9, atol=1e-9), name
    assert np.allclose(ours.history_.loss, ada.history_.exponential_risk, rtol=1e-9, atol=0.0)


def test_resampling_is_adaboost_too():
    X, y = noisy_rows()
    ours = AnyBoostClassifier(weighting="resample", n_estimators=20, random_state=3).fit(X, y)
    ada = AdaBoostClassifier(weighting="resample", n_estimators=20, random_state=3).fit(X, y)
    assert members_of(ours) == members_of(ada)
    assert np.allclose(ours.coefficients_, ada.coefficients_, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("loss", ["exponential", "logistic", "savage"])
def test_a_perfect_hypothesis_gets_adaboosts_finite_coefficient(loss):
    X, y = np.arange(10.0)[:, None], np.arange(10) >= 4
    with pytest.warns(ConvergenceWarning, match="perfect"):
        ours = AnyBoostClassifier(loss=loss).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="perfect"):
        ada = AdaBoostClassifier().fit(X, y)
    assert ours.coefficients_.tolist() == ada.coefficients_.tolist()
    assert ours.score(X, y) == 1.0


def test_chance_ends_the_run_as_in_adaboost():
    X, y = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.array([0, 1, 1, 0])
    for booster in (AnyBoostClassifier(), AdaBoostClassifier()):
        with pytest.warns(ConvergenceWarning, match="no better than chance"):
            booster.fit(X, y)
        assert booster.coefficients_.tolist() == [1e-9]


@pytest.mark.filterwarnings("ignore:Boosting ended")
def test_margins_beyond_the_range_of_exp_still_have_weights():
    X, y = np.arange(10.0)[:, None], np.arange(10) >= 4
    weight = np.arange(1.0, 11.0)
    model = AnyBoostClassifier(step=1000.0, n_estimators=3).fit(X, y, weight)
    assert model.history_.loss == pytest.approx(0.0, abs=1e-300)  # e^-1000, which the kernels cut at e^-700
    assert np.allclose(model.sample_weights_, weight / weight.sum(), rtol=1e-12, atol=0.0)
    flat = AnyBoostClassifier(loss="logistic", step=1000.0, n_estimators=3).fit(X, y, weight)
    assert (len(flat.members_), flat.stop_reason_) == (1, NO_WEIGHT)


# --- the user's own loss ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("own", "derivative", "named", "tolerance"),
    [
        (own_exponential, own_exponential_derivative, "exponential", 1e-11),
        (own_exponential, None, "exponential", 1e-8),  # central differences err by 1e-10, more where a risk is flat
        (own_logistic, None, "logistic", 1e-8),
    ],
)
def test_an_own_loss_in_python_is_the_built_in(own, derivative, named, tolerance):
    pima = load_dataset("pima_diabetes")
    ours = AnyBoostClassifier(loss=own, loss_derivative=derivative, n_estimators=60).fit(pima.X, pima.y)
    built_in = AnyBoostClassifier(loss=named, n_estimators=60).fit(pima.X, pima.y)
    assert members_of(ours) == members_of(built_in)
    assert np.allclose(ours.coefficients_, built_in.coefficients_, rtol=0.0, atol=tolerance)
    assert np.allclose(ours.predict_proba(pima.X), built_in.predict_proba(pima.X), rtol=0.0, atol=10 * tolerance)


def test_a_model_with_an_own_loss_can_be_cloned_and_stored():
    X, y = noisy_rows()
    model = clone(AnyBoostClassifier(loss=own_logistic, n_estimators=5)).fit(X, y)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), model.predict_proba(X))


def test_probabilities_stay_those_of_the_loss_that_was_fitted():
    X, y = noisy_rows()
    model = AnyBoostClassifier(loss="squared_hinge", n_estimators=5).fit(X, y)
    before = model.predict_proba(X)
    assert np.array_equal(model.set_params(loss="exponential").predict_proba(X), before)


def rising(m: float) -> float:
    return m


def test_an_own_function_that_is_no_loss_leaves_the_model_unfitted():
    X, y = noisy_rows()
    model = AnyBoostClassifier(loss=rising)
    with pytest.raises(ValueError, match="not a margin loss"):
        model.fit(X, y)
    assert not hasattr(model, "classes_")


def test_a_loss_that_overflows_is_rejected_with_advice():
    X, y = noisy_rows()
    with pytest.raises(ValueError, match="not finite at margins between -800 and 800: use a smaller step"):
        AnyBoostClassifier(loss=own_exponential, loss_derivative=own_exponential_derivative, step=800.0).fit(X, y)


# --- weights, line search, descent ------------------------------------------------------------------------------------


def final_margins(model: AnyBoostClassifier, X: NDArray[np.float64], y: NDArray[Any]) -> NDArray[np.float64]:
    return np.where(y == model.classes_[1], 1.0, -1.0) * model._scores(X)[:, 0]


@pytest.mark.parametrize("loss", LOSSES)
def test_weights_are_the_negative_gradient(loss):
    X, y = noisy_rows()
    w0 = weights_for(len(y)) + 1.0
    model = AnyBoostClassifier(loss=loss, n_estimators=12).fit(X, y, w0)
    pull = w0 * np.maximum(-MARGIN_LOSSES[loss].derivative(final_margins(model, X, y)), 0.0)
    assert np.allclose(model.sample_weights_, pull / pull.sum(), rtol=1e-9, atol=1e-18)
    assert model.sample_weights_.min() >= 0.0
    assert model.history_.max_weight[-1] == model.sample_weights_.max()


@pytest.mark.parametrize("loss", LOSSES)
def test_the_line_search_ends_in_a_minimum(loss):
    X, y = noisy_rows()
    w0 = np.full(len(y), 1.0 / len(y))
    model = AnyBoostClassifier(loss=loss, n_estimators=15).fit(X, y)
    m = np.zeros(len(y))
    for u, a, recorded in zip(model.agreements(X, y).T, model.coefficients_, model.history_.loss, strict=True):

        def risk(b: float, u: NDArray[np.float64] = u, m: NDArray[np.float64] = m) -> float:
            return float(np.sum(w0 * MARGIN_LOSSES[loss].value(m + b * u)))

        nearby = minimize_scalar(risk, bounds=(0.0, 2.0 * a), method="bounded", options={"xatol": 1e-10})
        assert nearby.x == pytest.approx(a, abs=1e-6)  # values locate a minimum to the square root of eps
        assert risk(a) <= min(risk(0.0), nearby.fun + 1e-15)
        m = m + a * u
        assert recorded == pytest.approx(risk(a), rel=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("learning_rate", [1.0, 0.2])
def test_the_loss_never_rises(loss, learning_rate):
    X, y = noisy_rows(4)
    history = AnyBoostClassifier(loss=loss, n_estimators=80, learning_rate=learning_rate).fit(X, y).history_
    assert np.all(np.diff(history.loss) <= 1e-15)
    assert history.loss[-1] < 0.9 * MARGIN_LOSSES[loss].value(np.zeros(1))[0]


def test_the_search_comes_back_from_behind_a_hill():
    # Slopes at the points it looks at, 0.25, 0.5, ...: a dip at 0.1, a hill at 0.2, and the next dip lies higher.
    def risk(a: float) -> float:
        return -math.sin(5.0 * math.pi * a) + 10.0 * a * (1.0 if a < 0.4 else 2.0 - a)

    def slope(a: float) -> float:
        return (risk(a + 1e-7) - risk(a - 1e-7)) / 2e-7

    assert slope(0.0) < 0.0
    a = minimum_on_line(slope, risk)
    assert a > 0.0
    assert risk(a) <= risk(0.0)


def test_the_search_knows_lines_without_a_minimum():
    assert minimum_on_line(lambda a: -1.0, lambda a: -a) == np.inf
    assert minimum_on_line(lambda a: 1.0, lambda a: a) == 0.0
    assert minimum_on_line(lambda a: a - 100.0, lambda a: (a - 100.0) ** 2) == pytest.approx(100.0)


@pytest.mark.filterwarnings("ignore:Boosting ended")
def test_a_loss_with_nothing_left_to_gain_ends_the_run():
    X, y = np.arange(10.0)[:, None], np.arange(10) >= 4
    for loss, best in (("squared_hinge", 1.0), ("tangent", math.tan(0.5))):
        model = AnyBoostClassifier(loss=loss).fit(X, y)
        assert model.coefficients_ == pytest.approx([best])
        assert model.history_.loss[-1] == pytest.approx(0.0, abs=1e-30)
        assert model.stop_reason_ == NO_WEIGHT
        assert model.sample_weights_.sum() == pytest.approx(1.0)


def test_the_tangent_loss_stops_where_its_clipped_weights_no_longer_point_downhill():
    sonar = load_dataset("sonar")
    model = AnyBoostClassifier(loss="tangent", n_estimators=200).fit(sonar.X, sonar.y)
    assert "no step" in model.stop_reason_
    assert len(model.members_) == model.history_.n_rounds == model.history_.loss.size < 200
    assert np.count_nonzero(model.sample_weights_ == 0.0) > 0


def test_a_fixed_step_is_every_coefficient():
    X, y = noisy_rows()
    model = AnyBoostClassifier(loss="logistic", step=0.5, learning_rate=0.2, n_estimators=30).fit(X, y)
    assert model.coefficients_.tolist() == [0.1] * 30
    assert np.all(np.diff(model.history_.loss) < 0.0)


# --- label noise ------------------------------------------------------------------------------------------------------


def long_and_servedio(rng: np.random.Generator, n: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Long and Servedio (2010): 21 signs that vote for y, on which few wrong labels mislead every convex loss."""
    y, kind = rng.choice([-1, 1], n), rng.choice(3, n, p=[0.25, 0.25, 0.5])
    sign = np.ones((n, 21), np.int64)
    sign[kind == 1, 11:] = -1  # pullers
    for i in np.flatnonzero(kind == 2):  # penalizers: right on 5 of the first 11 and 6 of the last 10
        sign[i, np.r_[rng.permutation(11)[5:], 11 + rng.permutation(10)[6:]]] = -1
    return (sign * y[:, None]).astype(float), y


def test_wrong_labels_hurt_the_savage_loss_less_than_convex_ones():
    rng = np.random.default_rng(0)
    X, y = long_and_servedio(rng, 800)
    fresh_X, fresh_y = long_and_servedio(rng, 2000)
    noisy = np.where(rng.random(800) < 0.1, -y, y)
    increase = {}
    for loss in ("exponential", "logistic", "squared_hinge", "savage"):
        model = AnyBoostClassifier(loss=loss, n_estimators=200)
        clean = model.fit(X, y).score(fresh_X, fresh_y)
        assert clean > 0.99
        increase[loss] = clean - model.fit(X, noisy).score(fresh_X, fresh_y)
    # Measured on four seeds: convex losses lose 0.25 to 0.28, Savage 0 to 0.024.
    assert increase["savage"] < 0.05
    assert min(increase[loss] for loss in ("exponential", "logistic", "squared_hinge")) > 0.2


def test_losses_that_are_not_convex_put_less_weight_on_wrong_labels():
    rng = np.random.default_rng(1)
    X, y = long_and_servedio(rng, 800)
    is_wrong = rng.random(800) < 0.1
    on_wrong = {
        loss: AnyBoostClassifier(loss=loss, n_estimators=50)
        .fit(X, np.where(is_wrong, -y, y))
        .sample_weights_[is_wrong]
        .sum()
        for loss in LOSSES
    }
    # Measured on four seeds: 0.66 to 0.70 of the weight that the exponential loss puts there, and 0.77 to 0.82.
    assert on_wrong["savage"] < 0.75 * on_wrong["exponential"]
    assert on_wrong["tangent"] < 0.85 * on_wrong["exponential"]


# --- the rest of a booster --------------------------------------------------------------------------------------------


def test_the_history_has_its_columns():
    X, y = noisy_rows()
    X_val, y_val = noisy_rows(5)
    model = AnyBoostClassifier(loss="logistic", n_estimators=10).fit(X, y, X_val=X_val, y_val=y_val)
    assert list(model.history_) == [
        "round", "error", "edge", "coefficient", "loss", "exponential_risk", "train_error", "min_margin",
        "max_weight", "validation_error",
    ]  # fmt: skip
    assert all(column.size == 10 for column in model.history_.values())
    assert model.history_.train_error[-1] == pytest.approx(1.0 - model.score(X, y))
    assert model.history_.validation_error[-1] == pytest.approx(1.0 - model.score(X_val, y_val))
    assert model.history_.min_margin[-1] == pytest.approx(model.margins(X, y).min())
    assert np.all(model.history_.exponential_risk >= model.history_.train_error)


def test_more_than_two_classes_are_rejected():
    X, _ = noisy_rows()
    with pytest.raises(ValueError, match="Only binary classification is supported by AnyBoostClassifier; y has 3"):
        AnyBoostClassifier().fit(X, np.arange(300) % 3)


@pytest.mark.parametrize("loss", ["savage", own_logistic])
def test_a_warm_start_goes_on_where_the_fit_stopped(loss):
    X, y = noisy_rows()
    whole = AnyBoostClassifier(loss=loss, n_estimators=30, random_state=0).fit(X, y)
    parts = AnyBoostClassifier(loss=loss, n_estimators=12, random_state=0, warm_start=True).fit(X, y)
    parts.set_params(n_estimators=30).fit(X, y)
    assert parts.coefficients_.tolist() == whole.coefficients_.tolist()
    assert parts.history_.loss.tolist() == whole.history_.loss.tolist()
    assert parts.history_.round.tolist() == list(range(1, 31))


def test_a_warm_start_with_another_loss_takes_its_gradient():
    X, y = noisy_rows()
    model = AnyBoostClassifier(loss="exponential", n_estimators=10, warm_start=True).fit(X, y)
    m = final_margins(model, X, y)
    model.set_params(loss="squared_hinge", n_estimators=11).fit(X, y)
    pull = np.maximum(1.0 - m, 0.0)
    u = model.agreements(X, y)[:, -1]
    assert model.history_.edge[-1] == pytest.approx(float(np.sum(pull * u) / pull.sum()), abs=1e-12)


def test_fewer_rounds_than_there_are_cannot_be_asked_of_a_warm_start():
    X, y = noisy_rows()
    model = AnyBoostClassifier(n_estimators=5, warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="n_estimators=3 must be larger or equal to the 5 members"):
        model.set_params(n_estimators=3).fit(X, y)


@pytest.mark.parametrize("rule", ["bound", "margin"])
def test_the_stopping_rules_of_adaboost_hold_for_other_losses(rule):
    sonar = load_dataset("sonar")
    model = AnyBoostClassifier(loss="logistic", n_estimators=500, early_stopping=rule, tol=0.2).fit(sonar.X, sonar.y)
    assert len(model.members_) < 500
    assert model.score(sonar.X, sonar.y) == 1.0 or rule == "margin"
    assert model.history_.edge.min() - model.history_.min_margin[-1] <= 0.2 or rule == "bound"


def test_validation_keeps_the_best_number_of_members():
    X, y = noisy_rows()
    model = AnyBoostClassifier(
        loss="savage", n_estimators=200, early_stopping="validation", validation_fraction=0.3, random_state=0
    ).fit(X, y)
    best = int(np.argmin(model.history_.validation_error)) + 1
    assert len(model.members_) == best < model.history_.n_rounds == model.history_.loss.size


def test_stages_end_in_the_whole():
    X, y = noisy_rows()
    model = AnyBoostClassifier(loss="tangent", n_estimators=8, learning_rate=0.5).fit(X, y)
    assert np.allclose(list(model.staged_predict_proba(X))[-1], model.predict_proba(X), rtol=0.0, atol=1e-12)
    assert np.allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert np.array_equal(model.classes_[model.predict_proba(X).argmax(axis=1)], model.predict(X))


def test_weights_are_repetitions():
    X, y = noisy_rows()
    own, count = np.random.default_rng(6).random(len(y)), weights_for(len(y)).astype(int)  # own: no two stumps tie
    rows = np.repeat(np.arange(len(y)), count)
    weighted = AnyBoostClassifier(loss="logistic", n_estimators=30).fit(X, y, own * count)
    repeated = AnyBoostClassifier(loss="logistic", n_estimators=30).fit(X[rows], y[rows], own[rows])
    assert np.allclose(weighted.coefficients_, repeated.coefficients_, rtol=0.0, atol=1e-9)
    assert np.allclose(weighted.history_.loss, repeated.history_.loss, rtol=1e-9, atol=0.0)


@pytest.mark.parametrize(
    "setting",
    [{"loss": "nonsense"}, {"loss": 3}, {"step": 0.0}, {"step": -1.0}, {"learning_rate": 0.0}, {"loss_derivative": 1}],
)
def test_settings_out_of_range_are_rejected(setting):
    X, y = noisy_rows()
    with pytest.raises(ValueError, match=next(iter(setting))):
        AnyBoostClassifier(**setting).fit(X, y)


@pytest.mark.parametrize(
    "estimator",
    [
        AnyBoostClassifier(),
        AnyBoostClassifier(loss="savage", n_estimators=10),
        AnyBoostClassifier(loss="tangent", learning_rate=0.5, n_estimators=10),
        AnyBoostClassifier(loss=own_logistic, n_estimators=10),
    ],
    ids=["default", "savage", "tangent", "own"],
)
def test_the_contract_of_scikit_learn_holds(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the checks bring perfect hypotheses, which warn
        checks = check_estimator(estimator, on_fail="raise", on_skip=None)
    assert len(checks) > 40
    assert not [check["check_name"] for check in checks if check["status"] not in ("passed", "skipped")]
