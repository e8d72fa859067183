"""c, b and σ_i of a history together: known values, units, what cannot be told, tests of the assumptions, exports."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

import apportion as ap
from apportion.campaigns.files import export_csv
from apportion.inference.fit.estimate import LOWEST_C
from apportion.inference.fit.likelihood import Data
from apportion.inference.fit.surface import Axis, Surface

C_RANGE, B_RANGE = Axis(LOWEST_C, 1.0), Axis(0.0, 1.0)


def made(c=0.7, b=0.5, *, seed=0, arms=4, periods=80, spread=1.0, sigma=0.5, dates=False, drift=0.0, memory=0.0):
    """A history of the law, a row per period and arm; `drift` of log means over the whole time."""
    rng = np.random.default_rng([seed, arms, periods])
    codes, time = np.tile(np.arange(arms), periods), np.repeat(np.arange(periods), arms)
    x = 5 * np.exp(rng.standard_normal(arms)[codes] + 0.7 * rng.standard_normal(len(codes)))
    noise = rng.standard_normal((periods, arms))
    for period in range(1, periods):
        noise[period] = memory * noise[period - 1] + math.sqrt(1 - memory**2) * noise[period]
    means = np.linspace(1, 3, arms)[codes] * np.exp(drift * time / periods)
    y = means * x**c + sigma * np.geomspace(1, spread, arms)[codes] * x**b * noise.ravel()
    table = pd.DataFrame({"arm": [f"arm {code}" for code in codes], "amount": x, "outcome": y})
    return table.assign(date=pd.Timestamp("2026-01-05") + pd.to_timedelta(time, "D")) if dates else table


def data_of(table, per_arm=True):
    codes = table.arm.astype("category").cat.codes.to_numpy().astype(np.intp)
    return Data(codes, table.amount.to_numpy(), table.outcome.to_numpy(), per_arm=per_arm)


# ---- Known values ----


@pytest.mark.parametrize("per_arm", [False, True])
def test_the_surface_is_the_likelihood_and_its_maximum_the_best(per_arm):
    """Against a general optimiser on the formula written out, b₀ at the estimate."""
    table = made(spread=3.0)
    data = data_of(table)
    surface = Surface(data, C_RANGE, B_RANGE, per_arm=per_arm)
    groups = [(rows.amount.to_numpy(), rows.outcome.to_numpy()) for _, rows in table.groupby("arm")]

    def exact(c, b):
        total, rest, free = 0.0, 0.0, 0
        for x, y in groups:
            information = (x ** (2 * c - 2 * b)).sum()
            left = ((y - (x ** (c - 2 * b) @ y) / information * x**c) ** 2 / x ** (2 * b)).sum()
            total -= b * np.log(x).sum() + 0.5 * math.log(information)
            total += 0.5 * math.log((x ** (2 * c - 2 * surface.b)).sum())
            if per_arm:
                total -= (len(x) - 1) / 2 * math.log(left / (len(x) - 1))
            rest, free = rest + left, free + len(x) - 1
        return total if per_arm else total - free / 2 * math.log(rest / free)

    best = minimize(lambda at: -exact(*at), (0.6, 0.4), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-11})
    assert (surface.c, surface.b) == pytest.approx(best.x, abs=1e-5)
    top = exact(surface.c, surface.b)
    for c in surface.c_axis.points(5):
        for b in surface.b_axis.points(5):
            assert surface.values(np.array([c]), np.array([b]))[0, 0] == pytest.approx(exact(c, b) - top, abs=1e-4)
    for curve, direct, points in (
        (surface.profile_c, surface.along_c, surface.c_axis.points(9)),
        (surface.profile_b, surface.along_b, surface.b_axis.points(9)),
    ):
        assert curve(points) == pytest.approx(direct(data, points), abs=1e-4)


def test_the_information_about_c_is_the_curvature():
    """With much data the profile of c bends as the expected information says."""
    data = data_of(made(periods=1500, arms=3), per_arm=False)
    surface = Surface(data, C_RANGE, B_RANGE, per_arm=False)
    scales = np.full(3, math.sqrt(data.at(surface.c, surface.b).residual.sum() / data.dof))
    information = float(data.mean_information(surface.c, surface.b, scales).sum())
    step = 1 / math.sqrt(information)
    drops = surface.profile_c(surface.c + np.array([-step, step]))
    assert drops == pytest.approx([-0.5, -0.5], rel=0.03)


def test_c_and_b_are_recovered():
    """2000 periods, 4 standard errors."""
    for c, b in ((0.3, 0.8), (0.6, 0.2), (0.9, 0.5), (1.0, 1.0)):
        found = ap.fit_noise(made(c, b, periods=2000, spread=5.0))
        assert abs(found.c - c) < 4 * found.c_error
        assert abs(found.b - b) < 4 * found.b_error
        assert found.scale == "per-arm"
        assert list(found.sigmas.values()) == pytest.approx(0.5 * np.geomspace(1, 5, 4), rel=0.15)
        assert found.c_source == "estimated"


def test_units_change_nothing_but_units():
    table = made(spread=3.0)
    base = ap.fit_noise(table)
    for unit in (1e-12, 1e9):
        found = ap.fit_noise(table.assign(amount=unit * table.amount, outcome=7 * table.outcome))
        for name in ("c", "b", "c_error", "b_error"):
            assert getattr(found, name) == pytest.approx(getattr(base, name), abs=1e-6)
        assert found.c_interval == pytest.approx(base.c_interval, abs=1e-6)
        assert found.mean_at(3 * unit, "arm 1") == pytest.approx(7 * base.mean_at(3, "arm 1"), rel=1e-5)
        assert found.deviation_at(3 * unit, "arm 1") == pytest.approx(7 * base.deviation_at(3, "arm 1"), rel=1e-5)
        for one, other in zip(found.assumptions, base.assumptions):
            assert one.statistic == pytest.approx(other.statistic, rel=1e-4, nan_ok=True)


def test_given_exponents_stay_and_the_other_is_estimated_at_them():
    table = made(0.7, 0.5)
    free = ap.fit_noise(table)
    held = ap.fit_noise(table, c=0.7)
    assert (held.c, held.c_interval, held.c_source) == (0.7, (0.7, 0.7), "given")
    assert held.b == pytest.approx(free.b, abs=0.05)
    fixed = ap.fit_noise(table, b=0.5)
    assert (fixed.b, fixed.b_interval) == (0.5, (0.5, 0.5))
    assert fixed.c == pytest.approx(free.c, abs=0.03)
    assert fixed.plot().axes[2].get_xlabel() == "exponent of the mean c"
    assert ap.fit_noise(table, c=0.7, b=0.9).b == 0.9  # b above c is a finding, not an error


def test_the_likelihoods_have_fallen_at_the_ends_of_the_intervals():
    found = ap.fit_noise(made(0.6, 0.5, arms=1, periods=400))
    assert found.log_likelihood(found.b_interval) == pytest.approx([-1.920729] * 2, abs=1e-4)
    assert found.log_likelihood_of_c(found.c_interval) == pytest.approx([-1.920729] * 2, abs=0.02)
    with pytest.raises(ap.InvalidValue, match=r"`c` must be numbers in \[0.05, 1\]"):
        found.log_likelihood_of_c(1.5)


# ---- What cannot be told ----


def test_amounts_that_vary_only_between_arms_leave_c_open():
    rng = np.random.default_rng(1)
    amounts = [1.0, 4.0, 16.0]
    rows = [(f"{x:g}", x, 2 * x + x**0.5 * rng.standard_normal()) for _ in range(30) for x in amounts]
    found = ap.fit_noise(rows)
    assert (found.c, found.c_interval, found.c_source) == (1.0, (LOWEST_C, 1.0), "assumed")
    assert found.b == ap.fit_noise(rows, c=1.0, sigma="common").b
    assert "c = 1 is assumed: these amounts vary too little" in found.summary()
    assert found.to_dict()["c_error"] is None
    assert found.assumptions[0].holds is None
    assert found.plot_assumptions().axes


def test_an_arm_that_never_returns_anything_is_left_out_of_the_noise():
    table = made(spread=3.0)
    dead = pd.DataFrame({"arm": "dead", "amount": [1.0, 2.0, 3.0, 5.0], "outcome": 0.0})
    found, without = ap.fit_noise(pd.concat([table, dead])), ap.fit_noise(table)
    assert (found.c, found.b) == pytest.approx((without.c, without.b), abs=1e-7)
    assert found.means["dead"] == 0.0
    assert found.deviation_at(2.0, "dead") == 0.0
    assert np.isnan(found.residuals[-4:]).all()
    assert len(found.assumptions) == 5
    assert found.plot().axes


def test_an_exact_power_has_no_noise():
    x = np.array([1.0, 2, 3, 5, 8, 13, 21, 34, 55, 89])
    with pytest.raises(ap.InvalidValue, match="must have noise in the outcomes; got a power of the amounts exactly"):
        ap.fit_noise({"arm": ["a"] * 10, "amount": x, "outcome": 3 * x**0.6})


def test_outcomes_that_do_not_depend_on_the_amount():
    rng = np.random.default_rng(4)
    rows = [("a", x, 5 + 0.5 * rng.standard_normal()) for x in rng.lognormal(size=100)]
    found = ap.fit_noise(rows)
    assert found.c == pytest.approx(LOWEST_C, abs=0.03)
    assert "outcomes hardly depend on the amount" in found.summary()
    assert "c − 1/2 = -0.4" in found.summary()


# ---- The tests of the assumptions ----


def by_name(found):
    return {test.name: test for test in found.assumptions}


def test_where_all_holds_nothing_is_rejected():
    found = ap.fit_noise(made(1.0, 0.5, dates=True))
    assert [test.holds for test in found.assumptions] == [True] * 5
    assert all(0.01 <= test.p_value <= 1 for test in found.assumptions)


def test_p_values_are_uniform_where_the_law_holds():
    """200 histories: each test rejects at 10% between 2 and 24 percent of the time, a range of 5 standard errors."""
    p_values = np.array(
        [
            [test.p_value for test in ap.fit_noise(made(1.0, 0.5, seed=run, periods=28, dates=True)).assumptions]
            for run in range(200)
        ]
    )
    rejected = (p_values < 0.1).mean(axis=0)
    assert (rejected > 0.02).all()
    assert (rejected < 0.22).all(), rejected


@pytest.mark.parametrize(
    ("options", "name", "words"),
    [
        ({"c": 0.6}, "proportional returns", "Returns diminish: twice the amount brings 1.5"),
        ({"c": 1.0, "spread": 20.0}, "equal noise", "Some arms are much noisier than others: the noisiest "),
        ({"c": 1.0, "drift": 0.6}, "no drift", "Returns move over time: a typical arm by a factor of 1."),
        ({"c": 1.0, "memory": 0.6}, "no memory", "A good period is followed by another good one (correlation 0.6"),
        ({"c": 1.0, "memory": -0.6}, "no memory", "Good and bad periods take turns (correlation -0.5"),
    ],
)
def test_each_assumption_that_fails_is_found_and_said(options, name, words):
    test = by_name(ap.fit_noise(made(b=0.5, dates=True, **options)))[name]
    assert test.holds is False
    assert test.p_value < 1e-4
    assert test.words.startswith(words), test.words
    assert test.details.endswith("p < 0.0001")


def test_returns_that_grow_faster_than_the_amount():
    rng = np.random.default_rng(2)
    x = rng.lognormal(size=200)
    found = ap.fit_noise({"arm": ["a"] * 200, "amount": x, "outcome": 3 * x**1.4 + 0.3 * rng.standard_normal(200)})
    assert found.c == 1.0
    assert found.assumptions[0].effect == pytest.approx(1.4, abs=0.05)
    assert "grow faster than the amount" in found.assumptions[0].words
    assert "an exponent of 1.4" in found.summary()
    assert "grow in proportion" not in found.summary()


def test_a_weekday_pattern_is_found_with_its_days():
    table = made(1.0, 0.5, dates=True)
    sunday = table.date.dt.day_name() == "Sunday"
    found = by_name(ap.fit_noise(table.assign(outcome=table.outcome * np.where(sunday, 0.7, 1.0))))
    test = found["no weekday pattern"]
    assert test.holds is False
    assert "Sunday -2" in test.words
    assert test.effect == pytest.approx(1 / 0.7, abs=0.15)
    weekly = table.assign(date=table.date.iloc[0] + 7 * (table.date - table.date.iloc[0]))
    assert by_name(ap.fit_noise(weekly))["no weekday pattern"].words == "Not tested: it takes two weeks of days."
    assert by_name(ap.fit_noise(table.drop(columns="date")))["no weekday pattern"].holds is None


def test_the_order_of_time_is_that_of_the_dates():
    table = made(1.0, 0.5, dates=True, drift=0.6)
    mixed = table.sample(frac=1, random_state=1)
    base, dated, undated = (ap.fit_noise(rows) for rows in (table, mixed, mixed.drop(columns="date")))
    assert by_name(dated)["no drift"].statistic == pytest.approx(by_name(base)["no drift"].statistic, rel=1e-6)
    assert by_name(undated)["no drift"].holds


def test_months_taken_apart_undo_a_drift():
    """Means that jump between months, towards where the amounts are large: c looks larger than it is."""
    table = made(0.6, 0.5, dates=True, periods=90)
    month = table.date.dt.month - 1
    moved = table.assign(amount=table.amount * 3.0**month, outcome=table.outcome * (3.0**0.6 * 2.0) ** month)
    whole, apart = ap.fit_noise(moved), ap.fit_noise(moved, apart="month")
    assert whole.c > 0.8
    assert apart.c == pytest.approx(0.6, abs=0.1)
    assert by_name(whole)["no drift"].holds is False
    assert by_name(apart)["no drift"].words == "Not tested: each month has a mean of its own."
    assert ap.fit_noise(moved, apart="week").c == pytest.approx(0.6, abs=0.1)


def test_everything_as_plain_data():
    plain = json.loads(json.dumps(ap.fit_noise(made(dates=True)).to_dict(), allow_nan=False))
    assert [test["name"] for test in plain["assumptions"]] == [
        "proportional returns", "equal noise", "no drift", "no weekday pattern", "no memory",
    ]  # fmt: skip
    assert plain["c_interval"][0] < plain["c"] < plain["c_interval"][1]
    assert "shown" not in plain["assumptions"][0]


@pytest.mark.parametrize("table", [made(dates=True), made(1.0, 0.0), made(0.5, 1.0, arms=20, periods=12)])
def test_the_pictures(table, tmp_path):
    found = ap.fit_noise(table)
    figure = found.plot()
    assert [ax.get_xlabel() for ax in figure.axes] == ["amount", "amount", "exponent of the mean c"]
    assert len(found.plot_assumptions().axes) == 5
    for path in ap.figures.save(found.plot_assumptions(), tmp_path / "tests"):
        assert path.stat().st_size > 5_000


# ---- Our own export ----


def test_an_export_with_open_rows_can_be_fitted(tmp_path):
    campaign = ap.Campaign.create(
        "ads", ("search", "=social", "video"), budget=5000, seed=7, db=tmp_path / "campaigns.db"
    )
    rng = np.random.default_rng(1)
    for _ in range(12):
        split = campaign.split()
        outcomes = {name: 2 * x**0.8 + x**0.5 * rng.standard_normal() for name, x in split.amounts.items()}
        campaign.record(split.ticket, outcomes)
    campaign.split()
    path = tmp_path / "ads.csv"
    path.write_text(export_csv(campaign), encoding="utf-8")
    found = ap.fit_noise(path)
    assert (found.observations, found.pending) == (36, 0)  # advice that nobody said was spent is no amount
    assert set(found.means) == {"search", "=social", "video"}
    assert "without an outcome" not in found.summary()


@pytest.mark.parametrize("empty", ["", "no data", "N/A", None, math.nan])
def test_rows_without_an_outcome_are_counted(empty):
    table = made()
    rows = [*table.to_dict("records"), {"arm": "arm 0", "amount": 3.0, "outcome": empty}]
    found = ap.fit_noise(rows)
    assert found.pending == 1
    assert found.b == ap.fit_noise(table).b
