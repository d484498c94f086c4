"""Errors of model files."""

from __future__ import annotations


class ModelFileError(ValueError):
    """Raised for a file that is damaged, invalid, or not a model file of this library."""


class UnstorableError(TypeError):
    """Raised for a model with parts that cannot be stored."""
