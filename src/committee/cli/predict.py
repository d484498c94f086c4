"""`committee predict`: predictions for a table of any size, in batches."""

from __future__ import annotations

import gzip
import json
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.atomic_write import atomic_write
from committee.base.text import pluralize
from committee.calibration.prediction_intervals import PredictionIntervals, Residuals
from committee.cli.model_files import LoadedModel, inner_model
from committee.ingest.column_types import clean_text, features_of, is_textual
from committee.ingest.files import STDIN, TableError, iterate_frames, require_writable
from committee.ingest.schema import find_column
from committee.tabular.text_files import ENDINGS, PACKED, kind_of

PREDICTION = "prediction"


class PredictOptions(NamedTuple):
    """The columns to write for every row."""

    probabilities: bool = False
    interval: float | None = None  # level
    votes: bool = False
    keep: tuple[str, ...] = ()  # columns of the table
    batch_rows: int = 50_000


def predict_batches(
    loaded: LoadedModel, source: str, options: PredictOptions, unreadable: Counter[tuple[str, str]] | None = None
) -> Iterator[pl.DataFrame]:
    """Predictions in batches, in the order of the rows; `unreadable` counts cells that are treated as missing."""
    for number, frame in enumerate(iterate_frames(source, batch_rows=options.batch_rows)):
        if frame.height:
            if unreadable is not None:
                unreadable.update(unreadable_cells(loaded, frame))
            yield predict_frame(loaded, frame, options)
        elif number == 0:  # a table without rows has predictions without rows
            loaded.metadata.schema.apply(frame)
            yield _join(_kept_columns(frame, options.keep), [pl.Series(PREDICTION, [], pl.String)])


def predict_frame(loaded: LoadedModel, frame: pl.DataFrame, options: PredictOptions) -> pl.DataFrame:
    """The predictions for one batch."""
    model = loaded.model
    X = loaded.metadata.schema.apply(frame)
    prediction = model.predict(X)
    columns = [pl.Series(PREDICTION, prediction.tolist())]
    if options.probabilities:
        columns += _probabilities(model, X)
    if options.interval is not None:
        columns += _interval(loaded, prediction, options.interval)
    if options.votes:
        columns += member_votes(model, X)
    return _join(_kept_columns(frame, options.keep), columns)


def _join(kept: list[pl.Series], predictions: list[pl.Series]) -> pl.DataFrame:
    """Columns of the table, renamed where a column of predictions has their name, and the predictions."""
    taken = {each.name for each in (*kept, *predictions)}
    added = {each.name for each in predictions}
    result = list[pl.Series]()
    for each in kept:
        name = each.name
        while each.name in added and name in taken:
            name += " of the table"
        taken.add(name)
        result.append(each.alias(name))
    return pl.DataFrame([*result, *predictions])


NOT_A_NUMBER, NOT_A_DATE, NEW_CATEGORY = "not a number", "not a date", "new category"


def unreadable_cells(loaded: LoadedModel, frame: pl.DataFrame) -> Counter[tuple[str, str]]:
    """Number of cells that are not numbers or dates where the training table has them, and of new categories."""
    result = Counter[tuple[str, str]]()
    for column in loaded.metadata.schema.feature_columns:
        if column.name not in frame.columns:
            continue
        series = frame[column.name]
        present = clean_text(series).drop_nulls() if is_textual(series) else series.drop_nulls()
        if present.dtype.is_float():
            present = present.drop_nans()
        if column.type == "categorical" and column.categories and not column.has_other:
            result[column.name, NEW_CATEGORY] += int((~clean_text(present).is_in(list(column.categories))).sum())
        elif column.type in ("numeric", "date"):
            what = NOT_A_NUMBER if column.type == "numeric" else NOT_A_DATE
            result[column.name, what] += features_of(column, present)[0].null_count()
    return result


def cell_warnings(unreadable: Counter[tuple[str, str]]) -> list[str]:
    """A warning for each column."""
    return [f'"{name}": {_cells(what, n)}' for (name, what), n in unreadable.items() if n]


def _cells(what: str, n: int) -> str:
    if what == NEW_CATEGORY:
        return f"{pluralize(n, 'cell')} with a category that is not in the training table"
    return f"{pluralize(n, 'cell')} {'is' if n == 1 else 'are'} {what} and treated as missing"


def _kept_columns(frame: pl.DataFrame, keep: tuple[str, ...]) -> list[pl.Series]:
    """The columns to keep, in order and each once."""
    if keep == ("all",):
        return frame.get_columns()
    return [frame[name] for name in dict.fromkeys(find_column(frame, name) for name in keep)]


def _probabilities(model: Any, X: pl.DataFrame) -> list[pl.Series]:
    if not hasattr(model, "predict_proba"):
        raise TableError(f"{type(model).__name__} has no class probabilities.")
    probabilities = model.predict_proba(X)
    return [pl.Series(f"probability {label}", probabilities[:, k]) for k, label in enumerate(model.classes_)]


def _interval(loaded: LoadedModel, prediction: NDArray[Any], level: float) -> list[pl.Series]:
    if loaded.metadata.schema.task == "classification":
        raise TableError("Prediction intervals are for regression; for classification pass --probabilities.")
    low, high = interval_ends(loaded, prediction, level)
    return [pl.Series("low", low), pl.Series("high", high)]


def interval_ends(loaded: LoadedModel, prediction: Floats, level: float) -> tuple[Floats, Floats]:
    """Ends of prediction intervals around predictions, as by `predict_interval`."""
    if not 0.0 < level < 1.0:
        raise TableError(f"The level of an interval must be between 0 and 1; got {level:g}.")
    _residuals(loaded)
    with warnings.catch_warnings():  # given once by `interval_warnings`
        warnings.simplefilter("ignore", UserWarning)
        low, high = loaded.model.interval_around(prediction, level).T
    return low, high


def interval_warnings(loaded: LoadedModel, level: float | None) -> list[str]:
    """A warning if there are too few residuals for intervals of this level."""
    if level is None or loaded.metadata.schema.task == "classification":
        return []
    words = _residuals(loaded).few_residuals_warning(level)
    return [words] if words else []


def _residuals(loaded: LoadedModel) -> Residuals:
    result = loaded.model.interval_residuals() if isinstance(loaded.model, PredictionIntervals) else ()
    if not result:
        raise TableError(
            "The model file has no residuals for prediction intervals: fit the model again by `committee fit` or "
            "`committee compare`."
        )
    return result[0]


# --- members ----------------------------------------------------------------------------------------------------------


def member_votes(model: Any, X: pl.DataFrame) -> list[pl.Series]:
    """Predictions of the members."""
    core, rows, _ = inner_model(model, X)
    predictions = _member_predictions(core, rows)
    if not predictions:
        raise TableError(f"{type(core).__name__} has no members with predictions of their own.")
    return [pl.Series(f"vote {name}", values.tolist()) for name, values in predictions.items()]


def _member_predictions(core: Any, rows: Any) -> dict[str, NDArray[Any]]:
    classes = getattr(core, "classes_", None)
    if hasattr(core, "member_predictions"):
        result = core.member_predictions(rows)
        named: dict[Any, Any] = result if isinstance(result, dict) else dict(enumerate(result, start=1))
        return {str(name): _chosen(values, classes) for name, values in named.items()}
    members = getattr(core, "estimators_", ())
    return {str(t): member.predict(rows) for t, member in enumerate(members, start=1)}


def _chosen(values: Floats, classes: NDArray[Any] | None) -> NDArray[Any]:
    if classes is None:
        return values.reshape(len(values))
    return classes[np.argmax(values, axis=1)]


# --- writing ----------------------------------------------------------------------------------------------------------


def write_predictions(batches: Iterator[pl.DataFrame], output: str, from_text: bool = False) -> int:
    """Write batches one by one, to a file atomically; returns the number of rows.

    If the table comes `from_text`, kept columns of numbers or booleans get their types in typed files.
    """
    if output == STDIN:
        return _write_csv(batches, sys.stdout.buffer, flush=True)
    path, kind = Path(output), kind_of(output)
    if path.suffix and path.suffix.lower() not in (*ENDINGS, *PACKED):
        raise TableError(f"Predictions cannot be written as {path.suffix}: use {', '.join(ENDINGS)}.")
    if path.suffix.lower() in PACKED and kind != "csv":
        raise TableError(
            f"Only CSV files are compressed: use {path.with_suffix('').name} or a name like predictions.csv.gz."
        )
    if path.is_dir():
        raise TableError(f"{output} is a directory: name a file in it.")
    require_writable(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as draft:
        if kind == "csv":
            with _opened(draft) as stream:
                return _write_csv(batches, stream)
        return _write_typed(batches, draft, kind, from_text)


def _opened(draft: Path) -> IO[bytes]:
    """Open for writing, compressed if the suffix is .gz."""
    is_compressed = draft.suffix.lower() in PACKED
    return gzip.open(draft, "wb") if is_compressed else draft.open("wb")  # pyright: ignore[reportReturnType]


def _write_csv(batches: Iterator[pl.DataFrame], stream: IO[bytes], flush: bool = False) -> int:
    n_rows = 0
    for number, batch in enumerate(batches):
        stream.write(_flat(batch).write_csv(include_header=number == 0).encode())
        if flush:
            stream.flush()
        n_rows += batch.height
    return n_rows


def _flat(batch: pl.DataFrame) -> pl.DataFrame:
    """Convert lists, records and bytes to text for CSV."""
    for name, dtype in batch.schema.items():
        if dtype.is_nested() or dtype == pl.Binary:
            texts = [None if cell is None else _cell_of_csv(cell) for cell in batch[name].to_list()]
            batch = batch.with_columns(pl.Series(name, texts, pl.String))
    return batch


def _cell_of_csv(cell: Any) -> str:
    return cell.decode(errors="replace") if isinstance(cell, bytes) else json.dumps(cell, default=str)


def _write_typed(batches: Iterator[pl.DataFrame], draft: Path, kind: str, from_text: bool) -> int:
    """Write parts to disk, then join them one by one: the type of a column depends on all its cells."""
    n_rows = 0
    types: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory(dir=draft.parent, prefix=".parts.") as folder:
        for number, batch in enumerate(batches):
            batch.write_ipc(Path(folder) / f"{number:08d}.arrow")
            n_rows += batch.height
            kept = batch.columns[: batch.columns.index(PREDICTION)] if from_text else []
            for name in kept:
                if batch.schema[name] == pl.String:
                    types[name] = [each for each in types.get(name, list(CELLS)) if _all_are(batch[name], each)]
        chosen = [_typed(name, left[0]) for name, left in types.items() if left]
        parts = pl.scan_ipc(Path(folder) / "*.arrow").with_columns(chosen)
        {"parquet": parts.sink_parquet, "ndjson": parts.sink_ndjson}.get(kind, parts.sink_ipc)(draft)
    return n_rows


CELLS = {
    "Int64": r"^-?(0|[1-9]\d{0,17})$",
    "Float64": r"^-?(0|[1-9]\d*)(\.\d*)?([eE][-+]?\d+)?$",
    "Boolean": r"^(true|false|True|False|TRUE|FALSE)$",
}
"""Texts that are numbers or booleans; 007 is not a number."""


def is_text(source: str) -> bool:
    """Whether the cells of a table are read as text."""
    return source == STDIN or kind_of(source) == "csv"


def _all_are(texts: pl.Series, kind: str) -> bool:
    present = texts.drop_nulls()
    return bool(present.str.contains(CELLS[kind]).all())


def _typed(name: str, kind: str) -> pl.Expr:
    column = pl.col(name)
    return column.str.to_lowercase() == "true" if kind == "Boolean" else column.cast(getattr(pl, kind))
