"""Ctrl-C and the end of a budget in the middle of a compilation: handled behind it, neither lost nor a crash."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from committee.base.interrupts import signals_held, thread_interrupted


@pytest.fixture
def interrupt_handler() -> Iterator[object]:
    """Python's own handler of Ctrl-C, also where the tests run as a background job, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield signal.default_int_handler
    signal.signal(signal.SIGINT, before)


def test_a_signal_is_handled_at_the_end_of_the_block(interrupt_handler: object):
    steps: list[str] = []

    def work() -> None:
        with signals_held("the work"):
            with signals_held("the work"):
                signal.raise_signal(signal.SIGINT)
                steps.append("inner")
            steps.append("outer")
        steps.append("behind")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert steps == ["inner", "outer"]
    assert signal.getsignal(signal.SIGINT) is interrupt_handler


def test_handlers_return_when_the_block_fails():
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ZeroDivisionError), signals_held("the work"):
        _ = 1 / 0
    assert signal.getsignal(signal.SIGINT) is before


def test_what_was_ignored_stays_ignored():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with signals_held("the work"):
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_hold_nothing():
    handlers: list[object] = []

    def look() -> None:
        with signals_held("the work"):
            handlers.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert handlers == [signal.getsignal(signal.SIGINT)]


# Interrupts itself inside the call that LLVM makes for stored code, where no exception can pass.
INTERRUPTED_COMPILATION = """
    import signal
    import sys
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background may ignore it
    import numpy as np
    from llvmlite.binding.executionengine import ExecutionEngine
    from committee.kernels.boosting.user_functions import compile_elementwise
    from committee.base.jit import kernel

    find, calls = ExecutionEngine._find_module_ptr, []

    def find_interrupted(engine, pointer):
        calls.append(pointer)
        signal.raise_signal(signal.SIGINT)
        return find(engine, pointer)

    ExecutionEngine._find_module_ptr = find_interrupted

    def twice(values):
        for i in range(values.size):
            values[i] *= 2.0

    def third(x):
        return x / 3.0

    values = np.ones(3)
    work = {"kernel": lambda: kernel(twice)(values), "user": lambda: compile_elementwise(third)}[sys.argv[1]]
    try:
        work()
        print("unheard")
    except KeyboardInterrupt:
        ExecutionEngine._find_module_ptr = find
        work()
        print("heard", len(calls) > 0)
"""


@pytest.mark.slow
@pytest.mark.parametrize("what", ["kernel", "user"])
def test_an_interrupted_compilation_is_heard_and_can_be_done_again(what: str, tmp_path: Path):
    environment = {**os.environ, "COMMITTEE_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(INTERRUPTED_COMPILATION), what],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.split() == ["heard", "True"], done.stderr
    assert "Exception ignored" not in done.stderr
    assert "Stopping after the compilation of a kernel." in done.stderr.splitlines()


# --- exceptions from another thread -----------------------------------------------------------------------------------


class Late(BaseException):
    pass


def in_thread(function: Callable[[], Any]) -> Any:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function).result(timeout=60)


def endless() -> None:
    while True:
        time.sleep(0.001)


def test_a_thread_is_interrupted_when_no_seconds_are_left():
    end = time.perf_counter() + 0.05

    def work() -> None:
        with thread_interrupted(lambda: end - time.perf_counter(), Late, repeat=5.0):
            endless()

    with pytest.raises(Late):
        in_thread(work)


def test_a_lost_exception_is_raised_again():
    lost: list[str] = []

    def work() -> None:
        with thread_interrupted(lambda: 0.0, Late, repeat=0.05):
            try:
                endless()
            except Late:  # as a destructor does
                lost.append("lost")
            endless()

    with pytest.raises(Late):
        in_thread(work)
    assert lost == ["lost"] or not lost  # it may come before the try


@pytest.mark.parametrize("seconds", [0.0, 1e-5, 1e-4, 1e-3])
def test_no_exception_comes_after_the_block(seconds: float):
    """Whether it is over at its beginning, at its end or in between."""

    def work() -> int:
        n_late = 0
        for _ in range(200):
            end = time.perf_counter() + seconds
            try:
                with thread_interrupted(lambda end=end: end - time.perf_counter(), Late, repeat=1e-4):
                    while time.perf_counter() < end:
                        pass
            except Late:
                n_late += 1
        for _ in range(50):  # would be interrupted here
            time.sleep(1e-3)
        return n_late

    assert 0 <= in_thread(work) <= 200
    assert not any(thread.name == "committee-timer" for thread in threading.enumerate())


def test_an_interruption_waits_for_the_end_of_a_compilation():
    steps: list[str] = []

    def work() -> None:
        with thread_interrupted(lambda: 0.0 if steps else 0.01, Late, repeat=5.0):
            with signals_held("the work"):
                with signals_held("the work"):  # a kernel that another one calls
                    steps.append("begun")
                    for _ in range(50):
                        time.sleep(0.001)
                steps.append("ended")
            endless()

    with pytest.raises(Late):
        in_thread(work)
    assert steps == ["begun", "ended"]
