"""Reproducibility: parameters, versions, seed, and the code of the run."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from committee import __version__
from committee.base.text import pluralize, shorten
from committee.report._section import Section, Table, table
from committee.report.context import Context

TITLE = "Reproducibility"
PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "polars", "altair", "vl-convert-python")
NOTE = "The same seed, rows and versions give the same model bit for bit, with any number of threads."


def provenance(context: Context) -> Section:
    """Parameters, settings, versions, and code that repeats the run."""
    size = f"{pluralize(context.n_rows, 'row')}, {pluralize(len(context.names), 'column')}"
    collapsed = [_parameters(context.core), _versions()]
    if context.comparison is not None and context.comparison.settings:
        settings = [(shorten(str(k)), shorten(str(v), 160)) for k, v in context.comparison.settings.items()]
        collapsed.insert(0, table("Settings of the comparison", "setting|value", settings))
    lead = f"{context.method}, {size}, seed {context.seed}."
    return Section("provenance", TITLE, lead, collapsed=tuple(collapsed), notes=(NOTE,), code=_code(context))


def _parameters(model: Any) -> Table:
    """Parameters that differ from their defaults."""
    values = model.get_params(deep=False)
    try:
        defaults = type(model)().get_params(deep=False)
    except TypeError:  # a parameter without a default
        defaults = {}
    changed = {name: value for name, value in values.items() if repr(value) != repr(defaults.get(name, _UNKNOWN))}
    rows = [(name, shorten(repr(value), 80)) for name, value in sorted(changed.items())]
    caption = f"Parameters of {type(model).__name__}" + (", except defaults" if defaults else "")
    return table(caption if rows else f"{caption}: none", "parameter|value", rows)


_UNKNOWN = object()


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


def _code(context: Context) -> str:
    if context.notes is not None and context.notes.command:
        return context.notes.command
    if context.comparison is not None:
        seed = context.comparison.random_state
        return f"from committee import compare\n\ncomparison, model = compare(X, y, random_state={seed})"
    parts = [context.model, *(part for part in context.model.get_params().values() if hasattr(part, "get_params"))]
    imports = sorted({f"from {_package(type(part))} import {type(part).__name__}" for part in parts})
    call = shorten(" ".join(repr(context.model).split()), 400)
    return "\n".join([*imports, "", f"model = {call}.fit(X, y)"])


def _package(cls: type) -> str:
    """The public module of a class."""
    names = cls.__module__.split(".")
    return "committee" if names[0] == "committee" else ".".join(name for name in names if not name.startswith("_"))
