"""Members held_out on rows they did not learn from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from committee.committees._out_of_fold import (
    Rows,
    Tally,
    Task,
    arrange,
    derived_seed,
    fit_member,
)
from committee.committees._representations import Kind, fit_representation
from committee.sampling.splits import Split, k_folds, rows_to_split

RNG = np.random.default_rng(0)
N = 120
X = np.round(RNG.normal(size=(N, 3)), 2)
SIGNAL = X[:, 0] - X[:, 1] ** 2 + 0.3 * RNG.normal(size=N)
CODES = np.digitize(SIGNAL, [-1.0, 0.3])


def make_rows(is_class: bool, weight: Any = None) -> Rows:
    y = CODES if is_class else SIGNAL
    return arrange(Rows(X, y, weight, np.zeros(3, bool), 3 if is_class else 0))


def folds_of(rows: Rows, n_folds: int, seed: int) -> list[Split]:
    to_split = rows_to_split(rows.X, rows.y, rows.weight, is_class=bool(rows.n_classes))
    return k_folds(to_split, n_folds, seed, equal_rows="apart")


def task(rows: Rows, algorithm: str, kind: Kind = "codes", sample: float = 1.0, **parameters: Any) -> Task:
    representation = fit_representation(kind, rows.X, rows.is_categorical, n_landmarks=20)
    return Task(algorithm, parameters, representation, None, sample, 5, None)


# --- rows and folds --------------------------------------------------------------------------------------------------


def test_a_weight_is_so_many_rows_and_the_order_does_not_matter() -> None:
    weight = RNG.integers(0, 4, N).astype(float)
    plain = Rows(X, SIGNAL, weight, np.zeros(3, bool), 0)
    copies = np.repeat(np.arange(N), weight.astype(int))[::-1]
    repeated = Rows(X[copies], SIGNAL[copies], None, np.zeros(3, bool), 0)
    one, other = arrange(plain), arrange(repeated)
    np.testing.assert_array_equal(one.X, other.X)
    np.testing.assert_array_equal(one.y, other.y)
    assert one.weight is None
    assert other.weight is None


@pytest.mark.parametrize("unit", [1.0, 3.0, 0.5, 1e90])
def test_equal_weights_are_no_weights(unit: float) -> None:
    rows = make_rows(False, np.full(N, unit))
    assert rows.weight is None
    assert len(rows.y) == N


def test_weights_that_are_no_numbers_of_rows_have_mean_1() -> None:
    weight = RNG.random(N) + 0.1
    rows = make_rows(False, weight)
    assert rows.weight is not None
    assert rows.weight.mean() == pytest.approx(1.0)
    np.testing.assert_allclose(np.sort(rows.weight), np.sort(weight / weight.mean()))


# --- honest answers --------------------------------------------------------------------------------------------------

ALGORITHMS = [
    ("gradient boosting", "codes", {"max_leaf_nodes": 4}),
    ("random forest", "codes", {"n_estimators": 30}),
    ("extra trees", "codes", {"n_estimators": 30}),
    ("AdaBoost", "codes", {"n_estimators": 5}),
    ("support vector machine", "scaled", {}),
    ("Nystroem SVM", "ranked", {"n_landmarks": 20}),
    ("linear model", "landmarks", {}),
    ("mixture of experts", "scaled", {"n_experts": 2, "n_restarts": 1, "max_iter": 20}),
]


@pytest.mark.filterwarnings("ignore")  # a few rounds do not converge
@pytest.mark.parametrize("is_class", [True, False], ids=["classes", "numbers"])
@pytest.mark.parametrize(("algorithm", "kind", "parameters"), ALGORITHMS, ids=[case[0] for case in ALGORITHMS])
def test_predictions_to_rows_left_out_know_nothing_of_their_targets(
    algorithm: str, kind: Kind, parameters: dict[str, Any], is_class: bool
) -> None:
    """Another target of one row changes what is answered to others, and never what is answered to this one by much:
    on targets of pure noise the errors are those of guessing."""
    rows = make_rows(is_class)
    noise = np.random.default_rng(1).permutation(rows.y)
    rows = rows._replace(y=noise)
    result = fit_member(task(rows, algorithm, kind, **parameters), rows, [folds_of(rows, 4, 0)])
    new = result.fitted.predictions(X)
    if is_class:
        assert result.predictions.shape == new.shape == (N, 3)
        np.testing.assert_allclose(new.sum(axis=1), 1.0)
        np.testing.assert_allclose(result.predictions.sum(axis=1), 1.0)
        guess = np.bincount(noise, minlength=3) / N
        own = np.mean(np.sum((result.predictions - np.eye(3)[noise]) ** 2, axis=1))
        assert own > 0.9 * (1.0 - np.sum(guess**2))
    else:
        assert result.predictions.shape == new.shape == (N,)
        assert np.mean((result.predictions - noise) ** 2) > 0.9 * noise.var()


def test_boosting_is_evaluated_by_the_folds_that_left_a_row_out() -> None:
    """The kept scores stand at the rows of their folds: each is what a run without the fold says."""
    rows = make_rows(False)
    folds = folds_of(rows, 4, 0)
    result = fit_member(task(rows, "gradient boosting"), rows, [folds])
    model = result.fitted.models[0]
    order = np.concatenate([test for _, test in folds])
    np.testing.assert_array_equal(result.predictions[order], model.held_out_scores_[:, 0])
    assert np.corrcoef(result.predictions, rows.y)[0, 1] > 0.5  # rows at the wrong places would know nothing


def test_a_large_table_is_evaluated_on_rows_held_out_once() -> None:
    rows = make_rows(True)
    for algorithm, kind in (("gradient boosting", "codes"), ("linear model", "scaled")):
        result = fit_member(task(rows, algorithm, kind), rows, [folds_of(rows, 4, 0)[:1]])  # type: ignore[arg-type]
        assert len(result.fitted.models) == 1
        assert np.sum(~np.isnan(result.predictions[:, 0])) == 30


def test_repeated_folds_average_predictions_and_models() -> None:
    rows = make_rows(True)
    repeats = [folds_of(rows, 3, seed) for seed in (0, 1)]
    one, other = (fit_member(task(rows, "linear model", "scaled"), rows, [folds]) for folds in repeats)
    both = fit_member(task(rows, "linear model", "scaled"), rows, repeats)
    np.testing.assert_allclose(both.predictions, 0.5 * (one.predictions + other.predictions), atol=1e-9)
    np.testing.assert_allclose(
        both.fitted.predictions(X), 0.5 * (one.fitted.predictions(X) + other.fitted.predictions(X))
    )
    assert len(fit_member(task(rows, "gradient boosting", n_estimators=3), rows, repeats).fitted.models) == 2


def test_a_sample_keeps_every_class() -> None:
    rows = make_rows(True)
    result = fit_member(task(rows, "support vector machine", "scaled", sample=0.2), rows, [folds_of(rows, 3, 0)])
    for model in result.fitted.models:
        assert model.classes_.tolist() == [0, 1, 2]
        assert len(model.support_) <= 20


def test_a_class_that_a_fit_did_not_see_has_probability_zero() -> None:
    y = np.where(np.arange(N) == 0, 3, CODES)
    rows = arrange(Rows(X, y, None, np.zeros(3, bool), 4))
    folds = folds_of(rows, 3, 0)
    result = fit_member(task(rows, "linear model", "scaled"), rows, [folds])
    assert result.fitted.predictions(X).shape == (N, 4)
    assert result.predictions[rows.y == 3, 3].item() == 0.0  # nobody that held_out it had seen its class


def test_columns_that_a_member_sees() -> None:
    rows = make_rows(False)
    some = np.array([0])
    rep = fit_representation("scaled", rows.X[:, some], rows.is_categorical[some])
    result = fit_member(Task("linear model", {}, rep, some, 1.0, 0, None), rows, [folds_of(rows, 3, 0)])
    other = X.copy()
    other[:, 1:] = 0.0
    np.testing.assert_array_equal(result.fitted.predictions(X), result.fitted.predictions(other))


def test_seeds_differ_by_name_and_number() -> None:
    seeds = {derived_seed(0, "a"), derived_seed(0, "b"), derived_seed(1, "a"), derived_seed(0, "a", 1)}
    assert len(seeds) == 4
    assert derived_seed(0, "a") == derived_seed(0, "a")


def test_a_tally_is_a_mean_over_those_that_predicted() -> None:
    tally = Tally(3, 0)
    tally.add(np.array([0, 1]), np.array([1.0, 2.0]))
    tally.add(np.array([1]), np.array([4.0]))
    np.testing.assert_array_equal(tally.mean, [1.0, 3.0, np.nan])
