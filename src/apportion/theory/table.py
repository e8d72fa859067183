"""Table 1: the optimal rates of regret, by b."""

from typing import NamedTuple

from apportion._common.validation import number


class Rate(NamedTuple):
    """One row of Table 1. Powers are of the optimal gap-independent rate, up to constants."""

    regime: str
    b_range: str
    gap_independent: str
    time_power: float
    arms_log_power: float
    gap_dependent: str
    gap_dependent_log_power: int
    attained_by: str

    def arms_power(self, b: float) -> float:
        """The power of K in the gap-independent rate at b: 1 - max(b, 1/2), and so 0 for full feedback."""
        return 1 - max(number("b", b, low=0.0, high=1.0), 0.5)


_POOLED = "MOSS-type indices; UCB1 within sqrt(log T)"
TABLE_1: tuple[Rate, ...] = (
    Rate("bandit", "b = 0", "sqrt(T K)", 0.5, 0.0, "log T sum 1/gap", 1, _POOLED),
    Rate("pool", "0 < b <= 1/2", "sqrt(T K)", 0.5, 0.0, "log T sum 1/gap", 1, _POOLED),
    Rate("divide", "1/2 < b < 1", "sqrt(T) K^(1-b)", 0.5, 0.0, "O(1)", 0, "Algorithm 1 within log T; Algorithm 2"),
    Rate("full feedback", "b = 1", "sqrt(T log K)", 0.5, 0.5, "O(1)", 0, "Hedge; Algorithm 2"),
)


def regret_rate(b: float) -> Rate:
    """The row of Table 1 for this b.

    >>> regret_rate(0.75).gap_independent, regret_rate(0.75).gap_dependent
    ('sqrt(T) K^(1-b)', 'O(1)')
    """
    b = number("b", b, low=0.0, high=1.0)
    return TABLE_1[0 if b == 0 else 1 if b <= 0.5 else 2 if b < 1 else 3]
