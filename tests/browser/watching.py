"""A browser page under watch: whatever it logs, asks for or breaks is noted, and judged at the end of the test."""

import contextlib
import json
import operator
from urllib.parse import urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from running import until

# Before any script of a page: what the Content-Security-Policy stops is not always logged.
NOTE_VIOLATIONS = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) =>
  console.error(`policy violated: ${event.effectiveDirective} ${event.blockedURI}`));
"""
PHONE = {"width": 375, "height": 812}
WIDE = {"width": 1200, "height": 900}
# Pictures that are data, and pages that are written by the browser itself, leave the machine as little as our own.
INSIDE = ("data", "blob", "about")
# In milliseconds. It only ends a wait in vain: Playwright's own five seconds for `expect` are few on a busy machine.
LONGEST_WAIT = 60_000
expect.set_options(timeout=LONGEST_WAIT)


class Visit:
    """One user: a browser context with a page, and everything that happened in it."""

    def __init__(self, browser, url, *, allowed=(), phone=False, **options):
        self.url = url
        self.allowed = list(allowed)
        self.said, self.asked = [], []
        size = {"viewport": PHONE, "is_mobile": True, "has_touch": True} if phone else {"viewport": WIDE}
        self.context = browser.new_context(base_url=url, reduced_motion="reduce", **{**size, **options})
        self.context.add_init_script(NOTE_VIOLATIONS)
        self.context.on("request", lambda request: self.asked.append(request.url))
        self.context.on("console", lambda message: self.said.append((message.type, message.text)))
        self.context.on("weberror", lambda error: self.said.append(("pageerror", str(error.error))))
        self.page = self.context.new_page()
        self.page.set_default_timeout(LONGEST_WAIT)

    def go(self, path):
        """Open an address of the service; returns the page."""
        self.page.goto(path)
        return self.page

    def follow(self, act):
        """Do what leads to another page, `follow(button.click)`; returns the page when it is there, whole.

        Until then the old page can show the news as well, for it is live: what is read there may be half of it, and
        what is typed there is lost.
        """
        with self.page.expect_navigation():
            act()
        return self.page

    def at(self, name, within=None, **attributes):
        """The element of a data-testid, and of other data attributes."""
        more = "".join(f"[data-{key}={json.dumps(str(value))}]" for key, value in attributes.items())
        return (within or self.page).locator(f"[data-testid={json.dumps(name)}]{more}")

    @contextlib.contextmanager
    def refusal(self, status):
        """Here the service refuses something, which Chromium logs by itself; nothing else may be logged."""
        self.allowed.append(f"status of {status} ")
        yield

        def noted():
            self.page.title()  # what was logged is handed on while the page is asked for something
            return any(f"status of {status} " in text for _, text in self.said)

        until(noted, f"a refusal with {status}")

    def judge(self):
        """No request to another host, no error or warning in the console, no script that broke."""
        here = urlsplit(self.url).netloc
        parts = [urlsplit(asked) for asked in self.asked]
        assert parts, "nothing was asked for"
        away = [part.geturl() for part in parts if part.scheme not in INSIDE and part.netloc != here]
        assert not away, f"requests that leave the machine: {away}"
        wrong = [
            f"{kind}: {text}"
            for kind, text in self.said
            if kind in ("error", "warning", "pageerror") and not any(allowed in text for allowed in self.allowed)
        ]
        assert not wrong, f"the console says: {wrong}"

    def close(self):
        """End the visit; judge it."""
        self.context.close()
        self.judge()


def accessible(page):
    """Assert that axe finds nothing to complain of, and that nothing sticks out to the right."""
    page.wait_for_load_state()  # after a click the address is the new one before the page is there
    results = Axe().run(page)
    assert not results.violations_count, results.generate_report()
    fits(page)


def fits(page):
    """Assert that nothing sticks out to the right; charts follow a change of the screen after a moment."""
    look = "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    until(lambda: operator.le(*page.evaluate(look)), f"{page.url} to fit: width and room are {page.evaluate(look)}")
