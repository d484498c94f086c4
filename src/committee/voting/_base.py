"""What votes and stacks share: named members as parameters, reading the data, fitting all of them side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context, get_config
from sklearn.base import MetaEstimatorMixin, TransformerMixin, is_classifier, is_regressor
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
from committee.voting._members import Method, NamedMember, fit_member, prediction_fold
from committee.voting._rows import Task

DEFAULT_FOLDS = 5
Members = list[tuple[str, Any]]
Call = tuple[Any, ...]
Result = TypeVar("Result")


class BaseNamedMembers(MetaEstimatorMixin, TransformerMixin, Estimator):
    """Members given as a list of (name, estimator), where "drop" stands for a member that is left out."""

    estimators: Members | None = param(list, None, default=None, kw_only=False)
    n_jobs: int | None = param(*N_JOBS, default=None)
    random_state: RandomState = param(*RANDOM_STATE, default=None)
    verbose: int = param("verbose", default=0)

    classes_: NDArray[Any] = fitted()
    estimators_: list[Any] = fitted()
    named_estimators_: Bunch = fitted()
    n_features_in_: int = fitted()

    _kind: ClassVar[Literal["classifier", "regressor"]]

    # --- parameters ---------------------------------------------------------------------------------------------------

    def _default_members(self) -> Members:
        raise NotImplementedError

    def _members(self) -> Members:
        return self._default_members() if self.estimators is None else self.estimators

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters; deep ones by name, such as ``tree`` and ``tree__max_depth`` of the member ("tree", ...)."""
        params: dict[str, Any] = super().get_params(deep=deep)
        if not deep or not _are_pairs(self.estimators):
            return params
        for name, member in cast(Members, self.estimators):
            params[name] = member
            if hasattr(member, "get_params") and not isinstance(member, type):
                params |= {f"{name}__{key}": value for key, value in member.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Parameters, those of members, or a member by its name: another estimator, or "drop"."""
        if "estimators" in params:
            self.estimators = params.pop("estimators")
        if _are_pairs(self.estimators):
            known = cast(Members, self.estimators)
            replaced = [name for name, _ in known if name in params]
            if replaced:
                self.estimators = [(name, params.get(name, member)) for name, member in known]
                params = {name: value for name, value in params.items() if name not in replaced}
        return super().set_params(**params)

    @property
    def named_estimators(self) -> Bunch:
        """The members that were given, by name."""
        return Bunch(**dict(self._members()))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        members = [member for _, member in self._members() if member != "drop"] if self._has_pairs() else []
        inputs = [get_tags(member).input_tags for member in members if hasattr(member, "__sklearn_tags__")]
        tags.input_tags.allow_nan = bool(inputs) and all(known.allow_nan for known in inputs)
        tags.input_tags.sparse = bool(inputs) and all(known.sparse for known in inputs)
        tags.transformer_tags.preserves_dtype = []
        return tags

    def _has_pairs(self) -> bool:
        return self.estimators is None or _are_pairs(self.estimators)

    def get_metadata_routing(self) -> Any:
        """Weights are the ensemble's own and reach every member; anything else goes to the members that ask for it."""
        router = MetadataRouter(owner=self).add_self_request(self)
        for name, member in self._members() if self._has_pairs() else []:
            if hasattr(member, "get_metadata_routing"):
                router.add(**{name: member}, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        return router

    # --- fit ----------------------------------------------------------------------------------------------------------

    def _read_members(self, fit_params: Mapping[str, Any]) -> list[NamedMember]:
        """The members to fit, dropped ones left out; names and kinds that cannot be are refused."""
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
                f"fit takes no {sorted(fit_params)}: what members are to be told besides sample_weight needs "
                "sklearn.set_config(enable_metadata_routing=True) and their set_fit_request."
            )
        routed: Any = process_routing(self, "fit", **fit_params) if fit_params else {}
        seeds = member_seeds(self.random_state, len(kept)).tolist()
        told = [dict(routed[name].fit) if fit_params and name in routed else {} for name, _ in kept]
        return [NamedMember(*pair, seed, more) for pair, seed, more in zip(kept, seeds, told, strict=True)]

    def _check_names(self, names: list[str]) -> None:
        if len(set(names)) < len(names):
            raise ValueError(f"Names provided are not unique: {names!r}. Give every member a name of its own.")
        own = super().get_params(deep=False)
        for name in names:
            if name in own or "__" in name:
                raise ValueError(
                    f"Estimator names conflict with constructor arguments, or hold '__': {name!r}. Choose another name."
                )

    def _check_member(self, name: str, member: Any) -> None:
        if isinstance(member, type):
            raise TypeError(f"The member {name!r} is the class {member.__name__}: pass an instance of it.")
        if not hasattr(member, "fit") or not hasattr(member, "predict"):
            raise TypeError(f"The member {name!r} is {type(member).__name__}, no estimator: it needs fit and predict.")
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

    def _side_by_side(self, function: Callable[..., Result], calls: Sequence[Call], what: str) -> list[Result]:
        """`function(*call)` for every call on so many threads as n_jobs allows, in their order."""
        settings = get_config()  # those of this thread: others would not know of them
        with progress(f"{type(self).__name__}: {what}", len(calls), self.verbose) as tick:

            def work(member: NamedMember, *rest: Any) -> Result:
                with config_context(**settings):
                    result = function(member, *rest)
                tick(member.name)
                return result

            return run(work, calls, n_threads(self.n_jobs, 2**62))

    def _fit_members(self, members: Sequence[NamedMember], task: Task) -> None:
        fitted = self._side_by_side(fit_member, [(member, task) for member in members], "members")
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
                f"Members cannot be evaluated on rows they were not fitted on (n_samples={task.n_rows}): pass at least "
                "two rows with different features."
            )
        if np.unique(tested).size < tested.size:
            raise ValueError("cv must test no row twice: pass a number of folds, or a partition as KFold makes.")
        return folds

    def _out_of_fold(
        self, members: Sequence[NamedMember], task: Task, folds: Sequence[Split], methods: Sequence[Method]
    ) -> list[Floats]:
        """For every member its answers [n, k] to rows that it did not see; nan for rows that no fold tests."""
        calls = [(m, task, fold, method) for m, method in zip(members, methods, strict=True) for fold in folds]
        found = self._side_by_side(prediction_fold, calls, "folds")
        predictions: list[Floats] = []
        for first in range(0, len(calls), len(folds)):
            parts = found[first : first + len(folds)]
            if len({part.shape[1] for part in parts}) > 1:
                name = members[first // len(folds)].name
                raise ValueError(
                    f"The decision function of {name!r} is wider or narrower where a fold lacks a class: take fewer "
                    "folds, or stack_method='predict'."
                )
            whole = np.full((task.n_rows, parts[0].shape[1]), np.nan)
            for fold, part in zip(folds, parts, strict=True):
                whole[fold.test] = part
            predictions.append(whole)
        return predictions

    # --- answers ------------------------------------------------------------------------------------------------------

    def _read_rows(self, X: Any) -> Any:
        check_is_fitted(self, "estimators_")
        table = open_rows(X, self, takes_sparse=bool(get_tags(self).input_tags.sparse))
        validate_data(self, table, reset=False, skip_check_array=True)
        return table

    def fitted_names(self) -> list[str]:
        """Of the members that were fitted."""
        return [name for name, member in self.named_estimators_.items() if not _is_dropped(member)]


def _are_pairs(estimators: Any) -> bool:
    return (
        isinstance(estimators, list)
        and len(estimators) > 0
        and all(isinstance(pair, tuple | list) and len(pair) == 2 and isinstance(pair[0], str) for pair in estimators)
    )


def _is_dropped(member: Any) -> bool:
    return isinstance(member, str) and member == "drop"
