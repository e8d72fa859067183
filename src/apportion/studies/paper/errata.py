"""Where the printed text fails: what is right, the number that shows it, the test that holds it."""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

import numpy as np

from apportion import theory
from apportion.inference.fit import burn_in_design
from apportion.model.confidence import anytime_radius, corrected_radius, harmonic, printed_radius
from apportion.model.estimators import blocked, mean_of_ratios, ratio_of_sums
from apportion.model.exact_sums import Statistics
from apportion.model.law import Instance
from apportion.policies import Odds, Thompson
from apportion.reporting.html import shown
from apportion.studies.page import Block, Table, Text
from apportion.studies.paper.concentration import failure
from apportion.studies.paper.runs import final_regret, world
from apportion.studies.paper.section import OnStep, Section, Sizes, Values

_THEORY, _PAPER = "tests/theory/test_theory.py", "tests/statistical/test_paper.py"
_CONE = "tests/statistical/test_concentration.py"
_STEPS = "tests/theory/test_errata.py"


class Erratum(NamedTuple):
    """Where in the paper, what it prints, what is right, the sentence for the numbers computed, and the test."""

    name: str
    where: str
    printed: str
    right: str
    sentence: str
    test: str


ERRATA = tuple(Erratum(*fields) for fields in (
    ("variance", "Abstract", "variance of order b", "the standard deviation goes as A^b, the variance as A^(2b)",
     "drawn variance goes as A^{0} at b = {1}", "tests/model/test_law.py::test_the_law"),
    ("convex", "Information", "convex for every b < 1", "concave for b > 1/2, linear at 1/2, convex below",
     "two halves tell {0} times one whole at b = {1}",
     f"{_THEORY}::test_information_is_concave_above_a_half_and_convex_below"),
    ("bandit", "The bandit as a benchmark", "its regret is a lower bound here",
     "it is what can be attained, an upper bound",
     "pooling loses {0}, dividing {1}", f"{_PAPER}::test_odds_is_far_better_than_both_algorithms_and_than_pooling"),
    ("worked", "Worked example", "μ2 = 6, μ1 = 6.5", "the two are swapped", "μ1 = {0}, μ2 = {1}",
     "tests/model/test_estimators.py::test_worked_example_where_the_paper_prints_the_two_swapped"),
    ("partitions", "Remark on μ3", "2^t estimators", "2^(t−1): the last period always ends a block", "{0} at t = {1}",
     "tests/model/test_estimators.py::test_there_are_half_as_many_partitions_as_printed"),
    ("constant", "Theorem 1", "1/27, also at one arm", "the argument gives exp(−1/2)/16; with one arm the bound is 0",
     "{0} against {1}", f"{_THEORY}::test_minimax_lower_bound_has_its_worked_values"),
    ("divergence", "Divergence lemma", "for b < 1", "also at b = 1, over periods with A > 0",
     "the hard pair at b = 1 is {0} apart after T even splits",
     f"{_THEORY}::test_divergence_of_the_hard_pair_is_at_most_a_half"),
    ("one", "Proposition 1, t = 1", "√(3/2)·log t·ε at exp(−ε²/2σ²)", "the threshold is 0, the probability 1/2",
     "false from ε = {0} on", f"{_CONE}::test_printed_proposition_is_false_from_a_known_point_on"),
    ("two", "Proposition 1, t = 2", "the same", "log 2 < 1, and the factor t is lost; √h(t)·ε at t·exp(−ε²/2σ²)",
     "false from ε = {0} on", f"{_CONE}::test_printed_proposition_fails_in_simulation_at_two_periods"),
    ("order", "Without order", "E‖ξ‖² = O(√t)", "E‖ξ‖² = t; the root mean square of the supremum is √(t/2)",
     "{0} at t = {1}, where monotone weights have {2}",
     f"{_STEPS}::test_without_order_the_supremum_grows_as_the_root_of_t_and_its_mean_square_is_half_of_t"),
    ("martingale", "Remark on martingales", "ΣA^b·ξ/√ΣA^(2b) = O(√(t·log t)): self-normalised bounds are too loose",
     "they say O(√log t), also without order", "radius {0} against {1} (corrected) after {2} even periods",
     f"{_STEPS}::test_the_self_normalised_sum_grows_as_the_root_of_the_log_and_not_of_t"),
    ("radius", "Algorithm 1", "radius 2√3·σ√(log t·log T)/√R1",
     "it is 0 at t = 1, so one arm is left and regret is linear",
     "radius {0}, regret {1} a period",
     f"{_PAPER}::test_printed_algorithm_keeps_one_arm_after_period_one_and_its_regret_is_the_exact_formula"),
    ("horizon", "Algorithm 1, input", "no T", "T is an input: the radius depends on it",
     "radius {0} and {1} for two T a thousandfold apart",
     "tests/model/test_confidence.py::test_printed_radius_is_zero_in_the_first_period"),
    ("first", "Theorem 2", "Δmax + …", "Δmax·(1 + H_K) + …: an arm is dropped one period late",
     "{0}·Δmax at K = {1}", f"{_THEORY}::test_repaired_adds_the_off_by_one_of_elimination"),
    ("broken", "Theorem 2", "holds for the printed algorithm", "it needs a radius that holds",
     "regret {0}, printed bound {1} at T = {2}", f"{_THEORY}::test_printed_elimination_has_linear_regret"),
    ("sides", "Proof of Theorem 2", "|μ1 − μ|·√R1 beyond a one-sided supremum at t·δ", "2·t·δ for both sides",
     "a toss of a coin is 1 or −1 with probability {0}; one side allows {1}",
     f"{_STEPS}::test_two_sides_need_both_signs"),
    ("sketch", "Proof of Theorem 2", "P(G_t^c) ≤ K·t^(−2) in the sketch", "K·t·T^(−4), as in the proof",
     "over {0} periods and {1} arms they add up to {2} and to {3}",
     f"{_STEPS}::test_the_sketch_of_theorem_two_has_another_failure_probability_than_its_proof"),
    ("lemma", "Lemma 2", "K^(1−b)·√(T/(2−2b)), no closed form", "√(T·C(K, b)), in closed form",
     "{0} against {1}", f"{_THEORY}::test_stopping_time_maximum_against_every_integer_choice"),
    ("full", "Lemma 2, b = 1", "infinite", "finite", "{0}",
     f"{_THEORY}::test_printed_lemma_is_infinite_under_full_feedback_where_the_maximum_is_not"),
    ("log", "Remark on b", "regress log D on log a", "log |D|: D is negative half of the time",
     "in {0} of draws D < 0",
     "tests/inference/test_fit.py::test_the_burn_in_regression_by_hand"),
    ("alpha", "Algorithm 2", "0 < α", "1 < α: else the resource is not finite",
     "resource {0} at α = {1}, {2} at α = {3}", f"{_THEORY}::test_greedy_exponent_is_within_its_range"),
    ("leader", "Algorithm 2", "leader by μ2 at t", "by data up to t − 1; at b = 1 take any finite α > 1",
     "α = {0} at b = 1",
     "tests/policies/test_rules.py::test_epsilon_greedy"),
    ("greedy", "Theorem 4", "sums over all arms, 2^(m+4), 16", "over Δ_i > 0, 2^(m+3), and 8 for 16",
     "{0} printed, {1} corrected, {2} sharper, {3} with μ*",
     f"{_THEORY}::test_greedy_bounds_have_their_worked_values"),
    ("event", "Proof of Theorem 4", "the event of i* with Δ = 0", "with Δ_i, the gap of the other arm",
     "of {0} draws {1} are within the printed event",
     f"{_STEPS}::test_the_event_of_the_best_arm_in_the_proof_of_theorem_four_is_empty_as_printed"),
    ("power", "After Theorem 4", "b = 1, ε ≈ 0: Δ^(−1)", "Δ^(−3) for the printed bound, Δ^(−1) for the sharp one",
     "the power of Δ is {0} as printed and {1} in the sharp bound",
     f"{_STEPS}::test_full_feedback_has_a_third_power_of_the_gap_as_printed_and_the_first_in_the_sharp_bound"),
    ("gaps", "Algorithm 2 over all gaps", "K^(b−1/2)·T^(3/2−b)", "K^((1−ε)/2)·T^(3/2−b+ε/2), as ε falls K^(1/2)",
     "K^{0} printed and K^{1} in the bound, at b = {2} and small ε",
     f"{_THEORY}::test_algorithm_two_over_all_gaps_has_its_powers"),
    ("ceiling", "Theorem 4", "⌈1/(2b−1−ε)⌉", "beware of rounding", "{0} in floating point, {1} in truth",
     f"{_THEORY}::test_greedy_power_is_not_moved_by_rounding"),
))  # fmt: skip


def measure(sizes: Sizes, seed: int, on_step: OnStep) -> Values:
    """The numbers of every row."""
    on_step("errata")
    rng = np.random.default_rng([seed, 7])
    return {"numbers": {**_model(sizes, seed, rng), **_concentration(), **_algorithms(rng, sizes)}}


def _model(sizes: Sizes, seed: int, rng: np.random.Generator) -> dict[str, list[Any]]:
    """The law, the estimators and Theorem 1."""
    b = 0.75
    case = Instance((1.0,), b=b)
    small, large = (float(np.var(case.draw_block(np.full((sizes.draws, 1), share), rng))) for share in (1 / 16, 1.0))
    past = Statistics(1, b)
    for share, outcome in ((1 / 2, 2.0), (1 / 3, 3.0)):
        past.update([share], [outcome])
    shares, outcomes = np.array([[0.5], [0.3], [0.2], [0.4]]), np.array([[1.0], [2.0], [4.0], [8.0]])
    found = set()
    for size in range(4):
        for ends in itertools.combinations((1, 2, 3), size):
            found.add(round(float(np.ravel(blocked(shares, outcomes, b, [*ends, 4]).mean)[0]), 9))
    five = world(5, b, 0.5)
    rivals = (Thompson(b=b), Odds(b=b))
    regret = [final_regret(policy, five, sizes.horizons[-1], sizes, seed).mean for policy in rivals]
    one, two = theory.hard_instances(5, 1000, 1.0)
    return {
        "variance": [math.log(large / small) / math.log(16.0), b],
        "convex": [2 * theory.information_rate(0.5, b), b],
        "bandit": regret,
        "worked": [float(ratio_of_sums(past.sums()).mean[0]), float(mean_of_ratios(past.sums()).mean[0])],
        "partitions": [len(found), 4],
        "constant": [1 / 27, math.exp(-0.5) / 16],
        "divergence": [theory.divergence([1000.0] * 5, one, two)],
    }


def _concentration() -> dict[str, list[Any]]:
    """Proposition 1 and the radii, after even splits over ten arms."""
    periods, b, arms, horizon = 1000, 0.75, 10, 10**5
    information = periods * theory.information_rate(1 / arms, b)  # with even splits R1 is the same
    rho = math.pow(arms, 2 * b - 2)
    return {
        "order": [theory.unordered_growth(periods), periods, math.sqrt(harmonic(periods) / 2)],
        "sides": [1.0, math.exp(-0.5)],
        "sketch": [periods, arms, *_failures(arms, periods)],
        "one": [failure(1)["from"]],
        "two": [failure(2)["from"]],
        "martingale": [
            anytime_radius(information, math.log(arms * horizon), rho, 1.0),
            corrected_radius(periods, 4 * math.log(horizon), information, 1.0), periods,
        ],
        "horizon": [printed_radius(periods, known, information, 1.0) for known in (horizon, 1000 * horizon)],
    }  # fmt: skip


def _failures(arms: int, periods: int) -> tuple[float, float]:
    """What the failure probabilities of the sketch and of the proof of Theorem 2 add up to."""
    t = np.arange(1.0, periods + 1)
    return float(np.sum(arms * t**-2.0)), float(np.sum(arms * t * float(periods) ** -4.0))


def _power_of_gap(form: str) -> float:
    """The power of the gap in the bound of Theorem 4 at b = 1 and a small ε, between two small gaps."""
    first, second = (theory.greedy_regret_bound((gap, 0.0), 1.0, 1e-3, form=form) for gap in (1e-5, 1e-6))
    return round(math.log10(first / second), 2)


def _algorithms(rng: np.random.Generator, sizes: Sizes) -> dict[str, list[Any]]:
    """Algorithms 1 and 2 with their theorems."""
    five, horizon = world(5, 0.75, 0.5).means, 10**9
    amounts = burn_in_design(1.0, 40)
    draws = Instance((1.0,), b=0.75).draw_block(np.repeat(amounts, 2 * (sizes.draws // 40 + 1))[:, None], rng)[:, 0]
    forms = ("printed", "corrected", "sharp", "information")
    return {
        "radius": [printed_radius(1.0, 1e5, 0.2, 1.0), theory.printed_elimination_regret(five, 0.75, 10**6) / 10**6],
        "first": [1 + harmonic(10), 10],
        "broken": [
            theory.printed_elimination_regret(five, 0.75, horizon),
            theory.elimination_regret_bound(five, horizon=horizon, b=0.75, form="printed"), horizon,
        ],
        "lemma": [theory.stopping_time_printed_bound(3, 40, 0.75), theory.stopping_time_maximum(3, 40, 0.75)],
        "full": [theory.stopping_time_maximum(3, 40, 1.0)],
        "log": [float(np.mean(draws[1::2] < draws[::2]))],
        "alpha": [
            number for alpha in (0.9, 1.5)
            for number in (theory.example_precision(10**12, alpha, 0.75).resource, alpha)
        ],
        "leader": [theory.greedy_exponent(1.0)],
        "event": [sizes.draws, int(np.sum(np.abs(rng.standard_normal(sizes.draws)) < 0.0))],
        "power": [_power_of_gap(form) for form in ("printed", "sharp")],
        "gaps": [0.75 - 0.5, 0.5, 0.75],
        "greedy": [theory.greedy_regret_bound([0.5, 0.0], 0.75, 0.25, form=form) for form in forms],
        "ceiling": [math.ceil(1 / (2 * 0.85 - 1 - 0.2)), 2],
    }  # fmt: skip


def show(values: Values) -> list[Block]:
    """One table."""
    rows = []
    for erratum in ERRATA:
        numbers = [shown(number) for number in values["numbers"][erratum.name]]
        sentence = erratum.sentence.format(*numbers)
        rows.append([erratum.where, erratum.printed, erratum.right, sentence, f"`{erratum.test}`"])
    return [
        Text(
            "Where the printed text fails, with a number that shows it and the test that holds the correction. The "
            "page on the paper goes through all of its statements in order, also those that are right. Two slips "
            "have no number: in the proof of Lemma 2 the sum in c_i runs over τ_j − τ_(j−1), and the remark that "
            "Algorithm 2 cannot reach the gap-independent rate rests on an upper bound, so it is a statement about "
            "that bound."
        ),
        Table("Errata.", ["where", "printed", "right", "shown by", "held by"], rows),
    ]


SECTION = Section("errata", "Errata", __name__, measure, show)
