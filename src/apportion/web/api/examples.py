"""Answers as they look, for the description of the API; the tests hold them against the schemas."""

from __future__ import annotations

from typing import Any

from apportion._version import __version__
from apportion.campaigns import settings

BELIEF: dict[str, Any] = {
    "mean": 0.31, "low": 0.18, "high": 0.44, "probability_best": 0.93, "resource": 15200.0, "information": 370.2,
    "marginal": 0.31,
}  # fmt: skip
PER_UNIT: dict[str, Any] = {"return_per_unit": 0.31, "return_per_unit_low": 0.18, "return_per_unit_high": 0.44}
RELATIVE: dict[str, Any] = {"sigma": 40.0, "c": 1.0, "level": 0.95, "minimise": False, "learned": None}
LEARNED: dict[str, Any] = {
    "b": 0.72, "low": 0.55, "high": 0.85, "sigma": 38.5, "above_half": 0.99, "sigma_given": False,
    "c": 1.0, "c_low": 0.84, "c_high": 1.0, "proportional": 0.81, "sigma_low": 21.0, "sigma_high": 55.0,
    "half_life": None, "half_life_low": None, "half_life_high": None, "common": 0.0, "still": 0.96,
    "learns_motion": True, "curved": 0.0, "own": 0.0,
    "sentence": "b is about 0.72 (0.55 to 0.85) and σ about 38.5, learned from the outcomes; so shares are divided.",
}  # fmt: skip
SPLIT: dict[str, Any] = {
    "campaign": "ads",
    "ticket": 7,
    "date": "2026-11-16T08:00:00.000000+00:00",
    "budget": 5000.0,
    "unit": "EUR",
    "note": "Odds gives each arm a share that grows with its chance of being the best.",
    "unspent": [],
    **RELATIVE,
    "arms": [
        {"arm": "search", "amount": 3900.0, "share": 0.78, **BELIEF, **PER_UNIT,
         "reason": "Leads with 0.31 (0.18 to 0.44) per EUR, 93.0% likely to be the best."},
        {"arm": "social", "amount": 1100.0, "share": 0.22, **BELIEF, "mean": 0.2, "low": 0.03, "high": 0.37,
         "return_per_unit": 0.2, "return_per_unit_low": 0.03, "return_per_unit_high": 0.37, "probability_best": 0.07,
         "reason": "0.2 per EUR, 0.11 behind search: worth a closer look."},
    ],
}  # fmt: skip
RECORDED: dict[str, Any] = {"campaign": "ads", "ticket": 7, "open": False, "open_tickets": 0}
ARM: dict[str, Any] = {"name": "search", "state": "active", "minimum": 0.0, "maximum": 0.8}
REMOVED_ARM = {**ARM, "state": "removed"}
ARMS: dict[str, Any] = {"campaign": "ads", "arms": [ARM]}
SETTINGS: dict[str, Any] = {
    **{name: setting.default for name, setting in settings.SETTINGS.items() if not setting.part_of},
    "budget": 5000.0, "unit": "EUR", "outcome_unit": "orders", "every": "week", "policy": "Odds",
    "parameters": {"b": 0.75}, "b": 0.75, "c": 1.0, "sigma": 40.0, "rules": ["social + video <= 40%"], "seed": 7,
    "assumed": [],
}  # fmt: skip
HEALTH: dict[str, Any] = {
    "findings": [{
        "kind": "outlier", "severity": "warning", "title": "A number that looks like a typing slip",
        "meaning": "search in ticket 5: 12,100 came back, where about 1,200 is usual. One such number can turn a "
        "split around.",
        "done": "For now it counts like any other result; only the other checks leave it out.",
        "advice": "If it is a slip, amend ticket 5. If such results are real, let outliers be trimmed, in the "
        "settings.",
        "details": "", "arms": ["search"], "periods": [5], "command": "apportion amend ads 5 search=1210",
    }],
    "summary": "Checked 40 periods with results: 1 finding.", "periods": 40, "arms": 2, "enough": True,
}  # fmt: skip
TOTAL: dict[str, Any] = {"spent": 15200.0, "returned": 4560.0, "return_so_far": 0.3}
STATUS: dict[str, Any] = {
    "campaign": "ads",
    "archived": False,
    "period": 7,
    "open_tickets": [7],
    "provisional_tickets": [],
    "cancelled": 0,
    "leader": "search",
    **TOTAL,
    "expected_regret_per_period": 121.5,
    "return_per_unit_at": 2500.0,
    "arms": [{**ARM, **TOTAL, **BELIEF, **PER_UNIT}],
    "settings": SETTINGS,
    **RELATIVE,
    "events": 14,
    "notes": [],
    "health": HEALTH,
}
SUMMARY: dict[str, Any] = {
    "campaign": "ads", "archived": False, "period": 7, "cancelled": 0, "leader": "search", "open_tickets": 1,
    "budget": 5000.0, "unit": "EUR", **TOTAL, "expected_regret_per_period": 121.5, "events": 14,
    "broken": None,
}  # fmt: skip
CAMPAIGNS: dict[str, Any] = {"campaigns": [SUMMARY], "next": None}
LINE: dict[str, Any] = {
    "ticket": 7, "date": "2026-11-16T08:00:00.000000+00:00", "arm": "search", "advised": 3900.0, "amount": 3900.0,
    "share": 0.78, "outcome": 1210.5, "state": "amended", "recorded": "2026-11-17T08:00:00.000000+00:00",
    "corrections": [{"at": "2026-11-18T08:00:00.000000+00:00", "outcome": 1310.5, "amount": 3900.0}],
    "spent": 3900.0, "by": "token dashboard",
}  # fmt: skip
HISTORY: dict[str, Any] = {"campaign": "ads", "lines": [LINE], "next": None}
EVENT: dict[str, Any] = {
    "number": 15, "at": "2026-11-17T08:00:00.000000+00:00", "kind": "outcome", "ticket": 7,
    "payload": {"outcomes": {"search": 1310.5}}, "key": "2026-11-monday",
    "actor": "token dashboard", "request": "5f1c9e2a77b04d36",
}  # fmt: skip
EVENTS: dict[str, Any] = {"campaign": "ads", "events": [EVENT], "next": 15}
BELIEFS: dict[str, Any] = {
    "campaign": "ads", **RELATIVE, "sigma": 38.5, "learned": LEARNED, "leader": "search",
    "arms": [{"arm": "search", **BELIEF}],
}  # fmt: skip
OVER_TIME: dict[str, Any] = {
    "campaign": "ads", "every": 1,
    "moments": [{"period": 7, **RELATIVE, "leader": "search", "arms": [{"arm": "search", **BELIEF}]}],
}  # fmt: skip
CHECK: dict[str, Any] = {
    "ok": True, "events": 15, "tickets": 7, "snapshots": 1, "exact": True,
    "message": "15 events rebuilt; 1 snapshot agrees bit for bit.",
    "digest": "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae", "sealed": 0,
}  # fmt: skip
PROSPECT: dict[str, Any] = {
    "policy": "Odds", "earned": 71000.0, "earned_low": 52000.0, "earned_high": 90000.0, "regret": 3100.0,
    "regret_low": 400.0, "regret_high": 9800.0,
}  # fmt: skip
PERIOD_FORECAST: dict[str, Any] = {
    "date": "2026-12-01", "budget": 5000.0, "returned": 1420.0, "returned_low": 1040.0, "returned_high": 1800.0,
    "arms": [{"arm": "search", "amount": 3900.0, "share": 0.78, "share_low": 0.7, "share_high": 0.84},
             {"arm": "social", "amount": 1100.0, "share": 0.22, "share_low": 0.16, "share_high": 0.3}],
}  # fmt: skip
FORECAST: dict[str, Any] = {
    "periods": 1, "worlds": 24, "budget": 5000.0, "b": 0.75, "c": 1.0, "sigma": 40.0,
    "prospects": [PROSPECT], "actual": None, "calendar": [PERIOD_FORECAST], "first": 8,
    "sentences": ["The next 1 period, 5,000 EUR in all: about 1,420 comes back (1,040 to 1,800), 0.284 per EUR."],
    "assumes": ["Returns stay as they are."],
}  # fmt: skip
PERIOD_CHECK: dict[str, Any] = {
    "date": "2026-12-01", "ticket": 8, "budget": 5000.0, "returned": 1420.0, "returned_low": 1040.0,
    "returned_high": 1800.0, "spent": 5000.0, "actual": 1510.0, "state": "compared", "inside": True,
}  # fmt: skip
PAST_FORECASTS: dict[str, Any] = {
    "forecasts": [{"number": 15, "at": "2026-11-16T08:00:00.000000+00:00", "policy": "Auto",
                   "periods": [PERIOD_CHECK], "compared": 1, "inside": 1, "error": 0.063, "bias": 0.063}],
    "compared": 1, "inside": 1, "expected": 0.9, "error": 0.063, "bias": 0.063, "coverage": 1.0,
    "sentences": ["1 of 1 period with results came out within the range; 90.0% should."],
}  # fmt: skip
RANGES: dict[str, Any] = {
    "returned": 8120.0, "returned_low": 7400.0, "returned_high": 8900.0, "marginal": 1.13, "marginal_low": 1.01,
    "marginal_high": 1.27,
}  # fmt: skip
BUDGET_PLAN: dict[str, Any] = {"budget": 5000.0, **RANGES}
PLAN: dict[str, Any] = {
    "budget": 5000.0, "unit": "EUR", "minimise": False, "level": 0.95, "c": 0.7, "c_low": 0.62, "c_high": 0.78,
    "proportional": False, "whole": BUDGET_PLAN,
    "arms": [{
        "arm": "search", "amount": 5000.0, "share": 1.0, **RANGES, "tried": 4800.0,
        "curve": {"amounts": [0.0, 5000.0], "returned": [0.0, 8120.0], "low": [0.0, 7400.0],
                  "high": [0.0, 8900.0]},
        "points": [{"amount": 4800.0, "outcome": 7900.0, "ticket": 7, "date": "2026-11-16"}],
    }],
    "budgets": [BUDGET_PLAN], "target": {"asked": 1.2, "budget": 4100.0, "low": 3100.0, "high": 6000.0}, "goal": None,
    "sentences": ["Of 5,000 EUR about 8,120 (7,400 to 8,900) comes back per period, 1.62 per EUR."],
}  # fmt: skip
IMPORTED: dict[str, Any] = {
    "file": "history.csv", "rows": 2, "tickets": 1, "arms_added": [],
    "digest": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "notes": [],
}  # fmt: skip
RENAMED: dict[str, Any] = {"campaign": "ads 2026", "old": "ads", "events": 16}
ARCHIVED: dict[str, Any] = {"campaign": "ads", "archived": True, "events": 16}
CLONED: dict[str, Any] = {"campaign": "ads copy", "source": "ads", "events": 16}
DELETED: dict[str, Any] = {"campaign": "ads", "events": 15}
IMPORTS: dict[str, Any] = {
    "campaign": "ads",
    "imports": [{"event": 12, "at": "2026-11-16T08:00:00.000000+00:00", "file": "history.csv", "rows": 2,
                 "tickets": 1, "undone": False}],
}  # fmt: skip
UNDONE_IMPORT: dict[str, Any] = {"event": 12, "file": "history.csv", "tickets": 1, "arms_removed": []}
RESTORED: dict[str, Any] = {"campaign": "ads again", "events": 15}
VERSION: dict[str, Any] = {"version": __version__, "visitor": "local", "scope": "write", "rights": {}}
CSV = "date,arm,amount,outcome\n2026-11-09,search,3000,930\n2026-11-09,social,2000,410\n"
EXPORT: dict[str, Any] = {"format": "apportion.campaign", "version": 1, "name": "ads", "events": [EVENT]}
STREAM = 'id: 14\nevent: version\ndata: {"version": 14}\n\nid: 15\nevent: change\ndata: {"version": 15}\n\n'
