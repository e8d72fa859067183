"""Conformance suites that ship with the package: every policy, ours or yours, must pass.

In a test file::

    import pytest
    from apportion.testing import POLICY_CHECKS

    @pytest.mark.parametrize("check", POLICY_CHECKS)
    def test_my_policy(check):
        check(MyPolicy(b=0.75))

or all at once, `check_policy(MyPolicy(b=0.75))`. A broken promise raises `ContractBroken` with a sentence
that says which one and where.
"""

from apportion.testing.policies import POLICY_CHECKS, ContractBroken, check_policy

__all__ = ["POLICY_CHECKS", "ContractBroken", "check_policy"]
