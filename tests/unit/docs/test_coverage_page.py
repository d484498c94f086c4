"""docs/coverage.md: every id of the source documents has a place and a test that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
ROW = re.compile(r"^\| ([A-J]-\d+) \| (.+) \| (.+) \| `(.+)` \|$", re.MULTILINE)
ROWS = ROW.findall((ROOT / "docs" / "coverage.md").read_text(encoding="utf-8"))

N_ITEMS = {"A": 7, "B": 8, "C": 9, "D": 9, "E": 14, "F": 6, "G": 7, "H": 5, "I": 8, "J": 4}
"""How many items the documents have, by the letter of their ids."""


def test_every_id_has_a_row() -> None:
    wanted = [f"{letter}-{k}" for letter, n in N_ITEMS.items() for k in range(1, n + 1)]
    assert [row[0] for row in ROWS] == wanted


@pytest.mark.parametrize(("name", "what", "places", "test"), ROWS, ids=[row[0] for row in ROWS])
def test_the_place_and_the_test_exist(name: str, what: str, places: str, test: str) -> None:
    for place in re.findall(r"`(.+?)`", places):
        root = "reproductions/src" if place.startswith("committee_reproductions/") else "src/committee"
        assert (ROOT / root / place).is_file(), place
    path, _, function = test.partition("::")
    root = "" if path.startswith("reproductions/") else "tests"
    text = (ROOT / root / path).read_text(encoding="utf-8")
    assert f"def {function or 'test_'}" in text, test
