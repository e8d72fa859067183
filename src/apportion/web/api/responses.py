"""Models of responses, for the OpenAPI description; the responses themselves are made by the library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model

from apportion.campaigns import settings
from apportion.campaigns.settings import SETTINGS

Maybe = float | None


class ResponseModel(BaseModel):
    """The body of a response."""

    model_config = ConfigDict(extra="forbid")


class Learned(ResponseModel):
    """What the outcomes say about the noise: b with a 95% interval, σ, and the chance that b is above 1/2.

    A b that was given has no width; `sigma_given` says the same of σ.
    """

    b: float
    low: float
    high: float
    sigma: Maybe
    above_half: float
    sigma_given: bool
    sentence: str


class BeliefBasis(ResponseModel):
    """What beliefs stand on, as of their own time; `learned` is null where the policy does not learn b and σ."""

    sigma: Maybe
    level: float
    minimise: bool
    learned: Learned | None


class Belief(ResponseModel):
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


class Split(BeliefBasis):
    """A split: amounts add up to the budget; outcomes are recorded by `ticket`."""

    campaign: str
    ticket: int
    budget: float
    unit: str | None
    note: str
    arms: list[SplitArm]


class Recorded(ResponseModel):
    """A ticket after something was recorded; `open`: outcomes are still to come."""

    campaign: str
    ticket: int
    open: bool
    open_tickets: int


class Arm(ResponseModel):
    """An arm: active, paused or removed, and the bounds on its share."""

    name: str
    state: Literal["active", "paused", "removed"]
    minimum: float
    maximum: float


class Arms(ResponseModel):
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


def _settings() -> Any:
    fields: dict[str, Any] = {
        name: (typed, Field(description=SETTINGS[name].help if name in SETTINGS else None))
        for name, typed in get_type_hints(settings.Settings).items()
    }
    says = "What a campaign is run by; `assumed` are those that nobody gave."
    return create_model("Settings", __base__=ResponseModel, __doc__=says, __module__=__name__, **fields)


if TYPE_CHECKING:  # made here, setting by setting
    Settings = ResponseModel
else:
    Settings = _settings()


class Status(ResponseModel):
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


class Summary(ResponseModel):
    """A campaign in a list."""

    campaign: str
    period: int
    leader: str | None
    open_tickets: int
    budget: float
    unit: str | None
    expected_regret_per_period: Maybe
    events: int


class Campaigns(ResponseModel):
    """Campaigns by name; `next` is what to send as `after` for more."""

    campaigns: list[Summary]
    next: str | None


class Line(ResponseModel):
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


class History(ResponseModel):
    """The history, oldest ticket first; `next` is what to send as `after` for more."""

    campaign: str
    lines: list[Line]
    next: int | None


class Event(ResponseModel):
    """Something that happened."""

    number: int
    at: str
    kind: str
    ticket: int | None
    payload: dict[str, Any]
    key: str | None


class Events(ResponseModel):
    """The log, oldest first; `next` is what to send as `after` for more."""

    campaign: str
    events: list[Event]
    next: int | None


class AllBeliefs(BeliefBasis):
    """What is believed about every arm that was not removed; `level` is that of the intervals."""

    leader: str | None
    arms: list[ArmBelief]


class Beliefs(AllBeliefs):
    """What is believed about every arm that was not removed; `level` is that of the intervals."""

    campaign: str


class Moment(AllBeliefs):
    """What was believed after so many periods."""

    period: int


class OverTime(ResponseModel):
    """What was believed from the beginning to today."""

    campaign: str
    every: int
    moments: list[Moment]


class Check(ResponseModel):
    """Whether what is stored agrees with the events."""

    ok: bool
    events: int
    tickets: int
    snapshots: int
    exact: bool
    message: str


class PolicyForecast(ResponseModel):
    """What one policy may earn and lose: means, and ranges from the 5% to the 95% quantile."""

    policy: str
    earned: float
    earned_low: float
    earned_high: float
    regret: float
    regret_low: float
    regret_high: float


class Forecast(ResponseModel):
    """What policies may earn in simulated futures of the campaign."""

    periods: int
    worlds: int
    budget: float
    b: float
    sigma: float
    prospects: list[PolicyForecast]
    actual: Maybe = None


class Imported(ResponseModel):
    """What an import did."""

    file: str
    rows: int
    tickets: int
    arms_added: list[str]
    digest: str


class Restored(ResponseModel):
    """A campaign that was brought back."""

    campaign: str
    events: int


class Version(ResponseModel):
    """The release that answers."""

    version: str
    visitor: str
    scope: Literal["read", "write"]


class FieldFault(ResponseModel):
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
