"""Base classes of boosted classifiers: the rows, the loop, early stopping and warm starts, predictions."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import HasMethods

from committee.base.array_types import Floats
from committee.base.parameters import at_least, between, fitted, fixed, inner_fraction, non_negative, one_of, param
from committee.base.stacklevel import level_of_caller
from committee.boosting._vote_calibration import (
    DEFAULT_C,
    MIN_ROUNDS,
    NEGLIGIBLE,
    HeldOutScores,
    Trial,
    fit_shrinkage,
    fit_slope,
    halves,
    shrinkage,
    vote_size,
)
from committee.boosting._weak_learners import PredictionKind, TrainingRows, make_learner
from committee.boosting.multiplicative_weights import Rule, State, Turn, boost
from committee.boosting.votes import Votes, make_votes, vote_probabilities
from committee.ensemble.incremental import (
    ALL_ROUNDS,
    MIN_WEIGHT,
    BaseIncrementalMetaEnsemble,
    Run,
    TrainingData,
    ValidationSet,
    hold_out_rows,
    seeds_of_rounds,
)
from committee.ensemble.stopping import MarginGap, Patience, RiskBound, Stopping, TargetError
from committee.ensemble.warm_start import check_n_estimators, resume
from committee.members.member import Member, WeakLearner
from committee.members.vote import pack_members, score_members, score_packed
from committee.records.ensemble import PackedTrees
from committee.records.history import History
from committee.tabular.validation import read_known_classes, read_weights
from committee.trees.decision_stump import DecisionStump

Weighting = Literal["reweight", "resample"]
Settings = Mapping[str, Any]
"""Fitted attributes that are set before the first round."""


class ValidationVotes:
    """The vote so far for the validation rows."""

    def __init__(self, X: NDArray[np.floating], codes: NDArray[np.int64], n_classes: int, weight: Floats) -> None:
        self.X, self.codes, self.n_classes = X, codes, n_classes
        self.weight, self.votes = weight / weight.sum(), make_votes(codes, n_classes)

    def fresh(self) -> ValidationVotes:
        """Return the same rows without votes."""
        return ValidationVotes(self.X, self.codes, self.n_classes, self.weight)

    def add(self, members: Sequence[Member], coefficients: Sequence[float], n_jobs: int | None) -> None:
        """Add the votes of members."""
        for member, coefficient in zip(members, coefficients, strict=True):
            self.votes.add(coefficient, member.predictions(self.X, n_jobs))

    def error(self) -> float:
        """Compute the weighted error of the vote."""
        return float((self.weight * self.votes.wrong()).sum())


class Vote(NamedTuple):
    """Members and their coefficients; `packed` are all nodes in common arrays if the members are trees."""

    members: list[Member]
    coefficients: Floats
    n_classes: int
    packed: PackedTrees | None

    @classmethod
    def of(cls, members: list[Member], coefficients: Sequence[float] | Floats, n_classes: int) -> Vote:
        listed = [float(coefficient) for coefficient in coefficients]
        return cls(members, np.array(listed), n_classes, pack_members(members, listed, n_classes))

    def scores(self, table: NDArray[np.floating], n_jobs: int | None) -> Floats:
        """Compute sum a h(x): [n, 1] for two classes, the votes [n, K] for more."""
        if self.packed is not None:
            return score_packed(self.packed, table, n_jobs)
        return score_members(self.members, self.coefficients.tolist(), table, self.n_classes, n_jobs)

    def attributes(self) -> dict[str, Any]:
        """Return the fitted attributes of the vote."""
        return {"members_": self.members, "coefficients_": self.coefficients, "_packed": self.packed}


class BaseBooster(ClassifierMixin, BaseIncrementalMetaEnsemble):
    """Base class of weighted votes of weak hypotheses; a subclass fits them."""

    estimator: Any = param(
        HasMethods(["fit", "predict"]),
        None,
        default=None,
        kw_only=False,
        doc="The weak learner: a tree of this library or any classifier with `fit` and `predict`. None is "
        "`DecisionStump()`, which maximizes the edge.",
    )
    early_stopping: Any = fixed(None)
    classes_: NDArray[Any] = fitted()
    n_classes_: int = fitted()
    coefficients_: Floats = fitted(doc="Coefficients a of the members in the vote.")
    estimator_weights_: Floats = fitted(doc="Coefficients of the members on scikit-learn's scale, 2 a.")
    estimator_errors_: Floats = fitted(doc="Weighted error of each member in its round.")
    stop_reason_: str = fitted()
    history_: History = fitted()
    sample_weights_: Floats = fitted(doc="Weights of the training rows after the last round.")
    probability_slope_: float = fitted(
        doc="Factor s on the scores, which calibrates the probabilities, see `predict_proba`."
    )
    _packed: PackedTrees | None = fitted()
    _rows_seen: int = fitted()
    _rows_kept: NDArray[np.int64] = fitted()
    _two_classes_only: ClassVar[bool] = False
    _kind = "classifier"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self._two_classes_only:
            tags.classifier_tags.multi_class = False
        return tags

    # --- hooks of the subclasses --------------------------------------------------------------------------------------

    def _default_estimator(self) -> Any:
        return DecisionStump()

    def _member_attributes(self) -> dict[str, Any]:
        return {"classes_": self.classes_, "n_classes_": self.n_classes_}

    def _member_weights(self) -> Floats:
        return np.abs(self.coefficients_)

    def _holds_out(self) -> bool:
        """Whether rows are held out for validation if none are given."""
        return False

    def _check_classes(self, classes: NDArray[Any]) -> None:
        if self._two_classes_only and len(classes) > 2:
            raise ValueError(
                f"Only binary classification is supported by {type(self).__name__}; y has {len(classes)} classes. Use "
                "AdaBoostClassifier, which supports any number of classes."
            )

    def _boost(self, rows: TrainingRows, validation: ValidationVotes | None) -> dict[str, Any]:
        """Fit the members; return the fitted attributes."""
        raise NotImplementedError

    # --- fitting ------------------------------------------------------------------------------------------------------

    def _fit_rounds(self, data: TrainingData, validation: ValidationSet | None) -> dict[str, Any]:
        assert data.classes is not None
        places = np.arange(len(data.X))
        if validation is None and self._holds_out():
            places, test = hold_out_rows(data, self.validation_fraction)  # type: ignore[attr-defined]
            validation = ValidationSet.of(data.take(test))
        weight = data.weight[places]
        places = places[weight / weight.sum() >= MIN_WEIGHT]
        part = data.take(places) if places.size < len(data.X) else data
        rows = TrainingRows(data.columns, part.X, part.target, data.classes, part.weight, data.seed)
        votes = validation and ValidationVotes(validation.X, validation.target, rows.n_classes, validation.weight)
        return {"_rows_seen": len(data.X), "_rows_kept": places, **self._boost(rows, votes)}

    # --- predictions -----------------------------------------------------------------------------------------------

    def _scores(self, X: Any) -> Floats:
        """Compute sum a h(x): [n, 1] for two classes, the votes [n, K] for more."""
        table = self._read_rows(X)
        vote = Vote(self.members_, self.coefficients_, self.n_classes_, self._packed)
        return vote.scores(table, self.n_jobs)

    def _staged_scores(self, X: Any) -> Iterator[Floats]:
        table = self._read_rows(X)
        score = np.zeros((len(table), 1 if self.n_classes_ <= 2 else self.n_classes_))
        for member, coefficient in zip(self.members_, self.coefficients_, strict=True):
            score += score_members([member], [coefficient], table, self.n_classes_, self.n_jobs)
            yield score

    def _labels(self, score: Floats) -> NDArray[Any]:
        codes = (score[:, 0] > 0.0).astype(int) if self.n_classes_ <= 2 else score.argmax(axis=1)
        return self.classes_[codes]

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class with the largest vote."""
        return self._labels(self._scores(X))

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Yield the predictions after each member."""
        for score in self._staged_scores(X):
            yield self._labels(score)

    def staged_score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Iterator[float]:
        """Yield the accuracy after each member."""
        from sklearn.metrics import accuracy_score

        for labels in self.staged_predict(X):
            yield float(accuracy_score(y, labels, sample_weight=sample_weight))

    def decision_function(self, X: Any) -> Floats:
        """Compute f(x) / sum |a| in [-1, 1]; for K classes the votes, 1 for a class and -1/(K-1) for the others."""
        return self._decision(self._scores(X), float(np.sum(np.abs(self.coefficients_))))

    def staged_decision_function(self, X: Any) -> Iterator[Floats]:
        """Yield the decision function after each member."""
        total = 0.0
        for n_members, score in enumerate(self._staged_scores(X)):
            total += abs(float(self.coefficients_[n_members]))
            yield self._decision(score, total)

    def _decision(self, score: Floats, total: float) -> Floats:
        if self.n_classes_ <= 2:
            return score[:, 0] / total
        against = (score.sum(axis=1, keepdims=True) - score) / (self.n_classes_ - 1)
        return (score - against) / total

    def predict_proba(self, X: Any) -> Floats:
        """Predict class probabilities by the link of the exponential loss: P(y = +1 | x) = 1 / (1 + exp(-2 s f(x))).

        The minimizer of the expected exponential loss is half the log-odds (Friedman, Hastie and Tibshirani 2000); for
        K classes P(k | x) is proportional to exp(2 s sum of the coefficients that vote for k) (Zhu et al. 2009). The
        slope s, `probability_slope_`, corrects for overconfidence on the training rows. It is fitted on the validation
        rows if there are any. Otherwise s = n / (n + c S) with S the sum of |a h| over all leaves; c is estimated by
        trial fits with a quarter of the rounds on each half of the rows, evaluated on the other half, or is 12 where
        the slope is close to 1.
        """
        score = self._scores(X)
        return self._probabilities(self.probability_slope_ * score)

    def staged_predict_proba(self, X: Any) -> Iterator[Floats]:
        """Yield the class probabilities after each member."""
        for score in self._staged_scores(X):
            yield self._probabilities(self.probability_slope_ * score)

    def _probabilities(self, score: Floats) -> Floats:
        return self._link(score, vars(self))

    def _link(self, score: Floats, settings: Settings) -> Floats:
        """Convert scores to probabilities; `settings` are fitted attributes, which need not be set yet."""
        return vote_probabilities(score, settings["n_classes_"])

    def predict_log_proba(self, X: Any) -> Floats:
        """Predict the logarithms of the class probabilities."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    # --- margins and edges --------------------------------------------------------------------------------------------

    def margins(self, X: Any, y: Any) -> Floats:
        """Compute y f(x) / sum |a|, for K classes the vote of the true class less the largest other, over sum |a|."""
        score = self._scores(X)
        return self._margins(
            score, read_known_classes(y, len(score), self.classes_), float(np.sum(np.abs(self.coefficients_)))
        )

    def staged_margins(self, X: Any, y: Any) -> Iterator[Floats]:
        """Yield the margins after each member."""
        totals = np.cumsum(np.abs(self.coefficients_))
        codes: NDArray[np.int64] | None = None
        for total, score in zip(totals, self._staged_scores(X), strict=True):
            codes = read_known_classes(y, len(score), self.classes_) if codes is None else codes
            yield self._margins(score, codes, float(total))

    def _margins(self, score: Floats, codes: NDArray[np.int64], total: float) -> Floats:
        return make_votes(codes, self.n_classes_, score[:, 0] if self.n_classes_ <= 2 else score).margins(total)

    def agreements(self, X: Any, y: Any) -> Floats:
        """Compute u = y h_t(x) of each row and member, [n, T], as the linear programs of `committee.theory` use it."""
        table = self._read_rows(X)
        votes = make_votes(read_known_classes(y, len(table), self.classes_), self.n_classes_)
        columns = [votes.agreement(member.predictions(table, self.n_jobs)) for member in self.members_]
        return np.column_stack(columns).astype(np.float64)

    def edges(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Floats:
        """Compute the edge of each member under `sample_weight`, None for the training weights after the last round."""
        agreement = self.agreements(X, y)
        if sample_weight is None and len(agreement) == self._rows_seen:
            agreement = agreement[self._rows_kept]  # without held-out rows and rows of weight zero
        weight = self.sample_weights_ if sample_weight is None else read_weights(sample_weight, len(agreement))
        if weight is None or weight.size != len(agreement):
            raise ValueError(
                f"sample_weight=None is for the {self.sample_weights_.size} training rows, X has {len(agreement)}: "
                "pass the training rows, or sample_weight."
            )
        return np.sum(agreement * (weight / weight.sum())[:, None], axis=0)


class BaseRoundBooster(BaseBooster):
    """Base class of boosters that add a member in each round, with early stopping and warm starts."""

    n_estimators: Any = param(at_least(1), default=50, doc="Maximum number of rounds.")
    early_stopping: Any = param(
        one_of("validation", "bound", "margin"),
        None,
        default=None,
        doc='"validation" evaluates every round on X_val, y_val or on held-out rows and keeps the members up to the '
        'best round; "bound" stops once the bound on the training error excludes every error; "margin" once the '
        "smallest margin can increase by no more than `tol` (two classes).",
    )
    validation_fraction: float = param(inner_fraction, default=0.1)
    n_iter_no_change: int = param(at_least(1), default=10)
    tol: float = param(
        non_negative,
        default=1e-4,
        doc="Minimum change of the validation error or of the margin that counts as an improvement.",
    )

    def _holds_out(self) -> bool:
        return self.early_stopping == "validation"

    def _check_classes(self, classes: NDArray[Any]) -> None:
        super()._check_classes(classes)
        if self.early_stopping == "margin" and len(classes) > 2:
            raise ValueError(
                "early_stopping='margin' is for two classes: for more, edges do not bound the largest margin. Use "
                "'validation' or 'bound'."
            )


class BoostingRun(Run):
    """A run that counts the hypotheses without training error."""

    n_perfect = 0

    def add(self, round_: Turn, record: Any) -> None:
        super().add(round_, record)
        self.n_perfect += round_.is_perfect


class BaseMultiplicativeBooster(BaseRoundBooster):
    """Base class of boosting by multiplicative weights; a subclass gives the rule for the coefficient."""

    weighting: Weighting = param(
        one_of("reweight", "resample"),
        default="reweight",
        doc="Whether the weak learner is fitted under the weights of the rows or on a sample drawn by them.",
    )
    target_error: float | None = param(
        between(0.0, 1.0, "left"), None, default=None, doc="Training error at which the fit stops."
    )
    history_: History = fitted(
        doc="A row for each round: weighted error, edge and coefficient of the hypothesis, margin target, normalizer "
        "of the weights, exponential risk, its bound by the edges, training error, smallest margin, largest weight, "
        "and validation error (nan without validation rows)."
    )

    # --- hooks of the subclasses --------------------------------------------------------------------------------------

    def _rule(self) -> Rule:
        """The rule for the coefficient."""
        raise NotImplementedError

    def _predictions(self) -> PredictionKind:
        """The kind of predictions of the members: classes, confidences in [-1, 1], or log-odds."""
        return "votes"

    def _learning_rate(self) -> float:
        return 1.0

    def _settings(self, rows: TrainingRows, validation: ValidationVotes | None) -> dict[str, Any]:
        """Fitted attributes that are set before the first round."""
        return {}

    def _n_rounds(self, settings: Settings) -> int:
        return int(self.n_estimators)

    def _rounds(
        self, weak_learner: WeakLearner, votes: Votes, state: State, seeds: list[int], settings: Settings
    ) -> Iterator[Turn]:
        """The rounds of the algorithm; a subclass may override the loop of multiplicative weights."""
        return boost(
            weak_learner, votes, state, self._rule(), seeds,
            n_classes=settings["n_classes_"], learning_rate=self._learning_rate(),
        )  # fmt: skip

    # --- fitting ------------------------------------------------------------------------------------------------------

    def _boost(self, rows: TrainingRows, validation: ValidationVotes | None) -> dict[str, Any]:
        settings = {"n_classes_": rows.n_classes, **self._settings(rows, validation)}
        start = State(rows.weight.copy(), np.empty(0), rows.weight, rows.fingerprint(), (), (), (), "")
        state = resume(self, start)
        run, stopping, patience = BoostingRun(*state[-4:]), *self._stopping(state)
        n_wanted, n_done = self._n_rounds(settings), len(run.members)
        check_n_estimators(n_wanted, n_done)
        weak_learner = self._weak_learner(rows)
        votes = make_votes(rows.codes, rows.n_classes, state.score if n_done else None)
        if validation is not None:
            validation.add(run.members, run.coefficients, self.n_jobs)
        rounds = self._rounds(weak_learner, votes, state, seeds_of_rounds(rows.seed, n_done, n_wanted), settings)
        reason = self._extend(
            run, rounds, lambda turn: self._validated(turn, validation), stopping, n_rounds=n_wanted - n_done,
            status=lambda record: f"training error {record.train_error:.4f}",
        )  # fmt: skip
        vote = self._best_vote(run, patience, rows.n_classes)
        self._warn(run, len(vote.members))
        return {
            **settings,
            **vote.attributes(),
            "estimator_weights_": 2.0 * vote.coefficients,
            "estimator_errors_": np.array([record.error for record in run.records[: len(vote.members)]]),
            "history_": History.from_records(run.records),
            "sample_weights_": state.weight,
            "stop_reason_": reason or ALL_ROUNDS,
            "probability_slope_": self._probability_slope(vote, rows, validation, settings),
            "_state": state._replace(
                score=votes.score, members=tuple(run.members), coefficients=tuple(run.coefficients),
                records=tuple(run.records), stop=run.stop,
            ),
        }  # fmt: skip

    def _weak_learner(self, rows: TrainingRows) -> WeakLearner:
        return make_learner(self._weak(), rows, weighting=self.weighting, kind=self._predictions(), n_jobs=self.n_jobs)

    def _stopping(self, state: State) -> tuple[Stopping, Patience]:
        patience = Patience(self.n_iter_no_change, self.tol)
        rules: dict[str | None, Any] = {
            "validation": patience, "bound": RiskBound(float(state.start.min())), "margin": MarginGap(self.tol),
        }  # fmt: skip
        chosen = [rules[self.early_stopping]] if self.early_stopping else []
        return Stopping(TargetError(-1.0 if self.target_error is None else self.target_error), *chosen), patience

    def _validated(self, turn: Turn, validation: ValidationVotes | None) -> Any:
        """The record of a round with the validation error."""
        if validation is None:
            return turn.record
        if turn.member is not None:
            validation.add([turn.member], [turn.record.coefficient], self.n_jobs)
        return turn.record._replace(validation_error=validation.error())

    def _best_vote(self, run: Run, patience: Patience, n_classes: int) -> Vote:
        """The members up to the best round, or all of them."""
        n_kept = len(run.members)
        if self.early_stopping == "validation" and patience.best_round:
            n_kept = sum(record.round <= patience.best_round for record in run.records)
        return Vote.of(run.members[:n_kept], run.coefficients[:n_kept], n_classes)

    def _warn(self, run: BoostingRun, n_members: int) -> None:
        count = "1 member" if n_members == 1 else f"{n_members} members"
        if run.stop and (n_members == 1 or run.n_perfect):
            warnings.warn(
                f"Boosting ended after {count}: {run.stop}.", ConvergenceWarning, stacklevel=level_of_caller()
            )
        elif run.n_perfect:
            message = f"{run.n_perfect} of {count} have no training error: their coefficients were cut to finite ones."
            warnings.warn(message, ConvergenceWarning, stacklevel=level_of_caller())

    # --- the slope of the probabilities -------------------------------------------------------------------------------

    def _probability_slope(
        self, vote: Vote, rows: TrainingRows, validation: ValidationVotes | None, settings: Settings
    ) -> float:
        """The slope, fitted on the validation rows or estimated by the shrinkage rule of `_vote_calibration`."""
        if validation is not None:
            scores = vote.scores(validation.X, self.n_jobs)
            held_out = HeldOutScores(scores, validation.codes, validation.weight)
            return fit_slope(held_out, lambda score: self._link(score, settings))
        size = vote_size(vote.members, vote.coefficients, rows.X.shape[1])
        if size <= NEGLIGIBLE * rows.n_effective or rows.n_classes == 1:
            return shrinkage(DEFAULT_C, rows.n_effective, size)
        return shrinkage(self._shrinkage(rows, len(vote.members), settings), rows.n_effective, size)

    def _shrinkage(self, rows: TrainingRows, n_members: int, settings: Settings) -> float:
        """The constant c of the shrinkage rule, from a trial fit on each half of the rows."""
        parts = halves(rows.X, rows.codes)
        if parts is None:
            return DEFAULT_C
        n_rounds = min(n_members, max(MIN_ROUNDS, n_members // 4))
        try:
            trials = [self._trial(rows, train, test, n_rounds, settings) for train, test in (parts, parts[::-1])]
        except ValueError:  # a half has too few rows, or rows of a class, for the weak learner
            return DEFAULT_C
        return fit_shrinkage(trials, lambda score: self._link(score, settings))

    def _trial(
        self, rows: TrainingRows, train: NDArray[np.int64], test: NDArray[np.int64], n_rounds: int, settings: Settings
    ) -> Trial:
        """Fit a few rounds on some rows, evaluate them on others."""
        counts = rows.counts
        half = TrainingRows(rows.columns, rows.X[train], rows.codes[train], rows.classes, counts[train])
        state = State(half.weight.copy(), np.empty(0), half.weight, (), (), (), (), "")
        seeds = np.random.SeedSequence(rows.seed).generate_state(n_rounds, np.uint64).tolist()
        run, votes = Run(), make_votes(half.codes, half.n_classes)
        for turn in self._rounds(self._weak_learner(half), votes, state, seeds, settings):
            run.add(turn, turn.record)
        score = score_members(run.members, run.coefficients, rows.X[test], rows.n_classes, self.n_jobs)
        size = vote_size(run.members, run.coefficients, rows.X.shape[1])
        return Trial(HeldOutScores(score, rows.codes[test], counts[test]), half.n_effective, size)
