"""What was used last, and no more of it than so many: what a process remembers must not grow with what it sees."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Recent(Generic[Key, Value]):
    """Values by key, for several threads; where there are more than `most`, the one goes that was used longest ago.

    >>> recent = Recent(2)
    >>> recent.put("a", 1)
    >>> recent.put("b", 2)
    >>> recent.get("a")
    1
    >>> recent.put("c", 3)
    >>> "a" in recent, "b" in recent
    (True, False)
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[Key, Value] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Key) -> Value | None:
        """The value of a key, which is used now; None where there is none."""
        with self._lock:
            return self._used(key) if key in self._values else None

    def get_or_make(self, key: Key, make: Callable[[], Value]) -> Value:
        """The value of a key, which is used now; a new one where there is none, the same for all threads."""
        with self._lock:
            if key not in self._values:
                self._put(key, make())
            return self._used(key)

    def put(self, key: Key, value: Value) -> None:
        """Remember a value."""
        with self._lock:
            self._put(key, value)

    def drop(self, key: Key) -> None:
        """Forget a value, if there is one."""
        with self._lock:
            self._values.pop(key, None)

    def clear(self) -> None:
        """Forget all of them."""
        with self._lock:
            self._values.clear()

    def _used(self, key: Key) -> Value:
        self._values.move_to_end(key)
        return self._values[key]

    def _put(self, key: Key, value: Value) -> None:
        self._values[key] = value
        self._values.move_to_end(key)
        while len(self._values) > self._most:
            self._values.popitem(last=False)

    def __contains__(self, key: object) -> bool:
        return key in self._values

    def __len__(self) -> int:
        return len(self._values)
