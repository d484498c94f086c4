"""Parts of kernels have no way in from Python; `callable_part` gives them one for the tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import pytest


@pytest.fixture
def callable_part() -> Callable[[Any], Any]:
    def compiled(part: Any) -> Any:
        n = len(part.py_func.__code__.co_varnames[: part.py_func.__code__.co_argcount])
        names = ", ".join(f"a{i}" for i in range(n))
        scope: dict[str, Any] = {"part": part}
        exec(f"def entry({names}):\n    return part({names})", scope)
        return numba.njit(error_model="numpy")(scope["entry"])

    return compiled
