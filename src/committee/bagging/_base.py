"""What bagged classifiers and regressors share: reading the data, growing and judging members, answering."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from itertools import chain
from numbers import Integral
from typing import Any, ClassVar, Literal, NamedTuple, Self
from zlib import crc32

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import clone
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted

from committee.bagging._base_learners import SubspaceTree, Task, make_learner
from committee.bagging._oob import (
    Record,
    Rule,
    Settling,
    Tally,
    inverse_error,
    make_tally,
    members_missing,
    own_error,
)
from committee.bagging._prediction import all_predictions, pack_members, sum_of_predictions
from committee.bagging.bagging import Sampling, Turn, bagging, replay
from committee.base.array_types import Floats
from committee.base.available_if import available_if
from committee.base.parameters import (
    RANDOM_STATE,
    at_least,
    between,
    count_fraction,
    fitted,
    one_of,
    param,
)
from committee.base.prediction_only_error import kept_from_fit
from committee.base.progress import progress
from committee.base.rng import RandomState, member_seeds
from committee.base.stacklevel import level_of_caller
from committee.base.threads import n_threads
from committee.base.transaction import all_or_nothing
from committee.ensemble.base import BaseEnsemble
from committee.ensemble.oob import Loss
from committee.ensemble.oob_scorers import check_score, score_predictions
from committee.members.estimators import check_learner
from committee.members.member import Member, TreeMember
from committee.records.ensemble import TreeSum
from committee.records.forest import PackedForest
from committee.records.history import History
from committee.sampling.resampling import number_of_draws, without_common_factor
from committee.sampling.row_samples import Indices, Places, Sampler
from committee.tabular.identity import content_order
from committee.tabular.schema import Columns
from committee.tabular.validation import read_training_table, read_weights
from committee.tree_engine.memory_guard import reject_too_many_trees
from committee.trees._sklearn_view import TreeView
from committee.trees.decision_tree import BaseDecisionTree

MAX_MEMBERS = 1000
"""n_estimators="auto" grows no more than these."""

TreeSize = Literal["full", "max_leaf_nodes", "pruned"] | None


def _is_sum_of_trees(self: Any) -> bool:
    return isinstance(self._weak(), BaseDecisionTree) and getattr(self, "_combined", self.combine) != "median"


class Judges(NamedTuple):
    """The tallies of a run: over the rows outside the samples, and over validation rows [n, d] if there are any."""

    oob: Tally
    validation: Tally | None
    X_val: NDArray[np.floating]


class BaseBagging(BaseEnsemble):
    """A bagged model; a subclass reads the target and combines the answers.

    Fitted attributes: ``estimators_``, ``estimators_samples_`` (rows of each sample, repeated ones repeated),
    ``estimators_features_``, ``coefficients_`` (of the members in the combination), ``history_`` (one row per member:
    the out-of-bag error so far, the member's own, the validation error, the leaves of a tree), ``oob_error_``,
    ``stop_reason_``, ``feature_importances_``; with `oob_score` also ``oob_score_``.
    """

    n_estimators: int | Literal["auto"] = param(at_least(1), one_of("auto"), default=10, kw_only=False)
    max_samples: int | float | None = param(at_least(1), count_fraction, None, default=None)
    max_features: int | float = param(at_least(1), count_fraction, default=1.0)
    bootstrap: bool = param("boolean", default=True)
    bootstrap_features: bool = param("boolean", default=False)
    tree_size: TreeSize = param(one_of("full", "max_leaf_nodes", "pruned"), None, default=None)
    max_leaf_nodes: int | None = param(at_least(2), None, default=None)
    oob_score: bool | str | Callable[..., float] = param("boolean", callable, str, default=False)
    n_iter_no_change: int = param(at_least(1), default=25)
    tol: float = param(between(0.0, 1.0, "left"), default=0.01)
    warm_start: bool = param("boolean", default=False)
    random_state: RandomState = param(*RANDOM_STATE, default=None)
    verbose: int = param("verbose", default=0)
    combine: Any = fitted()
    oob_error_: float = fitted()
    _combined: Rule = fitted()
    _kind: ClassVar[Literal["classifier", "regressor"]]
    _loss: ClassVar[Loss]
    _oob_prediction: ClassVar[str]  # the attribute that holds the out-of-bag answers

    # --- what a subclass chooses --------------------------------------------------------------------------------------

    def _default_tree(self, **params: Any) -> BaseDecisionTree:
        raise NotImplementedError

    def _rule(self) -> Rule:
        """How the members are combined."""
        raise NotImplementedError

    def _read_target(self, y: Any, n_rows: int) -> tuple[NDArray[Any] | None, NDArray[Any]]:
        """The classes, None for numbers, and the target as codes or numbers."""
        raise NotImplementedError

    def _read_judged_target(self, y_val: Any, n_rows: int, classes: NDArray[Any] | None) -> NDArray[Any]:
        raise NotImplementedError

    def _describe(self, classes: NDArray[Any] | None) -> None:
        """Set the fitted attributes that say what the target is."""

    # --- the base learner ---------------------------------------------------------------------------------------------

    def _default_estimator(self) -> Any:
        if self.tree_size == "max_leaf_nodes":
            return self._default_tree(max_leaf_nodes=self.max_leaf_nodes)
        return self._default_tree(ccp_alpha="cv") if self.tree_size == "pruned" else self._default_tree()

    def _check_strategy(self) -> None:
        if self.estimator is not None and (self.tree_size is not None or self.max_leaf_nodes is not None):
            raise ValueError(
                "tree and max_leaf_nodes are for the default learner, and estimator is given too: leave "
                "estimator=None, or set such parameters on the estimator."
            )
        if (self.tree_size == "max_leaf_nodes") != (self.max_leaf_nodes is not None):
            raise ValueError(
                f"tree_size='max_leaf_nodes' and a number max_leaf_nodes go together; got tree_size={self.tree_size!r} "
                f"and max_leaf_nodes={self.max_leaf_nodes!r}."
            )

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
        """Bag.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        y : labels or numbers of shape (n_samples,)
        sample_weight : weights of the rows, optional; a whole weight counts as so many equal rows
        X_val, y_val, sample_weight_val : rows to judge every member on instead of out-of-bag rows, optional
        fit_params : what else the base learner asks for (its `set_fit_request`), with metadata routing enabled; what
            has a value for each row is handed on for the rows of the sample
        """
        self._validate_params()
        self._check_strategy()
        check_learner(self._weak(), self._kind)
        metadata = self._route(fit_params)
        with all_or_nothing(self):
            task = self._read(X, y, sample_weight)
            sampling = self._sampling(task)
            judges = self._judges(task, X_val, y_val, sample_weight_val)
            self._check_judge(sampling, judges)
            self._run(task, sampling, judges, metadata)
            self._keep_oob(judges.oob, sampling)
        return self

    def get_metadata_routing(self) -> Any:
        """Weights are the ensemble's own, by which it draws; anything else goes to the learner if it asks for it."""
        router = MetadataRouter(owner=self).add_self_request(self)
        weak = self._weak()
        if hasattr(weak, "get_metadata_routing"):
            router.add(estimator=weak, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        return router

    def _route(self, fit_params: dict[str, Any]) -> dict[str, Any]:
        """What of the metadata the base learner is to be told."""
        if not fit_params:
            return {}
        if not get_config()["enable_metadata_routing"]:
            raise TypeError(
                f"fit takes no {sorted(fit_params)}: what members are to be told besides sample_weight needs "
                "sklearn.set_config(enable_metadata_routing=True) and the estimator's set_fit_request."
            )
        routed: Any = process_routing(self, "fit", **fit_params)
        return dict(routed["estimator"].fit) if "estimator" in routed else {}

    def _read(self, X: Any, y: Any, sample_weight: Any) -> Task:
        self.estimator_ = clone(self._weak())
        categorical = getattr(self.estimator_, "categorical_features", "from_dtype")
        columns, table = read_training_table(self, X, categorical_features=categorical, sample_weight=sample_weight)
        _reject_outputs(y, type(self).__name__, self._kind)
        classes, target = self._read_target(y, len(table))
        self._reject_missing(table, columns)
        weight = read_weights(sample_weight, len(table))
        self._set_columns(columns)
        self._describe(classes)
        is_soft = self._kind == "classifier" and self._rule() == "mean"
        return Task(columns, table, target, np.ones(len(table)) if weight is None else weight, classes, is_soft)

    def _sampling(self, task: Task) -> Sampling:
        order = content_order(task.X, np.asarray(task.target, np.float64))
        places = Places.lay_out(order, without_common_factor(task.weight))
        total = number_of_draws(places.weight)
        d = task.columns.n_features
        n_features = self.max_features if isinstance(self.max_features, Integral) else int(self.max_features * d)
        if n_features > d and not self.bootstrap_features:
            raise ValueError(f"max_features={n_features} must be at most the number of features, {d}.")
        n_draws = total if self.max_samples is None else self.max_samples
        n_draws = int(n_draws) if isinstance(n_draws, Integral) else max(1, int(n_draws * total))
        if n_draws > total and not self.bootstrap:
            raise ValueError(
                f"max_samples={n_draws} must be at most the {total} rows there are when bootstrap=False: no row is "
                "drawn twice."
            )
        kind = "weighted" if self.bootstrap else "all" if n_draws == total else "pasting"
        if kind == "all":
            places = Places.lay_out(order, task.weight)
        rows = Sampler(task.weight, places, n_draws, kind)
        return Sampling(rows, d, max(1, int(n_features)), self.bootstrap_features)

    def _judges(self, task: Task, X_val: Any, y_val: Any, sample_weight_val: Any) -> Judges:
        rule, k = self._rule(), task.n_columns
        oob = make_tally(rule, task.target, task.weight, k, self._loss)
        if all(given is None for given in (X_val, y_val, sample_weight_val)):
            return Judges(oob, None, task.X[:0])
        table = self._read_judged(X_val, y_val)
        target = self._read_judged_target(y_val, len(table), task.classes)
        weight = read_weights(sample_weight_val, len(table), "sample_weight_val")
        weight = np.ones(len(table)) if weight is None else weight
        return Judges(oob, make_tally(rule, target, weight, k, self._loss), table)

    def _check_judge(self, sampling: Sampling, judges: Judges) -> None:
        """Refuse a score that is not known, and what needs rows outside the samples where there are none."""
        check_score(self.oob_score)
        if not sampling.draws_all:
            return
        uses = [name for name, used in (
            ("oob_score", bool(self.oob_score)),
            ("combine='weighted'", self._rule() == "weighted"),
            ("n_estimators='auto' without X_val, y_val", self.n_estimators == "auto" and judges.validation is None),
        ) if used]  # fmt: skip
        if uses:
            raise ValueError(
                f"Out of bag estimation only available if rows are left out, and {uses[0]} needs it: set "
                "bootstrap=True, or max_samples below 1.0."
            )

    def _run(self, task: Task, sampling: Sampling, judges: Judges, metadata: dict[str, Any]) -> None:
        fingerprint = self._fingerprint(task, sampling)
        members = self._start(fingerprint)
        n_wanted = MAX_MEMBERS if self.n_estimators == "auto" else int(self.n_estimators)
        if n_wanted < len(members):
            raise ValueError(
                f"n_estimators={n_wanted} must be larger or equal to the {len(members)} members that are there already "
                "when warm_start=True."
            )
        seeds = np.random.SeedSequence(self._seed).generate_state(n_wanted + 1, np.uint64)[1:].tolist()
        learn = make_learner(self._weak(), task, self.n_jobs, metadata)
        is_tree = isinstance(self._weak(), BaseDecisionTree)
        threads = n_threads(self.n_jobs, task.X.size * n_wanted if is_tree else 2**62)
        turns = chain(
            replay(members, sampling, task.X, seeds[: len(members)]),
            bagging(learn, sampling, task.X, seeds[len(members) :], threads),
        )
        self._collect(turns, judges, n_wanted)
        self._sample, self._member_seeds, self._data_fingerprint = sampling, seeds[: len(self.members_)], fingerprint

    def _fingerprint(self, task: Task, sampling: Sampling) -> tuple[Any, ...]:
        """What a warm start must find again: the rows, their weights, how samples are drawn, how members answer."""
        drawn = sampling.rows
        arrays = (task.target, task.weight, drawn.places.row)
        prints = [crc32(np.ascontiguousarray(array).tobytes()) for array in arrays]
        return (task.X.shape, *prints, drawn.n_draws, drawn.kind, *sampling[1:], task.is_soft)

    def _start(self, fingerprint: tuple[Any, ...]) -> list[Member]:
        """No members, or those of an earlier fit."""
        if not (self.warm_start and hasattr(self, "members_")):
            self._seed = int(member_seeds(self.random_state, 1)[0])
            return []
        if fingerprint != kept_from_fit(self, "_data_fingerprint"):
            raise ValueError(
                "warm_start=True goes on with the same rows: X, y, the weights, or how samples are drawn and members "
                "combined are others than in the earlier fit. Fit a new model, or set warm_start=False."
            )
        return list(self.members_)

    def _collect(self, turns: Iterator[Turn], judges: Judges, n_wanted: int) -> None:
        """Take members until their number or the settled error ends the run, and keep what they brought."""
        by_oob = judges.validation is None
        settling = Settling(self.n_iter_no_change, self.tol, "out-of-bag" if by_oob else "validation")
        spread = _variance(judges.oob.target, judges.oob.weight) if self._rule() == "weighted" else 0.0
        members: list[Member] = []
        records: list[Record] = []
        reason = ""
        with progress(type(self).__name__, n_wanted, self.verbose) as tick:
            for turn in turns:
                members.append(turn.member)
                if len(members) == 1 and isinstance(turn.member, TreeMember | SubspaceTree):
                    reject_too_many_trees(turn.member.tree, n_wanted if self.n_estimators != "auto" else 1)
                records.append(self._judge(turn, spread, judges, len(members)))
                error = records[-1].oob_error if by_oob else records[-1].validation_error
                tick(f"{settling.judge} error {error:.4g}")
                reason = settling.look(error) if self.n_estimators == "auto" else ""
                if reason:
                    break
        if not reason and self.n_estimators == "auto":
            reason = f"the {settling.judge} error had not settled after {MAX_MEMBERS} members, the most there may be"
        self._keep(members, records, judges)
        self.stop_reason_ = reason or "all members were fitted"

    def _judge(self, turn: Turn, spread: float, judges: Judges, number: int) -> Record:
        own = own_error(turn.outside, turn.predictions, judges.oob)
        coefficient = inverse_error(own, spread)
        oob = judges.oob.take(turn.outside, turn.predictions, coefficient)
        validated = np.nan
        if judges.validation is not None:
            predictions = np.asarray(turn.member.predictions(judges.X_val, self.n_jobs), np.float64)
            validated = judges.validation.take(np.arange(len(predictions)), predictions, coefficient)
        tree = getattr(turn.member, "tree", None)
        return Record(number, oob, own, validated, -1 if tree is None else tree.n_leaves, coefficient)

    def _keep(self, members: list[Member], records: list[Record], judges: Judges) -> None:
        columns = {name: [getattr(record, name) for record in records] for name in Record._fields}
        self.members_, self.coefficients_ = members, np.array(columns["coefficient"])
        self._combined = self._rule()  # a parameter set later changes no fitted model
        is_sum = self._combined != "median"
        self._packed: PackedForest | None = pack_members(members, self.coefficients_) if is_sum else None
        has_leaves = isinstance(members[0], TreeMember | SubspaceTree)
        measured = {
            "validation_error": judges.validation is not None,
            "n_leaves": has_leaves,
            "coefficient": self._rule() == "weighted",
        }
        self.history_ = History({name: column for name, column in columns.items() if measured.get(name, True)})

    def _keep_oob(self, oob: Tally, sampling: Sampling) -> None:
        for name in ("oob_error_", "oob_score_", self._oob_prediction):
            vars(self).pop(name, None)
        if sampling.draws_all:
            return
        self.oob_error_ = oob.error
        predictions = oob.mean
        setattr(self, self._oob_prediction, predictions if self._loss == "zero_one" else predictions[:, 0])
        if not self.oob_score:
            return
        self._warn_unjudged(oob.n_judges[oob.weight > 0.0])
        judged = np.flatnonzero(oob.is_judged & (oob.weight > 0.0))
        self.oob_score_ = np.nan
        if judged.size:
            classes = self._member_attributes().get("classes_")
            target = oob.target[judged] if classes is None else classes[oob.target[judged]]
            self.oob_score_ = score_predictions(
                self.oob_score, predictions[judged], classes, target, oob.weight[judged]
            )

    def _warn_unjudged(self, n_judges: Indices) -> None:
        n_unjudged = int(np.count_nonzero(n_judges == 0))
        if not n_unjudged:
            return
        more = members_missing(n_judges.size, len(self.members_), float(n_judges.mean()) / len(self.members_))
        count = "1 more member" if more == 1 else f"{more} more members"
        advice = f"about {count} would judge all" if more else "samples of fewer rows (max_samples) leave some out"
        warnings.warn(
            f"{n_unjudged} of {n_judges.size} rows were in the sample of every member: none judges them, their "
            f"out-of-bag answers are nan; {advice}.",
            UserWarning,
            stacklevel=level_of_caller(),
        )

    # --- what a fitted model answers ----------------------------------------------------------------------------------

    def _total(self, table: NDArray[np.floating]) -> Floats:
        """The mean answer of the members by their coefficients, [n, k]."""
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
        """The rows that each member learned from, one drawn twice stands there twice; drawn again from the seeds."""
        check_is_fitted(self, "members_")
        row = self._sample.rows.places.row
        if self._sample.draws_all:
            return [np.sort(row)] * len(self._member_seeds)
        return [np.sort(np.repeat(row, self._sample.draw(seed).astype(np.int64))) for seed in self._member_seeds]

    @property
    def estimators_features_(self) -> list[Indices]:
        """The features that each member knows."""
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

    def _member_shares(self) -> Floats:
        return self.coefficients_

    @property
    def feature_importances_(self) -> Floats:
        """The members' importances, averaged by their coefficients, as shares of one; a feature not drawn adds 0."""
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
                raise AttributeError(f"The base learner {type(self._weak()).__name__} has no feature_importances_.")
            np.add.at(total, features, coefficient * np.asarray(own, np.float64))
        return total / total.sum() if total.sum() > 0.0 else total

    @available_if(_is_sum_of_trees)
    def to_tree_sum(self) -> TreeSum:
        """The model as a sum of trees, for explanations; only with trees of the library and without the median."""
        check_is_fitted(self, "members_")
        trees = [member for member in self.members_ if isinstance(member, TreeMember | SubspaceTree)]
        k = int(np.shape(trees[0].node_predictions)[1])
        share = self.coefficients_ / self.coefficients_.sum()
        values = tuple(member.tree._replace(value=np.asarray(member.node_predictions, np.float64)) for member in trees)
        return TreeSum(values, np.full(len(trees), -1, np.int64), share, np.zeros(k))


def _reject_outputs(y: Any, name: str, kind: str) -> None:
    shape = getattr(y, "shape", None)
    if shape is None and isinstance(y, list) and y and isinstance(y[0], list | tuple):
        # Lists of different lengths are refused where the target is read
        shape = (len(y), len(y[0])) if all(np.size(row) == len(y[0]) for row in y) else None
    if isinstance(shape, tuple) and len(shape) == 2 and shape[1] > 1:
        raise ValueError(
            f"y has {shape[1]} outputs, {name} takes one; wrap it in sklearn.multioutput.MultiOutput"
            f"{kind.capitalize()} (y should be a 1d array)."
        )


def _variance(target: NDArray[Any], weight: Floats) -> float:
    centre = np.average(target, weights=weight)
    return float(np.average((target - centre) ** 2, weights=weight))
