"""Writes docs/explanation/beyond-the-paper.md: every number in it is read from a data file of the reports.

python docs/tools/beyond.py            writes the page
python docs/tools/beyond.py --check    exit code 1 where the page is not what would be written
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from apportion._common import files
from apportion.reporting.html import shown
from apportion.studies.concave.scores import load_scores
from apportion.studies.leaderboard import Leaderboard
from apportion.studies.page import with_error
from apportion.studies.paper.errata import ERRATA
from apportion.studies.robustness.study import Study

DOCS = Path(__file__).parent.parent
PAGE = DOCS / "explanation" / "beyond-the-paper.md"
# The length at which thresholds are compared.
REFERENCE_T = 1_000
# The words of the page; a name in braces stands for a number.
TEMPLATE = Path(__file__).with_name("beyond-the-paper.txt")


def page() -> str:
    """The page, from the data files."""
    return TEMPLATE.read_text(encoding="utf-8").format_map({**_paper(), **_boards(), **_robustness()})


def _paper() -> dict[str, Any]:
    sections = json.loads((DOCS / "reproduction" / "data.json").read_text(encoding="utf-8"))["sections"]
    values = {name: entry["values"] for name, entry in sections.items()}
    numbers, asked, bent = values["errata"]["numbers"], values["open-questions"], values["diminishing"]
    growth = next(row for row in asked["growth"] if row["t"] == REFERENCE_T)
    worth = {row["policy"]: with_error(row["mean"], row["error"]) for row in asked["worth"]["rows"]}
    judged = [row for row in bent["constants"] if row["predicted"] is not None]
    verdicts = [row["verdict"] for row in judged]
    told = [row for row in judged if row["policy"] == "estimates, floor"]
    diagram = bent["diagram"]
    return {
        "errata": len(ERRATA), "linear": shown(numbers["radius"][1]), "one": shown(numbers["one"][0]),
        "two": shown(numbers["two"][0]), "printed": shown(numbers["greedy"][0]), "sharp": shown(numbers["greedy"][2]),
        "information": shown(numbers["greedy"][3]), "t": shown(growth["t"]), "level": shown(asked["level"]),
        "growth_printed": shown(growth["printed"]), "growth_cycles": shown(growth["cycles"]),
        "growth_exact": shown(growth["exact"]), "arms": asked["worth"]["arms"], "gap": shown(asked["worth"]["gap"]),
        "horizon": shown(asked["worth"]["horizon"]), "worth_corrected": worth["Algorithm 1, corrected"],
        "worth_cycles": worth["Algorithm 1, cycles"], "worth_cone": worth["Algorithm 1, cone"],
        "worth_anytime": worth["Algorithm 1, anytime pairwise"], "precision": shown(asked["precision"]["least"]),
        "precision_cases": asked["precision"]["cases"], "judged": len(judged),
        "agree": verdicts.count("as predicted"), "open": verdicts.count("not told apart"),
        "differ": len([verdict for verdict in verdicts if verdict.endswith("than predicted")]),
        "close": shown(round(100 * bent["close"])), "confidence": shown(100 * bent["confidence"]),
        "ratios": " and ".join([", ".join(f"{row['ratio']:.2f}" for row in told[:-1]), f"{told[-1]['ratio']:.2f}"]),
        "dots": len(diagram["dots"]), "median": f"{diagram['median']:.2f}", "least": f"{diagram['least']:.2f}",
        "largest": f"{diagram['largest']:.2f}",
    }  # fmt: skip


def _boards() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in ("suite", "fresh"):
        ranking = Leaderboard.load(DOCS / "leaderboard" / f"{name}.json").ranking().to_dict(orient="index")
        short = {"ours": "Recommended", "thompson": "Thompson", "leader": "AdaptiveElimination, leader"}
        for word, policy in short.items():
            if policy in ranking:
                row: Any = ranking[policy]
                found[f"{word}_{name}"] = with_error(row["mean"], row["mean_error"])
                found[f"{word}_{name}_cases"] = row["cases"]
    scores, _ = load_scores(DOCS / "real-worlds" / "real_worlds.json")
    auto = [score for score in scores if score.policy == "Auto"]
    return {
        **found, "worlds": len(auto),
        "auto": round(100 * sum(score.part for score in auto) / len(auto)),
        "even": round(100 * sum(score.even for score in auto) / len(auto)),
    }  # fmt: skip


def _robustness() -> dict[str, Any]:
    study = Study.from_json((DOCS / "robustness" / "data.json").read_text(encoding="utf-8"))
    cells = {name.violation: name for name in study if (name.world, name.policy) == ("divide", "Recommended")}
    keys = {"half": "sigma-half", "low": "b-low", "shock": "shock", "unequal": "unequal"}
    ratios = {word: with_error(*study.ratio(cells[key])) for word, key in keys.items()}
    return {"runs": study.runs, "cells": len(study.cells), **ratios}


if __name__ == "__main__":
    if "--check" in sys.argv[1:]:
        sys.exit(0 if PAGE.read_text(encoding="utf-8") == page() else 1)
    files.write_text(PAGE, page())
