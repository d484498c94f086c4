"""Every parameter of every estimator has constraints, and fit names the parameter whose value breaks them.

What a value must be in view of the data (one constraint per column, a class that y has) is in
tests/unit/<family>/test_bad_input.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.utils._param_validation import InvalidParameterError, generate_invalid_param_val, make_constraint

from tests.bad_input import X, assert_rejected
from tests.contract.test_bad_input import ESTIMATORS, make, target_of

FREE = {"no_validation", "cv_object"}
"""Constraints that take any value, or leave the check to scikit-learn."""


class Unheard:
    """A value of a type that no parameter takes."""


def bad_values(cls: type[Any], name: str) -> list[Any]:
    """A value of no accepted type, and one outside of each interval or set of options."""
    constraints = [make_constraint(each) for each in cls._parameter_constraints[name]]
    values: list[Any] = [Unheard()]
    for constraint in constraints:
        try:
            value = generate_invalid_param_val(constraint)
        except NotImplementedError:
            continue
        if not any(other.is_satisfied_by(value) for other in constraints):
            values.append(value)
    return values


CASES = [
    pytest.param(cls, name, id=f"{cls.__name__}-{name}")
    for cls in ESTIMATORS
    for name in make(cls).get_params(deep=False)
    if not FREE.intersection(each for each in cls._parameter_constraints[name] if isinstance(each, str))
]


@pytest.mark.parametrize("cls", ESTIMATORS, ids=lambda cls: cls.__name__)
def test_every_parameter_has_constraints(cls: type[Any]) -> None:
    assert set(make(cls).get_params(deep=False)) <= set(cls._parameter_constraints)


@pytest.mark.parametrize(("cls", "name"), CASES)
def test_values_outside_the_constraints_raise(cls: type[Any], name: str) -> None:
    for value in bad_values(cls, name):
        model = make(cls).set_params(**{name: value})
        assert_rejected(model, InvalidParameterError, f"'{name}' parameter of {cls.__name__}", X, target_of(cls))


@pytest.mark.parametrize(("cls", "name"), CASES)
def test_nan_is_no_number(cls: type[Any], name: str) -> None:
    constraints = [make_constraint(each) for each in cls._parameter_constraints[name]]
    if any(each.is_satisfied_by(np.nan) for each in constraints):
        pytest.skip("takes any object")
    model = make(cls).set_params(**{name: np.nan})
    assert_rejected(model, InvalidParameterError, f"'{name}' parameter of", X, target_of(cls))
