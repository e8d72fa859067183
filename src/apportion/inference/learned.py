"""What was learned of the law and of how the world moves, as a person may read it."""

import math
from typing import NamedTuple

import numpy as np

from apportion._common.formatting import readable
from apportion.inference.knowledge import Knowledge
from apportion.inference.learning import B_HIGH, B_LOW, C_HIGH, C_LOW, CURVED, DIVIDES, PROPORTIONAL, B, C
from apportion.inference.movement import COMMON_STEP, LEARNED, STEP, STEP_HIGH, STEP_LOW, STILL
from apportion.model.sums import Sums

# Where nothing is known the probability of dividing is 1/2 up to rounding, and shares are divided.
_DIVIDE_FROM = 0.499
# A memory longer than this is as good as none lost; a common step smaller than this is no season.
_LONGEST_MEMORY = 2000.0
_LEAST_COMMON_STEP = 0.02
# Returns are said to diminish, and means to move, where the opposite is less likely than this.
_SAID_BELOW = 0.3

_LEARNED = ", learned from the outcomes"


class Learned(NamedTuple):
    """What is believed about the law Y = μ·A^c + σ·A^b·ξ, with 95% intervals, and how long outcomes count.

    - `b` (`low` to `high`), and `above_half`: the probability that dividing tells more than pooling, c − b < 1/2.
    - `c` (`c_low` to `c_high`), and `proportional`: the probability that c is 1.
    - `sigma`: of a typical arm, NaN before the first outcome; `sigma_low` and `sigma_high` are those of the arms with
      the least and the most noise. By arm they are in `Beliefs.sigma`.
    - `half_life`: periods until an outcome counts half (`half_life_low` to `half_life_high`); None where nothing
      fades. `common`: the relative step of a period that all arms have in common, `own`: that each takes alone.
      `still`: the probability that nothing moves; `learns_motion` says whether that is looked for.
    - `curved`: from 0 to 1, how far the split follows shapes of the arms' own (`inference.response_curves`); 1 where
      they are more probable than not.

    What was given has no width; `sigma_given` says the same of σ.
    """

    b: float
    low: float
    high: float
    sigma: float
    above_half: float
    sigma_given: bool = False
    c: float = 1.0
    c_low: float = 1.0
    c_high: float = 1.0
    proportional: float = 1.0
    sigma_low: float = math.nan
    sigma_high: float = math.nan
    half_life: float | None = None
    half_life_low: float | None = None
    half_life_high: float | None = None
    common: float = 0.0
    still: float = 1.0
    learns_motion: bool = False
    curved: float = 0.0
    own: float = 0.0

    @property
    def names(self) -> tuple[str, ...]:
        """Which of c, b and σ are learned; the others were given."""
        learned = {"c": self.c_low < self.c_high, "b": self.low < self.high, "σ": not self.sigma_given}
        return tuple(name for name, is_learned in learned.items() if is_learned)

    @property
    def follows(self) -> tuple[str, ...]:
        """What is learned of the data besides b: "c", "noise" per arm, "drift"; what was given is not."""
        return ("c",) * ("c" in self.names) + ("noise",) * (not self.sigma_given) + ("drift",) * self.learns_motion

    @property
    def fades(self) -> bool:
        """Whether old outcomes count less."""
        return self.still < _SAID_BELOW and self.half_life is not None

    @property
    def sentence(self) -> str:
        """What it says, and what follows from it; what was given is called so.

        >>> Learned(0.75, 0.75, 0.75, 12.5, 1.0).sentence
        'b is 0.75, as given, and σ about 12.50, learned from the outcomes.'
        >>> bent = Learned(0.75, 0.6, 0.9, 12.5, 1.0, c=0.7, c_low=0.6, c_high=0.8, proportional=0.1)
        >>> bent._replace(half_life=21.0, still=0.0).sentence
        'b is about 0.75 (0.60 to 0.90) and σ about 12.50, learned from the outcomes; so shares are divided. Returns \
diminish: twice the amount brings about 1.6 times as much (c is about 0.70, 0.60 to 0.80). What was seen 21 periods \
ago counts half.'
        """
        return " ".join((self._noise, *self.returns, *self.movement))

    @property
    def _noise(self) -> str:
        learned = tuple(name for name in self.names if name != "c")
        if math.isnan(self.sigma):
            known = "Nothing is known of the noise" if len(learned) == 2 else "Nothing is known of the arms"
            unknown = f"{learned[0]} is not known" if len(learned) == 1 else known
            return f"{unknown} yet: splits are as even as the bounds allow until outcomes come."
        sigma = f"{self.sigma:g}, as given" if self.sigma_given else f"about {readable(self.sigma)}"
        if "b" not in learned:
            return f"b is {self.b:g}, as given, and σ {sigma}{'' if self.sigma_given else _LEARNED}."
        b = f"b is about {self.b:.2f} ({self.low:.2f} to {self.high:.2f})"
        noise = f"{b}{_LEARNED}, and σ is {sigma}" if self.sigma_given else f"{b} and σ {sigma}{_LEARNED}"
        # Not all of it: a policy that pools still tries the others a little, and bounds hold in any case.
        pooled = "within the bounds almost all of the budget goes to one arm at a time"
        result = "shares are divided" if self.above_half > _DIVIDE_FROM or self.c < 1.0 else pooled
        doubt = "" if abs(self.above_half - 0.5) > 0.45 else ", for now"
        return f"{noise}; so {result}{doubt}."

    @property
    def returns(self) -> tuple[str, ...]:
        """Whether returns diminish, in words; nothing where they are proportional."""
        own = ("Arms seem to level off at amounts of their own, which the split follows.",) * (self.curved >= 1.0)
        if math.isnan(self.sigma) or self.c == 1.0 or self.proportional >= _SAID_BELOW:
            return own
        twice = f"twice the amount brings about {2.0**self.c:.1f} times as much"
        given = self.c_low == self.c_high
        c = (
            f"c is {self.c:g}, as given"
            if given
            else f"c is about {self.c:.2f}, {self.c_low:.2f} to {self.c_high:.2f}"
        )
        return (f"Returns diminish: {twice} ({c}).", *own)

    @property
    def movement(self) -> tuple[str, ...]:
        """How the world moves, in words; nothing where it stands still."""
        if math.isnan(self.sigma):
            return ()
        found = []
        if self.still < _SAID_BELOW and self.common >= _LEAST_COMMON_STEP:
            found.append("All arms rise and fall together: that is taken out of the comparison.")
        if self.fades and self.half_life is not None:
            periods = max(round(self.half_life), 1)
            found.append(f"What was seen {periods} period{'s' if periods > 1 else ''} ago counts half.")
        return tuple(found)


def learned(known: Knowledge, sigma_given: bool = False) -> Learned:
    """What is known, for people."""
    law, motion = known.law, known.motion
    seen = ~np.isnan(known.means)
    levels = known.sigma[seen]
    sigma = math.nan if not levels.size else float(levels[0] * np.exp(np.log(levels / levels[0]).mean()))
    life, life_low, life_high = (_half_life(known, motion[index]) for index in (STEP, STEP_HIGH, STEP_LOW))
    c, b = float(law[C]), float(law[B])
    return Learned(
        b, float(min(law[B_LOW], b)), float(max(law[B_HIGH], b)), sigma, float(law[DIVIDES]), sigma_given,
        c, float(min(law[C_LOW], c)), float(max(law[C_HIGH], c)), float(law[PROPORTIONAL]),
        float(levels.min()) if levels.size else math.nan, float(levels.max()) if levels.size else math.nan,
        life, life_low, life_high, float(motion[COMMON_STEP]), float(motion[STILL]), bool(motion[LEARNED] > 0.0),
        float(law[CURVED]),
        float(motion[STEP]),
    )  # fmt: skip


def _half_life(known: Knowledge, step: float) -> float | None:
    """Periods until an outcome of the leading arm counts half, if arms take steps of this relative size.

    Once it has settled, a filter with steps s and the variance v of what it knows moves by the part k = s²/(v + s²)
    of the way to every new outcome; what it knew before counts 1 − k.
    """
    if not step > 0.0 or np.isnan(known.means).all():
        return None
    leader = int(np.nanargmax(known.means))
    moved = (step * known.means[leader]) ** 2
    kept = known.contrasts[leader] / (known.contrasts[leader] + moved) if moved > 0.0 else 1.0
    periods = math.log(0.5) / math.log(max(kept, 1e-300)) if kept < 1.0 else math.inf
    return periods if periods < _LONGEST_MEMORY else None


def sums_for(known: Knowledge) -> Sums:
    """The sums that would say what is known, as far as beliefs are made of them; the others are NaN."""
    missing = np.full(len(known.means), math.nan)
    with np.errstate(all="ignore"):
        information = np.where(np.isnan(known.means), 0.0, known.sigma**2 / known.variances)
        score = np.where(np.isnan(known.means), 0.0, known.means * information)
    return Sums(known.count, known.resource, missing, missing, missing, missing, missing, information, score)
