"""Every page in light, in dark and on a phone: accessible, nothing sticks out, and a picture of each.

`APPORTION_SCREENSHOTS=1 python -m pytest tests/browser/test_looks.py` writes the pictures into docs/screenshots.
"""

import io
import itertools
from collections.abc import Callable
from typing import NamedTuple

import pytest
from PIL import Image
from playwright.sync_api import expect
from running import service

from apportion.campaigns.campaign import Campaign
from apportion.campaigns.storage.tokens import Tokens
from browser.watching import PHONE, WIDE, Visit, accessible, fits

LOOKS = {"light": (WIDE, "light"), "dark": (WIDE, "dark"), "phone": (PHONE, "light")}
TALLEST = 2600
LARGEST = 250_000
# As WCAG has it: a screen of 1280 pixels, everything four times as large.
NARROW = 320


class Page(NamedTuple):
    """A page: where it is, and what is done before it is looked at."""

    path: str
    prepare: Callable[[Visit], None]


def drawn(visit):
    """The chart of a campaign is there."""
    expect(visit.at("chart").locator(".scatterlayer .trace").first).to_be_attached()


def shown(name):
    """Something is on the page."""
    return lambda visit: expect(visit.at(name).first).to_be_visible()


def filled(visit):
    """The wizard as someone would fill it in, with its preview."""
    page = visit.page
    for label, text in (("Name", "ads 2027"), ("Budget per period", "5000"), ("Unit", "EUR")):
        page.get_by_label(label, exact=True).fill(text)
    for place, name in enumerate(("search", "social", "video")[: visit.at("arm").count()]):
        visit.at("arm").nth(place).fill(name)
    visit.at("swing").fill("400")
    visit.at("preview-button").click()
    expect(page.locator("#preview-gain .scatterlayer .trace").first).to_be_attached()
    expect(visit.at("preview-button")).to_be_enabled()
    page.evaluate("document.activeElement.blur()")


def simulated(visit):
    """A small experiment and the slider, both done."""
    for name, value in (("horizon", "1000"), ("replications", "40"), ("seed", "1")):
        visit.at(f"lab-{name}").fill(value)
    visit.at("lab-run").click()
    expect(visit.at("lab-table")).to_be_visible(timeout=600_000)
    visit.at("transition").scroll_into_view_if_needed()
    expect(visit.at("transition-summary")).not_to_be_empty(timeout=600_000)
    visit.page.evaluate("document.activeElement.blur()")


PAGES = {
    "list": Page("/", shown("campaigns")),
    "campaign": Page("/campaigns/spring%20ads", drawn),
    "ticket": Page("/campaigns/spring%20ads/tickets/11", shown("amend-form")),
    "wizard": Page("/new", filled),
    "laboratory": Page("/laboratory", simulated),
    "check": Page("/campaigns/spring%20ads/check", shown("check-result")),
    "begun": Page("/campaigns/autumn%20suppliers", shown("board-empty")),
    "reference": Page("/api/reference", shown("nav-api")),
    "missing": Page("/campaigns/nobody", shown("error-sentence")),
}
PICTURED = ("list", "campaign", "ticket", "wizard", "laboratory", "login")


def few_colours(picture):
    """The picture with a palette, a third of the size: the common colours exactly, the others nearly."""
    common = [colour for _, colour in sorted(picture.getcolors(1 << 24), reverse=True)[:160]]
    others = picture.quantize(96, Image.Quantize.MAXCOVERAGE).getpalette()
    palette = Image.new("P", (1, 1))
    palette.putpalette([*itertools.chain.from_iterable(common), *others][: 3 * 256])
    return picture.quantize(palette=palette, dither=Image.Dither.NONE)


def keep(page, path):
    """A picture of the page; of a long one its beginning."""
    tall = page.evaluate("document.documentElement.scrollHeight")
    width = page.viewport_size["width"]
    page.evaluate("scrollTo(0, 0)")
    clip = {"x": 0, "y": 0, "width": width, "height": min(tall, TALLEST)}
    shot = page.screenshot(full_page=True, clip=clip, animations="disabled", caret="hide")
    with Image.open(io.BytesIO(shot)) as picture:
        few_colours(picture.convert("RGB")).save(path, optimize=True)
    assert path.stat().st_size < LARGEST, f"{path.name} has {path.stat().st_size} bytes"


def see(page, look):
    """Turn a page to light, dark or the width of a phone; wait for its charts."""
    size, colours = LOOKS[look]
    page.set_viewport_size(size)
    page.emulate_media(color_scheme=colours, reduced_motion="reduce")
    page.wait_for_function("(theme) => document.documentElement.dataset.theme === theme", arg=colours)
    room = (
        "[...document.querySelectorAll('.main-svg')].every((one) => one.getBoundingClientRect().right <= innerWidth)"
    )
    page.wait_for_function(room)


@pytest.mark.parametrize("name", PAGES)
def test_page(visit, gallery, pictures, name):
    someone = visit(gallery.url, color_scheme="light")
    if name == "missing":
        someone.allowed.append("status of 404 ")
    page = someone.go(PAGES[name].path)
    PAGES[name].prepare(someone)
    assert page.title().endswith("apportion")
    for look in LOOKS:
        see(page, look)
        accessible(page)
        if name in PICTURED:
            keep(page, pictures / f"{name}-{look}.png")


@pytest.fixture(scope="module")
def guarded(folder):
    """A service that wants a token, and tokens for it."""
    db = folder / "guarded.db"
    tokens = Tokens(db)
    with service(db) as running:
        running.secrets = {"anna": tokens.create("anna", "write"), "otto": tokens.create("otto", "read")}
        yield running


def test_login_page(visit, guarded, pictures):
    someone = visit(guarded.url, color_scheme="light")
    page = someone.go("/campaigns/x?page=2")
    expect(someone.at("login-form")).to_be_visible()
    expect(someone.at("token")).to_be_focused()
    expect(someone.at("nav-campaigns")).to_have_count(0)
    page.evaluate("document.activeElement.blur()")
    for look in LOOKS:
        see(page, look)
        accessible(page)
        keep(page, pictures / f"login-{look}.png")


def test_wrong_token_then_the_right_one_then_out(visit, guarded):
    someone = visit(guarded.url)
    at = someone.at
    someone.go("/new")
    at("token").fill("apt_wrong")
    with someone.refusal(401):
        someone.follow(at("sign-in").click)
        expect(at("error")).to_contain_text("This token is not known, or was revoked.")
    accessible(someone.page)
    at("token").fill(guarded.secrets["anna"])
    someone.follow(lambda: at("token").press("Enter"))
    expect(at("wizard")).to_be_visible()  # where the visit wanted to go
    cookies = someone.context.cookies()
    assert all(cookie["httpOnly"] and cookie["sameSite"] == "Strict" for cookie in cookies)
    assert not any(guarded.secrets["anna"] in cookie["value"] for cookie in cookies)
    someone.follow(at("sign-out").click)
    expect(at("flash")).to_have_text("You are signed out.")
    someone.go("/")
    expect(at("login-form")).to_be_visible()


def test_a_token_that_may_only_read_sees_no_button_to_change(visit, guarded):
    someone = visit(guarded.url)
    at = someone.at
    someone.go("/")
    at("token").fill(guarded.secrets["otto"])
    someone.follow(at("sign-in").click)
    expect(at("empty")).to_contain_text("may only read")
    expect(at("new-campaign")).to_have_count(0)
    someone.allowed.append("status of 403 ")
    someone.go("/new")
    expect(at("error-sentence")).to_contain_text("may only read")
    accessible(someone.page)


def test_the_theme_is_chosen_once_and_kept(visit, gallery):
    ready = visit(gallery.url)
    page = ready.go("/")
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    ready.at("theme-toggle").click()
    ready.go("/campaigns/spring%20ads")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    drawn(ready)
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(15, 19, 23)"


def test_a_real_phone_splits_and_records(visit, served, db):
    campaign = Campaign.create("pocket", ("a", "b"), budget=100, b=0.5, sigma=2, seed=4, db=db)
    someone = visit(served.url, phone=True)
    at = someone.at
    someone.go("/campaigns/pocket")
    someone.follow(at("ask").tap)
    expect(at("ticket", ticket=1)).to_be_visible()
    for field in at("outcome").all():
        field.tap()
        field.fill("55")
    someone.follow(at("record").tap)
    expect(at("flash")).to_have_text("Recorded: ticket 1 is complete.")
    accessible(someone.page)
    small = someone.page.evaluate(
        """[...document.querySelectorAll("main button, main input:not([type=hidden])")]
            .map((one) => [one.dataset.testid || one.id || one.name, one.getBoundingClientRect().height])
            .filter(([name, height]) => height > 0 && height < 16)"""
    )
    assert not small, f"too small for a finger: {small}"
    assert campaign.open_tickets == ()


def test_on_the_narrowest_screen_nothing_sticks_out(visit, gallery):
    someone = visit(gallery.url, viewport={"width": NARROW, "height": 600})
    for path in ("/", "/campaigns/spring%20ads", "/new", "/laboratory", "/campaigns/spring%20ads/tickets/24"):
        fits(someone.go(path))


def test_a_leaderboard_of_large_numbers_stays_within_its_card(visit, served, db):
    """Where returns diminish it has one column more."""
    arms = ("Florida", "Texas", "Arizona")
    kits = Campaign.create("large", arms, budget=300_000_000, unit="kits", outcome_unit="positives", step=1,
                           policy="recommended", b=0.5, c=0.7, sigma=1.0, seed=1, db=db)  # fmt: skip
    split = kits.split()
    kits.record(split.ticket, {arm: round(0.1 * amount) for arm, amount in split.amounts.items()}, confirm=True)
    kits.add_arm("Pennsylvania")
    someone = visit(served.url)
    page = someone.go("/campaigns/large")
    expect(someone.at("marginal").first).to_be_visible()
    edges = page.evaluate(
        "[document.querySelector('.board'), document.querySelector('#leaderboard')]"
        ".map((part) => part.getBoundingClientRect().right)"
    )
    assert edges[0] <= edges[1]
    accessible(page)
