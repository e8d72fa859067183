"""Algorithm 2 of the paper, ε-greedy with a vanishing but never zero share for every arm."""

from typing import Any, NamedTuple

from apportion._common import validation
from apportion._common.compiled import generic, implements
from apportion.model.sums import InformationSums, RatioSums
from apportion.policies.contract import Policy
from apportion.policies.parameters import NOISE_EXPONENT, PROPORTIONAL, Number, OneOf, parameter
from apportion.policies.shared import leading_arm, power_floor
from apportion.theory.greedy import greedy_exponent, small_epsilon


class EpsilonGreedy(Policy):
    """The leader gets nearly all; every other arm gets t^(−α)/K, α = 1 + ε/(2−2b).

    Period 1 is even. Then the leader is the arm with the largest estimate from the periods before: μ2, the
    mean of ratios (`leader="ratios"`, the paper's), or μ* (`leader="information"`), which is far better in
    practice: regret about 200 against 8,900 at K = 5, b = 0.75, gap 0.5, T = 10^5, ε = 0.25.

    Guarantee (Theorem 4, corrected): for b > 1/2 and ε in (0, 2b−1), so that 1 < α < 1/(2−2b), what is spent
    on other arms is summable while the information about them is not: the regret stays below a constant for
    all T; `apportion.theory.greedy_regret_bound`. At b = 1 any finite α > 1 will do, and α = 2 is used. Where
    it fails: b ≤ 1/2 is refused; the constant explodes as gaps shrink, so the worst case over gaps is not
    optimal in T.

    `epsilon` None takes a tenth of the allowed range: small ε is much better.

    >>> EpsilonGreedy(b=0.75, epsilon=0.25)
    EpsilonGreedy(b=0.75, epsilon=0.25)
    """

    b: float = parameter(NOISE_EXPONENT)
    epsilon: float | None = parameter(
        Number(above=0.0, below=1.0, hint="in (0, 2b−1); empty: a tenth of that"), default=None
    )
    leader: str = parameter(OneOf(("ratios", "information"), "which mean leads"), default="ratios")
    c: float = parameter(PROPORTIONAL, default=1.0)

    rule = "gives the leader nearly everything and every other arm a little, less each period"
    needs = "Needs b above 0.5."

    class Record(NamedTuple):
        """The exponent α; the leader is the largest μ2."""

        exponent: float

    class ByInformation(Record):
        """The same, but the leader is the largest μ*."""

    @property
    def reads(self) -> Any:
        """The sums that the leader is found by."""
        return RatioSums if self.leader == "ratios" else InformationSums

    def __post_init__(self) -> None:
        b = NOISE_EXPONENT.check("b", self.b)
        if b <= 0.5:
            raise validation.refuse("b", "above 0.5 for EpsilonGreedy, which learns from small shares", b)
        if self.epsilon is not None:
            validation.number("epsilon", self.epsilon, above=0.0, below=2.0 * b - 1.0)
        super().__post_init__()

    def prepared(self, arms: int, horizon: int | None) -> Any:
        """Resolve ε into α."""
        epsilon = small_epsilon(self.b) if self.epsilon is None else self.epsilon
        record = self.Record if self.leader == "ratios" else self.ByInformation
        return record(greedy_exponent(self.b, epsilon))

    def allocate(self: Any, period: Any, sums: Any, memory: Any, rng: Any, shares: Any) -> None:
        """t^(−α)/K each, 1/K where nothing is known yet, the rest to the leader."""
        arms = len(shares)
        small = power_floor(period.number, self.exponent, arms)
        unseen = 0
        for arm in range(arms):  # loops without branches are quick, and the one below is seldom needed
            shares[arm] = small
            unseen += not sums.count[arm] > 0.0
        if unseen > 0:
            for arm in range(arms):
                if not sums.count[arm] > 0.0:
                    shares[arm] = 1.0 / arms
        leader = leader_of(self, sums, rng)
        if leader >= 0:
            shares[leader] = (arms - unseen) / arms - (arms - unseen - 1) * small


@generic
def leader_of(policy: Any, sums: Any, rng: Any) -> int:  # type: ignore[empty-body]
    """The arm that leads, or −1 before any outcome."""


@implements(leader_of, EpsilonGreedy.Record)
def _leader_by_ratios(policy: Any, sums: Any, rng: Any) -> int:
    return leading_arm(sums.ratio, sums.count, rng)


@implements(leader_of, EpsilonGreedy.ByInformation)
def _leader_by_information(policy: Any, sums: Any, rng: Any) -> int:
    return leading_arm(sums.score, sums.information, rng)
