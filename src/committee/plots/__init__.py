"""Pictures of fitted estimators: Display classes in scikit-learn's manner, drawn with matplotlib."""

from __future__ import annotations

from committee.plots.bias_variance import BiasVarianceDisplay, TrainingSetsDisplay
from committee.plots.boosting import EdgeDisplay, ErrorCurveDisplay
from committee.plots.bootstrap import BootstrapDisplay, PredictionIntervalDisplay
from committee.plots.committee import CommitteeMembersDisplay, EnsembleSelectionDisplay
from committee.plots.decision_rounds import DecisionRoundsDisplay
from committee.plots.diversity import KappaErrorDisplay
from committee.plots.experts import ExpertLoadDisplay, GateRegionsDisplay, LikelihoodCurveDisplay
from committee.plots.forests import OutOfBagErrorDisplay
from committee.plots.importances import ImportancesDisplay
from committee.plots.label_issues import LabelIssuesDisplay
from committee.plots.loss_curves import LossCurveDisplay
from committee.plots.majority_vote import MajorityVoteDisplay
from committee.plots.margins import MarginDistributionDisplay
from committee.plots.partial_dependence import PartialDependenceDisplay
from committee.plots.pruning import PruningDisplay
from committee.plots.shap import ShapSummaryDisplay, ShapWaterfallDisplay
from committee.plots.svm import SVMDecisionBoundaryDisplay, TuningDisplay
from committee.plots.tree import TreeDisplay, plot_tree

__all__ = [
    "BiasVarianceDisplay",
    "BootstrapDisplay",
    "CommitteeMembersDisplay",
    "DecisionRoundsDisplay",
    "EdgeDisplay",
    "EnsembleSelectionDisplay",
    "ErrorCurveDisplay",
    "ExpertLoadDisplay",
    "GateRegionsDisplay",
    "ImportancesDisplay",
    "KappaErrorDisplay",
    "LabelIssuesDisplay",
    "LikelihoodCurveDisplay",
    "LossCurveDisplay",
    "MajorityVoteDisplay",
    "MarginDistributionDisplay",
    "OutOfBagErrorDisplay",
    "PartialDependenceDisplay",
    "PredictionIntervalDisplay",
    "PruningDisplay",
    "SVMDecisionBoundaryDisplay",
    "ShapSummaryDisplay",
    "ShapWaterfallDisplay",
    "TrainingSetsDisplay",
    "TreeDisplay",
    "TuningDisplay",
    "plot_tree",
]
