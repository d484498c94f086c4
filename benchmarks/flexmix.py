"""R's flexmix as a contender: a process of R reads the table and waits for the word to fit, so only that is timed."""

from __future__ import annotations

import shutil
import subprocess
import weakref
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import Skip

PROGRAM = """
suppressMessages(library(flexmix))
asked <- commandArgs(trailingOnly = TRUE)
folder <- asked[1]; d <- as.integer(asked[2]); k <- as.integer(asked[3]); steps <- as.integer(asked[4])
read <- function(name, columns) matrix(readBin(file.path(folder, name), "double", 1e9), ncol = columns)
x <- read("X", d); y <- read("y", 1)[, 1]; first <- read("r", k)
cat("ready\\n")
lines <- file("stdin")
open(lines)
while (length(line <- readLines(lines, n = 1))) {
  fit <- flexmix(y ~ x, cluster = first, control = list(iter.max = steps, minprior = 0, tolerance = -1))
  cat(sprintf("%.10f", as.numeric(logLik(fit))), "\\n")
}
"""


class Flexmix:
    """A mixture of linear regressions with constant gates in a process of R, so many steps from given shares."""

    def __init__(self, X: NDArray[Any], y: NDArray[Any], shares: NDArray[Any], n_steps: int) -> None:
        if shutil.which("Rscript") is None:
            raise Skip("R is not installed")
        self._folder = TemporaryDirectory()
        for name, array in (("X", X), ("y", y), ("r", shares.T)):
            np.asarray(array, np.float64).ravel(order="F").tofile(Path(self._folder.name, name))  # R goes by columns
        words = ["Rscript", "-e", PROGRAM, self._folder.name, str(X.shape[1]), str(len(shares)), str(n_steps)]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen(words, text=True, **pipes)
        weakref.finalize(self, _end, self._process)
        if self._process.stdout.readline().strip() != "ready":
            raise Skip("R has no package flexmix, or it did not start")

    def fit(self) -> float:
        """Run EM in R; the log-likelihood it ends with."""
        self._process.stdin.write("fit\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())


def _end(process: subprocess.Popen[str]) -> None:
    process.stdin.close()
    process.stdout.close()
    process.terminate()
    process.wait()
