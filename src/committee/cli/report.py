"""`committee report` and `committee inspect`: an HTML report about a model file, and its contents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from rich.console import Console

from committee.base.text import join_names
from committee.cli.compare import command_line, option_words, source_name, table_digest
from committee.cli.console import print_warnings
from committee.cli.console_results import as_json
from committee.cli.model_files import LoadedModel, read_metadata, read_model
from committee.evaluation.metrics import format_loss
from committee.ingest.column_types import as_numbers, clean_text
from committee.ingest.files import TableError, read_frame
from committee.ingest.row_hashes import EvaluationRows, choose_rows, match_rows, unpacked
from committee.ingest.schema import MAX_LISTED, TableSchema, find_column
from committee.storage import inspect_model
from committee.tabular.identity import row_keys


def write_model_report(model: str, source: str, path: Path, out: Console) -> None:
    """Write the report about a model on the rows of a table that has the target."""
    from committee.report import TableNotes
    from committee.report.context import Inputs, make_context
    from committee.report.render import write_page
    from committee.report.summary import prediction_warnings

    loaded = read_model(model)
    schema = loaded.metadata.schema
    frame = read_frame(source)
    positions = np.flatnonzero(_has_target(frame[find_column(frame, schema.target)], schema))
    if positions.size == 0:
        raise TableError(f"No row of {source} has a value of {schema.target!r}.")
    frame = frame[positions]
    X, y = schema.apply(frame), schema.apply_to_target(frame)
    chosen = _evaluation_rows(loaded, X, y)
    out.print(_description(chosen), markup=False)
    print_warnings(out, [chosen.note] if chosen.note else [])
    notes = TableNotes(
        source_name(source), schema.target, _column_notes(schema), command_line(), rows=positions[chosen.rows],
        of_rows=chosen.note,
    )  # fmt: skip
    context = make_context(
        Inputs(
            loaded.model, X[chosen.rows], y[chosen.rows], notes=notes, is_training=chosen.is_training,
            training_index=chosen.training_index, seed=loaded.metadata.random_state,
        )
    )  # fmt: skip
    write_page(path, context)
    print_warnings(out, prediction_warnings(context))


def _has_target(target: pl.Series, schema: TableSchema) -> NDArray[np.bool_]:
    """Which rows have a target that can be read."""
    return (clean_text(target) if schema.target_type == "str" else as_numbers(target)).is_not_null().to_numpy()


def _evaluation_rows(loaded: LoadedModel, X: pl.DataFrame, y: NDArray[Any]) -> EvaluationRows:
    """The rows to evaluate the model on; without hashes only the whole training table is recognised."""
    metadata, everything = loaded.metadata, np.arange(X.height)
    try:
        hashes = unpacked(metadata.training_rows, metadata.n_rows)
    except ValueError as error:
        raise ValueError(f"The model file is damaged: {error}.") from error
    if hashes is not None:
        return choose_rows(match_rows(*hashes, row_keys(X, y)), metadata.n_rows)
    if table_digest(X, y) == metadata.digest:
        return EvaluationRows(everything, True, None, "")
    note = (
        "The model file has no hashes of its training rows: if some of these rows are among them, losses are too small."
    )
    return EvaluationRows(everything, None, None, note)


def _description(chosen: EvaluationRows) -> str:
    if chosen.is_training:
        return "the training rows"
    if chosen.is_training is None:
        return "not the training table, but possibly rows of it"
    return "new rows" if chosen.training_index is None else "some of the training rows"


def _column_notes(schema: TableSchema) -> tuple[str, ...]:
    return tuple(option_words(f"{column.name!r} {column.note}.") for column in schema.columns if column.note)


def describe_model(path: str) -> dict[str, Any]:
    """The header of a model file and the metadata of the command."""
    info = inspect_model(path)._asdict()
    info.pop("metadata", None)
    result: dict[str, Any] = {name: value for name, value in info.items() if value not in (None, [], {}, False)}
    try:
        metadata = read_metadata(path)
    except ValueError:
        return as_json(result)
    result |= {
        "method": metadata.method,
        "target": metadata.schema.target,
        "task": metadata.schema.task,
        "n_rows": metadata.n_rows,
        "dropped_columns": [column.name for column in metadata.schema.columns if column.type == "dropped"],
        "random_state": metadata.random_state,
        "held_out_losses": metadata.held_out_losses,
    }
    return as_json(result)


def readable_lines(result: dict[str, Any]) -> list[tuple[str, str]]:
    """The lines of a table of the result of `describe_model`."""
    lines = list[tuple[str, str]]()
    for name, value in result.items():
        title = name.replace("_", " ")
        if name == "held_out_losses":
            lines.append((title, ", ".join(f"{loss} {format_loss(loss, each)}" for loss, each in value.items())))
        elif isinstance(value, dict):
            parts: dict[str, Any] = value
            lines += readable_lines({f"{name}: {part}": of for part, of in parts.items() if of is not None})
        elif isinstance(value, list):
            many: list[Any] = value
            lines.append((title, join_names(many, MAX_LISTED) if many else "none"))
        else:
            lines.append((title, f"{value:.6g}" if isinstance(value, float) else str(value)))
    return lines
