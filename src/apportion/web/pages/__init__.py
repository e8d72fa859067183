"""Pages for people: campaigns, the wizard, sign-in. Forms work without JavaScript; scripts only make them quicker."""

from __future__ import annotations

from apportion.web.pages import actions, assets, campaign, laboratory, login, overview, wizard
from apportion.web.pages.shared import error_page

ROUTERS = [module.router for module in (assets, overview, login, wizard, campaign, actions, laboratory)]

__all__ = ["ROUTERS", "error_page"]
