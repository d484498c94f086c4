"""What gradient boosting for classes and for numbers shares: reading the data, judging rounds, answering."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from numbers import Integral
from typing import Any, Literal, NamedTuple, Self
from zlib import crc32

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from committee.base.array_types import Floats
from committee.base.parameters import (
    N_JOBS,
    RANDOM_STATE,
    Estimator,
    at_least,
    between,
    count_fraction,
    fitted,
    fraction,
    inner_fraction,
    non_negative,
    one_of,
    param,
    positive,
)
from committee.base.progress import progress
from committee.base.rng import RandomState, member_seeds
from committee.base.stacklevel import level_of_caller
from committee.base.transaction import all_or_nothing
from committee.gradient_boosting._defaults import automatic, automatic_rate
from committee.gradient_boosting._trees import TreePlan, TreeStack, max_leaves
from committee.gradient_boosting._validation import (
    CrossedScores,
    CrossValidated,
    Division,
    Fold,
    Judge,
    Patience,
    Record,
    Rows,
    joint_record,
    mean_model,
    naming_round,
    start_scores,
)
from committee.gradient_boosting.gradient_boosting import Plan, Problem, Run
from committee.losses.loss import NO_WEIGHTS, Loss
from committee.losses.minimizers import best_shift
from committee.losses.regression import at_scores
from committee.records.ensemble import BoostedTrees, TreeSum
from committee.records.history import History
from committee.records.tree import LEAF, Tree
from committee.sampling.resampling import without_common_factor
from committee.sampling.splits import RowsToSplit, given_splits, hold_out, k_folds, rows_to_split
from committee.tabular.schema import Columns
from committee.tabular.validation import read_table, read_training_table, read_weights
from committee.tree_engine.binning import BinMapper
from committee.tree_engine.limits import tree_constraints
from committee.tree_engine.predict.boosted import PackedSum, add_scores
from committee.trees.decision_tree import CategoricalFeatures, InteractionConstraints, MonotonicConstraints

NO_DEPTH = 2**30
FEW_ROWS = 60
"""Tables with fewer rows cannot spare any for validation."""

CV_ROWS = 100_000
"""Up to this many rows the automatic choice cross-validates the rounds, beyond it it takes held-out rows; half as many
where a row has several scores, each with a tree in every round of every fold."""

MEAN_ROUNDS = 1.25
"""The mean of the folds' models takes more rounds than would be best for one of them: its variance is smaller."""

FEW_ROUNDS = 100
"""Rounds where nothing judges them."""

MAX_ROUNDS = 2_000
"""Rounds of the automatic choice; early stopping ends it long before."""


CATEGORY_SMOOTHING = 10.0
CATEGORY_ROWS = 100.0
"""What a split of more than four categories is asked: their order has looked at the targets."""

CATEGORY_PENALTY = 0.7
"""Of the gain that such an order promises by chance, so much is subtracted from the gain of a split along it."""

FREE_ROUNDS = 10
"""So many rounds without that penalty are tried where validation has ended the rounds with it.

Where pairs of categories act together, no single column promises anything and the penalty keeps trees from splitting by
the first of them; splits by chance find the pairs. Validation tells whether there are any.
"""


class State(NamedTuple):
    """Where a run stands; a warm start goes on from here."""

    score: Floats
    trees: BoostedTrees | None
    records: tuple[Record, ...]
    fingerprint: tuple[Any, ...]


Callback = Callable[[Any], bool | None]


class BaseGradientBoosting(Estimator):
    """Gradient tree boosting; a subclass gives the loss and turns scores into answers.

    Fitted attributes: ``history_`` (one row per round), ``cv_curve_`` (cross-validated losses of the rounds, where they
    were), ``n_estimators_`` (rounds kept), ``baseline_`` (the scores before the first tree), ``stop_reason_``,
    ``feature_importances_``; ``learning_rate_``, ``max_leaf_nodes_``, ``min_samples_leaf_``, ``l2_regularization_`` and
    ``max_features_``, the values that the fit took.
    """

    loss: Any = fitted()
    learning_rate: float | Literal["auto"] = param(positive, one_of("auto"), default="auto")
    n_estimators: int | Literal["auto"] = param(at_least(1), one_of("auto"), default="auto")
    max_leaf_nodes: int | Literal["auto"] | None = param(at_least(2), one_of("auto"), None, default="auto")
    max_depth: int | None = param(at_least(1), None, default=None)
    min_samples_leaf: int | Literal["auto"] = param(at_least(1), one_of("auto"), default="auto")
    min_hessian: float = param(non_negative, default=1e-3)
    min_gain: float = param(non_negative, default=0.0)
    l1_regularization: float = param(non_negative, default=0.0)
    l2_regularization: float | Literal["auto"] = param(non_negative, one_of("auto"), default="auto")
    subsample: float = param(fraction, default=1.0)
    colsample_bytree: float = param(fraction, default=1.0)
    max_features: float | Literal["auto"] = param(count_fraction, one_of("auto"), default="auto")
    dropout: float = param(between(0.0, 1.0, "left"), default=0.0)
    max_bins: int = param(Interval(Integral, 2, 255, closed="both"), default=255)
    second_order: bool = param("boolean", default=True)
    categorical_features: CategoricalFeatures = param("array-like", one_of("from_dtype"), None, default="from_dtype")
    monotonic_cst: MonotonicConstraints = param("array-like", dict, None, default=None)
    interaction_cst: InteractionConstraints = param(
        list, tuple, one_of("pairwise", "no_interactions"), None, default=None
    )
    early_stopping: bool | Literal["auto", "cv"] = param("boolean", one_of("auto", "cv"), default="auto")
    validation_fraction: float = param(inner_fraction, default=0.1)
    cv: Any = param(at_least(2), "cv_object", default=5)
    refit: bool | Literal["auto"] = param("boolean", one_of("auto"), default="auto")
    n_iter_no_change: int = param(at_least(1), default=20)
    tol: float = param(non_negative, default=1e-7)
    warm_start: bool = param("boolean", default=False)
    callbacks: Sequence[Callback] | None = param(list, tuple, None, default=None)
    random_state: RandomState = param(*RANDOM_STATE, default=None)
    n_jobs: int | None = param(*N_JOBS, default=None)
    verbose: int = param("verbose", default=0)
    columns_: Columns = fitted()
    max_leaf_nodes_: int | None = fitted()
    min_samples_leaf_: int = fitted()
    l2_regularization_: float = fitted()
    max_features_: float = fitted()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    # --- what a subclass chooses --------------------------------------------------------------------------------------

    def _read_target(self, y: Any, n_rows: int) -> NDArray[Any]:
        """The target as the loss takes it; sets what describes it."""
        raise NotImplementedError

    def _make_losses(self, y: NDArray[Any]) -> tuple[tuple[Loss, ...], bool]:
        """The loss of every output, and whether they are the classes of one multinomial loss."""
        raise NotImplementedError

    def _baseline(self, losses: tuple[Loss, ...], y: NDArray[Any], weight: Floats) -> Floats:
        """The constant scores of smallest loss."""
        raise NotImplementedError

    def _class_weight(self, y: NDArray[Any], weight: Floats | None) -> Floats | None:
        return None

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
        init_score: ArrayLike | None = None,
    ) -> Self:
        """Boost.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        y : targets of shape (n_samples,)
        sample_weight : weights of the rows, optional; a whole weight counts as so many equal rows
        X_val, y_val, sample_weight_val : rows to judge every round on, optional
        init_score : scores to start from, of shape (n_samples,) or (n_samples, n_scores), optional; predictions do not
            contain them
        """
        self._validate_params()
        self._reject_with_dropout()
        self._reject_refit()
        self._check_callbacks()
        with all_or_nothing(self):
            rows = self._read(X, y, sample_weight, init_score)
            given = self._read_judge(X_val, y_val, sample_weight_val)
            self._run(rows, given)
        return self

    def _check_callbacks(self) -> None:
        for callback in self.callbacks or ():
            if not callable(callback):
                raise TypeError(
                    f"callbacks must be functions of the round's record; got {callback!r}. Pass [print], say, to see "
                    "every round."
                )

    def _read(self, X: Any, y: Any, sample_weight: Any, init_score: Any) -> Rows:
        columns, table = read_training_table(
            self, X, categorical_features=self.categorical_features, sample_weight=sample_weight
        )
        if self.warm_start and hasattr(self, "_state") and columns != self.columns_:
            raise ValueError(
                f"warm_start=True goes on with the same table: the {self.columns_.n_features} columns of the earlier "
                f"fit and the {columns.n_features} of X differ."
            )
        self.columns_ = columns
        target = self._read_target(y, len(table))
        weight, counts = self._read_weights(sample_weight, target)
        offset = self._read_init_score(init_score, len(table))
        if not (self.warm_start and hasattr(self, "_seed")):
            self._seed = int(member_seeds(self.random_state, 1)[0])
        return Rows(table, target, weight, offset, counts)

    def _read_weights(self, sample_weight: Any, target: NDArray[Any]) -> tuple[Floats, Floats]:
        """The weights, and where they hold those of classes too, the user's own beside them."""
        weight, counts = read_weights(sample_weight, len(target)), NO_WEIGHTS
        weight = None if weight is None else without_common_factor(weight)
        by_class = self._class_weight(target, weight)
        if by_class is not None:
            counts = np.ones(len(target)) if weight is None else weight
            weight = read_weights(counts * by_class, len(target), "sample_weight times class_weight")
        if weight is None or (np.all(weight == 1.0) and np.all(counts == 1.0)):
            return NO_WEIGHTS, NO_WEIGHTS
        return weight, counts

    def _read_init_score(self, init_score: Any, n_rows: int) -> Floats | None:
        if init_score is None:
            return None
        try:
            offset = np.asarray(init_score, np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"init_score must hold numbers, one or more for each row: {error}.") from error
        n_outputs = self._n_scores()
        if offset.ndim == 1 and n_outputs == 1:
            offset = offset[:, np.newaxis]
        if offset.shape != (n_rows, n_outputs) or not np.all(np.isfinite(offset)):
            raise ValueError(
                f"init_score must hold {n_outputs} finite score(s) for each of {n_rows} rows; got shape {offset.shape}."
            )
        return np.ascontiguousarray(offset.T)

    def _n_scores(self) -> int:
        return 1

    def _read_judge(self, X_val: Any, y_val: Any, sample_weight_val: Any) -> Rows | None:
        if X_val is None and y_val is None:
            if sample_weight_val is not None:
                raise ValueError("sample_weight_val needs X_val and y_val.")
            return None
        if X_val is None or y_val is None:
            raise ValueError("Rows to validate on need both X_val and y_val: pass both, or neither.")
        table = read_table(self, X_val)
        target = self._read_known_target(y_val, len(table))
        weight = read_weights(sample_weight_val, len(table), "sample_weight_val")
        return Rows(table, target, NO_WEIGHTS if weight is None else weight, None)

    def _read_known_target(self, y: Any, n_rows: int) -> NDArray[Any]:
        """Targets of validation rows, which may not bring new classes."""
        return self._read_target(y, n_rows)

    def _run(self, every: Rows, given: Rows | None) -> None:
        rows = every
        if every.weight.size and np.any(every.weight == 0.0):
            rows = every.take(np.flatnonzero(every.weight > 0.0))
        n = rows.n_counted
        self._loss = self.loss  # what the scores mean, whatever set_params says later
        self._losses, self._is_multinomial = self._make_losses(rows.y)
        judging = self._judging(n, given)
        n_rounds = self._settle(n, judging)
        if judging == "cv":
            folds = self._folds(every, rows)
            if folds:
                self._run_folds(rows, folds, n_rounds)
                return
            n_rounds = min(n_rounds, FEW_ROUNDS)
        train = rows
        if judging == "fraction":
            train, given = self._hold_out(rows)
        crossed = self._boost(train, given, n_rounds)
        judged = rows.take(np.empty(0, np.int64)) if given is None else given
        score = self._raw_table(judged.X)
        self._calibrate(judged, score)
        self._keep_errors(judged, score if crossed is None else crossed)

    def _run_folds(self, rows: Rows, folds: list[Division], n_rounds: int) -> None:
        """Choose the rounds by the folds; then fit all rows, or keep the mean of the folds' models."""
        result = self._cross_validate(folds, n_rounds)
        self.cv_curve_ = np.array([record.validation_loss for record in result.records])
        if self._refits():
            self._boost(rows, None, result.n_rounds)
        else:
            self._keep_mean(result)
        if self.n_estimators_ == result.n_rounds:
            self.stop_reason_ = f"{result.best_round} rounds had the smallest cross-validated loss"
        self._calibrate(result.rows, result.score)
        self._keep_errors(result.rows, result.crossed)

    def _calibrate(self, rows: Rows, score: Floats) -> None:
        """Learn from rows that judged the rounds, and the scores [n, outputs] of a model that did not see them."""

    def _keep_errors(self, rows: Rows, score: Floats) -> None:
        """As `_calibrate`, with scores at rounds that other rows than each one's own part chose."""

    def _refits(self) -> bool:
        """Whether all rows are fitted again after a cross-validation; else its models are averaged.

        A mean of models cannot be continued, and dropout changes trees after the round they would be cut at.
        """
        if self.refit == "auto":
            return self.early_stopping == "cv" or self.warm_start or self.dropout > 0.0
        return bool(self.refit)

    def _reject_refit(self) -> None:
        if self.warm_start and hasattr(self, "n_estimators_") and not hasattr(self, "_state"):
            raise ValueError(
                "The earlier fit kept the mean of the folds' models, or was saved for prediction only, and cannot be "
                "continued: fit a clone with warm_start=True from the start."
            )
        if self.refit is False and (self.warm_start or self.dropout > 0.0):
            raise ValueError(
                "refit=False keeps the mean of the folds' models, which cannot be continued, nor cut at a round with "
                "dropout: use refit=True, or warm_start=False and dropout=0."
            )

    def _reject_with_dropout(self) -> None:
        """Later rounds change the trees of earlier ones: the first rounds alone are not the model they were."""
        if self.dropout > 0.0 and (self.early_stopping is True or self.warm_start):
            raise ValueError(
                "With dropout a run can be neither cut short nor continued: use early_stopping='cv', which fits again "
                "with the number of rounds it chose, and warm_start=False."
            )

    def _judging(self, n: int, given: Rows | None) -> Literal["given", "cv", "fraction", ""]:
        """How rounds are judged."""
        if given is not None:
            return "given"
        if self.early_stopping == "auto":
            if self.n_estimators != "auto" or n < FEW_ROWS:
                return ""
            most = CV_ROWS if self._n_scores() == 1 else CV_ROWS // 2
            return "cv" if n <= most or self.dropout > 0.0 else "fraction"
        if self.early_stopping == "cv":
            return "cv"
        return "fraction" if self.early_stopping else ""

    def _settle(self, n: int, judging: str) -> int:
        """What "auto" stands for: set the values that the fit takes, and return the rounds it may run."""
        chooses_rounds = bool(judging) and self.n_estimators == "auto"
        rate = automatic_rate(n, len(self._losses) if chooses_rounds and self._is_multinomial else 1)
        self.learning_rate_ = rate if self.learning_rate == "auto" else float(self.learning_rate)
        for name, value in automatic(chooses_rounds)._asdict().items():
            given = getattr(self, name)
            setattr(self, f"{name}_", value if given == "auto" else given)
        if self.n_estimators == "auto":
            return MAX_ROUNDS if judging else FEW_ROUNDS
        return int(self.n_estimators)

    def _hold_out(self, rows: Rows) -> Division:
        to_split = self._rows_to_split(rows)
        result = hold_out(to_split, self.validation_fraction, self._seed)
        if result is None:
            raise ValueError(
                f"The rows (n_samples = {len(rows.y)}, {to_split.n_units} of them distinct) cannot be divided into "
                "training and validation rows: pass X_val and y_val, or early_stopping=False."
            )
        return rows.divide(result)

    def _folds(self, every: Rows, rows: Rows) -> list[Division]:
        if not isinstance(self.cv, Integral):
            weight = every.weight if every.weight.size else None
            return [every.divide(split) for split in given_splits(self.cv, every.X, every.y, weight)]
        to_split = self._rows_to_split(rows)
        splits = k_folds(to_split, min(int(self.cv), to_split.n_distinct), self._seed, equal_rows="apart")
        return [rows.divide(split) for split in splits]

    def _rows_to_split(self, rows: Rows) -> RowsToSplit:
        weight = rows.weight if rows.weight.size else None
        return rows_to_split(rows.X, rows.y, weight, is_class=is_classifier(self))

    def _cross_validate(self, folds: list[Division], n_rounds: int) -> CrossValidated:
        """The number of rounds of smallest mean loss over the folds. The folds run side by side."""
        runs = [self._fold(rows, self._seeds(0, n_rounds, k)) for k, rows in enumerate(folds, 1)]
        share = np.array([float(rows.test.weight.sum() or len(rows.test.y)) for rows in folds])
        share /= share.sum()
        patience = Patience(self.n_iter_no_change, self.tol, True, 1.0 if self._refits() else MEAN_ROUNDS)
        records: list[Record] = []
        reason = ""
        held_out = np.empty((len(self._losses), 0))
        crossed = CrossedScores(share)
        with progress(f"{type(self).__name__}, {len(folds)} folds", n_rounds, self.verbose) as tick:
            while not reason and len(records) < n_rounds:
                each = [run.next_record(len(records) + 1) for run in runs]
                crossed.look(np.array([record.validation_loss for record in each]), [run.judge.score for run in runs])
                records.append(joint_record(each, share))
                tick(f"validation loss {records[-1].validation_loss:.4g}")
                self._check_finite(records[-1])
                reason = self._why_stop(records[-1], patience, len(runs), () if self._refits() else self.callbacks)
                if self._goes_on(reason, patience, [run.run for run in runs]):
                    reason = ""
                if patience.best_round == len(records):
                    held_out = np.concatenate([run.judge.score for run in runs], axis=1)
        judged = Rows.join([rows.test for rows in folds])
        best, n_kept = patience.best_round, patience.n_kept(len(records))
        unchosen = np.concatenate(crossed.score, axis=1)
        return CrossValidated(best, n_kept, tuple(records), judged, held_out.T, unchosen.T, runs)

    def _fold(self, rows: Division, seeds: list[int]) -> Fold:
        learned = rows.train
        problem, plan, base = self._problem(learned)
        stack = TreeStack(problem.matrix, self._max_nodes(plan, learned.n_counted), None, len(problem.losses))
        score = start_scores(base, learned)
        run = Run(problem, plan, score, seeds, stack)
        return Fold(Judge(rows.test, problem, base, plan.dropout > 0.0), run, base, stack)

    def _problem(self, rows: Rows) -> tuple[Problem, Plan, Floats]:
        """Code the table; how it is learned; where the scores start."""
        n_features = rows.X.shape[1]
        matrix = BinMapper(self.max_bins).fit_transform(
            rows.X, rows.weight if rows.weight.size else None, self.columns_.is_categorical, self.n_jobs
        )
        constraints = tree_constraints(self.monotonic_cst, self.interaction_cst, self.columns_)
        if rows.init_score is None:
            base = self._baseline(self._losses, rows.y, rows.weight)
            first = base[:, np.newaxis]
        else:
            base = best_shift(self._losses, rows.y, rows.weight, rows.init_score, self._is_multinomial)
            first = start_scores(base, rows)
        recorded = at_scores(self._losses, rows.y, rows.weight, first)
        problem = Problem(
            matrix, rows.y, rows.weight, self._losses, recorded, self._is_multinomial, constraints, rows.counts
        )
        tree = TreePlan(
            max_leaf_nodes=NO_DEPTH if self.max_leaf_nodes_ is None else int(self.max_leaf_nodes_),
            max_depth=NO_DEPTH if self.max_depth is None else int(self.max_depth),
            min_samples_leaf=int(self.min_samples_leaf_),
            min_hessian=float(self.min_hessian),
            min_gain=float(self.min_gain),
            l1=float(self.l1_regularization),
            l2=float(self.l2_regularization_),
            max_features=max(1, round(self.max_features_ * n_features * self.colsample_bytree)),
            category_smoothing=CATEGORY_SMOOTHING,
            category_rows=CATEGORY_ROWS,
            category_penalty=CATEGORY_PENALTY,
            second_order=bool(self.second_order),
        )
        shares = float(self.subsample), float(self.colsample_bytree), float(self.dropout)
        return problem, Plan(tree, self.learning_rate_, *shares, self.n_jobs), base

    def _max_nodes(self, plan: Plan, n: int) -> int:
        return 2 * max_leaves(plan.tree, n) - 1

    def _seeds(self, n_done: int, n_wanted: int, fold: int = 0) -> list[int]:
        """Of rounds n_done:n_wanted; every fold has its own, so that its model differs by more than its rows."""
        entropy = [self._seed, fold] if fold else self._seed
        seeds = np.random.SeedSequence(entropy).generate_state(n_wanted + 1, np.uint64)[n_done + 1 :]
        return [int(seed >> np.uint64(1)) for seed in seeds]

    def _boost(self, rows: Rows, judged: Rows | None, n_rounds: int) -> Floats | None:
        """Run the rounds; return scores [n, outputs] of validation rows at the rounds that the other half chose."""
        problem, plan, base = self._problem(rows)
        past = self._past(rows, base)
        if n_rounds < len(past.records):
            raise ValueError(
                f"n_estimators={n_rounds} must be larger or equal to the {len(past.records)} rounds that are there "
                "already when warm_start=True."
            )
        self.baseline_ = base
        stack = TreeStack(problem.matrix, self._max_nodes(plan, rows.n_counted), past.trees, len(problem.losses))
        judge = None
        is_active = judged is not None and self.early_stopping is not False and self.dropout == 0.0
        if judged is not None:
            judge = Judge(judged, problem, base, plan.dropout > 0.0, is_active and not is_classifier(self))
            if past.trees is not None:
                done = np.zeros((len(judged.y), len(problem.losses)))
                add_scores(PackedSum(past.trees), judged.X, done, self.n_jobs)
                judge.score += done.T
        seeds = self._seeds(len(past.records), n_rounds)
        run = Run(problem, plan, past.score, seeds, stack)
        self._collect(run, past, judge, stack, n_rounds, is_active)
        return None if judge is None or judge.halves is None else judge.halves.score

    def _fingerprint(self, rows: Rows) -> tuple[Any, ...]:
        some = rows.X[:: max(1, len(rows.X) // 1000)]  # all of a large table would take time
        arrays = (some, rows.y, rows.weight, NO_WEIGHTS if rows.init_score is None else rows.init_score)
        losses = tuple((loss.code, loss.parameter, getattr(loss.functions, "name", "")) for loss in self._losses)
        return (rows.X.shape, *(crc32(np.ascontiguousarray(array).tobytes()) for array in arrays), losses)

    def _past(self, rows: Rows, base: Floats) -> State:
        """From the first round, or on from the last one of an earlier fit."""
        if not (self.warm_start and hasattr(self, "_state")):
            return State(start_scores(base, rows), None, (), self._fingerprint(rows))
        before, now = self._state.fingerprint, self._fingerprint(rows)
        if before[0] != now[0]:
            raise ValueError(
                f"warm_start=True goes on with the same rows: the earlier fit had {before[0][0]}, X and y have "
                f"{now[0][0]}."
            )
        if before != now:
            raise ValueError(
                "warm_start=True goes on with the same rows and the same loss: X, y, the weights, init_score or the "
                "loss are others than in the earlier fit. Fit a new model, or set warm_start=False."
            )
        return self._state._replace(score=self._state.score.copy())

    def _collect(
        self, run: Run, past: State, judge: Judge | None, stack: TreeStack, n_rounds: int, is_active: bool
    ) -> None:
        records = list(past.records)
        patience = Patience(self.n_iter_no_change, self.tol, is_active)
        reason = ""
        for record in records:
            reason = patience.look(record.round, record.validation_loss)
        with progress(type(self).__name__, n_rounds - len(records), self.verbose) as tick:
            while not reason and len(records) < n_rounds:
                with naming_round(len(records) + 1):
                    done = run.next_round()
                    loss = judge.loss(done) if judge is not None else math.nan
                records.append(Record.of(len(records) + 1, done, loss))
                self._check_finite(records[-1])
                tick(f"training loss {done.train_loss:.4g}")
                reason = self._why_stop(records[-1], patience, 1, self.callbacks)
                if self._goes_on(reason, patience, [run]):
                    reason = ""
        self._keep(past, records, stack, patience, reason or "all rounds were run")

    def _goes_on(self, reason: str, patience: Patience, runs: list[Run]) -> bool:
        """Whether the runs, ended by validation, go on for some rounds with the penalty on categories taken off.

        What is fitted again with a number of rounds, or continued later, keeps to one rule.
        """
        is_ended = bool(reason) and reason == patience.reason
        if not is_ended or self._refits() or not any([run.frees_categories() for run in runs]):
            return False
        patience.wait(FREE_ROUNDS)
        return True

    def _check_finite(self, record: Record) -> None:
        if not math.isfinite(record.train_loss):
            raise ValueError(
                f"The training loss is {record.train_loss} after round {record.round}: the loss function gives no "
                "finite number for some score. Take a smaller learning_rate, or correct the loss."
            )

    def _why_stop(self, record: Record, patience: Patience, n_models: int, callbacks: Sequence[Callback] | None) -> str:
        reason = patience.look(record.round, record.validation_loss)
        is_sampled = self.subsample < 1.0 or self.colsample_bytree < 1.0 or self.max_features_ < 1.0
        if record.n_leaves <= n_models * len(self._losses) and not is_sampled:
            return "no split makes the loss smaller"
        for callback in callbacks or ():
            if callback(record):
                return "a callback ended the run"
        return reason

    def _keep(self, past: State, records: list[Record], stack: TreeStack, patience: Patience, reason: str) -> None:
        trees = stack.trees() if records else None
        self._state = State(past.score, trees, tuple(records), past.fingerprint)
        n_kept = patience.best_round if patience.is_active and patience.best_round else len(records)
        self._keep_model(trees, n_kept, len(self._losses), records, reason)

    def _keep_mean(self, result: CrossValidated) -> None:
        """The mean of the folds' models is the model."""
        self.baseline_, trees = mean_model(result)
        vars(self).pop("_state", None)
        n_trees = len(result.folds) * len(self._losses)
        self._keep_model(trees, result.n_rounds, n_trees, result.records, "")

    def _keep_model(
        self, trees: BoostedTrees | None, n_kept: int, n_trees: int, records: Sequence[Record], reason: str
    ) -> None:
        """The first rounds, of so many trees each, and what all rounds measured."""
        self.n_estimators_ = n_kept
        self._round_size = n_trees
        self._trees = trees.first(n_kept * n_trees) if trees is not None else None
        self._packed: PackedSum | None = None if self._trees is None else PackedSum(self._trees)
        self.history_ = History.from_records(records)
        self.stop_reason_ = reason
        if n_kept and records[0].n_leaves <= n_trees:
            warnings.warn(
                "The first tree has no split: min_samples_leaf or another limit is too large for these rows, or no "
                "feature tells anything.", ConvergenceWarning, stacklevel=level_of_caller(),
            )  # fmt: skip
        elif self._losses[0].functions is not None and _stands_still(records):
            warnings.warn(
                "No round made the loss smaller, so every step was taken back: the gradient of your loss must be its "
                "derivative by the score, not the negative one.", ConvergenceWarning, stacklevel=level_of_caller(),
            )  # fmt: skip

    # --- what a fitted model answers ----------------------------------------------------------------------------------

    def _raw(self, X: Any) -> Floats:
        """Scores [n, outputs]."""
        check_is_fitted(self, "n_estimators_")
        return self._raw_table(read_table(self, X))

    def _raw_table(self, table: NDArray[np.floating]) -> Floats:
        score = np.repeat(self.baseline_[np.newaxis], len(table), axis=0)
        if self._packed is not None:
            add_scores(self._packed, table, score, self.n_jobs)
        return score

    def _staged_raw(self, X: Any) -> Iterator[Floats]:
        check_is_fitted(self, "n_estimators_")
        table = read_table(self, X)
        score = np.repeat(self.baseline_[np.newaxis], len(table), axis=0)
        size = self._round_size
        trees: Any = self._trees
        for t in range(self.n_estimators_):
            one = PackedSum(trees.between(t * size, (t + 1) * size))
            add_scores(one, table, score, self.n_jobs)
            yield score.copy()

    @property
    def trees_(self) -> list[Tree]:
        """The trees, round by round; with several scores, one for each in every round. Leaf values are final."""
        check_is_fitted(self, "n_estimators_")
        return [] if self._trees is None else [self._trees.tree(t) for t in range(self._trees.n_trees)]

    def to_tree_sum(self) -> TreeSum:
        """The scores as a sum of trees, for explanations."""
        trees = tuple(self.trees_)
        output = np.empty(0, np.int64) if self._trees is None else self._trees.output
        return TreeSum(trees, output, np.ones(len(trees)), self.baseline_)

    @property
    def n_iter_(self) -> int:
        """Number of rounds kept, under the name of scikit-learn's histogram boosting."""
        return len(self)

    def __len__(self) -> int:
        """Number of rounds kept."""
        check_is_fitted(self, "n_estimators_")
        return self.n_estimators_

    def apply(self, X: Any) -> NDArray[np.int64]:
        """Number of the leaf each row ends in, for every tree: (n_samples, n_trees)."""
        from committee.tree_engine.predict.apply import apply_tree

        check_is_fitted(self, "n_estimators_")
        table = read_table(self, X)
        columns = [apply_tree(tree, table, self.n_jobs) for tree in self.trees_]
        return np.stack(columns, axis=1) if columns else np.empty((len(table), 0), np.int64)

    @property
    def feature_importances_(self) -> Floats:
        """Falls of the loss that each feature's splits promised, summed over all trees, as shares of one."""
        check_is_fitted(self, "n_estimators_")
        decreases = np.zeros(self.columns_.n_features)
        if self._trees is not None:
            inner = self._trees.feature != LEAF
            np.add.at(decreases, self._trees.feature[inner], self._trees.gain[inner])
        return decreases / decreases.sum() if decreases.sum() > 0.0 else decreases


def _stands_still(records: Sequence[Record]) -> bool:
    """No round got anywhere: what is left of steps that were halved to the last changes nothing."""
    losses = np.array([record.train_loss for record in records])
    return losses.size > 1 and bool(np.ptp(losses) <= 1e-6 * np.abs(losses[0]))
