"""Stacking: a final estimator fitted on out-of-fold predictions of given estimators.

    1. split the rows into folds F_1, ..., F_K
    2. z_i = (h_1(x_i), ..., h_M(x_i)), each member fitted without the fold of row i
    3. fit the final estimator on the pairs (z_i, y_i)
    4. fit the members on all rows; the prediction is  final(h_1(x), ..., h_M(x))

With ``final_estimator="simplex"`` the final estimator is a mean with weights >= 0 that sum to one: see
`simplex_weights`. Wolpert, Stacked generalization, 1992; Breiman, Stacked regressions, 1996.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Self, cast

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import ClassifierMixin, RegressorMixin, is_classifier, is_regressor
from sklearn.linear_model import LogisticRegression, RidgeCV
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
from committee.voting._members import Method, NamedMember, class_probabilities, fit_member, predictions_of
from committee.voting._rows import Task
from committee.voting._scores import class_scores, regression_scores
from committee.voting.base import DEFAULT_FOLDS, BaseNamedMembers, complete_rows
from committee.voting.simplex_weights import SimplexCombination, simplex_weights

MIN_FOR_RESIDUALS = 10
"""Minimum number of rows for residuals, for which the final estimator is fitted on folds too."""

METHODS: tuple[Method, ...] = ("predict_proba", "decision_function", "predict")


def choose_method(member: NamedMember, wanted: str, *, needs_probabilities: bool) -> Method:
    """Select the method whose predictions are stacked: the wanted one, or with "auto" the first available."""
    order = METHODS if wanted == "auto" else (wanted,)
    for method in order:
        if method in METHODS and hasattr(member.estimator, method) and not (
            needs_probabilities and method == "decision_function"
        ):  # fmt: skip
            return method
    raise ValueError(
        f"The member {member.name!r}, {type(member.estimator).__name__}, does not implement the method {wanted!r}: "
        "use stack_method='auto', or another member."
    )


def stack_columns(predictions: Sequence[Floats], methods: Sequence[Method], n_classes: int) -> Floats:
    """Concatenate the members' predictions; for two classes only the probability of the second."""
    pairs = zip(predictions, methods, strict=True)
    return np.hstack([own[:, 1:] if n_classes == 2 and method == "predict_proba" else own for own, method in pairs])


def _has_final(method: str) -> Any:
    """Whether the final estimator has the method."""

    def check(self: BaseStacking) -> bool:
        final = getattr(self, "final_estimator_", None)
        if final is None:
            final = self.chosen_final()
        if isinstance(final, str):
            return method in ("predict", "predict_proba")
        getattr(final, method)  # raises its own AttributeError
        return True

    return check


class BaseStacking(BaseNamedMembers):
    """Members, and a final estimator fitted on their out-of-fold predictions."""

    final_estimator: Any = param(
        one_of("simplex"),
        HasMethods("fit"),
        None,
        default=None,
        kw_only=False,
        doc="The estimator that combines the members; None is logistic regression, or ridge regression with a penalty "
        'selected by cross-validation. "simplex" is the weighted mean with weights >= 0 of sum 1 that has the smallest '
        "out-of-fold squared error, or Brier score.",
    )
    cv: Any = param(
        "cv_object",
        one_of("prefit"),
        default=None,
        doc="Number of folds, splitter or iterable; None is 5. Folds are stratified, with equal rows in the same fold. "
        '"prefit" takes fitted members and fits the final estimator on their predictions.',
    )
    passthrough: bool = param(
        "boolean",
        default=False,
        doc="Whether the final estimator is fitted on the columns of X too; a data frame remains one.",
    )

    final_estimator_: Any = fitted(doc="The fitted final estimator.")
    stack_method_: list[Method] = fitted(doc="The method of each member whose predictions are stacked.")
    out_of_fold_: Floats = fitted(
        doc="The columns that the final estimator was fitted on; nan for rows in no test fold."
    )
    weights_: Floats = fitted(doc='Weights of the members, with final_estimator="simplex".')
    history_: History = fitted(
        doc='A row for each member: name, method, out-of-fold scores and, with "simplex", its weight.'
    )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        final = self.chosen_final()
        if self.passthrough and hasattr(final, "__sklearn_tags__"):
            inputs = get_tags(final).input_tags
            tags.input_tags.allow_nan = tags.input_tags.allow_nan and inputs.allow_nan
            tags.input_tags.sparse = tags.input_tags.sparse and inputs.sparse
        return tags

    def _default_final(self) -> Any:
        raise NotImplementedError

    def _wanted_method(self) -> str:
        return "predict"

    def chosen_final(self) -> Any:
        """Return the unfitted final estimator, or "simplex"."""
        return self._default_final() if self.final_estimator is None else self.final_estimator

    def _scores(self, task: Task, predictions: Floats, method: Method) -> dict[str, float]:
        """Scores of the out-of-fold predictions of one member."""
        raise NotImplementedError

    def _check_final(self) -> Any:
        final = self.chosen_final()
        if isinstance(final, str):
            if self.passthrough:
                raise ValueError("passthrough=True has no effect with final_estimator='simplex': set it to False.")
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
        methods: list[Method] = [choose_method(member, wanted, needs_probabilities=is_simplex) for member in members]
        with all_or_nothing(self):
            task = self._read_task(X, y, sample_weight)
            self.stack_method_, self._is_simplex = methods, is_simplex
            self._is_prefit, self._passes = isinstance(self.cv, str), self.passthrough
            predictions = self._member_predictions(members, task)
            rows, used = complete_rows(predictions), self._stacked_methods()
            self.out_of_fold_ = stack_columns(predictions, used, task.n_classes)
            is_halved = [task.n_classes == 2 and method == "predict_proba" for method in used]
            self._widths = [own.shape[1] - halved for own, halved in zip(predictions, is_halved, strict=True)]
            tested, columns = task.take(rows), self.out_of_fold_[rows]
            self._fit_final(final, tested, columns)
            self._keep_errors(final, tested, columns)
            self._keep_history(members, tested, [own[rows] for own in predictions])
        return self

    def _stacked_methods(self) -> list[Method]:
        """The methods as stacked: a weighted mean uses class codes as probabilities 0 and 1."""
        is_mean = self._is_simplex and self._kind == "classifier"
        return ["predict_proba"] * len(self.stack_method_) if is_mean else self.stack_method_

    def _member_predictions(self, members: list[NamedMember], task: Task) -> list[Floats]:
        """Fit the members on all rows; return the predictions that the final estimator is fitted on."""
        if self._is_prefit:
            for member in members:
                check_is_fitted(member.estimator)
            self._keep_members(members, [member.estimator for member in members])
            return self._predictions(task.X)
        self._fit_members(members, task)  # first, so that members reject an invalid table
        predictions = self._out_of_fold(members, task, self._folds(task, self.cv), self.stack_method_)
        return [
            self._as_probabilities(own, method) for own, method in zip(predictions, self.stack_method_, strict=True)
        ]

    def _as_probabilities(self, predictions: Floats, method: Method) -> Floats:
        """Class codes as probabilities 0 and 1 for a weighted mean."""
        if method != "predict" or self._stacked_methods() == self.stack_method_:
            return predictions
        n_classes, is_tested = len(self.classes_), ~np.isnan(predictions[:, 0])
        p = np.full((len(predictions), n_classes), np.nan)
        p[is_tested] = np.eye(n_classes)[predictions[is_tested, 0].astype(np.int64)]
        return p

    def _fit_final(self, final: Any, task: Task, columns: Floats) -> None:
        vars(self).pop("weights_", None)
        self.final_estimator_ = self._make_final(final, task, columns)
        if self._is_simplex:
            self.weights_ = self.final_estimator_.weights

    def _make_final(self, final: Any, task: Task, columns: Floats) -> Any:
        """Fit the final estimator on the members' predictions for the rows of the task."""
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
        """Store residuals of the out-of-fold predictions."""

    def _keep_history(self, members: list[NamedMember], task: Task, predictions: list[Floats]) -> None:
        used = self._stacked_methods()
        scores = [self._scores(task, own, method) for own, method in zip(predictions, used, strict=True)]
        columns: dict[str, Any] = {"member": [member.name for member in members], "method": self.stack_method_}
        columns |= {name: [score[name] for score in scores] for name in scores[0]}
        if self._is_simplex:
            columns["weight"] = self.weights_
        self.history_ = History({name: column for name, column in columns.items() if not _is_all_nan(column)})

    # --- predictions --------------------------------------------------------------------------------------------------

    def _predictions(self, table: Any) -> list[Floats]:
        """The predictions [n, k] of each fitted member."""
        n_classes = len(self.classes_) if self._kind == "classifier" else 0
        if self._kind == "classifier" and self._is_prefit:
            members: list[Any] = [_WithCodes(member, self.classes_) for member in self.estimators_]
        else:
            members = self.estimators_
        pairs = zip(members, self.stack_method_, strict=True)
        return [self._as_probabilities(predictions_of(m, table, how, n_classes), how) for m, how in pairs]

    def _with_table(self, columns: Floats, table: Any) -> Any:
        """The columns, with `passthrough` those of the table too; a data frame remains one."""
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
            raise ValueError(
                f"X has columns with the names of those of the members, {names}: rename them or the members."
            )
        own: Any = nw.from_numpy(columns, names, backend=frame.implementation)
        series = [own[:, k] for k in range(columns.shape[1])]
        return frame.with_columns(*series).select(*names, *frame.columns).to_native()

    def transform(self, X: Any) -> Any:
        """Return the columns that the final estimator is fitted on, [n, columns]."""
        return self.transform_rows(X)

    def transform_rows(self, X: Any) -> Any:
        """Compute `transform` without the effect of `set_output`."""
        table = self._read_rows(X)
        n_classes = len(self.classes_) if self._kind == "classifier" else 0
        columns = stack_columns(self._predictions(table), self._stacked_methods(), n_classes)
        return self._with_table(columns, table)

    def out_of_fold_predictions(self) -> list[Floats]:
        """Return the out-of-fold predictions [n, k] of each member; for two classes both probabilities."""
        check_is_fitted(self, "estimators_")
        parts = np.split(self.out_of_fold_, np.cumsum(self._widths)[:-1], axis=1)
        used = self._stacked_methods()
        is_two = self._kind == "classifier" and len(self.classes_) == 2
        return [
            np.column_stack([1.0 - own, own]) if is_two and method == "predict_proba" else own
            for own, method in zip(parts, used, strict=True)
        ]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the columns of `transform`, such as "stackingclassifier_tree"."""
        check_is_fitted(self, "estimators_")
        names = self._own_names()
        if self._passes:
            fitted_names = getattr(self, "feature_names_in_", None)
            given = input_features if fitted_names is None else fitted_names
            names += [f"x{f}" for f in range(self.n_features_in_)] if given is None else list(given)
        return np.array(names, dtype=object)

    def _own_names(self) -> list[str]:
        """Names of the columns of the members."""
        own = type(self).__name__.lower()
        names: list[str] = []
        for name, width in zip(self.fitted_names(), self._widths, strict=True):
            names += [f"{own}_{name}"] if width == 1 else [f"{own}_{name}{k}" for k in range(width)]
        return names


class _WithCodes:
    """A fitted classifier that predicts class codes instead of labels."""

    def __init__(self, member: Any, classes: NDArray[Any]) -> None:
        self.member, self.labels = member, classes
        own = np.asarray(member.classes_)
        codes = np.searchsorted(classes, own)
        if np.any(classes.take(codes, mode="clip") != own):
            raise ValueError(
                f"{type(member).__name__} was fitted on the labels {own[:5].tolist()}, y has {classes[:5].tolist()}: "
                "fit it on labels of y."
            )
        self.classes_ = codes

    def predict(self, X: Any) -> NDArray[Any]:
        return np.searchsorted(self.labels, np.asarray(self.member.predict(X)))

    def predict_proba(self, X: Any) -> Floats:
        return self.member.predict_proba(X)

    def decision_function(self, X: Any) -> Floats:
        return self.member.decision_function(X)


def _is_all_nan(column: Any) -> bool:
    values = np.asarray(column)
    return values.dtype.kind == "f" and bool(np.all(np.isnan(values)))


class StackingClassifier(ClassifierMixin, BaseStacking):
    """A final classifier fitted on the out-of-fold predictions of given classifiers.

    The interface is that of scikit-learn, with out-of-fold scores of the members and the weighted mean "simplex".

    References
    ----------
    Wolpert, D. H. (1992). Stacked generalization. Neural Networks 5, 241-259.

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
        one_of("auto", "predict_proba", "decision_function", "predict"),
        default="auto",
        doc='The method whose predictions are stacked; "auto" is the first of the others that a member has.',
    )

    _kind: ClassVar[Literal["classifier", "regressor"]] = "classifier"

    def _default_final(self) -> Any:
        return LogisticRegression()

    def _wanted_method(self) -> str:
        return self.stack_method

    def _scores(self, task: Task, predictions: Floats, method: Method) -> dict[str, float]:
        if method == "predict_proba":
            return class_scores(task, predictions.argmax(axis=1), predictions)
        if method == "predict":
            return class_scores(task, predictions[:, 0].astype(np.int64), None)
        if predictions.shape[1] not in (1, task.n_classes):  # a score for each pair of classes
            return {"error": np.nan, "log_loss": np.nan}
        codes = (predictions[:, 0] > 0.0).astype(np.int64) if predictions.shape[1] == 1 else predictions.argmax(axis=1)
        return class_scores(task, codes, None)

    @available_if(_has_final("predict"))
    def predict(self, X: Any, **predict_params: Any) -> NDArray[Any]:
        """Predict classes by the final estimator; `predict_params` are passed to its `predict`."""
        stacked = self.transform_rows(X)
        return self.classes_.take(self.final_estimator_.predict(stacked, **predict_params))

    @available_if(_has_final("predict_proba"))
    def predict_proba(self, X: Any) -> Floats:
        """Predict class probabilities by the final estimator."""
        stacked = self.transform_rows(X)
        if self._is_simplex:
            return self.final_estimator_.predict_proba(stacked)
        return class_probabilities(
            self.final_estimator_, stacked, len(self.classes_)
        )  # a class without weight may be missing

    @available_if(_has_final("decision_function"))
    def decision_function(self, X: Any) -> Floats:
        """Compute the decision function of the final estimator."""
        stacked = self.transform_rows(X)
        return self.final_estimator_.decision_function(stacked)


class StackingRegressor(RegressorMixin, PredictionIntervals, BaseStacking):
    """A final regressor fitted on the out-of-fold predictions of given regressors.

    The interface is that of scikit-learn, with out-of-fold scores of the members and the weighted mean "simplex".

    References
    ----------
    Wolpert, D. H. (1992). Stacked generalization. Neural Networks 5, 241-259.

    Breiman, L. (1996). Stacked regressions. Machine Learning 24, 49-64.

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

    def _default_final(self) -> Any:
        return RidgeCV()

    def _scores(self, task: Task, predictions: Floats, method: Method) -> dict[str, float]:
        return regression_scores(task, predictions[:, 0])

    def _keep_errors(self, final: Any, task: Task, columns: Floats) -> None:
        """Store residuals of final estimators fitted without the fold of the row; none for prefit members."""
        vars(self).pop("_residuals", None)
        if self._is_prefit or task.n_rows < MIN_FOR_RESIDUALS:
            return
        stacked = task._replace(X=self._with_table(columns, task.X))
        errors = np.full(task.n_rows, np.nan)
        try:
            with warnings.catch_warnings():  # issued already by the fit on all rows
                warnings.simplefilter("ignore")
                for fold in stacked.splits(DEFAULT_FOLDS):
                    made = self._make_final(final, task.take(fold.train), columns[fold.train])
                    predictions = predicted_values(made, take_rows(stacked.X, fold.test))
                    errors[fold.test] = task.target[fold.test] - predictions
        except ValueError:  # a fold leaves too few rows for the final estimator
            return
        self._keep_residuals(errors, task.weight)

    @available_if(_has_final("predict"))
    def predict(self, X: Any, **predict_params: Any) -> Any:
        """Predict values by the final estimator; `predict_params` are passed to its `predict`."""
        stacked = self.transform_rows(X)
        return self.final_estimator_.predict(stacked, **predict_params)
