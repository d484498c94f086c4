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


def percent(share: float, error: float = math.nan) -> str:
    """A measured fraction in percent: one decimal, or as many as its two leading digits and its error's need.

    >>> percent(0.0432), percent(0.5), percent(0.0004), percent(float("nan")), percent(0.0)
    ('4.3\u202f%', '50.0\u202f%', '0.040\u202f%', '—', '0\u202f%')
    >>> percent(0.00012, 0.00004), percent(0.123, 0.0000213)
    ('0.012\u202f%', '12.300\u202f%')
    """
    if math.isnan(share):
        return "—"
    if share == 0.0:
        return f"0{THIN}%"
    return f"{100.0 * share:.{max(_decimals(share, 2), _decimals(error, 1))}f}{THIN}%"


def percent_error(share: float, error: float) -> str:
    """A fraction with its standard error, in percent and with the same number of decimals.

    >>> percent_error(0.0001, 0.00004), percent_error(0.123, 0.021), percent_error(0.2, float("nan"))
    ('0.010\u202f%\u00a0±\u00a00.004\u202f%', '12.3\u202f%\u00a0±\u00a02.1\u202f%', '20.0\u202f%')
    """
    if math.isnan(error) or math.isnan(share):
        return percent(share)
    decimals = max(_decimals(share, 2), _decimals(error, 1))
    shown = f"0{THIN}%" if error == 0.0 else f"{100.0 * error:.{decimals}f}{THIN}%"
    return plus_minus(percent(share, error), shown)


def _decimals(share: float, digits: int) -> int:
    """Decimals of a percentage that show so many significant digits, at least 1 and at most 7."""
    if share == 0.0 or not math.isfinite(share):
        return 1
    return min(7, max(1, digits - 1 - math.floor(math.log10(abs(100.0 * share)) + 1e-12)))


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
