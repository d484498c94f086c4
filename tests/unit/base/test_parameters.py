"""Parameters of estimators are fields: one list for the signature, `get_params`, `clone` and the validation."""

from __future__ import annotations

import inspect
from typing import Any, ClassVar, Literal

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone

import committee
from committee.base.parameters import (
    CLASS_WEIGHT,
    N_JOBS,
    RANDOM_STATE,
    Estimator,
    at_least,
    between,
    count_fraction,
    fitted,
    fixed,
    fraction,
    non_negative,
    one_of,
    param,
    positive,
    required,
)

POSITIONAL, KEYWORD = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY


class Base(Estimator):
    kind: ClassVar[str] = "base"

    n_estimators: int = param(at_least(1), default=100, kw_only=False)
    random_state: Any = param(*RANDOM_STATE, default=None)
    rate: float | Literal["auto"] = param(positive, one_of("auto"), default="auto")
    classes_: Any = fitted()
    slope_: float = fixed(1.0)

    def fit(self, X: Any, y: Any) -> Any:
        self._validate_params()
        self.classes_ = np.unique(y)
        return self


class Child(ClassifierMixin, Base):
    n_estimators: int = param(at_least(1), default=10, kw_only=False)
    loss: Literal["a", "b"] = param(one_of("a", "b"), default="a")


class Fixed(Child):
    rate: float | Literal["auto"] = fixed(0.5)


class Needy(Estimator):
    estimator: Any = required()
    anything: Any = param(default=None)


class Written(Child):
    def __init__(self, loss: Literal["a", "b"] = "b", extra: int = 3) -> None:
        super().__init__(loss=loss)
        self.extra = extra


class BelowWritten(Written):
    pass


def shape(cls: type) -> list[tuple[str, Any, Any]]:
    return [(one.name, one.kind, one.default) for one in inspect.signature(cls).parameters.values()]


def test_the_signature_lists_the_fields_of_the_class_and_its_bases() -> None:
    assert shape(Base) == [
        ("n_estimators", POSITIONAL, 100),
        ("random_state", KEYWORD, None),
        ("rate", KEYWORD, "auto"),
    ]
    assert shape(Child) == [
        ("n_estimators", POSITIONAL, 10),
        ("random_state", KEYWORD, None),
        ("rate", KEYWORD, "auto"),
        ("loss", KEYWORD, "a"),
    ]


def test_a_required_parameter_has_no_default_and_may_be_given_by_position() -> None:
    assert shape(Needy) == [("estimator", POSITIONAL, inspect.Parameter.empty), ("anything", KEYWORD, None)]
    assert Needy(3).estimator == 3
    with pytest.raises(TypeError, match="estimator"):
        Needy()  # pyright: ignore[reportCallIssue]


def test_get_params_set_params_and_clone_know_the_fields() -> None:
    model = Child(5, rate=0.1)
    assert model.get_params() == {"n_estimators": 5, "random_state": None, "rate": 0.1, "loss": "a"}
    assert clone(model).get_params() == model.get_params()
    assert model.set_params(loss="b").loss == "b"
    with pytest.raises(ValueError, match="n_trees"):
        model.set_params(n_trees=3)


def test_repr_shows_what_differs_from_the_defaults() -> None:
    assert repr(Child(5, rate=0.1)) == "Child(n_estimators=5, rate=0.1)"


def test_attributes_of_the_fit_are_no_parameters() -> None:
    with pytest.raises(TypeError, match="classes_"):
        Base(classes_=1)  # pyright: ignore[reportCallIssue]
    assert not hasattr(Base(), "classes_")
    assert Base().fit([[1]], [3]).classes_.tolist() == [3]
    assert Base().slope_ == 1.0
    assert Base.kind == "base"


def test_a_fixed_parameter_leaves_the_signature_and_the_validation() -> None:
    assert "rate" not in inspect.signature(Fixed).parameters
    assert "rate" not in Fixed().get_params()
    assert "rate" not in Fixed._parameter_constraints
    assert Fixed().rate == 0.5
    with pytest.raises(TypeError, match="rate"):
        Fixed(rate=1.0)  # pyright: ignore[reportCallIssue]


@pytest.mark.parametrize(
    ("wrong", "keyword"),
    [({"n_estimators": 0}, "n_estimators"), ({"rate": "fast"}, "rate"), ({"loss": "c"}, "loss"),
     ({"random_state": "x"}, "random_state")],
)  # fmt: skip
def test_fit_rejects_values_beyond_the_constraints(wrong: dict[str, Any], keyword: str) -> None:
    with pytest.raises(ValueError, match=f"The '{keyword}' parameter of Child must be"):
        Child(**wrong).fit([[1]], [1])


def test_a_parameter_without_constraints_takes_anything() -> None:
    assert Needy._parameter_constraints == {"estimator": "no_validation", "anything": "no_validation"}
    Needy(object())._validate_params()


def test_a_subclass_may_write_init_by_hand() -> None:
    for cls in (Written, BelowWritten):
        model = cls(extra=4)
        assert model.get_params() == {"loss": "b", "extra": 4}
        assert model.n_estimators == 10
        assert clone(model).extra == 4
        with pytest.raises(ValueError, match="loss"):
            cls(loss="c").fit([[1]], [1])  # pyright: ignore[reportArgumentType]


def test_a_subclass_may_write_constraints_as_scikit_learn_does() -> None:
    class Old(Base):
        _parameter_constraints: ClassVar[dict[str, list[Any]]] = {**Base._parameter_constraints, "rate": [int]}

    class New(Old):
        depth: int = param(at_least(2), default=2)

    with pytest.raises(ValueError, match="rate"):
        Old(rate="x").fit([[1]], [1])  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="depth"):
        New(depth=1).fit([[1]], [1])


@pytest.mark.parametrize(
    ("constraint", "good", "bad"),
    [
        ((at_least(2),), [2, np.int64(5)], [1, 2.5, None]),
        ((between(0.0, 1.0),), [0.0, 1, 0.5], [-0.1, 1.1]),
        ((positive,), [1e-9, 3], [0.0, -1.0]),
        ((non_negative,), [0.0, 2], [-1e-9]),
        ((fraction,), [1.0, 1, 0.1], [0.0, 1.1]),
        ((count_fraction,), [1.0, 0.1], [1, 0.0]),
        ((one_of("a", "b"),), ["a"], ["c", 1]),
        (N_JOBS, [1, -1, None], [0, 1.5]),
        (RANDOM_STATE, [0, None, np.random.default_rng(0), np.random.RandomState(0)], [-1, 0.5]),
        (CLASS_WEIGHT, [{0: 1.0}, "balanced", None], ["even"]),
    ],
)
def test_constraints_allow_and_reject(constraint: tuple[Any, ...], good: list[Any], bad: list[Any]) -> None:
    class Holder(Estimator):
        value: Any = param(*constraint, default=None)

    for value in good:
        Holder(value=value)._validate_params()
    for value in bad:
        with pytest.raises(ValueError, match="value"):
            Holder(value=value)._validate_params()


# --- the library -----------------------------------------------------------------------------------------------------

WRITTEN_BY_HAND = {
    "AdaBoost", "AnyBoost", "ArcGV", "Bagging", "ConfidenceRated", "ExtraTrees", "GradientBoosting", "LPBoost",
    "RandomForest", "SchapireBoost", "Stagewise",
}  # fmt: skip
"""Families whose parameters are not fields yet; this list only becomes shorter."""


def public_estimators() -> list[type[Any]]:
    result = [getattr(committee, name) for name in sorted(committee.__all__)]
    return [one for one in result if inspect.isclass(one) and issubclass(one, BaseEstimator)]


@pytest.mark.parametrize("cls", public_estimators())
def test_parameters_of_every_estimator_are_fields_with_constraints(cls: type[Any]) -> None:
    if any(cls.__name__.startswith(family) for family in WRITTEN_BY_HAND):
        pytest.skip("parameters are not fields yet")
    assert issubclass(cls, Estimator)
    assert cls._is_init_made_of_fields
    assert set(cls._parameter_constraints) == set(inspect.signature(cls).parameters)
    assert "no_validation" not in cls._parameter_constraints.values()
