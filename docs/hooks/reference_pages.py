"""The reference of public functions and result classes: a page for each package, made from the docstrings."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import Any, NamedTuple

from algorithm_pages import docstring_text

from committee.catalog import CATALOG

PACKAGES = {
    "committee.datasets": "Data sets",
    "committee.evaluation": "Evaluation",
    "committee.explain": "Explanations",
    "committee.plots": "Plots",
    "committee.storage": "Model files",
    "committee.theory": "Theory",
    "committee.ingest": "Tables from files",
    "committee": "Tuning, export and reports",
}
"""Package -> title of its page. The last one holds what no other package lists."""

TEXT_WIDTH = 88


class Item(NamedTuple):
    """A public function or class and where it is imported from."""

    name: str
    module: str
    value: Any

    @property
    def summary(self) -> str:
        return _summary(self.value)


class Page(NamedTuple):
    """The items of a package."""

    package: str
    items: tuple[Item, ...]

    @property
    def path(self) -> str:
        return f"api/{self.package.rpartition('.')[2]}.md"


def pages() -> list[Page]:
    """Every package with its public names; a package that lists modules has the names of these."""
    result: list[Page] = []
    for package in PACKAGES:
        known = {id(item.value) for page in result for item in page.items}
        estimators = {entry.name for entry in CATALOG}
        items = [item for item in _items(package) if item.name not in estimators and id(item.value) not in known]
        result.append(Page(package, tuple(items)))
    return [page for page in result if page.items]


def reference(page: Page) -> str:
    """The page in Markdown: a table of contents, then every function and class."""
    module = importlib.import_module(page.package)
    title, *rest = inspect.cleandoc(module.__doc__ or "").split("\n\n")
    parts = [f"# {PACKAGES[page.package]}: `{page.package}`", docstring_text("\n\n".join([title, *rest]))]
    for name, items in _by_module(page):
        if name != page.package:
            parts += [f"## {name}", docstring_text(inspect.getdoc(importlib.import_module(name)) or "")]
        parts.append("\n".join(["| name | |", "|---|---|", *(_line(item) for item in items)]))
        for item in items:
            parts.append(f"### {item.name}\n\n```python\n{_signature(item)}\n```")
            parts += [docstring_text(inspect.getdoc(item.value) or ""), *_methods(item)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _items(package: str) -> Iterator[Item]:
    module = importlib.import_module(package)
    for name in getattr(module, "__all__", ()):
        value = getattr(module, name, None)
        if value is None or isinstance(value, ModuleType):
            yield from _items(f"{package}.{name}")
        elif callable(value):
            yield Item(name, package, value)


def _by_module(page: Page) -> list[tuple[str, list[Item]]]:
    modules = dict.fromkeys(item.module for item in page.items)
    return [(module, [item for item in page.items if item.module == module]) for module in modules]


def _line(item: Item) -> str:
    return f"| [`{item.name}`](#{item.name.lower()}) | {item.summary.replace('|', chr(92) + '|')} |"


def _summary(value: Any) -> str:
    """The first paragraph of the docstring, on one line."""
    return docstring_text((inspect.getdoc(value) or "").partition("\n\n")[0].replace("\n", " "))


def _signature(item: Item) -> str:
    """How it is imported and called, a parameter a line where one line is too long."""
    called = ""
    if inspect.isfunction(item.value):
        parameters = inspect.signature(item.value).parameters.values()
        plain = [str(p.replace(annotation=inspect.Parameter.empty)) for p in parameters]
        stars = [i for i, p in enumerate(parameters) if p.kind is inspect.Parameter.KEYWORD_ONLY]
        if stars and not any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters):
            plain.insert(stars[0], "*")
        called = f"\n\n{item.name}({', '.join(plain)})"
        if len(called) > TEXT_WIDTH:
            called = f"\n\n{item.name}(\n" + "".join(f"    {one},\n" for one in plain) + ")"
    return f"from {item.module} import {item.name}{called}"


def _methods(item: Item) -> Iterator[str]:
    """Public methods and properties of a class, with the first sentence of each."""
    if not isinstance(item.value, type):
        return
    lines: list[str] = []
    for name, member in vars(item.value).items():
        function = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        is_property = isinstance(member, property)
        if name.startswith("_") or not (is_property or inspect.isfunction(function)):
            continue
        lines.append(f"- `{name if is_property else name + '()'}`: {_summary(function)}")
    if lines:
        yield "**Methods and properties**\n\n" + "\n".join(lines)
