"""Rights on single campaigns: every route, by every kind of token, and what lists and streams show."""

import asyncio
import re

import pytest
from starlette.requests import Request
from tests.cli.commands import run

import apportion as ap
from apportion.campaigns.storage.address import database_url
from apportion.campaigns.storage.store import Store
from apportion.campaigns.storage.tokens import Tokens
from apportion.web.app import create_app
from apportion.web.guard.credentials import Access
from apportion.web.guard.users import CAMPAIGN_ROUTE, reader, still_allowed

LEVELS = ("read", "record", "manage")
ADS = "/api/v1/campaigns/ads"
OWN_PAGE = {"Origin": "http://127.0.0.1:8000"}

# What changes something and needs no more than the right to record; all else that changes something is to manage.
RECORDING = {
    ("POST", "/api/v1/campaigns/{name}/splits"),
    ("POST", "/api/v1/campaigns/{name}/splits/{ticket}/outcomes"),
    ("PATCH", "/api/v1/campaigns/{name}/splits/{ticket}/outcomes"),
    ("POST", "/api/v1/campaigns/{name}/splits/{ticket}/cancel"),
    ("POST", "/api/v1/campaigns/{name}/splits/{ticket}/close"),
    ("POST", "/api/v1/campaigns/{name}/forecasts"),
    ("POST", "/campaigns/{name}/split"),
    ("POST", "/campaigns/{name}/tickets/{ticket}/record"),
    ("POST", "/campaigns/{name}/tickets/{ticket}/amend"),
    ("POST", "/campaigns/{name}/tickets/{ticket}/cancel"),
    ("POST", "/campaigns/{name}/tickets/{ticket}/close"),
    ("POST", "/campaigns/{name}/forecast"),
}
# Forms to manage by, which are of no use to others.
MANAGING_PAGES = {("GET", "/campaigns/{name}/import")}
# To begin a campaign takes scope write, also as a copy.
BEGINNING = {("POST", "/api/v1/campaigns/{name}/clone"), ("POST", "/campaigns/{name}/clone")}


@pytest.fixture
def shared(sqlite, client_of):
    """A service with the campaigns `ads` and `secret`, and a client for each right on `ads`: (app, clients)."""
    for name in ("ads", "secret"):
        ap.Campaign.create(name, ("a", "b"), budget=10, b=0.75, sigma=1, seed=1, db=sqlite).split()
    tokens = Tokens(sqlite)
    app = create_app(sqlite, access=Access(True, None))
    clients = {}
    for level in ("nothing", *LEVELS):
        secret = tokens.create(level, scope="none")
        if level != "nothing":
            tokens.grant(level, "ads", level)
        clients[level] = client_of(app, Authorization=f"Bearer {secret}")
    return app, clients


def campaign_routes(app):
    """(method, path) of every route to a campaign, those of the pages too."""
    found = []
    pending = list(app.router.routes)
    while pending:
        route = pending.pop()
        pending += getattr(route, "routes", None) or []
        original = getattr(route, "original_router", None)  # a router that was included
        if original is not None:
            pending += original.routes
        path = getattr(route, "path", "")
        if CAMPAIGN_ROUTE in path:
            found += [(method, path) for method in route.methods - {"HEAD"}]
    return sorted(set(found))


def filled(path, name):
    return re.sub(r"\{[a-z:]+\}", "1", path.replace("{name}", name))


def test_every_route_to_a_campaign_asks_for_its_right(shared):
    app, clients = shared
    routes = campaign_routes(app)
    assert len(routes) > 50
    assert {*RECORDING, *MANAGING_PAGES, *BEGINNING} <= set(routes)
    for method, path in routes:
        if path.endswith("/stream"):  # never ends by itself: see below
            continue
        needed = "read" if method == "GET" else "record" if (method, path) in RECORDING else "manage"
        needed = "manage" if (method, path) in MANAGING_PAGES else needed
        for level, client in clients.items():
            headers = {} if path.startswith("/api/") else OWN_PAGE
            hidden = client.request(method, filled(path, "secret"), headers=headers)
            assert hidden.status_code == 404, (method, path, level)
            assert hidden.json()["detail"].startswith("Campaign 'secret' is not known; there are: ")
            assert "secret'" not in hidden.json()["detail"].partition(";")[2]
            if level == "nothing":
                continue
            if LEVELS.index(level) < LEVELS.index(needed):
                refused = client.request(method, filled(path, "ads"), headers=headers)
                assert refused.status_code == 403, (method, path, level)
                assert f"the right to {needed} campaign 'ads'" in refused.json()["detail"]
            elif needed != "manage":  # what is managed may be gone afterwards: see below
                done = client.request(method, filled(path, "ads"), headers=headers)
                assert done.status_code not in (401, 403), (method, path, level)


def test_who_may_manage_one_campaign_may_not_begin_another(shared):
    _, clients = shared
    manager = clients["manage"]
    assert manager.patch(f"{ADS}/settings", json={"budget": 20}).status_code == 200
    for path, body in (("/api/v1/campaigns", {"name": "x", "arms": ["a", "b"], "budget": 1}),
                       (f"{ADS}/clone", {"name": "x"}), ("/api/v1/restore", {})):  # fmt: skip
        answer = manager.post(path, json=body)
        assert (answer.status_code, "one of scope write" in answer.json()["detail"]) == (403, True), path
    assert manager.post(f"{ADS}/rename", json={"name": "adverts"}).status_code == 200


def test_lists_streams_and_pages_show_what_may_be_read(shared):
    _, clients = shared
    assert [row["campaign"] for row in clients["read"].get("/api/v1/campaigns").json()["campaigns"]] == ["ads"]
    assert clients["nothing"].get("/api/v1/campaigns").json()["campaigns"] == []
    page = clients["read"].get("/", headers={"Accept": "text/html"}).text
    assert "/campaigns/ads" in page
    assert "secret" not in page
    assert "None is shared with you yet" in clients["nothing"].get("/").text
    assert clients["read"].get("/metrics").status_code == 403
    own = clients["record"].get("/campaigns/ads").text
    assert 'data-testid="split-form"' in own
    assert 'data-testid="rename-form"' not in own
    assert 'data-testid="split-form"' not in clients["read"].get("/campaigns/ads").text
    assert 'data-testid="clone-form"' not in clients["manage"].get("/campaigns/ads").text
    version = clients["read"].get("/api/v1/version").json()
    assert (version["scope"], version["rights"]) == ("none", {"ads": "read"})


def test_a_right_follows_its_campaign_and_ends_with_it(sqlite):
    campaign = ap.Campaign.create("ads", ("a", "b"), budget=10, db=sqlite)
    tokens = Tokens(sqlite)
    secret = tokens.create("anna", scope="none")
    tokens.grant("anna", "ads", "record")
    campaign.rename("adverts")
    assert tokens.check(secret).rights == {"adverts": "record"}
    tokens.grant("anna", "adverts", "manage")
    assert tokens.check(secret).may("manage", "adverts")
    secret = tokens.rotate("anna")
    assert tokens.check(secret).rights == {"adverts": "manage"}
    tokens.withdraw("anna", "adverts")
    assert tokens.check(secret).rights == {}
    tokens.grant("anna", "adverts", "read")
    campaign.delete("adverts")
    ap.Campaign.create("adverts", ("a", "b"), budget=10, db=sqlite)  # another one
    assert tokens.check(secret).rights == {}


def test_a_right_never_takes_away_what_the_scope_gives(db):
    ap.Campaign.create("ads", ("a", "b"), budget=10, db=db)
    tokens = Tokens(db)
    secret = tokens.create("anna", scope="record")
    tokens.grant("anna", "ads", "read")
    assert tokens.check(secret).may("record", "ads")
    assert not tokens.check(secret).may("manage", "ads")


def test_the_commands_of_rights(sqlite):
    ap.Campaign.create("ads", ("a", "b"), budget=10, db=sqlite)
    made = run("token", "create", "anna", "--scope", "none", "--db", sqlite)
    assert "may do nothing until `apportion token grant` says what" in made.err
    done = run("token", "grant", "anna", "ads", "--right", "record", "--db", sqlite)
    assert done.out == "Token 'anna' may record campaign 'ads'.\n"
    assert "ads: record" in run("token", "list", "--db", sqlite).out
    for arguments, sentence in (
        (("anna", "ads", "--right", "own"), "`right` must be one of 'read', 'record', 'manage'; got 'own'."),
        (("bert", "ads"), "Token 'bert' is not in use; in use are: anna."),
        (("anna", "adds"), "Campaign 'adds' is not known; there are: ads."),
    ):
        done = run("token", "grant", *arguments, "--db", sqlite)
        assert (done.code, done.err) == (2, sentence + "\n")
    assert run("token", "withdraw", "anna", "ads", "--db", sqlite).code == 0
    assert Tokens(sqlite).list()[0].rights == {}


def test_a_name_that_another_campaign_has_now_leads_to_that_one(db, client_of):
    """Whoever renamed the first did it elsewhere: in another worker, or on the command line."""
    first = ap.Campaign.create("ads", ("a", "b"), budget=10, b=0.75, sigma=1, seed=1, db=db)
    tokens = Tokens(db)
    app = create_app(db, access=Access(True, None))
    manager = client_of(app, Authorization=f"Bearer {tokens.create('manager')}")
    assert manager.get(ADS).json()["settings"]["budget"] == 10  # it is held ready by its name
    assert manager.post(f"{ADS}/splits").status_code == 201  # and remembered by it
    first.rename("private")
    ap.Campaign.create("ads", ("c", "d"), budget=20, b=0.75, sigma=1, seed=1, db=db)
    secret = tokens.create("guest", scope="none")
    tokens.grant("guest", "ads", "record")
    guest = client_of(app, Authorization=f"Bearer {secret}")
    assert guest.get(f"{ADS}/events").json()["events"][0]["payload"]["options"]["arms"] == ["c", "d"]
    assert {arm["arm"] for arm in guest.post(f"{ADS}/splits").json()["arms"]} == {"c", "d"}
    assert guest.post(f"{ADS}/splits/1/outcomes", json={"outcomes": {"c": 1, "d": 2}}).json()["open_tickets"] == 0
    assert (first.period, first.open_tickets) == (1, (1,))


def test_a_write_by_a_name_that_no_campaign_has_any_more_changes_nothing(db, client_of):
    first = ap.Campaign.create("ads", ("a", "b"), budget=10, b=0.75, sigma=1, seed=1, db=db)
    client = client_of(create_app(db))
    assert client.post(f"{ADS}/splits").status_code == 201
    first.rename("private")
    refused = client.post(f"{ADS}/splits")
    assert (refused.status_code, first.period) == (404, 1)
    assert "Campaign 'ads' is not known; there are: private." in refused.text
    first.rename("ads")
    assert client.post(f"{ADS}/splits").json()["ticket"] == 2


def test_a_name_whose_campaign_was_deleted_elsewhere_leads_to_the_new_one(db, client_of):
    first = ap.Campaign.create("ads", ("a", "b"), budget=10, b=0.75, sigma=1, seed=1, db=db)
    client = client_of(create_app(db))
    assert client.post(f"{ADS}/splits").status_code == 201
    other = ap.Campaign(Store(database_url(db)), first.transactions.campaign, "ads")  # as in another process
    other.delete(confirm="ads")
    assert client.get(ADS).status_code == 404
    assert client.post(f"{ADS}/splits").status_code == 404
    ap.Campaign.create("ads", ("c", "d"), budget=20, b=0.75, sigma=1, seed=1, db=db)
    assert client.get(ADS).json()["settings"]["budget"] == 20
    assert client.post(f"{ADS}/splits").json()["budget"] == 20


@pytest.mark.parametrize(("granted", "goes_on"), [("read", False), ("record", False), (None, False), ("", True)])
def test_a_stream_of_all_campaigns_ends_where_they_are_others(sqlite, granted, goes_on):
    """Who may no longer read one is not told that it changed; who may read one more begins anew, and is."""
    for name in ("ads", "more"):
        ap.Campaign.create(name, ("a", "b"), budget=1, db=sqlite)
    tokens = Tokens(sqlite)
    secret = tokens.create("anna", scope="none")
    tokens.grant("anna", "ads", "read")
    app = create_app(sqlite, access=Access(True, None))
    request = Request({
        "type": "http", "method": "GET", "path": "/api/v1/stream", "app": app, "client": ("127.0.0.1", 1),
        "state": {}, "headers": [(b"authorization", f"Bearer {secret}".encode())], "query_string": b"",
    })  # fmt: skip

    async def asked():
        await reader(request)
        allowed = still_allowed(request)
        assert await allowed()
        if granted:
            tokens.grant("anna", "more", granted)
        elif granted is None:
            tokens.withdraw("anna", "ads")
        app.state.credentials.forget()  # a second later
        return await allowed()

    assert asyncio.run(asked()) is goes_on
