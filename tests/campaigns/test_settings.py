"""Settings are declared once: what the declaration says is what every door shows and holds."""

import inspect
import os
import shutil
import subprocess
import sys
import typing
from pathlib import Path

import numpy as np
import pytest

import apportion as ap
from apportion.campaigns.settings import CHANGEABLE, RECOUNTS, SETTINGS, ChangedSettings, NewSettings, Settings
from apportion.campaigns.state import ALLOCATOR_SETTINGS
from apportion.client import rebuild
from apportion.errors import InvalidValue


def test_the_value_object_has_each_setting_that_is_kept():
    kept = {name for name, setting in SETTINGS.items() if not setting.part_of}
    assert set(Settings._fields) == kept | {"parameters", "assumed"}


def test_the_table_says_what_the_types_say():
    assert set(SETTINGS) == set(NewSettings.__annotations__)
    assert set(CHANGEABLE) == set(ChangedSettings.__annotations__)
    assert set(RECOUNTS) == {"b", "c", "half_life", "window", "robust"}
    assert [name for name, setting in SETTINGS.items() if setting.required] == ["budget"]
    assert {name for name, setting in CHANGEABLE.items() if setting.nullable} == {
        "unit", "outcome_unit", "every", "step", "b", "c", "sigma", "horizon", "growth", "change", "half_life",
        "window",
    }  # fmt: skip
    for setting in SETTINGS.values():
        if not setting.required:
            assert setting.check(setting.default) == setting.default
        if setting.example is not None:
            assert setting.check(setting.example) == setting.example


def test_create_shows_every_setting_with_its_default():
    shown = inspect.signature(ap.Campaign.create).parameters
    assert set(shown) == {"name", "arms", "db", "key", *SETTINGS}
    assert shown["budget"].default is inspect.Parameter.empty
    assert (shown["level"].default, shown["policy"].default, shown["window"].default) == (0.95, "auto", None)
    for verb, types in ((ap.Campaign.create, NewSettings), (ap.Campaign.change, ChangedSettings)):
        function = inspect.unwrap(verb.__func__ if inspect.ismethod(verb) else verb)
        (last,) = (each for name, each in function.__annotations__.items() if name in ("settings", "changes"))
        assert last == f"Unpack[{types.__name__}]"


def test_a_name_that_is_no_setting_is_refused(tmp_path):
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        ap.Campaign.create("ads", ("a", "b"), budget=10, colour="red", db=tmp_path / "c.db")
    with pytest.raises(TypeError, match="budget"):
        ap.Campaign.create("ads", ("a", "b"), db=tmp_path / "c.db")
    campaign = ap.Campaign.create("ads", ("a", "b"), budget=10, db=tmp_path / "c.db")
    with pytest.raises(InvalidValue, match="`setting` must be one of 'budget', "):
        campaign.change(minimise=True)


def wrong(setting):
    """Values of every kind that a setting must refuse: beyond each bound, and of other types."""
    if setting.kind == "flag":
        return [1, "yes", None]
    if setting.kind == "text":
        return ["", "a\nb", "x" * (setting.longest + 1), 3]
    if setting.kind == "texts":
        return ["a <= 40%", 3, None]
    if setting.kind not in ("number", "whole"):
        return []
    one = 1 if setting.kind == "whole" else 1e-4
    bounds = setting.bounds
    beyond = [
        bounds[name] - by for name, by in (("low", one), ("above", 0), ("high", -one), ("below", 0)) if name in bounds
    ]
    return [*beyond, "1", True, float("nan"), *([1.5] if setting.kind == "whole" else [])]


WRONG = [(setting.name, value) for setting in SETTINGS.values() for value in wrong(setting)]


@pytest.mark.parametrize(("name", "value"), WRONG, ids=str)
def test_what_is_not_allowed_is_refused_in_one_sentence_at_the_beginning_and_later(tmp_path, name, value):
    setting = SETTINGS[name]
    with pytest.raises(InvalidValue) as refused:
        setting.check(value)
    options = {"budget": 10, name: value}
    with pytest.raises(InvalidValue) as begun:
        ap.Campaign.create("ads", ("a", "b"), db=tmp_path / "c.db", **options)
    assert str(begun.value) == str(refused.value)
    if name in ALLOCATOR_SETTINGS:
        with pytest.raises(InvalidValue) as direct:
            ap.Allocator(ap.Uniform(), ("a", "b"), **{name: value})
        assert str(direct.value) == str(refused.value)
    if setting.changeable:
        campaign = ap.Campaign.create("ads", ("a", "b"), budget=10, policy="uniform", db=tmp_path / "c.db")
        before = campaign.settings
        with pytest.raises(InvalidValue) as changed:
            campaign.change(**{name: value})
        assert str(changed.value) == str(refused.value)
        assert campaign.settings == before


def test_the_client_reads_settings_of_older_and_newer_services(tmp_path):
    own = ap.Campaign.create("ads", ("a", "b"), budget=10, db=tmp_path / "c.db", seed=3).settings
    content = own._asdict()
    assert rebuild.settings({**content, "colour": "red"}) == own
    older = {name: value for name, value in content.items() if name not in ("window", "robust", "level")}
    assert rebuild.settings(older) == own


def test_types_of_settings_can_be_read():
    assert typing.get_type_hints(Settings)["window"] == int | None


MORE = """
    patience: Annotated[
        int | None,
        Setting(help="Days to wait for an outcome.", group="past", example=14, low=1, without="as long as it takes"),
    ]
"""


def test_one_more_setting_in_a_copy_of_the_declaration_is_at_every_door(tmp_path):
    """Nothing but its declaration is written; where it takes effect would be the second file."""
    db = tmp_path / "campaigns.db"
    ap.Campaign.create("old", ("a", "b"), budget=10, db=db)
    package = tmp_path / "src" / "apportion"
    shutil.copytree(Path(ap.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    file = package / "campaigns" / "settings.py"
    text = file.read_text(encoding="utf-8")
    for before, more in (("\n\nclass _Fixed(TypedDict", MORE), ("\n\n_KINDS", "    patience: int | None\n")):
        text = text.replace(before, f"{more}{before}", 1)
    file.write_text(text, encoding="utf-8")
    here = Path(__file__).parent
    done = subprocess.run(
        [sys.executable, here / "one_more_setting.py", db, here.parents[1] / "docs" / "tools"],
        env={**os.environ, "PYTHONPATH": str(tmp_path / "src")}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    doors = ["python", "events", "older_campaigns", "command_line", "http_and_pages", "reference"]
    assert done.stdout.split() == doors


def test_a_noise_level_per_arm_can_be_given_and_taken_back_where_the_law_is_learned(sqlite):
    campaign = ap.Campaign.create("ads", ("a", "b", "c"), budget=100, seed=1, db=sqlite)
    for _ in range(8):
        split = campaign.split()
        campaign.record(split.ticket, {arm: 1.1 * amount for arm, amount in split.amounts.items() if amount > 0})
    levels = {"a": 1.0, "b": 2.0, "c": 1.5}
    assert campaign.change(sigma=levels).sigma == levels
    campaign.add_arm("d", sigma=3.0)
    assert campaign.change(policy="Auto").sigma == {**levels, "d": 3.0}
    campaign.split()
    assert campaign.forecast(periods=2, worlds=4, keep=False).calendar
    assert campaign.check(full=True).ok
    assert not isinstance(campaign.change(sigma=None).sigma, dict)
    campaign.split()
    assert campaign.check(full=True).ok


def test_a_change_that_changes_nothing_leaves_the_sums_as_they_were_written(sqlite):
    rng = np.random.default_rng(4)
    campaign = ap.Campaign.create(
        "ads", ("a", "b", "c"), budget=0.01, policy="UCB", b=0.7, sigma=1, seed=1, db=sqlite
    )
    for _ in range(12):
        for _ in range(3):  # totals so far, which replace each other
            outcomes = dict(zip("abc", rng.normal(1.0, 0.5, 3).tolist()))
            ticket = campaign.period or campaign.split().ticket
            campaign.record(ticket, outcomes, dict.fromkeys("abc", 0.1), provisional=True, confirm=True)
        campaign.split()
        written = campaign.state()
        for setting in ({"robust": False}, {"window": None}, {"half_life": None}, {"b": 0.7}):
            events = campaign.version
            campaign.change(**setting)
            assert campaign.version == events
            assert campaign.state() == written
    assert campaign.check(full=True).exact
