"""Predictions and histories of every estimator on the built-in samples stay what they were.

`golden.json` holds a fingerprint of each fit, and `public_names.txt` the public names. A refactoring changes neither;
a deliberate change is written anew by `python -m tests.contract.test_golden` and named in the changelog.

Fingerprints are weighted sums of the numbers, compared to a relative difference of 1e-7: bits may differ between
processors, since linear algebra comes from whatever library NumPy was built with. Solvers that stop at a tolerance pass
such a difference on: between processors their predictions agree to 1e-3 only, and their steps may differ. Before a
refactoring, write exact fingerprints for one's own processor, `COMMITTEE_GOLDEN=FILE python -m
tests.contract.test_golden`,
and set the variable for the tests too.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.utils import get_tags

import committee
from committee.datasets import load_dataset
from committee.evaluation._folds import seeded
from tests.contract.test_contract import LINEAR, SETTINGS

GOLDEN = Path(os.environ.get("COMMITTEE_GOLDEN", Path(__file__).with_name("golden.json")))
IS_LOCAL = "COMMITTEE_GOLDEN" in os.environ
PUBLIC_NAMES = Path(__file__).with_name("public_names.txt")
TOLERANCE = 1e-7
SOLVER_TOLERANCE = 1e-3
SOLVER_PACKAGES = ("svm", "linear", "voting")


def numbered(models: Iterable[Any]) -> dict[str, Any]:
    """Models by their class and the place among those of the same class: names that outlive renamed parameters."""
    result: dict[str, Any] = {}
    for model in models:
        kind = type(model).__name__
        result[f"{kind}-{sum(name.split('-')[0] == kind for name in result)}"] = model
    return result


MODELS = numbered((*SETTINGS, *LINEAR))


@cache
def sample_of(task: str) -> tuple[Any, Any]:
    """A table without missing values and its target, of at most 250 rows."""
    sample: Any = load_dataset({"two classes": "sonar", "classes": "glass", "numbers": "ozone"}[task])
    X = np.asarray(sample.X, np.float64)
    known = ~np.isnan(X).any(axis=1)
    step = -(-int(known.sum()) // 250)
    return X[known][::step], np.asarray(sample.y)[known][::step]


def task_of(model: Any) -> str:
    """The sample that suits an estimator."""
    if not is_classifier(model):
        return "numbers"
    return "classes" if get_tags(model).classifier_tags.multi_class else "two classes"


def fingerprint(model: Any) -> dict[str, Any]:
    """Weighted sums of what a fit predicts and records."""
    X, y = sample_of(task_of(model))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = seeded(model, 0).fit(X, y)
        result: dict[str, Any] = {"predict": checksum(fitted.predict(X))}
        for method in ("predict_proba", "decision_function"):
            if hasattr(fitted, method):
                result[method] = checksum(getattr(fitted, method)(X))
    history = getattr(fitted, "history_", None)
    if history is not None:
        result["history_"] = {name: checksum(history[name]) for name in history if "seconds" not in name}
    return result


def checksum(values: Any) -> Any:
    """Numbers as a weighted sum and the sum of their absolute values, labels as a count of each."""
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        labels, counts = np.unique(array.astype(str), return_counts=True)
        return dict(zip(labels.tolist(), counts.tolist(), strict=True))
    flat = array.astype(np.float64).ravel()
    finite = np.nan_to_num(flat, nan=0.5, posinf=2.0, neginf=-2.0)
    return [float(finite @ np.cos(np.arange(finite.size))), float(np.abs(finite).sum())]


def is_close(result: Any, known: Any, tolerance: float) -> bool:
    if isinstance(known, dict):
        return result.keys() == known.keys() and all(is_close(result[key], known[key], tolerance) for key in known)
    if isinstance(known, list) and len(known) == 2:
        return bool(np.allclose(result, known, rtol=0.0, atol=tolerance * max(known[1], 1e-300)))
    return bool(result == known)


def is_same(part: str, result: Any, known: Any, is_of_solver: bool) -> bool:
    """Whether a part of a fingerprint is the known one; see the top of the file for solvers."""
    if not is_of_solver or IS_LOCAL:
        return is_close(result, known, TOLERANCE)
    if part == "history_":
        return result.keys() == known.keys()
    return is_close(result, known, SOLVER_TOLERANCE)


def public_names() -> list[str]:
    """What `from committee import *` and the packages' own `__all__` promise."""
    return sorted(committee.__all__)


@cache
def golden() -> dict[str, Any]:
    return json.loads(GOLDEN.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", MODELS, ids=str)
def test_a_fit_is_what_it_was(name: str) -> None:
    result, known = fingerprint(MODELS[name]), golden()[name]
    is_of_solver = type(MODELS[name]).__module__.split(".")[1] in SOLVER_PACKAGES
    assert result.keys() == known.keys()
    differ = [part for part in known if not is_same(part, result[part], known[part], is_of_solver)]
    assert not differ, {part: (result[part], known[part]) for part in differ}


def test_public_names_are_what_they_were() -> None:
    assert public_names() == PUBLIC_NAMES.read_text(encoding="utf-8").split()


def main() -> None:
    """Write both files again."""
    result = {name: fingerprint(model) for name, model in MODELS.items()}
    GOLDEN.write_text(json.dumps(result, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    PUBLIC_NAMES.write_text("\n".join(public_names()) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
