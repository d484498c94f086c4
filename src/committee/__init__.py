"""committee: ensemble learning on tables, with the evidence attached to every fit."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

from committee.base.garbage_collection import collection_paused as _collection_paused
from committee.base.garbage_collection import promote_all as _promote_all
from committee.catalog import MODULES as _MODULES

__version__ = "0.1.0"

__all__ = sorted(_MODULES)  # pyright: ignore[reportUnsupportedDunderAll] - __init__.pyi lists the names


def __getattr__(name: str) -> Any:
    """Import a public name when it is asked for: `import committee` alone loads none of them."""
    if name in _MODULES:
        return getattr(_import(_MODULES[name]), name)
    raise AttributeError(f"module 'committee' has no attribute {name!r}")


def _import(module: str) -> ModuleType:
    """Import a module, with scikit-learn and numba the first time, of which the garbage collector takes a tenth."""
    if module in sys.modules:
        return importlib.import_module(module)
    with _collection_paused():
        imported = importlib.import_module(module)
        _promote_all()  # or the next collection would examine everything that was imported
    return imported


def __dir__() -> list[str]:
    return sorted([*globals(), *_MODULES])
