"""Who may do what, and how refusals read. No routes."""
