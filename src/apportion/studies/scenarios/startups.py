"""Example 2 of the paper: monthly capital over start-ups."""

from apportion.studies.scenarios.scenario import Scenario

STARTUPS = Scenario(
    title="Venture capital",
    story=(
        "A fund gives one million a month to six start-ups. What a company makes of it is noisy, and the noise "
        "grows a little faster than the root of the money (b = 0.6)."
    ),
    arms=("robots", "batteries", "biotech", "chips", "software", "games"),
    means=(0.85, 1.0, 1.05, 1.25, 1.15, 0.75),
    b=0.6,
    sigma=8.0,
    budget=1000.0,
    unit="thousand EUR",
    period="month",
    periods=60,
    returns="thousand EUR of value",
)
