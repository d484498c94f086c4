"""Errors of model files."""

from __future__ import annotations

from typing import Any


class ModelFileError(ValueError):
    """Raised for a file that is damaged, invalid, or not a model file of this library."""


def need(is_so: Any, wrong: str) -> None:
    """Raise an error that states what is wrong with the file, unless the condition holds."""
    if not is_so:
        raise ModelFileError(f"The file is damaged: {wrong}.")


class UnstorableError(TypeError):
    """Raised for a model with parts that cannot be stored."""
