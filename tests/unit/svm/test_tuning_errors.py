"""Bad input to the tuners: the tables of tests/bad_input.py, refused before any machine is fitted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from committee.svm.tuning import tune_svc, tune_svr
from tests.bad_input import BAD_LABELS, BAD_TABLES, BAD_TARGETS, BAD_VALUES, BAD_WEIGHTS, LABELS, VALUES, N, X, table

TUNERS = [pytest.param(tune_svc, LABELS, id="svc"), pytest.param(tune_svr, VALUES, id="svr")]


def tune(tuner: Any, rows: Any, y: Any, **options: Any) -> Any:
    return tuner(rows, y, **{"C": [1.0], "gamma": [0.5], "cv": 2, **options})


@pytest.mark.parametrize(("bad", "error", "text"), BAD_TABLES)
@pytest.mark.parametrize(("tuner", "y"), TUNERS)
def test_a_bad_table_is_rejected(tuner: Any, y: Any, bad: Any, error: type[Exception], text: str) -> None:
    n_rows = len(bad) if isinstance(bad, list) and bad else N
    with pytest.raises(error, match=text):
        tune(tuner, bad, np.resize(y, n_rows))


@pytest.mark.parametrize(("bad", "text"), BAD_TARGETS)
@pytest.mark.parametrize(("tuner", "y"), TUNERS)
def test_a_bad_target_is_rejected(tuner: Any, y: Any, bad: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        tune(tuner, X, bad)


@pytest.mark.parametrize(("bad", "text"), BAD_LABELS)
def test_bad_labels_are_rejected(bad: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        tune(tune_svc, X, bad)


@pytest.mark.parametrize(("bad", "text"), BAD_VALUES)
def test_bad_values_are_rejected(bad: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        tune(tune_svr, X, bad)


@pytest.mark.parametrize(("weight", "text"), BAD_WEIGHTS)
@pytest.mark.parametrize(("tuner", "y"), TUNERS)
def test_bad_weights_are_rejected(tuner: Any, y: Any, weight: Any, text: str) -> None:
    with pytest.raises((TypeError, ValueError), match=text):
        tune(tuner, X, y, sample_weight=weight)


BAD_GRIDS = table(
    ("no penalty", {"C": []}, "C"),
    ("penalty zero", {"C": [0.0]}, "C"),
    ("infinite penalty", {"C": [np.inf]}, "C"),
    ("nan penalty", {"C": [np.nan]}, "C"),
    ("no gamma", {"gamma": []}, "gamma"),
    ("negative gamma", {"gamma": [-1.0]}, "gamma"),
    ("word for gamma", {"gamma": ["wide"]}, "gamma"),
    ("no kernel", {"kernel": []}, "kernel"),
    ("unknown kernel", {"kernel": ["rfb"]}, "kernel"),
    ("one fold", {"cv": 1}, "two folds"),
)


@pytest.mark.parametrize(("options", "text"), BAD_GRIDS)
@pytest.mark.parametrize(("tuner", "y"), TUNERS)
def test_a_bad_grid_is_rejected(tuner: Any, y: Any, options: dict[str, Any], text: str) -> None:
    with pytest.raises((TypeError, ValueError), match=text):
        tune(tuner, X, y, **options)
