"""Bagging, a random forest and gradient boosting on the spam data: error against number of trees (D-8; S2).

Claim: on 4601 e-mails described by 57 frequencies the forest errs less than bagged trees, gradient boosting less than
both, and the out-of-bag error tells the test error (Hastie, Tibshirani and Friedman, The Elements of Statistical
Learning, 2009, chapter 15: 3065 training and 1536 test rows; bagging 5.4 %, random forest 4.88 %, gradient boosting of
2500 five-leaf trees 4.5 %, standard error about 0.6 %).

Measured: two of three folds are learned from and the third is judged on, each in turn, on folds drawn several times:
3067 training and 1534 test rows. After b = 1, 2, ... trees the error on the test rows, and the out-of-bag error of the
training rows where there is one. The split of the book is not known; the standard errors (`evaluation/_folds.py`) say
how much the split matters.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.bagging.estimators import BaggingClassifier
from committee.base.array_types import Floats
from committee.base.progress import progress
from committee.base.rng import RandomState
from committee.datasets import load_dataset
from committee.evaluation._folds import Fold, Mean, draw_folds, mean_over_folds, read_labels, rows_of, stderr, unfitted
from committee.forests.estimators import RandomForestClassifier
from committee.gradient_boosting.estimators import GradientBoostingClassifier
from committee.records.history import History
from committee.records.result_table import ResultTable, to_pandas, to_polars

BOOK = {"bagging": 0.054, "random forest": 0.0488, "gradient boosting": 0.045}
"""Test errors in ESL, and the standard error it gives for each."""
BOOK_STDERR = 0.006

SURE = 2.0
"""A difference of so many standard errors is one."""


class SpamExperiment(NamedTuple):
    """Test and out-of-bag errors of several ensembles of trees on the same folds, against the number of trees."""

    test_errors: Mapping[str, Floats]  # name -> [n_repeats, n_folds, n_trees]
    oob_errors: Mapping[str, Floats]  # the same of those that leave rows out

    @property
    def models(self) -> tuple[str, ...]:
        return tuple(self.test_errors)

    def test_error(self, model: str) -> Mean:
        """Of all its trees, mean over the folds."""
        return mean_over_folds(self._of(self.test_errors, model)[..., -1])

    def oob_error(self, model: str) -> Mean:
        """Of all its trees, mean over the folds."""
        return mean_over_folds(self._of(self.oob_errors, model)[..., -1])

    def optimism(self, model: str) -> Mean:
        """Test error minus out-of-bag error of the same forest, paired over the folds."""
        test, oob = self._of(self.test_errors, model), self._of(self.oob_errors, model)
        return mean_over_folds(test[..., -1] - oob[..., -1])

    def excess(self, model: str, other: str) -> Mean:
        """Test error above that of another model, paired over the folds."""
        test, others = self._of(self.test_errors, model), self._of(self.test_errors, other)
        return mean_over_folds(test[..., -1] - others[..., -1])

    def curve(self, model: str) -> History:
        """One row per number of trees: the errors as means over the folds with their standard errors."""
        errors = {"test": self._of(self.test_errors, model)}
        if model in self.oob_errors:
            errors["oob"] = self.oob_errors[model]
        columns: dict[str, Any] = {"n_trees": np.arange(1, errors["test"].shape[2] + 1)}
        for name, values in errors.items():
            columns |= {f"{name}_error": values.mean(axis=(0, 1)), f"{name}_stderr": stderr(values)}
        return History(columns)

    @property
    def verdict(self) -> str:
        """The models from the best to the worst, which differences are beyond chance, and how near out-of-bag comes."""
        order = sorted(self.models, key=lambda name: self.test_error(name).value)
        errors = ", ".join(f"{name} {self.test_error(name)}" for name in order)
        sure = [
            f"{worse} above {better} by {self.excess(worse, better)}"
            for better, worse in combinations(order, 2)
            if self._is_sure(worse, better)
        ]
        word = f"beyond chance: {', '.join(sure)}" if sure else "no difference is beyond chance"
        near = ", ".join(f"{name} {self.optimism(name)}" for name in order if name in self.oob_errors)
        return f"test errors {errors}; {word}; test minus out-of-bag error: {near or 'not measured'}"

    def to_table(self) -> ResultTable:
        """One line per model."""
        missing = Mean(np.nan, np.nan)
        tests = [self.test_error(name) for name in self.models]
        oobs = [self.oob_error(name) if name in self.oob_errors else missing for name in self.models]
        return ResultTable({
            "model": self.models,
            "n_trees": [self.test_errors[name].shape[2] for name in self.models],
            "test_error": [mean.value for mean in tests],
            "test_error_stderr": [mean.stderr for mean in tests],
            "oob_error": [mean.value for mean in oobs],
            "oob_error_stderr": [mean.stderr for mean in oobs],
            "book": [BOOK.get(name, np.nan) for name in self.models],
        })  # fmt: skip

    to_pandas = to_pandas
    to_polars = to_polars

    def _is_sure(self, worse: str, better: str) -> bool:
        excess = self.excess(worse, better)
        return excess.value > SURE * excess.stderr

    def _of(self, errors: Mapping[str, Floats], model: str) -> Floats:
        if model not in errors:
            raise ValueError(f"No model {model!r} with such errors in this study; there are: {', '.join(errors)}.")
        return errors[model]


def spam_models(n_estimators: int = 500, n_rounds: int = 2500) -> dict[str, Any]:
    """Bagged full trees, a random forest, and gradient boosting of five-leaf trees."""
    boosting = GradientBoostingClassifier(
        n_estimators=n_rounds, learning_rate=0.05, max_leaf_nodes=5, early_stopping=False
    )
    return {
        "bagging": BaggingClassifier(n_estimators=n_estimators),
        "random forest": RandomForestClassifier(n_estimators=n_estimators),
        "gradient boosting": boosting,
    }


def spam_experiment(
    X: Any = None,
    y: Any = None,
    *,
    models: Mapping[str, Any] | None = None,
    n_folds: int = 3,
    n_repeats: int = 1,
    random_state: RandomState = None,
    verbose: int = 0,
) -> SpamExperiment:
    """Test and out-of-bag error of ensembles against their number of trees (D-8).

    Parameters
    ----------
    X, y : a table and its class labels; None takes the built-in spam data
    models : name -> classifier with ``staged_predict``; None takes `spam_models()`
        The out-of-bag error is read from ``history_`` where it is there.
    n_folds, n_repeats : folds, each with its share of every class, and how often to draw them
    random_state : of the folds and of the models
    verbose : 1 shows a progress bar

    Examples
    --------
    >>> from committee.datasets import load_dataset
    >>> sonar = load_dataset("sonar")
    >>> found = spam_experiment(sonar.X, sonar.y, models=spam_models(30, 60), random_state=0)
    >>> print(found.test_error("bagging"), found.test_error("random forest"), sep="; ")
    0.2215 ± 0.0607; 0.1778 ± 0.0265
    """
    if (X is None) != (y is None):
        raise ValueError("X and y go together: pass both, or neither for the built-in spam data.")
    table, labels = load_dataset("spam")[:2] if X is None else (X, y)
    chosen = spam_models() if models is None else dict(models)
    if not chosen:
        raise ValueError("models is empty: pass at least one classifier.")
    codes = read_labels(labels)
    folds = draw_folds(codes, n_folds, random_state, n_repeats)
    test: dict[str, list[Floats]] = {name: [] for name in chosen}
    oob: dict[str, list[Floats]] = {name: [] for name in chosen}
    with progress("ensembles of trees, fits", len(chosen) * len(folds), verbose) as tick:
        for fold in folds:
            for name, model in chosen.items():
                errors, own = _run(unfitted(model, random_state=fold.seed), table, codes, fold)
                test[name].append(errors)
                oob[name].append(own)
                tick(f"{name}: test error {errors[-1]:.4f}")
    shape = n_repeats, n_folds, -1
    judged = {name: values for name, values in oob.items() if all(own.size for own in values)}
    return SpamExperiment(
        {name: np.array(values).reshape(shape) for name, values in test.items()},
        {name: np.array(values).reshape(shape) for name, values in judged.items()},
    )


def reproduce_d8(
    *, n_estimators: int = 500, n_rounds: int = 2500, n_repeats: int = 3, random_state: int = 0, verbose: int = 0
) -> SpamExperiment:
    """The experiment on the built-in spam data.

    ``committee reproduce D-8`` prints what came out beside what is published.
    """
    models = spam_models(n_estimators, n_rounds)
    return spam_experiment(models=models, n_repeats=n_repeats, random_state=random_state, verbose=verbose)


def _run(model: Any, X: Any, codes: NDArray[np.int64], fold: Fold) -> tuple[Floats, Floats]:
    """Errors on the test rows after every tree, and out-of-bag errors, empty where the model has none."""
    model.fit(rows_of(X, fold.train), codes[fold.train])
    truth = codes[fold.test]
    errors = np.array([np.mean(labels != truth) for labels in model.staged_predict(rows_of(X, fold.test))])
    history: Mapping[str, Any] = getattr(model, "history_", {})
    own = np.asarray(history["oob_error"], np.float64) if "oob_error" in history else np.empty(0)
    return errors, own if own.size == errors.size and not np.isnan(own[-1]) else np.empty(0)
