"""Numba's compiler and cache, adapted to kernels. Everything here derives from private classes of numba.

Where a version of numba lacks one of them, `base/jit.py` compiles without this module.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable
from copy import copy
from functools import cache, partial, wraps
from typing import Any

import numba
from llvmlite.binding import parse_assembly
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, CompileResult, DefaultPassBuilder, Flags
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.cpu import CPUContext
from numba.core.datamodel.packer import ArgPacker
from numba.core.imputils import user_function
from numba.core.serialize import dumps
from numba.core.typed_passes import NativeLowering
from numba.core.types import NamedTuple, unliteral

from committee.base.atomic_write import atomic_write
from committee.base.kernel_cache import SUFFIX, announce_compilation, announce_lost, cache_directory
from committee.base.shipped_kernels import shipped_kernels

# What unpickling raises where another version of numba has other classes.
MISFIT = (pickle.UnpicklingError, EOFError, ValueError, LookupError, AttributeError, ImportError, TypeError)


# Looked up here: where one is missing, this module cannot be imported, and kernels are compiled without it.
_TAKE_APART, _PUT_TOGETHER = CompileResult._reduce, CompileResult._rebuild


class KernelCache:
    """Where a dispatcher of numba's looks for machine code: shipped with the package, then stored by this user.

    Each specialisation is a file of its own, named by the function, its types and the CPU, that is replaced in one
    step: processes that compile at the same time do not disturb each other.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    @property
    def cache_path(self) -> str:
        return str(cache_directory())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled kernel for argument types, None if it has to be compiled."""
        triple, *cpu = target_context.codegen().magic_tuple()
        shipped = shipped_kernels()
        if shipped.level is not None:
            content = shipped.read(self._file_name(sig, triple, shipped.level.cpu, ""))
            kernel = _rebuild(content, sig, target_context)
            if kernel is not None:
                return kernel
            if content is not None:
                shipped.refuse(f"do not fit numba {numba.__version__}")
        kernel = self._load_stored(self._file_name(sig, triple, *cpu), sig, target_context)
        if kernel is None:
            announce_compilation(shipped.refusal)
        return kernel

    def save_overload(self, sig: Any, data: Any) -> None:
        directory = cache_directory()
        if directory is None:
            return
        name = self._file_name(sig, *data.target_context.codegen().magic_tuple())
        try:
            with atomic_write(directory / name) as draft:
                draft.write_bytes(_reduce(data))
        except OSError as error:
            if not (directory / name).is_file():  # Windows replaces no file that another process is reading
                announce_lost(error)

    def _file_name(self, sig: Any, triple: str, cpu: str, features: str) -> str:
        function = self._function
        decisive = (function.__module__, function.__qualname__, [str(each) for each in sig], triple, cpu, features)
        return f"{function.__name__}-{hashlib.sha256(repr(decisive).encode()).hexdigest()[:20]}{SUFFIX}"

    def _load_stored(self, name: str, sig: Any, target_context: Any) -> Any:
        directory = cache_directory()
        if directory is None:
            return None
        try:
            content = (directory / name).read_bytes()
        except OSError:
            return None
        return _rebuild(content, sig, target_context)


def _reduce(compiled: Any) -> bytes:
    """A compiled kernel as bytes, digest first, without what is not needed to run it: most of it by size."""
    library, *others = _TAKE_APART(compiled)
    name, kind, (machine_code, _) = library
    others[5] = ""  # the annotated source, with paths of this machine
    payload = dumps(((name, kind, (machine_code, _entry_points(compiled.fndesc))), *others))
    return hashlib.sha256(payload).digest() + payload


def _entry_points(description: Any) -> bytes:
    """Intermediate code in place of the kernel's own, with the names that numba looks for and nothing behind them."""
    names = (description.llvm_func_name, description.llvm_cpython_wrapper_name)
    return parse_assembly("".join(f'define void @"{name}"() {{ unreachable }}\n' for name in names)).as_bitcode()


def _rebuild(content: bytes | None, sig: Any, target_context: Any) -> Any:
    """The compiled kernel, None where the bytes are damaged, from another version of numba, or for other types."""
    if content is None or hashlib.sha256(content[32:]).digest() != content[:32]:
        return None  # a flipped bit in machine code would crash the process
    try:
        compiled = _PUT_TOGETHER(target_context, *pickle.loads(content[32:]))
    except MISFIT:
        return None
    return compiled if compiled.signature.args == tuple(sig) else None


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


class _ByReference:
    """The data model of a named tuple that is passed as a pointer to a copy.

    Numba passes its members one by one, seven for each array: to take them apart and put them together at every call
    was a third of the code that LLVM had to read.
    """

    def __init__(self, model: Any) -> None:
        self._model = model

    def get_argument_type(self) -> Any:
        return self._model.get_value_type().as_pointer()

    def as_argument(self, builder: Any, value: Any) -> Any:
        with builder.goto_entry_block():
            place = builder.alloca(value.type)
        builder.store(value, place)
        return place

    def from_argument(self, builder: Any, place: Any) -> Any:
        return builder.load(place)


class _ArgumentModels:
    """Numba's data models, for arguments."""

    def __init__(self, models: Any) -> None:
        self._models = models

    def lookup(self, kind: Any) -> Any:
        model = self._models.lookup(kind)
        return _ByReference(model) if isinstance(kind, NamedTuple) else model


@cache
def _inlining_context(context: CPUContext) -> CPUContext:
    """Numba's context, with named tuples by reference: nothing is left of that in machine code, the call is inlined."""
    own: Any = copy(context)
    own.get_arg_packer = partial(ArgPacker, _ArgumentModels(context.data_model_manager))
    return own


IDLE_PASSES = frozenset(
    {
        "with_lifting", "inline_closure_likes", "make_function_op_code_to_jit_function", "inline_inlinables",
        "inline_overloads", "rewrite_semantic_constants", "dead_branch_prune", "find_literally", "literal_unroll",
        "LiteralPropagation", "nopython_rewrites", "annotate_types", "dump_parfor_diagnostics",
    }
)  # fmt: skip
"""Passes of numba for what no kernel contains (closures, `with`, expressions of whole arrays, literal types) or for
printing: they would change nothing, but each visits every statement."""


def _without_idle_passes(passes: PassManager) -> list[Any]:
    return [(step, text) for step, text in passes.passes if step.name() not in IDLE_PASSES]


class KernelCompiler(CompilerBase):
    """Numba's compiler for machine code without a Python fallback."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.state.flags = _OpenFlags(self.state.flags)

    def define_pipelines(self) -> list[Any]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = _without_idle_passes(passes)
        passes.finalize()
        return [passes]


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


def _call_part(state: Any, description: Any) -> Any:
    """The call of a part, by the calling convention it is compiled with, whatever that of the caller is."""
    own, call = state.targetctx, user_function(description, [state.library])

    @wraps(call)
    def call_part(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return call(own, builder, signature, arguments)

    return call_part


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
        state.targetctx._defns[entry].append(_call_part(state, lowered.fndesc), lowered.fndesc.argtypes)
        state["cr"] = lowered._replace(cfunc=entry)
        return True


class PartCompiler(KernelCompiler):
    """The compiler of parts; those that are inlined take named tuples by reference."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        if self.state.flags.forceinline:
            self.state.targetctx = _inlining_context(self.state.targetctx)

    def define_pipelines(self) -> list[Any]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state, "part")
        passes.passes = [
            (_PartLowering, text) if step is NativeLowering else (step, text)
            for step, text in _without_idle_passes(passes)
        ]
        passes.finalize()
        return [passes]


def without_literals(part: Any) -> Any:
    """Make a part be compiled for the types of its arguments alone.

    Numba would compile it once more for every constant that it is called with, also where a variable only begins as a
    constant.
    """
    find_template = part.get_call_template

    def get_call_template(args: Any, kws: Any) -> Any:
        return find_template([unliteral(each) for each in args], kws)

    part.get_call_template = get_call_template
    return part
