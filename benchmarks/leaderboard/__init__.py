"""The regret leaderboard; all of it is in `apportion.leaderboard`, this only makes `docs/leaderboard` again."""
