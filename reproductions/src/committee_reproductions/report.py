"""docs/reproductions.md, written from the registry and from what `ReproductionResult.to_dict` recorded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from committee_reproductions.registry import REPRODUCTIONS

Record = Mapping[str, Any]

HEAD = """# Reproductions

Written by `python docs/hooks/record_reproductions.py` from what it measured; do not edit.

Published experiments of ensemble learning, run again on built-in or simulated data. They are a package of their own:

```
pip install -e ./reproductions         # in a checkout of committee
committee reproduce                    # list them
committee reproduce boosting-curves    # run one: published and obtained numbers, and the picture
```

In Python: `committee_reproductions.REPRODUCTIONS["boosting-curves"].run()`; `quick=True` takes seconds, for a first
look.

A published number *agrees* when it differs from ours by no more than rounding and two standard errors. A claim without
a number holds (yes), does not (no), or what was seen is within two standard errors of nothing (within chance). Numbers
are means ± one standard error. Folds of a cross-validation share training rows, so their standard error is that of
Nadeau and Bengio (2003): the variance over J folds times 1/J + n_test/n_train instead of 1/J.
"""


def _read_discussions() -> dict[str, str]:
    """Read the texts of discussions.md by name."""
    text = (Path(__file__).parent / "discussions.md").read_text(encoding="utf-8")
    parts = re.split(r"^## (\S+)$", text, flags=re.MULTILINE)[1:]
    return {name: part.strip() for name, part in zip(parts[::2], parts[1::2], strict=True)}


DISCUSSIONS = _read_discussions()
"""By name; what the numbers of an experiment show beyond its claims."""

HOLDS = {True: "yes", False: "no", None: "within chance"}


def reproductions_page(records: Iterable[Record], figures: str = "figures") -> str:
    """Return the page: a table of contents, then every record; pictures are `figures`/name.png.

    >>> page = reproductions_page([{"name": "xor", "rows": [], "claims": [], "verdict": "f = xy", "seconds": 0.1,
    ...                             "is_quick": False}])
    >>> page.splitlines()[-1]
    '![Exclusive or: a map makes it separable](figures/xor.png)'
    """
    known = list(records)
    contents = ["| name | experiment | outcome |", "|---|---|---|"]
    contents += [
        f"| [{one['name']}](#{one['name']}) | {REPRODUCTIONS[one['name']].title} | {_outcome(one)} |" for one in known
    ]
    return "\n".join([HEAD, *contents, "", *(section(one, figures) for one in known)])


def section(record: Record, figures: str = "figures") -> str:
    """Return one experiment: what is claimed, the numbers, the claims, the picture."""
    one = REPRODUCTIONS[record["name"]]
    lines = [
        f"## {one.name}", "",
        f"**{one.title}.** {one.source}.", "",
        f"**Claimed:** {one.claimed}", "",
        f"**Result:** {record['verdict']}.", "",
    ]  # fmt: skip
    if one.note:
        lines += [f"**Done differently:** {one.note}", ""]
    if record["is_quick"]:
        lines += ["*A quick run: too few rounds, folds or samples to compare.*", ""]
    if record["rows"]:
        lines += [*_rows(record["rows"]), ""]
    if record["claims"]:
        lines += ["| claim | holds | evidence |", "|---|---|---|"]
        lines += [f"| {c['statement']} | {HOLDS[c['holds']]} | {c['evidence']} |" for c in record["claims"]]
        lines.append("")
    if one.name in DISCUSSIONS:
        lines += [DISCUSSIONS[one.name], ""]
    return "\n".join([*lines, f"![{one.title}]({figures}/{one.name}.png)"]) + "\n"


def _rows(rows: list[Record]) -> list[str]:
    """Return a table; without the columns of published numbers where there are none."""
    has_published = any(row["published"] is not None for row in rows)
    head = "| number | published | obtained | agrees |" if has_published else "| number | obtained |"
    lines = [head, "|---" * (head.count("|") - 1) + "|"]
    for row in rows:
        cells = [row["what"], _number(row["obtained"], row["stderr"], row["digits"])]
        if has_published:
            published = "" if row["published"] is None else f"{row['published']:.{row['digits']}f}"
            agrees = "" if row["agrees"] is None else HOLDS[row["agrees"]]
            cells = [cells[0], published, cells[1], agrees]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _number(value: float, stderr: float, digits: int) -> str:
    shown = digits + (digits < 4)  # one digit more than published
    return f"{value:.{shown}f} ± {stderr:.{shown}f}" if stderr > 0.0 else f"{value:.{shown}f}"


def _outcome(record: Record) -> str:
    compared = [row["agrees"] for row in record["rows"] if row["agrees"] is not None]
    parts = [f"{sum(compared)} of {len(compared)} numbers agree"] if compared else []
    holds = [claim["holds"] for claim in record["claims"]]
    counts = {word: sum(held is value for held in holds) for value, word in HOLDS.items()}
    claims = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    return "; ".join([*parts, *([f"claims: {claims}"] if claims else [])])
