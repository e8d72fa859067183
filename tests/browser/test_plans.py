"""Plans and forecasts as people use them: words, charts, the slider, a calendar, and how forecasts did."""

from urllib.parse import quote

import numpy as np
import pytest
from playwright.sync_api import expect

from apportion.campaigns.campaign import Campaign
from apportion.campaigns.plan_words import ranged
from browser.watching import accessible

MEANS = {"search": 12.0, "social": 9.0, "video": 6.0}


def spend(campaign, budget, rng, date=None):
    split = campaign.split(budget, date=date)
    campaign.record(split.ticket, {
        arm: round(MEANS[arm] * amount**0.7 + 2 * amount**0.5 * rng.standard_normal(), 2)
        for arm, amount in split.amounts.items() if amount > 0
    }, confirm=True)  # fmt: skip


def begun(db, name):
    campaign = Campaign.create(name, MEANS, budget=1000, unit="EUR", policy="recommended", b=0.5, c=0.7, sigma=2.0,
                               seed=7, db=db)  # fmt: skip
    rng = np.random.default_rng(3)
    for _ in range(10):
        spend(campaign, float(rng.integers(500, 2000)), rng)
    return campaign, rng


@pytest.mark.parametrize("size", [(1200, 900), (390, 800)])
def test_a_plan_is_asked_for_and_walked_through(visit, served, db, size):
    name = f"plan {size[0]}"
    campaign, _ = begun(db, name)
    someone = visit(served.url, viewport={"width": size[0], "height": size[1]})
    page, at = someone.go(f"/campaigns/{quote(name)}"), someone.at
    someone.follow(at("plan-link").click)
    expect(at("plan-words")).to_contain_text("Returns diminish: twice the budget")
    at("plan-target").fill("1.2")
    at("plan-goal").fill("2,500.00")
    someone.follow(at("plan-ask").click)
    plan = campaign.plan(target=1.2, goal=2500)
    for sentence in plan.sentences:
        expect(at("plan-words")).to_contain_text(sentence)
    for chart in ("plan-return", "plan-marginal-chart"):
        expect(at(chart).locator(".scatterlayer .trace").nth(2)).to_be_attached()
    expect(at("plan-curve")).to_have_count(3)
    expect(at("plan-curve").nth(2).locator(".scatterlayer .points path").nth(9)).to_be_attached()
    accessible(page)
    # The slider: any budget, its split and what it brings.
    expect(at("plan-any-value")).to_have_text("1,000 EUR")
    at("plan-slider").focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    budget = float(at("plan-any-value").inner_text().removesuffix(" EUR").replace(",", ""))
    assert budget == 1250
    amounts = [float(text.replace(",", "")) for text in at("plan-amount").all_inner_texts()]
    assert sum(amounts) == pytest.approx(budget, abs=0.02)
    row = next(row for row in plan.budgets if row.budget == budget)
    for said in (row[1:4], row[4:7]):
        expect(at("plan-any-words")).to_contain_text(ranged(*said))
    page.keyboard.press("Home")
    expect(at("plan-any-value")).to_have_text("50 EUR")


def test_what_is_typed_wrong_is_said_beside_it_and_a_young_campaign_has_no_plan(visit, served, db):
    Campaign.create("young", ("a", "b"), budget=100, db=db, seed=1)
    begun(db, "asked wrong")
    someone = visit(served.url)
    page, at = someone.go("/campaigns/young/plan"), someone.at
    expect(at("error")).to_contain_text("No outcome was recorded yet")
    accessible(page)
    page = someone.go("/campaigns/young/forecast")
    expect(at("past-words")).to_have_text("No forecast was made yet.")
    with someone.refusal(422):
        someone.follow(at("forecast-make").click)
    expect(at("error")).to_contain_text("a forecast starts from them")
    someone.go("/campaigns/asked%20wrong/plan")
    at("plan-goal").fill("lots")
    with someone.refusal(422):
        someone.follow(at("plan-ask").click)
    expect(at("error")).to_contain_text("must be a number such as 812.50; got 'lots'")
    someone.go("/campaigns/asked%20wrong/forecast")
    at("forecast-budgets").fill("2027-01-04, 1000\n2027-01-04, 2000")
    with someone.refusal(422):
        someone.follow(at("forecast-make").click)
    expect(at("error")).to_contain_text("The date '2027-01-04' is given twice in the calendar.")
    expect(at("forecast-budgets")).to_have_value("2027-01-04, 1000\n2027-01-04, 2000")


@pytest.mark.parametrize("size", [(1200, 900), (390, 800)])
def test_a_forecast_from_a_calendar_is_kept_and_held_against_what_comes(visit, served, db, size, tmp_path):
    name = f"forecast {size[0]}"
    campaign, rng = begun(db, name)
    someone = visit(served.url, viewport={"width": size[0], "height": size[1]})
    page, at = someone.go(f"/campaigns/{quote(name)}"), someone.at
    someone.follow(at("forecast-link").click)
    at("forecast-budgets").fill("2027-01-04, 1000\n2027-01-11, 1500")
    someone.follow(at("forecast-make").click)
    expect(at("flash")).to_have_text("The forecast is made, and kept.")
    expect(at("forecast-words")).to_contain_text("The next 2 periods, 2,500 EUR in all: about ")
    expect(at("forecast-row")).to_have_count(2)
    expect(at("forecast-chart").locator(".scatterlayer .trace").nth(2)).to_be_attached()
    at("forecast-assumes").locator("summary").click()
    expect(at("forecast-assumes")).to_contain_text("Splits are spent as advised")
    accessible(page)
    file = tmp_path / "budgets.csv"
    file.write_text("date;budget\n2027-02-01;1.000,50 €\n", encoding="utf-8")
    at("forecast-file").set_input_files(file)
    someone.follow(at("forecast-make").click)
    expect(at("forecast-words")).to_contain_text("The next 1 period, 1,000.5 EUR in all")
    expect(at("past-row")).to_have_count(2)
    spend(campaign, 1000, rng, "2027-01-04")
    spend(campaign, 1500, rng, "2027-01-11")
    page.reload()
    someone.follow(at("past-row").nth(1).get_by_role("link").click)
    expect(at("past-words")).to_contain_text(
        "of 2 periods with results came out within the range; nine of ten should."
    )
    expect(at("forecast-row").first).to_contain_text("2027-01-04")
    expect(at("forecast-row").first.locator(".tag")).to_have_text("within")
    expect(at("forecast-chart").locator(".scatterlayer .trace").nth(3)).to_be_attached()
    accessible(page)


@pytest.mark.parametrize("size", [(1200, 900), (390, 800)])
def test_a_forecast_of_many_arms_with_long_names_fits(visit, fresh, size):
    names = [f"Prospecting lookalike purchasers {place} of the European markets" for place in range(8)]
    campaign = Campaign.create(
        "long", names, budget=9000, unit="EUR", policy="uniform", sigma=2.0, db=fresh.db, seed=1
    )
    for period in range(4):
        split = campaign.split()
        campaign.record(split.ticket, {arm: (2.0 + period) * x for arm, x in split.amounts.items()}, confirm=True)
        if period == 1:
            campaign.forecast(periods=3, worlds=4)
    someone = visit(fresh.url, viewport={"width": size[0], "height": size[1]})
    someone.go("/campaigns/long/forecast")
    expect(someone.at("forecast-row").first.locator(".tag")).to_have_text("outside")
    accessible(someone.page)
