"""What is wrong with a model file, or with a model that cannot become one."""

from __future__ import annotations


class ModelFileError(ValueError):
    """The file is damaged, is no model of this library, or holds what its format does not allow."""


class UnstorableError(TypeError):
    """The model holds something that a model file cannot hold."""
