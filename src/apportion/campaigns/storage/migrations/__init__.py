"""Schema changes, by Alembic; frozen databases of older schemas must upgrade (`tests/campaigns/storage/frozen`)."""
