"""Beliefs of an allocator, as they are shown and as tables."""

import copy
import math
import pickle

import numpy as np
import pytest
from allocators import ARMS, Refused, learned, make, played

import apportion as ap
from apportion.allocation.beliefs import Beliefs
from apportion.model.sums import Sums, no_sums


def test_beliefs_are_the_estimators_and_intervals_of_the_library():
    allocator = played(make(sigma=2.0, level=0.9), periods=6, budget=10.0)
    seen = learned(allocator)
    estimate = ap.estimators.information_weighted(seen)
    beliefs = allocator.beliefs()
    rho = ap.confidence.anytime_rho(20 * (10 / 3) ** 0.5, math.log(10.0))
    chances = ap.best_probabilities(estimate.mean, 2.0 / np.sqrt(seen.information))
    for place, arm in enumerate(ARMS):
        belief = beliefs[arm]
        low, high = ap.confidence.anytime_interval(
            estimate.mean[place], seen.information[place], sigma=2.0, delta=0.1, rho=rho
        )
        assert (belief.low, belief.high) == pytest.approx((low, high), rel=1e-12)
        assert belief.mean == estimate.mean[place]
        assert belief.probability_best == chances[place]
        assert belief.resource == seen.resource[place]
        assert belief.information == seen.information[place]


def test_an_arm_without_outcomes_is_unknown():
    allocator = make()
    allocator.tell(allocator.ask().ticket, {"search": 1.0})
    belief = allocator.beliefs()["video"]
    assert math.isnan(belief.mean)
    assert (belief.low, belief.high, belief.resource, belief.information) == (-math.inf, math.inf, 0.0, 0.0)
    assert belief.probability_best == 0.375


def test_without_sigma_there_are_means_but_no_intervals():
    allocator = played(make(ap.Uniform()))
    assert allocator.sigma is None
    assert all(belief.mean > 0 and math.isnan(belief.low) for belief in allocator.beliefs().values())
    assert all(math.isnan(belief.probability_best) for belief in allocator.beliefs().values())
    assert not math.isnan(played(make(ap.Uniform(), sigma=1.0)).beliefs()["search"].low)


def test_beliefs_are_a_mapping():
    beliefs = make().beliefs()
    assert list(beliefs) == list(ARMS)
    assert "radio" not in beliefs
    assert beliefs.get("radio") is None
    assert beliefs.get("video").information == 0.0
    with pytest.raises(ap.UnknownName, match="Arm 'radio' is not known; the arms are search, social, video"):
        beliefs["radio"]


def test_beliefs_without_any_arm_are_an_empty_table():
    allocator = make()
    for arm in ARMS:
        allocator.remove_arm(arm)
    assert str(allocator.beliefs()).startswith("arm  mean  low")
    assert len(allocator.beliefs().to_pandas()) == 0
    assert allocator.beliefs().leader is None
    with Refused(allocator, ap.Conflict) as refusal:
        allocator.ask()
    assert refusal.sentence == "No arm is active: resume or add one before asking for a split."


def test_forgetting_lets_old_outcomes_count_less():
    allocator = make(ap.Odds(b=0.5), half_life=1.0)
    for outcome in (1.0, 0.0, 0.0):
        allocator.tell(allocator.ask(3).ticket, dict.fromkeys(ARMS, outcome), amounts=dict.fromkeys(ARMS, 1.0))
    # The first outcome is two periods old and weighs 1/4, the second 1/2.
    assert allocator.beliefs()["search"].mean == pytest.approx(0.25 / 1.75)


def test_splits_and_beliefs_print_as_tables():
    allocator = make(sigma=1.0)
    lines = str(allocator.ask(5000)).splitlines()
    assert lines[0] == "Split 1: 5,000 over 3 arms"
    assert lines[1].split() == ["arm", "amount", "share", "why"]
    assert lines[2] == "search  1,666.67  33.3%  No outcomes yet: all arms start alike."
    assert lines[-1] == "Odds gives each arm a share that grows with its chance of being the best."
    text = repr(allocator.beliefs())
    assert text.splitlines()[0].split() == [
        "arm", "mean", "low", "high", "probability_best", "resource", "information",
    ]  # fmt: skip
    assert text.splitlines()[1].split() == ["search", "–", "−∞", "∞", "33.3%", "0", "0"]
    assert "95% interval, valid at any time" in text


def test_notebooks_get_html_in_which_names_are_only_names():
    allocator = make(arms=("<b>bold</b>", "a & b", '"quoted"'))
    allocator.tell(allocator.ask().ticket, {"<b>bold</b>": 1.0, "a & b": 0.0})
    for table in (allocator.ask(), allocator.beliefs()):
        page = table._repr_html_()
        assert "<b>" not in page
        assert "&lt;b&gt;bold&lt;/b&gt;" in page
        assert "a &amp; b" in page
        assert page.startswith("<table>")


def test_tables_convert_to_pandas():
    allocator = played(make())
    split = allocator.ask(10)
    frame = split.to_pandas()
    assert list(frame.index) == list(ARMS)
    assert frame["amount"].to_dict() == dict(split.amounts)
    assert list(frame.columns) == ["amount", "share", "why"]
    beliefs = allocator.beliefs().to_pandas()
    assert beliefs.loc["video", "mean"] == allocator.beliefs()["video"].mean
    assert beliefs.dtypes.eq(float).all()


def test_a_long_table_leaves_its_middle_out():
    allocator = make(arms=[f"arm {n}" for n in range(200)])
    text = str(allocator.ask())
    assert len(text.splitlines()) == 64
    assert "…" in text
    assert "arm 199" in text
    assert len(allocator.beliefs().to_pandas()) == 200


def test_a_split_that_was_read_can_be_pickled_and_copied():
    allocator = make()
    for _ in range(2):
        split = allocator.ask(100.0)
        read = (dict(split.amounts), dict(split.shares), dict(split.reasons), str(split))
        for twin in (pickle.loads(pickle.dumps(split)), copy.deepcopy(split), copy.copy(split)):
            assert (twin.ticket, twin.budget, twin.beliefs.leader) == (split.ticket, 100.0, split.beliefs.leader)
            assert (dict(twin.amounts), dict(twin.shares), dict(twin.reasons), str(twin)) == read
        allocator.tell(split.ticket, dict(split.amounts))


@pytest.mark.parametrize("information", [math.inf, math.nan, 0.0])
def test_numbers_beyond_all_bounds_say_nothing(information):
    """A split is stored before it is shown: what is believed can be read whatever the outcomes were."""
    sums = no_sums(Sums, 2)
    sums.count[:] = 3.0
    sums.information[:] = [1.0, information]
    sums.score[:] = [1.0, math.nan]
    beliefs = Beliefs(("a", "b"), sums, sigma=1.0, rho=1.0, level=0.95)
    assert beliefs.spread[1] == math.inf
    assert beliefs.probability_best.sum() == pytest.approx(1.0)
    assert beliefs["b"].probability_best == pytest.approx(0.5)


def test_little_for_an_arm_that_may_well_be_the_best_is_explained_where_little_tells_enough():
    """At b = 0.9 four percent of the budget tell half as much as all of it: 0.04^0.2 = 0.53."""
    allocator = ap.Allocator(ap.Recommended(b=0.9, sigma=0.3), ("a", "b", "c"), b=0.9)
    for _ in range(4):
        split = allocator.ask(1000)
        rates = {"a": 1.02, "b": 1.0, "c": 0.1}
        allocator.tell(split.ticket, {arm: rates[arm] * amount for arm, amount in split.amounts.items()})
    split = allocator.ask(1000)
    share, chance = split.shares["b"], split.beliefs["b"].probability_best
    assert share < 0.5 * chance
    assert chance > 0.3
    tells = f"{share:.1%} of the budget tells about {share**0.2:.0%} as much about it as all would, enough to keep"
    assert split.reasons["b"].endswith(f"likely to be the best: {tells} testing it.")
    assert split.brief_reasons["b"] == f"{tells} testing it."
    assert split.brief_reasons["a"] == (
        "Leads. It gets most of the budget, as small amounts are enough to go on comparing the others with it."
    )
    assert "of the budget tells" not in split.reasons["c"]  # it is hardly the best


def test_nothing_of_that_is_said_where_little_tells_little():
    allocator = ap.Allocator(ap.Recommended(b=0.3, sigma=30.0, horizon=50), ("a", "b"), b=0.3)
    for _ in range(5):
        split = allocator.ask(1000)
        allocator.tell(split.ticket, {arm: 1.01 * amount for arm, amount in split.amounts.items() if amount > 0})
    split = allocator.ask(1000)
    assert not any("of the budget" in reason for reason in split.reasons.values())


def test_brief_reasons_are_the_ends_of_the_whole_ones():
    allocator = ap.Allocator(ap.Recommended(b=0.6, c=0.7, sigma=1.0), ("a", "b", "c"), b=0.6, c=0.7)
    assert set(allocator.ask(100).brief_reasons.values()) == {"All arms start alike."}
    allocator.tell(1, {"a": 30.0, "b": 20.0, "c": 2.0})
    split = allocator.ask(100)
    for arm, brief in split.brief_reasons.items():
        assert brief
        assert split.reasons[arm].endswith(brief[1:])
        assert "(" not in brief
