"""Policies by name: two classes may have one name, and each is found where it is at home."""

import importlib
import json
import sys

import pytest

import apportion as ap
from apportion.campaigns.storage.store import open_store
from apportion.policies import POLICIES, find_policy
from apportion.policies.registry import choose_policy
from rechain import rechain

ARMS = ("x", "y")

SOURCE = """
import apportion as ap

class {name}(ap.Policy):
    b: float = 0.5

    def allocate(self, period, sums, memory, rng, shares):
        for arm in range(len(shares)):
            shares[arm] = 1.0 if arm == {arm} else 0.0
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Makes modules that each have a policy, which gives all to one arm; forgotten after the test."""
    monkeypatch.syspath_prepend(str(tmp_path))
    before = {name: dict(classes) for name, classes in ap.Policy._registry.items()}
    made = []

    def make(file, arm, name="Twin"):
        (tmp_path / f"{file}.py").write_text(SOURCE.format(name=name, arm=arm))
        importlib.invalidate_caches()
        made.append(file)
        return importlib.import_module(file)

    yield make
    for file in made:
        sys.modules.pop(file, None)
    for name in [name for name in ap.Policy._registry if name not in before]:
        del ap.Policy._registry[name]
    for name, classes in before.items():
        ap.Policy._registry[name] = classes


def state_of(policy):
    return json.loads(ap.Allocator(policy, ARMS, seed=1).to_json())


def loaded(state):
    return ap.Allocator.from_json(json.dumps(state)).policy


def test_each_of_two_classes_of_one_name_comes_back_as_it_was(module):
    first, second = module("twin_a", 0).Twin, module("twin_b", 1).Twin
    for cls in (first, second, first):
        assert type(loaded(state_of(cls(b=0.75)))) is cls
    assert state_of(first())["policy"]["home"] == "twin_a.Twin"
    assert "home" not in state_of(ap.Odds(b=0.5))["policy"]


def test_state_without_a_home_is_that_of_the_only_class_of_its_name(module):
    cls = module("twin_a", 0).Twin
    state = state_of(cls())
    older = {**state, "policy": {key: state["policy"][key] for key in ("name", "parameters")}}
    moved = {**state, "policy": {**state["policy"], "home": "__main__.Twin"}}
    assert type(loaded(older)) is type(loaded(moved)) is cls
    module("twin_b", 1)
    with pytest.raises(ap.IncompatibleState, match=r"by its name alone: there are twin_a\.Twin, twin_b\.Twin\."):
        loaded(older)
    with pytest.raises(
        ap.IncompatibleState, match=r"'__main__.Twin' is not known; of that name are twin_a.Twin, twin_b"
    ):
        loaded(moved)
    with pytest.raises(ap.UnknownName, match=r"Give the policy itself, or import the module of one alone\."):
        choose_policy("Twin")


def test_a_class_that_is_called_like_one_of_ours_does_not_take_its_place(module):
    own = module("twin_odds", 0, "Odds").Odds
    assert own is not ap.Odds
    assert type(loaded(state_of(ap.Odds(b=0.75)))) is ap.Odds
    assert type(loaded(state_of(own(b=0.75)))) is own
    assert type(choose_policy("odds", 0.75)[0]) is ap.Odds
    assert find_policy("Odds") is ap.Odds
    # Nor does ours take the place of one that is not there.
    state = state_of(own(b=0.75))
    del ap.Policy._registry["Odds"]["twin_odds.Odds"]
    with pytest.raises(ap.IncompatibleState, match="Policy 'Odds' is not known"):
        loaded(state)


def test_a_class_that_is_defined_again_in_its_place_is_the_newest(module):
    old = module("twin_a", 0).Twin
    state = state_of(old())
    del sys.modules["twin_a"]
    new = module("twin_a", 0).Twin
    assert new is not old
    assert type(loaded(state)) is new


def test_a_campaign_tells_two_classes_of_one_name_apart(module, sqlite):
    first, second = module("twin_a", 0).Twin, module("twin_b", 1).Twin
    campaign = ap.Campaign.create("c", ARMS, budget=1, policy=first(), growth=None, db=sqlite)
    assert dict(campaign.split().amounts) == {"x": 1.0, "y": 0.0}
    campaign.change(policy=second())
    assert [event.kind for event in campaign.events()] == ["created", "split", "setting"]
    changed = campaign.events()[-1].payload
    assert (changed["changes"]["policy"]["home"], changed["old"]["policy"]["home"]) == ("twin_b.Twin", "twin_a.Twin")
    campaign.change(policy=second())
    assert campaign.version == 3  # the same again is no change
    open_store(sqlite).shared.clear()
    again = ap.Campaign.open("c", db=sqlite)
    assert dict(again.split().amounts) == {"x": 0.0, "y": 1.0}
    assert again.check().exact


def test_a_database_of_a_release_that_kept_no_home_opens_and_agrees(module, sqlite):
    import sqlalchemy as sa

    from apportion.campaigns.storage.address import database_url
    from apportion.campaigns.storage.database import engine_for

    cls = module("twin_a", 0).Twin
    campaign = ap.Campaign.create("c", ARMS, budget=1, policy=cls(), db=sqlite)
    for _ in range(40):
        campaign.record(campaign.split().ticket, {"x": 1.0})
    with engine_for(database_url(sqlite)).begin() as connection:
        for table, column in (("events", "payload"), ("snapshots", "state")):
            change = f"UPDATE {table} SET {column} = replace({column}, :home, '')"
            for home in (', "home": "twin_a.Twin"', ',"home":"twin_a.Twin"'):
                connection.execute(sa.text(change), {"home": home})
            found = connection.execute(sa.text(f"SELECT count(*) FROM {table} WHERE {column} LIKE '%twin_a%'"))
            assert found.scalar() == 0
        rechain(connection, campaign._id)
    open_store(sqlite).shared.clear()
    older = ap.Campaign.open("c", db=sqlite)
    assert (older.period, older.settings.policy) == (40, "Twin")
    found = older.check()
    assert (found.ok, found.exact, found.snapshots > 0) == (True, True, True)
    assert older.split().ticket == 41
    assert older.check().exact


def test_the_code_of_each_is_in_the_provenance(module):
    first, second = module("twin_a", 0).Twin, module("twin_b", 1).Twin
    world = ap.Instance((1.0, 0.5), b=0.75)
    found = ap.simulate([first(), second(), first(b=0.75)], world, horizon=4, replications=1, seed=1, progress=False)
    assert found.regret.isel(period=-1).values.ravel().tolist() == [0.0, 2.0, 0.0]
    own = found.provenance["own policies"]
    assert list(own) == ["twin_a.Twin", "twin_b.Twin"]
    assert own["twin_a.Twin"] != own["twin_b.Twin"]
    homes = [policy["home"] for policy in found.provenance["definition"]["policies"]]
    assert homes == ["twin_a.Twin", "twin_b.Twin", "twin_a.Twin"]


def test_an_unknown_name_is_answered_with_names_that_can_be_chosen(module):
    module("twin_a", 0)
    with pytest.raises(ap.UnknownName) as caught:
        choose_policy("nonsense")
    sentence = str(caught.value)
    assert sentence.endswith(". One of your own is for Python: import the module that defines it first.")
    offered = sentence.partition("known are ")[2].partition(". ")[0].split(", ")
    assert set(POLICIES) - set(offered) == {"Oracle"}
    assert "Twin" in offered
    for name in offered:
        if name in (*POLICIES, "Twin"):
            choose_policy(name, 1.0)
