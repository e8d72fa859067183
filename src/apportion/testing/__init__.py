"""Conformance suites that ship with the package: every policy, world and store, ours or yours, must pass them.

In a test file::

    import pytest
    from apportion.testing import POLICY_CHECKS, STORE_CHECKS, WORLD_CHECKS

    @pytest.mark.parametrize("check", POLICY_CHECKS)
    def test_my_policy(check):
        check(MyPolicy(b=0.75))

    @pytest.mark.parametrize("check", WORLD_CHECKS)
    def test_my_world(check):
        check(MyWorld(rates=(0.9, 1.0)))

    @pytest.mark.parametrize("check", STORE_CHECKS)
    def test_my_database(check):
        check("postgresql://me@host/campaigns")

or all at once, `check_policy(MyPolicy(b=0.75))`, `check_world(world)` and `check_store(url)`. A check that fails
raises `ContractBroken` with a sentence that says what is wrong and where.
"""

from typing import TYPE_CHECKING, Any

from apportion.testing.policies import POLICY_CHECKS, ContractBroken, check_policy
from apportion.testing.worlds import WORLD_CHECKS, check_world

if TYPE_CHECKING:
    from apportion.testing.stores import STORE_CHECKS as STORE_CHECKS
    from apportion.testing.stores import check_store as check_store

__all__ = [
    "POLICY_CHECKS", "STORE_CHECKS", "WORLD_CHECKS", "ContractBroken", "check_policy", "check_store", "check_world",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in ("STORE_CHECKS", "check_store"):  # they need SQLAlchemy
        from apportion.testing import stores

        return getattr(stores, name)
    raise AttributeError(f"module 'apportion.testing' has no attribute {name!r}")
