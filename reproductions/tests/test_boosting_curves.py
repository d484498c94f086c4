"""Boosting curves: they are those of the fits, and the verdict separates noise from overfitting."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.tree import DecisionTreeClassifier as AnyTree

from committee import (
    AdaBoostClassifier,
    AdaBoostM1Classifier,
    AdaBoostStarClassifier,
    AdaBoostThetaClassifier,
    AnyBoostClassifier,
    ArcGVClassifier,
    ConfidenceRatedAdaBoostClassifier,
    DecisionTreeClassifier,
    LPBoostClassifier,
    SchapireBoostClassifier,
)
from committee.datasets import load_dataset
from committee.evaluation._folds import draw_folds
from committee_reproductions import BoostingCurves, CrossValidation, boosting_curves, draw_boosting_curves
from committee_reproductions.schapire_1998_margins import boosted_stumps

Floats = NDArray[np.float64]


def table(n: int = 120, n_classes: int = 2, flip: float = 0.0) -> tuple[Floats, NDArray[np.int64]]:
    return make_classification(
        n, 6, n_informative=4, n_redundant=0, n_classes=n_classes, flip_y=flip, class_sep=1.2, random_state=0
    )


def test_curves_are_those_of_the_fits_on_every_fold():
    X, y = table()
    names = np.array(["no", "yes"])[y]
    curves = boosting_curves(X, names, n_rounds=12, margin_rounds=[3, 12], cv=CrossValidation(3, 2, 5))
    margins: dict[int, list[Floats]] = {3: [], 12: []}
    for k, fold in enumerate(draw_folds(y.astype(np.int64), 3, 5, n_repeats=2)):
        model = AdaBoostClassifier(n_estimators=12).fit(X[fold.train], names[fold.train])
        place = divmod(k, 3)
        np.testing.assert_allclose(curves.train_errors[place], model.history_.train_error, atol=1e-12)
        test = [1.0 - score for score in model.staged_score(X[fold.test], names[fold.test])]
        np.testing.assert_allclose(curves.test_errors[place], test)
        for t, staged in enumerate(model.staged_margins(X[fold.train], names[fold.train]), start=1):
            if t in margins:
                margins[t].append(staged.copy())
    for t, values in margins.items():
        np.testing.assert_allclose(curves.margins[t], np.concatenate(values))


BOOSTERS = [
    AdaBoostClassifier(), AdaBoostM1Classifier(), AdaBoostThetaClassifier(theta=0.1), AdaBoostStarClassifier(nu=0.1),
    ArcGVClassifier(), LPBoostClassifier(nu=0.2), ConfidenceRatedAdaBoostClassifier(), AnyBoostClassifier(),
    SchapireBoostClassifier(), AdaBoostClassifier(weighting="resample"),
    AdaBoostClassifier(early_stopping="validation"),
    AdaBoostClassifier(DecisionTreeClassifier(max_depth=2)), AdaBoostClassifier(AnyTree(max_depth=1)),
]  # fmt: skip


@pytest.mark.parametrize("booster", BOOSTERS, ids=lambda model: str(model)[:60])
def test_every_booster_with_stages_can_be_studied(booster: Any):
    X, y = table(60)
    runs = [boosting_curves(X, y, booster, n_rounds=6, cv=CrossValidation(3)) for _ in range(2)]
    curves = runs[0]
    assert 1 <= curves.rounds[-1] <= 6
    np.testing.assert_array_equal(curves.test_errors, runs[1].test_errors)
    assert max(curves.margins) == curves.rounds[-1]
    assert curves.margins[max(curves.margins)].size == 120
    assert curves.test_error[-1] < 0.5
    assert not hasattr(booster, "members_"), "the user's own estimator stays as it is"


def test_several_classes_and_frames_with_categories():
    pd = pytest.importorskip("pandas")
    X, y = table(90, 3)
    frame = pd.DataFrame(X).rename(columns=str)
    frame["group"] = pd.Categorical(np.where(X[:, 0] > 0, "high", "low"))
    curves = boosting_curves(frame, y, n_rounds=10, cv=CrossValidation(3))
    assert curves.test_error[-1] < curves.test_error[0] < 2 / 3
    assert curves.margins[10].size == 180


def test_a_run_that_ends_early_keeps_its_last_vote():
    X = np.repeat(np.arange(30.0)[:, None], 2, axis=1)
    y = (X[:, 0] >= 15).astype(int)
    y[:2] = 1  # perfect stumps only in folds that judge both of these rows; two rounds or more elsewhere
    curves = boosting_curves(X, y, n_rounds=8, cv=CrossValidation(15))
    folds = draw_folds(y.astype(np.int64), 15, 0)
    for k, fold in enumerate(folds):
        own = [np.mean(labels != y[fold.train]) for labels in _fit_quietly(X, y, fold).staged_predict(X[fold.train])]
        np.testing.assert_allclose(curves.train_errors[0, k, : len(own)], own)
        assert np.all(curves.train_errors[0, k, len(own) :] == own[-1])


def _fit_quietly(X: Floats, y: NDArray[Any], fold: Any) -> AdaBoostClassifier:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return AdaBoostClassifier(n_estimators=8).fit(X[fold.train], y[fold.train])


def test_other_boosters_without_margins_have_errors():
    X, y = table(60)
    curves = boosting_curves(X, y, GradientBoostingClassifier(), n_rounds=5, cv=CrossValidation(2))
    assert curves.margins == {}
    assert curves.rounds.tolist() == [1, 2, 3, 4, 5]


def made(test: Any) -> BoostingCurves:
    test = np.asarray(test, np.float64)
    return BoostingCurves(np.zeros_like(test), test, {}, "AdaBoostClassifier")


def test_increase_is_paired_and_the_unbiased_one_chooses_elsewhere():
    curves = made([[[0.3, 0.1, 0.4], [0.3, 0.3, 0.5], [0.3, 0.2, 0.3]]])
    assert curves.best_round == 2
    assert curves.increase.value == pytest.approx(0.2)
    differences = np.array([0.3, 0.2, 0.1])
    assert curves.increase.stderr == pytest.approx(np.sqrt((1 / 3 + 1 / 2) * differences.var(ddof=1)))
    # round 2 is the best of any two folds, so the choice is the same
    assert curves.unbiased_increase == pytest.approx(curves.increase)
    lucky = made([[[0.0, 0.2, 0.2], [0.28, 0.2, 0.2], [0.28, 0.2, 0.2]]])
    assert lucky.increase.value == pytest.approx(0.04 / 3)
    # round 1 is best by chance in the first fold: the others pay for it, and that fold would not have chosen it
    assert lucky.best_round == 1
    assert lucky.unbiased_increase.value == pytest.approx((0.0 - 0.08 - 0.08) / 3)


def test_the_choice_of_a_round_stays_within_its_repeat():
    # by the second repeat alone round 2 is best, by the first alone round 1
    curves = made([[[0.1, 0.3, 0.3]] * 2, [[0.5, 0.2, 0.3]] * 2])
    assert curves.unbiased_increase.value == pytest.approx((0.2 + 0.1) / 2)


def test_noise_is_no_overfitting_and_an_increase_is():
    rng = np.random.default_rng(0)
    level = 0.2 + 0.02 * rng.normal(size=(1, 10, 400))
    level[..., -1] = 0.2
    assert made(level).increase.value > 0.01, "the smallest of many is below the mean"
    assert made(level).verdict.startswith("no overfitting")
    rising = level + np.linspace(0.0, 0.1, 400)
    assert made(rising).verdict.startswith("overfits")


def test_noisy_labels_overfit_and_clean_ones_do_not():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 20))
    clean = (X[:, 0] > 0).astype(int)  # one stump is enough
    noisy = np.where(rng.random(400) < 0.3, 1 - clean, clean)
    curves = boosting_curves(X, noisy, n_rounds=200, cv=CrossValidation(5))
    assert curves.best_round < 20
    assert curves.verdict.startswith("overfits"), curves.verdict
    assert curves.train_error[-1] < 0.6 * curves.test_error[-1]
    assert boosting_curves(X, clean, n_rounds=200, cv=CrossValidation(5)).verdict.startswith("no overfitting")


def test_history_and_frame():
    X, y = table(60)
    curves = boosting_curves(X, y, n_rounds=5, cv=CrossValidation(3))
    assert list(curves.history) == ["round", "train_error", "train_stderr", "test_error", "test_stderr"]
    np.testing.assert_array_equal(curves.history.test_error, curves.test_errors.mean(axis=(0, 1)))
    pd = pytest.importorskip("pandas")
    frame = curves.to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert frame["round"].tolist() == [1, 2, 3, 4, 5]


def test_margin_rounds_by_default_and_at_the_end():
    X, y = table(60)
    assert list(boosting_curves(X, y, n_rounds=15, cv=CrossValidation(2)).margins) == [1, 10, 15]
    assert list(boosting_curves(X, y, n_rounds=1, cv=CrossValidation(2)).margins) == [1]


def test_invalid_arguments_raise():
    X, y = table(40)
    with pytest.raises(ValueError, match="n_rounds must be at least 1"):
        boosting_curves(X, y, n_rounds=0)
    for rounds in ([0], [11], []):
        with pytest.raises(ValueError, match=r"margin_rounds must lie in 1\.\.10"):
            boosting_curves(X, y, n_rounds=10, margin_rounds=rounds)
    with pytest.raises(TypeError, match="DecisionTreeClassifier has no staged_predict"):
        boosting_curves(X, y, DecisionTreeClassifier())
    with pytest.raises(ValueError, match="got 1 class"):
        boosting_curves(X, np.zeros(40))


class Interrupted(AdaBoostClassifier):
    """Stands in for Ctrl-C in the second fold."""

    n_fits = 0

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **kwargs: Any) -> Any:
        type(self).n_fits += 1
        if type(self).n_fits == 2:
            raise KeyboardInterrupt
        return super().fit(X, y, sample_weight, **kwargs)


def test_ctrl_c_stops_at_once_and_leaves_nothing_behind(capsys: pytest.CaptureFixture[str]):
    X, y = table(40)
    model = Interrupted(n_estimators=4)
    with pytest.raises(KeyboardInterrupt):
        boosting_curves(X, y, model, n_rounds=3, cv=CrossValidation(4, verbose=1))
    assert Interrupted.n_fits == 2
    assert str(model) == str(clone(model))
    assert not hasattr(model, "members_")
    assert "1/4" in capsys.readouterr().out  # the bar stood at the first fold when it ended


def test_data_sets_are_in_order_of_overfitting():
    curves = boosted_stumps(("sonar", "ionosphere"), 15, CrossValidation(3))
    assert set(curves) == {"sonar", "ionosphere"}
    relative = [each.unbiased_increase.value / each.test_error.min() for each in curves.values()]
    assert relative == sorted(relative)
    X, y = load_dataset("sonar")[:2]
    alone = boosting_curves(X, y, n_rounds=15, cv=CrossValidation(3))
    np.testing.assert_array_equal(curves["sonar"].test_errors, alone.test_errors)


def test_picture_shows_errors_with_bands_and_margins(assert_readable: Any):
    X, y = load_dataset("sonar")[:2]
    curves = boosting_curves(X, y, n_rounds=30, cv=CrossValidation(3))
    figure = draw_boosting_curves({"sonar": curves, "again": curves})
    assert_readable(figure)
    errors, _, margins, _ = figure.axes
    train, test, ring = errors.get_lines()
    np.testing.assert_array_equal(train.get_ydata(), curves.train_error)
    np.testing.assert_array_equal(test.get_ydata(), curves.test_error)
    np.testing.assert_allclose(ring.get_xydata()[0], [curves.best_round, curves.test_error.min()])
    corners = errors.collections[1].get_paths()[0].vertices
    here = corners[corners[:, 0] == 17, 1]
    assert (here.max() - here.min()) / 2 == pytest.approx(curves.test_stderr[16])
    for t, line in zip((1, 10, 30), margins.get_lines(), strict=False):
        at, fraction = (np.asarray(values) for values in line.get_data())
        for theta in (-0.3, 0.0, 0.21, 0.5):
            expected = np.mean(curves.margins[t] <= theta)
            assert fraction[at <= theta].max(initial=0.0) == pytest.approx(expected)


def test_picture_without_margins_has_one_row():
    curves = made([[[0.3, 0.1, 0.4], [0.3, 0.3, 0.5], [0.3, 0.2, 0.3]]])
    assert len(draw_boosting_curves(curves).axes) == 1
    with pytest.raises(ValueError, match="nothing to draw"):
        draw_boosting_curves({})
