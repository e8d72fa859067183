"""What policies earn in worlds fitted to public histories: parameters with their source, the scores, the page."""

from apportion.studies.real_worlds.worlds import RealWorld, real_worlds

__all__ = ["RealWorld", "real_worlds"]
