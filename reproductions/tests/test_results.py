"""Numbers agree within rounding and chance; the page of reproductions shows them."""

from __future__ import annotations

import numpy as np
import pytest

from committee.base.stats import Mean
from committee.records.history import History
from committee_reproductions import REPRODUCTIONS, Claim, ReproductionResult, Row
from committee_reproductions.report import reproductions_page, section
from committee_reproductions.results import (
    PaperTable,
    gather_curves,
    gather_means,
    is_above,
    is_not_below,
    mean_over_draws,
    row,
    verdict_of,
)


@pytest.mark.parametrize(
    ("obtained", "stderr", "published_stderr", "agrees"),
    [
        (0.2465, 0.0, 0.0, True),  # rounds to what is printed
        (0.2464, 0.0, 0.0, False),
        (0.30, 0.03, 0.0, True),  # 0.0605 of room: two standard errors of ours and the rounding
        (0.31, 0.03, 0.0, False),
        (0.31, 0.03, 0.03, True),  # and two of theirs
    ],
)
def test_numbers_agree_within_rounding_and_two_standard_errors(
    obtained: float, stderr: float, published_stderr: float, agrees: bool
) -> None:
    assert Row("a", obtained, stderr, 0.247, published_stderr, 3).agrees is agrees


def test_a_misprint_does_not_agree_and_is_named() -> None:
    result = REPRODUCTIONS["majority-vote"].run()
    wrong = [row for row in result.rows if not row.agrees]
    assert [row.published for row in wrong] == [0.073]
    assert "0.074 is right" in wrong[0].what
    assert result.verdict.startswith("4 of 5 published numbers agree")


def test_what_is_not_published_is_not_compared() -> None:
    assert row("a", Mean(0.3, 0.1)).agrees is None
    assert verdict_of([row("a", Mean(0.3, 0.1))], []) == "nothing is published to compare with"


def test_claims_need_two_standard_errors() -> None:
    assert is_above(Mean(0.21, 0.1)) is True
    assert is_above(Mean(0.2, 0.1)) is None
    assert is_above(Mean(-0.21, 0.1)) is False
    assert is_not_below(Mean(-0.2, 0.1))
    assert not is_not_below(Mean(-0.21, 0.1))
    claims = [Claim("a", True, ""), Claim("b", False, ""), Claim("c", None, "")]
    assert verdict_of([], claims) == "of 3 claims 1 hold, 1 do not, 1 within chance"


def test_standard_errors_of_independent_draws() -> None:
    values = np.array([0.4, 0.3, 0.35, 0.35])
    assert mean_over_draws(values) == pytest.approx((0.35, values.std(ddof=1) / 2))
    assert np.isnan(mean_over_draws(values[:1]).stderr)


def test_curves_are_gathered_in_one_long_table() -> None:
    table = gather_curves([("one", "a", [1, 2], [0.5, 0.25], 0.0), ("two", "b", [3], [1.0], [0.1])])
    assert table.panel.tolist() == ["one", "one", "two"]
    assert table.value.tolist() == [0.5, 0.25, 1.0]
    assert table.stderr.tolist() == [0.0, 0.0, 0.1]
    means = gather_means({("one", "a"): Mean(1.0, 0.1), ("one", "b"): Mean(2.0, 0.2), ("two", "a"): Mean(3.0, 0.3)})
    assert means.x.tolist() == [0.0, 1.0, 0.0]
    assert means.stderr.tolist() == [0.1, 0.2, 0.3]


def test_a_table_of_a_paper_has_published_next_to_obtained() -> None:
    errors = np.array([[0.1, 0.2], [0.3, 0.5]])
    table = PaperTable({"sonar": errors, "own": errors}, ("a", "b"), {"sonar": (15.0, 41.0)})
    assert table.error("sonar", "b") == pytest.approx((40.0, 10.0))
    assert table.difference("sonar", "b", "a") == pytest.approx((25.0, 5.0))
    assert [one.published for one in table.rows()] == [15.0, 41.0, None, None]
    assert table.rows()[1].published_stderr == pytest.approx(10.0)
    np.testing.assert_array_equal(table.to_pandas()["published"], [15.0, 41.0, np.nan, np.nan])


def test_page_has_published_next_to_obtained() -> None:
    rows = (Row("an error", 0.2512, 0.004, 0.25, 0.0, 3), Row("another", 0.5, 0.0, None, 0.0, 3))
    claims = (Claim("it decreases", None, "0.1 ± 0.2"),)
    result = ReproductionResult("spam", rows, claims, History({}), "it is so", None, 1.0, False)
    text = section(result.to_dict())
    assert "| an error | 0.250 | 0.2512 ± 0.0040 | yes |" in text
    assert "| another |  | 0.5000 |  |" in text
    assert "| it decreases | within chance | 0.1 ± 0.2 |" in text
    page = reproductions_page([result.to_dict()])
    assert "| [spam](#spam) | Bagging, random forest and gradient boosting on spam |" in page
    assert "1 of 1 numbers agree; claims: 1 within chance" in page
    without = ReproductionResult("spam", rows[1:], (), History({}), "", None, 1.0, True)
    text = section(without.to_dict())
    assert "| number | obtained |" in text
    assert "too few" in text
