"""Members of other classes, stored with skops on request, for trusted classes only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from committee.storage.errors import ModelFileError, UnstorableError


def dump_foreign(thing: Any, path: str) -> tuple[bytes, list[str]]:
    """The object in the format of skops, and the types in it that must be trusted."""
    sio = _skops()
    try:
        data = sio.dumps(thing)
        return data, list(sio.get_untrusted_types(data=data))
    except Exception as error:  # any error of the object
        raise UnstorableError(f"{path or 'The model'} cannot be stored by skops either: {error}") from error


def load_foreign(data: bytes, name: str, trusted: Sequence[str]) -> Any:
    """The object, if all its types are known to skops or trusted by the user."""
    if name not in trusted:
        raise ModelFileError(
            f"The file holds a {name:.120} in the format of skops, which may run code of that class: if you trust "
            f"the source of the file, pass trusted=[{name!r:.120}]."
        )
    sio = _skops()
    try:
        unknown = [each for each in sio.get_untrusted_types(data=data) if each not in trusted]
        if not unknown:
            return sio.loads(data, trusted=sorted(set(sio.get_untrusted_types(data=data))))
    except Exception as error:
        raise ModelFileError(f"The {name:.120} in the file cannot be read by skops: {error!r:.200}.") from error
    raise ModelFileError(f"The {name:.120} in the file holds {unknown}, which are not among the trusted types.")


def _skops() -> Any:
    try:
        import skops.io as sio
    except ImportError as error:
        raise ImportError(
            "Members of foreign classes go through skops: install it, as in `pip install committee[foreign]`."
        ) from error
    return sio
