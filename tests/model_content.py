"""The content of a fitted model as a digest: everything in it, bit for bit."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np


def digest(model: Any) -> str:
    """SHA-256 of all attributes, down to the bytes of every array; which parts are the same object does not count."""
    state = hashlib.sha256()
    _add(state, model)
    return state.hexdigest()


def _add(state: Any, part: Any) -> None:
    state.update(f"{type(part).__module__}.{type(part).__qualname__}:".encode())
    if isinstance(part, np.ndarray) and part.dtype != object:
        state.update(f"{part.dtype}{part.shape}".encode() + np.ascontiguousarray(part).tobytes())
    elif isinstance(part, dict):
        for key in sorted(part, key=repr):
            _add(state, (key, part[key]))
    elif isinstance(part, list | tuple | np.ndarray):
        state.update(str(len(part)).encode())
        for each in part:
            _add(state, each)
    elif type(part).__module__.startswith(("committee.", "sklearn.")) and hasattr(part, "__dict__"):
        _add(state, vars(part))
    else:
        state.update(repr(part).encode())
