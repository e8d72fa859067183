"""The laboratory: Monte-Carlo regret of any policy on any instance."""
