"""`python docs/hooks/run_blocks.py PAGE ...`: run the Python blocks of pages and write below each what it printed.

The blocks of a page share their names, in order. What a block prints stands in a text block right below it; the tests
run the pages again and compare. A block whose first line is a comment that begins with `# takes` (`# takes about two
minutes`) is not run: it is compiled, its imports are made, and what stands below it stays.
"""

from __future__ import annotations

import ast
import contextlib
import io
import re
import sys
import tempfile
import types
import warnings
from pathlib import Path

PAGE = "page"
BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```\n(?P<below>\n```text\n.*?^```\n)?", re.MULTILINE | re.DOTALL)
TAKES_LONG = "# takes "


def run_blocks(text: str) -> str:
    """The page with what its blocks print now."""
    page = types.ModuleType(PAGE)

    def run(block: re.Match[str]) -> str:
        if block["code"].startswith(TAKES_LONG):
            exec(imports_of(block["code"]), page.__dict__)
            return block[0]
        printed = run_block(block["code"], page)
        return f"```python\n{block['code']}```\n" + (f"\n```text\n{printed}\n```\n" if printed else "")

    sys.modules[PAGE] = page  # classes of the page can be pickled
    try:
        # Files that blocks write and warnings that they silence are theirs.
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), warnings.catch_warnings():
            return BLOCK.sub(run, text)
    finally:
        del sys.modules[PAGE]


def run_block(code: str, page: types.ModuleType) -> str:
    """What the block prints; its figures are closed."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "<block>", "exec"), page.__dict__)
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def imports_of(code: str) -> types.CodeType:
    """The imports at the top level of a block, compiled. All of the block must compile."""
    compile(code, "<block>", "exec")
    lines = [line for line in ast.parse(code).body if isinstance(line, ast.Import | ast.ImportFrom)]
    return compile(ast.Module(lines, type_ignores=[]), "<block>", "exec")


def main(pages: list[str]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    for page in pages:
        place = Path(page).resolve()
        place.write_text(run_blocks(place.read_text(encoding="utf-8")), encoding="utf-8")
        print(page)


if __name__ == "__main__":
    main(sys.argv[1:])
