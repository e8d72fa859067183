"""Signing in with a provider on another site, as a browser does it: what it sends there and back, it decides."""

import tempfile
from pathlib import Path

from provider import CLIENT_ID, SECRET, provider
from running import service

import apportion as ap
from apportion.campaigns.storage.tokens import Tokens


def test_a_person_comes_back_signed_in_from_another_site(browser, folder):
    db = Path(tempfile.mkdtemp(dir=folder)) / "campaigns.db"
    ap.Campaign.create("ads", ("a", "b"), budget=10, b=0.75, sigma=1, seed=1, db=db)
    Tokens(db).create_person("anna@example.org")
    with provider("localhost") as made:  # another site than 127.0.0.1, so that `SameSite` counts
        options = ("--oidc-issuer", made.url, "--oidc-client-id", CLIENT_ID)
        with service(db, *options, APPORTION_OIDC_SECRET=SECRET) as running:
            made.client.redirect_uris.add(f"{running.url}/login/callback")
            with browser.new_context() as context:
                page = context.new_page()
                page.goto(f"{running.url}/campaigns/ads")
                button = page.get_by_test_id("sign-in-openid")
                assert button.inner_text() == f"Sign in with {made.url.removeprefix('http://')}"
                button.click()
                page.get_by_role("button", name="Continue").click()
                page.wait_for_url(f"{running.url}/campaigns/ads")
                assert page.get_by_test_id("sign-out").get_attribute("title") == "Signed in as anna@example.org"
                cookies = {each["name"]: each for each in context.cookies()}
                assert "apportion_sign_in" not in cookies
                session = cookies["apportion_session"]
                assert (session["sameSite"], session["httpOnly"]) == ("Strict", True)
                page.get_by_test_id("sign-out").click()
                page.wait_for_url(f"{running.url}/login*")
