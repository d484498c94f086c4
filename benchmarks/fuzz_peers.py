"""Mutated model files of other libraries, for comparison with benchmarks/fuzz.py.

    python -m benchmarks.fuzz_peers --mutants 1000

Models of LightGBM (text) and XGBoost (JSON) of the same data are mutated in three ways: bits anywhere, stretches cut or
doubled, numbers of the text replaced. Neither format has a digest. Each mutant is read and predicts in a process of its
own.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import Generator

from benchmarks.fuzz import KINDS, cut, flip_bits

SECONDS = 20.0
NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
EXTREMES = (b"0", b"-1", b"1", b"2147483647", b"-2147483648", b"99999999999", b"nan", b"inf", b"1e308", b"7", b"-5")


def change_numbers(data: bytes, rng: Generator) -> bytes:
    """Some numbers become extreme ones, or others of the same file."""
    result = list(NUMBER.finditer(data))
    for place in sorted((int(i) for i in rng.integers(0, len(result), rng.integers(1, 4))), reverse=True):
        number = result[place]
        other = (
            result[rng.integers(len(result))].group() if rng.random() < 0.5 else EXTREMES[rng.integers(len(EXTREMES))]
        )
        data = data[: number.start()] + other + data[number.end() :]
    return data


MUTATIONS = (flip_bits, cut, change_numbers)


def lightgbm_model() -> tuple[bytes, Callable[[bytes], Any]]:
    import lightgbm

    X, y = KINDS[7].data()
    params = {"objective": "multiclass", "num_class": 3, "num_leaves": 6, "num_threads": 1, "verbose": -1}
    model = lightgbm.train(params, lightgbm.Dataset(X, y, free_raw_data=False), num_boost_round=4)
    return model.model_to_string().encode(), lambda data: lightgbm.Booster(
        params={"num_threads": 1, "verbose": -1}, model_str=data.decode("utf-8", "replace")
    ).predict(X)


def xgboost_model() -> tuple[bytes, Callable[[bytes], Any]]:
    import xgboost

    X, y = KINDS[7].data()
    table = xgboost.DMatrix(X, y, nthread=1)
    params = {"objective": "multi:softprob", "num_class": 3, "max_leaves": 6, "nthread": 1}
    model = xgboost.train(params, table, num_boost_round=4)
    return bytes(model.save_raw("json")), lambda data: xgboost.Booster(
        params={"nthread": 1}, model_file=bytearray(data)
    ).predict(table)


def outcome(use: Callable[[bytes], Any], data: bytes) -> str:
    """What a process does that reads the model and predicts."""
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        try:
            use(data)
        except BaseException:
            os._exit(3)
        os._exit(0)
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            return {0: "predictions", 3: "rejected"}.get(code, "crash")
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "hang"


def main() -> None:
    parser = argparse.ArgumentParser(description="Read mutated models of other libraries and count what happens.")
    parser.add_argument("--mutants", type=int, default=1000)
    n_mutants = parser.parse_args().mutants
    os.environ["OMP_NUM_THREADS"] = "1"
    print("| | refused | predicts | crash | hang |\n|---|---|---|---|---|")
    for name, make in (("LightGBM, text", lightgbm_model), ("XGBoost, JSON", xgboost_model)):
        data, use = make()
        assert outcome(use, data) == "predictions"
        for mutate in MUTATIONS:
            rngs = (np.random.default_rng(seed) for seed in range(n_mutants))
            counts = Counter(outcome(use, mutate(data, rng)) for rng in rngs)
            cells = [f"{counts[each] / n_mutants:.1%}" for each in ("rejected", "predictions", "crash", "hang")]
            print(f"| {name}, {mutate.__name__} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
