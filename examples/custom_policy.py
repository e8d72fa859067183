"""A policy of your own, from the check of its contract to a comparison: the one in `my_policy.py`, beside this file.

python examples/custom_policy.py        writes custom_policy.png; --quick simulates less
"""

import argparse

from my_policy import Leading  # in a file of its own, so that its machine code can be stored between runs

import apportion as ap


def main(horizon, replications, picture):
    ap.testing.check_policy(Leading())
    print("Leading keeps the contract: shares add up, the same seed gives the same run, plain and compiled agree.")

    # Live, it is used like every other policy.
    allocator = ap.Allocator(Leading(explore=0.2), ("search", "social"), seed=1)
    first = allocator.ask(100.0)
    allocator.tell(first.ticket, {"search": 40.0, "social": 90.0})
    print(f"After one period it gives {dict(allocator.ask(100.0).amounts)}.")

    # Simulated, it is compiled, and compared with others over many runs.
    result = ap.simulate(
        [Leading(explore=0.05), Leading(explore=0.2), ap.Odds, ap.Uniform],
        ap.Instance(means=(1.0, 0.8, 0.6, 0.4), b=0.75),
        horizon=horizon,
        replications=replications,
        seed=8,
        progress=False,
    )
    print(result.summary().droplevel("instance").round(1).to_string())
    lost = result.regret.isel(period=-1).mean("replication").squeeze("instance").to_series()
    ours = lost[[name for name in lost.index if name.startswith("Leading")]].idxmin()
    print(
        f"{ours} loses {lost[ours]:.0f} in {horizon:,} periods, an even split {lost['Uniform']:.0f}. "
        f"Odds, which explores ever less, loses {lost['Odds']:.0f}."
    )

    figure = ap.figures.regret_over_time(result, bounds=False)
    figure.savefig(picture, dpi=120)
    print(f"Picture: {picture}")


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true", help="20 runs of 200 periods instead of 1,000 of 2,000")
    options.add_argument("--out", default="custom_policy.png", help="the picture")
    given = options.parse_args()
    if given.quick:
        main(horizon=200, replications=20, picture=given.out)
    else:
        main(horizon=2000, replications=1000, picture=given.out)
