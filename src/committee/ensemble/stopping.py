"""When a booster has done enough."""

from __future__ import annotations

from typing import Any

import numpy as np


class Stopper:
    """Watches the records of a run and says why to stop, or nothing.

    "validation" stops after `patience` rounds without a better validation error; "bound" once the exponential risk is
    below the smallest initial weight, so that no training row can be wrong (E-7); "margin" once the smallest edge seen
    and the smallest margin are within `tol` of each other: of two classes, and with a learner that maximises the edge,
    they enclose the best possible margin (E-10).
    """

    def __init__(self, kind: str, patience: int, tol: float, target_error: float, smallest: float) -> None:
        self.kind, self.patience, self.tol = kind, patience, tol
        self.target_error, self.smallest = target_error, smallest
        self.best_error, self.best_round = np.inf, 0
        self.min_edge = 1.0

    def look(self, record: Any) -> str:
        """Why to stop after this round; empty to go on."""
        self.min_edge = min(self.min_edge, abs(record.edge))  # a negative one is turned round
        if record.validation_error < self.best_error - (self.tol if self.kind == "validation" else 0.0):
            self.best_error, self.best_round = record.validation_error, record.round
        if record.train_error <= self.target_error:
            return f"the training error reached the target of {self.target_error:g}"
        if self.kind == "validation" and record.round - self.best_round >= self.patience:
            return f"the validation error has not improved for {self.patience} rounds"
        if self.kind == "bound" and record.exponential_risk < self.smallest:
            return "the exponential risk is below every initial weight: no training row can be wrong"
        if self.kind == "margin" and self.min_edge - record.min_margin <= self.tol:
            return f"edge and margin are within {self.tol:g}: the margin cannot grow by more"
        return ""
