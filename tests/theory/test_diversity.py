"""Measures of diversity: by hand, by scikit-learn's kappa, and the ambiguity identity."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from committee.theory.diversity import (
    accurate_and_diverse,
    accurate_and_diverse_regression,
    ambiguity,
    error_correlation,
    pairwise_diversity,
)

RNG = np.random.default_rng(0)
Y = RNG.integers(0, 3, 400)
CODES = np.where(RNG.uniform(size=(5, 400)) < 0.7, Y, RNG.integers(0, 3, (5, 400)))


@pytest.mark.parametrize("has_holes", [False, True])
def test_pairwise_measures_as_the_textbook_counts(has_holes: bool) -> None:
    codes = np.where(RNG.uniform(size=CODES.shape) < 0.3, -1, CODES) if has_holes else CODES
    result = pairwise_diversity(codes, Y)
    for i, j in combinations(range(5), 2):
        both = (codes[i] >= 0) & (codes[j] >= 0)
        a, b, y = codes[i, both], codes[j, both], Y[both]
        n11, n00 = np.sum((a == y) & (b == y)), np.sum((a != y) & (b != y))
        n10, n01 = np.sum((a == y) & (b != y)), np.sum((a != y) & (b == y))
        assert result.n_rows[i, j] == both.sum()
        assert result.disagreement[i, j] == pytest.approx(np.mean(a != b))
        assert result.double_fault[i, j] == pytest.approx(n00 / both.sum())
        assert result.q[i, j] == pytest.approx((n11 * n00 - n01 * n10) / (n11 * n00 + n01 * n10))
        assert result.correlation[i, j] == pytest.approx(np.corrcoef(a == y, b == y)[0, 1])
        assert result.kappa[i, j] == pytest.approx(cohen_kappa_score(a, b))
        assert result.pair_errors[i, j] == pytest.approx((np.mean(a != y) + np.mean(b != y)) / 2)
    np.testing.assert_allclose(result.errors, [np.mean((row != Y)[row >= 0]) for row in codes])
    for name in ("disagreement", "q", "correlation", "kappa", "double_fault", "nearness"):
        values = getattr(result, name)
        np.testing.assert_allclose(values, values.T)
        assert np.isnan(np.diag(values)).all()
        assert result.mean(name) == pytest.approx(np.mean([values[i, j] for i, j in combinations(range(5), 2)]))


def test_the_same_and_independent_errors() -> None:
    same = pairwise_diversity(np.tile(CODES[0], (3, 1)), Y)
    for name, value in (("kappa", 1.0), ("q", 1.0), ("correlation", 1.0), ("nearness", 1.0), ("disagreement", 0.0)):
        assert same.mean(name) == pytest.approx(value)
    nested = np.array([np.where(np.arange(400) < 40, (Y + 1) % 3, Y), np.where(np.arange(400) < 100, (Y + 1) % 3, Y)])
    result = pairwise_diversity(nested, Y)
    assert result.nearness[0, 1] == pytest.approx(1.0)  # all errors of the better member are shared
    assert result.correlation[0, 1] < 1.0
    assert abs(pairwise_diversity(CODES, Y).mean("correlation")) < 0.1
    perfect = pairwise_diversity(np.array([Y, Y]), Y)
    assert np.isnan(perfect.q[0, 1])
    assert np.isnan(perfect.mean("correlation"))
    assert perfect.mean("disagreement") == 0.0


@pytest.mark.parametrize("shape", [(6, 200), (6, 200, 3)])
@pytest.mark.parametrize("has_holes", [False, True])
def test_b5_squared_error_of_the_mean_is_mean_squared_error_less_ambiguity(
    shape: tuple[int, ...], has_holes: bool
) -> None:
    predictions, truth = 10 * RNG.normal(size=shape), 10 * RNG.normal(size=shape[1:])
    if has_holes:
        predictions[RNG.uniform(size=shape[:2]) < 0.3] = np.nan
    for weight in (None, RNG.uniform(size=6)):
        result = ambiguity(predictions, truth, weight)
        assert result.error == pytest.approx(result.member_error - result.ambiguity, rel=1e-9)
        assert result.by_row.mean() == pytest.approx(result.ambiguity)
        if not has_holes:
            mean = np.average(predictions, axis=0, weights=weight)
            assert result.error == pytest.approx(np.mean(np.sum(((mean - truth) ** 2).reshape(200, -1), axis=1)))
            assert result.gain == pytest.approx(1 - result.error / result.member_error)


def test_s3_conditions_for_classes() -> None:
    y = RNG.integers(0, 2, 2000)
    good = np.where(RNG.uniform(size=(15, 2000)) < 0.7, y, 1 - y)
    vote = (good.mean(axis=0) > 0.5).astype(int)
    result = accurate_and_diverse(good, y, vote, 2)
    assert result.holds
    assert result.n_surely_accurate == 15
    assert result.ensemble_error < result.best_error < result.member_error
    assert "accurate: yes. 15 of 15 members err less than a random class (0.5), 15 of them surely" in result.words
    same = accurate_and_diverse(np.tile(good[0], (4, 1)), y, good[0], 2)
    assert same.is_accurate
    assert not same.is_diverse
    assert "diverse: no" in same.words
    assert "no less than a member on average" in same.words
    blind = accurate_and_diverse(np.vstack([good, 1 - good[0]]), y, vote, 2)
    assert not blind.is_accurate
    assert blind.n_accurate == 15
    perfect = accurate_and_diverse(np.array([y, y]), y, y, 2)
    assert perfect.is_accurate
    assert not perfect.is_diverse  # nothing differs


def test_correlation_of_errors_of_numbers() -> None:
    y = RNG.normal(size=300)
    predictions = y + RNG.normal(size=300) + RNG.normal(size=(4, 300))
    np.testing.assert_allclose(
        error_correlation(predictions, y)[~np.eye(4, dtype=bool)], np.corrcoef(predictions - y)[~np.eye(4, dtype=bool)]
    )
    predictions[0, :100] = np.nan
    result = error_correlation(predictions, y)
    assert result[0, 2] == pytest.approx(np.corrcoef((predictions - y)[:, 100:])[0, 2])
    assert result[1, 2] == pytest.approx(np.corrcoef(predictions[1:3] - y)[0, 1])
    with pytest.raises(ValueError, match="got the shapes"):
        error_correlation(predictions, y[1:])


def test_s3_conditions_for_numbers() -> None:
    y = RNG.normal(size=500)
    members = y + 0.5 * RNG.normal(size=(10, 500))
    result = accurate_and_diverse_regression(members, y, members.mean(axis=0))
    assert result.holds
    assert result.ensemble_error == pytest.approx(result.member_error * result.nearness)
    assert "less than a member on average" in result.words
    same = accurate_and_diverse_regression(np.tile(members[0], (3, 1)), y, members[0])
    assert same.is_accurate
    assert not same.is_diverse
    assert not accurate_and_diverse_regression(members + 5.0, y, members.mean(axis=0)).is_accurate


@pytest.mark.parametrize(
    ("codes", "y", "text"),
    [
        (CODES[0], Y, r"\[members, n\]"),
        (CODES, Y[1:], r"\[members, n\]"),
        (CODES.astype(float), Y, "class codes"),
        (CODES - 2, Y, "class codes"),
        (np.full((2, 400), -1), Y, "no prediction"),
    ],
)
def test_bad_codes_are_rejected(codes: np.ndarray, y: np.ndarray, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        pairwise_diversity(codes, y)


def test_bad_predictions_are_rejected() -> None:
    with pytest.raises(ValueError, match="truth like a member's"):
        ambiguity(np.ones((2, 3)), np.ones(4))
