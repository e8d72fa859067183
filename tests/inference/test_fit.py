"""b and σ from data: known values, units, recovery, refusals, the burn-in, the picture and the command."""

import csv
import json
import math
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

import apportion as ap
from apportion.inference.fit.intervals import highest, interval
from apportion.inference.fit.likelihood import Data
from apportion.inference.fit.words import sentences


def made(b, *, seed=0, arms=4, observations=400, sigma=1.5, spread=1.0, own=False, noise="normal"):
    """A history with a known b."""
    rng = np.random.default_rng([seed, round(1000 * b), arms, observations])
    codes = np.concatenate([np.arange(arms), rng.integers(0, arms, observations - arms)])
    x = np.exp(spread * rng.standard_normal(observations))
    scales = sigma * (np.exp(rng.standard_normal(arms)) if own else np.ones(arms))
    xi = rng.standard_normal(observations) if noise == "normal" else rng.choice([-1.0, 1.0], observations)
    y = rng.uniform(0.5, 2, arms)[codes] * x + x**b * scales[codes] * xi
    return pd.DataFrame({"arm": [f"arm {code}" for code in codes], "amount": x, "outcome": y})


@pytest.fixture(scope="module")
def table():
    return made(0.7)


PAPER = {"c": 1.0, "sigma": "common"}  # the paper's law: returns in proportion, one σ


@pytest.fixture(scope="module")
def fit(table):
    return ap.fit_noise(table, **PAPER)


# ---- Known values ----


def test_the_profile_likelihood_is_the_formula_of_the_law():
    """MATH 7 written out: −(N/2)·log σ² − b·Σ log x with the information-weighted means, up to a constant."""
    table = made(0.6, observations=40)
    x, y, codes = table.amount.to_numpy(), table.outcome.to_numpy(), table.arm.astype("category").cat.codes.to_numpy()
    data = Data(codes.astype(np.intp), x, y, per_arm=False)
    grid = np.array([0.0, 0.3, 0.5, 0.9, 1.0])
    expected = []
    for b in grid:
        leftover = 0.0
        for arm in range(4):
            a, z = x[codes == arm], y[codes == arm]
            mean = (a ** (1 - 2 * b) @ z) / (a ** (2 - 2 * b)).sum()
            leftover += (np.square(z - mean * a) / a ** (2 * b)).sum()
        expected.append(-20 * math.log(leftover / 40) - b * np.log(x).sum())
    found = data.log_likelihood(grid, restricted=False)
    assert found - found[0] == pytest.approx(np.array(expected) - expected[0], rel=1e-9)


@pytest.mark.parametrize("per_arm", [False, True])
def test_the_restricted_likelihood_is_that_of_contrasts(per_arm):
    """The density of what is orthogonal to the means, computed with matrices; the scale(s) maximised out."""
    rng = np.random.default_rng(5)
    sizes = (6, 4, 5)
    x = rng.lognormal(size=15)
    y = x + x**0.4 * rng.standard_normal(15)
    codes = np.repeat(np.arange(3), sizes)
    design = np.zeros((15, 3))
    design[np.arange(15), codes] = x
    contrasts = np.linalg.svd(design)[0][:, 3:].T
    groups = [codes == arm for arm in range(3)] if per_arm else [np.ones(15, bool)]

    def exact(b):
        total = 0.0
        for group in groups:  # arms are independent, so contrasts may be taken group by group
            rows = contrasts if not per_arm else np.linalg.svd(x[group][:, None])[0][:, 1:].T
            covariance = rows @ np.diag(x[group] ** (2 * b)) @ rows.T
            rest = rows @ y[group]
            variance = rest @ np.linalg.solve(covariance, rest) / len(rest)
            total -= 0.5 * (len(rest) * math.log(variance) + np.linalg.slogdet(covariance)[1])
        return total

    data = Data(codes, x, y, per_arm=per_arm)
    grid = np.linspace(0, 1, 7)
    found = data.log_likelihood(grid)
    expected = np.array([exact(b) for b in grid])
    assert found - found[0] == pytest.approx(expected - expected[0], abs=1e-9)


@pytest.mark.parametrize("per_arm", [False, True])
def test_the_information_is_the_mean_curvature(per_arm):
    """−l'' on average, over 2000 histories: 5 standard errors."""
    rng = np.random.default_rng(6)
    codes = np.repeat(np.arange(3), (12, 9, 9))
    x = rng.lognormal(size=30)
    step = 1e-3
    curves = []
    for _ in range(2000):
        data = Data(codes, x, x + x**0.5 * rng.standard_normal(30), per_arm=per_arm)
        low, middle, high = data.log_likelihood([0.5 - step, 0.5, 0.5 + step])
        curves.append((high - low) / (2 * step))  # the score: its variance is the information
    information = data.information(0.5)
    assert abs(np.mean(curves)) < 5 * math.sqrt(information / 2000)
    # Profiling σ out makes the score a ratio: its variance is within a few per cent of the information.
    assert np.var(curves) == pytest.approx(information, rel=0.2)
    assert middle > -math.inf


def test_estimates_are_the_best_ones(fit, table):
    """Against a general optimiser over (b, log σ) with the means put in."""
    x, y, codes = table.amount.to_numpy(), table.outcome.to_numpy(), table.arm.to_numpy()

    def loss(parameters):
        b, log_sigma = parameters
        total = 0.0
        for arm in fit.means:
            a, z = x[codes == arm], y[codes == arm]
            information = (a ** (2 - 2 * b)).sum()
            rest = (z - (a ** (1 - 2 * b) @ z) / information * a) / a**b
            total += 0.5 * (rest @ rest) * math.exp(-2 * log_sigma) + (len(a) - 1) * log_sigma
            total += b * np.log(a).sum() + 0.5 * math.log(information)
        return total

    best = minimize(loss, (0.5, 0.0), method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-10}).x
    assert fit.b == pytest.approx(best[0], abs=1e-5)
    assert fit.sigma == pytest.approx(math.exp(best[1]), rel=1e-5)
    # The interval of σ: where the loss, minimised over b, is 1.92 above the least.
    for edge in fit.sigma_interval:
        held = min(loss((b, math.log(edge))) for b in np.linspace(*fit.b_interval, 4001))
        assert held - loss(best) == pytest.approx(1.920729, abs=1e-3)


def test_means_are_the_information_weighted_ones(fit, table):
    for arm, rows in table.groupby("arm"):
        seen = ap.Statistics(arms=1, b=fit.b)
        for x, y in zip(rows.amount, rows.outcome):
            seen.update([x], [y])
        estimate = ap.estimators.information_weighted(seen.sums())
        assert fit.means[arm] == pytest.approx(float(estimate.mean[0]), rel=1e-12)
        assert fit.errors[arm] == pytest.approx(fit.sigma / math.sqrt(float(estimate.precision[0])), rel=1e-12)


def test_one_observation_of_an_arm_changes_nothing_but_its_mean(fit, table):
    extra = pd.concat([table, pd.DataFrame({"arm": ["new"], "amount": [7.0], "outcome": [21.0]})])
    found = ap.fit_noise(extra, **PAPER)
    assert found.b == pytest.approx(fit.b, abs=1e-8)
    assert found.sigma == pytest.approx(fit.sigma, rel=1e-8)
    assert found.b_interval == pytest.approx(fit.b_interval, abs=1e-7)
    assert found.means["new"] == pytest.approx(3.0)
    assert math.isnan(found.residuals[-1])
    assert math.isnan(found.arms.sigmas[-1])
    assert found.to_dict()["arms"]["new"]["sigma"] is None


def test_two_observations_of_an_arm_say_nothing_with_a_scale_of_its_own(table):
    pair = pd.DataFrame({"arm": ["new", "new"], "amount": [7.0, 1.0], "outcome": [21.0, 5.0]})
    with_pair, without = (ap.fit_noise(rows, sigma="per-arm") for rows in (pd.concat([table, pair]), table))
    assert with_pair.b == pytest.approx(without.b, abs=1e-8)


def test_residuals_are_in_the_order_of_the_history_and_standard(fit, table):
    rest = (table.outcome - table.arm.map(fit.means) * table.amount) / (table.amount**fit.b * fit.sigma)
    assert np.corrcoef(rest, fit.residuals)[0, 1] > 0.9999
    assert np.abs(fit.residuals).max() < 5
    assert np.mean(np.square(fit.residuals)) == pytest.approx(1, abs=0.02)
    assert np.corrcoef(np.square(fit.residuals), np.log(table.amount))[0, 1] == pytest.approx(0, abs=0.03)


def test_the_interval_is_where_the_likelihood_has_fallen(fit):
    drops = fit.log_likelihood(fit.b_interval)
    assert drops == pytest.approx([-1.920729] * 2, abs=1e-5)
    assert fit.log_likelihood(fit.b) == pytest.approx(0.0, abs=1e-9)
    assert fit.log_likelihood([[0.1, 0.2]]).shape == (1, 2)
    assert (fit.log_likelihood(np.linspace(0, 1, 1001)) <= 1e-9).all()


# ---- Units ----


@pytest.mark.parametrize("sigma", ["common", "per-arm"])
@pytest.mark.parametrize("c", [1e-12, 0.01, 1e12])
def test_units_change_nothing_but_units(table, sigma, c):
    base = ap.fit_noise(table, sigma=sigma)
    amounts = ap.fit_noise(table.assign(amount=c * table.amount), sigma=sigma)
    outcomes = ap.fit_noise(table.assign(outcome=c * table.outcome), sigma=sigma)
    for other in (amounts, outcomes):
        assert other.b == pytest.approx(base.b, abs=1e-7)
        assert other.b_interval == pytest.approx(base.b_interval, abs=1e-7)
        assert other.residuals == pytest.approx(base.residuals, abs=1e-6)
        assert other.stretch == pytest.approx(base.stretch, rel=1e-6)
    assert amounts.sigma == pytest.approx(base.sigma * c**-base.b, rel=1e-5)
    assert outcomes.sigma == pytest.approx(base.sigma * c, rel=1e-6)
    assert amounts.deviation_at(3 * c) == pytest.approx(base.deviation_at(3), rel=1e-6)
    for arm, mean in base.means.items():
        assert amounts.means[arm] == pytest.approx(mean / c, rel=1e-6)
        assert outcomes.means[arm] == pytest.approx(mean * c, rel=1e-6)
    if sigma == "common":
        assert outcomes.sigma_interval == pytest.approx([c * end for end in base.sigma_interval], rel=1e-5)
        assert amounts.deviation_interval(c) == pytest.approx(base.sigma_interval, rel=1e-4)


@pytest.mark.parametrize("b", [0.0, 0.25, 0.5, 0.75, 1.0])
@pytest.mark.parametrize("sigma", ["common", "per-arm"])
def test_amounts_over_24_orders_of_magnitude(b, sigma):
    rng = np.random.default_rng(8)
    x = 10 ** rng.uniform(-12, 12, 300)
    y = 1e-3 * x + x**b * rng.standard_normal(300)
    found = ap.fit_noise({"arm": rng.integers(0, 3, 300), "amount": x, "outcome": y}, sigma=sigma)
    assert found.b == pytest.approx(b, abs=0.02)
    assert math.isfinite(found.sigma)
    assert found.b_interval[0] <= b + 0.01
    assert found.b_interval[1] >= b - 0.01


def test_the_order_of_rows_and_the_names_of_arms_do_not_matter(table, fit):
    shuffled = table.sample(frac=1, random_state=1)
    found = ap.fit_noise(shuffled.assign(arm=shuffled.arm.str.upper()), **PAPER)
    assert found.b == pytest.approx(fit.b, abs=1e-8)
    assert {name.upper() for name in fit.means} == set(found.means)


# ---- Recovery ----


@pytest.mark.parametrize("sigma", ["common", "per-arm"])
@pytest.mark.parametrize("b", np.linspace(0, 1, 9))
def test_b_and_sigma_are_recovered(b, sigma):
    """2000 observations, 4 standard errors: fails for one fresh seed in 16 thousand, 18 cases."""
    found = ap.fit_noise(made(b, observations=2000, own=sigma == "per-arm"), sigma=sigma)
    assert abs(found.b - b) < 4 * found.b_error
    assert found.b_error < 0.025
    if sigma == "common":
        assert found.sigma == pytest.approx(1.5, rel=0.08)
    else:
        assert len(set(found.sigmas.values())) == 4
    assert found.scale == sigma


def test_noise_of_two_values_is_no_trouble():
    found = ap.fit_noise(made(0.7, noise="signs"))
    assert found.b == pytest.approx(0.7, abs=0.05)
    assert found.stretch == 1.0


def test_a_common_scale_where_there_is_none_is_noticed():
    mixed = made(0.5, own=True)
    found = ap.fit_noise(mixed, sigma="common")
    assert found.equal_scales < 1e-6
    assert "The arms differ in scale" in found.summary()
    chosen = ap.fit_noise(mixed)
    assert chosen.scale == "per-arm"
    assert chosen.sigmas == ap.fit_noise(mixed, sigma="per-arm").sigmas
    alike = ap.fit_noise(made(0.5))
    assert alike.equal_scales > 0.01
    assert alike.scale == "common"
    assert len(set(alike.sigmas.values())) == 1


def test_heavy_tails_are_measured_and_widen(table):
    rng = np.random.default_rng(4)
    heavy = table.assign(outcome=table.amount + table.amount**0.5 * rng.standard_t(3, len(table)))
    plain, measured = (ap.fit_noise(heavy, tails=tails) for tails in ("gaussian", "measured"))
    assert measured.b == plain.b
    assert plain.stretch > 1.25
    assert "heavier tails" in plain.summary()
    assert measured.b_interval[0] < plain.b_interval[0] < plain.b_interval[1] < measured.b_interval[1]
    assert measured.b_error == pytest.approx(plain.b_error * plain.stretch)
    assert measured.sigma_interval[0] < plain.sigma_interval[0]


def test_an_exponent_beyond_the_law_is_noticed():
    rng = np.random.default_rng(9)
    x = rng.lognormal(size=300)
    found = ap.fit_noise({"arm": ["a"] * 300, "amount": x, "outcome": x + x**1.6 * rng.standard_normal(300)})
    assert found.b == 1.0
    assert found.b_interval[1] == 1.0
    assert found.b_interval[0] > 0.95
    assert found.beyond > 6.63
    assert "An exponent above 1 would fit better" in found.summary()


# ---- What is read ----


def test_all_ways_to_give_a_history_agree(table, fit, tmp_path):
    path = tmp_path / "history.csv"
    table.to_csv(path, index=False)
    semicolons = tmp_path / "semicolons.csv"
    table.to_csv(semicolons, index=False, sep=";", encoding="utf-8-sig")
    ways = [
        path, str(path), semicolons, table.to_dict("list"), table.to_dict("records"), table.set_index("arm"),
        list(table.itertuples(index=False, name=None)), iter(table.to_dict("records")),
        {name: column.to_numpy() for name, column in table.items()},
    ]  # fmt: skip
    for way in ways:
        found = ap.fit_noise(way, **PAPER)
        assert found.b == pytest.approx(fit.b, abs=1e-9)
        assert list(found.means) == list(fit.means)


def test_columns_by_other_names(table, fit):
    renamed = table.rename(columns={"arm": "channel", "amount": "spend", "outcome": "clicks"})
    assert ap.fit_noise(renamed, arm="channel", amount="spend", outcome="clicks", **PAPER).b == fit.b


def test_rows_without_an_amount_are_skipped_and_counted(table, fit):
    none = pd.DataFrame({"arm": ["arm 1", "never"], "amount": [0.0, 0.0], "outcome": [0.0, math.nan]})
    found = ap.fit_noise(pd.concat([table, none]), **PAPER)
    assert found.b == fit.b
    assert found.skipped == 2
    assert "never" not in found.means
    assert "2 rows without spend: the arm got nothing then." in found.summary()


GOOD = {"arm": ["a"] * 6, "amount": [1, 2, 4, 8, 16, 32], "outcome": [1.0, 2.5, 3.5, 8.5, 17.0, 30.0]}


@pytest.mark.parametrize(
    ("history", "sentence"),
    [
        ({"arm": [], "amount": [], "outcome": []},
         "`history` must have three more observations (amount above 0) than arms; got 0 of 0 arms."),
        ({**GOOD, "amount": [5] * 6},
         "`history` must have amounts that differ between rows, or b is not identified: give the same arm sometimes "
         "a half, sometimes double; got 6 rows with amounts near 5."),
        ({"arm": ["a", "b", "a"], "amount": [1, 2, 3], "outcome": [1, 2, 4]},
         "`history` must have three more observations (amount above 0) than arms; got 3 of 2 arms."),
        ({**GOOD, "outcome": [0] * 6}, "`history` must have outcomes that differ from 0; got 0 in all 6 rows."),
        ({**GOOD, "outcome": [3 * x for x in GOOD["amount"]]},
         "`history` must have noise in the outcomes; got outcomes in proportion to the amounts."),
        ({"arm": ["a"] * 6, "outcome": [1] * 6}, "`history` must have a column 'amount'; got 'arm', 'outcome'."),
        ({"arm": ["a"] * 6}, "`history` must have columns 'amount' and 'outcome'; got 'arm'."),
        (pd.DataFrame({"x": [1.0]}), "`history` must have columns 'arm' and 'amount' and 'outcome'; got 'x'."),
        ({**GOOD, "amount": [1, 2]}, "`history` must have columns of one length; got 6, 2, 6 rows."),
        ({**GOOD, "amount": "12"}, "`amount` must be a column of values; got '12'."),
        ({**GOOD, "amount": [1, 2, -4, 8, 16, 32]}, "Row 3: the amount must be a number of at least 0; got -4."),
        ({**GOOD, "amount": [1, 2, math.inf, 8, 16, 32]},
         "Row 3: the amount must be between -1e+60 and 1e+60; got inf."),
        ({**GOOD, "amount": [1, 2, 1e200, 8, 16, 32]},
         "Row 3: the amount must be between -1e+60 and 1e+60; got 1e+200."),
        ({**GOOD, "outcome": [1, 2, math.inf, 8, 16, 32]},
         "Row 3: the outcome must be between -1e+60 and 1e+60; got inf."),
        ({**GOOD, "outcome": [1, 2, "many", 8, 16, 32]},
         "Row 3: the outcome must be a number; got 'many'."),
        ({**GOOD, "arm": ["a", "a", None, "a", "a", "a"], "amount": [1, "x", 3, -4, 5, 6]},
         "Row 2: the amount must be a number; got 'x'.\nRow 3: the arm must be a printable name; got ''.\n"
         "Row 4: the amount must be a number of at least 0; got -4."),
        ([{"arm": "a", "amount": 1}], "`history` must have a column 'outcome' in row 1; got 'arm', 'amount'."),
        ([("a", 1)], "`history` must be rows of arm, amount, outcome in row 1; got ('a', 1)."),
        (7, "`history` must be a data frame, the path of a file, columns by name, or rows; got 7."),
        ("nowhere.csv", "The file 'nowhere.csv' cannot be read: No such file or directory."),
    ],
)  # fmt: skip
def test_a_history_that_cannot_be_used_gets_one_sentence(history, sentence):
    with pytest.raises(ap.InvalidValue) as caught:
        ap.fit_noise(history)
    assert str(caught.value) == sentence


def test_what_a_scale_per_arm_needs():
    with pytest.raises(ap.InvalidValue, match=r"arms with three or more observations .* got 4 of 2 arms"):
        ap.fit_noise([("a", 1, 1.0), ("a", 2, 3.0), ("b", 1, 2.0), ("b", 3, 5.0)], sigma="per-arm")
    apart = [(arm, size, size + (-1) ** k * 0.1 * k) for arm, size in (("a", 1.0), ("b", 9.0)) for k in range(5)]
    assert 0 <= ap.fit_noise(apart).b <= 1  # arms of different amounts are enough for a common scale
    with pytest.raises(ap.InvalidValue, match="amounts that differ within an arm"):
        ap.fit_noise(apart, sigma="per-arm")
    quiet = [*zip(*GOOD.values()), *(("dead", x, 0.0) for x in (1, 2, 3))]
    with pytest.raises(ap.InvalidValue, match=r"every arm .* in proportion to the amounts for 'dead'"):
        ap.fit_noise(quiet, sigma="per-arm")
    assert ap.fit_noise(quiet).means["dead"] == 0.0


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"sigma": "each"}, "`sigma` must be one of 'auto', 'common', 'per-arm'; got 'each'."),
        ({"c": 0.0}, "`c` must be a number in (0, 1]; got 0.0."),
        ({"c": 1.2}, "`c` must be a number in (0, 1]; got 1.2."),
        ({"b": -0.1}, "`b` must be a number in [0, 1]; got -0.1."),
        ({"apart": "year"}, "`apart` must be one of 'week', 'month'; got 'year'."),
        ({"apart": "week"}, "`history` must have a date in every row to take each week apart; got rows without one."),
        ({"date": "when"}, "`history` must have a column 'when'; got 'arm', 'amount', 'outcome'."),
        ({"date": "arm"}, "`date` must be a column of its own; got 'arm'."),
        ({"tails": "fat"}, "`tails` must be one of 'gaussian', 'measured'; got 'fat'."),
        ({"level": 95}, "`level` must be a number in (0, 1); got 95."),
        ({"arm": 3}, "`arm` must be the name of a column; got 3."),
        ({"outcome": "amount"}, "`outcome` must be a column of its own; got 'amount'."),
    ],
)
def test_options_are_checked(options, sentence):
    with pytest.raises(ap.InvalidValue) as caught:
        ap.fit_noise(GOOD, **options)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("arm,amount,outcome\na,1,2\na,x,3\n",
         "Row 3: the amount must be a number; got 'x'."),
        ("arm,amount,outcome\n\na,1,lots\n",
         "Row 3: the outcome must be a number; got 'lots'."),
        ("date,arm,amount,outcome\n2026-02-30,a,1,2\n",
         "Row 2: the date must be a date that exists; got '2026-02-30'."),
        ("arm,amount,outcome\na,1,2,3\n", "Row 2: 3 cells are needed; got 4."),
        ("arm,spend,outcome\na,1,2\n",
         "Row 1: one column named 'amount' is needed, or say which one is the amount (`--amount-column` on the "
         "command line, `amount_column` over HTTP, `amount` in Python); found are arm, spend, outcome. Perhaps the "
         "amount is 'spend'."),
        ("", "The file 'h.csv' is empty."),
    ],
)  # fmt: skip
def test_errors_in_a_file_name_the_line(text, sentence, tmp_path):
    path = tmp_path / "h.csv"
    path.write_text(text)
    with pytest.raises(ap.InvalidValue) as caught:
        ap.fit_noise(path)
    assert str(caught.value) == sentence


def test_files_that_are_no_csv(tmp_path):
    (tmp_path / "h.csv").write_bytes(b"arm,amount,outcome\n\x81\x8d,1,2\n")
    with pytest.raises(ap.InvalidValue) as caught:
        ap.fit_noise(tmp_path / "h.csv")
    sentence = "The file 'h.csv' is not a text file, a workbook (.xlsx) or a Parquet file."
    assert str(caught.value) == sentence  # its name only: where a service keeps it is nobody's business
    with pytest.raises(ap.InvalidValue, match="cannot be read: Is a directory"):
        ap.fit_noise(tmp_path)


GROUPED = "arm;amount;outcome\na;3.530;2\na;1.490;3\na;380;1\na;2.240;5\na;620;4\na;1.050;3\n"


def test_grouped_thousands_are_read_where_the_file_tells_and_refused_where_it_does_not(tmp_path):
    path = tmp_path / "h.csv"
    path.write_text(GROUPED)
    with pytest.raises(ap.InvalidValue) as caught:
        ap.fit_noise(path)
    assert str(caught.value) == (
        "Row 2: the amount '3.530' can be read in two ways, as 3530 or as 3.53, and nothing else in the "
        "file tells which; write all numbers without thousands separators, or say whether `decimal` is comma or "
        "point (`--decimal` on the command line)."
    )
    amounts = [3530, 1490, 380, 2240, 620, 1050]
    assert ap.fit_noise(path, decimal="comma").amounts.tolist() == amounts
    assert ap.fit_noise(path, decimal="point").amounts[0] == 3.53
    path.write_text(GROUPED.replace(";4\n", ";4,5\n"))
    assert ap.fit_noise(path).amounts.tolist() == amounts
    path.write_text(GROUPED.replace(";", "\t").replace(".", ",").replace("\t4\n", "\t4.5\n"))
    assert ap.fit_noise(path).amounts.tolist() == amounts
    with pytest.raises(ap.InvalidValue, match="`decimal` must be one of 'point', 'comma'; got 'dot'"):
        ap.fit_noise(path, decimal="dot")
    columns = {"arm": ["a"] * 6, "amount": ["3,530", "1,490", "380", "2,240", "620", "1,050"], "outcome": range(6)}
    with pytest.raises(ap.InvalidValue, match="Row 1: the amount '3,530' can be read in two ways"):
        ap.fit_noise(columns)


def test_columns_are_found_in_any_case(tmp_path):
    (tmp_path / "h.csv").write_text("ARM, Amount ,Outcome\n" + "".join(f"a,{x},{x + x % 3}\n" for x in range(1, 9)))
    assert ap.fit_noise(tmp_path / "h.csv").observations == 8


# ---- What it says ----


def test_the_summary_says_what_b_means(fit):
    lines = sentences(fit)
    assert lines[0].startswith(f"b = {fit.b:.2f} (95% interval ")
    assert lines[0].endswith("from 400 observations of 4 arms.")
    assert f"Half the amount tells {2 ** (2 * fit.b - 2):.0%} as much about an arm." in lines
    assert any("lies above 1/2: divide" in line for line in lines)
    assert str(fit).startswith(fit.summary())
    assert repr(fit) == str(fit)
    assert "arm 3" in str(fit)


def test_the_advice_follows_the_interval():
    assert "below 1/2: pool" in ap.fit_noise(made(0.1), **PAPER).summary()
    assert "includes 1/2" in ap.fit_noise(made(0.5), **PAPER).summary()
    few = ap.fit_noise(made(0.5, observations=12, arms=2, spread=0.2))
    assert few.b_interval == (0.0, 1.0)
    assert "next to nothing about b" in few.summary()


def test_the_result_as_plain_data(fit):
    plain = json.loads(json.dumps(fit.to_dict(), allow_nan=False))
    assert plain["b"] == fit.b
    assert plain["b_interval"] == list(fit.b_interval)
    assert plain["observations"] == 400
    assert plain["arms"]["arm 0"]["mean"] == fit.means["arm 0"]
    assert plain["summary"] == fit.summary()
    own = ap.fit_noise(made(0.5), sigma="per-arm").to_dict()
    assert own["sigma_interval"] is None


def test_deviations(fit):
    assert fit.deviation_at(1) == pytest.approx(fit.sigma)
    assert fit.deviation_at(16) == pytest.approx(16**fit.b * fit.sigma)
    assert fit.deviation_at(16, "arm 1") == fit.deviation_at(16)
    low, high = fit.deviation_interval(16)
    assert low < fit.deviation_at(16) < high
    assert fit.deviation_interval(1) == fit.sigma_interval
    own = ap.fit_noise(made(0.5, own=True), sigma="per-arm")
    assert own.deviation_at(1, "arm 1") == pytest.approx(own.sigmas["arm 1"])
    with pytest.raises(ap.InvalidValue, match="'common' for an interval"):
        own.deviation_interval(1)
    with pytest.raises(ap.InvalidValue, match="`amount` must be a number above 0; got 0"):
        fit.deviation_at(0)
    with pytest.raises(ap.InvalidValue, match="`arm` must be one of"):
        fit.deviation_at(1, "nobody")
    with pytest.raises(ap.InvalidValue, match="numbers in"):
        fit.log_likelihood([0.5, 1.5])


@pytest.mark.parametrize("b", [0.0, 0.5, 0.75, 1.0])
@pytest.mark.parametrize("sigma", ["common", "per-arm"])
def test_the_picture(b, sigma, tmp_path):
    figure = ap.fit_noise(made(b, observations=150), c=1.0, sigma=sigma).plot()
    _, left, right = figure.axes
    assert (left.get_xscale(), left.get_yscale()) == ("log", "log")
    assert right.get_xlabel() == "noise exponent b"
    assert "noise" in figure.get_suptitle().lower()
    low, high = right.get_xlim()
    assert 0 <= low < high <= 1
    for path in ap.figures.save(figure, tmp_path / "fit"):
        assert path.stat().st_size > 10_000


# ---- The search ----


def test_the_search_finds_peaks_at_the_ends_and_thin_ones():
    assert highest(lambda b: b) == 1.0
    assert highest(lambda b: -b) == 0.0
    assert highest(lambda b: -np.abs(b - 0.123456789)) == pytest.approx(0.123456789, abs=1e-9)
    assert highest(lambda b: -1e9 * np.square(b - 1 / 3)) == pytest.approx(1 / 3, abs=1e-8)


def test_an_interval_thinner_than_the_grid():
    found = interval(lambda b: -0.5 * np.square((b - 1 / 3) / 1e-5), 1 / 3, 1e-5, 0.95)
    assert found == pytest.approx((1 / 3 - 1.96e-5, 1 / 3 + 1.96e-5), abs=1e-8)


def test_many_observations_stay_within_memory():
    rng = np.random.default_rng(2)
    x = rng.lognormal(size=300_000)
    data = Data(np.zeros(300_000, np.intp), x, x + x**0.7 * rng.standard_normal(300_000), per_arm=False)
    grid = [0.6, 0.65, 0.7, 0.75, 0.8]
    assert np.argmax(data.log_likelihood(grid)) == 2


# ---- The burn-in ----


def test_the_design_is_geometric_and_played_twice():
    amounts = ap.burn_in_design(100, 12)
    assert len(amounts) == 6
    assert (amounts[0], amounts[-1]) == pytest.approx((100, 6.25))
    assert np.diff(np.log(amounts)) == pytest.approx(np.full(5, -math.log(16) / 5))
    assert ap.burn_in_design(1, 6, smallest=0.25) == pytest.approx([1, 0.5, 0.25])


def test_the_burn_in_regression_by_hand():
    a = np.array([1.0, 2.0, 4.0, 8.0])
    gaps = np.array([1.0, -1.5, 2.5, -3.0])
    found = ap.fit_burn_in(a, 5 * a, 5 * a + gaps)
    assert found.slope == pytest.approx(np.polyfit(np.log(a), np.log(np.abs(gaps)), 1)[0])
    spread = np.square(np.log(a) - np.log(a).mean()).sum()
    assert found.slope_error == pytest.approx(math.sqrt(math.pi**2 / 8 / spread))
    assert found.b_error == pytest.approx(math.sqrt(0.5 / spread))
    # At the likelihood's b the weighted squares do not lean to either side.
    weighted = np.square(gaps) * a ** (-2 * found.b)
    assert (weighted @ np.log(a)) / weighted.sum() == pytest.approx(np.log(a).mean(), abs=1e-6)
    assert found.sigma == pytest.approx(math.sqrt(weighted.mean() / 2))
    assert str(found).startswith(f"b = {found.b:.2f} (95% interval ")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (([1, 2, 4], [1.0, 2.0, 3.0], [2.0, 2.0, 4.0]),
         "`second` must differ from `first` in every period, or its logarithm does not exist; got 2 twice at amount "
         "2. Noise of few values does this; fit_noise can use such outcomes."),
        (([1, 2], [1, 2], [2, 3]), "`amounts` must be at least 3 numbers; got [1.0, 2.0]."),
        (([1, 2, 0], [1, 2, 3], [2, 3, 5]),
         "`amounts` must be numbers between 1e-60 and 1e60; got [1.0, 2.0, 0.0]."),
        (([3, 3, 3], [1, 2, 3], [2, 3, 5]),
         "`amounts` must be numbers that differ, or b is not identified; got [3.0, 3.0, 3.0]."),
        (([1, 2, 3], [1, 2], [2, 3, 5]), "`first` must be 3 outcomes, one for each of `amounts`; got '2'."),
        (([1, 2, 3], [1, 2, math.nan], [2, 3, 5]), "`first` must be a list of finite numbers; got [1, 2, nan]."),
        (([1, 2, 3], [1, 2, 3], "abc"), "`second` must be a list of numbers; got 'abc'."),
    ],
)  # fmt: skip
def test_a_burn_in_that_cannot_be_used_gets_one_sentence(arguments, sentence):
    with pytest.raises(ap.InvalidValue) as caught:
        ap.fit_burn_in(*arguments)
    assert str(caught.value) == sentence


@pytest.mark.parametrize("arguments", [(0, 10), (1, 7), (1, 4), (1, 10, 1), (1, 10, 0)])
def test_designs_that_make_no_sense(arguments):
    with pytest.raises(ap.InvalidValue):
        ap.burn_in_design(*arguments)


# ---- The command ----


def apportion(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "apportion", *map(str, arguments)],
        capture_output=True, text=True, encoding="utf-8", check=False,
        env={**os.environ, "COLUMNS": "110", "PYTHONIOENCODING": "utf-8"},
    )  # fmt: skip


@pytest.fixture
def file(table, tmp_path):
    path = tmp_path / "clicks.csv"
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(("day", "channel", "spend", "clicks"))
        writer.writerows((day, *row) for day, row in enumerate(table.itertuples(index=False, name=None)))
    return path


NAMED = ("--arm-column", "channel", "--amount-column", "spend", "--outcome-column", "clicks")


def test_the_command_prints_a_table_sentences_and_a_picture(file, fit):
    done = apportion("fit", file, *NAMED)
    assert done.stderr == ""
    assert done.returncode == 0
    assert "What 400 observations say about each arm" in done.stdout
    assert fit.summary().splitlines()[0] in done.stdout
    picture = file.with_name("clicks-fit.png")
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert f"Pictures: {picture}".replace("\n", "") in done.stdout.replace("\n", "")


def test_the_command_names_options_as_it_has_them(file, tmp_path):
    rng = np.random.default_rng(3)
    rows = [(arm, x, x + scale * x**0.5 * rng.standard_t(2.2)) for arm, scale in (("a", 1), ("b", 30))
            for x in rng.lognormal(size=200)]  # fmt: skip
    said = ap.fit_noise(rows, sigma="common").summary()
    assert "with tails set to measured they are" in said
    assert "compare with sigma set to per-arm" in said
    assert "=" not in said.partition("The noise has heavier tails")[2]
    (tmp_path / "h.csv").write_text(GROUPED)
    done = apportion("fit", tmp_path / "h.csv", "--decimal", "comma", "--json")
    assert json.loads(done.stdout)["observations"] == 6


def test_the_command_says_what_the_law_takes_for_granted(file):
    short, long = (apportion("fit", file, *NAMED, *more).stdout for more in ((), ("--details",)))
    for line in (
        "✓ equal noise: All arms are about equally noisy.",
        "– no weekday pattern: Not tested: the history has",
    ):
        assert line in short
    assert "degrees of freedom, p = " in long
    assert "degrees of freedom" not in short
    assert "One σ for all arms: these data do not tell them apart (p = " in short.replace("\n", " ")
    assert file.with_name("clicks-fit-assumptions.png").read_bytes().startswith(b"\x89PNG")


def test_the_command_takes_given_exponents_and_dates(file, tmp_path):
    found = json.loads(apportion("fit", file, *NAMED, "--c", "1", "--b", "0.5", "--json").stdout)
    assert (found["c"], found["b"], found["c_source"]) == (1.0, 0.5, "given")
    text = file.read_text().replace("day,", "when,")
    rows = [line.split(",", 1) for line in text.splitlines()]
    days = [f"2026-{1 + int(day) // 100:02d}-{1 + int(day) % 28:02d}" for day, _ in rows[1:]]
    (tmp_path / "dated.csv").write_text(
        "\n".join([text.splitlines()[0], *map(",".join, zip(days, (r for _, r in rows[1:])))])
    )
    options = (*NAMED, "--date-column", "when", "--apart", "month", "--json")
    found = json.loads(apportion("fit", tmp_path / "dated.csv", *options).stdout)
    assert found["apart"] == "month"
    assert found["assumptions"][2]["words"] == "Not tested: each month has a mean of its own."
    assert found["assumptions"][3]["holds"] is not None


def test_the_command_for_machines(file, fit):
    target = file.parent / "new folder" / "fit.svg"
    done = apportion("fit", file, *NAMED, "--sigma", "per-arm", "--level", "0.9", "--plot", target, "--json")
    found = json.loads(done.stdout)
    assert found["scale"] == "per-arm"
    assert found["level"] == 0.9
    assert found["picture"] == str(target)
    assert found["b"] == pytest.approx(fit.b, abs=0.05)
    assert target.read_text(encoding="utf-8").startswith("<?xml")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "Row 1: columns named 'arm' and 'amount' and 'outcome' are needed, or say which ones they are "
         "(such as `--arm-column` on the command line, `arm_column` over HTTP, `arm` in Python); found are day, "
         "channel, spend, clicks. Perhaps the date is 'day', the arm is 'channel', the amount is 'spend', the "
         "outcome is 'clicks'.\nType: --date-column day --arm-column channel --amount-column spend "
         "--outcome-column clicks"),
        ((*NAMED, "--sigma", "mine"), "`sigma` must be one of 'auto', 'common', 'per-arm'; got 'mine'."),
        ((*NAMED, "--level", "2"), "`level` must be a number in (0, 1); got 2.0."),
        ((*NAMED, "--plot", "fit.txt"), "`--plot` must be a file that ends in .png, .svg, .pdf; got 'fit.txt'."),
        ((*NAMED, "--plot", "/proc/nothing/fit.png"), "`--plot` must be a file that can be written (No such file or "
         "directory); got '/proc/nothing/fit.png'."),
    ],
)  # fmt: skip
def test_bad_input_gets_one_sentence_and_exit_code_2(file, arguments, sentence):
    done = apportion("fit", file, *arguments)
    assert done.returncode == 2
    assert done.stderr == sentence + "\n"
    assert done.stdout == ""


def test_a_file_that_is_not_there():
    done = apportion("fit", "nowhere.csv")
    assert done.returncode == 2
    assert done.stderr == "The file 'nowhere.csv' cannot be read: No such file or directory.\n"
