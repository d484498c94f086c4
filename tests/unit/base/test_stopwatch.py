"""Seconds of blocks that overlap are counted once."""

import pytest

from committee.base.kernel_cache import COMPILING
from committee.base.stopwatch import Stopwatch
from committee.evaluation._time_budget import work_seconds


def test_nested_blocks_count_once(monkeypatch: pytest.MonkeyPatch):
    now = [0.0]
    monkeypatch.setattr("committee.base.stopwatch.time.perf_counter", lambda: now[0])
    watch = Stopwatch()
    with watch:
        now[0] = 1.0
        with watch:
            now[0] = 3.0
        assert watch.seconds == 3.0
    now[0] = 10.0
    assert watch.seconds == 3.0


def test_the_clock_of_work_stands_still_while_kernels_are_compiled(monkeypatch: pytest.MonkeyPatch):
    now = [0.0]
    monkeypatch.setattr("committee.base.stopwatch.time.perf_counter", lambda: now[0])
    before = work_seconds()
    with COMPILING:
        now[0] = 5.0
    now[0] = 6.0
    assert work_seconds() - before == pytest.approx(1.0)
