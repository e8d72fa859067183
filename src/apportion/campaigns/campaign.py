"""A campaign: a real budget, split every period, with everything that ever happened kept."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from apportion._common import validation
from apportion._version import __version__
from apportion.allocation.arms import by_name
from apportion.allocation.feasible import amounts as feasible_amounts
from apportion.allocation.outcomes import budget_amount
from apportion.allocation.split import Split
from apportion.campaigns.events import Event, now
from apportion.campaigns.settings import (
    SETTINGS,
    ChangedSettings,
    NewSettings,
    Settings,
    takes_new_settings,
    with_defaults,
)
from apportion.campaigns.state import ALLOCATOR_SETTINGS, BookedAllocator, Ledger
from apportion.campaigns.storage.store import Store, open_store
from apportion.campaigns.transactions import request_mark, write_key
from apportion.campaigns.view import Arm as Arm
from apportion.campaigns.view import View
from apportion.errors import Conflict, InvalidValue
from apportion.policies.registry import choose_policy

# Characters of a name, of a campaign or a new arm.
LONGEST_NAME = 200


class Campaign(View):
    """A budget that is really being split, kept in a database; for several threads and processes at once.

    `split` gives the next split with a ticket, `record` brings outcomes home by ticket and arm name; the semantics
    are those of `Allocator`. Every verb is on disk when it returns. `db` is a file or a URL (SQLite, PostgreSQL);
    by default `APPORTION_DB`, or a file in the user's data folder. A `key` names a write: sent again with the same
    key, it is done once.

    >>> import tempfile, pathlib
    >>> db = pathlib.Path(tempfile.mkdtemp()) / "campaigns.db"
    >>> campaign = Campaign.create("ads", ("search", "social"), budget=5000, unit="EUR", db=db, b=0.75, sigma=40)
    >>> split = campaign.split()
    >>> dict(split.amounts)
    {'search': 2500.0, 'social': 2500.0}
    >>> campaign.record(split.ticket, {"search": 812.0, "social": 410.5})
    >>> Campaign.open("ads", db=db).beliefs().leader
    'search'
    """

    # Making and finding

    @classmethod
    @takes_new_settings
    def create(
        cls,
        name: str,
        arms: Iterable[str],
        *,
        db: str | os.PathLike[str] | None = None,
        key: str | None = None,
        **settings: Unpack[NewSettings],
    ) -> Campaign:
        """Begin a campaign with a `budget` and any other settings (`campaigns.settings` declares them).

        `Conflict` where there is one of that name, unless it was begun with the same `key`.
        """
        title = campaign_name(name)
        names = tuple(_short_name("arms", arm) for arm in validation.arm_names("arms", arms))
        given = with_defaults(settings)
        content = _creation(names, given)
        # A seed that was drawn was not asked for.
        asked: dict[str, Any] = {"begun": {**content["options"], **content["settings"], "seed": given["seed"]}}
        if key is not None:
            content["asked"] = request_mark("created", None, asked)
        store = open_store(db)
        try:
            return cls._begin(store, title, [Event(1, now(), "created", None, content, write_key(key))])
        except Conflict:
            if title not in cls.names(db):  # refused, but not for its name
                raise
            with store.reading() as session:
                known = cls(store, session.find(title), title)
                if known._known(session, key, "created", **asked) is None:
                    raise
            return known

    @classmethod
    def _begin(cls, store: Store, name: str, events: list[Event]) -> Campaign:
        """A campaign of that name with these events, which must begin with its creation."""
        title = campaign_name(name)
        ledger = Ledger.begin(events[0])
        by_ticket: dict[int | None, list[Event]] = {}
        for event in events:
            by_ticket.setdefault(event.ticket, []).append(event)
        ledger.history = lambda ticket, upto: [e for e in by_ticket.get(ticket, []) if e.number <= upto]
        for event in events[1:]:
            ledger.apply(event)
        with store.writing() as session:
            identity = session.add_campaign(title, events[0].at)
            session.append(identity, events)
            session.save(identity, ledger.number, ledger.text())
        return cls(store, identity, title)

    @classmethod
    def open(cls, name: str, db: str | os.PathLike[str] | None = None) -> Campaign:
        """The campaign of that name; `UnknownName` with those there are."""
        store = open_store(db)
        with store.reading() as session:
            return cls(store, session.find(campaign_name(name)), name)

    @staticmethod
    def names(db: str | os.PathLike[str] | None = None) -> tuple[str, ...]:
        """The names of all campaigns."""
        with open_store(db).reading() as session:
            return tuple(row.name for row in session.campaigns())

    def __repr__(self) -> str:
        return f"Campaign.open({self.name!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        url = self._store.url
        if url.password is not None or "password" in url.query:
            raise InvalidValue(
                "A campaign cannot be pickled or copied where the address of its database has a password: "
                "the copy would hold it. Open the campaign by its name instead."
            )
        db = Path(str(url.database)) if url.get_backend_name() == "sqlite" else str(url)
        return type(self).open, (self.name, db)

    # The verbs

    def split(self, budget: float | None = None, *, key: str | None = None) -> Split:
        """The next split, of the campaign's budget unless another is given here. Earlier tickets may be open."""
        with self._writing() as book:
            known = self._known(book.session, key, "split", budget=budget)
            if known is not None:
                return self._retold(book.session, known)
            amount = book.ledger.settings_budget if budget is None else budget
            split, payload = book.ledger.allocator.ask_booked(amount)
            book.note("split", payload, split.ticket, key)
            return split

    def record(
        self,
        ticket: int,
        outcomes: Mapping[str, float | None],
        amounts: Mapping[str, float] | None = None,
        *,
        key: str | None = None,
    ) -> None:
        """Bring outcomes home: in parts, late, in any order; None means that none will come ("no data").

        `amounts` are what was really spent where that differs from the advice. The same again changes nothing;
        something else is a `Conflict`: `amend` corrects.
        """
        with self._writing() as book:
            if self._known(book.session, key, "outcome", ticket, outcomes=outcomes, amounts=amounts) is not None:
                return
            allocator = book.ledger.allocator
            held = allocator.shelf.find(ticket)
            told, spent = held.told.copy(), held.amounts
            allocator.tell(ticket, outcomes, amounts)
            if (held.told != told).any() or (held.amounts != spent).any():
                book.note("outcome", _news(outcomes, amounts), held.number, key)

    def amend(
        self,
        ticket: int,
        outcomes: Mapping[str, float | None],
        amounts: Mapping[str, float] | None = None,
        *,
        key: str | None = None,
    ) -> None:
        """Correct outcomes that were recorded, or the amounts they came from. The old stay in the history."""
        with self._writing() as book:
            if self._known(book.session, key, "amended", ticket, outcomes=outcomes, amounts=amounts) is not None:
                return
            allocator = book.ledger.allocator
            held = allocator.shelf.find(ticket)
            was, spent = held.outcomes, held.amounts
            allocator.amend(ticket, outcomes, amounts)
            payload = _news(outcomes, amounts)
            old: dict[str, Any] = {
                "outcomes": {name: _or_none(was[allocator.places[name]]) for name in payload["outcomes"]}
            }
            if "amounts" in payload:
                old["amounts"] = {name: float(spent[allocator.places[name]]) for name in payload["amounts"]}
            book.note("amended", {**payload, "old": old}, held.number, key)

    def close(self, ticket: int, *, key: str | None = None) -> None:
        """Give up waiting: no data will come for what is still open of a ticket."""
        with self._writing() as book:
            if self._known(book.session, key, "outcome", ticket, close=True) is not None:
                return
            allocator = book.ledger.allocator
            held = allocator.shelf.find(ticket)
            names = {place: name for name, place in allocator.places.items()}
            open_ = [
                names[place] for place in range(len(held.told)) if held.amounts[place] > 0 and not held.told[place]
            ]
            if open_:
                missing: dict[str, float | None] = dict.fromkeys(open_)
                allocator.tell(ticket, missing)
                book.note("outcome", {"outcomes": missing}, held.number, key)

    def add_arm(self, name: str, minimum: float = 0.0, maximum: float = 1.0, *, key: str | None = None) -> None:
        """A new arm, or one that was removed, with all that was learned about it."""
        self._change_arm("add", name, minimum, maximum, key)

    def pause_arm(self, name: str, *, key: str | None = None) -> None:
        """Give the arm nothing until it is resumed."""
        self._change_arm("pause", name, key=key)

    def resume_arm(self, name: str, *, key: str | None = None) -> None:
        """Take a paused arm back into the splits."""
        self._change_arm("resume", name, key=key)

    def remove_arm(self, name: str, *, key: str | None = None) -> None:
        """Take the arm away; outcomes of open tickets still count, and `add_arm` brings it back."""
        self._change_arm("remove", name, key=key)

    def bound_arm(
        self, name: str, minimum: float | None = None, maximum: float | None = None, *, key: str | None = None
    ) -> None:
        """Set the smallest and largest share of an arm; both alike pins it."""
        self._change_arm("bound", name, minimum, maximum, key)

    def _change_arm(
        self,
        action: str,
        arm: str,
        minimum: float | None = None,
        maximum: float | None = None,
        key: str | None = None,
    ) -> None:
        with self._writing() as book:
            asked: dict[str, Any] = {"action": action, "arm": arm, "minimum": minimum, "maximum": maximum}
            if self._known(book.session, key, "arm", **asked) is not None:
                return
            if action == "add" and arm not in tuple(book.ledger.allocator.places):
                _short_name("name", arm)
            before = book.ledger.allocator.roster
            book.ledger.change_arm(action, arm, minimum, maximum)
            if book.ledger.allocator.roster == before:
                return
            bounds = {"minimum": minimum, "maximum": maximum}
            given = {name: float(value) for name, value in bounds.items() if value is not None}
            book.note("arm", {"action": action, "arm": arm, **given}, key=key)

    def change(self, *, key: str | None = None, **changes: Unpack[ChangedSettings]) -> Settings:
        """Change settings, all that are given or none (`campaigns.settings` declares them).

        Another b, half-life, window or robust counts all outcomes again; of half-life and window the one set last
        replaces the other. The policy takes over a new b or sigma.
        """
        with self._writing() as book:
            old = book.ledger.settings
            if self._known(book.session, key, "setting", settings=changes) is not None:
                return old
            wanted: dict[str, Any] = {**changes}
            policy_before = book.ledger.allocator.policy.to_state()
            if {"budget", "step"} & set(wanted):
                _dividable(wanted.get("budget", old.budget), wanted.get("step", old.step))
            if {"policy", "b", "sigma"} & set(wanted):
                allocator = book.ledger.allocator
                kept = {
                    name: wanted.get(name, getattr(old, name))
                    for name in ("b", "sigma")
                    if name in wanted or name not in old.assumed
                }
                policy = wanted.get("policy")
                if policy is None:
                    own = {**allocator.policy.parameters}
                    own.update({name: wanted[name] for name in ("b", "sigma") if name in wanted and name in own})
                    policy = type(allocator.policy)(**own)
                chosen, _ = choose_policy(policy, **kept)
                wanted["policy"] = chosen.to_state()
            book.ledger.change(wanted)
            new = book.ledger.settings
            was = {name: policy_before if name == "policy" else getattr(old, name) for name in wanted}
            if new != old or book.ledger.allocator.policy.to_state() != policy_before:
                book.note("setting", {"changes": _taken(wanted, book.ledger), "old": was}, key=key)
            return new

    @contextmanager
    def together(self) -> Iterator[None]:
        """Several verbs as one write: all are kept at the end of the block, or none."""
        with self._writing():
            yield


def campaign_name(name: Any) -> str:
    """A campaign's name, checked: it ends up in addresses and file names."""
    if (
        not isinstance(name, str)
        or not 1 <= len(name) <= LONGEST_NAME
        or name != name.strip()
        or not name.isprintable()
        or set(name) & set("/\\")
        or name in (".", "..")
    ):
        raise validation.refuse(
            "name", f"a printable name of at most {LONGEST_NAME} characters without / or \\", name
        )
    return name


def _short_name(label: str, name: Any) -> Any:
    """The name of an arm that is new. Those that are kept may be longer: older releases had no limit."""
    if isinstance(name, str) and len(name) > LONGEST_NAME:
        raise validation.refuse(label, f"names of at most {LONGEST_NAME} characters", name)
    return name


def _dividable(budget: Any, step: float | None) -> float:
    """A campaign's budget, checked; one that is no multiple of the step could never be split."""
    amount = budget_amount(budget)
    if step is not None:  # refused as every split would be
        size = validation.number("step", step, above=0.0)
        feasible_amounts([1.0], amount, step=size, rng=np.random.default_rng(0))
    return amount


def _creation(arms: tuple[str, ...], given: dict[str, Any]) -> dict[str, Any]:
    """What the event `created` holds: the options of the allocator, the settings beside it, this release."""
    policy, assumed = choose_policy(given["policy"], given["b"], given["sigma"])
    allocator = BookedAllocator(policy, arms, **{name: given[name] for name in ALLOCATOR_SETTINGS})
    roster = allocator.roster
    kept = [name for name, setting in SETTINGS.items() if name != "policy" and not setting.part_of]
    options = {
        "policy": policy.to_state(),
        "arms": [arm["name"] for arm in roster],
        "minimum": {arm["name"]: arm["minimum"] for arm in roster if arm["minimum"] > 0.0},
        "maximum": {arm["name"]: arm["maximum"] for arm in roster if arm["maximum"] < 1.0},
        **{name: getattr(allocator, name) for name in kept if name in ALLOCATOR_SETTINGS},
        "b": allocator.told_b,
    }
    settings = {name: given[name] for name in kept if name not in ALLOCATOR_SETTINGS}
    settings |= {"budget": _dividable(given["budget"], allocator.step), "assumed": list(assumed)}
    return {"options": options, "settings": settings, "program": __version__}


def _taken(wanted: Mapping[str, Any], ledger: Ledger) -> dict[str, Any]:
    """Settings as they were taken in: plain numbers for the log, whatever kind of number was given."""
    own = ledger.allocator
    held = {**ledger.settings._asdict(), "policy": wanted.get("policy"), "b": own.told_b, "sigma": own.sigma}
    return {name: None if value is None else held[name] for name, value in wanted.items()}


def _news(outcomes: Mapping[str, float | None], amounts: Mapping[str, float] | None) -> dict[str, Any]:
    given = by_name("outcomes", outcomes)
    news: dict[str, Any] = {
        "outcomes": {name: None if value is None else float(value) for name, value in given.items()}
    }
    if amounts is not None:
        news["amounts"] = {name: float(value) for name, value in by_name("amounts", amounts).items()}
    return news


def _or_none(value: float) -> float | None:
    return None if value != value else float(value)
