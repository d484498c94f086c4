"""Model files of the command: a model with the schema of its tables, its losses and its residuals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from committee.base.array_types import Floats
from committee.calibration.prediction_intervals import PredictionIntervals
from committee.ingest.schema import TableSchema
from committee.members.numeric_pipeline import BaseNumericPipeline
from committee.storage import inspect_model, load_model, save_model
from committee.voting.calibrated_classifier import uncalibrated

MAX_RESIDUALS = 1000
"""Residuals kept for prediction intervals; more are replaced by their quantiles."""


TRAINING_ROWS = "training rows"
"""Key of the hashes in the metadata."""


class ModelMetadata(NamedTuple):
    """What `committee` writes into a model file beside the model, as JSON."""

    schema: TableSchema
    method: str
    metric: str
    held_out_losses: dict[str, float]
    held_out_loss_se: float
    residuals: list[float]  # out of fold, sorted; empty for classification
    n_rows: int
    digest: str  # of the training table
    random_state: int
    training_rows: str = ""  # hashes of the rows (ingest/row_hashes.py), stored beside the JSON

    def to_json(self) -> str:
        fields = {**self._asdict(), "schema": json.loads(self.schema.to_json())}
        del fields["training_rows"]
        return json.dumps(fields)

    @classmethod
    def from_json(cls, text: str) -> ModelMetadata:
        fields: dict[str, Any] = json.loads(text)
        return cls(schema=TableSchema.from_json(json.dumps(fields.pop("schema"))), **fields)


class LoadedModel(NamedTuple):
    """A model from a file of `committee compare` or `committee fit`."""

    model: Any
    metadata: ModelMetadata


def write_model(path: Path, model: Any, metadata: ModelMetadata) -> None:
    """Write the compact form of a model with its metadata into one file, atomically."""
    set_residuals(model, metadata)
    texts = {"table": metadata.to_json(), TRAINING_ROWS: metadata.training_rows}
    save_model(model, path, compact=True, metadata=texts)


def read_model(path: str) -> LoadedModel:
    """Load a model with its metadata; raises a ValueError if the file has none."""
    return LoadedModel(load_model(path), read_metadata(path))


def set_residuals(model: Any, metadata: ModelMetadata) -> None:
    """Set the out-of-fold residuals for prediction intervals of a regressor whose fit left none."""
    if isinstance(model, PredictionIntervals) and len(metadata.residuals) > 1 and not model.interval_residuals():
        model.set_interval_residuals(np.array(metadata.residuals))


def read_metadata(path: str) -> ModelMetadata:
    """The metadata, from the header of the file."""
    metadata = inspect_model(path).metadata
    text = metadata.get("table", "")
    if not text:
        raise ValueError(
            f"{path} has no schema of a table: it was not written by `committee compare` or `committee fit`. Load it "
            "in Python with committee.storage.load_model."
        )
    try:
        return ModelMetadata.from_json(text)._replace(training_rows=metadata.get(TRAINING_ROWS, ""))
    except (TypeError, KeyError, ValueError) as error:
        raise ValueError(f"{path} has a damaged table schema ({error}).") from error


def thinned(residuals: Floats) -> list[float]:
    """Sorted residuals, or `MAX_RESIDUALS` quantiles of them."""
    finite = np.sort(residuals[np.isfinite(residuals)])
    if finite.size <= MAX_RESIDUALS:
        return finite.tolist()
    return np.quantile(finite, (np.arange(MAX_RESIDUALS) + 0.5) / MAX_RESIDUALS).tolist()


def inner_model(model: Any, X: Any) -> tuple[Any, Any, tuple[str, ...] | None]:
    """The estimator inside a wrapper, its encoded rows, and the names of its columns if they differ."""
    model = uncalibrated(model)
    if isinstance(model, BaseNumericPipeline):
        return model.estimator_, model.encode(X), model.encoder_.names
    return model, X, None
