"""What a checkpoint keeps of a fit: the results that took time, by the order in which the fit asks for them.

A fit is a function of its data, parameters and seed, and nearly all of its time goes into members: trees and weak
hypotheses. A fit that was killed is therefore run again from the start, with its members from the journal in place of
new ones. Everything else (weights, scores, validation losses, when to stop) is computed again by the same code, which
gives the same bits. So no algorithm has to know how to store its state in the middle of a fit.

Code that makes members opens a stream and passes what it makes to `Stream.keep`. Streams are numbered in the order in
which a fit opens them, so they must be opened by the thread that fits: work on other threads, and fits inside a member,
have no journal (`suspended`). Without a checkpoint `keep` calls `make` and does nothing else.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol, TypeVar

Result = TypeVar("Result")

Place = tuple[int, int, int]
"""Number of the stream, key, and how often the key was used before in the stream."""

MAX_COST = 0.02
"""Saving takes at most this fraction of the time: slow disks are written to less often."""


Entry = tuple[Place, Any]


class Keeper(Protocol):
    """Stores results."""

    def check(self, thing: Any) -> None:
        """Raise an error if the result cannot be stored."""
        ...

    def save(self, entries: Sequence[Entry]) -> bool:
        """Store results; return whether they are stored now. If not, they are passed again with later ones."""
        ...


class CheckpointError(ValueError):
    """Raised for a checkpoint that is damaged, or that another fit has written."""


class Journal:
    """Results by their place; `keeper` gets the new ones from time to time.

    `every` is the time between two calls of `keeper.save` in seconds; with 0 it is called for every result.
    """

    def __init__(self, name: str, known: dict[Place, Any], keeper: Keeper, every: float) -> None:
        self.name, self.known, self.every = name, known, every
        self.mismatch: CheckpointError | None = None  # callers may catch it, as comparisons do with errors of methods
        self.process = os.getpid()
        self._keeper, self._unsaved, self._checked = keeper, list[Entry](), set[int]()
        self._lock = threading.Lock()
        self._due = time.monotonic() + every
        self.draws = Stream(self, 0)
        self._n_streams = 1

    def open_stream(self) -> Stream:
        """A stream with the next number."""
        self._n_streams += 1
        return Stream(self, self._n_streams - 1)

    def record(self, place: Place, thing: Any) -> None:
        """Add a result; it must not change any more."""
        with self._lock:
            if place[0] not in self._checked:  # not after hours of work
                self._keeper.check(thing)
                self._checked.add(place[0])
            self._unsaved.append((place, thing))
            if time.monotonic() >= self._due:
                self._save_all()

    def flush(self) -> None:
        """Save all results."""
        with self._lock:
            if self._unsaved:
                self._save_all()

    def _save_all(self) -> None:
        start = time.monotonic()
        if self._keeper.save(self._unsaved):
            self._unsaved = []
        end = time.monotonic()
        self._due = end + (max(self.every, (end - start) / MAX_COST) if self.every else 0.0)


_current: ContextVar[Journal | None] = ContextVar("journal", default=None)


@contextmanager
def journal_in_use(journal: Journal | None) -> Generator[None]:
    """Keep the results of the block in this journal, None for no journal."""
    token = _current.set(journal)
    try:
        yield
    finally:
        _current.reset(token)


def current_journal() -> Journal | None:
    """The journal in use; none in a process forked from that of the fit."""
    journal = _current.get()
    return journal if journal is not None and journal.process == os.getpid() else None


@contextmanager
def suspended() -> Generator[None]:
    """Keep nothing of the block, whose order of work may vary, or whose result is kept as a whole."""
    if _current.get() is None:
        yield
        return
    with journal_in_use(None):
        yield


class Stream:
    """Results of one kind in one fit, each with a key such as the seed that it is made with."""

    def __init__(self, journal: Journal | None, number: int) -> None:
        self._journal, self._number = journal, number
        self._n_uses: Counter[int] = Counter()

    def keep(
        self,
        key: int,
        make: Callable[[], Result],
        pack: Callable[[Result], Any] = lambda result: result,
        unpack: Callable[[Any], Result] = lambda packed: packed,
    ) -> Result:
        """The kept result, or that of `make`. What is kept is `pack(result)`, from which `unpack` makes the result."""
        journal = self._journal
        if journal is None:
            return make()
        place = self._next_place(key)
        if place in journal.known:
            return unpack(journal.known.pop(place))
        with journal_in_use(None):
            result = make()
        journal.record(place, pack(result))
        return result

    def _next_place(self, key: int) -> Place:
        self._n_uses[key] += 1
        return self._number, key, self._n_uses[key]

    def confirm(self, key: int, facts: Callable[[], Mapping[str, str]], what: str) -> None:
        """Keep facts about the fit; raise CheckpointError if those kept differ."""
        journal = self._journal
        if journal is None:
            return
        now, place = dict(facts()), self._next_place(key)
        if place not in journal.known:
            journal.record(place, now)
            return
        before: Any = journal.known.pop(place)
        if before != now:
            journal.mismatch = CheckpointError(_difference(journal.name, what, before, now))
            raise journal.mismatch


def _difference(path: str, what: str, before: Any, now: Mapping[str, str]) -> str:
    """The message of an error: what is not the same."""
    before = before if isinstance(before, dict) else {}
    names = [name for name in {**now, **before} if before.get(name) != now.get(name)]
    listed = [f"{name} ({_shown(before.get(name))} there, {_shown(now.get(name))} here)" for name in names[:5]]
    return (
        f"The checkpoint {path!r} does not belong to this fit: {what} differs in {', '.join(listed)}. Run the same fit "
        "on the same data to continue it, or remove the file to start a new one."
    )


def _shown(text: str | None) -> str:
    return "none" if text is None else text if len(text) <= 60 else f"{text[:57]}..."


def open_stream() -> Stream:
    """A stream of the journal in use, or one that keeps nothing."""
    journal = current_journal()
    if journal is None:
        return Stream(None, 0)
    if journal.mismatch is not None:
        raise journal.mismatch
    return journal.open_stream()


def same_draw(number: int) -> int:
    """A number drawn at random, or the one drawn in its place by the fit that is resumed."""
    journal = current_journal()
    return number if journal is None else journal.draws.keep(0, lambda: number)
