"""Fixtures for the tests and for the examples in docstrings."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    """Draw without a display, and close the figures of a test or an example."""
    if "matplotlib" in sys.modules:
        sys.modules["matplotlib"].use("Agg")
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
