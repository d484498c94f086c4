"""Models and checkpoints in files, safely and without pickle."""

from committee.base.journal import CheckpointError
from committee.base.prediction_only_error import PredictionOnlyError
from committee.storage.checkpoint_file import checkpoint
from committee.storage.errors import ModelFileError, UnstorableError
from committee.storage.model_file import ModelInfo, inspect_model, load_model, save_model

__all__ = [
    "CheckpointError",
    "ModelFileError",
    "ModelInfo",
    "PredictionOnlyError",
    "UnstorableError",
    "checkpoint",
    "inspect_model",
    "load_model",
    "save_model",
]
