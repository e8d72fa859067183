"""What is said of a campaign's data, and what it depends on. Light to import: responses are made of these, too."""

from typing import Any, NamedTuple

KINDS = (
    "outlier", "untried-amounts", "swings", "bent-returns", "drift", "season", "unequal-noise", "weekdays",
    "steady-amounts",
)  # fmt: skip
"""The kinds of findings, in the order in which they are told."""

DOUBTS = ("outlier", "bent-returns", "drift", "unequal-noise")
"""The kinds that, as a warning, say that ranges and chances may be wrong."""

LEAST_PERIODS = 12
"""With fewer only slips and untried amounts are looked for."""


class Finding(NamedTuple):
    """One thing that was found in the data of a campaign.

    `kind` is one of `KINDS` and stays the same from release to release. `severity` is "note", good to know, or
    "warning": it makes splits worse until it is dealt with. `meaning`, `done` (what is being done about
    it) and `advice` (what a person can do) are whole sentences that hold at every door; `command` is what to type for
    it on the command line, `details` has the numbers behind it. `arms` and `periods` name what it is about, where it
    is about some only.
    """

    kind: str
    severity: str
    title: str
    meaning: str
    done: str
    advice: str
    details: str = ""
    arms: tuple[str, ...] = ()
    periods: tuple[int, ...] = ()
    command: str = ""

    @property
    def sentence(self) -> str:
        """All of it in one line."""
        return " ".join(part for part in (f"{self.title}.", self.meaning, self.done, self.advice) if part)


class Health(NamedTuple):
    """The findings, and how much was looked at: so many periods, up to the last one, and arms."""

    findings: tuple[Finding, ...]
    summary: str
    periods: int
    arms: int
    enough: bool
    """Whether there were enough periods to check for more than slips and untried amounts."""

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {**self._asdict(), "findings": [finding._asdict() for finding in self.findings]}


class Handling(NamedTuple):
    """How the campaign is run, as far as it decides what is done about a finding.

    `learns` names what the policy learns by itself: "c", "noise" (of each arm), "drift". `name` is that of the
    campaign, for the commands to type; None where there is none, only a file. `memory` is the half-life that the
    policy has learned, in periods.
    """

    name: str | None = None
    unit: str | None = None
    policy: str = ""
    learns: frozenset[str] = frozenset()
    c: float = 1.0
    half_life: float | None = None
    window: int | None = None
    robust: bool = False
    growth: float | None = None
    change: float | None = None
    noise_by_arm: bool = False
    minimise: bool = False
    memory: float | None = None
