"""Models in files, safely and without pickle."""

from committee.base.prediction_only_error import PredictionOnlyError
from committee.storage.errors import ModelFileError, UnstorableError
from committee.storage.model_file import ModelInfo, inspect_model, load_model, save_model

__all__ = [
    "ModelFileError",
    "ModelInfo",
    "PredictionOnlyError",
    "UnstorableError",
    "inspect_model",
    "load_model",
    "save_model",
]
