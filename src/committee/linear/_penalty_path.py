"""The strength of the penalty by cross-validation, along a path from strong to weak.

    for C from small to large
        fit all rows, starting from the minimum for the C before
        fit every fold in the same way; its score is the mean log-loss of the held-out rows
        stop if the mean score is clearly worse than the best one

The minimum of a strictly convex function does not depend on the starting point: warm starts only save time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.threads import run
from committee.linear._choosing import is_past_the_best
from committee.linear._logistic_loss import LogisticProblem, Point, constant_model, evaluate, with_penalty
from committee.linear._newton import Aim, Inverse, Minimum, Scale, curvature_at, gradient_scale, is_direct, newton
from committee.sampling.splits import Split


class Track(NamedTuple):
    """One fit along the path: to all rows, or to those of a fold."""

    problem: LogisticProblem
    scale: Scale
    point: Point
    total: float  # sum of the weights before they were divided by it
    classes: NDArray[np.int64]  # those that have rows
    test: Floats  # [n], weights of the rows to score, sum 1; [0] for the fit to all rows

    def at(self, C: float) -> Track:
        """The track with another penalty, at its current point."""
        problem, point = with_penalty(self.problem, self.point, 1.0 / (C * self.total))
        return self._replace(problem=problem, point=point)


class Path(NamedTuple):
    """Fits and losses for each C."""

    minima: tuple[Minimum, ...]  # of the fits to all rows, up to the C where the path stopped
    losses: Floats  # [n_folds, n_Cs], mean log-loss of the held-out rows; nan where not computed
    n_failed: int  # fits to folds that did not converge


class Settings(NamedTuple):
    """Tolerances and limits of the fits."""

    aim: Aim
    max_iter: int
    threads: int


def make_track(problem: LogisticProblem, weight: Floats, test: Floats | None = None) -> Track | None:
    """A track for rows of these weights; None if they have fewer than two classes."""
    classes = np.flatnonzero(np.bincount(problem.codes, weight, problem.n_classes))
    if len(classes) < 2:
        return None
    place = np.zeros(problem.n_classes, np.int64)
    place[classes] = np.arange(len(classes))
    total = float(weight.sum())
    own = problem._replace(codes=place[problem.codes], weight=weight / total, n_classes=len(classes))
    start = evaluate(own._replace(penalty=0.0), constant_model(own))
    if test is None:
        return Track(own, gradient_scale(own, start), start, total, classes, np.empty(0))
    scored = np.where(np.isin(problem.codes, classes), test, 0.0)  # classes without training rows are not scored
    if not scored.any():
        return None
    return Track(own, gradient_scale(own, start), start, total, classes, scored / scored.sum())


def fold_tracks(problem: LogisticProblem, weight: Floats, folds: Sequence[Split]) -> list[Track | None]:
    """A track for each fold, None if it cannot be fitted or scored."""
    tracks: list[Track | None] = []
    for train, test in folds:
        fitted, scored = np.zeros_like(weight), np.zeros_like(weight)
        fitted[train], scored[test] = weight[train], weight[test]
        tracks.append(make_track(problem, fitted, scored))
    return tracks


def penalty_path(whole: Track, folds: Sequence[Track | None], Cs: Floats, settings: Settings) -> Path:
    """Fit all rows and every fold for each C, beginning with the strongest penalty."""
    losses = np.full((len(folds), len(Cs)), np.nan)
    tracks = {k: track for k, track in enumerate(folds) if track is not None}
    minima: list[Minimum] = []
    n_failed = 0
    curvature = None if is_direct(whole.problem) else curvature_at(whole.problem, whole.point.probability)
    for c, C in enumerate(Cs):
        start = None if curvature is None else curvature.inverse(1.0 / (C * whole.total))
        whole, minimum = _advance(whole, C, start, settings)
        minima.append(minimum)
        curvature = None if curvature is None else curvature_at(whole.problem, whole.point.probability)
        inverse = None if curvature is None else curvature.inverse(whole.problem.penalty)
        calls = [(track, C, inverse, settings) for track in tracks.values()]
        for k, (track, reached) in zip(list(tracks), run(_advance, calls, settings.threads), strict=True):
            tracks[k] = track
            losses[k, c] = float(track.test @ track.point.loss)
            n_failed += not reached.is_converged
        if is_past_the_best(losses[:, : c + 1]):
            break
    return Path(tuple(minima), losses, n_failed)


def _advance(track: Track, C: float, inverse: Inverse | None, settings: Settings) -> tuple[Track, Minimum]:
    """The track at the minimum for this C."""
    track = track.at(C)
    near = None if inverse is None else inverse.of(track.classes)
    result = newton(track.problem, track.point, track.scale, near, settings.aim, settings.max_iter)
    return track._replace(point=result.point), result
