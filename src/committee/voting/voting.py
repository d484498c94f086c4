"""`VotingClassifier` and `VotingRegressor`: given members combined by vote, mean or median.

    hard    the class with the largest weight of votes            sum_m w_m [h_m(x) = k]
    soft    the class with the largest mean share                 sum_m w_m P_m(k | x) / sum_m w_m
    mean    sum_m w_m h_m(x) / sum_m w_m
    median  the middle of the answers, each as long as its weight

Kuncheva, Combining Pattern Classifiers, 2004.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
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
from committee.trees.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from committee.voting._base import BaseNamedMembers, Members
from committee.voting._members import Method, NamedMember, class_codes, class_shares
from committee.voting._rows import Task
from committee.voting._scores import class_scores, number_scores

Codes = NDArray[np.int64]
Rule = Literal["hard", "soft", "mean", "median"]


class BaseVoting(BaseNamedMembers):
    """Members of fixed weight; a subclass knows their answers and how they are combined.

    Fitted attributes: ``estimators_``, ``named_estimators_``, ``weights_`` (of the members that are not dropped, 1 in
    all), ``history_`` (one row per member: its name, its weight and, with `cv`, its out-of-fold scores) and, with `cv`,
    ``out_of_fold_scores_`` of the combination.
    """

    weights: ArrayLike | None = param("array-like", None, default=None)
    cv: Any = param("cv_object", default=None)

    weights_: Floats = fitted()
    history_: History = fitted()
    out_of_fold_scores_: dict[str, float] = fitted()
    _rule: Rule = fitted()

    def _check_predictions(self, members: list[NamedMember]) -> None:
        """Refuse members that cannot give what is combined."""

    def _judge(self, task: Task, predictions: list[Floats]) -> tuple[list[dict[str, float]], dict[str, float]]:
        """Scores of the members and of their combination."""
        raise NotImplementedError

    def _keep_errors(self, task: Task, predictions: list[Floats]) -> None:
        """What the members' out-of-fold answers are good for besides."""

    def _fit(self, X: Any, y: Any, sample_weight: Any, fit_params: dict[str, Any]) -> Self:
        self._validate_params()
        members = self._read_members(fit_params)
        self._check_predictions(members)
        with all_or_nothing(self):
            self.weights_ = self._read_weights()
            self._rule = self._chosen_rule()  # a parameter set later changes no fitted model
            task = self._read_task(X, y, sample_weight)
            self._fit_members(members, task)
            self._keep_history(members, task)
        return self

    def _read_weights(self) -> Floats:
        """Of the members that are kept, 1 in all."""
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
            methods: list[Method] = [self._shown_method()] * len(members)
            predictions = self._out_of_fold(members, task, self._folds(task, self.cv), methods)
            judged = np.flatnonzero(np.all([~np.isnan(own[:, 0]) for own in predictions], axis=0))
            scores, whole = self._judge(task.take(judged), [own[judged] for own in predictions])
            self._keep_errors(task.take(judged), [own[judged] for own in predictions])
            columns |= {name: [score[name] for score in scores] for name in scores[0] if not np.isnan(whole[name])}
            self.out_of_fold_scores_ = {name: value for name, value in whole.items() if not np.isnan(value)}
        self.history_ = History(columns)

    def _chosen_rule(self) -> Rule:
        raise NotImplementedError

    def _shown_method(self) -> Method:
        return "predict_proba" if self._rule == "soft" else "predict"

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns that `transform` makes, such as "votingregressor_tree"."""
        check_is_fitted(self, "estimators_")
        own = type(self).__name__.lower()
        return np.array([f"{own}_{name}" for name in self.fitted_names()], dtype=object)


def _is_soft(self: VotingClassifier) -> bool:
    rule = getattr(self, "_rule", self.voting)
    if rule != "soft":
        raise AttributeError(f"predict_proba is not available when voting={rule!r}")
    return True


class VotingClassifier(ClassifierMixin, BaseVoting):
    """Vote, or mean of the class distributions, of given classifiers; scikit-learn's names.

    Parameters
    ----------
    estimators : list of (name, classifier), default a tree, naive Bayes and nearest neighbours
        "drop" in place of a classifier leaves it out. Members learn the class codes 0, 1, ... A member that takes no
        sample weights sees rows repeated by whole weights, or else drawn by them.
    voting : {"hard", "soft"}
        The weighted majority of the answers, or the weighted mean of `predict_proba`.
    weights : of the members, >= 0; all alike by default
    n_jobs : members that are fitted side by side; it changes nothing else
    flatten_transform : `transform` of a soft vote gives [n, members * classes] if True, else [members, n, classes]
    cv : number of folds, splitter or iterable; judge members and vote on rows they did not see, for ``history_``
    random_state : seed of rows drawn by weights, verbose : show progress

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

    voting: Literal["hard", "soft"] = param(one_of("hard", "soft"), default="hard")
    flatten_transform: bool = param("boolean", default=True)

    _kind: ClassVar[Literal["classifier", "regressor"]] = "classifier"

    def _default_members(self) -> Members:
        return [
            ("tree", DecisionTreeClassifier(max_depth=6)),
            ("bayes", GaussianNB()),
            ("neighbours", KNeighborsClassifier()),
        ]

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None, **fit_params: Any) -> Self:
        """Fit every member on X [n, d] and labels y, rows counted by `sample_weight`."""
        return self._fit(X, y, sample_weight, fit_params)

    def _chosen_rule(self) -> Rule:
        return self.voting

    def _check_predictions(self, members: list[NamedMember]) -> None:
        if self.voting == "hard":
            return
        for member in members:
            if not hasattr(member.estimator, "predict_proba"):
                raise ValueError(
                    f"voting='soft' averages class distributions, and the member {member.name!r}, "
                    f"{type(member.estimator).__name__}, has no predict_proba: take voting='hard', or another member."
                )

    def _judge(self, task: Task, predictions: list[Floats]) -> tuple[list[dict[str, float]], dict[str, float]]:
        if self._rule == "soft":
            own = [class_scores(task, shares.argmax(axis=1), shares) for shares in predictions]
            shares = mean_distribution(np.array(predictions), self.weights_)
            return own, class_scores(task, shares.argmax(axis=1), shares)
        codes = np.array([answer[:, 0] for answer in predictions]).astype(np.int64)
        votes = class_votes(codes, task.n_classes, self.weights_)
        return [class_scores(task, code, None) for code in codes], class_scores(task, votes.argmax(axis=1), None)

    @property
    def le_(self) -> LabelEncoder:
        """From labels to the codes that the members learned, and back."""
        check_is_fitted(self, "estimators_")
        encoder = LabelEncoder()
        encoder.classes_ = self.classes_
        return encoder

    def _codes(self, table: Any) -> Codes:
        return np.array([class_codes(member, table, len(self.classes_)) for member in self.estimators_])

    def _shares(self, table: Any) -> Floats:
        return np.array([class_shares(member, table, len(self.classes_)) for member in self.estimators_])

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with most votes or the largest mean share; the first one of a tie."""
        table = self._read_rows(X)
        if self._rule == "soft":
            return self.classes_.take(mean_distribution(self._shares(table), self.weights_).argmax(axis=1))
        return self.classes_.take(class_votes(self._codes(table), len(self.classes_), self.weights_).argmax(axis=1))

    @available_if(_is_soft)
    def predict_proba(self, X: Any) -> Floats:
        """The weighted mean of the members' class distributions."""
        return mean_distribution(self._shares(self._read_rows(X)), self.weights_)

    def transform(self, X: Any) -> NDArray[Any]:
        """The members' answers: class codes [n, members], or class shares as `flatten_transform` says."""
        table = self._read_rows(X)
        if self._rule == "hard":
            return self._codes(table).T
        shares = self._shares(table)
        return np.hstack(list(shares)) if self.flatten_transform else shares

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns that `transform` makes, such as "votingclassifier_tree0"."""
        names = super().get_feature_names_out()
        if self._rule == "hard":
            return names
        if not self.flatten_transform:
            raise ValueError("transform gives no table with voting='soft' and flatten_transform=False: no columns.")
        return np.array([f"{name}{k}" for name in names for k in range(len(self.classes_))], dtype=object)


class VotingRegressor(RegressorMixin, PredictionIntervals, BaseVoting):
    """Mean or median of given regressors, by weight; scikit-learn's names.

    Parameters are those of `VotingClassifier` without those of a vote; this one is added:

    combine : {"mean", "median"}
        The weighted mean, or the weighted median: the middle of the answers, each as long as its weight.

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

    combine: Literal["mean", "median"] = param(one_of("mean", "median"), default="mean")

    _kind: ClassVar[Literal["classifier", "regressor"]] = "regressor"
    _interval_hint: ClassVar[str] = "cv=5"

    def _default_members(self) -> Members:
        return [
            ("tree", DecisionTreeRegressor(max_depth=6)),
            ("linear", Ridge()),
            ("neighbours", KNeighborsRegressor()),
        ]

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None, **fit_params: Any) -> Self:
        """Fit every member on X [n, d] and numbers y, rows counted by `sample_weight`."""
        return self._fit(X, y, sample_weight, fit_params)

    def _chosen_rule(self) -> Rule:
        return self.combine

    def _judge(self, task: Task, predictions: list[Floats]) -> tuple[list[dict[str, float]], dict[str, float]]:
        table = np.array([answer[:, 0] for answer in predictions])
        return [number_scores(task, own) for own in table], number_scores(task, self._combine(table))

    def _keep_errors(self, task: Task, predictions: list[Floats]) -> None:
        table = np.array([answer[:, 0] for answer in predictions])
        self._keep_residuals(task.target - self._combine(table), task.weight)

    def _combine(self, predictions: Floats) -> Floats:
        return (mean if self._rule == "mean" else weighted_median)(predictions, self.weights_)

    def predict(self, X: Any) -> Floats:
        """The weighted mean or median of the members' answers."""
        return self._combine(self.transform_predictions(X))

    def transform_predictions(self, X: Any) -> Floats:
        """The members' answers, [members, n]."""
        table = self._read_rows(X)
        return np.array([predicted_values(member, table) for member in self.estimators_])

    def transform(self, X: Any) -> Floats:
        """The members' answers, [n, members]."""
        return self.transform_predictions(X).T
