"""Cached loaders load once for equal arguments, and one at a time."""

import time
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Thread

from core.models.loading import cached_loader


def test_equal_arguments_load_once_and_no_two_loads_overlap() -> None:
    inside, most, loaded = [0], [0], []

    def load(name: str) -> list[str]:
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        time.sleep(0.02)
        inside[0] -= 1
        loaded.append(name)
        return [name]

    one, other = cached_loader(2)(load), cached_loader(1)(load)
    threads = [Thread(target=loader, args=(name,)) for loader in (one, other) for name in "aab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1]
    assert one("a") is one("a")
    assert sorted(loaded)[:2] == ["a", "a"]
    assert len(loaded) in (4, 5)  # `other` keeps one result, so that its second a may have had to be loaded again


def test_what_is_loaded_is_used_while_something_else_loads() -> None:
    begun, go_on = Event(), Event()

    def load(name: str) -> str:
        if name == "slow":
            begun.set()
            assert go_on.wait(30)
        return name

    loader, other = cached_loader(2)(load), cached_loader(1)(load)
    assert (loader("a"), other("b")) == ("a", "b")
    slow = Thread(target=loader, args=("slow",))
    slow.start()
    assert begun.wait(30)
    with ThreadPoolExecutor(1) as threads:  # a thread of its own: the one that loads may go on itself
        assert [threads.submit(one, name).result(10) for one, name in ((loader, "a"), (other, "b"))] == ["a", "b"]
    go_on.set()
    slow.join()
    assert loader("a") == "a"
