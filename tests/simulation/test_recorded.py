"""The same seed gives the same numbers, to the last bit, as when `recorded.json` was written.

A change that moves a simulated number on purpose writes the file anew and says so in the changelog:
`python tests/simulation/test_recorded.py`.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import apportion as ap

FILE = Path(__file__).with_name("recorded.json")
HORIZON = 300

WORLDS = {
    "divide": ap.Instance((0.9, 1.0, 0.7), b=0.75, sigma=0.8),
    "pool": ap.Instance((0.9, 1.0, 0.7, 0.2), b=0.4, sigma=0.5, noise="rademacher"),
    "full": ap.Instance((0.5, 0.55), b=1.0, sigma=1.0, noise="uniform"),
}
POLICIES = {
    "divide": [
        ap.SuccessiveElimination(b=0.75, sigma=0.8, horizon=HORIZON), ap.EpsilonGreedy(b=0.75), ap.UCB(sigma=0.8),
        ap.Thompson(b=0.75, sigma=0.8), ap.Uniform(), ap.Oracle(means=(0.9, 1.0, 0.7)),
        ap.Matching(b=0.75, sigma=0.8),
        ap.Odds(b=0.75, sigma=0.8), ap.Maillard(b=0.75, sigma=0.8), ap.AdaptiveElimination(b=0.75, sigma=0.8),
        ap.Recommended(b=0.75, sigma=0.8), ap.Auto(),
    ],
    "pool": [ap.UCB(sigma=0.5), ap.Thompson(b=0.4, sigma=0.5), ap.Recommended(b=0.4, sigma=0.5), ap.Auto()],
    "full": [ap.FollowTheLeader(), ap.Hedge()],
}  # fmt: skip
NOISES = ("gaussian", "rademacher", "uniform", "laplace")


def dense(name):
    """Final regret and reward of every policy on a world, as hexadecimal numbers."""
    found = ap.simulate(POLICIES[name], WORLDS[name], horizon=HORIZON, replications=3, seed=5, progress=False)
    return {
        f"{variable} {policy}": [float(value).hex() for value in found.dataset[variable][index, 0, :, -1].values]
        for variable in ("regret", "reward")
        for index, policy in enumerate(found.dataset["policy"].values.tolist())
    }


def leaping():
    """The leaping engine over 10^6 periods."""
    policies = [ap.SuccessiveElimination(b=0.75, sigma=0.8, horizon=10**6), ap.EpsilonGreedy(b=0.75)]
    found = ap.simulate(
        policies, WORLDS["divide"], horizon=10**6, replications=2, seed=6, engine="leap", progress=False
    )
    final = found.regret.isel(period=-1).values[:, 0]
    return {policy.label: [float(value).hex() for value in row] for policy, row in zip(policies, final)}


def noise():
    """One draw of each family from one generator."""
    found = {}
    for family in NOISES:
        world = ap.Instance((1.0, 0.5), b=0.6, sigma=2.0, noise=family)
        run = ap.simulate(ap.Uniform(), world, horizon=20, replications=1, seed=7, progress=False)
        found[family] = [float(value).hex() for value in run.reward.values.ravel()[-3:]]
    return found


def live():
    """Forty periods of ask and tell, in plain Python, whole units and bounds included."""
    found = {}
    for policy in (ap.Auto(), ap.Thompson(b=0.5, sigma=1.0), ap.Odds(b=0.75)):
        allocator = ap.Allocator(policy, ("a", "b", "c"), seed=3, minimum={"c": 0.1}, whole=True)
        rng = np.random.default_rng(4)
        for _ in range(40):
            split = allocator.ask(100)
            outcomes = {
                arm: amount * mean + amount**0.7 * float(rng.standard_normal())
                for (arm, amount), mean in zip(split.amounts.items(), (1.0, 1.2, 0.8))
                if amount > 0
            }
            allocator.tell(split.ticket, outcomes)
        found[policy.label] = [
            *split.amounts.values(),
            *(belief.mean.hex() for belief in allocator.beliefs().values()),
        ]
    return found


RUNS = {**{f"dense {name}": (lambda name=name: dense(name)) for name in WORLDS}, "leaping": leaping, "noise": noise,
        "live": live}  # fmt: skip


def as_numbers(values):
    """The same but for last bits: NumPy takes exp of whole arrays by other instructions on other processors."""
    return pytest.approx([float.fromhex(each) if isinstance(each, str) else each for each in values], rel=1e-12)


@pytest.mark.parametrize("name", RUNS)
def test_the_numbers_are_those_recorded(name):
    found, recorded = RUNS[name](), json.loads(FILE.read_text())[name]
    if name == "live":  # what `Auto` learns in plain Python it learns by such arrays
        recorded["Auto()"] = as_numbers(recorded["Auto()"])
        found["Auto()"] = as_numbers(found["Auto()"]).expected
    assert found == recorded


if __name__ == "__main__":
    FILE.write_text(json.dumps({name: run() for name, run in RUNS.items()}, indent=1) + "\n")
