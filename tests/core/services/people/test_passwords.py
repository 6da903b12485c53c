"""Passwords, and the wait after failed logins."""

import time
from collections.abc import Iterator
from statistics import median

import pytest
from argon2 import PasswordHasher, extract_parameters
from argon2.profiles import RFC_9106_LOW_MEMORY

from core.errors import UserError
from core.ports.store import Store
from core.services.people import accounts
from core.services.people.accounts import check_password, hash_password
from core.services.people.sessions import FORGET_SECONDS, AttemptLimit, LoginThrottle
from tests.stores import new_store

PASSWORD = "correct horse battery"


@pytest.fixture
def parameters_of_the_program(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Compute passwords as the program does: other tests do so quickly."""
    monkeypatch.setattr(accounts, "_HASHER", PasswordHasher())
    accounts._hash_of_nobody.cache_clear()
    yield
    accounts._hash_of_nobody.cache_clear()


@pytest.fixture
def store() -> Store:
    store = new_store()
    accounts.add(store, "test", "ann", PASSWORD, manager=True)
    return store


def test_the_right_password_opens_the_account(store: Store) -> None:
    found = check_password(store.people, "ann", PASSWORD)
    assert found is not None
    assert found.name == "ann"
    for name, password in (("ann", PASSWORD + " "), ("ann", ""), ("Ann", PASSWORD), ("bob", PASSWORD), ("", "")):
        assert check_password(store.people, name, password) is None


def test_accounts_without_password_or_disabled_do_not_open(store: Store) -> None:
    accounts.add(store, "test", "oidc@example.org", None, manager=False)
    bob = accounts.add(store, "test", "bob", PASSWORD, manager=False)
    store.people.set_active(bob.id, False)
    assert check_password(store.people, "oidc@example.org", "") is None
    assert check_password(store.people, "bob", PASSWORD) is None


def test_composed_and_decomposed_accents_are_the_same_password(store: Store) -> None:
    accounts.add(store, "test", "eva", "gr\u00fcne Wiesen", manager=False)
    assert check_password(store.people, "eva", "gru\u0308ne Wiesen")


@pytest.mark.parametrize("password", ["", "too short", "x" * 1001])
def test_short_and_endless_passwords_are_refused(password: str) -> None:
    with pytest.raises(UserError):
        hash_password(password)


@pytest.mark.usefixtures("parameters_of_the_program")
def test_hashes_are_argon2id_and_never_equal() -> None:
    one, two = hash_password(PASSWORD), hash_password(PASSWORD)
    assert one.startswith("$argon2id$")
    assert one != two
    assert extract_parameters(one) == RFC_9106_LOW_MEMORY


@pytest.mark.usefixtures("parameters_of_the_program")
def test_an_older_hash_is_replaced_at_login(store: Store) -> None:
    old = PasswordHasher(time_cost=1, memory_cost=1024, parallelism=1).hash(PASSWORD.encode())
    ann = accounts.find(store.people, "ann")
    store.people.set_password(ann.id, old)
    assert check_password(store.people, "ann", PASSWORD)
    found = store.people.password_hash("ann")
    assert found is not None
    assert found[1] not in (None, old)
    assert check_password(store.people, "ann", PASSWORD)


def test_an_unknown_name_takes_as_long_as_a_wrong_password(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    # as in the program, a password takes much longer than the rest of a login
    monkeypatch.setattr(accounts, "_HASHER", PasswordHasher(time_cost=1, memory_cost=16_384, parallelism=1))
    accounts._hash_of_nobody.cache_clear()
    accounts.set_password(store, "test", accounts.find(store.people, "ann"), PASSWORD)

    def seconds(name: str) -> float:
        times = []
        for _ in range(3):
            began = time.process_time()
            check_password(store.people, name, "a wrong password")
            times.append(time.process_time() - began)
        return median(times)

    seconds("warm-up")
    ratio = seconds("nobody") / seconds("ann")
    accounts._hash_of_nobody.cache_clear()
    assert 0.5 < ratio < 2


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_waits_grow_after_the_free_attempts() -> None:
    clock = Clock()
    throttle = LoginThrottle(clock, per_pair=AttemptLimit(3, 10.0))
    assert [throttle.begin("ann", "a") for _ in range(3)] == [0.0, 0.0, 0.0]
    waits = []
    for _ in range(6):
        waits.append(throttle.begin("ANN", "a"))
        clock.now += waits[-1]
        assert throttle.begin("ann", "a") == 0.0
    assert waits == [1.0, 2.0, 4.0, 8.0, 10.0, 10.0]
    assert throttle.begin("bob", "a") == 0.0


def test_many_attempts_at_once_gain_nothing() -> None:
    throttle = LoginThrottle(Clock())
    assert sum(throttle.begin("ann", "192.0.2.1") == 0.0 for k in range(100)) == 5
    assert sum(throttle.begin("bob", str(k)) == 0.0 for k in range(300)) == 100


def test_one_address_cannot_try_many_names() -> None:
    throttle = LoginThrottle(Clock())
    assert sum(throttle.begin(f"name {k}", "192.0.2.1") == 0.0 for k in range(100)) == 20


def test_success_resets_the_name_but_not_the_address() -> None:
    throttle = LoginThrottle(Clock())
    for _ in range(4):
        assert throttle.begin("ann", "x") == 0.0
    throttle.succeeded("ann", "x")
    assert [throttle.begin("ann", "x") for _ in range(5)] == [0.0] * 5
    allowed = 0
    for k in range(100):  # an attacker logs in to an own account after each guess
        allowed += throttle.begin(f"victim {k}", "z") == 0.0
        if throttle.begin("attacker", "z") == 0.0:
            throttle.succeeded("attacker", "z")
    assert allowed <= 20


def test_guessing_a_name_keeps_its_owner_out_only_at_that_address() -> None:
    throttle = LoginThrottle(Clock())
    assert sum(throttle.begin("ann", "attacker") == 0.0 for _ in range(500)) == 5
    assert throttle.begin("ann", "home") == 0.0
    for k in range(500):  # from many addresses
        throttle.begin("ann", f"attacker {k}")
    assert throttle.begin("ann", "train") > 0
    assert throttle.begin("ann", "train", "browser that has logged in") == 0.0
    assert sum(throttle.begin("ann", "train", "stolen browser") == 0.0 for _ in range(100)) == 5


def test_failures_are_forgotten_after_an_hour() -> None:
    clock = Clock()
    throttle = LoginThrottle(clock)
    for _ in range(6):
        throttle.begin("ann", "x")
    clock.now += FORGET_SECONDS + 1
    assert [throttle.begin("ann", "x") for _ in range(5)] == [0.0] * 5
