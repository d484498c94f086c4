"""The docstring of every public estimator describes each parameter and each attribute that `fit` sets."""

from __future__ import annotations

import importlib
import re
import warnings
from typing import Any

import pytest

from committee.base.docstrings import undocumented
from committee.catalog import CATALOG
from tests.contract.test_golden import MODELS, sample_of, task_of

NOT_WRITTEN_YET: set[str] = {
    "bagging", "boosting", "calibration", "committees", "experts", "forests", "gradient_boosting", "linear", "members",
    "voting",
}  # fmt: skip
"""Packages whose estimators are not described yet; may only shrink."""


def folder(cls: type) -> str:
    return cls.__module__.split(".")[1]


CLASSES: list[Any] = [getattr(importlib.import_module("committee"), entry.name) for entry in CATALOG]
CLASSES = [cls for cls in CLASSES if isinstance(cls, type) and folder(cls) not in NOT_WRITTEN_YET]


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_every_parameter_and_attribute_is_described(cls: Any):
    assert undocumented(cls) == []


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_the_docstring_has_a_summary_and_an_example(cls: Any):
    doc = cls.__doc__ or ""
    assert re.match(r"[A-Z].*\.\n", doc)
    assert "Examples\n--------\n>>> " in doc


@pytest.mark.parametrize("name", [name for name in MODELS if folder(type(MODELS[name])) not in NOT_WRITTEN_YET])
def test_every_attribute_that_fit_sets_is_listed(name: str):
    model = MODELS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(*sample_of(task_of(model)))
    attributes = (model.__doc__ or "").partition("Attributes\n----------\n")[2]
    public = {key for key in vars(model) if key.endswith("_") and not key.startswith("_")}
    assert {key for key in public if not re.search(rf"^{key} :", attributes, re.MULTILINE)} == set()
