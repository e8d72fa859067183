"""A student's research hours: look at several directions a little, or stay with one? It depends on b.

An hour on a direction shows some of what a whole day would, the more the larger b is: the noise of a share goes as
share^b. This simulates a season of days for many values of b, for a policy that divides the day and one that never
does.

python examples/research_time.py        writes research_time.png; --quick simulates fewer seasons
"""

import argparse

import apportion as ap
from apportion.studies.scenarios import RESEARCH


def main(seasons, exponents, picture):
    worlds = [ap.Instance(RESEARCH.means, b=b, sigma=RESEARCH.sigma) for b in exponents]
    result = ap.simulate(
        [ap.Odds, ap.Thompson],  # Odds divides the day; Thompson gives it all to one direction
        worlds,
        horizon=10 * RESEARCH.periods,
        replications=seasons,
        seed=5,
        common=True,  # the same luck for both
        progress=False,
    )
    lost = result.regret.isel(period=-1)
    saved = lost.sel(policy="Thompson") - lost.sel(policy="Odds")
    gain, error = saved.mean("replication").values, saved.std("replication", ddof=1).values / seasons**0.5
    print("Days of results that dividing saves, with the standard error:")
    for b, days, spread in zip(exponents, gain, error):
        print(f"  b = {b:.1f}: {days:5.1f} ± {spread:.1f}{'  clearly better' if days > 3 * spread else ''}")
    clear = [b for b, days, spread in zip(exponents, gain, error) if days > 3 * spread]
    if clear:
        print(f"Dividing the day clearly pays from b = {min(clear):g} on; theory puts the change at b = 1/2.")
    print(f"The student's b is {RESEARCH.b:g}: an hour shows a lot, so look at several directions every day.")

    figure = ap.figures.regret_against(result, "b", bounds=False)
    figure.savefig(picture, dpi=120)
    print(f"Picture: {picture}")


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true", help="20 seasons instead of 1,000, and fewer values of b")
    options.add_argument("--out", default="research_time.png", help="the picture")
    given = options.parse_args()
    if given.quick:
        main(seasons=20, exponents=(0.2, 0.5, 0.8), picture=given.out)
    else:
        main(seasons=1000, exponents=tuple(n / 10 for n in range(11)), picture=given.out)
