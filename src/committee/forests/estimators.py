"""Random forests and extremely randomised trees, for classes and for numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin

from committee.base.array_types import Floats
from committee.base.parameters import fitted, one_of, param
from committee.base.prediction_only_error import kept_from_fit
from committee.calibration.power import calibrate
from committee.calibration.prediction_intervals import PredictionIntervals, Residuals, read_quantiles
from committee.ensemble.oob_scorers import score_predictions
from committee.forests._base import MAX_FEATURES, BaseForest, MaxFeatures, Rows
from committee.forests._quantiles import Calibrated, LeafSamples, RankTally, forest_quantiles
from committee.tabular.class_weight import balanced_weights, class_weights, reweighed
from committee.tabular.validation import read_targets_classification, read_targets_regression, read_weights
from committee.trees.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor

if TYPE_CHECKING:
    from committee.ensemble.oob import OutOfBag
    from committee.sampling.row_samples import Sampler
    from committee.tree_engine.response import Response

ClassWeight = Mapping[Any, float] | Sequence[Mapping[Any, float]] | Literal["balanced", "balanced_subsample"] | None
"""A list has a weight for each class of each output."""


class BaseForestClassifier(ClassifierMixin, BaseForest):
    """Answers of a forest about classes."""

    criterion: Literal["gini", "entropy", "log_loss"] = param(one_of("gini", "entropy", "log_loss"), default="gini")
    bootstrap: bool | Literal["balanced"] = param("boolean", one_of("balanced"), default=True)
    class_weight: ClassWeight = param(dict, list, one_of("balanced", "balanced_subsample"), None, default=None)
    calibration: Literal["oob"] | None = param(one_of("oob"), None, default=None)
    classes_: Any = fitted()
    n_classes_: Any = fitted()
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
                "for each of them."
            )

    def _read_target(self, y: Any, n_rows: int) -> tuple[dict[str, Any], NDArray[Any]]:
        if isinstance(self.class_weight, list):
            raise ValueError("class_weight as a list is for several outputs; y has one: pass a dictionary.")
        classes, codes = read_targets_classification(y, n_rows)
        if self.monotonic_cst is not None and len(classes) > 2:
            raise ValueError(
                "Monotonicity constraints are not supported with multiclass classification: they are about the "
                "probability of the second of two classes."
            )
        if self.warm_start and hasattr(self, "trees_") and not np.array_equal(classes, self.classes_):
            raise ValueError("warm_start=True goes on with the same classes: those of y differ from the earlier fit.")
        return {"classes_": classes, "n_classes_": len(classes)}, codes

    def _respond(self, target: NDArray[Any], weight: Floats) -> Response:
        from committee.tree_engine.response import class_response

        return class_response(target, max(int(self.n_classes_), 2), weight, self.criterion)

    def _reweigh(self, rows: Rows) -> Callable[[Floats], Floats]:
        chosen: Any = self.class_weight  # no list: `_read_target` refused it
        target = rows.target
        if chosen is None:
            return lambda sample: sample
        if chosen == "balanced_subsample":
            return lambda sample: sample * balanced_weights(target, len(self.classes_), sample)[target]
        by_row = class_weights(chosen, target, self.classes_, rows.weight)[target]
        read_weights(rows.weight * by_row, target.size, "class_weight")
        return lambda sample: reweighed(sample, by_row)

    def _tally(self, target: NDArray[Any], weight: Floats) -> OutOfBag:
        from committee.ensemble.oob import OutOfBag

        return OutOfBag(target, weight, max(int(self.n_classes_), 2), "zero_one")

    def _is_judged(self, sampler: Sampler) -> bool:
        if self.calibration == "oob" and sampler.kind == "all":
            raise ValueError("calibration='oob' needs rows out of bag: bootstrap=True, or max_samples below 1.")
        return super()._is_judged(sampler) or self.calibration == "oob"

    def _keep_out_of_bag(self, tally: OutOfBag, rows: Rows) -> None:
        judged = tally.scored
        shares = tally.mean[:, : int(self.n_classes_)]
        self.oob_decision_function_ = shares
        self.oob_score_ = np.nan
        if judged.size:
            y = self.classes_[rows.target[judged]]
            self.oob_score_ = score_predictions(self.oob_score, shares[judged], self.classes_, y, rows.weight[judged])
        if self.calibration == "oob":
            if not judged.size:
                raise ValueError("calibration='oob' needs rows out of bag, and no tree left any out: give more rows.")
            self.calibration_ = calibrate(shares[judged], rows.target[judged], rows.weight[judged])

    def predict_proba(self, X: Any) -> Any:
        """Class shares in the leaves each row reaches, averaged over the trees; a list of these for several outputs."""
        if hasattr(self, "output_forests_"):
            return [output.predict_proba(X) for output in self.output_forests_]
        return self._probabilities(self._mean_predictions(X))

    def _probabilities(self, means: Floats) -> Floats:
        """Of mean answers of trees; a single class is kept as two."""
        shares = means[:, : int(self.n_classes_)]
        return self.calibration_.apply(shares) if hasattr(self, "calibration_") else shares

    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of `predict_proba`; minus infinity for a class that no leaf has."""
        with np.errstate(divide="ignore"):
            shares = self.predict_proba(X)
            return [np.log(share) for share in shares] if isinstance(shares, list) else np.log(shares)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of largest mean share."""
        if hasattr(self, "output_forests_"):
            return np.stack([output.predict(X) for output in self.output_forests_], axis=1)
        shares = self.predict_proba(X)
        return self.classes_[shares.argmax(axis=1)]

    def staged_predict_proba(self, X: Any) -> Iterator[Floats]:
        """`predict_proba` of the first tree, the first two, and so on; the last is that of the forest.

        With ``calibration="oob"`` every stage is calibrated by the power and the mixture of the whole forest.
        """
        for means in self._staged_means(X):
            yield self._probabilities(means)

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """`predict` of the first tree, the first two, and so on."""
        for shares in self.staged_predict_proba(X):
            yield self.classes_[shares.argmax(axis=1)]


class BaseForestRegressor(RegressorMixin, PredictionIntervals, BaseForest):
    """Answers of a forest about numbers."""

    criterion: Literal["squared_error", "friedman_mse", "absolute_error", "poisson"] = param(
        one_of("squared_error", "friedman_mse", "absolute_error", "poisson"), default="squared_error"
    )
    bootstrap: bool = param("boolean", default=True)
    max_features: MaxFeatures = param(*MAX_FEATURES, default=1.0)
    _targets: Floats = fitted()
    _tree_class = DecisionTreeRegressor
    _interval_hint: ClassVar[str] = "bootstrap=True and oob_score not False"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.positive_only = self.criterion == "poisson"
        return tags

    def _read_target(self, y: Any, n_rows: int) -> tuple[dict[str, Any], NDArray[Any]]:
        target = read_targets_regression(y, n_rows)
        self._targets = target if self.keep_leaf_samples else np.empty(0)
        return self._tree_class(criterion=self.criterion)._read_target(target, n_rows)  # type: ignore[call-arg]

    def _respond(self, target: NDArray[Any], weight: Floats) -> Response:
        from committee.tree_engine.response import value_response

        return value_response(target, weight, "squared_error" if self.criterion == "friedman_mse" else self.criterion)

    def _tally(self, target: NDArray[Any], weight: Floats) -> OutOfBag:
        from committee.ensemble.oob import OutOfBag

        return OutOfBag(target, weight, 1, "squared_error")

    def _keep_out_of_bag(self, tally: OutOfBag, rows: Rows) -> None:
        judged = tally.scored
        predictions, target = tally.mean, rows.target[judged]
        self.oob_prediction_ = predictions[:, 0]
        self._keep_residuals(target - predictions[judged, 0], rows.weight[judged])
        if self.keep_leaf_samples:
            self._calibrated = self._calibrate_quantiles(rows)
        self.oob_score_ = np.nan  # R^2 of a single row is not defined
        if judged.size > 1:
            self.oob_score_ = score_predictions(self.oob_score, predictions[judged], None, target, rows.weight[judged])

    def _calibrate_quantiles(self, rows: Rows) -> Calibrated:
        from committee.forests._sampling import out_of_bag_leaves

        tally = RankTally(self._targets, rows.target)
        for tree, leaf, seed in zip(self.trees_, self._leaves_kept, self._member_seeds, strict=True):
            judged = out_of_bag_leaves(self._sampler, seed, tree, rows.X)
            tally.add(leaf, self._sampler.weights(seed), *judged)
        return Calibrated.by_ranks(tally.ranks, rows.weight)

    def interval_residuals(self) -> tuple[Residuals, ...]:
        """The residuals behind `predict_interval`: out of bag, or of `calibrate_intervals`."""
        self._need_trees()
        return super().interval_residuals()

    def predict(self, X: Any) -> Floats:
        """Mean over the trees of the value of the leaf each row ends in."""
        if hasattr(self, "output_forests_"):
            return np.stack([output.predict(X) for output in self.output_forests_], axis=1)
        return self._mean_predictions(X)[:, 0]

    def staged_predict(self, X: Any) -> Iterator[Floats]:
        """`predict` of the first tree, the first two, and so on."""
        for means in self._staged_means(X):
            yield means[:, 0]

    def predict_quantiles(
        self,
        X: Any,
        quantiles: ArrayLike = (0.1, 0.5, 0.9),
        calibration: Literal["auto", "oob"] | None = "auto",
    ) -> Floats:
        """Predict quantiles of the target of every row (n_samples, n_quantiles).

        With ``keep_leaf_samples=True`` they are quantiles of the training targets that share leaves with the row; a
        training row weighs its fraction of the leaf, averaged over the trees (Meinshausen, Quantile regression forests,
        2006). With `calibration` "oob" the levels are moved to those below which the wanted fractions of the training
        rows lie out of bag; None takes them as they are; "auto" is "oob" where rows were predicted out of bag.

        Without leaf samples they are the prediction plus quantiles of the residuals, as in `predict_interval`.
        """
        self._need_trees()
        levels = read_quantiles(quantiles)
        if calibration not in ("auto", "oob", None):
            raise ValueError(f"calibration must be 'auto', 'oob' or None, got {calibration!r}.")
        if calibration == "auto" and not self._has_leaf_samples():
            return super().predict_quantiles(X, levels)
        if not kept_from_fit(self, "_leaves_kept"):
            raise ValueError("Quantiles come from the rows in the leaves: fit with keep_leaf_samples=True.")
        known: Calibrated | None = getattr(self, "_calibrated", None)
        is_known = known is not None and known.lower.size > 0
        if calibration == "oob" and not is_known:
            raise ValueError("calibration='oob' needs rows out of bag: bootstrap=True and oob_score not False.")
        if calibration is not None and known is not None and is_known:
            levels = known.levels(levels)
        return forest_quantiles(self.leaf_samples_, self.apply(X), levels)

    def _has_leaf_samples(self) -> bool:
        """Whether the fit kept them; a prediction-only file has lost them."""
        return bool(vars(self).get("_leaves_kept", self.keep_leaf_samples))

    @property
    def leaf_samples_(self) -> LeafSamples:
        """Which training rows each leaf has, and their targets."""
        leaves, sampler = kept_from_fit(self, "_leaves_kept"), self._sampler
        return LeafSamples(leaves, [sampler.weights(seed) for seed in self._member_seeds], self._targets)


class RandomForestClassifier(BaseForestClassifier):
    """Random forest of classification trees.

    Parameters have scikit-learn's names and meanings; these are new or take more:

    n_estimators : int or "auto"
        "auto" grows until the out-of-bag error settles: the mean over 50 trees is not lower by more than a share
        `tol` than over the 50 before (at most 2,000 trees).
    bootstrap : bool or "balanced"
        "balanced" draws from every class as many rows as the rarest has.
    oob_score : bool, "auto", a scorer or its name, or a function (y_true, y_pred)
        "auto" judges out of bag wherever rows are left out.
    splitter : {"auto", "best", "binned"}
        "best" tries every distinct value, "binned" the edges of `max_bins` quantile bins; "auto" takes "best" up to
        100,000 rows.
    keep_leaf_samples : bool
        Keep which rows each leaf has: for quantiles and for the cases behind a prediction.
    tune : "oob" or None
        "oob" chooses `max_features` and `min_samples_leaf` by the out-of-bag error of small forests (``tuned_``).
    calibration : "oob" or None
        "oob" makes the probabilities honest by the out-of-bag answers (``calibration_``); predictions stay.

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
    """Random forest of regression trees; `RandomForestClassifier` describes the parameters.

    The defaults are scikit-learn's: all features at every node, full trees. `RandomForestRegressor.breiman()` has those
    of the literature: a third of the features, and nodes of fewer than 5 rows are not split.

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
        """Breiman's choices: m = floor(d / 3), nodes of fewer than 5 rows are not split; other parameters as given."""
        choices: dict[str, Any] = {"max_features": 1.0 / 3.0, "min_samples_split": 5, **params}
        return cls(**choices)


class ExtraTreesClassifier(BaseForestClassifier):
    """Extremely randomised trees: of each feature looked at one cut is drawn; no bootstrap unless asked for.

    `RandomForestClassifier` describes the parameters.

    Examples
    --------
    >>> from committee import ExtraTreesClassifier
    >>> from committee.datasets import load_dataset
    >>> glass = load_dataset("glass")
    >>> forest = ExtraTreesClassifier(bootstrap=True, random_state=0).fit(glass.X, glass.y)
    >>> round(forest.oob_error_, 3)
    0.21
    """

    bootstrap: bool | Literal["balanced"] = param("boolean", one_of("balanced"), default=False)
    _is_random = True


class ExtraTreesRegressor(BaseForestRegressor):
    """Extremely randomised regression trees; `RandomForestClassifier` describes the parameters.

    Examples
    --------
    >>> from committee import ExtraTreesRegressor
    >>> from committee.datasets import load_dataset
    >>> ozone = load_dataset("ozone")
    >>> forest = ExtraTreesRegressor(bootstrap=True, random_state=0).fit(ozone.X, ozone.y)
    >>> round(forest.oob_score_, 2)
    0.72
    """

    bootstrap: bool = param("boolean", default=False)
    _is_random = True
