"""Numpydoc docstrings of estimators, composed of what stands with each field.

The docstring that a class writes holds its summary, its notes and its example. The sections "Parameters" and
"Attributes" are made of the fields of the class and of its bases (`param(..., doc=...)`, `fitted(doc=...)`) and of its
public properties whose names end with an underscore: inherited ones are listed too, and nothing is written twice.
They are composed whenever `__doc__` is read, so that `import committee` does not wait for them.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import textwrap
from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils._param_validation import HasMethods, Interval, Options, StrOptions

CONSTRAINTS = "constraints"
DOC = "doc"
"""Keys of the metadata of a field."""

LATER_SECTION = re.compile(r"^(See Also|Notes|References|Examples)\n-+$", re.MULTILINE)

WORDS = {
    "boolean": "bool",
    "array-like": "array-like",
    "random_state": "int or RandomState instance",
    "cv_object": "int, splitter or iterable",
    "sparse matrix": "sparse matrix",
    "verbose": "int or bool",
    "no_validation": "",
}

ARRAYS = {
    "Floats": "ndarray of float",
    "NDArray[np.float64]": "ndarray of float",
    "NDArray[np.int32]": "ndarray of int",
    "NDArray[np.int64]": "ndarray of int",
    "NDArray[np.bool_]": "ndarray of bool",
    "NDArray[Any]": "ndarray",
    "BaseEstimator": "estimator",
    "[Any]": "",
    "Any": "",
}
"""Annotations in words."""

COMMON = {
    "random_state": "Seed of everything drawn at random. The same data, parameters and seed give the same model.",
    "n_jobs": "Number of threads; -1 uses all cores, None a single thread. The model is the same for any number.",
    "verbose": "Whether to show the progress of `fit`.",
    "warm_start": "Whether `fit` continues from the previous fit on the same rows instead of starting again.",
    "class_weight": 'Weights of the classes, as a mapping or "balanced": inversely proportional to their frequencies.',
    "categorical_features": 'Categorical columns, by name, position or mask; "from_dtype" takes columns of a '
    "categorical or string type.",
    "splitter": '"best" tries the cuts between all distinct values, "binned" those between at most `max_bins` quantile '
    'bins, "random" one random threshold per feature; "auto" is "best" up to 100,000 rows and "binned" beyond.',
    "max_depth": "Maximum depth of a tree; None grows without a limit.",
    "min_samples_split": "Minimum number of rows of a node that is split; a float is a fraction of all rows.",
    "min_samples_leaf": "Minimum number of rows in a leaf; a float is a fraction of all rows.",
    "min_weight_fraction_leaf": "Minimum fraction of the total weight in a leaf.",
    "max_features": 'Features to search at every node, drawn at random: a number, a fraction, "sqrt", "log2", or None '
    "for all. A feature that is constant in the node does not count.",
    "max_leaf_nodes": "Maximum number of leaves; the tree then grows best-first, by the largest impurity decrease.",
    "min_impurity_decrease": "Minimum decrease of the weighted impurity by a split.",
    "ccp_alpha": "Penalty per leaf of minimal cost-complexity pruning; 0 does not prune.",
    "monotonic_cst": "Direction of the prediction in each feature: 1 increasing, -1 decreasing, 0 free; an array in "
    "the order of the columns, or a mapping by name. For classifiers of two classes: of the probability of the second.",
    "interaction_cst": "Groups of features, by position or name, that may meet on a path from the root to a leaf; "
    '"pairwise" and "no_interactions" are all pairs and all single features.',
    "max_bins": "Maximum number of bins per feature of binned trees.",
    "validation_fraction": 'Fraction of the rows held out by early_stopping="validation".',
    "n_iter_no_change": "Rounds without a better validation error after which the fit stops.",
    "max_features_": "Number of features searched at every node.",
    "n_outputs_": "Number of targets.",
    "classes_": "The class labels, in ascending order.",
    "n_classes_": "Number of classes.",
    "columns_": "Names, categories and number of the columns of X in `fit`.",
    "n_features_in_": "Number of columns of X in `fit`.",
    "feature_names_in_": "Names of the columns of X in `fit`, if all of them are strings.",
    "history_": "Measurements of the fit, a row for each round.",
    "stop_reason_": "Why fitting stopped.",
}
"""Descriptions of names that mean the same in every estimator; a field may describe itself otherwise."""


class ComposedDocstring:
    """The `__doc__` of a class: what was written, with the sections made of its fields."""

    def __init__(self, written: str) -> None:
        self.written = written

    def __get__(self, instance: Any, owner: type) -> str:
        return compose(owner, self.written)


def compose(cls: Any, written: str) -> str:
    """The docstring of a class whose own text is `written`."""
    text = inspect.cleandoc(written)
    match = LATER_SECTION.search(text)
    begin = match.start() if match else len(text)
    head, tail = text[:begin].rstrip(), text[begin:]
    sections = [_section("Parameters", _parameters(cls)), _section("Attributes", _attributes(cls)), tail]
    return "\n\n".join(part for part in (head, *sections) if part) + "\n"


def undocumented(cls: Any) -> list[str]:
    """Parameters and public fitted attributes of a class without a description."""
    entries = (*_parameters(cls), *_attributes(cls))
    return [name for name, _, description in entries if not description]


def _section(title: str, entries: list[tuple[str, str, str]]) -> str:
    if not entries:
        return ""
    lines = [title, "-" * len(title)]
    for name, kind, description in entries:
        lines.append(f"{name} : {kind}" if kind else name)
        lines += textwrap.wrap(description, 110, initial_indent="    ", subsequent_indent="    ")
    return "\n".join(lines)


def _parameters(cls: Any) -> list[tuple[str, str, str]]:
    """Name, type and description of each parameter, in the order of the signature."""
    fields = {field.name: field for field in dataclasses.fields(cls) if field.init}
    names = [name for name in inspect.signature(cls.__init__).parameters if name in fields]
    return [(name, _kind_of(fields[name]), _description(fields[name])) for name in names]


def _kind_of(field: Any) -> str:
    constraints = field.metadata.get(CONSTRAINTS, "no_validation")
    kinds = [_plain_type(field.type)] if constraints == "no_validation" else [w for w in map(_word, constraints) if w]
    kind = " or ".join(([", ".join(kinds[:-1])] if kinds[:-1] else []) + kinds[-1:])
    if field.default is dataclasses.MISSING:
        return kind
    default = f'"{field.default}"' if isinstance(field.default, str) else repr(field.default)
    return ", ".join(part for part in (kind, f"default={default}") if part)


def _word(constraint: Any) -> str:
    """A constraint in words."""
    if constraint is None:
        return "None"
    if isinstance(constraint, str):
        return WORDS.get(constraint, constraint)
    if isinstance(constraint, StrOptions | Options):
        names = [f'"{name}"' for name in sorted(constraint.options)]
        return names[0] if len(names) == 1 else "{" + ", ".join(names) + "}"
    if isinstance(constraint, Interval):
        return _interval(constraint)
    if constraint is np.random.Generator:
        return "Generator"
    if isinstance(constraint, HasMethods):
        return "estimator"
    return getattr(constraint, "__name__", "") if isinstance(constraint, type) else "callable"


def _interval(interval: Any) -> str:
    name = "int" if interval.type is Integral else "float"
    if interval.right is None:
        sign = ">=" if interval.closed in ("left", "both") else ">"
        return name if interval.left is None else f"{name} {sign} {interval.left:g}"
    if interval.left is None:
        sign = "<=" if interval.closed in ("right", "both") else "<"
        return f"{name} {sign} {interval.right:g}"
    opening = "[" if interval.closed in ("left", "both") else "("
    closing = "]" if interval.closed in ("right", "both") else ")"
    return f"{name} in {opening}{interval.left:g}, {interval.right:g}{closing}"


def _plain_type(annotation: Any) -> str:
    """An annotation as documentation writes it."""
    text = str(annotation)
    for name, words in ARRAYS.items():
        text = text.replace(name, words)
    return text.replace(" | ", " or ")


def _description(field: Any) -> str:
    return field.metadata.get(DOC) or COMMON.get(field.name, "")


def _attributes(cls: Any) -> list[tuple[str, str, str]]:
    """Name, type and description of each public attribute that `fit` sets, by name."""
    fields = (field for field in dataclasses.fields(cls) if not field.init)
    result = {field.name: (_plain_type(field.type), _description(field)) for field in fields if _is_public(field.name)}
    result.update(_properties(cls))
    return [(name, *result[name]) for name in sorted(result)]


def _properties(cls: type) -> Iterator[tuple[str, tuple[str, str]]]:
    for name, value in inspect.getmembers_static(cls, lambda member: isinstance(member, property)):
        if _is_public(name):
            kind = _plain_type(getattr(value.fget, "__annotations__", {}).get("return", ""))
            summary = inspect.cleandoc(value.__doc__ or COMMON.get(name, "")).split("\n\n")[0]
            yield name, (kind, " ".join(summary.split()))


def _is_public(name: str) -> bool:
    return name.endswith("_") and not name.startswith("_")
