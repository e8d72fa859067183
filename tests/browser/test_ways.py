"""Other ways to use the pages: by keyboard alone, without JavaScript, and with names that want to break something."""

from urllib.parse import quote

import pytest
from playwright.sync_api import expect
from running import until

from apportion.campaigns.campaign import Campaign
from browser.watching import accessible

SCRIPT = '<script>document.title="broken"</script>'
NAMES = {
    "marks": "100% & \"double\" or 'single' `ticks`?#a=b",
    "code": f"{SCRIPT} <b>Größe</b> 東京 🙂",
    "long": "x" * 120 + " wide words" * 7,
}


@pytest.mark.parametrize("kind", NAMES)
def test_names_are_shown_as_they_are_and_break_nothing(visit, served, db, kind):
    name = NAMES[kind]
    arms = (name, f"[{name[:190]}]", "plain")
    someone = visit(served.url)
    page, at = someone.go("/new"), someone.at
    name = name.replace("/", "|").strip()  # arms may have a /, campaigns not
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_label("Budget per period").fill("300")
    page.get_by_label("Unit", exact=True).fill(name[:40].strip())
    for place, arm in enumerate(arms):
        at("arm").nth(place).fill(arm)
        at("arm-minimum").nth(place).fill("20")
    at("swing").fill("10")
    someone.follow(at("create").click)
    expect(at("campaign-name")).to_have_text(name)
    someone.follow(at("ask").click)
    rows = at("split-row")
    expect(rows).to_have_count(3)
    for place in range(3):
        expect(rows.nth(place).get_by_role("rowheader")).to_have_text(arms[place].strip())
        at("outcome", rows.nth(place)).fill("120")
    someone.follow(at("record").click)
    expect(at("flash")).to_have_text("Recorded: ticket 1 is complete.")
    for view in ("best", "shares", "means"):
        at("chart-switch").locator(f"input[value={view}]").check()
        expect(at("chart")).to_have_attribute("data-view", view)
    legend = at("chart").locator(".legendtext")
    until(lambda: any(text[:12] == arms[0][:12] for text in legend.all_text_contents()), "the arm in the legend")
    accessible(page)
    someone.follow(at("pause", at("arm-row").nth(0)).click)
    expect(at("arm-row").nth(0)).to_contain_text("paused")
    someone.follow(at("amend-link").click)
    at("amend-outcome").first.fill("130")
    someone.follow(at("amend").click)
    expect(at("flash")).to_contain_text("Ticket 1 was corrected")
    someone.follow(at("check").click)
    expect(at("check-result")).to_have_attribute("data-ok", "yes")
    accessible(page)
    someone.follow(at("nav-campaigns").click)
    link = page.get_by_role("link", name=name, exact=True)
    expect(link).to_be_visible()
    accessible(page)
    someone.follow(link.click)
    expect(page).to_have_url(f"{served.url.rstrip('/')}/campaigns/{quote(name, safe='')}")
    page.set_viewport_size({"width": 375, "height": 800})
    accessible(page)
    assert page.title() == f"{name} – apportion"
    assert not page.locator("main b, main script:not([type])").count()
    with page.expect_download() as download:
        at("export-csv").click()
    assert download.value.path().stat().st_size
    assert Campaign.open(name, db).check().ok


def test_by_keyboard_alone(ready, db):
    """From the address to a recorded period with Tab, Enter, Space and typing."""
    Campaign.create("keys", ("a", "b"), budget=100, b=0.5, sigma=2, seed=4, minimum={"a": 0.3, "b": 0.3}, db=db)
    page, at = ready.go("/campaigns/keys"), ready.at

    def tab_to(target):
        for _ in range(80):
            page.keyboard.press("Tab")
            if target.evaluate("element => element === document.activeElement"):
                outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
                assert outline != "none", "what has the focus must be seen"
                return
        raise AssertionError(f"Tab never reaches {target}")

    page.keyboard.press("Tab")
    expect(page.get_by_text("Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()
    tab_to(at("ask"))
    ready.follow(lambda: page.keyboard.press("Enter"))
    expect(at("ticket", ticket=1)).to_be_visible()
    tab_to(at("outcome", at("split-row", arm="a")))
    page.keyboard.type("61.5")
    tab_to(at("nothing", at("split-row", arm="b")))
    page.keyboard.press("Space")
    ready.follow(lambda: page.keyboard.press("Enter"))  # from any field of the form
    expect(at("flash")).to_have_text("Recorded: ticket 1 is complete.")
    expect(at("chart")).to_have_attribute("data-view", "means")  # the switch is of use once the chart is drawn
    page.locator("#chart-switch input[value=means]").focus()
    page.keyboard.press("ArrowRight")
    expect(at("chart")).to_have_attribute("data-view", "best")


def test_without_javascript(visit, served, db, tmp_path):
    someone = visit(served.url, java_script_enabled=False)
    page, at = someone.go("/new"), someone.at
    history = tmp_path / "history.csv"
    lines = [f"{arm},{40 + 7 * n % 90},{50 + 11 * n % 70}" for n in range(40) for arm in ("x", "y")]
    history.write_text("arm,amount,outcome\n" + "\n".join(lines) + "\n")
    page.get_by_label("Name", exact=True).fill("plain")
    page.get_by_label("Budget per period").fill("300")
    someone.follow(at("add-row").click)
    expect(at("arm")).to_have_count(4)
    at("history-file").set_input_files(history)
    someone.follow(at("look").click)
    expect(at("look-problem")).to_contain_text("Choose the column of the date")
    at("arm").nth(0).fill("x")
    at("arm").nth(1).fill("y")
    at("swing").fill("10")
    someone.follow(at("preview-button").click)
    expect(at("preview-sentence").first).to_contain_text("simulated futures")
    at("take-in").uncheck()  # without a script the file would have to be chosen again
    someone.follow(at("create").click)
    expect(at("campaign-name")).to_have_text("plain")
    someone.follow(at("ask").click)
    page.get_by_test_id("paste").click()
    at("pasted").fill("Came back\n170\n170\n")
    someone.follow(at("record").click)
    expect(at("flash")).to_have_text("Recorded: ticket 1 is complete.")
    # Chromium with scripts switched off by a debugger does not show <noscript>; it is there.
    assert "<noscript>" in page.content()
    someone.follow(at("pause", at("arm-row", arm="y")).click)
    expect(at("arm-row", arm="y")).to_contain_text("paused")
    someone.go("/laboratory")
    assert "<noscript>" in page.content()
    assert Campaign.open("plain", db).period == 1


def test_a_form_sent_twice_is_done_once(ready, db):
    campaign = Campaign.create("twice", ("a", "b"), budget=100, b=0.5, sigma=2, seed=4, db=db)
    page = ready.go("/campaigns/twice")
    page.evaluate(
        """async () => {
            const form = document.querySelector("[data-testid=split-form]");
            const send = () => fetch(form.action, { method: "POST", body: new URLSearchParams(new FormData(form)) });
            await Promise.all([send(), send(), send()]);
        }"""
    )
    assert campaign.period == 1


def test_when_the_service_restarts_the_page_catches_up(visit, folder):
    from running import Service

    path = folder / "restart.db"
    campaign = Campaign.create("lasting", ("a", "b"), budget=100, b=0.5, sigma=2, seed=4, db=path)
    first = Service(path)
    try:
        someone = visit(first.url, allowed=["net::ERR_"])
        someone.go("/campaigns/lasting")
        port = str(first.place["port"]) if "port" in first.place else first.url.rstrip("/").rpartition(":")[2]
    finally:
        first.end()
    campaign.split()
    second = Service(path, "--port", port)
    try:
        expect(someone.at("ticket", ticket=1)).to_be_visible()
        someone.context.close()
    finally:
        second.end()


@pytest.mark.parametrize("size", [(1200, 900), (390, 800)])
def test_what_was_done_is_taken_back(visit, served, db, size):
    """A split, a slip, a name, an archive, a campaign; on a desk and on a phone, and accessible all the way."""
    name = f"undo {size[0]}"
    campaign = Campaign.create(name, ("search", "social"), budget=100, policy="uniform", seed=1, db=db)
    for back in (30.0, 40.0, 35.0, 33.0, 38.0):
        campaign.record(campaign.split().ticket, {"search": back, "social": back})
    someone = visit(served.url, viewport={"width": size[0], "height": size[1]})
    page, at = someone.go(f"/campaigns/{quote(name)}"), someone.at
    expect(at("board-total")).to_contain_text("352")
    someone.follow(at("ask").click)
    someone.follow(at("ask").click)
    expect(at("flash")).to_contain_text("Ticket 6 has no results yet")
    older = page.locator("#cancel-6")
    older.locator("summary").click()
    someone.follow(at("cancel-ticket", older).click)
    expect(at("flash")).to_contain_text("Ticket 6 is cancelled")
    at("outcome").nth(0).fill("4000")
    at("outcome").nth(1).fill("35")
    with someone.refusal(409):
        someone.follow(at("record").click)
    expect(at("error")).to_contain_text("Ten times off: 4,000 for 'search'")
    accessible(page)
    at("confirm").check()
    someone.follow(at("record").click)
    expect(at("flash")).to_contain_text("ticket 7 is complete")
    someone.allowed.append("status of 404 ")  # the page is live: it may ask for itself once more under its old name
    at("rename-form").get_by_label("New name").fill(f"{name} b")
    someone.follow(at("rename").click)
    expect(at("campaign-name")).to_have_text(f"{name} b")
    someone.follow(at("archive").click)
    expect(at("archived")).to_be_visible()
    accessible(page)
    page = someone.go("/")
    expect(page.get_by_role("link", name=f"{name} b", exact=True)).to_have_count(0)
    someone.follow(at("show-archived").click)
    someone.follow(page.get_by_role("link", name=f"{name} b", exact=True).click)
    someone.follow(at("unarchive").click)
    at("delete").click()
    at("delete-form").get_by_label("Type the name").fill(f"{name} b")
    someone.follow(at("delete-yes").click)
    expect(at("flash")).to_have_text(f"{name} b is deleted.")
    assert f"{name} b" not in Campaign.names(db, archived=True)
