"""Numba's compiler and cache, adapted to kernels. Everything here derives from private classes of numba.

Where a version of numba lacks one of them, `base/jit.py` compiles without this module.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags
from numba.core.compiler_machinery import register_pass
from numba.core.serialize import dumps
from numba.core.typed_passes import NativeLowering

from committee.base.kernel_cache import announce_compilation, cache_directory, source_hash

# What a cache file that was cut off or overwritten raises when it is read.
DAMAGE = (
    pickle.UnpicklingError, EOFError, ValueError, LookupError, AttributeError, ImportError, TypeError, ArithmeticError,
    MemoryError,
)  # fmt: skip


class _HashedLocator(_CacheLocator):
    """Puts every kernel into the one directory, whose name contains the hash of the sources."""

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
            announce_compilation()
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


class KernelCompiler(CompilerBase):
    """Numba's compiler for machine code without a Python fallback."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.state.flags = _OpenFlags(self.state.flags)

    def define_pipelines(self) -> list[Any]:
        return [DefaultPassBuilder.define_nopython_pipeline(self.state)]


class _PartLibrary(JITCodeLibrary):
    """Code that is only ever linked into a kernel: it is neither optimised nor turned into machine code by itself.

    Numba would do both for every function, and again for all it calls; most of a cold start would go there.
    """

    def add_llvm_module(self, ll_module: Any) -> None:
        self._final_module.link_in(ll_module)

    def finalize(self) -> None:
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            if hasattr(self, "_reload_init"):  # since numba 0.63
                self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True


class _NoEntry(dict[str, str]):
    """Numba requires a built-in function as the entry point from Python: the look-up of this dict, which raises."""

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


class PartCompiler(KernelCompiler):
    def define_pipelines(self) -> list[Any]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state, "part")
        passes.passes = [
            (_PartLowering, text) if step is NativeLowering else (step, text) for step, text in passes.passes
        ]
        passes.finalize()
        return [passes]
