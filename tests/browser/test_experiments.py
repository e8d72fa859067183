"""The laboratory: run, cancel, refuse, and the slider over b."""

import pytest
from playwright.sync_api import expect
from running import until

LONG = {"arms": "10", "horizon": "100000", "replications": "1500"}
# A first run compiles the policies: minutes, where the machine has other work. In milliseconds.
COMPILING = 600_000


def choose(visit, **values):
    """Fill in the fields of the experiment."""
    for name, value in values.items():
        visit.at(f"lab-{name}").fill(value)
    if "arms" in values:  # the page asks the service for their means, and runs with those it has
        expect(visit.at("lab-gaps")).to_contain_text(f"{values['arms']} arms;")


def test_run_see_and_run_again_with_other_numbers(ready):
    page, at = ready.go("/laboratory"), ready.at
    expect(at("lab-empty")).to_be_visible()
    choose(ready, arms="3", gap="0.5", b="0.75", horizon="400", replications="30", seed="11")
    at("lab-run").click()
    expect(at("lab-table")).to_be_visible(timeout=COMPILING)
    expect(at("lab-finding")).to_contain_text("After 400 periods")
    rows = at("lab-table").locator("tbody tr")
    policies = at("lab-policies").locator("li").count()
    expect(rows).to_have_count(policies)
    expect(at("lab-regret-chart").locator(".scatterlayer .trace").nth(policies - 1)).to_be_attached()
    expect(at("lab-shares-chart").locator(".scatterlayer .trace")).to_have_count(3)
    # The Python that is shown gives the numbers in the table.
    scope = {}
    exec(at("lab-python").inner_text(), scope)
    said = [float(row.locator("td").first.inner_text().replace(",", "")) for row in rows.all()]
    assert said == pytest.approx(scope["result"].summary()["mean"].tolist(), rel=2e-3)
    at("lab-scale-log").check()
    page.locator("#shares-policy").select_option(index=1)
    choose(ready, seed="12")
    at("lab-run").click()
    expect(at("lab-progress")).to_be_hidden(timeout=COMPILING)
    until(lambda: float(rows.first.locator("td").first.inner_text().replace(",", "")) != said[0], "other numbers")


def test_cancel_stops_the_work(ready, served):
    page, at = ready.go("/laboratory"), ready.at
    choose(ready, **LONG)
    at("lab-run").click()
    expect(at("lab-cancel")).to_be_focused()
    expect(at("lab-progress-figures")).to_contain_text("of ", timeout=COMPILING)
    expect(at("lab-run")).to_be_disabled()
    at("lab-cancel").click()
    expect(page.locator("#progress-title")).to_have_text("Cancelled")
    expect(at("lab-progress-words")).to_contain_text("run again")
    expect(at("lab-run")).to_be_enabled()
    # The place is free at once: another experiment can run.
    choose(ready, arms="2", horizon="50", replications="5")
    at("lab-run").click()
    expect(at("lab-table")).to_be_visible(timeout=COMPILING)


def test_a_wrong_number_is_refused_beside_the_form(ready):
    ready.go("/laboratory")
    with ready.refusal(422):
        choose(ready, horizon="many")
        ready.at("lab-run").click()
        expect(ready.at("lab-error")).to_contain_text("many")
    expect(ready.at("lab-run")).to_be_enabled()
    choose(ready, horizon="50", replications="5")
    ready.at("lab-run").click()
    expect(ready.at("lab-error")).to_be_hidden()
    expect(ready.at("lab-table")).to_be_visible(timeout=COMPILING)


def test_the_slider_walks_through_the_phase_transition(ready):
    page, at = ready.go("/laboratory"), ready.at
    at("transition-arms").select_option(index=0)
    at("transition").scroll_into_view_if_needed()
    expect(at("transition-summary")).not_to_be_empty(timeout=COMPILING)
    said = set()
    for b in ("0", "0.5", "1"):
        at("transition-slider").fill(b)
        expect(at("transition-b-value")).to_have_text(f"{float(b):.2f}")
        said.add(at("transition-measured").inner_text())
    assert len(said) == 3
    at("transition-slider").focus()
    page.keyboard.press("ArrowLeft")
    expect(at("transition-b-value")).to_have_text("0.95")
    expect(at("transition-against").locator(".scatterlayer .trace").nth(1)).to_be_attached()


def test_policies_are_compared_in_several_worlds_without_a_script(ready):
    """Chosen, made, shown; the world of twelve months ends after twelve periods."""
    page, at = ready.go("/laboratory/compare"), ready.at
    for value in page.locator("input[type=checkbox]:checked").evaluate_all("all => all.map(each => each.value)"):
        page.locator(f"input[value={value}]").uncheck()
    for name, value in (("policy", "MARA"), ("policy", "RiverUCB"), ("world", "jobs"), ("world", "tests-monthly")):
        page.locator(f"input[name={name}][value={value}]").check()
    page.locator("#horizon").fill("60")
    page.locator("#runs").fill("3")
    ready.follow(at("compare-start").click)
    expect(at("compare-table")).to_be_visible(timeout=COMPILING)
    expect(at("compare-table").locator("thead")).to_contain_text("Jobs with caps (60 periods)")
    expect(at("compare-table").locator("thead")).to_contain_text("US tests by state and month (12 periods)")
    rows = at("compare-table").locator("tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.last).to_contain_text("an even split")
    assert page.locator("input[name=policy][value=MARA]").is_checked()  # what was asked stays to be changed
