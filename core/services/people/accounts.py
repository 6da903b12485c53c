"""Accounts and their roles. Every change is recorded in the audit record."""

from __future__ import annotations

from typing import get_args

from core.errors import PROGRAM, UserError, unknown
from core.ports.people import Account, People, Role
from core.ports.store import Store
from core.services.people.names import LONGEST_ACCOUNT, cleaned
from core.services.people.passwords import hash_password
from core.settings import AccessSettings

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
    typed = cleaned(name, LONGEST_ACCOUNT)
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
