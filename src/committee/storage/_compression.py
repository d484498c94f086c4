"""Lossless compression of the arrays of a model file.

Arrays of the same dtype and of the same name but for numbers (`trees_.0.left`, `trees_.1.left`, ...) form a group and
are compressed as one array of n elements by their bits, so that nan and -0.0 are preserved:

    planes    the first bytes of all elements, then all second bytes, ...
    codes     the distinct elements and, for every element, which one it is
    steps     the commonest element, a bit for every other one, and the differences of successive others (integers)

Each is a list of byte planes, and a plane is deflated (zlib) unless its bytes look random. The smallest of the three is
stored. A file that declares too large a size is rejected before memory is allocated (`MAX_RATIO`).
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.storage._container import DTYPES, LONGEST_DIRECTORY, MAX_DIMENSIONS, NAMES, is_count, parse_json
from committee.storage.errors import ModelFileError

Bytes = NDArray[np.uint8]

COMPRESSION = "compression"
"""Key of the metadata of a compressed file, with its uncompressed sizes."""

DIRECTORY, DATA = "compressed.directory", "compressed.data"
"""The two tensors of a compressed file."""

MAX_RATIO, ALWAYS_ALLOWED = 200, 1 << 26
"""A file of b bytes may declare MAX_RATIO * b + ALWAYS_ALLOWED bytes of arrays; larger ones are not compressed."""

MAX_EMPTY = 1 << 24
"""Maximum product of the other dimensions of an empty array."""

LEVEL = 6
RANDOM_BITS = 7.95
"""Entropy of a byte from which a plane is stored as it is."""

SAMPLE = 1 << 16
"""Elements on which the form of a large group is chosen."""


class Compressed(NamedTuple):
    """The contents of a compressed file: the arrays and the description of the model."""

    tensors: dict[str, NDArray[Any]]
    text: str  # of the header


class _Group(NamedTuple):
    """Arrays that are compressed together."""

    dtype: str
    members: list[tuple[str, tuple[int, ...]]]
    elements: NDArray[Any]  # unsigned, of the size of the dtype


# --- writing ----------------------------------------------------------------------------------------------------------


def compress(tensors: Mapping[str, NDArray[Any]], state: str) -> Compressed | None:
    """The arrays and the description of a model in two arrays of bytes; None if they would declare too large a size."""
    listed: list[Any] = []
    pieces: list[bytes] = []
    for group in _groups(tensors):
        form, numbers, planes = _smallest_form(group.elements, DTYPES[group.dtype])
        packed = [_deflate(plane) for plane in planes]
        members = [[name, list(shape)] for name, shape in group.members]
        listed.append([group.dtype, members, form, numbers, [[len(piece), is_raw] for piece, is_raw in packed]])
        pieces += [piece for piece, _ in packed]
    text = json.dumps({"groups": listed, "state": state}, ensure_ascii=True, separators=(",", ":")).encode()
    directory, data = zlib.compress(text, LEVEL), b"".join(pieces)
    n_bytes = sum(array.nbytes for array in tensors.values())
    is_large = n_bytes > _allowed(len(data)) or len(text) > min(LONGEST_DIRECTORY, _allowed(len(directory)))
    if is_large:
        return None
    sizes = {"n_arrays": len(tensors), "n_bytes": n_bytes, "n_directory_bytes": len(text)}
    arrays = {DIRECTORY: np.frombuffer(directory, np.uint8), DATA: np.frombuffer(data, np.uint8)}
    return Compressed(arrays, json.dumps(sizes))


def _allowed(n_stored: int) -> int:
    return MAX_RATIO * n_stored + ALWAYS_ALLOWED


def _groups(tensors: Mapping[str, NDArray[Any]]) -> list[_Group]:
    named: dict[tuple[str, str], list[str]] = {}
    for name, array in tensors.items():
        alike = ".".join(part for part in name.split(".") if not part.isdigit())
        named.setdefault((alike, NAMES[array.dtype.newbyteorder("<")]), []).append(name)
    return [_group(dtype, {name: tensors[name] for name in names}) for (_, dtype), names in named.items()]


def _group(dtype: str, arrays: Mapping[str, NDArray[Any]]) -> _Group:
    stored = np.dtype(DTYPES[dtype])
    flat = [np.ascontiguousarray(array, stored).reshape(-1) for array in arrays.values()]
    elements = np.concatenate(flat).view(f"<u{stored.itemsize}")
    return _Group(dtype, [(name, array.shape) for name, array in arrays.items()], elements)


class _Form(NamedTuple):
    name: str
    numbers: list[int]  # that reading needs beside the planes
    planes: list[Bytes]


def _smallest_form(elements: NDArray[Any], dtype: str) -> _Form:
    """The smallest form; of a large group by its first elements, for speed."""
    makers: list[Callable[[NDArray[Any]], _Form | None]] = [_as_planes]
    if elements.itemsize > 1 and elements.size > 16:
        makers += [_as_codes] + ([_as_steps] if np.dtype(dtype).kind in "iu" else [])
    if len(makers) == 1:
        return _as_planes(elements)
    sizes = [(_size(make(elements[:SAMPLE])), i) for i, make in enumerate(makers)]
    chosen = makers[min(sizes)[1]](elements)
    return _as_planes(elements) if chosen is None else chosen


def _size(form: _Form | None) -> float:
    return math.inf if form is None else sum(len(_deflate(plane)[0]) for plane in form.planes)


def _as_planes(elements: NDArray[Any]) -> _Form:
    return _Form("planes", [], _planes(elements))


def _as_codes(elements: NDArray[Any]) -> _Form | None:
    known, code = np.unique(elements, return_inverse=True)
    if 4 * known.size > 3 * elements.size:
        return None
    gaps = np.diff(known, prepend=known[:1] * 0)  # the distinct elements are sorted: their gaps are smaller numbers
    return _Form("codes", [known.size], [*_planes(gaps), *_planes(code.astype(_code_dtype(known.size)))])


def _as_steps(elements: NDArray[Any]) -> _Form | None:
    known, count = np.unique(elements, return_counts=True)
    commonest = known[count.argmax()]
    is_other = elements != commonest
    others = elements[is_other]
    steps = np.diff(others, prepend=others[:1] * 0)  # modulo 2^bits
    folded = (steps << np.asarray(1, steps.dtype)) ^ _sign_mask(steps)  # 0, -1, 1, -2, ... as 0, 1, 2, 3, ...
    return _Form("steps", [int(commonest), others.size], [np.packbits(is_other), *_planes(folded)])


def _sign_mask(elements: NDArray[Any]) -> NDArray[Any]:
    """All bits set where the first bit is."""
    bits = 8 * elements.itemsize
    return (elements.view(f"<i{elements.itemsize}") >> (bits - 1)).view(elements.dtype)


def _planes(elements: NDArray[Any]) -> list[Bytes]:
    size = elements.dtype.itemsize
    rows = np.ascontiguousarray(elements).view(np.uint8).reshape(-1, size)
    return [np.ascontiguousarray(rows[:, i]) for i in range(size)]


def _code_dtype(n_known: int) -> str:
    return "|u1" if n_known <= 1 << 8 else "<u2" if n_known <= 1 << 16 else "<u4" if n_known <= 1 << 32 else "<u8"


def _deflate(plane: Bytes) -> tuple[bytes, bool]:
    """The plane in fewer bytes, or as it is (True)."""
    if plane.size >= 1024 and _entropy(plane) > RANDOM_BITS:
        return plane.tobytes(), True
    small = zlib.compress(plane.data, LEVEL)
    return (small, False) if len(small) < plane.size else (plane.tobytes(), True)


def _entropy(plane: Bytes) -> float:
    p = np.bincount(plane, minlength=256) / plane.size
    p = p[p > 0.0]
    return float(-(p * np.log2(p)).sum())


# --- reading ----------------------------------------------------------------------------------------------------------


class Restored(NamedTuple):
    tensors: dict[str, NDArray[Any]]
    state: str


class Sizes(NamedTuple):
    """Uncompressed sizes of a compressed file."""

    n_arrays: int
    n_bytes: int
    n_directory_bytes: int


def read_sizes(text: str) -> Sizes:
    """The sizes that a compressed file declares in its header."""
    listed = parse_json(text)
    _need(isinstance(listed, dict) and listed.keys() == set(Sizes._fields), "it does not declare its sizes")
    sizes = Sizes(**listed)
    _need(all(is_count(size) for size in sizes), "a size is no number")
    return sizes


def restore(tensors: Mapping[str, NDArray[Any]], text: str) -> Restored:
    """The arrays and the description of the model. Sizes are checked before memory is allocated for them."""
    _need(set(tensors) == {DIRECTORY, DATA}, "it does not hold its directory and its data")
    _need(all(array.dtype == np.uint8 and array.ndim == 1 for array in tensors.values()), "its data are no bytes")
    sizes, data = read_sizes(text), tensors[DATA]
    n_listed = sizes.n_directory_bytes
    is_allowed = n_listed <= min(LONGEST_DIRECTORY, _allowed(tensors[DIRECTORY].size))
    _need(is_allowed and sizes.n_bytes <= _allowed(data.size), "it declares more than its bytes can hold")
    listed = parse_json(_inflate(tensors[DIRECTORY], n_listed).tobytes())
    _need(isinstance(listed, dict) and listed.keys() == {"groups", "state"}, "its directory is invalid")
    _need(isinstance(listed["groups"], list) and isinstance(listed["state"], str), "its directory has no groups")
    groups = [_read_group(entry) for entry in listed["groups"]]
    _need(sum(group.n_bytes for group in groups) == sizes.n_bytes, "its arrays have other sizes than it declares")
    _need(sum(group.n_stored for group in groups) == data.size, "its data have another size than its directory")
    result: dict[str, NDArray[Any]] = {}
    begin = 0
    for group in groups:
        elements = _elements(group, data[begin : begin + group.n_stored])
        begin += group.n_stored
        _take_apart(group, elements, result)
    _need(len(result) == sizes.n_arrays, "it holds another number of arrays than it declares")
    return Restored(result, listed["state"])


def _need(is_so: Any, wrong: str) -> None:
    if not is_so:
        raise ModelFileError(f"The compressed file is damaged: {wrong}.")


class _Listed(NamedTuple):
    """A group of the directory."""

    dtype: str
    members: list[tuple[str, tuple[int, ...]]]
    form: str
    numbers: list[int]
    pieces: list[tuple[int, bool]]

    @property
    def item_size(self) -> int:
        return np.dtype(DTYPES[self.dtype]).itemsize

    @property
    def n(self) -> int:
        return sum(math.prod(shape) for _, shape in self.members)

    @property
    def n_bytes(self) -> int:
        return self.n * self.item_size

    @property
    def n_stored(self) -> int:
        return sum(size for size, _ in self.pieces)


N_NUMBERS = {"planes": 0, "codes": 1, "steps": 2}


def _read_group(entry: Any) -> _Listed:
    _need(isinstance(entry, list) and len(entry) == 5, "a group of arrays is invalid")
    dtype, members, form, numbers, pieces = entry
    _need(isinstance(dtype, str) and dtype in DTYPES, "a group of arrays has an unknown dtype")
    _need(isinstance(form, str) and form in N_NUMBERS, "a group of arrays has an unknown form")
    is_sound = isinstance(numbers, list) and len(numbers) == N_NUMBERS[form] and all(map(_is_word, numbers))
    _need(is_sound, "a group of arrays lacks a number")
    _need(isinstance(members, list) and isinstance(pieces, list), "a group of arrays has no arrays")
    for member in members:
        _need(isinstance(member, list) and len(member) == 2 and isinstance(member[0], str), "an array has no name")
        _need(_is_shape(member[1]), f"the array {member[0]!r:.80} has an impossible shape")
    for piece in pieces:
        is_piece = isinstance(piece, list) and len(piece) == 2 and is_count(piece[0]) and type(piece[1]) is bool
        _need(is_piece, "a piece of a group is invalid")
    return _Listed(
        dtype,
        [(name, tuple(shape)) for name, shape in members],
        form,
        numbers,
        [(size, is_raw) for size, is_raw in pieces],
    )


def _is_word(number: Any) -> bool:
    return is_count(number, 2**64 - 1)


def _is_shape(shape: Any) -> bool:
    """Whether a shape is valid; empty arrays must not have huge dimensions either."""
    is_list = isinstance(shape, list) and len(shape) <= MAX_DIMENSIONS and all(is_count(length) for length in shape)
    return is_list and (math.prod(shape) > 0 or math.prod(max(length, 1) for length in shape) <= MAX_EMPTY)


def _elements(group: _Listed, data: Bytes) -> NDArray[Any]:
    size, n = group.item_size, group.n
    word = np.dtype(f"<u{size}")
    if group.form == "planes":
        return _join(_inflated(group, data, [n] * size), word)
    if group.form == "codes":
        n_known = group.numbers[0]
        _need(n_known <= n, "a group of arrays has more distinct elements than elements")
        code = np.dtype(_code_dtype(n_known))
        planes = _inflated(group, data, [n_known] * size + [n] * code.itemsize)
        known = np.cumsum(_join(planes[:size], word), dtype=word)
        codes = _join(planes[size:], code)
        _need(not n or int(codes.max()) < n_known, "an element of an array is not among the distinct ones")
        return known[codes]
    commonest, n_others = group.numbers
    _need(n_others <= n and commonest < 2 ** (8 * size), "a group of arrays has an impossible number")
    bits, *planes = _inflated(group, data, [-(-n // 8)] + [n_others] * size)
    is_other = np.unpackbits(bits).view(np.bool_)
    _need(not is_other[n:].any() and np.count_nonzero(is_other) == n_others, "the others of a group are not all there")
    folded = _join(planes, word)
    one = np.asarray(1, word)
    steps = (folded >> one) ^ (np.zeros((), word) - (folded & one))
    elements = np.full(n, commonest, word)
    elements[is_other[:n]] = np.cumsum(steps, dtype=word)
    return elements


def _inflated(group: _Listed, data: Bytes, lengths: Sequence[int]) -> list[Bytes]:
    _need(len(group.pieces) == len(lengths), "a group of arrays has another number of pieces than its form")
    result: list[Bytes] = []
    begin = 0
    for (size, is_raw), n in zip(group.pieces, lengths, strict=True):
        piece = data[begin : begin + size]
        begin += size
        _need(not is_raw or size == n, "a piece of a group has another size than it should")
        result.append(piece if is_raw else _inflate(piece, n))
    return result


def _inflate(piece: Bytes, n: int) -> Bytes:
    """Decompress n bytes, and not more."""
    reader = zlib.decompressobj()
    try:
        made = reader.decompress(piece.tobytes(), n + 1)
    except zlib.error as error:
        raise ModelFileError(f"The compressed file is damaged: {str(error)[:100]}.") from error
    _need(len(made) == n and reader.eof and not reader.unused_data, "a piece holds another number of bytes")
    return np.frombuffer(made, np.uint8)


def _join(planes: Sequence[Bytes], word: np.dtype[Any]) -> NDArray[Any]:
    rows = np.empty((planes[0].size, len(planes)), np.uint8)
    for i, plane in enumerate(planes):
        rows[:, i] = plane
    return rows.reshape(-1).view(word)


def _take_apart(group: _Listed, elements: NDArray[Any], result: dict[str, NDArray[Any]]) -> None:
    stored, begin = np.dtype(DTYPES[group.dtype]), 0
    if stored.kind == "b":
        _need(not np.any(elements > 1), "a truth value is neither 0 nor 1")
    array = elements.view(stored).astype(stored.newbyteorder("="), copy=False)
    for name, shape in group.members:
        _need(name not in result, f"the array {name!r:.80} stands twice")
        end = begin + math.prod(shape)
        result[name] = array[begin:end].reshape(shape)
        begin = end
