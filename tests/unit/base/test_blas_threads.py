"""BLAS is pinned to one thread inside, and gets its threads back."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import scipy.linalg  # noqa: F401 - its BLAS must be there before threads are counted
from threadpoolctl import threadpool_info, threadpool_limits

from committee.base.blas_threads import one_blas_thread


def n_threads() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_one_thread_inside_and_all_of_them_after() -> None:
    with threadpool_limits(3, user_api="blas"):
        before = n_threads()
        with one_blas_thread():
            assert n_threads() == {1}
            with one_blas_thread():
                assert n_threads() == {1}
            assert n_threads() == {1}
        assert n_threads() == before == {3}


def test_an_error_gives_the_threads_back() -> None:
    with threadpool_limits(3, user_api="blas"):
        with pytest.raises(KeyError), one_blas_thread():
            raise KeyError
        assert n_threads() == {3}


def test_blocks_of_several_threads_overlap() -> None:
    """Whoever set the limit, all threads keep it until the last block ends, and then BLAS has its threads again."""
    block = one_blas_thread()
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as other, threadpool_limits(3, user_api="blas"):
        for first, second in ((one, other), (other, one)):
            first.submit(block.__enter__).result()
            assert first.submit(n_threads).result() == {1}
            second.submit(block.__enter__).result()
            first.submit(block.__exit__).result()
            assert second.submit(n_threads).result() == {1}
            second.submit(block.__exit__).result()
            assert n_threads() == {3}
    before = n_threads()
    with threadpool_limits(5, user_api="blas"):  # this thread is obeyed again
        assert n_threads() == {5}
    assert n_threads() == before
