"""Every dependency has a lower bound, repeated in `constraints-lowest.txt`: without them pip backtracks for minutes."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OWN = "committee-reproductions"  # its version is that of committee
EXTERNAL = [
    requirement
    for group in (PROJECT["dependencies"], *PROJECT["optional-dependencies"].values())
    for requirement in map(Requirement, group)
    if requirement.name != OWN
]


def lower_bound(requirement: Requirement) -> str:
    bounds = [each.version for each in requirement.specifier if each.operator in (">=", "==", "~=")]
    return bounds[0] if bounds else ""


@pytest.mark.parametrize("requirement", EXTERNAL, ids=lambda each: each.name)
def test_every_dependency_has_a_lower_bound(requirement: Requirement) -> None:
    assert lower_bound(requirement)


def test_the_lowest_versions_are_those_of_the_bounds() -> None:
    lines = (ROOT / "constraints-lowest.txt").read_text(encoding="utf-8").splitlines()
    lowest = {each.name: Version(lower_bound(each)) for each in map(Requirement, filter(_is_pin, lines))}
    bounds = {each.name: Version(lower_bound(each)) for each in EXTERNAL if each.name in lowest}
    assert bounds == lowest
    assert {Requirement(each).name for each in PROJECT["dependencies"]} <= set(lowest)


def test_python_has_a_lower_bound() -> None:
    """pip on an older Python says at once that there is no matching version."""
    assert PROJECT["requires-python"].startswith(">=3.")


def _is_pin(line: str) -> bool:
    return bool(line) and not line.startswith("#")
