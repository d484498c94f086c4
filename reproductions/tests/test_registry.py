"""Every reproduction runs, compares with what is published by one rule, and is drawn."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import committee_reproductions
from committee_reproductions import REPRODUCTIONS, ReproductionResult, draw
from committee_reproductions.report import DISCUSSIONS


@cache
def quick(name: str) -> ReproductionResult:
    return REPRODUCTIONS[name].run(quick=True)


@pytest.mark.parametrize("name", list(REPRODUCTIONS))
def test_every_reproduction_runs_and_compares(name: str) -> None:
    result = quick(name)
    assert result.name == name
    assert result.is_quick
    assert result.rows
    assert result.claims or any(one.published is not None for one in result.rows)
    assert np.isfinite([(one.obtained, one.stderr) for one in result.rows]).all()
    assert np.isfinite(result.curves.value).all()
    assert len(result.to_pandas()) == len(result.rows)
    record = json.loads(json.dumps(result.to_dict()))
    assert len(record["rows"]) == len(result.rows)
    assert record["verdict"] == result.verdict


@pytest.mark.parametrize("name", list(REPRODUCTIONS))
def test_every_reproduction_is_drawn_with_readable_text(
    name: str, tmp_path: Path, assert_readable: Callable[[Any], None]
) -> None:
    path = draw(quick(name), tmp_path / "pictures" / f"{name}.png")
    assert path.read_bytes().startswith(b"\x89PNG")
    assert_readable(REPRODUCTIONS[name].figure(quick(name)))


def test_reproductions_are_found_by_name_however_it_is_spelled() -> None:
    assert REPRODUCTIONS["Boosting curves"] is REPRODUCTIONS["boosting-curves"]
    assert all(name == one.name for name, one in REPRODUCTIONS.items())
    with pytest.raises(KeyError, match="did you mean majority-vote"):
        REPRODUCTIONS["majority-votes"]
    with pytest.raises(KeyError, match="there are: majority-vote"):
        REPRODUCTIONS["no such thing at all"]


def test_every_module_of_an_experiment_is_registered() -> None:
    folder = Path(committee_reproductions.__file__).parent
    experiments = {path.stem for path in folder.glob("*.py") if "\ndef reproduce(" in path.read_text(encoding="utf-8")}
    assert experiments == {one.module for one in REPRODUCTIONS.values()}
    assert set(DISCUSSIONS) <= set(REPRODUCTIONS)
