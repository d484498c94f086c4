"""LPBoost: the value against a direct linear programme over all stumps, duality, and the contract."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier as SklearnTree
from sklearn.utils.estimator_checks import check_estimator

from committee import AdaBoostClassifier, DecisionTreeClassifier
from committee.boosting._weak_learners import TrainingRows
from committee.boosting.lpboost import LPBoostClassifier, lpboost, merge_equal_rows, smallest_nu, solve_master
from committee.datasets import load_dataset
from committee.members.member import EstimatorMember, WeakHypothesis
from committee.tabular.schema import fit_encode, open_table

Data = tuple[NDArray[np.float64], NDArray[np.int64]]


def sonar() -> Data:
    sample = load_dataset("sonar")
    return sample.X[::3, :20], np.where(sample.y == "M", 1, -1)[::3]


def ionosphere() -> Data:
    sample = load_dataset("ionosphere")
    return sample.X[::6], np.where(sample.y == "good", 1, -1)[::6]


def noise() -> Data:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 8))
    return X, np.where(X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=40) > 0, 1, -1)


def missing() -> Data:
    rng = np.random.default_rng(5)
    X = np.round(rng.normal(size=(50, 9)), 1)
    y = np.where(X[:, 0] + X[:, 1] > 0.2, 1, -1)
    X[rng.random(X.shape) < 0.15] = np.nan
    return X, y


DATA = {make.__name__: make for make in (sonar, ionosphere, noise, missing)}
every_data = pytest.mark.parametrize("name", DATA)


def all_stump_predictions(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Every stump, naively: missing values on either side, both polarities, the constants."""
    columns = [np.ones(len(X))]
    for x in X.T:
        for cut in np.unique(x[~np.isnan(x)]):
            for missing_left in (True, False):
                left = np.where(np.isnan(x), missing_left, x <= cut)
                columns.append(np.where(left, 1.0, -1.0))
    predictions = np.unique(np.column_stack(columns), axis=1)
    return np.column_stack([predictions, -predictions])


def direct_value(u: NDArray[np.float64], price: NDArray[np.float64] | None) -> float:
    """max rho - price xi over votes of all columns: the primal, as the paper writes it."""
    n, m = u.shape
    below = np.column_stack([-u, np.ones(n)])
    cost = np.append(np.zeros(m), -1.0)
    bounds: list[tuple[float | None, float | None]] = [(0.0, None)] * m + [(None, None)]
    if price is not None:
        below = np.column_stack([below, -np.eye(n)])
        cost, bounds = np.append(cost, price), bounds + [(0.0, None)] * n
    equal = np.append(np.ones(m), np.zeros(cost.size - m))[np.newaxis]
    result = linprog(cost, below, np.zeros(n), equal, [1.0], bounds)
    assert result.status == 0
    return -float(result.fun)


@every_data
def test_hard_margin_value_is_the_optimum_over_all_stumps(name: str) -> None:
    """To 1e-6, and the vote has that margin on every row."""
    X, y = DATA[name]()
    model = LPBoostClassifier(nu=None, n_estimators=400).fit(X, y)
    value = direct_value(all_stump_predictions(X) * y[:, None], None)
    assert value > 0.01
    assert model.history_.value[-1] == pytest.approx(value, abs=1e-6)
    assert model.margins(X, y).min() == pytest.approx(value, abs=1e-6)
    assert model.history_.gap[-1] <= model.tol
    assert model.history_.train_error[-1] == 0.0
    assert "optimum" in model.stop_reason_


@every_data
@pytest.mark.parametrize("nu", [0.2, 0.5, 1.0])
def test_soft_margin_value_is_the_optimum_over_all_stumps(name: str, nu: float) -> None:
    X, y = DATA[name]()
    model = LPBoostClassifier(nu=nu, n_estimators=400).fit(X, y)
    value = direct_value(all_stump_predictions(X) * y[:, None], np.full(len(y), 1.0 / (nu * len(y))))
    assert model.history_.value[-1] == pytest.approx(value, abs=1e-6)


def test_soft_margin_with_weights_is_the_optimum_of_the_repeated_rows() -> None:
    X, y = missing()
    count = np.random.default_rng(0).integers(0, 4, len(y))
    model = LPBoostClassifier(nu=0.4, n_estimators=400).fit(X, y, sample_weight=count)
    again, labels = np.repeat(X, count, axis=0), np.repeat(y, count)
    value = direct_value(
        all_stump_predictions(again) * labels[:, None], np.full(len(labels), 1.0 / (0.4 * len(labels)))
    )
    assert model.history_.value[-1] == pytest.approx(value, abs=1e-6)


@every_data
@pytest.mark.parametrize("nu", [None, 0.3])
def test_weights_mean_repetition(name: str, nu: float | None) -> None:
    X, y = DATA[name]()
    count = np.random.default_rng(1).integers(0, 4, len(y))
    weighted = LPBoostClassifier(nu=nu).fit(X, y, sample_weight=count)
    order = np.random.default_rng(2).permutation(np.repeat(np.arange(len(y)), count))
    repeated = LPBoostClassifier(nu=nu).fit(X[order], y[order])
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-9)
    np.testing.assert_allclose(weighted.history_.value, repeated.history_.value, atol=1e-9)


@every_data
@pytest.mark.parametrize("nu", [None, 0.3])
def test_the_primal_pays_what_the_dual_says(name: str, nu: float | None) -> None:
    """value = rho - sum c xi for the kept vote; active members have the edge `value` under the dual weights."""
    X, y = DATA[name]()
    model = LPBoostClassifier(nu=nu, n_estimators=400).fit(X, y)
    value, rho = model.history_.value[-1], model.history_.rho[-1]
    slack = np.maximum(rho - model.margins(X, y), 0.0)
    price = 0.0 if nu is None else 1.0 / (nu * len(y))
    assert rho - price * slack.sum() == pytest.approx(value, abs=1e-8)
    np.testing.assert_allclose(model.edges(X, y), value, atol=1e-7)
    assert model.sample_weights_.sum() == pytest.approx(1.0, abs=1e-9)
    if nu is None:
        assert slack.max() < 1e-8
    else:
        assert model.sample_weights_.max() <= price + 1e-9
        assert np.mean(slack > 1e-8) <= nu


@every_data
def test_history_encloses_the_optimum_every_round(name: str) -> None:
    X, y = DATA[name]()
    model = LPBoostClassifier(nu=0.2, n_estimators=400).fit(X, y)
    h = model.history_
    best = h.value[-1]
    assert np.all(np.diff(h.value) >= -1e-9)
    assert np.all(h.value <= best + 1e-9)
    assert np.all(h.edge >= best - 1e-9)
    np.testing.assert_allclose(h.gap, h.edge - h.value)
    np.testing.assert_allclose(h.error, (1.0 - h.edge) / 2.0)
    assert h.round.tolist() == list(range(1, h.n_rounds + 1))
    assert h.n_active[-1] == len(model.members_) < h.n_rounds
    assert np.isnan(h.validation_error).all()


def test_members_without_a_part_in_the_vote_are_dropped() -> None:
    X, y = sonar()
    model = LPBoostClassifier(nu=None).fit(X, y)
    assert np.all(model.estimator_weights_ > 0.0)
    assert model.estimator_weights_.sum() == pytest.approx(1.0)
    assert len(model.estimators_) == len(model.estimator_weights_) == len(model.estimator_errors_)
    votes = np.array([member.predict(X) for member in model.estimators_])
    np.testing.assert_allclose(model.estimator_weights_ @ votes, model.decision_function(X), atol=1e-12)


def test_n_estimators_bounds_the_columns() -> None:
    X, y = sonar()
    with pytest.warns(ConvergenceWarning, match="no margin"):
        model = LPBoostClassifier(nu=None, n_estimators=7).fit(X, y)
    assert model.history_.n_rounds == 7
    assert len(model.members_) <= 7
    assert model.history_.gap[-1] > model.tol
    assert model.stop_reason_ == "all hypotheses were generated"


def test_staged_predictions_are_those_of_the_rounds() -> None:
    X, y = sonar()
    model = LPBoostClassifier(nu=0.2, n_estimators=30).fit(X, y)
    h = model.history_
    errors = [float(np.mean(labels != y)) for labels in model.staged_predict(X)]
    np.testing.assert_allclose(errors, h.train_error)
    smallest = [margins.min() for margins in model.staged_margins(X, y)]
    np.testing.assert_allclose(smallest, h.min_margin, atol=1e-12)
    *_, last = model.staged_decision_function(X)
    np.testing.assert_allclose(last, model.decision_function(X), atol=1e-12)


@pytest.mark.parametrize("nu", [None, 0.2])
def test_warm_start_goes_on_where_it_stopped(nu: float | None) -> None:
    X, y = sonar()
    parts = LPBoostClassifier(nu=nu, n_estimators=60, warm_start=True).fit(X, y)
    assert parts.history_.gap[-1] > parts.tol
    parts.set_params(n_estimators=400).fit(X, y)
    whole = LPBoostClassifier(nu=nu, n_estimators=400).fit(X, y)
    np.testing.assert_array_equal(parts.history_.value, whole.history_.value)
    np.testing.assert_array_equal(parts.estimator_weights_, whole.estimator_weights_)
    n_rounds = parts.history_.n_rounds
    assert parts.fit(X, y).history_.n_rounds == n_rounds  # the optimum is there already
    with pytest.raises(ValueError, match="must be larger or equal"):
        parts.set_params(n_estimators=3).fit(X, y)
    with pytest.raises(ValueError, match="training rows"):
        parts.set_params(n_estimators=500).fit(X[:-1], y[:-1])
    np.testing.assert_array_equal(
        parts.decision_function(X), whole.decision_function(X)
    )  # a refused fit changes nothing


def test_a_warm_start_rejects_a_table_and_classes_of_the_same_size() -> None:
    X, y = sonar()
    model = LPBoostClassifier(nu=0.5, n_estimators=10, warm_start=True).fit(X, y)
    rng = np.random.default_rng(0)
    for table, classes in ((rng.normal(size=X.shape), rng.permutation(y)), (X, rng.permutation(y)), (X + 1.0, y)):
        with pytest.raises(ValueError, match="X, y or sample_weight changed"):
            model.set_params(n_estimators=20).fit(table, classes)


def test_a_closer_tolerance_goes_on_from_a_finished_fit() -> None:
    X, y = sonar()
    parts = LPBoostClassifier(nu=None, n_estimators=400, tol=0.05, warm_start=True).fit(X, y)
    n_first = parts.history_.n_rounds
    parts.set_params(tol=1e-6).fit(X, y)
    whole = LPBoostClassifier(nu=None, n_estimators=400).fit(X, y)
    assert n_first < parts.history_.n_rounds
    np.testing.assert_array_equal(parts.history_.value, whole.history_.value)


def test_validation_keeps_the_best_round() -> None:
    X, y = sonar()
    odd = np.arange(len(y)) % 2 == 1
    model = LPBoostClassifier(nu=0.1, early_stopping="validation", n_iter_no_change=5)
    model.fit(X[~odd], y[~odd], X_val=X[odd], y_val=y[odd])
    errors = model.history_.validation_error
    assert model.score(X[odd], y[odd]) == pytest.approx(1.0 - errors.min())
    assert errors.size - 1 - int(errors.argmin()) <= 5
    assert len(list(model.staged_predict(X))) == int(errors.argmin()) + 1


def test_evaluated_without_early_stopping_keeps_the_last_round() -> None:
    X, y = sonar()
    odd = np.arange(len(y)) % 2 == 1
    model = LPBoostClassifier(nu=0.1).fit(X[~odd], y[~odd], X_val=X[odd], y_val=y[odd])
    assert model.history_.validation_error[-1] == pytest.approx(1.0 - model.score(X[odd], y[odd]))
    assert "optimum" in model.stop_reason_


def test_a_learner_that_repeats_itself_ends_the_run() -> None:
    """With answers that are never the best, a second sight of a column must end the run."""
    y = np.array([1, 1, -1, -1], np.int8)
    predictions = [np.array([1, 1, 1, -1], np.int8), np.array([1, 1, 1, -1], np.int8)]
    turns = iter(predictions)

    def learn(weight: NDArray[np.float64], seed: int) -> WeakHypothesis:
        return WeakHypothesis(EstimatorMember(None, np.array([0, 1])), next(turns))

    seen = list(lpboost(learn, y, np.full(4, 0.25), [], range(9), nu=0.5, tol=-np.inf))
    assert len(seen) == 2
    assert seen[1].member is None
    assert "earlier hypothesis" in seen[1].stop


def test_a_perfect_hypothesis_is_the_whole_vote() -> None:
    X = np.arange(10.0)[:, None]
    y = (X[:, 0] > 4).astype(int)
    model = LPBoostClassifier(nu=None).fit(X, y)
    assert model.estimator_weights_.tolist() == [1.0]
    assert model.history_.value.tolist() == [1.0]
    assert model.history_.gap[-1] == 0.0


def test_no_margin_is_said() -> None:
    """XOR: no vote of stumps separates it, the value is 0."""
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    y = np.array([0, 1, 1, 0])
    with pytest.warns(ConvergenceWarning, match="no margin between the classes.*No nu"):
        model = LPBoostClassifier(nu=None).fit(X, y)
    assert model.history_.value[-1] == pytest.approx(0.0, abs=1e-9)
    trees = LPBoostClassifier(DecisionTreeClassifier(max_depth=2), nu=None).fit(X, y)
    assert trees.score(X, y) == 1.0


def test_trees_have_a_larger_margin_than_stumps() -> None:
    X, y = sonar()
    stumps = LPBoostClassifier(nu=None).fit(X, y).history_.value[-1]
    trees = LPBoostClassifier(DecisionTreeClassifier(max_depth=2), nu=None, n_estimators=60).fit(X, y)
    assert trees.history_.value[-1] > stumps


@pytest.mark.parametrize(
    "learner",
    [
        GaussianNB(),
        LogisticRegression(),
        SVC(),
        SklearnTree(max_depth=2),
        KNeighborsClassifier(),
        Perceptron(),
    ],
    ids=repr,
)
def test_foreign_weak_learners(learner: Any) -> None:
    """The weights of the dual are zero on many rows, at times on a whole class."""
    X, y = noise()
    model = LPBoostClassifier(learner, nu=0.2, n_estimators=25, random_state=0).fit(X, y)
    alone = model.history_.value[0]
    assert model.history_.value[-1] >= alone
    assert model.score(X, y) >= 0.85
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_rows_alike_are_one_row_of_the_programme() -> None:
    X = np.array([[np.nan, 1.0], [2.0, 1.0], [np.nan, 1.0], [0.0, 1.0], [np.nan, 1.0]])
    codes = np.array([0, 1, 0, 1, 1])
    columns = fit_encode(open_table(X, None), "from_dtype", None)[0]
    rows, place = merge_equal_rows(TrainingRows(columns, X, codes, np.array([0, 1]), np.ones(5)))
    np.testing.assert_array_equal(rows.X[place], X)
    np.testing.assert_array_equal(rows.codes[place], codes)
    np.testing.assert_allclose(rows.weight[place], [0.4, 0.2, 0.4, 0.2, 0.2])
    assert len(rows.codes) == 4


def test_master_of_the_majority_of_three() -> None:
    """Three hypotheses, each wrong on one row of three: equal votes, margin 1/3; with weights <= 1/2 just the same."""
    u = np.array([[1.0, 1.0, -1.0], [1.0, -1.0, 1.0], [-1.0, 1.0, 1.0]])
    for cap in (None, np.full(3, 0.5)):
        master = solve_master(u, cap)
        assert master.value == pytest.approx(1 / 3)
        np.testing.assert_allclose(master.coefficients, 1 / 3)
        np.testing.assert_allclose(master.weight, 1 / 3)


# --- nu="auto" -------------------------------------------------------------------------------------------------------


def flipped(n: int = 240, seed: int = 0) -> Data:
    """A fifth of the labels is wrong: nu = 0.1 leaves no margin."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    y = np.where(X[:, 0] + X[:, 1] + X[:, 2] > 0, 1, -1)
    return X, np.where(rng.random(n) < 0.2, -y, y)


@pytest.mark.parametrize("nu", [0.3, 0.41, 0.7, 1.0])
def test_one_hypothesis_and_its_negation_have_the_value_of_theory(nu: float) -> None:
    """max(0, 1 - 2 e / nu), so the smallest nu is 2 e."""
    u = np.where(np.arange(10) < 2, -1.0, 1.0)[:, None]
    both, start = np.column_stack([u, -u]), np.full(10, 0.1)
    assert solve_master(both, start / nu).value == pytest.approx(max(0.0, 1.0 - 0.4 / nu), abs=1e-9)
    assert smallest_nu(both, start) == pytest.approx(0.4)


def test_the_smallest_nu_is_the_smallest_hinge_loss_and_the_limit_of_a_positive_value() -> None:
    rng = np.random.default_rng(0)
    u = np.where(rng.random((60, 9)) < 0.6, 1.0, -1.0)
    start = rng.random(60)
    start /= start.sum()
    cost = np.append(np.zeros(9), start)
    hinge = linprog(cost, np.column_stack([-u, -np.eye(60)]), -np.ones(60))  # a, xi >= 0: xi >= 1 - u a
    limit = smallest_nu(u, start)
    assert limit == pytest.approx(hinge.fun, abs=1e-9)
    assert 0.0 < limit < 1.0
    assert solve_master(u, start / min(1.01 * limit, 1.0)).value > 0.0
    assert solve_master(u, start / (0.99 * limit)).value <= 1e-9


def test_auto_leaves_a_margin_on_noisy_rows_and_predicts_as_well_as_adaboost() -> None:
    X, y = flipped()
    X_test, y_test = flipped(2000, seed=1)
    model = LPBoostClassifier(n_estimators=40, random_state=0).fit(X, y)
    ada = AdaBoostClassifier(n_estimators=40).fit(X, y)
    assert model.history_.value[-1] > 0.01
    assert model.score(X_test, y_test) > ada.score(X_test, y_test) - 0.03
    with pytest.warns(ConvergenceWarning, match="no margin"):
        fixed = LPBoostClassifier(nu=0.1, n_estimators=40).fit(X, y)
    assert model.score(X_test, y_test) > fixed.score(X_test, y_test) + 0.03


def test_auto_reports_the_nu_it_found() -> None:
    X, y = flipped()
    model = LPBoostClassifier(n_estimators=40, random_state=0).fit(X, y)
    search = model.nu_search_
    assert search is not None
    at = search.nu.tolist().index(model.nu_)
    usable = search.value > model.tol
    least = search.error[usable].min()
    assert usable[at]
    assert search.error[at] <= least + search.standard_error[at] + 1e-9
    later = usable & (search.nu > model.nu_)
    assert np.all(search.error[later] > (least + search.standard_error)[later])
    assert search.nu[-1] == pytest.approx(2.0 * model.history_.error[0], abs=1e-4)
    given = LPBoostClassifier(nu=model.nu_, n_estimators=40, random_state=0).fit(X, y)
    assert (given.nu_, given.nu_search_) == (model.nu_, None)
    assert given.history_ == model.history_
    assert LPBoostClassifier(nu=None).fit(*sonar()).nu_ is None


def test_auto_goes_down_where_the_classes_are_clean() -> None:
    """An oblique boundary needs many stumps: at 2 e, what the first hypothesis alone needs, they are too few."""
    X = np.random.default_rng(0).normal(size=(400, 2))
    y = X[:, 0] + X[:, 1] > 0
    model = LPBoostClassifier(n_estimators=30, random_state=0).fit(X, y)
    assert model.nu_ < 1.3 * model.history_.error[0]
    sure = LPBoostClassifier(nu=2.2 * model.history_.error[0], n_estimators=30).fit(X, y)
    assert model.score(X, y) > sure.score(X, y) + 0.03


def test_auto_depends_on_the_seed_alone() -> None:
    X, y = flipped()
    models = [LPBoostClassifier(n_estimators=20, random_state=seed).fit(X, y) for seed in (3, 3, 4)]
    assert models[0].nu_ == models[1].nu_
    assert models[0].nu_search_ == models[1].nu_search_ != models[2].nu_search_
    np.testing.assert_array_equal(models[0].decision_function(X), models[1].decision_function(X))


@every_data
def test_weights_mean_repetition_to_auto(name: str) -> None:
    X, y = DATA[name]()
    count = np.random.default_rng(1).integers(0, 4, len(y))
    weighted = LPBoostClassifier(n_estimators=20, random_state=0).fit(X, y, sample_weight=count)
    order = np.random.default_rng(2).permutation(np.repeat(np.arange(len(y)), count))
    repeated = LPBoostClassifier(n_estimators=20, random_state=0).fit(X[order], y[order])
    assert weighted.nu_ == repeated.nu_
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-9)


def test_a_warm_start_keeps_the_nu_of_auto() -> None:
    X, y = flipped()
    model = LPBoostClassifier(n_estimators=10, warm_start=True, random_state=0).fit(X, y)
    nu, search = model.nu_, model.nu_search_
    model.set_params(n_estimators=25).fit(X, y)
    whole = LPBoostClassifier(nu=nu, n_estimators=25, random_state=0).fit(X, y)
    assert (model.nu_, model.nu_search_) == (nu, search)
    np.testing.assert_array_equal(model.history_.value, whole.history_.value)


def test_auto_takes_a_sure_nu_where_the_rounds_are_too_few() -> None:
    """Two hypotheses leave no margin at 2 e; at 1.1 times 2 e the first one alone has the value 1 - 1 / 1.1."""
    X, y = flipped()
    model = LPBoostClassifier(n_estimators=2, random_state=0).fit(X, y)
    assert model.nu_ == pytest.approx(2.2 * model.history_.error[0], abs=1e-4)
    assert model.history_.value[-1] == pytest.approx(1.0 - 1.0 / 1.1, abs=1e-3)


def test_auto_with_too_few_rows_to_search() -> None:
    X, y = np.arange(6.0)[:, None], np.array([0, 1, 0, 0, 0, 0])
    model = LPBoostClassifier().fit(X, y)
    assert model.nu_search_ is not None
    assert model.nu_search_.n_rounds == 0
    assert model.nu_ == pytest.approx(2.2 / 6, abs=1e-4)
    assert model.history_.value[-1] > 0.0


def test_auto_where_the_rows_of_the_search_hold_one_class() -> None:
    X = np.arange(3000.0)[:, None] % 1000
    model = LPBoostClassifier(n_estimators=5, random_state=0).fit(X, X[:, 0] == 500)
    assert model.nu_ == 0.01
    assert model.score(X, X[:, 0] == 500) > 0.99


def test_the_warning_states_the_smallest_nu_that_leaves_a_margin() -> None:
    """Of two columns, the second of which brings nothing, it is twice the error of the first."""
    X, y = flipped()
    with pytest.warns(ConvergenceWarning, match="for nu above") as seen:
        model = LPBoostClassifier(nu=0.1, n_estimators=2).fit(X, y)
    limit = float(str(seen[0].message).split("for nu above ")[1].split(":")[0])
    assert limit == pytest.approx(2.0 * model.history_.error[0], abs=1e-3)
    assert LPBoostClassifier(nu=limit + 0.01, n_estimators=2).fit(X, y).history_.value[-1] > 0.0


def test_three_classes_are_rejected() -> None:
    with pytest.raises(ValueError, match="Only binary classification"):
        LPBoostClassifier().fit(np.arange(6.0)[:, None], [0, 1, 2, 0, 1, 2])


@pytest.mark.parametrize(
    "wrong", [{"nu": 0.0}, {"nu": 1.5}, {"nu": "best"}, {"tol": -1.0}, {"early_stopping": "bound"}]
)
def test_parameters_are_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"The '{next(iter(wrong))}' parameter"):
        LPBoostClassifier(**wrong).fit(np.arange(4.0)[:, None], [0, 1, 0, 1])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", [LPBoostClassifier(), LPBoostClassifier(nu=None)], ids=repr)
def test_check_estimator(model: Any) -> None:
    check_estimator(model)
