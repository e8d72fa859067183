"""What is wrong with the rows of a file, said all at once."""

from apportion.errors import InvalidValue

FAULTS_LISTED = 20


class Faults:
    """Sentences about rows, in the order they were found; `refuse` raises them together.

    >>> faults = Faults()
    >>> faults.add(7, "the amount must be a number; got 'x'.")
    >>> faults.add(9, "the arm must have a name; got ''.")
    >>> faults.refuse()
    Traceback (most recent call last):
    ...
    apportion.errors.InvalidValue: Row 7: the amount must be a number; got 'x'.
    Row 9: the arm must have a name; got ''.
    """

    def __init__(self) -> None:
        self._found: list[tuple[int, str]] = []
        self._kinds: set[str] = set()

    def __len__(self) -> int:
        return len(self._found)

    def add(self, row: int, sentence: str) -> None:
        """Note what is wrong with a row."""
        self._found.append((row, sentence))

    def add_once(self, kind: str, row: int, sentence: str) -> None:
        """Note what is the same for all rows of that kind, and mended at once: the first row stands for them."""
        if kind not in self._kinds:
            self._kinds.add(kind)
            self.add(row, sentence)

    def refuse(self) -> None:
        """Raise `InvalidValue` with all sentences, by row, where there is one; with the first twenty of more."""
        if not self._found:
            return
        in_order = sorted(self._found, key=lambda fault: fault[0])
        lines = [f"Row {row}: {sentence}" for row, sentence in in_order[:FAULTS_LISTED]]
        more = len(in_order) - FAULTS_LISTED
        if more > 0:
            lines.append(f"And {more:,} more such row{'s' * (more > 1)}.")
        raise InvalidValue("\n".join(lines))
