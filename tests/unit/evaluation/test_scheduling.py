"""What a budget of time does: estimators that spend the time of a clock of their own."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from committee.evaluation._scheduler import estimates
from committee.evaluation.comparison import Comparison, ComparisonStep, compare
from committee.evaluation.methods import Variants
from committee.evaluation.time_budget import Clock, OutOfTime
from committee.voting.calibrated_classifier import uncalibrated

N = 4000


class FakeTime:
    """A clock that only `spend` moves, and a timer that rings in it."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.now, self.end = 0.0, np.inf
        self.fits: list[tuple[str, int]] = []

    def spend(self, seconds: float) -> None:
        if self.now + seconds > self.end:
            self.now = max(self.end, self.now)
            raise OutOfTime
        self.now += seconds

    @contextmanager
    def limit(self, seconds: float) -> Generator[None]:
        before, self.end = self.end, min(self.end, self.now + seconds)
        try:
            yield
        finally:
            self.end = before

    def clock(self, budget: float | None) -> Clock:
        return Clock(budget, now=lambda: self.now, limit=self.limit)


TIME = FakeTime()


class Sleeper(ClassifierMixin, BaseEstimator):
    """Takes seconds_per_1000 for every 1,000 rows, and knows as much of the class as its skill says."""

    def __init__(
        self, name: str = "", seconds_per_1000: float = 1.0, skill: float = 1.0, power: float = 1.0, cliff: int = 0
    ) -> None:
        self.name, self.seconds_per_1000, self.skill, self.power, self.cliff = (
            name, seconds_per_1000, skill, power, cliff,
        )  # fmt: skip

    def fit(self, X: Any, y: Any) -> Sleeper:
        self.classes_ = np.unique(y)
        self.n_rows_ = len(X)
        is_slow = self.cliff and len(X) > self.cliff
        TIME.spend(1e9 if is_slow else self.seconds_per_1000 * (len(X) / 1000.0) ** self.power)
        TIME.fits.append((self.name, len(X)))
        return self

    def predict_proba(self, X: Any) -> Any:
        p = 1.0 / (1.0 + np.exp(-4.0 * self.skill * X[:, 0] - 4.0 * (1.0 - self.skill) * X[:, 1]))
        return np.stack([1.0 - p, p], axis=1)

    def predict(self, X: Any) -> Any:
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def table(n: int = N) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    return X, (rng.random(n) < 1.0 / (1.0 + np.exp(-4.0 * X[:, 0]))).astype(int)


def run(methods: dict[str, Any], budget: float | None, n: int = N, **options: Any) -> tuple[Comparison, Any]:
    TIME.reset()
    return compare(*table(n), methods=methods, time_budget=budget, clock=TIME.clock(budget), **options)


METHODS = {
    "constant": Sleeper("constant", 0.01, 0.0),
    "fast": Sleeper("fast", 0.1, 0.6),
    "good": Variants(Sleeper("good", 60.0, 1.0), Sleeper("good, quick", 2.0, 0.8)),
    "poor": Variants(Sleeper("poor", 20.0, 0.3), Sleeper("poor, quick", 3.0, 0.2)),
    "slow": Sleeper("slow", 500.0, 0.7),
}


@pytest.mark.parametrize("budget", [3.0, 10.0, 60.0, 300.0, 1000.0, 5000.0])
@pytest.mark.parametrize("n", [500, N])
def test_budgets_hold_within_ten_percent_with_the_last_fits(budget: float, n: int):
    found, model = run(METHODS, budget, n)
    assert TIME.now <= 1.1 * budget
    assert model is not None
    assert found.held_out_losses
    assert found.winner in METHODS


@pytest.mark.parametrize("power", [1.0, 1.5, 2.0])
def test_budgets_hold_whatever_the_cost_of_more_rows(power: float):
    methods = {name: Sleeper(name, 0.2 * 3**i, 0.2 * i, power) for i, name in enumerate("abcdef")}
    for budget in (5.0, 50.0, 500.0):
        run(methods, budget)
        assert TIME.now <= 1.1 * budget


def test_a_method_that_would_take_too_long_is_evaluated_with_quick_settings_and_wins():
    found, model = run(METHODS, 100.0)
    good = found.result("good")
    assert good.setting == "quick settings"
    assert good.n_evaluated >= 1
    assert found.winner == "good"
    assert "quick" in getattr(model, "estimator_", model).name  # what was evaluated is what is delivered


def test_without_quick_settings_a_method_gets_fewer_rows():
    found, _ = run(METHODS, 600.0)
    slow = found.result("slow")
    assert slow.status in ("partial", "done")
    assert "% of the rows" in slow.setting


def test_where_no_method_fits_into_its_part_of_the_time_some_get_what_is_left():
    """One method of seven may take 1/3.5 of the first half: 2.9 of 20 s, less than any needs for few rows (3.2 s)."""
    slow = {f"m{i}": Sleeper(f"m{i}", 20.0, 0.5 + 0.1 * i) for i in range(6)}
    found, _ = run({"constant": Sleeper("constant", 0.001, 0.0), **slow}, 20.0)
    assert found.winner != "constant"
    assert TIME.now <= 1.1 * 20.0


def test_with_enough_time_all_methods_have_all_folds_and_full_settings():
    methods = {**METHODS, "poor": Variants(Sleeper("poor", 20.0, 0.3), Sleeper("poor, quick", 3.0, 0.1))}
    found, model = run(methods, 100_000.0)
    assert [result.status for result in found.results] == ["done"] * len(methods)
    assert [result.setting for result in found.results] == [""] * len(methods)
    assert uncalibrated(model).n_rows_ == N


def test_without_a_budget_nothing_is_quick_and_every_fit_is_of_a_fold():
    found, _ = run(METHODS, None)
    assert not any("quick" in name for name, _ in TIME.fits)
    assert len(TIME.fits) == 5 * len(METHODS) + 3
    assert [result.status for result in found.results] == ["done"] * len(METHODS)


def test_the_leaders_get_the_time_first():
    methods = {f"m{i}": Sleeper(f"m{i}", 4.0, skill) for i, skill in enumerate((0.1, 0.3, 0.9, 0.2, 0.8, 0.0))}
    found, _ = run(methods, 240.0)
    n_folds = {result.name: result.n_evaluated for result in found.results}
    assert n_folds["m2"] == 5
    assert n_folds["m2"] >= n_folds["m4"] >= n_folds["m1"]
    assert min(n_folds.values()) >= 1  # on less rather than not at all
    assert any(result.status == "partial" for result in found.results)


def test_some_folds_are_compared_on_the_folds_they_share():
    nan = np.nan
    losses = {"a": np.array([0.9, 0.1, 0.2]), "b": np.array([0.8, nan, nan]), "c": np.array([nan, nan, 0.3])}
    found = estimates(losses)
    assert found["a"] == pytest.approx(0.4)
    assert found["b"] == pytest.approx(0.3)  # its mean of 0.8 is that of a hard fold
    assert found["c"] == pytest.approx(0.5)
    assert estimates({"a": np.array([nan])}) == {}


def test_a_last_fit_that_does_not_fit_leaves_the_model_that_was_evaluated():
    n_compared = round(0.8 * N)
    found, model = run({"one": Sleeper("one", 1.0, 1.0, cliff=n_compared)}, 60.0)
    assert uncalibrated(model).n_rows_ == n_compared
    assert "no time to fit it on all rows" in found.model_note
    assert TIME.now <= 1.1 * 60.0


def test_a_held_out_fit_that_does_not_fit_uses_fewer_rows():
    found, model = run({"one": Sleeper("one", 1.0, 1.0, cliff=round(0.7 * N))}, 60.0)
    n_rows = uncalibrated(model).n_rows_
    assert n_rows < round(0.8 * N)
    assert f"fitted on {n_rows} of them" in found.model_note
    assert TIME.now <= 1.1 * 60.0


def test_time_before_the_comparison_counts():
    TIME.reset()
    clock = TIME.clock(100.0)
    TIME.spend(60.0)  # reading a table, say
    compare(*table(), methods=METHODS, time_budget=100.0, clock=clock)
    assert TIME.now <= 110.0


def test_an_interrupt_ends_the_comparison():
    class Interrupted(Sleeper):
        def fit(self, X: Any, y: Any) -> Sleeper:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run({"fast": METHODS["fast"], "interrupted": Interrupted()}, 10.0)


def test_last_fits_are_reported_with_a_forecast():
    steps: list[ComparisonStep] = []
    run({"fast": METHODS["fast"]}, None, callback=steps.append)
    told = [(step.note, step.forecast_seconds) for step in steps if step.state == "refitting"]
    assert [note for note, _ in told] == [
        "without the held-out rows, to evaluate it on them",
        "on all rows",
        "on half of the rows, for the learning curve",
    ]
    assert told[1][1] == pytest.approx(0.1 * N / 1000.0)


def test_a_time_that_is_too_short_for_anything_says_so():
    with pytest.raises(RuntimeError, match="No method could be evaluated"):
        run({"slow": METHODS["slow"]}, 1e-6)
