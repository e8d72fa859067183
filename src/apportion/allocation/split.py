"""A split: what each arm gets this period, and why."""

import functools
import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, Self

import numpy as np

from apportion._common.formatting import Table, chance, one_of, percent, readable
from apportion.allocation.beliefs import Beliefs, interval, per_unit
from apportion.allocation.decision import Decision
from apportion.allocation.limits import ROUNDING, LimitedShares
from apportion.allocation.rule import Rule
from apportion.model.response import best_shares
from apportion.model.sums import Floats
from apportion.policies.contract import Policy

# An arm that does not lead and is given at least the first share is being tested; below the second it is watched.
TESTED_SHARE = 0.5
WATCHED_SHARE = 0.02
# A leader that is wanted less than this part of an even share must say why.
LITTLE_SHARE = 0.9
# An arm that is less likely the best than this is not worth a closer look, whatever share it gets.
UNLIKELY = 0.01
# A share that was moved by less than this is not worth a word, where words are few.
SMALL_MOVE = 0.01
# A longer rule is named by the arms that it holds, and not by all others again.
LONGEST_RULE = 40
NOT_ADVISED = "Imported: it was spent so, without advice."
# Returns that differ by less than this part are about the same.
_ALIKE = 0.02
# An arm with at least this chance of being the best that is wanted half as much as that says must say why; a small
# amount is enough where it tells at least this part of what the whole budget would.
_RIVAL, _TELLS_ENOUGH = 0.1, 0.25
# Where arms have curves of their own, so far, the common law does not say what would look best.
_OWN_CURVES = 0.1


class RulePull(NamedTuple):
    """A rule that moved shares, and how hard it pulled at each arm of the split: up above 0, down below."""

    shown: str
    effect: Floats

    @classmethod
    def of(cls, rule: Rule, pull: float, arms: Sequence[str]) -> Self:
        """The pull of a rule at these arms."""
        terms = np.array([rule.terms.get(name, 0.0) for name in arms])
        return cls(rule.brief, pull * terms / max(float(np.abs(terms).max()), 1e-300))


class Why(NamedTuple):
    """Why an arm gets its share: with the figures, and without those that stand beside it in a table."""

    whole: str
    brief: str

    @classmethod
    def of(cls, figures: str, verdict: str, ending: str = "") -> Self:
        """'0.9 per EUR, 0.2 behind search: worth a closer look.' and 'Worth a closer look.'"""
        whole = f"{figures}: {verdict}." if verdict else f"{figures}."
        brief = f"{verdict[:1].upper()}{verdict[1:]}." if verdict else ""
        return cls(whole + ending, (brief + ending).strip())


class Split(Table):
    """The answer to `ask`: a ticket, and by arm name the share, the amount and the reason.

    `marginal`, where returns diminish, is what the next unit on an arm would return at its amount (`Beliefs`).
    Amounts add up to the budget exactly. With whole units the amounts are rounded at random around
    share · budget, so that small shares are not rounded away for ever.
    """

    percent_columns = ("share",)

    date: str | None = None
    """The date of the period, in a campaign."""
    unit: str | None = None
    """What the budget is counted in, in a campaign."""
    advised: bool = True
    """Whether it was advice; an imported history was spent without any."""

    def __init__(
        self,
        decision: Decision,
        policy: Policy,
        beliefs: Beliefs,
        limited: LimitedShares | None = None,
        pulls: tuple[RulePull, ...] = (),
    ) -> None:
        self.ticket = decision.period
        self.budget = decision.budget
        self.unspent: tuple[int, ...] = ()
        """Earlier tickets of a campaign that nothing was recorded of when this one was issued."""
        self.beliefs = beliefs
        """What was believed when the split was made."""
        self.most_sure = beliefs.most_sure
        """The largest chance that reasons tell: of a campaign whose data are in doubt, less."""
        self._decision = decision
        self._policy = policy
        self._pulls = pulls
        self._limited = limited

    def __getstate__(self) -> dict[str, Any]:
        # What is worked out on demand stays behind: it cannot be pickled, and is worked out again.
        return {name: value for name, value in vars(self).items() if not isinstance(value, MappingProxyType)}

    @functools.cached_property
    def shares(self) -> Mapping[str, float]:
        """The share of each arm, adding up to 1."""
        return MappingProxyType(dict(zip(self._decision.arms, self._decision.shares.tolist())))

    @functools.cached_property
    def amounts(self) -> Mapping[str, float]:
        """The amount of each arm, adding up to the budget exactly."""
        return MappingProxyType(dict(zip(self._decision.arms, self._decision.amounts.tolist())))

    @property
    def _shown_shares(self) -> Floats:
        """The shares, with 0 where rounding left nothing."""
        return np.where(self._decision.amounts > 0.0, self._decision.shares, 0.0)

    @property
    def reasons(self) -> Mapping[str, str]:
        """Why each arm got its share, in plain words."""
        return MappingProxyType({name: why.whole for name, why in self._whys.items()})

    @property
    def brief_reasons(self) -> Mapping[str, str]:
        """The same without the figures: for where these stand beside it."""
        return MappingProxyType({name: why.brief for name, why in self._whys.items()})

    @functools.cached_property
    def _whys(self) -> Mapping[str, Why]:
        remembered = zip(self._decision.arms, self._decision.arms_memory.tolist())
        return MappingProxyType({name: self._why(at, memory) for at, (name, memory) in enumerate(remembered)})

    def _why(self, index: int, memory: float) -> Why:
        if not self.advised:
            return Why(NOT_ADVISED, NOT_ADVISED)
        own = self._policy.why(memory)
        why = Why(own, own) if own else self._why_from_belief(index)
        share, wanted = float(self._decision.shares[index]), float(self._decision.wanted[index])
        if percent(share) == percent(wanted):
            return why
        moved = self._moved(index, share, wanted)
        little = abs(share - wanted) < SMALL_MOVE and why.brief
        return Why(f"{why.whole} {moved}", why.brief if little else f"{why.brief} {moved}".strip())

    def _moved(self, index: int, share: float, wanted: float) -> str:
        """Why an arm got another share than the policy wanted."""
        up = share > wanted
        moved, limited = f"{'Raised' if up else 'Lowered'} from {percent(wanted)}", self._limited

        def at(ends: tuple[Any, Any]) -> bool:
            low, high = ends
            return bool(share <= low[index] + ROUNDING if up else share >= high[index] - ROUNDING)

        held = limited is not None and limited.hold(self._decision.shares)
        sign = 1.0 if up else -1.0
        own = max(self._pulls, key=lambda pull: sign * float(pull.effect[index]), default=None)
        own = own if own is not None and sign * float(own.effect[index]) > 0.0 else None
        if limited is not None and (held or self._pulls):
            if at(limited.bounds):
                return f"{moved} by the bounds."
            if limited.growth is not None and not up and share >= limited.capped[index] - ROUNDING:
                return f"{moved}{self._held(share, limited.growth, float(limited.largest[index]), own)}"
            if limited.change is not None and at((limited.low, limited.high)):
                return f"{moved}: a share moves by at most {percent(limited.change)} of the budget this time."
        if own is not None:
            return f"Would get {percent(wanted)}: {'raised' if up else 'limited'} by {own.shown}."
        if self._pulls:
            strongest = max(self._pulls, key=lambda pull: float((-sign * pull.effect).max()))
            rule = strongest.shown if len(strongest.shown) <= LONGEST_RULE else "a rule"
            return f"{moved}, as others are held by {rule}."
        return f"{moved}, as {self._most_held(sign)}." if held else f"{moved} by the bounds."

    def _most_held(self, sign: float) -> str:
        """The arm whose limit moved the others most, in words: its own reason says which one that is."""
        moved = sign * (self._decision.wanted - self._decision.shares)
        name = self._decision.arms[int(moved.argmax())]
        return f"{name} is held back" if sign > 0.0 else f"{name} has to get more"

    def _held(self, share: float, growth: float, largest: float, rule: RulePull | None) -> str:
        """The limit on growth in words, for an arm that it holds; a rule may hold it, too."""
        even = 1.0 / len(self._decision.arms)
        times = "twice" if growth == 2.0 else f"{growth:g} times"
        most = f"{times} the most it ever got ({self._money(largest)})"
        if share > max(growth * largest / self.budget, even) + ROUNDING:
            return f"; more than {most}, as the bounds leave no other way."
        if largest == 0.0:
            return ": held at an even share until it has an outcome."
        also = "" if rule is None else f", and by {rule.shown}"
        if growth * largest <= even * self.budget:
            return f": held at an even share, as it never got more than {self._money(largest)}{also}."
        return f": held at {most}{also or '; more next period if it keeps up'}."

    def _money(self, amount: float) -> str:
        return f"{readable(amount)} {self.unit}" if self.unit else readable(amount)

    def _why_from_belief(self, index: int) -> Why:
        belief, leader = self.beliefs.at(index), self.beliefs.leader
        # A share of which rounding left nothing this time is none to a reader.
        name, share = self._decision.arms[index], float(self._shown_shares[index])
        if leader is None:
            return Why.of("No outcomes yet", "all arms start alike" if share > 0 else "another arm goes first")
        if math.isnan(belief.mean):
            return Why.of("No outcome yet", "it gets a share to be tried" if share > 0 else "not its turn")
        if self.beliefs.c < 1.0 and share > 0.0:
            return self._why_where_returns_diminish(index, name == leader)
        probability = belief.probability_best
        best = "" if math.isnan(probability) else f", {chance(probability, self.most_sure)} likely to be the best"
        first, of = self.beliefs[leader], f"per {one_of(self.unit)}"
        if self.beliefs.c < 1.0:  # arms are compared at one amount
            even = self.budget / len(self._decision.arms)
            belief, first = (per_unit(each, even, self.beliefs.c) for each in (belief, first))
            of += " at an even share"
        if name == leader:
            ending = self._little_for_leader(index) or self._much_for_leader(index)
            return Why(f"Leads with {interval(belief)} {of}{best}.{ending}", f"Leads.{ending}")
        behind = abs(first.mean - belief.mean)
        level = behind < _ALIKE * abs(first.mean)
        against = "about level with" if level else f"{readable(behind)} behind"
        return Why.of(f"{interval(belief)} {of}, {against} {leader}{best}", self._verdict(index, share))

    def _verdict(self, index: int, share: float) -> str:
        """What the share of an arm that does not lead is for."""
        if share == 0.0:
            return "nothing this time"
        wanted = float(self._decision.wanted[index])  # what bounds made of it is no opinion of the policy's
        if wanted >= TESTED_SHARE:
            return "testing this one again"
        if percent(share) == percent(wanted) and self._little_is_enough(index):
            tells = (
                f"{percent(wanted)} of the budget tells about {self._tells(wanted):.0%} as much about it as all would"
            )
            return f"{tells}, enough to keep testing it"
        if wanted < WATCHED_SHARE:
            return "a small amount keeps testing it" if share < WATCHED_SHARE else ""
        return "kept in to be sure" if self.beliefs.at(index).probability_best < UNLIKELY else "worth a closer look"

    def _tells(self, share: float) -> float:
        """The information of a share a, as a part of that of the whole budget: a^(2−2b); NaN where b is not known."""
        learned = self.beliefs.learned
        b = getattr(self._policy, "b", None) if learned is None else learned.b
        return math.nan if b is None or share <= 0.0 else float(share ** (2.0 - 2.0 * b))

    def _little_is_enough(self, index: int) -> bool:
        """Whether an arm that may well be the best gets little, as little tells nearly as much as all."""
        wanted, probability = float(self._decision.wanted[index]), self.beliefs.at(index).probability_best
        return (
            self.beliefs.c == 1.0
            and probability >= _RIVAL
            and wanted < 0.5 * probability
            and self._tells(wanted) >= _TELLS_ENOUGH
        )

    def _much_for_leader(self, index: int) -> str:
        """Why the leader gets much more than it is likely to be the best; nothing where it does not."""
        others = (at for at in range(len(self._decision.arms)) if at != index)
        if not any(self._little_is_enough(at) for at in others):
            return ""
        return " It gets most of the budget, as small amounts are enough to go on comparing the others with it."

    def _why_where_returns_diminish(self, index: int, leads: bool) -> Why:
        """What comes back per unit, and for the next one: in the best split that is the same everywhere.

        What looks best is that of the law as it is known; a policy gives more to what it still has to learn about.
        """
        belief, unit = self.beliefs.at(index), one_of(self.unit)
        costs = self.beliefs.minimise
        own = interval(per_unit(belief, float(self._decision.amounts[index]), self.beliefs.c))
        leads = leads and not np.isnan(self.beliefs.mean).any()
        lead = f" {'Costs least' if costs else 'Returns most'} for the same amount." if leads else ""
        following = f"the next {unit} {'costs' if costs else 'returns'}"
        text = f"{own} per {unit} at this amount; {following} {readable(belief.marginal)}"

        def why(against: str, purpose: str = "") -> Why:
            whole = f"{text}{against and ', '}{against}{purpose and ': '}{purpose}.{lead}"
            brief = purpose or f"{following} {against or readable(belief.marginal)}"
            return Why(whole, f"{brief[:1].upper()}{brief[1:]}.{lead}")

        if self._marginal_at_best is None:
            return why("")
        wanted = float(self._decision.wanted[index])
        less, more = 1.0 - _ALIKE, 1.0 + _ALIKE
        given = belief.marginal / self._marginal_at_best
        asked = self._marginal(index, wanted) / self._marginal_at_best if wanted > 0.0 else math.inf
        if less <= given <= more:
            return why("about as much as elsewhere")
        if given < less and asked < less:
            purpose = (
                "a small amount keeps testing it" if wanted < WATCHED_SHARE else "more than looks best, as a test"
            )
            return why("less than elsewhere", purpose)
        if given > more and asked > more:
            return why("more than elsewhere", "less than looks best, while others are tested")
        return why(f"{'less' if given < less else 'more'} than elsewhere")

    @functools.cached_property
    def _marginal_at_best(self) -> float | None:
        """What the next unit returns in the split that looks best, without bounds; None where the law says none.

        Costs that diminish are least on one arm alone.
        """
        means, own = self.beliefs.mean, self.beliefs.learned
        curved = own is not None and own.curved >= _OWN_CURVES
        if self.beliefs.minimise or curved or np.isnan(means).any() or not (means > 0.0).any():
            return None
        shares = np.empty(len(means))
        best_shares(means, self.beliefs.c, shares)
        most = int(shares.argmax())
        return self._marginal(most, float(shares[most]))

    def _marginal(self, index: int, share: float) -> float:
        """c·μ·x^(c−1) at that share of the budget."""
        c = self.beliefs.c
        return float(c * self.beliefs.mean[index] * (share * self.budget) ** (c - 1.0))

    def _little_for_leader(self, index: int) -> str:
        """Why the arm with the best results so far is wanted less than an even share; nothing where it is not."""
        wanted, arms = self._decision.wanted, len(self._decision.arms)
        if arms == 1 or float(wanted[index]) >= LITTLE_SHARE / arms:
            return ""
        most = int(wanted.argmax())
        if float(wanted[most]) >= TESTED_SHARE:
            return f" It gets little this time, as {self._decision.arms[most]} is being tested."
        spent = [self.beliefs.at(at).resource for at in range(arms)]
        if spent[index] < sum(spent) / arms:
            return (
                f" It gets little so far, as only {self._money(spent[index])} stands behind that: too few to trust."
            )
        return " It gets little this time, as the others are still being compared with it."

    @property
    def unspent_sentence(self) -> str:
        """That earlier splits were not spent, and what to do; nothing where there are none."""
        if not self.unspent:
            return ""
        one, names = len(self.unspent) == 1, ", ".join(map(str, self.unspent))
        waits = f"Ticket {names} has no results yet" if one else f"Tickets {names} have no results yet"
        return f"{waits}: if this split takes {'its' if one else 'their'} place, cancel {'it' if one else 'them'}."

    @property
    def title(self) -> str:  # type: ignore[override]
        """Which split this is."""
        return f"Split {self.ticket}: {readable(self.budget)} over {len(self._decision.arms)} arms"

    @property
    def note(self) -> str:  # type: ignore[override]
        """What the policy does."""
        rule = (self.beliefs.c < 1.0 and self._policy.bent_rule) or self._policy.rule
        rule = f"{type(self._policy).__name__} {rule}." if rule else ""
        learned = self.beliefs.learned
        return rule if learned is None else f"{rule} {learned.sentence}".strip()

    def columns(self) -> dict[str, Sequence[Any]]:
        """One row per arm."""
        marginal = {} if self.beliefs.c == 1.0 else {"marginal": self.beliefs.marginal.tolist()}
        return {
            "arm": list(self._decision.arms),
            "amount": self._decision.amounts.tolist(),
            "share": self._shown_shares.tolist(),
            **marginal,
            "why": list(self.reasons.values()),
        }
