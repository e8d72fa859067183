"""What is used goes on being remembered; never more of it than so many; one value for all threads."""

import threading

from apportion._common.recent import Recent


def test_what_was_used_longest_ago_goes_first():
    recent = Recent(3)
    for key in "abc":
        recent.put(key, key.upper())
    assert recent.get("a") == "A"
    recent.put("b", "again")
    recent.put("d", "D")
    assert ["a" in recent, "b" in recent, "c" in recent, "d" in recent, len(recent)] == [True, True, False, True, 3]
    assert (recent.get("c"), recent.get("b")) == (None, "again")


def test_what_is_dropped_is_made_anew():
    recent = Recent(2)
    first = recent.get_or_make("a", object)
    assert recent.get_or_make("a", object) is first
    recent.drop("a")
    recent.drop("a")
    assert recent.get_or_make("a", object) is not first
    recent.clear()
    assert len(recent) == 0


def test_threads_are_given_the_same_value():
    recent, made = Recent(100), [[] for _ in range(4)]

    def ask(found):
        for key in range(1_000):
            found.append(recent.get_or_make(key % 100, object))

    threads = [threading.Thread(target=ask, args=(found,)) for found in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(value) for found in made for value in found}) == 100
