"""What a section of the report is: it measures plain data, and shows what is in that data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from apportion.studies.page import Block
from apportion.studies.paper.sizes import Sizes

Values = dict[str, Any]
OnStep = Callable[[str], None]


@dataclass(frozen=True)
class Section:
    """One section: `measure(sizes, seed, on_step)` makes plain data, `show(data)` the blocks of the page.

    `on_step` is called with a few words before each piece of work. `module` is the file that both are in.
    """

    name: str
    title: str
    module: str
    measure: Callable[[Sizes, int, OnStep], Values]
    show: Callable[[Values], list[Block]]
