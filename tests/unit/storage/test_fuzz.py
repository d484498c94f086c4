"""Mutated model files, in a process that is watched: a lean run of benchmarks/fuzz.py."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from benchmarks.fuzz import KINDS, MUTATIONS, Pieces, mutant, run, write_models
from committee.storage import load_model


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    result = tmp_path_factory.mktemp("models")
    write_models(result)
    return result


@pytest.mark.slow
def test_mutants_are_rejected_or_predict(directory: Path) -> None:
    results = list(run(directory, 320, first=7_000_000))
    assert [seed for seed, *_ in results] == list(range(7_000_000, 7_000_320))
    assert {kind for _, kind, *_ in results} == set(range(len(KINDS)))
    assert {mutation for _, _, mutation, *_ in results} == {mutate.__name__ for mutate in MUTATIONS}
    counts = Counter(outcome for *_, outcome, _ in results)
    bad = [each for each in results if each[3] not in ("rejected", "predictions", "raises")]
    assert not bad
    assert counts["raises"] <= 2  # such as other names of columns: a clear error, if a late one
    assert min(counts["rejected"], counts["predictions"]) > 30  # else the mutations are too wild, or too tame


def test_pieces_make_the_same_model(directory: Path, tmp_path: Path) -> None:
    data = (directory / "1.committee").read_bytes()
    (tmp_path / "m").write_bytes(Pieces.of(data).join())
    X = KINDS[1].data()[0]
    one, other = load_model(directory / "1.committee"), load_model(tmp_path / "m")
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))
    assert mutant(data, 3) == mutant(data, 3)
