"""Models in files: `save_model`, `load_model`, `inspect_model`.

A model file is a safetensors file (container.py). Its texts are

    format            "committee model"
    format_version    the number of the format, for all versions
    summary           JSON: what the model is, for people and for `inspect_model`
    state             JSON: all of the model but its arrays (encoding.py); in a compressed file it is with the arrays
    compression       JSON: the sizes that a compressed file takes when it is read (compression.py)
    notes             JSON: texts that whoever saved the model put in, by name

No code is in it and none is run to read it, and nothing is used before it was checked (decoding.py, checks.py).
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.utils.validation import check_is_fitted

from committee.storage._check_types import check_fields
from committee.storage._compression import COMPRESSION, read_sizes, restore
from committee.storage._compression import compress as compress_model
from committee.storage._container import Header, parse_json, read_header, read_tensors, write_container
from committee.storage._decoding import Allowed, Decoder
from committee.storage._encoding import Encoder
from committee.storage._prediction_only import keep_for_explanation, keep_for_prediction
from committee.storage._smoke_test import can_be_tried, predictions_a_row, try_out
from committee.storage.errors import ModelFileError, UnstorableError

FORMAT = "committee model"
FORMAT_VERSION = 2

MAX_SHOWN = 1000
"""Names and classes in the summary."""

PACKED_ONLY, MEASURES = ("packed.trees", "packed.lost-members"), "packed.node-measures"
"""Types that stand for members in prediction-only files; with measures of the nodes, in compact ones."""

LONGEST_SHOWN = 500
"""Letters of a parameter in the summary."""


class ModelInfo(NamedTuple):
    """What the header of a model file says; nothing of the model itself was read."""

    path: str
    n_bytes: int
    n_arrays: int
    format_version: int
    library_version: str
    model_class: str
    parameters: dict[str, Any]
    n_features: int | None
    feature_names: list[str] | None
    feature_types: list[str] | None  # "number" or "category"
    classes: list[Any] | None
    n_members: int | None
    history: dict[str, Any] | None  # number of rounds, names of the columns, the last round
    is_prediction_only: bool
    foreign: list[str]  # classes that need trusted=[...]
    functions: list[str]  # functions that load_model needs
    versions: dict[str, str]  # of the libraries it was written with
    data_sha256: str
    metadata: dict[str, str]  # texts that whoever saved the model put in


TOLD = {
    "library_version": "library", "model_class": "class", "parameters": "parameters", "n_features": "n_features",
    "feature_names": "feature_names", "feature_types": "feature_types", "classes": "classes", "n_members": "n_members",
    "history": "history", "is_prediction_only": "prediction_only", "foreign": "foreign", "functions": "functions",
    "versions": "versions",
}  # fmt: skip
"""Fields of ModelInfo, and where the summary has them."""


# --- writing ----------------------------------------------------------------------------------------------------------


def save_model(
    model: Any,
    path: str | os.PathLike[str],
    *,
    prediction_only: bool = False,
    compact: bool = False,
    compress: bool = True,
    foreign: bool = False,
    metadata: Mapping[str, str] | None = None,
) -> ModelInfo:
    """Write a fitted model into one file, all of it or nothing.

    Parameters
    ----------
    model : fitted estimator of committee
        Its members may be estimators of committee, or those estimators of scikit-learn that hold only arrays
        (``committee.storage._classes.SKLEARN``).
    path : the file; an older file of this name is replaced when the new one is complete
    prediction_only : keep only what predicts; of trees neither what was measured at their nodes nor what a warm start
        needs
    compact : keep what predicts, explains and reports, as the command does: forests and bagged trees in their packed
        form with the weights of their nodes, boosters without what a warm start needs
    compress : compress the arrays, losing no bit; without it the file is larger, but ``load_model(path, mmap=True)``
        can map the arrays into memory
    foreign : let members of any other class in by way of skops; reading them needs ``trusted``
    metadata : texts to keep beside the model, by name; `inspect_model` gives them back

    >>> import tempfile, os
    >>> import numpy as np
    >>> from committee import DecisionStump
    >>> path = os.path.join(tempfile.mkdtemp(), "stump.committee")
    >>> model = DecisionStump().fit(np.arange(6.0)[:, None], [0, 0, 0, 1, 1, 1])
    >>> save_model(model, path).classes
    [0, 1]
    >>> float(load_model(path).threshold_)
    2.5
    """
    if not isinstance(model, BaseEstimator):
        raise UnstorableError(f"save_model takes a fitted estimator, not a {type(model).__name__}.")
    check_is_fitted(model)
    _check_metadata(metadata or {})
    if prediction_only and compact:
        raise ValueError("prediction_only=True keeps less than compact=True: pass one of them.")
    slim = keep_for_prediction if prediction_only else keep_for_explanation if compact else None
    encoder = Encoder(foreign, slim, is_mapped=slim is not None and not compress)
    state = encoder.state(model)
    text = json.dumps(state, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    if not encoder.foreign and not encoder.functions:  # what could not be read must not be written
        Decoder(parse_json(text), encoder.tensors, Allowed({}, ())).model()
    families = {tag.partition("/")[0] for tag, _ in encoder.classes}
    is_packed = not families.isdisjoint(PACKED_ONLY) and MEASURES not in families  # read from such a file, say
    summary = _summary(model, encoder, prediction_only or is_packed)
    texts = {
        "format": FORMAT,
        "format_version": str(FORMAT_VERSION),
        "summary": json.dumps(summary, ensure_ascii=True, separators=(",", ":"), allow_nan=False),
        "state": text,
        "notes": json.dumps(dict(metadata or {}), ensure_ascii=True, separators=(",", ":")),
    }
    packed = compress_model(encoder.tensors, text) if compress else None
    if packed is None:
        write_container(path, encoder.tensors, texts)
    else:
        write_container(path, packed.tensors, {**texts, "state": "", COMPRESSION: packed.text})
    return inspect_model(path)


def _check_metadata(metadata: Mapping[Any, Any]) -> None:
    for name, text in metadata.items():
        if not isinstance(name, str) or not isinstance(text, str):
            kind = type(text).__name__
            raise UnstorableError(f"metadata holds texts by name: {name!r:.60} has a {kind}, take str(...) of it.")


def _summary(model: Any, encoder: Encoder, is_prediction_only: bool) -> dict[str, Any]:
    columns = getattr(model, "columns_", None)
    names = getattr(model, "feature_names_in_", None)
    classes = getattr(model, "classes_", None)
    members = vars(model).get("members_", vars(model).get("trees_"))
    history = vars(model).get("history_")
    return {
        "class": type(model).__name__,
        "library": _version("committee"),
        "versions": {name: _version(name) for name in ("numpy", "scikit-learn")},
        "parameters": {name: _shown(value) for name, value in model.get_params(deep=False).items()},
        "n_features": getattr(model, "n_features_in_", None),
        "feature_names": None if names is None else [str(name) for name in names[:MAX_SHOWN]],
        "feature_types": None if columns is None else _types(columns),
        "classes": [_shown(each) for each in classes[:MAX_SHOWN]] if isinstance(classes, np.ndarray) else None,
        "n_members": len(members) if hasattr(members, "__len__") else None,
        "history": None if history is None else _history(history),
        "prediction_only": is_prediction_only,
        "foreign": sorted(set(encoder.foreign)),
        "functions": sorted(set(encoder.functions)),
        "predictions_a_row": predictions_a_row(model),
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"


def _types(columns: Any) -> list[str]:
    return ["number" if known is None else "category" for known in columns.categories[:MAX_SHOWN]]


def _history(history: Any) -> dict[str, Any]:
    n = history.n_rounds
    last = {name: _shown(values[-1]) for name, values in history.items() if n and values.ndim == 1}
    return {"rounds": n, "columns": list(history), "last": last}


def _shown(value: Any) -> Any:
    """A plain value as it is, anything else as text."""
    plain = value.item() if isinstance(value, np.generic) else value
    if plain is None or isinstance(plain, bool | int | str):
        return plain
    if isinstance(plain, float) and np.isfinite(plain):
        return plain
    return repr(plain)[:LONGEST_SHOWN]


# --- reading ----------------------------------------------------------------------------------------------------------


def load_model(
    path: str | os.PathLike[str],
    *,
    mmap: bool = False,
    trusted: Sequence[str] = (),
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> Any:
    """Read a model from a file of `save_model`. A damaged or forged file gets a ModelFileError, whatever is in it.

    Parameters
    ----------
    path : the file
    mmap : map the arrays into memory instead of reading them: processes on one machine share them. For files saved
        with ``compress=False``; of others the arrays are read, with a warning. The file must not
        be changed in place while the model is in use; replacing it by `save_model` is safe.
    trusted : names of foreign classes that may be read by way of skops
    functions : the functions that the model was fitted with, such as a kernel or a loss of your own, by their names
    """
    with _opened(path) as file:
        header = read_header(file)
        read = _reader(header)
        tensors = read_tensors(file, header, mmap)
    if COMPRESSION in header.metadata:
        tensors, state = restore(tensors, header.metadata[COMPRESSION])
        header = header._replace(metadata={**header.metadata, "state": state})
        if mmap:
            warnings.warn(
                f"The arrays of {path} are compressed: they were read into memory, not mapped. Save the model with "
                "compress=False to map them.",
                stacklevel=2,
            )
    return read(header, tensors, Allowed(functions or {}, tuple(trusted)))


def _opened(path: str | os.PathLike[str]) -> Any:
    if not Path(path).is_file():
        raise FileNotFoundError(f"There is no model file {str(path)!r}.")
    return open(path, "rb")


def _reader(header: Header) -> Callable[[Header, Mapping[str, Any], Allowed], Any]:
    """The function that reads files of this version; the functions of older versions stay."""
    number = header.metadata.get("format_version", "")
    if header.metadata.get("format") != FORMAT or not (number.isascii() and number.isdecimal() and len(number) < 6):
        raise ModelFileError("This safetensors file holds no model of committee.")
    if int(number) < min(READERS):
        raise ModelFileError(f"The file has the format {number} of a version before the first release: save it again.")
    if int(number) not in READERS:
        raise ModelFileError(
            f"The file has the format {number}, this version of committee reads up to {max(READERS)}: install a newer "
            "one."
        )
    return READERS[int(number)]


def _read_version_2(header: Header, tensors: Mapping[str, Any], allowed: Allowed) -> Any:
    summary = _parse_summary(header)
    try:
        model = Decoder(parse_json(header.metadata.get("state", "")), tensors, allowed).model()
    except RecursionError as error:
        raise ModelFileError("The parts of the model in the file are nested too deeply.") from error
    if not isinstance(model, BaseEstimator):
        raise ModelFileError("The file holds no estimator.")
    _warn_of_versions(summary, header.metadata["state"], type(model).__name__)
    if summary.get("predictions_a_row"):
        _try_out(model)
    return model


def _try_out(model: Any) -> None:
    if not can_be_tried(model):
        raise ModelFileError("The model in the file does not say how many columns it wants.")
    try:
        try_out(model)
    except Exception as error:
        raise ModelFileError(f"The parts of the model in the file do not fit together: {error!r:.300}.") from error


READERS: dict[int, Callable[[Header, Mapping[str, Any], Allowed], Any]] = {2: _read_version_2}


def _parse_summary(header: Header) -> dict[str, Any]:
    summary = _printable(parse_json(header.metadata.get("summary", "")))
    if not isinstance(summary, dict) or not isinstance(summary.get("versions"), dict):
        raise ModelFileError("The summary of the model in the file is not what it must be.")
    return summary


def _warn_of_versions(summary: dict[str, Any], state: str, name: str) -> None:
    """Estimators of scikit-learn are stored as its version had them."""
    written, here = summary["versions"].get("scikit-learn"), _version("scikit-learn")
    if '"type":"sklearn.' in state and isinstance(written, str) and written != here:
        warnings.warn(
            InconsistentVersionWarning(
                estimator_name=name, current_sklearn_version=here, original_sklearn_version=written[:40]
            ),
            stacklevel=4,
        )


def inspect_model(path: str | os.PathLike[str]) -> ModelInfo:
    """What a model file holds, from its header alone: no array is read and nothing of the model is made."""
    with _opened(path) as file:
        header = read_header(file)
    _reader(header)
    summary = _parse_summary(header)
    compression = header.metadata.get(COMPRESSION)
    sizes = None if compression is None else read_sizes(compression)
    values: dict[str, Any] = {
        "path": str(path),
        "n_bytes": header.data_begin + header.n_bytes,
        "n_arrays": len(header.directory) if sizes is None else sizes.n_arrays,
        "format_version": int(header.metadata["format_version"]),
        "data_sha256": header.metadata.get("data_sha256"),
        "metadata": parse_json(header.metadata.get("notes", "{}")),
        **{field: summary.get(name) for field, name in TOLD.items()},
    }
    check_fields(ModelInfo, values)
    return ModelInfo(**values)


def _printable(value: Any) -> Any:
    """Texts without control characters: they may end up on a terminal."""
    if isinstance(value, str):
        return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in value)
    if isinstance(value, list):
        return [_printable(each) for each in value]
    return {_printable(key): _printable(each) for key, each in value.items()} if isinstance(value, dict) else value
