"""The experiments of papers and textbooks, each to be run by its name.

``REPRODUCTIONS["spam"].run()`` measures, and compares every published number with what was obtained. ``quick=True``
does the same with so few rounds, folds or samples that it takes seconds: good for a first look, not for a comparison.
"""

from __future__ import annotations

import difflib
import importlib
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from committee_reproductions.results import Outcome, Reproduce, ReproductionResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DPI = 100

ESL = "Hastie, Tibshirani and Friedman, The elements of statistical learning, 2009"


class Reproduction(NamedTuple):
    """One experiment: what is claimed where, and the module that repeats it."""

    name: str
    module: str  # of this package, with the functions `reproduce` and `draw`
    title: str
    source: str
    claimed: str
    note: str = ""  # what is done differently here

    def run(self, progress: bool = False, quick: bool = False) -> ReproductionResult:
        """Measure. `progress` shows bars; `quick` takes seconds, with fewer rounds, folds or samples."""
        reproduce: Reproduce = self._load().reproduce
        start = time.perf_counter()
        outcome: Outcome = reproduce(quick, int(progress))
        return ReproductionResult(self.name, *outcome, time.perf_counter() - start, quick)

    def figure(self, result: ReproductionResult) -> Figure:
        """Draw a result of `run` with matplotlib."""
        return self._load().draw(result)

    def _load(self) -> Any:
        return importlib.import_module(f"committee_reproductions.{self.module}")


class Registry(dict[str, Reproduction]):
    """Reproductions by name; case, spaces and hyphens do not matter."""

    def __missing__(self, name: str) -> Reproduction:
        for known, one in self.items():
            if _letters(name) == _letters(known):
                return one
        near = difflib.get_close_matches(name, self, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]}? " if near else ""
        raise KeyError(f"no reproduction {name!r}; {hint}there are: {', '.join(self)}")


def _letters(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


def draw(result: ReproductionResult, path: str | Path) -> Path:
    """Draw a result into a file (.png, .svg or .pdf), whose folder is made if need be; return the path."""
    figure, place = REPRODUCTIONS[result.name].figure(result), Path(path)
    place.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(place, dpi=DPI)
    import matplotlib.pyplot as plt

    plt.close(figure)
    return place


REPRODUCTIONS = Registry({one.name: one for one in (
    Reproduction(
        "majority-vote", "majority_vote",
        "The error of a majority of independent voters",
        "Condorcet's jury theorem, 1785; a table of lecture notes on ensemble learning",
        "Of K independent classifiers that are right with probability 0.6 the majority errs with probability 0.247, "
        "0.174, 0.073, 0.021, 0.000003 for K = 11, 21, 51, 101, 501.",
    ),
    Reproduction(
        "bias-variance", "bias_variance",
        "Bias, variance and noise over 50 training sets",
        "Geman, Bienenstock and Doursat, Neural networks and the bias/variance dilemma, 1992",
        "The expected squared error is noise + bias^2 + variance; models with little bias have much variance and the "
        "other way round; an average keeps the bias and lowers the variance.",
    ),
    Reproduction(
        "why-ensembles", "dietterich_2000",
        "Three reasons to combine, and selecting against combining",
        "Dietterich, Ensemble methods in machine learning, 2000",
        "With few rows many hypotheses fit and their vote is better than one; a sum of weak hypotheses can express "
        "what none of them can; a local search ends in different places, so that many searches are better than one.",
        "The paper argues; the measurements here are our own. Whether to select or to combine is asked of a forest, an "
        "SVM, nearest neighbours, naive Bayes or ridge regression, and a linear model, on built-in data sets.",
    ),
    Reproduction(
        "bootstrap-interval", "bootstrap_interval",
        "The bootstrap interval of a polynomial regression",
        "Efron and Tibshirani, An introduction to the bootstrap, 1993",
        "The bootstrap gives an interval for a prediction without assuming normal noise; where the noise is normal it "
        "agrees with the interval of normal theory.",
    ),
    Reproduction(
        "bagged-trees", "hastie_bagged_trees",
        "Bagged trees on 30 simulated rows",
        f"{ESL}, section 8.7.1",
        "One tree does much worse than the best rule, bagged trees come nearer to its error of 0.2, and the mean of "
        "the class distributions does better than the vote.",
        "The book shows one training set; the errors here are means over 200.",
    ),
    Reproduction(
        "spam", "hastie_spam",
        "Bagging, random forest and gradient boosting on spam",
        f"{ESL}, chapter 15",
        "Test errors of 5.4 % for bagging, 4.88 % for the random forest and 4.5 % for gradient boosting (standard "
        "error about 0.6 %); the out-of-bag error of a forest is close to its test error.",
        "The book's split of the rows is not known; here every third of the rows is the test set once, twice over. It "
        "names no learning rate; here it is 0.05.",
    ),
    Reproduction(
        "rare-class", "rare_class_importances",
        "Importances of features that a rare class needs",
        "Lecture notes on random forests",
        "Importances by permutation and by impurity neglect the features that a rare, difficult class needs; the "
        "frequency in the splits keeps them.",
    ),
    Reproduction(
        "forests-against-adaboost", "breiman_2001",
        "Random forests against AdaBoost on four UCI data sets",
        "Breiman, Random forests, 2001, table 2",
        "Test errors over 100 random splits of 90 % and 10 %: random forests are as good as AdaBoost, and far better "
        "than one tree.",
        "The paper's error of one tree is estimated out of bag, ours on the test rows; standard errors here are those "
        "of drawing other splits of the same rows.",
    ),
    Reproduction(
        "boosted-stumps", "freund_schapire_1996",
        "Boosted and bagged stumps",
        "Freund and Schapire, Experiments with a new boosting algorithm, 1996, table 2",
        "Ten times 10-fold cross-validation, 100 rounds: boosting takes a third of a stump's error and more, bagging "
        "hardly changes it.",
        "Standard errors here are those of drawing other folds of the same rows, and small; whether the paper's folds "
        "were stratified, as ours are, is not known.",
    ),
    Reproduction(
        "boosting-curves", "schapire_1998_margins",
        "Boosted stumps on four UCI data sets: errors and margins over the rounds",
        "Schapire, Freund, Bartlett and Lee, Boosting the margin, 1998",
        "Stumps boosted on four UCI data sets overfit on some hardly, on others much; the test error may go on "
        "decreasing after the training error is zero, while the margins grow.",
        "The data sets are the built-in ones of two classes. Curves without numbers are published.",
    ),
    Reproduction(
        "three-rounds", "three_rounds",
        "Three rounds of AdaBoost in the plane",
        "Schapire and Freund, Boosting: foundations and algorithms, 2012, section 1.2",
        "Three stumps, none of them good, vote without an error: each round concentrates on the rows that the last one "
        "got wrong.",
        "The coordinates of the ten points are our own.",
    ),
    Reproduction(
        "confidence-rated", "schapire_singer_1999",
        "Discrete against confidence-rated AdaBoost",
        "Schapire and Singer, Improved boosting algorithms using confidence-rated predictions, 1999",
        "Hypotheses that state their confidence lower the training error in fewer rounds than those that only vote.",
    ),
    Reproduction(
        "margin-maximisation", "reyzin_schapire_2006",
        "arc-gv and other margin maximisers against AdaBoost",
        "Breiman, Prediction games and arcing algorithms, 1999; Reyzin and Schapire, How boosting the margin can also "
        "boost classifier complexity, 2006",
        "With trees of a fixed number of leaves arc-gv reaches larger smallest margins than AdaBoost and no better "
        "test error. (With stumps its smallest margin need not be larger.)",
    ),
    Reproduction(
        "rounds-or-theta", "rounds_or_theta",
        "The number of rounds or theta, chosen by validation",
        "Lecture notes on boosting; Raetsch, Onoda and Mueller, Soft margins for AdaBoost, 2001",
        "AdaBoost_theta with theta chosen by validation and AdaBoost with the number of rounds chosen by validation "
        "have similar errors.",
    ),
    Reproduction(
        "samme", "zhu_2009_samme",
        "SAMME against AdaBoost.M1 on more than two classes",
        "Zhu, Zou, Rosset and Hastie, Multi-class AdaBoost, 2009",
        "AdaBoost.M1 stops where a weak learner errs on more than half of the weight; SAMME goes on as long as it "
        "beats guessing among K classes, and ends with a smaller error.",
        "The numbers to compare with are those of Weka 3.6.14 (DecisionStump, and AdaBoostM1 with 100 of them), run "
        "for this project; on glass it stays with one stump.",
    ),
    Reproduction(
        "mixture-of-experts", "mixture_of_experts",
        "Linear experts with a gate on a piecewise linear data set",
        "Jacobs, Jordan, Nowlan and Hinton, Adaptive mixtures of local experts, 1991; Jordan and Jacobs, Hierarchical "
        "mixtures of experts and the EM algorithm, 1994",
        "Experts that are each linear, chosen by a softmax gate, fit what no single linear model can; the likelihood "
        "never decreases during EM.",
    ),
    Reproduction(
        "xor", "xor",
        "Exclusive or: a map makes it separable",
        "Minsky and Papert, Perceptrons, 1969",
        "No line separates exclusive or in the plane; after the map (x, y, xy) a plane does.",
    ),
)})  # fmt: skip
"""From votes and bagging to boosting, experts and SVMs."""
