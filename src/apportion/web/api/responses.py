"""Models of responses, for the OpenAPI description; the responses themselves are made by the library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeVar, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model

from apportion.allocation import arms, beliefs
from apportion.campaigns import check, events, history, importing, settings, summary, undo
from apportion.inference import learned as learning
from apportion.inference.health import findings

Maybe = float | None
Model = TypeVar("Model", bound=BaseModel)


class ResponseModel(BaseModel):
    """The body of a response."""

    model_config = ConfigDict(extra="forbid")


def fields_of(record: Any, **own: Any) -> Callable[[type[Model]], type[Model]]:
    """Give a model the fields of a record of the library; `own` are further ones, or of other types."""

    def extend(model: type[Model]) -> type[Model]:
        described = settings.SETTINGS if record is settings.Settings else {}
        fields: dict[str, Any] = {
            name: (typed, Field(description=described[name].help if name in described else None))
            for name, typed in {**get_type_hints(record), **own}.items()
        }
        return create_model(
            model.__name__, __base__=model, __doc__=model.__doc__, __module__=model.__module__, **fields
        )

    return extend


@fields_of(learning.Learned, sigma=Maybe, sigma_low=Maybe, sigma_high=Maybe, sentence=str)
class Learned(ResponseModel):
    """What the outcomes say about the law, with 95% intervals, and how long they count.

    Returns grow as amount^c, noise as amount^b; `half_life` is null where nothing fades. What was given has no width;
    `sigma_given` says the same of σ.
    """


class BeliefBasis(ResponseModel):
    """What beliefs stand on, as of their own time; `learned` is null where the policy does not learn b and σ."""

    sigma: float | dict[str, float] | None
    c: float
    level: float
    minimise: bool
    learned: Learned | None


@fields_of(beliefs.Belief, mean=Maybe, low=Maybe, high=Maybe, probability_best=Maybe, marginal=Maybe)
class Belief(ResponseModel):
    """What is believed about an arm; null: not known yet."""


class ArmBelief(Belief):
    """What is believed about an arm, by name."""

    arm: str


class SplitArm(ArmBelief):
    """What one arm gets, and why; beliefs are those of the moment of the split.

    `return_per_unit` is what each unit of `amount` is expected to bring, as screens show it. Where returns diminish
    `mean` is another figure: the return of the first unit; and where nothing is given there is none.
    """

    return_per_unit: Maybe
    return_per_unit_low: Maybe
    return_per_unit_high: Maybe
    amount: float
    share: float
    reason: str


class Split(BeliefBasis):
    """A split: amounts add up to the budget; outcomes are recorded by `ticket`."""

    campaign: str
    ticket: int
    date: str
    budget: float
    unit: str | None
    note: str
    unspent: list[int] = Field(description="Earlier tickets that nothing was recorded of when it was issued.")
    arms: list[SplitArm]


class Recorded(ResponseModel):
    """A ticket after something was recorded; `open`: outcomes are still to come."""

    campaign: str
    ticket: int
    open: bool
    open_tickets: int


@fields_of(arms.Arm, state=Literal["active", "paused", "removed"])
class Arm(ResponseModel):
    """An arm: active, paused or removed, and the bounds on its share."""


class Arms(ResponseModel):
    """Every arm there ever was."""

    campaign: str
    arms: list[Arm]


class ArmStatus(Arm):
    """An arm: what was spent on it and came back, and what is believed about it; a removed one has no beliefs."""

    spent: Maybe
    returned: Maybe
    return_so_far: Maybe
    return_per_unit: Maybe = None
    return_per_unit_low: Maybe = None
    return_per_unit_high: Maybe = None
    mean: Maybe = None
    low: Maybe = None
    high: Maybe = None
    probability_best: Maybe = None
    resource: Maybe = None
    information: Maybe = None
    marginal: Maybe = None


@fields_of(settings.Settings)
class Settings(ResponseModel):
    """What a campaign is run by; `assumed` are those that nobody gave."""


@fields_of(findings.Finding, severity=Literal["note", "warning"])
class Finding(ResponseModel):
    """Something that was found in the data: what it means, what is being done about it, what a person can do."""


@fields_of(findings.Health, findings=list[Finding])
class Health(ResponseModel):
    """What was found in the data of a campaign, and how much was looked at."""


class Status(BeliefBasis):
    """Where a campaign stands; `health` is null where it was not asked for.

    `return_so_far` is returned ÷ spent, as a spreadsheet has it. `return_per_unit` of an arm is the estimate that
    splits use, as screens show it: of each unit where every arm gets `return_per_unit_at`. Where returns diminish
    `mean` is another figure, the return of the first unit.
    """

    campaign: str
    archived: bool
    period: int
    open_tickets: list[int]
    provisional_tickets: list[int] = Field(description="Those with totals so far, which will be replaced.")
    cancelled: int = Field(description="How many of the splits were cancelled.")
    leader: str | None
    spent: Maybe
    returned: Maybe
    return_so_far: Maybe
    expected_regret_per_period: Maybe
    return_per_unit_at: float = Field(description="The amount that `return_per_unit` is for, an even share.")
    arms: list[ArmStatus]
    settings: Settings
    events: int
    notes: list[str]
    health: Health | None


@fields_of(summary.Summary)
class Summary(ResponseModel):
    """A campaign in a list; where it cannot be read, `broken` says why, and the rest is null."""


class Campaigns(ResponseModel):
    """Campaigns by name; `next` is what to send as `after` for more."""

    campaigns: list[Summary]
    next: str | None


@fields_of(
    history.Line, state=Literal["open", "provisional", "recorded", "no data", "amended", "cancelled", "unused"]
)
class Line(ResponseModel):
    """One arm in one split."""


class History(ResponseModel):
    """The history, oldest ticket first; `next` is what to send as `after` for more."""

    campaign: str
    lines: list[Line]
    next: int | None


@fields_of(events.Event)
class Event(ResponseModel):
    """Something that happened."""


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


@fields_of(check.Check)
class Check(ResponseModel):
    """Whether what is stored agrees with the events."""


@fields_of(importing.Imported)
class Imported(ResponseModel):
    """What an import did."""


@fields_of(undo.ImportRecord)
class ImportRecord(ResponseModel):
    """An import: the number of its event, when, what of; whether it was undone."""


class Imports(ResponseModel):
    """The files that were imported, oldest first."""

    campaign: str
    imports: list[ImportRecord]


@fields_of(undo.UndoneImport)
class UndoneImport(ResponseModel):
    """What undoing an import did: the tickets that were cancelled, and the arms that went with them."""


class Renamed(ResponseModel):
    """A campaign under its new name."""

    campaign: str
    old: str
    events: int


class Archived(ResponseModel):
    """A campaign that is put away, or in use again."""

    campaign: str
    archived: bool
    events: int


class Cloned(ResponseModel):
    """A copy of a campaign."""

    campaign: str
    source: str
    events: int


class Deleted(ResponseModel):
    """A campaign that is no more, and how many events went with it."""

    campaign: str
    events: int


class Restored(ResponseModel):
    """A campaign that was brought back."""

    campaign: str
    events: int


class Version(ResponseModel):
    """The release that answers."""

    version: str
    visitor: str
    scope: Literal["none", "read", "record", "write"]
    rights: dict[str, Literal["read", "record", "manage"]] = {}


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
