"""Parameters of estimators, each written once: name, type, default and what is allowed.

    class Shrunken(Estimator):
        n_estimators: int = param(100, at_least(1))
        learning_rate: float | Literal["auto"] = param("auto", positive, one_of("auto"))
        trees_: list[Tree] = fitted()

A class that derives from `Estimator` is a dataclass: `__init__` comes from its fields and those of its bases, so that
`inspect.signature`, `get_params`, `clone`, editors and type checkers see one list. `_parameter_constraints`, which
scikit-learn validates in `fit`, is made of the same fields. Attributes of fits are declared with `fitted()`: they are
known to type checkers and not to `__init__`.
"""

from __future__ import annotations

import dataclasses
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, TypeVar, cast, dataclass_transform

from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, StrOptions

T = TypeVar("T")

CONSTRAINTS = "constraints"
"""Key of the metadata of a field."""


def param(default: T, *constraints: Any, kw_only: bool = True) -> T:
    """A parameter with its default and what scikit-learn's validation may accept; any value without constraints.

    `constraints` are types, intervals, options, "boolean", "array-like", "random_state", None and so on, as in
    scikit-learn's `_parameter_constraints`.
    """
    allowed = list(constraints) or ["no_validation"]
    return dataclasses.field(default=default, kw_only=kw_only, metadata={CONSTRAINTS: allowed})


def required(*constraints: Any) -> Any:
    """A parameter without a default, which may be given by position."""
    return dataclasses.field(kw_only=False, metadata={CONSTRAINTS: list(constraints) or ["no_validation"]})


def fitted(*, init: Literal[False] = False) -> Any:
    """An attribute that `fit` sets, or that a subclass sets on the class."""
    return dataclasses.field(init=init)


def at_least(low: int) -> Interval:
    """Integers from `low` on."""
    return Interval(Integral, low, None, closed="left")


def between(low: float | None, high: float | None, closed: Literal["left", "right", "both", "neither"]) -> Interval:
    """Real numbers of an interval; None is no bound."""
    return Interval(Real, low, high, closed=closed)


def one_of(*names: str) -> StrOptions:
    """Any of these strings."""
    return StrOptions(set(names))


positive = between(0.0, None, "neither")
non_negative = between(0.0, None, "left")
fraction = between(0.0, 1.0, "right")


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(param, required, fitted))
class Estimator(BaseEstimator):
    """scikit-learn's base class, whose parameters are the fields of the class."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        dataclasses.dataclass(eq=False, repr=False, kw_only=True, match_args=False)(cls)
        fields = dataclasses.fields(cast("Any", cls))
        cls._parameter_constraints = {
            field.name: field.metadata.get(CONSTRAINTS, ["no_validation"]) for field in fields if field.init
        }
