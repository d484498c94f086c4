"""committee: ensemble learning on tables, with the evidence attached to every fit."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from committee.bagging.bagging_estimators import BaggingClassifier, BaggingRegressor
    from committee.bagging.online_bagging import OnlineBaggingClassifier, OnlineBaggingRegressor
    from committee.boosting.adaboost import AdaBoostClassifier
    from committee.boosting.adaboost_m1 import AdaBoostM1Classifier
    from committee.boosting.adaboost_r2 import AdaBoostRegressor
    from committee.boosting.adaboost_star import AdaBoostStarClassifier
    from committee.boosting.adaboost_theta import AdaBoostThetaClassifier
    from committee.boosting.anyboost import AnyBoostClassifier
    from committee.boosting.arc_gv import ArcGVClassifier
    from committee.boosting.confidence_rated import ConfidenceRatedAdaBoostClassifier
    from committee.boosting.gradient_boosting_estimators import GradientBoostingClassifier, GradientBoostingRegressor
    from committee.boosting.lpboost import LPBoostClassifier
    from committee.boosting.online_boosting import OnlineBoostingClassifier
    from committee.boosting.schapire import SchapireBoostClassifier
    from committee.boosting.stagewise import StagewiseRegressor
    from committee.explain.boosting_evidence import boosting_evidence
    from committee.explain.forest_evidence import forest_evidence
    from committee.explain.forest_importances import forest_importances
    from committee.explain.shap import shap_interaction_values, shap_values
    from committee.explain.suspicious_rows import suspicious_rows
    from committee.forests.estimators import (
        ExtraTreesClassifier,
        ExtraTreesRegressor,
        RandomForestClassifier,
        RandomForestRegressor,
    )
    from committee.parts.perceptron import PocketPerceptron
    from committee.parts.restarts import BestOfRestarts
    from committee.studies.bagging_simulation import bagging_simulation
    from committee.studies.boosting_experiment import boosting_experiment
    from committee.studies.margin_maximisation import margin_maximisation
    from committee.studies.spam import spam_experiment
    from committee.trees.decision_stump import DecisionStump
    from committee.trees.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
    from committee.trees.export import export_graphviz, export_text

# What `from committee import ...` finds, and where: nothing is imported before it is asked for.
_HOME = {
    "bagging_simulation": "committee.studies.bagging_simulation",
    "boosting_experiment": "committee.studies.boosting_experiment",
    "forest_evidence": "committee.explain.forest_evidence",
    "forest_importances": "committee.explain.forest_importances",
    "spam_experiment": "committee.studies.spam",
    "margin_maximisation": "committee.studies.margin_maximisation",
    "boosting_evidence": "committee.explain.boosting_evidence",
    "shap_interaction_values": "committee.explain.shap",
    "shap_values": "committee.explain.shap",
    "suspicious_rows": "committee.explain.suspicious_rows",
    "BestOfRestarts": "committee.parts.restarts",
    "PocketPerceptron": "committee.parts.perceptron",
    "StagewiseRegressor": "committee.boosting.stagewise",
    "AdaBoostRegressor": "committee.boosting.adaboost_r2",
    "SchapireBoostClassifier": "committee.boosting.schapire",
    "LPBoostClassifier": "committee.boosting.lpboost",
    "AnyBoostClassifier": "committee.boosting.anyboost",
    "ConfidenceRatedAdaBoostClassifier": "committee.boosting.confidence_rated",
    "AdaBoostStarClassifier": "committee.boosting.adaboost_star",
    "ArcGVClassifier": "committee.boosting.arc_gv",
    "AdaBoostThetaClassifier": "committee.boosting.adaboost_theta",
    "AdaBoostM1Classifier": "committee.boosting.adaboost_m1",
    "AdaBoostClassifier": "committee.boosting.adaboost",
    "GradientBoostingClassifier": "committee.boosting.gradient_boosting_estimators",
    "GradientBoostingRegressor": "committee.boosting.gradient_boosting_estimators",
    "BaggingClassifier": "committee.bagging.bagging_estimators",
    "BaggingRegressor": "committee.bagging.bagging_estimators",
    "OnlineBaggingClassifier": "committee.bagging.online_bagging",
    "OnlineBaggingRegressor": "committee.bagging.online_bagging",
    "OnlineBoostingClassifier": "committee.boosting.online_boosting",
    "ExtraTreesClassifier": "committee.forests.estimators",
    "ExtraTreesRegressor": "committee.forests.estimators",
    "RandomForestClassifier": "committee.forests.estimators",
    "RandomForestRegressor": "committee.forests.estimators",
    "DecisionStump": "committee.trees.decision_stump",
    "DecisionTreeClassifier": "committee.trees.decision_tree",
    "DecisionTreeRegressor": "committee.trees.decision_tree",
    "export_graphviz": "committee.trees.export",
    "export_text": "committee.trees.export",
}

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostM1Classifier",
    "AdaBoostRegressor",
    "AdaBoostStarClassifier",
    "AdaBoostThetaClassifier",
    "AnyBoostClassifier",
    "ArcGVClassifier",
    "BaggingClassifier",
    "BaggingRegressor",
    "BestOfRestarts",
    "ConfidenceRatedAdaBoostClassifier",
    "DecisionStump",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "LPBoostClassifier",
    "OnlineBaggingClassifier",
    "OnlineBaggingRegressor",
    "OnlineBoostingClassifier",
    "PocketPerceptron",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "SchapireBoostClassifier",
    "StagewiseRegressor",
    "bagging_simulation",
    "boosting_evidence",
    "boosting_experiment",
    "export_graphviz",
    "export_text",
    "forest_evidence",
    "forest_importances",
    "margin_maximisation",
    "shap_interaction_values",
    "shap_values",
    "spam_experiment",
    "suspicious_rows",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'committee' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
