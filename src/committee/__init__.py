"""committee: ensemble learning on tables, with the evidence attached to every fit."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from committee.boosting.adaboost import AdaBoostClassifier
    from committee.boosting.adaboost_m1 import AdaBoostM1Classifier
    from committee.boosting.adaboost_star import AdaBoostStarClassifier
    from committee.boosting.adaboost_theta import AdaBoostThetaClassifier
    from committee.boosting.arc_gv import ArcGVClassifier
    from committee.boosting.confidence_rated import ConfidenceRatedAdaBoostClassifier
    from committee.trees.decision_stump import DecisionStump
    from committee.trees.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
    from committee.trees.export import export_graphviz, export_text

# What `from committee import ...` finds, and where: nothing is imported before it is asked for.
_HOME = {
    "ConfidenceRatedAdaBoostClassifier": "committee.boosting.confidence_rated",
    "AdaBoostStarClassifier": "committee.boosting.adaboost_star",
    "ArcGVClassifier": "committee.boosting.arc_gv",
    "AdaBoostThetaClassifier": "committee.boosting.adaboost_theta",
    "AdaBoostM1Classifier": "committee.boosting.adaboost_m1",
    "AdaBoostClassifier": "committee.boosting.adaboost",
    "DecisionStump": "committee.trees.decision_stump",
    "DecisionTreeClassifier": "committee.trees.decision_tree",
    "DecisionTreeRegressor": "committee.trees.decision_tree",
    "export_graphviz": "committee.trees.export",
    "export_text": "committee.trees.export",
}

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostM1Classifier",
    "AdaBoostStarClassifier",
    "AdaBoostThetaClassifier",
    "ArcGVClassifier",
    "ConfidenceRatedAdaBoostClassifier",
    "DecisionStump",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "export_graphviz",
    "export_text",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'committee' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
