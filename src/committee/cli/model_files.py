"""A model together with what reads its tables and what is known of its errors, in one model file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from committee.base.array_types import Floats
from committee.calibration.prediction_intervals import PredictionIntervals
from committee.ingest.table import TableRecipe
from committee.members.numeric_pipeline import BaseNumericPipeline
from committee.storage import inspect_model, load_model, save_model
from committee.voting.calibrated_classifier import uncalibrated

MAX_RESIDUALS = 1000
"""Residuals kept for prediction intervals; of more, their quantiles."""


TRAINING_ROWS = "training rows"
"""The name of the text with the hashes: earlier versions of the library pass over it."""


class ModelFacts(NamedTuple):
    """What `committee` writes into a model file beside the model. Plain data: it is kept as JSON."""

    recipe: TableRecipe
    method: str
    metric: str
    scores: dict[str, float]  # on rows held out
    score_stderr: float
    residuals: list[float]  # of rows out of fold, sorted; empty for classes
    n_rows: int
    digest: str  # of the training table, to know it again
    seed: int
    training_rows: str = ""  # their hashes (ingest/row_hashes.py); kept beside the JSON, and not in older files

    def to_json(self) -> str:
        result = {**self._asdict(), "recipe": json.loads(self.recipe.to_json())}
        del result["training_rows"]
        return json.dumps(result)

    @classmethod
    def from_json(cls, text: str) -> ModelFacts:
        result: dict[str, Any] = json.loads(text)
        recipe = TableRecipe.from_json(json.dumps(result.pop("recipe")))
        return cls(recipe=recipe, **result)


class KnownModel(NamedTuple):
    """A model from a file of `committee compare` or `committee fit`."""

    model: Any
    facts: ModelFacts


def write_model(path: Path, model: Any, facts: ModelFacts) -> None:
    """Write the compact form of the model and its facts into one file, whole or not at all."""
    give_residuals(model, facts)
    save_model(model, path, compact=True, metadata={"table": facts.to_json(), TRAINING_ROWS: facts.training_rows})


def read_model(path: str) -> KnownModel:
    """A model with its facts; a ValueError where the file has none."""
    known = KnownModel(load_model(path), read_facts(path))
    give_residuals(known.model, known.facts)  # files of earlier versions have them in the facts alone
    return known


def give_residuals(model: Any, facts: ModelFacts) -> None:
    """Give a regressor whose fit left no out-of-sample residuals the out-of-fold ones, for its intervals."""
    if isinstance(model, PredictionIntervals) and len(facts.residuals) > 1 and not model.interval_residuals():
        model.set_interval_residuals(np.array(facts.residuals))


def read_facts(path: str) -> ModelFacts:
    """The facts alone, from the header of the file."""
    metadata = inspect_model(path).metadata
    text = metadata.get("table", "")
    if not text:
        raise ValueError(
            f"{path} does not say how to read a table: it was not written by `committee compare` or `committee fit`. "
            "Use it from Python: committee.storage.load_model."
        )
    try:
        return ModelFacts.from_json(text)._replace(training_rows=metadata.get(TRAINING_ROWS, ""))
    except (TypeError, KeyError, ValueError) as error:
        raise ValueError(f"{path} holds a damaged recipe for tables ({error}).") from error


def thinned(residuals: Floats) -> list[float]:
    """Sorted residuals, or as many quantiles of them."""
    known = np.sort(residuals[np.isfinite(residuals)])
    if known.size <= MAX_RESIDUALS:
        return known.tolist()
    return np.quantile(known, (np.arange(MAX_RESIDUALS) + 0.5) / MAX_RESIDUALS).tolist()


def inner_model(model: Any, X: Any) -> tuple[Any, Any, tuple[str, ...] | None]:
    """The estimator inside a wrapper, the rows as it sees them, and the names of its columns where they differ."""
    model = uncalibrated(model)
    if isinstance(model, BaseNumericPipeline):
        return model.estimator_, model.encode(X), model.encoder_.names
    return model, X, None
