"""What was done with the rows of a history, counted, and the rules in words."""

from typing import NamedTuple

from apportion._common.formatting import counted, readable


class Summary(NamedTuple):
    """How the rows of a history became observations; `sentences` says what is worth knowing of it.

    An observation is what an arm got in a period and what came back. Rows of one date (or week, or month) and arm are
    summed. A row without spend is an arm that got nothing. What came back on no spend counts with what the arm got in
    the same period; if that was nothing, it is left out, and so is a period in which nothing was spent. Where some
    rows of a sum have an outcome and others none, the others are left out of it, also their amounts; an observation
    without any outcome counts as spent, and its result is not known. Nothing is assumed about days that are missing.
    """

    rows: int = 0
    observations: int = 0
    periods: int = 0
    summed: int = 0
    """Rows that were added to others of the same period and arm."""
    period: str | None = None
    """What days were rolled into."""
    without_spend: int = 0
    """Rows without an amount where nothing came back."""
    unspent: int = 0
    unspent_total: float = 0.0
    """Rows of what came back on no spend, and how much that was."""
    joined: int = 0
    """Rows of what came back without an amount of their own, counted with what the arm got in the same period."""
    idle: int = 0
    """Periods in which nothing was spent."""
    without_outcome: int = 0
    """Observations with an amount, but without an outcome."""
    left_out: int = 0
    left_out_total: float = 0.0
    """Rows without an outcome, left out of sums that have one, and what was spent in them."""
    totals: int = 0
    """Rows of totals."""
    captions: int = 0
    """Rows without an arm, an amount and an outcome."""
    missing: int = 0
    step: str = "day"
    """How many days (weeks, months) between the first and the last have no row."""
    encoding: str = ""
    sheet: str = ""
    sheets: tuple[str, ...] = ()
    day_first: bool | None = None
    """How dates such as 3/4/2026 were read; None where there are none."""

    def sentences(self) -> tuple[str, ...]:
        """What a person should know of it: the rules that came to bear, with their counts.

        >>> for line in Summary(rows=30, observations=10, periods=5, summed=20, period="week", idle=1).sentences():
        ...     print(line)
        Rows of one week and arm were summed: 30 rows became 10.
        1 week without any spend was left out.
        """
        unit = self.period or "date"
        one = self.period or (self.step if self.missing else "date")
        where = f"in the same {unit}" if self.period else "on the same date"
        others = [repr(name) for name in self.sheets if name != self.sheet]
        lines = (
            (len(others), f"Sheet {self.sheet!r} was read; there are also {', '.join(others[:10])}."),
            (self.encoding not in ("", "UTF-8"), f"The text was read as {self.encoding}."),
            (self.day_first is not None,
             f"Dates such as 3/4/2026 were read as {'day/month/year' if self.day_first else 'month/day/year'}."),
            (self.summed,
             f"Rows of one {unit} and arm were summed: {self.summed + self.observations:,} rows became "
             f"{self.observations:,}."),
            (self.totals, f"{counted(self.totals, 'row')} of totals {_was(self.totals)} left out."),
            (self.captions,
             f"{counted(self.captions, 'row')} with neither arm nor numbers {_was(self.captions)} left out."),
            (self.without_spend,
             f"{counted(self.without_spend, 'row')} without spend: the arm got nothing then."),
            (self.unspent,
             f"{counted(self.unspent, 'row')} returned {readable(self.unspent_total)} on no spend: left out, as no "
             "amount explains it."),
            (self.joined,
             f"{counted(self.joined, 'row')} without spend of {'its' if self.joined == 1 else 'their'} own returned "
             f"something: counted with what the arm got {where}."),
            (self.idle, f"{counted(self.idle, one)} without any spend {_was(self.idle)} left out."),
            (self.without_outcome,
             f"{counted(self.without_outcome, 'amount')} without an outcome: spent, but the result is not known."),
            (self.left_out,
             f"{counted(self.left_out, 'row')} without an outcome {_was(self.left_out)} left out of sums whose other "
             f"rows have one, with {'its' if self.left_out == 1 else 'their'} spend of "
             f"{readable(self.left_out_total)}."),
            (self.missing,
             f"{counted(self.missing, self.step)} between the first and the last {_has(self.missing)} no row: "
             "nothing is assumed about them."),
        )  # fmt: skip
        return tuple(sentence for said, sentence in lines if said)


def _was(count: int) -> str:
    return "was" if count == 1 else "were"


def _has(count: int) -> str:
    return "has" if count == 1 else "have"
