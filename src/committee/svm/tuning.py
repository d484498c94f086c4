"""C and the parameters of the kernel by cross-validation (I-7; Hsu, Chang and Lin, A practical guide, 2003).

A grid of L kernels and M penalties on k folds asks for L M k machines; `cross_validation` says how they share their
work. The errors are those of scikit-learn's cross_val_score on the same folds.
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
from committee.records.result_table import ResultTable, to_pandas, to_polars
from committee.sampling.splits import Split, read_splits
from committee.svm._cross_validation import ClassTask, Fold, Ground, NumberTask, Task, judge_kernel
from committee.svm._scaling import fit_scaling, reject_values
from committee.svm._shrinking import shrinking
from committee.svm.kernel_functions import Gamma, Kernel, make_kernel, settle_gamma
from committee.svm.svc import SVC
from committee.svm.svr import SVR
from committee.tabular.validation import (
    read_one_target,
    read_targets_classification,
    read_training_table,
    read_weights,
)

PENALTIES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
FACTORS = (1 / 16, 1 / 4, 1.0, 4.0, 16.0)
"""Of 1 / (d var(X)), the gammas that are tried by default."""

WITH_GAMMA = ("poly", "rbf", "gaussian", "laplacian", "sigmoid")


class Trial(NamedTuple):
    """A cell of the grid: what was tried, and how it did on the folds."""

    line: int  # which kernel
    kernel: str
    gamma: float  # as a number on all rows; nan for kernels without one of their own
    epsilon: float  # half the width of the tube; nan for classes
    C: float
    error: float  # mean over the folds: share of wrong answers, or mean squared error
    standard_error: float  # of that mean
    n_support: float  # mean over the folds
    is_optimal: bool  # did the solver reach its tolerance on every fold?
    seconds: float  # of CPU, all folds


class Tuned(NamedTuple):
    """The best cell, a machine fitted with it on all rows, and the whole grid. `str` puts it into words."""

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
        chosen = ", ".join(f"{name}={_short(value)}" for name, value in self.params.items())
        n, k = self.fold_errors.shape
        return f"{chosen}: error {self.error:.4g} ± {self.standard_error:.2g}, the smallest of {n} on {k} folds"


class Line(NamedTuple):
    """A kernel of the grid and the tube that goes with it."""

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
    """C and the kernel of a classifier by cross-validation, and the classifier fitted with them.

    Parameters
    ----------
    X, y : a table and its labels
    C : finite penalties to try, one or several
    gamma : values to try where the kernel has a gamma; None takes 1/16 to 16 times 1 / (d var(X))
    kernel : kernels to try, names, objects or functions; None keeps that of `estimator`
    estimator : an `SVC` with all other parameters; None takes `SVC()`
    cv : number of folds, each with its share of every class, or a splitter or splits as in scikit-learn
    sample_weight : counts rows, in the fits and in the errors
    random_state : of the folds, where `cv` is a number
    verbose : 1 shows a progress bar

    The smallest mean error wins; of equal ones the smallest C, then the first kernel.

    Examples
    --------
    >>> from committee.datasets import load_dataset
    >>> from committee.svm.svc import SVC
    >>> sonar = load_dataset("sonar")
    >>> found = tune_svc(sonar.X, sonar.y, C=[0.1, 1, 10], gamma=[0.01, 0.03], estimator=SVC(scale=True))
    >>> print(found)
    gamma=0.01, C=10: error 0.1013 ± 0.016, the smallest of 6 on 5 folds
    """
    model = SVC() if estimator is None else estimator
    _require(model, SVC)
    ground = _read_ground(model, X, C, sample_weight)
    classes, codes = read_targets_classification(y, len(ground.table))
    present = np.unique(codes[ground.weight > 0.0])
    if present.size < 2:
        raise ValueError(f"y has {present.size} class among the rows that count: a classifier needs two at least.")
    weigher: Any = clone(model)
    weigher.classes_ = classes[present]
    codes = np.minimum(np.searchsorted(present, codes), present.size - 1)  # rows without weight may be of any class
    task = ClassTask(codes, weigher.classes_, model.multi_class, model.break_ties, weigher._weigh)
    splits = read_splits(cv, ground.table, codes, ground.weight, is_class=True, seed=random_state)
    ground = _with_folds(ground, splits)
    lines = list(_lines(model, ground, kernel, gamma, (np.nan,)))
    return _search(model, lines, lambda _: task, ground, verbose, (X, y, sample_weight))


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
    """C, the kernel and the tube of a regression by cross-validation of the mean squared error.

    `epsilon` are tubes to try, None keeps that of `estimator`; the rest is as in `tune_svc`.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.datasets import load_dataset
    >>> from committee.svm.svr import SVR
    >>> ozone = load_dataset("ozone")
    >>> rows = ~np.isnan(ozone.X).any(axis=1)
    >>> found = tune_svr(ozone.X[rows], ozone.y[rows], C=[1, 10, 100], gamma=[0.01, 0.1], estimator=SVR(scale=True))
    >>> print(found)
    gamma=0.1, C=10: error 14.05 ± 1.1, the smallest of 6 on 5 folds
    """
    model = SVR() if estimator is None else estimator
    _require(model, SVR)
    ground = _read_ground(model, X, C, sample_weight)
    target = read_one_target(y, len(ground.table), "SVR")
    splits = read_splits(cv, ground.table, target, ground.weight, is_class=False, seed=random_state)
    ground = _with_folds(ground, splits)
    lines = list(_lines(model, ground, kernel, gamma, _read_tubes(model, epsilon), has_tubes=epsilon is not None))
    return _search(model, lines, lambda line: NumberTask(target, line.epsilon), ground, verbose, (X, y, sample_weight))


def _search(
    model: SVC | SVR,
    lines: list[Line],
    task_of: Callable[[Line], Task],
    ground: Ground,
    verbose: int,
    data: tuple[Any, Any, ArrayLike | None],
) -> Tuned:
    """All cells, line by line; the best of them fitted on all rows."""
    trials: list[Trial] = []
    errors: list[Floats] = []
    with (
        shrinking(model.shrinking),
        progress("grid, folds of kernels", len(lines) * len(ground.folds), verbose) as tick,
    ):
        for number, line in enumerate(lines):
            for trial, of_folds in _judge_line(task_of(line), ground, line, number, tick):
                trials.append(trial)
                errors.append(of_folds)
    best = min(trials, key=lambda trial: (trial.error, trial.C, trial.line))
    _warn_of(trials, model.tol)
    params = {**lines[best.line].params, "C": best.C}
    X, y, sample_weight = data
    fitted: Any = clone(model)
    fitted.set_params(**params).fit(X, y, sample_weight=sample_weight)
    return Tuned(fitted, params, best.error, best.standard_error, History.from_records(trials), np.array(errors))


def _judge_line(
    task: Task, ground: Ground, line: Line, number: int, tick: Callable[[str], None]
) -> Iterator[tuple[Trial, Floats]]:
    word = f"{line.name}" + ("" if np.isnan(line.gamma) else f", gamma={line.gamma:.3g}")
    result = judge_kernel(task, ground, line.kernel, lambda errors: tick(f"{word}: error {errors.min():.4g} at best C"))
    n_folds = len(ground.folds)
    for c, C in enumerate(ground.penalties):
        errors = result.errors[c]
        stderr = float(errors.std(ddof=1) / np.sqrt(n_folds)) if n_folds > 1 else np.nan
        yield Trial(
            number, line.name, line.gamma, line.epsilon, float(C), float(errors.mean()), stderr,
            float(result.n_support[c].mean()), bool(result.is_optimal[c].all()), float(result.seconds[c].sum()),
        ), errors  # fmt: skip


def _warn_of(trials: list[Trial], tol: float) -> None:
    late = [trial for trial in trials if not trial.is_optimal]
    if late:
        warnings.warn(
            f"In {len(late)} of {len(trials)} cells of the grid the solver did not reach tol={tol:g}, first at "
            f"C={late[0].C:g} of {late[0].kernel}. Raise max_iter or tol, scale the columns (scale=True), or leave "
            "large C out.",
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


def _read_tubes(model: SVR, epsilon: Any) -> tuple[float, ...]:
    tubes = [model.epsilon] if epsilon is None else _as_list(epsilon)
    if not all(isinstance(tube, Real) and 0.0 <= float(tube) < np.inf for tube in tubes):
        raise ValueError(f"epsilon must hold numbers of at least 0 to try, got {tubes!r}.")
    return tuple(float(tube) for tube in tubes)


def _read_ground(model: SVC | SVR, X: Any, C: Any, sample_weight: ArrayLike | None) -> Ground:
    tried = _as_list(C)
    is_right = all(isinstance(each, Real) and 0.0 < float(each) < np.inf for each in tried)
    if not tried or not is_right:
        raise ValueError(f"C must hold positive finite penalties to try, got {tried!r}.")
    penalties = np.unique(np.asarray(tried, np.float64))
    reader: Any = clone(model)
    reader._validate_params()
    columns, result = read_training_table(reader, X, categorical_features=None, sample_weight=sample_weight)
    table = np.ascontiguousarray(result, np.float64)
    reject_values(table, columns, type(model).__name__)
    weight = read_weights(sample_weight, len(table))
    return Ground(
        table, np.ones(len(table)) if weight is None else weight, [], penalties, model.scale, model.tol,
        model.max_iter, model.offset, model.cache_size, model.n_jobs,
    )  # fmt: skip


def _with_folds(ground: Ground, splits: list[Split]) -> Ground:
    folds: list[Fold] = []
    for train, test in splits:
        weight = np.zeros(len(ground.table))
        weight[train] = ground.weight[train]
        folds.append(Fold(weight, test))
    if not folds:
        raise ValueError("cv needs two folds and two different rows of positive weight at least.")
    return ground._replace(folds=folds)


def _lines(
    model: SVC | SVR, ground: Ground, kernel: Any, gamma: Any, tubes: tuple[float, ...], has_tubes: bool = False
) -> Iterator[Line]:
    """The kernels to try; gamma and the tube where they are parameters of the estimator."""
    usual = _usual_gamma(ground)
    kernels = _as_list(model.kernel if kernel is None else kernel)
    gammas: list[Any] = [factor * usual for factor in FACTORS] if gamma is None else _as_list(gamma)
    for given, word in ((kernels, "kernel"), (gammas, "gamma"), (tubes, "epsilon")):
        if not len(given):
            raise ValueError(f"{word} is empty: give at least one value to try, or None.")
    if gamma is not None and not any(_has_gamma(name) for name in kernels):
        raise ValueError(
            f"gamma={gamma!r} is for kernels given by name, {', '.join(WITH_GAMMA)}; {kernels!r:.80} would not see it: "
            "leave gamma out, or try objects with several gammas by kernel=[...]."
        )
    for name, epsilon in product(kernels, tubes):
        has_gamma = _has_gamma(name)
        tried: list[Any] = gammas if has_gamma else [model.gamma]
        for value in tried:
            params: dict[str, Any] = {} if kernel is None else {"kernel": name}
            if has_gamma:
                params["gamma"] = value
            if has_tubes:
                params["epsilon"] = epsilon
            number = {"scale": usual, "auto": 1.0 / ground.table.shape[1]}.get(str(value), value)
            made = make_kernel(name, degree=model.degree, gamma=value, coef0=model.coef0)
            yield Line(made, str(name), float(number) if has_gamma else np.nan, epsilon, params)


def _has_gamma(kernel: Any) -> bool:
    return isinstance(kernel, str) and kernel in WITH_GAMMA


def _usual_gamma(ground: Ground) -> float:
    """1 / (d var(X)) of the rows that count, scaled where they will be."""
    counted = ground.weight > 0.0
    table, weight = ground.table[counted], ground.weight[counted]
    if ground.scale:
        table = np.asarray(fit_scaling(table, weight).apply(table), np.float64)
    return settle_gamma("scale", table, weight)


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
