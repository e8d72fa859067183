"""The dates of a history file: which of them are dates, and in which order the periods were."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime

from apportion.errors import InvalidValue

# What is written like this is meant as a date, and must be one: 2026-02-28, with a time or without; 2026-W09;
# 2026-02; 2026/2/28; 28.2.2026. 2/3/2026 is left alone: nobody can tell the month from the day.
_WRITTEN_AS_DATE = re.compile(
    r"(?P<iso>\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:.*)?|\d{4}-W\d{2}(?:-\d)?)"
    r"|(?P<month>\d{4}-(?:0[1-9]|1[0-2]))"  # not 2026-13, which may be a week
    r"|(?P<slash_year>\d{4})/(?P<slash_month>\d{1,2})/(?P<slash_day>\d{1,2})"
    r"|(?P<dot_day>\d{1,2})\.(?P<dot_month>\d{1,2})\.(?P<dot_year>\d{4})"
)


def parse_date(text: str, row: int) -> datetime | None:
    """When that was; None for what is no date but a name, such as "week 3". A date that does not exist is refused.

    >>> parse_date("2026-01-31", 2) == parse_date("31.1.2026", 2), parse_date("week 3", 2)
    (True, None)
    >>> parse_date("2026-02-30", 7)
    Traceback (most recent call last):
    ...
    apportion.errors.InvalidValue: Row 7: the date must be a date that exists; got '2026-02-30'.
    """
    found = _WRITTEN_AS_DATE.fullmatch(text)
    if found is None:
        return None
    try:
        if found["iso"]:
            value = datetime.fromisoformat(text)
        elif found["month"]:
            value = datetime.fromisoformat(f"{text}-01")
        elif found["slash_year"]:
            value = datetime(int(found["slash_year"]), int(found["slash_month"]), int(found["slash_day"]))
        else:
            value = datetime(int(found["dot_year"]), int(found["dot_month"]), int(found["dot_day"]))
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidValue(f"Row {row}: the date must be a date that exists; got {text[:50]!r}.") from None


def first_not_a_date(dates: Iterable[str]) -> str | None:
    """The first that is no date but a name; None where all are dates."""
    return next((text for text in dates if parse_date(text, 0) is None), None)


def describe_order(dates: Iterable[str]) -> str:
    """In which order the periods were taken, in words; `dates` in that order.

    >>> describe_order(["2026-01-01", "2026-01-08"])
    'in date order, from 2026-01-01 to 2026-01-08'
    >>> describe_order(["week 1", "week 2"])
    "in file order, from week 1 to week 2, as 'week 1' is not read as a date"
    """
    periods = list(dict.fromkeys(dates))
    name = first_not_a_date(periods)
    span = f"from {periods[0]} to {periods[-1]}"
    return f"in date order, {span}" if name is None else f"in file order, {span}, as {name!r} is not read as a date"
