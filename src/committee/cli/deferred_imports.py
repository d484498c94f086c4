"""Modules that are imported at their first use: `committee predict` must start fast.

scikit-learn imports scipy.stats and pandas when it is imported itself, which takes longer than a small prediction, and
uses neither to predict. Within `deferred_imports`, an import of such a module yields a stand-in that imports the module
when one of its attributes is read. At the end the stand-ins leave `sys.modules`: later imports are ordinary ones, and
libraries that look there to see whether pandas is in use find that it is not.

`importlib.util.LazyLoader` cannot be used: an import statement reads an attribute of a module that it finds in
`sys.modules`, upon which LazyLoader loads it.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any

UNUSED_BY_PREDICT = ("pandas", "scipy.stats")


@contextmanager
def deferred_imports(names: tuple[str, ...] = UNUSED_BY_PREDICT) -> Generator[None]:
    """Imports of these modules wait for their first use; a module that is missing or imported already is left alone.

    >>> with deferred_imports(("wave",)):
    ...     import wave
    >>> "wave" in sys.modules, wave.Error.__name__, "wave" in sys.modules
    (False, 'Error', True)
    """
    specs = [_find(name) for name in names if name not in sys.modules]
    stand_ins = [_stand_in(spec) for spec in specs if spec is not None]
    sys.modules |= {each.__name__: each for each in stand_ins}
    try:
        yield
    finally:
        for each in stand_ins:
            _remove(each)


def _find(name: str) -> ModuleSpec | None:
    try:
        return find_spec(name)
    except ModuleNotFoundError:  # the package of a submodule is not installed
        return None


def _stand_in(spec: ModuleSpec) -> ModuleType:
    """An empty module that forwards to the real one what it is asked for."""
    module = module_from_spec(spec)

    def forward(attribute: str) -> Any:
        if attribute.startswith("__") and attribute.endswith("__"):  # read by inspection, which is no use
            raise AttributeError(f"module {spec.name!r} has no attribute {attribute!r}")
        _remove(module)  # or the import would find it
        return getattr(import_module(spec.name), attribute)

    vars(module)["__getattr__"] = forward
    return module


def _remove(module: ModuleType) -> None:
    if sys.modules.get(module.__name__) is module:
        del sys.modules[module.__name__]
