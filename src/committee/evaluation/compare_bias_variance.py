"""Boosting against bagging against forests against one tree: which reduces bias, and which variance.

What S2 says: an average keeps the bias of its members and lowers their variance, so bagging and forests take deep
trees, which have little bias and much variance. Boosting adds members that mend what is still wrong, so it lowers the
bias of small trees, which have little variance to begin with.

All models learn from the same training sets and are judged on the same rows, so that differences are paired. Every
ensemble is compared with a single tree of the kind that it is made of.
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

MADE_OF = {
    "bagging": "full tree",
    "random forest": "full tree",
    "AdaBoost": "stump",
    "AdaBoost.R2": "small tree",
    "gradient boosting": "small tree",
}
"""Ensemble -> a single tree such as its members are."""

SURE = 2.0
"""A difference of so many standard errors is one."""


class BiasVarianceComparison(NamedTuple):
    """Bias and variance of several models, from the same training sets on the same rows."""

    results: dict[str, BiasVariance]
    against: dict[str, str]  # model -> the one it is compared with

    @property
    def models(self) -> tuple[str, ...]:
        return tuple(self.results)

    def difference(self, model: str, part: str, other: str | None = None) -> Mean:
        """The part of a model minus that of the other, by default the one it is compared with."""
        second = self.against.get(model) if other is None else other
        for name in (model, second):
            if name not in self.results:
                raise ValueError(f"No model {name!r} to compare; there are: {', '.join(self.results)}.")
        return as_mean(self.results[model].find(part).minus(self.results[str(second)].find(part)))

    @property
    def verdict(self) -> str:
        """What every ensemble does to bias and variance of the tree it is made of, a line each."""
        lines: list[str] = []
        for model, other in self.against.items():
            words = [_change(part, self.difference(model, part)) for part in ("bias", "variance", "error")]
            lines.append(f"{model} against {other}: {', '.join(words)}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.verdict

    def to_table(self) -> ResultTable:
        """One line per model.

        Parts with their standard errors, and their change against the model named in ``against``.
        """
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
    """Which ensemble reduces bias and which variance, on a simulation or on one's own table.

    Parameters
    ----------
    X : a `Simulation` of `committee.datasets`, or a table
    y : the target of the table; None for a simulation
    models : name -> estimator; None takes single trees, bagging, a forest, AdaBoost and gradient boosting
    against : model -> the one it is compared with, or the name of one that all others are compared with; None takes the
        tree that an ensemble is made of, or the first of one's own models
    task : {"auto", "classification", "regression"}
        What y is, where `models` is None; "auto" takes strings, bools and whole numbers of at most 20 values for
        classes.
    n_sets, n_train, n_test, random_state, n_jobs, verbose : as in `bias_variance`
    n_estimators : members of the ensembles, where `models` is None

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
        raise ValueError("models must be one estimator at least, and all classifiers or all regressors.")
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
    """Single trees, and the ensembles that are made of them."""
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
        # a forest of S1 and S2 looks at a third of the variables in every node; at all of them it would be bagging
        "random forest": RandomForestRegressor(n_estimators=n_estimators, max_features=1 / 3),
        "small tree": DecisionTreeRegressor(max_depth=3),
        "AdaBoost.R2": AdaBoostRegressor(n_estimators=n_estimators),
        "gradient boosting": GradientBoostingRegressor(**small),
    }


def _change(part: str, change: Mean) -> str:
    if abs(change.value) <= SURE * change.stderr:
        return f"{part} within chance ({change.value:+.4g} ± {change.stderr:.2g})"
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
            return {model: MADE_OF[model] for model in models if model in MADE_OF}
        against = next(iter(models))
    pairs = {name: against for name in models if name != against} if isinstance(against, str) else dict(against)
    unknown = {name for pair in pairs.items() for name in pair} - set(models)
    if unknown:
        raise ValueError(f"against names {', '.join(sorted(unknown))}, and there are: {', '.join(models)}.")
    return pairs
