"""Judging rounds of gradient boosting on rows they do not learn from: given, held out, or in turn."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.gradient_boosting._trees import TreeStack, number_of_rows, place_rows
from committee.gradient_boosting.dart import Memory
from committee.gradient_boosting.gradient_boosting import BoostingRound, Problem, Run
from committee.losses.derivatives import Derivatives
from committee.losses.loss import NO_WEIGHTS, LossError
from committee.records.ensemble import BoostedTrees
from committee.records.growth import Constraints
from committee.sampling.splits import Split
from committee.tree_engine.binning import code_table
from committee.tree_engine.histograms import make_tiles
from committee.tree_engine.subtrees import feature_records


class Record(NamedTuple):
    """What one round measured."""

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
    """Rows as they were read: table, targets as numbers, weights (empty if equal), initial scores or None.

    `counts` are the weights without those of the classes, where there are any: they say how many rows each one is.
    """

    X: NDArray[np.floating]
    y: NDArray[Any]
    weight: Floats
    init_score: Floats | None
    counts: Floats = NO_WEIGHTS

    @property
    def repeats(self) -> Floats:
        """How many rows each one is, if these are whole numbers; empty if all are 1."""
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


class Judge:
    """Rows that judge every round, coded in the bins of the rows that the trees grow on."""

    def __init__(
        self, rows: Rows, problem: Problem, base: Floats, remembers: bool, crosses_halves: bool = False
    ) -> None:
        matrix, recorded, is_multinomial = problem.matrix, problem.recorded, problem.is_multinomial
        self.tiles = make_tiles(code_table(rows.X, matrix, None))
        self.records = feature_records(matrix, Constraints.none(matrix.n_features))
        self.score = start_scores(base, rows)
        self.derivatives = Derivatives(recorded, rows.y, rows.weight, is_multinomial)
        self.memory = Memory() if remembers else None
        self.halves = Halves(rows, problem) if crosses_halves and len(rows.y) > 3 else None

    def loss(self, done: BoostingRound) -> float:
        """Mean loss after this round."""
        placed = [place_rows(self.tiles, tree.nodes, self.records) for tree in done.trees]
        for k, (tree, leaf) in enumerate(zip(done.trees, placed, strict=True)):
            self.score[k] += tree.value[leaf]
        if self.memory is not None:
            self.memory.follow(done.rescaled, self.score)
            self.memory.remember(done.trees, placed)
        loss = self.derivatives.update(self.score)
        if self.halves is not None:
            self.halves.look(self.score)
        return loss


class CrossedScores:
    """Scores of each part of the validation rows at the round that the other parts choose.

    Rows that choose the number of rounds flatter it on themselves: residuals for intervals come from these scores.
    """

    def __init__(self, share: Floats) -> None:
        self.share, self.best_loss = share, np.full(share.size, np.inf)
        self.score: list[Floats] = []  # [outputs, n] of each part, nothing before the first round

    def look(self, losses: Floats, scores: Sequence[Floats]) -> None:
        """After a round: the mean losses of the parts, and their scores."""
        if not self.score:
            self.score = [score.copy() for score in scores]
        parts = losses * self.share
        others = parts.sum() - parts if parts.size > 1 else parts  # a single part has none but itself
        for k in np.flatnonzero(others < self.best_loss).tolist():
            self.best_loss[k], self.score[k] = others[k], scores[k].copy()


class Halves:
    """Validation rows in two halves, each with the scores at the round that the other one chooses."""

    def __init__(self, rows: Rows, problem: Problem) -> None:
        self.places = [np.arange(first, len(rows.y), 2) for first in (0, 1)]
        taken = [rows.take(places) for places in self.places]
        self.derivatives = [
            Derivatives(problem.recorded, half.y, half.weight, problem.is_multinomial) for half in taken
        ]
        self.crossed = CrossedScores(np.array([each.total_weight for each in self.derivatives]))

    def look(self, score: Floats) -> None:
        """After a round: the scores [outputs, n] of all rows."""
        scores = [np.ascontiguousarray(score[:, places]) for places in self.places]
        losses = [each.update(half) for each, half in zip(self.derivatives, scores, strict=True)]
        self.crossed.look(np.array(losses), scores)

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


class Patience:
    """Remembers the round of the smallest validation loss; an improvement counts from `tol` of the first loss on.

    `stretch` times that round are kept, and waited for.
    """

    def __init__(self, patience: int, tol: float, is_active: bool, stretch: float = 1.0) -> None:
        self.patience, self.tol, self.is_active, self.stretch = patience, tol, is_active, stretch
        self.best_loss, self.best_round, self.least = np.inf, 0, 0.0
        self.last_round, self.wait_until, self.reason = 0, 0, ""

    def look(self, round_: int, loss: float) -> str:
        """Why to stop after this round; empty to go on."""
        if not self.best_round:
            self.least = self.tol * abs(loss)
        if not self.best_round or loss < self.best_loss - self.least:
            self.best_loss, self.best_round = loss, round_
        has_waited = round_ - self.best_round >= self.patience and round_ >= self.stretch * self.best_round
        self.last_round = round_
        if self.is_active and has_waited and round_ >= self.wait_until:
            self.reason = f"the validation loss has not improved for {self.patience} rounds"
        return self.reason

    def wait(self, n_rounds: int) -> None:
        """Give the run so many rounds more to improve."""
        self.wait_until, self.reason = self.last_round + n_rounds, ""

    def n_kept(self, n_run: int) -> int:
        """Rounds of a model that ran so many."""
        return max(1, min(round(self.stretch * self.best_round), n_run))


@contextmanager
def naming_round(t: int) -> Generator[None]:
    """A user's loss that fails is reported with the round."""
    try:
        yield
    except LossError as error:
        raise ValueError(f"Round {t}: {error}. Correct the loss, or take a smaller learning_rate.") from error


class Fold:
    """One fold of a cross-validation of rounds: a run on its training rows, judged on its test rows."""

    def __init__(self, judge: Judge, run: Run, base: Floats, stack: TreeStack) -> None:
        self.judge, self.run, self.base, self.stack = judge, run, base, stack

    def next_record(self, t: int) -> Record:
        with naming_round(t):
            done = self.run.next_round()
            return Record.of(t, done, self.judge.loss(done))


class CrossValidated(NamedTuple):
    """The rounds chosen, their records, scores [n, outputs] of held-out rows at the best round, and the folds' models.

    `crossed` are their scores at the round that the other folds choose.
    """

    best_round: int
    n_rounds: int  # to be kept
    records: tuple[Record, ...]  # of all folds together; the validation loss is the curve
    rows: Rows  # that judged, fold by fold
    score: Floats
    crossed: Floats
    folds: Sequence[Fold]


def joint_record(records: Sequence[Record], share: Floats) -> Record:
    """One round of all folds: the mean losses, and the leaves and halvings of all."""
    losses = np.array([(record.train_loss, record.validation_loss) for record in records])
    train_loss, validation_loss = (float(loss) for loss in share @ losses)
    n_leaves, n_halved = (sum(getattr(record, name) for record in records) for name in ("n_leaves", "n_halved"))
    return Record(records[0].round, train_loss, validation_loss, n_leaves, n_halved)


def mean_model(result: CrossValidated) -> tuple[Floats, BoostedTrees]:
    """The mean of the folds' models: its first scores, and its trees, round by round and in it fold by fold.

    Every tree counts 1 / folds: bagging whose samples leave out one fold each (Breiman 1996), at no cost.
    """
    n_folds, n_outputs = len(result.folds), result.folds[0].base.size
    each = [fold.stack.trees().first(result.n_rounds * n_outputs) for fold in result.folds]
    number = np.arange(n_folds * result.n_rounds * n_outputs).reshape(n_folds, result.n_rounds, n_outputs)
    trees = BoostedTrees.join(each).in_order(number.transpose(1, 0, 2).reshape(-1))
    base = np.mean([fold.base for fold in result.folds], axis=0)
    return base, trees._replace(value=trees.value / n_folds)
