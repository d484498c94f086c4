"""committee: ensemble learning on tables, with the evidence attached to every fit."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from committee.bagging.estimators import BaggingClassifier, BaggingRegressor
    from committee.bagging.online_bagging import OnlineBaggingClassifier, OnlineBaggingRegressor
    from committee.boosting.adaboost import AdaBoostClassifier
    from committee.boosting.adaboost_m1 import AdaBoostM1Classifier
    from committee.boosting.adaboost_r2 import AdaBoostRegressor
    from committee.boosting.adaboost_star import AdaBoostStarClassifier
    from committee.boosting.adaboost_theta import AdaBoostThetaClassifier
    from committee.boosting.anyboost import AnyBoostClassifier
    from committee.boosting.arc_gv import ArcGVClassifier
    from committee.boosting.confidence_rated import ConfidenceRatedAdaBoostClassifier
    from committee.boosting.forward_stagewise import StagewiseRegressor
    from committee.boosting.lpboost import LPBoostClassifier
    from committee.boosting.online_boosting import OnlineBoostingClassifier
    from committee.boosting.schapire_1990 import SchapireBoostClassifier
    from committee.committees.committee import CommitteeClassifier, CommitteeRegressor
    from committee.evaluation.bias_variance import bias_variance
    from committee.evaluation.bootstrap import bootstrap
    from committee.evaluation.bootstrap_interval import bootstrap_interval
    from committee.evaluation.compare_bias_variance import compare_bias_variance
    from committee.evaluation.comparison import compare
    from committee.experts.density import MixtureOfExpertsDensity
    from committee.experts.hierarchical import (
        HierarchicalMixtureOfExpertsClassifier,
        HierarchicalMixtureOfExpertsRegressor,
    )
    from committee.experts.mixture_of_experts import MixtureOfExpertsClassifier, MixtureOfExpertsRegressor
    from committee.experts.sparsely_gated import SparselyGatedMixtureClassifier, SparselyGatedMixtureRegressor
    from committee.explain.boosting_diagnostics import boosting_diagnostics
    from committee.explain.diversity import ensemble_diversity
    from committee.explain.forest_diagnostics import forest_diagnostics
    from committee.explain.forest_importances import forest_importances
    from committee.explain.label_issues import find_label_issues
    from committee.explain.mixture_diagnostics import expert_coefficients, expert_predictions, mixture_diagnostics
    from committee.explain.shap import shap_interaction_values, shap_values
    from committee.explain.svm_geometry import svm_geometry
    from committee.forests.estimators import (
        ExtraTreesClassifier,
        ExtraTreesRegressor,
        RandomForestClassifier,
        RandomForestRegressor,
    )
    from committee.gradient_boosting.estimators import GradientBoostingClassifier, GradientBoostingRegressor
    from committee.linear.logistic_regression import LogisticRegressionCV
    from committee.linear.ridge import RidgeCV
    from committee.members.numeric_pipeline import NumericPipelineClassifier, NumericPipelineRegressor
    from committee.members.perceptron import PocketPerceptron
    from committee.members.restarts import RestartClassifier
    from committee.report.render import write_report
    from committee.storage.errors import ModelFileError
    from committee.storage.model_file import inspect_model, load_model, save_model
    from committee.svm.linear_svm import LinearSVC, LinearSVR
    from committee.svm.mercer import check_mercer
    from committee.svm.nu_svm import NuSVC, NuSVR
    from committee.svm.nystroem_svm import NystroemSVC, NystroemSVR
    from committee.svm.one_class import OneClassSVM
    from committee.svm.svc import SVC
    from committee.svm.svr import SVR
    from committee.svm.tuning import tune_svc, tune_svr
    from committee.theory.majority_vote import majority_vote_error
    from committee.trees.decision_stump import DecisionStump
    from committee.trees.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
    from committee.trees.export import export_graphviz, export_text
    from committee.voting.calibrated_classifier import CalibratedClassifier
    from committee.voting.stacking import StackingClassifier, StackingRegressor
    from committee.voting.voting import VotingClassifier, VotingRegressor

# What `from committee import ...` finds, and where: nothing is imported before it is asked for.
_HOME = {
    "ModelFileError": "committee.storage.errors",
    "NumericPipelineRegressor": "committee.members.numeric_pipeline",
    "NumericPipelineClassifier": "committee.members.numeric_pipeline",
    "majority_vote_error": "committee.theory.majority_vote",
    "ensemble_diversity": "committee.explain.diversity",
    "write_report": "committee.report.render",
    "compare": "committee.evaluation.comparison",
    "inspect_model": "committee.storage.model_file",
    "load_model": "committee.storage.model_file",
    "save_model": "committee.storage.model_file",
    "CommitteeRegressor": "committee.committees.committee",
    "CommitteeClassifier": "committee.committees.committee",
    "CalibratedClassifier": "committee.voting.calibrated_classifier",
    "StackingRegressor": "committee.voting.stacking",
    "StackingClassifier": "committee.voting.stacking",
    "VotingRegressor": "committee.voting.voting",
    "VotingClassifier": "committee.voting.voting",
    "compare_bias_variance": "committee.evaluation.compare_bias_variance",
    "bootstrap_interval": "committee.evaluation.bootstrap_interval",
    "bootstrap": "committee.evaluation.bootstrap",
    "bias_variance": "committee.evaluation.bias_variance",
    "SVC": "committee.svm.svc",
    "SVR": "committee.svm.svr",
    "NuSVC": "committee.svm.nu_svm",
    "NuSVR": "committee.svm.nu_svm",
    "OneClassSVM": "committee.svm.one_class",
    "LogisticRegressionCV": "committee.linear.logistic_regression",
    "RidgeCV": "committee.linear.ridge",
    "LinearSVC": "committee.svm.linear_svm",
    "LinearSVR": "committee.svm.linear_svm",
    "NystroemSVC": "committee.svm.nystroem_svm",
    "NystroemSVR": "committee.svm.nystroem_svm",
    "check_mercer": "committee.svm.mercer",
    "tune_svc": "committee.svm.tuning",
    "tune_svr": "committee.svm.tuning",
    "svm_geometry": "committee.explain.svm_geometry",
    "expert_coefficients": "committee.explain.mixture_diagnostics",
    "mixture_diagnostics": "committee.explain.mixture_diagnostics",
    "expert_predictions": "committee.explain.mixture_diagnostics",
    "MixtureOfExpertsClassifier": "committee.experts.mixture_of_experts",
    "MixtureOfExpertsRegressor": "committee.experts.mixture_of_experts",
    "MixtureOfExpertsDensity": "committee.experts.density",
    "HierarchicalMixtureOfExpertsClassifier": "committee.experts.hierarchical",
    "HierarchicalMixtureOfExpertsRegressor": "committee.experts.hierarchical",
    "SparselyGatedMixtureClassifier": "committee.experts.sparsely_gated",
    "SparselyGatedMixtureRegressor": "committee.experts.sparsely_gated",
    "forest_diagnostics": "committee.explain.forest_diagnostics",
    "forest_importances": "committee.explain.forest_importances",
    "boosting_diagnostics": "committee.explain.boosting_diagnostics",
    "shap_interaction_values": "committee.explain.shap",
    "shap_values": "committee.explain.shap",
    "find_label_issues": "committee.explain.label_issues",
    "RestartClassifier": "committee.members.restarts",
    "PocketPerceptron": "committee.members.perceptron",
    "StagewiseRegressor": "committee.boosting.forward_stagewise",
    "AdaBoostRegressor": "committee.boosting.adaboost_r2",
    "SchapireBoostClassifier": "committee.boosting.schapire_1990",
    "LPBoostClassifier": "committee.boosting.lpboost",
    "AnyBoostClassifier": "committee.boosting.anyboost",
    "ConfidenceRatedAdaBoostClassifier": "committee.boosting.confidence_rated",
    "AdaBoostStarClassifier": "committee.boosting.adaboost_star",
    "ArcGVClassifier": "committee.boosting.arc_gv",
    "AdaBoostThetaClassifier": "committee.boosting.adaboost_theta",
    "AdaBoostM1Classifier": "committee.boosting.adaboost_m1",
    "AdaBoostClassifier": "committee.boosting.adaboost",
    "GradientBoostingClassifier": "committee.gradient_boosting.estimators",
    "GradientBoostingRegressor": "committee.gradient_boosting.estimators",
    "BaggingClassifier": "committee.bagging.estimators",
    "BaggingRegressor": "committee.bagging.estimators",
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
    "SVC",
    "SVR",
    "AdaBoostClassifier",
    "AdaBoostM1Classifier",
    "AdaBoostRegressor",
    "AdaBoostStarClassifier",
    "AdaBoostThetaClassifier",
    "AnyBoostClassifier",
    "ArcGVClassifier",
    "BaggingClassifier",
    "BaggingRegressor",
    "CalibratedClassifier",
    "CommitteeClassifier",
    "CommitteeRegressor",
    "ConfidenceRatedAdaBoostClassifier",
    "DecisionStump",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "HierarchicalMixtureOfExpertsClassifier",
    "HierarchicalMixtureOfExpertsRegressor",
    "LPBoostClassifier",
    "LinearSVC",
    "LinearSVR",
    "LogisticRegressionCV",
    "MixtureOfExpertsClassifier",
    "MixtureOfExpertsDensity",
    "MixtureOfExpertsRegressor",
    "ModelFileError",
    "NuSVC",
    "NuSVR",
    "NumericPipelineClassifier",
    "NumericPipelineRegressor",
    "NystroemSVC",
    "NystroemSVR",
    "OneClassSVM",
    "OnlineBaggingClassifier",
    "OnlineBaggingRegressor",
    "OnlineBoostingClassifier",
    "PocketPerceptron",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "RestartClassifier",
    "RidgeCV",
    "SchapireBoostClassifier",
    "SparselyGatedMixtureClassifier",
    "SparselyGatedMixtureRegressor",
    "StackingClassifier",
    "StackingRegressor",
    "StagewiseRegressor",
    "VotingClassifier",
    "VotingRegressor",
    "bias_variance",
    "boosting_diagnostics",
    "bootstrap",
    "bootstrap_interval",
    "check_mercer",
    "compare",
    "compare_bias_variance",
    "ensemble_diversity",
    "expert_coefficients",
    "expert_predictions",
    "export_graphviz",
    "export_text",
    "find_label_issues",
    "forest_diagnostics",
    "forest_importances",
    "inspect_model",
    "load_model",
    "majority_vote_error",
    "mixture_diagnostics",
    "save_model",
    "shap_interaction_values",
    "shap_values",
    "svm_geometry",
    "tune_svc",
    "tune_svr",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'committee' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
