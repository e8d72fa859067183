"""Streams of random numbers: one for every (policy, instance, replication), wherever and beside whatever it runs.

The four words that start the stream of replication r are block r of a Philox generator whose key is a digest of the
seed, the instance and the policy. So they depend on neither the number of workers nor the cut into tasks, and a
block of replications needs one call. The stream itself is SFC64, the fastest of NumPy's.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apportion._common.compiled import kernel

# At NumPy's documented address of SFC64's state: four words, then a flag for half a word that was left over.
STATE_WORDS: Final = 5


class Streams(NamedTuple):
    """A generator, a view of its state in memory, and the words to start each of its streams with."""

    generator: np.random.Generator
    state: NDArray[np.uint64]
    seeds: NDArray[np.uint64]


def streams(owner: Any, seed: int, first: int, last: int) -> Streams:
    """The streams of replications `first` to `last` − 1 of whatever `owner` (plain data) describes.

    >>> all_ = streams("x", 1, 0, 4).seeds
    >>> bool((streams("x", 1, 2, 4).seeds == all_[2:]).all())
    True
    """
    digest = hashlib.sha256(json.dumps([seed, owner], sort_keys=True).encode()).digest()
    key = int.from_bytes(digest[:16], "little")
    # One Philox block is four words; the counter is moved on before a block is drawn.
    words = np.random.Philox(key=key, counter=first).random_raw(4 * (last - first)).reshape(-1, 4)
    bits = np.random.SFC64(0)
    memory = (ctypes.c_uint64 * STATE_WORDS).from_address(bits.ctypes.state_address)
    return Streams(np.random.Generator(bits), np.ctypeslib.as_array(memory), words)


@kernel
def restart(rng: Any, state: Any, words: Any) -> None:
    """Start the stream of `words`, as NumPy seeds SFC64: three words, a counter of 1, and twelve draws to mix."""
    state[0] = words[0]
    state[1] = words[1]
    state[2] = words[2] ^ words[3]
    state[3] = 1
    state[4] = 0
    for _ in range(12):
        rng.random()
