"""How an allocator comes to its beliefs: at the given b and σ, or at what all arms together tell of these."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from apportion.allocation.account import Account
from apportion.allocation.beliefs import Beliefs
from apportion.allocation.noise_levels import Sigma, per_arm
from apportion.allocation.policy_at_work import PolicyAtWork
from apportion.inference.knowledge import Knowledge, knowledge
from apportion.inference.learned import Learned, learned, sums_for
from apportion.inference.past import LearnedPast
from apportion.model.confidence import anytime_rho
from apportion.model.sums import Floats

# The anytime interval is narrowest at about this many periods of even shares; it holds at any other time too.
_TUNED_FOR_PERIODS = 20.0


class Believing:
    """Makes beliefs of the sums of an account, with the `sigma` that was given (None: not known).

    Its methods take in `arms` the names of all arms there ever were, in the order of the sums.
    """

    def __init__(self, account: Account, work: PolicyAtWork, sigma: Sigma | None, level: float, count: int) -> None:
        self._account, self._work = account, work
        self.sigma, self.level, self.even_share = sigma, level, 1.0 / count
        self._last: tuple[Knowledge, bool, Learned] | None = None

    def give_sigma(self, arms: Sequence[str]) -> None:
        """Tell a past that learns which σ_i are given."""
        if isinstance(self._account.past, LearnedPast):
            self._account.past.give_sigma(np.nan_to_num(per_arm(self.sigma, arms)))

    def learned(self, past: Any, arms: Sequence[str]) -> Learned:
        """What the sums of all arms say about the law, where the policy learns it."""
        return self._learned(self._known(past, arms))

    def beliefs(
        self, names: Sequence[str], past: Any, indices: Any, arms: Sequence[str], in_play: Any = None,
        amounts: Floats | None = None,
    ) -> Beliefs:  # fmt: skip
        """Beliefs about the arms of these names, which are at these indices of the sums `past`; None: all are."""
        known: Any = self._known(past, arms) if self._work.learns else past
        sums: Any = known if indices is None else known.take(indices)
        found, sigma, b, c = None, self.sigma, self._account.past.b, self._account.past.c
        if self._work.learns:
            found = self._learned(known)
            b, c = found.b, found.c
            if self.sigma is None:
                sigma = math.nan if math.isnan(found.sigma) else dict(zip(names, sums.sigma.tolist()))
            sums = sums_for(sums)
        if isinstance(sigma, Mapping):
            sigma = {name: sigma[name] for name in names}
        return Beliefs(
            names, sums, sigma=sigma, rho=self._rho(b, c), level=self.level, minimise=self._account.minimise,
            learned=found, in_play=in_play, c=c, amounts=amounts,
        )  # fmt: skip

    def _known(self, past: Any, arms: Sequence[str]) -> Knowledge:
        """What is known of every arm; with a memory that was given it is worked out of the sums."""
        if isinstance(past, Knowledge):
            return past
        with np.errstate(all="ignore"):
            period = self._account.past.period + 1
            found: Knowledge = knowledge(past, period, np.nan_to_num(per_arm(self.sigma, arms)))
        return found

    def _learned(self, known: Knowledge) -> Learned:
        """What is known, for people: worked out once for what is asked for many times."""
        given, last = self.sigma is not None, self._last
        if last is None or last[0] is not known or last[1] != given:
            last = self._last = known, given, learned(known, given)
        return last[2]

    def _rho(self, b: Any, c: Any) -> float:
        """The anytime interval's tuning, fixed by the first budget: it must not depend on outcomes, but for b."""
        share = (self._work.unit or 1.0) * self.even_share
        return anytime_rho(_TUNED_FOR_PERIODS * share ** (2.0 * c - 2.0 * b), -math.log1p(-self.level))
