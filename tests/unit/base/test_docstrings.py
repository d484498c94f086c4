"""Docstrings of estimators: the sections made of the fields."""

from __future__ import annotations

import inspect

from committee.base.docstrings import undocumented
from committee.base.parameters import Estimator, at_least, between, fitted, one_of, param


class Base(Estimator):
    """Not shown."""

    n_estimators: int | str = param(at_least(1), one_of("auto"), default="auto", kw_only=False, doc="Number of rounds.")
    tol: float = param(between(0.0, 1.0, "left"), default=0.1)
    history_: list[float] = fitted()


class Derived(Base):
    """Boost trees.

    The second paragraph.

    Examples
    --------
    >>> 1 + 1
    2
    """

    shrink: float = param(default=0.5, doc="Shrinkage.")
    n_rounds_: int = fitted(doc="Rounds kept.")

    @property
    def edges_(self) -> list[float]:
        """Edges by round."""
        return []


class WithoutDocstring(Base):
    extra: int = param(default=1)


def test_sections_are_made_of_the_fields_of_the_class_and_its_bases():
    assert inspect.getdoc(Derived) == inspect.cleandoc(
        """
        Boost trees.

        The second paragraph.

        Parameters
        ----------
        n_estimators : int >= 1 or "auto", default="auto"
            Number of rounds.
        tol : float in [0, 1), default=0.1
        shrink : float, default=0.5
            Shrinkage.

        Attributes
        ----------
        edges_ : list[float]
            Edges by round.
        history_ : list[float]
            Measurements of the fit, a row for each round.
        n_rounds_ : int
            Rounds kept.

        Examples
        --------
        >>> 1 + 1
        2
        """
    )


def test_an_instance_has_the_docstring_of_its_class():
    assert Derived().__doc__ == Derived.__doc__


def test_a_class_without_a_docstring_lists_its_parameters():
    assert (WithoutDocstring.__doc__ or "").startswith("Parameters\n----------\nn_estimators")


def test_names_without_description_are_found():
    assert undocumented(Derived) == ["tol"]
