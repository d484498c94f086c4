"""A fit that was stopped at any moment continues from its checkpoint and gives the model of an uninterrupted fit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LogisticRegression, Ridge

import committee
from committee.base.journal import Journal, Place
from committee.ensemble.incremental import BaseIncrementalEnsemble
from tests.bad_input import X
from tests.catalog import CLASSIFIERS, REGRESSORS, ESTIMATORS, every, make, predictions_of, target_of
from tests.model_content import digest

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

INCREMENTAL = [cls for cls in ESTIMATORS if issubclass(cls, BaseIncrementalEnsemble)]


class Killed(BaseException):
    """Stands for the death of the process: what was not saved before is lost."""


class Recorder:
    """Counts what a fit keeps, and stops it after the `last` result, if given."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, last: int | None = None) -> None:
        self.n, original = 0, Journal.record

        def record(journal: Journal, place: Place, thing: Any) -> None:
            original(journal, place, thing)
            self.n += 1
            if self.n == last:
                raise Killed

        monkeypatch.setattr(Journal, "record", record)


def fit_in_checkpoint(fit: Callable[[], Any], path: Path, last: int | None = None) -> tuple[Any, int]:
    """The model, None if the fit was stopped, and the number of results that were made, not taken from the file."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        recorder = Recorder(monkeypatch, last)
        try:
            with committee.checkpoint(path, every_seconds=0):
                return fit(), recorder.n
        except Killed:
            return None, recorder.n


def assert_continues(fit: Callable[[], Any], path: Path, n_stops: int) -> None:
    """Stop the fit at `n_stops` places (all if there are fewer), and continue from each."""
    expected = digest(fit())
    model, n = fit_in_checkpoint(fit, path)
    assert digest(model) == expected
    assert not path.exists()
    assert n > 1
    for last in np.unique(np.linspace(1, n, min(n, n_stops)).astype(int)).tolist():
        assert fit_in_checkpoint(fit, path, last) == (None, last)
        again, n_made = fit_in_checkpoint(fit, path)
        assert n_made == n - last  # what the file has is not made again
        assert digest(again) == expected
        assert not path.exists()


@every(INCREMENTAL)
def test_a_fit_continues_from_every_place(cls: type[Any], tmp_path: Path) -> None:
    assert_continues(lambda: make(cls).fit(X, target_of(cls)), tmp_path / "run.ckpt", 100)
