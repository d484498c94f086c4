"""Numbers, times, counts and lists as text: one style for the command, the report, errors and the text of trees."""

from __future__ import annotations

import math
from collections.abc import Iterable

NO_VALUE = "—"
"""Shown where a value is missing or undefined."""


def format_number(value: float, digits: int = 3, *, stderr: float = math.nan) -> str:
    """Format with the given number of significant digits, without exponents for everyday sizes.

    A standard error is appended with two significant digits.

    >>> format_number(0.123456), format_number(1234567.0), format_number(float("nan")), format_number(-0.00004321)
    ('0.123', '1,234,567', '—', '-0.0000432')
    >>> format_number(0.4731, 4, stderr=0.0124), format_number(1e12)
    ('0.4731 ± 0.012', '1.00e+12')
    """
    if math.isnan(value):
        return NO_VALUE
    if not math.isnan(stderr):
        return f"{format_number(value, digits)} ± {format_number(stderr, 2)}"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if value == 0:
        return "0"
    exponent = math.floor(math.log10(abs(value)))
    if exponent >= 9 or exponent < -6:
        return f"{value:.{digits - 1}e}"
    return _without_trailing_zeros(f"{value:,.{max(0, digits - 1 - exponent)}f}")


def format_decimals(value: float, decimals: int) -> str:
    """Format with at most `decimals` decimals; a small number keeps `decimals + 1` significant digits.

    >>> format_decimals(2.5, 2), format_decimals(0.00012345, 2), format_decimals(-0.0, 2)
    ('2.5', '0.000123', '0')
    """
    if value == 0:
        return "0"
    if not 10.0 ** (1 - decimals) <= abs(value) < 1e15 and not float(value).is_integer():
        return f"{value:.{decimals + 1}g}"
    return _without_trailing_zeros(f"{value:.{decimals}f}")


def _without_trailing_zeros(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def format_percent(fraction: float, *, stderr: float = math.nan) -> str:
    """Format a measured fraction in percent: one decimal, more where the two leading digits or the error need them.

    >>> format_percent(0.0432), format_percent(0.5), format_percent(0.0004), format_percent(0.0)
    ('4.3%', '50.0%', '0.040%', '0%')
    >>> format_percent(0.123, stderr=0.021), format_percent(0.0001, stderr=0.00004)
    ('12.3% ± 2.1%', '0.010% ± 0.004%')
    """
    if math.isnan(fraction):
        return NO_VALUE
    decimals = max(_percent_decimals(fraction, 2), _percent_decimals(stderr, 1))
    shown = f"{100.0 * fraction:.{decimals}f}%" if fraction else "0%"
    if math.isnan(stderr):
        return shown
    return f"{shown} ± {f'{100.0 * stderr:.{decimals}f}%' if stderr else '0%'}"


def _percent_decimals(fraction: float, digits: int) -> int:
    """Decimals of a percentage that show so many significant digits, at least 1 and at most 7."""
    if fraction == 0.0 or not math.isfinite(fraction):
        return 1
    return min(7, max(1, digits - 1 - math.floor(math.log10(abs(100.0 * fraction)) + 1e-12)))


def format_whole_percent(fraction: float) -> str:
    """Format a fraction in whole percent, never rounded up to 100 or down to 0.

    >>> format_whole_percent(0.5), format_whole_percent(0.999), format_whole_percent(0.001)
    ('50%', '>99%', '<1%')
    """
    if 0.995 < fraction < 1:
        return ">99%"
    return "<1%" if 0 < fraction < 0.005 else f"{100 * fraction:.0f}%"


def format_level(fraction: float) -> str:
    """Format a fraction that somebody chose, such as a confidence level.

    >>> format_level(0.9), format_level(0.975)
    ('90%', '97.5%')
    """
    return f"{100.0 * fraction:.4g}%"


def format_seconds(seconds: float) -> str:
    """Format a time in its usual unit.

    >>> format_seconds(0.00042), format_seconds(0.0123), format_seconds(3.21)
    ('0.42 ms', '12 ms', '3.2 s')
    >>> format_seconds(185), format_seconds(119.7)
    ('3 min 5 s', '2 min 0 s')
    """
    if not math.isfinite(seconds):
        return NO_VALUE
    if seconds < 0.9995:
        return f"{format_number(1000.0 * seconds, 2)} ms"
    if seconds < 99.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)  # rounded first: 119.7 s are not 1 min 60 s
    return f"{minutes} min {rest} s"


def pluralize(n: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun.

    >>> pluralize(1, "row"), pluralize(1500, "row"), pluralize(0, "class", "classes")
    ('1 row', '1,500 rows', '0 classes')
    """
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def join_names(names: Iterable[object], max_shown: int | None = None) -> str:
    """Join names with commas and "and"; of more than `max_shown` the first ones and the number of the others.

    >>> join_names(["a"]), join_names(["a", "b", "c"]), join_names("abcd", 2), join_names([])
    ('a', 'a, b and c', 'a, b and 2 more', '')
    """
    shown = [str(name) for name in names]
    if max_shown is not None and len(shown) > max_shown:
        shown = [*shown[:max_shown], f"{len(shown) - max_shown} more"]
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def shorten(text: str, max_length: int = 40) -> str:
    """Cut a long text in the middle: long names tend to share their beginnings.

    >>> shorten("a name that is much too long for a table of this kind", 20)
    'a name tha…this kind'
    """
    if len(text) <= max_length:
        return text
    head = max_length // 2
    return f"{text[:head].rstrip()}…{text[len(text) - (max_length - head - 1) :].lstrip()}"
