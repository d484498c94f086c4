"""The decision stump sgn(x_j - tau): the weak learner of boosting (A-1)."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from committee.base.parameters import fixed, one_of, param
from committee.base.rng import RandomState
from committee.records.tree import Tree
from committee.tabular.schema import Columns
from committee.trees.decision_tree import (
    DecisionTreeClassifier,
    InteractionConstraints,
    MaxFeatures,
    MonotonicConstraints,
)


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

    splitter: Any = param(one_of("auto", "best", "binned"), default="auto")
    criterion: Any = fixed("edge")
    max_depth: int | None = fixed(1)
    min_samples_split: int | float = fixed(2)
    max_features: MaxFeatures = fixed(None)
    random_state: RandomState = fixed(None)
    max_leaf_nodes: int | None = fixed(None)
    min_impurity_decrease: float = fixed(0.0)
    ccp_alpha: float | Literal["cv"] = fixed(0.0)
    monotonic_cst: MonotonicConstraints = fixed(None)
    interaction_cst: InteractionConstraints = fixed(None)
    cv: Any = fixed(10)

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
        predictions = tree.value.argmax(axis=1)
        self.polarity_ = int(np.sign(predictions[2] - predictions[1])) if is_split else 0
        return self
