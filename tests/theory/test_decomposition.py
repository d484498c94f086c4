"""Bias, variance and noise: the sum is the error, the parts are those of the paper, standard errors hold."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from committee import BaggingRegressor
from committee.datasets import friedman1
from committee.theory.decomposition import PARTS, Part, decompose_squared_error, decompose_zero_one
from committee.theory.forests import variance_over_training_sets


def normal_predictions(rng: np.random.Generator, n_sets: int, n: int) -> tuple[NDArray[np.float64], ...]:
    """Answers around truth + offset: bias 0.25, variance x^2 of mean 1/3."""
    x = rng.random(n)
    return 3.0 * x + 0.5 + x * rng.standard_normal((n_sets, n)), 3.0 * x, x


@pytest.mark.parametrize("is_out_of_bag", [False, True])
def test_b2_squared_error_is_the_sum_of_its_parts(is_out_of_bag: bool):
    rng = np.random.default_rng(0)
    predictions, truth, _ = normal_predictions(rng, 30, 200)
    if is_out_of_bag:
        predictions[rng.random(predictions.shape) < 0.632] = np.nan
    noise = rng.random(200)
    result = decompose_squared_error(predictions, truth, noise)
    direct = np.nanmean((predictions - truth) ** 2, axis=0)[result.rows] + noise[result.rows]
    np.testing.assert_allclose(result.parts["error"].of_row, direct, rtol=1e-12)
    assert result.gap < 1e-12
    np.testing.assert_allclose(result.main, np.nanmean(predictions, axis=0)[result.rows])


def test_b2_squared_error_has_no_bias_of_its_own():
    """Means over 2000 studies of 3 training sets each; 5 standard errors."""
    rng = np.random.default_rng(1)
    values = {name: [] for name in PARTS}
    for _ in range(2000):
        predictions, truth, _ = normal_predictions(rng, 3, 20)
        for name, part in decompose_squared_error(predictions, truth, 2.0).parts.items():
            values[name].append(part.value)
    for name, wanted in {"error": 0.25 + 1 / 3 + 2.0, "bias": 0.25, "variance": 1 / 3, "noise": 2.0}.items():
        result = np.array(values[name])
        assert abs(result.mean() - wanted) <= 5.0 * result.std() / np.sqrt(2000), name


def test_standard_errors_are_the_deviations_of_repeated_studies():
    """Squared error and votes, 200 studies of 30 sets on 150 rows: the mean standard error within a quarter."""
    rng = np.random.default_rng(2)
    studies: dict[str, list[tuple[float, float]]] = {}
    for _ in range(200):
        predictions, truth, x = normal_predictions(rng, 30, 150)
        shared = 0.6 * rng.standard_normal((30, 1))  # what a training set does to all rows
        parts = {
            f"squared {name}": part for name, part in decompose_squared_error(predictions + shared, truth).parts.items()
        }
        chance = np.clip(x, 0.1, 0.9)
        votes = (3.0 * (x - 0.4) + shared + rng.standard_normal((30, 150)) > 0.0).astype(np.int64)
        zero_one = decompose_zero_one(votes, np.column_stack([1.0 - chance, chance]))
        parts |= {f"0-1 {name}": part for name, part in zero_one.parts.items()}
        for name, part in parts.items():
            studies.setdefault(name, []).append((part.value, part.stderr))
    assert studies.pop("squared noise")[0] == (0.0, 0.0)
    for name, result in studies.items():
        values, stderrs = np.array(result).T
        assert stderrs.mean() == pytest.approx(values.std(), rel=0.25), name


@pytest.mark.parametrize("n_classes", [2, 4])
def test_b2_zero_one_parts_are_those_of_the_paper(n_classes: int):
    """Row by row with the factors c1 and c2 of theorems 2 and 3 (Domingos 2000), and the error by counting."""
    rng = np.random.default_rng(3)
    predictions = np.minimum(rng.geometric(0.5, (25, 60)) - 1, n_classes - 1)
    predictions[:, ::3] = (predictions[:, ::3] + 1) % n_classes
    chances = rng.dirichlet(np.ones(n_classes), 60)
    result = decompose_zero_one(predictions, chances)
    for i, p in enumerate(chances):
        q = np.bincount(predictions[:, i], minlength=n_classes) / 25
        best, main = int(p.argmax()), int(q.argmax())
        noise, bias, variance = 1.0 - p[best], float(best != main), 1.0 - q[main]
        hits_class = np.sum(np.delete(q * p, best)) / max((1.0 - q[best]) * (1.0 - p[best]), 1e-300)
        c1 = q[best] - (1.0 - q[best]) * hits_class
        c2 = 1.0 if best == main else -q[best] / max(variance, 1e-300)
        parts = {name: part.of_row[i] for name, part in result.parts.items()}
        assert parts["bias"] == bias
        assert parts["variance"] == pytest.approx(c2 * variance)
        assert parts["noise"] == pytest.approx(c1 * noise)
        assert parts["unbiased variance"] - parts["biased variance"] == pytest.approx(parts["variance"])
        assert parts["best error"] == pytest.approx(noise)
        assert parts["error"] == pytest.approx(np.sum(q * (1.0 - p)))
        if n_classes == 2:
            assert parts["variance"] == pytest.approx((1.0 - 2.0 * bias) * variance)
            assert parts["noise"] == pytest.approx((2.0 * q[best] - 1.0) * noise)
    assert result.gap < 1e-12


@pytest.mark.parametrize("n_sets", [2, 3, 5, 7, 8])
def test_b2_standard_errors_of_few_training_sets(n_sets: int):
    """The error is a mean over the sets, and its standard error that of a mean: exactly, or nearly where halves differ
    in size from each other."""
    rng = np.random.default_rng(4)
    predictions, labels = rng.integers(0, 2, (n_sets, 50)), rng.integers(0, 2, 50)
    parts = decompose_zero_one(predictions, labels).parts
    usual = np.mean(predictions != labels, axis=1).std(ddof=1) / np.sqrt(n_sets)
    assert parts["error"].stderr_of_sets == pytest.approx(usual, rel=1e-9 if n_sets in (2, 3, 7) else 0.1)
    assert all(np.isfinite(part.stderr) for part in parts.values())


def test_b3_the_variance_of_an_average_follows_the_formula():
    """rho s^2 + (1 - rho) s^2 / K from the first 10 trees of every bag foretells the average of 30 other trees.

    60 training sets: a variance over them has a standard error of 18 %, both share most of it; means over 100 rows.
    """
    rows = friedman1().draw(100, np.random.default_rng(0)).X
    predictions = np.empty((60, 40, 100))
    for s in range(60):
        training = friedman1().draw(60, np.random.default_rng(100 + s))
        bag = BaggingRegressor(n_estimators=40, random_state=s).fit(training.X, training.y)
        sums = np.array(list(bag.staged_predict(rows))) * np.arange(1, 41)[:, np.newaxis]
        predictions[s] = np.diff(sums, axis=0, prepend=0.0)
    formula = variance_over_training_sets(predictions[:, :10])
    measured = float(np.mean(predictions[:, 10:].mean(axis=1).var(axis=0, ddof=1)))
    assert 0.05 < formula.correlation < 0.5
    assert measured == pytest.approx(formula.with_members(30), rel=0.05)
    assert measured < 0.5 * formula.variance  # averaging does lower it


def test_labels_alone_leave_the_noise_in_the_bias():
    predictions = np.array([[0, 1, 2, -1], [0, 2, 2, -1], [-1, 1, 2, 0]])
    result = decompose_zero_one(predictions, np.array([0, 1, 0, 0]))
    np.testing.assert_array_equal(result.rows, [0, 1, 2])  # the last row was judged once
    np.testing.assert_allclose(result.parts["error"].of_row, [0.0, 1 / 3, 1.0])
    np.testing.assert_array_equal(result.parts["bias"].of_row, [0.0, 0.0, 1.0])
    np.testing.assert_array_equal(result.parts["noise"].of_row, 0.0)
    np.testing.assert_array_equal(result.main, [0, 1, 2])


def test_differences_are_paired():
    """A learner that is better by 1 on every row and set: the difference has no standard error."""
    predictions, truth, _ = normal_predictions(np.random.default_rng(4), 10, 30)
    worse = decompose_squared_error(predictions, truth, 3.0).parts["error"]
    better = decompose_squared_error(predictions, truth, 2.0).parts["error"]
    difference = worse.minus(better)
    assert difference.value == pytest.approx(1.0)
    assert difference.stderr == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(ValueError, match="same training sets and rows"):
        worse.minus(Part(np.zeros(3), np.zeros(10)))


def test_two_training_sets_have_parts_and_no_standard_error():
    parts = decompose_squared_error(np.array([[1.0, 2.0], [3.0, 2.0]]), np.zeros(2)).parts
    assert parts["variance"].value == 1.0
    assert np.isnan(parts["variance"].stderr)


@pytest.mark.parametrize(
    ("predictions", "truth", "message"),
    [
        (np.zeros(3), np.zeros(3), r"\[sets, n\]"),
        (np.zeros((2, 3)), np.zeros(2), r"\[sets, n\]"),
        (np.full((2, 3), np.inf), np.zeros(3), r"\[sets, n\]"),
        (np.array([[1.0, np.nan], [np.nan, 1.0]]), np.zeros(2), "two training sets"),
    ],
)
def test_bad_numbers_are_rejected(predictions: NDArray[np.float64], truth: NDArray[np.float64], message: str):
    with pytest.raises(ValueError, match=message):
        decompose_squared_error(predictions, truth)


@pytest.mark.parametrize(
    ("predictions", "truth", "message"),
    [
        (np.zeros((2, 3)), np.zeros(3, int), "class codes"),
        (np.full((2, 3), -2), np.zeros(3, int), "class codes"),
        (np.zeros((2, 3), int), np.zeros((3, 2)), "sum to one"),
        (np.full((2, 3), 2), np.full((3, 2), 0.5), "up to 2; got the shape"),
        (np.zeros((1, 3), int), np.zeros(3, int), "two training sets"),
    ],
)
def test_bad_codes_are_rejected(predictions: NDArray[np.int64], truth: NDArray[np.int64], message: str):
    with pytest.raises(ValueError, match=message):
        decompose_zero_one(predictions, truth)
