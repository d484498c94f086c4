"""committee: ensemble learning on tables, with the evidence attached to every fit."""

from __future__ import annotations

import importlib
from typing import Any

from committee.catalog import MODULES as _MODULES

__version__ = "0.1.0"

__all__ = sorted(_MODULES)  # pyright: ignore[reportUnsupportedDunderAll] - __init__.pyi lists the names


def __getattr__(name: str) -> Any:
    """Import a public name when it is asked for: `import committee` alone loads none of them."""
    if name in _MODULES:
        return getattr(importlib.import_module(_MODULES[name]), name)
    raise AttributeError(f"module 'committee' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_MODULES])
