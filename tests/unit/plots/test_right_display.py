"""Displays refuse what they cannot draw, and name the one that can."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import committee
from committee import plots
from committee.explain.svm_geometry import svm_geometry
from committee.plots._checks import right_display
from committee.trees.export import export_graphviz, export_text

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
LABELS = (X[:, 0] + 0.3 * RNG.normal(size=60) > 0.0).astype(int)
VALUES = X.sum(axis=1)

MODELS: dict[str, tuple[Any, str]] = {
    "forest": (committee.RandomForestClassifier(5, random_state=0), "OutOfBagErrorDisplay"),
    "regression forest": (committee.RandomForestRegressor(5, random_state=0), "OutOfBagErrorDisplay"),
    "bagging": (committee.BaggingClassifier(n_estimators=5, random_state=0), "OutOfBagErrorDisplay"),
    "gradient boosting": (committee.GradientBoostingClassifier(n_estimators=5), "LossCurveDisplay"),
    "boosted regression": (committee.GradientBoostingRegressor(n_estimators=5), "LossCurveDisplay"),
    "AdaBoost": (committee.AdaBoostClassifier(n_estimators=5), "ErrorCurveDisplay"),
    "AdaBoost.R2": (committee.AdaBoostRegressor(n_estimators=5), "ErrorCurveDisplay"),
    "machine": (committee.SVC(), "SVMDecisionBoundaryDisplay"),
    "regression machine": (committee.SVR(), "PartialDependenceDisplay"),
    "mixture": (committee.MixtureOfExpertsClassifier(random_state=0), "LikelihoodCurveDisplay"),
    "tree": (committee.DecisionTreeClassifier(max_depth=2), "TreeDisplay"),
    "foreign": (LogisticRegression(), "PartialDependenceDisplay"),
}
"""Estimators, and what draws them."""

BY_ROUNDS = {"AdaBoost"}
GRADIENT = {"gradient boosting", "boosted regression"}
BAGGED = {"forest", "regression forest", "bagging"}
TREES = {*BAGGED, *GRADIENT, "AdaBoost", "tree"}
DRAWS: dict[str, set[str]] = {
    "CommitteeMembersDisplay": set(),
    "EdgeDisplay": BY_ROUNDS,
    "ErrorCurveDisplay": {"AdaBoost", "AdaBoost.R2"},
    "ExpertLoadDisplay": {"mixture"},
    "GateRegionsDisplay": {"mixture"},
    "ImportancesDisplay": {*TREES, "AdaBoost.R2"},
    "KappaErrorDisplay": {*BAGGED, "AdaBoost", "AdaBoost.R2"},
    "LikelihoodCurveDisplay": {"mixture"},
    "LossCurveDisplay": GRADIENT,
    "MarginDistributionDisplay": BY_ROUNDS,
    "OutOfBagErrorDisplay": BAGGED,
    "PartialDependenceDisplay": set(MODELS),
    "PruningDisplay": set(),
    "DecisionRoundsDisplay": BY_ROUNDS,
    "EnsembleSelectionDisplay": set(),
    "ShapSummaryDisplay": TREES,
    "ShapWaterfallDisplay": TREES,
    "LabelIssuesDisplay": {"forest", "AdaBoost"},
    "SVMDecisionBoundaryDisplay": {"machine"},
    "TreeDisplay": {"tree"},
}
"""What every display of an estimator draws; all else it refuses."""

ARGUMENTS: dict[str, tuple[str, ...]] = {
    "GateRegionsDisplay": ("X", "y"),
    "KappaErrorDisplay": ("X", "y"),
    "MarginDistributionDisplay": ("X", "y"),
    "PartialDependenceDisplay": ("X", "features"),
    "DecisionRoundsDisplay": ("X", "y"),
    "ShapSummaryDisplay": ("X",),
    "ShapWaterfallDisplay": ("X",),
    "LabelIssuesDisplay": ("X", "y"),
    "SVMDecisionBoundaryDisplay": ("X", "y"),
}

OTHER_WORDS = (
    "CommitteeClassifier", "bagging, forests, boosted classifiers", "permutation_importances",
    "SHAP values are for trees", "combine='mean'", "SVC, NuSVC, LinearSVC", "a single one",
    "decision tree is needed",
)  # fmt: skip
"""Of displays that say what they are for instead."""


@cache
def fitted(kind: str) -> tuple[Any, Any]:
    model = MODELS[kind][0]
    y = VALUES if kind.endswith(("regression", "regression forest", "regression machine", "R2")) else LABELS
    return model.fit(X, y), y


def draw(display: str, model: Any, y: Any) -> Any:
    given = {"X": X, "y": y, "features": [0]}
    return getattr(plots, display).from_estimator(model, *(given[name] for name in ARGUMENTS.get(display, ())))


def test_all_displays_of_estimators_are_here() -> None:
    assert set(DRAWS) == {name for name in plots.__all__ if hasattr(getattr(plots, name), "from_estimator")}


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("display", DRAWS)
def test_a_display_draws_or_names_another(display: str, kind: str) -> None:

    model, y = fitted(kind)
    if kind in DRAWS[display]:
        assert draw(display, model, y).figure_ is not None
    elif (display, kind) == ("PruningDisplay", "tree"):
        with pytest.raises(NotFittedError, match='fit DecisionTreeClassifier with ccp_alpha="cv" first'):
            draw(display, model, y)
    else:
        with pytest.raises(TypeError) as caught:
            draw(display, model, y)
        words = str(caught.value)
        assert MODELS[kind][1] in words or any(word in words for word in OTHER_WORDS)
        assert type(model).__name__ in words


@pytest.mark.slow
@pytest.mark.parametrize("kind", MODELS)
def test_the_display_named_does_draw_the_model(kind: str) -> None:

    model, y = fitted(kind)
    name = right_display(model).split()[0]
    assert name == MODELS[kind][1]
    assert draw(name, model, y).figure_ is not None


@pytest.mark.parametrize("display", ["ErrorCurveDisplay", "OutOfBagErrorDisplay", "PruningDisplay", "LossCurveDisplay"])
def test_a_model_that_is_not_fitted_is_reported_so(display: str) -> None:
    with pytest.raises(NotFittedError, match="fit AdaBoostClassifier first"):
        draw(display, committee.AdaBoostClassifier(), LABELS)


@pytest.mark.parametrize("show", [export_text, export_graphviz, plots.plot_tree])
def test_single_trees_of_ensembles_are_named(show: Any) -> None:
    for kind in ("forest", "bagging", "AdaBoost"):
        model = fitted(kind)[0]
        with pytest.raises(TypeError, match=rf"{type(model).__name__} has many trees"):
            show(model)
        assert show(model.estimators_[0])
    with pytest.raises(TypeError, match=r"GradientBoostingClassifier is a sum of trees.*shap_values"):
        show(fitted("gradient boosting")[0])
    with pytest.raises(TypeError, match=r"SVC has no tree"):
        show(fitted("machine")[0])
    with pytest.raises(NotFittedError, match="RandomForestClassifier is not fitted yet"):
        show(committee.RandomForestClassifier())


def test_geometry_is_for_machines_that_separate_classes() -> None:
    for kind in ("regression machine", "regression forest", "forest"):
        model, y = fitted(kind)
        with pytest.raises(TypeError, match=rf"SVC, NuSVC, LinearSVC\), not for {type(model).__name__}"):
            svm_geometry(model, X, y)
