"""One rule, as people write it: what it means, how it is kept, and what is said where it cannot be read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.allocation.rule import LONGEST, quoted_name, read_rule, write_rule
from apportion.errors import ApportionError, InvalidValue, UnknownName

ARMS = ("search", "social", "video", "Search (brand)", "paid social", "3 stars", "A+B", "social-media", "Bank of X")


@pytest.mark.parametrize(
    ("given_text", "kept", "terms", "sign", "share", "amount"),
    [
        ("social + video <= 40%", "social + video <= 40%", {"social": 1, "video": 1}, "<=", 0.4, 0),
        ("  social+video   at most 40 %", "social + video <= 40%", {"social": 1, "video": 1}, "<=", 0.4, 0),
        ("social is at least 500 EUR", "social >= 500 EUR", {"social": 1}, ">=", 0, 500),
        ("social exactly 5%", "social = 5%", {"social": 1}, "=", 0.05, 0),
        ("social = video", "social = video", {"social": 1, "video": -1}, "=", 0, 0),
        ("social ≥ 0.5 × video", "social >= 0.5 * video", {"social": 1, "video": -0.5}, ">=", 0, 0),
        ("social >= 50% of video", "social >= 50% of video", {"social": 1, "video": -0.5}, ">=", 0, 0),
        ("social <= 50% of (social + video)", None, {"social": 0.5, "video": -0.5}, "<=", 0, 0),
        ("40% >= social", "40% >= social", {"social": 1}, "<=", 0.4, 0),
        ("social - video >= €0", "social - video >= €0", {"social": 1, "video": -1}, ">=", 0, 0),
        ("2*social = 3 * video + 5%", "2 * social = 3 * video + 5%", {"social": 2, "video": -3}, "=", 0.05, 0),
        ("Search (brand) < 1.000,5", '"Search (brand)" <= 1.000,5', {"Search (brand)": 1}, "<=", 0, 1000.5),
        ("A+B + search <= 20 hours", '"A+B" + search <= 20 hours', {"A+B": 1, "search": 1}, "<=", 0, 20),
        ("3 stars <= 10%", '"3 stars" <= 10%', {"3 stars": 1}, "<=", 0.1, 0),
        ("'social-media' + paid social <= 10%", None, {"social-media": 1, "paid social": 1}, "<=", 0.1, 0),
        ("Bank of X <= 0.5 units", '"Bank of X" <= 0.5 units', {"Bank of X": 1}, "<=", 0, 0.5),
    ],
)
def test_what_is_written_is_what_is_meant(given_text, kept, terms, sign, share, amount):
    rule = read_rule(given_text, ARMS)
    assert (dict(rule.terms), rule.sign) == (terms, sign)
    assert (rule.share, rule.amount, rule.change) == pytest.approx((share, amount, False))
    if kept is not None:
        assert rule.text == kept
    assert read_rule(rule.text, ARMS) == rule


def test_a_rule_about_change():
    rule = read_rule("Change of social + video <= 10%", ARMS)
    assert (rule.text, rule.change, rule.share) == ("change of social + video <= 10%", True, 0.1)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("social <= 0.4", "The 0.4 in rule .* write 40% for a share of the budget, or '0.4 units' for an amount"),
        ("social", "must have one of <=, >= and = between two sums"),
        ("10% <= social <= 40%", "must have one of <=, >= and ="),
        ("social <= 1,000", "can be read in two ways; write 1000 or"),
        ("social * video <= 3", "must not multiply arms with each other"),
        ("10% <= 20%", "must name an arm"),
        ("social - social <= 5%", "must name an arm"),
        ("change of social >= 3%", "must say how far arms may move at once"),
        ("change of social <= video", "must say how far arms may move at once"),
        ("social <=", "cannot be read at its end"),
        ("social + <= 3", "cannot be read at its end"),
        ("social ) <= 5%", r"cannot be read at '\)'"),
        ("(social <= 5%", "cannot be read at its end"),
        ("20 social <= 5%", r"Did you mean 20 \* social\?"),
        ("", "`rules` must be texts such as"),
        ("social\n<= 5%", "`rules` must be texts such as"),
        ("social <= 5%" + " " * LONGEST, "`rules` must be texts such as"),
        (7, "`rules` must be texts such as"),
    ],
)
def test_what_cannot_be_read_is_said_in_one_sentence(text, says):
    with pytest.raises(InvalidValue, match=says):
        read_rule(text, ARMS)


def test_an_arm_that_is_not_there_is_named_with_those_that_are():
    with pytest.raises(UnknownName, match=r"names 'vidoe', which is not one of the arms search, social\."):
        read_rule("social + vidoe <= 40%", ("search", "social"))


def test_a_plain_reading_stays_whatever_arm_comes_later():
    before = read_rule("A + B <= 40%", ("A", "B"))
    assert read_rule(before.text, ("A", "B", "A + B")) == before


@given(
    names=st.lists(
        st.text("aß 2+*()-'\"=<>%.ofchange ", min_size=1, max_size=12), min_size=1, max_size=4, unique=True
    )
)
def test_any_arm_can_be_written_into_a_rule_and_read_again(names):
    arms = [name for name in names if name == name.strip()]
    for name in arms:
        if '"' in name and "'" in name:
            with pytest.raises(InvalidValue, match="both kinds of quotation marks"):
                quoted_name(name)
            continue
        rule = read_rule(write_rule([name], "<=", "40%"), arms)
        assert (dict(rule.terms), rule.share) == ({name: 1.0}, 0.4)
        assert read_rule(rule.text, arms) == rule


@given(text=st.text("ab +-*()<>=≤%0123456789.,'\"of ", max_size=30))
def test_nonsense_is_a_sentence_and_never_a_traceback(text):
    try:
        rule = read_rule(text, ("a", "b", "a b"))
    except ApportionError:
        return
    assert read_rule(rule.text, ("a", "b", "a b")) == rule


def test_a_long_rule_is_cut_inside_of_a_sentence():
    arms = [f"region {number}" for number in range(100)]
    rule = read_rule(write_rule(arms, ">=", "20%"), arms)
    assert rule.brief == "region 0 + region 1 + region 2 + region 3 + r … ≥ 20%"
