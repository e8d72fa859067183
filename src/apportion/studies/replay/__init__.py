"""A history played day by day, with whole units and binomial counts at its rates: what would have been found."""

from apportion.studies.replay.rates import Rates, read_rates
from apportion.studies.replay.run import ReplayStudy, replay

__all__ = ["Rates", "ReplayStudy", "read_rates", "replay"]
