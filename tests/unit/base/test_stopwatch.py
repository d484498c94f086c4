"""Seconds of blocks that overlap are counted once."""

import pytest

from committee.base.kernel_cache import COMPILING
from committee.base.stopwatch import Stopwatch
from committee.evaluation.time_budget import work_seconds


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time of the clock, to be set."""
    time = [0.0]
    monkeypatch.setattr("committee.base.stopwatch.time.perf_counter", lambda: time[0])
    return time


def test_nested_blocks_count_once(now: list[float]):
    watch = Stopwatch()
    with watch:
        now[0] = 1.0
        with watch:
            now[0] = 3.0
        assert watch.seconds == 3.0
    now[0] = 10.0
    assert watch.seconds == 3.0


def test_the_clock_of_work_stands_still_while_kernels_are_compiled(now: list[float]):
    before = work_seconds()
    with COMPILING:
        now[0] = 5.0
    now[0] = 6.0
    assert work_seconds() - before == pytest.approx(1.0)
