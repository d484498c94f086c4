"""`python -m benchmarks`."""

from __future__ import annotations

import os

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "POLARS_MAX_THREADS",
)


def main() -> None:
    # Thread pools read these when they are loaded, so no numerical library may be imported before.
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    from benchmarks.command import measure_and_report

    measure_and_report(prog_name="python -m benchmarks")


if __name__ == "__main__":
    main()
