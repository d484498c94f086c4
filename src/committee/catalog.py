"""Every estimator of the library: its names, where it lives, the paper it comes from, the mission's ids it covers."""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """One estimator."""

    name: str
    aliases: tuple[str, ...]
    module: str
    paper: str
    ids: tuple[str, ...]


CART = "Breiman, Friedman, Olshen and Stone, Classification and Regression Trees, 1984"

GRADIENT_BOOSTING = (
    "Friedman, Greedy function approximation: a gradient boosting machine, 2001; "
    "Chen and Guestrin, XGBoost: a scalable tree boosting system, 2016"
)
ADABOOST = "Freund and Schapire, A decision-theoretic generalization of on-line learning, 1997"

BAGGING = "Breiman, Bagging predictors, 1996"
BAGGING_NAMES = ("bagging", "bootstrap aggregating", "pasting", "random subspaces", "random patches")
OZA = "Oza and Russell, Online bagging and boosting, 2001"
FOREST = "Breiman, Random forests, 2001"
EXTRA_TREES = "Geurts, Ernst and Wehenkel, Extremely randomized trees, 2006"

CATALOG: tuple[Entry, ...] = (
    Entry("AdaBoostClassifier", ("AdaBoost", "AdaBoost.M1 for two classes", "SAMME"), "committee.boosting.adaboost",
          ADABOOST + "; Zhu, Zou, Rosset and Hastie, Multi-class AdaBoost, 2009",
          ("E-2", "E-3", "E-4", "E-6", "E-7", "E-8", "E-9", "E-11", "E-12", "E-13", "E-14", "G-1", "A-6", "A-7")),
    Entry("AdaBoostM1Classifier", ("AdaBoost.M1",), "committee.boosting.adaboost_m1", ADABOOST, ("G-1",)),
    Entry("AdaBoostRegressor", ("AdaBoost.R2",), "committee.boosting.adaboost_r2",
          "Drucker, Improving regressors using boosting techniques, 1997", ("G-2",)),
    Entry("AdaBoostStarClassifier", ("AdaBoost*", "AdaBoost*_nu"), "committee.boosting.adaboost_star",
          "Raetsch and Warmuth, Efficient margin maximizing with boosting, 2005", ("F-4", "F-6")),
    Entry("AdaBoostThetaClassifier", ("AdaBoost_theta", "AdaBoost_rho"), "committee.boosting.adaboost_theta",
          "Raetsch, Onoda and Mueller, Soft margins for AdaBoost, 2001", ("F-1", "F-2")),
    Entry("AnyBoostClassifier", ("AnyBoost", "MarginBoost", "SavageBoost", "functional gradient boosting"),
          "committee.boosting.anyboost",
          "Mason, Baxter, Bartlett and Frean, Functional gradient techniques for combining hypotheses, 2000", ("G-3",)),
    Entry("ArcGVClassifier", ("arc-gv", "arcing game value"), "committee.boosting.arc_gv",
          "Breiman, Prediction games and arcing algorithms, 1999", ("F-3",)),
    Entry("BaggingClassifier", BAGGING_NAMES, "committee.bagging.bagging_estimators", BAGGING,
          ("C-3", "C-4", "C-5", "C-6", "C-7", "B-6")),
    Entry("BaggingRegressor", BAGGING_NAMES, "committee.bagging.bagging_estimators", BAGGING,
          ("C-3", "C-4", "C-5", "C-6", "C-7", "B-6")),
    Entry("BestOfRestarts", ("restarts", "multi-start"), "committee.parts.restarts",
          "Dietterich, Ensemble methods in machine learning, 2000", ("B-7",)),
    Entry("ConfidenceRatedAdaBoostClassifier", ("Real AdaBoost", "confidence-rated AdaBoost"),
          "committee.boosting.confidence_rated",
          "Schapire and Singer, Improved boosting algorithms using confidence-rated predictions, 1999", ("E-5",)),
    Entry("DecisionStump", ("stump", "one-level tree"), "committee.trees.decision_stump",
          "Iba and Langley, Induction of one-level decision trees, 1992", ("A-1",)),
    Entry("DecisionTreeClassifier", ("CART", "classification tree"), "committee.trees.decision_tree", CART,
          ("A-2", "A-3", "A-4")),
    Entry("DecisionTreeRegressor", ("CART", "regression tree"), "committee.trees.decision_tree", CART,
          ("A-2", "A-3", "A-4")),
    Entry("ExtraTreesClassifier", ("extra-trees", "extremely randomised trees"), "committee.forests.estimators",
          EXTRA_TREES, ("D-1", "D-2")),
    Entry("ExtraTreesRegressor", ("extra-trees", "extremely randomised trees"), "committee.forests.estimators",
          EXTRA_TREES, ("D-1", "D-2")),
    Entry("GradientBoostingClassifier", ("GBDT", "gradient tree boosting", "MART", "Newton boosting", "XGBoost's form"),
          "committee.boosting.gradient_boosting_estimators", GRADIENT_BOOSTING, ("G-4", "G-5", "G-7")),
    Entry("GradientBoostingRegressor", ("GBRT", "gradient tree boosting", "TreeBoost", "Newton boosting"),
          "committee.boosting.gradient_boosting_estimators", GRADIENT_BOOSTING, ("G-4", "G-5", "G-7")),
    Entry("LPBoostClassifier", ("LPBoost", "soft-margin boosting by linear programming"), "committee.boosting.lpboost",
          "Demiriz, Bennett and Shawe-Taylor, Linear programming boosting via column generation, 2002",
          ("F-5", "E-10")),
    Entry("OnlineBaggingClassifier", ("online bagging", "OzaBag"), "committee.bagging.online_bagging", OZA, ("C-9",)),
    Entry("OnlineBaggingRegressor", ("online bagging", "OzaBag"), "committee.bagging.online_bagging", OZA, ("C-9",)),
    Entry("OnlineBoostingClassifier", ("online boosting", "OzaBoost"), "committee.boosting.online_boosting", OZA,
          ("C-9",)),
    Entry("PocketPerceptron", ("pocket algorithm", "perceptron", "linear threshold unit"),
          "committee.parts.perceptron", "Gallant, Perceptron-based learning algorithms, 1990", ("A-5",)),
    Entry("RandomForestClassifier", ("random forest", "ranger", "balanced random forest"),
          "committee.forests.estimators", FOREST,
          ("D-1", "D-2", "D-3", "D-4", "D-5", "D-6", "D-7", "D-8", "D-9", "B-3", "C-5", "C-6", "C-8")),
    Entry("RandomForestRegressor", ("random forest", "ranger", "quantile forest"), "committee.forests.estimators",
          FOREST,
          ("D-1", "D-2", "D-3", "D-4", "D-5", "D-6", "D-7", "D-8", "D-9", "B-3", "C-5", "C-6", "C-8")),
    Entry("SchapireBoostClassifier", ("Schapire's first booster", "majority of three"), "committee.boosting.schapire",
          "Schapire, The strength of weak learnability, 1990", ("E-1",)),
    Entry("StagewiseRegressor", ("forward stagewise additive model", "L2Boost"), "committee.boosting.stagewise",
          "Friedman, Hastie and Tibshirani, Additive logistic regression, 2000", ("G-6",)),
)  # fmt: skip
