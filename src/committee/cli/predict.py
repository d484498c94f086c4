"""`committee predict`: answers for a table of any size, batch by batch."""

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
from committee.cli.model_files import KnownModel, inner_model
from committee.ingest.column_types import clean_text, columns_from, is_textual
from committee.ingest.files import ENDINGS, PACKED, STDIN, TableError, iterate_frames, kind_of, require_writable
from committee.ingest.table import apply_recipe, find_column
from committee.voting.calibrated_classifier import uncalibrated

PREDICTION = "prediction"


class Wish(NamedTuple):
    """What is asked of every row."""

    probabilities: bool = False
    interval: float | None = None  # level
    votes: bool = False
    keep: tuple[str, ...] = ()  # columns of the table to hand through
    batch_rows: int = 50_000


def predict_batches(
    known: KnownModel, source: str, wish: Wish, odd: Counter[tuple[str, str]] | None = None
) -> Iterator[pl.DataFrame]:
    """The answers, batch by batch, in the order of the rows; `odd` counts the cells that tell the model nothing."""
    for number, frame in enumerate(iterate_frames(source, batch_rows=wish.batch_rows)):
        if frame.height:
            if odd is not None:
                odd.update(odd_cells(known, frame))
            yield predict_frame(known, frame, wish)
        elif number == 0:  # a table without rows gets an answer without rows
            apply_recipe(known.facts.recipe, frame)
            yield _beside(_handed_through(frame, wish.keep), [pl.Series(PREDICTION, [], pl.String)])


def predict_frame(known: KnownModel, frame: pl.DataFrame, wish: Wish) -> pl.DataFrame:
    """The answers for one batch."""
    recipe, model = known.facts.recipe, known.model
    X = apply_recipe(recipe, frame)
    answer = model.predict(X)
    columns = [pl.Series(PREDICTION, answer.tolist())]
    if wish.probabilities:
        columns += _probabilities(model, X)
    if wish.interval is not None:
        columns += _interval(known, answer, wish.interval)
    if wish.votes:
        columns += member_votes(model, X)
    return _beside(_handed_through(frame, wish.keep), columns)


def _beside(handed: list[pl.Series], predictions: list[pl.Series]) -> pl.DataFrame:
    """Columns of the table under their names, but for those that are called as an answer is; then the answers."""
    taken = {each.name for each in (*handed, *predictions)}
    called = {each.name for each in predictions}
    result = list[pl.Series]()
    for each in handed:
        name = each.name
        while each.name in called and name in taken:
            name += " of the table"
        taken.add(name)
        result.append(each.alias(name))
    return pl.DataFrame([*result, *predictions])


NO_NUMBERS = "number"
NO_DATES = "date"
NOT_SEEN = "not seen"


def odd_cells(known: KnownModel, frame: pl.DataFrame) -> Counter[tuple[str, str]]:
    """Cells that cannot be read as in training, and categories that the model has not seen, by column."""
    result = Counter[tuple[str, str]]()
    seen = _seen_categories(known.model)
    for recipe in known.facts.recipe.kept:
        if recipe.name not in frame.columns:
            continue
        series = frame[recipe.name]
        there = clean_text(series).drop_nulls() if is_textual(series) else series.drop_nulls()
        if there.dtype.is_float():
            there = there.drop_nans()
        if recipe.kind == "category":
            shown = columns_from(recipe, there)[0].cast(pl.String)
            n_odd = int((~shown.is_in(seen[recipe.name])).sum()) if recipe.name in seen else 0
            result[recipe.name, NOT_SEEN] += n_odd
        elif recipe.kind in ("number", "date"):
            word = NO_NUMBERS if recipe.kind == "number" else NO_DATES
            result[recipe.name, word] += columns_from(recipe, there)[0].null_count()
    return result


def _seen_categories(model: Any) -> dict[str, list[str]]:
    columns = getattr(uncalibrated(model), "columns_", None)
    if columns is None:
        return {}
    places = [f for f in range(columns.n_features) if columns.categories[f] is not None]
    return {columns.name(f): [str(label) for label in columns.category_names(f)] for f in places}


def odd_cell_words(odd: Counter[tuple[str, str]]) -> list[str]:
    """A line for each column."""
    return [f'"{name}": {_odd_words(what, n)}' for (name, what), n in odd.items() if n]


def _odd_words(what: str, n: int) -> str:
    if what == NOT_SEEN:
        return f"{pluralize(n, 'cell')} with a value that the model has not seen"
    return f"1 cell is no {what} and counts as missing" if n == 1 else f"{n} cells are no {what}s and count as missing"


def _handed_through(frame: pl.DataFrame, keep: tuple[str, ...]) -> list[pl.Series]:
    """In the order asked for, each once."""
    if keep == ("all",):
        return frame.get_columns()
    return [frame[name] for name in dict.fromkeys(find_column(frame, name) for name in keep)]


def _probabilities(model: Any, X: pl.DataFrame) -> list[pl.Series]:
    if not hasattr(model, "predict_proba"):
        raise TableError("This model gives no probabilities: it predicts numbers, or only classes.")
    shares = model.predict_proba(X)
    return [pl.Series(f"probability {label}", shares[:, k]) for k, label in enumerate(model.classes_)]


def _interval(known: KnownModel, answer: NDArray[Any], level: float) -> list[pl.Series]:
    if known.facts.recipe.task == "classification":
        raise TableError("Intervals are for numbers; ask a classifier for --probabilities.")
    low, high = interval_ends(known, answer, level)
    return [pl.Series("low", low), pl.Series("high", high)]


def interval_ends(known: KnownModel, answer: Floats, level: float) -> tuple[Floats, Floats]:
    """Ends of prediction intervals: those of the model's `predict_interval`, which the report evaluates."""
    if not 0.0 < level < 1.0:
        raise TableError(f"An interval holds the truth with a probability between 0 and 1, not {level:g}.")
    _residuals(known)
    with warnings.catch_warnings():  # `interval_warnings` gives it, once for all batches
        warnings.simplefilter("ignore", UserWarning)
        low, high = known.model.interval_around(answer, level).T
    return low, high


def interval_warnings(known: KnownModel, level: float | None) -> list[str]:
    """What intervals of this level cannot promise, for want of rows."""
    if level is None or known.facts.recipe.task == "classification":
        return []
    words = _residuals(known).few_residuals_warning(level)
    return [words] if words else []


def _residuals(known: KnownModel) -> Residuals:
    """Those of the model, which has those of the model file where its fit gave none."""
    result = known.model.interval_residuals() if isinstance(known.model, PredictionIntervals) else ()
    if not result:
        raise TableError(
            "The model file keeps no residuals to make intervals of: make it again by `committee fit` or `committee "
            "compare`."
        )
    return result[0]


# --- members ----------------------------------------------------------------------------------------------------------


def member_votes(model: Any, X: pl.DataFrame) -> list[pl.Series]:
    """What each member answers by itself: a class, or a number."""
    core, rows, _ = inner_model(model, X)
    predictions = _member_predictions(core, rows)
    if not predictions:
        raise TableError(f"{type(core).__name__} has no members that answer one by one.")
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
    """Write batches as they come; to a file whole or not at all. Number of rows.

    Of a table `from_text`, columns handed through that hold numbers or truths get their types in typed files.
    """
    if output == STDIN:
        return _write_csv(batches, sys.stdout.buffer, flush=True)
    path, kind = Path(output), kind_of(output)
    if path.suffix and path.suffix.lower() not in (*ENDINGS, *PACKED):
        raise TableError(f"Answers cannot be written as {path.suffix}: take {', '.join(ENDINGS)}.")
    if path.suffix.lower() in PACKED and kind != "csv":
        raise TableError(
            f"Of answers, CSV only is packed: take {path.with_suffix('').name} or a name as answers.csv.gz."
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
    """To write to; what is called .gz is packed."""
    is_packed = draft.suffix.lower() in PACKED
    return gzip.open(draft, "wb") if is_packed else draft.open("wb")  # pyright: ignore[reportReturnType]


def _write_csv(batches: Iterator[pl.DataFrame], stream: IO[bytes], flush: bool = False) -> int:
    n_rows = 0
    for number, batch in enumerate(batches):
        stream.write(_flat(batch).write_csv(include_header=number == 0).encode())
        if flush:
            stream.flush()
        n_rows += batch.height
    return n_rows


def _flat(batch: pl.DataFrame) -> pl.DataFrame:
    """Lists and records handed through, and bytes, as text: a cell of CSV is one value."""
    for name, dtype in batch.schema.items():
        if dtype.is_nested() or dtype == pl.Binary:
            texts = [None if cell is None else _cell_of_csv(cell) for cell in batch[name].to_list()]
            batch = batch.with_columns(pl.Series(name, texts, pl.String))
    return batch


def _cell_of_csv(cell: Any) -> str:
    return cell.decode(errors="replace") if isinstance(cell, bytes) else json.dumps(cell, default=str)


def _write_typed(batches: Iterator[pl.DataFrame], draft: Path, kind: str, from_text: bool) -> int:
    """Parts on disk first, joined without being in memory together; only then all cells of a column are known."""
    n_rows = 0
    types: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory(dir=draft.parent, prefix=".parts.") as folder:
        for number, batch in enumerate(batches):
            batch.write_ipc(Path(folder) / f"{number:08d}.arrow")
            n_rows += batch.height
            handed = batch.columns[: batch.columns.index(PREDICTION)] if from_text else []
            for name in handed:
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
"""Texts that are numbers or truths and nothing else; 007 is a name."""


def is_text(source: str) -> bool:
    """Whether the cells of a table come without their types."""
    return source == STDIN or kind_of(source) == "csv"


def _all_are(texts: pl.Series, kind: str) -> bool:
    present = texts.drop_nulls()
    return bool(present.str.contains(CELLS[kind]).all())


def _typed(name: str, kind: str) -> pl.Expr:
    column = pl.col(name)
    return column.str.to_lowercase() == "true" if kind == "Boolean" else column.cast(getattr(pl, kind))
