"""The experiments of the documents and of the papers behind them, each to be run by its id.

``REPRODUCTIONS["E-13"].run()`` measures, and says beside every published number what came out. ``quick=True`` does the
same with so few rounds, folds or samples that it takes seconds: good for a look, not for a comparison.
"""

from __future__ import annotations

import difflib
import importlib
import math
import time
from typing import Any, NamedTuple

from committee.records.history import History
from committee.records.result_table import ResultTable, to_pandas, to_polars
from committee_reproductions.published import Claim, Outcome, OutcomeOf, Row

ESL = "Hastie, Tibshirani and Friedman, The Elements of Statistical Learning, 2009"


class ReproductionResult(NamedTuple):
    """What one run found; `curves` is a long table of panel, curve, x, value and standard error."""

    id: str
    rows: tuple[Row, ...]
    claims: tuple[Claim, ...]
    curves: History
    verdict: str
    study: Any  # what the picture is drawn from
    seconds: float
    is_quick: bool

    def to_dict(self) -> dict[str, Any]:
        """Everything but the curves and the study, ready for JSON."""
        rows = [{**row._asdict(), "agrees": row.agrees} for row in self.rows]
        claims = [claim._asdict() for claim in self.claims]
        told = REPRODUCTIONS[self.id]
        return {
            "id": self.id, "title": told.title, "source": told.source, "claimed": told.claimed, "note": told.note,
            "rows": rows, "claims": claims, "verdict": self.verdict, "seconds": round(self.seconds, 1),
            "is_quick": self.is_quick,
        }  # fmt: skip

    def to_table(self) -> ResultTable:
        """One line per number."""
        columns: dict[str, list[Any]] = {name: [getattr(row, name) for row in self.rows] for name in Row._fields}
        columns["published"] = [math.nan if value is None else value for value in columns["published"]]
        return ResultTable({**columns, "agrees": [row.agrees for row in self.rows]})

    to_pandas = to_pandas
    to_polars = to_polars


class Reproduction(NamedTuple):
    """One experiment: what is claimed where, and how to do it again."""

    id: str
    name: str  # a short one to type
    title: str
    source: str
    claimed: str
    home: str  # module of this package and the function in it that runs it
    plot: str  # name of the function of committee_reproductions.plots.reproductions that draws it
    note: str = ""  # what is done in another way here

    def run(self, progress: bool = False, quick: bool = False) -> ReproductionResult:
        """Measure. `progress` shows bars; `quick` takes seconds, with fewer rounds, folds or samples."""
        module, _, function = self.home.partition(":")
        outcome_of: OutcomeOf = getattr(importlib.import_module(f"committee_reproductions.{module}"), function)
        start = time.perf_counter()
        outcome: Outcome = outcome_of(quick, int(progress))
        return ReproductionResult(self.id, *outcome, time.perf_counter() - start, quick)


class Registry(dict[str, Reproduction]):
    """Reproductions by id; ``registry["e13"]`` and ``registry["boosting-curves"]`` find E-13 too."""

    def __missing__(self, word: str) -> Reproduction:
        wanted = _plain(word)
        for told in self.values():
            if wanted in (_plain(told.id), _plain(told.name)):
                return told
        known = [told.id for told in self.values()] + [told.name for told in self.values()]
        near = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]}? " if near else ""
        raise KeyError(f"no reproduction {word!r}; {hint}there are: {', '.join(self)}")


def _plain(word: str) -> str:
    return "".join(letter for letter in word.lower() if letter.isalnum())


def _register(*told: Reproduction) -> Registry:
    return Registry({one.id: one for one in told})


REPRODUCTIONS = _register(
    Reproduction(
        "B-1", "majority-vote", "The error of a majority of independent voters", "S2",
        "Of K independent classifiers that are right with probability 0.6 the majority errs with probability 0.247, "
        "0.174, 0.073, 0.021, 0.000003 for K = 11, 21, 51, 101, 501.",
        "voting_outcomes:majority_vote_error_table", "majority_vote",
    ),
    Reproduction(
        "B-2", "bias-variance", "Bias, variance and noise over 50 training sets", "S2",
        "The expected squared error is noise + bias^2 + variance; models with little bias have much variance and the "
        "other way round; an average keeps the bias and lowers the variance.",
        "voting_outcomes:bias_variance_picture", "bias_variance",
    ),
    Reproduction(
        "C-2", "bootstrap-interval", "The bootstrap interval of a polynomial regression", "S2",
        "The bootstrap gives an interval for a prediction without assuming normal noise; where the noise is normal it "
        "agrees with the interval of normal theory.",
        "voting_outcomes:polynomial_intervals", "polynomial_intervals",
    ),
    Reproduction(
        "C-7", "bagged-trees", "Bagged trees on 30 simulated rows", f"S2; {ESL}, section 8.7.1",
        "One tree does much worse than the best rule, bagged trees come nearer to its error of 0.2, and the mean of "
        "the class distributions does better than the vote.",
        "voting_outcomes:bagged_trees", "bagged_trees",
    ),
    Reproduction(
        "D-8", "spam", "Bagging, random forest and gradient boosting on spam", f"S2; {ESL}, chapter 15",
        "Test errors of 5.4 % for bagging, 4.88 % for the random forest and 4.5 % for gradient boosting (standard "
        "error about 0.6 %); the out-of-bag error of a forest is close to its test error.",
        "forest_outcomes:spam", "spam",
    ),
    Reproduction(
        "D-9", "rare-class", "Importances of variables that a rare class needs", "S1",
        "Importances by permutation and by impurity neglect the variables that a rare, difficult class needs; the "
        "frequency in the splits keeps them.",
        "forest_outcomes:rare_class", "rare_class",
    ),
    Reproduction(
        "BREIMAN-2001", "forests-against-adaboost", "Random forests against AdaBoost on four UCI sets",
        "Breiman, Random forests, 2001, table 2",
        "Test errors over 100 random splits of 90 % and 10 %: random forests are as good as AdaBoost, and far better "
        "than one tree.",
        "forest_outcomes:breiman_table", "breiman_2001",
        "The paper's error of one tree is estimated out of bag, ours on the test rows; standard errors here are those "
        "of drawing other splits of the same rows.",
    ),
    Reproduction(
        "E-5", "confidence-rated", "Discrete against confidence-rated AdaBoost",
        "S2; Schapire and Singer, Improved boosting algorithms using confidence-rated predictions, 1999",
        "Hypotheses that say how sure they are lower the training error in fewer rounds than those that only vote.",
        "boosting_outcomes:confidence", "confidence_rated",
    ),
    Reproduction(
        "E-13", "boosting-curves", "Boosted stumps on four UCI sets: errors and margins over the rounds",
        "S0, page 9; Schapire, Freund, Bartlett and Lee, Boosting the margin, 1998",
        "Stumps boosted on four UCI sets overfit on some hardly, on others much; the test error may go on falling "
        "after the training error is zero, while the margins grow.",
        "boosting_outcomes:boosting_curves", "boosting_curves",
        "The document does not name its four sets; these are the built-in ones of two classes. It shows curves without "
        "numbers.",
    ),
    Reproduction(
        "E-14", "three-rounds", "Three rounds of AdaBoost in the plane", "S2",
        "Three stumps, none of them good, vote without an error: each round learns where the last one was wrong.",
        "boosting_outcomes:rounds_in_the_plane", "three_rounds",
    ),
    Reproduction(
        "F-2", "rounds-or-theta", "The number of rounds or theta, chosen by validation", "S0, pages 22-25",
        "AdaBoost_theta with theta chosen by validation and AdaBoost with the number of rounds chosen by validation "
        "have similar errors.",
        "boosting_outcomes:rounds_or_theta", "rounds_or_theta",
    ),
    Reproduction(
        "F-6", "margin-maximisation", "arc-gv and other margin maximisers against AdaBoost",
        "S0, pages 22-25; Breiman, Prediction games and arcing algorithms, 1999; Reyzin and Schapire, How boosting the "
        "margin can also boost classifier complexity, 2006",
        "With trees of a fixed number of leaves arc-gv reaches larger smallest margins than AdaBoost and no better "
        "test error. (With stumps its smallest margin need not be larger.)",
        "boosting_outcomes:larger_margins", "margin_maximisation",
    ),
    Reproduction(
        "FREUND-1996", "boosted-stumps", "Boosted and bagged stumps",
        "Freund and Schapire, Experiments with a new boosting algorithm, 1996, table 2",
        "Ten times 10-fold cross-validation, 100 rounds: boosting takes a third of a stump's error and more, bagging "
        "hardly changes it.",
        "boosting_outcomes:boosted_stumps", "freund_schapire_1996",
        "Standard errors here are those of drawing other folds of the same rows, and small; whether the paper's folds "
        "had equal shares of the classes, as ours have, is not known.",
    ),
    Reproduction(
        "G-1", "samme", "SAMME against AdaBoost.M1 on several classes",
        "S2; Zhu, Zou, Rosset and Hastie, Multi-class AdaBoost, 2009",
        "AdaBoost.M1 stops where a weak learner errs on more than half of the weight; SAMME goes on as long as it "
        "beats guessing among K classes, and ends with a smaller error.",
        "boosting_outcomes:several_classes", "multiclass_boosting",
        "The numbers to compare with are those of Weka 3.6.14 (DecisionStump, and AdaBoostM1 with 100 of them), run "
        "for this project; on glass it stays with one stump.",
    ),
    Reproduction(
        "H", "mixture-of-experts", "Linear experts behind a gate on a piecewise linear set", "S2",
        "Experts that are each linear, chosen by a softmax gate, fit what no single linear model can; the likelihood "
        "never falls during EM.",
        "machine_outcomes:experts", "local_experts",
    ),
    Reproduction(
        "I-5", "xor", "Exclusive or: a map makes it separable", "S1",
        "No line separates exclusive or in the plane; after the map (x, y, xy) a plane does.",
        "machine_outcomes:exclusive_or", "exclusive_or",
    ),
)  # fmt: skip
"""In the order of the ids; the tables of papers stand beside the experiments they belong to."""
