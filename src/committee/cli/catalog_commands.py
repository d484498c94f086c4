"""`committee methods` and `committee reproduce`: lists of methods and estimators, reproductions of experiments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from committee.base.atomic_write import atomic_write, write_text
from committee.catalog import CATALOG
from committee.evaluation.comparison import find_name
from committee.evaluation.methods import METHODS, family
from committee.members.numeric_pipeline import BaseNumericPipeline

COMMITTEE_DESCRIPTION = "weighted combination of the best of the other methods"

SPECIAL_CASES = ("constant",)
"""Methods that are special cases of their estimator, a tree of one leaf, without its papers and properties."""


def catalogue() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The methods of compare, and all estimators."""
    compared = [{"name": method.name, "description": method.description} for method in METHODS]
    compared.append({"name": "committee", "description": COMMITTEE_DESCRIPTION})
    return compared, [{**entry._asdict(), "aliases": list(entry.aliases), "ids": list(entry.ids)} for entry in CATALOG]


def properties_of(name: str) -> tuple[str, list[tuple[str, str]]]:
    """Title and properties of a method of compare or of an estimator, found by its name or an alias."""
    from committee.report.method_cards import CARDS

    compared = {each["name"]: each["description"] for each in catalogue()[0]}
    names = {each.lower(): entry for entry in reversed(CATALOG) for each in (*entry.aliases, entry.name)}
    found = find_name(name, [*compared, *names], "method or estimator")
    entry = names[_class_of(found).lower() if found in compared else found]
    lines = [("in compare", compared[found])] if found in compared else []
    if found in SPECIAL_CASES:
        return found, [*lines, ("estimator", entry.name)]
    lines += [("also called", ", ".join(entry.aliases)), ("paper", entry.paper), ("in", entry.module)]
    card = CARDS.get(entry.name)
    if card is not None:
        lines += [(each.replace("_", " "), f"{own.value}: {own.reason}") for each, own in card.properties.items()]
        if card.measured is not None:
            lines.append(("measured", f"{card.measured.time}, {card.measured.task}"))
    return entry.name, lines


def _class_of(method: str) -> str:
    """The classifier class of a method of compare, for a table of 1000 rows."""
    estimator = family("classification", 1000).get(method)
    if estimator is None:
        return "CommitteeClassifier"
    return type(estimator.estimator if isinstance(estimator, BaseNumericPipeline) else estimator).__name__


def list_reproductions() -> list[dict[str, Any]]:
    """The experiments that can be reproduced."""
    from committee_reproductions.registry import REPRODUCTIONS

    return [
        {name: getattr(each, name) for name in ("name", "title", "source", "claimed")}
        for each in REPRODUCTIONS.values()
    ]


def run_reproduction(
    name: str, quick: bool, folder: Path, progress: bool
) -> tuple[dict[str, Any], tuple[str, ...], list[tuple[str, ...]], list[Path]]:
    """The result, the header and lines of its table, and the files written."""
    from committee_reproductions.registry import REPRODUCTIONS

    try:
        reproduction = REPRODUCTIONS[name]
    except KeyError as error:
        raise ValueError(str(error.args[0])) from error
    found = reproduction.run(progress=progress, quick=quick)
    result = found.to_dict()
    lines = [_result_line(row) for row in result["rows"]]
    lines += [(claim["statement"], "", claim["evidence"], _holds(claim["holds"])) for claim in result["claims"]]
    path = folder / f"{reproduction.name}.json"
    folder.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps(result, indent=1))
    return (
        result,
        ("what", "published", "obtained", "agrees"),
        lines,
        [path, *_picture(found, reproduction.name, folder)],
    )


def _result_line(row: dict[str, Any]) -> tuple[str, ...]:
    digits = row["digits"]
    published = "" if row["published"] is None else f"{row['published']:.{digits}f}"
    obtained = f"{row['obtained']:.{digits}f}" + (f" ± {row['stderr']:.{digits}f}" if row["stderr"] else "")
    return row["what"], published, obtained, "" if row["agrees"] is None else _holds(row["agrees"])


def _holds(holds: bool | None) -> str:
    return {True: "yes", False: "no", None: "not sure"}[holds]


def _picture(found: Any, name: str, folder: Path) -> list[Path]:
    try:
        import matplotlib
    except ImportError:
        return []
    matplotlib.use("Agg")
    from committee_reproductions import draw

    with atomic_write(folder / f"{name}.png") as draft:
        draw(found, draft)
    return [folder / f"{name}.png"]
