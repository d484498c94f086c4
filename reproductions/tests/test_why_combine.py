"""The reasons for ensembles (B-8, B-7): known errors, seeds, and claims that a few repeats can show."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from committee import DecisionTreeClassifier, DecisionTreeRegressor
from committee.datasets import load_dataset
from committee_reproductions.why_combine import (
    SelectOrCombine,
    computational_reason,
    representational_reason,
    select_or_combine,
    statistical_reason,
)


def test_b8_the_vote_of_hypotheses_that_fit_errs_less_and_the_gain_goes_away() -> None:
    found = statistical_reason(sizes=(5, 40), n_repeats=20, n_draws=10_000, n_test=1000)
    first, last = found.gain(0), found.gain(1)
    assert first.value > 3.0 * first.stderr
    assert 0.0 < last.value < 0.5 * first.value
    assert found.n_hypotheses.min() >= 1
    assert found.n_hypotheses[:, 0].mean() > 10 * found.n_hypotheses[:, 1].mean()  # fewer fit more rows
    assert found.beaten.mean() > 0.5
    np.testing.assert_array_equal(found.history.n_rows, [5, 40])
    np.testing.assert_allclose(found.history.one, found.one_errors.mean(axis=0))
    few = [statistical_reason(sizes=(5,), n_repeats=2, n_draws=500, n_test=50, random_state=k) for k in (0, 0, 1)]
    np.testing.assert_array_equal(few[0].vote_errors, few[1].vote_errors)
    assert np.any(few[0].one_errors != few[2].one_errors)
    assert "the gain falls from" in found.verdict
    with pytest.raises(ValueError, match="two repeats"):
        statistical_reason(n_repeats=1)


def test_one_hypothesis_errs_by_its_angle() -> None:
    """In the plane, after no informative row: all directions of the half circle fit one row, mean error 1/4 or more."""
    found = statistical_reason(sizes=(1,), n_features=2, n_repeats=30, n_draws=4000, n_test=200)
    # E over rows: hypotheses even over the half circle that the truth is in too: mean |angle| / pi = 1/3
    mean = found.one_errors[:, 0]
    assert abs(mean.mean() - 1 / 3) < 4 * mean.std(ddof=1) / np.sqrt(30)


def test_b8_sums_of_stumps_leave_their_class() -> None:
    found = representational_reason(n_rows=600, n_estimators=60, n_test=4096, n_grid=21, shown=(1, 60, 500))
    assert found.stump_error >= found.limit == 0.25
    assert found.errors[0] == pytest.approx(found.stump_error, abs=0.01)  # the first member is that stump
    assert found.errors[-1] < 0.05
    assert sorted(found.grids) == [1, 60]
    one = found.grids[1]
    assert (one == one[0]).all() or (one.T == one.T[0]).all()  # a stump cuts along one axis
    truth = np.sign(found.axis[:, None] + found.axis[None, :])
    assert np.mean(found.grids[60] != truth) < 0.1
    assert "they have left the class" in found.verdict


def test_b7_restarts_end_in_different_places() -> None:
    sonar = load_dataset("sonar")
    found = computational_reason(sonar.X, sonar.y, n_restarts=8, n_folds=3)
    assert found.train_errors.shape == found.one_errors.shape == (3, 8)
    assert found.train_errors.std(axis=1).max() > 0.0
    best = found.train_errors.argmin(axis=1)
    np.testing.assert_allclose(found.best_errors, found.one_errors[np.arange(3), best])
    assert "the vote of all" in found.verdict


def test_select_or_combine_is_what_the_stacks_say() -> None:
    sonar = load_dataset("sonar")
    members = [("tree", DecisionTreeClassifier(max_depth=3)), ("bayes", GaussianNB()), ("near", KNeighborsClassifier())]
    found = select_or_combine(sonar.X, sonar.y, members, n_folds=3, n_repeats=2, cv=3)
    assert found.task == "classification"
    assert found.member_errors.shape == found.weights.shape == (3, 6)
    np.testing.assert_allclose(found.weights.sum(axis=0), 1.0)
    rows = [found.names.index(name) for name in found.chosen]
    np.testing.assert_array_equal(found.errors["selected"], found.member_errors[rows, np.arange(6)])
    assert set(found.errors) == {"selected", "vote", "mean", "simplex"}
    assert found.gain("mean").value == pytest.approx(found.error("selected").value - found.error("mean").value)
    assert found.error("tree").value == pytest.approx(found.member_errors[0].mean())
    assert found.verdict.count("±") == 3
    again = select_or_combine(sonar.X, sonar.y, members, n_folds=3, n_repeats=2, cv=3)
    np.testing.assert_array_equal(again.errors["simplex"], found.errors["simplex"])


def test_select_or_combine_numbers() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    y = X[:, 0] + np.sin(2 * X[:, 1]) + 0.3 * rng.normal(size=150)
    members = [("tree", DecisionTreeRegressor(max_depth=4)), ("line", Ridge())]
    found = select_or_combine(X, y, members, n_folds=4, n_repeats=1)
    assert found.task == "regression"
    assert set(found.errors) == {"selected", "mean", "simplex"}
    gain = found.gain("simplex")
    assert gain.value > 0.0  # a line and steps together say more than either
    assert found.error("mean").value < found.error("selected").value


def test_the_words_follow_the_figures() -> None:
    same = np.full(10, 0.2) + 0.001 * np.arange(10)
    study = SelectOrCombine("classification", ("a", "b"), np.array([same, same]),
                            {"selected": same, "vote": same - 0.1, "mean": same, "simplex": same}, ("a",) * 10,
                            np.full((2, 10), 0.5), 2)  # fmt: skip
    assert study.verdict.startswith("combining is better")
    assert "selected were a (10)" in study.verdict
    worse = study._replace(errors={"selected": same, "mean": same + 0.1})
    assert worse.verdict.startswith("selecting is better")
    unsure = study._replace(errors={"selected": same, "mean": same[::-1]})
    assert unsure.verdict.startswith("no sure difference")
