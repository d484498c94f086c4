"""Choose C and the parameters of the kernel by cross-validation (Hsu, Chang and Lin, A practical guide, 2003).

A grid of L kernels and M penalties on k folds needs L M k fits; `_cross_validation.py` describes what they share. The
errors are those of scikit-learn's cross_val_score on the same folds.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from committee.base.array_types import Floats
from committee.base.progress import progress
from committee.records.history import History
from committee.records.result_table import ResultTable, cell_text, to_pandas, to_polars
from committee.sampling.splits import Split, read_splits
from committee.svm._cross_validation import (
    ClassificationTask,
    Fold,
    GridData,
    RegressionTask,
    Task,
    evaluate_kernel,
)
from committee.svm._scaling import fit_scaling
from committee.svm._shrinking import shrinking
from committee.svm.kernel_algebra import Kernel
from committee.svm.kernel_functions import Gamma, make_kernel, settle_gamma
from committee.svm.svc import SVC
from committee.svm.svr import SVR
from committee.tabular.validation import read_one_target, read_targets_classification

PENALTIES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
FACTORS = (1 / 16, 1 / 4, 1.0, 4.0, 16.0)
"""Of 1 / (d var(X)): the default values of gamma."""

WITH_GAMMA = ("poly", "rbf", "gaussian", "laplacian", "sigmoid")


class Trial(NamedTuple):
    """A cell of the grid: the parameters and their errors on the folds."""

    candidate: int  # number of the kernel
    kernel: str
    gamma: float  # as a number on all rows; nan for kernels without this parameter
    epsilon: float  # half the width of the tube; nan for classification
    C: float
    error: float  # mean over the folds: error rate, or mean squared error
    standard_error: float  # of that mean
    n_support: float  # mean over the folds
    is_optimal: bool  # whether the solver converged on every fold
    seconds: float  # of CPU, all folds


class Tuned(NamedTuple):
    """The best cell, an estimator fitted with it on all rows, and the whole grid. `str` gives a summary."""

    estimator: Any
    params: dict[str, Any]
    error: float
    standard_error: float
    grid: History  # a row for each cell, the columns of `Trial`
    fold_errors: Floats  # [cells, folds]

    def to_table(self) -> ResultTable:
        """The grid."""
        return self.grid

    to_pandas = to_pandas
    to_polars = to_polars

    def __str__(self) -> str:
        chosen = ", ".join(f"{name}={cell_text(value)}" for name, value in self.params.items())
        n, k = self.fold_errors.shape
        return f"{chosen}: error {self.error:.4g} ± {self.standard_error:.2g}, the smallest of {n} on {k} folds"


class Candidate(NamedTuple):
    """A kernel of the grid and the epsilon that goes with it."""

    kernel: Kernel  # not yet settled
    name: str
    gamma: float
    epsilon: float
    params: dict[str, Any]  # of the estimator


def tune_svc(
    X: Any,
    y: Any,
    *,
    C: float | Sequence[float] = PENALTIES,
    gamma: Gamma | Sequence[Gamma] | None = None,
    kernel: Any = None,
    estimator: SVC | None = None,
    cv: Any = 5,
    sample_weight: ArrayLike | None = None,
    random_state: int = 0,
    verbose: int = 0,
) -> Tuned:
    """Choose C and the kernel of a classifier by cross-validation, and fit the classifier with them.

    The smallest mean error wins; of equal ones the smallest C, then the first kernel.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The training rows.
    y : array-like of shape (n_samples,)
        Their class labels.
    C : float or sequence of float
        Penalties to try.
    gamma : float, "scale", "auto" or a sequence of these, default=None
        Values to try, for kernels given by name; None tries five values around 1 / (n_features * variance of X).
    kernel : str, Kernel, callable or a sequence of these, default=None
        Kernels to try; None takes that of `estimator`.
    estimator : SVC, default=None
        A classifier with all other parameters; None takes `SVC()`.
    cv : int, splitter or iterable of splits, default=5
        Number of stratified folds, or splits as in scikit-learn.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows, in the fits and in the errors.
    random_state : int, default=0
        Seed of the folds, if `cv` is a number.
    verbose : int, default=0
        1 shows a progress bar.

    Returns
    -------
    Tuned
        The fitted classifier, its parameters and the errors of the whole grid.

    Examples
    --------
    >>> from committee import SVC
    >>> from committee.datasets import load_dataset
    >>> sonar = load_dataset("sonar")
    >>> tuned = tune_svc(sonar.X, sonar.y, C=[0.1, 1, 10], gamma=[0.01, 0.03], estimator=SVC(scale=True))
    >>> print(tuned)
    gamma=0.01, C=10: error 0.1013 ± 0.016, the smallest of 6 on 5 folds
    """
    model = SVC() if estimator is None else estimator
    _require(model, SVC)
    data = _read_data(model, X, C, sample_weight)
    classes, codes = read_targets_classification(y, len(data.table))
    present = np.unique(codes[data.weight > 0.0])
    if present.size < 2:
        raise ValueError(
            f"y has {present.size} class among the rows of positive weight: a classifier needs at least two."
        )
    reader: Any = clone(model)
    reader.classes_ = classes[present]
    codes = np.minimum(np.searchsorted(present, codes), present.size - 1)  # rows without weight may be of any class
    task = ClassificationTask(codes, reader.classes_, model.multi_class, model.break_ties, reader._class_factors)
    data = _with_folds(data, read_splits(cv, data.table, codes, data.weight, is_class=True, seed=random_state))
    candidates = list(_candidates(model, data, kernel, gamma, (np.nan,)))
    return _search(candidates, lambda _: task, data, verbose, (X, y, sample_weight))


def tune_svr(
    X: Any,
    y: Any,
    *,
    C: float | Sequence[float] = PENALTIES,
    gamma: Gamma | Sequence[Gamma] | None = None,
    epsilon: float | Sequence[float] | None = None,
    kernel: Any = None,
    estimator: SVR | None = None,
    cv: Any = 5,
    sample_weight: ArrayLike | None = None,
    random_state: int = 0,
    verbose: int = 0,
) -> Tuned:
    """Choose C, the kernel and epsilon of a regression by the mean squared error in cross-validation.

    The smallest mean error wins; of equal ones the smallest C, then the first kernel and epsilon.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The training rows.
    y : array-like of shape (n_samples,)
        Their targets.
    C : float or sequence of float
        Penalties to try.
    gamma : float, "scale", "auto" or a sequence of these, default=None
        Values to try, for kernels given by name; None tries five values around 1 / (n_features * variance of X).
    epsilon : float or sequence of float, default=None
        Half widths of the tube to try; None takes that of `estimator`.
    kernel : str, Kernel, callable or a sequence of these, default=None
        Kernels to try; None takes that of `estimator`.
    estimator : SVR, default=None
        A regressor with all other parameters; None takes `SVR()`.
    cv : int, splitter or iterable of splits, default=5
        Number of folds, or splits as in scikit-learn.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows, in the fits and in the errors.
    random_state : int, default=0
        Seed of the folds, if `cv` is a number.
    verbose : int, default=0
        1 shows a progress bar.

    Returns
    -------
    Tuned
        The fitted regressor, its parameters and the errors of the whole grid.

    Examples
    --------
    >>> import numpy as np
    >>> from committee import SVR
    >>> from committee.datasets import load_dataset
    >>> ozone = load_dataset("ozone")
    >>> rows = ~np.isnan(ozone.X).any(axis=1)
    >>> tuned = tune_svr(ozone.X[rows], ozone.y[rows], C=[1, 10, 100], gamma=[0.01, 0.1], estimator=SVR(scale=True))
    >>> print(tuned)
    gamma=0.1, C=10: error 14.05 ± 1.1, the smallest of 6 on 5 folds
    """
    model = SVR() if estimator is None else estimator
    _require(model, SVR)
    data = _read_data(model, X, C, sample_weight)
    target = read_one_target(y, len(data.table), "SVR")
    data = _with_folds(data, read_splits(cv, data.table, target, data.weight, is_class=False, seed=random_state))
    widths = _read_epsilons(model, epsilon)
    candidates = list(_candidates(model, data, kernel, gamma, widths, has_epsilon=epsilon is not None))
    return _search(
        candidates, lambda candidate: RegressionTask(target, candidate.epsilon), data, verbose, (X, y, sample_weight)
    )


def _search(
    candidates: Sequence[Candidate],
    task_of: Callable[[Candidate], Task],
    data: GridData,
    verbose: int,
    training: tuple[Any, Any, ArrayLike | None],
) -> Tuned:
    """Evaluate all cells, kernel by kernel; fit the best one on all rows."""
    model = data.model
    trials: list[Trial] = []
    errors: list[Floats] = []
    n_evaluations = len(candidates) * len(data.folds)
    with shrinking(model.shrinking), progress("grid, folds of kernels", n_evaluations, verbose) as tick:
        for number, candidate in enumerate(candidates):
            for trial, of_folds in _evaluate(task_of(candidate), data, candidate, number, tick):
                trials.append(trial)
                errors.append(of_folds)
    best = min(trials, key=lambda trial: (trial.error, trial.C, trial.candidate))
    _warn_not_converged(trials, model.tol)
    params = {**candidates[best.candidate].params, "C": best.C}
    X, y, sample_weight = training
    fitted: Any = clone(model)
    fitted.set_params(**params).fit(X, y, sample_weight=sample_weight)
    return Tuned(fitted, params, best.error, best.standard_error, History.from_records(trials), np.array(errors))


def _evaluate(
    task: Task, data: GridData, candidate: Candidate, number: int, tick: Callable[[str], None]
) -> Iterator[tuple[Trial, Floats]]:
    name, gamma = candidate.name, candidate.gamma
    label = name if np.isnan(gamma) else f"{name}, gamma={gamma:.3g}"
    result = evaluate_kernel(
        task, data, candidate.kernel, lambda errors: tick(f"{label}: error {errors.min():.4g} at best C")
    )
    n_folds = len(data.folds)
    for c, C in enumerate(data.penalties):
        errors = result.errors[c]
        stderr = float(errors.std(ddof=1) / np.sqrt(n_folds)) if n_folds > 1 else np.nan
        yield Trial(
            number, name, gamma, candidate.epsilon, float(C), float(errors.mean()), stderr,
            float(result.n_support[c].mean()), bool(result.is_optimal[c].all()), float(result.seconds[c].sum()),
        ), errors  # fmt: skip


def _warn_not_converged(trials: Sequence[Trial], tol: float) -> None:
    late = [trial for trial in trials if not trial.is_optimal]
    if late:
        warnings.warn(
            f"In {len(late)} of {len(trials)} cells of the grid the solver did not reach tol={tol:g}, first at "
            f"C={late[0].C:g} of {late[0].kernel}. Use a larger max_iter or tol, scale the columns (scale=True), or "
            "leave large C out.",
            ConvergenceWarning,
            stacklevel=4,
        )


# --- reading ---------------------------------------------------------------------------------------------------------


def _require(model: Any, kind: type[Any]) -> None:
    if not isinstance(model, kind):
        raise TypeError(f"estimator must be an {kind.__name__} with the other parameters, got {model!r:.60}.")


def _as_list(given: Any) -> list[Any]:
    """Several values, or one."""
    if isinstance(given, str) or callable(given) or not np.iterable(given):
        return [given]
    return list(given)


def _read_epsilons(model: SVR, epsilon: Any) -> tuple[float, ...]:
    widths = [model.epsilon] if epsilon is None else _as_list(epsilon)
    if not all(isinstance(width, Real) and 0.0 <= float(width) < np.inf for width in widths):
        raise ValueError(f"epsilon must hold numbers of at least 0 to try, got {widths!r}.")
    return tuple(float(width) for width in widths)


def _read_data(model: SVC | SVR, X: Any, C: Any, sample_weight: ArrayLike | None) -> GridData:
    tried = _as_list(C)
    is_valid = all(isinstance(each, Real) and 0.0 < float(each) < np.inf for each in tried)
    if not tried or not is_valid:
        raise ValueError(f"C must hold positive finite penalties to try, got {tried!r}.")
    penalties = np.unique(np.asarray(tried, np.float64))
    reader: Any = clone(model)
    reader._validate_params()
    table, weight = reader._read_training(X, sample_weight)
    return GridData(table, weight, [], penalties, model)


def _with_folds(data: GridData, splits: Sequence[Split]) -> GridData:
    folds: list[Fold] = []
    for train, test in splits:
        weight = np.zeros(len(data.table))
        weight[train] = data.weight[train]
        folds.append(Fold(weight, test))
    if not folds:
        raise ValueError("cv needs at least two folds and two different rows of positive weight.")
    return data._replace(folds=folds)


def _candidates(
    model: SVC | SVR, data: GridData, kernel: Any, gamma: Any, epsilons: tuple[float, ...], has_epsilon: bool = False
) -> Iterator[Candidate]:
    """The kernels to try; gamma and epsilon if they are parameters of the estimator."""
    usual = _usual_gamma(data)
    kernels = _as_list(model.kernel if kernel is None else kernel)
    gammas: list[Any] = [factor * usual for factor in FACTORS] if gamma is None else _as_list(gamma)
    for given, name in ((kernels, "kernel"), (gammas, "gamma"), (epsilons, "epsilon")):
        if not len(given):
            raise ValueError(f"{name} is empty: give at least one value to try, or None.")
    if gamma is not None and not any(_has_gamma(name) for name in kernels):
        raise ValueError(
            f"gamma={gamma!r} is for kernels given by name, {', '.join(WITH_GAMMA)}; {kernels!r:.80} would ignore it: "
            "leave gamma out, or try objects with several gammas by kernel=[...]."
        )
    for name, epsilon in product(kernels, epsilons):
        has_gamma = _has_gamma(name)
        tried: list[Any] = gammas if has_gamma else [model.gamma]
        for value in tried:
            params: dict[str, Any] = {} if kernel is None else {"kernel": name}
            if has_gamma:
                params["gamma"] = value
            if has_epsilon:
                params["epsilon"] = epsilon
            number = {"scale": usual, "auto": 1.0 / data.table.shape[1]}.get(str(value), value)
            made = make_kernel(name, degree=model.degree, gamma=value, coef0=model.coef0)
            yield Candidate(made, str(name), float(number) if has_gamma else np.nan, epsilon, params)


def _has_gamma(kernel: Any) -> bool:
    return isinstance(kernel, str) and kernel in WITH_GAMMA


def _usual_gamma(data: GridData) -> float:
    """1 / (d var(X)) of the rows of positive weight, scaled with scale=True."""
    counted = data.weight > 0.0
    table, weight = data.table[counted], data.weight[counted]
    if data.model.scale:
        table = np.asarray(fit_scaling(table, weight).apply(table), np.float64)
    return settle_gamma("scale", table, weight)
