"""Charts: values under the pointer, saved as picture and as numbers, many arms, long names; and pages on paper."""

import csv
import io
from urllib.parse import quote

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect
from running import until

from apportion.campaigns.campaign import Campaign
from browser.test_looks import drawn
from browser.watching import accessible, fits

ARMS = [f"arm {number}" for number in range(13)] + [
    "=SUM(A1) of a channel with a long name, that goes on and on " * 2 + "and on"
]


@pytest.fixture(scope="module")
def arms(served, db):
    """The page of a campaign with more arms than colours, one of them with a long name; two periods, one recorded."""
    campaign = Campaign.create("fourteen", ARMS, budget=1400, unit="EUR", b=0.5, sigma=1, seed=1, db=db)
    for _ in range(2):
        split = campaign.split()
        campaign.record(split.ticket, {arm: 0.00001 * amount for arm, amount in split.amounts.items() if amount > 0})
    campaign.split()
    return f"{served.url}/campaigns/{quote('fourteen')}"


def choose(visit, view):
    visit.at("chart-switch").locator(f"input[value={view}]").check()
    expect(visit.at("chart")).to_have_attribute("data-view", view)
    drawn(visit)


def saved(visit, kind):
    """The name and the content of the file that a button below the chart of the campaign saves."""
    with visit.page.expect_download() as download:
        visit.at(f"save-{kind}").click()
    with open(download.value.path(), "rb") as file:
        return download.value.suggested_filename, file.read()


def test_a_chart_is_saved_as_a_picture_and_as_numbers(visit, arms):
    someone = visit(arms)
    someone.go(arms)
    for view in ("means", "best", "shares"):
        choose(someone, view)
        name, content = saved(someone, "png")
        assert name == f"fourteen-Over-time-{view}.png"
        with Image.open(io.BytesIO(content)) as picture:
            assert picture.width > 1000
            assert len(picture.convert("RGB").getcolors(1 << 24)) > 12  # no blank sheet
            assert picture.convert("RGBA").getpixel((2, 2)) == (255, 255, 255, 255)
        name, content = saved(someone, "csv")
        assert name == f"fourteen-Over-time-{view}.csv"
        head, *rows = csv.reader(io.StringIO(content.decode("utf-8-sig")))
        assert head[0] == "split"
        assert {"arm 0", "arm 12", f"'{ARMS[-1]}"} <= set(head)
        cells = [cell for row in rows for cell in row[1:] if cell]
        assert len(rows) >= 2
        assert len(cells) > 20
        assert not any("e" in cell for cell in cells)
        if view == "shares":
            assert sum(float(cell) for cell in rows[0][1:]) == pytest.approx(100.0)
        if view == "means":
            assert "arm 0, low" in head
            assert float(rows[-1][head.index("arm 0")]) == pytest.approx(0.00001)


def test_values_are_shown_under_the_pointer_without_powers_of_ten(visit, arms):
    someone = visit(arms)
    page = someone.go(arms)
    for view, wanted in (("means", "0.0000100"), ("best", "%"), ("shares", "%")):
        choose(someone, view)
        someone.at("chart").scroll_into_view_if_needed()
        box = someone.at("chart").locator(".nsewdrag").bounding_box()

        def said(box=box, wanted=wanted):
            for part in (0.3, 0.31):
                page.mouse.move(box["x"] + part * box["width"], box["y"] + 0.5 * box["height"])
            texts = someone.at("chart").locator(".hoverlayer text").all_text_contents()
            return any("arm 12" in text and wanted in text for text in texts)

        until(said, f"the values of {view}")
        ticks = someone.at("chart").locator(".ytick text, .xtick text").all_text_contents()
        assert ticks
        assert not any(mark in tick for tick in ticks for mark in "eμµkMn×")


def test_more_arms_than_colours_differ_by_pattern(visit, arms):
    someone = visit(arms)
    page = someone.go(arms)
    drawn(someone)
    lines = (
        "[...document.querySelectorAll('#chart .legendlines path')]"
        ".map((one) => one.style.stroke + one.style.strokeDasharray)"
    )
    until(lambda: len(page.evaluate(lines)) == 14, "the lines of the legend")
    assert len(set(page.evaluate(lines))) == 14
    choose(someone, "shares")
    expect(someone.at("chart").locator("pattern").first).to_be_attached()
    look = (
        "(rows) => rows.map((row) => getComputedStyle(row.querySelector('.swatch')))"
        ".map((style) => style.backgroundColor + style.backgroundImage)"
    )
    assert len(set(someone.at("arm-row").evaluate_all(look))) == 14
    assert page.evaluate("getComputedStyle(document.querySelector('svg.bar .hatch-1')).fill").startswith("url(")
    accessible(page)


@pytest.mark.parametrize("width", [1280, 390])
def test_long_names_wrap(visit, arms, width):
    someone = visit(arms, viewport={"width": width, "height": 800})
    page = someone.go(arms)
    drawn(someone)
    fits(page)
    wide = (
        "[...document.querySelectorAll('#chart .legendtext')].map((one) => one.getBoundingClientRect())"
        ".every((box) => box.right <= innerWidth)"
    )
    until(lambda: page.evaluate(wide), "the legend to be inside of the page")
    expect(someone.at("chart").locator(".legendtext tspan").nth(1)).to_be_attached()


def test_on_paper_there_is_what_to_spend_and_nothing_to_press(visit, arms):
    someone = visit(arms, color_scheme="dark")
    page = someone.go(arms)
    drawn(someone)
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.emulate_media(media="print", color_scheme="dark")
    for there in ("campaign-name", "split-table", "leaderboard", "chart"):
        expect(someone.at(there)).to_be_visible()
    for gone in ("ask", "record", "arms-table", "settings-form", "save-png", "theme-toggle", "amend-link", "print"):
        expect(someone.at(gone).first).to_be_hidden()
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(22, 27, 32)"  # dark on light
    painted = page.evaluate(
        """() => { dispatchEvent(new Event("beforeprint"));
             const ink = document.querySelector("#chart .legendtext").style.fill;
             const there = [document.documentElement.dataset.theme, ink];
             dispatchEvent(new Event("afterprint"));
             return [...there, document.documentElement.dataset.theme]; }"""
    )
    assert painted == ["light", "rgb(22, 27, 32)", "dark"]
    assert page.pdf(format="A4").startswith(b"%PDF")
    page.emulate_media(media="screen")
    page.evaluate("window.print = () => { document.title = 'printed'; }")
    someone.at("print").click()
    assert page.title() == "printed"


def test_all_charts_of_a_page_can_be_saved_and_are_named(visit, served):
    someone = visit(served.url)
    someone.go("/new")
    for label, text in (("Name", "saved"), ("Budget per period", "500"), ("Unit", "EUR")):
        someone.page.get_by_label(label, exact=True).fill(text)
    for place, name in enumerate(("search", "social")):
        someone.at("arm").nth(place).fill(name)
    someone.at("swing").fill("40")
    someone.at("preview-button").click()
    expect(someone.at("save-png")).to_have_count(2)
    labels = [each.get_attribute("aria-label") for each in someone.at("save-csv").all()]
    assert len(set(labels)) == 2
    with someone.page.expect_download() as download:
        someone.at("save-csv").first.click()
    with open(download.value.path(), "rb") as file:
        table = list(csv.reader(io.StringIO(file.read().decode("utf-8-sig"))))
    assert {"search", "social"} <= set(table[0])
    assert np.isfinite([float(cell) for row in table[1:] for cell in row if cell]).all()


def test_on_a_phone_all_arms_are_in_the_legend_and_dates_stand_upright(visit, fresh, tmp_path):
    names = [f"Prospecting lookalike purchasers {place} of the European markets" for place in range(15)]
    dates = [f"2026-{month:02d}-01" for month in range(1, 7)]
    rows = [f"{date},{name},{100 + n},{120 + n}" for date in dates for n, name in enumerate(names)]
    (tmp_path / "history.csv").write_text("\n".join(["date,arm,amount,outcome", *rows]))
    campaign = Campaign.create("long", names, budget=1500, unit="EUR", every="month", db=fresh.db, seed=1)
    campaign.import_history(tmp_path / "history.csv")
    someone = visit(fresh.url, phone=True)
    someone.go("/campaigns/long")
    drawn(someone)
    chart = someone.at("chart")
    inside = chart.bounding_box()
    last = chart.locator(".legend .traces").last.bounding_box()
    assert chart.locator(".legend .traces").count() == len(names)
    assert last["y"] + last["height"] <= inside["y"] + inside["height"]
    ticks = chart.locator(".xtick text")
    assert ticks.count() >= 2
    assert not any("rotate(30" in (tick.get_attribute("transform") or "") for tick in ticks.all())
    assert max(tick.bounding_box()["y"] for tick in ticks.all()) < chart.locator(".legend").bounding_box()["y"]
    fits(someone.page)
