"""What goes in and out of the API, for the OpenAPI description and for the first look at a request.

Types are checked here; ranges, names and everything with a meaning are checked by the library, so that every refusal
is the same sentence as on the command line. The bounds in the description are the library's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, WrapValidator


def field(description: str, *, example: Any, default: Any = ..., **bounds: Any) -> Any:
    """A field whose bounds are described here and checked by the library; a default of None is not described."""

    def describe(schema: dict[str, Any]) -> None:
        schema.update(bounds, examples=[example])
        if schema.get("default", ...) is None:
            del schema["default"]

    return Field(default, description=description, json_schema_extra=describe)


def _as_given(value: Any, check: Callable[[Any], Any]) -> Any:
    """A number as it was sent: a refused 7 is echoed as 7, as on this machine, and not as 7.0."""
    check(value)
    return value


ArmName = Annotated[str, Field(json_schema_extra={"minLength": 1}, examples=["search"])]
Number = Annotated[float, WrapValidator(_as_given)]
MaybeNumber = Number | None
Shares = dict[str, Number] | None

# A policy comes as a name or with its parameters; the library tells one from the other, and from what is neither.
POLICY: dict[str, Any] = {
    "anyOf": [
        {"type": "string"},
        {
            "type": "object",
            "properties": {"name": {"type": "string"}, "parameters": {"type": "object"}},
            "required": ["name"],
            "additionalProperties": False,
        },
    ]
}


class Asked(BaseModel):
    """What a request brings."""

    model_config = ConfigDict(strict=True, extra="forbid")


class Told(BaseModel):
    """What an answer brings."""

    model_config = ConfigDict(extra="forbid")


# Requests

SHARE = {"minimum": 0, "maximum": 1}


class NewCampaign(Asked):
    """A campaign to begin. Without b and sigma they are learned (Auto), or assumed; `notes` says which."""

    name: str = field("Any printable characters except / and \\.", example="ads", minLength=1, maxLength=200)
    arms: list[ArmName] = field("The arms, each once.", example=["search", "social"], minItems=1)
    budget: Number = field("The budget of a period.", example=5000, exclusiveMinimum=0)
    unit: str | None = field("What it is counted in.", example="EUR", default=None, maxLength=40)
    policy: Any = field(
        "How to decide: the name of a policy, or {name, parameters}.", example="auto", default="auto", **POLICY
    )
    b: MaybeNumber = field("How much a small share reveals: 0 nothing, 1 all.", example=0.75, default=None, **SHARE)
    sigma: MaybeNumber = field("The scale of the noise of one unit.", example=40, default=None, exclusiveMinimum=0)
    horizon: MaybeNumber = field("How many periods there will be.", example=52, default=None, minimum=1)
    minimum: Shares = field("The smallest shares, by arm.", example={"social": 0.1}, default=None)
    maximum: Shares = field("The largest shares, by arm.", example={"search": 0.8}, default=None)
    pinned: Shares = field("Fixed shares, by arm.", example=None, default=None)
    whole: bool = field("Amounts are whole units.", example=False, default=False)
    step: MaybeNumber = field("Amounts are multiples of this.", example=None, default=None, exclusiveMinimum=0)
    half_life: MaybeNumber = field(
        "Periods until an outcome counts half.", example=None, default=None, exclusiveMinimum=0
    )
    window: MaybeNumber = field("Only the last so many periods count.", example=None, default=None, minimum=1)
    robust: bool = field("Trim wild outcomes.", example=False, default=False)
    level: Number = field("Of the intervals.", example=0.95, default=0.95, exclusiveMinimum=0, exclusiveMaximum=1)
    minimise: bool = field("Outcomes are costs: less is better.", example=False, default=False)
    seed: int | None = field("The seed of everything that is drawn.", example=7, default=None, minimum=0)


class AskSplit(Asked):
    """The budget of this period, where it differs from the campaign's."""

    budget: MaybeNumber = field("The campaign's by default.", example=6000, default=None, exclusiveMinimum=0)


class Outcomes(Asked):
    """What came back, by arm; null where no data will come."""

    outcomes: dict[str, MaybeNumber] = field(
        "What each arm returned.", example={"search": 812.0, "social": 410.5}, minProperties=1
    )
    amounts: Shares = field("What was really spent, if not as advised.", example={"social": 900.0}, default=None)


class NewArm(Asked):
    """An arm to add, or one that was removed to bring back with all that was learned about it."""

    name: str = field("Its name.", example="radio", minLength=1)
    minimum: Number = field("The smallest share.", example=0.05, default=0.0, **SHARE)
    maximum: Number = field("The largest share.", example=1.0, default=1.0, **SHARE)


class ChangeArm(Asked):
    """What to do with an arm. Bounds go with `bound` only."""

    action: Literal["pause", "resume", "bound"] = Field(description="What to do.", examples=["bound"])
    minimum: MaybeNumber = field("The smallest share.", example=0.05, default=None, **SHARE)
    maximum: MaybeNumber = field("The largest share.", example=0.5, default=None, **SHARE)


class ChangeSettings(Asked):
    """The settings to change; the rest stays. Another b, half_life, window or robust counts all outcomes anew."""

    budget: Number = field("The budget of a period.", example=6000, default=None, exclusiveMinimum=0)
    unit: str | None = field("What it is counted in.", example="EUR", default=None, maxLength=40)
    policy: Any = field(
        "How to decide: the name of a policy, or {name, parameters}.",
        example={"name": "Odds", "parameters": {"b": 0.75, "floor": 0.01}}, default=None, **POLICY,
    )  # fmt: skip
    b: MaybeNumber = field("How much a small share reveals; null to learn it.", example=0.75, default=None, **SHARE)
    sigma: MaybeNumber = field(
        "The scale of the noise; null to learn it.", example=35, default=None, exclusiveMinimum=0
    )
    horizon: MaybeNumber = field("How many periods there will be.", example=52, default=None, minimum=1)
    step: MaybeNumber = field("Amounts are multiples of this.", example=10, default=None, exclusiveMinimum=0)
    half_life: MaybeNumber = field(
        "Periods until an outcome counts half.", example=26, default=None, exclusiveMinimum=0
    )
    window: MaybeNumber = field("Only the last so many periods count.", example=None, default=None, minimum=1)
    robust: bool = field("Trim wild outcomes.", example=True, default=None)
    level: Number = field("Of the intervals.", example=0.9, default=None, exclusiveMinimum=0, exclusiveMaximum=1)


# Answers

Maybe = float | None


class Learned(Told):
    """What the outcomes say about the noise: b with a 95% interval, σ, and the chance that b is above 1/2."""

    b: float
    low: float
    high: float
    sigma: Maybe
    above_half: float
    sentence: str


class Relative(Told):
    """What beliefs stand on, as of their own time; `learned` is null where the policy does not learn b and σ."""

    sigma: Maybe
    level: float
    minimise: bool
    learned: Learned | None


class Belief(Told):
    """What is believed about an arm; null: not known yet."""

    mean: Maybe
    low: Maybe
    high: Maybe
    probability_best: Maybe
    resource: float
    information: float


class ArmBelief(Belief):
    """What is believed about an arm, by name."""

    arm: str


class SplitArm(ArmBelief):
    """What one arm gets, and why; beliefs are those of the moment of the split."""

    amount: float
    share: float
    reason: str


class Split(Relative):
    """A split: amounts add up to the budget; outcomes come home by `ticket`."""

    campaign: str
    ticket: int
    budget: float
    unit: str | None
    note: str
    arms: list[SplitArm]


class Recorded(Told):
    """A ticket after something was recorded; `open`: outcomes are still to come."""

    campaign: str
    ticket: int
    open: bool
    open_tickets: int


class Arm(Told):
    """An arm: active, paused or removed, and the bounds on its share."""

    name: str
    state: Literal["active", "paused", "removed"]
    minimum: float
    maximum: float


class Arms(Told):
    """Every arm there ever was."""

    campaign: str
    arms: list[Arm]


class ArmStatus(Arm):
    """An arm and what is believed about it; a removed one has no beliefs."""

    mean: Maybe = None
    low: Maybe = None
    high: Maybe = None
    probability_best: Maybe = None
    resource: Maybe = None
    information: Maybe = None


class Settings(Told):
    """What a campaign is run by; `assumed` are those that nobody gave."""

    budget: float
    unit: str | None
    policy: str
    parameters: dict[str, Any]
    b: float
    sigma: Maybe
    horizon: int | None
    step: Maybe
    half_life: Maybe
    level: float
    minimise: bool
    seed: int
    assumed: list[str]
    window: int | None
    robust: bool


class Status(Told):
    """Where a campaign stands."""

    campaign: str
    period: int
    open_tickets: list[int]
    leader: str | None
    expected_regret_per_period: Maybe
    arms: list[ArmStatus]
    settings: Settings
    learned: Learned | None
    events: int
    notes: list[str]


class Summary(Told):
    """A campaign in a list."""

    campaign: str
    period: int
    leader: str | None
    open_tickets: int
    budget: float
    unit: str | None
    expected_regret_per_period: Maybe
    events: int


class Campaigns(Told):
    """Campaigns by name; `next` is what to send as `after` for more."""

    campaigns: list[Summary]
    next: str | None


class Line(Told):
    """One arm in one split."""

    ticket: int
    date: str
    arm: str
    advised: float
    amount: float
    share: float
    outcome: Maybe
    state: Literal["open", "recorded", "no data", "amended", "unused"]
    recorded: str | None
    corrections: list[dict[str, Any]]


class History(Told):
    """The history, oldest ticket first; `next` is what to send as `after` for more."""

    campaign: str
    lines: list[Line]
    next: int | None


class Event(Told):
    """Something that happened."""

    number: int
    at: str
    kind: str
    ticket: int | None
    payload: dict[str, Any]
    key: str | None


class Events(Told):
    """The log, oldest first; `next` is what to send as `after` for more."""

    campaign: str
    events: list[Event]
    next: int | None


class Held(Relative):
    """What is believed about every arm that was not removed; `level` is that of the intervals."""

    leader: str | None
    arms: list[ArmBelief]


class Beliefs(Held):
    """What is believed about every arm that was not removed; `level` is that of the intervals."""

    campaign: str


class Moment(Held):
    """What was believed after so many periods."""

    period: int


class OverTime(Told):
    """What was believed from the beginning to today."""

    campaign: str
    every: int
    moments: list[Moment]


class Check(Told):
    """Whether what is kept agrees with the events."""

    ok: bool
    events: int
    tickets: int
    snapshots: int
    exact: bool
    message: str


class Prospect(Told):
    """What one policy may earn and lose: means, and bands from 5% to 95%."""

    policy: str
    earned: float
    earned_low: float
    earned_high: float
    regret: float
    regret_low: float
    regret_high: float


class Forecast(Told):
    """The campaign played forward in worlds drawn from its beliefs."""

    periods: int
    worlds: int
    budget: float
    b: float
    sigma: float
    prospects: list[Prospect]
    actual: Maybe = None


class Imported(Told):
    """What an import did."""

    file: str
    rows: int
    tickets: int
    arms_added: list[str]
    digest: str


class Restored(Told):
    """A campaign that was brought back."""

    campaign: str
    events: int


class Version(Told):
    """The release that answers."""

    version: str
    visitor: str
    scope: Literal["read", "write"]


class FieldFault(Told):
    """One fault of a request."""

    pointer: str
    detail: str


class Problem(BaseModel):
    """What went wrong (RFC 9457): `detail` is the sentence that the command line prints."""

    type: str = Field(examples=["/api/reference#invalid-value"])
    title: str
    status: int
    detail: str = Field(examples=["`b` must be a number in [0, 1]; got 1.3."])
    error: str | None = Field(None, description="The exception class of the library.", examples=["InvalidValue"])
    errors: list[FieldFault] | None = None
