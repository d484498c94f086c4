"""Pictures of fitted estimators: Display classes in scikit-learn's manner, drawn with matplotlib."""

from __future__ import annotations

from committee.plots.bias_variance import BiasVarianceDisplay, TrainingSetsDisplay
from committee.plots.boosting import EdgeDisplay, ErrorCurveDisplay
from committee.plots.bootstrap import BootstrapDisplay, PredictionIntervalDisplay
from committee.plots.committee import CommitteeMembersDisplay, SelectionDisplay
from committee.plots.decision_rounds import RoundsInThePlaneDisplay
from committee.plots.diversity import KappaErrorDisplay
from committee.plots.experts import ExpertLoadDisplay, GateRegionsDisplay, LikelihoodCurveDisplay
from committee.plots.forests import OutOfBagDisplay
from committee.plots.importances import ImportancesDisplay
from committee.plots.loss_curves import LossCurvesDisplay
from committee.plots.majority_vote import MajorityVoteDisplay
from committee.plots.margins import MarginDistributionDisplay
from committee.plots.partial_dependence import PartialDependenceDisplay
from committee.plots.pruning import PruningDisplay
from committee.plots.shap import ShapSummaryDisplay, ShapWaterfallDisplay
from committee.plots.suspicious_rows import SuspiciousRowsDisplay
from committee.plots.svm import SvmPlaneDisplay, TuningDisplay
from committee.plots.tree import TreeDisplay, plot_tree

__all__ = [
    "BiasVarianceDisplay",
    "BootstrapDisplay",
    "CommitteeMembersDisplay",
    "EdgeDisplay",
    "ErrorCurveDisplay",
    "ExpertLoadDisplay",
    "GateRegionsDisplay",
    "ImportancesDisplay",
    "KappaErrorDisplay",
    "LikelihoodCurveDisplay",
    "LossCurvesDisplay",
    "MajorityVoteDisplay",
    "MarginDistributionDisplay",
    "OutOfBagDisplay",
    "PartialDependenceDisplay",
    "PredictionIntervalDisplay",
    "PruningDisplay",
    "RoundsInThePlaneDisplay",
    "SelectionDisplay",
    "ShapSummaryDisplay",
    "ShapWaterfallDisplay",
    "SuspiciousRowsDisplay",
    "SvmPlaneDisplay",
    "TrainingSetsDisplay",
    "TreeDisplay",
    "TuningDisplay",
    "plot_tree",
]
