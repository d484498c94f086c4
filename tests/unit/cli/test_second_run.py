"""What was compiled once is not compiled again: a comparison of the whole family finds every kernel in the cache."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

SCRIPT = """
import sys
from numba.core import event
from committee.cli import main
from committee.cli.precompile import warmup

warmup()
compiled = []
event.register("numba:compile", type("Heard", (event.Listener,), {
    "on_start": lambda self, event: compiled.append(event.data["dispatcher"].__name__),
    "on_end": lambda self, event: None,
})())
main(sys.argv[1:], standalone_mode=False)
print("compiled:", *compiled)
"""


@pytest.mark.slow
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_after_the_warm_up_a_comparison_compiles_nothing(task: str, tmp_path: Path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(70, 3))
    number = x[:, 0] + x[:, 1] ** 2 + 0.3 * rng.normal(size=70)
    target = np.where(number > 0.6, "high", "low") if task == "classification" else number
    lines = [f"{a},{b},{'u' if c > 0 else 'v'},{y}" for (a, b, c), y in zip(x, target, strict=True)]
    table = tmp_path / "table.csv"
    table.write_text("\n".join(["a,b,c,y", *lines]))
    words = ["compare", str(table), "--target", "y", "--cv", "2", "--no-report", "--quiet", "-o", str(tmp_path)]
    done = subprocess.run([sys.executable, "-c", SCRIPT, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].strip() == "compiled:"
