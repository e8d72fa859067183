"""The regret leaderboard; `apportion.studies.leaderboard` has it all, this only makes `docs/leaderboard` again."""
