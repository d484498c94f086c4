"""Fits in several threads: BLAS has one thread until the last of them ends, and gets its threads back then."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import numpy as np
import pytest
import scipy.linalg  # noqa: F401 - its BLAS must be there before threads are counted
from threadpoolctl import threadpool_info, threadpool_limits

from committee.experts.mixture_of_experts import MixtureOfExpertsRegressor
from committee.experts.sparsely_gated import SparselyGatedMixtureRegressor

X = np.random.default_rng(0).normal(size=(60, 2))
Y = np.abs(X[:, 0])

LONG = 60.0
"""Seconds after which a test that hangs fails."""


def n_threads() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


class Pause:
    """Where a fit says that it is inside, and waits until it may go on."""

    def __init__(self) -> None:
        self.inside, self.may_go_on = Event(), Event()
        self.threads: set[int] = set()

    def __call__(self) -> None:
        self.inside.set()
        assert self.may_go_on.wait(LONG)
        self.threads = n_threads()


@pytest.mark.parametrize(
    ("cls", "step", "params"),
    [
        (MixtureOfExpertsRegressor, "_plan", {"n_experts": 2, "n_restarts": 1}),
        (SparselyGatedMixtureRegressor, "_train", {"n_experts": 2, "max_iter": 2}),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_overlapping_fits_have_one_blas_thread_each_and_give_them_back(
    cls: type[Any], step: str, params: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = Pause(), Pause()
    original = getattr(cls, step)

    def paused(self: Any, *args: Any) -> Any:
        (first, second)[self.random_state]()
        return original(self, *args)

    monkeypatch.setattr(cls, step, paused)
    with threadpool_limits(3, user_api="blas"), ThreadPoolExecutor(2) as pool:
        fits = []
        for seed, pause in enumerate((first, second)):
            fits.append(pool.submit(cls(random_state=seed, **params).fit, X, Y))
            assert pause.inside.wait(LONG)
        for fit, pause in zip(fits, (first, second), strict=True):
            pause.may_go_on.set()
            fit.result(LONG)
        assert first.threads == second.threads == {1}
        assert n_threads() == {3}
