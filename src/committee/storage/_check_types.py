"""Checks of the fields of named tuples against their annotations, which are the schema of model files."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from committee.storage.errors import ModelFileError

NUMBERS: dict[type, tuple[type, ...]] = {
    float: (float, int, np.floating, np.integer),
    int: (int, np.integer),
    bool: (bool, np.bool_),
}


def check_fields(kind: type, values: Mapping[str, Any]) -> None:
    """Raise ModelFileError if a value is not of the annotated type."""
    hints = _hints(kind)
    for name, value in values.items():
        if name in hints and not matches(value, hints[name]):
            raise ModelFileError(f"{kind.__name__}.{name} in the file is {_describe(value)}, not {_text(hints[name])}.")


@cache
def _hints(kind: type) -> dict[str, Any]:
    try:
        return get_type_hints(kind)
    except NameError:  # a name that is imported for type checkers only
        return {}


def matches(value: Any, hint: Any) -> bool:
    """Whether the value is of the annotated type; parts that the annotation leaves open are not checked."""
    origin = get_origin(hint)
    if hint is Any:
        return True
    if origin is Union or origin is types.UnionType:
        return any(matches(value, part) for part in get_args(hint))
    if origin is Literal:
        return any(type(value) is type(choice) and value == choice for choice in get_args(hint))
    if origin is np.ndarray:
        return isinstance(value, np.ndarray) and _is_of(value.dtype, get_args(hint))
    if origin in (list, set, frozenset):
        return isinstance(value, origin) and all(matches(item, get_args(hint)[0]) for item in value)
    if origin is tuple:
        return isinstance(value, tuple) and _tuple_matches(value, get_args(hint))
    if origin is dict:
        key, item = get_args(hint)
        return isinstance(value, dict) and all(matches(k, key) and matches(v, item) for k, v in value.items())
    if origin is Callable:
        return callable(value)
    if hint is None or hint is types.NoneType:
        return value is None
    return _is_instance(value, hint) if isinstance(hint, type) and origin is None else True


def _is_instance(value: Any, hint: type) -> bool:
    if hint in NUMBERS:
        return isinstance(value, NUMBERS[hint]) and isinstance(value, bool | np.bool_) == (hint is bool)
    if getattr(hint, "_is_protocol", False):
        return all(hasattr(value, name) for name in vars(hint) if not name.startswith("_"))
    return isinstance(value, hint)


def _tuple_matches(value: tuple[Any, ...], parts: tuple[Any, ...]) -> bool:
    if len(parts) == 2 and parts[1] is Ellipsis:
        return all(matches(item, parts[0]) for item in value)
    return len(value) == len(parts) and all(matches(item, part) for item, part in zip(value, parts, strict=True))


def _is_of(dtype: np.dtype[Any], parts: tuple[Any, ...]) -> bool:
    """The second part of ndarray's annotation is dtype[X], X a scalar type, a union of them, or open."""
    wanted = get_args(parts[1])[0] if len(parts) == 2 and get_args(parts[1]) else Any
    options: tuple[Any, ...] = get_args(wanted) or (wanted,)
    return any(option is Any or not isinstance(option, type) or _is_kind(dtype, option) for option in options)


def _is_kind(dtype: np.dtype[Any], kind: type) -> bool:
    return issubclass(dtype.type, kind)


def _describe(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}"
    return f"of the type {type(value).__name__}"


def _text(hint: Any) -> str:
    return getattr(hint, "__name__", str(hint)) if get_origin(hint) is None else str(hint)[:100]
