"""Schema changes, by Alembic. Each released schema has a frozen database in `tests/live/frozen` that must upgrade."""
