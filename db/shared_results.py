"""Public pages of results."""

from __future__ import annotations

import zlib
from typing import Any

from sqlalchemy import or_, select, update

from core.errors import UserError
from core.ports.shared_results import SharedResult
from db.columns import now
from db.engine import reading, writing
from db.failures import require_name
from db.lookup import require_project
from db.project_rows import ProjectRows
from db.tables import campaigns, projects
from db.tables import shared_results as shared


class SqlSharedResults(ProjectRows[SharedResult]):
    """`core.ports.shared_results.SharedResults` over a database."""

    table = shared
    unread = frozenset({"project_id", "page", "token_hash"})

    def add(
        self,
        project_id: int,
        campaign_id: int | None,
        title: str,
        blind: bool,
        page: str,
        token_hash: str,
        created_by: str,
    ) -> SharedResult:
        require_name("a public page", title)
        row = {
            "campaign": campaign_id, "title": title, "blind": blind, "page": zlib.compress(page.encode("utf-8", "surrogatepass")),
            "token_hash": token_hash, "created": None, "created_by": created_by,
        }  # fmt: skip
        mine = select(campaigns.c.id).where(campaigns.c.id == campaign_id, campaigns.c.project_id == project_id)
        with writing(self._engine) as connection:
            require_project(connection, project_id)
            if campaign_id is not None and connection.execute(mine).first() is None:
                raise UserError("the project has no such campaign", got=str(campaign_id), hint="Reload the page")
            return self._insert(connection, project_id, row)

    def page(self, token_hash: str) -> str | None:
        stays = or_(projects.c.importing.is_(None), projects.c.cleanup.is_not(None))  # is not being deleted
        found = select(shared.c.page).join_from(shared, projects).where(shared.c.token_hash == token_hash, stays)
        with reading(self._engine) as connection:
            packed = connection.execute(found).scalar()
        return None if packed is None else zlib.decompress(packed).decode("utf-8", "surrogatepass")

    def revoke(self, project_id: int, shared_id: int) -> None:
        missing = UserError("there is no such public page, or it was revoked already", hint="Reload the page")
        ended = update(shared).where(shared.c.revoked.is_(None)).values(page=None, revoked=now())
        self._change(ended, project_id, shared.c.id == shared_id, missing)

    def _value(self, fields: dict[str, Any]) -> SharedResult:
        return SharedResult(**fields)
