"""The paper's three examples as worlds with names and units: research hours, venture capital, test kits."""

from apportion.scenarios.kits import KITS
from apportion.scenarios.research import RESEARCH
from apportion.scenarios.scenario import Scenario, Season, live_through, play_season
from apportion.scenarios.startups import STARTUPS

SCENARIOS = (RESEARCH, STARTUPS, KITS)

__all__ = ["KITS", "RESEARCH", "SCENARIOS", "STARTUPS", "Scenario", "Season", "live_through", "play_season"]
