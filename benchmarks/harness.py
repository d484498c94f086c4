"""One way to measure: interleaved repeats, the minimum of each contender, ratios, quality beside time."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

from threadpoolctl import threadpool_limits

Call = Callable[[], Any]
Setup = Callable[[], Call]
Quality = Callable[[Any], Mapping[str, float]]
Clock = Literal["cpu", "wall", "process", "memory"]

OURS = "committee"
BUDGET = 60.0
"""Seconds after which a benchmark is not repeated again: what takes so long is hardly disturbed."""
SHORT = 0.05
"""Seconds a timing should last at least: shorter calls are made several times."""


class Skip(Exception):  # noqa: N818 (nothing is wrong)
    """A contender cannot take part here; the message says why."""


class Goal(NamedTuple):
    """What a contender's time should be at most: a ratio to a peer, seconds above a peer, or plain seconds."""

    contender: str
    most: float
    peer: str = ""
    kind: Literal["ratio", "difference", "seconds"] = "ratio"


class Benchmark(NamedTuple):
    """One comparison. Contenders named `committee ...` are ours and compared with `peers`, by default the others."""

    name: str  # group/what-size, matched by --only
    task: str
    contenders: Mapping[str, Setup]  # a setup prepares, unmeasured, the call that is measured
    quality: Quality  # of what the call returns
    clock: Clock = "cpu"
    goals: tuple[Goal, ...] = ()
    covers: tuple[str, ...] = ()  # names of the catalog
    peers: tuple[str, ...] = ()


class Timing(NamedTuple):
    """What was measured of one contender; seconds are those of one call (megabytes where memory is measured)."""

    seconds: float
    repeats: int
    quality: Mapping[str, float]


class Result(NamedTuple):
    """What was measured of one benchmark; `absent` and `failed` say why a contender is not among the timings."""

    benchmark: Benchmark
    timings: dict[str, Timing]
    absent: dict[str, str]
    failed: dict[str, Exception]


class Memory(NamedTuple):
    """What the call of a benchmark of memory returns."""

    peak: float  # megabytes of the whole process
    above_start: float  # megabytes more than just before the fit


def no_quality(_: Any) -> Mapping[str, float]:
    """For calls that return nothing."""
    return {}


def measure(benchmark: Benchmark, repeats: int) -> Result:
    """Run the contenders in turn, `repeats` times or as often as the budget allows, and keep each one's minimum."""
    began = time.perf_counter()
    result = Result(benchmark, {}, {}, {})
    with threadpool_limits(2 if benchmark.clock == "wall" else 1):
        calls = _first_round(benchmark, result)
        for n_done in range(1, repeats):
            if time.perf_counter() - began > BUDGET:
                break
            for name, call in calls.items():
                best = result.timings[name]
                seconds, _ = _time(call, benchmark.clock, _calls_per_timing(best.seconds))
                result.timings[name] = best._replace(seconds=min(best.seconds, seconds), repeats=n_done + 1)
    return result


def _first_round(benchmark: Benchmark, result: Result) -> dict[str, Call]:
    """Set up, call and evaluate every contender once (fills `result` in place); return the calls that work."""
    calls: dict[str, Call] = {}
    for name, setup in benchmark.contenders.items():
        try:
            call = setup()
            seconds, returned = _time(call, benchmark.clock)
            result.timings[name] = Timing(seconds, 1, benchmark.quality(returned))
            calls[name] = call
        except Skip as reason:
            result.absent[name] = str(reason)
        except Exception as error:
            if isinstance(error, ModuleNotFoundError) and not name.startswith(OURS):
                result.absent[name] = f"{error.name} is not installed"
            else:
                result.failed[name] = error
    return calls


def _calls_per_timing(seconds: float) -> int:
    return max(1, round(SHORT / max(seconds, 1e-6)))


def _time(call: Call, clock: Clock, n_calls: int = 1) -> tuple[float, Any]:
    """Seconds of one call by `clock`, and the last returned; the clock "memory" gives the megabytes returned."""
    if clock == "memory":
        memory: Memory = call()
        return memory.peak, memory
    read = CLOCKS[clock]
    returned = None
    gc.collect()
    began = read()
    for _ in range(n_calls):
        returned = call()
    return (read() - began) / n_calls, returned


def _children_cpu() -> float:
    """CPU seconds of all child processes that have ended."""
    import resource  # not on Windows

    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


CLOCKS: Mapping[str, Callable[[], float]] = {
    "cpu": time.process_time,
    "wall": time.perf_counter,
    "process": _children_cpu,
}


# --- comparing -------------------------------------------------------------------------------------------------------


def peers(benchmark: Benchmark) -> tuple[str, ...]:
    """Names of the contenders that ours are compared with."""
    return benchmark.peers or tuple(name for name in benchmark.contenders if not name.startswith(OURS))


def ratios(result: Result, contender: str) -> dict[str, float]:
    """Time of one of our contenders / time of each peer; empty for a peer."""
    names = peers(result.benchmark)
    if contender in names:
        return {}
    own = result.timings[contender].seconds
    return {name: own / result.timings[name].seconds for name in names if name in result.timings}


def goals(result: Result, contender: str) -> Iterator[tuple[Goal, float]]:
    """Each goal of a contender that could be evaluated, with the value reached."""
    own = result.timings[contender].seconds
    for goal in result.benchmark.goals:
        if goal.contender != contender:
            continue
        if goal.kind == "seconds":
            yield goal, own
        elif goal.peer in result.timings:
            peer = result.timings[goal.peer].seconds
            yield goal, own / peer if goal.kind == "ratio" else own - peer
