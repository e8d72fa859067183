"""The loops that play policies: dense, batched and leaping. No plans, no files."""
