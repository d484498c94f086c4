"""Validation of the rounds of gradient boosting: on given rows, held-out rows, or by cross-validation."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.gradient_boosting.dart import Memory
from committee.gradient_boosting.gradient_boosting import BoostingRound, Problem
from committee.gradient_boosting.trees import TreeStack, number_of_rows, place_rows
from committee.losses.derivatives import Derivatives
from committee.losses.loss import NO_WEIGHTS, LossError
from committee.records.ensemble import BoostedTrees
from committee.records.growth import Constraints
from committee.sampling.splits import Split
from committee.tree_engine.binning import code_table
from committee.tree_engine.histograms import make_tiles
from committee.tree_engine.subtrees import feature_records


class Record(NamedTuple):
    """One round: a row of `history_`."""

    round: int
    train_loss: float
    validation_loss: float
    n_leaves: int
    n_halved: int

    @classmethod
    def of(cls, round_: int, done: BoostingRound, validation_loss: float) -> Record:
        n_leaves = sum((tree.nodes.size + 1) // 2 for tree in done.trees)
        return cls(round_, done.train_loss, validation_loss, n_leaves, done.n_halved)


class Rows(NamedTuple):
    """Training or validation rows: table, targets, weights (empty if equal), initial scores or None.

    `counts` are the sample weights if `weight` includes class weights; else they are empty.
    """

    X: NDArray[np.floating]
    y: NDArray[Any]
    weight: Floats
    init_score: Floats | None
    counts: Floats = NO_WEIGHTS

    @property
    def repeats(self) -> Floats:
        """The sample weights, which are numbers of repetitions if they are integers; empty if all are 1."""
        return self.counts if self.counts.size else self.weight

    @property
    def n_counted(self) -> int:
        return number_of_rows(len(self.y), self.repeats)

    def take(self, rows: NDArray[np.int64]) -> Rows:
        weight, counts = (each[rows] if each.size else NO_WEIGHTS for each in (self.weight, self.counts))
        offset = None if self.init_score is None else self.init_score[:, rows]
        return Rows(self.X[rows], self.y[rows], weight, offset, counts)

    def divide(self, split: Split) -> Division:
        return Division(self.take(split.train), self.take(split.test))

    @classmethod
    def join(cls, parts: Sequence[Rows]) -> Rows:
        offsets = [part.init_score for part in parts if part.init_score is not None]
        columns = list(zip(*parts, strict=True))
        X, y, weight, counts = (np.concatenate(list(columns[i])) for i in (0, 1, 2, 4))
        return cls(X, y, weight, np.concatenate(offsets, axis=1) if offsets else None, counts)


class Division(NamedTuple):
    """Training and test rows."""

    train: Rows
    test: Rows


class ValidationLoss:
    """Scores and loss of validation rows, encoded in the bins of the training rows."""

    def __init__(self, rows: Rows, problem: Problem, base: Floats, has_dropout: bool, has_halves: bool = False) -> None:
        matrix, recorded, is_multinomial = problem.matrix, problem.recorded, problem.is_multinomial
        self.tiles = make_tiles(code_table(rows.X, matrix, None))
        self.records = feature_records(matrix, Constraints.none(matrix.n_features))
        self.score = start_scores(base, rows)
        self.derivatives = Derivatives(recorded, rows.y, rows.weight, is_multinomial)
        self.memory = Memory() if has_dropout else None
        self.halves = Halves(rows, problem) if has_halves and len(rows.y) > 3 else None

    def update(self, done: BoostingRound) -> float:
        """Add a round; return the mean loss after it."""
        placed = [place_rows(self.tiles, tree.nodes, self.records) for tree in done.trees]
        for k, (tree, leaf) in enumerate(zip(done.trees, placed, strict=True)):
            self.score[k] += tree.value[leaf]
        if self.memory is not None:
            self.memory.follow(done.rescaled, self.score)
            self.memory.remember(done.trees, placed)
        loss = self.derivatives.update(self.score)
        if self.halves is not None:
            self.halves.update(self.score)
        return loss


class CrossedScores:
    """Scores of each part of the validation rows at the number of rounds that the other parts choose.

    The loss of rows that choose the number of rounds is too small: residuals for intervals come from these scores.
    """

    def __init__(self, weight: Floats) -> None:
        self.weight, self.best_loss = weight, np.full(weight.size, np.inf)
        self.score: list[Floats] = []  # [outputs, n] of each part, empty before the first round

    def update(self, losses: Floats, scores: Sequence[Floats]) -> None:
        """Add a round: the mean losses of the parts, and their scores."""
        if not self.score:
            self.score = [score.copy() for score in scores]
        parts = losses * self.weight
        others = parts.sum() - parts if parts.size > 1 else parts  # a single part chooses for itself
        for k in np.flatnonzero(others < self.best_loss).tolist():
            self.best_loss[k], self.score[k] = others[k], scores[k].copy()


class Halves:
    """Validation rows in two halves, each with the scores at the number of rounds that the other one chooses."""

    def __init__(self, rows: Rows, problem: Problem) -> None:
        self.places = [np.arange(first, len(rows.y), 2) for first in (0, 1)]
        taken = [rows.take(places) for places in self.places]
        self.derivatives = [
            Derivatives(problem.recorded, half.y, half.weight, problem.is_multinomial) for half in taken
        ]
        self.crossed = CrossedScores(np.array([each.total_weight for each in self.derivatives]))

    def update(self, score: Floats) -> None:
        """Add a round: the scores [outputs, n] of all rows."""
        scores = [np.ascontiguousarray(score[:, places]) for places in self.places]
        losses = [each.update(half) for each, half in zip(self.derivatives, scores, strict=True)]
        self.crossed.update(np.array(losses), scores)

    @property
    def score(self) -> Floats | None:
        """Scores [n, outputs] of all rows, None before the first round."""
        if not self.crossed.score:
            return None
        out = np.empty((sum(places.size for places in self.places), len(self.crossed.score[0])))
        for places, half in zip(self.places, self.crossed.score, strict=True):
            out[places] = half.T
        return out


def start_scores(base: Floats, rows: Rows) -> Floats:
    """Scores [outputs, n] before the first tree."""
    score = np.repeat(base[:, np.newaxis], len(rows.y), axis=1)
    return score if rows.init_score is None else score + rows.init_score


@contextmanager
def naming_round(t: int) -> Generator[None]:
    """Add the number of the round to an error of a user-defined loss."""
    try:
        yield
    except LossError as error:
        raise ValueError(f"Round {t}: {error}. Correct the loss, or set a smaller learning_rate.") from error


class Fold:
    """One fold of cross-validation: rounds on its training rows, validated on its test rows."""

    def __init__(
        self, validation: ValidationLoss, rounds: Iterator[BoostingRound], base: Floats, stack: TreeStack
    ) -> None:
        self.validation, self.rounds, self.base, self.stack = validation, rounds, base, stack

    def next_record(self, t: int) -> Record:
        with naming_round(t):
            done = next(self.rounds)
            return Record.of(t, done, self.validation.update(done))


class CrossValidated(NamedTuple):
    """The chosen number of rounds, the records, and the test rows with their scores [n, outputs] at the best round.

    `crossed` are their scores at the number of rounds that the other folds choose.
    """

    best_round: int
    n_rounds: int  # of the model
    records: tuple[Record, ...]  # means over the folds
    rows: Rows  # test rows, fold by fold
    score: Floats
    crossed: Floats
    folds: Sequence[Fold]


def joint_record(records: Sequence[Record], weight: Floats) -> Record:
    """One round of all folds: mean losses, and total numbers of leaves and shortened steps."""
    losses = np.array([(record.train_loss, record.validation_loss) for record in records])
    train_loss, validation_loss = (float(loss) for loss in weight @ losses)
    n_leaves, n_halved = (sum(getattr(record, name) for record in records) for name in ("n_leaves", "n_halved"))
    return Record(records[0].round, train_loss, validation_loss, n_leaves, n_halved)


def mean_model(result: CrossValidated) -> tuple[Floats, BoostedTrees]:
    """The mean of the models of the folds: its first scores and its trees, ordered by rounds, then by folds.

    It is bagging with samples that leave out one fold each (Breiman 1996).
    """
    n_folds, n_outputs = len(result.folds), result.folds[0].base.size
    each = [fold.stack.trees().first(result.n_rounds * n_outputs) for fold in result.folds]
    number = np.arange(n_folds * result.n_rounds * n_outputs).reshape(n_folds, result.n_rounds, n_outputs)
    trees = BoostedTrees.join(each).in_order(number.transpose(1, 0, 2).reshape(-1))
    base = np.mean([fold.base for fold in result.folds], axis=0)
    return base, trees._replace(value=trees.value / n_folds)
