"""One operator's year in one go: a workbook as people have it, ten periods, a rule, a plan, undo, the archive."""

from datetime import datetime, timedelta

import numpy as np
import openpyxl
import pytest
from playwright.sync_api import expect

from apportion.campaigns.campaign import Campaign
from browser.watching import accessible

RATES = {"mail": 0.9, "print": 0.5, "radio": 0.7}
PASTE = """(field, text) => {
  const data = new DataTransfer();
  data.setData("text/plain", text);
  field.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
}"""


def workbook(path):
    """Two sheets; days with several rows of one channel, with money as text, without spend, a sale on no spend."""
    book, rng = openpyxl.Workbook(), np.random.default_rng(7)
    book.active.title = "Read me"
    book.active.append(("What", "Who"))
    book.active.append(("spend and sales of the shop", "Anna"))
    sheet = book.create_sheet("Daily")
    sheet.append(("Day", "Channel", "Cost", "Sales"))
    for day in range(56):
        at = datetime(2026, 3, 2) + timedelta(days=day)
        for place, (arm, rate) in enumerate(RATES.items()):
            cost = float(rng.integers(40, 200))
            sales = round(rate * cost + 3.0 * cost**0.5 * rng.standard_normal(), 2)
            if day % 9 == place:
                sheet.append((at, arm, 0, None))
            elif day % 5 == place:
                sheet.append((at, arm, f"€ {cost:.2f}".replace(".", ","), sales))
                sheet.append((at, arm, 10, 0))
            else:
                sheet.append((at, arm, cost, sales))
    sheet.append((datetime(2026, 4, 27), "radio", 0, 12))
    book.save(path)


def came_back(row, at, rng):
    """What an amount brings back, to the cent."""
    amount = float(at("amount", row).inner_text().replace(",", ""))
    return round(RATES[row.get_attribute("data-arm")] * amount + 3.0 * amount**0.5 * rng.standard_normal(), 2)


@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
def test_from_a_workbook_to_the_archive(fresh, visit, tmp_path, phone):
    workbook(tmp_path / "shop.xlsx")
    someone = visit(fresh.url, phone=phone)
    page, at = someone.go("/new"), someone.at
    at("history-file").set_input_files(tmp_path / "shop.xlsx")
    expect(at("sheet")).to_have_value("Daily")
    expect(at("column-outcome")).to_have_value("Sales")
    at("file-period").select_option("week")
    expect(at("look-notes")).to_contain_text("8 weeks in date order")
    expect(at("arm").nth(2)).to_have_value("radio")
    page.get_by_label("Name", exact=True).fill("shop")
    page.get_by_label("Budget per period").fill("1.500,00 €")
    page.get_by_label("Unit", exact=True).fill("EUR")
    page.get_by_label("What comes back is measured in").fill("EUR")
    at("arm-minimum").nth(1).fill("5%")
    at("arm-maximum").nth(0).fill("1200 EUR")
    accessible(page)
    someone.follow(at("create").click)
    expect(at("flash")).to_contain_text("of shop.xlsx were taken in, as 8 splits.")
    expect(at("facts")).to_contain_text("Budget per week")
    expect(at("leader")).to_contain_text("mail")

    kept, rng = Campaign.open("shop", fresh.db), np.random.default_rng(3)
    assert (kept.settings.every, kept.settings.outcome_unit) == ("week", "EUR")
    assert [(arm.minimum, arm.maximum) for arm in kept.arms] == [(0.0, 0.8), (0.05, 1.0), (0.0, 1.0)]
    typed = {}
    for ticket in range(9, 19):
        someone.follow(at("ask").click)
        card = at("ticket", ticket=ticket)
        rows = at("split-row", card)
        found = [came_back(row, at, rng) for row in rows.all()]
        typed[ticket] = dict(zip(rows.evaluate_all("rows => rows.map((row) => row.dataset.arm)"), found))
        if ticket == 10:  # totals so far, replaced later
            at("outcome", rows.nth(0)).fill("11")
            at("provisional", card).check()
            someone.follow(at("record", card).click)
            expect(at("so-far", at("ticket", ticket=ticket))).to_contain_text("so far 11 provisional")
            expect(at("notes")).to_contain_text("Provisional: the totals so far of ticket 10")
            accessible(page)
        if ticket == 11:  # into the text field
            at("paste", card).click()
            at("pasted", card).fill("\n".join(f"{arm}\t{value}" for arm, value in typed[ticket].items()))
        elif ticket % 2:  # a column, into the first field
            at("outcome", rows.nth(0)).evaluate(PASTE, "Sales\r\n" + "\r\n".join(map(str, found)) + "\r\n")
            expect(at("outcome", rows.nth(2))).to_have_value(str(found[2]))
        else:
            for row, value in zip(rows.all(), found):
                at("outcome", row).fill(str(value))
        someone.follow(at("record", at("ticket", ticket=ticket)).click)
        expect(at("flash")).to_have_text(f"Recorded: ticket {ticket} is complete.")
    assert {
        ticket: {line.arm: line.outcome for line in kept.history(ticket, ticket) if line.outcome is not None}
        for ticket in typed
    } == typed
    expect(at("board-row", arm="mail")).to_be_visible()

    form = at("rule-form")
    form.get_by_label("print", exact=True).check()
    form.get_by_label("radio", exact=True).check()
    form.get_by_label("Number").fill("30")
    someone.follow(at("add-rule").click)
    expect(at("rule")).to_contain_text("print + radio")
    assert kept.settings.rules == ("print + radio <= 30%",)
    someone.follow(at("plan-link").click)
    at("plan-goal").fill("2,000.00")
    someone.follow(at("plan-ask").click)
    for sentence in kept.plan(goal=2000).sentences:
        expect(at("plan-words")).to_contain_text(sentence)
    accessible(page)
    someone.go("/campaigns/shop")

    someone.follow(at("ask").click)  # asked for, and not spent
    amounts = {line.arm: line.amount for line in kept.history(19, 19)}
    assert amounts["print"] + amounts["radio"] <= 0.3 * 1500 + 1e-9
    at("cancel").click()
    someone.follow(at("cancel-ticket").click)
    expect(at("flash")).to_contain_text("Ticket 19 is cancelled")
    before = kept.status().spent
    at("undo-import").click()
    someone.follow(at("undo-import-yes").click)
    after = kept.status()
    assert after.spent == pytest.approx(10 * 1500, abs=0.1)
    assert after.spent < before
    assert (after.period, after.open_tickets, kept.check().exact) == (19, (), True)
    accessible(page)

    someone.follow(at("archive").click)
    expect(at("archived")).to_be_visible()
    someone.follow(at("nav-campaigns").click)
    expect(at("campaign-row", campaign="shop")).to_have_count(0)
    someone.follow(at("show-archived").click)
    expect(at("campaign-row", campaign="shop")).to_contain_text("archived")
    accessible(page)
    assert Campaign.names(fresh.db) == ()
