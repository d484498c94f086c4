"""The properties card of every method (J-3): what it is good for and what not, with the reason in one line.

    interpretable    can a person follow how an answer comes about?
    critique         does it say how sure it is?
    consistent       does its error go to the best possible one as rows grow without end?
    minimax          does it do so as fast as any method can, over a class of problems?
    parameter_free   does it work well without anything being chosen?
    fast             is it quick to fit?
    online           can it learn row by row?

"partly" means: under conditions, which the reason names. Theorems are about the method on paper; where they ask for a
schedule (leaves that grow with n, rounds that stop in time) a fit with default parameters does not follow it by itself.
Times are of benchmarks/RESULTS.md, one thread.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Value = Literal["yes", "partly", "no"]


class Property(NamedTuple):
    """A value and why."""

    value: Value
    why: str


class Measured(NamedTuple):
    """About how long a fit takes: of a row of the benchmark results, by the beginning of its name."""

    task: str
    time: str  # "about 0.2 s": machines and days differ
    contender: str = "committee"


class Card(NamedTuple):
    """The properties of one method."""

    interpretable: Property
    critique: Property
    consistent: Property
    minimax: Property
    parameter_free: Property
    fast: Property
    online: Property
    measured: Measured | None  # None where nothing was measured by itself


PROPERTIES = ("interpretable", "critique", "consistent", "minimax", "parameter_free", "fast", "online")

QUESTIONS = {
    "interpretable": "Can a person follow how an answer comes about?",
    "critique": "Does it say how sure it is?",
    "consistent": "Does its error go to the best possible one as rows grow?",
    "minimax": "As fast as any method can?",
    "parameter_free": "Does it work well without anything being chosen?",
    "fast": "Is it fast to fit?",
    "online": "Can it learn row by row?",
}

OFFLINE = Property("no", "learns from all rows at once")

# --- trees -----------------------------------------------------------------------------------------------------------

TREE = Card(
    interpretable=Property("yes", "a list of questions; read it with export_text, best when pruned"),
    critique=Property("partly", "class shares in the leaves; those of full trees are 0 or 1 and mean little"),
    consistent=Property("partly", "with leaves that shrink but fill up (Gordon and Olshen 1980); full trees fit noise"),
    minimax=Property("no", "shown for dyadic trees (Scott and Nowak 2006), not for greedy splits"),
    parameter_free=Property("partly", 'full by default; ccp_alpha="cv" chooses the size by itself'),
    fast=Property("yes", "one sort or one pass over bins for each level"),
    online=OFFLINE,
    measured=Measured("two classes, 20kx30, fully grown", "about 0.2 s"),
)

STUMP = TREE._replace(
    interpretable=Property("yes", "a single question"),
    critique=Property("partly", "two class shares, and the edge tells how much better than chance it is"),
    consistent=Property("no", "one threshold on one column is all it can say"),
    minimax=Property("no", "not consistent to begin with"),
    parameter_free=Property("yes", "nothing to choose"),
    measured=Measured("one split, 200kx30: least error (sklearn: gini)", "about 0.4 s"),
)

PERCEPTRON = Card(
    interpretable=Property("yes", "a weighted sum of columns against a threshold"),
    critique=Property("no", "the distance from the plane is no probability"),
    consistent=Property("no", "a plane is all it can say; the best plane is found in the limit (Gallant 1990)"),
    minimax=Property("no", "not consistent beyond planes"),
    parameter_free=Property("partly", "the number of passes"),
    fast=Property("yes", "a few passes over the rows"),
    online=OFFLINE,
    measured=Measured("perceptrons, 5kx30", "about 0.3 s"),
)

RESTARTS = Card(
    interpretable=Property("partly", "as much as the estimator that is restarted"),
    critique=Property("partly", "as much as that estimator; the spread over restarts shows the local optima"),
    consistent=Property("partly", "as that estimator, with less left to a bad start"),
    minimax=Property("no", "nothing is known beyond that estimator"),
    parameter_free=Property("no", "the estimator, its parameters and the number of restarts"),
    fast=Property("partly", "as many fits as restarts"),
    online=OFFLINE,
    measured=Measured("restarts, 5kx30", "about 0.05 s"),
)

# --- bagging and forests ---------------------------------------------------------------------------------------------

BAGGING = Card(
    interpretable=Property("no", "a vote of many; importances and single cases can be looked at"),
    critique=Property("yes", "out-of-bag error without a test set, intervals, and the members' disagreement"),
    consistent=Property("partly", "where members are, or samples small enough (Biau, Devroye and Lugosi 2008)"),
    minimax=Property("no", "shown for bagged nearest neighbours only (Biau, Cerou and Guyader 2010)"),
    parameter_free=Property("partly", 'more members never hurt; n_estimators="auto" stops in time'),
    fast=Property("partly", "members are independent and run on all cores, but each is a whole fit"),
    online=Property("no", "as such; OnlineBagging is its form for streams"),
    measured=None,
)

FOREST = BAGGING._replace(
    critique=Property("yes", "out-of-bag error, class shares, intervals and quantiles, doubt between the trees"),
    consistent=Property("partly", "for additive targets and trees of limited size (Scornet, Biau and Vert 2015)"),
    minimax=Property("no", "shown for simpler forests (Mourtada, Gaiffas and Scornet 2020), not for this one"),
    parameter_free=Property("yes", 'defaults do well on most tables; tune="oob" chooses without a test set'),
    fast=Property("yes", "trees are independent and run on all cores"),
    online=OFFLINE,
    measured=Measured("two classes, 20kx30, 100 full trees", "about 2 s"),
)
FOREST_OF_NUMBERS = FOREST._replace(
    measured=Measured("regression, 20kx30, 100 full trees, all features at every node", "about 10 s")
)
EXTRA_TREES = FOREST._replace(
    critique=Property("partly", "class shares and the trees' disagreement; out-of-bag error with bootstrap=True"),
    consistent=Property("partly", "for trees cut wholly at random (Biau, Devroye and Lugosi 2008), not for these"),
    measured=Measured("extremely randomised trees, classes, 20kx30, 100 full trees", "about 3 s"),
)
EXTRA_TREES_OF_NUMBERS = EXTRA_TREES._replace(
    measured=Measured("extremely randomised trees, numbers, 20kx30, 100 full trees", "about 20 s")
)

ONLINE_BAGGING = BAGGING._replace(
    critique=Property("yes", "the error on every row before it is learned, and the members' disagreement"),
    consistent=Property("partly", "goes to bagging for members whose online form does so (Oza and Russell 2001)"),
    parameter_free=Property("partly", "the base learner; the number of members hardly matters"),
    fast=Property("partly", "every member learns every batch, about once on average"),
    online=Property("yes", "partial_fit; rows need to be seen once only"),
)

# --- boosting --------------------------------------------------------------------------------------------------------

ADABOOST = Card(
    interpretable=Property("partly", "with stumps a sum of one curve for each column; with trees no"),
    critique=Property("yes", "margins, edges and bounds for every fit; the bounds are often vacuous and say so"),
    consistent=Property("partly", "if stopped in time, with rich members (Bartlett and Traskin 2007)"),
    minimax=Property("no", "no such rate is known for it"),
    parameter_free=Property("partly", "the rounds, which early stopping chooses, and the member"),
    fast=Property("yes", "one pass over the columns for each stump"),
    online=Property("no", "as such; OnlineBoosting is its form for streams"),
    measured=Measured("AdaBoost, 200 stumps, 20kx30: largest edge, history recorded (sklearn: gini)", "about 0.3 s"),
)
MARGIN_MAXIMISER = ADABOOST._replace(
    consistent=Property("no", "it maximises the smallest margin, which noise in a single row can spoil"),
    minimax=Property("no", "not consistent to begin with"),
)
ARC_GV = MARGIN_MAXIMISER._replace(measured=Measured("arc-gv, 5kx30", "about 0.03 s"))
ADABOOST_STAR = MARGIN_MAXIMISER._replace(
    critique=Property("yes", "margins with a guarantee: within nu of the best possible after a known number of rounds"),
    parameter_free=Property("partly", "the accuracy nu; rounds follow from it"),
    measured=Measured("adaboost-star, 5kx30", "about 0.03 s"),
)
ADABOOST_THETA = ADABOOST._replace(
    consistent=Property("partly", "a margin target theta is a penalty; nothing is shown for a fixed one"),
    parameter_free=Property("partly", "theta, best by validation, and the rounds"),
    measured=Measured("adaboost-theta, 5kx30", "about 0.04 s"),
)
ADABOOST_M1 = ADABOOST._replace(
    consistent=Property("partly", "two classes as AdaBoost; with more, members must err less than half the time"),
    measured=Measured("adaboost-m1, 5kx30", "about 0.05 s"),
)
CONFIDENCE_RATED = ADABOOST._replace(measured=Measured("confidence-rated, 5kx30", "about 0.2 s"))
ANYBOOST = ADABOOST._replace(
    consistent=Property("partly", "for convex losses and rounds that stop in time (Zhang and Yu 2005)"),
    parameter_free=Property("no", "the loss, the rounds and the member"),
    measured=Measured("anyboost-logistic, 5kx30", "about 0.08 s"),
)
LPBOOST = MARGIN_MAXIMISER._replace(
    critique=Property("yes", "margins, and the gap to the optimum of its linear program"),
    consistent=Property("no", "soft margins at a fixed share nu; nothing is shown for a fixed nu"),
    parameter_free=Property("partly", "nu, the share of rows that may stay inside the margin"),
    fast=Property("partly", "a linear program in each round"),
    measured=Measured("lpboost, 5kx30", "about 1 s"),
)
SCHAPIRE = ADABOOST._replace(
    interpretable=Property("partly", "three members and a majority"),
    critique=Property("yes", "the bound 3p^2 - 2p^3 from the members' errors"),
    consistent=Property("no", "three members are as much as it combines"),
    minimax=Property("no", "not consistent to begin with"),
    parameter_free=Property("yes", "nothing but the member"),
    measured=Measured("schapire, 5kx30", "about 0.05 s"),
)
ADABOOST_R2 = ADABOOST._replace(
    interpretable=Property("no", "a weighted median of trees"),
    online=OFFLINE,
    critique=Property("partly", "errors over rounds; the spread of the members is no interval"),
    consistent=Property("no", "no theorem is known; it does well in practice"),
    parameter_free=Property("partly", "the rounds, the member and its loss"),
    fast=Property("yes", "one tree on a sample for each round"),
    measured=Measured("adaboost-r2, 5kx30", "about 0.2 s"),
)
GRADIENT_BOOSTING = Card(
    interpretable=Property("no", "hundreds of trees; SHAP values and partial dependence tell what they do"),
    critique=Property("partly", "probabilities by the log-loss, quantiles on request; validation loss over rounds"),
    consistent=Property("partly", "if stopped in time (Zhang and Yu 2005; Buehlmann 2006 for squared error)"),
    minimax=Property("partly", "for squared error with spline members (Buehlmann and Yu 2003); not shown for trees"),
    parameter_free=Property("partly", "early stopping chooses the rounds; learning rate and leaves have good defaults"),
    fast=Property("yes", "histograms of bins, one pass for each level"),
    online=OFFLINE,
    measured=Measured("two classes, 500kx28, 100 trees of 31 leaves", "about 3 s"),
)
GRADIENT_BOOSTING_OF_NUMBERS = GRADIENT_BOOSTING._replace(
    critique=Property("partly", "quantiles and calibrated intervals on request; validation loss over rounds"),
    measured=Measured("regression, 200kx28, 100 trees of 31 leaves", "about 2 s"),
)
STAGEWISE = GRADIENT_BOOSTING_OF_NUMBERS._replace(
    interpretable=Property("partly", "a sum; as readable as its members"),
    critique=Property("no", "errors over rounds only"),
    parameter_free=Property("partly", "the member, the rounds and the shrinkage"),
    fast=Property("partly", "as fast as its member, once for each round"),
    measured=Measured("stagewise, 5kx30", "about 0.3 s"),
)
ONLINE_BOOSTING = ADABOOST._replace(
    interpretable=Property("no", "a vote of many members"),
    critique=Property("yes", "the error on every row before it is learned"),
    consistent=Property("partly", "goes to AdaBoost for naive Bayes members (Oza and Russell 2001)"),
    fast=Property("partly", "every member learns every batch in turn"),
    online=Property("yes", "partial_fit; rows need to be seen once only"),
    measured=None,
)

# --- support vector machines -----------------------------------------------------------------------------------------

SVM = Card(
    interpretable=Property("no", "a sum over support vectors in a space of the kernel"),
    critique=Property("partly", "distances from the plane; probability=True fits probabilities to them"),
    consistent=Property("yes", "with a gaussian kernel and a penalty that fits n (Steinwart 2002)"),
    minimax=Property(
        "partly", "near the best rates, with widths and penalties chosen for n (Eberts and Steinwart 2013)"
    ),
    parameter_free=Property("no", "C and the kernel decide everything: tune_svc, tune_svr"),
    fast=Property("partly", "grows faster than the number of rows; NystroemSVC and LinearSVC do not"),
    online=OFFLINE,
    measured=Measured("gaussian kernel, 20kx30, C=1", "about 1 s"),
)
SVR = SVM._replace(
    critique=Property("no", "an answer, and whether a row lies within epsilon"),
    measured=Measured("SVR, gaussian kernel, 5kx30", "about 0.5 s"),
)
NU_SVC = SVM._replace(
    parameter_free=Property("no", "nu, which is a share of rows and easier to choose than C, and the kernel"),
    measured=Measured("NuSVC, gaussian kernel, 5kx30", "about 0.1 s"),
)
NU_SVR = SVR._replace(
    parameter_free=NU_SVC.parameter_free, measured=Measured("NuSVR, gaussian kernel, 5kx30", "about 0.9 s")
)
ONE_CLASS = SVM._replace(
    critique=Property("partly", "nu bounds the share of training rows called outliers"),
    consistent=Property("partly", "as an estimate of where rows lie dense (Vert and Vert 2006)"),
    minimax=Property("no", "not shown in general"),
    parameter_free=Property("no", "nu and the kernel, without labels to choose them by"),
    measured=Measured("OneClassSVM, gaussian kernel, 5kx30", "about 0.04 s"),
)
LINEAR_SVC = SVM._replace(
    interpretable=Property("yes", "one weight for each column"),
    critique=Property("no", "distances from the plane only"),
    consistent=Property("no", "a plane is all it can say"),
    minimax=Property("no", "not consistent beyond planes"),
    parameter_free=Property("partly", "C, which matters little with many rows"),
    fast=Property("yes", "a few passes over the rows"),
    measured=Measured("LinearSVC, squared hinge, 200kx50, C=1", "about 0.2 s"),
)
LINEAR_SVR = LINEAR_SVC._replace(
    critique=Property("no", "an answer only"),
    measured=Measured("LinearSVR, squared epsilon insensitive, 200kx50, C=1", "about 0.1 s"),
)
LANDMARK_SVC = SVM._replace(
    critique=Property("no", "distances from the plane only"),
    consistent=Property("partly", "if landmarks grow with the rows (Rudi, Camoriano and Rosasco 2015, squared error)"),
    fast=Property("yes", "grows in proportion to the rows: a million of them in about a minute"),
    measured=Measured("landmarks, gaussian kernel, 1000kx30", "about 70 s"),
)
LANDMARK_SVR = LANDMARK_SVC._replace(
    critique=Property("no", "an answer only"),
    measured=Measured("1000 landmarks, numbers, gaussian kernel, 100kx30", "about 6 s"),
)

# --- linear models ---------------------------------------------------------------------------------------------------

LOGISTIC = Card(
    interpretable=Property("yes", "one coefficient for each column and class"),
    critique=Property("yes", "probabilities, which the log-loss makes calibrated if the model is right"),
    consistent=Property("no", "a linear function is all it can learn; the best one in the limit"),
    minimax=Property("no", "not consistent beyond linear functions"),
    parameter_free=Property("yes", "cross-validation chooses the penalty"),
    fast=Property("yes", "a few Newton steps for each penalty and fold"),
    online=OFFLINE,
    measured=None,
)
RIDGE = LOGISTIC._replace(
    interpretable=Property("yes", "one coefficient for each column"),
    critique=Property("partly", "leave-one-out residuals in closed form"),
    parameter_free=Property("yes", "leave-one-out chooses the penalty"),
    fast=Property("yes", "one eigendecomposition for all penalties"),
)

# --- mixtures of experts ---------------------------------------------------------------------------------------------

EXPERTS = Card(
    interpretable=Property("partly", "a few linear models, and a gate that says which one answers for a row"),
    critique=Property("yes", "a likelihood: probabilities, deviations, and how sure the gate is"),
    consistent=Property(
        "partly", "with experts that grow with n (Jiang and Tanner 1999); EM may stay at a local optimum"
    ),
    minimax=Property("no", "rates are known for the best mixture (Mendes and Jiang 2012), not for what EM finds"),
    parameter_free=Property("no", "the number of experts; of several numbers given a criterion chooses one"),
    fast=Property("partly", "each iteration is a pass over the rows, and there are many, with restarts"),
    online=OFFLINE,
    measured=Measured("10 iterations of EM, 4 logistic experts, 50kx20", "about 0.2 s"),
)
HIERARCHY = EXPERTS._replace(
    interpretable=Property("partly", "soft questions on the way to a linear model"),
    measured=Measured(
        "whole fits of 4 experts, a tree of 4 and 8 neural ones, 10kx20, classes", "about 4 s", "committee hierarchy"
    ),
)
DENSITY = EXPERTS._replace(
    interpretable=Property("yes", "means and spreads of groups"),
    measured=Measured("5 gaussian experts, 20kx10", "about 0.1 s"),
)
SPARSE = EXPERTS._replace(
    interpretable=Property("no", "small neural networks behind a noisy gate"),
    critique=Property("partly", "probabilities of classes; for numbers an answer only"),
    consistent=Property("no", "trained by gradient steps; nothing is shown for what they find"),
    parameter_free=Property("no", "experts, layers, steps and penalties"),
    measured=Measured(
        "whole fits of 4 experts, a tree of 4 and 8 neural ones, 10kx20, classes", "about 2 s", "committee sparse gates"
    ),
)

# --- committees of any members ---------------------------------------------------------------------------------------

VOTING = Card(
    interpretable=Property("no", "a vote of different models; their shares can be read"),
    critique=Property("partly", "as much as its members, and their disagreement"),
    consistent=Property("partly", "an average where one member is consistent and weighs enough"),
    minimax=Property("no", "nothing is known in general"),
    parameter_free=Property("no", "the members"),
    fast=Property("partly", "the sum of its members' fits"),
    online=OFFLINE,
    measured=None,
)
STACKING = VOTING._replace(
    interpretable=Property("no", "a model of the answers of models; its weights can be read"),
    critique=Property("yes", "every weight comes from answers to rows that a member had not seen"),
    consistent=Property("partly", "as good as the best member in the limit (van der Laan, Polley and Hubbard 2007)"),
    fast=Property("partly", "the members' fits, once more for every fold"),
)
COMMITTEE = STACKING._replace(
    parameter_free=Property("yes", "members, settings and weights are chosen by honest answers"),
)
ON_NUMBERS = RESTARTS._replace(
    interpretable=Property("partly", "as much as the estimator inside; encoder_.names says what its columns are"),
    critique=Property("partly", "as much as the estimator inside"),
    consistent=Property("partly", "as the estimator inside, on filled-in and scaled columns"),
    minimax=Property("no", "nothing is known beyond the estimator inside"),
    parameter_free=Property("partly", "as the estimator inside; scaling and filling choose themselves"),
    fast=Property("partly", "as the estimator inside"),
    measured=None,
)
CALIBRATED = ON_NUMBERS._replace(
    interpretable=Property("partly", "as much as the classifier inside; two numbers change its probabilities"),
    critique=Property("yes", "probabilities fitted to rows that the classifier had not seen"),
    consistent=Property("partly", "as the classifier inside"),
    parameter_free=Property("partly", "as the classifier inside; the calibration chooses itself"),
    fast=Property("partly", "the fit of the classifier, once more for every fold"),
)

CARDS: dict[str, Card] = {
    "AdaBoostClassifier": ADABOOST,
    "AdaBoostM1Classifier": ADABOOST_M1,
    "AdaBoostRegressor": ADABOOST_R2,
    "AdaBoostStarClassifier": ADABOOST_STAR,
    "AdaBoostThetaClassifier": ADABOOST_THETA,
    "AnyBoostClassifier": ANYBOOST,
    "ArcGVClassifier": ARC_GV,
    "BaggingClassifier": BAGGING,
    "BaggingRegressor": BAGGING,
    "RestartClassifier": RESTARTS,
    "CalibratedClassifier": CALIBRATED,
    "CommitteeClassifier": COMMITTEE,
    "CommitteeRegressor": COMMITTEE,
    "ConfidenceRatedAdaBoostClassifier": CONFIDENCE_RATED,
    "DecisionStump": STUMP,
    "DecisionTreeClassifier": TREE,
    "DecisionTreeRegressor": TREE._replace(
        critique=Property("partly", "the spread of the targets in a leaf; full trees have none left"),
        measured=Measured("regression, 20kx30, fully grown", "about 0.2 s"),
    ),
    "ExtraTreesClassifier": EXTRA_TREES,
    "ExtraTreesRegressor": EXTRA_TREES_OF_NUMBERS,
    "GradientBoostingClassifier": GRADIENT_BOOSTING,
    "GradientBoostingRegressor": GRADIENT_BOOSTING_OF_NUMBERS,
    "HierarchicalMixtureOfExpertsClassifier": HIERARCHY,
    "HierarchicalMixtureOfExpertsRegressor": HIERARCHY,
    "LPBoostClassifier": LPBOOST,
    "NystroemSVC": LANDMARK_SVC,
    "NystroemSVR": LANDMARK_SVR,
    "LinearSVC": LINEAR_SVC,
    "LinearSVR": LINEAR_SVR,
    "LogisticRegressionCV": LOGISTIC,
    "MixtureOfExpertsClassifier": EXPERTS,
    "MixtureOfExpertsDensity": DENSITY,
    "MixtureOfExpertsRegressor": EXPERTS,
    "NuSVC": NU_SVC,
    "NuSVR": NU_SVR,
    "NumericPipelineClassifier": ON_NUMBERS,
    "NumericPipelineRegressor": ON_NUMBERS,
    "OneClassSVM": ONE_CLASS,
    "OnlineBaggingClassifier": ONLINE_BAGGING,
    "OnlineBaggingRegressor": ONLINE_BAGGING,
    "OnlineBoostingClassifier": ONLINE_BOOSTING,
    "PocketPerceptron": PERCEPTRON,
    "RandomForestClassifier": FOREST,
    "RandomForestRegressor": FOREST_OF_NUMBERS,
    "RidgeCV": RIDGE,
    "SVC": SVM,
    "SVR": SVR,
    "SchapireBoostClassifier": SCHAPIRE,
    "SparselyGatedMixtureClassifier": SPARSE,
    "SparselyGatedMixtureRegressor": SPARSE,
    "StackingClassifier": STACKING,
    "StackingRegressor": STACKING,
    "StagewiseRegressor": STAGEWISE,
    "VotingClassifier": VOTING,
    "VotingRegressor": VOTING,
}
