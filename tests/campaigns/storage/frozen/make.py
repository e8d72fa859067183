"""Writes the frozen database of the present schema: run once per released schema, and never again."""

import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import apportion as ap
from apportion.campaigns.storage.schema import REVISION
from apportion.testing.stores import use_every_verb


def main(folder: Path) -> None:
    """A campaign that used every verb, and one of costs in whole units."""
    path = folder / f"schema-{REVISION}.sqlite"
    if path.exists():
        sys.exit(f"{path} is there already: a frozen database is never written again.")
    use_every_verb(
        ap.Campaign.create("every verb", ("search", "social", "video"), budget=100, b=0.75, sigma=2, seed=7, db=path)
    )
    costs = ap.Campaign.create(
        "costs", ("a", "b"), budget=12, whole=True, minimise=True, policy="SuccessiveElimination", b=0.75, sigma=1,
        horizon=100, unit="kits", half_life=20, seed=3, db=path,
    )  # fmt: skip
    for _ in range(5):
        split = costs.split(key=f"key {costs.period}")
        costs.record(split.ticket, {name: 2.0 * amount for name, amount in split.amounts.items()})
    costs.change(budget=15)
    costs._store.close()
    with closing(sqlite3.connect(path)) as plain:
        plain.execute("PRAGMA journal_mode = DELETE")
        plain.execute("VACUUM")


if __name__ == "__main__":
    main(Path(__file__).parent)
