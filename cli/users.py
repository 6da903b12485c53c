"""`users`: manage the accounts of the server.

A password is typed twice or read from standard input. It is never an argument, which other users of the machine could see.
"""

from __future__ import annotations

import getpass
import sys
from typing import Annotated

import typer

from cli.database import UNCHANGED, WHO, ProjectName, group, opened, project_of
from cli.options import one_of
from cli.progress import print_result
from core.errors import UserError
from core.formatting import format_count
from core.services.people import accounts

NO_ROLE = "none"

Name = Annotated[str, typer.Argument()]
FromStdin = Annotated[bool, typer.Option("--password-stdin", help="read the password from standard input")]

users_command = group()


@users_command.command("add", help="add an account; the password is asked for")
def add_account(
    context: typer.Context,
    name: Annotated[
        str,
        typer.Argument(help="name of the account, and of the annotator in data; an e-mail address for OpenID Connect"),
    ],
    manager: Annotated[
        bool, typer.Option("--manager", help="the person manages every project and all accounts")
    ] = False,
    password_stdin: FromStdin = False,
    no_password: Annotated[bool, typer.Option("--no-password", help="login with OpenID Connect only")] = False,
) -> None:
    if password_stdin and no_password:
        raise typer.BadParameter("not allowed with --password-stdin", param_hint="--no-password")
    with opened(context, UNCHANGED) as store:
        password = None if no_password else _typed_password(password_stdin)
        account = accounts.add(store, WHO, name, password, manager=manager)
        print_result(f"added {account.name}" + (", a manager" if account.manager else ""))


@users_command.command("list", help="list accounts and their roles")
def list_accounts(context: typer.Context) -> None:
    with opened(context, UNCHANGED) as store:
        names = {project.id: project.name for project in store.projects.list()}
        lines = []
        for account in store.people.accounts():
            by_project = store.people.roles(account.id)
            roles = [f"{role} of {names[number]}" for number, role in by_project.items() if number in names]
            campaigns = store.people.campaigns(account.id)
            roles += [f"annotator of the campaign {store.projects.get(c).name}" for c in campaigns]
            state = ["manager"] * account.manager + ["disabled"] * (not account.active)
            lines.append("\t".join([account.name, ", ".join([*state, *roles]) or "no role"]))
        print_result("\n".join([format_count(len(lines), "account"), *lines]))


@users_command.command("password", help="set the password and end all sessions of the account")
def set_password(context: typer.Context, name: Name, password_stdin: FromStdin = False) -> None:
    with opened(context, UNCHANGED) as store:
        account = accounts.find(store.people, name)
        accounts.set_password(store, WHO, account, _typed_password(password_stdin))
        print_result(f"set the password of {account.name} and ended all sessions")


@users_command.command("disable", help="refuse login and end all sessions; labels stay")
def disable_account(context: typer.Context, name: Name) -> None:
    with opened(context, UNCHANGED) as store:
        accounts.set_active(store, WHO, accounts.find(store.people, name), False)
        print_result(f"disabled {name} and ended all sessions")


@users_command.command("enable", help="allow login again")
def enable_account(context: typer.Context, name: Name) -> None:
    with opened(context, UNCHANGED) as store:
        accounts.set_active(store, WHO, accounts.find(store.people, name), True)
        print_result(f"enabled {name}")


@users_command.command("role", help="set the role of an account in a project")
def set_role(
    context: typer.Context,
    name: Name,
    project: ProjectName,
    role: Annotated[
        str,
        typer.Argument(
            parser=one_of([*accounts.ROLES, NO_ROLE]),
            metavar="ROLE",
            help=f"one of {', '.join([*accounts.ROLES, NO_ROLE])}",
        ),
    ],
) -> None:
    with opened(context, UNCHANGED) as store:
        account, of = accounts.find(store.people, name), project_of(store, project)
        chosen = next((known for known in accounts.ROLES if known == role), None)
        accounts.set_role(store, WHO, of.id, account, chosen)
        print_result(f"{account.name}: {role} of {of.name}")


def _typed_password(from_stdin: bool) -> str:
    if from_stdin:
        return sys.stdin.readline().rstrip("\r\n")
    first = getpass.getpass("Password: ")
    if getpass.getpass("Repeat the password: ") != first:
        raise UserError("the two passwords differ", hint="Run the command again; nothing was changed")
    return first
