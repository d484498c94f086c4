"""The figures of `boosting_evidence` against the functions they come from, and their words."""

from __future__ import annotations

import numpy as np
import pytest

from committee import AdaBoostClassifier, DecisionTreeClassifier, LPBoostClassifier, boosting_evidence
from committee.data.samples import load_sample
from committee.theory.minmax import minmax_over_stumps


def test_figures_are_those_of_the_fit():
    sonar = load_sample("sonar")
    model = AdaBoostClassifier(n_estimators=60).fit(sonar.X, sonar.y)
    found = boosting_evidence(model, sonar.X, sonar.y)
    margins = model.margins(sonar.X, sonar.y)
    signs = np.where(np.asarray(sonar.y) == model.classes_[1], 1, -1)
    assert found.n_members == 60
    assert found.train_error == pytest.approx(model.history_.train_error[-1])
    assert found.exponential_risk == model.history_.exponential_risk[-1]
    assert found.smallest_margin == margins.min()
    assert found.best_of_stumps == pytest.approx(minmax_over_stumps(sonar.X, signs).value, abs=1e-9)
    assert found.smallest_margin <= found.best_of_members <= found.best_of_stumps + 1e-9
    assert found.distance == pytest.approx(found.best_of_stumps - margins.min(), abs=1e-9)
    assert found.vc.is_vacuous
    assert found.margin.is_vacuous
    assert "vacuous" in str(found)


def test_many_rows_make_the_bounds_mean_something():
    rng = np.random.default_rng(0)
    X = rng.random((40_000, 2))
    y = (X[:, 0] > 0.3).astype(int)
    y[:200] = 1 - y[:200]
    model = AdaBoostClassifier(n_estimators=3).fit(X, y)
    found = boosting_evidence(model, X, y)
    assert not found.vc.is_vacuous
    assert found.vc.value < 0.2
    assert np.isnan(found.best_of_stumps)  # too many for the linear program
    assert "vacuous" not in str(found).splitlines()[-2]


def test_other_boosters_and_refusals():
    sonar, glass = load_sample("sonar"), load_sample("glass")
    model = LPBoostClassifier(nu=0.3, n_estimators=40).fit(sonar.X, sonar.y)
    assert str(boosting_evidence(model, sonar.X, sonar.y)).startswith(f"{len(model)} members")
    many = AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=5).fit(glass.X, glass.y)
    with pytest.raises(ValueError, match="theory is that of two classes"):
        boosting_evidence(many, glass.X, glass.y)
