"""Example 1 of the paper: a student's research hours."""

from apportion.studies.scenarios.scenario import Scenario

RESEARCH = Scenario(
    title="Research hours",
    story=(
        "A doctoral student has five hours a day for research and four directions to follow. An hour spent shows "
        "most of what a whole day would (b = 0.8), so it pays to look at several a little."
    ),
    arms=("proof", "simulation", "field data", "survey"),
    means=(0.8, 1.1, 0.95, 0.5),
    b=0.8,
    sigma=1.0,
    budget=5.0,
    unit="hours",
    period="day",
    periods=120,
    returns="results",
)
