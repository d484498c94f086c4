"""What forests share: reading the data, growing, out-of-bag evidence, answering."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self
from zlib import crc32

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils._param_validation import Interval, RealNotInt
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
    non_negative,
    one_of,
    param,
)
from committee.base.prediction_only_error import kept_from_fit
from committee.base.progress import progress
from committee.base.rng import RandomState, member_seeds
from committee.base.stacklevel import level_of_caller
from committee.base.transaction import all_or_nothing
from committee.ensemble.oob_scorers import check_score
from committee.forests._convergence import MAX_TREES, has_settled
from committee.records.ensemble import TreeSum
from committee.records.history import History
from committee.records.tree import LEAF, Tree
from committee.tabular.schema import Columns
from committee.tabular.validation import read_table, read_training_table, read_weights
from committee.tree_engine.memory_guard import reject_too_many_trees
from committee.tree_engine.predict.apply import apply_tree
from committee.tree_engine.predict.forest import add_predictions, pack_forest
from committee.trees.decision_tree import BaseDecisionTree
from committee.trees.training import EXACT_ROWS

if TYPE_CHECKING:
    from committee.ensemble.oob import OutOfBag
    from committee.forests.random_forest import Ground, Member
    from committee.sampling.row_samples import Sampler
    from committee.tree_engine.response import Response

MaxFeatures = int | float | Literal["sqrt", "log2"] | None
MAX_FEATURES = (at_least(1), count_fraction, one_of("sqrt", "log2"), None)


class Record(NamedTuple):
    """What one tree measured; the error is that of all trees so far on the rows they did not see."""

    tree: int
    n_leaves: int
    oob_error: float


class SeveralTargetsError(ValueError, AttributeError):
    """A forest per target has no trees of its own; `hasattr` and `dir` take the attribute for one that is not there."""


class BaseForest(Estimator):
    """A forest of trees; a subclass reads the target and turns means over trees into answers.

    Fitted attributes: ``estimators_`` (the trees as estimators), ``trees_``, ``history_`` (one row per tree),
    ``packed_`` (the prediction-only form: 20 bytes a node, leaf distributions apart), ``oob_error_`` and ``oob_score_``
    where rows were out of bag, ``stop_reason_``, ``feature_importances_``.
    """

    n_estimators: int | Literal["auto"] = param(at_least(1), one_of("auto"), default=100, kw_only=False)
    criterion: Any = fitted()
    bootstrap: Any = fitted()
    max_depth: int | None = param(at_least(1), None, default=None)
    min_samples_split: int | float = param(at_least(2), count_fraction, default=2)
    min_samples_leaf: int | float = param(at_least(1), Interval(RealNotInt, 0.0, 1.0, closed="neither"), default=1)
    min_weight_fraction_leaf: float = param(between(0.0, 0.5), default=0.0)
    max_features: MaxFeatures = param(*MAX_FEATURES, default="sqrt")
    max_leaf_nodes: int | None = param(at_least(2), None, default=None)
    min_impurity_decrease: float = param(non_negative, default=0.0)
    oob_score: bool | str | Callable[..., float] = param("boolean", one_of("auto"), str, callable, default="auto")
    n_jobs: int | None = param(*N_JOBS, default=None)
    random_state: RandomState = param(*RANDOM_STATE, default=None)
    verbose: int = param("verbose", default=0)
    warm_start: bool = param("boolean", default=False)
    ccp_alpha: float = param(non_negative, default=0.0)
    max_samples: int | float | None = param(at_least(1), count_fraction, None, default=None)
    monotonic_cst: Any = param("array-like", dict, None, default=None)
    interaction_cst: Any = param(list, tuple, one_of("pairwise", "no_interactions"), None, default=None)
    categorical_features: Any = param("array-like", one_of("from_dtype"), None, default="from_dtype")
    splitter: Literal["auto", "best", "binned"] = param(one_of("auto", "best", "binned"), default="auto")
    max_bins: int = param(Interval(Integral, 2, 255, closed="both"), default=255)
    tol: float = param(non_negative, default=0.005)
    keep_leaf_samples: bool = param("boolean", default=False)
    tune: Literal["oob"] | None = param(one_of("oob"), None, default=None)
    columns_: Columns = fitted()
    trees_: list[Tree] = fitted()
    _is_random: ClassVar[bool] = False  # cuts drawn at random (extra-trees)
    _tree_class: ClassVar[type[BaseDecisionTree]]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    # --- what a subclass chooses --------------------------------------------------------------------------------------

    def _read_target(self, y: Any, n_rows: int) -> tuple[dict[str, Any], NDArray[Any]]:
        """Fitted attributes that describe the target, and the target as numbers."""
        raise NotImplementedError

    def _respond(self, target: NDArray[Any], weight: Floats) -> Response:
        raise NotImplementedError

    def _reweigh(self, rows: Rows) -> Callable[[Floats], Floats]:
        """Class weights on top of those of a sample."""
        return lambda sample: sample

    def _tally(self, target: NDArray[Any], weight: Floats) -> OutOfBag:
        raise NotImplementedError

    def _keep_out_of_bag(self, tally: OutOfBag, rows: Rows) -> None:
        """Attributes read off the out-of-bag answers; `rows` are the places where rows have copies."""
        raise NotImplementedError

    # --- fitting ------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Grow the forest.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            NumPy array, pandas, polars or Arrow table. Missing values are taken as they are.
        y : targets of shape (n_samples,), or (n_samples, n_outputs) for a forest per output
        sample_weight : weights of shape (n_samples,), optional
            A whole weight counts as so many equal rows, in the bootstrap too.
        """
        self._validate_params()
        with all_or_nothing(self):
            if _n_outputs(y) > 1:
                self._forget_trees()
                self._fit_outputs(X, y, sample_weight)
                return self
            self._forget()
            rows = self._read(X, y, sample_weight)
            self._grow(rows)
        return self

    def _read(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        columns, table = read_training_table(
            self, X, categorical_features=self.categorical_features, sample_weight=sample_weight
        )
        is_warm = self.warm_start and hasattr(self, "trees_")
        if is_warm and columns != self.columns_:
            raise ValueError(
                f"warm_start=True goes on with the same table: the {self.columns_.n_features} columns of the earlier "
                f"fit and the {columns.n_features} of X differ."
            )
        described, target = self._read_target(y, len(table))
        weight = read_weights(sample_weight, len(table))
        for name, value in described.items():
            setattr(self, name, value)
        self.columns_ = columns
        self.n_outputs_ = 1
        if not is_warm:
            self._seed = int(member_seeds(self.random_state, 1)[0])
        return Rows(table, target, np.ones(len(table)) if weight is None else weight)

    def _grow(self, rows: Rows) -> None:
        from committee.forests._sampling import make_sampler
        from committee.forests.random_forest import random_forest

        sampler = make_sampler(rows.X, rows.target, rows.weight, self.bootstrap, self.max_samples)
        is_judged = self._is_judged(sampler)
        past = self._past(rows, sampler, is_judged)
        n_wanted = MAX_TREES if self.n_estimators == "auto" else int(self.n_estimators)
        if n_wanted < len(past.trees):
            raise ValueError(
                f"n_estimators={n_wanted} must be larger or equal to the {len(past.trees)} trees that are there "
                "already when warm_start=True."
            )
        seeds = self._seeds(n_wanted)
        ground = self._tune(self._ground(rows), sampler, rows)
        new = seeds[len(past.trees) :]
        members = random_forest(ground, sampler, new, is_judged, self.n_jobs)
        self._collect(members, past, n_wanted, is_judged)
        self._sampler, self._member_seeds, self._data_fingerprint = (
            sampler,
            seeds[: len(self.trees_)],
            self._fingerprint(rows),
        )
        if is_judged:
            self._summarise(past.tally, rows)

    def _tune(self, ground: Ground, sampler: Sampler, rows: Rows) -> Ground:
        """The ground with the features of a node and the size of a leaf that the out-of-bag error chooses."""
        if self.tune is None:
            return ground
        from committee.forests._tuning import TRIAL_TREES, tune_by_out_of_bag

        if sampler.kind == "all":
            raise ValueError("tune='oob' needs rows out of bag: bootstrap=True, or max_samples below 1.")
        if not (self.warm_start and hasattr(self, "tuned_")):
            self.tuned_ = tune_by_out_of_bag(
                ground, sampler, lambda: self._tally(*rows[1:]), self._seeds(TRIAL_TREES), self.n_jobs
            )
        return ground._replace(params={**ground.params, **self._chosen()})

    def _is_judged(self, sampler: Sampler) -> bool:
        """Are there out-of-bag rows, and are they wanted?"""
        is_possible = sampler.kind != "all"
        is_asked = self.oob_score is not False and self.oob_score != "auto"
        check_score(self.oob_score)
        if is_asked and not is_possible:
            raise ValueError("Out of bag estimation only available if bootstrap=True, or with max_samples below 1.")
        if self.n_estimators == "auto" and not is_possible:
            raise ValueError(
                "n_estimators='auto' waits for the out-of-bag error to settle: it needs bootstrap=True, or max_samples "
                "below 1."
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
        """The parameters of trees that tune="oob" found."""
        tuned: Any = getattr(self, "tuned_", None)
        if self.tune is None or tuned is None:
            return {}
        return {"max_features": tuned.max_features, "min_samples_leaf": tuned.min_samples_leaf}

    def _ground(self, rows: Rows) -> Ground:
        from committee.forests.random_forest import Ground
        from committee.tree_engine.binning import BinMapper
        from committee.tree_engine.limits import tree_constraints

        is_binned = self.splitter == "binned" or (
            self.splitter == "auto" and len(rows.X) > EXACT_ROWS and not self._is_random
        )
        has_weights = bool(np.any(rows.weight != rows.weight[0]))
        matrix = BinMapper(self.max_bins if is_binned else None).fit_transform(
            rows.X, rows.weight if has_weights else None, self.columns_.is_categorical, self.n_jobs
        )
        constraints = tree_constraints(self.monotonic_cst, self.interaction_cst, self.columns_)
        target = rows.target
        return Ground(
            matrix, np.ascontiguousarray(rows.X), lambda weight: self._respond(target, weight), self._reweigh(rows),
            self._tree_params(), constraints,
        )  # fmt: skip

    def _past(self, rows: Rows, sampler: Sampler, is_judged: bool) -> Past:
        """From the first tree, or on from the last one of an earlier fit."""
        from committee.forests._sampling import out_of_bag_leaves

        tally = self._tally(*rows[1:])
        if not (self.warm_start and hasattr(self, "trees_")):
            return Past([], [], tally, [])
        n_before = kept_from_fit(self, "_sampler").weight.size
        if n_before != len(rows.X):
            raise ValueError(
                f"warm_start=True goes on with the same rows: the earlier fit had {n_before}, X has {len(rows.X)}."
            )
        if self._fingerprint(rows) != kept_from_fit(self, "_data_fingerprint"):
            raise ValueError(
                "warm_start=True goes on with the same rows and samples: X, y, the weights, bootstrap or max_samples "
                "are others than in the earlier fit. Fit a new forest, or set warm_start=False."
            )
        leaves = list(self._leaves_kept) if self.keep_leaf_samples else []
        for t, tree in enumerate(self.trees_):
            if is_judged:
                unseen, leaf = out_of_bag_leaves(sampler, self._member_seeds[t], tree, rows.X)
                tally.add(unseen, tree.value[leaf])
            if self.keep_leaf_samples and len(leaves) == t:  # not asked for when this tree was grown
                is_seen = self._sampler.weights(self._member_seeds[t]) > 0.0
                leaves.append(np.where(is_seen, apply_tree(tree, rows.X), -1).astype(np.int32))
        return Past(list(self.trees_), list(self._records), tally, leaves)

    def _fingerprint(self, rows: Rows) -> tuple[Any, ...]:
        """What a warm start must find again, else the old trees are judged on rows that they learned from."""
        some = rows.X[:: max(1, len(rows.X) // 1000)]  # all of a large table would take time
        columns = (np.asarray(column, np.float64) + 0.0 for column in some.T)  # one zero, whatever its sign
        codes = [crc32(np.ascontiguousarray(array).tobytes()) for array in (rows.target, rows.weight, *columns)]
        return (rows.X.shape, tuple(codes), self.bootstrap, self.max_samples)

    def _collect(self, members: Iterator[Member], past: Past, n_wanted: int, is_judged: bool) -> None:
        trees, records = past.trees, past.records
        curve = [record.oob_error for record in records]
        reason = "all trees were grown"
        with progress(type(self).__name__, n_wanted - len(trees), self.verbose) as tick:
            for member in members:
                error = past.tally.add(member.out_of_bag, member.predictions) if is_judged else np.nan
                trees.append(member.tree)
                if self.keep_leaf_samples:
                    past.leaves.append(member.leaf.astype(np.int32))
                curve.append(error)
                records.append(Record(len(trees), member.tree.n_leaves, error))
                tick(f"out-of-bag error {error:.4g}" if is_judged else "")
                if len(trees) == 1:
                    reject_too_many_trees(member.tree, n_wanted if self.n_estimators != "auto" else 1)
                if self.n_estimators == "auto" and has_settled(curve, self.tol):
                    reason = f"the out-of-bag error settled after {len(trees)} trees"
                    break
        self.trees_, self._records, self.stop_reason_ = trees, records, reason
        self.history_ = History.from_records(records)
        self._leaves_kept = past.leaves
        self.packed_ = pack_forest(trees)

    def _summarise(self, tally: OutOfBag, rows: Rows) -> None:
        n_unjudged = int(np.sum(~tally.has_prediction & (rows.weight > 0.0)))
        if n_unjudged and self.oob_score is not False and self.oob_score != "auto":
            warnings.warn(
                f"{n_unjudged} rows were in the sample of every tree and have no out-of-bag answer (nan): grow more "
                "trees.", UserWarning, stacklevel=level_of_caller(),
            )  # fmt: skip
        self.oob_error_ = tally.error
        self._keep_out_of_bag(tally, rows)

    # --- several outputs ----------------------------------------------------------------------------------------------

    def _fit_outputs(self, X: Any, y: Any, sample_weight: Any) -> None:
        """A forest per output: each of its trees is as good for its output as a tree can be."""
        columns = _columns_of(y)
        self._check_outputs(len(columns))
        seed = int(member_seeds(self.random_state, 1)[0] >> np.uint64(33))
        self.output_forests_: list[Any] = [
            self._copy(seed, k).fit(X, column, sample_weight) for k, column in enumerate(columns)
        ]
        self.n_outputs_ = len(self.output_forests_)
        first = self.output_forests_[0]
        self.columns_, self.n_features_in_ = first.columns_, first.n_features_in_
        if hasattr(first, "feature_names_in_"):
            self.feature_names_in_ = first.feature_names_in_
        if hasattr(first, "classes_"):
            self.classes_ = [output.classes_ for output in self.output_forests_]
            self.n_classes_ = [output.n_classes_ for output in self.output_forests_]
        if hasattr(first, "oob_score_"):
            self.oob_score_, self.oob_error_ = (
                float(np.mean([getattr(output, name) for output in self.output_forests_]))
                for name in ("oob_score_", "oob_error_")
            )
        if hasattr(first, "oob_prediction_"):
            self.oob_prediction_ = np.column_stack([output.oob_prediction_ for output in self.output_forests_])
        if hasattr(first, "oob_decision_function_"):
            self.oob_decision_function_ = _side_by_side(
                [output.oob_decision_function_ for output in self.output_forests_]
            )

    def _copy(self, seed: int, k: int) -> Any:
        """The forest of output k."""
        forest: Any = clone(self)
        return forest.set_params(random_state=seed, warm_start=False, **self._params_of_output(k))

    def _check_outputs(self, n_outputs: int) -> None:
        """Refuse parameters for another number of outputs."""

    def _params_of_output(self, k: int) -> dict[str, Any]:
        """Parameters that outputs have each for themselves."""
        return {}

    def _forget(self) -> None:
        """What an earlier fit left and this one may not set."""
        left = (
            "output_forests_", "calibration_", "oob_error_", "oob_score_", "oob_decision_function_", "oob_prediction_",
            "_residuals", "_calibrated",
        )  # fmt: skip
        for name in left if self.warm_start else (*left, "tuned_"):
            vars(self).pop(name, None)

    def _forget_trees(self) -> None:
        """All that a fit on one target left: a forest per output has its own."""
        for name in set(vars(self)) - set(self.get_params(deep=False)) - {"_metadata_request"}:
            del vars(self)[name]

    # --- what a fitted forest answers ---------------------------------------------------------------------------------

    def _need_trees(self) -> None:
        """Refuse what a forest not fitted cannot answer, and one with a forest per output."""
        if hasattr(self, "output_forests_"):
            raise SeveralTargetsError(
                "The forest has several targets, each with trees of its own: ask forest.output_forests_[k]."
            )
        check_is_fitted(self, "trees_")

    def _mean_predictions(self, X: Any) -> Floats:
        """Mean over the trees of what the leaves of each row answer [n, k]."""
        check_is_fitted(self, "trees_")
        table = read_table(self, X)
        total = np.zeros((len(table), self.trees_[0].value.shape[1]))
        add_predictions(self.packed_, table, total, self.n_jobs)
        return total / len(self.trees_)

    def _staged_means(self, X: Any) -> Iterator[Floats]:
        self._need_trees()
        table = read_table(self, X)
        total = np.zeros((len(table), self.trees_[0].value.shape[1]))
        for t, tree in enumerate(self.trees_, 1):
            total += tree.value[apply_tree(tree, table, self.n_jobs)]
            yield total / t

    def member_predictions(self, X: Any) -> Floats:
        """What every tree answers: class shares or means, (n_trees, n_samples, k)."""
        self._need_trees()
        table = read_table(self, X)
        return np.stack([tree.value[apply_tree(tree, table, self.n_jobs)] for tree in self.trees_])

    def apply(self, X: Any) -> NDArray[np.int64]:
        """Number of the leaf each row ends in, for every tree: (n_samples, n_trees).

        Of several targets the trees of the first one come first, then those of the second, and so on.
        """
        if hasattr(self, "output_forests_"):
            return np.hstack([output.apply(X) for output in self.output_forests_])
        self._need_trees()
        table = read_table(self, X)
        return np.stack([apply_tree(tree, table, self.n_jobs) for tree in self.trees_], axis=1)

    def decision_path(self, X: Any) -> tuple[sparse.csr_matrix, NDArray[np.int64]]:
        """Indicator matrix (n_samples, n_nodes) of the nodes each row passes, and where each tree's nodes begin."""
        from committee.tree_engine.predict.apply import decision_path

        self._need_trees()
        table = read_table(self, X)
        paths = [decision_path(tree, table, self.n_jobs) for tree in self.trees_]
        begins = np.cumsum([0, *(tree.n_nodes for tree in self.trees_)])
        return sparse.csr_matrix(sparse.hstack(paths)), begins

    @property
    def estimators_(self) -> list[Any]:
        """The trees as estimators of their own; of several targets those of the first one first, as in `apply`."""
        if hasattr(self, "output_forests_"):
            return [tree for output in self.output_forests_ for tree in output.estimators_]
        self._need_trees()
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
        """The rows of each tree's sample, repeated as often as they were drawn."""
        self._need_trees()
        return [
            np.repeat(np.arange(sample.size), np.rint(np.maximum(sample, sample > 0.0)).astype(np.int64))
            for sample in map(kept_from_fit(self, "_sampler").weights, self._member_seeds)
        ]

    def oob_indices(self, t: int) -> NDArray[np.int64]:
        """The rows that tree t did not learn from."""
        self._need_trees()
        sampler = kept_from_fit(self, "_sampler")
        return sampler.out_of_bag(sampler.weights(self._member_seeds[t]))

    def to_tree_sum(self) -> TreeSum:
        """The mean over the trees as a sum, for explanations: a column per class, or one; before any calibration."""
        self._need_trees()
        k, n = int(getattr(self, "n_classes_", 1)), len(self.trees_)
        trees = tuple(tree._replace(value=tree.value[:, :k]) for tree in self.trees_)  # of one class trees have two
        return TreeSum(trees, np.full(n, -1, np.int64), np.full(n, 1.0 / n), np.zeros(k))

    def __len__(self) -> int:
        """Number of trees."""
        self._need_trees()
        return len(self.trees_)

    def __getitem__(self, index: int) -> Any:
        """One tree as an estimator of its own."""
        self._need_trees()
        return self._as_estimator(self.trees_[index])

    def __iter__(self) -> Iterator[Any]:
        self._need_trees()
        return iter(self.estimators_)

    @property
    def feature_importances_(self) -> Floats:
        """Impurity falls of each feature's splits as shares of one, averaged over the trees."""
        if hasattr(self, "output_forests_"):
            return np.mean([output.feature_importances_ for output in self.output_forests_], axis=0)
        check_is_fitted(self, "trees_")
        d = self.columns_.n_features
        shares = np.zeros(d)
        for tree in self.trees_:
            inner = tree.feature != LEAF
            decreases = np.bincount(tree.feature[inner], tree.gain[inner], minlength=d)
            shares += decreases / decreases.sum() if decreases.sum() > 0.0 else 0.0
        return shares / shares.sum() if shares.sum() > 0.0 else shares

    def __getstate__(self) -> dict[str, Any]:
        """Without the prediction form, which is made of the trees again, unless there is no other."""
        state: Mapping[str, Any] = super().__getstate__()  # type: ignore[misc]
        is_whole = isinstance(state.get("trees_", []), list)
        return {name: value for name, value in state.items() if name != "packed_" or not is_whole}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)  # type: ignore[misc]
        if "trees_" in vars(self) and "packed_" not in vars(self):
            self.packed_ = pack_forest(self.trees_)


class Rows(NamedTuple):
    """Training rows as numbers."""

    X: NDArray[np.floating]
    target: NDArray[Any]
    weight: Floats


class Past(NamedTuple):
    """What a warm start goes on from."""

    trees: list[Tree]
    records: list[Record]
    tally: OutOfBag
    leaves: list[NDArray[np.int32]]


def _n_outputs(y: Any) -> int:
    shape = getattr(y, "shape", None)
    if shape is None and isinstance(y, list | tuple) and len(y) and isinstance(y[0], list | tuple | np.ndarray):
        # Lists of different lengths are refused where the target is read
        shape = (len(y), len(y[0])) if all(np.size(row) == len(y[0]) for row in y) else None
    if sparse.issparse(y):
        raise TypeError("y is a sparse matrix: pass a dense one, y.toarray().")
    if shape is not None and len(shape) == 2 and shape[1] == 0:
        raise ValueError("y has no column: pass one target per row.")
    return int(shape[1]) if shape is not None and len(shape) == 2 else 1


def _side_by_side(shares: list[Floats]) -> Any:
    """Class shares of several outputs as scikit-learn has them: [n, K, outputs]; a list where K differs."""
    return np.stack(shares, axis=2) if len({share.shape[1] for share in shares}) == 1 else shares


def _columns_of(y: Any) -> list[Any]:
    names = getattr(y, "column_names", getattr(y, "columns", None))  # of an Arrow table, of other frames
    if names is None:
        return list(np.asarray(y).T)
    if len(set(names)) < len(names):
        raise ValueError(f"Two columns of y have the same name: rename one. They are {list(names)[:8]}.")
    return [y[name] for name in names]
