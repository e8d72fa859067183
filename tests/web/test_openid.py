"""Signing in with a provider: the whole way through a real provider and a real service, and attacks on it."""

import base64
import json
import re
import time
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from joserfc.jwk import OctKey, RSAKey
from tests.cli.commands import run
from tests.web.provider import CLIENT_ID, SECRET, provider
from tests.web.running import service

import apportion as ap
from apportion.campaigns.storage.tokens import Tokens
from apportion.web.app import create_app
from apportion.web.guard.openid import Pending, Provider, names_of, provider_of
from apportion.web.guard.sign_ins import MOST_FAILURES
from apportion.web.pages.login import PENDING_COOKIE

HOST = "http://127.0.0.1:8000"
CALLBACK = f"{HOST}/login/callback"
ANNA = "anna@example.org"


@pytest.fixture(scope="module")
def running_provider():
    with provider() as made:
        made.client.redirect_uris.add(CALLBACK)
        yield made


@pytest.fixture
def idp(running_provider):
    """The provider, as it is at first."""
    running_provider.claims = {"sub": "17", "email": ANNA, "email_verified": True}
    running_provider.spoil = None
    running_provider.metadata = {}
    return running_provider


@pytest.fixture
def app(sqlite, idp):
    """A service whose people sign in there, with a campaign `ads`."""
    ap.Campaign.create("ads", ("a", "b"), budget=10, b=0.75, sigma=1, seed=1, db=sqlite)
    return create_app(sqlite, provider=Provider(idp.url, CLIENT_ID, SECRET))


@pytest.fixture
def browser(app, client_of):
    return client_of(app)


def lead(browser, next_="/"):
    """To the provider and through its page; returns the address that it leads back to."""
    away = browser.get("/login/openid", params={"next": next_})
    assert away.status_code == 303, away.text
    back = httpx.post(away.headers["location"])
    assert back.status_code == 302, back.text
    assert back.headers["location"].startswith(CALLBACK)
    return back.headers["location"]


def sign_in(browser, next_="/"):
    return browser.get(lead(browser, next_))


def refused(browser, answer, status=401):
    """Nobody came in, and a page says so."""
    assert answer.status_code == status, answer.text
    assert "apportion_session" not in browser.cookies
    assert browser.get("/").headers["location"] == "/login"
    return re.search(r'id="login-error".*?</strong>\s*(.*?)\s*</p>', answer.text, re.S)[1]


def test_a_person_signs_in_and_what_they_do_has_their_name(browser, sqlite):
    assert Tokens(sqlite).create_person("Anna@Example.org", "write") == ANNA
    page = browser.get("/login?next=/campaigns/ads").text
    assert f"Sign in with {urlsplit(browser.app.state.openid.provider.issuer).netloc}" in page
    assert "/login/openid?next=/campaigns/ads" in page
    away = browser.get("/login/openid?next=/campaigns/ads")
    asked = parse_qs(urlsplit(away.headers["location"]).query)
    assert asked["code_challenge_method"] == ["S256"]
    assert all(len(asked[name][0]) >= 20 for name in ("state", "nonce", "code_challenge"))
    assert asked["redirect_uri"] == [CALLBACK]
    held = away.headers["set-cookie"]
    assert all(part in held for part in ("HttpOnly", "SameSite=lax", "Path=/login", "Max-Age=600"))
    answer = browser.get(httpx.post(away.headers["location"]).headers["location"])
    assert answer.status_code == 200
    assert '<meta http-equiv="refresh" content="0;url=/campaigns/ads">' in answer.text
    cookies = answer.headers.get_list("set-cookie")
    assert any("SameSite=strict" in each and "HttpOnly" in each and "Max-Age=43200" in each for each in cookies)
    assert PENDING_COOKIE not in browser.cookies
    assert browser.post("/campaigns/ads/split", headers={"Origin": HOST}).status_code == 303
    assert ap.Campaign.open("ads", sqlite).history()[-1].by == f"person {ANNA}"
    assert browser.post("/logout", headers={"Origin": HOST}).status_code == 303
    assert browser.get("/").headers["location"] == "/login"


def test_rights_end_and_revocation_are_those_of_tokens(browser, sqlite, app):
    tokens = Tokens(sqlite)
    tokens.create_person(ANNA, "none")
    tokens.grant(ANNA, "ads", "read")
    sign_in(browser)
    assert browser.get("/api/v1/campaigns/ads").status_code == 200
    refusal = browser.post("/api/v1/campaigns/ads/splits", headers={"Origin": HOST})
    assert refusal.status_code == 403
    assert refusal.json()["detail"].startswith(f"Person '{ANNA}' may only read here")
    tokens.revoke(ANNA)
    app.state.credentials.forget()
    assert browser.get("/api/v1/campaigns/ads").status_code == 401
    browser.cookies.clear()
    assert ANNA in refused(browser, sign_in(browser), 403)
    tokens.create_person(ANNA, "read", days=1e-9)
    assert ANNA in refused(browser, sign_in(browser), 403)
    tokens.revoke(ANNA)
    tokens.create_person("sub:17", "read")
    assert sign_in(browser).status_code == 200
    assert browser.get("/api/v1/campaigns/ads").status_code == 200


def test_nobody_comes_in_whom_no_administrator_let_in(browser, idp, sqlite):
    secret = Tokens(sqlite).create(ANNA)  # a token of that name is no person
    sentence = refused(browser, sign_in(browser), 403)
    assert "anna@example.org: nobody of this name may use this service." in sentence
    assert Tokens(sqlite).check(secret) is not None
    assert Tokens(sqlite).begin_person_session(()) is None
    # Nor without signing in, though this machine asks and there is no token in use.
    Tokens(sqlite).revoke(ANNA)
    assert browser.get("/api/v1/campaigns").status_code == 401


@pytest.mark.parametrize(
    "claims",
    [
        {"sub": "18", "email": ANNA, "email_verified": False},
        {"sub": "18", "email": ANNA},
        {"sub": "18", "email": ANNA, "email_verified": "true"},
        {"sub": ANNA},
        {"sub": "18", "email": "sub:17", "email_verified": True},
        {"sub": "18", "email": "anna@example.orG\u212a", "email_verified": True},
        {"sub": "18", "email": f" {ANNA}", "email_verified": True},
        {"sub": "18", "email": [ANNA], "email_verified": True},
    ],
)
def test_an_address_that_is_not_verified_is_nobodys(browser, idp, sqlite, claims):
    tokens = Tokens(sqlite)
    tokens.create_person(ANNA)
    tokens.create_person("sub:17")
    idp.claims = claims
    refused(browser, sign_in(browser), 403)


def unsigned(token, **header):
    body = token.split(".")[1]
    head = base64.urlsafe_b64encode(json.dumps({"alg": "none", **header}).encode()).decode().rstrip("=")
    return f"{head}.{body}."


def altered(token):
    """The same signature over other claims."""
    head, body, signature = token.split(".")
    claims = json.loads(base64.urlsafe_b64decode(body + "=="))
    body = base64.urlsafe_b64encode(json.dumps({**claims, "sub": "17 "}).encode()).decode().rstrip("=")
    return f"{head}.{body}.{signature}"


SPOILED = {
    "another nonce": lambda idp, token: idp.signed(token, nonce="another"),
    "no nonce": lambda idp, token: idp.signed(token, nonce=None),
    "another audience": lambda idp, token: idp.signed(token, aud="another"),
    "another audience, as a list": lambda idp, token: idp.signed(token, aud=["another"], azp=CLIENT_ID),
    "two audiences, for the other": lambda idp, token: idp.signed(token, aud=[CLIENT_ID, "other"], azp="other"),
    "no audience": lambda idp, token: idp.signed(token, aud=None),
    "another issuer": lambda idp, token: idp.signed(token, iss="https://evil.example.org"),
    "no issuer": lambda idp, token: idp.signed(token, iss=None),
    "expired": lambda idp, token: idp.signed(token, exp=int(time.time()) - 3600),
    "no end": lambda idp, token: idp.signed(token, exp=None),
    "from the future": lambda idp, token: idp.signed(token, nbf=int(time.time()) + 3600),
    "nobody": lambda idp, token: idp.signed(token, sub=None),
    "another key": lambda idp, token: idp.signed(token, key=RSAKey.generate_key(2048)),
    "a key of its own": lambda idp, token: idp.signed(
        token, key=(own := RSAKey.generate_key(2048)), header={"alg": "RS256", "jwk": own.as_dict(private=False)}
    ),
    "alg none": lambda idp, token: unsigned(token),
    "alg none, a known key": lambda idp, token: unsigned(token, kid=idp.key.kid),
    "signed with the secret": lambda idp, token: idp.signed(
        token, key=OctKey.import_key(SECRET), header={"alg": "HS256"}
    ),
    "signed with the public key as a secret": lambda idp, token: idp.signed(
        token,
        key=OctKey.import_key(idp.key.as_pem(private=False).replace(b"PUBLIC", b"PUBLlC")),
        header={"alg": "HS256"},
    ),
    "altered": lambda idp, token: altered(token),
    "no token at all": lambda idp, token: "",
    "nonsense": lambda idp, token: "a.b.c",
}


def test_an_id_token_made_anew_with_all_that_is_right_is_believed(browser, idp, sqlite):
    Tokens(sqlite).create_person(ANNA)
    idp.spoil = idp.signed  # so that what fails below fails by what it changes
    assert sign_in(browser).status_code == 200


@pytest.mark.parametrize("kind", SPOILED)
def test_an_id_token_that_is_not_right_lets_nobody_in(browser, idp, sqlite, kind):
    Tokens(sqlite).create_person(ANNA)
    idp.spoil = lambda token: SPOILED[kind](idp, token)
    assert refused(browser, sign_in(browser)) == "The sign-in was not completed. Please start again."


def test_a_state_that_is_not_this_browsers_is_refused(browser, app, client_of, sqlite):
    Tokens(sqlite).create_person(ANNA)
    other = client_of(app)
    back = lead(other)  # an attacker's own sign-in, which the victim is made to open
    assert "not begun in this browser" in refused(browser, browser.get(back))
    lead(browser)
    assert "not begun in this browser" in refused(browser, browser.get(back))
    for wrong in (re.sub(r"state=[^&]*", "state=", back), re.sub(r"&?state=[^&]*", "", back)):
        lead(browser)
        refused(browser, browser.get(wrong))
    assert other.get(back).status_code == 200


def test_a_code_is_good_once_and_with_its_own_pkce_only(browser, app, client_of, sqlite):
    Tokens(sqlite).create_person(ANNA)
    held = browser.get("/login/openid")
    back = httpx.post(held.headers["location"]).headers["location"]
    cookie = browser.cookies[PENDING_COOKIE]
    assert browser.get(back).status_code == 200
    thief = client_of(app)  # with everything that the browser had
    thief.cookies.set(PENDING_COOKIE, cookie)
    refused(thief, thief.get(back))
    # A stolen code in a sign-in of the thief's own: its PKCE and nonce are others.
    code = parse_qs(urlsplit(lead(client_of(app))).query)["code"][0]
    own = lead(thief)
    refused(thief, thief.get(re.sub(r"code=[^&]*", f"code={code}", own)))


def test_what_the_provider_refuses_and_spoiled_cookies(browser, app, sqlite):
    Tokens(sqlite).create_person(ANNA)
    away = browser.get("/login/openid").headers["location"]
    state = parse_qs(urlsplit(away).query)["state"][0]
    denied = browser.get("/login/callback", params={"state": state, "error": "<b>access_denied</b>"})
    assert refused(browser, denied) == "The provider did not sign you in. Please start again."
    assert "<b>" not in denied.text
    deep = base64.urlsafe_b64encode(b"[" * 20_000).decode()
    for value in (
        "nonsense",
        "W10=",
        deep,
        base64.urlsafe_b64encode(b'["","","","",""]').decode(),
        "é".encode()[:1].hex(),
    ):
        browser.cookies.set(PENDING_COOKIE, value)
        refused(browser, browser.get("/login/callback?state=&code=x"))


@pytest.mark.parametrize(
    "target",
    ["https://evil.example.org", "//evil.example.org", "/\\evil.example.org", "javascript:alert(1)", "\t//e.org"],
)
def test_it_leads_back_to_pages_of_its_own_only(browser, sqlite, target):
    Tokens(sqlite).create_person(ANNA)
    assert 'content="0;url=/">' in sign_in(browser, target).text
    # Also where the browser's own cookie says so.
    back = lead(browser, "/campaigns/ads")
    pending = Pending(*json.loads(base64.urlsafe_b64decode(browser.cookies[PENDING_COOKIE])))
    browser.cookies.clear()
    browser.cookies.set(PENDING_COOKIE, pending._replace(next=target).packed())
    assert 'content="0;url=/">' in browser.get(back).text


def test_failed_sign_ins_are_limited(browser, sqlite):
    Tokens(sqlite).create_person(ANNA)
    for _ in range(MOST_FAILURES):
        assert browser.get("/login/callback?state=x&code=y").status_code == 401
    assert browser.get("/login/callback?state=x&code=y").status_code == 429
    assert browser.get("/login/openid").status_code == 429


@pytest.mark.parametrize("metadata", [
    {"issuer": "https://evil.example.org"}, {"id_token_signing_alg_values_supported": ["none", "HS256"]},
])  # fmt: skip
def test_a_provider_that_is_another_is_not_trusted(browser, idp, sqlite, metadata):
    idp.metadata = metadata
    answer = browser.get("/login/openid")
    assert refused(browser, answer, 503).startswith("The sign-in provider is not set up as expected.")
    idp.metadata = {}
    assert browser.get("/login/openid").status_code == 303


def test_a_key_that_is_new_is_fetched(browser, idp, sqlite):
    Tokens(sqlite).create_person(ANNA)
    assert sign_in(browser).status_code == 200
    before, idp.key = idp.key, RSAKey.generate_key(2048, parameters={"kid": "second"})
    assert sign_in(browser).status_code == 200
    idp.key = before


def test_a_provider_that_is_gone_is_said_to_be(sqlite, client_of):
    with provider() as gone:
        url = gone.url
    browser = client_of(create_app(sqlite, provider=Provider(url, CLIENT_ID, SECRET)))
    assert "cannot be reached now" in refused(browser, browser.get("/login/openid"), 503)


def test_without_a_provider_there_is_no_such_sign_in(sqlite, client_of):
    client = client_of(create_app(sqlite))
    assert "Sign in with" not in client.get("/login").text
    assert client.get("/login/openid").status_code == 404
    assert client.get("/login/callback?state=x&code=y").status_code == 404


# The commands


def test_the_commands_for_persons(sqlite):
    made = run("token", "create", "Anna@example.org", "--person", "--scope", "read", "--db", sqlite)
    assert (made.code, made.out) == (0, f"'{ANNA}' may read, after signing in with the provider of the service.\n")
    plain = json.loads(run("token", "create", "sub:17", "--person", "--db", sqlite, "--json").out)
    assert plain == {"name": "sub:17", "scope": "write", "person": True}
    rows = json.loads(run("token", "list", "--db", sqlite, "--json").out)
    assert [(row["name"], row["person"]) for row in rows] == [(ANNA, True), ("sub:17", True)]
    for name in ("anna", "@example.org", "anna@", "a b@example.org", "sub:"):
        done = run("token", "create", name, "--person", "--db", sqlite)
        assert done.code == 2
        assert done.err.startswith("`name` must be an email address, or `sub:` and the number of the provider; got ")
    assert run("token", "rotate", ANNA, "--db", sqlite).err == (
        f"'{ANNA}' is a person, who signs in with the provider: there is no secret to rotate.\n"
    )
    assert "is there already" in run("token", "create", ANNA, "--person", "--db", sqlite).err
    assert len(Tokens(sqlite).list()) == 2


@pytest.mark.parametrize(
    ("issuer", "client_id", "sentence"),
    [
        ("https://login.example.org", None, "needs both"),
        (None, "apportion", "needs both"),
        ("http://login.example.org", "apportion", "`oidc_issuer` must be the https address of a provider"),
        ("login.example.org", "apportion", "`oidc_issuer` must be"),
        ("https://user@login.example.org", "apportion", "`oidc_issuer` must be"),
        ("https://login.example.org?x=1", "apportion", "`oidc_issuer` must be"),
    ],
)
def test_what_cannot_be_a_provider_is_refused(monkeypatch, issuer, client_id, sentence):
    monkeypatch.setenv("APPORTION_OIDC_SECRET", "x")
    with pytest.raises(ap.InvalidValue, match=sentence):
        provider_of(issuer, client_id)


def test_the_secret_comes_from_the_environment(monkeypatch):
    monkeypatch.delenv("APPORTION_OIDC_SECRET", raising=False)
    with pytest.raises(ap.InvalidValue, match="set APPORTION_OIDC_SECRET"):
        provider_of("https://login.example.org", "apportion")
    monkeypatch.setenv("APPORTION_OIDC_SECRET", "x")
    assert provider_of("https://login.example.org/realms/a", "apportion").name == "login.example.org"
    assert provider_of(None, None) is None


def test_names_that_nobody_could_have_are_left_out():
    assert names_of({"sub": "x" * 300, "email": "y" * 300 + "@example.org", "email_verified": True}) == ()


# The service in processes of its own


def test_two_workers_share_a_sign_in(sqlite, idp):
    ap.Campaign.create("ads", ("a", "b"), budget=10, b=0.75, sigma=1, seed=1, db=sqlite)
    Tokens(sqlite).create_person(ANNA, "read")
    options = ("--oidc-issuer", idp.url, "--oidc-client-id", CLIENT_ID, "--workers", "2")
    with service(sqlite, *options, APPORTION_OIDC_SECRET=SECRET) as running:
        assert running.place["tokens_needed"]
        assert running.place["provider"] == urlsplit(idp.url).netloc
        callback = f"{running.url}/login/callback"
        idp.client.redirect_uris.add(callback)
        with httpx.Client(base_url=running.url, timeout=60.0, follow_redirects=True) as browser:
            assert browser.get("/").url.path == "/login"
            asked = browser.get("/login/openid?next=/campaigns/ads")
            assert str(asked.url).startswith(idp.url)
            signed_in = browser.post(asked.url)
            assert str(signed_in.url).startswith(callback)
            target = re.search(r'content="0;url=(.*?)"', signed_in.text)[1]
            assert browser.get(target).url.path == "/campaigns/ads"
        code = parse_qs(signed_in.url.query.decode())["code"][0]
        assert code not in running.text  # the log leaves out queries
        assert SECRET not in running.text
