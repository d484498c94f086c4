"""Rules of style that a linter does not know: short parameter lists, short bodies, plain names.

Each list of exceptions may only shrink: an entry that is no longer needed fails the test too.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import committee

SOURCE = Path(committee.__file__).parent

MAX_PARAMETERS = 8
MAX_LINES = 60
MAX_KERNEL_LINES = 120

LONG_SIGNATURES: dict[str, str] = {
    "cli/main:predict": "one parameter for each option of the command",
    "dask/gradient_boosting:_OnCluster.fit": "public: keyword parameters with defaults",
    "evaluation/bias_variance:bias_variance": "public: keyword parameters with defaults",
    "evaluation/bootstrap:bootstrap": "public: keyword parameters with defaults",
    "evaluation/bootstrap_interval:bootstrap_interval": "public: keyword parameters with defaults",
    "evaluation/compare_bias_variance:compare_bias_variance": "public: keyword parameters with defaults",
    "evaluation/comparison:compare": "public: keyword parameters with defaults",
    "explain/forest_importances:forest_importances": "public: keyword parameters with defaults",
    "explain/importances:permutation_importances": "public: keyword parameters with defaults",
    "explain/partial_dependence:partial_dependence": "public: keyword parameters with defaults",
    "ingest/table:read_table": "public: keyword parameters with defaults",
    "report/render:write_report": "public: keyword parameters with defaults",
    "svm/tuning:tune_svc": "public: keyword parameters with defaults",
    "svm/tuning:tune_svr": "public: keyword parameters with defaults",
    "trees/export:export_graphviz": "public: keyword parameters with defaults",
}
"""Functions with more parameters than MAX_PARAMETERS, and why."""

LONG_BODIES: dict[str, str] = {}
"""Functions with longer bodies, and why."""

VAGUE = {"utils", "helpers", "common", "misc", "core", "parts", "stuff"}
"""Names of modules and packages that do not say what they hold."""

NOT_AN_ID = {"f1", "r2"}
"""Parts of names that look like an id of a source document: the F1 score, AdaBoost.R2."""

COVERAGE = Path(__file__).parents[2] / "docs" / "coverage.md"


class Function(NamedTuple):
    """One function or method of the package."""

    name: str  # module:Class.function
    node: ast.FunctionDef | ast.AsyncFunctionDef
    is_method: bool

    @property
    def n_parameters(self) -> int:
        """How many parameters a caller has to think of."""
        a = self.node.args
        named = [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))]
        is_static = any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in self.node.decorator_list)
        return len(named) - (self.is_method and not is_static)

    @property
    def n_lines(self) -> int:
        """Lines of the body without its docstring."""
        body = self.node.body[1:] if ast.get_docstring(self.node) else self.node.body
        return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


@cache
def modules() -> dict[str, ast.Module]:
    """The syntax tree of every module, by its path in the package without the suffix."""
    return {
        path.relative_to(SOURCE).with_suffix("").as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(SOURCE.rglob("*.py"))
    }


@cache
def functions() -> tuple[Function, ...]:
    return tuple(function for name, tree in modules().items() for function in inside(tree, f"{name}:", False))


def inside(node: ast.AST, prefix: str, is_class: bool) -> Iterator[Function]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            yield from inside(child, f"{prefix}{child.name}.", True)
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield Function(prefix + child.name, child, is_class)
            yield from inside(child, f"{prefix}{child.name}.", False)
        else:
            yield from inside(child, prefix, is_class)


def assert_only(result: dict[str, int], allowed: dict[str, str]) -> None:
    """Nothing but the exceptions was found, and all of them."""
    new = {name: n for name, n in result.items() if name not in allowed}
    assert not new, f"shorten these: {new}"
    assert not allowed.keys() - result.keys(), f"take these off the list: {sorted(allowed.keys() - result.keys())}"


def test_functions_have_few_parameters() -> None:
    result = {f.name: f.n_parameters for f in functions() if f.node.name != "__init__"}
    assert_only({name: n for name, n in result.items() if n > MAX_PARAMETERS}, LONG_SIGNATURES)


def test_function_bodies_are_short() -> None:
    limits = {f.name: MAX_KERNEL_LINES if f.name.startswith("kernels/") else MAX_LINES for f in functions()}
    assert_only({f.name: f.n_lines for f in functions() if f.n_lines > limits[f.name]}, LONG_BODIES)


def test_module_names_say_what_they_hold() -> None:
    assert not [name for name in modules() if VAGUE & {part.strip("_") for part in name.split("/")}]


def test_names_hold_no_ids_of_source_documents() -> None:
    ids = {
        match.lower().replace("-", "") for match in re.findall(r"^\| ([A-J]-\d+) ", COVERAGE.read_text(), re.MULTILINE)
    }
    assert len(ids) > 50
    names = {*modules(), *(f.name for f in functions())}
    assert not [name for name in names if (ids - NOT_AN_ID) & set(re.split(r"[/:._]", name.lower()))]


def test_private_modules_are_imported_by_their_own_package_only() -> None:
    found: list[str] = []
    for name, tree in modules().items():
        imports = (node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
        for _, package, *rest in (module.split(".") for module in imports if module.startswith("committee.")):
            if any(part.startswith("_") for part in rest) and name.partition("/")[0] != package:
                found.append(f"{name} imports {package}.{'.'.join(rest)}")
    assert not found
