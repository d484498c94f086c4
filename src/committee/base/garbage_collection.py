"""Python's collection of cyclic garbage, paused where nothing but long-lived objects is made."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Generator


@contextlib.contextmanager
def collection_paused() -> Generator[None]:
    """Switch the collector off: it would examine objects that live on, again and again as they become more."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def promote_all() -> None:
    """Move every object to the oldest generation without examining it, where what lives on ends up anyway."""
    if gc.get_freeze_count() == 0:  # objects that somebody has frozen stay frozen
        gc.freeze()
        gc.unfreeze()
