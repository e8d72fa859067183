"""The law of returns and what is known of it: noise, sums, estimators, confidence. No policies and no files."""
