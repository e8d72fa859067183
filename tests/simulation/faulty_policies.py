"""Policies that go wrong on purpose, in a module that other processes can import."""

import os
import time
from pathlib import Path
from typing import NamedTuple

from apportion import Policy


class Lazy(Policy):
    """Even shares, at leisure: it takes a while to prepare in any process but `pid`."""

    pid: int
    wait: float = 0.1

    class Record(NamedTuple):
        """Nothing is needed."""

    def prepared(self, arms, horizon):
        if os.getpid() != self.pid:
            self.elsewhere()
        return self.Record()

    def elsewhere(self):
        """What happens in another process."""
        time.sleep(self.wait)

    def allocate(self, period, sums, memory, rng, shares):
        for arm in range(len(shares)):
            shares[arm] = 1.0 / len(shares)


class Failing(Lazy):
    """Fails in every process but `pid`."""

    def elsewhere(self):
        raise RuntimeError("this machine is not to my liking")


class Deadly(Lazy):
    """Ends every process but `pid`; with a `marker`, only until that file is there."""

    marker: str = ""

    def elsewhere(self):
        if not (self.marker and Path(self.marker).exists()):
            if self.marker:
                Path(self.marker).touch()
            os._exit(9)
