"""Public names for type checkers and editors; tests/contract/test_public_names.py compares them with catalog.py."""

from committee.bagging.estimators import BaggingClassifier as BaggingClassifier
from committee.bagging.estimators import BaggingRegressor as BaggingRegressor
from committee.bagging.online_bagging import OnlineBaggingClassifier as OnlineBaggingClassifier
from committee.bagging.online_bagging import OnlineBaggingRegressor as OnlineBaggingRegressor
from committee.base.journal import CheckpointError as CheckpointError
from committee.boosting.adaboost import AdaBoostClassifier as AdaBoostClassifier
from committee.boosting.adaboost_m1 import AdaBoostM1Classifier as AdaBoostM1Classifier
from committee.boosting.adaboost_r2 import AdaBoostRegressor as AdaBoostRegressor
from committee.boosting.adaboost_star import AdaBoostStarClassifier as AdaBoostStarClassifier
from committee.boosting.adaboost_theta import AdaBoostThetaClassifier as AdaBoostThetaClassifier
from committee.boosting.anyboost import AnyBoostClassifier as AnyBoostClassifier
from committee.boosting.arc_gv import ArcGVClassifier as ArcGVClassifier
from committee.boosting.confidence_rated import ConfidenceRatedAdaBoostClassifier as ConfidenceRatedAdaBoostClassifier
from committee.boosting.forward_stagewise import StagewiseRegressor as StagewiseRegressor
from committee.boosting.lpboost import LPBoostClassifier as LPBoostClassifier
from committee.boosting.online_boosting import OnlineBoostingClassifier as OnlineBoostingClassifier
from committee.boosting.schapire_1990 import SchapireBoostClassifier as SchapireBoostClassifier
from committee.committees.committee import CommitteeClassifier as CommitteeClassifier
from committee.committees.committee import CommitteeRegressor as CommitteeRegressor
from committee.evaluation.bias_variance import bias_variance as bias_variance
from committee.evaluation.bootstrap import bootstrap as bootstrap
from committee.evaluation.bootstrap_interval import bootstrap_interval as bootstrap_interval
from committee.evaluation.compare_bias_variance import compare_bias_variance as compare_bias_variance
from committee.evaluation.comparison import compare as compare
from committee.experts.density import MixtureOfExpertsDensity as MixtureOfExpertsDensity
from committee.experts.hierarchical import (
    HierarchicalMixtureOfExpertsClassifier as HierarchicalMixtureOfExpertsClassifier,
)
from committee.experts.hierarchical import (
    HierarchicalMixtureOfExpertsRegressor as HierarchicalMixtureOfExpertsRegressor,
)
from committee.experts.mixture_of_experts import MixtureOfExpertsClassifier as MixtureOfExpertsClassifier
from committee.experts.mixture_of_experts import MixtureOfExpertsRegressor as MixtureOfExpertsRegressor
from committee.experts.sparsely_gated import SparselyGatedMixtureClassifier as SparselyGatedMixtureClassifier
from committee.experts.sparsely_gated import SparselyGatedMixtureRegressor as SparselyGatedMixtureRegressor
from committee.explain.boosting_diagnostics import boosting_diagnostics as boosting_diagnostics
from committee.explain.diversity import ensemble_diversity as ensemble_diversity
from committee.explain.forest_diagnostics import forest_diagnostics as forest_diagnostics
from committee.explain.forest_importances import forest_importances as forest_importances
from committee.explain.label_issues import find_label_issues as find_label_issues
from committee.explain.mixture_diagnostics import expert_coefficients as expert_coefficients
from committee.explain.mixture_diagnostics import expert_predictions as expert_predictions
from committee.explain.mixture_diagnostics import mixture_diagnostics as mixture_diagnostics
from committee.explain.shap import shap_interaction_values as shap_interaction_values
from committee.explain.shap import shap_values as shap_values
from committee.explain.svm_geometry import svm_geometry as svm_geometry
from committee.forests.estimators import ExtraTreesClassifier as ExtraTreesClassifier
from committee.forests.estimators import ExtraTreesRegressor as ExtraTreesRegressor
from committee.forests.estimators import RandomForestClassifier as RandomForestClassifier
from committee.forests.estimators import RandomForestRegressor as RandomForestRegressor
from committee.gradient_boosting.estimators import GradientBoostingClassifier as GradientBoostingClassifier
from committee.gradient_boosting.estimators import GradientBoostingRegressor as GradientBoostingRegressor
from committee.linear.logistic_regression import LogisticRegressionCV as LogisticRegressionCV
from committee.linear.ridge import RidgeCV as RidgeCV
from committee.members.numeric_pipeline import NumericPipelineClassifier as NumericPipelineClassifier
from committee.members.numeric_pipeline import NumericPipelineRegressor as NumericPipelineRegressor
from committee.members.perceptron import PocketPerceptron as PocketPerceptron
from committee.members.restarts import RestartClassifier as RestartClassifier
from committee.report.render import write_report as write_report
from committee.storage.checkpoint_file import checkpoint as checkpoint
from committee.storage.errors import ModelFileError as ModelFileError
from committee.storage.model_file import inspect_model as inspect_model
from committee.storage.model_file import load_model as load_model
from committee.storage.model_file import save_model as save_model
from committee.svm.linear_svm import LinearSVC as LinearSVC
from committee.svm.linear_svm import LinearSVR as LinearSVR
from committee.svm.mercer import check_mercer as check_mercer
from committee.svm.nu_svm import NuSVC as NuSVC
from committee.svm.nu_svm import NuSVR as NuSVR
from committee.svm.nystroem_svm import NystroemSVC as NystroemSVC
from committee.svm.nystroem_svm import NystroemSVR as NystroemSVR
from committee.svm.one_class import OneClassSVM as OneClassSVM
from committee.svm.svc import SVC as SVC
from committee.svm.svr import SVR as SVR
from committee.svm.tuning import tune_svc as tune_svc
from committee.svm.tuning import tune_svr as tune_svr
from committee.theory.majority_vote import majority_vote_error as majority_vote_error
from committee.trees.decision_stump import DecisionStump as DecisionStump
from committee.trees.decision_tree import DecisionTreeClassifier as DecisionTreeClassifier
from committee.trees.decision_tree import DecisionTreeRegressor as DecisionTreeRegressor
from committee.trees.export import export_graphviz as export_graphviz
from committee.trees.export import export_text as export_text
from committee.voting.calibrated_classifier import CalibratedClassifier as CalibratedClassifier
from committee.voting.stacking import StackingClassifier as StackingClassifier
from committee.voting.stacking import StackingRegressor as StackingRegressor
from committee.voting.voting import VotingClassifier as VotingClassifier
from committee.voting.voting import VotingRegressor as VotingRegressor

__version__: str
__all__: list[str]
