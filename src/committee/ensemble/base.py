"""Base class of ensembles whose members are fitted by one base estimator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.validation import check_is_fitted

from committee.base.parameters import N_JOBS, Estimator, fitted, param
from committee.members.member import Member, TreeMember
from committee.tabular.schema import Columns
from committee.tabular.validation import read_table, reject_missing_cells
from committee.trees.decision_tree import BaseDecisionTree


def takes_missing(estimator: Any) -> bool:
    """Whether an estimator takes missing values: the trees of the library, and others by their tags."""
    if isinstance(estimator, BaseDecisionTree):
        return True
    tags: Any = estimator.__sklearn_tags__() if hasattr(estimator, "__sklearn_tags__") else None
    return bool(tags is not None and tags.input_tags.allow_nan)


class BaseEnsemble(Estimator):
    """Members fitted by `estimator`, or by a default of the class; a subclass sets ``members_``."""

    estimator: Any = param(HasMethods(["fit", "predict"]), None, default=None, kw_only=False)
    n_jobs: int | None = param(*N_JOBS, default=None)

    members_: list[Member] = fitted(
        doc="The fitted members in the internal form; `estimators_` returns them as estimators."
    )
    estimator_: BaseEstimator = fitted(doc="The base estimator of the members, not fitted.")
    columns_: Columns = fitted()
    n_features_in_: int = fitted()
    feature_names_in_: NDArray[Any] = fitted()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._takes_missing()
        return tags

    def _default_estimator(self) -> Any:
        raise NotImplementedError

    def _member_attributes(self) -> dict[str, Any]:
        """Fitted attributes that every member has, such as its classes."""
        return {}

    def _member_weights(self) -> NDArray[np.float64]:
        """Weights of the members in the feature importances."""
        raise NotImplementedError

    def _weak(self) -> Any:
        return self._default_estimator() if self.estimator is None else self.estimator

    def _takes_missing(self) -> bool:
        return takes_missing(self._weak())

    def _check_table(self, table: NDArray[np.floating], columns: Columns, learner: Any = None) -> None:
        """Raise ValueError for missing values that the base learner does not take."""
        learner = self._weak() if learner is None else learner
        if not takes_missing(learner):
            reject_missing_cells(table, columns, f"the base learner {type(learner).__name__}")

    def _read_rows(self, X: Any) -> NDArray[np.floating]:
        """A table to predict."""
        check_is_fitted(self, "members_")
        table = read_table(self, X)
        self._check_table(table, self.columns_, self.estimator_)
        return table

    @property
    def estimators_(self) -> list[Any]:
        """The members as fitted estimators."""
        check_is_fitted(self, "members_")
        return [self._as_estimator(member) for member in self.members_]

    def __len__(self) -> int:
        """Number of members."""
        check_is_fitted(self, "members_")
        return len(self.members_)

    def __getitem__(self, index: int) -> Any:
        """One member as a fitted estimator."""
        check_is_fitted(self, "members_")
        return self._as_estimator(self.members_[index])

    def __iter__(self) -> Iterator[Any]:
        return iter(self.estimators_)

    def _as_estimator(self, member: Member) -> Any:
        if not isinstance(member, TreeMember):
            return member.estimator  # type: ignore[attr-defined]
        tree: Any = clone(self.estimator_)
        tree.adopt(member.tree, self.columns_, self._member_attributes())
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(tree, name, getattr(self, name))
        return tree

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Impurity decreases by feature, averaged over the members by their weights, with sum 1."""
        check_is_fitted(self, "members_")
        by_member = [getattr(member, "feature_importances_", None) for member in self.estimators_]
        if any(importances is None for importances in by_member):
            raise AttributeError(f"The base learner {type(self._weak()).__name__} has no feature_importances_.")
        if not by_member:
            return np.zeros(self.columns_.n_features)
        total = np.sum(self._member_weights()[:, None] * np.array(by_member), axis=0)
        return total / total.sum() if total.sum() > 0.0 else total
