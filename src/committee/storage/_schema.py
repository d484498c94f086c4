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


def _renamed(**new_names: str) -> Upgrade:
    """An upgrade that gives parameters and attributes other names: old=new."""
    return lambda state: {new_names.get(name, name): value for name, value in state.items()}


def _loss_of_head(head: dict[str, Any]) -> dict[str, Any]:
    """A loss from what its first version kept of it."""
    from committee.losses.classification import CLASSIFICATION_LOSSES
    from committee.losses.loss import USER, Loss
    from committee.losses.regression import REGRESSION_LOSSES

    known = {loss.code: loss for loss in (*REGRESSION_LOSSES.values(), *CLASSIFICATION_LOSSES.values())}
    loss = known.get(head["code"], Loss("custom", USER, functions=head["own"]))
    return loss._replace(parameter=head["p"])._asdict()


def _tuples_for_lists(state: dict[str, Any]) -> dict[str, Any]:
    """An upgrade that replaces lists by tuples."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in state.items()}


def _encoder(name: str) -> Upgrade:
    """An upgrade of `_encoder_upgrades`, which is imported at its first use."""
    return lambda state: getattr(importlib.import_module("committee.storage._encoder_upgrades"), name)(state)


UPGRADES: dict[str, tuple[str, Upgrade]] = {
    "BaggingClassifier/1": ("BaggingClassifier/2", _renamed(patience="n_iter_no_change", tree="tree_size")),
    "BaggingRegressor/1": ("BaggingRegressor/2", _renamed(patience="n_iter_no_change", tree="tree_size")),
    "BestOfRestarts/1": ("RestartClassifier/1", _renamed()),
    "CommitteeClassifier/1": ("CommitteeClassifier/2", _renamed(n_folds="cv")),
    "CommitteeRegressor/1": ("CommitteeRegressor/2", _renamed(n_folds="cv")),
    "ExtraTreesClassifier/1": ("ExtraTreesClassifier/2", _renamed(outputs_="output_forests_")),
    "ExtraTreesRegressor/1": ("ExtraTreesRegressor/2", _renamed(outputs_="output_forests_")),
    "LandmarkSVC/1": ("NystroemSVC/1", _renamed()),
    "LandmarkSVR/1": ("NystroemSVR/1", _renamed()),
    "NuSVC/1": ("NuSVC/2", _renamed(machines_="binary_svms_")),
    "NuSVR/1": ("NuSVR/2", _renamed(machines_="binary_svms_")),
    "NumericPipelineClassifier/1": ("NumericPipelineClassifier/2", _renamed(numbers_="encoder_")),
    "NumericPipelineRegressor/1": ("NumericPipelineRegressor/2", _renamed(numbers_="encoder_")),
    "OnNumbersClassifier/1": ("NumericPipelineClassifier/1", _renamed()),
    "OnNumbersRegressor/1": ("NumericPipelineRegressor/1", _renamed()),
    "OneClassSVM/1": ("OneClassSVM/2", _renamed(machines_="binary_svms_")),
    "RandomForestClassifier/1": ("RandomForestClassifier/2", _renamed(outputs_="output_forests_")),
    "RandomForestRegressor/1": ("RandomForestRegressor/2", _renamed(outputs_="output_forests_")),
    "SVC/1": ("SVC/2", _renamed(machines_="binary_svms_")),
    "SVR/1": ("SVR/2", _renamed(machines_="binary_svms_")),
    "SparselyGatedMixtureClassifier/1": ("SparselyGatedMixtureClassifier/2", _encoder("encoder_of_network")),
    "SparselyGatedMixtureRegressor/1": ("SparselyGatedMixtureRegressor/2", _encoder("encoder_of_network")),
    "committee.category-column/1": ("table.encoder/1", _encoder("from_category_column")),
    "committee.number-column/1": ("table.encoder/1", _encoder("from_number_column")),
    "committee.representation/1": ("committee.representation/2", _encoder("from_parts")),
    "gradient-boosting.head/1": ("loss/1", _loss_of_head),
    "mixture.design/1": ("table.encoder/1", _encoder("from_design")),
    "numeric-columns/1": ("table.encoder/1", _encoder("from_numeric_columns")),
    "regression-boosting.run/1": ("regression-boosting.run/2", _tuples_for_lists),
}
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
