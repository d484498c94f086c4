"""In which order methods and folds are evaluated, so that a budget of time finds the best method.

    1. first look   every method on the first fold, in turn: its full settings where these are forecast to fit easily,
                    else quick ones, and fewer rows where those would take more than the method's part of the time
    2. second look  where hardly any method fitted into its part of the time, some others with what is left
    3. refine       the best three with their full settings, if these are forecast to fit
    4. halve        fold after fold, half as many methods each time, the best by the folds so far
    5. complete     all other settings and folds, the best methods first

Before each fit its time is forecast from fits of the same estimator (`evaluation/_time_budget.py`), and the time to
refit the method at the end is kept free, so that whatever wins can still be fitted. A method is evaluated on less
rather than not at all. Losses of methods that have different folds are compared by their differences on the folds that
they share. Without a budget every method is evaluated on all folds with its full settings.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

import numpy as np

from committee.base.array_types import Floats
from committee.evaluation._fold_evaluation import (
    LONGEST_NOTE,
    NOT_TRIED,
    Evaluation,
    Problem,
    Setting,
    Trial,
    begun,
    calibrated,
    evaluate_fold,
    fitted,
    fold_losses,
    some_rows,
)
from committee.evaluation._time_budget import Clock, Measured, OutOfTime, forecast
from committee.evaluation.methods import Variants

State = Literal["starting", "evaluated", "done", "partial", "failed", "out of time", "refitting"]

FIRST_SHARE = 0.5
"""Part of the budget for the first look at all methods."""

FAIR = 2.0
"""Equal shares of that time which one method may take."""

FEW_ROWS = 2000
"""Training rows up to which full settings are tried at once, and nothing is forecast before the first fold."""

FRACTIONS = (1.0, 1.0 / 4.0, 1.0 / 16.0)
"""Of the training rows that a method is given, the largest that fits in time."""

PROBES = (32, 8)
"""Before the first fold, a method is timed on the training rows divided by these."""

MIN_PROBED = 100

STOPPED = 2.0
"""Times the time after which a fit was stopped that it is taken to need."""

SAFETY = 1.25
"""Times the forecast of the last fits that is kept free for them."""

OVERRUN = 1.5
"""Times its own budget that an estimator which has one is taken to need."""

CLOSING_FRACTION, CLOSING_SECONDS = 0.1, 1.0
"""Of the budget, and at most: for the figures of all methods after the last fold (calibration, paired tests)."""

GRACE = 0.05
"""Part of the budget by which the last fits may pass it."""

SHORT_FIT = 0.7
"""Seconds that a last fit may take whatever the time: a model of fewer rows would cost more than this delay."""

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
    """A method with all that was tried of it."""

    number: int
    variants: Variants
    trial: Trial
    losses: Floats  # [n_folds]
    evaluation: Evaluation | None = None  # of the folds so far
    is_stuck: bool = False  # its next fit is not begun again: it was stopped, or it failed


class Scheduler:
    """Evaluates methods in the order above; `candidates` says how far each of them is."""

    def __init__(
        self, methods: Mapping[str, Variants], problem: Problem, clock: Clock, callback: Callback | None = None
    ) -> None:
        self.problem, self.clock, self.callback = problem, clock, callback
        self.fits: dict[tuple[str, bool], list[Measured]] = {}
        nothing = np.full(problem.split.n_folds, np.nan)
        self.candidates = {
            name: Candidate(number, variants, begun(name, Setting(variants.full), problem), nothing)
            for number, (name, variants) in enumerate(methods.items(), start=1)
        }

    def run(self) -> None:
        """Evaluate all that fits in time."""
        if not self.clock.is_limited:
            for name in self.candidates:
                self._tell(name, "starting")
                self._all_folds(name)
        else:
            self._first_look()
            self._second_look()
            for name in self.ranking()[:LEADERS]:
                self._refine(name)
            self._halve()
            for name in self.ranking():
                self._refine(name)
                self._all_folds(name)
        for name in self.candidates:
            self._close(name)

    # --- the steps ----------------------------------------------------------------------------------------------------

    def _first_look(self) -> None:
        end = self.clock.worked + FIRST_SHARE * self.clock.left
        for i, name in enumerate(self.candidates):
            rest = max(end - self.clock.worked, 0.0)
            share = min(FAIR * rest / (len(self.candidates) - i), rest)
            allowed = min(share, self.clock.left - self.reserve())
            if allowed <= 0.0:
                self._fail(name, f"{NOT_TRIED}: the time was up")
                continue
            self._tell(name, "starting")
            self._evaluate_first(name, allowed)

    def _second_look(self) -> None:
        """Where hardly any method fitted into its part of the time, others get what is left, for the fewest rows."""
        for name, candidate in list(self.candidates.items()):
            if len(self.ranking()) > LEADERS:
                return
            allowed = (self.clock.left - self.reserve()) / 2.0
            if candidate.trial.failure.startswith(NOT_TRIED) and allowed > 0.0:
                self.candidates[name] = candidate._replace(trial=candidate.trial._replace(failure=""))
                if not self._evaluate(name, self._ladder(name)[-1], 0, allowed):
                    self._fail(name, candidate.trial.failure)

    def _evaluate_first(self, name: str, allowed: float) -> None:
        """The first fold, by the largest setting that fits: each attempt that is stopped leaves the rest to smaller."""
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
        self._fail(name, f"{NOT_TRIED}: its part of the time, {allowed:.1f} s, is too short even for few rows")

    def _fits_first(self, name: str, setting: Setting, left: float) -> bool:
        """Whether a first fold is forecast to fit; full settings only if they are to fit on all folds as well."""
        needed, refits = self.forecast(name, setting, 0), self._refits(name, setting)
        if np.isnan(needed):
            return self.candidates[name].variants.quick is None or setting.is_quick
        if setting.is_quick or self.candidates[name].variants.quick is None:
            return needed <= left and needed + refits <= self.clock.left
        return needed <= left / FAIR and self.problem.split.n_folds * needed + refits <= self.clock.left / 2.0

    def _ladder(self, name: str) -> list[Setting]:
        """Settings to try on the first fold, in this order."""
        variants = self.candidates[name].variants
        if variants.quick is None:
            return [Setting(variants.full, False, fraction) for fraction in FRACTIONS]
        return [Setting(variants.full), *(Setting(variants.quick, True, fraction) for fraction in FRACTIONS)]

    def _refine(self, name: str) -> None:
        """All rows in place of some, then full settings in place of quick ones, while they fit and are no worse."""
        while self._refine_once(name):
            pass

    def _refine_once(self, name: str) -> bool:
        """One step of it. A fold of the new setting shows how long it takes: forecasts from few rows are rough."""
        before = self.candidates[name]
        trial, wanted = before.trial, self._next_setting(name)
        if trial.failure or trial.setting == wanted or before.is_stuck:
            return False
        part = (self.clock.left - self.reserve()) / 2.0
        if self._train_size(0) > FEW_ROWS:
            self._probe(name, wanted, part / 4.0)
        if not self.forecast(name, wanted, 0) <= part / 4.0:  # nan: nothing is known of it, not even on few rows
            return False
        self.candidates[name] = before._replace(
            trial=begun(name, wanted, self.problem), losses=np.full_like(before.losses, np.nan), evaluation=None
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
        """What comes after the setting of a method: the same on all rows, then the full settings."""
        candidate = self.candidates[name]
        setting = candidate.trial.setting
        return setting._replace(row_fraction=1.0) if setting.row_fraction < 1.0 else Setting(candidate.variants.full)

    def _halve(self) -> None:
        n_folds = self.problem.split.n_folds
        for k in range(1, n_folds):
            n_kept = max(2, int(np.ceil(len(self.candidates) / 2.0**k)))
            for name in self.ranking()[:n_kept]:
                self._extend(name, k)

    def _all_folds(self, name: str) -> None:
        for k in self.candidates[name].trial.missing:
            if not self._extend(name, k):
                return

    def _extend(self, name: str, k: int) -> bool:
        """One more fold, where it fits in time."""
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
        """Fold k within the time allowed; whether it was evaluated."""
        candidate = self.candidates[name]
        trial = candidate.trial
        if trial.setting != setting:
            trial = begun(name, setting, self.problem)
        try:
            with self.clock.limit(allowed):
                trial = evaluate_fold(trial, k, self.problem, self.clock)
                evaluation = calibrated(trial, self.problem)
                losses = fold_losses(evaluation, self.problem)
        except OutOfTime:
            return False
        except Exception as error:
            self._fail(name, f"{type(error).__name__}: {error}"[:LONGEST_NOTE])
            return False
        fold = trial.folds[k]
        assert fold is not None
        n_rows = max(2, round(setting.row_fraction * self._train_size(k)))
        self.fits.setdefault((name, setting.is_quick), []).append(
            Measured(n_rows, fold.fit_seconds + fold.predict_seconds)
        )
        self.candidates[name] = candidate._replace(trial=trial, losses=losses, evaluation=evaluation)
        self._tell(name, "evaluated")
        return True

    def _probe(self, name: str, setting: Setting, allowed: float) -> None:
        """Time the estimator on few rows, then on more while that is short, unless it was timed or times itself."""
        key = (name, setting.is_quick)
        has_own_budget = getattr(setting.estimator, "time_budget", None) is not None
        if key in self.fits or has_own_budget or allowed <= 0.0:
            return
        n_train = self._train_size(0)
        n, end = min(MIN_PROBED, n_train), self.clock.worked + allowed
        try:
            with self.clock.limit(allowed), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._fit(setting, n)  # loads or compiles what it needs
                for part in PROBES:
                    n = max(n_train // part, MIN_PROBED)
                    if key in self.fits and self.forecast(name, setting, 0, n) > end - self.clock.worked:
                        return
                    start = self.clock.now()
                    self._fit(setting, n)
                    self.fits.setdefault(key, []).append(Measured(n, self.clock.now() - start))
        except OutOfTime:  # it takes longer than this, nobody knows how much
            self.fits.setdefault(key, []).append(Measured(n, STOPPED * allowed))
        except Exception:  # a class may be missing among few rows; the folds will tell
            return

    def _fit(self, setting: Setting, n_rows: int) -> None:
        rows = self.problem.split.train_of(0)
        fitted(setting.estimator, self.problem, some_rows(self.problem, rows, n_rows / rows.size), self.problem.seed)

    # --- forecasts ----------------------------------------------------------------------------------------------------

    def forecast(self, name: str, setting: Setting, k: int, n_rows: int | None = None) -> float:
        """Seconds of a fit on the training rows of fold k; 0 where nothing is known of it and the rows are few."""
        n = max(2, round(setting.row_fraction * (self._train_size(k) if n_rows is None else n_rows)))
        known = self.fits.get((name, setting.is_quick), [])
        own = getattr(setting.estimator, "time_budget", None)  # a committee takes what its own budget allows
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
        """Whether the fit on all rows compared (all rows, if none are held out) fits in the time that is left."""
        on_compared, on_all = self.final_seconds(name)
        return (on_compared or on_all) <= self.left_for_last_fits

    @property
    def left_for_last_fits(self) -> float:
        """Seconds that a last fit may take: a little more than the budget, and never less than a short fit needs."""
        if not self.clock.is_limited:
            return np.inf
        return max(self.clock.left + GRACE * self.clock.budget, SHORT_FIT)

    def _refits(self, name: str, setting: Setting) -> float:
        """Forecast of the last fits: on all rows, on the rows compared, and on half of these for the learning curve."""
        n_compared = self.problem.split.rows.size if self.problem.split.held_out.size else 0
        sizes = [self.problem.truth.size, *([n_compared, n_compared // 2] if n_compared else [])]
        return SAFETY * sum(self.forecast(name, setting, 0, n) for n in sizes)

    def reserve(self) -> float:
        """Seconds to keep for the last fits of the best method so far, and for the figures of all methods."""
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

    # --- telling ------------------------------------------------------------------------------------------------------

    def _fail(self, name: str, why: str) -> None:
        candidate = self.candidates[name]
        self.candidates[name] = candidate._replace(
            trial=candidate.trial._replace(failure=why), losses=np.full_like(candidate.losses, np.nan)
        )

    def _close(self, name: str) -> None:
        trial = self.candidates[name].trial
        state: State = "partial" if trial.missing else "done"
        if trial.failure:
            state = "out of time" if trial.failure.startswith(NOT_TRIED) else "failed"
        self._tell(name, state, trial.failure)

    def _tell(self, name: str, state: State, note: str = "") -> None:
        if self.callback is None:
            return
        candidate = self.candidates[name]
        trial = candidate.trial
        known = candidate.losses[np.isfinite(candidate.losses)]
        mean = float(known.mean()) if known.size else np.nan
        self.callback(ComparisonStep(
            name, candidate.number, len(self.candidates), len(trial.evaluated), self.problem.split.n_folds, state, mean,
            self.clock.seconds, note or trial.setting.words,
        ))  # fmt: skip


def estimates(losses: Mapping[str, Floats]) -> dict[str, float]:
    """Mean loss over all folds of each method; of some folds only, by its differences there from the best known one.

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
