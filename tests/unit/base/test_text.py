"""Formatting of numbers, percentages, times, counts and names."""

from __future__ import annotations

import math

import pytest

from committee.base.text import (
    format_decimals,
    format_level,
    format_number,
    format_percent,
    format_seconds,
    format_whole_percent,
    join_names,
    pluralize,
    shorten,
)


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (0.123456, 3, "0.123"), (0.123456, 4, "0.1235"), (1234567.0, 3, "1,234,567"), (42.0, 3, "42"),
        (-0.00004321, 3, "-0.0000432"), (0.0, 3, "0"), (1e12, 3, "1.00e+12"), (1e-9, 2, "1.0e-09"),
        (math.nan, 3, "—"), (math.inf, 3, "∞"), (-math.inf, 3, "-∞"),
    ],
)  # fmt: skip
def test_numbers_have_significant_digits(value: float, digits: int, text: str):
    assert format_number(value, digits) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(2.5, "2.5"), (30.0, "30"), (0.0123456, "0.0123"), (1.23e-7, "1.23e-07"), (1234567.891, "1234567.89"),
     (-0.0, "0"), (1e300, f"{1e300:.0f}"), (12345678901234567.5, "12345678901234568")],
)  # fmt: skip
def test_decimals_are_kept_where_they_matter(value: float, text: str):
    assert format_decimals(value, 2) == text


@pytest.mark.parametrize(
    ("fraction", "stderr", "text"),
    [
        (0.0432, math.nan, "4.3%"), (0.0004, math.nan, "0.040%"), (0.0, math.nan, "0%"), (1.0, math.nan, "100.0%"),
        (math.nan, math.nan, "—"), (math.nan, 0.1, "—"), (0.25, 0.05, "25.0% ± 5.0%"),
        (0.0001, 0.00004, "0.010% ± 0.004%"), (0.5, 0.0, "50.0% ± 0%"),
    ],
)  # fmt: skip
def test_percentages_have_as_many_decimals_as_their_errors_need(fraction: float, stderr: float, text: str):
    assert format_percent(fraction, stderr=stderr) == text


def test_errors_are_appended_where_they_are_known():
    assert format_number(0.4731, 4, stderr=0.0124) == "0.4731 ± 0.012"
    assert format_number(0.4731, 4, stderr=math.nan) == "0.4731"


def test_whole_percentages_never_round_to_all_or_none():
    assert [format_whole_percent(x) for x in (0, 0.001, 0.5, 0.999, 1)] == ["0%", "<1%", "50%", ">99%", "100%"]
    assert format_level(0.975) == "97.5%"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.00042, "0.42 ms"), (0.0123, "12 ms"), (0.9999, "1.0 s"), (99.96, "1 min 40 s"), (119.7, "2 min 0 s"),
     (math.nan, "—"), (math.inf, "—")],
)  # fmt: skip
def test_times_have_their_usual_unit(seconds: float, text: str):
    assert format_seconds(seconds) == text


def test_counts_and_lists():
    assert pluralize(1, "row") == "1 row"
    assert pluralize(1500, "leaf", "leaves") == "1,500 leaves"
    assert join_names([]) == ""
    assert join_names(["a", "b"]) == "a and b"
    assert join_names("abc", 3) == "a, b and c"
    assert join_names("abcde", 2) == "a, b and 3 more"


@pytest.mark.parametrize("length", [15, 20, 28])
def test_long_names_lose_their_middle(length: int):
    text = shorten("Department of Health and Social Services", length)
    assert len(text) <= length
    assert text.startswith("Depart")
    assert text.endswith("ervices"[-length // 3 :])
    assert shorten("short", length) == "short"
