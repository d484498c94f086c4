"""Folds: every row is judged once a repeat, classes are shared out, the standard error is the one it says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from committee import AdaBoostClassifier, SchapireBoostClassifier
from committee.base.stats import mean_over_folds, standard_error_of_folds
from committee.evaluation._folds import draw_folds, read_labels, unfitted
from committee.tabular.rows import take_rows


def test_every_row_is_evaluated_once_in_a_repeat_and_never_by_those_who_saw_it():
    codes = np.repeat([0, 1, 2], [40, 23, 10])
    folds = draw_folds(codes, 7, 3, n_repeats=2)
    assert len(folds) == 14
    for repeat in (folds[:7], folds[7:]):
        np.testing.assert_array_equal(np.sort(np.concatenate([fold.test for fold in repeat])), np.arange(73))
    for fold in folds:
        np.testing.assert_array_equal(np.sort(np.concatenate([fold.train, fold.test])), np.arange(73))
    assert any(not np.array_equal(a.test, b.test) for a, b in zip(folds[:7], folds[7:], strict=True))
    assert len({fold.seed for fold in folds}) == 14


def test_every_fold_has_its_share_of_every_class():
    codes = np.random.default_rng(0).permutation(np.repeat([0, 1, 2], [40, 23, 10]))
    counts = np.array([np.bincount(codes[fold.test], minlength=3) for fold in draw_folds(codes, 5, 0)])
    assert np.all(np.ptp(counts, axis=0) <= 1)
    assert np.ptp(counts.sum(axis=1)) <= 1


def test_the_same_seed_draws_the_same_folds():
    codes = np.arange(30) % 2
    tests = [[fold.test.tolist() for fold in draw_folds(codes, 3, seed)] for seed in (0, 0, 1)]
    assert tests[0] == tests[1] != tests[2]
    generators = [draw_folds(codes, 3, np.random.default_rng(5))[0].test.tolist() for _ in range(2)]
    assert generators[0] == generators[1]


@pytest.mark.parametrize("n_folds", [1, 11])
def test_folds_that_cannot_be_are_rejected(n_folds: int):
    with pytest.raises(ValueError, match=r"n_folds must lie in 2\.\.10"):
        draw_folds(np.arange(10) % 2, n_folds, 0)
    with pytest.raises(ValueError, match="n_repeats must be at least 1"):
        draw_folds(np.arange(10) % 2, 2, 0, n_repeats=0)


def test_standard_error_of_nadeau_and_bengio():
    values = np.random.default_rng(0).normal(size=(2, 5, 3))
    flat = values.reshape(10, 3)
    np.testing.assert_allclose(standard_error_of_folds(values), np.sqrt((1 / 10 + 1 / 4) * flat.var(axis=0, ddof=1)))
    mean = mean_over_folds(values[..., 0])
    assert mean == (pytest.approx(flat[:, 0].mean()), pytest.approx(standard_error_of_folds(values)[0]))
    assert standard_error_of_folds(values[:1])[0] > values[0, :, 0].std(ddof=1) / np.sqrt(5)


def test_labels_become_codes_and_one_class_is_rejected():
    assert read_labels(["b", "a", "b"]).tolist() == [1, 0, 1]
    with pytest.raises(ValueError, match="got 1 class"):
        read_labels([1, 1, 1])


def test_rows_of_tables_of_every_kind():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    X = np.arange(12.0).reshape(6, 2)
    rows = np.array([4, 1])
    frame = pd.DataFrame(X, index=list("fedcba"), columns=["u", "v"])  # by place, not by the index
    for table in (X, X.tolist(), frame, pl.DataFrame(frame)):
        result: Any = take_rows(table, rows)
        np.testing.assert_array_equal(np.asarray(result), X[rows])
        assert isinstance(result, type(table)) or isinstance(table, list)
    np.testing.assert_array_equal(take_rows(csr_array(X), rows).toarray(), X[rows])


def test_a_copy_takes_only_the_parameters_it_has():
    model = AdaBoostClassifier(n_estimators=3, verbose=1)
    copy = unfitted(model, n_estimators=9, depth=2)
    assert (copy.n_estimators, copy.verbose, model.n_estimators, model.verbose) == (9, 0, 3, 1)
    assert unfitted(SchapireBoostClassifier(depth=2), n_estimators=9).depth == 2
    assert unfitted(make_pipeline(StandardScaler(), model, verbose=True)).verbose is False
