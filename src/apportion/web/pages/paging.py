"""Long lists, a page at a time, and those of them that are looked for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

ARMS_PER_PAGE = 50

Item = TypeVar("Item")


class Paged(NamedTuple, Generic[Item]):
    """The rows of one page, its number (from 1), how many pages there are, and how many rows in all."""

    rows: list[Item]
    at: int
    pages: int
    total: int


def in_pages(items: Sequence[Item], at: int, size: int = ARMS_PER_PAGE) -> Paged[Item]:
    """The page of that number; the first or the last where there is none.

    >>> in_pages("abcdefg", 2, size=3)
    Paged(rows=['d', 'e', 'f'], at=2, pages=3, total=7)
    >>> in_pages("abc", 99, size=3).at, in_pages("", 1).pages
    (1, 1)
    """
    pages = max(1, math.ceil(len(items) / size))
    at = min(max(at, 1), pages)
    return Paged(list(items[(at - 1) * size : at * size]), at, pages, len(items))


def matches(name: str, wanted: str) -> bool:
    """Whether a name has all the words that are looked for, in whatever case.

    >>> matches("Spring ads 2027", "ads spring"), matches("Spring ads 2027", "autumn")
    (True, False)
    """
    return all(word in name.casefold() for word in wanted.casefold().split())
