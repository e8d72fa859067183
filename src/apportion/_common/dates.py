"""The dates of a history: which of them are dates, in which order the periods were, and days as weeks or months."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import Any

from apportion._common import validation
from apportion.errors import InvalidValue

# What is written like this is meant as a date, and must be one: 2026-02-28, with a time or without; 2026-W09;
# 2026-02; 2026/2/28; 28.2.2026 or 28.2.26. Of 2/3/2026 and 2-3-2026 the others in the column tell the month from the
# day. Where the month has a name: 28 Feb 2026, February 28th, 2026, Sat 28-Feb-26, 28. Februar 2026, Feb 2026.
_WRITTEN_AS_DATE = re.compile(
    r"(?P<iso>\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:.*)?|\d{4}-W\d{2}(?:-\d)?)"
    r"|(?P<month>\d{4}-(?:0[1-9]|1[0-2]))"  # not 2026-13, which may be a week
    r"|(?P<slash_year>\d{4})/(?P<slash_month>\d{1,2})/(?P<slash_day>\d{1,2})"
    r"|(?P<dot_day>\d{1,2})\.(?P<dot_month>\d{1,2})\.(?P<dot_year>\d{4}|\d{2})"
)
_WITH_MONTH_NAME = re.compile(
    r"(?:(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?|(?:mon|diens|donners|frei|sams|sonn)tag"
    r"|mittwoch|mo|di|mi|do|fr|sa|so)[.,]*\s+)?(?:"
    r"(?P<day>\d{1,2})(?:\.|st|nd|rd|th)?[\s/-]*(?P<month>[^\W\d_]{3,10})[.,]?[\s/-]*(?P<year>\d{4}|\d{2})"
    r"|(?P<month_first>[^\W\d_]{3,10})\.?\s+(?:(?P<day_after>\d{1,2})(?:st|nd|rd|th)?(?:,\s*|\s+))?(?P<year_after>\d{4})"
    r")",
    re.IGNORECASE,
)
_MONTHS = (
    ("january", "januar", "janvier", "enero"), ("february", "februar", "fevrier", "febrero"),
    ("march", "marz", "maerz", "mars", "marzo"), ("april", "avril", "abril"), ("may", "mai", "mayo"),
    ("june", "juni", "juin", "junio"), ("july", "juli", "juillet", "julio"), ("august", "aout", "agosto"),
    ("september", "septembre", "septiembre"), ("october", "oktober", "octobre", "octubre"),
    ("november", "novembre", "noviembre"), ("december", "dezember", "decembre", "diciembre"),
)  # fmt: skip
"""In English, German, French and Spanish, without accents; also their beginnings, from three letters on."""
_DAY_OR_MONTH_FIRST = re.compile(r"(\d{1,2})([/-])(\d{1,2})\2(\d{4})")

LONGEST_DATE = 40  # the characters of a date or of the name of a period

_LARGEST_GAP, _FEWEST_GAPS = 0.8, 10  # the part of the time that one gap may be, where there are so many

PERIODS = ("day", "week", "month")
"""What the rows of a history can be rolled into."""


def parse_date(text: str, day_first: bool | None = None) -> datetime | None:
    """When that was; None for what is no date but a name, such as "week 3". A date that does not exist is refused.

    2/3/2026 is a date where `day_first` says how to read it, and a name where it is None.

    >>> parse_date("2026-01-31") == parse_date("31.1.2026") == parse_date("1/31/2026", False), parse_date("week 3")
    (True, None)
    >>> parse_date("January 31, 2026") == parse_date("31-Jan-26") == parse_date("31. Januar 2026") != None
    True
    >>> parse_date("2026-02-30")
    Traceback (most recent call last):
    ...
    apportion.errors.InvalidValue: the date must be a date that exists; got '2026-02-30'.
    """
    found = _WRITTEN_AS_DATE.fullmatch(text)
    two = None if found is not None or day_first is None else _DAY_OR_MONTH_FIRST.fullmatch(text)
    try:
        if two is not None:
            day, month = (two[1], two[3]) if day_first else (two[3], two[1])
            value = datetime(int(two[4]), int(month), int(day))
        elif found is None:
            named = _with_month_name(text)
            if named is None:
                return None
            value = named
        elif found["iso"]:
            value = datetime.fromisoformat(text)
        elif found["month"]:
            value = datetime.fromisoformat(f"{text}-01")
        elif found["slash_year"]:
            value = datetime(int(found["slash_year"]), int(found["slash_month"]), int(found["slash_day"]))
        else:
            value = datetime(_year(found["dot_year"]), int(found["dot_month"]), int(found["dot_day"]))
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidValue(f"the date must be a date that exists; got {text[:50]!r}.") from None


def _with_month_name(text: str) -> datetime | None:
    """28 Feb 2026 and the like; the first of the month where there is no day; None for other texts."""
    found = _WITH_MONTH_NAME.fullmatch(text)
    if found is None:
        return None
    name = unicodedata.normalize("NFKD", found["month"] or found["month_first"]).encode("ascii", "ignore").decode()
    months = [
        number for number, names in enumerate(_MONTHS, 1) if any(each.startswith(name.lower()) for each in names)
    ]
    if len(months) != 1 or len(name) < 3:
        return None
    return datetime(
        _year(found["year"] or found["year_after"]), months[0], int(found["day"] or found["day_after"] or 1)
    )


def _year(digits: str) -> int:
    """A year; of two digits one of this century."""
    return int(digits) + (2000 if len(digits) == 2 else 0)


def day_comes_first(texts: Iterable[str]) -> bool | None:
    """Whether dates such as 2/3/2026 have the day first, told by those with one reading; None: unclear.

    >>> day_comes_first(["2/3/2026", "25/3/2026"]), day_comes_first(["2/3/2026"])
    (True, None)
    """
    told = set()
    for text in texts:
        found = _DAY_OR_MONTH_FIRST.fullmatch(text)
        if found is not None and (int(found[1]) > 12) != (int(found[3]) > 12):
            told.add(int(found[1]) > 12)
    return told.pop() if len(told) == 1 else None


def is_day_or_month_first(text: str) -> bool:
    """Whether a text is written as 2/3/2026, which needs others to be read."""
    return _DAY_OR_MONTH_FIRST.fullmatch(text) is not None


def has_one_reading(text: str) -> bool:
    """Whether a date is written in figures that stand for nothing else, so that it may be kept as it is."""
    found = _WRITTEN_AS_DATE.fullmatch(text)
    return found is not None and len(found["dot_year"] or "2026") == 4


def period_start(moment: datetime, period: str) -> date:
    """The first day of the day, week (from Monday on) or month that a moment is in.

    >>> print(period_start(datetime(2026, 1, 31), "week"), period_start(datetime(2026, 1, 31), "month"))
    2026-01-26 2026-01-01
    """
    day = moment.date()
    if period == "month":
        return day.replace(day=1)
    return day - timedelta(days=day.weekday()) if period == "week" else day


def missing_between(days: Sequence[date]) -> tuple[int, str]:
    """How many days (or weeks, or months) have none among `days`, and which of them; 0 where they follow no calendar.

    >>> missing_between([date(2026, 1, 1), date(2026, 1, 2), date(2026, 1, 5), date(2026, 1, 6)])
    (2, 'day')
    >>> missing_between([date(2026, 1, 5), date(2026, 1, 12), date(2026, 2, 2)])
    (2, 'week')
    """
    found = sorted(set(days))
    if len(found) < 3:
        return 0, "day"
    if all(day.day == 1 for day in found):
        months = (found[-1].year - found[0].year) * 12 + found[-1].month - found[0].month + 1
        return months - len(found), "month"
    steps = Counter((after - before).days for before, after in pairwise(found))
    if all(step % 7 == 0 for step in steps):
        return (found[-1] - found[0]).days // 7 + 1 - len(found), "week"
    usual = max(steps, key=lambda step: steps[step])
    return ((found[-1] - found[0]).days + 1 - len(found), "day") if usual == 1 else (0, "day")


def period_date(value: Any) -> str:
    """The date of a period as it is kept: a date, or a name such as "week 3"; a date that does not exist is refused.

    >>> period_date(date(2026, 1, 31)), period_date(" week 3 ")
    ('2026-01-31', 'week 3')
    """
    text = value.isoformat() if isinstance(value, date) else value.strip() if isinstance(value, str) else None
    if text is None or not 0 < len(text) <= LONGEST_DATE or not text.isprintable():
        raise validation.refuse(
            "date", f"a date such as 2026-01-31, or a name of at most {LONGEST_DATE} characters", value
        )
    try:
        parse_date(text)
    except InvalidValue:
        raise validation.refuse("date", "a date that exists", value) from None
    return text


def time_axis(texts: Sequence[str | None]) -> list[datetime] | None:
    """When each period was, and where the one after the last would be; None where dates make no axis of time.

    They make one if all are dates, none before the one before, over a day or more, and not most of the time is one
    gap: a history of years ago and the splits of today would be two specks at the ends. A period without a date (its
    split was cancelled) stands where the one before it stands, or the first.

    >>> axis = time_axis(["2026-01-01", None, "2026-01-08"])
    >>> print(*(moment.date() for moment in axis))
    2026-01-01 2026-01-01 2026-01-08 2026-01-15
    >>> time_axis(["2026-01-08", "2026-01-01"]) is None, time_axis(["week 1", "week 2"]) is None
    (True, True)
    >>> time_axis([*(f"2020-01-{day:02}" for day in range(1, 20)), "2026-01-01"]) is None
    True
    """
    known: list[datetime] = []
    counts: list[int] = []  # of dates so far, at each period
    for text in texts:
        if text is not None:
            try:
                moment = parse_date(text)
            except InvalidValue:
                return None
            if moment is None or (known and moment < known[-1]):
                return None
            known.append(moment)
        counts.append(len(known))
    if not known or known[-1] - known[0] < timedelta(days=1):
        return None
    gaps = [later - earlier for earlier, later in pairwise(known)]
    if len(gaps) >= _FEWEST_GAPS and max(gaps) > _LARGEST_GAP * (known[-1] - known[0]):
        return None
    # The step that is usual, unless most are none: several splits of one day.
    after = known[-1] + (sorted(gaps)[len(gaps) // 2] or (known[-1] - known[0]) / len(gaps))
    return [*(known[max(count, 1) - 1] for count in counts), after]


def first_not_a_date(dates: Iterable[str]) -> str | None:
    """The first that is no date but a name; None where all are dates."""
    return next((text for text in dates if parse_date(text) is None), None)


def describe_order(dates: Iterable[str]) -> str:
    """In which order the periods were taken, in words; `dates` in that order.

    >>> describe_order(["2026-01-01", "2026-01-08"])
    'in date order, from 2026-01-01 to 2026-01-08'
    >>> describe_order(["week 1", "week 2"])
    "in file order, from week 1 to week 2, as 'week 1' is not read as a date"
    """
    periods = list(dict.fromkeys(dates))
    if not periods:
        return "in file order"
    name = first_not_a_date(periods)
    span = f"from {periods[0]} to {periods[-1]}"
    return f"in date order, {span}" if name is None else f"in file order, {span}, as {name!r} is not read as a date"
