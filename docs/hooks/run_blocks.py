"""`python docs/hooks/run_blocks.py PAGE ...`: run the Python blocks of pages and write below each what it printed.

The blocks of a page share their names, in order. What a block prints stands in a text block right below it; the tests
run the pages again and compare.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
import types
from pathlib import Path

PAGE = "page"
BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```\n(?:\n```text\n.*?^```\n)?", re.MULTILINE | re.DOTALL)


def run_blocks(text: str) -> str:
    """The page with what its blocks print now."""
    page = types.ModuleType(PAGE)
    sys.modules[PAGE] = page  # classes of the page can be pickled

    def run(block: re.Match[str]) -> str:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(block["code"], "<block>", "exec"), page.__dict__)
        printed = "\n".join(line.rstrip() for line in out.getvalue().splitlines())
        return f"```python\n{block['code']}```\n" + (f"\n```text\n{printed}\n```\n" if printed else "")

    return BLOCK.sub(run, text)


def main(pages: list[str]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    for page in pages:
        place = Path(page)
        place.write_text(run_blocks(place.read_text(encoding="utf-8")), encoding="utf-8")
        print(page)


if __name__ == "__main__":
    main(sys.argv[1:])
