"""Model files: `save_model`, `load_model`, `inspect_model`.

A model file is a safetensors file (`_container.py`) with the metadata

    format            "committee model"
    format_version    version of the format
    summary           JSON: description of the model for `inspect_model`
    state             JSON: the model without its arrays (`_encoding.py`); in a compressed file it is among the arrays
    compression       JSON: sizes of the uncompressed parts (`_compression.py`)
    notes             JSON: metadata of the user

A model file has no code, and its contents are checked before they are used (`_decoding.py`, `_checks.py`).
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
"""Maximum number of names and classes in the summary."""

PACKED_ONLY, MEASURES = ("packed.trees", "packed.lost-members"), "packed.node-measures"
"""Types of members in prediction-only files, and the one that compact files have in addition."""

MAX_LENGTH = 500
"""Maximum length of a parameter in the summary."""


class ModelInfo(NamedTuple):
    """Description of a model in its file, from the header.

    Attributes
    ----------
    path : str
        Path of the file.
    n_bytes : int
        Size of the file.
    n_arrays : int
        Number of arrays.
    format_version : int
        Version of the file format.
    library_version : str
        Version of committee that wrote the file.
    model_class : str
        Class of the model.
    parameters : dict
        Parameters of the model.
    n_features : int or None
        Number of features.
    feature_names : list of str or None
        Names of the features.
    feature_types : list of {"number", "category"} or None
        Types of the features.
    classes : list or None
        Class labels; None for regression.
    n_members : int or None
        Number of members of an ensemble.
    history : dict or None
        Number of iterations, columns and last row of `history_`.
    is_prediction_only : bool
        Whether the file was saved with `prediction_only=True`.
    foreign : list of str
        Classes that `load_model` needs in `trusted`.
    functions : list of str
        Functions that `load_model` needs in `functions`.
    versions : dict of str to str
        Versions of the libraries that wrote the file.
    data_sha256 : str
        Checksum of the arrays.
    metadata : dict of str to str
        Metadata of `save_model`.
    """

    path: str
    n_bytes: int
    n_arrays: int
    format_version: int
    library_version: str
    model_class: str
    parameters: dict[str, Any]
    n_features: int | None
    feature_names: list[str] | None
    feature_types: list[str] | None
    classes: list[Any] | None
    n_members: int | None
    history: dict[str, Any] | None
    is_prediction_only: bool
    foreign: list[str]
    functions: list[str]
    versions: dict[str, str]
    data_sha256: str
    metadata: dict[str, str]


SUMMARY_NAMES = {
    "library_version": "library", "model_class": "class", "parameters": "parameters", "n_features": "n_features",
    "feature_names": "feature_names", "feature_types": "feature_types", "classes": "classes", "n_members": "n_members",
    "history": "history", "is_prediction_only": "prediction_only", "foreign": "foreign", "functions": "functions",
    "versions": "versions",
}  # fmt: skip
"""Fields of ModelInfo and their names in the summary."""


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
    """Write a fitted model into one file, atomically.

    Parameters
    ----------
    model : estimator
        Fitted estimator of committee. Its members may be estimators of committee, or those of scikit-learn whose state
        consists of arrays (``committee.storage._classes.SKLEARN``).
    path : str or Path
        Path of the file; an existing file is replaced.
    prediction_only : bool, default=False
        Whether to store only what predictions need: trees without statistics of their nodes, and no warm start.
    compact : bool, default=False
        Whether to store only what predictions, explanations and reports need, as the command does: forests and bagged
        trees in their packed form with the weights of their nodes, boosters without a warm start.
    compress : bool, default=True
        Whether to compress the arrays without loss. Arrays of an uncompressed file can be memory-mapped by
        ``load_model(path, mmap=True)``.
    foreign : bool, default=False
        Whether to store members of other classes with skops; loading them needs `trusted`.
    metadata : dict of str to str, default=None
        Texts to store with the model.

    Returns
    -------
    ModelInfo
        Description of the model, as by `inspect_model`.

    Examples
    --------
    >>> import tempfile, os
    >>> import numpy as np
    >>> from committee import DecisionStump
    >>> from committee.storage import load_model, save_model
    >>> path = os.path.join(tempfile.mkdtemp(), "stump.committee")
    >>> model = DecisionStump().fit(np.arange(6.0)[:, None], [0, 0, 0, 1, 1, 1])
    >>> save_model(model, path).classes
    [0, 1]
    >>> float(load_model(path).threshold_)
    2.5
    """
    if not isinstance(model, BaseEstimator):
        raise UnstorableError(f"model must be a fitted estimator; got {type(model).__name__}.")
    check_is_fitted(model)
    _check_metadata(metadata or {})
    if prediction_only and compact:
        raise ValueError("prediction_only=True keeps less than compact=True: pass one of them.")
    slim = keep_for_prediction if prediction_only else keep_for_explanation if compact else None
    encoder = Encoder(foreign, slim, is_mapped=slim is not None and not compress)
    state = encoder.state(model)
    text = json.dumps(state, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    if not encoder.foreign and not encoder.functions:  # the model must be loadable
        Decoder(parse_json(text), encoder.tensors, Allowed({}, ())).model()
    families = {tag.partition("/")[0] for tag, _ in encoder.classes}
    is_packed = not families.isdisjoint(PACKED_ONLY) and MEASURES not in families  # as of a model from such a file
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
            raise UnstorableError(f"metadata must be a dict of str to str: {name!r:.60} has a {kind}.")


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
    """Values of JSON types as they are, others as text."""
    plain = value.item() if isinstance(value, np.generic) else value
    if plain is None or isinstance(plain, bool | int | str):
        return plain
    if isinstance(plain, float) and np.isfinite(plain):
        return plain
    return repr(plain)[:MAX_LENGTH]


# --- reading ----------------------------------------------------------------------------------------------------------


def load_model(
    path: str | os.PathLike[str],
    *,
    mmap: bool = False,
    trusted: Sequence[str] = (),
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> Any:
    """Load a model from a file of `save_model`.

    Parameters
    ----------
    path : str or Path
        Path of the file.
    mmap : bool, default=False
        Whether to memory-map the arrays, which processes then share, for files saved with ``compress=False``. The file
        must not be modified while the model is in use; replacing it by `save_model` is safe.
    trusted : list of str, default=()
        Names of other classes that may be loaded with skops.
    functions : dict of str to callable, default=None
        User-defined functions of the model by name, such as a kernel or a loss.

    Returns
    -------
    estimator
        The fitted model.

    Raises
    ------
    ModelFileError
        If the file is damaged, forged, or of a newer version.

    Examples
    --------
    >>> import tempfile, os
    >>> from committee import DecisionStump
    >>> from committee.storage import load_model, save_model
    >>> path = os.path.join(tempfile.mkdtemp(), "stump.committee")
    >>> info = save_model(DecisionStump().fit([[0.0], [1.0], [2.0]], ["a", "a", "b"]), path)
    >>> load_model(path).predict([[0.5], [1.8]]).tolist()
    ['a', 'b']
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
                f"The arrays of {path} are compressed and cannot be memory-mapped: they are read into memory. Save the "
                "model with compress=False for mmap=True.",
                stacklevel=2,
            )
    return read(header, tensors, Allowed(functions or {}, tuple(trusted)))


def _opened(path: str | os.PathLike[str]) -> Any:
    if not Path(path).is_file():
        raise FileNotFoundError(f"Model file not found: {str(path)!r}.")
    return open(path, "rb")


def _reader(header: Header) -> Callable[[Header, Mapping[str, Any], Allowed], Any]:
    """The function that reads files of this format version."""
    number = header.metadata.get("format_version", "")
    if header.metadata.get("format") != FORMAT or not (number.isascii() and number.isdecimal() and len(number) < 6):
        raise ModelFileError("The safetensors file is not a model file of committee.")
    if int(number) < min(READERS):
        raise ModelFileError(f"The file has format version {number}, older than the first release: save it again.")
    if int(number) not in READERS:
        raise ModelFileError(
            f"The file has format version {number}, and this version of committee reads up to {max(READERS)}: install "
            "a newer version."
        )
    return READERS[int(number)]


def _read_version_2(header: Header, tensors: Mapping[str, Any], allowed: Allowed) -> Any:
    summary = _parse_summary(header)
    try:
        model = Decoder(parse_json(header.metadata.get("state", "")), tensors, allowed).model()
    except RecursionError as error:
        raise ModelFileError("The parts of the model in the file are nested too deeply.") from error
    if not isinstance(model, BaseEstimator):
        raise ModelFileError("The model in the file is not an estimator.")
    _warn_of_versions(summary, header.metadata["state"], type(model).__name__)
    if summary.get("predictions_a_row"):
        _try_out(model)
    return model


def _try_out(model: Any) -> None:
    if not can_be_tried(model):
        raise ModelFileError("The model in the file has no number of features.")
    try:
        try_out(model)
    except Exception as error:
        raise ModelFileError(f"The model in the file is inconsistent: {error!r:.300}.") from error


READERS: dict[int, Callable[[Header, Mapping[str, Any], Allowed], Any]] = {2: _read_version_2}


def _parse_summary(header: Header) -> dict[str, Any]:
    summary = _printable(parse_json(header.metadata.get("summary", "")))
    if not isinstance(summary, dict) or not isinstance(summary.get("versions"), dict):
        raise ModelFileError("The summary of the model in the file is invalid.")
    return summary


def _warn_of_versions(summary: dict[str, Any], state: str, name: str) -> None:
    """Warn if estimators of another version of scikit-learn are in the file."""
    written, here = summary["versions"].get("scikit-learn"), _version("scikit-learn")
    if '"type":"sklearn.' in state and isinstance(written, str) and written != here:
        warnings.warn(
            InconsistentVersionWarning(
                estimator_name=name, current_sklearn_version=here, original_sklearn_version=written[:40]
            ),
            stacklevel=4,
        )


def inspect_model(path: str | os.PathLike[str]) -> ModelInfo:
    """Read the description of a model from the header of its file, without loading the model.

    Parameters
    ----------
    path : str or Path
        Path of the file.

    Returns
    -------
    ModelInfo
        Class, parameters, features and classes of the model, and metadata.

    Examples
    --------
    >>> import tempfile, os
    >>> from committee import DecisionStump
    >>> from committee.storage import inspect_model, save_model
    >>> path = os.path.join(tempfile.mkdtemp(), "stump.committee")
    >>> info = save_model(DecisionStump().fit([[0.0], [1.0]], ["a", "b"]), path, metadata={"data": "toy"})
    >>> inspect_model(path).model_class, inspect_model(path).metadata
    ('DecisionStump', {'data': 'toy'})
    """
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
        **{field: summary.get(name) for field, name in SUMMARY_NAMES.items()},
    }
    check_fields(ModelInfo, values)
    return ModelInfo(**values)


def _printable(value: Any) -> Any:
    """Replace control characters, which could be printed on a terminal."""
    if isinstance(value, str):
        return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in value)
    if isinstance(value, list):
        return [_printable(each) for each in value]
    return {_printable(key): _printable(each) for key, each in value.items()} if isinstance(value, dict) else value
