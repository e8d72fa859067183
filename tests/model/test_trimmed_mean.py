"""The sliding window and the robust groups: exact like the sums they are made of, in any order, and by definition."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import apportion as ap
from apportion.campaigns.state import CampaignState
from apportion.cli.app import app
from apportion.model.exact_sums import Statistics
from apportion.model.memory import Window
from apportion.model.sums import Grid
from apportion.model.trimmed_mean import GROUPS, TRIM, Groups, centre, new_past, past_from_dict, window_of
from apportion.studies.robustness.kernel import arm_centre

AMOUNT = st.one_of(st.just(0.0), st.floats(1e-6, 1e6))
OUTCOME = st.one_of(st.just(math.nan), st.floats(-1e6, 1e6))
HISTORY = st.lists(st.tuples(st.tuples(AMOUNT, AMOUNT), st.tuples(OUTCOME, OUTCOME)), min_size=1, max_size=25)
# Half-life, window, robust, c: every way to count that there is.
COUNTING = st.sampled_from([
    (None, 4, False), (None, 1, False), (None, 9, True), (None, None, True), (3.5, None, True), (None, None, False),
    (None, 4, False, 0.6), (None, 9, True, 0.8), (3.5, None, True, 0.5), (2.5, None, False, 0.7),
])  # fmt: skip
ORDER = st.sampled_from([0.0, 0.4, 0.75, 1.0, Grid((1.0,), (0.2, 0.5, 0.8))])


def bits(past):
    """Every sum, as it is in memory."""
    return [np.asarray(values).tobytes() for values in past.sums()]


def told(history, b, counting, order=None):
    """The history told at the end, in some order; period p is its place + 1."""
    past = new_past(2, b, *(counting if isinstance(b, float) else counting[:3]))
    past.advance(len(history))
    for place in order if order is not None else range(len(history)):
        past.update(*history[place], period=place + 1)
    return past


def told_as_it_came(history, b, counting):
    past = new_past(2, b, *(counting if isinstance(b, float) else counting[:3]))
    for amounts, outcomes in history:
        past.advance()
        past.update(amounts, outcomes)
    return past


# ---- exactness, of every way to count ----


@settings(deadline=None, max_examples=40)
@given(HISTORY, ORDER, COUNTING, st.randoms(use_true_random=False))
def test_the_order_of_arrival_leaves_no_trace(history, b, counting, random):
    order = list(range(len(history)))
    random.shuffle(order)
    assert bits(told(history, b, counting, order)) == bits(told_as_it_came(history, b, counting))


@settings(deadline=None, max_examples=40)
@given(HISTORY, ORDER, COUNTING, st.data())
def test_what_is_taken_back_was_never_there(history, b, counting, data):
    past = told_as_it_came(history, b, counting)
    gone = data.draw(st.sets(st.integers(0, len(history) - 1)))
    for place in gone:
        past.revert(*history[place], period=place + 1)
    nothing = ((0.0, 0.0), (math.nan, math.nan))
    rest = [nothing if place in gone else row for place, row in enumerate(history)]
    assert bits(past) == bits(told(rest, b, counting))


@settings(deadline=None, max_examples=40)
@given(HISTORY, ORDER, COUNTING, HISTORY)
def test_saved_state_goes_on_bit_for_bit(history, b, counting, more):
    past = told_as_it_came(history, b, counting)
    state = past.to_dict()
    back = past_from_dict(json.loads(json.dumps(state, allow_nan=False)))
    assert type(back) is type(past)
    assert (window_of(back), back.c) == (window_of(past), past.c)
    assert json.dumps(back.to_dict()) == json.dumps(state)
    for amounts, outcomes in more:
        for one in (past, back):
            one.advance()
            one.update(amounts, outcomes)
    assert bits(back) == bits(past)


@settings(deadline=None, max_examples=40)
@given(HISTORY, ORDER, COUNTING, st.data())
def test_merging_is_observing_both(history, b, counting, data):
    mine = data.draw(st.sets(st.integers(0, len(history) - 1)))
    parts = []
    for held in (mine, set(range(len(history))) - mine):
        past = new_past(2, b, *(counting if isinstance(b, float) else counting[:3]))
        past.advance(len(history))
        for place in held:
            past.update(*history[place], period=place + 1)
        parts.append(past)
    parts[0].merge(parts[1])
    assert bits(parts[0]) == bits(told(history, b, counting))


@settings(deadline=None, max_examples=40)
@given(HISTORY, st.sampled_from([0.0, 0.75, 1.0]), st.integers(1, 6))
def test_a_window_is_the_sums_of_its_last_periods(history, b, window):
    only = Statistics(2, b)
    for amounts, outcomes in history[-window:]:
        only.update(amounts, outcomes)
    assert bits(told_as_it_came(history, b, (None, window, False))) == bits(only)


def test_a_window_forgets_to_the_last_bit_and_memory_stays_bounded():
    past, rng = Window(2, 0.75, 5), np.random.default_rng(1)
    for _ in range(500):
        past.advance()
        past.update(rng.random(2), 1e8 * rng.standard_normal(2))
    assert len(past._rows) == 5
    past.advance(5)
    assert not any(values.any() for values in past.sums())
    past.update([1.0, 1.0], [5.0, 5.0], period=500)  # home too late to count
    past.revert([1.0, 1.0], [5.0, 5.0], period=500)
    assert not any(values.any() for values in past.sums())


def test_a_new_arm_has_nothing_in_any_of_them():
    for counting in ((None, 3, False), (None, 3, True), (2.0, None, True)):
        past = told_as_it_came([((1.0, 2.0), (3.0, 4.0))] * 4, 0.5, counting)
        past.add_arms()
        past.advance()
        past.update([1.0, 1.0, 1.0], [1.0, 1.0, 7.0])
        assert past.arms == 3
        assert past.sums().reward[2] == pytest.approx(7.0, rel=1e-15)
        assert bits(past_from_dict(past.to_dict())) == bits(past)


# ---- the robust centre ----


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(-1e3, 1e3), st.integers(0, 5)), min_size=1, max_size=12))
def test_the_centre_is_its_definition(groups):
    """Whole weights: the weighted distribution is a list of copies, and 5·n copies can be trimmed by a fifth."""
    values, weights = (np.array(column, dtype=float) for column in zip(*groups))
    copies = sorted(value for value, weight in groups for _ in range(5 * weight))
    cut = len(copies) // 5
    direct = np.mean(copies[cut : len(copies) - cut]) if copies else 0.0
    found = centre(values[:, np.newaxis], weights[:, np.newaxis])[0]
    assert found == pytest.approx(direct, rel=1e-9, abs=1e-9)
    # The compiled study has it for one arm at a time.
    assert arm_centre(values.copy(), weights.copy(), TRIM) == pytest.approx(found, rel=1e-9, abs=1e-9)


def test_wild_outcomes_move_the_mean_but_not_the_centre():
    rng = np.random.default_rng(3)
    plain, robust = Statistics(1, 0.5), new_past(1, 0.5, robust=True)
    for period in range(1, 161):
        outcome = 1.0 + rng.standard_normal() if period % 53 else 1e6  # three slips, in three groups of sixteen
        for past in (plain, robust):
            past.advance()
            past.update([1.0], [outcome])
    mean, middle = (past.sums().score[0] / past.sums().information[0] for past in (plain, robust))
    assert mean > 1e4
    assert abs(middle - 1.0) < 0.5
    # The other two estimates are held too, and information counts everything.
    sums = robust.sums()
    assert sums.reward[0] / sums.resource[0] == pytest.approx(middle)
    assert sums.ratio[0] / sums.count[0] == pytest.approx(middle)
    assert sums.information[0] == plain.sums().information[0]


def test_the_centre_costs_as_little_precision_as_is_said():
    """The variance over that of the mean, Gaussian and equal groups: 1.13; 20,000 draws, so ±1% (1 s.e.)."""
    noise = np.random.default_rng(5).standard_normal((GROUPS, 20_000))
    assert 1.09 < GROUPS * centre(noise, np.ones_like(noise)).var() < 1.17


def test_groups_of_a_grid_keep_the_residual_sum_of_squares():
    orders = Grid((1.0,), (0.25, 0.5, 0.75))
    rng = np.random.default_rng(7)
    plain, robust = Statistics(2, orders), new_past(2, orders, robust=True)
    for _ in range(50):
        amounts, outcomes = rng.random(2) + 0.1, rng.standard_normal(2)
        for past in (plain, robust):
            past.advance()
            past.update(amounts, outcomes)
    one, other = plain.sums(), robust.sums()
    residuals = [sums.square - sums.score**2 / sums.information for sums in (one, other)]
    np.testing.assert_allclose(residuals[0], residuals[1], rtol=1e-9)
    assert (one.score != other.score).any()
    assert (residuals[0] > 0).all()


# ---- refusals ----


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"half_life": 3.0, "window": 4}, "`window` must be left out where `half_life` is given; got 4."),
        ({"window": 0}, "`window` must be a whole number in [1, 100000]; got 0."),
        ({"window": 2.5}, "`window` must be a whole number in [1, 100000]; got 2.5."),
        ({"robust": 1}, "`robust` must be True or False; got 1."),
    ],
)
def test_what_cannot_be_counted_by_is_refused(options, sentence):
    with pytest.raises(ap.InvalidValue) as caught:
        ap.Allocator(ap.Odds(b=0.75), ("x", "y"), **options)
    assert str(caught.value) == sentence


def test_a_window_refuses_what_contradicts_it_and_changes_nothing():
    past = Window(2, 0.75, 3)
    past.advance()
    past.update([1.0, 1.0], [1.0, math.nan])
    before = past.to_dict()
    with pytest.raises(ap.Conflict, match="Arm 0 already has an outcome in period 1"):
        past.update([1.0, 1.0], [1.0, 2.0])
    with pytest.raises(ap.Conflict, match="not those recorded for period 1"):
        past.revert([1.0, 1.0], [9.0, math.nan])
    with pytest.raises(ap.InvalidValue, match="one number per arm"):
        past.update([1.0], [1.0])
    with pytest.raises(ap.InvalidValue, match="same window"):
        past.merge(Window(2, 0.75, 4))
    with pytest.raises(ap.Conflict, match="already has an outcome"):
        past.merge(past)
    assert past.to_dict() == before


@pytest.mark.parametrize("robust", [False, True])
def test_damaged_state_is_refused(robust):
    past = told_as_it_came([((1.0, 1.0), (1.0, 2.0))] * 3, 0.75, (None, 4, robust))

    def window(state):
        return state["groups"][1] if robust else state

    for spoil in (
        lambda state: state.update(period=-1),
        lambda state: window(state).update(period=-1),
        lambda state: window(state).update(window=0),
        lambda state: window(state).update(arms=3),
        lambda state: window(state)["rows"][0].update(period=5),
        lambda state: window(state)["rows"][0].update(period=-7),
        lambda state: window(state)["rows"][0].update(amounts=[0.0, 1.0]),
        lambda state: window(state)["rows"].append(window(state)["rows"][0]),
    ):
        state = json.loads(json.dumps(past.to_dict()))
        spoil(state)
        with pytest.raises(ap.ApportionError):
            past_from_dict(state)


# ---- through the Allocator and the campaign ----


def played(allocator, periods, seed=0, order=None):
    rng = np.random.default_rng(seed)
    tickets = []
    for _ in range(periods):
        split = allocator.ask()
        tickets.append((split.ticket, {arm: float(rng.standard_normal()) for arm in split.amounts}))
        allocator.tell(*tickets[-1])
    return tickets


@pytest.mark.parametrize("options", [{"robust": True}, {"window": 7}, {"window": 7, "robust": True}])
def test_the_allocator_saves_amends_and_goes_on(options):
    make = lambda: ap.Allocator(ap.AdaptiveElimination(b=0.75), ("x", "y", "z"), seed=1, **options)  # noqa: E731
    one, other = make(), make()
    told_one = played(one, 20)
    # Told wrongly at first, amended later: the same beliefs, to the last bit.
    for ticket, outcomes in told_one:
        split = other.ask()
        wrong = {arm: value + 100.0 for arm, value in outcomes.items()}
        other.tell(split.ticket, wrong)
        other.amend(ticket, outcomes)
    assert dict(one.beliefs()) == dict(other.beliefs())
    back = ap.Allocator.from_json(one.to_json())
    assert (back.window, back.robust, back.half_life) == (one.window, one.robust, None)
    assert back.to_json() == one.to_json()
    played(one, 12, seed=1), played(back, 12, seed=1)
    assert back.to_json() == one.to_json()


def test_plain_state_is_as_it_ever_was():
    """State saved before there were windows holds the same keys, and loads."""
    state = json.loads(ap.Allocator(ap.Odds(b=0.75), ("x", "y"), seed=1).to_json())
    assert set(state["statistics"]) == {"b", "half_life", "period", "anchor", "limbs"}
    assert ap.Allocator.from_json(json.dumps(state)).robust is False


def test_a_campaign_counts_by_window_and_robust(sqlite):
    campaign = ap.Campaign.create("ads", ("x", "y"), budget=10, b=0.75, sigma=1, window=3, robust=True, db=sqlite)
    rng = np.random.default_rng(2)
    for _ in range(40):
        split = campaign.split()
        campaign.record(split.ticket, {arm: float(rng.standard_normal()) for arm in split.amounts})
    campaign.amend(40, {"x": 3.0})
    campaign.amend(2, {"x": 3.0})  # long out of the window: kept in the history, counts nothing
    assert campaign.settings.window == 3
    assert campaign.settings.robust is True
    assert "Only outcomes of the last 3 periods count." in campaign.status().notes
    assert campaign.check().exact
    narrow = campaign.beliefs()["x"].information
    # A half-life takes the window's place, and the other way round; everything is counted anew.
    changed = campaign.change(half_life=20.0)
    assert (changed.window, changed.half_life, changed.robust) == (None, 20.0, True)
    assert campaign.beliefs()["x"].information > narrow
    changed = campaign.change(window=3)
    assert (changed.window, changed.half_life) == (3, None)
    assert campaign.beliefs()["x"].information == narrow
    with pytest.raises(ap.InvalidValue, match="`window` must be left out"):
        campaign.change(window=3, half_life=2.0)
    campaign.change(window=None, robust=False)
    assert campaign.settings.window is None
    assert not campaign.settings.robust
    assert campaign.check().ok
    assert campaign.check().exact


def test_events_from_before_there_were_windows_still_begin_a_campaign(sqlite):
    campaign = ap.Campaign.create("ads", ("x", "y"), budget=10, b=0.75, sigma=1, db=sqlite)
    event = campaign.events()[0]
    options = {name: value for name, value in event.payload["options"].items() if name not in ("window", "robust")}
    old = event._replace(payload={**event.payload, "options": options})
    assert CampaignState.begin(old).text() == CampaignState.begin(event).text()


def test_a_robust_past_refuses_another_kind():
    with pytest.raises(ap.InvalidValue, match="same number of groups"):
        Groups([Statistics(1, 0.5)] * 3).merge(new_past(1, 0.5, robust=True))


def test_the_commands_know_window_and_robust(sqlite):
    def told(*line):
        result = CliRunner().invoke(app, [*line, "--db", sqlite, "--json"])
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    made = told("new", "ads", "--arms", "x,y", "--budget", "10", "--window", "30", "--robust")
    assert made["settings"]["window"] == 30
    assert made["settings"]["robust"] is True
    assert told("settings", "ads", "--no-robust", "--half-life", "9")["window"] is None
    assert told("settings", "ads", "--window", "5")["half_life"] is None
    found = told("settings", "ads", "--window", "0")
    assert (found["window"], found["half_life"], found["robust"]) == (None, None, False)
    assert told("check", "ads")["ok"] is True


@pytest.mark.parametrize("options", [{"robust": True}, {"window": 12}, {"window": 12, "robust": True}])
def test_a_policy_that_learns_b_and_sigma_may_forget_and_trim(options):
    allocator, rng = ap.Allocator(ap.Auto(), ("x", "y"), seed=1, **options), np.random.default_rng(4)
    for _ in range(40):
        split = allocator.ask()
        told = {arm: float(amount + amount**0.75 * rng.standard_normal()) for arm, amount in split.amounts.items()}
        allocator.tell(split.ticket, {arm: told[arm] for arm, amount in split.amounts.items() if amount > 0.0})
    assert 0.0 <= allocator.b <= 1.0
    assert allocator.learned.sigma > 0.0
    assert ap.Allocator.from_json(allocator.to_json()).to_json() == allocator.to_json()
