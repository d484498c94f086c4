"""The bootstrap: it agrees with scipy and closed forms, and its intervals hold the truth as often as they say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.typing import NDArray
from scipy import stats
from sklearn.linear_model import LinearRegression
from sklearn.svm import LinearSVC

from committee import RandomForestRegressor
from committee.base.rng import member_seeds
from committee.evaluation.bootstrap import bootstrap
from committee.evaluation.coverage import measure_coverage
from committee.theory.intervals import acceleration, bca_interval, studentised_interval

Floats = NDArray[np.float64]
RNG = np.random.default_rng(0)
TIMES = RNG.exponential(size=40)
OTHER = RNG.normal(size=25)


def correlation(x: Floats, y: Floats) -> float:
    return float(np.corrcoef(x, y)[0, 1])


def same_generator(seed: int) -> np.random.Generator:
    return np.random.default_rng(int(member_seeds(seed, 1)[0]))


@pytest.mark.parametrize("method", ["percentile", "basic", "BCa"])
@pytest.mark.parametrize(
    ("data", "statistic", "options"),
    [
        ((TIMES,), np.mean, {"vectorized": True}),
        ((TIMES,), np.median, {"vectorized": False}),
        ((TIMES[:25], OTHER), correlation, {"paired": True, "vectorized": False}),
        ((TIMES, OTHER), lambda x, y: x.mean() - y.mean(), {"vectorized": False}),
    ],
    ids=["mean", "median", "correlation", "difference of means"],
)
def test_c1_scipy_draws_the_same_and_finds_the_same(data: Any, statistic: Any, options: Any, method: Any):
    ours = bootstrap(statistic, *data, n_resamples=500, random_state=3, **options)
    theirs = stats.bootstrap(data, statistic, n_resamples=500, method=method, rng=same_generator(3), **options)
    np.testing.assert_allclose(ours.replicates, theirs.bootstrap_distribution, rtol=1e-12)
    np.testing.assert_allclose(ours.interval(method), theirs.confidence_interval, rtol=1e-10)
    assert ours.stderr == pytest.approx(theirs.standard_error)


def test_c1_mean_has_the_bias_and_standard_error_of_the_formula():
    """bias 0 and sd sqrt(1/n) over all resamples; 4 standard errors of R of them."""
    result = bootstrap(np.mean, TIMES, vectorized=True, n_resamples=20_000, random_state=0)
    exact = TIMES.std() / np.sqrt(TIMES.size)
    assert result.stderr == pytest.approx(exact, rel=4.0 / np.sqrt(2 * 20_000))
    assert abs(result.bias) < 4.0 * result.bias_stderr
    low, high = result.interval("normal")
    assert (low + high) / 2.0 == pytest.approx(result.corrected)
    assert (high - low) / 2.0 == pytest.approx(1.959964 * result.stderr)


def test_c1_the_bias_of_the_variance_is_found():
    """The variance that divides by n is too small by 1/n of itself, in the bootstrap world exactly so."""
    result = bootstrap(np.var, TIMES, vectorized=True, n_resamples=20_000, random_state=0)
    assert abs(result.bias + np.var(TIMES) / TIMES.size) < 4.0 * result.bias_stderr
    assert result.corrected > result.value


def test_vectorised_or_not_and_threads_change_nothing():
    many = bootstrap(np.mean, TIMES, vectorized=True, n_resamples=300, random_state=0)
    one = bootstrap(np.mean, TIMES, n_resamples=300, random_state=0)
    two = bootstrap(np.mean, TIMES, n_resamples=300, random_state=0, n_jobs=2)
    np.testing.assert_allclose(many.replicates, one.replicates, rtol=1e-12)
    np.testing.assert_array_equal(one.replicates, two.replicates)
    np.testing.assert_array_equal(one.jackknife[0], two.jackknife[0])
    assert np.any(one.replicates != bootstrap(np.mean, TIMES, n_resamples=300, random_state=1).replicates)


@pytest.mark.slow
def test_studentised_with_a_formula_and_with_resamples_of_resamples():
    def stderr(x: Floats, axis: int) -> Floats:
        return x.std(axis=axis, ddof=1) / np.sqrt(x.shape[axis])

    formula = bootstrap(np.mean, TIMES, stderr=stderr, vectorized=True, n_resamples=2000, random_state=0)
    t = (formula.replicates - formula.value) / formula.stderrs
    low, high = np.quantile(t, [0.025, 0.975])
    own = stderr(TIMES, 0)
    np.testing.assert_allclose(
        formula.interval("studentised"), (TIMES.mean() - high * own, TIMES.mean() - low * own), rtol=1e-12
    )
    nested = bootstrap(np.mean, TIMES, stderr=50, vectorized=True, n_resamples=400, random_state=0)
    again = bootstrap(np.mean, TIMES, stderr=50, n_resamples=400, random_state=0, n_jobs=2)
    np.testing.assert_allclose(nested.stderrs, again.stderrs, rtol=1e-9)
    assert nested.stderrs is not None
    # the plug-in standard error of every resample divides by n and is known to 10 % from 50 resamples
    np.testing.assert_allclose(nested.stderrs.mean(), formula.stderrs.mean(), rtol=0.05)
    np.testing.assert_allclose(nested.interval("studentised"), formula.interval("studentised"), rtol=0.15)
    assert nested.kinds == ("normal", "percentile", "basic", "BCa", "studentised")


def test_estimators_attributes_predictions_scores_and_functions():
    X = np.column_stack([TIMES, RNG.normal(size=40)])
    y = 2.0 * TIMES + RNG.normal(size=40)
    model = LinearRegression()
    slopes = bootstrap(model, X, y, of="coef_", n_resamples=200, random_state=0)
    by_hand = bootstrap(
        lambda X, y: np.linalg.lstsq(np.c_[np.ones(40)[: len(X)], X], y, rcond=None)[0][1:], X, y, paired=True,
        n_resamples=200, random_state=0,
    )  # fmt: skip
    np.testing.assert_allclose(slopes.replicates, by_hand.replicates, rtol=1e-8)
    np.testing.assert_allclose(slopes.interval("BCa"), by_hand.interval("BCa"), rtol=1e-6)
    assert slopes.to_pandas().shape == (2, 3 + 2 * 4)
    at = bootstrap(model, X, y, at=X[:3], n_resamples=50, bca=False, random_state=0)
    assert at.replicates.shape == (50, 3)
    assert at.kinds == ("normal", "percentile", "basic")
    np.testing.assert_array_equal(at.interval().low, at.interval("percentile").low)
    score = bootstrap(model, X, y, of="score", at=(X, y), n_resamples=50, random_state=0)
    assert score.value == pytest.approx(LinearRegression().fit(X, y).score(X, y))
    own = bootstrap(model, X, y, of=lambda fitted: fitted.coef_[0] / fitted.coef_[1], n_resamples=50, random_state=0)
    assert own.value == pytest.approx(slopes.value[0] / slopes.value[1])
    assert "95 % interval" in str(own)
    assert str(slopes).startswith("2 values, 200 resamples")


def test_a_forest_on_a_frame_is_reproducible_with_any_threads():
    frame = pd.DataFrame({"a": TIMES, "b": pd.Categorical(["u", "v"] * 20)})
    one, two = (
        bootstrap(
            RandomForestRegressor(n_estimators=3), frame, TIMES**2, at=frame[:4], n_resamples=8, bca=False,
            n_jobs=n_jobs, random_state=0,
        )
        for n_jobs in (1, 2)
    )  # fmt: skip
    np.testing.assert_array_equal(one.replicates, two.replicates)
    assert one.stderr.max() > 0.0


def test_strata_keep_their_sizes_and_weights_repeat_rows():
    label = np.repeat([0, 1], [30, 10])
    shares = bootstrap(np.mean, label, strata=label, n_resamples=50, random_state=0)
    assert np.all(shares.replicates == 0.25)
    within = bootstrap(np.mean, TIMES, strata=label, n_resamples=4000, bca=False, vectorized=True, random_state=0)
    exact = np.sqrt(30 * TIMES[:30].var() + 10 * TIMES[30:].var()) / 40
    assert within.stderr == pytest.approx(exact, rel=0.05)
    counts = np.arange(40) % 3
    weighted = bootstrap(np.mean, TIMES, sample_weight=counts, n_resamples=50, random_state=0)
    repeated = bootstrap(np.mean, np.repeat(TIMES, counts), n_resamples=50, random_state=0)
    np.testing.assert_array_equal(weighted.replicates, repeated.replicates)
    np.testing.assert_array_equal(weighted.jackknife[0], repeated.jackknife[0])


def test_columns_of_frames_are_read_by_position():
    series = pd.Series(TIMES, index=np.arange(40)[::-1] // 2)
    for column in (series, pl.Series(TIMES), TIMES.tolist()):
        result = bootstrap(np.mean, column, vectorized=True, n_resamples=20, random_state=0)
        np.testing.assert_array_equal(
            result.replicates, bootstrap(np.mean, TIMES, vectorized=True, n_resamples=20, random_state=0).replicates
        )
    frame = bootstrap(lambda table: table["a"].mean(), pl.DataFrame({"a": TIMES}), n_resamples=20, random_state=0)
    np.testing.assert_allclose(frame.replicates, bootstrap(np.mean, TIMES, n_resamples=20, random_state=0).replicates)


def test_a_large_sample_is_left_out_in_groups():
    """The acceleration of the mean is the skewness over 6 sqrt(n); groups estimate it with noise."""
    x = np.sort(np.random.default_rng(1).exponential(size=3000))
    result = bootstrap(np.mean, x, vectorized=True, n_resamples=100, random_state=0)
    assert len(result.jackknife[0]) == 1000
    a = float(acceleration(result.jackknife))
    assert a == pytest.approx(stats.skew(x) / (6.0 * np.sqrt(3000)), abs=0.25 / (6.0 * np.sqrt(3000)) * 2.0)


def test_resamples_without_a_value_are_left_out_and_said():
    x = np.array([1.0, 1.0, 1.0, 2.0, 3.0])
    with np.errstate(invalid="ignore", divide="ignore"), pytest.warns(UserWarning, match="not finite on .* of 200"):
        result = bootstrap(lambda x: 1.0 / np.std(x), x, n_resamples=200, random_state=0)
    assert result.n_failed == 200 - len(result.replicates) > 0
    with pytest.raises(ValueError, match="finite on 0 of 20 resamples"):
        bootstrap(lambda x: np.nan, x, n_resamples=20)


def test_edges_of_the_intervals():
    constant = bootstrap(lambda x: 5.0, TIMES, n_resamples=20)
    assert constant.interval("BCa") == (5.0, 5.0)
    top = bootstrap(np.max, TIMES, n_resamples=50, random_state=0)  # no resample has a larger one; some are equal
    assert top.best_kind == "BCa"
    mirrored = bootstrap(lambda x: -np.sum((x - TIMES[: x.size]) ** 2), TIMES, n_resamples=50, random_state=0)
    assert np.isnan(mirrored.interval("BCa").low)
    assert mirrored.best_kind == "percentile"
    assert "(percentile)" in str(mirrored)
    all_above = bca_interval(np.arange(1.0, 11.0), np.float64(0.0), (TIMES,))
    assert np.all(np.isnan(all_above))
    same = studentised_interval(np.ones(9), np.float64(1.0), np.zeros(9), np.float64(0.0))
    assert same == (1.0, 1.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bootstrap(np.mean), "one sample"),
        (lambda: bootstrap(np.mean, [1.0]), "at least 2 rows"),
        (lambda: bootstrap(correlation, TIMES, OTHER, paired=True), r"same number of rows; got \[40, 25\]"),
        (lambda: bootstrap(correlation, TIMES, OTHER, strata=TIMES), "for one sample or paired"),
        (lambda: bootstrap(np.mean, TIMES, strata=OTHER), "one label per row, 40; got 25"),
        (lambda: bootstrap(np.mean, TIMES, sample_weight=TIMES), "whole numbers"),
        (lambda: bootstrap(np.mean, TIMES, sample_weight=-TIMES), "Negative values in sample_weight"),
        (lambda: bootstrap(np.mean, TIMES[:, None], vectorized=True), "1-d"),
        (lambda: bootstrap(np.mean, TIMES, of="coef_"), "for estimators"),
        (lambda: bootstrap(LinearRegression(), TIMES[:, None], TIMES), "needs of"),
        (lambda: bootstrap(np.mean, TIMES, n_resamples=1), "n_resamples, and stderr"),
        (lambda: bootstrap(np.mean, TIMES, stderr=1), "n_resamples, and stderr"),
        (lambda: bootstrap(np.mean, TIMES, level=95), "level between 0 and 1"),
        (lambda: bootstrap(np.mean, TIMES, n_resamples=9, bca=False).interval("BCa"), "No BCa interval"),
        (lambda: bootstrap(np.mean, TIMES, n_resamples=9).interval("studentised"), "studentised needs stderr"),
    ],
)
def test_bad_calls_are_rejected(call: Any, message: str):
    with pytest.raises(ValueError, match=message):
        call()
    with pytest.raises(TypeError, match="or an estimator; got str"):
        bootstrap("mean", TIMES)


def test_a_classifier_needs_strata_where_a_class_is_rare():
    X, y = TIMES[:, None], np.arange(40) < 2
    with pytest.raises(ValueError, match="class"):
        bootstrap(LinearSVC(), X, y, of="coef_", n_resamples=100, bca=False, random_state=0)
    result = bootstrap(LinearSVC(), X, y, of="coef_", strata=y, n_resamples=20, bca=False, random_state=0)
    assert result.replicates.shape == (20, 1, 1)


# --- coverage ---------------------------------------------------------------------------------------------------------

KINDS = ("percentile", "basic", "BCa", "studentised")


def mean_stderr(*samples: Floats, axis: int) -> Any:
    return np.sqrt(sum(x.var(axis=axis, ddof=1) / x.shape[axis] for x in samples))


def difference(x: Floats, y: Floats, axis: int) -> Any:
    return x.mean(axis=axis) - y.mean(axis=axis)


def exact(*samples: Floats) -> tuple[float, float]:
    """Student's interval of a mean, or of a difference of means of equal variances: it holds the truth in 95 %."""
    n = np.array([x.size for x in samples])
    pooled = sum(x.var() * x.size for x in samples) / (n.sum() - n.size)
    centre = samples[0].mean() - sum(x.mean() for x in samples[1:])
    half = stats.t.ppf(0.975, n.sum() - n.size) * np.sqrt(pooled * np.sum(1.0 / n))
    return centre - half, centre + half


@pytest.mark.parametrize(
    ("statistic", "draw"),
    [
        (np.mean, lambda rng: ((rng.normal(1.0, 2.0, 60),), 1.0)),
        (difference, lambda rng: ((rng.normal(1.0, 1.0, 40), rng.normal(0.0, 1.0, 70)), 1.0)),
    ],
    ids=["mean", "difference of two means"],
)
def test_c1_intervals_hold_the_truth_as_often_as_they_say(statistic: Any, draw: Any):
    """Coverage within 2 points of the 95 % of Student's interval, on the same data: a paired difference is sure."""

    def intervals(*data: Floats, random_state: int) -> tuple[Floats, Floats]:
        result = bootstrap(
            statistic, *data, stderr=mean_stderr, vectorized=True, n_resamples=600, random_state=random_state
        )
        low, high = zip(*(result.interval(kind) for kind in KINDS), exact(*data), strict=True)
        return np.array(low), np.array(high)

    coverage = measure_coverage(intervals, draw, n_repeats=300, random_state=1)
    np.testing.assert_allclose(coverage.target_coverage[:-1] - coverage.target_coverage[-1], 0.0, atol=0.02)
    assert coverage.target_coverage[-1] == pytest.approx(0.95, abs=4.0 * np.sqrt(0.05 * 0.95 / 300))


@pytest.mark.slow
def test_c1_studentised_interval_of_a_skewed_mean():
    """Exponential numbers: within 2 points of 95 %; 1000 repeats have a standard error of 0.7 points."""

    def interval(x: Floats, random_state: int) -> Any:
        options = {"stderr": mean_stderr, "vectorized": True, "bca": False, "n_resamples": 400}
        return bootstrap(np.mean, x, random_state=random_state, **options).interval("studentised")

    coverage = measure_coverage(
        interval, lambda rng: ((rng.exponential(size=60),), 1.0), n_repeats=1000, random_state=0
    )
    assert coverage.coverage.value == pytest.approx(0.95, abs=0.02)
    assert abs(coverage.below.mean() - coverage.above.mean()) < 0.02  # both tails are looked after


def test_coverage_counts_both_sides_and_threads_change_nothing():
    def interval(x: Floats, random_state: int) -> tuple[Floats, Floats]:
        return np.array([-1.0, 0.0, 2.0]), np.array([1.0, 3.0, 5.0])

    def draw(rng: np.random.Generator) -> tuple[tuple[Floats], float]:
        return (rng.normal(size=2),), float(rng.integers(0, 2)) * 2.0

    one, two = (measure_coverage(interval, draw, n_repeats=50, random_state=0, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one.covered, two.covered)
    zero = one.covered[:, 0].mean()  # the target is 0 or 2: the first interval holds 0, the second both, the third 2
    np.testing.assert_allclose(one.target_coverage, [zero, 1.0, 1.0 - zero])
    np.testing.assert_allclose(one.above.mean(axis=0), [1.0 - zero, 0.0, 0.0])
    np.testing.assert_allclose(one.below.mean(axis=0), [0.0, 0.0, zero])
    np.testing.assert_array_equal(one.width, np.tile([2.0, 3.0, 3.0], (50, 1)))
    assert "mean width 2.667" in str(one)
    with pytest.raises(ValueError, match="n_repeats must be at least 2"):
        measure_coverage(interval, draw, n_repeats=1)
