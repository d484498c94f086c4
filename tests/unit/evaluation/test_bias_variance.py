"""Bias and variance over training sets: parts that are known in closed form are found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from committee import BaggingRegressor, DecisionTreeClassifier, DecisionTreeRegressor, RandomForestRegressor
from committee.datasets import correlated_step, curve, friedman1, load_dataset, simulate_classification, twonorm
from committee.evaluation.bias_variance import bias_variance, seeded
from committee.evaluation.compare_bias_variance import compare_bias_variance, default_models


def test_b2_the_mean_of_a_sine_is_all_bias_and_a_little_variance():
    """The mean of n values answers 0 at every x: bias E sin^2 = 1/2, variance (1/2 + s^2) / n, noise s^2."""
    result = bias_variance(DummyRegressor(), curve(noise=0.6), n_sets=200, n_train=20, random_state=0)
    wanted = {"bias": 0.5, "variance": (0.5 + 0.36) / 20, "noise": 0.36}
    for name, value in {**wanted, "error": sum(wanted.values())}.items():
        part = result.part(name)
        assert abs(part.value - value) <= 4.0 * part.stderr + 1e-12, name
    assert result.decomposition.gap < 1e-12
    assert "bias is the larger part" in str(result)


def test_b2_least_squares_has_the_variance_of_the_textbook():
    """A line through n points of a line: no bias; mean variance s^2 E[1/n + (x - mean)^2 / sum (x_i - mean)^2]."""
    line = curve(lambda X: 3.0 * X[:, 0] - 1.0, noise=0.5)
    result = bias_variance(LinearRegression(), line, n_sets=400, n_train=25, n_test=500, random_state=1)
    rng = np.random.default_rng(0)
    x = rng.random((20_000, 25))
    spread = ((x - x.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    wanted = 0.25 * np.mean(1 / 25 + (1 / 12 + (0.5 - x.mean(axis=1)) ** 2) / spread)
    assert abs(result.variance.value - wanted) <= 4.0 * result.variance.stderr
    assert abs(result.bias.value) <= 4.0 * result.bias.stderr
    assert "variance is the larger part: average" in result.verdict


class Coin(ClassifierMixin, BaseEstimator):
    """Answers 1 with probability 0.3, whatever the rows."""

    def __init__(self, random_state: int | None = None) -> None:
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Coin:
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> NDArray[np.int64]:
        return (np.random.default_rng(self.random_state).random(len(X)) < 0.3).astype(np.int64)


def test_b2_domingos_parts_of_a_coin():
    """The main prediction is 0. Class 0 is best on half of the rows, with chance 0.9, else 1 with 0.8."""
    rows = simulate_classification(
        lambda n, rng: rng.random((n, 1)), lambda X: np.where(X < 0.5, [[0.9, 0.1]], [[0.2, 0.8]]), bayes_error=0.15
    )
    result = bias_variance(Coin(), rows, n_sets=300, n_train=30, random_state=0)
    wanted = {
        "bias": 0.5,
        "unbiased variance": 0.5 * 0.3,
        "biased variance": 0.5 * 0.3,
        "variance": 0.0,
        "noise": 0.5 * (2 * 0.7 - 1) * 0.1 + 0.5 * (2 * 0.3 - 1) * 0.2,
        "best error": 0.15,
        "error": 0.5 * (0.7 * 0.1 + 0.3 * 0.9) + 0.5 * (0.7 * 0.8 + 0.3 * 0.2),
    }
    for name, value in wanted.items():
        part = result.part(name)
        assert abs(part.value - value) <= 4.0 * part.stderr + 1e-9, name
    assert list(result.to_pandas()["part"]) == list(result.names) == [
        "error", "bias", "variance", "noise", "unbiased variance", "biased variance", "best error",
    ]  # fmt: skip


class Nearest(RegressorMixin, BaseEstimator):
    """The target of the nearest row: on a row that it holds it is exact."""

    def fit(self, X: Any, y: Any) -> Nearest:
        self.X_, self.y_ = np.asarray(X), y
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        return self.y_[np.abs(np.asarray(X)[:, :1] - self.X_[:, 0]).argmin(axis=1)]


def test_a_table_is_evaluated_by_the_samples_that_do_not_hold_the_row():
    rng = np.random.default_rng(0)
    X, y = rng.random((60, 1)), 5.0 * rng.standard_normal(60)
    result = bias_variance(Nearest(), X, y, n_sets=40, random_state=0)
    assert not np.any(result.predictions == y)  # who held the row would repeat its y
    share = np.isnan(result.predictions).mean()
    assert share == pytest.approx(1.0 - (1.0 - 1.0 / 60) ** 60, abs=0.02)
    direct = np.nanmean((result.predictions - y) ** 2, axis=0).mean()
    assert result.error.value == pytest.approx(direct)
    assert result.error.value == pytest.approx(result.bias.value + result.variance.value)
    assert np.isnan(result.noise.value)
    assert "includes the noise" in result.verdict
    with pytest.raises(ValueError, match="No part 'noise'; available: error, bias, variance"):
        result.part("noise")


def test_labels_frames_and_samples_of_one_class():
    """Strings; a rare class that some samples lack; the frame's categories reach the tree."""
    ionosphere = load_dataset("ionosphere", as_frame=True)
    frame = ionosphere.X.iloc[[*range(22), 0, 0, 0]]
    labels = np.array(["common"] * 22 + ["rare"] * 3)
    result = bias_variance(DecisionTreeClassifier(), frame, labels, n_sets=40, random_state=0)
    lacks_rare = np.all(result.predictions[:, 22:] >= 0, axis=1)
    assert 0 < lacks_rare.sum() < 10
    assert np.all(result.predictions[lacks_rare] <= 0)
    assert np.any(result.predictions[~lacks_rare, 22:] == 1)
    wrong = (result.predictions != result.source.truth) & (result.predictions >= 0)
    rows = result.decomposition.rows
    shares = wrong[:, rows].sum(axis=0) / (result.predictions[:, rows] >= 0).sum(axis=0)
    assert result.error.value == pytest.approx(shares.mean())
    assert list(result.to_pandas()["part"]) == ["error", "bias", "variance", "unbiased variance", "biased variance"]


@pytest.mark.parametrize("source", ["simulation", "table"])
def test_threads_change_nothing_and_the_seed_decides(source: str):
    ozone = load_dataset("ozone")
    data = (friedman1(),) if source == "simulation" else (ozone.X, ozone.y)
    model = RandomForestRegressor(n_estimators=5)
    one, two, other = (
        bias_variance(model, *data, n_sets=6, n_train=60, n_test=50, n_jobs=n_jobs, random_state=seed)
        for n_jobs, seed in ((1, 0), (2, 0), (1, 1))
    )
    np.testing.assert_array_equal(one.predictions, two.predictions)
    assert one.part("bias") == two.part("bias")
    assert np.nanmax(np.abs(one.predictions - other.predictions)) > 0.0


def test_everything_that_draws_is_seeded():
    model = make_pipeline(StandardScaler(), BaggingRegressor(DecisionTreeRegressor(), n_jobs=2, verbose=1))
    copy = seeded(model.set_params(verbose=True), 7)
    assert copy.verbose is False  # a pipeline refuses 0
    assert {name: value for name, value in copy.get_params().items() if name.endswith("random_state")} == {
        "baggingregressor__random_state": 7,
        "baggingregressor__estimator__random_state": 7,
    }
    assert seeded(BaggingRegressor(n_jobs=2, verbose=1), 0, threads=2).get_params()["n_jobs"] == 1
    assert seeded(BaggingRegressor(n_jobs=2, verbose=1), 0).get_params()["verbose"] == 0


@pytest.mark.slow
def test_j4_bagging_lowers_variance_and_boosting_bias():
    result = compare_bias_variance(friedman1(), n_sets=12, n_test=300, n_estimators=40, random_state=0)
    for ensemble in ("bagging", "random forest"):
        assert result.difference(ensemble, "variance").value < -5.0 * result.difference(ensemble, "variance").stderr
    change = result.difference("gradient boosting", "bias")
    assert change.value < -2.0 * change.stderr
    assert "gradient boosting against small tree: less bias" in str(result)
    frame = result.to_pandas()
    assert list(frame["model"]) == list(default_models("regression"))
    line = frame.set_index("model").loc["bagging"]
    assert line["bias_change"] == pytest.approx(line["bias"] - frame.set_index("model").loc["full tree", "bias"])
    assert line["error"] == pytest.approx(line["bias"] + line["variance"] + line["noise"])
    assert frame.loc[frame["model"] == "full tree", "against"].item() == ""


def test_own_models_are_compared_with_the_first_or_as_requested():
    models = {"deep": DecisionTreeClassifier(), "flat": DecisionTreeClassifier(max_depth=1), "none": DummyClassifier()}
    step = correlated_step()
    result = compare_bias_variance(step, models=models, n_sets=10, n_train=40, n_test=200, random_state=0)
    assert result.against == {"flat": "deep", "none": "deep"}
    assert result.difference("flat", "variance").value < 0.0
    np.testing.assert_array_equal(  # the same training sets as a study of its own
        result.results["flat"].predictions,
        bias_variance(models["flat"], step, n_sets=10, n_train=40, n_test=200, random_state=0).predictions,
    )
    told = compare_bias_variance(step, models=models, against={"deep": "none"}, n_sets=3, n_test=50, random_state=0)
    assert told.verdict.startswith("deep against none: ")
    with pytest.raises(ValueError, match="unknown models: tall; available: deep, flat, none"):
        compare_bias_variance(step, models=models, against="tall")
    with pytest.raises(ValueError, match="No model 'tall'"):
        result.difference("tall", "bias")


def test_the_task_is_read_off_the_target():
    sonar = load_dataset("sonar")
    result = compare_bias_variance(sonar.X[::4], sonar.y[::4], n_sets=3, n_estimators=3, random_state=0)
    assert result.models == tuple(default_models("classification"))
    again = compare_bias_variance(
        sonar.X[::4], np.arange(52) % 5, task="regression", n_sets=3, n_estimators=3, random_state=0
    )
    assert again.models == tuple(default_models("regression"))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bias_variance(DummyRegressor(), curve(), n_sets=1), "n_sets must be at least 2"),
        (lambda: bias_variance(DummyRegressor(), curve(), n_train=1), "n_train must be at least 2"),
        (lambda: bias_variance(DummyRegressor(), curve(), n_test=1), "n_test must be at least 2"),
        (lambda: bias_variance(DummyRegressor(), curve(), [1.0]), "y must be None"),
        (lambda: bias_variance(DummyRegressor(), np.zeros((3, 1))), "y is missing"),
        (lambda: bias_variance(DummyRegressor(), np.zeros((3, 1)), [1.0, 2.0]), "X has 3 rows, y has 2"),
        (lambda: bias_variance(DummyRegressor(), np.zeros((3, 1)), np.ones((3, 2))), "y has 2 columns"),
        (lambda: bias_variance(DummyRegressor(), twonorm()), "is for regression, but the simulation 'twonorm'"),
        (lambda: bias_variance(StandardScaler(), curve()), "neither a classifier nor a regressor"),
        (lambda: compare_bias_variance(curve(), models={}), "at least one estimator"),
        (
            lambda: compare_bias_variance(curve(), models={"a": DummyRegressor(), "b": DummyClassifier()}),
            "all classifiers or all regressors",
        ),
        (lambda: compare_bias_variance(np.zeros((3, 1)), [1, 2, 1], task="ranking"), "task must be"),
    ],
)
def test_what_cannot_be_measured_is_rejected(call: Any, message: str):
    with pytest.raises(ValueError, match=message):
        call()


class Fails(DummyRegressor):
    def fit(self, X: Any, y: Any) -> Fails:  # type: ignore[override]
        raise ArithmeticError("no")


def test_an_error_of_the_learner_says_in_which_training_set():
    with pytest.raises(ArithmeticError, match="no") as caught:
        bias_variance(Fails(), curve(), n_sets=5)
    assert caught.value.__notes__ == ["in training set 1 of 5"]


def test_progress_is_shown_on_request(capsys: pytest.CaptureFixture[str]):
    bias_variance(DummyRegressor(), pd.DataFrame({"a": np.arange(9.0)}), np.arange(9.0), n_sets=3, verbose=1)
    assert "training sets, DummyRegressor" in capsys.readouterr().out
