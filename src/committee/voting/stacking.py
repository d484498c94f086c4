"""`StackingClassifier` and `StackingRegressor`: a final estimator learns from the answers of given members.

    1. folds F_1, ..., F_K of the rows
    2. z_i = (h_1(x_i), ..., h_M(x_i)), each member learned from the folds that do not hold row i
    3. final estimator learned from the pairs (z_i, y_i)
    4. members learned again from all rows; answer  final(h_1(x), ..., h_M(x))

With ``final_estimator="simplex"`` the final estimator is a mean with weights >= 0 that sum to one: see
`simplex_weights`. Wolpert, Stacked generalization, 1992; Breiman, Stacked regressions, 1996.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Self, cast

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import ClassifierMixin, RegressorMixin, is_classifier, is_regressor
from sklearn.linear_model import LogisticRegression, Ridge, RidgeCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.validation import check_is_fitted

from committee.base.array_types import Floats
from committee.base.available_if import available_if
from committee.base.parameters import fitted, one_of, param
from committee.base.transaction import all_or_nothing
from committee.calibration.prediction_intervals import PredictionIntervals
from committee.members.estimators import predicted_values
from committee.records.history import History
from committee.tabular.rows import take_rows
from committee.trees.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from committee.voting._base import DEFAULT_FOLDS, BaseNamedMembers, Members
from committee.voting._members import Method, NamedMember, class_shares, fit_member, predictions_of
from committee.voting._rows import Task
from committee.voting._scores import class_scores, number_scores
from committee.voting.simplex_weights import SimplexCombination, simplex_weights

MIN_FOR_RESIDUALS = 10
"""Rows from which on the final estimator is fitted to folds too, for prediction intervals."""

METHODS: tuple[Method, ...] = ("predict_proba", "decision_function", "predict")


def choose_method(member: NamedMember, wanted: str, *, needs_shares: bool) -> Method:
    """The method whose answers are stacked: the one that is wanted, or the first that the member has."""
    order = METHODS if wanted == "auto" else (wanted,)
    for method in order:
        if method in METHODS and hasattr(member.estimator, method) and not (
            needs_shares and method == "decision_function"
        ):  # fmt: skip
            return method
    raise ValueError(
        f"The member {member.name!r}, {type(member.estimator).__name__}, does not implement the method {wanted!r}: "
        "take stack_method='auto', or another member."
    )


def stack_columns(predictions: Sequence[Floats], methods: Sequence[Method], n_classes: int) -> Floats:
    """The members' answers side by side; of two classes the share of the second is enough."""
    pairs = zip(predictions, methods, strict=True)
    return np.hstack([own[:, 1:] if n_classes == 2 and method == "predict_proba" else own for own, method in pairs])


def _has_final(method: str) -> Any:
    """Does the final estimator have the method?"""

    def check(self: BaseStacking) -> bool:
        final = getattr(self, "final_estimator_", None)
        if final is None:
            final = self.chosen_final()
        if isinstance(final, str):
            return method in ("predict", "predict_proba")
        getattr(final, method)  # its own AttributeError says what is missing
        return True

    return check


class BaseStacking(BaseNamedMembers):
    """Members, and a final estimator that learns from their out-of-fold answers.

    Fitted attributes: ``estimators_`` (on all rows), ``named_estimators_``, ``final_estimator_``, ``stack_method_``,
    ``out_of_fold_`` (the columns that the final estimator learned from; nan for rows that no fold tests),
    ``history_`` (one row per member: name, method, its out-of-fold scores and, with "simplex", its weight); with
    "simplex" also ``weights_``.
    """

    final_estimator: Any = param(one_of("simplex"), HasMethods("fit"), None, default=None, kw_only=False)
    cv: Any = param("cv_object", one_of("prefit"), default=None)
    passthrough: bool = param("boolean", default=False)

    final_estimator_: Any = fitted()
    stack_method_: list[Method] = fitted()
    out_of_fold_: Floats = fitted()
    weights_: Floats = fitted()
    history_: History = fitted()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        final = self.chosen_final()
        if self.passthrough and hasattr(final, "__sklearn_tags__"):
            known = get_tags(final).input_tags
            tags.input_tags.allow_nan = tags.input_tags.allow_nan and known.allow_nan
            tags.input_tags.sparse = tags.input_tags.sparse and known.sparse
        return tags

    def _default_final(self) -> Any:
        raise NotImplementedError

    def _wanted_method(self) -> str:
        return "predict"

    def chosen_final(self) -> Any:
        """The final estimator before it is fitted, or "simplex"."""
        return self._default_final() if self.final_estimator is None else self.final_estimator

    def _judge(self, task: Task, predictions: Floats, method: Method) -> dict[str, float]:
        """Scores of one member's out-of-fold answers."""
        raise NotImplementedError

    def _check_final(self) -> Any:
        final = self.chosen_final()
        if isinstance(final, str):
            if self.passthrough:
                raise ValueError("final_estimator='simplex' weighs members: it has no use for passthrough=True.")
            return final
        if isinstance(final, type):
            raise TypeError(f"final_estimator is the class {final.__name__}: pass an instance of it.")
        is_kind = is_classifier if self._kind == "classifier" else is_regressor
        if hasattr(final, "__sklearn_tags__") and not is_kind(final):
            raise ValueError(
                f"'final_estimator' parameter should be a {self._kind}. Got {type(final).__name__}: pass another one."
            )
        return final

    # --- fit ----------------------------------------------------------------------------------------------------------

    def _fit(self, X: Any, y: Any, sample_weight: Any, fit_params: dict[str, Any]) -> Self:
        self._validate_params()
        members, final = self._read_members(fit_params), self._check_final()
        is_simplex, wanted = isinstance(final, str), self._wanted_method()
        methods: list[Method] = [choose_method(member, wanted, needs_shares=is_simplex) for member in members]
        with all_or_nothing(self):
            task = self._read_task(X, y, sample_weight)
            self.stack_method_, self._is_simplex = methods, is_simplex
            self._is_prefit, self._passes = isinstance(self.cv, str), self.passthrough
            predictions = self._learn(members, task)
            seen = np.flatnonzero(np.all([~np.isnan(own[:, 0]) for own in predictions], axis=0))
            shown = self._shown_methods()
            columns = self.out_of_fold_ = stack_columns(predictions, shown, task.n_classes)
            is_halved = [task.n_classes == 2 and method == "predict_proba" for method in shown]
            self._widths = [own.shape[1] - halved for own, halved in zip(predictions, is_halved, strict=True)]
            self._fit_final(final, task.take(seen), columns[seen])
            self._keep_errors(final, task.take(seen), columns[seen])
            self._keep_history(members, task.take(seen), [own[seen] for own in predictions])
        return self

    def _shown_methods(self) -> list[Method]:
        """As they are stacked: a weighted mean takes the votes of a member without probabilities as shares."""
        is_shares = self._is_simplex and self._kind == "classifier"
        return ["predict_proba"] * len(self.stack_method_) if is_shares else self.stack_method_

    def _learn(self, members: list[NamedMember], task: Task) -> list[Floats]:
        """Fit the members on all rows, and get the answers that the final estimator learns from."""
        if self._is_prefit:
            for member in members:
                check_is_fitted(member.estimator)
            self._keep_members(members, [member.estimator for member in members])
            return self._predictions(task.X)
        self._fit_members(members, task)  # first of all: members know what is wrong with a table
        predictions = self._out_of_fold(members, task, self._folds(task, self.cv), self.stack_method_)
        return [self._as_shares(own, method) for own, method in zip(predictions, self.stack_method_, strict=True)]

    def _as_shares(self, predictions: Floats, method: Method) -> Floats:
        """Class codes as votes where shares are wanted."""
        if method != "predict" or self._shown_methods() == self.stack_method_:
            return predictions
        n_classes, is_there = len(self.classes_), ~np.isnan(predictions[:, 0])
        shares = np.full((len(predictions), n_classes), np.nan)
        shares[is_there] = np.eye(n_classes)[predictions[is_there, 0].astype(np.int64)]
        return shares

    def _fit_final(self, final: Any, task: Task, columns: Floats) -> None:
        vars(self).pop("weights_", None)
        self.final_estimator_ = self._made_final(final, task, columns)
        if self._is_simplex:
            self.weights_ = self.final_estimator_.weights

    def _made_final(self, final: Any, task: Task, columns: Floats) -> Any:
        """The final estimator, fitted to the members' answers to the rows of the task."""
        if not isinstance(final, str):
            stacked = task._replace(X=self._with_table(columns, task.X))
            return fit_member(NamedMember("final_estimator", final, 0, {}), stacked)
        truth: Any = task.target
        if task.n_classes:
            truth = (task.target[:, np.newaxis] == np.arange(task.n_classes)).astype(np.float64)
            truth = truth[:, 1:] if task.n_classes == 2 else truth
        predictions = columns.reshape(task.n_rows, len(self.estimators_), -1).transpose(1, 0, 2)
        predictions = predictions if task.n_classes else predictions[:, :, 0]
        return SimplexCombination(simplex_weights(predictions, truth, task.weight), task.n_classes)

    def _keep_errors(self, final: Any, task: Task, columns: Floats) -> None:
        """What the members' out-of-fold answers are good for besides."""

    def _keep_history(self, members: list[NamedMember], task: Task, predictions: list[Floats]) -> None:
        shown = self._shown_methods()
        scores = [self._judge(task, own, method) for own, method in zip(predictions, shown, strict=True)]
        columns: dict[str, Any] = {"member": [member.name for member in members], "method": self.stack_method_}
        columns |= {name: [score[name] for score in scores] for name in scores[0]}
        if self._is_simplex:
            columns["weight"] = self.weights_
        self.history_ = History({name: column for name, column in columns.items() if not _is_unknown(column)})

    # --- answers ------------------------------------------------------------------------------------------------------

    def _predictions(self, table: Any) -> list[Floats]:
        """Of every fitted member, [n, k]."""
        n_classes = len(self.classes_) if self._kind == "classifier" else 0
        if self._kind == "classifier" and self._is_prefit:
            table_predictions = [self._prefit_predictions(member, table, method)
                             for member, method in zip(self.estimators_, self.stack_method_, strict=True)]  # fmt: skip
        else:
            pairs = zip(self.estimators_, self.stack_method_, strict=True)
            table_predictions = [predictions_of(member, table, method, n_classes) for member, method in pairs]
        return [self._as_shares(own, method) for own, method in zip(table_predictions, self.stack_method_, strict=True)]

    def _prefit_predictions(self, member: Any, table: Any, method: Method) -> Floats:
        """A member fitted elsewhere knows labels, not codes."""
        return predictions_of(_WithCodes(member, self.classes_), table, method, len(self.classes_))

    def _with_table(self, columns: Floats, table: Any) -> Any:
        """The columns, and with `passthrough` the table beside them: a frame stays one."""
        if not self._passes:
            return columns
        if sparse.issparse(table):
            return sparse.hstack([columns, table], format="csr")
        frame: Any = nw.from_native(table, eager_only=True, pass_through=True)
        if not isinstance(frame, nw.DataFrame):
            return np.hstack([columns, table])
        if not all(type(name) is str for name in cast(list[Any], frame.columns)):
            return np.hstack([columns, frame.to_numpy()])
        names = self._own_names()
        if set(names) & set(frame.columns):
            raise ValueError(f"X has columns named as those of members, {names}: rename them or the members.")
        own: Any = nw.from_numpy(columns, names, backend=frame.implementation)
        series = [own[:, k] for k in range(columns.shape[1])]
        return frame.with_columns(*series).select(*names, *frame.columns).to_native()

    def transform(self, X: Any) -> Any:
        """The members' answers side by side, [n, columns], and with `passthrough` the table beside them."""
        return self.transform_rows(X)

    def transform_rows(self, X: Any) -> Any:
        """`transform` as the final estimator reads it, whatever `set_output` says."""
        table = self._read_rows(X)
        n_classes = len(self.classes_) if self._kind == "classifier" else 0
        columns = stack_columns(self._predictions(table), self._shown_methods(), n_classes)
        return self._with_table(columns, table)

    def out_of_fold_predictions(self) -> list[Floats]:
        """For every member the answers [n, k] in ``out_of_fold_``: of two classes both shares."""
        check_is_fitted(self, "estimators_")
        parts = np.split(self.out_of_fold_, np.cumsum(self._widths)[:-1], axis=1)
        shown = self._shown_methods()
        is_two = self._kind == "classifier" and len(self.classes_) == 2
        return [
            np.column_stack([1.0 - own, own]) if is_two and method == "predict_proba" else own
            for own, method in zip(parts, shown, strict=True)
        ]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns that `transform` makes, such as "stackingclassifier_tree"."""
        check_is_fitted(self, "estimators_")
        names = self._own_names()
        if self._passes:
            known = getattr(self, "feature_names_in_", None)
            given = input_features if known is None else known
            names += [f"x{f}" for f in range(self.n_features_in_)] if given is None else list(given)
        return np.array(names, dtype=object)

    def _own_names(self) -> list[str]:
        """Of the columns that members make."""
        own = type(self).__name__.lower()
        names: list[str] = []
        for name, width in zip(self.fitted_names(), self._widths, strict=True):
            names += [f"{own}_{name}"] if width == 1 else [f"{own}_{name}{k}" for k in range(width)]
        return names


class _WithCodes:
    """A fitted classifier whose labels are told as positions among the classes."""

    def __init__(self, member: Any, classes: NDArray[Any]) -> None:
        self.member, self.labels = member, classes
        known = np.asarray(member.classes_)
        codes = np.searchsorted(classes, known)
        if np.any(classes.take(codes, mode="clip") != known):
            raise ValueError(
                f"{type(member).__name__} was fitted on the labels {known[:5].tolist()}, y has {classes[:5].tolist()}: "
                "fit members on labels of y."
            )
        self.classes_ = codes

    def predict(self, X: Any) -> NDArray[Any]:
        return np.searchsorted(self.labels, np.asarray(self.member.predict(X)))

    def predict_proba(self, X: Any) -> Floats:
        return self.member.predict_proba(X)

    def decision_function(self, X: Any) -> Floats:
        return self.member.decision_function(X)


def _is_unknown(column: Any) -> bool:
    values = np.asarray(column)
    return values.dtype.kind == "f" and bool(np.all(np.isnan(values)))


class StackingClassifier(ClassifierMixin, BaseStacking):
    """A final classifier that learns from the out-of-fold answers of given classifiers; scikit-learn's names.

    Parameters
    ----------
    estimators : list of (name, classifier), default a tree, naive Bayes and nearest neighbours
        "drop" in place of a classifier leaves it out. Members learn the class codes 0, 1, ... A member that takes no
        sample weights sees rows repeated by whole weights, or else drawn by them; so does the final estimator.
    final_estimator : a classifier, default logistic regression, or "simplex"
        "simplex" is a mean of the class distributions with weights >= 0 that sum to one and have the smallest Brier
        score out of fold.
    cv : number of folds (default 5), splitter, iterable, or "prefit" for members that are fitted already
        Folds by number are dealt class by class, equal rows into one.
    stack_method : {"auto", "predict_proba", "decision_function", "predict"}
        What the members are asked; "auto" takes the first that a member has.
    n_jobs : fits side by side; it changes nothing else
    passthrough : give the final estimator the table beside the members' answers; a frame stays a frame
    random_state : seed of rows drawn by weights, verbose : show progress

    Examples
    --------
    >>> from committee import StackingClassifier
    >>> from committee.datasets import load_dataset
    >>> sonar = load_dataset("sonar")
    >>> model = StackingClassifier(final_estimator="simplex", cv=10).fit(sonar.X, sonar.y)
    >>> dict(zip(model.history_.member.tolist(), model.history_.weight.round(2).tolist()))
    {'tree': 0.2, 'bayes': 0.13, 'neighbours': 0.66}
    """

    stack_method: Literal["auto", "predict_proba", "decision_function", "predict"] = param(
        one_of("auto", "predict_proba", "decision_function", "predict"), default="auto"
    )

    _kind: ClassVar[Literal["classifier", "regressor"]] = "classifier"

    def _default_members(self) -> Members:
        return [
            ("tree", DecisionTreeClassifier(max_depth=6)),
            ("bayes", GaussianNB()),
            ("neighbours", KNeighborsClassifier()),
        ]

    def _default_final(self) -> Any:
        return LogisticRegression()

    def _wanted_method(self) -> str:
        return self.stack_method

    def _judge(self, task: Task, predictions: Floats, method: Method) -> dict[str, float]:
        if method == "predict_proba":
            return class_scores(task, predictions.argmax(axis=1), predictions)
        if method == "predict":
            return class_scores(task, predictions[:, 0].astype(np.int64), None)
        if predictions.shape[1] not in (1, task.n_classes):  # one score for every pair of classes tells no answer
            return {"error": np.nan, "log_loss": np.nan}
        codes = (predictions[:, 0] > 0.0).astype(np.int64) if predictions.shape[1] == 1 else predictions.argmax(axis=1)
        return class_scores(task, codes, None)

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None, **fit_params: Any) -> Self:
        """Fit members and final estimator on X [n, d] and labels y, rows counted by `sample_weight`."""
        return self._fit(X, y, sample_weight, fit_params)

    @available_if(_has_final("predict"))
    def predict(self, X: Any, **predict_params: Any) -> NDArray[Any]:
        """The class that the final estimator answers; it is told `predict_params`."""
        stacked = self.transform_rows(X)
        return self.classes_.take(self.final_estimator_.predict(stacked, **predict_params))

    @available_if(_has_final("predict_proba"))
    def predict_proba(self, X: Any) -> Floats:
        """Class distributions by the final estimator."""
        stacked = self.transform_rows(X)
        if self._is_simplex:
            return self.final_estimator_.predict_proba(stacked)
        return class_shares(self.final_estimator_, stacked, len(self.classes_))  # it may lack a class without weight

    @available_if(_has_final("decision_function"))
    def decision_function(self, X: Any) -> Floats:
        """Of the final estimator."""
        stacked = self.transform_rows(X)
        return self.final_estimator_.decision_function(stacked)


class StackingRegressor(RegressorMixin, PredictionIntervals, BaseStacking):
    """A final regressor that learns from the out-of-fold answers of given regressors; scikit-learn's names.

    Parameters are those of `StackingClassifier` without `stack_method`; these differ:

    final_estimator : a regressor, default ridge regression with its penalty chosen, or "simplex"
        "simplex" is the mean with weights >= 0 that sum to one and have the smallest squared error out of fold.

    Examples
    --------
    >>> import numpy as np
    >>> from committee import StackingRegressor
    >>> from committee.datasets import load_dataset
    >>> ozone = load_dataset("ozone")
    >>> X = ozone.X[:, 4:9]
    >>> rows = ~np.isnan(X).any(axis=1)
    >>> model = StackingRegressor(final_estimator="simplex").fit(X[rows], ozone.y[rows])
    >>> dict(zip(model.history_.member.tolist(), model.history_.weight.round(2).tolist()))
    {'tree': 0.2, 'linear': 0.76, 'neighbours': 0.04}
    """

    _kind: ClassVar[Literal["classifier", "regressor"]] = "regressor"

    def _default_members(self) -> Members:
        return [
            ("tree", DecisionTreeRegressor(max_depth=6)),
            ("linear", Ridge()),
            ("neighbours", KNeighborsRegressor()),
        ]

    def _default_final(self) -> Any:
        return RidgeCV()

    def _judge(self, task: Task, predictions: Floats, method: Method) -> dict[str, float]:
        return number_scores(task, predictions[:, 0])

    def _keep_errors(self, final: Any, task: Task, columns: Floats) -> None:
        """Residuals by final estimators that are fitted without the fold of the row, as the members were.

        Members that were fitted elsewhere may have seen any row: then there are none.
        """
        vars(self).pop("_residuals", None)
        if self._is_prefit or task.n_rows < MIN_FOR_RESIDUALS:
            return
        stacked = task._replace(X=self._with_table(columns, task.X))
        errors = np.full(task.n_rows, np.nan)
        try:
            with warnings.catch_warnings():  # the fit on all rows has given them
                warnings.simplefilter("ignore")
                for fold in stacked.splits(DEFAULT_FOLDS):
                    made = self._made_final(final, task.take(fold.train), columns[fold.train])
                    predictions = predicted_values(made, take_rows(stacked.X, fold.test))
                    errors[fold.test] = task.target[fold.test] - predictions
        except ValueError:  # a final estimator that needs more rows than some fold leaves
            return
        self._keep_residuals(errors, task.weight)

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None, **fit_params: Any) -> Self:
        """Fit members and final estimator on X [n, d] and numbers y, rows counted by `sample_weight`."""
        return self._fit(X, y, sample_weight, fit_params)

    @available_if(_has_final("predict"))
    def predict(self, X: Any, **predict_params: Any) -> Any:
        """The number that the final estimator answers; it is told `predict_params`."""
        stacked = self.transform_rows(X)
        return self.final_estimator_.predict(stacked, **predict_params)
