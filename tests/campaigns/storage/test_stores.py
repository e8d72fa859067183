"""Every store keeps the contract: SQLite in a file, and a real PostgreSQL."""

import pytest

from apportion.testing import STORE_CHECKS


@pytest.mark.parametrize("check", STORE_CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
def test_store_keeps_the_contract(db, check):
    check(db)
