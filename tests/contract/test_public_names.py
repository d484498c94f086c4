"""The stub of the package, which type checkers read, has the names that `committee` offers when it runs."""

from __future__ import annotations

import ast
from pathlib import Path

import committee
from committee.catalog import CATALOG, FUNCTIONS, MODULES


def test_the_stub_and_the_catalog_agree():
    stub = ast.parse(Path(committee.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    listed = {alias.asname: node.module for node in imports for alias in node.names if alias.name == alias.asname}
    assert listed == MODULES
    assert committee.__all__ == sorted(MODULES)


def test_no_function_has_the_name_of_another():
    names = [name for names in FUNCTIONS.values() for name in names]
    assert len(MODULES) == len(CATALOG) + len(set(names))
