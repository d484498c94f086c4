"""Compiled kernels in forked, spawned and pooled processes, in threads, and on platforms that lack what Linux has."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from committee.base import kernel_cache
from committee.kernels.trees.sampling import draw_order

TIMEOUT = 300

CHILDREN = """
import hashlib, multiprocessing, sys
import numpy as np
from committee import RandomForestClassifier

def digest(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(6000, 90))  # enough cells for a second thread
    forest = RandomForestClassifier(4, n_jobs=2, random_state=seed).fit(X, X[:, 0] > X[:, 1])
    return hashlib.sha256(forest.predict_proba(X).tobytes()).hexdigest()

if __name__ == "__main__":
    here = [digest(0), digest(1)]  # the pool of threads exists before the children do
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        assert pool.map(digest, [0, 1]) == here
    print("equal")
"""

LOKY = """
import numpy as np
from sklearn.model_selection import cross_val_predict
from committee import GradientBoostingRegressor

if __name__ == "__main__":
    X = np.random.default_rng(0).normal(size=(20000, 8))  # large enough to be memory-mapped for the children
    model = GradientBoostingRegressor(n_estimators=5, random_state=0)
    one, two = (cross_val_predict(model, X, X[:, 0], cv=2, n_jobs=n) for n in (1, 2))
    assert (one == two).all()
    print("equal")
"""

FORK_DURING_A_COMPILATION = """
import os, threading, time
import numpy as np
from committee.kernels.trees.sampling import draw_order
from committee.base.kernel_cache import COMPILING

thread = threading.Thread(target=lambda: draw_order(np.uint64(7), np.empty(5, np.int64)))
thread.start()
while COMPILING.seconds == 0.0:
    time.sleep(0.001)
child = os.fork()
draw_order(np.uint64(7), np.empty(5, np.int32))  # both processes compile another one
thread.join() if child else os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print("equal")
"""


def run_script(path: Path, code: str, *arguments: str, **environment: str) -> str:
    """What a script prints, to stderr too; one that hangs fails."""
    path.write_text(code)
    done = subprocess.run(
        [sys.executable, str(path), *arguments],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIMEOUT,
        encoding=environment.get("PYTHONIOENCODING", "utf-8"),
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_children_of_every_kind_fit_the_same_models(method, tmp_path):
    if method != "spawn" and not hasattr(os, "fork"):
        pytest.skip("this platform does not fork")
    assert run_script(tmp_path / "children.py", CHILDREN, method).split()[-1] == "equal"


@pytest.mark.slow
def test_workers_of_joblib_fit_the_same_models_on_memory_mapped_rows(tmp_path):
    assert run_script(tmp_path / "workers.py", LOKY).split()[-1] == "equal"


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform does not fork")
def test_a_fork_while_another_thread_compiles_does_not_hang(tmp_path):
    cache = str(tmp_path / "cache")
    assert run_script(tmp_path / "fork.py", FORK_DURING_A_COMPILATION, COMMITTEE_CACHE_DIR=cache).split()[-1] == "equal"


ORDER = """
import numpy as np
from committee.kernels.trees.sampling import draw_order
order = np.empty(5, np.int64)
draw_order(np.uint64(7), order)
print(*order)
"""


@pytest.mark.slow
def test_processes_that_compile_at_the_same_time_store_one_file_each_can_read(tmp_path):
    environment = {**os.environ, "COMMITTEE_CACHE_DIR": str(tmp_path)}
    running = [
        subprocess.Popen([sys.executable, "-c", ORDER], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    printed = {process.communicate(timeout=TIMEOUT)[0] for process in running}
    assert len(printed) == 1
    assert all(process.returncode == 0 for process in running)
    (directory,) = tmp_path.iterdir()
    assert len(list(directory.iterdir())) == 1
    assert run_script(tmp_path / "again.py", ORDER, COMMITTEE_CACHE_DIR=str(tmp_path)) in printed


THREADS = """
from concurrent.futures import ThreadPoolExecutor
import numpy as np
from committee.kernels.trees.sampling import draw_order
def order(_):
    result = np.empty(5, np.int64)
    draw_order(np.uint64(7), result)
    return tuple(result)
with ThreadPoolExecutor(8) as pool:
    found = set(pool.map(order, range(64)))
(one,) = found
print(len(draw_order.signatures))
"""


@pytest.mark.slow
def test_threads_that_want_the_same_kernel_compile_it_once(tmp_path):
    assert run_script(tmp_path / "threads.py", THREADS, COMMITTEE_CACHE_DIR=str(tmp_path / "cache")).split()[-1] == "1"


def test_compiled_kernels_run_in_threads():
    import numpy as np

    def order(seed: int) -> list[int]:
        result = np.empty(50, np.int64)
        draw_order(np.uint64(seed), result)
        return result.tolist()

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(order, range(40))) == [order(seed) for seed in range(40)]


LACKING = """
import os
for name in ("register_at_fork", "fork", "forkpty", "geteuid", "getuid", "getegid", "sched_getaffinity", "sched_yield"):
    if hasattr(os, name):
        delattr(os, name)
os.process_cpu_count = os.cpu_count  # of Python 3.13, which is made of sched_getaffinity where there is one
from pathlib import Path
read_text = Path.read_text
def without_proc(self, *arguments, **options):
    if str(self).startswith("/proc"):
        raise FileNotFoundError(str(self))
    return read_text(self, *arguments, **options)
Path.read_text = without_proc
"""

EVERYTHING = (
    LACKING
    + """
import sys, tempfile
import numpy as np
import committee
from committee.storage import load_model, save_model
X = np.random.default_rng(0).normal(size=(6000, 90))
y = X[:, 0] > X[:, 1]
models = (
    committee.DecisionTreeClassifier(),
    committee.RandomForestClassifier(4, n_jobs=2),
    committee.GradientBoostingClassifier(n_estimators=3, n_jobs=2),
    committee.AdaBoostClassifier(n_estimators=3),
)
for model in models:
    fitted = model.fit(X, y)
    with tempfile.TemporaryDirectory() as folder:
        save_model(fitted, Path(folder, "a.committee"))
        assert (load_model(Path(folder, "a.committee")).predict(X) == fitted.predict(X)).all()
print("fitted, saved and loaded")
"""
)


@pytest.mark.slow
def test_a_platform_that_lacks_what_linux_has_fits_saves_and_loads(tmp_path):
    assert "loaded" in run_script(tmp_path / "lacking.py", EVERYTHING)


COMMAND = LACKING + "from committee.cli import main\nmain()\n"


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["cp1252", "cp437", "ascii"])
def test_the_command_prints_on_consoles_that_lack_most_characters(encoding, tmp_path):
    table = tmp_path / "table.csv"
    rows = [f"{i % 7},{(i * 37) % 11},{'yes' if (i * 37) % 11 > i % 7 else 'no'}" for i in range(120)]
    table.write_text("\n".join(["a,b,c", *rows]))
    environment = {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0", "NO_COLOR": "1"}
    output = tmp_path / "output"
    arguments = ("compare", str(table), "--target", "c", "--time-budget", "4s", "-o", str(output))
    said = run_script(tmp_path / "command.py", COMMAND, *arguments, **environment)
    assert "log loss" in said
    assert (output / "model.committee").is_file()
    for each in (
        ["methods"],
        ["data"],
        ["--help"],
        ["compare", "--help"],
        ["inspect", str(output / "model.committee")],
    ):
        assert run_script(tmp_path / "command.py", COMMAND, *each, **environment)


def test_paths_of_compiled_kernels_leave_room_for_windows():
    """260 characters are the limit there, and site-packages of a user takes up to a hundred."""
    kernels = Path(kernel_cache.PACKAGE / "kernels").rglob("*.py")
    names = [line.split("(")[0][4:] for path in kernels for line in path.read_text().splitlines() if line[:4] == "def "]
    longest = max(map(len, names)) + len("-") + 20 + len(kernel_cache.SUFFIX)
    assert len("committee/_compiled/x86-64-v3-py314t-numba0.100/") + longest < 140
    assert len("committee/kernels-0123456789abcdef/") + longest < 120
