"""`python docs/hooks/record_reproductions.py [NAME ...]`: run reproductions in full, write the page and the pictures.

Without names it runs all, which takes more than an hour. What was measured before is kept in
docs/figures/reproductions.json, so that one can be run again without the others.
"""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import matplotlib

from committee.plots._style import pyplot
from committee_reproductions import REPRODUCTIONS, ReproductionResult
from committee_reproductions.report import reproductions_page

DOCS = Path(__file__).resolve().parent.parent
RECORDS = DOCS / "figures" / "reproductions.json"
DPI, MAX_BYTES = 90, 60_000
"""A picture of a page is small: fewer colours, then fewer points, until it has at most so many bytes."""


def record(result: ReproductionResult) -> None:
    """Draw the picture, keep the numbers, write the page."""
    figure = REPRODUCTIONS[result.name].figure(result)
    (DOCS / "figures" / f"{result.name}.png").write_bytes(small_png(figure))
    pyplot().close(figure)
    records = read_records() | {result.name: result.to_dict()}
    RECORDS.write_text(json.dumps(records, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    write_page(records)


def read_records() -> dict[str, Any]:
    return json.loads(RECORDS.read_text(encoding="utf-8")) if RECORDS.exists() else {}


def write_page(records: dict[str, Any]) -> None:
    known = [records[name] for name in REPRODUCTIONS if name in records]
    (DOCS / "reproductions.md").write_text(reproductions_page(known), encoding="utf-8")


def small_png(figure: Any) -> bytes:
    """The picture with a palette of colours, at the largest resolution that is small enough."""
    from PIL import Image

    packed = b""
    for dpi in (DPI, 80, 70, 60):
        raw, out = io.BytesIO(), io.BytesIO()
        figure.savefig(raw, dpi=dpi)
        picture = Image.open(raw).convert("RGB").quantize(64, dither=Image.Dither.NONE)
        picture.save(out, "png", optimize=True)
        packed = out.getvalue()
        if len(packed) <= MAX_BYTES:
            break
    return packed


def main(wanted: list[str]) -> None:
    matplotlib.use("Agg")
    for name in wanted or REPRODUCTIONS:
        print(name, flush=True)
        record(REPRODUCTIONS[name].run(progress=True))


if __name__ == "__main__":
    main(sys.argv[1:])
