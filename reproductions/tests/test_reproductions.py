"""The reproductions: every one runs, compares with what is published by one rule, and is drawn."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from committee.evaluation._folds import Mean
from committee.records.history import History
from committee_reproductions.published import Claim, Row, gather_curves, is_above, is_not_below, row, sum_up
from committee_reproductions.reproduction_page import reproductions_page, section
from committee_reproductions.reproductions import REPRODUCTIONS, ReproductionResult

matplotlib = pytest.importorskip("matplotlib")


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    matplotlib.use("Agg")
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.mark.parametrize("name", list(REPRODUCTIONS))
def test_every_reproduction_runs_compares_and_is_drawn(name: str, tmp_path: Path) -> None:
    from committee_reproductions.plots.reproductions import draw_reproduction

    result = REPRODUCTIONS[name].run(quick=True)
    assert result.id == name
    assert result.is_quick
    assert result.rows
    assert result.claims or any(one.published is not None for one in result.rows)
    assert np.isfinite([(one.obtained, one.stderr) for one in result.rows]).all()
    assert np.isfinite(result.curves.value).all()
    assert len(result.to_pandas()) == len(result.rows)
    told = json.loads(json.dumps(result.to_dict()))
    assert told["title"] == REPRODUCTIONS[name].title
    assert len(told["rows"]) == len(result.rows)
    path = draw_reproduction(result, tmp_path / "pictures" / f"{name}.png")
    assert path.read_bytes().startswith(b"\x89PNG")


def test_reproductions_are_found_by_id_and_by_name_whatever_the_spelling() -> None:
    assert REPRODUCTIONS["e13"] is REPRODUCTIONS["E-13"] is REPRODUCTIONS["boosting curves"]
    assert len({told.name for told in REPRODUCTIONS.values()}) == len(REPRODUCTIONS)
    with pytest.raises(KeyError, match="did you mean majority-vote"):
        REPRODUCTIONS["majority-votes"]
    with pytest.raises(KeyError, match="there are: B-1"):
        REPRODUCTIONS["no such thing at all"]


def test_experiments_of_the_lecture_notes_are_all_there() -> None:
    wanted = {"B-1", "B-2", "C-2", "C-7", "D-8", "D-9", "E-5", "E-13", "E-14", "F-2", "F-6", "G-1", "H", "I-5"}
    assert wanted <= set(REPRODUCTIONS)
    assert {"BREIMAN-2001", "FREUND-1996"} <= set(REPRODUCTIONS)


@pytest.mark.parametrize(
    ("obtained", "stderr", "published_stderr", "agrees"),
    [
        (0.2465, 0.0, 0.0, True),  # rounds to what is printed
        (0.2464, 0.0, 0.0, False),
        (0.30, 0.03, 0.0, True),  # 0.0525 of room: two standard errors of ours and the rounding
        (0.31, 0.03, 0.0, False),
        (0.31, 0.03, 0.03, True),  # and of theirs
    ],
)
def test_numbers_agree_within_rounding_and_two_standard_errors(
    obtained: float, stderr: float, published_stderr: float, agrees: bool
) -> None:
    assert Row("a", obtained, stderr, 0.247, published_stderr, 3).agrees is agrees


def test_a_slip_of_the_document_does_not_agree_and_is_said() -> None:
    result = REPRODUCTIONS["B-1"].run()
    wrong = [row for row in result.rows if not row.agrees]
    assert [row.published for row in wrong] == [0.073]
    assert "0.074 is right" in wrong[0].what
    assert result.verdict.startswith("4 of 5 published numbers agree")
    assert "slip" in result.verdict


def test_what_is_not_published_is_not_judged() -> None:
    assert row("a", Mean(0.3, 0.1)).agrees is None
    assert sum_up([row("a", Mean(0.3, 0.1))], []) == "nothing is published to compare with"


def test_claims_need_two_standard_errors() -> None:
    assert is_above(Mean(0.21, 0.1)) is True
    assert is_above(Mean(0.2, 0.1)) is None
    assert is_above(Mean(-0.21, 0.1)) is False
    assert is_not_below(Mean(-0.2, 0.1))
    assert not is_not_below(Mean(-0.21, 0.1))
    claims = [Claim("a", True, ""), Claim("b", False, ""), Claim("c", None, "")]
    assert sum_up([], claims) == "of 3 claims 1 hold, 1 do not, 1 within chance"


def test_curves_are_gathered_in_one_long_table() -> None:
    found = gather_curves([("one", "a", [1, 2], [0.5, 0.25], 0.0), ("two", "b", [3], [1.0], [0.1])])
    assert found.panel.tolist() == ["one", "one", "two"]
    assert found.value.tolist() == [0.5, 0.25, 1.0]
    assert found.stderr.tolist() == [0.0, 0.0, 0.1]


def test_page_has_published_beside_obtained() -> None:
    rows = (Row("an error", 0.2512, 0.004, 0.25, 0.0, 3), Row("another", 0.5, 0.0, None, 0.0, 3))
    claims = (Claim("it falls", None, "0.1 ± 0.2"),)
    result = ReproductionResult("B-1", rows, claims, History({}), "it is so", None, 1.0, False)
    text = section(result.to_dict())
    assert "| an error | 0.250 | 0.2512 ± 0.0040 | yes |" in text
    assert "| another |  | 0.5000 |  |" in text
    assert "| it falls | within chance | 0.1 ± 0.2 |" in text
    page = reproductions_page([result.to_dict()])
    assert "| [B-1](#b-1-the-error-of-a-majority-of-independent-voters) |" in page
    assert "1 of 1 numbers agree; claims: 1 within chance" in page
    without = ReproductionResult("B-1", rows[1:], (), History({}), "", None, 1.0, True)
    text = section(without.to_dict())
    assert "| number | obtained |" in text
    assert "too few" in text
