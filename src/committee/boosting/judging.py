"""Judging rounds of gradient boosting on rows they do not learn from: given, held out, or in turn."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.boosting.dart import Memory
from committee.boosting.gradient_boosting import Problem, Turn
from committee.data.growth import Constraints
from committee.parts.binning import code_table
from committee.parts.boosted_trees import number_of_rows, place_rows
from committee.parts.histograms import make_tiles
from committee.parts.losses import NO_WEIGHTS, Floats, LossError, Slope
from committee.parts.subtrees import feature_records


class Rows(NamedTuple):
    """Rows as they were read: table, targets as numbers, weights (empty if equal), initial scores or None."""

    X: NDArray[np.floating]
    y: NDArray[Any]
    weight: Floats
    init_score: Floats | None

    @property
    def n_counted(self) -> int:
        return number_of_rows(len(self.y), self.weight)

    def take(self, rows: NDArray[np.int64]) -> Rows:
        weight = self.weight[rows] if self.weight.size else NO_WEIGHTS
        offset = None if self.init_score is None else self.init_score[:, rows]
        return Rows(self.X[rows], self.y[rows], weight, offset)


class Judge:
    """Rows that judge every round, coded in the bins of the rows that the trees grow on."""

    def __init__(self, rows: Rows, problem: Problem, base: Floats, remembers: bool) -> None:
        matrix, heads, is_multinomial = problem.matrix, problem.heads, problem.is_multinomial
        self.tiles = make_tiles(code_table(rows.X, matrix, None))
        self.records = feature_records(matrix, Constraints.none(matrix.n_features))
        self.score = start_scores(base, rows)
        self.slope = Slope(heads, rows.y, rows.weight, is_multinomial)
        self.memory = Memory() if remembers else None

    def loss(self, turn: Turn) -> float:
        """Mean loss after this round."""
        placed = [place_rows(self.tiles, tree.nodes, self.records) for tree in turn.trees]
        for k, (tree, leaf) in enumerate(zip(turn.trees, placed, strict=True)):
            self.score[k] += tree.value[leaf]
        if self.memory is not None:
            for earlier, factor in turn.rescaled:
                self.memory.add(earlier, factor - 1.0, self.score)
                self.memory.rescale(earlier, factor)
            self.memory.remember(placed, [tree.value for tree in turn.trees])
        return self.slope.update(self.score)


def start_scores(base: Floats, rows: Rows) -> Floats:
    """Scores [heads, n] before the first tree."""
    score = np.repeat(base[:, np.newaxis], len(rows.y), axis=1)
    return score if rows.init_score is None else score + rows.init_score


class Patience:
    """Remembers the round of the smallest validation loss; an improvement counts from `tol` of the first loss on."""

    def __init__(self, patience: int, tol: float, is_active: bool) -> None:
        self.patience, self.tol, self.is_active = patience, tol, is_active
        self.best_loss, self.best_round, self.least = np.inf, 0, 0.0

    def look(self, round_: int, loss: float) -> str:
        """Why to stop after this round; empty to go on."""
        if not self.best_round:
            self.least = self.tol * abs(loss)
        if not self.best_round or loss < self.best_loss - self.least:
            self.best_loss, self.best_round = loss, round_
        if self.is_active and round_ - self.best_round >= self.patience:
            return f"the validation loss has not improved for {self.patience} rounds"
        return ""


@contextmanager
def naming_round(t: int) -> Generator[None]:
    """A user's loss that fails is reported with the round."""
    try:
        yield
    except LossError as error:
        raise ValueError(f"Round {t}: {error}. Correct the loss, or take a smaller learning_rate.") from error


class Fold:
    """One fold of a cross-validation of rounds: a run on its training rows, judged on its test rows."""

    def __init__(self, rows: NDArray[np.int64], judge: Judge, turns: Iterator[Turn]) -> None:
        self.rows, self.judge, self.turns = rows, judge, turns

    def next_loss(self, t: int) -> float:
        with naming_round(t):
            return self.judge.loss(next(self.turns))


class CrossValidated(NamedTuple):
    """The number of rounds chosen, the curve, and the scores [n, heads] of held-out rows at that round."""

    n_rounds: int
    curve: Floats
    rows: NDArray[np.int64]
    score: Floats
