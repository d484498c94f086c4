"""Create a model from the table of a model file; entries are checked before (`_encoding.py`)."""

from __future__ import annotations

import inspect
import math
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import is_dataclass
from itertools import pairwise
from types import MemberDescriptorType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import Bunch

from committee.storage._check_types import check_fields
from committee.storage._checks import check_estimator, check_part
from committee.storage._classes import find_loss, find_tag, is_named_tuple, records
from committee.storage._container import DTYPES, is_count
from committee.storage._encoding import ROUTED, TYPES
from committee.storage._schema import UPGRADES, StoredType
from committee.storage._skops_members import load_foreign
from committee.storage.errors import ModelFileError, need

LARGEST = 2**128
"""Integers must be smaller; the largest are seeds."""

LONGEST_TEXT = 1 << 26
"""Bytes of a text array beyond which its width must be that of a text in it."""

MAX_UNFOLDED, ALWAYS = 50, 10_000
"""Maximum size of a model relative to its table when references are followed, and the size that is always allowed."""

N_PARTS = {
    "list": 1, "tuple": 1, "set": 1, "frozenset": 1, "dict": 2, "bunch": 2, "type": 1, "range": 3, "slice": 3,
    "named": 2, "object": 2, "array": 2, "constant": 3, "thin": 4, "record": 3, "nodes": 6, "text": 5,
    "moments": 3, "objects": 3, "scalar": 2, "sparse": 5, "random": 2, "routing": 2, "loss": 2,
    "function": 1, "own_loss": 1, "foreign": 2,
}  # fmt: skip
"""The kinds of entries and their numbers of parts."""

LAYOUTS = ("C", "F", "Cr", "Fr")
NUMBER_DTYPES = frozenset(DTYPES.values())


class Allowed(NamedTuple):
    """Functions and classes that the user allows."""

    functions: Mapping[str, Callable[..., Any]]
    trusted: Sequence[str]


class Decoder:
    """Create the objects of a table, entry by entry."""

    def __init__(self, state: Any, tensors: Mapping[str, NDArray[Any]], allowed: Allowed) -> None:
        if not isinstance(state, dict) or state.keys() != {"classes", "table", "model"}:
            raise ModelFileError("The description of the model in the file is invalid.")
        need(isinstance(state["table"], list) and isinstance(state["classes"], list), "a list of entries is missing")
        self.state, self.tensors, self.allowed = state, tensors, allowed
        self.classes = [_read_class(entry) for entry in state["classes"]]
        self.made: list[Any] = []
        self.sizes: list[int] = []  # with all references followed
        self._size = 0
        self._unused = set(tensors)

    def model(self) -> Any:
        """The model."""
        for place, entry in enumerate(self.state["table"]):
            self._size = 1
            try:
                self.made.append(self._make(entry))
            except ModelFileError as error:
                raise ModelFileError(f"{error} (entry {place} of the file)") from error
            self.sizes.append(self._size)
            if self._size > MAX_UNFOLDED * len(self.state["table"]) + ALWAYS:
                raise ModelFileError("The entries of the file refer to each other so often that the model is endless.")
        if self._unused:
            raise ModelFileError(f"The file holds the array {min(self._unused)!r:.80}, which no part of it uses.")
        return self.value(self.state["model"])

    def value(self, stored: Any) -> Any:
        """A plain value, or the object of an earlier entry."""
        if isinstance(stored, dict):
            return self._special(stored)
        need(stored is None or type(stored) in (bool, int, float, str), "a value is of an unknown kind")
        need(type(stored) is not int or abs(stored) < LARGEST, "a whole number is too large")
        need(type(stored) is not float or math.isfinite(stored), "a number is too large")
        return stored

    def _special(self, stored: dict[str, Any]) -> Any:
        need(len(stored) == 1, "a value is of an unknown kind")
        (name, content), *_ = stored.items()
        if name == "float":
            return struct.unpack(">d", _bytes(content, 8))[0]
        need(name == "ref" and is_count(content, len(self.made) - 1), "a reference leads nowhere")
        self._size += self.sizes[content]
        return self.made[content]

    def _values(self, stored: Any) -> list[Any]:
        need(isinstance(stored, list), "a list of values is missing")
        return [self.value(value) for value in stored]

    def _make(self, entry: Any) -> Any:
        need(isinstance(entry, list) and bool(entry) and isinstance(entry[0], str), "an entry has no kind")
        if entry[0] not in N_PARTS:
            raise ModelFileError(f"The file holds an entry of the unknown kind {entry[0]!r:.40}.")
        need(len(entry) == N_PARTS[entry[0]] + 1, f"an entry of the kind {entry[0]} has {len(entry) - 1} parts")
        try:
            return getattr(self, f"make_{entry[0]}")(*entry[1:])
        except ModelFileError:
            raise
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, MemoryError,
                RecursionError, AssertionError, ArithmeticError) as error:  # fmt: skip
            raise ModelFileError(f"A part of the kind {entry[0]} cannot be made: {error!r:.200}.") from error

    # --- containers ---------------------------------------------------------------------------------------------------

    def make_list(self, items: Any) -> list[Any]:
        return self._values(items)

    def make_tuple(self, items: Any) -> tuple[Any, ...]:
        return tuple(self._values(items))

    def make_set(self, items: Any) -> set[Any]:
        return set(self._plain(items))

    def make_frozenset(self, items: Any) -> frozenset[Any]:
        return frozenset(self._plain(items))

    def _plain(self, items: Any) -> list[Any]:
        """Check that keys are plain values; hashing nested tuples could take very long."""
        result = self._values(items)
        is_plain = all(value is None or isinstance(value, bool | int | float | str | np.generic) for value in result)
        need(is_plain, "a key, or a member of a set or of an array, is neither number nor text")
        return result

    def make_dict(self, keys: Any, values: Any) -> dict[Any, Any]:
        names, contents = self._plain(keys), self._values(values)
        result = dict(zip(names, contents, strict=True))
        need(len(result) == len(names), "a key stands twice in a dict")
        return result

    def make_bunch(self, keys: Any, values: Any) -> Bunch:
        result = self.make_dict(keys, values)
        need(all(isinstance(key, str) for key in result), "a name is no text")
        return Bunch(**result)

    def make_type(self, name: Any) -> type:
        need(isinstance(name, str) and name in TYPES, "a type is unknown")
        return TYPES[name]

    def make_range(self, *parts: Any) -> range:
        return range(*(self.value(part) for part in parts))

    def make_slice(self, *parts: Any) -> slice:
        return slice(*(self.value(part) for part in parts))

    # --- objects ------------------------------------------------------------------------------------------------------

    def _state(self, place: Any, values: Any) -> tuple[type, dict[str, Any]]:
        """The class of an entry and its attributes."""
        need(is_count(place, len(self.classes) - 1), "an entry is of a class that is not listed")
        stored, names = self.classes[place]
        state = dict(zip(names, self._values(values), strict=True))
        while stored.tag in UPGRADES:
            tag, upgrade = UPGRADES[stored.tag]
            stored, state = find_tag(tag), upgrade(state)
        attributes = {stored.attribute(name): value for name, value in state.items()}
        need(len(attributes) == len(state), f"{stored.name} has an attribute under two names")
        return stored.load(), attributes

    def make_named(self, place: Any, values: Any) -> Any:
        kind, given = self._state(place, values)
        need(is_named_tuple(kind), f"{kind.__name__} is no named tuple")
        fields: Any = kind
        unknown = [name for name in given if name not in fields._fields]
        need(not unknown, f"{kind.__name__} has no field {unknown}")
        missing = [name for name in fields._fields if name not in given and name not in fields._field_defaults]
        need(not missing, f"{kind.__name__} lacks {missing}")
        check_fields(kind, given)
        made = fields(**given)
        check_part(made)
        return made

    def make_object(self, place: Any, values: Any) -> Any:
        kind, attributes = self._state(place, values)
        need(not is_named_tuple(kind), f"{kind.__name__} is a named tuple")
        if is_dataclass(kind) and not issubclass(kind, BaseEstimator):
            check_fields(kind, attributes)
            made = kind(**attributes)  # its own checks run
            check_part(made)
            return made
        _check_attributes(kind, list(attributes))
        made: Any = object.__new__(kind)
        for name, value in {**_younger_parameters(kind, attributes), **attributes}.items():
            object.__setattr__(made, name, value)
        if kind.__module__.startswith("committee.") and isinstance(attributes.get("trees_"), list):
            made.__setstate__({})  # makes the prediction form of a forest
        check_part(made)
        check_estimator(made)
        return made

    def make_foreign(self, name: Any, tensor: Any) -> Any:
        need(isinstance(name, str), "a foreign class has no name")
        return load_foreign(self._tensor(tensor).tobytes(), name, self.allowed.trusted)

    # --- arrays -------------------------------------------------------------------------------------------------------

    def _tensor(self, name: Any, *dtypes: str) -> NDArray[Any]:
        need(isinstance(name, str) and name in self._unused, "an array is missing, or used twice")
        self._unused.discard(name)
        array = self.tensors[name]
        need(not dtypes or array.dtype.str in dtypes, f"the array {name!r:.80} has the dtype {array.dtype}")
        return array

    def make_array(self, tensor: Any, layout: Any) -> NDArray[Any]:
        return _laid_out(self._tensor(tensor), layout)

    def make_constant(self, dtype: Any, digits: Any, shape: Any) -> NDArray[Any]:
        need(dtype in NUMBER_DTYPES, "a constant array has an unknown dtype")
        kind = np.dtype(dtype)
        number = np.frombuffer(_bytes(digits, kind.itemsize), kind)[0]
        return np.broadcast_to(kind.newbyteorder("=").type(number), self._shape(shape))

    def make_thin(self, shape: Any, bits: Any, numbers: Any, layout: Any) -> NDArray[Any]:
        stored, number = self._tensor(bits, "|u1"), self._tensor(numbers, "<f8")
        need(stored.ndim == number.ndim == 1, "an array of few numbers is invalid")
        is_shape = (
            isinstance(shape, list) and len(shape) == 2 and all(is_count(length, 8 * stored.size) for length in shape)
        )
        need(is_shape and -(-math.prod(shape) // 8) == stored.size, "an array of few numbers has another size")
        is_number = np.unpackbits(stored).view(np.bool_)
        need(not is_number[math.prod(shape) :].any(), "an array of few numbers has too many")
        need(np.count_nonzero(is_number) == number.size, "an array of few numbers has others than it should")
        whole = np.zeros(math.prod(shape))
        whole[is_number[: whole.size]] = number
        return _laid_out(whole.reshape(shape), layout)

    def _shape(self, shape: Any) -> tuple[int, ...]:
        """The shape of an array with fewer bytes in the file than elements."""
        is_shape = isinstance(shape, list) and len(shape) <= 32 and all(is_count(length) for length in shape)
        need(is_shape, "the shape of an array is invalid")
        n_stored = sum(array.nbytes for array in self.tensors.values())
        need(math.prod(max(length, 1) for length in shape) <= n_stored + (1 << 20), "an array is larger than the file")
        return tuple(shape)

    def make_record(self, name: Any, tensor: Any, layout: Any) -> NDArray[Any]:
        known = records()
        need(isinstance(name, str) and name in known, "an array has records of an unknown kind")
        words = self._tensor(tensor, "<u8")
        need(words.ndim == 2 and words.shape[1] * 8 == known[name].itemsize, "records of an array have another size")
        return _laid_out(words.reshape(-1).view(known[name]), layout)

    def make_nodes(self, n: Any, *parts: Any) -> NDArray[Any]:
        dtypes = ("|u1", "<f8", "<i4", "<i4")
        bits, threshold, feature, step = (self._tensor(*part) for part in zip(parts[:4], dtypes, strict=True))
        is_sound = bits.ndim == threshold.ndim == 1 and is_count(n, 2**31 - 1) and -(-n // 8) == bits.size
        need(is_sound, "packed nodes are not what they must be")
        is_leaf = np.unpackbits(bits, count=n).view(np.bool_)
        inner = np.flatnonzero(~is_leaf)
        is_sound = threshold.shape == feature.shape == step.shape == inner.shape
        need(is_sound, "packed nodes have another number of splits")
        nodes = np.empty(n, records()["PACKED"])
        nodes["threshold"], nodes["feature"], nodes["left"] = np.inf, -1, np.arange(n)
        nodes["threshold"][inner], nodes["feature"][inner] = threshold, feature
        left = inner + step
        need(np.all((left > inner) & (left < n)), "a child of packed nodes lies outside them")
        nodes["left"][inner] = left
        return _laid_out(nodes, parts[4])

    def make_text(self, width: Any, shape: Any, tensor: Any, ends: Any, layout: Any) -> NDArray[Any]:
        text, end = self._tensor(tensor, "|u1"), self._tensor(ends, "<i8")
        dimensions = self._shape(shape)
        is_sound = end.ndim == text.ndim == 1 and end.size == math.prod(dimensions) and is_count(width, 1 << 24)
        need(is_sound, "an array of texts is invalid")
        first = np.concatenate([[0], end])
        need(np.all(np.diff(first) >= 0) and int(first[-1]) == text.size, "the texts of an array overlap")
        data = text.tobytes()
        pieces = [data[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(first.tolist())]
        longest = max(map(len, pieces), default=0)
        need(longest <= width, "a text is longer than its array is wide")
        need(4 * width * len(pieces) <= max(LONGEST_TEXT, 64 * text.size), "an array of texts is too wide")
        return _laid_out(np.array(pieces, dtype=f"<U{width}").reshape(dimensions), layout, turns=False)

    def make_moments(self, dtype: Any, tensor: Any, layout: Any) -> NDArray[Any]:
        need(isinstance(dtype, str) and dtype[:3] in ("<M8", "<m8"), "an array of times has an unknown dtype")
        return _laid_out(self._tensor(tensor, "<i8").view(np.dtype(dtype)), layout)

    def make_objects(self, shape: Any, items: Any, layout: Any) -> NDArray[Any]:
        result = self._plain(items)
        array = np.empty(len(result), object)
        array[:] = result
        return _laid_out(array.reshape(self._shape(shape)), layout, turns=False)

    def make_scalar(self, dtype: Any, digits: Any) -> Any:
        if dtype == "text":
            return np.str_(self.value(digits))
        is_moment = isinstance(dtype, str) and dtype[:3] in ("<M8", "<m8")
        need(is_moment or dtype in NUMBER_DTYPES, "a number has an unknown dtype")
        kind = np.dtype(dtype)
        stored = np.frombuffer(_bytes(digits, kind.itemsize), kind)
        need(kind.kind != "b" or digits in ("00", "01"), "a truth value is neither 0 nor 1")
        return stored.astype(kind.newbyteorder("="))[0]

    def make_sparse(self, name: Any, shape: Any, *arrays: Any) -> Any:
        kinds = {"csr_matrix", "csc_matrix", "csr_array", "csc_array"}
        need(isinstance(name, str) and name in kinds, "a sparse matrix is of an unknown kind")
        need(isinstance(shape, list) and len(shape) == 2 and all(is_count(n, 2**40) for n in shape), "a sparse matrix")
        data, indices, indptr = (self.value(array) for array in arrays)
        need(all(isinstance(array, np.ndarray) for array in (data, indices, indptr)), "a sparse matrix has no arrays")
        made = getattr(sparse, name)((data, indices, indptr), shape=tuple(shape))
        made.check_format(full_check=True)
        return made

    # --- special types ------------------------------------------------------------------------------------------------

    def make_random(self, name: Any, state: Any) -> Any:
        result = self.value(state)
        need(isinstance(result, dict), "the state of a random generator is no dict")
        _check_random_state(result)
        if name == "RandomState":
            made = np.random.RandomState()
            made.set_state(result)
            return made
        need(name == "Generator", "a random generator is of an unknown kind")
        generator = np.random.Generator(getattr(np.random, result["bit_generator"])())
        generator.bit_generator.state = result
        return generator

    def make_routing(self, owner: Any, requests: Any) -> Any:
        from sklearn.utils.metadata_routing import MetadataRequest

        need(isinstance(owner, str) and isinstance(requests, dict), "metadata requests are not what they must be")
        made: Any = MetadataRequest(owner=owner)
        for method, wanted in requests.items():
            need(method in ROUTED and isinstance(wanted, dict), "metadata are requested for an unknown method")
            for parameter, alias in wanted.items():
                getattr(made, method).add_request(param=parameter, alias=alias)
        return made

    def make_loss(self, name: Any, numbers: Any) -> Any:
        kind = find_loss(name) if isinstance(name, str) else None
        if kind is None or not isinstance(numbers, list):
            raise ModelFileError("A loss in the file is of an unknown kind.")
        return kind(*(float(number) for number in numbers))

    def make_function(self, name: Any) -> Callable[..., Any]:
        need(isinstance(name, str), "a function has no name")
        for known in (name, name.rpartition(".")[2]):
            if known in self.allowed.functions:
                return self.allowed.functions[known]
        raise ModelFileError(
            f"The model uses the function {name:.120}, and a file holds no code: pass it as in "
            f"functions={{{name.rpartition('.')[2]!r:.120}: ...}}."
        )

    def make_own_loss(self, functions: Any) -> Any:
        from committee.kernels.boosting.user_functions import UserLoss

        given: list[Any] = self._values(functions)
        need(len(given) in (1, 3), "a custom loss is one function or three")
        return UserLoss(*given) if len(given) == 3 else UserLoss(given[0], None, None)


def _read_class(entry: Any) -> tuple[StoredType, list[str]]:
    need(isinstance(entry, dict) and entry.keys() == {"type", "fields"}, "a class is not listed as it must be")
    tag, names = entry["type"], entry["fields"]
    need(isinstance(tag, str) and isinstance(names, list), "a class is not listed as it must be")
    need(all(isinstance(each, str) for each in names) and len(set(names)) == len(names), "fields of a class")
    return find_tag(tag), names


def _check_attributes(kind: type, names: list[str]) -> None:
    """Check that attributes have valid names and do not hide methods or properties of the class."""
    for name in names:
        known = getattr(kind, name, None)
        if isinstance(known, MemberDescriptorType) and not name.startswith("__"):
            continue  # a slot
        is_hidden = callable(known) or isinstance(known, property) or hasattr(known, "__get__")
        need(name.isidentifier() and not name.startswith("__"), f"{name!r:.60} is no name of an attribute")
        need(not is_hidden, f"{name!r:.60} would hide a method of {kind.__name__}")
        need(not (name.startswith("_") and hasattr(kind, name)), f"{name!r:.60} would change {kind.__name__}")


def _bytes(digits: Any, n: int) -> bytes:
    need(isinstance(digits, str) and len(digits) == 2 * n, "a number has the wrong length")
    return bytes.fromhex(digits)


def _laid_out(array: NDArray[Any], layout: Any, turns: bool = True) -> NDArray[Any]:
    need(isinstance(layout, str) and layout in LAYOUTS, "an array is laid out in an unknown way")
    if layout[0] == "F":
        array = array.T if turns else np.asfortranarray(array)
    if layout[1:] == "r":
        array.flags.writeable = False
    return array


GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "SFC64")


def _check_random_state(state: dict[Any, Any]) -> None:
    """Check the position in a random state, which NumPy does not check."""
    need(state.get("bit_generator") in GENERATORS and isinstance(state.get("state"), dict), "a random state")
    if state["bit_generator"] == "MT19937":
        key, position = state["state"].get("key"), state["state"].get("pos")
        is_key = isinstance(key, np.ndarray) and key.shape == (624,) and key.dtype == np.uint32
        need(is_key and is_count(position, 624), "a random state")


def _younger_parameters(kind: type, attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Defaults of parameters that were added after the file was written."""
    if not (kind.__module__.startswith("committee.") and issubclass(kind, BaseEstimator)):
        return {}
    parameters = inspect.signature(kind).parameters.values()
    known = [each for each in parameters if each.name not in attributes and each.default is not each.empty]
    return {each.name: each.default for each in known}
