"""Bagging predictors (Breiman, Machine Learning 24, 1996), with its relatives that draw other samples.

    h_b = fit(L_b),  b = 1 .. B,   L_b a sample of n rows drawn with replacement from the n rows of L
    regression:       h(x) = 1/B sum h_b(x)                 (or the median, or a mean weighted by out-of-bag errors)
    classification:   h(x) = argmax_k 1/B sum P_b(k | x)    (or the class that most h_b vote for)

| sample | name | reference |
|---|---|---|
| n rows with replacement | bagging | Breiman 1996 |
| fewer rows without replacement | pasting | Breiman, Pasting small votes for classification, 1999 |
| all rows, some features | random subspaces | Ho, The random subspace method, 1998 |
| some rows, some features | random patches | Louppe and Geurts, Ensembles on random patches, 2012 |

A row is outside a bootstrap sample with probability (1 - 1/n)^n -> 0.368. Its prediction by the members that were not
fitted on it is an out-of-bag prediction, which estimates the error without held-out rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.journal import open_stream
from committee.base.threads import n_threads, run
from committee.members.member import Member
from committee.sampling.row_samples import Indices, Sampler

BATCH = 8
"""Members per thread between two checks of the error; those after the last one kept are discarded."""


class Learner(Protocol):
    """Fits a member to rows with these counts and to these features; random choices depend on the seed only."""

    def __call__(self, counts: Floats, features: Indices | None, seed: int) -> Member: ...


class BaggingRound(NamedTuple):
    """A member, the rows outside its sample, and its predictions [rows, k] of them."""

    member: Member
    outside: Indices
    predictions: Floats
    stop: str = ""


class Sampling(NamedTuple):
    """How samples of rows and of features are drawn; a seed determines a sample."""

    rows: Sampler
    n_features: int
    n_features_drawn: int
    bootstrap_features: bool

    @property
    def draws_all(self) -> bool:
        """Whether samples contain all rows."""
        return self.rows.kind == "all"

    def draw(self, seed: int) -> Floats:
        """How often each place is in the sample of this seed."""
        return self.rows.draw(_seeds(seed)[0])

    def features(self, seed: int) -> Indices | None:
        """The features of the sample in ascending order; None for all of them."""
        if self.n_features_drawn == self.n_features and not self.bootstrap_features:
            return None
        rng = np.random.default_rng(_seeds(seed)[1])
        return np.sort(rng.choice(self.n_features, self.n_features_drawn, replace=self.bootstrap_features))


def _seeds(seed: int) -> list[int]:
    """Seeds of the rows, the features and the base estimator."""
    return np.random.SeedSequence(seed).generate_state(3, np.uint64).tolist()


def bagging(
    learn: Learner, sampling: Sampling, X: NDArray[np.floating], seeds: Sequence[int], threads: int = 1
) -> Iterator[BaggingRound]:
    """Fit one member for each seed, independently of the number of threads.

    Notation: L the training rows, L_b the sample of member b as a count for each row, h_b the member.
    """

    def fit_member(seed: int) -> BaggingRound:
        # Step 1: draw L_b from L.
        counts = sampling.draw(seed)
        # Step 2: fit h_b on L_b.
        member = stream.keep(
            seed, lambda: learn(sampling.rows.places.sum_by_row(counts), sampling.features(seed), _seeds(seed)[2])
        )
        # Step 3: predict the rows of L that are not in L_b.
        return _round_of(member, sampling, counts, X)

    stream = open_stream()
    size = BATCH * threads if threads > 1 else 1
    for first in range(0, len(seeds), size):
        yield from run(fit_member, [(seed,) for seed in seeds[first : first + size]], threads)


class BaggingGrower(NamedTuple):
    """Fits members in this process; those that are trees on few rows on fewer threads."""

    learn: Learner
    samples: Sampling
    X: NDArray[np.floating]
    fingerprint: tuple[Any, ...]
    n_jobs: int | None
    is_tree: bool

    def grow(self, seeds: Sequence[int]) -> Iterator[BaggingRound]:
        """One member for each seed."""
        threads = n_threads(self.n_jobs, self.X.size * len(seeds) if self.is_tree else 2**62)
        return bagging(self.learn, self.samples, self.X, seeds, threads)

    def replay(self, members: Sequence[Member], seeds: Sequence[int]) -> Iterator[BaggingRound]:
        """The rounds of members of an earlier fit."""
        for member, seed in zip(members, seeds, strict=True):
            yield _round_of(member, self.samples, self.samples.draw(seed), self.X)


def _round_of(member: Member, sampling: Sampling, counts: Floats, X: NDArray[np.floating]) -> BaggingRound:
    """The round of a member, with its predictions of the rows outside its sample."""
    outside = sampling.rows.out_of_bag(sampling.rows.places.sum_by_row(counts))
    if not outside.size:
        return BaggingRound(member, outside, np.empty((0, 1)))
    return BaggingRound(member, outside, np.asarray(member.predictions(X[outside]), np.float64))
