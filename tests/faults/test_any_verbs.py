"""Any verbs in any order: done or refused in a sentence; what was done is exported and restored to the last bit."""

import os
import random

import pytest

import apportion as ap
from apportion.campaigns.files import restore_json, restore_log

CAMPAIGNS = 300 if os.environ.get("APPORTION_SOAK") == "1" else 20
POLICIES = ("Auto", "Odds", "Thompson", "UCB", "Uniform", "Matching")
AMOUNTS = (0.5, 1, 2.5, 10, 100, 1e-3, 12345.67, 1e6)


def levels(arms):
    return {arm: 1.0 + place for place, arm in enumerate(arms)}


def options(rng, arms):
    """What a campaign begins with: each setting now and then."""
    may = {
        "unit": ("EUR", "kits", "JPY"), "policy": POLICIES, "b": (0, 0.5, 0.75, 1), "sigma": (1.0, levels(arms)),
        "c": (0.5, 0.7, 1), "minimise": (True,), "robust": (True,), "half_life": (5,), "every": ("week", "month"),
        "outcome_unit": ("sales",), "rules": ([f"{arms[0]} <= 90%"],), "step": (1,),
    }  # fmt: skip
    chosen = {name: rng.choice(values) for name, values in may.items() if rng.random() < 0.25}
    return {"budget": 50 if "step" in chosen else 10 * rng.choice(AMOUNTS), "seed": rng.randrange(2**53), **chosen}


def change(rng, arms):
    """One setting, to another value or to the one it has."""
    may = {
        "budget": AMOUNTS, "policy": POLICIES, "b": (None, 0.5, 0.8), "sigma": (None, 2.0, levels(arms)),
        "c": (None, 0.6, 1), "half_life": (None, 4), "window": (None, 6), "robust": (False, True),
        "growth": (None, 1.5, 2), "change": (None, 0.1), "rules": ([], [f"{arms[-1]} <= 80%"]), "step": (None, 0.01),
        "unit": (None, "USD"), "horizon": (None, 100), "level": (0.9,),
    }  # fmt: skip
    name = rng.choice(list(may))
    return {name: rng.choice(may[name])}


def act(rng, campaign, file):
    """One verb with something that may be right."""
    arms = [arm.name for arm in campaign.arms]
    arm, ticket = rng.choice(arms), rng.randint(1, max(1, campaign.period))
    amounts = campaign.explain(ticket).amounts if campaign.period else {}
    outcomes = {name: amount * rng.uniform(-0.5, 1.5) for name, amount in amounts.items() if rng.random() < 0.8}
    so_far = rng.random() < 0.2
    verbs = (
        (8, lambda: campaign.split(rng.choice((None, *AMOUNTS)), date=rng.choice((None, "2026-03-01")))),
        (12, lambda: campaign.record(ticket, outcomes, provisional=so_far, confirm=True)),
        (3, lambda: campaign.record(ticket, {arm: None}, {arm: rng.choice(AMOUNTS)}, confirm=True)),
        (3, lambda: campaign.amend(ticket, {arm: rng.choice(AMOUNTS)}, confirm=True)),
        (2, lambda: campaign.cancel(ticket)),
        (2, lambda: campaign.close(ticket)),
        (1, lambda: campaign.add_arm(f"arm {campaign.version}", rng.choice((None, 0.01)))),
        (1, lambda: rng.choice((campaign.pause_arm, campaign.resume_arm, campaign.remove_arm))(arm)),
        (1, lambda: campaign.bound_arm(arm, minimum=rng.choice((None, 0, 0.05)), maximum=rng.choice((None, 0.9)))),
        (6, lambda: campaign.change(**change(rng, arms))),
        (1, lambda: campaign.forecast(periods=2, worlds=3)),
        (1, lambda: rng.choice((campaign.archive, campaign.unarchive))()),
        (1, lambda: campaign.rename(f"{campaign.name[:20]} {campaign.version}")),
        (1, lambda: campaign.import_history(file, add_arms=True, again=True)),
        (1, campaign.undo_import),
    )
    weights, done = zip(*verbs)
    rng.choices(done, weights)[0]()


@pytest.mark.parametrize("kind", ["json", "log"])
def test_any_verbs_are_restored_to_the_last_bit(sqlite, tmp_path, kind):
    rng = random.Random(f"verbs {kind}")
    file = tmp_path / "past.csv"
    file.write_text("date,arm,amount,outcome\n2025-01-01,arm 0,10,5\n2025-02-01,brand new,20,no data\n")
    done = 0
    for number in range(CAMPAIGNS):
        arms = [f"arm {place}" for place in range(rng.randint(1, 5))]
        try:
            campaign = ap.Campaign.create(f"c{number}", arms, db=sqlite, **options(rng, arms))
        except ap.ApportionError:
            continue
        for _ in range(rng.randint(3, 25)):
            try:
                act(rng, campaign, file)
            except ap.ApportionError:
                continue
        back = restore_json if kind == "json" else restore_log
        copy = back(campaign.export(kind), db=sqlite, name="copy")
        live, again = (each.state().split("\n", 1) for each in (campaign, copy))
        assert again[1] == live[1], (number, [event.kind for event in campaign.events()])
        assert campaign.check(full=True).exact
        assert copy.check(full=True).exact
        copy.delete("copy")
        done += 1
    assert done > CAMPAIGNS / 2
