"""Plans: the members of a committee, selected before the fit from the shape of the table and the time budget.

A plan is a list of members (algorithm, parameters, representation, columns, fraction of the rows) and a number of
folds. Every candidate has a cost in seconds, estimated by a model; candidates are added in a fixed order as long as the
total is within the budget. The same table and budget thus give the same plan on every computer, and the plan and the
seed give the same committee. A plan can be stored as JSON (`to_json`, `from_json`) and passed to another committee.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, NamedTuple, Self

import numpy as np

from committee.committees._algorithms import ALGORITHMS
from committee.committees._out_of_fold import Rows
from committee.committees._representations import KINDS, Kind
from committee.tabular.schema import choose_categorical, open_table

DEFAULT_TIMES, DEFAULT_SECONDS = 2.5, 4.0
"""The default budget, as a multiple of the cost of gradient boosting, and its minimum in seconds."""

MANY_TREES, FEW_TREES, MANY_TREES_ROWS = 200, 100, 4_000
"""Trees of a forest, and the rows beyond which it has fewer."""

HELD_OUT_ROWS = 50_000
"""Number of rows above which a part of them is held out instead of folds."""

SVM_ROWS = 4_000
"""Maximum number of rows of a fit of a kernel SVM, which is fitted on a sample of more."""


class Facts(NamedTuple):
    """The quantities from which a plan is selected."""

    n: int
    d: int
    n_classes: int  # 0 for regression
    n_categorical: int

    @classmethod
    def of(cls, rows: Rows) -> Facts:
        return cls(len(rows.y), rows.X.shape[1], rows.n_classes, int(rows.is_categorical.sum()))

    @classmethod
    def of_table(cls, X: Any, n_classes: int) -> Facts:
        """The quantities of a table as passed to `fit`, without merging equal rows."""
        table = open_table(X)
        n, d = table.shape
        return cls(n, d, n_classes, int(choose_categorical(table, "from_dtype").sum()))


@dataclass(frozen=True)  # scikit-learn's clone copies tuples by element
class Member:
    """One member of a plan."""

    name: str
    algorithm: str
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    representation: Kind = "codes"
    columns: tuple[int, ...] | None = None  # of the table, None for all
    sample: float = 1.0  # fraction of the rows for each fit
    cost: float = 0.0  # estimated seconds


@dataclass(frozen=True)
class Plan:
    """The members and the number of folds.

    >>> plan = Plan((Member("trees", "extra trees", {"n_estimators": 50}),), n_folds=5)
    >>> Plan.from_json(plan.to_json()) == plan
    True
    """

    members: tuple[Member, ...]
    n_folds: int = 5  # 1 holds out a part of the rows
    n_repeats: int = 1

    @property
    def cost(self) -> float:
        """Estimated seconds."""
        return float(sum(member.cost for member in self.members))

    @property
    def names(self) -> list[str]:
        return [member.name for member in self.members]

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1)

    @classmethod
    def from_json(cls, text: str) -> Self:
        result: dict[str, Any] = json.loads(text)
        members = [Member(**member) for member in result.pop("members")]
        columns = [None if member.columns is None else tuple(member.columns) for member in members]
        listed = [replace(member, columns=own) for member, own in zip(members, columns, strict=True)]
        return cls(tuple(listed), **result)


# --- candidates ------------------------------------------------------------------------------------------------------


def candidates(facts: Facts) -> list[Member]:
    """Return all candidates in the order in which they are added."""
    known = {member.name: member for member in (*_trees(facts), *_kernels(facts), *_others(facts))}
    return [replace(known[name], cost=cost(known[name], facts)) for name in order(facts)]


ORDER = (
    "gradient boosting", "extra trees", "laplacian SVM", "gaussian SVM", "linear model", "random forest",
    "gaussian SVM, C=1", "linear model of ranks", "gaussian SVM of ranks", "linear model of landmarks",
    "extra trees, most columns", "gradient boosting, small trees", "mixture of experts",
)  # fmt: skip
"""The most different algorithms first, then variants of them, then those of large cost for their gain."""


def order(facts: Facts) -> tuple[str, ...]:
    """Order the names by gain for the time; for mostly categorical or large tables, trees come first.

    Kernel and linear models have at most MAX_CATEGORIES one-hot columns for a categorical column, and kernel SVMs are
    fitted on a sample of more than SVM_ROWS rows.
    """
    if 2 * facts.n_categorical <= facts.d and facts.n <= SVM_ROWS:
        return ORDER
    is_tree = {name: "trees" in name or "forest" in name or "boosting" in name for name in ORDER}
    is_svm = {name: "SVM" in name for name in ORDER}
    return tuple(sorted(ORDER, key=lambda name: (not is_tree[name], is_svm[name])))  # sorted is stable


def _trees(facts: Facts) -> list[Member]:
    n_trees = MANY_TREES if facts.n <= MANY_TREES_ROWS else FEW_TREES
    some: dict[str, Any] = {} if facts.n_classes else {"max_features": 0.33}
    most = {"max_features": 0.7, "min_samples_leaf": 2}
    return [
        Member("gradient boosting", "gradient boosting"),
        Member("extra trees", "extra trees", {"n_estimators": n_trees}),
        Member("random forest", "random forest", {"n_estimators": n_trees, **some}),
        Member("extra trees, most columns", "extra trees", {"n_estimators": n_trees, **most}),
        Member("gradient boosting, small trees", "gradient boosting", {"max_leaf_nodes": 6}),
    ]


def _kernels(facts: Facts) -> list[Member]:
    sample = min(1.0, SVM_ROWS / max(facts.n, 1))
    own: dict[str, Any] = {} if facts.n_classes < 3 else {"multi_class": "ovr"}
    chosen: list[tuple[str, Kind, dict[str, Any]]] = [
        ("laplacian SVM", "ranked", {"kernel": "laplacian", "C": 3.0}),
        ("gaussian SVM", "scaled", {"C": 10.0}),
        ("gaussian SVM, C=1", "scaled", {"C": 1.0}),
        ("gaussian SVM of ranks", "ranked", {"C": 10.0}),
    ]
    return [
        Member(name, "support vector machine", {**parameters, **own}, kind, sample=sample)
        for name, kind, parameters in chosen
    ]


def _others(facts: Facts) -> list[Member]:
    is_class = facts.n_classes > 0

    def strength(penalty: float) -> dict[str, Any]:
        return {"C": 1.0 / penalty, "max_iter": 200} if is_class else {"alpha": penalty}

    experts = {"n_experts": 3, "n_restarts": 2, "max_iter": 100, "l2": 1.0, "gate_l2": 1.0}
    return [
        Member("linear model", "linear model", strength(1.0), "scaled"),
        Member("linear model of ranks", "linear model", strength(10.0), "ranked"),
        Member("linear model of landmarks", "linear model", strength(0.1), "landmarks"),
        Member("mixture of experts", "mixture of experts", experts, "ranked"),
    ]


# --- cost ------------------------------------------------------------------------------------------------------------


class Law(NamedTuple):
    """Seconds for five folds: a n^b d^c K^e, K = 1 for regression and two classes; `a_class` is a in classification."""

    a: float
    a_class: float
    b: float
    c: float
    e: float


LAWS = {
    "gradient boosting": Law(7e-4, 3.5e-4, 0.56, 1.14, 0.6),
    "random forest": Law(3.5e-5, 2.1e-5, 0.56, 0.21, 0.1),  # for each tree, as below
    "extra trees": Law(2.6e-5, 1.8e-5, 0.62, 0.2, 0.1),
    "AdaBoost": Law(1.2e-2, 4e-3, 0.66, 0.17, 0.5),
    "support vector machine": Law(3.5e-4, 1.8e-4, 0.93, 0.13, 0.6),  # C = 10; others in proportion to sqrt(C)
    "Nystroem SVM": Law(3.5e-4, 1.8e-4, 0.93, 0.13, 0.6),
    "mixture of experts": Law(6e-3, 7.5e-3, 0.49, 0.6, 0.4),
    "linear model": Law(2e-4, 4e-4, 0.6, 0.33, 0.6),
}
"""Fitted to CPU times on the public data of benchmarks/COMMITTEE.md; accurate to a factor of about two."""


def cost(member: Member, facts: Facts) -> float:
    """Estimate the seconds of a member for five folds on one thread."""
    law = LAWS[member.algorithm]
    n_scores = facts.n_classes if facts.n_classes > 2 else 1
    seconds = (law.a_class if facts.n_classes else law.a) * facts.n**law.b * facts.d**law.c * n_scores**law.e
    if member.algorithm in ("random forest", "extra trees"):
        return float(seconds * member.parameters.get("n_estimators", 100))
    if member.algorithm == "support vector machine":
        return float(seconds * np.sqrt(member.parameters.get("C", 1.0) / 10.0))
    return float(seconds)


# --- selection -------------------------------------------------------------------------------------------------------


def choose_plan(facts: Facts, budget: float | None, n_folds: int | Literal["auto"]) -> Plan:
    """Select candidates in order as long as they are within the budget; the first in any case."""
    listed = candidates(facts)
    if facts.n_classes == 1:
        listed = listed[:1]
    limit = max(DEFAULT_SECONDS, DEFAULT_TIMES * listed[0].cost) if budget is None else budget
    chosen: list[Member] = []
    spent = 0.0
    for member in listed:
        if not chosen or spent + member.cost <= limit:
            chosen.append(member)
            spent += member.cost
    return Plan(tuple(chosen), *_divisions(facts, n_folds))


def _divisions(facts: Facts, n_folds: int | Literal["auto"]) -> tuple[int, int]:
    if n_folds != "auto":
        return min(int(n_folds), facts.n), 1
    if facts.n > HELD_OUT_ROWS:
        return 1, 1
    return max(2, min(5, facts.n)), 1


def read_plan(given: Any, facts: Facts, n_folds: int | Literal["auto"]) -> Plan:
    """Read a plan given by the user: a `Plan`, or a list of members and of names of candidates."""
    if isinstance(given, Plan):
        plan = given
    else:
        known = {member.name: member for member in candidates(facts)}
        members = [_read_member(member, known) for member in given]
        plan = Plan(tuple(members), *_divisions(facts, n_folds))
    _check(plan, facts)
    return plan


def _read_member(given: Any, known: Mapping[str, Member]) -> Member:
    if isinstance(given, Member):
        return given
    if isinstance(given, str) and given in known:
        return known[given]
    raise ValueError(
        f"members must be 'auto', a Plan, or a list of committee.committees.plan.Member and of names; got {given!r}. "
        f"The names are {', '.join(known)}."
    )


def _check(plan: Plan, facts: Facts) -> None:
    if not plan.members:
        raise ValueError("members is empty: pass at least one, or 'auto'.")
    doubled = sorted({name for name in plan.names if plan.names.count(name) > 1})
    if doubled:
        raise ValueError(f"Names of members must be unique; {', '.join(doubled)} is repeated.")
    for member in plan.members:
        if member.algorithm not in ALGORITHMS:
            raise ValueError(f"Unknown algorithm {member.algorithm!r}; the algorithms are {', '.join(ALGORITHMS)}.")
        if member.representation not in KINDS:
            raise ValueError(
                f"Unknown representation {member.representation!r}; the representations are {', '.join(KINDS)}."
            )
        if member.columns is not None and not all(0 <= column < facts.d for column in member.columns):
            raise ValueError(f"The columns of {member.name!r} must lie in 0 .. {facts.d - 1}; got {member.columns}.")
        if not 0.0 < member.sample <= 1.0:
            raise ValueError(
                f"The sample of {member.name!r} must be a fraction of the rows in (0, 1]; got {member.sample}."
            )
