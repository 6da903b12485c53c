"""Raters' numbers: scores and ranks."""

from __future__ import annotations

from typing import Protocol

from core.data import Judgement
from core.ports.rules import read_project


class Judgements(Protocol):
    """The numbers of raters. `Projects.add` stores them; they are deleted with their project."""

    @read_project
    def list(self, project_id: int) -> list[Judgement]: ...  # in the order of import
