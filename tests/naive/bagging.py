"""Bagging from its paper (Breiman 1996) with nothing clever: rows repeated, trees fitted anew, loops over rows.

What is random is given: a sample is a list of rows, drawn by sorted uniform numbers from rows laid end to end.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

Floats = NDArray[np.float64]


def bootstrap(order: list[int], weight: list[int], uniforms: list[float]) -> list[int]:
    """The rows that own the places of the uniform numbers in [0, 1], each as long as its weight."""
    ends = [end / sum(weight) for end in accumulate(weight[row] for row in order)]
    return sorted(order[bisect_left(ends, u)] for u in uniforms)


def paste(order: list[int], weight: list[int], tickets: list[int]) -> list[int]:
    """The rows that own these of the tickets 0 .. N - 1, each as many as its weight."""
    owners = [row for row in order for _ in range(weight[row])]
    return sorted(owners[ticket] for ticket in tickets)


class Bagged:
    """A learner refitted on every sample of rows, asked row by row."""

    def __init__(self, learner: Any, X: Floats, y: NDArray[Any], samples: list[NDArray[np.int64]]) -> None:
        self.X, self.y, self.samples = X, y, [set(np.asarray(rows).tolist()) for rows in samples]
        self.classes = np.unique(y)
        self.members = [clone(learner).fit(X[rows], y[rows]) for rows in samples]

    def shares(self, member: Any, X: Floats) -> Floats:
        """Its class shares, those of classes its sample did not have 0."""
        own = member.predict_proba(X)
        columns = [own[:, list(member.classes_).index(c)] if c in member.classes_ else np.zeros(len(X))
                   for c in self.classes]  # fmt: skip
        return np.column_stack(columns)

    def predictions(self, X: Floats, how: str) -> list[Floats]:
        """Of every member: class shares, votes as shares 0 and 1, or numbers."""
        if how == "mean":
            return [self.shares(member, X) for member in self.members]
        if how == "vote":
            return [(member.predict(X)[:, None] == self.classes).astype(float) for member in self.members]
        return [member.predict(X)[:, None] for member in self.members]

    def mean(self, X: Floats, how: str) -> Floats:
        total = np.zeros(())
        for predictions in self.predictions(X, how):
            total = total + predictions
        return total / len(self.members)

    def out_of_bag(self, how: str, n_members: int | None = None) -> Floats:
        """Mean answer of the first members that did not see the row, nan where all of them did."""
        predictions = self.predictions(self.X, how)[:n_members]
        out = np.full(predictions[0].shape, np.nan)
        for i in range(len(self.X)):
            judges = [answer[i] for answer, seen in zip(predictions, self.samples, strict=False) if i not in seen]
            if judges:
                out[i] = np.sum(judges, axis=0) / len(judges)
        return out
