"""Campaigns for assistants that speak the Model Context Protocol: they read, and write what a person confirmed."""
