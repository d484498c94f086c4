"""The types that a model file may hold: a stable tag with a version, the class, and the names of what is stored.

`schema.json` has an entry for each:

    "trees.tree/1":   {"class": "module:Class", "fields": [...], "attributes": {name in files: attribute}}
    "SVC/1":          {"class": "module:Class", "state": {name in files: private attribute}}

A file names tags and the names on the left, never modules or private attributes. So a module that moves, or a private
attribute that gets another name, changes a line of `schema.json` and no file. Of an estimator, parameters and public
attributes are stored under their own names, which are its interface, and private ones as "state.<name>". Where what is
stored changes its meaning, the tag gets the next version, and `UPGRADES` a function from the old state to the new one.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from committee.storage.errors import UnstorableError

STATE = "state."
"""Before the names of private attributes of estimators."""

OF_SCIKIT_LEARN = ("_metadata_request", "_sklearn_output_config")
"""Private attributes that scikit-learn sets; they are stored as they are."""


class StoredType(NamedTuple):
    """One type of a model file."""

    tag: str
    home: str
    name: str
    attribute_of: Mapping[str, str]  # name in files -> attribute, of all fields or of an estimator's private attributes
    is_open: bool = False  # other public attributes may be stored besides: an estimator

    @property
    def family(self) -> str:
        """The tag without its version."""
        return self.tag.partition("/")[0]

    def load(self) -> type:
        """The class; its module is imported."""
        return getattr(importlib.import_module(self.home), self.name)

    def stored_name(self, attribute: str) -> str:
        """Under which name a file has an attribute."""
        for name, own in self.attribute_of.items():
            if own == attribute:
                return name
        is_own = self.home.startswith("committee.")
        if self.is_open and not (is_own and attribute.startswith("_") and attribute not in OF_SCIKIT_LEARN):
            return attribute
        raise UnstorableError(
            f"{self.name}.{attribute} cannot be stored: {self.tag!r} in committee/storage/schema.json does not name it."
        )

    def attribute(self, stored: str) -> str:
        """The attribute that a name in a file means; the name itself where the schema has none for it."""
        return self.attribute_of.get(stored, stored)


Upgrade = Callable[[dict[str, Any]], dict[str, Any]]

UPGRADES: dict[str, tuple[str, Upgrade]] = {}
"""Of an older tag: the tag that follows it, and what makes its state of the old one."""


@cache
def stored_types() -> dict[str, StoredType]:
    """All types, by tag."""
    text = Path(__file__).with_name("schema.json").read_text(encoding="utf-8")
    return {tag: _read(tag, entry) for tag, entry in json.loads(text).items()}


def _read(tag: str, entry: Mapping[str, Any]) -> StoredType:
    home, _, name = entry["class"].partition(":")
    if "state" in entry:
        private = {f"{STATE}{stored}": attribute for stored, attribute in entry["state"].items()}
        return StoredType(tag, home, name, private, is_open=True)
    renamed = entry.get("attributes", {})
    return StoredType(tag, home, name, {stored: renamed.get(stored, stored) for stored in entry["fields"]})


@cache
def _by_class() -> dict[tuple[str, str], StoredType]:
    return {(each.home, each.name): each for each in stored_types().values() if each.tag not in UPGRADES}


def stored_type(kind: type) -> StoredType | None:
    """The type of files for this class; None where they may not hold it."""
    return _by_class().get((kind.__module__, kind.__qualname__))


def family_of(kind: type) -> str:
    """The tag of a class without its version; "" for other classes."""
    result = stored_type(kind)
    return "" if result is None else result.family
