"""Campaigns that live for months: the Allocator, with every event kept in a database.

`campaign` is the door: the verbs, and in `view` what can be read; `ledger` is the Allocator that can be replayed from
`events`; `store` and `database` keep them, in SQLite or PostgreSQL; `migrations` carry old databases along.
"""
