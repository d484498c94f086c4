"""The `stacklevel` of warnings: they point at the line of the user, not at one of ours."""

from __future__ import annotations

import sys

PACKAGE = __name__.partition(".")[0]


def level_of_caller() -> int:
    """Return the `stacklevel` with which a warning, issued by the caller, points at the first line outside the library.

    Where all lines are the library's, as in the command, it is that of the outermost one.
    """
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None:
        name = frame.f_globals.get("__name__", "")
        # contextlib: a generator of ours that scikit-learn or the standard library resumes
        if name.partition(".")[0] not in (PACKAGE, "contextlib"):
            break
        frame, level = frame.f_back, level + 1
    return level
