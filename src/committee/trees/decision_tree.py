"""CART: classification and regression trees (Breiman, Friedman, Olshen and Stone 1984)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import ClassifierMixin, RegressorMixin, is_classifier
from sklearn.utils import Bunch
from sklearn.utils._param_validation import Interval, RealNotInt
from sklearn.utils.validation import check_is_fitted

from committee.base.parameters import (
    CATEGORICAL_FEATURES,
    CLASS_WEIGHT,
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
from committee.base.rng import RandomState
from committee.base.transaction import all_or_nothing
from committee.calibration.prediction_intervals import PredictionIntervals
from committee.records.tree import Tree
from committee.sampling.splits import read_splits
from committee.tabular.class_weight import class_weights
from committee.tabular.schema import Columns
from committee.tabular.validation import (
    read_one_target,
    read_table,
    read_targets_classification,
    read_training_table,
    read_weights,
)
from committee.tree_engine.limits import resolve_max_features
from committee.tree_engine.predict.apply import decision_path
from committee.tree_engine.response import WEIGHT_BITS, Response, class_response, value_response
from committee.trees._sklearn_view import TreeView
from committee.trees.pruning import PruningCurve, cross_validate, prune, pruning_path
from committee.trees.training import Training

CategoricalFeatures = Sequence[int] | Sequence[str] | Sequence[bool] | Literal["from_dtype"] | None
InteractionConstraints = Sequence[Iterable[int | str]] | Literal["pairwise", "no_interactions"] | None
MonotonicConstraints = ArrayLike | Mapping[str, int] | None
Splitter = Literal["auto", "best", "random", "binned"]
MaxFeatures = int | float | Literal["sqrt", "log2"] | None


class BaseDecisionTree(Estimator):
    """What classification and regression trees share."""

    _loss: ClassVar[str]  # by which cross-validation evaluates pruned trees

    criterion: Any = fitted()
    splitter: Splitter = param(one_of("auto", "best", "random", "binned"), default="auto")
    max_depth: int | None = param(at_least(1), None, default=None)
    min_samples_split: int | float = param(at_least(2), count_fraction, default=2)
    min_samples_leaf: int | float = param(at_least(1), Interval(RealNotInt, 0.0, 1.0, closed="neither"), default=1)
    min_weight_fraction_leaf: float = param(between(0.0, 0.5), default=0.0)
    max_features: MaxFeatures = param(at_least(1), count_fraction, one_of("sqrt", "log2"), None, default=None)
    random_state: RandomState = param(*RANDOM_STATE, default=None)
    max_leaf_nodes: int | None = param(at_least(2), None, default=None)
    min_impurity_decrease: float = param(non_negative, default=0.0)
    ccp_alpha: float | Literal["cv"] = param(non_negative, one_of("cv"), default=0.0)
    monotonic_cst: MonotonicConstraints = param("array-like", dict, None, default=None)
    interaction_cst: InteractionConstraints = param(
        list, tuple, one_of("pairwise", "no_interactions"), None, default=None
    )
    categorical_features: CategoricalFeatures = param(*CATEGORICAL_FEATURES, default="from_dtype")
    max_bins: int = param(Interval(Integral, 2, 255, closed="both"), default=255)
    cv: Any = param("cv_object", default=10)
    n_jobs: int | None = param(*N_JOBS, default=None)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    # --- fitting ------------------------------------------------------------------------------------------------------

    def _read_target(self, y: Any, n_rows: int) -> tuple[dict[str, Any], NDArray[Any]]:
        """Fitted attributes that describe the target, and the target as numbers."""
        raise NotImplementedError

    def make_response(
        self, target: NDArray[Any], weight: NDArray[np.float64], weight_bits: int | None = None
    ) -> Response:
        raise NotImplementedError

    def tree_params(self) -> dict[str, Any]:
        """Every parameter of growth, those a subclass fixes included."""
        return self.get_params(deep=False)

    def _class_weight(
        self, described: dict[str, Any], target: NDArray[Any], weight: NDArray[np.float64] | None
    ) -> NDArray[np.float64] | None:
        """A factor for the weight of every row, None without any."""
        return None

    def _prediction(self, tree: Tree) -> NDArray[np.float64]:
        """The single number by which each node predicts."""
        raise NotImplementedError

    def _read(self, X: Any, y: Any, sample_weight: Any) -> tuple[Training, dict[str, Any]]:
        columns, table = read_training_table(
            self, X, categorical_features=self.categorical_features, sample_weight=sample_weight
        )
        described, target = self._read_target(y, len(table))
        weight = read_weights(sample_weight, len(table))
        class_weight = self._class_weight(described, target, weight)
        if class_weight is not None:
            weight = read_weights(class_weight if weight is None else weight * class_weight, len(table), "class_weight")
        return Training(self, columns, table, target, np.ones(len(table)) if weight is None else weight), described

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            NumPy array, pandas, polars or Arrow table. Missing values are taken as they are.
        y : targets of shape (n_samples,)
        sample_weight : weights of shape (n_samples,), optional
            A whole weight counts as so many equal rows; rows of weight zero count for nothing.
        """
        self._validate_params()
        with all_or_nothing(self):
            training, described = self._read(X, y, sample_weight)
            tree = training.grow(training.weight)
            curve = None
            if self.ccp_alpha == "cv":
                tree, curve = self._prune_by_cv(tree, training)
            elif self.ccp_alpha > 0.0:
                tree = prune(tree, float(self.ccp_alpha))
            self._store(tree, curve, training, described)
        return self

    def _prune_by_cv(self, tree: Tree, training: Training) -> tuple[Tree, PruningCurve]:
        if np.count_nonzero(training.weight) < 2:
            raise ValueError("ccp_alpha='cv' needs at least two rows of positive weight; got n_samples = 1.")
        splits = read_splits(
            self.cv, training.X, training.target, training.weight, is_class=is_classifier(self), seed=training.seed,
            equal_rows="apart",
        )  # fmt: skip
        path = pruning_path(tree)
        curve = cross_validate(
            path,
            training.X,
            np.asarray(training.target, np.float64),
            training.weight,
            splits,
            training.grow_on,
            self._prediction,
            self._loss_name(),
        )
        return prune(tree, float(curve.alpha[curve.chosen])), curve

    def _loss_name(self) -> str:
        return self._loss

    def _store(self, tree: Tree, curve: PruningCurve | None, training: Training, described: dict[str, Any]) -> None:
        self.adopt(tree, training.columns, described)
        self.has_missing_ = np.isnan(training.X).any(axis=0)
        if curve is not None:
            self.pruning_ = curve
        elif hasattr(self, "pruning_"):
            del self.pruning_

    def adopt(self, tree: Tree, columns: Columns, described: dict[str, Any]) -> Self:
        """Become the estimator of a tree that was grown elsewhere; `described` holds the attributes of its target."""
        for name, value in described.items():
            setattr(self, name, value)
        self.columns_ = columns
        self.max_features_ = resolve_max_features(self.max_features, columns.n_features)
        self.n_outputs_ = 1
        self.tree_ = TreeView(tree, columns.n_features, hasattr(self, "classes_"))
        return self

    # --- what a fitted tree answers -----------------------------------------------------------------------------------

    def _leaves(self, X: Any) -> NDArray[np.int64]:
        check_is_fitted(self, "tree_")
        return self.tree_.apply(read_table(self, X), self.n_jobs)

    def apply(self, X: Any) -> NDArray[np.int64]:
        """Number of the leaf each row ends in."""
        return self._leaves(X)

    def decision_path(self, X: Any) -> sparse.csr_matrix:
        """Indicator matrix (n_samples, n_nodes) of the nodes each row passes through."""
        check_is_fitted(self, "tree_")
        return decision_path(self.tree_.arrays, read_table(self, X), self.n_jobs)

    def get_depth(self) -> int:
        """Depth of the tree; a single leaf has depth 0."""
        check_is_fitted(self, "tree_")
        return self.tree_.max_depth

    def get_n_leaves(self) -> int:
        """Number of leaves."""
        check_is_fitted(self, "tree_")
        return self.tree_.n_leaves

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Impurity falls at each feature's splits, as shares of one."""
        check_is_fitted(self, "tree_")
        return self.tree_.compute_feature_importances()

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Bunch:
        """Alphas at which minimal cost-complexity pruning removes a split, and the impurity of the tree then."""
        self._validate_params()
        training, _ = copy(self)._read(X, y, sample_weight)  # a fitted tree stays as it is
        path = pruning_path(training.grow(training.weight))
        return Bunch(ccp_alphas=path.alpha, impurities=path.impurity)


TREE_CONSTRAINTS = BaseDecisionTree._parameter_constraints  # pyright: ignore[reportPrivateUsage]


class DecisionTreeClassifier(ClassifierMixin, BaseDecisionTree):
    """Classification tree: CART with missing values, categories, constraints, pruning by cross-validation (A-3, A-4).

    Parameters have scikit-learn's names and meanings; these are new:

    splitter : {"auto", "best", "random", "binned"}
        "best" tries every distinct value, "binned" the edges of at most `max_bins` quantile bins, "auto" chooses
        "best" up to 100,000 rows; "random" draws one threshold per feature.
    criterion : {"gini", "entropy", "log_loss", "z"}
        "z" is the normaliser sqrt(W+ W-) of confidence-rated boosting (two classes).
    ccp_alpha : float or "cv"
        "cv" chooses the cost-complexity by `cv`-fold cross-validation with the one-standard-error rule and keeps the
        curve in ``pruning_``.
    monotonic_cst : -1, 0 or 1 per feature, or a dict by name; two classes only, on the probability of the second.
    interaction_cst : groups of features that may meet on a path, "pairwise" or "no_interactions".
    categorical_features : "from_dtype", a list of names or indices, a mask, or None.

    Examples
    --------
    >>> from committee import DecisionTreeClassifier
    >>> from committee.datasets import load_dataset
    >>> glass = load_dataset("glass")
    >>> tree = DecisionTreeClassifier(max_leaf_nodes=8).fit(glass.X, glass.y)
    >>> round(tree.score(glass.X, glass.y), 3)
    0.771
    """

    criterion: Literal["gini", "entropy", "log_loss", "z"] = param(
        one_of("gini", "entropy", "log_loss", "z"), default="gini"
    )
    class_weight: Mapping[Any, float] | Literal["balanced"] | None = param(*CLASS_WEIGHT, default=None)

    classes_: NDArray[Any] = fitted()

    _loss: ClassVar[str] = "zero_one"

    def _read_target(self, y: Any, n_rows: int) -> tuple[dict[str, Any], NDArray[Any]]:
        classes, codes = read_targets_classification(y, n_rows)
        if self.monotonic_cst is not None and len(classes) > 2:
            raise ValueError(
                "Monotonicity constraints are not supported with multiclass classification: they are about the "
                "probability of the second of two classes."
            )
        if self.criterion == "z" and len(classes) > 2:
            raise ValueError(f"criterion='z' is for two classes, y has {len(classes)}: use 'gini' or 'entropy'.")
        return {"classes_": classes, "n_classes_": len(classes)}, codes

    def make_response(
        self, target: NDArray[Any], weight: NDArray[np.float64], weight_bits: int | None = None
    ) -> Response:
        return class_response(target, int(target.max()) + 1, weight, self.criterion, weight_bits or WEIGHT_BITS)

    def _class_weight(
        self, described: dict[str, Any], target: NDArray[Any], weight: NDArray[np.float64] | None
    ) -> NDArray[np.float64] | None:
        if self.class_weight is None:
            return None
        return class_weights(self.class_weight, target, described["classes_"], weight)[target]

    def _prediction(self, tree: Tree) -> NDArray[np.float64]:
        return tree.value.argmax(axis=1).astype(np.float64)

    def predict(self, X: Any) -> NDArray[Any]:
        """The most frequent class of the leaf each row ends in."""
        leaves = self._leaves(X)
        return self.classes_[self.tree_.predictions[leaves]]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Shares of the classes, in the order of ``classes_``, in the leaf each row ends in."""
        leaves = self._leaves(X)
        return self.tree_.arrays.value[leaves]

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithms of `predict_proba`; minus infinity for a class the leaf does not have."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


class DecisionTreeRegressor(RegressorMixin, PredictionIntervals, BaseDecisionTree):
    """Regression tree: CART with missing values, categories, constraints and pruning by cross-validation (A-3, A-4).

    Parameters have scikit-learn's names and meanings; `DecisionTreeClassifier` describes the new ones. criterion is
    "squared_error", "absolute_error" (leaves are medians) or "poisson"; "friedman_mse" orders splits exactly as
    "squared_error" does and is accepted as another name for it.

    Examples
    --------
    >>> from committee import DecisionTreeRegressor
    >>> from committee.datasets import load_dataset
    >>> ozone = load_dataset("ozone")
    >>> tree = DecisionTreeRegressor(ccp_alpha="cv", random_state=0).fit(ozone.X, ozone.y)
    >>> tree.get_n_leaves()
    5
    """

    criterion: Literal["squared_error", "friedman_mse", "absolute_error", "poisson"] = param(
        one_of("squared_error", "friedman_mse", "absolute_error", "poisson"), default="squared_error"
    )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self.criterion == "poisson"
        return tags

    def _read_target(self, y: Any, n_rows: int) -> tuple[dict[str, Any], NDArray[Any]]:
        target = read_one_target(y, n_rows, type(self).__name__)
        if self.criterion == "poisson" and (target.min() < 0 or not target.any()):
            raise ValueError("Some value(s) of y are negative, or all are zero: criterion='poisson' is for counts.")
        return {}, target

    def make_response(
        self, target: NDArray[Any], weight: NDArray[np.float64], weight_bits: int | None = None
    ) -> Response:
        criterion = "squared_error" if self.criterion == "friedman_mse" else self.criterion
        return value_response(target, weight, criterion)

    def _loss_name(self) -> str:
        return "squared_error" if self.criterion == "friedman_mse" else self.criterion

    def _prediction(self, tree: Tree) -> NDArray[np.float64]:
        return tree.value[:, 0].copy()

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Mean target (median for the absolute error) of the leaf each row ends in."""
        leaves = self._leaves(X)
        return self.tree_.arrays.value[leaves, 0]
