"""Does bagging help a tree, and does it matter how the trees are combined?

Hastie, Tibshirani and Friedman, The elements of statistical learning, 2009, section 8.7.1.

    x in R^5 standard normal, correlation 0.95 between any two
    P(y = 1 | x_1 <= 0.5) = 0.2,  P(y = 1 | x_1 > 0.5) = 0.8
    30 training rows; 200 bootstrap samples, an unpruned tree on each

The best rule, y = 1 where x_1 > 0.5, errs with probability 0.2. Claims: one tree does much worse and changes with every
sample; the bagged trees come nearer to 0.2, and the mean of the leaves' class distributions does better than the vote.

Measured: for each of many training sets, the error after b = 1, 2, ... trees, by vote and by mean of the distributions
of the same trees, and that of one tree fitted on the training rows themselves. The error of a rule h is known without
test labels: the mean over test rows x of P(y != h(x) | x). Training sets are independent, so the standard error of a
mean over R of them is their standard deviation over sqrt(R).

The leaves of a full tree are pure, so its class distribution is its vote and both curves are one. They differ where
trees stop earlier, as those of the book must have: hence trees with leaves of at least 5 rows too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.bagging.estimators import BaggingClassifier
from committee.base.array_types import Floats
from committee.base.progress import progress
from committee.base.rng import RandomState, member_seeds
from committee.base.stats import Mean
from committee.evaluation._folds import unfitted
from committee.plots._style import GREEN, GREY, ORANGE, finish, panels
from committee.records.history import History
from committee.records.result_table import ResultTable, to_pandas, to_polars
from committee.trees.decision_tree import DecisionTreeClassifier
from committee_reproductions.results import (
    SIGNIFICANT,
    Claim,
    Outcome,
    ReproductionResult,
    Row,
    gather_curves,
    is_above,
    mean_over_draws,
    row,
    stderr_over_draws,
    verdict_of,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BAYES_ERROR = 0.2
CORRELATION = 0.95
STEP = 0.5
"""Where x_1 changes the class."""

FULL, SMALL = "full trees", "leaves of 5 rows"


class SimulatedRows(NamedTuple):
    """Rows of the simulation and the probability of class 1 at each."""

    X: Floats  # [n, 5]
    probability: Floats  # [n]


class BaggedTrees(NamedTuple):
    """Errors on R training sets: of one tree, and of the first b bagged trees."""

    tree_errors: Floats  # [R]
    vote_errors: Floats  # [R, B]
    mean_errors: Floats  # [R, B]

    @property
    def n_trees(self) -> NDArray[np.int64]:
        """The numbers of bagged trees, from 1."""
        return np.arange(1, self.vote_errors.shape[1] + 1)

    @property
    def tree_error(self) -> Mean:
        """Error of one tree fitted on the training rows themselves."""
        return mean_over_draws(self.tree_errors)

    @property
    def vote_error(self) -> Mean:
        """Error of the vote of all bagged trees."""
        return mean_over_draws(self.vote_errors[:, -1])

    @property
    def mean_error(self) -> Mean:
        """Error of the mean of the distributions of all bagged trees."""
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
        helps = "bagging helps" if self.gain.value > SIGNIFICANT * self.gain.stderr else "bagging is not seen to help"
        excess = self.vote_excess
        if not excess.value and not excess.stderr:
            what = "vote and mean of distributions are the same, for every leaf is pure"
        elif is_above(excess) is None:
            what = f"vote and mean of distributions do not differ by more than chance ({excess})"
        else:
            word = "worse" if excess.value > 0.0 else "better"
            what = f"the vote is {word} than the mean of distributions by {excess}"
        return (
            f"{helps}: test error {self.tree_error} of one tree, {self.mean_error} of {self.n_trees[-1]} bagged trees, "
            f"{BAYES_ERROR} of the best rule; {what}"
        )

    @property
    def history(self) -> History:
        """One row per number of trees: both errors as means with their standard errors."""
        columns: dict[str, Any] = {"n_trees": self.n_trees}
        for name, errors in (("vote", self.vote_errors), ("mean", self.mean_errors)):
            columns |= {f"{name}_error": errors.mean(axis=0), f"{name}_stderr": stderr_over_draws(errors)}
        return History(columns)

    def to_table(self) -> ResultTable:
        """Return `history`."""
        return self.history

    to_pandas = to_pandas
    to_polars = to_polars


def bagged_trees(
    estimator: Any = None,
    *,
    n_rows: int = 30,
    n_estimators: int = 200,
    n_repeats: int = 200,
    n_test: int = 2000,
    random_state: RandomState = 0,
    verbose: int = 0,
) -> BaggedTrees:
    """Measure the test error of bagged trees against their number, on simulated rows whose best rule is known.

    Parameters
    ----------
    estimator : classifier with ``predict_proba``, default=DecisionTreeClassifier()
        What is bagged.
    n_rows : int, default=30
        Training rows.
    n_estimators : int, default=200
        Bagged trees.
    n_repeats : int, default=200
        Training sets to draw; the test rows are drawn once.
    n_test : int, default=2000
        Test rows.
    random_state : int or numpy Generator, default=0
        Draws the rows and the bootstrap samples.
    verbose : int, default=0
        1 shows a progress bar over the training sets.

    Returns
    -------
    BaggedTrees
        Errors on every training set.

    Examples
    --------
    >>> result = bagged_trees(n_estimators=50, n_repeats=10)
    >>> print(result.tree_error, result.mean_error, sep="; ")
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
    errors: list[tuple[float, Floats, Floats]] = []
    with progress("bagged trees, training sets", n_repeats, verbose) as tick:
        for seed in seeds[1:]:
            errors.append(_run(learner, n_rows, n_estimators, test, seed))
            tick(f"one tree {errors[-1][0]:.3f}, bagged {errors[-1][2][-1]:.3f}")
    return BaggedTrees(*(np.array(one) for one in zip(*errors, strict=True)))


def full_and_small_trees(
    *, n_estimators: int = 200, n_repeats: int = 200, random_state: int = 0, verbose: int = 0
) -> dict[str, BaggedTrees]:
    """Bag full trees, and trees whose leaves have at least 5 rows."""
    trees = {FULL: DecisionTreeClassifier(), SMALL: DecisionTreeClassifier(min_samples_leaf=5)}
    size: dict[str, Any] = {"n_estimators": n_estimators, "n_repeats": n_repeats}
    return {
        name: bagged_trees(tree, **size, random_state=random_state, verbose=verbose) for name, tree in trees.items()
    }


def draw_rows(n: int, rng: np.random.Generator) -> SimulatedRows:
    """Draw rows of the simulation; a part that all five features share gives them their correlation."""
    shared = np.sqrt(CORRELATION) * rng.standard_normal((n, 1))
    X = shared + np.sqrt(1.0 - CORRELATION) * rng.standard_normal((n, 5))
    return SimulatedRows(X, np.where(X[:, 0] <= STEP, BAYES_ERROR, 1.0 - BAYES_ERROR))


def expected_error(labels: NDArray[np.int64], probability: Floats) -> float:
    """Return the mean over rows of P(y != label), `probability` being P(y = 1).

    >>> round(expected_error(np.array([0, 1]), np.array([0.2, 0.2])), 2)
    0.5
    """
    return float(np.mean(np.where(labels == 1, 1.0 - probability, probability)))


def _run(learner: Any, n_rows: int, n_estimators: int, test: SimulatedRows, seed: int) -> tuple[float, Floats, Floats]:
    """Return the errors of one tree, of the votes and of the means, on one training set."""
    rng = np.random.default_rng(seed)
    rows = draw_rows(n_rows, rng)
    y = (rng.random(n_rows) < rows.probability).astype(np.int64)
    member_seed = int(rng.integers(2**31))
    tree = unfitted(learner, random_state=member_seed).fit(rows.X, y)
    curves: list[Floats] = []
    for combine in ("vote", "mean"):  # the seed makes both grow the same trees
        bagged = BaggingClassifier(learner, n_estimators=n_estimators, combine=combine, random_state=member_seed)
        staged = bagged.fit(rows.X, y).staged_predict(test.X)
        curves.append(np.array([expected_error(labels, test.probability) for labels in staged]))
    return expected_error(tree.predict(test.X), test.probability), curves[0], curves[1]


def reproduce(quick: bool = False, verbose: int = 0) -> Outcome:
    """Measure and compare with the claims."""
    size: dict[str, Any] = {"n_estimators": 20, "n_repeats": 6} if quick else {}
    measured = full_and_small_trees(**size, verbose=verbose)
    rows: list[Row] = []
    claims: list[Claim] = []
    for name, one in measured.items():
        errors = {"one tree": one.tree_error, "bagged, vote": one.vote_error,
                  "bagged, mean of distributions": one.mean_error}  # fmt: skip
        rows += [row(f"{name}, {what}, test error", mean, digits=4) for what, mean in errors.items()]
        claims.append(Claim(f"{name}: bagging helps", is_above(one.gain), f"one tree - bagged: {one.gain}"))
    excess = measured[SMALL].vote_excess
    evidence = f"{SMALL}, vote - mean: {excess}; full trees have pure leaves, so both are the same"
    claims.append(Claim("the mean of distributions is better than the vote", is_above(excess), evidence))
    curves = gather_curves(
        (name, rule, one.n_trees, one.history[f"{rule}_error"], one.history[f"{rule}_stderr"])
        for name, one in measured.items()
        for rule in ("vote", "mean")
    )
    verdict = f"{verdict_of(rows, claims)}; the best rule errs with probability {BAYES_ERROR}"
    return Outcome(tuple(rows), tuple(claims), curves, verdict, measured)


def draw(result: ReproductionResult) -> Figure:
    """Draw the error against the number of trees, for full and for small trees, on one scale."""
    axes = panels(None, len(result.data), (5.5, 4.2))
    for ax, (name, one) in zip(axes, result.data.items(), strict=True):
        draw_errors(ax, one)
        ax.set_title(name, fontsize="medium", loc="left")
    low, high = (f(ax.get_ylim()[k] for ax in axes) for k, f in enumerate((min, max)))
    for ax in axes:
        ax.set_ylim(low, high + 0.4 * (high - low))  # room for the legend above the curves
    return axes[0].figure


def draw_errors(ax: Any, one: BaggedTrees) -> None:
    """Draw vote and mean with bands of one standard error; level lines are one tree and the best rule there is."""
    history = one.history
    for key, color, width, label in (
        ("vote", ORANGE, 3.0, "bagged, vote"),  # the wider line shows where both are the same
        ("mean", GREEN, 1.4, "bagged, mean of distributions"),
    ):
        mean, stderr = history[f"{key}_error"], history[f"{key}_stderr"]
        ax.fill_between(one.n_trees, mean - stderr, mean + stderr, color=color, alpha=0.15, linewidth=0)
        ax.plot(one.n_trees, mean, color=color, linewidth=width, label=f"{label}: {mean[-1]:.3f}")
    for level, style, label in ((one.tree_error.value, "--", "one tree"), (BAYES_ERROR, ":", "best rule")):
        ax.axhline(level, color=GREY, linestyle=style, linewidth=1.2, label=f"{label}: {level:.3f}", zorder=1)
    ax.legend(frameon=False, fontsize="small", loc="upper right", ncols=2)
    finish(ax, "number of trees", "test error")
