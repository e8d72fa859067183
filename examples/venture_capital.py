"""A fund's monthly million over six start-ups: which policy would have lost least, over many simulated funds?

python examples/venture_capital.py      writes venture_capital.png; --quick simulates fewer funds
"""

import argparse

import apportion as ap
from apportion.studies.scenarios import STARTUPS


def main(funds, picture):
    # Simulations split one unit. A unit is the monthly million here, so that noise scales with its power b − 1.
    sigma = STARTUPS.sigma * STARTUPS.budget ** (STARTUPS.b - 1.0)
    world = ap.Instance(STARTUPS.means, b=STARTUPS.b, sigma=sigma)
    result = ap.simulate(
        [ap.Recommended, ap.Odds, ap.Thompson, ap.Uniform],  # as classes: each gets b and sigma of the world
        world,
        horizon=STARTUPS.periods,
        replications=funds,
        periods=range(1, STARTUPS.periods + 1),
        seed=11,
        progress=False,
    )
    print("Months of budget lost by not knowing the best company:")
    print(result.summary().droplevel("instance").round(2).to_string())

    lost = result.regret.isel(period=-1).mean("replication").squeeze("instance").to_series().sort_values()
    best, worst = lost.index[0], lost.index[-1]
    months = STARTUPS.periods
    made = 1.0 - lost / (months * max(STARTUPS.means))
    print(
        f"In {months} months {best} makes {made[best]:.0%} of what could have been made, {worst} {made[worst]:.0%}; "
        f"{worst} loses {lost[worst] / lost[best]:.1f} times as much."
    )

    figure = ap.figures.regret_over_time(result, bands=False, bounds=False)
    figure.savefig(picture, dpi=120)
    print(f"Picture: {picture}")


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true", help="40 funds instead of 2,000")
    options.add_argument("--out", default="venture_capital.png", help="the picture")
    given = options.parse_args()
    main(funds=40 if given.quick else 2000, picture=given.out)
