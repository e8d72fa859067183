"""What the service says about itself: metrics, health, and one log line per request. Decides nothing."""
