"""Pages for people: campaigns, the wizard, sign-in. Forms work without JavaScript; scripts only make them quicker."""

from __future__ import annotations

from apportion.web.pages import (
    actions,
    assets,
    campaign,
    comparison,
    forecast,
    importing,
    laboratory,
    lifecycle,
    login,
    overview,
    plan,
    rules,
    wizard,
)
from apportion.web.pages.shared import error_page

_MODULES = (
    assets, overview, login, wizard, importing, campaign, plan, forecast, actions, rules, lifecycle, laboratory,
    comparison,
)  # fmt: skip
ROUTERS = [module.router for module in _MODULES]

__all__ = ["ROUTERS", "error_page"]
