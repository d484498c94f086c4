"""Values of every kind through the table and back."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils import Bunch

from committee.committees._diagnostics import Seconds
from committee.records.history import History
from committee.storage._decoding import Allowed, Decoder
from committee.storage._encoding import Encoder
from committee.storage.errors import UnstorableError


def through(thing: Any) -> Any:
    encoder = Encoder()
    state = json.loads(json.dumps(encoder.state(thing), allow_nan=False))
    return Decoder(state, encoder.tensors, Allowed({}, ())).model()


@pytest.mark.parametrize(
    "thing",
    [
        None, True, -3, 2**127, 0.1, -0.0, "", "äöü \N{SNOWMAN} \ud800 \x00", [1, [2.5, "x"], ()], (1,),
        {"a": {"b": [None]}}, {1: 2, None: 3, 2.5: 4, False: 5}, {3, 1, 2}, frozenset({"x"}),
        range(2, 9, 3), slice(None, 4, None), [], {"n": 10**30},
    ],
    ids=repr,
)  # fmt: skip
def test_plain_values(thing: Any) -> None:
    back = through(thing)
    assert back == thing
    assert type(back) is type(thing)
    assert repr(back) == repr(thing)


@pytest.mark.parametrize("bits", [0x7FF8000000000000, 0xFFF8000000000001, 0x7FF0000000000000, 0xFFF0000000000000])
def test_numbers_that_json_has_not(bits: int) -> None:
    thing = struct.unpack(">d", bits.to_bytes(8, "big"))[0]
    assert struct.pack(">d", through(thing)) == bits.to_bytes(8, "big")


ARRAYS = [
    np.arange(6).astype(dtype).reshape(2, 3)
    for dtype in ("f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?")
]
ARRAYS += [
    np.array(3.5), np.empty(0), np.empty((0, 4), np.int32), np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    np.arange(12.0)[::3], np.array(["a", "äöü", ""]), np.array([["x", "yy"], ["", "z"]]), np.array([], "<U5"),
    np.array(["2020-01-01", "NaT"], "M8[D]"), np.array([5, 6], "m8[ns]"), np.array(["a", None, 2.5, 7], object),
    np.broadcast_to(np.nan, 1000), np.broadcast_to(np.int64(-1), (3, 2)),
]  # fmt: skip


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{array.dtype}{array.shape}")
def test_arrays(array: Any) -> None:
    back = through(array)
    assert back.dtype == array.dtype
    assert back.shape == array.shape
    assert back.flags.f_contiguous == array.flags.f_contiguous or not any(array.strides) or array.size < 2
    assert back.tolist() == array.tolist() or np.array_equal(back, array, equal_nan=True)


def test_read_only_arrays_stay_so() -> None:
    array = np.arange(3.0)
    array.flags.writeable = False
    assert not through(array).flags.writeable
    assert through(np.arange(3.0)).flags.writeable


@pytest.mark.parametrize("number", [np.float64(0.1), np.float32(0.1), np.int8(-3), np.bool_(True), np.str_("x"),
                                    np.datetime64("2020-01-01")], ids=repr)  # fmt: skip
def test_numpy_numbers(number: Any) -> None:
    back = through([number])[0]
    assert type(back) is type(number)
    assert back == number


def test_big_endian_arrays_become_native() -> None:
    back = through(np.array([1.5, 2.5], ">f8"))
    assert back.dtype == np.float64
    assert back.tolist() == [1.5, 2.5]


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_array])
def test_sparse_matrices(kind: Any) -> None:
    matrix = kind(np.array([[0.0, 1.0], [2.0, 0.0]]))
    back = through(matrix)
    assert type(back) is type(matrix)
    assert (back != matrix).nnz == 0


def test_bunches_types_and_slots() -> None:
    bunch, kind = through([Bunch(a=1, b=[2]), np.float32])
    assert type(bunch) is Bunch
    assert bunch.b == [2]
    assert kind is np.float32
    seconds = through(Seconds({"forest": 1.5}))
    assert seconds.of(["forest"]).tolist() == [1.5]


def test_what_is_one_thing_stays_one_thing() -> None:
    array, history = np.arange(3.0), History({"round": [1, 2]})
    first, second, inner, same = through([array, array, [history], history])
    assert first is second
    assert inner[0] is same
    assert same == history


def test_what_cannot_be_stored_is_rejected() -> None:
    loop: list[Any] = []
    loop.append(loop)
    for thing, text in (
        (loop, "contains itself"),
        ([object()], "foreign=True"),
        (np.array([1j]), "complex"),
        ({(1, 2): 3}, "only numbers and texts"),
        (np.zeros(2, [("a", "f8")]), "records"),
        (sparse.coo_matrix(np.eye(2)), "csr and csc"),
    ):
        with pytest.raises(UnstorableError, match=text):
            through(thing)
