"""What data tell of the law: b and σ learned, chances of being best, fits of a history. Decides nothing."""
