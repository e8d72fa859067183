"""A marketing budget: learn the noise from last year's spend, then split this year's budget week by week.

python examples/marketing.py            writes marketing.png; --quick plays fewer weeks
"""

import argparse
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import apportion as ap

CHANNELS = ("search", "social", "video", "radio")
# The world, which nobody knows: sales per EUR, and noise that grows as the 0.7th power of what is spent.
WORLD = ap.Instance(means=(1.30, 1.70, 1.55, 0.80), b=0.7, sigma=5.0)
BUDGET = 5000.0


def last_year(rng):
    """What a spreadsheet of last year holds: channel, spend, sales."""
    spend = [BUDGET * rng.dirichlet((1.0, 1.0, 1.0, 1.0)) for _ in range(52)]
    sales = [WORLD.draw(week, rng) for week in spend]
    return {"arm": CHANNELS * 52, "amount": np.concatenate(spend), "outcome": np.concatenate(sales)}


def main(weeks, picture):
    rng = np.random.default_rng(2024)
    fit = ap.fit_noise(last_year(rng), c=1.0, sigma="common")  # the law that the campaign is given below
    print(fit.summary())
    with tempfile.TemporaryDirectory() as folder:  # a real campaign keeps its database
        campaign = ap.Campaign.create(
            "ads", CHANNELS, budget=BUDGET, unit="EUR", b=fit.b, sigma=fit.sigma, horizon=weeks,
            minimum={"radio": 0.02}, seed=1, db=Path(folder) / "campaigns.db",
        )  # fmt: skip
        spent = np.zeros((len(CHANNELS), weeks))
        for week in range(weeks):
            split = campaign.split()
            spent[:, week] = [split.amounts[name] for name in CHANNELS]
            sales = WORLD.draw(spent[:, week], rng)
            campaign.record(split.ticket, dict(zip(CHANNELS, sales.tolist())))
        print(campaign.beliefs())
    gained = (WORLD.means @ spent).sum() / (BUDGET * weeks * np.mean(WORLD.means)) - 1.0
    print(f"Over {weeks} weeks the expected sales were {gained:.0%} above those of an even split.")
    figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
    axes.stackplot(range(1, weeks + 1), *spent, labels=CHANNELS, colors=ap.figures.PALETTE, edgecolor="white")
    axes.set(title="Where the weekly budget went", xlabel="week", ylabel="EUR", xlim=(1, weeks), ylim=(0, BUDGET))
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), reverse=True, frameon=False)
    figure.savefig(picture, dpi=120)
    print(f"Picture: {picture}")


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true", help="twelve weeks instead of a year")
    options.add_argument("--out", default="marketing.png", help="the picture")
    given = options.parse_args()
    main(weeks=12 if given.quick else 52, picture=given.out)
