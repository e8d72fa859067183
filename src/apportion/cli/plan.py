"""`apportion plan`: what a budget may bring back, its best split, and the budget that answers a question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from apportion.cli import show
from apportion.cli.campaign import Db, Json, Name, open_campaign

if TYPE_CHECKING:
    from apportion.campaigns.plan import Plan

OTHER_BUDGETS = (0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0)  # of the planned one


def plan(
    name: Name,
    budget: Annotated[
        float | None, typer.Option(help="The budget of a period to plan for; the campaign's by default.")
    ] = None,
    target: Annotated[
        float | None, typer.Option(help="Up to which budget does the next unit still bring back so much?")
    ] = None,
    goal: Annotated[float | None, typer.Option(help="The least budget for so much to come back.")] = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """What a budget may bring back, how it is best split, and what more or less of it would change.

    Example: apportion plan ads --budget 6000 --target 1.2 --goal 9000
    """
    campaign = open_campaign(name, db)
    found = campaign.plan(budget, target=target, goal=goal)
    if json:
        show.show_json(found.to_dict())
    else:
        _show(name, found)


def _show(name: str, found: Plan) -> None:
    from apportion._common.formatting import column_cells, one_of, percent, written
    from apportion.campaigns.plan_words import ranged

    unit = f" ({found.unit})" if found.unit else ""
    columns = {"arm": "left", f"spend{unit}": "right", "share": "right",
               "is paid" if found.minimise else "comes back": "right",
               f"next {one_of(found.unit)}": "right"}  # fmt: skip
    amounts = column_cells([round(arm.amount, 2) for arm in found.arms])
    rows = [
        (arm.arm, amount, percent(arm.share), ranged(arm.returned, arm.returned_low, arm.returned_high),
         ranged(arm.marginal, arm.marginal_low, arm.marginal_high))
        for arm, amount in zip(found.arms, amounts)
    ]  # fmt: skip
    title = f"{name}: the best split of {written(found.budget)} {found.unit or ''}".rstrip()
    show.grid(title, columns, rows, " ".join(found.sentences))
    wanted = [factor * found.budget for factor in OTHER_BUDGETS]
    near = [min(found.budgets, key=lambda row, want=want: abs(row.budget - want)) for want in wanted]  # type: ignore[misc]
    shown = sorted({row.budget: row for row in near}.values())
    others = {f"budget{unit}": "right", "is paid" if found.minimise else "comes back": "right",
              f"next {one_of(found.unit)}": "right"}  # fmt: skip
    cells = [
        (written(row.budget), ranged(row.returned, row.returned_low, row.returned_high),
         ranged(row.marginal, row.marginal_low, row.marginal_high))
        for row in shown
    ]  # fmt: skip
    show.grid("Other budgets, split alike", others, cells, found.range_note)
