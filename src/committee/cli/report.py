"""`committee report` and `committee inspect`: a page about a model file, and what is in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from rich.console import Console

from committee.base.text import join_names
from committee.cli.compare import command_line, table_digest
from committee.cli.console import print_warnings
from committee.cli.console_results import as_json
from committee.cli.explain import known_target
from committee.cli.model_files import KnownModel, read_facts, read_model
from committee.evaluation.metrics import format_loss
from committee.ingest.column_types import as_numbers, clean_text
from committee.ingest.files import TableError, read_frame
from committee.ingest.row_hashes import JudgedRows, rows_to_judge, training_places, unpacked
from committee.ingest.table import MAX_LISTED, apply_recipe, find_column
from committee.storage import inspect_model
from committee.tabular.identity import row_keys


def write_model_page(model: str, source: str, path: Path, out: Console) -> None:
    """The page about a model on the rows of a table that has the target."""
    from committee.report import TableNotes, write_report

    known = read_model(model)
    recipe = known.facts.recipe
    frame = read_frame(source)
    target = find_column(frame, recipe.target)
    frame = frame.rename({target: recipe.target}) if target != recipe.target else frame
    numbers = np.flatnonzero(_has_target(frame[recipe.target], recipe.labels))  # rows of the file
    if numbers.size == 0:
        raise TableError(f"No row of {source} has a value of {recipe.target!r}.")
    frame = frame[numbers]
    X, y = apply_recipe(recipe, frame), known_target(known, frame)
    judged = _rows_to_judge(known, X, y)
    out.print(_kind_of(judged), markup=False)
    print_warnings(out, [judged.words] if judged.words else [])
    name = "stdin" if source == "-" else Path(source).name
    notes = TableNotes(
        name, recipe.target, _kept_warnings(recipe), command_line(), rows=numbers[judged.rows], of_rows=judged.words
    )
    write_report(
        path, known.model, X[judged.rows], y[judged.rows], table=notes, on_training_data=judged.is_training,
        training_index=judged.places, random_state=known.facts.seed,
    )  # fmt: skip
    if recipe.task == "regression":
        print_warnings(out, _doubts(known, X[judged.rows], y[judged.rows], judged))


def _doubts(known: KnownModel, X: pl.DataFrame, y: NDArray[Any], judged: JudgedRows) -> list[str]:
    """What the report finds wrong with predictions of numbers: a bias, and intervals that cover too few rows."""
    from committee.report._context import Evidence
    from committee.report.intervals import shown_coverage
    from committee.report.residuals import bias_words

    result = Evidence(known.model, X, y, is_training=judged.is_training, training_places=judged.places)
    coverage = shown_coverage(result)
    broken = coverage.words if coverage is not None and coverage.is_broken else ""
    return [words for words in (bias_words(result.judged), broken) if words]


def _has_target(target: pl.Series, labels: str) -> NDArray[np.bool_]:
    """As in training: rows whose target is empty, or no number where numbers are wanted, are no rows to judge."""
    return (clean_text(target) if labels == "str" else as_numbers(target)).is_not_null().to_numpy()


def _rows_to_judge(known: KnownModel, X: pl.DataFrame, y: NDArray[Any]) -> JudgedRows:
    """Which rows the page is about; a model file without hashes knows its training table as a whole only."""
    facts, everything = known.facts, np.arange(X.height)
    try:
        hashes = unpacked(facts.training_rows, facts.n_rows)
    except ValueError as error:
        raise ValueError(f"The model file is damaged: {error}.") from error
    if hashes is not None:
        return rows_to_judge(training_places(*hashes, row_keys(X, y)), facts.n_rows)
    if table_digest(X, y) == facts.digest:
        return JudgedRows(everything, True, None, "")
    words = (
        "The model file does not tell the rows that it was fitted on one by one: if some of these are among them, the "
        "figures flatter it."
    )
    return JudgedRows(everything, None, None, words)


def _kind_of(judged: JudgedRows) -> str:
    if judged.is_training:
        return "the rows it was fitted on"
    if judged.is_training is None:
        return "not the table it was fitted on, but perhaps rows of it"
    return "rows that it was not fitted on" if judged.places is None else "some of the rows it was fitted on"


def _kept_warnings(recipe: Any) -> tuple[str, ...]:
    return tuple(f"{column.name!r} {column.word}." for column in recipe.columns if column.word)


def describe_model(path: str) -> dict[str, Any]:
    """What the header of a model file says, and what `committee` knows of it."""
    info = inspect_model(path)._asdict()
    info.pop("metadata", None)
    result: dict[str, Any] = {name: value for name, value in info.items() if value not in (None, [], {}, False)}
    try:
        facts = read_facts(path)
    except ValueError:
        return as_json(result)
    result |= {
        "method": facts.method,
        "target": facts.recipe.target,
        "task": facts.recipe.task,
        "rows": facts.n_rows,
        "columns_left_out": [column.name for column in facts.recipe.columns if column.kind == "dropped"],
        "seed": facts.seed,
    }
    if facts.scores:
        held_out = {name: format_loss(name, value) for name, value in facts.scores.items()}
        result["held_out"] = ", ".join(f"{name} {value}" for name, value in held_out.items())
    return as_json(result)


def readable_lines(result: dict[str, Any]) -> list[tuple[str, str]]:
    """What `describe_model` tells, a line for each thing and for each part of it."""
    lines = list[tuple[str, str]]()
    for name, value in result.items():
        if isinstance(value, dict):
            parts: dict[str, Any] = value
            lines += readable_lines({f"{name}: {part}": of for part, of in parts.items() if of is not None})
        elif isinstance(value, list):
            many: list[Any] = value
            lines.append((name.replace("_", " "), join_names(many, MAX_LISTED) if many else "none"))
        else:
            lines.append((name.replace("_", " "), f"{value:.6g}" if isinstance(value, float) else str(value)))
    return lines
