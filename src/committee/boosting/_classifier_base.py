"""What every boosted classifier shares: reading the data, running the loop, answering for new rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning

from committee.base.parameters import (
    RANDOM_STATE,
    at_least,
    between,
    fitted,
    fixed,
    inner_fraction,
    non_negative,
    one_of,
    param,
)
from committee.base.prediction_only_error import kept_from_fit
from committee.base.progress import progress
from committee.base.rng import RandomState, member_seeds
from committee.base.stacklevel import level_of_caller
from committee.base.transaction import all_or_nothing
from committee.boosting._vote_calibration import (
    LITTLE,
    MIN_ROUNDS,
    USUAL,
    Judged,
    Trial,
    fit_shrinkage,
    fit_slope,
    halves,
    shrinkage,
    vote_size,
)
from committee.boosting._votes import ManyClasses, TwoClasses, make_votes, vote_probabilities
from committee.boosting._weak_learners import PredictionKind, Task, make_learner
from committee.boosting.multiplicative_weights import Rule, State, Turn, boost
from committee.ensemble.base import MIN_SHARE, BaseEnsemble
from committee.ensemble.stopping import Stopper
from committee.ensemble.warm_start import reject_other_rows
from committee.members.estimators import check_learner
from committee.members.member import Member, WeakLearner
from committee.members.vote import pack_members, score_members, score_packed
from committee.records.ensemble import PackedTrees
from committee.records.history import History
from committee.sampling.splits import Split, hold_out, rows_to_split
from committee.tabular.validation import read_targets_classification, read_training_table, read_weights
from committee.trees.decision_stump import DecisionStump

Weighting = Literal["reweight", "resample"]
Early = Literal["validation", "bound", "margin"] | None


class Judge:
    """Rows that the booster does not learn from, and the vote on them."""

    def __init__(self, X: NDArray[np.floating], codes: NDArray[np.int64], n_classes: int,
                 weight: NDArray[np.float64]) -> None:  # fmt: skip
        self.X, self.codes, self.n_classes = X, codes, n_classes
        self.weight, self.votes = weight / weight.sum(), make_votes(codes, n_classes)

    def fresh(self) -> Judge:
        """The same rows with no votes yet."""
        return Judge(self.X, self.codes, self.n_classes, self.weight)

    def error(self, member: Member | None, coefficient: float, n_jobs: int | None) -> float:
        if member is not None:
            self.votes.add(coefficient, member.predictions(self.X, n_jobs))
        return float((self.weight * self.votes.wrong()).sum())


class Run:
    """What the rounds have brought so far, those of an earlier fit included."""

    def __init__(self, state: State) -> None:
        self.members, self.coefficients = list(state.members), list(state.coefficients)
        self.records, self.stop, self.n_perfect = list(state.records), state.stop, 0

    def take(self, turn: Turn, record: Any) -> None:
        self.stop = turn.stop
        self.n_perfect += turn.is_perfect
        if turn.member is not None:
            self.members.append(turn.member)
            self.coefficients.append(record.coefficient)
            self.records.append(record)


class BaseBooster(ClassifierMixin, BaseEnsemble):
    """A vote of weak hypotheses; a subclass learns them.

    Fitted attributes: ``estimators_`` (the members), ``estimator_weights_``, ``estimator_errors_``, ``history_``,
    ``sample_weights_`` (of the training rows at the end), ``stop_reason_``, ``classes_``, ``feature_importances_``,
    ``probability_slope_`` (the factor on the votes that makes their probabilities fit rows not learned from, see
    `predict_proba`).
    """

    random_state: RandomState = param(*RANDOM_STATE, default=None)
    early_stopping: Any = fixed(None)
    classes_: NDArray[Any] = fitted()
    n_classes_: int = fitted()
    coefficients_: NDArray[np.float64] = fitted()
    estimator_weights_: NDArray[np.float64] = fitted()
    estimator_errors_: NDArray[np.float64] = fitted()
    history_: History = fitted()
    stop_reason_: str = fitted()
    sample_weights_: NDArray[np.float64] = fitted()
    _packed: PackedTrees | None = fitted()
    _two_classes_only: ClassVar[bool] = False
    probability_slope_ = 1.0  # where a subclass has no use for it

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self._two_classes_only:
            tags.classifier_tags.multi_class = False
        return tags

    # --- what an algorithm chooses ------------------------------------------------------------------------------------

    def _default_estimator(self) -> Any:
        return DecisionStump()

    def _member_attributes(self) -> dict[str, Any]:
        return {"classes_": self.classes_, "n_classes_": self.n_classes_}

    def _member_shares(self) -> NDArray[np.float64]:
        return np.abs(self.coefficients_)

    def _holds_out(self) -> bool:
        """Are rows held out for validation, where the user gave none?"""
        return False

    def _is_continued(self) -> bool:
        """Does the fit go on where an earlier one stopped?"""
        return False

    def _check_classes(self, classes: NDArray[Any]) -> None:
        """Refuse more classes than the algorithm takes."""
        if self._two_classes_only and len(classes) > 2:
            raise ValueError(
                f"Only binary classification is supported by {type(self).__name__}; y has {len(classes)} classes. Use "
                "AdaBoostClassifier, which takes any number of classes."
            )

    def _run(self, task: Task, judge: Judge | None) -> None:
        """Learn the members and set the fitted attributes."""
        raise NotImplementedError

    # --- fitting ------------------------------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: ArrayLike | None = None,
    ) -> Self:
        """Boost.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        y : class labels of shape (n_samples,)
        sample_weight : initial weights of the rows, optional
        X_val, y_val, sample_weight_val : rows to judge every round on, optional
        """
        self._validate_params()
        check_learner(self._weak(), "classifier")
        with all_or_nothing(self):
            task, judge = self._read(X, y, sample_weight, X_val, y_val, sample_weight_val)
            self._run(task, judge)
        return self

    def _read(
        self, X: Any, y: Any, sample_weight: Any, X_val: Any, y_val: Any, sample_weight_val: Any
    ) -> tuple[Task, Judge | None]:
        self.estimator_ = clone(self._weak())
        categorical = getattr(self.estimator_, "categorical_features", "from_dtype")
        columns, table = read_training_table(self, X, categorical_features=categorical, sample_weight=sample_weight)
        classes, codes = read_targets_classification(y, len(table))
        self._check_classes(classes)
        self._reject_missing(table, columns)
        weight = read_weights(sample_weight, len(table))
        weight = np.ones(len(table)) if weight is None else weight
        seed = self._choose_seed()
        judge = None
        self._set_columns(columns)
        if any(given is not None for given in (X_val, y_val, sample_weight_val)):
            judge = self._given_judge(classes, X_val, y_val, sample_weight_val)
        rows = np.arange(len(table))
        if judge is None and self._holds_out():
            rows, test = self._hold_out(table, codes, weight, seed)
            judge = Judge(table[test], codes[test], len(classes), weight[test])
        rows = rows[weight[rows] / weight[rows].sum() >= MIN_SHARE]
        self._rows_seen, self._rows_kept = len(table), rows
        if rows.size < len(table):
            table, codes, weight = table[rows], codes[rows], weight[rows]
        if self._is_continued() and not np.array_equal(classes, self.classes_):
            raise ValueError(
                f"warm_start=True goes on with the same classes: the earlier fit had {self.classes_[:5].tolist()}, y "
                f"has {classes[:5].tolist()}."
            )
        self.classes_, self.n_classes_, self._seed = classes, len(classes), seed
        return Task(columns, table, codes, classes, weight), judge

    def _choose_seed(self) -> int:
        if self._is_continued() and hasattr(self, "_seed"):
            return self._seed
        return int(member_seeds(self.random_state, 1)[0])

    def _given_judge(self, classes: NDArray[Any], X_val: Any, y_val: Any, sample_weight_val: Any) -> Judge:
        table = self._read_judged(X_val, y_val)
        labels, codes = read_targets_classification(y_val, len(table))
        unknown = np.setdiff1d(labels, classes)
        if unknown.size:
            raise ValueError(f"y_val has labels that y has not: {unknown[:5].tolist()}. Judge on the classes of y.")
        weight = read_weights(sample_weight_val, len(table), "sample_weight_val")
        weight = np.ones(len(table)) if weight is None else weight
        return Judge(table, np.searchsorted(classes, labels)[codes], len(classes), weight)

    def _hold_out(
        self, table: NDArray[np.floating], codes: NDArray[np.int64], weight: NDArray[np.float64], seed: int
    ) -> Split:
        """Rows to learn from and rows to validate on."""
        raise NotImplementedError

    # --- what a fitted ensemble answers -------------------------------------------------------------------------------

    def _scores(self, X: Any) -> NDArray[np.float64]:
        """sum a h(x): [n, 1] for two classes, votes [n, K] for more."""
        return self._score_table(self._read_rows(X))

    def _score_table(self, table: NDArray[np.floating]) -> NDArray[np.float64]:
        if self._packed is not None:
            return score_packed(self._packed, table, self.n_jobs)
        return score_members(self.members_, list(self.coefficients_), table, self.n_classes_, self.n_jobs)

    def _staged_scores(self, X: Any) -> Iterator[NDArray[np.float64]]:
        table = self._read_rows(X)
        score = np.zeros((len(table), 1 if self.n_classes_ <= 2 else self.n_classes_))
        for member, coefficient in zip(self.members_, self.coefficients_, strict=True):
            score += score_members([member], [coefficient], table, self.n_classes_, self.n_jobs)
            yield score

    def _labels(self, score: NDArray[np.float64]) -> NDArray[Any]:
        codes = (score[:, 0] > 0.0).astype(int) if self.n_classes_ <= 2 else score.argmax(axis=1)
        return self.classes_[codes]

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the larger vote."""
        return self._labels(self._scores(X))

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """`predict` of the first member, of the first two, and so on."""
        for score in self._staged_scores(X):
            yield self._labels(score)

    def staged_score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Iterator[float]:
        """Accuracy after every member."""
        from sklearn.metrics import accuracy_score

        for labels in self.staged_predict(X):
            yield float(accuracy_score(y, labels, sample_weight=sample_weight))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """f(x) / sum |a| in [-1, 1] for two classes; for K classes the votes, coded 1 for and -1/(K-1) against."""
        return self._decision(self._scores(X), float(np.sum(np.abs(self.coefficients_))))

    def staged_decision_function(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """`decision_function` after every member."""
        totals = np.cumsum(np.abs(self.coefficients_))
        for total, score in zip(totals, self._staged_scores(X), strict=True):
            yield self._decision(score, float(total))

    def _decision(self, score: NDArray[np.float64], total: float) -> NDArray[np.float64]:
        if self.n_classes_ <= 2:
            return score[:, 0] / total
        against = (score.sum(axis=1, keepdims=True) - score) / (self.n_classes_ - 1)
        return (score - against) / total

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities by the link of the exponential loss: P(y = +1 | x) = 1 / (1 + exp(-2 s f(x))).

        The minimiser of the expected exponential loss is half the log-odds (Friedman, Hastie and Tibshirani 2000); for
        K classes P(k | x) is proportional to exp(2 s sum of the coefficients that vote for k) (Zhu et al. 2009). The
        slope s, ``probability_slope_``, makes up for a vote being surer than it should be of rows it learned from. It
        is fitted on the validation rows where there are any. Where not, s = n / (n + c S) with S the sum of the votes
        a h of all leaves without their signs; c is measured by trial runs of a quarter of the rounds on either half of
        the rows, judged on the other half, or is 12 where the slope is close to 1 anyhow.
        """
        return self._probabilities(self.probability_slope_ * self._scores(X))

    def staged_predict_proba(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """`predict_proba` after every member."""
        for score in self._staged_scores(X):
            yield self._probabilities(self.probability_slope_ * score)

    def _probabilities(self, score: NDArray[np.float64]) -> NDArray[np.float64]:
        return vote_probabilities(score, self.n_classes_)

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    # --- evidence -----------------------------------------------------------------------------------------------------

    def _known_codes(self, y: Any, n_rows: int) -> NDArray[np.int64]:
        labels, codes = read_targets_classification(y, n_rows)
        unknown = np.setdiff1d(labels, self.classes_)
        if unknown.size:
            raise ValueError(f"y has labels that were not there in fit: {unknown[:5].tolist()}.")
        return np.searchsorted(self.classes_, labels)[codes]

    def margins(self, X: Any, y: Any) -> NDArray[np.float64]:
        """Normalised margins (E-9): y f(x) / sum |a|, or the lead of the true class over the best other one."""
        score = self._scores(X)
        return self._margins(score, self._known_codes(y, len(score)), float(np.sum(np.abs(self.coefficients_))))

    def staged_margins(self, X: Any, y: Any) -> Iterator[NDArray[np.float64]]:
        """`margins` after every member."""
        totals = np.cumsum(np.abs(self.coefficients_))
        codes: NDArray[np.int64] | None = None
        for total, score in zip(totals, self._staged_scores(X), strict=True):
            codes = self._known_codes(y, len(score)) if codes is None else codes
            yield self._margins(score, codes, float(total))

    def _margins(self, score: NDArray[np.float64], codes: NDArray[np.int64], total: float) -> NDArray[np.float64]:
        return make_votes(codes, self.n_classes_, score[:, 0] if self.n_classes_ <= 2 else score).margins(total)

    def agreements(self, X: Any, y: Any) -> NDArray[np.float64]:
        """u = y h_t(x) of every row and member, [n, T]: what the linear programs of `committee.theory` work on."""
        table = self._read_rows(X)
        votes = make_votes(self._known_codes(y, len(table)), self.n_classes_)
        columns = [votes.agreement(member.predictions(table, self.n_jobs)) for member in self.members_]
        return np.column_stack(columns).astype(np.float64)

    def edges(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> NDArray[np.float64]:
        """Edge of every member under `sample_weight`; None takes the weights after the last round (training rows)."""
        agreement = self.agreements(X, y)
        if sample_weight is None and len(agreement) == self._rows_seen:
            agreement = agreement[self._rows_kept]  # rows without weight and rows held out took no part
        weight = self.sample_weights_ if sample_weight is None else read_weights(sample_weight, len(agreement))
        if weight is None or weight.size != len(agreement):
            raise ValueError(
                f"The last weights are those of the {self.sample_weights_.size} training rows, X has {len(agreement)}: "
                "pass the training table, or sample_weight."
            )
        return np.sum(agreement * (weight / weight.sum())[:, None], axis=0)


class BaseRoundBooster(BaseBooster):
    """A vote that grows round by round, with early stopping and warm starts.

    Under early_stopping="validation" ``estimators_`` are the members up to the best round; ``history_`` has a row for
    every round.
    """

    n_estimators: Any = param(at_least(1), default=50)
    early_stopping: Any = param(one_of("validation", "bound", "margin"), None, default=None)
    validation_fraction: float = param(inner_fraction, default=0.1)
    n_iter_no_change: int = param(at_least(1), default=10)
    tol: float = param(non_negative, default=1e-4)
    warm_start: bool = param("boolean", default=False)
    verbose: int = param("verbose", default=0)

    def _holds_out(self) -> bool:
        return self.early_stopping == "validation"

    def _is_continued(self) -> bool:
        return self.warm_start and hasattr(self, "members_")

    def _check_classes(self, classes: NDArray[Any]) -> None:
        super()._check_classes(classes)
        if self.early_stopping == "margin" and len(classes) > 2:
            raise ValueError(
                "early_stopping='margin' is for two classes: with more, edges do not enclose the largest margin. Use "
                "'validation' or 'bound'."
            )

    def _hold_out(
        self, table: NDArray[np.floating], codes: NDArray[np.int64], weight: NDArray[np.float64], seed: int
    ) -> Split:
        result = hold_out(rows_to_split(table, codes, weight, is_class=True), self.validation_fraction, seed)
        if result is None:
            raise ValueError(
                f"{len(codes)} rows leave none to validate on: pass X_val and y_val, or early_stopping=None."
            )
        return result


class BaseMultiplicativeBooster(BaseRoundBooster):
    """A booster by multiplicative weights; a subclass gives the rule for the coefficient.

    ``estimator_weights_`` are the coefficients on scikit-learn's scale, twice the papers'.
    """

    weighting: Weighting = param(one_of("reweight", "resample"), default="reweight")
    target_error: float | None = param(between(0.0, 1.0, "left"), None, default=None)

    # --- what an algorithm chooses ------------------------------------------------------------------------------------

    def _rule(self) -> Rule:
        """The rule for the coefficient."""
        raise NotImplementedError

    def _predictions(self) -> PredictionKind:
        """How the members answer: with a class, a confidence in [-1, 1], or log-odds."""
        return "votes"

    def _learning_rate(self) -> float:
        return 1.0

    def _rounds_wanted(self, task: Task) -> int:
        return int(self.n_estimators)

    # --- fitting ------------------------------------------------------------------------------------------------------

    def _run(self, task: Task, judge: Judge | None) -> None:
        state = self._start(task)
        run = Run(state)
        members = run.members
        n_wanted = self._rounds_wanted(task)
        n_rounds = n_wanted - len(members)
        if n_rounds < 0:
            raise ValueError(
                f"n_estimators={n_wanted} must be larger or equal to the {len(members)} members that are "
                "there already when warm_start=True."
            )
        seeds = np.random.SeedSequence(self._seed).generate_state(n_wanted + 1, np.uint64)[len(members) + 1 :]
        learn = make_learner(self._weak(), task, weighting=self.weighting, kind=self._predictions(), n_jobs=self.n_jobs)
        votes = make_votes(task.codes, task.n_classes, state.score if members else None)
        rounds = self._rounds(learn, votes, state, [int(seed) for seed in seeds])
        if judge is not None:
            for member, coefficient in zip(members, state.coefficients, strict=True):
                judge.votes.add(coefficient, member.predictions(judge.X, self.n_jobs))
        self._collect(rounds, judge, state, votes, run, n_rounds)
        if judge is None:
            self.probability_slope_ = self._unjudged_slope(task)

    def _rounds(
        self, learn: WeakLearner, votes: TwoClasses | ManyClasses, state: State, seeds: list[int]
    ) -> Iterator[Turn]:
        """The rounds of the algorithm: the multiplicative loop, unless a subclass has its own."""
        return boost(
            learn, votes, state, self._rule(), seeds, n_classes=self.n_classes_, learning_rate=self._learning_rate()
        )

    def _start(self, task: Task) -> State:
        """From the first round, or on from the last one of an earlier fit."""
        fingerprint = task.fingerprint()
        if self._is_continued():
            state: State = kept_from_fit(self, "_state")
            reject_other_rows(state.weight.size, task.weight.size, state.fingerprint == fingerprint)
            return state._replace(weight=state.weight.copy())
        return State(task.weight.copy(), np.empty(0), task.weight, fingerprint, (), (), (), "")

    def _collect(
        self,
        rounds: Iterator[Turn],
        judge: Judge | None,
        state: State,
        votes: TwoClasses | ManyClasses,
        run: Run,
        n_rounds: int,
    ) -> None:
        """Take rounds until the rule, the stopper or their number ends the run, and keep what they brought."""
        target = -1.0 if self.target_error is None else self.target_error
        smallest = float(state.start.min())
        stopper = Stopper(self.early_stopping or "", self.n_iter_no_change, self.tol, target, smallest)
        reason = run.stop
        for record in run.records:
            reason = stopper.look(record) or run.stop
        with progress(type(self).__name__, n_rounds, self.verbose) as tick:
            for turn in rounds if not reason else ():
                record = turn.record
                if judge is not None:
                    error = judge.error(turn.member, record.coefficient, self.n_jobs)
                    record = record._replace(validation_error=error)
                tick(f"training error {record.train_error:.4f}")
                run.take(turn, record)
                reason = turn.stop or (stopper.look(record) if turn.member is not None else "")
                if reason:
                    break
        self._keep(state, votes, run, reason or "all rounds were run", stopper)
        if judge is not None:
            judged = Judged(self._score_table(judge.X), judge.codes, judge.weight)
            self.probability_slope_ = fit_slope(judged, self._probabilities)

    def _keep(self, state: State, votes: TwoClasses | ManyClasses, run: Run, reason: str, stopper: Stopper) -> None:
        members, coefficients, records = run.members, run.coefficients, run.records
        self._state = state._replace(
            score=votes.score, members=tuple(members), coefficients=tuple(coefficients), records=tuple(records),
            stop=run.stop,
        )  # fmt: skip
        self.history_ = History.from_records(records)
        if self.early_stopping == "validation" and stopper.best_round:
            n_best = sum(record.round <= stopper.best_round for record in records)
            members, coefficients = members[:n_best], coefficients[:n_best]
        self.members_ = members
        self.coefficients_ = np.array(coefficients)
        self.estimator_weights_ = 2.0 * self.coefficients_
        self.estimator_errors_ = np.array([record.error for record in records[: len(members)]])
        self.sample_weights_ = state.weight
        self.stop_reason_ = reason
        self._packed = pack_members(members, coefficients, self.n_classes_)
        self._warn(run)

    def _warn(self, run: Run) -> None:
        n = len(self.members_)
        count = "1 member" if n == 1 else f"{n} members"
        if run.stop and (n == 1 or run.n_perfect):
            warnings.warn(
                f"Boosting ended after {count}: {run.stop}.", ConvergenceWarning, stacklevel=level_of_caller()
            )
        elif run.n_perfect:
            word = f"{run.n_perfect} of {count} make no training error: their coefficients were cut to finite ones."
            warnings.warn(word, ConvergenceWarning, stacklevel=level_of_caller())

    def _unjudged_slope(self, task: Task) -> float:
        """The slope where no rows were held out, by the shrinkage law of `calibration.py`."""
        size = vote_size(self.members_, self.coefficients_, task.X.shape[1])
        matters = size > LITTLE * task.n_effective and task.n_classes > 1
        return shrinkage(self._shrinkage(task) if matters else USUAL, task.n_effective, size)

    def _shrinkage(self, task: Task) -> float:
        """The constant of the law, from a trial on either half of the rows."""
        parts = halves(task.X, task.codes)
        if parts is None:
            return USUAL
        try:
            trials = [self._trial(task, *parts), self._trial(task, *parts[::-1])]
        except ValueError:  # from a learner that wants more rows, or more of each class, than half the table has
            return USUAL
        return fit_shrinkage(trials, self._probabilities)

    def _trial(self, task: Task, learned: NDArray[np.int64], judged: NDArray[np.int64]) -> Trial:
        """A short run on some rows, judged on others."""
        counts = task.counts
        half = Task(task.columns, task.X[learned], task.codes[learned], task.classes, counts[learned])
        state = State(half.weight.copy(), np.empty(0), half.weight, (), (), (), (), "")
        n_rounds = min(len(self.members_), max(MIN_ROUNDS, len(self.members_) // 4))
        seeds = np.random.SeedSequence(self._seed).generate_state(n_rounds, np.uint64)
        learn = make_learner(self._weak(), half, weighting=self.weighting, kind=self._predictions(), n_jobs=self.n_jobs)
        run = Run(state)
        for turn in self._rounds(learn, make_votes(half.codes, half.n_classes), state, [int(seed) for seed in seeds]):
            run.take(turn, turn.record)
        score = score_members(run.members, run.coefficients, task.X[judged], task.n_classes, self.n_jobs)
        size = vote_size(run.members, run.coefficients, task.X.shape[1])
        return Trial(Judged(score, task.codes[judged], counts[judged]), half.n_effective, size)
