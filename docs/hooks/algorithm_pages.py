"""One page for each algorithm, made from the catalogue, the docstrings, the pseudo-code and the reproductions.

Everything on a page stands in one place: names, papers and ids in `catalog.py`, the equations in the module's
docstring, parameters and example in the class's, the steps in `pseudo_code.txt`, pictures by the reproductions.
"""

from __future__ import annotations

import importlib
import inspect
import re
import string
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from committee.catalog import CATALOG, Entry
from committee_reproductions import REPRODUCTIONS

HERE = Path(__file__).resolve().parent

FAMILIES = {
    "trees": ("Trees", "trees.md"),
    "voting": ("Voting", None),
    "bagging": ("Bagging", "bagging.md"),
    "forests": ("Random forests", "forests.md"),
    "boosting": ("Boosting", "boosting.md"),
    "gradient_boosting": ("Gradient boosting", "gradient_boosting.md"),
    "experts": ("Mixtures of experts", "experts.md"),
    "svm": ("Support vector machines", "svm.md"),
    "linear": ("Linear models", "linear.md"),
    "committees": ("Committees", None),
    "calibration": ("Calibration", None),
    "members": ("Weak learners and wrappers", None),
}
"""Folder -> heading and the guide to read."""

GUIDES = {
    "gradient_boosting": "gradient_boosting.md",
    "online_bagging": "online.md",
    "online_boosting": "online.md",
    "sparsely_gated": "deep_experts.md",
    "hierarchical": "deep_experts.md",
}
"""Pages with a guide of their own."""

FIGURES = {
    "adaboost": ("three-rounds", "boosting-curves", "samme", "boosted-stumps"),
    "adaboost_m1": ("samme", "boosted-stumps"),
    "adaboost_theta": ("rounds-or-theta",),
    "arc_gv": ("margin-maximisation",),
    "adaboost_star": ("margin-maximisation",),
    "lpboost": ("margin-maximisation",),
    "confidence_rated": ("confidence-rated",),
    "bagging": ("bagged-trees", "bias-variance"),
    "random_forest": ("forests-against-adaboost", "spam", "rare-class"),
    "gradient_boosting": ("spam",),
    "decision_tree": ("bias-variance",),
    "decision_stump": ("three-rounds", "boosted-stumps"),
    "mixture_of_experts": ("mixture-of-experts",),
    "svc": ("xor",),
}
"""Page -> the reproductions that show it."""

TITLES = {
    "arc_gv": "arc-gv",
    "confidence_rated": "Confidence-rated AdaBoost",
    "decision_stump": "Decision stump",
    "decision_tree": "Decision tree (CART)",
    "density": "Mixture density",
    "gradient_boosting": "Gradient tree boosting",
}
"""Pages whose first alias is no good title."""

ITEM = re.compile(r"[\w*]+(,\s[\w*]+)*,?(\n[\w*]+(, [\w*]+)*)* : ")
"""The beginning of a list of parameters."""

SENTENCE = string.ascii_uppercase + '"`'
"""What a sentence begins with."""

CORES = {"committee.forests.estimators": "committee.forests.random_forest"}
"""Modules whose equations stand in another one."""


class Algorithm(NamedTuple):
    """A page: its address and the estimators on it."""

    slug: str
    entries: tuple[Entry, ...]

    @property
    def path(self) -> str:
        return f"algorithms/{self.slug}.md"

    @property
    def title(self) -> str:
        if self.slug in TITLES:
            return TITLES[self.slug]
        alias = self.entries[0].aliases[0] if self.entries[0].aliases else self.entries[0].name
        return alias[0].upper() + alias[1:]

    @property
    def family(self) -> str:
        return self.entries[0].module.split(".")[1]


def algorithms(catalog: Iterable[Entry] = CATALOG) -> list[Algorithm]:
    """The catalogue with those together that differ only in what they predict."""
    groups: dict[tuple[str, str], list[Entry]] = {}
    for entry in catalog:
        groups.setdefault((entry.module, _stem(entry.name)), []).append(entry)
    modules = [module for module, _ in groups]
    return [
        Algorithm(_slug(module, stem, modules.count(module) == 1), tuple(entries))
        for (module, stem), entries in groups.items()
    ]


def page(algorithm: Algorithm, figures: Path) -> str:
    """The page in Markdown; pictures are shown that are in the folder `figures`."""
    first = algorithm.entries[0]
    heading, guide = heading_of(algorithm.family), FAMILIES.get(algorithm.family, ("", None))[1]
    guide = GUIDES.get(algorithm.slug, guide)
    names = ", ".join(f"`{entry.name}`" for entry in algorithm.entries)
    aliases = ", ".join(dict.fromkeys(alias for entry in algorithm.entries for alias in entry.aliases))
    ids = ", ".join(dict.fromkeys(name for entry in algorithm.entries for name in entry.ids))
    papers = " ".join(f"{paper}." for paper in first.paper.split("; "))
    parts = [
        f"# {algorithm.title}",
        f"{names}; module `{first.module}`. Also called: {aliases}.",
        f"**Reference.** {papers} [In the lecture notes](../coverage.md): {ids}."
        + (f" Guide: [{heading}](../{guide})." if guide else ""),
        _steps(algorithm.slug),
        "## Idea and equations\n\n" + _module_text(CORES.get(first.module, first.module)),
        *(_class_text(entry) for entry in algorithm.entries),
        *_pictures(algorithm.slug, figures),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def index(pages: Iterable[Algorithm]) -> str:
    """The list of all pages, by family."""
    lines = ["# Algorithms", "", "Every estimator of the library, from its catalogue. `committee methods` prints it."]
    known = list(pages)
    for family in dict.fromkeys([*FAMILIES, *(one.family for one in known)]):
        own = [one for one in known if one.family == family]
        if own:
            lines += ["", f"## {heading_of(family)}", "", "| algorithm | estimators | reference |", "|---|---|---|"]
        for one in own:
            names = ", ".join(f"`{entry.name}`" for entry in one.entries)
            lines.append(f"| [{one.title}]({one.slug}.md) | {names} | {one.entries[0].paper} |")
    return "\n".join(lines) + "\n"


def heading_of(family: str) -> str:
    """Of a folder of the package."""
    return FAMILIES[family][0] if family in FAMILIES else family.capitalize()


def pseudo_code() -> dict[str, str]:
    """Page -> its steps, from `pseudo_code.txt`."""
    sections = re.split(r"^\[(\w+)\]\n", (HERE / "pseudo_code.txt").read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {name: text.strip("\n") for name, text in zip(sections[1::2], sections[2::2], strict=True)}


def _steps(slug: str) -> str:
    steps = pseudo_code().get(slug, "")
    return f"## Steps\n\n```text\n{steps}\n```" if steps else ""


def _module_text(module: str) -> str:
    return _mark_code(inspect.cleandoc(importlib.import_module(module).__doc__ or ""))


def _class_text(entry: Entry) -> str:
    doc = inspect.getdoc(getattr(importlib.import_module(entry.module), entry.name)) or ""
    return f"## {entry.name}\n\n" + docstring_text(doc)


def docstring_text(doc: str) -> str:
    """A docstring in Markdown: parameters as a list, examples as code; they are run as doctests."""
    head, *sections = re.split(r"^([A-Z][A-Za-z ]*)\n-+(?:\n|$)", doc, flags=re.MULTILINE)
    parts = _with_examples(head)
    for name, text in zip(sections[::2], sections[1::2], strict=True):
        if name == "Examples":
            parts.append(f"**Example** (run by the tests)\n\n```pycon\n{text.strip()}\n```")
        else:
            parts += [f"**{name}**", *_with_examples(text)]
    return "\n\n".join(parts)


def _with_examples(text: str) -> list[str]:
    """Paragraphs, those that begin with a prompt as code."""
    paragraphs = text.strip("\n").split("\n\n")
    return [f"```pycon\n{one}\n```" if one.startswith(">>> ") else _text(one) for one in paragraphs if one]


def _text(text: str) -> str:
    """Paragraphs; those of the form `name : words` become lists."""
    paragraphs = text.strip("\n").split("\n\n")
    return "\n\n".join(_items(one) if ITEM.match(one) else _mark_code(one) for one in paragraphs)


def _items(paragraph: str) -> str:
    """`name : words` and the indented lines below it as one entry of a list."""
    items, is_first = list[str](), True
    names = ""
    for line in paragraph.splitlines():
        if line.startswith(" ") and items:
            is_sentence = is_first and items[-1][-1] not in ".,;:" and line.strip()[0] in SENTENCE
            items[-1] += (". " if is_sentence else " ") + line.strip()
            is_first = False
            continue
        names, is_first = f"{names} {line}".strip(), True
        if " : " in names:  # else the names go on in the next line
            own, _, words = names.partition(" : ")
            items.append("- " + ", ".join(f"`{name.strip()}`" for name in own.split(",")) + f": {words}")
            names = ""
    return _mark_code("\n".join(items))


def _mark_code(text: str) -> str:
    """Doubled backquotes as Markdown has them; names that would be read as emphasis or HTML are left alone in code."""
    lines: list[str] = []
    for line in text.splitlines():
        is_code = line.startswith("    ")
        lines.append(
            line if is_code else re.sub(r"``([^`]+)``", r"`\1`", line).replace("<", "&lt;").replace("*", r"\*")
        )
    return "\n".join(lines)


def _pictures(slug: str, figures: Path) -> Iterable[str]:
    shown = [name for name in FIGURES.get(slug, ()) if (figures / f"{name}.png").exists()]
    if shown:
        yield "## Shown on data"
    for name in shown:
        title = REPRODUCTIONS[name].title
        yield f"[{title}](../reproductions.md#{name}).\n\n![{title}](../figures/{name}.png)"


def _stem(name: str) -> str:
    """A name without what it predicts."""
    return re.sub(r"(Classifier|Regressor|(?<=SV)[CR])$", "", name)


def _slug(module: str, stem: str, is_alone: bool) -> str:
    last = module.rsplit(".", 1)[1]
    if is_alone and last != "estimators":
        return last.removesuffix("_estimators")
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", stem).lower()
