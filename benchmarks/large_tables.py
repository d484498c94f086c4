"""Gradient boosting of tables on disk: `python -m benchmarks.large_tables FOLDER` writes benchmarks/LARGE_TABLES.md.

Every fit is a process of its own with one thread. Those on disk run in a control group with four gigabytes of memory,
page cache included (as root, cgroup version 1 or 2; without it, the page says so). Tables are made once and kept in
FOLDER.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.machine import describe_machine

FEATURES, ROUNDS, LEAVES, RATE = 30, 100, 31, 0.1
LARGE, SMALL = 50_000_000, 5_000_000
LIMIT = 4 * 2**30
PAGE = Path(__file__).with_name("LARGE_TABLES.md")
CHUNK = 250_000

MAKE = """
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
rng, writer = np.random.default_rng(0), None
for start in range(0, {n}, {chunk}):
    m = min({chunk}, {n} - start)
    X = rng.standard_normal((m, {d}), dtype=np.float32)
    score = X[:, 0] + X[:, 1] * X[:, 2] + np.sin(3 * X[:, 3]) + np.abs(X[:, 4]) - 0.8
    y = (score + rng.logistic(size=m) > 0).astype(np.int8)
    columns = {{f"x{{f}}": X[:, f] for f in range({d})}}
    table = pa.table({{**columns, "y": y}})
    writer = writer or pq.ParquetWriter({path!r}, table.schema, compression="none", use_dictionary=False)
    writer.write_table(table)
writer.close()
"""

BATCHES = """
import json, resource, sys, time
import numpy as np, pyarrow.parquet as pq
path, folder = {path!r}, {folder!r}
file = pq.ParquetFile(path)
def batches():
    for batch in file.iter_batches(2**17):
        yield np.column_stack([batch.column(f).to_numpy() for f in range({d})]), batch.column({d}).to_numpy()
start, cpu = time.perf_counter(), time.process_time()
"""

COMMITTEE = """
from committee import GradientBoostingClassifier
from committee.ensemble import sources
sources.MEMORY_CELLS = {memory_cells}
model = GradientBoostingClassifier(
    n_estimators={rounds}, max_leaf_nodes={leaves}, learning_rate={rate}, early_stopping=False, random_state=0
).fit(path, "y")
loss = float(model.history_.train_loss[-1])
"""

XGBOOST = """
import xgboost as xgb
class Iterator(xgb.DataIter):
    def __init__(self):
        self.source = batches()
        super().__init__(cache_prefix=folder + "/cache")
    def next(self, input_data):
        pair = next(self.source, None)
        if pair is None:
            return False
        input_data(data=pair[0], label=pair[1])
        return True
    def reset(self):
        self.source = batches()
data = xgb.ExtMemQuantileDMatrix(Iterator(), max_bin=255, nthread=1)
settings = dict(
    objective="binary:logistic", tree_method="hist", grow_policy="lossguide", max_leaves={leaves}, max_depth=0,
    eta={rate}, nthread=1, max_bin=255,
)
results = {{}}
xgb.train(settings, data, {rounds}, evals=[(data, "train")], evals_result=results, verbose_eval=False)
loss = results["train"]["logloss"][-1]
"""

LIGHTGBM = """
import lightgbm as lgb
from functools import lru_cache
@lru_cache(1)
def rows_of(group):
    table = file.read_row_group(group)
    return np.column_stack([table.column(f).to_numpy() for f in range({d})]).astype(np.float64)
class Rows(lgb.Sequence):
    def __init__(self, group):
        self.group, self.batch_size = group, 65536
    def __getitem__(self, index):
        return rows_of(self.group)[index]
    def __len__(self):
        return file.metadata.row_group(self.group).num_rows
y = pq.read_table(path, columns=["y"]).column(0).to_numpy()
settings = dict(
    objective="binary", num_leaves={leaves}, learning_rate={rate}, num_threads=1, verbose=-1, max_bin=255,
    metric="binary_logloss",
)
data = lgb.Dataset([Rows(g) for g in range(file.num_row_groups)], y, params=settings)
results = {{}}
lgb.train(
    settings, data, {rounds}, valid_sets=[data], valid_names=["train"], callbacks=[lgb.record_evaluation(results)]
)
loss = results["train"]["binary_logloss"][-1]
"""

REPORT = """
wall, cpu = time.perf_counter() - start, time.process_time() - cpu
print(json.dumps(dict(cpu=cpu, wall=wall, peak=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, loss=loss)))
"""


class Fit(NamedTuple):
    """One fit: the contender, its code, the number of rows, and whether it is in memory."""

    contender: str
    code: str
    n_rows: int
    in_memory: bool = False


FITS = (
    Fit("committee, on disk", COMMITTEE, LARGE),
    Fit("committee, in memory", COMMITTEE, SMALL, in_memory=True),
    Fit("committee, on disk", COMMITTEE, SMALL),
    Fit("xgboost, external memory", XGBOOST, SMALL),
    Fit("lightgbm, Sequence", LIGHTGBM, SMALL),
)


def main(folder: Path) -> None:
    """Measure all fits, one after the other, and write the page."""
    rows: list[dict[str, Any]] = []
    for fit in FITS:
        path = folder / f"{fit.n_rows // 1_000_000}M.parquet"
        if not path.exists():
            _run(MAKE.format(n=fit.n_rows, chunk=CHUNK, d=FEATURES, path=str(path)), None)
        rows.append({**fit._asdict(), **_measure(fit, path, folder)})
        print(rows[-1]["contender"], {name: rows[-1][name] for name in ("n_rows", "cpu", "wall", "peak", "loss")})
        _write(rows)


def _measure(fit: Fit, path: Path, folder: Path) -> dict[str, float]:
    """CPU and wall seconds, peak memory and training loss of a fit in a process of its own."""
    values = dict(path=str(path), folder=str(folder), d=FEATURES, rounds=ROUNDS, leaves=LEAVES, rate=RATE)
    values["memory_cells"] = 2**62 if fit.in_memory else 0
    code = (BATCHES + fit.code + REPORT).format_map(values)
    return json.loads(_run(code, None if fit.in_memory else _limited_group()).splitlines()[-1])


def _limited_group() -> Path | None:
    """A control group with LIMIT bytes of memory; None where there are none."""
    for root, limit in (
        (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes"),
        (Path("/sys/fs/cgroup"), "memory.max"),
    ):
        group = root / "committee-benchmark"
        try:
            group.mkdir(exist_ok=True)
            (group / limit).write_text(str(LIMIT))
        except OSError:
            continue
        return group
    return None


def _run(code: str, group: Path | None) -> str:
    def enter() -> None:
        if group is not None:
            (group / "cgroup.procs").write_text(str(os.getpid()))

    threads = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS")}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **threads}, preexec_fn=enter
    )
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return done.stdout


def _write(rows: list[dict[str, Any]]) -> None:
    """Write the page; ratios are of seconds of CPU per row, to ours on disk with as many rows."""
    machine = ", ".join(f"{name} {value}" for name, value in describe_machine().items())
    limited = (
        "a control group with 4 GB of memory" if _limited_group() else "no memory limit (control groups need root)"
    )
    lines = [
        "# Tables larger than memory",
        "",
        f"Made by `python -m benchmarks.large_tables`: {ROUNDS} trees of {LEAVES} leaves, {FEATURES} columns of random",
        "numbers, two classes, 255 bins, one thread; from opening a Parquet file to the model.",
        f"Fits on disk in {limited}. LightGBM reads batches of rows by its Sequence",
        "interface, which saves it from parsing text twice (`two_round`).",
        "",
        f"Machine: {machine}.",
        "",
        "| contender | rows | CPU | wall | CPU per million rows | peak memory | training log-loss |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        per_million = 1e6 * row["cpu"] / row["n_rows"]
        lines.append(
            f"| {row['contender']} | {row['n_rows'] // 1_000_000} million | {row['cpu']:.0f} s | {row['wall']:.0f} s | "
            f"{per_million:.2f} s | {row['peak'] / 2**20:.0f} MB | {row['loss']:.6f} |"
        )
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
