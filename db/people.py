"""Accounts, their roles and sessions, personal links, and the audit record, whose rows triggers of the database protect."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Engine, delete, insert, select, update

from core.errors import UserError
from core.ports.people import Account, AuditEntry, Link, Role
from db.columns import now
from db.engine import Repository, inserted, reading, writing
from db.failures import require_name, retried
from db.labels.group_commit import GroupCommit
from db.lookup import require_project, with_roles
from db.tables import accounts, audit, campaigns, links, login_sessions, project_roles, server_secret

_ACCOUNT = (accounts.c.id, accounts.c.name, accounts.c.manager, accounts.c.active, accounts.c.created)
_LINK = tuple(links.c[name] for name in Link._fields)
_SECRET_ID = 1


class SqlPeople(Repository):
    """`core.ports.people.People` over a database."""

    def accounts(self) -> list[Account]:
        with reading(self._engine) as connection:
            return _accounts(connection)

    @retried
    def add_account(self, name: str, password_hash: str | None, *, manager: bool) -> Account:
        require_name("an account", name)
        with writing(self._engine) as connection:
            if any(account.name.casefold() == name.casefold() for account in _accounts(connection)):
                raise UserError("there is an account with this name already", got=name, hint="Choose another name")
            row = {"name": name, "password": password_hash, "manager": manager, "active": True, "created": now()}
            return _account(connection, inserted(connection, insert(accounts).values(**row)))

    def password_hash(self, name: str) -> tuple[Account, str | None] | None:
        row = self._first(select(*_ACCOUNT, accounts.c.password).where(accounts.c.name == name))
        return None if row is None else (Account._make(row[:-1]), row[-1])

    def set_password(self, account_id: int, password_hash: str) -> None:
        with writing(self._engine) as connection:
            _account(connection, account_id)
            connection.execute(update(accounts).where(accounts.c.id == account_id).values(password=password_hash))
            _end_sessions(connection, account_id)

    def set_active(self, account_id: int, active: bool) -> None:
        managers = select(accounts.c.id).where(accounts.c.manager, accounts.c.active).with_for_update()
        with writing(self._engine) as connection:
            account = _account(connection, account_id)
            if not active and connection.execute(managers).scalars().all() == [account_id]:
                raise UserError(
                    "this is the only active manager", got=account.name, hint="Add or enable another manager first"
                )
            connection.execute(update(accounts).where(accounts.c.id == account_id).values(active=active))
            if not active:
                _end_sessions(connection, account_id)

    def roles(self, account_id: int) -> Mapping[int, Role]:
        of = project_roles.c
        own = select(of.project_id, of.role).where(of.account == account_id)
        same_project = campaigns.c.project_id == of.project_id
        of_texts = select(campaigns.c.texts, of.role).join_from(project_roles, campaigns, same_project)
        with reading(self._engine) as connection:
            mine = {row.project_id: row.role for row in connection.execute(own)}
            rows = connection.execute(of_texts.where(of.account == account_id))
            return mine | {row.texts: row.role for row in rows}

    @retried
    def set_role(self, project_id: int, account_id: int, role: Role | None) -> None:
        of = project_roles.c
        with writing(self._engine) as connection:
            require_project(connection, project_id)
            if role not in ("annotator", None) and with_roles(connection, project_id) != project_id:
                raise UserError(
                    "a campaign has the roles of its project", got=f"a role for the texts of a campaign ({project_id})",
                    hint="Set the role in the project",
                )  # fmt: skip
            _account(connection, account_id)
            connection.execute(delete(project_roles).where(of.project_id == project_id, of.account == account_id))
            if role is not None:
                row = {"project_id": project_id, "account": account_id, "role": role}
                connection.execute(insert(project_roles).values(**row))

    def members(self, project_id: int) -> list[tuple[Account, Role]]:
        query = select(*_ACCOUNT, project_roles.c.role).join_from(accounts, project_roles)
        with reading(self._engine) as connection:
            in_project = project_roles.c.project_id == with_roles(connection, project_id)
            rows = connection.execute(query.where(in_project).order_by(accounts.c.name))
            return [(Account._make(row[:-1]), row[-1]) for row in rows]

    def campaigns(self, account_id: int) -> list[int]:
        of = project_roles.c
        query = select(campaigns.c.texts).join_from(project_roles, campaigns, campaigns.c.texts == of.project_id)
        return [texts for (texts,) in self._rows(query.where(of.account == account_id).order_by(campaigns.c.id))]

    def taking_part(self, project_id: int) -> list[Account]:
        same_project = campaigns.c.texts == project_roles.c.project_id
        query = select(*_ACCOUNT).join_from(accounts, project_roles).join(campaigns, same_project)
        in_order = query.where(campaigns.c.texts == project_id).order_by(accounts.c.name)
        return [Account._make(row) for row in self._rows(in_order)]

    def start_session(self, token_hash: str, account_id: int, expires: datetime) -> None:
        row = {"token_hash": token_hash, "account": account_id, "created": now(), "expires": expires}
        with writing(self._engine) as connection:
            connection.execute(delete(login_sessions).where(login_sessions.c.expires <= now()))
            connection.execute(insert(login_sessions).values(**row))

    def session(self, token_hash: str) -> Account | None:
        of = login_sessions.c
        query = select(*_ACCOUNT).join_from(accounts, login_sessions)
        row = self._first(query.where(of.token_hash == token_hash, of.expires > now(), accounts.c.active))
        return None if row is None else Account._make(row)

    def end_session(self, token_hash: str) -> None:
        with writing(self._engine) as connection:
            connection.execute(delete(login_sessions).where(login_sessions.c.token_hash == token_hash))

    def add_link(
        self, project_id: int, rater: str, batch: str | None, token_hash: str, expires: datetime | None, created_by: str
    ) -> Link:
        require_name("a personal link", rater)
        row = {
            "project_id": project_id, "rater": rater, "batch": batch, "token_hash": token_hash, "created": now(),
            "expires": expires, "created_by": created_by,
        }  # fmt: skip
        with writing(self._engine) as connection:
            require_project(connection, project_id)
            made = inserted(connection, insert(links).values(**row))
            return Link._make(connection.execute(select(*_LINK).where(links.c.id == made)).one())

    def link(self, token_hash: str) -> Link | None:
        row = self._first(select(*_LINK).where(links.c.token_hash == token_hash))
        return None if row is None else Link._make(row)

    def links(self, project_id: int) -> list[Link]:
        query = select(*_LINK).where(links.c.project_id == project_id).order_by(links.c.id)
        return [Link._make(row) for row in self._rows(query)]

    def has_link(self, rater: str) -> bool:
        names = self._rows(select(links.c.rater).distinct())
        return any(name.casefold() == rater.casefold() for (name,) in names)

    def revoke(self, link_id: int) -> None:
        open_link = (links.c.id == link_id, links.c.revoked.is_(None))
        with writing(self._engine) as connection:
            if connection.execute(select(links.c.id).where(links.c.id == link_id)).first() is None:
                raise UserError("there is no such link", got=str(link_id), hint="Reload the page")
            connection.execute(update(links).where(*open_link).values(revoked=now()))

    @retried
    def secret(self) -> bytes:
        query = select(server_secret.c.value).where(server_secret.c.id == _SECRET_ID)
        secret = self._scalar(query)
        if secret is None:
            with writing(self._engine) as connection:
                secret = connection.execute(query).scalar()
                if secret is None:
                    secret = secrets.token_bytes(32)
                    connection.execute(insert(server_secret).values(id=_SECRET_ID, value=secret))
        return bytes(secret)


def _accounts(connection: Connection) -> list[Account]:
    return [Account._make(row) for row in connection.execute(select(*_ACCOUNT).order_by(accounts.c.name))]


def _account(connection: Connection, account_id: int) -> Account:
    row = connection.execute(select(*_ACCOUNT).where(accounts.c.id == account_id)).first()
    if row is None:
        raise UserError("there is no such account", got=str(account_id), hint="Reload the page")
    return Account._make(row)


def _end_sessions(connection: Connection, account_id: int) -> None:
    connection.execute(delete(login_sessions).where(login_sessions.c.account == account_id))


class SqlAudit(Repository):
    """`core.ports.people.Audit` over a database.

    Entries that arrive at the same time are committed together, as labels are: many refused requests at once hold up nobody.
    """

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self._commits = GroupCommit(self._write)

    def record(self, who: str, act: str, project_id: int | None = None, **details: Any) -> None:
        row = {"time": now(), "who": who, "act": act, "project_id": project_id, "details": details}
        self._commits.add(row)

    def _write(self, rows: Sequence[dict[str, Any]]) -> list[None]:
        with writing(self._engine) as connection:
            connection.execute(insert(audit), list(rows))
        return [None] * len(rows)

    def entries(
        self, project_id: int | None = None, *, before: int | None = None, limit: int = 200
    ) -> list[AuditEntry]:
        query = select(audit).order_by(audit.c.number.desc()).limit(limit)
        if project_id is not None:
            query = query.where(audit.c.project_id == project_id)
        if before is not None:
            query = query.where(audit.c.number < before)
        return [AuditEntry._make(row) for row in self._rows(query)]
