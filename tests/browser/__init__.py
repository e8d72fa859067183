"""The service in a real Chromium, as people use it."""
