"""Types of columns, and the features made of a column.

numeric      the values; texts that are numbers are parsed
categorical  texts of few values; rare values are combined where there are very many
date         year, month, day of the week and hour if they vary, and days since the first date
text         numbers of characters and of words
dropped      constants, identifiers, and columns that cannot be read
"""

from __future__ import annotations

import re
from typing import Any, Literal, NamedTuple

import polars as pl

from committee.base.text import join_names
from committee.tabular.text_files import MISSING

ColumnType = Literal["numeric", "categorical", "date", "text", "dropped"]

MANY_CATEGORIES = 100
"""Of columns with more distinct texts, rare ones are combined."""

RARE = 5
"""Values of fewer rows are rare."""

OTHER = "(other)"
"""The category of rare values."""

NEARLY_ALL = 0.95
"""Fraction of the values that must be distinct in an identifier, or parsable in a column of numbers or dates."""

MIN_FOR_IDENTIFIER = 20
"""Columns with fewer values are not identifiers."""

DENSE = 0.5
"""Minimum fraction of the integers of its range that a row counter has; years and amounts may increase too."""

WORDS_OF_TEXT = 2.5
"""Mean number of words from which distinct strings are text rather than identifiers."""

DATE_FORMATS = ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%d-%b-%Y",
                "%d %b %Y", "%b %d, %Y", "%Y%m%d")  # fmt: skip
TIME_FORMATS = tuple(
    f"{day}{between}{clock}"
    for day in ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y")
    for between in (" ", "T")
    for clock in ("%H:%M:%S", "%H:%M", "%H:%M:%S%.f")
)

ZONE = r"(:\d{2}(?:\.\d+)?)\s*(?:Z|UTC|GMT|[+-]\d{2}:?\d{2})$"
"""The zone after a time of day; times are converted to UTC."""

TIME_OF_DAY = r"^([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?$"

COMMA_DECIMALS, COMMA_THOUSANDS = "decimal comma", "comma between thousands"
"""Meanings of a comma in the numbers of a column; "" if there was none."""

DAYS = "days since the first"

PARSED_FIRST = 200
"""Rows on which date formats are tried before all rows are parsed."""

IDENTIFIER_NAME = re.compile(r"(^|[_\s.-])(id|ids|uuid|guid|key|index|rownames?|rownumber|row)$|[a-z]Id$|^(Id|ID)")

ROW_IDENTIFIER = "is an identifier of the rows"

MAX_EXACT = 2**53


class ColumnSchema(NamedTuple):
    """Type of one column of a table, and how it is read.

    Attributes
    ----------
    name : str
        Name of the column.
    type : {"numeric", "categorical", "date", "text", "dropped"}
        Type; no features are made of a dropped column.
    note : str
        Why the column is dropped, or how it is read, if that is not obvious.
    categories : tuple of str
        Categories of the training table, without the rare ones that are combined; empty if the column is not
        categorical or was kept on request.
    has_other : bool
        Whether all other categories are combined into "(other)".
    format : str
        Format of dates in text columns; meaning of a comma in numbers in text columns.
    origin : float
        First date of the training table, in days since 1970-01-01.
    parts : tuple of str
        Parts of a date that vary: "year", "month", "weekday", "hour", "days".
    """

    name: str
    type: ColumnType
    note: str = ""
    categories: tuple[str, ...] = ()
    has_other: bool = False
    format: str = ""
    origin: float = 0.0
    parts: tuple[str, ...] = ()


def infer_column(series: pl.Series) -> ColumnSchema:
    """Infer the type of a column from its name, its data type and all its values."""
    name, dtype = series.name, series.dtype
    if dtype.is_nested() or dtype == pl.Binary or dtype == pl.Object:
        return ColumnSchema(name, "dropped", f"has the data type {dtype}, which is neither numeric nor text")
    if series.null_count() == series.len():
        return ColumnSchema(name, "dropped", "has no values")
    if dtype.is_temporal():
        return _constant(series) or _date(series, "")
    if dtype.is_numeric():
        return _constant(series) or _number(series)
    if dtype == pl.Boolean:
        return _constant(series) or ColumnSchema(name, "numeric")
    return _of_text(series)


def _constant(series: pl.Series) -> ColumnSchema | None:
    if series.null_count() or series.n_unique() > 1:
        return None
    return ColumnSchema(series.name, "dropped", f"is {_shown(series[0])} in every row")


def _number(series: pl.Series) -> ColumnSchema:
    if is_row_number(series):
        return ColumnSchema(series.name, "dropped", ROW_IDENTIFIER)
    note = ""
    if series.dtype.is_integer() and max(abs(int(series.min() or 0)), abs(int(series.max() or 0))) > MAX_EXACT:  # pyright: ignore[reportArgumentType]
        note = "has integers beyond 2**53, which are rounded"
    elif series.dtype.is_float() and bool(series.is_infinite().any()):
        note = "has infinite values, which are treated as missing"
    return ColumnSchema(series.name, "numeric", note)


def is_row_number(series: pl.Series) -> bool:
    """Whether a column has distinct integers and the name of an identifier, or increasing ones with few gaps."""
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
    is_increasing = bool((numbers.diff().drop_nulls() > 0.0).all())
    return is_increasing and present.len() >= DENSE * span


def _of_text(series: pl.Series) -> ColumnSchema:
    text = clean_text(series)
    present = text.drop_nulls()
    if present.len() == 0:
        return ColumnSchema(series.name, "dropped", "has no values")
    if present.len() == text.len() and present.n_unique() == 1:
        return ColumnSchema(series.name, "dropped", f"is {_shown(present[0])} in every row")
    truths = present.str.to_lowercase().is_in(["true", "false"]).all()
    numbers = as_numbers(present)
    if not truths and numbers.is_not_null().mean() >= NEARLY_ALL:  # pyright: ignore[reportOperatorIssue, reportOptionalOperand]
        return _number_in_text(series.name, present, numbers)
    return _dates_in_text(series.name, present) or _categories(series.name, text, present)


def _number_in_text(name: str, present: pl.Series, numbers: pl.Series) -> ColumnSchema:
    comma = comma_in(present)
    others = present.filter(numbers.is_null()).unique(maintain_order=True)[:3].to_list()
    notes = [f"has numbers and {', '.join(map(repr, others))}, treated as missing"] if others else []
    if comma:
        notes.append(f"has a {comma}" if comma == COMMA_DECIMALS else "has commas, read as thousands separators")
    if bool(present.str.contains(TIME_OF_DAY).all()):
        notes.append("has times of day, converted to seconds")
    return ColumnSchema(name, "numeric", "; ".join(notes), format=comma)


def _dates_in_text(name: str, present: pl.Series) -> ColumnSchema | None:
    if present.str.contains(r"\d").mean() < NEARLY_ALL:  # pyright: ignore[reportOperatorIssue, reportOptionalOperand]
        return None
    pattern = date_format(present)
    if not pattern:
        return None
    return _date(parse_dates(present, pattern).alias(name), pattern, _day_and_month(pattern, present))


def _day_and_month(pattern: str, present: pl.Series) -> str:
    """Note about the order of day and month in a format that has both as digits."""
    other = pattern.replace("%d", "%D").replace("%m", "%d").replace("%D", "%m")
    if other == pattern or other not in (*TIME_FORMATS, *DATE_FORMATS):
        return ""
    first, second = ("day", "month") if pattern.index("%d") < pattern.index("%m") else ("month", "day")
    if _fraction_present(parse_dates(present, other)) < NEARLY_ALL:
        return f" with the {first} first"
    return f", read with the {first} first (the {second} is possible too; dates as 2024-12-31 are unambiguous)"


def date_format(present: pl.Series) -> str:
    """The first format in which nearly all texts can be parsed; "" if there is none."""
    some = present[:PARSED_FIRST]
    for pattern in (*TIME_FORMATS, *DATE_FORMATS):
        if all(_fraction_present(parse_dates(text, pattern)) >= NEARLY_ALL for text in (some, present)):
            return pattern
    return ""


def _fraction_present(series: pl.Series) -> float:
    return 1.0 - series.null_count() / max(series.len(), 1)


def _date(series: pl.Series, pattern: str, order: str = "") -> ColumnSchema:
    if series.dtype == pl.Time or series.dtype == pl.Duration:
        return ColumnSchema(series.name, "numeric", "has times, converted to seconds")
    moments = moments_of(series)
    parts = tuple(name for name, values in _all_parts(moments).items() if values.drop_nulls().n_unique() > 1)
    if not parts:
        return ColumnSchema(series.name, "dropped", "is the same date in all rows")
    origin = float(_days(moments).min() or 0.0)  # pyright: ignore[reportArgumentType]
    shown = [DAYS if part == "days" else part for part in parts]
    return ColumnSchema(
        series.name,
        "date",
        f"is a date{order}; features: {join_names(shown)}",
        format=pattern,
        origin=origin,
        parts=parts,
    )


def _all_parts(moments: pl.Series) -> dict[str, pl.Series]:
    return {
        "year": moments.dt.year(),
        "month": moments.dt.month(),
        "weekday": moments.dt.weekday(),
        "hour": moments.dt.hour(),
        "days": _days(moments),
    }


def _categories(name: str, text: pl.Series, present: pl.Series) -> ColumnSchema:
    n_values = present.n_unique()
    if present.len() >= MIN_FOR_IDENTIFIER and n_values > NEARLY_ALL * present.len():
        words = present.str.split(" ").list.len().mean()
        if float(words or 0.0) >= WORDS_OF_TEXT:  # pyright: ignore[reportArgumentType]
            return ColumnSchema(name, "text", "is text; features: numbers of characters and of words")
        if present.len() > 0.5 * text.len():
            return ColumnSchema(name, "dropped", "has distinct values in nearly all rows, like an identifier")
    if n_values <= MANY_CATEGORIES:
        return ColumnSchema(name, "categorical", categories=tuple(sorted(present.unique().to_list())))
    counts = present.value_counts(sort=True, name="n")
    kept = counts.filter(pl.col("n") >= RARE)[present.name].to_list()
    if len(kept) < 2:
        return ColumnSchema(name, "dropped", f"has {n_values} values, hardly any of them in {RARE} rows")
    n_rare, categories = n_values - len(kept), tuple(sorted(kept))
    if not n_rare:
        return ColumnSchema(name, "categorical", categories=categories)
    note = f"has {n_values} values, of which {n_rare} with fewer than {RARE} rows are combined"
    return ColumnSchema(name, "categorical", note, categories, has_other=True)


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, str) else str(value)


# --- features ---------------------------------------------------------------------------------------------------------


def features_of(column: ColumnSchema, series: pl.Series) -> list[pl.Series]:
    """The features made of a column: Float64 or Categorical."""
    if column.type == "numeric":
        return [as_numbers(series, column.format)]
    if column.type == "date":
        return _date_parts(column, series)
    if column.type == "text":
        text = clean_text(series)
        words = text.str.split(" ").list.len()
        return [
            text.str.len_chars().cast(pl.Float64).alias(f"{series.name}.characters"),
            words.cast(pl.Float64).alias(f"{series.name}.words"),
        ]
    if column.type == "categorical":
        text = clean_text(series)
        if column.has_other:
            is_category = text.is_in(list(column.categories))
            text = text.to_frame().select(pl.when(is_category | text.is_null()).then(text).otherwise(pl.lit(OTHER)))
            text = text.to_series().alias(series.name)
        return [text.cast(pl.Categorical)]
    return []


def as_numbers(series: pl.Series, comma: str = "") -> pl.Series:
    """Parse as Float64, with null for all but finite numbers; texts may be $1,234.50, 12 %, 0,5, true, 12:30.

    `comma` is the meaning of a comma; without it, it is inferred from the column.
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
    """Meaning of commas in a column of texts: decimals in 0,5 and 1234,5 and 1.234,56; thousands in 1,234."""
    plain = _without_signs(present)
    decimals = plain.str.contains(r"^[-+]?(\d+|\d{1,3}(\.\d{3})+),\d+$")
    grouped = plain.str.contains(r"^[-+]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?$")
    if bool((decimals & ~grouped).any()):
        return COMMA_DECIMALS
    return COMMA_THOUSANDS if bool(grouped.any()) else ""


def _without_signs(text: pl.Series) -> pl.Series:
    return text.str.replace_all(r"^[\s$€£¥]+|[\s%$€£¥]+$", "").str.to_lowercase()


def _signed_numbers(text: pl.Series, comma: str) -> pl.Series:
    """Parse currencies, percentages, thousands, decimals, true and false, and times of day as seconds."""
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
    """Whether a column has strings or dictionary-encoded strings."""
    return series.dtype == pl.String or series.dtype == pl.Categorical or series.dtype == pl.Enum


def clean_text(series: pl.Series) -> pl.Series:
    """Strings without surrounding blanks, null for markers of missing values."""
    text = series.cast(pl.String).str.strip_chars()
    return text.to_frame().select(pl.when(~pl.first().is_in(list(MISSING))).then(pl.first())).to_series()


def parse_dates(text: pl.Series, pattern: str) -> pl.Series:
    """Parse texts as times in UTC, null where that fails."""
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


def _date_parts(column: ColumnSchema, series: pl.Series) -> list[pl.Series]:
    if is_textual(series):
        text = clean_text(series)
        # Without a format, dates were typed in the training table.
        moments = parse_dates(text, column.format or date_format(text.drop_nulls()) or DATE_FORMATS[0])
    elif series.dtype.is_temporal() and series.dtype != pl.Time:
        moments = moments_of(series)
    else:
        moments = pl.Series(series.name, [None] * series.len(), pl.Datetime("us"))
    result = _all_parts(moments)
    result["days"] = result["days"] - column.origin
    return [result[part].cast(pl.Float64).alias(f"{column.name}.{part}") for part in column.parts]


def moments_of(series: pl.Series) -> pl.Series:
    """Dates and times of any zone as times in UTC."""
    if isinstance(series.dtype, pl.Datetime) and series.dtype.time_zone is not None:
        series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    return series.cast(pl.Datetime("us"), strict=False)


def _days(moments: pl.Series) -> pl.Series:
    return moments.dt.epoch("us").cast(pl.Float64) / 86_400e6
