"""Two kernels at work on one tree: the one that grows it, and assistants that take over parts of its sums.

Each assistant has a line of a board, which both sides read and write:

    IDLE -> POSTED -> CLAIMED -> DONE -> IDLE      QUIT ends the assistant
       grower   assistant  assistant  grower

The grower never waits for an assistant that has not begun: what is still POSTED when it has done its own share it takes
back and does itself. So it makes no difference to the result whether assistants come late or never, only to the time;
and no thread can wait for another that waits for it.
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
"""Integers of a line of the board: a cache line, so that assistants do not disturb each other."""

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
    """Where the j-th of n_shares equal shares of n rows begins."""
    return np.int64(n) * j // n_shares
