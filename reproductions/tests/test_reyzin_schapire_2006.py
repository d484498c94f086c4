"""Margin maximisers on the same folds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from committee import AdaBoostClassifier, ArcGVClassifier, DecisionTreeClassifier
from committee.datasets import load_dataset
from committee.evaluation._folds import draw_folds, read_labels
from committee.theory.minmax import minmax_over_stumps
from committee_reproductions import REPRODUCTIONS, CrossValidation
from committee_reproductions.reyzin_schapire_2006 import (
    MarginMaximisation,
    compare,
    margin_maximisation,
    margin_maximisers,
)

Floats = NDArray[np.float64]


def small_sonar() -> tuple[Floats, NDArray[Any]]:
    X, y = load_dataset("sonar")[:2]
    return X[::3, ::6], y[::3]


def test_margins_and_errors_are_those_of_the_fits():
    X, y = small_sonar()
    boosters = {"AdaBoost": AdaBoostClassifier(n_estimators=30), "arc-gv": ArcGVClassifier(n_estimators=30)}
    result = margin_maximisation(X, y, boosters, cv=CrossValidation(3, 2, 1))
    assert result.boosters == ("AdaBoost", "arc-gv")
    assert result.smallest_margins.shape == (2, 2, 3)
    folds = draw_folds(read_labels(y), 3, 1, n_repeats=2)
    for b, booster in enumerate(boosters.values()):
        for k, fold in enumerate(folds):
            model = booster.fit(X[fold.train], y[fold.train])
            place = (b, *divmod(k, 3))
            assert result.smallest_margins[place] == model.margins(X[fold.train], y[fold.train]).min()
            assert result.test_errors[place] == np.mean(model.predict(X[fold.test]) != y[fold.test])
    assert result.n_members.tolist() == [30.0, 30.0]


def test_lpboost_has_the_largest_smallest_margin_there_is():
    X, y = small_sonar()
    result = margin_maximisation(X, y, margin_maximisers(150), cv=CrossValidation(2))
    assert result.boosters == ("AdaBoost", "AdaBoost*", "arc-gv", "LPBoost")
    for k, fold in enumerate(draw_folds(read_labels(y), 2, 0)):
        best = minmax_over_stumps(X[fold.train], np.where(y[fold.train] == "R", 1, -1)).value
        margins = result.smallest_margins[:, 0, k]
        assert best - 0.002 <= margins[-1] <= best + 1e-6
        assert np.all(margins[:-1] <= best + 1e-6)


def measured(errors: Any, margins: Any) -> MarginMaximisation:
    return MarginMaximisation(("AdaBoost", "arc-gv"), np.asarray(margins), np.asarray(errors), np.array([5.0, 6.0]))


def test_verdict_compares_with_the_booster_of_the_largest_margin():
    margins = [[[0.1, 0.1, 0.1]], [[0.2, 0.2, 0.3]]]
    worse = measured([[[0.1, 0.2, 0.1]], [[0.2, 0.31, 0.2]]], margins)
    assert "arc-gv has a smallest margin larger by 0.1333 than AdaBoost, and the test error is worse" in worse.verdict
    better = measured([[[0.2, 0.31, 0.2]], [[0.1, 0.2, 0.1]]], margins)
    assert "the test error is better" in better.verdict
    alike = measured([[[0.1, 0.2, 0.3]], [[0.3, 0.2, 0.1]]], margins)
    assert "do not differ by more than chance" in alike.verdict
    assert "nothing to compare" in measured([[[0.1, 0.2, 0.3]], [[0.3, 0.2, 0.1]]], margins[::-1]).verdict
    assert worse.excess("arc-gv").value == pytest.approx(0.31 / 3)
    assert worse.excess("AdaBoost") == (0.0, 0.0)
    with pytest.raises(ValueError, match="No booster 'LPBoost'"):
        worse.excess("LPBoost")


def test_tables():
    pd = pytest.importorskip("pandas")
    frame = measured([[[0.1, 0.2, 0.3]], [[0.3, 0.2, 0.1]]], [[[0.1, 0.1, 0.1]], [[0.2, 0.2, 0.2]]]).to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert frame["booster"].tolist() == ["AdaBoost", "arc-gv"]
    assert frame["smallest_margin"].tolist() == pytest.approx([0.1, 0.2])
    assert frame["excess_stderr"][0] == 0.0 < frame["excess_stderr"][1]


def test_other_weak_learners_and_invalid_arguments():
    X, y = small_sonar()
    trees = DecisionTreeClassifier(max_depth=2)
    boosters = margin_maximisers(8, estimator=trees)
    result = margin_maximisation(X, y, boosters, cv=CrossValidation(2))
    assert np.all(result.test_errors < 0.6)
    with pytest.raises(ValueError, match="boosters is empty"):
        margin_maximisation(X, y, {})
    with pytest.raises(ValueError, match="got 1 class"):
        margin_maximisation(X, np.ones(len(X)), boosters)


class Interrupted(AdaBoostClassifier):
    """Stands in for Ctrl-C."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **kwargs: Any) -> Any:
        raise KeyboardInterrupt


def test_ctrl_c_reaches_the_user():
    X, y = small_sonar()
    with pytest.raises(KeyboardInterrupt):
        margin_maximisation(X, y, {"AdaBoost": Interrupted()}, cv=CrossValidation(2, verbose=1))


def test_points_stand_at_margin_and_error(assert_readable: Any):
    one = measured([[[0.1, 0.2, 0.3]], [[0.3, 0.2, 0.1]]], [[[0.1, 0.1, 0.1]], [[0.2, 0.2, 0.3]]])
    result = REPRODUCTIONS["margin-maximisation"].run(quick=True)._replace(data={"sonar, stumps": one})
    figure = REPRODUCTIONS["margin-maximisation"].figure(result)
    assert_readable(figure)
    points = [container.lines[0].get_xydata()[0] for container in figure.axes[0].containers]
    expected = [(one.smallest_margin(name).value, one.test_error(name).value) for name in one.boosters]
    np.testing.assert_allclose(points, expected)


def test_claims_depend_on_the_weak_learner():
    wide = measured([[[0.1, 0.2, 0.3]], [[0.1, 0.2, 0.3]]], [[[0.1, 0.1, 0.1]], [[0.2, 0.2, 0.2]]])
    claims = compare({"sonar, 8 leaves": wide, "sonar, stumps": wide}).claims
    assert [claim.holds for claim in claims] == [True, True, False]
