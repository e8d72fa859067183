"""One sentence for every refusal, and none of Python's own errors for numbers of any size or kind."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from apportion._common import validation
from apportion.errors import InvalidValue

HUGE = 10**400
TOO_LONG = 10**5000  # Python refuses to write it out


@pytest.mark.parametrize("value", [3, 3.0, np.int64(3), np.float32(3), Fraction(3)])
def test_whole_numbers_of_every_kind(value):
    found = validation.whole("n", value, low=1)
    assert found == 3
    assert type(found) is int


@pytest.mark.parametrize("value", [2, 2.0, np.int64(2), np.float32(2), Fraction(2)])
def test_numbers_of_every_kind(value):
    found = validation.number("x", value, above=0)
    assert found == 2.0
    assert type(found) is float


@pytest.mark.parametrize("check", [validation.whole, validation.number])
@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (True, "True"),
        (None, "None"),
        ("7", "'7'"),
        (math.nan, "nan"),
        (math.inf, "inf"),
        (1j, "1j"),
        (Decimal(2), "Decimal('2')"),
        (HUGE, "1" + "0" * 76 + "..."),
        pytest.param(TOO_LONG, "a number too large to be shown", id="too long to write"),
        (Fraction(HUGE, 3), "a number too large to be shown"),
        (0, "0"),
    ],
)
def test_what_is_no_number_is_refused_in_one_sentence(check, value, shown):
    with pytest.raises(InvalidValue) as refusal:
        check("n", value, low=1)
    kind = "a whole number" if check is validation.whole else "a number"
    assert str(refusal.value) == f"`n` must be {kind} of at least 1; got {shown}."


@pytest.mark.parametrize(
    ("bounds", "sentence"),
    [
        ({}, "`x` must be a number, finite; got nan."),
        ({"low": 0}, "`x` must be a number of at least 0; got nan."),
        ({"above": 0}, "`x` must be a number above 0; got nan."),
        ({"high": 1}, "`x` must be a number of at most 1; got nan."),
        ({"below": 1}, "`x` must be a number below 1; got nan."),
        ({"low": 0, "below": 1}, "`x` must be a number in [0, 1); got nan."),
        ({"above": 0, "high": 1}, "`x` must be a number in (0, 1]; got nan."),
    ],
)
def test_the_range_is_part_of_the_sentence(bounds, sentence):
    with pytest.raises(InvalidValue) as refusal:
        validation.number("x", math.nan, **bounds)
    assert str(refusal.value) == sentence
