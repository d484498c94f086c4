"""The page as a file: whole, safe, complete, and readable without its charts."""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from committee import AdaBoostClassifier, DecisionTreeClassifier
from committee.report import TableNotes, write_report
from committee.report import render as page_module
from committee.report._section import Omitted, Section
from committee.report.context import Context
from committee.report.render import SECTIONS, as_json, render
from committee.storage.model_file import load_model, save_model
from tests.unit.report.pages import (
    booster,
    forest,
    glass_comparison,
    of_booster,
    of_forest,
    of_regression,
    ozone_comparison,
    sample,
)

vl_convert = pytest.importorskip("vl_convert")


@cache
def pages() -> dict[str, tuple[list[Section | Omitted], str]]:
    """Sections and text of a page of every kind."""
    result = {
        "booster": of_booster(),
        "forest, compared": of_forest(comparison=glass_comparison()),
        "regression, compared": of_regression(comparison=ozone_comparison()),
    }
    made = {name: [make(one) for make in SECTIONS] for name, one in result.items()}
    return {name: (made[name], render(one, made[name], name)) for name, one in result.items()}


NAMES = ("booster", "forest, compared", "regression, compared")


class Reader(HTMLParser):
    """What of a page matters to a browser or a screen reader."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids, self.tags, self.headings, self.loads = Counter[str](), Counter[str](), list[str](), list[str]()
        self.figures = list[dict[str, int]]()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags[tag] += 1
        if "id" in given:
            self.ids[str(given["id"])] += 1
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(tag)
        for name in ("src", "href", "srcset", "data", "action"):
            if name in given and not str(given[name]).startswith("#"):
                self.loads.append(f"{tag} {name}={given[name]}")


@pytest.mark.parametrize("name", NAMES)
def test_the_page_loads_nothing_and_has_no_identity_twice(name: str) -> None:
    made, text = pages()[name]
    result = Reader(text)
    assert result.loads == []
    assert [key for key, n in result.ids.items() if n > 1] == []
    assert len(text.encode()) < 5_000_000
    assert result.headings[0] == "h1"
    assert Counter(result.headings)["h1"] == 1
    assert set(result.headings) == {"h1", "h2"}
    figures = [figure for one in made if isinstance(one, Section) for figure in one.figures]
    assert result.tags["figure"] == len(figures)
    assert all(figure.alt and figure.table.rows and figure.key in result.ids for figure in figures)


@pytest.mark.parametrize("name", NAMES)
def test_every_section_is_there_or_says_why_not(name: str) -> None:
    made, text = pages()[name]
    assert len(made) == len(SECTIONS)
    for one in made:
        if isinstance(one, Section):
            assert f'<section id="{one.key}"' in text
        else:
            assert one.reason
            assert "failed with" not in one.reason
    rows = [
        (t.header, row)
        for one in made
        if isinstance(one, Section)
        for t in (*one.tables, *one.collapsed)
        for row in t.rows
    ]
    assert all(len(header) == len(row) for header, row in rows)


@pytest.mark.parametrize("name", NAMES)
def test_every_chart_is_vega_lite(name: str) -> None:
    for one in pages()[name][0]:
        for figure in one.figures if isinstance(one, Section) else ():
            vega = vl_convert.vegalite_to_vega(figure.spec)
            assert vega["marks"], figure.key


def test_names_cannot_become_code(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(80, 3)), columns=[evil, "a|b", "#c"])
    y = np.where(X["a|b"] > 0.0, evil, "no")
    model = DecisionTreeClassifier(max_depth=3).fit(X, y)
    notes = TableNotes(evil, evil, (evil,), evil)
    text = write_report(tmp_path / "r.html", model, X, y, table=notes, on_training_data=False).read_text()
    result = Reader(text)
    assert result.tags["img"] == 0
    assert result.tags["script"] == 3
    assert "a|b" in text
    policy = re.search('Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'")
    assert "script-src 'sha256-" in policy[1].replace("&#39;", "'")
    assert "unsafe-eval" not in policy[1]


def test_json_of_a_script_element_comes_back_whole() -> None:
    value = {"a": "</script><!-- & \u2028", "b": [1.5, None]}
    text = as_json(value)
    assert "<" not in text
    assert json.loads(text) == value
    with pytest.raises(ValueError, match="JSON"):
        as_json(float("nan"))


def test_the_page_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "new" / "report.html"
    glass = sample("glass")
    assert write_report(target, forest(), glass.X, glass.y, title="Glass <1>") == target
    before = target.read_text()
    assert "<title>Glass &lt;1&gt;</title>" in before

    def fail(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("committee.base.atomic_write.os.replace", fail)
    with pytest.raises(KeyboardInterrupt):
        write_report(target, forest(), glass.X, glass.y)
    assert target.read_text() == before
    assert [path.name for path in target.parent.iterdir()] == ["report.html"]


def test_a_section_that_fails_is_named_and_the_others_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken_part(result: Context) -> Section:
        raise ArithmeticError("not today")

    monkeypatch.setattr(page_module, "SECTIONS", (SECTIONS[0], broken_part))
    sonar = sample("sonar")
    with pytest.warns(RuntimeWarning, match="not today"):
        text = write_report(tmp_path / "r.html", booster(), sonar.X, sonar.y).read_text()
    assert "Broken part" in text
    assert 'id="summary"' in text


def test_other_rows_than_those_of_fit_are_rejected(tmp_path: Path) -> None:
    glass = sample("glass")
    with pytest.raises(ValueError, match="on_training_data=False"):
        write_report(tmp_path / "r.html", forest(), glass.X.iloc[:50], glass.y[:50])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_odd_models_get_a_page(tmp_path: Path) -> None:
    """One class, unknown labels, unknown weights."""
    sonar = sample("sonar")
    X, y = sonar.X, np.asarray(sonar.y)
    one = DecisionTreeClassifier(max_depth=2).fit(X, np.repeat("M", len(y)))
    strange = np.where(np.arange(len(y)) < 9, "X", y)
    weighted = AdaBoostClassifier(n_estimators=5).fit(X, y, sample_weight=np.linspace(1.0, 2.0, len(y)))
    write_report(tmp_path / "a.html", one, X, np.repeat("M", len(y)))
    write_report(tmp_path / "b.html", booster(), X, strange, on_training_data=False)
    text = write_report(tmp_path / "c.html", weighted, X, y).read_text()
    assert "unknown sample weights" in text
    text = write_report(tmp_path / "d.html", weighted, X, y, sample_weight=np.linspace(1.0, 2.0, len(y))).read_text()
    assert "boosting weight" in text


def test_a_model_saved_for_prediction_only_gets_a_page(tmp_path: Path) -> None:
    sonar = sample("sonar")
    save_model(booster(), tmp_path / "m.committee", prediction_only=True)
    model = load_model(tmp_path / "m.committee")
    text = write_report(tmp_path / "r.html", model, sonar.X, sonar.y).read_text()  # a warning would be an error
    assert "saved for prediction only" in text


def test_large_tables_are_sampled(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30_000, 4))
    y = X[:, 0] + rng.normal(size=30_000) > 0.0
    model = DecisionTreeClassifier(max_depth=4).fit(X, y)
    text = write_report(tmp_path / "r.html", model, X, y, on_training_data=False).read_text()
    assert len(text.encode()) < 2_000_000
