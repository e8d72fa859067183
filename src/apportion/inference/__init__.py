"""What data say of the law: b and σ learned, probabilities of being best, fits of a history. Decides nothing."""
