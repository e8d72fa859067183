"""Allocation that lasts: durable events, settings, histories and files. Knows no screen and no HTTP."""
