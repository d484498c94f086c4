"""Random forests and extremely randomised trees, for classification and regression."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin

from committee.base.array_types import Floats
from committee.base.parameters import fitted, one_of, param
from committee.base.prediction_only_error import kept_from_fit
from committee.calibration.power import Calibration, calibrate
from committee.calibration.prediction_intervals import PredictionIntervals, Residuals, read_quantiles
from committee.ensemble.grower import Grower
from committee.ensemble.incremental import TrainingData
from committee.ensemble.oob_scorers import score_predictions
from committee.forests._quantiles import LeafSamples, QuantileCalibration, RankTally, forest_quantiles
from committee.forests.base import MAX_FEATURES, BaseForest, MaxFeatures, whole_sample
from committee.tabular.class_weight import balanced_weights, class_weights, reweighed
from committee.tabular.validation import read_targets_regression, read_weights
from committee.trees.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor

if TYPE_CHECKING:
    from committee.ensemble.oob import OutOfBag
    from committee.sampling.row_samples import Sampler
    from committee.tree_engine.response import Response

ClassWeight = Mapping[Any, float] | Sequence[Mapping[Any, float]] | Literal["balanced", "balanced_subsample"] | None
"""A list has the class weights of each output."""


class BaseForestClassifier(ClassifierMixin, BaseForest):
    """Base class of forests of classification trees."""

    criterion: Literal["gini", "entropy", "log_loss"] = param(
        one_of("gini", "entropy", "log_loss"),
        default="gini",
        doc='Impurity that the splits decrease; "log_loss" is "entropy".',
    )
    bootstrap: bool | Literal["balanced"] = param(
        "boolean",
        one_of("balanced"),
        default=True,
        doc='Whether to draw rows with replacement; "balanced" draws from every class as many rows as the rarest one '
        "has.",
    )
    class_weight: ClassWeight = param(
        dict,
        list,
        one_of("balanced", "balanced_subsample"),
        None,
        default=None,
        doc='Weights of the classes, as a mapping or "balanced": inversely proportional to their frequencies, or '
        '"balanced_subsample": to those in the sample of each tree. A list has the weights of each target.',
    )
    calibration: Literal["oob"] | None = param(
        one_of("oob"),
        None,
        default=None,
        doc='"oob" calibrates the probabilities on the out-of-bag predictions; the predicted classes do not change.',
    )
    calibration_: Calibration = fitted(doc='Parameters of the calibration, with calibration="oob".')
    classes_: NDArray[Any] = fitted(doc="The class labels, in ascending order; a list of arrays for several targets.")
    n_classes_: int = fitted(doc="Number of classes; a list of numbers for several targets.")
    oob_decision_function_: Floats = fitted(
        doc="Class probabilities of every row by the trees not fitted on it; nan without any."
    )
    _kind = "classifier"
    _tree_class = DecisionTreeClassifier

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def _tree_params(self) -> dict[str, Any]:
        return {**super()._tree_params(), "class_weight": None}

    def _params_of_output(self, k: int) -> dict[str, Any]:
        return {"class_weight": self.class_weight[k]} if isinstance(self.class_weight, list) else {}

    def _check_outputs(self, n_outputs: int) -> None:
        if isinstance(self.class_weight, list) and len(self.class_weight) != n_outputs:
            raise ValueError(
                f"class_weight is a list of {len(self.class_weight)}, and y has {n_outputs} outputs: pass a dictionary "
                "for each output."
            )

    def _check_classes(self, classes: NDArray[Any]) -> None:
        if isinstance(self.class_weight, list):
            raise ValueError("class_weight as a list is for several outputs; y has one: pass a dictionary.")
        if self.monotonic_cst is not None and len(classes) > 2:
            raise ValueError(
                "Monotonicity constraints are not supported with multiclass classification: they constrain the "
                "probability of the second of two classes."
            )

    def _make_response(self, target: NDArray[Any], weight: Floats) -> Response:
        from committee.tree_engine.response import class_response

        return class_response(target, max(self.n_classes_, 2), weight, self.criterion)

    def _class_weighting(self, data: TrainingData) -> Callable[[Floats], Floats]:
        chosen: Any = self.class_weight  # `_check_classes` raises for lists
        target = data.target
        if chosen is None:
            return whole_sample
        if chosen == "balanced_subsample":
            return partial(_balanced_sample, target, len(self.classes_))
        by_row = class_weights(chosen, target, self.classes_, data.weight)[target]
        read_weights(data.weight * by_row, target.size, "class_weight")
        return partial(reweighed, factor=by_row)

    def _tally(self, data: TrainingData) -> OutOfBag:
        from committee.ensemble.oob import OutOfBag

        return OutOfBag(data.target, data.weight, max(self.n_classes_, 2), "zero_one")

    def _has_oob(self, sampler: Sampler) -> bool:
        if self.calibration == "oob" and sampler.kind == "all":
            raise ValueError("calibration='oob' needs out-of-bag rows: set bootstrap=True, or max_samples below 1.")
        return super()._has_oob(sampler) or self.calibration == "oob"

    def _set_out_of_bag(self, tally: OutOfBag, data: TrainingData, grower: Grower) -> None:
        rows = tally.scored
        probabilities, codes, weight = tally.mean[:, : self.n_classes_], data.target[rows], data.weight[rows]
        self.oob_decision_function_ = probabilities
        self.oob_score_ = np.nan
        if rows.size:
            y = self.classes_[codes]
            self.oob_score_ = score_predictions(self.oob_score, probabilities[rows], self.classes_, y, weight)
        if self.calibration == "oob":
            if not rows.size:
                raise ValueError("calibration='oob' needs out-of-bag rows, and every row is in every sample.")
            self.calibration_ = calibrate(probabilities[rows], codes, weight)

    def predict_proba(self, X: Any) -> Any:
        """Class probabilities, averaged over the trees; a list of arrays for several targets."""
        if hasattr(self, "output_forests_"):
            return [output.predict_proba(X) for output in self.output_forests_]
        return self._probabilities(self._mean_predictions(X))

    def _probabilities(self, means: Floats) -> Floats:
        """Probabilities from the means over trees, which have two columns for a single class."""
        probabilities = means[:, : self.n_classes_]
        return self.calibration_.apply(probabilities) if hasattr(self, "calibration_") else probabilities

    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of `predict_proba`; minus infinity for a probability of 0."""
        with np.errstate(divide="ignore"):
            result = self.predict_proba(X)
            return [np.log(each) for each in result] if isinstance(result, list) else np.log(result)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of the largest mean probability."""
        if hasattr(self, "output_forests_"):
            return np.stack([output.predict(X) for output in self.output_forests_], axis=1)
        codes = self.predict_proba(X).argmax(axis=1)
        return self.classes_[codes]

    def staged_predict_proba(self, X: Any) -> Iterator[Floats]:
        """`predict_proba` of the first tree, of the first two, and so on, with the calibration of the forest."""
        for means in self._staged_means(X):
            yield self._probabilities(means)

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """`predict` of the first tree, of the first two, and so on."""
        for probabilities in self.staged_predict_proba(X):
            yield self.classes_[probabilities.argmax(axis=1)]


class BaseForestRegressor(RegressorMixin, PredictionIntervals, BaseForest):
    """Base class of forests of regression trees."""

    criterion: Literal["squared_error", "friedman_mse", "absolute_error", "poisson"] = param(
        one_of("squared_error", "friedman_mse", "absolute_error", "poisson"),
        default="squared_error",
        doc='Error that the splits decrease. Leaves predict means, medians with "absolute_error"; "friedman_mse" is '
        'the same as "squared_error".',
    )
    bootstrap: bool = param("boolean", default=True, doc="Whether to draw rows with replacement.")
    max_features: MaxFeatures = param(*MAX_FEATURES, default=1.0)
    oob_prediction_: Floats = fitted(doc="Prediction of every row by the trees not fitted on it; nan without any.")
    _targets: Floats = fitted()
    _kind = "regressor"
    _tree_class = DecisionTreeRegressor
    _interval_hint: ClassVar[str] = "bootstrap=True and oob_score not False"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.positive_only = self.criterion == "poisson"
        return tags

    def _read_target(self, y: Any, n_rows: int) -> tuple[None, NDArray[Any]]:
        target = read_targets_regression(y, n_rows)
        return None, self._tree_class(criterion=self.criterion)._read_target(target, n_rows)[1]  # type: ignore[call-arg]

    def _make_response(self, target: NDArray[Any], weight: Floats) -> Response:
        from committee.tree_engine.response import value_response

        return value_response(target, weight, "squared_error" if self.criterion == "friedman_mse" else self.criterion)

    def _tally(self, data: TrainingData) -> OutOfBag:
        from committee.ensemble.oob import OutOfBag

        return OutOfBag(data.target, data.weight, 1, "squared_error")

    def _grow(self, data: TrainingData) -> None:
        self._targets = data.target if self.keep_leaf_samples else np.empty(0)
        super()._grow(data)

    def _set_out_of_bag(self, tally: OutOfBag, data: TrainingData, grower: Grower) -> None:
        rows = tally.scored
        predictions, target, weight = tally.mean, data.target[rows], data.weight[rows]
        self.oob_prediction_ = predictions[:, 0]
        self._keep_residuals(target - predictions[rows, 0], weight)
        if self.keep_leaf_samples:
            self._calibrated = self._calibrate_quantiles(data, grower)
        self.oob_score_ = np.nan  # R^2 is undefined for a single row
        if rows.size > 1:
            self.oob_score_ = score_predictions(self.oob_score, predictions[rows], None, target, weight)

    def _calibrate_quantiles(self, data: TrainingData, grower: Grower) -> QuantileCalibration:
        tally, out_of_bag = RankTally(data.target), grower.replay(self.trees_, self._member_seeds)
        for leaf, seed, reached in zip(self._leaves_kept, self._member_seeds, out_of_bag, strict=True):
            tally.add(leaf, self._sampler.weights(seed), *reached)
        return QuantileCalibration.by_ranks(tally.ranks, data.weight)

    def interval_residuals(self) -> tuple[Residuals, ...]:
        """The residuals of `predict_interval`: out of bag, or of `calibrate_intervals`."""
        self._check_has_trees()
        return super().interval_residuals()

    def predict(self, X: Any) -> Floats:
        """The mean prediction of the trees."""
        if hasattr(self, "output_forests_"):
            return np.stack([output.predict(X) for output in self.output_forests_], axis=1)
        return self._mean_predictions(X)[:, 0]

    def staged_predict(self, X: Any) -> Iterator[Floats]:
        """`predict` of the first tree, of the first two, and so on."""
        for means in self._staged_means(X):
            yield means[:, 0]

    def predict_quantiles(
        self,
        X: Any,
        quantiles: ArrayLike = (0.1, 0.5, 0.9),
        calibration: Literal["auto", "oob"] | None = "auto",
    ) -> Floats:
        """Predict quantiles of the target.

        With ``keep_leaf_samples=True`` they are weighted quantiles of the training targets in the leaves of the row:
        the weight of a training row is its fraction of the leaf, averaged over the trees (Meinshausen 2006). Without,
        they are the prediction plus quantiles of the residuals, as in `predict_interval`.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            The rows to predict.
        quantiles : array-like of shape (n_quantiles,), default=(0.1, 0.5, 0.9)
            The levels.
        calibration : {"auto", "oob"} or None, default="auto"
            "oob" changes the levels so that the wanted fractions of the training rows lie below their out-of-bag
            quantiles; None does not. "auto" is "oob" if there are out-of-bag predictions.

        Returns
        -------
        ndarray of shape (n_samples, n_quantiles)
        """
        self._check_has_trees()
        levels = read_quantiles(quantiles)
        if calibration not in ("auto", "oob", None):
            raise ValueError(f"calibration must be 'auto', 'oob' or None, got {calibration!r}.")
        if calibration == "auto" and not self._has_leaf_samples():
            return super().predict_quantiles(X, levels)
        if not kept_from_fit(self, "_leaves_kept"):
            raise ValueError("calibration=None or 'oob' needs the rows of the leaves: fit with keep_leaf_samples=True.")
        fitted: QuantileCalibration | None = getattr(self, "_calibrated", None)
        if fitted is not None and not fitted.lower.size:
            fitted = None
        if calibration == "oob" and fitted is None:
            raise ValueError("calibration='oob' needs out-of-bag rows: set bootstrap=True and oob_score not False.")
        if calibration is not None and fitted is not None:
            levels = fitted.levels(levels)
        return forest_quantiles(self.leaf_samples_, self.apply(X), levels)

    def _has_leaf_samples(self) -> bool:
        """Whether the fit kept the rows of the leaves; prediction-only files do not have them."""
        return bool(vars(self).get("_leaves_kept", self.keep_leaf_samples))

    @property
    def leaf_samples_(self) -> LeafSamples:
        """The training rows of each leaf, and their targets; with `keep_leaf_samples`."""
        leaves, sampler = kept_from_fit(self, "_leaves_kept"), self._sampler
        return LeafSamples(leaves, [sampler.weights(seed) for seed in self._member_seeds], self._targets)


def _balanced_sample(target: NDArray[np.int64], n_classes: int, sample: Floats) -> Floats:
    """The weights of a sample times class weights of which its classes have equal totals."""
    return sample * balanced_weights(target, n_classes, sample)[target]


class RandomForestClassifier(BaseForestClassifier):
    """Random forest of classification trees.

    Every tree is grown on a bootstrap sample of the rows and searches a random subset of the features at every node.
    The prediction is the class of the largest mean probability. The rows outside the samples give the out-of-bag error,
    probabilities and score without held-out rows. Missing values and categories need no preprocessing.

    Notes
    -----
    An integer sample weight w is equivalent to repeating the row w times, in the bootstrap too, and the model does not
    depend on the order of the rows.

    References
    ----------
    Breiman, Random forests, Machine Learning 45, 2001.
    Chen, Liaw and Breiman, Using random forest to learn imbalanced data, 2004 (the balanced bootstrap).

    Examples
    --------
    >>> from committee import RandomForestClassifier
    >>> from committee.datasets import load_dataset
    >>> glass = load_dataset("glass")
    >>> forest = RandomForestClassifier(random_state=0).fit(glass.X, glass.y)
    >>> round(forest.oob_error_, 3)
    0.21
    """


class RandomForestRegressor(BaseForestRegressor):
    """Random forest of regression trees.

    Every tree is grown on a bootstrap sample of the rows; the prediction is the mean over the trees. The defaults are
    those of scikit-learn, all features at every node; `RandomForestRegressor.breiman()` has those of the literature.
    Prediction intervals use the out-of-bag residuals.

    References
    ----------
    Breiman, Random forests, Machine Learning 45, 2001.
    Meinshausen, Quantile regression forests, 2006.

    Examples
    --------
    >>> from committee import RandomForestRegressor
    >>> from committee.datasets import load_dataset
    >>> ozone = load_dataset("ozone")
    >>> forest = RandomForestRegressor.breiman(random_state=0).fit(ozone.X, ozone.y)
    >>> round(forest.oob_score_, 2)
    0.73
    """

    @classmethod
    def breiman(cls, **params: Any) -> Self:
        """A forest with Breiman's defaults: a third of the features at every node, no splits of fewer than 5 rows."""
        choices: dict[str, Any] = {"max_features": 1.0 / 3.0, "min_samples_split": 5, **params}
        return cls(**choices)


class ExtraTreesClassifier(BaseForestClassifier):
    """Extremely randomised classification trees.

    Every tree is grown on all rows, or on a bootstrap sample, and every node takes the best of one random threshold for
    each of a random subset of the features. The prediction is the class of the largest mean probability.

    References
    ----------
    Geurts, Ernst and Wehenkel, Extremely randomized trees, Machine Learning 63, 2006.

    Examples
    --------
    >>> from committee import ExtraTreesClassifier
    >>> from committee.datasets import load_dataset
    >>> glass = load_dataset("glass")
    >>> forest = ExtraTreesClassifier(bootstrap=True, random_state=0).fit(glass.X, glass.y)
    >>> round(forest.oob_error_, 3)
    0.21
    """

    bootstrap: bool | Literal["balanced"] = param(
        "boolean",
        one_of("balanced"),
        default=False,
        doc='Whether to draw rows with replacement; "balanced" draws from every class as many rows as the rarest one '
        "has.",
    )
    _is_random = True


class ExtraTreesRegressor(BaseForestRegressor):
    """Extremely randomised regression trees; `ExtraTreesClassifier` describes the method.

    Examples
    --------
    >>> from committee import ExtraTreesRegressor
    >>> from committee.datasets import load_dataset
    >>> ozone = load_dataset("ozone")
    >>> forest = ExtraTreesRegressor(bootstrap=True, random_state=0).fit(ozone.X, ozone.y)
    >>> round(forest.oob_score_, 2)
    0.72
    """

    bootstrap: bool = param("boolean", default=False, doc="Whether to draw rows with replacement.")
    _is_random = True
