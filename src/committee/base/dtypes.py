"""Every dtype of the engine in one place, each with its reason."""

from __future__ import annotations

import numpy as np

CODE_BINNED = np.uint8
"""Binned columns: 255 value bins and one for missing values fill a byte, so 32 features fill half a cache line."""

CODE_EXACT = np.uint32
"""Exact columns hold dense ranks; a column may have more than 65,536 distinct values."""

CODE_LOCAL = np.uint16
"""Ranks inside a subtree, which has at most 16,384 rows; half the cache footprint of uint32."""

ROW = np.uint32
"""Positions of rows; tables have less than 2**31 rows."""

SUM = np.int64
"""Sums of targets and of weights are fixed-point integers: they do not depend on the order of the additions, so a
model is bit-identical on any number of threads and integer weights equal repeated rows."""

MAX_BINS = 255
"""Value bins per feature; the code n_bins[f] (at most 255) means missing."""

MAX_CATEGORIES = 254
"""Categories with their own code; rarer ones share one more code, so codes and the missing code fit a byte."""
