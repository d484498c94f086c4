"""Bias and variance of boosting, bagging, forests and single trees.

An average has the bias of its members and a lower variance, so bagging and forests use deep trees, which have a small
bias and a large variance. Boosting adds members that correct the current errors, which reduces the bias of small trees.

All models are fitted on the same training sets and evaluated on the same rows, so that differences are paired. Every
ensemble is compared with a single tree like its members.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

from committee.bagging.estimators import BaggingClassifier, BaggingRegressor
from committee.base.progress import progress
from committee.base.rng import RandomState
from committee.base.stats import Mean
from committee.boosting.adaboost import AdaBoostClassifier
from committee.boosting.adaboost_r2 import AdaBoostRegressor
from committee.datasets import Simulation
from committee.evaluation.bias_variance import (
    N_SETS,
    N_TEST,
    BiasVariance,
    Task,
    as_mean,
    decompose,
    draw_seeds,
    make_source,
    task_of,
)
from committee.evaluation.comparison import guess_task
from committee.forests.estimators import RandomForestClassifier, RandomForestRegressor
from committee.gradient_boosting.estimators import GradientBoostingClassifier, GradientBoostingRegressor
from committee.records.result_table import ResultTable, to_pandas, to_polars
from committee.trees.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor

SINGLE_TREE = {
    "bagging": "full tree",
    "random forest": "full tree",
    "AdaBoost": "stump",
    "AdaBoost.R2": "small tree",
    "gradient boosting": "small tree",
}
"""A single tree like the members of each ensemble."""

SIGNIFICANT = 2.0
"""Standard errors from which a difference is significant."""


class BiasVarianceComparison(NamedTuple):
    """Bias and variance of several models, from the same training sets and test rows.

    Attributes
    ----------
    results : dict of str to BiasVariance
        Results by the name of the model.
    against : dict of str to str
        The model that each model is compared with.
    """

    results: dict[str, BiasVariance]
    against: dict[str, str]

    @property
    def models(self) -> tuple[str, ...]:
        return tuple(self.results)

    def difference(self, model: str, part: str, other: str | None = None) -> Mean:
        """The part of a model minus that of the other, by default the one it is compared with."""
        second = self.against.get(model) if other is None else other
        for name in (model, second):
            if name not in self.results:
                raise ValueError(f"No model {name!r}; available: {', '.join(self.results)}.")
        return as_mean(self.results[model].find(part).minus(self.results[str(second)].find(part)))

    @property
    def verdict(self) -> str:
        """Changes of bias and variance by each model, one line each."""
        lines: list[str] = []
        for model, other in self.against.items():
            words = [_change(part, self.difference(model, part)) for part in ("bias", "variance", "error")]
            lines.append(f"{model} against {other}: {', '.join(words)}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.verdict

    def to_table(self) -> ResultTable:
        """One row per model: the parts with their standard errors, and their changes from the model in `against`."""
        first = next(iter(self.results.values()))
        columns: dict[str, list[Any]] = {"model": list(self.results)}
        for part in first.names:
            means = [result.part(part) for result in self.results.values()]
            columns |= {part: [mean.value for mean in means], f"{part}_stderr": [mean.stderr for mean in means]}
        columns["against"] = [self.against.get(model, "") for model in self.results]
        for part in ("bias", "variance", "error"):
            means = [self.difference(m, part) if m in self.against else Mean(np.nan, np.nan) for m in self.results]
            columns |= {f"{part}_change": [m.value for m in means], f"{part}_change_stderr": [m.stderr for m in means]}
        return ResultTable(columns)

    to_pandas = to_pandas
    to_polars = to_polars


def compare_bias_variance(
    X: Any,
    y: Any = None,
    *,
    models: Mapping[str, Any] | None = None,
    against: str | Mapping[str, str] | None = None,
    task: Literal["auto", "classification", "regression"] = "auto",
    n_sets: int = N_SETS,
    n_train: int | None = None,
    n_test: int = N_TEST,
    n_estimators: int = 100,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> BiasVarianceComparison:
    """Compare bias and variance of ensembles and single trees on a simulation or a table.

    Parameters
    ----------
    X : Simulation, or array or DataFrame of shape (n_samples, n_features)
        A simulation of `committee.datasets`, or a table.
    y : array of shape (n_samples,), default=None
        Target of the table; None for a simulation.
    models : dict of str to estimator, default=None
        Models by name; None for single trees, bagging, a random forest, AdaBoost and gradient boosting.
    against : str or dict of str to str, default=None
        The model that all others, or each of them, is compared with. None for a single tree like the members of the
        ensemble, or the first of `models`.
    task : {"auto", "classification", "regression"}, default="auto"
        Task if `models` is None; "auto" treats strings, booleans and integers of at most 20 distinct values as
        classes.
    n_sets : int, default=50
        Number of training sets.
    n_train : int, default=None
        Rows of a training set, as in `bias_variance`.
    n_test : int, default=1000
        Test rows of a simulation.
    n_estimators : int, default=100
        Members of the ensembles if `models` is None.
    random_state : int or Generator, default=None
        Seed of the training sets and of the models.
    n_jobs : int, default=None
        Number of threads; results do not depend on it.
    verbose : int, default=0
        1 shows a progress bar.

    Returns
    -------
    BiasVarianceComparison
        Results of the models and their differences.

    Examples
    --------
    >>> from committee.datasets import friedman1
    >>> found = compare_bias_variance(friedman1(), n_sets=10, n_estimators=30, random_state=0)
    >>> print(found.difference("bagging", "bias"), found.difference("bagging", "variance"), sep="; ")
    1.0296 ± 0.3853; -8.6784 ± 0.7539
    """
    chosen = default_models(_read_task(X, y, task), n_estimators) if models is None else dict(models)
    tasks = {task_of(model) for model in chosen.values()}
    if len(tasks) != 1:
        raise ValueError("models must have at least one estimator, and be all classifiers or all regressors.")
    pairs = _read_against(against, chosen, models is None)
    seeds = draw_seeds(random_state, n_sets)
    source = make_source(X, y, next(iter(chosen.values())), n_train=n_train, n_test=n_test, seed=int(seeds[0]))
    results: dict[str, BiasVariance] = {}
    with progress("bias and variance, fits", n_sets * len(chosen), verbose) as tick:
        for name, model in chosen.items():
            results[name] = decompose(
                model, source, seeds[1:], n_jobs=n_jobs, tick=lambda _, name=name: tick(name), name=name
            )
    return BiasVarianceComparison(results, pairs)


def default_models(task: Task, n_estimators: int = 100) -> dict[str, Any]:
    """Single trees and ensembles of them."""
    small: dict[str, Any] = {
        "n_estimators": n_estimators,
        "learning_rate": 0.1,
        "max_depth": 3,
        "early_stopping": False,
    }
    if task == "classification":
        return {
            "full tree": DecisionTreeClassifier(),
            "bagging": BaggingClassifier(n_estimators=n_estimators),
            "random forest": RandomForestClassifier(n_estimators=n_estimators),
            "stump": DecisionTreeClassifier(max_depth=1),
            "AdaBoost": AdaBoostClassifier(n_estimators=n_estimators),
            "small tree": DecisionTreeClassifier(max_depth=3),
            "gradient boosting": GradientBoostingClassifier(**small),
        }
    return {
        "full tree": DecisionTreeRegressor(),
        "bagging": BaggingRegressor(n_estimators=n_estimators),
        # with all features it would be bagging
        "random forest": RandomForestRegressor(n_estimators=n_estimators, max_features=1 / 3),
        "small tree": DecisionTreeRegressor(max_depth=3),
        "AdaBoost.R2": AdaBoostRegressor(n_estimators=n_estimators),
        "gradient boosting": GradientBoostingRegressor(**small),
    }


def _change(part: str, change: Mean) -> str:
    if abs(change.value) <= SIGNIFICANT * change.stderr:
        return f"{part} not significantly different ({change.value:+.4g} ± {change.stderr:.2g})"
    return f"{'less' if change.value < 0.0 else 'more'} {part} ({change.value:+.4g} ± {change.stderr:.2g})"


def _read_task(X: Any, y: Any, task: str) -> Task:
    if task not in ("auto", "classification", "regression"):
        raise ValueError(f"task must be 'auto', 'classification' or 'regression'; got {task!r}.")
    if isinstance(X, Simulation):
        return X.task
    return guess_task(y) if task == "auto" else "classification" if task == "classification" else "regression"


def _read_against(
    against: str | Mapping[str, str] | None, models: Mapping[str, Any], is_default: bool
) -> dict[str, str]:
    if against is None:
        if is_default:
            return {model: SINGLE_TREE[model] for model in models if model in SINGLE_TREE}
        against = next(iter(models))
    pairs = {name: against for name in models if name != against} if isinstance(against, str) else dict(against)
    unknown = {name for pair in pairs.items() for name in pair} - set(models)
    if unknown:
        raise ValueError(f"against has unknown models: {', '.join(sorted(unknown))}; available: {', '.join(models)}.")
    return pairs
