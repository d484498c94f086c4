"""From numbers to bins: our BinMapper against LightGBM's Dataset and scikit-learn's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import Benchmark, Goal, Setup
from benchmarks.tables import Scale, size
from committee.tree_engine.binning import BinMapper

MAX_BINS = 255


def benchmarks(scale: Scale) -> list[Benchmark]:
    n = scale.rows(500_000)
    return [_row(n, 28, dtype) for dtype in ("float32", "float64")]


def _row(n: int, d: int, dtype: str) -> Benchmark:
    contenders: dict[str, Callable[[NDArray[Any]], Callable[[], Any]]] = {
        "committee": _committee,
        "lightgbm": _lightgbm,
        "sklearn": _sklearn,
    }
    return Benchmark(
        name=f"binning/{dtype}-{size(n, d)}",
        task=f"{MAX_BINS} quantile bins a feature, {size(n, d)}, {dtype}",
        contenders={name: _on_numbers(call, n, d, dtype) for name, call in contenders.items()},
        quality=_count_bins,
        goals=(Goal("committee", 1.0, "lightgbm"),),
    )


@lru_cache(maxsize=1)
def _numbers(n: int, d: int, dtype: str) -> NDArray[Any]:
    """Bell curves, heavy tails and whole numbers in turn."""
    X = np.random.default_rng(0).normal(size=(n, d))
    X[:, 1::3] = np.exp(X[:, 1::3])
    X[:, 2::3] = np.round(X[:, 2::3] * 20)
    return X.astype(dtype)


def _on_numbers(prepare: Callable[[NDArray[Any]], Callable[[], Any]], n: int, d: int, dtype: str) -> Setup:
    return lambda: prepare(_numbers(n, d, dtype))


def _committee(X: NDArray[Any]) -> Callable[[], Any]:
    return lambda: BinMapper(MAX_BINS).fit_transform(X).n_bins


def _lightgbm(X: NDArray[Any]) -> Callable[[], Any]:
    import lightgbm

    params = {"max_bin": MAX_BINS, "num_threads": 1, "verbose": -1}

    def call() -> list[int]:
        built = lightgbm.Dataset(X, params=params).construct()
        return [built.feature_num_bin(f) for f in range(X.shape[1])]

    return call


def _sklearn(X: NDArray[Any]) -> Callable[[], Any]:
    from sklearn.ensemble._hist_gradient_boosting.binning import _BinMapper

    def call() -> NDArray[Any]:
        mapper = _BinMapper(n_bins=MAX_BINS + 1, random_state=0, n_threads=1)
        mapper.fit_transform(X)
        return mapper.n_bins_non_missing_

    return call


def _count_bins(n_bins: Any) -> Mapping[str, float]:
    return {"bins": int(np.sum(n_bins))}
