"""The public data sets that quality is evaluated on. They lie outside the repository: see `tables.SHARED`."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks import tables

Task = Literal["binary", "multiclass", "regression"]

RAREST_CLASS = 6
"""Rows of a class with fewer rows are left out: every class must be in every part of three folds."""


class DataSet(NamedTuple):
    """One file. Columns of text are categories; `categorical` names those that are so though they hold numbers."""

    name: str
    file: str
    target: str
    task: Task
    categorical: tuple[str, ...] | Literal["all"] = ()
    most_rows: int | None = None  # a sample of so many is taken, where all would cost some library many minutes


class Table(NamedTuple):
    """A set as it was read: numbers and columns of categories, and classes as 0, 1, 2 ... or numbers."""

    X: Any
    y: NDArray[Any]

    @property
    def categorical(self) -> list[str]:
        return list(self.X.select_dtypes("category").columns)


SETS = (
    DataSet("adult", "adult_train.csv.gz", "income", "binary", most_rows=10_000),
    DataSet("airline-delay", "airline_delay_5k_train.csv", "dep_delayed_15min", "binary"),
    DataSet("banana", "banana.csv", "class", "binary"),
    DataSet("breast-cancer", "breast_cancer_ljubljana.csv", "Class", "binary"),
    DataSet("churn", "churn_bank10k.csv", "Exited", "binary"),
    DataSet("german-credit", "german_credit.csv", "class", "binary"),
    DataSet("heart", "heart_cleveland.csv", "diameter narrowing", "binary"),
    DataSet("higgs-7k", "higgs_lgb_train.csv.gz", "label", "binary"),
    DataSet("mammography", "mammography.csv", "class", "binary"),
    DataSet("phoneme", "phoneme.csv", "class", "binary"),
    DataSet("pima", "pima_diabetes_na.csv", "diabetes", "binary"),
    DataSet("sonar", "sonar.csv", "Class", "binary"),
    DataSet("spambase", "spambase.csv.gz", "spam", "binary"),
    DataSet("tic-tac-toe", "tic_tac_toe.csv", "class", "binary"),
    DataSet("titanic", "titanic.csv", "survived", "binary"),
    DataSet("twonorm", "twonorm.csv.gz", "class", "binary"),
    DataSet("wdbc", "wdbc.csv", "target", "binary"),
    DataSet("anneal", "anneal.csv", "Y", "multiclass"),
    DataSet("covertype", "covertype_first10k.csv.gz", "Cover_Type", "multiclass", most_rows=4_000),
    DataSet("letter", "letter.csv", "lettr", "multiclass", most_rows=3_000),
    DataSet("lightgbm-5-classes", "lgb_multiclass_train.csv.gz", "label", "multiclass"),
    DataSet("nursery", "nursery.csv.gz", "Class", "multiclass", most_rows=4_000),
    DataSet("optdigits", "optdigits.csv", "class", "multiclass", most_rows=2_000),
    DataSet("page-blocks", "page_blocks.csv", "Class", "multiclass"),
    DataSet("segment", "segment.csv", "class", "multiclass"),
    DataSet("soybean", "soybean.csv", "Class", "multiclass", "all"),
    DataSet("vehicle", "vehicle.csv", "Class", "multiclass"),
    DataSet("waveform", "waveform_uci.csv", "Y", "multiclass"),
    DataSet("yeast", "yeast.csv", "class", "multiclass"),
    DataSet("abalone", "abalone.csv", "Rings", "regression"),
    DataSet("autompg", "autompg.csv", "y", "regression"),
    DataSet("bank32nh", "bank32nh.csv.gz", "rej", "regression"),
    DataSet("boston", "boston_housing.csv", "medv", "regression"),
    DataSet("california", "california_housing.csv.gz", "median_house_value", "regression"),
    DataSet("concrete", "concrete.csv", "y", "regression"),
    DataSet("diamonds", "diamonds.csv.gz", "price", "regression", most_rows=15_000),
    DataSet("elevators", "elevators.csv.gz", "y", "regression"),
    DataSet("imports-85", "imports85.csv", "price", "regression"),
    DataSet("insurance", "insurance_charges.csv", "charges", "regression"),
    DataSet("kin8nm", "kin8nm.csv", "y", "regression"),
    DataSet("ozone", "ozone_la.csv", "V4", "regression", ("V1", "V2", "V3")),
    DataSet("puma32h", "puma32h.csv.gz", "thetadd6", "regression"),
    DataSet("quake", "quake.csv", "Richter", "regression"),
    DataSet("skillcraft", "skillcraft.csv", "y", "regression"),
    DataSet("wine-white", "wine_quality_white.csv", "quality", "regression"),
)


def load(which: DataSet) -> Table:
    """Read a set; Skip where its file is not there."""
    frame = tables.shared(which.file)
    if which.most_rows is not None and len(frame) > which.most_rows:
        frame = frame.sample(which.most_rows, random_state=0).reset_index(drop=True)
    y = frame.pop(which.target)
    # Some libraries refuse blanks and brackets in the names of columns.
    names = {name: f"column_{j}" for j, name in enumerate(frame.columns)}
    is_category = {name: _is_category(which, name, column) for name, column in frame.items()}
    X = frame.assign(
        **{
            name: column.astype(str).where(column.notna()).astype("category")
            if is_category[name]
            else column.astype(np.float64)
            for name, column in frame.items()
        }
    ).rename(columns=names)
    if which.task == "regression":
        return Table(X, y.to_numpy(np.float64))
    is_kept = (y.groupby(y).transform("size") >= RAREST_CLASS).to_numpy()
    codes = np.unique(y[is_kept].astype(str), return_inverse=True)[1]
    return Table(X[is_kept].reset_index(drop=True), codes)


def _is_category(which: DataSet, name: str, column: Any) -> bool:
    import pandas as pd

    return which.categorical == "all" or name in which.categorical or not pd.api.types.is_numeric_dtype(column)
