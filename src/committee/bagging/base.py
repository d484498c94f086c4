"""Base class of bagged classifiers and regressors: draw samples, fit and evaluate members, predict."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from itertools import chain
from numbers import Integral
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import clone
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted

from committee.bagging._oob import Record, Rule, Tally, inverse_error, make_tally, members_missing, own_error
from committee.bagging.bagging import BaggingGrower, BaggingRound, Sampling
from committee.bagging.base_learners import SubspaceTree, make_learner
from committee.bagging.prediction import all_predictions, pack_members, sum_of_predictions
from committee.base.array_types import Floats
from committee.base.available_if import available_if
from committee.base.parameters import at_least, between, count_fraction, fitted, one_of, param
from committee.base.prediction_only_error import kept_from_fit
from committee.base.stacklevel import level_of_caller
from committee.ensemble.grower import Grower
from committee.ensemble.incremental import (
    BaseIncrementalMetaEnsemble,
    GivenRows,
    Run,
    TrainingData,
    ValidationSet,
    seeds_of_rounds,
)
from committee.ensemble.oob import Loss
from committee.ensemble.oob_scorers import check_score, score_predictions
from committee.ensemble.stopping import Plateau, Stopping
from committee.ensemble.warm_start import check_n_estimators, check_same_data, data_fingerprint
from committee.members.member import Member, TreeMember
from committee.records.ensemble import TreeSum
from committee.records.forest import PackedForest
from committee.records.history import History
from committee.sampling.resampling import number_of_draws, without_common_factor
from committee.sampling.row_samples import Indices, Places, Sampler
from committee.tabular.identity import content_order
from committee.tabular.schema import Columns
from committee.tree_engine.memory_guard import reject_too_many_trees
from committee.trees.decision_tree import BaseDecisionTree
from committee.trees.sklearn_view import TreeView

MAX_MEMBERS = 1000
"""Limit of n_estimators="auto"."""

TreeSize = Literal["full", "max_leaf_nodes", "pruned"] | None


def _is_sum_of_trees(self: Any) -> bool:
    return isinstance(self._weak(), BaseDecisionTree) and getattr(self, "_combined", self.combine) != "median"


class Evaluation(NamedTuple):
    """Sums of the predictions of out-of-bag rows, and of validation rows X_val [n, d] if there are any."""

    oob: Tally
    validation: Tally | None
    X_val: NDArray[np.floating]
    variance: float  # of the target, for the coefficients of the members; 0 if all are 1


class BaseBagging(BaseIncrementalMetaEnsemble):
    """Base class of bagged models; a subclass combines the predictions of the members."""

    estimator: Any = param(
        HasMethods(["fit", "predict"]),
        None,
        default=None,
        kw_only=False,
        doc="Base estimator of the members; one whose `fit` takes no `sample_weight` is fitted on repeated rows. None "
        "is a decision tree.",
    )
    n_estimators: int | Literal["auto"] = param(
        at_least(1),
        one_of("auto"),
        default=10,
        kw_only=False,
        doc='Number of members; "auto" adds members until the error converges, at most 1000.',
    )
    max_samples: int | float | None = param(
        at_least(1),
        count_fraction,
        None,
        default=None,
        doc="Rows in a sample, as a number or a fraction; None is the number of rows of X.",
    )
    max_features: int | float = param(
        at_least(1), count_fraction, default=1.0, doc="Features in a sample, as a number or a fraction."
    )
    bootstrap: bool = param("boolean", default=True, doc="Whether to draw rows with replacement.")
    bootstrap_features: bool = param("boolean", default=False, doc="Whether to draw features with replacement.")
    tree_size: TreeSize = param(
        one_of("full", "max_leaf_nodes", "pruned"),
        None,
        default=None,
        doc="Size of the default trees: full, at most `max_leaf_nodes` leaves, or pruned by 10-fold cross-validation "
        "inside their sample. None is full.",
    )
    max_leaf_nodes: int | None = param(
        at_least(2), None, default=None, doc='Leaves of a tree with tree_size="max_leaf_nodes".'
    )
    oob_score: bool | str | Callable[..., float] = param(
        "boolean",
        callable,
        str,
        default=False,
        doc="Score of the out-of-bag predictions: a scorer, its name, or a function of (y_true, y_pred). True is the "
        "accuracy, or R^2. The out-of-bag error is in `history_` in any case.",
    )
    n_iter_no_change: int = param(
        at_least(1),
        default=25,
        doc='Number of last members whose best error n_estimators="auto" compares with that of the members before.',
    )
    tol: float = param(
        between(0.0, 1.0, "left"),
        default=0.01,
        doc='n_estimators="auto" stops once the best error of the last `n_iter_no_change` members is not below the '
        "best one before them by more than this fraction of it.",
    )
    combine: Any = fitted()
    coefficients_: Floats = fitted(doc="Coefficients of the members in the combination.")
    history_: History = fitted(
        doc="One row per member: the out-of-bag error of the ensemble so far and of the member, the validation error "
        "if there are validation rows, the number of leaves of a tree, and the coefficient if members are weighted."
    )
    stop_reason_: str = fitted()
    oob_error_: float = fitted(doc="Error of the out-of-bag predictions, if samples leave rows out.")
    oob_score_: float = fitted(doc="Score of the out-of-bag predictions, with `oob_score`.")
    _combined: Rule = fitted()
    _packed: PackedForest | None = fitted()
    _sample: Sampling = fitted()
    _member_seeds: list[int] = fitted()
    _loss: ClassVar[Loss]
    _oob_prediction: ClassVar[str]  # the attribute that holds the out-of-bag predictions
    _optional_state: ClassVar[tuple[str, ...]] = ("_residuals",)

    # --- what a subclass chooses --------------------------------------------------------------------------------------

    def _default_tree(self, **params: Any) -> BaseDecisionTree:
        raise NotImplementedError

    def _rule(self) -> Rule:
        """The rule that combines the members."""
        raise NotImplementedError

    # --- the base learner ---------------------------------------------------------------------------------------------

    def _default_estimator(self) -> Any:
        if self.tree_size == "max_leaf_nodes":
            return self._default_tree(max_leaf_nodes=self.max_leaf_nodes)
        return self._default_tree(ccp_alpha="cv") if self.tree_size == "pruned" else self._default_tree()

    def _check_parameters(self) -> None:
        if self.estimator is not None and (self.tree_size is not None or self.max_leaf_nodes is not None):
            raise ValueError(
                "tree_size and max_leaf_nodes are parameters of the default trees, and estimator is given too: leave "
                "estimator=None, or set the parameters of the estimator."
            )
        if (self.tree_size == "max_leaf_nodes") != (self.max_leaf_nodes is not None):
            raise ValueError(
                "tree_size='max_leaf_nodes' requires a number max_leaf_nodes, and the reverse; got "
                f"tree_size={self.tree_size!r} and max_leaf_nodes={self.max_leaf_nodes!r}."
            )
        super()._check_parameters()

    # --- fitting ------------------------------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: ArrayLike | None = None,
        **fit_params: Any,
    ) -> Self:
        """Fit the members.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            NumPy array, pandas, polars or Arrow table.
        y : array-like of shape (n_samples,)
            Class labels, or values in regression.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows. An integer weight w is equivalent to repeating the row w times.
        X_val, y_val, sample_weight_val : optional
            Rows to evaluate the members on instead of the out-of-bag rows.
        **fit_params : dict
            Metadata requested by the base estimator (its `set_fit_request`), with metadata routing enabled; arrays
            with a value for each row are passed for the rows of the sample.

        Returns
        -------
        self
        """
        metadata = self._route(fit_params)
        return self._fit(X, y, sample_weight, GivenRows(X_val, y_val, sample_weight_val), metadata)

    def get_metadata_routing(self) -> Any:
        """Sample weights are used by the ensemble; other metadata is routed to the base estimator on request."""
        router = MetadataRouter(owner=self).add_self_request(self)
        weak = self._weak()
        if hasattr(weak, "get_metadata_routing"):
            router.add(estimator=weak, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        return router

    def _route(self, fit_params: dict[str, Any]) -> dict[str, Any]:
        """The metadata for the base estimator."""
        if not fit_params:
            return {}
        if not get_config()["enable_metadata_routing"]:
            raise TypeError(
                f"fit takes no {sorted(fit_params)}: passing metadata other than sample_weight to the members needs "
                "sklearn.set_config(enable_metadata_routing=True) and the estimator's set_fit_request."
            )
        routed: Any = process_routing(self, "fit", **fit_params)
        return dict(routed["estimator"].fit) if "estimator" in routed else {}

    def _read_target(self, y: Any, n_rows: int) -> tuple[NDArray[Any] | None, NDArray[Any]]:
        _reject_outputs(y, type(self).__name__, self._kind)
        return super()._read_target(y, n_rows)

    def _sampling(self, data: TrainingData) -> Sampling:
        order = content_order(data.X, np.asarray(data.target, np.float64))
        places = Places.lay_out(order, without_common_factor(data.weight))
        total = number_of_draws(places.weight)
        d = data.columns.n_features
        n_features = self.max_features if isinstance(self.max_features, Integral) else int(self.max_features * d)
        if n_features > d and not self.bootstrap_features:
            raise ValueError(f"max_features={n_features} must be at most the number of features, {d}.")
        n_draws = total if self.max_samples is None else self.max_samples
        n_draws = int(n_draws) if isinstance(n_draws, Integral) else max(1, int(n_draws * total))
        if n_draws > total and not self.bootstrap:
            raise ValueError(
                f"max_samples={n_draws} must be at most {total}, the number of rows, when bootstrap=False."
            )
        kind = "weighted" if self.bootstrap else "all" if n_draws == total else "pasting"
        if kind == "all":
            places = Places.lay_out(order, data.weight)
        rows = Sampler(data.weight, places, n_draws, kind)
        return Sampling(rows, d, max(1, int(n_features)), self.bootstrap_features)

    def _evaluation(self, data: TrainingData, validation: ValidationSet | None) -> Evaluation:
        rule, k = self._rule(), data.n_outputs
        variance = _variance(data.target, data.weight) if rule == "weighted" else 0.0
        oob = make_tally(rule, data.target, data.weight, k, self._loss)
        if validation is None:
            return Evaluation(oob, None, data.X[:0], variance)
        return Evaluation(
            oob, make_tally(rule, validation.target, validation.weight, k, self._loss), validation.X, variance
        )

    def _check_oob(self, sampling: Sampling, has_validation: bool) -> None:
        """Raise ValueError for an unknown score, and for parameters that need out-of-bag rows if there are none."""
        check_score(self.oob_score)
        if not sampling.draws_all:
            return
        uses = [name for name, used in (
            ("oob_score", bool(self.oob_score)),
            ("combine='weighted'", self._rule() == "weighted"),
            ("n_estimators='auto' without X_val, y_val", self.n_estimators == "auto" and not has_validation),
        ) if used]  # fmt: skip
        if uses:
            raise ValueError(
                f"Out of bag estimation only available if samples leave rows out, and {uses[0]} needs it: set "
                "bootstrap=True, or max_samples below 1.0."
            )

    def _fit_rounds(self, data: TrainingData, validation: ValidationSet | None) -> dict[str, Any]:
        grower = self._grower(data)
        sampling: Sampling = grower.samples
        self._check_oob(sampling, validation is not None)
        evaluation = self._evaluation(data, validation)
        members = self._resume_or_start(grower.fingerprint)
        is_auto = self.n_estimators == "auto"
        n_wanted = MAX_MEMBERS if self.n_estimators == "auto" else int(self.n_estimators)
        check_n_estimators(n_wanted, len(members))
        seeds = seeds_of_rounds(data.seed, 0, n_wanted)
        plateau = Plateau(self.n_iter_no_change, self.tol, "oob_error" if validation is None else "validation_error")
        run = Run()
        reason = self._extend(
            run,
            chain(grower.replay(members, seeds[: len(members)]), grower.grow(seeds[len(members) :])),
            lambda round_: self._evaluate(round_, evaluation, len(run.members) + 1, n_wanted),
            Stopping(plateau) if is_auto else Stopping(),
            n_rounds=n_wanted,
            status=lambda record: f"{plateau.what} {getattr(record, plateau.measure):.4g}",
        )
        if not reason and is_auto:
            reason = f"the {plateau.what} had not converged after {MAX_MEMBERS} members, the maximum"
        return {
            **self._attributes(run, validation is not None),
            **self._oob_attributes(evaluation.oob, sampling, data, len(run.members)),
            "stop_reason_": reason or "all members were fitted",
            "_sample": sampling,
            "_member_seeds": seeds[: len(run.members)],
            "_data_fingerprint": grower.fingerprint,
        }

    def _grower(self, data: TrainingData) -> Grower:
        """What fits the members."""
        sampling = self._sampling(data)
        is_soft = self._kind == "classifier" and self._rule() == "mean"
        fingerprint = self._fingerprint(data, sampling, is_soft)
        learn = make_learner(self._weak(), data, is_soft, self.n_jobs)
        is_tree = isinstance(self._weak(), BaseDecisionTree)
        return BaggingGrower(learn, sampling, data.X, fingerprint, self.n_jobs, is_tree)

    def _fingerprint(self, data: TrainingData, sampling: Sampling, is_soft: bool) -> tuple[Any, ...]:
        """Fingerprint of a warm start: the rows, how samples are drawn, what members predict."""
        drawn = sampling.rows
        settings = (drawn.n_draws, drawn.kind, *sampling[1:], is_soft)
        return data_fingerprint(data.X, data.target, data.weight, drawn.places.row, settings=settings)

    def _resume_or_start(self, fingerprint: tuple[Any, ...]) -> list[Member]:
        """The members of an earlier fit, or none."""
        if not self._is_continued():
            return []
        check_same_data(kept_from_fit(self, "_data_fingerprint"), fingerprint, "or how samples are drawn and combined")
        return list(self.members_)

    def _evaluate(self, round_: BaggingRound, evaluation: Evaluation, number: int, n_wanted: int) -> Record:
        """The record of a member."""
        if number == 1 and isinstance(round_.member, TreeMember | SubspaceTree):
            reject_too_many_trees(round_.member.tree, n_wanted if self.n_estimators != "auto" else 1)
        own = own_error(round_.outside, round_.predictions, evaluation.oob)
        coefficient = inverse_error(own, evaluation.variance)
        oob_error = evaluation.oob.take(round_.outside, round_.predictions, coefficient)
        validation_error = np.nan
        if evaluation.validation is not None:
            predictions = np.asarray(round_.member.predictions(evaluation.X_val, self.n_jobs), np.float64)
            validation_error = evaluation.validation.take(np.arange(len(predictions)), predictions, coefficient)
        tree = getattr(round_.member, "tree", None)
        return Record(number, oob_error, own, validation_error, -1 if tree is None else tree.n_leaves, coefficient)

    def _attributes(self, run: Run, has_validation: bool) -> dict[str, Any]:
        """The members and the history."""
        coefficients, rule = np.array(run.coefficients), self._rule()
        measured = {
            "validation_error": has_validation,
            "n_leaves": isinstance(run.members[0], TreeMember | SubspaceTree),
            "coefficient": rule == "weighted",
        }
        columns = [name for name in Record._fields if measured.get(name, True)]
        return {
            "members_": run.members,
            "coefficients_": coefficients,
            "history_": History({name: [getattr(record, name) for record in run.records] for name in columns}),
            "_combined": rule,  # parameters set later do not change a fitted model
            "_packed": pack_members(run.members, coefficients) if rule != "median" else None,
        }

    def _oob_attributes(self, oob: Tally, sampling: Sampling, data: TrainingData, n_members: int) -> dict[str, Any]:
        """The out-of-bag error and predictions, and their score with `oob_score`."""
        if sampling.draws_all:
            return {}
        predictions = oob.mean
        result: dict[str, Any] = {
            "oob_error_": oob.error,
            self._oob_prediction: predictions if self._loss == "zero_one" else predictions[:, 0],
        }
        if not self.oob_score:
            return result
        self._warn_of_rows_in_every_sample(oob.n_predictions[oob.weight > 0.0], n_members)
        rows = oob.scored
        result["oob_score_"] = np.nan
        if rows.size:
            labels = data.labels[rows]
            result["oob_score_"] = score_predictions(
                self.oob_score, predictions[rows], data.classes, labels, oob.weight[rows]
            )
        return result

    def _warn_of_rows_in_every_sample(self, n_predictions: Indices, n_members: int) -> None:
        n_without = int(np.count_nonzero(n_predictions == 0))
        if not n_without:
            return
        more = members_missing(n_predictions.size, n_members, float(n_predictions.mean()) / n_members)
        count = "1 more member" if more == 1 else f"{more} more members"
        advice = f"about {count} would leave none" if more else "samples of fewer rows (max_samples) leave some out"
        warnings.warn(
            f"{n_without} of {n_predictions.size} rows were in the sample of every member: their out-of-bag "
            f"predictions are nan; {advice}.",
            UserWarning,
            stacklevel=level_of_caller(),
        )

    # --- predictions ------------------------------------------------------------------------------------------------

    def _total(self, table: NDArray[np.floating]) -> Floats:
        """The mean prediction of the members, weighted by their coefficients, [n, k]."""
        total = sum_of_predictions(self.members_, self.coefficients_, self._packed, table, self.n_jobs)
        return total / self.coefficients_.sum()

    def _staged(self, X: Any) -> Iterator[Floats]:
        """`_total` of the first member, of the first two, and so on."""
        table = self._read_rows(X)
        total = np.zeros(())
        pairs = zip(self.coefficients_, all_predictions(self.members_, table, self.n_jobs), strict=True)
        for b, (coefficient, predictions) in enumerate(pairs, start=1):
            total = total + coefficient * predictions
            yield total / self.coefficients_[:b].sum()

    @property
    def estimators_samples_(self) -> list[Indices]:
        """The rows of each member's sample, with repetitions; drawn again from the seeds."""
        check_is_fitted(self, "members_")
        row = self._sample.rows.places.row
        if self._sample.draws_all:
            return [np.sort(row)] * len(self._member_seeds)
        return [np.sort(np.repeat(row, self._sample.draw(seed).astype(np.int64))) for seed in self._member_seeds]

    @property
    def estimators_features_(self) -> list[Indices]:
        """The columns of X in each member's sample."""
        check_is_fitted(self, "members_")
        drawn = (self._sample.features(seed) for seed in self._member_seeds)
        return [np.arange(self._sample.n_features) if features is None else features for features in drawn]

    def _as_estimator(self, member: Member) -> Any:
        if not isinstance(member, SubspaceTree):
            return super()._as_estimator(member)
        known, features = self.columns_, member.features.tolist()
        names = None if known.names is None else tuple(known.names[f] for f in features)
        tree: Any = clone(self.estimator_)
        columns = Columns(len(features), names, tuple(known.categories[f] for f in features))
        tree.adopt(member.own_tree, columns, self._member_attributes())
        tree.n_features_in_ = len(features)
        if names is not None:
            tree.feature_names_in_ = np.array(names, dtype=object)
        return tree

    def _member_weights(self) -> Floats:
        return self.coefficients_

    @property
    def feature_importances_(self) -> Floats:
        """Importances of the members, averaged by their coefficients, with sum 1; 0 for features not drawn."""
        check_is_fitted(self, "members_")
        total = np.zeros(self.columns_.n_features)
        for member, coefficient, features in zip(
            self.members_, self.coefficients_, self.estimators_features_, strict=True
        ):
            if isinstance(member, TreeMember | SubspaceTree):
                total += coefficient * TreeView(member.tree, total.size, False).compute_feature_importances()
                continue
            own = getattr(self._as_estimator(member), "feature_importances_", None)
            if own is None:
                raise AttributeError(f"The base estimator {type(self._weak()).__name__} has no feature_importances_.")
            np.add.at(total, features, coefficient * np.asarray(own, np.float64))
        return total / total.sum() if total.sum() > 0.0 else total

    @available_if(_is_sum_of_trees)
    def to_tree_sum(self) -> TreeSum:
        """The model as a sum of trees, for explanations; only for trees of the library and without the median."""
        check_is_fitted(self, "members_")
        trees = [member for member in self.members_ if isinstance(member, TreeMember | SubspaceTree)]
        k = int(np.shape(trees[0].node_predictions)[1])
        weights = self.coefficients_ / self.coefficients_.sum()
        values = tuple(member.tree._replace(value=np.asarray(member.node_predictions, np.float64)) for member in trees)
        return TreeSum(values, np.full(len(trees), -1, np.int64), weights, np.zeros(k))


def _reject_outputs(y: Any, name: str, kind: str) -> None:
    shape = getattr(y, "shape", None)
    if shape is None and isinstance(y, list) and y and isinstance(y[0], list | tuple):
        # Lists of different lengths raise where the target is read
        shape = (len(y), len(y[0])) if all(np.size(row) == len(y[0]) for row in y) else None
    if isinstance(shape, tuple) and len(shape) == 2 and shape[1] > 1:
        raise ValueError(
            f"y has {shape[1]} outputs, {name} takes one; wrap it in sklearn.multioutput.MultiOutput"
            f"{kind.capitalize()} (y should be a 1d array)."
        )


def _variance(target: NDArray[Any], weight: Floats) -> float:
    centre = np.average(target, weights=weight)
    return float(np.average((target - centre) ** 2, weights=weight))
