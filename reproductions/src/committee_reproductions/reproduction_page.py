"""The page of all reproductions, written from what `ReproductionResult.to_dict` recorded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Record = Mapping[str, Any]

HEAD = """# Reproductions

Written by `python docs/hooks/record_reproductions.py` from what it measured; do not edit.

`committee reproduce` lists the experiments of the five lecture notes (S0 to S4) and of the papers behind them, and
`committee reproduce E-13` runs one, on built-in or simulated data: it prints the published numbers beside those
obtained and writes the picture. In Python: `committee_reproductions.reproductions.REPRODUCTIONS["E-13"].run()`. A
published number *agrees* when it differs from ours by no more than rounding and two standard errors. A claim without a
number holds (yes), does not (no), or what was seen is within two standard errors of nothing (within chance). Each study
tells in its module how it measures; [studies](studies.md) discusses the larger ones.
"""

WORDS = {True: "yes", False: "no", None: "within chance"}


def reproductions_page(records: Iterable[Record], figures: str = "figures") -> str:
    """All records under each other, a table of contents first; pictures are `figures`/id.png.

    >>> page = reproductions_page([{"id": "B-1", "title": "A vote", "source": "S2", "claimed": "It errs.", "rows": [],
    ...                             "claims": [], "verdict": "it does", "seconds": 0.1, "is_quick": False}])
    >>> page.splitlines()[-1]
    '![A vote](figures/B-1.png)'
    """
    told = list(records)
    contents = ["| id | experiment | outcome |", "|---|---|---|"]
    contents += [f"| [{one['id']}](#{_anchor(one)}) | {one['title']} | {_outcome(one)} |" for one in told]
    return "\n".join([HEAD, *contents, "", *(section(one, figures) for one in told)])


def section(record: Record, figures: str = "figures") -> str:
    """One experiment: what is claimed, the numbers, the claims, the picture."""
    lines = [
        f"## {record['id']}: {record['title']}", "",
        f"**Source:** {record['source']}.", "",
        f"**Claimed:** {record['claimed']}", "",
        f"**Found:** {record['verdict']}.", "",
    ]  # fmt: skip
    if record.get("note"):
        lines += [f"**Done differently:** {record['note']}", ""]
    if record["is_quick"]:
        lines += ["*A quick run: too few rounds, folds or samples to compare.*", ""]
    if record["rows"]:
        lines += [*_rows(record["rows"]), ""]
    if record["claims"]:
        lines += ["| claim | holds | evidence |", "|---|---|---|"]
        lines += [f"| {c['statement']} | {WORDS[c['holds']]} | {c['evidence']} |" for c in record["claims"]]
        lines.append("")
    return "\n".join([*lines, f"![{record['title']}]({figures}/{record['id']}.png)"]) + "\n"


def _rows(rows: list[Record]) -> list[str]:
    """A table; without the columns of published numbers where there are none."""
    has_published = any(row["published"] is not None for row in rows)
    head = "| number | published | obtained | agrees |" if has_published else "| number | obtained |"
    lines = [head, "|---" * (head.count("|") - 1) + "|"]
    for row in rows:
        cells = [row["what"], _number(row["obtained"], row["stderr"], row["digits"])]
        if has_published:
            published = "" if row["published"] is None else f"{row['published']:.{row['digits']}f}"
            agrees = "" if row["agrees"] is None else WORDS[row["agrees"]]
            cells = [cells[0], published, cells[1], agrees]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _number(value: float, stderr: float, digits: int) -> str:
    shown = digits + (digits < 4)  # one digit more than published
    return f"{value:.{shown}f} ± {stderr:.{shown}f}" if stderr > 0.0 else f"{value:.{shown}f}"


def _outcome(record: Record) -> str:
    judged = [row["agrees"] for row in record["rows"] if row["agrees"] is not None]
    words = [f"{sum(judged)} of {len(judged)} numbers agree"] if judged else []
    holds = [claim["holds"] for claim in record["claims"]]
    counts = {word: sum(held is value for held in holds) for value, word in WORDS.items()}
    told = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    return "; ".join([*words, *([f"claims: {told}"] if told else [])])


def _anchor(record: Record) -> str:
    """As Markdown's table of contents makes it from a heading."""
    heading = f"{record['id']}: {record['title']}".lower()
    return "-".join("".join(letter for letter in heading if letter.isalnum() or letter in " -").split())
