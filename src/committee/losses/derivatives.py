"""Negative gradients and hessians of all rows at their scores, block by block on several threads."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.threads import run
from committee.kernels.boosting import derivatives as d
from committee.losses.loss import Loss, LossError


class Derivatives:
    """Negative gradients g and hessians h [outputs, n], with the sums that quantization needs.

    The arrays are overwritten in every round. Each block of rows is summed by itself and the blocks in order, so the
    results do not depend on the number of threads.
    """

    def __init__(
        self, losses: tuple[Loss, ...], y: NDArray[Any], weight: Floats, is_multinomial: bool, allocate: Any = np.empty
    ) -> None:
        """`allocate` makes the arrays g and h."""
        n, n_outputs = y.size, len(losses)
        self.losses, self.y, self.weight, self.is_multinomial = losses, y, weight, is_multinomial
        self.n_blocks = -(-n // d.BLOCK)
        self.g, self.h = (allocate((n_outputs, n), np.float64) for _ in range(2))
        self.sums = np.empty((n_outputs, self.n_blocks, 3))
        self.all_sums = np.empty((self.n_blocks, 1 + 2 * n_outputs)) if is_multinomial else np.empty((0, 0))
        self.sizes: list[tuple[float, float]] = []  # weighted sums of |g| and of h of every output
        self.total_weight = float(weight.sum()) if weight.size else float(n)
        self.scratch = [np.empty((2, d.BLOCK))]
        self.user_values = [UserValues(loss, y) if loss.functions is not None else None for loss in losses]

    def update(self, score: Floats, threads: int = 1) -> float:
        """Differentiate at score [outputs, n]; return the mean loss, summed over the outputs."""
        if self.is_multinomial:
            return self._update_together(score, threads)
        total = 0.0
        self.sizes = []
        for k, loss in enumerate(self.losses):
            g, h, sums = self.g[k], self.h[k], self.sums[k]
            if (user_values := self.user_values[k]) is not None:
                _fill_by_user(user_values, score[k], self.weight, g, h, sums)
            else:
                call = (loss.code, loss.parameter, self.y, score[k], self.weight)
                self._run(d.differentiate, call, d.Derivative(g, h, sums), threads)
            sum_loss, size_g, size_h = column_sums(sums)
            total += sum_loss
            self.sizes.append((size_g, size_h))
        return total / self.total_weight

    def _update_together(self, score: Floats, threads: int) -> float:
        n_outputs = len(self.losses)
        factor = n_outputs / (n_outputs - 1.0)
        call = (self.y, score, self.weight, factor)
        self._run(d.softmax_derivatives, call, d.Derivative(self.g, self.h, self.all_sums), threads)
        sum_loss, *sizes = column_sums(self.all_sums)
        self.sizes = list(zip(sizes[::2], sizes[1::2], strict=True))
        return sum_loss / self.total_weight

    def _run(self, kernel: Any, given: tuple[Any, ...], out: d.Derivative, threads: int) -> None:
        """Every thread takes a range of blocks and its own scratch."""
        if threads == 1:
            kernel(*given, (0, self.n_blocks), out, self.scratch[0])
            return
        while len(self.scratch) < threads:
            self.scratch.append(np.empty((2, d.BLOCK)))
        ends = [self.n_blocks * i // threads for i in range(threads + 1)]
        run(kernel, [(*given, blocks, out, self.scratch[i]) for i, blocks in enumerate(pairwise(ends))], threads)


def column_sums(sums: Floats) -> list[float]:
    return (sums[0] if len(sums) == 1 else sums.sum(axis=0)).tolist()


def total_loss(loss: Loss, y: Floats, score: Floats, weight: Floats) -> float:
    """Summed loss of the rows at the scores [n] of one output."""
    derivatives = Derivatives((loss,), y, weight, False)
    derivatives.update(score[np.newaxis])
    return column_sums(derivatives.sums[0])[0]


def mean_loss(loss: Loss, y: Floats, score: Floats, weight: Floats) -> float:
    """Mean loss of the rows at the scores [n] of one output."""
    return Derivatives((loss,), y, weight, False).update(score[np.newaxis])


# --- user-defined losses ----------------------------------------------------------------------------------------------


class UserValues:
    """The values of a user-defined loss for every row; those of the last scores are kept."""

    def __init__(self, loss: Loss, y: Floats) -> None:
        self.functions, self.y = loss.functions, y
        self.at = np.full(y.size, np.nan)
        self.values, self.spare = np.empty(y.size), np.empty(y.size)

    def __call__(self, score: Floats) -> Floats:
        """The values, in an array that stays as it is until the call after the next."""
        if not np.array_equal(score, self.at):
            self.values, self.spare = self.spare, self.values
            self.at.fill(np.nan)  # in case the user's code raises
            _call_user(self.functions, self.functions.values, self.y, score, self.values)
            np.copyto(self.at, score)
        return self.values


def _call_user(functions: Any, loop: Any, *arguments: Floats) -> None:
    try:
        loop(*arguments)
    except Exception as error:  # the user's code may raise anything
        raise LossError(f"the loss {functions.name!r} raised {type(error).__name__}: {error}") from error


def _fill_by_user(user: UserValues, score: Floats, weight: Floats, g: Floats, h: Floats, sums: Floats) -> None:
    """Call UserLoss.fill; raise LossError for its errors and for values that are not finite."""
    functions = user.functions
    _call_user(functions, functions.fill, user.y, score, user(score), weight, g, h, sums)
    for what, total in zip(("value", "gradient", "hessian"), sums.sum(axis=0), strict=True):
        if not math.isfinite(total):
            raise LossError(
                f"the {what} of the loss {functions.name!r} is not finite for some row: it must be a finite number for "
                "every target and every score"
            )
