"""What a campaign splits can be spent: to the cent where the unit is money, without crumbs elsewhere."""

import json

import pytest

import apportion as ap
from apportion.campaigns.files import restore_json

ARMS = ("search", "social", "video")
PAID = {"search": 1.0, "social": 0.1, "video": 0.2}


def begin(db, name="ads", **options):
    given = {"budget": 1000, "policy": ap.FollowTheLeader(), "seed": 1, "growth": None, **options}
    return ap.Campaign.create(name, ARMS, db=db, **given)


def amounts(campaign, periods=3, **options):
    """The amounts of some periods, all in one list."""
    found = []
    for _ in range(periods):
        split = campaign.split(**options)
        found += split.amounts.values()
        campaign.record(split.ticket, {arm: PAID[arm] * amount for arm, amount in split.amounts.items()})
    return found


def to_the(amount, step):
    return amount == round(amount / step) * step or amount == round(amount, 2)


@pytest.mark.parametrize(("unit", "step"), [("EUR", 0.01), ("$", 0.01), ("JPY", 1.0)])
def test_money_is_split_to_the_cent_unless_told_otherwise(sqlite, unit, step):
    campaign = begin(sqlite, unit=unit)
    assert campaign.settings.step is None
    found = amounts(campaign)
    assert all(to_the(amount, step) for amount in found)
    assert sum(found) == pytest.approx(3000.0, abs=1e-9)
    assert campaign.check().exact
    assert restore_json(campaign.export(), db=sqlite, name="again").state() == campaign.state()


def test_a_step_of_0_is_any_amount(sqlite):
    campaign = begin(sqlite, unit="EUR", step=0)
    assert campaign.settings.step == 0.0
    assert 0.0 < min(amounts(campaign)) < 1e-6
    campaign.change(step=None)
    assert all(to_the(amount, 0.01) for amount in amounts(campaign))
    campaign.change(step=250)
    assert all(amount % 250 == 0 for amount in amounts(campaign))
    assert campaign.check().exact


def test_a_budget_that_cents_do_not_divide_is_split_all_the_same(sqlite):
    campaign = begin(sqlite, unit="EUR", budget=100 / 3)
    assert sum(amounts(campaign, 1)) == 100 / 3
    assert campaign.change(budget=10 / 3).budget == 10 / 3
    assert sum(campaign.split(1 / 7).amounts.values()) == 1 / 7


@pytest.mark.parametrize("unit", ["hours", None])
def test_other_units_have_no_crumbs(sqlite, unit):
    campaign = begin(sqlite, unit=unit, budget=40)
    found = amounts(campaign, 10)
    assert found[0] == pytest.approx(40 / 3)
    assert all(amount == 0.0 or amount >= 40e-4 for amount in found)
    split = campaign.explain(10)
    idle = [arm for arm, amount in split.amounts.items() if amount == 0.0]
    assert idle
    for arm in idle:
        assert split.reasons[arm].endswith(": nothing this time.")


def test_cents_follow_the_unit(sqlite):
    campaign = begin(sqlite)
    amounts(campaign, 1)
    campaign.change(unit="EUR")
    assert all(to_the(amount, 0.01) for amount in amounts(campaign, 1))
    campaign.change(unit="JPY")
    assert all(amount == round(amount) for amount in amounts(campaign, 1))
    assert campaign.check().exact


def test_a_campaign_from_before_is_split_as_it_was(sqlite):
    campaign = begin(sqlite, unit="EUR", step=0)
    amounts(campaign)
    content = json.loads(campaign.export())
    options = content["events"][0]["payload"]["options"]
    del options["resolution"]
    options["step"] = None
    old = restore_json(json.dumps(content), db=sqlite, name="older")
    assert old.settings.step is None
    assert [line.amount for line in old.history()] == [line.amount for line in campaign.history()]
    assert dict(old.split().amounts) == dict(campaign.split().amounts)
    old.change(unit="USD")
    assert 0.0 < min(old.split().amounts.values()) < 1e-6
    assert old.check().exact
