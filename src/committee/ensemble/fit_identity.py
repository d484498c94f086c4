"""What must be the same for a fit to continue from a checkpoint: parameters, data, seed, the records of the rounds."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

from committee.base.journal import Stream

if TYPE_CHECKING:
    from committee.ensemble.incremental import TrainingData, ValidationSet

WITHOUT_EFFECT = ("n_jobs", "verbose", "random_state")
"""Parameters that may differ; the seed that `random_state` gives is compared instead."""


def describe_fit(model: Any, data: TrainingData, validation: ValidationSet | None) -> dict[str, str]:
    """Describe a fit, by the name of what is described."""
    facts = {"the estimator": type(model).__name__, **_parameters(model)}
    facts |= {"the seed": str(data.seed), "the columns of X": identity_of(data.columns), "X": identity_of(data.X)}
    facts |= {"y": identity_of(data.labels), "sample_weight": identity_of(data.weight)}
    if data.extra is not None:
        facts["the other arguments of fit"] = identity_of(data.extra)
    if validation is not None:
        facts["the validation rows"] = identity_of(validation)
    if model._is_continued():
        facts["the fit that warm_start continues"] = identity_of(dict(model.history_.items()))
    return facts


def confirm_record(stream: Stream, number: int, record: tuple[Any, ...]) -> None:
    """Keep the record of a round, or compare it with that of the fit that is resumed."""
    stream.confirm(number, lambda: {name: repr(value) for name, value in _items(record)}, f"round {number}")


def _items(record: Any) -> Any:
    return record._asdict().items()


def _parameters(model: Any) -> dict[str, str]:
    params = model.get_params(deep=False)
    return {name: identity_of(value) for name, value in params.items() if name not in WITHOUT_EFFECT}


def identity_of(value: Any) -> str:
    """A text that differs if values do: short ones as they are, arrays as a checksum."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        checksum = crc32(np.ascontiguousarray(value).reshape(-1).view(np.uint8).data)  # the fastest, and enough
        return f"{value.dtype} {value.shape} {checksum:08x}"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key!r}: {identity_of(item)}' for key, item in value.items())}}}"
    if isinstance(value, list | tuple | np.ndarray):
        text = ", ".join(map(identity_of, value))
        return f"[{text}]" if len(text) < 1000 else hashlib.sha256(text.encode()).hexdigest()[:16]
    if hasattr(value, "get_params") and not isinstance(value, type):
        return f"{type(value).__name__}({', '.join(f'{k}={v}' for k, v in _parameters(value).items())})"
    if hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    if isinstance(value, np.generic):
        return repr(value.item())
    if hasattr(value, "__array__"):
        return identity_of(np.asarray(value))
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))
