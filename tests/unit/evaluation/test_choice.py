"""Which method is chosen: a preferred one within a standard error of the smallest loss, else the smallest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from committee.evaluation.comparison import compare


class Fixed(ClassifierMixin, BaseEstimator):
    """Predicts the class by the sign of one column, with this probability."""

    def __init__(self, column: int = 0, probability: float = 0.9) -> None:
        self.column, self.probability = column, probability

    def fit(self, X: Any, y: Any) -> Fixed:
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X: Any) -> Any:
        p = np.where(X[:, self.column] > 0.0, self.probability, 1.0 - self.probability)
        return np.stack([1.0 - p, p], axis=1)

    def predict(self, X: Any) -> Any:
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def table(n: int, flips: tuple[float, ...]) -> tuple[Any, Any]:
    """Columns whose signs are wrong in exactly these fractions of the rows."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    signs = [np.where(rng.permutation(n) < round(flip * n), 1 - y, y) * 2.0 - 1.0 for flip in flips]
    return np.column_stack(signs) * rng.uniform(0.5, 1.5, (n, len(flips))), y


def chosen(names: tuple[str, str], flips: tuple[float, float], **how: Any) -> str:
    X, y = table(600, flips)
    methods = {name: Fixed(k) for k, name in enumerate(names)}
    return compare(X, y, methods=methods, test_size=0.0, **how)[0].winner


def test_the_committee_is_chosen_where_it_is_hardly_worse():
    assert chosen(("SVM", "committee"), (0.10, 0.11)) == "committee"


def test_the_smallest_loss_is_chosen_where_it_is_clear():
    assert chosen(("SVM", "committee"), (0.05, 0.15)) == "SVM"


def test_other_names_have_no_privilege():
    X, y = table(600, (0.10, 0.11))
    found, _ = compare(X, y, methods={"one": Fixed(0), "other": Fixed(1)}, test_size=0.0)
    assert found.winner == min(found.results, key=lambda result: result.mean_loss).name


@pytest.mark.parametrize("how", [{"groups": np.arange(600) // 20}, {"time": np.arange(600)}])
def test_the_linear_model_is_chosen_where_rows_depend_on_each_other(how: dict[str, Any]):
    assert chosen(("committee", "linear model"), (0.10, 0.11), **how) == "linear model"
    assert chosen(("committee", "linear model"), (0.05, 0.25), **how) == "committee"


def test_the_constant_stays_where_its_loss_is_the_smallest():
    """A column without information: a preferred method within one standard error does not replace the constant."""
    X, y = table(600, (0.5, 0.5))
    methods = {"constant": Fixed(0, 0.5), "linear model": Fixed(1, 0.52)}
    found, _ = compare(X, y, methods=methods, groups=np.arange(600) // 20, test_size=0.0)
    assert found.result("linear model").mean_loss - found.result("constant").mean_loss < 0.01
    assert found.winner == "constant"


def test_a_lead_over_the_constant_in_three_of_twelve_groups_is_no_evidence():
    """Clear if rows were independent, not by the twelve groups that are."""
    rng = np.random.default_rng(0)
    groups = np.arange(600) // 50
    y = rng.integers(0, 2, 600)
    sign = np.where(groups < 3, y, rng.integers(0, 2, 600)) * 2.0 - 1.0
    one = {"some": Fixed(0, 0.6)}
    by_row = compare(sign[:, None], y, methods=one, groups=None, time=None, test_size=0.0)[0]
    by_group = compare(sign[:, None], y, methods=one, groups=groups, test_size=0.0)[0]
    assert by_row.results[0].beats_constant is True
    assert by_group.results[0].beats_constant is False


def test_groups_widen_the_standard_error():
    """Each method errs in one group, one of them a little more: clear by rows, not at all by groups."""
    rng = np.random.default_rng(0)
    groups, place = np.arange(600) // 50, np.arange(600) % 50
    y = rng.integers(0, 2, 600)
    wrong = [(groups == 7) & (place < 30), groups == 3]
    X = np.column_stack([np.where(each, 1 - y, y) * 2.0 - 1.0 for each in wrong])
    by_group = compare(X, y, methods={"SVM": Fixed(0), "linear model": Fixed(1)}, groups=groups, test_size=0.0)[0]
    by_row = compare(X, y, methods={"SVM": Fixed(0), "committee": Fixed(1)}, groups=None, time=None, test_size=0.0)[0]
    assert by_group.winner == "linear model"
    assert by_row.winner == "SVM"
