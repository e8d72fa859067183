"""Metrics and logs of the service. Decides nothing."""
