"""The schema of a table: its target and the types of its columns, and how new tables are read by it."""

from __future__ import annotations

import json
from difflib import get_close_matches
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from committee.base.text import join_names
from committee.ingest.column_types import ColumnSchema, as_numbers, clean_text, features_of
from committee.ingest.files import TableError, as_frame

Task = Literal["classification", "regression"]
TargetType = Literal["bool", "int", "str", "float"]

SIMILAR = 0.65
"""Similarity of names (difflib) from which one is suggested for the other."""

MAX_NAMED, MAX_LISTED = 6, 20
"""Names in a sentence and in a list; of more the first ones are shown."""


class TableSchema(NamedTuple):
    """Target and column types of a training table, for reading new tables in the same way.

    Attributes
    ----------
    target : str
        Name of the target column.
    task : {"classification", "regression"}
        Task.
    columns : tuple of ColumnSchema
        Types of the other columns, dropped ones included.
    target_type : {"bool", "int", "str", "float"}
        Type of the class labels; "float" for a regression.
    sample_weight, groups, time : str
        Names of the columns with sample weights, groups and times, which are not features; "" for none.

    Examples
    --------
    >>> import polars as pl
    >>> from committee.ingest import ColumnSchema, TableSchema
    >>> schema = TableSchema("price", "regression", (ColumnSchema("area", "numeric"),), "float")
    >>> schema.apply(pl.DataFrame({"area": ["80,5", "121"]}))["area"].to_list()
    [80.5, 121.0]
    >>> TableSchema.from_json(schema.to_json()) == schema
    True
    """

    target: str
    task: Task
    columns: tuple[ColumnSchema, ...]
    target_type: TargetType
    sample_weight: str = ""
    groups: str = ""
    time: str = ""

    @property
    def feature_columns(self) -> tuple[ColumnSchema, ...]:
        """The columns that features are made of."""
        return tuple(column for column in self.columns if column.type != "dropped")

    def apply(self, table: Any) -> pl.DataFrame:
        """Make the features of a table as those of the training table were made.

        Parameters
        ----------
        table : str, Path or DataFrame
            Path of a file, "-" for stdin, or a polars or pandas DataFrame.

        Returns
        -------
        X : polars DataFrame
            Features: Float64 and Categorical columns.
        """
        frame = as_frame(table)
        names = [column.name for column in self.feature_columns]
        missing = [name for name in names if name not in frame.columns]
        if missing:
            near = get_close_matches(missing[0], frame.columns, n=1, cutoff=SIMILAR)
            advice = f" Did you mean {near[0]!r}?" if near else ""
            raise TableError(
                f"The table has no column {join_names(list(map(repr, missing)), MAX_NAMED)}, which the model "
                f"needs.{advice} Its columns are: {join_names(frame.columns, MAX_LISTED)}."
            )
        made = [feature for column in self.feature_columns for feature in features_of(column, frame[column.name])]
        taken = set[str]()
        for place, feature in enumerate(made):
            name = feature.name
            while name in taken:  # a date "d" makes "d.year", and the table may have one
                name += "'"
            taken.add(name)
            made[place] = feature.alias(name)
        return pl.DataFrame(made)

    def apply_to_target(self, table: Any) -> NDArray[Any]:
        """Read the target of a table, in the type of the training target.

        Parameters
        ----------
        table : str, Path or DataFrame
            As for `apply`.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Class labels or values.
        """
        frame = as_frame(table)
        series = frame[find_column(frame, self.target)]
        if self.target_type == "str":
            return np.array(clean_text(series).to_list(), dtype=object)
        values = as_numbers(series).to_numpy()
        return (
            values if self.target_type == "float" else values.astype(bool if self.target_type == "bool" else np.int64)
        )

    def to_json(self) -> str:
        """The schema as JSON text."""
        return json.dumps({**self._asdict(), "columns": [column._asdict() for column in self.columns]})

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The schema of a JSON text."""
        fields: dict[str, Any] = json.loads(text)
        return cls(columns=tuple(map(_column, fields.pop("columns"))), **fields)


def _column(plain: dict[str, Any]) -> ColumnSchema:
    """A column of its JSON object, whose unknown fields are ignored."""
    column = ColumnSchema(**{name: value for name, value in plain.items() if name in ColumnSchema._fields})
    return column._replace(categories=tuple(column.categories), parts=tuple(column.parts))


def find_column(frame: pl.DataFrame, name: str) -> str:
    """The column of that name; case and surrounding blanks are ignored."""
    if name in frame.columns:
        return name
    plain = {column.strip().lower(): column for column in frame.columns}
    if name.strip().lower() in plain:
        return plain[name.strip().lower()]
    near = [plain[match] for match in get_close_matches(name.strip().lower(), list(plain), n=3, cutoff=SIMILAR)]
    columns = f"The columns are: {join_names(frame.columns, MAX_LISTED)}."
    advice = f"Did you mean {' or '.join(map(repr, near))}?" if near else columns
    raise TableError(f"No such column: {name!r}. {advice}")
