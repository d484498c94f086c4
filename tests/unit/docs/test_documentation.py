"""The documentation: the site builds without a warning, pages of algorithms are whole, and every block runs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from committee.catalog import CATALOG
from committee_reproductions import REPRODUCTIONS
from committee_reproductions.report import reproductions_page

ROOT = Path(__file__).resolve().parents[3]
DOCS = ROOT / "docs"
WRITTEN = [ROOT / "README.md", *sorted(path for path in DOCS.rglob("*.md") if DOCS / "algorithms" not in path.parents)]
PAGES = {path.stem: path for path in WRITTEN if "python\n" in path.read_text(encoding="utf-8")}
NEEDED = ("matplotlib", "polars", "pandas", "safetensors", "skops", "vl_convert")
MAX_PICTURE = 60_000
ITEMS = {"A": 7, "B": 8, "C": 9, "D": 9, "E": 14, "F": 6, "G": 7, "H": 5, "I": 8, "J": 4}
"""How many items of each family the lecture notes have: A-1 to A-7, and so on."""
NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:e[-+]?\d+)?")

pytestmark = pytest.mark.skipif(not (ROOT / "mkdocs.yml").exists(), reason="the documentation is not in the package")


@pytest.fixture(autouse=True)
def _hooks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS / "hooks"))


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_blocks_run_and_print_what_the_page_says(page: str) -> None:
    for name in NEEDED:
        pytest.importorskip(name)
    text = PAGES[page].read_text(encoding="utf-8")
    # In a process of its own, where only the packages that the page names can be imported.
    command = [sys.executable, str(DOCS / "hooks" / "run_blocks.py"), "--check", str(PAGES[page])]
    run = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert run.returncode == 0, run.stderr
    result = run.stdout
    assert _words(result) == _words(text)
    # Machines differ in the last digits of their mathematical functions, and a fold or a tree may then differ.
    numbers = [float(number) for number in NUMBER.findall(result)]
    assert numbers == pytest.approx([float(number) for number in NUMBER.findall(text)], rel=0.05, abs=0.005)


def _words(text: str) -> str:
    """The page without its numbers, nor the spaces that make room for them in a table."""
    return re.sub(" +", " ", NUMBER.sub("#", text))


def test_every_item_of_the_lecture_notes_is_on_a_page() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in WRITTEN)
    told = set(re.findall(r"\b[A-J]-\d+\b", text))
    for family, first, last in re.findall(r"\b([A-J])-(\d+) to [A-J]-(\d+)\b", text):
        told |= {f"{family}-{number}" for number in range(int(first), int(last) + 1)}
    wanted = {f"{family}-{number}" for family, n in ITEMS.items() for number in range(1, n + 1)}
    assert sorted(wanted - told) == []
    assert {result for entry in CATALOG for result in entry.ids} <= wanted


def test_no_python_block_is_overlooked() -> None:
    from run_blocks import BLOCK

    for path in WRITTEN:
        text = path.read_text(encoding="utf-8")
        assert len(BLOCK.findall(text)) == len(re.findall(r"(?:```|~~~) *(?:\{ *\.?)?py", text)), path


def test_blocks_that_take_long_are_compiled_and_import() -> None:
    from run_blocks import run_blocks

    page = "```python\n# takes an hour\nimport math\n\nmath.nothing()\n```\n\n```text\n42\n```\n"
    assert run_blocks(page) == page
    with pytest.raises(ImportError):
        run_blocks("```python\n# takes an hour\nfrom math import nothing\n```\n")
    with pytest.raises(SyntaxError):
        run_blocks("```python\n# takes an hour\nmath nothing\n```\n")


def test_every_estimator_is_on_a_page_with_steps_reference_and_example() -> None:
    from algorithm_pages import FIGURES, algorithms, index, page, pseudo_code

    pages = algorithms()
    assert sorted(entry.name for one in pages for entry in one.entries) == sorted(entry.name for entry in CATALOG)
    assert len({one.slug for one in pages}) == len(pages)
    contents = index(pages)
    for one in pages:
        text = page(one, DOCS / "figures")
        assert f"({one.slug}.md)" in contents
        assert one.entries[0].paper.split("; ")[0] in text
        assert all(f"## {entry.name}" in text for entry in one.entries)
        assert ">>> " in text
    steps = pseudo_code()
    assert set(steps) <= {one.slug for one in pages}
    assert set(FIGURES) <= {one.slug for one in pages}
    assert all(max(map(len, text.splitlines())) <= 120 for text in steps.values())


def test_every_public_function_is_in_the_reference_and_in_the_menu() -> None:
    from reference_pages import pages, reference

    import committee

    result = pages()
    assert {item.name for page in result for item in page.items} >= set(committee.__all__) - {
        entry.name for entry in CATALOG
    }
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in result:
        text = reference(page)
        assert page.path in menu
        assert all(f"### {item.name}\n\n```python\nfrom {item.module} import" in text for item in page.items)


@pytest.mark.slow
def test_site_builds_without_a_warning_and_without_the_network(tmp_path: Path) -> None:
    mkdocs = pytest.importorskip("mkdocs.config")
    from mkdocs.commands.build import build

    config = mkdocs.load_config(str(ROOT / "mkdocs.yml"), site_dir=str(tmp_path))
    build(config)  # strict: a dead link or a page outside the menu raises
    made = list(tmp_path.rglob("*.html"))
    assert {"adaboost.html", "RESULTS.html", "index.html", "reproductions.html"} <= {path.name for path in made}
    for path in made:
        fetched = re.findall(
            r'<(?:script|link|img)[^>]+(?:src|href)="(https?://[^"]+)"', path.read_text(encoding="utf-8")
        )
        assert not fetched, path


def test_links_lead_somewhere_in_the_repository_too() -> None:
    """Pages that are made at the build stand in docs/algorithms and nowhere else; the build itself is strict."""
    dead = [
        (path.name, link)
        for path in WRITTEN
        for link in re.findall(r"\]\(([^)\s#]+)", path.read_text(encoding="utf-8"))
        if "://" not in link and not link.startswith("algorithms/") and not (path.parent / link).exists()
    ]
    assert dead == []


def test_every_command_is_described() -> None:
    pytest.importorskip("click")
    from committee.cli import main

    text = (DOCS / "command.md").read_text(encoding="utf-8")
    assert [name for name in main.commands if f"committee {name}" not in text] == []


def test_pictures_are_small() -> None:
    pictures = list((DOCS / "figures").glob("*.png"))
    assert pictures
    assert [path.name for path in pictures if path.stat().st_size > MAX_PICTURE] == []


def test_page_of_reproductions_is_what_was_recorded() -> None:
    from record_reproductions import read_records

    records = read_records()
    assert set(records) == set(REPRODUCTIONS)
    assert not any(record["is_quick"] for record in records.values())
    assert {f"{name}.png" for name in REPRODUCTIONS} <= {path.name for path in (DOCS / "figures").iterdir()}
    text = (DOCS / "reproductions.md").read_text(encoding="utf-8")
    assert text == reproductions_page(records[name] for name in REPRODUCTIONS)
