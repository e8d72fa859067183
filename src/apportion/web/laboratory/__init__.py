"""Experiments run from the browser. No campaigns."""
