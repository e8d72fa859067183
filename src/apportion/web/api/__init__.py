"""The API under /api/v1: one router per noun, each route one call of the library."""

from apportion.web.api import arms, campaigns, files, history, lifecycle, plans, reference, splits, streams

ROUTERS = [
    module.router for module in (campaigns, lifecycle, plans, splits, arms, history, files, streams, reference)
]

__all__ = ["ROUTERS"]
