"""Does bagging help a tree, and does it matter how the trees are combined? (C-7; S2, "Bagged Trees")

    x in R^5 standard normal, correlation 0.95 between any two
    P(y = 1 | x_1 <= 0.5) = 0.2,  P(y = 1 | x_1 > 0.5) = 0.8
    30 training rows; 200 bootstrap samples, an unpruned tree on each

The best rule, y = 1 where x_1 > 0.5, errs with probability 0.2. Claim: one tree does much worse and changes with every
sample; the bagged trees come nearer to 0.2, and the mean of the leaves' class distributions does better than the vote
(Hastie, Tibshirani and Friedman, The Elements of Statistical Learning, 2009, section 8.7.1).

Measured: for each of many training sets, the error after b = 1, 2, ... trees, by vote and by mean of the distributions
of the same trees, and that of one tree grown on the training rows themselves. The error of a rule h is known without
test labels: the mean over test rows x of P(y != h(x) | x). Training sets are independent, so the standard error of a
mean over R of them is their standard deviation over sqrt(R).

The leaves of a full tree are pure, so its class distribution is its vote and both curves are one. They part where trees
stop earlier, as those of the book must have: `reproduce_c7` has leaves of at least 5 rows beside full trees.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.bagging.estimators import BaggingClassifier
from committee.base.array_types import Floats
from committee.base.progress import progress
from committee.base.rng import RandomState, member_seeds
from committee.evaluation._folds import Mean, unfitted
from committee.records.history import History
from committee.records.result_table import ResultTable, to_pandas, to_polars
from committee.trees.decision_tree import DecisionTreeClassifier

BAYES_ERROR = 0.2
CORRELATION = 0.95
STEP = 0.5
"""Where x_1 changes the class."""

SURE = 2.0
"""A difference of so many standard errors is one."""


class Draw(NamedTuple):
    """Rows of the simulation and the probability of class 1 at each."""

    X: Floats  # [n, 5]
    chance: Floats  # [n]


class BaggingSimulation(NamedTuple):
    """Errors on R training sets: of one tree, and of the first b bagged trees."""

    tree_errors: Floats  # [R]
    vote_errors: Floats  # [R, B]
    mean_errors: Floats  # [R, B]

    @property
    def n_trees(self) -> NDArray[np.int64]:
        return np.arange(1, self.vote_errors.shape[1] + 1)

    @property
    def tree_error(self) -> Mean:
        """Of one tree on the training rows themselves."""
        return mean_over_draws(self.tree_errors)

    @property
    def vote_error(self) -> Mean:
        """Of the vote of all bagged trees."""
        return mean_over_draws(self.vote_errors[:, -1])

    @property
    def mean_error(self) -> Mean:
        """Of the mean of the distributions of all bagged trees."""
        return mean_over_draws(self.mean_errors[:, -1])

    @property
    def gain(self) -> Mean:
        """Error of one tree minus that of the mean of the bagged ones, on the same training rows."""
        return mean_over_draws(self.tree_errors - self.mean_errors[:, -1])

    @property
    def vote_excess(self) -> Mean:
        """Error of the vote minus that of the mean of distributions, of the same trees."""
        return mean_over_draws(self.vote_errors[:, -1] - self.mean_errors[:, -1])

    @property
    def verdict(self) -> str:
        """What bagging gains and whether the mean beats the vote, with the numbers."""
        helps = "bagging helps" if self.gain.value > SURE * self.gain.stderr else "bagging is not seen to help"
        excess = self.vote_excess
        if not excess.value and not excess.stderr:
            word = "vote and mean of distributions are the same, for every leaf is pure"
        elif abs(excess.value) <= SURE * excess.stderr:
            word = f"vote and mean of distributions do not differ by more than chance ({excess})"
        else:
            is_worse = excess.value > 0.0
            word = f"the vote is {'worse' if is_worse else 'better'} than the mean of distributions by {excess}"
        return (
            f"{helps}: test error {self.tree_error} of one tree, {self.mean_error} of {self.n_trees[-1]} bagged trees, "
            f"{BAYES_ERROR} of the best rule; {word}"
        )

    @property
    def history(self) -> History:
        """One row per number of trees: both errors as means with their standard errors."""
        columns: dict[str, Any] = {"n_trees": self.n_trees}
        for name, errors in (("vote", self.vote_errors), ("mean", self.mean_errors)):
            columns |= {f"{name}_error": errors.mean(axis=0), f"{name}_stderr": stderr_over_draws(errors)}
        return History(columns)

    def to_table(self) -> ResultTable:
        """`history`."""
        return self.history

    to_pandas = to_pandas
    to_polars = to_polars


def bagging_simulation(
    *,
    n_rows: int = 30,
    n_estimators: int = 200,
    n_repeats: int = 50,
    n_test: int = 2000,
    estimator: Any = None,
    random_state: RandomState = None,
    verbose: int = 0,
) -> BaggingSimulation:
    """Test error of bagged trees against their number, on simulated rows whose best rule is known (C-7).

    Parameters
    ----------
    n_rows : rows to learn from
    n_estimators : bagged trees
    n_repeats : training sets to draw; the test rows are drawn once
    n_test : rows to judge on
    estimator : a classifier with ``predict_proba``, default a full `DecisionTreeClassifier`
    random_state : of the rows and of the samples
    verbose : 1 shows a progress bar over the training sets

    Examples
    --------
    >>> found = bagging_simulation(n_estimators=50, n_repeats=10, random_state=0)
    >>> print(found.tree_error, found.mean_error, sep="; ")
    0.3354 ± 0.0137; 0.3049 ± 0.0127
    """
    if min(n_rows, n_estimators, n_test) < 1 or n_repeats < 2:
        raise ValueError(
            "n_rows, n_estimators and n_test must be at least 1, and n_repeats 2, for a standard error; got "
            f"{n_rows}, {n_estimators}, {n_test} and {n_repeats}."
        )
    learner = DecisionTreeClassifier() if estimator is None else estimator
    seeds = [int(seed) for seed in member_seeds(random_state, n_repeats + 1)]
    test = draw_rows(n_test, np.random.default_rng(seeds[0]))
    found: list[tuple[float, Floats, Floats]] = []
    with progress("bagged trees, training sets", n_repeats, verbose) as tick:
        for seed in seeds[1:]:
            found.append(_run(learner, n_rows, n_estimators, test, seed))
            tick(f"one tree {found[-1][0]:.3f}, bagged {found[-1][2][-1]:.3f}")
    tree, vote, mean = (np.array(errors) for errors in zip(*found, strict=True))
    return BaggingSimulation(tree, vote, mean)


def reproduce_c7(
    *, n_estimators: int = 200, n_repeats: int = 200, random_state: int = 0, verbose: int = 0
) -> dict[str, BaggingSimulation]:
    """The simulation with full trees, and with trees whose leaves have at least 5 rows.

    ``committee reproduce C-7`` prints what came out beside what is published.
    """
    trees = {"full trees": DecisionTreeClassifier(), "leaves of 5 rows": DecisionTreeClassifier(min_samples_leaf=5)}
    return {
        name: bagging_simulation(
            n_estimators=n_estimators, n_repeats=n_repeats, estimator=tree, random_state=random_state, verbose=verbose
        )
        for name, tree in trees.items()
    }


def draw_rows(n: int, rng: np.random.Generator) -> Draw:
    """Rows of the simulation: a part that all five variables share gives them their correlation."""
    shared = np.sqrt(CORRELATION) * rng.standard_normal((n, 1))
    X = shared + np.sqrt(1.0 - CORRELATION) * rng.standard_normal((n, 5))
    return Draw(X, np.where(X[:, 0] <= STEP, BAYES_ERROR, 1.0 - BAYES_ERROR))


def expected_error(labels: NDArray[np.int64], chance: Floats) -> float:
    """Mean over rows of P(y != label), `chance` being P(y = 1).

    >>> round(expected_error(np.array([0, 1]), np.array([0.2, 0.2])), 2)
    0.5
    """
    return float(np.mean(np.where(labels == 1, 1.0 - chance, chance)))


def mean_over_draws(values: Floats) -> Mean:
    """Mean and standard error of one number per training set."""
    return Mean(float(values.mean()), float(stderr_over_draws(values)))


def stderr_over_draws(values: Floats) -> Floats:
    """Standard error of the mean over the first axis, whose entries are independent."""
    return values.std(axis=0, ddof=1) / np.sqrt(len(values))


def _run(learner: Any, n_rows: int, n_estimators: int, test: Draw, seed: int) -> tuple[float, Floats, Floats]:
    """Errors of one tree, of the votes and of the means, on one training set."""
    rng = np.random.default_rng(seed)
    rows = draw_rows(n_rows, rng)
    y = (rng.random(n_rows) < rows.chance).astype(np.int64)
    member_seed = int(rng.integers(2**31))
    tree = unfitted(learner, random_state=member_seed).fit(rows.X, y)
    curves: list[Floats] = []
    for combine in ("vote", "mean"):  # the seed makes both grow the same trees
        bagged = BaggingClassifier(learner, n_estimators=n_estimators, combine=combine, random_state=member_seed)
        staged = bagged.fit(rows.X, y).staged_predict(test.X)
        curves.append(np.array([expected_error(labels, test.chance) for labels in staged]))
    return expected_error(tree.predict(test.X), test.chance), curves[0], curves[1]
