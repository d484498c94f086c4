"""Fixtures for all tests."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from committee.tree_engine import subtrees


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """What draws without a random_state of its own draws the same in every run, alone or beside other tests."""
    np.random.seed(0)


@pytest.fixture
def set_subtree_rows(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Nodes of more rows than this (64 or more) are split one by one from Python, smaller ones become subtrees."""
    return lambda n_rows: monkeypatch.setattr(subtrees, "SUBTREE_ROWS", n_rows)
