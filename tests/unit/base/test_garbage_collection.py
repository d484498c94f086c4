"""The garbage collector is paused during the first import of an estimator, and left as it was."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest

from committee.base.garbage_collection import collection_paused

IMPORT = """
import gc, committee
{before}
collections = []
gc.callbacks.append(lambda phase, info: collections.append(info["generation"]))
from committee import DecisionTreeClassifier
n_collections = len(collections)
gc.callbacks.clear()
print(n_collections, gc.isenabled(), gc.get_freeze_count() > 0, len(gc.get_objects(0)), len(gc.get_objects()))
"""


def import_after(before: str) -> list[str]:
    """Number of collections, is the collector on, are objects frozen; the young objects, and all."""
    program = IMPORT.format(before=before)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_an_import_collects_nothing():
    n_collections, is_on, is_frozen, *_ = import_after("")
    assert (n_collections, is_on, is_frozen) == ("0", "True", "False")


def test_the_collector_stays_off_and_frozen_objects_stay_frozen():
    assert import_after("gc.disable()")[1:3] == ["False", "False"]
    assert import_after("gc.freeze()")[1:3] == ["True", "True"]


@pytest.mark.skipif("t" in getattr(sys, "abiflags", ""), reason="without the GIL there are no generations")
def test_what_is_imported_is_not_examined_again_by_young_collections():
    n_young, n_objects = map(int, import_after("")[3:])
    assert n_young < n_objects / 10


def test_the_collector_is_on_again_after_an_error():
    def fail() -> None:
        with collection_paused():
            assert not gc.isenabled()
            raise ImportError

    assert gc.isenabled()
    with pytest.raises(ImportError):
        fail()
    assert gc.isenabled()
