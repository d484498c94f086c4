"""CommitteeClassifier and CommitteeRegressor: the best ensemble for a table in one call.

    1. a plan chooses the members from the table's shape and the time (`plan`)
    2. every member is fitted and judged on rows it did not learn from (`judging`)
    3. the members' answers to these rows give the weights (`selection`); a member of no weight is dropped
    4. the committee answers with the weighted mean of its members

A member that fails, or whose turn comes after the time is over, is left out with a warning.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from committee.base.array_types import Floats
from committee.base.blas_threads import one_blas_thread
from committee.base.parameters import (
    CATEGORICAL_FEATURES,
    CLASS_WEIGHT,
    N_JOBS,
    RANDOM_STATE,
    Estimator,
    at_least,
    fitted,
    fixed,
    one_of,
    param,
    positive,
)
from committee.base.progress import progress
from committee.base.rng import RandomState, member_seeds
from committee.base.stacklevel import level_of_caller
from committee.base.transaction import all_or_nothing
from committee.calibration.prediction_intervals import PredictionIntervals
from committee.combine.rules import class_votes, mean, mean_distribution, weighted_median
from committee.committees._evidence import Seconds, diversity, error_of, join_steps
from committee.committees._out_of_fold import (
    TEST,
    TRAIN,
    Fitted,
    OfNoUseError,
    Rows,
    Screen,
    Task,
    arrange,
    derived_seed,
    judge,
    roles_of,
)
from committee.committees._plan import Facts, Member, Plan, choose_plan, read_plan
from committee.committees._representations import Representation, fit_representation
from committee.committees.selection import (
    Judged,
    Loss,
    Selection,
    accumulate,
    bagged_selection,
    contributions,
    loss_of,
    make_judged,
    predicted_rows,
    slope_of_loss,
    without_idle,
)
from committee.records.history import History
from committee.sampling.splits import Split, given_splits, k_folds, rows_to_split
from committee.tabular.class_weight import ClassWeight, class_weights
from committee.tabular.schema import Columns
from committee.tabular.validation import (
    read_one_target,
    read_table,
    read_targets_classification,
    read_training_table,
    read_weights,
)
from committee.voting.simplex_weights import simplex_weights

Combine = Literal["greedy", "stack", "mean", "vote", "median"]

OVERRUN, GRACE = 2.0, 3.0
"""After so many times the budget, by the clock, and so many seconds more for imports and compilers, nobody is begun."""

LATE = "out of time"

SKIPPED = "skipped"
"""Beginning of the status of a member that the first fold showed to be of no use."""

HELD_OUT = 0.1
"""Share of a large table that judges."""

IDLE = 0.02
"""A member of less weight is dropped."""

LANDMARKS = 300

SURE = 2.0
"""Standard errors by which the loss must rise before a member is skipped."""


class Candidate(NamedTuple):
    """A member after its turn: fitted and judged, or the reason why not."""

    member: Member
    fitted: Fitted | None
    predictions: Floats
    seconds: float
    note: str


class BaseCommittee(Estimator):
    """Members, their weights and the evidence; a subclass reads the target and turns means into answers.

    Fitted attributes: ``plan_`` (what was run; with ``seed_`` it gives the same committee again), ``members_`` (a row
    for every member of the plan: loss and error on rows it did not see, diversity, weight, seconds, status),
    ``weights_`` and ``contributions_`` (by name: the rise of the loss without the member), ``history_`` (loss of the
    selection step by step), ``fitted_members_``, ``loss_`` and ``error_`` of the committee on rows its members did not
    see (the weights have seen them: a little too small). Losses are squared errors (for classes the Brier score, of the
    shares of the votes where the committee votes), errors shares of wrong classes or root mean squared errors.
    """

    time_budget: float | None = param(positive, None, default=None, kw_only=False)
    members: Literal["auto"] | Plan | Sequence[Member | str] = param(one_of("auto"), Plan, list, tuple, default="auto")
    cv: Any = param(at_least(1), one_of("auto"), "cv_object", default="auto")
    keep_dropped: bool = param("boolean", default=False)
    categorical_features: Any = param(*CATEGORICAL_FEATURES, default="from_dtype")
    random_state: RandomState = param(*RANDOM_STATE, default=None)
    n_jobs: int | None = param(*N_JOBS, default=None)
    verbose: int = param("verbose", default=0)
    combine: Any = fixed("greedy")

    columns_: Columns = fitted()
    fitted_members_: dict[str, Fitted] = fitted()
    weights_: dict[str, float] = fitted()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _read_target(self, y: Any, weight: Floats) -> tuple[NDArray[Any], int]:
        """Targets as codes or numbers, and the number of classes (0 for numbers); sets what describes them."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit and judge the members, and combine them.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            NumPy array, pandas, polars or Arrow table; categories and missing values are taken as they are.
        y : targets of shape (n_samples,)
        sample_weight : weights of the rows, optional; a whole weight counts as so many equal rows
        """
        self._validate_params()
        with all_or_nothing(self):
            rows = self._read(X, y, sample_weight)
            facts = Facts.of(rows)
            budget = None if self.time_budget is None else float(self.time_budget)
            n_folds = (self.cv or "auto") if rows.roles is None else rows.roles.shape[1]
            if isinstance(self.members, str):
                plan = choose_plan(facts, budget, n_folds)
            else:
                plan = read_plan(self.members, facts, n_folds)
            self.seed_ = int(member_seeds(self.random_state, 1)[0] >> np.uint64(33))
            result = judge_members(
                plan, rows, self.seed_, self.n_jobs, budget, type(self).__name__, self.verbose,
                isinstance(self.members, str),
            )  # fmt: skip
            begun = tuple(one.member for one in result if one.note != LATE and not one.note.startswith(SKIPPED))
            self.plan_ = replace(plan, members=begun)
            with one_blas_thread():
                self._combine(result, rows)
        return self

    def _read(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        columns, table = read_training_table(
            self, X, categorical_features=self.categorical_features, sample_weight=sample_weight
        )
        given = read_weights(sample_weight, len(table))
        weight = np.ones(len(table)) if given is None else given
        self.columns_ = columns
        target, n_classes = self._read_target(y, weight)
        numbers = np.asarray(table, np.float64)
        roles = None
        if not isinstance(self.cv, Integral | str | None):
            roles = roles_of(given_splits(self.cv, numbers, target, weight), len(target))
        rows = self._weigh_classes(arrange(Rows(numbers, target, weight, columns.is_categorical, n_classes, roles)))
        if len(rows.y) < 2:
            raise ValueError(
                f"n_samples = {len(rows.y)}: {type(self).__name__} learns from some rows and judges on others, so it "
                "needs two at least."
            )
        return rows

    def _weigh_classes(self, rows: Rows) -> Rows:
        """The rows under the weights of their classes, where there are any."""
        return rows

    def _combine(self, result: Sequence[Candidate], rows: Rows) -> None:
        """Weights from the answers to rows that were left out; what is kept, and the evidence."""
        done = [candidate for candidate in result if candidate.fitted is not None]
        predictions = np.stack([candidate.predictions for candidate in done])
        known = predicted_rows(predictions)
        judged = make_judged(predictions, rows.y, rows.counts)
        loss = self._make_loss(judged, predictions[:, known], rows.y[known])
        selection = choose_weights(judged, self.combine, self.seed_, loss)
        weights = without_idle(selection.weights, IDLE)
        names = [candidate.member.name for candidate in done]
        used = {name: float(w) for name, w in zip(names, weights, strict=True) if w > 0.0}
        increases = contributions(loss, weights)
        self.weights_ = used
        self.contributions_ = {name: float(increases[names.index(name)]) for name in used}
        self.fitted_members_ = {
            candidate.member.name: candidate.fitted
            for candidate in done
            if candidate.fitted is not None and (self.keep_dropped or candidate.member.name in used)
        }
        self.history_ = join_steps(selection.steps, names)
        self.loss_ = loss(weights)
        together = self._join_some(predictions[:, known], weights)
        self.error_ = error_of(together, rows.y[known], rows.counts[known])
        self._keep_errors(together, rows.y[known], rows.counts[known])
        self._evidence = _evidence(result, predictions, rows, np.diag(judged.gram()), weights, increases)
        self.seconds_ = Seconds({candidate.member.name: candidate.seconds for candidate in result})

    def _keep_errors(self, together: Floats, y: NDArray[Any], weight: Floats) -> None:
        """What the committee's predictions of rows that its members did not see are good for besides."""

    def _join(self, predictions: Floats, weights: Floats) -> Floats:
        """Members' answers [M, n, K] or [M, n] as the committee's."""
        if predictions.ndim == 3:
            if self.combine == "vote":
                votes = class_votes(predictions.argmax(axis=2), predictions.shape[2], weights)
                return votes / votes.sum(axis=1, keepdims=True)
            return mean_distribution(predictions, weights)
        return weighted_median(predictions, weights) if self.combine == "median" else mean(predictions, weights)

    def _join_some(self, predictions: Floats, weights: Floats) -> Floats:
        """As the committee of the members that have a weight answers."""
        some = np.flatnonzero(weights)
        return self._join(predictions[some], weights[some])

    def _make_loss(self, judged: Judged, predictions: Floats, y: NDArray[Any]) -> Loss:
        """From the members' answers to the rows they are judged on."""
        if self.combine not in ("vote", "median"):
            return partial(loss_of, gram=judged.gram())

        def loss(weights: Floats) -> float:
            together = self._join_some(predictions, weights)[np.newaxis]
            return float(make_judged(together, y, judged.weight).gram()[0, 0])

        return loss

    @property
    def members_(self) -> History:
        """A row for every member of the plan; print it, or convert it with ``to_pandas()`` or ``to_polars()``."""
        check_is_fitted(self, "weights_")
        return History({**self._evidence, "seconds": self.seconds_.of(self._evidence["name"])})

    def _table(self, X: Any) -> Floats:
        check_is_fitted(self, "weights_")
        return np.ascontiguousarray(read_table(self, X), np.float64)

    def member_predictions(self, X: Any) -> dict[str, Floats]:
        """What each member that was kept answers, by name: class shares (n_samples, n_classes) or numbers (n_samples,).

        Members of no weight are among them with ``keep_dropped=True``.
        """
        table = self._table(X)
        return {name: fitted.predictions(table) for name, fitted in self.fitted_members_.items()}

    def _prediction(self, X: Any) -> Floats:
        table = self._table(X)
        weights = np.array(list(self.weights_.values()))
        predictions = np.stack([self.fitted_members_[name].predictions(table) for name in self.weights_])
        return self._join(predictions, weights)

    def __len__(self) -> int:
        """Number of members with a weight."""
        check_is_fitted(self, "weights_")
        return len(self.weights_)


# --- fitting the members ---------------------------------------------------------------------------------------------


def judge_members(
    plan: Plan, rows: Rows, seed: int, n_jobs: int | None, budget: float | None, label: str, verbose: int,
    may_skip: bool = False,
) -> list[Candidate]:  # fmt: skip
    """Fit and evaluate one member after the other; those that fail or come too late are left out with a warning.

    With `may_skip`, a member whose first fold shows that any weight of it would raise the loss is fitted no further.
    """
    repeats = make_repeats(plan, rows, seed)
    known: dict[Any, Representation] = {}
    result: list[Candidate] = []
    began = time.perf_counter()
    with progress(label, len(plan.members), verbose) as tick:
        for member in plan.members:
            spent = time.perf_counter() - began
            is_late = budget is not None and spent > OVERRUN * budget + GRACE and any(done.fitted for done in result)
            if is_late:
                result.append(Candidate(member, None, np.empty(0), 0.0, LATE))
            else:
                screen = _screen(result, rows) if may_skip else None
                result.append(_judge_member(member, rows, repeats, known, seed, n_jobs, screen))
            tick(member.name)
    _warn_of_missing(result, budget)
    return result


def make_repeats(plan: Plan, rows: Rows, seed: int) -> list[list[Split]]:
    """The folds, once or more often; or the given splits."""
    if rows.roles is not None:
        columns = rows.roles.T
        return [[Split(np.flatnonzero(role == TRAIN), np.flatnonzero(role == TEST)) for role in columns]]
    to_split = rows_to_split(rows.X, rows.y, rows.weight, is_class=bool(rows.n_classes))
    seeds = [derived_seed(seed, "folds", r) for r in range(plan.n_repeats)]
    if plan.n_folds == 1:
        return [k_folds(to_split, round(1.0 / HELD_OUT), one, equal_rows="apart")[:1] for one in seeds]
    return [k_folds(to_split, plan.n_folds, one, equal_rows="apart") for one in seeds]


def _judge_member(
    member: Member, rows: Rows, repeats: list[list[Split]], known: dict[Any, Representation], seed: int,
    n_jobs: int | None, screen: Screen | None = None,
) -> Candidate:  # fmt: skip
    began = time.perf_counter()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            columns = None if member.columns is None else np.array(member.columns, np.int64)
            key = (member.representation, member.columns)
            if key not in known:
                known[key] = _represent(member, rows, seed)
            task = Task(member.algorithm, member.parameters, known[key], columns, member.sample,
                        derived_seed(seed, member.name), n_jobs)  # fmt: skip
            judged = judge(task, rows, repeats, screen)
    except OfNoUseError as reason:
        return Candidate(member, None, np.empty(0), time.perf_counter() - began, f"{SKIPPED}: {reason}")
    except Exception as error:
        note = f"failed: {type(error).__name__}: {error}"
        return Candidate(member, None, np.empty(0), time.perf_counter() - began, note)
    notes = sorted({str(warning.message).split(":")[0] for warning in caught})
    return Candidate(
        member, judged.fitted, judged.predictions, time.perf_counter() - began, "; ".join(["done", *notes])
    )


def _screen(result: Sequence[Candidate], rows: Rows) -> Screen | None:
    """A check of the next member's first fold against the committee of those done; None where there are none."""
    predictions = [candidate.predictions for candidate in result if candidate.fitted is not None]
    if not predictions:
        return None
    together = np.stack(predictions)

    def check(test: NDArray[np.int64], fold_predictions: Floats) -> None:
        """Raise OfNoUseError if the loss rises with any weight of the member (`selection.slope_of_loss`)."""
        every = np.concatenate([together[:, test], fold_predictions[np.newaxis]])
        if not predicted_rows(every).any():
            return
        judged = make_judged(every, rows.y[test], rows.counts[test])
        increase, error = slope_of_loss(judged)
        if increase >= SURE * error:  # both are 0 where the committee makes no error on these rows
            own, best = float(np.diag(judged.gram())[-1]), float(np.diag(judged.gram())[:-1].min())
            raise OfNoUseError(f"loss {own:.3g} on the first fold (best member {best:.3g}), of no use to the committee")

    return check


def _represent(member: Member, rows: Rows, seed: int) -> Representation:
    seen = slice(None) if member.columns is None else list(member.columns)
    n_landmarks = max(2, min(LANDMARKS, len(rows.y) // 5))
    return fit_representation(
        member.representation, rows.X[:, seen], rows.is_categorical[seen], n_landmarks=n_landmarks,
        seed=derived_seed(seed, "landmarks"),
    )  # fmt: skip


def _warn_of_missing(result: Sequence[Candidate], budget: float | None) -> None:
    failed = [candidate for candidate in result if candidate.note.startswith("failed")]
    late = [candidate.member.name for candidate in result if candidate.note == LATE]
    if not any(candidate.fitted for candidate in result):
        raise ValueError(
            "No member could be fitted. " + " ".join(f"{one.member.name} {one.note}" for one in failed[:3])
        )
    for candidate in failed:
        warnings.warn(
            f"The committee goes on without {candidate.member.name!r}: {candidate.note[8:]}",
            UserWarning,
            stacklevel=level_of_caller(),
        )
    if late:
        warnings.warn(
            f"The time was over before {', '.join(late)} could be fitted: the committee goes on without. Give more "
            f"than time_budget={budget:g}, or a plan of fewer members.", UserWarning, stacklevel=level_of_caller(),
        )  # fmt: skip


def choose_weights(judged: Judged, combine: Combine, seed: int, loss: Loss) -> Selection:
    """Weights by the rule; equal ones for rules without a choice of members, whose steps show the loss."""
    if combine == "greedy":
        return bagged_selection(judged, derived_seed(seed, "selection"))
    if combine == "stack":
        weights = simplex_weights(judged.errors, np.zeros(judged.errors.shape[1:]), judged.weight)
    else:
        weights = np.full(len(judged.errors), 1.0 / len(judged.errors))
    return Selection(weights, accumulate(loss, weights))


def _evidence(
    result: Sequence[Candidate], predictions: Floats, rows: Rows, losses: Floats, weights: Floats, increases: Floats
) -> dict[str, Any]:
    """Columns of `members_` but for the seconds."""
    is_done = np.array([candidate.fitted is not None for candidate in result])

    def spread(values: Any) -> Floats:
        out = np.full(len(result), np.nan)
        out[is_done] = values
        return out

    errors = [error_of(answer, rows.y, rows.counts) for answer in predictions]
    return {
        "name": [candidate.member.name for candidate in result],
        "algorithm": [candidate.member.algorithm for candidate in result],
        "representation": [candidate.member.representation for candidate in result],
        "loss": spread(losses),
        "error": spread(errors),
        "diversity": spread(diversity(predictions, rows.y, weights)),
        "weight": np.nan_to_num(spread(weights)),
        "contribution": spread(increases),
        "status": [candidate.note for candidate in result],
    }


# --- the estimators --------------------------------------------------------------------------------------------------


class CommitteeClassifier(ClassifierMixin, BaseCommittee):
    """The best ensemble for a table of classes in one call.

    Gradient boosting, forests, support vector machines, linear models and mixtures of experts on several
    representations of the columns are judged on the same rows left out, and combined by their answers to these.

    time_budget : seconds, or None
        Chooses the plan through a model of costs (not the clock: the same table and budget give the same plan). None
        takes the usual members, which together cost a few times as much as gradient boosting. Members whose turn comes
        after twice the budget (and three seconds) are left out with a warning.
    members : "auto", a Plan, or a list of names of usual members and of Member
    combine : {"greedy", "stack", "mean", "vote"}
        Bagged greedy selection with replacement; weights on the simplex of smallest loss; the plain mean of all
        members' probabilities; the majority of their votes.
    cv : int, "auto", splitter or iterable of (train, test), default="auto"
        Number of folds, or the splits themselves; 1 holds a tenth of the rows out instead; "auto" is 5, and 1 on more
        than 50,000 rows.
    keep_dropped : keep members of no weight, for `member_predictions`
    categorical_features : "from_dtype", or names or positions of columns that hold categories
    class_weight : "balanced" (all classes count the same), a dict from class to weight, or None; multiplies the
        weights of the rows, in the members' fits and in the loss that chooses their weights
    random_state, n_jobs, verbose : as in scikit-learn; n_jobs changes no bit of the result

    Examples
    --------
    >>> from committee import CommitteeClassifier
    >>> from committee.datasets import load_dataset
    >>> glass = load_dataset("glass")
    >>> model = CommitteeClassifier(random_state=0).fit(glass.X, glass.y)
    >>> round(model.error_, 2)
    0.2
    """

    combine: Literal["greedy", "stack", "mean", "vote"] = param(
        one_of("greedy", "stack", "mean", "vote"), default="greedy"
    )
    class_weight: ClassWeight | None = param(*CLASS_WEIGHT, default=None)

    classes_: NDArray[Any] = fitted()
    n_classes_: int = fitted()

    def _read_target(self, y: Any, weight: Floats) -> tuple[NDArray[Any], int]:
        classes, codes = read_targets_classification(y, weight.size)
        present = np.unique(codes[weight > 0.0])
        self.classes_ = classes[present]
        self.n_classes_ = len(present)
        return np.searchsorted(present, codes), len(present)

    def _weigh_classes(self, rows: Rows) -> Rows:
        """After equal rows were counted: copies of a row in several folds would be learned and evaluated at once."""
        if self.class_weight is None:
            return rows
        factor = class_weights(self.class_weight, rows.y, self.classes_, rows.weight)
        if not np.all(np.isfinite(factor) & (factor > 0.0)):
            raise ValueError(f"class_weight must be positive for every class; got {self.class_weight!r}.")
        weight = rows.counts * factor[rows.y]
        return rows._replace(weight=None if np.all(weight == weight[0]) else weight / weight.mean())

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of the classes: the weighted mean of the members', or the shares of their votes."""
        return self._prediction(X)

    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class."""
        codes = self._prediction(X).argmax(axis=1)
        return self.classes_[codes]


class CommitteeRegressor(RegressorMixin, PredictionIntervals, BaseCommittee):
    """The best ensemble for a table of numbers in one call.

    Parameters are those of `CommitteeClassifier`; `combine` may be "median" (the middle of all members) and not "vote",
    and losses are squared errors.

    Examples
    --------
    >>> from committee import CommitteeRegressor
    >>> from committee.datasets import load_dataset
    >>> ozone = load_dataset("ozone")
    >>> model = CommitteeRegressor(random_state=0).fit(ozone.X, ozone.y)
    >>> round(model.error_, 1)
    3.7
    """

    combine: Literal["greedy", "stack", "mean", "median"] = param(
        one_of("greedy", "stack", "mean", "median"), default="greedy"
    )

    def _read_target(self, y: Any, weight: Floats) -> tuple[NDArray[Any], int]:
        return read_one_target(y, weight.size, type(self).__name__), 0

    def _keep_errors(self, together: Floats, y: NDArray[Any], weight: Floats) -> None:
        self._keep_residuals(np.asarray(y, np.float64) - together, weight)

    def predict(self, X: Any) -> Floats:
        """The weighted mean of the members' numbers, or their weighted median."""
        return self._prediction(X)
