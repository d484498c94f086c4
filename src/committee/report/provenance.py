"""What was run, with which versions and seed, and how to run it again."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from committee import __version__
from committee.base.text import pluralize, shorten
from committee.report._context import Evidence
from committee.report._section import Section, Table, table

TITLE = "What was run"
PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "polars", "altair", "vl-convert-python")


def provenance(result: Evidence) -> Section:
    """Versions, parameters, plan, and a few lines that repeat it."""
    size = f"{pluralize(result.n_rows, 'row')} and {pluralize(len(result.names), 'column')}"
    lead = f"{result.method} on {size}, with the seed {result.seed}."
    folded = [_parameters(result.core), _versions()]
    if result.comparison is not None and result.comparison.settings:
        plan = [(shorten(str(k)), shorten(str(v), 160)) for k, v in result.comparison.settings.items()]
        folded.insert(0, table("The plan of the comparison", "what|value", plan))
    notes = (
        "The same seed, rows and versions give the same model bit for bit, with any number of threads.",
    )  # fmt: skip
    return Section("provenance", TITLE, lead, folded=tuple(folded), notes=notes, code=_again(result))


def _parameters(model: Any) -> Table:
    """The parameters that differ from their defaults, or all of them where none does."""
    own = model.get_params(deep=False)
    try:
        usual = type(model)().get_params(deep=False)
    except TypeError:  # some have parameters without a default
        usual = {}
    changed = {name: value for name, value in own.items() if repr(value) != repr(usual.get(name, _NOTHING))}
    rows = [(name, shorten(repr(value), 80)) for name, value in sorted(changed.items())]
    title = f"Parameters of {type(model).__name__}" + (" that are not the defaults" if usual else "")
    return table(title if rows else f"Parameters of {type(model).__name__}: all as they come", "parameter|value", rows)


_NOTHING = object()


def _versions() -> Table:
    rows = [
        ("committee", __version__),
        ("Python", platform.python_version()),
        ("system", platform.platform(terse=True)),
    ]
    for name in PACKAGES:
        try:
            rows.append((name, version(name)))
        except PackageNotFoundError:
            continue
    return table("Versions", "package|version", list[tuple[str, ...]](rows))


def _again(result: Evidence) -> str:
    if result.notes is not None and result.notes.command:
        return result.notes.command
    if result.comparison is not None:
        call = f"comparison, model = compare(X, y, random_state={result.comparison.random_state})"
        return f"from committee.evaluation.comparison import compare\n\n{call}"
    module = type(result.core).__module__
    home = "committee" if module.startswith("committee.") else module
    return f"from {home} import {result.method}\n\nmodel = {_call(result.core)}.fit(X, y)"


def _call(model: Any) -> str:
    text = " ".join(repr(model).split())
    return shorten(text, 400)
