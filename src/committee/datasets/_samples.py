"""Built-in data sets: small public tables used by the examples, the tests and the demo."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:  # neither is a dependency of the library
    import pandas as pd
    import polars as pl

Table = TypeVar("Table")
Task = Literal["classification", "regression"]
MISSING = ("", "NA")


class Dataset(NamedTuple, Generic[Table]):
    """A built-in data set, as returned by `load_dataset`.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features), or a pandas or polars DataFrame
        The features. Cells that are empty in the source are NaN (null in polars).
    y : ndarray of shape (n_samples,)
        Class labels as the source names them (strings, or integers if all labels are integers), floats for regression.
    feature_names : tuple of str
        Names of the columns of `X`.
    target_name : str
        Name of the target in the source.
    description : str
        What the rows and columns are.
    task : {"classification", "regression"}
        Whether `y` holds classes or numbers.
    categories : tuple of int
        Positions of the categorical columns.

    Examples
    --------
    >>> from committee.datasets import load_dataset
    >>> load_dataset("sonar").description
    'Sonar echoes of mines (M) and rocks (R) in 60 frequency bands.'
    """

    X: Table
    y: NDArray[Any]
    feature_names: tuple[str, ...]
    target_name: str
    description: str
    task: Task
    categories: tuple[int, ...]


class _Source(NamedTuple):
    target_name: str
    task: Task
    description: str
    category_names: tuple[str, ...] = ()


_SOURCES = {
    "glass": _Source("Type", "classification", "Six types of glass from refractive index and eight oxides."),
    "ionosphere": _Source(
        "Class",
        "classification",
        "Radar returns from the ionosphere, good or bad; V2 is constant.",
        category_names=("V1", "V2"),
    ),
    "ozone": _Source(
        "V4",
        "regression",
        "Daily maximum ozone in Los Angeles in 1976 from the calendar (V1 month, V2 day of the month, V3 day of the "
        "week) and the weather (V5 pressure height, V6 wind speed, V7 humidity, V8 and V9 temperatures, V10 inversion "
        "base height, V11 pressure gradient, V12 inversion base temperature, V13 visibility). Days without an ozone "
        "reading are left out; other readings are missing as in the source.",
        category_names=("V1", "V2", "V3"),
    ),
    "pima_diabetes": _Source(
        "diabetes",
        "classification",
        "Diabetes among Pima women from eight measurements; a zero in glucose, pressure, triceps, insulin or mass "
        "stands for a value not taken.",
    ),
    "sonar": _Source("Class", "classification", "Sonar echoes of mines (M) and rocks (R) in 60 frequency bands."),
    "spam": _Source("type", "classification", "E-mails, spam or not, from word, character and capital frequencies."),
    "vehicle": _Source("Class", "classification", "Four vehicles from 18 features of their silhouettes."),
}


def dataset_names() -> tuple[str, ...]:
    """List the names that `load_dataset` accepts.

    Returns
    -------
    tuple of str
        Names in alphabetical order.

    Examples
    --------
    >>> from committee.datasets import dataset_names
    >>> dataset_names()
    ('glass', 'ionosphere', 'ozone', 'pima_diabetes', 'sonar', 'spam', 'vehicle')
    """
    return tuple(_SOURCES)


@overload
def load_dataset(name: str, *, as_frame: Literal[False] = False) -> Dataset[NDArray[np.float64]]: ...
@overload
def load_dataset(name: str, *, as_frame: Literal[True, "pandas"]) -> Dataset[pd.DataFrame]: ...
@overload
def load_dataset(name: str, *, as_frame: Literal["polars"]) -> Dataset[pl.DataFrame]: ...
def load_dataset(name: str, *, as_frame: bool | Literal["pandas", "polars"] = False) -> Dataset[Any]:
    """Load a built-in data set by name.

    Parameters
    ----------
    name : str
        One of `dataset_names()`.
    as_frame : bool or {"pandas", "polars"}, default=False
        Return `X` as a NumPy array (False), a pandas DataFrame (True or "pandas") or a polars DataFrame ("polars").
        Categorical columns of a frame have its categorical dtype.

    Returns
    -------
    Dataset
        The table `X`, the target `y`, their names and a description.

    Raises
    ------
    ValueError
        If no built-in data set has this name, or `as_frame` is another value.
    ImportError
        If the library of the frame is not installed.

    Examples
    --------
    >>> from committee.datasets import load_dataset
    >>> pima = load_dataset("pima_diabetes")
    >>> pima.X.shape, pima.feature_names[:3], pima.y[:2].tolist()
    ((768, 8), ('pregnant', 'glucose', 'pressure'), ['pos', 'neg'])
    """
    if name not in _SOURCES:
        raise ValueError(f"name must be one of {', '.join(_SOURCES)}; got {name!r}.")
    if as_frame not in (False, True, "pandas", "polars"):
        raise ValueError(f"as_frame must be False, True, 'pandas' or 'polars'; got {as_frame!r}.")
    source = _SOURCES[name]
    header, rows = _read_rows(name)
    target = header.index(source.target_name)
    rows = [row for row in rows if row[target] not in MISSING]
    labels = [row.pop(target) for row in rows]
    names = tuple(column for column in header if column != source.target_name)
    X = np.array([[_number(cell) for cell in row] for row in rows], dtype=np.float64)
    return Dataset(
        X=_frame_maker(as_frame)(X, names, source.category_names) if as_frame else X,
        y=np.array(labels, dtype=np.float64) if source.task == "regression" else _class_labels(labels),
        feature_names=names,
        target_name=source.target_name,
        description=source.description,
        task=source.task,
        categories=tuple(names.index(column) for column in source.category_names),
    )


def _read_rows(name: str) -> tuple[list[str], list[list[str]]]:
    path = files("committee.datasets").joinpath("files", f"{name}.csv.gz")
    with path.open("rb") as packed, gzip.open(packed, "rt", encoding="utf-8", newline="") as text:
        header, *rows = csv.reader(text)
    return header, rows


def _number(cell: str) -> float:
    return np.nan if cell in MISSING else float(cell)


def _class_labels(labels: list[str]) -> NDArray[Any]:
    if all(label.lstrip("-").isdigit() for label in labels):
        return np.array([int(label) for label in labels], dtype=np.int64)
    return np.array(labels)


def _frame_maker(as_frame: bool | str) -> Callable[[NDArray[np.float64], tuple[str, ...], tuple[str, ...]], Any]:
    return _polars_frame if as_frame == "polars" else _pandas_frame


def _pandas_frame(X: NDArray[np.float64], names: tuple[str, ...], category_names: tuple[str, ...]) -> pd.DataFrame:
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "as_frame=True needs pandas: run `pip install pandas`, or use as_frame='polars' or as_frame=False."
        ) from error
    frame = pd.DataFrame(X, columns=list(names))
    # The categories of these files are integers and never missing: as integers they read as in the source.
    return frame.astype({column: "int64" for column in category_names}).astype(
        {column: "category" for column in category_names}
    )


def _polars_frame(X: NDArray[np.float64], names: tuple[str, ...], category_names: tuple[str, ...]) -> pl.DataFrame:
    try:
        import polars as pl
    except ImportError as error:
        raise ImportError(
            "as_frame='polars' needs polars: run `pip install polars`, or use as_frame='pandas' or as_frame=False."
        ) from error
    frame = pl.DataFrame({name: X[:, f] for f, name in enumerate(names)}).fill_nan(None)
    codes = {name: frame[name].cast(pl.Int64) for name in category_names}
    enums = {name: pl.Enum([str(value) for value in column.unique().sort()]) for name, column in codes.items()}
    return frame.with_columns(*(column.cast(pl.String).cast(enums[name]) for name, column in codes.items()))
