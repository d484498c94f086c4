"""Bagging, a random forest and gradient boosting on the spam data: error against number of trees.

Hastie, Tibshirani and Friedman, The elements of statistical learning, 2009, chapter 15: 4601 e-mails described by 57
frequencies, 3065 training and 1536 test rows; test errors of 5.4 % for bagging, 4.88 % for the random forest and 4.5 %
for gradient boosting of 2500 five-leaf trees, standard error about 0.6 %.

Claims: the forest errs less than bagged trees, gradient boosting less than both, and the out-of-bag error of a forest
estimates its test error.

Measured: models are fitted on two of three folds and tested on the third, each in turn, on folds drawn several times:
3067 training and 1534 test rows. After b = 1, 2, ... trees the error on the test rows, and the out-of-bag error of the
training rows where there is one. The split of the book is not known; the standard errors over folds say how much the
split matters. The book names no learning rate; here it is 0.05.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.bagging.estimators import BaggingClassifier
from committee.base.array_types import Floats
from committee.base.progress import progress
from committee.base.stats import Mean, mean_over_folds, standard_error_of_folds
from committee.datasets import load_dataset
from committee.evaluation._folds import Fold, read_labels, unfitted
from committee.forests.estimators import RandomForestClassifier
from committee.gradient_boosting.estimators import GradientBoostingClassifier
from committee.plots._style import BLUE, GREEN, ORANGE, PURPLE, VERMILION, finish, panels
from committee.records.history import History
from committee.records.result_table import ResultTable, to_pandas, to_polars
from committee.tabular.rows import take_rows
from committee_reproductions._experiments import CrossValidation
from committee_reproductions.results import (
    Claim,
    Outcome,
    ReproductionResult,
    gather_curves,
    is_above,
    row,
    verdict_of,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BAGGING, FOREST, BOOSTING = "bagging", "random forest", "gradient boosting"

PUBLISHED = {BAGGING: (0.054, 3), FOREST: (0.0488, 4), BOOSTING: (0.045, 3)}
"""Test errors in the book, and how many digits after the point it prints."""

PUBLISHED_STDERR = 0.006

COLORS = (ORANGE, BLUE, GREEN, VERMILION, PURPLE)


class SpamErrors(NamedTuple):
    """Test and out-of-bag errors of several ensembles of trees on the same folds, against the number of trees."""

    test_errors: Mapping[str, Floats]  # name -> [n_repeats, n_folds, n_trees]
    oob_errors: Mapping[str, Floats]  # the same of those that leave rows out

    @property
    def models(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(self.test_errors)

    def test_error(self, model: str) -> Mean:
        """Test error with all trees, mean over the folds."""
        return mean_over_folds(self._of(self.test_errors, model)[..., -1])

    def oob_error(self, model: str) -> Mean:
        """Out-of-bag error with all trees, mean over the folds."""
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
        """Return one row per number of trees: the errors as means over the folds with their standard errors."""
        errors = {"test": self._of(self.test_errors, model)}
        if model in self.oob_errors:
            errors["oob"] = self.oob_errors[model]
        columns: dict[str, Any] = {"n_trees": np.arange(1, errors["test"].shape[2] + 1)}
        for name, values in errors.items():
            columns |= {f"{name}_error": values.mean(axis=(0, 1)), f"{name}_stderr": standard_error_of_folds(values)}
        return History(columns)

    @property
    def verdict(self) -> str:
        """The models from the best to the worst, which differences are significant, and test minus out-of-bag error."""
        order = sorted(self.models, key=lambda name: self.test_error(name).value)
        errors = ", ".join(f"{name} {self.test_error(name)}" for name in order)
        significant = [
            f"{worse} above {better} by {self.excess(worse, better)}"
            for better, worse in combinations(order, 2)
            if is_above(self.excess(worse, better))
        ]
        what = f"beyond chance: {', '.join(significant)}" if significant else "no difference is beyond chance"
        near = ", ".join(f"{name} {self.optimism(name)}" for name in order if name in self.oob_errors)
        return f"test errors {errors}; {what}; test minus out-of-bag error: {near or 'not measured'}"

    def to_table(self) -> ResultTable:
        """Return a table with one line per model."""
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
            "published": [PUBLISHED.get(name, (np.nan,))[0] for name in self.models],
        })  # fmt: skip

    to_pandas = to_pandas
    to_polars = to_polars

    def _of(self, errors: Mapping[str, Floats], model: str) -> Floats:
        if model not in errors:
            raise ValueError(f"No such error of {model!r} was measured; there are: {', '.join(errors)}.")
        return errors[model]


def spam_models(n_estimators: int = 500, n_rounds: int = 2500) -> dict[str, Any]:
    """Return bagged full trees, a random forest, and gradient boosting of five-leaf trees."""
    boosting = GradientBoostingClassifier(
        n_estimators=n_rounds, learning_rate=0.05, max_leaf_nodes=5, early_stopping=False
    )
    return {
        BAGGING: BaggingClassifier(n_estimators=n_estimators),
        FOREST: RandomForestClassifier(n_estimators=n_estimators),
        BOOSTING: boosting,
    }


def spam_errors(
    X: Any = None,
    y: Any = None,
    models: Mapping[str, Any] | None = None,
    *,
    cv: CrossValidation = CrossValidation(n_folds=3, n_repeats=2),
) -> SpamErrors:
    """Measure test and out-of-bag error of ensembles against their number of trees.

    Parameters
    ----------
    X : array or data frame of shape (n_samples, n_features), optional
        The features; the built-in spam data by default.
    y : array of shape (n_samples,), optional
        The class labels.
    models : mapping of name to classifier with ``staged_predict``, default=spam_models()
        The ensembles. The out-of-bag error is read from ``history_``, where it is there.
    cv : CrossValidation
        Folds, and how often to draw them.

    Returns
    -------
    SpamErrors
        Errors in every fold.

    Examples
    --------
    >>> from committee.datasets import load_dataset
    >>> sonar = load_dataset("sonar")
    >>> result = spam_errors(sonar.X, sonar.y, spam_models(30, 60), cv=CrossValidation(n_folds=3))
    >>> print(result.test_error("bagging"), result.test_error("random forest"), sep="; ")
    0.2215 ± 0.0607; 0.1778 ± 0.0265
    """
    if (X is None) != (y is None):
        raise ValueError("X and y go together: pass both, or neither for the built-in spam data.")
    table, labels = load_dataset("spam")[:2] if X is None else (X, y)
    chosen = spam_models() if models is None else dict(models)
    if not chosen:
        raise ValueError("models is empty: pass at least one classifier.")
    codes = read_labels(labels)
    folds = cv.folds(codes)
    test: dict[str, list[Floats]] = {name: [] for name in chosen}
    oob: dict[str, list[Floats]] = {name: [] for name in chosen}
    with progress("ensembles of trees, fits", len(chosen) * len(folds), cv.verbose) as tick:
        for fold in folds:
            for name, model in chosen.items():
                errors, own = _run(unfitted(model, random_state=fold.seed), table, codes, fold)
                test[name].append(errors)
                oob[name].append(own)
                tick(f"{name}: test error {errors[-1]:.4f}")
    shape = cv.n_repeats, cv.n_folds, -1
    measured = {name: values for name, values in oob.items() if all(own.size for own in values)}
    return SpamErrors(
        {name: np.array(values).reshape(shape) for name, values in test.items()},
        {name: np.array(values).reshape(shape) for name, values in measured.items()},
    )


def _run(model: Any, X: Any, codes: NDArray[np.int64], fold: Fold) -> tuple[Floats, Floats]:
    """Return test errors after every tree, and out-of-bag errors, empty where the model has none."""
    model.fit(take_rows(X, fold.train), codes[fold.train])
    truth = codes[fold.test]
    errors = np.array([np.mean(labels != truth) for labels in model.staged_predict(take_rows(X, fold.test))])
    history: Mapping[str, Any] = getattr(model, "history_", {})
    own = np.asarray(history["oob_error"], np.float64) if "oob_error" in history else np.empty(0)
    return errors, own if own.size == errors.size and not np.isnan(own[-1]) else np.empty(0)


def reproduce(quick: bool = False, verbose: int = 0) -> Outcome:
    """Measure and compare with the book; the standard errors are those of the splits and of the rows."""
    models = spam_models(20, 60) if quick else spam_models()
    measured = spam_errors(models=models, cv=CrossValidation(3, 1 if quick else 2, verbose=verbose))
    rows = [
        row(f"{name}, test error", measured.test_error(name), published, published_stderr=PUBLISHED_STDERR, digits=n)
        for name, (published, n) in PUBLISHED.items()
    ]
    rows += [row(f"{name}, out-of-bag error", measured.oob_error(name), digits=4) for name in measured.oob_errors]
    excess, optimism = measured.excess(BAGGING, FOREST), measured.optimism(FOREST)
    gain = measured.excess(FOREST, BOOSTING)
    is_near = is_above(optimism) is None
    claims = (
        Claim("the forest is better than bagging", is_above(excess), f"bagging - forest: {excess}"),
        Claim("gradient boosting is better than the forest", is_above(gain), f"forest - gradient boosting: {gain}"),
        Claim("the out-of-bag error estimates the forest's test error", is_near, f"test - out-of-bag: {optimism}"),
    )
    curves = gather_curves(
        (kind, name, curve.n_trees, curve[f"{kind}_error"], curve[f"{kind}_stderr"])
        for name in measured.models
        for curve in [measured.curve(name)]
        for kind in ("test", "oob")
        if f"{kind}_error" in curve
    )
    return Outcome(tuple(rows), claims, curves, f"{verdict_of(rows, claims)}; {measured.verdict}", measured)


def draw(result: ReproductionResult) -> Figure:
    """Draw test error (full lines) and out-of-bag error (dotted) against the number of trees."""
    measured: SpamErrors = result.data
    (ax,) = panels(None, 1, (7.0, 4.5))
    for name, color in zip(measured.models, COLORS, strict=False):
        _draw_model(ax, name, measured.curve(name), color)
    ends = [measured.test_error(name).value for name in measured.models]
    lowest, highest = min(ends), max(ends)
    room = max(highest - lowest, 0.2 * highest)
    ax.set_ylim(max(0.0, lowest - 0.8 * room), highest + 3.0 * room)  # the first few trees are far above
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter("{x:g}")
    ax.legend(frameon=False, fontsize="small", loc="upper right")
    finish(ax, "number of trees", "error")
    return ax.figure


def _draw_model(ax: Any, name: str, curve: History, color: str) -> None:
    low, high = curve.test_error - curve.test_stderr, curve.test_error + curve.test_stderr
    ax.fill_between(curve.n_trees, low, high, color=color, alpha=0.15, linewidth=0)
    for key, style, label in (("test", "-", "test"), ("oob", ":", "out-of-bag")):
        if f"{key}_error" in curve:
            error = curve[f"{key}_error"]
            text = f"{name}, {label}: {error[-1]:.4f} at the end"
            ax.plot(curve.n_trees, error, style, color=color, linewidth=1.4, label=text)
