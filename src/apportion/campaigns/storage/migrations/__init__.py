"""Schema changes, by Alembic. Frozen databases of released schemas must upgrade (`tests/campaigns/storage/frozen`)."""
