"""What a column of a user's table is, and the numbers or categories that are made of it.

    number       as it is; text that reads as numbers becomes numbers
    category     text of few values; rare ones are put together where there are very many
    date         year, month, day of the week and hour where they vary, and days since the first
    text         number of characters and of words
    dropped      constants, identifiers, and what cannot be read

A `ColumnRecipe` is plain data: it is kept in the model file, and new tables are read by it.
"""

from __future__ import annotations

import re
from typing import Any, Literal, NamedTuple

import polars as pl

from committee.base.text import join_names
from committee.ingest.files import MISSING

Kind = Literal["number", "category", "date", "text", "dropped"]

MANY_CATEGORIES = 100
"""Beyond so many values of text, those that are rare share one."""

RARE = 5
"""A value that fewer rows have is rare."""

OTHER = "(other)"

NEARLY_ALL = 0.95
"""Share of values that must be distinct in an identifier, or readable in a column of numbers or dates."""

MIN_FOR_IDENTIFIER = 20
"""In a shorter table distinct values mean nothing."""

DENSE = 0.5
"""Share of the whole numbers of its range that a counter of rows has at least: years and amounts may grow too."""

WORDS_OF_TEXT = 2.5
"""Mean number of words from which distinct strings are text rather than names of rows."""

DATE_FORMATS = ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%d-%b-%Y",
                "%d %b %Y", "%b %d, %Y", "%Y%m%d")  # fmt: skip
TIME_FORMATS = tuple(
    f"{day}{between}{clock}"
    for day in ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y")
    for between in (" ", "T")
    for clock in ("%H:%M:%S", "%H:%M", "%H:%M:%S%.f")
)

ZONE = r"(:\d{2}(?:\.\d+)?)\s*(?:Z|UTC|GMT|[+-]\d{2}:?\d{2})$"
"""The zone behind a time of day; moments are taken in UTC."""

TIME_OF_DAY = r"^([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?$"

COMMA_DECIMALS, COMMA_THOUSANDS = "decimal comma", "comma between thousands"
"""What a comma in the numbers of a column means; "" where there was none."""

DAYS = "days since the first"

LOOKED_AT = 200
"""Rows that tell which formats of dates to try on all."""

IDENTIFIER_NAME = re.compile(r"(^|[_\s.-])(id|ids|uuid|guid|key|index|rownames?|rownumber|row)$|[a-z]Id$|^(Id|ID)")

NUMBERS_ROWS = "numbers the rows: an identifier tells nothing of new rows"

MAX_EXACT = 2**53


class ColumnRecipe(NamedTuple):
    """How one column is read. Plain data only."""

    name: str
    kind: Kind
    word: str  # why, for people; empty where there is nothing to say
    values: tuple[str, ...] = ()  # of a category whose rare values are put together: those that are kept
    format: str = ""  # of dates that are text; what a comma means in numbers that are text
    origin: float = 0.0  # of dates: the first day, as days since 1970
    parts: tuple[str, ...] = ()  # of dates: what varies


def recipe_for(series: pl.Series) -> ColumnRecipe:
    """What a column is, judged by its name, its type and all its values."""
    name, dtype = series.name, series.dtype
    if dtype.is_nested() or dtype == pl.Binary or dtype == pl.Object:
        return ColumnRecipe(name, "dropped", f"holds {dtype}, which is neither number nor text")
    if series.null_count() == series.len():
        return ColumnRecipe(name, "dropped", "has no value at all")
    if dtype.is_temporal():
        return _constant(series) or _date(series, "")
    if dtype.is_numeric():
        return _constant(series) or _number(series)
    if dtype == pl.Boolean:
        return _constant(series) or ColumnRecipe(name, "number", "")
    return _of_text(series)


def _constant(series: pl.Series) -> ColumnRecipe | None:
    if series.null_count() or series.n_unique() > 1:
        return None
    return ColumnRecipe(series.name, "dropped", f"is {_shown(series[0])} in every row")


def _number(series: pl.Series) -> ColumnRecipe:
    if is_row_number(series):
        return ColumnRecipe(series.name, "dropped", NUMBERS_ROWS)
    word = ""
    if series.dtype.is_integer() and max(abs(int(series.min() or 0)), abs(int(series.max() or 0))) > MAX_EXACT:  # pyright: ignore[reportArgumentType]
        word = "has integers beyond 2**53, whose last digits are lost"
    elif series.dtype.is_float() and bool(series.is_infinite().any()):
        word = "has infinite values, which count as missing"
    return ColumnRecipe(series.name, "number", word)


def is_row_number(series: pl.Series) -> bool:
    """Whole numbers, all distinct, that are named like an identifier or count the rows up, with gaps at most."""
    present = series.drop_nulls()
    is_empty = present.len() < max(MIN_FOR_IDENTIFIER, NEARLY_ALL * series.len())
    if not series.dtype.is_numeric() or is_empty or present.n_unique() < present.len():
        return False
    numbers = present.cast(pl.Float64)
    if not bool((numbers.is_finite() & (numbers == numbers.floor())).all()):
        return False
    if IDENTIFIER_NAME.search(series.name) is not None:
        return True
    span = float(numbers.max()) - float(numbers.min()) + 1.0  # pyright: ignore[reportArgumentType]
    counts_up = bool((numbers.diff().drop_nulls() > 0.0).all())
    return counts_up and present.len() >= DENSE * span


def _of_text(series: pl.Series) -> ColumnRecipe:
    text = clean_text(series)
    present = text.drop_nulls()
    if present.len() == 0:
        return ColumnRecipe(series.name, "dropped", "has no value at all")
    if present.len() == text.len() and present.n_unique() == 1:
        return ColumnRecipe(series.name, "dropped", f"is {_shown(present[0])} in every row")
    truths = present.str.to_lowercase().is_in(["true", "false"]).all()
    numbers = as_numbers(present)
    if not truths and numbers.is_not_null().mean() >= NEARLY_ALL:  # pyright: ignore[reportOperatorIssue, reportOptionalOperand]
        return _number_in_text(series.name, present, numbers)
    return _dates_in_text(series.name, present) or _categories(series.name, text, present)


def _number_in_text(name: str, present: pl.Series, numbers: pl.Series) -> ColumnRecipe:
    comma = comma_in(present)
    others = present.filter(numbers.is_null()).unique(maintain_order=True)[:3].to_list()
    words = [f"holds numbers and {', '.join(map(repr, others))}, which count as missing"] if others else []
    if comma:
        words.append(f"has a {comma}" if comma == COMMA_DECIMALS else "has commas, which are taken to part thousands")
    if bool(present.str.contains(TIME_OF_DAY).all()):
        words.append("is a time of day, taken as seconds")
    return ColumnRecipe(name, "number", "; ".join(words), format=comma)


def _dates_in_text(name: str, present: pl.Series) -> ColumnRecipe | None:
    if present.str.contains(r"\d").mean() < NEARLY_ALL:  # pyright: ignore[reportOperatorIssue, reportOptionalOperand]
        return None
    pattern = date_format(present)
    if not pattern:
        return None
    return _date(parse_dates(present, pattern).alias(name), pattern, _order_of(pattern, present))


def _order_of(pattern: str, present: pl.Series) -> str:
    """Which of day and month comes first, where it could be either."""
    other = pattern.replace("%d", "%D").replace("%m", "%d").replace("%D", "%m")
    if other == pattern or other not in (*TIME_FORMATS, *DATE_FORMATS):
        return ""
    first, second = ("day", "month") if pattern.index("%d") < pattern.index("%m") else ("month", "day")
    if _share(parse_dates(present, other)) < NEARLY_ALL:
        return f" with the {first} first"
    return f", taken with the {first} first (it may be the {second}: write the dates as 2024-12-31 to be sure)"


def date_format(present: pl.Series) -> str:
    """The first format that nearly all of the texts have, "" if there is none."""
    some = present[:LOOKED_AT]
    for pattern in (*TIME_FORMATS, *DATE_FORMATS):
        if _share(parse_dates(some, pattern)) >= NEARLY_ALL and _share(parse_dates(present, pattern)) >= NEARLY_ALL:
            return pattern
    return ""


def _share(series: pl.Series) -> float:
    """Of the values that are there."""
    return 1.0 - series.null_count() / max(series.len(), 1)


def _date(series: pl.Series, pattern: str, order: str = "") -> ColumnRecipe:
    """`order` says which of day and month comes first in texts."""
    if series.dtype == pl.Time or series.dtype == pl.Duration:
        return ColumnRecipe(series.name, "number", "is a time, taken as seconds")
    moments = moments_of(series)
    parts = tuple(name for name, values in _all_parts(moments).items() if values.drop_nulls().n_unique() > 1)
    if not parts:
        return ColumnRecipe(series.name, "dropped", "is the same date wherever there is one")
    origin = float(_days(moments).min() or 0.0)  # pyright: ignore[reportArgumentType]
    shown = [DAYS if part == "days" else part for part in parts]
    word = f"is a date{order}: {join_names(shown)} {'is' if len(parts) == 1 else 'are'} taken"
    return ColumnRecipe(series.name, "date", word, format=pattern, origin=origin, parts=parts)


def _all_parts(moments: pl.Series) -> dict[str, pl.Series]:
    return {
        "year": moments.dt.year(),
        "month": moments.dt.month(),
        "weekday": moments.dt.weekday(),
        "hour": moments.dt.hour(),
        "days": _days(moments),
    }


def _categories(name: str, text: pl.Series, present: pl.Series) -> ColumnRecipe:
    n_values = present.n_unique()
    if present.len() >= MIN_FOR_IDENTIFIER and n_values > NEARLY_ALL * present.len():
        words = present.str.split(" ").list.len().mean()
        if float(words or 0.0) >= WORDS_OF_TEXT:  # pyright: ignore[reportArgumentType]
            return ColumnRecipe(name, "text", "is text: its numbers of characters and words are taken")
        if present.len() > 0.5 * text.len():
            return ColumnRecipe(name, "dropped", "has another value in nearly every row, as an identifier has")
    if n_values <= MANY_CATEGORIES:
        return ColumnRecipe(name, "category", "")
    counts = present.value_counts(sort=True, name="n")
    kept = counts.filter(pl.col("n") >= RARE)[present.name].to_list()
    if len(kept) < 2:
        return ColumnRecipe(name, "dropped", f"has {n_values} values, hardly one of them in {RARE} rows")
    word = f"has {n_values} values; {n_values - len(kept)} that fewer than {RARE} rows have are put together"
    return ColumnRecipe(name, "category", word if len(kept) < n_values else "", values=tuple(sorted(kept)))


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, str) else str(value)


# --- making the columns -----------------------------------------------------------------------------------------------


def columns_from(recipe: ColumnRecipe, series: pl.Series) -> list[pl.Series]:
    """The columns that the recipe makes of this one: Float64 or Categorical."""
    if recipe.kind == "number":
        return [as_numbers(series, recipe.format)]
    if recipe.kind == "date":
        return _date_parts(recipe, series)
    if recipe.kind == "text":
        text = clean_text(series)
        words = text.str.split(" ").list.len()
        return [
            text.str.len_chars().cast(pl.Float64).alias(f"{series.name}.characters"),
            words.cast(pl.Float64).alias(f"{series.name}.words"),
        ]
    if recipe.kind == "category":
        text = clean_text(series)
        if recipe.values:
            known = text.is_in(list(recipe.values))
            text = text.to_frame().select(pl.when(known | text.is_null()).then(text).otherwise(pl.lit(OTHER)))
            text = text.to_series().alias(series.name)
        return [text.cast(pl.Categorical)]
    return []


def as_numbers(series: pl.Series, comma: str = "") -> pl.Series:
    """As Float64, with null for what is no finite number. Text may have signs: $1,234.50, 12 %, 0,5, true, 12:30.

    `comma` is what a comma means; without it the column tells.
    """
    if is_textual(series):
        text = clean_text(series)
        comma = comma or comma_in(text.drop_nulls())
        numbers = text.cast(pl.Float64, strict=False)
        if comma == COMMA_DECIMALS:
            numbers = _signed_numbers(text, comma)
        elif numbers.null_count() > text.null_count():
            numbers = numbers.fill_null(_signed_numbers(text, comma))  # pyright: ignore[reportArgumentType]
    elif series.dtype == pl.Time or series.dtype == pl.Duration:
        numbers = series.to_physical() / (1e9 if series.dtype == pl.Time else 1e6)
    else:
        numbers = series.cast(pl.Float64, strict=False)
    return numbers.to_frame().select(pl.when(pl.first().is_finite()).then(pl.first())).to_series().alias(series.name)


def comma_in(present: pl.Series) -> str:
    """What commas mean in a column of texts: 0,5 and 1234,5 and 1.234,56 have decimals; 1,234 may part thousands."""
    plain = _without_signs(present)
    decimals = plain.str.contains(r"^[-+]?(\d+|\d{1,3}(\.\d{3})+),\d+$")
    grouped = plain.str.contains(r"^[-+]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?$")
    if bool((decimals & ~grouped).any()):
        return COMMA_DECIMALS
    return COMMA_THOUSANDS if bool(grouped.any()) else ""


def _without_signs(text: pl.Series) -> pl.Series:
    return text.str.replace_all(r"^[\s$€£¥]+|[\s%$€£¥]+$", "").str.to_lowercase()


def _signed_numbers(text: pl.Series, comma: str) -> pl.Series:
    """Currencies, percentages, commas between thousands or before decimals, true and false, times of day as seconds."""
    plain = _without_signs(text)
    if comma == COMMA_DECIMALS:
        plain = plain.str.replace_all(r"\.(\d{3})", "$1").str.replace(",", ".", literal=True)
    is_grouped = plain.str.contains(r"^[-+]?\d{1,3}(,\d{3})+(\.\d*)?$")
    parts = [plain.str.extract(TIME_OF_DAY, k).cast(pl.Float64, strict=False) for k in (1, 2, 3)]
    seconds = 3600.0 * parts[0] + 60.0 * parts[1] + parts[2].fill_null(0.0)
    table = pl.DataFrame({"plain": plain, "is_grouped": is_grouped, "seconds": seconds})
    chosen = (
        pl.when("is_grouped").then(pl.col("plain").str.replace_all(",", ""))
        .when(pl.col("plain") == "true").then(pl.lit("1"))
        .when(pl.col("plain") == "false").then(pl.lit("0"))
        .otherwise("plain")
    )  # fmt: skip
    return table.select(chosen.cast(pl.Float64, strict=False).fill_null(pl.col("seconds"))).to_series()


def is_textual(series: pl.Series) -> bool:
    """Strings, as they are or in a dictionary."""
    return series.dtype == pl.String or series.dtype == pl.Categorical or series.dtype == pl.Enum


def clean_text(series: pl.Series) -> pl.Series:
    """As strings without blanks around them, null where nothing is meant."""
    text = series.cast(pl.String).str.strip_chars()
    return text.to_frame().select(pl.when(~pl.first().is_in(list(MISSING))).then(pl.first())).to_series()


def parse_dates(text: pl.Series, pattern: str) -> pl.Series:
    """Text as moments in UTC, null where it is none."""
    if pattern in DATE_FORMATS:
        return text.str.strptime(pl.Date, pattern, strict=False).cast(pl.Datetime("us"))
    local = text.str.replace(ZONE, "$1")
    moments = local.str.strptime(pl.Datetime("us"), pattern, strict=False)
    zone = text.str.extract(r":\d{2}(?:\.\d+)?\s*([+-]\d{2}:?\d{2})$", 1).str.replace(":", "", literal=True)
    if zone.null_count() == zone.len():
        return moments
    hours, minutes = zone.str.slice(0, 3).cast(pl.Int64, strict=False), zone.str.slice(3).cast(pl.Int64, strict=False)
    sign = pl.when(pl.col("zone").str.starts_with("-")).then(-1).otherwise(1)
    table = pl.DataFrame({"moment": moments, "zone": zone, "hours": hours, "minutes": minutes})
    ahead = pl.duration(minutes=(60 * pl.col("hours") + sign * pl.col("minutes")).fill_null(0))
    return table.select(pl.col("moment") - ahead).to_series()


def _date_parts(recipe: ColumnRecipe, series: pl.Series) -> list[pl.Series]:
    if is_textual(series):
        text = clean_text(series)
        # Dates that were no text in training have no format: that of the texts is found.
        moments = parse_dates(text, recipe.format or date_format(text.drop_nulls()) or DATE_FORMATS[0])
    elif series.dtype.is_temporal() and series.dtype != pl.Time:
        moments = moments_of(series)
    else:
        moments = pl.Series(series.name, [None] * series.len(), pl.Datetime("us"))
    result = _all_parts(moments)
    result["days"] = result["days"] - recipe.origin
    return [result[part].cast(pl.Float64).alias(f"{recipe.name}.{part}") for part in recipe.parts]


def moments_of(series: pl.Series) -> pl.Series:
    """Dates and moments of any zone as moments in UTC."""
    if isinstance(series.dtype, pl.Datetime) and series.dtype.time_zone is not None:
        series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    return series.cast(pl.Datetime("us"), strict=False)


def _days(moments: pl.Series) -> pl.Series:
    return moments.dt.epoch("us").cast(pl.Float64) / 86_400e6
