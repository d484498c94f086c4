"""The reasons for ensembles: known errors, seeds, and claims that a few repeats can show."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from committee import DecisionTreeClassifier, DecisionTreeRegressor
from committee.datasets import load_dataset
from committee_reproductions import CrossValidation
from committee_reproductions.dietterich_2000 import (
    SelectOrCombine,
    StatisticalReason,
    computational_reason,
    draw_selection,
    draw_square,
    draw_statistical,
    draw_sums,
    representational_reason,
    select_or_combine,
    statistical_reason,
)


def test_the_vote_of_hypotheses_that_fit_errs_less_and_the_gain_vanishes() -> None:
    result = statistical_reason(sizes=(5, 40), n_repeats=20, n_draws=10_000, n_test=1000)
    first, last = result.gain(0), result.gain(1)
    assert first.value > 3.0 * first.stderr
    assert 0.0 < last.value < 0.5 * first.value
    assert result.n_hypotheses.min() >= 1
    assert result.n_hypotheses[:, 0].mean() > 10 * result.n_hypotheses[:, 1].mean()  # fewer fit more rows
    assert result.beaten.mean() > 0.5
    np.testing.assert_array_equal(result.history.n_rows, [5, 40])
    np.testing.assert_allclose(result.history.one, result.one_errors.mean(axis=0))
    few = [statistical_reason(sizes=(5,), n_repeats=2, n_draws=500, n_test=50, random_state=k) for k in (0, 0, 1)]
    np.testing.assert_array_equal(few[0].vote_errors, few[1].vote_errors)
    assert np.any(few[0].one_errors != few[2].one_errors)
    assert "the gain decreases from" in result.verdict
    with pytest.raises(ValueError, match="two repeats"):
        statistical_reason(n_repeats=1)


def test_one_hypothesis_errs_by_its_angle() -> None:
    """In the plane, after no informative row: all directions of the half circle fit one row, mean error 1/4 or more."""
    result = statistical_reason(sizes=(1,), n_features=2, n_repeats=30, n_draws=4000, n_test=200)
    # E over rows: hypotheses even over the half circle that the truth is in too: mean |angle| / pi = 1/3
    mean = result.one_errors[:, 0]
    assert abs(mean.mean() - 1 / 3) < 4 * mean.std(ddof=1) / np.sqrt(30)


def test_sums_of_stumps_leave_their_class() -> None:
    result = representational_reason(n_rows=600, n_estimators=60, n_test=4096, n_grid=21, shown=(1, 60, 500))
    assert result.stump_error >= result.limit == 0.25
    assert result.errors[0] == pytest.approx(result.stump_error, abs=0.01)  # the first member is that stump
    assert result.errors[-1] < 0.05
    assert sorted(result.grids) == [1, 60]
    one = result.grids[1]
    assert (one == one[0]).all() or (one.T == one.T[0]).all()  # a stump cuts along one axis
    truth = np.sign(result.axis[:, None] + result.axis[None, :])
    assert np.mean(result.grids[60] != truth) < 0.1
    assert "they have left the class" in result.verdict


def test_restarts_end_in_different_places() -> None:
    sonar = load_dataset("sonar")
    result = computational_reason(sonar.X, sonar.y, n_restarts=8, cv=CrossValidation(3))
    assert result.train_errors.shape == result.one_errors.shape == (3, 8)
    assert result.train_errors.std(axis=1).max() > 0.0
    best = result.train_errors.argmin(axis=1)
    np.testing.assert_allclose(result.best_errors, result.one_errors[np.arange(3), best])
    assert "the vote of all" in result.verdict


def test_select_or_combine_is_what_the_stacks_say() -> None:
    sonar = load_dataset("sonar")
    members = [("tree", DecisionTreeClassifier(max_depth=3)), ("bayes", GaussianNB()), ("near", KNeighborsClassifier())]
    result = select_or_combine(sonar.X, sonar.y, members, n_inner_folds=3, cv=CrossValidation(3, 2))
    assert result.task == "classification"
    assert result.member_errors.shape == result.weights.shape == (3, 6)
    np.testing.assert_allclose(result.weights.sum(axis=0), 1.0)
    rows = [result.names.index(name) for name in result.chosen]
    np.testing.assert_array_equal(result.errors["selected"], result.member_errors[rows, np.arange(6)])
    assert set(result.errors) == {"selected", "vote", "mean", "simplex"}
    assert result.gain("mean").value == pytest.approx(result.error("selected").value - result.error("mean").value)
    assert result.error("tree").value == pytest.approx(result.member_errors[0].mean())
    assert result.verdict.count("±") == 3
    again = select_or_combine(sonar.X, sonar.y, members, n_inner_folds=3, cv=CrossValidation(3, 2))
    np.testing.assert_array_equal(again.errors["simplex"], result.errors["simplex"])


def test_select_or_combine_for_regression() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    y = X[:, 0] + np.sin(2 * X[:, 1]) + 0.3 * rng.normal(size=150)
    members = [("tree", DecisionTreeRegressor(max_depth=4)), ("line", Ridge())]
    result = select_or_combine(X, y, members, cv=CrossValidation(4))
    assert result.task == "regression"
    assert set(result.errors) == {"selected", "mean", "simplex"}
    gain = result.gain("simplex")
    assert gain.value > 0.0  # a line and steps together say more than either
    assert result.error("mean").value < result.error("selected").value


def test_the_verdict_follows_the_errors() -> None:
    same = np.full(10, 0.2) + 0.001 * np.arange(10)
    study = SelectOrCombine("classification", ("a", "b"), np.array([same, same]),
                            {"selected": same, "vote": same - 0.1, "mean": same, "simplex": same}, ("a",) * 10,
                            np.full((2, 10), 0.5), 2)  # fmt: skip
    assert study.verdict.startswith("combining is better")
    assert "selected were a (10)" in study.verdict
    worse = study._replace(errors={"selected": same, "mean": same + 0.1})
    assert worse.verdict.startswith("selecting is better")
    unsure = study._replace(errors={"selected": same, "mean": same[::-1]})
    assert unsure.verdict.startswith("no significant difference")


def test_pictures_of_the_reasons() -> None:
    import matplotlib.pyplot as plt

    rng = np.random.default_rng(0)
    one = 0.3 / np.array([1, 2, 4]) + 0.01 * rng.uniform(size=(6, 3))
    measured = StatisticalReason(np.array([5, 10, 20]), one, 0.7 * one, one, one)
    _, (left, middle, right) = plt.subplots(1, 3)
    draw_statistical(left, measured)
    np.testing.assert_allclose(left.get_lines()[1].get_ydata(), measured.vote_errors.mean(axis=0))
    assert [text.get_text() for text in left.get_xticklabels()] == ["5", "10", "20"]
    corners = left.collections[0].get_paths()[0].vertices
    at_five = corners[corners[:, 0] == 5, 1]
    assert at_five.max() - at_five.min() == pytest.approx(2 * one[:, 0].std(ddof=1) / np.sqrt(6))
    sums = representational_reason(n_rows=200, n_estimators=12, n_test=512, n_grid=11, shown=(1, 12))
    draw_square(middle, sums, 12)
    np.testing.assert_array_equal(middle.get_images()[0].get_array(), sums.grids[12])
    draw_sums(right, sums)
    np.testing.assert_array_equal(right.get_lines()[0].get_ydata(), sums.errors)


def test_picture_of_selecting_against_combining() -> None:
    import matplotlib.pyplot as plt

    errors = np.linspace(0.1, 0.2, 10)
    measured = SelectOrCombine("regression", ("a", "b"), np.array([errors, errors + 0.1]),
                               {"selected": errors, "mean": errors - 0.02, "simplex": errors}, ("a",) * 10,
                               np.full((2, 10), 0.5), 2)  # fmt: skip
    ax = plt.subplots()[1]
    draw_selection(ax, measured)
    assert ax.containers[3].lines[0].get_xdata()[0] == pytest.approx(measured.error("mean").value)
    labels = [text.get_text() for text in ax.get_yticklabels()]
    assert labels == ["a", "b", "selected one", "mean of all", "weighted mean"]
