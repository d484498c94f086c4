"""Parameters of estimators, each written once: name, type, default and constraints.

    class Shrunken(Estimator):
        n_estimators: int = param(at_least(1), default=100)
        learning_rate: float | Literal["auto"] = param(positive, one_of("auto"), default="auto", doc="Shrinkage.")
        random_state: RandomState = param(*RANDOM_STATE, default=None)
        trees_: tuple[Tree, ...] = fitted(doc="The trees, in the order in which they were grown.")

    class Stump(Shrunken):
        n_estimators: int = fixed(1)

A class that derives from `Estimator` is a dataclass: `__init__` is made of its fields and those of its bases, so that
`inspect.signature`, `get_params`, `clone`, editors and type checkers see one list. `_parameter_constraints`, which
scikit-learn validates in `fit`, and the sections "Parameters" and "Attributes" of the docstring are made of the same
fields. A class that writes its own `__init__` or its own `_parameter_constraints`, as scikit-learn's classes do, keeps
them.
"""

from __future__ import annotations

import dataclasses
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, TypeVar, dataclass_transform

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions

from committee.base.docstrings import CONSTRAINTS, DOC, ComposedDocstring

T = TypeVar("T")


def param(*constraints: Any, default: T, kw_only: bool = True, doc: str = "") -> T:
    """A parameter with its default; `kw_only=False` allows it to be given by position, in the order of the fields.

    `constraints` are what scikit-learn's validation accepts: types, intervals, options, "boolean", "array-like",
    "random_state", None and so on; without any, every value is allowed. `doc` describes the parameter in the docstring
    of the class (base/docstrings.py).
    """
    return dataclasses.field(default=default, kw_only=kw_only, metadata=_metadata(constraints, doc))


def required(*constraints: Any, kw_only: bool = False, doc: str = "") -> Any:
    """A parameter without a default."""
    return dataclasses.field(kw_only=kw_only, metadata=_metadata(constraints, doc))


def fitted(*, init: Literal[False] = False, doc: str = "") -> Any:
    """An attribute that `fit` sets, no parameter of `__init__`."""
    return dataclasses.field(init=init, metadata={DOC: doc})


def fixed(default: T, *, init: Literal[False] = False, doc: str = "") -> T:
    """A parameter of a base class which this class fixes, or an attribute that every object has before `fit`."""
    return dataclasses.field(default=default, init=init, metadata={DOC: doc})


def _metadata(constraints: tuple[Any, ...], doc: str) -> dict[str, Any]:
    return {CONSTRAINTS: list(constraints) or "no_validation", DOC: doc}


# --- constraints -----------------------------------------------------------------------------------------------------


def at_least(low: int) -> Interval:
    """Integers from `low` on."""
    return Interval(Integral, low, None, closed="left")


def between(
    low: float | None, high: float | None, closed: Literal["left", "right", "both", "neither"] = "both"
) -> Interval:
    """Real numbers of an interval; None is no bound."""
    return Interval(Real, low, high, closed=closed)


def one_of(*names: str) -> StrOptions:
    """Any of these strings."""
    return StrOptions(set(names))


positive = between(0.0, None, "neither")
positive_or_infinite = between(0.0, None, "right")
non_negative = between(0.0, None, "left")
fraction = between(0.0, 1.0, "right")
inner_fraction = between(0.0, 1.0, "neither")

count_fraction = Interval(RealNotInt, 0.0, 1.0, closed="right")
"""A fraction where an integer would be a number of rows or columns: 1.0 is all of them, 1 is one."""

RANDOM_STATE = ("random_state", np.random.Generator)
N_JOBS = (at_least(1), Interval(Integral, None, -1, closed="right"), None)
CLASS_WEIGHT = (dict, one_of("balanced"), None)
CATEGORICAL_FEATURES = ("array-like", one_of("from_dtype"), None)


# --- the base class --------------------------------------------------------------------------------------------------


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(param, required, fitted, fixed))
class Estimator(BaseEstimator):
    """scikit-learn's base class, with the fields of the class as its parameters."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {}
    _is_init_made_of_fields: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        is_written = _has_written_init(cls)
        written = vars(cls).get("__doc__") or ""
        cls.__doc__ = written or cls.__name__  # else the decorator writes the signature
        dataclasses.dataclass(init=not is_written, eq=False, repr=False, kw_only=True, match_args=False)(cls)
        cls.__doc__ = ComposedDocstring(written)  # type: ignore[assignment]
        cls._is_init_made_of_fields = not is_written
        if "_parameter_constraints" not in vars(cls):
            cls._parameter_constraints = _constraints_of(cls)


def _has_written_init(cls: type) -> bool:
    """Whether the class, or the base that gives it `__init__`, writes it by hand."""
    owner = next(base for base in cls.__mro__ if "__init__" in vars(base))
    return owner is not object and not vars(owner).get("_is_init_made_of_fields", False)


def _constraints_of(cls: Any) -> dict[str, Any]:
    """The constraints of the fields, and those that a base wrote in `_parameter_constraints`."""
    fields = dataclasses.fields(cls)
    allowed = {field.name: field.metadata.get(CONSTRAINTS, "no_validation") for field in fields if field.init}
    removed = {field.name for field in fields if not field.init}
    inherited = {name: values for name, values in cls._parameter_constraints.items() if name not in removed}
    return {**inherited, **allowed}
