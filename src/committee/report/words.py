"""Numbers as people read them."""

from __future__ import annotations

import math
from collections.abc import Iterable

WHOLE = "\u00a0"  # a space at which no line breaks
THIN = "\u202f"  # keeps number and unit together


def number(value: float, digits: int = 3) -> str:
    """So many significant digits, no exponent where a person would write none.

    >>> number(0.123456), number(1234567.0), number(float("nan")), number(42.0), number(-0.00004321)
    ('0.123', '1,234,567', '—', '42', '-0.0000432')
    """
    if math.isnan(value):
        return "—"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if value == 0:
        return "0"
    size = math.floor(math.log10(abs(value)))
    if size >= 9 or size < -6:
        return f"{value:.{digits - 1}e}"
    places = max(0, digits - 1 - size)
    text = f"{value:,.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def percent(share: float) -> str:
    """A share that was measured, in percent with one place after the point; two where one would show next to nothing.

    >>> percent(0.0432), percent(0.5), percent(0.0004), percent(float("nan"))
    ('4.3\u202f%', '50.0\u202f%', '0.04\u202f%', '—')
    """
    if math.isnan(share):
        return "—"
    value = 100.0 * share
    return f"{value:.{2 if 0 < abs(value) < 0.095 else 1}f}{THIN}%"


def level(share: float) -> str:
    """A share that somebody chose, such as a coverage.

    >>> level(0.9), level(0.975)
    ('90\u202f%', '97.5\u202f%')
    """
    return f"{100.0 * share:.4g}{THIN}%"


def plus_minus(value: str, error: str) -> str:
    """Value and standard error; the value alone where there is no error."""
    return value if error == "—" else f"{value}{WHOLE}±{WHOLE}{error}"


def seconds(time: float) -> str:
    """A time in the unit that suits it.

    >>> seconds(0.00042), seconds(0.123), seconds(75.0), seconds(5000.0)
    ('0.42\u202fms', '123\u202fms', '75\u202fs', '83\u202fmin')
    """
    if math.isnan(time):
        return "—"
    if time < 1.0:
        return f"{number(1000.0 * time)}{THIN}ms"
    return f"{number(time)}{THIN}s" if time < 120.0 else f"{number(time / 60.0, 2)}{THIN}min"


def count(n: int, what: str, many: str | None = None) -> str:
    """
    >>> count(1, "row"), count(1500, "row"), count(0, "class", "classes")
    ('1 row', '1,500 rows', '0 classes')
    """
    return f"{n:,} {what if n == 1 else many or what + 's'}"


def listing(names: Iterable[str]) -> str:
    """
    >>> listing(["a"]), listing(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    all_names = list(names)
    return " and ".join(filter(None, [", ".join(all_names[:-1]), all_names[-1]])) if all_names else ""


def clip(text: str, longest: int = 40) -> str:
    """Cut in the middle, where the ends tell names apart.

    >>> clip("a name that is much too long for a table of this kind", 20)
    'a name tha…this kind'
    """
    if len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half].rstrip()}…{text[-half + 1 :]}"
