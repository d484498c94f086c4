"""Hooks of mkdocs: pages that are made, not written, and links that leave the folder of the documentation."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))

from algorithm_pages import FAMILIES, Algorithm, algorithms, heading_of, index, page  # noqa: E402
from reference_pages import pages as reference_pages  # noqa: E402
from reference_pages import reference  # noqa: E402

FIRST_TABLE = "RESULTS"
"""Of those that `benchmarks/` writes."""


def on_config(config: Any) -> Any:
    """The pages that are made take their places in the menu."""
    pages = algorithms()
    sections: list[Any] = ["algorithms/index.md"]
    families = dict.fromkeys([*FAMILIES, *(one.family for one in pages)])
    sections += [{heading_of(name): own} for name in families if (own := _menu(pages, name))]
    tables = [f"benchmarks/{name}.md" for name in _tables()]
    made = {"Algorithms": sections, "Benchmarks": tables}
    for one in config.nav:
        if isinstance(one, dict):
            one.update({title: made.get(title, told) for title, told in one.items()})
    return config


def on_files(files: Files, config: Any) -> Files:
    """Pages of the algorithms and of the packages, and the tables of the benchmarks."""
    pages = algorithms()
    figures = Path(config.docs_dir) / "figures"
    files.append(File.generated(config, "algorithms/index.md", content=index(pages)))
    for one in pages:
        files.append(File.generated(config, one.path, content=page(one, figures)))
    for one in reference_pages():
        files.append(File.generated(config, one.path, content=reference(one)))
    for name in _tables():
        text = (ROOT / "benchmarks" / f"{name}.md").read_text(encoding="utf-8")
        files.append(File.generated(config, f"benchmarks/{name}.md", content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """In the repository the tables stand beside the documentation, on the site inside it."""
    return markdown.replace("](../benchmarks/", "](benchmarks/")


def _menu(pages: list[Algorithm], family: str) -> list[dict[str, str]]:
    return [{one.title: one.path} for one in pages if one.family == family]


def _tables() -> list[str]:
    names = sorted(path.stem for path in (ROOT / "benchmarks").glob("*.md"))
    return sorted(names, key=lambda name: name != FIRST_TABLE)
