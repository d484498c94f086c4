"""The decision stump sgn(x_j - tau), the weak learner of boosting."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from committee.base.parameters import fitted, fixed, one_of, param
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
    """Decision tree of one split, the one of smallest weighted error, with either polarity.

    For two classes the stump is ``polarity_ * sgn(x[feature_] - threshold_)``. For K classes each side predicts its
    class of largest weight. `predict_proba` returns the class probabilities on the row's side.

    Examples
    --------
    >>> from committee import DecisionStump
    >>> stump = DecisionStump().fit([[1.0], [2.0], [3.0], [4.0]], [1, 1, -1, 1], sample_weight=[1, 1, 3, 1])
    >>> stump.threshold_, stump.polarity_, round(stump.error_, 3)
    (2.5, -1, 0.167)
    """

    splitter: Any = param(
        one_of("auto", "best", "binned"),
        default="auto",
        doc='"best" tries the cuts between all distinct values, "binned" those between at most `max_bins` quantile '
        'bins; "auto" is "best" up to 100,000 rows and "binned" beyond.',
    )
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

    edge_: float = fitted(doc="1 - 2 * error_.")
    error_: float = fitted(doc="Weighted training error.")
    feature_: int | None = fitted(doc="The split feature; None if a constant prediction has the smallest error.")
    polarity_: int = fitted(doc="Sign of the prediction to the right of the threshold; 0 for a constant prediction.")
    threshold_: float | None = fitted(doc="The threshold; None for a constant prediction or a categorical split.")

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
