"""What a fit on rows in blocks needs beside the rows: the table without its codes, the target, and where blocks are."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.stacklevel import level_of_caller
from committee.base.threads import n_threads
from committee.blocks.coded_table import CodedTable
from committee.blocks.steps import Blocks, LocalBlocks
from committee.gradient_boosting.block_rows import BlockProblem, BoostedBlock
from committee.gradient_boosting.cells import forms_cells
from committee.losses.loss import Loss
from committee.records.binned import BinnedMatrix
from committee.tabular.schema import Columns


class BlockTable(NamedTuple):
    """A table in blocks: its bins (without codes), and target and weights of all rows."""

    columns: Columns
    matrix: BinnedMatrix
    target: NDArray[Any]  # codes of the classes, or values
    weight: Floats  # as given, 1 if none were
    classes: NDArray[Any] | None  # None for regression
    attributes: Mapping[str, Any]  # fitted attributes that describe the table and the target


class BlockTarget(NamedTuple):
    """Target, weights (empty if equal) and counts of all rows, as the fit takes them."""

    y: NDArray[Any]
    weight: Floats
    counts: Floats

    def rows(self, rows: slice) -> BlockTarget:
        """Those of some rows."""
        return BlockTarget(self.y[rows], self.weight[rows], self.counts[rows])


MakeBlocks = Callable[[BlockProblem, BlockTarget], AbstractContextManager[Blocks]]
"""Makes the blocks of a fit, to be closed at its end."""


def block_table(table: CodedTable) -> BlockTable:
    """A coded table on disk as a table in blocks."""
    weight = np.ones(table.n_rows) if table.weight is None else table.weight
    return BlockTable(table.columns, table.matrix, table.target, weight, table.classes, table.attributes)


@contextmanager
def disk_blocks(table: CodedTable, problem: BlockProblem, target: BlockTarget) -> Generator[Blocks]:
    """The blocks of a table on disk, on threads."""
    states = [
        BoostedBlock(problem, table.tiles(b), *target.rows(table.rows(b)), table.rows(b).start)
        for b in range(table.n_blocks)
    ]
    threads = n_threads(problem.plan.n_jobs, table.n_rows * table.n_features)
    yield LocalBlocks(states, threads)


def check_blocks(model: Any, losses: tuple[Loss, ...], kind: str, target: BlockTarget) -> None:
    """Raise ValueError for what a fit in blocks does not support."""
    for loss in losses:
        loss.check_target(target.y)
    reason = advice = ""
    if any(loss.leaf != "newton" for loss in losses):
        reason, advice = f"loss={model.loss!r}", "such as 'squared_error'"
    elif any(loss.functions is not None for loss in losses):
        reason, advice = "A user-defined loss", "use a loss by name"
    elif kind in ("cv", "fraction"):
        reason = "Early stopping on rows that the fit chooses"
        advice = "pass validation rows (X_val, y_val), or a number of rounds (n_estimators) with early_stopping=False"
    elif model.dropout > 0.0:
        reason, advice = "dropout", "set dropout=0"
    elif model.warm_start:
        reason, advice = "warm_start", "set warm_start=False"
    elif target.weight.size and not np.all(target.weight > 0.0):
        reason, advice = "A sample weight of zero", "leave these rows out"
    if reason:
        raise ValueError(f"{reason} is not supported for tables in blocks: {advice}, or pass a table in memory.")


def warn_of_cells(matrix: BinnedMatrix, has_cells: bool) -> None:
    """Warn that a table in memory would have cell rounds."""
    if has_cells and np.any(forms_cells(matrix)):
        warnings.warn(
            "A table in blocks is fitted without cell rounds, which a table in memory with columns of many categories "
            "has: set n_estimators for the same model.", UserWarning, stacklevel=level_of_caller(),
        )  # fmt: skip
