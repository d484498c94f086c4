"""Blocks of rows on the workers of a Dask cluster.

Every worker has a `BlockHost`, an actor that holds the states of some blocks. The driver sends each request to all
hosts and adds up what they return. It keeps a log of the requests of the current round and of what earlier rounds have
left behind. A block is moved by loading it on another worker and repeating the log there:

    a worker is lost           its blocks are moved to the others, which are asked for their part of the sum only
    a worker is silent         as if it was lost; should it answer later, nobody listens
    a worker joins             it is given its share of the blocks

Sums of blocks are integers, or added in the order of the blocks, so nothing of this changes a bit of the model.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from uuid import uuid4

from committee.base.array_types import Floats
from committee.blocks.steps import Answer, PartialAnswer, Step, join_answers, take_steps
from committee.dask.results import RECOVERY

PATIENCE = 20.0
"""Seconds without a heartbeat after which a worker counts as lost."""

LATE = 60.0
"""Seconds without an answer after which a worker counts as lost all the same, if no request took half as long."""

GRACE = 2.0
"""Seconds to wait for workers that join while there are others to give blocks to."""

AHEAD = 12
"""Nodes of a tree whose children are asked for at once."""

MAX_LOADS = 5
"""How often a block is loaded for one request, before the fit gives up."""


class Failure(NamedTuple):
    """An exception of a step or of loading a block, in place of an answer: errors of the cluster are raised instead."""

    error: BaseException


class Request(NamedTuple):
    """Steps that are sent together, numbered in their order."""

    number: int
    steps: tuple[Step, ...]


class BlockHost:
    """The blocks of one fit on one worker; a Dask actor."""

    def __init__(self) -> None:
        self.states: dict[int, Any] = {}
        self.done: dict[int, int] = {}  # the number of the last request that a block has taken

    def load(self, b: int, make: Callable[[Any], Any], data: Any, log: Sequence[Request]) -> Failure | None:
        """Make the state of block b from its data and repeat the requests."""
        try:
            state = make(data)
            for request in log:
                take_steps(request.steps, [state])
            self.states[b], self.done[b] = state, log[-1].number if log else 0
        except Exception as error:
            return Failure(error)
        return None

    def drop(self, blocks: Sequence[int]) -> None:
        """Forget blocks that other workers are given."""
        for b in blocks:
            self.states.pop(b, None)

    def take(self, request: Request, blocks: Sequence[int]) -> PartialAnswer | Failure:
        """Take the steps of a request on some blocks. The last step, which answers, may be repeated; others are not."""
        try:
            answers = [self._take(request, b) for b in blocks]
        except Exception as error:
            return Failure(error)
        total = answers[0].total
        for answer in answers[1:]:
            total += answer.total
        return PartialAnswer(total, [part for answer in answers for part in answer.parts])

    def _take(self, request: Request, b: int) -> PartialAnswer:
        is_repeated = self.done[b] == request.number
        answer = take_steps(request.steps[-1:] if is_repeated else request.steps, [self.states[b]])
        self.done[b] = request.number
        return answer


class Log:
    """What a block must repeat to have the present state."""

    def __init__(self) -> None:
        self.kept: list[Step] = []  # steps of earlier rounds that later ones depend on
        self.recent: list[Request] = []  # since the last of them

    def add(self, request: Request) -> None:
        """Append a request. Steps with `is_kept` make the ones before superfluous, but for those with `is_kept`."""
        if any(_is_kept(step) for step in request.steps):
            self.kept += [step for earlier in self.recent for step in earlier.steps if _is_kept(step)]
            self.recent = []
        self.recent.append(request)

    def before(self, request: Request) -> list[Request]:
        """The requests to repeat before this one."""
        kept = [Request(0, tuple(self.kept))] if self.kept else []
        return kept + [each for each in self.recent if each.number < request.number]


def _is_kept(step: Step) -> bool:
    return bool(getattr(step, "is_kept", False))


class Workers:
    """The workers that the scheduler has heard from: a stopped process stays connected."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self._heard: dict[str, tuple[float, float]] = {}  # the last heartbeat, and when it was first seen here

    def alive(self) -> dict[str, str]:
        """The status of every worker; silent ones are removed from the cluster, as Dask does later."""
        now = time.monotonic()
        listed = self.client.scheduler_info(n_workers=-1)["workers"]
        before, self._heard = self._heard, {}
        for worker, info in listed.items():
            beat = info["last_seen"]
            known = before.get(worker)
            self._heard[worker] = known if known is not None and known[0] == beat else (beat, now)
        silent = [worker for worker, (_, at) in self._heard.items() if now - at > PATIENCE]
        for worker in silent:
            self._remove(worker)
        return {worker: info["status"] for worker, info in listed.items() if worker not in silent}

    def _remove(self, worker: str) -> None:
        """Remove a worker, so that what it holds is computed again, and others stop waiting for it."""
        scheduler = self.client.scheduler
        self.client.sync(scheduler.unregister, address=worker, stimulus_id=f"committee-{uuid4().hex}", close=False)


class ClusterBlocks:
    """`Blocks` on the workers of a cluster."""

    def __init__(self, client: Any, data: Sequence[Any], make: Callable[[Any], Any]) -> None:
        """`data` are futures of what `make`, a picklable function, makes the state of each block from."""
        self.client, self.data, self.make, self.n_ahead = client, list(data), make, AHEAD
        self.workers = Workers(client)
        self.futures: dict[str, Any] = {}  # of the hosts
        self.hosts: dict[str, Any] = {}  # those that have been made
        self.place: dict[int, str] = {}  # the worker of every block
        self.log, self.number = Log(), 0
        self.name = f"committee-{uuid4().hex}"
        self.n_messages = self.n_lost = 0
        self._loads: Counter[int] = Counter()  # of the blocks, for the present request
        self._error: Exception | None = None  # of the worker that was lost last
        self._slowest = 0.0
        self._checked = time.monotonic()

    # --- requests -----------------------------------------------------------------------------------------------------

    def ask(self, *steps: Step) -> Answer:
        self.number += 1
        request = Request(self.number, steps)
        self._loads.clear()
        self._spread()
        self.log.add(request)
        parts: dict[int, Floats] = {}
        totals: list[Any] = []
        begun = time.monotonic()
        while missing := [b for b in range(len(self.data)) if b not in parts]:
            for blocks, answer in self._ask_hosts(request, missing):
                totals.append(answer.total)
                parts.update(zip(blocks, answer.parts, strict=True))
        self._slowest = max(self._slowest, time.monotonic() - begun)
        return join_answers(totals, [parts[b] for b in range(len(self.data))])

    def _ask_hosts(self, request: Request, missing: Sequence[int]) -> list[tuple[list[int], PartialAnswer]]:
        """Ask the hosts of the missing blocks; those of workers that do not answer are left for the next call."""
        self._place([b for b in missing if b not in self.place], request)
        shares = {worker: [b for b in missing if self.place.get(b) == worker] for worker in self.hosts}
        asked = [(each, blocks, self._call(each, "take", request, blocks)) for each, blocks in shares.items() if blocks]
        answers: list[tuple[list[int], PartialAnswer]] = []
        for worker, blocks, future in asked:
            answer = None if future is None else self._result(worker, future)
            if answer is not None:
                answers.append((blocks, answer))
        return answers

    def _call(self, worker: str, method: str, *arguments: Any) -> Any:
        """The future answer of a host; None if its worker is known to be lost."""
        self.n_messages += 1
        try:
            return getattr(self.hosts[worker], method)(*arguments)
        except RuntimeError as error:
            self._lose(worker, error)
            return None

    def _result(self, worker: str, future: Any) -> Any:
        """The result of an actor's call; None if its worker is lost. Errors of the steps are raised."""
        deadline = time.monotonic() + max(LATE, 2.0 * self._slowest)
        while True:
            try:
                result = future.result(timeout=1.0)
                break
            except TimeoutError as error:
                if time.monotonic() > deadline or worker not in self.workers.alive():
                    self._lose(worker, error)
                    return None
            except Exception as error:  # of the cluster: those of steps are returned
                self._lose(worker, error)
                return None
        if isinstance(result, Failure):
            raise result.error
        return result

    # --- workers ------------------------------------------------------------------------------------------------------

    def _lose(self, worker: str, error: Exception | None = None) -> None:
        """Forget a worker; its blocks have no place."""
        self._error = error or self._error
        if self.hosts.pop(worker, None) is not None:
            self.n_lost += 1
        self._release(worker)
        self.place = {b: each for b, each in self.place.items() if each != worker}

    def _update_hosts(self) -> None:
        """Forget workers that have left, and make hosts on those that have joined, without waiting for them."""
        alive = self.workers.alive()
        for worker in self.futures.keys() - alive.keys():
            self._lose(worker)
        for worker in sorted(alive.keys() - self.futures.keys()):
            if alive[worker] == "running":  # a worker that runs out of memory takes no tasks
                self.futures[worker] = self._submit(BlockHost, worker=worker, actor=True)
        for worker in self._joining():
            if self.futures[worker].status != "pending":
                try:
                    self.hosts[worker] = self.futures[worker].result(timeout=1.0)
                except Exception as error:  # of the cluster
                    self._lose(worker, error)

    def _joining(self) -> list[str]:
        """The workers whose host is not made yet."""
        return [worker for worker in self.futures if worker not in self.hosts]

    def _release(self, worker: str) -> None:
        """Release a host, and with it the states of its blocks, even if there are references to it."""
        future = self.futures.pop(worker, None)
        if future is not None:
            future.cancel()

    def _live_workers(self) -> list[str]:
        """The workers with a host; waits for one if there is none."""
        begun = time.monotonic()
        while True:
            self._update_hosts()
            waited = time.monotonic() - begun
            if self.hosts and (waited > GRACE or not self._joining()):
                return sorted(self.hosts)
            if waited > RECOVERY:
                raise RuntimeError(
                    f"All workers of the cluster were lost or had no memory left, and none has joined for "
                    f"{RECOVERY:.0f} seconds: start workers, or larger ones, and fit again."
                ) from self._error
            time.sleep(0.05)

    def _submit(self, function: Any, *arguments: Any, worker: str, actor: bool = False) -> Any:
        """A task, or an actor, on one worker."""
        return self.client.submit(
            function, *arguments, workers=[worker], allow_other_workers=False, pure=False, actor=actor,
            key=f"{self.name}-{uuid4().hex}",
        )  # fmt: skip

    def _place(self, blocks: Sequence[int], request: Request) -> None:
        """Load blocks without a place on the workers that have the fewest, with the state before the request."""
        while blocks:
            workers = self._live_workers()
            self._load(blocks, workers, request)
            blocks = [b for b in blocks if b not in self.place]

    def _load(self, blocks: Sequence[int], workers: Sequence[str], request: Request) -> None:
        n_blocks = {worker: sum(each == worker for each in self.place.values()) for worker in workers}
        log, loads = self.log.before(request), []
        for b in blocks:
            self._count_load(b)
            worker = min(workers, key=lambda each: (n_blocks[each], each))
            n_blocks[worker] += 1
            task = self._submit(_load_block, self.hosts[worker].key, b, self.make, self.data[b], log, worker=worker)
            loads.append((b, worker, task))
        for b, worker, task in loads:
            failure = self._task_result(worker, task)
            if isinstance(failure, Failure):
                raise failure.error
            if worker in self.hosts:
                self.place[b] = worker

    def _count_load(self, b: int) -> None:
        self._loads[b] += 1
        if self._loads[b] > MAX_LOADS:
            raise RuntimeError(
                f"The workers of one block of rows were lost {MAX_LOADS} times in a row. Workers that need more memory "
                "than they have are ended: start more workers, or larger ones, and fit again."
            ) from self._error

    def _task_result(self, worker: str, task: Any) -> Any:
        """The result of loading a block; a lost worker is forgotten, and so is one that has run out of memory."""
        deadline = time.monotonic() + PATIENCE
        while worker in self.hosts:
            try:
                return task.result(timeout=1.0)
            except TimeoutError as error:
                status = self.workers.alive().get(worker)
                if status is None or (status != "running" and time.monotonic() > deadline):
                    self._lose(worker, error)
            except Exception as error:
                if task.status == "error" and not _is_of_cluster(error):
                    raise
                self._lose(worker, error)
        task.cancel()
        return None

    def _spread(self) -> None:
        """Give workers that have joined their share of the blocks; looked for once a second."""
        if time.monotonic() < self._checked + 1.0 or not self.place:
            return
        self._checked = time.monotonic()
        self._update_hosts()
        if not self.hosts.keys() - set(self.place.values()):
            return
        share = -(-len(self.data) // len(self.hosts))
        for worker in list(self.hosts):
            surplus = [b for b, each in self.place.items() if each == worker][share:]
            for b in surplus:
                del self.place[b]
            if surplus:
                self._call(worker, "drop", surplus)

    def close(self) -> None:
        """Release the hosts."""
        self.hosts.clear()
        self.place.clear()
        for worker in list(self.futures):
            self._release(worker)


def _load_block(host: str, b: int, make: Callable[[Any], Any], data: Any, log: Sequence[Request]) -> Failure | None:
    """A task on the worker of the host, to which Dask brings the data of the block; a call would copy them."""
    from distributed import get_worker

    actors: Any = get_worker().state.actors
    return actors[host].load(b, make, data, log)


def _is_of_cluster(error: BaseException) -> bool:
    """Whether an error says that a worker was lost, not that a task failed."""
    from distributed.client import FutureCancelledError
    from distributed.comm.core import CommClosedError
    from distributed.scheduler import KilledWorker

    return isinstance(error, OSError | CommClosedError | KilledWorker | FutureCancelledError)
