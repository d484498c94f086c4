"""The error of models that were saved for prediction only and lack an attribute."""

from __future__ import annotations

from typing import Any


class PredictionOnlyError(ValueError, AttributeError):
    """The model was read from a prediction-only file, which does not hold what was asked for.

    It is an AttributeError too because properties raise it: `hasattr` and `dir` then treat the attribute as missing.
    """


def kept_from_fit(model: Any, name: str) -> Any:
    """Return the private attribute `name` that `fit` set on the model."""
    if name not in vars(model):
        raise PredictionOnlyError(
            f"The {type(model).__name__} was saved for prediction only or in its compact form, without what its fit "
            "drew and measured: it cannot be fitted further. Load a model that was saved whole, or fit a new one "
            "(warm_start=False)."
        )
    return vars(model)[name]
