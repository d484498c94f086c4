"""The decision stump sgn(x_j - tau): the weak learner of boosting (A-1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.utils._param_validation import StrOptions

from committee.records.tree import Tree
from committee.tabular.schema import Columns
from committee.trees.decision_tree import CategoricalFeatures, DecisionTreeClassifier


class DecisionStump(DecisionTreeClassifier):
    """One split that errs least under the sample weights, with either polarity.

    For two classes the stump is ``polarity_ * sgn(x[feature_] - threshold_)`` with weighted error ``error_`` and edge
    ``edge_`` = 1 - 2 * error (S0, S4); a polarity of 0 says that a constant answer errs least. For K classes each side
    answers with its heaviest class. `predict_proba` gives the shares of the classes on the row's side.

    Parameters
    ----------
    splitter : {"auto", "best", "binned"}, as in `DecisionTreeClassifier`
    min_samples_leaf, min_weight_fraction_leaf, class_weight, categorical_features, max_bins, n_jobs :
        as in `DecisionTreeClassifier`

    Examples
    --------
    >>> from committee import DecisionStump
    >>> stump = DecisionStump().fit([[1.0], [2.0], [3.0], [4.0]], [1, 1, -1, 1], sample_weight=[1, 1, 3, 1])
    >>> stump.threshold_, stump.polarity_, round(stump.error_, 3)
    (2.5, -1, 0.167)
    """

    criterion = "edge"
    max_features = None
    monotonic_cst = None
    ccp_alpha = 0.0

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{
            name: DecisionTreeClassifier._parameter_constraints[name]
            for name in (
                "min_samples_leaf",
                "min_weight_fraction_leaf",
                "class_weight",
                "categorical_features",
                "max_bins",
                "n_jobs",
            )
        },
        "splitter": [StrOptions({"auto", "best", "binned"})],
    }

    def __init__(
        self,
        *,
        splitter: Literal["auto", "best", "binned"] = "auto",
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        categorical_features: CategoricalFeatures = "from_dtype",
        max_bins: int = 255,
        n_jobs: int | None = None,
    ) -> None:
        self.splitter = splitter
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.max_bins = max_bins
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # a weak learner by design
        return tags

    def tree_params(self) -> dict[str, Any]:
        return {**DecisionTreeClassifier().get_params(), **self.get_params(deep=False), "max_depth": 1}

    def adopt(self, tree: Tree, columns: Columns, described: dict[str, Any]) -> Self:
        super().adopt(tree, columns, described)
        is_split = tree.n_nodes > 1
        self.feature_ = int(tree.feature[0]) if is_split else None
        is_numeric = is_split and tree.category_set[0] < 0
        self.threshold_ = float(tree.threshold[0]) if is_numeric else None
        leaves = tree.is_leaf
        self.error_ = float(np.sum(tree.weight[leaves] * (1.0 - tree.value[leaves].max(axis=1))) / tree.weight[0])
        self.edge_ = 1.0 - 2.0 * self.error_
        answers = tree.value.argmax(axis=1)
        self.polarity_ = int(np.sign(answers[2] - answers[1])) if is_split else 0
        return self
