"""People, links and the audit record, in memory."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from core.errors import UserError
from core.ports.audit import AuditEntry
from core.ports.people import Account, Link, Role
from tests.fakes.memory import Memory, now


class FakePeople:
    def __init__(self, memory: Memory) -> None:
        self.m = memory

    def accounts(self) -> list[Account]:
        return sorted((account for account, _ in self.m.accounts.values()), key=lambda account: account.name)

    def add_account(self, name: str, password_hash: str | None, *, manager: bool) -> Account:
        if not name.strip() or any(a.name.casefold() == name.casefold() for a in self.accounts()):
            raise UserError("the name is empty or taken", got=name)
        account = Account(next(self.m.ids), name, manager, True, now())
        self.m.accounts[account.id] = account, password_hash
        return account

    def password_hash(self, name: str) -> tuple[Account, str | None] | None:
        return next((found for found in self.m.accounts.values() if found[0].name == name), None)

    def set_password(self, account_id: int, password_hash: str) -> None:
        self.m.accounts[account_id] = self._account(account_id), password_hash
        self._end_sessions(account_id)

    def set_active(self, account_id: int, active: bool) -> None:
        account, others = self._account(account_id), [a for a in self.accounts() if a.id != account_id]
        if not active and account.manager and account.active and not any(a.manager and a.active for a in others):
            raise UserError("this is the only active manager", got=account.name)
        self.m.accounts[account_id] = account._replace(active=active), self.m.accounts[account_id][1]
        if not active:
            self._end_sessions(account_id)

    def roles(self, account_id: int) -> Mapping[int, Role]:
        own = {project: role for (project, account), role in self.m.roles.items() if account == account_id}
        return own | {c.texts: own[c.project_id] for c in self.m.campaigns.values() if c.project_id in own}

    def set_role(self, project_id: int, account_id: int, role: Role | None) -> None:
        self.m.need(project_id)
        if role not in ("annotator", None) and self.m.campaign_of(project_id) is not None:
            raise UserError("a campaign has the roles of its project")
        self._account(account_id)
        self.m.roles.pop((project_id, account_id), None)
        if role is not None:
            self.m.roles[project_id, account_id] = role

    def members(self, project_id: int) -> list[tuple[Account, Role]]:
        campaign = self.m.campaign_of(project_id)
        project_id = project_id if campaign is None else campaign.project_id
        by_account = {account: role for (project, account), role in self.m.roles.items() if project == project_id}
        return [(a, by_account[a.id]) for a in self.accounts() if a.id in by_account]

    def campaigns(self, account_id: int) -> list[int]:
        mine = {project for (project, account) in self.m.roles if account == account_id}
        return [c.texts for c in sorted(self.m.campaigns.values(), key=lambda c: c.id) if c.texts in mine]

    def taking_part(self, project_id: int) -> list[Account]:
        here = self.m.campaign_of(project_id) is not None
        return sorted((a for a in self.accounts() if here and (project_id, a.id) in self.m.roles), key=lambda a: a.name)

    def start_session(self, token_hash: str, account_id: int, expires: datetime) -> None:
        self.m.sessions[token_hash] = account_id, expires

    def session(self, token_hash: str) -> Account | None:
        account_id, expires = self.m.sessions.get(token_hash, (0, now()))
        account = self.m.accounts[account_id][0] if expires > now() else None
        return account if account is not None and account.active else None

    def end_session(self, token_hash: str) -> None:
        self.m.sessions.pop(token_hash, None)

    def add_link(
        self, project_id: int, rater: str, batch: str | None, token_hash: str, expires: datetime | None, created_by: str
    ) -> Link:
        self.m.need(project_id)
        if not rater.strip():
            raise UserError("a personal link needs a name")
        link = Link(next(self.m.ids), project_id, rater, batch, now(), expires, None, created_by)
        self.m.links[token_hash] = link
        return link

    def link(self, token_hash: str) -> Link | None:
        return self.m.links.get(token_hash)

    def links(self, project_id: int) -> list[Link]:
        return [link for link in self.m.links.values() if link.project_id == project_id]

    def revoke(self, link_id: int) -> None:
        for token_hash, link in self.m.links.items():
            if link.id == link_id:
                self.m.links[token_hash] = link._replace(revoked=link.revoked or now())
                return
        raise UserError("there is no such link", got=str(link_id))

    def secret(self) -> bytes:
        self.m.secret = self.m.secret or secrets.token_bytes(32)
        return self.m.secret

    def _account(self, account_id: int) -> Account:
        if account_id not in self.m.accounts:
            raise UserError("there is no such account", got=str(account_id))
        return self.m.accounts[account_id][0]

    def _end_sessions(self, account_id: int) -> None:
        self.m.sessions = {token: of for token, of in self.m.sessions.items() if of[0] != account_id}


class FakeAudit:
    def __init__(self, memory: Memory) -> None:
        self.m = memory

    def record(self, who: str, act: str, project_id: int | None = None, **details: Any) -> None:
        kept = json.loads(json.dumps(details))
        self.m.audit.append(AuditEntry(len(self.m.audit) + 1, now(), who, act, project_id, kept))

    def entries(
        self, project_id: int | None = None, *, before: int | None = None, limit: int = 200
    ) -> list[AuditEntry]:
        found = [e for e in reversed(self.m.audit) if project_id in (None, e.project_id)]
        return [e for e in found if before is None or e.number < before][:limit]
