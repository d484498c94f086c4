"""The family on one table: same folds, honest errors, failures and budgets that do not stop the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from committee.datasets import load_dataset
from committee.evaluation._row_splits import split_rows
from committee.evaluation.comparison import (
    Comparison,
    ComparisonStep,
    compare,
    find_name,
    guess_task,
    pick,
)
from committee.evaluation.methods import METHODS, family
from committee.evaluation.metrics import Predictions, find_metric, loss_of, metric_names, standard_error
from committee.forests.estimators import RandomForestClassifier
from committee.sampling.splits import NOT_TESTED
from committee.trees.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from committee.voting.calibrated_classifier import CalibratedClassifier

SONAR = load_dataset("sonar")
TREES = {"stump": DecisionTreeClassifier(max_depth=1), "tree": DecisionTreeClassifier(max_leaf_nodes=6)}


class Broken(ClassifierMixin, BaseEstimator):
    """Fails in every fit."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Broken:
        raise ValueError("this never works")


@pytest.fixture(scope="module")
def found() -> tuple[Comparison, Any]:
    return compare(SONAR.X, SONAR.y, methods=TREES, metric="error", random_state=3)


def test_errors_are_those_of_the_same_folds_done_by_hand(found: tuple[Comparison, Any]):
    comparison, _ = found
    tree = clone(TREES["stump"])
    for k in range(5):
        train, test = comparison.rows[comparison.fold != k], comparison.rows[comparison.fold == k]
        tree.fit(SONAR.X[train], SONAR.y[train])
        assert comparison.result("stump").losses[k] == np.mean(tree.predict(SONAR.X[test]) != SONAR.y[test])


def test_held_out_rows_choose_nothing_and_evaluate_the_winner(found: tuple[Comparison, Any]):
    comparison, model = found
    assert np.intersect1d(comparison.rows, comparison.held_out_rows).size == 0
    assert comparison.rows.size + comparison.held_out_rows.size == len(SONAR.y)
    again = clone(TREES[comparison.winner]).fit(SONAR.X[comparison.rows], SONAR.y[comparison.rows])
    wrong = again.predict(SONAR.X[comparison.held_out_rows]) != SONAR.y[comparison.held_out_rows]
    assert comparison.held_out_losses["error"] == wrong.mean()
    assert comparison.held_out_loss_se == pytest.approx(wrong.std(ddof=1) / np.sqrt(wrong.size))
    assert np.array_equal(
        model.predict(SONAR.X), clone(TREES[comparison.winner]).fit(SONAR.X, SONAR.y).predict(SONAR.X)
    )


def test_nested_error_chooses_on_the_other_folds(found: tuple[Comparison, Any]):
    comparison, _ = found
    errors = np.array([result.losses for result in comparison.results])
    nested = [errors[np.delete(errors, k, axis=1).mean(axis=1).argmin(), k] for k in range(5)]
    assert comparison.nested_loss == pytest.approx(np.mean(nested))


def test_winner_has_the_smallest_mean_and_out_of_fold_predictions_are_probabilities(found: tuple[Comparison, Any]):
    comparison, _ = found
    means = {result.name: result.losses.mean() for result in comparison.results}
    assert comparison.winner == min(means, key=lambda name: means[name])
    assert [result.name for result in comparison.ranking()] == sorted(means, key=lambda name: means[name])
    predictions = comparison.result("tree").oof_predictions
    assert predictions.shape == (comparison.rows.size, 2)
    np.testing.assert_allclose(predictions.sum(axis=1), 1.0)


def test_same_seed_same_result_for_any_number_of_threads():
    forest = {"forest": family("classification", 208)["random forest"].set_params(n_estimators=10)}
    one, two = (compare(SONAR.X, SONAR.y, methods=forest, random_state=1, n_jobs=jobs)[0] for jobs in (1, 2))
    assert np.array_equal(one.result("forest").oof_predictions, two.result("forest").oof_predictions)
    other = compare(SONAR.X, SONAR.y, methods=forest, random_state=2)[0]
    assert not np.array_equal(one.held_out_rows, other.held_out_rows)


def test_a_method_that_fails_is_noted_and_the_rest_goes_on():
    comparison, _ = compare(SONAR.X, SONAR.y, methods={"broken": Broken(), **TREES}, cv=3)
    broken = comparison.result("broken")
    assert (broken.status, broken.note) == ("failed", "ValueError: this never works")
    assert np.isnan(broken.losses).all()
    assert comparison.winner in TREES


def test_if_all_fail_the_reasons_are_reported():
    with pytest.raises(RuntimeError, match="this never works"):
        compare(SONAR.X, SONAR.y, methods={"broken": Broken()})


def test_progress_tells_every_fold():
    steps: list[ComparisonStep] = []
    compare(SONAR.X, SONAR.y, methods={"stump": TREES["stump"]}, cv=3, callback=steps.append)
    assert [step.state for step in steps] == [
        "starting",
        "evaluated",
        "evaluated",
        "evaluated",
        "done",
        "refitting",
        "refitting",
        "refitting",
    ]
    assert [step.fold for step in steps[:4]] == [0, 1, 2, 3]


def test_a_method_without_probabilities_gets_them():
    from committee.svm.linear_svm import LinearSVC

    methods = {"machine": LinearSVC(scale=True), "stump": TREES["stump"]}
    comparison, model = compare(SONAR.X, SONAR.y, methods=methods, metric="log loss", cv=3)
    machine = comparison.result("machine")
    assert machine.status == "done"
    assert machine.calibration is not None
    assert machine.losses.mean() < np.log(2.0)
    assert hasattr(model, "predict_proba")


def test_weights_count_as_repetition():
    ozone = load_dataset("ozone")
    X, y = ozone.X[:120], ozone.y[:120]
    weights = np.random.default_rng(0).integers(1, 4, 120)
    methods = {"tree": DecisionTreeRegressor(max_leaf_nodes=8)}
    weighted, _ = compare(X, y, task="regression", methods=methods, cv=3, sample_weight=weights)
    repeated = np.repeat(np.arange(120), weights)
    groups = repeated  # copies stay together
    rows, fold = weighted.rows, weighted.fold
    tree = clone(methods["tree"])
    for k in range(3):
        train = repeated[np.isin(repeated, rows[fold != k])]
        test = groups[np.isin(repeated, rows[fold == k])]
        tree.fit(X[train], y[train])
        expected = np.sqrt(np.mean((tree.predict(X[test]) - y[test]) ** 2))
        assert weighted.result("tree").losses[k] == pytest.approx(expected)


@pytest.mark.slow
def test_frames_with_categories_and_missing_values_suit_every_method():
    rng = np.random.default_rng(0)
    n = 150
    X = pl.DataFrame(
        {
            "a": pl.Series(rng.normal(size=n)),
            "b": pl.Series(rng.choice(["x", "y", "z"], n)).cast(pl.Categorical),
            "c": pl.Series([None if value > 0.9 else value for value in rng.random(n)]),
        }
    )
    y = np.where(X["a"].to_numpy() + (X["b"].cast(str) == "x").to_numpy() > 0, "yes", "no")
    comparison, _ = compare(X, y, cv=2, metric="1 - auc")
    assert [result.status for result in comparison.results] == ["done"] * len(METHODS)
    assert comparison.result("constant").losses.mean() == pytest.approx(0.5)
    assert comparison.result(comparison.winner).losses.mean() < 0.1
    numbers, _ = compare(X, X["a"].to_numpy() + rng.normal(size=n), cv=2, test_size=0.0)
    assert [result.status for result in numbers.results] == ["done"] * len(METHODS)
    assert (numbers.metric, numbers.held_out_losses) == ("rmse", {})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"methods": ["random forrest"]}, "Did you mean 'random forest'"),
        ({"methods": []}, "methods is empty"),
        ({"metric": "rmse"}, "No metric 'rmse' for classification"),
        ({"metric": "acuracy"}, "Did you mean 'accuracy'"),
        ({"cv": 1}, "cv must be at least 2"),
        ({"test_size": 1.0}, "test_size must be a fraction"),
        ({"task": "ranking"}, "task must be"),
        ({"groups": [1], "time": [1]}, "pass one of them"),
        ({"groups": [1, 2]}, "groups has 2 values for 208 rows"),
    ],
)
def test_wrong_arguments_raise(arguments: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        compare(SONAR.X, SONAR.y, **arguments)


def test_one_class_is_rejected():
    with pytest.raises(ValueError, match="one class only"):
        compare(SONAR.X, np.zeros(208), methods=TREES)


# --- parts ------------------------------------------------------------------------------------------------------------


def test_rows_are_dealt_by_class():
    codes = np.array([0] * 60 + [1] * 40)
    split = split_rows(codes, 100, cv=4, held_out=0.2, seed=5)
    assert np.bincount(codes[split.held_out]).tolist() == [12, 8]
    for k in range(4):
        assert np.bincount(codes[split.test_of(k)]).tolist() == [12, 8]
        assert np.intersect1d(split.test_of(k), split.train_of(k)).size == 0


def test_groups_stay_together():
    groups = np.repeat(np.arange(30), 5)
    codes = np.arange(150) % 2
    for classes in (codes, None):
        split = split_rows(classes, 150, cv=4, held_out=0.2, groups=groups)
        parts = [split.held_out, *(split.test_of(k) for k in range(4))]
        owners = [set(groups[part]) for part in parts]
        assert sum(map(len, owners)) == 30
        assert split.held_out.size == 30
    with pytest.raises(ValueError, match="too few for 4 folds"):
        split_rows(codes[:4], 4, cv=4, held_out=0.2, groups=[0, 0, 1, 1])


def test_time_goes_forward():
    times = np.random.default_rng(0).permutation(np.repeat(np.arange(50), 2))
    split = split_rows(None, 100, cv=3, held_out=0.2, times=times)
    assert times[split.held_out].min() > times[split.rows].max()
    assert np.all(split.fold[times[split.rows] < times[split.test_of(0)].min()] == NOT_TESTED)
    for k in range(3):
        assert times[split.train_of(k)].max() < times[split.test_of(k)].min()
    with pytest.raises(ValueError, match="too few for 3 stretches"):
        split_rows(None, 10, cv=3, held_out=0.2, times=[1] * 5 + [2] * 5)


def test_time_is_compared_without_a_look_ahead():
    ozone = load_dataset("ozone")
    methods = {"mean": DecisionTreeRegressor(max_leaf_nodes=2), "tree": DecisionTreeRegressor(max_leaf_nodes=20)}
    comparison, _ = compare(ozone.X, ozone.y, task="regression", methods=methods, time=np.arange(len(ozone.y)), cv=4)
    assert np.isnan(comparison.result("tree").oof_predictions[comparison.fold == NOT_TESTED]).all()
    errors = np.array([result.losses for result in comparison.results])
    nested = [errors[errors[:, :k].mean(axis=1).argmin(), k] for k in range(1, 4)]
    assert comparison.nested_loss == pytest.approx(np.mean(nested))


def test_metrics_of_a_small_table_by_hand():
    truth = np.array([0, 1, 1, 0])
    said = Predictions(
        np.array([0, 1, 0, 0]), np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.7, 0.3]]), has_probabilities=True
    )
    one = np.ones(4)
    assert loss_of("error", truth, said, one) == 0.25
    assert loss_of("error", truth, said, np.array([1.0, 1.0, 4.0, 2.0])) == 0.5
    assert loss_of("log loss", truth, said, one) == pytest.approx(-np.mean(np.log([0.9, 0.8, 0.4, 0.7])))
    assert loss_of("balanced error", truth, said, one) == 0.25
    assert loss_of("brier score", truth, said, one) == pytest.approx(2 * (0.01 + 0.04 + 0.36 + 0.09) / 4)
    assert loss_of("1 - auc", truth, said, one) == 0.0
    numbers = Predictions(None, np.array([1.0, 2.0, 5.0, 4.0]), has_probabilities=True)
    target = np.array([1.0, 2.0, 3.0, 4.0])
    assert loss_of("rmse", target, numbers, one) == 1.0
    assert loss_of("mae", target, numbers, one) == 0.5
    assert loss_of("1 - r2", target, numbers, one) == pytest.approx(1.0 / 1.25)


@pytest.mark.parametrize("metric", metric_names("classification"))
def test_standard_errors_agree_with_a_bootstrap(metric: str):
    rng = np.random.default_rng(0)
    share = rng.random(400)
    truth = (rng.random(400) < share).astype(int)
    said = Predictions((share > 0.5).astype(int), np.stack([1 - share, share], axis=1), has_probabilities=True)
    one, rows = np.ones(400), np.arange(400)
    found = standard_error(metric, truth, said, one, rows, 0)
    draws = rng.integers(0, 400, (200, 400))
    spread = np.std([loss_of(metric, truth[draw], said.of(draw), one) for draw in draws])
    assert found == pytest.approx(spread, rel=0.25)


def test_standard_error_counts_groups_not_rows():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(50), 8)
    wrong = np.repeat(rng.random(50) < 0.3, 8).astype(int)
    said = Predictions(wrong, np.stack([1 - wrong, wrong], axis=1).astype(float), has_probabilities=True)
    truth, one = np.zeros(400, int), np.ones(400)
    by_row = standard_error("error", truth, said, one, np.arange(400), 0)
    assert standard_error("error", truth, said, one, groups, 0) == pytest.approx(by_row * np.sqrt(8), rel=0.02)


def test_tasks_are_guessed():
    assert guess_task(np.array([1.0, 2.0, 1.0])) == "classification"
    assert guess_task(np.array([True, False])) == "classification"
    assert guess_task(np.array([1.5, 2.0])) == "regression"


def test_names_are_found_whatever_their_case():
    assert find_name("Random_Forest", ["random forest"], "method") == "random forest"
    assert list(pick({"a b": 1, "c": 2}, "all")) == ["a b", "c"]
    with pytest.raises(ValueError, match="Available: tree"):
        find_name("zzz", ["tree"], "method")


def test_foreign_estimators_take_part():
    comparison, model = compare(SONAR.X, SONAR.y, methods={"dummy": DummyClassifier(strategy="stratified")}, cv=2)
    assert comparison.result("dummy").parameters == {"strategy": "stratified"}
    assert isinstance(getattr(model, "estimator_", model), DummyClassifier)


def test_no_error_among_few_rows_is_no_certainty():
    x = np.linspace(-1.0, 1.0, 40)[:, np.newaxis]
    found, _ = compare(
        x, np.where(x[:, 0] > 0, "a", "b"), methods=["pruned tree"], metric="error", cv=2, random_state=0
    )
    n = found.held_out_rows.size
    assert found.held_out_losses["error"] == 0.0
    assert found.held_out_loss_se == pytest.approx(np.sqrt((n + 1.0) / (n + 2.0) ** 2 / n))


def test_one_method_forward_in_time_keeps_all_its_folds_in_the_nested_figure():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    found, _ = compare(X, (X[:, 0] > 0).astype(int), methods=["pruned tree"], time=np.arange(120), cv=4)
    assert found.nested_loss == pytest.approx(found.results[0].losses.mean())
    assert found.n_folds == 4


# --- probabilities, names of metrics, and the constant ----------------------------------------------------------------


class Votes(ClassifierMixin, BaseEstimator):
    """Right more often than the other, and far too sure."""

    def __init__(self, cut: float = 0.0, sureness: float = 1.0) -> None:
        self.cut, self.sureness = cut, sureness

    def fit(self, X: Any, y: Any) -> Votes:
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X: Any) -> Any:
        scores = np.clip(self.sureness * (X[:, 0] - self.cut), -500.0, 500.0)
        p = 1.0 / (1.0 + np.exp(-scores))
        return np.stack([1.0 - p, p], axis=1)

    def predict(self, X: Any) -> Any:
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def noisy(n: int = 900) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 2))
    return x, (rng.random(n) < 1.0 / (1.0 + np.exp(-2.0 * x[:, 0]))).astype(int)


def test_classes_are_chosen_by_the_log_loss_and_a_sure_method_is_calibrated():
    X, y = noisy()
    methods = {"sure": Votes(0.0, 50.0), "flat": Votes(0.5, 0.5)}
    found, model = compare(X, y, methods=methods, cv=3)
    assert found.metric == "log loss"
    assert found.winner == "sure"
    sure = found.result("sure")
    assert sure.calibration is not None
    assert sure.calibration.log_loss_before > 1.0
    assert found.held_out_losses["log loss"] < 0.6  # of the calibrated model
    assert isinstance(model, CalibratedClassifier)
    truth = found.classes.index(1)
    p = model.predict_proba(X)[:, truth]
    assert p.min() > 0.001


@pytest.mark.parametrize("estimator", [DecisionTreeClassifier(), RandomForestClassifier(50)], ids=["tree", "forest"])
def test_few_rows_without_an_error_give_no_certainty(estimator: Any):
    """Uncalibrated, the log-loss is 0 out of fold and on held-out rows, and 1.78 (tree) or 1.17 on new rows."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = (2.0 * y - 1.0 + rng.uniform(-0.5, 0.5, 40))[:, np.newaxis]
    found, model = compare(X, y, methods={"sure": estimator})
    assert found.results[0].metric_losses["error"].max() == 0.0
    assert found.results[0].calibration is not None
    truth = np.arange(2000) % 2
    new = (2.0 * truth - 1.0 + rng.normal(0.0, 0.6, 2000))[:, np.newaxis]  # the classes overlap by 5 %
    p = model.predict_proba(new)
    assert 1.0 / 200.0 < p.min()
    assert log_loss(truth, p) < 0.3
    assert 0.02 < found.held_out_losses["log loss"]  # the rule of succession for an error in 32 rows


def test_probabilities_that_the_rows_support_are_left_alone():
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (900, 1))
    y = (rng.random(900) < 0.5 + 0.3 * X[:, 0]).astype(int)
    found, model = compare(X, y, methods={"linear": LogisticRegression()}, cv=3)
    assert found.result("linear").calibration is None
    assert isinstance(model, LogisticRegression)


def test_probabilities_of_zero_do_not_cost_36():
    X, y = noisy()
    found, _ = compare(X, y, methods={"full tree": DecisionTreeClassifier()}, cv=3)
    assert found.result("full tree").losses.max() < 1.0
    assert found.held_out_losses["log loss"] < 1.0


@pytest.mark.slow
def test_a_method_that_is_no_better_than_the_constant_is_flagged():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(300, 3)), rng.integers(0, 2, 300)
    found, _ = compare(X, y, methods=["pruned tree", "random forest"], cv=3)
    assert [result.beats_constant for result in found.results] == [False, False]
    good, _ = compare(X, (X[:, 0] > 0).astype(int), methods=["pruned tree"], cv=3)
    assert good.results[0].beats_constant is True
    numbers, _ = compare(X, rng.normal(size=300), methods=["random forest"], cv=3)
    assert numbers.results[0].beats_constant is False
    by_auc, _ = compare(X, y, methods=["pruned tree"], metric="roc_auc", cv=3)
    assert by_auc.results[0].beats_constant is False


@pytest.mark.parametrize(
    ("name", "task", "loss"),
    [
        ("auto", "classification", "log loss"),
        ("accuracy", "classification", "error"),
        ("neg_log_loss", "classification", "log loss"),
        ("roc_auc", "classification", "1 - auc"),
        ("AUC", "classification", "1 - auc"),
        ("f1", "classification", "1 - f1"),
        ("f1_macro", "classification", "1 - f1 macro"),
        ("Balanced-Accuracy", "classification", "balanced error"),
        ("average_precision", "classification", "1 - average precision"),
        ("mcc", "classification", "1 - mcc"),
        ("brier", "classification", "brier score"),
        ("1 - auc", "classification", "1 - auc"),
        ("r2", "regression", "1 - r2"),
        ("neg_root_mean_squared_error", "regression", "rmse"),
        ("neg_mean_absolute_error", "regression", "mae"),
    ],
)
def test_metrics_are_known_by_their_usual_names(name: str, task: Any, loss: str):
    assert find_metric(name, task) == loss


@pytest.mark.parametrize("metric", ["f1", "f1_macro", "f1_weighted", "mcc", "average_precision", "roc_auc"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_metrics_are_those_of_scikit_learn(metric: str, n_classes: int):
    from sklearn import metrics

    rng = np.random.default_rng(0)
    p, truth = rng.dirichlet(np.ones(n_classes), 200), rng.integers(0, n_classes, 200)
    weight, labels = rng.random(200), p.argmax(axis=1)
    found = 1.0 - loss_of(find_metric(metric, "classification"), truth, Predictions(labels, p, True), weight)
    average = "binary" if metric == "f1" and n_classes == 2 else metric.partition("_")[2] or "macro"
    one_hot = truth == 1 if n_classes == 2 else np.eye(n_classes)[truth]
    scores = p[:, 1] if n_classes == 2 else p
    expected = {
        "mcc": lambda: metrics.matthews_corrcoef(truth, labels, sample_weight=weight),
        "average_precision": lambda: metrics.average_precision_score(one_hot, scores, sample_weight=weight),
        "roc_auc": lambda: metrics.roc_auc_score(one_hot, scores, sample_weight=weight),
    }.get(metric, lambda: metrics.f1_score(truth, labels, average=average, sample_weight=weight))()
    assert found == pytest.approx(expected)
