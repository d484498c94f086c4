"""Models that were saved for prediction only, asked for what they have no more."""

from __future__ import annotations

from typing import Any


class PredictionOnlyError(ValueError, AttributeError):
    """The model was read from a prediction-only file, which has no answer to this.

    An AttributeError too, for properties raise it: `hasattr` and `dir` take it for one that is not there.
    """


def kept_from_fit(model: Any, name: str) -> Any:
    """What the fit left under this private name."""
    if name not in vars(model):
        raise PredictionOnlyError(
            f"The {type(model).__name__} was saved for prediction only or in its compact form, without what its fit "
            "drew and measured: it cannot be fitted further. Load a model that was saved whole, or fit a new one "
            "(warm_start=False)."
        )
    return vars(model)[name]
