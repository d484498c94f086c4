"""The public names of `committee`: every estimator with its paper and the ids of docs/coverage.md, every function."""

from __future__ import annotations

from typing import Any, NamedTuple


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
SVM = "Cortes and Vapnik, Support-vector networks, 1995"
SVR = "Drucker, Burges, Kaufman, Smola and Vapnik, Support vector regression machines, 1997"
NU = "Schoelkopf, Smola, Williamson and Bartlett, New support vector algorithms, 2000"
LINEAR = "Hsieh, Chang, Lin, Keerthi and Sundararajan, Dual coordinate descent for large-scale linear SVM, 2008"
LOGISTIC = (
    "Cox, The regression analysis of binary sequences, 1958; "
    "le Cessie and van Houwelingen, Ridge estimators in logistic regression, 1992"
)
RIDGE = (
    "Hoerl and Kennard, Ridge regression: biased estimation for nonorthogonal problems, 1970; "
    "Golub, Heath and Wahba, Generalized cross-validation as a method for choosing a good ridge parameter, 1979"
)
LANDMARKS = "Williams and Seeger, Using the Nystroem method to speed up kernel machines, 2001"
EXPERTS = "Jacobs, Jordan, Nowlan and Hinton, Adaptive mixtures of local experts, 1991"
HIERARCHY = "Jordan and Jacobs, Hierarchical mixtures of experts and the EM algorithm, 1994"
SPARSE_GATES = (
    "Shazeer et al., Outrageously large neural networks: the sparsely-gated mixture-of-experts layer, 2017; "
    "Eigen, Ranzato and Sutskever, Learning factored representations in a deep mixture of experts, 2013"
)
STACKING = "Wolpert, Stacked generalization, 1992; Breiman, Stacked regressions, 1996"
VOTING = "Kuncheva, Combining Pattern Classifiers, 2004"
COMMITTEE = (
    "Caruana, Niculescu-Mizil, Crew and Ksikes, Ensemble selection from libraries of models, 2004; "
    "Breiman, Stacked regressions, 1996"
)
CALIBRATION = "Guo, Pleiss, Sun and Weinberger, On calibration of modern neural networks, 2017"
PREPARATION = "Hastie, Tibshirani and Friedman, The Elements of Statistical Learning, 2009"
EXTRA_TREES = "Geurts, Ernst and Wehenkel, Extremely randomized trees, 2006"


def both(stem: str, *entry: Any) -> list[Entry]:
    """The classifier and the regressor of a method."""
    return [Entry(stem + "Classifier", *entry), Entry(stem + "Regressor", *entry)]


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
    *both("Bagging", BAGGING_NAMES, "committee.bagging.estimators", BAGGING,
          ("C-3", "C-4", "C-5", "C-6", "C-7", "B-6")),
    Entry("CalibratedClassifier", ("calibrated probabilities", "temperature scaling", "Platt scaling"),
          "committee.voting.calibrated_classifier", CALIBRATION, ("B-4",)),
    *both("Committee", ("committee", "ensemble selection", "stacked committee"),
          "committee.committees.committee", COMMITTEE, ("B-4", "B-5", "B-6", "B-8")),
    Entry("ConfidenceRatedAdaBoostClassifier", ("Real AdaBoost", "confidence-rated AdaBoost"),
          "committee.boosting.confidence_rated",
          "Schapire and Singer, Improved boosting algorithms using confidence-rated predictions, 1999", ("E-5",)),
    Entry("DecisionStump", ("stump", "one-level tree"), "committee.trees.decision_stump",
          "Iba and Langley, Induction of one-level decision trees, 1992", ("A-1",)),
    Entry("DecisionTreeClassifier", ("CART", "classification tree"), "committee.trees.decision_tree", CART,
          ("A-2", "A-3", "A-4")),
    Entry("DecisionTreeRegressor", ("CART", "regression tree"), "committee.trees.decision_tree", CART,
          ("A-2", "A-3", "A-4")),
    *both("ExtraTrees", ("extra-trees", "extremely randomised trees"), "committee.forests.estimators",
          EXTRA_TREES, ("D-1", "D-2")),
    Entry("GradientBoostingClassifier", ("GBDT", "gradient tree boosting", "MART", "Newton boosting", "XGBoost's form"),
          "committee.gradient_boosting.estimators", GRADIENT_BOOSTING, ("G-4", "G-5", "G-7")),
    Entry("GradientBoostingRegressor", ("GBRT", "gradient tree boosting", "TreeBoost", "Newton boosting"),
          "committee.gradient_boosting.estimators", GRADIENT_BOOSTING, ("G-4", "G-5", "G-7")),
    *both("HierarchicalMixtureOfExperts", ("hierarchical mixture of experts", "HME"),
          "committee.experts.hierarchical", HIERARCHY, ("H-1", "H-2", "H-3", "H-4", "H-5")),
    Entry("LPBoostClassifier", ("LPBoost", "soft-margin boosting by linear programming"), "committee.boosting.lpboost",
          "Demiriz, Bennett and Shawe-Taylor, Linear programming boosting via column generation, 2002",
          ("F-5", "E-10")),
    Entry("LinearSVC", ("linear SVM", "LIBLINEAR's SVM"), "committee.svm.linear_svm", LINEAR,
          ("I-1", "I-2", "I-6", "I-8")),
    Entry("LinearSVR", ("linear support vector regression",), "committee.svm.linear_svm", LINEAR, ("I-6", "I-8")),
    Entry("LogisticRegressionCV", ("logistic regression", "multinomial regression", "softmax regression"),
          "committee.linear.logistic_regression", LOGISTIC, ("B-4",)),
    Entry("MixtureOfExpertsClassifier", ("mixture of experts", "MoE", "gated logistic experts"),
          "committee.experts.mixture_of_experts", EXPERTS, ("H-1", "H-2", "H-3", "H-5")),
    Entry("MixtureOfExpertsDensity", ("mixture of experts", "MoE", "gated mixture of gaussians"),
          "committee.experts.density", EXPERTS, ("H-1", "H-2", "H-3", "H-5")),
    Entry("MixtureOfExpertsRegressor", ("mixture of experts", "MoE", "mixture of linear regressions", "flexmix"),
          "committee.experts.mixture_of_experts", EXPERTS, ("H-1", "H-2", "H-3", "H-5")),
    Entry("NuSVC", ("nu-SVM",), "committee.svm.nu_svm", NU, ("I-2", "I-3", "I-6")),
    Entry("NuSVR", ("nu-SVM for regression",), "committee.svm.nu_svm", NU, ("I-3", "I-6")),
    Entry("NumericPipelineClassifier",
          ("one-hot encoding and scaling", "preprocessing of mixed columns", "OnNumbersClassifier"),
          "committee.members.numeric_pipeline", PREPARATION, ("B-4",)),
    Entry("NumericPipelineRegressor",
          ("one-hot encoding and scaling", "preprocessing of mixed columns", "OnNumbersRegressor"),
          "committee.members.numeric_pipeline", PREPARATION, ("B-4",)),
    Entry("NystroemSVC", ("Nystroem SVM", "low-rank kernel SVM", "LandmarkSVC"),
          "committee.svm.nystroem_svm", LANDMARKS, ("I-3", "I-6", "I-8")),
    Entry("NystroemSVR", ("Nystroem SVM", "low-rank kernel SVM", "LandmarkSVR"),
          "committee.svm.nystroem_svm", LANDMARKS, ("I-3", "I-6", "I-8")),
    Entry("OneClassSVM", ("one-class SVM", "novelty detection"), "committee.svm.one_class",
          "Schoelkopf, Platt, Shawe-Taylor, Smola and Williamson, Estimating the support of a high-dimensional "
          "distribution, 2001", ("I-3", "I-6")),
    *both("OnlineBagging", ("online bagging", "OzaBag"), "committee.bagging.online_bagging", OZA, ("C-9",)),
    Entry("OnlineBoostingClassifier", ("online boosting", "OzaBoost"), "committee.boosting.online_boosting", OZA,
          ("C-9",)),
    Entry("PocketPerceptron", ("pocket algorithm", "perceptron", "linear threshold unit"),
          "committee.members.perceptron", "Gallant, Perceptron-based learning algorithms, 1990", ("A-5",)),
    Entry("RandomForestClassifier", ("random forest", "ranger", "balanced random forest"),
          "committee.forests.estimators", FOREST,
          ("D-1", "D-2", "D-3", "D-4", "D-5", "D-6", "D-7", "D-8", "D-9", "B-3", "C-5", "C-6", "C-8")),
    Entry("RandomForestRegressor", ("random forest", "ranger", "quantile forest"), "committee.forests.estimators",
          FOREST,
          ("D-1", "D-2", "D-3", "D-4", "D-5", "D-6", "D-7", "D-8", "D-9", "B-3", "C-5", "C-6", "C-8")),
    Entry("RestartClassifier", ("restarts", "multi-start", "BestOfRestarts"), "committee.members.restarts",
          "Dietterich, Ensemble methods in machine learning, 2000", ("B-7",)),
    Entry("RidgeCV", ("ridge regression", "Tikhonov regularisation", "penalised least squares"),
          "committee.linear.ridge", RIDGE, ("B-4",)),
    Entry("SVC", ("support vector machine", "SVM", "LIBSVM's C-SVC", "hard margin", "soft margin"),
          "committee.svm.svc", SVM, ("I-1", "I-2", "I-3", "I-4", "I-5", "I-6", "I-7")),
    Entry("SVR", ("support vector regression", "epsilon-SVR"), "committee.svm.svr", SVR,
          ("I-3", "I-4", "I-6", "I-7")),
    Entry("SchapireBoostClassifier", ("Schapire's first booster", "majority of three"),
          "committee.boosting.schapire_1990", "Schapire, The strength of weak learnability, 1990", ("E-1",)),
    *both("SparselyGatedMixture", ("sparsely-gated mixture of experts", "deep mixture of experts"),
          "committee.experts.sparsely_gated", SPARSE_GATES, ("H-1", "H-4")),
    Entry("StackingClassifier", ("stacking", "stacked generalization", "super learner"), "committee.voting.stacking",
          STACKING, ("B-4", "B-6", "A-7")),
    Entry("StackingRegressor", ("stacking", "stacked regressions", "super learner"), "committee.voting.stacking",
          STACKING, ("B-4", "B-6", "A-7")),
    Entry("StagewiseRegressor", ("forward stagewise additive model", "L2Boost"), "committee.boosting.forward_stagewise",
          "Friedman, Hastie and Tibshirani, Additive logistic regression, 2000", ("G-6",)),
    Entry("VotingClassifier", ("majority vote", "soft voting", "mean of class distributions"),
          "committee.voting.voting", VOTING, ("B-1", "B-4", "B-5", "B-6", "A-7")),
    Entry("VotingRegressor", ("mean of regressors", "weighted median"), "committee.voting.voting", VOTING,
          ("B-4", "B-5", "B-6", "A-7")),
)  # fmt: skip

FUNCTIONS: dict[str, tuple[str, ...]] = {
    "committee.base.journal": ("CheckpointError",),
    "committee.evaluation.bias_variance": ("bias_variance",),
    "committee.evaluation.bootstrap": ("bootstrap",),
    "committee.evaluation.bootstrap_interval": ("bootstrap_interval",),
    "committee.evaluation.compare_bias_variance": ("compare_bias_variance",),
    "committee.evaluation.comparison": ("compare",),
    "committee.explain.boosting_diagnostics": ("boosting_diagnostics",),
    "committee.explain.diversity": ("ensemble_diversity",),
    "committee.explain.forest_diagnostics": ("forest_diagnostics",),
    "committee.explain.forest_importances": ("forest_importances",),
    "committee.explain.label_issues": ("find_label_issues",),
    "committee.explain.mixture_diagnostics": ("expert_coefficients", "expert_predictions", "mixture_diagnostics"),
    "committee.explain.shap": ("shap_interaction_values", "shap_values"),
    "committee.explain.svm_geometry": ("svm_geometry",),
    "committee.report.render": ("write_report",),
    "committee.storage.checkpoint_file": ("checkpoint",),
    "committee.storage.errors": ("ModelFileError",),
    "committee.storage.model_file": ("inspect_model", "load_model", "save_model"),
    "committee.svm.mercer": ("check_mercer",),
    "committee.svm.tuning": ("tune_svc", "tune_svr"),
    "committee.theory.majority_vote": ("majority_vote_error",),
    "committee.trees.export": ("export_graphviz", "export_text"),
}
"""What else `committee` offers, by module: functions, and the errors of model files and checkpoints."""

MODULES = {entry.name: entry.module for entry in CATALOG} | {
    name: module for module, names in FUNCTIONS.items() for name in names
}
"""The public names of `committee` and where they live; `committee/__init__.pyi` repeats them for type checkers."""
