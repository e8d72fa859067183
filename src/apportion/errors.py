"""Every error raised on purpose. One root, and one sentence pattern.

The sentence says which thing, what is allowed, what was given:
*`b` must be a number in [0, 1]; got 1.3.*
"""


class ApportionError(Exception):
    """The root of every error this package raises on purpose."""


class InvalidValue(ApportionError, ValueError):
    """A value is outside of what is allowed. Nothing was changed."""


class UnknownName(ApportionError, LookupError):
    """An arm, ticket or policy of that name does not exist. Nothing was changed."""


class Conflict(ApportionError):
    """The request contradicts what is already recorded. Nothing was changed."""


class Infeasible(ApportionError, ValueError):
    """No split satisfies the bounds. The message names the arms."""


class IncompatibleState(ApportionError, ValueError):
    """Saved state was written by another version, or is damaged."""
