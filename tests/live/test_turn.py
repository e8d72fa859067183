"""The lock that writers of one process take turns by: handed over in the order of asking, and never lost."""

import random
import threading
import time

from apportion.live.store import _Turn


def until(condition):
    ends = time.monotonic() + 60.0
    while not condition():
        assert time.monotonic() < ends, "this did not come about within a minute"
        time.sleep(0.001)


def test_turns_come_in_the_order_of_asking():
    turn, order = _Turn(), []

    def work(number):
        with turn:
            order.append(number)

    crew = [threading.Thread(target=work, args=(number,)) for number in range(20)]
    with turn:
        assert turn.waiting == 0
        for number, thread in enumerate(crew, start=1):
            thread.start()
            until(lambda number=number: turn.waiting == number)
        assert order == []
    for thread in crew:
        thread.join()
    assert order == list(range(20))
    assert turn.waiting == 0
    assert not turn._taken


def test_one_at_a_time_however_many_ask():
    turn, inside, most, done = _Turn(), [0], [0], [0]

    def work(seed):
        chance = random.Random(seed)
        for _ in range(200):
            with turn:
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                if chance.random() < 0.1:
                    time.sleep(0.0001)
                done[0] += 1
                inside[0] -= 1

    crew = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join()
    assert (most[0], done[0], turn._taken) == (1, 1600, False)


class Interrupted(Exception):
    pass


class Impatient:
    """A lock whose second `acquire` is interrupted, as by Ctrl-C; `before` says what happens first."""

    def __init__(self, before):
        self._asked = 0
        self._before = before

    def acquire(self):
        self._asked += 1
        if self._asked == 2:
            self._before()
            raise Interrupted

    def release(self):
        pass


def test_whoever_is_interrupted_leaves_the_line(monkeypatch):
    """Both ways: still in line, and just when the turn had come."""
    for handed_over in (False, True):
        turn = _Turn()
        turn.__enter__()
        lock = Impatient((lambda turn=turn: turn.__exit__()) if handed_over else (lambda: None))
        with monkeypatch.context() as patch:
            patch.setattr(threading, "Lock", lambda lock=lock: lock)
            try:
                turn.__enter__()
            except Interrupted:
                pass
            else:
                raise AssertionError("not interrupted")
        assert turn.waiting == 0
        if not handed_over:
            turn.__exit__()
        assert not turn._taken
        with turn:  # it can be taken again
            assert turn._taken
