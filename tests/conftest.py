"""Fixtures for all tests."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from committee.parts import subtrees


@pytest.fixture
def set_subtree_rows(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Nodes of more rows than this (64 or more) are split one by one from Python, smaller ones become subtrees."""
    return lambda n_rows: monkeypatch.setattr(subtrees, "SUBTREE_ROWS", n_rows)
