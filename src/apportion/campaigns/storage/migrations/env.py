"""Alembic's entry: runs the migrations on the connection it was handed."""

from alembic import context

from apportion.campaigns.storage.schema import metadata


def run() -> None:
    """Everything in the transaction of the one who called."""
    connection = context.config.attributes["connection"]
    context.configure(connection=connection, target_metadata=metadata, render_as_batch=True)
    context.run_migrations()


if hasattr(context, "config"):  # Alembic is running, and this is not just being imported
    run()
