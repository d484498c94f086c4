"""Text files with tables: formats by their suffixes, encodings, separators, and blocks of whole lines."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Literal

Kind = Literal["csv", "parquet", "arrow", "ndjson"]

MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "?")
"""Cells of a text file that are missing values."""

SEPARATORS = ",;\t|"

UTF_16 = (b"\xff\xfe", b"\xfe\xff")

BLANK_LINE = re.compile(rb"\r?\n(?:[ \t]*\r?\n)+")

HAS_BLANK_LINE = re.compile(rb"\n[ \t]*\r?\n")
"""Found where BLANK_LINE is, but ten times as fast, as it begins with a fixed byte."""

ENDINGS: dict[str, Kind] = {
    ".csv": "csv", ".tsv": "csv", ".txt": "csv", ".data": "csv",
    ".parquet": "parquet", ".pq": "parquet",
    ".arrow": "arrow", ".ipc": "arrow", ".feather": "arrow",
    ".ndjson": "ndjson", ".jsonl": "ndjson", ".json": "ndjson",
}  # fmt: skip

PACKED = (".gz", ".gzip")
GZIP = b"\x1f\x8b"


def kind_of(source: str) -> Kind:
    """The format of a file by the suffix of its name; ".gz" is ignored.

    >>> kind_of("sales.CSV.gz"), kind_of("sales.parquet")
    ('csv', 'parquet')
    """
    suffixes = [suffix.lower() for suffix in Path(source).suffixes]
    if suffixes and suffixes[-1] in PACKED:
        suffixes.pop()
    return ENDINGS.get(suffixes[-1] if suffixes else ".csv", "csv")


def open_text(path: Path) -> IO[bytes]:
    """A file, decompressed if its first bytes are those of gzip."""
    with path.open("rb") as raw:
        is_packed = raw.read(2) == GZIP
    return gzip.open(path) if is_packed else path.open("rb")  # pyright: ignore[reportReturnType]


def decoded(data: bytes) -> bytes:
    """Convert UTF-16 and Windows-1252 to UTF-8 without a byte order mark."""
    if data[:2] in UTF_16:
        return data.decode("utf-16").encode()
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        data.decode()
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace").encode()
    return data


def without_blank_lines(data: bytes) -> bytes:
    """Remove blank lines outside of quotes."""
    data = data.lstrip(b"\r\n")
    if not HAS_BLANK_LINE.search(data):
        return data
    if b'"' not in data:
        return BLANK_LINE.sub(b"\n", data)
    kept, is_open = list[bytes](), False
    for line in data.splitlines(keepends=True):
        if is_open or line.strip():
            kept.append(line)
        is_open ^= line.count(b'"') % 2 == 1
    return b"".join(kept)


def separator_of(data: bytes) -> str:
    """The most frequent separator in the first line, outside of quotes."""
    first = re.sub(rb'"[^"]*"', b"", data.split(b"\n", 1)[0])
    return max(SEPARATORS, key=lambda each: first.count(each.encode()))


# --- block by block ---------------------------------------------------------------------------------------------------


def text_blocks(read: Callable[[int], bytes], n_bytes: int, head: bytes = b"") -> Iterator[tuple[bytes, int]]:
    """Blocks of about `n_bytes` of a CSV text, each with the header, and the number of lines before its own.

    `head` was read before. A text without a header gives no blocks, one without further lines a single block.
    """
    header, n_lines = b"", 0
    rest, is_first = head, True
    while True:
        block = read(n_bytes)
        data = (rest + block).lstrip(b"\r\n") if is_first else rest + block
        if is_first and data[:2] in UTF_16:  # a line break has two bytes there
            data, block = decoded(data + read(-1)), b""
        cut = len(data) if not block else _last_whole_line(data)
        lines, rest = data[:cut], data[cut:]
        if is_first and lines:
            end = _first_whole_line(lines)
            header, lines = lines[:end].rstrip(b"\r\n") + b"\n", lines[end:]
        if (lines.strip() or is_first) and header:
            yield header + lines, n_lines
            is_first = False
        n_lines += lines.count(b"\n")
        if not block:
            return


def _last_whole_line(data: bytes) -> int:
    """Position after the last complete line; line breaks between quotes are part of a cell."""
    cut = data.rfind(b"\n") + 1
    n_quotes = data.count(b'"', 0, cut)
    while cut > 0 and n_quotes % 2:
        before = data.rfind(b"\n", 0, cut - 1) + 1
        n_quotes -= data.count(b'"', before, cut)
        cut = before
    return cut


def _first_whole_line(data: bytes) -> int:
    """Position after the first line and its line break."""
    cut = data.find(b"\n") + 1
    while cut > 0 and data.count(b'"', 0, cut) % 2:
        cut = data.find(b"\n", cut) + 1
    return cut or len(data)
