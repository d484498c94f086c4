"""The grid: every cell equals an independent cross-validation, work is shared, the best cell is fitted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold, cross_val_score

from committee.datasets import load_dataset
from committee.svm import _cross_validation as cross_validation
from committee.svm._kernel_rows import KernelRows
from committee.svm.kernel_functions import Gaussian, Laplacian, Linear, Polynomial, Precomputed
from committee.svm.svc import SVC
from committee.svm.svr import SVR
from committee.svm.tuning import FACTORS, PENALTIES, tune_svc, tune_svr

CV = StratifiedKFold(3, shuffle=True, random_state=1)
PENALTIES_TRIED = [0.1, 1.0, 10.0]


def glass() -> tuple[Any, Any]:
    sample = load_dataset("glass")
    return np.nan_to_num(sample.X), sample.y


def ozone() -> tuple[Any, Any]:
    X, y = load_dataset("ozone")[:2]
    rows = ~np.isnan(X).any(axis=1)
    return X[rows], y[rows]


@pytest.mark.parametrize(
    "estimator",
    [
        SVC(),
        SVC(scale=True),
        SVC(multi_class="ovr", class_weight="balanced", scale=True),  # unscaled, glass has ties to the last digit
        SVC(break_ties=False, offset="both", class_weight={1: 2.0}),
        SVC(kernel="laplacian", scale=True),
        SVC(kernel="poly", degree=2, coef0=1.0, scale=True),
    ],
    ids=lambda model: str(model).replace("\n", ""),
)
@pytest.mark.parametrize("name", ["sonar", "glass"])
@pytest.mark.filterwarnings("ignore:The columns of X differ")
def test_every_cell_is_an_independent_cross_validation(estimator: SVC, name: str) -> None:
    X, y = glass() if name == "glass" else load_dataset(name)[:2]
    y = np.unique(y, return_inverse=True)[1]
    gammas: list[Any] = [0.02, "scale", 0.5]
    result = tune_svc(X, y, C=PENALTIES_TRIED, gamma=gammas, estimator=estimator, cv=CV)
    cells = [(gamma, C) for gamma in gammas for C in PENALTIES_TRIED]
    expected = [1.0 - cross_val_score(clone(estimator).set_params(C=C, gamma=gamma), X, y, cv=CV) for gamma, C in cells]
    np.testing.assert_allclose(result.fold_errors, expected, atol=1e-12)
    np.testing.assert_allclose(result.grid.error, np.mean(expected, axis=1))
    np.testing.assert_allclose(result.grid.standard_error, np.std(expected, axis=1, ddof=1) / np.sqrt(3))
    best = int(np.lexsort((result.grid.C, result.grid.error))[0])
    assert result.error == result.grid.error[best]
    assert result.params["C"] == result.grid.C[best]
    again = clone(estimator).set_params(**result.params).fit(X, y)
    np.testing.assert_array_equal(result.estimator.support_, again.support_)


@pytest.mark.parametrize("estimator", [SVR(), SVR(scale=True)], ids=str)
@pytest.mark.filterwarnings("ignore:The columns of X differ")
def test_numbers_too(estimator: SVR) -> None:
    X, y = ozone()
    cv = KFold(3, shuffle=True, random_state=0)
    result = tune_svr(X, y, C=[1, 10], gamma=[0.001, 0.1], epsilon=[0.5, 2.0], estimator=estimator, cv=cv)
    cells = [(epsilon, gamma, C) for epsilon in (0.5, 2.0) for gamma in (0.001, 0.1) for C in (1, 10)]
    expected = [
        -cross_val_score(clone(estimator).set_params(C=C, gamma=gamma, epsilon=epsilon), X, y, cv=cv,
                         scoring="neg_mean_squared_error")
        for epsilon, gamma, C in cells
    ]  # fmt: skip
    np.testing.assert_allclose(result.fold_errors, expected, rtol=1e-6)
    best = cells[int(np.mean(expected, axis=1).argmin())]
    assert (result.params["epsilon"], result.params["gamma"], result.params["C"]) == best
    assert result.estimator.epsilon == best[0]


def test_large_tables_agree_to_the_tolerance_of_the_solver() -> None:
    """Float32 rows and warm starts: a row in a thousand may change sides."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2400, 4))
    y = (X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=2400) > 0).astype(int)
    result = tune_svc(X, y, C=[1, 3], gamma=[0.3], cv=CV)
    expected = [1.0 - cross_val_score(SVC(C=C, gamma=0.3), X, y, cv=CV) for C in (1, 3)]
    np.testing.assert_allclose(result.fold_errors, expected, atol=2e-3)


def test_kernels_are_a_line_of_the_grid_each() -> None:
    X, y = load_dataset("sonar")[:2]
    kernels: list[Any] = ["linear", "rbf", Polynomial(2, 1.0), 2.0 * Gaussian(width=3.0) + Linear(), Laplacian()]
    result = tune_svc(X, y, C=[1.0], gamma=[0.1, 1.0], kernel=kernels, cv=CV)
    assert result.grid.candidate.tolist() == list(range(6))
    assert np.isnan(result.grid.gamma).tolist() == [True, False, False, True, True, True]
    lines = [("linear", "scale"), ("rbf", 0.1), ("rbf", 1.0), *((kernel, "scale") for kernel in kernels[2:])]
    expected = [1.0 - cross_val_score(SVC(kernel=kernel, gamma=gamma), X, y, cv=CV) for kernel, gamma in lines]
    np.testing.assert_allclose(result.fold_errors, expected, atol=1e-12)
    assert result.estimator.kernel == result.params["kernel"]


def test_a_gram_matrix_that_is_given() -> None:
    X, y = load_dataset("sonar")[:2]
    gram = Gaussian(gamma=0.5)(X)
    result = tune_svc(gram, y, C=PENALTIES_TRIED, kernel=["precomputed", Precomputed()], cv=CV)
    expected = tune_svc(X, y, C=PENALTIES_TRIED, gamma=[0.5], cv=CV)
    np.testing.assert_allclose(result.fold_errors[:3], expected.fold_errors)
    np.testing.assert_allclose(result.fold_errors[3:], expected.fold_errors)


def count_rows(monkeypatch: pytest.MonkeyPatch) -> list[KernelRows]:
    made: list[KernelRows] = []
    begin = KernelRows.__init__

    def watched(self: KernelRows, *args: Any, **settings: Any) -> None:
        begin(self, *args, **settings)
        made.append(self)

    monkeypatch.setattr(KernelRows, "__init__", watched)
    return made


@pytest.mark.parametrize(("gamma", "scale", "n_tables"), [(0.5, False, 1), ("scale", False, 3), (0.5, True, 3)])
def test_kernel_rows_are_computed_once(monkeypatch: pytest.MonkeyPatch, gamma: Any, scale: bool, n_tables: int) -> None:
    X, y = load_dataset("sonar")[:2]
    made = count_rows(monkeypatch)
    tune_svc(X, y, C=PENALTIES_TRIED, gamma=[gamma, gamma], estimator=SVC(scale=scale), cv=CV)
    assert len(made) == 2 * n_tables + 1  # and one for the fit on all rows
    assert all(rows.n_computed <= len(y) for rows in made)


def test_larger_penalties_start_from_feasible_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = load_dataset("sonar")[:2]
    starts: list[Any] = []
    solve = cross_validation.solve

    def watched(problem: Any, *args: Any, **settings: Any) -> Any:
        starts.append(problem)
        return solve(problem, *args, **settings)

    monkeypatch.setattr(cross_validation, "solve", watched)
    tune_svc(X, y, C=[1.0, 3.0, 10.0], gamma=[0.5], cv=CV)
    assert len(starts) == 9
    assert [bool(problem.start.any()) for problem in starts] == [False, True, True] * 3
    for problem in starts:
        assert (problem.start >= 0.0).all()
        assert (problem.start <= problem.upper).all()
        assert abs(problem.start @ problem.y) < 1e-9


def test_defaults_cover_the_usual_gamma() -> None:
    X, y = load_dataset("sonar")[:2]
    result = tune_svc(X, y, cv=2)
    assert result.fold_errors.shape == (len(PENALTIES) * len(FACTORS), 2)
    usual = 1.0 / (X.shape[1] * X.var())
    np.testing.assert_allclose(np.unique(result.grid.gamma), usual * np.array(FACTORS))
    frame = result.to_pandas()
    assert list(frame.columns) == list(result.grid)
    assert (frame["seconds"] > 0.0).all()
    assert str(result).endswith("on 2 folds")


def test_weights_count_rows_in_fits_and_errors() -> None:
    X, y = load_dataset("sonar")[:2]
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    folds = [(train, test) for train, test in CV.split(X, y)]
    repeated = [tuple(np.flatnonzero(np.isin(rows, some)) for some in fold) for fold in folds]
    settings: dict[str, Any] = {"C": PENALTIES_TRIED, "gamma": [0.5, "scale"]}
    result = tune_svc(X, y, cv=folds, sample_weight=weight, **settings)
    expected = tune_svc(X[rows], y[rows], cv=repeated, **settings)
    np.testing.assert_allclose(result.fold_errors, expected.fold_errors, atol=1e-12)


def test_frames_keep_their_names_and_splitters_are_scikit_learns() -> None:
    X, y = load_dataset("sonar")[:2]
    frame = pd.DataFrame(X, columns=[f"band {f}" for f in range(X.shape[1])])
    groups = np.arange(len(y)) // 4
    splits = list(GroupKFold(3).split(X, y, groups))
    result = tune_svc(frame, y, C=[1.0], gamma=[0.5], cv=splits)
    assert result.estimator.feature_names_in_[1] == "band 1"
    np.testing.assert_allclose(result.fold_errors[0], 1.0 - cross_val_score(SVC(gamma=0.5), X, y, cv=splits))


def test_what_is_rejected() -> None:
    X, y = load_dataset("sonar")[:2]
    for wrong in ([], [0.0, 1.0], [-1.0], [np.inf], [np.nan]):
        with pytest.raises(ValueError, match="positive finite penalties"):
            tune_svc(X, y, C=wrong)
    with pytest.raises(ValueError, match="NaN"):
        tune_svc(np.where(X > 0.9, np.nan, X), y)
    with pytest.raises(ValueError, match="has 1 class"):
        tune_svc(X, np.ones(len(y)))
    with pytest.raises(ValueError, match="needs at least two"):
        tune_svc(X, y, sample_weight=(y == y[0]).astype(float))
    with pytest.raises(ValueError, match=r"no training row of class .*: use fewer folds"):
        tune_svc(X, y, cv=[(np.flatnonzero(y == y[0]), np.flatnonzero(y != y[0]))])
    with pytest.raises(ValueError, match="no training rows of positive weight"):
        tune_svc(X, y, cv=[(np.arange(0), np.arange(5))])
    with pytest.raises(ValueError, match="2 outputs, SVR takes one"):
        tune_svr(X, np.c_[X[:, 0], X[:, 1]])
    with pytest.raises(ValueError, match="'tol' parameter"):
        tune_svc(X, y, estimator=SVC(tol=-1.0))


def test_cells_that_do_not_converge_are_reported() -> None:
    X, y = load_dataset("sonar")[:2]
    with pytest.warns(ConvergenceWarning) as caught:
        result = tune_svc(X, y, C=[1.0, 100.0], gamma=[0.5], estimator=SVC(max_iter=3), cv=CV)
    assert "In 2 of 2 cells of the grid the solver did not reach tol" in str(caught[0].message)
    assert not result.grid.is_optimal.any()


def test_ctrl_c_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = load_dataset("sonar")[:2]
    solve, calls = cross_validation.solve, []

    def interrupted(*args: Any, **settings: Any) -> Any:
        calls.append(1)
        if len(calls) > 4:
            raise KeyboardInterrupt
        return solve(*args, **settings)

    monkeypatch.setattr(cross_validation, "solve", interrupted)
    estimator = SVC()
    with pytest.raises(KeyboardInterrupt):
        tune_svc(X, y, estimator=estimator, cv=CV, verbose=1)
    assert not hasattr(estimator, "columns_")


def test_values_at_rows_held_out_are_those_of_independent_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where answers tie, values still agree."""
    X, y = glass()
    codes = np.unique(y, return_inverse=True)[1]
    seen: list[Any] = []
    error = cross_validation.ClassificationTask.error

    def watched(self: Any, values: Any, test: Any, weight: Any) -> float:
        seen.append((test, values))
        return error(self, values, test, weight)

    monkeypatch.setattr(cross_validation.ClassificationTask, "error", watched)
    model = SVC(multi_class="ovr", class_weight="balanced")
    with pytest.warns(UserWarning, match="differ in scale"):
        tune_svc(X, codes, C=[0.1, 1.0], gamma=["scale"], estimator=model, cv=CV)
    for k, (train, test) in enumerate(CV.split(X, codes)):
        for c, C in enumerate((0.1, 1.0)):
            judged, values = seen[2 * k + c]
            np.testing.assert_array_equal(judged, test)
            with pytest.warns(UserWarning, match="differ in scale"):
                alone = clone(model).set_params(C=C).fit(X[train], codes[train])
            np.testing.assert_allclose(values, alone.decision_function(X[test]), atol=1e-4)


def test_a_single_tube_is_that_of_the_fitted_machine() -> None:
    X, y = ozone()
    result = tune_svr(X, y, C=[1.0], gamma=[0.1], epsilon=[2.0], estimator=SVR(scale=True), cv=3)
    assert result.params["epsilon"] == result.estimator.epsilon == 2.0


def test_one_value_needs_no_list() -> None:
    X, y = load_dataset("sonar")[:2]
    one = tune_svc(X, y, C=1, gamma=0.1, kernel="rbf", cv=3)
    several = tune_svc(X, y, C=[1.0], gamma=[0.1], kernel=["rbf"], cv=3)
    assert one.params == several.params
    assert one.error == several.error
    assert tune_svc(X, y, C=np.array([1.0]), kernel=Gaussian(1.0), cv=3).params["kernel"] == Gaussian(1.0)
    X, y = ozone()
    assert tune_svr(X, y, C=1.0, gamma=0.1, epsilon=2, estimator=SVR(scale=True), cv=3).estimator.epsilon == 2.0


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"estimator": SVC()}, TypeError, r"estimator must be an SVR with the other parameters, got SVC\(\)"),
        ({"epsilon": [-1.0]}, ValueError, r"epsilon must hold numbers of at least 0 to try, got \[-1.0\]"),
        ({"C": "large"}, ValueError, "C must hold positive finite penalties to try, got .'large'"),
        ({"kernel": "linear", "gamma": [0.1]}, ValueError, "leave gamma out"),
        ({"kernel": []}, ValueError, "kernel is empty"),
    ],
)
def test_what_a_grid_cannot_try_is_said(options: dict[str, Any], error: type[Exception], words: str) -> None:
    X, y = ozone()
    with pytest.raises(error, match=words):
        tune_svr(X, y, **options)
