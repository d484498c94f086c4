"""Voting: given estimators combined by vote, mean or median.

    hard    the class with the largest weighted vote          sum_m w_m [h_m(x) = k]
    soft    the class with the largest mean probability       sum_m w_m P_m(k | x) / sum_m w_m
    mean    sum_m w_m h_m(x) / sum_m w_m
    median  the weighted median of h_1(x), ..., h_M(x)

Kuncheva, Combining Pattern Classifiers, 2004.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.preprocessing import LabelEncoder
from sklearn.utils.validation import check_is_fitted

from committee.base.array_types import Floats
from committee.base.available_if import available_if
from committee.base.parameters import fitted, one_of, param
from committee.base.transaction import all_or_nothing
from committee.calibration.prediction_intervals import PredictionIntervals
from committee.combine.rules import class_votes, mean, mean_distribution, weighted_median
from committee.members.estimators import predicted_values
from committee.records.history import History
from committee.voting._members import Method, NamedMember, class_codes, class_probabilities
from committee.voting._rows import Task
from committee.voting._scores import class_scores, regression_scores
from committee.voting.base import BaseNamedMembers, complete_rows

Codes = NDArray[np.int64]
Rule = Literal["hard", "soft", "mean", "median"]


class BaseVoting(BaseNamedMembers):
    """Members of fixed weight; a subclass combines their predictions."""

    weights: ArrayLike | None = param(
        "array-like", None, default=None, doc="Weights of the members, >= 0; None for equal weights."
    )
    cv: Any = param(
        "cv_object",
        default=None,
        doc="Number of folds, splitter or iterable for out-of-fold scores of the members and of their combination; "
        "None computes none.",
    )

    weights_: Floats = fitted(doc="Weights of the members that are not dropped, with sum 1.")
    history_: History = fitted(
        doc="A row for each member: its name, its weight and, with `cv`, its out-of-fold scores."
    )
    out_of_fold_scores_: dict[str, float] = fitted(doc="Out-of-fold scores of the combination, with `cv`.")
    _rule: Rule = fitted()

    def _check_predictions(self, members: list[NamedMember]) -> None:
        """Raise for members without the predictions that are combined."""

    def _scores(self, task: Task, predictions: list[Floats]) -> tuple[list[dict[str, float]], dict[str, float]]:
        """Scores of the members and of their combination."""
        raise NotImplementedError

    def _keep_errors(self, task: Task, predictions: list[Floats]) -> None:
        """Store residuals of the out-of-fold predictions."""

    def _fit(self, X: Any, y: Any, sample_weight: Any, fit_params: dict[str, Any]) -> Self:
        self._validate_params()
        members = self._read_members(fit_params)
        self._check_predictions(members)
        with all_or_nothing(self):
            self.weights_ = self._read_weights()
            self._rule = self._chosen_rule()
            task = self._read_task(X, y, sample_weight)
            self._fit_members(members, task)
            self._keep_history(members, task)
        return self

    def _read_weights(self) -> Floats:
        """Weights of the members that are not dropped, with sum 1."""
        members = self._members()
        given = np.ones(len(members)) if self.weights is None else np.asarray(self.weights, np.float64).ravel()
        if given.size != len(members):
            raise ValueError(
                f"Number of `estimators` and weights must be equal; got {given.size} weights, {len(members)} estimators"
            )
        weights = given[[not (isinstance(member, str) and member == "drop") for _, member in members]]
        if not (np.all(weights >= 0.0) and 0.0 < weights.sum() < np.inf):
            raise ValueError(f"weights must be finite, >= 0 and not all zero; got {given.tolist()}.")
        return weights / weights.sum()

    def _keep_history(self, members: list[NamedMember], task: Task) -> None:
        columns: dict[str, Any] = {"member": [member.name for member in members], "weight": self.weights_}
        for name in ("out_of_fold_scores_", "_residuals"):
            vars(self).pop(name, None)
        if self.cv is not None:
            methods: list[Method] = ["predict_proba" if self._rule == "soft" else "predict"] * len(members)
            predictions = self._out_of_fold(members, task, self._folds(task, self.cv), methods)
            rows = complete_rows(predictions)
            tested, predictions = task.take(rows), [own[rows] for own in predictions]
            scores, whole = self._scores(tested, predictions)
            self._keep_errors(tested, predictions)
            columns |= {name: [score[name] for score in scores] for name in scores[0] if not np.isnan(whole[name])}
            self.out_of_fold_scores_ = {name: value for name, value in whole.items() if not np.isnan(value)}
        self.history_ = History(columns)

    def _chosen_rule(self) -> Rule:
        raise NotImplementedError

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the columns of `transform`, such as "votingregressor_tree"."""
        check_is_fitted(self, "estimators_")
        own = type(self).__name__.lower()
        return np.array([f"{own}_{name}" for name in self.fitted_names()], dtype=object)


def _is_soft(self: VotingClassifier) -> bool:
    rule = getattr(self, "_rule", self.voting)
    if rule != "soft":
        raise AttributeError(f"predict_proba is not available when voting={rule!r}")
    return True


class VotingClassifier(ClassifierMixin, BaseVoting):
    """Majority vote, or mean of the class probabilities, of given classifiers.

    The interface is that of scikit-learn, with out-of-fold scores of the members and of the vote.

    References
    ----------
    Kuncheva, L. I. (2004). Combining Pattern Classifiers. Wiley.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from committee import SVC, RandomForestClassifier, VotingClassifier
    >>> from committee.datasets import load_dataset
    >>> sonar = load_dataset("sonar")
    >>> forest, svm = RandomForestClassifier(random_state=0), SVC(C=10.0)
    >>> model = VotingClassifier([("forest", forest), ("near", KNeighborsClassifier(1)), ("svm", svm)], cv=5)
    >>> model.fit(sonar.X, sonar.y).history_.error.round(3)
    array([0.192, 0.188, 0.135])
    >>> round(model.out_of_fold_scores_["error"], 3)
    0.139
    """

    voting: Literal["hard", "soft"] = param(
        one_of("hard", "soft"),
        default="hard",
        doc="Whether to predict by the weighted majority vote or by the weighted mean of `predict_proba`.",
    )
    flatten_transform: bool = param(
        "boolean",
        default=True,
        doc="Whether `transform` of a soft vote has the shape [n, members * classes], else [members, n, classes].",
    )

    _kind: ClassVar[Literal["classifier", "regressor"]] = "classifier"

    def _chosen_rule(self) -> Rule:
        return self.voting

    def _check_predictions(self, members: list[NamedMember]) -> None:
        if self.voting == "hard":
            return
        for member in members:
            if not hasattr(member.estimator, "predict_proba"):
                raise ValueError(
                    f"voting='soft' averages class probabilities, and the member {member.name!r}, "
                    f"{type(member.estimator).__name__}, has no predict_proba: use voting='hard', or another member."
                )

    def _scores(self, task: Task, predictions: list[Floats]) -> tuple[list[dict[str, float]], dict[str, float]]:
        if self._rule == "soft":
            own = [class_scores(task, p.argmax(axis=1), p) for p in predictions]
            p = mean_distribution(np.array(predictions), self.weights_)
            return own, class_scores(task, p.argmax(axis=1), p)
        codes = np.array([own[:, 0] for own in predictions]).astype(np.int64)
        votes = class_votes(codes, task.n_classes, self.weights_)
        return [class_scores(task, code, None) for code in codes], class_scores(task, votes.argmax(axis=1), None)

    @property
    def le_(self) -> LabelEncoder:
        """Encoder of the labels, as in scikit-learn."""
        check_is_fitted(self, "estimators_")
        encoder = LabelEncoder()
        encoder.classes_ = self.classes_
        return encoder

    def _codes(self, table: Any) -> Codes:
        return np.array([class_codes(member, table, len(self.classes_)) for member in self.estimators_])

    def _probabilities(self, table: Any) -> Floats:
        return np.array([class_probabilities(member, table, len(self.classes_)) for member in self.estimators_])

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class with the most votes or the largest mean probability; the first one of a tie."""
        table = self._read_rows(X)
        if self._rule == "soft":
            return self.classes_.take(mean_distribution(self._probabilities(table), self.weights_).argmax(axis=1))
        return self.classes_.take(class_votes(self._codes(table), len(self.classes_), self.weights_).argmax(axis=1))

    @available_if(_is_soft)
    def predict_proba(self, X: Any) -> Floats:
        """Predict the weighted mean of the members' class probabilities."""
        return mean_distribution(self._probabilities(self._read_rows(X)), self.weights_)

    def transform(self, X: Any) -> NDArray[Any]:
        """Return the members' predictions: class codes [n, members], or probabilities for a soft vote."""
        table = self._read_rows(X)
        if self._rule == "hard":
            return self._codes(table).T
        p = self._probabilities(table)
        return np.hstack(list(p)) if self.flatten_transform else p

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the columns of `transform`, such as "votingclassifier_tree0"."""
        names = super().get_feature_names_out()
        if self._rule == "hard":
            return names
        if not self.flatten_transform:
            raise ValueError(
                "transform returns no table with voting='soft' and flatten_transform=False: there are no columns."
            )
        return np.array([f"{name}{k}" for name in names for k in range(len(self.classes_))], dtype=object)


class VotingRegressor(RegressorMixin, PredictionIntervals, BaseVoting):
    """Weighted mean or median of given regressors.

    The interface is that of scikit-learn, with out-of-fold scores of the members and of their combination.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> from committee import GradientBoostingRegressor, RandomForestRegressor, VotingRegressor
    >>> from committee.datasets import load_dataset
    >>> ozone = load_dataset("ozone")
    >>> X = ozone.X[:, 4:9]
    >>> rows = ~np.isnan(X).any(axis=1)
    >>> forest, boosting = RandomForestRegressor(random_state=0), GradientBoostingRegressor(random_state=0)
    >>> model = VotingRegressor([("forest", forest), ("line", Ridge()), ("boosting", boosting)], cv=5)
    >>> model.fit(X[rows], ozone.y[rows]).history_.rmse.round(2)
    array([4.6 , 4.79, 4.4 ])
    >>> round(model.out_of_fold_scores_["rmse"], 2)
    4.41
    """

    combine: Literal["mean", "median"] = param(
        one_of("mean", "median"), default="mean", doc="Whether to combine by the weighted mean or the weighted median."
    )

    _kind: ClassVar[Literal["classifier", "regressor"]] = "regressor"
    _interval_hint: ClassVar[str] = "cv=5"

    def _chosen_rule(self) -> Rule:
        return self.combine

    def _scores(self, task: Task, predictions: list[Floats]) -> tuple[list[dict[str, float]], dict[str, float]]:
        table = np.array([own[:, 0] for own in predictions])
        return [regression_scores(task, own) for own in table], regression_scores(task, self._combine(table))

    def _keep_errors(self, task: Task, predictions: list[Floats]) -> None:
        table = np.array([own[:, 0] for own in predictions])
        self._keep_residuals(task.target - self._combine(table), task.weight)

    def _combine(self, predictions: Floats) -> Floats:
        return (mean if self._rule == "mean" else weighted_median)(predictions, self.weights_)

    def predict(self, X: Any) -> Floats:
        """Predict the weighted mean or median of the members' predictions."""
        return self._combine(self.transform_predictions(X))

    def transform_predictions(self, X: Any) -> Floats:
        """Return the members' predictions, [members, n]."""
        table = self._read_rows(X)
        return np.array([predicted_values(member, table) for member in self.estimators_])

    def transform(self, X: Any) -> Floats:
        """Return the members' predictions, [n, members]."""
        return self.transform_predictions(X).T
