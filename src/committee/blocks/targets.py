"""The first pass over a table that does not fit in memory: target and weights."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.blocks.coded_table import BLOCK_ROWS, TARGET, WEIGHT
from committee.tabular.validation import (
    check_target_size,
    check_total_weight,
    read_batch_weights,
    read_targets_classification,
    read_targets_regression,
)


class Labels(NamedTuple):
    """Target and weights of all rows, in files."""

    n_rows: int
    classes: NDArray[Any] | None  # None for regression
    target: Floats  # values, or codes of the classes
    weight: Floats | None


class TargetValues:
    """The target of a regression, in batches."""

    def __init__(self) -> None:
        self._largest = 0.0

    def add(self, y: Any, n: int) -> Floats:
        """The values of n rows."""
        values = read_targets_regression(y, n)
        self._largest = max(self._largest, float(np.abs(values).max()))
        return values

    def finish(self, target: Floats) -> None:
        """Check all values together."""
        check_target_size(np.array([self._largest]))


class TargetClasses:
    """The target of a classification, in batches: classes are numbered as they appear, in the end by their order."""

    def __init__(self) -> None:
        self._place: dict[Any, int] = {}
        self._labels: list[NDArray[Any]] = []

    def add(self, y: Any, n: int) -> Floats:
        """The numbers of the classes of n rows."""
        labels, codes = read_targets_classification(y, n)
        listed = labels.tolist()
        self._labels.append(labels[[label not in self._place for label in listed]])
        places = [self._place.setdefault(label, len(self._place)) for label in listed]
        return np.array(places, np.float64)[codes]

    def finish(self, target: Floats) -> NDArray[Any]:
        """The classes in ascending order; numbers the target by them, in place."""
        classes, code_of = read_targets_classification(np.concatenate(self._labels), len(self._place))
        for start in range(0, target.size, BLOCK_ROWS):
            block = target[start : start + BLOCK_ROWS]
            block[:] = code_of[block.astype(np.int64)]
        return classes


def write_labels(
    batches: Iterable[nw.DataFrame[Any]], target: str, weight: str | None, is_class: bool, folder: Path
) -> Labels | None:
    """Write target and weights of all rows; None if there are none."""
    reader = TargetClasses() if is_class else TargetValues()
    n_rows, total = 0, 0.0
    with ExitStack() as files:
        targets = files.enter_context((folder / TARGET).open("wb"))
        weights = None if weight is None else files.enter_context((folder / WEIGHT).open("wb"))
        for batch in batches:
            n = len(batch)
            targets.write(np.ascontiguousarray(reader.add(batch[target].to_native(), n)).data)
            if weight is not None and weights is not None:
                values = read_batch_weights(batch[weight].to_native(), n)
                weights.write(np.ascontiguousarray(values).data)
                with np.errstate(over="ignore"):
                    total += float(values.sum())
            n_rows += n
    if n_rows == 0:
        return None
    if weight is not None:
        check_total_weight(total)
    values = _map(folder / TARGET, n_rows)
    classes = reader.finish(values)
    return Labels(n_rows, classes, values, None if weight is None else _map(folder / WEIGHT, n_rows))


def _map(path: Path, n_rows: int) -> Floats:
    return np.memmap(path, np.float64, mode="r+", shape=(n_rows,)).view(np.ndarray)
