"""Comparison of methods on the same folds of a table, and the loss of the best one.

Some rows are held out before the comparison. The others are split into folds; every method is fitted without each fold
in turn and evaluated on it, so that differences between methods are paired. The method of the smallest mean loss wins,
or one within a standard error of it (`evaluation/choice.py`): by default the log-loss of calibrated probabilities, or
the root mean squared error. Its mean loss is biased downwards by the selection; there are two unbiased estimates:

    held-out loss: the winner, fitted again on all rows compared, on the rows that were held out
    nested loss:   for each fold k, the loss on k of the method that is best on the other folds; mean over k

(Varma and Simon, Bias in error estimation when using cross-validation for model selection, 2006.) At the end the winner
is fitted on all rows, held-out ones included; where its probabilities were calibrated, the model is a
`CalibratedClassifier`. The held-out loss is that of a model fitted on fewer rows: `evaluation/_final_fits.py` estimates
the decrease to expect of the final model.

With `groups` the folds keep groups together, with `time` every method is fitted on earlier rows and evaluated on later
ones (`evaluation/_row_splits.py`); the nested choice for a period then uses earlier periods only. Time budgets are
described in `evaluation/_scheduler.py`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.stacklevel import level_of_caller
from committee.base.stats import standard_error_of_folds
from committee.evaluation._executor import ClusterExecutor, LocalExecutor
from committee.evaluation._final_fits import FinalFits, LearningCurve
from committee.evaluation._fold_evaluation import MethodResult, Problem, as_result
from committee.evaluation._scheduler import Callback, ComparisonStep, Scheduler, estimates
from committee.evaluation.choice import choose
from committee.evaluation.methods import Variants, family_variants
from committee.evaluation.metrics import find_metric, format_loss, metric_names
from committee.evaluation.row_order import explain_order, fold_rows
from committee.evaluation.time_budget import Clock
from committee.tabular.schema import open_table
from committee.tabular.validation import read_targets_classification, read_targets_regression, read_weights

__all__ = [
    "Comparison",
    "ComparisonStep",
    "LearningCurve",
    "MethodResult",
    "compare",
    "find_name",
    "guess_task",
    "pick",
]

Rows = NDArray[np.intp]
Task = Literal["classification", "regression"]

MANY_VALUES = 20
"""Integers with more distinct values are the target of a regression."""


class Comparison(NamedTuple):
    """Result of `compare`: methods evaluated on the same folds, the best of them, and its loss on held-out rows.

    Attributes
    ----------
    task : {"classification", "regression"}
        The task.
    metric : str
        Metric that the methods are ranked by, as a loss.
    classes : tuple
        Class labels; empty for regression.
    rows : ndarray of shape (n_compared,)
        Positions of the rows that the methods are cross-validated on.
    fold : ndarray of shape (n_compared,)
        Fold of each of these rows; -1 for rows that are only used for training.
    held_out_rows : ndarray of shape (n_held_out,)
        Positions of the rows held out before the comparison.
    results : tuple of MethodResult
        One result for each method.
    winner : str
        Name of the method chosen.
    held_out_losses : dict of str to float
        Every metric of the winner on the held-out rows, as a loss, after a fit on all other rows.
    held_out_loss_se : float
        Standard error of the chosen metric on the held-out rows.
    nested_loss, nested_loss_se : float
        Mean over the folds of the loss of the method that is best on the other folds, and its standard error.
    random_state : int
        Seed of the folds and of the methods.
    seconds : float
        Total time.
    settings : dict
        How the methods were compared.
    compile_seconds : float
        Part of `seconds` in which kernels were compiled; it does not count towards the time budget.
    model_note : str
        Why the model was not fitted on all rows, if it was not.
    held_out_predictions : ndarray of shape (n_held_out,) or None
        Predictions of the winner for the held-out rows; None for classification.
    learning_curve : LearningCurve or None
        Held-out losses of the winner after fits on half of the rows and on all rows compared, and the further decrease
        to expect of the model that is fitted on all rows.
    """

    task: Task
    metric: str
    classes: tuple[Any, ...]
    rows: Rows
    fold: Rows
    held_out_rows: Rows
    results: tuple[MethodResult, ...]
    winner: str
    held_out_losses: dict[str, float]
    held_out_loss_se: float
    nested_loss: float
    nested_loss_se: float
    random_state: int
    seconds: float
    settings: dict[str, Any]
    compile_seconds: float = 0.0
    model_note: str = ""
    held_out_predictions: Floats | None = None
    learning_curve: LearningCurve | None = None

    @property
    def is_forward(self) -> bool:
        """Whether the folds are consecutive periods, each evaluated after a fit on the earlier ones."""
        return self.settings.get("folds") == "forward in time"

    @property
    def learning_curve_note(self) -> str:
        """Sentences about the model of all rows, if its loss is expected to be notably below the held-out one."""
        curve = self.learning_curve
        if curve is None or not curve.is_notable(self.held_out_loss_se):
            return ""
        half, evaluated, final = (f"{n:,}" for n in curve.n_rows)
        gain = format_loss(self.metric, curve.gain, stderr=curve.gain_se)
        return (
            f"This is the {self.metric} of a model fitted on {evaluated} rows. The final model is fitted on all "
            f"{final}, which is expected to lower it by about {gain} (extrapolated from fits on {half} and "
            f"{evaluated} rows)."
        )

    @property
    def n_folds(self) -> int:
        """Number of folds that methods are evaluated on."""
        return int(self.fold.max()) + 1

    def result(self, name: str) -> MethodResult:
        """The result of one method."""
        return next(result for result in self.results if result.name == name)

    def ranking(self) -> list[MethodResult]:
        """Results of the methods that were evaluated: the winner, then the others by their mean losses."""
        known = [result for result in self.results if result.status in ("done", "partial")]
        return sorted(known, key=lambda result: (result.name != self.winner, result.mean_loss))


def compare(
    X: Any,
    y: Any,
    *,
    task: Literal["auto", "classification", "regression"] = "auto",
    methods: str | Iterable[str] | Mapping[str, Any] = "all",
    metric: str = "auto",
    cv: int = 5,
    test_size: float = 0.2,
    time_budget: float | None = None,
    sample_weight: Any = None,
    groups: Any = "auto",
    time: Any = "auto",
    random_state: int = 0,
    n_jobs: int | None = None,
    callback: Callback | None = None,
    clock: Clock | None = None,
    client: Any = None,
) -> tuple[Comparison, Any]:
    """Evaluate methods on one table by cross-validation, and fit the best one on all rows.

    Parameters
    ----------
    X : array or DataFrame of shape (n_samples, n_features)
        NumPy array, pandas or polars DataFrame, or Arrow table.
    y : array of shape (n_samples,)
        Target.
    task : {"auto", "classification", "regression"}, default="auto"
        "auto" treats strings, booleans and integers of at most 20 distinct values as classes.
    methods : "all", str, list of str, or dict of str to estimator, default="all"
        Names of built-in methods, or estimators by name. A dict may also hold `Variants` (full and quick settings).
    metric : str, default="auto"
        Metric that the methods are ranked by; "auto" is the log-loss, or the root mean squared error. Others are
        "accuracy", "balanced_accuracy", "roc_auc" (one against the rest for more than two classes),
        "average_precision", "f1", "f1_macro", "mcc", "brier", "rmse", "mae" and "r2". Scores are turned into losses:
        accuracy into "error", roc_auc into "1 - auc".
    cv : int, default=5
        Number of folds.
    test_size : float, default=0.2
        Fraction of the rows held out to evaluate the winner; 0 holds out none.
    time_budget : float, default=None
        Seconds for everything, the final fits included. Methods that take too long are evaluated on fewer folds, with
        quick settings or on fewer rows, and the best ones get time first. The compilation of kernels is not counted.
    sample_weight : array of shape (n_samples,), default=None
        Weights of the rows, in fits and in losses.
    groups : "auto", None, or array of shape (n_samples,), default="auto"
        Group of each row; rows of one group stay together. "auto" looks for repeated entities, warns if there are any
        and keeps the rows of each together.
    time : "auto", "row order", None, or array of shape (n_samples,), default="auto"
        Time of each row; methods are fitted on earlier rows and evaluated on later ones. "row order" takes the order
        of the rows; "auto" looks for time order, and warns and uses it if there is one; None shuffles the rows.
    random_state : int, default=0
        Seed of the folds and of the methods.
    n_jobs : int, default=None
        Number of threads, as in scikit-learn.
    callback : callable, default=None
        Called with a `ComparisonStep` whenever a method makes progress.
    clock : Clock, default=None
        A clock started earlier, whose budget is used; for programs that count the time before the call.
    client : distributed.Client, default=None
        A client of a Dask cluster, whose workers fit the methods; without a time budget the results are those of this
        machine. See docs/cluster.md.

    Returns
    -------
    comparison : Comparison
        Losses of all methods, the winner, and its loss on the held-out rows.
    model : estimator
        The winner, fitted on all rows.

    Raises
    ------
    ValueError
        If a method or metric is unknown, or the rows are too few for the folds.
    RuntimeError
        If no method could be evaluated, or the cluster of `client` failed.

    Examples
    --------
    >>> from committee import compare
    >>> from committee.datasets import load_dataset
    >>> sonar = load_dataset("sonar")
    >>> comparison, model = compare(sonar.X, sonar.y, methods=["constant", "pruned tree", "random forest"])
    >>> comparison.winner, comparison.metric, round(comparison.held_out_losses["error"], 3), model.n_features_in_
    ('random forest', 'log loss', 0.143, 60)
    """
    clock = Clock(time_budget) if clock is None else clock
    _check(task, cv, test_size)
    n_rows = open_table(X).shape[0]
    chosen_task: Task = guess_task(y) if task == "auto" else task
    classes, truth, labels = _read_target(y, n_rows, chosen_task)
    loss = find_metric(metric, chosen_task)
    losses = tuple(dict.fromkeys((loss, *metric_names(chosen_task))))
    folding = fold_rows(
        X, truth, is_classes=classes is not None, cv=cv, held_out=test_size, groups=groups, times=time,
        seed=random_state,
    )  # fmt: skip
    if folding.order is not None and folding.order is not time and (message := explain_order(folding.order)):
        warnings.warn(message, UserWarning, stacklevel=level_of_caller())
    weight = read_weights(sample_weight, n_rows, "sample_weight")
    problem = Problem(X, labels, truth, classes, weight, folding, loss, losses, random_state, n_jobs)
    variants = _choose_methods(methods, chosen_task, problem)
    settings = _settings(problem, variants, cv, test_size, time_budget)
    with LocalExecutor(problem, clock) if client is None else ClusterExecutor(client, problem, clock) as executor:
        schedule = Scheduler(variants, problem, clock, executor, callback)
        schedule.run()
        results, winner = _results(schedule)
        return _conclude(chosen_task, schedule, results, winner, settings)


def _results(schedule: Scheduler) -> tuple[tuple[MethodResult, ...], str]:
    """The results of all methods, and the name of the winner."""
    found = [
        as_result(each.trial, each.evaluation, each.variants.full, schedule.problem)
        for each in schedule.candidates.values()
    ]
    known = {result.name: result.losses for result in found if result.status in ("done", "partial")}
    if not known:
        notes = "; ".join(f"{result.name}: {result.status}, {result.note}" for result in found)
        raise RuntimeError(f"No method could be evaluated. {notes}")
    estimate = estimates(known)
    results = tuple(result._replace(estimated_loss=estimate.get(result.name, np.nan)) for result in found)
    affordable = {name: value for name, value in estimate.items() if schedule.can_be_refitted(name)}
    evaluations = {name: each.evaluation for name, each in schedule.candidates.items()}
    return results, choose(results, affordable or estimate, evaluations, schedule.problem)


def _conclude(
    task: Task, schedule: Scheduler, results: tuple[MethodResult, ...], winner: str, settings: dict[str, Any]
) -> tuple[Comparison, Any]:
    """The unbiased losses of the winner, and the winner fitted on all rows."""
    problem, clock = schedule.problem, schedule.clock
    chosen = next(result for result in results if result.name == winner)
    final = FinalFits(schedule, winner, chosen.calibration)
    held_out_losses, held_out_se = final.held_out_losses()
    model = final.on_all_rows()
    curve = final.learning_curve()
    if problem.split.forward:  # includes the variation between periods
        held_out_se = float(np.hypot(held_out_se, _deviation(chosen.losses)))
    nested = _nested_losses(results, winner, problem.split.forward)
    known = nested[np.isfinite(nested)]
    comparison = Comparison(
        task=task,
        metric=problem.metric,
        classes=() if problem.classes is None else tuple(problem.classes.tolist()),
        rows=problem.split.rows,
        fold=problem.split.fold,
        held_out_rows=problem.split.held_out,
        results=results,
        winner=winner,
        held_out_losses=held_out_losses,
        held_out_loss_se=held_out_se,
        nested_loss=float(known.mean()) if known.size > 1 else np.nan,
        nested_loss_se=float(standard_error_of_folds(known[np.newaxis])) if known.size > 1 else np.nan,
        random_state=problem.seed,
        seconds=clock.seconds,
        settings={**settings, "model_rows": final.n_rows},
        compile_seconds=max(clock.seconds - clock.worked, 0.0),
        model_note=final.note,
        held_out_predictions=final.held_out_predictions,
        learning_curve=curve,
    )
    return comparison, model


# --- reading the arguments --------------------------------------------------------------------------------------------


def _check(task: str, cv: int, test_size: float) -> None:
    if cv < 2:
        raise ValueError(f"cv must be at least 2; got {cv}.")
    if not 0.0 <= test_size < 1.0:
        raise ValueError(f"test_size must be a fraction of the rows, 0 <= test_size < 1; got {test_size}.")
    if task not in ("auto", "classification", "regression"):
        raise ValueError(f"task must be 'auto', 'classification' or 'regression'; got {task!r}.")


def guess_task(y: Any) -> Task:
    """Strings, booleans and integers of few distinct values are classes, other numbers a regression.

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
    """The classes, the codes of the labels, and the labels; for regression None and the numbers."""
    if task == "regression":
        target = read_targets_regression(y, n)
        if target.ndim > 1:
            raise ValueError(f"y has {target.shape[1]} columns: pass one of them.")
        return None, target, target
    classes, codes = read_targets_classification(y, n)
    if len(classes) < 2:
        raise ValueError(f"y has one class only: {classes[0]!r}.")
    return classes, codes, classes[codes]


def _choose_methods(methods: Any, task: Task, problem: Problem) -> dict[str, Variants]:
    if isinstance(methods, Mapping):
        if not methods:
            raise ValueError("methods is empty.")
        return {name: each if isinstance(each, Variants) else Variants(each) for name, each in methods.items()}
    n, d = problem.truth.size, open_table(problem.X).shape[1]
    return pick(family_variants(task, n, d), methods)


def pick(methods: Mapping[str, Any], names: str | Iterable[str]) -> dict[str, Any]:
    """The methods of these names, in their own order; case, "-" and "_" are ignored.

    >>> list(pick({"random forest": 1, "SVM": 2}, ["svm"]))
    ['SVM']
    """
    if isinstance(names, str):
        if names == "all":
            return dict(methods)
        names = [names]
    wanted = [find_name(name, list(methods), "method") for name in names]
    if not wanted:
        raise ValueError("methods is empty.")
    return {name: methods[name] for name in methods if name in wanted}


def find_name(name: str, names: Sequence[str], what: str) -> str:
    """The matching name; raises a ValueError with similar names if there is none."""
    plain = {_plain(each): each for each in reversed(names)}
    if name in names:
        return name
    if _plain(name) in plain:
        return plain[_plain(name)]
    near = [plain[match] for match in get_close_matches(_plain(name), list(plain), n=3, cutoff=0.5)]
    advice = f"Did you mean {' or '.join(map(repr, near))}?" if near else f"Available: {', '.join(names)}."
    raise ValueError(f"No {what} {name!r}. {advice}")


def _plain(name: str) -> str:
    return name.strip().lower().replace("-", " ").replace("_", " ")


# --- losses of the winner ---------------------------------------------------------------------------------------------


def _deviation(losses: Floats) -> float:
    """Standard deviation of the finite losses; 0 for a single one."""
    known = losses[np.isfinite(losses)]
    return float(known.std(ddof=1)) if known.size > 1 else 0.0


def _nested_losses(results: Sequence[MethodResult], winner: str, forward: bool) -> Floats:
    """For each fold the loss of the method that is best on the other folds (in time: on the earlier ones).

    Only methods that have all folds of the winner are used; the losses of a single one are returned as they are.
    """
    own = next(result.losses for result in results if result.name == winner)
    is_known = np.isfinite(own)
    losses = np.array([result.losses for result in results if np.all(np.isfinite(result.losses[is_known]))])
    if len(losses) == 1:
        return own
    nested = np.full(own.size, np.nan)
    for k in np.flatnonzero(is_known):
        others = np.flatnonzero(is_known & (np.arange(own.size) < k if forward else np.arange(own.size) != k))
        if others.size:
            nested[k] = losses[losses[:, others].mean(axis=1).argmin(), k]
    return nested


def _settings(
    problem: Problem, estimators: Mapping[str, Any], cv: int, test_size: float, time_budget: float | None
) -> dict[str, Any]:
    n, d = open_table(problem.X).shape
    folding = problem.folding
    folds = "forward in time" if folding.split.forward else "by group" if folding.groups is not None else "by class"
    if folds == "by class" and problem.classes is None:
        folds = "at random"
    return {
        "n_rows": int(n),
        "n_columns": int(d),
        "n_folds": cv,
        "folds": folds,
        "row_order": None if folding.order is None else folding.order.to_dict(),
        "test_size": test_size,
        "n_held_out": int(problem.split.held_out.size),
        "time_budget": time_budget,
        "sample_weight": problem.weight is not None,
        "methods": list(estimators),
        "n_jobs": problem.n_jobs,
    }
