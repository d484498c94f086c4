"""The family on one table, on the same folds: which method errs least, and how much will the chosen one err?

Some rows are held out before anything is looked at. The others are dealt into folds; every method is fitted without
each fold in turn and judged on it, so that differences between methods are paired. The method of the smallest mean
loss wins. Its mean loss flatters it, since it was chosen for being the smallest; two honest figures are given:

    held-out error: the winner, fitted again on all rows compared, on the rows that were held out
    nested error:   for each fold k, the loss on k of the method that is best on the other folds; mean over k

(Varma and Simon, Bias in error estimation when using cross-validation for model selection, 2006.) At the end the winner
is fitted on all rows, held-out ones included.

With `groups` the folds keep groups together, with `times` every method learns from the past and is judged on what came
after (`studies/row_splits.py`); the nested choice for a stretch of time then looks at earlier stretches only.
"""

from __future__ import annotations

import inspect
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import has_fit_parameter

from committee.base.callers import level_of_caller
from committee.base.columns import open_table
from committee.base.validation import read_targets_classification, read_targets_regression, read_weights
from committee.parts.on_numbers import BaseOnNumbers
from committee.studies.clock import OutOfTime, foreseen_seconds, stop_after, work_seconds
from committee.studies.folds import rows_of, seeded, stderr
from committee.studies.judging import Answers, answers_of, loss_of, metric_names, standard_error
from committee.studies.methods import family
from committee.studies.row_order import Folding, dependent_rows, explain_order, fold_rows
from committee.studies.row_splits import RowSplit

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
Task = Literal["classification", "regression"]
Status = Literal["done", "failed", "out of time"]

MANY_VALUES = 20
"""Whole numbers of more distinct values than this are taken for a regression."""

REFITS = 2.8
"""What the winner still costs when all is judged, in fits of a fold: one on all rows compared, one on all rows."""

DOUBT = 1.5
"""A method is not begun if it is foreseen to need so many times the time that is left: forecasts are rough."""

FAIR = 2.0
"""Equal shares of the time that is left: a method is stopped when it has had so many, and the next one begins."""

OVERRUN = 1.5
"""Times its own budget that an estimator which has one is taken to need."""

LONGEST_NOTE = 300


class MethodResult(NamedTuple):
    """One method on all folds. What a fold did not get is nan."""

    name: str  # such as "random forest"
    estimator: str  # the name of its class
    parameters: dict[str, Any]
    errors: Floats  # [n_folds], the chosen metric as a loss
    scores: dict[str, Floats]  # every metric, [n_folds]: "error" and "log loss", or "rmse" and "mae"
    fit_seconds: Floats  # [n_folds]
    predict_seconds: Floats  # [n_folds]
    out_of_fold: Floats  # [n, K] class probabilities or [n] numbers, of the rows compared
    status: Status
    note: str


class Comparison(NamedTuple):
    """Methods on the same folds, the winner, and its error on rows that did not choose it."""

    task: Task
    metric: str
    classes: tuple[Any, ...]
    rows: Rows  # [n] the rows compared
    fold: Rows  # [n] the fold of each of them
    held_out: Rows  # rows kept apart, that chose nothing
    results: tuple[MethodResult, ...]
    winner: str
    held_out_scores: dict[str, float]  # of the winner, fitted on all rows compared, on those held out
    held_out_error_se: float
    nested_error: float
    nested_se: float
    seed: int
    seconds: float
    plan: dict[str, Any]  # what was run
    compile_seconds: float = 0.0  # of `seconds`: the budget is not charged with them

    @property
    def is_forward(self) -> bool:
        """Whether the folds are stretches of time, each judged by what learned from those before it."""
        return self.plan.get("folds") == "forward in time"

    @property
    def n_folds(self) -> int:
        """The folds that methods were judged on; in time, the first stretch is only learned from."""
        return int(self.fold.max()) + 1

    def result(self, name: str) -> MethodResult:
        """The result of one method."""
        return next(result for result in self.results if result.name == name)

    def ranking(self) -> list[MethodResult]:
        """The methods that were judged on every fold, the best first."""
        done = [result for result in self.results if result.status == "done"]
        return sorted(done, key=_merit)


class Step(NamedTuple):
    """Where a comparison stands, for whoever watches it."""

    method: str
    number: int  # of the method, from 1
    n_methods: int
    fold: int  # of n_folds, from 1; 0 before the first
    n_folds: int
    state: Literal["starting", "judged", "done", "failed", "out of time", "refitting"]
    error: float  # mean over the folds so far
    seconds: float  # since the beginning
    note: str = ""


Progress = Callable[[Step], object]


class _Problem(NamedTuple):
    """The table and everything that is the same for all methods."""

    X: Any
    y: NDArray[Any]  # labels or numbers, as the estimators get them
    truth: NDArray[Any]  # positions of the classes, or numbers
    classes: NDArray[Any] | None  # None for regression
    weight: Floats | None
    folding: Folding
    metric: str
    metrics: tuple[str, ...]
    seed: int
    n_jobs: int | None

    @property
    def split(self) -> RowSplit:
        return self.folding.split

    def weight_of(self, rows: Rows) -> Floats:
        return np.ones(rows.size) if self.weight is None else self.weight[rows]


class _Clock(NamedTuple):
    """When the comparison began, and how long it may take."""

    start: float
    start_of_work: float
    budget: float

    @classmethod
    def begun(cls, budget: float | None) -> _Clock:
        return cls(time.perf_counter(), work_seconds(), np.inf if budget is None else float(budget))

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.start

    @property
    def worked(self) -> float:
        """Without the compilation of kernels."""
        return work_seconds() - self.start_of_work

    @property
    def left(self) -> float:
        return self.budget - self.worked


def compare(
    X: Any,
    y: Any,
    *,
    task: Literal["auto", "classification", "regression"] = "auto",
    methods: str | Iterable[str] | Mapping[str, Any] = "all",
    metric: str = "auto",
    cv: int = 5,
    held_out: float = 0.2,
    budget: float | None = None,
    weights: Any = None,
    groups: Any = "auto",
    times: Any = "auto",
    seed: int = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> tuple[Comparison, Any]:
    """Judge the family on one table, and fit the best of it on all rows.

    Parameters
    ----------
    X, y : a table (NumPy, pandas, polars, Arrow) and its target
    task : {"auto", "classification", "regression"}
        "auto" takes strings, bools and whole numbers of at most 20 values for classes.
    methods : "all", names of methods of `studies/methods.py`, or a mapping name -> estimator
    metric : what chooses the winner; "auto" takes the error or the root mean square error
        Others are "log loss", "balanced error", "brier score", "1 - auc" (two classes), "mae", "1 - r2".
    cv : number of folds
    held_out : share of the rows kept apart for the winner's error; 0 for none
    budget : seconds; methods that would pass it are left out and marked "out of time"
        No method takes more than two equal shares of what is left before the others were tried. The compilation of
        kernels is not counted.
    weights : one weight per row, in fits and in errors
    groups : one label per row: rows of one group stay together; None for no groups
    times : one time per row, or "row order": methods are fitted on earlier rows and evaluated on later ones; None
        shuffles the rows. "auto", the default of both, looks for time order and for repeated entities
        (`studies/row_order.py`), says what it found in a warning and in `plan`, and validates accordingly.
    seed : of the folds and of the methods
    n_jobs : as in scikit-learn
    progress : called with a `Step` whenever something happens

    Examples
    --------
    >>> from committee.data.samples import load_sample
    >>> from committee.studies.comparison import compare
    >>> sonar = load_sample("sonar")
    >>> found, model = compare(sonar.X, sonar.y, methods=["constant", "pruned tree", "random forest"])
    >>> found.winner, round(found.held_out_scores["error"], 3), model.n_features_in_
    ('random forest', 0.143, 60)
    """
    clock = _Clock.begun(budget)
    problem, chosen_task = _read(X, y, task, metric, cv, held_out, weights, groups, times, seed, n_jobs)
    estimators = _choose_methods(methods, chosen_task, problem)
    results = _judge_all(estimators, problem, clock, progress)
    winner = _winner(results)
    if progress is not None:
        progress(Step(winner, len(results), len(results), 0, cv, "refitting", np.nan, clock.seconds))
    folding = problem.folding
    plan = _plan(problem, estimators, cv, held_out, budget, folding.groups, folding.times)
    return _concluded(chosen_task, problem, results, estimators[winner], winner, plan, clock)


def _concluded(
    task: Task, problem: _Problem, results: tuple[MethodResult, ...], estimator: Any, winner: str,
    plan: dict[str, Any], clock: _Clock,
) -> tuple[Comparison, Any]:  # fmt: skip
    """The honest errors of the winner, and the winner fitted on all rows."""
    scores, score_stderr = _held_out_scores(estimator, problem)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they are in the notes of the folds
        model = _fitted(estimator, problem, np.arange(problem.truth.size), problem.seed)
    if problem.split.forward:  # the next stretch of time differs from the held-out one as those before it did
        errors = next(result for result in results if result.name == winner).errors
        score_stderr = float(np.hypot(score_stderr, errors.std(ddof=1)))
    nested = _nested_errors(results, problem.split.forward)
    known = nested[np.isfinite(nested)]
    found = Comparison(
        task=task,
        metric=problem.metric,
        classes=() if problem.classes is None else tuple(problem.classes.tolist()),
        rows=problem.split.rows,
        fold=problem.split.fold,
        held_out=problem.split.held_out,
        results=results,
        winner=winner,
        held_out_scores=scores,
        held_out_error_se=score_stderr,
        nested_error=float(known.mean()) if known.size > 1 else np.nan,
        nested_se=float(stderr(known[np.newaxis])) if known.size > 1 else np.nan,
        seed=problem.seed,
        seconds=clock.seconds,
        plan=plan,
        compile_seconds=clock.seconds - clock.worked,
    )
    return found, model


# --- reading what is asked --------------------------------------------------------------------------------------------


def _read(
    X: Any, y: Any, task: str, metric: str, cv: int, held_out: float, weights: Any, groups: Any, times: Any,
    seed: int, n_jobs: int | None,
) -> tuple[_Problem, Task]:  # fmt: skip
    if cv < 2:
        raise ValueError(f"cv must be at least 2; got {cv}.")
    if not 0.0 <= held_out < 1.0:
        raise ValueError(f"held_out must be a share of the rows, 0 <= held_out < 1; got {held_out}.")
    n = open_table(X).shape[0]
    if task not in ("auto", "classification", "regression"):
        raise ValueError(f"task must be 'auto', 'classification' or 'regression'; got {task!r}.")
    chosen: Task = guess_task(y) if task == "auto" else task
    classes, truth, labels = _read_target(y, n, chosen)
    names = metric_names(chosen, 0 if classes is None else len(classes))
    if metric not in ("auto", *names):
        raise ValueError(f"No metric {metric!r} for {chosen}; there are: {', '.join(names)}.")
    folding = fold_rows(
        X, truth, is_classes=classes is not None, cv=cv, held_out=held_out, groups=groups, times=times, seed=seed
    )
    if folding.order is not None and folding.order is not times and (words := explain_order(folding.order)):
        warnings.warn(words, UserWarning, stacklevel=level_of_caller())
    weight = read_weights(weights, n, "weights")
    first = names[0] if metric == "auto" else metric
    return _Problem(X, labels, truth, classes, weight, folding, first, names, seed, n_jobs), chosen


def guess_task(y: Any) -> Task:
    """Strings, bools and whole numbers of few values are classes; other numbers are a regression.

    >>> guess_task(["yes", "no"]), guess_task([0.5, 1.25]), guess_task(np.arange(100))
    ('classification', 'regression', 'regression')
    """
    values = np.ravel(np.asarray(y))
    if values.dtype.kind not in "fiu":
        return "classification"
    distinct = np.unique(values)
    is_whole = values.dtype.kind in "iu" or bool(np.all(distinct == np.floor(distinct)))
    return "classification" if is_whole and distinct.size <= MANY_VALUES else "regression"


def _read_target(y: Any, n: int, task: str) -> tuple[NDArray[Any] | None, NDArray[Any], NDArray[Any]]:
    """The classes, the positions of the labels among them, and the labels; for regression None and the numbers."""
    if task == "regression":
        target = read_targets_regression(y, n)
        if target.ndim > 1:
            raise ValueError(f"y has {target.shape[1]} columns: compare takes one target at a time.")
        return None, target, target
    classes, codes = read_targets_classification(y, n)
    if len(classes) < 2:
        raise ValueError(f"y has one class only ({classes[0]!r}): there is nothing to tell apart.")
    return classes, codes, classes[codes]


def _choose_methods(methods: Any, task: Task, problem: _Problem) -> dict[str, Any]:
    if isinstance(methods, Mapping):
        if not methods:
            raise ValueError("methods is empty: name at least one.")
        return dict(methods)
    n, d = problem.truth.size, open_table(problem.X).shape[1]
    return pick(family(task, n, d), methods)


def pick(methods: Mapping[str, Any], names: str | Iterable[str]) -> dict[str, Any]:
    """Those methods whose names are asked for, in their own order; case, "-" and "_" do not matter.

    >>> list(pick({"random forest": 1, "SVM": 2}, ["svm"]))
    ['SVM']
    """
    if isinstance(names, str):
        if names == "all":
            return dict(methods)
        names = [names]
    wanted = [find_name(name, list(methods), "method") for name in names]
    if not wanted:
        raise ValueError("methods is empty: name at least one.")
    return {name: methods[name] for name in methods if name in wanted}


def find_name(name: str, known: Sequence[str], what: str) -> str:
    """The known name that is meant; a ValueError with near ones otherwise."""
    plain = {_plain(each): each for each in reversed(known)}
    if name in known:
        return name
    if _plain(name) in plain:
        return plain[_plain(name)]
    near = [plain[match] for match in get_close_matches(_plain(name), list(plain), n=3, cutoff=0.5)]
    advice = f"Did you mean {' or '.join(map(repr, near))}?" if near else f"There are: {', '.join(known)}."
    raise ValueError(f"No {what} {name!r}. {advice}")


def _plain(name: str) -> str:
    return name.strip().lower().replace("-", " ").replace("_", " ")


# --- judging ----------------------------------------------------------------------------------------------------------


class _Try(NamedTuple):
    """A method so far."""

    result: MethodResult
    needed: float = 0.0  # seconds that it is thought to need still, where it is out of time


def _judge_all(
    estimators: Mapping[str, Any], problem: _Problem, clock: _Clock, progress: Progress | None
) -> tuple[MethodResult, ...]:
    """Every method within its share of the time; what is left is for those that were stopped at theirs."""
    tries: dict[str, _Try] = {}

    def attempt(number: int, name: str, blank: MethodResult, share: float) -> None:
        def tell(fold: int, state: Any, error: float, note: str = "") -> None:
            if progress is not None:
                n_folds = problem.split.n_folds
                progress(Step(name, number, len(estimators), fold, n_folds, state, error, clock.seconds, note))

        reserve = _reserve([each.result for each in tries.values()])
        found = _judge_in_time(blank, estimators[name], problem, clock, min(share, clock.left - reserve), tell)
        n_judged = int(np.isfinite(found.result.errors).sum())
        tell(n_judged, found.result.status, _mean(found.result.errors), found.result.note)
        tries[name] = found

    for number, (name, estimator) in enumerate(estimators.items(), start=1):
        share = FAIR * clock.left / (len(estimators) - number + 1)
        attempt(number, name, _blank(name, estimator, problem), share)
    for number, (name, (result, needed)) in enumerate(list(tries.items()), start=1):
        if 0.0 < needed <= clock.left:
            attempt(number, name, result._replace(status="done", note=""), clock.left)
    return tuple(each.result for each in tries.values())


def _reserve(results: Sequence[MethodResult]) -> float:
    """Seconds to keep for fitting the best method so far again."""
    done = [result for result in results if result.status == "done"]
    return REFITS * float(np.median(min(done, key=_merit).fit_seconds)) if done else 0.0


def _judge_in_time(
    blank: MethodResult, estimator: Any, problem: _Problem, clock: _Clock, allowed: float, tell: Callable[..., None]
) -> _Try:
    """The method on all folds; its failure or the end of its time are noted, and the comparison goes on."""
    if allowed <= 0.0:
        return _Try(blank._replace(status="out of time", note="was not tried: the time was up"))
    tell(_n_judged(blank), "starting", _mean(blank.errors))
    start, is_share = clock.worked, allowed < 0.8 * clock.left
    try:
        with stop_after(allowed):
            needed = 0.0 if _n_judged(blank) else _foreseen(estimator, problem, clock)
            if needed > DOUBT * min(clock.left, allowed):
                return _would_need(blank, needed, clock, allowed if is_share else clock.left)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                judged = _judge(blank, estimator, problem, clock, start + allowed, tell)
        return judged._replace(result=judged.result._replace(note=judged.result.note or _in_short(caught)))
    except OutOfTime:
        note = f"was stopped after {clock.worked - start:.0f} s, its share of the time"
        note = note if is_share else "was stopped when the time was up"
        return _Try(blank._replace(status="out of time", note=note), _still_needed(blank, clock.worked - start))
    except Exception as error:
        return _Try(blank._replace(status="failed", note=f"{type(error).__name__}: {error}"[:LONGEST_NOTE]))


def _n_judged(blank: MethodResult) -> int:
    return int(_judged(blank).sum())


def _judged(blank: MethodResult) -> NDArray[np.bool_]:
    return np.isfinite(blank.predict_seconds)


def _still_needed(blank: MethodResult, spent: float) -> float:
    """Seconds for the folds to come and the refits; a first fold that was cut off needs more than was spent on it."""
    done = _judged(blank)
    per_fit = float(blank.fit_seconds[done].min()) if done.any() else spent
    return (done.size - int(done.sum()) + REFITS) * per_fit


def _would_need(blank: MethodResult, needed: float, clock: _Clock, allowed: float) -> _Try:
    left = max(clock.left, 0.0)
    there = f"its share is {allowed:.0f} s" if allowed < 0.8 * left else f"{left:.0f} s are left"
    note = f"would need about {needed:.0f} s more, {there}"
    return _Try(blank._replace(status="out of time", note=note), needed)


def _blank(name: str, estimator: Any, problem: _Problem) -> MethodResult:
    nothing = np.full(problem.split.n_folds, np.nan)
    n, K = problem.split.rows.size, 0 if problem.classes is None else problem.classes.size
    return MethodResult(
        name=name,
        estimator=_class_name(estimator),
        parameters=_set_parameters(estimator),
        errors=nothing.copy(),
        scores={metric: nothing.copy() for metric in problem.metrics},
        fit_seconds=nothing.copy(),
        predict_seconds=nothing.copy(),
        out_of_fold=np.full((n, K) if K else n, np.nan),
        status="done",
        note="",
    )


def _judge(
    blank: MethodResult, estimator: Any, problem: _Problem, clock: _Clock, end: float, tell: Callable[..., None]
) -> _Try:
    """Fit without each fold in turn, judge on it. The arrays of `blank` are filled in place, folds judged stay."""
    split = problem.split
    for k in np.flatnonzero(~_judged(blank)).tolist():
        test = split.test_of(k)
        start = work_seconds()
        model = _fitted(estimator, problem, split.train_of(k), _fold_seed(problem.seed, k))
        blank.fit_seconds[k] = work_seconds() - start
        X = rows_of(problem.X, test)
        start = work_seconds()
        predicted = model.predict(X)
        predict_seconds = work_seconds() - start
        _score(blank, problem, answers_of(model, X, problem.classes, predicted), test, k)
        blank.predict_seconds[k] = predict_seconds  # at the end: it marks folds that were judged
        tell(k + 1, "judged", _mean(blank.errors))
        remaining, to_come = _still_needed(blank, np.inf), split.n_folds - k - 1
        shortest = float(np.nanmin(blank.fit_seconds))
        if to_come and (remaining > clock.left or to_come * shortest > end - clock.worked):
            return _would_need(blank, remaining, clock, end - clock.worked)
    if not np.all(np.isfinite(blank.errors)):
        return _Try(blank._replace(status="failed", note=f"gives no {problem.metric}"))
    return _Try(blank)


def _score(blank: MethodResult, problem: _Problem, said: Answers, test: Rows, k: int) -> None:
    weight = problem.weight_of(test)
    for metric in problem.metrics:
        blank.scores[metric][k] = loss_of(metric, problem.truth[test], said, weight)
    blank.errors[k] = blank.scores[problem.metric][k]
    blank.out_of_fold[problem.split.fold == k] = said.values


def _foreseen(estimator: Any, problem: _Problem, clock: _Clock) -> float:
    """Seconds that the folds and the refits will take, 0 where nobody counts them or the rows are few."""
    if not np.isfinite(clock.budget):
        return 0.0
    split = problem.split
    shuffled = np.random.default_rng(problem.seed).permutation(split.rows)

    def fit(n_rows: int) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _fitted(estimator, problem, np.sort(shuffled[:n_rows]), problem.seed)

    try:
        per_fit = foreseen_seconds(fit, split.train_of(split.n_folds - 1).size)
    except Exception:  # a class may be missing among few rows; the folds will tell
        return 0.0
    own = getattr(estimator, "time_budget", None)  # a committee takes as many members as its own budget allows
    return (split.n_folds + REFITS) * (per_fit if own is None else min(per_fit, OVERRUN * own))


def _fitted(estimator: Any, problem: _Problem, rows: Rows, seed: int) -> Any:
    model = _unfitted(estimator, seed, problem.n_jobs)
    X, y = rows_of(problem.X, rows), problem.y[rows]
    if problem.weight is None:
        return model.fit(X, y)
    if not has_fit_parameter(model, "sample_weight"):
        raise ValueError(f"{type(model).__name__} takes no weights")
    return model.fit(X, y, sample_weight=problem.weight[rows])


def _unfitted(estimator: Any, seed: int, n_jobs: int | None) -> Any:
    """A copy with this seed wherever it takes one, quiet, and with the threads it may use."""
    model = seeded(estimator, seed)
    names = [name for name in ("n_jobs", "estimator__n_jobs") if name in model.get_params()]
    return model.set_params(**dict.fromkeys(names[:1], n_jobs)) if n_jobs is not None else model


def _fold_seed(seed: int, k: int) -> int:
    """Below 2^31: scikit-learn's estimators take no larger one."""
    return int(np.random.SeedSequence([seed, k]).generate_state(1)[0] % 2**31)


# --- the winner -------------------------------------------------------------------------------------------------------


def _merit(result: MethodResult) -> tuple[float, float]:
    """Smaller is better: the mean loss, and where that is the same the mean of the second metric."""
    names = list(result.scores)
    tie = _mean(result.scores[names[1]]) if len(names) > 1 else 0.0
    return _mean(result.errors), tie if np.isfinite(tie) else np.inf


def _winner(results: Sequence[MethodResult]) -> str:
    done = [result for result in results if result.status == "done"]
    if not done:
        notes = "; ".join(f"{result.name}: {result.status}, {result.note}" for result in results)
        raise RuntimeError(f"No method was judged on every fold. {notes}")
    return min(done, key=_merit).name


def _held_out_scores(estimator: Any, problem: _Problem) -> tuple[dict[str, float], float]:
    """Every metric of the winner on the rows held out, and the standard error of the chosen one."""
    apart = problem.split.held_out
    if apart.size == 0:
        return {}, np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they are in the notes of the folds
        model = _fitted(estimator, problem, problem.split.rows, problem.seed)
        X = rows_of(problem.X, apart)
        said = answers_of(model, X, problem.classes, model.predict(X))
    truth, weight = problem.truth[apart], problem.weight_of(apart)
    scores = {metric: loss_of(metric, truth, said, weight) for metric in problem.metrics}
    codes = dependent_rows(problem.folding, apart)
    error = standard_error(problem.metric, truth, said, weight, codes, problem.seed)
    if problem.metric == "error" and error == 0.0:  # none is wrong, or all: few rows do not prove it (Laplace)
        share = 1.0 / (codes.max() + 3.0)
        error = float(np.sqrt(share * (1.0 - share) / (codes.max() + 1.0)))
    return scores, error


def _nested_errors(results: Sequence[MethodResult], forward: bool) -> Floats:
    """For each fold the loss of the method that is best on the other folds (in time: on the earlier ones).

    Where there is one method only, nothing is chosen: its losses are those of all folds.
    """
    errors = np.array([result.errors for result in results if result.status == "done"])
    if len(errors) == 1:
        return errors[0]
    nested = np.full(errors.shape[1], np.nan)
    for k in range(nested.size):
        others = np.arange(k) if forward else np.delete(np.arange(nested.size), k)
        if others.size:
            nested[k] = errors[errors[:, others].mean(axis=1).argmin(), k]
    return nested


# --- words ------------------------------------------------------------------------------------------------------------


def _mean(values: Floats) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else np.nan


def _in_short(caught: Iterable[warnings.WarningMessage]) -> str:
    """The distinct warnings, each said once."""
    return " ".join(dict.fromkeys(f"{str(each.message).rstrip(' .')}." for each in caught))[:LONGEST_NOTE]


def _class_name(estimator: Any) -> str:
    """The class; of a wrapper such as OnNumbersClassifier the class inside it."""
    return type(estimator.estimator if isinstance(estimator, BaseOnNumbers) else estimator).__name__


def _set_parameters(estimator: Any) -> dict[str, Any]:
    """The parameters, also of estimators inside, that differ from the defaults of their class."""
    found: dict[str, Any] = {}
    defaults = inspect.signature(type(estimator)).parameters
    for name, value in estimator.get_params(deep=False).items():
        if hasattr(value, "get_params"):
            found[name] = type(value).__name__
            found |= {f"{name}__{inner}": of for inner, of in _set_parameters(value).items()}
        elif name not in defaults or not _is_same(defaults[name].default, value):
            found[name] = value
    return found


def _is_same(one: Any, other: Any) -> bool:
    return one is other or (type(one) is type(other) and bool(np.all(one == other)))


def _plan(
    problem: _Problem, estimators: Mapping[str, Any], cv: int, held_out: float, budget: float | None, groups: Any,
    times: Any,
) -> dict[str, Any]:  # fmt: skip
    n, d = open_table(problem.X).shape
    folds = "forward in time" if times is not None else "by group" if groups is not None else "by class"
    if folds == "by class" and problem.classes is None:
        folds = "at random"
    return {
        "n_rows": int(n),
        "n_columns": int(d),
        "n_folds": cv,
        "folds": folds,
        "row_order": None if problem.folding.order is None else problem.folding.order.as_plan(),
        "held_out": held_out,
        "n_held_out": int(problem.split.held_out.size),
        "budget": budget,
        "weights": problem.weight is not None,
        "methods": list(estimators),
        "n_jobs": problem.n_jobs,
    }
