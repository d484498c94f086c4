"""The compiler of kernels: `@kernel` compiles, caches and repairs its cache (a user's function: user_functions.py).

Numba notices an edit of a function's own file, but not of a callee in another file. So the cache directory carries a
hash of all kernel sources and of everything else that decides the machine code, and a change anywhere starts afresh.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import hashlib
import logging
import os
import pickle
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core import config
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags
from numba.core.compiler_machinery import register_pass
from numba.core.serialize import dumps
from numba.core.typed_passes import NativeLowering

from committee.base.interrupts import signals_held
from committee.base.stopwatch import Stopwatch

PACKAGE = Path(__file__).resolve().parents[1]

TEMPORARY = "committee-kernels-"
"""Prefix of a cache directory that lasts as long as the process."""

DURATION = "which takes about 15 seconds before the first tree and about a minute for all methods"

COMPILING = Stopwatch()
"""Runs while kernels are compiled or read from the disk: nobody's budget is charged with it."""

NOTICE_GIVEN = threading.Event()
"""Set when the user knows that kernels are being compiled: it is said once per process."""

NOTICE_SECONDS = 3.0
"""Kernels missing from a cache that has others are compiled silently until this much time went into it."""

_LOG = logging.getLogger("committee")

_njit: Any = numba.njit

# What a cache file that was cut off or overwritten raises when it is read.
DAMAGE = (
    pickle.UnpicklingError, EOFError, ValueError, LookupError, AttributeError, ImportError, TypeError, ArithmeticError,
    MemoryError,
)  # fmt: skip


@cache
def source_hash() -> str:
    """Hash of every kernel source, of the records whose constants kernels compile in, the compiler and its flags.

    It is the name of the cache directory.
    """
    digest = hashlib.sha256()
    sources = (path for pattern in ("kernels/**/*.py", "records/*.py", "base/jit.py") for path in PACKAGE.glob(pattern))
    for path in sorted(sources):
        digest.update(path.relative_to(PACKAGE).as_posix().encode())
        digest.update(path.read_bytes())
    flags = [getattr(config, name, None) for name in ("BOUNDSCHECK", "OPT", "CPU_NAME", "CPU_FEATURES")]
    flags += [numba.__version__, sys.version_info[:3]]
    digest.update(repr(flags).encode())
    return digest.hexdigest()[:16]


def _candidate_directories() -> list[Path]:
    chosen = os.environ.get("COMMITTEE_CACHE_DIR")
    if chosen:
        return [Path(chosen)]
    user_cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return [PACKAGE / "__pycache__", user_cache / "committee"]


@cache
def cache_directory() -> Path:
    """The first writable place for compiled kernels; a private temporary directory where there is none."""
    for parent in _candidate_directories():
        directory = parent / f"kernels-{source_hash()}"
        with contextlib.suppress(OSError):
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            tempfile.TemporaryFile(dir=directory).close()
            return directory
    return _temporary_directory()


def _temporary_directory() -> Path:
    """A private cache directory that this process removes when it ends."""
    directory, owner = Path(tempfile.mkdtemp(prefix=TEMPORARY)), os.getpid()

    def remove() -> None:
        if os.getpid() == owner:  # a forked child inherits the exit handlers
            shutil.rmtree(directory, ignore_errors=True)

    atexit.register(remove)
    return directory


def _announce_compilation() -> None:
    """Say once per process that kernels are compiled, how long that takes and how to avoid it.

    The logger "committee" says it at level WARNING, which Python prints to stderr unless logging is configured.
    """
    directory = cache_directory()
    is_first = not any(directory.glob("*.nbi"))
    if NOTICE_GIVEN.is_set() or not (is_first or COMPILING.seconds > NOTICE_SECONDS):
        return
    NOTICE_GIVEN.set()
    if directory.name.startswith(TEMPORARY):
        advice = (
            "No cache directory is writable, so every process compiles again: set COMMITTEE_CACHE_DIR to a writable "
            "directory"
        )
    else:
        advice = f"This happens once; the result is cached in {directory}. `committee warmup` compiles ahead of time"
    _LOG.warning("committee is compiling its kernels for this machine, %s. %s.", DURATION, advice)


def remove_stale_caches() -> int:
    """Delete what older kernel sources left beside the cache in use; return how many directories went.

    Those of the last day stay: another process may be working with them.
    """
    yesterday = time.time() - 86_400
    beside = (path for path in cache_directory().parent.glob("kernels-*") if path != cache_directory())
    stale = [path for path in beside if path.stat().st_mtime < yesterday]
    for path in stale:
        shutil.rmtree(path, ignore_errors=True)
    return len(stale)


class _HashedLocator(_CacheLocator):
    """Puts every kernel into the one directory whose name already says which sources it belongs to."""

    def __init__(self, py_func: Callable[..., Any]) -> None:
        self._module = py_func.__module__.removeprefix("committee.kernels.").replace(".", "-")

    def get_cache_path(self) -> str:
        return str(cache_directory())

    def get_source_stamp(self) -> str:
        return source_hash()

    def get_disambiguator(self) -> str:
        return self._module

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> _HashedLocator:
        return cls(py_func)


class _KernelCacheImpl(CompileResultCacheImpl):
    """Numba's way of storing machine code, with a checksum: a flipped bit in it would crash the process."""

    _locator_classes = (_HashedLocator,)

    def reduce(self, data: Any) -> tuple[str, bytes]:
        stored = dumps(super().reduce(data))
        return hashlib.sha256(stored).hexdigest(), stored

    def rebuild(self, target_context: Any, payload: tuple[str, bytes]) -> Any:
        checksum, stored = payload
        if hashlib.sha256(stored).hexdigest() != checksum:
            raise ValueError("the stored machine code is damaged")
        return super().rebuild(target_context, pickle.loads(stored))


class KernelCache(FunctionCache):
    """Numba's cache, except that a damaged file is thrown away and compiled again instead of raising for ever."""

    _impl_class = _KernelCacheImpl

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            stored = super().load_overload(sig, target_context)
        except DAMAGE:
            self._discard()
            stored = None
        if stored is None:
            _announce_compilation()
        return stored

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except DAMAGE:  # the index of the other signatures is read before it is written
            self._discard()
            super().save_overload(sig, data)

    def _discard(self) -> None:
        for path in Path(self.cache_path).glob(f"{self._impl.filename_base}*"):
            path.unlink(missing_ok=True)


class _SettledFlags(Flags):
    """Flags that no longer change: numba looks them up for every call it types, and would collect them every time."""

    __slots__ = ("_settled",)

    def values(self) -> dict[str, Any]:
        if not hasattr(self, "_settled"):
            self._settled = super().values()
        return self._settled

    def __hash__(self) -> int:
        return super().__hash__()


class _OpenFlags(Flags):
    """Flags whose copy, which numba takes when it begins to compile, is settled."""

    __slots__ = ()

    def copy(self) -> Flags:
        return _SettledFlags(self)


class _KernelCompiler(CompilerBase):
    """Numba's compiler for machine code without a Python fallback."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.state.flags = _OpenFlags(self.state.flags)

    def define_pipelines(self) -> list[Any]:
        return [DefaultPassBuilder.define_nopython_pipeline(self.state)]


def kernel(function: Callable[..., Any]) -> Any:
    """Compile `function` on first use, without the GIL, and keep the machine code on disk.

    Arithmetic stays strict IEEE: the sums are integers, and a gain must have the same bits whether its loop was
    vectorised or not, or ties between equal splits would be broken at random.
    """
    dispatcher = _njit(
        nogil=True, error_model="numpy", no_cfunc_wrapper=True, _nrt=False, pipeline_class=_KernelCompiler
    )(function)
    dispatcher._cache = KernelCache(function)
    return compiled_whole(dispatcher)


def compiled_whole(dispatcher: Any) -> Any:
    """A function of numba's whose compilation no signal cuts in two.

    LLVM calls back into Python for stored code. An exception there cannot pass: it is lost, so that Ctrl-C or the end
    of a budget would go unheard, and LLVM goes on with nothing, which crashes the process.
    """
    compile_now = dispatcher.compile

    def compile_whole(signature: Any) -> Any:
        with signals_held("the compilation of a kernel"), COMPILING, _collector_at_rest():
            return compile_now(signature)

    dispatcher.compile = compile_whole
    return dispatcher


@contextlib.contextmanager
def _collector_at_rest() -> Generator[None]:
    """Numba makes millions of objects that live until it is done: to look for dead ones takes a tenth of its time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class _PartLibrary(JITCodeLibrary):
    """Code that is only ever linked into a kernel: it is neither optimised nor turned into machine code by itself.

    Numba would do both for every function, and again for all it calls; most of a cold start would go there.
    """

    def add_llvm_module(self, ll_module: Any) -> None:
        self._final_module.link_in(ll_module)

    def finalize(self) -> None:
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True


class _NoEntry(dict[str, str]):
    """Numba wants a built-in function as the way in from Python; the look-up of this dict is one that refuses."""

    def __missing__(self, key: object) -> str:
        raise TypeError(f"{self['name']} is a part of kernels and cannot be called from Python")


@register_pass(mutates_CFG=True, analysis_only=False)
class _PartLowering(NativeLowering):
    """Lower a part and register it for calls from other compiled code, without an address for calls from Python."""

    _name = "part_lowering"

    def run_pass(self, state: Any) -> bool:
        state.library = _PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        lowered = state["cr"]
        entry = _NoEntry({"name": lowered.fndesc.qualname}).__getitem__
        state.targetctx.insert_user_function(entry, lowered.fndesc, [state.library])
        state["cr"] = lowered._replace(cfunc=entry)
        return True


class _PartCompiler(_KernelCompiler):
    def define_pipelines(self) -> list[Any]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state, "part")
        passes.passes = [
            (_PartLowering, text) if step is NativeLowering else (step, text) for step, text in passes.passes
        ]
        passes.finalize()
        return [passes]


def part(function: Callable[..., Any]) -> Any:
    """A piece of a kernel: callable from kernels only."""
    return _compile_part(function, forceinline=False)


def inlined(function: Callable[..., Any]) -> Any:
    """A piece of a kernel that is put in where it is called: for tuples of many arrays, which a call would copy."""
    return _compile_part(function, forceinline=True)


def _compile_part(function: Callable[..., Any], forceinline: bool) -> Any:
    return _njit(
        nogil=True,
        error_model="numpy",
        no_cfunc_wrapper=True,
        no_cpython_wrapper=True,
        forceinline=forceinline,
        _nrt=False,
        pipeline_class=_PartCompiler,
    )(function)
