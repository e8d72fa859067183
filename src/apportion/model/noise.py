"""The families of noise ξ in the law Y = μ·A^c + σ·A^b·ξ: mean 0, and 1-sub-Gaussian unless flagged.

A family is an immutable record and one function that runs plain and compiled, so a family of one's own is one class:

>>> class Cosine(Noise, NamedTuple("_Cosine", [])):
...     name = "cosine"
...     proxy = 1.0
...     def draw(self, amount, rng):
...         return math.sqrt(2.0) * math.cos(2.0 * math.pi * rng.random())

In files and in TOML a family of one's own goes by its import path, "my_noise:Cosine".
"""

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Final, NamedTuple, Self

import numpy as np

from apportion._common.compiled import generic, implements, kernel
from apportion._common.imports import class_at, import_path, is_ours
from apportion._common.validation import number, refuse
from apportion.errors import InvalidValue

# Every family, in the order in which people meet them; the package's names and the laboratory follow this list.
__all__ = [  # noqa: RUF022
    "Gaussian", "UniformNoise", "Rademacher", "CentredBernoulli", "Batch", "FractionalBrownian", "Laplace",
    "StudentT", "Stable",
]  # fmt: skip

Generator = np.random.Generator

_ROOT_THREE: Final = math.sqrt(3.0)
_ROOT_HALF: Final = math.sqrt(0.5)
_HALF_PI: Final = math.pi / 2
_MOST_EPOCHS: Final = 2.0**53


@generic
def draw_noise(noise: Any, amount: float, rng: Generator) -> float:  # type: ignore[empty-body]
    """One ξ of the family `noise`, mean 0, for an arm that got `amount` > 0; `rng` moves on."""


class Noise(tuple[Any, ...]):
    """A family of standardised noise ξ: independent draws, mean 0. The base of every family.

    A family has a `name` (that of the class unless given), a `title` for people, a `proxy` (the smallest v with
    E e^(λξ) ≤ e^(vλ²/2) for all λ; infinite where there is none, or none is known) and a `variance` (1 unless said
    otherwise). Equality looks at the family as well
    as its parameters: as bare tuples, `Gaussian()` and `Laplace()` would be equal.
    """

    __slots__ = ()
    name: ClassVar[str]
    title: ClassVar[str] = ""
    proxy: float = math.inf
    variance: float = 1.0

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if not hasattr(cls, "_fields"):
            raise InvalidValue(
                f"A family of noise must be a record, as in class {cls.__name__}(Noise, "
                f'NamedTuple("{cls.__name__}", [])); got {cls.__name__}.'
            )
        if not hasattr(cls, "name"):
            cls.name = cls.__qualname__.lower()
        if "draw" in cls.__dict__:
            implements(draw_noise, cls)(cls.draw)

    def draw(self, amount: float, rng: Generator) -> float:
        """One ξ for an arm that got `amount` > 0; `self` is the record, and the body is written like a kernel."""
        raise NotImplementedError(f"{type(self).__name__} has no `draw`")

    @property
    def sub_gaussian(self) -> bool:
        """Whether ξ is 1-sub-Gaussian, the assumption behind every guarantee."""
        return self.proxy <= 1.0

    def describe(self) -> dict[str, Any]:
        """The family as JSON-friendly values; `noise_family` reads them back.

        >>> StudentT(degrees=4).describe()
        {'name': 'student', 'degrees': 4.0}
        """
        name = self.name if is_ours(type(self)) else import_path(type(self))
        return {"name": name, **self._asdict()}  # type: ignore[attr-defined]

    def __repr__(self) -> str:
        # Not by `__name__`, as NamedTuple has it: `compiled` lengthens the name for its cache.
        values = ", ".join(f"{name}={value!r}" for name, value in self._asdict().items())  # type: ignore[attr-defined]
        return f"{type(self).__qualname__}({values})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and tuple.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((self.name, tuple.__hash__(self)))

    def __bool__(self) -> bool:
        return True  # a family without parameters is an empty tuple, yet not nothing


class Gaussian(Noise, NamedTuple("_Gaussian", [])):
    """Standard normal."""

    __slots__ = ()
    name = "gaussian"
    title = "Gaussian"
    proxy = 1.0

    def draw(self, amount: float, rng: Generator) -> float:
        """A normal draw."""
        return rng.standard_normal()


class UniformNoise(Noise, NamedTuple("_Uniform", [])):
    """Uniform on [−√3, √3], which has variance 1 and proxy 1."""

    __slots__ = ()
    name = "uniform"
    title = "Uniform"
    proxy = 1.0

    def draw(self, amount: float, rng: Generator) -> float:
        """A draw from [−√3, √3]."""
        return _ROOT_THREE * (2.0 * rng.random() - 1.0)


class Rademacher(Noise, NamedTuple("_Rademacher", [])):
    """+1 or −1 with equal chance."""

    __slots__ = ()
    name = "rademacher"
    title = "Coin: +1 or −1"
    proxy = 1.0

    def draw(self, amount: float, rng: Generator) -> float:
        """One toss."""
        return 1.0 if rng.random() < 0.5 else -1.0


class CentredBernoulli(Noise, NamedTuple("_Bernoulli", [("p", float)])):
    """ξ = (X − p)/s with X ~ Bernoulli(p) and s² = (1 − 2p)/(2·log((1 − p)/p)) (1/4 at p = 1/2).

    s² is the optimal sub-Gaussian proxy of X − p (Kearns and Saul 1998), so ξ has proxy exactly 1. Its
    variance is p·(1 − p)/s² ≤ 1, with equality at p = 1/2 only, where ξ is Rademacher.

    >>> round(CentredBernoulli(0.2).variance, 4)
    0.7394
    """

    __slots__ = ()
    name = "bernoulli"
    title = "Success or not, centred"
    proxy = 1.0

    def __new__(cls, p: float = 0.2) -> Self:
        return super().__new__(cls, number("p", p, above=0, below=1))

    @property
    def variance(self) -> float:  # type: ignore[override]
        """The variance p·(1 − p)/s², at most 1."""
        return self.p * (1.0 - self.p) / bernoulli_proxy(self.p)

    def draw(self, amount: float, rng: Generator) -> float:
        """One success or not, centred and scaled."""
        success = 1.0 if rng.random() < self.p else 0.0
        return (success - self.p) / math.sqrt(bernoulli_proxy(self.p))


class Laplace(Noise, NamedTuple("_Laplace", [])):
    """Laplace with variance 1. Its tails are exponential: not sub-Gaussian, outside of the guarantees."""

    __slots__ = ()
    name = "laplace"
    title = "Laplace"
    proxy = math.inf

    def draw(self, amount: float, rng: Generator) -> float:
        """A draw of variance 1."""
        return rng.laplace(0.0, _ROOT_HALF)


class StudentT(Noise, NamedTuple("_StudentT", [("degrees", float)])):
    """Student's t with `degrees` > 2 degrees of freedom, scaled to variance 1.

    Its tails are polynomial: not sub-Gaussian, outside of the guarantees.
    """

    __slots__ = ()
    name = "student"
    title = "Student's t"
    proxy = math.inf

    def __new__(cls, degrees: float = 5.0) -> Self:
        return super().__new__(cls, number("degrees", degrees, above=2))

    def draw(self, amount: float, rng: Generator) -> float:
        """A draw, scaled to variance 1."""
        return rng.standard_t(self.degrees) * math.sqrt((self.degrees - 2.0) / self.degrees)


class Batch(Noise, NamedTuple("_Batch", [("epochs", float), ("p", float)])):
    """The paper's motivation: an amount A is a batch of unit epochs (kits, visits), each a success or not.

    With m = max(1, A·epochs, rounded) epochs of Bernoulli(p): ξ = (Binomial(m, p) − m·p)/√(m·p·(1 − p)), of
    mean 0 and variance 1. The total of m epochs has a standard deviation of order √m, so b = 1/2 is the law
    this noise belongs to, and ξ tends to a Gaussian as the batch grows.

    Its proxy is s²/(p·(1 − p)), s² as in `CentredBernoulli`: 1 at p = 1/2, above 1 elsewhere. There the
    guarantees hold with σ·√proxy in the place of σ, and `sub_gaussian` (with proxy 1) is False.

    >>> Batch(epochs=100, p=0.5).sub_gaussian, round(Batch(epochs=100, p=0.1).proxy, 3)
    (True, 2.023)
    """

    __slots__ = ()
    name = "batch"
    title = "Batches of successes"

    def __new__(cls, epochs: float = 100.0, p: float = 0.5) -> Self:
        return super().__new__(cls, number("epochs", epochs, above=0), number("p", p, above=0, below=1))

    @property
    def proxy(self) -> float:  # type: ignore[override]
        """The sub-Gaussian proxy of ξ, at least 1."""
        return bernoulli_proxy(self.p) / (self.p * (1.0 - self.p))

    def draw(self, amount: float, rng: Generator) -> float:
        """The successes of one batch, centred and scaled."""
        # Beyond 2^53 the count would no longer be a whole number, and later not fit into 64 bits.
        epochs = min(max(math.floor(amount * self.epochs + 0.5), 1.0), _MOST_EPOCHS)
        successes = rng.binomial(int(epochs), self.p)
        return (successes - epochs * self.p) / math.sqrt(epochs * self.p * (1.0 - self.p))


class FractionalBrownian(Noise, NamedTuple("_Fractional", [("hurst", float)])):
    """The paper's motivation for b other than 1/2: the returns of an amount A are a path of length A.

    Fractional Brownian motion W has correlated steps: covariance (s^(2H) + t^(2H) − |t − s|^(2H))/2. So W(A) has
    the law of A^H·ξ with ξ standard normal, and the law it belongs to has b = H (`exponent`): divide for H > 1/2
    (steps that persist), pool for H < 1/2 (steps that turn back). The memory is within a period; periods are
    independent, as everywhere here. With b other than H it is Gaussian noise and nothing else.

    >>> FractionalBrownian(0.75).exponent
    0.75
    """

    __slots__ = ()
    name = "fractional"
    title = "Fractional Brownian motion"
    proxy = 1.0

    def __new__(cls, hurst: float = 0.75) -> Self:
        return super().__new__(cls, number("hurst", hurst, above=0, high=1))

    @property
    def exponent(self) -> float:
        """The b of the law that it belongs to: H."""
        return self.hurst

    def draw(self, amount: float, rng: Generator) -> float:
        """W(A)/A^H, a normal draw."""
        return rng.standard_normal()


class Stable(Noise, NamedTuple("_Stable", [("alpha", float)])):
    """Symmetric α-stable noise, 1 < α ≤ 2: an amount A is a batch of independent steps with heavy tails.

    E e^(ikξ) = exp(−|k/√2|^α), standard normal at α = 2. A sum of n such steps has the law of n^(1/α)·ξ, so the law
    it belongs to has b = 1/α (`exponent`), between 1/2 and 1. For α < 2 its variance is infinite: not sub-Gaussian,
    outside of the guarantees. By the formula of Chambers, Mallows and Stuck (1976).

    >>> Stable(1.25).exponent, Stable(1.25).sub_gaussian, Stable(2.0).sub_gaussian
    (0.8, False, True)
    """

    __slots__ = ()
    name = "stable"
    title = "Stable, heavy tails"

    def __new__(cls, alpha: float = 1.5) -> Self:
        return super().__new__(cls, number("alpha", alpha, above=1, high=2))

    @property
    def exponent(self) -> float:
        """The b of the law that it belongs to: 1/α."""
        return 1.0 / self.alpha

    @property
    def proxy(self) -> float:  # type: ignore[override]
        """1 at α = 2, else infinite."""
        return 1.0 if self.alpha == 2.0 else math.inf

    @property
    def variance(self) -> float:  # type: ignore[override]
        """1 at α = 2, else infinite."""
        return self.proxy

    def draw(self, amount: float, rng: Generator) -> float:
        """A draw with the characteristic function exp(−|k/√2|^α)."""
        angle = math.pi * rng.random() - _HALF_PI
        wait = rng.standard_exponential()
        turn = math.sin(self.alpha * angle) / math.pow(math.cos(angle), 1.0 / self.alpha)
        bent = math.cos((1.0 - self.alpha) * angle) / wait
        return _ROOT_HALF * turn * math.pow(bent, (1.0 - self.alpha) / self.alpha)


@kernel
def bernoulli_proxy(p: float) -> float:
    """The optimal sub-Gaussian proxy of X − p, X ~ Bernoulli(p): (1 − 2p)/(2·log((1 − p)/p)), 1/4 at p = 1/2.

    >>> bernoulli_proxy(0.5), round(bernoulli_proxy(0.1), 6)
    (0.25, 0.182048)
    """
    lean = 1.0 - 2.0 * p
    if lean == 0.0:
        return 0.25
    if abs(lean) < 0.5:
        # log((1 − p)/p) = 2·artanh(1 − 2p), which keeps its digits as p nears 1/2.
        return lean / (4.0 * math.atanh(lean))
    return lean / (2.0 * (math.log1p(-p) - math.log(p)))


FAMILIES: Final[dict[str, type[Noise]]] = {family.name: family for family in (globals()[name] for name in __all__)}


def noise_family(value: Any) -> Noise:
    """The family that `value` stands for: a record, a name, an import path, or what `describe` gave.

    >>> noise_family("uniform")
    UniformNoise()
    >>> noise_family({"name": "student", "degrees": 4})
    StudentT(degrees=4.0)
    """
    if isinstance(value, Noise):
        return value
    given = dict(value) if isinstance(value, Mapping) else {"name": value}
    name = given.pop("name", None)
    family: Any = FAMILIES.get(name) if isinstance(name, str) else None
    if family is None and isinstance(name, str) and ":" in name:
        family = class_at("noise", name, Noise)
    if family is None:
        names = ", ".join(repr(known) for known in FAMILIES)
        raise refuse("noise", f"one of {names}, an import path 'module:Class', or a noise record", value)
    fields: tuple[str, ...] = family._fields
    if unknown := sorted(set(map(str, given)) - set(fields)):
        allowed = f"with {' and '.join(map(repr, fields))}" if fields else "without parameters"
        raise refuse("noise", f"{name!r} {allowed}", unknown[0])
    try:
        made: Noise = family(**given)
    except TypeError as error:  # a parameter is missing
        raise refuse("noise", f"{name!r} with {' and '.join(map(repr, fields))}", sorted(map(str, given))) from error
    return made
