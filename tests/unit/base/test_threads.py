"""Work shared out between the caller and its helpers."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import joblib
import pytest

from committee.base.threads import at_most, n_threads, run, run_assisted


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("n_calls", [0, 1, 2, 5, 40])
def test_results_come_in_the_order_of_the_calls(threads, n_calls):
    assert run(lambda a, b: a * 10 + b, [(i, 1) for i in range(n_calls)], threads) == [
        10 * i + 1 for i in range(n_calls)
    ]


def test_helpers_take_part():
    meeting = threading.Barrier(2, timeout=10)
    names = run(lambda: (meeting.wait(), threading.current_thread().name)[1], [(), ()], 2)
    assert len(set(names)) == 2


def test_no_more_threads_than_requested():
    busy, most, lock = 0, 0, threading.Lock()

    def work(_: int) -> None:
        nonlocal busy, most
        with lock:
            busy += 1
            most = max(most, busy)
        time.sleep(0.002)
        with lock:
            busy -= 1

    run(work, [(i,) for i in range(40)], 3)
    assert 2 <= most <= 3


@pytest.mark.parametrize("at", [0, 7])
def test_an_error_ends_the_work(at):
    done = []

    def work(i: int) -> None:
        if i == at:
            raise ValueError("stop here")
        time.sleep(0.001)
        done.append(i)

    with pytest.raises(ValueError, match="stop here"):
        run(work, [(i,) for i in range(200)], 2)
    assert len(done) < 150


def test_work_inside_work_does_not_block():
    def outer(i: int) -> int:
        return sum(run(lambda j: i * j, [(j,) for j in range(4)], 2))

    assert run(outer, [(i,) for i in range(6)], 2) == [6 * i for i in range(6)]


def test_assistants_are_dismissed_also_after_an_error():
    over, all_there = threading.Event(), threading.Barrier(3, timeout=10)
    ended = []

    def assistant(number: int) -> None:
        all_there.wait()
        assert over.wait(10)
        ended.append(number)

    def fail() -> None:
        all_there.wait()
        raise RuntimeError("growing failed")

    with pytest.raises(RuntimeError, match="growing failed"):
        run_assisted(fail, (), assistant, [(1,), (2,)], over.set)
    assert sorted(ended) == [1, 2]


def test_a_platform_without_fork_is_supported() -> None:
    imports = "import os, joblib; del os.register_at_fork; from committee.base.threads import run"
    command = [sys.executable, "-c", f"{imports}; print(run(abs, [(-1,)], 2))"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[1]", done.stderr


def test_a_limit_holds_for_all_of_joblib_in_this_thread_only():
    with at_most(2):
        assert [n_threads(n_jobs, 2**62) for n_jobs in (None, 1, 2, 8)] == [1, 1, 2, 2]
        assert joblib.effective_n_jobs(-1) <= 2
        assert joblib.Parallel(n_jobs=8)(joblib.delayed(abs)(i) for i in (-1, 2)) == [1, 2]
        assert run(lambda: n_threads(8, 2**62), [()], 1) == [2]
        elsewhere: list[int] = []
        thread = threading.Thread(target=lambda: elsewhere.append(n_threads(8, 2**62)))
        thread.start()
        thread.join()
        assert elsewhere == [8]
    assert n_threads(8, 2**62) == 8
