"""Base class of forests: grow trees, evaluate them out of bag, predict."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils._param_validation import Interval, RealNotInt
from sklearn.utils.validation import check_is_fitted

from committee.base.array_types import Floats
from committee.base.parameters import (
    N_JOBS,
    at_least,
    between,
    count_fraction,
    fitted,
    non_negative,
    one_of,
    param,
)
from committee.base.prediction_only_error import kept_from_fit
from committee.base.rng import member_seeds
from committee.base.stacklevel import level_of_caller
from committee.ensemble.grower import Grower
from committee.ensemble.incremental import BaseIncrementalEnsemble, GivenRows, Run, TrainingData, ValidationSet
from committee.ensemble.oob_scorers import check_score
from committee.ensemble.stopping import Convergence, Stopping
from committee.ensemble.warm_start import check_n_estimators, check_same_data, data_fingerprint
from committee.records.ensemble import TreeSum
from committee.records.forest import PackedForest
from committee.records.history import History
from committee.records.tree import LEAF, Tree
from committee.tabular.validation import read_table
from committee.tree_engine.memory_guard import reject_too_many_trees
from committee.tree_engine.predict.apply import apply_tree
from committee.tree_engine.predict.forest import add_predictions, pack_forest
from committee.trees.decision_tree import BaseDecisionTree
from committee.trees.training import EXACT_ROWS

if TYPE_CHECKING:
    from committee.ensemble.oob import OutOfBag
    from committee.forests._tuning import Tuned
    from committee.forests.random_forest import ForestData, ForestRound
    from committee.sampling.row_samples import Sampler
    from committee.tree_engine.response import Response

MaxFeatures = int | float | Literal["sqrt", "log2"] | None
MAX_FEATURES = (at_least(1), count_fraction, one_of("sqrt", "log2"), None)


MAX_TREES = 2_000
"""Limit of n_estimators="auto"."""


class Record(NamedTuple):
    """One row of `history_`: a tree, and the out-of-bag error of all trees so far."""

    tree: int
    n_leaves: int
    oob_error: float


class ForestRun(Run):
    """The trees so far; `leaves` are those of the training rows in each tree, None if they are not kept."""

    def __init__(
        self, trees: Sequence[Tree], records: Sequence[Record], leaves: list[NDArray[np.int32]] | None
    ) -> None:
        super().__init__(trees, records=records)
        self.leaves = leaves

    def add(self, round_: ForestRound, record: Record) -> None:
        self.members.append(round_.tree)
        self.records.append(record)
        if self.leaves is not None:
            self.leaves.append(round_.leaf.astype(np.int32))


class SeveralTargetsError(ValueError, AttributeError):
    """The attribute exists in the forest of each target only; an AttributeError, so that `hasattr` is False."""


class BaseForest(BaseIncrementalEnsemble):
    """Base class of forests; a subclass reads the target and turns means over trees into predictions."""

    n_estimators: int | Literal["auto"] = param(
        at_least(1),
        one_of("auto"),
        default=100,
        kw_only=False,
        doc='Number of trees; "auto" adds trees until the out-of-bag error converges, at most 2,000.',
    )
    criterion: Any = fitted()
    bootstrap: Any = fitted()
    max_depth: int | None = param(at_least(1), None, default=None)
    min_samples_split: int | float = param(at_least(2), count_fraction, default=2)
    min_samples_leaf: int | float = param(at_least(1), Interval(RealNotInt, 0.0, 1.0, closed="neither"), default=1)
    min_weight_fraction_leaf: float = param(between(0.0, 0.5), default=0.0)
    max_features: MaxFeatures = param(*MAX_FEATURES, default="sqrt")
    max_leaf_nodes: int | None = param(at_least(2), None, default=None)
    min_impurity_decrease: float = param(non_negative, default=0.0)
    oob_score: bool | str | Callable[..., float] = param(
        "boolean",
        one_of("auto"),
        str,
        callable,
        default="auto",
        doc="Score of the out-of-bag predictions: a scorer, its name, or a function of (y_true, y_pred). True is the "
        'accuracy, or R^2; "auto" the same if samples leave rows out. False computes no out-of-bag predictions.',
    )
    n_jobs: int | None = param(*N_JOBS, default=None)
    ccp_alpha: float = param(non_negative, default=0.0)
    max_samples: int | float | None = param(
        at_least(1),
        count_fraction,
        None,
        default=None,
        doc="Rows in a sample, as a number or a fraction; None is the number of rows of X.",
    )
    monotonic_cst: Any = param("array-like", dict, None, default=None)
    interaction_cst: Any = param(list, tuple, one_of("pairwise", "no_interactions"), None, default=None)
    categorical_features: Any = param("array-like", one_of("from_dtype"), None, default="from_dtype")
    splitter: Literal["auto", "best", "binned"] = param(
        one_of("auto", "best", "binned"),
        default="auto",
        doc='"best" tries the cuts between all distinct values, "binned" those between at most `max_bins` quantile '
        'bins; "auto" is "best" up to 100,000 rows and "binned" beyond. Extremely randomised trees draw one threshold '
        "per feature in either case.",
    )
    max_bins: int = param(Interval(Integral, 2, 255, closed="both"), default=255)
    tol: float = param(
        non_negative,
        default=0.005,
        doc='n_estimators="auto" stops once the mean out-of-bag error of 50 trees is not below that of the 50 before '
        "by more than this fraction of it.",
    )
    keep_leaf_samples: bool = param(
        "boolean",
        default=False,
        doc="Whether to keep the training rows of each leaf, for quantiles and for similar training rows.",
    )
    tune: Literal["oob"] | None = param(
        one_of("oob"),
        None,
        default=None,
        doc='"oob" chooses `max_features` and `min_samples_leaf` by the out-of-bag error of small forests.',
    )
    history_: History = fitted(doc="One row per tree: number of leaves, and out-of-bag error of the forest so far.")
    n_outputs_: int = fitted()
    oob_error_: float = fitted(
        doc="Error of the out-of-bag predictions: misclassified fraction, or mean squared error."
    )
    oob_score_: float = fitted(doc="Score of the out-of-bag predictions.")
    output_forests_: list[Any] = fitted(doc="The forest of each target, for several targets.")
    packed_: PackedForest = fitted(doc="The trees in a compact form for prediction, 20 bytes a node.")
    stop_reason_: str = fitted()
    trees_: list[Tree] = fitted(doc="The trees as arrays; `estimators_` returns them as estimators.")
    tuned_: Tuned = fitted(doc='The chosen parameters and all trials, with tune="oob".')
    _is_random: ClassVar[bool] = False  # random thresholds (extremely randomised trees)
    _tree_class: ClassVar[type[BaseDecisionTree]]
    _warm_state: ClassVar[tuple[str, ...]] = (
        "trees_", "tuned_", "_records", "_leaves_kept", "_sampler", "_member_seeds", "_data_fingerprint",
    )  # fmt: skip
    _optional_state: ClassVar[tuple[str, ...]] = (
        "_seed", "_records", "_leaves_kept", "_sampler", "_member_seeds", "_data_fingerprint", "_residuals",
        "_calibrated", "_targets",
    )  # fmt: skip

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    # --- what a subclass gives ----------------------------------------------------------------------------------------

    def _make_response(self, target: NDArray[Any], weight: Floats) -> Response:
        raise NotImplementedError

    def _class_weighting(self, data: TrainingData) -> Callable[[Floats], Floats]:
        """A function that multiplies the weights of a sample by class weights."""
        return whole_sample

    def _tally(self, data: TrainingData) -> OutOfBag:
        raise NotImplementedError

    def _set_out_of_bag(self, tally: OutOfBag, data: TrainingData, grower: Grower) -> None:
        """Set the attributes of the out-of-bag predictions."""
        raise NotImplementedError

    # --- fitting ------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:  # type: ignore[override]
        """Grow the forest.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            NumPy array, pandas, polars or Arrow table. Missing values need no imputation.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Class labels, or values in regression. Several targets have a forest each.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows. An integer weight w is equivalent to repeating the row w times, in the bootstrap too.

        Returns
        -------
        self
        """
        self._validate_params()
        if _n_outputs(y) > 1:
            self._store(self._fit_outputs(X, y, sample_weight))
            return self
        return self._fit(X, y, sample_weight, GivenRows())

    def _categorical(self) -> Any:
        return self.categorical_features

    def _is_continued(self) -> bool:
        return self.warm_start and hasattr(self, "trees_")

    def _fit_rounds(self, data: TrainingData, validation: ValidationSet | None) -> dict[str, Any]:
        return self._fit_copy(data, lambda copy: copy._grow(data))

    def _grow(self, data: TrainingData) -> None:
        self.n_outputs_ = 1
        grower = self._grower(data)
        has_oob = self._has_oob(grower.samples)
        tally = self._tally(data)
        run = self._resume_or_start(data, grower, tally if has_oob else None)
        is_auto = self.n_estimators == "auto"
        n_wanted, n_before = MAX_TREES if self.n_estimators == "auto" else int(self.n_estimators), len(run.members)
        check_n_estimators(n_wanted, n_before)
        seeds = self._seeds(n_wanted)
        self._tune(grower, data)

        def record(round_: ForestRound) -> Record:
            number = len(run.members) + 1
            if number == 1:
                reject_too_many_trees(round_.tree, 1 if is_auto else n_wanted)
            error = tally.add(round_.out_of_bag, round_.predictions) if has_oob else np.nan
            return Record(number, round_.tree.n_leaves, error)

        reason = self._extend(
            run,
            grower.grow(seeds[n_before:], has_oob=has_oob, keep_leaves=self.keep_leaf_samples, params=self._chosen()),
            record,
            Stopping(Convergence(self.tol)) if is_auto else Stopping(),
            n_rounds=n_wanted - n_before,
            status=lambda record: f"out-of-bag error {record.oob_error:.4g}" if has_oob else "",
        )
        self.trees_, self._records, self.packed_ = run.members, run.records, pack_forest(run.members)
        self.history_, self.stop_reason_ = History.from_records(run.records), reason or "all trees were grown"
        self._leaves_kept = run.leaves or []
        self._sampler, self._data_fingerprint = grower.samples, grower.fingerprint
        self._member_seeds = seeds[: len(run.members)]
        if has_oob:
            self._warn_of_rows_in_every_sample(tally)
            self.oob_error_ = tally.error
            self._set_out_of_bag(tally, data, grower)

    def _tune(self, grower: Grower, data: TrainingData) -> None:
        """Choose the number of features of a node and the size of a leaf by the smallest out-of-bag error."""
        if self.tune is None:
            return
        from committee.forests._tuning import TRIAL_TREES, tune_by_out_of_bag

        if grower.samples.kind == "all":
            raise ValueError("tune='oob' needs out-of-bag rows: set bootstrap=True, or max_samples below 1.")
        if not hasattr(self, "tuned_"):
            self.tuned_ = tune_by_out_of_bag(
                grower, self._seeds(TRIAL_TREES), lambda: self._tally(data), data.target.size, data.columns.n_features
            )

    def _has_oob(self, sampler: Sampler) -> bool:
        """Whether to compute out-of-bag predictions."""
        is_possible = sampler.kind != "all"
        is_required = self.oob_score is not False and self.oob_score != "auto"
        check_score(self.oob_score)
        if is_required and not is_possible:
            raise ValueError("Out of bag estimation only available if bootstrap=True, or with max_samples below 1.")
        if self.n_estimators == "auto" and not is_possible:
            raise ValueError(
                "n_estimators='auto' stops by the out-of-bag error: it needs bootstrap=True, or max_samples below 1."
            )
        return is_possible and (self.oob_score is not False or self.n_estimators == "auto")

    def _seeds(self, n: int) -> list[int]:
        states = np.random.SeedSequence(self._seed).generate_state(n, np.uint64)
        return [int(state >> np.uint64(1)) for state in states]

    def _tree_params(self) -> dict[str, Any]:
        names = self._tree_class().get_params(deep=False)
        params = {name: value for name, value in self.get_params(deep=False).items() if name in names}
        return {**params, "splitter": "random" if self._is_random else self.splitter, **self._chosen()}

    def _chosen(self) -> dict[str, Any]:
        """The parameters of the trees chosen by tune="oob"."""
        tuned: Any = getattr(self, "tuned_", None)
        if self.tune is None or tuned is None:
            return {}
        return {"max_features": tuned.max_features, "min_samples_leaf": tuned.min_samples_leaf}

    def _grower(self, data: TrainingData) -> Grower:
        """What grows the trees."""
        from committee.forests._sampling import make_sampler
        from committee.forests.random_forest import ForestGrower

        sampler = make_sampler(data.X, data.target, data.weight, self.bootstrap, self.max_samples)
        settings = (self.bootstrap, self.max_samples)
        fingerprint = data_fingerprint(data.X, data.target, data.weight, settings=settings)
        return ForestGrower(self._forest_data(data), sampler, fingerprint, self.n_jobs)

    def _forest_data(self, data: TrainingData) -> ForestData:
        from committee.forests.random_forest import ForestData
        from committee.tree_engine.binning import BinMapper
        from committee.tree_engine.limits import tree_constraints

        is_binned = self.splitter == "binned" or (
            self.splitter == "auto" and len(data.X) > EXACT_ROWS and not self._is_random
        )
        has_weights = bool(np.any(data.weight != data.weight[0]))
        matrix = BinMapper(self.max_bins if is_binned else None).fit_transform(
            data.X, data.weight if has_weights else None, self.columns_.is_categorical, self.n_jobs
        )
        constraints = tree_constraints(self.monotonic_cst, self.interaction_cst, self.columns_)
        return ForestData(
            matrix, np.ascontiguousarray(data.X), partial(self._make_response, data.target),
            self._class_weighting(data), self._tree_params(), constraints,
        )  # fmt: skip

    def _resume_or_start(self, data: TrainingData, grower: Grower, tally: OutOfBag | None) -> ForestRun:
        """The trees of an earlier fit, or none; the out-of-bag predictions are added to the tally."""
        if not self._is_continued():
            return ForestRun((), (), [] if self.keep_leaf_samples else None)
        check_same_data(kept_from_fit(self, "_data_fingerprint"), grower.fingerprint, "bootstrap or max_samples")
        if tally is not None:
            out_of_bag = grower.replay(self.trees_, self._member_seeds)
            for tree, (rows, leaf) in zip(self.trees_, out_of_bag, strict=True):
                tally.add(rows, tree.value[leaf])
        if not self.keep_leaf_samples:
            return ForestRun(self.trees_, self._records, None)
        leaves = list(self._leaves_kept)  # empty if keep_leaf_samples was False in the earlier fit
        for tree, seed in zip(self.trees_[len(leaves) :], self._member_seeds[len(leaves) :], strict=True):
            is_in_sample = self._sampler.weights(seed) > 0.0
            leaves.append(np.where(is_in_sample, apply_tree(tree, data.X), -1).astype(np.int32))
        return ForestRun(self.trees_, self._records, leaves)

    def _warn_of_rows_in_every_sample(self, tally: OutOfBag) -> None:
        n_without = int(np.sum(~tally.has_prediction & (tally.weight > 0.0)))
        if n_without and self.oob_score is not False and self.oob_score != "auto":
            warnings.warn(
                f"{n_without} rows were in the sample of every tree: their out-of-bag predictions are nan; increase "
                "n_estimators.", UserWarning, stacklevel=level_of_caller(),
            )  # fmt: skip

    # --- several outputs ----------------------------------------------------------------------------------------------

    def _fit_outputs(self, X: Any, y: Any, sample_weight: Any) -> dict[str, Any]:
        """Fit a forest for each output; return the fitted attributes."""
        columns = _columns_of(y)
        self._check_outputs(len(columns))
        seed = int(member_seeds(self.random_state, 1)[0] >> np.uint64(33))
        forests = [self._copy(seed, k).fit(X, column, sample_weight) for k, column in enumerate(columns)]
        first = forests[0]
        names = ("columns_", "n_features_in_", "feature_names_in_")
        result = {name: getattr(first, name) for name in names if hasattr(first, name)}
        result |= {"output_forests_": forests, "n_outputs_": len(forests)}
        names = ("classes_", "n_classes_")
        result |= {name: [getattr(forest, name) for forest in forests] for name in names if hasattr(first, name)}
        names = ("oob_score_", "oob_error_")
        result |= {
            name: float(np.mean([getattr(forest, name) for forest in forests]))
            for name in names
            if hasattr(first, "oob_score_")
        }
        if hasattr(first, "oob_prediction_"):
            result["oob_prediction_"] = np.column_stack([forest.oob_prediction_ for forest in forests])
        if hasattr(first, "oob_decision_function_"):
            result["oob_decision_function_"] = _stack_outputs([forest.oob_decision_function_ for forest in forests])
        return result

    def _copy(self, seed: int, k: int) -> Any:
        """The forest of output k."""
        forest: Any = clone(self)
        return forest.set_params(random_state=seed, warm_start=False, **self._params_of_output(k))

    def _check_outputs(self, n_outputs: int) -> None:
        """Raise ValueError for parameters of another number of outputs."""

    def _params_of_output(self, k: int) -> dict[str, Any]:
        """Parameters of output k alone."""
        return {}

    # --- predictions --------------------------------------------------------------------------------------------------

    def _check_has_trees(self) -> None:
        """Raise if the forest is not fitted, or has a forest for each target."""
        if hasattr(self, "output_forests_"):
            raise SeveralTargetsError("The forest has several targets: use output_forests_[k].")
        check_is_fitted(self, "trees_")

    def _mean_predictions(self, X: Any) -> Floats:
        """Mean over the trees of the leaf values of each row, [n, k]."""
        check_is_fitted(self, "trees_")
        table = read_table(self, X)
        total = np.zeros((len(table), self.trees_[0].value.shape[1]))
        add_predictions(self.packed_, table, total, self.n_jobs)
        return total / len(self.trees_)

    def _staged_means(self, X: Any) -> Iterator[Floats]:
        self._check_has_trees()
        table = read_table(self, X)
        total = np.zeros((len(table), self.trees_[0].value.shape[1]))
        for t, tree in enumerate(self.trees_, 1):
            total += tree.value[apply_tree(tree, table, self.n_jobs)]
            yield total / t

    def member_predictions(self, X: Any) -> Floats:
        """Predictions of every tree: class probabilities or values, (n_trees, n_samples, k)."""
        self._check_has_trees()
        table = read_table(self, X)
        return np.stack([tree.value[apply_tree(tree, table, self.n_jobs)] for tree in self.trees_])

    def apply(self, X: Any) -> NDArray[np.int64]:
        """Index of the leaf of each row in every tree, (n_samples, n_trees).

        For several targets the trees of the first one come first, then those of the second, and so on.
        """
        if hasattr(self, "output_forests_"):
            return np.hstack([output.apply(X) for output in self.output_forests_])
        self._check_has_trees()
        table = read_table(self, X)
        return np.stack([apply_tree(tree, table, self.n_jobs) for tree in self.trees_], axis=1)

    def decision_path(self, X: Any) -> tuple[sparse.csr_matrix, NDArray[np.int64]]:
        """Indicator matrix (n_samples, n_nodes) of the nodes on the path of each row, and each tree's first node."""
        from committee.tree_engine.predict.apply import decision_path

        self._check_has_trees()
        table = read_table(self, X)
        paths = [decision_path(tree, table, self.n_jobs) for tree in self.trees_]
        begins = np.cumsum([0, *(tree.n_nodes for tree in self.trees_)])
        return sparse.csr_matrix(sparse.hstack(paths)), begins

    @property
    def estimators_(self) -> list[Any]:
        """The trees as fitted estimators; for several targets in the order of `apply`."""
        if hasattr(self, "output_forests_"):
            return [tree for output in self.output_forests_ for tree in output.estimators_]
        self._check_has_trees()
        return [self._as_estimator(tree) for tree in self.trees_]

    def _as_estimator(self, tree: Tree) -> Any:
        params = self._tree_params()
        estimator: Any = self._tree_class(**params)
        described = {name: getattr(self, name) for name in ("classes_", "n_classes_") if hasattr(self, name)}
        estimator.adopt(tree, self.columns_, described)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(estimator, name, getattr(self, name))
        return estimator

    @property
    def estimators_samples_(self) -> list[NDArray[np.int64]]:
        """The rows of each tree's sample, with repetitions."""
        self._check_has_trees()
        return [
            np.repeat(np.arange(sample.size), np.rint(np.maximum(sample, sample > 0.0)).astype(np.int64))
            for sample in map(kept_from_fit(self, "_sampler").weights, self._member_seeds)
        ]

    def oob_indices(self, t: int) -> NDArray[np.int64]:
        """The rows outside the sample of tree t."""
        self._check_has_trees()
        sampler = kept_from_fit(self, "_sampler")
        return sampler.out_of_bag(sampler.weights(self._member_seeds[t]))

    def to_tree_sum(self) -> TreeSum:
        """The mean over the trees as a sum of trees, for explanations; before any calibration."""
        self._check_has_trees()
        k, n = int(getattr(self, "n_classes_", 1)), len(self.trees_)
        trees = tuple(tree._replace(value=tree.value[:, :k]) for tree in self.trees_)  # two columns for a single class
        return TreeSum(trees, np.full(n, -1, np.int64), np.full(n, 1.0 / n), np.zeros(k))

    def __len__(self) -> int:
        """Number of trees."""
        self._check_has_trees()
        return len(self.trees_)

    def __getitem__(self, index: int) -> Any:
        """One tree as a fitted estimator."""
        self._check_has_trees()
        return self._as_estimator(self.trees_[index])

    def __iter__(self) -> Iterator[Any]:
        self._check_has_trees()
        return iter(self.estimators_)

    @property
    def feature_importances_(self) -> Floats:
        """Impurity decreases by feature, with sum 1 in every tree, averaged over the trees."""
        if hasattr(self, "output_forests_"):
            return np.mean([output.feature_importances_ for output in self.output_forests_], axis=0)
        check_is_fitted(self, "trees_")
        d = self.columns_.n_features
        total = np.zeros(d)
        for tree in self.trees_:
            inner = tree.feature != LEAF
            decreases = np.bincount(tree.feature[inner], tree.gain[inner], minlength=d)
            total += decreases / decreases.sum() if decreases.sum() > 0.0 else 0.0
        return total / total.sum() if total.sum() > 0.0 else total

    def __getstate__(self) -> dict[str, Any]:
        """Without `packed_`, which is made of the trees again, unless the trees were not stored."""
        state: Mapping[str, Any] = super().__getstate__()  # type: ignore[misc]
        is_whole = isinstance(state.get("trees_", []), list)
        return {name: value for name, value in state.items() if name != "packed_" or not is_whole}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)  # type: ignore[misc]
        if "trees_" in vars(self) and "packed_" not in vars(self):
            self.packed_ = pack_forest(self.trees_)


def whole_sample(sample: Floats) -> Floats:
    """The weights of a sample without class weights."""
    return sample


def _n_outputs(y: Any) -> int:
    shape = getattr(y, "shape", None)
    if shape is None and isinstance(y, list | tuple) and len(y) and isinstance(y[0], list | tuple | np.ndarray):
        # Lists of different lengths raise where the target is read
        shape = (len(y), len(y[0])) if all(np.size(row) == len(y[0]) for row in y) else None
    if sparse.issparse(y):
        raise TypeError("y is a sparse matrix: pass a dense one, y.toarray().")
    if shape is not None and len(shape) == 2 and shape[1] == 0:
        raise ValueError("y has no column: pass one target per row.")
    return int(shape[1]) if shape is not None and len(shape) == 2 else 1


def _stack_outputs(probabilities: list[Floats]) -> Any:
    """Class probabilities of several outputs as in scikit-learn: [n, K, outputs], or a list if K differs."""
    return np.stack(probabilities, axis=2) if len({each.shape[1] for each in probabilities}) == 1 else probabilities


def _columns_of(y: Any) -> list[Any]:
    names = getattr(y, "column_names", getattr(y, "columns", None))  # of an Arrow table, of other frames
    if names is None:
        return list(np.asarray(y).T)
    if len(set(names)) < len(names):
        raise ValueError(f"Two columns of y have the same name: rename one. They are {list(names)[:8]}.")
    return [y[name] for name in names]
