"""The paper's theorems as functions: rates, lower and upper bounds, divergence, the stopping-time lemma.

Numbering follows the paper: Theorem 1 gap-independent lower bound (`lower_bounds`), Proposition 1
concentration (in `apportion.model.confidence` and `apportion.model.cone`), Theorem 2 upper bound of Algorithm 1,
successive elimination (`elimination`), Lemma 2 its stopping-time lemma (`stopping_times`), Theorem 3
gap-dependent lower bound (`lower_bounds`), Theorem 4 upper bound of Algorithm 2, epsilon-greedy (`greedy`),
Table 1 (`table`), the model itself (`law`). Beyond the paper: adaptive elimination (`adaptive`), floors (`floors`),
what no policy can beat (`least`), diminishing returns (`diminishing`).
Where the printed statement fails, `form="printed"` still evaluates it, and the default is the corrected one.
Each function refuses parameters that its theorem does not cover. A bound that is too large for a float is `inf`,
never NaN.
"""

from apportion.theory.adaptive import adaptive_regret_bound, later_failure_probability, race_failure_probability
from apportion.theory.diminishing import (
    Transitions,
    bent_constant,
    exponent_lower_bound,
    lockout_regret,
    losing_arms_constant,
    split_error_loss,
    transitions,
    wrong_exponent_factor,
)
from apportion.theory.elimination import elimination_regret_bound, printed_elimination_regret
from apportion.theory.floors import floor_exponent, floor_regret_bound
from apportion.theory.greedy import greedy_exponent, greedy_regret_bound, greedy_worst_case_bound
from apportion.theory.law import (
    Precision,
    Toy,
    divergence,
    example_precision,
    information_rate,
    toy_example,
    unordered_growth,
)
from apportion.theory.least import least_regret
from apportion.theory.lower_bounds import asymptotic_lower_bound, hard_instances, minimax_lower_bound
from apportion.theory.stopping_times import (
    stopping_time_constant,
    stopping_time_maximiser,
    stopping_time_maximum,
    stopping_time_printed_bound,
    stopping_time_sum,
)
from apportion.theory.table import TABLE_1, Rate, regret_rate
from apportion.theory.ucb import ucb_regret_bound

__all__ = [
    "TABLE_1", "Precision", "Rate", "Toy", "Transitions", "adaptive_regret_bound", "asymptotic_lower_bound",
    "bent_constant", "divergence", "elimination_regret_bound", "example_precision", "exponent_lower_bound",
    "floor_exponent", "floor_regret_bound", "greedy_exponent", "greedy_regret_bound", "greedy_worst_case_bound",
    "hard_instances", "information_rate", "later_failure_probability", "least_regret", "lockout_regret",
    "losing_arms_constant", "minimax_lower_bound", "printed_elimination_regret", "race_failure_probability",
    "regret_rate", "split_error_loss", "stopping_time_constant", "stopping_time_maximiser", "stopping_time_maximum",
    "stopping_time_printed_bound", "stopping_time_sum", "toy_example", "transitions", "ucb_regret_bound",
    "unordered_growth", "wrong_exponent_factor",
]  # fmt: skip
