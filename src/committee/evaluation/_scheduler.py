"""The order in which methods and folds are evaluated within a time budget.

    1. first fold    every method in turn: with full settings if these are predicted to fit easily, else with quick
                     ones, on fewer rows if those would exceed the time of the method
    2. second try    if few methods could be evaluated, others in the remaining time
    3. refine        the best three with their full settings, if these are predicted to fit
    4. halve         from fold to fold, the better half of the methods
    5. complete      all other settings and folds, the best methods first

The time of each fit is predicted from fits of the same estimator (`evaluation/time_budget.py`), and the time to refit
the best method is reserved. A method is evaluated on fewer folds or rows rather than not at all. Losses of methods with
different folds are compared by their differences on common folds. Without a budget every method is evaluated on all
folds with its full settings.

Where tasks run side by side (`evaluation/_executor.py`), so do the methods in steps 1, 3, 4 and 5, each in a thread
that changes the state of its own method only; in step 1 each gets as much more time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from committee.base.array_types import Floats
from committee.base.journal import CheckpointError
from committee.dask.shared_tasks import ClusterError
from committee.evaluation._executor import Executor, Task
from committee.evaluation._fold_evaluation import (
    LONGEST_NOTE,
    NOT_EVALUATED,
    Evaluation,
    Problem,
    Setting,
    Trial,
    calibrated,
    evaluate_fold,
    fold_losses,
    new_trial,
    time_fit,
    with_fold,
)
from committee.evaluation.methods import Variants
from committee.evaluation.time_budget import Clock, Measured, OutOfTime, forecast

State = Literal["starting", "evaluated", "done", "partial", "failed", "out of time", "refitting"]

FIRST_FOLD_TIME = 0.5
"""Fraction of the budget for the first fold of all methods."""

MAX_OF_MEAN_TIME = 2.0
"""Maximum time of a method on the first fold, relative to an equal distribution."""

FEW_ROWS = 2000
"""Training rows up to which full settings are used at once, without timing fits on fewer rows."""

FRACTIONS = (1.0, 1.0 / 4.0, 1.0 / 16.0)
"""Fractions of the training rows, of which the largest that fits in time is used."""

PROBES = (32, 8)
"""Before the first fold, fits are timed on the training rows divided by these."""

MIN_PROBED = 100

STOPPED = 2.0
"""Assumed time of a stopped fit, relative to the time after which it was stopped."""

SAFETY = 1.25
"""Time reserved for the final fits, relative to their forecast."""

OVERRUN = 1.5
"""Assumed time of an estimator with a time budget, relative to it."""

CLOSING_FRACTION, CLOSING_SECONDS = 0.1, 1.0
"""Fraction of the budget, and maximum, for the results after the last fold (calibration, paired tests)."""

GRACE = 0.05
"""Fraction of the budget by which the final fits may exceed it."""

SHORT_FIT = 0.7
"""Seconds that a final fit may always take."""

LEADERS = 3


class ComparisonStep(NamedTuple):
    """Progress of `compare`, as passed to its callback.

    Attributes
    ----------
    method : str
        Name of the method.
    number, n_methods : int
        Number of the method, from 1, and number of methods.
    fold, n_folds : int
        Folds evaluated so far, and number of folds.
    state : {"starting", "evaluated", "done", "partial", "failed", "out of time", "refitting"}
        What happened.
    loss : float
        Mean loss over the folds so far.
    seconds : float
        Time since the start of the comparison.
    note : str
        Settings of the method, or why it failed.
    forecast_seconds : float
        Forecast of the duration of a final fit that begins.
    """

    method: str
    number: int
    n_methods: int
    fold: int
    n_folds: int
    state: State
    loss: float
    seconds: float
    note: str = ""
    forecast_seconds: float = np.nan


Callback = Callable[[ComparisonStep], object]


class Candidate(NamedTuple):
    """A method with its evaluated folds."""

    number: int
    variants: Variants
    trial: Trial
    losses: Floats  # [n_folds]
    evaluation: Evaluation | None = None  # of the folds so far
    is_stuck: bool = False  # whether a larger setting was stopped or no better


class Scheduler:
    """Evaluate methods in the order above; `candidates` has the state of each of them."""

    def __init__(
        self, methods: Mapping[str, Variants], problem: Problem, clock: Clock, executor: Executor,
        callback: Callback | None = None,
    ) -> None:  # fmt: skip
        self.problem, self.clock, self.executor, self.callback = problem, clock, executor, callback
        self._reporting = threading.Lock()
        self.fits: dict[tuple[str, bool], list[Measured]] = {}
        unknown = np.full(problem.split.n_folds, np.nan)
        self.candidates = {
            name: Candidate(number, variants, new_trial(name, Setting(variants.full), problem), unknown)
            for number, (name, variants) in enumerate(methods.items(), start=1)
        }

    def run(self) -> None:
        """Evaluate all methods and folds that fit into the budget."""
        if not self.clock.is_limited:
            self.executor.announce(task for name in self.candidates for task in self._missing_folds(name))
            self.executor.for_each(self._whole, self.candidates)
        else:
            self._first_folds()
            self._second_tries()
            self.executor.for_each(self._refine, self.ranking()[:LEADERS])
            self._halve()
            self.executor.for_each(self._refine_and_complete, self.ranking())
        for name in self.candidates:
            self._close(name)

    # --- the steps ----------------------------------------------------------------------------------------------------

    def _whole(self, name: str) -> None:
        self._report(name, "starting")
        self._all_folds(name)
        self.executor.withdraw(self._missing_folds(name))  # if it failed

    def _first_folds(self) -> None:
        end = self.clock.worked + FIRST_FOLD_TIME * self.clock.left
        n_parallel = min(self.executor.n_parallel, len(self.candidates))

        def evaluate(name: str) -> None:
            candidate = self.candidates[name]
            rest = max(end - self.clock.worked, 0.0)
            n_left = len(self.candidates) - (candidate.number - 1)
            allowed = min(MAX_OF_MEAN_TIME * n_parallel * rest / n_left, rest)
            allowed = min(allowed, self.clock.left - self.reserve())
            if allowed <= 0.0:
                self._fail(name, f"{NOT_EVALUATED}: no time was left")
                return
            self._report(name, "starting")
            self._evaluate_first(name, allowed)

        self.executor.for_each(evaluate, self.candidates)

    def _second_tries(self) -> None:
        """If few methods could be evaluated, evaluate others on the fewest rows in the remaining time."""
        for name, candidate in list(self.candidates.items()):
            if len(self.ranking()) > LEADERS:
                return
            allowed = (self.clock.left - self.reserve()) / 2.0
            if candidate.trial.failure.startswith(NOT_EVALUATED) and allowed > 0.0:
                self.candidates[name] = candidate._replace(trial=candidate.trial._replace(failure=""))
                if not self._evaluate(name, self._ladder(name)[-1], 0, allowed):
                    self._fail(name, candidate.trial.failure)

    def _evaluate_first(self, name: str, allowed: float) -> None:
        """The first fold with the largest setting that fits; after a stopped fit, smaller ones are tried."""
        end = self.clock.worked + allowed
        ladder = self._ladder(name)
        for i, setting in enumerate(ladder):
            left = end - self.clock.worked
            if left <= 0.0:
                break
            is_last = i == len(ladder) - 1
            if self._train_size(0) > FEW_ROWS and setting.row_fraction == 1.0:
                self._probe(name, setting, left / (5.0 if len(ladder) > len(FRACTIONS) and i == 0 else 3.0))
            if not (is_last or self._fits_first(name, setting, left)):
                continue
            is_evaluated = self._evaluate(name, setting, 0, left if is_last else 0.7 * left)
            if self.candidates[name].trial.failure:
                return
            if is_evaluated and (is_last or self._refits(name, setting) <= self.clock.left):
                return
        if self.candidates[name].trial.evaluated:
            return
        self._fail(name, f"{NOT_EVALUATED}: its time of {allowed:.1f} s is too short even for few rows")

    def _fits_first(self, name: str, setting: Setting, left: float) -> bool:
        """Whether the first fold is predicted to fit; with full settings, whether all folds are."""
        needed, refits = self.forecast(name, setting, 0), self._refits(name, setting)
        if np.isnan(needed):
            return self.candidates[name].variants.quick is None or setting.is_quick
        if setting.is_quick or self.candidates[name].variants.quick is None:
            return needed <= left and needed + refits <= self.clock.left
        return (
            needed <= left / MAX_OF_MEAN_TIME and self.problem.split.n_folds * needed + refits <= self.clock.left / 2.0
        )

    def _ladder(self, name: str) -> list[Setting]:
        """Settings to try on the first fold, in this order."""
        variants = self.candidates[name].variants
        if variants.quick is None:
            return [Setting(variants.full, False, fraction) for fraction in FRACTIONS]
        return [Setting(variants.full), *(Setting(variants.quick, True, fraction) for fraction in FRACTIONS)]

    def _refine(self, name: str) -> None:
        """Increase the rows, then use full settings, while these fit and are not worse."""
        while self._refine_once(name):
            pass

    def _refine_and_complete(self, name: str) -> None:
        self._refine(name)
        self._all_folds(name)

    def _refine_once(self, name: str) -> bool:
        """One step; its forecast is updated after each fold, since forecasts from few rows are inaccurate."""
        before = self.candidates[name]
        trial, wanted = before.trial, self._next_setting(name)
        if trial.failure or trial.setting == wanted or before.is_stuck:
            return False
        part = (self.clock.left - self.reserve()) / 2.0
        if self._train_size(0) > FEW_ROWS:
            self._probe(name, wanted, part / 4.0)
        if not self.forecast(name, wanted, 0) <= part / 4.0:  # also if there is no forecast
            return False
        self.candidates[name] = before._replace(
            trial=new_trial(name, wanted, self.problem), losses=np.full_like(before.losses, np.nan), evaluation=None
        )
        end = self.clock.worked + part
        to_do = len(trial.evaluated)
        for k in trial.evaluated:
            rest = end - self.clock.worked
            if self._folds_and_refits(name, wanted, to_do) > rest and to_do < len(trial.evaluated):
                break
            if not self._evaluate(name, wanted, k, rest):
                break
            to_do -= 1
        after = self.candidates[name]
        shared = np.isfinite(after.losses) & np.isfinite(before.losses)
        is_worse = to_do > 0 or after.losses[shared].mean() > before.losses[shared].mean()
        if after.trial.failure or is_worse:
            self.candidates[name] = before._replace(is_stuck=True)
        return not (after.trial.failure or is_worse)

    def _folds_and_refits(self, name: str, setting: Setting, n_folds: int) -> float:
        return n_folds * self.forecast(name, setting, 0) + self._refits(name, setting)

    def _next_setting(self, name: str) -> Setting:
        """The setting after that of a method: the same on all rows, then the full settings."""
        candidate = self.candidates[name]
        setting = candidate.trial.setting
        return setting._replace(row_fraction=1.0) if setting.row_fraction < 1.0 else Setting(candidate.variants.full)

    def _halve(self) -> None:
        n_folds = self.problem.split.n_folds
        for k in range(1, n_folds):
            n_kept = max(2, int(np.ceil(len(self.candidates) / 2.0**k)))
            self.executor.for_each(partial(self._extend, k=k), self.ranking()[:n_kept])

    def _all_folds(self, name: str) -> None:
        for k in self.candidates[name].trial.missing:
            if not self._extend(name, k):
                return

    def _extend(self, name: str, k: int) -> bool:
        """Evaluate one more fold if it fits in time."""
        candidate = self.candidates[name]
        trial = candidate.trial
        if trial.failure or trial.folds[k] is not None:
            return not trial.failure
        kept = max(self.reserve(), self._refits(name, trial.setting)) if self.clock.is_limited else 0.0
        needed = self.forecast(name, trial.setting, k)
        if self.clock.is_limited and not needed <= self.clock.left - kept:
            return False
        return self._evaluate(name, trial.setting, k, self.clock.left - kept)

    # --- one fit ------------------------------------------------------------------------------------------------------

    def _evaluate(self, name: str, setting: Setting, k: int, allowed: float) -> bool:
        """Evaluate fold k within a time limit; returns whether it was evaluated."""
        candidate = self.candidates[name]
        trial = candidate.trial
        if trial.setting != setting:
            trial = new_trial(name, setting, self.problem)
        try:
            with self.clock.limit(allowed):
                outcome = self.executor.run(self._fold(name, setting, k), allowed)
                trial = with_fold(trial, k, outcome)
                evaluation = calibrated(trial, self.problem)
                losses = fold_losses(evaluation, self.problem)
        except OutOfTime:
            return False
        except (CheckpointError, ClusterError):  # no method can be evaluated
            raise
        except Exception as error:
            self._fail(name, f"{type(error).__name__}: {error}"[:LONGEST_NOTE])
            return False
        n_rows = max(2, round(setting.row_fraction * self._train_size(k)))
        self.fits.setdefault((name, setting.is_quick), []).append(
            Measured(n_rows, outcome.fit_seconds + outcome.predict_seconds)
        )
        self.candidates[name] = candidate._replace(trial=trial, losses=losses, evaluation=evaluation)
        self._report(name, "evaluated")
        return True

    def _probe(self, name: str, setting: Setting, allowed: float) -> None:
        """Time fits on few rows, unless there are timed fits or the estimator has a time budget."""
        key = (name, setting.is_quick)
        has_own_budget = getattr(setting.estimator, "time_budget", None) is not None
        if key in self.fits or has_own_budget or allowed <= 0.0:
            return
        n_train = self._train_size(0)
        n, end = min(MIN_PROBED, n_train), self.clock.worked + allowed
        try:
            with self.clock.limit(allowed):
                self._time(name, setting, n, allowed)  # loads or compiles what it needs
                for part in PROBES:
                    n = max(n_train // part, MIN_PROBED)
                    if key in self.fits and self.forecast(name, setting, 0, n) > end - self.clock.worked:
                        return
                    seconds = self._time(name, setting, n, end - self.clock.worked)
                    self.fits.setdefault(key, []).append(Measured(n, seconds))
        except OutOfTime:  # a lower bound
            self.fits.setdefault(key, []).append(Measured(n, STOPPED * allowed))
        except ClusterError:
            raise
        except Exception:  # a class may be missing among few rows
            return

    def _time(self, name: str, setting: Setting, n_rows: int, allowed: float) -> float:
        task = Task(f"{name}, {n_rows} rows", time_fit, (setting, n_rows))
        return self.executor.run(task, allowed)

    def _missing_folds(self, name: str) -> list[Task]:
        trial = self.candidates[name].trial
        return [self._fold(name, trial.setting, k) for k in trial.missing]

    def _fold(self, name: str, setting: Setting, k: int) -> Task:
        return Task(f"{name}, fold {k + 1}", evaluate_fold, (setting, k))

    # --- forecasts ----------------------------------------------------------------------------------------------------

    def forecast(self, name: str, setting: Setting, k: int, n_rows: int | None = None) -> float:
        """Predicted seconds of a fit on the training rows of fold k; 0 for few rows without timed fits."""
        n = max(2, round(setting.row_fraction * (self._train_size(k) if n_rows is None else n_rows)))
        known = self.fits.get((name, setting.is_quick), [])
        own = getattr(setting.estimator, "time_budget", None)  # of a committee
        if not known:
            return OVERRUN * own if own is not None else 0.0 if n <= FEW_ROWS else np.nan
        seconds = forecast(known, n)
        return seconds if own is None else min(seconds, max(OVERRUN * own, max(fit.seconds for fit in known)))

    def final_seconds(self, name: str) -> tuple[float, float]:
        """Forecasts of the fit on all rows compared and of that on all rows."""
        trial = self.candidates[name].trial
        sizes = self.problem.split.rows.size, self.problem.truth.size
        per_size = [self.forecast(name, trial.setting, 0, n) for n in sizes]
        return (per_size[0] if self.problem.split.held_out.size else 0.0), per_size[1]

    def can_be_refitted(self, name: str) -> bool:
        """Whether the final fit on the rows compared (all rows if none are held out) fits into the remaining time."""
        on_compared, on_all = self.final_seconds(name)
        return (on_compared or on_all) <= self.left_for_final_fits

    @property
    def left_for_final_fits(self) -> float:
        """Seconds for a final fit, which may slightly exceed the budget."""
        if not self.clock.is_limited:
            return np.inf
        return max(self.clock.left + GRACE * self.clock.budget, SHORT_FIT)

    def _refits(self, name: str, setting: Setting) -> float:
        """Forecast of the final fits on all rows, on the rows compared and on half of these (learning curve)."""
        n_compared = self.problem.split.rows.size if self.problem.split.held_out.size else 0
        sizes = [self.problem.truth.size, *([n_compared, n_compared // 2] if n_compared else [])]
        return SAFETY * sum(self.forecast(name, setting, 0, n) for n in sizes)

    def reserve(self) -> float:
        """Seconds reserved for the final fits of the best method and for the results of all methods."""
        ranked = self.ranking()
        refits = self._refits(ranked[0], self.candidates[ranked[0]].trial.setting) if ranked else 0.0
        return refits + min(CLOSING_FRACTION * self.clock.budget, CLOSING_SECONDS)

    def _train_size(self, k: int) -> int:
        split = self.problem.split
        return split.train_of(k if k or not split.forward else split.n_folds - 1).size

    # --- ranking ------------------------------------------------------------------------------------------------------

    def ranking(self) -> list[str]:
        """The methods that were evaluated, by their estimated mean loss."""
        result = estimates({name: each.losses for name, each in self.candidates.items() if not each.trial.failure})
        return sorted(result, key=lambda name: result[name])

    # --- progress -----------------------------------------------------------------------------------------------------

    def _fail(self, name: str, why: str) -> None:
        candidate = self.candidates[name]
        self.candidates[name] = candidate._replace(
            trial=candidate.trial._replace(failure=why), losses=np.full_like(candidate.losses, np.nan)
        )

    def _close(self, name: str) -> None:
        trial = self.candidates[name].trial
        state: State = "partial" if trial.missing else "done"
        if trial.failure:
            state = "out of time" if trial.failure.startswith(NOT_EVALUATED) else "failed"
        self._report(name, state, trial.failure)

    def _report(self, name: str, state: State, note: str = "") -> None:
        if self.callback is None:
            return
        candidate = self.candidates[name]
        trial = candidate.trial
        known = candidate.losses[np.isfinite(candidate.losses)]
        mean = float(known.mean()) if known.size else np.nan
        with self._reporting:  # one call at a time, also where methods are evaluated side by side
            self.callback(ComparisonStep(
                name, candidate.number, len(self.candidates), len(trial.evaluated), self.problem.split.n_folds, state,
                mean, self.clock.seconds, note or trial.setting.description,
            ))  # fmt: skip


def estimates(losses: Mapping[str, Floats]) -> dict[str, float]:
    """Mean loss of each method; if folds are missing, from the differences from a reference on common folds.

    The reference is the method with the most folds, the best of these: reference mean + mean of the differences.

    >>> nan = np.nan
    >>> found = estimates({"a": np.array([0.5, 0.1]), "b": np.array([0.4, nan]), "c": np.array([nan, nan])})
    >>> {name: round(value, 3) for name, value in found.items()}
    {'a': 0.3, 'b': 0.2}
    """
    known = {name: each for name, each in losses.items() if np.isfinite(each).any()}
    if not known:
        return {}
    reference = min(known.values(), key=lambda each: (-np.isfinite(each).sum(), np.nanmean(each)))
    mean = float(np.nanmean(reference))
    result: dict[str, float] = {}
    for name, each in known.items():
        shared = np.isfinite(each) & np.isfinite(reference)
        result[name] = (
            mean + float(np.mean(each[shared] - reference[shared])) if shared.any() else float(np.nanmean(each))
        )
    return result
