"""Programs about the library: the paper, the leaderboard, robustness, scenarios. Nothing the library needs."""
