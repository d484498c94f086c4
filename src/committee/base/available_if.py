"""Methods that an estimator has under some settings only, with an error that gives the reason.

scikit-learn's `available_if` does the same, but its message names the method alone: the reason is in the cause of the
error, which `str(error)` and the command do not show.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper, wraps
from types import MethodType
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

P = ParamSpec("P")
R = TypeVar("R")


class Available(Generic[P, R]):
    """A method that exists while `check` of its object is true, also for `hasattr`."""

    def __init__(self, method: Callable[Concatenate[Any, P], R], check: Callable[[Any], bool]) -> None:
        self.method, self.check = method, check
        own: Any = self
        update_wrapper(own, method)  # name and docstring

    @overload
    def __get__(self, instance: None, owner: type) -> Callable[Concatenate[Any, P], R]: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> Callable[P, R]: ...
    def __get__(self, instance: object | None, owner: type | None = None) -> Any:
        if instance is not None:
            self._require(instance)
            return MethodType(self.method, instance)

        @wraps(self.method)
        def unbound(instance: Any, *args: P.args, **kwargs: P.kwargs) -> R:
            self._require(instance)
            return self.method(instance, *args, **kwargs)

        return unbound

    def _require(self, instance: Any) -> None:
        missing = f"This {type(instance).__name__!r} has no attribute {self.method.__name__!r}"
        try:
            is_available = self.check(instance)
        except Exception as error:
            raise AttributeError(f"{missing}: {error}") from error
        if not is_available:
            raise AttributeError(missing)


def available_if(check: Callable[[Any], bool]) -> Callable[[Callable[Concatenate[Any, P], R]], Available[P, R]]:
    """Decorate a method that exists only where `check` is true; the check may raise an error with the reason.

    >>> def is_open(shop):
    ...     if not shop.hours:
    ...         raise AttributeError("it has no hours, set hours")
    ...     return True
    >>> class Shop:
    ...     hours = 0
    ...
    ...     @available_if(is_open)
    ...     def sell(self):
    ...         return "sold"
    >>> Shop().sell()
    Traceback (most recent call last):
    AttributeError: This 'Shop' has no attribute 'sell': it has no hours, set hours
    >>> hasattr(Shop(), "sell")
    False
    """
    return lambda method: Available(method, check)
