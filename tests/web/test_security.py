"""Who may do what: tokens, scopes, browsers, other sites, hosts, sizes, headers; and what nobody gets to see."""

import logging
import re

import pytest

from apportion.web.guard.middleware import HEADERS, LARGEST_FILE, LARGEST_REQUEST
from apportion.web.guard.users import SESSION_COOKIE, sign_in

CAMPAIGN = {"name": "ads", "arms": ["search", "social"], "budget": 100, "b": 0.75, "sigma": 2}
LIST = "/api/v1/campaigns"


def sentence(answer, status):
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    return answer.json()["detail"]


# Tokens


def test_without_a_token_nothing_is_told(guarded):
    answer = guarded.nobody.get(LIST)
    assert sentence(answer, 401) == "A token is needed: send it as `Authorization: Bearer apt_…`."
    assert answer.headers["www-authenticate"] == 'Bearer realm="apportion"'
    assert guarded.nobody.post(LIST, json=CAMPAIGN).status_code == 401
    assert guarded.nobody.get("/metrics").status_code == 401
    assert guarded.nobody.get("/healthz").status_code == 200


@pytest.mark.parametrize(
    "header",
    ["Bearer apt_wrong", "Bearer", "Bearer ", "Basic YTpi", "apt_x", "Bearer apt_\xff", "Bearer " + "x" * 5000],
)
def test_a_wrong_token_is_refused(guarded, header):
    answer = guarded.nobody.get(LIST, headers={"Authorization": header.encode("latin-1")})
    assert sentence(answer, 401).startswith("The token is not known, or was revoked")
    assert "apt_wrong" not in answer.text


def test_a_wrong_token_is_refused_on_loopback_too(client):
    assert client.get(LIST).status_code == 200
    assert client.get(LIST, headers={"Authorization": "Bearer apt_wrong"}).status_code == 401


def test_a_token_to_read_may_not_write(guarded):
    assert guarded.writer.post(LIST, json=CAMPAIGN).status_code == 201
    assert guarded.reader.get(f"{LIST}/ads").status_code == 200
    assert guarded.reader.get("/api/v1/version").json()["visitor"] == "reader"
    for answer in (
        guarded.reader.post(LIST, json={**CAMPAIGN, "name": "more"}),
        guarded.reader.post("/api/v1/restore", content="{}"),
    ):
        assert sentence(answer, 403) == "Token 'reader' may only read: this needs one of scope write."
    for wanted, answer in (
        ("record", guarded.reader.post(f"{LIST}/ads/splits")),
        ("manage", guarded.reader.patch(f"{LIST}/ads/settings", json={"budget": 5})),
        ("manage", guarded.reader.delete(f"{LIST}/ads/arms/search")),
        ("manage", guarded.reader.post(f"{LIST}/ads/import", content="x", headers={"Content-Type": "text/csv"})),
    ):
        needed = f"Token 'reader' may only read here: this needs the right to {wanted} campaign 'ads'."
        assert sentence(answer, 403) == needed
    assert guarded.reader.get(f"{LIST}/ads").json()["period"] == 0


def test_a_revoked_token_ends(guarded):
    assert guarded.writer.get(LIST).status_code == 200
    guarded.tokens.revoke("writeer")
    guarded.app.state.credentials.forget()  # what it does by itself after a second
    assert guarded.writer.get(LIST).status_code == 401


def test_the_first_token_closes_the_door_on_loopback(app, client):
    assert client.get(LIST).status_code == 200
    secret = app.state.credentials.tokens.create("first")
    app.state.credentials.forget()
    assert client.get(LIST).status_code == 401
    assert client.get(LIST, headers={"Authorization": f"Bearer {secret}"}).status_code == 200


# Browsers


def signed_in(guarded, scope):
    """A browser with a session."""
    guarded.nobody.cookies.set(SESSION_COOKIE, guarded.tokens.begin_session(guarded.secrets[scope]).value)
    return guarded.nobody


OWN = "http://127.0.0.1:8000"
OWN_PAGE = [
    {"Origin": OWN, "Sec-Fetch-Site": "same-origin"},
    {"Sec-Fetch-Site": "same-origin"},
    {"Origin": OWN},  # over plain HTTP, and by older browsers
    {"Origin": OWN.upper()},
]
# A browser too old to send either, or whose headers were taken away on the way; a page cannot make one send these.
NO_PROOF = [{}, {"Sec-Fetch-Site": "none"}, {"Referer": f"{OWN}/"}]
OTHER_SITE = [
    {"Origin": "http://evil.example"},
    {"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"},
    {"Origin": "null"},
    {"Origin": "null", "Sec-Fetch-Site": "same-origin"},
    {"Origin": ""},
    {"Origin": "http://[broken"},
    {"Origin": "http://127.0.0.1:9999"},
    {"Origin": "http://127.0.0.1"},
    {"Origin": "http://sub.127.0.0.1:8000"},
    {"Origin": "http://127.0.0.1:8000.evil.example"},
    {"Origin": "http://127.0.0.1:8000@evil.example"},
    {"Origin": "http://sub.127.0.0.1:8000", "Sec-Fetch-Site": "same-site"},
    {"Origin": OWN, "Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "something new"},
]


@pytest.mark.parametrize("headers", OWN_PAGE, ids=str)
def test_a_session_writes_from_a_page_of_the_service(guarded, headers):
    browser = signed_in(guarded, "write")
    assert browser.get(LIST).status_code == 200
    assert browser.post(LIST, json=CAMPAIGN, headers=headers).status_code == 201


@pytest.mark.parametrize("headers", [*NO_PROOF, *OTHER_SITE], ids=str)
def test_a_session_writes_from_nowhere_else(guarded, headers):
    browser = signed_in(guarded, "write")
    refused = sentence(browser.post(LIST, json=CAMPAIGN, headers=headers), 403)
    assert refused.startswith(("The request comes from a page of another", "The request does not come from a page"))
    assert guarded.reader.get(LIST).json()["campaigns"] == []


@pytest.mark.parametrize("path", ["/login", "/logout", "/new", "/campaigns/ads/split", "/laboratory/runs"])
@pytest.mark.parametrize("headers", [*NO_PROOF, *OTHER_SITE], ids=str)
def test_no_form_is_taken_from_elsewhere(client, path, headers):
    """Also on loopback without tokens, where there is no cookie that a browser could hold back."""
    client.post(LIST, json=CAMPAIGN)
    secret = {"token": "apt_of-an-attacker"}  # signing someone in as the attacker is an attack too
    assert client.post(path, data=secret, headers={**headers, "Accept": "text/html"}).status_code == 403
    assert client.get(f"{LIST}/ads").json()["period"] == 0


def test_a_page_without_encryption_does_not_write_to_one_with_it(app, client_of):
    client_of(app).post(LIST, json=CAMPAIGN)
    browser = client_of(app)
    browser.base_url = "https://127.0.0.1:8000"
    assert browser.post(f"{LIST}/ads/splits", headers={"Origin": OWN}).status_code == 403
    assert browser.post(f"{LIST}/ads/splits", headers={"Origin": "https://127.0.0.1:8000"}).status_code == 201


def test_behind_a_proxy_that_speaks_https_pages_write(client):
    client.post(LIST, json=CAMPAIGN)
    headers = {"Origin": "https://localhost", "Host": "localhost", "Sec-Fetch-Site": "same-origin"}
    assert client.post("/campaigns/ads/split", headers=headers).status_code == 303


def test_a_session_of_a_token_to_read_may_not_write(guarded):
    browser = signed_in(guarded, "read")
    assert browser.get(LIST).status_code == 200
    assert browser.post(LIST, json=CAMPAIGN, headers=OWN_PAGE[0]).status_code == 403


def test_a_session_is_nothing_without_its_token(guarded):
    browser = signed_in(guarded, "write")
    guarded.tokens.revoke("writeer")
    assert browser.get(LIST).status_code == 401


def test_on_loopback_a_program_may_write_and_a_browser_from_its_pages_only(client):
    assert client.post(LIST, json=CAMPAIGN).status_code == 201
    for headers in (*NO_PROOF[1:], *OTHER_SITE, {"Cookie": "a=b"}):
        assert client.post(f"{LIST}/ads/splits", headers=headers).status_code == 403
    for headers in OWN_PAGE:
        assert client.post(f"{LIST}/ads/splits", headers=headers).status_code == 201


def test_pages_set_no_cookie_before_the_login(client):
    for path in ("/", "/login", "/api/reference"):
        assert "set-cookie" not in client.get(path).headers


def test_a_page_leads_to_the_login_and_back(guarded):
    answer = guarded.nobody.get("/?at=2", headers={"Accept": "text/html"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/login?next=%2F%3Fat%3D2")


def test_signing_in_sets_a_cookie_that_scripts_cannot_read_and_that_is_not_the_token(guarded):
    from starlette.requests import Request
    from starlette.responses import Response

    for scheme in ("http", "https"):
        scope = {"type": "http", "scheme": scheme, "headers": [], "app": guarded.app, "path": "/", "method": "POST",
                 "server": ("127.0.0.1", 80), "query_string": b""}  # fmt: skip
        response = Response()
        assert sign_in(Request(scope), response, "apt_wrong") is None
        assert "set-cookie" not in response.headers
        visitor = sign_in(Request(scope), response, guarded.secrets["write"])
        assert visitor[:2] == ("writeer", "write")
        cookie = response.headers["set-cookie"]
        assert guarded.secrets["write"] not in cookie
        assert all(mark in cookie for mark in ("HttpOnly", "SameSite=strict", "Path=/"))
        assert ("Secure" in cookie) == (scheme == "https")


# Other sites and hosts


@pytest.mark.parametrize("headers", OTHER_SITE, ids=str)
def test_a_write_from_another_site_is_refused_whatever_it_carries(guarded, headers):
    answer = guarded.writer.post(LIST, json=CAMPAIGN, headers=headers)
    assert sentence(answer, 403) == "The request comes from a page of another site."
    assert guarded.writer.get(LIST).json()["campaigns"] == []


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "", "[::2]"])
def test_on_loopback_other_hosts_are_not_answered(client, host):
    assert "is not answered here" in sentence(client.get(LIST, headers={"Host": host}), 400)


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost", "LOCALHOST:1", "[::1]:8000"])
def test_the_names_of_loopback_are_answered(client, host):
    assert client.get(LIST, headers={"Host": host}).status_code == 200


# Sizes


def test_a_request_that_is_too_large_is_refused_by_what_it_says_and_by_what_it_sends(client):
    large = b" " * (LARGEST_REQUEST + 1)
    json = {"Content-Type": "application/json"}
    assert sentence(client.post(LIST, content=large, headers=json), 413) == "A request must have at most 1 MB."
    parts = (large[start : start + 100_000] for start in range(0, len(large), 100_000))
    assert sentence(client.post(LIST, content=parts, headers=json), 413) == "A request must have at most 1 MB."
    assert (
        client.post(LIST, content=b"{}", headers={**json, "Content-Length": "99999999999999999999999"}).status_code
        == 413
    )
    assert client.get(LIST).json()["campaigns"] == []


def test_files_may_be_larger_but_not_without_end(client):
    client.post(LIST, json=CAMPAIGN)
    csv = {"Content-Type": "text/csv"}
    rows = "".join(f"{day},search,1,1\n" for day in range(3)) + "\n" * (LARGEST_REQUEST + 1)
    taken = client.post(f"{LIST}/ads/import", content="date,arm,amount,outcome\n" + rows, headers=csv)
    assert taken.json()["rows"] == 3
    parts = (b" " * 1_000_000 for _ in range(LARGEST_FILE // 1_000_000 + 1))
    assert sentence(client.post(f"{LIST}/ads/import", content=parts, headers=csv), 413).endswith("at most 20 MB.")


# Every answer


@pytest.mark.parametrize(
    "path",
    [LIST, "/api/v1/nothing", "/api/reference", "/", "/nothing", "/healthz", "/static/style.css", "/static/no"],
)
def test_every_answer_carries_the_security_headers(client, path):
    answer = client.get(path, headers={"Accept": "text/html"})
    for name, value in HEADERS.items():
        assert answer.headers[name] == value
    assert "cache-control" in answer.headers
    refused = client.get(path, headers={"Host": "evil.example"})
    assert all(name in refused.headers for name in HEADERS)


def test_a_surprise_is_a_problem_without_details_and_the_log_has_them(app, client, caplog):
    @app.get("/api/v1/broken")
    def broken():
        raise RuntimeError("the safe is behind the picture")

    # Routes are tried in order, and the static files come last: the new one is found.
    with caplog.at_level(logging.ERROR, "apportion.web"):
        answer = client.get("/api/v1/broken")
    said = sentence(answer, 500)
    number = re.search(r"under ([0-9a-f]{8})\.", said)[1]
    assert "safe" not in answer.text
    assert number in caplog.text
    assert "behind the picture" in caplog.text
    assert all(name in answer.headers for name in HEADERS)


def test_a_database_that_is_gone_is_told_without_its_address(app, client, sqlite):
    from apportion.errors import StoreUnavailable

    @app.get("/api/v1/gone")
    def gone():
        raise StoreUnavailable(f"The database {sqlite} was busy for 60 seconds. Nothing was changed.")

    answer = client.get("/api/v1/gone")
    assert sentence(answer, 503) == "The database cannot be used now. Nothing was changed."
    assert answer.headers["retry-after"] == "1"


def test_no_secret_is_logged(guarded, caplog):
    browser = signed_in(guarded, "write")
    with caplog.at_level(logging.DEBUG):
        guarded.writer.post(LIST, json=CAMPAIGN)
        guarded.nobody.get(LIST, headers={"Authorization": "Bearer apt_secret-that-is-wrong"})
        browser.post(LIST, json={}, headers=OWN_PAGE[0])
    session = browser.cookies[SESSION_COOKIE]
    for secret in (*guarded.secrets.values(), "apt_secret-that-is-wrong", session):
        assert secret not in caplog.text


def test_names_are_escaped_where_people_read_them(client):
    name = "<script>alert(1)</script>".replace("/", "|")
    client.post(LIST, json={**CAMPAIGN, "name": name})
    page = client.get("/", headers={"Accept": "text/html"}).text
    assert name not in page
    missing = client.get("/campaigns/<img src=x>", headers={"Accept": "text/html"})
    assert "<img src=x>" not in missing.text


# Behind a proxy, or under another server


@pytest.mark.parametrize("peer", ["203.0.113.7", "10.0.0.1", "2001:db8::1", "somewhere", "127.0.0.1.example"])
def test_without_tokens_only_a_peer_on_loopback_is_local(app, peer):
    from starlette.testclient import TestClient

    stranger = TestClient(app, base_url="http://127.0.0.1:8000", client=(peer, 4711))
    assert stranger.get(LIST).status_code == 401
    assert stranger.post(LIST, json={"name": "x", "arms": ["a", "b"], "budget": 1}).status_code == 401


@pytest.mark.parametrize(
    "header",
    ["X-Forwarded-For", "Forwarded", "X-Real-IP", "Via", "X-Forwarded-Proto", "CF-Connecting-IP", "CF-Ray",
     "X-Original-Forwarded-For", "X-Envoy-External-Address", "X-Cluster-Client-IP", "Fly-Client-IP",
     "X-Amzn-Trace-Id"],
)  # fmt: skip
def test_without_tokens_what_a_proxy_passes_on_is_not_local(client, header):
    assert client.get(LIST).status_code == 200
    assert client.get(LIST, headers={header: "127.0.0.1"}).status_code == 401
    body = {"name": "x", "arms": ["a", "b"], "budget": 1}
    assert client.post(LIST, json=body, headers={header: "203.0.113.7"}).status_code == 401


def test_without_tokens_what_comes_by_http_1_0_is_not_local(app):
    from starlette.testclient import TestClient

    async def passed_on(scope, receive, send):
        await app({**scope, "http_version": "1.0"} if scope["type"] == "http" else scope, receive, send)

    proxy = TestClient(passed_on, base_url="http://127.0.0.1:8000", client=("127.0.0.1", 4711))
    assert proxy.get(LIST).status_code == 401
    assert proxy.post(LIST, json={"name": "x", "arms": ["a", "b"], "budget": 1}).status_code == 401
