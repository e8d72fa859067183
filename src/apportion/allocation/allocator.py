"""Ask and tell, by arm name, in memory: the door through which a real budget meets a policy."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self, cast

import numpy as np

from apportion._common import optional, validation
from apportion.allocation import allocator_state
from apportion.allocation.account import Account
from apportion.allocation.allocator_state import ReadTickets
from apportion.allocation.allowed import Allowed
from apportion.allocation.arms import Arm, Arms
from apportion.allocation.beliefs import Beliefs
from apportion.allocation.believing import Believing
from apportion.allocation.decision import Decision
from apportion.allocation.limits import Limits
from apportion.allocation.noise_levels import GivenSigma, NoiseLevels, Sigma, sigma_by_name
from apportion.allocation.outcomes import Amounts, Outcomes
from apportion.allocation.past import HeldLaw, Past, exponents_of, past_for
from apportion.allocation.policy_at_work import PolicyAtWork, placed
from apportion.allocation.rules import Rules
from apportion.allocation.saved_state import fresh_seed
from apportion.allocation.split import Split
from apportion.allocation.tickets import Tickets, TicketStore
from apportion.inference.learned import Learned
from apportion.inference.past import LearnedPast
from apportion.model.sums import MANY_ARMS, Floats
from apportion.model.trimmed_mean import Groups, window_of
from apportion.policies import Policy


class Allocator:
    """Splits a budget by a policy, and learns from what comes back.

    `ask` gives a split with a ticket; `tell` records outcomes by ticket and arm name, in parts, late and
    in any order. The same outcome twice is harmless; a different one is refused (`amend` corrects). Bad input
    gets an error and changes nothing.

    - `b` and `sigma` default to the policy's. Without a σ the intervals and the probabilities of being best are
      unknown; `Auto` learns both, and `learned` says what. `sigma` is one number, or one per arm: by name, or in
      the order of the arms.
    - `c`: returns grow as amount^c; the policy's by default, or 1, in proportion to the amount.
    - `horizon`: how many periods there will be, for policies that want to know.
    - `minimum`, `maximum`, `pinned`: shares by arm name. `whole`: amounts are whole units; `step`: multiples
      of it. Without a step amounts are what the shares say, to the last bit; with a `resolution` (0.01 for cents,
      0 for none) they are such as can be spent (`apportion.allocation.spendable`).
    - `growth`: an arm gets at most so many times the largest amount that ever brought an outcome, and always up to an
      even share; `change`: no share moves by more than this in one period. Both give way where the bounds leave no
      split (`apportion.allocation.limits`).
    - `rules`: what several arms get together, in words (`apportion.allocation.rule`): "social + video <= 40%",
      "north >= 500", "social = video", "change of social + video <= 10%".
    - `half_life`: how many periods until an outcome counts half, for returns that drift; or `window`: how many
      periods count at all.
    - `robust`: a few outliers must not decide: a trimmed mean takes the place of the mean.
    - `level`: of the intervals in `beliefs`.
    - `minimise`: outcomes are costs; the arm with the smallest per unit is the best.
    - `tickets`: where they are held; in memory by default, all open ones and the last of the completed.

    >>> from apportion import Odds
    >>> allocator = Allocator(Odds(b=0.75), arms=("search", "social"), minimum={"social": 0.1}, seed=7)
    >>> split = allocator.ask(budget=100)
    >>> dict(split.amounts)
    {'search': 50.0, 'social': 50.0}
    >>> allocator.tell(split.ticket, {"search": 60.0})     # the other outcome may come later
    >>> allocator.beliefs()["search"].mean
    1.2
    """

    def __init__(
        self,
        policy: Policy,
        arms: Iterable[str],
        *,
        seed: int | None = None,
        b: float | None = None,
        sigma: GivenSigma | None = None,
        c: float | None = None,
        horizon: int | None = None,
        minimum: Mapping[str, float] | None = None,
        maximum: Mapping[str, float] | None = None,
        pinned: Mapping[str, float] | None = None,
        whole: bool = False,
        step: float | None = None,
        resolution: float | None = None,
        growth: float | None = None,
        change: float | None = None,
        rules: Iterable[str] = (),
        half_life: float | None = None,
        window: int | None = None,
        robust: bool = False,
        level: float = 0.95,
        minimise: bool = False,
        tickets: TicketStore | None = None,
    ) -> None:
        if not isinstance(policy, Policy):
            raise validation.refuse("policy", "a policy such as apportion.Odds(b=0.75)", policy)
        horizon = None if horizon is None else validation.whole("horizon", horizon, low=1)
        level = validation.number("level", level, above=0.0, below=1.0)
        minimise = validation.flag("minimise", minimise)
        if validation.flag("whole", whole) and step is not None:
            raise validation.refuse("step", "left out where `whole` is True", step)
        step = 1.0 if whole else None if step is None else validation.number("step", step, low=0.0)
        resolution = None if resolution is None else validation.number("resolution", resolution, low=0.0)
        self.seed = fresh_seed() if seed is None else validation.whole("seed", seed, low=0)
        known = Arms(arms, minimum, maximum, pinned)
        count = _plain_or_fast(len(known.names))
        kept: TicketStore = Tickets() if tickets is None else tickets
        self._allowed = Allowed(
            known, Limits(count, growth, change), Rules(rules, known.names), kept, step, resolution
        )  # fmt: skip
        levels = sigma_by_name(getattr(policy, "sigma", None) if sigma is None else sigma, known.names)
        past = past_for(policy, count, b=b, c=c, half_life=half_life, window=window, robust=robust)
        self._account = Account(past, kept, minimise)
        self._work = PolicyAtWork(policy, count, horizon, self.seed)
        self._believing = Believing(self._account, self._work, levels, level, count)
        self._believing.give_sigma(known.names)
        # A policy that lacks something, a horizon say, is refused now and not at the first ask.
        self.prepare()

    # What is known of the set-up

    @property
    def policy(self) -> Policy:
        """What decides; a σ per arm that was given to it grows with the arms."""
        return self._work.policy

    @property
    def horizon(self) -> int | None:
        """How many periods there will be; None: not known."""
        return self._work.horizon

    @property
    def sigma(self) -> Sigma | None:
        """One number, or one per arm by name; None: not known."""
        return self._believing.sigma

    @property
    def level(self) -> float:
        """The level of the intervals in `beliefs`."""
        return self._believing.level

    @property
    def minimise(self) -> bool:
        """Whether outcomes are costs."""
        return self._account.minimise

    @property
    def arms(self) -> tuple[str, ...]:
        """The names of all arms that were not removed."""
        return self._arms.present

    @property
    def all_arms(self) -> tuple[Arm, ...]:
        """Every arm there ever was, with its state and bounds, in order of arrival."""
        return self._arms.all

    @property
    def indices(self) -> Mapping[str, int]:
        """Where each arm stands in the amounts and outcomes of a ticket, removed ones too, by name."""
        return self._arms.indices

    @property
    def b(self) -> float:
        """The exponent that sums are taken at; what is learned of it so far where the policy learns."""
        found = self.learned
        return cast("float", self._past.b) if found is None else found.b

    @property
    def given_b(self) -> float | None:
        """The exponent that was given or assumed; None where it is learned."""
        return exponents_of(self._past)[0]

    @property
    def c(self) -> float:
        """Returns grow as amount^c: the exponent that sums are taken at, or what is learned of it so far."""
        found = self.learned
        return cast("float", self._past.c) if found is None else found.c

    @property
    def given_c(self) -> float | None:
        """The exponent of the returns that was given or assumed; None where it is learned."""
        return exponents_of(self._past)[1]

    @property
    def learns(self) -> bool:
        """Whether the policy learns the law from the outcomes."""
        return self._work.learns

    @property
    def learned(self) -> Learned | None:
        """What the outcomes say about the law and how the world moves; None for a policy that does not learn it."""
        return self._believing.learned(self._past.sums(), self._arms.names) if self.learns else None

    @property
    def half_life(self) -> float | None:
        """Periods until an outcome counts half; None: it never fades."""
        return self._past.half_life

    @property
    def window(self) -> int | None:
        """How many periods count; None: all."""
        return None if isinstance(self._past, LearnedPast) else window_of(self._past)

    @property
    def robust(self) -> bool:
        """Whether outliers are trimmed."""
        return isinstance(self._past, Groups)

    @property
    def growth(self) -> float | None:
        """How many times the largest amount tried an arm may get; None: any amount."""
        return self._allowed.limits.growth

    @property
    def change(self) -> float | None:
        """How far a share may move in one period; None: as far as the policy wants."""
        return self._allowed.limits.change

    @property
    def rules(self) -> tuple[str, ...]:
        """What several arms get together, as it is kept."""
        return self._allowed.rules.texts

    @property
    def step(self) -> float | None:
        """What amounts are multiples of; 0: any amount; None: nobody said."""
        return self._allowed.step

    @property
    def resolution(self) -> float | None:
        """What amounts can be spent to where there is no step (0.01: to the cent); None: to the last bit."""
        return self._allowed.resolution

    @property
    def period(self) -> int:
        """How many splits were asked for."""
        return self._past.period

    @property
    def open_tickets(self) -> tuple[int, ...]:
        """The tickets with outcomes still to come."""
        return self._account.tickets.open

    # Ask and tell

    def ask(self, budget: float = 1.0) -> Split:
        """The next split of `budget`, with a ticket to tell its outcomes by."""
        past = self._past.sums()
        decision = self._decide(budget, past)
        split = self._explained(decision, past)
        self.commit(decision)
        return split

    def decide(self, budget: float = 1.0) -> Decision:
        """What `ask` would give now; nothing is changed until `commit` takes the decision in."""
        return self._decide(budget, self._past.sums())

    def hold_law(self) -> None:
        """Keep what was learned of the law as it is, and follow only the returns: for simulations from here on."""
        if isinstance(self._past, LearnedPast):
            self._account.past = HeldLaw.of(self._past)

    def explain(self, decision: Decision) -> Split:
        """The split of a decision, with the beliefs and reasons of today: ask before `commit`."""
        return self._explained(decision, self._past.sums())

    def _explained(self, decision: Decision, past: Any) -> Split:
        beliefs = self._believe(decision.arms, past, decision.indices, amounts=decision.amounts)
        return Split(decision, self.policy, beliefs, *self._allowed.effects(decision))

    def require_split(self, budget: float | None = None) -> None:
        """`Infeasible` where no split keeps the rules: of this budget, or of any where they name no amounts."""
        self._allowed.require_split(budget)

    def commit(self, decision: Decision) -> int:
        """Take a decision in, whatever the policy would say today; its ticket."""
        self._work.take_in(decision)
        amounts, shares = decision.amounts, decision.shares
        if decision.indices is not None:
            nothing = np.zeros(len(decision.memory))
            amounts, shares = (placed(values, decision.indices, nothing) for values in (amounts, shares))
        self._allowed.limits.split(shares)
        return self._account.issue(amounts)

    def decision_from(self, payload: Mapping[str, Any]) -> Decision:
        """The decision that `Decision.to_payload` wrote when it was the next, as it is now."""
        return Decision.from_payload(payload, self.period + 1, self._arms, self._work.memory)

    def _decide(self, budget: float, past: Any) -> Decision:
        return self._work.decide(budget, self.period + 1, past, self._allowed, self._believe)

    def tell(
        self, ticket: int, outcomes: Outcomes, amounts: Amounts | None = None, *, provisional: bool = False
    ) -> None:
        """Record outcomes: by ticket and arm name, in parts, late, in any order.

        An outcome of None means that none will come ("no data"). `amounts` are what was really spent where
        that differs from the advice; the statistics use those. Telling the same again changes nothing;
        telling something else is a `Conflict`. A pandas Series will do in place of a dict.

        What is `provisional` is a total so far: it counts as it is, and telling that arm again replaces it exactly,
        until it is told without this. The ticket stays open until then.
        """
        self._account.tell(ticket, outcomes, amounts, provisional, self._allowed)

    def amend(self, ticket: int, outcomes: Outcomes, amounts: Amounts | None = None) -> None:
        """Correct recorded outcomes, or the `amounts` they came from: the old are taken back exactly."""
        self._account.amend(ticket, outcomes, amounts, self._allowed)

    def cancel(self, ticket: int) -> None:
        """Take a split back, with what was told of it: as if nothing had been spent. Its number stays taken.

        The period counts as one in which nothing was done. What the policy remembers of it, and the numbers that were
        drawn for it, stay.
        """
        self._account.cancel(ticket, self._allowed)

    def beliefs(self) -> Beliefs:
        """What is believed about every arm that was not removed."""
        indices, amounts = self._arms.remaining, None
        if self.c < 1.0 and self.period:  # what the next unit returns depends on those before it
            last = self._account.last_amounts()
            amounts = last if indices is None else last[indices]
        return self._believe(self._arms.present, self._past.sums(), indices, self._arms.in_play, amounts)

    def _believe(
        self, names: Sequence[str], past: Any, indices: Any, in_play: Any = None, amounts: Floats | None = None
    ) -> Beliefs:
        return self._believing.beliefs(names, past, indices, self._arms.names, in_play, amounts)

    # The arms

    def add_arm(self, name: str, minimum: float = 0.0, maximum: float = 1.0, sigma: float | None = None) -> None:
        """A new arm, or one that was removed, with all that was learned about it and the bounds given here.

        Where every arm has a σ of its own a new one needs its `sigma`; one that comes back keeps its own without.
        """
        arms = self._arms.with_arm(name, minimum, maximum)
        allowed = self._allowed.with_arms(arms, self._allowed.rules.with_arm(name, arms.names))
        count = _plain_or_fast(len(arms.names))
        levels = NoiseLevels(self.policy, self.sigma).with_arm(name, arms.index(name), sigma, count > self._past.arms)
        if count > self._past.arms:
            # A policy made for so many arms and no more refuses here, before anything has changed.
            self._work.add_arm(levels.policy)
            self._past.add_arms()
            self._allowed.limits.add_arm()
        self._work.policy, self._believing.sigma = levels
        self._allowed = allowed
        self._work.prepare_anew()
        self._believing.give_sigma(self._arms.names)

    def pause_arm(self, name: str) -> None:
        """Give the arm nothing until it is resumed."""
        self._set_arms(self._arms.with_change(name, state="paused"))

    def resume_arm(self, name: str) -> None:
        """Take a paused arm back into the splits."""
        self._set_arms(self._arms.with_change(name, state="active"))

    def remove_arm(self, name: str) -> None:
        """Take the arm away. Outcomes of open tickets still count; `add_arm` brings it back, nothing forgotten."""
        self._set_arms(self._arms.with_change(name, state="removed"))

    def bound_arm(self, name: str, minimum: float | None = None, maximum: float | None = None) -> None:
        """Set the smallest and largest share of an arm; the same minimum and maximum fixes it."""
        self._set_arms(self._arms.with_change(name, minimum=minimum, maximum=maximum))

    def _set_arms(self, arms: Arms) -> None:
        self._allowed = self._allowed.with_arms(arms)
        self._work.prepare_anew()

    # Changed settings

    @property
    def exponents(self) -> tuple[Any, Any]:
        """What the sums are taken at: one b and c, or the grid of a policy that learns them."""
        return self._past.b, self._past.c

    def set_option(self, name: str, value: Any) -> None:
        """Another sigma, level, step, resolution, horizon, growth, change or rules, checked by the caller."""
        if name in ("rules", "growth", "change", "step", "resolution"):
            self._allowed.set_option(name, value)
        elif name == "horizon":
            self._work.horizon = value
        elif name == "sigma":
            self._believing.sigma = self._levels(value)
        else:
            self._believing.level = value
        self._work.prepare_anew()

    def replace_policy(self, policy: Policy) -> None:
        """Go on with another policy and all that is known. Its exponents may ask for `recount`."""
        self._work.replace(policy)
        if self.learns or self.sigma is None:  # an assumed σ must not stand in the way of learning it
            self._believing.sigma = self._levels(getattr(policy, "sigma", None))
        self._believing.give_sigma(self._arms.names)

    def recount(
        self, b: float | None, c: float | None, *, half_life: float | None, window: int | None, robust: bool
    ) -> None:
        """Count all outcomes again, for another b, c or memory. The tickets must all be at hand, as in a campaign."""
        options: Any = {"half_life": half_life, "window": window, "robust": robust}
        past = past_for(self.policy, self._past.arms, b=b, c=c, **options)
        self._account.recount(past)
        self._believing.give_sigma(self._arms.names)

    def prepare(self) -> None:
        """Refuse now, and not at the next ask, what the policy cannot run with."""
        self._work.prepared(None)

    # State

    def to_json(self) -> str:
        """Everything, the generator's position included: `from_json` goes on exactly as this one would."""
        return allocator_state.to_json(self)

    @classmethod
    def from_json(cls, text: str, tickets: ReadTickets = Tickets.from_dict) -> Self:
        """The allocator that `to_json` wrote; `IncompatibleState` where it was not, or was damaged since."""
        return allocator_state.from_json(cls, text, tickets)

    # Helpers

    @property
    def _arms(self) -> Arms:
        return self._allowed.arms

    @property
    def _past(self) -> Past:
        return self._account.past

    def _levels(self, sigma: Any) -> Sigma | None:
        """σ as it is kept: one, or by name."""
        return sigma_by_name(sigma, self._arms.names)


def _plain_or_fast(count: int) -> int:
    """So many arms; refused, before anything has changed, where plain Python is too slow and Numba is missing."""
    if count >= MANY_ARMS:
        optional.require("fast", f"A split over {MANY_ARMS} arms or more ({count} are given)")
    return count
