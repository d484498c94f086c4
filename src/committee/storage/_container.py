"""The container of a model: a safetensors file without unused bytes.

    8 bytes      length of the directory, a multiple of 8, little endian
    directory    JSON: name -> dtype, shape, begin and end of every tensor; "__metadata__" -> texts
    data         the tensors one after the other without holes; each begins at a multiple of its number's size

Any reader of safetensors can list and read the arrays. The metadata have two digests, `data_sha256` of the data and
`header_sha256` of all the rest, which detect damage. They do not protect from forgery: the contents are checked too
(`_checks.py`).
"""

from __future__ import annotations

import hashlib
import json
import math
import mmap
import os
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.atomic_write import atomic_write
from committee.storage.errors import ModelFileError

DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1", "U64": "<u8",
    "U32": "<u4", "U16": "<u2", "U8": "|u1", "BOOL": "|b1",
}  # fmt: skip
"""Names of safetensors for the dtypes of NumPy, little endian on all machines."""

NAMES = {np.dtype(dtype): name for name, dtype in DTYPES.items()}

LONGEST_DIRECTORY = 100_000_000
"""Maximum number of bytes, as in safetensors."""

MAX_DIMENSIONS = 32
BLOCK = 1 << 24
ALIGNMENT = 64


class Header(NamedTuple):
    """The header of a file."""

    metadata: dict[str, str]
    directory: dict[str, Tensor]
    data_begin: int
    n_bytes: int  # of the data


class Tensor(NamedTuple):
    """Position of an array in the data."""

    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


# --- writing ----------------------------------------------------------------------------------------------------------


def write_container(path: str | os.PathLike[str], tensors: Mapping[str, NDArray[Any]], texts: Mapping[str, str]) -> int:
    """Write the file atomically; return its size in bytes."""
    with atomic_write(path) as draft, draft.open("wb") as file:
        return sum(file.write(block) for block in container_blocks(tensors, texts))


def container_blocks(tensors: Mapping[str, NDArray[Any]], texts: Mapping[str, str]) -> Iterator[memoryview | bytes]:
    """The bytes of the container, block by block."""
    ordered = sorted(tensors.items(), key=lambda item: (-item[1].dtype.itemsize, item[0]))
    directory: dict[str, Tensor] = {}
    digest, begin = hashlib.sha256(), 0
    for name, array in ordered:
        directory[name] = Tensor(NAMES[array.dtype], array.shape, begin, begin + array.nbytes)
        begin += array.nbytes
        for block in _blocks(array):
            digest.update(block)
    metadata = {**texts, "data_sha256": digest.hexdigest()}
    metadata["header_sha256"] = header_digest(metadata, directory)
    head = _directory_bytes(metadata, directory)
    yield len(head).to_bytes(8, "little")
    yield head
    for _, array in ordered:
        yield from _blocks(array)


def _blocks(array: NDArray[Any]) -> Iterator[memoryview | bytes]:
    """The bytes of an array in C order, little endian."""
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    for first in range(0, flat.size, BLOCK):
        yield flat[first : first + BLOCK].data


def _directory_bytes(metadata: Mapping[str, str], directory: Mapping[str, Tensor]) -> bytes:
    listed: dict[str, Any] = {"__metadata__": dict(metadata)}
    for name, tensor in directory.items():
        listed[name] = {
            "dtype": tensor.dtype, "shape": list(tensor.shape), "data_offsets": [tensor.begin, tensor.end],
        }  # fmt: skip
    text = json.dumps(listed, ensure_ascii=False, separators=(",", ":")).encode()
    if len(text) > LONGEST_DIRECTORY - ALIGNMENT:
        raise ValueError(f"The model has too many parts for one file: its directory takes {len(text)} bytes.")
    return text + b" " * (-(len(text) + 8) % ALIGNMENT)


def header_digest(metadata: Mapping[str, str], directory: Mapping[str, Tensor]) -> str:
    """SHA-256 of the texts and of the directory, each in the order of the names."""
    texts = sorted((name, text) for name, text in metadata.items() if name != "header_sha256")
    listed = [texts, sorted((name, *tensor) for name, tensor in directory.items())]
    return hashlib.sha256(json.dumps(listed, separators=(",", ":")).encode()).hexdigest()


# --- reading ----------------------------------------------------------------------------------------------------------


def read_header(file: BinaryIO) -> Header:
    """Read and check the header."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    head = file.read(8)
    length = int.from_bytes(head, "little")
    if len(head) < 8 or length > min(size - 8, LONGEST_DIRECTORY) or length % 8:
        raise ModelFileError("This is no model file of committee, or its end is missing.")
    listed = parse_json(file.read(length))
    if not isinstance(listed, dict):
        raise ModelFileError("The directory of the file is no list of names.")
    metadata = listed.pop("__metadata__", None)
    if not isinstance(metadata, dict) or not all(isinstance(text, str) for text in metadata.values()):
        raise ModelFileError("This is no model file of committee: it has no texts that describe it.")
    if "header_sha256" not in metadata:
        raise ModelFileError("The safetensors file is not a model file of committee.")
    n_bytes = size - 8 - length
    directory = {name: _read_entry(name, entry) for name, entry in listed.items()}
    _check_places(directory, n_bytes)
    if metadata.get("header_sha256") != header_digest(metadata, directory):
        raise ModelFileError("The file is damaged: its header does not have the SHA-256 that it names.")
    return Header(metadata, directory, 8 + length, n_bytes)


def parse_json(text: bytes | str) -> Any:
    """Parse JSON; repeated names, NaN and other extensions are rejected."""
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except ModelFileError:
        raise
    except (ValueError, RecursionError, MemoryError) as error:
        raise ModelFileError(f"The header of the file cannot be read: {str(error)[:200]}.") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        raise ModelFileError("A name stands twice in the header of the file.")
    return result


def _no_constant(name: str) -> Any:
    raise ModelFileError(f"The header of the file holds {name}, which is no JSON.")


def is_count(value: object, most: int = 2**62) -> bool:
    """Whether a value is a non-negative int, not a bool."""
    return type(value) is int and 0 <= value <= most


def _read_entry(name: str, entry: Any) -> Tensor:
    if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
        raise ModelFileError(f"The directory entry of the array {name!r:.80} is invalid.")
    dtype, shape, place = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise ModelFileError(f"The array {name!r:.80} has the unknown dtype {dtype!r:.40}.")
    for numbers, n in ((shape, MAX_DIMENSIONS), (place, 2)):
        if not isinstance(numbers, list) or len(numbers) > n or not all(is_count(number) for number in numbers):
            raise ModelFileError(f"The shape or the place of the array {name!r:.80} is invalid.")
    if len(place) != 2 or math.prod(shape) * np.dtype(DTYPES[dtype]).itemsize != place[1] - place[0]:
        raise ModelFileError(f"The array {name!r:.80} does not have the size of its shape.")
    return Tensor(dtype, tuple(shape), *place)


def _check_places(directory: Mapping[str, Tensor], n_bytes: int) -> None:
    """Check that arrays are contiguous and aligned, and that empty ones have no huge dimensions."""
    end = 0
    for tensor in sorted(directory.values(), key=lambda tensor: (tensor.begin, tensor.end)):
        if tensor.begin != end or tensor.begin % np.dtype(DTYPES[tensor.dtype]).itemsize:
            raise ModelFileError("The arrays of the file overlap, or leave holes between them.")
        if math.prod(max(length, 1) for length in tensor.shape) > n_bytes + BLOCK:
            raise ModelFileError("An array of the file is empty and yet has a huge dimension.")
        end = tensor.end
    if end != n_bytes:
        raise ModelFileError(f"The file has {n_bytes} bytes of data, its directory lists {end}: a part is missing.")


def read_tensors(file: BinaryIO, header: Header, is_mapped: bool) -> dict[str, NDArray[Any]]:
    """Read the arrays and check their digest; mapped arrays are copied on write."""
    if is_mapped and header.n_bytes:
        whole = np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY), np.uint8)
        data = whole[header.data_begin :]
    else:
        data = np.empty(header.n_bytes, np.uint8)
        file.seek(header.data_begin)
        if file.readinto(data.data) != header.n_bytes:  # type: ignore[attr-defined]
            raise ModelFileError("The end of the file is missing.")
    if data.size != header.n_bytes or header.metadata.get("data_sha256") != _digest(data):
        raise ModelFileError("The file is damaged: its data do not have the SHA-256 that it names.")
    return {name: _view(data, tensor) for name, tensor in header.directory.items()}


def _digest(data: NDArray[np.uint8]) -> str:
    digest = hashlib.sha256()
    for first in range(0, data.size, BLOCK):
        digest.update(data[first : first + BLOCK].data)
    return digest.hexdigest()


def _view(data: NDArray[np.uint8], tensor: Tensor) -> NDArray[Any]:
    stored = np.dtype(DTYPES[tensor.dtype])
    if stored.kind == "b" and np.any(data[tensor.begin : tensor.end] > 1):
        raise ModelFileError("A truth value in the file is neither 0 nor 1.")
    array = data[tensor.begin : tensor.end].view(stored).reshape(tensor.shape)
    return array.astype(stored.newbyteorder("="), copy=False)  # a copy on big-endian machines only
