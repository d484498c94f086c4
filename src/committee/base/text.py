"""Numbers of things and lists of names, as people write them."""

from __future__ import annotations

from collections.abc import Sequence


def counted(n: int, one: str, many: str = "") -> str:
    """A number with its noun.

    >>> counted(1, "row"), counted(2, "row"), counted(3, "class", "classes")
    ('1 row', '2 rows', '3 classes')
    """
    return f"{n} {one if n == 1 else many or one + 's'}"


def listed(names: Sequence[object], most: int) -> str:
    """The first names, and how many there are besides.

    >>> listed(["a", "b"], 2), listed(["a", "b", "c", "d"], 2)
    ('a, b', 'a, b and 2 more')
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(str, names[:most])) + more


def joined(words: Sequence[str]) -> str:
    """With "and" before the last.

    >>> joined(["a"]), joined(["a", "b"]), joined(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
