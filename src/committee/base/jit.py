"""The compiler of kernels: `@kernel` functions are called from Python, `@part` and `@inlined` ones from kernels only.

Kernels are compiled on first use and kept on disk (`kernel_cache.py`; a user's function: `user_functions.py`). The
compiler derives from private classes of numba (`_kernel_compiler.py`). Where a version of numba lacks one of them,
kernels are compiled by plain `njit(cache=True)`: with the same results, but a slower first start.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numba
from numba.core.compiler_lock import global_compiler_lock
from numba.core.event import Listener, register

from committee.base.garbage_collection import collection_paused
from committee.base.interrupts import signals_held
from committee.base.kernel_cache import COMPILING, cache_directory

try:
    from committee.base import _kernel_compiler as own_compiler
except (ImportError, AttributeError):
    own_compiler = None


class _CompilationTimer(Listener):
    """Runs the stopwatch of compilations."""

    def on_start(self, event: Any) -> None:
        COMPILING.__enter__()

    def on_end(self, event: Any) -> None:
        COMPILING.__exit__()


register("numba:compile", _CompilationTimer())

if hasattr(os, "register_at_fork"):  # a process forked while another thread compiles would wait for it for ever
    os.register_at_fork(
        before=global_compiler_lock.acquire,
        after_in_parent=global_compiler_lock.release,
        after_in_child=global_compiler_lock.release,
    )

_njit: Any = numba.njit
_OPTIONS = {"nogil": True, "error_model": "numpy"}


def kernel(function: Callable[..., Any]) -> Any:
    """Compile `function` on first use, without the GIL, and keep the machine code on disk.

    Arithmetic stays strict IEEE: the sums are integers, and a gain must have the same bits whether its loop was
    vectorised or not, or ties between equal splits would be broken at random.
    """
    if own_compiler is None:
        return compiled_whole(_plain_kernel(function))
    compiler = own_compiler.KernelCompiler
    dispatcher = _njit(no_cfunc_wrapper=True, _nrt=False, pipeline_class=compiler, **_OPTIONS)(function)
    dispatcher._cache = own_compiler.KernelCache(function)
    return compiled_whole(dispatcher)


def _plain_kernel(function: Callable[..., Any]) -> Any:
    """Compile with numba's own cache, placed in the directory whose name carries the hash of all kernel sources."""
    directory = cache_directory()
    if directory is None:
        return _njit(**_OPTIONS)(function)
    config: Any = numba.config  # pyright: ignore[reportPrivateImportUsage]
    chosen = config.CACHE_DIR
    config.CACHE_DIR = str(directory)
    try:
        return _njit(cache=True, **_OPTIONS)(function)
    finally:
        config.CACHE_DIR = chosen


def part(function: Callable[..., Any]) -> Any:
    """Declare a piece of a kernel: callable from kernels only."""
    return _compile_part(function, forceinline=False)


def inlined(function: Callable[..., Any]) -> Any:
    """Declare a piece of a kernel that is inlined where it is called: a call would copy tuples of many arrays."""
    return _compile_part(function, forceinline=True)


def _compile_part(function: Callable[..., Any], forceinline: bool) -> Any:
    if own_compiler is None:
        return _njit(forceinline=forceinline, **_OPTIONS)(function)
    compile_part = _njit(
        no_cfunc_wrapper=True,
        no_cpython_wrapper=True,
        forceinline=forceinline,
        _nrt=False,
        pipeline_class=own_compiler.PartCompiler,
        **_OPTIONS,
    )
    return own_compiler.without_literals(compile_part(function))


def compiled_whole(dispatcher: Any) -> Any:
    """Make a function of numba's finish its compilation before signals are handled.

    LLVM calls back into Python for stored code. An exception there cannot pass: it is lost, so that Ctrl-C or the end
    of a budget would go unheard, and LLVM goes on with nothing, which crashes the process.
    """
    compile_now = dispatcher.compile

    def compile_whole(signature: Any) -> Any:
        # The collector would examine millions of objects, all of which live until numba is done.
        with signals_held("the compilation of a kernel"), collection_paused():
            return compile_now(signature)

    dispatcher.compile = compile_whole
    return dispatcher
