"""Base class of gradient boosting classifiers and regressors: fit, choose the number of rounds, predict."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from committee.base.array_types import Floats
from committee.base.journal import open_stream
from committee.base.parameters import (
    N_JOBS,
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
from committee.base.rng import member_seeds
from committee.base.stacklevel import level_of_caller
from committee.blocks.coding import Coding, code_table_on_disk
from committee.blocks.targets import Labels
from committee.ensemble import incremental
from committee.ensemble.fit_identity import confirm_record, describe_fit
from committee.ensemble.incremental import (
    ALL_ROUNDS,
    BaseIncrementalEnsemble,
    GivenRows,
    TrainingData,
    ValidationSet,
)
from committee.ensemble.sources import fits_memory, is_source
from committee.ensemble.stopping import Patience
from committee.ensemble.warm_start import check_n_estimators, check_same_data, data_fingerprint
from committee.gradient_boosting._defaults import automatic, automatic_rate
from committee.gradient_boosting._stopping import BoostingStopping
from committee.gradient_boosting.block_fit import (
    BlockTable,
    BlockTarget,
    MakeBlocks,
    block_table,
    check_blocks,
    disk_blocks,
    warn_of_cells,
)
from committee.gradient_boosting.block_rows import BlockProblem, BlockRows
from committee.gradient_boosting.cells import CELL_LEAVES, cell_plan
from committee.gradient_boosting.gradient_boosting import BoostingRound, Plan, Problem, gradient_boosting
from committee.gradient_boosting.memory_rows import MemoryRows
from committee.gradient_boosting.trees import RowTotals, TreePlan, TreeStack, max_leaves, number_of_rows
from committee.gradient_boosting.validation import (
    CrossedScores,
    CrossValidated,
    Division,
    Fold,
    Record,
    Rows,
    ValidationLoss,
    joint_record,
    mean_model,
    naming_round,
    start_scores,
)
from committee.kernels.trees.histogram_tree import FEW_CATEGORIES
from committee.losses.loss import NO_WEIGHTS, Loss
from committee.losses.minimizers import best_shift
from committee.losses.regression import at_scores
from committee.records.ensemble import BoostedTrees, TreeSum
from committee.records.history import History
from committee.records.tree import LEAF, Tree
from committee.sampling.resampling import without_common_factor
from committee.sampling.splits import RowsToSplit, given_splits, hold_out, k_folds, rows_to_split
from committee.tabular.validation import read_table, read_weights
from committee.tree_engine.binning import BinMapper
from committee.tree_engine.limits import tree_constraints
from committee.tree_engine.predict.boosted import PackedSum, add_scores
from committee.trees.decision_tree import CategoricalFeatures, InteractionConstraints, MonotonicConstraints

NO_DEPTH = 2**30
MIN_VALIDATED_ROWS = 60
"""Smallest number of rows for which the automatic choice validates the number of rounds."""

MAX_CV_ROWS = 100_000
"""Largest number of rows for which the automatic choice uses cross-validation, else held-out rows; half of it for
several scores per row, each with a tree in every round of every fold."""

MEAN_ROUNDS = 1.25
"""Number of rounds of the mean of the folds' models relative to the best one of a fold: its variance is smaller."""

DEFAULT_ROUNDS = 100
"""Number of rounds without validation."""

MAX_ROUNDS = 2_000
"""Limit of the rounds of the automatic choice."""

CATEGORY_SMOOTHING = 10.0
CATEGORY_ROWS = 100.0
"""Smoothing and minimum number of rows of splits of more than four categories, whose order depends on the targets."""

CATEGORY_PENALTY = 0.7
"""Fraction of the gain expected by chance from ordering many categories that is subtracted from the gain of a split."""


class State(NamedTuple):
    """Scores and trees of the training rows, for a warm start."""

    score: Floats
    trees: BoostedTrees | None
    records: tuple[Record, ...]
    fingerprint: tuple[Any, ...]


class KeptCodes(NamedTuple):
    """Where the codes of files are kept, as the further argument of a fit."""

    directory: str | os.PathLike[str]


Callback = Callable[[Any], bool | None]


class KeptRecords(incremental.Run):
    """The records of a run, whose trees are in a `TreeStack`."""

    def add(self, round_: BoostingRound, record: Record) -> None:
        """Append the record of a round."""
        self.records.append(record)


class BaseGradientBoosting(BaseIncrementalEnsemble):
    """Base class of gradient tree boosting; a subclass gives the loss and turns scores into predictions."""

    loss: Any = fitted()
    learning_rate: float | Literal["auto"] = param(
        positive,
        one_of("auto"),
        default="auto",
        doc='Factor of every tree (ten times this, at most 1, for cells of two categorical columns); "auto" grows with '
        "the number of rows, from 0.05 for 1,000 to 0.1 for 10,000.",
    )
    n_estimators: int | Literal["auto"] = param(
        at_least(1),
        one_of("auto"),
        default="auto",
        doc='Maximum number of rounds; "auto" is 2,000 with early stopping and 100 without.',
    )
    max_leaf_nodes: int | Literal["auto"] | None = param(
        at_least(2),
        one_of("auto"),
        None,
        default="auto",
        doc='Maximum number of leaves; trees grow best-first, by the largest gain. "auto" is 15 if validation chooses '
        "the number of rounds, else 31.",
    )
    max_depth: int | None = param(at_least(1), None, default=None)
    min_samples_leaf: int | Literal["auto"] = param(
        at_least(1),
        one_of("auto"),
        default="auto",
        doc='Minimum number of rows in a leaf. "auto" is 10 if validation chooses the number of rounds, else 20.',
    )
    min_hessian: float = param(non_negative, default=1e-3, doc="Minimum sum of the hessians in a leaf.")
    min_gain: float = param(non_negative, default=0.0, doc="Minimum decrease of the mean loss by a split.")
    l1_regularization: float = param(non_negative, default=0.0, doc="L1 penalty of the leaf values.")
    l2_regularization: float | Literal["auto"] = param(
        non_negative,
        one_of("auto"),
        default="auto",
        doc='L2 penalty of the leaf values. "auto" is 1 if validation chooses the number of rounds, else 0.',
    )
    subsample: float = param(fraction, default=1.0, doc="Fraction of the rows of each round, drawn at random.")
    colsample_bytree: float = param(
        fraction, default=1.0, doc="Fraction of the features of each round, drawn at random."
    )
    max_features: float | Literal["auto"] = param(
        count_fraction,
        one_of("auto"),
        default="auto",
        doc='Fraction of the features to search at every node, drawn at random. "auto" is 0.5 if validation chooses '
        "the number of rounds, else 1.",
    )
    dropout: float = param(
        between(0.0, 1.0, "left"),
        default=0.0,
        doc="Probability that an earlier round is dropped while a tree is fitted (DART).",
    )
    max_bins: int = param(
        Interval(Integral, 2, 255, closed="both"), default=255, doc="Maximum number of bins per feature."
    )
    second_order: bool = param(
        "boolean",
        default=True,
        doc="Whether splits use gradients and hessians; otherwise they are least squares fits to the gradients "
        "(Friedman).",
    )
    categorical_features: CategoricalFeatures = param("array-like", one_of("from_dtype"), None, default="from_dtype")
    monotonic_cst: MonotonicConstraints = param("array-like", dict, None, default=None)
    interaction_cst: InteractionConstraints = param(
        list, tuple, one_of("pairwise", "no_interactions"), None, default=None
    )
    early_stopping: bool | Literal["auto", "cv"] = param(
        "boolean",
        one_of("auto", "cv"),
        default="auto",
        doc="Whether to choose the number of rounds by the validation loss: on `validation_fraction` of the rows "
        '(True) or by cross-validation ("cv"). "auto" validates if n_estimators="auto" and there are 60 rows or more: '
        "by cross-validation up to 100,000 rows (50,000 for more than two classes), else on held-out rows. Validation "
        "rows are drawn at random: for rows in time order pass cv=TimeSeriesSplit(5) and refit=True, for groups of "
        "rows folds of whole groups.",
    )
    validation_fraction: float = param(
        inner_fraction, default=0.1, doc="Fraction of the rows held out with early_stopping=True."
    )
    cv: Any = param(
        at_least(2), "cv_object", default=5, doc="Number of folds, a splitter, or an iterable of (train, test)."
    )
    refit: bool | Literal["auto"] = param(
        "boolean",
        one_of("auto"),
        default="auto",
        doc="After cross-validation: whether to fit all rows with the chosen number of rounds; otherwise the model is "
        'the mean of the models of the folds. "auto" refits with early_stopping="cv", `warm_start` or `dropout`.',
    )
    n_iter_no_change: int = param(
        at_least(1), default=20, doc="Number of rounds without a smaller validation loss after which to stop."
    )
    tol: float = param(
        non_negative, default=1e-7, doc="Minimum decrease of the validation loss, relative to that of the first round."
    )
    callbacks: Sequence[Callback] | None = param(
        list,
        tuple,
        None,
        default=None,
        doc="Functions of the record of every round; one that returns True stops the fit.",
    )
    n_jobs: int | None = param(*N_JOBS, default=None)
    baseline_: Floats = fitted(doc="The scores before the first tree.")
    cv_curve_: Floats = fitted(doc="Cross-validated loss after each round, with cross-validation.")
    history_: History = fitted(
        doc="One row per round: training loss, validation loss, number of leaves, and number of shortened steps."
    )
    l2_regularization_: float = fitted(doc="The L2 penalty that was used.")
    learning_rate_: float = fitted(doc="The learning rate that was used.")
    max_features_: float = fitted(doc="Fraction of the features searched at every node.")
    max_leaf_nodes_: int | None = fitted(doc="Maximum number of leaves that was used.")
    min_samples_leaf_: int = fitted(doc="Minimum number of rows in a leaf that was used.")
    n_estimators_: int = fitted(doc="Number of rounds of the model.")
    stop_reason_: str = fitted()
    _optional_state: ClassVar[tuple[str, ...]] = ("_state", "_residuals")
    _warm_state: ClassVar[tuple[str, ...]] = ("_state",)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    # --- what a subclass gives ----------------------------------------------------------------------------------------

    def _as_target(self, target: NDArray[Any]) -> NDArray[Any]:
        """The target as the loss takes it."""
        return target

    def _make_losses(self, y: NDArray[Any]) -> tuple[tuple[Loss, ...], bool]:
        """The loss of every output, and whether they are the classes of one multinomial loss."""
        raise NotImplementedError

    def _baseline(self, losses: tuple[Loss, ...], y: NDArray[Any], weight: Floats) -> Floats:
        """The constant scores of smallest loss."""
        raise NotImplementedError

    def _class_weight(self, codes: NDArray[Any], weight: Floats) -> Floats | None:
        """Class weights of the rows."""
        return None

    def _n_scores(self) -> int:
        return 1

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
        codes: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Fit the trees.

        Parameters
        ----------
        X : table of shape (n_samples, n_features), or files
            NumPy array, pandas, polars or Arrow table; or paths of Parquet, CSV or Arrow files, a polars LazyFrame or
            a pyarrow Dataset, which may be larger than memory.
        y : array-like of shape (n_samples,), or str
            Class labels, or values in regression; of files the name of the column.
        sample_weight : array-like of shape (n_samples,), or str, optional
            Weights of the rows. An integer weight w is equivalent to repeating the row w times.
        X_val, y_val, sample_weight_val : optional
            Rows to evaluate every round on, in place of folds or held-out rows.
        init_score : array-like of shape (n_samples,) or (n_samples, n_scores), optional
            Scores to start from. Predictions do not include them.
        codes : path, optional
            For files: directory in which their codes are kept. Later fits of the same files use them again.

        Returns
        -------
        self
        """
        given, extra = GivenRows(X_val, y_val, sample_weight_val), init_score
        if codes is not None:
            if not is_source(X) or init_score is not None:
                raise ValueError("codes keeps the codes of files: pass their paths as X, and no init_score.")
            extra = KeptCodes(codes)
        return self._fit(X, y, sample_weight, given, extra)

    def _fit_stream(self, source: Any, y: str, sample_weight: str | None, given: GivenRows, extra: Any) -> Self:
        directory = extra.directory if isinstance(extra, KeptCodes) else None
        if directory is None and fits_memory(source):
            return super()._fit_stream(source, y, sample_weight, given, extra)
        if extra is not None and directory is None:
            raise ValueError("init_score is not supported for tables in blocks: pass a table in memory.")
        coding = Coding(y, sample_weight, self.max_bins, self.categorical_features)
        with code_table_on_disk(
            source, coding, estimator=self, row_weights=self._bin_weights, directory=directory, n_jobs=self.n_jobs,
            verbose=self.verbose,
        ) as table:  # fmt: skip
            return self._fit_blocks(block_table(table), given, partial(disk_blocks, table))

    def _bin_weights(self, labels: Labels) -> Floats | None:
        """The weights by which rows count in the bins."""
        n_classes = 0 if labels.classes is None else len(labels.classes)
        reader = self._reader({"classes_": labels.classes, "n_classes_": n_classes})
        weight, _ = reader._weights(labels.target, np.ones(labels.n_rows) if labels.weight is None else labels.weight)
        return weight if weight.size else None

    def _categorical(self) -> Any:
        return self.categorical_features

    def _check_parameters(self) -> None:
        if self.dropout > 0.0 and (self.early_stopping is True or self.warm_start):
            raise ValueError(
                "A fit with dropout changes the trees of earlier rounds, so it can be neither stopped early nor "
                "continued: use early_stopping='cv', which fits all rows with the chosen number of rounds, and "
                "warm_start=False."
            )
        if self.warm_start and hasattr(self, "n_estimators_") and not hasattr(self, "_state"):
            raise ValueError(
                "The previous fit cannot be continued: it is the mean of the models of the folds, or was saved for "
                "prediction only. Fit a clone with warm_start=True."
            )
        if self.refit is False and (self.warm_start or self.dropout > 0.0):
            raise ValueError(
                "refit=False averages the models of the folds, which cannot be continued, nor stopped early with "
                "dropout: set refit=True, or warm_start=False and dropout=0."
            )
        for callback in self.callbacks or ():
            if not callable(callback):
                raise TypeError(
                    f"callbacks must be functions of the record of a round, such as print; got {callback!r}."
                )

    def _fit_rounds(self, data: TrainingData, validation: ValidationSet | None) -> dict[str, Any]:
        return self._fit_copy(data, lambda copy: copy._run(copy._rows(data), copy._validation_rows(validation)))

    def _rows(self, data: TrainingData) -> Rows:
        weight, counts = self._weights(data.target, data.weight)
        offset = _read_init_score(data.extra, len(data.X), self._n_scores())
        return Rows(data.X, self._as_target(data.target), weight, offset, counts)

    def _weights(self, target: NDArray[Any], sample_weight: Floats) -> tuple[Floats, Floats]:
        """Class weights times sample weights, and the latter alone as counts; empty if all are one."""
        weight, counts = without_common_factor(sample_weight), NO_WEIGHTS
        by_class = self._class_weight(target, weight)
        if by_class is not None:
            counts = weight
            weight = counts * by_class
            read_weights(weight, len(weight), "sample_weight times class_weight")
        if np.all(weight == 1.0) and np.all(counts == 1.0):
            weight = counts = NO_WEIGHTS
        return weight, counts

    def _validation_rows(self, validation: ValidationSet | None) -> Rows | None:
        if validation is None:
            return None
        weight = NO_WEIGHTS if np.all(validation.weight == 1.0) else validation.weight
        return Rows(validation.X, self._as_target(validation.target), weight, None)

    def _run(self, every: Rows, given: Rows | None) -> None:
        rows = every
        if every.weight.size and np.any(every.weight == 0.0):
            rows = every.take(np.flatnonzero(every.weight > 0.0))
        n = rows.n_counted
        self._loss = self.loss  # parameters set later do not change a fitted model
        self._losses, self._is_multinomial = self._make_losses(rows.y)
        kind = self._validation_kind(n, given)
        n_rounds = self._resolve_auto(n, kind)
        if kind == "cv":
            folds = self._folds(every, rows)
            if folds:
                self._run_folds(rows, folds, n_rounds)
                return
            n_rounds = min(n_rounds, DEFAULT_ROUNDS)
        train = rows
        if kind == "fraction":
            train, given = self._hold_out(rows)
        crossed = self._boost(train, given, n_rounds, has_cells=bool(kind))
        validated = rows.take(np.empty(0, np.int64)) if given is None else given
        score = self._raw_table(validated.X)
        self._calibrate(validated, score)
        self._keep_errors(validated, score if crossed is None else crossed)

    def _run_folds(self, rows: Rows, folds: list[Division], n_rounds: int) -> None:
        """Choose the number of rounds by the folds; then fit all rows, or average the models of the folds."""
        result = self._cross_validate(folds, n_rounds)
        self.cv_curve_ = np.array([record.validation_loss for record in result.records])
        if self._refits():
            self._boost(rows, None, result.n_rounds, has_cells=True)
        else:
            self._keep_mean(result)
        if self.n_estimators_ == result.n_rounds:
            self.stop_reason_ = f"{result.best_round} rounds had the smallest cross-validated loss"
        self._calibrate(result.rows, result.score)
        self._keep_errors(result.rows, result.crossed)

    def _calibrate(self, rows: Rows, score: Floats) -> None:
        """Set attributes of validation rows and their scores [n, outputs] by a model not fitted on them."""

    def _keep_errors(self, rows: Rows, score: Floats) -> None:
        """As `_calibrate`, with scores at the number of rounds that the other parts of the validation rows choose."""

    def _refits(self) -> bool:
        """Whether to fit all rows after cross-validation; otherwise the models of the folds are averaged."""
        if self.refit == "auto":
            return self.early_stopping == "cv" or self.warm_start or self.dropout > 0.0
        return bool(self.refit)

    def _validation_kind(self, n: int, given: Rows | None) -> Literal["given", "cv", "fraction", ""]:
        """How rounds are validated."""
        if given is not None:
            return "given"
        if self.early_stopping == "auto":
            if self.n_estimators != "auto" or n < MIN_VALIDATED_ROWS:
                return ""
            limit = MAX_CV_ROWS if self._n_scores() == 1 else MAX_CV_ROWS // 2
            return "cv" if n <= limit or self.dropout > 0.0 else "fraction"
        if self.early_stopping == "cv":
            return "cv"
        return "fraction" if self.early_stopping else ""

    def _resolve_auto(self, n: int, kind: str) -> int:
        """Set the values of the parameters that are "auto"; return the maximum number of rounds."""
        chooses_rounds = bool(kind) and self.n_estimators == "auto"
        rate = automatic_rate(n, len(self._losses) if chooses_rounds and self._is_multinomial else 1)
        self.learning_rate_ = rate if self.learning_rate == "auto" else float(self.learning_rate)
        for name, value in automatic(chooses_rounds, self._has_many_categories())._asdict().items():
            given = getattr(self, name)
            setattr(self, f"{name}_", value if given == "auto" else given)
        if self.n_estimators == "auto":
            return MAX_ROUNDS if kind else DEFAULT_ROUNDS
        return int(self.n_estimators)

    def _has_many_categories(self) -> bool:
        return any(known is not None and known.n_codes > FEW_CATEGORIES for known in self.columns_.categories)

    def _cell_leaves(self) -> int:
        """Maximum number of leaves of the trees of cell rounds."""
        return CELL_LEAVES if self.max_leaf_nodes in ("auto", None) else min(CELL_LEAVES, int(self.max_leaf_nodes))

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
        """Choose the number of rounds by the mean loss of the folds, which run in parallel rounds."""
        runs = [self._fold(rows, self._seeds(0, n_rounds, k)) for k, rows in enumerate(folds, 1)]
        weight = np.array([float(rows.test.weight.sum() or len(rows.test.y)) for rows in folds])
        weight /= weight.sum()
        patience = self._patience(True, 1.0 if self._refits() else MEAN_ROUNDS)
        stopping = self._stopping(patience, () if self._refits() else self.callbacks, len(runs))
        records: list[Record] = []
        reason = ""
        held_out = np.empty((len(self._losses), 0))
        crossed, stream = CrossedScores(weight), open_stream()
        with progress(f"{type(self).__name__}, {len(folds)} folds", n_rounds, self.verbose) as tick:
            while not reason and len(records) < n_rounds:
                each = [run.next_record(len(records) + 1) for run in runs]
                scores = [run.validation.score for run in runs]
                crossed.update(np.array([record.validation_loss for record in each]), scores)
                records.append(joint_record(each, weight))
                confirm_record(stream, len(records), records[-1])
                tick(f"validation loss {records[-1].validation_loss:.4g}")
                self._check_finite(records[-1])
                reason = stopping.check(records[-1])
                if patience.best_round == len(records):
                    held_out = np.concatenate(scores, axis=1)
        tested = Rows.join([rows.test for rows in folds])
        best, n_kept = patience.best_round, patience.n_kept(len(records))
        return CrossValidated(
            best, n_kept, tuple(records), tested, held_out.T, np.concatenate(crossed.score, axis=1).T, runs
        )

    def _patience(self, is_active: bool, stretch: float = 1.0) -> Patience:
        return Patience(
            self.n_iter_no_change,
            self.tol,
            measure="validation_loss",
            tol_of="first",
            is_active=is_active,
            stretch=stretch,
        )

    def _fold(self, rows: Division, seeds: list[int]) -> Fold:
        train = rows.train
        problem, plan, base = self._problem(train, has_cells=True)
        stack = TreeStack(problem.matrix, self._max_nodes(plan, train.n_counted), None, len(problem.losses))
        rounds = gradient_boosting(MemoryRows(problem, plan, start_scores(base, train), stack), seeds)
        return Fold(ValidationLoss(rows.test, problem, base, plan.dropout > 0.0), rounds, base, stack)

    def _problem(self, rows: Rows, has_cells: bool) -> tuple[Problem, Plan, Floats]:
        """The binned table with its targets, the settings, and the first scores.

        Cell rounds are only made if the number of rounds is automatic, too.
        """
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
        return problem, self._plan(n_features, has_cells), base

    def _plan(self, n_features: int, has_cells: bool) -> Plan:
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
            cell_leaves=self._cell_leaves() if has_cells and self.n_estimators == "auto" else 0,
        )
        fractions = float(self.subsample), float(self.colsample_bytree), float(self.dropout)
        return Plan(tree, self.learning_rate_, *fractions, self.n_jobs)

    def _max_nodes(self, plan: Plan, n: int) -> int:
        most = max_leaves(plan.tree, n)
        return 2 * max(most, max_leaves(cell_plan(plan.tree), n) if plan.tree.cell_leaves else most) - 1

    def _seeds(self, n_done: int, n_wanted: int, fold: int = 0) -> list[int]:
        """Seeds of rounds n_done:n_wanted; the folds have different ones, so that their errors are less correlated."""
        entropy = [self._seed, fold] if fold else self._seed
        seeds = np.random.SeedSequence(entropy).generate_state(n_wanted + 1, np.uint64)[n_done + 1 :]
        return [int(seed >> np.uint64(1)) for seed in seeds]

    def _boost(self, rows: Rows, validated: Rows | None, n_rounds: int, has_cells: bool) -> Floats | None:
        """Run the rounds, with cell rounds if validation chooses their number.

        Return `crossed` scores of validation rows, see `CrossValidated`, in halves.
        """
        problem, plan, base = self._problem(rows, has_cells)
        past = self._past(rows, base)
        check_n_estimators(n_rounds, len(past.records))
        self.baseline_ = base
        stack = TreeStack(problem.matrix, self._max_nodes(plan, rows.n_counted), past.trees, len(problem.losses))
        validation = None
        is_active = validated is not None and self.early_stopping is not False and self.dropout == 0.0
        if validated is not None:
            has_halves = is_active and not is_classifier(self)
            validation = ValidationLoss(validated, problem, base, plan.dropout > 0.0, has_halves)
            if past.trees is not None:
                done = np.zeros((len(validated.y), len(problem.losses)))
                add_scores(PackedSum(past.trees), validated.X, done, self.n_jobs)
                validation.score += done.T
        seeds = self._seeds(len(past.records), n_rounds)
        steps = gradient_boosting(MemoryRows(problem, plan, past.score, stack), seeds)
        self._collect(steps, past, validation, stack, n_rounds, is_active)
        return None if validation is None or validation.halves is None else validation.halves.score

    # --- rows in blocks -----------------------------------------------------------------------------------------------

    def _fit_blocks(self, table: BlockTable, given: GivenRows, make_blocks: MakeBlocks) -> Self:
        """Fit a table in blocks, wherever they are; the validation rows are in memory."""
        if table.classes is not None:
            self._check_classes(table.classes)
        seed = int(member_seeds(self.random_state, 1)[0])
        no_rows = np.empty((0, table.columns.n_features))
        data = TrainingData(table.columns, no_rows, table.target, table.weight, table.classes, seed, table.attributes)
        validation = self._load_validation(data, given)
        bins = data._replace(extra=table.matrix[1:5])  # what is known of X
        open_stream().confirm(0, lambda: describe_fit(self, bins, validation), type(self).__name__)
        run = self._fit_copy(data, lambda copy: copy._run_blocks(table, copy._validation_rows(validation), make_blocks))
        self._store({**data.attributes, "_seed": seed, **run})
        return self

    def _run_blocks(self, table: BlockTable, given: Rows | None, make_blocks: MakeBlocks) -> None:
        self._loss = self.loss
        codes = table.target.astype(np.int64) if self._n_scores() > 1 else table.target
        target = BlockTarget(self._as_target(codes), *self._weights(table.target, table.weight))
        y, weight, counts = target
        self._losses, self._is_multinomial = self._make_losses(y)
        n_counted = number_of_rows(y.size, counts if counts.size else weight)
        kind = self._validation_kind(n_counted, given)
        check_blocks(self, self._losses, kind, target)
        warn_of_cells(table.matrix, bool(kind) and self.n_estimators == "auto")
        n_rounds = self._resolve_auto(n_counted, kind)
        plan = self._plan(table.matrix.n_features, has_cells=False)
        constraints = tree_constraints(self.monotonic_cst, self.interaction_cst, self.columns_)
        self.baseline_ = self._baseline(self._losses, y, weight)
        problem = BlockProblem(
            table.matrix, self._losses, self._is_multinomial, constraints, plan, RowTotals.of(y.size, weight, counts),
            self.baseline_, y.size,
        )  # fmt: skip
        stack = TreeStack(table.matrix, self._max_nodes(plan, n_counted), None, len(self._losses))
        is_active = given is not None and self.early_stopping is not False
        none = Rows(np.empty((0, table.matrix.n_features)), y[:0], NO_WEIGHTS, None)
        validation = None
        if given is not None:
            whole = Problem(table.matrix, y, weight, self._losses, self._losses, self._is_multinomial, constraints)
            has_halves = is_active and not is_classifier(self)
            validation = ValidationLoss(given, whole, self.baseline_, has_dropout=False, has_halves=has_halves)
        with make_blocks(problem, target) as blocks:
            steps = gradient_boosting(BlockRows(blocks, problem, stack), self._seeds(0, n_rounds))
            past = State(np.empty((len(self._losses), 0)), None, (), ())
            self._collect(steps, past, validation, stack, n_rounds, is_active)
        del self._state  # a fit on blocks cannot be continued
        crossed = None if validation is None or validation.halves is None else validation.halves.score
        validated = none if given is None else given
        score = self._raw_table(validated.X)
        self._calibrate(validated, score)
        self._keep_errors(validated, score if crossed is None else crossed)

    def _fingerprint(self, rows: Rows) -> tuple[Any, ...]:
        arrays = (rows.y, rows.weight, NO_WEIGHTS if rows.init_score is None else rows.init_score)
        losses = tuple((loss.code, loss.parameter, getattr(loss.functions, "name", "")) for loss in self._losses)
        return data_fingerprint(rows.X, *arrays, settings=(losses,))

    def _past(self, rows: Rows, base: Floats) -> State:
        """The state before the first round, or that of the previous fit."""
        if not hasattr(self, "_state"):
            return State(start_scores(base, rows), None, (), self._fingerprint(rows))
        check_same_data(self._state.fingerprint, self._fingerprint(rows), "init_score or the loss")
        return self._state._replace(score=self._state.score.copy())

    def _collect(
        self,
        steps: Iterator[BoostingRound],
        past: State,
        validation: ValidationLoss | None,
        stack: TreeStack,
        n_rounds: int,
        is_active: bool,
    ) -> None:
        kept = KeptRecords(records=past.records)
        patience = self._patience(is_active)

        def rounds() -> Iterator[BoostingRound]:
            for number in range(len(past.records) + 1, n_rounds + 1):
                with naming_round(number):
                    done = next(steps)
                yield done

        def measure(done: BoostingRound) -> Record:
            number, loss = len(kept.records) + 1, math.nan
            if validation is not None:
                with naming_round(number):
                    loss = validation.update(done)
            record = Record.of(number, done, loss)
            self._check_finite(record)
            return record

        reason = self._extend(
            kept,
            rounds(),
            measure,
            self._stopping(patience, self.callbacks),
            n_rounds=n_rounds - len(past.records),
            status=lambda record: f"training loss {record.train_loss:.4g}",
        )
        self._keep(past, kept.records, stack, patience, reason or ALL_ROUNDS)

    def _stopping(
        self, patience: Patience, callbacks: Sequence[Callback] | None, n_models: int = 1
    ) -> BoostingStopping:
        is_sampled = self.subsample < 1.0 or self.colsample_bytree < 1.0 or self.max_features_ < 1.0
        min_leaves = 0 if is_sampled else n_models * len(self._losses) + 1
        return BoostingStopping(patience, min_leaves=min_leaves, callbacks=callbacks or ())

    def _check_finite(self, record: Record) -> None:
        if not math.isfinite(record.train_loss):
            raise ValueError(
                f"The training loss is {record.train_loss} after round {record.round}: the loss is not finite for some "
                "score. Set a smaller learning_rate, or correct the loss."
            )

    def _keep(self, past: State, records: list[Record], stack: TreeStack, patience: Patience, reason: str) -> None:
        trees = stack.trees() if records else None
        self._state = State(past.score, trees, tuple(records), past.fingerprint)
        n_kept = patience.best_round if patience.is_active and patience.best_round else len(records)
        self._keep_model(trees, n_kept, len(self._losses), records, reason)

    def _keep_mean(self, result: CrossValidated) -> None:
        """Store the mean of the models of the folds."""
        self.baseline_, trees = mean_model(result)
        n_trees = len(result.folds) * len(self._losses)
        self._keep_model(trees, result.n_rounds, n_trees, result.records, "")

    def _keep_model(
        self, trees: BoostedTrees | None, n_kept: int, n_trees: int, records: Sequence[Record], reason: str
    ) -> None:
        """Store the first `n_kept` rounds of `n_trees` trees, and the history of all rounds."""
        self.n_estimators_ = n_kept
        self._round_size = n_trees
        self._trees = trees.first(n_kept * n_trees) if trees is not None else None
        self._packed: PackedSum | None = None if self._trees is None else PackedSum(self._trees)
        self.history_ = History.from_records(records)
        self.stop_reason_ = reason
        if n_kept and records[0].n_leaves <= n_trees:
            warnings.warn(
                "The first tree has no split: min_samples_leaf or another limit is too large for these rows, or no "
                "feature is informative.", ConvergenceWarning, stacklevel=level_of_caller(),
            )  # fmt: skip
        elif self._losses[0].functions is not None and _stands_still(records):
            warnings.warn(
                "No round decreased the loss: the gradient of a user-defined loss is its derivative by the score, not "
                "the negative derivative.", ConvergenceWarning, stacklevel=level_of_caller(),
            )  # fmt: skip

    # --- predictions --------------------------------------------------------------------------------------------------

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
        """The trees, round by round; a round has one tree for each score. Leaf values include the learning rate."""
        check_is_fitted(self, "n_estimators_")
        return [] if self._trees is None else [self._trees.tree(t) for t in range(self._trees.n_trees)]

    def to_tree_sum(self) -> TreeSum:
        """The scores as a sum of trees, for explanations."""
        trees = tuple(self.trees_)
        output = np.empty(0, np.int64) if self._trees is None else self._trees.output
        return TreeSum(trees, output, np.ones(len(trees)), self.baseline_)

    @property
    def n_iter_(self) -> int:
        """Number of rounds, under the name of scikit-learn's histogram boosting."""
        return len(self)

    def __len__(self) -> int:
        """Number of rounds."""
        check_is_fitted(self, "n_estimators_")
        return self.n_estimators_

    def apply(self, X: Any) -> NDArray[np.int64]:
        """Index of the leaf of each row in every tree, (n_samples, n_trees)."""
        from committee.tree_engine.predict.apply import apply_tree

        check_is_fitted(self, "n_estimators_")
        table = read_table(self, X)
        columns = [apply_tree(tree, table, self.n_jobs) for tree in self.trees_]
        return np.stack(columns, axis=1) if columns else np.empty((len(table), 0), np.int64)

    @property
    def feature_importances_(self) -> Floats:
        """Gains of each feature's splits, summed over all trees, with sum 1."""
        check_is_fitted(self, "n_estimators_")
        decreases = np.zeros(self.columns_.n_features)
        if self._trees is not None:
            inner = self._trees.feature != LEAF
            np.add.at(decreases, self._trees.feature[inner], self._trees.gain[inner])
        return decreases / decreases.sum() if decreases.sum() > 0.0 else decreases


def _stands_still(records: Sequence[Record]) -> bool:
    """Whether no round changed the loss: all steps were halved to almost nothing."""
    losses = np.array([record.train_loss for record in records])
    return losses.size > 1 and bool(np.ptp(losses) <= 1e-6 * np.abs(losses[0]))


def _read_init_score(init_score: Any, n_rows: int, n_outputs: int) -> Floats | None:
    """Scores to start from, [outputs, n]."""
    if init_score is None:
        return None
    try:
        offset = np.asarray(init_score, np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"init_score must be one or more numbers for each row: {error}.") from error
    if offset.ndim == 1 and n_outputs == 1:
        offset = offset[:, np.newaxis]
    if offset.shape != (n_rows, n_outputs) or not np.all(np.isfinite(offset)):
        raise ValueError(
            f"init_score must have {n_outputs} finite score(s) for each of {n_rows} rows; got shape {offset.shape}."
        )
    return np.ascontiguousarray(offset.T)
