"""Returns of which those of later periods count less."""

from dataclasses import field
from typing import Any, NamedTuple

import numpy as np

from apportion._common.validation import number
from apportion.model.law import numbers_per_arm, positive_per_arm, span
from apportion.model.noise import Noise, draw_noise, noise_family
from apportion.model.sums import Floats
from apportion.model.world import World


class DiscountedRecord(NamedTuple):
    """A discounted world as compiled code sees it."""

    means: Floats
    sigmas: Floats
    discount: float
    best: float
    noise: Any


class Discounted(World):
    """Discounted returns at b = 1/2: Y_i = μ_i·A + σ_i·√A·ξ; the whole ends after each period with chance 1 − γ.

    Ended means that nothing returns anything any more, so a return of period t counts γ^(t−1) on average: regret is
    the discounted one, E Σ γ^(t−1)·Σ_i A_ti·Δ_i, and stays finite for every policy (at most Δ/(1 − γ)). What comes
    back before the end is not shrunk, so policies learn as they do elsewhere. The best split is all on the largest
    mean.

    Literature: Mandelbaum (1987), *Continuous multi-armed bandits and multiparameter processes*: effort is divided
    over independent processes, each of which moves as fast as it is worked on; for Brownian ones the return of an
    amount A is μ·A + σ·W(A), which is b = 1/2. With a prior on the means the Gittins index is optimal, and there is
    never a gain in dividing: b = 1/2 is the edge of the paper's transition.

    >>> world = Discounted(means=(1.0, 0.5), discount=0.9)
    >>> course = __import__("apportion").Course(world, np.random.default_rng(1))
    >>> played = course.play([[0.0, 1.0]] * 30)
    >>> played.best[[0, -1]].tolist(), world.label
    ([1.0, 0.0], 'Discounted K=2 γ=0.9 σ=1 Δmin=0.5')
    """

    means: tuple[float, ...]
    discount: float = 0.99
    sigma: float | tuple[float, ...] = 1.0
    noise: Noise = field(default="gaussian")  # type: ignore[assignment]

    Record = DiscountedRecord

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "means", numbers_per_arm("means", self.means))
        set_(self, "discount", number("discount", self.discount, above=0, below=1))
        set_(self, "sigma", positive_per_arm("sigma", self.sigma, self.arms))
        set_(self, "noise", noise_family(self.noise))

    @property
    def b(self) -> float:
        """The noise exponent, 1/2."""
        return 0.5

    @property
    def c(self) -> float:
        """The exponent of returns, 1."""
        return 1.0

    @property
    def sigmas(self) -> tuple[float, ...]:
        """σ_i, one per arm."""
        return self.sigma if isinstance(self.sigma, tuple) else (self.sigma,) * self.arms

    @property
    def best_split(self) -> tuple[float, ...]:
        """All on the largest mean."""
        best = self.means.index(max(self.means))
        return tuple(1.0 if arm == best else 0.0 for arm in range(self.arms))

    @property
    def label(self) -> str:
        """A short name for people."""
        gap = min((max(self.means) - mean for mean in self.means if mean < max(self.means)), default=0.0)
        return f"Discounted K={self.arms} γ={self.discount:g} σ={span(self.sigmas)} Δmin={gap:g}"

    def record(self, b: float | None = None, c: float | None = None) -> DiscountedRecord:
        """Arrays per arm."""
        del b, c
        sigmas = np.array(self.sigmas)
        return self.Record(np.array(self.means), sigmas, self.discount, max(self.means), self.noise)

    def initial_state(self) -> Floats:
        """1 until the end."""
        return np.ones(1)

    def advance(self: Any, number: Any, state: Any, rng: Any) -> Any:
        """After each period it may end."""
        if number > 1 and rng.random() >= self.discount:
            state[0] = 0.0

    def outcome(self: Any, number: Any, arm: Any, amount: Any, state: Any, rng: Any) -> Any:
        """μ·A, and with noise σ·√A·ξ; nothing after the end."""
        expected = state[0] * self.means[arm] * amount
        noise = self.sigmas[arm] * np.sqrt(amount) * draw_noise(self.noise, amount, rng)
        return expected, expected + state[0] * noise

    def best_value(self: Any, number: Any, budget: Any, state: Any) -> Any:
        """All on the largest mean; nothing after the end."""
        return state[0] * self.best * budget
