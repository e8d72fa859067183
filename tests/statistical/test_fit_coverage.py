"""Intervals of `fit_noise` against simulated histories: how often they hold the truth.

Histories of 200 observations, K arms drawn at random, lognormal amounts, Gaussian noise. By default 100 histories
per case; with APPORTION_SOAK=1 there are 1000, through the same code.

Error budget. Everything is seeded, so a run passes or fails the same way every time; the budget says how often a
fresh seed would fail if every interval covered with probability exactly 95%. With 100 histories each count is held
to the binomial range of probability 1 − 1e-6, means and deviations to 5 standard errors: below 1e-4 for the file.
With 1000, each case is held to the range the issue asks for, 93–97%, which a true 95% leaves once in 270 times; for
all cases below about 6% for a fresh seed.
"""

import math
import os
import sys

import numpy as np
import pytest
from scipy.stats import binom

import apportion as ap
from apportion.inference.fit.intervals import highest, interval
from apportion.inference.fit.likelihood import Data

RUNS = 1000 if os.environ.get("APPORTION_SOAK") == "1" else 100
N = 200
CASES = [
    # b, arms, σ, spread of log amounts, unit of amounts
    (0.0, 3, "common", 1.0, 1.0),
    (0.0, 10, "common", 1.0, 1.0),
    (0.02, 5, "common", 1.0, 1e6),
    (0.1, 4, "per-arm", 1.0, 1.0),
    (0.25, 8, "common", 0.7, 1e-6),
    (0.45, 3, "per-arm", 0.5, 1.0),
    (0.5, 3, "common", 1.0, 1.0),
    (0.5, 10, "per-arm", 1.0, 100.0),
    (0.55, 6, "common", 2.0, 1.0),
    (0.75, 10, "common", 1.0, 1e4),
    (0.9, 5, "per-arm", 1.5, 1.0),
    (0.95, 3, "common", 1.0, 1.0),
    (0.98, 10, "per-arm", 1.0, 1.0),
    (1.0, 3, "common", 1.0, 1.0),
    (1.0, 10, "common", 1.0, 1e-3),
    (1.0, 10, "per-arm", 1.0, 1.0),
]


def history(case, run, observations=N):
    """One simulated history, and the scale at amount 1."""
    b, arms, sigma, spread, unit = case
    rng = np.random.default_rng([20250, CASES.index(case), run])
    codes = np.concatenate([np.arange(arms), rng.integers(0, arms, observations - arms)])
    x = unit * np.exp(spread * rng.standard_normal(observations))
    scales = np.ones(arms) if sigma == "common" else np.exp(rng.standard_normal(arms))
    means = rng.uniform(0, 2, arms) * unit ** (b - 1)
    y = means[codes] * x + x**b * scales[codes] * rng.standard_normal(observations)
    return {"arm": codes, "amount": x, "outcome": y}


def allowed(runs, level=0.95):
    """How many intervals out of `runs` may hold the truth."""
    if runs == 1000:
        return 930, 970
    return binom.ppf(5e-7, runs, level), binom.ppf(1 - 5e-7, runs, level)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"b={case[0]:g} K={case[1]} {case[2]} {case[3]:g}")
def test_intervals_for_b_cover(case):
    fits = [ap.fit_noise(history(case, run), c=1.0, sigma=case[2]) for run in range(RUNS)]
    b = case[0]
    held = sum(fit.b_interval[0] <= b <= fit.b_interval[1] for fit in fits)
    low, high = allowed(RUNS)
    assert low <= held <= high, f"{held} of {RUNS}"
    assert all(0 <= fit.b_interval[0] <= fit.b <= fit.b_interval[1] <= 1 for fit in fits)
    if case[2] == "common":  # σ has no interval otherwise; b at an end of its range makes its interval cautious
        held = sum(fit.sigma_interval[0] <= 1.0 <= fit.sigma_interval[1] for fit in fits)
        assert low <= held, f"{held} of {RUNS}"
    if 0.2 < b < 0.8:  # the standard error is one
        z = np.array([(fit.b - b) / fit.b_error for fit in fits])
        assert abs(z.mean()) < 5 / math.sqrt(RUNS)
        assert abs(z.std() - 1) < 5 / math.sqrt(2 * RUNS) + 0.05  # it is asymptotic


def test_intervals_cover_with_few_observations():
    """30 observations, up to 10 arms: within 91–98% of the time is all that is claimed of so few."""
    runs = RUNS * 3
    held = 0
    for run in range(runs):
        case = CASES[run % len(CASES)]
        low, high = ap.fit_noise(history(case, 5000 + run, 30), c=1.0, sigma=case[2]).b_interval
        held += low <= case[0] <= high
    assert binom.ppf(1e-6, runs, 0.93) <= held <= binom.ppf(1 - 1e-6, runs, 0.97)


# ---- c and b together ----

LAWS = [(c, b, spread) for spread in (1.0, 10.0) for c in (0.5, 0.75, 1.0) for b in (0.3, 0.5, 0.8)]


def law_history(law, run, arms=5, periods=60):
    """A history of the whole law: arms at different levels of amount, lognormal amounts, σ from 1 to `spread`."""
    c, b, spread = law
    rng = np.random.default_rng([20253, round(100 * c), round(100 * b), round(10 * spread), arms, periods, run])
    codes = np.tile(np.arange(arms), periods)
    x = (10 * np.exp(rng.standard_normal(arms)))[codes] * np.exp(0.7 * rng.standard_normal(arms * periods))
    scales = rng.permutation(np.geomspace(1, spread, arms))[codes]
    y = rng.uniform(1, 3, arms)[codes] * x**c + scales * x**b * rng.standard_normal(arms * periods)
    return {"arm": codes, "amount": x, "outcome": y}


def coverage(law, runs, **size):
    """How often the 95% intervals hold c and b, and their mean widths."""
    truth = law[:2]
    held, width = np.zeros(2), np.zeros(2)
    for run in range(runs):
        found = ap.fit_noise(law_history(law, run, **size))
        for index, (low, high) in enumerate((found.c_interval, found.b_interval)):
            held[index] += low <= truth[index] <= high
            width[index] += (high - low) / runs
    return held, width


@pytest.mark.parametrize("law", LAWS, ids=lambda law: f"c={law[0]:g} b={law[1]:g} spread={law[2]:g}")
def test_intervals_for_c_and_b_cover(law):
    """σ as the fit chooses it; at c = 1 the truth is the end of the range."""
    held, _ = coverage(law, RUNS)
    low, high = allowed(RUNS)
    assert low <= held.min(), f"{held} of {RUNS}"
    assert held.max() <= high, f"{held} of {RUNS}"


def test_scales_that_differ_a_little_do_no_harm():
    """A ratio of 1.3 between the largest and the smallest σ, which a test cannot see in 300 observations."""
    held, _ = coverage((0.75, 0.5, 1.3), RUNS)
    low, high = allowed(RUNS)
    assert low <= held.min(), f"{held} of {RUNS}"
    assert held.max() <= high, f"{held} of {RUNS}"


@pytest.mark.parametrize("level", [0.5, 0.8, 0.99])
def test_other_levels_cover_too(level):
    case = CASES[9]
    held = 0
    for run in range(RUNS):
        low, high = ap.fit_noise(history(case, 9000 + run), c=1.0, sigma="common", level=level).b_interval
        held += low <= case[0] <= high
    assert binom.ppf(5e-7, RUNS, level) <= held <= binom.ppf(1 - 5e-7, RUNS, level)


def test_the_plain_profile_likelihood_would_not_cover():
    """Why the restricted likelihood is used: with 10 arms the plain one pulls b down by nearly a standard error."""
    errors = {True: [], False: []}
    for run in range(RUNS):
        seen = history(CASES[7], run)
        data = Data(seen["arm"], seen["amount"], seen["outcome"], per_arm=True)
        for restricted in (True, False):
            best = highest(lambda b, data=data, r=restricted: data.log_likelihood(b, restricted=r))
            errors[restricted].append((best - 0.5) * math.sqrt(data.information(0.5)))
    assert abs(np.mean(errors[True])) < 5 / math.sqrt(RUNS)
    assert np.mean(errors[False]) < -0.5 + 5 / math.sqrt(RUNS)


def test_measured_tails_restore_coverage_for_student_noise():
    """Student noise with 5 degrees of freedom (kurtosis 9): Gaussian intervals cover too seldom, measured ones do."""
    runs = RUNS * 3
    held = {"gaussian": 0, "measured": 0}
    for run in range(runs):
        rng = np.random.default_rng([20251, run])
        x = rng.lognormal(size=400)
        y = x + x**0.7 * rng.standard_t(5, 400)
        for tails in held:
            rows = {"arm": ["a"] * 400, "amount": x, "outcome": y}
            low, high = ap.fit_noise(rows, c=1.0, tails=tails).b_interval
            held[tails] += low <= 0.7 <= high
    assert held["gaussian"] < binom.ppf(1e-6, runs, 0.93)
    assert held["measured"] > binom.ppf(1e-6, runs, 0.93)


@pytest.mark.parametrize("b", [0.0, 0.3, 0.7, 1.0])
def test_burn_in_estimates_have_the_stated_variances(b):
    """(π²/8)/S for the regression, ½/S for the likelihood (where b is inside): ratio 2.47. 400 pairs each."""
    amounts = np.tile(ap.burn_in_design(1.0, 40), 20)
    runs = max(RUNS, 300)
    slopes, bests, held, total = [], [], 0, 0
    for run in range(runs):
        rng = np.random.default_rng([20252, run, int(1000 * b)])
        first, second = (3 * amounts + amounts**b * 2 * rng.standard_normal(len(amounts)) for _ in range(2))
        fit = ap.fit_burn_in(amounts, first, second)
        slopes.append((fit.slope - b) / fit.slope_error)
        bests.append((fit.b - b) / fit.b_error)
        held += fit.b_interval[0] <= b <= fit.b_interval[1]
        total += fit.sigma
    assert fit.slope_error / fit.b_error == pytest.approx(math.sqrt(math.pi**2 / 4))
    budget = 5 / math.sqrt(2 * runs)
    assert abs(np.std(slopes) - 1) < budget
    assert abs(np.mean(slopes)) < 5 / math.sqrt(runs)
    if 0 < b < 1:
        assert abs(np.std(bests) - 1) < budget
        assert abs(np.mean(bests)) < 5 / math.sqrt(runs)
        assert abs(total / runs - 2) < 0.05
    assert binom.ppf(5e-7, runs, 0.95) <= held <= binom.ppf(1 - 5e-7, runs, 0.95)


def test_interval_of_a_known_parabola():
    """A likelihood that is exactly normal gives ±1.96 standard errors inside, and the one-sided limit at an end."""
    low, high = interval(lambda b: -0.5 * np.square((b - 0.4) / 0.05), 0.4, 0.05, 0.95)
    assert (low, high) == pytest.approx((0.4 - 1.959964 * 0.05, 0.4 + 1.959964 * 0.05), abs=1e-6)
    low, high = interval(lambda b: -0.5 * np.square(b / 0.05), 0.0, 0.05, 0.95)
    assert low == 0.0
    assert high == pytest.approx(1.959964 * 0.05, abs=1e-6)  # at its own distance from the end both sides count
    low, high = interval(lambda b: -0.5 * np.square((b + 0.1) / 0.05), 0.0, 0.05, 0.95)
    assert low == 0.0
    assert 0 < high < 0.04  # the estimate lies two errors beyond the end: the interval is short, not empty


if __name__ == "__main__":  # the table of docs/real_data.md
    for one in LAWS:
        (of_c, of_b), (width_c, width_b) = coverage(one, 1000)
        exponents = (f"{one[0]:g}", f"{one[1]:g}", f"{one[2]:g}")
        found = (f"{of_c / 10:.1f}%", f"{width_c:.3f}", f"{of_b / 10:.1f}%", f"{width_b:.3f}")
        sys.stdout.write(f"| {' | '.join(exponents + found)} |\n")
        sys.stdout.flush()
