"""`python docs/hooks/run_blocks.py PAGE ...`: run the Python blocks of pages and write below each what it printed.

The blocks of a page share their names, in order. What a block prints stands in a text block right below it; the tests
run the pages again and compare. A block whose first line is a comment that begins with `# takes` (`# takes about two
minutes`) is not run: it is compiled, its imports are made, and what stands below it stays.

A page names the optional packages that its blocks need in a line with `pip install`; packages that it does not name
cannot be imported while its blocks run, as in a fresh environment. `--check` prints the page instead of writing it.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.abc
import io
import os
import re
import subprocess
import sys
import tempfile
import types
import warnings
from pathlib import Path

PAGE = "page"
BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```\n(?P<below>\n```text\n.*?^```\n)?", re.MULTILINE | re.DOTALL)
TAKES_LONG = "# takes "

APP = ("matplotlib", "polars", "jinja2", "altair", "vl_convert")
OPTIONAL = {
    "committee[app]": APP, "committee[dask]": ("dask", "distributed"), "committee[foreign]": ("skops",),
    "pandas": ("pandas",), "polars": ("polars",),
    "pyarrow": ("pyarrow",), "safetensors": ("safetensors",),
}  # fmt: skip
"""Modules that each optional requirement brings."""


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


def modules_not_named(text: str) -> set[str]:
    """Optional modules that no `pip install` line of the page brings."""
    lines = "\n".join(re.findall(r"pip install (.*)", text))
    named = {module for what, modules in OPTIONAL.items() if what in lines for module in modules}
    return {module for modules in OPTIONAL.values() for module in modules} - named


class NotInstalled(importlib.abc.MetaPathFinder):
    """Refuses to import some modules, as if they were not installed."""

    def __init__(self, modules: set[str]) -> None:
        self.modules = modules

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:
        if fullname.partition(".")[0] in self.modules:
            raise ModuleNotFoundError(f"No module named {fullname!r} (the page does not name it)", name=fullname)


def run_page(page: Path) -> str:
    """The page with what its blocks print now, run with the packages that it names; once in a process."""
    os.environ["MPLBACKEND"] = "Agg"
    text = page.read_text(encoding="utf-8")
    sys.meta_path.insert(0, NotInstalled(modules_not_named(text)))
    return run_blocks(text)


def main(arguments: list[str]) -> None:
    pages = [page for page in arguments if page != "--check"]
    if len(pages) > 1:  # a process for each: what one imports, the next one must not find
        for page in pages:
            subprocess.run([sys.executable, __file__, *arguments[: len(arguments) - len(pages)], page], check=True)
        return
    page = Path(pages[0]).resolve()
    result = run_page(page)
    if "--check" in arguments:
        sys.stdout.write(result)
    else:
        page.write_text(result, encoding="utf-8")
        print(page.name)


if __name__ == "__main__":
    main(sys.argv[1:])
