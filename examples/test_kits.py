"""Daily test kits over twelve states: whole kits, and each kit finds a case or not (b = 1/2 exactly).

python examples/test_kits.py            writes test_kits.png; --quick plays fewer days
"""

import argparse

import matplotlib.pyplot as plt
import numpy as np

import apportion as ap
from apportion.studies.scenarios import KITS  # 343 kits a day; shares of positives of June 2020


def main(days, picture):
    rng = np.random.default_rng(6)
    allocator = ap.Allocator(
        ap.Odds(b=KITS.b, sigma=KITS.sigma), KITS.arms, whole=True, b=KITS.b, sigma=KITS.sigma, seed=3
    )
    sent, found = [], 0.0
    for _ in range(days):
        split = allocator.ask(KITS.budget)
        kits = np.array([split.amounts[state] for state in KITS.arms])
        positives = KITS.world.draw(kits, rng)  # no number where no kit was sent
        allocator.tell(split.ticket, {state: n for state, n in zip(KITS.arms, positives.tolist()) if not np.isnan(n)})
        sent.append(kits)
        found += float(np.nansum(positives))
    beliefs = allocator.beliefs()
    best = KITS.arms[int(np.argmax(KITS.means))]
    even = KITS.budget * days * float(np.mean(KITS.means))
    print(beliefs)
    print(f"{found:,.0f} cases were found in {days} days; an even split would have found about {even:,.0f}.")
    print(f"It takes {beliefs.leader} for the state with the most cases per kit; the truth is {best}.")

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
    image = left.imshow(np.array(sent).T, aspect="auto", cmap="cividis", extent=(0.5, days + 0.5, 11.5, -0.5))
    left.set(title="Kits sent, day by day", xlabel="day", yticks=range(len(KITS.arms)), yticklabels=KITS.arms)
    figure.colorbar(image, ax=left, label="kits a day")
    rows = [beliefs[state] for state in KITS.arms]
    bars = [[row.mean - row.low for row in rows], [row.high - row.mean for row in rows]]
    right.errorbar([row.mean for row in rows], range(len(rows)), xerr=bars, fmt="o", capsize=3, label="learned")
    right.plot(KITS.means, range(len(rows)), "k|", markersize=14, label="truth")
    right.set(title="Cases per kit, with 95% intervals", yticks=range(len(rows)), yticklabels=KITS.arms)
    right.invert_yaxis()
    right.legend(frameon=False)
    figure.savefig(picture, dpi=120)
    print(f"Picture: {picture}")


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true", help="ten days instead of sixty")
    options.add_argument("--out", default="test_kits.png", help="the picture")
    given = options.parse_args()
    main(days=10 if given.quick else KITS.periods, picture=given.out)
