"""The paper's three examples as worlds with names and units: research hours, venture capital, test kits."""

from apportion.studies.scenarios.scenario import Scenario, Season, live_through, play_season
from apportion.studies.scenarios.worlds import KITS, RESEARCH, SCENARIOS, STARTUPS

__all__ = ["KITS", "RESEARCH", "SCENARIOS", "STARTUPS", "Scenario", "Season", "live_through", "play_season"]
