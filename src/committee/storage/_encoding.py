"""Convert a fitted model to a table of plain values and a set of arrays.

    state = {"classes": [{"type", "fields"}, ...], "table": [entry, ...], "model": value}      types: schema.py
    value = null | true | false | whole number | finite number | text | {"float": 16 hex digits} | {"ref": place}
    entry = [kind, ...]     its values refer to earlier places of the table only

So there is no nesting to speak of, no cycle, and a thing that stands at several places of the model is stored once and
is one thing again after reading. Entries:

    list, tuple, set, frozenset    [kind, [value, ...]]
    dict, bunch                    [kind, [key, ...], [value, ...]]            bunch: scikit-learn's, with attributes
    type                           [kind, name]                                of a number, such as float32
    range, slice                   [kind, begin, end, step]
    named, object                  [kind, place in classes, [value, ...]]      a named tuple; anything with attributes
    array                          [kind, tensor, layout]                      layout: C or F, and r if read-only
    constant                       [kind, dtype, hex digits of the number, shape]      the same number everywhere
    thin                           [kind, shape, tensor of bits, tensor of numbers, layout]    few numbers among zeros
    record                         [kind, name of the dtype, tensor, layout]
    nodes                          [kind, number, is leaf (bits), thresholds, features, steps to the left child, layout]
    text                           [kind, width, shape, tensor of UTF-8, tensor of ends, layout]
    moments                        [kind, dtype, tensor, layout]               datetime64, timedelta64
    objects                        [kind, shape, [value, ...], layout]
    scalar                         [kind, dtype, hex digits]                   a NumPy number
    sparse                         [kind, format, shape, data, indices, indptr]
    random                         [kind, class, state]
    routing                        [kind, owner, {method: {parameter: value}}] what scikit-learn's set_fit_request sets
    loss                           [kind, class, [number, ...]]                a compiled loss of scikit-learn
    function                       [kind, name]                                of the user, who passes it when reading
    own_loss                       [kind, [value, ...]]                        a user's loss, compiled again
    foreign                        [kind, class, tensor]                       bytes of skops
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import Bunch

from committee.storage._classes import find_stored_type, is_named_tuple, loss_name, records
from committee.storage._container import NAMES
from committee.storage._schema import StoredType
from committee.storage._skops_members import dump_foreign
from committee.storage.errors import UnstorableError
from committee.tabular.schema import Categories

Slim = Callable[[Any, dict[str, Any]], dict[str, Any]]
"""Selects the attributes of an object to store: (object, attributes) -> attributes."""

TYPES: dict[str, type] = {
    kind.__name__: kind
    for kind in (bool, int, float, str, np.float64, np.float32, np.int64, np.int32, np.uint8, np.uint32, np.uint64)
}
"""Types that may be values."""

SEQUENCES = {list: "list", tuple: "tuple", set: "set", frozenset: "frozenset"}

ROUTED = ("fit", "partial_fit", "predict", "predict_proba", "predict_log_proba", "decision_function", "score",
          "split", "transform", "inverse_transform")  # fmt: skip
"""Methods whose metadata requests scikit-learn keeps."""


MIN_SPARSE, MAX_FILLED = 1024, 0.5
"""Minimum size, and maximum fraction of nonzero elements, of arrays stored without zeros."""


class Encoder:
    """Collect the table and the arrays of a model."""

    def __init__(self, takes_foreign: bool = False, slim: Slim | None = None, is_mapped: bool = False) -> None:
        self.table: list[list[Any]] = []
        self.classes: dict[tuple[str, tuple[str, ...]], int] = {}
        self.tensors: dict[str, NDArray[Any]] = {}
        self.functions: list[str] = []
        self.foreign: list[str] = []
        self._place: dict[int, int] = {}
        self._alive: list[Any] = []  # ids of deleted objects could be reused
        self._owners: list[Any] = []  # the objects around the one being encoded
        self._takes_foreign, self._slim = takes_foreign, slim
        self._is_mapped = is_mapped  # arrays are stored for use by kernels, not for size

    def state(self, model: Any) -> dict[str, Any]:
        """The model without its arrays."""
        value = self.value(model, "")
        listed = [{"type": tag, "fields": list(names)} for tag, names in self.classes]
        return {"classes": listed, "table": self.table, "model": value}

    def value(self, thing: Any, path: str) -> Any:
        """A plain value, or a reference to the entry of an object."""
        if thing is None or type(thing) in (bool, int, str):
            return thing
        if type(thing) is float:
            return thing if np.isfinite(thing) else {"float": struct.pack(">d", thing).hex()}
        if id(thing) not in self._place:
            self._place[id(thing)] = -1
            self._alive.append(thing)
            entry = self._entry(thing, path)
            self._place[id(thing)] = len(self.table)
            self.table.append(entry)
        place = self._place[id(thing)]
        if place < 0:
            raise UnstorableError(f"{path or 'The model'} contains itself and cannot be stored.")
        return {"ref": place}

    def _values(self, things: Iterable[Any], path: str) -> list[Any]:
        return [self.value(thing, f"{path}.{i}") for i, thing in enumerate(things)]

    def _entry(self, thing: Any, path: str) -> list[Any]:
        kind = type(thing)
        if isinstance(thing, np.ndarray):
            return self._array(thing, path)
        if isinstance(thing, np.generic):
            return self._scalar(thing, path)
        if kind in SEQUENCES:
            return [SEQUENCES[kind], self._values(sorted(thing, key=repr) if kind in (set, frozenset) else thing, path)]
        if kind in (dict, Bunch):
            keys = [self._key(key, path) for key in thing]
            return ["dict" if kind is dict else "bunch", keys, self._values(thing.values(), path)]
        if kind is type and TYPES.get(thing.__name__) is thing:
            return ["type", thing.__name__]
        if kind in (range, slice):
            return [kind.__name__, *(self.value(part, path) for part in (thing.start, thing.stop, thing.step))]
        for encode in (self._random, self._sparse, self._routing, self._loss, self._own_loss, self._function):
            entry = encode(thing, path)
            if entry is not None:
                return entry
        return self._instance(thing, path)

    def _key(self, key: Any, path: str) -> Any:
        if key is not None and type(key) not in (bool, int, float, str) and not isinstance(key, np.generic):
            raise UnstorableError(
                f"{path} is a dict or an array of objects with {key!r:.60} in it: only numbers and texts can be stored."
            )
        return self.value(key, path)

    # --- objects ------------------------------------------------------------------------------------------------------

    def _instance(self, thing: Any, path: str) -> list[Any]:
        kind = type(thing)
        stored = find_stored_type(kind)
        if stored is None:
            return self._foreign(thing, path)
        if is_named_tuple(kind):
            if kind is Categories:
                _reject_rare_kinds(thing)
            return ["named", self._class(stored, kind._fields), self._named(thing, path)]
        attributes = self._attributes(thing)
        if self._slim is not None:
            attributes = self._slim(thing, attributes)
        self._owners.append(thing)
        values = [self.value(value, f"{path}.{key}".lstrip(".")) for key, value in attributes.items()]
        self._owners.pop()
        return ["object", self._class(stored, tuple(attributes)), values]

    def _named(self, thing: Any, path: str) -> list[Any]:
        return [self.value(value, f"{path}.{key}") for key, value in zip(type(thing)._fields, thing, strict=True)]

    def _attributes(self, thing: Any) -> dict[str, Any]:
        if is_dataclass(thing) and not isinstance(thing, BaseEstimator):
            return {field.name: getattr(thing, field.name) for field in fields(thing)}
        is_own = type(thing).__module__.startswith("committee.")
        state: Any = (thing.__getstate__() if is_own else vars(thing)) or {}
        if isinstance(state, tuple):  # of a class with slots
            state = {key: value for part in state for key, value in (part or {}).items()}
        return {key: value for key, value in state.items() if key != "_sklearn_version"}

    def _class(self, stored: StoredType, attributes: tuple[str, ...]) -> int:
        names = tuple(stored.stored_name(attribute) for attribute in attributes)
        return self.classes.setdefault((stored.tag, names), len(self.classes))

    def _foreign(self, thing: Any, path: str) -> list[Any]:
        kind = f"{type(thing).__module__}.{type(thing).__qualname__}"
        if not self._takes_foreign:
            raise UnstorableError(
                f"{path or 'The model'} is a {kind}, which a model file does not hold by itself: pass foreign=True to "
                "put it in by way of skops (pip install committee[foreign]); reading it then needs trusted=[...]."
            )
        data, types = dump_foreign(thing, path)
        self.foreign += [kind, *types]
        return ["foreign", kind, self._tensor(np.frombuffer(data, np.uint8), path)]

    # --- arrays -------------------------------------------------------------------------------------------------------

    def _array(self, array: NDArray[Any], path: str) -> list[Any]:
        is_f = array.ndim > 1 and array.flags.f_contiguous and not array.flags.c_contiguous
        layout = ("F" if is_f else "C") + ("" if array.flags.writeable else "r")
        plain = np.asarray(array).T if is_f else np.asarray(array)  # of a matrix class or a map of memory, the array
        native = array.dtype.newbyteorder("<")
        if array.dtype.kind in "fiub" and native in NAMES:
            if array.size > 1 and not any(array.strides):
                return ["constant", native.str, np.asarray(array).flat[0].astype(native).tobytes().hex(),
                        list(array.shape)]  # fmt: skip
            return self._thin(plain, path, layout) or [
                "array", self._tensor(plain.astype(native, copy=False), path), layout
            ]  # fmt: skip
        if array.dtype.names:
            return self._record(plain, path, layout)
        if array.dtype.kind == "U":
            return self._text(array, path, layout)
        if array.dtype.kind in "mM":
            return ["moments", native.str, self._tensor(plain.astype(native).view(np.int64), path), layout]
        if array.dtype.kind == "O":
            return ["objects", list(array.shape), [self._key(item, path) for item in array.ravel()], layout]
        raise UnstorableError(f"{path} is an array of {array.dtype}, which cannot be stored.")

    def _thin(self, array: NDArray[Any], path: str, layout: str) -> list[Any] | None:
        """Store an array without its zeros if it has many, such as class distributions of trees."""
        if self._is_mapped or array.dtype != np.float64 or array.ndim != 2 or array.size < MIN_SPARSE:
            return None
        is_number = np.ascontiguousarray(array).view(np.uint64) != 0  # the bits: -0.0 is kept
        if np.count_nonzero(is_number) > MAX_FILLED * array.size:
            return None
        bits = self._tensor(np.packbits(is_number), f"{path}.bits")
        return ["thin", list(array.shape), bits, self._tensor(array[is_number], f"{path}.numbers"), layout]

    def _tensor(self, array: NDArray[Any], path: str) -> str:
        name = path or "model"
        while name in self.tensors:
            name += "'"
        self.tensors[name] = array
        return name

    def _record(self, array: NDArray[Any], path: str, layout: str) -> list[Any]:
        name = next((name for name, dtype in records().items() if dtype == array.dtype), None)
        if name is None or array.ndim != 1:
            raise UnstorableError(f"{path} is an array of the records {array.dtype}, which cannot be stored.")
        split = None if self._is_mapped else split_nodes(array)
        if split is not None:
            tensors = [self._tensor(part, f"{path}.{field}") for field, part in split._asdict().items()]
            return ["nodes", len(array), *tensors, layout]
        words = np.ascontiguousarray(array).view(np.uint64).reshape(len(array), array.dtype.itemsize // 8)
        return ["record", name, self._tensor(words, path), layout]

    def _text(self, array: NDArray[Any], path: str, layout: str) -> list[Any]:
        pieces = [text.encode("utf-8", "surrogatepass") for text in array.ravel().tolist()]
        ends = np.cumsum([len(piece) for piece in pieces], dtype=np.int64)
        text = self._tensor(np.frombuffer(b"".join(pieces), np.uint8), f"{path}.text")
        return ["text", array.dtype.itemsize // 4, list(array.shape), text, self._tensor(ends, f"{path}.ends"), layout]

    def _scalar(self, number: np.generic, path: str) -> list[Any]:
        if isinstance(number, np.str_):
            return ["scalar", "text", self.value(str(number), path)]
        if number.dtype.kind not in "fiubmM":
            raise UnstorableError(f"{path} is a {type(number).__name__}, which cannot be stored.")
        little = number.dtype.newbyteorder("<")
        return ["scalar", little.str, np.asarray(number).astype(little).tobytes().hex()]

    # --- special types ------------------------------------------------------------------------------------------------

    def _random(self, thing: Any, path: str) -> list[Any] | None:
        if isinstance(thing, np.random.RandomState):
            return ["random", "RandomState", self.value(thing.get_state(legacy=False), path)]
        if isinstance(thing, np.random.Generator):
            return ["random", "Generator", self.value(dict(thing.bit_generator.state), path)]
        return None

    def _sparse(self, thing: Any, path: str) -> list[Any] | None:
        if not sparse.issparse(thing):
            return None
        if thing.format not in ("csr", "csc"):
            raise UnstorableError(f"{path} is a sparse {thing.format} matrix: only csr and csc can be stored.")
        arrays = [self.value(getattr(thing, name), f"{path}.{name}") for name in ("data", "indices", "indptr")]
        return ["sparse", type(thing).__name__, list(thing.shape), *arrays]

    def _routing(self, thing: Any, path: str) -> list[Any] | None:
        if type(thing).__module__ != "sklearn.utils._metadata_requests" or type(thing).__name__ != "MetadataRequest":
            return None
        requests: dict[str, Mapping[str, Any]] = {name: getattr(thing, name).requests for name in ROUTED}
        wanted = {name: dict(asked) for name, asked in requests.items() if asked}
        return ["routing", _owner_name(thing.owner), wanted]

    def _loss(self, thing: Any, path: str) -> list[Any] | None:
        name = loss_name(thing)
        return None if name is None else ["loss", name, [float(number) for number in thing.__reduce__()[1]]]

    def _own_loss(self, thing: Any, path: str) -> list[Any] | None:
        if f"{type(thing).__module__}.{type(thing).__name__}" != "committee.kernels.boosting.user_functions.UserLoss":
            return None
        loss = self._owners[-1].loss  # the object keeps nothing but machine code
        return ["own_loss", self._values(loss if isinstance(loss, tuple | list) else [loss], path)]

    def _function(self, thing: Any, path: str) -> list[Any] | None:
        if not isinstance(thing, FunctionType):
            return None
        name = f"{thing.__module__}.{thing.__qualname__}"
        self.functions.append(name)
        return ["function", name]


class SplitNodes(NamedTuple):
    """Packed nodes field by field; of leaves only their positions."""

    is_leaf: NDArray[np.uint8]  # bits
    threshold: NDArray[np.float64]  # [inner nodes]
    feature: NDArray[np.int32]  # [inner nodes]
    step: NDArray[np.int32]  # [inner nodes], from the node to its left child


def split_nodes(nodes: NDArray[np.void]) -> SplitNodes | None:
    """The fields of packed nodes (`tree_engine/predict/apply.py`); None if leaves differ."""
    index = np.arange(len(nodes))
    is_leaf = nodes["left"] == index
    leaf, inner = nodes[is_leaf], nodes[~is_leaf]
    if not (np.all(leaf["threshold"] == np.inf) and np.all(leaf["feature"] == -1)):
        return None
    step = (inner["left"] - index[~is_leaf]).astype(np.int32)
    return SplitNodes(np.packbits(is_leaf), inner["threshold"].copy(), inner["feature"].copy(), step)


def _reject_rare_kinds(known: Categories) -> None:
    """Reject other types of categories, such as intervals of pandas, which could not be compared after loading."""
    for value in (*known.kept, *known.rare):
        if value is not None and not isinstance(value, bool | int | float | str | np.generic):
            raise UnstorableError(
                f"A column has categories of the type {type(value).__name__}, such as {value!r:.60}: they cannot "
                "be stored. Convert them to texts or numbers before fitting, for example by column.astype(str)."
            )


def _owner_name(owner: Any) -> str:
    return owner if isinstance(owner, str) else type(owner).__name__
