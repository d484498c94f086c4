"""Base class of voting and stacking: named members as parameters, reading of data, parallel fits, out-of-fold rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, Self, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import config_context, get_config
from sklearn.base import MetaEstimatorMixin, TransformerMixin, is_classifier, is_regressor
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.utils import Bunch, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted, validate_data

from committee.base.array_types import Floats
from committee.base.parameters import N_JOBS, RANDOM_STATE, Estimator, fitted, param
from committee.base.progress import progress
from committee.base.rng import RandomState, member_seeds
from committee.base.threads import n_threads, run
from committee.sampling.splits import Split
from committee.tabular.rows import open_rows
from committee.tabular.validation import read_targets_classification, read_targets_regression, read_weights
from committee.trees.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from committee.voting._members import Method, NamedMember, fit_member, predict_fold
from committee.voting._rows import Indices, Task

DEFAULT_FOLDS = 5
Members = list[tuple[str, Any]]
Call = tuple[Any, ...]
Result = TypeVar("Result")


class BaseNamedMembers(MetaEstimatorMixin, TransformerMixin, Estimator):
    """Members given as a list of (name, estimator)."""

    estimators: Members | None = param(
        list,
        None,
        default=None,
        kw_only=False,
        doc='Pairs of a name and an estimator; "drop" in place of an estimator leaves the member out. None is a tree, '
        "nearest neighbours, and naive Bayes or ridge regression. Classifiers are fitted on class codes 0, 1, ... An "
        "estimator that takes no sample weights is fitted on repeated rows for integer weights, else on rows drawn by "
        "the weights.",
    )
    n_jobs: int | None = param(*N_JOBS, default=None)
    random_state: RandomState = param(*RANDOM_STATE, default=None)
    verbose: int = param("verbose", default=0)

    classes_: NDArray[Any] = fitted()
    estimators_: list[Any] = fitted(doc="The fitted members.")
    named_estimators_: Bunch = fitted(doc="The fitted members by name.")
    n_features_in_: int = fitted()
    feature_names_in_: NDArray[Any] = fitted()

    _kind: ClassVar[Literal["classifier", "regressor"]]

    # --- parameters ---------------------------------------------------------------------------------------------------

    def _default_members(self) -> Members:
        if self._kind == "regressor":
            tree, simple = DecisionTreeRegressor(max_depth=6), ("linear", Ridge())
            return [("tree", tree), simple, ("neighbours", KNeighborsRegressor())]
        tree, simple = DecisionTreeClassifier(max_depth=6), ("bayes", GaussianNB())
        return [("tree", tree), simple, ("neighbours", KNeighborsClassifier())]

    def _members(self) -> Members:
        return self._default_members() if self.estimators is None else self.estimators

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, with `deep` those of members too, such as `tree` and `tree__max_depth`."""
        params: dict[str, Any] = super().get_params(deep=deep)
        if not deep or not _are_pairs(self.estimators):
            return params
        for name, member in cast(Members, self.estimators):
            params[name] = member
            if hasattr(member, "get_params") and not isinstance(member, type):
                params |= {f"{name}__{key}": value for key, value in member.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, parameters of members, or a member by its name: another estimator, or "drop"."""
        if "estimators" in params:
            self.estimators = params.pop("estimators")
        if _are_pairs(self.estimators):
            members = cast(Members, self.estimators)
            replaced = [name for name, _ in members if name in params]
            if replaced:
                self.estimators = [(name, params.get(name, member)) for name, member in members]
                params = {name: value for name, value in params.items() if name not in replaced}
        return super().set_params(**params)

    @property
    def named_estimators(self) -> Bunch:
        """The given members by name."""
        return Bunch(**dict(self._members()))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        members = [member for _, member in self._members() if member != "drop"] if self._has_pairs() else []
        inputs = [get_tags(member).input_tags for member in members if hasattr(member, "__sklearn_tags__")]
        tags.input_tags.allow_nan = bool(inputs) and all(each.allow_nan for each in inputs)
        tags.input_tags.sparse = bool(inputs) and all(each.sparse for each in inputs)
        tags.transformer_tags.preserves_dtype = []
        return tags

    def _has_pairs(self) -> bool:
        return self.estimators is None or _are_pairs(self.estimators)

    def get_metadata_routing(self) -> Any:
        """Route metadata to the members that request it; sample weights go to all members."""
        router = MetadataRouter(owner=self).add_self_request(self)
        for name, member in self._members() if self._has_pairs() else []:
            if hasattr(member, "get_metadata_routing"):
                router.add(**{name: member}, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        return router

    # --- fit ----------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None, **fit_params: Any) -> Self:
        """Fit the members and their combination.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Class labels, or values in regression.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows. An integer weight w is equivalent to repeating the row w times.
        **fit_params : optional
            Metadata for the `fit` of members that request it.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight, fit_params)

    def _fit(self, X: Any, y: Any, sample_weight: Any, fit_params: dict[str, Any]) -> Self:
        raise NotImplementedError

    def _read_members(self, fit_params: Mapping[str, Any]) -> list[NamedMember]:
        """The members to fit, without dropped ones; raises for invalid names and kinds."""
        if not self._has_pairs():
            raise ValueError(
                "Invalid 'estimators' attribute, 'estimators' should be a non-empty list of (string, estimator) "
                "tuples, such as [('tree', DecisionTreeClassifier())]."
            )
        members = self._members()
        self._check_names([name for name, _ in members])
        kept = [(name, member) for name, member in members if not _is_dropped(member)]
        if not kept:
            raise ValueError("All estimators are dropped. At least one is required to be an estimator.")
        for name, member in kept:
            self._check_member(name, member)
        if fit_params and not get_config()["enable_metadata_routing"]:
            raise TypeError(
                f"fit takes no {sorted(fit_params)}: metadata other than sample_weight needs "
                "sklearn.set_config(enable_metadata_routing=True) and set_fit_request of the members."
            )
        routed: Any = process_routing(self, "fit", **fit_params) if fit_params else {}
        seeds = member_seeds(self.random_state, len(kept)).tolist()
        metadata = [dict(routed[name].fit) if fit_params and name in routed else {} for name, _ in kept]
        return [NamedMember(*pair, seed, own) for pair, seed, own in zip(kept, seeds, metadata, strict=True)]

    def _check_names(self, names: list[str]) -> None:
        if len(set(names)) < len(names):
            raise ValueError(f"Names provided are not unique: {names!r}.")
        own = super().get_params(deep=False)
        for name in names:
            if name in own or "__" in name:
                raise ValueError(
                    f"Estimator names conflict with constructor arguments, or contain '__': {name!r}. Use another name."
                )

    def _check_member(self, name: str, member: Any) -> None:
        if isinstance(member, type):
            raise TypeError(f"The member {name!r} is the class {member.__name__}: pass an instance of it.")
        if not hasattr(member, "fit") or not hasattr(member, "predict"):
            raise TypeError(f"The member {name!r}, {type(member).__name__}, is no estimator: it needs fit and predict.")
        if hasattr(member, "__sklearn_tags__"):
            is_kind = is_classifier if self._kind == "classifier" else is_regressor
            if not is_kind(member):
                raise ValueError(f"The estimator {type(member).__name__} should be a {self._kind} (member {name!r}).")

    def _read_task(self, X: Any, y: Any, sample_weight: Any) -> Task:
        takes_sparse = bool(get_tags(self).input_tags.sparse)
        table = open_rows(X, self, takes_sparse=takes_sparse)
        n_rows = int(table.shape[0])
        if self._kind == "classifier":
            self.classes_, target = read_targets_classification(y, n_rows)
            n_classes = len(self.classes_)
        else:
            target, n_classes = read_targets_regression(y, n_rows), 0
            if target.ndim > 1:
                raise ValueError(
                    f"y has {target.shape[1]} outputs, {type(self).__name__} takes one; wrap it in "
                    "sklearn.multioutput.MultiOutputRegressor (y should be a 1d array)."
                )
        weight = read_weights(sample_weight, n_rows)
        for name in ("n_features_in_", "feature_names_in_"):
            vars(self).pop(name, None)
        validate_data(self, table, reset=True, skip_check_array=True)
        return Task(table, target, weight, n_classes)

    def _in_parallel(self, function: Callable[..., Result], calls: Sequence[Call], what: str) -> list[Result]:
        """Call `function(*call)` for each call on `n_jobs` threads; the results are in the order of the calls."""
        settings = get_config()  # of this thread
        with progress(f"{type(self).__name__}: {what}", len(calls), self.verbose) as tick:

            def work(member: NamedMember, *rest: Any) -> Result:
                with config_context(**settings):
                    result = function(member, *rest)
                tick(member.name)
                return result

            return run(work, calls, n_threads(self.n_jobs, 2**62))

    def _fit_members(self, members: Sequence[NamedMember], task: Task) -> None:
        fitted = self._in_parallel(fit_member, [(member, task) for member in members], "members")
        self._keep_members(members, fitted)

    def _keep_members(self, members: Sequence[NamedMember], fitted: list[Any]) -> None:
        by_name = {member.name: model for member, model in zip(members, fitted, strict=True)}
        self.estimators_ = fitted
        self.named_estimators_ = Bunch(**{name: by_name.get(name, "drop") for name, _ in self._members()})

    def _folds(self, task: Task, cv: Any) -> list[Split]:
        folds = task.splits(DEFAULT_FOLDS if cv is None else cv)
        tested = np.concatenate([fold.test for fold in folds]) if folds else np.empty(0, np.int64)
        if tested.size == 0:
            raise ValueError(
                f"No held-out rows to evaluate the members on (n_samples={task.n_rows}): pass at least two rows with "
                "different features."
            )
        if np.unique(tested).size < tested.size:
            raise ValueError("cv must test no row twice: pass a number of folds, or a partition such as that of KFold.")
        return folds

    def _out_of_fold(
        self, members: Sequence[NamedMember], task: Task, folds: Sequence[Split], methods: Sequence[Method]
    ) -> list[Floats]:
        """Out-of-fold predictions [n, k] of each member; nan for rows in no test fold."""
        calls = [(m, task, fold, method) for m, method in zip(members, methods, strict=True) for fold in folds]
        found = self._in_parallel(predict_fold, calls, "folds")
        predictions: list[Floats] = []
        for first in range(0, len(calls), len(folds)):
            parts = found[first : first + len(folds)]
            if len({part.shape[1] for part in parts}) > 1:
                name = members[first // len(folds)].name
                raise ValueError(
                    f"The decision function of {name!r} has fewer columns in folds without a class: use fewer folds or "
                    "stack_method='predict'."
                )
            whole = np.full((task.n_rows, parts[0].shape[1]), np.nan)
            for fold, part in zip(folds, parts, strict=True):
                whole[fold.test] = part
            predictions.append(whole)
        return predictions

    # --- predictions --------------------------------------------------------------------------------------------------

    def _read_rows(self, X: Any) -> Any:
        check_is_fitted(self, "estimators_")
        table = open_rows(X, self, takes_sparse=bool(get_tags(self).input_tags.sparse))
        validate_data(self, table, reset=False, skip_check_array=True)
        return table

    def fitted_names(self) -> list[str]:
        """Return the names of the fitted members."""
        return [name for name, member in self.named_estimators_.items() if not _is_dropped(member)]


def complete_rows(predictions: Sequence[Floats]) -> Indices:
    """Find the rows with predictions [n, k] of all members."""
    return np.flatnonzero(np.all([~np.isnan(own[:, 0]) for own in predictions], axis=0))


def _are_pairs(estimators: Any) -> bool:
    return (
        isinstance(estimators, list)
        and len(estimators) > 0
        and all(isinstance(pair, tuple | list) and len(pair) == 2 and isinstance(pair[0], str) for pair in estimators)
    )


def _is_dropped(member: Any) -> bool:
    return isinstance(member, str) and member == "drop"
