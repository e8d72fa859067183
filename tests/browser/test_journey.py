"""From the first visit to the tenth recorded period and beyond, as people do it."""

import csv
import io
from datetime import datetime

import numpy as np
import openpyxl
import pytest
from playwright.sync_api import expect

from apportion.campaigns.campaign import Campaign
from browser.watching import accessible

MEANS = {"search": 1.4, "social": 1.1, "video": 0.8}
EVEN = {"b": 0.5, "sigma": 2.0, "seed": 4, "minimum": {"a": 0.3, "b": 0.3}}


def fill_outcomes(visit, ticket, rng):
    """Type what came back into every open field of a ticket; returns what was typed."""
    typed = {}
    card = visit.at("ticket", ticket=ticket)
    for row in visit.at("split-row", card).all():
        arm = row.get_attribute("data-arm")
        amount = float(visit.at("amount", row).inner_text().replace(",", ""))
        if visit.at("outcome", row).count():
            typed[arm] = round(MEANS[arm] * amount + 3.0 * amount**0.5 * rng.standard_normal(), 2)
            visit.at("outcome", row).fill(str(typed[arm]))
    return typed


def test_from_the_first_visit_to_the_tenth_recorded_period(fresh, visit):
    someone = visit(fresh.url)
    page, at = someone.go("/"), someone.at
    expect(at("empty")).to_contain_text("No campaigns yet")
    someone.follow(at("new-campaign").click)
    page.get_by_label("Name", exact=True).fill("ads 2027")
    page.get_by_label("Budget per period").fill("5000")
    page.get_by_label("Unit", exact=True).fill("EUR")
    at("add-row").click()
    for place, name in enumerate(MEANS):
        at("arm").nth(place).fill(name)
    page.get_by_label("How often is it split?").select_option("week")
    page.get_by_label("What comes back is measured in").fill("orders")
    someone.follow(at("create").click)

    expect(at("campaign-name")).to_have_text("ads 2027")
    expect(at("flash")).to_contain_text("Ask for its first split")
    expect(at("board-empty")).to_be_visible()
    rng, typed = np.random.default_rng(1), {}
    for period in range(1, 11):
        someone.follow(at("ask").click)
        expect(at("ticket", ticket=period)).to_be_visible()
        amounts = [float(text.replace(",", "")) for text in at("amount").all_inner_texts()]
        assert sum(amounts) == pytest.approx(5000, abs=0.02)
        typed[period] = fill_outcomes(someone, period, rng)
        someone.follow(at("record").click)
        expect(at("flash")).to_have_text(f"Recorded: ticket {period} is complete.")
        expect(at("period")).to_have_text(str(period))
        expect(at("open-count")).to_have_text("0")
    expect(at("leader")).to_contain_text("search")
    expect(at("mean")).to_have_count(3)
    expect(at("regret")).to_contain_text("per week")
    expect(at("history-row")).to_have_count(10)

    for view in ("best", "shares", "means"):
        page.get_by_test_id("chart-switch").locator(f"input[value={view}]").check()
        expect(at("chart")).to_have_attribute("data-view", view)
        expect(at("chart").locator(".scatterlayer .trace").nth(2)).to_be_attached()
    someone.follow(at("nav-campaigns").click)
    row = at("campaign-row", campaign="ads 2027")
    expect(row).to_contain_text("search")
    expect(row).to_contain_text("10 splits")

    # What the page took in is what the library reads from the same file.
    kept = Campaign.open("ads 2027", fresh.db)
    assert {
        period: {line.arm: line.outcome for line in kept.history(period, period) if line.outcome is not None}
        for period in typed
    } == typed
    assert kept.check().ok


def test_amend_keeps_the_old_value_and_changes_the_mean(ready, db):
    campaign = Campaign.create("to amend", ("a", "b"), budget=100, db=db, **EVEN)
    for _ in range(3):
        split = campaign.split()
        campaign.record(split.ticket, dict.fromkeys(split.amounts, 50.0))
    page, at = ready.go("/campaigns/to%20amend"), ready.at
    before = at("mean", at("board-row", arm="a")).inner_text()
    ready.follow(at("amend-link", at("history-row", ticket=2)).click)
    row = at("amend-row", arm="a")
    expect(at("amend-outcome", row)).to_have_value("50")
    with ready.refusal(422):
        ready.follow(at("amend").click)
        expect(at("error")).to_contain_text("Nothing was changed")
    at("amend-outcome", row).fill("75,5")
    ready.follow(at("amend").click)
    expect(at("flash")).to_have_text("Ticket 2 was corrected for a.")
    assert at("mean", at("board-row", arm="a")).inner_text() != before
    expect(page.get_by_text("ticket 2 amended (a)")).to_be_visible()
    ready.go("/campaigns/to%20amend/tickets/2")
    expect(at("amend-row", arm="a")).to_contain_text("50 from")
    assert [line.outcome for line in campaign.history(2, 2) if line.arm == "a"] == [75.5]


def test_pause_bound_add_and_remove_an_arm_and_change_a_setting(ready, db):
    campaign = Campaign.create("arms", ("a", "b", "c"), budget=90, b=0.5, sigma=1, seed=4, db=db)
    page, at = ready.go("/campaigns/arms"), ready.at
    ready.follow(at("pause", at("arm-row", arm="c")).click)
    expect(at("arm-row", arm="c")).to_contain_text("paused")
    ready.follow(at("ask").click)
    assert "c" not in campaign.explain(1).amounts or campaign.explain(1).amounts["c"] == 0
    ready.follow(at("resume", at("arm-row", arm="c")).click)
    expect(at("arm-row", arm="c")).to_contain_text("active")
    at("minimum", at("arm-row", arm="b")).fill("40")
    ready.follow(at("bound", at("arm-row", arm="b")).click)
    expect(at("flash")).to_contain_text("b")
    page.get_by_label("New arm").fill("d")
    ready.follow(at("add-arm").click)
    expect(at("arm-row", arm="d")).to_be_visible()
    at("remove", at("arm-row", arm="a")).click()
    ready.follow(at("remove-yes", at("arm-row", arm="a")).click)
    expect(at("arm-row", arm="a")).to_have_count(0)
    ready.follow(at("ask").click)
    amounts = campaign.explain(2).amounts
    assert amounts["b"] >= 36 - 1e-9
    assert "a" not in amounts or amounts["a"] == 0
    page.get_by_label("Budget per period").fill("120")
    ready.follow(at("save-settings").click)
    expect(at("facts")).to_contain_text("120")
    with ready.refusal(422):
        page.get_by_label("Budget per period").fill("-3")
        ready.follow(at("save-settings").click)
        expect(at("error")).to_contain_text("-3")
    assert campaign.settings.budget == 120


def test_partial_outcomes_another_budget_no_data_and_giving_up(ready, db):
    campaign = Campaign.create("slow", ("a", "b"), budget=100, unit="EUR", db=db, **EVEN)
    page, at = ready.go("/campaigns/slow"), ready.at
    page.get_by_label("if it differs").fill("250")
    ready.follow(at("ask").click)
    expect(at("ticket", ticket=1)).to_contain_text("250 EUR")
    with ready.refusal(422):
        ready.follow(at("record").click)
        expect(at("error")).to_contain_text("Type at least one outcome")
    with ready.refusal(422):
        at("outcome", at("split-row", arm="a")).fill("much")
        ready.follow(at("record").click)
        expect(at("error")).to_contain_text("must be a number such as 812.50; got 'much'.")
    expect(at("outcome", at("split-row", arm="a"))).to_have_value("much")
    at("outcome", at("split-row", arm="a")).fill("130")
    at("spent", at("split-row", arm="a")).fill("99")
    ready.follow(at("record").click)
    expect(at("flash")).to_contain_text("stays open")
    at("nothing", at("split-row", arm="b")).check()
    ready.follow(at("record").click)
    expect(at("flash")).to_have_text("Recorded: ticket 1 is complete.")
    assert next((line.arm, line.amount, line.outcome) for line in campaign.history(1, 1)) == ("a", 99.0, 130.0)
    ready.follow(at("ask").click)
    page.get_by_text("No result will come…").click()
    ready.follow(at("close-ticket").click)
    expect(at("flash")).to_contain_text("Ticket 2 is closed")
    assert campaign.open_tickets == ()


def test_wizard_with_a_history(ready, db, tmp_path):
    rng = np.random.default_rng(5)
    rows = [
        (f"2026-{1 + n // 28:02d}-{1 + n % 28:02d}", arm, round(float(amount), 2))
        for n in range(60)
        for arm, amount in zip(("mail", "print"), rng.uniform(20, 400, 2))
    ]
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(("date", "arm", "amount", "outcome"))
    for date, arm, amount in rows:
        noise = 2.0 * amount**0.5 * rng.standard_normal()
        writer.writerow((date, arm, amount, round((1.2 if arm == "mail" else 0.9) * amount + noise, 4)))
    good, bad = tmp_path / "history.csv", tmp_path / "bad.csv"
    good.write_text(text.getvalue())
    bad.write_text("arm,money\nmail,3\n")

    page, at = ready.go("/new"), ready.at
    page.get_by_label("Name", exact=True).fill("from history")
    page.get_by_label("Budget per period").fill("500")
    at("history-file").set_input_files(bad)
    expect(at("look-problem")).to_contain_text("Choose the column of the date")
    at("history-file").set_input_files(good)
    expect(at("look-notes")).to_contain_text("120 rows, 60 dates in date order, from 2026-01-01 to 2026-03-04.")
    expect(at("file-rows").locator("tbody tr")).to_have_count(6)
    expect(at("arm").nth(0)).to_have_value("mail")
    at("preview-button").click()
    expect(at("preview-sentence").first).to_be_visible()
    expect(page.locator("#preview-shares .scatterlayer .trace")).to_have_count(2)
    accessible(page)
    expect(at("take-in")).to_be_checked()
    ready.follow(at("create").click)
    expect(at("flash")).to_contain_text("120 rows of history.csv were taken in, as 60 splits")
    expect(at("leader")).to_contain_text("mail")
    assert Campaign.open("from history", db).period == 60
    ready.follow(at("ask").click)
    expect(at("ticket", ticket=61)).to_be_visible()


def test_a_workbook_as_people_have_it(ready, db, tmp_path):
    book = openpyxl.Workbook()
    book.active.title = "Notes"
    book.active.append(("What", "Why"))
    sheet = book.create_sheet("Spend")
    sheet.append(("Day", "Channel", "Cost", "Clicks", "Sales"))
    for day in range(1, 29):
        sheet.append((datetime(2026, 2, day), "mail", "€ 1.200,50", day, 900 + day))
        sheet.append((datetime(2026, 2, day), "mail", 100, 0, None))
        sheet.append((datetime(2026, 2, day), "print", 0 if day % 7 == 0 else 250, 1, 300 - day))
    book.save(tmp_path / "spend.xlsx")
    campaign = Campaign.create("book", ("mail",), budget=1000, db=db, b=0.5, sigma=2.0, seed=4)

    page, at = ready.go("/campaigns/book"), ready.at
    at("import-link").click()
    at("history-file").set_input_files(tmp_path / "spend.xlsx")
    expect(at("sheet")).to_have_value("Spend")
    at("sheet").select_option("Notes")
    expect(at("look-problem")).to_be_visible()
    at("sheet").select_option("Spend")
    expect(at("column-amount")).to_have_value("Cost")
    expect(at("column-outcome")).to_have_value("Sales")
    expect(at("look-notes")).to_contain_text("84 rows, 28 dates")
    at("column-outcome").select_option("Clicks")
    at("file-period").select_option("week")
    expect(at("look-notes")).to_contain_text("84 rows, 5 weeks in date order, from 2026-01-26 to 2026-02-23.")
    at("column-outcome").select_option("Sales")
    expect(at("look-notes")).to_contain_text("Rows of one week and arm were summed")
    accessible(page)
    with ready.refusal(422):
        at("import").click()
        expect(at("error")).to_contain_text("arm 'print' is not known; the arms are mail.")
    at("history-file").set_input_files(tmp_path / "spend.xlsx")
    expect(at("look-notes")).to_contain_text("5 weeks")
    at("add-arms").check()
    ready.follow(at("import").click)
    expect(at("flash")).to_contain_text("84 rows of spend.xlsx were taken in, as 5 splits.")
    assert (campaign.period, [arm.name for arm in campaign.arms]) == (5, ["mail", "print"])


def test_two_browsers_see_each_other_live(visit, served, db):
    campaign = Campaign.create("shared", ("a", "b"), budget=100, db=db, **EVEN)
    here, there = visit(served.url), visit(served.url)
    here.go("/campaigns/shared")
    there.go("/campaigns/shared")
    there.page.get_by_label("New arm").fill("half-typed")
    here.follow(here.at("ask").click)
    expect(there.at("ticket", ticket=1)).to_be_visible()
    expect(there.at("live-note")).to_contain_text("ticket 1 was issued")
    there.at("outcome", there.at("split-row", arm="b")).fill("61")
    here.at("outcome", here.at("split-row", arm="a")).fill("55")
    here.follow(here.at("record").click)
    expect(there.at("live-note")).to_contain_text("outcomes of ticket 1 were recorded")
    # What the other one was typing is still there.
    expect(there.at("outcome", there.at("split-row", arm="b"))).to_have_value("61")
    expect(there.page.get_by_label("New arm")).to_have_value("half-typed")
    there.follow(there.at("record").click)
    expect(here.at("open-count")).to_have_text("0")
    here.go("/")
    campaign.split()  # by a program
    expect(here.at("campaign-row", campaign="shared")).to_contain_text("1 open")
