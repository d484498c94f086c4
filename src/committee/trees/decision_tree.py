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
from committee.trees.pruning import PruningCurve, cross_validate, prune, pruning_path
from committee.trees.sklearn_view import TreeView
from committee.trees.training import Training

CategoricalFeatures = Sequence[int] | Sequence[str] | Sequence[bool] | Literal["from_dtype"] | None
InteractionConstraints = Sequence[Iterable[int | str]] | Literal["pairwise", "no_interactions"] | None
MonotonicConstraints = ArrayLike | Mapping[str, int] | None
Splitter = Literal["auto", "best", "random", "binned"]
MaxFeatures = int | float | Literal["sqrt", "log2"] | None


class BaseDecisionTree(Estimator):
    """Base class of classification and regression trees."""

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
    ccp_alpha: float | Literal["cv"] = param(
        non_negative,
        one_of("cv"),
        default=0.0,
        doc='Penalty per leaf of minimal cost-complexity pruning; 0 does not prune. "cv" chooses it by '
        "cross-validation with the one-standard-error rule.",
    )
    monotonic_cst: MonotonicConstraints = param("array-like", dict, None, default=None)
    interaction_cst: InteractionConstraints = param(
        list, tuple, one_of("pairwise", "no_interactions"), None, default=None
    )
    categorical_features: CategoricalFeatures = param(*CATEGORICAL_FEATURES, default="from_dtype")
    max_bins: int = param(Interval(Integral, 2, 255, closed="both"), default=255)
    cv: Any = param(
        "cv_object", default=10, doc='Folds for ccp_alpha="cv": their number, a splitter or pairs of index arrays.'
    )
    n_jobs: int | None = param(*N_JOBS, default=None)

    columns_: Columns = fitted()
    feature_names_in_: NDArray[Any] = fitted()
    has_missing_: NDArray[np.bool_] = fitted(doc="Whether each column of X had missing values in `fit`.")
    max_features_: int = fitted()
    n_features_in_: int = fitted()
    n_outputs_: int = fitted()
    pruning_: PruningCurve = fitted(doc='Errors of the pruned trees by cross-validation; set with ccp_alpha="cv".')
    tree_: TreeView = fitted(doc="The tree, with the attributes of scikit-learn's `tree_`.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    # --- fitting ------------------------------------------------------------------------------------------------------

    def _read_target(self, y: Any, n_rows: int) -> tuple[dict[str, Any], NDArray[Any]]:
        """Return fitted attributes that describe the target, and the encoded target."""
        raise NotImplementedError

    def make_response(
        self, target: NDArray[Any], weight: NDArray[np.float64], weight_bits: int | None = None
    ) -> Response:
        raise NotImplementedError

    def tree_params(self) -> dict[str, Any]:
        """Return every parameter of growth, including those that a subclass fixes."""
        return self.get_params(deep=False)

    def _class_weight(
        self, described: dict[str, Any], target: NDArray[Any], weight: NDArray[np.float64] | None
    ) -> NDArray[np.float64] | None:
        """Return a factor for the weight of every row, None without class weights."""
        return None

    def _prediction(self, tree: Tree) -> NDArray[np.float64]:
        """Return the prediction of each node: a class code or a value."""
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
            NumPy array, pandas, polars or Arrow table. Missing values need no imputation.
        y : array-like of shape (n_samples,)
            Class labels, or a continuous target.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows. An integer weight w is equivalent to repeating the row w times; a row of weight zero
            is ignored.

        Returns
        -------
        self : the fitted estimator
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
        self.has_missing_ = np.any(np.isnan(training.X), axis=0)
        if curve is not None:
            self.pruning_ = curve
        elif hasattr(self, "pruning_"):
            del self.pruning_

    def adopt(self, tree: Tree, columns: Columns, described: dict[str, Any]) -> Self:
        """Set the fitted attributes for a tree grown elsewhere; `described` holds those of its target."""
        for name, value in described.items():
            setattr(self, name, value)
        self.columns_ = columns
        self.max_features_ = resolve_max_features(self.max_features, columns.n_features)
        self.n_outputs_ = 1
        self.tree_ = TreeView(tree, columns.n_features, hasattr(self, "classes_"))
        return self

    # --- prediction and inspection -----------------------------------------------------------------------------------

    def _leaves(self, X: Any) -> NDArray[np.int64]:
        check_is_fitted(self, "tree_")
        return self.tree_.apply(read_table(self, X), self.n_jobs)

    def apply(self, X: Any) -> NDArray[np.int64]:
        """Return the number of the leaf that each row reaches."""
        return self._leaves(X)

    def decision_path(self, X: Any) -> sparse.csr_matrix:
        """Return the indicator matrix (n_samples, n_nodes) of the nodes that each row passes through."""
        check_is_fitted(self, "tree_")
        return decision_path(self.tree_.arrays, read_table(self, X), self.n_jobs)

    def get_depth(self) -> int:
        """Return the depth of the tree; a single leaf has depth 0."""
        check_is_fitted(self, "tree_")
        return self.tree_.max_depth

    def get_n_leaves(self) -> int:
        """Return the number of leaves."""
        check_is_fitted(self, "tree_")
        return self.tree_.n_leaves

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Impurity decreases at the splits of each feature, normalised to a sum of 1."""
        check_is_fitted(self, "tree_")
        return self.tree_.compute_feature_importances()

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Bunch:
        """Return the alphas at which minimal cost-complexity pruning removes splits, and the impurities of the trees.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.

        Returns
        -------
        path : Bunch
            With the arrays `ccp_alphas` and `impurities`.

        Examples
        --------
        >>> from committee import DecisionTreeClassifier
        >>> from committee.datasets import load_dataset
        >>> glass = load_dataset("glass")
        >>> path = DecisionTreeClassifier(max_leaf_nodes=4).cost_complexity_pruning_path(glass.X, glass.y)
        >>> path.ccp_alphas.round(3)
        array([0.   , 0.053, 0.075, 0.122])
        """
        self._validate_params()
        training, _ = copy(self)._read(X, y, sample_weight)  # a fitted tree stays as it is
        path = pruning_path(training.grow(training.weight))
        return Bunch(ccp_alphas=path.alpha, impurities=path.impurity)


class DecisionTreeClassifier(ClassifierMixin, BaseDecisionTree):
    """Classification tree (CART) with missing values, categories, constraints and pruning by cross-validation.

    Parameters have the names and meanings of scikit-learn's `DecisionTreeClassifier`; splits by sets of categories,
    `splitter="binned"`, `criterion="z"`, `ccp_alpha="cv"` and `interaction_cst` are additions.

    References
    ----------
    Breiman, Friedman, Olshen and Stone, Classification and regression trees, 1984.

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
        one_of("gini", "entropy", "log_loss", "z"),
        default="gini",
        doc='Impurity that the splits decrease; "log_loss" is "entropy", and "z" the normaliser sqrt(W+ W-) of '
        "confidence-rated boosting (two classes).",
    )
    class_weight: Mapping[Any, float] | Literal["balanced"] | None = param(*CLASS_WEIGHT, default=None)

    classes_: NDArray[Any] = fitted()
    n_classes_: int = fitted()

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
        """Predict the most frequent class of the leaf that each row reaches."""
        leaves = self._leaves(X)
        return self.classes_[self.tree_.predictions[leaves]]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the class probabilities, in the order of ``classes_``: fractions of the leaf that each row reaches."""
        leaves = self._leaves(X)
        return self.tree_.arrays.value[leaves]

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return logarithms of `predict_proba`; minus infinity for a class that the leaf does not have."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


class DecisionTreeRegressor(RegressorMixin, PredictionIntervals, BaseDecisionTree):
    """Regression tree (CART) with missing values, categories, constraints and pruning by cross-validation.

    Parameters have the names and meanings of scikit-learn's `DecisionTreeRegressor`; splits by sets of categories,
    `splitter="binned"`, `ccp_alpha="cv"` and `interaction_cst` are additions.

    References
    ----------
    Breiman, Friedman, Olshen and Stone, Classification and regression trees, 1984.

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
        one_of("squared_error", "friedman_mse", "absolute_error", "poisson"),
        default="squared_error",
        doc='Error that the splits decrease. Leaves predict means, medians with "absolute_error"; "friedman_mse" '
        'orders splits exactly as "squared_error" does and is another name for it.',
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
        """Predict the mean target (median for the absolute error) of the leaf that each row reaches."""
        leaves = self._leaves(X)
        return self.tree_.arrays.value[leaves, 0]
