"""The command of accounts, `python -m db.users`. `python -m core users` runs it too.

A password is typed twice or read from standard input. It is never an argument, which other users of the machine could see.
"""

from __future__ import annotations

import argparse
import getpass
import sys
from collections.abc import Callable, Sequence

from core.errors import UserError, unknown
from core.formatting import format_count
from core.ports.projects import Project
from core.ports.store import Store
from core.services.people import accounts
from core.settings import load as settings
from db.command import UNCHANGED, exit_status
from db.store import open_store

WHO = "command line"
"""The name in the audit record. Whoever runs the command can write the database anyway."""
NO_ROLE = "none"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return the exit status, 2 for invalid input."""
    given = _parser().parse_args(arguments)
    command: Callable[[Store, argparse.Namespace], str] = given.run
    return exit_status(lambda _: command(open_store(given.database or settings().database), given), cancelled=UNCHANGED)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m core users", description="Manage the accounts of the server.")
    parser.add_argument("--database", help="SQLAlchemy URL; default: ERRORSCOPE_DB, or the file in ERRORSCOPE_HOME")
    commands = parser.add_subparsers(dest="command", required=True)

    def command(name: str, help: str, run: Callable[[Store, argparse.Namespace], str]) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=help, description=help)
        made.set_defaults(run=run)
        return made

    add = command("add", "add an account; the password is asked for", _add)
    add.add_argument(
        "name", help="name of the account, and of the annotator in data; an e-mail address for OpenID Connect"
    )
    add.add_argument("--manager", action="store_true", help="the person manages every project and all accounts")
    password = add.add_mutually_exclusive_group()
    password.add_argument("--password-stdin", action="store_true", help="read the password from standard input")
    password.add_argument("--no-password", action="store_true", help="login with OpenID Connect only")
    command("list", "list accounts and their roles", _list)
    change = command("password", "set the password and end all sessions of the account", _password)
    change.add_argument("name")
    change.add_argument("--password-stdin", action="store_true", help="read the password from standard input")
    command("disable", "refuse login and end all sessions; labels stay", _disable).add_argument("name")
    command("enable", "allow login again", _enable).add_argument("name")
    role = command("role", "set the role of an account in a project", _role)
    role.add_argument("name")
    role.add_argument("project", help="name or number of the project")
    role.add_argument("role", choices=[*accounts.ROLES, NO_ROLE])
    return parser


def _add(store: Store, given: argparse.Namespace) -> str:
    password = None if given.no_password else _typed_password(given.password_stdin)
    account = accounts.add(store, WHO, given.name, password, manager=given.manager)
    return f"added {account.name}" + (", a manager" if account.manager else "")


def _list(store: Store, given: argparse.Namespace) -> str:
    names = {project.id: project.name for project in store.projects.list()}
    lines = []
    for account in store.people.accounts():
        there = store.people.roles(account.id)
        roles = [f"{role} of {names[number]}" for number, role in there.items() if number in names]
        roles += [f"annotator of the campaign {store.projects.get(c).name}" for c in store.people.campaigns(account.id)]
        state = ["manager"] * account.manager + ["disabled"] * (not account.active)
        lines.append("\t".join([account.name, ", ".join([*state, *roles]) or "no role"]))
    return "\n".join([format_count(len(lines), "account"), *lines])


def _password(store: Store, given: argparse.Namespace) -> str:
    account = accounts.find(store.people, given.name)
    accounts.set_password(store, WHO, account, _typed_password(given.password_stdin))
    return f"set the password of {account.name} and ended all sessions"


def _disable(store: Store, given: argparse.Namespace) -> str:
    accounts.set_active(store, WHO, accounts.find(store.people, given.name), False)
    return f"disabled {given.name} and ended all sessions"


def _enable(store: Store, given: argparse.Namespace) -> str:
    accounts.set_active(store, WHO, accounts.find(store.people, given.name), True)
    return f"enabled {given.name}"


def _role(store: Store, given: argparse.Namespace) -> str:
    account, project = accounts.find(store.people, given.name), project_of(store, given.project)
    accounts.set_role(store, WHO, project.id, account, None if given.role == NO_ROLE else given.role)
    return f"{account.name}: {given.role} of {project.name}"


def project_of(store: Store, asked: str) -> Project:
    """Return the project with this name, else with this number."""
    projects = store.projects.list()
    found = [p for p in projects if p.name == asked] or [p for p in projects if str(p.id) == asked]
    if not found:
        raise unknown("project", asked, [p.name for p in projects])
    return found[0]


def _typed_password(from_stdin: bool) -> str:
    if from_stdin:
        return sys.stdin.readline().rstrip("\r\n")
    first = getpass.getpass("Password: ")
    if getpass.getpass("Repeat the password: ") != first:
        raise UserError("the two passwords differ", hint="Run the command again; nothing was changed")
    return first


if __name__ == "__main__":
    sys.exit(main())
