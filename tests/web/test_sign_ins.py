"""The limit on failed sign-ins: by address, for programs and browsers, with an end."""

import logging

import pytest

from apportion.web.guard import sign_ins
from apportion.web.guard.sign_ins import MOST_FAILURES, WITHIN_SECONDS, FailedSignIns

WRONG = {"Authorization": "Bearer apt_wrong"}
CAMPAIGNS = "/api/v1/campaigns"
OWN_PAGE = {"Origin": "http://127.0.0.1:8000"}


@pytest.fixture
def clock(guarded):
    """The clock of the limit, as a list of one number."""
    moment = [1000.0]
    guarded.app.state.credentials.failed._clock = lambda: moment[0]
    return moment


def test_after_many_unknown_tokens_an_address_has_to_wait(guarded, clock, client_of):
    for _ in range(MOST_FAILURES):
        assert guarded.nobody.get(CAMPAIGNS, headers=WRONG).status_code == 401
    refused = guarded.nobody.get(CAMPAIGNS, headers=WRONG)
    assert refused.status_code == 429
    assert refused.headers["retry-after"] == str(int(WITHIN_SECONDS))
    assert "Too many sign-ins failed from this address" in refused.json()["detail"]
    # Also with a good token that was never seen from here, and by the form.
    assert guarded.reader.get(CAMPAIGNS).status_code == 429
    form = guarded.nobody.post("/login", data={"token": guarded.secrets["read"]}, headers=OWN_PAGE)
    assert (form.status_code, "Too many sign-ins failed" in form.text) == (429, True)
    clock[0] += WITHIN_SECONDS
    assert guarded.reader.get(CAMPAIGNS).status_code == 200
    assert guarded.nobody.get(CAMPAIGNS, headers=WRONG).status_code == 401


def test_a_token_that_was_good_from_there_goes_on(guarded, clock):
    assert guarded.reader.get(CAMPAIGNS).status_code == 200
    for _ in range(MOST_FAILURES + 2):
        guarded.nobody.get(CAMPAIGNS, headers=WRONG)
    assert guarded.reader.get(CAMPAIGNS).status_code == 200
    assert guarded.writer.get(CAMPAIGNS).status_code == 429
    guarded.tokens.revoke("reader")
    guarded.app.state.credentials.forget()
    assert guarded.reader.get(CAMPAIGNS).status_code == 401


def test_the_form_counts_too_and_what_fails_is_logged_and_counted(guarded, clock, caplog):
    with caplog.at_level(logging.WARNING, logger="apportion.web"):
        for _ in range(MOST_FAILURES):
            assert guarded.nobody.post("/login", data={"token": "apt_no"}, headers=OWN_PAGE).status_code == 401
    found = [record.fields for record in caplog.records if record.getMessage() == "failed sign-in"]
    assert [fields["refused_from_now_on"] for fields in found] == [False] * (MOST_FAILURES - 1) + [True]
    assert {fields["client"] for fields in found} == {"127.0.0.1"}
    assert guarded.nobody.post("/login", data={"token": "apt_no"}, headers=OWN_PAGE).status_code == 429
    clock[0] += WITHIN_SECONDS
    text = guarded.reader.get("/metrics").text
    assert f"apportion_failed_sign_ins_total {MOST_FAILURES}.0" in text


def test_only_so_many_addresses_are_kept_in_mind(monkeypatch):
    monkeypatch.setattr(sign_ins, "MOST_ADDRESSES", 3)
    failed = FailedSignIns(clock=lambda: 0.0)
    for number in range(10):
        failed.add(f"192.0.2.{number}")
    assert list(failed._moments) == ["192.0.2.7", "192.0.2.8", "192.0.2.9"]


def test_a_network_of_ipv6_is_one(monkeypatch):
    failed = FailedSignIns(clock=lambda: 0.0)
    for number in range(MOST_FAILURES):
        failed.add(f"2001:db8:0:1::{number:x}")
    assert failed.wait("2001:db8:0:1::ffff") > 0
    assert failed.wait("2001:db8:0:2::1") == 0
    assert failed.wait("::ffff:192.0.2.1") == 0
