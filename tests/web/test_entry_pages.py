"""Results as people enter them: totals so far and pasted cells, on the pages and over HTTP."""

import pytest
from tests.web.test_pages import post, words

from apportion.campaigns.campaign import Campaign

ADS = "/api/v1/campaigns/ads"
ARMS = ("search", "social", "video")


@pytest.fixture
def ads(sqlite):
    made = Campaign.create("ads", ARMS, budget=90, unit="EUR", policy="uniform", seed=7, b=0.5, sigma=2.0, db=sqlite)
    made.split()
    return made


def outcomes(campaign, ticket=1):
    return {line.arm: (line.outcome, line.state) for line in campaign.history(ticket, ticket)}


def test_totals_so_far_on_the_page(client, ads):
    page = post(client, "/campaigns/ads/tickets/1/record", provisional="1", **{"outcome:search": "10,5"})
    assert "Recorded as provisional. Ticket 1 stays open until its totals are final." in words(page)
    assert "so far 10.50 provisional" in words(page)
    assert "Provisional: the totals so far of ticket 1 count as they are, until they are final." in words(page)
    assert "Cancel ticket 1" not in page.text
    post(
        client, "/campaigns/ads/tickets/1/record", provisional="1", **{"outcome:search": "12", "outcome:social": "4"}
    )
    assert outcomes(ads) == {"search": (12.0, "provisional"), "social": (4.0, "provisional"), "video": (None, "open")}
    alone = client.get("/campaigns/ads/tickets/1")
    assert "so far 12 provisional" in words(alone)
    assert "amend-form" not in alone.text
    post(client, "/campaigns/ads/tickets/1/record", provisional="1", **{"outcome:video": "1"})
    assert '<span class="tag provisional">provisional</span>' in client.get("/campaigns/ads").text
    page = post(
        client, "/campaigns/ads/tickets/1/record",
        **{"outcome:search": "13", "outcome:social": "5", "outcome:video": "6"},
    )  # fmt: skip
    assert "Recorded: ticket 1 is complete." in words(page)
    assert outcomes(ads) == {"search": (13.0, "recorded"), "social": (5.0, "recorded"), "video": (6.0, "recorded")}


def test_what_is_provisional_is_final_when_the_ticket_is_closed(client, ads):
    post(client, "/campaigns/ads/tickets/1/record", provisional="1", **{"outcome:search": "10"})
    assert "totals so far are final" in words(client.get("/campaigns/ads"))
    post(client, "/campaigns/ads/tickets/1/close")
    assert outcomes(ads) == {"search": (10.0, "recorded"), "social": (None, "no data"), "video": (None, "no data")}


def test_a_pasted_column(client, ads):
    page = post(client, "/campaigns/ads/tickets/1/record", pasted="Revenue\r\n€ 10,50\r\n20\r\n\r\n")
    assert "stays open for the outcomes that are still to come" in words(page)
    assert outcomes(ads) == {"search": (10.5, "recorded"), "social": (20.0, "recorded"), "video": (None, "open")}
    page = post(client, "/campaigns/ads/tickets/1/record", pasted="1\r\n2")
    assert (page.status_code, "got 2 for 1" in words(page)) == (422, True)
    assert "1\r\n2</textarea>" in page.text.replace("\n", "\r\n").replace("\r\r\n", "\r\n")
    page = post(client, "/campaigns/ads/tickets/1/record", pasted="video\t3", **{"outcome:video": "4"})
    assert "The outcome of 'video' is typed and pasted at once; leave one of them out." in words(page)
    assert outcomes(ads)["video"] == (None, "open")
    post(client, "/campaigns/ads/tickets/1/record", pasted="arm\toutcome\tamount\r\nvideo\t3\t25")
    assert outcomes(ads)["video"] == (3.0, "recorded")
    assert [line.spent for line in ads.history(1, 1)] == [30.0, 30.0, 25.0]


def test_totals_so_far_over_http(client, ads):
    body = {"outcomes": {"search": 10.0}, "provisional": True}
    assert client.post(f"{ADS}/splits/1/outcomes", json=body).json()["open"] is True
    assert client.get(ADS).json()["provisional_tickets"] == [1]
    assert [line["state"] for line in client.get(f"{ADS}/history").json()["lines"]] == ["provisional", "open", "open"]
    refused = client.post(f"{ADS}/splits/1/outcomes", json={"outcomes": {"search": None}, "provisional": True})
    assert refused.status_code == 422
    assert refused.json()["detail"] == "`outcome of 'search'` must be a number where it is provisional; got None."
    assert client.patch(f"{ADS}/splits/1/outcomes", json=body).status_code == 422  # a correction is final
    body = {"outcomes": {"search": 11.0, "social": 2.0, "video": None}}
    assert client.post(f"{ADS}/splits/1/outcomes", json=body).json()["open"] is False
    assert client.get(ADS).json()["provisional_tickets"] == []
