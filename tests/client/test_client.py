"""`ap.Client`: the verbs of a campaign, the same answers and the same errors, over a real service."""

import contextlib
import inspect
import math
import multiprocessing
import os
import pickle
import re
import shutil
import socket
import tempfile
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import numpy as np
import openpyxl
import pytest
from tests.web.running import PATIENCE, service

import apportion as ap
from apportion.allocation.beliefs import Beliefs
from apportion.campaigns.check import Check
from apportion.campaigns.files import export_csv, export_json, export_log
from apportion.campaigns.forecast import forecast
from apportion.campaigns.importing import import_history
from apportion.campaigns.protocol import CampaignVerbs
from apportion.campaigns.status import Status
from apportion.campaigns.storage.address import database_url
from apportion.campaigns.storage.database import close_engine
from apportion.campaigns.storage.tokens import Tokens
from apportion.client import AsyncCampaign, AsyncClient, NotAllowed, RemoteCampaign, ServiceUnavailable
from apportion.client.transport import BlockingTransport, finish
from apportion.testing.stores import use_every_verb

SOAK = bool(os.environ.get("APPORTION_SOAK"))
ARMS = ("search", "social", "video")
OPTIONS = {"budget": 100, "unit": "EUR", "b": 0.75, "sigma": 2, "seed": 7, "maximum": {"video": 0.9}}


@pytest.fixture(scope="module")
def place():
    """A service without tokens, for all tests of this file: (address, database)."""
    folder = tempfile.mkdtemp(prefix="ap-client-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
    db = os.path.join(folder, "campaigns.db")
    with service(db, "--log-level", "warning") as running:
        yield running.url, db
    close_engine(database_url(db))
    shutil.rmtree(folder)


@pytest.fixture
def client(place):
    with ap.Client(place[0]) as made:
        yield made


def same(one, other):
    """Equal, with NaN equal to NaN, in plain data and our types."""
    if isinstance(one, float) and isinstance(other, float):
        return one == other or (math.isnan(one) and math.isnan(other))
    if isinstance(one, Beliefs):
        return (
            isinstance(other, Beliefs)
            and list(one) == list(other)
            and all(same(one.at(place), other.at(place)) for place in range(len(one)))
            and (one.leader, one.level, one.minimise, one.note, str(one))
            == (other.leader, other.level, other.minimise, other.note, str(other))
            and same(one.learned, other.learned)
            and np.array_equal(one.spread, other.spread, equal_nan=True)
            and np.allclose(one.radius, other.radius, equal_nan=True)
        )
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[name], other[name]) for name in one)
    if isinstance(one, (tuple, list)):
        return type(one) is type(other) and len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and one == other


# The same verbs


VERBS = [name for name in vars(CampaignVerbs) if not name.startswith("_")] + ["name"]
# What the protocol itself says by other verbs, where a class has no quicker code of its own.
ARM_VERBS = {"add_arm", "pause_arm", "resume_arm", "remove_arm", "bound_arm", "expected_regret"}
DERIVED = {
    ap.Campaign: ARM_VERBS,
    RemoteCampaign: {*ARM_VERBS, "period", "version", "open_tickets", "unit"},
    AsyncCampaign: ARM_VERBS - {"expected_regret"},
}


def test_returns_that_diminish_and_a_noise_level_per_arm_are_the_same_over_http(client, place):
    sigma = {"search": 4.0, "social": 0.5, "video": 1.0}
    far = client.create("bent", ARMS, budget=100, policy="recommended", b=0.5, c=0.6, sigma=sigma, seed=7)
    near = ap.Campaign.open("bent", place[1])
    assert same(far.split().beliefs, near.explain(1).beliefs)
    far.record(1, {"search": 30.0, "social": 20.0, "video": 10.0})
    far.add_arm("radio", sigma=2.0)
    assert far.settings.sigma == {**sigma, "radio": 2.0}
    split = far.split()
    assert same(split.columns(), near.explain(2).columns())
    assert same(far.beliefs(), near.beliefs())
    assert far.beliefs()["search"].marginal == near.beliefs()["search"].marginal > 0.0
    assert same(far.status(), near.status())
    assert far.forecast(periods=2, worlds=2) == forecast(near, periods=2, worlds=2)
    assert far.change(c=None, sigma=2.0).sigma == near.settings.sigma == 2.0


@pytest.mark.parametrize("cls", [ap.Campaign, RemoteCampaign, AsyncCampaign])
@pytest.mark.parametrize("verb", [*VERBS, "_change_arm"])
def test_campaigns_here_and_in_a_service_have_the_verbs_of_the_protocol(cls, verb):
    """Each with its own code behind it, and the same parameters, defaults and types."""
    if verb == "name":
        assert CampaignVerbs.__annotations__ == {"name": "str"}
        return
    own, agreed = inspect.getattr_static(cls, verb), inspect.getattr_static(CampaignVerbs, verb)
    assert own is not agreed or verb in DERIVED[cls]
    assert type(own) is type(agreed)
    if isinstance(agreed, property):
        own, agreed = own.fget, agreed.fget
    assert inspect.signature(own) == inspect.signature(agreed)
    assert inspect.getdoc(getattr(cls, verb))  # the words of the protocol, where it has none of its own


def test_what_only_one_of_them_has_is_known():
    """A verb that is added to one of them belongs into the protocol, and so into the other."""

    def public(cls):
        return {name for name in dir(cls) if not name.startswith("_")}

    assert public(RemoteCampaign) - set(VERBS) == set()
    assert public(AsyncCampaign) | {"name"} == set(VERBS)
    assert public(AsyncClient) == public(ap.Client)
    # What makes or finds a campaign is the client's: `create`, `open`, `names`. The rest needs the database at hand.
    assert public(ap.Campaign) - set(VERBS) == {
        "create", "open", "names", "together", "state", "replay", "tag",
    }  # fmt: skip
    own, remote, awaited = (inspect.signature(cls.create).parameters for cls in (ap.Campaign, ap.Client, AsyncClient))
    assert awaited == remote
    assert {name: str(own[name]) for name in own if name != "db"} == {
        name: str(remote[name]) for name in remote if name != "self"
    }


@pytest.mark.parametrize("life", ["known", "learned"])
def test_a_life_over_the_service_is_the_same_as_on_file(client, place, sqlite, life):
    """The same seed and the same verbs: every answer is the same to the last bit, and of the same type."""
    options = OPTIONS if life == "known" else {"budget": 100, "seed": 7, "maximum": {"video": 0.9}}
    here = ap.Campaign.create(life, ARMS, db=sqlite, **options)
    there = client.create(life, ARMS, **options)
    assert same(tuple(here.status()), tuple(there.status()))
    for campaign in (here, there):
        use_every_verb(campaign, rounds=100 if SOAK else 34)
        if life == "known":
            campaign.change(budget=250, sigma=3.0)
            campaign.change(b=0.6, level=0.8)
        else:
            campaign.change(budget=250, level=0.8, window=20)
        campaign.split()
        campaign.close(campaign.period)
    one, other = here.status(), there.status()
    assert isinstance(other, Status)
    assert same(tuple(one), tuple(other))
    assert same(one.beliefs, there.beliefs())
    assert other.beliefs.learned.sigma_given == (life == "known")
    assert (other.beliefs.level, there.beliefs(at=9).level) == (0.8, 0.95)
    assert same(here.beliefs(at=9), there.beliefs(at=9))
    assert here.beliefs_over_time(7)[-1][0] == here.period
    assert same(here.beliefs_over_time(7), there.beliefs_over_time(7))
    assert here.settings == there.settings
    assert here.arms == there.arms
    assert (here.period, here.version, here.open_tickets) == (there.period, there.version, there.open_tickets)
    assert same(here.expected_regret(), there.expected_regret())
    for ticket in (1, 10, here.period):
        mine, theirs = here.explain(ticket), there.explain(ticket)
        assert isinstance(theirs, ap.Split)
        assert (mine.ticket, mine.budget, mine.note) == (theirs.ticket, theirs.budget, theirs.note)
        for part in ("shares", "amounts", "reasons"):
            assert same(dict(getattr(mine, part)), dict(getattr(theirs, part)))
        assert str(mine) == str(theirs)
        assert same(mine.beliefs, theirs.beliefs)
    # But for the moments of writing and the keys, the log is the same.
    assert [(e.number, e.kind, e.ticket, e.payload) for e in here.events()][1:] == [
        (e.number, e.kind, e.ticket, e.payload) for e in there.events()
    ][1:]
    assert all(event.key for event in there.events()[1:])
    bare = [
        line._replace(date="", recorded=None, by=None, corrections=len(line.corrections)) for line in here.history()
    ]
    assert bare == [
        line._replace(date="", recorded=None, by=None, corrections=len(line.corrections)) for line in there.history()
    ]
    assert isinstance(there.check(), Check)
    assert there.check().ok
    assert there.check(repair=True).ok
    assert same(forecast(here, periods=2, worlds=2), there.forecast(periods=2, worlds=2))
    assert same(
        forecast(here, periods=2, worlds=2, policies=["odds", "uniform"], seed=5),
        there.forecast(periods=2, worlds=2, policies=["odds", "uniform"], seed=5),
    )
    calendar = {"2027-01-04": 100, "2027-01-11": 250.5}
    assert same(forecast(here, budgets=calendar, worlds=2), there.forecast(budgets=calendar, worlds=2, keep=False))
    assert same(here.forecast(periods=2, worlds=2, key="kept"), there.forecast(periods=2, worlds=2, key="kept"))
    mine, theirs = here.forecasts(), there.forecasts()
    assert same(mine.forecasts[-1].periods, theirs.forecasts[-1].periods)
    assert mine.sentences[0].split(";")[1:] == theirs.sentences[0].split(";")[1:]
    for asked in ({}, {"budget": 500, "target": 0.5, "goal": 300}):
        mine, theirs = (
            plan._replace(
                arms=tuple(arm._replace(points=tuple(point[:3] for point in arm.points)) for arm in plan.arms)
            )
            for plan in (here.plan(**asked), there.plan(**asked))  # the dates of points are moments of writing
        )
        assert same(tuple(mine), tuple(theirs))
    # And what is kept by the service is what anyone finds in its database.
    kept = ap.Campaign.open(life, db=place[1])
    assert there.export("json") == export_json(kept)
    assert there.export("csv") == export_csv(kept)
    assert there.export("log") == export_log(kept)
    again = client.restore(there.export(), name=f"{life} again")
    assert ap.Campaign.open(f"{life} again", db=place[1]).state() == kept.state()
    assert again.version == there.version
    assert client.restore(there.export("log"), f"{life} from a log").version == there.version


def test_undo_and_the_campaign_as_a_whole_are_the_same_over_the_service(client, place, sqlite, tmp_path):
    """Cancelled splits, an import undone, slips, and names: the same answers, errors and events."""
    file = tmp_path / "past.csv"
    file.write_text("date,arm,amount,outcome\n2026-01-01,search,60,30\n2026-01-01,radio,40,90\n")
    here = ap.Campaign.create("undo", ARMS, db=sqlite, **OPTIONS)
    there = client.create("undo", ARMS, **OPTIONS)
    heard = {}
    for campaign in (here, there):
        said = heard[campaign] = []

        def refused(verb, *given, said=said, **options):
            with pytest.raises(ap.ApportionError) as error:
                verb(*given, **options)
            said.append((type(error.value), str(error.value)))

        for back in (30.0, 32.0, 31.0, 29.0, 33.0):
            campaign.record(campaign.split().ticket, {"search": back})
        campaign.split()
        said.append(campaign.split().unspent)
        campaign.cancel(6)
        refused(campaign.cancel, 1)
        refused(campaign.record, 6, {"search": 1.0})
        refused(campaign.record, 7, {"search": 5000.0})
        campaign.record(7, {"search": 5000.0}, confirm=True)
        refused(campaign.amend, 7, {"search": 1e6})
        campaign.amend(7, {"search": 31.0})
        campaign.import_history(file, add_arms=True)
        said.append([record._replace(at="") for record in campaign.imports()])
        said.append(campaign.undo_import(key="undo"))
        said.append(campaign.undo_import(key="undo"))
        refused(campaign.undo_import)
        refused(campaign.undo_import, 3)
        campaign.rename("undo 2")
        said.append((campaign.name, campaign.status().name, type(campaign.clone("undo 3")) is type(campaign)))
        refused(campaign.clone, "undo 3")
        campaign.archive()
        said.append(campaign.status().archived)
        refused(campaign.split)
    assert heard[here] == heard[there]
    assert "undo 2" not in client.names()
    assert "undo 2" in client.names(archived=True)
    here.unarchive(), there.unarchive()
    assert [(e.number, e.kind, e.ticket, e.payload) for e in here.events()][1:] == [
        (e.number, e.kind, e.ticket, e.payload) for e in there.events()
    ][1:]
    assert same(tuple(here.status()), tuple(there.status()))
    assert there.check().exact
    for campaign in (here, there):
        with pytest.raises(ap.InvalidValue, match=r"`confirm` must be the name of the campaign to delete, 'undo 2'"):
            campaign.delete("undo")
        campaign.delete("undo 2")
        with pytest.raises(ap.UnknownName):
            campaign.status()


def test_costs_and_unknown_noise_are_told_right(client, sqlite):
    options = {"budget": 12, "whole": True, "minimise": True, "policy": "Uniform", "seed": 3}
    here = ap.Campaign.create("costs", ("a", "b", "c"), db=sqlite, **options)
    there = client.create("costs", ("a", "b", "c"), **options)
    for campaign in (here, there):
        split = campaign.split()
        assert sum(split.amounts.values()) == 12
        campaign.record(split.ticket, {"a": 3.0, "b": None})
    assert same(here.beliefs(), there.beliefs())
    assert same(tuple(here.status()), tuple(there.status()))
    assert there.status().arms[2].belief.low == -math.inf
    assert there.beliefs().minimise
    assert there.split().beliefs.minimise


def test_pages_are_put_together(client, monkeypatch):
    campaign = client.create("pages", ("a", "b"), budget=1, seed=1)
    for _ in range(7):
        campaign.record(campaign.split().ticket, {"a": 1.0, "b": 1.0})
    whole = (list(campaign.history()), campaign.events())
    monkeypatch.setattr("apportion.client.remote.PAGE", 2)
    assert (list(campaign.history()), campaign.events()) == whole
    assert [line.ticket for line in campaign.history(3, 5)] == [3, 3, 4, 4, 5, 5]
    assert [line.ticket for line in campaign.history(last=1)] == [1, 1]
    assert [event.number for event in campaign.events(after=4, limit=5)] == [5, 6, 7, 8, 9]
    assert campaign.events(limit=0) == []
    with pytest.raises(ap.InvalidValue, match="`first` must be a whole number of at least 1"):
        campaign.history(0)


@pytest.mark.parametrize("name", ["a b", "50% off?", "über/2".replace("/", "·"), "#1 & 2", "'\"<b>", "日本"])
def test_names_travel_whole(client, name):
    campaign = client.create(name, ("x/y", "..", "a&b=c #?%2F", "ä"), budget=10)
    assert name in client.names()
    campaign.pause_arm("x/y")
    campaign.bound_arm("a&b=c #?%2F", maximum=0.5)
    campaign.remove_arm("..")
    assert [(arm.name, arm.state, arm.maximum) for arm in client.open(name).arms] == [
        ("x/y", "paused", 1.0),
        ("..", "removed", 1.0),
        ("a&b=c #?%2F", "active", 0.5),
        ("ä", "active", 1.0),
    ]


def test_numbers_of_numpy_are_numbers(client):
    campaign = client.create("numpy", ("a", "b"), budget=np.float64(10), b=np.float32(0.5))
    split = campaign.split(np.int64(12))
    campaign.record(split.ticket, {"a": np.float32(1.5), "b": np.int16(2)}, {"a": np.float64(7)})
    assert [line.outcome for line in campaign.history()] == [1.5, 2.0]
    assert [line.amount for line in campaign.history()] == [7.0, 6.0]


def test_a_split_is_dated_and_a_workbook_imported_by_week(client, tmp_path):
    there = client.create("dated", ("a",), budget=10, policy="Uniform")
    assert there.split(date="2026-03-01").date == there.explain(1).date == there.history()[0].date == "2026-03-01"
    book = openpyxl.Workbook()
    book.create_sheet("second")
    for row in (("date", "arm", "amount", "outcome"), ("2026-03-02", "a", 1, 2), ("2026-03-03", "a", 3, 4)):
        book["second"].append(row)
    book.save(tmp_path / "x.xlsx")
    done = there.import_history(tmp_path / "x.xlsx", period="week", sheet=2)
    assert done.tickets == 1
    assert done.notes == (
        "Sheet 'second' was read; there are also 'Sheet'.",
        "Rows of one week and arm were summed: 2 rows became 1.",
    )
    assert there.history(2)[0][1:5] == ("2026-03-02", "a", None, 4.0)


def test_a_history_is_imported(client, sqlite, tmp_path):
    file = tmp_path / "old days.csv"
    file.write_text("day;channel;spend;sales\n1;a;10;3\n1;b;20;5\n2;a;30;\n2;c;5;1\n")
    columns = {"date": "day", "arm": "channel", "amount": "spend", "outcome": "sales"}
    here = ap.Campaign.create("imported", ("a", "b"), budget=10, b=0.5, sigma=1, db=sqlite)
    there = client.create("imported", ("a", "b"), budget=10, b=0.5, sigma=1)
    done = there.import_history(file, add_arms=True, **columns)
    assert done == import_history(here, file, add_arms=True, **columns)
    assert same(here.beliefs(), there.beliefs())
    with pytest.raises(ap.Conflict, match="was imported before"):
        there.import_history(file, **columns)
    assert there.import_history(file, again=True, **columns).tickets == 2
    with pytest.raises(
        ap.InvalidValue, match="Row 1: columns named 'date' and 'arm' and 'amount' and 'outcome' are needed"
    ):
        there.import_history(file)
    with pytest.raises(ap.InvalidValue, match="cannot be read: No such file or directory"):
        there.import_history(tmp_path / "none.csv")
    with pytest.raises(ap.InvalidValue, match="`column` must be one of"):
        there.import_history(file, colour="x")
    file.write_text("date,arm,amount,outcome\n3,a,3.530,1\n")
    with pytest.raises(ap.InvalidValue, match="say whether `decimal` is comma or point"):
        there.import_history(file)
    there.import_history(file, decimal="comma")
    assert there.history()[-1].amount == 3530


# The same errors


def told(error):
    """The sentence; policies that other tests defined are known in this process only."""
    return re.sub(r"known are .* One of your own", "known are … One of your own", str(error.value))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda campaign: campaign.record(99, {"a": 1.0}),
        lambda campaign: campaign.record(1, {"a": 2.0}),
        lambda campaign: campaign.record(1, {"z": 2.0}),
        lambda campaign: campaign.record(1, {"b": math.nan}),
        lambda campaign: campaign.record(1, {"b": 1.0}, {"b": -1.0}),
        lambda campaign: campaign.amend(1, {"b": 1.0}),
        lambda campaign: campaign.split(-5.0),
        lambda campaign: campaign.split(math.inf),
        lambda campaign: campaign.split(key="k" * 201),
        lambda campaign: campaign.pause_arm("z"),
        lambda campaign: campaign.add_arm("a"),
        lambda campaign: campaign.add_arm(" z"),
        lambda campaign: campaign.bound_arm("a", 0.9, 0.1),
        lambda campaign: campaign.bound_arm("a", 0.2, 2.0),
        lambda campaign: campaign.split(-5),
        lambda campaign: campaign.change(b=7.0),
        lambda campaign: campaign.change(b=7),
        lambda campaign: campaign.change(budget=0),
        lambda campaign: campaign.change(window=0),
        lambda campaign: campaign.change(window=2.5),
        lambda campaign: campaign.change(policy="nonsense"),
        lambda campaign: campaign.change(policy=7),
        lambda campaign: campaign.change(policy=ap.Oracle(means=(1.0,))),
        lambda campaign: campaign.bound_arm("a", -1),
        lambda campaign: campaign.explain(5),
        lambda campaign: campaign.beliefs(0),
        lambda campaign: campaign.close(17),
        lambda campaign: campaign.beliefs_over_time(0),
    ],
)
def test_refusals_are_the_same_error_with_the_same_sentence(client, place, wrong):
    name = "refusals"
    if name not in client.names():
        made = client.create(name, ("a", "b"), budget=10, b=0.5, sigma=1)
        made.split()
        made.record(1, {"a": 1.0})
    here, there = ap.Campaign.open(name, db=place[1]), client.open(name)
    version = here.version
    with pytest.raises(ap.ApportionError) as mine:
        wrong(here)
    with pytest.raises(ap.ApportionError) as theirs:
        wrong(there)
    assert type(mine.value) is type(theirs.value)
    assert told(mine) == told(theirs)
    assert here.version == version


def test_unknown_and_taken_names(client):
    client.create("taken", ("a",), budget=1)
    with pytest.raises(ap.Conflict, match="Campaign 'taken' is there already; choose another name"):
        client.create("taken", ("a",), budget=1)
    with pytest.raises(ap.UnknownName, match="Campaign 'nobody' is not known; there are: "):
        client.open("nobody")
    with pytest.raises(ap.UnknownName, match="Campaign 'nobody' is not known"):
        client.campaign("nobody").split()
    for wrong in ("", "a/b", "..", None):
        with pytest.raises(ap.InvalidValue, match="`name` must be a printable name"):
            client.campaign(wrong)
    with pytest.raises(ap.InvalidValue, match="must be made of names, numbers and text"):
        client.campaign("taken").split(object())


@pytest.mark.parametrize(
    "policy",
    [
        ap.Odds(b=0.25, sigma=3.0),
        ap.Odds(b=0.25, floor=0.01),
        ap.Auto(),
        ap.Auto(b=0.75),
        ap.SuccessiveElimination(b=0.5, horizon=100, pairwise=True),
        ap.Oracle(means=(1.0, 2.0)),
        "follow-the-leader",
    ],
    ids=repr,
)
def test_a_policy_made_in_python_goes_along_with_its_parameters(client, sqlite, policy):
    name = f"policy {policy!r}"
    here = ap.Campaign.create(name, ("a", "b"), budget=1, policy=policy, seed=1, db=sqlite)
    there = client.create(name, ("a", "b"), budget=1, policy=policy, seed=1)
    assert there.settings == here.settings
    for campaign in (here, there):
        split = campaign.split()
        campaign.record(split.ticket, {arm: 1.5 for arm, amount in split.amounts.items() if amount > 0})
    assert same(here.beliefs(), there.beliefs())
    assert there.change(policy="uniform") == here.change(policy="uniform")
    assert there.change(policy=policy) == here.change(policy=policy)
    assert there.change(policy=None) == here.change(policy=None)
    assert same(tuple(here.status()), tuple(there.status()))
    assert there.change(window=5, robust=True) == here.change(window=5, robust=True)


def test_a_policy_that_the_service_does_not_have_is_refused(client):
    class Elsewhere(ap.Uniform):
        """Known in this program only."""

    with pytest.raises(ap.UnknownName, match="Policy 'Elsewhere' is not known; known are "):
        client.create("policy 2", ("a", "b"), budget=1, policy=Elsewhere())
    with pytest.raises(ap.InvalidValue, match=r"`policy` must be a policy or the name of one; got 7\."):
        client.create("policy 2", ("a", "b"), budget=1, policy=7)
    assert "policy 2" not in client.names()


# Keys, and connections that break


class Cutter:
    """Stands between client and service, and cuts connections: before the request, or before its answer."""

    def __init__(self, url):
        parts = urlsplit(url)
        self._target = (parts.hostname, parts.port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.plan = []  # what happens to the next exchanges: "pass", "refuse" or "swallow" (the answer)
        self.seen = []
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def _accept(self):
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._carry, args=(near,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _carry(self, near):
        with near, socket.create_connection(self._target, timeout=PATIENCE) as far, contextlib.suppress(OSError):
            near.settimeout(PATIENCE)
            while asked := self._whole(near):
                self.seen.append(asked)
                what = self.plan.pop(0) if self.plan else "pass"
                if what == "refuse":
                    return
                far.sendall(asked)
                told = self._whole(far)
                if what == "swallow":
                    return
                near.sendall(told)

    @staticmethod
    def _whole(wire):
        """One request or answer with its body; nothing where the other end has closed."""
        told = b""
        while b"\r\n\r\n" not in told:
            more = wire.recv(65536)
            if not more:
                return b""
            told += more
        head, _, body = told.partition(b"\r\n\r\n")
        lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        missing = int(lengths[0].partition(b":")[2]) - len(body) if lengths else 0
        chunked = b"transfer-encoding: chunked" in head.lower()
        while missing > 0 or (chunked and not told.endswith(b"\r\n0\r\n\r\n")):
            more = wire.recv(65536)
            if not more:
                break
            missing -= len(more)
            told += more
        return told

    def close(self):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(PATIENCE)


@pytest.fixture
def cutter(place):
    made = Cutter(place[0])
    yield made
    made.close()


def keys(seen):
    return [
        line.partition(b":")[2].strip()
        for asked in seen
        for line in asked.split(b"\r\n")
        if line.lower().startswith(b"idempotency-key")
    ]


def test_a_write_whose_answer_was_lost_is_done_once(cutter, client):
    client.create("lost", ("a", "b"), budget=10, seed=1)
    with ap.Client(cutter.url) as broken:
        campaign = broken.campaign("lost")
        cutter.plan = ["swallow", "refuse", "swallow", "pass"]
        split = campaign.split()
        assert split.ticket == 1
        sent = keys(cutter.seen)
        assert len(sent) == 4
        assert len(set(sent)) == 1
        cutter.plan = ["swallow", "pass"]
        campaign.record(split.ticket, {"a": 1.0, "b": 2.0})
        cutter.plan = ["swallow", "pass"]
        campaign.amend(split.ticket, {"a": 5.0})
        cutter.plan = ["swallow", "pass"]
        campaign.add_arm("c")
        cutter.plan = ["swallow", "pass"]
        assert campaign.change(budget=20).budget == 20
        cutter.plan = ["swallow", "pass"]
        assert broken.create("lost too", ("a", "b"), budget=3).period == 0
        text = broken.open("lost too").export()
        cutter.plan = ["swallow", "pass"]
        assert broken.restore(text, "lost and found").period == 0
        with pytest.raises(ap.Conflict, match="Campaign 'lost and found' is there already"):
            broken.restore(text, "lost and found")
    kinds = [event.kind for event in client.open("lost").events()]
    assert kinds == ["created", "split", "outcome", "amended", "arm", "setting"]


def test_reads_are_asked_again_and_kept_connections_replaced(cutter, client):
    client.create("reads", ("a", "b"), budget=10)
    with ap.Client(cutter.url, retries=0) as broken:
        campaign = broken.campaign("reads")
        assert campaign.period == 0
        cutter.plan = ["refuse"]  # as a service does that closes what was idle for long
        assert campaign.period == 0
        cutter.plan = ["refuse", "refuse"]
        with pytest.raises(ServiceUnavailable, match=r"The service at http://127.0.0.1:\d+ cannot be reached"):
            campaign.period
    with ap.Client(cutter.url, retries=2) as patient:
        cutter.plan = ["refuse", "swallow"]
        assert patient.open("reads").period == 0


def test_your_own_key_is_used(client):
    campaign = client.create("keyed", ("a", "b"), budget=10)
    first, again = campaign.split(key="monday"), campaign.split(key="monday")
    assert first.ticket == again.ticket == 1
    assert dict(first.amounts) == dict(again.amounts)
    assert campaign.split(key="tuesday").ticket == 2
    with pytest.raises(ap.Conflict, match="The key 'monday' was used before for something else"):
        campaign.record(1, {"a": 1.0}, key="monday")
    for wrong in ("", " x", "line\nbreak", 7):
        with pytest.raises(ap.InvalidValue, match="`key` must be"):
            campaign.split(key=wrong)
    assert campaign.period == 2


def test_nobody_there_gets_a_sentence():
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    with pytest.raises(ServiceUnavailable, match=rf"The service at http://127.0.0.1:{port} cannot be reached: "):
        ap.Client(f"http://127.0.0.1:{port}", retries=1).names()


def test_a_service_that_does_not_answer_in_time():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(ServiceUnavailable, match="cannot be reached: it did not answer in time"):
            ap.Client(url, timeout=0.1, retries=0).names()


def test_something_else_at_the_address(place):
    with ap.Client(place[0] + "/elsewhere") as wrong, pytest.raises(ap.UnknownName, match="There is nothing at"):
        wrong.names()


@pytest.mark.parametrize("url", ["", "127.0.0.1:8000", "ftp://x", "http://", "http://a:b@c", "http://x?y=1", None, 7])
def test_what_is_no_address_is_refused(url):
    with pytest.raises(ap.InvalidValue, match="`url` must be the address of a service"):
        ap.Client(url)


def test_many_threads_share_a_client(client):
    campaign = client.create("crowd", ("a", "b"), budget=10)
    rounds = 50 if SOAK else 8

    def work(_):
        for _ in range(rounds):
            split = campaign.split()
            campaign.record(split.ticket, dict.fromkeys(split.amounts, 1.0))

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(6)))
    assert campaign.period == 6 * rounds
    assert campaign.open_tickets == ()
    assert len(connections(client._transport)) <= 6  # kept, and no more than were needed at once


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda client: client.create("x", 5, budget=1), "`arms` must be a list of names; got 5."),
        (lambda client: client.create("x", None, budget=1), "`arms` must be a list of names; got None."),
        (lambda client: client.create("x", "ab", budget=1), "`arms` must be a list of names; got 'ab'."),
        (
            lambda client: client.create("x", ("a", "b"), budget=1, minimum=[0.5]),
            "`minimum` must be a mapping from arm names to numbers, each name once; got [0.5].",
        ),
        (lambda client: client.restore(b"{}"), "`text` must be what `export` wrote as json or log; got b'{}'."),
        (lambda client: client.campaign("x").forecast(policies="odds"),
         "`policies` must be a list of names; got 'odds'."),
        (lambda client: client.campaign("x").forecast(policies=3), "`policies` must be a list of names; got 3."),
        (lambda client: client.campaign("x").events(limit="a"), "`limit` must be a whole number, finite; got 'a'."),
        (
            lambda client: client.campaign("x").record(1, [("a", 1.0)]),
            "`outcomes` must be a mapping from arm names to numbers, each name once; got [('a', 1.0)].",
        ),
        (lambda client: ap.Client("http://x", timeout=1e300),
         "`timeout` must be a number in (0, 2e+06]; got 1e+300."),
    ],
)  # fmt: skip
def test_what_cannot_be_sent_is_refused_in_a_sentence(client, wrong, sentence):
    with pytest.raises(ap.InvalidValue) as caught:
        wrong(client)
    assert str(caught.value) == sentence


def test_the_longest_timeout_is_one_that_a_socket_takes(place):
    with ap.Client(place[0], timeout=2e6) as patient:
        assert isinstance(patient.names(), tuple)


def test_a_series_will_do_as_it_does_here(client):
    import pandas as pd

    campaign = client.create("series", ("a", "b"), budget=10, minimum=pd.Series({"a": np.float64(0.25)}))
    assert campaign.arms[0].minimum == 0.25
    ticket = campaign.split().ticket
    campaign.record(ticket, pd.Series({"a": 2.0, "b": 3.0}), pd.Series({"a": 4.0}))
    campaign.amend(ticket, pd.Series({"a": 1.0}))
    assert [(line.amount, line.outcome) for line in campaign.history()] == [(4.0, 1.0), (5.0, 3.0)]


def test_a_client_its_campaigns_and_their_splits_go_along_with_a_pickle(client):
    campaign = client.create("pickled", ("a", "b"), budget=10)
    split = campaign.split()
    read = (dict(split.amounts), dict(split.shares), dict(split.reasons), split.note)
    twin = pickle.loads(pickle.dumps(split))
    assert (dict(twin.amounts), dict(twin.shares), dict(twin.reasons), twin.note) == read
    with pickle.loads(pickle.dumps(client)) as other:
        assert other.open("pickled").split().ticket == 2
    there = pickle.loads(pickle.dumps(campaign))
    assert there.period == campaign.period == 2
    there._transport.close()


def test_a_token_is_in_no_pickle(monkeypatch):
    with pytest.raises(ap.InvalidValue, match=r"the copy would hold the secret\. Set APPORTION_TOKEN instead\."):
        pickle.dumps(ap.Client("http://x", "apt_secret"))
    monkeypatch.setenv("APPORTION_TOKEN", "apt_secret")
    text = pickle.dumps(ap.Client("http://x", timeout=5.0, retries=1))
    assert b"secret" not in text
    twin = pickle.loads(text)._transport
    assert (twin.url, twin._timeout, twin._retries) == ("http://x", 5.0, 1)
    assert twin._headers["Authorization"] == "Bearer apt_secret"


# Tokens


def test_tokens_scopes_and_secrets(sqlite, monkeypatch):
    tokens = Tokens(sqlite)
    reads, writes = tokens.create("reader", "read"), tokens.create("writer")
    with service(sqlite, "--log-level", "warning") as running:
        with ap.Client(running.url) as nobody, pytest.raises(NotAllowed, match="A token is needed"):
            nobody.names()
        with ap.Client(running.url, "apt_wrong") as stranger, pytest.raises(NotAllowed, match="token is not known"):
            stranger.names()
        with ap.Client(running.url, writes) as writer:
            writer.create("ads", ("a", "b"), budget=10).split()
            assert writes not in repr(writer) + repr(writer.open("ads"))
        monkeypatch.setenv("APPORTION_TOKEN", reads)
        with ap.Client(running.url) as reader:
            campaign = reader.open("ads")
            assert campaign.period == 1
            with pytest.raises(NotAllowed, match="Token 'reader' may only read"):
                campaign.split()
            assert campaign.period == 1
    for wrong in ("apt_\n", "two words", 7):
        with pytest.raises(ap.InvalidValue) as refused:
            ap.Client(running.url, wrong)
        assert str(refused.value) == "`token` must be what `apportion token create` printed."


def connections(transport):
    return transport._open()._transport._pool.connections


def test_connections_are_closed_with_the_client(place):
    transport = BlockingTransport(place[0], None, 10.0, 0)
    finish(transport.read("version"))
    (connection,) = connections(transport)
    assert not connection.is_closed()
    del transport  # forgotten, not closed: no socket stays behind
    assert connection.is_closed()


def test_a_closed_client_opens_again(client):
    assert client.names() is not None
    client.close()
    assert isinstance(client.names(), tuple)


def test_proxies_of_the_environment_are_not_used(place, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{silent.getsockname()[1]}")
        with ap.Client(place[0], timeout=PATIENCE, retries=0) as client:
            assert isinstance(client.names(), tuple)


def test_a_token_is_in_no_error_and_no_log(caplog):
    secret = "apt_secret-of-the-house"
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    with caplog.at_level("DEBUG"), pytest.raises(ServiceUnavailable) as refused:
        ap.Client(f"http://127.0.0.1:{port}", secret, retries=1).names()
    said = "".join(traceback.format_exception(refused.value))
    assert "Connection refused" in said
    assert secret not in said + caplog.text + repr(refused.value.__cause__.request.headers)


def test_a_host_that_is_not_known_is_not_asked_again(monkeypatch):
    monkeypatch.setattr("apportion.client.transport.time.sleep", lambda seconds: pytest.fail("it tried again"))
    with pytest.raises(ServiceUnavailable, match=r"The service at http://no.such.host.invalid cannot be reached: "):
        ap.Client("http://no.such.host.invalid", retries=3).names()


def test_a_process_made_by_fork_has_connections_of_its_own(client):
    client.names()
    (parents,) = connections(client._transport)
    near, far = multiprocessing.get_context("fork").Pipe()

    def child():
        names = client.names()
        far.send((names, [connection is parents for connection in connections(client._transport)]))

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    assert near.poll(PATIENCE)
    assert near.recv() == (client.names(), [False])
    process.join()
    assert connections(client._transport) == [parents]  # the child closed its copy, and not the connection


def test_bounds_as_text_and_totals_so_far_over_the_wire(client):
    campaign = client.create("so far", ("a", "b"), budget=5000, unit="EUR", every="week", outcome_unit="orders",
                             policy="Uniform", b=0.5, sigma=1.0, minimum={"a": "5%"})  # fmt: skip
    campaign.bound_arm("b", maximum="3000 EUR")
    campaign.add_arm("c", "0.05", "10%")
    assert [(arm.minimum, arm.maximum) for arm in campaign.arms] == [(0.05, 1.0), (0.0, 0.6), (0.05, 0.1)]
    assert (campaign.settings.every, campaign.settings.outcome_unit) == ("week", "orders")
    ticket = campaign.split().ticket
    campaign.record(ticket, {"a": 1.0}, provisional=True)
    campaign.record(ticket, {"a": 2.0}, provisional=True)
    status = campaign.status()
    assert (status.provisional_tickets, status.returned) == ((ticket,), 2.0)
    assert campaign.history()[0].state == "provisional"
    campaign.close(ticket)
    assert campaign.status().provisional_tickets == ()
    with pytest.raises(ap.InvalidValue, match="The smallest share of 'a' must be a percentage"):
        campaign.bound_arm("a", "much")
