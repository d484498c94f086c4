"""`committee report` and `committee inspect`: a page about a model file, and what is in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console

from committee.cli.comparing import command_line, table_digest
from committee.cli.explaining import known_target
from committee.cli.files import TableError, read_frame
from committee.cli.models import read_facts, read_model
from committee.cli.showing import as_json, loss_text
from committee.cli.tables import MOST_LISTED, apply_recipe, find_column
from committee.cli.wording import listed
from committee.storage import inspect_model


def write_model_page(model: str, source: str, path: Path, out: Console) -> None:
    """The page about a model on the rows of a table that has the target."""
    from committee.report import TableNotes, write_report

    known = read_model(model)
    recipe = known.facts.recipe
    frame = read_frame(source)
    target = find_column(frame, recipe.target)
    frame = frame.rename({target: recipe.target}) if target != recipe.target else frame
    frame = frame.filter(frame[recipe.target].is_not_null())
    if frame.height == 0:
        raise TableError(f"No row of {source} has a value of {recipe.target!r}.")
    X, y = apply_recipe(recipe, frame), known_target(known, frame)
    is_training = table_digest(X, y) == known.facts.digest
    out.print("the rows it was fitted on" if is_training else "rows that it was not fitted on", markup=False)
    name = "stdin" if source == "-" else Path(source).name
    notes = TableNotes(name, recipe.target, _kept_warnings(recipe), command_line())
    write_report(path, known.model, X, y, table=notes, is_training=is_training, seed=known.facts.seed)


def _kept_warnings(recipe: Any) -> tuple[str, ...]:
    return tuple(f"{column.name!r} {column.word}." for column in recipe.columns if column.word)


def describe_model(path: str) -> dict[str, Any]:
    """What the header of a model file says, and what `committee` knows of it."""
    info = inspect_model(path)._asdict()
    info.pop("metadata", None)
    found: dict[str, Any] = {name: value for name, value in info.items() if value not in (None, [], {}, False)}
    try:
        facts = read_facts(path)
    except ValueError:
        return as_json(found)
    found |= {
        "method": facts.method,
        "target": facts.recipe.target,
        "task": facts.recipe.task,
        "rows": facts.n_rows,
        "columns_left_out": [column.name for column in facts.recipe.columns if column.kind == "dropped"],
        "seed": facts.seed,
    }
    if facts.scores:
        held_out = {name: loss_text(name, value) for name, value in facts.scores.items()}
        found["held_out"] = ", ".join(f"{name} {value}" for name, value in held_out.items())
    return as_json(found)


def readable_lines(found: dict[str, Any]) -> list[tuple[str, str]]:
    """What `describe_model` tells, a line for each thing and for each part of it."""
    lines = list[tuple[str, str]]()
    for name, value in found.items():
        if isinstance(value, dict):
            parts: dict[str, Any] = value
            lines += readable_lines({f"{name}: {part}": of for part, of in parts.items() if of is not None})
        elif isinstance(value, list):
            many: list[Any] = value
            lines.append((name.replace("_", " "), listed(many, MOST_LISTED) if many else "none"))
        else:
            lines.append((name.replace("_", " "), f"{value:.6g}" if isinstance(value, float) else str(value)))
    return lines
