"""Where the library was called from: a warning is about the user's line, not about one of ours."""

from __future__ import annotations

import sys

PACKAGE = __name__.partition(".")[0]


def level_of_caller() -> int:
    """The `stacklevel` of a warning given where this is called, for it to point at the first line outside the library.

    At the last line there is where all of them are ours, as in the command.
    """
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None:
        name = frame.f_globals.get("__name__", "")
        # contextlib: a generator of ours that scikit-learn or the standard library resumes
        if name.partition(".")[0] not in (PACKAGE, "contextlib"):
            break
        frame, level = frame.f_back, level + 1
    return level
