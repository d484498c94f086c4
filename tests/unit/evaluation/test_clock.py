"""What a fit will take, and the bell that ends work when its time is up."""

import signal
import time

import numpy as np
import pytest

from committee.evaluation import time_budget as clock
from committee.evaluation.time_budget import Clock, Measured, OutOfTime, forecast, stop_after


def spin(seconds: float) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def test_the_bell_ends_the_block_and_leaves_no_timer():
    before = signal.getsignal(signal.SIGALRM)
    start = time.perf_counter()
    with pytest.raises(OutOfTime), stop_after(0.05):
        spin(60.0)
    assert time.perf_counter() - start < 30.0
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGALRM) is before


def test_a_lost_stroke_is_followed_by_another(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(clock, "REPEAT", 0.05)

    def deaf() -> None:
        try:
            spin(60.0)
        except OutOfTime:  # as a destructor or a call from C does
            strokes.append("lost")
        spin(60.0)

    strokes: list[str] = []
    with pytest.raises(OutOfTime), stop_after(0.05):
        deaf()
    assert strokes == ["lost"]


def test_a_block_in_time_hears_nothing():
    with stop_after(60.0):
        pass
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_the_bell_waits_for_compilations():
    def work() -> None:
        with clock.COMPILING:
            spin(0.2)
        heard.append("nothing while kernels were compiled")
        spin(60.0)

    heard: list[str] = []
    with pytest.raises(OutOfTime), stop_after(0.05):
        work()
    assert heard


def test_time_of_a_fit_is_forecast_from_fits_of_the_same_estimator():
    fits = [Measured(n, 1e-6 * n**1.5) for n in (1000, 4000)]
    assert forecast(fits, 32_000) == pytest.approx(1e-6 * 32_000**1.5)
    assert forecast(fits[:1], 2000) == pytest.approx(2.0 * fits[0].seconds)
    assert forecast([Measured(100, 1e-4), Measured(1000, 1e-2)], 2000) == pytest.approx(2e-2)  # too short for a power
    assert np.isnan(forecast([], 100))


def test_a_clock_counts_from_its_start_without_compilation():
    now = [5.0]
    one = Clock(10.0, now=lambda: now[0])
    now[0] = 9.0
    assert (one.worked, one.left, one.is_limited) == (4.0, 6.0, True)
    assert not Clock(None).is_limited
