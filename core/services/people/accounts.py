"""Accounts with their roles, names and passwords. Every change is recorded in the audit record."""

from __future__ import annotations

import os
import unicodedata
from functools import cache
from threading import BoundedSemaphore
from typing import get_args

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from core.errors import PROGRAM, UserError, unknown
from core.ports.people import Account, People, Role
from core.ports.store import Store
from core.settings import AccessSettings

SHORTEST, LONGEST_PASSWORD = 10, 1000
_HASHER = PasswordHasher()
AT_ONCE = min(4, max(1, (os.cpu_count() or 1) // 4))
"""Computations at the same time: each takes 64 MiB and four threads, and leaves cores to those who save labels. Others wait."""
_TURNS = BoundedSemaphore(AT_ONCE)


def hash_password(password: str) -> str:
    """Return the hash of a new password. Raises `UserError` if it is too short or too long."""
    if not SHORTEST <= len(password) <= LONGEST_PASSWORD:
        raise UserError(
            "this password cannot be used", got=f"{len(password)} characters", expected=f"{SHORTEST} to {LONGEST_PASSWORD:,}",
            hint="Choose another password; several words are easy to remember",
        )  # fmt: skip
    with _TURNS:
        return _HASHER.hash(_bytes(password))


def check_password(people: People, name: str, password: str) -> Account | None:
    """Return the active account with this name and password, else None.

    An unknown name takes as long as a wrong password, so that the time does not tell which names exist. A hash with older
    parameters is replaced.
    """
    unknown = _hash_of_nobody()
    stored_account = people.password_hash(name)
    stored = stored_account[1] if stored_account else None
    correct = _verified(stored or unknown, password[:LONGEST_PASSWORD])
    if stored_account is None or stored is None or not correct or not stored_account[0].active:
        return None
    if _HASHER.check_needs_rehash(stored):
        people.set_password(stored_account[0].id, hash_password(password))
    return stored_account[0]


def _verified(stored: str, password: str) -> bool:
    with _TURNS:
        try:
            return _HASHER.verify(stored, _bytes(password))
        except (VerificationError, InvalidHashError):
            return False


@cache
def _hash_of_nobody() -> str:
    return _HASHER.hash(b"")


def _bytes(password: str) -> bytes:
    """Return the same bytes for the same characters: keyboards differ in how they compose accents."""
    return unicodedata.normalize("NFKC", password).encode("utf-8", "surrogatepass")


LONGEST_PERSON_NAME = 60
LONGEST_ACCOUNT = 190
"""Largest number of characters in the name of an account, which may be an e-mail address."""


def cleaned_name(name: str, longest: int = LONGEST_PERSON_NAME) -> str:
    """Return the name without unprintable characters and repeated spaces, cut to `longest` characters; possibly empty."""
    return " ".join("".join(c if c.isprintable() else " " for c in name).split())[:longest].strip()


ROLES: tuple[Role, ...] = get_args(Role)


def find(people: People, name: str) -> Account:
    """Return the account with this name. Raises `UserError` if there is none."""
    accounts = {account.name: account for account in people.accounts()}
    if name not in accounts:
        raise (
            unknown("account", name, accounts)
            if accounts
            else UserError("there is no account yet", hint=f"Add one: {PROGRAM} users add NAME --manager")
        )
    return accounts[name]


def add(store: Store, who: str, name: str, password: str | None, *, manager: bool) -> Account:
    """Add an account; without a password it logs in with OpenID Connect only. The first account must be a manager.

    Raises `UserError` if the name is empty, taken, or that of an annotator with a personal link.
    """
    typed = cleaned_name(name, LONGEST_ACCOUNT)
    if not typed:
        raise UserError("the account has no name", hint="Type one")
    if store.people.has_link(typed):
        raise UserError(
            "an annotator with a personal link has this name", got=typed,
            hint="Choose another name for the account: labels belong to names, and it would get theirs",
        )  # fmt: skip
    if not manager and not any(a.manager and a.active for a in store.people.accounts()):
        raise UserError("the first account must be a manager", got=typed, hint="Add --manager")
    account = store.people.add_account(typed, None if password is None else hash_password(password), manager=manager)
    store.audit.record(who, "account added", account=account.name, manager=manager)
    return account


def set_password(store: Store, who: str, account: Account, password: str) -> None:
    """Set the password and end all sessions of the account."""
    store.people.set_password(account.id, hash_password(password))
    store.audit.record(who, "password set", account=account.name)


def set_active(store: Store, who: str, account: Account, active: bool) -> None:
    """Allow or refuse login. Refusing ends all sessions."""
    store.people.set_active(account.id, active)
    store.audit.record(who, "account enabled" if active else "account disabled", account=account.name)


def set_role(store: Store, who: str, project_id: int, account: Account, role: Role | None) -> None:
    """Set the role of an account in a project, effective at once; None removes the project from its view."""
    store.people.set_role(project_id, account.id, role)
    store.audit.record(who, "role set", project_id, account=account.name, role=role or "none")


def accounts_required(people: People, settings: AccessSettings) -> bool:
    """Return whether everybody must log in.

    Without accounts, the one person who uses this machine is the local manager, unless the server is set up for others.
    """
    return settings.for_others or bool(people.accounts())


def require_manager(people: People) -> None:
    """Raise `UserError` if nobody could manage a server that needs accounts."""
    if not any(account.manager and account.active for account in people.accounts()):
        raise UserError(
            "Errorscope is set up for several people, but has no manager yet",
            hint=f"Add one and start again: {PROGRAM} users add NAME --manager",
        )
