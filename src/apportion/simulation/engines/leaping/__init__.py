"""Exact simulation that leaps between events. Only for policies whose shares are known functions of time."""
