"""Committees: ensembles of members of different kinds, selected by held-out predictions.

    1. a plan selects the members by the shape of the table and the time budget (`_plan`)
    2. each member is fitted and predicts held-out rows (`_out_of_fold`)
    3. weights are computed from these predictions (`selection`); members of small weight are dropped
    4. the prediction is the weighted mean of the members

A member that fails, or that is not started within the time budget, is left out with a warning.
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
from committee.committees._diagnostics import Seconds, diversity, error_of, selection_history
from committee.committees._out_of_fold import (
    TEST,
    TRAIN,
    Fitted,
    NoGainError,
    Rows,
    Screen,
    Task,
    arrange,
    derived_seed,
    fit_member,
    roles_of,
)
from committee.committees._representations import Representation, fit_representation
from committee.committees.plan import Facts, Member, Plan, choose_plan, read_plan
from committee.committees.selection import (
    HeldOutErrors,
    Loss,
    Selection,
    accumulate,
    bagged_selection,
    contributions,
    drop_small_weights,
    held_out_errors,
    loss_derivative,
    loss_of,
    predicted_rows,
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
"""Factor of the time budget, and seconds added for imports and compilation, after which no member is started."""

OUT_OF_TIME = "out of time"

SKIPPED = "skipped"
"""Prefix of the status of a member that does not improve the committee by its first fold."""

HELD_OUT = 0.1
"""Fraction of a large table that is held out."""

MIN_WEIGHT = 0.02
"""Members of smaller weight are dropped."""

LANDMARKS = 300
"""Maximum number of landmarks of a representation; with fewer than 1,500 rows a fifth of them."""

N_STANDARD_ERRORS = 2.0
"""Standard errors by which the loss must increase for a member to be skipped."""


class Candidate(NamedTuple):
    """A fitted member and its held-out predictions, or the reason why there are none."""

    member: Member
    fitted: Fitted | None
    predictions: Floats
    seconds: float
    note: str


class BaseCommittee(Estimator):
    """Members, their weights and diagnostics; a subclass reads the target and predicts."""

    time_budget: float | None = param(
        positive,
        None,
        default=None,
        kw_only=False,
        doc="Seconds for the fit, from which the plan is selected by a cost model, not by measured time. None allows a "
        "few times the cost of gradient boosting. Members that are not started within twice the budget (and three "
        "seconds) are left out with a warning.",
    )
    members: Literal["auto"] | Plan | Sequence[Member | str] = param(
        one_of("auto"),
        Plan,
        list,
        tuple,
        default="auto",
        doc="The members: a `Plan`, or a list of `Member` objects and of names of standard members.",
    )
    cv: Any = param(
        at_least(1),
        one_of("auto"),
        "cv_object",
        default="auto",
        doc="Number of folds, splitter, or iterable of (train, test); 1 holds out a tenth of the rows once. "
        '"auto" is 5, and 1 above 50,000 rows.',
    )
    keep_dropped: bool = param(
        "boolean", default=False, doc="Whether to keep members of weight zero, for `member_predictions`."
    )
    categorical_features: Any = param(*CATEGORICAL_FEATURES, default="from_dtype")
    random_state: RandomState = param(*RANDOM_STATE, default=None)
    n_jobs: int | None = param(*N_JOBS, default=None)
    verbose: int = param("verbose", default=0)
    combine: Any = fixed("greedy")

    columns_: Columns = fitted()
    n_features_in_: int = fitted()
    feature_names_in_: NDArray[Any] = fitted()
    plan_: Plan = fitted(doc="The plan of the fitted members; with `seed_` it gives the same committee.")
    seed_: int = fitted(doc="The seed of the fit.")
    fitted_members_: dict[str, Fitted] = fitted(doc="The fitted members by name.")
    weights_: dict[str, float] = fitted(doc="Weights of the members by name.")
    contributions_: dict[str, float] = fitted(doc="Increase of the loss without each member, by name.")
    history_: History = fitted(doc="A row for each step of the selection: the added member, and the loss.")
    loss_: float = fitted(
        doc="Held-out squared error of the committee, for classes the Brier score; optimistic, as the weights are "
        "fitted on the same rows."
    )
    error_: float = fitted(doc="Held-out error, or root mean squared error, of the committee.")
    seconds_: Seconds = fitted(doc="Fit time of each member.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _read_target(self, y: Any, weight: Floats) -> tuple[NDArray[Any], int]:
        """Read class codes or values, and the number of classes (0 for regression); set `classes_`."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the members and their weights.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            NumPy array, pandas, polars or Arrow table, with categories and missing values.
        y : array-like of shape (n_samples,)
            Class labels, or values in regression.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows. An integer weight w is equivalent to repeating the row w times.

        Returns
        -------
        self
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
            result = fit_members(
                plan, rows, self.seed_, self.n_jobs, budget, type(self).__name__, self.verbose,
                isinstance(self.members, str),
            )  # fmt: skip
            started = tuple(
                one.member for one in result if one.note != OUT_OF_TIME and not one.note.startswith(SKIPPED)
            )
            self.plan_ = replace(plan, members=started)
            with one_blas_thread():
                self._select(result, rows)
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
                f"n_samples = {len(rows.y)}: {type(self).__name__} needs at least two rows, for training and held-out "
                "ones."
            )
        return rows

    def _weigh_classes(self, rows: Rows) -> Rows:
        """Multiply the weights of the rows by those of their classes."""
        return rows

    def _select(self, result: Sequence[Candidate], rows: Rows) -> None:
        """Compute the weights from the held-out predictions; set members and diagnostics."""
        done = [candidate for candidate in result if candidate.fitted is not None]
        predictions = np.stack([candidate.predictions for candidate in done])
        tested = predicted_rows(predictions)
        held_out = held_out_errors(predictions, rows.y, rows.counts)
        loss = self._make_loss(held_out, predictions[:, tested], rows.y[tested])
        selection = choose_weights(held_out, self.combine, self.seed_, loss)
        weights = drop_small_weights(selection.weights, MIN_WEIGHT)
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
        self.history_ = selection_history(selection.steps, names)
        self.loss_ = loss(weights)
        combined = self._combine_used(predictions[:, tested], weights)
        self.error_ = error_of(combined, rows.y[tested], rows.counts[tested])
        self._keep_errors(combined, rows.y[tested], rows.counts[tested])
        self._member_scores = _member_scores(result, predictions, rows, np.diag(held_out.gram()), weights, increases)
        self.seconds_ = Seconds({candidate.member.name: candidate.seconds for candidate in result})

    def _keep_errors(self, combined: Floats, y: NDArray[Any], weight: Floats) -> None:
        """Store residuals of the held-out predictions."""

    def _combine_predictions(self, predictions: Floats, weights: Floats) -> Floats:
        """Combine the members' predictions [M, n, K] or [M, n]."""
        if predictions.ndim == 3:
            if self.combine == "vote":
                votes = class_votes(predictions.argmax(axis=2), predictions.shape[2], weights)
                return votes / votes.sum(axis=1, keepdims=True)
            return mean_distribution(predictions, weights)
        return weighted_median(predictions, weights) if self.combine == "median" else mean(predictions, weights)

    def _combine_used(self, predictions: Floats, weights: Floats) -> Floats:
        """Combine the predictions of the members of nonzero weight."""
        used = np.flatnonzero(weights)
        return self._combine_predictions(predictions[used], weights[used])

    def _make_loss(self, held_out: HeldOutErrors, predictions: Floats, y: NDArray[Any]) -> Loss:
        """The loss as a function of the weights, from the held-out predictions."""
        if self.combine not in ("vote", "median"):
            return partial(loss_of, gram=held_out.gram())

        def loss(weights: Floats) -> float:
            combined = self._combine_used(predictions, weights)[np.newaxis]
            return float(held_out_errors(combined, y, held_out.weight).gram()[0, 0])

        return loss

    @property
    def members_(self) -> History:
        """A row for each member of the plan: held-out loss and error, diversity, weight, contribution, time, status."""
        check_is_fitted(self, "weights_")
        return History({**self._member_scores, "seconds": self.seconds_.of(self._member_scores["name"])})

    def _table(self, X: Any) -> Floats:
        check_is_fitted(self, "weights_")
        return np.ascontiguousarray(read_table(self, X), np.float64)

    def member_predictions(self, X: Any) -> dict[str, Floats]:
        """Predict by each member.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        predictions : dict
            By name the class probabilities (n_samples, n_classes), or values (n_samples,). Members of weight zero are
            included with `keep_dropped=True`.
        """
        table = self._table(X)
        return {name: fitted.predictions(table) for name, fitted in self.fitted_members_.items()}

    def _prediction(self, X: Any) -> Floats:
        table = self._table(X)
        weights = np.array(list(self.weights_.values()))
        predictions = np.stack([self.fitted_members_[name].predictions(table) for name in self.weights_])
        return self._combine_predictions(predictions, weights)

    def __len__(self) -> int:
        """Number of members of nonzero weight."""
        check_is_fitted(self, "weights_")
        return len(self.weights_)


# --- fitting the members ---------------------------------------------------------------------------------------------


def fit_members(
    plan: Plan, rows: Rows, seed: int, n_jobs: int | None, budget: float | None, label: str, verbose: int,
    may_skip: bool = False,
) -> list[Candidate]:  # fmt: skip
    """Fit the members; those that fail or are not started in time are left out with a warning.

    With `may_skip`, a member is not fitted further if by its first fold any weight of it increases the loss.
    """
    repeats = make_repeats(plan, rows, seed)
    representations: dict[Any, Representation] = {}
    result: list[Candidate] = []
    start = time.perf_counter()
    with progress(label, len(plan.members), verbose) as tick:
        for member in plan.members:
            spent = time.perf_counter() - start
            is_late = budget is not None and spent > OVERRUN * budget + GRACE and any(done.fitted for done in result)
            if is_late:
                result.append(Candidate(member, None, np.empty(0), 0.0, OUT_OF_TIME))
            else:
                screen = _screen(result, rows) if may_skip else None
                result.append(_fit_candidate(member, rows, repeats, representations, seed, n_jobs, screen))
            tick(member.name)
    _warn_of_missing(result, budget)
    return result


def make_repeats(plan: Plan, rows: Rows, seed: int) -> list[list[Split]]:
    """Make the folds for each repetition, or take the given splits."""
    if rows.roles is not None:
        columns = rows.roles.T
        return [[Split(np.flatnonzero(role == TRAIN), np.flatnonzero(role == TEST)) for role in columns]]
    to_split = rows_to_split(rows.X, rows.y, rows.weight, is_class=bool(rows.n_classes))
    seeds = [derived_seed(seed, "folds", r) for r in range(plan.n_repeats)]
    if plan.n_folds == 1:
        return [k_folds(to_split, round(1.0 / HELD_OUT), one, equal_rows="apart")[:1] for one in seeds]
    return [k_folds(to_split, plan.n_folds, one, equal_rows="apart") for one in seeds]


def _fit_candidate(
    member: Member, rows: Rows, repeats: list[list[Split]], representations: dict[Any, Representation], seed: int,
    n_jobs: int | None, screen: Screen | None = None,
) -> Candidate:  # fmt: skip
    start = time.perf_counter()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            columns = None if member.columns is None else np.array(member.columns, np.int64)
            key = (member.representation, member.columns)
            if key not in representations:
                representations[key] = _represent(member, rows, seed)
            task = Task(member.algorithm, member.parameters, representations[key], columns, member.sample,
                        derived_seed(seed, member.name), n_jobs)  # fmt: skip
            fit = fit_member(task, rows, repeats, screen)
    except NoGainError as reason:
        return Candidate(member, None, np.empty(0), time.perf_counter() - start, f"{SKIPPED}: {reason}")
    except Exception as error:
        note = f"failed: {type(error).__name__}: {error}"
        return Candidate(member, None, np.empty(0), time.perf_counter() - start, note)
    notes = sorted({str(warning.message).split(":")[0] for warning in caught})
    return Candidate(member, fit.fitted, fit.predictions, time.perf_counter() - start, "; ".join(["done", *notes]))


def _screen(result: Sequence[Candidate], rows: Rows) -> Screen | None:
    """Make a check of the next member's first fold against the committee of the previous ones, if there are any."""
    predictions = [candidate.predictions for candidate in result if candidate.fitted is not None]
    if not predictions:
        return None
    earlier = np.stack(predictions)

    def check(test: NDArray[np.int64], fold_predictions: Floats) -> None:
        """Raise NoGainError if any weight of the member increases the loss (`selection.loss_derivative`)."""
        every = np.concatenate([earlier[:, test], fold_predictions[np.newaxis]])
        if not predicted_rows(every).any():
            return
        held_out = held_out_errors(every, rows.y[test], rows.counts[test])
        increase, error = loss_derivative(held_out)
        if increase >= N_STANDARD_ERRORS * error:  # both are 0 for a committee without error
            own, best = float(np.diag(held_out.gram())[-1]), float(np.diag(held_out.gram())[:-1].min())
            raise NoGainError(f"loss {own:.3g} on the first fold (best member {best:.3g}), no gain for the committee")

    return check


def _represent(member: Member, rows: Rows, seed: int) -> Representation:
    columns = slice(None) if member.columns is None else list(member.columns)
    n_landmarks = max(2, min(LANDMARKS, len(rows.y) // 5))
    return fit_representation(
        member.representation, rows.X[:, columns], rows.is_categorical[columns], n_landmarks=n_landmarks,
        seed=derived_seed(seed, "landmarks"),
    )  # fmt: skip


def _warn_of_missing(result: Sequence[Candidate], budget: float | None) -> None:
    failed = [candidate for candidate in result if candidate.note.startswith("failed")]
    late = [candidate.member.name for candidate in result if candidate.note == OUT_OF_TIME]
    if not any(candidate.fitted for candidate in result):
        raise ValueError(
            "No member could be fitted. " + " ".join(f"{one.member.name} {one.note}" for one in failed[:3])
        )
    for candidate in failed:
        warnings.warn(
            f"The member {candidate.member.name!r} is left out, its fit failed: {candidate.note[8:]}",
            UserWarning,
            stacklevel=level_of_caller(),
        )
    if late:
        warnings.warn(
            f"The time budget was used up before {', '.join(late)} could be fitted, which are left out. Use more than "
            f"time_budget={budget:g}, or fewer members.", UserWarning, stacklevel=level_of_caller(),
        )  # fmt: skip


def choose_weights(held_out: HeldOutErrors, combine: Combine, seed: int, loss: Loss) -> Selection:
    """Compute the weights of a combination; equal ones for mean, vote and median."""
    if combine == "greedy":
        return bagged_selection(held_out, derived_seed(seed, "selection"))
    if combine == "stack":
        weights = simplex_weights(held_out.errors, np.zeros(held_out.errors.shape[1:]), held_out.weight)
    else:
        weights = np.full(len(held_out.errors), 1.0 / len(held_out.errors))
    return Selection(weights, accumulate(loss, weights))


def _member_scores(
    result: Sequence[Candidate], predictions: Floats, rows: Rows, losses: Floats, weights: Floats, increases: Floats
) -> dict[str, Any]:
    """Columns of `members_` except the seconds."""
    is_fitted = np.array([candidate.fitted is not None for candidate in result])

    def spread(values: Any) -> Floats:
        out = np.full(len(result), np.nan)
        out[is_fitted] = values
        return out

    errors = [error_of(own, rows.y, rows.counts) for own in predictions]
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
    """An ensemble of classifiers of different kinds, selected and weighted automatically.

    Gradient boosting, forests, support vector machines, linear models and mixtures of experts on several
    representations of the columns predict held-out rows, and are combined by weights fitted to these predictions.

    References
    ----------
    Caruana, R., Niculescu-Mizil, A., Crew, G. and Ksikes, A. (2004). Ensemble selection from libraries of models. ICML.

    Breiman, L. (1996). Stacked regressions. Machine Learning 24, 49-64.

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
        one_of("greedy", "stack", "mean", "vote"),
        default="greedy",
        doc="How the members are combined: weights by bagged greedy selection with replacement, weights of sum 1 with "
        "the smallest loss, equal weights, or majority vote.",
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
        """Multiply the weights by those of the classes, after equal rows are merged."""
        if self.class_weight is None:
            return rows
        factor = class_weights(self.class_weight, rows.y, self.classes_, rows.weight)
        if not np.all(np.isfinite(factor) & (factor > 0.0)):
            raise ValueError(f"class_weight must be positive for every class; got {self.class_weight!r}.")
        weight = rows.counts * factor[rows.y]
        return rows._replace(weight=None if np.all(weight == weight[0]) else weight / weight.mean())

    def predict_proba(self, X: Any) -> Floats:
        """Predict class probabilities: the weighted mean of the members', or the fractions of the votes."""
        return self._prediction(X)

    def predict_log_proba(self, X: Any) -> Floats:
        """Predict the logarithms of the class probabilities."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most probable class."""
        codes = self._prediction(X).argmax(axis=1)
        return self.classes_[codes]


class CommitteeRegressor(RegressorMixin, PredictionIntervals, BaseCommittee):
    """An ensemble of regressors of different kinds, selected and weighted automatically.

    Gradient boosting, forests, support vector machines, linear models and mixtures of experts on several
    representations of the columns predict held-out rows, and are combined by weights fitted to these predictions.

    References
    ----------
    Caruana, R., Niculescu-Mizil, A., Crew, G. and Ksikes, A. (2004). Ensemble selection from libraries of models. ICML.

    Breiman, L. (1996). Stacked regressions. Machine Learning 24, 49-64.

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
        one_of("greedy", "stack", "mean", "median"),
        default="greedy",
        doc="How the members are combined: weights by bagged greedy selection with replacement, weights of sum 1 with "
        "the smallest loss, equal weights, or the median.",
    )

    def _read_target(self, y: Any, weight: Floats) -> tuple[NDArray[Any], int]:
        return read_one_target(y, weight.size, type(self).__name__), 0

    def _keep_errors(self, combined: Floats, y: NDArray[Any], weight: Floats) -> None:
        self._keep_residuals(np.asarray(y, np.float64) - combined, weight)

    def predict(self, X: Any) -> Floats:
        """Predict the weighted mean, or median, of the members' predictions."""
        return self._prediction(X)
