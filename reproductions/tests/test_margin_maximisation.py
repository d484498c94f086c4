"""Margin maximisers on the same folds; rounds and theta chosen by validation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from committee import AdaBoostClassifier, AdaBoostThetaClassifier, ArcGVClassifier, DecisionTreeClassifier
from committee.datasets import load_dataset
from committee.evaluation._folds import draw_folds, read_labels
from committee.theory.minmax import minmax_over_stumps
from committee_reproductions import (
    MarginMaximisation,
    ValidationChoice,
    margin_maximisation,
    margin_maximisers,
    reproduce_f2,
    reproduce_f6,
    validation_choice,
)

Floats = NDArray[np.float64]


def small_sonar() -> tuple[Floats, NDArray[Any]]:
    X, y = load_dataset("sonar")[:2]
    return X[::3, ::6], y[::3]


def test_margins_and_errors_are_those_of_the_fits():
    X, y = small_sonar()
    boosters = {"AdaBoost": AdaBoostClassifier(n_estimators=30), "arc-gv": ArcGVClassifier(n_estimators=30)}
    found = margin_maximisation(X, y, boosters=boosters, n_folds=3, n_repeats=2, random_state=1)
    assert found.boosters == ("AdaBoost", "arc-gv")
    assert found.smallest_margins.shape == (2, 2, 3)
    folds = draw_folds(read_labels(y), 3, 1, n_repeats=2)
    for b, booster in enumerate(boosters.values()):
        for k, fold in enumerate(folds):
            model = booster.fit(X[fold.train], y[fold.train])
            place = (b, *divmod(k, 3))
            assert found.smallest_margins[place] == model.margins(X[fold.train], y[fold.train]).min()
            assert found.test_errors[place] == np.mean(model.predict(X[fold.test]) != y[fold.test])
    assert found.n_members.tolist() == [30.0, 30.0]


def test_lpboost_has_the_largest_smallest_margin_there_is():
    X, y = small_sonar()
    found = margin_maximisation(X, y, boosters=margin_maximisers(150), n_folds=2, random_state=0)
    assert found.boosters == ("AdaBoost", "AdaBoost*", "arc-gv", "LPBoost")
    for k, fold in enumerate(draw_folds(read_labels(y), 2, 0)):
        best = minmax_over_stumps(X[fold.train], np.where(y[fold.train] == "R", 1, -1)).value
        margins = found.smallest_margins[:, 0, k]
        assert best - 0.002 <= margins[-1] <= best + 1e-6
        assert np.all(margins[:-1] <= best + 1e-6)


def study(errors: Any, margins: Any) -> MarginMaximisation:
    return MarginMaximisation(("AdaBoost", "arc-gv"), np.asarray(margins), np.asarray(errors), np.array([5.0, 6.0]))


def test_verdict_compares_with_the_booster_of_the_largest_margin():
    margins = [[[0.1, 0.1, 0.1]], [[0.2, 0.2, 0.3]]]
    worse = study([[[0.1, 0.2, 0.1]], [[0.2, 0.31, 0.2]]], margins)
    assert "arc-gv has a smallest margin larger by 0.1333 than AdaBoost, and the test error is worse" in worse.verdict
    better = study([[[0.2, 0.31, 0.2]], [[0.1, 0.2, 0.1]]], margins)
    assert "the test error is better" in better.verdict
    alike = study([[[0.1, 0.2, 0.3]], [[0.3, 0.2, 0.1]]], margins)
    assert "do not differ by more than chance" in alike.verdict
    assert "nothing to compare" in study([[[0.1, 0.2, 0.3]], [[0.3, 0.2, 0.1]]], margins[::-1]).verdict
    assert worse.excess("arc-gv").value == pytest.approx(0.31 / 3)
    assert worse.excess("AdaBoost") == (0.0, 0.0)
    with pytest.raises(ValueError, match="No booster 'LPBoost' in this study; there are: AdaBoost, arc-gv"):
        worse.excess("LPBoost")


def test_tables():
    pd = pytest.importorskip("pandas")
    frame = study([[[0.1, 0.2, 0.3]], [[0.3, 0.2, 0.1]]], [[[0.1, 0.1, 0.1]], [[0.2, 0.2, 0.2]]]).to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert frame["booster"].tolist() == ["AdaBoost", "arc-gv"]
    assert frame["smallest_margin"].tolist() == pytest.approx([0.1, 0.2])
    assert frame["excess_stderr"][0] == 0.0 < frame["excess_stderr"][1]


def test_choices_are_those_of_the_classes_on_the_same_validation_rows():
    X, y = small_sonar()
    thetas = (0.0, 0.1, 0.3)
    found = validation_choice(X, y, n_rounds=25, thetas=thetas, n_folds=2, random_state=3)
    for k, fold in enumerate(draw_folds(read_labels(y), 2, 3)):
        rows, labels = X[fold.train], y[fold.train]
        common: dict[str, Any] = {"n_estimators": 25, "validation_fraction": 0.25, "random_state": fold.seed}
        model = AdaBoostClassifier(early_stopping="validation", n_iter_no_change=25, tol=0.0, **common)
        model.fit(rows, labels)
        errors = model.history_.validation_error
        assert found.rounds[0, k] == len(model) == np.argmin(errors) + 1
        assert found.rounds_errors[0, k] == np.mean(model.predict(X[fold.test]) != y[fold.test])
        other = AdaBoostThetaClassifier(theta="validation", thetas=thetas, **common).fit(rows, labels)
        assert found.thetas[0, k] == other.theta_
        assert found.theta_errors[0, k] == np.mean(other.predict(X[fold.test]) != y[fold.test])
        # at theta = 0 both see the same validation rows and the same run
        assert other.theta_errors_[0] == errors[-1]


def test_similar_or_not_is_said():
    same = ValidationChoice(*(np.array([[0.2, 0.3, 0.25]]),) * 3, np.array([[3, 9, 4]]), np.array([[0.0, 0.1, 0.1]]))
    assert same.verdict.startswith("similar: ")
    assert same._replace(theta_errors=same.theta_errors + 0.1).verdict.startswith("not similar: ")
    frame = same.to_pandas()
    assert frame["chosen"].tolist() == ["rounds", "theta", "nothing"]
    assert frame["median_choice"].tolist()[:2] == [4.0, 0.1]


def test_other_learners_and_what_is_refused():
    X, y = small_sonar()
    trees = DecisionTreeClassifier(max_depth=2)
    boosters = margin_maximisers(8, estimator=trees)
    found = margin_maximisation(X, y, boosters=boosters, n_folds=2, random_state=0)
    assert np.all(found.test_errors < 0.6)
    with pytest.raises(ValueError, match="boosters is empty"):
        margin_maximisation(X, y, boosters={})
    with pytest.raises(ValueError, match="y has 1 class"):
        validation_choice(X, np.ones(len(X)))


class Interrupted(AdaBoostClassifier):
    """Stands in for Ctrl-C."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **kwargs: Any) -> Any:
        raise KeyboardInterrupt


def test_ctrl_c_reaches_the_user():
    X, y = small_sonar()
    with pytest.raises(KeyboardInterrupt):
        margin_maximisation(X, y, boosters={"AdaBoost": Interrupted()}, n_folds=2, verbose=1)


def test_reproductions_run_on_built_in_sets():
    margins = reproduce_f6(("sonar",), n_rounds=10, n_folds=2)
    assert list(margins) == ["sonar"]
    assert len(margins["sonar"].boosters) == 4
    choices = reproduce_f2(("sonar",), n_rounds=10, n_folds=2)
    assert choices["sonar"].rounds.shape == (1, 2)
