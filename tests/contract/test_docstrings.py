"""Docstrings of public estimators, functions and result classes describe each parameter, attribute and result."""

from __future__ import annotations

import importlib
import inspect
import re
import warnings
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from committee.base.docstrings import undocumented
from committee.catalog import CATALOG
from tests.contract.test_golden import MODELS, sample_of, task_of


def folder(cls: type) -> str:
    return cls.__module__.split(".")[1]


CLASSES: list[Any] = [getattr(importlib.import_module("committee"), entry.name) for entry in CATALOG]
CLASSES = [cls for cls in CLASSES if isinstance(cls, type)]


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_every_parameter_and_attribute_is_described(cls: Any):
    assert undocumented(cls) == []


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_the_docstring_has_a_summary_and_an_example(cls: Any):
    doc = cls.__doc__ or ""
    assert re.match(r"[A-Z].*\.\n", doc)
    assert "Examples\n--------\n>>> " in doc


@pytest.mark.parametrize("name", MODELS)
def test_every_attribute_that_fit_sets_is_listed(name: str):
    model = MODELS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(*sample_of(task_of(model)))
    attributes = (model.__doc__ or "").partition("Attributes\n----------\n")[2]
    public = {key for key in vars(model) if key.endswith("_") and not key.startswith("_")}
    assert {key for key in public if not re.search(rf"^{key}( :|$)", attributes, re.MULTILINE)} == set()


# --- functions and result classes ------------------------------------------------------------------------------------

PACKAGES = ("", ".datasets", ".theory", ".evaluation", ".explain", ".ingest", ".plots", ".storage")


def public(package: str) -> Iterator[Any]:
    """Functions and classes that a package lists; a package that lists modules has the names of these."""
    module = importlib.import_module(package)
    for name in getattr(module, "__all__", ()):
        value = importlib.import_module(f"{package}.{name}") if package.endswith("theory") else getattr(module, name)
        yield from public(value.__name__) if isinstance(value, ModuleType) else [value]


ITEMS = {value for part in PACKAGES for value in public(f"committee{part}") if callable(value)} - set(CLASSES)
ITEMS = sorted(
    (
        value
        for value in ITEMS
        if not hasattr(value, "fit")
        and folder(value) != "base"
        and not (isinstance(value, type) and issubclass(value, Exception))
    ),
    key=lambda value: (value.__module__, value.__name__),
)
FUNCTIONS = [value for value in ITEMS if inspect.isfunction(value)]
RESULTS = [value for value in ITEMS if isinstance(value, type)]


def section(value: Any, title: str) -> str:
    doc = inspect.getdoc(value) or ""
    match = re.search(rf"^{title}\n-+\n(.*?)(?=^[A-Z][A-Za-z ]*\n-+\n|\Z)", doc, re.MULTILINE | re.DOTALL)
    return match.group(1) if match else ""


def listed(text: str) -> list[str]:
    """Names at the left margin of a section, in order."""
    heads = [line.partition(" : ")[0] for line in text.splitlines() if line and not line.startswith(" ")]
    return [name.strip(" *") for head in heads for name in head.split(",")]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda value: value.__name__)
def test_a_function_describes_its_parameters_and_its_result(function: Any):
    assert re.match(r"[A-Z].*[.:]$", (inspect.getdoc(function) or "").partition("\n\n")[0].replace("\n", " "))
    assert listed(section(function, "Parameters")) == list(inspect.signature(function).parameters)
    assert section(function, "Returns") or inspect.signature(function).return_annotation in (None, "None")
    assert ">>> " in section(function, "Examples")


@pytest.mark.parametrize("cls", RESULTS, ids=lambda value: value.__name__)
def test_a_result_describes_its_fields(cls: Any):
    assert re.match(r"[A-Z].*[.:]$", (inspect.getdoc(cls) or "").partition("\n\n")[0].replace("\n", " "))
    assert listed(section(cls, "Attributes")) == list(getattr(cls, "_fields", listed(section(cls, "Attributes"))))
