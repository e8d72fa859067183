"""What pip would install for some requirements, worked out from the packages of the running environment."""

from importlib import metadata

from packaging.requirements import Requirement


def asked_for(lines, extras=(), place=None):
    """The names of the packages that requirements ask for, and the extras of each.

    `place` has the markers of another machine, such as `platform_machine`; by default it is this one.
    """
    for requirement in map(Requirement, lines):
        marker = requirement.marker
        if marker is None or any(marker.evaluate({**(place or {}), "extra": extra}) for extra in (*extras, "")):
            yield requirement.name, tuple(requirement.extras)


def closure(lines, extras=(), place=None):
    """The distributions that pip would install for them, from those of the running environment."""
    found, pending = {}, [*asked_for(lines, extras, place)]
    while pending:
        name, wanted = pending.pop()
        if (name, wanted) not in found:
            found[name, wanted] = metadata.distribution(name)
            pending += asked_for(found[name, wanted].requires or (), wanted, place)
    return {distribution.name.lower(): distribution for distribution in found.values()}
