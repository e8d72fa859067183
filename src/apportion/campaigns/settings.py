"""The settings of a campaign, each declared once: type, bounds, default, words, and what changing it means.

Two TypedDicts hold the declarations: `NewSettings` is what `Campaign.create` takes, `ChangedSettings` what
`Campaign.change` takes. `SETTINGS` is the same as a table, from which the doors are made: options of the command
line, models of requests and responses, fields of the pages, payloads of events, the reference page. A new setting is
one more field here, its line in `Settings`, and the place where it takes effect.
"""

import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypedDict, TypeVar, cast, get_args, get_origin

from apportion._common import validation

if TYPE_CHECKING:
    from apportion.policies import Policy

Kind = Literal["number", "per_arm", "whole", "flag", "text", "texts", "choice", "policy", "shares"]
Every = Literal["day", "week", "month"]

STATISTICS = ("b", "c", "sigma", "horizon", "half_life", "window", "robust", "level")
"""The settings that speak of statistics: they stand behind a click or `--details`, as nobody needs them to begin."""

DERIVED = ("parameters", "assumed", "seed")
"""What is kept beside the settings, and is for those who look into it."""

GROUPS = {"budget": "The budget", "arms": "The arms", "decision": "How it is decided", "past": "How the past counts"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Setting:
    """What is to be known of a setting besides its type; the last fields come from where it is declared."""

    help: str  # one sentence, for the command line, HTTP, pages and the reference
    details: str = ""  # what the reference page adds
    group: str
    label: str = ""  # above its field on a page
    hint: str = ""  # below its field, where it is not `help`
    noun: str = ""  # what it is called inside a sentence, "the half-life" say
    without: str = "none"  # what None means, where it is a value
    option: str = ""  # on the command line, where it is not its name
    example: Any = None
    default: Any = None
    low: float | None = None
    high: float | None = None
    above: float | None = None
    below: float | None = None
    longest: int | None = None  # characters of a text
    options: tuple[str, ...] = ()  # what a choice is between
    percent: tuple[float, float] | None = None  # typed and shown on pages as a percentage, within these
    zero_unsets: bool = False  # on the command line 0 is None
    words: tuple[str, str] = ("no", "yes")  # what False and True are called on pages
    recounts: bool = False  # another value counts all outcomes again, from the first
    part_of: str = ""  # what it is another way to write, and kept as: nothing of its own after the beginning
    name: str = ""
    kind: Kind = "number"
    nullable: bool = False  # None is a value: not limited, not known, or to be learned
    required: bool = False
    changeable: bool = False

    @property
    def title(self) -> str:
        """Its label, from the name where it has none."""
        return self.label or self.name.replace("_", " ").capitalize()

    @property
    def bounds(self) -> dict[str, Any]:
        """Those bounds that it has."""
        given = {name: getattr(self, name) for name in ("low", "high", "above", "below")}
        return {name: bound for name, bound in given.items() if bound is not None}

    def check(self, value: Any) -> Any:
        """`value` as it is kept, or `InvalidValue`. Policies and shares are checked where they are used."""
        if value is None and self.nullable:
            return None
        if self.kind == "per_arm" and isinstance(value, Mapping):  # whose arms these are is checked where it is used
            return {arm: validation.number(f"{self.name} of '{arm}'", value[arm], **self.bounds) for arm in value}
        if self.kind in ("number", "per_arm"):
            return validation.number(self.name, value, **self.bounds)
        if self.kind == "whole":
            return validation.whole(self.name, value, **self.bounds)
        if self.kind == "flag":
            return validation.flag(self.name, value)
        if self.kind == "choice":
            return validation.choice(self.name, value, self.options)
        if self.kind == "text":
            fits = isinstance(value, str) and value.strip() and value.isprintable()
            if not fits or (self.longest is not None and len(value) > self.longest):
                raise validation.refuse(self.name, f"a short printable name such as {self.example}", value)
            return value.strip()
        if self.kind == "texts":  # what they say is read where it is used
            if isinstance(value, str) or not isinstance(value, Iterable):
                raise validation.refuse(self.name, f"a list of texts such as {self.example[0]!r}", value)
            return tuple(value)
        return value


PerArm = Mapping[str, float]
Shares = Mapping[str, float | str]
"""By arm: shares from 0 to 1, or texts as `campaigns.bounds` reads them."""
Texts = Sequence[str]
NumberOrPerArm = float | PerArm
Budget = Annotated[float, Setting(
    help="The budget of a period.", details="A single split can have another one: `apportion split NAME --budget X`.",
    hint="What each split divides unless you say otherwise. A period is a day, a week, a month.",
    group="budget", label="Budget per period", noun="the budget", example=5000, above=0.0,
)]  # fmt: skip


class _RequiredBudget(TypedDict):
    budget: Budget


class _ChangedBudget(TypedDict, total=False):
    budget: Budget


class _Changeable(TypedDict, total=False):
    unit: Annotated[str | None, Setting(
        help="The unit of the budget, EUR say.", hint="EUR, hours, kits.", without="only the number is shown",
        group="budget", label="Unit", example="EUR", longest=40,
    )]  # fmt: skip
    outcome_unit: Annotated[str | None, Setting(
        help="What came back is measured in this: orders, EUR, positive tests.",
        hint="orders, EUR, positive tests.", without="only the number is shown",
        group="budget", label="What comes back is measured in", noun="what comes back is measured in",
        example="orders", longest=40,
    )]  # fmt: skip
    every: Annotated[Every | None, Setting(
        help="How often the budget is split: every day, week or month.",
        hint="Every day, week or month: what one period is.", without="it is called a period",
        group="budget", label="How often is it split?", noun="how often it is split", example="week",
    )]  # fmt: skip
    step: Annotated[float | None, Setting(
        help="Amounts are multiples of this; 1 for whole units, 0 for any amount.",
        without="cents where the unit is a currency, else any amount",
        details="25 for packs of 25. The budget must be a multiple, too. What is done without a step: [Amounts that "
                "can be spent](../campaigns.md#amounts-that-can-be-spent).",
        group="budget", label="Step", noun="the step", example=10, low=0.0,
    )]  # fmt: skip
    policy: Annotated["Policy | str", Setting(
        help="How to decide: the name of a policy.",
        details="See [Policies](../explanation/policies.md). In Python also a policy of your own, over HTTP a name "
                "or `{name, parameters}`. A new policy starts with all that is known.",
        hint="How the split is decided. Auto is what we recommend: it alone learns how results vary.",
        group="decision", label="Policy", example="auto", default="auto",
    )]  # fmt: skip
    b: Annotated[float | None, Setting(
        help="Noise exponent: the standard deviation grows as amount^b.",
        details="How to choose it: [Choose b](../how-to/choosing-b.md).",
        without="learned by Auto, assumed to be 1/2 by other policies",
        group="decision", label="b", noun="b", example=0.75, low=0.0, high=1.0, recounts=True,
    )]  # fmt: skip
    c: Annotated[float | None, Setting(
        help="Return exponent: returns grow as amount^c; below 1 they diminish.",
        details="Measure it on a past history: `apportion fit`. Recommended, Matching and Thompson take what you "
                "give.",
        without="learned by Auto, assumed to be 1 by other policies",
        group="decision", label="c", noun="c", example=0.8, above=0.0, high=1.0, recounts=True,
    )]  # fmt: skip
    sigma: Annotated[float | Mapping[str, float] | None, Setting(
        help="Noise scale: the standard deviation of the outcome of one unit; one number, or one by arm.",
        details="By arm: `--sigma search=40,social=10`, over HTTP an object; then every arm needs its own.",
        without="learned by Auto, assumed to be 1 by other policies",
        group="decision", label="σ", noun="σ", example=40, above=0.0,
    )]  # fmt: skip
    horizon: Annotated[int | None, Setting(
        help="How many periods there will be.", without="not known",
        details="For policies that want to know: they stop exploring towards the end.",
        hint="If the campaign has an end: what is learned late cannot be used.",
        group="decision", label="Periods in all", noun="the number of periods", example=52, low=1,
    )]  # fmt: skip
    growth: Annotated[float | None, Setting(
        help="An arm gets at most so many times the most it ever got with a result, but always up to an even share.",
        details="So no arm outgrows what was tried for it in one period: at 2 it can double, again and again. Bounds "
                "come first, and where they leave no other way the limit is widened, for all arms evenly. A campaign "
                "that was begun before there was this setting has no limit until one is set.",
        group="decision", label="Growth limit", noun="the growth limit", without="no limit", example=1.5, default=2.0,
        low=1.0, zero_unsets=True,
    )]  # fmt: skip
    change: Annotated[float | None, Setting(
        help="The most that a share may move from one split to the next, as a part of the budget.",
        details="0.1: from 20% to at most 30% and at least 10%. Bounds and the growth limit come first. Of arms that "
                "take part no longer, the others have their shares in proportion.",
        hint="The most that a share may move from one split to the next.",
        group="decision", label="Change limit, %", noun="the change limit", without="no limit", percent=(1.0, 100.0),
        example=0.1, above=0.0, high=1.0, zero_unsets=True,
    )]  # fmt: skip
    rules: Annotated[Texts, Setting(
        help="What several arms get together, in words: 'social + video <= 40%'.",
        details="In percent of the budget or as an amount: `--rule \"north + south >= 500\"`; in proportion: "
                "`--rule \"social = video\"`, `--rule \"social >= 0.5 * video\"`; from one split to the next: "
                "`--rule \"change of social + video <= 10%\"`. How to write them, and what they do: "
                "[Rules](../how-to/rules.md). To change them, give all that are to hold; an empty one, "
                "`--rule \"\"`, is none.",
        hint="One per line. What several arms get together: social + video <= 40%, north + south >= 500, "
             "social = video. Empty: no rules.",
        group="arms", label="Rules", noun="the rules", option="rule", example=("social + video <= 40%",), default=(),
    )]  # fmt: skip
    half_life: Annotated[float | None, Setting(
        help="Periods until an outcome counts half, where returns drift.", without="outcomes count for ever",
        group="past", label="Half-life", noun="the half-life", example=26, low=1e-3, recounts=True,
    )]  # fmt: skip
    window: Annotated[int | None, Setting(
        help="Only the last so many periods count; not together with a half-life.", without="all periods count",
        details="Of the two the one that is set last holds.",
        group="past", label="Window", noun="the window", example=30, low=1, high=100_000, recounts=True,
        zero_unsets=True,
    )]  # fmt: skip
    robust: Annotated[bool, Setting(
        help="Trim outliers: a few extreme outcomes do not decide; the intervals are then not proven.",
        details="A trimmed mean over sixteen groups of periods takes the place of the mean "
                "([Robustness](../robustness.md)). Then b is not learned.",
        group="past", label="Outliers", noun="outliers", words=("counted in full", "trimmed"), example=False,
        default=False, recounts=True,
    )]  # fmt: skip
    level: Annotated[float, Setting(
        help="Confidence level of the intervals.", details="See [Confidence](../explanation/confidence.md).",
        hint="At 95 an interval holds the truth with a chance of 95%, at all times at once.",
        group="past", label="Level of intervals, %", noun="the level of intervals", percent=(50.0, 99.99),
        example=0.95, default=0.95, above=0.0, below=1.0,
    )]  # fmt: skip


class _Fixed(TypedDict, total=False):
    whole: Annotated[bool, Setting(
        help="Amounts are whole units.", details="The same as a `step` of 1.", part_of="step",
        group="budget", example=False, default=False,
    )]  # fmt: skip
    minimise: Annotated[bool, Setting(
        help="Outcomes are costs: less is better.", details="The arm with the smallest outcome per unit is the best.",
        group="budget", label="Outcomes are costs", example=False, default=False,
    )]  # fmt: skip
    minimum: Annotated[Shares | None, Setting(
        help="The smallest shares, by arm.", option="min", part_of="arms", group="arms", example={"social": 0.1},
        details="`--min video=5%`, `video=0.05` or `\"video=250 EUR\"`, which is taken as its share of the budget as "
                "it is then. Later: `apportion arms NAME bound ARM`.",
    )]  # fmt: skip
    maximum: Annotated[Shares | None, Setting(
        help="The largest shares, by arm.", option="max", part_of="arms", group="arms", example={"search": 0.8},
        details="`--max search=50%`, as `minimum`. Later: `apportion arms NAME bound ARM`.",
    )]  # fmt: skip
    pinned: Annotated[Shares | None, Setting(
        help="Fixed shares, by arm.", option="pin", part_of="arms", group="arms",
        details="`--pin video=10%`. The same as an equal minimum and maximum.",
    )]  # fmt: skip
    seed: Annotated[int | None, Setting(
        help="The seed of everything that is drawn: the same seed and outcomes give the same splits.",
        group="decision", label="Seed", noun="the seed", without="drawn", example=7, low=0,
    )]  # fmt: skip


class ChangedSettings(_ChangedBudget, _Changeable):
    """What `Campaign.change` takes."""


class NewSettings(_RequiredBudget, _Changeable, _Fixed):
    """What `Campaign.create` takes, besides name, arms and where the campaign is kept."""


class Settings(NamedTuple):
    """What a campaign is run by, besides its arms, as of now: the settings of `SETTINGS` as they are kept."""

    budget: float
    unit: str | None
    outcome_unit: str | None
    every: Every | None
    step: float | None
    minimise: bool
    policy: str
    parameters: dict[str, Any]
    """Those of the policy."""
    b: float
    """What is learned so far, where nobody gave it and the policy learns; so is σ."""
    c: float
    sigma: NumberOrPerArm | None
    horizon: int | None
    growth: float | None
    change: float | None
    rules: tuple[str, ...]
    seed: int
    assumed: tuple[str, ...]
    """Which of these were not given by anyone."""
    half_life: float | None
    window: int | None
    robust: bool
    level: float


_KINDS: dict[Any, Kind] = {
    (float,): "number", (float, PerArm): "per_arm", (int,): "whole", (bool,): "flag", (str,): "text",
    (Texts,): "texts", (Shares,): "shares",
}  # fmt: skip


def declared(new: Any = NewSettings, changed: Any = ChangedSettings) -> dict[str, Setting]:
    """The table of the settings that two TypedDicts declare, group by group."""
    found = {}
    for name, annotation in new.__annotations__.items():
        typed, setting = get_args(annotation)
        alternatives = tuple(each for each in get_args(typed) if each is not type(None))
        nullable = type(None) in get_args(typed)
        picked = alternatives[0] if nullable and len(alternatives) == 1 else typed
        between = get_args(picked) if get_origin(picked) is Literal else ()
        found[name] = dataclasses.replace(
            setting,
            name=name,
            noun=setting.noun or f"the {name.replace('_', ' ')}",
            kind="choice" if between else _KINDS.get(alternatives if nullable else (typed,), "policy"),
            options=between,
            nullable=nullable,
            required=name in new.__required_keys__,
            changeable=name in changed.__annotations__,
        )
    order = list(GROUPS)
    return dict(sorted(found.items(), key=lambda item: order.index(item[1].group)))


SETTINGS = declared()
"""All settings that a campaign can begin with, by name."""

CHANGEABLE = {name: setting for name, setting in SETTINGS.items() if setting.changeable}
"""Those that can be changed later."""

RECOUNTS = tuple(name for name, setting in SETTINGS.items() if setting.recounts)
"""Those whose change counts all outcomes again."""

Function = TypeVar("Function", bound=Callable[..., Any])


def takes_new_settings(function: Function) -> Function:
    """Show and hold a function with `**settings: Unpack[NewSettings]` to the whole signature, setting by setting."""
    own = inspect.signature(function)
    plain = [each for each in own.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
    options = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation.__origin__,
            default=inspect.Parameter.empty if SETTINGS[name].required else SETTINGS[name].default,
        )
        for name, annotation in NewSettings.__annotations__.items()
    ]  # fmt: skip
    signature = own.replace(parameters=[*plain, *options])

    @functools.wraps(function)
    def held(*args: Any, **kwargs: Any) -> Any:
        signature.bind(*args, **kwargs)  # a TypeError for a name that is unknown or missing
        return function(*args, **kwargs)

    held.__signature__ = signature  # type: ignore[attr-defined]
    return cast(Function, held)


def with_defaults(given: Mapping[str, Any]) -> dict[str, Any]:
    """Settings to begin with: as given, checked one by one, and by default where they were left out."""
    return {name: setting.check(given.get(name, setting.default)) for name, setting in SETTINGS.items()}
