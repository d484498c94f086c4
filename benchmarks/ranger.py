"""R's ranger as a contender: a process of R reads the table and waits for the word to fit, so only that is timed."""

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
from benchmarks.tables import Split

PROGRAM = """
suppressMessages(library(ranger))
asked <- commandArgs(trailingOnly = TRUE)
folder <- asked[1]; threads <- as.integer(asked[2]); trees <- as.integer(asked[3]); is_class <- asked[4] == "class"
read <- function(name, columns) matrix(readBin(file.path(folder, name), "double", 1e9), ncol = columns)
d <- as.integer(asked[5])
x <- read("X", d); y <- read("y", 1)[, 1]; test <- read("X_test", d)
colnames(x) <- colnames(test) <- paste0("x", seq_len(d))
if (is_class) y <- factor(y)
cat("ready\\n")
lines <- file("stdin")
open(lines)
while (length(line <- readLines(lines, n = 1))) {
  if (line == "fit") {
    forest <- ranger(x = x, y = y, num.trees = trees, num.threads = threads, probability = is_class,
                     min.node.size = if (is_class) 1 else 5, oob.error = FALSE, write.forest = TRUE, verbose = FALSE)
  } else {
    predicted <- predict(forest, test, num.threads = threads)$predictions
    writeBin(as.vector(predicted), file.path(folder, "predicted"))
  }
  cat("done\\n")
}
"""


class Ranger:
    """A forest in a process of R. Leaves of probability forests are class shares, as those of scikit-learn are."""

    def __init__(self, split: Split, is_class: bool, n_trees: int = 100, n_threads: int = 2) -> None:
        if shutil.which("Rscript") is None:
            raise Skip("R is not installed")
        self.is_class = is_class
        self.classes_ = np.unique(split.y) if is_class else np.empty(0)
        self._folder = TemporaryDirectory()
        self._write(split)
        kind = "class" if is_class else "value"
        words = ["Rscript", "-e", PROGRAM, self._folder.name, str(n_threads), str(n_trees), kind, str(split.X.shape[1])]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen(words, text=True, **pipes)
        weakref.finalize(self, _end, self._process)
        if self._prediction() != "ready":
            raise Skip("R has no package ranger, or it did not start")

    def _write(self, split: Split) -> None:
        codes = np.searchsorted(self.classes_, split.y) if self.is_class else split.y
        for name, array in (("X", split.X), ("y", codes), ("X_test", split.X_test)):
            np.asarray(array, np.float64).ravel(order="F").tofile(Path(self._folder.name, name))  # R goes by columns

    def _prediction(self) -> str:
        return self._process.stdout.readline().strip()

    def _ask(self, word: str) -> None:
        self._process.stdin.write(word + "\n")
        self._process.stdin.flush()
        if self._prediction() != "done":
            raise RuntimeError(f"R ended at the word {word!r}")

    def fit(self) -> Ranger:
        """Grow the forest in R."""
        self._ask("fit")
        return self

    def predictions(self) -> NDArray[np.float64]:
        """For the rows held out: shares [n, classes], or numbers [n]."""
        self._ask("predict")
        result = np.fromfile(Path(self._folder.name, "predicted"))
        return result.reshape(len(self.classes_), -1).T if self.is_class else result


def _end(process: subprocess.Popen[str]) -> None:
    process.stdin.close()
    process.stdout.close()
    process.terminate()
    process.wait()
