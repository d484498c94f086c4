"""Parallel sums of one tree: the kernel that grows it, and assistants that compute parts of its sums.

Each assistant has a row of a shared array, the board:

    IDLE -> POSTED -> CLAIMED -> DONE -> IDLE      QUIT ends the assistant
       grower   assistant  assistant  grower

The grower never waits for an assistant that has not begun: after its own part it computes the parts that are still
POSTED itself. So the result does not depend on the assistants, and there are no deadlocks.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from committee.base.jit import part

IDLE, POSTED, CLAIMED, DONE, QUIT = range(5)
STATE, FIRST, LAST, FIRST_TILE, LAST_TILE, SLOT = range(6)  # columns of the board
LINE = 8
"""Integers of a row of the board: a cache line, against false sharing."""

PATIENCE = 2000
"""Looks at the board before the processor is offered to other threads."""


def _address(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    array = context.make_array(signature.args[0])(context, builder, args[0])
    return builder.gep(array.data, [args[1]])


@intrinsic
def _look(typing_context, board, i):
    """board.flat[i] as another thread last wrote it."""

    def generate(context, builder, signature, args):
        return builder.load_atomic(_address(context, builder, signature, args), "acquire", 8)

    return types.int64(board, i), generate


@intrinsic
def _post(typing_context, board, i, value):
    """board.flat[i] = value, after everything written before it."""

    def generate(context, builder, signature, args):
        builder.store_atomic(args[2], _address(context, builder, signature, args), "release", 8)
        return context.get_dummy_value()

    return types.void(board, i, types.int64), generate


@intrinsic
def _swap(typing_context, board, i, old, new):
    """board.flat[i] = new if it is old; whether it was."""

    def generate(context, builder, signature, args):
        address = _address(context, builder, signature, args)
        result = builder.cmpxchg(address, args[2], args[3], "acq_rel", "acquire")
        return builder.zext(builder.extract_value(result, 1), ir.IntType(64))

    return types.int64(board, i, types.int64, types.int64), generate


look: Any = _look
post: Any = _post
swap: Any = _swap


@part
def _go_on():
    return np.int32(0)


# Windows has no sched_yield: threads go on looking there.
give_way: Any = types.ExternalFunction("sched_yield", types.int32()) if os.name == "posix" else _go_on


@part
def wait_for_change(board, i, old):
    """Look at board.flat[i] until it is no longer old; return what it is."""
    n_looks = 0
    state = look(board, i)
    while state == old:
        n_looks += 1
        if n_looks % PATIENCE == 0:
            give_way()
        state = look(board, i)
    return state


@part
def share(n, n_shares, j):
    """First row of the j-th of n_shares equal parts of n rows."""
    return np.int64(n) * j // n_shares
